"""The service behind all interfaces: an agent, the operator's limits, and an account of each request."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import permutations
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from mtagent.chain.calibration import read
from mtagent.config import Config
from mtagent.errors import (
    FATAL,
    BadRequest,
    BudgetSpent,
    ConfigError,
    EmptyReply,
    LanguageNeeded,
    ModelError,
    MtagentError,
    Refused,
    ServerPaused,
    TranslatorError,
    Truncated,
)
from mtagent.formats.glossary import Glossary, with_terms
from mtagent.jobs.agent import Agent
from mtagent.llm.events import CallEvent, Event, Observers, RetryEvent
from mtagent.llm.gathering import unfailed
from mtagent.llm.limits import Breaker
from mtagent.llm.reading import whole_characters
from mtagent.records import Chain, ErrorCause, Segment, Stage, Step, Term
from mtagent.serve.access import Access, ApiKey, QuotaExceeded, ServiceError
from mtagent.serve.account import REQUEST_ACCOUNT, Limits, Metrics, ServiceBudget, error_for_log
from mtagent.serve.state import Keep, Pair, State
from mtagent.text import identification, languages
from mtagent.text.terms import term_faults
from mtagent.translators import aclose, wrap
from mtagent.translators.protocol import BetweenTags
from mtagent.web import field_problem, json_problem, request_key

logger = logging.getLogger("mtagent.serve")
HALF_CHARACTER = "a text contains half of a character (a lone surrogate)"
_AS_SURROGATES = "surrogateescape"  # bytes that aren't UTF-8 become lone surrogates
_MOST_FIELDS = 1000
_MOST_PAIRS_SHOWN = 10  # in the error for a pair that isn't offered
_IDENTIFIED_CHARACTERS = 2000  # language identification needs no more
_MARGIN = 0.5  # seconds between the end of the work and the deadline, to send the answer; less for short deadlines
_MANY_MT_FAILURES = 5
_SHORTEST = 1e-6  # the agent's timeout, in seconds, if the deadline has passed; it refuses 0
CONCURRENCY = 256
"""The default number of calls to a model at a time. A server that turns calls away gets fewer."""
_ANSWERS = frozenset({error.__name__ for error in (BadRequest, EmptyReply, Refused, Truncated)})
"""Errors that concern one text, so the model works. The causes of retries have the same names."""
_REFUSED_PARAMETER = "refused parameter"
Fields = TypeVar("Fields", bound=BaseModel)
Result = TypeVar("Result")
_OFFERED_BY_DEFAULT = (
    *("en", "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("is", "it", "ja", "ko", "lt", "lv", "ms", "nb", "nl", "pl", "pt-BR", "pt-PT", "ro", "ru", "sk", "sl", "sr"),
    *("sv", "sw", "ta", "th", "tr", "uk", "ur", "vi", "zh-Hans", "zh-Hant"),
)


def _offered_pairs(config: Config, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The language ``pairs`` to offer, by default the pair of ``config`` or the pairs of its calibration; empty: all.

    Raises :class:`ConfigError` for pairs that the gate wasn't calibrated on.
    """
    offered = tuple(pairs)
    if not offered and config.source_lang and config.target_lang:
        offered = ((config.source_lang, config.target_lang),)
    if config.calibration is not None and not config.any_language:
        calibration = read(config.calibration)
        calibration.refuse_other_languages(config.calibration, [languages.pair_of(*pair) for pair in offered])
        if not offered:
            offered = tuple(languages.parse_pair(pair) for pair in calibration.pairs)
    return offered


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
        self.pairs = _offered_pairs(config, pairs)
        self.log_texts = log_texts
        self.metrics = Metrics()
        self.closing = False
        self.bodies = set[asyncio.Timeout]()
        """The timeouts of the bodies that are being read."""
        self._work = set[asyncio.Timeout]()  # they expire only when the server stops
        self._work_is_over = False
        self._in_flight = 0
        self._mt_failures = 0  # in a row
        # An agent refuses these settings, and the service itself handles the languages.
        handled_here = {"run", "limit", "give_up_after", "store", "source_lang", "target_lang"}
        settings = config.model_dump(exclude_unset=True, exclude=handled_here)
        translator_spec = settings.pop("translator", "llm")
        self._translator = None
        self._translates = config.stages is None or "translate" in config.stages
        if translator is not None or translator_spec != "llm":
            if not self._translates:
                raise ConfigError("--stages: with a --translator the first stage must be translate, as in tp or tpp")
            self._translator = wrap(translator_spec if translator is None else translator)
            parts["translator"] = BetweenTags(self._translator, lambda: REQUEST_ACCOUNT.get().markup)
        self._owns_translator = translator is None
        self.breaker = Breaker(limits.deadline)
        observers = [self._count_cost, self.metrics.observe, self._watch_models]
        if parts.get("observer") is not None:
            observers.append(parts["observer"])
        parts["observer"] = Observers(observers)
        self.agent = Agent(**parts, **settings)
        # Set afterwards, because an agent without a model refuses these settings.
        pace: dict[str, float] = {"deadline": min(config.deadline, limits.deadline)}
        if "concurrency" not in settings and config.llm in (None, "openai"):
            pace["concurrency"] = CONCURRENCY
        self.agent.config = self.agent.config.model_copy(update=pace)
        stages = config.effective(translator=self._translator is not None).stages or ()
        improving_stages = [stage for stage in stages if stage not in ("translate", "rerank")]
        self._improving_stage: Stage = improving_stages[0] if improving_stages else "postedit"
        """The stage of the step that records why a translation was not improved."""
        self.state = State(state, keep)
        self.access = Access(keys)
        self.metrics.observe_state(self.state)
        of_keys = self.access.limits_dollars
        if self.agent.budget is not None or of_keys or {limits.dollars_per_day, limits.dollars_per_request} != {None}:
            agent_config = self.agent.config
            self.agent.budget = ServiceBudget(agent_config, limits, self.state, self.metrics, keys_have_dollars=of_keys)
        self.metrics.observe_budgets(limits, self.state, self.agent.budget)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Keep the agent's parts open, and write the usage to the state file every second."""

        async def write() -> None:
            while True:
                await asyncio.sleep(1)
                await self.state.flush()

        async with self.agent:
            writing = asyncio.create_task(write())
            try:
                yield
            finally:
                writing.cancel()
                with suppress(asyncio.CancelledError):
                    await writing
                await self.state.close()
                if self._owns_translator and self._translator is not None:
                    await aclose(self._translator)

    def check_open(self) -> None:
        """Raise :class:`ServiceError` if the server is stopping."""
        if self.closing:
            raise _stopping()

    def end_work(self) -> None:
        """End the work on all requests in flight now.

        Requests whose texts aren't all translated are answered with 503, and their characters refunded. The others are
        answered as at their deadline.
        """
        self._work_is_over = True
        for work in self._work:
            end_now(work)

    async def _unless_stopped(self, work: Awaitable[Result]) -> Result:
        """The result of ``work``. Raises :class:`ServiceError` if the server stops first."""
        timeout = asyncio.timeout(0 if self._work_is_over else None)
        try:
            async with timeout:
                self._work.add(timeout)
                return await work
        except TimeoutError:
            if timeout.expired():
                raise _stopping() from None
            raise
        finally:
            self._work.discard(timeout)

    def check_capacity(self) -> None:
        """Raise :class:`ServiceError` if there are too many requests in flight, or the server is stopping."""
        self.check_open()
        if self._in_flight >= self.limits.in_flight:
            raise ServiceError(503, "the server is busy", retry_after=1)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request in flight. Raises :class:`ServiceError` if that is not possible now."""
        self.check_capacity()
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

    @property
    def problems(self) -> list[str]:
        """The current problems, for `/healthz`; the log has the details."""
        problems = []
        if self.state.problem is not None:
            problems.append("usage cannot be written to the state file")
        if isinstance(self.agent.budget, ServiceBudget):
            problems += self.agent.budget.problems
        if self._mt_failures >= _MANY_MT_FAILURES:
            problems.append(f"the MT system has failed on the last {self._mt_failures} texts")
        return problems

    def _count_cost(self, event: Event) -> None:
        """Count the cost of a call as soon as it ends, since a fatal error or a disconnect may end its request."""
        account = REQUEST_ACCOUNT.get(None)
        # A user's model that returns a stored reply reports no calls.
        if account is None or not isinstance(event, CallEvent) or not event.usage.calls:
            return
        usage, name = event.usage, account.key.name
        account.usage += usage
        self.state.spend(name, dollars=usage.cost)
        self.metrics.tokens.labels("input", name).inc(usage.input_tokens)
        self.metrics.tokens.labels("output", name).inc(usage.output_tokens)
        self.metrics.dollars.labels(name).inc(usage.cost or 0.0)

    def _watch_models(self, event: Event) -> None:
        """Tell the breaker which models answer."""
        if isinstance(event, RetryEvent) and event.cause not in (*_ANSWERS, _REFUSED_PARAMETER):
            self.breaker.failed(event.model)
        elif not isinstance(event, CallEvent):
            return
        elif event.error is None or event.error in _ANSWERS:
            self.breaker.succeeded(event.model)
        elif event.error != asyncio.CancelledError.__name__ or event.seconds >= self.limits.deadline / 2:
            # A call is cancelled at the deadline, or earlier if the client disconnects.
            self.breaker.failed(event.model, event.seconds, pause=event.pause or 0.0)
        self.metrics.resting.labels(event.model).set(event.model in self.breaker.resting)

    @property
    def health(self) -> dict[str, Any]:
        """The state of the service, its problems, and the seconds until models that rest are tried again."""
        if self.closing:
            return {"status": "closing"}
        health: dict[str, Any] = {"status": "ok"}
        if self.problems:
            health |= {"status": "degraded", "problems": self.problems}
        resting = self.breaker.resting
        if resting:
            # Without an MT system of its own, the server can't translate either.
            status = "unavailable" if self._translates and self._translator is None else "degraded"
            seconds = {model: round(left, 1) for model, left in resting.items()}
            health |= {"status": status, "resting_models": seconds}
        return health

    # -- requests

    def admit(self, request: Request, secret: object = None) -> ApiKey:
        """Find the key with this ``secret``, else with the one in the header, and count the request.

        Raises :class:`ServiceError`.
        """
        key = self.access.find(secret if isinstance(secret, str) else request_key(request))
        REQUEST_ACCOUNT.get().key = key
        self.access.count_request(key)
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
        offered = ", ".join(f"{first} to {second}" for first, second in self.pairs[:_MOST_PAIRS_SHOWN])
        if len(self.pairs) > _MOST_PAIRS_SHOWN:
            offered += " and more"
        # Without a source language there is a problem with the target only.
        requested = f"to {target}" if source == languages.UNKNOWN else f"{source} to {target}"
        raise ServiceError(400, f"{requested} is not supported; this server translates {offered}")

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
        """Raise :class:`ServiceError` for more or longer texts than the operator allows.

        ``context`` are texts around the ``texts``, which don't count as texts of the request.
        """
        limits = self.limits
        if len(texts) > limits.texts:
            raise ServiceError(413, f"{len(texts)} texts are too many; the limit is {limits.texts} per request")
        for text in (*texts, *context):
            if text and len(text) > limits.text:
                raise ServiceError(413, f"a text is too long; the limit is {limits.text} characters")
        if len(terms) > limits.terms:
            raise ServiceError(413, f"{len(terms)} terms are too many; the limit is {limits.terms} per request")

    async def charge(self, segments: Sequence[Segment]) -> None:
        """Charge the characters of ``segments`` to the key of the request. Raises :class:`ServiceError`."""
        account = REQUEST_ACCOUNT.get()
        account.characters = sum(len(segment.source) for segment in segments)
        account.segments = len(segments)
        if self.log_texts:
            account.texts = [segment.source for segment in segments]
        account.month = await self.state.charge(account.key, account.characters)

    @contextmanager
    def refunding(self) -> Iterator[None]:
        """Refund the characters that were charged if the request fails before any chain is sent.

        Errors of the agent become :class:`ServiceError`, which tells clients nothing about the inside of the service.
        """
        account = REQUEST_ACCOUNT.get()
        try:
            yield
        except (MtagentError, ServiceError) as error:
            self.metrics.segments.labels("failed", account.key.name).inc(account.segments - account.done)
            if not account.done:
                self.state.spend(account.key.name, characters=-account.characters, month=account.month)
            if isinstance(error, ServiceError):
                raise
            account.error = error_for_log(error, self.log_texts)
            if isinstance(error, BudgetSpent):
                raise QuotaExceeded() from error
            if isinstance(error, ServerPaused):
                raise ServiceError(503, "the model is not available now", retry_after=error.seconds or 30) from error
            raise ServiceError(500, "the server cannot translate now; its operator can see why") from error

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
            fields = {"id": str(number), "source": text, "source_lang": source_lang, "target_lang": target_lang}
            segments.append(Segment.model_validate(fields | about))
        segments = with_matching_terms(segments, terms)
        if not self._translates:
            raise ServiceError(400, "this server does not translate; send translations to /v1/improve")
        await self.charge(segments)
        return await self.all_improved(segments, needs_all=True)

    def _translation_failure(self, step: Step) -> ServiceError:
        """The error for a text that ``step`` left without a translation; the cause goes to the log."""
        error = step.error
        REQUEST_ACCOUNT.get().error = step.reason if self.log_texts else _failure_for_log(step)
        if error is not None and error.kind == LanguageNeeded.__name__:
            return ServiceError(400, "the text cannot be translated; name its source language")
        if error is not None and error.retryable:
            return ServiceError(503, "the text cannot be translated", retry_after=1)
        return ServiceError(500, "the text cannot be translated")

    async def all_improved(
        self,
        segments: Sequence[Segment],
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        needs_all: bool = False,
    ) -> list[Chain]:
        """The chains of all segments, for one answer (see :meth:`improved`). Raises :class:`ServiceError`."""
        with self.refunding():
            chains = [chain async for chain in self.improved(segments, timeout, needs_all=needs_all)]
        # An error in the middle leaves nothing to send, so no chain is counted before the last one has come.
        for chain in chains:
            self.count(chain)
        return chains

    async def improved(
        self,
        segments: Sequence[Segment],
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        needs_all: bool = False,
    ) -> AsyncGenerator[Chain, None]:
        """Yield the chain of each segment, in order. The caller counts it when it sends it to the client.

        All segments are translated before any is improved. With ``needs_all``, a segment without a translation ends the
        request then; without it, only if no segment has a translation. Whatever the models do after that, the text of a
        chain is at least that translation. It comes before the deadline, or when the work on all requests ends.
        Raises :class:`ServiceError`, and errors of the agent that concern the whole request.
        """
        seconds = min(timeout or self.limits.deadline, self.limits.deadline)
        end = REQUEST_ACCOUNT.get().began + seconds - min(_MARGIN, seconds / 20)
        # A request without words calls no model, so it can't be the trial of a model that has rested.
        is_admitted = not any(segment.source.strip() for segment in segments) or self.breaker.admit()
        drafts = await self._unless_stopped(self._drafts(segments, end, is_admitted, needs_all))
        # With context, a segment is improved after the one before it.
        groups = [drafts] if self.agent.config.context else [[draft] for draft in drafts]
        if len(groups) == 1:  # needs no task of its own
            for chain in await self._improve(groups[0], end, is_admitted):
                yield chain
            return
        tasks = [asyncio.ensure_future(self._improve(group, end, is_admitted)) for group in groups]
        try:
            for task in tasks:
                for chain in await task:
                    yield chain
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _improve_until(self, end: float, segments: Sequence[Segment], *only: Stage) -> list[Chain]:
        """The chains of segments, from all stages or ``only`` some."""
        seconds = max(_SHORTEST, end - time.monotonic())
        return await self.agent.aimprove(segments, timeout=seconds, only=only or None)

    async def _drafts(
        self, segments: Sequence[Segment], end: float, is_admitted: bool, needs_all: bool
    ) -> Sequence[Chain]:
        """The chains of all segments after the stage translate. All are paid for, so it waits for each of them.

        A fatal error becomes the failed step of its segment, unless ``needs_all`` is set or no segment has a chain.
        """
        if all(segment.translation is not None for segment in segments):
            return [Chain(segment=segment) for segment in segments]
        work = [self._draft(segment, end, is_admitted) for segment in segments]
        outcomes = await asyncio.gather(*work, return_exceptions=True)
        drafts = []
        for segment, outcome in zip(segments, outcomes, strict=True):
            if isinstance(outcome, Chain):
                drafts.append(outcome)
            elif isinstance(outcome, FATAL):
                REQUEST_ACCOUNT.get().error = error_for_log(outcome, self.log_texts)
                failed = Step(stage="translate", verdict="failed", cause=ErrorCause.of(outcome), text="")
                failed_chain = Chain(segment=segment, steps=(failed,))
                # What was paid for before the error is in the agent's own chain.
                drafts.append(outcome.chains[0] if outcome.chains else failed_chain)
        has_chain = any(isinstance(outcome, Chain) for outcome in outcomes)
        if needs_all or not has_chain or len(drafts) < len(segments):
            drafts = unfailed(outcomes)
        for draft in drafts:
            if needs_all and not draft.text and draft.failed is not None:
                raise self._translation_failure(draft.failed)
        return drafts

    async def _draft(self, segment: Segment, end: float, is_admitted: bool) -> Chain:
        """The chain of ``segment``, which is translated first if it has no translation."""
        if segment.translation is not None:
            return Chain(segment=segment)
        if self._translates and self._translator is None and not is_admitted:
            raise self._resting_error()
        (draft,) = await self._improve_until(end, [segment], "translate")
        if self._translator is not None:
            self._watch_mt(draft, end)
        return draft

    def _watch_mt(self, draft: Chain, end: float) -> None:
        """Count the failures of the MT system in a row, except failures that the client caused."""
        if draft.failed is None:
            self._mt_failures = 0
            return
        had_time = end - REQUEST_ACCOUNT.get().began > self.limits.deadline - 2 * _MARGIN
        if not _failed_with(draft, LanguageNeeded) and (had_time or not is_late(draft)):
            self._mt_failures += 1

    def _resting_error(self) -> ServerPaused:
        """The error for a text that needs a model while the model rests."""
        error = ServerPaused("a model gives no answers; it is tried again later")
        error.seconds = max(self.breaker.resting.values(), default=1.0)
        return error

    async def _improve(self, drafts: Sequence[Chain], end: float, is_admitted: bool) -> list[Chain]:
        """Improve translated segments.

        If the models refuse all work, or the server stops before they are done, the chains end with their translations.
        """
        segments = []
        for number, draft in enumerate(drafts):
            if draft.failed is None:
                # Clients may give several segments the same id.
                segments.append(draft.segment.model_copy(update={"id": str(number), "translation": draft.text}))
        chains: Sequence[Chain] = ()
        error: Exception = self._resting_error()
        if is_admitted and segments:
            try:
                chains = await self._unless_stopped(self._improve_until(end, segments))
            except ServiceError:
                error = TimeoutError("the server was stopped")
            except FATAL as fatal:
                error = fatal
                chains = fatal.chains
                REQUEST_ACCOUNT.get().error = error_for_log(fatal, self.log_texts)
        steps = {chain.segment.id: chain.steps for chain in chains}
        improved = []
        for number, draft in enumerate(drafts):
            missing = Step(stage=self._improving_stage, verdict="failed", cause=ErrorCause.of(error), text=draft.text)
            later_steps = steps.get(str(number), (missing,))
            if draft.failed is not None:
                later_steps = ()
            improved.append(draft.model_copy(update={"steps": (*draft.steps, *later_steps)}))
        return improved

    def count(self, chain: Chain) -> None:
        """Count a chain that is returned to the client, and store what the operator wants to keep of it."""
        account = REQUEST_ACCOUNT.get()
        account.done += 1
        account.changed += chain.changed
        self.metrics.segments.labels(chain.state, account.key.name).inc()
        if is_late(chain):
            account.late += 1
            self.metrics.late.labels(account.key.name).inc()
        elif _failed_with(chain, ServerPaused):
            account.paused += 1
            self.metrics.paused.labels(account.key.name).inc()
        elif chain.failed is not None:
            account.failed += 1
            account.failures[_failure_for_log(chain.failed)] += 1
        if chain.segment.terms:
            account.missing_terms += _missing_terms(chain)
        self.state.keep(account.key.name, [chain])


def end_now(timeout: asyncio.Timeout) -> None:
    """Let ``timeout`` expire now."""
    if not timeout.expired():
        timeout.reschedule(asyncio.get_running_loop().time())


def _stopping() -> ServiceError:
    return ServiceError(503, "the server is being stopped", retry_after=1)


def with_matching_terms(segments: list[Segment], terms: Sequence[Term]) -> list[Segment]:
    """Add to each segment those ``terms`` that occur in its source."""
    if not terms:
        return segments
    glossary = Glossary(terms)
    return list(with_terms(segments, lambda *pair: glossary))


def is_late(chain: Chain) -> bool:
    """Whether the chain ran out of time, so its text may lack later stages."""
    return _failed_with(chain, TimeoutError)


def _failure_for_log(step: Step) -> str:
    """Why ``step`` failed, without texts."""
    error = step.error
    if error is None:
        return step.cause.kind
    if isinstance(error.__cause__, ModelError | TranslatorError):
        return error_for_log(error.__cause__, log_texts=False)
    return error.kind


def _failed_with(chain: Chain, error: type[Exception]) -> bool:
    """Whether ``error`` ended the chain."""
    cause = chain.failed.cause if chain.failed is not None else None
    return isinstance(cause, ErrorCause) and cause.error == error.__name__


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
    fields = _fields(_pairs(request.scope["query_string"]))
    data: dict[str, Any] = {}
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "application/x-www-form-urlencoded":
        fields |= _fields(_pairs(await request.body()))
    elif content_type == "multipart/form-data":
        fields |= _fields(await _pairs_of_parts(request))
    elif await request.body():
        content = read_json(await request.body())
        if not isinstance(content, dict):
            raise ServiceError(400, "the body is not a JSON object")
        data = content
    return fields | data


def read_json(body: bytes) -> object:
    """The data in a JSON body. Raises :class:`ServiceError`."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # Python's reader, which takes ten times as long, also takes NaN, UTF-16, and half characters.
        try:
            data = json.loads(body)
        except json.JSONDecodeError as error:
            raise ServiceError(400, json_problem(error.pos, error.msg)) from None
        except (ValueError, RecursionError):
            raise ServiceError(400, "the body is not JSON") from None
    if has_half_character(data):
        raise ServiceError(400, HALF_CHARACTER)
    return data


