"""From which score on a text is error-free: cases done by hand, and what must hold for any scores; intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.calibration import Figure
from mtagent.errors import ConfigError, InputError
from mtagent.learning.calibrate import (
    LabelledTexts,
    best_threshold,
    curve,
    error_free_of,
    labels,
    thinned,
    threshold_interval,
)
from mtagent.learning.gain import numbered, ratios
from mtagent.learning.pairs import definition
from mtagent.metrics.significance import GroupResampling

QUICK = GroupResampling(20)
scores = st.floats(-50, 50).map(lambda value: round(value, 2))

SIX = LabelledTexts(
    np.array([90, 90, 80, 70, 70, 10.0]), np.array([True, True, False, True, True, False]), np.array([0, 0, 1, 1, 2, 2])
)


def test_the_curve_is_what_counting_by_hand_gives() -> None:
    found = curve(SIX)
    assert found.thresholds.tolist() == [90, 80, 70, 10]
    assert found.precision.tolist() == [1, 2 / 3, 4 / 5, 4 / 6]
    assert found.coverage.tolist() == [2 / 6, 3 / 6, 5 / 6, 1]
    assert found.recall.tolist() == [0.5, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("wanted", "fewest", "threshold"),
    [(1.0, 2, 90), (0.8, 2, 70), (0.6, 2, 10), (1.0, 3, None), (0.81, 1, 90), (0.67, 5, 70)],
)
def test_the_lowest_threshold_that_reaches_the_precision_is_chosen(
    wanted: float, fewest: int, threshold: float | None
) -> None:
    assert best_threshold(SIX, wanted, fewest) == threshold


def test_what_cannot_be_wanted_is_refused() -> None:
    for wanted in (0, 1.1, -1, math.nan):
        with pytest.raises(ConfigError, match="is not a share"):
            best_threshold(SIX, wanted)
    with pytest.raises(ConfigError, match="fewest 0: at least one text"):
        best_threshold(SIX, 0.5, 0)


def test_labels_are_told_with_intervals() -> None:
    found = labels(SIX, 70, QUICK)
    assert (found.items, found.groups) == (6, 3)
    assert (found.error_free.value, found.precision.value, found.coverage.value, found.recall.value) == (
        *(4 / 6, 4 / 5),
        *(5 / 6, 1),
    )
    assert labels(SIX, 95, QUICK).precision == Figure(value=None)


def test_a_threshold_that_chance_does_not_move_is_sure_and_another_is_not() -> None:
    clear = LabelledTexts(np.repeat([90.0, 10.0], 200), np.repeat([True, False], 200), np.arange(400))
    assert threshold_interval(clear, 0.9, 10, GroupResampling(200)) == (90, 90, 1)
    assert threshold_interval(clear, 0.9, 390, GroupResampling(50)) == (None, None, 0)
    rng = np.random.default_rng(2)
    found = np.round(rng.uniform(0, 100, 300))
    noisy = LabelledTexts(found, rng.uniform(0, 100, 300) < found, np.arange(300))
    low, high, reached = threshold_interval(noisy, 0.8, 10, GroupResampling(200))
    assert low is not None
    assert high is not None
    assert low <= (best_threshold(noisy, 0.8, 10) or 0) <= high
    assert high - low > 1
    assert reached > 0.9


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 4)), min_size=1, max_size=25),
    st.floats(0.3, 1),
    st.integers(1, 8),
)
def test_the_threshold_in_resamples_is_that_of_the_texts_drawn(
    rows: list[tuple[int, bool, int]], wanted: float, fewest: int
) -> None:
    values, free, groups = (np.array(column) for column in zip(*rows, strict=True))
    items, resampling = LabelledTexts(values, free, numbered(groups)), GroupResampling(9)
    each = []
    for draw in (one for many in resampling.draws(len(set(groups.tolist()))) for one in many):
        texts = [i for i in range(len(rows)) for _ in range(int(draw[items.groups[i]]))]
        chosen = LabelledTexts(items.scores[texts], items.error_free[texts], items.groups[texts])
        each.append(best_threshold(chosen, wanted, fewest))
    there = [value for value in each if value is not None]
    low, high, reached = threshold_interval(items, wanted, fewest, resampling)
    assert reached == len(there) / 9
    assert (low, high) == (tuple(np.percentile(there, [2.5, 97.5])) if there else (None, None))


@given(st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=40), st.floats(0.05, 1))
def test_the_threshold_does_what_it_says_on_the_texts_it_was_chosen_on(
    rows: list[tuple[float, bool]], wanted: float
) -> None:
    found, free = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    threshold = best_threshold(LabelledTexts(found, free, np.arange(len(rows))), wanted, 1)
    reaching = [t for t in set(found.tolist()) if free[found >= t].mean() >= wanted - 1e-12]
    assert threshold == (min(reaching) if reaching else None)


def test_a_thinned_curve_keeps_its_ends() -> None:
    rng = np.random.default_rng(4)
    whole = curve(LabelledTexts(rng.uniform(0, 1, 5000), rng.uniform(0, 1, 5000) < 0.5, np.arange(5000)))
    few = thinned(whole, 20)
    assert 15 <= len(few.thresholds) <= 20
    assert (few.thresholds[0], few.thresholds[-1]) == (whole.thresholds[0], whole.thresholds[-1])
    assert thinned(few, 20) is few


def test_what_is_all_in_one_half_is_refused() -> None:
    texts = LabelledTexts(np.full(4, 5.0), np.full(4, fill_value=True), np.arange(4))
    for half in (np.full(4, fill_value=True), np.full(4, fill_value=False)):
        with pytest.raises(InputError, match="all 4 texts with both scores are in one half"):
            error_free_of(texts, half, "mqm >= 0", resampling=QUICK)


def test_the_threshold_is_reported_on_the_half_that_was_not_chosen_on() -> None:
    texts = LabelledTexts(np.full(40, 5.0), np.repeat([True, False], 20), np.arange(40))
    free = error_free_of(texts, np.repeat([True, False], 20), "mqm >= 0", resampling=QUICK)
    assert (free.threshold, free.held_out and free.held_out.precision.value) == (5, 0)
    few = error_free_of(texts, np.repeat([True, False], 20), "mqm >= 0", fewest=21, resampling=QUICK)
    assert (few.threshold, few.reached) == (None, 0)
    none = error_free_of(texts, np.repeat([False, True], 20), "mqm >= 0", resampling=QUICK)
    assert (none.threshold, none.held_out, none.reached) == (None, None, 0)


def test_what_people_call_error_free() -> None:
    assert [definition("esa", None).holds_for(90, marked) for marked in (False, True, None)] == [True, False, True]
    assert [definition("esa", 90).holds_for(score, True) for score in (90, 89, None)] == [True, False, None]
    assert definition(None, None).holds_for(90, False) is None
    with pytest.raises(ConfigError, match="give a number"):
        definition(None, math.nan)


# --- intervals


def _mean(values: np.ndarray, groups: np.ndarray, resampling: GroupResampling) -> Figure:
    return ratios([values], [np.ones(len(values))], groups, resampling)[0]


def test_the_interval_of_a_mean_is_the_known_one_and_repeats_with_the_seed() -> None:
    values = np.random.default_rng(3).normal(0, 1, 400)
    found, half = _mean(values, np.arange(400), GroupResampling(4000)), 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.02)
    assert found.high == pytest.approx(values.mean() + half, abs=0.02)
    assert found == _mean(values, np.arange(400), GroupResampling(4000))
    assert found != _mean(values, np.arange(400), GroupResampling(4000, seed=2))


def test_items_of_one_document_are_drawn_together() -> None:
    by_document = np.repeat(np.random.default_rng(5).normal(0, 1, 20), 20)
    together = _mean(by_document, np.arange(400) // 20, GroupResampling())
    alone = _mean(by_document, np.arange(400), GroupResampling())
    assert together.high - together.low > 3 * (alone.high - alone.low)  # type: ignore[operator]


def test_a_share_of_nothing_is_not_defined_and_no_resample_no_interval() -> None:
    zero = np.zeros(4)
    assert ratios([zero], [zero], np.arange(4), QUICK) == [Figure(value=None)]
    with pytest.raises(ConfigError, match="0 resamples"):
        _mean(zero, np.arange(4), GroupResampling(0))
