"""``mtagent serve`` against the bare agent, before a model that takes 100 ms: ``python -m bench.serve``."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bench.harness import ROOT, simulator
from mtagent import Agent, Segment
from mtagent.errors import MtagentError

SETTINGS: dict[str, Any] = {"stages": "p", "evaluator": "rubric-mqm", "gate": "guards", "concurrency": 256}
Ask = Callable[[int], Awaitable[bool]]


@contextmanager
def server(base_url: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server before the model at ``base_url``."""
    options = [f"--{name}={value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "mtagent", "serve", "--port", "0", "--state", str(folder / "s.db"), *options]
    command += ["--base-url", base_url, "--model", "gpt-6-luna"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = next(
                found for line in process.stderr if (found := re.search(r"serving at (http://[^\s\"]+)", line))
            )
            log = (folder / "log").open("w")
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
            yield found[1], process.pid
            drain.terminate()
        finally:
            process.terminate()


async def measure(ask: Ask, *, requests: int, clients: int) -> str:
    """Make ``requests`` with so many ``clients`` at a time: rate, percentiles in milliseconds, and how many failed."""
    numbers, seconds, failed = itertools.count(), list[float](), 0

    async def work() -> None:
        nonlocal failed
        while (number := next(numbers)) < requests:
            start = time.perf_counter()
            failed += not await ask(number)
            seconds.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    rate = requests / (time.perf_counter() - start)
    cuts = statistics.quantiles(seconds, n=100)
    p50, p95, p99 = (cuts[percent - 1] * 1e3 for percent in (50, 95, 99))
    return f"{rate:7.1f}/s  p50 {p50:6.0f}  p95 {p95:6.0f}  p99 {p99:6.0f} ms  {failed} failed"


def memory_of(process: int) -> float:
    """Megabytes that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def processor_of(process: int) -> float:
    """Seconds of a processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def texts(number: int) -> tuple[str, str]:
    """A source and its translation, in which there is an error."""
    return f"phrase {number} end.", f"frase {number} errado fin."


async def compare(base_url: str, *, clients: list[int], per_client: int, most: int, long: int) -> None:
    """Print both for each number of clients, and then what a long run does to the memory."""
    # The log of the server goes to a file, as it would elsewhere.
    with tempfile.TemporaryDirectory() as folder, server(base_url, Path(folder)) as (url, process):
        connector = aiohttp.TCPConnector(limit=0)
        agent = Agent(base_url=base_url, model="gpt-6-luna", **SETTINGS)
        async with aiohttp.ClientSession(connector=connector) as session, agent:

            async def ask_agent(number: int) -> bool:
                source, translation = texts(number)
                segment = Segment(id="1", source=source, translation=translation, source_lang="en", target_lang="es")
                try:
                    (chain,) = await agent.aimprove([segment])
                except MtagentError:
                    return False
                return chain.changed

            async def ask_server(number: int) -> bool:
                source, translation = texts(number)
                body = {"segments": [{"source": source, "translation": translation}]}
                async with session.post(
                    f"{url}/v1/improve", json=body | {"source_lang": "en", "target_lang": "es"}
                ) as answer:
                    return answer.status == 200 and (await answer.json())["chains"][0]["changed"]

            for asking in (ask_agent, ask_server):
                await measure(asking, requests=50, clients=10)
            for number in clients:
                requests = min(most, number * per_client)
                for name, ask, worker in (("agent", ask_agent, os.getpid()), ("server", ask_server, process)):
                    before = processor_of(worker)
                    line = await measure(ask, requests=requests, clients=number)
                    used = (processor_of(worker) - before) / requests * 1e3
                    print(f"{number:4} clients  {name:7} {line}  {used:.1f} ms CPU")  # noqa: T201
            if long:
                before = memory_of(process)
                for _ in range(4):
                    line = await measure(ask_server, requests=long // 4, clients=64)
                    print(f"{long // 4} requests  server  {line}  memory {before:.0f} -> {memory_of(process):.0f} MB")  # noqa: T201


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--per-client", type=int, default=30)
    parser.add_argument("--most", type=int, default=2000, help="requests a measurement")
    parser.add_argument("--long", type=int, default=10_000, help="requests of the run for memory; 0: none")
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--fault-rate", type=float, default=0.0)
    given = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    arguments = ["--behaviour", "tests.simulator.chain:improving", "--latency", str(given.latency)]
    if given.fault_rate:
        arguments += ["--fault-rate", str(given.fault_rate)]
    with simulator(*arguments, lifetime=3000) as base_url:
        asyncio.run(
            compare(base_url, clients=given.clients, per_client=given.per_client, most=given.most, long=given.long)
        )


if __name__ == "__main__":
    main()
