"""What came back from a server: a chat completion, or what went wrong with the request, as a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import regex

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    EmptyReply,
    ModelError,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
    Truncated,
)
from mtagent.llm.reading import says_nothing, whole_characters
from mtagent.llm.request import read_tool_calls
from mtagent.records import TokenLogprob, ToolCall, Usage
from mtagent.text.masking import masked, masked_data

LONGEST_MESSAGE = 400
_LONGEST_READ = 20_000
_BYTES = regex.compile(r"""\bb(?:'[^']*'|"[^"]*")""")
CONFLICTS_AND_TIMEOUTS = (408, 409)
NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
FILTERED = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
NO_MODEL = frozenset({"model_not_found", "model_not_available", "DeploymentNotFound"})
_SAYS_NO_MODEL = regex.compile(
    r"\bmodels?\b.{0,200}(?:not (?:exist|found)|no longer (?:available|exists|supported)"
    r"|been (?:deprecated|retired|removed|shut ?down|decommissioned))"
    r"|\b(?:invalid|unknown|no such) model\b|not a valid model|no endpoints found for",
    regex.IGNORECASE | regex.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that brought no usable reply. ``transient``: the same request may succeed later.

    ``unreachable``: there was no connection at all. ``answered``: the server did its work, which is to be paid for, and
    what it sent is of no use. ``retry_after`` is the number of seconds that the server asks to wait. ``param`` and
    ``code`` are the server's own words. Holds only text: never an exception, a request or a header, so that no key can
    leak through it.
    """

    kind: type[ModelError]
    message: str
    status: int = 0
    transient: bool = False
    retry_after: float | None = None
    param: str | None = None
    code: str | None = None
    unreachable: bool = False
    answered: bool = False


def status_failure(status: int, headers: Mapping[str, str], body: object, *, now: float, key: str = "") -> Failure:
    """The failure that an HTTP ``status`` with this error ``body`` stands for. ``now``: seconds since 1970."""
    body = masked_data(body, key)
    # The part that holds message, code and param, in the shapes that servers use.
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    error: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {"message": inner}
    code, param = (None if value is None else words_of(value) for value in (error.get("code"), error.get("param")))
    if 300 <= status < 400 and (location := headers.get("location")):
        message = redirected(location, key, "make it the base URL")
    else:
        message = clean(words_of(error.get("message") or error.get("detail") or body or ""), key) or "no message"
    kind, transient = _class_of(status, code, message)
    wait = retry_after(headers, now) if transient else None
    return Failure(kind, message, status, transient, wait, param, code)


def _class_of(status: int, code: str | None, message: str) -> tuple[type[ModelError], bool]:
    if code in FILTERED:
        return Refused, False
    if status in (401, 403):
        return AuthenticationError, False
    if status == 429:
        return RateLimited, code not in NO_MONEY
    if status >= 500 or status in CONFLICTS_AND_TIMEOUTS:
        return ServerError, True
    if code in NO_MODEL or (status in (400, 404, 410) and _SAYS_NO_MODEL.search(message)):
        return ModelNotFound, False
    return BadRequest, False


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date); ``None`` if unreadable."""

    def number(name: str) -> float | None:
        try:
            value = float(headers.get(name) or "")
        except ValueError:
            return None
        return value if math.isfinite(value) and value >= 0 else None

    def date(name: str) -> float | None:
        try:
            return parsedate_to_datetime(headers.get(name) or "").timestamp()
        except (ValueError, OverflowError):
            return None

    if (milliseconds := number("retry-after-ms")) is not None:
        return milliseconds / 1000
    if (seconds := number("retry-after")) is not None:
        return seconds
    # The server's own clock, where it tells it, so that a wrong clock on either side does no harm.
    end, sent = date("retry-after"), date("date")
    return None if end is None else max(0.0, end - (now if sent is None else sent))


def clean(text: str, key: str) -> str:
    """``text`` in one line, without the key or anything that looks like one, shortened.

    Bytes that broke a connection (``b'…'``) are left out: of a broken answer nobody knows what they hold.
    """
    text = masked(_BYTES.sub("b'…'", " ".join(text[:_LONGEST_READ].split())), key)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def redirected(location: str, key: str, way_out: str) -> str:
    """What to say of a redirect to ``location``. None is followed: the key and the texts would go to whoever is there.

    What the address holds beside host and path is not shown.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        parts = urlsplit("")
    host = parts.netloc.rpartition("@")[2]
    to = f"{parts.scheme or 'http'}://{host}{parts.path}" if host else parts.path or "elsewhere"
    where = f"the server redirects to {clean(to, key)}"
    return f"{where}; key and texts do not follow: if that is the right address, {way_out}"


def words_of(value: object) -> str:
    """What a server says, as text that every store and terminal takes, whatever it is."""
    try:
        return whole_characters(str(value))
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return "(unreadable)"


MOST_TOKENS = 10**9
"""More tokens than this no request reads or writes: a larger number is no count."""
LONGEST_NAME = 200


class Reply(NamedTuple):
    """One reply. ``usage`` is ``None`` where the server reported none; its cost is not yet known.

    ``problem`` is the error that this reply amounts to, ``None`` for a usable one.
    """

    text: str
    model: str
    finish_reason: str
    usage: Usage | None
    logprobs: tuple[TokenLogprob, ...] | None
    problem: type[ModelError] | None
    detail: str
    tool_calls: tuple[ToolCall, ...] = ()


def read_reply(payload: object, model: str, *, tools: bool = False, asked: Iterable[str] = ()) -> Reply | Failure:
    """Read a reply body; one without choices is a failure that may pass.

    A reply that says nothing is a problem. Tool calls count only where ``tools`` were offered. ``asked`` are the texts
    of the request (see :func:`mtagent.llm.reading.says_nothing`). What belongs to a reply besides its text (names,
    usage, log-probabilities) does no harm where it is odd: it is cleaned or left out.
    """
    try:
        choice = payload["choices"][0]  # type: ignore[index]
        message = choice["message"]
        refusal = message.get("refusal")
        content = message.get("content")
        if isinstance(content, list):  # parts
            content = "".join(part.get("text") or "" for part in content)
        elif not isinstance(content, str | None):
            raise TypeError("content is neither text nor parts")
        text = whole_characters(content or "")
        tool_calls = read_tool_calls(message) if tools else ()
        finish_reason = _name(choice.get("finish_reason"), "stop")
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError):
        # A 200 that holds no reply: cut off, HTML, an error object, or no choices.
        error = payload.get("error") if isinstance(payload, Mapping) else None
        detail = f"an error in place of a reply: {words_of(error)}" if error else "a reply without choices"
        return Failure(ServerError, clean(detail, ""), 200, transient=True)
    assert isinstance(payload, Mapping)
    usage = payload.get("usage")
    problem: type[ModelError] | None = None
    detail = ""
    if refusal or finish_reason == "content_filter":
        problem, detail = Refused, clean(words_of(refusal or ""), "")
    elif finish_reason == "length":
        problem = Truncated
    elif not tool_calls and says_nothing(text, asked):
        called = "it calls a tool although none was offered" if message.get("tool_calls") else ""
        problem, detail = EmptyReply, clean(f"it holds only {text.strip()!r}", "") if text.strip() else called
    return Reply(
        text,
        _name(payload.get("model"), model),
        finish_reason,
        read_usage(usage) if isinstance(usage, Mapping) else None,
        _logprobs(choice.get("logprobs")),
        problem,
        detail,
        tool_calls,
    )


def _name(value: object, default: str) -> str:
    """A name that the server gives; ``default`` where it gives none, or something that is no name."""
    return whole_characters(value[:LONGEST_NAME]) if isinstance(value, str) and value else default


def _logprobs(logprobs: object) -> tuple[TokenLogprob, ...] | None:
    """All of them, or ``None`` where any is missing or no number: half of them would give a wrong sum."""
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not tokens or not isinstance(tokens, list):
        return None
    read: list[TokenLogprob] = []
    for token in tokens:
        text, logprob = (token.get("token"), token.get("logprob")) if isinstance(token, Mapping) else (None, None)
        if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return None
        if not abs(logprob) <= MOST_TOKENS:  # not a number, infinite, or too large for a float
            return None
        read.append(TokenLogprob.model_construct(token=whole_characters(text), logprob=float(logprob)))
    return tuple(read)


def read_usage(usage: Mapping[str, Any]) -> Usage | None:
    """The ``usage`` object as a record of one call; the cost is left unknown. ``None`` where it cannot be counted on.

    That takes a number of prompt tokens (no request has 0), and one of completion tokens, which may also follow from
    the total where it is absent. Some servers count reasoning in the total only: whatever the total holds beyond the
    prompt was put out. Text, fractions, negative and impossible numbers are no counts; 12.0 is one.
    """
    prompt, output, total = (_count(usage, f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if output is None and usage.get("completion_tokens") is None and prompt is not None and total is not None:
        output = total - prompt
    if not prompt or output is None or output < 0:
        return None
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens")
    return Usage.model_construct(
        calls=1,
        reused=0,
        input_tokens=prompt,
        cached_tokens=min(cached or 0, prompt),
        output_tokens=max(output, (total or 0) - prompt),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0,
        cost=None,
    )


def _count(where: object, name: str) -> int | None:
    """The count of this name, if it is one."""
    value = where.get(name) if isinstance(where, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if counts else None
