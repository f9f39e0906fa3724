"""How long a run takes that a server turns away: ``python -m bench.pacing``, in virtual time, some seconds of a core.

150 segments of five calls, 32 at a time, against a server that answers after 0.2 s. A share of the requests gets a 429
with ``Retry-After: 1`` (ten seeds each), or the server holds a cap. Then 5,000 segments with all kinds of faults in a
tenth of the replies, and five minutes' worth of requests against caps a minute, with headers that state the cap and
without.
"""

from __future__ import annotations

import os
from dataclasses import replace

from tests.simulator import Fault, Settings
from tests.test_llm_pacing import CALLS, LATENCY, MIXED, least_seconds, run

SEEDS = 10
CAPS = ((60, 32), (300, 32), (300, 64), (3000, 256))
"""Requests a minute, and how many are in flight at most."""


def main() -> None:
    """Print a line for each server."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    print(f"never: {run(Settings(latency=LATENCY)).seconds:.1f} s")  # noqa: T201 - a benchmark is read by a person
    for share in (0.1, 0.2, 0.3):
        fault = Fault("status", 429, retry_after=1)
        servers = [Settings(latency=LATENCY, fault_rate=share, faults=(fault,), seed=seed) for seed in range(SEEDS)]
        seconds = sorted(run(server).seconds for server in servers)
        print(f"{share:.0%} of the requests: {seconds[0]:.1f} to {seconds[-1]:.1f} s")  # noqa: T201
    for most, window, tells in ((600, 60, True), (10, 1, True), (10, 1, False)):
        server = Settings(latency=LATENCY, requests_per_window=most, window=window)
        course = run(server if tells else replace(server, retry_after_style="none"))
        told = "" if tells else ", without Retry-After"
        print(f"{most} in {window} s{told}: {course.seconds:.1f} s, {course.statuses[429]} refused")  # noqa: T201
    course = run(Settings(latency=LATENCY, fault_rate=0.1, faults=MIXED, keep=False), 5000)
    calls = course.statuses.total() / (5000 * CALLS)
    print(f"mixed faults: {course.done} done, {course.failed} failed, {calls:.2f} x the calls")  # noqa: T201
    print_caps()


def print_caps() -> None:
    """Print a row of a table for each cap and latency."""
    print("| requests a minute | in flight | latency | least | with headers, refused | without, refused |")  # noqa: T201
    print("|---:|---:|---:|---:|---:|---:|")  # noqa: T201
    for most, concurrency in CAPS:
        for latency in (0.25, 1, 2, 5, 10):
            server = Settings(latency=latency, requests_per_window=most, keep=False)
            cells = [
                f"{most:,}",
                str(concurrency),
                f"{latency:g} s",
                f"{least_seconds(server, most, concurrency):.0f} s",
            ]
            for states in (True, False):
                course = run(replace(server, rate_headers=states), most, concurrency)
                assert course.done == most
                cells.append(f"{course.seconds:.0f} s, {course.statuses[429]}")
            print(f"| {' | '.join(cells)} |")  # noqa: T201


if __name__ == "__main__":
    main()
