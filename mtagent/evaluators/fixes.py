"""The "fix these spans" request: suggestions for errors that were marked without one.

Evaluators that only mark errors can drive the post-edit stage by it, and have their errors checked by ``mqm-ape``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent.errors import UnreadableReply
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.reading import RepeatedKeys, read_json
from mtagent.records import ErrorSpan, Segment
from mtagent.text.spans import normalise

_AROUND = 12  # characters of context shown next to a span


class Fixes:
    """Asks for missing suggestions, in one request for all errors."""

    def __init__(self, prompts_folder: Path | None = None) -> None:
        self.prompt = prompts.load("fix", prompts_folder)

    async def suggest(
        self, dialogue: Dialogue, segment: Segment, text: str, errors: Sequence[ErrorSpan]
    ) -> tuple[ErrorSpan, ...]:
        """``errors`` of ``text`` with suggestions; ``None`` stays if the model has none either.

        Raises :class:`UnreadableReply` if two replies cannot be read.
        """
        open_errors = [error for error in errors if wants_a_fix(error)]
        lines = []
        for number, error in enumerate(open_errors, start=1):
            before, after = error.before, error.after
            if error.start is not None and error.end is not None:
                before = text[max(0, error.start - _AROUND) : error.start]
                after = text[error.end : error.end + _AROUND]
            fields = {
                "number": number,
                "missing" if error.side == "omission" else "span": error.text,
                "before": before,
                "after": after,
                "category": error.category,
                "severity": error.severity,
                "explanation": error.explanation,
            }
            lines.append(json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False))
        values = prompts.segment_values(segment, translation=text, errors="\n".join(["", *lines, ""]))
        fixes = iter(await dialogue.ask(self.prompt, values, "fix", lambda reply: parse_fixes(reply, open_errors)))
        return tuple(next(fixes) if wants_a_fix(error) else error for error in errors)


def wants_a_fix(error: ErrorSpan) -> bool:
    """Whether a suggestion is missing and useful; it isn't for a neutral remark, or for an error of the source."""
    return error.suggestion is None and error.severity != "neutral" and error.side != "source"


def parse_fixes(reply: str, errors: Sequence[ErrorSpan]) -> tuple[ErrorSpan, ...]:
    """``errors`` with the suggestions in ``reply``, which must name each exactly once; ``null`` suggests nothing.

    An error without offsets is placed by the ``before`` and ``after`` of its fix.

    Raises :class:`UnreadableReply`.
    """
    data = read_json(reply)
    if isinstance(data, dict) and isinstance(data.get("fixes"), list | dict):
        data = data["fixes"]
    if isinstance(data, RepeatedKeys):
        raise UnreadableReply("it says the same thing twice")
    items = data if isinstance(data, list) else [data]
    if isinstance(data, dict) and "number" not in data:  # the numbers are its keys
        items = []
        for key, value in data.items():
            fields = value if isinstance(value, dict) else {"suggestion": value}
            items.append({"number": key, **fields})
    if not all(isinstance(item, dict) for item in items):
        raise UnreadableReply("a fix isn't an object with number and suggestion")
    fixes: dict[int, dict[str, Any]] = {}
    for fix in items:
        written = fix.get("number")
        digits = str(written).strip().removesuffix(".0")
        number = 0
        if digits.isdecimal() and len(digits) < 10 and not isinstance(written, bool):
            number = int(digits)
        if not 1 <= number <= len(errors):
            raise UnreadableReply(f"{str(written)[:40]!r} is not the number of an error")
        if number in fixes:
            raise UnreadableReply(f"error {number} is fixed twice")
        fixes[number] = fix
    for number in range(1, len(errors) + 1):
        if number not in fixes:
            raise UnreadableReply(f"it says nothing of error {number}")
    fixed = []
    for number, error in enumerate(errors, start=1):
        fix = fixes[number]
        span = fix.get("span")
        suggestion = fix.get("suggestion")
        if isinstance(span, str) and error.side != "omission" and not _is_same_text(span, error.text):
            raise UnreadableReply(f"the fix for {error.text[:40]!r} says that it is for {span[:40]!r}")
        if "suggestion" not in fix or not (suggestion is None or isinstance(suggestion, str)):
            raise UnreadableReply(f"the fix of {error.text[:40]!r} has no suggestion")
        changes: dict[str, Any] = {"suggestion": suggestion}
        if error.start is None:  # the context gives the place, which is not known yet
            for side in ("before", "after"):
                if isinstance(fix.get(side), str) and fix[side]:
                    changes[side] = fix[side]
        fixed.append(error.model_copy(update=changes))
    return tuple(fixed)


def _is_same_text(span: str, text: str) -> bool:
    return normalise(span.strip()) == normalise(text.strip())
