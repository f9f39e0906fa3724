"""Many pieces of work: bounded, resumable, and one failure stops nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import NamedTuple, TypeVar

from mtagent.errors import BudgetSpent, MtagentError, ServerPaused
from mtagent.llm.limits import Sleepers
from mtagent.records import Chain, Segment

Item = TypeVar("Item")
Result = TypeVar("Result")
Improve = Callable[[Segment], Awaitable[Chain]]
Save = Callable[[int, Chain], None]
GRACE = 1.0
"""Seconds that requests under way have left to end, where the server asks for a long pause."""
MANY = 10
"""So many times ``give_up_after`` failures, without any success, are enough although the first items are not done."""


class Outcome(NamedTuple):
    """How a piece of work ended. Neither success nor failure: there was nothing to do."""

    succeeded: bool
    failure: str | None


async def improve_all(
    segments: Iterable[Segment],
    improve: Improve,
    save: Save,
    *,
    concurrency: int,
    done: Callable[[int], bool],
    give_up_after: int = 0,
    sleepers: Sleepers | None = None,
) -> None:
    """Improve every segment that is not ``done`` yet, as :func:`work_all` does."""
    await work_all(
        segments,
        improve,
        save,
        concurrency=concurrency,
        done=done,
        give_up_after=give_up_after,
        sleepers=sleepers,
        outcome=_outcome_of_chain,
    )


async def work_all(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[Result]],
    save: Callable[[int, Result], None],
    *,
    concurrency: int,
    done: Callable[[int], bool],
    give_up_after: int,
    outcome: Callable[[Result], Outcome],
    sleepers: Sleepers | None = None,
) -> None:
    """Do the ``work`` on every item that is not ``done`` yet, at most ``concurrency`` at a time; ``save`` each result.

    ``items`` is read as places become free, so that memory does not grow with its length. What ``work`` or ``save``
    raises stops the run; what concerns one item alone is in its result. Raises :class:`MtagentError` where the first
    ``give_up_after`` items, in input order, have all failed: a wrong model name is not asked for 100,000 times. Where
    the budget is spent, the items that need no further call are finished first; where the server asks for a long
    pause, those that end within ``GRACE`` seconds.

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
            result = await work(item)
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


def _outcome_of_chain(chain: Chain) -> Outcome:
    return Outcome(bool(chain.steps and not chain.failed), chain.failed.reason if chain.failed else None)


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
