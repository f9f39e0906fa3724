"""The plot of how many segments became better and worse, and by how much."""

from __future__ import annotations

from mtagent.markup import element
from mtagent.report.spread import Bin, Spread
from mtagent.report.svg import LINE, WIDTH, Scale, box, drawing, hatch, line, text, width
from mtagent.report.words import counted, number, segments, signed, tick

_STRIP = 26.0
_TOP, _BOTTOM = 106.0, 214.0
_LEFT, _RIGHT, _GAP = 8.0, WIDTH - 8, 14.0


def spread_plot(spread: Spread, name: str = "spread") -> str:
    """How many segments became better and worse, and by how much. Better is on the right for every metric."""
    title = f"{spread.row} against {spread.former}: each segment's own {spread.metric}"
    told = f"{_sides(spread)}. {', '.join(_quantiles(spread))}"
    body = element("defs", hatch(f"{name}-worse", "worse", 6, 45))
    body += text(0, LINE - 4, title, "strong") + _strip(spread, name)
    body += _columns(spread, name) if spread.bins else text(0, _TOP, "no segment's score differs", "note")
    low = _BOTTOM + 36 if spread.bins else _TOP + LINE
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
    wide = (_RIGHT - _LEFT - _GAP) / len(bins)
    scale, worse = Scale(0, most, _BOTTOM, _TOP), [one for one in bins if _is_worse(one, spread)]
    zero = _LEFT + wide * len(worse) + _GAP / 2
    body = line(_LEFT, _TOP, _RIGHT, _TOP) + text(_LEFT, _TOP - 5, segments(most), "note")
    for i, one in enumerate(bins):
        left = _LEFT + wide * i + (0 if one in worse else _GAP)
        class_ = "hatched" if one in worse else "better"
        if one.segments:
            body += box(
                left + 1, scale.at(one.segments), wide - 2, _BOTTOM - scale.at(one.segments), class_,
                fill=_fill(class_, name), tip=f"{_range(one)}: {number(one.segments)}",
            )  # fmt: skip
    body += line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis") + line(zero, _TOP, zero, _BOTTOM + 5, "axis")
    return body + _axis(bins, len(worse), wide, zero)


def _is_worse(one: Bin, spread: Spread) -> bool:
    return (one.high <= 0) == spread.higher_is_better


def _axis(bins: list[Bin], worse: int, wide: float, zero: float) -> str:
    """Zero, and the outermost edges of each side; an open bin goes beyond the last edge."""
    y, body = _BOTTOM + 17, text(zero, _BOTTOM + 17, "0", anchor="middle")
    if worse and zero - _LEFT > width(_edge(bins[0])) + 12:
        body += text(_LEFT, y, _edge(bins[0]))
    if worse < len(bins) and _RIGHT - zero > width(_edge(bins[-1])) + 12:
        body += text(_RIGHT, y, _edge(bins[-1]), anchor="end")
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
