"""People's decisions as a CSV table for spreadsheets and pull requests: written from a run, read and imported into one.

Its columns are ``segment,edit,decision,text`` and more (:data:`COLUMNS`). A table is imported as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from mtagent.chain.decided_text import Decided, DecidedRun, decided, numbered
from mtagent.errors import ConfigError, InputError, StoreError
from mtagent.formats.files import write_pieces
from mtagent.formats.tables import open_table
from mtagent.jobs.decision_batch import DecidedSegment, edit_prefix, replaced_decisions
from mtagent.records import Chain
from mtagent.records.decisions import Decision, DecisionVerdict, fingerprint, latest
from mtagent.store.store import Store
from mtagent.text.escaping import unguarded
from mtagent.text.table import as_csv

REQUIRED_COLUMNS = ("segment", "edit", "decision")
COLUMNS = (
    *("segment", "edit", "decision", "text", "reason", "decided"),
    *("stage", "outcome", "why", "old", "new", "source", "result"),
)
"""People fill in the first five. ``decided`` holds who decided last when the table was written, and when.

``old``, ``new``, ``source`` and ``result`` must match the run; the others are only for reading.
"""
_GUARDED = "guarded"
"""The column with the names of the cells that are escaped so that no spreadsheet runs them as formulas."""
_HOW_TO_GET_ONE = "`mtagent decide RUN --export FILE.csv` writes a file to fill in"
_SHOWN_CHARACTERS = 40


class DecisionRow(NamedTuple):
    """A row of a table. A cell is ``None`` if the table does not have it."""

    where: str
    """``FILE:LINE``, for messages."""
    segment: str
    edit: int | None
    verdict: DecisionVerdict | None
    """``None`` = nothing was decided."""
    text: str | None = None
    reason: str | None = None
    old: str | None = None
    new: str | None = None
    source: str | None = None
    result: str | None = None
    decided: str | None = None


class DecisionTable(NamedTuple):
    """A table as it was read."""

    rows: list[DecisionRow]
    unknown: list[str]
    """Columns that are not :data:`COLUMNS`."""


# -- reading


def read_decisions(path: Path) -> DecisionTable:
    """Read a table whose cells are separated by commas, semicolons or tabs, as spreadsheets save it.

    Empty rows are left out. Raises :class:`InputError`, which names the line, for anything but a table of decisions.
    """
    opened = open_table(
        path,
        ",;\t",
        quoted=True,
        required=REQUIRED_COLUMNS,
        plain=lambda name: name.strip().casefold(),
        empty=_HOW_TO_GET_ONE,
        separator_line=True,
    )
    opened.require(REQUIRED_COLUMNS, _HOW_TO_GET_ONE)
    opened.refuse_repeated(nameless=False)
    unknown = [name for name in opened.names if name and name not in (*COLUMNS, _GUARDED)]
    table = []
    for where, cells in opened.records():
        if any(cell.strip() for cell in cells.values()):
            table.append(_read_row(where, cells))
    return DecisionTable(table, unknown)


def _read_row(where: str, cells: dict[str, str]) -> DecisionRow:
    for name in cells.get(_GUARDED, "").split():
        if name in cells:
            cells[name] = unguarded(cells[name])
    segment, number = cells["segment"], cells["edit"].strip()
    if not segment:
        raise InputError(f"{where}: no segment; write its id, as `mtagent runs show` has it")
    if number and not (number.isascii() and number.isdigit() and int(number)):
        raise InputError(f"{where}: edit is {number[:20]!r}; write its number, or nothing for the whole segment")
    word = cells["decision"].strip().casefold()
    verdicts = {verdict: verdict for verdict in get_args(DecisionVerdict)}
    if word and word not in verdicts:
        raise InputError(f"{where}: decision is {word[:20]!r}; write {', '.join(verdicts)}, or nothing")
    text = cells.get("text", "")
    if word != "text" and text:
        raise InputError(f"{where}: has a text, and the decision {word!r}: a text of your own goes with 'text'")
    if word == "text" and "text" not in cells:
        raise InputError(f"{where}: decision is 'text', and there is no column 'text'; {_HOW_TO_GET_ONE}")
    if word == "text" and not number and not text.strip():
        raise InputError(f"{where}: the text of the segment is empty; write one, or another decision")
    return DecisionRow(
        where=where,
        segment=segment,
        edit=int(number) if number else None,
        verdict=verdicts.get(word),
        text=text if word == "text" else None,
        reason=cells.get("reason") or None,
        old=cells.get("old"),
        new=cells.get("new"),
        source=cells.get("source") or None,
        result=cells.get("result") or None,
        decided=cells.get("decided"),
    )


# -- importing


class TableImport(NamedTuple):
    """What the import of a table changed."""

    results: list[DecidedSegment]
    new: int
    """The number of decisions that were stored."""
    known: int
    """The number of decisions that were stored before."""
    empty: int
    """The number of rows without a decision."""
    unknown: list[str]
    """Columns that were not read."""


def import_decisions(store: Store, name: str, path: Path, who: str = "", *, force: bool = False) -> TableImport:
    """Store the decisions of a table; if one row is wrong, nothing is stored.

    Raises :class:`InputError`, which names the line, for a segment or an edit that the run does not have, for words
    that differ from the run's, and unless ``force`` where another person has decided since the table was written.
    """
    run, table = DecidedRun(store, name), read_decisions(path)
    rows_by_segment = dict[str, list[DecisionRow]]()
    empty = 0
    for row in table.rows:
        if row.verdict is None:
            empty += 1
            continue
        segment = row.segment if run.run.has(row.segment) else row.segment.strip()
        rows_by_segment.setdefault(segment, []).append(row._replace(segment=segment))

    results = list[DecidedSegment]()
    decisions = list[tuple[int, Decision]]()
    versions = dict[int, int]()
    known = 0
    for segment, segment_rows in rows_by_segment.items():
        try:
            position, chain = run.run.chain(segment)
        except StoreError as error:
            raise InputError(f"{segment_rows[0].where}: {error}") from error
        version = run.log.version(position)
        history = _about(chain, run.log.history(position))
        _refuse_contradictions(segment_rows)
        added = list[Decision]()
        for row in sorted(segment_rows, key=_import_order):
            decision = _decision(run, chain, row, who, [*history, *added])
            if _is_known(decision, latest([*history, *added])):
                known += 1
                continue
            if not force:
                _refuse_late(row, history, who)
            added.append(decision)
        after = decided(chain, [*history, *added], skip=run.skip)
        _refuse_other_texts(run, chain, segment_rows, history, after.text)
        if added:
            versions[position] = version
            decisions += [(position, decision) for decision in added]
            before = decided(chain, history, skip=run.skip).text
            edits = sum(decision.edit is not None for decision in added)
            results.append(DecidedSegment(segment, before, after, edits, replaced_decisions(history, added)))
    run.log.append(decisions, expected=versions)
    return TableImport(results, len(decisions), known, empty, table.unknown)


def _about(chain: Chain, history: Iterable[Decision]) -> list[Decision]:
    """The decisions in ``history`` that are about this ``chain``, not about one that was replaced."""
    current = fingerprint(chain)
    return [decision for decision in history if decision.chain in ("", current)]


def _import_order(row: DecisionRow) -> tuple[bool, int]:
    """The segment as a whole comes first, except that it is accepted last, with all that was decided on its edits."""
    return row.edit is None and row.verdict == "accept", row.edit or 0


def _decision(run: DecidedRun, chain: Chain, row: DecisionRow, who: str, history: Sequence[Decision]) -> Decision:
    assert row.verdict is not None
    draft = Decision(segment=row.segment, edit=row.edit, verdict=row.verdict, text=row.text, reason=row.reason, who=who)
    try:
        decision = run.checked(chain, draft, history)
    except ConfigError as error:
        raise InputError(f"{row.where}: {error}") from error
    if row.edit is not None:
        _, _, edit = numbered(chain)[row.edit - 1]
        for column, cell, words in (("old", row.old, edit.old), ("new", row.new, edit.new)):
            if cell is not None and cell != words:
                raise InputError(
                    f"{row.where}: {column} is {_short(cell)}, and edit {row.edit} of segment {row.segment} has "
                    f"{_short(words)}: the run is another one by now; export the table again"
                )
    return decision


def _is_known(decision: Decision, counting: Sequence[Decision]) -> bool:
    """Whether one of the decisions that count is the same already."""
    on_same_edit = [earlier for earlier in counting if earlier.edit == decision.edit]
    if decision.verdict == "undecided":
        return not on_same_edit
    if decision.approves:
        # Approving a text again changes nothing, and neither does approving a text that a person wrote.
        return any(earlier.approves in ("", decision.approves) for earlier in on_same_edit)
    return any((earlier.verdict, earlier.text) == (decision.verdict, decision.text) for earlier in on_same_edit)


def _last_decision(history: Sequence[Decision], edit: int | None) -> Decision | None:
    """The last decision on an edit or on the whole, which affects the edit; for the whole, the last one of all."""
    for decision in reversed(history):
        if edit is None or decision.edit in (edit, None):
            return decision
    return None


def _signature(decision: Decision | None) -> str:
    """Who made a decision, and when, in a form that spreadsheets do not convert to a date."""
    return "" if decision is None else f"{decision.who or 'nobody'} at {decision.at}"


def _refuse_late(row: DecisionRow, history: Sequence[Decision], who: str) -> None:
    """Refuse to replace what another person has decided since the table was written, if the table shows when it was."""
    last = _last_decision(history, row.edit)
    if last is None or row.decided is None or row.decided.strip() == _signature(last) or last.who == who:
        return
    raise InputError(
        f"{row.where}: decided after this table was written: {edit_prefix(last.edit)}{last.sentence}; export it "
        "again, or give --force to replace that"
    )


def _refuse_contradictions(segment_rows: Sequence[DecisionRow]) -> None:
    first_rows = dict[int | None, DecisionRow]()
    for row in segment_rows:
        first = first_rows.setdefault(row.edit, row)
        if (first.verdict, first.text) != (row.verdict, row.text):
            raise InputError(f"{row.where}: decides otherwise than {first.where} on the same; keep one of them")


def _refuse_other_texts(
    run: DecidedRun, chain: Chain, segment_rows: Sequence[DecisionRow], history: Sequence[Decision], after: str
) -> None:
    """Refuse rows with another source than the segment's, or with a result that the segment never had."""
    for row in segment_rows:
        if row.source is not None and row.source != chain.segment.source:
            raise InputError(
                f"{row.where}: source is {_short(row.source)}, and segment {row.segment} has "
                f"{_short(chain.segment.source)}: if this is not the table of another run, empty the cell"
            )
        if row.result is None or row.result == after or _had_text(run, chain, history, row.result):
            continue
        raise InputError(
            f"{row.where}: result is {_short(row.result)}, a text that segment {row.segment} of run {run.run.name!r} "
            "never had: if this is not the table of another run, export it again, or empty the cell"
        )


