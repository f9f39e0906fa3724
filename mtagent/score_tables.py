"""Scores on paper: text as sacreBLEU prints it, Markdown, LaTeX, JSON with sacreBLEU's keys; always with signatures.

``width`` is the number of digits after the point, by default for each metric its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mtagent import table
from mtagent.metrics.flags import FLAGS
from mtagent.metrics.significance import FEW, SIGNIFICANT, Interval
from mtagent.records import Score
from mtagent.scoring import Entry, ScoreReport
from mtagent.table import Table

_SHOWN = 10


def text(report: ScoreReport, width: int | None = None) -> str:
    """One system: a line per metric, as sacreBLEU has it. Several: a table, and the signatures below."""
    if len(report.systems) == 1:
        return "\n".join(
            [
                *_aligned([_line(entries[0], digits(_scores(entries), width)) for entries in report.entries]),
                *_remarks(report),
            ]
        )
    return table.text([_table(report, width)], _below(report))


def markdown(report: ScoreReport, width: int | None = None) -> str:
    """A table in Markdown, and the signatures in a list below."""
    return table.markdown([_table(report, width)], _below(report))


def latex(report: ScoreReport, width: int | None = None) -> str:
    """A table for the booktabs package; signatures are comments."""
    return table.latex([_table(report, width)], _below(report))


def as_json(report: ScoreReport, width: int | None = None) -> str:
    """An object for each metric and system, in a list where there are several."""
    objects = [
        _object(report, entry, digits(_scores(entries), width)) for entries in report.entries for entry in entries
    ]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1, ensure_ascii=False)


def sentences_as_text(report: ScoreReport, width: int | None = None) -> Iterator[str]:
    """A line per metric, system and segment, as sacreBLEU has it; with several, system and segment stand before it."""
    alone = len(report.systems) == len(report.entries) == 1
    for system, number, segment in _segments(report):
        for entries in report.entries:
            score = entries[number].score
            value = f"{score.segments[segment]:.{digits(_scores(entries), width)}f}"
            line = f"{score.metric}|{score.segment_signature or score.signature} = {value}"
            flagged = report.flags[system][segment]
            suffix = f" [{', '.join(flagged)}]" if flagged else ""
            yield line + suffix if alone else f"{system}\t{report.segments[segment]}\t{line}{suffix}"


def sentences_as_json(report: ScoreReport, width: int | None = None) -> Iterator[str]:
    """JSON Lines, an object per metric, system and segment; the metric ``scores-file`` reads them back."""
    for system, number, segment in _segments(report):
        for entries in report.entries:
            score = entries[number].score
            values = {
                "id": report.segments[segment], "system": system, "name": score.metric,
                "score": round(score.segments[segment], digits(_scores(entries), width)),
                "signature": score.segment_signature or score.signature, "flags": list(report.flags[system][segment]),
            }  # fmt: skip
            yield json.dumps(values, ensure_ascii=False)


def digits(scores: Iterable[Score], width: int | None) -> int:
    """How many digits after the point ``scores`` of one metric are shown with: ``width``, or what suits all of them."""
    return min((score.digits for score in scores), default=2) if width is None else width


def _scores(entries: Iterable[Entry]) -> list[Score]:
    return [entry.score for entry in entries]


def _segments(report: ScoreReport) -> Iterator[tuple[str, int, int]]:
    for number, system in enumerate(report.systems):
        for segment in range(len(report.segments)):
            yield system, number, segment


def _line(entry: Entry, width: int) -> str:
    score = entry.score
    return f"{score.metric}|{score.signature} = {_cell(entry, width)} {score.detail}".rstrip()


def _aligned(lines: list[str]) -> list[str]:
    """The lines with their signs of equality below each other."""
    at = max(line.index(" = ") for line in lines)
    return [" " * (at - line.index(" = ")) + line for line in lines]


def _table(report: ScoreReport, width: int | None) -> Table:
    head = ("system", *(entries[0].score.metric for entries in report.entries))
    rows = (
        (system, *(_cell(entries[number], digits(_scores(entries), width)) for entries in report.entries))
        for number, system in enumerate(report.systems)
    )
    return Table("", head, tuple(rows))


def _below(report: ScoreReport) -> list[str]:
    return [*_signatures(report), *_remarks(report)]


def _cell(entry: Entry, width: int) -> str:
    return tested(entry.score.value, entry.interval, entry.p_value, width)


def tested(score: float, interval: Interval | None, p_value: float | None, width: int, *more: str) -> str:
    """A score with its interval, what ``more`` there is of it, and its p-value, each in brackets."""
    parts = [f"{score:.{width}f}", *([_confidence(interval, width)] if interval else []), *more]
    if p_value is not None:
        parts.append(f"(p = {p_value:.4f})" + ("*" if p_value < SIGNIFICANT else ""))
    return " ".join(parts)


def _confidence(interval: Interval, width: int) -> str:
    return f"(μ = {interval.mean:.{width}f} ± {interval.half_width:.{width}f})"


def _signatures(report: ScoreReport) -> list[str]:
    """Each signature once: those of scores that were made elsewhere may differ by system."""
    return list(dict.fromkeys(f"{e.score.metric}|{e.score.signature}" for entries in report.entries for e in entries))


def _remarks(report: ScoreReport) -> list[str]:
    """What the test was, and what is flagged."""
    return [*_test_remarks(report), *(f"{system}: {_flagged(report, system)}" for system in _with_flags(report))]


def _test_remarks(report: ScoreReport) -> list[str]:
    if report.resampling is None or not report.paired:
        return []
    test = f"each system against {report.systems[0]}: {report.resampling.told}"
    number = len(report.segments)
    return [test, *([f"segments: {number}, too few for a p-value to mean much"] if number < FEW else [])]


def _with_flags(report: ScoreReport) -> list[str]:
    return [system for system in report.systems if any(report.flags[system])]


def _flagged(report: ScoreReport, system: str) -> str:
    """``2 empty (4, 9), 1 copied (12)``."""
    found = _by_flag(report, system)
    return ", ".join(
        f"{len(ids)} {flag} ({', '.join(ids[:_SHOWN])}{', …' if len(ids) > _SHOWN else ''})"
        for flag, ids in found.items()
    )


def _by_flag(report: ScoreReport, system: str) -> dict[str, list[str]]:
    """The ids of the flagged segments, by flag."""
    pairs = list(zip(report.segments, report.flags[system], strict=True))
    by_flag = {str(flag): [segment for segment, found in pairs if flag in found] for flag in FLAGS}
    return {flag: ids for flag, ids in by_flag.items() if ids}


def _object(report: ScoreReport, entry: Entry, width: int) -> dict[str, Any]:
    score = entry.score
    found: dict[str, Any] = {
        "name": score.metric, "score": round(score.value, width), "signature": score.signature, "system": entry.system,
    }  # fmt: skip
    if entry.interval:
        found["confidence_mean"] = round(entry.interval.mean, width)
        found["confidence_var"] = round(entry.interval.half_width, width)
        found["confidence"] = _confidence(entry.interval, width)[1:-1]
    if report.paired:
        found["p_value"] = entry.p_value
    if score.detail:
        found["verbose_score"] = score.detail
    for part in score.signature.split("|"):
        key, colon, value = part.partition(":")
        if colon:
            found.setdefault(key, value)
    return {**found, "flags": _by_flag(report, entry.system)}
