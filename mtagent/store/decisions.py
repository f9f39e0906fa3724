"""The table of people's decisions about a run: written line by line, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from mtagent.decisions import Decision
from mtagent.errors import DecidedElsewhere, NotStored
from mtagent.store.database import Database, now

_WRITTEN = "segment, edit, verdict, text, reason, who, at, seconds, stage, chain, approves, withdraws, command"
_COLUMNS = f"{_WRITTEN}, id"
_FIELDS = tuple(_COLUMNS.split(", "))
Placed = tuple[int, Decision]
"""A decision with the position of its segment in the run."""


class DecisionLog:
    """The decisions about one run. They can be written while a process works on the run."""

    def __init__(self, database: Database, run_id: int, name: str) -> None:
        self._database, self._run_id, self._name = database, run_id, name

    def __bool__(self) -> bool:
        return bool(self._database.query("SELECT 1 FROM decisions WHERE run_id = ? LIMIT 1", (self._run_id,)))

    def history(self, position: int) -> list[Decision]:
        """All that was decided about the segment at ``position``, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM decisions WHERE run_id = ? AND position = ? ORDER BY id"
        rows = self._database.query(sql, (self._run_id, position))
        with self._database.intact(f"the decisions of run {self._name!r}"):
            return [Decision(**dict(zip(_FIELDS, row, strict=True))) for row in rows]

    def histories(self) -> dict[int, list[Decision]]:
        """The same for all segments with decisions, by position."""
        sql = f"SELECT position, {_COLUMNS} FROM decisions WHERE run_id = ? ORDER BY position, id"
        rows = self._database.query(sql, (self._run_id,))
        with self._database.intact(f"the decisions of run {self._name!r}"):
            return {
                position: [Decision(**dict(zip(_FIELDS, row[1:], strict=True))) for row in group]
                for position, group in groupby(rows, itemgetter(0))
            }

    def version(self, position: int) -> int:
        """The number of the last decision about the segment at ``position``; 0 = none."""
        return self.versions([position])[position]

    def versions(self, positions: Iterable[int] = ()) -> dict[int, int]:
        """The same for all segments with decisions, and for each of ``positions``."""
        sql = "SELECT position, max(id) FROM decisions WHERE run_id = ? GROUP BY position"
        return dict.fromkeys(positions, 0) | dict(self._database.query(sql, (self._run_id,)))

    def append(self, decisions: Sequence[Placed], *, expected: Mapping[int, int] | None = None) -> dict[int, int]:
        """Write decisions, all of them or none, and return the new versions of their segments.

        Those without a time get the present one. Raises :class:`DecidedElsewhere` where a segment's version is no
        longer the ``expected`` one, and :class:`NotStored` for a position that the run does not hold.
        """
        names = _WRITTEN.split(", ")
        insert = f"INSERT INTO decisions (run_id, position, {_WRITTEN}) VALUES ({', '.join('?' * (len(names) + 2))})"
        time = now()
        with self._database.writing(f"a decision about run {self._name!r}") as connection:
            for position, version in (expected or {}).items():
                sql = "SELECT coalesce(max(id), 0) FROM decisions WHERE run_id = ? AND position = ?"
                current = connection.execute(sql, (self._run_id, position)).fetchone()[0]
                if current != version:
                    raise DecidedElsewhere(
                        f"run {self._name!r}: the segment at position {position} was decided on elsewhere meanwhile; "
                        "look at it again"
                    )
            versions = dict[int, int]()
            command = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM decisions").fetchone()[0]
            for position, decision in decisions:
                there = (
                    "SELECT 1 FROM segments JOIN runs ON runs.id = run_id"
                    " WHERE run_id = ? AND name = ? AND position = ? AND segment = ?"
                )
                place = (self._run_id, self._name, position, decision.segment)
                if not connection.execute(there, place).fetchone():
                    raise NotStored(
                        f"run {self._name!r}: has no segment {decision.segment!r} at position {position}, or was "
                        "deleted"
                    )
                made = decision.model_copy(update={"at": decision.at or time, "command": command})
                values = [getattr(made, name) for name in names]
                versions[position] = connection.execute(insert, (self._run_id, position, *values)).lastrowid or 0
            return versions
