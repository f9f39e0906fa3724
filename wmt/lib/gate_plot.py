"""The plot of the gate experiment: for each rule, where the gate lies between never, always and the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mtagent.report.drawing import Plot, as_svg, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.3
"""Inches: a line of text, and the marks below it."""
_SIZE = 6.5
"""Points of the labels, which are long."""
_NEVER: dict[str, Any] = {"color": "#000000", "marker": "o", "markerfacecolor": "none", "markersize": 6, "zorder": 4}
_ALWAYS: dict[str, Any] = {"color": "#d55e00", "marker": "s", "markersize": 4, "zorder": 3}
_GATE: dict[str, Any] = {"color": "#0072b2", "marker": "o", "markersize": 4, "zorder": 5}
_ORACLE: dict[str, Any] = {"color": "#009e73", "marker": "|", "markersize": 9, "markeredgewidth": 2.5, "zorder": 3}


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
    """An SVG that stands alone. A ring is never, a square always, a disc the gate with its interval, a bar the oracle.

    Raises :class:`mtagent.errors.MissingExtra` without matplotlib.
    """
    words = []
    for bar in bars:
        ends = f"never {bar.never:.4g}, always {bar.always:.4g}, gate {bar.gate:.4g}, oracle {bar.oracle:.4g}"
        words.append(f"{bar.label}: {ends}")

    def draw(figure: Figure, axes: Axes) -> None:
        for row, bar in enumerate(bars):
            label_place = axes.get_yaxis_transform()
            text = axes.text(
                0, row - 0.45, bar.label, transform=label_place, verticalalignment="center", fontsize=_SIZE
            )
            text.set_in_layout(False)  # a long label does not make the axes narrower
            low, high = min(bar.never, bar.always, bar.gate), max(bar.oracle, bar.gate)
            axes.hlines([row], low, high, color="#767676", linewidth=1)
            axes.hlines([row], bar.low, bar.high, color="#0072b2", linewidth=3.5, alpha=0.4)
            marks = {
                "never": (bar.never, _NEVER),
                "always": (bar.always, _ALWAYS),
                "gate": (bar.gate, _GATE),
                "oracle": (bar.oracle, _ORACLE),
            }
            for label, (value, style) in marks.items():
                axes.plot([value], [row], linestyle="none", label=label if row == 0 else "_", **style)
        axes.set_ylim(len(bars) - 0.5, -0.8)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"lead over the better of never and always, {unit}", fontsize=_SIZE)
        legend(figure, axes)

    return as_svg(Plot(name, title, "; ".join(words), 0.5 + _ROW * len(bars), draw))
