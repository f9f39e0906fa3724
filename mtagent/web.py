"""Shared by the servers of ``mtagent serve`` and ``mtagent review``: listening, and what requests must fulfil."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Collection, Mapping
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mtagent.errors import ConfigError

MOST_HEADER_BYTES = 65_536
"""Of the request line and all headers of a request."""
HEADER_SECONDS = 10.0
"""How long a client may take to send them, from the moment when it connects or begins the request."""
_ORIGIN = re.compile(r"null|[a-z][a-z\d+.-]*://([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?", re.IGNORECASE | re.ASCII)

FOREIGN_PAGE = "pages of other origins may not use this server"
"""The error for requests of pages for which :func:`is_foreign` is true."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Make a socket that listens at this address; port 0 is any free port. Raises :class:`ConfigError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"--port {port}: cannot listen at {host}: {reason}; choose another port") from None


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 for clients that may be hostile: closes a connection whose headers are too long or arrive too slowly."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._header_bytes = 0
        self._in_headers = False
        self._refusal: bytes | None = None
        self._header_timer: asyncio.TimerHandle | None = None
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse ``data``, and refuse headers that are still incomplete and too long."""
        was_in_headers = self._in_headers
        super().data_received(data)
        if self._in_headers and was_in_headers:
            # The parser passes a header on only when it is complete, so the bytes are counted here.
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._header_bytes = 0
        self._in_headers = True
        self._expect_headers()

    def on_headers_complete(self) -> None:
        """Start the request, unless its headers are too long."""
        self._in_headers = False
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_HEADER_BYTES:
            self._refusal = b"431 Request Header Fields Too Large"
            raise ValueError("the headers are too long")  # ends the parser, which then calls send_400_response
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser cannot read, or that has too long headers."""
        self._in_headers = False
        self._refuse(self._refusal or b"400 Bad Request")

    def _expect_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self._refuse, b"408 Request Timeout")

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _refuse(self, status: bytes) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.transport.close()


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The settings of both servers: uvicorn doesn't log, and sends no header that names it."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )


def request_key(request: Request) -> str | None:
    """The key in the header ``Authorization``: ``DeepL-Auth-Key KEY`` or ``Bearer KEY``."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() not in ("deepl-auth-key", "bearer"):
        return None
    return key.strip()


def is_foreign(request: Request, allowed_origins: Collection[str]) -> bool:
    """Whether a web page of another origin sent the request. ``*`` allows all origins.

    Such a page can do harm even if it can't read the answer. Programs other than browsers send neither header.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "cross-site"
    return origin not in allowed_origins and "*" not in allowed_origins


def is_malformed_origin(request: Request) -> bool:
    """Whether the header ``Origin`` isn't an origin. No browser sends such a header."""
    origin = request.headers.get("origin")
    return origin is not None and not _ORIGIN.fullmatch(origin)


def field_problem(error: Mapping[str, Any]) -> str:
    """A message for one of pydantic's errors: the field and the problem, without the field's content."""
    if error["type"] == "json_invalid":  # as FastAPI reports it, with the position in place of a field
        return json_problem(error["loc"][-1], error["ctx"]["error"])
    field = ".".join(str(part) for part in error["loc"] if part != "body") or "the body"
    return f"{field}: {error['msg'].removeprefix('Value error, ')}"


def json_problem(position: int, problem: str) -> str:
    """A message for a body that isn't JSON: the ``position`` of its first character that can't be read, and why."""
    return f"the body is not JSON: character {position + 1}: {problem}"
