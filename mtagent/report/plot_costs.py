"""The plot of quality over cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mtagent.markup import element
from mtagent.report.costs import Costs, Point, Unit
from mtagent.report.svg import LINE, WIDTH, Scale, drawing, line, text, ticks, width
from mtagent.report.words import score, spent, tick

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
