"""The one place where the ``openai`` package is used, and where its exceptions end.

They carry the request with its headers, so none of them may go on from here, not even as the context of another.
"""

from __future__ import annotations

import asyncio
import json
import logging

import aiohttp
import openai

from mtagent.errors import BadRequest, ServerError
from mtagent.llm.clock import Clock
from mtagent.llm.failure import Failure, clean, status_failure
from mtagent.llm.request import Body
from mtagent.masking import KeyFilter, masked_reply

LONGEST_CONNECT = 30.0

UNREACHABLE = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


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
        try:
            async with asyncio.timeout(seconds):
                # cast_to=object: plain JSON. Building the package's own records would cost more than all else here.
                reply = await self._openai().post(self._path, cast_to=object, body=body)
            # Text comes back where the server does not call its reply JSON.
            return masked_reply(json.loads(reply) if isinstance(reply, str) else reply, self._key)
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
        except UnicodeEncodeError:
            return Failure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")

    def _failure(self, what: str, *, unreachable: bool = False) -> Failure:
        return Failure(ServerError, clean(what, self._key), transient=True, unreachable=unreachable)

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
                http_client=openai.DefaultAioHttpClient(timeout=timeout, follow_redirects=False),
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()


def _causes(error: BaseException) -> list[BaseException]:
    """``error`` and what caused it, the innermost cause last."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    return causes
