"""One exchange with a server: its address and key, the request sent, and the reply or what went wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import openai
import regex

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    ConfigError,
    EmptyReply,
    ModelError,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
    Truncated,
)
from mtagent.llm.limits import Clock
from mtagent.llm.reading import says_nothing, whole_characters
from mtagent.llm.request import OPENAI, ROOM, Body, read_tool_calls
from mtagent.records import TokenLogprob, ToolCall, Usage
from mtagent.text.masking import KeyFilter, key_in, masked, masked_data, masked_reply

NO_KEY = "no-key-needed"


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
    if problem := address_problem(address):
        where = "the base URL" if base_url else "the environment variable OPENAI_BASE_URL"
        raise ConfigError(f"{where} {problem}")
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"))).rstrip("/")


def address_problem(address: str) -> str | None:
    """Why ``address`` cannot be a base URL; ``None`` where it can. Never shows it: people put keys there by mistake.

    A query is sent with every request (``?api-version=2024-06-01``), but no key may stand in it.
    """
    address = address.strip()
    example = "write for example http://localhost:8000/v1"
    if "@" in address.partition("?")[0].replace("://", "").partition("/")[0]:
        return "holds a user name or password; keys are read from the environment only"
    if found := key_in(address):
        return (
            f"holds {found}; it would be stored and shown: put the key in the environment variable OPENAI_API_KEY, "
            "or in the one that --api-key-env names"
        )
    if not address.isprintable() or " " in address:
        return f"holds a space or a control character: {example}"
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return f"is not an address: {example}"
        parts.hostname.encode("idna")
        if re.fullmatch(r"[\d.]+", parts.hostname):
            IPv4Address(parts.hostname)
    except UnicodeError:
        return f"holds no possible name of a server: {example}"
    except ValueError:
        return f"is not an address: {example}"
    try:
        usable = parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        return f"has a port that is not a number from 1 to 65535: {example}"
    return "has a part after '#', which no server receives: leave it out" if "#" in address else None


def server_key(variable: str, server: str) -> str:
    """The key in the environment ``variable``; a placeholder for a server of one's own where there is none."""
    # No local variable holds the key where something is raised: some tracebacks show them.
    if not _read(variable) and server == OPENAI:
        raise ConfigError(
            f"no API key: set the environment variable {variable}, or give the base URL of a server that needs none"
        )
    if not _fits_a_header(_read(variable)):
        raise ConfigError(f"the key in {variable} holds white space or odd characters; copy it again")
    return _read(variable) or NO_KEY


