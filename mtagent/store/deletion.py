"""Deleting runs, so that their texts are gone from the file and what other runs share stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from mtagent.errors import StoreError
from mtagent.store.database import MEMORY, Database
from mtagent.store.rows import SEGMENT_TABLES

NO_RUN = 0
"""The ``run_id`` of calls whose run was deleted and whose texts other runs hold: they still answer these."""
_HASH = re.compile(r'"([0-9a-f]{32})"')
_HOLDERS = (("steps", "calls"), ("ratings", "calls"), ("rated", "calls"), ("rated", "paid"))
"""The columns that name texts by their hash, besides the columns of the calls themselves."""


class Deleted(NamedTuple):
    """What a deletion came to: the size of the store before and after, in bytes.

    ``related`` are runs that were made from the deleted ones and may hold their texts. ``waiting``: another process was
    reading, so that the file gets smaller later. ``left``: why runs were left that somebody works on or shows.
    """

    before: int
    after: int
    related: tuple[str, ...]
    waiting: bool
    left: tuple[str, ...] = ()


def delete_runs(database: Database, run_ids: Sequence[int], names: Sequence[str]) -> Deleted:
    """Delete runs with all that only they hold, and give the space back. Who calls holds the runs' locks."""
    size = _size(database.path)
    database.query("PRAGMA secure_delete = ON")
    marks = ", ".join("?" * len(run_ids))
    with database.writing("the deletion of runs") as connection:
        for table in ("runs", *SEGMENT_TABLES, "decisions"):
            column = "id" if table == "runs" else "run_id"
            connection.execute(f"DELETE FROM {table} WHERE {column} IN ({marks})", run_ids)
        held = _held(connection, run_ids)
        _let_go_of_calls(connection, run_ids, held)
        connection.execute("CREATE TEMP TABLE held (hash TEXT PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO held VALUES (?)", ((address,) for address in held))
        connection.execute("DELETE FROM texts WHERE hash NOT IN (SELECT hash FROM held)")
        connection.execute("DROP TABLE held")
        related = _made_from(connection, set(names))
    waiting = _shrink(database)
    return Deleted(size, _size(database.path), related, waiting)


def _held(connection: Connection, deleted: Sequence[int]) -> set[str]:
    """The hashes of all texts that the other runs hold."""
    held = set[str]()
    for table, column in _HOLDERS:
        for (packed,) in connection.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
            held.update(_HASH.findall(packed))
    gone = {*deleted, NO_RUN}
    for run_id, messages, reply in connection.execute("SELECT run_id, messages, reply FROM calls"):
        if run_id not in gone:
            held.update(_named(messages, reply))
    return held


def _named(messages: str, reply: str | None) -> set[str]:
    """The hashes of the texts of a call."""
    return {*_HASH.findall(messages), *([] if reply is None else [reply])}


def _let_go_of_calls(connection: Connection, deleted: Sequence[int], held: set[str]) -> None:
    """Delete the calls of deleted runs. Calls with texts that other runs all hold are kept, and belong to no run."""
    marks = ", ".join("?" * (len(deleted) + 1))
    rows = connection.execute(
        f"SELECT id, messages, reply, error FROM calls WHERE run_id IN ({marks})", (*deleted, NO_RUN)
    ).fetchall()
    shared, unshared = list[tuple[int]](), list[tuple[int]]()
    for number, messages, reply, error in rows:
        has_reply = error is None and reply is not None
        if has_reply and _named(messages, reply) <= held:
            shared.append((number,))
        else:
            unshared.append((number,))
    connection.executemany(f"UPDATE calls SET run_id = {NO_RUN}, segment = '' WHERE id = ?", shared)
    connection.executemany("DELETE FROM calls WHERE id = ?", unshared)


def _made_from(connection: Connection, names: set[str]) -> tuple[str, ...]:
    """The runs that rated or judged the deleted texts."""
    runs: Iterable[tuple[str, str]] = connection.execute("SELECT name, inputs FROM runs ORDER BY id")
    return tuple(name for name, inputs in runs if json.loads(inputs).get("run") in names)


def _shrink(database: Database) -> bool:
    """Rewrite the file without the deleted rows, and empty the log beside it. Returns whether others prevent that."""
    try:
        database.query("VACUUM")
        return bool(database.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0])
    except StoreError as error:
        raise StoreError(
            f"the runs are deleted, and the file is as large as before: {error}; the same command with another run, or "
            "sqlite3 with VACUUM, makes it smaller"
        ) from error


def _size(path: str) -> int:
    """The bytes of the store with its log."""
    if path == MEMORY:
        return 0
    return sum(file.stat().st_size for file in (Path(path), Path(f"{path}-wal")) if file.is_file())
