"""Tie calibration: the very best threshold of all, whatever the size of the blocks."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.analysis.agreement import Averaging, accuracy, calibrated_accuracy
from mtagent.analysis.ties import Groups, calibrate, uncalibrated
from tests.meta_scores import one_system, scores

Group = list[tuple[float, float]]
near = st.sampled_from([0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 0.7, 1.0, 1.1, 2.0, 1e-17, -0.5])
any_number = st.floats(-100, 100) | st.floats(-1e9, 1e9)


def shares(groups: list[Group]) -> dict[float, Fraction]:
    """The accuracy with every difference that occurs, pair by pair, in fractions; nothing without a pair."""
    pairs = [list(combinations(group, 2)) for group in groups if len(group) > 1]

    def share(epsilon: float) -> Fraction:
        rights = [
            Fraction(sum((abs(x - y) <= epsilon) if h == k else (abs(x - y) > epsilon and (x > y) == (h > k))
                         for (x, h), (y, k) in group), len(group))
            for group in pairs
        ]  # fmt: skip
        return sum(rights, Fraction()) / len(rights)

    return {
        epsilon: share(epsilon) for epsilon in {0.0, *(abs(a[0] - b[0]) for group in pairs for a, b in group)} if pairs
    }


def best(groups: list[Group]) -> tuple[float, Fraction]:
    """The smallest of the best thresholds, and the accuracy with it."""
    return min(shares(groups).items(), key=lambda threshold: (-threshold[1], threshold[0]))


def flat(groups: list[Group]) -> tuple[Any, Any, Groups]:
    of, x, h = zip(*((place, *cell) for place, group in enumerate(groups) for cell in group), strict=True)
    return np.array(x, float), np.array(h, float), Groups(np.array(of, np.int64), len(groups))


@pytest.mark.parametrize("block", [1, 3, 10, 1000])
@given(groups=st.lists(st.lists(st.tuples(near | any_number, near), min_size=1, max_size=12), min_size=1, max_size=4))
def test_the_best_threshold_is_found_by_looking_at_as_little_as_possible(block: int, groups: list[Group]) -> None:
    calibrated, plain = calibrate(*flat(groups), block=block), uncalibrated(*flat(groups))
    if not shares(groups):
        assert (calibrated, plain) == (None, None)
        return
    compared = sum(len(group) > 1 for group in groups)
    epsilon, share = best(groups)
    assert calibrated == (epsilon, pytest.approx(float(share), abs=1e-14), compared)
    assert plain == (0.0, pytest.approx(float(shares(groups)[0.0]), abs=1e-14), compared)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_do_not_matter_for_many_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2 + seed, 400).astype(float)
    evaluator = human * (seed % 3) + rng.normal(size=400) * 3
    pooled = one_system(evaluator.tolist(), human.tolist())
    results = [calibrated_accuracy(pooled, block=block) for block in (50, 5_000, 10**6)]
    assert len({(result.epsilon, result.value) for result in results}) == 1
    assert (accuracy(pooled).value or 0) <= (results[0].value or 0)


@pytest.mark.parametrize("seed", [3, 4, 6])
def test_groups_of_so_many_sizes_that_weights_do_not_fit_64_bits_are_exact_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice(np.arange(2, 60), 24, replace=False)
    groups = [
        list(zip(rng.normal(size=n).round(1).tolist(), rng.integers(0, 2, n).tolist(), strict=True)) for n in sizes
    ]
    epsilon, share = best(groups)
    for block in (100, 2**20):
        assert calibrate(*flat(groups), block=block) == (epsilon, float(share), 24)


def test_one_threshold_for_all_groups_and_of_equally_good_ones_the_smallest() -> None:
    smallest = calibrated_accuracy(scores([[0, 0, 0], [1, 2, 3]], [[5, 5, 5], [5, 6, 5]]), "item")
    assert (smallest.epsilon, smallest.value) == (1.0, pytest.approx(2 / 3))  # as with 3; 2 takes an item back
    by_item = calibrated_accuracy(scores([[0, 0], [1, 3], [5, 9]], [[1, 1], [1, 1], [2, 2]]), "item")
    assert (by_item.epsilon, by_item.value) == (3.0, 1.0)
    assert by_item.signature == "acc-t|level:seg|avg:item|eps:exact|left-out:0|version:0.1.0"


@pytest.mark.parametrize(("averaging", "left_out"), [("item", 1), ("system", 1), ("none", 0)])
def test_groups_without_a_pair_are_counted(averaging: Averaging, left_out: int) -> None:
    result = calibrated_accuracy(scores([[1, 2, 3], [None, 3, 1], [None, None, 5]], [[1, 2, 3]] * 3), averaging)
    assert (result.groups_left_out, result.missing.evaluator) == (left_out, 3)


def test_memory_grows_with_the_scores_and_the_block_not_with_the_pairs() -> None:
    peaks = []
    for number in (1_500, 6_000):
        rng = np.random.default_rng(1)
        human = np.where(rng.random(number) < 0.6, 0.0, rng.integers(-9, 0, number))
        both = one_system((human + rng.normal(size=number) * 9).tolist(), human.tolist())
        tracemalloc.start()
        calibrated_accuracy(both, block=2**16)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]  # sixteen times as many pairs
    assert peaks[1] < 16 * 2**20  # a list of their differences alone would take 144 MB
