"""The store: all runs in one database file, how they are deleted, and how runs of several stores become one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from itertools import count, takewhile
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple
from urllib.parse import quote

from filelock import FileLock, Timeout

from mtagent.errors import RunLocked, StoreError
from mtagent.records import Call, Usage
from mtagent.store.calls import OUTSIDE, CallLog, is_uncounted
from mtagent.store.database import MEMORY, Database, now
from mtagent.store.rows import SEGMENT_TABLES
from mtagent.store.runs import DecisionLog, Run, RunKind, RunState, RunSummary, StoredRun

_LOCK_SECONDS = 0.3  # a listing of the runs tries each lock for a moment: that must not prevent a start

_SHOWN = 60
_FILE_HASH = re.compile("[0-9a-f]{64}")

_LONGEST_FOLDER = 200
"""Characters of a run's name in the name of its folder; a file system takes 255, including the characters around it."""


def default_path() -> Path:
    """The default path of the store: ``$MTAGENT_STORE``, or in the user's data folder."""
    chosen = os.environ.get("MTAGENT_STORE")
    if chosen:
        return Path(chosen).expanduser()
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "mtagent" / "store.db"


def open_existing(path: Path | None = None) -> Store:
    """The store at ``path`` or its usual place. Raises :class:`StoreError` rather than make an empty one."""
    path = path or default_path()
    if not path.is_file():
        raise StoreError(f"{path}: there is no store yet; a run makes one, or set store")
    return Store(path)


