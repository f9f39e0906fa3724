"""Paired scores and their statistics: hand-made cases, missing scores, and agreement with SciPy and the definitions."""

from __future__ import annotations

import math
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
    Row,
    Statistic,
    accuracy,
    calibrated_accuracy,
    kendall,
    mean_absolute_error,
    mean_squared_error,
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


# the record


def test_rows_in_any_order_keep_their_scores() -> None:
    found = paired([Row("B", "1", 4, 5), Row("A", "0", 0, 1), Row("B", "0", 3, 2), Row("A", "1", 7, 8)])
    assert (found.systems, found.items, len(found)) == (("B", "A"), ("1", "0"), 4)
    assert list(found.rows())[2] == Row("B", "0", 3.0, 2.0)
    assert found.missing == Missing()
    assert found.missing.total == 0


def test_scores_cannot_be_written_to() -> None:
    found = one_system([1, 2], [3, 4])
    with pytest.raises(ValueError, match="read-only"):
        found.evaluator[0] = 9


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Row("A", "0", None, 1)], "system 'A', item '0': the evaluator's score is missing; give all scores, or"),
        ([Row("A", "0", 1, None)], "system 'A', item '0': the human score is missing"),
        ([Row("A", "0", 1, 1), Row("B", "1", 1, 1)], "system 'A', item '1': has no row"),
        ([Row("A", "0", 1, 1), Row("A", "0", 1, 1)], "system 'A', item '0': has two rows"),
        ([Row("A", "0", math.nan, 1)], "the evaluator's score is nan, not a finite number; a missing score is None"),
        ([Row("A", "0", 1, math.inf)], "the human score is inf, not a finite number"),
        ([Row("A", "0", 1, -1e200)], "the human score is -1e[+]200, too large"),
        ([Row("A", "0", "1", 1)], "the evaluator's score is '1', not a finite number"),  # type: ignore[arg-type]
        ([Row("A", "0", np.float64("nan"), 1)], "nan"),
        ([Row("A", "0", 1, 10**5000)], "system 'A', item '0': the human score is an integer of hundreds of digits"),
        ([], "no translation with a score"),
    ],
)
def test_what_is_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        paired(rows)


def test_missing_scores_are_left_out_and_counted_by_what_is_missing() -> None:
    rows = [Row("A", "0", 1, 1), Row("A", "1", None, 1), Row("A", "2", 1, None), Row("B", "0", None, None)]
    rows += [Row("B", "1", 2, 2), Row("B", "2", None, 0)]
    found = paired(rows, missing="leave-out")
    assert found.missing == Missing(evaluator=2, human=1, both=1, absent=0)
    assert list(found.rows()) == [rows[0], rows[4]]
    assert paired([*rows[:-1], Row("C", "0", 1, 1)], missing="leave-out").missing == Missing(1, 1, 1, absent=3)
    assert "|left-out:4|" in pearson(found).signature


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_is_refused_even_where_missing_scores_are_left_out(value: float) -> None:
    with pytest.raises(InputError, match="system 'B', item '0': the human score is"):
        paired([Row("A", "0", 1, 1), Row("B", "0", 1, value)], missing="leave-out")


def test_a_second_row_is_refused_even_where_the_first_lacks_a_score() -> None:
    with pytest.raises(InputError, match="system 'A', item '0': has two rows"):
        paired([Row("A", "0", None, 1), Row("A", "0", 1, 1)], missing="leave-out")


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match="no translation with a score"):
        paired([Row("A", "0", None, 1), Row("A", "1", 1, None)], missing="leave-out")


def test_a_record_made_by_hand_is_checked_too() -> None:
    places = np.zeros(2, dtype=np.int64)
    with pytest.raises(InputError, match="not all are finite"):
        PairedScores(("A",), ("0", "1"), np.array([1.0, math.nan]), np.ones(2), places, places)
    with pytest.raises(InputError, match="same length"):
        PairedScores(("A",), ("0", "1"), np.ones(3), np.ones(2), places, places)


