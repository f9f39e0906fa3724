"""Shared by the servers of ``mtagent serve`` and ``mtagent review``: listening, keys and origins of requests."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp

from mtagent.errors import ConfigError

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


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The settings of both servers: uvicorn doesn't log, and sends no header that names it."""
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


def field_problem(error: Mapping[str, Any]) -> str:
    """A message for one of pydantic's errors: the field and the problem, without the field's content."""
    field = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{field}: {error['msg'].removeprefix('Value error, ')}"
