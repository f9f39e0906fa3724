"""The small protocols behind which the exchangeable parts stand. Any object with these methods will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mtagent.records import Completion, Draft, Message, Rating, Schema, Segment


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
        purpose: str = "",
        segment: str = "",
    ) -> Completion:
        """Ask for one reply.

        ``schema`` asks for JSON of that shape where the server can. ``purpose`` and ``segment`` say who asks, for the
        records only: they change nothing in the request. Raises :class:`mtagent.errors.ModelError`.
        """
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Rates a translation."""

    name: str

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation`` of ``segment``. Raises :class:`mtagent.errors.MtagentError`, never guesses."""
        ...


@runtime_checkable
class Translator(Protocol):
    """An MT system; :func:`mtagent.translators.wrap` makes one of a callable, an object or a command."""

    name: str

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``. Raises :class:`mtagent.errors.MtagentError`."""
        ...
