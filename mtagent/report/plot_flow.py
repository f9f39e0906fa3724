"""Plots of what became of the segments and of the edits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mtagent.report.fates import KINDS, OUTCOMES
from mtagent.report.flow import Flow, StageFlow
from mtagent.report.svg import LINE, WIDTH, box, drawing, line, text, width
from mtagent.report.words import counted, number, segments, stage_name

_MOST = 12
"""Bars of one stage; what is left goes into the last one, and stands in the table."""
_ROW, _HIGH = 34.0, 9.0
_CLASSES = {"applied": "applied", "refused": "guard", "rejected": "gate"}


class _Bar(NamedTuple):
    label: str
    size: int
    class_: str


def flow_plot(flow: Flow, name: str = "flow") -> str:
    """What became of the segments, stage by stage: each bar begins where the one above it ends."""
    blocks = [(stage_name(stage.stage), segments(flow.segments), _segment_bars(stage)) for stage in flow.stages]
    told = "; ".join(f"{stage_name(stage.stage)}: {_told(stage)}" for stage in flow.stages)
    return _drawn(name, "What became of the segments", f"Of {segments(flow.segments)}. {told}", blocks)


def edits_plot(flow: Flow, name: str = "edits") -> str:
    """What became of the edits, stage by stage; a stage without edits says so."""
    stages = [stage for stage in flow.stages if stage.stage not in ("final", "translate")]
    blocks = [(stage_name(stage.stage), _total(_edits(stage)), _edit_bars(stage)) for stage in stages]
    told = "; ".join(
        f"{stage_name(stage.stage)}: " + (", ".join(f"{count} {what}" for what, count in stage.edits) or "no edits")
        for stage in stages
    )
    return _drawn(name, "What became of the edits", told or "No stage makes edits.", blocks)


def _told(stage: StageFlow) -> str:
    return ", ".join(f"{number(stage.of(kind))} {words}" for kind, words in KINDS.items() if stage.of(kind))


def _total(count: int) -> str:
    return f"{number(count)} edit{'' if count == 1 else 's'}"


def _edits(stage: StageFlow) -> int:
    return sum(count for _, count in stage.edits)


def _segment_bars(stage: StageFlow) -> list[_Bar]:
    return _fewer([_Bar(f"{KINDS[g.kind]}: {g.reason}", g.segments, g.kind) for g in stage.groups], "other fates")


def _edit_bars(stage: StageFlow) -> list[_Bar]:
    return _fewer([_Bar(what, count, _class_of(what)) for what, count in stage.edits], "other outcomes")


def _class_of(what: str) -> str:
    outcome = next(name for name, words in OUTCOMES.items() if what.startswith(words))
    return _CLASSES.get(outcome, "unplaced")


def _fewer(bars: list[_Bar], rest: str) -> list[_Bar]:
    if len(bars) <= _MOST:
        return bars
    left = bars[_MOST - 1 :]
    return [*bars[: _MOST - 1], _Bar(f"{len(left)} {rest}", sum(bar.size for bar in left), "idle")]


def _drawn(name: str, title: str, told: str, blocks: Sequence[tuple[str, str, list[_Bar]]]) -> str:
    body, y = "", LINE
    for stage, total, bars in blocks:
        body += text(0, y, stage, "strong", room=WIDTH - width(total) - 10) + text(
            WIDTH, y, total, "note", anchor="end"
        )
        body += line(0, y + 5, WIDTH, y + 5)
        body += _stairs(bars, y + 6)
        y += 10 + _ROW * max(1, len(bars)) + LINE
    return drawing(name, title, told, body or text(0, y, "nothing to show", "note"), max(y - LINE / 2, LINE * 1.5))


def _stairs(bars: list[_Bar], y: float) -> str:
    """Bars over the whole width, one below the other, each from where the one above it ends."""
    total = sum(bar.size for bar in bars)
    if not total:
        return text(0, y + LINE, "none", "note")
    starts = [WIDTH * done / total for done in accumulate((bar.size for bar in bars), initial=0)]
    return "".join(
        _step(bar, total, min(start, WIDTH - 1.5), end, y + _ROW * i)
        for i, (bar, start, end) in enumerate(zip(bars, starts, starts[1:], strict=False))
    )


def _step(bar: _Bar, total: int, start: float, end: float, y: float) -> str:
    value = counted(bar.size, total)
    return (
        text(0, y + 15, bar.label, room=WIDTH - width(value) - 8)
        + text(WIDTH, y + 15, value, anchor="end")
        + box(0, y + 20, WIDTH, _HIGH, "track")
        + box(start, y + 20, max(end - start, 1.5), _HIGH, bar.class_)
    )
