"""Tables: the same numbers as in the plots, for Markdown and for those who cannot see a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtagent.report.costs import Costly, Costs
from mtagent.report.fates import KINDS
from mtagent.report.flow import Failure, Flow
from mtagent.report.marked import Marks
from mtagent.report.plot_marks import NOT_COMPARABLE, categories, few_rated, per_hundred
from mtagent.report.spread import Change, Spread
from mtagent.report.words import UNKNOWN, dollars, number, score, share, signed, stage_name
from mtagent.table import Table

_REASON = 200  # characters of an error message that are shown


def flow_table(flow: Flow) -> Table:
    """Segments by stage and fate; each stage adds up to all segments."""
    rows = tuple(
        (stage_name(s.stage), KINDS[g.kind], g.reason, number(g.segments), share(g.segments, flow.segments))
        for s in flow.stages
        for g in s.groups
    )
    head = ("stage", "what became of them", "why", "segments", "share")
    return Table("What became of the segments", head, rows, labels=3)


def edits_table(flow: Flow) -> Table:
    """Edits by stage and outcome."""
    rows = tuple(
        (stage_name(stage.stage), what, number(count), share(count, sum(n for _, n in stage.edits)))
        for stage in flow.stages
        for what, count in stage.edits
    )
    return Table("What became of the edits", ("stage", "what became of them", "edits", "share"), rows, labels=2)


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity; only mean scores where the evaluator marks no spans.

    A stage with fewer rated texts than the first one is not told in numbers that would be compared with the others.
    """
    unlike = few_rated(marks)
    severities = ("critical", "major", "minor", "neutral")
    rows = []
    for stage in marks.stages:
        told = stage.stage not in unlike
        found = [number(n) for n in stage.by_severity().values()] if stage.marked and told else [""] * len(severities)
        free = number(stage.error_free) if stage.marked and told else ""
        mean = score(stage.mean, 3) if stage.rated and told else ""
        rows.append((stage_name(stage.stage), number(stage.segments), number(stage.rated), mean, free, *found))
    head = ("texts", "segments", "rated", "mean score", "error-free", *severities)
    return Table(f"Errors marked by {marks.evaluator}", head, tuple(rows), _note(unlike))


def _note(unlike: Mapping[str, str]) -> str:
    return "; ".join(f"{words}: {NOT_COMPARABLE}" for words in unlike.values())


def categories_table(marks: Marks) -> Table:
    """Errors per 100 texts by category and stage, all categories, where the stages can be compared."""
    stages = marks.comparable()
    rows = tuple((name, *(f"{per_hundred(stage, name):.1f}" for stage in stages)) for name in categories(stages))
    head = ("category", *(stage_name(stage.stage) for stage in stages))
    return Table(f"Errors per 100 texts, by category, marked by {marks.evaluator}", head, rows, _note(few_rated(marks)))


def spread_table(spread: Spread) -> Table:
    """Segments by difference, zero apart."""
    lower = [one for one in spread.bins if one.high <= 0]
    upper = [one for one in spread.bins if one.high > 0]
    counts = [(f"from {_edge(one.low)} to below {_edge(one.high)}", one.segments) for one in lower]
    counts += [("0 (another text)", spread.equal - spread.same_text), ("0 (the same text)", spread.same_text)]
    counts += [(f"above {_edge(one.low)} to {_edge(one.high)}", one.segments) for one in upper]
    counts += [(UNKNOWN, spread.unknown)] if spread.unknown else []
    rows = tuple((words, number(count), share(count, spread.segments)) for words, count in counts)
    title = f"Differences of the segments' own {spread.metric}: {spread.row} against {spread.former}"
    return Table(title, ("difference", "segments", "share"), rows)


def _edge(value: float) -> str:
    return f"{value:+.6g}" if value else "0"


def costs_table(costs: Costs) -> Table:
    """Rows with their score and what was spent until there."""
    rows = tuple(
        (
            point.row,
            score(point.score, costs.digits),
            dollars(point.dollars),
            UNKNOWN if point.tokens is None else number(point.tokens),
        )
        for point in costs.points
    )
    return Table("Quality and cost so far", ("texts", costs.metric, "dollars", "tokens"), rows)


def _changed(one: Change, digits: int) -> tuple[str, ...]:
    return (score(one.former, digits), score(one.score, digits), signed(one.difference, digits))


def worst_table(spread: Spread) -> Table:
    """The segments that lost most."""
    rows = tuple((one.segment, *_changed(one, spread.digits)) for one in spread.worst)
    return Table(f"What got worse: {spread.row}", ("segment", spread.former, spread.row, spread.metric), rows)


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
    return Table("Failed segments", ("segment", "stage", "error"), rows, labels=3)


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"
