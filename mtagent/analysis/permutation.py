"""Whether one evaluator agrees with people better than another, or only by chance; ranks of several.

The permutation test is that of Deutsch, Dror and Roth (2021), "A Statistical Analysis of Summarization Evaluation
Metrics": both evaluators' scores are standardised, then some of them change sides at random, and the statistic is
computed anew. The p-value is the share of permutations in which the first evaluator is ahead by at least as much as it
really is (one-sided; not corrected by +1, as in mt-metrics-eval).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mtagent
from mtagent.analysis.agreement import (
    Averaging,
    Floats,
    Groups,
    Ints,
    Paired,
    groups_of,
    kendall_by_group,
    named,
    pairs_in,
    pearson_by_group,
    spearman_by_group,
    standing_in,
)
from mtagent.analysis.ties import BLOCK, accuracy_at, calibrate
from mtagent.errors import ConfigError, InputError


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


Name = Literal["pearson", "spearman", "kendall", "acc", "acc-t"]
Swaps = NDArray[np.bool_]
CORRELATIONS = {"pearson": pearson_by_group, "spearman": spearman_by_group, "kendall": kendall_by_group}


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
    one = np.where(swapped, contest.second, contest.first)
    other = np.where(swapped, contest.first, contest.second)
    found: Floats = np.nan_to_num(_permuted(one, contest, name)) - np.nan_to_num(_permuted(other, contest, name))
    return found


def _permuted(evaluators: Floats, contest: Contest, name: Name) -> Floats:
    if name == "pearson":
        return _pearson(evaluators, contest.human, contest.groups)
    if name == "acc-t" and pairs_in(contest.groups.counts()).sum() <= BLOCK:
        listed = ListedPairs(contest.human, contest.groups)
        return np.array([listed.best(scores)[1] for scores in evaluators])
    return values(evaluators, contest.human, contest.groups, name)


def _standardised(scores: Floats) -> Floats:
    """Constant scores become 0."""
    standing, varies = standing_in(scores, Groups(np.zeros(len(scores), dtype=np.int64), 1))
    standard: Floats = standing / standing.std() if varies[0] else np.zeros(len(scores))
    return standard


def _correlations(evaluators: Floats, human: Floats, groups: Groups, name: str) -> Floats:
    """Every evaluator has groups of its own; the mean over those where the correlation is defined."""
    number = len(evaluators)
    own = np.arange(number)[:, None] * groups.size + groups.of
    many = Groups(own.ravel(), number * groups.size)
    found, defined = CORRELATIONS[name](evaluators.ravel(), np.tile(human, number), many)
    return _mean(found.reshape(number, -1), defined.reshape(number, -1))


def _pearson(evaluators: Floats, human: Floats, groups: Groups) -> Floats:
    """As :func:`values`, of standardised scores: as the groups are the same for all, they need not be sorted anew."""
    order = np.argsort(groups.of, kind="stable")
    counts = groups.counts()
    starts = np.r_[0, np.cumsum(counts)[:-1]]

    def centred(scores: Floats) -> Floats:
        apart: Floats = scores - np.repeat(np.add.reduceat(scores, starts, axis=1) / counts, counts, axis=1)
        return apart

    x, y = centred(evaluators[:, order]), centred(human[None, order])
    varies = [np.maximum.reduceat(one, starts, axis=1) > np.minimum.reduceat(one, starts, axis=1) for one in (x, y)]
    defined = varies[0] & varies[1]
    spread = np.sqrt(np.add.reduceat(x * x, starts, axis=1)) * np.sqrt(np.add.reduceat(y * y, starts, axis=1))
    found = np.add.reduceat(x * y, starts, axis=1) / np.where(defined, spread, 1.0)
    return _mean(np.clip(found, -1.0, 1.0), defined)


def _mean(found: Floats, defined: NDArray[np.bool_]) -> Floats:
    """The mean of each row where defined."""
    counts = defined.sum(axis=1)
    sums = np.where(defined, found, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


Unit = Literal["score", "item", "system"]
PERMUTATIONS = 1_000
SEED = 12345
ALPHA = 0.05
_CELLS = 2**20
_NOISE = 1e-9


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


class Ranked(NamedTuple):
    """An evaluator, its statistic, and its rank: evaluators of one rank form a cluster."""

    name: str
    value: float
    rank: int


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

    __test__ = False  # no test case, whatever pytest makes of the name

    def __post_init__(self) -> None:
        if self.statistic not in (*CORRELATIONS, "acc", "acc-t"):
            raise ConfigError(f"statistic {self.statistic!r}: one of {', '.join(CORRELATIONS)}, acc, acc-t")
        if self.unit not in ("score", "item", "system"):
            raise ConfigError(f"unit {self.unit!r}: 'score', 'item' or 'system'")
        if self.permutations < 1 or self.seed < 0:
            raise ConfigError(f"{self.permutations} permutations, seed {self.seed}: at least one, and a seed from 0")

    def signature(self, scores: Paired) -> str:
        """All that the p-value depends on."""
        parts = [f"perm:{self.permutations}", f"unit:{self.unit}", f"seed:{self.seed}", "sides:1"]
        first = [self.statistic, f"level:{scores.level}", f"avg:{self.averaging}"]
        return "|".join([*first, *parts, f"left-out:{scores.missing.total}", f"version:{mtagent.__version__}"])


def difference(first: Paired, second: Paired, test: Test) -> Difference:
    """Test whether ``first`` agrees with people better than ``second`` does.

    With ``acc-t`` the threshold is calibrated anew in each permutation. A correlation that is undefined in a
    permutation counts as 0.

    Raises :class:`InputError` where the two have not the same translations with the same human scores, or where there
    is only one ``unit``: all scores or none would change sides, and p would be about one half whatever they are.
    """
    contest = Contest(first.evaluator, _aligned(first, second), first.human, groups_of(first, test.averaging))
    real = values(np.stack(contest[:2]), contest.human, contest.groups, test.statistic)
    signature = test.signature(first)
    if np.isnan(real).any():
        return Difference(test.statistic, test.averaging, None, None, signature)
    if len(np.unique(_units(first, test.unit)[0])) < 2:
        raise InputError(f"unit {test.unit!r}: there is only one; all scores or none would change sides")
    ahead = float(real[0] - real[1])
    standing = contest.standardised()
    hits = 0
    for swapped in _swaps(first, test):
        hits += int(np.count_nonzero(leads(standing, test.statistic, swapped) >= ahead - _NOISE))
    return Difference(test.statistic, test.averaging, ahead, hits / test.permutations, signature)


def ranked(evaluators: Mapping[str, Paired], test: Test, alpha: float = ALPHA) -> list[Ranked]:
    """Rank evaluators, the best first, with the clusters of WMT's metrics task (Freitag et al. 2023).

    Each is compared with those of the cluster above it; one that is significantly worse (p ≤ ``alpha``) than any of
    them opens the next cluster.

    Raises :class:`InputError` for an evaluator for which the statistic is not defined.
    """
    agreement = {name: _real(name, scores, test) for name, scores in evaluators.items()}
    return clustered(agreement, lambda one, other: difference(evaluators[one], evaluators[other], test).p_value, alpha)


def clustered(
    agreement: Mapping[str, float], p_value: Callable[[str, str], float | None], alpha: float = ALPHA
) -> list[Ranked]:
    """The ranks of :func:`ranked`, where the statistics are known; ``p_value`` tests the first name against another."""
    found: list[Ranked] = []
    for name in sorted(agreement, key=lambda name: -agreement[name]):
        rank = found[-1].rank if found else 1
        tested = (p_value(other.name, name) for other in found if other.rank == rank)
        if any(p is not None and p <= alpha for p in tested):
            rank += 1
        found.append(Ranked(name, agreement[name], rank))
    return found


def _real(name: str, scores: Paired, test: Test) -> float:
    value = values(scores.evaluator[None, :], scores.human, groups_of(scores, test.averaging), test.statistic)[0]
    if np.isnan(value):
        raise InputError(f"{name}: {test.statistic} is not defined for its scores; leave it out")
    return float(value)


def _aligned(first: Paired, second: Paired) -> Floats:
    """The second evaluator's scores in the order of the first's."""
    theirs = {(system, item): (score, human) for system, item, score, human in second.rows()}
    other = np.empty(len(first))
    for place, (system, item, _, human) in enumerate(first.rows()):
        name = named(system, item)
        if (system, item) not in theirs:
            raise InputError(f"{name}: has no score of the second evaluator; compare both on the same translations")
        other[place], others_human = theirs[system, item]
        if others_human != human:
            raise InputError(f"{name}: the human scores differ: {human} and {others_human}; both need the same")
    if len(first) != len(second):
        raise InputError(
            f"the second evaluator has {len(second)} scores, the first {len(first)}; "
            "compare both on the same translations"
        )
    return other


def _swaps(scores: Paired, test: Test) -> Iterator[Swaps]:
    """Which scores change sides: permutations × scores, a block at a time."""
    random = np.random.default_rng(test.seed)
    units, size = _units(scores, test.unit)
    block = max(1, _CELLS // len(scores))
    for start in range(0, test.permutations, block):
        drawn = random.random((min(block, test.permutations - start), size)) < 0.5
        yield drawn[:, units]


def _units(scores: Paired, unit: Unit) -> tuple[Ints, int]:
    if unit == "score":
        return np.arange(len(scores)), len(scores)
    return (scores.item, len(scores.items)) if unit == "item" else (scores.system, len(scores.systems))
