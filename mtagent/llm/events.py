"""What happens while models work, as records: calls, retries, waits, and the verdicts on steps.

Each event is given to the observers of a run: the log (``--log``), traces (:mod:`mtagent.jobs.tracing`), or a function
of the user's (``Agent(observer=…)``). Without an observer no event is made. ``docs/reference/log.md`` describes the
fields.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Unpack
from urllib.parse import urlsplit

from pydantic import Field

from mtagent.errors import MtagentError, NotAnswered, OutputError, ServerPaused, calls_of
from mtagent.llm.limits import Obstacle
from mtagent.llm.protocol import LLM, RequestOptions, Sampling, sampling_of
from mtagent.records import UNPAID, Completion, Message, Record, Segment, Step, Usage

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class StepInWork:
    """The step that a task, and the tasks that it starts, work on."""

    segment: str
    stage: str
    began: int = field(default_factory=time.time_ns)
    """Nanoseconds since 1970."""


STEP: ContextVar[StepInWork | None] = ContextVar("mtagent_step", default=None)
RUN: ContextVar[str | None] = ContextVar("mtagent_run", default=None)


class BaseEvent(Record):
    """What all events share. No field that is written to the log holds a text or a server's error message."""

    event: str
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    run: str | None = Field(default_factory=lambda: RUN.get())
    segment: str
    stage: str | None = Field(default_factory=lambda: getattr(STEP.get(), "stage", None))


class RequestEvent(BaseEvent):
    """What the events about requests to a model share."""

    purpose: str
    model: str
    server: str | None = None
    endpoint: str | None = None
    """As in :class:`mtagent.records.Call`."""


class CallEvent(RequestEvent):
    """A call ended: it has a reply, or failed for good. Replies from the store make no event."""

    event: Literal["call"] = "call"
    reply_model: str | None = None
    finish_reason: str | None = None
    usage: Usage = UNPAID
    seconds: float
    waited: float = 0.0
    retries: tuple[str, ...] = ()
    error: str | None = None
    status: int | None = None
    pause: float | None = None
    sampling: Sampling | None = Field(default=None, exclude=True)
    messages: tuple[Message, ...] = Field(default=(), exclude=True, repr=False)
    reply: str | None = Field(default=None, exclude=True, repr=False)


class RetryEvent(RequestEvent):
    """A request is sent again after ``wait`` seconds. ``endpoint`` is the one at which it failed."""

    event: Literal["retry"] = "retry"
    cause: str
    attempt: int
    wait: float
    next_endpoint: str | None = None
    """Where it is sent now, if that is another one."""


class WaitEvent(RequestEvent):
    """A request has waited before it was sent."""

    event: Literal["wait"] = "wait"
    reason: Obstacle
    seconds: float


class VerdictEvent(BaseEvent):
    """A step ended. Its ``verdict`` is ``stopped`` if an error that concerns every segment ended it."""

    event: Literal["verdict"] = "verdict"
    lang_pair: str
    verdict: str
    cause: str
    edits: int
    models: tuple[str, ...]
    usage: Usage
    seconds: float
    error: str | None = None

    @classmethod
    def of(cls, segment: Segment, step: Step, *, stopped: bool = False) -> VerdictEvent:
        """The event of a step."""
        return cls(
            segment=segment.id,
            stage=step.stage,
            lang_pair=f"{segment.source_lang}-{segment.target_lang}",
            verdict="stopped" if stopped else step.verdict,
            cause=step.cause.kind,
            edits=sum(edit.outcome == "applied" for edit in step.edits),
            models=tuple(sorted({call.model for call in step.calls})),
            usage=step.usage,
            seconds=round(step.seconds, 4),
            error=None if step.error is None else step.error.kind,
        )


Event = CallEvent | RetryEvent | WaitEvent | VerdictEvent
Observer = Callable[[Event], object]


