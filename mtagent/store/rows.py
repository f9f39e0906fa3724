"""Chains and ratings as rows, and rows as chains and ratings: exactly what was saved comes back.

What users ask about is in columns; what only mtagent reads is JSON. The texts of messages and replies are kept once,
under their hash: a step holds its calls as JSON with hashes in the place of texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from sqlite3 import Connection
from typing import Any

import orjson

from mtagent.records import (
    Call,
    Chain,
    Edit,
    ErrorSpan,
    MemoryMatch,
    Message,
    Rated,
    Rating,
    RatingRole,
    Segment,
    SegmentState,
    Step,
    Term,
    ToolCall,
    Usage,
    read_cause,
)

Row = tuple[Any, ...]
Texts = Mapping[str, str]
"""Texts by their hash."""

# The columns of a rating from ``evaluator`` to ``seconds`` have the same places in ``ratings`` and ``rated``.
_RATING = "evaluator, score, signature, explanation, errors, calls, correction, confidence, gaps, warnings, seconds"
_COLUMNS = {
    "segments": (
        "run_id, position, segment, source_lang, target_lang, source, translation, reference, document, domain, "
        "context, notes, terms, state, text, candidates, max_length, matches"
    ),
    "steps": "run_id, position, step, segment, stage, verdict, reason, text, proposed, seconds, calls, cause",
    "edits": (
        'run_id, position, step, number, segment, stage, outcome, old, new, start, "end", category, severity, span, '
        "detail, guards"
    ),
    "ratings": f"run_id, position, step, number, segment, stage, {_RATING}, role",
    "rated": f"run_id, position, number, segment, system, translation, {_RATING}, error, paid, took",
}
SEGMENT_TABLES = tuple(_COLUMNS)
"""The tables that hold what became of a segment, by ``run_id`` and ``position``."""


def _json(value: object) -> str:
    """``value`` as JSON. It runs several times for every call, so that its speed matters."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # half a surrogate pair, or a number of more than 64 bits
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# -- chains


def insert_chain(connection: Connection, run_id: int, position: int, chain: Chain) -> None:
    """Add the rows of a chain: its segment, its steps with their edits and ratings, and the texts of their calls."""
    texts: dict[str, str] = {}
    steps: list[Row] = []
    edits: list[Row] = []
    ratings: list[Row] = []
    for number, step in enumerate(chain.steps):
        step_key = (run_id, position, number)
        whose = (chain.segment.id, step.stage)
        result = (step.verdict, step.reason, step.text, step.proposed, step.seconds)
        cause = _json(step.cause.model_dump(exclude_defaults=True))
        steps.append((*step_key, *whose, *result, pack_calls(step.calls, texts), cause))
        for index, edit in enumerate(step.edits):
            span = edit.span
            error = (span.category, span.severity, _json(span.model_dump())) if span else (None, None, None)
            change = (edit.outcome, edit.old, edit.new, edit.start, edit.end)
            edits.append((*step_key, index, *whose, *change, *error, edit.detail, _json(edit.guards)))
        for index, rating in enumerate(step.ratings):
            ratings.append((*step_key, index, *whose, *_rating_values(rating, texts), rating.role))
    _insert(connection, "segments", [_segment_row(run_id, position, chain.segment, chain.state, chain.text)])
    _insert(connection, "steps", steps)
    _insert(connection, "edits", edits)
    _insert(connection, "ratings", ratings)
    insert_texts(connection, texts)


def read_final_texts(
    connection: Connection, run_id: int, condition: str, value: int, limit: int
) -> list[tuple[int, Segment, str]]:
    """Position, segment and text after the last step, of segments chosen as in :func:`read_chains`.

    Reading whole chains takes twenty times as long.
    """
    rows = _segment_rows(connection, run_id, condition, value, limit)
    return [(row[1], _read_segment(row), row[14]) for row in rows]


