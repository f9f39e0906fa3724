"""Chains as rows, and rows as chains: exactly what was saved comes back.

What users ask about is in columns; what only mtagent reads is JSON. The texts of messages and replies are kept once,
under their hash: a step holds its calls as JSON with hashes in the place of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

from mtagent.records import (
    Call,
    Cause,
    Chain,
    Edit,
    ErrorSpan,
    Message,
    Rating,
    RatingRole,
    Segment,
    Step,
    Term,
    ToolCall,
    Usage,
)

Row = tuple[Any, ...]
SegmentState = Literal["changed", "unchanged", "rejected", "failed", "rated"]

SEGMENT_COLUMNS = (
    "run_id, position, segment, source_lang, target_lang, source, translation, reference, document, domain, context, "
    "notes, terms, state, text"
)
STEP_COLUMNS = "run_id, position, step, segment, stage, verdict, reason, text, proposed, seconds, calls, cause"
EDIT_COLUMNS = (
    'run_id, position, step, number, segment, stage, outcome, old, new, start, "end", category, severity, span, '
    "detail, guards"
)
RATING_COLUMNS = (
    "run_id, position, step, number, segment, stage, evaluator, score, signature, explanation, errors, calls, "
    "correction, confidence, gaps, warnings, seconds, role"
)


@lru_cache(maxsize=128)  # constant prompts come with every call, and each reply again when its chain is saved
def text_hash(text: str) -> str:
    """The address of a text in the table ``texts``: 32 hexadecimal digits of its BLAKE2b hash."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def segment_state(chain: Chain) -> SegmentState:
    """What became of the segment, in one word."""
    if chain.failed is not None:
        return "failed"
    if chain.changed:
        return "changed"
    return "rejected" if any(step.verdict == "rejected" for step in chain.steps) else "unchanged"


def segment_row(run_id: int, position: int, of: Segment, state: SegmentState, text: str) -> Row:
    """The row of table ``segments``."""
    terms = _json([term.model_dump() for term in of.terms])
    given = (of.source_lang, of.target_lang, of.source, of.translation, of.reference, of.document, of.domain)
    return (run_id, position, of.id, *given, of.context, of.notes, terms, state, text)


def step_row(run_id: int, position: int, chain: Chain, number: int, texts: dict[str, str]) -> Row:
    """The row of table ``steps``; the texts of its calls are added to ``texts`` by hash."""
    step = chain.steps[number]
    said = (step.stage, step.verdict, step.reason, step.text, step.proposed, step.seconds)
    cause = _json(step.cause.model_dump(exclude_defaults=True))
    return (run_id, position, number, chain.segment.id, *said, pack_calls(step.calls, texts), cause)


def edit_rows(run_id: int, position: int, chain: Chain, number: int) -> list[Row]:
    """The rows of table ``edits`` for step ``number``."""
    step = chain.steps[number]
    return [
        (run_id, position, number, index, chain.segment.id, step.stage, *_edit_values(edit))
        for index, edit in enumerate(step.edits)
    ]


def _edit_values(edit: Edit) -> Row:
    span = edit.span
    about = (span.category, span.severity, _json(span.model_dump())) if span else (None, None, None)
    return (edit.outcome, edit.old, edit.new, edit.start, edit.end, *about, edit.detail, _json(edit.guards))


def rating_rows(run_id: int, position: int, chain: Chain, number: int, texts: dict[str, str]) -> list[Row]:
    """The rows of table ``ratings`` for step ``number``; the texts of their calls are added to ``texts``."""
    step = chain.steps[number]
    return [
        (run_id, position, number, index, chain.segment.id, step.stage, *rating_values(rating, texts), rating.role)
        for index, rating in enumerate(step.ratings)
    ]


def rating_values(rating: Rating, texts: dict[str, str]) -> Row:
    """The values of :data:`RATING_COLUMNS` from ``evaluator`` on; the texts of the calls are added to ``texts``."""
    errors = None if rating.errors is None else _json([error.model_dump() for error in rating.errors])
    said = (rating.evaluator, rating.score, rating.signature, rating.explanation)
    more = (rating.correction, rating.confidence, _json(rating.gaps), _json(rating.warnings), rating.seconds)
    return (*said, errors, pack_calls(rating.calls, texts), *more)


def read_segment(row: Row) -> Segment:
    """The segment of a row of :data:`SEGMENT_COLUMNS`."""
    return Segment(
        id=row[2],
        source_lang=row[3],
        target_lang=row[4],
        source=row[5],
        translation=row[6],
        reference=row[7],
        document=row[8],
        domain=row[9],
        context=row[10],
        notes=row[11],
        terms=tuple(Term(**term) for term in json.loads(row[12])),
    )