class Observers:
    """Gives each event to each observer. An observer that raises an error is reported once; the work continues."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._reported = set[int]()

    def __call__(self, event: Event) -> None:
        for number, observer in enumerate(self._observers):
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 a user's function may raise anything
                if number not in self._reported:
                    self._reported.add(number)
                    logger.warning("observer: %s: %s; the work continues", type(error).__name__, error)


class EventLog:
    """A file to which each event is added as a line of JSON. Earlier lines are never touched.

    Raises :class:`OutputError` for a file that cannot be written, or that holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._has_failed = False
        if path.is_fifo():  # opening it would wait for a reader
            raise OutputError(f"{path}: the log must be a file, and not a pipe: name another one in log")
        try:
            self._torn = _ends_within_a_line(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise OutputError(
                f"{path}: the log cannot be written ({error.strerror}): name another file in log, or leave log out"
            ) from error

    def __call__(self, event: Event) -> None:
        """Write the event at once, in one piece, so that a killed process leaves whole lines."""
        line = event.model_dump_json(exclude_none=True).encode() + b"\n"
        if self._torn:  # the disk was full in the middle of a line
            line = b"\n" + line
        try:
            written = self._file.write(line)
            problem = "the disk may be full"
        except OSError as error:
            written = 0
            problem = str(error.strerror)
        if written == len(line):
            self._torn = False
            return
        self._torn = self._torn or bool(written)
        if not self._has_failed:
            self._has_failed = True
            logger.warning("%s: cannot be written (%s): the log has gaps; the work continues", self._path, problem)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _ends_within_a_line(path: Path) -> bool:
    """Whether the log at ``path`` ends within a line. Raises :class:`OutputError` for a file that isn't a log."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(len(_BEGIN))
        if not _BEGIN.startswith(begin):
            raise OutputError(f"{path}: is not a log of mtagent, and is not changed: name another file in log")
        file.seek(max(0, path.stat().st_size - 1))
        return file.read() not in (b"", b"\n")


_BEGIN = b'{"event":'
"""The beginning of each line."""


class Observed:
    """An LLM whose calls are given to ``observe`` when they end."""

    def __init__(self, llm: LLM, observe: Observers) -> None:
        self.model = llm.model
        self.sampling = sampling_of(llm)
        server = getattr(llm, "server", None)  # a user's object may have anything there
        self._server = server if isinstance(server, str) else None
        servers = getattr(llm, "servers", None)
        self._servers: Mapping[str, str] = servers if isinstance(servers, Mapping) else {}
        # Set only if the model has them: others check that.
        for name in ("key", "price", "limiters", "instructions", "instructed"):
            if hasattr(llm, name):
                setattr(self, name, getattr(llm, name))
        self._llm, self._observe = llm, observe

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`."""
        began = time.perf_counter()
        result: dict[str, Any] = {}
        has_ended = True
        try:
            completion = await self._llm.complete(messages, **options)
            for name in ("finish_reason", "usage", "retries", "waited", "endpoint"):
                result[name] = getattr(completion, name)
            result |= {"reply_model": completion.model, "reply": completion.text}
            return completion
        except NotAnswered:
            has_ended = False
            raise
        except BaseException as error:
            calls = calls_of(error)
            result = {"usage": Usage.total(call.usage for call in calls), "error": type(error).__name__}
            if isinstance(error, MtagentError):
                result["status"] = error.status
            if isinstance(error, ServerPaused):
                result["pause"] = error.seconds
            if calls:
                for name in ("retries", "waited", "endpoint"):
                    result[name] = getattr(calls[-1], name)
            raise
        finally:
            step = STEP.get()
            # Outside of runs the call cache doesn't tell a model which segment it works for.
            segment = options.get("segment") or ("" if step is None else step.segment)
            if has_ended:
                event = CallEvent(
                    segment=segment,
                    purpose=options.get("purpose", ""),
                    model=self.model,
                    server=self._servers.get(result.get("endpoint") or "", self._server),
                    sampling=self.sampling,
                    seconds=round(time.perf_counter() - began, 4),
                    messages=tuple(messages),
                    **result,
                )
                self._observe(event)


def server_of(address: str) -> str:
    """Host and port of an ``address``: ``api.openai.com:443``."""
    parts = urlsplit(address)
    server = parts.netloc.rpartition("@")[2]
    if parts.port:
        return server
    return f"{server}:{443 if parts.scheme == 'https' else 80}"
