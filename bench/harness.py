"""What the benchmarks share: a server in a process of its own, rounds that alternate, medians and their ratio."""

from __future__ import annotations

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mtagent.cli import collect_garbage_rarely

Call = Callable[[], Awaitable[object]]
ROOT = Path(__file__).parents[1]


@contextmanager
def simulator(*arguments: str, lifetime: float = 600.0) -> Iterator[str]:
    """The base URL of a test server in a process of its own; ``arguments`` as for ``python -m tests.simulator``."""
    command = [sys.executable, "-m", "tests.simulator", "--port", "0", "--lifetime", str(lifetime), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


@contextmanager
def as_command() -> Iterator[None]:
    """Collect garbage as seldom as the command line does, and afterwards as often as Python does."""
    usual = gc.get_threshold()
    collect_garbage_rarely()
    yield
    gc.set_threshold(*usual)


class Timing(NamedTuple):
    """What a round took per call: seconds on the clock, and processor time (user and system) of this process."""

    seconds: float
    cpu: float


@contextmanager
def timed(calls: Callable[[], int]) -> Iterator[list[Timing]]:
    """Put the timing of the block into the list; ``calls`` tells afterwards how many calls were made in it."""
    timings: list[Timing] = []
    began, cpu = time.perf_counter(), time.process_time()
    yield timings
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    timings.append(Timing(seconds / calls(), spent / calls()))


async def timed_calls(call: Call, calls: int, concurrency: int) -> Timing:
    """Make ``calls`` calls with ``concurrency`` of them in flight at any time."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await call()

    with timed(lambda: calls) as timings:
        await asyncio.gather(*(work() for _ in range(concurrency)))
    return timings[0]


async def alternate(
    contestants: Mapping[str, Call], *, rounds: int, calls: int, concurrency: int
) -> dict[str, list[Timing]]:
    """The timing of each contestant, round by round.

    They take turns and swap places from round to round, so that whatever else the machine does falls on all of them.
    The first round warms up and is not counted.
    """
    timings: dict[str, list[Timing]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        order = sorted(contestants, reverse=bool(number % 2))
        for name in order:
            timing = await timed_calls(contestants[name], calls, concurrency)
            if number:
                timings[name].append(timing)
    return timings


def cpu_ratio(timings: Mapping[str, list[Timing]], name: str, baseline: str) -> float:
    """How much processor time a call of ``name`` takes, as a multiple of one of ``baseline``.

    It is the median over the rounds: what slows a machine down falls on both contestants of a round alike.
    """
    pairs = zip(timings[name], timings[baseline], strict=True)
    return statistics.median(timing.cpu / base.cpu for timing, base in pairs)


def report(timings: Mapping[str, list[Timing]], baseline: str) -> str:
    """One line a contestant: calls per second (median, range, ratio to the baseline's), and CPU time of a call."""
    base = statistics.median(timing.seconds for timing in timings[baseline])
    lines = []
    for name, rounds in timings.items():
        rates = [1 / timing.seconds for timing in rounds]
        median = statistics.median(timing.seconds for timing in rounds)
        cpu = 1000 * statistics.median(timing.cpu for timing in rounds)
        lines.append(
            f"{name:24} {1 / median:7.0f} calls/s  ({min(rates):.0f}–{max(rates):.0f})  ratio {base / median:.2f}"
            f"  {cpu:.2f} ms CPU a call, ratio {cpu_ratio(timings, name, baseline):.2f}"
        )
    return "\n".join(lines)
