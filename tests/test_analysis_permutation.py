"""Permutation tests and ranks: p-values by the definition, one permutation after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from mtagent.analysis.agreement import Averaging, PairedScores, Row, paired, pearson, system_level
from mtagent.analysis.permutation import Name, Test, Unit, difference, ranked, standardised
from mtagent.analysis.ties import Groups, calibrate
from mtagent.errors import ConfigError, InputError
from tests.meta_scores import one_system, scores

RNG = np.random.default_rng(17)
HUMAN = RNG.integers(-6, 1, (4, 12)).astype(float)
NOISY = HUMAN + RNG.normal(size=HUMAN.shape) * 4
NOISIER = np.round(HUMAN + RNG.normal(size=HUMAN.shape) * 5)


def both(first: Any = NOISY, second: Any = NOISIER, human: Any = HUMAN) -> tuple[PairedScores, PairedScores]:
    return scores(first.tolist(), human.tolist()), scores(second.tolist(), human.tolist())


def of(name: Name, evaluator: Any, human: Any) -> float:
    """The definition, of one group."""
    if name == "acc":
        first, second = np.triu_indices(len(human), 1)
        equal = np.sign(evaluator[first] - evaluator[second]) == np.sign(human[first] - human[second])
        return float(equal.mean())
    scipys: dict[str, Callable[..., Any]] = {
        "pearson": scipy.stats.pearsonr,
        "spearman": scipy.stats.spearmanr,
        "kendall": scipy.stats.kendalltau,
    }
    return float(scipys[name](evaluator, human)[0])


def mean(name: Name, evaluator: Any, averaging: Averaging) -> float:
    """Averaged: systems × items."""
    if name == "acc-t":
        groups = {"none": 0 * np.arange(48), "item": np.arange(48) % 12, "system": np.arange(48) // 12}[averaging]
        found = calibrate(evaluator.ravel(), HUMAN.ravel(), Groups(groups, int(groups.max()) + 1))
        assert found is not None
        return found.accuracy
    if averaging == "none":
        return of(name, evaluator.ravel(), HUMAN.ravel())
    tables = zip(evaluator.T, HUMAN.T, strict=True) if averaging == "item" else zip(evaluator, HUMAN, strict=True)
    return float(np.mean([of(name, one, human) for one, human in tables]))


def naive(test: Test) -> tuple[float, float]:
    """The real difference and the p-value."""
    shape: dict[Unit, tuple[int, ...]] = {"score": (4, 12), "item": (1, 12), "system": (4, 1)}
    size = int(np.prod(shape[test.unit]))
    drawn = np.random.default_rng(test.seed).random((test.permutations, size)) < 0.5
    first, second = (scipy.stats.zscore(one.ravel()).reshape(4, 12) for one in (NOISY, NOISIER))
    real = mean(test.statistic, NOISY, test.averaging) - mean(test.statistic, NOISIER, test.averaging)
    hits = 0
    for row in drawn:
        swap = np.broadcast_to(row.reshape(shape[test.unit]), (4, 12))
        one = mean(test.statistic, np.where(swap, second, first), test.averaging)
        hits += one - mean(test.statistic, np.where(swap, first, second), test.averaging) >= real - 1e-9
    return real, hits / test.permutations


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "acc", "acc-t"])
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
@pytest.mark.parametrize("unit", ["score", "item", "system"])
def test_p_values_are_those_of_the_definition(statistic: Name, averaging: Averaging, unit: Unit) -> None:
    test = Test(statistic, averaging, unit, permutations=40, seed=3)
    found = difference(*both(), test)
    real, p_value = naive(test)
    assert found.value == pytest.approx(real, abs=1e-12)
    assert found.p_value == p_value


def test_more_than_one_block_draws_the_same_permutations() -> None:
    first = one_system(np.arange(3000).tolist(), (np.arange(3000) % 7).tolist())
    second = one_system((np.arange(3000) % 11).tolist(), (np.arange(3000) % 7).tolist())
    found = difference(first, second, Test("pearson", permutations=700))
    assert found.p_value == naive_pearson(first, second, Test("pearson", permutations=700))


@pytest.mark.parametrize("averaging", ["none", "item", "system"])
def test_scores_that_hardly_differ_within_a_group_are_no_constants(averaging: Averaging) -> None:
    steps = 100.0 * np.arange(12) if averaging == "item" else 100.0 * np.arange(4)[:, None]
    first, second = both(steps + NOISY * 1e-7, steps + NOISIER * 1e-7)
    test = Test("pearson", averaging, permutations=200)
    assert difference(first, second, test).p_value == pytest.approx(naive_pearson(first, second, test), abs=0.006)


def naive_pearson(first: PairedScores, second: PairedScores, test: Test) -> float:
    """The p-value by the library's own statistic, of scores that were made one permutation after the other."""
    drawn = np.random.default_rng(test.seed).random((test.permutations, len(first))) < 0.5
    one, other = (scipy.stats.zscore(scores.evaluator) for scores in (first, second))
    lead = [
        (pearson(replace(first, evaluator=x), test.averaging).value or 0)
        - (pearson(replace(first, evaluator=y), test.averaging).value or 0)
        for swap in [np.zeros(len(first), bool), *drawn]
        for x, y in [(np.where(swap, other, one), np.where(swap, one, other))]
    ]
    return float(np.mean(np.array(lead[1:]) >= lead[0] - 1e-9))


