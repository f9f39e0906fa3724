"""The one place where the ``openai`` package is used, and where its exceptions end.

They carry the request with its headers, so none of them may go on from here, not even as the context of another.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from contextvars import ContextVar
from typing import Any

import aiohttp
import httpx2
import openai

from mtagent.errors import (
    BadRequest,
    ConfigError,
    ServerError,
)
from mtagent.llm.limits import Clock
from mtagent.llm.reply import Failure, clean, status_failure
from mtagent.llm.request import ROOM, Body
from mtagent.text.masking import KeyFilter, masked_reply

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


class ReplyBuffer:
    """What is read of one reply: at most ``bound`` bytes; ``content`` stays ``None`` where there are more."""

    __slots__ = ("bound", "content")

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.content: bytes | None = None


_BUFFER: ContextVar[ReplyBuffer] = ContextVar("_BUFFER")


class BoundedClient(openai.DefaultAioHttpClient):
    """The package's HTTP client, except that it stops reading where a body is larger than it can be meant to be.

    What counts is the size after decompression. The body goes to the :class:`ReplyBuffer` of the request that is under
    way, and not through the package, which would read it without bounds. Of an error only the beginning is read.
    """

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """The response to ``request``, closed, and without the body where it is no error."""
        buffer = _BUFFER.get()
        response = await super().send(request, stream=True, **options)
        failed = response.status_code >= 300
        bound = LONGEST_ERROR if failed else buffer.bound
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
        content, headers = b"".join(parts), response.headers
        if failed:
            kept = {name: headers[name] for name in headers if name not in ("content-encoding", "content-length")}
            return type(response)(response.status_code, headers=kept, content=content[:bound], request=response.request)
        if size <= bound:
            buffer.content = content
        return type(response)(response.status_code, headers={}, content=b"", request=response.request)


class Transport:
    """Posts chat completions to one server."""

    def __init__(self, base_url: str, key: str, timeout: float, clock: Clock) -> None:
        try:
            httpx2.URL(base_url)
        except httpx2.InvalidURL:
            message = "the base URL (--base-url or OPENAI_BASE_URL) names no possible server"
            raise ConfigError(f"{message}: write for example http://localhost:8000/v1") from None
        self._base_url, _, query = base_url.partition("?")
        self._path = f"/chat/completions?{query}" if query else "/chat/completions"
        self._key = key
        self._timeout = timeout
        self._clock = clock
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: Body, seconds: float) -> object | Failure:
        """The parsed reply body, or what went wrong. Gives up after ``seconds``."""
        buffer = ReplyBuffer(reply_bound(body))
        token = _BUFFER.set(buffer)
        try:
            async with asyncio.timeout(seconds):
                await self._openai().post(self._path, cast_to=object, body=body)
            if buffer.content is None:
                return self._useless(f"the reply is larger than {buffer.bound:,} bytes, which nobody asked for")
            return masked_reply(_parsed(buffer.content), self._key)
        except openai.APIStatusError as error:
            now = self._clock.wall()
            return status_failure(error.status_code, error.response.headers, error.body, now=now, key=self._key)
        except TimeoutError:
            return self._failure(f"no answer within {seconds:.{0 if seconds >= 10 else 1}f} s")
        except (openai.APIError, aiohttp.ClientError, OSError) as error:
            causes: list[BaseException] = [error]
            while (cause := causes[-1].__cause__) is not None:
                causes.append(cause)
            unreachable = any(isinstance(cause, UNREACHABLE) for cause in causes)
            words = str(causes[-1]) or type(causes[-1]).__name__  # the outer ones only say that a request failed
            if type(causes[-1]) is ssl.SSLError and causes[-1].reason == "WRONG_VERSION_NUMBER":
                words += "; the server does not seem to speak https at this address: write http://"
            return self._failure(f"no connection, or it broke: {words}", unreachable=unreachable)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._failure(f"the reply is not JSON: {error}")
        except RecursionError:
            return self._useless("the reply is JSON that is nested too deep")
        except UnicodeEncodeError:
            return Failure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")
        finally:
            _BUFFER.reset(token)

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
