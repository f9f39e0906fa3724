"""Metrics on HiMATE's ZH-EN evaluation set (WMT22, HuaweiTSC) against people's MQM: its Table 1.

    python -m wmt.himate_table1 [--data DIR] [--dry-run]

Asks no model: all scores are those of others. Under a second. wmt/README.md says what to expect, and which metrics are
others than the paper's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mtagent.errors import MtagentError
from mtagent.meta_eval import Paired, Row, kendall, mean_absolute_error, mean_squared_error, paired, spearman
from wmt.published import Cell, arguments, lines, table, told

FILE = "wmt22_zh-en_HuaweiTSC.jsonl"
HEAD = ("metric", "Kendall", "Spearman", "MAE, min-max", "MSE, min-max")
PUBLISHED = {
    "BLEU-refA": ("0.172", "0.233", "0.6849", "0.5064"),
    "BERTScore-refA": ("0.300", "0.400", "0.3334", "0.1349"),
    "COMET-22-refA": ("0.369", "0.489", "0.1527", "0.0306"),
    "COMETKiwi-src": ("0.365", "0.487", "0.1821", "0.0386"),
}
"""The rows of Table 1 of which the data has the metric; those of LLMs need their replies."""
NOTHING = (None, None, None, None)


def scores(segments: Sequence[dict[str, Any]], metric: str) -> Paired:
    """A metric's scores and people's."""
    return paired(Row("HuaweiTSC", str(one["seg"]), one["scores"][metric], one["mqm"]) for one in segments)


def cells(segments: Sequence[dict[str, Any]], metric: str) -> list[Cell]:
    """The four statistics of a metric."""
    found = scores(segments, metric)
    distances = [mean_absolute_error(found, "minmax"), mean_squared_error(found, "minmax")]
    measured = [kendall(found), spearman(found), *distances]
    printed = PUBLISHED.get(metric, NOTHING)
    return [Cell(one, text, digits=n) for one, text, n in zip(measured, printed, (3, 3, 4, 4), strict=True)]


def read(path: Path) -> list[dict[str, Any]]:
    """The segments of the data."""
    return [json.loads(line) for line in lines(path)]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    try:
        asked = arguments(__doc__ or "", given, [FILE])
        if asked.dry_run:
            click.echo(f"would read {asked.data / FILE} and compare {len(PUBLISHED)} metrics; asks no model: $0")
            return
        segments = read(asked.data / FILE)
        found = [(metric, cells(segments, metric)) for metric in segments[0]["scores"]]
    except MtagentError as error:
        sys.exit(str(error))
    click.echo("\n".join([*table(HEAD, found), "", told(cell for _, row in found for cell in row)]))


if __name__ == "__main__":
    main()
