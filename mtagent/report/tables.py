"""The figures as tables with bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from mtagent.records import Severity
from mtagent.report.fates import KINDS, OUTCOMES
from mtagent.report.figures import Costly, FailedSegment, Figures, Flow, Marks, Spread, StageMarks
from mtagent.text.amounts import UNKNOWN, dollars, score, share, signed
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Bar, Table

STAGES = {
    "given": "as given",
    "translate": "translate",
    "rerank": "rerank",
    "rules": "rules",
    "postedit": "post-edit",
    "proofread": "proofread",
    "final": "in the end",
    "reviewed": "reviewed",
}
"""How the texts after a stage, and a stage itself, are called."""
_AFTER = {
    "translate": "after translation",
    "rerank": "after reranking",
    "rules": "after the rules",
    "postedit": "after post-editing",
    "proofread": "after proofreading",
    "final": "in the end",
    "reviewed": "after the review",
}
_OUTCOME_COLOURS = {OUTCOMES["applied"]: "changed", OUTCOMES["refused"]: "guard", OUTCOMES["rejected"]: "gate"}
_WORST_FIRST: tuple[Severity, ...] = tuple(reversed(SEVERITIES))
Cell = str | tuple[str, Bar]
"""What a cell says, and its bar."""
_SHORTENED = 200  # characters of an error message that are shown


def stage_name(stage: str) -> str:
    """``postedit`` → ``post-edit``; other names stay."""
    return STAGES.get(stage, stage)


def gallery(figures: Figures, spread: Spread | None) -> list[Table]:
    """The tables on the page, most telling first, without empty ones."""
    tables = [flow_table(figures.flow)]
    tables += [spread_table(spread)] if spread is not None else []
    tables.append(edits_table(figures.flow))
    for marks in figures.marks:
        if marks.spans and any(stage.errors for stage in marks.stages):
            tables += [marks_table(marks), categories_table(marks)]
    return [table for table in tables if table.rows]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "", labels: int = 1) -> Table:
    bars = {
        (number, place): cell[1]
        for number, row in enumerate(rows)
        for place, cell in enumerate(row)
        if not isinstance(cell, str)
    }
    texts = tuple(tuple(cell if isinstance(cell, str) else cell[0] for cell in row) for row in rows)
    return Table(title, tuple(head), texts, note, labels, bars)


def flow_table(flow: Flow) -> Table:
    """Segments by stage and fate; each stage adds up to all segments. A bar begins where the one above it ends."""
    rows: list[Sequence[Cell]] = []
    for stage in flow.stages:
        starts = accumulate((group.segments for group in stage.groups), initial=0)
        for (kind, reason, number), start in zip(stage.groups, starts, strict=False):
            bar = Bar(start / flow.segments, number / flow.segments, kind)
            cells = (stage_name(stage.stage), KINDS[kind], reason, f"{number:,}")
            rows.append((*cells, (share(number, flow.segments), bar)))
    head = ("stage", "what became of them", "why", "segments", "share")
    return _table("What became of the segments", head, rows, labels=3)


def edits_table(flow: Flow) -> Table:
    """Edits by stage and outcome."""
    rows: list[Sequence[Cell]] = []
    for stage in flow.stages:
        total = sum(count for _, count in stage.edits)
        starts = accumulate((count for _, count in stage.edits), initial=0)
        for (outcome, count), start in zip(stage.edits, starts, strict=False):
            colour = next((name for words, name in _OUTCOME_COLOURS.items() if outcome.startswith(words)), "unplaced")
            bar = Bar(start / total, count / total, colour)
            rows.append((stage_name(stage.stage), outcome, f"{count:,}", (share(count, total), bar)))
    head = ("stage", "what became of them", "edits", "share")
    return _table("What became of the edits", head, rows, labels=2)


def few_rated(marks: Marks) -> dict[str, str]:
    """A remark by stage with too few rated texts: ``only 36 of 63 texts were rated after post-editing``."""
    comparable = marks.comparable()
    return {
        stage.stage: f"only {rated:,} of {stage.segments:,} texts were rated {_AFTER.get(stage.stage, stage.stage)}"
        for stage in marks.stages
        if (rated := marks.rated(stage)) and stage not in comparable
    }


def _note(marks: Marks, stages: Sequence[StageMarks]) -> str:
    """A remark if the rates of the stages are based on different texts."""
    notes = [f"{words}: not comparable" for words in few_rated(marks).values()]
    uneven = len({stage.marked for stage in stages if stage.marked}) > 1
    return "; ".join([*notes, *(["not all stages have the same texts rated"] if uneven else [])])


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity; only mean scores if the evaluator marks no spans.

    A stage with fewer rated texts than the first one has no numbers, since these could not be compared.
    """
    unlike, comparable = few_rated(marks), marks.comparable()
    most = max(
        (n / stage.marked for stage in comparable if stage.marked for n in stage.by_severity().values()), default=0
    )
    rows: list[Sequence[Cell]] = []
    for stage in marks.stages:
        cells: list[Cell] = [stage_name(stage.stage), f"{stage.segments:,}", f"{stage.rated:,}"]
        cells.append(score(stage.mean, 3) if stage.rated and stage.stage not in unlike else "")
        if stage.marked and stage.stage not in unlike:
            severities = stage.by_severity()
            cells.append(f"{stage.error_free:,}")
            for severity, number in severities.items():
                text = f"{number:,}"
                cells.append((text, Bar(0, number / stage.marked / most, severity)) if most else text)
            cells.append(f"{100 * sum(severities.values()) / stage.marked:.1f}")
        else:
            cells += [""] * (len(_WORST_FIRST) + 2)
        rows.append(cells)
    head = ("texts", "segments", "rated", "mean score", "error-free", *_WORST_FIRST, "per 100 texts")
    return _table(f"Errors marked by {marks.evaluator}", head, rows, _note(marks, comparable))


