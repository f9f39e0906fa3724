"""Paired scores for tests of meta-evaluation: from lists, and from the research data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from mtagent.analysis.agreement import PairedScores, Row, paired

WMT23 = ("M-MAD", "GEMBA-MQM", "EAPrompt", "BLEU", "chrF", "COMET", "CometKiwi", "MetricX-23", "XCOMET-Ensemble")
DROPPED = ("refA", "synthetic_ref")


def table(evaluator: Sequence[Sequence[float | None]], human: Sequence[Sequence[float | None]]) -> list[Row]:
    """Rows from two tables, systems × items; systems are called A, B …, items 0, 1 …"""
    return [
        Row("ABCDEFGH"[system], str(item), one, other)
        for system, (ours, theirs) in enumerate(zip(evaluator, human, strict=True))
        for item, (one, other) in enumerate(zip(ours, theirs, strict=True))
    ]


def scores(evaluator: Sequence[Sequence[float | None]], human: Sequence[Sequence[float | None]]) -> PairedScores:
    """Paired scores from two tables; missing ones are left out."""
    return paired(table(evaluator, human), missing="leave-out")


def one_system(evaluator: Iterable[float], human: Iterable[float]) -> PairedScores:
    """The scores of one system."""
    return paired(Row("A", str(item), *both) for item, both in enumerate(zip(evaluator, human, strict=True)))


def ment(data: Path) -> PairedScores:
    """RATE on MENT zh-en."""
    segments = [json.loads(line) for line in lines(data / "ment_zh-en.jsonl")]
    return paired(
        Row(name, str(one["seg"]), one["rate"][name], one["human"][name]) for one in segments for name in one["human"]
    )


def wmt23(data: Path, name: str) -> tuple[PairedScores, PairedScores]:
    """A metric on WMT23 en-de: the scores of segments, and the given ones of systems."""
    segments = _rows(data / "wmt23_en-de_seg_scores.tsv", name)
    systems = _rows(data / "wmt23_en-de_sys_scores.tsv", name)
    return paired(segments), paired(systems, level="sys")


def himate_bleu(data: Path) -> PairedScores:
    """BLEU on HiMATE's ZH-EN evaluation set."""
    segments = [json.loads(line) for line in lines(data / "wmt22_zh-en_HuaweiTSC.jsonl")]
    return paired(Row("HuaweiTSC", str(one["seg"]), one["scores"]["BLEU-refA"], one["mqm"]) for one in segments)


def lines(path: Path) -> list[str]:
    """The lines of a file; only ``\\n`` ends one."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def _rows(path: Path, name: str) -> list[Row]:
    header, *cells = (line.split("\t") for line in lines(path))
    found = [dict(zip(header, line, strict=True)) for line in cells]
    return [
        Row(row["system"], row.get("seg", ""), _number(row[name]), _number(row["mqm"]))
        for row in found
        if row["system"] not in DROPPED
    ]


def _number(cell: str) -> float | None:
    return None if cell == "None" else float(cell)
