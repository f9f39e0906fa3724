"""The one seam to models: the protocols of a model, and the options of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

from pydantic import Field

from mtagent.records import Completion, Message, Record, Schema, Tool, Usage

if TYPE_CHECKING:
    from mtagent.llm.limits import Limiter


@runtime_checkable
class LLM(Protocol):
    """The one seam to models."""

    model: str

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
        purpose: str = "",
        segment: str = "",
    ) -> Completion:
        """Ask for one reply.

        ``schema`` asks for JSON of that shape where the server can; ``tools`` may be called in place of an answer.
        ``purpose`` and ``segment`` are for the records only: they change nothing in the request.
        Raises :class:`mtagent.errors.ModelError`.
        """
        ...


class RequestOptions(TypedDict, total=False):
    """The options of :meth:`LLM.complete`, for code that passes them on: ``**options: Unpack[RequestOptions]``.

    Missing options aren't passed on, so a model of a third party need not accept tools.
    """

    schema: Schema | None
    logprobs: bool
    tools: Sequence[Tool]
    purpose: str
    segment: str


@runtime_checkable
class KeyedLLM(LLM, Protocol):
    """A model that names its requests by a hash."""

    def key(
        self, messages: Sequence[Message], schema: Schema | None, logprobs: bool, tools: Sequence[Tool] = ()
    ) -> str:
        """A hash of everything that would be sent: model, settings and content."""
        ...


def request_key(llm: KeyedLLM, messages: Sequence[Message], options: RequestOptions) -> str:
    """The hash that names the request to ``llm`` with these ``options``."""
    tools = options.get("tools", ())
    more: dict[str, Any] = {"tools": tools} if tools else {}  # a model of a third party need not know of tools
    return llm.key(messages, options.get("schema"), options.get("logprobs", False), **more)


class Sampling(Record):
    """Sampling settings. Only those that are set are sent, so that the server's defaults apply otherwise.

    ``extra`` holds further fields of the request body, such as ``{"cache_prompt": false}`` for llama.cpp.
    """

    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """The settings as fields of a request body."""
        return self.model_dump(exclude_none=True, exclude={"extra"}) | self.extra


@runtime_checkable
class SampledLLM(LLM, Protocol):
    """A model with known sampling settings, which are part of the signatures of ratings."""

    sampling: Sampling | None


def sampling_of(llm: LLM) -> Sampling | None:
    """The sampling settings of ``llm``; ``None`` if they are not known."""
    return llm.sampling if isinstance(llm, SampledLLM) else None


@runtime_checkable
class InstructedLLM(LLM, Protocol):
    """A model that adds the user's instructions to each request; ``instructions`` is their hash, for signatures."""

    instructions: str

    def instructed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """``messages`` as they are sent."""
        ...


@runtime_checkable
class PricedLLM(LLM, Protocol):
    """A model with a price."""

    def price(self, usage: Usage) -> float | None:
        """Dollars for ``usage``; ``None`` if the price is unknown."""
        ...


@runtime_checkable
class LimitedLLM(LLM, Protocol):
    """A model whose requests go through limiters, one for each endpoint."""

    @property
    def limiters(self) -> Sequence[Limiter]:
        """What admits the requests."""
        ...
