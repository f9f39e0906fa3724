"""Many segments: bounded, resumable, and one failure stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator

from mtagent.errors import MtagentError
from mtagent.records import Chain, Segment
from mtagent.together import together

Improve = Callable[[Segment], Awaitable[Chain]]
Save = Callable[[int, Chain], None]


async def improve_all(
    segments: Iterable[Segment],
    improve: Improve,
    save: Save,
    *,
    concurrency: int,
    done: Callable[[int], bool],
    give_up_after: int = 0,
) -> None:
    """Improve every segment that is not ``done`` yet, at most ``concurrency`` at a time, and ``save`` each as it ends.

    ``segments`` is read as places become free, so that memory does not grow with its length. What ``improve`` or
    ``save`` raises stops the run; what concerns one segment alone is on its chain. Raises :class:`MtagentError` where
    the first ``give_up_after`` segments have all failed: a wrong model name is not asked for 100,000 times.
    """
    numbered = enumerate(segments)
    save = _hopeful(save, give_up_after) if give_up_after else save
    await together(*(_work_off(numbered, improve, save, done) for _ in range(concurrency)))


async def _work_off(
    numbered: Iterator[tuple[int, Segment]], improve: Improve, save: Save, done: Callable[[int], bool]
) -> None:
    for position, segment in numbered:
        if not done(position):
            save(position, await improve(segment))


def _hopeful(save: Save, give_up_after: int) -> Save:
    """``save``, as long as one of the first ``give_up_after`` segments succeeds."""
    failures, hope = 0, False

    def saving(position: int, chain: Chain) -> None:
        nonlocal failures, hope
        save(position, chain)
        hope = hope or bool(chain.steps and not chain.failed)
        failures += chain.failed is not None
        if chain.failed and not hope and failures >= give_up_after:
            raise MtagentError(
                f"stopped: the first {failures} segments all failed, the last one with {chain.failed.reason} "
                "Nothing is lost: the same command again goes on from there (--give-up-after 0: whatever fails)"
            )

    return saving


async def in_order(segments: Iterable[Segment], improve: Improve, *, concurrency: int) -> AsyncGenerator[Chain, None]:
    """The chains of ``segments`` in order, at most ``concurrency`` at a time under way or waiting for a slower one."""
    waiting: list[asyncio.Task[Chain]] = []
    try:
        for segment in segments:
            waiting.append(asyncio.ensure_future(_as_coroutine(improve, segment)))
            if len(waiting) >= concurrency:
                yield await waiting.pop(0)
        while waiting:
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _as_coroutine(improve: Improve, segment: Segment) -> Chain:
    return await improve(segment)
