"""People's decisions on a stored run: on many edits at once, and as a CSV table for spreadsheets and pull requests.

A command writes all of its decisions or none. It reads a segment's version before it decides and passes it on when it
writes: if another window was first, nothing is written. The columns of a table are ``segment,edit,decision,text`` and
more (:data:`COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from mtagent.chain.decided_text import Decided, DecidedRun, decided, numbered
from mtagent.errors import ConfigError, InputError, StoreError
from mtagent.formats.files import write_pieces
from mtagent.formats.tables import open_table
from mtagent.records import Chain, Edit, Step, judgements_of
from mtagent.records.decisions import Decision, DecisionVerdict, fingerprint, latest, not_withdrawn
from mtagent.store.store import Store
from mtagent.text.escaping import unguarded
from mtagent.text.mqm import severity_rank
from mtagent.text.table import as_csv

_FILTER_KEYS = ("guard", "category", "severity", "outcome", "stage", "judge", "document", "domain")
_MOST_EXAMPLES = 12


def _values(key: str, chain: Chain, step: Step, edit: Edit) -> Iterable[str | None]:
    """The values of an edit for a key of a filter."""
    match key:
        case "guard":
            return edit.guards
        case "category":
            category = edit.span.category if edit.span else ""
            return (category, category.partition("/")[0])  # ``style/awkward`` is also ``style``
        case "severity":
            return [edit.span.severity] if edit.span else []
        case "outcome":
            return [edit.outcome]
        case "stage":
            return [step.stage]
        case "judge":
            judgements = judgements_of(step.cause)
            return [name for judgement in judgements for name in (judgement.judge, judgement.plain_name)]
        case "document":
            return [chain.segment.document]
        case "domain":
            return [chain.segment.domain]
    raise KeyError(key)


class EditFilter(NamedTuple):
    """Conditions ``KEY=VALUE`` on edits, which must all hold."""

    conditions: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, specs: Sequence[str]) -> EditFilter:
        """Read conditions as the user writes them. Raises :class:`ConfigError` for an unknown key."""
        conditions = []
        for spec in specs:
            key, equals, value = spec.partition("=")
            key, value = key.strip(), value.strip()
            if not equals or not value or key not in _FILTER_KEYS:
                raise ConfigError(f"--where {spec!r}: write KEY=VALUE, with a KEY of {', '.join(_FILTER_KEYS)}")
            conditions.append((key, value))
        return cls(tuple(conditions))

    def holds(self, chain: Chain, step: Step, edit: Edit) -> bool:
        """Whether an edit meets all conditions."""
        return all(value in _values(key, chain, step, edit) for key, value in self.conditions)

    def values(self, chain: Chain) -> Iterator[tuple[str, str]]:
        """The values that the edits in ``chain`` have for the keys of the filter, to suggest them to the user."""
        for _, step, edit in numbered(chain):
            for key, _ in self.conditions:
                for value in _values(key, chain, step, edit):
                    if value:
                        yield key, value

    def __str__(self) -> str:
        return " and ".join(f"{key}={value}" for key, value in self.conditions)


EVERY_EDIT = EditFilter(())
"""The filter without conditions."""


class DecidedSegment(NamedTuple):
    """What decisions changed in a segment."""

    segment: str
    before: str
    """The text before these decisions."""
    decided: Decided
    edits: int
    """How many edits were decided on; 0 = the segment as a whole."""
    replaced: tuple[Decision, ...] = ()
    """Decisions that counted before and do not count now."""
    withdrawn: tuple[Decision, ...] = ()
    """Decisions that an undo has withdrawn."""
    confirmed: Decision | None = None
    """The rejection or the person's text that accepting the segment as a whole has only confirmed."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the person may not expect, a sentence each."""
        remarks = [f"withdrew: {edit_prefix(old.edit)}{old.sentence}" for old in self.withdrawn]
        remarks += [f"replaces: {edit_prefix(old.edit)}{old.sentence}" for old in self.replaced]
        if self.confirmed is not None:
            remarks.append(
                f"its text stays as it was, because this confirms: {self.confirmed.sentence}; to get its edits again, "
                "take that back first: repeat --undo"
            )
        whole = self.decided.decision
        if self.edits and whole is not None and whole.verdict == "text":
            remarks.append(f"decisions on its edits have no effect, because it has its own text: {whole.sentence}")
        return (*remarks, *self.decided.remarks)


