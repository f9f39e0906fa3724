"""Tables: the same numbers as in the plots, for Markdown and for those who cannot see a plot."""

from __future__ import annotations

from dataclasses import dataclass

from mtagent.comparison.rows import Comparison
from mtagent.report.costs import Costly, Costs
from mtagent.report.flow import Failure, Flow
from mtagent.report.marked import Marks
from mtagent.report.spread import Spread


@dataclass(frozen=True)
class Table:
    """Cells as they are shown. ``numbers`` is the index of the first column that holds numbers, set to the right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1

    def as_html(self, *, open: bool = False, summary: str | None = None) -> str:
        """The table in a ``<details>``."""
        raise NotImplementedError

    def as_markdown(self) -> str:
        """The table with its title as a heading."""
        raise NotImplementedError


def flow_table(flow: Flow) -> Table:
    """Groups of segments by stage."""
    raise NotImplementedError


def edits_table(flow: Flow) -> Table:
    """Edits by stage."""
    raise NotImplementedError


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity."""
    raise NotImplementedError


def categories_table(marks: Marks) -> Table:
    """Errors by category and stage."""
    raise NotImplementedError


def spread_table(spread: Spread) -> Table:
    """Segments by difference."""
    raise NotImplementedError


def costs_table(costs: Costs) -> Table:
    """Rows with score and costs."""
    raise NotImplementedError


def rows_table(comparison: Comparison) -> Table:
    """Rows with all scores and differences."""
    raise NotImplementedError


def worst_table(spread: Spread) -> Table:
    """The segments that lost most."""
    raise NotImplementedError


def costly_table(costly: tuple[Costly, ...]) -> Table:
    """The most costly segments."""
    raise NotImplementedError


def failures_table(failures: tuple[Failure, ...]) -> Table:
    """The first segments that failed."""
    raise NotImplementedError
