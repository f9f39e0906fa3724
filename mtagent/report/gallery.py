"""The plots of a page, each with its numbers as a table; what there is nothing to show of is left out."""

from __future__ import annotations

from collections.abc import Iterator

from mtagent.comparison.rows import Comparison
from mtagent.report import tables
from mtagent.report.figures import Figures
from mtagent.report.forms import of_run
from mtagent.report.marked import Marks
from mtagent.report.plots import (
    categories_plot,
    costs_plot,
    edits_plot,
    flow_plot,
    severities_plot,
    spread_plot,
    with_table,
)


def gallery(found: Figures, run: str, comparison: Comparison | None) -> Iterator[str]:
    """The figures of ``run`` as HTML, the most telling first."""
    if found.flow.stages:
        yield with_table(flow_plot(found.flow), tables.flow_table(found.flow))
    spread = of_run(found.spreads, run, comparison)
    if spread is not None:
        yield with_table(spread_plot(spread), tables.spread_table(spread))
    if found.costs is not None and any(point.spent(found.costs.unit) for point in found.costs.points):
        yield with_table(costs_plot(found.costs), tables.costs_table(found.costs))
    if any(stage.edits for stage in found.flow.stages):
        yield with_table(edits_plot(found.flow), tables.edits_table(found.flow))
    for number, marks in enumerate(found.marks):
        if marks.spans and any(stage.errors for stage in marks.stages):
            yield from _marks(marks, number)


def _marks(marks: Marks, number: int) -> Iterator[str]:
    """The errors that one evaluator marked."""
    yield with_table(severities_plot(marks, f"severities-{number}"), tables.marks_table(marks))
    yield with_table(categories_plot(marks, f"categories-{number}"), tables.categories_table(marks))
