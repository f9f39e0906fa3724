"""The outcome of a request, as a value: a chat completion, or a failure."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson
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
from mtagent.llm.limits import StatedLimit
from mtagent.llm.reading import says_nothing, whole_characters
from mtagent.llm.server import KeyUnavailable
from mtagent.records import TokenLogprob, ToolCall, Usage
from mtagent.text.masking import clean, masked_data, redirected

NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
FILTERED = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
NO_MODEL = frozenset({"model_not_found", "model_not_available", "DeploymentNotFound"})
_SAYS_NO_MODEL = regex.compile(
    r"\bmodels?\b.{0,200}(?:not (?:exist|found)|no longer (?:available|exists|supported)"
    r"|been (?:deprecated|retired|removed|shut ?down|decommissioned))"
    r"|\b(?:invalid|unknown|no such) model\b|not a valid model|no endpoints found for",
    regex.IGNORECASE | regex.DOTALL,
)
MOST_TOKENS = 10**9
"""No request reads or writes more tokens: a larger number isn't a count."""
MOST_CHARACTERS = 32
"""Most characters per token, on average. Tokenizers have 1 to 6."""
FEWEST_CHARACTERS = 200
"""The number of tokens of a shorter text isn't doubted, since a short text may consist of unusual tokens."""
LONGEST_NAME = 200
ID_LENGTH = 9  # some chat templates take no other length


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request without a usable reply.

    It contains only text, never an exception, a request or a header, so that no key can leak through it.
    """

    kind: type[ModelError]
    message: str
    status: int = 0
    transient: bool = False
    """The same request may succeed later."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    param: str | None = None
    """In the server's words, like ``code``."""
    code: str | None = None
    unreachable: bool = False
    """No connection was made."""
    unsent: bool = False
    """It ended before a connection was tried: there was no key for it."""
    proxy: str = ""
    """Host and port of the proxy that was to be connected to."""
    answered: bool = False
    """The server did its work, which has to be paid for, but its reply is useless."""
    late: bool = False
    """The time for one request was over."""

    def __str__(self) -> str:
        """The message."""
        return self.message

    @property
    def cause(self) -> str:
        """Why it failed, in two words, which many failures share: ``HTTP 429``, ``timeout``, ``Truncated``."""
        if self.late:
            return "timeout"
        if self.unreachable:
            return "no connection"
        if self.kind is not ServerError and self.status in (0, 200):
            return self.kind.__name__
        if self.status == 0:
            return "connection broken"
        return "unreadable reply" if self.status == 200 else f"HTTP {self.status}"


def status_failure(
    status: int, headers: Mapping[str, str], body: object, *, now: float, key: str = ""
) -> RequestFailure:
    """The failure of an HTTP ``status`` with this error ``body``. ``now``: seconds since 1970."""
    body = masked_data(body, key)
    # The part that holds message, code and param, in the shapes that servers use.
    error: Mapping[str, Any] = {}
    if isinstance(body, dict):
        inner = body.get("error", body)
        error = inner if isinstance(inner, dict) else {"message": inner}
    code = param = None
    if error.get("code") is not None:
        code = words_of(error["code"])
    if error.get("param") is not None:
        param = words_of(error["param"])
    location = headers.get("location")
    if 300 <= status < 400 and location:
        message = redirected(location, key, "make it the base URL")
    else:
        message = clean(words_of(error.get("message") or error.get("detail") or body or ""), key) or "no message"
    kind: type[ModelError] = BadRequest
    transient = False
    if code in FILTERED:
        kind = Refused
    elif status in (401, 403):
        kind = AuthenticationError
    elif status == 429:
        kind, transient = RateLimited, code not in NO_MONEY
    elif status >= 500 or status in (408, 409):  # a timeout, a conflict
        kind, transient = ServerError, True
    elif code in NO_MODEL or (status in (400, 404, 410) and _SAYS_NO_MODEL.search(message)):
        kind = ModelNotFound
    return RequestFailure(
        kind, message, status, transient, retry_after(headers, now) if transient else None, param, code
    )


