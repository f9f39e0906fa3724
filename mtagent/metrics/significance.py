"""How reliable a score and a difference are: paired bootstrap, approximate randomization, confidence intervals.

The tests are sacreBLEU's (Koehn 2004; Riezler and Maxwell 2005) with its random numbers: the same seed gives the
same p-value. sacreBLEU sums the counts of each resampled corpus; here a thousand corpora are one matrix product.

The bootstrap over documents that gates are learnt with is here too (:class:`GroupResampling`), and so is the seed that
every test and bootstrap begins with unless the user names another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.errors import ConfigError
from mtagent.metrics import overlap
from mtagent.metrics.protocol import Additive, Counts, Metric
from mtagent.records import Score, Segment

Kind = Literal["bs", "ar"]
RESAMPLES: dict[Kind, int] = {"bs": 1_000, "ar": 10_000}
SEED = 12345
"""sacreBLEU's."""
SIGNIFICANT = 0.05
"""The p-value below which a difference is marked."""
_TESTS = {"bs": "paired bootstrap resampling, {} resamples", "ar": "approximate randomization, {} trials"}
FEW = 20
"""With fewer segments a p-value means little: only larger differences count, and with a single one all are small."""
_CELLS = 2**22
"""Numbers in a matrix at a time: 32 MB."""
NOISE = 1e-9
"""Differences of scores that are smaller are the noise of binary numbers."""


class Resampling(NamedTuple):
    """A test of scores. The same seed gives the same numbers."""

    kind: Kind = "bs"
    """``bs`` = paired bootstrap, ``ar`` = approximate randomization."""
    resamples: int | None = None
    """By default 1,000 or 10,000, as in sacreBLEU."""
    seed: int = SEED

    @property
    def number(self) -> int:
        """The number of resamples or trials."""
        return self.resamples or RESAMPLES[self.kind]

    @property
    def description(self) -> str:
        """The test in words."""
        return f"{_TESTS[self.kind].format(f'{self.number:,}')}; * p < {SIGNIFICANT}; no p where the two are alike"

    def signed(self, signature: str) -> str:
        """``signature`` with the test, where sacreBLEU puts it."""
        first, *rest = signature.split("|")
        return "|".join([first, f"{self.kind}:{self.number}", f"seed:{self.seed}", *rest])


