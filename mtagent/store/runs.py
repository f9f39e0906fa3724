"""Runs: their records, the chains and ratings of one run, and people's decisions about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Any, Literal, TypeVar, get_args

from mtagent.errors import DecidedElsewhere, NotStored, StoreError
from mtagent.records import Call, Cause, Chain, Rated, Record, Segment, Usage, read_cause
from mtagent.records.decisions import Decision
from mtagent.store.calls import CallLog
from mtagent.store.database import Database, now
from mtagent.store.rows import SEGMENT_TABLES, insert_chain, insert_rated, read_chains, read_final_texts, read_rated

RunState = Literal["running", "interrupted", "stopped", "finished"]
RunKind = Literal["chain", "rating"]
Placed = TypeVar("Placed", bound=tuple[Any, ...])
"""What is stored of a segment, after the segment's position."""
_PAGE = 50  # segments held in memory at once while a run is read
_LAST_POSITION = 2**62


class Counts(Record):
    """Segments of a run by their outcome. A rating run has only ``rated`` and ``failed`` ones."""

    done: int = 0
    """Tried to the end: ``changed`` + ``unchanged`` + ``rejected`` + ``rated``."""
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    """They kept their text because a change was not accepted."""
    rated: int = 0
    failed: int = 0
    """They will be tried again. In a rating run, those with a translation that could not be rated."""
    failed_changed: int = 0
    """The failed ones that an earlier stage had changed: they kept that change."""
    total: int | None = None
    """The number of segments at the start of the run; ``None`` = unknown."""


# As Chain.changed: a text counts as changed against the given translation, or else the first one that was made.
_FAILED_CHANGED = """SELECT count(*) FROM segments JOIN runs ON runs.id = segments.run_id
    WHERE run_id = ? AND runs.kind = 'chain' AND segments.state = 'failed'
    AND segments.text <> coalesce(translation, (
        SELECT steps.text FROM steps WHERE steps.run_id = segments.run_id AND steps.position = segments.position
        AND stage = 'translate' AND verdict = 'kept' ORDER BY step LIMIT 1))"""

_SHOWN_IDS = 3


class RunSummary(Record):
    """A run at a glance; times are UTC. ``interrupted``: it did not end, and no process works on it."""

    name: str
    kind: RunKind
    state: RunState
    started: str
    updated: str
    settings: dict[str, Any]
    inputs: dict[str, Any]
    command: tuple[str, ...] = ()
    """The words of the command line that last worked on it, without ``mtagent``; ``()`` if it was none."""
    counts: Counts
    usage: Usage
    uncounted: int = 0
    """The calls in ``usage`` whose tokens the server did not report."""


