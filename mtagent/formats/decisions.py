"""People's decisions as a table for spreadsheets and pull requests: ``segment,edit,decision,text`` and more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, get_args

from mtagent.decisions import DecisionVerdict
from mtagent.errors import InputError
from mtagent.formats.files import lines_of, write_pieces
from mtagent.formats.tables import Dialect, Row, rows
from mtagent.text.escaping import unguarded
from mtagent.text.table import as_csv

NEEDED = ("segment", "edit", "decision")
COLUMNS = (
    *("segment", "edit", "decision", "text", "reason", "decided"),
    *("stage", "outcome", "why", "old", "new", "source", "result"),
)
"""The first five are for people to fill in. ``decided`` says who decided last when the table was written, and when.

``old``, ``new``, ``source`` and ``result`` must be the run's words; the others are there to be read.
"""
_DELIMITERS = ",;\t"
_SEPARATOR = re.compile(r"sep=([,;\t])[,;\t ]*", re.IGNORECASE)
"""The first line with which Excel is told what sets cells apart."""
_GUARDED = "guarded"
_WAY_OUT = "`mtagent decide RUN --export FILE.csv` writes a file to fill in"


class DecisionRow(NamedTuple):
    """A row: where it stands, and what it says. ``verdict=None``: nothing was decided."""

    where: str
    segment: str
    edit: int | None
    verdict: DecisionVerdict | None
    text: str | None = None
    reason: str | None = None
    old: str | None = None
    new: str | None = None
    source: str | None = None
    result: str | None = None
    decided: str | None = None


class DecisionTable(NamedTuple):
    """The rows of a table, and its columns that mean nothing here."""

    rows: list[DecisionRow]
    unknown: list[str]


def write_decisions(path: Path, table: Iterable[dict[str, object]]) -> int:
    """Write the ``table``, a dictionary with :data:`COLUMNS` for each row, so that no spreadsheet runs a cell of it."""
    head, *lines = as_csv((*COLUMNS, _GUARDED), table)
    return write_pieces(path, head, lines)


def read_decisions(path: Path) -> DecisionTable:
    """A CSV (or with semicolons or tabs, as spreadsheets save it). Empty rows are left out.

    Raises :class:`InputError`, which names the line, for what is no table of decisions.
    """
    lines = lines_of(path)
    header = next(lines, None)
    separator = header and _SEPARATOR.fullmatch(header.text)
    if separator:
        header = next(lines, None)
    if header is None:
        raise InputError(f"{path}: is empty; {_WAY_OUT}")
    delimiter = separator[1] if separator else max(_DELIMITERS, key=header.text.count)
    dialect = Dialect(delimiter, quoted=True)
    names = [name.strip().casefold() for name in next(rows([header], dialect, path)).cells]
    if missing := [name for name in NEEDED if name not in names]:
        there = ", ".join(map(repr, names))
        raise InputError(f"{path}:{header.number}: no column {missing[0]!r} among {there}; {_WAY_OUT}")
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise InputError(f"{path}:{header.number}: two columns are called {twice!r}; keep one")
    unknown = [name for name in names if name and name not in (*COLUMNS, _GUARDED)]
    filled = (row for row in rows(lines, dialect, path, len(names)) if any(map(str.strip, row.cells)))
    return DecisionTable([_row(f"{path}:{row.line}", row, names) for row in filled], unknown)


def _row(where: str, row: Row, names: list[str]) -> DecisionRow:
    cells = dict(zip(names, row.cells, strict=True))
    for name in cells.get(_GUARDED, "").split():
        if name in cells:
            cells[name] = unguarded(cells[name])
    segment, number = cells["segment"], cells["edit"].strip()
    if not segment:
        raise InputError(f"{where}: no segment; write its id, as `mtagent runs show` has it")
    if number and not (number.isascii() and number.isdigit() and int(number)):
        raise InputError(f"{where}: edit is {number[:20]!r}; write its number, or nothing for the whole segment")
    word = cells["decision"].strip().casefold()
    verdicts = {verdict: verdict for verdict in get_args(DecisionVerdict)}
    if word and word not in verdicts:
        raise InputError(f"{where}: decision is {word[:20]!r}; write {', '.join(verdicts)}, or nothing")
    text = cells.get("text", "")
    if word != "text" and text:
        raise InputError(f"{where}: has a text, and the decision {word!r}: a text of your own goes with 'text'")
    if word == "text" and "text" not in cells:
        raise InputError(f"{where}: decision is 'text', and there is no column 'text'; {_WAY_OUT}")
    if word == "text" and not number and not text.strip():
        raise InputError(f"{where}: the text of the segment is empty; write one, or another decision")
    return DecisionRow(
        where=where,
        segment=segment,
        edit=int(number) if number else None,
        verdict=verdicts.get(word),
        text=text if word == "text" else None,
        reason=cells.get("reason") or None,
        old=cells.get("old"),
        new=cells.get("new"),
        source=cells.get("source") or None,
        result=cells.get("result") or None,
        decided=cells.get("decided"),
    )
