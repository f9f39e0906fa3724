"""A stored run in Python, which is resumed by its name as on the command line."""

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

    Finished segments come from the store, and so do replies to requests that any run has sent. A run keeps its settings
    and segments, and the ids of its segments must be unique. If anything stops it, make the same call again to
    continue. It shares the agent's ``budget``; ``on_step`` is called for new steps only. Raises
    :class:`mtagent.errors.MtagentError`, whose ``chains`` are the finished ones.
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
        segments = list(with_terms(segments, self._terms))
        digest = hashlib.sha256()
        numbers: dict[str, int] = {}  # of the segments, by id
        for index, segment in enumerate(segments):
            if segment.domain is None:
                segment = segments[index] = segment.model_copy(update={"domain": config.domain})
            first_number = numbers.setdefault(segment.id, index + 1)
            if first_number != index + 1:
                raise ConfigError(
                    f"segments {first_number} and {index + 1} share the id {segment.id!r}; ids must be unique because "
                    "decisions and labels refer to them: use segment.model_copy(update={'id': …})"
                )
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
                has_started = False

                def note_start(*_: object) -> None:
                    nonlocal has_started
                    has_started = True

                try:
                    run = await run_job(job, config, store, models, on_start=note_start, on_result=_ignore)
                except MtagentError as error:
                    if has_started:  # otherwise the run of this name may belong to another job
                        error.chains = tuple(store.read(self.name).chains())
                    raise
                return list(run.chains())

    def chains(self) -> list[Chain]:
        """The chains that are stored so far, in order."""
        with open_existing(self._config.store) as store:
            return list(store.read(self.name).chains())

    @property
    def summary(self) -> RunSummary:
        """The number of finished segments, and their cost."""
        with open_existing(self._config.store) as store:
            return store.run(self.name)


def _ignore(*_: object) -> None:
    """Do nothing with a result, which is already stored."""
