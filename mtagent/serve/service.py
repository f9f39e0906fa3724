"""What all interfaces share: an agent, the operator's limits, and the account of each request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from mtagent.config import Config
from mtagent.errors import FATAL, BudgetSpent, ConfigError, LanguageNeeded, MtagentError, ServerPaused
from mtagent.formats.glossary import Glossary, with_terms
from mtagent.jobs.agent import Agent
from mtagent.llm.gathering import finished
from mtagent.llm.reading import whole_characters
from mtagent.records import Chain, ErrorCause, Segment, Step, Term, Usage
from mtagent.serve.access import ANYBODY, Access, ApiKey
from mtagent.serve.errors import QuotaExceeded, ServiceError
from mtagent.serve.state import Keep, State
from mtagent.text import identification, languages
from mtagent.translators import aclose, wrap
from mtagent.translators.tags import BetweenTags, Markup
from mtagent.web import field_problem

logger = logging.getLogger("mtagent.serve")
Pair = tuple[str, str]
_ENOUGH = 2000  # characters by which a language is found out
Fields = TypeVar("Fields", bound=BaseModel)
_USUAL = (
    *("en", "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("is", "it", "ja", "ko", "lt", "lv", "ms", "nb", "nl", "pl", "pt-BR", "pt-PT", "ro", "ru", "sk", "sl", "sr"),
    *("sv", "sw", "ta", "th", "tr", "uk", "ur", "vi", "zh-Hans", "zh-Hant"),
)


@dataclass(frozen=True)
class Limits:
    """What the operator allows: the size of requests, how many at a time, and how long they may take, in seconds."""

    texts: int = 50
    body: int = 1_000_000
    text: int = 50_000
    terms: int = 500
    under_way: int = 512
    deadline: float | None = None
    longest: float = 900.0
    grace: float = 30.0


@dataclass
class RequestAccount:
    """One request as it is accounted for, from its first byte to its last."""

    number: str = ""
    key: ApiKey = ANYBODY
    markup: tuple[Markup, frozenset[str]] | None = None
    characters: int = 0
    segments: int = 0
    done: int = 0
    changed: int = 0
    failed: int = 0
    late: int = 0
    usage: Usage = Usage()
    error: str | None = None
    texts: list[str] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        """What the client is told beside the texts: how many were improved, and how many are the MT alone, and why."""
        counts = {"Changed": self.changed, "Failed": self.failed, "Late": self.late}
        return {f"X-Mtagent-{name}": str(count) for name, count in counts.items() if count}


REQUEST_ACCOUNT: ContextVar[RequestAccount] = ContextVar("exchange")


class Metrics:
    """The counts that Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        known: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("mtagent_requests", "Requests", ["route", "status", "key"], **known)
        self.seconds = Histogram("mtagent_request_seconds", "Seconds a request took", ["route"], **known)
        self.under_way = Gauge("mtagent_requests_under_way", "Requests that are being worked on", **known)
        self.segments = Counter("mtagent_segments", "Texts by what became of them", ["state", "key"], **known)
        self.late = Counter("mtagent_late", "Texts handed out before the chain was done", ["key"], **known)
        self.tokens = Counter("mtagent_tokens", "Tokens of the models", ["direction", "key"], **known)
        self.dollars = Counter("mtagent_dollars", "Dollars spent on models", ["key"], **known)


