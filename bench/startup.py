"""How long ``mtagent --help`` takes, compared with an empty Python. ``python -m bench.startup``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def seconds(command: list[str], rounds: int = 9) -> float:
    """The median wall time of ``command``."""
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def measure() -> str:
    """Both medians."""
    empty = seconds([sys.executable, "-c", "pass"])
    ours = seconds([sys.executable, "-m", "mtagent", "--help"])
    return f"mtagent --help {ours:.2f} s, an empty python {empty:.2f} s"


if __name__ == "__main__":
    print(measure())  # noqa: T201 - a benchmark is read by a person
