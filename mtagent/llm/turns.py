"""Turns in an event loop: of many chains that could go on at the same time, a few do in each of its rounds.

What they do between two requests takes a millisecond or more. If hundreds did it in one round, everything else in the
loop would wait for all of them: other endpoints of a web service, and the requests that the first ones could send.
"""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

A_ROUND = 4
"""How many go on in one round."""
_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[asyncio.Future[None]]] = WeakKeyDictionary()


async def turn() -> None:
    """Wait until it is this task's turn."""
    loop = asyncio.get_running_loop()
    if (waiting := _waiting.get(loop)) is None:
        waiting = _waiting[loop] = deque()
    mine: asyncio.Future[None] = loop.create_future()
    waiting.append(mine)
    if len(waiting) == 1:
        loop.call_soon(_next_round, loop, waiting)
    await mine


def _next_round(loop: asyncio.AbstractEventLoop, waiting: deque[asyncio.Future[None]]) -> None:
    try:
        for _ in range(min(A_ROUND, len(waiting))):
            if not waiting[0].done():
                waiting[0].set_result(None)
            waiting.popleft()
    finally:  # Ctrl-C may come here, and the loop go on
        if waiting:
            loop.call_soon(_next_round, loop, waiting)