def edit_prefix(edit: int | None) -> str:
    """``edit 2`` and a space, before a sentence about the edit; empty for the segment as a whole."""
    if edit is None:
        return ""
    return f"edit {edit} "


def replaced_decisions(before: Sequence[Decision], added: Sequence[Decision]) -> tuple[Decision, ...]:
    """The decisions in ``before`` that no longer count after the ``added`` ones."""
    still_counting = set(latest([*before, *added]))
    replaced = []
    for decision in latest(before):
        if decision not in still_counting:
            replaced.append(decision)
    return tuple(replaced)


def decide(
    store: Store,
    name: str,
    verdict: DecisionVerdict,
    segments: Sequence[str] = (),
    *,
    numbers: Sequence[int] = (),
    where: EditFilter = EVERY_EDIT,
    who: str = "",
    reason: str | None = None,
    text: str | None = None,
) -> list[DecidedSegment]:
    """Decide on edits of ``segments``, or of all if there are none.

    The decisions are about the edits ``numbers``, or the edits that match ``where``; without either, about the
    segments as a whole. ``undecided`` withdraws the last decision on each edit, or the last command on the segment.
    Raises :class:`mtagent.errors.MtagentError` before anything is written.
    """
    run = DecidedRun(store, name)
    results = list[DecidedSegment]()
    decisions = list[tuple[int, Decision]]()
    versions = dict[int, int]()
    seen_values = set[tuple[str, str]]()
    named = [run.run.chain(segment) for segment in dict.fromkeys(segments)]
    for position, chain in named or run.run.placed_chains():
        version, history = run.log.version(position), run.log.history(position)
        current = decided(chain, history, skip=run.skip)
        edits: list[int | None]
        if where.conditions:
            seen_values.update(where.values(chain))
            edits = [*_matching_edits(current, where, verdict)]
            if not edits:
                continue
        elif numbers:
            edits = [*dict.fromkeys(numbers)]
        else:
            edits = [None]
        versions[position] = version

        added = list[Decision]()
        edit_count = 0
        for draft in _drafts(chain, history, edits, verdict, text):
            signed = draft.model_copy(update={"who": who, "reason": reason})
            decision = run.checked(chain, signed, history)
            added.append(decision)
            decisions.append((position, decision))
            edit_count += decision.edit is not None

        after = decided(chain, [*history, *added], skip=run.skip)
        withdrawn = _withdrawn(history, added)
        replaced = [old for old in replaced_decisions(history, added) if old.who != who and old not in withdrawn]
        confirmed = after.decision if verdict == "accept" and edits == [None] and after.decision in history else None
        results.append(
            DecidedSegment(chain.segment.id, current.text, after, edit_count, tuple(replaced), withdrawn, confirmed)
        )
    if where.conditions and not decisions:
        raise ConfigError(_no_match(name, verdict, where, seen_values))
    run.log.append(decisions, expected=versions)
    return results


