"""The application: checks of every request, the service's own interface, errors, health, metrics, and the server."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import logging
import re
import secrets
import socket
import sqlite3
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Annotated, Any

import orjson
import uvicorn
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtagent.errors import ConfigError, ModelError, MtagentError
from mtagent.llm.reply import RequestFailure
from mtagent.records import Chain, Segment, Term
from mtagent.serve import deepl, libretranslate
from mtagent.serve.access import ServiceError, error_response, takes_key_in_body
from mtagent.serve.account import REQUEST_ACCOUNT, RequestAccount, error_for_log
from mtagent.serve.service import Service, end_now, is_late, logger, read_fields, read_json, with_matching_terms
from mtagent.translators.protocol import Markup
from mtagent.version import __version__
from mtagent.web import FOREIGN_PAGE, field_problem, is_foreign, is_malformed_origin, request_key, server_config

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")
BODY_SECONDS = 30.0
"""How long a client may take to send its body."""
STRANGER_SECONDS = 10.0
"""The same for a client whose key is not known yet, because it may be in the body, or because there are no keys."""
END_SECONDS = 1.0
"""How long the answers to requests may take whose work was ended."""
MOST_STRANGERS = 128
"""How many such bodies are read at a time. One more cuts off the client that has been sending for the longest time."""
_HOST_NAME = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*|\[?[\da-fA-F:]*::?[\da-fA-F:.]*\]?")
_ORIGIN = re.compile(r"\*|[a-z][a-z\d+.-]*://[^/\s?#]+")
_ALWAYS = ("/healthz", "/livez", "/health", "/metrics")
_NDJSON = "application/x-ndjson"
_JSON_TYPE = re.compile(r"application/([^/]+\+)?json")


def make_app(
    service: Service, *, host_names: Sequence[str] = LOCAL_HOSTS, allow_origins: Sequence[str] = ()
) -> FastAPI:
    """Make the application for ``service``. It accepts requests to ``host_names``, and web pages of ``allow_origins``.

    Raises :class:`ConfigError` for an invalid host name or origin.
    """
    for name in host_names:
        if not _HOST_NAME.fullmatch(name):
            raise ConfigError(f"--host-name: expected a host name such as mt.example.org, not {name!r}")
    for origin in allow_origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigError(f"--allow-origin: expected an origin such as https://example.org, not {origin!r}")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.opened():
            yield

    app = FastAPI(title="mtagent", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for make_router in (own_router, libretranslate.router, deepl.router):
        app.include_router(make_router(service))

    @app.head("/healthz", include_in_schema=False)
    @app.head("/health", include_in_schema=False)
    @app.get("/healthz")
    @app.get("/health", tags=["LibreTranslate"])
    async def health() -> JSONResponse:
        health = service.health
        return JSONResponse(health, 200 if health["status"] in ("ok", "degraded") else 503)

    @app.head("/livez", include_in_schema=False)
    @app.get("/livez")
    async def live() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        service.admit(request)
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    _add_error_handlers(app)
    app.add_middleware(ServiceMiddleware, service=service, allow_origins=allow_origins)
    if allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(allow_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type"],
            expose_headers=[
                "X-Mtagent-Changed",
                "X-Mtagent-Failed",
                "X-Mtagent-Late",
                "X-Mtagent-Paused",
                "X-Mtagent-Missing-Terms",
            ],
        )
    app.add_middleware(HostMiddleware, host_names=host_names)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    """Answer each error in the form of the interface to which the path belongs."""

    @app.exception_handler(ServiceError)
    async def refused(request: Request, error: ServiceError) -> Response:
        _note_refusal(error)
        return error_response(request.scope["path"], error, REQUEST_ACCOUNT.get().headers)

    @app.exception_handler(sqlite3.Error)
    async def not_stored(request: Request, error: sqlite3.Error) -> Response:
        REQUEST_ACCOUNT.get().error = f"the state file: {error}"
        refusal = ServiceError(503, "the server's state cannot be read or written now", retry_after=1)
        return error_response(request.scope["path"], refusal)

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> Response:
        return error_response(request.scope["path"], ServiceError(400, field_problem(error.errors()[0])))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return error_response(request.scope["path"], ServiceError(error.status_code, str(error.detail)), error.headers)


def _note_refusal(error: ServiceError) -> None:
    """Note for the log why the request is refused. The message for a bad request may quote the request."""
    account = REQUEST_ACCOUNT.get()
    if error.status != 400 and account.error is None:
        account.error = error.message


class HostMiddleware:
    """Refuses unknown names in the header ``Host``, which pages of other sites can make point here.

    Probes in a cluster name the address of the pod. No page can forge that, so it may be any address.
    """

    def __init__(self, app: ASGIApp, host_names: Sequence[str]) -> None:
        self._app = app
        self._host_names = [_host(name) for name in host_names]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or refuse it."""
        if scope["type"] == "http":
            host = _host(Request(scope).headers.get("host", ""))
            if not self._is_known(host) and not (scope["path"] in _ALWAYS and _is_address(host)):
                refusal = ServiceError(400, "this server has another host name; its operator can add one: --host-name")
                await error_response(scope["path"], refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        for name in self._host_names:
            if name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:])):
                return True
        return False


