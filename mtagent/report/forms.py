"""A report in plain forms: Markdown to read, CSV for a spreadsheet, JSON for programs. All come in pieces of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mtagent.comparison.rows import Comparison
from mtagent.records import Chain
from mtagent.report.figures import Figures


def markdown(run: str, figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """The summary: tables, and short lists of what got worse, cost most, and failed."""
    raise NotImplementedError


def csv(
    run: str, chains: Iterable[Chain], comparison: Comparison | None = None, *, texts: bool = True, guarded: bool = True
) -> Iterator[str]:
    """A line per segment and stage, the header first. ``run`` is the name of the run in ``comparison``."""
    raise NotImplementedError


def as_json(run: str, chains: Iterable[Chain], figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """One object with ``run``, ``figures``, ``comparison`` and ``segments``, in pieces."""
    raise NotImplementedError
