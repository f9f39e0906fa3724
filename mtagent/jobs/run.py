"""How a stored run works, whatever is done with its segments.

A job defines what its results depend on, what it does with one item, and how it saves the result. Everything else is
here: the run's name, resuming, the cache and the budget around its models, stopping, and the error if there is no
result. ``improve`` and ``rate`` are jobs; the ``pool`` works on many items at the same time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal

from mtagent.config import Config
from mtagent.errors import BatchOpen, BudgetSpent, MtagentError, NotAnswered, ServerPaused, StoreError
from mtagent.formats.files import STANDARD
from mtagent.jobs.outputs import hash_of, hashes_of, refuse_existing
from mtagent.jobs.parts import NOT_INSTALLED, budget_of
from mtagent.jobs.pool import Item, Outcome, Result, work_all
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.cache import Cached
from mtagent.llm.events import RUN
from mtagent.llm.limits import Sleepers
from mtagent.llm.protocol import LLM, KeyedLLM, LimitedLLM
from mtagent.store.runs import Run
from mtagent.store.store import Store
from mtagent.text.amounts import counted

if TYPE_CHECKING:
    from mtagent.llm.batch import Batches

logger = logging.getLogger(__name__)

BEING_WRITTEN = ""
"""Stored instead of an output's hash while the output is replaced."""
OnStart = Callable[[Run, int], None]
"""Called with the run and its number of segments when the work begins."""


@dataclass(frozen=True)
class Job(Generic[Item, Result]):
    """A job over the items of a file or a stored run."""

    command: str
    """The beginning of the name of a run that the user didn't name; a hash of settings and inputs is the rest."""
    settings: Mapping[str, Any]
    """The settings that the results depend on."""
    inputs: Mapping[str, Any]
    """The inputs that the results depend on."""
    files: Mapping[str, Path] = field(default_factory=dict, kw_only=True)
    """The paths of the inputs that are files, for messages."""
    total: int
    items: Callable[[], Iterable[Item]]
    """Reads the items."""
    work: Callable[[Run, int, Item], Awaitable[Result]]
    """Makes the result of the item at a position."""
    save: Callable[[Run, int, Result], None]
    outcome: Callable[[Result], Outcome]
    is_output: Callable[[Result], bool] = lambda result: True
    """Whether there is something to write for a result."""
    outputs: tuple[Path, ...] = ()
    """The files that will be written."""
    force: bool = True
    """Without it, a file is replaced only if the same run has written it."""
    signatures: Mapping[str, str] | None = None
    """The signatures of evaluators, on which the results depend, too."""
    installed: Mapping[str, str] = field(default_factory=dict)
    """Versions of optional packages, on which the results depend; they aren't part of the name."""
    kind: Literal["chain", "rating"] = "chain"
    redo: bool = False
    """Work on finished items, too; the store answers requests that were paid for."""
    lane: Callable[[Item], Hashable] | None = None
    """Items of the same lane are worked on in order, each after the item before it was saved."""
    prepare: Callable[[Run], Awaitable[None]] | None = None
    """Done in the run before the first item, such as a pilot."""
    elsewhere: Callable[[Run, Callable[[Result], Outcome]], Awaitable[None]] | None = None
    """Works on all unfinished items in place of ``work`` and ``save``, and calls the function with each result."""