class StoredRun:
    """What a run holds, to read. It may still be going on, in this process or another."""

    def __init__(self, database: Database, calls: CallLog, run_id: int, name: str) -> None:
        self.id = run_id
        self.name = name
        self._database = database
        self._calls = calls

    def done(self, position: int) -> bool:
        """Whether the segment at ``position`` was tried to the end; a failed one was not."""
        return self._column("state", position) not in (None, "failed")

    def failed(self, position: int) -> bool:
        """Whether the segment at ``position`` was tried, and failed."""
        return self._column("state", position) == "failed"

    def chains(self, *, dialogues: bool = True) -> Iterator[Chain]:
        """All chains by position, read page by page, also chains that are saved meanwhile at later positions.

        Without ``dialogues`` the calls have no messages and no replies, which take half of the time.
        """
        return (chain for _, chain in self.placed_chains(dialogues=dialogues))

    def placed_chains(self, *, after: int = -1, dialogues: bool = True) -> Iterator[tuple[int, Chain]]:
        """The same, each with its position: a run that is not complete has gaps. They begin ``after`` a position."""
        return self._pages(partial(read_chains, dialogues=dialogues), after)

    def final_texts(self) -> Iterator[tuple[int, Segment, str]]:
        """Position, segment and text after the last step, for all segments by position."""
        return self._pages(read_final_texts)

    def _pages(
        self, read: Callable[[Connection, int, str, int, int], list[Placed]], last: int = -1
    ) -> Iterator[Placed]:
        while True:
            with self._database.reading(f"run {self.name!r}") as connection:
                page = read(connection, self.id, "position > ?", last, _PAGE)
            if not page:
                return
            yield from page
            last = page[-1][0]

    def has(self, segment_id: str) -> bool:
        """Whether the run holds a segment of this id."""
        sql = "SELECT 1 FROM segments WHERE run_id = ? AND segment = ? LIMIT 1"
        return bool(self._database.query(sql, (self.id, segment_id)))

    def chain(self, segment_id: str) -> tuple[int, Chain]:
        """The position and the chain of a segment; a :class:`StoreError` for no segment, or several."""
        positions = self.positions_of(segment_id)
        if not positions:
            raise StoreError(f"run {self.name!r}: has no segment {segment_id!r}{self._missing()}{self._some_ids()}")
        if len(positions) > 1:
            places = ", ".join(map(str, positions))
            raise StoreError(f"run {self.name!r}: several segments are called {segment_id!r}, at positions {places}")
        return positions[0], self.chain_at(positions[0])

    def positions_of(self, segment_id: str) -> list[int]:
        """The positions of the segments with this id: none, one, or several."""
        sql = "SELECT position FROM segments WHERE run_id = ? AND segment = ? ORDER BY position"
        return [position for (position,) in self._database.query(sql, (self.id, segment_id))]

    def _missing(self) -> str:
        """For an incomplete run: how many segments it lacks, and what to do."""
        counts = self.counts()
        missing = (counts.total or 0) - counts.done - counts.failed
        if missing <= 0:
            return ""
        return f"; of its {counts.total} segments {missing} are not there: the command that began the run does them"

    def _some_ids(self) -> str:
        """The ids of the first segments."""
        rows = self._database.query(
            "SELECT segment FROM segments WHERE run_id = ? ORDER BY position LIMIT ?", (self.id, _SHOWN_IDS + 1)
        )
        names = [repr(name) for (name,) in rows]
        more = " …" if len(names) > _SHOWN_IDS else ""
        return f"; its segments are called {', '.join(names[:_SHOWN_IDS])}{more}" if names else ""

    def chain_at(self, position: int) -> Chain:
        """The chain of the segment at ``position``. Raises :class:`NotStored` for a missing one."""
        with self._database.reading(f"run {self.name!r}") as connection:
            for _, chain in read_chains(connection, self.id, "position = ?", position, 1):
                return chain
        raise NotStored(f"run {self.name!r}: has no segment at position {position}, or was deleted")

    def text_at(self, position: int) -> str | None:
        """The last accepted text of the segment at ``position``; ``None`` for a missing segment."""
        return self._column("text", position)

    def _column(self, column: Literal["state", "text"], position: int) -> str | None:
        sql = f"SELECT {column} FROM segments WHERE run_id = ? AND position = ?"
        rows = self._database.query(sql, (self.id, position))
        return rows[0][0] if rows else None

    def ratings(self, system: str | None = None, *, limit: int | None = None) -> Iterator[Rated]:
        """The ratings of a rating run by segment and system, or only of one ``system``, read page by page.

        ``limit`` is the number of segments to read.
        """
        last = -1
        end = _LAST_POSITION if limit is None else limit
        while positions := self._positions(last, end):
            first, last = positions[0], positions[-1]
            if system is None:
                yield from self._ratings("position BETWEEN ? AND ?", first, last)
            else:
                yield from self._ratings("position BETWEEN ? AND ? AND system = ?", first, last, system)

    def ratings_of(self, segment_id: str) -> list[Rated]:
        """The ratings of one segment, in order of systems; empty if the run has no segment of that id."""
        return self._ratings("segment = ?", segment_id)

    def ratings_at(self, position: int) -> list[Rated]:
        """The ratings of the segment at ``position``, also after a failed try; empty for a missing segment."""
        return self._ratings("position = ?", position)

    def _ratings(self, condition: str, *values: object) -> list[Rated]:
        with self._database.reading(f"run {self.name!r}") as connection:
            return list(read_rated(connection, self.id, condition, values))

    def systems(self) -> tuple[str, ...]:
        """The systems of a rating run, in their order."""
        first = "SELECT system FROM rated WHERE run_id = ? GROUP BY system ORDER BY min(number)"
        return tuple(system for (system,) in self._database.query(first, (self.id,)))

    def gates(self) -> dict[str, Any]:
        """The gates that the run settled from its own edits, by stage, as plain data."""
        with self._database.intact(f"run {self.name!r}"):
            gates: dict[str, Any] = json.loads(
                self._database.query("SELECT gates FROM runs WHERE id = ?", (self.id,))[0][0]
            )
            return gates

    @property
    def kind(self) -> RunKind:
        """Whether the run holds chains, or ratings of given texts."""
        with self._database.intact(f"run {self.name!r}"):
            kind: RunKind = self._database.query("SELECT kind FROM runs WHERE id = ?", (self.id,))[0][0]
            if kind not in get_args(RunKind):
                raise ValueError(f"{kind!r:.40} isn't a kind of run")
            return kind

    def causes(self, most: int) -> Iterator[Cause]:
        """The causes of the steps that kept or rejected a change, of ``most`` segments from all over the run.

        Steps that made the first translation are left out.
        """
        sql = "SELECT coalesce(max(position), 0) FROM segments WHERE run_id = ?"
        stride = self._database.query(sql, (self.id,))[0][0] // most + 1
        sql = (
            "SELECT cause FROM steps WHERE run_id = ? AND position % ? = 0 AND stage <> 'translate'"
            " AND verdict IN ('kept', 'rejected') ORDER BY position, step"
        )
        rows = self._database.query(sql, (self.id, stride))
        with self._database.intact(f"run {self.name!r}"):
            for (cause,) in rows:
                yield read_cause(json.loads(cause))

    def usage(self) -> Usage:
        """What the run has paid for, as the servers reported it; failed calls included, reused replies not."""
        return self._calls.usage(self.id)

    def usages(self) -> list[tuple[str, Usage]]:
        """The same by model; apart from each other what has a price, what has none, and what was not even counted."""
        return self._calls.usages(self.id)

    def each_usage(self) -> Iterator[tuple[str, Usage]]:
        """The same call by call, with the requested model; read page by page."""
        return self._calls.each_usage(self.id)

    def counts(self) -> Counts:
        """How many segments of each kind the run holds."""
        states = "SELECT state, count(*) FROM segments WHERE run_id = ? GROUP BY state"
        with self._database.reading(f"run {self.name!r}") as connection:
            counts = dict(connection.execute(states, (self.id,)).fetchall())
            total = connection.execute("SELECT total FROM runs WHERE id = ?", (self.id,)).fetchone()[0]
            failed_changed = connection.execute(_FAILED_CHANGED, (self.id,)).fetchone()[0]
            done = sum(counts.values()) - counts.get("failed", 0)
            return Counts(done=done, failed_changed=failed_changed, total=total, **counts)

    def _positions(self, last: int, end: int) -> list[int]:
        """The positions of the next page after ``last``, before ``end``."""
        sql = (
            "SELECT position FROM segments WHERE run_id = ? AND position > ? AND position < ? ORDER BY position LIMIT ?"
        )
        return [position for (position,) in self._database.query(sql, (self.id, last, end, _PAGE))]


