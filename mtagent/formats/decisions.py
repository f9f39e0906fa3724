"""People's decisions as a table for spreadsheets and pull requests: ``segment,edit,decision,text`` and more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, get_args

from mtagent.decisions import DecisionVerdict
from mtagent.errors import InputError
from mtagent.formats.files import write_pieces
from mtagent.formats.tables import open_table
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
    table = open_table(
        path,
        ",;\t",
        quoted=True,
        required=NEEDED,
        plain=lambda name: name.strip().casefold(),
        empty=_WAY_OUT,
        separator_line=True,
    )
    table.require(NEEDED, _WAY_OUT)
    table.refuse_repeated(nameless=False)
    unknown = [name for name in table.names if name and name not in (*COLUMNS, _GUARDED)]
    filled = []
    for where, cells in table.records():
        if any(map(str.strip, cells.values())):
            filled.append(_row(where, cells))
    return DecisionTable(filled, unknown)


def _row(where: str, cells: dict[str, str]) -> DecisionRow:
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
