"""How reliable a score and a difference are: paired bootstrap, approximate randomization, confidence intervals.

The tests are sacreBLEU's (Koehn 2004; Riezler and Maxwell 2005) with its random numbers: the same seed gives the
same p-value. sacreBLEU sums the counts of each resampled corpus; here a thousand corpora are one matrix product.

The bootstrap over documents that gates are learnt with is here too (:class:`GroupResampling`), and so is the seed that
every test and bootstrap begins with unless the user names another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Resampling:
    """A test of scores. The same seed gives the same numbers."""

    kind: Kind = "bs"
    """``bs`` = paired bootstrap, ``ar`` = approximate randomization."""
    resamples: int = 0
    """The number of resamples or trials; 0 becomes 1,000 or 10,000, as in sacreBLEU."""
    seed: int = SEED

    def __post_init__(self) -> None:
        # What is stored and written is the number that is drawn.
        object.__setattr__(self, "resamples", self.resamples or RESAMPLES[self.kind])

    @property
    def description(self) -> str:
        """The test in words."""
        return f"{_TESTS[self.kind].format(f'{self.resamples:,}')}; no p if the two are equal"

    def star(self, correction: str = "") -> str:
        """What a star means, by the rule of :func:`is_significant`; ``correction`` tells for what p is corrected."""
        rule = f"* p < {SIGNIFICANT}"
        if correction:
            rule += f" after Holm's correction for {correction}"
        if self.kind == "bs":
            rule += ", and the interval of the difference does not contain 0"
        return rule

    def signed(self, signature: str) -> str:
        """``signature`` with the test, where sacreBLEU puts it."""
        first, *rest = signature.split("|")
        return "|".join([first, f"{self.kind}:{self.resamples}", f"seed:{self.seed}", *rest])


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


class Bounds(NamedTuple):
    """A 95 % confidence interval: the percentiles 2.5 and 97.5 of the values of the resamples."""

    low: float
    high: float


class Significance(NamedTuple):
    """The test of the difference between two systems."""

    bounds: Bounds | None
    """Of the difference; ``None`` after approximate randomization."""
    p_value: float | None
    """The probability that chance makes such a difference; ``None`` if the two are equal in every segment."""


class PairedTests(NamedTuple):
    """The tests of one metric."""

    intervals: list[Interval] | None
    """Of the score of each system; ``None`` after approximate randomization."""
    significances: list[Significance]
    """Of each pair."""


class Statistics(NamedTuple):
    """The counts of the segments of a system, and the function from their sum to a score."""

    rows: Counts
    combined: Callable[[Counts], Counts]

    @property
    def score(self) -> float:
        """The score of all its segments."""
        return float(self.combined(self.rows.sum(axis=0, keepdims=True, dtype=np.float64))[0])


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


def paired_tests(
    groups: Sequence[Sequence[Statistics]], pairs: Sequence[tuple[int, int]], how: Resampling
) -> list[PairedTests]:
    """Test the differences between systems; a group of systems per metric, all with the same draws.

    ``pairs`` are places of two systems in every group: the second minus the first is tested. All systems have the same
    number of segments.
    """
    tests = []
    if how.kind == "bs":
        all_scores = iter(_bootstrapped([system for group in groups for system in group], how))
        for group in groups:
            scores = [next(all_scores) for _ in group]
            significances = []
            for first, second in pairs:
                differences = scores[second] - scores[first]
                sizes = np.abs(differences)
                p_value = _p_value(sizes - sizes.mean(), group[first], group[second])
                significances.append(Significance(Bounds(*_percentiles(differences)), p_value))
            tests.append(PairedTests([_interval(resampled) for resampled in scores], significances))
        return tests
    # In each trial every segment may change sides between the two systems.
    apart = [group[first].rows - group[second].rows for group in groups for first, second in pairs]
    changes = iter(_sums(apart, how))
    for group in groups:
        significances = []
        for first, second in pairs:
            change = next(changes)
            first_scores = group[first].combined(group[first].rows.sum(axis=0) - change)
            second_scores = group[second].combined(group[second].rows.sum(axis=0) + change)
            p_value = _p_value(np.abs(second_scores - first_scores), group[first], group[second])
            significances.append(Significance(None, p_value))
        tests.append(PairedTests(None, significances))
    return tests


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p-values of several tests, corrected so that all stay below the level together (Holm 1979).

    The smallest of n is multiplied by n, the next by n - 1, and so on; none gets smaller than the one before. ``None``
    is not a test and stays ``None``.
    """
    tested = [place for place, p_value in enumerate(p_values) if p_value is not None]
    tested.sort(key=lambda place: p_values[place] or 0.0)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(tested):
        largest = max(largest, min(1.0, (p_values[place] or 0.0) * (len(tested) - rank)))
        corrected[place] = largest
    return corrected


def is_significant(difference: float, p_holm: float | None, bounds: Bounds | None) -> bool:
    """Whether a difference gets a star: it is not 0, its corrected p-value is below the level, and its interval, if
    there is one, does not contain 0.

    Both p-value and interval, since sacreBLEU's bootstrap finds a difference in about one of ten samples of equal
    systems.
    """
    if abs(difference) <= NOISE or p_holm is None or p_holm >= SIGNIFICANT:
        return False
    return bounds is None or bounds.low > 0 or bounds.high < 0


def _bootstrapped(systems: Sequence[Statistics], how: Resampling) -> list[Counts]:
    """The scores of the resampled corpora of each system."""
    sums = _sums([system.rows for system in systems], replace(how, kind="bs"))
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
    for start in range(0, how.resamples, most):
        size = (min(most, how.resamples - start), segments)
        if how.kind == "ar":
            yield random.integers(2, size=size, dtype=bool).astype(dtype)
        else:
            weights = np.empty(size, dtype=dtype)
            for row, drawn in zip(weights, random.choice(segments, size=size, replace=True), strict=True):
                row[:] = np.bincount(drawn, minlength=segments)
            yield weights


def _interval(scores: Counts) -> Interval:
    low, high = _percentiles(scores)
    return Interval(float(scores.mean()), (high - low) / 2)


def _percentiles(values: Counts) -> tuple[float, float]:
    """Where the middle 95 % of ``values`` begin and end."""
    ordered = np.sort(values)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[len(ordered) - cut - 1])


def _p_value(differences: NDArray[np.float64], first: Statistics, other: Statistics) -> float | None:
    """How often chance made a larger difference than the real one. Equal differences may differ in their last digit."""
    if np.array_equal(first.rows, other.rows):
        return None
    real = abs(first.score - other.score)
    return float((np.count_nonzero(differences > real + NOISE) + 1) / (len(differences) + 1))
