"""The figures as tables, with bars where the page shows them; and in plain words what they cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mtagent.records import Severity
from mtagent.report.fates import KINDS, OUTCOMES
from mtagent.report.figures import Costly, Failure, Figures, Flow, Marks, Spread, StageMarks
from mtagent.text.amounts import UNKNOWN, dollars, score, share, signed
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Bar, Table

STAGES = {
    "given": "as given",
    "translate": "translate",
    "postedit": "post-edit",
    "proofread": "proofread",
    "final": "in the end",
}
"""How the texts after a stage, and a stage itself, are called."""
_AFTER = {"translate": "after translation", "postedit": "after post-editing", "proofread": "after proofreading"}
_OUTCOME_COLOURS = {OUTCOMES["applied"]: "changed", OUTCOMES["refused"]: "guard", OUTCOMES["rejected"]: "gate"}
_WORST_FIRST: tuple[Severity, ...] = tuple(reversed(SEVERITIES))
_SHORTENED = 200  # characters of an error message that are shown


def stage_name(stage: str) -> str:
    """``postedit`` → ``post-edit``; another name stays."""
    return STAGES.get(stage, stage)


def gallery(figures: Figures, spread: Spread | None) -> list[Table]:
    """The tables that the page shows at a glance, the most telling first; none that says nothing."""
    tables = [flow_table(figures.flow)]
    tables += [spread_table(spread)] if spread is not None else []
    tables.append(edits_table(figures.flow))
    for marks in figures.marks:
        if marks.spans and any(stage.errors for stage in marks.stages):
            tables += [marks_table(marks), categories_table(marks)]
    return [table for table in tables if table.rows]


def flow_table(flow: Flow) -> Table:
    """Segments by stage and fate; each stage adds up to all segments. A bar begins where the one above it ends."""
    rows: list[tuple[str, ...]] = []
    bars: dict[tuple[int, int], Bar] = {}
    for stage in flow.stages:
        starts = accumulate((group.segments for group in stage.groups), initial=0)
        for group, start in zip(stage.groups, starts, strict=False):
            bars[len(rows), 4] = Bar(start / flow.segments, group.segments / flow.segments, group.kind)
            cells = (stage_name(stage.stage), KINDS[group.kind], group.reason, f"{group.segments:,}")
            rows.append((*cells, share(group.segments, flow.segments)))
    head = ("stage", "what became of them", "why", "segments", "share")
    return Table("What became of the segments", head, tuple(rows), labels=3, bars=bars)


def edits_table(flow: Flow) -> Table:
    """Edits by stage and outcome."""
    rows: list[tuple[str, ...]] = []
    bars: dict[tuple[int, int], Bar] = {}
    for stage in flow.stages:
        total = sum(count for _, count in stage.edits)
        starts = accumulate((count for _, count in stage.edits), initial=0)
        for (what, count), start in zip(stage.edits, starts, strict=False):
            colour = next((name for words, name in _OUTCOME_COLOURS.items() if what.startswith(words)), "unplaced")
            bars[len(rows), 3] = Bar(start / total, count / total, colour)
            rows.append((stage_name(stage.stage), what, f"{count:,}", share(count, total)))
    head = ("stage", "what became of them", "edits", "share")
    return Table("What became of the edits", head, tuple(rows), labels=2, bars=bars)


def few_rated(marks: Marks) -> dict[str, str]:
    """By stage what is said of one with too few rated texts: ``only 36 of 63 texts were rated after post-editing``."""
    comparable = marks.comparable()
    return {
        stage.stage: f"only {rated:,} of {stage.segments:,} texts were rated {_AFTER.get(stage.stage, stage.stage)}"
        for stage in marks.stages
        if (rated := marks.rated(stage)) and stage not in comparable
    }


def _note(marks: Marks, stages: Sequence[StageMarks]) -> str:
    """Where the rates of the stages are about different texts, that is said."""
    notes = [f"{words}: not comparable" for words in few_rated(marks).values()]
    uneven = len({stage.marked for stage in stages if stage.marked}) > 1
    return "; ".join([*notes, *(["not all stages have the same texts rated"] if uneven else [])])


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity; only mean scores where the evaluator marks no spans.

    A stage with fewer rated texts than the first one is not told in numbers that would be compared with the others.
    """
    unlike, comparable = few_rated(marks), marks.comparable()
    most = max(
        (n / stage.marked for stage in comparable if stage.marked for n in stage.by_severity().values()), default=0
    )
    rows: list[tuple[str, ...]] = []
    bars: dict[tuple[int, int], Bar] = {}
    for stage in marks.stages:
        comparable_rate = bool(stage.marked) and stage.stage not in unlike
        cells = [stage_name(stage.stage), f"{stage.segments:,}", f"{stage.rated:,}"]
        cells.append(score(stage.mean, 3) if stage.rated and stage.stage not in unlike else "")
        cells.append(f"{stage.error_free:,}" if comparable_rate else "")
        for severity, number in stage.by_severity().items():
            if comparable_rate and most:
                bars[len(rows), len(cells)] = Bar(0, number / stage.marked / most, severity)
            cells.append(f"{number:,}" if comparable_rate else "")
        total = sum(stage.by_severity().values())
        rows.append((*cells, f"{100 * total / stage.marked:.1f}" if comparable_rate else ""))
    head = ("texts", "segments", "rated", "mean score", "error-free", *_WORST_FIRST, "per 100 texts")
    return Table(f"Errors marked by {marks.evaluator}", head, tuple(rows), _note(marks, comparable), bars=bars)


