"""How long a run takes that a server turns away: ``python -m bench.pacing``, in virtual time, some seconds of a core.

150 segments of five calls, 32 at a time, against a server that answers after 0.2 s. A share of the requests gets a 429
with ``Retry-After: 1`` (ten seeds each), or the server holds a cap. Then 300 segments against a cap of 300 requests a
minute, without and with headers that state it, and 5,000 with all kinds of faults in a tenth of the replies.
"""

from __future__ import annotations

import os
from dataclasses import replace

from tests.simulator import Fault, Settings
from tests.test_llm_pacing import CALLS, LATENCY, MIXED, run

SEEDS = 10


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
    for states in (False, True):
        course = run(Settings(latency=LATENCY, requests_per_window=300, rate_headers=states), 300)
        how = "with" if states else "without"
        print(f"300 a minute {how} headers: {course.seconds:.1f} s, {course.statuses[429]} refused")  # noqa: T201
    course = run(Settings(latency=LATENCY, fault_rate=0.1, faults=MIXED, keep=False), 5000)
    calls = course.statuses.total() / (5000 * CALLS)
    print(f"mixed faults: {course.done} done, {course.failed} failed, {calls:.2f} x the calls")  # noqa: T201


if __name__ == "__main__":
    main()