def test_unknown_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="'refuse' or 'leave-out', not 'drop'"):
        paired([], missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'none', 'item' or 'system', not 'sys'"):
        pearson(one_system([1, 2], [1, 2]), "sys")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'none' or 'minmax', not 'max'"):
        mean_absolute_error(one_system([1, 2], [1, 2]), "max")  # type: ignore[arg-type]


# systems


def test_a_systems_score_is_the_mean_over_its_segments_with_both_scores() -> None:
    found = system_level(scores([[1, 2, None], [4, 5, 6], [None, 1, 1]], [[1, 3, 5], [2, 3, 4], [1, None, None]]))
    assert found.evaluator.tolist() == [1.5, 5.0]
    assert found.human.tolist() == [2.0, 3.0]
    assert found.systems[found.system[1]] == "B"
    assert (found.level, found.missing.absent) == ("sys", 1)
    assert system_level(found) is found


def test_given_scores_of_systems_have_no_item() -> None:
    rows = [Row("A", "", 30.1, 0.5), Row("B", "", 28.0, 0.7), Row("C", "", 31.0, 0.9)]
    found = accuracy(paired(rows, level="sys"))
    assert found.value == pytest.approx(2 / 3)
    assert found.signature == "acc|level:sys|avg:none|eps:0|left-out:0|version:0.1.0"
    with pytest.raises(InputError, match="a system's own score has no item"):
        paired([Row("A", "1", 1, 1)], level="sys")


def test_a_missing_score_of_a_given_system_is_named_without_an_item() -> None:
    with pytest.raises(InputError, match=r"^system 'A': the evaluator's score is missing"):
        paired([Row("A", "", None, 1)], level="sys")


# what cannot be computed


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall])
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
@pytest.mark.parametrize(
    ("evaluator", "human"), [([[0.1] * 3] * 3, [[1, 2, 3]] * 3), ([[1, 2, 3]] * 3, [[0.1] * 3] * 3)]
)
def test_constant_scores_have_no_correlation(
    statistic: Any, averaging: Averaging, evaluator: list[list[float]], human: list[list[float]]
) -> None:
    found: Statistic = statistic(scores(evaluator, human), averaging)
    assert (found.value, found.undefined, found.groups) == (None, EQUAL, 0)
    assert found.groups_left_out == (1 if averaging == "none" else 3)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall, accuracy, calibrated_accuracy])
def test_one_score_has_nothing_to_compare(statistic: Any) -> None:
    found: Statistic = statistic(one_system([1], [2]))
    assert (found.value, found.undefined, found.scores, found.groups_left_out) == (None, ALONE, 1, 1)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall, accuracy, calibrated_accuracy])
def test_one_system_has_no_average_by_item_and_no_system_level(statistic: Any) -> None:
    one = one_system([1, 2, 3], [2, 4, 6])
    assert statistic(one).value == pytest.approx(1.0)
    assert statistic(one, "system").value == pytest.approx(1.0)
    assert statistic(one, "item").undefined == ALONE
    assert statistic(system_level(one)).undefined == ALONE
    assert soft_pairwise_accuracy(one).undefined == ALONE


def test_one_segment_is_averaged_by_item_only() -> None:
    one = scores([[1], [2], [3]], [[5], [6], [4]])
    assert kendall(one, "item").value == kendall(one).value == pytest.approx(-1 / 3)
    assert kendall(one, "system").undefined == ALONE


def test_constant_groups_are_left_out_of_the_mean_and_counted() -> None:
    found = pearson(scores([[1, 2, 3], [5, 5, 5], [3, 2, 1]], [[1, 2, 3], [1, 2, 3], [1, 2, 4]]), "system")
    assert found.value == pytest.approx((1 + scipy.stats.pearsonr([3, 2, 1], [1, 2, 4])[0]) / 2)
    assert (found.groups, found.groups_left_out, found.undefined) == (2, 1, None)


def test_equal_numbers_whose_mean_is_another_are_constant() -> None:
    values = [0.1] * 10
    assert sum(values) / 10 != 0.1
    assert pearson(one_system(values, range(10))).undefined == EQUAL


def test_two_equal_scores_are_constant_not_alone() -> None:
    assert [one(one_system([1, 1], [1, 2])).undefined for one in (pearson, spearman, kendall)] == [EQUAL] * 3


def test_rounding_makes_no_correlation_higher_than_1() -> None:
    values = [0.5, 0.4, 0.2, 0.2, 0.0, 0.0]
    assert pearson(one_system(values, [3 * value + 0.1 for value in values])).value == 1.0


def test_large_and_small_scores_are_correlated_without_overflow() -> None:
    assert pearson(one_system([1e100, -1e100, 0], [1e-99, -1e-99, 0])).value == pytest.approx(1.0)
    assert pearson(one_system([1e-200, 2e-200, 4e-200], [1, 2, 4])).value == pytest.approx(1.0)


