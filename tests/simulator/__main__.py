"""``python -m tests.simulator``: serve until the lifetime is over or the parent process is gone.

The first line on standard output is the port.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import os
import signal
import sys
import time
from dataclasses import replace

from tests.simulator.server import Simulator
from tests.simulator.settings import Behaviour, Settings, parse_fault


def load_behaviour(spec: str) -> Behaviour:
    """The function that ``module:function`` names."""
    module, _, name = spec.partition(":")
    behaviour: Behaviour = getattr(importlib.import_module(module), name)
    return behaviour


def parse(arguments: list[str]) -> tuple[int, float, Settings]:
    """Port, lifetime and settings of a command line."""
    usual = Settings(keep=False)
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600.0, help="seconds after which the server stops")
    parser.add_argument("--behaviour", type=load_behaviour, metavar="MODULE:FUNCTION")
    parser.add_argument("--latency", type=float, default=usual.latency, help="seconds before each reply")
    parser.add_argument("--requests-per-window", type=int, help="more are answered with 429")
    parser.add_argument("--window", type=float, default=usual.window, help="seconds")
    parser.add_argument("--retry-after-style", choices=["seconds", "ms", "date", "none"], default="seconds")
    parser.add_argument(
        "--unsupported", type=names, default=frozenset(), metavar="NAME,NAME", help="parameters refused with 400"
    )
    parser.add_argument("--truncate-below", type=int, metavar="TOKENS")
    parser.add_argument("--no-usage", dest="usage", action="store_false")
    parser.add_argument("--no-cached-tokens", dest="cached_tokens", action="store_false")
    parser.add_argument("--cached-to-marks", action="store_true", help="cache as since GPT-5.6; needs --o200k")
    parser.add_argument("--o200k", action="store_true", help="count tokens, schema and tools included, as OpenAI does")
    parser.add_argument("--reasoning-tokens", type=int, default=usual.reasoning_tokens)
    parser.add_argument(
        "--script", type=parse_fault, nargs="*", default=[], metavar="FAULT", help="503, 429:2.5, reset"
    )
    parser.add_argument("--fault-rate", type=float, default=usual.fault_rate)
    parser.add_argument(
        "--faults",
        type=parse_fault,
        nargs="*",
        default=usual.faults,
        metavar="FAULT",
        help="what --fault-rate picks from",
    )
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--endings", nargs="*", default=(), help="how batches end: completed, expired:5 …")
    parser.add_argument("--batch-seconds", type=float, default=usual.batch_seconds)
    parser.add_argument("--batch-latency", type=float, default=usual.batch_latency)
    parser.add_argument("--api-key", help="refuse other keys with 401")
    parser.add_argument("--log", help="JSON lines file, one line for each reply sent")
    options = vars(parser.parse_args(arguments))
    return options.pop("port"), options.pop("lifetime"), replace(usual, **options)


def names(written: str) -> frozenset[str]:
    """The names between commas."""
    return frozenset(filter(None, written.split(",")))


async def serve(port: int, lifetime: float, settings: Settings) -> None:
    """Serve until told to stop, until the lifetime is over, or until the parent is gone."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    parent, end = os.getppid(), time.monotonic() + lifetime
    async with Simulator(settings, port=port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        while not stopped.is_set() and os.getppid() == parent and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(0.5, max(0.0, end - time.monotonic()))):
                    await stopped.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(*parse(sys.argv[1:])))