def exchange_failure(what: str, key: str, *, unreachable: bool = False, answered: bool = False) -> RequestFailure:
    """An exchange without a readable reply: a transient failure, or a useless reply, which was ``answered``."""
    status = 200 if answered else 0
    what = clean(what, key)
    return RequestFailure(ServerError, what, status, transient=not answered, unreachable=unreachable, answered=answered)


def connection_failure(error: BaseException, key: str, *, unreachable: bool, proxy: str = "") -> RequestFailure:
    """The failure of a connection that was not made, or broke. ``proxy``: host and port of the one that is used."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    innermost = causes[-1]  # the outer ones have no details
    words = str(innermost) or type(innermost).__name__
    if isinstance(innermost, ConnectionRefusedError):
        words = "connection refused"
    if type(innermost) is ssl.SSLError and innermost.reason == "WRONG_VERSION_NUMBER":
        words += "; the server does not seem to speak https at this address: write http://"
    if not unreachable or not proxy:
        return exchange_failure(f"no connection, or it broke: {words}", key, unreachable=unreachable)
    failure = exchange_failure(f"no connection to the proxy {proxy}: {words}", key, unreachable=True)
    return replace(failure, proxy=proxy)


def key_failure(error: KeyUnavailable) -> RequestFailure:
    """The failure of a request that was not sent, since there was no key for it."""
    if error.transient:
        return replace(exchange_failure(str(error), ""), unsent=True)
    return RequestFailure(AuthenticationError, str(error), unsent=True)


def late_failure(seconds: float, key: str) -> RequestFailure:
    """The failure of a request that was not answered within ``seconds``."""
    decimals = 0 if seconds >= 10 else 1
    return replace(exchange_failure(f"no answer within {seconds:.{decimals}f} s", key), late=True)


def unreadable_failure(error: Exception, key: str) -> RequestFailure:
    """The failure of a request or a reply that cannot be written or read as JSON."""
    if isinstance(error, UnicodeEncodeError):
        return RequestFailure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")
    if isinstance(error, RecursionError):
        return exchange_failure("the reply is JSON that is nested too deep", key, answered=True)
    return exchange_failure(f"the reply is not JSON: {error}", key)


_LONG_NUMBER = re.compile(rb"\d{19}")


def parsed(content: bytes) -> object:
    """The JSON of a reply. A whole number of thousands of digits, which Python does not convert, is infinite."""
    if not _LONG_NUMBER.search(content):  # orjson rounds whole numbers of more than 64 bits
        with contextlib.suppress(ValueError):  # what orjson refuses may be read by Python's reader, such as NaN
            return orjson.loads(content)
    try:
        return json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        return json.loads(content, parse_int=float)


def error_body(content: bytes) -> object:
    """The JSON of an error, or its text."""
    try:
        return parsed(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date); ``None`` if unreadable."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds

    def date(name: str) -> float | None:
        try:
            return parsedate_to_datetime(headers.get(name) or "").timestamp()
        except (ValueError, OverflowError):
            return None

    # By the server's own clock if it sends the time, so that a wrong clock on either side does no harm.
    end, sent = date("retry-after"), date("date")
    if end is None:
        return None
    if sent is None:
        sent = now
    return max(0.0, end - sent)


_DURATION = re.compile(
    r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+(?:\.\d+)?)ms)?", re.ASCII
)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
LONGEST_NUMBER = 30


def stated_limits(headers: Mapping[str, str]) -> dict[str, StatedLimit]:
    """The limits of ``requests`` and ``tokens`` in the headers ``x-ratelimit-…``; senseless ones are left out.

    A reset is a number of seconds, or a duration such as ``12ms``, ``1s`` or ``6m0s``.
    """
    limits = {}
    for unit in ("requests", "tokens"):
        remaining = headers.get(f"x-ratelimit-remaining-{unit}")
        if remaining is None:
            continue
        try:
            stated = StatedLimit(
                float(headers.get(f"x-ratelimit-limit-{unit}") or ""),
                float(remaining),
                _duration(headers.get(f"x-ratelimit-reset-{unit}") or ""),
            )
        except ValueError:
            continue
        if all(map(math.isfinite, stated)) and 0 <= stated.remaining <= stated.limit and stated.reset >= 0:
            limits[unit] = stated
    return limits


def _duration(text: str) -> float:
    """Seconds. Raises :class:`ValueError`."""
    text = text.strip()
    match = _DURATION.fullmatch(text[:LONGEST_NUMBER])
    if not text or match is None:
        return float(text)
    return sum(float(number) * _SECONDS[unit] for unit, number in match.groupdict(default="0").items())


def words_of(value: object) -> str:
    """Any value from a server as text that every store and terminal accepts."""
    try:
        return whole_characters(str(value))
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return "(unreadable)"


class Reply(NamedTuple):
    """One reply."""

    text: str
    model: str
    finish_reason: str
    usage: Usage | None
    """Without its cost; ``None`` = the server reported no usage."""
    logprobs: tuple[TokenLogprob, ...] | None
    problem: type[ModelError] | None
    """The error if the reply is unusable."""
    detail: str
    tool_calls: tuple[ToolCall, ...] = ()


def read_reply(
    payload: object, model: str, *, tools: bool = False, request: Iterable[str] = ()
) -> Reply | RequestFailure:
    """Read a reply body; one without choices is a transient failure.

    An empty reply has a ``problem``. Tool calls count only if ``tools`` were offered. ``request`` holds the texts of
    the request (see :func:`mtagent.llm.reading.says_nothing`). Odd names, usage and log-probabilities do no harm: they
    are cleaned or left out.
    """
    try:
        choice = payload["choices"][0]  # type: ignore[index]
        message = choice["message"]
        refusal, content = message.get("refusal"), message.get("content")
        if isinstance(content, list):  # parts
            content = "".join(part.get("text") or "" for part in content)
        elif not isinstance(content, str | None):
            raise TypeError("content is neither text nor parts")
        text = whole_characters(content or "")
        tool_calls = read_tool_calls(message) if tools else ()
        finish_reason = _name(choice.get("finish_reason"), "stop")
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError):
        # A 200 that holds no reply: cut off, HTML, an error object, or no choices.
        error = payload.get("error") if isinstance(payload, dict) else None
        detail = f"an error in place of a reply: {words_of(error)}" if error else "a reply without choices"
        return RequestFailure(ServerError, clean(detail, ""), 200, transient=True)
    assert isinstance(payload, dict)
    problem: type[ModelError] | None = None
    detail = ""
    if refusal or finish_reason == "content_filter":
        problem, detail = Refused, clean(words_of(refusal or ""), "")
    elif finish_reason == "length":
        problem = Truncated
    elif not tool_calls and says_nothing(text, request):
        problem = EmptyReply
        if text.strip():
            detail = clean(f"it holds only {text.strip()!r}", "")
        elif message.get("tool_calls"):
            detail = "it calls a tool although none was offered"
    return Reply(
        text,
        _name(payload.get("model"), model),
        finish_reason,
        read_usage(payload.get("usage")),
        _read_logprobs(choice.get("logprobs")),
        problem,
        detail,
        tool_calls,
    )


def _name(value: object, default: str) -> str:
    """The name that the server sends; ``default`` if it sends none, or something else."""
    if not isinstance(value, str) or not value:
        return default
    return whole_characters(value[:LONGEST_NAME])


def read_tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of a reply's ``message``, in the shapes that servers give them; ``()`` for none.

    Arguments may be text or an object, and ids may be missing or given twice; a name that is not text becomes ``""``.
    Raises ``TypeError``, ``AttributeError`` and ``RecursionError`` for anything but a tool call.
    """
    items = message.get("tool_calls") or []
    if not items and (former := message.get("function_call")):
        items = [{"function": former}]
    calls: dict[str, ToolCall] = {}
    for item in items:
        function = item.get("function") or item
        name, id_ = _text_or_nothing(function.get("name")), _text_or_nothing(item.get("id"))
        arguments = function.get("arguments")
        if arguments is None:
            arguments = "{}"
        elif not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = whole_characters(arguments) if arguments.strip() else "{}"
        if not id_ or id_ in calls:
            # The same for the same reply: the next request, and so its key in the call cache, repeats it.
            content = json.dumps([name, arguments, len(calls)])
            id_ = hashlib.sha256(content.encode()).hexdigest()[:ID_LENGTH]
        calls[id_] = ToolCall(id=id_, name=name, arguments=arguments)
    return tuple(calls.values())