def _pairs(form: bytes) -> list[tuple[str, str]]:
    """The names and values in a query string or a form. Bytes that aren't UTF-8 become lone surrogates."""
    try:
        text = form.decode(errors=_AS_SURROGATES)
        return parse_qsl(text, keep_blank_values=True, errors=_AS_SURROGATES, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise ServiceError(400, f"more than {_MOST_FIELDS} fields") from None


async def _pairs_of_parts(request: Request) -> list[tuple[str, str]]:
    """The names and values in a form of several parts, without uploaded files; see :func:`_pairs`."""
    # As Latin-1, the parser passes each byte on. Otherwise it would use Latin-1 only for texts that aren't UTF-8.
    headers = Headers({"content-type": f"{request.headers['content-type']}; charset=latin-1"})
    try:
        parser = MultiPartParser(headers, request.stream())
        parser.max_part_size = sys.maxsize  # the body as a whole is limited; older versions have no argument for it
        form = await parser.parse()
    except MultiPartException as error:
        raise ServiceError(400, error.message) from None
    pairs = []
    for name, value in form.multi_items():
        if isinstance(value, str):
            pairs.append((_as_utf8(name), _as_utf8(value)))
    return pairs


def _as_utf8(latin: str) -> str:
    return latin.encode("latin-1").decode(errors=_AS_SURROGATES)


def _fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The fields of a query string or a form. Raises :class:`ServiceError` if they aren't UTF-8, with the name."""
    values_by_name: dict[str, list[str]] = {}
    for name, value in pairs:
        if has_half_character(name):
            raise ServiceError(400, "the name of a field is not UTF-8")
        if has_half_character(value):
            raise ServiceError(400, f"{name:.80}: the text is not UTF-8")
        values_by_name.setdefault(name, []).append(value)
    fields: dict[str, Any] = {}
    for name, values in values_by_name.items():
        fields[name] = values[0] if len(values) == 1 else values
    return fields


def has_half_character(data: object) -> bool:
    """Whether a text or a name in JSON data contains a lone surrogate, which cannot be stored or sent."""
    remaining = [data]
    while remaining:
        value = remaining.pop()
        if isinstance(value, str) and whole_characters(value) != value:
            return True
        if isinstance(value, dict):
            remaining += [*value, *value.values()]
        elif isinstance(value, list):
            remaining += value
    return False


def read_fields(kind: type[Fields], data: object) -> Fields:
    """Read ``data`` as a request of this ``kind``. Raises :class:`ServiceError`, which names the field."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ServiceError(400, field_problem(error.errors()[0])) from None