def test_only_ties() -> None:
    every = one_system([2, 2, 2], [1, 1, 1])
    assert (accuracy(every).value, calibrated_accuracy(every).value, calibrated_accuracy(every).epsilon) == (1, 1, 0)
    assert kendall(every).undefined == EQUAL
    by_people = one_system([1, 2, 4], [1, 1, 1])
    assert accuracy(by_people).value == 0
    assert (calibrated_accuracy(by_people).value, calibrated_accuracy(by_people).epsilon) == (1, 3)
    by_evaluator = one_system([1, 1, 1], [1, 2, 4])
    assert (calibrated_accuracy(by_evaluator).value, calibrated_accuracy(by_evaluator).epsilon) == (0, 0)


# against SciPy and the definitions


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
@given(cells=tables)
def test_correlations_are_scipys(name: str, averaging: Averaging, cells: list[list[tuple[Any, Any]]]) -> None:
    ours, scipys = CORRELATIONS[name]
    evaluator, human = ([[cell[place] for cell in row] for row in cells] for place in (0, 1))
    rows = [row for row in table(evaluator, human) if None not in row]
    if not rows:
        return
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault({"none": "", "item": row.item, "system": row.system}[averaging], []).append(row)
    expected = [scipys([r.evaluator for r in g], [r.human for r in g])[0] for g in groups.values() if _vary(g)]
    found = ours(scores(evaluator, human), averaging)
    assert (found.groups, found.groups_left_out) == (len(expected), len(groups) - len(expected))
    assert found.scores + found.missing.total == len(table(evaluator, human))
    if expected:
        assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
    else:
        assert found.value is None


def _vary(rows: list[Row]) -> bool:
    return len({row.evaluator for row in rows}) > 1 and len({row.human for row in rows}) > 1


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=60))
def test_kendall_of_any_numbers_is_scipys(both: list[tuple[float, float]]) -> None:
    expected = scipy.stats.kendalltau(*zip(*both, strict=True))[0]
    found = kendall(one_system(*zip(*both, strict=True)))
    assert found.pairs == len(both) * (len(both) - 1) // 2
    assert found.value is None if math.isnan(expected) else found.value == pytest.approx(expected, abs=1e-12)


def test_correlations_of_many_scores_are_scipys() -> None:
    rng = np.random.default_rng(7)
    human = rng.integers(0, 40, 3000).astype(float)
    evaluator = np.round(human + rng.normal(size=3000) * 20, 1)
    both = one_system(evaluator.tolist(), human.tolist())
    for ours, scipys in CORRELATIONS.values():
        assert ours(both).value == pytest.approx(scipys(evaluator, human)[0], rel=1e-12)


@given(cells=tables)
def test_accuracy_is_the_share_of_equal_signs(cells: list[list[tuple[Any, Any]]]) -> None:
    both = [cell for row in cells for cell in row if None not in cell]
    if len(both) < 2:
        return
    agree = [np.sign(a[0] - b[0]) == np.sign(a[1] - b[1]) for a, b in combinations(both, 2)]
    assert accuracy(one_system(*zip(*both, strict=True))).value == pytest.approx(np.mean(agree))


# distances


def test_distances_plain_and_scaled() -> None:
    both = one_system([0, 50, 100], [-10, -1, 0])
    assert mean_absolute_error(both).value == pytest.approx((10 + 51 + 100) / 3)
    assert mean_squared_error(both).value == pytest.approx((100 + 51**2 + 100**2) / 3)
    assert mean_absolute_error(both, "minmax").value == pytest.approx(0.4 / 3)
    found = mean_squared_error(both, "minmax")
    assert found.value == pytest.approx(0.16 / 3)
    assert (found.higher_is_better, found.signature.split("|")[2]) == (False, "scale:minmax")


def test_constant_scores_cannot_be_scaled() -> None:
    for both in (one_system([3, 3], [1, 2]), one_system([1, 2], [3, 3])):
        plain, scaled = mean_absolute_error(both), mean_absolute_error(both, "minmax")
        assert (plain.value, plain.groups, plain.groups_left_out) == (1.5, 1, 0)
        assert (scaled.value, scaled.undefined, scaled.groups, scaled.groups_left_out) == (None, EQUAL, 0, 1)
