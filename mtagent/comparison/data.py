"""A comparison for programs: JSON with everything but the texts, and a flat table (CSV, TSV). Nothing is rounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from mtagent.comparison.rows import Cell, Comparison, Part, Row
from mtagent.json_text import dumped
from mtagent.markup import harmless

_OUTCOMES = ("kept", "unchanged", "rejected", "failed", "reverted", "idle")
_TOKENS = ("calls", "reused", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def as_json(comparison: Comparison) -> str:
    """One object. ``null`` is what there is not, what is not finite, or (dollars) what is not known."""
    return dumped(as_data(comparison), indent=1)


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The same before it is written."""
    return {
        "segments": list(comparison.segments),
        "source_lang": comparison.source_lang,
        "target_lang": comparison.target_lang,
        "metrics": list(comparison.metrics),
        "deciding": comparison.deciding,
        "resampling": comparison.resampling and comparison.resampling._asdict(),
        "rows": [_row(row) for row in comparison.rows],
        "parts": {name: [_part(part, comparison) for part in of] for name, of in (comparison.parts or {}).items()},
        "prices": comparison.prices,
        "signatures": list(comparison.signatures),
        "warnings": list(comparison.warnings),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "run": row.run,
        "stage": row.stage,
        "former": row.former,
        "scores": [_cell(cell) for cell in row.cells],
        "moved": row.moved and asdict(row.moved),
        "outcomes": row.outcomes and asdict(row.outcomes),
        "cost": _cost(row),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    score = cell.score
    return {
        "metric": score.metric,
        "score": score.value,
        "difference": cell.difference,
        "interval": cell.interval and cell.interval._asdict(),
        "p_value": cell.p_value,
        "higher_is_better": score.higher_is_better,
        "signature": score.signature,
        "segment_signature": score.segment_signature or score.signature,
        "segments": list(score.segments),
    }


def _cost(row: Row) -> dict[str, Any] | None:
    if row.cost is None:
        return None
    usage = row.cost.usage
    return {
        **{name: getattr(usage, name) for name in _TOKENS},
        "dollars": usage.cost,
        "dollars_per_kept_edit": row.cost.per_kept_edit,
        "dollars_per_point": row.cost.per_point,
        "seconds": row.cost.seconds,
    }


def _part(part: Part, comparison: Comparison) -> dict[str, Any]:
    scores = {
        row.name: dict(zip(comparison.metrics, of, strict=True))
        for row, of in zip(comparison.rows, part.scores, strict=True)
    }
    return {"part": part.name, "segments": part.segments, "scores": scores}


def flat(comparison: Comparison, delimiter: str = ",") -> str:
    """A line for each row, and for each row in each part; the columns ``grouping`` and ``part`` are empty for all.

    An empty cell is what there is not; dollars that are not known are ``unknown``. A cell or column that a spreadsheet
    would run gets an apostrophe before it (:func:`mtagent.markup.harmless`); the column ``guarded`` names such cells.
    """
    lines = [_line(row, comparison) for row in comparison.rows]
    lines += [line for name, parts in (comparison.parts or {}).items() for line in _lines_of(name, parts, comparison)]
    lines = [_guarded(line) for line in lines]
    columns = [*dict.fromkeys(column for line in lines for column in line if column != "guarded"), "guarded"]
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, columns, delimiter=delimiter, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return sheet.getvalue().rstrip("\n")


def _guarded(line: dict[str, Any]) -> dict[str, Any]:
    """``line`` with what a spreadsheet would run made harmless, and named."""
    made = {harmless(name): harmless(value) if isinstance(value, str) else value for name, value in line.items()}
    return {
        **made,
        "guarded": " ".join(harmless(name) for name, value in line.items() if made[harmless(name)] != value),
    }


def _line(row: Row, comparison: Comparison) -> dict[str, Any]:
    line: dict[str, Any] = {"grouping": "", "part": "", "segments": len(comparison.segments), "row": row.name}
    line |= {"run": row.run, "stage": row.stage, "former": row.former}
    for cell in row.cells:
        line |= _flat_cell(cell)
    if row.moved:
        line |= {f"moved {name}": value for name, value in asdict(row.moved).items()}
    if row.outcomes:
        edits = row.outcomes.edits or {}
        line |= {name: getattr(row.outcomes, name) for name in _OUTCOMES}
        line |= {"edits": sum(edits.values()), "edits applied": edits.get("applied", 0)}
    return line | _flat_cost(row)


def _flat_cell(cell: Cell) -> dict[str, Any]:
    metric = cell.score.metric
    found: dict[str, Any] = {metric: cell.score.value, f"{metric} difference": cell.difference}
    if cell.interval:
        found |= {f"{metric} {name}": value for name, value in cell.interval._asdict().items()}
    if cell.p_value is not None:
        found[f"{metric} p"] = cell.p_value
    return {**found, f"{metric} signature": cell.score.signature}


def _flat_cost(row: Row) -> dict[str, Any]:
    found = _cost(row)
    if found is None:
        return {}
    unknown = found["dollars"] is None
    return {name: "unknown" if unknown and name.startswith("dollars") else value for name, value in found.items()}


def _lines_of(grouping: str, parts: tuple[Part, ...], comparison: Comparison) -> Iterator[dict[str, Any]]:
    for part in parts:
        for row, scores in zip(comparison.rows, part.scores, strict=True):
            where = {"grouping": grouping, "part": part.name, "segments": part.segments, "row": row.name}
            whose = {"run": row.run, "stage": row.stage}
            yield {**where, **whose, **dict(zip(comparison.metrics, scores, strict=True))}
