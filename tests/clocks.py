"""Clocks that jump instead of sleeping."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mtagent.llm.limits import Clock

T = TypeVar("T")


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


class LoopClock(Clock):
    """The time of the running event loop: that of :func:`run_in_no_time` inside it."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return 1_700_000_000.0 + self.now()


def run_in_no_time(main: Coroutine[Any, Any, T], *, work_takes_time: bool = False) -> T:
    """``asyncio.run`` on a loop whose time jumps to the next timer as soon as nothing else is left to do.

    Many tasks may sleep at once, and the same tasks always wake in the same order. There must be no sockets in it:
    what is on its way through one takes real time. ``work_takes_time``: the processor time of this process passes, too,
    except what :func:`without_time` leaves out.
    """
    with asyncio.Runner(loop_factory=_WorkingLoop if work_takes_time else _JumpingLoop) as runner:
        return runner.run(main)


@contextmanager
def without_time() -> Iterator[None]:
    """The processor time of the block, which must not wait for anything, doesn't pass on the running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _JumpingLoop)
    began = time.process_time()
    yield
    loop.now -= time.process_time() - began


class _JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.now


class _WorkingLoop(_JumpingLoop):
    def time(self) -> float:
        return self.now + time.process_time()


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: _JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.now += max(0.0, timeout or 0.0)
        return super().select(timeout if timeout is None else 0)
