"""The application: every request through one door, errors as each interface says them, health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import re
import secrets
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtagent.errors import ConfigError, MtagentError
from mtagent.serve import deepl, improve, libretranslate
from mtagent.serve.access import key_in
from mtagent.serve.errors import ServiceError, error_response
from mtagent.serve.service import EXCHANGE, Exchange, Service, logger, problem
from mtagent.version import __version__

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")
BODY_SECONDS = 30.0
"""How long a client may take to send its body."""
_HOST_NAME = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*|\[?[\da-fA-F:]*::?[\da-fA-F:.]*\]?")
_ORIGIN = re.compile(r"\*|[a-z][a-z\d+.-]*://[^/\s?#]+")
_ALWAYS = ("/healthz", "/metrics")


def make_app(
    service: Service, *, host_names: Sequence[str] = LOCAL_HOSTS, allow_origins: Sequence[str] = ()
) -> FastAPI:
    """The application around ``service``: it answers to ``host_names`` and to pages of ``allow_origins``, alone.

    Raises :class:`ConfigError` for what is no name of a host, and no origin.
    """
    for name in host_names:
        if not _HOST_NAME.fullmatch(name):
            raise ConfigError(f"--host-name {name}: is no name of a host: write it as in mt.example.org")
    for origin in allow_origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigError(f"--allow-origin {origin}: is no origin: write it as in https://example.org")

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.opened():
            yield

    app = FastAPI(title="mtagent", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for interface in (improve, libretranslate, deepl):
        app.include_router(interface.router(service))

    @app.get("/healthz")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "closing" if service.closing else "ok"}, 503 if service.closing else 200)

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        service.admit(key_in(request))
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.exception_handler(ServiceError)
    async def refused(request: Request, error: ServiceError) -> Response:
        return error_response(request.url.path, error, EXCHANGE.get().headers)

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> Response:
        return error_response(request.url.path, ServiceError(400, problem(error.errors()[0])))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return error_response(request.url.path, ServiceError(error.status_code, str(error.detail)), error.headers)

    app.add_middleware(Door, service=service, allow_origins=allow_origins)
    if allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(allow_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type"],
            expose_headers=["X-Mtagent-Changed", "X-Mtagent-Failed", "X-Mtagent-Late"],
        )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(host_names), www_redirect=False)
    return app


class Door:
    """What every request passes: origin, size of the body, how many are under way; metrics and the log.

    When the client goes away, the work for it is cancelled.
    """

    def __init__(self, app: ASGIApp, service: Service, allow_origins: Sequence[str]) -> None:
        self._app, self._service, self._allow_origins = app, service, allow_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # as long as nothing was sent
        exchange = Exchange(number=secrets.token_hex(8))
        EXCHANGE.set(exchange)

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", exchange.number.encode())]
            await send(message)

        request = Request(scope)
        try:
            if scope["path"] in _ALWAYS:
                await self._app(scope, receive, noting)
            else:
                with self._service.counted():
                    self._refuse_foreign(request)
                    body = await self._body(request, receive)
                    await self._watched(scope, body, receive, noting)
        except ServiceError as error:
            closing = {"Connection": "close"} if self._service.closing or error.status in (408, 413) else None
            await error_response(scope["path"], error, closing)(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log a line
            exchange.error = self._shown(error)
            if status == 499:
                refusal = ServiceError(500, f"the server failed; its operator can see why (request {exchange.number})")
                await error_response(scope["path"], refusal)(scope, receive, noting)
        finally:
            self._note(scope, status, time.perf_counter() - began, exchange)

    def _refuse_foreign(self, request: Request) -> None:
        """Raise :class:`ServiceError` for a page of another origin, which needs no answer to do harm."""
        origin, headers = request.headers.get("origin"), request.headers
        if origin is None:
            foreign = headers.get("sec-fetch-site") == "cross-site"
        else:
            allowed = origin in self._allow_origins or "*" in self._allow_origins
            foreign = not allowed and urlsplit(origin).netloc != headers.get("host")
        if foreign:
            raise ServiceError(403, "pages of other origins may not ask this server")

    async def _body(self, request: Request, receive: Receive) -> bytes:
        most = self._service.limits.body
        length = request.headers.get("content-length", "")
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while not (length.isdecimal() and int(length) > most):
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > most:
                        break
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise ServiceError(408, "the body did not come in time") from None
        raise ServiceError(413, f"the body is too large: the most is {most} bytes")

    async def _watched(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Answer, as long as the client is there."""
        working, gone, given = asyncio.current_task(), asyncio.Event(), False
        assert working is not None

        async def replayed() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()
            working.cancel()

        watching = asyncio.create_task(watch())
        try:
            await self._app(scope, replayed, send)
        except asyncio.CancelledError:
            if not gone.is_set() or working.uncancel():
                raise
        finally:
            watching.cancel()

    def _note(self, scope: Scope, status: int, seconds: float, exchange: Exchange) -> None:
        route = getattr(scope.get("route"), "path", "other")
        metrics = self._service.metrics
        metrics.requests.labels(route, status, exchange.key.name).inc()
        metrics.seconds.labels(route).observe(seconds)
        if not logger.isEnabledFor(logging.INFO):
            return
        counts = {name: getattr(exchange, name) for name in ("segments", "characters", "changed", "failed", "late")}
        usage = exchange.usage
        entry: dict[str, Any] = {
            "request": exchange.number,
            "method": scope["method"],
            "route": route,
            "status": status,
            "seconds": round(seconds, 4),
            "key": exchange.key.name,
            **{name: count for name, count in counts.items() if count},
            **({"tokens": usage.input_tokens + usage.output_tokens, "dollars": usage.cost} if usage.calls else {}),
            **({"error": exchange.error} if exchange.error else {}),
            **({"texts": exchange.texts} if exchange.texts else {}),
        }
        logger.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra={"entry": entry})

    def _shown(self, error: Exception) -> str:
        """An error for the log: its message may hold a text, so where it was raised is all that is said."""
        if isinstance(error, MtagentError):
            return f"{type(error).__name__}: {error}"
        if self._service.log_texts:
            return "".join(traceback.format_exception(error))
        places = [f"{place.filename}:{place.lineno}" for place in traceback.extract_tb(error.__traceback__)[-3:]]
        return f"{type(error).__name__} at {' < '.join(reversed(places))}"


class JsonLogFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record, with the time in UTC."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        entry = getattr(record, "entry", None) or {"message": record.getMessage()}
        return json.dumps({"time": moment, "level": record.levelname.lower(), **entry}, ensure_ascii=False)


# -- the server


class Server(uvicorn.Server):
    """A server that, when it is told to stop, refuses what is new with 503 and ends what is under way."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C stop the server, which then ends as a command that has succeeded."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; at the second signal, stop."""
        if self._service.closing:
            self.should_exit = self.force_exit = True
        self._service.closing = True

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked ten times a second."""
        if self._service.closing and not self.should_exit:
            self._closing_since = getattr(self, "_closing_since", None) or time.monotonic()
            waited = time.monotonic() - self._closing_since
            self.should_exit = waited >= (0.5 if self._service.is_idle else self._service.limits.grace)
        return await super().on_tick(counter)


def bound(host: str, port: int) -> socket.socket:
    """A socket at this address. Raises :class:`ConfigError` where there can be none."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(f"--host {host} --port {port}: {error.strerror or error}") from None


def event_loop() -> asyncio.AbstractEventLoop:
    """The quickest event loop that there is: uvloop's, which Windows does not have."""
    try:
        from uvloop import new_event_loop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return new_event_loop()


async def run_server(app: ASGIApp, service: Service, listening: socket.socket, say: Callable[[], None]) -> None:
    """Serve until a signal stops it, and ``say`` so when it begins. The log goes to standard error, as JSON lines."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLogFormatter())
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    try:
        async with service.opened():  # here, so that a wrong setting is an error of the command
            # What is there by now stays: the collector need not look at it again and again.
            gc.collect()
            gc.freeze()
            say()
            await Server(config, service).serve(sockets=[listening])
    finally:
        logger.removeHandler(lines)
