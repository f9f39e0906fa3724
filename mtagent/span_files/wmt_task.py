"""The TSV of WMT25's shared task on evaluation: a row per translation, cells that may hold line breaks.

``start_indices``, ``end_indices`` (exclusive) and ``error_types`` are lists with spaces: a severity per span, the
offset ``missing`` for an omission, and ``-1 -1 no-error`` for a translation without errors. Empty cells: not rated.
"""

from __future__ import annotations

from pathlib import Path

from mtagent.errors import InputError
from mtagent.formats.files import lines_of
from mtagent.formats.rows import Dialect, rows, table_rows
from mtagent.records import ErrorSpan
from mtagent.span_files.annotation import OMISSION, Annotation, marked, offset

_SPANS = ("start_indices", "end_indices", "error_types")
_NEEDED = {"segment_id", "source_segment", "hypothesis_segment", *_SPANS}
_DIALECT = Dialect("\t", quoted=True)
_MISSING, _NO_ERROR = "missing", "no-error"


def recognised(header: str) -> bool:
    """Whether ``header`` names this format's columns."""
    return _NEEDED.issubset(header.split("\t"))


def read(path: Path) -> list[Annotation]:
    """The annotations of a file. Raises :class:`InputError`."""
    table = rows(lines_of(path), _DIALECT, path)
    names = next(table).cells
    if missing := sorted(_NEEDED - set(names)):
        raise InputError(f"{path}:1: the column {missing[0]!r} is missing")
    found = []
    for row in table_rows(table, len(names), _DIALECT, path):
        cells, where = dict(zip(names, row.cells, strict=True)), f"{path}:{row.line}"
        found.append(
            Annotation(
                where=where,
                errors=_errors([cells[name].split() for name in _SPANS], where),
                segment=cells["segment_id"] or None,
                document=cells.get("doc_id") or None,
                system=cells.get("system_id") or None,
                rater=cells.get("method") or None,
                source=cells["source_segment"],
                translation=cells["hypothesis_segment"],
            )
        )
    return found


def _errors(lists: list[list[str]], where: str) -> tuple[ErrorSpan, ...] | None:
    starts, ends, types = lists
    if not len(starts) == len(ends) == len(types):
        numbers = f"{len(starts)} starts, {len(ends)} ends and {len(types)} types"
        raise InputError(f"{where}: {numbers}; every span needs one of each")
    if not types:
        return None
    if _NO_ERROR in types and len(types) > 1:
        raise InputError(f"{where}: {_NO_ERROR} stands beside errors; delete one or the other")
    return tuple(_error(*one, where) for one in zip(starts, ends, types, strict=True) if one[2] != _NO_ERROR)


def _error(start: str, end: str, kind: str, where: str) -> ErrorSpan:
    if _MISSING in (start, end, kind):
        # As an error type it takes the severity's place; the task weighs such an error like a minor one.
        severity = "minor" if kind == _MISSING else kind
        return marked(where, severity=severity, category=OMISSION, side="source")
    return marked(where, severity=kind, start=offset(start, where), end=offset(end, where))
