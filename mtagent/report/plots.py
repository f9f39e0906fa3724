"""Plots of a comparison and of runs, as SVG and PDF for a paper and as SVG in the page of a report.

Each fits a column of 3.3 inches. The same numbers give the same bytes. Drawn by matplotlib (extra ``figures``).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compare_tables import digits_of
from mtagent.analysis.compared_rows import Cell, ComparedTexts, Part
from mtagent.analysis.staged_run import StagedRun, aligned
from mtagent.errors import MissingExtra
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED
from mtagent.jobs.export import Target
from mtagent.metrics.significance import Interval
from mtagent.records import Usage
from mtagent.report.figures import Figures, Marks, StageMarks, figures
from mtagent.report.tables import STAGES, few_rated, stage_name
from mtagent.text import languages
from mtagent.text.amounts import counted, dollars
from mtagent.text.escaping import plain, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.3
"""Inches: a column of a paper with two columns."""
_INK, _SOFT, _GRID = "#000000", "#767676", "#d9d9d9"
# By Okabe and Ito (2008) for colour-blind readers; the two lightest are darker here, so that lines show on white.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", _INK, "#a6761d", "#2a9dc4", _SOFT)
_PAGE_COLOURS = {
    _INK: "currentColor",
    _SOFT: "var(--soft)",
    _GRID: "var(--line)",
    "#0072b2": "light-dark(#0072b2, #56b4e9)",
    "#d55e00": "light-dark(#d55e00, #f08a3c)",
    "#009e73": "light-dark(#007f5c, #2fbf95)",
    "#cc79a7": "light-dark(#b85c8f, #dd94bc)",
    "#a6761d": "light-dark(#8a6116, #d9a441)",
    "#2a9dc4": "light-dark(#1f83a5, #8ad4ee)",
}
"""The page has two sets of colours."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _SOFT,
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
    "grid.color": _GRID,
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
    "xtick.color": _SOFT,
    "xtick.labelcolor": _INK,
    "xtick.labelsize": 7,
    "ytick.color": _SOFT,
    "ytick.labelcolor": _INK,
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
_MOST_CATEGORIES = 8
_MOST_PARTS = 12
_LONGEST_NAME = 34
_LETTER = 0.062
"""The width in inches of a letter of a legend, about."""
_LEGEND_LINE = 0.14
_ONE_LINE = 0.16
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


class Plots(NamedTuple):
    """The figures for which there are numbers, and why each of the others is missing."""

    drawn: tuple[Plot, ...]
    missing: tuple[str, ...]


class _Point(NamedTuple):
    """A score of a run after a stage."""

    stage: str
    cell: Cell
    nominal: Usage
    """What the run took from its start to here."""


class _Gain(NamedTuple):
    """The gain of a part; ``low`` and ``high`` are the ends of its 95 % interval, if it was tested."""

    value: float
    low: float | None = None
    high: float | None = None


