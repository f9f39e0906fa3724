"""Marot's TSV, in which Google publishes MQM annotations: a row per error, its span between ``<v>`` and ``</v>``.

Columns: system, doc, docSegId, globalSegId, rater, source, target, category, severity, metadata; older files call the
ids ``doc_id`` and ``seg_id`` and may lack the last column; the header may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent import mqm
from mtagent.errors import InputError
from mtagent.formats.files import lines_of
from mtagent.formats.rows import Dialect, rows, table_rows
from mtagent.records import ErrorSpan
from mtagent.span_files.annotation import Annotation, Unmarked, is_omission, marked

COLUMNS = ("system", "doc", "doc_seg_id", "global_seg_id", "rater", "source", "target", "category", "severity", "note")
_NEEDED = {"system", "rater", "source", "target", "category", "severity"}
_NAMES = {"docsegid": "doc_seg_id", "doc_id": "doc_seg_id", "globalsegid": "global_seg_id", "seg_id": "global_seg_id"}
_NO_ERROR = {"no-error", "no error", "no_error"}
_TEST = "hotw"  # "hands on the wheel": a planted error that tests whether the rater is awake
_REMARKS = ("note", "metadata", "comment")
_DIALECT = Dialect("\t", quoted=False)
_MARK = regex.compile(r"<v>(.*?)</v>", regex.DOTALL)


class _Row(NamedTuple):
    """A row's cells by name, its texts without marks, and where it stands."""

    cells: dict[str, str]
    source: Unmarked
    target: Unmarked
    where: str

    @property
    def key(self) -> tuple[str, ...]:
        ids = ("system", "doc", "doc_seg_id", "global_seg_id", "rater")
        return (*(self.cells.get(name, "") for name in ids), self.target.text)


class Layout(NamedTuple):
    """The names of the columns, and whether they stand in a first line of their own."""

    names: list[str]
    header: bool


def layout(first: str) -> Layout | None:
    """The layout of a file that begins with the line ``first``; ``None`` if it is not one of this format."""
    names = [cell.strip().casefold().replace(" ", "_") for cell in first.split("\t")]
    names = [_NAMES.get(name, name) for name in names]
    if _NEEDED.issubset(names):
        return Layout(names, header=True)
    headless = len(names) in (9, 10) and ("<v>" in first or names[8] in (*_NO_ERROR, *mqm.SEVERITIES))
    return Layout(list(COLUMNS[: len(names)]), header=False) if headless else None


def read(path: Path) -> list[Annotation]:
    """The annotations of a file, one per rater and translation. Raises :class:`InputError`."""
    groups: dict[tuple[str, ...], list[_Row]] = {}
    for row in _rows(path):
        if row.cells["rater"] and not row.cells["severity"].casefold().startswith(_TEST):
            groups.setdefault(row.key, []).append(row)
    return [_annotation(group) for group in groups.values()]


def _rows(path: Path) -> Iterator[_Row]:
    first = next(lines_of(path), None)
    found = layout(first.text) if first else None
    if found is None:
        raise InputError(f"{path}:1: no header with the columns {', '.join(sorted(_NEEDED))}; add it")
    names = found.names
    for row in table_rows(rows(lines_of(path), _DIALECT, path), len(names), _DIALECT, path):
        if row.line == 1 and found.header:
            continue
        where = f"{path}:{row.line}"
        cells = dict(zip(names, row.cells, strict=True))
        yield _Row(cells, _unmarked(cells["source"], where), _unmarked(cells["target"], where), where)


def _unmarked(text: str, where: str) -> Unmarked:
    places, plain, done = [], "", 0
    for mark in _MARK.finditer(text):
        plain += text[done : mark.start()]
        places.append((len(plain), len(plain) + len(mark[1])))
        plain += mark[1]
        done = mark.end()
    plain += text[done:]
    if "<v>" in plain or "</v>" in plain:
        raise InputError(f"{where}: a <v> has no </v>, or the other way round; correct the row, or delete it")
    return Unmarked(plain, places)


def _annotation(group: list[_Row]) -> Annotation:
    first = group[0]
    found = [(row, *_error(row)) for row in group if not _says_no_error(row)]
    warnings = [warning for _, _, warning in found if warning]
    if found and len(found) < len(group):
        warnings.append(f"{first.where}: the rater says that there is no error, and marks some: they count")
    return Annotation(
        where=first.where,
        errors=tuple(error for _, error, _ in found),
        segment=first.cells.get("global_seg_id") or first.cells.get("doc_seg_id") or None,
        document=first.cells.get("doc") or None,
        system=first.cells["system"],
        rater=first.cells["rater"],
        source=first.source.text,
        translation=first.target.text,
        warnings=tuple(warnings),
    )


def _says_no_error(row: _Row) -> bool:
    return any(row.cells[name].strip().casefold() in _NO_ERROR for name in ("category", "severity"))


def _error(row: _Row) -> tuple[ErrorSpan, str | None]:
    """The error of a row, and what is odd about it."""
    category, warning, told = row.cells["category"], None, _metadata(row)
    from_source = bool(row.source.places) and not row.target.places
    text, places = row.source if from_source else row.target
    if not places and mqm.is_non_translation(category):
        places = [(0, len(text))]
    if not places and not is_omission(category) and not told.get("marked_text"):
        warning = f"{row.where}: the error {category!r} marks no span"
    if len(places) > 1:
        warning = f"{row.where}: the error marks {len(places)} spans; only the first one is taken"
    start, end = places[0] if places else (None, None)
    error = marked(
        row.where,
        severity=row.cells["severity"],
        start=start,
        end=end,
        text=told.get("marked_text", "") if start is None else text[start:end],
        category=category,
        side="source" if from_source else "translation",
        explanation=told.get("note", "").strip() or None,
        suggestion=told.get("suggestion"),
    )
    return error, warning


def _metadata(row: _Row) -> dict[str, str]:
    """The texts in the JSON of the last column; in older files that column is the rater's note itself."""
    written = next((row.cells[name] for name in _REMARKS if row.cells.get(name)), "")
    try:
        data = json.loads(written)
    except (ValueError, RecursionError):
        data = written
    if not isinstance(data, dict):
        return {"note": written}
    return {name: value for name, value in data.items() if isinstance(value, str)}