class Store:
    """Runs, their chains, and the calls to models that they paid for.

    ``path`` is the database file, created with its folder if it doesn't exist; ``:memory:`` keeps everything in memory.
    Made for one thread. Several processes may work on one store, each on its own runs. Raises :class:`StoreError`.
    """

    def __init__(self, path: Path | str) -> None:
        self.database = Database(path)
        self.calls = CallLog(self.database)
        self._open: dict[int, Run] = {}

    def close(self) -> None:
        """Let go of all runs and close the file."""
        for run in list(self._open.values()):
            run.close()
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        name: str,
        *,
        settings: dict[str, Any],
        inputs: dict[str, Any],
        total: int | None = None,
        kind: RunKind = "chain",
        files: Mapping[str, Path] | None = None,
    ) -> Run:
        """Start a run, or go on with it if it was started before with equal ``settings`` and ``inputs``.

        ``total`` is the number of segments, for :meth:`Run.counts`. ``files`` are the paths of the inputs that are
        hashes of files, for messages. Raises :class:`RunLocked` where another process
        works on the run, and :class:`StoreError` where settings, inputs or the ``kind`` of the run differ.
        """
        given = (_canonical("settings", settings), _canonical("inputs", inputs))
        with self.database.writing(f"run {name!r}") as connection:
            connection.execute(
                "INSERT OR IGNORE INTO runs (name, kind, state, settings, inputs, started, updated, outputs)"
                " VALUES (?, ?, 'running', ?, ?, ?, ?, '{}')",
                (name, kind, *given, now(), now()),
            )
        with self.database.reading(f"run {name!r}") as connection:
            run_id, stored_kind, *stored = connection.execute(
                "SELECT id, kind, settings, inputs FROM runs WHERE name = ?", (name,)
            ).fetchone()
            if stored_kind != kind:
                holds = {"chain": "improved texts", "rating": "ratings"}
                raise StoreError(f"run {name!r}: holds {holds[stored_kind]}, not {holds[kind]}: choose another name")
            differences = setting_differences(_parsed(stored[0]), _parsed(given[0]))
            input_differences = _input_differences(_parsed(stored[1]), _parsed(given[1]), files or {})
            for name_of_input, difference in input_differences.items():
                # A file that is named differently isn't named again for its content.
                differences.setdefault(name_of_input, difference)
        if differences:
            raise StoreError(
                f"run {name!r}: was started with other settings or inputs: {'; '.join(differences.values())}. "
                "Use the same settings and inputs to continue it, or another name to start a new run"
            )
        run = self._lock(run_id, name)
        try:
            with self.database.writing() as connection:
                connection.execute(
                    "UPDATE runs SET state = 'running', updated = ?,"
                    " total = max(coalesce(?, total), coalesce(total, 0)) WHERE id = ?",  # --limit does not shrink it
                    (now(), total, run_id),
                )
        except BaseException:
            run.close()
            raise
        return run

    def reopen(self, name: str) -> Run:
        """A stored run to change, whatever its settings. Raises :class:`RunLocked`."""
        return self._lock(self._id(name), name)

    def read(self, name: str) -> StoredRun:
        """A stored run to read, also while another process works on it."""
        return StoredRun(self.database, self.calls, self._id(name), name)

    def decisions(self, name: str) -> DecisionLog:
        """What people decided about a stored run, to read and to go on with."""
        return DecisionLog(self.database, self._id(name), name)

    def delete(self, names: Sequence[str], *, outside: bool = False, leave_busy: bool = False) -> Deleted:
        """Delete runs: their texts, ratings, decisions and calls. What other runs share stays; the file gets smaller.
        ``outside``: the calls that were made outside of runs, too.

        Raises :class:`RunLocked` where a process works on one of them or shows it, unless these are left
        (``leave_busy``), and :class:`StoreError` for a name that is not there; then none is deleted.
        """
        ids = {name: self._id(name) for name in names}
        left: list[str] = []
        with ExitStack() as held:
            for name, run_id in list(ids.items()):
                try:
                    held.enter_context(self._lock_alone(run_id, name))
                except RunLocked as error:
                    if not leave_busy:
                        raise
                    left.append(str(error))
                    del ids[name]
            numbers = list(ids.values())
            if outside:
                numbers.append(OUTSIDE)
            deleted = delete_runs(self.database, numbers, list(ids))._replace(left=tuple(left))
            for name, run_id in ids.items():
                shutil.rmtree(self.batch_folder(name), ignore_errors=True)
                for lock in (self._lock_of(run_id), *self._reader_locks(run_id)):
                    if lock is not None:
                        with suppress(OSError):  # if an open file cannot be removed, letting go of the lock removes it
                            Path(lock.lock_file).unlink()
            return deleted

    def batch_folder(self, name: str) -> Path:
        """Where the requests and results of a run in batches are, next to the store."""
        safe_name = quote(name, safe="")
        if len(safe_name) > _LONGEST_FOLDER:
            safe_name = hashlib.sha256(name.encode()).hexdigest()
        return Path(f"{self.database.path}.batches") / f"run-{safe_name}"

    def hold(self, name: str) -> FileLock | None:
        """A lock that keeps the run ``name`` from being deleted while the lock is there; any number may hold one.

        ``None`` if no file can be made next to the store, since nothing can be deleted there either.
        """
        run_id = self._id(name)
        for number in count():
            lock = self._lock_of(run_id, f".reader-{number}")
            with suppress(Timeout):
                try:
                    if lock is not None:
                        lock.acquire(blocking=False)
                except OSError:
                    return None
                return lock
        raise AssertionError

    def outside(self) -> Usage:
        """The usage outside of runs, by ``Agent(store=…)``."""
        return self.calls.usage(OUTSIDE)

    def runs(self) -> list[RunSummary]:
        """All runs, oldest first."""
        return [self.run(name) for name in self.names()]

    def names(self) -> list[str]:
        """The names of all runs, oldest first."""
        return [name for (name,) in self.database.query("SELECT name FROM runs ORDER BY id")]

    def newest(self, kind: RunKind) -> str:
        """The name of the latest run of this kind. Raises :class:`StoreError` if the store has none."""
        sql = "SELECT name FROM runs WHERE kind = ? ORDER BY updated DESC, id DESC LIMIT 1"
        rows = self.database.query(sql, (kind,))
        if not rows:
            raise StoreError(f"{self.database.path}: there is no {kind} run yet")
        return str(rows[0][0])

    def settings(self, name: str) -> dict[str, Any] | None:
        """The settings that the run ``name`` was started with; ``None`` for an unknown run."""
        rows = self.database.query("SELECT settings FROM runs WHERE name = ?", (name,))
        with self.database.intact(f"run {name!r}"):
            return _parsed(rows[0][0]) if rows else None

    def outputs(self, name: str) -> dict[str, str]:
        """The files that the run ``name`` has written, with the hash of each; none where the run does not exist."""
        rows = self.database.query("SELECT outputs FROM runs WHERE name = ?", (name,))
        if not rows:
            return {}
        with self.database.intact(f"run {name!r}"):
            return _parsed(rows[0][0])

    def note_outputs(self, name: str, outputs: Mapping[str, str]) -> None:
        """Note which files the run ``name`` has written, and the hash of each."""
        noted = json.dumps(self.outputs(name) | dict(outputs))
        with self.database.writing(f"run {name!r}") as connection:
            connection.execute("UPDATE runs SET outputs = ? WHERE name = ?", (noted, name))

    def run(self, name: str) -> RunSummary:
        """One run at a glance."""
        stored = self.read(name)
        counts, usages = stored.counts(), stored.usages()
        with self.database.reading(f"run {name!r}") as connection:
            kind, state, started, updated, settings, inputs, command = connection.execute(
                "SELECT kind, state, started, updated, settings, inputs, command FROM runs WHERE id = ?", (stored.id,)
            ).fetchone()
            return RunSummary(
                name=name,
                kind=kind,
                state=self._state(stored.id, state),
                started=started,
                updated=updated,
                settings=json.loads(settings),
                inputs=json.loads(inputs),
                command=json.loads(command),
                counts=counts,
                usage=Usage.total(usage for _, usage in usages),
                uncounted=sum(usage.calls for _, usage in usages if is_uncounted(usage)),
            )

    def distrust_calls(self, calls: Iterable[Call]) -> None:
        """Never again recall the replies among ``calls``, made outside of runs, that could not be used."""
        with self.database.writing() as connection:
            self.calls.distrust_calls(connection, OUTSIDE, "", calls)

    def _id(self, name: str) -> int:
        with self.database.intact():
            names: dict[str, int] = dict(self.database.query("SELECT name, id FROM runs"))
            if name in names:
                return names[name]
            close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; list them with 'mtagent runs list'"
        raise StoreError(f"{self.database.path}: there is no run {name!r}{hint}")

    def _lock(self, run_id: int, name: str) -> Run:
        lock = self._lock_of(run_id)
        try:
            if run_id in self._open:
                raise Timeout(name)
            if lock is not None:
                lock.acquire(timeout=_LOCK_SECONDS, poll_interval=0.02)
        except Timeout:
            pids = self.database.query("SELECT pid FROM runs WHERE id = ? AND pid IS NOT NULL", (run_id,))
            holder = f"process {pids[0][0]}" if pids else "another process"
            raise RunLocked(f"run {name!r}: {holder} is working on it; wait for it, or give another name") from None
        except OSError as error:
            why = (
                self.database.read_only
                or f"cannot lock run {name!r} beside it: {(error.strerror or str(error)).lower()}"
            )
            raise StoreError(f"{self.database.path}: {why}") from error

        def release() -> None:
            del self._open[run_id]
            if lock is not None:
                lock.release()

        run = self._open[run_id] = Run(self.database, self.calls, run_id, name, release)
        try:
            with self.database.writing() as connection:
                sql = "UPDATE runs SET pid = ? WHERE id = ?"
                if not connection.execute(sql, (os.getpid(), run_id)).rowcount:
                    raise StoreError(f"run {name!r}: was deleted meanwhile; the same command starts it again")
        except StoreError:
            run.close()
            raise
        return run

    @contextmanager
    def _lock_alone(self, run_id: int, name: str) -> Iterator[None]:
        """The lock of a run that no process works on or shows. Raises :class:`RunLocked`."""
        with ExitStack() as held:
            try:
                for lock in self._reader_locks(run_id):
                    held.enter_context(lock.acquire(blocking=False))
            except Timeout:
                raise RunLocked(
                    f"run {name!r}: is open in `mtagent review`, or another command is reading it; end that first"
                ) from None
            held.enter_context(self._lock(run_id, name))
            yield

    def _lock_of(self, run_id: int, kind: str = "") -> FileLock | None:
        """The lock file of a run, next to the database; the system releases it when the process ends in any way."""
        if self.database.path == MEMORY:
            return None
        # Resolved, because a process that opens the store by another name must meet the same lock.
        path = f"{Path(self.database.path).resolve()}.run-{run_id}{kind}.lock"
        return FileLock(path, mode=0o600, thread_local=False)

    def _reader_locks(self, run_id: int) -> list[FileLock]:
        """The lock files of the processes that show a run: see :meth:`hold`."""
        locks: list[FileLock] = []
        while True:
            lock = self._lock_of(run_id, f".reader-{len(locks)}")
            if lock is None or not Path(lock.lock_file).is_file():
                return locks
            locks.append(lock)

    def _state(self, run_id: int, stored: RunState) -> RunState:
        if stored != "running" or run_id in self._open:
            return stored
        lock = self._lock_of(run_id)
        try:
            if lock is not None:
                lock.acquire(blocking=False)
                lock.release()
        except Timeout:
            return "running"
        except OSError:  # on read-only media no lock can be made: nobody works there
            return "interrupted"
        return "interrupted"