class Service:
    """Improves texts for whoever may ask. ``translator``, ``llm`` and other objects of one's own go to the agent.

    ``pairs`` are the languages that are offered, empty for all; ``keys`` is the file of the keys.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        keys: Path | None = None,
        pairs: Sequence[Pair] = (),
        limits: Limits = Limits(),
        state: Path | None = None,
        keep: Keep = "none",
        log_texts: bool = False,
        translator: object | None = None,
        **own: Any,
    ) -> None:
        config = config or Config()
        self.limits, self.pairs, self.log_texts = limits, tuple(pairs), log_texts
        if not pairs and config.source_lang and config.target_lang:
            self.pairs = ((config.source_lang, config.target_lang),)
        self.metrics = Metrics()
        self.closing = False
        self._under_way = 0
        elsewhere = {"run", "limit", "give_up_after", "store", "source_lang", "target_lang"}
        settings = config.model_dump(exclude_unset=True, exclude=elsewhere)
        named = settings.pop("translator", "llm")
        self._translator = None
        self._translates = config.stages is None or "translate" in config.stages
        if translator is not None or named != "llm":
            if not self._translates:
                raise ConfigError(
                    "--stages: the first one is translate, as in tp or tpp, where there is a --translator"
                )
            self._translator = wrap(named if translator is None else translator)
            own["translator"] = BetweenTags(self._translator, lambda: REQUEST_ACCOUNT.get().markup)
        self._owns_translator = translator is None
        self.agent = Agent(on_step=self._heard, **own, **settings)
        self.state = State(state, keep)
        self.access = Access(keys, self.state.spent_by)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """The agent's parts are open, and what was used is written down every second."""

        async def write() -> None:
            while True:
                await asyncio.sleep(1)
                self.state.flush()

        async with self.agent:
            writing = asyncio.create_task(write())
            try:
                yield
            finally:
                writing.cancel()
                with suppress(asyncio.CancelledError):
                    await writing
                self.state.close()
                if self._owns_translator and self._translator is not None:
                    await aclose(self._translator)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A request that is under way. Raises :class:`ServiceError` where there are too many, or none is taken."""
        if self.closing:
            raise ServiceError(503, "the server is being stopped", retry_after=1)
        if self._under_way >= self.limits.under_way:
            raise ServiceError(503, "the server is busy", retry_after=1)
        self._under_way += 1
        self.metrics.under_way.inc()
        try:
            yield
        finally:
            self._under_way -= 1
            self.metrics.under_way.dec()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._under_way == 0

    def _heard(self, segment: Segment, step: Step) -> None:
        """Count what a step has cost at once: its request may be given up before it ends."""
        exchange, usage = REQUEST_ACCOUNT.get(None), step.usage
        if exchange is None or not usage.calls:
            return
        exchange.usage += usage
        name = exchange.key.name
        self.state.spend(name, dollars=usage.cost)
        self.metrics.tokens.labels("input", name).inc(usage.input_tokens)
        self.metrics.tokens.labels("output", name).inc(usage.output_tokens)
        self.metrics.dollars.labels(name).inc(usage.cost or 0.0)

    # -- requests

    def admit(self, given: str | None) -> ApiKey:
        """Whose request this is. Raises :class:`ServiceError`."""
        REQUEST_ACCOUNT.get().key = key = self.access.admit(given)
        return key

    def pair(self, source: str, target: str, text: str = "") -> Pair:
        """The languages of a request as the offered pair has them. Raises :class:`ServiceError`.

        The source language ``auto`` is the only one that is offered, else the likeliest of ``text``, else unknown.
        """
        try:
            source = languages.UNKNOWN if source in ("", "auto", languages.UNKNOWN) else languages.normalise(source)
            target = languages.normalise(target)
        except ConfigError as error:
            raise ServiceError(400, str(error)) from None
        offered = [(of, to) for of, to in self.pairs if _fits(target, to)]
        if source == languages.UNKNOWN:
            sources = {of for of, _ in offered}
            source = sources.pop() if len(sources) == 1 else self.detected(text, sources)[0]
        if not self.pairs:
            return source, target
        for of, to in offered:
            if source == languages.UNKNOWN:
                return source, max(to, target, key=len)
            if _fits(source, of):
                return max(of, source, key=len), max(to, target, key=len)
        raise ServiceError(400, f"{source} to {target} is not supported")

    def detected(self, text: str, among: Collection[str] = ()) -> tuple[str, float]:
        """The likeliest language of ``text``, ``among`` some, and how likely it is; unknown where nothing says so."""
        if not any(map(str.isalpha, text)):
            return languages.UNKNOWN, 0.0
        for code, share in identification.identified(text[:_ENOUGH]).items():
            if any(_fits(code, other) for other in among) or (not among and share >= 0.5):
                return code, share
        return languages.UNKNOWN, 0.0

    def offered(self) -> tuple[Pair, ...]:
        """The pairs that are listed: those of the operator, else all of the most translated languages."""
        return self.pairs or tuple((source, target) for source in _USUAL for target in _USUAL if source != target)

    def segments(
        self, texts: Sequence[str], source: str, target: str, terms: Sequence[Term] = (), **about: Any
    ) -> list[Segment]:
        """The ``texts`` as segments, within the limits. Raises :class:`ServiceError`."""
        self.check_size(texts, (about.get("context"), about.get("notes")), terms)
        pairs = [self.pair(source, target, text) for text in texts]
        segments = [
            Segment(id=str(number), source=text, source_lang=pair[0], target_lang=pair[1], **about)
            for number, (text, pair) in enumerate(zip(texts, pairs, strict=True), 1)
        ]
        return marked(segments, terms)

    def check_size(self, texts: Sequence[str], around: Sequence[str | None], terms: Sequence[Term]) -> None:
        """Raise :class:`ServiceError` for more than the operator allows."""
        limits = self.limits
        if len(texts) > limits.texts:
            raise ServiceError(413, f"{len(texts)} texts are too many: the most is {limits.texts} a request")
        if max(map(len, (*texts, *(text or "" for text in around))), default=0) > limits.text:
            raise ServiceError(413, f"a text is too long: the most is {limits.text} characters")
        if any(whole_characters(text) != text for text in (*texts, *around) if text):
            raise ServiceError(400, "a text holds half of a character (a lone surrogate)")
        if len(terms) > limits.terms:
            raise ServiceError(413, f"{len(terms)} terms are too many: the most is {limits.terms}")

    @contextmanager
    def paid(self, segments: Sequence[Segment]) -> Iterator[None]:
        """Count the characters of ``segments``; those of a request that fails before any chain is done are given back.

        Errors of the agent become :class:`ServiceError`, which tells a client nothing about the service's insides.
        """
        exchange = REQUEST_ACCOUNT.get()
        exchange.characters = sum(len(segment.source) for segment in segments)
        exchange.segments = len(segments)
        if self.log_texts:
            exchange.texts = [segment.source for segment in segments]
        self.access.check_budget(exchange.key, exchange.characters)
        self.state.spend(exchange.key.name, characters=exchange.characters)
        try:
            yield
        except (MtagentError, ServiceError) as error:
            self.metrics.segments.labels("failed", exchange.key.name).inc(exchange.segments - exchange.done)
            if not exchange.done:
                self.state.spend(exchange.key.name, characters=-exchange.characters)
            if isinstance(error, ServiceError):
                raise
            told = self.log_texts or isinstance(error, FATAL)  # whose messages name settings, not texts
            exchange.error = f"{type(error).__name__}: {error}" if told else type(error).__name__
            if isinstance(error, BudgetSpent):
                raise QuotaExceeded() from error
            if isinstance(error, ServerPaused):
                raise ServiceError(503, "the model is not available now", retry_after=error.seconds or 30) from error
            raise ServiceError(500, "the server cannot translate now; its operator can see why") from error

    def seconds(self, wanted: float | None = None) -> float:
        """How long a text may take: as the client wants it, within what the operator allows."""
        return min(wanted or self.limits.longest, self.limits.deadline or self.limits.longest)

    async def improved(self, segments: Sequence[Segment]) -> list[Chain]:
        """The chains of ``segments``, all of which have a text. Raises :class:`ServiceError`."""
        if not self._translates:
            raise ServiceError(400, "this server does not translate: give translations to /v1/improve")
        with self.paid(segments):
            chains = await self._translated(segments)
            if lost := next((chain for chain in chains if not chain.text and chain.failed), None):
                step = lost.steps[-1]
                error = step.error
                REQUEST_ACCOUNT.get().error = step.reason if self.log_texts or error is None else error.kind
                if error is not None and error.kind == LanguageNeeded.__name__:
                    raise ServiceError(400, "the text cannot be translated: name its source language")
                if error is not None and error.retryable:
                    raise ServiceError(503, "the text cannot be translated", retry_after=1)
                raise ServiceError(500, "the text cannot be translated")
        for chain in chains:
            self.count(chain)
        return chains

    async def _translated(self, segments: Sequence[Segment]) -> list[Chain]:
        """The chains of ``segments``; where the models refuse all work, those that end with the MT.

        Such an error ends the work on all segments: those that have no text by then are begun again one by one.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + self.seconds()
        try:
            return await self.agent.aimprove(segments, timeout=self.seconds())
        except FATAL as error:
            done = {chain.segment.id: chain for chain in error.chains if chain.text}
            if not done or isinstance(error, BudgetSpent):
                raise
            REQUEST_ACCOUNT.get().error = f"{type(error).__name__}: {error}"

        async def again(segment: Segment) -> Chain:
            try:
                return (await self.agent.aimprove([segment], timeout=end - clock()))[0]
            except FATAL as error:
                if not error.chains or not error.chains[0].text:
                    raise
                stopped: Chain = error.chains[0]
                return stopped

        rest = [segment for segment in segments if segment.id not in done]
        done |= {chain.segment.id: chain for chain in await finished(*map(again, rest))}
        return [done[segment.id] for segment in segments]

    def count(self, chain: Chain) -> None:
        """Count a chain that is handed out, and write down what the operator keeps of it."""
        exchange = REQUEST_ACCOUNT.get()
        exchange.done += 1
        exchange.changed += chain.changed
        late = is_late(chain)
        exchange.late += late
        exchange.failed += chain.failed is not None and not late
        self.metrics.segments.labels(chain.state, exchange.key.name).inc()
        if late:
            self.metrics.late.labels(exchange.key.name).inc()
        self.state.keep(exchange.key.name, [chain])


