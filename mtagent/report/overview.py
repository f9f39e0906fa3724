"""The head of the page: the facts of a run, and the table of its stages, as they are printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mtagent import languages
from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.errors import ConfigError
from mtagent.records import Usage
from mtagent.report.verdict import dollars, number, p_text
from mtagent.report.words import stage_name
from mtagent.store import RunSummary

_NONE = "–"
_MODELS = ("model", "judge_model", "translator", "evaluator", "judge", "gate")


class Shown(NamedTuple):
    """A cell of the table; ``note`` stands beneath it, ``tone`` is ``better``, ``worse`` or nothing."""

    text: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Line:
    """A row of the table: its name, and a cell for each column of the head."""

    name: str
    cells: tuple[Shown, ...]


@dataclass(frozen=True)
class Head:
    """A column: its name, and what it means."""

    name: str
    meaning: str = ""


def row_name(row: Row) -> str:
    """How a row is called: its stage in plain words, or its own name."""
    return stage_name(row.name) if row.name == row.stage else row.name


def heads(comparison: Comparison) -> tuple[Head, ...]:
    """The columns: a score for each metric, the changes, what became of the segments and edits, the costs."""
    arrows = {cell.score.metric: "↑" if cell.score.higher_is_better else "↓" for cell in comparison.rows[0].cells}
    metrics = [Head(f"{name} {arrows[name]}", "↑ higher is better, ↓ lower is better") for name in comparison.metrics]
    return (
        *metrics,
        Head("changed", "segments with another text than in the row before"),
        Head(
            "got worse",
            f"segments whose own score is worse than before, by {comparison.deciding or 'the deciding metric'}",
        ),
        Head("TER", "words edited per 100 words, from the row before"),
        Head("kept", "segments whose change was kept"),
        Head("rejected", "segments whose change a guard or the gate rejected"),
        Head("failed", "segments on which the stage failed; their text stayed"),
        Head("edits", "edits that stand in the text, of all that were proposed"),
        Head("tokens", "input and output, and in how many calls"),
        Head("cost", "dollars, and how many for each edit that stands"),
    )


def lines(comparison: Comparison) -> tuple[Line, ...]:
    """The rows of the table."""
    first = comparison.rows[0].name
    return tuple(
        Line(row_name(row), (
            *(_score(cell, tested=row.former == first) for cell in row.cells),
            *_moves(row, len(comparison.segments)), *_outcomes(row), *_costs(row),
        ))
        for row in comparison.rows
    )  # fmt: skip


def facts(summary: RunSummary, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What the page says of the run in a line each: name and value."""
    counts = summary.counts
    tried = counts.done + counts.failed
    of = f" of {counts.total:,}" if counts.total not in (None, tried) else ""
    yield "State", summary.state
    yield "Segments", f"{tried:,}{of}"
    yield "Languages", ", ".join(f"{_language(a)} → {_language(b)}" for a, b in pairs) or _NONE
    stages = _listed(summary.settings.get("stages"))
    yield "Stages", ", ".join(map(stage_name, stages))
    for name in (name for name in _MODELS if name != "translator" or "translate" in stages):
        if value := _said(summary.settings.get(name)):
            yield name.replace("_", " ").capitalize(), value
    yield "Started", summary.started[:16].replace("T", " ") + " UTC"
    yield "Paid", _usage(summary.usage)


def settings(summary: RunSummary) -> str:
    """All settings, for those who want to repeat the run."""
    return json.dumps(summary.settings, ensure_ascii=False, indent=2)


def _language(code: str) -> str:
    try:
        return languages.name(code)
    except ConfigError:
        return code


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value or ()]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_said(one)}" for name, one in value.items() if _said(one))
    return str(value) if value not in (None, "", [], ()) else ""


def _usage(usage: Usage) -> str:
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    reused = f", {usage.reused:,} replies from the store" if usage.reused else ""
    return f"{dollars(usage.cost)}, {usage.calls:,} {'call' if usage.calls == 1 else 'calls'}, {tokens}{reused}"


def _score(cell: Cell, *, tested: bool) -> Shown:
    """A score and its difference to the row before; the p-value where that is the row that the test is against."""
    digits = 4 if abs(cell.score.value) < 2 else 2
    text = number(cell.score.value, digits)
    if cell.difference is None:
        return Shown(text, _interval(cell, digits))
    sign = "+" if cell.difference > 0 else ""
    test = f" ({p_text(cell.p_value)})" if tested and cell.p_value is not None else ""
    gain = cell.difference if cell.score.higher_is_better else -cell.difference
    tone = "better" if gain > 0 else "worse" if gain < 0 else ""
    return Shown(text, f"{sign}{number(cell.difference, digits)}{test}", tone)


def _interval(cell: Cell, digits: int) -> str:
    return f"± {number(cell.interval.half_width, digits)}" if cell.interval else ""


def _moves(row: Row, segments: int) -> tuple[Shown, ...]:
    if row.moved is None:
        return (Shown(_NONE),) * 3
    worse = row.moved.regressed
    return (
        _share(row.moved.changed, segments),
        Shown(_NONE) if worse is None else _share(worse, segments),
        Shown(number(row.moved.ter)),
    )


def _share(share: float, segments: int) -> Shown:
    return Shown(f"{round(share * segments):,}", f"{100 * share:.0f} %")


def _outcomes(row: Row) -> tuple[Shown, ...]:
    found = row.outcomes
    if found is None:
        return (Shown(_NONE),) * 4
    edits = found.edits or {}
    applied, proposed = edits.get("applied", 0), sum(edits.values())
    return (
        *(Shown(f"{count:,}") for count in (found.kept, found.rejected, found.failed)),
        Shown(f"{applied:,}", f"of {proposed:,}") if proposed else Shown(_NONE),
    )


def _costs(row: Row) -> tuple[Shown, ...]:
    if row.cost is None:
        return (Shown(_NONE),) * 2
    usage, per_edit = row.cost.usage, row.cost.per_kept_edit
    calls = f"{usage.calls:,} {'call' if usage.calls == 1 else 'calls'}"
    return (
        Shown(f"{usage.input_tokens + usage.output_tokens:,}", calls),
        Shown(dollars(usage.cost), f"{dollars(per_edit)} an edit" if per_edit else ""),
    )
