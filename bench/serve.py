"""``mtagent serve``: ``python -m bench.serve`` compares it with the bare agent, before a model that takes 100 ms.

``--ideal`` compares its default settings with clients / latency, ``--faults`` looks at what clients get while a model
fails, and ``--large`` at ``/healthz`` during a request with large texts. ``--full-disk 5`` counts characters while the
server cannot write to any file for five seconds (Linux only).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bench.harness import ROOT, simulator
from mtagent import Agent, Segment
from mtagent.errors import MtagentError
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving
from tests.simulator.faults import FAULTS

SETTINGS: dict[str, Any] = {"stages": "p", "evaluator": "rubric-mqm", "gate": "guards"}
FAULTY = ("401", "404-model", "429", "429-after-1", "429-after-3600", "500", "502-html", "503", "529", "reset", "hang")
"""Faults after which no call gets an answer; the next ones spoil the answer."""
SPOILT = ("broken-json", "empty-body", "refusal", "length")
Ask = Callable[[int], Awaitable[bool]]
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def exclaim(text: str) -> str:
    """An MT system that takes no time, as ``--translator python:bench.serve:exclaim``."""
    return f"{text}!"


@contextmanager
def server(base_url: str, folder: Path, settings: dict[str, Any] = SETTINGS, *others: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server before the model at ``base_url``, with ``settings`` and options."""
    options = [f"--{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "mtagent", "serve", "--port", "0", "--state", str(folder / "s.db"), *options]
    command += ["--base-url", base_url, "--model", "gpt-6-luna", *others]
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
            process.wait()


async def measure(ask: Ask, *, requests: int, clients: int) -> str:
    """Make ``requests`` with ``clients`` at a time: rate, percentiles in milliseconds, and how many failed."""
    numbers, seconds, failed = itertools.count(), list[float](), 0

    async def work() -> None:
        nonlocal failed
        while (number := next(numbers)) < requests:
            start = time.perf_counter()
            is_answered = await ask(number)  # first, because others count meanwhile
            failed += not is_answered
            seconds.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    rate = requests / (time.perf_counter() - start)
    cuts = statistics.quantiles(seconds, n=100)
    p50, p95, p99 = (cuts[percent - 1] * 1e3 for percent in (50, 95, 99))
    return f"{rate:7.1f}/s  p50 {p50:6.0f}  p95 {p95:6.0f}  p99 {p99:6.0f} ms  {failed} failed"


class Connection(asyncio.Protocol):
    """A connection of a client, for one request at a time. It costs a tenth of aiohttp's processor time.

    The clients share the processors with the server, so what they take is missing there.
    """

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Read an answer, which has a Content-Length."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if end and length is not None and len(body) >= int(length[1]):
            assert self._answer is not None
            self._received = b""
            self._answer.set_result((int(head.split(b" ", 2)[1]), body))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the request in flight."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the server closed the connection"))

    async def post(self, address: str, path: str, content: object) -> tuple[int, Any]:
        """Send ``content`` as JSON; the status of the answer, and its content."""
        body = json.dumps(content).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status, received = await self._answer
        return status, json.loads(received)

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it: the server closes connections that are idle for five seconds."""
        return not self._transport.is_closing()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


@asynccontextmanager
async def improving_clients(url: str) -> AsyncIterator[Ask]:
    """A function that has the server at ``url`` improve a text. Connections are used again."""
    address = url.removeprefix("http://")
    host, _, port = address.partition(":")
    connections: list[Connection] = []
    idle: list[Connection] = []

    async def ask(number: int) -> bool:
        while idle and not idle[-1].is_open:
            idle.pop()
        if idle:
            connection = idle.pop()
        else:
            _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
            connections.append(connection)
        source, translation = texts(number)
        segment = {"source": source, "translation": translation, "source_lang": "en", "target_lang": "es"}
        status, answer = await connection.post(address, "/v1/improve", {"segments": [segment]})
        idle.append(connection)
        return status == 200 and answer["chains"][0]["changed"]

    try:
        yield ask
    finally:
        for connection in connections:
            connection.close()


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
        agent = Agent(base_url=base_url, model="gpt-6-luna", concurrency=256, **SETTINGS)
        async with improving_clients(url) as ask_server, agent:

            async def ask_agent(number: int) -> bool:
                source, translation = texts(number)
                segment = Segment(id="1", source=source, translation=translation, source_lang="en", target_lang="es")
                try:
                    (chain,) = await agent.aimprove([segment])
                except MtagentError:
                    return False
                return chain.changed

            for asking in (ask_agent, ask_server):
                await measure(asking, requests=50, clients=10)
            for number in clients:
                requests = min(most, number * per_client)
                for name, ask, worker in (("agent", ask_agent, os.getpid()), ("server", ask_server, process)):
                    before, own = processor_of(worker), time.process_time()
                    line = await measure(ask, requests=requests, clients=number)
                    used = (processor_of(worker) - before) / requests * 1e3
                    line += f"  {used:.2f} ms CPU"
                    if worker == process:
                        line += f", clients {(time.process_time() - own) / requests * 1e3:.2f}"
                    print(f"{number:4} clients  {name:7} {line}")  # noqa: T201
            if long:
                before = memory_of(process)
                for _ in range(4):
                    line = await measure(ask_server, requests=long // 4, clients=64)
                    print(f"{long // 4} requests  server  {line}  memory {before:.0f} -> {memory_of(process):.0f} MB")  # noqa: T201


async def account(base_url: str, *, requests: int, clients: int, full_disk: float) -> None:
    """Print what two keys were served, and what the server has counted; the disk is full in the middle.

    The key ``limited`` has a limit, which is never reached; ``free`` has none.
    """
    names, served, statuses = ("limited", "free"), Counter[str](), Counter[tuple[str, int]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [
            f"{key}:sha256:{hashlib.sha256(key.encode()).hexdigest()}{limit}"
            for key, limit in zip(names, (":1000000000", ""), strict=True)
        ]
        (folder / "keys").write_text("\n".join(lines), encoding="utf-8")
        with server(base_url, folder, SETTINGS, "--keys", str(folder / "keys")) as (url, process):
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

                async def ask(number: int) -> bool:
                    source, translation = texts(number)
                    key = names[number % 2]
                    body = {"segments": [{"source": source, "translation": translation}]}
                    async with session.post(
                        f"{url}/v1/improve",
                        json=body | {"source_lang": "en", "target_lang": "es"},
                        headers={"Authorization": f"Bearer {key}"},
                    ) as answer:
                        await answer.read()
                        statuses[key, answer.status] += 1
                        served[key] += len(source) if answer.status == 200 else 0
                        return answer.status == 200

                for quarter in range(4):
                    filling = asyncio.create_task(_fill_disk(process, full_disk if quarter == 2 else 0))
                    before = memory_of(process)
                    line = await measure(ask, requests=requests // 4, clients=clients)
                    await filling
                    print(f"{requests // 4} requests  {line}  memory {before:.0f} -> {memory_of(process):.0f} MB")  # noqa: T201
                async with session.get(f"{url}/healthz") as answer:
                    print("health", await answer.text())  # noqa: T201
        with closing(sqlite3.connect(folder / "s.db")) as db:
            counted = dict(db.execute("SELECT key, sum(characters) FROM usage GROUP BY key"))
        for key in names:
            answers = {status: count for (of_key, status), count in sorted(statuses.items()) if of_key == key}
            print(f"{key:7} answers {answers}  characters served {served[key]}, counted {counted.get(key, 0)}")  # noqa: T201


async def _fill_disk(process: int, seconds: float) -> None:
    """For so long, let ``process`` write to no file."""
    if seconds:
        await asyncio.sleep(1)
        former = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (0, former[1]))
        await asyncio.sleep(seconds)
        resource.prlimit(process, resource.RLIMIT_FSIZE, former)


async def measure_ideal(base_url: str, *, clients: list[int], latency: float) -> None:
    """Print the rate of the server with its default settings, as a share of clients / latency."""
    with tempfile.TemporaryDirectory() as folder, server(base_url, Path(folder)) as (url, process):
        async with improving_clients(url) as ask:
            await measure(ask, requests=32, clients=16)
            for number in clients:
                requests = 10 * number
                before = processor_of(process)
                start = time.perf_counter()
                line = await measure(ask, requests=requests, clients=number)
                share = requests / (time.perf_counter() - start) / (number / latency)
                used = (processor_of(process) - before) / requests * 1e3
                print(f"{number:4} clients  {line}  {share:.2f} of the ideal  {used:.1f} ms CPU")  # noqa: T201


async def measure_faults(names: list[str], clients: list[int]) -> None:
    """Print what clients get while every call of the model fails: twice as many requests as clients."""
    for name in names:
        for number in clients:
            settings = Settings(behaviour=improving, named=name, fault_rate=1.0, keep=False)
            with tempfile.TemporaryDirectory() as folder:
                async with Simulator(settings) as model:
                    options = ("--translator", "python:bench.serve:exclaim")
                    with server(f"http://127.0.0.1:{model.port}/v1", Path(folder), {}, *options) as (url, _):
                        print(f"{name:16} {number:3} clients  {await _answers(url, number)}", flush=True)  # noqa: T201


async def _answers(url: str, clients: int) -> str:
    """How many answers were the MT, how long they took, and the state of the server after them."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number: int) -> tuple[bool, float]:
            start = time.perf_counter()
            body = {"q": f"text {number} is here.", "source": "en", "target": "es"}
            async with session.post(f"{url}/translate", json=body) as answer:
                is_right = answer.status == 200 and (await answer.json())["translatedText"] == exclaim(body["q"])
            return is_right, time.perf_counter() - start

        waves = []
        for wave in range(2):
            answers = await asyncio.gather(*(ask(clients * wave + number) for number in range(clients)))
            slowest = max(seconds for _, seconds in answers)
            waves.append(f"{sum(is_right for is_right, _ in answers)} of {clients} right in {slowest:.2f} s")
        async with session.get(f"{url}/healthz") as answer:
            state = (await answer.json())["status"]
    return f"{', then '.join(waves)}  {state}"


