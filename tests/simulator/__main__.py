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

from tests.simulator.server import Simulator
from tests.simulator.settings import Behaviour, Fault, Settings, parse_fault


def load_behaviour(spec: str) -> Behaviour:
    """The function that ``module:function`` names."""
    module, _, name = spec.partition(":")
    behaviour: Behaviour = getattr(importlib.import_module(module), name)
    return behaviour


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600.0, help="seconds after which the server stops")
    parser.add_argument("--behaviour", type=load_behaviour, metavar="MODULE:FUNCTION")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--requests-per-window", type=int, help="more are answered with 429")
    parser.add_argument("--window", type=float, default=60.0, help="seconds")
    parser.add_argument("--retry-after-style", choices=["seconds", "ms", "date", "none"], default="seconds")
    parser.add_argument("--unsupported", default="", metavar="NAME,NAME", help="parameters refused with 400")
    parser.add_argument("--truncate-below", type=int, metavar="TOKENS")
    parser.add_argument("--no-usage", action="store_true")
    parser.add_argument("--no-cached-tokens", action="store_true")
    parser.add_argument("--reasoning-tokens", type=int, default=0)
    parser.add_argument(
        "--script", type=parse_fault, nargs="*", default=[], metavar="FAULT", help="503, 429:2.5, reset"
    )
    parser.add_argument("--fault-rate", type=float, default=0.0)
    parser.add_argument("--faults", type=parse_fault, nargs="*", metavar="FAULT", help="what --fault-rate picks from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--api-key", help="refuse other keys with 401")
    parser.add_argument("--log", help="JSON lines file, one line for each reply sent")
    return parser.parse_args(arguments)


def settings(options: argparse.Namespace) -> Settings:
    """The command line as settings."""
    faults: list[Fault] = options.faults or list(Settings().faults)
    return Settings(
        behaviour=options.behaviour,
        script=options.script,
        latency=options.latency,
        requests_per_window=options.requests_per_window,
        window=options.window,
        retry_after_style=options.retry_after_style,
        unsupported=frozenset(filter(None, options.unsupported.split(","))),
        truncate_below=options.truncate_below,
        usage=not options.no_usage,
        cached_tokens=not options.no_cached_tokens,
        reasoning_tokens=options.reasoning_tokens,
        fault_rate=options.fault_rate,
        faults=faults,
        seed=options.seed,
        api_key=options.api_key,
        log=options.log,
        keep=False,
    )


async def serve(options: argparse.Namespace) -> None:
    """Serve until told to stop, until the lifetime is over, or until the parent is gone."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    parent, end = os.getppid(), time.monotonic() + options.lifetime
    async with Simulator(settings(options), port=options.port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        while not stopped.is_set() and os.getppid() == parent and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(0.5, max(0.0, end - time.monotonic()))):
                    await stopped.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parse(sys.argv[1:])))
