"""The whole chain, store and guards included, against the bare openai package doing the same calls.

``python -m bench.chain`` prints calls per second and CPU time a call of both on the same simulator in the same run, and
their ratios. ``--efficiency N`` compares the time of the chain with the ideal one instead, which is calls x latency /
calls in flight, for N segments per call in flight. The waiting takes no time there: seconds are those that the requests
take, plus the processor time of this process, so other work on the machine does not matter.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openai

from bench.harness import Timing, as_command, report, simulator, timed, timed_calls
from mtagent.cli.demo import sample_path as path
from mtagent.config import Config, load
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.parts import OwnParts
from mtagent.llm import prompts
from mtagent.llm.client import OpenAIClient
from mtagent.llm.limits import Limiter, ReadLimits
from mtagent.llm.request import Body, request_body
from mtagent.records import Call, Chain
from tests.clocks import LoopClock, run_in_no_time, without_time
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving

MODEL = "gpt-6-luna"
LATENCIES = (0.25, 1.0, 2.0)
IN_FLIGHT = (64, 256)


def sample_file(folder: Path, segments: int) -> Path:
    """``segments`` lines made of the bundled sample; each is unique, so that no call can be answered from the store."""
    lines = path("sample.en.txt").read_text(encoding="utf-8").splitlines()
    source = folder / "bench.en.txt"
    numbered = (f"{line} ({i})" for i, line in zip(range(segments), itertools.cycle(lines), strict=False))
    source.write_text("\n".join(numbered) + "\n", encoding="utf-8")
    return source


def settings(base_url: str, folder: Path, concurrency: int) -> Config:
    """Translate, postedit, proofread with the rating gate, as a user would run it."""
    return load(
        overrides={
            "source_lang": "en",
            "target_lang": "es",
            "base_url": base_url,
            "concurrency": concurrency,
            "gate": "rate",
            "store": folder / "store.db",
        }
    )


async def run_chain(
    config: Config, source: Path, output: Path, own: OwnParts = OwnParts()
) -> tuple[Timing, list[Chain]]:
    """The timing of one run from the input file to the output file, and what it did."""
    chains: list[Chain] = []
    files = Files(source=source, output=output)
    with timed(lambda: len(calls_of(chains))) as timings:
        await improve_file(config, files, command="bench", own=own, on_start=lambda *_: None, on_chain=chains.append)
    return timings[0], chains


async def run_bare(base_url: str, bodies: Sequence[dict[str, object]], concurrency: int) -> Timing:
    """The timing of the openai package sending ``bodies``."""
    client = openai.AsyncOpenAI(
        base_url=base_url, api_key="none", max_retries=0, http_client=openai.DefaultAioHttpClient(timeout=60.0)
    )
    left = iter(bodies)

    async def call() -> object:
        return await client.chat.completions.create(**next(left))  # type: ignore[call-overload]

    timing = await timed_calls(call, len(bodies), concurrency)
    await client.close()
    return timing


def calls_of(chains: Sequence[Chain]) -> list[Call]:
    """All calls that ``chains`` made."""
    return [call for chain in chains for step in chain.steps for call in step.calls]


def bodies_of(chains: Sequence[Chain]) -> list[dict[str, object]]:
    """The requests that ``chains`` made, as the openai package takes them."""
    schemas = {"rate": prompts.load("rubric-mqm").reply_schema}
    return [
        request_body(MODEL, {}, call.messages, schemas.get(call.purpose), logprobs=False) for call in calls_of(chains)
    ]


async def compare(base_url: str, *, rounds: int, segments: int, concurrency: int) -> dict[str, list[Timing]]:
    """Measure both in alternating rounds; the first round warms up and is not counted."""
    timings: dict[str, list[Timing]] = {"openai": [], "mtagent": []}
    for number in range(rounds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = sample_file(folder, segments)
            config = settings(base_url, folder, concurrency)
            with as_command():
                timing, chains = await run_chain(config, source, folder / "out.txt")
        bodies = bodies_of(chains)
        bare = await run_bare(base_url, bodies, concurrency)
        if number:
            timings["mtagent"].append(timing)
            timings["openai"].append(bare)
    return timings


class Wire:
    """A transport to a server in this process, which answers after ``latency`` seconds and takes no time itself."""

    def __init__(self, latency: float) -> None:
        self.cpu = 0.0
        """Seconds of processor time that the server took."""
        self._latency = latency
        self._server = Simulator(Settings(behaviour=improving, keep=False))

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits) -> Any:
        """The reply."""
        await asyncio.sleep(self._latency)
        began = time.process_time()
        with without_time():
            answer = await self._server.answer(body)  # at once, as it has no latency of its own
        self.cpu += time.process_time() - began
        return answer.payload

    async def aclose(self) -> None:
        """Nothing was opened."""


class Efficiency(NamedTuple):
    """How long a run took."""

    latency: float
    in_flight: int
    segments: int
    calls: int
    seconds: float
    cpu: float
    """Seconds of processor time, without the server's."""

    @property
    def ideal(self) -> float:
        """The seconds that the calls take, if all places are always taken."""
        return self.calls * self.latency / self.in_flight

    @property
    def row(self) -> str:
        """A row of a table."""
        return (
            f"| {self.latency:g} s | {self.in_flight} | {self.segments:,} | {self.calls:,} | {self.ideal:.1f} s "
            f"| {self.seconds:.1f} s | {1000 * self.cpu / self.calls:.2f} ms | {self.ideal / self.seconds:.2f} |"
        )


def efficiency(latency: float, in_flight: int, segments: int) -> Efficiency:
    """The time of one run with calls that take ``latency`` seconds, ``in_flight`` at once."""

    async def measure() -> Efficiency:
        clock = LoopClock()
        wire = Wire(latency)
        transport: Any = wire
        limiter = Limiter(in_flight, clock=clock)
        client = OpenAIClient(
            MODEL, base_url="http://localhost:9/v1", clock=clock, limiter=limiter, transport=transport
        )
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = sample_file(folder, segments)
            began = clock.now()
            config = settings("http://localhost:9/v1", folder, in_flight)
            timing, chains = await run_chain(config, source, folder / "out.txt", OwnParts(llm=client))
            seconds = clock.now() - began
        calls = len(calls_of(chains))
        return Efficiency(latency, in_flight, segments, calls, seconds, timing.cpu * calls - wire.cpu)

    return run_in_no_time(measure(), work_takes_time=True)


def efficiency_rows(segments_a_place: int) -> Iterator[str]:
    """A table, row by row."""
    yield "| latency | in flight | segments | calls | ideal | taken | CPU a call | efficiency |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    efficiency(1.0, 4, 4)  # imports modules
    for in_flight, latency in itertools.product(IN_FLIGHT, LATENCIES):
        yield efficiency(latency, in_flight, segments_a_place * in_flight).row


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--segments", type=int, default=400, help="a round")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--efficiency", type=int, metavar="N", help="N segments per call in flight")
    options = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    segments_a_place = vars(options).pop("efficiency")
    if segments_a_place:
        for row in efficiency_rows(segments_a_place):
            print(row, flush=True)  # noqa: T201
        return
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        print(report(asyncio.run(compare(base_url, **vars(options))), "openai"))  # noqa: T201 - a benchmark is read by a person


if __name__ == "__main__":
    main()
