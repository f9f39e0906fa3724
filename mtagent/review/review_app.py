"""The server of ``mtagent review``, for one person: anyone who has the token in the page's address."""

from __future__ import annotations

import hmac
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mtagent.errors import ConfigError, DecidedElsewhere, MtagentError, NotStored
from mtagent.llm.reading import whole_characters
from mtagent.records.decisions import Decision, DecisionVerdict
from mtagent.review.queue import (
    PART,
    PlainData,
    ReviewQueue,
    SegmentDecisions,
    segment_data,
    status_data,
    worth_labelling_of,
)
from mtagent.store.store import open_existing
from mtagent.web import FOREIGN_PAGE, field_problem, is_foreign, listening_socket, request_key, server_config

HOST = "127.0.0.1"
USUAL_PORT = 5055
_MOST_BYTES = 1_000_000  # of a request; the longest text and its reason have fewer
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FILES = {
    "/": ("mtagent.review", "review.html", "text/html"),
    "/review.css": ("mtagent.review", "review.css", "text/css"),
    "/saving.js": ("mtagent.review", "saving.js", "text/javascript"),
    "/segment.js": ("mtagent.review", "segment.js", "text/javascript"),
    "/review.js": ("mtagent.review", "review.js", "text/javascript"),
    "/colours.css": ("mtagent.report", "page/colours.css", "text/css"),
    "/elements.js": ("mtagent.report", "page/elements.js", "text/javascript"),
}
"""The files that need no token. They contain no text of a run."""
_POLLED_PATH = "/api/versions"
"""The page requests this without its user, so it does not keep the server from ending."""


# -- requests


class ReviewRequest(BaseModel):
    """A request about a segment of one of the runs; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    run: int
    position: int


class CheckRequest(ReviewRequest):
    """A text that the person is writing."""

    text: str


def _refuse_half_characters(text: str | None) -> str | None:
    if text is not None and whole_characters(text) != text:
        raise ValueError("holds half of a character (a lone surrogate)")
    return text


class DecisionRequest(ReviewRequest):
    """A decision on a segment whose ``version`` and fingerprint ``seen`` were shown."""

    version: int
    seen: str
    edit: int | None = None
    verdict: DecisionVerdict
    text: str | None = None
    reason: str | None = None
    withdraws: int | None = None
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    _whole_characters = field_validator("text", "reason")(_refuse_half_characters)


class BatchDecision(BaseModel):
    """One decision of a batch."""

    model_config = ConfigDict(extra="forbid")

    edit: int | None = None
    verdict: DecisionVerdict
    text: str | None = None
    withdraws: int | None = None

    _whole_characters = field_validator("text")(_refuse_half_characters)


class BatchSegment(BaseModel):
    """A segment whose ``version`` and fingerprint ``seen`` were shown, and the decisions on it, in order."""

    model_config = ConfigDict(extra="forbid")

    position: int
    version: int
    seen: str
    decisions: list[BatchDecision] = Field(min_length=1, max_length=1000)


class BatchRequest(BaseModel):
    """Decisions on several segments of one run."""

    model_config = ConfigDict(extra="forbid")

    run: int
    segments: list[BatchSegment] = Field(min_length=1, max_length=PART)


class PageAccess:
    """Admits only requests of this page with the token. ``code`` works once, to get the token."""

    def __init__(self, port: int) -> None:
        self.token, self.code = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self.last_request = time.monotonic()

    def refusal(self, request: Request) -> str | None:
        """Why a request is refused; ``None`` if it is not."""
        host, path = request.headers.get("host", ""), request.url.path
        if host not in self.hosts:  # somebody may have made another name point here
            return f"this server answers only to {HOST}"
        if path in _FILES and request.method in ("GET", "HEAD"):
            return None
        site = request.headers.get("sec-fetch-site", "none")
        if is_foreign(request, [f"http://{host}"]) or site not in ("none", "same-origin"):
            return FOREIGN_PAGE
        if not self._is_valid(request_key(request) or "", once=path == "/api/enter"):
            return "this page has no access: open the address that `mtagent review` printed"
        if path != _POLLED_PATH:
            self.last_request = time.monotonic()
        return None

    def _is_valid(self, key: str, *, once: bool) -> bool:
        key_bytes = key.encode("utf-8", "replace")
        if hmac.compare_digest(key_bytes, self.token.encode()):
            return True
        if once and self.code and hmac.compare_digest(key_bytes, self.code.encode()):
            self.code = ""
            return True
        return False


# -- the application


def make_app(review: ReviewQueue, access: PageAccess) -> FastAPI:
    """The application around ``review``. It runs in one thread, except for work that takes seconds."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _guard_requests(app, access)
    _answer_errors(app)
    _add_files(app)
    app.include_router(_reading_routes(review, access), prefix="/api")
    app.include_router(_gate_routes(review), prefix="/api")
    app.include_router(_deciding_routes(review), prefix="/api")
    return app


def _guard_requests(app: FastAPI, access: PageAccess) -> None:
    """Refuse requests without access and requests that are too long, and add the security headers to all answers."""

    @app.middleware("http")
    async def guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = access.refusal(request)
        response: Response
        if refusal is not None:
            response = JSONResponse({"error": refusal}, 403)
        elif _is_too_long(request):
            response = JSONResponse({"error": f"the request is too long: the most is {_MOST_BYTES:,} bytes"}, 413)
        else:
            response = await answer(request)
        response.headers.update(_HEADERS)
        return response


def _is_too_long(request: Request) -> bool:
    # The page always sends the length. Without it, a body of any length could follow.
    if "transfer-encoding" in request.headers:
        return True
    return int(request.headers.get("content-length", "0")) > _MOST_BYTES


