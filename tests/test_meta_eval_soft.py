"""Soft pairwise accuracy: p-values by the definition, from the same random numbers."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from mtagent.analysis.agreement import p_values, soft_pairwise_accuracy, system_level
from mtagent.errors import ConfigError
from tests.meta_scores import scores


def naive_p_values(values: np.ndarray, permutations: int, seed: int) -> dict[tuple[int, int], float]:
    drawn = np.random.default_rng(seed).random((permutations, values.shape[1]), dtype=np.float32)
    found = {}
    for i, j in combinations(range(len(values)), 2):
        real = sum(values[i] - values[j])
        hits = sum(sum(np.where(row > 0.5, 1, -1) * (values[i] - values[j])) >= real - 1e-9 for row in drawn)
        found[i, j] = hits / permutations
    return found


def test_p_values_of_systems_are_those_of_the_definition() -> None:
    values = np.random.default_rng(3).integers(0, 5, (4, 30)).astype(float)
    found = p_values(values, 200, seed=11)
    for (i, j), expected in naive_p_values(values, 200, 11).items():
        assert found[i, j] == expected


def test_sums_that_only_rounding_tells_apart_are_equal() -> None:
    values = np.random.default_rng(2).integers(0, 4, (3, 7)).astype(float)
    found = p_values(values / 10, 200)
    for (i, j), expected in naive_p_values(values, 200, 4).items():
        assert found[i, j] == expected


def test_blocks_draw_the_same_swaps() -> None:
    values = np.random.default_rng(3).normal(size=(2, 5001)) * 10
    assert p_values(values, 1000, seed=4)[0, 1] == naive_p_values(values, 1000, 4)[0, 1]


def test_soft_pairwise_accuracy_of_people_themselves_is_1() -> None:
    values = np.random.default_rng(1).normal(size=(4, 20)).tolist()
    found = soft_pairwise_accuracy(scores(values, values))
    assert (found.value, found.pairs, found.level) == (1.0, 6, "sys")
    assert found.signature == "spa|level:seg|segments:20|permutations:1000|seed:4|left-out:0|version:0.1.0"


def test_soft_pairwise_accuracy_is_lower_where_the_evaluator_is_too_sure() -> None:
    human = [[1.0] * 10, [1.0] * 10]
    sure = [[1.0] * 10, [0.0] * 10]
    found = soft_pairwise_accuracy(scores(sure, human), 500)
    assert found.value == pytest.approx(p_values(np.array(sure), 500)[0, 1], abs=1e-12)  # people: p = 1
    assert (found.value or 0) < 0.02


def test_segments_without_all_systems_are_left_out_of_soft_pairwise_accuracy() -> None:
    human = [[1, 2, 3], [2, 3, None], [0, 1, 1]]
    found = soft_pairwise_accuracy(scores([[1, 2, 3], [2, 3, 4], [0, 1, 2]], human))
    assert found.groups_left_out == 1
    assert "|segments:2|" in found.signature
    nowhere = soft_pairwise_accuracy(scores([[1, None], [None, 2]], [[1, 1], [1, 1]]))
    assert nowhere.undefined == "no segment has scores of all systems"


@pytest.mark.parametrize(("times", "plus"), [(1e-13, 0.0), (1e90, 0.0), (1.0, 1e9)])
def test_soft_pairwise_accuracy_does_not_depend_on_the_unit(times: float, plus: float) -> None:
    rng = np.random.default_rng(5)
    human = rng.integers(-25, 1, (4, 40)).astype(float)
    evaluator = human + rng.normal(size=human.shape) * 20
    expected = soft_pairwise_accuracy(scores(evaluator.tolist(), human.tolist())).value
    found = soft_pairwise_accuracy(scores((evaluator * times + plus).tolist(), human.tolist())).value
    assert expected == found
    assert (expected or 1) < 1


def test_many_systems_need_little_memory() -> None:
    values = np.random.default_rng(1).normal(size=(150, 5))
    tracemalloc.start()
    p_values(values, 3_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 160 * 2**20  # all permutations of all pairs at once would take 270 MB


def test_soft_pairwise_accuracy_needs_segments_and_permutations() -> None:
    both = scores([[1, 2], [3, 4]], [[1, 2], [3, 4]])
    with pytest.raises(ConfigError, match="needs the scores of segments"):
        soft_pairwise_accuracy(system_level(both))
    for settings in ((0, 4), (1, -1)):
        with pytest.raises(ConfigError, match="at least one is needed, and a seed from 0"):
            soft_pairwise_accuracy(both, *settings)
