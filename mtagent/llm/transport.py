"""One exchange with a server over HTTP. Its exceptions end here.

They carry the request with its headers, so none of them may go on from here, not even as the context of another.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import truststore

from mtagent.errors import ConfigError
from mtagent.llm.limits import Clock, ReadLimits
from mtagent.llm.reply import (
    RequestFailure,
    connection_failure,
    error_body,
    exchange_failure,
    key_failure,
    late_failure,
    parsed,
    stated_limits,
    status_failure,
    unreadable_failure,
)
from mtagent.llm.request import Body, room_of, sent_json
from mtagent.llm.server import Endpoint, KeyUnavailable
from mtagent.text.masking import KeyFilter, masked_reply

if TYPE_CHECKING:
    from mtagent.llm.sdk import RequestHead

LONGEST_CONNECT = 30.0
UNREACHABLE = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)

SMALLEST_BOUND = 1_000_000
LONGEST_ERROR = 100_000
ROOM_WITHOUT_LIMIT = 16_384  # tokens
TOKEN_BYTES = 64  # as JSON, and generously: a token has about four characters, and thoughts may be added
LOGPROB_BYTES = 512
TOP_LOGPROB_BYTES = 256


def reply_bound(body: Body) -> int:
    """The most bytes that a reply to ``body`` is read for."""
    logprobs = LOGPROB_BYTES + TOP_LOGPROB_BYTES * int(body.get("top_logprobs") or 0) if body.get("logprobs") else 0
    return max(SMALLEST_BOUND, (room_of(body) or ROOM_WITHOUT_LIMIT) * (TOKEN_BYTES + logprobs))


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for ``address`` (``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY`` …).

    Raises :class:`ConfigError` for a proxy that speaks anything but HTTP.
    """
    parts = urlsplit(address)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or proxy_bypass(parts.netloc):
        return None
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigError(
            f"the proxy for {parts.hostname} must begin with http:// or https:// ({parts.scheme.upper()}_PROXY, "
            "ALL_PROXY): name another, or list the server in NO_PROXY"
        )
    return proxy


class Transport:
    """Posts chat completions for ``model`` to the server of ``endpoint``.

    A given ``session`` is used, and not closed. Redirects aren't followed: key and texts would go with them.
    Certificates are checked against the system's. Raises :class:`ConfigError` for a key or a proxy that cannot work.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        timeout: float,
        clock: Clock,
        *,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        endpoint.check_key()
        self._endpoint = endpoint
        self._model = model
        self._address = endpoint.address
        self._proxy = proxy_for(self._address)
        self._given = session
        self._timeout, self._clock = timeout, clock
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._key: str | None = None
        self._prepared: RequestHead | None = None

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits | None = None) -> object | RequestFailure:
        """The parsed reply body, or the failure. Gives up after ``seconds``.

        Raises :class:`ConfigError` for a given session that is closed, or belongs to another event loop.
        """
        content = bytearray()
        keys = ""
        if self._prepared is None:  # loading the openai package isn't part of a request's time
            importlib.import_module("mtagent.llm.sdk")
        try:
            sent = sent_json(body)
            async with asyncio.timeout(seconds):
                head = await self._head()
                keys = head.keys
                async with self._open().post(
                    head.url, data=sent, headers=head.headers, proxy=self._proxy, allow_redirects=False
                ) as response:
                    failed = response.status >= 300
                    stated = stated_limits(response.headers)
                    if stated and read_limits is not None:
                        read_limits(stated)
                    bound = LONGEST_ERROR if failed else reply_bound(body)
                    async for part in response.content.iter_chunked(2**16):  # after decompression
                        content += part
                        if len(content) > bound:
                            break
            if failed:
                now = self._clock.wall()
                error = error_body(bytes(content[:bound]))
                return status_failure(response.status, response.headers, error, now=now, key=keys)
            if len(content) > bound:
                message = f"the reply is larger than {bound:,} bytes, which nobody asked for"
                return exchange_failure(message, keys, answered=True)
            return masked_reply(parsed(bytes(content)), keys)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, UNREACHABLE):
                return late_failure(seconds, keys)
            proxy = ""
            if isinstance(error, aiohttp.ClientProxyConnectionError):
                proxy = urlsplit(self._proxy or "").netloc.rpartition("@")[2]
            return connection_failure(error, keys, unreachable=isinstance(error, UNREACHABLE), proxy=proxy)
        except KeyUnavailable as error:
            return key_failure(error)
        except (json.JSONDecodeError, UnicodeError, RecursionError) as error:
            return unreadable_failure(error, keys)

    async def _head(self) -> RequestHead:
        """Address and headers of a request, with the key that is valid now."""
        key = await self._endpoint.key()
        if self._prepared is None or key != self._key:
            from mtagent.llm.sdk import request_head

            head = await request_head(self._endpoint, self._model, key)
            logger = logging.getLogger("aiohttp.client")  # it logs headers
            if self._prepared is not None:
                logger.removeFilter(KeyFilter(self._prepared.keys))
            logger.addFilter(KeyFilter(head.keys))
            self._prepared, self._key = head, key
        return self._prepared

    def _open(self) -> aiohttp.ClientSession:
        """The session of the running event loop: connections do not survive their loop."""
        loop = asyncio.get_running_loop()
        if self._given is not None:
            if self._given.closed:
                raise ConfigError("http_client: is closed: close it after the agent's last call")
            # The public attribute is deprecated. The session would wait for answers in the loop in which it was made.
            if getattr(self._given, "_loop", loop) is not loop:
                raise ConfigError(
                    "http_client: it was made in another event loop than that of this call: in the loop of the "
                    "session, use the methods that are awaited, such as atranslate; other calls, such as translate, "
                    "have a loop of their own: leave http_client out"
                )
            return self._given
        if self._session is None or self._loop is not loop:
            self._loop = loop
            is_https = self._address.startswith("https:")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,  # the limiter decides how many requests are in flight
                    ssl=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_https else True,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(self._timeout, LONGEST_CONNECT)),
            )
        return self._session

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()
