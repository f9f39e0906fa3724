"""Replies with status 200 that are odd in one way each: :data:`ODD`, by name.

Each takes a sound reply body and gives what is sent in its place: JSON that the reader has to cope with, as text.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

Reply = dict[str, Any]
GIANT = "9" * 5000
HUGE = 50_000_000
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def text(content: str | None, finish: str = "stop", **message: Any) -> Callable[[Reply], str]:
    """The reply says ``content``."""
    return lambda reply: json.dumps(
        _with(reply, ("choices", 0), finish_reason=finish, message={"role": "assistant", "content": content, **message})
    )


def top(**fields: Any) -> Callable[[Reply], str]:
    return lambda reply: json.dumps(reply | fields)


def choice(**fields: Any) -> Callable[[Reply], str]:
    return lambda reply: json.dumps(_with(reply, ("choices", 0), **fields))


def message(**fields: Any) -> Callable[[Reply], str]:
    return lambda reply: json.dumps(_with(reply, ("choices", 0, "message"), **fields))


def _usage(value: Any) -> Callable[[Reply], str]:
    """Every count is ``value``."""
    return top(usage=dict.fromkeys(COUNTS, value))


def _raw(make: Callable[[Reply], str], number: str = GIANT) -> Callable[[Reply], str]:
    """``make`` with ``number`` where it says 4711: no encoder writes such numbers."""
    return lambda reply: make(reply).replace("4711", number)


def _with(value: Any, path: tuple[str | int, ...], **fields: Any) -> Any:
    """A copy of ``value`` with other ``fields`` in the object at ``path``."""
    if not path:
        return {**value, **fields}
    changed = _with(value[path[0]], path[1:], **fields)
    if isinstance(value, list):
        return [changed if place == path[0] else item for place, item in enumerate(value)]
    return {**value, path[0]: changed}


def _call(name: Any = "search", arguments: Any = "{}", id_: Any = "call_1") -> list[Reply]:
    return [{"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}]


def _logprobs(content: Any) -> Callable[[Reply], str]:
    return choice(logprobs={"content": content})


def _deep(reply: Reply) -> str:
    return json.dumps(reply)[:-1] + ', "metadata": ' + "[" * 100_000 + "]" * 100_000 + "}"


SAYS_NOTHING: dict[str, Callable[[Reply], str]] = {
    "think_only": text("<think>Let me see.</think>"),
    "think_open": text("<think>Let me see."),
    "empty_tags": text("<translation></translation>"),
    "empty_fence": text("```\n```"),
    "whitespace": text(" \n\t\n "),
    "zero_width": text("\u200b\u2060\ufeff"),
    "null_content": text(None),
    "unoffered_tool_call": text(None, "tool_calls", tool_calls=_call("web_search", '{"q": "a"}')),
}
"""Nothing is left of the text: it is asked for once more."""

UNCOUNTED: dict[str, Callable[[Reply], str]] = {
    "usage_empty": top(usage={}),
    "usage_list": top(usage=[1, 2]),
    "usage_zero": _usage(0),
    "usage_null": _usage(None),
    "usage_strings": _usage("12"),
    "usage_fractions": _usage(1.5),
    "usage_negative": _usage(-7),
    "usage_nan": _usage(float("nan")),
    "usage_bools": _usage(True),
    "usage_too_large": _usage(10**30),
    "usage_giant_number": _raw(_usage(4711)),
    "usage_tiny": top(usage={"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}),
    "usage_without_prompt": top(usage={"completion_tokens": 5, "total_tokens": 12}),
}
"""The text is sound; what it took is not known."""

HARMLESS: dict[str, Callable[[Reply], str]] = {
    "surrogate_model": top(model="m\ud800"),
    "surrogate_finish": choice(finish_reason="stop\udfff"),
    "number_model": top(model=5),
    "object_model": top(model={"name": ["m"]}),
    "giant_number": _raw(top(created=4711)),
    "giant_model": _raw(top(model=4711)),
    "long_model": top(model="m" * 100_000),
    "number_finish": choice(finish_reason=5),
    "surrogate_text": lambda reply: json.dumps(reply | {"id": "\ud800", "system_fingerprint": "\udc00"}),
    "bad_logprobs": _logprobs([{"token": 5, "logprob": "x"}]),
    "logprobs_text": choice(logprobs="none"),
    "logprobs_list": choice(logprobs=[1, 2]),
    "logprobs_nan": _logprobs([{"token": "a", "logprob": float("nan")}]),
    "logprobs_giant": _raw(_logprobs([{"token": "a", "logprob": 4711}])),
    "logprobs_surrogate": _logprobs([{"token": "\ud83d", "logprob": -0.5}]),
    "surrogate_unoffered_call": message(tool_calls=_call("\ud800", "{}", "\ud800")),
}
"""The text is sound, something beside it is odd."""

REFUSING: dict[str, Callable[[Reply], str]] = {
    "surrogate_refusal": text(None, refusal="I won't \ud800"),
    "object_refusal": text(None, refusal={"why": ["\ud800"]}),
    "giant_refusal": _raw(text(None, refusal=4711)),
}
"""The model refuses, in odd words."""

UNREADABLE: dict[str, Callable[[Reply], str | bytes]] = {
    "deep_json": _deep,
    "huge_body": lambda reply: json.dumps(reply) + " " * HUGE,
    "huge_gzip": lambda reply: gzip.compress((json.dumps(reply) + " " * HUGE).encode(), 1),
}
"""It is whole, and cannot be read: it is asked for once more."""

BROKEN: dict[str, Callable[[Reply], str]] = {
    "surrogate_error": lambda reply: json.dumps(
        {"error": {"message": "no \ud800", "code": "\ud800", "param": "\ud800"}}
    ),
    "giant_error": _raw(lambda reply: json.dumps({"error": {"message": 4711, "code": 4711}})),
    "number_content": message(content=5),
    "parts_of_numbers": message(content=[{"text": 5}]),
    "choices_text": top(choices="none"),
}
"""It holds no reply; it may pass, and is tried again until the deadline."""

ODD: dict[str, Callable[[Reply], str | bytes]] = {
    **SAYS_NOTHING,
    **UNCOUNTED,
    **HARMLESS,
    **REFUSING,
    **UNREADABLE,
    **BROKEN,
}
