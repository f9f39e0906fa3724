"""What is whole in a damaged store, copied into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from mtagent.errors import StoreError
from mtagent.store.database import Database
from mtagent.store.rows import SEGMENT_TABLES
from mtagent.store.runs import StoredRun
from mtagent.store.store import Store

_TABLES = ("runs", *SEGMENT_TABLES, "texts", "calls", "decisions")
_ROWS = 1000
_BESIDE = 100  # segments are saved as they are done, so that of an unreadable row may lie this far from its neighbours
_UNKNOWN_LAST = 2**20  # rows that are looked for where the end of a table is damaged


class Rescued(NamedTuple):
    """What became of a run: its whole segments, and how many were not whole."""

    run: str
    segments: int
    left_out: int


def rescue(damaged: Path, new: Path) -> list[Rescued]:
    """Copy all that can be read of the store ``damaged`` into the store ``new``, which must not be there yet.

    A segment is copied whole or not at all: the command that began its run does the others again, and pays for no call
    whose reply was saved. Raises :class:`StoreError`, also where nothing can be read.
    """
    if not damaged.is_file():
        raise StoreError(f"{damaged}: there is no store")
    if new.exists():
        raise StoreError(f"{new}: is there already; name a new file")
    source = sqlite3.connect(f"file:{quote(str(damaged.absolute()))}?mode=ro", uri=True)
    try:
        with Store(new) as store:
            gaps = {table: _copy(source, store.database, table) for table in _TABLES}
            names = [name for (name,) in store.database.query("SELECT name FROM runs ORDER BY id")]
            runs = [_checked(store, name, gaps) for name in names]
    finally:
        source.close()
    if not runs:
        new.unlink()
        raise StoreError(f"{damaged}: no run in it can be read; restore a copy of the file")
    return runs


_Place = tuple[int, int]
"""Run and position."""
_FIRST, _LAST = (0, 0), (2**62, 2**62)


def _copy(source: sqlite3.Connection, target: Database, table: str) -> list[tuple[_Place, _Place]]:
    """Copy the rows that can be read. Returns the places, from the first to the last, where segments may lack one."""
    known = {row[1] for row in target.query(f"PRAGMA table_info({table})")}
    try:
        columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})") if row[1] in known]
    except sqlite3.Error:
        return [(_FIRST, _LAST)]
    if not columns:
        return []
    named = ", ".join(f'"{column}"' for column in columns)
    insert = f"INSERT OR IGNORE INTO {table} ({named}) VALUES ({', '.join('?' * len(columns))})"
    gaps, before, lost = set[tuple[_Place, _Place]](), _FIRST, set[_Place | None]()
    for rows in _readable(source, table, named):
        if isinstance(rows, int):
            lost |= {_place_of(source, table, rows)} if table in SEGMENT_TABLES else set()
            continue
        with target.writing(f"table {table}") as connection:
            connection.executemany(insert, rows)
        if table in SEGMENT_TABLES:
            at = columns.index("position")
            gaps |= _gaps(before, lost, (rows[0][0], rows[0][at]))
            before, lost = (rows[-1][0], rows[-1][at]), set()
    return [*gaps, *_gaps(before, lost, _LAST)]


def _gaps(before: _Place, lost: set[_Place | None], after: _Place) -> set[tuple[_Place, _Place]]:
    """The segments of ``lost`` rows that stand between those of two places; all around where a place is not known."""
    first, last = (before[0], before[1] - _BESIDE), (after[0], after[1] + _BESIDE)
    return {(place, place) if place and first <= place <= last else (first, last) for place in lost}


def _place_of(source: sqlite3.Connection, table: str, rowid: int) -> _Place | None:
    """Run and position of a row of which another column cannot be read."""
    try:
        row = source.execute(f"SELECT run_id, position FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
    except sqlite3.Error:
        return None
    return row if row and all(isinstance(value, int) for value in row) else None


def _readable(source: sqlite3.Connection, table: str, columns: str) -> Iterator[list[tuple[Any, ...]] | int]:
    """The rows of a table in order, some at a time; in the place of one that cannot be read, its number.

    Where a range of them cannot, its halves are tried, down to single rows.
    """
    try:
        last = source.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
    except sqlite3.Error:
        last = _UNKNOWN_LAST
    ranges = [(first, min(first + _ROWS - 1, last)) for first in range(1, last + 1, _ROWS)][::-1]
    select = f"SELECT {columns} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    while ranges:
        low, high = ranges.pop()
        try:
            rows = source.execute(select, (low, high)).fetchall()
        except sqlite3.Error:
            if low == high:
                yield low
            else:
                ranges += [((low + high) // 2 + 1, high), (low, (low + high) // 2)]
        else:
            if rows:
                yield rows


def _checked(store: Store, name: str, gaps_of: Mapping[str, Sequence[tuple[_Place, _Place]]]) -> Rescued:
    """Take out of a run the segments that are not whole. ``gaps_of`` the tables that runs of its kind have no rows in
    do not count.
    """
    run = store.read(name)
    tables = {"segments", "rated"} if run.kind == "rating" else set(SEGMENT_TABLES) - {"rated"}
    gaps = [gap for table in tables for gap in gaps_of[table]]
    positions = store.database.query("SELECT position, state, text FROM segments WHERE run_id = ?", (run.id,))
    broken = [
        position
        for position, state, text in positions
        if any(first <= (run.id, position) <= last for first, last in gaps) or not _is_whole(run, position, state, text)
    ]
    with store.database.writing(f"run {name!r}") as connection:
        for table in SEGMENT_TABLES:
            values = [(run.id, position) for position in broken]
            connection.executemany(f"DELETE FROM {table} WHERE run_id = ? AND position = ?", values)
        connection.execute("UPDATE runs SET state = 'stopped', pid = NULL WHERE id = ?", (run.id,))
    lost = {first[1] for first, last in gaps if first == last and first[0] == run.id}
    return Rescued(name, len(positions) - len(broken), len(lost.union(broken)))


def _is_whole(run: StoredRun, position: int, state: str, text: str) -> bool:
    """Whether a segment can be read, and has what its row says that it has."""
    try:
        if run.kind == "rating":
            return bool(run.ratings_at(position))
        chain = run.chain_at(position)
    except StoreError:
        return False
    return (chain.state, chain.text) == (state, text)
