"""Time, as a thing that can be passed in, so that waiting can be tested without waiting."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """The real time. Tests pass a subclass that does not sleep."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for HTTP dates."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