_RUN = regex.compile(r"(.)\1++|\s++", regex.DOTALL)


def is_plausible(usage: Usage, request: Iterable[str], reply: str) -> bool:
    """Whether ``usage`` can be the count of a call with these texts: no token has hundreds of characters.

    A run of one character or of white space, of which some tokenizers make one token, counts as one character. The
    count of a text below :data:`FEWEST_CHARACTERS` is only doubted if it is 0.
    """
    counts = [(usage.input_tokens, "\n".join(request)), (usage.output_tokens, reply)]
    for tokens, text in counts:
        if len(text) <= MOST_CHARACTERS * tokens or (tokens and len(text) < FEWEST_CHARACTERS):
            continue
        if len(_RUN.sub(" ", text)) > MOST_CHARACTERS * tokens:
            return False
    return True


def _text_or_nothing(value: object) -> str:
    return whole_characters(value) if isinstance(value, str) else ""


def _read_logprobs(logprobs: object) -> tuple[TokenLogprob, ...] | None:
    """All of them, or ``None`` if any is missing or isn't a number: half of them would give a wrong sum."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not tokens or not isinstance(tokens, list):
        return None
    read: list[TokenLogprob] = []
    for token in tokens:
        if not isinstance(token, dict):
            return None
        text, logprob = token.get("token"), token.get("logprob")
        if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return None
        if not abs(logprob) <= MOST_TOKENS:  # not a number, infinite, or too large for a float
            return None
        read.append(TokenLogprob(token=whole_characters(text), logprob=float(logprob)))
    return tuple(read)


def read_usage(usage: object) -> Usage | None:
    """The ``usage`` object as a record of one call; the cost is left unknown. ``None`` if it is unreliable.

    It needs a number of prompt tokens (no request has 0), and one of completion tokens, which may also follow from the
    total if it is absent. Some servers count reasoning in the total only: whatever the total holds beyond the prompt
    is output. Text, fractions, negative and impossible numbers aren't counts; 12.0 is.
    """

    if not isinstance(usage, dict):
        return None
    prompt = _count(usage, "prompt_tokens")
    output = _count(usage, "completion_tokens")
    total = _count(usage, "total_tokens")
    if not prompt:
        return None
    if usage.get("completion_tokens") is None and total is not None:
        output = total - prompt
    if output is None or output < 0:
        return None
    cached = (
        _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens") or 0
    )
    cached = min(cached, prompt)
    written = (
        _count(usage.get("prompt_tokens_details"), "cache_write_tokens")
        or _count(usage, "cache_creation_input_tokens")  # gateways in front of Claude
        or 0
    )
    return Usage(  # takes less time than model_construct
        calls=1,
        reused=0,
        input_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=min(written, prompt - cached),
        output_tokens=max(output, (total or 0) - prompt),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0,
        batched=0,
        cost=None,
    )


def _count(fields: object, name: str) -> int | None:
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
