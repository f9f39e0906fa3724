"""Turns in an event loop: if many chains are ready at the same time, only a few continue in each round.

Their work between two requests takes a millisecond or more. If hundreds worked in one round, everything else in the
loop would wait for all of them: other endpoints of a web service, and the next requests of the first chains.
"""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

A_ROUND = 4
"""How many tasks continue in one round."""
_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[asyncio.Future[None]]] = WeakKeyDictionary()


async def turn() -> None:
    """Wait until it is this task's turn."""
    loop = asyncio.get_running_loop()
    waiting = _waiting.get(loop)
    if waiting is None:
        waiting = _waiting[loop] = deque()
    my_turn: asyncio.Future[None] = loop.create_future()
    waiting.append(my_turn)
    if len(waiting) == 1:
        loop.call_soon(_next_round, loop, waiting)
    await my_turn


def _next_round(loop: asyncio.AbstractEventLoop, waiting: deque[asyncio.Future[None]]) -> None:
    try:
        for _ in range(min(A_ROUND, len(waiting))):
            if not waiting[0].done():
                waiting[0].set_result(None)
            waiting.popleft()
    finally:  # the loop may continue after Ctrl-C in this place
        if waiting:
            loop.call_soon(_next_round, loop, waiting)