@pytest.mark.parametrize(
    ("unit", "single"), [("item", system_level(both()[0])), ("system", one_system([1, 2], [1, 3]))]
)
def test_a_single_unit_cannot_change_sides(unit: Unit, single: PairedScores) -> None:
    with pytest.raises(InputError, match=f"unit '{unit}': there is only one; all scores or none would change sides"):
        difference(single, single, Test("acc", unit=unit))


def test_a_good_evaluator_is_better_than_chance_whatever_its_scale() -> None:
    human = RNG.normal(size=(5, 60))
    good, chance = 100 + 50 * (human + RNG.normal(size=(5, 60)) / 2), RNG.normal(size=(5, 60)) / 1000
    for statistic in ("pearson", "spearman", "kendall", "acc", "acc-t"):
        test = Test(statistic, "item", permutations=200)  # type: ignore[arg-type]
        assert (difference(*both(good, chance, human), test).p_value or 0) < 0.01
        assert (difference(*both(chance, good, human), test).p_value or 0) > 0.99


def test_what_needs_no_permutation() -> None:
    first, second = both()
    turned = paired(list(second.rows())[::-1])
    assert difference(first, turned, Test("pearson")) == difference(first, second, Test("pearson"))
    itself, constant = difference(first, first, Test("pearson")), difference(*both(NOISY, 0 * NOISY), Test("kendall"))
    assert (itself.value, itself.p_value, constant.value, constant.p_value) == (0.0, 1.0, None, None)
    systems = difference(system_level(first), system_level(second), Test("acc", permutations=100))
    assert (systems.p_value is not None, "|level:sys|" in systems.signature) == (True, True)


@pytest.mark.parametrize("value", [0.1, 0.5, 7 / 3])
def test_scores_of_any_size_are_standardised_and_constant_ones_are_average(value: float) -> None:
    assert set(standardised(np.full(48, value)).tolist()) == {0.0}
    for scale in (1, 1e-170):
        assert standardised(NOISY.ravel() * scale) == pytest.approx(scipy.stats.zscore(NOISY.ravel()))


def test_the_same_seed_gives_the_same_p_value_and_is_signed() -> None:
    found = [difference(*both(), Test("spearman", "item", seed=seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[0].signature == (
        "spearman|level:seg|avg:item|perm:1000|unit:score|seed:1|sides:1|left-out:0|version:0.1.0"
    )


def test_a_permutation_without_a_correlation_counts_as_0() -> None:
    """Of the four ways to swap two scores one leaves the lead of 2, two make both sides constant, one turns it."""
    found = difference(one_system([0, 1], [0, 1]), one_system([1, 0], [0, 1]), Test("pearson", permutations=400))
    drawn = np.random.default_rng(12345).random((400, 2)) < 0.5
    assert (found.value, found.p_value) == (pytest.approx(2.0), np.mean(~drawn.any(axis=1)))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([Row("A", "0", 1, 1), Row("A", "2", 1, 2)], "system 'A', item '1': has no score of the second evaluator"),
        ([Row("A", "0", 1, 1), Row("A", "1", 1, 3)], "system 'A', item '1': the human scores differ: 2.0 and 3.0"),
        ([Row("A", "0", 1, 1), Row("A", "1", 1, 2), Row("A", "2", 1, 2)], "second evaluator has 3 scores, the first 2"),
    ],
)
def test_only_equal_translations_are_compared(second: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        difference(one_system([1, 2], [1, 2]), paired(second), Test("pearson"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"statistic": "tau"}, "statistic 'tau': one of pearson, spearman, kendall, acc, acc-t"),
        ({"statistic": "acc", "unit": "segment"}, "unit 'segment'"),
        ({"statistic": "acc", "permutations": 0}, "at least one"),
        ({"statistic": "acc", "seed": -1}, "a seed from 0"),
    ],
)
def test_unknown_settings_of_a_test_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Test(**settings)


def test_ranks_open_a_cluster_where_one_is_worse_than_any_above_in_it() -> None:
    human = RNG.normal(size=(6, 80))
    noise = [RNG.normal(size=human.shape) for _ in range(4)]
    spread = {"bad": (noise[0], 9.0), "fair": (noise[1], 1.5), "best": (noise[2], 0.3), "as fair": (noise[3], 1.5)}
    evaluators = {name: scores((human + one * much).tolist(), human.tolist()) for name, (one, much) in spread.items()}
    found = ranked(evaluators, Test("pearson", permutations=200))
    assert [one.rank for one in found] == [1, 2, 2, 3]
    assert (found[0].name, found[3].name) == ("best", "bad")
    assert {one.rank for one in ranked(evaluators, Test("pearson", permutations=50), alpha=-1.0)} == {1}
    with pytest.raises(InputError, match="flat: pearson is not defined for its scores; leave it out"):
        ranked({"flat": both(0 * NOISY)[0]}, Test("pearson"))
