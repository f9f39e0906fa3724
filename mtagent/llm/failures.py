"""JSON in which a model or a server reports that it failed, instead of or beside an answer.

``{"errors": [], "error": "context length exceeded"}`` lists no error of the translation, and still isn't a verdict. The
words that such reports use are in the tables below; names are compared in lower case, with spaces between words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import regex

REPORTS = frozenset(
    {
        "error",
        "error message",
        "error msg",
        "error code",
        "error type",
        "exception",
        "failure",
        "failure reason",
        "fault",
    }
    | {"refusal", "refusal reason", "traceback"}
)
"""Fields that report a failure by any text, number or object in them."""
FLAGS = frozenset(
    {"aborted", "blocked", "cancelled", "canceled", "cut off", "failed", "incomplete", "interrupted", "partial"}
    | {"refused", "timed out", "timeout", "truncated", "unavailable"}
)
"""Fields that report a failure if they are true."""
SUCCESS = frozenset({"complete", "completed", "ok", "succeeded", "success", "successful"})
"""Fields that report a failure if they are false."""
STATES = frozenset({"code", "http status", "outcome", "result", "state", "status", "status code"})
"""Fields that report a failure by one of the :data:`FLAGS`, by the words below, or by an HTTP status from 400 on."""
STATE_WORDS = FLAGS | {"error", "fail", "failure", "in progress", "pending", "rejected", "refusal", "unsuccessful"}
ENDINGS = frozenset({"done reason", "finish reason", "stop reason"})
"""Fields that say why a model stopped. Anything but the words below cut its reply short."""
REGULAR_ENDINGS = frozenset({"", "complete", "completed", "done", "end", "end turn", "eos", "stop", "stop sequence"})
MESSAGES = frozenset({"detail", "details", "message", "msg", "notice", "warning", "warnings"})
"""Fields for remarks of any kind. They report a failure if they hold one of the phrases below."""
PHRASES = (
    "cannot assist", "cannot complete", "cannot evaluate", "cannot help", "cannot process", "cannot rate",
    "can't assist", "can't complete", "can't evaluate", "can't help", "can't process", "can't rate",
    "context length", "context window", "could not be processed", "could not complete", "could not evaluate",
    "could not process", "content filter", "content policy", "exceeded", "failed", "internal error", "invalid request",
    "out of memory", "overloaded", "quota", "rate limit", "server error", "temporarily unavailable", "timed out",
    "timeout", "token limit", "too long", "too many requests", "truncated", "unable to",
)  # fmt: skip

ERROR_FIELDS = frozenset(
    {"category", "error span", "errorspan", "issue", "number", "severity", "span", "subtype", "suggestion"} | {"target"}
)
"""Fields of an error in a translation: in an object that has one, ``error`` describes that error."""
_ANSWERS = frozenset({"0", "1", "false", "n", "n/a", "na", "no", "none", "null", "true", "y", "yes"})
_LISTS = ("annotations", "errors", "views")
_CAMEL = regex.compile(r"(?<=[a-z])(?=[A-Z])")
_SPACING = regex.compile(r"[\s_-]++")
LONGEST_REPORT = 60  # characters of a report that are shown


def failure_in(value: Any) -> str | None:
    """What ``value``, the JSON of a reply, reports as failed, as ``name: text``; ``None`` if it reports nothing.

    Looks into lists and into objects inside of objects, except errors in the translation.
    """
    for fields in _objects_in(value):
        for name, content in fields:
            if _reports_failure(name, content, fields):
                shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
                return f"{name}: {shown[:LONGEST_REPORT]}"
    return None


def failure_in_text(text: str) -> str | None:
    """The same of a reply in plain text, if all of it is JSON."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return failure_in(value)


def _objects_in(value: Any) -> Iterator[list[tuple[str, Any]]]:
    """The objects in ``value`` that are not errors in the translation, as lists of name and content."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        # Objects with repeated names come as lists of pairs.
        pairs = list(item.items()) if isinstance(item, dict) else item
        if isinstance(item, list) and not _are_pairs(item):
            waiting += reversed(item)
            continue
        fields = [(_plain(str(name)), content) for name, content in pairs]
        if any(name in ERROR_FIELDS for name, _ in fields):
            continue
        yield fields
        waiting += reversed([content for _, content in fields])


def _are_pairs(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, tuple) for item in items)


@lru_cache(1000)  # replies use the same names again and again
def _plain(name: str) -> str:
    """``name`` in lower case with spaces between its words: ``finishReason`` and ``finish_reason`` are the same."""
    words = _SPACING.sub(" ", _CAMEL.sub(" ", name)).strip().casefold()
    return words.removeprefix("is ").removeprefix("was ")


def _reports_failure(name: str, content: Any, fields: list[tuple[str, Any]]) -> bool:
    """Whether the field ``name`` of an object with these ``fields`` reports a failure by its ``content``."""
    text = _SPACING.sub(" ", content).strip().casefold() if isinstance(content, str) else ""
    if name in REPORTS:
        if content is True or text in ("true", "yes"):  # it may answer whether there is an error in the translation
            return not any(listed for other, listed in fields if other in _LISTS)
        if isinstance(content, dict | list) and _describes_errors(content):
            return False
        return bool(content) and text not in _ANSWERS
    if name in FLAGS:
        return content is True or text in ("true", "yes")
    if name in SUCCESS:
        return content is False or text in ("false", "no")
    if name in STATES:
        is_number = isinstance(content, int) and not isinstance(content, bool)
        return text in STATE_WORDS or (is_number and 400 <= content <= 599)
    if name in ENDINGS:
        return content is not None and text not in REGULAR_ENDINGS
    if name in MESSAGES:
        return any(phrase in text for phrase in PHRASES)
    return False


def _describes_errors(content: dict[str, Any] | list[Any]) -> bool:
    """Whether the content of a field is an error in the translation, or a list of them: its name is a span then."""
    items = content if isinstance(content, list) else [content]
    return any(
        isinstance(item, dict) and not ERROR_FIELDS.isdisjoint(_plain(str(name)) for name in item) for item in items
    )
