"""What was done to each segment and why, as JSON Lines for programs to read; ``docs/formats.md`` lists the fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mtagent.errors import OutputError
from mtagent.formats.files import replacing
from mtagent.records import Call, Chain, Message, Record, Step


def write_details(path: Path, chains: Iterable[Chain], *, messages: bool = False) -> int:
    """Write one JSON object per chain, in the order given, and return their number.

    ``messages`` adds the full requests and replies of all calls. The file appears when it is complete. Raises
    :class:`OutputError`.
    """
    count = 0
    with replacing(path) as sink:
        for chain in chains:
            sink.write(dumped(details(chain, messages=messages), path) + "\n")
            count += 1
    return count


def details(chain: Chain, *, messages: bool = False) -> dict[str, Any]:
    """The account of one chain as plain data: texts, stages, edits, ratings, calls and what they cost."""
    segment = chain.segment
    return {
        "id": segment.id,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "document": segment.document,
        "domain": segment.domain,
        "source": segment.source,
        "given": chain.given,
        "text": chain.text,
        "changed": chain.changed,
        "error": chain.failed.reason if chain.failed else None,
        "stages": [_step(step, messages) for step in chain.steps],
        "usage": _plain(chain.usage),
    }


def _step(step: Step, messages: bool) -> dict[str, Any]:
    return {
        "stage": step.stage,
        "verdict": step.verdict,
        "reason": step.reason,
        "text": step.text,
        "proposed": step.proposed,
        "edits": [_plain(edit) for edit in step.edits],
        # The calls stand with the step, which paid for them.
        "ratings": [_plain(rating, without={"calls"}) for rating in step.ratings],
        "calls": [_call(call, messages) for call in step.calls],
        "usage": _plain(step.usage),
        "seconds": step.seconds,
    }


def _call(call: Call, messages: bool) -> dict[str, Any]:
    told = _plain(call, without={"messages", "reply", "tool_calls"})
    if messages:
        told |= {"messages": [_message(message) for message in call.messages], "reply": call.reply}
        told["tool_calls"] = [_plain(wish) for wish in call.tool_calls]
    return told


def _message(message: Message) -> dict[str, Any]:
    """A message with the fields of tool calls only where it has any: few have."""
    return {"role": message.role, "content": message.content} | message.model_dump(exclude_defaults=True)


def _plain(record: Record, without: set[str] | None = None) -> dict[str, Any]:
    return record.model_dump(exclude=without)


def dumped(account: dict[str, Any], path: Path) -> str:
    try:
        text = json.dumps(account, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise OutputError(f"{path}: segment {account['id']!r}: a number in its ratings is not finite") from error
    # A model's reply may hold a lone surrogate, which only an escape can write; the account must not fail on it.
    return text if _encodable(text) else json.dumps(account, allow_nan=False)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