def _had_text(run: DecidedRun, chain: Chain, history: Sequence[Decision], text: str) -> bool:
    """Whether ``text`` was the decided text after any part of ``history``."""
    states = (history[:end] for end in range(len(history), -1, -1))
    return any(decided(chain, state, skip=run.skip).text == text for state in states)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…")


# -- writing


def export_decisions(store: Store, name: str, path: Path) -> int:
    """Write a table with a row for each edit, and one for each segment that has edits or uncorrected errors.

    The cells are escaped so that no spreadsheet runs one as a formula. Returns how many rows hold a decision.
    """
    run = DecidedRun(store, name)
    histories, decision_count = run.log.histories(), 0

    def table() -> Iterator[dict[str, object]]:
        nonlocal decision_count
        for position, result in run.segments():
            has_errors = any(step.not_fixed for step in result.chain.steps)
            if not (result.edits or result.decision or has_errors):
                continue
            for cells in _table_rows(result, histories.get(position, ())):
                decision_count += bool(cells["decision"])
                yield cells

    header, *lines = as_csv((*COLUMNS, _GUARDED), table())
    write_pieces(path, header, lines)
    return decision_count


def _table_rows(result: Decided, history: Sequence[Decision]) -> Iterator[dict[str, object]]:
    """The segment as a whole, and then its edits that can be decided on alone."""
    history = _about(result.chain, history)
    segment = result.chain.segment
    uncorrected = []
    for step in result.chain.steps:
        for error in step.not_fixed:
            reason = f"{error.severity} {error.category} {error.text!r}: {error.explanation or ''}"
            uncorrected.append(f"not fixed: {reason}")
    whole = {"segment": segment.id, "why": "; ".join(uncorrected), "source": segment.source, "result": result.text}
    yield whole | _decision_cells(result.decision, _last_decision(history, None))
    for row in result.edits:
        if not row.alone:
            continue
        explanation = row.edit.span.explanation if row.edit.span else None
        cells = {
            "segment": segment.id,
            "edit": row.number,
            "stage": row.stage,
            "outcome": row.edit.outcome,
            "why": row.edit.detail or explanation or "",
            "old": row.edit.old,
            "new": row.edit.new,
        }
        yield cells | _decision_cells(row.decision, _last_decision(history, row.number))


def _decision_cells(decision: Decision | None, last: Decision | None) -> dict[str, object]:
    cells: dict[str, object] = {"decision": "", "text": "", "reason": "", "decided": _signature(last)}
    if decision is not None:
        cells |= {"decision": decision.verdict, "text": decision.text or "", "reason": decision.reason or ""}
    return cells
