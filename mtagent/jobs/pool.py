"""Work on many items at the same time, and stop if no item can succeed."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from mtagent.errors import FATAL, BudgetSpent, MtagentError, NotAnswered
from mtagent.llm.limits import Sleepers

Item = TypeVar("Item")
Result = TypeVar("Result")
GRACE = 1.0
"""Seconds that items in flight have left to finish after an error that concerns all of them."""
MANY = 10
"""Without any success, this many times ``give_up_after`` failures stop the run, even if the first items aren't done."""
READ_AHEAD = 20_000
"""How many items may wait in memory for the item before them in their lane, while items of other lanes are read."""


class Outcome(NamedTuple):
    """How the work on one item ended; ``(False, None)`` if there was nothing to do."""

    succeeded: bool
    failure: str | None


async def work_all(
    items: Iterable[Item],
    work: Callable[[int, Item], Awaitable[Result]],
    save: Callable[[int, Result], Outcome],
    *,
    concurrency: int,
    done: Callable[[int], bool],
    give_up_after: int,
    sleepers: Sleepers | None = None,
    lane: Callable[[Item], Hashable] | None = None,
    in_waves: bool = False,
) -> None:
    """Do the ``work`` on every item that is not ``done`` yet, at most ``concurrency`` at a time; ``save`` each result.

    ``work`` receives an item's position and the item; ``save`` returns how the work on it ended. ``items`` are read
    when they are needed, so that memory doesn't grow with their number. What ``work`` or ``save`` raises stops the run;
    an error of one item belongs in its result. Raises :class:`MtagentError` if the first ``give_up_after`` items, in
    input order, have all failed: a wrong model name isn't sent 100,000 times. If the budget is spent, items that need
    no further call are finished first; after another error that concerns all items, those that end within ``GRACE``
    seconds. An item whose requests are in a batch is left, and :class:`NotAnswered` is raised at the end. ``in_waves``:
    an item that the budget has no room for is left, too, because others may have results that make room.

    For each call that sleeps because a server refused it for now, one more item is worked on, up to twice
    ``concurrency``, so that the ``sleepers`` don't block the others.

    Items of the same ``lane`` are worked on in order, each after the item before it was saved; meanwhile items of other
    lanes are worked on. Without ``lane`` no item waits for another.
    """
    await _Pool(
        items, work, save, concurrency, done, _Doubt(give_up_after), sleepers or Sleepers(), lane, in_waves
    ).run()


