"""The plots of a report: pure functions from a figure to an inline SVG, without script or anything from outside.

``name`` is the plot's id in the page: it must be unique there and a valid XML name. An SVG has a title and a
description, text is text, and :data:`STYLE` holds its colours for light and dark pages. What a plot shows stands also
in a table (:mod:`mtagent.report.tables`).
"""

from __future__ import annotations

from importlib.resources import files

from mtagent.report.plot_costs import costs_plot
from mtagent.report.plot_flow import edits_plot, flow_plot
from mtagent.report.plot_marks import categories_plot, severities_plot
from mtagent.report.plot_spread import spread_plot
from mtagent.table import Table, html

__all__ = [
    "STYLE", "categories_plot", "costs_plot", "edits_plot", "flow_plot", "severities_plot", "spread_plot",
    "with_table",
]  # fmt: skip

STYLE = files("mtagent.report").joinpath("plots.css").read_text(encoding="utf-8")
"""The style sheet of all plots; put it into the page once."""


def with_table(plot: str, table: Table) -> str:
    """A plot, and its numbers in a table that opens on demand."""
    return f'<figure class="plot-figure">{plot}{html(table)}</figure>'