def read_chains(
    connection: Connection, run_id: int, condition: str, value: int, limit: int, *, dialogues: bool = True
) -> list[tuple[int, Chain]]:
    """Position and chain of up to ``limit`` segments that a ``condition`` on their positions chooses, in order.

    Without ``dialogues`` the calls have no messages and no replies, which take half of the time.
    """
    segments = _segment_rows(connection, run_id, condition, value, limit)
    if not segments:
        return []

    def select(table: str, order: str) -> list[Row]:
        return connection.execute(
            f"SELECT {_COLUMNS[table]} FROM {table} WHERE run_id = ? AND position BETWEEN ? AND ? ORDER BY {order}",
            (run_id, segments[0][1], segments[-1][1]),
        ).fetchall()

    steps = select("steps", "position, step")
    ratings = select("ratings", "position, step, number")
    texts = None
    if dialogues:
        texts = read_texts(connection, [row[10] for row in steps] + [row[11] for row in ratings])
    steps_of = _grouped(steps, itemgetter(1))
    edits_of = _grouped(select("edits", "position, step, number"), itemgetter(1, 2))
    ratings_of = _grouped(ratings, itemgetter(1, 2))

    def read_step(row: Row) -> Step:
        edits = map(_read_edit, edits_of.get(row[1:3], ()))
        ratings = [_read_rating(rating, texts, role=rating[17]) for rating in ratings_of.get(row[1:3], ())]
        return Step(
            stage=row[4],
            verdict=row[5],
            cause=read_cause(json.loads(row[11])),
            text=row[7],
            proposed=row[8],
            seconds=row[9],
            edits=tuple(edits),
            ratings=tuple(ratings),
            calls=unpack_calls(row[10], texts),
        )

    chains = []
    for row in segments:
        steps_of_segment = tuple(map(read_step, steps_of.get(row[1], ())))
        chains.append((row[1], Chain(segment=_read_segment(row), steps=steps_of_segment)))
    return chains


def _segment_rows(connection: Connection, run_id: int, condition: str, value: int, limit: int) -> list[Row]:
    return connection.execute(
        f"SELECT {_COLUMNS['segments']} FROM segments WHERE run_id = ? AND {condition} ORDER BY position LIMIT ?",
        (run_id, value, limit),
    ).fetchall()


