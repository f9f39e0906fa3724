"""Whether one evaluator agrees with people better than another, or only by chance; ranks of several.

The permutation test is by Deutsch, Dror and Roth (2021), "A Statistical Analysis of Summarization Evaluation
Metrics": both evaluators' scores are standardised, then some of them change sides at random, and the statistic is
computed again. The p-value is the share of permutations in which the first evaluator is ahead by at least as much as it
really is (one-sided; not corrected by +1, as in mt-metrics-eval).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np

from mtagent.analysis.agreement import (
    CORRELATIONS,
    PERMUTATIONS,
    STATISTICS,
    Averaging,
    Level,
    Name,
    PairedScores,
    deviations,
    groups_of,
    signed,
    translation_name,
)
from mtagent.analysis.ties import Floats, Groups, calibrate, uncalibrated
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import NOISE, SEED, holm

Unit = Literal["score", "item", "system"]
ALPHA = 0.05
FEWEST = 20
"""Permutations, each of which is a share of at most :data:`ALPHA`."""
_CELLS = 2**20


@dataclass(frozen=True)
class Test:
    """Which statistic is tested, and what changes sides.

    ``unit``: each ``score`` for itself (PERM-BOTH), all scores of an ``item`` (PERM-INPUT), or all of a ``system``
    (PERM-SYS). The same seed gives the same p-values.
    """

    statistic: Name
    averaging: Averaging = "none"
    unit: Unit = "score"
    permutations: int = PERMUTATIONS
    seed: int = SEED

    __test__ = False  # pytest would take a class of this name for a test

    def __post_init__(self) -> None:
        if self.statistic not in get_args(Name):
            raise ConfigError(f"statistic {self.statistic!r}: one of {', '.join(get_args(Name))}")
        if self.unit not in get_args(Unit):
            raise ConfigError(f"unit {self.unit!r}: 'score', 'item' or 'system'")
        if self.permutations < FEWEST:
            raise ConfigError(
                f"{self.permutations} permutations: p is a share of them, and cannot be told from {ALPHA}; "
                f"give at least {FEWEST}"
            )
        if self.seed < 0:
            raise ConfigError(f"seed {self.seed}: a seed is 0 or more")

    def signature(self, scores: PairedScores) -> str:
        """All that the p-value depends on."""
        parts = [f"perm:{self.permutations}", f"unit:{self.unit}", f"seed:{self.seed}", "sides:1"]
        return signed(self.statistic, scores, f"avg:{self.averaging}", *parts)


@dataclass(frozen=True)
class Difference:
    """By how much the first of two evaluators agrees better with people, and how likely that is by chance.

    ``value`` and ``p_value`` are ``None`` where the statistic is not defined for one of them.
    """

    statistic: Name
    averaging: Averaging
    value: float | None
    p_value: float | None
    signature: str
    permuted: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    """The difference in each permutation."""


def difference(first: PairedScores, second: PairedScores, test: Test) -> Difference:
    """Test whether ``first`` agrees with people better than ``second`` does.

    With ``acc-t`` the threshold is calibrated again in each permutation. A statistic that is not defined in a
    permutation counts as 0, as in mt-metrics-eval.

    Raises :class:`InputError` where the two have not the same translations with the same human scores, or where there
    is only one ``unit``: all scores or none would change sides, and p would be about one half whatever they are.
    """
    both = np.stack([first.evaluator, _in_order_of(first, second)])
    groups = groups_of(first, test.averaging)
    real = values(both, first.human, groups, test.statistic)
    signature = test.signature(first)
    if np.isnan(real).any():
        return Difference(test.statistic, test.averaging, None, None, signature)
    units = {"score": np.arange(len(first)), "item": first.item, "system": first.system}[test.unit]
    size = {"score": len(first), "item": len(first.items), "system": len(first.systems)}[test.unit]
    if len(np.unique(units)) < 2:
        raise InputError(f"unit {test.unit!r}: there is only one, so permutations change nothing")
    ahead = float(real[0] - real[1])
    first_scores, second_scores = (standardised(scores) for scores in both)
    random = np.random.default_rng(test.seed)
    block = max(1, _CELLS // len(first))
    differences = []
    for start in range(0, test.permutations, block):
        drawn = random.random((min(block, test.permutations - start), size)) < 0.5
        swapped = drawn[:, units]
        side = np.where(swapped, second_scores, first_scores)
        other_side = np.where(swapped, first_scores, second_scores)
        statistics = np.nan_to_num(values(side, first.human, groups, test.statistic))
        other_statistics = np.nan_to_num(values(other_side, first.human, groups, test.statistic))
        differences.append(statistics - other_statistics)
    permuted = np.concatenate(differences)
    return Difference(test.statistic, test.averaging, ahead, _share_ahead(permuted, ahead), signature, permuted)


def _share_ahead(permuted: Floats, ahead: float) -> float:
    """The p-value: the share of permutations in which the first is ahead by at least as much."""
    return float(np.mean(permuted >= ahead - NOISE))


def values(evaluators: Floats, human: Floats, groups: Groups, name: Name) -> Floats:
    """The statistic of each evaluator (evaluators × scores); NaN where it is not defined."""
    if name in CORRELATIONS:
        # All evaluators at once: each has its groups, numbered after those of the evaluators before it.
        number = len(evaluators)
        group_numbers = np.arange(number)[:, None] * groups.size + groups.of
        many = Groups(group_numbers.ravel(), number * groups.size)
        by_group = CORRELATIONS[name](evaluators.ravel(), np.tile(human, number), many).reshape(number, -1)
        defined = ~np.isnan(by_group)
        counts = defined.sum(axis=1)
        means: Floats = np.where(counts > 0, np.nansum(by_group, axis=1) / np.maximum(counts, 1), np.nan)
        return means
    accuracy = uncalibrated if name == "acc" else calibrate
    results = [accuracy(scores, human, groups) for scores in evaluators]
    return np.array([result.accuracy if result else np.nan for result in results])


def standardised(scores: Floats) -> Floats:
    """Scores with mean 0 and standard deviation 1, so that two evaluators' scores can be mixed; constant ones are 0."""
    apart = deviations(scores, Groups(np.zeros(len(scores), dtype=np.int64), 1))
    standard: Floats = np.nan_to_num(apart / apart.std())
    return standard