def marked(segments: list[Segment], terms: Sequence[Term]) -> list[Segment]:
    """The segments, each with those of the ``terms`` that its source has."""
    glossary = Glossary(terms)
    return list(with_terms(segments, lambda *pair: glossary)) if terms else segments


def is_late(chain: Chain) -> bool:
    """Whether the chain was not done in time, so that its text is what there was by then."""
    cause = chain.failed.cause if chain.failed is not None else None
    return isinstance(cause, ErrorCause) and cause.error == TimeoutError.__name__


def _fits(wanted: str, offered: str) -> bool:
    """Whether a text in ``offered`` is one in ``wanted``: ``pt`` and ``pt-BR`` are, ``pt-PT`` and ``pt-BR`` are not."""
    words, others = wanted.split("-"), offered.split("-")
    return words[0] == others[0] and (words == others or len(words) == 1 or len(others) == 1)


async def fields_of(request: Request) -> dict[str, Any]:
    """The fields of a JSON object or a form; those that a form has several times are lists."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.form()
        several = {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}
        return {name: values[0] if len(values) == 1 else values for name, values in several.items()}
    try:
        data = await request.json()
    except (ValueError, RecursionError):
        raise ServiceError(400, "the body is no JSON") from None
    if not isinstance(data, dict):
        raise ServiceError(400, "the body is no JSON object")
    return data


def read_fields(kind: type[Fields], data: Mapping[str, Any]) -> Fields:
    """``data`` as a request of this ``kind``. Raises :class:`ServiceError`, which names the field."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ServiceError(400, field_problem(error.errors()[0])) from None
