"""What was paid for which quality: the money spent so far beside the score that it led to."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mtagent.candidates import FINAL, GIVEN
from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.records import Usage
from mtagent.score_tables import digits

Unit = Literal["dollars", "tokens"]


@dataclass(frozen=True)
class Point:
    """A row: its score, and what was spent in its run until its texts stood there.

    ``dollars`` and ``tokens`` are ``None`` where nobody knows: for texts from a file, and dollars for an unknown price.
    ``half_width`` is that of the score's 95 % confidence interval.
    """

    row: str
    run: str | None
    stage: str | None
    score: float | None
    dollars: float | None
    tokens: int | None
    half_width: float | None = None

    def spent(self, unit: Unit) -> float | None:
        """What was spent, in ``unit``."""
        return self.dollars if unit == "dollars" else self.tokens


@dataclass(frozen=True)
class Costs:
    """The rows as points. ``unit`` is ``tokens`` where a price is unknown, or where nothing costs money.

    ``digits`` suit the metric's scores.
    """

    metric: str
    higher_is_better: bool
    unit: Unit
    points: tuple[Point, ...]
    digits: int = 2


@dataclass(frozen=True)
class Costly:
    """What one segment took."""

    segment: str
    usage: Usage
    seconds: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.usage.input_tokens + self.usage.output_tokens


class CostlyCount:
    """Finds the ``most`` costly segments, one after the other: by dollars; where any price is unknown, by tokens."""

    def __init__(self, most: int) -> None:
        self._most, self._unknown = most, False
        self._by_dollars: list[Costly] = []
        self._by_tokens: list[Costly] = []

    def add(self, one: Costly) -> None:
        """Look at one more segment; one that took no call is none of them."""
        if one.usage.calls:
            self._unknown = self._unknown or one.usage.cost is None
            self._by_dollars = heapq.nlargest(self._most, [*self._by_dollars, one], key=_dollars_first)
            self._by_tokens = heapq.nlargest(self._most, [*self._by_tokens, one], key=lambda one: one.tokens)

    def found(self) -> tuple[Costly, ...]:
        """The most costly ones, the first of equals first."""
        return tuple(self._by_tokens if self._unknown else self._by_dollars)


def _dollars_first(one: Costly) -> tuple[float, int]:
    return one.usage.cost or 0.0, one.tokens


def costs(comparison: Comparison) -> Costs | None:
    """The points of all rows by the deciding metric; ``None`` where no metric decides."""
    if comparison.deciding is None or comparison.deciding not in comparison.metrics or not comparison.rows:
        return None
    at = comparison.metrics.index(comparison.deciding)
    spent: dict[str, Usage] = {}
    points = tuple(_point(row, _cell(row, at), spent) for row in comparison.rows)
    scores = [cell.score for row in comparison.rows if (cell := _cell(row, at))]
    better = next((score.higher_is_better for score in scores), True)
    return Costs(comparison.deciding, better, _unit(points), points, digits(scores, None))


def _cell(row: Row, at: int) -> Cell | None:
    return row.cells[at] if len(row.cells) > at else None


def _point(row: Row, cell: Cell | None, spent: dict[str, Usage]) -> Point:
    usage = _until(row, spent)
    score = cell.score.value if cell and math.isfinite(cell.score.value) else None
    tokens = None if usage is None else usage.input_tokens + usage.output_tokens
    dollars = None if usage is None else usage.cost
    width = cell.interval.half_width if cell and cell.interval else None
    return Point(row.name, row.run, row.stage, score, dollars, tokens, width)


def _until(row: Row, spent: dict[str, Usage]) -> Usage | None:
    """What the run of ``row`` took until here; the texts as given took nothing, the final ones all of it."""
    if row.stage == GIVEN:  # several runs may share these texts
        return Usage()
    if row.run is None or row.cost is None:
        return None
    if row.stage == FINAL:
        return row.cost.usage
    spent[row.run] = spent.get(row.run, Usage()) + row.cost.usage
    return spent[row.run]


def _unit(points: Iterable[Point]) -> Unit:
    known = [point for point in points if point.tokens is not None]
    priced = all(point.dollars is not None for point in known)
    return "dollars" if priced and any(point.dollars for point in known) else "tokens"