def _canonical(what: str, values: dict[str, Any]) -> str:
    def plain(value: object) -> str:
        if isinstance(value, Path):
            return str(value)
        raise TypeError(f"{value!r} isn't a plain value")

    try:
        return json.dumps(values, default=plain, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{what}: cannot be stored: {error}; use text, numbers, lists and dictionaries") from error


def _parsed(stored: str) -> dict[str, Any]:
    """Settings or inputs as they were given. Raises :class:`ValueError` and the like for other data."""
    values = json.loads(stored)
    if not isinstance(values, dict):
        raise TypeError(f"{values!r:.40} aren't settings")
    return values


def setting_differences(before: dict[str, Any], given: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """What differs between two settings, by dotted name."""
    differences: dict[str, str] = {}
    for key in sorted(before.keys() | given.keys()):
        old, new = before.get(key), given.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            differences |= setting_differences(old, new, f"{prefix}{key}.")
        elif prefix == "signatures." and isinstance(old, str) and isinstance(new, str):
            if old != new:
                differences[f"{prefix}{key}"] = f"{key} has another {_differing_parts(old, new)}"
        elif key not in before or key not in given or old != new:
            alike = 0
            if isinstance(old, str) and isinstance(new, str):
                alike = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], zip(old, new, strict=False)))
            values = f"was {_shown(before, key, alike)}, is now {_shown(given, key, alike)}"
            differences[f"{prefix}{key}"] = f"{prefix}{key} {values}"
    return differences