def _in_order_of(first: PairedScores, second: PairedScores) -> Floats:
    """The second evaluator's scores in the order of the first's."""
    second_rows = {(row.system, row.item): row for row in second.rows()}
    scores = []
    for row in first.rows():
        name = translation_name(row.system, row.item)
        other = second_rows.pop((row.system, row.item), None)
        if other is None:
            raise InputError(f"{name}: has no score of the second evaluator; compare both on the same translations")
        if other.human != row.human:
            raise InputError(f"{name}: the human scores differ: {row.human} and {other.human}; both need the same")
        scores.append(other.evaluator)
    if second_rows:
        name = translation_name(*next(iter(second_rows)))
        raise InputError(f"{name}: has no score of the first evaluator; compare both on the same translations")
    return np.array(scores)


class Ranked(NamedTuple):
    """An evaluator, its statistic, and its rank: evaluators of one rank form a cluster."""

    name: str
    value: float
    rank: int


@dataclass(frozen=True)
class Contest:
    """A test of evaluators against each other."""

    test: Test
    level: Level
    ranked: tuple[Ranked, ...]
    p_values: Mapping[tuple[str, str], float | None]
    """The probability that the first of two is not better."""
    scores: int
    """How many scores all of them have."""
    left_out: tuple[str, ...]
    """Evaluators whose statistic is not defined, or that have no scores at this level."""
    signature: str
    permuted: Mapping[tuple[str, str], Floats] = field(default_factory=dict, repr=False, compare=False)
    """The difference of two evaluators in each permutation."""

    def holm(self) -> dict[tuple[str, str], float]:
        """The p-values that are defined, corrected for the number of pairs (Holm 1979), at most 1."""
        corrected = {}
        for pair, p_value in zip(self.p_values, holm(list(self.p_values.values())), strict=True):
            if p_value is not None:
                corrected[pair] = p_value
        return corrected


