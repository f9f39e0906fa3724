"""Faults by name: each makes what goes over the wire from the reply that a healthy server would have given."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from typing import Any, NamedTuple

from tests.simulator import odd, refusals
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


def _status(
    status: int, reply: Body, *, after: str | Callable[[], str] | None = None, message: str | None = None
) -> Wire:
    code = "" if message else None  # no code, so that only the words tell
    error = refusals.status_error(status, reply, "key", message, code, None)
    value = after() if callable(after) else after
    return Wire(status, json.dumps(error).encode(), headers={} if value is None else {"Retry-After": value})


def _odd(make: Callable[[Body], str | bytes], **wire: Any) -> Spoil:
    """A reply with status 200 that is odd in what it says."""

    def spoilt(reply: Body) -> Wire:
        content = make(reply)
        return Wire(200, content if isinstance(content, bytes) else content.encode(), **wire)

    return spoilt


def _said(reply: Body) -> str:
    return str(reply["choices"][0]["message"]["content"])


def _without(name: str) -> Spoil:
    return _odd(lambda reply: json.dumps({key: value for key, value in reply.items() if key != name}))


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
    "slow": _odd(json.dumps, delay=0.5),
    # bodies
    "broken-json": _odd(lambda reply: json.dumps(reply)[: len(json.dumps(reply)) // 2]),
    "empty-body": lambda reply: Wire(200, b""),
    "html": lambda reply: Wire(200, HTML, "text/html"),
    "no-choices": _without("choices"),
    "empty-choices": _odd(odd.top(choices=[])),
    "error-in-200": lambda reply: Wire(200, json.dumps(OVERLOADED).encode()),
    "content-type": _odd(json.dumps, content_type="text/plain"),
    "50-mb": _odd(odd.ODD["huge_body"]),
    "deep-json": _odd(odd.ODD["deep_json"]),
    # what is said
    "length": _odd(lambda reply: odd.text(_said(reply)[: len(_said(reply)) // 2], "length")(reply)),
    "content-filter": _odd(odd.text("", "content_filter")),
    "refusal": _odd(odd.text(None, refusal="I'm sorry, I can't help with that.")),
    "null-content": _odd(odd.ODD["null_content"]),
    "parts": _odd(lambda reply: odd.message(content=[{"type": "text", "text": _said(reply)}])(reply)),
    "think-first": _odd(lambda reply: odd.text(f"<think>Is it errado?</think>\n\n{_said(reply)}")(reply)),
    "think-only": _odd(odd.ODD["think_only"]),
    "empty-tags": _odd(odd.ODD["empty_tags"]),
    "empty-fence": _odd(odd.ODD["empty_fence"]),
    "tool-call": _odd(odd.ODD["unoffered_tool_call"]),
    # what is said about it
    "surrogate-model": _odd(odd.ODD["surrogate_model"]),
    "surrogate-finish": _odd(odd.ODD["surrogate_finish"]),
    "usage-giant": _odd(odd.ODD["usage_too_large"]),
    "usage-missing": _without("usage"),
    "usage-empty": _odd(odd.ODD["usage_empty"]),
    "usage-strings": _odd(odd.ODD["usage_strings"]),
    "usage-negative": _odd(odd.ODD["usage_negative"]),
    "usage-nan": _odd(odd.ODD["usage_nan"]),
}
"""What goes wrong, by name. ``slow``, ``content-type``, ``parts``, ``think-first`` and all from ``surrogate-model`` on
carry the whole answer."""

RARE = {"429-after-1": 0.02, "429-after-date": 0.02, "50-mb": 0.005, "deep-json": 0.05, "hang": 0.05}
"""The share of the requests for faults that cost seconds each."""
