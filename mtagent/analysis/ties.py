"""Pairs of scores, counted without listing them all, and the calibration of ties.

Tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter") takes differences of the evaluator's up to ε for ties,
and the ε that gives the highest accuracy. The candidates are 0 and all differences that occur; none is sampled. Among
equally good ones the smallest is taken, as mt-metrics-eval does.

Of a range of candidates (low, high] it is known how many pairs may win at most: those tied by people with a difference
up to ``high``, less those ordered alike with one up to ``low``, which are lost for sure. Both are counted in n log n. A
range that cannot win is left; one with at most ``BLOCK`` pairs is listed and searched; any other is cut in two. The
most promising one comes first.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 2**20
"""Pairs that are listed at a time; one takes about 100 bytes."""
_SAMPLES = 1_000
_MOST_EXACT = 2**62


class Groups(NamedTuple):
    """Which group each score belongs to: ``of`` holds numbers below ``size``; every group has a score."""

    of: Ints
    size: int

    def counts(self) -> Ints:
        """Scores by group."""
        return np.bincount(self.of, minlength=self.size)

    def total(self, values: Floats) -> Floats:
        """Sums by group."""
        return np.bincount(self.of, values, self.size).astype(np.float64, copy=False)


def pairs_in(counts: Ints) -> Ints:
    """How many pairs ``counts`` scores make."""
    return counts * (counts - 1) // 2


class ScorePairs:
    """The pairs of scores of the same group.

    ``evaluator`` (n) are the scores in order, ``human`` (n) people's as ranks from 0, ``group`` (n) their groups. A
    pair is named by its lower score and a place above it; "ends" (n) are for each score the place after its last
    partner: ``run_ends`` of those with an equal score, ``group_ends`` of all.
    """

    def __init__(self, evaluator: Floats, human: Floats, groups: Groups) -> None:
        n = len(evaluator)
        order = np.lexsort((evaluator, groups.of))
        self.evaluator, self.group, self.size = evaluator[order], groups.of[order], groups.size
        self.human: Ints = np.unique(human, return_inverse=True)[1].astype(np.int64)[order]
        self._distinct, rank = np.unique(self.evaluator, return_inverse=True)
        self._first_key = self.group * len(self._distinct)
        self._keys = self._first_key + rank
        self.run_ends: Ints = np.searchsorted(self._keys, self._keys, side="right")
        self.group_ends: Ints = np.searchsorted(self.group, self.group, side="right")
        # by group, people's score and place, so that the partners of a tie are neighbours
        _, tie = np.unique(self.group * (self.human.max() + 1) + self.human, return_inverse=True)
        self._tie_first: Ints = tie.astype(np.int64) * (n + 1)
        self._tie_keys = np.sort(self._tie_first + np.arange(n))
        self._tie_place: Ints = np.searchsorted(self._tie_keys, self._tie_first + np.arange(n))
        # a wavelet matrix: for each bit of people's ranks, whose is 1, and how many 0 are before each place
        self._levels: list[tuple[NDArray[np.bool_], Ints]] = []
        values = self.human
        for shift in reversed(range(int(self.human.max()).bit_length())):
            ones = (values >> shift & 1).astype(bool)
            zeros_before = np.r_[0, np.cumsum(~ones)].astype(np.int64)
            self._levels.append(((self.human >> shift & 1).astype(bool), zeros_before))
            values = np.concatenate([values[~ones], values[ones]])

    def ends(self, epsilon: float) -> Ints:
        """Up to where partners differ by at most ``epsilon`` in the evaluator's scores, as floating point has it.

        Found by rounded sums, and corrected by the rounded differences where these disagree.
        """
        distinct = self._distinct
        padded = np.r_[distinct, np.inf]
        above = np.searchsorted(distinct, distinct + epsilon, side="right")
        while True:
            more = padded[above] - distinct <= epsilon
            less = distinct[above - 1] - distinct > epsilon
            if not (more.any() or less.any()):
                break
            above = above + more - less
        ends: Ints = np.searchsorted(self._keys, self._first_key + above[self._keys - self._first_key], side="left")
        return ends

    def tied(self, ends: Ints) -> Ints:
        """For each score: its partners up to ``ends`` that people score the same."""
        below: Ints = np.searchsorted(self._tie_keys, self._tie_first + ends, side="left")
        return below - self._tie_place - 1

    def alike(self, ends: Ints) -> Ints:
        """For each score: its partners up to ``ends`` (not below ``run_ends``) that are higher in both scores."""
        low, high = self.run_ends, ends
        count = np.zeros(len(self.evaluator), dtype=np.int64)
        for bit, zeros_before in self._levels:
            low_zeros, high_zeros = zeros_before[low], zeros_before[high]
            low_ones, high_ones = low - low_zeros, high - high_zeros
            count += np.where(bit, 0, high_ones - low_ones)
            low = np.where(bit, zeros_before[-1] + low_ones, low_zeros)
            high = np.where(bit, zeros_before[-1] + high_ones, high_zeros)
        return count

    def by_group(self, counts: Ints) -> Ints:
        """``counts`` of the scores, summed up by group, exactly."""
        sums = np.r_[0, np.cumsum(counts)]
        totals: Ints = np.diff(sums[np.searchsorted(self.group, np.arange(self.size + 1))])
        return totals


class TieThreshold(NamedTuple):
    """A threshold and the accuracy with it (0 to 1), the mean over ``groups`` groups that have a pair."""

    epsilon: float
    accuracy: float
    groups: int


def uncalibrated(evaluator: Floats, human: Floats, groups: Groups) -> TieThreshold | None:
    """The accuracy where only equal scores are ties; ``None`` without a pair."""
    if groups.counts().max() < 2:
        return None
    pairs, weights = ScorePairs(evaluator, human, groups), _Weights.of(groups)
    right = pairs.alike(pairs.group_ends) + pairs.tied(pairs.run_ends)
    return weights.calibration(0.0, int((weights.by_group[pairs.group] * right).sum()))


def accuracies(evaluator: Floats, human: Floats, groups: Groups, epsilon: float) -> Floats:
    """The accuracy of each group, where differences up to ``epsilon`` are ties; NaN for a group without a pair."""
    pairs = ScorePairs(evaluator, human, groups)
    ends = pairs.ends(epsilon)
    right = pairs.alike(pairs.group_ends) - pairs.alike(ends) + pairs.tied(ends)
    number = pairs_in(groups.counts())
    shares: Floats = np.divide(pairs.by_group(right), number, out=np.full(groups.size, np.nan), where=number > 0)
    return shares


def calibrate(evaluator: Floats, human: Floats, groups: Groups, *, block: int = BLOCK) -> TieThreshold | None:
    """The best of all thresholds; ``None`` without a pair.

    ``block`` is the number of pairs listed at a time: it decides about memory and time, not about the result.
    """
    number = pairs_in(groups.counts()).sum()
    if not number:
        return None
    weights = _Weights.of(groups)
    if number > block:
        pairs = ScorePairs(evaluator, human, groups)
        search = _Search(pairs, weights.by_group[pairs.group], block)
        epsilon, gain = search.best()
        return weights.calibration(epsilon, search.gain(pairs.group_ends).alike + gain)
    order = np.argsort(groups.of, kind="stable")
    first, second = _listed(np.arange(len(order)) + 1, np.cumsum(groups.counts())[groups.of[order]])
    lower, upper = order[first], order[second]
    difference, verdict = evaluator[upper] - evaluator[lower], np.sign(human[upper] - human[lower])
    weight = weights.by_group[groups.of[lower]]
    alike = np.sign(difference) * verdict > 0
    gains = weight * ((verdict == 0).astype(np.int64) - alike)
    epsilon, gain = _best_of(np.r_[0.0, np.abs(difference)], np.r_[0, gains])
    return weights.calibration(epsilon, int((weight * alike).sum()) + gain)


def _listed(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The pairs of each place with those from ``starts`` up to ``ends``."""
    counts = ends - starts
    first = np.repeat(np.arange(len(counts)), counts)
    return first, np.arange(len(first)) + np.repeat(ends - np.cumsum(counts), counts)


