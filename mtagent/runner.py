"""Many pieces of work: bounded, resumable, and one failure stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from mtagent.errors import MtagentError
from mtagent.records import Chain, Segment
from mtagent.together import together

Item = TypeVar("Item")
Result = TypeVar("Result")
Improve = Callable[[Segment], Awaitable[Chain]]
Save = Callable[[int, Chain], None]


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
) -> None:
    """Improve every segment that is not ``done`` yet, as :func:`work_all` does."""
    await work_all(
        segments,
        improve,
        save,
        concurrency=concurrency,
        done=done,
        give_up_after=give_up_after,
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
) -> None:
    """Do the ``work`` on every item that is not ``done`` yet, at most ``concurrency`` at a time; ``save`` each result.

    ``items`` is read as places become free, so that memory does not grow with its length. What ``work`` or ``save``
    raises stops the run; what concerns one item alone is in its result. Raises :class:`MtagentError` where
    the first ``give_up_after`` items have all failed: a wrong model name is not asked for 100,000 times.
    """
    numbered = enumerate(items)
    save = _hopeful(save, give_up_after, outcome) if give_up_after else save
    await together(*(_work_off(numbered, work, save, done) for _ in range(concurrency)))


async def _work_off(
    numbered: Iterator[tuple[int, Item]],
    work: Callable[[Item], Awaitable[Result]],
    save: Callable[[int, Result], None],
    done: Callable[[int], bool],
) -> None:
    for position, item in numbered:
        if not done(position):
            save(position, await work(item))


def _hopeful(
    save: Callable[[int, Result], None], give_up_after: int, outcome: Callable[[Result], Outcome]
) -> Callable[[int, Result], None]:
    """``save``, as long as one of the first ``give_up_after`` items succeeds."""
    failures, hope = 0, False

    def saving(position: int, result: Result) -> None:
        nonlocal failures, hope
        save(position, result)
        succeeded, failure = outcome(result)
        hope = hope or succeeded
        failures += failure is not None
        if failure is not None and not hope and failures >= give_up_after:
            raise MtagentError(
                f"stopped: the first {failures} segments all failed, the last one with {failure} "
                "Nothing is lost: the same command again goes on from there (--give-up-after 0: whatever fails)"
            )

    return saving


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
