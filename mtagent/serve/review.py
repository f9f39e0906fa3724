"""``mtagent review``: a page on this machine where people decide on the edits of runs. The server knows one person: who
has the token that stands in the address.
"""

from __future__ import annotations

import hmac
import secrets
import shlex
import socket
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mtagent.chain.decided import Decided
from mtagent.decisions import Decision, DecisionVerdict
from mtagent.errors import ConfigError, DecidedElsewhere, InputError, MtagentError, NotStored
from mtagent.jobs.review import Plain, ReviewQueue, status
from mtagent.learning.calibration import expected_lead
from mtagent.learning.runs import decided_edits
from mtagent.llm.reading import whole_characters
from mtagent.records import ErrorSpan, Step
from mtagent.report.packing import changes, packed
from mtagent.serve.access import key_in
from mtagent.store.store import Store, open_existing

PORT = 5055
_MOST_BYTES = 1_000_000  # of a request; the longest text and its reason are less
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
    "/": ("mtagent.serve", "review.html", "text/html"),
    "/review.css": ("mtagent.serve", "review.css", "text/css"),
    "/saving.js": ("mtagent.serve", "saving.js", "text/javascript"),
    "/review.js": ("mtagent.serve", "review.js", "text/javascript"),
    "/colours.css": ("mtagent.report", "page/colours.css", "text/css"),
    "/elements.js": ("mtagent.report", "page/elements.js", "text/javascript"),
}
"""All that is served without the token; no text of a run is in it."""
_ASKED_BY_ITSELF = "/api/versions"


