"""The plots of a report: pure functions from a figure to an inline SVG, without script or anything from outside.

``name`` is the plot's id in the page: it must be unique there and a valid XML name. An SVG has a title and a
description, text is text, and :data:`STYLE` holds its colours for light and dark pages. What a plot shows stands also
in a table (:mod:`mtagent.report.forms`).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import accumulate
from typing import NamedTuple

from mtagent.report.figures import (
    KINDS,
    OUTCOMES,
    Bin,
    Costs,
    Flow,
    Marks,
    Point,
    Spread,
    StageFlow,
    StageMarks,
    Unit,
    nice,
)
from mtagent.text.escaping import element, plain
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table, html

_STAGES = {
    "given": "as given",
    "translate": "translate",
    "postedit": "post-edit",
    "proofread": "proofread",
    "final": "in the end",
}
_AFTER = {
    "translate": "after translation",
    "postedit": "after post-editing",
    "proofread": "after proofreading",
}
UNKNOWN = "unknown"


def stage_name(stage: str) -> str:
    """``postedit`` → ``post-edit``; another name stays."""
    return _STAGES.get(stage, stage)


def after_stage(stage: str) -> str:
    """``postedit`` → ``after post-editing``."""
    return _AFTER.get(stage, stage_name(stage))


def number(value: float) -> str:
    """A count: ``1,234,567``."""
    return f"{value:,.0f}"


def share(count: int, total: int) -> str:
    """``12.3 %`` of ``total``; ``0 %`` and ``100 %`` are exact, and of nothing there is no share: ``–``."""
    if not total:
        return "–"
    if count in (0, total):
        return "0 %" if count == 0 else "100 %"
    rounded = round(100 * count / total, 1)
    return "< 0.1 %" if rounded == 0 else "> 99.9 %" if rounded == 100 else f"{rounded:.1f} %"


def counted(count: int, total: int) -> str:
    """``1,234 · 12.3 %``."""
    return f"{number(count)} · {share(count, total)}"


def score(value: float | None, digits: int = 2) -> str:
    """A score; ``unknown`` where there is none."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign; zero and what rounds to it have none. Nothing where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    shown = f"{value:+,.{digits}f}"
    return shown[1:] if not shown.strip("+-0.,") else shown


def dollars(value: float | None) -> str:
    """``$0.0123``, with more digits for less than a cent."""
    if value is None:
        return UNKNOWN
    if 0 < value < 5e-7:
        return "< $0.000001"
    return f"${value:,.6f}" if 0 < value < 0.01 else f"${value:,.4f}"


def spent(value: float | None, unit: str) -> str:
    """Dollars or tokens."""
    if value is None:
        return f"{UNKNOWN} cost"
    return dollars(value) if unit == "dollars" else f"{number(value)} tokens"


def tick(value: float) -> str:
    """A number at an axis, as short as it can be: ``0.5``, ``20k``, ``3M``."""
    size = abs(value)
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= power:
            return f"{value / (1e3 if letter == 'k' else power):g}{letter}"
    return f"{value:g}"


def segments(count: int) -> str:
    """``1 segment``, ``2 segments``."""
    return f"{number(count)} segment{'' if count == 1 else 's'}"


WIDTH = 400.0
LINE = 18.0
"""From one line of text to the next."""
_LETTER = 6.5
"""The width of a letter of text, about; wide ones (CJK) take nearly two."""


def drawing(name: str, title: str, description: str, body: str, height: float) -> str:
    """The whole SVG; ``name`` makes its ids unique in the page."""
    named = element("title", plain(title), id=f"{name}-title") + element(
        "desc", plain(description or "Nothing to show."), id=f"{name}-desc"
    )
    return element(
        "svg",
        named + body,
        xmlns="http://www.w3.org/2000/svg",
        id=name,
        class_="plot",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {WIDTH:g} {math.ceil(height)}",
    )


def text(x: float, y: float, words: str, class_: str = "label", *, anchor: str = "start", room: float = WIDTH) -> str:
    """``words`` on the base line ``y``, cut to ``room``; what is cut stands whole in a tool tip."""
    shown = cut(words, room)
    tip = element("title", plain(words)) if shown != words else ""
    return element(
        "text", plain(shown) + tip, class_=class_, x=x, y=y, text_anchor=None if anchor == "start" else anchor
    )