async def measure_large(base_url: str, deadline: str) -> None:
    """Print how long ``/healthz`` takes during a request with 20 texts of 15,000 tags each."""
    options = ("--translator", "python:bench.serve:exclaim", "--deadline", deadline)
    for unit, markup in (("<a>", "text"), ("<a>", "html"), ("<a>x", "html"), ("word. ", "text")):
        large = [unit * (45_000 // len(unit)) + f"text {number} end." for number in range(20)]
        body = {"q": large, "source": "en", "target": "es", "format": markup}
        with tempfile.TemporaryDirectory() as folder, server(base_url, Path(folder), {}, *options) as (url, _):
            async with aiohttp.ClientSession() as session:
                start = time.perf_counter()
                asking = asyncio.create_task(_status_and_late(session, f"{url}/translate", body))
                waits = []
                while not asking.done():
                    began = time.perf_counter()
                    async with session.get(f"{url}/healthz") as answer:
                        await answer.read()
                    waits.append(time.perf_counter() - began)
                    await asyncio.sleep(0.01)
                seconds = time.perf_counter() - start
                status, late = asking.result()
                line = f"{status} in {seconds:.1f} s, {late} late"
                p99 = statistics.quantiles(waits, n=100)[98]
                line += f"  /healthz p99 {p99 * 1e3:.0f} ms, at most {max(waits) * 1e3:.0f} ms"
                print(f"{unit!r:8} {markup:5} {line}", flush=True)  # noqa: T201


async def _status_and_late(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, str]:
    """The status of the answer, and the number of late texts. An answer that isn't read keeps its connection open."""
    async with session.post(url, json=body) as answer:
        await answer.read()
        return answer.status, answer.headers.get("X-Mtagent-Late", "0")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--per-client", type=int, default=30)
    parser.add_argument("--most", type=int, default=2000, help="requests a measurement")
    parser.add_argument("--long", type=int, default=10_000, help="requests of the run for memory; 0: none")
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--fault-rate", type=float, default=0.0)
    parser.add_argument("--full-disk", type=float, default=0.0, metavar="SECONDS", help="only count characters")
    parser.add_argument("--ideal", action="store_true", help="only compare the default settings with the ideal")
    parser.add_argument("--faults", nargs="*", choices=list(FAULTS), help="only look at faults; none named: 15 of them")
    parser.add_argument("--large", metavar="DEADLINE", help="only look at large texts, with this --deadline")
    given = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    if given.faults is not None:
        asyncio.run(measure_faults(given.faults or [*FAULTY, *SPOILT], given.clients))
        return
    arguments = ["--behaviour", "tests.simulator.chain:improving", "--latency", str(given.latency)]
    if given.fault_rate:
        arguments += ["--fault-rate", str(given.fault_rate)]
    with simulator(*arguments, lifetime=3000) as base_url:
        if given.full_disk:
            asyncio.run(account(base_url, requests=given.long, clients=64, full_disk=given.full_disk))
            return
        if given.large:
            asyncio.run(measure_large(base_url, given.large))
            return
        if given.ideal:
            asyncio.run(measure_ideal(base_url, clients=given.clients, latency=given.latency))
            return
        asyncio.run(
            compare(base_url, clients=given.clients, per_client=given.per_client, most=given.most, long=given.long)
        )


if __name__ == "__main__":
    main()
