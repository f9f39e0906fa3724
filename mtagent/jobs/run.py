"""The one choreography of a stored run, whatever is done with its segments.

A job says what its results depend on, what it does with one item, and how it saves the result. Everything else is here:
the run's name, resuming, the cache and the budget around its models, many items at a time, stopping, and what is said
where nothing came of it. ``improve``, ``rate`` and ``himate`` are jobs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from mtagent.config import Config
from mtagent.errors import BudgetSpent, MtagentError, ServerPaused
from mtagent.jobs.parts import budget_of
from mtagent.llm.budget import Budgeted
from mtagent.llm.cache import Cached
from mtagent.llm.limits import Sleepers
from mtagent.llm.protocol import LLM, KeyedLLM, LimitedLLM
from mtagent.store.runs import Run
from mtagent.store.store import Store

Item = TypeVar("Item")
Result = TypeVar("Result")
OnStart = Callable[[str, int, int], None]
"""Gets the run's name, the number of segments, and how many of them are done already."""
GRACE = 1.0
"""Seconds that requests under way have left to end, where the server asks for a long pause."""
MANY = 10
"""So many times ``give_up_after`` failures, without any success, are enough although the first items are not done."""


class Outcome(NamedTuple):
    """How the work on one item ended. Neither success nor failure: there was nothing to do."""

    succeeded: bool
    failure: str | None


@dataclass(frozen=True)
class Job(Generic[Item, Result]):
    """A job over the items of a file or a stored run.

    ``command`` begins the name of a run that the user did not name. ``settings`` and ``inputs`` are what the results
    depend on: the same command again must have the same. ``work`` makes the result of the item at a position, ``save``
    keeps it, ``outcome`` says how it ended, and ``is_output`` whether there is something to write for it. ``redo``:
    work on items that are done, too; what was paid for is answered from the store.
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
    kind: Literal["chain", "rating"] = "chain"
    redo: bool = False


def run_name(command: str, settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """The name of a run that the user did not name: the same for the same settings and inputs."""
    return f"{command}-{hashlib.sha256(repr((settings, inputs)).encode()).hexdigest()[:8]}"


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
    name = config.run or run_name(job.command, job.settings, job.inputs)
    run = store.start(name, settings=dict(job.settings), inputs=dict(job.inputs), total=job.total, kind=job.kind)
    has_output, first_failure = run.counts().done > 0, ""

    def save(position: int, result: Result) -> None:
        nonlocal has_output, first_failure
        job.save(run, position, result)
        on_result(result)
        has_output = has_output or job.is_output(result)
        first_failure = first_failure or job.outcome(result).failure or ""

    with models.working_on(run), closing_files(job.items):
        on_start(name, job.total, min(job.total, run.counts().done))
        await work_all(
            job.items,
            lambda position, item: job.work(run, position, item),
            save,
            concurrency=config.concurrency,
            done=(lambda position: False) if job.redo else run.done,
            give_up_after=config.give_up_after,
            outcome=job.outcome,
            sleepers=models.sleepers,
        )
        if first_failure and not has_output:
            raise MtagentError(f"no segment succeeded, and nothing was written: {first_failure}")
    run.finish()
    return run


@contextmanager
def closing_files(items: Iterable[object]) -> Iterator[None]:
    """Close the files that ``items`` are read from, also where a run stops before their end."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()


class RunModels:
    """What a run puts around each of its models: the budget, and the cache of stored replies."""

    def __init__(self, config: Config, store: Store) -> None:
        self._store, self._budget = store, budget_of(config)
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

    @contextmanager
    def working_on(self, run: Run) -> Iterator[None]:
        """Let the models work on ``run``; it is marked as stopped where the budget is spent or the server pauses."""
        for model in self._cached:
            model.run_id = run.id
        if self._budget:
            self._budget.begin(run.name, run.usages())
        try:
            yield
        except (BudgetSpent, ServerPaused):
            run.finish("stopped")
            raise