class _Share(NamedTuple):
    """How many of ``total`` edits or steps two agree on."""

    same: int
    total: int

    @property
    def value(self) -> float:
        return self.same / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval by Wilson (1927)."""
        z = 1.959963984540054
        square = z * z / self.total
        middle = self.value + square / 2
        half_width = z * (self.value * (1 - self.value) / self.total + square / (4 * self.total)) ** 0.5
        return (middle - half_width) / (1 + square), (middle + half_width) / (1 + square)


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


def plots_of(comparison: RunComparison | None, numbers: Mapping[str, Figures]) -> Plots:
    """The figures of ``comparison`` and of the ``numbers`` of its runs, by the names that it has for them."""
    drawn: list[Plot] = []
    missing: list[str] = []
    if comparison is None or comparison.place is None:
        for name in ("quality-cost", "score-by-stage", "gain-by-part"):
            missing.append(f"{name}: nothing is scored")
    else:
        ways = {run: _way(comparison, run) for run in numbers}
        if all(cell.interval is None for row in comparison.rows for cell in row.cells):
            missing.append("intervals: none were computed (-ci or --paired-bs computes them)")
        _add_quality_cost(comparison, ways, drawn, missing)
        _add_score_by_stage(comparison, ways, drawn, missing)
        _add_gains(comparison, ways, drawn, missing)
    _add_errors(numbers, drawn, missing)
    _add_agreement(comparison, numbers, drawn, missing)
    return Plots(tuple(drawn), tuple(missing))


def _way(comparison: RunComparison, run: str) -> list[_Point]:
    """The scores of ``run`` from its first texts to its last, as machines left them.

    The last stage and ``final`` are one point if their texts are the same: with the stage's name, and with the cost of
    the whole run.
    """
    assert comparison.place is not None
    rows = [row for row in comparison.rows_of(run) if row.stage != REVIEWED]
    points: list[_Point] = []
    nominal = Usage()
    for row in rows:
        stage = row.stage or row.name
        if row.cost is not None:
            nominal = row.cost.nominal if stage == FINAL else nominal + row.cost.nominal
        point = _Point(stage, row.cells[comparison.place], nominal)
        if stage == FINAL and points and points[-1].stage != GIVEN and row.texts == rows[len(points) - 1].texts:
            point = point._replace(stage=points.pop().stage)
        points.append(point)
    return points


def _baselines(comparison: RunComparison) -> list[ComparedTexts]:
    """The rows of other systems, which have no cost."""
    return [row for row in comparison.rows if row.stage is None]


# --- quality and cost, stage by stage


def _add_quality_cost(
    comparison: RunComparison, ways: Mapping[str, list[_Point]], drawn: list[Plot], missing: list[str]
) -> None:
    points = [point for way in ways.values() for point in way]
    if not any(point.nominal.tokens or point.nominal.cost for point in points):
        missing.append("quality-cost: no model was called, so that no stage has a cost")
        return
    priced = all(point.nominal.cost is not None for point in points) and any(point.nominal.cost for point in points)
    metric = comparison.deciding or ""
    digits = digits_of(comparison)[comparison.place or 0]
    stages = [stage for stage in STAGES if any(point.stage == stage for point in points)]
    shares_given = comparison.rows[0].run is None
    words = []
    for run, way in ways.items():
        for point in way:
            amount = dollars(point.nominal.cost) if priced else f"{point.nominal.tokens:,} tokens"
            words.append(f"{run} {point.stage}: {_value(point.cell, digits)} at {amount}")
    for row in _baselines(comparison):
        words.append(f"{row.name}: {_value(row.cells[comparison.place or 0], digits)}")

    def draw(figure: Figure, axes: Axes) -> None:
        from matplotlib.lines import Line2D

        for number, (run, way) in enumerate(ways.items()):
            colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
            amounts = [(point.nominal.cost or 0.0) if priced else float(point.nominal.tokens) for point in way]
            values = [point.cell.score.value for point in way]
            axes.plot(amounts, values, color=colour, linestyle=dash, label=_short(run))
            for amount, point in zip(amounts, way, strict=True):
                marker = _MARKERS[stages.index(point.stage)]
                is_shared = shares_given and point.stage == GIVEN
                _mark(axes, amount, point.cell, color=_INK if is_shared else colour, marker=marker)
        _draw_baselines(axes, comparison)
        if len(ways) == 1 and not _baselines(comparison):
            axes.lines[0].set_label("_")  # a single run needs no name
        legend(figure, axes)
        # The stages have a legend of their own: their names are short, and names of runs are long.
        shapes = []
        for number, stage in enumerate(stages):
            shape = Line2D([], [], color=_SOFT, marker=_MARKERS[number], linestyle="none", label=stage_name(stage))
            shapes.append(shape)
        axes.legend(
            handles=shapes, loc="lower center", bbox_to_anchor=(0.45, 1), ncols=4, handletextpad=0, columnspacing=0.5
        )  # fmt: skip
        axes.set_xlabel("nominal cost (US dollars)" if priced else "tokens (input and output)")
        axes.set_ylabel(_axis(comparison.rows[0].cells[comparison.place or 0]))
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(_amount)
        axes.margins(x=0.06)

    unit = "nominal cost" if priced else "tokens"
    drawn.append(Plot("quality-cost", f"{metric} against {unit}, stage by stage", "; ".join(words), 2.3, draw))


def _add_score_by_stage(
    comparison: RunComparison, ways: Mapping[str, list[_Point]], drawn: list[Plot], missing: list[str]
) -> None:
    if all(len(way) < 2 for way in ways.values()):
        missing.append("score-by-stage: no run has texts of more than one stage")
        return
    metric = comparison.deciding or ""
    place = comparison.place or 0
    digits = digits_of(comparison)[place]
    reviewed = {row.run: row.cells[place] for row in comparison.rows if row.stage == REVIEWED}
    scores = {}
    for run, way in ways.items():
        scores[run] = [(point.stage, point.cell) for point in way]
        if run in reviewed:
            scores[run].append((REVIEWED, reviewed[run]))
    stages = [stage for stage in STAGES if any(stage == name for row in scores.values() for name, _ in row)]
    words = []
    for run, row in scores.items():
        listed = ", ".join(f"{stage} {_value(cell, digits)}" for stage, cell in row)
        words.append(f"{run}: {listed}")
    for baseline in _baselines(comparison):
        words.append(f"{baseline.name}: {_value(baseline.cells[place], digits)}")
    shares_given = comparison.rows[0].run is None

    def draw(figure: Figure, axes: Axes) -> None:
        for number, (run, row) in enumerate(scores.items()):
            # Runs are side by side, or their intervals would hide each other.
            shift = min(0.09, 0.5 / len(scores)) * (number - (len(scores) - 1) / 2)
            places = []
            for stage, _ in row:
                is_shared = shares_given and stage == GIVEN
                places.append(stages.index(stage) + (0 if is_shared else shift))
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
            values = [cell.score.value for _, cell in row]
            dash = _DASHES[number % len(_DASHES)]
            label = _short(run) if len(scores) > 1 or _baselines(comparison) else "_"
            axes.plot(places, values, color=colour, linestyle=dash, marker=marker, label=label)
            for x, (stage, cell) in zip(places, row, strict=True):
                if shares_given and stage == GIVEN:
                    _mark(axes, x, cell, color=_INK, marker="o")
                else:
                    _mark(axes, x, cell, color=colour, marker=marker)
        _draw_baselines(axes, comparison)
        axes.set_xticks(range(len(stages)), [stage_name(stage) for stage in stages])
        axes.set_xlim(-0.4, len(stages) - 0.6)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel(_axis(comparison.rows[0].cells[place]))
        legend(figure, axes)

    drawn.append(Plot("score-by-stage", f"{metric} after each stage", "; ".join(words), 1.9, draw))


def _mark(axes: Axes, x: float, cell: Cell, color: str, marker: str) -> None:
    """A point with its interval, above all lines."""
    axes.plot([x], [cell.score.value], color=color, marker=marker, linestyle="none", zorder=3)
    if cell.interval is not None:
        mean, half_width = cell.interval
        axes.errorbar([x], [mean], [half_width], color=color, linestyle="none", elinewidth=0.7, alpha=0.75)


def _draw_baselines(axes: Axes, comparison: RunComparison) -> None:
    """Other systems: a line across the figure, since they have neither cost nor stages."""
    for number, row in enumerate(_baselines(comparison)):
        value = row.cells[comparison.place or 0].score.value
        axes.axhline(value, color=_SOFT, linestyle=_DASHES[1 + number % 7], linewidth=0.8, label=_short(row.name))


def _value(cell: Cell, digits: int) -> str:
    """``52.96 (95 % interval 49.06 to 56.84)``."""
    words = f"{cell.score.value:.{digits}f}"
    if cell.interval is not None:
        low, high = _ends(cell.interval)
        words += f" (95 % interval {low:.{digits}f} to {high:.{digits}f})"
    return words


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.mean - interval.half_width, interval.mean + interval.half_width


def _axis(cell: Cell) -> str:
    return cell.score.metric if cell.score.higher_is_better else f"{cell.score.metric} (lower is better)"


# --- gains by domain, document or length


def _add_gains(
    comparison: RunComparison, ways: Mapping[str, list[_Point]], drawn: list[Plot], missing: list[str]
) -> None:
    if not comparison.parts:
        missing.append(
            "gain-by-part: no parts are compared (`mtagent compare RUN --by domain,document,length --figures DIR` "
            "draws it)"
        )
        return
    ends: dict[str, tuple[int, int]] = {}
    names = [row.name for row in comparison.rows]
    for run, way in ways.items():
        if len(way) < 2:
            continue
        last = max(number for number, row in enumerate(comparison.rows) if row.run == run and row.stage == FINAL)
        start = comparison.rows[last].former
        compared = [contrast.against for contrast in comparison.contrasts if contrast.row == names[last]]
        if compared and start not in compared:  # the user chose another row to compare with
            start = compared[0]
        if start is not None and compared:
            ends[run] = names.index(start), last
    for grouping in comparison.parts:
        if ends:
            drawn.append(_gain_plot(comparison, grouping, ends, list(ways)))
        else:
            missing.append(f"gain-by-{grouping}: no last texts of a run are compared with other texts")


def _gain(comparison: RunComparison, part: Part, ends: tuple[int, int], place: int) -> _Gain:
    """What ``part`` gained from the row ``ends[0]`` to the row ``ends[1]``."""
    first, last = (comparison.rows[number] for number in ends)
    sign = 1 if last.cells[place].score.higher_is_better else -1
    value = sign * (part.scores[ends[1]][place] - part.scores[ends[0]][place]) + 0.0  # never -0.0
    for contrast in part.contrasts:
        is_this = (contrast.row, contrast.against, contrast.metric) == (last.name, first.name, comparison.deciding)
        if is_this and contrast.bounds is not None:
            low, high = sorted((sign * contrast.bounds.low + 0.0, sign * contrast.bounds.high + 0.0))
            return _Gain(value, low, high)
    return _Gain(value)


def _gain_plot(
    comparison: RunComparison, grouping: str, ends: Mapping[str, tuple[int, int]], all_runs: Sequence[str]
) -> Plot:
    place = comparison.place or 0
    score = comparison.rows[0].cells[place].score
    digits = digits_of(comparison)[place]
    parts = list((comparison.parts or {})[grouping])
    left_out = max(0, len(parts) - _MOST_PARTS)
    if left_out:
        parts = sorted(parts, key=lambda part: -len(part.places))[:_MOST_PARTS]
    chosen_starts: list[str] = []
    for start, last in ends.values():
        name = comparison.rows[start].name
        if name != comparison.rows[last].former and name not in chosen_starts:
            chosen_starts.append(name)
    texts = "from the first texts to the last"
    if chosen_starts:
        texts = f"from {' and '.join(chosen_starts)} to the final texts"
    gain_name = f"gain in {score.metric}" if score.higher_is_better else f"reduction of {score.metric}"
    gains = {}
    words = []
    for run, ends_of_run in ends.items():
        gains[run] = [_gain(comparison, part, ends_of_run, place) for part in parts]
        listed = []
        for part, gain in zip(parts, gains[run], strict=True):
            text = f"{part.name} ({len(part.places)}) {gain.value:+.{digits}f}"
            if gain.low is not None and gain.high is not None:
                text += f" (95 % interval {gain.low:+.{digits}f} to {gain.high:+.{digits}f})"
            listed.append(text)
        words.append(f"{run}: {', '.join(listed)}")

    def draw(figure: Figure, axes: Axes) -> None:
        axes.axvline(0, color=_INK, linewidth=0.7)
        for number, (run, gains_of_run) in enumerate(gains.items()):
            in_all = all_runs.index(run)  # a run has the same colour in all figures
            colour, marker = _COLOURS[in_all % len(_COLOURS)], _MARKERS[in_all % len(_MARKERS)]
            label = _short(run) if len(gains) > 1 else "_"
            for row, gain in enumerate(gains_of_run):
                height = row + _shift(number, len(gains))
                if gain.low is not None and gain.high is not None:
                    axes.hlines([height], gain.low, gain.high, color=colour, linewidth=0.8)
                axes.plot([gain.value], [height], color=colour, marker=marker, linestyle="none", label=label)
                label = "_"
        _label_rows(axes, [f"{_short(' '.join(part.name.split()), 22)} ({len(part.places)})" for part in parts])
        figure.supxlabel(f"{_short(gain_name, 28)}, by {grouping} (segments)")
        legend(figure, axes)

    caption = f"{gain_name[0].upper()}{gain_name[1:]} by {grouping}, {texts}"
    if left_out:
        caption += f" ({left_out} smaller parts are left out)"
    height = 0.55 + len(parts) * max(_ONE_LINE, 0.085 * len(gains))
    return Plot(f"gain-by-{grouping}", caption, "; ".join(words), height, draw)


# --- errors before and after


def _add_errors(numbers: Mapping[str, Figures], drawn: list[Plot], missing: list[str]) -> None:
    names = set[str]()
    for run, numbers_of_run in numbers.items():
        marks_of_run = [marks for marks in numbers_of_run.marks if marks.spans]
        if not marks_of_run:
            missing.append(
                f"errors of {run}: its ratings mark no errors"
                if numbers_of_run.marks
                else f"errors of {run}: no ratings"
            )
        for marks in marks_of_run:
            stages = [stage for stage in marks.comparable if stage.marked]
            if len(stages) < 2:
                reasons = list(few_rated(marks).values()) or ["the texts of one stage only were rated"]
                missing.append(f"errors of {run} by {marks.evaluator}: {reasons[-1]}")
                continue
            if not any(stage.errors for stage in (stages[0], stages[-1])):
                missing.append(f"errors of {run} by {marks.evaluator}: it marked none")
                continue
            parts = ["errors"]
            if len(numbers) > 1:
                parts.append(run)
            if len(marks_of_run) > 1:
                parts.append(marks.evaluator)
            name = _file_name("-".join(parts), names)
            drawn.append(_error_plot(name, run if len(numbers) > 1 else "", marks, stages[0], stages[-1]))


def _file_name(name: str, taken: set[str]) -> str:
    """``name`` for a file, unlike those in ``taken``, and put there."""
    stem = re.sub(r"[^\w.-]+", "-", name)[:80]
    unique = stem
    number = 1
    while unique.casefold() in taken:
        number += 1
        unique = f"{stem}-{number}"
    taken.add(unique.casefold())
    return unique


def _error_plot(name: str, run: str, marks: Marks, before: StageMarks, after: StageMarks) -> Plot:
    severities: list[tuple[str, float, float]] = []
    for severity, count in before.by_severity.items():
        new_count = after.by_severity[severity]
        if count or new_count:
            severities.append((severity, 100 * count / before.marked, 100 * new_count / after.marked))
    categories = []
    for category in {**before.errors, **after.errors}:
        categories.append((category, before.per_hundred(category), after.per_hundred(category)))
    categories.sort(key=lambda row: (-max(row[1:]), row[0]))
    others = categories[_MOST_CATEGORIES:]
    categories = categories[:_MOST_CATEGORIES]
    if others:
        label = counted(len(others), "other category", "other categories")
        categories.append((label, sum(row[1] for row in others), sum(row[2] for row in others)))
    rows = [*severities, *categories]
    words = [f"{label} {old:.1f} before, {new:.1f} after" for label, old, new in rows]
    stages = f"{stage_name(before.stage)} ({before.marked:,} texts), {stage_name(after.stage)} ({after.marked:,} texts)"

    def draw(figure: Figure, axes: Axes) -> None:
        heights = range(len(rows))
        old_rates, new_rates = [row[1] for row in rows], [row[2] for row in rows]
        axes.hlines(heights, old_rates, new_rates, color=_COLOURS[0], linewidth=1.2)
        axes.plot(
            old_rates, heights, color=_COLOURS[1], marker="o", markerfacecolor="none", linestyle="none", markersize=5,
            label=stage_name(before.stage),
        )  # fmt: skip
        axes.plot(
            new_rates, heights, color=_COLOURS[0], marker="s", linestyle="none", markersize=3.5,
            label=stage_name(after.stage),
        )  # fmt: skip
        _label_rows(axes, [_short(label, 26) for label, _, _ in rows])
        axes.axhline(len(severities) - 0.5, color=_SOFT, linewidth=0.6)
        axes.set_xlim(left=-0.02 * max(1.0, *old_rates, *new_rates))
        figure.supxlabel("errors per 100 texts")
        legend(figure, axes)

    of_run = f" of {run}" if run else ""
    caption = f"Errors{of_run} by severity and category, marked by {marks.evaluator}: {stages}"
    return Plot(name, caption, "; ".join(words), 0.55 + _ONE_LINE * len(rows), draw)


# --- agreement of people and judges


def _add_agreement(
    comparison: RunComparison | None, numbers: Mapping[str, Figures], drawn: list[Plot], missing: list[str]
) -> None:
    shares: dict[str, dict[str, _Share]] = {}
    words = []
    for run, numbers_of_run in numbers.items():
        review = None
        if comparison is not None and comparison.reviews:
            review = comparison.reviews.get(run)
        shares_of_run = {}
        for group in review.agreements if review else ():
            who = {"all": "people – machine", "judge": f"people – {group.name}"}.get(group.grouping)
            if who is not None:
                shares_of_run[who] = _Share(round(group.share * group.edits), group.edits)
        for pair in numbers_of_run.judge_pairs:
            shares_of_run[f"{pair.first} – {pair.second}"] = _Share(pair.same, pair.steps)
        for who, share in shares_of_run.items():
            low, high = share.interval
            of_run = f"{run}: " if len(numbers) > 1 else ""
            words.append(
                f"{of_run}{who} {100 * share.value:.1f} % of {share.total:,} "
                f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
            )
        if shares_of_run:
            shares[run] = shares_of_run
    if not shares:
        missing.append("agreement: nobody decided on edits, and no two judges judged the same steps")
        return
    pairs = list(dict.fromkeys(who for shares_of_run in shares.values() for who in shares_of_run))

    def draw(figure: Figure, axes: Axes) -> None:
        for number, (run, shares_of_run) in enumerate(shares.items()):
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
            label = _short(run) if len(shares) > 1 else "_"
            for who, share in shares_of_run.items():
                height = pairs.index(who) + _shift(number, len(shares))
                low, high = share.interval
                axes.hlines([height], 100 * low, 100 * high, color=colour, linewidth=0.9)
                axes.plot([100 * share.value], [height], color=colour, marker=marker, linestyle="none", label=label)
                label = "_"
        labels = []
        for who in pairs:
            totals = [shares_of_run[who].total for shares_of_run in shares.values() if who in shares_of_run]
            number_of_edits = f" ({totals[0]:,})" if len(shares) == 1 else ""
            labels.append(_short(who, 30) + number_of_edits)
        _label_rows(axes, labels)
        axes.set_xlim(-2, 102)
        figure.supxlabel("agreement (% of edits)")
        legend(figure, axes)

    caption = "How often people and judges agree on edits, with 95 % intervals"
    height = 0.5 + len(pairs) * max(_ONE_LINE, 0.085 * len(shares))
    drawn.append(Plot("agreement", caption, "; ".join(words), height, draw))


# --- what all figures share


def _short(name: str, most: int = _LONGEST_NAME) -> str:
    """``name`` in one line, with its middle left out if it is too long: the ends of names of runs tell them apart."""
    name = visible(name, one_line=True)
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _shift(number: int, count: int) -> float:
    """Where in its row the run ``number`` of ``count`` is drawn."""
    return 0.7 * ((number + 0.5) / count - 0.5)


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Labels of rows from top to bottom."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def legend(figure: Figure, axes: Axes) -> None:
    """The legend above the axes, in as many columns as fit; the figure grows by it."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    columns = max(1, int(WIDTH / (0.45 + _LETTER * max(map(len, labels)))))
    columns = min(columns, len(labels))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * -(-len(labels) // columns))


def _amount(value: float, _: float) -> str:
    """An amount of dollars or tokens on an axis."""
    return f"{value:,.10g}"


@contextmanager
def _drawn(plot: Plot, *, salt: str) -> Iterator[Figure]:
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


def plots_of_pairs(comparisons: Sequence[RunComparison], runs: Sequence[StagedRun], *, shared: bool = False) -> Plots:
    """The figures of ``comparisons`` of ``runs``, one for each language pair.

    ``shared`` leaves out the segments that some runs lack, as the comparisons do.
    """
    drawn: list[Plot] = []
    missing: list[str] = []
    for comparison in comparisons:
        numbers = {}
        for run in aligned([_of_languages(run, comparison) for run in runs], shared=shared)[0]:
            numbers[run.name] = figures(run.chain_reader()())
        plots = plots_of(comparison, numbers)
        if len(comparisons) == 1:
            return plots
        pair = languages.pair_of(comparison.source_lang, comparison.target_lang)
        for plot in plots.drawn:
            drawn.append(replace(plot, name=f"{pair}-{plot.name}", caption=f"{pair}: {plot.caption}"))
        missing += [f"{pair}: {reason}" for reason in plots.missing]
    return Plots(tuple(drawn), tuple(missing))


def _of_languages(run: StagedRun, comparison: RunComparison) -> StagedRun:
    """``run`` with its segments in the languages of ``comparison``."""
    segments = []
    for staged in run.segments:
        if (staged.segment.source_lang, staged.segment.target_lang) == (comparison.source_lang, comparison.target_lang):
            segments.append(staged)
    return replace(run, segments=tuple(segments))


def folder_for(folder: Path, runs: Sequence[StagedRun], store: Path, *, force: bool = False) -> Target:
    """The folder that figures are written to; ``force`` allows one that isn't empty.

    Raises :class:`MissingExtra` without matplotlib, and :class:`mtagent.errors.OutputError` for a folder that cannot be
    written.
    """
    refuse_if_unavailable()
    inputs = json.dumps([run.summary.inputs for run in runs])
    target = Target(folder, force, inputs, store)
    target.refuse_taken_folder()
    return target


def write_plots(plots: Plots, target: Target) -> list[str]:
    """Write the figures; return remarks about what is missing and what was written."""
    remarks = [f"not drawn: {reason}" for reason in plots.missing]
    if plots.drawn:
        with target.filled() as folder:
            remarks += _save(plots, folder)
        remarks.append(f"written: {target.path} ({counted(2 * len(plots.drawn), 'file')})")
    return remarks


def _save(plots: Plots, folder: Path) -> list[str]:
    """Write each figure as SVG and PDF; return remarks about characters that the PDF's font lacks."""
    remarks = []
    for plot in plots.drawn:
        (folder / f"{plot.name}.svg").write_text(as_svg(plot), encoding="utf-8")
        with _drawn(plot, salt=plot.name) as figure, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            figure.savefig(
                folder / f"{plot.name}.pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
            )
        if any("Glyph" in str(warning.message) for warning in caught):
            remarks.append(
                f"{plot.name}.pdf: its font lacks some characters of names, which are boxes there; the SVG has them"
            )
    return remarks


def as_svg(plot: Plot) -> str:
    """The figure as SVG, with its numbers in words."""
    output = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with _drawn(plot, salt=plot.name) as figure, warnings.catch_warnings():
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