def _input_differences(before: dict[str, Any], given: dict[str, Any], files: Mapping[str, Path]) -> dict[str, str]:
    """What differs between the inputs of two runs, by name. A file is named by its path in ``files``, not its hash."""
    before, given = _with_systems_by_name(before), _with_systems_by_name(given)
    differences = dict[str, str]()
    for name, difference in setting_differences(before, given).items():
        if name not in before and _is_file_hash(given[name]):
            differences[name] = f"input {name} was not set"
        elif name not in given and _is_file_hash(before[name]):
            differences[name] = f"input {name} is not set now"
        elif not _is_file_hash(before.get(name)) or not _is_file_hash(given.get(name)):
            differences[name] = f"input {difference}"
        elif name not in files:
            differences[name] = f"the content of {name!r} has changed since"
        elif name.replace(" ", "").isalnum():  # not a path: "source", "candidate 2"
            differences[name] = f"the {name} file {files[name]} has changed since"
        else:
            differences[name] = f"the file {files[name]} has changed since"
    return differences


def _with_systems_by_name(inputs: dict[str, Any]) -> dict[str, Any]:
    """``inputs`` with the hash of each system's file under ``-t NAME``, so that the file that differs can be named."""
    systems = inputs.get("systems")
    if not isinstance(systems, list) or not all(isinstance(system, list) for system in systems):
        return inputs
    by_name = dict(inputs)
    by_name["systems"] = [name for name, _ in systems]
    for name, file_hash in systems:
        if file_hash is not None:
            by_name[f"-t {name}"] = file_hash
    return by_name


def _is_file_hash(value: object) -> bool:
    return isinstance(value, str) and _FILE_HASH.fullmatch(value) is not None


def _differing_parts(signature: str, other: str) -> str:
    """The names of what differs between two signatures: ``prompt and temperature``."""
    parts, other_parts = signature.split("|"), other.split("|")
    if parts[0] != other_parts[0]:
        return "evaluator"
    names = dict[str, None]()
    for part in (*parts, *other_parts):
        if part not in parts or part not in other_parts:
            names[part.partition(":")[0]] = None
    return " and ".join(names)


