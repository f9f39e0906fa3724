"""The service behind all interfaces: an agent, the operator's limits, and an account of each request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pydantic import BaseModel, ValidationError
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from mtagent.chain.calibration import read
from mtagent.config import Config
from mtagent.errors import FATAL, BudgetSpent, ConfigError, LanguageNeeded, MtagentError, ServerPaused
from mtagent.formats.glossary import Glossary, with_terms
from mtagent.jobs.agent import Agent
from mtagent.llm.gathering import finished
from mtagent.llm.reading import whole_characters
from mtagent.records import Chain, ErrorCause, Segment, Step, Term, Usage
from mtagent.serve.access import ANYBODY, Access, ApiKey, QuotaExceeded, ServiceError
from mtagent.serve.state import Keep, Pair, State
from mtagent.text import identification, languages
from mtagent.text.terms import term_faults
from mtagent.translators import aclose, wrap
from mtagent.translators.protocol import BetweenTags, Markup
from mtagent.web import field_problem, request_key

logger = logging.getLogger("mtagent.serve")
_IDENTIFIED_CHARACTERS = 2000  # as many as language identification needs
Fields = TypeVar("Fields", bound=BaseModel)
_OFFERED_BY_DEFAULT = (
    *("en", "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("is", "it", "ja", "ko", "lt", "lv", "ms", "nb", "nl", "pl", "pt-BR", "pt-PT", "ro", "ru", "sk", "sl", "sr"),
    *("sv", "sw", "ta", "th", "tr", "uk", "ur", "vi", "zh-Hans", "zh-Hant"),
)


@dataclass(frozen=True)
class Limits:
    """The operator's limits for requests."""

    texts: int = 50  # per request
    body: int = 1_000_000  # bytes per request
    text: int = 50_000  # characters per text
    terms: int = 500  # per request
    in_flight: int = 512  # requests at a time
    deadline: float | None = None  # seconds after which a text is returned as it is; None: `longest`
    longest: float = 900.0  # seconds that a client may ask for
    grace: float = 30.0  # seconds in which requests in flight may finish after a signal to stop


@dataclass
class RequestAccount:
    """One request, from its first byte to its last: who sent it, what became of its texts, what it cost."""

    number: str = ""
    key: ApiKey = ANYBODY
    # The kind of tags in the texts, and the tags whose content isn't translated.
    markup: tuple[Markup, frozenset[str]] | None = None
    characters: int = 0  # of all source texts
    segments: int = 0  # of the request; the next four count those with a result
    done: int = 0
    changed: int = 0
    failed: int = 0
    late: int = 0
    missing_terms: int = 0  # terms of glossaries whose translations are missing in the returned texts
    usage: Usage = Usage()
    error: str | None = None  # for the log
    texts: list[str] = field(default_factory=list)  # for the log, if the operator logs texts

    @property
    def headers(self) -> dict[str, str]:
        """Headers that count the improved texts, those returned as plain MT, and missing terms."""
        counts = {"Changed": self.changed, "Failed": self.failed, "Late": self.late}
        counts["Missing-Terms"] = self.missing_terms
        return {f"X-Mtagent-{name}": str(count) for name, count in counts.items() if count}


REQUEST_ACCOUNT: ContextVar[RequestAccount] = ContextVar("account")


