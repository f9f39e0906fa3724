"""A comparison for programs: JSON with everything but the texts, and a flat table (CSV, TSV). Nothing is rounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from mtagent.analysis.comparison import Cell, Comparison, Cost, Moved, Outcomes, Part, Row
from mtagent.analysis.score import digits, tested
from mtagent.analysis.table import Table
from mtagent.formats.json_text import dumped
from mtagent.formats.ratings import FINAL
from mtagent.metrics.significance import SIGNIFICANT
from mtagent.text.escaping import harmless

NOTHING, UNKNOWN = "-", "unknown"
MOST_PARTS = 20
"""Parts of one grouping that a table for people shows; JSON and CSV have all."""


def tables(comparison: Comparison, width: int | None = None) -> list[Table]:
    """The tables of ``comparison``; those that would be empty are left out.

    ``width`` is the digits of scores, of their differences and intervals; by default each metric has its own.
    """
    found = [_scores(comparison, width), _edits(comparison, width), _outcomes(comparison), _costs(comparison)]
    found += [
        _parts(comparison, name, of, digits_of(comparison, width)) for name, of in (comparison.parts or {}).items()
    ]
    return [table for table in found if table.rows and len(table.head) > table.labels]


def below(comparison: Comparison) -> list[str]:
    """The lines below the tables: signatures, and what the test was."""
    return [*comparison.signatures, *_test(comparison)]


def digits_of(comparison: Comparison, width: int | None = None) -> list[int]:
    """The digits of each metric's scores: ``width``, or what suits the metric."""
    columns = zip(*(row.cells for row in comparison.rows), strict=True)
    return [digits((cell.score for cell in cells), width) for cells in columns]


def signed(number: float, width: int = 2) -> str:
    """``+0.42`` or ``-0.42``; nothing is ``+0.00``."""
    text = f"{number:+.{width}f}"
    return text.replace("-", "+") if float(text) == 0 else text


def dollars(amount: float | None) -> str:
    """``$0.012345``, ``$12.3456``, ``$0``, ``< $0.000001``; ``unknown`` where the price is not known."""
    if not amount:
        return UNKNOWN if amount is None else "$0"
    if amount < 5e-7:
        return "< $0.000001"
    return f"${amount:,.4f}" if amount >= 1 else f"${amount:.6f}"


def _test(comparison: Comparison) -> list[str]:
    how, tested = comparison.resampling, any(c.p_value is not None for row in comparison.rows for c in row.cells)
    if how is None or not tested:
        return []
    return [f"p: each row against {comparison.rows[0].name}: {how.told}"]


def _scores(comparison: Comparison, width: int | None) -> Table:
    widths = digits_of(comparison, width)
    rows = tuple(
        (row.name, *(_tested(comparison, row, place, width) for place, width in enumerate(widths)))
        for row in comparison.rows
    )
    note = (
        "" if len(rows) < 2 else f"in brackets: the difference to the row before; {_exceptions(comparison)}".strip("; ")
    )
    return Table(f"scores of {len(comparison.segments)} segments", ("row", *comparison.metrics), rows, note)


def _exceptions(comparison: Comparison) -> str:
    """``final: to given; other.txt: to given``: the rows that go by another one than that above them."""
    rows = comparison.rows
    return "; ".join(
        f"{row.name}: to {row.former}" for before, row in pairwise(rows) if row.former not in (None, before.name)
    )


def _tested(comparison: Comparison, row: Row, place: int, width: int) -> str:
    return _cell(row.cells[place], width) + significance(comparison, row, place, width)


def _cell(cell: Cell, width: int) -> str:
    more = [] if cell.difference is None else [f"({signed(cell.difference, width)})"]
    return tested(cell.score.value, cell.interval, None, width, *more)


def significance(comparison: Comparison, row: Row, place: int, width: int = 2) -> str:
    """`` (p = 0.0040)*`` beside the difference to the first row; where the row goes by another one, with that one."""
    cell, first = row.cells[place], comparison.rows[0]
    if cell.p_value is None:
        return ""
    apart = signed(cell.score.value - first.cells[place].score.value, width)
    about = "" if row.former == first.name else f"{apart} to {first.name}: "
    return f" ({about}p = {cell.p_value:.4f})" + ("*" if cell.p_value < SIGNIFICANT else "")


def _edits(comparison: Comparison, width: int | None) -> Table:
    own = dict(zip(comparison.metrics, digits_of(comparison, width), strict=True))
    ter, gain = 2 if width is None else width, own.get(comparison.deciding or "", 2)
    decided = ("regressed", "gain/TER") if comparison.deciding else ()
    head = ("row", "from", "TER", "characters", "changed", *decided)
    rows = [(row, row.moved) for row in comparison.rows if row.moved is not None]
    found = tuple((row.name, row.former or "", *_way(moved, ter, gain)[: len(head) - 2]) for row, moved in rows)
    note = (
        f"regressed: {comparison.deciding} of the segment got worse; "
        f"gain/TER: {comparison.deciding} gained per point of TER"
    )
    return Table("edits from the former row", head, found, note if decided else "", labels=2)