def _grouped(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """The rows by their ``key``, by which they are in order."""
    return {value: list(group) for value, group in groupby(rows, key)}


def _segment_row(run_id: int, position: int, segment: Segment, state: SegmentState, text: str) -> Row:
    languages = (segment.source_lang, segment.target_lang)
    texts = (segment.source, segment.translation, segment.reference)
    terms = _json([term.model_dump() for term in segment.terms])
    known = (segment.document, segment.domain, segment.context, segment.notes, terms)
    candidates = _json(segment.candidates)
    more = (candidates, segment.max_length, _json([match.model_dump() for match in segment.matches]))
    return (run_id, position, segment.id, *languages, *texts, *known, state, text, *more)


def _read_segment(row: Row) -> Segment:
    return Segment(
        id=row[2],
        source_lang=row[3],
        target_lang=row[4],
        source=row[5],
        translation=row[6],
        candidates=tuple(json.loads(row[15])),
        reference=row[7],
        document=row[8],
        domain=row[9],
        context=row[10],
        notes=row[11],
        terms=tuple(Term(**term) for term in json.loads(row[12])),
        max_length=row[16],
        matches=tuple(MemoryMatch(**match) for match in json.loads(row[17])),
    )


def _read_edit(row: Row) -> Edit:
    return Edit(
        outcome=row[6],
        old=row[7],
        new=row[8],
        start=row[9],
        end=row[10],
        span=None if row[13] is None else ErrorSpan(**json.loads(row[13])),
        detail=row[14],
        guards=tuple(json.loads(row[15])),
    )


def _rating_values(rating: Rating, texts: dict[str, str]) -> Row:
    errors = None if rating.errors is None else _json([error.model_dump() for error in rating.errors])
    verdict = (rating.evaluator, rating.score, rating.signature, rating.explanation, errors)
    doubts = (rating.correction, rating.confidence, _json(rating.gaps), _json(rating.warnings))
    return (*verdict, pack_calls(rating.calls, texts), *doubts, rating.seconds)


def _read_rating(row: Row, texts: Texts | None, role: RatingRole | None = None) -> Rating:
    return Rating(
        role=role,
        evaluator=row[6],
        score=row[7],
        signature=row[8],
        explanation=row[9],
        errors=None if row[10] is None else tuple(ErrorSpan(**error) for error in json.loads(row[10])),
        calls=unpack_calls(row[11], texts),
        correction=row[12],
        confidence=row[13],
        gaps=tuple(json.loads(row[14])),
        warnings=tuple(json.loads(row[15])),
        seconds=row[16],
    )


# -- ratings of given translations


def insert_rated(connection: Connection, run_id: int, position: int, rated: Sequence[Rated]) -> None:
    """Add the rows of a segment whose translations were rated: its own, and one for each system.

    Its state is ``failed`` if one of the systems has no rating because of an error: it will be tried again.
    """
    texts: dict[str, str] = {}
    state: SegmentState = "failed" if any(result.error is not None for result in rated) else "rated"
    rows = list[Row]()
    for number, result in enumerate(rated):
        rating = result.rating
        values = (None,) * 11 if rating is None else _rating_values(rating, texts)
        paid = None if rating is not None and rating.calls == result.calls else pack_calls(result.calls, texts)
        rated_text = (run_id, position, number, result.segment.id, result.system, result.translation)
        rows.append((*rated_text, *values, result.error, paid, result.seconds))
    _insert(connection, "segments", [_segment_row(run_id, position, rated[0].segment, state, "")])
    _insert(connection, "rated", rows)
    insert_texts(connection, texts)


def read_rated(connection: Connection, run_id: int, condition: str, values: Sequence[object]) -> Iterator[Rated]:
    """The ratings that a ``condition`` on table ``rated`` chooses, by position and system."""
    rows = connection.execute(
        f"SELECT {_COLUMNS['rated']} FROM rated WHERE run_id = ? AND {condition} ORDER BY position, number",
        (run_id, *values),
    ).fetchall()
    if not rows:
        return
    packed_calls = list[str]()
    for row in rows:
        for calls in (row[11], row[18]):
            if calls is not None:
                packed_calls.append(calls)
    texts = read_texts(connection, packed_calls)
    sql = f"SELECT {_COLUMNS['segments']} FROM segments WHERE run_id = ? AND position BETWEEN ? AND ?"
    found_rows = connection.execute(sql, (run_id, rows[0][1], rows[-1][1]))
    segment_rows = {row[1]: row for row in found_rows}
    segments: dict[int, Segment] = {}  # only the segments of these rows are read: another one may be damaged
    for row in rows:
        rating = None if row[6] is None else _read_rating(row, texts)
        if row[1] not in segment_rows:
            raise LookupError(f"the row of segment {row[3]!r} is missing")
        if row[1] not in segments:
            segments[row[1]] = _read_segment(segment_rows[row[1]])
        yield Rated(
            segment=segments[row[1]],
            system=row[4],
            translation=row[5],
            rating=rating,
            error=row[17],
            calls=rating.calls if row[18] is None and rating else unpack_calls(row[18], texts),
            seconds=row[19],
        )


def _insert(connection: Connection, table: str, rows: list[Row]) -> None:
    columns = _COLUMNS[table]
    marks = ", ".join("?" * (columns.count(",") + 1))
    connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)


# -- calls, and the texts in them


