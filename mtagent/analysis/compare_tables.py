"""A comparison as tables for people, as JSON with everything but the texts, and as a flat table (CSV, TSV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from mtagent.analysis.compare import Comparison, Row
from mtagent.analysis.review_summary import ReviewSummary
from mtagent.analysis.score import digits, tested
from mtagent.formats.json_text import dumped
from mtagent.formats.ratings import FINAL
from mtagent.metrics.significance import SIGNIFICANT
from mtagent.records import Usage
from mtagent.text import table
from mtagent.text.amounts import NOTHING, UNKNOWN, counted, dollars, seconds, signed
from mtagent.text.table import Table

MOST_PARTS = 20
"""Parts of one grouping that a table for people shows; JSON and CSV have all."""
_VERDICTS = ("kept", "unchanged", "rejected", "failed", "reverted", "triaged", "idle")
_SHOWN = {"triaged": "left alone by triage", "idle": "not run"}
_TOKENS = tuple(name for name in Usage.model_fields if name != "cost")


def shown(comparison: Comparison, form: str = "text", width: int | None = None, **more: Any) -> str:
    """The tables as ``text``, ``markdown`` or ``latex``, followed by signatures, the test and warnings.

    ``width`` is the number of digits after the point; by default each metric has its own.
    """
    return table.FORMS[form](tables(comparison, width), below(comparison), comparison.warnings, **more)


def tables(comparison: Comparison, width: int | None = None) -> list[Table]:
    """The tables of ``comparison`` that are not empty."""
    widths = digits_of(comparison, width)
    all_tables = [_scores(comparison, widths), _edits(comparison, widths, 2 if width is None else width)]
    all_tables += [_outcomes(comparison), _costs(comparison)]
    all_tables += [review_table(run, found) for run, found in (comparison.reviews or {}).items()]
    all_tables += [_parts(comparison, name, widths) for name in comparison.parts or {}]
    return [table for table in all_tables if table.rows and len(table.head) > table.labels]


def below(comparison: Comparison) -> list[str]:
    """The lines below the tables: signatures, and the test."""
    was_tested = any(cell.p_value is not None for row in comparison.rows for cell in row.cells)
    test = f"p: each row against {comparison.rows[0].name}: {comparison.resampling.description}" if (
        comparison.resampling and was_tested
    ) else ""  # fmt: skip
    return [*comparison.signatures, *filter(None, [test])]


def digits_of(comparison: Comparison, width: int | None = None) -> list[int]:
    """The digits after the point for each metric: ``width``, or what suits it."""
    columns = zip(*(row.cells for row in comparison.rows), strict=True)
    return [digits((cell.score for cell in cells), width) for cells in columns]


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _scores(comparison: Comparison, widths: Sequence[int]) -> Table:
    """The p-value is of the difference to the first row, which stands beside it where the row refers to another one."""
    first = comparison.rows[0]
    rows = []
    for row in comparison.rows:
        cells = []
        for cell, start, width in zip(row.cells, first.cells, widths, strict=True):
            more = [] if cell.difference is None else [f"({signed(cell.difference, width)})"]
            if cell.p_value is not None:
                apart = signed(cell.score.value - start.score.value, width)
                about = "" if row.former == first.name else f"{apart} to {first.name}: "
                more.append(f"({about}p = {cell.p_value:.4f})" + ("*" if cell.p_value < SIGNIFICANT else ""))
            cells.append(tested(cell.score.value, cell.interval, None, width, *more))
        rows.append((row.name, *cells))
    exceptions = [
        f"{row.name}: to {row.former}"
        for before, row in pairwise(comparison.rows)
        if row.former not in (None, before.name)
    ]
    note = "; ".join(["in brackets: the difference to the row before", *exceptions]) if len(rows) > 1 else ""
    return Table(f"scores of {len(comparison.segments)} segments", ("row", *comparison.metrics), tuple(rows), note)


def _edits(comparison: Comparison, widths: Sequence[int], ter_width: int) -> Table:
    metric = comparison.deciding
    gain_width = 2 if comparison.place is None else widths[comparison.place]
    rows = []
    for row in comparison.rows:
        if (moved := row.moved) is not None:
            cells = [row.name, row.former or "", f"{moved.ter:.{ter_width}f}", f"{moved.characters:,}"]
            cells.append(_share(moved.changed))
            if metric:
                cells.append(NOTHING if moved.regressed is None else _share(moved.regressed))
                cells.append(NOTHING if moved.gain_to_edit is None else signed(moved.gain_to_edit, gain_width))
            rows.append(tuple(cells))
    head = ("row", "from", "TER", "characters", "changed", *(("regressed", "gain/TER") if metric else ()))
    note = f"regressed: {metric} of the segment got worse; gain/TER: {metric} gained per point of TER" if metric else ""
    return Table("edits from the former row", head, tuple(rows), note, labels=2)


def _outcomes(comparison: Comparison) -> Table:
    rows = [(row.name, row.outcomes) for row in comparison.rows if row.outcomes is not None]
    names = [
        name
        for name in _VERDICTS
        if name not in ("reverted", "triaged", "idle") or any(getattr(outcomes, name) for _, outcomes in rows)
    ]
    body = []
    for name, outcomes in rows:
        counts = [getattr(outcomes, verdict) for verdict in names]
        edits = outcomes.edits or {}
        cells = (f"{count} ({_share(count / len(comparison.segments))})" for count in counts)
        body.append((name, *cells, f"{edits.get('applied', 0)} of {sum(edits.values())}"))
    notes = []
    if any(row.stage == FINAL for row in comparison.rows):
        notes.append("of final, kept: changed by any stage")
    for name, outcomes in rows:
        if outcomes.failed_changed:
            notes.append(
                f"of the {outcomes.failed} failed of {name}, {outcomes.failed_changed} changed before they failed"
            )
    note = "; ".join(notes)
    head = ("row", *(_SHOWN.get(name, name) for name in names), "edits")
    return Table("outcomes: segments, and edits that stand", head, tuple(body), note)


def _costs(comparison: Comparison) -> Table:
    rows = []
    for row in comparison.rows:
        if row.cost is not None:
            usage = row.cost.usage
            tokens = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
            each = (
                UNKNOWN if usage.cost is None else NOTHING if amount is None else dollars(amount)
                for amount in (row.cost.per_kept_edit, row.cost.per_point)
            )
            counts = (str(usage.calls), *(f"{number:,}" for number in tokens))
            rows.append((row.name, *counts, dollars(usage.cost), *each, f"{row.cost.seconds:.1f}"))
    head = (
        *("row", "calls", "input", "cached", "output", "reasoning"),
        *("dollars", "per kept edit", "per point", "seconds"),
    )
    gained = f"; per point of {comparison.deciding} gained" if comparison.deciding else ""
    note = f"dollars {comparison.prices}{gained}"
    return Table("costs: tokens (input with cached, output with reasoning) and dollars", head, tuple(rows), note)


def review_table(run: str, found: ReviewSummary) -> Table:
    """How far people agree with the machine, edit by edit."""
    rows = []
    for group in found.agreements:
        kept, refused = (
            f"{wanted} of {edits}" if edits else NOTHING
            for edits, wanted in ((group.kept, group.kept_wanted), (group.refused, group.refused_wanted))
        )
        about = "" if group.grouping == "all" else group.grouping
        rows.append((about, group.name, str(group.edits), _share(group.share), kept, refused))
    note = f"{counted(found.segments, 'segment')} decided on, {found.approved} approved, {found.own} with an own text"
    note += f"; {found.characters:,} characters changed"
    if found.timed:
        note += f"; {seconds(found.seconds / found.timed)} a decision ({counted(found.timed, 'decision')} timed)"
    head = ("by", "", "edits", "agree", "kept and wanted", "refused and wanted")
    return Table(f"review of {run}: how often people agree with the machine", head, tuple(rows), note, labels=2)


def _parts(comparison: Comparison, grouping: str, widths: Sequence[int]) -> Table:
    parts = (comparison.parts or {})[grouping]
    largest = sorted(parts, key=lambda part: -part.segments)[:MOST_PARTS] if len(parts) > MOST_PARTS else parts
    rows = []
    for part in largest:
        name, size = " ".join(part.name.split()), str(part.segments)
        for row, scores in zip(comparison.rows, part.scores, strict=True):
            cells = (f"{score:.{width}f}" for score, width in zip(scores, widths, strict=True))
            rows.append((name, row.name, size, *cells))
            name = size = ""
    left = len(parts) - len(largest)
    note = f"{left} more, the smaller ones, are not shown: -f json and -f csv have all" if left else ""
    return Table(f"by {grouping}", (grouping, "row", "segments", *comparison.metrics), tuple(rows), note, labels=2)


def as_json(comparison: Comparison) -> str:
    """One object. ``null`` means missing, not finite, or (dollars) unknown."""
    return dumped(as_data(comparison), indent=1)


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The object of :func:`as_json`."""
    rows = [
        {
            "name": row.name,
            "run": row.run,
            "stage": row.stage,
            "former": row.former,
            "scores": [
                {
                    "metric": cell.score.metric,
                    "score": cell.score.value,
                    "difference": cell.difference,
                    "interval": cell.interval and cell.interval._asdict(),
                    "p_value": cell.p_value,
                    "higher_is_better": cell.score.higher_is_better,
                    "signature": cell.score.signature,
                    "segment_signature": cell.score.segment_signature or cell.score.signature,
                    "segments": list(cell.score.segments),
                }
                for cell in row.cells
            ],
            "moved": row.moved and asdict(row.moved),
            "outcomes": row.outcomes and asdict(row.outcomes),
            "cost": _cost(row),
        }
        for row in comparison.rows
    ]
    parts = {
        grouping: [
            {
                "part": part.name,
                "segments": part.segments,
                "scores": {
                    row.name: dict(zip(comparison.metrics, scores, strict=True))
                    for row, scores in zip(comparison.rows, part.scores, strict=True)
                },
            }
            for part in of_grouping
        ]
        for grouping, of_grouping in (comparison.parts or {}).items()
    }
    return {
        "segments": list(comparison.segments),
        "source_lang": comparison.source_lang,
        "target_lang": comparison.target_lang,
        "metrics": list(comparison.metrics),
        "deciding": comparison.deciding,
        "resampling": comparison.resampling and comparison.resampling._asdict(),
        "rows": rows,
        "parts": parts,
        "prices": comparison.prices,
        "signatures": list(comparison.signatures),
        "warnings": list(comparison.warnings),
        "reviews": {run: asdict(found) for run, found in (comparison.reviews or {}).items()},
    }