def width(words: str) -> float:
    """How much room ``words`` take, about."""
    return sum(_LETTER * (1.9 if unicodedata.east_asian_width(letter) in "WF" else 1) for letter in words)


def cut(words: str, room: float) -> str:
    """``words`` in one line, and not wider than ``room``."""
    line = " ".join(words.split())
    if width(line) <= room:
        return line
    while line and width(line) + _LETTER > room:
        line = line[:-1]
    return f"{line.rstrip()}…"


def box(x: float, y: float, wide: float, high: float, class_: str, *, fill: str | None = None, tip: str = "") -> str:
    """A rectangle; one that stands for something is never too thin to be seen."""
    inner = element("title", plain(tip)) if tip else ""
    return element("rect", inner, class_=class_, x=x, y=y, width=max(wide, 1.0), height=max(high, 1.0), fill=fill)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> str:
    """A straight line."""
    return element("line", class_=class_, x1=x1, y1=y1, x2=x2, y2=y2)


class Scale(NamedTuple):
    """From values to places: ``low`` is at ``start``, ``high`` at ``end``; all in the middle where they are one."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of ``value``."""
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round values from ``low`` to ``high``; few or none where these are almost one."""
    if high <= low:
        return [low]
    step = nice((high - low) / about)
    first, last = math.ceil(round(low / step, 6)), math.floor(round(high / step, 6))
    return [value for n in range(first, last + 1) if low <= (value := float(f"{n * step:.12g}")) <= high]


def hatch(name: str, class_: str, spacing: float, angle: float) -> str:
    """A pattern of lines; ``url(#name)`` fills a shape with it."""
    ground = element("rect", class_=f"ground {class_}", width=spacing, height=spacing)
    stroke = element("line", class_=f"hatch {class_}", x1=0, y1=0, x2=0, y2=spacing)
    return element(
        "pattern", ground + stroke, id=name, width=spacing, height=spacing,
        patternUnits="userSpaceOnUse", patternTransform=f"rotate({angle:g})",
    )  # fmt: skip


_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, WIDTH - 14, 26.0, 210.0
_RADIUS = 10.0


class _Placed(NamedTuple):
    number: int
    point: Point
    x: float | None
    y: float


def costs_plot(costs: Costs, name: str = "costs") -> str:
    """The score of each row over what was spent in its run until there. A row of unknown cost is a dashed line."""
    title = f"{costs.metric} and what it cost"
    told = "; ".join(f"{point.row}: {_told(point, costs, ', ')}" for point in costs.points)
    shown = [(i, point) for i, point in enumerate(costs.points, start=1) if point.score is not None]
    body = _field(costs, shown) if shown else text(0, LINE, "no row has a score", "note")
    top = _BOTTOM + 54 if shown else LINE * 2.5
    for i, point in enumerate(costs.points):
        body += _entry(i + 1, point, costs, top + i * 21)
    return drawing(name, title, told, body, top + 21 * len(costs.points) - 8)


def _field(costs: Costs, shown: Sequence[tuple[int, Point]]) -> str:
    across, up = _across([point for _, point in shown], costs.unit), _up([point for _, point in shown])
    placed = [_placed(number, point, across, up, costs.unit) for number, point in shown]
    better = "higher" if costs.higher_is_better else "lower"
    body = text(0, 13, f"{costs.metric} ({better} is better)", "note") + _grid(across, up, costs.unit)
    return body + _ways(placed) + "".join(_interval(one, up) for one in placed) + _marks(placed)


def _across(points: Sequence[Point], unit: Unit) -> Scale:
    known = [value for point in points if (value := point.spent(unit)) is not None]
    return Scale(0, max(known, default=0) or 1, _LEFT + _RADIUS, _RIGHT - _RADIUS)


def _up(points: Sequence[Point]) -> Scale:
    ends = [p.score + sign * (p.half_width or 0) for p in points if p.score is not None for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.12 or abs(high) * 0.05 or 1
    return Scale(low - room, high + room, _BOTTOM, _TOP)


def _placed(number: int, point: Point, across: Scale, up: Scale, unit: Unit) -> _Placed:
    value = point.spent(unit)
    return _Placed(number, point, None if value is None else across.at(value), up.at(point.score or 0.0))


def _grid(across: Scale, up: Scale, unit: Unit) -> str:
    body = ""
    for value in ticks(up.low, up.high):
        body += line(_LEFT, up.at(value), _RIGHT, up.at(value))
        body += text(_LEFT - 6, up.at(value) + 4, tick(value), "note", anchor="end")
    for value in ticks(across.low, across.high, 3):
        words = f"${tick(value)}" if unit == "dollars" else tick(value)
        body += line(across.at(value), _BOTTOM, across.at(value), _BOTTOM + 5, "axis")
        at = min(across.at(value), WIDTH - width(words) / 2)
        body += text(at, _BOTTOM + 18, words, "note", anchor="middle")
    named = "dollars spent so far" if unit == "dollars" else "tokens used so far"
    return (
        body + line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis") + text(_RIGHT, _BOTTOM + 34, named, "note", anchor="end")
    )


def _ways(placed: Sequence[_Placed]) -> str:
    """A line through the rows of each run."""
    runs: dict[str, list[str]] = {}
    for one in placed:
        if one.x is not None and one.point.run is not None:
            runs.setdefault(one.point.run, []).append(f"{one.x:.5g},{one.y:.5g}")
    return "".join(element("polyline", class_="way", points=" ".join(way)) for way in runs.values() if len(way) > 1)


def _interval(one: _Placed, up: Scale) -> str:
    half = one.point.half_width
    if not half or one.x is None or one.point.score is None:
        return ""
    return line(one.x, up.at(one.point.score - half), one.x, up.at(one.point.score + half), "axis")


def _marks(placed: Sequence[_Placed]) -> str:
    """A numbered disc for each row, one for all that lie on each other; lines for those of unknown cost."""
    body = "".join(line(_LEFT, one.y, _RIGHT, one.y, "elsewhere") for one in placed if one.x is None)
    groups: list[list[_Placed]] = []
    for one in placed:
        near = next((group for group in groups if _touch(group[0], one)), None)
        if near is None:
            groups.append([one])
        else:
            near.append(one)
    return body + "".join(_disc([one.number for one in group], group[0]) for group in groups)


def _touch(one: _Placed, other: _Placed) -> bool:
    """Whether two discs would cover each other by more than half."""
    return abs(_x(one) - _x(other)) < _RADIUS * 1.2 and abs(one.y - other.y) < _RADIUS * 1.2


def _x(one: _Placed) -> float:
    return _RIGHT - _RADIUS if one.x is None else one.x


def _disc(numbers: Sequence[int], at: _Placed) -> str:
    words = ",".join(map(str, numbers)) if len(numbers) < 4 else f"{numbers[0]}…{numbers[-1]}"
    wide = max(2 * _RADIUS, width(words) + 8)
    x = min(max(_x(at) - wide / 2, _LEFT), WIDTH - wide)
    shape = element("rect", class_="mark", x=x, y=at.y - _RADIUS, width=wide, height=2 * _RADIUS, rx=_RADIUS)
    return shape + text(x + wide / 2, at.y + 4, words, "in-mark", anchor="middle")


def _told(point: Point, costs: Costs, between: str) -> str:
    return f"{score(point.score, costs.digits)}{between}{spent(point.spent(costs.unit), costs.unit)}"


def _entry(number: int, point: Point, costs: Costs, y: float) -> str:
    """A line of the list below: number, name, score and cost."""
    value = _told(point, costs, " · ")
    badge = element("rect", class_="mark", x=0, y=y - 14, width=22, height=18, rx=9)
    badge += text(11, y, str(number), "in-mark", anchor="middle")
    room = WIDTH - width(value) - 36
    return badge + text(28, y, point.row, room=room) + text(WIDTH, y, value, anchor="end")


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
    told = "; ".join(f"{stage_name(stage.stage)}: {_plot_flow_told(stage)}" for stage in flow.stages)
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


def _plot_flow_told(stage: StageFlow) -> str:
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


NOT_COMPARABLE = "not comparable"
_WORST_FIRST = tuple(reversed(SEVERITIES))
_CATEGORIES = 10
_PLOT_MARKS_ROW = 36.0
_HATCHES = {"neutral": (8.0, 0.0), "minor": (6.0, 45.0), "major": (7.0, -45.0), "critical": (6.0, 90.0)}


def severities_plot(marks: Marks, name: str = "severities") -> str:
    """Errors by severity per 100 rated texts, a bar for each stage."""
    title = f"Errors per 100 texts, by severity: {marks.evaluator}"
    if not marks.spans:
        return _without_spans(marks, name, title)
    stages = distinct(marks.stages)
    comparable, unlike = marks.comparable(), few_rated(marks)
    most = max((sum(stage.by_severity().values()) / stage.marked for stage in comparable), default=0)
    body = element("defs", "".join(hatch(f"{name}-{s}", s, *_HATCHES[s]) for s in SEVERITIES)) + _legend(name)
    for i, stage in enumerate(stages):
        body += (
            _unlike(stage, unlike[stage.stage], 34 + i * 60)
            if stage.stage in unlike
            else _stack(stage, most, name, 34 + i * 60)
        )
    told = "; ".join(_described(stage, unlike) for stage in stages)
    low = 34 + 60 * len(stages)
    note = _uneven([stage for stage in stages if stage in comparable])
    body += text(0, low + 10, note, "note") if note else ""
    return drawing(name, title, f"{told}. {note}", body, low + (18 if note else 0))


def categories_plot(marks: Marks, name: str = "categories") -> str:
    """Errors by category per 100 rated texts, a mark for each stage; the most frequent categories."""
    title = f"Errors per 100 texts, by category: {marks.evaluator}"
    if not marks.spans:
        return _without_spans(marks, name, title)
    stages = [stage for stage in distinct(marks.stages) if stage in marks.comparable()]
    names = categories(stages)
    shown = names[:_CATEGORIES]
    most = max((per_hundred(stage, category) for stage in stages for category in shown), default=0.0)
    scale = Scale(0, most or 1, 8, WIDTH - 8)
    body, top = _shapes_legend(stages)
    for i, category in enumerate(shown):
        body += _category(category, stages, scale, top + _PLOT_MARKS_ROW * i)
    below = top + _PLOT_MARKS_ROW * len(shown) + LINE
    left = len(names) - len(shown)
    note = f"and {left} rarer categories (in the table)" if left else "" if names else "no error is marked"
    note = "; ".join(filter(None, [note, _uneven(stages)]))
    unlike = [words for stage, words in few_rated(marks).items() if stage in {s.stage for s in distinct(marks.stages)}]
    notes = [*([note] if note else []), *(line for words in unlike for line in (f"{words}:", NOT_COMPARABLE))]
    body += "".join(text(0, below - 4 + LINE * i, words, "note") for i, words in enumerate(notes))
    told = [
        "; ".join(f"{one}: {_course(stages, one)}" for one in shown) or "No error is marked.",
        *(f"{words}: {NOT_COMPARABLE}" for words in unlike),
    ]
    return drawing(name, title, "; ".join(told), body, below - (LINE / 2 if not notes else 14) + LINE * len(notes))


def distinct(stages: Sequence[StageMarks]) -> list[StageMarks]:
    """``stages`` without the final texts where they are those of the stage before."""
    *others, last = stages or (None,)
    same = bool(others) and last is not None and replace(last, stage="") == replace(stages[-2], stage="")
    return list(stages[:-1] if same else stages)


def few_rated(marks: Marks) -> dict[str, str]:
    """By stage what is said of one with too few rated texts: ``only 36 of 63 texts were rated after post-editing``."""
    comparable = marks.comparable()
    return {
        stage.stage: f"only {number(rated)} of {number(stage.segments)} texts were rated {after_stage(stage.stage)}"
        for stage in marks.stages
        if (rated := marks.rated(stage)) and stage not in comparable
    }


def categories(stages: Sequence[StageMarks]) -> list[str]:
    """All categories, that with the most errors in any stage first."""
    most: dict[str, int] = {}
    for stage in stages:
        for name, found in stage.errors.items():
            most[name] = max(most.get(name, 0), sum(found.values()))
    return sorted(most, key=lambda name: (-most[name], name))


def per_hundred(stage: StageMarks, category: str) -> float:
    """Errors of ``category`` per 100 texts whose errors were marked; 0 where none were."""
    return 100 * sum(stage.errors.get(category, {}).values()) / stage.marked if stage.marked else 0.0


def _without_spans(marks: Marks, name: str, title: str) -> str:
    note, unlike = "This evaluator gives scores and marks no error spans.", few_rated(marks)
    stages = [stage for stage in distinct(marks.stages) if stage.mean is not None]
    rows = "".join(text(0, 44 + 20 * i, _mean(stage, unlike)) for i, stage in enumerate(stages))
    return drawing(name, title, note, text(0, LINE, note, "note") + rows, 34 + 20 * len(stages))


def _mean(stage: StageMarks, unlike: dict[str, str]) -> str:
    if stage.stage in unlike:
        return f"{stage_name(stage.stage)}: {NOT_COMPARABLE}, {number(stage.rated)} of {number(stage.segments)} rated"
    return f"{stage_name(stage.stage)}: mean {stage.mean:.3f} over {number(stage.rated)} rated texts"


def _legend(name: str) -> str:
    places = (0, 100, 200, 300)
    return "".join(
        box(x, 6, 18, 12, "severity", fill=f"url(#{name}-{severity})") + text(x + 24, 16, severity)
        for x, severity in zip(places, _WORST_FIRST, strict=True)
    )


def _stack(stage: StageMarks, most: float, name: str, y: float) -> str:
    found = stage.by_severity()
    total = sum(found.values())
    rate = f"{100 * total / stage.marked:.1f} per 100" if stage.marked else "not rated"
    body = text(0, y + 14, f"{stage_name(stage.stage)}, {_rated(stage)}", "strong", room=WIDTH - width(rate) - 16)
    body += text(WIDTH, y + 14, rate, "strong", anchor="end")
    body += box(0, y + 20, WIDTH, 14, "track")
    x, scale = 0.0, WIDTH / most / stage.marked if most and stage.marked else 0.0
    for severity in _WORST_FIRST:
        if found[severity]:
            body += box(x, y + 20, found[severity] * scale, 14, "severity", fill=f"url(#{name}-{severity})")
            x += found[severity] * scale
    return body + text(0, y + 49, _plot_marks_told(stage), "note")


def _unlike(stage: StageMarks, words: str, y: float) -> str:
    room = WIDTH - width(NOT_COMPARABLE) - 16
    body = text(0, y + 14, stage_name(stage.stage), "strong", room=room)
    return body + text(WIDTH, y + 14, NOT_COMPARABLE, "strong", anchor="end") + text(0, y + 32, words, "note")


def _described(stage: StageMarks, unlike: dict[str, str]) -> str:
    if stage.stage in unlike:
        return f"{unlike[stage.stage]}: {NOT_COMPARABLE}"
    return f"{stage_name(stage.stage)} ({_rated(stage)}): {_plot_marks_told(stage)}"


def _uneven(stages: Sequence[StageMarks]) -> str:
    """A warning where the rates of the stages are about different texts."""
    alike = len({stage.marked for stage in stages if stage.marked}) < 2
    return "" if alike else "not all stages have the same texts rated"


def _plot_marks_told(stage: StageMarks) -> str:
    if not stage.marked:
        return "nobody rated these texts"
    return ", ".join(f"{severity} {number(n)}" for severity, n in stage.by_severity().items() if n) or "no errors"


def _rated(stage: StageMarks) -> str:
    return f"{number(stage.marked)} of {number(stage.segments)} rated"


def _course(stages: Sequence[StageMarks], category: str) -> str:
    return " → ".join(f"{per_hundred(stage, category):.1f}" for stage in stages)


def _category(category: str, stages: Sequence[StageMarks], scale: Scale, y: float) -> str:
    course = _course(stages, category)
    body = text(0, y + 14, category, room=WIDTH - width(course) - 8) + text(WIDTH, y + 14, course, anchor="end")
    body += line(scale.start, y + 25, scale.end, y + 25)
    return body + "".join(shape(i, scale.at(per_hundred(stage, category)), y + 25) for i, stage in enumerate(stages))


def _shapes_legend(stages: Sequence[StageMarks]) -> tuple[str, float]:
    """The shapes with their stages, and where the legend ends."""
    body, x, y = "", 8.0, 12.0
    for i, stage in enumerate(stages):
        words = stage_name(stage.stage)
        if x + 16 + width(words) > WIDTH:
            x, y = 8.0, y + LINE
        body += shape(i, x, y) + text(x + 12, y + 5, words)
        x += 32 + width(words)
    return body, y + 14


def shape(number: int, x: float, y: float) -> str:
    """A mark that differs by form: circle, square, triangle, diamond, disc."""
    points = {
        1: [(-5, -5), (5, -5), (5, 5), (-5, 5)],
        2: [(0, -6), (6, 5), (-6, 5)],
        3: [(0, -8), (8, 0), (0, 8), (-8, 0)],
    }.get(number % 5)
    if points:
        return element(
            "path", class_="outline", d="M" + "L".join(f"{x + dx:.4g} {y + dy:.4g}" for dx, dy in points) + "Z"
        )
    return element("circle", class_="outline" if number % 5 == 0 else "mark", cx=x, cy=y, r=6 if number % 5 == 0 else 3)


_STRIP = 26.0
_PLOT_SPREAD_TOP, _PLOT_SPREAD_BOTTOM = 106.0, 214.0
_PLOT_SPREAD_LEFT, _PLOT_SPREAD_RIGHT, _GAP = 8.0, WIDTH - 8, 14.0


def spread_plot(spread: Spread, name: str = "spread") -> str:
    """How many segments became better and worse, and by how much. Better is on the right for every metric."""
    title = f"{spread.row} against {spread.former}: each segment's own {spread.metric}"
    told = f"{_sides(spread)}. {', '.join(_quantiles(spread))}"
    body = element("defs", hatch(f"{name}-worse", "worse", 6, 45))
    body += text(0, LINE - 4, title, "strong") + _strip(spread, name)
    body += _columns(spread, name) if spread.bins else text(0, _PLOT_SPREAD_TOP, "no segment's score differs", "note")
    low = _PLOT_SPREAD_BOTTOM + 36 if spread.bins else _PLOT_SPREAD_TOP + LINE
    for i, words in enumerate(_notes(spread)):
        body += text(0, low + i * LINE, words, "note")
    return drawing(name, title, told, body, low + LINE * len(_notes(spread)) - 8)


def _strip(spread: Spread, name: str) -> str:
    """Worse, equal and better as shares of one bar, with their numbers below."""
    fields = [
        ("worse", "hatched", spread.worse, 0.0, "start"),
        ("same score", "equal", spread.equal + spread.unknown, WIDTH / 2, "middle"),
        ("better", "better", spread.better, WIDTH, "end"),
    ]
    body, x = box(0, _STRIP, WIDTH, 14, "track"), 0.0
    for words, class_, count, at, anchor in fields:
        wide = WIDTH * count / spread.segments if spread.segments else 0.0
        if count:
            body += box(min(x, WIDTH - 1), _STRIP, wide, 14, class_, fill=_fill(class_, name))
        x += wide
        shown = "same or unknown" if class_ == "equal" and spread.unknown else words
        body += text(at, _STRIP + 30, shown, anchor=anchor) + text(
            at, _STRIP + 47, counted(count, spread.segments), anchor=anchor
        )
    return body


def _fill(class_: str, name: str) -> str | None:
    """Worse differs from better by its pattern too."""
    return f"url(#{name}-worse)" if class_ == "hatched" else None


def _columns(spread: Spread, name: str) -> str:
    """The bins from the worst to the best, with a gap at zero."""
    bins = sorted(spread.bins, key=lambda one: one.low, reverse=not spread.higher_is_better)
    most = max(one.segments for one in bins)
    wide = (_PLOT_SPREAD_RIGHT - _PLOT_SPREAD_LEFT - _GAP) / len(bins)
    scale, worse = (
        Scale(0, most, _PLOT_SPREAD_BOTTOM, _PLOT_SPREAD_TOP),
        [one for one in bins if _is_worse(one, spread)],
    )
    zero = _PLOT_SPREAD_LEFT + wide * len(worse) + _GAP / 2
    body = line(_PLOT_SPREAD_LEFT, _PLOT_SPREAD_TOP, _PLOT_SPREAD_RIGHT, _PLOT_SPREAD_TOP) + text(
        _PLOT_SPREAD_LEFT, _PLOT_SPREAD_TOP - 5, segments(most), "note"
    )
    for i, one in enumerate(bins):
        left = _PLOT_SPREAD_LEFT + wide * i + (0 if one in worse else _GAP)
        class_ = "hatched" if one in worse else "better"
        if one.segments:
            body += box(
                left + 1, scale.at(one.segments), wide - 2, _PLOT_SPREAD_BOTTOM - scale.at(one.segments), class_,
                fill=_fill(class_, name), tip=f"{_range(one)}: {number(one.segments)}",
            )  # fmt: skip
    body += line(_PLOT_SPREAD_LEFT, _PLOT_SPREAD_BOTTOM, _PLOT_SPREAD_RIGHT, _PLOT_SPREAD_BOTTOM, "axis") + line(
        zero, _PLOT_SPREAD_TOP, zero, _PLOT_SPREAD_BOTTOM + 5, "axis"
    )
    return body + _axis(bins, len(worse), wide, zero)


def _is_worse(one: Bin, spread: Spread) -> bool:
    return (one.high <= 0) == spread.higher_is_better


def _axis(bins: list[Bin], worse: int, wide: float, zero: float) -> str:
    """Zero, and the outermost edges of each side; an open bin goes beyond the last edge."""
    y, body = _PLOT_SPREAD_BOTTOM + 17, text(zero, _PLOT_SPREAD_BOTTOM + 17, "0", anchor="middle")
    if worse and zero - _PLOT_SPREAD_LEFT > width(_edge(bins[0])) + 12:
        body += text(_PLOT_SPREAD_LEFT, y, _edge(bins[0]))
    if worse < len(bins) and _PLOT_SPREAD_RIGHT - zero > width(_edge(bins[-1])) + 12:
        body += text(_PLOT_SPREAD_RIGHT, y, _edge(bins[-1]), anchor="end")
    return body


def _edge(one: Bin) -> str:
    """The outer edge of a bin, or where it begins if it is open: ``+20``, ``-10 and beyond``."""
    outer, inner = (one.low, one.high) if one.high <= 0 else (one.high, one.low)
    value = inner if one.open else outer
    return f"{'+' if value > 0 else ''}{tick(value)}{' and beyond' if one.open else ''}"


def _range(one: Bin) -> str:
    """``-2 to -1``."""
    return " to ".join(f"{value:+.6g}" if value else "0" for value in (one.low, one.high))


def _sides(spread: Spread) -> str:
    parts = [f"{number(spread.worse)} worse", f"{number(spread.equal)} equal", f"{number(spread.better)} better"]
    return ", ".join([*parts, *([f"{number(spread.unknown)} unknown"] if spread.unknown else [])])


def _notes(spread: Spread) -> list[str]:
    """What the shapes cannot say, in lines."""
    same = f"{number(spread.same_text)} of the {number(spread.equal)} with the same score have the same text"
    unknown = [f"{number(spread.unknown)} have no score in one of the two rows"] if spread.unknown else []
    return [*([same] if spread.equal else []), *unknown, *_quantiles(spread)]


def _quantiles(spread: Spread) -> list[str]:
    if not spread.quantiles:
        return ["no score is known"]
    low, _, middle, _, high = spread.quantiles
    shown = [signed(value, spread.digits) for value in (spread.mean, middle, low, high)]
    ends = [f"nine tenths between {shown[2]} and {shown[3]}"] if low != high else []
    return [f"mean {shown[0]}, median {shown[1]}", *ends]


STYLE = files("mtagent.report").joinpath("plots.css").read_text(encoding="utf-8")
"""The style sheet of all plots; put it into the page once."""


def with_table(plot: str, table: Table) -> str:
    """A plot, and its numbers in a table that opens on demand."""
    return f'<figure class="plot-figure">{plot}{html(table)}</figure>'