def _way(moved: Moved, width: int, gain_width: int) -> tuple[str, ...]:
    gain = NOTHING if moved.gain_to_edit is None else signed(moved.gain_to_edit, gain_width)
    regressed = NOTHING if moved.regressed is None else _share(moved.regressed)
    return (f"{moved.ter:.{width}f}", f"{moved.characters:,}", _share(moved.changed), regressed, gain)


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


_VERDICTS = ("kept", "unchanged", "rejected", "failed", "reverted", "idle")


def _outcomes(comparison: Comparison) -> Table:
    rows = [(row, row.outcomes) for row in comparison.rows if row.outcomes is not None]
    rare = {name for name in ("reverted", "idle") if not any(getattr(found, name) for _, found in rows)}
    shown = [name for name in _VERDICTS if name not in rare]
    body = tuple(
        (row.name, *_verdicts(found, shown, len(comparison.segments)), *_of_edits(found)) for row, found in rows
    )
    note = "of final, kept: changed by any stage" if any(row.stage == FINAL for row, _ in rows) else ""
    head = ("row", *("not run" if name == "idle" else name for name in shown), "edits")
    return Table("outcomes: segments, and edits that stand", head, body, note)


def _verdicts(found: Outcomes, names: Sequence[str], total: int) -> Iterator[str]:
    for name in names:
        number = getattr(found, name)
        yield f"{number} ({_share(number / total)})"


def _of_edits(found: Outcomes) -> tuple[str]:
    edits: Mapping[str, int] = found.edits or {}
    return (f"{edits.get('applied', 0)} of {sum(edits.values())}",)


def _costs(comparison: Comparison) -> Table:
    head = (
        "row",
        "calls",
        "input",
        "cached",
        "output",
        "reasoning",
        "dollars",
        "per kept edit",
        "per point",
        "seconds",
    )
    rows = tuple((row.name, *_cost(row.cost)) for row in comparison.rows if row.cost is not None)
    note = f"dollars {comparison.prices}" + (
        f"; per point of {comparison.deciding} gained" if comparison.deciding else ""
    )
    return Table("costs: tokens (input with cached, output with reasoning) and dollars", head, rows, note)


def _cost(cost: Cost) -> tuple[str, ...]:
    usage = cost.usage
    tokens = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    each = (_each(one, usage.cost) for one in (cost.per_kept_edit, cost.per_point))
    return (str(usage.calls), *(f"{n:,}" for n in tokens), dollars(usage.cost), *each, f"{cost.seconds:.1f}")


def _each(amount: float | None, cost: float | None) -> str:
    """Dollars for one; nothing where there is not one, which is known also without a price only where it was free."""
    return UNKNOWN if cost is None else NOTHING if amount is None else dollars(amount)


def _parts(comparison: Comparison, grouping: str, parts: Sequence[Part], widths: Sequence[int]) -> Table:
    shown = sorted(parts, key=lambda part: -part.segments)[:MOST_PARTS] if len(parts) > MOST_PARTS else parts
    rows = [line for part in shown for line in _part(part, comparison.rows, widths)]
    left = len(parts) - len(shown)
    note = f"{left} more, the smaller ones, are not shown: -f json and -f csv have all" if left else ""
    return Table(f"by {grouping}", (grouping, "row", "segments", *comparison.metrics), tuple(rows), note, labels=2)


def _part(part: Part, rows: Sequence[Row], widths: Sequence[int]) -> Iterator[tuple[str, ...]]:
    for number, (row, scores) in enumerate(zip(rows, part.scores, strict=True)):
        name, size = (" ".join(part.name.split()), str(part.segments)) if number == 0 else ("", "")
        yield (name, row.name, size, *(f"{score:.{width}f}" for score, width in zip(scores, widths, strict=True)))


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
        "parts": {name: [_data_part(part, comparison) for part in of] for name, of in (comparison.parts or {}).items()},
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
        "scores": [_data_cell(cell) for cell in row.cells],
        "moved": row.moved and asdict(row.moved),
        "outcomes": row.outcomes and asdict(row.outcomes),
        "cost": _data_cost(row),
    }


def _data_cell(cell: Cell) -> dict[str, Any]:
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


def _data_cost(row: Row) -> dict[str, Any] | None:
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


def _data_part(part: Part, comparison: Comparison) -> dict[str, Any]:
    scores = {
        row.name: dict(zip(comparison.metrics, of, strict=True))
        for row, of in zip(comparison.rows, part.scores, strict=True)
    }
    return {"part": part.name, "segments": part.segments, "scores": scores}


def flat(comparison: Comparison, delimiter: str = ",") -> str:
    """A line for each row, and for each row in each part; the columns ``grouping`` and ``part`` are empty for all.

    An empty cell is what there is not; dollars that are not known are ``unknown``. A cell or column that a spreadsheet
    would run gets an apostrophe before it (:func:`mtagent.text.escaping.harmless`); the column ``guarded`` names these.
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
    found = _data_cost(row)
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