class _Pool(Generic[Item, Result]):
    """The workers of :func:`work_all`, and what they share."""

    def __init__(
        self,
        items: Iterable[Item],
        work: Callable[[int, Item], Awaitable[Result]],
        save: Callable[[int, Result], Outcome],
        concurrency: int,
        done: Callable[[int], bool],
        doubt: _Doubt,
        sleepers: Sleepers,
        lane: Callable[[Item], Hashable] | None,
        in_waves: bool,
    ) -> None:
        self._lane, self._in_waves = lane, in_waves
        self._waiting = defaultdict[Hashable, deque[tuple[int, Item]]](deque)  # by lane, while an item of it is in work
        self._ready = deque[tuple[int, Item]]()  # items whose predecessor in the lane was saved
        self._held = 0  # items that were read and wait: in _waiting and _ready
        self._any_saved = asyncio.Event()
        self._numbered = ((position, item) for position, item in enumerate(items) if not done(position))
        self._work, self._save, self._doubt = work, save, doubt
        self._concurrency, self._sleepers = concurrency, sleepers
        self._group = asyncio.TaskGroup()
        self._over = False
        self._stand_ins = 0
        self._budget_spent: BudgetSpent | None = None
        self._not_answered: NotAnswered | None = None
        self._stopped_by: MtagentError | None = None
        self._workers = set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Work until no item is left. Raises the error that stopped it."""
        self._sleepers.on_sleep = self._one_more_sleeps
        try:
            async with self._group:
                for _ in range(self._concurrency):
                    self._begin(self._work_off())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            self._sleepers.on_sleep = None
        if self._budget_spent is not None:
            raise self._budget_spent
        if self._not_answered is not None:
            raise self._not_answered

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        worker = self._group.create_task(work)
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _work_off(self) -> None:
        # All workers begin, even if the first one finds that the budget is spent: stored replies are free.
        await self._work_on_next()
        while not self._over:
            await self._work_on_next()

    async def _stand_in(self) -> None:
        while not self._over and self._stand_ins <= self._sleepers.count:
            await self._work_on_next()
        self._stand_ins -= 1

    def _one_more_sleeps(self) -> None:
        if not self._over and self._stand_ins < min(self._sleepers.count, self._concurrency):
            self._stand_ins += 1
            self._begin(self._stand_in())

    async def _work_on_next(self) -> None:
        following = await self._next()
        if following is None:
            self._over = True
            return
        position, item = following
        self._doubt.begin(position)
        try:
            outcome = self._save(position, await self._work(position, item))
            self._release_next(item)
            self._doubt.end(position, outcome)
        except NotAnswered as error:
            self._not_answered = error
            self._doubt.end(position, Outcome(False, None))
        except BudgetSpent as error:
            self._budget_spent = self._budget_spent or error
            if self._in_waves:
                self._doubt.end(position, Outcome(False, None))
            else:
                self._over = True
        except FATAL as error:
            self._over = True
            if self._stopped_by is not None:  # another worker waits for this one, and raises its error
                return
            self._stopped_by = error
            self._any_saved.set()
            others = self._workers - {asyncio.current_task()}
            if others:
                await asyncio.wait(others, timeout=GRACE)
            raise
        except BaseException:
            self._over = True
            raise
        finally:
            self._any_saved.set()

    async def _next(self) -> tuple[int, Item] | None:
        """The next item that may begin; ``None`` if none is left, also none to wait for."""
        if self._lane is None:
            return next(self._numbered, None)
        while True:
            if self._ready and not self._over:
                self._held -= 1
                return self._ready.popleft()
            # Read on until an item of a lane comes that nobody works on.
            while self._held < READ_AHEAD:
                following = next(self._numbered, None)
                if following is None:
                    break
                lane = self._lane(following[1])
                if lane not in self._waiting:
                    self._waiting[lane] = deque()
                    return following
                self._waiting[lane].append(following)
                self._held += 1
            if self._over or not self._held:
                return None
            # Every item that was read waits for its lane, or too many do: wait until an item was saved.
            self._any_saved.clear()
            await self._any_saved.wait()

    def _release_next(self, item: Item) -> None:
        """Let the next item in the lane of ``item``, which was saved, begin."""
        if self._lane is None:
            return
        lane = self._lane(item)
        if self._waiting[lane]:
            self._ready.append(self._waiting[lane].popleft())
        else:
            del self._waiting[lane]


class _Doubt:
    """Decides whether any item can succeed, as long as none has."""

    def __init__(self, give_up_after: int) -> None:
        self._enough = give_up_after
        self._begun: deque[int] = deque()
        self._ended: dict[int, Outcome] = {}
        self._failures = 0  # of the items before the first that has not ended
        self._is_cleared = not give_up_after  # also once an item has succeeded

    def begin(self, position: int) -> None:
        """Work on the item at ``position`` begins; items begin in input order."""
        if not self._is_cleared:
            self._begun.append(position)

    def end(self, position: int, outcome: Outcome) -> None:
        """Raises :class:`MtagentError` if all items fail. An item with nothing to do counts neither way."""
        self._is_cleared = self._is_cleared or outcome.succeeded
        if self._is_cleared:
            return
        self._ended[position] = outcome
        while self._begun and self._begun[0] in self._ended:
            self._failures += self._ended.pop(self._begun.popleft()).failure is not None
        others = sum(ended.failure is not None for ended in self._ended.values())
        if outcome.failure and self._failures >= self._enough:
            failed = f"the first {self._failures} segments all failed"
        elif outcome.failure and self._failures + others >= MANY * self._enough:
            failed = f"{self._failures + others} segments failed and none succeeded"
        else:
            return
        raise MtagentError(
            f"stopped: {failed}, the last one: {outcome.failure.rstrip('.')}. "
            "Nothing is lost: the same command continues (it never stops with --give-up-after 0, in Python with "
            "give_up_after=0)"
        )


async def in_order(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], *, concurrency: int
) -> AsyncGenerator[Result, None]:
    """The results of ``items`` in order; at most ``concurrency`` of them are in work or wait for a slower one."""
    waiting: list[asyncio.Future[Result]] = []
    try:
        for item in items:
            waiting.append(asyncio.ensure_future(work(item)))
            if len(waiting) >= concurrency:
                yield await waiting.pop(0)
        while waiting:
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
