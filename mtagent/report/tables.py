"""Tables: the same numbers as in the plots, for Markdown and for those who cannot see a plot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.report.costs import Costly, Costs
from mtagent.report.fates import KINDS
from mtagent.report.flow import Failure, Flow
from mtagent.report.marked import Marks
from mtagent.report.plot_marks import categories, per_hundred
from mtagent.report.spread import Spread
from mtagent.report.svg import element, plain
from mtagent.report.words import UNKNOWN, dollars, number, score, share, signed, stage_name

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~#]")
_REASON = 200  # characters of an error message that are shown


@dataclass(frozen=True)
class Table:
    """Cells as they are shown. ``numbers`` is the index of the first column that holds numbers, set to the right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1

    def as_html(self, summary: str = "The numbers as a table") -> str:
        """The table in a ``<details>``, escaped; ``summary`` is what one clicks on."""
        head = "".join(self._cell("th", i, words, "col") for i, words in enumerate(self.head))
        body = "".join(f"<tr>{self._line(row)}</tr>" for row in self.rows)
        table = (
            f"<table><caption>{plain(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
        scrolls = element("div", table, class_="scroll", role="region", tabindex=0, aria_label=self.title)
        return f"<details><summary>{plain(summary)}</summary>{scrolls}</details>"

    def as_markdown(self) -> str:
        """The table in Markdown, escaped; without its title."""
        ruler = ["---:" if i >= self.numbers else "---" for i in range(len(self.head))]
        lines = [map(escaped, self.head), ruler, *(map(escaped, row) for row in self.rows)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _line(self, row: Sequence[str]) -> str:
        return "".join(self._cell("td" if i else "th", i, words, None if i else "row") for i, words in enumerate(row))

    def _cell(self, tag: str, column: int, words: str, scope: str | None) -> str:
        class_ = "number" if column >= self.numbers else None
        return element(tag, plain(words), scope=scope, class_=class_) if words else f"<{tag}></{tag}>"


def escaped(words: str) -> str:
    """``words`` in one line, with nothing in it that Markdown would read as more than text."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(words.split()))


def flow_table(flow: Flow) -> Table:
    """Segments by stage and fate; each stage adds up to all segments."""
    rows = tuple(
        (stage_name(s.stage), KINDS[g.kind], g.reason, number(g.segments), share(g.segments, flow.segments))
        for s in flow.stages
        for g in s.groups
    )
    head = ("stage", "what became of them", "why", "segments", "share")
    return Table("What became of the segments", head, rows, numbers=3)


def edits_table(flow: Flow) -> Table:
    """Edits by stage and outcome."""
    rows = tuple(
        (stage_name(stage.stage), what, number(count), share(count, sum(n for _, n in stage.edits)))
        for stage in flow.stages
        for what, count in stage.edits
    )
    return Table("What became of the edits", ("stage", "what became of them", "edits", "share"), rows, numbers=2)


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity; only mean scores where the evaluator marks no spans."""
    severities = ("critical", "major", "minor", "neutral")
    rows = []
    for stage in marks.stages:
        found = [number(n) for n in stage.by_severity().values()] if stage.marked else [""] * len(severities)
        free = number(stage.error_free) if stage.marked else ""
        mean = score(stage.mean, 3) if stage.rated else ""
        rows.append((stage_name(stage.stage), number(stage.segments), number(stage.rated), mean, free, *found))
    head = ("texts", "segments", "rated", "mean score", "error-free", *severities)
    return Table(f"Errors marked by {marks.evaluator}", head, tuple(rows))


def categories_table(marks: Marks) -> Table:
    """Errors per 100 texts by category and stage, all categories."""
    stages = [stage for stage in marks.stages if stage.marked]
    rows = tuple((name, *(f"{per_hundred(stage, name):.1f}" for stage in stages)) for name in categories(stages))
    head = ("category", *(stage_name(stage.stage) for stage in stages))
    return Table(f"Errors per 100 texts, by category, marked by {marks.evaluator}", head, rows)


def spread_table(spread: Spread) -> Table:
    """Segments by difference, zero apart."""
    lower = [one for one in spread.bins if one.high <= 0]
    upper = [one for one in spread.bins if one.high > 0]
    counts = [(f"from {_edge(one.low)} to below {_edge(one.high)}", one.segments) for one in lower]
    counts += [("0 (another text)", spread.equal - spread.same_text), ("0 (the same text)", spread.same_text)]
    counts += [(f"above {_edge(one.low)} to {_edge(one.high)}", one.segments) for one in upper]
    counts += [(UNKNOWN, spread.unknown)] if spread.unknown else []
    rows = tuple((words, number(count), share(count, spread.segments)) for words, count in counts)
    title = f"{spread.row} against {spread.former}: differences of the segments' own {spread.metric}"
    return Table(title, ("difference", "segments", "share"), rows)


def _edge(value: float) -> str:
    return f"{value:+.6g}" if value else "0"


def costs_table(costs: Costs) -> Table:
    """Rows with their score and what was spent until there."""
    rows = tuple(
        (
            point.row,
            score(point.score),
            dollars(point.dollars),
            UNKNOWN if point.tokens is None else number(point.tokens),
        )
        for point in costs.points
    )
    return Table("Quality and cost so far", ("texts", costs.metric, "dollars", "tokens"), rows)


def rows_table(comparison: Comparison) -> Table:
    """All rows: scores with the difference to the former row, what changed, what it took."""
    head = ("texts", *comparison.metrics, "changed", "TER to former", "dollars", "tokens")
    return Table("Systems and stages", head, tuple(_row(row, len(comparison.metrics)) for row in comparison.rows))


def _row(row: Row, metrics: int) -> tuple[str, ...]:
    scores = [_score(cell) for cell in row.cells] + [""] * (metrics - len(row.cells))
    moved = [share_of(row.moved.changed), score(row.moved.ter)] if row.moved else ["", ""]
    usage = row.cost.usage if row.cost else None
    paid = [dollars(usage.cost), number(usage.input_tokens + usage.output_tokens)] if usage else ["", ""]
    return (row.name, *scores, *moved, *paid)


def share_of(value: float) -> str:
    """A share that comes as a fraction."""
    return f"{100 * value:.1f} %"


def _score(cell: Cell) -> str:
    told = score(cell.score.value)
    told += f" ({signed(cell.difference)})" if cell.difference is not None else ""
    return told + (f" p = {cell.p_value:.4f}" if cell.p_value is not None else "")


def worst_table(spread: Spread) -> Table:
    """The segments that lost most."""
    rows = tuple((one.segment, score(one.former), score(one.score), signed(one.difference)) for one in spread.worst)
    return Table(f"{spread.row}: what got worse", ("segment", spread.former, spread.row, spread.metric), rows)


def costly_table(costly: Sequence[Costly]) -> Table:
    """The most costly segments."""
    rows = tuple(
        (one.segment, dollars(one.usage.cost), number(one.tokens), number(one.usage.calls), f"{one.seconds:.1f}")
        for one in costly
    )
    return Table("Most costly segments", ("segment", "dollars", "tokens", "calls", "seconds"), rows)


def failures_table(failures: Sequence[Failure]) -> Table:
    """The first segments that failed, and why."""
    rows = tuple((one.segment, stage_name(one.stage), _shortened(one.reason)) for one in failures)
    return Table("Failed segments", ("segment", "stage", "error"), rows, numbers=3)


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"
