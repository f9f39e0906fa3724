"""Turns: of many tasks that could go on, a few do in each round of the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from mtagent.llm.gathering import A_ROUND, turn


async def test_a_few_go_on_in_each_round_in_the_order_in_which_they_came() -> None:
    rounds, order, number = Counter[int](), list[int](), 0

    async def work(place: int) -> None:
        await turn()
        rounds[number] += 1
        order.append(place)

    async def count() -> None:
        nonlocal number
        while True:
            await asyncio.sleep(0)
            number += 1

    counting = asyncio.create_task(count())
    await asyncio.gather(*(work(place) for place in range(50)))
    counting.cancel()
    assert order == list(range(50))
    assert max(rounds.values()) <= A_ROUND
    assert len(rounds) >= 50 // A_ROUND


async def test_chains_that_have_begun_go_first_in_the_order_in_which_they_came() -> None:
    order = list[str]()

    async def work(name: str, has_begun: bool) -> None:
        await turn(has_begun=has_begun)
        order.append(name)

    await asyncio.gather(*(work(f"{'old' if place % 2 else 'new'} {place}", bool(place % 2)) for place in range(6)))
    assert order == ["old 1", "old 3", "old 5", "new 0", "new 2", "new 4"]


async def test_who_no_longer_waits_holds_nobody_up() -> None:
    waiting = [asyncio.create_task(turn()) for _ in range(9)]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()
    done = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert [isinstance(result, asyncio.CancelledError) for result in done] == [place % 2 == 0 for place in range(9)]


def test_ctrl_c_in_the_middle_of_a_round_leaves_nobody_waiting_for_good() -> None:
    """The loop is run again after it, as Jupyter does."""
    loop, interrupted = asyncio.new_event_loop(), False

    class Interrupted(asyncio.Future[None]):
        def set_result(self, result: None) -> None:
            nonlocal interrupted
            if not interrupted:
                interrupted = True
                raise KeyboardInterrupt
            super().set_result(result)

    loop.create_future = lambda: Interrupted(loop=loop)  # type: ignore[method-assign]

    async def turns(*others: asyncio.Task[None]) -> None:
        await asyncio.wait_for(asyncio.gather(turn(), *others), 1)

    waiting = [loop.create_task(turn()) for _ in range(3 * A_ROUND)]
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(turns())
    loop.run_until_complete(turns(*waiting))
    loop.close()