def _best_of(differences: Floats, gains: NDArray[Any]) -> tuple[float, int]:
    """The smallest of the best thresholds among ``differences``, and the gains up to it together."""
    order = np.argsort(differences)
    differences, sums = differences[order], np.cumsum(gains[order])
    last = np.flatnonzero(np.r_[differences[1:] != differences[:-1], True])
    place = last[np.argmax(sums[last])]
    return float(differences[place]), int(sums[place])


class _Weights(NamedTuple):
    """The weight of a pair by its group. Pairs weigh the same within a group, and all groups weigh the same: ``unit``.

    Weights are whole numbers, so that equal accuracies are equal: Python's, where the groups have so many sizes that
    sums would not fit 64 bits. ``compared`` groups have a pair.
    """

    by_group: NDArray[Any]
    unit: int
    compared: int

    @staticmethod
    def of(groups: Groups) -> _Weights:
        pairs = pairs_in(groups.counts())
        compared = int(np.count_nonzero(pairs))
        unit: int = math.lcm(*np.unique(pairs[pairs > 0]).tolist())
        kind = np.int64 if unit * compared < _MOST_EXACT else object
        return _Weights(unit // np.maximum(pairs, 1).astype(kind), unit, compared)

    def calibration(self, epsilon: float, right: int) -> TieThreshold:
        """The accuracy of ``epsilon``, where pairs of the weight ``right`` are judged as people do."""
        return TieThreshold(epsilon, right / (self.unit * self.compared), self.compared)


class _Gain(NamedTuple):
    """What a threshold wins (pairs tied by people) and loses (pairs ordered alike), by weight."""

    ties: int
    alike: int


class _Range(NamedTuple):
    """Thresholds (low, high] that are still to be searched; ``least`` is −1 × the most that one of them may gain."""

    least: int
    low: float
    high: float
    at_low: _Gain


class _Search:
    """The search for the best ε among more pairs than can be listed; ``weights`` are those of the scores' groups."""

    def __init__(self, pairs: ScorePairs, weights: NDArray[Any], block: int) -> None:
        self.pairs, self.weights, self.block = pairs, weights, block

    def gain(self, ends: Ints) -> _Gain:
        """What a threshold that makes ties of all partners up to ``ends`` wins and loses against one below 0."""
        tied, alike = self.pairs.tied(ends), self.pairs.alike(ends)
        return _Gain(int((self.weights * tied).sum()), int((self.weights * alike).sum()))

    def best(self) -> tuple[float, int]:
        """The smallest of the best thresholds, and its gain."""
        start = self.gain(self.pairs.ends(0.0))
        epsilon, gain = 0.0, start.ties - start.alike
        widest = float(self.pairs.evaluator.max() - self.pairs.evaluator.min())
        waiting = [_Range(start.alike - self.gain(self.pairs.ends(widest)).ties, 0.0, widest, start)]
        while waiting:
            part = heapq.heappop(waiting)
            if -part.least < gain:
                break
            if -part.least > gain or part.low < epsilon:
                thresholds, halves = self._searched(part)
                epsilon, gain = min([(epsilon, gain), *thresholds], key=lambda threshold: (-threshold[1], threshold[0]))
                for half in halves:
                    heapq.heappush(waiting, half)
        return epsilon, gain

    def _searched(self, part: _Range) -> tuple[list[tuple[float, int]], list[_Range]]:
        """Thresholds in a range with their gains, and the ranges in it that are still to be searched."""
        starts, ends = self.pairs.ends(part.low), self.pairs.ends(part.high)
        values, human = self.pairs.evaluator, self.pairs.human
        if (ends - starts).sum() <= self.block:
            lower, upper = _listed(starts, ends)
            counted = human[upper] >= human[lower]
            lower, upper = lower[counted], upper[counted]
            if not len(lower):
                return [], []
            gains = self.weights[lower] * np.where(human[upper] == human[lower], 1, -1)
            epsilon, gain = _best_of(values[upper] - values[lower], gains)
            return [(epsilon, part.at_low.ties - part.at_low.alike + gain)], []
        rows = np.flatnonzero(ends > starts)
        lowest = float((values[starts[rows]] - values[rows]).min())
        highest = float((values[ends[rows] - 1] - values[rows]).max())
        at_high = self.gain(ends)
        threshold = (highest, at_high.ties - at_high.alike)
        if lowest == highest:
            return [threshold], []
        # about the median difference of the pairs in the range
        sums = np.cumsum((ends - starts)[rows])
        chosen = np.linspace(0, sums[-1] - 1, _SAMPLES).astype(np.int64)
        row = np.searchsorted(sums, chosen, side="right")
        differences = values[ends[rows][row] - (sums[row] - chosen)] - values[rows[row]]
        median = float(np.partition(differences, _SAMPLES // 2)[_SAMPLES // 2])
        middle = min(median, math.nextafter(highest, 0.0))
        half = self.gain(self.pairs.ends(middle))
        return [threshold], [
            _Range(part.at_low.alike - half.ties, part.low, middle, part.at_low),
            _Range(half.alike - at_high.ties, middle, highest, half),
        ]
