"""The one choreography of a stored run, whatever is done with its segments.

A job says what its results depend on, what it does with one item, and how it saves the result. Everything else is here:
the run's name, resuming, the cache and the budget around its models, stopping, and what is said where nothing came of
it. ``improve`` and ``rate`` are jobs; the ``pool`` works on many items at the same time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal

from mtagent.config import Config
from mtagent.errors import BudgetSpent, MtagentError, ServerPaused
from mtagent.formats.files import STANDARD
from mtagent.jobs.outputs import hash_of, hashes_of, refuse_existing
from mtagent.jobs.parts import budget_of
from mtagent.jobs.pool import Item, Outcome, Result, work_all
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.cache import Cached
from mtagent.llm.limits import Sleepers
from mtagent.llm.protocol import LLM, KeyedLLM, LimitedLLM
from mtagent.store.runs import Run
from mtagent.store.store import Store

BEING_WRITTEN = ""
"""In the place of an output's hash: it is about to be replaced."""
OnStart = Callable[[str, int, int], None]
"""Gets the run's name, the number of segments, and how many of them are done already."""


@dataclass(frozen=True)
class Job(Generic[Item, Result]):
    """A job over the items of a file or a stored run.

    ``command`` begins the name of a run that the user did not name; the rest is made of ``settings`` and ``inputs``,
    which are what the results depend on: the same command again must have the same. ``signatures`` are stored beside
    the settings, for the same reason. ``work`` makes the result of the item at a position, ``save`` keeps it,
    ``outcome`` says how it ended, and ``is_output`` whether there is something to write for it. ``outputs`` are the
    files that will be written; without ``force`` none is replaced but what the run has written itself. ``redo``: work
    on items that are done, too; what was paid for is answered from the store. ``lane``: items of the same one are
    worked on in order, each when the one before it is saved.
    """

    command: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, Any]
    total: int
    items: Iterable[Item]
    work: Callable[[Run, int, Item], Awaitable[Result]]
    save: Callable[[Run, int, Result], None]
    outcome: Callable[[Result], Outcome]
    is_output: Callable[[Result], bool] = lambda result: True
    outputs: tuple[Path, ...] = ()
    force: bool = True
    signatures: Mapping[str, str] | None = None
    installed: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["chain", "rating"] = "chain"
    redo: bool = False
    lane: Callable[[Item], Hashable] | None = None


async def run_job(
    job: Job[Item, Result],
    config: Config,
    store: Store,
    models: RunModels,
    *,
    on_start: OnStart,
    on_result: Callable[[Result], None],
) -> Run:
    """Do ``job`` in a stored run, or go on with it where it was stopped.

    Called when everything is built: a setting that fails must not leave a run behind that the corrected one does not
    fit. Raises :class:`MtagentError` where nothing came of any item.
    """

    def name_of(settings: Mapping[str, Any]) -> str:
        digest = hashlib.sha256(repr((settings, job.inputs)).encode()).hexdigest()
        return config.run or f"{job.command}-{digest[:8]}"

    settings = dict(job.settings)
    if job.signatures:
        stored = store.settings(name_of(settings))
        if stored is None or "signatures" in stored:  # runs of early versions have none
            settings["signatures"] = dict(job.signatures)
    name = name_of(settings)
    stored = store.settings(name)
    if stored is None or job.installed.keys() <= stored.keys():  # runs of early versions do not say
        settings |= job.installed
    if not job.force:
        _refuse_existing(job, config, store, name)
    run = store.start(name, settings=settings, inputs=dict(job.inputs), total=job.total, kind=job.kind)
    done = run.counts().done
    has_output, first_failure = done > 0, ""

    def save(position: int, result: Result) -> Outcome:
        nonlocal has_output, first_failure
        job.save(run, position, result)
        on_result(result)
        outcome = job.outcome(result)
        has_output = has_output or job.is_output(result)
        first_failure = first_failure or outcome.failure or ""
        return outcome

    models.begin(run)
    try:
        with closing_files(job.items):
            on_start(name, job.total, min(job.total, done))
            await work_all(
                job.items,
                lambda position, item: job.work(run, position, item),
                save,
                concurrency=config.concurrency,
                done=(lambda position: False) if job.redo else run.done,
                give_up_after=config.give_up_after,
                sleepers=models.sleepers,
                lane=job.lane,
            )
    except (BudgetSpent, ServerPaused):
        run.finish("stopped")
        raise
    if first_failure and not has_output:
        raise MtagentError(f"no segment succeeded, and nothing was written: {first_failure}")
    run.finish()
    return run


def _refuse_existing(job: Job[Item, Result], config: Config, store: Store, name: str) -> None:
    """Raise :class:`OutputError` for an output that is there and that the run ``name`` has not written as it is now."""
    written = store.outputs(name)
    is_cut = config.limit is not None and bool(written) and store.read(name).counts().done > config.limit
    refuse_existing(
        path for path in job.outputs if is_cut or written.get(str(path.resolve())) not in (BEING_WRITTEN, hash_of(path))
    )


@contextmanager
def noting_outputs(store: Store, name: str, outputs: tuple[Path, ...]) -> Iterator[None]:
    """Note what the run ``name`` writes to its ``outputs``, before and after: a process that is killed in between may
    have written them, and the same command must still go on.
    """
    store.note_outputs(name, {str(path.resolve()): BEING_WRITTEN for path in outputs if path != STANDARD})
    yield
    store.note_outputs(name, hashes_of(outputs))


@contextmanager
def closing_files(items: Iterable[object]) -> Iterator[None]:
    """Close the files that ``items`` are read from, also where a run stops before their end."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()


class RunModels:
    """What a run puts around each of its models: the ``budget``, by default that of ``config``, and the cache of stored
    replies.
    """

    def __init__(self, config: Config, store: Store, budget: Budget | None = None) -> None:
        self._store, self._budget = store, budget or budget_of(config)
        self._cached: list[Cached] = []
        self.sleepers = Sleepers()

    def wrap(self, llm: LLM) -> LLM:
        """``llm`` with what belongs around it. A stored reply costs nothing and needs no budget."""
        if isinstance(llm, LimitedLLM):
            llm.limiter.sleepers = self.sleepers
        paid = Budgeted(llm, self._budget) if self._budget else llm
        if not isinstance(paid, KeyedLLM):
            return paid
        self._cached.append(Cached(paid, self._store))
        return self._cached[-1]

    def begin(self, run: Run) -> None:
        """Let the models work on ``run``: their calls are stored in it, and count with what it has paid before."""
        for model in self._cached:
            model.run_id = run.id
        if self._budget:
            self._budget.begin(run.name, run.usages(), of=self._store.database.path)
