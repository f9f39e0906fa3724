"""The plots of a page, each with its numbers as a table; what there is nothing to show of is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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


class Figure(NamedTuple):
    """A plot with its table as HTML, and its heading as text."""

    title: str
    html: str


def gallery(found: Figures, run: str, comparison: Comparison | None) -> Iterator[Figure]:
    """The figures of ``run``, the most telling first."""
    if found.flow.stages:
        plot = with_table(flow_plot(found.flow), tables.flow_table(found.flow))
        yield Figure("What became of the segments", plot)
    spread = of_run(found.spreads, run, comparison)
    if spread is not None:
        plot = with_table(spread_plot(spread), tables.spread_table(spread))
        yield Figure("Segment by segment, better or worse", plot)
    if found.costs is not None and any(point.spent(found.costs.unit) for point in found.costs.points):
        plot = with_table(costs_plot(found.costs), tables.costs_table(found.costs))
        yield Figure("Quality and cost", plot)
    if any(stage.edits for stage in found.flow.stages):
        plot = with_table(edits_plot(found.flow), tables.edits_table(found.flow))
        yield Figure("What became of the edits", plot)
    for number, marks in enumerate(found.marks):
        yield from _marks(marks, number)


def _marks(marks: Marks, number: int) -> Iterator[Figure]:
    """The errors that one evaluator marked."""
    if not marks.spans or not any(stage.errors for stage in marks.stages):
        return
    severities = with_table(severities_plot(marks, f"severities-{number}"), tables.marks_table(marks))
    categories = with_table(categories_plot(marks, f"categories-{number}"), tables.categories_table(marks))
    yield Figure(f"Errors by severity ({marks.evaluator})", severities)
    yield Figure(f"Errors by category ({marks.evaluator})", categories)