class Run(StoredRun):
    """A run to work on. Only one process at a time holds it; :meth:`close` or :meth:`finish` lets go of it."""

    def __init__(self, database: Database, calls: CallLog, run_id: int, name: str, release: Callable[[], None]) -> None:
        super().__init__(database, calls, run_id, name)
        self._release: Callable[[], None] | None = release

    def save(self, position: int, chain: Chain) -> None:
        """Store a chain, all of it or nothing. A failed former try is replaced; a finished one is not
        (:class:`StoreError`).
        """
        self._refuse_finished(position, chain.segment.id)
        calls = [call for step in chain.steps for call in step.calls]
        self._put(
            position, chain.segment.id, calls, lambda connection: insert_chain(connection, self.id, position, chain)
        )

    def save_ratings(self, position: int, rated: Sequence[Rated]) -> None:
        """Store the ratings of one segment's translations, one per system, all of them or none.

        A failed former try is replaced; a finished one is not (:class:`StoreError`).
        """
        segment = rated[0].segment.id
        self._refuse_finished(position, segment)
        calls = [call for result in rated for call in result.calls]
        self._put(position, segment, calls, lambda connection: insert_rated(connection, self.id, position, rated))

    def note_gates(self, gates: Mapping[str, Any]) -> None:
        """Store the gates that were settled, so that the run decides by the same ones when it is resumed."""
        self._held()
        with self._database.writing(f"run {self.name!r}") as connection:
            connection.execute("UPDATE runs SET gates = ? WHERE id = ?", (json.dumps(gates), self.id))

    def note_command(self, words: Sequence[str]) -> None:
        """Store the words of the command line that works on the run."""
        self._held()
        with self._database.writing(f"run {self.name!r}") as connection:
            connection.execute("UPDATE runs SET command = ? WHERE id = ?", (json.dumps(list(words)), self.id))

    def forget_try(self, chain: Chain) -> None:
        """Let the calls of ``chain``, which was only a try, count with the chain that will be saved in its place.

        Its replies that could not be used are not recalled again.
        """
        segment = chain.segment.id
        calls = [call for step in chain.steps for call in step.calls]
        if any(call.error for call in calls):
            with self._database.writing(f"segment {segment!r}") as connection:
                self._calls.distrust_calls(connection, self.id, segment, calls)
        self._calls.forget(self.id, segment)

    def finish(self, state: Literal["finished", "stopped"] = "finished") -> None:
        """Note how the run ended, and let go of it. It can be started again, to try failed segments."""
        self._held()
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, pid = NULL, updated = ? WHERE id = ?", (state, now(), self.id)
            )
        self.close()

    def close(self) -> None:
        """Let go of the run without saying that it ended. Closing twice does no harm."""
        if self._release is not None:
            self._release()
        self._release = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _held(self) -> None:
        if self._release is None:
            raise StoreError(f"run {self.name!r}: was closed; start it again to write to it")

    def _refuse_finished(self, position: int, segment: str) -> None:
        if self.done(position):
            raise StoreError(
                f"run {self.name!r}: position {position} is finished already; segment {segment!r} is not saved"
            )

    def _put(self, position: int, segment: str, calls: Iterable[Call], insert: Callable[[Connection], None]) -> None:
        """Replace the rows at ``position``; failed ``calls`` are not recalled again."""
        self._held()
        with self._database.writing(f"segment {segment!r}") as connection:
            for table in SEGMENT_TABLES:
                connection.execute(f"DELETE FROM {table} WHERE run_id = ? AND position = ?", (self.id, position))
            insert(connection)
            self._calls.distrust_calls(connection, self.id, segment, calls)
            connection.execute("UPDATE runs SET updated = ? WHERE id = ?", (now(), self.id))
        self._calls.forget(self.id, segment)


