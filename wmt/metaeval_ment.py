"""RATE on MENT zh-en against people: the row of the RATE paper (Table 3, and Table 7 for SPA).

    python -m wmt.metaeval_ment [--data DIR] [--dry-run]

Calls no model: people's and RATE's scores are the authors'. Under a second. wmt/README.md says what to expect.
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
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from wmt.lib.data import records, run, score
from wmt.lib.published import Cell, data_folder, report

FILE = "ment_zh-en.jsonl"
HEAD = ("level", "Acc, Acc-t", "Pearson", "Spearman", "SPA")


SYSTEMS, SEGMENTS = ("97.8", "99.3", "99.7", "100.0"), ("61.9", "74.5", "66.4")
"""The columns of the paper, in per cent; no SPA of segments."""


def scores(path: Path) -> PairedScores:
    """The scores of all segments and systems."""
    return paired(
        ScorePair(system, str(segment["seg"]), score(segment["rate"].get(system), path), score(human, path))
        for segment in records(path, "seg", "rate", "human")
        for system, human in segment["human"].items()
    )


def statistics(segments: PairedScores) -> list[Statistic]:
    """Four statistics of systems, as in :data:`SYSTEMS`, and three of segments, as in :data:`SEGMENTS`."""
    systems = system_level(segments)
    of_systems = [accuracy(systems), pearson(systems), spearman(systems), soft_pairwise_accuracy(segments)]
    return [*of_systems, calibrated_accuracy(segments), pearson(segments), spearman(segments)]


def rows(segments: PairedScores) -> list[tuple[str, list[Cell]]]:
    """Each level, with what the paper prints, in per cent."""
    measured = [Cell(*pair, 100) for pair in zip(statistics(segments), SYSTEMS + SEGMENTS, strict=True)]
    by_item = [calibrated_accuracy(segments, "item"), pearson(segments, "item"), spearman(segments, "item")]
    return [
        ("systems", measured[: len(SYSTEMS)]),
        ("segments, all together", measured[len(SYSTEMS) :]),
        ("segments, by item", [Cell(statistic, None, 100, 2) for statistic in by_item]),
    ]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    data = data_folder(__doc__ or "", given, [FILE], "7 statistics with the paper's")
    if data is not None:
        report(HEAD, rows(scores(data / FILE)))


if __name__ == "__main__":
    run(main)
