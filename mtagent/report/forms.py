"""A report in plain forms: Markdown to read, CSV for a spreadsheet, JSON for programs. All come in pieces of text."""

from __future__ import annotations

from collections.abc import Iterator

from mtagent.comparison import tables
from mtagent.comparison.rows import Comparison
from mtagent.report.figures import Figures
from mtagent.report.flow import Flow
from mtagent.report.forms_csv import as_csv
from mtagent.report.forms_json import as_json
from mtagent.report.spread import Spread
from mtagent.report.tables import (
    costly_table,
    edits_table,
    failures_table,
    flow_table,
    marks_table,
    spread_table,
    worst_table,
)
from mtagent.report.words import number, segments
from mtagent.table import Table, escaped, markdown

__all__ = ["as_csv", "as_json", "as_markdown"]


def as_markdown(run: str, figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """The summary: tables, and short lists of what got worse, cost most, and failed. Each piece ends a block."""
    yield f"# Report of the run {escaped(run)}\n\n{_counts(figures.flow)}\n"
    if comparison is not None:
        below = tables.below(comparison)
        yield f"\n{markdown(tables.tables(comparison), below, comparison.warnings, level=2)}\n"
    yield from _section(flow_table(figures.flow))
    yield from _section(edits_table(figures.flow))
    for marks in figures.marks:
        yield from _section(marks_table(marks), f"Signature: {escaped(marks.signature)}" if marks.signature else "")
    spread = of_run(figures.spreads, run, comparison)
    if spread is not None:
        yield from _section(spread_table(spread))
        yield from _section(worst_table(spread), _more(spread.worse, len(spread.worst)))
    yield from _section(costly_table(figures.costly))
    failed = sum(stage.of("failed") for stage in figures.flow.stages if stage.stage == "final")
    yield from _section(failures_table(figures.failures), _more(failed, len(figures.failures)))


def of_run(spreads: tuple[Spread, ...], run: str, comparison: Comparison | None) -> Spread | None:
    """The differences on the whole way of ``run``; of its last stage where there are none of its final texts."""
    own = {row.name for row in comparison.rows if row.run == run} if comparison else set()
    return next((spread for spread in reversed(spreads) if spread.row in own), None)


def _counts(flow: Flow) -> str:
    return f"{segments(flow.segments)}, {number(flow.given)} of them with a given translation."


def _section(table: Table, below: str = "") -> Iterator[str]:
    """A heading and a table; nothing where the table is empty."""
    if table.rows:
        yield f"\n{markdown([table], level=2)}\n" + (f"\n{below}\n" if below else "")


def _more(count: int, shown: int) -> str:
    return f"… and {number(count - shown)} more." if count > shown else ""