def _host(host_and_port: str) -> str:
    """The host in lower case, without a port, and without the brackets of an IPv6 address."""
    if host_and_port.startswith("["):
        return host_and_port[1:].partition("]")[0].lower()
    if host_and_port.count(":") > 1:
        return host_and_port.lower()  # an IPv6 address without brackets has no port
    return host_and_port.partition(":")[0].lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class BodyCutOff(ServiceError):
    """The body of a stranger isn't read any more, because too many others have come. Many clients may just be quick."""

    def __init__(self) -> None:
        super().__init__(503, "the server is busy", retry_after=1)


class ServiceMiddleware:
    """Checks each request's origin, key and size and the number of requests in flight; writes metrics and the log.

    A body is read only if its client has a key, or may have it in the body. It takes a place among the requests in
    flight only when it is complete.

    When a client disconnects, its work is cancelled.
    """

    def __init__(self, app: ASGIApp, service: Service, allow_origins: Sequence[str]) -> None:
        self._app = app
        self._service = service
        self._allow_origins = allow_origins
        self._strangers = deque[asyncio.Timeout]()  # of the bodies of strangers that are being read, the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 499  # the client disconnected; replaced when a response is sent
        account = RequestAccount(number=secrets.token_hex(8))
        REQUEST_ACCOUNT.set(account)

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", account.number.encode())]
            await send(message)

        request = Request(scope)
        try:
            if scope["path"] in _ALWAYS:
                await self._app(scope, receive, noting)
            else:
                self._service.check_capacity()
                self._refuse_foreign(request)
                body = await self._body(request, receive)
                with self._service.counted():
                    await self._watched(scope, body, receive, noting)
        except ServiceError as error:
            _note_refusal(error)
            # The rest of a body that was not read isn't waited for.
            is_closed = self._service.closing or error.status != 503 or isinstance(error, BodyCutOff)
            closing = {"Connection": "close"} if is_closed else None
            await error_response(scope["path"], error, closing)(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log a line
            account.error = shown_error(error, self._service.log_texts)
            if status == 499:
                refusal = ServiceError(500, f"the server failed; its operator can see why (request {account.number})")
                await error_response(scope["path"], refusal)(scope, receive, noting)
        finally:
            self._note(scope, status, time.perf_counter() - start, account)

    def _refuse_foreign(self, request: Request) -> None:
        """Raise :class:`ServiceError` for a page of another origin."""
        if is_malformed_origin(request):
            raise ServiceError(400, "the header Origin is malformed")
        host = request.headers.get("host", "")
        # Behind a proxy, pages of this server may use HTTPS.
        if is_foreign(request, [f"http://{host}", f"https://{host}", *self._allow_origins]):
            raise ServiceError(403, FOREIGN_PAGE)

    def _is_stranger(self, request: Request) -> bool:
        """Whether the client's key is not known yet. Raises :class:`ServiceError` if it can't be in the body either."""
        access = self._service.access
        if access.is_open:
            return True
        try:
            # For the log, if the request is refused before its route admits it.
            REQUEST_ACCOUNT.get().key = access.find(request_key(request))
        except ServiceError:
            # Routes that only read check the key themselves, if they need one.
            if request.method not in ("GET", "HEAD", "OPTIONS") and not takes_key_in_body(request.scope["path"]):
                raise
            return True
        return False

    async def _body(self, request: Request, receive: Receive) -> bytes:
        """Read the body. Raises :class:`ServiceError` if it is too large or arrives too slowly, or the key is wrong."""
        is_stranger = self._is_stranger(request)
        limit = self._service.limits.body
        too_large = ServiceError(413, f"the body is too large; the limit is {limit} bytes")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(STRANGER_SECONDS if is_stranger else BODY_SECONDS) as timeout:
                self._service.bodies.add(timeout)
                if is_stranger:
                    self._cut_off_oldest(timeout)
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            self._service.check_open()
            if is_stranger and timeout not in self._strangers:
                raise BodyCutOff() from None
            raise ServiceError(408, "the body did not arrive in time") from None
        finally:
            self._service.bodies.discard(timeout)
            with suppress(ValueError):
                self._strangers.remove(timeout)

    def _cut_off_oldest(self, timeout: asyncio.Timeout) -> None:
        """Note that a stranger's body is read until ``timeout``. If there are too many, the oldest one ends now."""
        self._strangers.append(timeout)
        if len(self._strangers) > MOST_STRANGERS:
            end_now(self._strangers.popleft())

    async def _watched(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Answer the request, and cancel the work when the client disconnects."""
        task = asyncio.current_task()
        assert task is not None
        disconnected = asyncio.Event()
        body_was_read = False

        async def replay() -> Message:
            nonlocal body_was_read
            if not body_was_read:
                body_was_read = True
                return {"type": "http.request", "body": body, "more_body": False}
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            disconnected.set()
            task.cancel()

        watching = asyncio.create_task(watch())
        try:
            await self._app(scope, replay, send)
        except asyncio.CancelledError:
            if not disconnected.is_set() or task.uncancel():
                raise
        finally:
            watching.cancel()

    def _note(self, scope: Scope, status: int, seconds: float, account: RequestAccount) -> None:
        route = getattr(scope.get("route"), "path", "other")
        metrics = self._service.metrics
        metrics.requests.labels(route, status, account.key.name).inc()
        metrics.seconds.labels(route).observe(seconds)
        if not logger.isEnabledFor(logging.INFO):
            return
        entry: dict[str, Any] = {
            "request": account.number,
            "method": scope["method"],
            "route": route,
            "status": status,
            "seconds": round(seconds, 4),
            "key": account.key.name,
        }
        # Fields without content are left out: a log has many lines.
        for name in ("segments", "characters", "changed", "failed", "late", "paused", "missing_terms"):
            count = getattr(account, name)
            if count:
                entry[name] = count
        usage = account.usage
        if usage.calls:
            entry |= {"tokens": usage.input_tokens + usage.output_tokens, "dollars": usage.cost}
        if account.error:
            entry["error"] = account.error
        if account.failures:
            entry["failures"] = account.failures
        if account.texts:
            entry["texts"] = account.texts
        logger.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra={"entry": entry})


class JsonLogFormatter(logging.Formatter):
    """Formats each record as one line of JSON. Without ``log_texts``, what may hold a text is left out."""

    def __init__(self, log_texts: bool = False) -> None:
        super().__init__()
        self._log_texts = log_texts

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON, with the time in UTC."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        entry = getattr(record, "entry", None)
        if entry is None:
            message = self._message(record)
            entry = {"message": message}
            if record.exc_info and record.exc_info[1] is not None:
                entry["error"] = shown_error(record.exc_info[1], self._log_texts)
        return json.dumps({"time": moment, "level": record.levelname.lower(), **entry}, ensure_ascii=False)

    def _message(self, record: logging.LogRecord) -> str:
        if self._log_texts:
            return record.getMessage()
        if not record.name.startswith("mtagent"):
            # In asyncio's messages, further lines contain the values of a task.
            return record.getMessage().partition("\n")[0]
        if not isinstance(record.args, tuple):
            return record.getMessage()
        values: list[object] = []
        for value in record.args:
            if isinstance(value, RequestFailure):
                values.append(value.cause)
            elif isinstance(value, ModelError):
                values.append(error_for_log(value, False))
            else:
                values.append(value)
        return str(record.msg) % tuple(values) if values else str(record.msg)

    def line(self, message: str, level: int) -> str:
        """Return a message as JSON."""
        return self.format(logging.LogRecord("mtagent.serve", level, "", 0, message, None, None))


def shown_error(error: BaseException, log_texts: bool) -> str:
    """An error for the log. Its message may hold a text, so ``log_texts`` decides what is shown of it."""
    if isinstance(error, MtagentError):
        return error_for_log(error, log_texts)
    if log_texts:
        return "".join(traceback.format_exception(error))
    places = [f"{place.filename}:{place.lineno}" for place in traceback.extract_tb(error.__traceback__)[-3:]]
    return f"{type(error).__name__} at {' < '.join(reversed(places))}"


@contextmanager
def json_log(log_texts: bool = False) -> Iterator[JsonLogFormatter]:
    """Write every message of this process to standard error, as lines of JSON.

    They come from all loggers, from warnings, and from errors that nobody handles: in threads, and in deleted objects.
    """
    formatter = JsonLogFormatter(log_texts)
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(formatter)
    root = logging.getLogger()
    hooks = threading.excepthook, sys.unraisablehook

    def note_thread(failure: threading.ExceptHookArgs) -> None:
        root.error("a thread failed", exc_info=failure.exc_value)

    def note_unraisable(failure: sys.UnraisableHookArgs) -> None:
        root.error("an error could not be raised", exc_info=failure.exc_value)

    root.addHandler(lines)
    logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook, sys.unraisablehook = note_thread, note_unraisable
    try:
        yield formatter
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        logging.captureWarnings(False)
        root.removeHandler(lines)


# -- the service's own interface


class SegmentDetails(BaseModel):
    """Details of a segment, or of all segments. ``terms`` maps source terms to their translations."""

    model_config = ConfigDict(extra="forbid")

    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = Field(default=None, max_length=200)
    context: str | None = None
    notes: str | None = None
    terms: dict[str, str | None] | list[Term] = {}


class ImproveSegment(SegmentDetails):
    """A text, and its translation to improve, if it has one."""

    id: str | None = None
    source: str
    translation: str | None = None
    candidates: list[str] = Field(default=[], max_length=8)
    reference: str | None = None


class ImproveRequest(SegmentDetails):
    """Segments, and details of all of them. After ``timeout`` seconds a text is returned as it is."""

    segments: list[ImproveSegment]
    instructions: str | None = None
    markup: Markup | None = None
    timeout: float | None = Field(default=None, gt=0)


class ImproveRoute(APIRoute):
    """Reads the body of an :class:`ImproveRequest` itself, in a third of the time that FastAPI takes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Make the function that answers a request."""

        async def handle(request: Request) -> Response:
            content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if not _JSON_TYPE.fullmatch(content_type):
                raise ServiceError(400, "the body is not JSON, or its Content-Type is not application/json")
            data = read_json(await request.body())
            response: Response = await self.endpoint(request, read_fields(ImproveRequest, data))
            return response

        return handle


def own_router(service: Service) -> APIRouter:
    """The routes of the service's own interface: it takes segments with details such as terms, and returns chains."""
    routes = APIRouter(tags=["mtagent"])

    async def improve(request: Request, body: ImproveRequest) -> Response:
        """Improve segments. ``Accept: application/x-ndjson`` streams the chains, one per line, as they are done."""
        service.admit(request)
        account = REQUEST_ACCOUNT.get()
        if body.markup:
            account.markup = (body.markup, frozenset())
        segments = _segments(service, body)
        await service.charge(segments)
        if _NDJSON in request.headers.get("accept", ""):
            return StreamingResponse(_lines(service, segments, body.timeout), media_type=_NDJSON)
        chains = await service.all_improved(segments, body.timeout)
        content = orjson.dumps({"chains": [plain(chain) for chain in chains]})
        return Response(content, media_type="application/json", headers=account.headers)

    routes.add_api_route(
        "/v1/improve", improve, methods=["POST"], response_model=None, route_class_override=ImproveRoute
    )

    @routes.get("/v1/segments", response_model=None)
    async def kept(
        request: Request, source: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """Return the newest texts of this key that the server stores (``--keep``), optionally with this ``source``."""
        key = service.admit(request)
        return JSONResponse({"segments": await service.state.kept(key.name, source, limit)})

    return routes


async def _lines(service: Service, segments: list[Segment], timeout: float | None) -> AsyncIterator[str]:  # noqa: ASYNC109
    try:
        with service.refunding():
            async with aclosing(service.improved(segments, timeout)) as chains:
                async for chain in chains:
                    service.count(chain)
                    yield json.dumps(plain(chain), ensure_ascii=False) + "\n"
    except ServiceError as error:
        yield json.dumps({"error": error.message}) + "\n"


def plain(chain: Chain) -> dict[str, Any]:
    """A chain as plain data. An error inside the service is reported by its kind only."""
    data = chain.to_dict() | {"late": is_late(chain)}
    for step in data["steps"]:
        if step["verdict"] == "failed":
            step["cause"].pop("detail", None)
            step["reason"] = step["cause"].get("error") or step["cause"]["kind"]
    return data


def _segments(service: Service, body: ImproveRequest) -> list[Segment]:
    """The segments of a request, each with the details of all segments. Raises :class:`ServiceError`."""
    shared_terms = _terms(body.terms)
    shared_notes = _joined(body.instructions, body.notes)
    service.check_size([], [body.context, shared_notes], shared_terms)
    segments: list[Segment] = []
    texts: list[str] = []
    for number, details in enumerate(body.segments, 1):
        source_lang = details.source_lang or body.source_lang
        target_lang = details.target_lang or body.target_lang
        if not source_lang or not target_lang:
            raise ServiceError(400, f"segments.{number - 1}: source_lang and target_lang are missing")
        source_lang, target_lang = service.pair(source_lang, target_lang, details.source)
        terms = _terms(details.terms)
        service.check_size(
            [details.source, details.translation or "", details.reference or "", *details.candidates],
            [details.context, details.notes],
            terms,
        )
        texts.append(details.source)
        segment = Segment(
            id=details.id or str(number),
            source=details.source,
            source_lang=source_lang,
            target_lang=target_lang,
            translation=details.translation,
            candidates=tuple(details.candidates),
            reference=details.reference,
            document=details.document or body.document,
            domain=details.domain or body.domain,
            context=details.context or body.context,
            notes=_joined(shared_notes, details.notes),
        )
        segments += with_matching_terms([segment], terms)
    service.check_size(texts, [], [])
    return with_matching_terms(segments, shared_terms)


def _joined(*notes: str | None) -> str | None:
    """The notes, one per line; ``None`` if all are empty."""
    return "\n".join(note for note in notes if note) or None


def _terms(terms: dict[str, str | None] | list[Term]) -> tuple[Term, ...]:
    if isinstance(terms, list):
        return tuple(terms)
    try:
        return tuple(Term(source=source, target=target) for source, target in terms.items())
    except ValueError:
        raise ServiceError(400, "terms: a source term is empty") from None


# -- the server


class ServiceServer(uvicorn.Server):
    """A server that, after a signal to stop, refuses new requests with 503 and finishes the others."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._closing_since: float | None = None
        self._ending_since: float | None = None  # the work on requests was ended

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop at the first SIGTERM or Ctrl-C, which counts as success; the second one ends the grace."""
        if self._service.closing:
            self.force_exit = True
        self._service.closing = True

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; called ten times a second."""
        if self._service.closing and not self.should_exit:
            now = time.monotonic()
            self._closing_since = self._closing_since or now
            # Their requests could not be answered otherwise when they are complete.
            for body in self._service.bodies:
                end_now(body)
            # Even an idle server waits a moment, so that clients see 503 rather than a refused connection.
            limit = 0.5 if self._service.is_idle else self._service.limits.grace
            if self.force_exit or now - self._closing_since >= limit:
                self._service.end_work()
                self._ending_since = self._ending_since or now
                # The other requests are answered before their connections are closed.
                self.should_exit = self._service.is_idle or now - self._ending_since >= END_SECONDS
        return await super().on_tick(counter)


def event_loop() -> asyncio.AbstractEventLoop:
    """The fastest event loop: uvloop's, or the standard one on Windows, where uvloop does not run."""
    try:
        from uvloop import new_event_loop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return new_event_loop()


async def run_server(app: ASGIApp, service: Service, listening: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal; ``announce`` is called at the start."""
    async with service.opened():  # here and not in the app, so that a wrong setting is an error of the command
        # These objects live as long as the server, so the garbage collector need not look at them again.
        gc.collect()
        gc.freeze()
        announce()
        await ServiceServer(server_config(app), service).serve(sockets=[listening])
