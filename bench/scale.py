"""``python -m bench.scale``: machines, hours and dollars of a large job on vLLM, from figures that were measured here.

The tokens of a segment (``python -m bench.tokens``), its processor time and its disk space are measured.
All else is an assumption and an option: how fast a GPU reads and writes, and what machines cost.
"""

from __future__ import annotations

import argparse
import sys

MILLION = 1_000_000
# Per segment of 34 words, from `python -m bench.tokens`: the reviewer rubric-mqm, and a judge that compares twice.
REVIEW_INPUT, REVIEW_CONSTANT = 1_145, 1_041
REVIEW_OUTPUT, REVIEW_OUTPUT_WITH_ERRORS = 11, 110
JUDGE_INPUT, JUDGE_CONSTANT, JUDGE_OUTPUT = 592, 276, 12


def options_of(arguments: list[str]) -> argparse.Namespace:
    """The assumptions."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    add = parser.add_argument
    add("--segments", type=float, default=10 * MILLION)
    add("--with-errors", type=float, default=0.5, help="Share of segments in which the reviewer marks an error.")
    add("--prefill", type=float, default=20_000, help="Input tokens a second that a GPU reads, if not cached.")
    add("--decode", type=float, default=2_500, help="Output tokens a second that a GPU writes, of all requests.")
    add("--gpus", type=int, default=8)
    add("--gpu-dollars", type=float, default=2.0, help="Dollars for a GPU for an hour.")
    add("--cpu-dollars", type=float, default=0.05, help="Dollars for a processor for an hour.")
    add("--cpu-seconds", type=float, default=0.006, help="Processor time of a worker for a segment (bench.engines).")
    add("--bytes", type=float, default=6_760, help="Size of the stores for a segment (bench.engines).")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Print what the job takes."""
    options = options_of(arguments)
    cached, uncached, output = 0.0, 0.0, 0.0
    for share, review_output, judge_calls in (
        (1 - options.with_errors, REVIEW_OUTPUT, 0),
        (options.with_errors, REVIEW_OUTPUT_WITH_ERRORS, 1),
    ):
        cached += share * (REVIEW_CONSTANT + judge_calls * JUDGE_CONSTANT)
        uncached += share * (REVIEW_INPUT - REVIEW_CONSTANT + judge_calls * (JUDGE_INPUT - JUDGE_CONSTANT))
        output += share * (review_output + judge_calls * JUDGE_OUTPUT)
    calls = 1 + 2 * options.with_errors
    rows = [
        ("calls", f"{options.segments * calls / MILLION:,.0f} million"),
        ("input tokens in vLLM's prefix cache", f"{options.segments * cached / MILLION:,.0f} million"),
        ("input tokens to read", f"{options.segments * uncached / MILLION:,.0f} million"),
        ("output tokens", f"{options.segments * output / MILLION:,.0f} million"),
    ]
    cpu_hours = options.segments * options.cpu_seconds / 3600
    for name, read in (("with the prefix cache", uncached), ("without it", cached + uncached)):
        gpu_hours = options.segments * (read / options.prefill + output / options.decode) / 3600
        hours = gpu_hours / options.gpus
        dollars = gpu_hours * options.gpu_dollars + cpu_hours * options.cpu_dollars
        rows += [
            (f"GPU hours {name}", f"{gpu_hours:,.0f}"),
            (f"hours on {options.gpus} GPUs {name}", f"{hours:,.1f}"),
            (f"processors for the workers {name}", f"{cpu_hours / hours:,.1f}"),
            (f"dollars {name}", f"{dollars:,.0f}"),
        ]
    rows.append(("disk for the stores", f"{options.segments * options.bytes / 1e9:,.0f} GB"))
    sys.stdout.write("".join(f"{name:<45}{value:>20}\n" for name, value in rows))


if __name__ == "__main__":
    main(sys.argv[1:])