@lru_cache(maxsize=128)  # constant prompts come with every call, and each reply again when its chain is saved
def text_hash(text: str) -> str:
    """The address of a text in the table ``texts``: 32 hexadecimal digits of its BLAKE2b hash."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def keep_text(text: str, texts: dict[str, str]) -> str:
    """Add ``text`` to ``texts`` and give its hash."""
    address = text_hash(text)
    texts[address] = text
    return address


def insert_texts(connection: Connection, texts: Texts) -> None:
    """Add texts by their hash, those excepted that are there already; a damaged one is mended."""
    connection.executemany(
        "INSERT INTO texts (hash, text) VALUES (?, ?)"
        " ON CONFLICT (hash) DO UPDATE SET text = excluded.text WHERE text IS NOT excluded.text",
        texts.items(),
    )


def read_texts(connection: Connection, packed: Iterable[str]) -> Texts:
    """The texts that packed calls name. Raises :class:`ValueError` for one that is another text, or none, by now."""
    addresses = set[str]()
    for calls in packed:
        for call in json.loads(calls):
            for _, address, *_ in call["messages"]:
                addresses.add(address)
            if call["reply"] is not None:
                addresses.add(call["reply"])
    texts = dict(
        connection.execute(
            "SELECT hash, text FROM texts WHERE hash IN (SELECT value FROM json_each(?))",
            (json.dumps(list(addresses)),),
        )
    )
    missing = addresses - texts.keys()
    if missing:
        raise ValueError(f"the text {min(missing)} is missing")
    for address, text in texts.items():
        if text_hash(text) != address:
            raise ValueError(f"the text {address} does not match its hash")
    return texts


def pack_messages(messages: Iterable[Message], texts: dict[str, str]) -> str:
    """Messages as JSON ``[[role, hash], …]``; their texts are added to ``texts`` by hash.

    A message that calls tools, or answers such a call, has its further fields as a third item.
    """
    return _json(_packed(messages, texts))


def _packed(messages: Iterable[Message], texts: dict[str, str]) -> list[list[Any]]:
    packed = []
    for message in messages:
        values: list[Any] = [message.role, keep_text(message.content, texts)]
        if message.tool_calls or message.tool_call_id is not None:
            values.append(message.model_dump(include={"tool_calls", "tool_call_id"}, exclude_defaults=True))
        packed.append(values)
    return packed


def pack_tool_calls(calls: Iterable[ToolCall]) -> str | None:
    """Tool calls as JSON; ``None`` for none."""
    packed = [call.model_dump() for call in calls]
    return _json(packed) if packed else None


def unpack_tool_calls(packed: str | None) -> tuple[ToolCall, ...]:
    """The tool calls that :func:`pack_tool_calls` packed."""
    return () if packed is None else tuple(ToolCall(**call) for call in json.loads(packed))


def pack_calls(calls: Iterable[Call], texts: dict[str, str]) -> str:
    """Calls as JSON, with hashes in the place of texts, which are added to ``texts``."""
    packed = []
    for call in calls:
        fields: dict[str, Any] = {
            "purpose": call.purpose,
            "model": call.model,
            "messages": _packed(call.messages, texts),
            "reply": None if call.reply is None else keep_text(call.reply, texts),
            "usage": call.usage.model_dump(exclude={"saved"}),
            "seconds": call.seconds,
            "error": call.error,
        }
        if call.usage.saved is not None:
            fields["usage"]["saved"] = call.usage.saved.model_dump(exclude={"saved"})
        if call.tool_calls:
            fields["tool_calls"] = [tool_call.model_dump() for tool_call in call.tool_calls]
        if call.retries:
            fields["retries"] = call.retries
        if call.waited:
            fields["waited"] = call.waited
        if call.endpoint is not None:
            fields["endpoint"] = call.endpoint
        if call.in_batch:
            fields["in_batch"] = True
        packed.append(fields)
    return _json(packed)


def unpack_calls(packed: str, texts: Texts | None) -> tuple[Call, ...]:
    """The calls that :func:`pack_calls` packed; without ``texts``, they have no messages and no reply."""
    calls = []
    for call in json.loads(packed):
        messages = []
        reply = None
        if texts is not None:
            for role, address, *tool_fields in call["messages"]:
                fields = tool_fields[0] if tool_fields else {}
                messages.append(Message(role=role, content=texts[address], **fields))
            if call["reply"] is not None:
                reply = texts[call["reply"]]
        changed = {"messages": tuple(messages), "reply": reply, "usage": Usage(**call["usage"])}
        calls.append(Call(**{**call, **changed}))
    return tuple(calls)
