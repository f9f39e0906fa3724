"""What the simulator can be told to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tests.simulator.odd import ODD

Body = dict[str, Any]
RetryAfterStyle = Literal["seconds", "ms", "date", "none"]
Kind = Literal[
    "status",
    "reset",
    "hang",
    "bad-json",
    "no-choices",
    "empty",
    "truncate",
    "refusal",
    "content-filter",
    "azure-filter",
    "nonsense",
    "bad-call",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Fault:
    """One reply that goes wrong. ``status``, ``retry_after`` (seconds) and ``message`` belong to kind ``status``.

    ``nonsense`` is a text that answers nothing; ``bad-call`` is a tool call whose arguments are cut off, or nonsense
    where no tools were offered. The names in :data:`tests.simulator.odd.ODD` are kinds too: replies with status 200
    that are odd in one way.
    """

    kind: str
    status: int = 500
    retry_after: float | None = None
    style: RetryAfterStyle = "seconds"
    message: str | None = None
    code: str | None = None
    param: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, *ODD):
            raise ValueError(f"unknown fault {self.kind!r}; known: a status code, {', '.join([*KINDS, *ODD])}")


Behaviour = Callable[[Body], str | Body | Fault]


@dataclass(frozen=True)
class Settings:
    """How the server behaves.

    ``script`` is consumed one item a request: a ``Fault``, a reply text, or a whole reply body; then ``behaviour`` (or
    the default one) answers, with a text, a ``Fault``, or a message that calls tools (``replies.calling``).
    ``unsupported`` names parameters that are refused with a 400 in OpenAI's wording; ``tools`` refuses their traces in
    messages too; ``system`` refuses messages of that role; ``json_schema`` and ``json_object`` refuse that kind of
    ``response_format`` only. ``truncate_below`` cuts replies to requests that allow fewer tokens than that.
    ``fault_rate`` picks one of ``faults`` at random for that share of the requests; with ``named``, one of
    :data:`tests.simulator.faults.FAULTS`, always that. ``endings`` of batches are explained in
    :mod:`tests.simulator.batches`; a batch takes ``batch_seconds``, and each request about one ``batch_latency``.
    ``rate_headers`` states requests per window, those that remain, and the seconds until a whole window is free again.
    ``o200k`` counts tokens as OpenAI does, tools and schema included, instead of a token for four characters; with it,
    ``cached_to_marks`` caches as OpenAI does since GPT-5.6: up to a mark, or to the end if there is no mark.
    ``log`` is a file for the journal; ``keep`` keeps the journal in memory as well.
    """

    behaviour: Behaviour | None = None
    script: Sequence[Fault | str | Body] = ()
    latency: float = 0.0
    requests_per_window: int | None = None
    window: float = 60.0
    rate_headers: bool = False
    retry_after_style: RetryAfterStyle = "seconds"
    unsupported: frozenset[str] = frozenset()
    truncate_below: int | None = None
    usage: bool = True
    cached_tokens: bool = True
    o200k: bool = False
    cached_to_marks: bool = False
    reasoning_tokens: int = 0
    fault_rate: float = 0.0
    faults: Sequence[Fault] = field(default_factory=lambda: (Fault("status", 500), Fault("reset"), Fault("bad-json")))
    named: str | None = None
    seed: int = 0
    api_key: str | None = None
    endings: Sequence[str] = ()
    batch_seconds: float = 0.0
    batch_latency: float = 0.0
    slow_upload: bool = False
    log: str | None = None
    keep: bool = True


def parse_fault(text: str) -> Fault:
    """``503``, ``429:2.5`` (status with Retry-After seconds), or a kind such as ``reset``."""
    head, _, retry_after = text.partition(":")
    if head.isdigit():
        return Fault("status", int(head), retry_after=float(retry_after) if retry_after else None)
    return Fault(head)
