"""A comparison: its rows with scores, edits, outcomes and costs. ``None`` is what there is not, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mtagent.metrics.significance import Interval, Resampling
from mtagent.records import Score, Usage

PAID = "as paid at the time of the run"
"""Where the dollars come from, unless they were computed anew."""


class Cell(NamedTuple):
    """A row's score by one metric; ``difference`` is to the ``former`` row, whichever direction is better."""

    score: Score
    difference: float | None = None
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Moved:
    """What changed on the way from the former row's texts to this row's.

    ``ter``: from the former texts to these, the words edited per 100 words (HTER, Snover et al. 2006). ``characters``:
    Levenshtein distance, added up. ``changed``: the share of segments with another text. ``regressed``: the share of
    segments whose own score by the deciding metric got worse. ``gain_to_edit``: the gain by the deciding metric per
    point of ``ter``.
    """

    ter: float
    characters: int
    changed: float
    regressed: float | None = None
    gain_to_edit: float | None = None


@dataclass(frozen=True)
class Outcomes:
    """What became of the segments in this stage, and of the edits.

    Numbers of segments by verdict, which add up to all; ``reverted`` are those that were kept until the user took every
    edit back, ``idle`` those on which the stage did not run. Of the final texts ``kept`` are those that any stage
    changed. ``edits`` counts the edits by outcome; ``applied`` are those that stand in the text.
    """

    kept: int = 0
    unchanged: int = 0
    rejected: int = 0
    failed: int = 0
    reverted: int = 0
    idle: int = 0
    edits: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Cost:
    """What a stage took. The dollars are in ``usage.cost``; seconds are those of all segments one after the other.

    ``per_kept_edit`` and ``per_point`` (of the deciding metric) are dollars that were spent since the former row: of
    ``final`` without what the first row took, where the run made it itself.
    """

    usage: Usage
    seconds: float
    per_kept_edit: float | None = None
    per_point: float | None = None


@dataclass(frozen=True)
class Row:
    """A system: the texts as given, those after a stage, the final ones of a run, or a file's.

    ``name`` is unique and what is printed; ``run`` and ``stage`` (``given``, ``translate`` …, ``final``) say where the
    texts come from, both ``None`` for a file; ``run`` is also ``None`` for given texts that several runs share.
    ``former`` is the name of the row that differences and ``moved`` go by: the stage before; for ``final``, which has
    the costs of the whole run, the first row of the run; for a file the first row of all.
    """

    name: str
    run: str | None
    stage: str | None
    texts: tuple[str, ...]
    cells: tuple[Cell, ...] = ()
    former: str | None = None
    moved: Moved | None = None
    outcomes: Outcomes | None = None
    cost: Cost | None = None


class Part(NamedTuple):
    """Some of the segments: those of a domain, of a length, of a document. ``scores``: by row, then by metric."""

    name: str
    segments: int
    scores: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """The rows, in order; the first is the baseline of the tests.

    ``segments`` are the ids, ``metrics`` the printed names in the order of the cells. ``deciding`` is the metric that
    regressions, the gain-to-edit ratio and dollars per point go by. ``parts`` holds, for each grouping that was asked
    for (``domain``, ``length``, ``document``), its parts. ``signatures`` are ``NAME|signature`` of all metrics and of
    what ``moved`` was measured with. ``prices`` says where the dollars come from. ``warnings`` are whole sentences for
    the user. ``source_lang`` and ``target_lang`` are those of the first segment.
    """

    segments: tuple[str, ...]
    rows: tuple[Row, ...]
    metrics: tuple[str, ...] = ()
    deciding: str | None = None
    resampling: Resampling | None = None
    parts: Mapping[str, tuple[Part, ...]] | None = None
    signatures: tuple[str, ...] = ()
    prices: str = PAID
    warnings: tuple[str, ...] = ()
    source_lang: str = ""
    target_lang: str = ""

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)

    @property
    def place(self) -> int | None:
        """The place of the deciding metric among the cells of a row."""
        return self.metrics.index(self.deciding) if self.deciding in self.metrics else None
