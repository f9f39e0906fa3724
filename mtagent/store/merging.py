"""Join the runs of several stores into one run, such as the shards of a job that worked on many machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from mtagent.errors import StoreError
from mtagent.store.rows import SEGMENT_TABLES
from mtagent.store.runs import Run
from mtagent.store.store import Store, open_existing, setting_differences

_SEGMENTS = "SELECT position, segment, state, source, translation FROM segments"


class StoredShard(NamedTuple):
    """A run to be joined with others."""

    store: Path
    run: str


def parts_of(stores: Iterable[Path]) -> list[StoredShard]:
    """All runs in ``stores``. Raises :class:`StoreError` if they don't fit together, or there are none."""
    parts: list[StoredShard] = []
    first_settings = None
    for path in stores:
        with open_existing(path) as store:
            for summary in store.runs():
                part = StoredShard(path, summary.name)
                if summary.kind != "chain":
                    raise StoreError(f"{path}: run {summary.name!r} holds ratings; only improved texts can be merged")
                if store.decisions(summary.name):
                    raise StoreError(f"{path}: run {summary.name!r} has decisions of people; merge before you decide")
                if first_settings is None:
                    first_settings = summary.settings
                differing = setting_differences(first_settings, summary.settings)
                if differing:
                    raise StoreError(
                        f"{path}: run {summary.name!r} has other settings than {parts[0].run!r} in {parts[0].store}: "
                        f"{'; '.join(differing.values())}; merge only runs of one job"
                    )
                parts.append(part)
    if not parts:
        raise StoreError("nothing to merge: the stores have no runs")
    return parts


def merge(parts: Sequence[StoredShard], target: Store, name: str, order: Callable[[str], Any]) -> Run:
    """Join ``parts`` into the new run ``name``, its segments sorted by the ``order`` of their ids.

    A segment that several parts hold is taken once, a finished one before a failed one; what each of them cost is
    counted. Raises :class:`StoreError` if two parts hold different segments of one id.
    """
    if target.settings(name) is not None:
        raise StoreError(f"run {name!r}: already exists; give another name (--name), or delete it first")
    ids: set[str] = set()
    settings = None
    for part in parts:
        with open_existing(part.store) as store:
            settings = settings or store.settings(part.run)
            run_id = store.read(part.run).id
            ids.update(row[1] for row in store.database.query(f"{_SEGMENTS} WHERE run_id = ?", (run_id,)))
    positions = {segment_id: position for position, segment_id in enumerate(sorted(ids, key=order))}
    run = target.start(name, settings=settings or {}, inputs={"merged runs": len(parts)}, total=len(ids))
    try:
        for part in parts:
            copy_run(part, target, run, positions)
    except BaseException:
        run.close()
        target.delete([name])
        raise
    run.finish()
    return run


def copy_run(part: StoredShard, target: Store, run: Run, positions: Mapping[str, int]) -> list[int]:
    """Copy the segments and calls of ``part`` into ``run``, each segment to its position by id.

    Segments that ``run`` has finished stay. Copying the same part again changes nothing. Returns the positions of the
    segments that were copied.
    """
    with open_existing(part.store) as store:
        run_id = store.read(part.run).id
        rows = store.database.query(f"{_SEGMENTS} WHERE run_id = ?", (run_id,))
    new_positions: dict[int, int] = {}
    for position, segment_id, _, *texts in rows:
        new_position = positions[segment_id]
        new_positions[position] = new_position
        for *_, former_state, former_source, former_translation in target.database.query(
            f"{_SEGMENTS} WHERE run_id = ? AND position = ?", (run.id, new_position)
        ):
            if [former_source, former_translation] != texts:
                raise StoreError(
                    f"{part.store}: segment {segment_id!r} has other texts than in the previous store; an id must mean "
                    "the same segment in all stores. Lines of text files get their number as id, which begins with 1 "
                    "in each file: start the runs from JSON Lines with ids of your own, or export each run and join "
                    "the outputs"
                )
            if former_state != "failed":
                del new_positions[position]
    with _attached(target, part.store) as connection:
        connection.execute("CREATE TEMP TABLE moved (from_position INTEGER PRIMARY KEY, to_position INTEGER NOT NULL)")
        connection.executemany("INSERT INTO moved VALUES (?, ?)", new_positions.items())
        connection.execute("INSERT OR IGNORE INTO main.texts (hash, text) SELECT hash, text FROM part.texts")
        for table in SEGMENT_TABLES:
            columns = _columns(connection, table, without=("run_id", "position"))
            connection.execute(
                f"DELETE FROM main.{table} WHERE run_id = ? AND position IN (SELECT to_position FROM moved)", (run.id,)
            )
            connection.execute(
                f"INSERT INTO main.{table} (run_id, position, {columns})"
                f" SELECT ?, to_position, {columns} FROM part.{table} AS copied"
                " JOIN moved ON from_position = copied.position WHERE copied.run_id = ?",
                (run.id, run_id),
            )
        columns = _columns(connection, "calls", without=("id", "run_id"))
        connection.execute(
            f"INSERT INTO main.calls (run_id, {columns}) SELECT ?, {columns} FROM part.calls AS copied"
            " WHERE run_id = ? AND NOT EXISTS (SELECT 1 FROM main.calls AS former WHERE former.run_id = ?"
            " AND former.segment = copied.segment AND former.key = copied.key AND former.at = copied.at)"
            " ORDER BY copied.id",
            (run.id, run_id, run.id),
        )
        connection.execute("DROP TABLE moved")
    return sorted(new_positions.values())


@contextmanager
def _attached(target: Store, path: Path) -> Iterator[Connection]:
    """A transaction on ``target`` in which the store at ``path`` is the schema ``part``."""
    connection = target.database.connection
    target.database.query("ATTACH DATABASE ? AS part", (str(path),))
    try:
        with target.database.writing(f"the runs of {path}"):
            yield connection
    finally:
        connection.execute("DETACH DATABASE part")


def _columns(connection: Connection, table: str, without: Sequence[str]) -> str:
    """The names of a table's columns as SQL."""
    names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
    return ", ".join(f'"{name}"' for name in names if name not in without)
