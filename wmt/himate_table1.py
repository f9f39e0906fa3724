"""Metrics on HiMATE's ZH-EN evaluation set (WMT22, HuaweiTSC) against people's MQM: its Table 1.

    python -m wmt.himate_table1 [--data DIR] [--dry-run]

Calls no model: all scores are those of others. Under a second. wmt/README.md says what to expect, and which metrics are
others than the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent.analysis.agreement import (
    PairedScores,
    ScorePair,
    Statistic,
    kendall,
    mean_absolute_error,
    mean_squared_error,
    paired,
    spearman,
)
from wmt.lib.data import records, run, score
from wmt.lib.published import Cell, data_folder, report

FILE = "wmt22_zh-en_HuaweiTSC.jsonl"
HEAD = ("metric", "Kendall", "Spearman", "MAE, min-max", "MSE, min-max")
PUBLISHED = {
    "BLEU-refA": ("0.172", "0.233", "0.6849", "0.5064"),
    "BERTScore-refA": ("0.300", "0.400", "0.3334", "0.1349"),
    "COMET-22-refA": ("0.369", "0.489", "0.1527", "0.0306"),
    "COMETKiwi-src": ("0.365", "0.487", "0.1821", "0.0386"),
}
"""The rows of Table 1 of which the data has the metric; those of LLMs need their replies."""
DIGITS = (3, 3, 4, 4)
NOTHING = (None, None, None, None)


def scores(segments: Sequence[dict[str, Any]], metric: str, path: Path) -> PairedScores:
    """A metric's scores and people's; ``path`` is where they are from."""
    return paired(
        ScorePair("HuaweiTSC", str(row["seg"]), score(row["scores"].get(metric), path), score(row["mqm"], path))
        for row in segments
    )


def statistics(both: PairedScores) -> list[Statistic]:
    """The four statistics of the table."""
    distances = [mean_absolute_error(both, "minmax"), mean_squared_error(both, "minmax")]
    return [kendall(both), spearman(both), *distances]


def cells(both: PairedScores, metric: str) -> list[Cell]:
    """The four statistics of a metric, with what is published."""
    printed = PUBLISHED.get(metric, NOTHING)
    columns = zip(statistics(both), printed, DIGITS, strict=True)
    return [Cell(statistic, text, digits=digits) for statistic, text, digits in columns]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    data = data_folder(__doc__ or "", given, [FILE], f"{len(PUBLISHED)} metrics")
    if data is not None:
        path = data / FILE
        segments = records(path, "seg", "scores", "mqm")
        metrics = segments[0]["scores"]
        report(HEAD, [(metric, cells(scores(segments, metric, path), metric)) for metric in metrics])


if __name__ == "__main__":
    run(main)
