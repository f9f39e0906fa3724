"""A clock that jumps instead of sleeping."""

from __future__ import annotations

import asyncio

from mtagent.llm.clock import Clock


class FakeClock(Clock):
    """Starts at 1,000 s; ``slept`` lists what was slept. Sleepers wake in the order of their times."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return 1_700_000_000.0 + self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        until = self.time + seconds
        await asyncio.sleep(0)
        self.time = max(self.time, until)
