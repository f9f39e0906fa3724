"""Which figures a comparison and its runs have, what each shows, and the same numbers as a table."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compare_tables import digits_of
from mtagent.analysis.compared_rows import Cell, ComparedTexts, Part
from mtagent.analysis.staged_run import StagedRun, aligned
from mtagent.chain.fates import KINDS, Kind
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED
from mtagent.jobs.export import Target
from mtagent.metrics.significance import Interval
from mtagent.records import Usage
from mtagent.report.drawing import (
    COLOURS,
    DASHES,
    INK,
    MARKERS,
    ONE_LINE,
    SOFT,
    Plot,
    amount,
    as_svg,
    figure_of,
    label_rows,
    legend,
    refuse_if_unavailable,
    shift,
    short,
    stacks,
)
from mtagent.report.figures import EditGroup, Figures, Marks, StageMarks, figures
from mtagent.report.tables import (
    NO_ERROR,
    NO_SEVERITY,
    NOT_APPLIED,
    STAGES,
    edit_categories_table,
    few_rated,
    flow_table,
    stage_name,
)
from mtagent.text import languages
from mtagent.text.amounts import counted, dollars
from mtagent.text.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_CATEGORIES = 8
_MOST_PARTS = 12


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


def plots_of(comparison: RunComparison | None, numbers: Mapping[str, Figures]) -> Plots:
    """The figures of ``comparison`` and of the ``numbers`` of its runs, by the names that it has for them."""
    drawn: list[Plot] = []
    missing: list[str] = []
    _add_outcomes(numbers, drawn, missing)
    if comparison is None or comparison.place is None:
        for name in ("score-by-stage", "quality-cost", "gain-by-part"):
            missing.append(f"{name}: nothing is scored")
    else:
        ways = {run: _way(comparison, run) for run in numbers}
        if all(cell.interval is None for row in comparison.rows for cell in row.cells):
            missing.append("intervals: none were computed (-ci or --paired-bs computes them)")
        _add_score_by_stage(comparison, ways, drawn, missing)
        _add_quality_cost(comparison, ways, drawn, missing)
        _add_gains(comparison, ways, drawn, missing)
    _add_edits(numbers, drawn, missing)
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


def _score_table(comparison: RunComparison, title: str, rows: Sequence[tuple[str, ...]], *heads: str) -> Table:
    """A table of scores by the deciding metric, each row with the run, the texts and its :func:`_score_cells`.

    ``heads`` are further columns. The column of the run is left out if there is one run only.
    """
    metric = comparison.deciding or ""
    head = ("run", "texts", metric, "from", "to", *heads)
    labels = 2
    if len({row[0] for row in rows}) == 1:
        head, rows, labels = head[1:], [row[1:] for row in rows], 1
    notes = []
    if any(cell.interval for row in comparison.rows for cell in row.cells):
        notes.append("from, to: the 95 % interval of the score")
    for signature in comparison.signatures:
        if signature.startswith(f"{metric}|"):
            notes.append(signature)
    return Table(title, head, tuple(rows), "; ".join(notes), labels)


def _score_cells(cell: Cell, digits: int) -> tuple[str, str, str]:
    """The score, and the ends of its interval."""
    low = high = ""
    if cell.interval is not None:
        low, high = (f"{end:.{digits}f}" for end in _ends(cell.interval))
    return f"{cell.score.value:.{digits}f}", low, high


def _baselines(comparison: RunComparison) -> list[ComparedTexts]:
    """The rows of other systems, which have no cost."""
    return [row for row in comparison.rows if row.stage is None]


# --- what became of segments and edits


_KIND_COLOURS: dict[Kind, str | None] = {
    "changed": "#00795a",
    "untouched": SOFT,
    "unplaced": "#8a6116",
    "guard": "#b34700",
    "gate": "#8f4a78",
    "failed": INK,
    "idle": None,
}
"""White numbers can be read on all of them; ``None`` is hollow."""
_EDIT_COLOURS: dict[str, str | None] = {
    "critical": "#8c1d40",
    "major": "#b34700",
    "minor": "#8a6116",
    "neutral": SOFT,
    NO_SEVERITY: "#005a8c",
    NOT_APPLIED: None,
}


def _add_outcomes(numbers: Mapping[str, Figures], drawn: list[Plot], missing: list[str]) -> None:
    names = set[str]()
    for run, numbers_of_run in numbers.items():
        of_run = run if len(numbers) > 1 else ""
        rows: list[tuple[str, Counter[str]]] = []
        for stage in numbers_of_run.flow.stages:
            counts = Counter[str]()
            for group in stage.groups:
                counts[KINDS[group.kind]] += group.segments
            rows.append((stage_name(stage.stage), counts))
        if not rows:
            missing.append(f"outcomes of {run}: no stage ran")
            continue
        name = _file_name(f"outcomes-{of_run}" if of_run else "outcomes", names)
        table = flow_table(numbers_of_run.flow)
        table = replace(table, note=f"counted in the stored steps of the run {run}; the last step of a stage counts")
        drawn.append(_outcome_plot(name, of_run, rows, table))


def _outcome_plot(name: str, run: str, rows: Sequence[tuple[str, Mapping[str, int]]], table: Table) -> Plot:
    words = []
    for stage, counts in rows:
        listed = []
        for kind in KINDS.values():
            if counts.get(kind):
                listed.append(f"{counts[kind]:,} {kind}")
        words.append(f"{stage}: {', '.join(listed)}")

    def draw(figure: Figure, axes: Axes) -> None:
        stacks(figure, axes, rows, {KINDS[kind]: colour for kind, colour in _KIND_COLOURS.items()})
        figure.supxlabel("segments")

    caption = "What became of the segments in each stage"
    if run:
        caption += f": {run}"
    return Plot(name, caption, "; ".join(words), 0.5 + 0.24 * len(rows), draw, replace(table, title=caption))


def _add_edits(numbers: Mapping[str, Figures], drawn: list[Plot], missing: list[str]) -> None:
    names = set[str]()
    for run, numbers_of_run in numbers.items():
        if not numbers_of_run.edits:
            missing.append(f"edits of {run}: none were proposed")
            continue
        of_run = run if len(numbers) > 1 else ""
        name = _file_name(f"edits-{of_run}" if of_run else "edits", names)
        table = edit_categories_table(numbers_of_run.edits)
        table = replace(table, note=f"counted in the stored edits of the run {run}; {table.note}")
        drawn.append(_edit_plot(name, of_run, numbers_of_run.edits, table))


def _edit_plot(name: str, run: str, groups: Sequence[EditGroup], table: Table) -> Plot:
    rows: dict[str, Counter[str]] = {}
    for group in groups:
        counts = rows.setdefault(group.category or NO_ERROR, Counter())
        counts[group.severity or NO_SEVERITY] += group.applied
        counts[NOT_APPLIED] += group.others
    words = []
    for category, counts in rows.items():
        listed = [f"{count:,} {kind}" for kind, count in counts.items() if count]
        words.append(f"{category}: {', '.join(listed)}")
    shown_rows = list(rows.items())[:_MOST_CATEGORIES]
    rest = list(rows.values())[_MOST_CATEGORIES:]
    if rest:
        others = counted(len(rest), "other category", "other categories")
        shown_rows.append((others, sum(rest, Counter[str]())))

    def draw(figure: Figure, axes: Axes) -> None:
        stacks(figure, axes, shown_rows, _EDIT_COLOURS)
        figure.supxlabel("edits")

    caption = "Edits by category and severity of the error that they correct"
    if run:
        caption += f": {run}"
    return Plot(name, caption, "; ".join(words), 0.62 + 0.21 * len(shown_rows), draw, replace(table, title=caption))


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
    rows: list[tuple[str, ...]] = []
    for run, way in ways.items():
        for point in way:
            spent = dollars(point.nominal.cost) if priced else f"{point.nominal.tokens:,} tokens"
            words.append(f"{run} {point.stage}: {_value(point.cell, digits)} at {spent}")
            cells = _score_cells(point.cell, digits)
            rows.append((run, stage_name(point.stage), *cells, spent.removesuffix(" tokens")))
    for row in _baselines(comparison):
        cell = row.cells[comparison.place or 0]
        words.append(f"{row.name}: {_value(cell, digits)}")
        rows.append(("", row.name, *_score_cells(cell, digits), ""))

    def draw(figure: Figure, axes: Axes) -> None:
        from matplotlib.lines import Line2D

        for number, (run, way) in enumerate(ways.items()):
            colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
            amounts = [(point.nominal.cost or 0.0) if priced else float(point.nominal.tokens) for point in way]
            values = [point.cell.score.value for point in way]
            axes.plot(amounts, values, color=colour, linestyle=dash, label=short(run))
            for spent, point in zip(amounts, way, strict=True):
                marker = MARKERS[stages.index(point.stage)]
                is_shared = shares_given and point.stage == GIVEN
                _mark(axes, spent, point.cell, color=INK if is_shared else colour, marker=marker)
        _draw_baselines(axes, comparison)
        if len(ways) == 1 and not _baselines(comparison):
            axes.lines[0].set_label("_")  # a single run needs no name
        legend(figure, axes)
        # The stages have a legend of their own: their names are short, and names of runs are long.
        shapes = []
        for number, stage in enumerate(stages):
            shape = Line2D([], [], color=SOFT, marker=MARKERS[number], linestyle="none", label=stage_name(stage))
            shapes.append(shape)
        axes.legend(
            handles=shapes, loc="lower center", bbox_to_anchor=(0.45, 1), ncols=4, handletextpad=0, columnspacing=0.5
        )  # fmt: skip
        axes.set_xlabel("full cost (US dollars)" if priced else "tokens (input and output)")
        axes.set_ylabel(_axis(comparison.rows[0].cells[comparison.place or 0]))
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(amount)
        axes.margins(x=0.06)

    unit = "full cost" if priced else "tokens"
    caption = f"{metric} against {unit}, stage by stage"
    table = _score_table(comparison, caption, rows, "full dollars" if priced else "tokens")
    drawn.append(Plot("quality-cost", caption, "; ".join(words), 2.3, draw, table))


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
    rows: list[tuple[str, ...]] = []
    for run, row in scores.items():
        listed = ", ".join(f"{stage} {_value(cell, digits)}" for stage, cell in row)
        words.append(f"{run}: {listed}")
        rows += [(run, stage_name(stage), *_score_cells(cell, digits)) for stage, cell in row]
    for baseline in _baselines(comparison):
        words.append(f"{baseline.name}: {_value(baseline.cells[place], digits)}")
        rows.append(("", baseline.name, *_score_cells(baseline.cells[place], digits)))
    shares_given = comparison.rows[0].run is None

    def draw(figure: Figure, axes: Axes) -> None:
        for number, (run, row) in enumerate(scores.items()):
            # Runs are side by side, or their intervals would hide each other.
            shift = min(0.09, 0.5 / len(scores)) * (number - (len(scores) - 1) / 2)
            places = []
            for stage, _ in row:
                is_shared = shares_given and stage == GIVEN
                places.append(stages.index(stage) + (0 if is_shared else shift))
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            values = [cell.score.value for _, cell in row]
            dash = DASHES[number % len(DASHES)]
            label = short(run) if len(scores) > 1 or _baselines(comparison) else "_"
            axes.plot(places, values, color=colour, linestyle=dash, marker=marker, label=label)
            for x, (stage, cell) in zip(places, row, strict=True):
                if shares_given and stage == GIVEN:
                    _mark(axes, x, cell, color=INK, marker="o")
                else:
                    _mark(axes, x, cell, color=colour, marker=marker)
        _draw_baselines(axes, comparison)
        axes.set_xticks(range(len(stages)), [stage_name(stage) for stage in stages])
        axes.set_xlim(-0.4, len(stages) - 0.6)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel(_axis(comparison.rows[0].cells[place]))
        legend(figure, axes)

    caption = f"{metric} after each stage"
    drawn.append(Plot("score-by-stage", caption, "; ".join(words), 1.9, draw, _score_table(comparison, caption, rows)))


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
        axes.axhline(value, color=SOFT, linestyle=DASHES[1 + number % 7], linewidth=0.8, label=short(row.name))


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
    rows = []
    for run, ends_of_run in ends.items():
        gains[run] = [_gain(comparison, part, ends_of_run, place) for part in parts]
        listed = []
        for part, gain in zip(parts, gains[run], strict=True):
            value, low, high = f"{gain.value:+.{digits}f}", "", ""
            text = f"{part.name} ({len(part.places)}) {value}"
            if gain.low is not None and gain.high is not None:
                low, high = f"{gain.low:+.{digits}f}", f"{gain.high:+.{digits}f}"
                text += f" (95 % interval {low} to {high})"
            listed.append(text)
            rows.append((run, part.name, f"{len(part.places):,}", value, low, high))
        words.append(f"{run}: {', '.join(listed)}")

    def draw(figure: Figure, axes: Axes) -> None:
        axes.axvline(0, color=INK, linewidth=0.7)
        for number, (run, gains_of_run) in enumerate(gains.items()):
            in_all = all_runs.index(run)  # a run has the same colour in all figures
            colour, marker = COLOURS[in_all % len(COLOURS)], MARKERS[in_all % len(MARKERS)]
            label = short(run) if len(gains) > 1 else "_"
            for row, gain in enumerate(gains_of_run):
                height = row + shift(number, len(gains))
                if gain.low is not None and gain.high is not None:
                    axes.hlines([height], gain.low, gain.high, color=colour, linewidth=0.8)
                axes.plot([gain.value], [height], color=colour, marker=marker, linestyle="none", label=label)
                label = "_"
        label_rows(axes, [f"{short(' '.join(part.name.split()), 22)} ({len(part.places)})" for part in parts])
        figure.supxlabel(f"{short(gain_name, 28)}, by {grouping} (segments)")
        legend(figure, axes)

    caption = f"{gain_name[0].upper()}{gain_name[1:]} by {grouping}, {texts}"
    if left_out:
        caption += f" ({left_out} smaller parts are left out)"
    height = 0.55 + len(parts) * max(ONE_LINE, 0.085 * len(gains))
    head = ("run", grouping, "segments", gain_name, "from", "to")
    table = Table(caption, head, tuple(rows), "from, to: the 95 % interval of the gain", labels=2)
    return Plot(f"gain-by-{grouping}", caption, "; ".join(words), height, draw, table)


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
    table_rows = tuple((label, f"{old:.1f}", f"{new:.1f}") for label, old, new in rows)
    stages = f"{stage_name(before.stage)} ({before.marked:,} texts), {stage_name(after.stage)} ({after.marked:,} texts)"

    def draw(figure: Figure, axes: Axes) -> None:
        heights = range(len(rows))
        old_rates, new_rates = [row[1] for row in rows], [row[2] for row in rows]
        axes.hlines(heights, old_rates, new_rates, color=COLOURS[0], linewidth=1.2)
        axes.plot(
            old_rates, heights, color=COLOURS[1], marker="o", markerfacecolor="none", linestyle="none", markersize=5,
            label=stage_name(before.stage),
        )  # fmt: skip
        axes.plot(
            new_rates, heights, color=COLOURS[0], marker="s", linestyle="none", markersize=3.5,
            label=stage_name(after.stage),
        )  # fmt: skip
        label_rows(axes, [short(label, 26) for label, _, _ in rows])
        axes.axhline(len(severities) - 0.5, color=SOFT, linewidth=0.6)
        axes.set_xlim(left=-0.02 * max(1.0, *old_rates, *new_rates))
        figure.supxlabel("errors per 100 texts")
        legend(figure, axes)

    of_run = f" of {run}" if run else ""
    caption = f"Errors{of_run} by severity and category, marked by {marks.evaluator}: {stages}"
    head = ("errors per 100 texts", stage_name(before.stage), stage_name(after.stage))
    table = Table(caption, head, table_rows, marks.signature)
    return Plot(name, caption, "; ".join(words), 0.55 + ONE_LINE * len(rows), draw, table)


# --- agreement of people and judges


def _add_agreement(
    comparison: RunComparison | None, numbers: Mapping[str, Figures], drawn: list[Plot], missing: list[str]
) -> None:
    shares: dict[str, dict[str, _Share]] = {}
    words = []
    rows = []
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
            percents = tuple(f"{100 * value:.1f}" for value in (share.value, low, high))
            rows.append((run, who, f"{share.total:,}", *percents))
        if shares_of_run:
            shares[run] = shares_of_run
    if not shares:
        missing.append("agreement: nobody decided on edits, and no two judges judged the same steps")
        return
    pairs = list(dict.fromkeys(who for shares_of_run in shares.values() for who in shares_of_run))

    def draw(figure: Figure, axes: Axes) -> None:
        for number, (run, shares_of_run) in enumerate(shares.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            label = short(run) if len(shares) > 1 else "_"
            for who, share in shares_of_run.items():
                height = pairs.index(who) + shift(number, len(shares))
                low, high = share.interval
                axes.hlines([height], 100 * low, 100 * high, color=colour, linewidth=0.9)
                axes.plot([100 * share.value], [height], color=colour, marker=marker, linestyle="none", label=label)
                label = "_"
        labels = []
        for who in pairs:
            totals = [shares_of_run[who].total for shares_of_run in shares.values() if who in shares_of_run]
            number_of_edits = f" ({totals[0]:,})" if len(shares) == 1 else ""
            labels.append(short(who, 30) + number_of_edits)
        label_rows(axes, labels)
        axes.set_xlim(-2, 102)
        figure.supxlabel("agreement (% of edits)")
        legend(figure, axes)

    caption = "How often people and judges agree on edits, with 95 % intervals"
    height = 0.5 + len(pairs) * max(ONE_LINE, 0.085 * len(shares))
    head = ("run", "who", "edits", "agreement %", "from", "to")
    table = Table(caption, head, tuple(rows), "from, to: Wilson's 95 % interval", labels=2)
    drawn.append(Plot("agreement", caption, "; ".join(words), height, draw, table))


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
        with figure_of(plot, salt=plot.name) as figure, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            figure.savefig(
                folder / f"{plot.name}.pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
            )
        if any("Glyph" in str(warning.message) for warning in caught):
            remarks.append(
                f"{plot.name}.pdf: its font lacks some characters of names, which are boxes there; the SVG has them"
            )
    return remarks
