"""All benchmarks: ``python -m bench``. Compare the numbers of one run with each other; machines differ."""

from __future__ import annotations

import asyncio
import os

from bench import chain, edits, meta_eval, startup
from bench.harness import simulator


def main() -> None:
    """Measure and print."""
    os.environ.pop("OPENAI_BASE_URL", None)
    print(startup.measure())  # noqa: T201 - a benchmark is read by a person
    print(edits.measure())  # noqa: T201
    print(meta_eval.measure())  # noqa: T201
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        print("the chain, store included, against the bare client doing the same calls, 64 at a time:")  # noqa: T201
        print(asyncio.run(chain.compare(base_url, rounds=5, segments=400, concurrency=64)))  # noqa: T201


if __name__ == "__main__":
    main()
