"""How figures look and are drawn: one style, as SVG and PDF for a paper and as SVG in the page of a report.

Each fits a column of 3.3 inches. The same numbers give the same bytes. Drawn by matplotlib (extra ``figures``).
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mtagent.errors import MissingExtra
from mtagent.text.escaping import plain, visible
from mtagent.text.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.3
"""Inches: a column of a paper with two columns."""
INK, SOFT, GRID = "#000000", "#767676", "#d9d9d9"
# By Okabe and Ito (2008) for colour-blind readers; the two lightest are darker here, so that lines show on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", INK, "#a6761d", "#2a9dc4", SOFT)
_PAGE_COLOURS = {
    INK: "currentColor",
    SOFT: "var(--soft)",
    GRID: "var(--line)",
    "#0072b2": "light-dark(#0072b2, #56b4e9)",
    "#d55e00": "light-dark(#d55e00, #f08a3c)",
    "#009e73": "light-dark(#007f5c, #2fbf95)",
    "#cc79a7": "light-dark(#b85c8f, #dd94bc)",
    "#a6761d": "light-dark(#8a6116, #d9a441)",
    "#2a9dc4": "light-dark(#1f83a5, #8ad4ee)",
    "#ffffff": "light-dark(#fff, #17181a)",
    "#00795a": "light-dark(#00795a, #2fbf95)",
    "#b34700": "light-dark(#b34700, #f08a3c)",
    "#8f4a78": "light-dark(#8f4a78, #dd94bc)",
    "#8a6116": "light-dark(#8a6116, #d9a441)",
    "#8c1d40": "light-dark(#8c1d40, #ff8fa3)",
    "#005a8c": "light-dark(#005a8c, #56b4e9)",
}
"""The page has two sets of colours."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "errorbar.capsize": 1.8,
    # Matplotlib brings this font, so that a figure does not depend on the machine.
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "figure.labelsize": 8,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.0,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "lines.linewidth": 1.0,
    "lines.markersize": 4.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7,
}
# What an SVG in a page must not have: a background, other addresses, styles for the whole page, ids that occur twice.
_ONLY_IN_FILES = (
    re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL),
    re.compile(r"<style.*?</style>\s*", re.DOTALL),
    re.compile(r'<g id="patch_1">.*?</g>\s*', re.DOTALL),
    re.compile(r"<clipPath.*?</clipPath>\s*", re.DOTALL),
    re.compile(r' clip-path="[^"]*"'),
    re.compile(r' xmlns(:xlink)?="[^"]*"| version="[^"]*"'),
    re.compile(r' (?:width|height)="[\d.]+pt"'),
    re.compile(r"font-family: [^;]*; "),
    re.compile(r' id="[A-Za-z][\w.]*_\d+"'),
)
_LONGEST_NAME = 34
_LETTER = 0.062
"""The width in inches of a letter of a legend, about."""
_LEGEND_LINE = 0.14
ONE_LINE = 0.16
"""Inches from one row of a figure to the next."""


@dataclass(frozen=True)
class Plot:
    """One figure: what it shows, and how it is drawn."""

    name: str
    """Of its files, without the suffix."""
    caption: str
    summary: str
    """The numbers in words, for those who cannot see the figure."""
    height: float
    """Inches, without the legend."""
    draw: Callable[[Figure, Axes], None]
    table: Table | None = None
    """The same numbers, and where they come from."""


def is_available() -> bool:
    """Whether figures can be drawn here."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # the module was hidden
        return False


def refuse_if_unavailable() -> None:
    """Raise :class:`MissingExtra` without matplotlib."""
    if not is_available():
        raise MissingExtra("drawing figures", "figures")


def short(name: str, most: int = _LONGEST_NAME) -> str:
    """``name`` in one line, with its middle left out if it is too long: the ends of names of runs tell them apart."""
    name = visible(name, one_line=True)
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def shift(number: int, count: int) -> float:
    """Where in its row the run ``number`` of ``count`` is drawn."""
    return 0.7 * ((number + 0.5) / count - 0.5)


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Labels of rows from top to bottom."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def stacks(
    figure: Figure, axes: Axes, rows: Sequence[tuple[str, Mapping[str, int]]], colours: Mapping[str, str | None]
) -> None:
    """Horizontal bars of counts that add up, with their numbers where there is room, and a legend.

    ``rows`` are labels with counts by name; ``colours`` has the order of the names, and ``None`` for a hollow part.
    """
    longest = max(sum(counts.values()) for _, counts in rows)
    for name, colour in colours.items():
        label = name
        for place, (_, counts) in enumerate(rows):
            count = counts.get(name, 0)
            if not count:
                continue
            start = 0
            for former in colours:
                if former == name:
                    break
                start += counts.get(former, 0)
            edge = SOFT if colour is None else "#ffffff"
            axes.barh(
                place,
                count,
                left=start,
                height=0.68,
                color=colour or "none",
                edgecolor=edge,
                linewidth=0.6,
                label=label,
            )
            label = "_"
            words = f"{count:,}"
            if count / longest > 0.022 * (1 + len(words)):
                ink = INK if colour is None else "#ffffff"
                axes.text(start + count / 2, place, words, color=ink, fontsize=7, ha="center", va="center_baseline")
    label_rows(axes, [short(label, 26) for label, _ in rows])
    axes.set_xlim(0, longest)
    axes.margins(x=0)
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.xaxis.set_major_formatter(amount)
    legend(figure, axes, handle=0.28)


def amount(value: float, _: float) -> str:
    """An amount of segments, dollars or tokens on an axis."""
    return f"{value:,.10g}"


def legend(figure: Figure, axes: Axes, handle: float = 0.45) -> None:
    """The legend above the axes, in as many columns as fit; the figure grows by it.

    ``handle`` is the width in inches of what stands before a label, with the spaces around it.
    """
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    columns = max(1, int(WIDTH / (handle + _LETTER * max(map(len, labels)))))
    columns = min(columns, len(labels))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * -(-len(labels) // columns))


@contextmanager
def figure_of(plot: Plot, *, salt: str) -> Iterator[Figure]:
    """The figure of ``plot``, drawn in the style of this module whatever the user's matplotlib is set to."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        matplotlib.rcParams["svg.hashsalt"] = salt
        figure = Figure(figsize=(WIDTH, plot.height), layout="constrained")
        axes = figure.add_subplot()
        plot.draw(figure, axes)
        for artist in axes.get_children():
            artist.set_clip_on(False)
        yield figure


def as_svg(plot: Plot) -> str:
    """The figure as SVG, with its numbers in words."""
    output = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with figure_of(plot, salt=plot.name) as figure, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the SVG has texts, not glyphs
        figure.savefig(output, format="svg", metadata=metadata)
    label = plain(f"{plot.caption}. {plot.summary}")
    return output.getvalue().replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def inline_svg(plot: Plot) -> str:
    """The figure as an element of a page: in the page's colours and font, as wide as its place, with ids of its own."""
    svg = as_svg(plot)
    svg = svg[svg.index("<svg") :]
    for markup in _ONLY_IN_FILES:
        svg = markup.sub("", svg)
    svg = re.sub(r"font: (\S+) [^;\"]*", r"font-size: \1", svg)
    prefix = hashlib.sha256(plot.name.encode()).hexdigest()[:8]
    svg = re.sub(r'(id="|href="#)', rf"\g<1>f{prefix}-", svg)
    for colour, in_page in _PAGE_COLOURS.items():
        svg = svg.replace(colour, in_page)
    return svg