def _cost(row: Row) -> dict[str, Any] | None:
    if row.cost is None:
        return None
    return {
        **{name: getattr(row.cost.usage, name) for name in _TOKENS},
        "dollars": row.cost.usage.cost,
        "dollars_per_kept_edit": row.cost.per_kept_edit,
        "dollars_per_point": row.cost.per_point,
        "seconds": row.cost.seconds,
    }


def flat(comparison: Comparison, delimiter: str = ",") -> str:
    """A line for each row, and for each row of each part; ``grouping`` and ``part`` are empty for all segments.

    An empty cell means that there is no value; unknown dollars are ``unknown``. Formulas are guarded as in
    :func:`mtagent.text.table.as_csv`.
    """
    lines: list[dict[str, Any]] = []
    for row in comparison.rows:
        line = {"grouping": "", "part": "", "segments": len(comparison.segments), "row": row.name}
        line |= {"run": row.run, "stage": row.stage, "former": row.former}
        for cell in row.cells:
            metric = cell.score.metric
            line |= {metric: cell.score.value, f"{metric} difference": cell.difference}
            if cell.interval:
                line |= {f"{metric} {name}": value for name, value in cell.interval._asdict().items()}
            if cell.p_value is not None:
                line[f"{metric} p"] = cell.p_value
            line[f"{metric} signature"] = cell.score.signature
        if row.moved:
            line |= {f"moved {name}": value for name, value in asdict(row.moved).items()}
        if row.outcomes:
            edits = row.outcomes.edits or {}
            line |= {name: getattr(row.outcomes, name) for name in (*_VERDICTS, "failed_changed")}
            line |= {"edits": sum(edits.values()), "edits applied": edits.get("applied", 0)}
        if cost := _cost(row):
            unknown = {name: UNKNOWN for name in cost if name.startswith("dollars") and cost["dollars"] is None}
            line |= cost | unknown
        lines.append(line)
    for grouping, parts in (comparison.parts or {}).items():
        for part in parts:
            for row, scores in zip(comparison.rows, part.scores, strict=True):
                where = {"grouping": grouping, "part": part.name, "segments": part.segments, "row": row.name}
                whose = {"run": row.run, "stage": row.stage}
                lines.append({**where, **whose, **dict(zip(comparison.metrics, scores, strict=True))})
    columns = [*dict.fromkeys(column for line in lines for column in line), "guarded"]
    return "".join(table.as_csv(columns, lines, delimiter)).rstrip("\n")
