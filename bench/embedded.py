"""An agent inside a FastAPI service, before a model that takes 100 ms: ``python -m bench.embedded``.

The service has three endpoints: one asks the agent, one sends the same request to the model with aiohttp alone, and one
answers at once. 200 clients ask the first while another keeps asking the last.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from multiprocessing import Manager
from pathlib import Path
from threading import Event

import aiohttp
import uvicorn
from fastapi import FastAPI

from bench.harness import ROOT, simulator
from bench.serve import SETTINGS, measure, memory_of, processor_of, texts
from mtagent import Agent, Segment
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.request import request_body

CONCURRENCY = 64
MODEL = "gpt-6-luna"


def service(base_url: str) -> FastAPI:
    """The service, with one agent for all its requests."""
    agent = Agent(base_url=base_url, model=MODEL, **SETTINGS | {"concurrency": CONCURRENCY})
    asked = ScriptedLLM(lambda messages, purpose: '{"errors": []}')
    Agent(llm=asked, **SETTINGS).postedit(*texts(0), "en", "es")
    body = request_body(MODEL, {}, asked.requests[0].messages, None, False, ())
    slots = asyncio.Semaphore(CONCURRENCY)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with agent, aiohttp.ClientSession() as app.state.session:
            gc.collect()
            gc.freeze()  # as docs/how-to/python.md shows
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/agent")
    async def improved(number: int) -> bool:
        source, translation = texts(number)
        segment = Segment(id="1", source=source, translation=translation, source_lang="en", target_lang="es")
        return (await agent.aimprove([segment]))[0].changed

    @app.post("/bare")
    async def bare(number: int) -> bool:
        async with slots, app.state.session.post(f"{base_url}/chat/completions", json=body) as answer:
            return bool((await answer.json())["choices"][0]["message"]["content"])

    @app.get("/ping")
    async def ping() -> str:
        return "pong"

    return app


@contextmanager
def running(base_url: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of the service."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bench.embedded", "--serve", base_url, "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            for _ in range(100):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()


def pings(url: str, stop: Event) -> list[float]:
    """Seconds that the endpoint that does nothing takes, again and again until ``stop``. In a process of its own."""
    address, seconds = url.removeprefix("http://"), list[float]()
    connection = HTTPConnection(address, timeout=30)
    while not stop.wait(0.02):
        start = time.perf_counter()
        connection.request("GET", "/ping")
        connection.getresponse().read()
        seconds.append(time.perf_counter() - start)
    return seconds


def connections_to(address: str) -> int:
    """The open connections to a port of this machine."""
    port = f":{int(address.split(':')[2].split('/')[0]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(remote.endswith(port) and state == "01" for _, _, remote, state, *_ in lines)


async def under_load(base_url: str, *, clients: int, requests: int) -> None:
    """Print what ``clients`` at a time cost, and how long the other endpoint takes meanwhile."""
    connector = aiohttp.TCPConnector(limit=0)
    with running(base_url) as (url, process), ProcessPoolExecutor(1) as pool, Manager() as manager:
        async with aiohttp.ClientSession(connector=connector) as session:
            connections, used = 0, dict[str, float]()

            async def ask(endpoint: str, number: int) -> bool:
                nonlocal connections
                async with session.post(f"{url}/{endpoint}", params={"number": number}) as answer:
                    if number % 100 == 0:
                        connections = max(connections, connections_to(base_url))
                    return answer.status == 200 and bool(await answer.json())

            for endpoint in ("agent", "bare"):
                ask_it = partial(ask, endpoint)
                await measure(ask_it, requests=clients, clients=clients)
                before, held, stop = processor_of(process), memory_of(process), manager.Event()
                pinging = pool.submit(pings, url, stop)
                line = await measure(ask_it, requests=requests, clients=clients)
                stop.set()
                p50, p95, p99 = (statistics.quantiles(pinging.result(), n=100)[at] * 1e3 for at in (49, 94, 98))
                used[endpoint] = (processor_of(process) - before) / requests * 1e3
                print(f"{endpoint:6} {line}  {used[endpoint]:.2f} ms CPU, {connections} connections so far")  # noqa: T201
                print(  # noqa: T201
                    f"       meanwhile the other endpoint: p50 {p50:.0f}  p95 {p95:.0f}  p99 {p99:.0f} ms; "
                    f"memory {held:.0f} -> {memory_of(process):.0f} MB"
                )
            print(f"a call through the agent: {used['agent'] - used['bare']:.2f} ms CPU more than a bare one")  # noqa: T201


def threads(base_url: str) -> None:
    """Print how long 16 threads with 8 texts each take, with one agent that no code around it is async for."""
    start = time.perf_counter()
    with Agent(base_url=base_url, model=MODEL, **SETTINGS) as agent, ThreadPoolExecutor(16) as pool:
        pairs = [texts(number) for number in range(8)]
        sources, translations = [source for source, _ in pairs], [translation for _, translation in pairs]
        done = list(pool.map(lambda _: agent.postedit(sources, translations, "en", "es"), range(16)))
    changed = sum(chain.changed for chains in done for chain in chains)
    print(f"16 threads with 8 texts each: {changed} of 128 improved in {time.perf_counter() - start:.1f} s")  # noqa: T201


def main() -> None:
    """Parse, measure, print; or serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--serve", metavar="BASE_URL", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    if given.serve:
        uvicorn.run(service(given.serve), port=given.port, log_level="warning", access_log=False)
        return
    arguments = ["--behaviour", "tests.simulator.chain:improving", "--latency", str(given.latency)]
    with simulator(*arguments, lifetime=3000) as base_url:
        threads(base_url)
        asyncio.run(under_load(base_url, clients=given.clients, requests=given.requests))


if __name__ == "__main__":
    main()
