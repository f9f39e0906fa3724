"""What a margin and a threshold are worth: cases done by hand, and what must hold for any scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.analysis import gate_calibration as tables
from mtagent.analysis.gate_calibration import (
    NEVER,
    Edits,
    Labelled,
    Resampling,
    best_margin,
    best_threshold,
    curve,
    effect,
    error_free_of,
    first_half,
    kept,
    labels,
    margin_of,
    sweep,
    thinned,
    threshold_interval,
)
from mtagent.chain.calibration import Figure
from mtagent.chain.gate import RateGate
from mtagent.errors import ConfigError, InputError
from mtagent.evaluators.protocol import Evaluator
from mtagent.records import Rating, RatingRole, Segment


def edits(*rows: tuple[float, float, float, float], groups: list[int] | None = None) -> Edits:
    """Each row is the judge's score before and after, then people's."""
    columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    return Edits(*columns, np.array(groups if groups is not None else range(len(rows))))  # type: ignore[arg-type]


# judge +30 is a good edit, +10 a harmful one, 0 a good one that is not seen, -20 a harmful one
FOUR = edits((50, 80, 60, 90), (50, 60, 80, 70), (70, 70, 70, 75), (90, 70, 80, 20))
QUICK = Resampling(20)
scores = st.floats(-50, 50).map(lambda value: round(value, 2))
rows_of_scores = st.lists(st.tuples(scores, scores, scores, scores), min_size=1, max_size=30)


# --- the margin


def test_every_margin_is_worth_what_adding_up_by_hand_gives() -> None:
    found = sweep(FOUR)
    assert found.margins.tolist() == [-20, 0, 10, 30, math.inf]
    assert found.value.tolist() == [63.75, 78.75, 77.5, 80.0, 72.5]
    assert best_margin(FOUR) == 30


def test_an_effect_is_told_beside_always_never_and_the_oracle() -> None:
    found = effect(FOUR, 30, QUICK)
    assert (found.gate.value, found.always.value, found.never.value, found.oracle.value) == (80, 63.75, 72.5, 81.25)
    assert (found.over_always.value, found.over_never.value) == (16.25, 7.5)
    assert (found.accepted.value, found.good_kept.value, found.harmful_refused.value) == (0.25, 0.5, 1)
    assert (found.items, found.groups) == (4, 4)


def test_a_share_of_nothing_is_not_defined() -> None:
    found = effect(edits((1, 2, 0.1 + 0.2, 0.3), (1, 2, 0.3, 0.1 + 0.2), (3, 1, 4, 4)), 0, QUICK)
    assert found.good_kept == found.harmful_refused == (None, None, None)
    assert found.over_never == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "margin"),
    [
        ([(1, 2, 5, 5), (1, 4, 5, 5)], NEVER),  # all margins tie: the largest
        ([(1, 2, 5, 6), (1, 4, 5, 5)], 1),
        ([(1, 2, 5, 5), (1, 4, 5, 6)], 3),
        ([(1, 2, 5, 4), (1, 4, 5, 4)], NEVER),
        ([(4, 2, 5, 9), (1, 1, 5, 9)], NEVER),  # what is rated worse or the same is never kept
        ([(-0.3, -0.2, 0, 1)], 0.1),
        ([(0, 3, 0, -0.3), (0, 2, 0, 0.2), (0, 1, 0, 0.1)], NEVER),  # 0 in sum, though not in binary
    ],
)
def test_of_several_best_margins_the_largest_is_chosen(
    rows: list[tuple[float, float, float, float]], margin: float
) -> None:
    assert best_margin(edits(*rows)) == margin


@given(rows_of_scores)
def test_the_lowest_margin_is_always_accept_an_endless_one_never_and_none_beats_the_oracle(
    rows: list[tuple[float, float, float, float]],
) -> None:
    items = edits(*rows)
    never = effect(items, math.inf, Resampling(1))
    assert never.gate == never.never
    found = sweep(items)
    assert found.value[0] == pytest.approx(items.human_after.mean(), abs=1e-6)
    assert found.value[-1] == pytest.approx(items.human_before.mean(), abs=1e-6)
    assert (found.value <= (never.oracle.value or 0) + 1e-6).all()


@given(rows_of_scores, st.floats(-60, 60))
def test_the_sweep_agrees_with_the_gate_counted_one_by_one(
    rows: list[tuple[float, float, float, float]], margin: float
) -> None:
    items, found = edits(*rows), sweep(edits(*rows))
    place = int(np.searchsorted(found.margins, margin))
    keep = [round(row[1] - row[0], 9) >= margin for row in rows]
    assert found.value[place] == pytest.approx(
        sum(row[3] if k else row[2] for row, k in zip(rows, keep, strict=True)) / len(rows), abs=1e-6
    )
    best = best_margin(items)
    chosen = effect(items, best, Resampling(1)).gate.value or 0
    assert all(chosen >= value - 1e-6 for value in found.value[found.margins > 0])


class Judge:
    """Scores a text as its own number."""

    name = "judge"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=float(translation))


@pytest.mark.parametrize("margin", [0.0, 0.1, 2.0, math.inf, 0.123394252, 0.1000000004, 849464598.9516819])
async def test_what_is_counted_as_kept_is_what_the_gate_keeps(margin: float) -> None:
    texts = [("1", "1"), ("1", "1.05"), ("-0.3", "-0.2"), ("3", "5"), ("3", "4.9"), ("5", "1")]
    texts += [("0", "0.1233942515"), ("0", "849464598.9516819")]  # numpy rounds both otherwise
    texts += [("0", "0.1000000004")]  # 0.1 in nine digits
    segment = Segment(id="1", source="s", source_lang="en", target_lang="de")

    async def ask(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
        return await evaluator.rate(segment, text)

    gate = RateGate(Judge(), margin=margin)
    decided = [(await gate.decide(segment, before, after, ask)).keep for before, after in texts]
    items = edits(*((float(before), float(after), 0, 0) for before, after in texts))
    assert kept(items.gains, margin).tolist() == decided


def test_intervals_are_paired_and_repeat_with_the_seed() -> None:
    rng = np.random.default_rng(7)
    before, change = rng.normal(50, 20, 300), rng.normal(2, 1, 300)
    items = Edits(np.zeros(300), np.ones(300), before, before + change, np.arange(300) // 3)
    found = effect(items, 0, Resampling(500, seed=1))
    assert found == effect(items, 0, Resampling(500, seed=1))
    assert found != effect(items, 0, Resampling(500, seed=2))
    lead, mean = found.over_never, found.gate
    assert None not in (*lead, *mean)
    assert lead.high - lead.low < 0.5 < 2 < mean.high - mean.low  # type: ignore[operator]
    assert lead.low < change.mean() < lead.high  # type: ignore[operator]


def test_the_interval_of_a_mean_is_the_known_one() -> None:
    values = np.random.default_rng(3).normal(0, 1, 400)
    items = Edits(np.zeros(400), np.zeros(400), values, values, np.arange(400))
    low, high = effect(items, 0, Resampling(4000)).never[1:]
    half = 1.96 * values.std() / 20
    assert (low, high) == (pytest.approx(values.mean() - half, abs=0.02), pytest.approx(values.mean() + half, abs=0.02))


def test_items_of_one_document_are_drawn_together() -> None:
    rng = np.random.default_rng(5)
    by_document = np.repeat(rng.normal(0, 1, 20), 20)
    flat = np.zeros(400)
    together = effect(Edits(flat, flat, by_document, by_document, np.arange(400) // 20), 0).never
    alone = effect(Edits(flat, flat, by_document, by_document, np.arange(400)), 0).never
    assert together.high - together.low > 3 * (alone.high - alone.low)  # type: ignore[operator]


def test_a_million_edits_are_no_matter() -> None:
    """A loop over the margins would take hours."""
    gains = np.random.default_rng(1).permutation(np.arange(1.0, 1_000_001.0))
    zero, change = np.zeros(1_000_000), np.where(gains > 700_000, 1.0, -1.0)
    assert best_margin(Edits(zero, gains, zero, change, np.arange(1_000_000) // 100)) == 700_001


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([math.nan], [1], [1], [1], [0]), "judge_before: not all are finite"),
        (([1], [1], [1], [math.inf], [0]), "human_after: not all are finite"),
        (([1], [1], [1], [1, 2], [0]), "one score of each kind"),
        (([], [], [], [], []), "and one edit"),
    ],
)
def test_edits_that_are_none_are_refused(columns: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Edits(*(np.array(column) for column in columns))  # type: ignore[arg-type]


# --- the threshold

SIX = Labelled(
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
        with pytest.raises(ConfigError, match="cannot be wanted"):
            best_threshold(SIX, wanted)
    with pytest.raises(ConfigError, match="0 texts at a threshold"):
        best_threshold(SIX, 0.5, 0)


def test_labels_are_told_with_intervals() -> None:
    found = labels(SIX, 70, QUICK)
    assert (found.items, found.groups) == (6, 3)
    assert (found.error_free.value, found.precision.value, found.coverage.value, found.recall.value) == (
        *(4 / 6, 4 / 5),
        *(5 / 6, 1),
    )
    assert labels(SIX, 95, QUICK).precision == (None, None, None)


def test_a_threshold_that_chance_does_not_move_is_sure_and_another_is_not() -> None:
    clear = Labelled(np.repeat([90.0, 10.0], 200), np.repeat([True, False], 200), np.arange(400))
    assert threshold_interval(clear, 0.9, 10, Resampling(200)) == (90, 90, 1)
    assert threshold_interval(clear, 0.9, 390, Resampling(50)) == (None, None, 0)
    rng = np.random.default_rng(2)
    found = np.round(rng.uniform(0, 100, 300))
    noisy = Labelled(found, rng.uniform(0, 100, 300) < found, np.arange(300))
    low, high, reached = threshold_interval(noisy, 0.8, 10, Resampling(200))
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
    items, resampling = Labelled(values, free, groups), Resampling(9)
    each = []
    for draw in (one for many in resampling.draws(len(set(groups.tolist()))) for one in many):
        texts = [i for i in range(len(rows)) for _ in range(int(draw[items.groups[i]]))]
        chosen = Labelled(items.scores[texts], items.error_free[texts], items.groups[texts])
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
    threshold = best_threshold(Labelled(found, free, np.arange(len(rows))), wanted, 1)
    reaching = [t for t in set(found.tolist()) if free[found >= t].mean() >= wanted - 1e-12]
    assert threshold == (min(reaching) if reaching else None)


def test_a_thinned_curve_keeps_its_ends() -> None:
    rng = np.random.default_rng(4)
    whole = curve(Labelled(rng.uniform(0, 1, 5000), rng.uniform(0, 1, 5000) < 0.5, np.arange(5000)))
    few = thinned(whole, 20)
    assert 15 <= len(few.thresholds) <= 20
    assert (few.thresholds[0], few.thresholds[-1]) == (whole.thresholds[0], whole.thresholds[-1])
    assert thinned(few, 20) is few


# --- halves, and both together


def test_what_belongs_together_stays_in_one_half() -> None:
    groups = np.repeat(np.arange(11), 3)
    half = first_half(groups, 7)
    assert {len(set(half[groups == group].tolist())) for group in range(11)} == {1}
    assert half.sum() == 18  # six of the eleven
    assert (first_half(groups, 7) == half).all()
    assert any((first_half(groups, seed) != half).any() for seed in range(5))


@pytest.mark.parametrize("groups", [[3, 3, 3], []])
def test_one_document_makes_no_halves(groups: list[int]) -> None:
    with pytest.raises(InputError, match="two at least"):
        first_half(np.array(groups, dtype=int), 1)


def test_what_is_all_in_one_half_is_refused() -> None:
    texts = Labelled(np.full(4, 5.0), np.full(4, fill_value=True), np.arange(4))
    for half in (np.full(4, fill_value=True), np.full(4, fill_value=False)):
        with pytest.raises(InputError, match="all 4 edits with both scores are in one half"):
            margin_of(FOUR, half, QUICK)
        with pytest.raises(InputError, match="all 4 texts with both scores are in one half"):
            error_free_of(texts, half, "mqm >= 0", resampling=QUICK)


def test_the_effect_is_reported_on_the_half_that_was_not_chosen_on() -> None:
    good, bad = (0, 10, 50, 60), (0, 10, 50, 40)
    items = edits(*[good] * 10, *[bad] * 10)
    half = np.repeat([True, False], 10)
    found = margin_of(items, half, QUICK)
    assert (found.value, found.calibrated_on) == (10, 10)
    assert found.held_out.over_never.value == -10
    assert margin_of(items, ~half, QUICK).value is None  # nothing is worth keeping
    texts = Labelled(np.full(40, 5.0), np.repeat([True, False], 20), np.arange(40))
    free = error_free_of(texts, np.repeat([True, False], 20), "mqm >= 0", resampling=QUICK)
    assert (free.threshold, free.held_out and free.held_out.precision.value) == (5, 0)
    few = error_free_of(texts, np.repeat([True, False], 20), "mqm >= 0", fewest=21, resampling=QUICK)
    assert (few.threshold, few.reached) == (None, 0)
    none = error_free_of(texts, np.repeat([False, True], 20), "mqm >= 0", resampling=QUICK)
    assert (none.threshold, none.held_out, none.reached) == (None, None, 0)


# --- on paper

BEATS, LOSES = "the gate beats leaving all as it was", "the gate LOSES to leaving all as it was: edit nothing"
LIKE_ALL = "the gate is not told apart from accepting all"


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([*[(0, 10, 50, 60)] * 10, *[(0, 10, 50, 55)] * 10], [BEATS, LIKE_ALL]),
        ([*[(0, 10, 50, 60)] * 10, *[(0, 10, 50, 45)] * 10], [LOSES, LIKE_ALL]),
        ([(0, 10, 50, 40)] * 20,
         ["the gate is not told apart from leaving all as it was", "the gate beats accepting all"]),
    ],
)  # fmt: skip
def test_what_the_gate_does_not_beat_is_told(rows: list[tuple[float, float, float, float]], verdict: list[str]) -> None:
    effect_on_half = margin_of(edits(*rows), np.repeat([True, False], 10), QUICK).held_out
    assert list(tables.verdict(effect_on_half)) == verdict


@pytest.mark.parametrize(
    ("found", "options", "shown"),
    [
        (Figure(value=70.514, low=69.8, high=71.2), {}, "70.51 [69.80, 71.20]"),
        (Figure(value=0.05, low=0.01, high=0.06), {"signed": True}, "+0.0500 [+0.0100, +0.0600]"),
        (Figure(value=0.351, low=0.33, high=0.372), {"percent": True}, "35.1 % [33.0, 37.2]"),
        (Figure(value=0.5), {"percent": True}, "50.0 %"),
        (Figure(value=None), {}, "-"),
    ],
)
def test_a_figure_is_shown_with_its_interval(found: Figure, options: dict[str, bool], shown: str) -> None:
    assert tables.figure(found, **options) == shown
