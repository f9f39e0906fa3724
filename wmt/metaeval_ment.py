"""RATE on MENT zh-en against people: the row of the RATE paper (Table 3, and Table 7 for SPA).

    python -m wmt.metaeval_ment [--data DIR] [--dry-run]

Asks no model: people's and RATE's scores are the authors'. Under a second. wmt/README.md says what to expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mtagent.analysis.agreement import (
    PairedScores,
    Row,
    accuracy,
    calibrated_accuracy,
    paired,
    pearson,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from wmt.data import records, run, score
from wmt.published import Cell, arguments, table, told

FILE = "ment_zh-en.jsonl"
HEAD = ("level", "Acc, Acc-t", "Pearson", "Spearman", "SPA")


SYSTEMS, SEGMENTS = ("97.8", "99.3", "99.7", "100.0"), ("61.9", "74.5", "66.4")
"""The columns of the paper, in per cent; no SPA of segments."""


def scores(path: Path) -> PairedScores:
    """The scores of all segments and systems."""
    return paired(
        Row(system, str(one["seg"]), score(one["rate"].get(system), path), score(human, path))
        for one in records(path, "seg", "rate", "human")
        for system, human in one["human"].items()
    )


def rows(found: PairedScores) -> list[tuple[str, list[Cell]]]:
    """Each level, with what the paper prints, in per cent."""
    systems = system_level(found)
    of_systems = [accuracy(systems), pearson(systems), spearman(systems), soft_pairwise_accuracy(found)]
    of_segments = [calibrated_accuracy(found), pearson(found), spearman(found)]
    by_item = [calibrated_accuracy(found, "item"), pearson(found, "item"), spearman(found, "item")]
    return [
        ("systems", [Cell(*one, 100) for one in zip(of_systems, SYSTEMS, strict=True)]),
        ("segments, all together", [Cell(*one, 100) for one in zip(of_segments, SEGMENTS, strict=True)]),
        ("segments, by item", [Cell(one, None, 100, 2) for one in by_item]),
    ]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    asked = arguments(__doc__ or "", given, [FILE])
    if asked.dry_run:
        click.echo(f"would read {asked.data / FILE} and compare 7 statistics with the paper's; asks no model: $0")
        return
    found = rows(scores(asked.data / FILE))
    click.echo("\n".join([*table(HEAD, found), "", told(cell for _, cells in found for cell in cells)]))


if __name__ == "__main__":
    run(main)
