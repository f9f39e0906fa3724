"""The plots of a report: pure functions from a figure to an inline SVG, without script or anything from outside.

``name`` is the plot's id in the page: it must be unique there and a valid XML name. An SVG has a title and a
description, text is text, and :data:`STYLE` holds its colours for light and dark pages.
"""

from __future__ import annotations

from importlib.resources import files

from mtagent.report.costs import Costs
from mtagent.report.flow import Flow
from mtagent.report.marked import Marks
from mtagent.report.spread import Spread

STYLE = files("mtagent.report").joinpath("plots.css").read_text(encoding="utf-8")
"""The style sheet of all plots; put it into the page once."""


def flow_plot(flow: Flow, name: str = "flow") -> str:
    """What became of the segments, stage by stage."""
    raise NotImplementedError


def edits_plot(flow: Flow, name: str = "edits") -> str:
    """What became of the edits, stage by stage."""
    raise NotImplementedError


def severities_plot(marks: Marks, name: str = "severities") -> str:
    """Errors by severity per 100 rated texts, stage by stage."""
    raise NotImplementedError


def categories_plot(marks: Marks, name: str = "categories") -> str:
    """Errors by category per 100 rated texts, a mark for each stage."""
    raise NotImplementedError


def spread_plot(spread: Spread, name: str = "spread") -> str:
    """How many segments became better and worse, and by how much."""
    raise NotImplementedError


def costs_plot(costs: Costs, name: str = "costs") -> str:
    """The score of each row over what was spent for it."""
    raise NotImplementedError