def _withdrawn(history: Iterable[Decision], added: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions in ``history`` that the ``added`` ones withdraw."""
    withdrawn_ids = {decision.withdraws for decision in added}
    return tuple(decision for decision in history if decision.id in withdrawn_ids)


def _matching_edits(current: Decided, where: EditFilter, verdict: DecisionVerdict) -> Iterator[int]:
    """The numbers of the edits that match the filter and can be decided on or, to undo that, were decided on."""
    chain = current.chain
    for (number, step, edit), row in zip(numbered(chain), current.edits, strict=True):
        is_eligible = row.decision is not None if verdict == "undecided" else row.alone
        if is_eligible and where.holds(chain, step, edit):
            yield number


def _drafts(
    chain: Chain, history: Sequence[Decision], edits: Sequence[int | None], verdict: DecisionVerdict, text: str | None
) -> list[Decision]:
    """The decisions on ``edits``, which nobody has signed yet."""
    if verdict == "undecided":
        return _withdrawals(chain, history, edits)
    drafts = []
    for edit in edits:
        drafts.append(Decision(segment=chain.segment.id, edit=edit, verdict=verdict, text=text))
    return drafts


def _withdrawals(chain: Chain, history: Sequence[Decision], edits: Sequence[int | None]) -> list[Decision]:
    """Decisions that withdraw the last one on each of ``edits``; for the whole, all decisions of the last command."""
    counting = not_withdrawn(history)
    segment = chain.segment.id
    withdrawals = list[Decision]()
    for edit in edits:
        if edit is None:
            to_withdraw = [decision for decision in counting if decision.command == counting[-1].command]
        else:
            to_withdraw = [decision for decision in latest(history) if decision.edit == edit]
        if not to_withdraw:
            subject = "it" if edit is None else f"edit {edit}"
            raise ConfigError(f"segment {segment}: there is no decision on {subject} to take back")
        for old in to_withdraw:
            withdrawals.append(Decision(segment=segment, edit=old.edit, verdict="undecided", withdraws=old.id))
    return withdrawals


def _no_match(name: str, verdict: DecisionVerdict, where: EditFilter, seen_values: Iterable[tuple[str, str]]) -> str:
    if verdict == "undecided":
        return f"run {name!r}: nothing was decided on an edit with {where} that could be taken back"
    message = f"run {name!r}: no edit that can be decided on has {where}"
    examples = sorted({f"{key}={value}" for key, value in seen_values})
    if examples:
        message += f"; there are {', '.join(examples[:_MOST_EXAMPLES])}"
        if len(examples) > _MOST_EXAMPLES:
            message += " …"
    return message


REQUIRED_COLUMNS = ("segment", "edit", "decision")
COLUMNS = (
    *("segment", "edit", "decision", "text", "reason", "decided", "seen"),
    *("stage", "outcome", "why", "old", "new", "source", "result"),
)
"""People fill in the first five. ``decided`` holds whose decision of the row counted when the table was written,
and its time; ``seen`` the same for the last decision that affected the row, also through the segment or its edits.

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
    seen: str | None = None
    """Who made the last decision that affected the row when the table was written, and when; empty = there was none."""


class DecisionTable(NamedTuple):
    """A table as it was read."""

    rows: list[DecisionRow]
    unknown: list[str]
    """Columns that are not :data:`COLUMNS`."""


# -- a table, read


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
    unknown = []
    for name in opened.names:
        if name and name not in (*COLUMNS, _GUARDED):
            unknown.append(name)
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
        seen=cells.get("seen", cells.get("decided")),  # without it, decisions on the row itself are still noticed
    )


# -- a table, imported


class TableImport(NamedTuple):
    """What the import of a table changed."""

    results: list[DecidedSegment]
    new: int
    """The number of decisions that were stored."""
    known: int
    """The number of decisions that were stored before."""
    withdrawn: int
    """The number of rows that repeat a decision that was withdrawn after the table was written: it stays withdrawn."""
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
    known = withdrawn = 0
    for segment, segment_rows in rows_by_segment.items():
        try:
            position, chain = run.run.chain(segment)
        except StoreError as error:
            raise InputError(f"{segment_rows[0].where}: {error}") from error
        version = run.log.version(position)
        history = _about(chain, run.log.history(position))
        _refuse_contradictions(segment_rows)
        added = list[Decision]()
        edit_count = 0
        for row in sorted(segment_rows, key=_import_order):
            if not force and _is_withdrawn_since(row, history):
                withdrawn += 1
                continue
            decision = _decision(run, chain, row, who, [*history, *added])
            if _is_known(decision, latest([*history, *added])):
                known += 1
                continue
            if not force:
                _refuse_late(row, history, who)
            added.append(decision)
            decisions.append((position, decision))
            edit_count += decision.edit is not None
        after = decided(chain, [*history, *added], skip=run.skip)
        _refuse_other_texts(run, chain, segment_rows, history, after.text)
        if added:
            versions[position] = version
            before = decided(chain, history, skip=run.skip).text
            results.append(DecidedSegment(segment, before, after, edit_count, replaced_decisions(history, added)))
    run.log.append(decisions, expected=versions)
    return TableImport(results, len(decisions), known, withdrawn, empty, table.unknown)


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
                    f"{_short(words)}: the run has changed since; export the table again"
                )
    return decision


def _is_known(decision: Decision, counting: Sequence[Decision]) -> bool:
    """Whether one of the decisions that count is the same already."""
    on_same_edit = [earlier for earlier in counting if earlier.edit == decision.edit]
    if decision.verdict == "undecided":
        return not on_same_edit
    for earlier in on_same_edit:
        is_same = (earlier.verdict, earlier.text) == (decision.verdict, decision.text)
        if decision.approves:
            # Approving a text again changes nothing, and neither does approving a text that a person wrote.
            is_same = earlier.approves in ("", decision.approves)
        if is_same:
            return True
    return False


def _last_decision(history: Sequence[Decision], edit: int | None) -> Decision | None:
    """The last decision on an edit or on the whole, which affects the edit; for the whole, the last one of all."""
    for decision in reversed(history):
        if edit is None or decision.edit in (edit, None):
            return decision
    return None


