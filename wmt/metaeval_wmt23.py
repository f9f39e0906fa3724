"""Nine metrics on WMT23 en-de against people's MQM: Table 2 of the M-MAD paper.

    python -m wmt.metaeval_wmt23 [--data DIR] [--dry-run]

Calls no model: all scores are those of others. Under a second. wmt/README.md says what to expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtagent.analysis.agreement import (
    PairedScores,
    ScorePair,
    Statistic,
    accuracy,
    calibrated_accuracy,
    paired,
    pearson,
)
from wmt.lib.data import rows, run, score
from wmt.lib.published import Cell, data_folder, report

SEGMENTS, SYSTEMS = "wmt23_en-de_seg_scores.tsv", "wmt23_en-de_sys_scores.tsv"
HEAD = ("metric", "systems: Acc", "systems: r", "segments: Acc-t, by item", "segments: r")
DROPPED = ("refA", "synthetic_ref")
PUBLISHED = {
    "M-MAD": (".970", ".979", ".555", ".552"),
    "GEMBA-MQM": (".970", ".973", ".474", ".429"),
    "EAPrompt": (".939", ".962", ".471", ".520"),
    "BLEU": (".894", ".917", ".520", ".192"),
    "chrF": (".818", ".866", ".519", ".232"),
    "COMET": (".970", ".990", ".574", ".432"),
    "CometKiwi": (".985", ".946", ".569", ".475"),
    "MetricX-23": (".909", ".977", ".603", ".585"),
    "XCOMET-Ensemble": (".939", ".980", ".604", ".675"),
}
"""System-level pairwise accuracy and Pearson's r, segment-level accuracy with tie calibration and Pearson's r."""


def scores(path: Path, metric: str) -> PairedScores:
    """A metric's scores and people's, of segments or of systems, without references."""
    cells = rows(path, "system", "mqm", metric)
    kept = (row for row in cells if row["system"] not in DROPPED)
    both = (
        ScorePair(row["system"], row.get("seg", ""), score(row[metric], path), score(row["mqm"], path)) for row in kept
    )
    return paired(both, level="seg" if "seg" in cells[0] else "sys")


def statistics(systems: PairedScores, segments: PairedScores) -> list[Statistic]:
    """The four statistics of the table."""
    return [accuracy(systems), pearson(systems), calibrated_accuracy(segments, "item"), pearson(segments)]


def cells(data: Path, metric: str) -> list[Cell]:
    """The four statistics of a metric, with what is published."""
    measured = statistics(scores(data / SYSTEMS, metric), scores(data / SEGMENTS, metric))
    return [Cell(*pair) for pair in zip(measured, PUBLISHED[metric], strict=True)]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    data = data_folder(__doc__ or "", given, [SEGMENTS, SYSTEMS], f"{len(PUBLISHED)} metrics with the paper's")
    if data is not None:
        report(HEAD, [(metric, cells(data, metric)) for metric in PUBLISHED])


if __name__ == "__main__":
    run(main)
