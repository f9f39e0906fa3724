"""All pairs of scores of small groups, listed once for many evaluators."""

from __future__ import annotations

import numpy as np

from mtagent.meta_eval.paired import Floats, Ints
from mtagent.meta_eval.pairs import pairs_in
from mtagent.meta_eval.statistic import Groups


class ListedPairs:
    """People's verdicts on all pairs, to calibrate the ties of one evaluator after the other.

    It takes memory for each pair.
    """

    def __init__(self, human: Floats, groups: Groups) -> None:
        self._lower, self._upper = _partners(groups)
        self._verdict = np.sign(human[self._upper] - human[self._lower])
        pairs = pairs_in(groups.counts())
        self._weight = 1 / (pairs[groups.of[self._lower]] * np.count_nonzero(pairs))

    def best(self, evaluator: Floats) -> tuple[float, float]:
        """The threshold with the highest accuracy, averaged over the groups, and this accuracy."""
        difference = evaluator[self._upper] - evaluator[self._lower]
        apart = np.abs(difference)
        alike = difference * self._verdict > 0
        order = np.argsort(apart)
        gains = np.cumsum((self._weight * ((self._verdict == 0) - alike.astype(np.float64)))[order])
        apart = np.r_[0.0, apart[order]]
        gains = np.r_[0.0, gains]
        last = np.flatnonzero(np.r_[apart[1:] != apart[:-1], True])
        place = last[np.argmax(gains[last])]
        return float(apart[place]), float((self._weight * alike).sum() + gains[place])


def _partners(groups: Groups) -> tuple[Ints, Ints]:
    """The places of both scores of every pair."""
    order = np.argsort(groups.of, kind="stable")
    ends = np.cumsum(groups.counts())[groups.of[order]]
    counts = ends - np.arange(len(order)) - 1
    lower = np.repeat(np.arange(len(order)), counts)
    upper = np.arange(len(lower)) + np.repeat(ends - np.cumsum(counts), counts)
    return order[lower], order[upper]
