"""mtagent's client against the bare openai package, on the same server: ``python -m bench.client``."""

from __future__ import annotations

import argparse
import asyncio
import os
from functools import partial
from typing import Any

import openai

from bench.harness import Timing, alternate, report, simulator
from mtagent.llm.client import OpenAIClient
from mtagent.llm.limits import Limiter
from mtagent.llm.protocol import Sampling
from mtagent.records import Message

MODEL = "gpt-6-luna"
TEXT = "Mark every error in this translation, and suggest what should stand in its place. " * 12


async def compare(base_url: str, *, rounds: int, calls: int, concurrency: int) -> dict[str, list[Timing]]:
    """Measure both clients in alternating rounds."""
    bare = openai.AsyncOpenAI(
        base_url=base_url, api_key="none", max_retries=0, http_client=openai.DefaultAioHttpClient(timeout=60.0)
    )
    ours = OpenAIClient(MODEL, base_url=base_url, sampling=Sampling(temperature=0), limiter=Limiter(concurrency))
    messages = (Message(role="system", content=TEXT), Message(role="user", content="Hello"))

    async def call_bare() -> object:
        return await bare.chat.completions.create(
            model=MODEL,
            messages=[{"role": "system", "content": TEXT}, {"role": "user", "content": "Hello"}],
            temperature=0,
        )

    async def call_ours() -> object:
        return await ours.complete(messages, purpose="rate")

    contestants = {"openai": call_bare, "mtagent": call_ours}
    timings = await alternate(contestants, rounds=rounds, calls=calls, concurrency=concurrency)
    await bare.close()
    await ours.aclose()
    return timings


async def compare_ways(base_url: str, *, rounds: int, calls: int, concurrency: int) -> dict[str, list[Timing]]:
    """Measure mtagent's three transports in alternating rounds."""
    with_httpx = openai.AsyncOpenAI(base_url=base_url, api_key="none")
    with_aiohttp = openai.AsyncOpenAI(base_url=base_url, api_key="none", http_client=openai.DefaultAioHttpClient())
    configurations: dict[str, dict[str, Any]] = {
        "default": {"base_url": base_url},
        "client": {"client": with_httpx},
        "client with aiohttp": {"client": with_aiohttp},
        "instrumented": {"base_url": base_url, "instrumented": True},
    }
    messages = (Message(role="system", content=TEXT), Message(role="user", content="Hello"))
    models = {}
    contestants = {}
    for name, configuration in configurations.items():
        models[name] = OpenAIClient(
            MODEL, sampling=Sampling(temperature=0), limiter=Limiter(concurrency), **configuration
        )
        contestants[name] = partial(models[name].complete, messages, purpose="rate")
    timings = await alternate(contestants, rounds=rounds, calls=calls, concurrency=concurrency)
    for model in models.values():
        await model.aclose()
    await with_httpx.close()
    await with_aiohttp.close()
    return timings


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=1000, help="a round")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--ways", action="store_true", help="compare mtagent's transports with each other")
    options = vars(parser.parse_args())
    job, baseline = (compare_ways, "default") if options.pop("ways") else (compare, "openai")
    os.environ.pop("OPENAI_BASE_URL", None)
    with simulator() as base_url:
        print(report(asyncio.run(job(base_url, **options)), baseline))  # noqa: T201 - a benchmark is read by a person


if __name__ == "__main__":
    main()
