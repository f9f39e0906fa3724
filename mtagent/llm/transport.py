"""One exchange with a server over HTTP. Its exceptions end here.

They carry the request with its headers, so none of them may go on from here, not even as the context of another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Mapping
from importlib.metadata import version
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
import truststore
from yarl import URL

from mtagent.errors import BadRequest, ServerError
from mtagent.llm.limits import Clock
from mtagent.llm.reply import RequestFailure, status_failure
from mtagent.llm.request import Body, room_of
from mtagent.llm.server import server_key
from mtagent.text.masking import KeyFilter, clean, masked_reply

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
    """The proxy that the environment names for ``address`` (``HTTPS_PROXY``, ``NO_PROXY`` …)."""
    parts = urlsplit(address)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


class Transport:
    """Posts chat completions to one server, with the key in the environment variable ``api_key_env``.

    ``api_key`` overrides the environment's; ``headers`` are sent, too; a given ``session`` is used, and not closed.
    Redirects aren't followed: key and texts would go with them. Certificates are checked against the system's.
    """

    def __init__(
        self,
        base_url: str,
        api_key_env: str,
        timeout: float,
        clock: Clock,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        path, mark, query = base_url.partition("?")
        self._address = URL(f"{path.rstrip('/')}/chat/completions{mark}{query}")
        self._proxy = proxy_for(base_url)
        self._key = server_key(api_key_env, base_url, api_key)
        self._headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "User-Agent": f"mtagent/{version('mtagent')}",
            **(headers or {}),
        }
        self._given = session
        self._timeout, self._clock = timeout, clock
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: Body, seconds: float) -> object | RequestFailure:
        """The parsed reply body, or the failure. Gives up after ``seconds``."""
        content = bytearray()
        try:
            sent = orjson.dumps(body)
            async with (
                asyncio.timeout(seconds),
                self._open().post(
                    self._address, data=sent, headers=self._headers, proxy=self._proxy, allow_redirects=False
                ) as response,
            ):
                failed = response.status >= 300
                bound = LONGEST_ERROR if failed else reply_bound(body)
                async for part in response.content.iter_chunked(2**16):  # after decompression
                    content += part
                    if len(content) > bound:
                        break
            if failed:
                now = self._clock.wall()
                error = _error_body(bytes(content[:bound]))
                return status_failure(response.status, response.headers, error, now=now, key=self._key)
            if len(content) > bound:
                message = f"the reply is larger than {bound:,} bytes, which nobody asked for"
                return self._failure(message, answered=True)
            return masked_reply(_parsed(bytes(content)), self._key)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, UNREACHABLE):
                return self._failure(f"no answer within {seconds:.{0 if seconds >= 10 else 1}f} s")
            causes: list[BaseException] = [error]
            while causes[-1].__cause__ is not None:
                causes.append(causes[-1].__cause__)
            innermost = causes[-1]  # the outer ones have no details
            words = str(innermost) or type(innermost).__name__
            if type(innermost) is ssl.SSLError and innermost.reason == "WRONG_VERSION_NUMBER":
                words += "; the server does not seem to speak https at this address: write http://"
            return self._failure(f"no connection, or it broke: {words}", unreachable=isinstance(error, UNREACHABLE))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._failure(f"the reply is not JSON: {error}")
        except RecursionError:
            return self._failure("the reply is JSON that is nested too deep", answered=True)
        except orjson.JSONEncodeError:
            return RequestFailure(BadRequest, "the request holds half a surrogate pair: the text is not valid Unicode")

    def _failure(self, what: str, *, unreachable: bool = False, answered: bool = False) -> RequestFailure:
        """A transient failure; or a useless reply, which was ``answered``."""
        status = 200 if answered else 0
        what = clean(what, self._key)
        return RequestFailure(
            ServerError, what, status, transient=not answered, unreachable=unreachable, answered=answered
        )

    def _open(self) -> aiohttp.ClientSession:
        """The session of the running event loop: connections do not survive their loop."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._loop = loop
            logging.getLogger("aiohttp.client").addFilter(KeyFilter(self._key))  # it logs headers
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,  # the limiter decides how many requests are in flight
                    ssl=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if self._address.scheme == "https" else True,
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


def _parsed(content: bytes) -> object:
    """The JSON of a reply. A whole number of thousands of digits, which Python does not convert, is infinite."""
    with contextlib.suppress(ValueError):  # what orjson refuses may be read by Python's reader: NaN, long numbers
        return orjson.loads(content)
    try:
        return json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        return json.loads(content, parse_int=float)


def _error_body(content: bytes) -> object:
    """The JSON of an error, or its text."""
    try:
        return _parsed(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
