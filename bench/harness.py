"""What the benchmarks share: a server in a process of its own, rounds that alternate, medians and their ratio."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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


async def calls_per_second(call: Call, calls: int, concurrency: int) -> float:
    """Make ``calls`` calls with ``concurrency`` of them under way at any time."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await call()

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return calls / (time.perf_counter() - start)


async def alternate(
    contestants: Mapping[str, Call], *, rounds: int, calls: int, concurrency: int
) -> dict[str, list[float]]:
    """Calls per second of each contestant, round by round.

    They take turns and swap places from round to round, so that whatever else the machine does falls on all of them.
    The first round warms up and is not counted.
    """
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        order = sorted(contestants, reverse=bool(number % 2))
        for name in order:
            rate = await calls_per_second(contestants[name], calls, concurrency)
            if number:
                rates[name].append(rate)
    return rates


def report(rates: Mapping[str, list[float]], baseline: str) -> str:
    """One line a contestant: median, range, and the ratio of its median to the baseline's."""
    base = statistics.median(rates[baseline])
    lines = [
        f"{name:24} {statistics.median(seen):7.0f} calls/s  ({min(seen):.0f}–{max(seen):.0f})"
        f"  ratio {statistics.median(seen) / base:.2f}"
        for name, seen in rates.items()
    ]
    return "\n".join(lines)
