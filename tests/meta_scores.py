"""Paired scores for tests of agreement with people, made of lists, and a sample with known figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtagent.analysis.agreement import PairedScores, ScorePair, paired

HUMAN = [[0, -1, -5, 0, -2, -1], [-1, -6, -5, 0, -2, -1], [0, -2, 0, -1, -7, -3], [-10, -6, -11, -5, -2, -4]]
JUDGE = [
    [95, 88, 60, 90, 80, 85],
    [90, 55, 72, 93, 81, 70],
    [93, 70, 85, 60, 40, 50],
    [20, 50, 35, 60, 82, 64],
]
"""Four systems, six segments, made up, with ties and with two systems in the wrong order."""


def table(evaluator: Sequence[Sequence[float | None]], human: Sequence[Sequence[float | None]]) -> list[ScorePair]:
    """Rows from two tables, systems × items; systems are called A, B …, items 0, 1 …"""
    return [
        ScorePair("ABCDEFGH"[system], str(item), ours, theirs)
        for system, sides in enumerate(zip(evaluator, human, strict=True))
        for item, (ours, theirs) in enumerate(zip(*sides, strict=True))
    ]


def scores(evaluator: Sequence[Sequence[float | None]], human: Sequence[Sequence[float | None]]) -> PairedScores:
    """Paired scores from two tables; missing ones are left out."""
    return paired(table(evaluator, human), missing="leave-out")


def one_system(evaluator: Iterable[float], human: Iterable[float]) -> PairedScores:
    """The scores of one system."""
    return paired(ScorePair("A", str(item), *both) for item, both in enumerate(zip(evaluator, human, strict=True)))
