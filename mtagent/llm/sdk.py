"""The ``openai`` package: what its clients send, and a transport that lets them send it themselves.

Only public parts of the package are used. It is imported with this module, which is imported when a model is called.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import ssl
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl

import openai
import truststore
from yarl import URL

from mtagent.errors import AuthenticationError, BadRequest, ConfigError
from mtagent.llm.connections import lost_connection
from mtagent.llm.limits import Clock, ReadLimits
from mtagent.llm.reply import (
    RequestFailure,
    connection_failure,
    error_body,
    exchange_failure,
    key_failure,
    late_failure,
    stated_limits,
    status_failure,
    unreadable_failure,
)
from mtagent.llm.request import OPTIONAL, Body
from mtagent.llm.server import Endpoint, KeyUnavailable, refuse_closed
from mtagent.text.masking import SHORT, clean, masked_reply

logger = logging.getLogger(__name__)

PATH = "/chat/completions"
ARGUMENTS = frozenset({"model", "messages", *OPTIONAL})
"""Fields of a request that are arguments of ``create``; others go into its ``extra_body``."""
NOT_CONNECTED = ("ConnectError", "ConnectTimeout")
"""Errors of httpx and httpx2, of which the installed version of the package uses one."""
OF_CREDENTIALS = ("Authentication", "Credential", "TokenProvider")
"""One of these is in the name of an error about a token: ``ClientAuthenticationError``, ``NoCredentialsError``."""
OF_ENDED_LOOP = ("Event loop is closed", "different loop", "different event loop")
"""Words of errors about a connection that belongs to an event loop that has ended."""
OF_HTTP = frozenset({"accept-encoding", "connection", "content-length", "host"})
"""Headers that the package that posts a request sets itself."""
OF_THE_PACKAGE = "x-stainless-"
"""Begins headers about how the ``openai`` package itself posts: its retries, timeout and library."""


@dataclass(frozen=True)
class RequestHead:
    """Where a request goes, with which headers, as aiohttp takes them."""

    url: URL
    headers: Mapping[str, str] = field(repr=False)
    keys: str = field(repr=False)
    """The secrets among the headers, one per line, as :func:`mtagent.text.masking.masked` takes them."""


class _NotSent(Exception):
    """Ends a request of the package before it is sent."""

    def __init__(self, request: Any) -> None:
        self.request = request


class _NoTransport:
    """In place of the package's transport: nothing is sent."""

    async def handle_async_request(self, request: Any) -> Any:
        raise _NotSent(request)

    async def aclose(self) -> None:
        """Nothing was opened."""


def _client(endpoint: Endpoint, key: Any, http_client: Any) -> openai.AsyncOpenAI:
    """A client of the package for ``endpoint``, which never repeats a request, and names mtagent.

    It sends ``key``, or what ``key``, an asynchronous function, returns for each request.
    """
    headers = {"User-Agent": f"mtagent/{version('mtagent')}", **endpoint.headers}
    if endpoint.azure_endpoint is not None:
        credentials = "api_key"
        if callable(endpoint.api_key):  # it returns Entra tokens
            credentials = "azure_ad_token_provider" if callable(key) else "azure_ad_token"
        return openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint.azure_endpoint.strip(),
            api_version=endpoint.api_version,
            default_headers=headers,
            http_client=http_client,
            max_retries=0,
            **{credentials: key},
        )
    address, _, query = endpoint.address.partition("?")
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=address,
        default_headers=headers,
        default_query=dict(parse_qsl(query, keep_blank_values=True)),
        http_client=http_client,
        max_retries=0,
    )


@contextmanager
def _untraced() -> Iterator[None]:
    """OpenTelemetry, if a program uses it, records no span for a request that isn't sent."""
    context = sys.modules.get("opentelemetry.context")
    if context is None:
        yield
        return
    token = context.attach(context.set_value("suppress_instrumentation", True))
    try:
        yield
    finally:
        context.detach(token)


