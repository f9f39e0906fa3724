"""The plots of a report: pure functions from a figure to an inline SVG, without script or anything from outside.

``name`` is the plot's id in the page: it must be unique there and a valid XML name. An SVG has a title and a
description, text is text, and :data:`STYLE` holds its colours for light and dark pages. What a plot shows stands also
in a table (:mod:`mtagent.report.tables`).
"""

from __future__ import annotations

from importlib.resources import files

from mtagent.report.figures import Figures
from mtagent.report.plot_costs import costs_plot
from mtagent.report.plot_flow import edits_plot, flow_plot
from mtagent.report.plot_marks import categories_plot, severities_plot
from mtagent.report.plot_spread import spread_plot
from mtagent.report.svg import plain
from mtagent.report.tables import (
    Table,
    categories_table,
    costs_table,
    edits_table,
    flow_table,
    marks_table,
    spread_table,
)

__all__ = [
    "STYLE", "all_plots", "categories_plot", "costs_plot", "edits_plot", "flow_plot", "severities_plot", "spread_plot",
    "with_table",
]  # fmt: skip

STYLE = files("mtagent.report").joinpath("plots.css").read_text(encoding="utf-8")
"""The style sheet of all plots; put it into the page once."""


def with_table(plot: str, table: Table) -> str:
    """A plot under its title, and its numbers in a table that opens on demand."""
    title = f"<figcaption>{plain(table.title)}</figcaption>"
    return f'<figure class="plot-figure">{title}{plot}{table.as_html()}</figure>'


def all_plots(figures: Figures) -> list[str]:
    """All plots of a run with their tables, in the order in which they are read; each has ids of its own."""
    flow = figures.flow
    drawn = [with_table(flow_plot(flow), flow_table(flow)), with_table(edits_plot(flow), edits_table(flow))]
    for i, spread in enumerate(figures.spreads):
        drawn.append(with_table(spread_plot(spread, f"spread-{i}"), spread_table(spread)))
    if figures.costs is not None:
        drawn.append(with_table(costs_plot(figures.costs), costs_table(figures.costs)))
    for i, marks in enumerate(figures.marks):
        drawn.append(with_table(severities_plot(marks, f"severities-{i}"), marks_table(marks)))
        if marks.spans:
            drawn.append(with_table(categories_plot(marks, f"categories-{i}"), categories_table(marks)))
    return drawn
