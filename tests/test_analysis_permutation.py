"""Permutation tests and ranks: p-values by the definition, one permutation after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from mtagent.analysis.agreement import STATISTICS, Averaging, Name, PairedScores, ScorePair, paired, system_level
from mtagent.analysis.permutation import Test, Unit, contest, difference, ranked, standardised
from mtagent.errors import ConfigError, InputError
from tests.meta_scores import one_system, scores

RNG = np.random.default_rng(17)
HUMAN = RNG.integers(-6, 1, (4, 12)).astype(float)
NOISY = HUMAN + RNG.normal(size=HUMAN.shape) * 4
NOISIER = np.round(HUMAN + RNG.normal(size=HUMAN.shape) * 5)


def both(first: Any = NOISY, second: Any = NOISIER, human: Any = HUMAN) -> tuple[PairedScores, PairedScores]:
    return scores(first.tolist(), human.tolist()), scores(second.tolist(), human.tolist())


def by_definition(first: Any, second: Any, test: Test, human: Any = HUMAN) -> tuple[float, float]:
    """The real difference and the p-value, by statistics that are held against SciPy elsewhere."""

    paired_scores, statistic = both(first, second, human)[0], STATISTICS[test.statistic]

    def lead(ours: Any, theirs: Any) -> float:
        sides = (replace(paired_scores, evaluator=side.ravel()) for side in (ours, theirs))
        values = [statistic(side, test.averaging).value or 0 for side in sides]
        return values[0] - values[1]

    systems, items = human.shape
    shapes: dict[Unit, tuple[int, int]] = {"score": (systems, items), "item": (1, items), "system": (systems, 1)}
    drawn = np.random.default_rng(test.seed).random((test.permutations, np.prod(shapes[test.unit]))) < 0.5
    one, other = (scipy.stats.zscore(side, axis=None) for side in (first, second))
    swaps = [np.broadcast_to(row.reshape(shapes[test.unit]), human.shape) for row in drawn]
    leads = [lead(np.where(swap, other, one), np.where(swap, one, other)) for swap in swaps]
    return lead(first, second), float(np.mean(np.array(leads) >= lead(one, other) - 1e-9))


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "acc", "acc-t"])
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
@pytest.mark.parametrize("unit", ["score", "item", "system"])
def test_p_values_are_those_of_the_definition(statistic: Name, averaging: Averaging, unit: Unit) -> None:
    test = Test(statistic, averaging, unit, permutations=40, seed=3)
    result = difference(*both(), test)
    value, p_value = by_definition(NOISY, NOISIER, test)
    assert (result.value, result.p_value) == (pytest.approx(value, abs=1e-12), p_value)


def test_more_than_one_block_draws_the_same_permutations() -> None:
    first, second, human = (np.arange(3000.0)[None, :] % n for n in (3000, 11, 7))
    test = Test("pearson", permutations=700)
    assert difference(*both(first, second, human), test).p_value == by_definition(first, second, test, human)[1]


@pytest.mark.parametrize("averaging", ["none", "item", "system"])
def test_scores_that_hardly_differ_within_a_group_are_no_constants(averaging: Averaging) -> None:
    steps = 100.0 * np.arange(12) if averaging == "item" else 100.0 * np.arange(4)[:, None]
    first, second = steps + NOISY * 1e-7, steps + NOISIER * 1e-7
    test = Test("pearson", averaging, permutations=200)
    expected = by_definition(first, second, test)[1]
    assert difference(*both(first, second), test).p_value == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(
    ("unit", "single"), [("item", system_level(both()[0])), ("system", one_system([1, 2], [1, 3]))]
)
def test_a_single_unit_cannot_change_sides(unit: Unit, single: PairedScores) -> None:
    with pytest.raises(InputError, match=f"unit '{unit}': there is only one, so permutations change nothing"):
        difference(single, single, Test("acc", unit=unit))


def test_a_good_evaluator_is_better_than_chance_whatever_its_scale() -> None:
    human = RNG.normal(size=(5, 60))
    good, chance = 100 + 50 * (human + RNG.normal(size=(5, 60)) / 2), RNG.normal(size=(5, 60)) / 1000
    for statistic in STATISTICS:
        test = Test(statistic, "item", permutations=200)
        assert (difference(*both(good, chance, human), test).p_value or 0) < 0.01
        assert (difference(*both(chance, good, human), test).p_value or 0) > 0.99


def test_what_needs_no_permutation() -> None:
    first, second = both()
    turned = paired(list(second.rows())[::-1])
    assert difference(first, turned, Test("pearson")) == difference(first, second, Test("pearson"))
    itself, constant = difference(first, first, Test("pearson")), difference(*both(NOISY, 0 * NOISY), Test("kendall"))
    assert (itself.value, itself.p_value, constant.value, constant.p_value) == (0.0, 1.0, None, None)


@pytest.mark.parametrize("value", [0.1, 0.5, 7 / 3])
def test_scores_of_any_size_are_standardised_and_constant_ones_are_average(value: float) -> None:
    assert set(standardised(np.full(48, value)).tolist()) == {0.0}
    for scale in (1, 1e-170):
        assert standardised(NOISY.ravel() * scale) == pytest.approx(scipy.stats.zscore(NOISY.ravel()))


def test_the_same_seed_gives_the_same_p_value_and_is_signed() -> None:
    results = [difference(*both(), Test("spearman", "item", seed=seed)) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]
    assert results[0].signature == (
        "spearman|level:seg|avg:item|perm:1000|unit:score|seed:1|sides:1|left-out:0|version:0.1.0"
    )


def test_a_permutation_without_a_correlation_counts_as_0() -> None:
    """Of the four ways to swap two scores one leaves the lead of 2, two make both sides constant, one turns it."""
    result = difference(one_system([0, 1], [0, 1]), one_system([1, 0], [0, 1]), Test("pearson", permutations=400))
    drawn = np.random.default_rng(12345).random((400, 2)) < 0.5
    assert (result.value, result.p_value) == (pytest.approx(2.0), np.mean(~drawn.any(axis=1)))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            [ScorePair("A", "0", 1, 1), ScorePair("A", "2", 1, 2)],
            "system 'A', item '1': has no score of the second evaluator",
        ),
        (
            [ScorePair("A", "0", 1, 1), ScorePair("A", "1", 1, 3)],
            "system 'A', item '1': the human scores differ: 2.0 and 3.0",
        ),
        (
            [ScorePair("A", "0", 1, 1), ScorePair("A", "1", 1, 2), ScorePair("A", "2", 1, 2)],
            "system 'A', item '2': has no score of the first evaluator",
        ),
    ],
)
def test_only_equal_translations_are_compared(second: list[ScorePair], message: str) -> None:
    with pytest.raises(InputError, match=message):
        difference(one_system([1, 2], [1, 2]), paired(second), Test("pearson"))


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"statistic": "tau"}, "statistic 'tau': one of"),
        ({"statistic": "acc", "unit": "segment"}, "unit 'segment'"),
        ({"statistic": "acc", "permutations": 19}, "19 permutations.*give at least 20"),
        ({"statistic": "acc", "seed": -1}, "a seed is 0 or more"),
    ],
)
def test_unknown_settings_of_a_test_are_named(settings: dict[str, Any], culprit: str) -> None:
    with pytest.raises(ConfigError, match=culprit):
        Test(**settings)


def test_ranks_open_a_cluster_where_one_is_worse_than_any_above_in_it() -> None:
    human = RNG.normal(size=(6, 80))
    noise = [RNG.normal(size=human.shape) for _ in range(4)]
    spread = {"bad": (noise[0], 9.0), "fair": (noise[1], 1.5), "best": (noise[2], 0.3), "as fair": (noise[3], 1.5)}
    evaluators = {name: both(human + much * own, human, human)[0] for name, (own, much) in spread.items()}
    ranks = ranked(evaluators, Test("pearson", permutations=200))
    assert [evaluator.rank for evaluator in ranks] == [1, 2, 2, 3]
    assert (ranks[0].name, ranks[3].name) == ("best", "bad")
    flat = {"flat": both(0 * NOISY)[0], "noisy": both()[0]}
    with pytest.raises(InputError, match="flat: pearson is not defined for its scores; leave it out"):
        ranked(flat, Test("pearson"))
    assert contest(flat, Test("pearson")).left_out == ("flat",)
