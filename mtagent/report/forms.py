"""A report in plain forms: Markdown to read, CSV for a spreadsheet, JSON for programs. All come in pieces of text."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mtagent.analysis import compare_tables
from mtagent.analysis.compare_tables import as_data
from mtagent.analysis.comparison import Comparison
from mtagent.formats.json_text import dumped
from mtagent.formats.jsonl import details
from mtagent.formats.ratings import GIVEN
from mtagent.records import Chain, Step, Usage
from mtagent.report.figures import (
    KINDS,
    Change,
    Costly,
    Costs,
    Failure,
    Figures,
    Flow,
    Marks,
    SegmentScores,
    Spread,
    fate,
    final_fate,
)
from mtagent.report.plots import (
    NOT_COMPARABLE,
    UNKNOWN,
    categories,
    dollars,
    few_rated,
    number,
    per_hundred,
    score,
    segments,
    share,
    signed,
    stage_name,
)
from mtagent.text.escaping import harmless
from mtagent.text.table import Table, escaped, markdown

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


_UNPLACED = ("not-found", "ambiguous", "overlapping", "unchanged")
_TOKENS = ("calls", "reused", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_EDITS = ("edits applied", "edits refused", "edits rejected", "edits unplaced", "edits reverted")
GUARDED = ("id", "document", "domain", "reason", "text")
"""The columns with free text, which are guarded."""

Line = dict[str, str | int | float | None]


def as_csv(
    run: str,
    chains: Iterable[Chain],
    comparison: Comparison | None = None,
    *,
    texts: bool = True,
    guarded: bool = True,
) -> Iterator[str]:
    """The header, then a line for the given translation (stage ``given``) and one for each step of each chain.

    ``run`` is the name of the run in ``comparison``, which brings the scores of the segments. An empty cell is what
    there is not; dollars that are not known are ``unknown``. Verdict and reason are the records' own, ``outcome`` is
    the group in which the report counts the segment. ``texts`` adds the accepted text, ``guarded=False`` leaves cells
    as they are. Each piece is one line.
    """
    scores = SegmentScores(run, comparison)
    columns = _columns(scores.metrics, texts, guarded)
    yield _written(columns)
    for chain in chains:
        for line in _lines(chain, scores):
            cells = _guard(line) if guarded else line
            yield _written([_cell(cells.get(column)) for column in columns])


def _columns(metrics: Sequence[str], texts: bool, guarded: bool) -> list[str]:
    scores = [name for metric in metrics for name in (metric, f"{metric} difference")]
    columns = ["id", "document", "domain", "stage", "verdict", "outcome", "reason", *(["text"] if texts else [])]
    return [*columns, *scores, *_EDITS, *_TOKENS, "dollars", "seconds", *(["guarded"] if guarded else [])]


def _lines(chain: Chain, scores: SegmentScores) -> Iterator[Line]:
    segment, last = chain.segment, chain.by_stage()
    about: Line = {"id": segment.id, "document": segment.document, "domain": segment.domain}
    if segment.translation is not None or not chain.steps:
        yield {**about, "stage": GIVEN, "text": segment.translation, **scores.of(segment.id, GIVEN)}
    for step in chain.steps:
        found = scores.of(segment.id, step.stage) if last[step.stage] is step else {}
        yield {**about, **_step(step), **found}


def _step(step: Step) -> Line:
    outcomes = Counter[str](edit.outcome for edit in step.edits)
    counts = [outcomes["applied"], outcomes["refused"], outcomes["rejected"]]
    counts += [sum(outcomes[name] for name in _UNPLACED), outcomes["reverted"]]
    said: Line = {"stage": step.stage, "verdict": step.verdict, "reason": step.reason, "text": step.text}
    kind, why = fate(step)
    return said | {"outcome": f"{KINDS[kind]}: {why}"} | dict(zip(_EDITS, counts, strict=True)) | _paid(step)


def _paid(step: Step) -> Line:
    usage: Usage = step.usage
    dollars = UNKNOWN if usage.cost is None else usage.cost
    return {name: getattr(usage, name) for name in _TOKENS} | {"dollars": dollars, "seconds": round(step.seconds, 3)}


def _guard(line: Line) -> Line:
    """``line`` with what a spreadsheet would run, or what UTF-8 cannot hold, made harmless, and named."""
    made = {name: harmless(str(line[name])) for name in GUARDED if line.get(name) is not None}
    return line | made | {"guarded": " ".join(name for name in made if made[name] != line[name])}


def _cell(value: str | int | float | None) -> str:
    """A float as Python writes it, so that it reads back as the same number."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _written(cells: Sequence[str]) -> str:
    """One line with its end. A lone CR in a cell is quoted only where CR is part of the line's end."""
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\r\n").writerow(cells)
    return sheet.getvalue()[:-2] + "\n"


VERSION = 1


def as_json(run: str, chains: Iterable[Chain], figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """One object in pieces: the head, a line for each segment, the end. ``chains`` is read once."""
    head = {"version": VERSION, "run": run, "figures": figures, "comparison": comparison and as_data(comparison)}
    yield dumped(head)[:-1] + ', "segments": ['
    scores, separator = SegmentScores(run, comparison), "\n"
    for chain in chains:
        yield separator + dumped(_segment(chain, scores))
        separator = ",\n"
    yield "\n]}\n"


def _segment(chain: Chain, scores: SegmentScores) -> dict[str, Any]:
    own = chain.segment.id
    rows = scores.rows_of(own)
    return {
        **details(chain),
        "fates": {stage: fate(step) for stage, step in chain.by_stage().items()} | {"final": final_fate(chain)},
        "scores": {name: scores.of_row(own, row) for name, row in rows.items()},
        "others": {row.name: scores.text(own, row) for row in scores.others if row.name in rows},
    }


def as_markdown(run: str, figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """The summary: tables, and short lists of what got worse, cost most, and failed. Each piece ends a block."""
    yield f"# Report of the run {escaped(run)}\n\n{_counts(figures.flow)}\n"
    if comparison is not None:
        below = compare_tables.below(comparison)
        yield f"\n{markdown(compare_tables.tables(comparison), below, comparison.warnings, level=2)}\n"
    yield from _section(flow_table(figures.flow))
    yield from _section(edits_table(figures.flow))
    for marks in figures.marks:
        yield from _section(marks_table(marks), f"Signature: {escaped(marks.signature)}" if marks.signature else "")
    spread = of_run(figures.spreads, run, comparison)
    if spread is not None:
        yield from _section(spread_table(spread))
        yield from _section(worst_table(spread), _more(spread.worse, len(spread.worst)))
    yield from _section(costly_table(figures.costly))
    failed = sum(stage.of("failed") for stage in figures.flow.stages if stage.stage == "final")
    yield from _section(failures_table(figures.failures), _more(failed, len(figures.failures)))


def of_run(spreads: tuple[Spread, ...], run: str, comparison: Comparison | None) -> Spread | None:
    """The differences on the whole way of ``run``; of its last stage where there are none of its final texts."""
    own = {row.name for row in comparison.rows if row.run == run} if comparison else set()
    return next((spread for spread in reversed(spreads) if spread.row in own), None)


def _counts(flow: Flow) -> str:
    return f"{segments(flow.segments)}, {number(flow.given)} of them with a given translation."


def _section(table: Table, below: str = "") -> Iterator[str]:
    """A heading and a table; nothing where the table is empty."""
    if table.rows:
        yield f"\n{markdown([table], level=2)}\n" + (f"\n{below}\n" if below else "")


def _more(count: int, shown: int) -> str:
    return f"… and {number(count - shown)} more." if count > shown else ""
