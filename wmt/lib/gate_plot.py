"""The plot of the gate experiment: for each rule, where the gate lies between never, always and the oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mtagent.text.escaping import element, plain

WIDTH, LINE, LETTER = 400.0, 18.0, 6.5
"""Of the drawing; from one line of text to the next; of a letter, about."""

_LEFT, _RIGHT, _TOP, _ROW = 8.0, WIDTH - 8, 46.0, 38.0
_STYLE = """
.plot{font:13px/1.2 system-ui,sans-serif}.plot text{fill:#1f2328}.plot .note{fill:#57606a}.plot .grid{stroke:#d0d7de}
.plot .span{stroke:#7f8791;stroke-width:2}.plot .mark{fill:#0969da}.plot .sure{stroke:#0969da;stroke-width:4;opacity:.4}
.plot .never{stroke:#1f2328;fill:none;stroke-width:2}.plot .always{fill:#cf222e}.plot .oracle{fill:#1a7f37}
.plot .page{fill:#fff}
"""


class Bar(NamedTuple):
    """A row: mean leads over the better of never and always. The gate's lies surely (95 %) from ``low`` to ``high``:
    where 0 is between them, the gate is not told apart from the better one.
    """

    label: str
    never: float
    always: float
    gate: float
    low: float
    high: float
    oracle: float


def plot(name: str, title: str, unit: str, bars: Sequence[Bar]) -> str:
    """An SVG that stands alone. A ring is never, a square always, a disc the gate, a bar the oracle."""
    ends = [value for bar in bars for value in bar[1:]]
    across = Scale(min(ends), max(ends), _LEFT + 8, _RIGHT - 8)
    bottom = _TOP + _ROW * len(bars)
    body = element("style", _STYLE) + element("rect", class_="page", width=WIDTH, height=bottom + 40)
    body += _legend() + _grid(across, bottom, unit)
    for number, bar in enumerate(bars):
        body += _row(bar, across, _TOP + _ROW * number)
    told = "; ".join(
        f"{bar.label}: never {bar.never:.4g}, always {bar.always:.4g}, gate {bar.gate:.4g}, oracle {bar.oracle:.4g}"
        for bar in bars
    )
    named = element("title", plain(title), id=f"{name}-title") + element("desc", plain(told), id=f"{name}-desc")
    svg = element(
        "svg",
        named + body,
        xmlns="http://www.w3.org/2000/svg",
        id=name,
        class_="plot",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {WIDTH:g} {math.ceil(bottom + 40)}",
    )
    return svg + "\n"


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

    def ticks(self, about: int) -> list[float]:
        """Round values from ``low`` to ``high``: steps of 1, 2, 2.5 or 5 times a power of ten."""
        if self.high <= self.low:
            return [self.low]
        least = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(least))
        step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))
        first, last = math.ceil(round(self.low / step, 6)), math.floor(round(self.high / step, 6))
        values = (float(f"{n * step:.12g}") for n in range(first, last + 1))
        return [value for value in values if self.low <= value <= self.high]


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> str:
    """A straight line."""
    return element("line", class_=class_, x1=x1, y1=y1, x2=x2, y2=y2)


def text(x: float, y: float, words: str, class_: str = "label", *, anchor: str | None = None) -> str:
    """``words`` on the base line ``y``."""
    return element("text", plain(words), class_=class_, x=x, y=y, text_anchor=anchor)


def _grid(across: Scale, bottom: float, unit: str) -> str:
    body = ""
    for value in across.ticks(5):
        body += line(across.at(value), _TOP - 14, across.at(value), bottom)
        body += text(across.at(value), bottom + 16, f"{value:g}", "note", anchor="middle")
    return body + text(_RIGHT, bottom + 33, f"lead over the better of never and always, {unit}", "note", anchor="end")


def _row(bar: Bar, across: Scale, top: float) -> str:
    y = top + LINE + 6
    low, high = min(bar.never, bar.always, bar.gate), max(bar.oracle, bar.gate)
    body = text(_LEFT, top + 12, bar.label) + line(across.at(low), y, across.at(high), y, "span")
    body += line(across.at(bar.low), y, across.at(bar.high), y, "sure")
    body += _oracle(across.at(bar.oracle), y) + _always(across.at(bar.always), y) + _never(across.at(bar.never), y)
    return body + _gate(across.at(bar.gate), y)


def _never(x: float, y: float) -> str:
    return element("circle", class_="never", cx=x, cy=y, r=5)


def _always(x: float, y: float) -> str:
    return element("rect", class_="always", x=x - 4.5, y=y - 4.5, width=9, height=9)


def _gate(x: float, y: float) -> str:
    return element("circle", class_="mark", cx=x, cy=y, r=5)


def _oracle(x: float, y: float) -> str:
    return element("rect", class_="oracle", x=x - 2, y=y - 8, width=4, height=16)


def _legend() -> str:
    body, x = "", _LEFT + 6
    for shape, words in ((_never, "never"), (_always, "always"), (_gate, "gate"), (_oracle, "oracle")):
        body += shape(x, 12) + text(x + 10, 16, words)
        x += LETTER * len(words) + 40
    return body