class Fields(BaseModel):
    """What a request says; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Place(Fields):
    """A segment of one of the runs."""

    run: int
    position: int


class Checked(Place):
    """A text that is being written."""

    text: str


class NewDecision(Place):
    """A decision on the segment of which ``version`` and ``seen`` were shown."""

    version: int
    seen: str
    edit: int | None = None
    verdict: DecisionVerdict
    text: str | None = None
    reason: str | None = None
    withdraws: int | None = None
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @field_validator("text", "reason")
    @classmethod
    def _whole_characters(cls, text: str | None) -> str | None:
        if text is not None and whole_characters(text) != text:
            raise ValueError("holds half of a character (a lone surrogate)")
        return text


class Door:
    """Who may come in: requests of this page alone, with the token. ``code`` opens it once, in its place."""

    def __init__(self, port: int) -> None:
        self.token, self.code = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.last = time.monotonic()

    def refusal(self, request: Request) -> str | None:
        """Why a request may not come in; ``None``: it may."""
        host, path = request.headers.get("host", ""), request.url.path
        if host not in self.hosts:  # a name that somebody made point here
            return "this server answers to 127.0.0.1 alone"
        if path in _FILES and request.method in ("GET", "HEAD"):
            return None
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if origin not in (None, f"http://{host}") or site not in ("none", "same-origin"):
            return "pages of other origins may not ask this server"
        if not self._knows(key_in(request) or "", once=path == "/api/enter"):
            return "this page has no right to ask: open the address that `mtagent review` printed"
        if path != _ASKED_BY_ITSELF:
            self.last = time.monotonic()
        return None

    def _knows(self, given: str, *, once: bool) -> bool:
        if hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return True
        if once and self.code and hmac.compare_digest(given.encode("utf-8", "replace"), self.code.encode()):
            self.code = ""
            return True
        return False


def make_app(review: ReviewQueue, door: Door) -> FastAPI:
    """The application around ``review``. It runs in one thread, but for what takes seconds."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.middleware("http")
    async def guarded(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        headers = request.headers
        response: Response
        if refusal := door.refusal(request):
            response = JSONResponse({"error": refusal}, 403)
        elif "transfer-encoding" in headers or int(headers.get("content-length", "0")) > _MOST_BYTES:
            response = JSONResponse({"error": f"too much at once: at most {_MOST_BYTES:,} bytes are read"}, 413)
        else:
            response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    @app.exception_handler(MtagentError)
    async def failed(request: Request, error: MtagentError) -> Response:
        final = 400 if isinstance(error, ConfigError) else 410 if isinstance(error, NotStored) else None
        return JSONResponse({"error": str(error)}, final or 500)

    @app.exception_handler(ValidationError)
    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: ValidationError | RequestValidationError) -> Response:
        first = error.errors()[0]
        return JSONResponse({"error": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code)

    def segment(run: int, position: int) -> Plain:
        result, version = review.segment(run, position)
        return {"run": run, "position": position, **_segment(result), **status(result, version)}

    contents = {
        path: (files(package).joinpath(name).read_bytes(), kind) for path, (package, name, kind) in _FILES.items()
    }

    async def file(request: Request) -> Response:
        content, kind = contents[request.url.path]
        return Response(content, media_type=kind)

    for path in _FILES:
        app.add_route(path, file)

    @app.post("/api/enter")
    async def enter() -> Plain:
        return {"token": door.token}

    @app.get("/api/queue")
    async def queue() -> Plain:
        return {"runs": review.names, "store": review.store_key, "who": review.who, "rows": review.rows()}

    @app.get("/api/versions")
    async def versions() -> list[dict[int, int]]:
        return review.versions()

    @app.get("/api/segments/{run}/{position}")
    async def shown(run: int, position: int) -> Plain:
        return segment(run, position)

    @app.get("/api/gates")
    def gates() -> list[Plain]:  # not async: it runs in another thread, with a store of its own
        with open_existing(Path(review.store.database.path)) as store:
            return [{"run": name, **_gate(store, name)} for name in review.names]

    @app.post("/api/check")
    async def check(asked: Checked) -> Plain:
        refusal, found = review.check(asked.run, asked.position, asked.text)
        return {"refusal": refusal, "found": [damage.model_dump() for damage in found]}

    @app.post("/api/decide")
    async def decide(asked: NewDecision) -> Response:
        fields = asked.model_dump(exclude={"run", "position", "version", "seen"})
        try:
            decision = Decision(segment="", **fields)
            made = review.decide(asked.run, asked.position, decision, version=asked.version, seen=asked.seen)
        except DecidedElsewhere as error:
            return JSONResponse({"error": str(error), "segment": segment(asked.run, asked.position)}, 409)
        return JSONResponse({"made": made, **segment(asked.run, asked.position)})

    return app


def _gate(store: Store, name: str) -> Plain:
    """Whether the gate can learn from what was decided, in words, and how that is done once it is worth it."""
    try:
        edits, lead, needed = expected_lead(decided_edits(store, name))
    except (ConfigError, InputError) as error:
        return {"words": f"The gate cannot learn from the decisions yet: {error}.", "commands": []}
    assert lead.value is not None
    span = f"{lead.value:+.2f}" + ("" if lead.low is None else f", {lead.low:+.2f} to {lead.high:+.2f}")
    about = "where an edit that you want counts 1 and one that you do not want -1"
    if lead.low is None or lead.low <= 0:
        later = "it does not seem so" if needed is None else f"about {needed:,} would show it"
        words = (
            f"From {edits:,} edits it cannot be told whether a gate that learns from them is worth more than keeping"
        )
        return {"words": f"{words} all or none ({span}, {about}): {later}.", "commands": []}
    words = f"Learnt from {edits:,} edits, the gate is worth more than keeping all or none ({span} an edit, {about})."
    return {
        "words": f"{words} It can decide on the rest; the ratings are stored, so that it costs nothing:",
        "commands": [
            f"mtagent gate calibrate --run {shlex.quote(name)} --decisions -o gate.json",
            "# then the command that made the run, with --calibration gate.json and another -o",
        ],
    }


def _segment(result: Decided) -> Plain:
    """A segment with its decisions, as the page's script reads it."""
    chain, language = result.chain, result.chain.segment.target_lang
    given = chain.given or ""

    def said(decision: Decision | None) -> Plain | None:
        names = ("verdict", "text", "who")
        return None if decision is None else {name: getattr(decision, name) for name in names}

    return {
        "chain": packed(chain),
        "left": [_left(step) for step in chain.steps],
        "terms": [term.shown for term in chain.segment.terms],
        "changes": changes(given, result.text, language) if result.text != given else [],
        "edits": [
            {
                "number": row.number,
                "stands": row.stands,
                "remark": row.remark,
                "alone": row.alone,
                "guards": row.edit.guards,
                "changes": changes(row.edit.old, row.edit.new, language),
                "decision": said(row.decision),
            }
            for row in result.edits
        ],
        "decision": said(result.decision),
        "only_whole": result.only_whole,
        "found": [damage.model_dump() for damage in result.findings],
        "stale": len(result.stale),
    }


def _left(step: Step) -> list[int]:
    """Which of the editor's errors no edit is about: the text was left as it is."""

    def key(error: ErrorSpan) -> tuple[str | None, ...]:  # an edit's span may have got a place, or a suggestion
        return error.text, error.category, error.severity, error.explanation

    rating, not_fixed = step.rating("editor"), step.not_fixed
    edited = {key(edit.span) for edit in step.edits if edit.span}
    return [
        number
        for number, error in enumerate((rating.errors or ()) if rating else ())
        if any(error is other for other in not_fixed) and key(error) not in edited
    ]


# -- the server


def bound(port: int | None) -> socket.socket:
    """A socket on this machine's own address; without a ``port`` the usual one, or any free one where that is taken.

    Raises :class:`ConfigError`.
    """
    for number in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server(("127.0.0.1", number), backlog=128)
        except OSError as error:
            reason = error.strerror or error
    raise ConfigError(f"--port {port}: {reason}")


class _Server(uvicorn.Server):
    """A server that ends when nobody has asked anything for ``idle`` seconds."""

    def __init__(self, config: uvicorn.Config, door: Door, idle: float | None) -> None:
        super().__init__(config)
        self._door, self._idle = door, idle

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C and SIGTERM end it, as a command that has succeeded; the second one at once."""
        self.should_exit, self.force_exit = True, self.should_exit

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked ten times a second."""
        if self._idle is not None and time.monotonic() - self._door.last > self._idle:
            self.should_exit = True
        return await super().on_tick(counter)


def run_server(
    review: ReviewQueue, listening: socket.socket, say: Callable[[str, str], Any], idle: float | None = None
) -> None:
    """Serve until Ctrl-C, or nothing was asked for ``idle`` seconds.

    ``say`` is told the address when it begins, and another one that opens the page only once.
    """
    port = listening.getsockname()[1]
    door = Door(port)
    config = uvicorn.Config(
        make_app(review, door), log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=1,
        lifespan="off",
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/"
    say(f"{address}#{door.token}", f"{address}#{door.code}")
    _Server(config, door, idle).run(sockets=[listening])