async def run_job(
    job: Job[Item, Result],
    config: Config,
    store: Store,
    models: RunModels,
    *,
    on_start: OnStart = lambda *_: None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> Run:
    """Do ``job`` in a stored run, or continue the run where it was stopped.

    Call this when everything is built: a wrong setting must not leave a run that the corrected setting doesn't fit.
    Raises :class:`MtagentError` if no item has a result.
    """
    settings = dict(job.settings)
    if job.signatures:
        settings["signatures"] = dict(job.signatures)
    name = config.run
    if name is None:
        name = f"{job.command}-{_digest(settings, job.inputs)}"
    _refuse_other_packages(store, name, job.installed)
    settings |= job.installed
    if not job.force:
        refuse_foreign_outputs(job.outputs, config, store, name)
    files = {input_name: path for input_name, path in job.files.items() if path != STANDARD}
    run = store.start(name, settings=settings, inputs=dict(job.inputs), total=job.total, kind=job.kind, files=files)
    done = run.counts().done
    work = _RunningJob(job, run, config, models, on_result, has_output=done > 0)
    batches = models.batches
    former = RUN.set(name)
    try:
        with telling_the_way_on():
            models.begin(run)
            on_start(run, job.total)
            if job.prepare is not None:
                await job.prepare(run)
            if job.elsewhere is not None:
                await job.elsewhere(run, work.note)
            elif batches is None:
                await work.on_items()
            else:
                await _in_waves(work.on_items, batches, models, run)
    except (BatchOpen, BudgetSpent, ServerPaused):
        run.finish("stopped")
        raise
    finally:
        RUN.reset(former)
    run.finish()
    if batches is not None:
        batches.finish()
    if work.first_failure and not work.has_output:
        raise MtagentError(f"no segment succeeded, and nothing was written: {work.first_failure}")
    return run


@contextmanager
def telling_the_way_on() -> Iterator[None]:
    """Add to the message of an error that stops work with a store how to continue it."""
    try:
        yield
    except MtagentError as error:
        tell_the_way_on(error)
        raise


def tell_the_way_on(error: MtagentError) -> None:
    """Add the way on to the message of ``error``, if it has one."""
    sentence = f". What was finished is stored: {error.way_on}"
    if error.way_on and not str(error).endswith(sentence):  # a job inside another one has added it
        error.args = (f"{error}{sentence}",)


@dataclass
class _RunningJob(Generic[Item, Result]):
    """A job that is at work in a run, and what has become of its items so far."""

    job: Job[Item, Result]
    run: Run
    config: Config
    models: RunModels
    on_result: Callable[[Result], None]
    has_output: bool
    first_failure: str = ""

    async def on_items(self) -> None:
        """Work on all items that are not done."""
        items = self.job.items()
        with closing_files(items):
            await work_all(
                items,
                lambda position, item: self.job.work(self.run, position, item),
                self.save,
                concurrency=self.config.concurrency,
                done=self.is_done,
                give_up_after=self.config.give_up_after,
                sleepers=self.models.sleepers,
                lane=self.job.lane,
                in_waves=self.models.batches is not None,
            )

    def is_done(self, position: int) -> bool:
        """Whether the item at ``position`` needs no work now. In batches, one that failed has its turn later."""
        batches = self.models.batches
        if batches is not None and position in batches.failed:
            return True
        return not self.job.redo and self.run.done(position)

    def save(self, position: int, result: Result) -> Outcome:
        """Store a result."""
        self.job.save(self.run, position, result)
        batches = self.models.batches
        if batches is not None and not self.run.done(position):
            batches.note_failed(position)
        return self.note(result)

    def note(self, result: Result) -> Outcome:
        """Count a result that is stored."""
        self.on_result(result)
        outcome = self.job.outcome(result)
        self.has_output = self.has_output or self.job.is_output(result)
        self.first_failure = self.first_failure or outcome.failure or ""
        return outcome


async def _in_waves(
    work_on_items: Callable[[], Awaitable[None]], batches: Batches, models: RunModels, run: Run
) -> None:
    """Work on the items in waves until none waits for a batch; see :mod:`mtagent.llm.batch`.

    What a budget has room for is asked first; when it is answered, there may be room for more.
    """
    while True:
        try:
            if await _finish_wave(work_on_items, batches, models, run):
                return
        finally:
            models.end_wave(batches)
        done, total = run.counts().done, run.counts().total
        requests = counted(batches.waiting, "request")
        logger.info("round trip %d: %d of %s segments are done; %s", batches.round_trips, done, total, requests)
        await batches.answered()


async def _finish_wave(
    work_on_items: Callable[[], Awaitable[None]], batches: Batches, models: RunModels, run: Run
) -> bool:
    """Work on the items until none can go on; again while results make room in the budget. Returns if all are done."""
    while True:
        number_read = batches.number_read
        batches.begin_wave()
        models.begin_wave(run, batches)
        try:
            await work_on_items()
            return True
        except NotAnswered:
            return False
        except BudgetSpent:
            if batches.number_read == number_read:
                if batches.waiting:
                    return False
                raise


def _digest(settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """The beginning of a hash of all that the results depend on."""
    return hashlib.sha256(repr((settings, inputs)).encode()).hexdigest()[:8]


def _refuse_other_packages(store: Store, name: str, installed: Mapping[str, str]) -> None:
    """Raise :class:`StoreError` if the run ``name`` was started with other versions of optional packages."""
    stored = store.settings(name) or {}
    for purpose, version in installed.items():
        former = stored.get(purpose, version)
        if former == version:
            continue
        now = f"{version} is installed now" if version != NOT_INSTALLED else "none is installed now"
        what_to_do = f"install {former} again" if former != NOT_INSTALLED else f"uninstall {version}"
        raise StoreError(
            f"run {name!r}: was started with {purpose}: {former}, and {now}, so that results can differ: {what_to_do} "
            "to continue the run, or start a new one with another name (--name)"
        )


def refuse_foreign_outputs(outputs: Iterable[Path], config: Config, store: Store, name: str) -> None:
    """Raise :class:`OutputError` if one of the ``outputs`` exists whose content the run ``name`` didn't write."""
    own_hashes = store.outputs(name)
    # With a lower limit than before, the file would lose segments that the run has finished.
    loses_segments = False
    if config.limit is not None and own_hashes:
        loses_segments = store.read(name).counts().done > config.limit
    foreign = []
    for path in outputs:
        own_hash = own_hashes.get(str(path.resolve()))
        if loses_segments or own_hash not in (BEING_WRITTEN, hash_of(path)):
            foreign.append(path)
    refuse_existing(foreign)


@contextmanager
def noting_outputs(store: Store, name: str, outputs: tuple[Path, ...]) -> Iterator[None]:
    """Note before and after that the run ``name`` writes its ``outputs``.

    A process that is killed in between may have written them, and the same command must still be able to continue.
    """
    store.note_outputs(name, {str(path.resolve()): BEING_WRITTEN for path in outputs if path != STANDARD})
    yield
    store.note_outputs(name, hashes_of(outputs))


@contextmanager
def closing_files(items: Iterable[object]) -> Iterator[None]:
    """Close the files that ``items`` are read from, also if a run stops before their end."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()


class RunModels:
    """What a run puts around each of its models: the ``budget``, by default from ``config``, and the call cache."""

    def __init__(
        self, config: Config, store: Store, budget: Budget | None = None, batches: Batches | None = None
    ) -> None:
        self._store, self._budget = store, budget or budget_of(config)
        self.batches = batches
        self._cached: list[Cached] = []
        self.sleepers = Sleepers()

    @property
    def store_replies(self) -> bool:
        """Whether a reply of one of the models is stored."""
        return bool(self._cached)

    def wrap(self, llm: LLM) -> LLM:
        """Put budget and cache around ``llm``. A stored reply costs nothing and needs no budget."""
        if isinstance(llm, LimitedLLM):
            for limiter in llm.limiters:
                limiter.sleepers = self.sleepers
        paid = Budgeted(llm, self._budget) if self._budget else llm
        if not isinstance(paid, KeyedLLM):
            return paid
        self._cached.append(Cached(paid, self._store))
        return self._cached[-1]

    def begin(self, run: Run) -> None:
        """Let the models work on ``run``: their calls are stored in it and added to what it has paid before."""
        for model in self._cached:
            model.run_id = run.id
        if self.batches is not None:
            counts = run.counts()
            is_stored = counts.done + counts.failed > 0
            folder = self._store.batch_folder(run.name)
            self.batches.open(run.name, folder, self._store.calls.newest(), is_stored=is_stored)
            # Those that this store doesn't have are worked on again: it may be another one than before.
            self.batches.failed = {position for position in self.batches.failed if run.failed(position)}
        if self._budget:
            for name in (run.name, *self._budget.runs):
                if self._store.settings(name) is not None:  # a run that shares the budget may not exist yet
                    self._budget.begin(name, self._store.read(name).usages(), store=self._store.database.path)
        if self._budget and self.batches is not None:
            answered = self._store.calls.answered(run.id)
            for key, worst in self.batches.reserved().items():
                if key not in answered:
                    self._budget.note_batched(key, worst)

    def begin_wave(self, run: Run, batches: Batches) -> None:
        """Work on the items that are not finished begins again, after batches were answered."""
        forgotten = self._store.calls.forget_unfinished(run.id, batches.newest_call, batches.failed)
        if self._budget:
            self._budget.begin_again(forgotten)

    def end_wave(self, batches: Batches) -> None:
        """The requests of a wave are written. Reservations are kept first: no request may be sent without one."""
        if self._budget:
            batches.keep_reserved(self._budget.in_batches)
        batches.end_wave()
