"""What the servers of ``mtagent serve`` and ``mtagent review`` share: listening, and reading who sent a request."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp

from mtagent.errors import ConfigError

FOREIGN_PAGE = "pages of other origins may not ask this server"
"""The answer to a request of a page for which :func:`is_foreign` is true."""


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at this address; port 0 = any free port. Raises :class:`ConfigError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"--port {port}: cannot listen at {host}: {reason}; choose another port") from None


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The settings of both servers: uvicorn logs nothing, and does not tell clients what it is."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )


def request_key(request: Request) -> str | None:
    """The key in the header: ``DeepL-Auth-Key KEY`` or ``Bearer KEY``."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() in ("deepl-auth-key", "bearer") else None


def is_foreign(request: Request, allowed_origins: Collection[str]) -> bool:
    """Whether a page of another origin sent the request. ``*`` allows all origins.

    Such a page can do harm without seeing the answer. Programs other than browsers send neither header.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "cross-site"
    return origin not in allowed_origins and "*" not in allowed_origins


def field_problem(error: Mapping[str, Any]) -> str:
    """What is wrong with a field of a request, from one of pydantic's errors, without the field's content."""
    place = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"
