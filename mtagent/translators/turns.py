"""Who may use an MT system at the same time."""

from __future__ import annotations

import asyncio


class Turns:
    """At most ``limit`` tasks at a time, on whichever event loop is running.

    A translator may live longer than one ``asyncio.run``; an :mod:`asyncio` lock may not.
    """

    def __init__(self, limit: int = 1) -> None:
        self._limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._semaphore = asyncio.Semaphore(limit)

    def one(self) -> asyncio.Semaphore:
        """The semaphore of the running event loop, for ``async with``."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._semaphore = loop, asyncio.Semaphore(self._limit)
        return self._semaphore