# -- people's decisions: rows of the table are added and never changed

_WRITTEN = "segment, edit, verdict, text, reason, who, at, seconds, stage, chain, approves, withdraws, command"
_COLUMNS = f"{_WRITTEN}, id"
_FIELDS = tuple(_COLUMNS.split(", "))
PlacedDecision = tuple[int, Decision]
"""A decision with the position of its segment in the run."""


class DecisionLog:
    """The decisions about one run. They can be written while a process works on the run."""

    def __init__(self, database: Database, run_id: int, name: str) -> None:
        self._database = database
        self._run_id = run_id
        self._name = name

    def __bool__(self) -> bool:
        return bool(self._database.query("SELECT 1 FROM decisions WHERE run_id = ? LIMIT 1", (self._run_id,)))

    def history(self, position: int) -> list[Decision]:
        """All decisions about the segment at ``position``, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM decisions WHERE run_id = ? AND position = ? ORDER BY id"
        rows = self._database.query(sql, (self._run_id, position))
        with self._database.intact(f"the decisions of run {self._name!r}"):
            return [_decision(row) for row in rows]

    def histories(self, first: int = 0, last: int = _LAST_POSITION) -> dict[int, list[Decision]]:
        """All decisions about the run, oldest first, by the position of their segment, from ``first`` to ``last``."""
        sql = f"SELECT position, {_COLUMNS} FROM decisions WHERE run_id = ? AND position BETWEEN ? AND ?"
        rows = self._database.query(f"{sql} ORDER BY position, id", (self._run_id, first, last))
        histories: dict[int, list[Decision]] = {}
        with self._database.intact(f"the decisions of run {self._name!r}"):
            for position, *columns in rows:
                histories.setdefault(position, []).append(_decision(columns))
        return histories

    def version(self, position: int) -> int:
        """The number of the last decision about the segment at ``position``; 0 = none."""
        sql = "SELECT coalesce(max(id), 0) FROM decisions WHERE run_id = ? AND position = ?"
        version: int = self._database.query(sql, (self._run_id, position))[0][0]
        return version

    def versions(self) -> dict[int, int]:
        """The number of the last decision about each segment with decisions."""
        sql = "SELECT position, max(id) FROM decisions WHERE run_id = ? GROUP BY position"
        return dict(self._database.query(sql, (self._run_id,)))

    def append(
        self, decisions: Sequence[PlacedDecision], *, expected: Mapping[int, int] | None = None
    ) -> dict[int, int]:
        """Write decisions, all of them or none, and return the new versions of their segments.

        Decisions without a time get the current time, or a later one if the segment already has a decision that
        another machine's clock dated later. Decisions of another store bring their ``id``, which must be negative: a
        later one may withdraw it. They share a command if they shared one there. Raises :class:`DecidedElsewhere` if a
        segment's version is no longer the ``expected`` one, and :class:`NotStored` for a position that the run does not
        have.
        """
        names = _WRITTEN.split(", ")
        insert = f"INSERT INTO decisions (run_id, position, {_WRITTEN}) VALUES ({', '.join('?' * (len(names) + 2))})"
        with self._database.writing(f"a decision about run {self._name!r}") as connection:
            for position, version in (expected or {}).items():
                self._refuse_newer(connection, position, version)
            versions = dict[int, int]()
            times = dict[int, str]()
            commands = dict[int, int]()
            new_ids = dict[int | None, int]()  # by the id in the other store
            next_id = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM decisions").fetchone()[0]
            for position, decision in decisions:
                self._refuse_missing(connection, position, decision.segment)
                if position not in times:
                    times[position] = self._next_time(connection, position)
                stored = decision.model_copy(
                    update={
                        "at": decision.at or times[position],
                        "command": commands.setdefault(decision.command, next_id),
                        "withdraws": new_ids.get(decision.withdraws, decision.withdraws),
                    }
                )
                values = [getattr(stored, name) for name in names]
                new_id = connection.execute(insert, (self._run_id, position, *values)).lastrowid or 0
                versions[position] = new_id
                if decision.id < 0:
                    new_ids[decision.id] = new_id
                next_id = new_id + 1
            return versions

    def _next_time(self, connection: Connection, position: int) -> str:
        """The current time, or one millisecond after the last decision on the segment if that is later."""
        sql = "SELECT coalesce(max(at), '') FROM decisions WHERE run_id = ? AND position = ?"
        last = connection.execute(sql, (self._run_id, position)).fetchone()[0]
        time = now()
        if last < time:
            return time
        later = datetime.fromisoformat(last) + timedelta(milliseconds=1)
        return later.isoformat(" ", "milliseconds")

    def _refuse_newer(self, connection: Connection, position: int, version: int) -> None:
        sql = "SELECT coalesce(max(id), 0) FROM decisions WHERE run_id = ? AND position = ?"
        current = connection.execute(sql, (self._run_id, position)).fetchone()[0]
        if current != version:
            raise DecidedElsewhere(
                f"run {self._name!r}: the segment at position {position} was decided on elsewhere meanwhile; "
                "look at it again"
            )

    def _refuse_missing(self, connection: Connection, position: int, segment: str) -> None:
        sql = (
            "SELECT 1 FROM segments JOIN runs ON runs.id = run_id"
            " WHERE run_id = ? AND name = ? AND position = ? AND segment = ?"
        )
        if not connection.execute(sql, (self._run_id, self._name, position, segment)).fetchone():
            raise NotStored(f"run {self._name!r}: has no segment {segment!r} at position {position}, or was deleted")


def _decision(columns: Sequence[Any]) -> Decision:
    return Decision(**dict(zip(_FIELDS, columns, strict=True)))
