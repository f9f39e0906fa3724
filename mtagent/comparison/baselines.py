"""Other systems' texts and references, from files, for the segments that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtagent import formats
from mtagent.comparison.held import HeldRun
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.protocol import SegmentDefaults
from mtagent.records import Segment


def texts_for(run: HeldRun, path: Path, what: str = "translation") -> tuple[str, ...]:
    """The lines of ``path`` for the segments of ``run``; or the ``translation`` or ``reference`` of a table's rows.

    The file has a line for each segment of the run's input, also where the run is not complete, or a line for each
    segment that the run holds. Raises :class:`InputError` where it has another number, or is about other sources.
    """
    kind = _table(path)
    if kind is None:
        texts = [line.text for line in lines_of(path)]
        return tuple(texts[index] for index in _places(run, path, len(texts)))
    first = run.passed[0].segment
    rows = list(kind.read(path, SegmentDefaults(source_lang=first.source_lang, target_lang=first.target_lang)))
    chosen = [rows[index] for index in _places(run, path, len(rows))]
    return tuple(_told(path, row, one.segment, what) for row, one in zip(chosen, run.passed, strict=True))


def _table(path: Path) -> formats.Format | None:
    """The format of a file whose name says that it is a table or JSON Lines; ``None`` = a text for each line."""
    try:
        kind = formats.by_path(path)
    except ConfigError:
        return None
    return None if isinstance(kind, formats.Lines) else kind


def _places(run: HeldRun, path: Path, number: int) -> Sequence[int]:
    """Where in the file the segments of ``run`` stand."""
    if number == run.total:
        return [one.position for one in run.passed]
    if number == run.stored and run.whole:
        return range(number)
    held = f" and holds {run.stored} of them" if run.stored < run.total else ""
    raise InputError(f"{path}: has {number} lines, and the input of run {run.name!r} has {run.total} segments{held}")


def _told(path: Path, row: Segment, segment: Segment, what: str) -> str:
    if row.source != segment.source:
        raise InputError(f"{path}: {row.id!r} is about another source than segment {segment.id!r} of the run")
    text: str | None = getattr(row, what)
    if text is None:
        raise InputError(f"{path}: segment {segment.id!r} has no {what}")
    return text
