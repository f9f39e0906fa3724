"""Paired scores and their statistics: by hand, missing scores, and agreement with SciPy and the definitions."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from mtagent.analysis.agreement import (
    Averaging,
    Missing,
    PairedScores,
    ScorePair,
    accuracy,
    calibrated_accuracy,
    kendall,
    mean_absolute_error,
    mean_squared_error,
    p_values,
    paired,
    pearson,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from mtagent.errors import ConfigError, InputError
from tests.meta_scores import one_system, scores, table

CORRELATIONS = {
    "pearson": (pearson, scipy.stats.pearsonr),
    "spearman": (spearman, scipy.stats.spearmanr),
    "kendall": (kendall, scipy.stats.kendalltau),
}
EQUAL = "the scores of the evaluator or of people are all equal"
ALONE = "there are no two scores to compare"
few = st.integers(-3, 3).map(float)
tables = st.integers(1, 4).flatmap(
    lambda items: st.lists(
        st.lists(st.tuples(st.none() | few, st.none() | few), min_size=items, max_size=items), min_size=1, max_size=5
    )
)


def test_rows_in_any_order_keep_their_scores_which_cannot_be_written_to() -> None:
    own = paired(
        [ScorePair("B", "1", 4, 5), ScorePair("A", "0", 0, 1), ScorePair("B", "0", 3, 2), ScorePair("A", "1", 7, 8)]
    )
    assert (own.systems, own.items, len(own), own.missing) == (("B", "A"), ("1", "0"), 4, Missing())
    assert list(own.rows())[2] == ScorePair("B", "0", 3.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        own.evaluator[0] = 9


@pytest.mark.parametrize(
    ("rows", "policy", "message"),
    [
        ([ScorePair("A", "0", None, 1)], "refuse", "system 'A', item '0': the evaluator's score is missing; give all"),
        ([ScorePair("A", "0", 1, None)], "refuse", "system 'A', item '0': the human score is missing"),
        ([ScorePair("A", "0", 1, 1), ScorePair("B", "1", 1, 1)], "refuse", "system 'A', item '1': has no score"),
        ([ScorePair("A", "0", None, 1), ScorePair("A", "0", 1, 1)], "leave-out", "system 'A', item '0': has two rows"),
        (
            [ScorePair("A", "0", math.nan, 1)],
            "leave-out",
            "system 'A', item '0': the evaluator's score must be a finite number",
        ),
        (
            [ScorePair("A", "0", 1, -1e200)],
            "refuse",
            r"the human score must be a finite number up to 1e\+100; a missing one is",
        ),
        ([], "refuse", "no translation has both a score"),
        ([ScorePair("A", "0", None, 1), ScorePair("A", "1", 1, None)], "leave-out", "no translation has both a score"),
    ],
)
def test_what_is_refused(rows: list[ScorePair], policy: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paired(rows, missing=policy)


def test_missing_scores_are_left_out_and_counted_by_what_is_missing() -> None:
    rows = [
        ScorePair("A", "0", 1, 1),
        ScorePair("A", "1", None, 1),
        ScorePair("A", "2", 1, None),
        ScorePair("B", "0", None, None),
    ]
    rows += [ScorePair("B", "1", 2, 2), ScorePair("C", "0", 1, 1)]
    own = paired(rows, missing="leave-out")
    assert own.missing == Missing(evaluator=1, human=1, both=1, absent=3)
    assert list(own.rows()) == [rows[0], *rows[4:]]
    assert "|left-out:6|" in pearson(own).signature


def test_a_record_made_by_hand_is_checked_too() -> None:
    places = np.zeros(2, dtype=np.int64)
    for evaluator, message in ((np.array([1.0, math.nan]), "not all are finite"), (np.ones(3), "same length")):
        with pytest.raises(InputError, match=message):
            PairedScores(("A",), ("0", "1"), evaluator, np.ones(2), places, places)


def test_unknown_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="'refuse' or 'leave-out', not 'drop'"):
        paired([], missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'none', 'item' or 'system', not 'sys'"):
        pearson(one_system([1, 2], [1, 2]), "sys")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'none' or 'minmax', not 'max'"):
        mean_absolute_error(one_system([1, 2], [1, 2]), "max")  # type: ignore[arg-type]


def test_a_systems_score_is_the_mean_over_its_segments_with_both_scores_or_given() -> None:
    means = system_level(scores([[1, 2, None], [4, 5, 6], [None, 1, 1]], [[1, 3, 5], [2, 3, 4], [1, None, None]]))
    assert (means.evaluator.tolist(), means.human.tolist()) == ([1.5, 5.0], [2.0, 3.0])
    assert (means.systems[means.system[1]], means.level, means.missing.absent) == ("B", "sys", 1)
    assert system_level(means) is means
    given = accuracy(
        paired(
            [ScorePair("A", "", 30.1, 0.5), ScorePair("B", "", 28.0, 0.7), ScorePair("C", "", 31.0, 0.9)], level="sys"
        )
    )
    assert given.value == pytest.approx(2 / 3)
    assert given.signature == "acc|level:sys|avg:none|eps:0|left-out:0|version:0.1.0"
    with pytest.raises(InputError, match="a system's own score has no item"):
        paired([ScorePair("A", "1", 1, 1)], level="sys")


# --- what cannot be computed


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall])
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
def test_constant_scores_have_no_correlation(statistic: Any, averaging: Averaging) -> None:
    """The mean of 0.1, 0.1 and 0.1 is another number."""
    sides = [[[0.1] * 3] * 3, [[1, 2, 3]] * 3]
    for both in (sides, sides[::-1]):
        undefined = statistic(scores(*both), averaging)
        assert (undefined.value, undefined.undefined, undefined.groups) == (None, EQUAL, 0)
        assert undefined.groups_left_out == (1 if averaging == "none" else 3)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall, accuracy, calibrated_accuracy])
def test_one_score_has_nothing_to_compare(statistic: Any) -> None:
    alone = statistic(one_system([1], [2]))
    assert (alone.value, alone.undefined, alone.scores, alone.groups_left_out) == (None, ALONE, 1, 1)
    assert statistic(one_system([1, 2, 3], [2, 4, 6]), "item").undefined == ALONE


def test_constant_groups_are_left_out_of_the_mean_and_counted() -> None:
    mean = pearson(scores([[1, 2, 3], [5, 5, 5], [3, 2, 1]], [[1, 2, 3], [1, 2, 3], [1, 2, 4]]), "system")
    assert mean.value == pytest.approx((1 + scipy.stats.pearsonr([3, 2, 1], [1, 2, 4])[0]) / 2)
    assert (mean.groups, mean.groups_left_out, mean.undefined) == (2, 1, None)


def test_rounding_and_the_size_of_scores_do_no_harm() -> None:
    values = [0.5, 0.4, 0.2, 0.2, 0.0, 0.0]
    assert pearson(one_system(values, [3 * value + 0.1 for value in values])).value == 1.0
    assert pearson(one_system([1e100, -1e100, 0], [1e-99, -1e-99, 0])).value == pytest.approx(1.0)
    assert pearson(one_system([1e-200, 2e-200, 4e-200], [1, 2, 4])).value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("evaluator", "human", "plain", "calibrated", "epsilon"),
    [([2, 2, 2], [1, 1, 1], 1, 1, 0), ([1, 2, 4], [1, 1, 1], 0, 1, 3), ([1, 1, 1], [1, 2, 4], 0, 0, 0)],
)
def test_only_ties(evaluator: list[float], human: list[float], plain: float, calibrated: float, epsilon: float) -> None:
    both = one_system(evaluator, human)
    tied = calibrated_accuracy(both)
    assert (accuracy(both).value, tied.value, tied.epsilon) == (plain, calibrated, epsilon)


# --- against SciPy and the definitions


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
@given(cells=tables)
def test_correlations_are_scipys(name: str, averaging: Averaging, cells: list[list[tuple[Any, Any]]]) -> None:
    ours, scipys = CORRELATIONS[name]
    evaluator, human = ([[cell[place] for cell in row] for row in cells] for place in (0, 1))
    rows = [row for row in table(evaluator, human) if None not in row]
    if not rows:
        with pytest.raises(InputError):
            scores(evaluator, human)
        return
    groups: dict[str, list[ScorePair]] = {}
    for row in rows:
        groups.setdefault({"none": "", "item": row.item, "system": row.system}[averaging], []).append(row)
    sides = [([row.evaluator for row in group], [row.human for row in group]) for group in groups.values()]
    expected = [scipys(x, y)[0] for x, y in sides if len(set(x)) > 1 and len(set(y)) > 1]
    statistic = ours(scores(evaluator, human), averaging)
    assert (statistic.groups, statistic.groups_left_out) == (len(expected), len(groups) - len(expected))
    assert statistic.scores + statistic.missing.total == len(table(evaluator, human))
    assert statistic.value == (pytest.approx(np.mean(expected), abs=1e-12) if expected else None)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=60))
def test_kendall_of_any_numbers_is_scipys(both: list[tuple[float, float]]) -> None:
    expected = scipy.stats.kendalltau(*zip(*both, strict=True))[0]
    statistic = kendall(one_system(*zip(*both, strict=True)))
    assert statistic.pairs == len(both) * (len(both) - 1) // 2
    assert statistic.value == (None if math.isnan(expected) else pytest.approx(expected, abs=1e-12))


def test_correlations_of_many_scores_are_scipys() -> None:
    rng = np.random.default_rng(7)
    human = rng.integers(0, 40, 3000).astype(float)
    evaluator = np.round(human + rng.normal(size=3000) * 20, 1)
    both = one_system(evaluator.tolist(), human.tolist())
    for ours, scipys in CORRELATIONS.values():
        assert ours(both).value == pytest.approx(scipys(evaluator, human)[0], rel=1e-12)


@given(st.lists(st.tuples(few, few), min_size=2, max_size=20))
def test_accuracy_is_the_share_of_equal_signs(both: list[tuple[float, float]]) -> None:
    agree = [np.sign(a[0] - b[0]) == np.sign(a[1] - b[1]) for a, b in combinations(both, 2)]
    assert accuracy(one_system(*zip(*both, strict=True))).value == pytest.approx(np.mean(agree))


def test_distances_plain_and_scaled() -> None:
    both = one_system([0, 50, 100], [-10, -1, 0])
    assert mean_absolute_error(both).value == pytest.approx((10 + 51 + 100) / 3)
    assert mean_squared_error(both).value == pytest.approx((100 + 51**2 + 100**2) / 3)
    assert mean_absolute_error(both, "minmax").value == pytest.approx(0.4 / 3)
    scaled = mean_squared_error(both, "minmax")
    assert scaled.value == pytest.approx(0.16 / 3)
    assert (scaled.higher_is_better, scaled.signature.split("|")[2]) == (False, "scale:minmax")
    for constant in (one_system([3, 3], [1, 2]), one_system([1, 2], [3, 3])):
        scaled = mean_absolute_error(constant, "minmax")
        assert (mean_absolute_error(constant).value, scaled.value, scaled.undefined) == (1.5, None, EQUAL)


# --- soft pairwise accuracy


@pytest.mark.parametrize(
    ("shape", "permutations", "unit"), [((4, 30), 200, 1), ((3, 7), 200, 10), ((2, 5001), 1000, 1)]
)
def test_p_values_of_systems_are_those_of_the_definition(shape: tuple[int, int], permutations: int, unit: int) -> None:
    """Tenths: sums that only rounding tells apart are equal. 5,001 segments: more than one block is drawn."""
    values = np.random.default_rng(3).integers(0, 5, shape).astype(float)
    ours = p_values(values / unit, permutations, seed=11)
    drawn = np.random.default_rng(11).random((permutations, shape[1]), dtype=np.float32)
    for i, j in combinations(range(shape[0]), 2):
        apart = values[i] - values[j]
        assert ours[i, j] == np.mean([np.where(row > 0.5, apart, -apart).sum() >= apart.sum() for row in drawn])


def test_soft_pairwise_accuracy_is_1_of_people_and_lower_of_who_is_too_sure() -> None:
    values = np.random.default_rng(1).normal(size=(4, 20)).tolist()
    same = soft_pairwise_accuracy(scores(values, values))
    assert (same.value, same.pairs, same.level) == (1.0, 6, "sys")
    assert same.signature == "spa|level:seg|segments:20|permutations:1000|seed:4|left-out:0|version:0.1.0"
    sure = [[1.0] * 10, [0.0] * 10]
    unsure = soft_pairwise_accuracy(scores(sure, [[1.0] * 10] * 2), 500)
    assert unsure.value == pytest.approx(p_values(np.array(sure), 500)[0, 1], abs=1e-12)  # people: p = 1
    assert (unsure.value or 0) < 0.02


def test_soft_pairwise_accuracy_needs_segments_of_all_systems() -> None:
    human = [[1, 2, 3], [2, 3, None], [0, 1, 1]]
    partly = soft_pairwise_accuracy(scores([[1, 2, 3], [2, 3, 4], [0, 1, 2]], human))
    assert (partly.groups_left_out, "|segments:2|" in partly.signature) == (1, True)
    nowhere = soft_pairwise_accuracy(scores([[1, None], [None, 2]], [[1, 1], [1, 1]]))
    assert nowhere.undefined == "no segment has scores of all systems"
    assert soft_pairwise_accuracy(one_system([1, 2], [1, 2])).undefined == ALONE
    with pytest.raises(ConfigError, match="needs scores of segments"):
        soft_pairwise_accuracy(system_level(scores(human, human)))
    with pytest.raises(ConfigError, match="0 permutations"):
        p_values(np.ones((2, 2)), 0)


def test_many_systems_need_little_memory() -> None:
    values = np.random.default_rng(1).normal(size=(150, 5))
    tracemalloc.start()
    p_values(values, 3_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 160 * 2**20  # all permutations of all pairs at once would take 270 MB
