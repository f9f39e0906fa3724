"""The figures as tables with bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mtagent.chain.fates import KINDS, OUTCOMES
from mtagent.records import Severity
from mtagent.report.figures import Costly, EditGroup, FailedSegment, Figures, Flow, Marks, Spread
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
"""The text of a cell, and perhaps its bar."""
_SHORTENED = 200  # characters of an error message that are shown


def stage_name(stage: str) -> str:
    """``postedit`` → ``post-edit``; other names stay."""
    return STAGES.get(stage, stage)


def gallery(figures: Figures, spread: Spread | None) -> list[Table]:
    """The tables that the page has beside those of its charts, most telling first, without empty ones."""
    tables = []
    if spread is not None:
        tables.append(spread_table(spread))
    tables.append(edits_table(figures.flow))
    for marks in figures.marks:
        if marks.spans and any(stage.errors for stage in marks.stages):
            tables.append(marks_table(marks))
            tables.append(categories_table(marks))
    return [table for table in tables if table.rows]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "", labels: int = 1) -> Table:
    texts, bars = [], {}
    for number, row in enumerate(rows):
        row_texts = []
        for place, cell in enumerate(row):
            if isinstance(cell, str):
                row_texts.append(cell)
            else:
                row_texts.append(cell[0])
                bars[number, place] = cell[1]
        texts.append(tuple(row_texts))
    return Table(title, tuple(head), tuple(texts), note, labels, bars)


def flow_table(flow: Flow) -> Table:
    """Segments by stage and fate; each stage adds up to all segments. A bar begins where the one above it ends."""
    rows: list[Sequence[Cell]] = []
    for stage in flow.stages:
        start = 0
        for kind, reason, number in stage.groups:
            bar = Bar(start / flow.segments, number / flow.segments, kind)
            percent: Cell = (share(number, flow.segments), bar)
            rows.append((stage_name(stage.stage), KINDS[kind], reason, f"{number:,}", percent))
            start += number
    head = ("stage", "what became of them", "why", "segments", "share")
    return _table("What became of the segments", head, rows, labels=3)


def edits_table(flow: Flow) -> Table:
    """Edits by stage and outcome."""
    rows: list[Sequence[Cell]] = []
    for stage in flow.stages:
        total = sum(count for _, count in stage.edits)
        start = 0
        for outcome, count in stage.edits:
            colour = "unplaced"
            for words, name in _OUTCOME_COLOURS.items():
                if outcome.startswith(words):
                    colour = name
                    break
            bar = Bar(start / total, count / total, colour)
            rows.append((stage_name(stage.stage), outcome, f"{count:,}", (share(count, total), bar)))
            start += count
    head = ("stage", "what became of them", "edits", "share")
    return _table("What became of the edits", head, rows, labels=2)


NO_ERROR = "no error named"
NO_SEVERITY = "reworded"
NOT_APPLIED = "not applied"


def edit_categories_table(groups: Sequence[EditGroup]) -> Table:
    """Edits by category and severity of the errors that they correct; the last columns are of all severities."""
    rows_by_category: dict[str, Counter[str]] = {}
    totals = Counter[str]()
    for group in groups:
        counts = Counter({group.severity or NO_SEVERITY: group.applied, NOT_APPLIED: group.others})
        rows_by_category.setdefault(group.category or NO_ERROR, Counter()).update(counts)
        totals.update(counts)
    names = [name for name in (*_WORST_FIRST, NO_SEVERITY, NOT_APPLIED) if totals[name]]
    rows = []
    for category, counts in rows_by_category.items():
        cells = [f"{counts[name]:,}" for name in names]
        rows.append((category, *cells, f"{counts.total():,}"))
    note = "the columns of severities count applied edits"
    return Table("Edits by category and severity", ("category", *names, "all edits"), tuple(rows), note)


def few_rated(marks: Marks) -> dict[str, str]:
    """A remark by stage with too few rated texts: ``only 36 of 63 texts were rated after post-editing``."""
    remarks = {}
    for stage in marks.stages:
        rated = marks.rated[stage.stage]
        if rated and stage not in marks.comparable:
            after = _AFTER.get(stage.stage, stage.stage)
            remarks[stage.stage] = f"only {rated:,} of {stage.segments:,} texts were rated {after}"
    return remarks


def _note(marks: Marks) -> str:
    """A remark if the rates of the stages are based on different texts."""
    notes = [f"{words}: not comparable" for words in few_rated(marks).values()]
    if len({stage.marked for stage in marks.comparable if stage.marked}) > 1:
        notes.append("not all stages have the same texts rated")
    return "; ".join(notes)


def marks_table(marks: Marks) -> Table:
    """Errors by stage and severity; only mean scores if the evaluator marks no spans.

    A stage with fewer rated texts than the first one has no numbers, since these could not be compared.
    """
    incomparable = few_rated(marks)
    # The longest bar is the highest number of errors per text.
    most = 0.0
    for stage in marks.comparable:
        for number in stage.by_severity.values():
            if stage.marked:
                most = max(most, number / stage.marked)
    rows: list[Sequence[Cell]] = []
    for stage in marks.stages:
        is_comparable = stage.stage not in incomparable
        cells: list[Cell] = [stage_name(stage.stage), f"{stage.segments:,}", f"{stage.rated:,}"]
        cells.append(score(stage.mean, 3) if stage.rated and is_comparable else "")
        if stage.marked and is_comparable:
            severities = stage.by_severity
            cells.append(f"{stage.error_free:,}")
            for severity, number in severities.items():
                text = f"{number:,}"
                cells.append((text, Bar(0, number / stage.marked / most, severity)) if most else text)
            cells.append(f"{100 * sum(severities.values()) / stage.marked:.1f}")
        else:
            cells += [""] * (len(_WORST_FIRST) + 2)
        rows.append(cells)
    head = ("texts", "segments", "rated", "mean score", "error-free", *_WORST_FIRST, "per 100 texts")
    return _table(f"Errors marked by {marks.evaluator}", head, rows, _note(marks))


def categories_table(marks: Marks) -> Table:
    """Errors per 100 texts by category and stage, most frequent first, for the stages that can be compared."""
    stages = marks.comparable
    frequency: dict[str, int] = {}
    for stage in stages:
        for name, severities in stage.errors.items():
            frequency[name] = max(frequency.get(name, 0), sum(severities.values()))
    most = max((stage.per_hundred(name) for stage in stages for name in frequency), default=0.0)
    rows: list[Sequence[Cell]] = []
    for name in sorted(frequency, key=lambda name: (-frequency[name], name)):
        cells: list[Cell] = [name]
        for stage in stages:
            rate = stage.per_hundred(name)
            text = f"{rate:.1f}"
            cells.append((text, Bar(0, rate / most, "mark")) if most else text)
        rows.append(cells)
    head = ("category", *(stage_name(stage.stage) for stage in stages))
    title = f"Errors per 100 texts, by category, marked by {marks.evaluator}"
    return _table(title, head, rows, _note(marks))


def spread_table(spread: Spread) -> Table:
    """Segments by difference, worst first, with zero by itself."""
    below, above = ("worse", "better") if spread.higher_is_better else ("better", "worse")
    counts = []
    for bin_ in spread.bins:
        if bin_.high <= 0:
            counts.append((f"from {_edge(bin_.low)} to below {_edge(bin_.high)}", bin_.segments, below))
    counts.append(("0 (another text)", spread.equal - spread.same_text, "untouched"))
    counts.append(("0 (the same text)", spread.same_text, "untouched"))
    for bin_ in spread.bins:
        if bin_.high > 0:
            counts.append((f"above {_edge(bin_.low)} to {_edge(bin_.high)}", bin_.segments, above))
    if spread.unknown:
        counts.append((UNKNOWN, spread.unknown, "idle"))
    most = max(count for _, count, _ in counts) or 1
    rows: list[Sequence[Cell]] = []
    for words, count, colour in counts:
        rows.append((words, f"{count:,}", (share(count, spread.segments), Bar(0, count / most, colour))))
    title = f"Differences of the segments' own {spread.metric}: {spread.row} against {spread.former}"
    return _table(title, ("difference", "segments", "share"), rows, _spread_note(spread))


def _spread_note(spread: Spread) -> str:
    note = f"{spread.worse:,} worse, {spread.equal:,} equal, {spread.better:,} better"
    if spread.unknown:
        note += f", {spread.unknown:,} unknown"
    if not spread.quantiles or spread.mean is None:
        return f"{note}; no score is known"
    low, _, middle, _, high = (signed(value, spread.digits) for value in spread.quantiles)
    note += f"; mean {signed(spread.mean, spread.digits)}, median {middle}"
    if spread.quantiles[0] != spread.quantiles[-1]:
        note += f"; nine tenths between {low} and {high}"
    return note


def _edge(value: float) -> str:
    return f"{value:+.6g}" if value else "0"


def worst_table(spread: Spread) -> Table:
    """The segments with the largest losses."""
    width = spread.digits
    rows = []
    for change in spread.worst:
        former, after = score(change.former, width), score(change.score, width)
        rows.append((change.segment, former, after, signed(change.difference, width)))
    head = ("segment", spread.former, spread.row, spread.metric)
    return Table(f"What got worse: {spread.row}", head, tuple(rows))


def costly_table(costly: Sequence[Costly]) -> Table:
    """The most costly segments."""
    rows = []
    for segment in costly:
        usage = segment.usage
        cells = (segment.segment, dollars(usage.cost), f"{usage.tokens:,}", f"{usage.calls:,}")
        rows.append((*cells, f"{segment.seconds:.1f}"))
    return Table("Most costly segments", ("segment", "dollars", "tokens", "calls", "seconds"), tuple(rows))


def failures_table(failures: Sequence[FailedSegment]) -> Table:
    """The first segments that failed, and why."""
    rows = []
    for failure in failures:
        reason = failure.reason
        if len(reason) > _SHORTENED:
            reason = f"{reason[:_SHORTENED]}…"
        rows.append((failure.segment, stage_name(failure.stage), reason))
    return Table("Failed segments", ("segment", "stage", "error"), tuple(rows), labels=3)