def categories_table(marks: Marks) -> Table:
    """Errors per 100 texts by category and stage, most frequent first, for the stages that can be compared."""
    stages = marks.comparable()
    frequency: dict[str, int] = {}
    for stage in stages:
        for name, severities in stage.errors.items():
            frequency[name] = max(frequency.get(name, 0), sum(severities.values()))
    most = max((stage.per_hundred(name) for stage in stages for name in frequency), default=0.0)
    rows: list[Sequence[Cell]] = []
    for name in sorted(frequency, key=lambda name: (-frequency[name], name)):
        rates = [stage.per_hundred(name) for stage in stages]
        rows.append(
            (name, *((f"{rate:.1f}", Bar(0, rate / most, "mark")) if most else f"{rate:.1f}" for rate in rates))
        )
    head = ("category", *(stage_name(stage.stage) for stage in stages))
    title = f"Errors per 100 texts, by category, marked by {marks.evaluator}"
    return _table(title, head, rows, _note(marks, stages))


def spread_table(spread: Spread) -> Table:
    """Segments by difference, worst first, with zero by itself."""
    below, above = ("worse", "better") if spread.higher_is_better else ("better", "worse")
    counts = [
        (f"from {_edge(bin_.low)} to below {_edge(bin_.high)}", bin_.segments, below)
        for bin_ in spread.bins
        if bin_.high <= 0
    ]
    counts.append(("0 (another text)", spread.equal - spread.same_text, "untouched"))
    counts.append(("0 (the same text)", spread.same_text, "untouched"))
    counts += [
        (f"above {_edge(bin_.low)} to {_edge(bin_.high)}", bin_.segments, above)
        for bin_ in spread.bins
        if bin_.high > 0
    ]
    counts += [(UNKNOWN, spread.unknown, "idle")] if spread.unknown else []
    most = max(count for _, count, _ in counts) or 1
    rows = [
        (words, f"{count:,}", (share(count, spread.segments), Bar(0, count / most, colour)))
        for words, count, colour in counts
    ]
    unknown = [f"{spread.unknown:,} unknown"] if spread.unknown else []
    note = ", ".join([f"{spread.worse:,} worse", f"{spread.equal:,} equal", f"{spread.better:,} better", *unknown])
    if not spread.quantiles or spread.mean is None:
        note += "; no score is known"
    else:
        low, _, middle, _, high = (signed(value, spread.digits) for value in spread.quantiles)
        note += f"; mean {signed(spread.mean, spread.digits)}, median {middle}"
        note += f"; nine tenths between {low} and {high}" if spread.quantiles[0] != spread.quantiles[-1] else ""
    title = f"Differences of the segments' own {spread.metric}: {spread.row} against {spread.former}"
    return _table(title, ("difference", "segments", "share"), rows, note)


def _edge(value: float) -> str:
    return f"{value:+.6g}" if value else "0"


def worst_table(spread: Spread) -> Table:
    """The segments with the largest losses."""
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


def failures_table(failures: Sequence[FailedSegment]) -> Table:
    """The first segments that failed, and why."""
    rows = []
    for failure in failures:
        reason = failure.reason if len(failure.reason) <= _SHORTENED else f"{failure.reason[:_SHORTENED]}…"
        rows.append((failure.segment, stage_name(failure.stage), reason))
    return Table("Failed segments", ("segment", "stage", "error"), tuple(rows), labels=3)
