"""The interface for Python: wrap an MT system, improve texts, and get records."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from concurrent import futures
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, Unpack, overload
from weakref import WeakKeyDictionary

from mtagent import config as configuration
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate
from mtagent.config import Role, Settings
from mtagent.errors import ConfigError, MtagentError
from mtagent.evaluators.protocol import Evaluator
from mtagent.formats.glossary import GlossaryFor, with_terms
from mtagent.formats.tmx import TranslationMemory, with_matches
from mtagent.jobs.context import Document, Placed, placed
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.parts import (
    OwnParts,
    assembled,
    budget_of,
    budgeted_by,
    effective,
    gate_warnings,
    package_versions,
    refuse_other_languages,
    settings_for_results,
)
from mtagent.jobs.pilot import with_settled_gates
from mtagent.jobs.pool import GRACE, Outcome, work_all
from mtagent.jobs.python_inputs import (
    Terms,
    TextDetails,
    loaded,
    mapping_of,
    refuse_foreign,
    refuse_idle,
    refuse_uncallable,
    segments_of,
    split_judges,
    split_models,
)
from mtagent.jobs.run import Job, RunModels, run_job, tell_the_way_on
from mtagent.jobs.session import OwnLoop, Session
from mtagent.llm import prices
from mtagent.llm.budget import Budget
from mtagent.llm.events import Observer
from mtagent.llm.prompts import read_instructions_by_language, with_instructions
from mtagent.llm.protocol import LLM
from mtagent.llm.server import ApiKey
from mtagent.processes import load_before_forks
from mtagent.records import Call, Chain, Segment, Stage, Step, Usage
from mtagent.store.runs import Run, RunSummary
from mtagent.store.store import Store, default_path, open_existing
from mtagent.text import languages
from mtagent.text.masking import masked
from mtagent.translators import wrap
from mtagent.translators.callables import BATCH_SIZE, CallableTranslator
from mtagent.translators.protocol import Translator

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from openai import AsyncOpenAI

logger = logging.getLogger(__name__)
_WAY_ON = "the same call pays nothing for stored replies"
_LOADED_FOR_CALLS = ("mtagent.llm.sdk", "mtagent.llm.transport", "genai_prices", "language_data.names")
"""The modules that the first call to a model would import, which takes half a second."""
Part = TypeVar("Part")


class Agent:
    """Improves machine translation.

    ``translator`` is any MT system: a callable, an object with ``.translate``, or a specification such as
    ``"command:apertium eng-spa"``; without one the model translates. ``evaluator``, ``judge``, ``triage``, ``gate`` and
    ``llm`` take objects of your own, or the names that the configuration knows; ``llms`` holds a model of your own for
    a role (``translate``, ``postedit``, ``proofread``, ``judge``). ``client``, an ``openai.AsyncOpenAI`` or
    ``AsyncAzureOpenAI``, sends the requests to models, or a function makes one for each event loop; ``llms`` takes such
    clients, too, but no function. With ``instrumented`` tracing packages that wrap
    the ``openai`` package see every request. ``glossary`` and ``keep`` are files, or terms:
    ``{"segment": "Segment"}``, ``["mtagent"]``. With a ``store``, an answered request is never paid for again.
    ``api_key`` (or a function that returns the key that is valid now), ``headers`` and ``http_client`` (an
    ``aiohttp.ClientSession``) are for the servers of all models; a model or endpoint with a variable of its own
    (``api_key_env``) gets the key in that variable instead of ``api_key``. ``http_client`` works in the event loop in
    which it was made: only with the async methods.
    ``on_step(segment, step)`` and ``on_call(call)``, sync or async, are called after each step and each request to a
    model, and their errors are logged. ``timeout`` doesn't end them, because one that is stopped halfway may leave half
    a record: use ``asyncio.timeout`` in the function if it may hang. ``observer(event)`` is called with each call,
    retry, wait and verdict when it happens (:mod:`mtagent.llm.events`).
    All other ``settings`` are settings of the configuration file (:class:`mtagent.config.Config`),
    such as ``model="gpt-6-luna"`` or ``stages="tp"``; ``config_file`` names such a file.

    All calls, from any task and thread, share the same clients, limits and budget. ``async with``, ``with``,
    :meth:`aclose` and :meth:`close` close them. Objects that you pass are never closed.

    Raises :class:`mtagent.errors.ConfigError` at once for a wrong setting, and for one that would do nothing here.
    """

    def __init__(
        self,
        translator: object | None = None,
        *,
        evaluator: Evaluator | str | None = None,
        judge: Evaluator | str | Sequence[str] | Sequence[Evaluator] | Mapping[str, Any] | None = None,
        triage: Evaluator | str | None = None,
        gate: Gate | str | None = None,
        llm: LLM | str | None = None,
        llms: Mapping[Role, LLM | AsyncOpenAI] | None = None,
        glossary: Terms | str | Path | None = None,
        keep: Iterable[str] | str | Path | None = None,
        client: AsyncOpenAI | Callable[[], AsyncOpenAI] | None = None,
        instrumented: bool = False,
        api_key: ApiKey | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: ClientSession | None = None,
        on_step: Callable[[Segment, Step], object] | None = None,
        on_call: Callable[[Call], object] | None = None,
        observer: Observer | None = None,
        config_file: str | Path | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        judge_settings, judges = split_judges(judge)
        parts = {"translator": translator, "evaluator": evaluator, "triage": triage, "gate": gate, "llm": llm}
        given_settings = _given({**settings, "judge": judge_settings}, parts)
        refuse_uncallable(on_step=on_step, on_call=on_call, observer=observer)
        self._on_step = on_step
        self._on_call = on_call
        refuse_foreign(given_settings)
        names = inspect.signature(Agent).parameters
        self.config, self._terms = loaded(config_file, given_settings, glossary, keep, names)
        self._instructions_for = read_instructions_by_language(self.config.instructions_for)
        wrapped = None if translator is None or isinstance(translator, str) else wrap(translator)
        models, clients = split_models(llms)
        self._own = OwnParts(
            translator=wrapped,
            evaluator=_object(evaluator),
            judges=judges,
            triage=_object(triage),
            gate=_object(gate),
            llm=_object(llm),
            llms=models,
            client=client,
            clients=clients,
            instrumented=instrumented,
            api_key=api_key,
            headers=mapping_of(headers, "headers: expected names and texts, as in {'X-Team': 'mt'}"),
            http_client=http_client,
            observer=observer,
        )
        checked = refuse_idle(given_settings, self.config, self._own)
        self._asks_server = checked.asks_server
        self._stages = checked.plan.stages
        self.budget = budget_of(self.config)
        """What all calls may spend together. A server sets one of its own before the first call."""
        self._session: Session[_Parts] = Session(lambda: _Opening(self.config, self._own, self.budget))
        if self._asks_server:
            load_before_forks(_LOADED_FOR_CALLS)
        self._window = _segments_in_flight(self.config, wrapped)

    def __repr__(self) -> str:
        """The stages and the settings that aren't defaults. Texts that look like keys are masked."""
        settings = self.config.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
        settings["stages"] = ",".join(self._stages)
        described = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return masked(f"Agent({described})")

    async def _report(self, segment: Segment, step: Step) -> None:
        """Call ``on_step`` and ``on_call``."""
        if self._on_step is not None:
            await _heard("on_step", self._on_step, segment, step)
        if self._on_call is not None:
            for call in step.calls:
                await _heard("on_call", self._on_call, call)

    async def __aenter__(self) -> Self:
        # Load now what the first call would load, because that blocks the loop for half a second.
        if self._asks_server:
            for name in _LOADED_FOR_CALLS:
                importlib.import_module(name)
            prices.price(configuration.DEFAULT_MODEL, Usage(calls=1))
        languages.name("en")
        await self._session.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what synchronous calls have opened. A later call opens it again."""
        self._session.close()

    async def aclose(self) -> None:
        """Close what calls in the running event loop have opened. A later call opens it again."""
        await self._session.leave()

    # -- texts

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain: ...
    @overload
    def translate(
        self, texts: Iterable[str], source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> list[Chain]: ...
    def translate(
        self, texts: str | Iterable[str], source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain | list[Chain]:
        """Translate and improve a text, or each of several; see :meth:`atranslate`."""
        segments = segments_of(texts, None, source_lang, target_lang, about)
        return _one_or_all(texts, self.improve(segments, timeout=about.get("timeout")))

    @overload
    async def atranslate(  # type: ignore[overload-overlap]
        self, texts: str, source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain: ...
    @overload
    async def atranslate(
        self, texts: Iterable[str], source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> list[Chain]: ...
    async def atranslate(
        self, texts: str | Iterable[str], source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain | list[Chain]:
        """Translate and improve: return a :class:`Chain` for a text, or a list of them, in order, for several.

        ``chain.text`` is the result. ``source_lang`` is a language, or ``"auto"`` for an MT system that detects it.
        ``about`` are details of the texts: see :class:`TextDetails`.

        A single text that could not be translated raises :class:`mtagent.errors.StepFailed`. In a list the others must
        not be lost: ``chain.failed`` names the step that failed, or ``chain.raise_for_failure()`` raises its error.

        An error that concerns every text (a wrong key, a spent budget) is raised, after requests in flight had a second
        to end. The error's ``chains`` are the finished ones, and unfinished ones with a finished step or a paid reply;
        the last step of an unfinished chain has failed.
        """
        segments = segments_of(texts, None, source_lang, target_lang, about)
        return _one_or_all(texts, await self.aimprove(segments, timeout=about.get("timeout")))

    @overload
    def postedit(  # type: ignore[overload-overlap]
        self, texts: str, translations: str, source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain: ...
    @overload
    def postedit(
        self,
        texts: Iterable[str],
        translations: Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[TextDetails],
    ) -> list[Chain]: ...
    def postedit(
        self,
        texts: str | Iterable[str],
        translations: str | Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[TextDetails],
    ) -> Chain | list[Chain]:
        """Improve the translation of a text, or of each of several; see :meth:`atranslate`."""
        segments = segments_of(texts, translations, source_lang, target_lang, about)
        return _one_or_all(texts, self.improve(segments, timeout=about.get("timeout")))

    @overload
    async def apostedit(  # type: ignore[overload-overlap]
        self, texts: str, translations: str, source_lang: str, target_lang: str, **about: Unpack[TextDetails]
    ) -> Chain: ...
    @overload
    async def apostedit(
        self,
        texts: Iterable[str],
        translations: Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[TextDetails],
    ) -> list[Chain]: ...
    async def apostedit(
        self,
        texts: str | Iterable[str],
        translations: str | Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[TextDetails],
    ) -> Chain | list[Chain]:
        """Improve translations like :meth:`postedit`, in async code."""
        segments = segments_of(texts, translations, source_lang, target_lang, about)
        return _one_or_all(texts, await self.aimprove(segments, timeout=about.get("timeout")))

    # -- segments

    def improve(self, segments: Iterable[Segment], *, timeout: float | None = None) -> list[Chain]:
        """Improve segments with all their details: references, context, notes, terms.

        After ``timeout`` seconds the text of a segment is returned as it is. Raises as :meth:`atranslate` does.
        """
        return self._session.wait(lambda parts: self._improve_all(segments, parts, timeout))

    async def aimprove(
        self,
        segments: Iterable[Segment],
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        only: Collection[Stage] | None = None,
    ) -> list[Chain]:
        """Improve segments like :meth:`improve`, in async code. With ``only``, other stages are left out."""
        return await self._session.run(lambda parts: self._improve_all(segments, parts, timeout, only))

    async def _improve_all(
        self,
        segments: Iterable[Segment],
        parts: _Parts,
        seconds: float | None,
        only: Collection[Stage] | None = None,
    ) -> list[Chain]:
        work = _Work(self, seconds, only)
        finished: dict[int, Chain] = {}  # by position

        def note(position: int, chain: Chain) -> Outcome:
            finished[position] = chain
            return outcome_of_chain(chain)

        concurrency = self._window
        if isinstance(segments, Sized):
            concurrency = min(concurrency, len(segments) or 1)
        try:
            await work_all(
                work.placed(segments),
                lambda position, place: work.improve(place, parts),
                note,
                concurrency=concurrency,
                done=lambda position: False,
                give_up_after=0,
                lane=(lambda place: place.document) if self.config.context else None,
            )
        except MtagentError as error:
            work.tell_the_way_on(error)
            error.chains = _in_order(finished | work.stopped)
            raise
        return list(_in_order(finished))

    def stream(
        self, segments: Iterable[Segment], *, ordered: bool = True, timeout: float | None = None
    ) -> Iterator[Chain]:
        """Yield the chain of each segment when it is done: in order, or the next finished one if not ``ordered``.

        ``segments`` are read as they are needed. Raises as :meth:`atranslate` does; the error's ``chains`` are those
        that were begun and not yet yielded.
        """
        # This isn't `astream` in another thread, because `segments` is read in the caller's thread: it may block, or
        # use the agent.
        work = _Work(self, timeout)
        positions: dict[futures.Future[Chain], int] = {}  # of the segments in flight, in order

        def next_chain() -> Chain:
            if ordered:
                future = next(iter(positions))
            else:
                future = next(iter(futures.wait(positions, return_when=futures.FIRST_COMPLETED).done))
            del positions[future]
            return future.result()

        try:
            for place in work.placed(segments):
                positions[self._session.submit(partial(work.improve, place))] = place.position
                if len(positions) >= self._window:
                    yield next_chain()
            while positions:
                yield next_chain()
        except MtagentError as error:
            self._session.wait(lambda parts: work.end())
            work.tell_the_way_on(error)
            error.chains = work.chains_not_yielded(positions)
            raise
        finally:
            for future in positions:
                future.cancel()

    async def astream(
        self,
        segments: Iterable[Segment] | AsyncIterable[Segment],
        *,
        ordered: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncGenerator[Chain, None]:
        """Yield chains like :meth:`stream`, in async code; ``segments`` may be an async iterable, too."""
        work = _Work(self, timeout)
        positions: dict[asyncio.Future[Chain], int] = {}  # of the segments in flight, in order

        async def next_chain() -> Chain:
            if ordered:
                future = next(iter(positions))
                await asyncio.wait([future])
            else:
                done, _ = await asyncio.wait(positions, return_when=asyncio.FIRST_COMPLETED)
                future = next(iter(done))
            del positions[future]
            return future.result()

        try:
            async for place in work.placed_async(segments):
                task = asyncio.ensure_future(self._session.run(partial(work.improve, place)))
                positions[task] = place.position
                if len(positions) >= self._window:
                    yield await next_chain()
            while positions:
                yield await next_chain()
        except MtagentError as error:
            await self._session.run(lambda parts: work.end())
            work.tell_the_way_on(error)
            error.chains = work.chains_not_yielded(positions)
            raise
        finally:
            for future in positions:
                future.cancel()
            await asyncio.gather(*positions, return_exceptions=True)

    def run(self, name: str, *, store: str | Path | None = None) -> AgentRun:
        """A stored run, which never repeats or pays for finished work again. See :class:`AgentRun`."""
        settings = self.config.model_dump(exclude_unset=True) | {"run": name}
        if store is not None:
            settings["store"] = Path(store)
        config = configuration.Config.model_validate(settings)
        return AgentRun(config, self._own, self._terms, budget=self.budget, on_step=self._report)


class AgentRun:
    """The run ``name`` of an agent: ``with agent.run("job-17") as run: chains = run.improve(segments)``.

    Finished segments come from the store, and so do replies to requests that any run has sent. A run keeps its settings
    and segments, and the ids of its segments must be unique. If anything stops it, make the same call again to
    continue. It shares the agent's ``budget``; ``on_step`` is called for new steps only. Raises
    :class:`mtagent.errors.MtagentError`, whose ``chains`` are the finished ones.
    """

    def __init__(
        self,
        config: configuration.Config,
        own: OwnParts,
        terms: GlossaryFor,
        *,
        budget: Budget | None,
        on_step: Callable[[Segment, Step], object],
    ) -> None:
        self._config = config
        self._own = own
        self._terms = terms
        self._budget = budget
        self._on_step = on_step
        self.name = str(config.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: between calls nothing is open."""

    def improve(self, segments: Iterable[Segment]) -> list[Chain]:
        """Improve those ``segments`` that the run hasn't finished; return one :class:`Chain` for each, in order."""
        loop = OwnLoop()
        try:
            return asyncio.run_coroutine_threadsafe(self.aimprove(segments), loop.loop).result()
        finally:
            loop.stop()

    async def aimprove(self, segments: Iterable[Segment]) -> list[Chain]:
        """Improve segments like :meth:`improve`, in async code."""
        config = self._config
        segments = self._with_details(segments)
        pairs = dict.fromkeys(languages.pair_of(segment.source_lang, segment.target_lang) for segment in segments)
        refuse_other_languages(config, pairs)
        digest = hashlib.sha256()
        for segment in segments:
            digest.update(segment.model_dump_json(exclude_defaults=True).encode())
        decided = effective(config, self._own)
        started = asyncio.Event()

        def places() -> Iterator[Placed]:
            return placed(segments, config.context)

        with Store(config.store or default_path()) as store:
            models = RunModels(config, store, self._budget)
            async with assembled(config, self._own, wrap_llm=models.wrap) as plan:
                for warning in gate_warnings(config, plan, in_run=True):
                    logger.warning("%s", warning)

                async def prepare(run: Run) -> None:
                    nonlocal plan
                    plan = await with_settled_gates(plan, run, places, len(segments), config, models.sleepers)

                async def work(run: Run, position: int, place: Placed) -> Chain:
                    segment = place.in_context(lambda neighbour, _: run.text_at(neighbour))
                    return await improve(segment, plan, on_step=self._on_step)

                job = Job(
                    command="agent",
                    settings=settings_for_results(decided),
                    inputs={"segments": digest.hexdigest(), **content_hashes({}, config)},
                    total=len(segments),
                    items=places,
                    prepare=prepare,
                    work=work,
                    lane=(lambda place: place.document) if config.context else None,
                    save=Run.save,
                    outcome=outcome_of_chain,
                    signatures=plan.signatures,
                    installed=package_versions(decided),
                )
                try:
                    run = await run_job(job, config, store, models, on_start=lambda *_: started.set())
                except MtagentError as error:
                    if started.is_set():  # otherwise the run of this name may belong to another job
                        error.chains = tuple(store.read(self.name).chains())
                    raise
                return list(run.chains())

    def _with_details(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments with the agent's terms and domain. Raises :class:`ConfigError` for ids that aren't unique."""
        numbers: dict[str, int] = {}  # of the segments, by id
        detailed = []
        instructions_for = read_instructions_by_language(self._config.instructions_for)
        detailed_segments = with_instructions(with_terms(segments, self._terms), instructions_for)
        matched_segments = with_matches(detailed_segments, TranslationMemory(self._config.memory))
        for number, segment in enumerate(matched_segments, start=1):
            if segment.domain is None:
                segment = segment.model_copy(update={"domain": self._config.domain})
            first_number = numbers.setdefault(segment.id, number)
            if first_number != number:
                raise ConfigError(
                    f"segments {first_number} and {number} share the id {segment.id!r}; ids must be unique because "
                    "decisions and labels refer to them: use segment.model_copy(update={'id': …})"
                )
            detailed.append(segment)
        return detailed

    def chains(self) -> list[Chain]:
        """The chains that are stored so far, in order."""
        with open_existing(self._config.store) as store:
            return list(store.read(self.name).chains())

    @property
    def summary(self) -> RunSummary:
        """The number of finished segments, and their cost."""
        with open_existing(self._config.store) as store:
            return store.run(self.name)


class _Parts(NamedTuple):
    """The parts that an agent opens once in an event loop: its plan, and the store of models' replies."""

    plan: Plan
    store: Store | None
    stores_replies: bool


class _Opening:
    """Opens the parts of an agent.

    This isn't a generator around the one of :func:`assembled`, because a loop that ends closes both at the same time
    if nobody has closed them.
    """

    def __init__(self, config: configuration.Config, own: OwnParts, budget: Budget | None) -> None:
        self._store = None if config.store is None else Store(config.store)
        self._models: RunModels | None = None
        wrap_llm = budgeted_by(budget)
        if self._store is not None:
            self._models = RunModels(config, self._store, budget)
            wrap_llm = self._models.wrap
        self._config = config
        self._assembled = assembled(config, own, wrap_llm=wrap_llm, store=self._store)

    async def __aenter__(self) -> _Parts:
        plan = await self._assembled.__aenter__()
        for warning in gate_warnings(self._config, plan, in_run=False):
            logger.warning("%s", warning)
        stores_replies = self._models is not None and self._models.store_replies
        return _Parts(plan, self._store, stores_replies)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._assembled.__aexit__(*error)


class _Work:
    """The segments of one call: with the agent's terms, in their documents, within ``seconds`` for each.

    With ``only``, other stages of the agent are left out.
    """

    def __init__(self, agent: Agent, seconds: float | None, only: Collection[Stage] | None = None) -> None:
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0
        ):
            raise ConfigError(f"timeout: expected a number of seconds above 0, not {seconds!r:.80}")
        self._agent = agent
        self._memory = TranslationMemory(agent.config.memory)
        self._seconds = seconds
        self._only = only
        self._texts: dict[int, str] = {}  # by position: results to show with the next segment of the document
        self._turns: WeakKeyDictionary[Document, asyncio.Lock] = WeakKeyDictionary()
        self._tasks = set[asyncio.Task[Any]]()  # in flight
        self._allowed_pairs = set[str]()
        self._has_stored = False  # replies for a segment
        self.stopped: dict[int, Chain] = {}  # by position: unfinished chains that an error has stopped

    def placed(self, segments: Iterable[Segment]) -> Iterator[Placed]:
        """The ``segments`` at their places in documents."""
        config = self._agent.config
        segments = with_terms(map(self._with_domain, segments), self._agent._terms)
        segments = with_instructions(segments, self._agent._instructions_for)
        return placed(with_matches(segments, self._memory), config.context)

    async def placed_async(self, segments: Iterable[Segment] | AsyncIterable[Segment]) -> AsyncGenerator[Placed, None]:
        """The same for async code; segments of an async iterable have no context."""
        if not isinstance(segments, AsyncIterable):
            for place in self.placed(segments):
                yield place
            return
        if self._agent.config.context:
            raise ConfigError(
                "context: expected a list of segments, since the next one of an async iterator is unknown"
            )
        position = 0
        async for segment in segments:
            for place in self.placed([segment]):
                yield replace(place, position=position)
            position += 1

    def _with_domain(self, segment: Segment) -> Segment:
        if not isinstance(segment, Segment):
            raise ConfigError(
                f'expected a Segment, not {segment!r:.80}; make_segments(texts, None, "en", "es") makes them from texts'
            )
        self._refuse_other_language(languages.pair_of(segment.source_lang, segment.target_lang))
        domain = self._agent.config.domain
        if domain and segment.domain is None:
            return segment.model_copy(update={"domain": domain})
        return segment

    def _refuse_other_language(self, pair: str) -> None:
        if pair not in self._allowed_pairs:  # the calibration is read once for a pair
            refuse_other_languages(self._agent.config, [pair])
            self._allowed_pairs.add(pair)

    async def improve(self, place: Placed, parts: _Parts) -> Chain:
        """Improve a segment; with context, after the segments before it in its document."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self._agent.config.context:
                return await self._improve(place.segment, place.position, parts)
            async with self._turns.setdefault(place.document, asyncio.Lock()):
                segment = place.in_context(lambda at, _: self._texts.pop(at, None))
                chain = await self._improve(segment, place.position, parts)
                self._texts[place.position] = chain.text
                return chain
        finally:
            self._tasks.discard(task)

    async def end(self) -> None:
        """Let tasks in flight finish for a moment, and then cancel them."""
        tasks = set(self._tasks)
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=GRACE)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def tell_the_way_on(self, error: MtagentError) -> None:
        """Add to the message of an error that stops the work that a part of it is stored, if one is."""
        if error.way_on and self._has_stored:
            error.way_on = _WAY_ON
            tell_the_way_on(error)

    def chains_not_yielded(
        self, positions: Mapping[futures.Future[Chain], int] | Mapping[asyncio.Future[Chain], int]
    ) -> tuple[Chain, ...]:
        """The chains of the futures in flight that have finished, and the stopped ones, in order."""
        chains: dict[int, Chain] = {}
        for future, position in positions.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                chains[position] = future.result()
        return _in_order(chains | self.stopped)

    async def _improve(self, segment: Segment, position: int, parts: _Parts) -> Chain:
        def note_stopped(chain: Chain) -> None:
            self.stopped[position] = chain
            self._has_stored = parts.stores_replies

        chain = await improve(
            segment,
            parts.plan,
            within=self._seconds,
            only=self._only,
            on_step=self._agent._report,
            on_stop=note_stopped,
        )
        self._has_stored = parts.stores_replies
        if parts.store is not None:
            calls = [call for step in chain.steps for call in step.calls]
            if any(call.error for call in calls):
                parts.store.distrust_calls(calls)
        return chain


async def _heard(name: str, function: Callable[..., object], *what: object) -> None:
    """Call a user's ``function``, and wait if it is async. Its error is logged: the text isn't lost for it."""
    try:
        reply = function(*what)
        if inspect.isawaitable(reply):
            await reply
    except Exception:
        logger.exception("%s: the function that you passed raised an error; the text is not affected", name)


def _given(settings: Mapping[str, Any], parts: Mapping[str, object]) -> dict[str, Any]:
    """The settings that are set, with the parts that are names, which the configuration knows, and not objects."""
    given = {name: value for name, value in settings.items() if value is not None}
    return given | {name: part for name, part in parts.items() if isinstance(part, str)}


def _segments_in_flight(config: configuration.Config, translator: Translator | None) -> int:
    """How many segments are worked on at a time: enough to fill two batches of the translator."""
    batch_size = translator.batch_size if isinstance(translator, CallableTranslator) else BATCH_SIZE
    segments = max(config.concurrency, 2 * batch_size)
    # With context, most of them wait for the segment before them in their document.
    return 20 * segments if config.context else segments


def _object(part: Part | str | None) -> Part | None:
    """The part itself; ``None`` if it is named, so that the configuration makes it."""
    return None if isinstance(part, str) else part


def _one_or_all(texts: str | Iterable[str], chains: list[Chain]) -> Chain | list[Chain]:
    """The chain of a single text, or the chains of several.

    Raises :class:`mtagent.errors.StepFailed` for a single text without a translation, which isn't an empty text.
    """
    if not isinstance(texts, str):
        return chains
    chain = chains[0]
    if chain.given is None:
        try:
            chain.raise_for_failure()
        except MtagentError as error:
            error.chains = (chain,)
            raise
    return chain


def _in_order(chains: Mapping[int, Chain]) -> tuple[Chain, ...]:
    """The chains in the order of their positions."""
    return tuple(chains[position] for position in sorted(chains))
