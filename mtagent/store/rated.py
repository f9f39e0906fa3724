"""The ratings of a rating run as rows of the table ``rated``, and back: exactly what was saved comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from sqlite3 import Connection

from mtagent.errors import StoreError
from mtagent.records import Rated
from mtagent.store import rows
from mtagent.store.calls import insert_texts, read_texts

# The columns from ``evaluator`` to ``seconds`` stand where they do in the table ``ratings``.
COLUMNS = (
    "run_id, position, number, segment, system, translation, evaluator, score, signature, explanation, errors, calls, "
    "correction, confidence, gaps, warnings, seconds, error, paid, took"
)
_NO_RATING = (None,) * 11
_CALLS, _ERROR, _PAID, _TOOK = 11, 17, 18, 19


def insert_rated(connection: Connection, run_id: int, position: int, rated: Sequence[Rated]) -> None:
    """Add the rows of a segment: its own, and one per system."""
    texts: dict[str, str] = {}
    connection.execute(
        f"INSERT INTO segments ({rows.SEGMENT_COLUMNS}) VALUES ({_places(rows.SEGMENT_COLUMNS)})",
        rows.segment_row(run_id, position, rated[0].segment, state_of(rated), ""),
    )
    values = [_row(run_id, position, number, one, texts) for number, one in enumerate(rated)]
    connection.executemany(f"INSERT INTO rated ({COLUMNS}) VALUES ({_places(COLUMNS)})", values)
    insert_texts(connection, texts)


def state_of(rated: Sequence[Rated]) -> rows.SegmentState:
    """``failed`` where one of the systems has no rating because of an error: it will be tried again."""
    return "failed" if any(one.error is not None for one in rated) else "rated"


def read_rated(
    connection: Connection, run_id: int, condition: str, values: Sequence[object]
) -> Iterator[tuple[int, Rated]]:
    """Position and rating of the rows that a ``condition`` on table ``rated`` chooses, in order."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM rated WHERE run_id = ? AND {condition} ORDER BY position, number", (run_id, *values)
    ).fetchall()
    packed = [calls for row in found for calls in (row[_CALLS], row[_PAID]) if calls is not None]
    texts = read_texts(connection, rows.addresses(packed))
    segments = _segments(connection, run_id, {row[1] for row in found})
    for row in found:
        yield row[1], _read(row, segments, texts)


def _segments(connection: Connection, run_id: int, positions: set[int]) -> dict[int, rows.Row]:
    if not positions:
        return {}
    span = (run_id, min(positions), max(positions))
    sql = f"SELECT {rows.SEGMENT_COLUMNS} FROM segments WHERE run_id = ? AND position BETWEEN ? AND ?"
    return {row[1]: row for row in connection.execute(sql, span)}


def _row(run_id: int, position: int, number: int, rated: Rated, texts: dict[str, str]) -> rows.Row:
    rating = rated.rating
    same = rating is not None and rating.calls == rated.calls
    return (
        *(run_id, position, number, rated.segment.id, rated.system, rated.translation),
        *(_NO_RATING if rating is None else rows.rating_values(rating, texts)),
        *(rated.error, None if same else rows.pack_calls(rated.calls, texts), rated.seconds),
    )


def _read(row: rows.Row, segments: Mapping[int, rows.Row], texts: Mapping[str, str]) -> Rated:
    rating = None if row[6] is None else rows.read_rating(row, texts)
    paid = rating.calls if row[_PAID] is None and rating else rows.unpack_calls(row[_PAID], texts)
    if row[1] not in segments:
        raise StoreError(f"segment {row[3]!r}: its row is missing")
    return Rated(
        segment=rows.read_segment(segments[row[1]]),
        system=row[4],
        translation=row[5],
        rating=rating,
        error=row[_ERROR],
        calls=paid,
        seconds=row[_TOOK],
    )


def _places(columns: str) -> str:
    return ", ".join("?" * len(columns.split(",")))