async def request_head(endpoint: Endpoint, model: str, key: str | None) -> RequestHead:
    """Address and headers of a request for ``model``, as the installed version of the package would send it.

    The package makes a whole request, and a transport that sends nothing hands it over.
    """
    http_client = openai.DefaultAsyncHttpxClient(transport=_NoTransport(), trust_env=False)  # type: ignore[arg-type]
    client = _client(endpoint, key, http_client)
    request: Any = None
    try:
        with _untraced():
            await client.post(PATH, body={"model": model, "messages": []}, cast_to=object)
    except (_NotSent, openai.APIConnectionError) as error:  # some versions wrap the first in the second
        request = error.request
    finally:
        await client.close()
    headers = {}
    for name, value in request.headers.items():
        if name not in OF_HTTP and not name.startswith(OF_THE_PACKAGE):
            headers[name] = value
    url = str(request.url)
    if endpoint.azure_endpoint is None:
        _, mark, query = endpoint.address.partition("?")
        url = f"{url.partition('?')[0]}{mark}{query}"  # as the user wrote it; the package writes "+" for a space
    return RequestHead(URL(url, encoded=True), headers, _secrets(endpoint, _key_of(headers)))


def _key_of(headers: Mapping[str, str]) -> str:
    """The key among the headers of a request."""
    return headers.get("api-key") or headers.get("authorization", "").removeprefix("Bearer ")


def _secrets(endpoint: Endpoint, key: str | None) -> str:
    """The key, and headers of the user's that may be keys, too, one per line."""
    return "\n".join(filter(None, [key, *(value for value in endpoint.headers.values() if len(value) >= SHORT)]))


_READ_LIMITS: ContextVar[ReadLimits | None] = ContextVar("_READ_LIMITS", default=None)
"""Takes the limits that the reply to the current request states."""


async def _read_headers(response: Any) -> None:
    stated, read_limits = stated_limits(response.headers), _READ_LIMITS.get()
    if stated and read_limits is not None:
        read_limits(stated)


async def made_client(endpoint: Endpoint) -> openai.AsyncOpenAI:
    """A client of the package for ``endpoint``, which the caller closes."""
    http_client = openai.DefaultAsyncHttpxClient(
        verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        follow_redirects=False,
        event_hooks={"response": [_read_headers]},
    )
    key: Any = endpoint.key
    if not callable(endpoint.api_key):
        key = await key()
    return _client(endpoint, key, http_client)


def failure_of(error: Exception, key: str, seconds: float, now: float) -> RequestFailure:
    """The failure that a client of the package raised as ``error``. ``now``: seconds since 1970."""
    if isinstance(error, openai.APIStatusError):
        key, content = _key_of(error.request.headers), error_body(error.response.content)
        return status_failure(error.status_code, error.response.headers, content, now=now, key=key)
    if isinstance(error, TimeoutError):
        return late_failure(seconds, key)
    if isinstance(error, openai.APITimeoutError):  # earlier than that
        return replace(exchange_failure("no answer within the client's own timeout", key), late=True)
    if isinstance(error, openai.APIConnectionError):
        return connection_failure(error, key, unreachable=type(error.__cause__).__name__ in NOT_CONNECTED)
    if isinstance(error, openai.APIResponseValidationError):
        return exchange_failure(f"the reply isn't a chat completion: {error}", key)
    if isinstance(error, KeyUnavailable):
        return key_failure(error)
    if isinstance(error, json.JSONDecodeError | UnicodeError | RecursionError):
        return unreadable_failure(error, key)
    what = f"the client raised {type(error).__name__}: {error}"
    is_of_loop = isinstance(error, RuntimeError) and any(words in str(error) for words in OF_ENDED_LOOP)
    # The package has errors of its own for lost connections to the model's server: this was the one of a token.
    if lost_connection(error) is not None or is_of_loop:
        return replace(exchange_failure(what, key), unsent=True)
    if any(word in type(error).__name__ for word in OF_CREDENTIALS):
        return RequestFailure(AuthenticationError, clean(what, key), unsent=True)
    return RequestFailure(BadRequest, clean(what, key))


