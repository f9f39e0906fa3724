"""The whole chain, store and guards included, against the bare openai package doing the same calls.

``python -m bench.chain`` prints calls per second and CPU time a call of both on the same simulator in the same run, and
their ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import openai

from bench.harness import Timing, as_command, report, simulator, timed, timed_calls
from mtagent.cli.demo import sample_path as path
from mtagent.config import Config, load
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.llm import prompts
from mtagent.llm.request import request_body
from mtagent.records import Call, Chain

MODEL = "gpt-6-luna"


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


async def run_chain(config: Config, source: Path, output: Path) -> tuple[Timing, list[Chain]]:
    """The timing of one run from the input file to the output file, and what it did."""
    chains: list[Chain] = []
    files = Files(source=source, output=output)
    with timed(lambda: len(calls_of(chains))) as timings:
        await improve_file(config, files, command="bench", on_start=lambda *_: None, on_chain=chains.append)
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


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--segments", type=int, default=400, help="a round")
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        print(report(asyncio.run(compare(base_url, **vars(options))), "openai"))  # noqa: T201 - a benchmark is read by a person


if __name__ == "__main__":
    main()
