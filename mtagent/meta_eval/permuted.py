"""A statistic of many evaluators at once: those that a permutation test makes of two by swapping their scores.

Swapped scores are added up, not made: with s = 1 where a score is swapped, the sum of the scores of a permutation is
Σa + Σ s·(b − a), and so are the sums of their squares and of their products with people's. Pearson's r is made of these
three. The other statistics are computed of the swapped scores themselves.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.meta_eval.correlations import kendall_by_group, pearson_by_group, spearman_by_group
from mtagent.meta_eval.listed import ListedPairs
from mtagent.meta_eval.paired import Floats
from mtagent.meta_eval.pairs import pairs_in
from mtagent.meta_eval.statistic import Groups
from mtagent.meta_eval.ties import BLOCK, accuracy_at, calibrate

Name = Literal["pearson", "spearman", "kendall", "acc", "acc-t"]
Swaps = NDArray[np.bool_]
CORRELATIONS = {"pearson": pearson_by_group, "spearman": spearman_by_group, "kendall": kendall_by_group}
_CONSTANT = 1e-12


class Contest(NamedTuple):
    """Two evaluators' scores of the same translations, people's scores, and the groups that are averaged over.

    Each array has one entry for each translation, in the same order.
    """

    first: Floats
    second: Floats
    human: Floats
    groups: Groups

    def standardised(self) -> Contest:
        """Both evaluators with mean 0 and standard deviation 1, so that their scores may stand in one list."""
        return self._replace(first=_standardised(self.first), second=_standardised(self.second))


def values(evaluators: Floats, human: Floats, groups: Groups, name: Name) -> Floats:
    """The statistic of each evaluator (evaluators × scores); NaN where it is not defined."""
    if name in CORRELATIONS:
        return _correlations(evaluators, human, groups, name)
    found = [
        accuracy_at(scores, human, groups, 0.0) if name == "acc" else calibrate(scores, human, groups)
        for scores in evaluators
    ]
    return np.array([one.accuracy if one else np.nan for one in found])


def leads(contest: Contest, name: Name, swapped: Swaps) -> Floats:
    """By how much the first is ahead of the second in each permutation (permutations × scores; true: swapped).

    A statistic that is not defined in a permutation counts as 0, as in mt-metrics-eval.
    """
    if name == "pearson":
        return _pearson_leads(contest, swapped)
    one = np.where(swapped, contest.second, contest.first)
    other = np.where(swapped, contest.first, contest.second)
    found: Floats = np.nan_to_num(_permuted(one, contest, name)) - np.nan_to_num(_permuted(other, contest, name))
    return found


def _permuted(evaluators: Floats, contest: Contest, name: Name) -> Floats:
    if name == "acc-t" and pairs_in(contest.groups.counts()).sum() <= BLOCK:
        listed = ListedPairs(contest.human, contest.groups)
        return np.array([listed.best(scores)[1] for scores in evaluators])
    return values(evaluators, contest.human, contest.groups, name)


def _standardised(scores: Floats) -> Floats:
    spread = scores.std()
    standing: Floats = (scores - scores.mean()) / (spread if spread > 0 else 1.0)
    return standing


def _correlations(evaluators: Floats, human: Floats, groups: Groups, name: str) -> Floats:
    """Every evaluator has groups of its own; the mean over those where the correlation is defined."""
    number = len(evaluators)
    own = np.arange(number)[:, None] * groups.size + groups.of
    many = Groups(own.ravel(), number * groups.size)
    found, defined = CORRELATIONS[name](evaluators.ravel(), np.tile(human, number), many)
    return _mean(found.reshape(number, -1), defined.reshape(number, -1), np.nan)


def _pearson_leads(contest: Contest, swapped: Swaps) -> Floats:
    """Group by group, of sums alone."""
    order = np.argsort(contest.groups.of, kind="stable")
    a, b, human = contest.first[order], contest.second[order], contest.human[order]
    starts = np.r_[0, np.cumsum(contest.groups.counts())[:-1]]
    counts = contest.groups.counts()
    human = human - np.repeat(np.add.reduceat(human, starts) / counts, counts)
    spread = np.add.reduceat(human * human, starts)
    chosen = swapped[:, order].astype(np.float64)
    changes = [_summed(chosen, column, starts) for column in (b - a, b * b - a * a, (b - a) * human)]
    whole = [[np.add.reduceat(column, starts) for column in (x, x * x, x * human)] for x in (a, b)]
    first, second = (
        _mean_pearson(
            [total + sign * change for total, change in zip(whole[place], changes, strict=True)], spread, counts
        )
        for place, sign in enumerate((1, -1))
    )
    return first - second


def _summed(chosen: Floats, column: Floats, starts: NDArray[np.int64]) -> Floats:
    """Sums of ``column`` by group where chosen: permutations × groups."""
    if len(starts) == 1:
        return (chosen @ column)[:, None]
    found: Floats = np.add.reduceat(chosen * column, starts, axis=1)
    return found


def _mean_pearson(sums: list[Floats], spread: Floats, counts: NDArray[np.int64]) -> Floats:
    """From the sums of scores, of squares and of products by group. What only rounding tells apart is constant."""
    total, squares, products = sums
    own = squares - total * total / counts
    defined = (own > _CONSTANT * squares) & (spread > 0)
    found = products / np.sqrt(np.where(defined, own * spread, 1.0))
    return _mean(np.clip(found, -1.0, 1.0), defined, 0.0)


def _mean(found: Floats, defined: NDArray[np.bool_], otherwise: float) -> Floats:
    """The mean of each row where defined."""
    counts = defined.sum(axis=1)
    sums = np.where(defined, found, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)
