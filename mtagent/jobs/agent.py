"""From Python: wrap an MT system, improve texts, get records back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent import futures
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack, overload
from weakref import WeakKeyDictionary

from mtagent import config as configuration
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate
from mtagent.config import Role, Settings
from mtagent.errors import ConfigError, MtagentError
from mtagent.evaluators.protocol import Evaluator
from mtagent.formats.glossary import with_terms
from mtagent.jobs.agent_settings import refuse_foreign, refuse_idle
from mtagent.jobs.context import Document, Placed, placed
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.parts import OwnParts, assembled, budget_of, within
from mtagent.jobs.pool import GRACE, Outcome, work_all
from mtagent.jobs.python_inputs import About, Terms, loaded, mapping_of, segments_of
from mtagent.jobs.run import RunModels
from mtagent.jobs.session import Session
from mtagent.llm import prices
from mtagent.llm.budget import Budget
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Chain, Segment, Step, Usage
from mtagent.store.store import Store
from mtagent.text import languages
from mtagent.translators import wrap
from mtagent.translators.callables import BATCH_SIZE, CallableTranslator

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from mtagent.jobs.agent_run import AgentRun


class Agent:
    """Improves machine translation.

    ``translator`` is any MT system: a callable, an object with ``.translate``, or a specification such as
    ``"command:apertium eng-spa"``; without one the model translates. ``evaluator``, ``judge``, ``triage``, ``gate`` and
    ``llm`` take objects of your own, or the names that the configuration knows; ``llms`` holds a model of your own for
    a role (``translate``, ``postedit``, ``proofread``, ``judge``). ``glossary`` and ``keep`` are files, or terms:
    ``{"segment": "Segment"}``, ``["mtagent"]``. With a ``store`` no request that was answered is paid for again.
    ``api_key``, ``headers`` and ``http_client`` (an
    ``aiohttp.ClientSession``) are for the model's server. ``on_step(segment, step)`` and ``on_call(call)`` hear of
    each step and each request to a model. All other ``settings`` are those of the configuration file
    (:class:`mtagent.config.Config`), such as ``model="gpt-6-luna"`` or ``stages="tp"``; ``config_file`` names one.

    Clients, limits and budget are made once and shared by all calls, from any task and thread; ``async with`` and
    ``with`` close them, and so do :meth:`aclose` and :meth:`close`. What you passed in is never closed.

    Raises :class:`mtagent.errors.ConfigError` for a wrong setting, at once, and for one that would do nothing here.
    """

    def __init__(
        self,
        translator: object | None = None,
        *,
        evaluator: Evaluator | str | None = None,
        judge: Evaluator | str | Sequence[str] | Mapping[str, Any] | None = None,
        triage: Evaluator | str | None = None,
        gate: Gate | str | None = None,
        llm: LLM | str | None = None,
        llms: Mapping[Role, LLM] | None = None,
        glossary: Terms | str | Path | None = None,
        keep: Iterable[str] | str | Path | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: ClientSession | None = None,
        on_step: Callable[[Segment, Step], object] | None = None,
        on_call: Callable[[Call], object] | None = None,
        config_file: str | Path | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        named = {"translator": translator, "evaluator": evaluator, "triage": triage, "gate": gate, "llm": llm}
        given |= {name: value for name, value in named.items() if isinstance(value, str)}
        own_judge = None if judge is None or isinstance(judge, str | Sequence | Mapping) else judge
        if judge is not None and own_judge is None:
            given["judge"] = judge if isinstance(judge, Mapping) else {"evaluator": judge}
        self._on_step, self._on_call = on_step, on_call
        for name, listener in (("on_step", on_step), ("on_call", on_call)):
            if listener is not None and not callable(listener):
                raise ConfigError(f"{name}: {listener!r:.80} cannot be called: give a function")
        refuse_foreign(given)
        self.config, self._terms = loaded(config_file, given, glossary, keep)
        wrapped = None if translator is None or isinstance(translator, str) else wrap(translator)
        self._own = OwnParts(
            translator=wrapped,
            evaluator=None if isinstance(evaluator, str) else evaluator,
            judge=own_judge,
            triage=None if isinstance(triage, str) else triage,
            gate=None if isinstance(gate, str) else gate,
            llm=None if isinstance(llm, str) else llm,
            llms=mapping_of(llms, "llms: give a model for a role, as in {'judge': model}"),
            api_key=api_key,
            headers=mapping_of(headers, "headers: give names and texts, as in {'X-Team': 'mt'}"),
            http_client=http_client,
        )
        self._asks_server = refuse_idle(given, self.config, self._own).asks_server
        self._budget = budget_of(self.config)
        self._session: Session[_Parts] = Session(lambda: _Opening(self.config, self._own, self._budget))
        batch = wrapped.batch_size if isinstance(wrapped, CallableTranslator) else BATCH_SIZE
        self._window = max(self.config.concurrency, 2 * batch) * (20 if self.config.context else 1)

    def _heard(self, segment: Segment, step: Step) -> None:
        if self._on_step is not None:
            self._on_step(segment, step)
        if self._on_call is not None:
            for call in step.calls:
                self._on_call(call)

    async def __aenter__(self) -> Self:
        # What the first call would load, a quarter of a second in which nothing else in the loop goes on.
        if self._asks_server:
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
        """Close what calls that are not async have opened. A later call opens it again."""
        self._session.close()

    async def aclose(self) -> None:
        """Close what calls in the running event loop have opened. A later call opens it again."""
        await self._session.leave()

    # -- texts

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> Chain: ...
    @overload
    def translate(
        self, texts: Iterable[str], source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> list[Chain]: ...
    def translate(
        self, texts: str | Iterable[str], source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> Chain | list[Chain]:
        """Translate and improve a text, or each of several; see :meth:`atranslate`."""
        chains = self.improve(segments_of(texts, None, source_lang, target_lang, about), timeout=about.get("timeout"))
        return chains[0] if isinstance(texts, str) else chains

    @overload
    async def atranslate(  # type: ignore[overload-overlap]
        self, texts: str, source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> Chain: ...
    @overload
    async def atranslate(
        self, texts: Iterable[str], source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> list[Chain]: ...
    async def atranslate(
        self, texts: str | Iterable[str], source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> Chain | list[Chain]:
        """Translate and improve: a text gives a :class:`Chain`, several a list of them, in order.

        ``chain.text`` is the result. ``source_lang`` is a language, or ``"auto"`` for an MT system that finds it out.
        ``about`` is what else is known: see :class:`About`.

        An error that concerns every text (a wrong key, a budget that is spent) is raised. What is under way has a
        second to end. ``chains`` of the error are those that are done, and those that had a step done or a reply paid
        for: the last step of these has failed.
        """
        chains = await self.aimprove(
            segments_of(texts, None, source_lang, target_lang, about), timeout=about.get("timeout")
        )
        return chains[0] if isinstance(texts, str) else chains

    @overload
    def postedit(  # type: ignore[overload-overlap]
        self, texts: str, translations: str, source_lang: str, target_lang: str, **about: Unpack[About]
    ) -> Chain: ...
    @overload
    def postedit(
        self,
        texts: Iterable[str],
        translations: Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[About],
    ) -> list[Chain]: ...
    def postedit(
        self,
        texts: str | Iterable[str],
        translations: str | Iterable[str],
        source_lang: str,
        target_lang: str,
        **about: Unpack[About],
    ) -> Chain | list[Chain]:
        """Improve the translation of a text, or of each of several; see :meth:`atranslate`."""
        segments = segments_of(texts, translations, source_lang, target_lang, about)
        chains = self.improve(segments, timeout=about.get("timeout"))
        return chains[0] if isinstance(texts, str) else chains

    # -- segments

    def improve(self, segments: Iterable[Segment], *, timeout: float | None = None) -> list[Chain]:
        """Improve segments with all that is known about them: references, context, notes, terms.

        After ``timeout`` seconds a segment is what it is by then. Raises as :meth:`atranslate` does.
        """
        return self._session.wait(lambda parts: self._improved(segments, parts, timeout))

    async def aimprove(self, segments: Iterable[Segment], *, timeout: float | None = None) -> list[Chain]:  # noqa: ASYNC109
        """The same for async code."""
        return await self._session.run(lambda parts: self._improved(segments, parts, timeout))

    async def _improved(self, segments: Iterable[Segment], parts: _Parts, seconds: float | None) -> list[Chain]:
        work, done = _Work(self, seconds), dict[int, Chain]()

        def note(position: int, chain: Chain) -> Outcome:
            done[position] = chain
            return outcome_of_chain(chain)

        try:
            await work_all(
                work.placed(segments),
                lambda position, place: work.improve(place, parts),
                note,
                concurrency=min(self._window, len(segments) or 1) if isinstance(segments, Sized) else self._window,
                done=lambda position: False,
                give_up_after=0,
                lane=(lambda place: place.document) if self.config.context else None,
            )
        except MtagentError as error:
            error.chains = _in_order(done | work.stopped)
            raise
        return [done[position] for position in sorted(done)]

    def stream(
        self, segments: Iterable[Segment], *, ordered: bool = True, timeout: float | None = None
    ) -> Iterator[Chain]:
        """The chains of ``segments`` as soon as each is there, in order unless it is not ``ordered``.

        ``segments`` are taken as they are needed. Raises as :meth:`atranslate` does; ``chains`` of the error are those
        that were begun and not handed out.
        """
        work, under_way = _Work(self, timeout), dict[futures.Future[Chain], int]()

        def following() -> Chain:
            done = under_way if ordered else futures.wait(under_way, return_when=futures.FIRST_COMPLETED).done
            future = next(iter(done))
            del under_way[future]
            return future.result()

        try:
            for place in work.placed(segments):
                under_way[self._session.submit(partial(work.improve, place))] = place.position
                if len(under_way) >= self._window:
                    yield following()
            while under_way:
                yield following()
        except MtagentError as error:
            self._session.wait(lambda parts: work.end())
            error.chains = _in_order(_done(under_way) | work.stopped)
            raise
        finally:
            for future in under_way:
                future.cancel()

    async def astream(
        self,
        segments: Iterable[Segment] | AsyncIterable[Segment],
        *,
        ordered: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncGenerator[Chain, None]:
        """The same for async code; ``segments`` may come from async code, too."""
        work, under_way = _Work(self, timeout), dict[asyncio.Future[Chain], int]()

        async def following() -> Chain:
            if ordered:
                future = next(iter(under_way))
                await asyncio.wait([future])
            else:
                future = next(iter((await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED))[0]))
            del under_way[future]
            return future.result()

        try:
            async for place in work.placed_async(segments):
                chain = asyncio.ensure_future(self._session.run(partial(work.improve, place)))
                under_way[chain] = place.position
                if len(under_way) >= self._window:
                    yield await following()
            while under_way:
                yield await following()
        except MtagentError as error:
            await self._session.run(lambda parts: work.end())
            error.chains = _in_order(_done(under_way) | work.stopped)
            raise
        finally:
            for future in under_way:
                future.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    def run(self, name: str, *, store: str | Path | None = None) -> AgentRun:
        """A stored run: what it has finished is not done, and not paid for, again. See :class:`AgentRun`."""
        from mtagent.jobs.agent_run import AgentRun

        update = {"run": name, **({} if store is None else {"store": Path(store)})}
        config = configuration.Config.model_validate(self.config.model_dump(exclude_unset=True) | update)
        return AgentRun(config, self._own, self._terms, budget=self._budget, on_step=self._heard)


class _Parts(NamedTuple):
    """What an agent opens once in an event loop: its plan, and where the replies of models are kept."""

    plan: Plan
    store: Store | None


class _Opening:
    """Opens the parts of an agent.

    No generator around that of :func:`assembled`: where nobody closes them, the loop ends both at the same time.
    """

    def __init__(self, config: configuration.Config, own: OwnParts, budget: Budget | None) -> None:
        self._store = None if config.store is None else Store(config.store)
        wrap_llm = RunModels(config, self._store, budget).wrap if self._store else within(budget)
        self._assembled = assembled(config, own, wrap_llm=wrap_llm, store=self._store)

    async def __aenter__(self) -> _Parts:
        return _Parts(await self._assembled.__aenter__(), self._store)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._assembled.__aexit__(*error)


class _Work:
    """Segments on their way through an agent: with its terms, in their documents, within so many ``seconds`` each."""

    def __init__(self, agent: Agent, seconds: float | None) -> None:
        self._agent, self._seconds = agent, seconds
        self._texts: dict[int, str] = {}  # of segments that the next one in the document is shown
        self._turns: WeakKeyDictionary[Document, asyncio.Lock] = WeakKeyDictionary()
        self._under_way = set[asyncio.Task[Any]]()
        self.stopped: dict[int, Chain] = {}  # by position: how far those have come that an error has stopped

    def placed(self, segments: Iterable[Segment]) -> Iterator[Placed]:
        """The ``segments`` at their places."""
        config = self._agent.config
        known = with_terms(map(self._with_domain, segments), self._agent._terms)
        return placed(known, config.context)

    async def placed_async(self, segments: Iterable[Segment] | AsyncIterable[Segment]) -> AsyncGenerator[Placed, None]:
        """The same; what comes one by one from async code has no segments around it."""
        if not isinstance(segments, AsyncIterable):
            for place in self.placed(segments):
                yield place
            return
        if self._agent.config.context:
            raise ConfigError("context: what follows a segment of an async iterator is not known: give a list")
        position = 0
        async for segment in segments:
            for place in self.placed([segment]):
                yield replace(place, position=position)
            position += 1

    def _with_domain(self, segment: Segment) -> Segment:
        if not isinstance(segment, Segment):
            raise ConfigError(
                f'{segment!r:.80} is no Segment: make_segments(texts, None, "en", "es") makes them of texts'
            )
        domain = self._agent.config.domain
        return segment.model_copy(update={"domain": domain}) if domain and segment.domain is None else segment

    async def improve(self, place: Placed, parts: _Parts) -> Chain:
        """The chain of a segment, begun when those before it in its document are done, if it is shown them."""
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            if not self._agent.config.context:
                return await self._improve(place.segment, place.position, parts)
            async with self._turns.setdefault(place.document, asyncio.Lock()):
                segment = place.in_context(lambda at, _: self._texts.pop(at, None))
                chain = await self._improve(segment, place.position, parts)
                self._texts[place.position] = chain.text
                return chain
        finally:
            self._under_way.discard(task)

    async def end(self) -> None:
        """Give what is under way a moment to end, and then stop it."""
        if under_way := set(self._under_way):
            _, late = await asyncio.wait(under_way, timeout=GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _improve(self, segment: Segment, position: int, parts: _Parts) -> Chain:
        chain = await improve(
            segment,
            parts.plan,
            within=self._seconds,
            on_step=self._agent._heard,
            on_stop=lambda chain: self.stopped.update({position: chain}),
        )
        if parts.store is not None and any(call.error for step in chain.steps for call in step.calls):
            parts.store.distrust_calls(call for step in chain.steps for call in step.calls)
        return chain


def _done(under_way: Mapping[futures.Future[Chain], int] | Mapping[asyncio.Future[Chain], int]) -> dict[int, Chain]:
    """The chains of those that have ended well, by position."""
    ended = {future: at for future, at in under_way.items() if future.done() and not future.cancelled()}
    return {at: future.result() for future, at in ended.items() if future.exception() is None}


def _in_order(chains: Mapping[int, Chain]) -> tuple[Chain, ...]:
    return tuple(chain for _, chain in sorted(chains.items()))
