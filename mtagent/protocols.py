"""The small protocols behind which the exchangeable parts stand. Any object with these methods will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, runtime_checkable

from mtagent.errors import MtagentError
from mtagent.records import Completion, Draft, Found, Message, Rating, Schema, Score, Segment, Tool

if TYPE_CHECKING:
    from mtagent.metrics.formulas import Counts


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
        ``purpose`` and ``segment`` say who asks, for the
        records only: they change nothing in the request. Raises :class:`mtagent.errors.ModelError`.
        """
        ...


class Asked(TypedDict, total=False):
    """What :meth:`LLM.complete` may be given besides messages, for those who pass it on: ``**asked: Unpack[Asked]``.

    What was not given is not passed on either: a model of a third party need not know of tools.
    """

    schema: Schema | None
    logprobs: bool
    tools: Sequence[Tool]
    purpose: str
    segment: str


@runtime_checkable
class Evaluator(Protocol):
    """Rates a translation."""

    name: str

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation`` of ``segment``. Raises :class:`mtagent.errors.MtagentError`, never guesses."""
        ...


@runtime_checkable
class RatesTogether(Evaluator, Protocol):
    """An evaluator that rates several translations of a source in one go, the later ones with what it has learnt."""

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        """One rating, or the error in its place, for each of ``translations``, in order."""
        ...


@runtime_checkable
class RatesSystems(Evaluator, Protocol):
    """An evaluator to which it matters whose translation it rates, as what it knows may be about one system alone."""

    async def rate_system(self, segment: Segment, translation: str, system: str, *, alone: bool) -> Rating:
        """Rate the ``translation`` that ``system`` made.

        ``alone``: no other system is rated beside it, so that ``system`` may be the name of any file.
        """
        ...


@runtime_checkable
class Metric(Protocol):
    """Scores the translations of one system: BLEU, COMET."""

    name: str
    higher_is_better: bool

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """Score ``translations``, one for each of ``segments``; empty and wrong ones too.

        Raises :class:`mtagent.errors.MtagentError` where a segment cannot be scored; none is ever left out.
        """
        ...


@runtime_checkable
class Additive(Metric, Protocol):
    """A metric whose score is a function of counts that add up, so that it can be resampled quickly."""

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """A row of counts for each segment."""
        ...

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of added-up counts."""
        ...


@runtime_checkable
class BySystem(Metric, Protocol):
    """A metric that has to know whose translations it scores, since the scores were made elsewhere."""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


@runtime_checkable
class Releases(Metric, Protocol):
    """A metric that holds much memory between its scores, such as a large model."""

    def release(self) -> None:
        """Give it back. To score again is possible, and slower."""
        ...


@runtime_checkable
class Search(Protocol):
    """Looks up background knowledge. A ``signature``, where it has one, says more of what it may find than its name."""

    name: str

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` finds, best first; ``[]`` if there is none. Raises :class:`SearchError`."""
        ...


@runtime_checkable
class Translator(Protocol):
    """An MT system; :func:`mtagent.translators.wrap` makes one of a callable, an object or a command."""

    name: str

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``. Raises :class:`mtagent.errors.MtagentError`."""
        ...
