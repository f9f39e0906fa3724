"""One exchange with a server. Here alone is the ``openai`` package used, and here its exceptions end.

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

from mtagent.errors import BadRequest, ConfigError, ServerError
from mtagent.llm.limits import Clock
from mtagent.llm.reply import Failure, status_failure
from mtagent.llm.request import Body, room_of
from mtagent.llm.server import server_key
from mtagent.text.masking import KeyFilter, clean, masked_reply

LONGEST_CONNECT = 30.0
UNREACHABLE = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)

SMALLEST_BOUND = 1_000_000
LONGEST_ERROR = 100_000
ROOM_WITHOUT_LIMIT = 16_384  # tokens
TOKEN_BYTES = 64  # as JSON, and generously: a token is four characters or so, thoughts may come beside it
LOGPROB_BYTES = 512
TOP_LOGPROB_BYTES = 256


def reply_bound(body: Body) -> int:
    """The most bytes that a reply to ``body`` is read for."""
    logprobs = LOGPROB_BYTES + TOP_LOGPROB_BYTES * int(body.get("top_logprobs") or 0) if body.get("logprobs") else 0
    return max(SMALLEST_BOUND, (room_of(body) or ROOM_WITHOUT_LIMIT) * (TOKEN_BYTES + logprobs))


_BOUND: ContextVar[int] = ContextVar("_BOUND")


class TooLarge(Exception):
    """A reply has more bytes than it can be meant to have."""


class BoundedClient(openai.DefaultAioHttpClient):
    """The package's HTTP client, which reads bodies without bounds, except that this one stops reading.

    What counts is the size after decompression. Of an error only the beginning is read.
    """

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """The response to ``request``, read and closed. Raises :class:`TooLarge`."""
        response = await super().send(request, stream=True, **options)
        failed = response.status_code >= 300
        bound = LONGEST_ERROR if failed else _BOUND.get()
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
        if size > bound and not failed:
            raise TooLarge(f"the reply is larger than {bound:,} bytes, which nobody asked for")
        encoding = ("content-encoding", "content-length")
        headers = {name: response.headers[name] for name in response.headers if failed and name not in encoding}
        content = b"".join(parts)[:bound]
        return type(response)(response.status_code, headers=headers, content=content, request=response.request)


class Transport:
    """Posts chat completions to one server, with the key in the environment variable ``api_key_env``."""

    def __init__(self, base_url: str, api_key_env: str, timeout: float, clock: Clock) -> None:
        try:
            httpx2.URL(base_url)
        except httpx2.InvalidURL:
            message = "the base URL (--base-url or OPENAI_BASE_URL) names no possible server"
            raise ConfigError(f"{message}: write for example http://localhost:8000/v1") from None
        self._base_url, _, query = base_url.partition("?")
        self._path = f"/chat/completions?{query}" if query else "/chat/completions"
        self._key = server_key(api_key_env, base_url)
        self._timeout, self._clock = timeout, clock
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: Body, seconds: float) -> object | Failure:
        """The parsed reply body, or what went wrong. Gives up after ``seconds``."""
        token = _BOUND.set(reply_bound(body))
        try:
            async with asyncio.timeout(seconds):
                response = await self._openai().post(self._path, cast_to=httpx2.Response, body=body)
            return masked_reply(_parsed(response.content), self._key)
        except openai.APIStatusError as error:
            now = self._clock.wall()
            return status_failure(error.status_code, error.response.headers, error.body, now=now, key=self._key)
        except TooLarge as error:
            return self._failure(str(error), answered=True)
        except TimeoutError:
            return self._failure(f"no answer within {seconds:.{0 if seconds >= 10 else 1}f} s")
        except (openai.APIError, aiohttp.ClientError, OSError) as error:
            causes: list[BaseException] = [error]
            while (cause := causes[-1].__cause__) is not None:
                causes.append(cause)
            innermost = causes[-1]  # the outer ones only say that a request failed
            words = str(innermost) or type(innermost).__name__
            if type(innermost) is ssl.SSLError and innermost.reason == "WRONG_VERSION_NUMBER":
                words += "; the server does not seem to speak https at this address: write http://"
            unreachable = any(isinstance(cause, UNREACHABLE) for cause in causes)
            return self._failure(f"no connection, or it broke: {words}", unreachable=unreachable)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._failure(f"the reply is not JSON: {error}")
        except RecursionError:
            return self._failure("the reply is JSON that is nested too deep", answered=True)
        except UnicodeEncodeError:
            return Failure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")
        finally:
            _BOUND.reset(token)

    def _failure(self, what: str, *, unreachable: bool = False, answered: bool = False) -> Failure:
        """What may pass; or a reply of no use, which was ``answered``."""
        status = 200 if answered else 0
        what = clean(what, self._key)
        return Failure(ServerError, what, status, transient=not answered, unreachable=unreachable, answered=answered)

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