def categories_table(marks: Marks) -> Table:
    """Errors per 100 texts by category and stage, those with the most first, where the stages can be compared."""
    stages = marks.comparable()
    frequency: dict[str, int] = {}
    for stage in stages:
        for name, severities in stage.errors.items():
            frequency[name] = max(frequency.get(name, 0), sum(severities.values()))
    most = max((stage.per_hundred(name) for stage in stages for name in frequency), default=0.0)
    rows: list[tuple[str, ...]] = []
    bars: dict[tuple[int, int], Bar] = {}
    for name in sorted(frequency, key=lambda name: (-frequency[name], name)):
        rates = [stage.per_hundred(name) for stage in stages]
        bars |= {(len(rows), i): Bar(0, rate / most, "mark") for i, rate in enumerate(rates, start=1) if most}
        rows.append((name, *(f"{rate:.1f}" for rate in rates)))
    head = ("category", *(stage_name(stage.stage) for stage in stages))
    title = f"Errors per 100 texts, by category, marked by {marks.evaluator}"
    return Table(title, head, tuple(rows), _note(marks, stages), bars=bars)


def spread_table(spread: Spread) -> Table:
    """Segments by difference, the worst first, zero apart."""
    rows: list[tuple[str, ...]] = []
    bars: dict[tuple[int, int], Bar] = {}
    most = max([bin_.segments for bin_ in spread.bins] + [spread.equal, spread.unknown, 1])

    def add(words: str, count: int, colour: str) -> None:
        bars[len(rows), 2] = Bar(0, count / most, colour)
        rows.append((words, f"{count:,}", share(count, spread.segments)))

    lower = [bin_ for bin_ in spread.bins if bin_.high <= 0]
    upper = [bin_ for bin_ in spread.bins if bin_.high > 0]
    below, above = ("worse", "better") if spread.higher_is_better else ("better", "worse")
    for bin_ in lower:
        add(f"from {_edge(bin_.low)} to below {_edge(bin_.high)}", bin_.segments, below)
    add("0 (another text)", spread.equal - spread.same_text, "untouched")
    add("0 (the same text)", spread.same_text, "untouched")
    for bin_ in upper:
        add(f"above {_edge(bin_.low)} to {_edge(bin_.high)}", bin_.segments, above)
    if spread.unknown:
        add(UNKNOWN, spread.unknown, "idle")
    title = f"Differences of the segments' own {spread.metric}: {spread.row} against {spread.former}"
    return Table(title, ("difference", "segments", "share"), tuple(rows), _spread_note(spread), bars=bars)


def _edge(value: float) -> str:
    return f"{value:+.6g}" if value else "0"


def _spread_note(spread: Spread) -> str:
    unknown = [f"{spread.unknown:,} unknown"] if spread.unknown else []
    sides = ", ".join([f"{spread.worse:,} worse", f"{spread.equal:,} equal", f"{spread.better:,} better", *unknown])
    if not spread.quantiles or spread.mean is None:
        return f"{sides}; no score is known"
    low, _, middle, _, high = (signed(value, spread.digits) for value in spread.quantiles)
    ends = f"; nine tenths between {low} and {high}" if spread.quantiles[0] != spread.quantiles[-1] else ""
    return f"{sides}; mean {signed(spread.mean, spread.digits)}, median {middle}{ends}"


def worst_table(spread: Spread) -> Table:
    """The segments that lost most."""
    width = spread.digits
    rows = tuple(
        (change.segment, score(change.former, width), score(change.score, width), signed(change.difference, width))
        for change in spread.worst
    )
    return Table(f"What got worse: {spread.row}", ("segment", spread.former, spread.row, spread.metric), rows)


def costly_table(costly: Sequence[Costly]) -> Table:
    """The most costly segments."""
    rows = tuple(
        (
            segment.segment,
            dollars(segment.usage.cost),
            f"{segment.tokens:,}",
            f"{segment.usage.calls:,}",
            f"{segment.seconds:.1f}",
        )
        for segment in costly
    )
    return Table("Most costly segments", ("segment", "dollars", "tokens", "calls", "seconds"), rows)


def failures_table(failures: Sequence[Failure]) -> Table:
    """The first segments that failed, and why."""
    rows = []
    for failure in failures:
        reason = failure.reason if len(failure.reason) <= _SHORTENED else f"{failure.reason[:_SHORTENED]}…"
        rows.append((failure.segment, stage_name(failure.stage), reason))
    return Table("Failed segments", ("segment", "stage", "error"), tuple(rows), labels=3)
