"""Pairwise accuracy of an evaluator: how often two translations stand to each other as people say; ties count.

Tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter") takes differences of the evaluator's up to ε for ties,
and the ε that gives the highest accuracy. The candidates are 0 and all differences that occur; none is sampled. Among
equally good ones the smallest is taken, as mt-metrics-eval does.

Searching them all takes no list of all pairs. Of a range of candidates (low, high] it is known how many pairs may win
at most: those tied by people with a difference up to ``high``, less those ordered alike with one up to ``low``, which
are lost for sure. Both are counted in n log n (:mod:`mtagent.analysis.agreement`). A range that cannot win is left; one
with at most ``BLOCK`` pairs is listed and searched; any other is cut in two. The most promising one comes first.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from mtagent.analysis.agreement import (
    ALONE,
    Averaging,
    Floats,
    Groups,
    Ints,
    Paired,
    Pairs,
    Statistic,
    groups_of,
    pairs_in,
    signed,
)

BLOCK = 2**20
"""Pairs that are listed at a time; one takes about 100 bytes."""
_SAMPLES = 1_000
_EXACT = 2**62


class Calibrated(NamedTuple):
    """The best threshold and the accuracy with it (0 to 1), the mean over ``groups`` groups that have a pair."""

    epsilon: float
    accuracy: float
    groups: int


def accuracy(scores: Paired, averaging: Averaging = "none") -> Statistic:
    """The share of pairs in which people and evaluator agree on which is better, or that both are equally good (ε = 0).

    At level ``sys`` it is the pairwise accuracy of Kocmi et al. (2021), "To Ship or Not to Ship".
    """
    groups = groups_of(scores, averaging)
    found = accuracy_at(scores.evaluator, scores.human, groups, 0.0)
    return _stated("acc", scores, averaging, groups, found, "eps:0")


def calibrated_accuracy(scores: Paired, averaging: Averaging = "none", *, block: int = BLOCK) -> Statistic:
    """The accuracy with tie calibration, acc*_eq of Deutsch et al. (2023): one ε for all groups, the best of all.

    ``block`` is the number of pairs listed at a time: it decides about memory and time, not about the result.
    """
    groups = groups_of(scores, averaging)
    found = calibrate(scores.evaluator, scores.human, groups, block=block)
    return _stated("acc-t", scores, averaging, groups, found, "eps:exact")


def accuracy_at(evaluator: Floats, human: Floats, groups: Groups, epsilon: float) -> Calibrated | None:
    """The accuracy where differences up to ``epsilon`` are ties; ``None`` without a pair."""
    search = _Search(evaluator, human, groups)
    return search.result(epsilon, search.won(epsilon).gain) if search.compared else None


def calibrate(evaluator: Floats, human: Floats, groups: Groups, *, block: int = BLOCK) -> Calibrated | None:
    """The best of all thresholds; ``None`` without a pair."""
    search = _Search(evaluator, human, groups)
    return search.result(*search.best(block)) if search.compared else None


def _stated(
    name: str, scores: Paired, averaging: Averaging, groups: Groups, found: Calibrated | None, kind: str
) -> Statistic:
    return Statistic(
        name=name,
        value=found.accuracy if found else None,
        level=scores.level,
        averaging=averaging,
        scores=len(scores),
        groups=found.groups if found else 0,
        groups_left_out=groups.size - (found.groups if found else 0),
        missing=scores.missing,
        signature=signed(name, scores, f"avg:{averaging}", kind),
        pairs=int(pairs_in(groups.counts()).sum()),
        epsilon=found.epsilon if found else None,
        undefined=None if found else ALONE,
    )


class _Won(NamedTuple):
    """What a threshold wins (pairs tied by people) and loses (pairs ordered alike), by weight."""

    ties: int
    alike: int

    @property
    def gain(self) -> int:
        return self.ties - self.alike


class _Search:
    """The search for the best ε. Pairs weigh the same within a group, and all groups weigh the same.

    Weights are whole numbers, so that equal accuracies are equal: Python's, where the groups are of so many sizes that
    sums would not fit 64 bits.
    """

    def __init__(self, evaluator: Floats, human: Floats, groups: Groups) -> None:
        self.pairs = Pairs(evaluator, human, groups)
        counts = pairs_in(groups.counts())
        self.compared = int(np.count_nonzero(counts))
        if not self.compared:
            return
        self.unit: int = math.lcm(*np.unique(counts[counts > 0]).tolist())
        kind = np.int64 if self.unit * self.compared < _EXACT else object
        self.weights = (self.unit // np.maximum(counts, 1).astype(kind))[self.pairs.group]
        self.alike = self._weighed(self.pairs.alike(self.pairs.group_ends))

    def result(self, epsilon: float, gain: int) -> Calibrated:
        """The accuracy where the pairs won are ``gain`` more than all that are ordered alike."""
        return Calibrated(epsilon, (self.alike + gain) / (self.unit * self.compared), self.compared)

    def won(self, epsilon: float) -> _Won:
        """What ``epsilon`` wins and loses against a threshold below 0."""
        return self._won(self.pairs.ends(epsilon))

    def _won(self, ends: Ints) -> _Won:
        return _Won(self._weighed(self.pairs.tied(ends)), self._weighed(self.pairs.alike(ends)))

    def _weighed(self, counts: Ints) -> int:
        return int((self.weights * counts).sum())

    def best(self, block: int) -> tuple[float, int]:
        """The smallest of the best thresholds, and its gain."""
        values, start = self.pairs.evaluator, self.won(0.0)
        epsilon, gain = 0.0, start.gain
        widest = float(values.max() - values.min())
        waiting = [(start.alike - self.won(widest).ties, 0.0, widest, start)]
        while waiting:
            bound, low, high, before = heapq.heappop(waiting)
            if -bound < gain:
                break
            if -bound == gain and low >= epsilon:
                continue
            found, halves = self._searched(low, high, before, block)
            epsilon, gain = min([(epsilon, gain), *found], key=lambda one: (-one[1], one[0]))
            for half in halves:
                heapq.heappush(waiting, half)
        return epsilon, gain

    def _searched(
        self, low: float, high: float, before: _Won, block: int
    ) -> tuple[list[tuple[float, int]], list[tuple[int, float, float, _Won]]]:
        """Thresholds found in (low, high] with their gains, and the ranges in it that are still to be searched."""
        starts, ends = self.pairs.ends(low), self.pairs.ends(high)
        rows = np.flatnonzero(ends > starts)
        if not len(rows):
            return [], []
        if (ends - starts).sum() <= block:
            return self._listed(rows, starts[rows], ends[rows], before.gain), []
        values = self.pairs.evaluator
        least = float((values[starts[rows]] - values[rows]).min())
        most = float((values[ends[rows] - 1] - values[rows]).max())
        whole = self._won(ends)
        if least == most:
            return [(most, whole.gain)], []
        middle = min(self._middle(rows, starts[rows], ends[rows]), math.nextafter(most, 0.0))
        half = self.won(middle)
        found = [(most, whole.gain)]
        return found, [(before.alike - half.ties, low, middle, before), (half.alike - whole.ties, middle, most, half)]

    def _middle(self, rows: Ints, starts: Ints, ends: Ints) -> float:
        """About the median difference of the pairs of ``rows`` with their partners from ``starts`` to ``ends``."""
        sums = np.cumsum(ends - starts)
        chosen = np.linspace(0, sums[-1] - 1, _SAMPLES).astype(np.int64)
        row = np.searchsorted(sums, chosen, side="right")
        partner = ends[row] - (sums[row] - chosen)
        differences = self.pairs.evaluator[partner] - self.pairs.evaluator[rows[row]]
        return float(np.partition(differences, _SAMPLES // 2)[_SAMPLES // 2])

    def _listed(self, rows: Ints, starts: Ints, ends: Ints, before: int) -> list[tuple[float, int]]:
        """The best threshold among the differences of these pairs, all of them listed; none if no pair can win."""
        counts = ends - starts
        lower = np.repeat(rows, counts)
        upper = np.arange(len(lower)) + np.repeat(ends - np.cumsum(counts), counts)
        human = self.pairs.human[upper] - self.pairs.human[lower]
        counted = np.flatnonzero(human >= 0)
        if not len(counted):
            return []
        lower, upper, human = lower[counted], upper[counted], human[counted]
        differences = self.pairs.evaluator[upper] - self.pairs.evaluator[lower]
        order = np.argsort(differences)
        differences = differences[order]
        gains = np.cumsum((self.weights[lower] * np.where(human == 0, 1, -1))[order])
        last = np.flatnonzero(np.r_[differences[1:] != differences[:-1], True])
        place = last[np.argmax(gains[last])]
        return [(float(differences[place]), before + int(gains[place]))]
