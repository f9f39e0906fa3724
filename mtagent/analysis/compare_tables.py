"""A comparison as tables for people, as JSON with everything but the texts, and as a flat table (CSV, TSV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from mtagent.analysis.compare import Cell, ComparedTexts, PartScores, RunComparison
from mtagent.analysis.review_summary import ReviewSummary
from mtagent.analysis.score import digits, tested
from mtagent.analysis.staged_run import USAGE_COUNTS
from mtagent.chain.fates import SEGMENT_OUTCOMES
from mtagent.formats.files import dumped
from mtagent.formats.ratings import FINAL
from mtagent.metrics.significance import SIGNIFICANT
from mtagent.records import Usage
from mtagent.text import table
from mtagent.text.amounts import NOTHING, UNKNOWN, counted, dollars, seconds, signed
from mtagent.text.table import Table

MOST_PARTS = 20
"""Parts of one grouping that a table for people shows; JSON and CSV have all."""
_RARE_OUTCOMES = ("reverted", "triaged", "idle")
"""They have a column only where a row counts some."""
_HEADS = {"triaged": "left alone by triage", "idle": "not run"}


def shown(comparison: RunComparison, form: str = "text", width: int | None = None, **more: Any) -> str:
    """The tables as ``text``, ``markdown`` or ``latex``, followed by signatures, the test and warnings.

    ``width`` is the number of digits after the point; by default each metric has its own.
    """
    return table.FORMS[form](tables(comparison, width), below(comparison), comparison.warnings, **more)


def tables(comparison: RunComparison, width: int | None = None) -> list[Table]:
    """The tables of ``comparison`` that are not empty."""
    widths = digits_of(comparison, width)
    ter_width = 2 if width is None else width
    all_tables = [
        _scores(comparison, widths),
        _edits(comparison, widths, ter_width),
        _outcomes(comparison),
        _costs(comparison),
        *review_tables(comparison),
    ]
    for grouping in comparison.parts or {}:
        all_tables.append(_parts(comparison, grouping, widths))
    return [table for table in all_tables if table.rows and len(table.head) > table.labels]


def below(comparison: RunComparison) -> list[str]:
    """The lines below the tables: signatures, and the test."""
    lines = list(comparison.signatures)
    was_tested = any(cell.p_value is not None for row in comparison.rows for cell in row.cells)
    if comparison.resampling and was_tested:
        lines.append(f"p: each row against {comparison.rows[0].name}: {comparison.resampling.description}")
    return lines


def digits_of(comparison: RunComparison, width: int | None = None) -> list[int]:
    """The digits after the point for each metric: ``width``, or what suits it."""
    widths = []
    for cells in zip(*(row.cells for row in comparison.rows), strict=True):
        widths.append(digits([cell.score for cell in cells], width))
    return widths


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _scores(comparison: RunComparison, widths: Sequence[int]) -> Table:
    """The scores of each row, with the difference to its former row, and the p-value of the difference to the first."""
    first = comparison.rows[0]
    rows = []
    for row in comparison.rows:
        cells = [row.name]
        for cell, first_cell, width in zip(row.cells, first.cells, widths, strict=True):
            brackets = []
            if cell.difference is not None:
                brackets.append(f"({signed(cell.difference, width)})")
            if cell.p_value is not None:
                p_value = f"p = {cell.p_value:.4f}"
                if row.former != first.name:
                    # The difference in the brackets before is to another row than the tested one.
                    tested_difference = signed(cell.score.value - first_cell.score.value, width)
                    p_value = f"{tested_difference} to {first.name}: {p_value}"
                mark = "*" if cell.p_value < SIGNIFICANT else ""
                brackets.append(f"({p_value}){mark}")
            cells.append(tested(cell.score.value, cell.interval, None, width, *brackets))
        rows.append(tuple(cells))
    notes = []
    if len(rows) > 1:
        notes.append("in brackets: the difference to the row before")
        for before, row in pairwise(comparison.rows):
            if row.former not in (None, before.name):
                notes.append(f"{row.name}: to {row.former}")
    title = f"scores of {len(comparison.segments)} segments"
    return Table(title, ("row", *comparison.metrics), tuple(rows), "; ".join(notes))


def _edits(comparison: RunComparison, widths: Sequence[int], ter_width: int) -> Table:
    metric = comparison.deciding
    gain_width = 2 if comparison.place is None else widths[comparison.place]
    head = ["row", "from", "TER", "characters", "changed"]
    note = ""
    if metric:
        head += ["regressed", "gain/TER"]
        note = f"regressed: {metric} of the segment got worse; gain/TER: {metric} gained per point of TER"
    rows = []
    for row in comparison.rows:
        moved = row.moved
        if moved is None:
            continue
        cells = [row.name, row.former or "", f"{moved.ter:.{ter_width}f}", f"{moved.characters:,}"]
        cells.append(_share(moved.changed))
        if metric:
            cells.append(NOTHING if moved.regressed is None else _share(moved.regressed))
            cells.append(NOTHING if moved.gain_to_edit is None else signed(moved.gain_to_edit, gain_width))
        rows.append(tuple(cells))
    return Table("edits from the former row", tuple(head), tuple(rows), note, labels=2)


def _outcomes(comparison: RunComparison) -> Table:
    rows = [(row.name, row.outcomes) for row in comparison.rows if row.outcomes is not None]
    shown_outcomes = []
    head = ["row"]
    for name in SEGMENT_OUTCOMES:
        if name not in _RARE_OUTCOMES or any(getattr(outcomes, name) for _, outcomes in rows):
            shown_outcomes.append(name)
            head.append(_HEADS.get(name, name))
    head.append("edits")
    notes = []
    if any(row.stage == FINAL for row in comparison.rows):
        notes.append("of final, kept: changed by any stage")
    body = []
    for row_name, outcomes in rows:
        cells = [row_name]
        for name in shown_outcomes:
            count = getattr(outcomes, name)
            cells.append(f"{count} ({_share(count / len(comparison.segments))})")
        edits = outcomes.edits or {}
        cells.append(f"{edits.get('applied', 0)} of {sum(edits.values())}")
        body.append(tuple(cells))
        if outcomes.failed_changed:
            notes.append(
                f"of the {outcomes.failed} failed of {row_name}, {outcomes.failed_changed} changed before they failed"
            )
    return Table("outcomes: segments, and edits that stand", tuple(head), tuple(body), "; ".join(notes))


def _usage_cells(usage: Usage) -> list[str]:
    cells = [str(usage.calls)]
    for tokens in (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens):
        cells.append(f"{tokens:,}")
    return [*cells, dollars(usage.cost)]


def _costs(comparison: RunComparison) -> Table:
    costs = [row.cost for row in comparison.rows if row.cost is not None]
    has_nominal = any(cost.nominal.calls > cost.usage.calls for cost in costs)
    rows = []
    for row in comparison.rows:
        if row.cost is None:
            continue
        cells = [row.name, *_usage_cells(row.cost.usage)]
        if has_nominal:
            cells += _usage_cells(row.cost.nominal)
        for amount in (row.cost.per_kept_edit, row.cost.per_point):
            if row.cost.nominal.cost is None:
                cells.append(UNKNOWN)
            elif amount is None:
                cells.append(NOTHING)
            else:
                cells.append(dollars(amount))
        cells.append(f"{row.cost.seconds:.1f}")
        rows.append(tuple(cells))
    head = ["row", "calls", "input", "cached", "output", "reasoning", "dollars"]
    note = f"dollars {comparison.prices}"
    if has_nominal:
        head += [f"nominal {name}" for name in head[1:]]
        note += "; nominal: with the replies that came from the store, as other runs paid for them"
    head += ["per kept edit", "per point", "seconds"]
    if comparison.deciding:
        note += f"; per point of {comparison.deciding} gained"
    title = "costs: tokens (input with cached, output with reasoning) and dollars"
    return Table(title, tuple(head), tuple(rows), note)


def review_tables(comparison: RunComparison) -> list[Table]:
    """For each reviewed run, how far people agree with the machine, edit by edit."""
    return [_review_table(run, review) for run, review in (comparison.reviews or {}).items()]


def _review_table(run: str, review: ReviewSummary) -> Table:
    rows = []
    for group in review.agreements:
        grouping = "" if group.grouping == "all" else group.grouping
        kept = f"{group.kept_wanted} of {group.kept}" if group.kept else NOTHING
        refused = f"{group.refused_wanted} of {group.refused}" if group.refused else NOTHING
        rows.append((grouping, group.name, str(group.edits), _share(group.share), kept, refused))
    note = f"{counted(review.segments, 'segment')} decided on, {review.approved} completely"
    note += f", {review.own} with an own text; {review.characters:,} characters changed"
    if review.timed:
        mean = seconds(review.seconds / review.timed)
        note += f"; {mean} a decision ({counted(review.timed, 'decision')} timed)"
    head = ("by", "", "edits", "agree", "kept and wanted", "refused and wanted")
    return Table(f"review of {run}: how often people agree with the machine", head, tuple(rows), note, labels=2)


def _parts(comparison: RunComparison, grouping: str, widths: Sequence[int]) -> Table:
    parts = (comparison.parts or {})[grouping]
    shown_parts: Sequence[PartScores] = parts
    note = ""
    if len(parts) > MOST_PARTS:
        shown_parts = sorted(parts, key=lambda part: -part.segments)[:MOST_PARTS]
        note = f"{len(parts) - MOST_PARTS} more, the smaller ones, are not shown: -f json and -f csv have all"
    rows = []
    for part in shown_parts:
        name = " ".join(part.name.split())
        size = str(part.segments)
        for row, scores in zip(comparison.rows, part.scores, strict=True):
            cells = [name, row.name, size]
            for score, width in zip(scores, widths, strict=True):
                cells.append(f"{score:.{width}f}")
            rows.append(tuple(cells))
            name = size = ""  # only the first row of a part names it
    return Table(f"by {grouping}", (grouping, "row", "segments", *comparison.metrics), tuple(rows), note, labels=2)


def as_json(comparison: RunComparison) -> str:
    """One object. ``null`` means missing, not finite, or (dollars) unknown."""
    return dumped(as_data(comparison), indent=1)


def as_data(comparison: RunComparison) -> dict[str, Any]:
    """The object of :func:`as_json`, in which records are not plain data yet."""
    rows = []
    for row in comparison.rows:
        rows.append(
            {
                "name": row.name,
                "run": row.run,
                "stage": row.stage,
                "former": row.former,
                "scores": [_cell_data(cell) for cell in row.cells],
                "moved": row.moved,
                "outcomes": row.outcomes,
                "cost": _cost(row),
            }
        )
    parts = {}
    for grouping, parts_of_grouping in (comparison.parts or {}).items():
        parts[grouping] = [_part_data(part, comparison) for part in parts_of_grouping]
    return {
        "segments": comparison.segments,
        "source_lang": comparison.source_lang,
        "target_lang": comparison.target_lang,
        "metrics": comparison.metrics,
        "deciding": comparison.deciding,
        "resampling": comparison.resampling,
        "rows": rows,
        "parts": parts,
        "prices": comparison.prices,
        "signatures": comparison.signatures,
        "warnings": comparison.warnings,
        "reviews": comparison.reviews or {},
    }


def _cell_data(cell: Cell) -> dict[str, Any]:
    return {
        "metric": cell.score.metric,
        "score": cell.score.value,
        "difference": cell.difference,
        "interval": cell.interval,
        "p_value": cell.p_value,
        "higher_is_better": cell.score.higher_is_better,
        "signature": cell.score.signature,
        "segment_signature": cell.score.segment_signature or cell.score.signature,
        "segments": cell.score.segments,
    }


def _part_data(part: PartScores, comparison: RunComparison) -> dict[str, Any]:
    scores = {}
    for row, row_scores in zip(comparison.rows, part.scores, strict=True):
        scores[row.name] = dict(zip(comparison.metrics, row_scores, strict=True))
    return {"part": part.name, "segments": part.segments, "scores": scores}


def _cost(row: ComparedTexts) -> dict[str, Any] | None:
    if row.cost is None:
        return None
    return {
        "paid": _usage_data(row.cost.usage),
        "nominal": _usage_data(row.cost.nominal),
        "dollars_per_kept_edit": row.cost.per_kept_edit,
        "dollars_per_point": row.cost.per_point,
        "seconds": row.cost.seconds,
    }


def _usage_data(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in USAGE_COUNTS} | {"dollars": usage.cost}


def flat(comparison: RunComparison, delimiter: str = ",") -> str:
    """A line for each row, and for each row of each part; ``grouping`` and ``part`` are empty for all segments.

    An empty cell means that there is no value; unknown dollars are ``unknown``. Formulas are guarded as in
    :func:`mtagent.text.table.as_csv`.
    """
    number = len(comparison.segments)
    lines = [_flat_row(row, number) for row in comparison.rows]
    for grouping, parts in (comparison.parts or {}).items():
        for part in parts:
            for row, scores in zip(comparison.rows, part.scores, strict=True):
                line = {"grouping": grouping, "part": part.name, "segments": part.segments, "row": row.name}
                line |= {"run": row.run, "stage": row.stage}
                line |= dict(zip(comparison.metrics, scores, strict=True))
                lines.append(line)
    columns: dict[str, None] = {}
    for line in lines:
        columns |= dict.fromkeys(line)
    columns["guarded"] = None
    return "".join(table.as_csv([*columns], lines, delimiter)).rstrip("\n")


def _flat_row(row: ComparedTexts, segments: int) -> dict[str, Any]:
    """The cells of one row by column; each row has the columns of what it knows."""
    line: dict[str, Any] = {"grouping": "", "part": "", "segments": segments, "row": row.name}
    line |= {"run": row.run, "stage": row.stage, "former": row.former}
    for cell in row.cells:
        metric = cell.score.metric
        line |= {metric: cell.score.value, f"{metric} difference": cell.difference}
        if cell.interval:
            for name, value in cell.interval._asdict().items():
                line[f"{metric} {name}"] = value
        if cell.p_value is not None:
            line[f"{metric} p"] = cell.p_value
        line[f"{metric} signature"] = cell.score.signature
    if row.moved:
        for name, value in asdict(row.moved).items():
            line[f"moved {name}"] = value
    if row.outcomes:
        edits = row.outcomes.edits or {}
        for name in (*SEGMENT_OUTCOMES, "failed_changed"):
            line[name] = getattr(row.outcomes, name)
        line |= {"edits": sum(edits.values()), "edits applied": edits.get("applied", 0)}
    cost = _cost(row)
    if cost is not None:
        line |= cost.pop("paid")
        for name, value in cost.pop("nominal").items():
            line[f"nominal {name}"] = value
        line |= cost
        for name in ("dollars", "nominal dollars"):
            if line[name] is None:
                line[name] = UNKNOWN
        if line["nominal dollars"] == UNKNOWN:
            line |= {"dollars_per_kept_edit": UNKNOWN, "dollars_per_point": UNKNOWN}
    return line