def _read(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def _fits_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


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
    error = _error_object(body)
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
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return None if value is None else seconds
    # The server's own clock, where it tells it, so that a wrong clock on either side does no harm.
    date, sent = _date(value), _date(headers.get("date"))
    return None if date is None else max(0.0, date - (now if sent is None else sent))


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


def _error_object(body: object) -> Mapping[str, Any]:
    """The part of an error reply that holds message, code and param, in the shapes that servers use."""
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error", body)
    return inner if isinstance(inner, Mapping) else {"message": inner}


def words_of(value: object) -> str:
    """What a server says, as text that every store and terminal takes, whatever it is."""
    try:
        return whole_characters(str(value))
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return "(unreadable)"


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(value: str | None) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None


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
        text = whole_characters(_text(message.get("content")))
        tool_calls = read_tool_calls(message) if tools else ()
        finish_reason = _name(choice.get("finish_reason"), "stop")
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return broken_body(payload)
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


def broken_body(payload: object) -> Failure:
    """A 200 that holds no reply: cut off, HTML, an error object, or no choices."""
    error = payload.get("error") if isinstance(payload, Mapping) else None
    detail = f"an error in place of a reply: {words_of(error)}" if error else "a reply without choices"
    return Failure(ServerError, clean(detail, ""), 200, transient=True)


def _name(value: object, default: str) -> str:
    """A name that the server gives; ``default`` where it gives none, or something that is no name."""
    return whole_characters(value[:LONGEST_NAME]) if isinstance(value, str) and value else default


def _text(content: object) -> str:
    """The content, whether it is a text, a list of parts, or absent."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    raise TypeError("content is neither text nor parts")


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


LONGEST_CONNECT = 30.0

UNREACHABLE = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


SMALLEST_BOUND = 1_000_000
LONGEST_ERROR = 100_000
ASSUMED_ROOM = 16_384  # tokens, where the request sets no limit
TOKEN_BYTES = 64  # as JSON, and generously: a token is four characters or so, thoughts may come beside it
LOGPROB_BYTES = 512
TOP_LOGPROB_BYTES = 256


def reply_bound(body: Body) -> int:
    """The most bytes that a reply to ``body`` is read for."""
    room = next((int(body[name]) for name in ROOM if name in body), ASSUMED_ROOM)
    logprobs = LOGPROB_BYTES + TOP_LOGPROB_BYTES * int(body.get("top_logprobs") or 0) if body.get("logprobs") else 0
    return max(SMALLEST_BOUND, room * (TOKEN_BYTES + logprobs))


class Reading:
    """What is read of one reply: at most ``bound`` bytes; ``content`` stays ``None`` where there are more."""

    __slots__ = ("bound", "content")

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.content: bytes | None = None


_READING: ContextVar[Reading] = ContextVar("_READING")


class BoundedClient(openai.DefaultAioHttpClient):
    """The package's HTTP client, except that it stops reading where a body is larger than it can be meant to be.

    What counts is the size after decompression. The body goes to the :class:`Reading` of the request that is under way,
    and not through the package, which would read it without bounds. Of an error only the beginning is read.
    """

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """The response to ``request``, closed, and without the body where it is no error."""
        reading = _READING.get()
        response = await super().send(request, stream=True, **options)
        failed = response.status_code >= 300
        bound = LONGEST_ERROR if failed else reading.bound
        parts: list[bytes] = []
        size = 0
        try:
            async for part in response.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size > bound:
                    break
        finally:
            await response.aclose()
        content = b"".join(parts)
        if not failed and size <= bound:
            reading.content = content
        kept = {
            name: value
            for name, value in response.headers.items()
            if name not in ("content-encoding", "content-length")
        }
        return type(response)(
            response.status_code,
            headers=kept if failed else {},
            content=content[:bound] if failed else b"",
            request=response.request,
        )


class Transport:
    """Posts chat completions to one server."""

    def __init__(self, base_url: str, key: str, timeout: float, clock: Clock) -> None:
        self._base_url, _, query = base_url.partition("?")
        self._path = f"/chat/completions?{query}" if query else "/chat/completions"
        self._key = key
        self._timeout = timeout
        self._clock = clock
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: Body, seconds: float) -> object | Failure:
        """The parsed reply body, or what went wrong. Gives up after ``seconds``."""
        reading = Reading(reply_bound(body))
        token = _READING.set(reading)
        try:
            async with asyncio.timeout(seconds):
                await self._openai().post(self._path, cast_to=object, body=body)
            if reading.content is None:
                return self._useless(f"the reply is larger than {reading.bound:,} bytes, which nobody asked for")
            return masked_reply(_parsed(reading.content), self._key)
        except openai.APIStatusError as error:
            now = self._clock.wall()
            return status_failure(error.status_code, error.response.headers, error.body, now=now, key=self._key)
        except TimeoutError:
            return self._failure(f"no answer within {seconds:.0f} s")
        except (openai.APIError, aiohttp.ClientError, OSError) as error:
            causes = _causes(error)
            unreachable = any(isinstance(cause, UNREACHABLE) for cause in causes)
            words = str(causes[-1]) or type(causes[-1]).__name__  # the outer ones only say that a request failed
            return self._failure(f"no connection, or it broke: {words}", unreachable=unreachable)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._failure(f"the reply is not JSON: {error}")
        except RecursionError:
            return self._useless("the reply is JSON that is nested too deep")
        except UnicodeEncodeError:
            return Failure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")
        finally:
            _READING.reset(token)

    def _failure(self, what: str, *, unreachable: bool = False) -> Failure:
        return Failure(ServerError, clean(what, self._key), transient=True, unreachable=unreachable)

    def _useless(self, what: str) -> Failure:
        return Failure(ServerError, clean(what, self._key), 200, answered=True)

    def _openai(self) -> openai.AsyncOpenAI:
        """The client of the running event loop: connections do not survive their loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            timeout = openai.Timeout(self._timeout, connect=min(self._timeout, LONGEST_CONNECT))
            for name in ("httpx", "httpx2", "openai._base_client"):  # they log what status line and headers say
                logging.getLogger(name).addFilter(KeyFilter(self._key))
            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                timeout=timeout,
                http_client=BoundedClient(timeout=timeout, follow_redirects=False),
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()


def _parsed(content: bytes) -> object:
    """The JSON of a reply. A whole number of thousands of digits, which Python does not convert, is infinite."""
    try:
        return json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        return json.loads(content, parse_int=float)


def _causes(error: BaseException) -> list[BaseException]:
    """``error`` and what caused it, the innermost cause last."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    return causes
