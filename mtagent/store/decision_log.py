"""The database table of people's decisions about a run: rows are added and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

from mtagent.errors import DecidedElsewhere, NotStored
from mtagent.records.decisions import Decision
from mtagent.store.database import Database, now

_WRITTEN = "segment, edit, verdict, text, reason, who, at, seconds, stage, chain, approves, withdraws, command"
_COLUMNS = f"{_WRITTEN}, id"
_FIELDS = tuple(_COLUMNS.split(", "))
PlacedDecision = tuple[int, Decision]
"""A decision with the position of its segment in the run."""


class DecisionLog:
    """The decisions about one run. They can be written while a process works on the run."""

    def __init__(self, database: Database, run_id: int, name: str) -> None:
        self._database, self._run_id, self._name = database, run_id, name

    def __bool__(self) -> bool:
        return bool(self._database.query("SELECT 1 FROM decisions WHERE run_id = ? LIMIT 1", (self._run_id,)))

    def history(self, position: int) -> list[Decision]:
        """All decisions about the segment at ``position``, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM decisions WHERE run_id = ? AND position = ? ORDER BY id"
        rows = self._database.query(sql, (self._run_id, position))
        with self._database.intact(f"the decisions of run {self._name!r}"):
            return [_decision(row) for row in rows]

    def histories(self) -> dict[int, list[Decision]]:
        """All decisions about the run, oldest first, by the position of their segment."""
        sql = f"SELECT position, {_COLUMNS} FROM decisions WHERE run_id = ? ORDER BY position, id"
        rows = self._database.query(sql, (self._run_id,))
        histories: dict[int, list[Decision]] = {}
        with self._database.intact(f"the decisions of run {self._name!r}"):
            for position, *columns in rows:
                histories.setdefault(position, []).append(_decision(columns))
        return histories

    def version(self, position: int) -> int:
        """The number of the last decision about the segment at ``position``; 0 = none."""
        return self.versions([position])[position]

    def versions(self, positions: Iterable[int] = ()) -> dict[int, int]:
        """The number of the last decision about each segment with decisions, and about each of ``positions``."""
        sql = "SELECT position, max(id) FROM decisions WHERE run_id = ? GROUP BY position"
        return dict.fromkeys(positions, 0) | dict(self._database.query(sql, (self._run_id,)))

    def append(
        self, decisions: Sequence[PlacedDecision], *, expected: Mapping[int, int] | None = None
    ) -> dict[int, int]:
        """Write decisions, all of them or none, and return the new versions of their segments.

        Decisions without a time get the current time. Raises :class:`DecidedElsewhere` if a segment's version is no
        longer the ``expected`` one, and :class:`NotStored` for a position that the run does not have.
        """
        names = _WRITTEN.split(", ")
        insert = f"INSERT INTO decisions (run_id, position, {_WRITTEN}) VALUES ({', '.join('?' * (len(names) + 2))})"
        time = now()
        with self._database.writing(f"a decision about run {self._name!r}") as connection:
            for position, version in (expected or {}).items():
                self._refuse_newer(connection, position, version)
            versions = dict[int, int]()
            command = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM decisions").fetchone()[0]
            for position, decision in decisions:
                self._refuse_missing(connection, position, decision.segment)
                stored = decision.model_copy(update={"at": decision.at or time, "command": command})
                values = [getattr(stored, name) for name in names]
                versions[position] = connection.execute(insert, (self._run_id, position, *values)).lastrowid or 0
            return versions

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
