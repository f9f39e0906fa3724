"""The scores of single segments, by id and stage, from a comparison."""

from __future__ import annotations

from mtagent.candidates import GIVEN
from mtagent.comparison.rows import Comparison, Row
from mtagent.report.spread import differences


class SegmentScores:
    """What the segments of ``run`` score in ``comparison``; nothing where there is no comparison."""

    def __init__(self, run: str, comparison: Comparison | None) -> None:
        self.metrics = comparison.metrics if comparison else ()
        self._rows = comparison.rows if comparison else ()
        self._numbers = {segment: i for i, segment in enumerate(comparison.segments)} if comparison else {}
        self._by_stage = {row.stage: row for row in self._rows if row.stage is not None and _belongs(row, run)}
        self.others = tuple(row for row in self._rows if row not in self._by_stage.values())
        self._differences = {row.name: self._against_former(row) for row in self._rows}

    def of(self, segment: str, stage: str) -> dict[str, float]:
        """Scores by metric name, and the differences to the former row as ``NAME difference``."""
        row = self._by_stage.get(stage)
        return self.of_row(segment, row) if row is not None else {}

    def of_row(self, segment: str, row: Row) -> dict[str, float]:
        """The same for one row."""
        number = self._numbers.get(segment)
        if number is None:
            return {}
        found = {cell.score.metric: cell.score.segments[number] for cell in row.cells}
        apart = self._differences[row.name]
        return found | {f"{metric} difference": values[number] for metric, values in apart.items()}

    def rows_of(self, segment: str) -> dict[str, Row]:
        """All rows of the run by their name; none where the segment was not compared."""
        return {row.name: row for row in self._rows} if segment in self._numbers else {}

    def text(self, segment: str, row: Row) -> str:
        """The text that ``row`` has for ``segment``, which was compared."""
        return row.texts[self._numbers[segment]]

    def _against_former(self, row: Row) -> dict[str, list[float]]:
        former = next((other for other in self._rows if other.name == row.former), None)
        if former is None:
            return {}
        pairs = zip(row.cells, former.cells, strict=False)
        return {after.score.metric: differences(after, before) for after, before in pairs}


def _belongs(row: Row, run: str) -> bool:
    """Given texts may be shared by several runs."""
    return row.run == run or (row.run is None and row.stage == GIVEN)