def contest(evaluators: Mapping[str, PairedScores], test: Test) -> Contest:
    """Test evaluators of the same translations against each other, and rank them, the best first.

    Ranks are the clusters of WMT's metrics task (Freitag et al. 2023): each is compared with all evaluators of the
    cluster above it; if it is significantly worse (p ≤ 0.05) than any of them, it opens the next cluster.
    """
    statistic = STATISTICS[test.statistic]
    agreement = {}
    left_out = []
    for name, scores in evaluators.items():
        value = statistic(scores, test.averaging).value
        if value is None:
            left_out.append(name)
        else:
            agreement[name] = value
    order = sorted(agreement, key=lambda name: -agreement[name])
    p_values = {}
    permuted = {}
    for better, worse in combinations(order, 2):
        result = difference(evaluators[better], evaluators[worse], test)
        p_values[better, worse] = result.p_value
        permuted[better, worse] = result.permuted
    ranks = _clusters(agreement, order, p_values)
    first = next(iter(evaluators.values()))
    return Contest(test, first.level, ranks, p_values, len(first), tuple(left_out), test.signature(first), permuted)


def _clusters(
    values: Mapping[str, float], order: Sequence[str], p_values: Mapping[tuple[str, str], float | None]
) -> tuple[Ranked, ...]:
    """The ranks of evaluators, the best first in ``order``."""
    ranks: list[Ranked] = []
    for name in order:
        rank = ranks[-1].rank if ranks else 1
        for other in ranks:
            if other.rank != rank:
                continue
            p_value = p_values[other.name, name]
            if p_value is not None and p_value <= ALPHA:
                rank += 1
                break
        ranks.append(Ranked(name, values[name], rank))
    return tuple(ranks)


@dataclass(frozen=True)
class TaskRanking:
    """Evaluators ranked by their mean over tasks: the tested statistics of several language pairs."""

    tasks: tuple[tuple[str, Contest], ...]
    """The language pair of each task, and its test."""
    ranked: tuple[Ranked, ...]
    p_values: Mapping[tuple[str, str], float | None]
    left_out: tuple[str, ...]
    """Evaluators that lack a task."""


def rank_tasks(tasks: Sequence[tuple[str, Contest]]) -> TaskRanking:
    """Rank evaluators as WMT's metrics task does (Freitag et al. 2023; ``AverageCorrMatrix`` of mt-metrics-eval).

    Correlations are scaled to 0–1, as accuracies are; all tasks count alike. The p-value of two evaluators is the share
    of permutations in which the mean of their differences, over all tasks, is at least the real one.
    """
    values: dict[str, list[float]] = {}
    for _, tested in tasks:
        for evaluator in tested.ranked:
            low, width = _range(tested.test.statistic)
            values.setdefault(evaluator.name, []).append((evaluator.value - low) / width)
    means = {}
    left_out: dict[str, None] = {}
    for name, scaled in values.items():
        if len(scaled) == len(tasks):
            means[name] = float(np.mean(scaled))
        else:
            left_out[name] = None
    order = sorted(means, key=lambda name: -means[name])
    p_values: dict[tuple[str, str], float | None] = {}
    for first, second in combinations(order, 2):
        parts = []
        for _, tested in tasks:
            _, width = _range(tested.test.statistic)
            if (first, second) in tested.permuted:
                parts.append(tested.permuted[first, second] / width)
            else:
                parts.append(-tested.permuted[second, first] / width)
        p_values[first, second] = _share_ahead(np.mean(parts, axis=0), means[first] - means[second])
    for _, tested in tasks:
        left_out |= dict.fromkeys(tested.left_out)
    return TaskRanking(tuple(tasks), _clusters(means, order, p_values), p_values, tuple(left_out))


def _range(statistic: Name) -> tuple[float, float]:
    """The lowest value of a statistic, and how far its highest is from it."""
    return (-1.0, 2.0) if statistic in CORRELATIONS else (0.0, 1.0)


def ranked(evaluators: Mapping[str, PairedScores], test: Test) -> list[Ranked]:
    """The ranks of a :func:`contest`. Raises :class:`InputError` where the statistic is not defined for one of them."""
    results = contest(evaluators, test)
    if results.left_out:
        raise InputError(f"{results.left_out[0]}: {test.statistic} is not defined for its scores; leave it out")
    return list(results.ranked)