_LOOPS: weakref.WeakKeyDictionary[Any, weakref.ref[asyncio.AbstractEventLoop]] = weakref.WeakKeyDictionary()
"""The event loop in which each user's client was used last."""


_WARNED_OF: weakref.WeakSet[Any] = weakref.WeakSet()
"""The users' clients that repeat requests themselves, each of which is warned of once."""


def _refuse_second_loop(client: Any) -> None:
    """Raise :class:`ConfigError` for a user's client that another running loop uses: its connections belong to one."""
    loop = asyncio.get_running_loop()
    last_loop = _LOOPS[client]() if client in _LOOPS else None
    if last_loop is loop:
        return
    if last_loop is not None and last_loop.is_running():
        raise ConfigError(
            "client: it is used in two event loops at once, and its connections belong to one of them: pass a function "
            "that makes a client for each loop (client=make_client), or another client to each agent"
        )
    _LOOPS[client] = weakref.ref(loop)


class SDKTransport:
    """Lets a client of the ``openai`` package post chat completions: a user's, or one made for ``endpoint``.

    A user's client is never closed, and keeps its configuration. ``instrumented``: requests go through
    ``chat.completions.create``, which tracing packages wrap; otherwise through ``client.post``, which takes less
    time, repeats nothing and follows no redirect.
    """

    def __init__(
        self, clock: Clock, *, client: Any = None, endpoint: Endpoint | None = None, instrumented: bool = False
    ) -> None:
        self._clock = clock
        self._client = client
        self._endpoint = endpoint
        self._instrumented = instrumented
        if instrumented:  # loaded here, so that it isn't part of the first request's time
            importlib.import_module("openai.resources.chat.completions")
        if instrumented and client is not None and client.max_retries and client not in _WARNED_OF:
            _WARNED_OF.add(client)
            logger.warning(
                "client: it repeats failed requests itself (max_retries=%d), so mtagent sees fewer refusals and paces "
                "its requests worse: make the client with max_retries=0",
                client.max_retries,
            )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits | None = None) -> object | RequestFailure:
        """The parsed reply body, or the failure. Gives up after ``seconds``.

        A user's client keeps the headers of replies to itself, so ``read_limits`` gets none from it. Raises
        :class:`ConfigError` if such a client is closed, or used in several event loops at once, or if what wraps it
        doesn't return the reply.
        """
        if self._endpoint is None:
            refuse_closed(self._client)
            _refuse_second_loop(self._client)
        key = ""
        _READ_LIMITS.set(read_limits)
        try:
            async with asyncio.timeout(seconds):
                client = await self._open()
                key = str(client.api_key)
                payload = await self._sent(client, body)
            return masked_reply(payload, key)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 a user's client, and what wraps it, may raise anything
            return failure_of(error, key, seconds, self._clock.wall())

    async def _sent(self, client: Any, body: Body) -> object:
        if not self._instrumented:
            options = {"max_retries": 0, "follow_redirects": False}
            return await client.post(PATH, body=body, cast_to=object, options=options)
        arguments = {name: value for name, value in body.items() if name in ARGUMENTS}
        others = {name: value for name, value in body.items() if name not in ARGUMENTS}
        reply = await client.chat.completions.create(**arguments, extra_body=others or None)
        if isinstance(reply, openai.BaseModel):
            return reply.to_dict()
        if isinstance(reply, dict) and "choices" in reply:
            return reply
        if isinstance(reply, str):  # what the package returns if the server didn't send JSON
            raise json.JSONDecodeError("the client returned a text", reply, 0)
        raise ConfigError(
            f"client: chat.completions.create returned {type(reply).__name__} and not the reply of the openai package: "
            "what wraps it must return what the wrapped function returned"
        )

    async def _open(self) -> Any:
        """The user's client, or one for the running event loop: connections do not survive their loop."""
        if self._endpoint is None:
            return self._client
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = await made_client(self._endpoint)
        return self._client

    async def aclose(self) -> None:
        """Close the connections of a client that was made here. The next request opens new ones."""
        if self._endpoint is not None and self._client is not None:
            client, self._client = self._client, None
            if self._loop is asyncio.get_running_loop():
                await client.close()