class GroupResampling(NamedTuple):
    """A bootstrap over groups of items that belong together, such as the segments of a document."""

    resamples: int = RESAMPLES["bs"]
    seed: int = SEED

    def draws(self, groups: int, width: int = 0) -> Iterator[NDArray[np.float64]]:
        """How often each group is drawn: matrices of resamples × groups, all resamples in a few of them.

        ``width`` is the number of columns of the widest matrix that the caller makes of one. Raises
        :class:`ConfigError` for less than one resample.
        """
        if self.resamples < 1:
            raise ConfigError(f"{self.resamples} resamples: at least one is needed")
        chances = np.full(groups, 1 / groups)
        random = np.random.default_rng(self.seed)
        most = max(1, _CELLS // max(groups, width))
        for first in range(0, self.resamples, most):
            number = min(most, self.resamples - first)
            yield random.multinomial(groups, chances, size=number).astype(np.float64)


class Interval(NamedTuple):
    """The 95 % confidence interval ``mean`` ± ``half_width`` of a score."""

    mean: float
    half_width: float


class Significance(NamedTuple):
    """The result of a test."""

    interval: Interval | None
    """Of the score; ``None`` after approximate randomization."""
    p_value: float | None
    """The probability that the difference to the first system is chance; ``None`` for the first system, and for systems
    equal to it in every segment."""


class Statistics(NamedTuple):
    """The counts of the segments of a system, and the function from their sum to a score."""

    rows: Counts
    combined: Callable[[Counts], Counts]


def statistics_of(
    metric: Metric, segments: Sequence[Segment], translations: Sequence[str], score: Score, others: Sequence[Score] = ()
) -> Statistics:
    """What is resampled: the metric's own counts, or the scores of the segments if the score is their mean or sum.

    ``others`` are the scores of the other systems, which tell what a score of 0 is. Raises :class:`ConfigError` if the
    score is neither.
    """
    if isinstance(metric, Additive):
        return Statistics(metric.statistics(segments, translations), metric.combined)
    values = np.array(score.segments, dtype=np.float64)
    scores = (score, *others)
    if all(np.isclose(other.value, np.mean(other.segments), rtol=1e-6) for other in scores):
        return Statistics(np.stack([values, np.ones_like(values)], axis=1), overlap.mean)
    if all(np.isclose(other.value, np.sum(other.segments), rtol=1e-6) for other in scores):
        return Statistics(values[:, None], overlap.total)
    raise ConfigError(f"{metric.name}: its score is not the mean of its segments' scores: it cannot be resampled")


def intervals(systems: Sequence[Statistics], how: Resampling) -> list[Interval]:
    """The confidence interval of each system by bootstrap resampling, all with the same draws."""
    return [_interval(scores) for scores in _bootstrapped(systems, how)]


def paired_tests(groups: Sequence[Sequence[Statistics]], how: Resampling) -> list[list[Significance]]:
    """Test each system of a group against the first one; a group per metric, all with the same draws.

    All systems have the same number of segments.
    """
    tests: list[list[Significance]] = []
    if how.kind == "bs":
        scores = iter(_bootstrapped([system for group in groups for system in group], how))
        for first, *others in groups:
            baseline = next(scores)
            tests.append([Significance(_interval(baseline), None)])
            for other in others:
                resampled = next(scores)
                differences = np.abs(resampled - baseline)
                p_value = _p_value(differences - differences.mean(), first, other)
                tests[-1].append(Significance(_interval(resampled), p_value))
        return tests
    # In each trial every segment may change sides between the first system and the other one.
    apart = [first.rows - other.rows for first, *others in groups for other in others]
    changes = iter(_sums(apart, how))
    for first, *others in groups:
        tests.append([Significance(None, None)])
        for other in others:
            change = next(changes)
            other_scores = other.combined(other.rows.sum(axis=0) + change)
            first_scores = first.combined(first.rows.sum(axis=0) - change)
            tests[-1].append(Significance(None, _p_value(np.abs(other_scores - first_scores), first, other)))
    return tests


def _bootstrapped(systems: Sequence[Statistics], how: Resampling) -> list[Counts]:
    """The scores of the resampled corpora of each system."""
    sums = _sums([system.rows for system in systems], how._replace(kind="bs"))
    return [system.combined(part) for system, part in zip(systems, sums, strict=True)]


def _sums(parts: Sequence[Counts], how: Resampling) -> list[Counts]:
    """The resampled sums of each of ``parts``: resamples × counts."""
    # Sums of whole numbers below 2²⁴ are exact in half the space.
    exact = all(len(part) * np.abs(part).max() < 2**24 and _holds_whole_numbers(part) for part in parts)
    dtype: np.dtype[Any] = np.dtype(np.float32 if exact else np.float64)
    if not all(np.issubdtype(part.dtype, np.integer) for part in parts):
        # Other sums depend on how many columns are multiplied at once, in their last digit.
        parts_of_all = [np.concatenate(parts, axis=1, dtype=dtype, casting="same_kind")]
    else:
        parts_of_all = list(parts)  # one after the other, since a copy of all of them would double their space
    sums: list[list[NDArray[Any]]] = [[] for _ in parts_of_all]
    for weights in _weights(len(parts[0]), how, dtype):
        for part, blocks in zip(parts_of_all, sums, strict=True):
            blocks.append(weights @ part.astype(dtype, copy=False))
    whole = np.concatenate([np.concatenate(blocks).astype(np.float64) for blocks in sums], axis=1)
    return np.split(whole, np.cumsum([part.shape[1] for part in parts])[:-1], axis=1)


def _holds_whole_numbers(part: Counts) -> bool:
    return np.issubdtype(part.dtype, np.integer) or np.array_equal(part, np.rint(part))


def _weights(segments: int, how: Resampling, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """How often each segment counts: resamples × segments, block by block.

    The generator draws 32 bits at a time: other block sizes would give other numbers.
    """
    random = np.random.default_rng(how.seed)
    most = max(32, _CELLS // segments // 32 * 32)
    for start in range(0, how.number, most):
        size = (min(most, how.number - start), segments)
        if how.kind == "ar":
            yield random.integers(2, size=size, dtype=bool).astype(dtype)
        else:
            weights = np.empty(size, dtype=dtype)
            for row, drawn in zip(weights, random.choice(segments, size=size, replace=True), strict=True):
                row[:] = np.bincount(drawn, minlength=segments)
            yield weights


def _interval(scores: Counts) -> Interval:
    ordered = np.sort(scores)
    cut = len(ordered) // 40
    return Interval(float(ordered.mean()), float(ordered[len(ordered) - cut - 1] - ordered[cut]) / 2)


def _p_value(differences: NDArray[np.float64], first: Statistics, other: Statistics) -> float | None:
    """How often chance made a larger difference than the real one. Equal differences may differ in their last digit."""
    if np.array_equal(first.rows, other.rows):
        return None
    real = abs(_score_of(first) - _score_of(other))
    return float((np.count_nonzero(differences > real + NOISE) + 1) / (len(differences) + 1))


def _score_of(system: Statistics) -> float:
    """The score of the whole corpus."""
    return float(system.combined(system.rows.sum(axis=0, keepdims=True, dtype=np.float64))[0])