def read_step(row: Row, edits: Iterable[Row], ratings: Iterable[Row], texts: Mapping[str, str]) -> Step:
    """The step of a row of :data:`STEP_COLUMNS`, with the rows of its edits and ratings in order."""
    return Step(
        stage=row[4],
        verdict=row[5],
        cause=Cause(**json.loads(row[11])),
        text=row[7],
        proposed=row[8],
        seconds=row[9],
        edits=tuple(map(_read_edit, edits)),
        ratings=tuple(read_rating(rating, texts, role=rating[17]) for rating in ratings),
        calls=unpack_calls(row[10], texts),
    )


def _read_edit(row: Row) -> Edit:
    span = None if row[13] is None else ErrorSpan(**json.loads(row[13]))
    return Edit(
        outcome=row[6],
        old=row[7],
        new=row[8],
        start=row[9],
        end=row[10],
        span=span,
        detail=row[14],
        guards=tuple(json.loads(row[15])),
    )


def read_rating(row: Row, texts: Mapping[str, str], role: RatingRole | None = None) -> Rating:
    """The rating of a row whose values from ``evaluator`` on are those of :data:`RATING_COLUMNS`."""
    return Rating(
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
        role=role,
    )


def pack_messages(messages: Iterable[Message], texts: dict[str, str]) -> str:
    """Messages as JSON ``[[role, hash], …]``; their texts are added to ``texts`` by hash.

    A message that calls tools, or answers such a call, has its further fields as a third item.
    """
    return _json(_packed(messages, texts))


def _packed(messages: Iterable[Message], texts: dict[str, str]) -> list[list[Any]]:
    return [[message.role, keep_text(message.content, texts), *_tool_fields(message)] for message in messages]


def _tool_fields(message: Message) -> list[dict[str, Any]]:
    if not message.tool_calls and message.tool_call_id is None:
        return []
    return [message.model_dump(include={"tool_calls", "tool_call_id"}, exclude_defaults=True)]


def pack_tool_calls(calls: Iterable[ToolCall]) -> str | None:
    """Tool calls as JSON; ``None`` for none."""
    packed = [call.model_dump() for call in calls]
    return _json(packed) if packed else None


def unpack_tool_calls(packed: str | None) -> tuple[ToolCall, ...]:
    """The tool calls that :func:`pack_tool_calls` packed."""
    return () if packed is None else tuple(ToolCall(**call) for call in json.loads(packed))


def keep_text(text: str, texts: dict[str, str]) -> str:
    """Add ``text`` to ``texts`` and give its hash."""
    address = text_hash(text)
    texts[address] = text
    return address


def pack_calls(calls: Iterable[Call], texts: dict[str, str]) -> str:
    """Calls as JSON, with hashes in the place of texts."""
    return _json([_pack_call(call, texts) for call in calls])


def _pack_call(call: Call, texts: dict[str, str]) -> dict[str, Any]:
    packed = {
        "purpose": call.purpose,
        "model": call.model,
        "messages": _packed(call.messages, texts),
        "reply": None if call.reply is None else keep_text(call.reply, texts),
        "usage": call.usage.model_dump(),
        "seconds": call.seconds,
        "error": call.error,
    }
    return {**packed, "tool_calls": [of.model_dump() for of in call.tool_calls]} if call.tool_calls else packed


def unpack_calls(packed: str, texts: Mapping[str, str]) -> tuple[Call, ...]:
    """The calls that :func:`pack_calls` packed."""
    return tuple(_unpack_call(call, texts) for call in json.loads(packed))


def _unpack_call(call: dict[str, Any], texts: Mapping[str, str]) -> Call:
    messages = tuple(
        Message(role=role, content=texts[address], **(more[0] if more else {}))
        for role, address, *more in call["messages"]
    )
    reply = None if call["reply"] is None else texts[call["reply"]]
    return Call(**{**call, "messages": messages, "reply": reply, "usage": Usage(**call["usage"])})


def addresses(packed: Iterable[str]) -> set[str]:
    """The hashes of all texts that packed calls name."""
    found: set[str] = set()
    for call in (call for calls in packed for call in json.loads(calls)):
        found.update(address for _, address, *_ in call["messages"])
        found.update([call["reply"]] if call["reply"] is not None else [])
    return found


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode  # made once: it runs for every call
