"""A stored run from Python: resumed by its name, as on the command line."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from mtagent.chain.chain import improve
from mtagent.config import Config
from mtagent.errors import ConfigError, MtagentError
from mtagent.formats.glossary import GlossaryFor, with_terms
from mtagent.jobs.context import placed
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.parts import OwnParts, assembled, effective, installed, settings_for_results
from mtagent.jobs.run import Job, RunModels, run_job
from mtagent.jobs.session import OwnLoop
from mtagent.llm.budget import Budget
from mtagent.records import Chain, Segment, Step
from mtagent.store.runs import Run, RunSummary
from mtagent.store.store import Store, default_path, open_existing


class AgentRun:
    """The run ``name`` of an agent: ``with agent.run("job-17") as run: chains = run.improve(segments)``.

    What it has finished is answered from the store, and so is every request that was answered in any run. The same name
    must have the same settings and segments, and each segment an id of its own. Whatever stops it, the same call again
    goes on from there. The ``budget`` is that of the agent; ``on_step`` hears of what is done now, not of what was
    finished before. Raises :class:`mtagent.errors.MtagentError`, whose ``chains`` are those that are done.
    """

    def __init__(
        self,
        config: Config,
        own: OwnParts,
        terms: GlossaryFor,
        *,
        budget: Budget | None,
        on_step: Callable[[Segment, Step], object],
    ) -> None:
        self._config, self._own, self._terms, self._budget, self._on_step = config, own, terms, budget, on_step
        self.name = str(config.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left open between calls."""

    def improve(self, segments: Iterable[Segment]) -> list[Chain]:
        """Improve ``segments``, as far as the run has not; one :class:`Chain` for each, in order."""
        loop = OwnLoop()
        try:
            return asyncio.run_coroutine_threadsafe(self.aimprove(segments), loop.loop).result()
        finally:
            loop.stop()

    async def aimprove(self, segments: Iterable[Segment]) -> list[Chain]:
        """The same for async code."""
        return await self._improved(segments)

    async def _improved(self, segments: Iterable[Segment]) -> list[Chain]:
        config = self._config
        segments = [
            segment.model_copy(update={"domain": config.domain}) if segment.domain is None else segment
            for segment in with_terms(segments, self._terms)
        ]
        places: dict[str, int] = {}
        for place, segment in enumerate(segments, 1):
            if (first := places.setdefault(segment.id, place)) != place:
                raise ConfigError(
                    f"segments {first} and {place} have the same id {segment.id!r}, by which decisions and labels of a "
                    "run find them: give each one its own, as in segment.model_copy(update={'id': …})"
                )
        digest = hashlib.sha256()
        for segment in segments:
            digest.update(segment.model_dump_json(exclude_defaults=True).encode())
        with Store(config.store or default_path()) as store:
            models = RunModels(config, store, self._budget)
            async with assembled(config, self._own, wrap_llm=models.wrap) as plan:
                job = Job(
                    command="agent",
                    settings=settings_for_results(effective(config, self._own)),
                    inputs={"segments": digest.hexdigest(), **content_hashes({}, config)},
                    total=len(segments),
                    items=placed(segments, config.context),
                    work=lambda run, position, place: improve(
                        place.in_context(lambda at, _: run.text_at(at)), plan, on_step=self._on_step
                    ),
                    lane=(lambda place: place.document) if config.context else None,
                    save=Run.save,
                    outcome=outcome_of_chain,
                    signatures=plan.signatures,
                    installed=installed(effective(config, self._own)),
                )
                begun = False

                def begin(*_: object) -> None:
                    nonlocal begun
                    begun = True

                try:
                    run = await run_job(job, config, store, models, on_start=begin, on_result=_quiet)
                except MtagentError as error:
                    if begun:  # another job's texts are not handed out
                        error.chains = tuple(store.read(self.name).chains())
                    raise
                return list(run.chains())

    def chains(self) -> list[Chain]:
        """What the run holds by now, in order."""
        with open_existing(self._config.store) as store:
            return list(store.read(self.name).chains())

    @property
    def summary(self) -> RunSummary:
        """How many segments are done, and what they have cost."""
        with open_existing(self._config.store) as store:
            return store.run(self.name)


def _quiet(*_: object) -> None:
    """Nobody is told."""