def _signature(decision: Decision | None) -> str:
    """Who made a decision, and when, in a form that spreadsheets do not convert to a date."""
    if decision is None:
        return ""
    return f"{decision.who or 'nobody'} at {decision.at}"


def _refuse_late(row: DecisionRow, history: Sequence[Decision], who: str) -> None:
    """Refuse to replace what another person has decided since the table was written, if the table shows when it was.

    A decision that was taken back since then is no reason to refuse: an earlier one counts, or none.
    """
    counting = _last_decision(latest(history), row.edit)
    if counting is None or row.seen is None or counting.who == who:
        return
    seen = _seen(row, history)
    if seen is not None and counting.id <= seen.id:
        return
    raise InputError(
        f"{row.where}: decided after this table was written: {edit_prefix(counting.edit)}{counting.sentence}; export "
        "it again, or give --force to replace that"
    )


def _seen(row: DecisionRow, history: Sequence[Decision]) -> Decision | None:
    """The decision that counted when the table was written."""
    for decision in reversed(history):
        concerns_row = row.edit is None or decision.edit in (row.edit, None)
        if concerns_row and row.seen is not None and row.seen.strip() == _signature(decision):
            return decision
    return None


def _is_withdrawn_since(row: DecisionRow, history: Sequence[Decision]) -> bool:
    """Whether the row only repeats a decision that was withdrawn after the table was written."""
    seen = _seen(row, history)
    if seen is None or seen in not_withdrawn(history):
        return False
    return (seen.edit, seen.verdict, seen.text) == (row.edit, row.verdict, row.text)


def _refuse_contradictions(segment_rows: Sequence[DecisionRow]) -> None:
    first_rows = dict[int | None, DecisionRow]()
    for row in segment_rows:
        first = first_rows.setdefault(row.edit, row)
        if (first.verdict, first.text) != (row.verdict, row.text):
            raise InputError(f"{row.where}: contradicts {first.where}, which decides on the same; keep one of them")


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
    ends = range(len(history), -1, -1)
    return any(decided(chain, history[:end], skip=run.skip).text == text for end in ends)


def _short(text: str) -> str:
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[: _SHOWN_CHARACTERS - 1]}…"
    return repr(text)


# -- a table, written


class TableExport(NamedTuple):
    """The size of a table of decisions."""

    rows: int
    decided: int
    """The rows that hold a decision."""


def export_decisions(store: Store, name: str, path: Path) -> TableExport:
    """Write a table with a row for each edit, and one for each segment that has edits or uncorrected errors.

    The cells are escaped so that no spreadsheet runs one as a formula.
    """
    run = DecidedRun(store, name)
    histories = run.log.histories()
    row_count = decision_count = 0

    def table() -> Iterator[dict[str, object]]:
        nonlocal row_count, decision_count
        for position, result in run.segments():
            if not (result.edits or result.decision or result.errors_left):
                continue
            for cells in _table_rows(result, histories.get(position, ())):
                row_count += 1
                decision_count += bool(cells["decision"])
                yield cells

    header, *lines = as_csv((*COLUMNS, _GUARDED), table())
    write_pieces(path, header, lines)
    return TableExport(row_count, decision_count)


def _table_rows(result: Decided, history: Sequence[Decision]) -> Iterator[dict[str, object]]:
    """The segment as a whole, and then its edits that can be decided on alone."""
    history = _about(result.chain, history)
    segment = result.chain.segment
    uncorrected = []
    for error in sorted(result.errors_left, key=lambda error: -severity_rank(error.severity)):
        reason = f"not fixed: {error.severity} {error.category} {error.text!r}"
        if error.explanation:
            reason += f": {error.explanation}"
        uncorrected.append(reason)
    whole = {"segment": segment.id, "why": "; ".join(uncorrected), "source": segment.source, "result": result.text}
    counting = latest(history)
    yield whole | _decision_cells(result.decision, _last_decision(counting, None))
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
        yield cells | _decision_cells(row.decision, _last_decision(counting, row.number))


def _decision_cells(decision: Decision | None, last: Decision | None) -> dict[str, object]:
    cells: dict[str, object] = {
        "decision": "",
        "text": "",
        "reason": "",
        "decided": _signature(decision),
        "seen": _signature(last),
    }
    if decision is not None:
        cells |= {"decision": decision.verdict, "text": decision.text or "", "reason": decision.reason or ""}
    return cells