def _shown(values: dict[str, Any], key: str, alike: int) -> str:
    """A value, shortened so that it shows what comes after the first ``alike`` characters."""
    if key not in values:
        return "not set"
    value = values[key]
    text = value if isinstance(value, str) else repr(value)
    if alike > _SHOWN - 10:
        text = f"…{text[alike - 20 :]}"
    if len(text) > _SHOWN:
        text = f"{text[: _SHOWN - 3]}…"
    return repr(text) if isinstance(value, str) else text


# -- deleting runs, so that their texts are gone from the file and what other runs share stays

NO_RUN = 0
"""The ``run_id`` of calls whose run was deleted and whose texts other runs hold: they still answer these."""
_HASH = re.compile(r'"([0-9a-f]{32})"')
_HOLDERS = (("steps", "calls"), ("ratings", "calls"), ("rated", "calls"), ("rated", "paid"))
"""The columns that name texts by their hash, besides the columns of the calls themselves."""


class Deleted(NamedTuple):
    """The result of a deletion."""

    before: int
    """The size of the store before, in bytes."""
    after: int
    related: tuple[str, ...]
    """The runs that were made from the deleted ones and may hold their texts."""
    waiting: bool
    """Whether another process was reading, so that the file gets smaller later."""
    left: tuple[str, ...] = ()
    """For each run that was not deleted because a process works on it or shows it, the reason."""


def delete_runs(database: Database, run_ids: Sequence[int], names: Sequence[str]) -> Deleted:
    """Delete runs with all that only they hold, and give the space back. The caller holds the runs' locks."""
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
    held: set[str] = set()
    for table, column in _HOLDERS:
        for (packed,) in connection.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
            held.update(_HASH.findall(packed))
    gone = {*deleted, NO_RUN}
    for run_id, messages, reply in connection.execute("SELECT run_id, messages, reply FROM calls"):
        if run_id not in gone:
            held |= _hashes_of_call(messages, reply)
    return held


def _hashes_of_call(messages: str, reply: str | None) -> set[str]:
    hashes = set(_HASH.findall(messages))
    if reply is not None:
        hashes.add(reply)
    return hashes


def _let_go_of_calls(connection: Connection, deleted: Sequence[int], held: set[str]) -> None:
    """Delete the calls of deleted runs. Calls with texts that other runs all hold are kept, and belong to no run."""
    marks = ", ".join("?" * (len(deleted) + 1))
    sql = f"SELECT id, messages, reply, error FROM calls WHERE run_id IN ({marks})"
    rows = connection.execute(sql, (*deleted, NO_RUN)).fetchall()
    shared: list[tuple[int]] = []
    unshared: list[tuple[int]] = []
    for number, messages, reply, error in rows:
        has_reply = error is None and reply is not None
        if has_reply and _hashes_of_call(messages, reply) <= held:
            shared.append((number,))
        else:
            unshared.append((number,))
    connection.executemany(f"UPDATE calls SET run_id = {NO_RUN}, segment = '' WHERE id = ?", shared)
    connection.executemany("DELETE FROM calls WHERE id = ?", unshared)


def _made_from(connection: Connection, names: set[str]) -> tuple[str, ...]:
    """The runs that rated or judged the deleted texts."""
    runs = connection.execute("SELECT name, inputs FROM runs ORDER BY id")
    return tuple(name for name, inputs in runs if json.loads(inputs).get("run") in names)


def _shrink(database: Database) -> bool:
    """Rewrite the file without the deleted rows, and empty its log. Returns whether another process prevents that."""
    try:
        database.query("VACUUM")
        return bool(database.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0])
    except StoreError as error:
        raise StoreError(
            f"the runs are deleted, but the file did not shrink: {error}; the same command with another run, or "
            "sqlite3 with VACUUM, makes it smaller"
        ) from error


def _size(path: str) -> int:
    """The bytes of the store with its log."""
    if path == MEMORY:
        return 0
    return sum(file.stat().st_size for file in (Path(path), Path(f"{path}-wal")) if file.is_file())


# -- one run of several, such as the shards of a job that worked on many machines

_SEGMENTS = "SELECT position, segment, state, source, translation FROM segments"


class StoredShard(NamedTuple):
    """A run to be joined with others."""

    store: Path
    run: str


def shards_in(stores: Iterable[Path]) -> list[StoredShard]:
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


def merge_runs(parts: Sequence[StoredShard], target: Store, name: str, order: Callable[[str], Any]) -> Run:
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
