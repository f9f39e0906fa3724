"""How the segments' own scores differ between a row of a comparison and its former row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.score_tables import digits

_DIGITS = 9  # -0.2 is better than -0.3 by 0.1, though not in binary
_BINS = 8
"""Bins on each side of zero, about."""
_COVERED = 0.98
"""The share of the differences that the bins cover; the outermost ones take what lies beyond."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Bin:
    """Segments whose difference is above ``low`` up to ``high`` on the positive side, from ``low`` to below ``high`` on
    the negative one. ``open``: an outermost bin that reaches to the largest difference, however far away.
    """

    low: float
    high: float
    segments: int
    open: bool = False


@dataclass(frozen=True)
class Change:
    """One segment's own score, before and after."""

    segment: str
    former: float
    score: float
    difference: float


@dataclass(frozen=True)
class Spread:
    """The differences of ``row`` to ``former`` by ``metric``, segment by segment.

    ``better + equal + worse + unknown`` is the number of segments; ``same_text`` of the ``equal`` ones have the same
    text. ``unknown`` have no finite score. ``bins`` hold every segment that is better or worse; zero has none.
    ``quantiles`` are those of all known differences at :data:`QUANTILES`. ``worst`` starts with the largest loss.
    ``digits`` suit the metric's scores.
    """

    row: str
    former: str
    metric: str
    higher_is_better: bool
    better: int
    equal: int
    same_text: int
    worse: int
    unknown: int
    mean: float | None
    quantiles: tuple[float, ...]
    bins: tuple[Bin, ...]
    worst: tuple[Change, ...]
    digits: int = 2

    @property
    def segments(self) -> int:
        """The number of segments."""
        return self.better + self.equal + self.worse + self.unknown


def spreads(comparison: Comparison, shown: int = 10) -> tuple[Spread, ...]:
    """One for each row that has a former one; none where no metric decides."""
    if comparison.deciding is None or comparison.deciding not in comparison.metrics:
        return ()
    at = comparison.metrics.index(comparison.deciding)
    rows = {row.name: row for row in comparison.rows}
    pairs = [(row, rows[row.former]) for row in comparison.rows if row.former in rows]
    return tuple(
        _spread(comparison.segments, row, former, at, shown)
        for row, former in pairs
        if len(row.cells) > at and len(former.cells) > at
    )


def _spread(segments: Sequence[str], row: Row, former: Row, at: int, shown: int) -> Spread:
    after, before = row.cells[at], former.cells[at]
    found = differences(after, before)
    known = [value for value in found if math.isfinite(value)]
    sign = 1 if after.score.higher_is_better else -1
    same = [one == other for one, other in zip(row.texts, former.texts, strict=True)]
    return Spread(
        row=row.name,
        former=former.name,
        metric=after.score.metric,
        higher_is_better=after.score.higher_is_better,
        better=sum(sign * value > 0 for value in known),
        equal=sum(value == 0 for value in known),
        same_text=sum(value == 0 and alike for value, alike in zip(found, same, strict=True)),
        worse=sum(sign * value < 0 for value in known),
        unknown=len(found) - len(known),
        mean=math.fsum(known) / len(known) if known else None,
        quantiles=tuple(float(value) for value in np.quantile(known, QUANTILES)) if known else (),
        bins=histogram(known),
        worst=_worst(segments, before, after, found, sign, shown),
        digits=digits((before.score, after.score), None),
    )


def differences(after: Cell, before: Cell) -> list[float]:
    """The difference of each segment, the noise of its last digits rounded away."""
    pairs = zip(after.score.segments, before.score.segments, strict=True)
    return [round(new - old, _DIGITS) if math.isfinite(new - old) else math.nan for new, old in pairs]


def histogram(values: Sequence[float]) -> tuple[Bin, ...]:
    """Bins of one width over all ``values`` but zero, the same on both sides of it."""
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ()
    width = nice(sizes[math.ceil(_COVERED * len(sizes)) - 1] / _BINS)
    last = max(1, math.ceil(round(sizes[math.ceil(_COVERED * len(sizes)) - 1] / width, _DIGITS)))
    counts = Counter(_side(value) * min(last, math.ceil(abs(value) / width)) for value in values if value)
    low, high = min(0.0, *values), max(0.0, *values)
    span = [n for n in range(-last, last + 1) if n and min(counts) <= n <= max(counts)]
    return tuple(_bin(n, width, counts[n], last, low, high) for n in span)


def _bin(number: int, width: float, count: int, last: int, low: float, high: float) -> Bin:
    start, end = sorted((_clean(number * width), _clean((number - _side(number)) * width)))
    if number == -last and low < start:
        return Bin(low, end, count, open=True)
    if number == last and high > end:
        return Bin(start, high, count, open=True)
    return Bin(start, end, count)


def _side(value: float) -> int:
    return 1 if value > 0 else -1


def _clean(value: float) -> float:
    """``value`` without the noise of its last digits, at any size."""
    return float(f"{value:.12g}")


def nice(step: float) -> float:
    """The next of 1, 2, 2.5, 5 and 10 times a power of ten that is not below ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return _clean(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9)))


def _worst(
    segments: Sequence[str], before: Cell, after: Cell, found: Sequence[float], sign: int, shown: int
) -> tuple[Change, ...]:
    fell = sorted((sign * value, i) for i, value in enumerate(found) if sign * value < 0)[:shown]
    return tuple(Change(segments[i], before.score.segments[i], after.score.segments[i], found[i]) for _, i in fell)
