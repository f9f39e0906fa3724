"""Drawing in SVG: the few shapes that the plots are made of.

A drawing is 400 units wide and shown at most 480 pixels wide, so that its text of 13 units is legible on a phone.
"""

from __future__ import annotations

import math
import unicodedata
from typing import NamedTuple

from mtagent.markup import element, plain
from mtagent.report.spread import nice

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