async def work_all(
    items: Iterable[Item],
    work: Callable[[int, Item], Awaitable[Result]],
    save: Callable[[int, Result], None],
    *,
    concurrency: int,
    done: Callable[[int], bool],
    give_up_after: int,
    outcome: Callable[[Result], Outcome],
    sleepers: Sleepers | None = None,
) -> None:
    """Do the ``work`` on every item that is not ``done`` yet, at most ``concurrency`` at a time; ``save`` each result.

    ``work`` gets an item's position and the item. ``items`` is read as places become free, so that memory does not grow
    with its length. What ``work`` or ``save`` raises stops the run; what concerns one item alone is in its result.
    Raises :class:`MtagentError` where the first ``give_up_after`` items, in input order, have all failed: a wrong model
    name is not asked for 100,000 times. Where the budget is spent, the items that need no further call are finished
    first; where the server asks for a long pause, those that end within ``GRACE`` seconds.

    For each call that sleeps because a server turned it away, one more item is worked on, up to twice ``concurrency``:
    the ``sleepers`` do not keep the others from working.
    """
    numbered = ((position, item) for position, item in enumerate(items) if not done(position))
    sleepers = sleepers or Sleepers()
    doubt = _Doubt(give_up_after)
    stopped: list[MtagentError] = []
    over, stand_ins = False, 0

    async def work_on_next() -> None:
        nonlocal over
        following = next(numbered, None)
        if following is None:
            over = True
            return
        position, item = following
        doubt.begin(position)
        try:
            result = await work(position, item)
            save(position, result)
            doubt.end(position, outcome(result))
        except BudgetSpent as error:
            over = True
            stopped.append(error)
        except ServerPaused:
            over = True
            await asyncio.sleep(GRACE)
            raise
        except BaseException:
            over = True
            raise

    async def work_off() -> None:
        await work_on_next()
        while not over:
            await work_on_next()

    async def stand_in() -> None:
        nonlocal stand_ins
        while not over and stand_ins <= sleepers.count:
            await work_on_next()
        stand_ins -= 1

    def one_more_sleeps() -> None:
        nonlocal stand_ins
        if not over and stand_ins < min(sleepers.count, concurrency):
            stand_ins += 1
            group.create_task(stand_in())

    sleepers.on_sleep = one_more_sleeps
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work_off())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        sleepers.on_sleep = None
    if stopped:
        raise stopped[0]


class _Doubt:
    """Whether any item can succeed, as long as none has."""

    def __init__(self, give_up_after: int) -> None:
        self._enough = give_up_after
        self._begun: deque[int] = deque()
        self._ended: dict[int, Outcome] = {}
        self._failures = 0  # of the items before the first that has not ended
        self._hope = not give_up_after

    def begin(self, position: int) -> None:
        """Work on the item at ``position`` begins; items begin in input order."""
        if not self._hope:
            self._begun.append(position)

    def end(self, position: int, outcome: Outcome) -> None:
        """Raises :class:`MtagentError` where all items fail. An item with nothing to do says nothing either way."""
        self._hope = self._hope or outcome.succeeded
        if self._hope:
            return
        self._ended[position] = outcome
        while self._begun and self._begun[0] in self._ended:
            self._failures += self._ended.pop(self._begun.popleft()).failure is not None
        others = sum(one.failure is not None for one in self._ended.values())
        if outcome.failure and self._failures >= self._enough:
            failed = f"the first {self._failures} segments all failed"
        elif outcome.failure and self._failures + others >= MANY * self._enough:
            failed = f"{self._failures + others} segments failed and none succeeded"
        else:
            return
        raise MtagentError(
            f"stopped: {failed}, the last one with {outcome.failure} "
            "Nothing is lost: the same command again goes on from there (--give-up-after 0: whatever fails)"
        )


async def in_order(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], *, concurrency: int
) -> AsyncGenerator[Result, None]:
    """The results of ``items`` in order, at most ``concurrency`` at a time under way or waiting for a slower one."""
    waiting: list[asyncio.Task[Result]] = []
    try:
        for item in items:
            waiting.append(asyncio.ensure_future(_as_coroutine(work, item)))
            if len(waiting) >= concurrency:
                yield await waiting.pop(0)
        while waiting:
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _as_coroutine(work: Callable[[Item], Awaitable[Result]], item: Item) -> Result:
    return await work(item)
