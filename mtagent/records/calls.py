"""Requests to models: what was requested, what came back, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all records: frozen, and strict about field names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Schema = dict[str, Any]
"""A JSON Schema as a plain dictionary."""


class Usage(Record):
    """Tokens and dollars as the servers reported them; adds up with ``+``.

    ``input_tokens`` includes ``cached_tokens``, which were read from a prompt cache, and ``cache_write_tokens``, which
    were written to one. ``output_tokens`` includes ``reasoning_tokens``. ``reused`` counts calls that were answered
    from the store and cost nothing now; ``saved`` is what those of other runs cost when they were made. ``batched``
    counts those of ``calls`` that were answered in a batch, at its price. ``cost`` is in US dollars; ``None`` = unknown
    price, and stays unknown in every sum.
    """

    calls: int = 0
    reused: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    batched: int = 0
    cost: float | None = 0.0
    saved: Usage | None = None

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        saved = self.saved or other.saved
        if self.saved is not None and other.saved is not None:
            saved = self.saved + other.saved
        return Usage(
            calls=self.calls + other.calls,
            reused=self.reused + other.reused,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            batched=self.batched + other.batched,
            cost=cost,
            saved=saved,
        )

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    @staticmethod
    def total(usages: Iterable[Usage]) -> Usage:
        """The sum of ``usages``; ``Usage()`` for none."""
        total: Usage | None = None
        for usage in usages:
            total = usage if total is None else total + usage
        return Usage() if total is None else total


UNPAID = Usage()
"""Nothing was asked and nothing paid."""
UNCOUNTED = Usage(calls=1, cost=None)
"""A call whose tokens the server did not report."""


class Tool(Record):
    """A function that a model may ask for; ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Record):
    """A model's request to call a :class:`Tool`. ``arguments`` is JSON as the model wrote it; it may be broken."""

    id: str
    name: str
    arguments: str


class Message(Record):
    """One turn of a conversation with a model. ``role="tool"`` answers the tool call ``tool_call_id``."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class TokenLogprob(Record):
    """The log-probability of one token of a reply (natural logarithm)."""

    token: str
    logprob: float


class Call(Record):
    """One request to a model with its cost; ``error`` is set if no usable reply came.

    ``purpose`` is what the request was for: ``translate``, ``rate``, ``judge``, ``proofread`` …
    """

    purpose: str
    model: str
    messages: tuple[Message, ...] = ()
    reply: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    retries: tuple[str, ...] = ()
    """Why the request was sent again, each time: ``HTTP 429``, ``timeout``, ``Truncated`` …"""
    waited: float = 0.0
    """Seconds, among ``seconds``, in which no request was in flight."""
    endpoint: str | None = None
    """Which of several endpoints got the last request, as the user names it; ``None`` if there is only one server."""
    in_batch: bool = False
    """Whether the request was in a batch. Then ``seconds`` is only the time that it took to read the result."""


class Completion(Record):
    """A model's reply to one request. ``text`` may be empty only with ``tool_calls``.

    ``attempts`` are equal requests before it that brought no usable reply; ``usage`` counts them too.
    """

    text: str
    model: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    logprobs: tuple[TokenLogprob, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    attempts: tuple[Call, ...] = ()
    retries: tuple[str, ...] = ()
    """As in :class:`Call`, like ``waited`` and ``endpoint``."""
    waited: float = 0.0
    endpoint: str | None = None


class Draft(Record):
    """A text that a translator or a proofreader proposes, and the calls it took."""

    text: str
    calls: tuple[Call, ...] = ()