class Metrics:
    """The metrics that Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("mtagent_requests", "Requests", ["route", "status", "key"], **registry)
        self.seconds = Histogram("mtagent_request_seconds", "Seconds a request took", ["route"], **registry)
        self.in_flight = Gauge("mtagent_requests_under_way", "Requests in flight", **registry)
        self.segments = Counter("mtagent_segments", "Texts by their result", ["state", "key"], **registry)
        self.late = Counter("mtagent_late", "Texts returned before the chain was done", ["key"], **registry)
        self.tokens = Counter("mtagent_tokens", "Tokens of the models", ["direction", "key"], **registry)
        self.dollars = Counter("mtagent_dollars", "Dollars spent on models", ["key"], **registry)


class Service:
    """Improves the texts of clients. ``translator``, ``llm`` and other objects in ``parts`` are passed to the agent.

    ``pairs`` are the language pairs to offer; empty offers all, or those of the calibration. ``keys`` is the file of
    the keys.
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
        **parts: Any,
    ) -> None:
        config = config or Config()
        self.limits = limits
        self.pairs = tuple(pairs)
        self.log_texts = log_texts
        if not pairs and config.source_lang and config.target_lang:
            self.pairs = ((config.source_lang, config.target_lang),)
        if config.calibration is not None and not config.any_language:
            calibration = read(config.calibration)
            calibration.refuse_other_languages(config.calibration, [languages.pair_of(*pair) for pair in self.pairs])
            self.pairs = self.pairs or tuple(languages.parse_pair(pair) for pair in calibration.pairs)
        self.metrics = Metrics()
        self.closing = False
        self._in_flight = 0
        # An agent refuses these settings, and the service itself handles the languages.
        not_of_agent = {"run", "limit", "give_up_after", "store", "source_lang", "target_lang"}
        settings = config.model_dump(exclude_unset=True, exclude=not_of_agent)
        translator_spec = settings.pop("translator", "llm")
        self._translator = None
        self._translates = config.stages is None or "translate" in config.stages
        if translator is not None or translator_spec != "llm":
            if not self._translates:
                raise ConfigError("--stages: with a --translator the first stage must be translate, as in tp or tpp")
            self._translator = wrap(translator_spec if translator is None else translator)
            parts["translator"] = BetweenTags(self._translator, lambda: REQUEST_ACCOUNT.get().markup)
        self._owns_translator = translator is None
        self.agent = Agent(on_step=self._count_cost, **parts, **settings)
        self.state = State(state, keep)
        self.access = Access(keys, self.state.spent_by)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Keep the agent's parts open, and write the usage to the state file every second."""

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
        """Count a request in flight. Raises :class:`ServiceError` if there are too many, or the server is stopping."""
        if self.closing:
            raise ServiceError(503, "the server is being stopped", retry_after=1)
        if self._in_flight >= self.limits.in_flight:
            raise ServiceError(503, "the server is busy", retry_after=1)
        self._in_flight += 1
        self.metrics.in_flight.inc()
        try:
            yield
        finally:
            self._in_flight -= 1
            self.metrics.in_flight.dec()

    @property
    def is_idle(self) -> bool:
        """Whether no requests are in flight."""
        return self._in_flight == 0

    def _count_cost(self, segment: Segment, step: Step) -> None:
        """Count the cost of a step at once, because its request may be cancelled before the chain ends."""
        account = REQUEST_ACCOUNT.get(None)
        usage = step.usage
        if account is None or not usage.calls:
            return
        account.usage += usage
        name = account.key.name
        self.state.spend(name, dollars=usage.cost)
        self.metrics.tokens.labels("input", name).inc(usage.input_tokens)
        self.metrics.tokens.labels("output", name).inc(usage.output_tokens)
        self.metrics.dollars.labels(name).inc(usage.cost or 0.0)

    # -- requests

    def admit(self, request: Request, secret: object = None) -> ApiKey:
        """Find the key with this ``secret``, else with the one in the header, and count the request.

        Raises :class:`ServiceError`.
        """
        key = self.access.admit(secret if isinstance(secret, str) else request_key(request))
        REQUEST_ACCOUNT.get().key = key
        return key

    def pair(self, source: str, target: str, text: str = "") -> Pair:
        """The language pair of a request, with the varieties of the offered pair. Raises :class:`ServiceError`.

        A source language ``auto`` becomes the only one that is offered, else the likeliest language of ``text``, else
        unknown.
        """
        try:
            source = languages.UNKNOWN if source in ("", "auto", languages.UNKNOWN) else languages.normalise(source)
            target = languages.normalise(target)
        except ConfigError as error:
            raise ServiceError(400, str(error)) from None
        pairs_to_target = [pair for pair in self.pairs if _fits(target, pair[1])]
        if source == languages.UNKNOWN:
            sources = {offered_source for offered_source, _ in pairs_to_target}
            source = sources.pop() if len(sources) == 1 else self.detected(text, sources)[0]
        if not self.pairs:
            return source, target
        for offered_source, offered_target in pairs_to_target:
            # Of two codes for a language, the longer one names its variety.
            precise_target = max(offered_target, target, key=len)
            if source == languages.UNKNOWN:
                return source, precise_target
            if _fits(source, offered_source):
                return max(offered_source, source, key=len), precise_target
        raise ServiceError(400, f"{source} to {target} is not supported")

    def detected(self, text: str, candidates: Collection[str] = ()) -> tuple[str, float]:
        """The likeliest language of ``text`` and its probability; unknown if none is likely.

        With ``candidates``, only these languages are considered.
        """
        if not any(character.isalpha() for character in text):
            return languages.UNKNOWN, 0.0
        for code, probability in identification.identified(text[:_IDENTIFIED_CHARACTERS]).items():
            is_likely = probability >= 0.5
            if candidates:
                is_likely = any(_fits(code, candidate) for candidate in candidates)
            if is_likely:
                return code, probability
        return languages.UNKNOWN, 0.0

    def offered(self) -> tuple[Pair, ...]:
        """The pairs to list: the operator's, else all pairs of the most translated languages."""
        return self.pairs or tuple(permutations(_OFFERED_BY_DEFAULT, 2))

    def check_size(self, texts: Sequence[str], context: Sequence[str | None], terms: Sequence[Term]) -> None:
        """Raise :class:`ServiceError` for more or longer texts than the operator allows, or invalid ones.

        ``context`` are texts around the ``texts``, which don't count as texts of the request.
        """
        limits = self.limits
        if len(texts) > limits.texts:
            raise ServiceError(413, f"{len(texts)} texts are too many; the limit is {limits.texts} per request")
        for text in (*texts, *context):
            if text and len(text) > limits.text:
                raise ServiceError(413, f"a text is too long; the limit is {limits.text} characters")
        for text in (*texts, *context):
            if text and whole_characters(text) != text:
                raise ServiceError(400, "a text contains half of a character (a lone surrogate)")
        if len(terms) > limits.terms:
            raise ServiceError(413, f"{len(terms)} terms are too many; the limit is {limits.terms} per request")

    @contextmanager
    def paid(self, segments: Sequence[Segment]) -> Iterator[None]:
        """Charge the characters of ``segments``, and refund them if the request fails before any chain is done.

        Errors of the agent become :class:`ServiceError`, which tells clients nothing about the inside of the service.
        """
        account = REQUEST_ACCOUNT.get()
        account.characters = sum(len(segment.source) for segment in segments)
        account.segments = len(segments)
        if self.log_texts:
            account.texts = [segment.source for segment in segments]
        self.access.check_budget(account.key, account.characters)
        self.state.spend(account.key.name, characters=account.characters)
        try:
            yield
        except (MtagentError, ServiceError) as error:
            self.metrics.segments.labels("failed", account.key.name).inc(account.segments - account.done)
            if not account.done:
                self.state.spend(account.key.name, characters=-account.characters)
            if isinstance(error, ServiceError):
                raise
            account.error = type(error).__name__
            if self.log_texts or isinstance(error, FATAL):  # the messages of fatal errors name settings, not texts
                account.error += f": {error}"
            if isinstance(error, BudgetSpent):
                raise QuotaExceeded() from error
            if isinstance(error, ServerPaused):
                raise ServiceError(503, "the model is not available now", retry_after=error.seconds or 30) from error
            raise ServiceError(500, "the server cannot translate now; its operator can see why") from error

    def seconds(self, timeout: float | None = None) -> float:
        """How long a text may take: the client's ``timeout``, within the operator's limits."""
        return min(timeout or self.limits.longest, self.limits.deadline or self.limits.longest)

    async def translated(
        self, texts: Sequence[str], source: str, target: str, terms: Sequence[Term] = (), **about: str | None
    ) -> list[Chain]:
        """Translate and improve ``texts``, within the limits; every chain has a text. Raises :class:`ServiceError`.

        ``about`` are the fields ``context`` and ``notes`` of all segments.
        """
        self.check_size(texts, tuple(about.values()), terms)
        segments = []
        for number, text in enumerate(texts, 1):
            source_lang, target_lang = self.pair(source, target, text)
            pair = {"source_lang": source_lang, "target_lang": target_lang}
            segments.append(Segment.model_validate({"id": str(number), "source": text, **pair, **about}))
        segments = with_matching_terms(segments, terms)
        if not self._translates:
            raise ServiceError(400, "this server does not translate; send translations to /v1/improve")
        with self.paid(segments):
            chains = await self._translated(segments)
            for chain in chains:
                if not chain.text and chain.failed:
                    raise self._translation_failure(chain.steps[-1])
        for chain in chains:
            self.count(chain)
        return chains

    def _translation_failure(self, step: Step) -> ServiceError:
        """The error for a text that ``step`` left without a translation; the cause goes to the log."""
        error = step.error
        REQUEST_ACCOUNT.get().error = step.reason if self.log_texts or error is None else error.kind
        if error is not None and error.kind == LanguageNeeded.__name__:
            return ServiceError(400, "the text cannot be translated; name its source language")
        if error is not None and error.retryable:
            return ServiceError(503, "the text cannot be translated", retry_after=1)
        return ServiceError(500, "the text cannot be translated")

    async def _translated(self, segments: Sequence[Segment]) -> list[Chain]:
        """Translate and improve ``segments``; if the models refuse all work, the chains end with the MT.

        Such an error ends the work on all segments, so segments without a text are started again one by one.
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

        remaining_segments = [segment for segment in segments if segment.id not in done]
        remaining_chains = await finished(*map(again, remaining_segments))
        for chain in remaining_chains:
            done[chain.segment.id] = chain
        return [done[segment.id] for segment in segments]

    def count(self, chain: Chain) -> None:
        """Count a chain that is returned to the client, and store what the operator keeps of it."""
        account = REQUEST_ACCOUNT.get()
        account.done += 1
        account.changed += chain.changed
        self.metrics.segments.labels(chain.state, account.key.name).inc()
        if is_late(chain):
            account.late += 1
            self.metrics.late.labels(account.key.name).inc()
        elif chain.failed is not None:
            account.failed += 1
        if chain.segment.terms:
            account.missing_terms += _missing_terms(chain)
        self.state.keep(account.key.name, [chain])


def with_matching_terms(segments: list[Segment], terms: Sequence[Term]) -> list[Segment]:
    """Add to each segment those ``terms`` that occur in its source."""
    if not terms:
        return segments
    glossary = Glossary(terms)
    return list(with_terms(segments, lambda *pair: glossary))


def is_late(chain: Chain) -> bool:
    """Whether the chain ran out of time, so that its text is an intermediate one."""
    cause = chain.failed.cause if chain.failed is not None else None
    return isinstance(cause, ErrorCause) and cause.error == TimeoutError.__name__


def _missing_terms(chain: Chain) -> int:
    """How many terms of the glossary, or terms to leave untranslated, are missing in the text of ``chain``."""
    missing = 0
    for fault in term_faults(chain.segment, chain.text):
        if fault.kind != "forbidden":
            missing += 1
    return missing


def _fits(requested: str, offered: str) -> bool:
    """Whether a text in ``offered`` is one in ``requested``: ``pt`` fits ``pt-BR``, but ``pt-PT`` doesn't."""
    if requested == offered:
        return True
    language, _, variety = requested.partition("-")
    offered_language, _, offered_variety = offered.partition("-")
    return language == offered_language and not (variety and offered_variety)


async def fields_of(request: Request) -> dict[str, Any]:
    """Read the fields of the query string, and of the body: a JSON object or a form. The body's fields win.

    Repeated fields of a query string or a form become lists.
    """
    query = _fields(request.query_params)
    if not await request.body():
        return query
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return query | _fields(await request.form())
    try:
        data = await request.json()
    except (ValueError, RecursionError):
        raise ServiceError(400, "the body is not JSON") from None
    if not isinstance(data, dict):
        raise ServiceError(400, "the body is not a JSON object")
    return query | data


def _fields(values_by_name: ImmutableMultiDict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in values_by_name:
        # Values that are not texts are uploaded files.
        values = [value for value in values_by_name.getlist(name) if isinstance(value, str)]
        fields[name] = values[0] if len(values) == 1 else values
    return fields


def read_fields(kind: type[Fields], data: Mapping[str, Any]) -> Fields:
    """Read ``data`` as a request of this ``kind``. Raises :class:`ServiceError`, which names the field."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ServiceError(400, field_problem(error.errors()[0])) from None