def _answer_errors(app: FastAPI) -> None:
    """Answer errors with ``{"error": …}``. After a 500, the page saves a decision again; the others are final."""

    @app.exception_handler(MtagentError)
    async def failed(request: Request, error: MtagentError) -> Response:
        status = 500
        if isinstance(error, ConfigError):
            status = 400
        elif isinstance(error, NotStored):
            status = 410
        return JSONResponse({"error": str(error)}, status)

    @app.exception_handler(ValidationError)
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: ValidationError | RequestValidationError) -> Response:
        return JSONResponse({"error": field_problem(error.errors()[0])}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code)


def _add_files(app: FastAPI) -> None:
    """Serve the page with its scripts and styles, which are read once."""
    contents = {}
    for path, (package, name, media_type) in _FILES.items():
        contents[path] = files(package).joinpath(name).read_bytes(), media_type

    async def file(request: Request) -> Response:
        content, media_type = contents[request.url.path]
        return Response(content, media_type=media_type)

    for path in _FILES:
        app.add_route(path, file)


# -- what the page's scripts request


def _reading_routes(review: ReviewQueue, access: PageAccess) -> APIRouter:
    """The queue and its segments."""
    routes = APIRouter()

    @routes.post("/enter")
    async def enter() -> PlainData:
        return {"token": access.token}

    @routes.get("/queue")
    async def queue() -> PlainData:
        total, changed = review.segments()
        return {
            "runs": review.names,
            "store": review.store_key,
            "who": review.who,
            "segments": total,
            "changed": changed,
        }

    @routes.get("/rows/{run}/{after}")
    async def rows(run: int, after: int) -> Response:
        return JSONResponse(review.rows(run, after))

    @routes.get("/versions")
    async def versions() -> list[dict[int, int]]:
        return review.versions()

    @routes.get("/segments/{run}/{position}")
    async def show(run: int, position: int) -> PlainData:
        return _whole_segment(review, run, position)

    return routes


def _whole_segment(review: ReviewQueue, run: int, position: int) -> PlainData:
    result, version = review.segment(run, position)
    return {"run": run, "position": position, **segment_data(result), **status_data(result, version)}


def _gate_routes(review: ReviewQueue) -> APIRouter:
    """The gates of the runs. This takes seconds, so it isn't async: it runs in another thread, with its own store."""
    routes = APIRouter()

    @routes.get("/gates")
    def gates() -> list[PlainData]:
        with open_existing(Path(review.store.database.path)) as store:
            return review.gates(store)

    @routes.get("/worth-labelling")
    def worth_labelling() -> list[list[str]]:
        with open_existing(Path(review.store.database.path)) as store:
            return [worth_labelling_of(store, name) for name in review.names]

    return routes


def _deciding_routes(review: ReviewQueue) -> APIRouter:
    """Decisions, and the check of a text before it is one."""
    routes = APIRouter()

    @routes.post("/check")
    async def check(request: CheckRequest) -> PlainData:
        refusal, damages = review.check(request.run, request.position, request.text)
        return {"refusal": refusal, "found": [damage.model_dump() for damage in damages]}

    @routes.post("/decide")
    async def decide(request: DecisionRequest) -> Response:
        run, position = request.run, request.position
        fields = request.model_dump(exclude={"run", "position", "version", "seen"})
        decision = Decision(segment="", **fields)
        try:
            number = review.decide(run, position, decision, version=request.version, seen=request.seen)
        except DecidedElsewhere as error:
            segment = _whole_segment(review, run, position)
            return JSONResponse({"error": str(error), "segment": segment}, 409)
        return JSONResponse({"made": number, **_whole_segment(review, run, position)})

    @routes.post("/decide-all")
    async def decide_all(request: BatchRequest) -> Response:
        batch = []
        for asked in request.segments:
            decisions = [Decision(segment="", **decision.model_dump()) for decision in asked.decisions]
            batch.append(SegmentDecisions(asked.position, asked.version, asked.seen, decisions))
        return JSONResponse(review.decide_all(request.run, batch))

    return routes


# -- the server


def review_socket(port: int | None) -> socket.socket:
    """A socket on this machine's own address. Without a ``port``, it has the usual one or, if that is taken, any other.

    Raises :class:`ConfigError`.
    """
    if port is not None:
        return listening_socket(HOST, port)
    try:
        return listening_socket(HOST, USUAL_PORT)
    except ConfigError:
        return listening_socket(HOST, 0)


class _ReviewServer(uvicorn.Server):
    """A server that ends when there was no request for ``idle`` seconds."""

    def __init__(self, config: uvicorn.Config, access: PageAccess, idle: float | None) -> None:
        super().__init__(config)
        self._access, self._idle = access, idle

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at Ctrl-C and SIGTERM, as a command that has succeeded; at the second one, end at once."""
        self.should_exit, self.force_exit = True, self.should_exit

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; called ten times a second."""
        if self._idle is not None and time.monotonic() - self._access.last_request > self._idle:
            self.should_exit = True
        return await super().on_tick(counter)


def run_server(
    review: ReviewQueue, listening: socket.socket, announce: Callable[[str, str], Any], idle: float | None = None
) -> None:
    """Serve until Ctrl-C, or until there was no request for ``idle`` seconds.

    ``announce`` is called at the start with the page's address, and with another one that opens the page only once.
    """
    port = listening.getsockname()[1]
    access = PageAccess(port)
    config = server_config(make_app(review, access))
    address = f"http://{HOST}:{port}/"
    announce(f"{address}#{access.token}", f"{address}#{access.code}")
    _ReviewServer(config, access, idle).run(sockets=[listening])
