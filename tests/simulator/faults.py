"""Faults by name: each makes what goes over the wire from the reply that a healthy server would have given."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from typing import Any, NamedTuple

from tests.simulator import refusals
from tests.simulator.settings import Body

JSON = "application/json"
HANG = 3600.0


class Wire(NamedTuple):
    """A reply as it is sent. ``status=0`` resets the connection; ``delay`` in seconds goes before it."""

    status: int
    content: bytes
    content_type: str = JSON
    headers: dict[str, str] = {}  # noqa: RUF012
    delay: float = 0.0


Spoil = Callable[[Body], Wire]


def _sent(reply: object, status: int = 200, **more: Any) -> Wire:
    """``reply`` as JSON. Half a surrogate pair is escaped, as servers do that have one."""
    return Wire(status, json.dumps(reply).encode(), **more)


def _status(
    status: int, reply: Body, *, after: str | Callable[[], str] | None = None, message: str | None = None
) -> Wire:
    code = "" if message else None  # no code, so that only the words tell
    error = refusals.status_error(status, reply, "key", message, code, None)
    value = after() if callable(after) else after
    return _sent(error, status, headers={} if value is None else {"Retry-After": value})


def _changed(reply: Body, *place: str | int, value: Any) -> Wire:
    """The reply with another ``value`` at ``place``."""
    changed = copy.deepcopy(reply)
    inner: Any = changed
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return _sent(changed)


def _content(value: Any, reply: Body) -> Wire:
    return _changed(reply, "choices", 0, "message", "content", value=value)


def _said(reply: Body) -> str:
    return str(reply["choices"][0]["message"]["content"])


def _finish(value: Any, reply: Body) -> Wire:
    return _changed(reply, "choices", 0, "finish_reason", value=value)


def _usage(value: Any, reply: Body) -> Wire:
    return _changed(reply, "usage", value=value)


def _counts(count: Any, reply: Body) -> Wire:
    return _usage({"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}, reply)


def _without(name: str, reply: Body) -> Wire:
    return _sent({key: value for key, value in reply.items() if key != name})


def _cut(reply: Body) -> Wire:
    said = _said(reply)
    return _changed(
        json.loads(_content(said[: len(said) // 2], reply).content), "choices", 0, "finish_reason", value="length"
    )


def _refused(reply: Body) -> Wire:
    message = {"role": "assistant", "content": None, "refusal": "I'm sorry, I can't help with that."}
    return _changed(reply, "choices", 0, "message", value=message)


def _filtered(reply: Body) -> Wire:
    return _changed(json.loads(_content("", reply).content), "choices", 0, "finish_reason", value="content_filter")


def _tool_call(reply: Body) -> Wire:
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    changed = json.loads(_changed(reply, "choices", 0, "message", value=message).content)
    return _changed(changed, "choices", 0, "finish_reason", value="tool_calls")


def _padded(size: int, reply: Body) -> Wire:
    return _sent({**reply, "padding": "x" * size})


def _deep(reply: Body) -> Wire:
    return Wire(200, _sent(reply).content[:-1] + b', "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def _half(reply: Body) -> Wire:
    whole = _sent(reply).content
    return Wire(200, whole[: len(whole) // 2])


def _slow(seconds: float, reply: Body) -> Wire:
    return _sent(reply, delay=seconds)


HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
OVERLOADED = {"error": {"message": "The engine is overloaded", "type": "server_error", "param": None, "code": None}}

FAULTS: dict[str, Spoil] = {
    # statuses
    "400": partial(_status, 400),
    "401": partial(_status, 401),
    "403": partial(_status, 403),
    "404-model": partial(_status, 404),
    "404": partial(_status, 404, message="Not Found"),
    "408": partial(_status, 408),
    "409": partial(_status, 409),
    "422": partial(_status, 422),
    "429": partial(_status, 429),
    "429-after-0": partial(_status, 429, after="0"),
    "429-after-1": partial(_status, 429, after="1"),
    "429-after-date": partial(_status, 429, after=lambda: formatdate(time.time() + 1, usegmt=True)),
    "429-after-3600": partial(_status, 429, after="3600"),
    "500": partial(_status, 500),
    "502-html": lambda reply: Wire(502, HTML, "text/html"),
    "503": partial(_status, 503),
    "529": partial(_status, 529),
    # connections
    "reset": lambda reply: Wire(0, b""),
    "hang": lambda reply: Wire(0, b"", delay=HANG),
    "slow": partial(_slow, 0.5),
    # bodies
    "broken-json": _half,
    "empty-body": lambda reply: Wire(200, b""),
    "html": lambda reply: Wire(200, HTML, "text/html"),
    "no-choices": partial(_without, "choices"),
    "empty-choices": lambda reply: _sent({**reply, "choices": []}),
    "error-in-200": lambda reply: _sent(OVERLOADED),
    "content-type": lambda reply: _sent(reply, content_type="text/plain"),
    "50-mb": partial(_padded, 50 * 2**20),
    "deep-json": _deep,
    # what is said
    "length": _cut,
    "content-filter": _filtered,
    "refusal": _refused,
    "null-content": partial(_content, None),
    "parts": lambda reply: _content([{"type": "text", "text": _said(reply)}], reply),
    "think-first": lambda reply: _content(f"<think>Let me see: is it errado?</think>\n\n{_said(reply)}", reply),
    "think-only": partial(_content, "<think>Let me see: is it errado?</think>"),
    "empty-tags": partial(_content, "<translation></translation>"),
    "empty-fence": partial(_content, "```\n```"),
    "tool-call": _tool_call,
    # what is said about it
    "surrogate-model": lambda reply: _changed(reply, "model", value="sim\ud83d"),
    "surrogate-finish": partial(_finish, "stop\ud83d"),
    "usage-giant": partial(_counts, 10**30),
    "usage-missing": partial(_without, "usage"),
    "usage-empty": partial(_usage, {}),
    "usage-strings": partial(_counts, "12"),
    "usage-negative": partial(_counts, -5),
    "usage-nan": partial(_counts, float("nan")),
}
"""What goes wrong, by name. ``slow``, ``content-type``, ``parts``, ``think-first`` and all from ``surrogate-model`` on
carry the whole answer."""

RARE = {"429-after-1": 0.02, "429-after-date": 0.02, "50-mb": 0.005, "deep-json": 0.05, "hang": 0.05}
"""The share of the requests for faults that cost seconds each."""
