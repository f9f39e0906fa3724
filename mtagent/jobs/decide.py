"""Decisions of people on a stored run: which edits they are about, from the command line or a table, and what results.

A command writes all of its decisions or none. It reads a segment's version before it decides and gives it back when it
writes: where another window was first, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.decided import Decided, checked, decided, numbered
from mtagent.decisions import Decision, DecisionVerdict, fingerprint, latest, standing
from mtagent.errors import ConfigError, InputError, StoreError
from mtagent.formats.decisions import DecisionRow, read_decisions, write_decisions
from mtagent.records import Chain, Edit, Step, judgements_of
from mtagent.store.store import Store


class DecidedRun:
    """A chain run with what people decided about it. It cannot be deleted while this is there."""

    def __init__(self, store: Store, name: str) -> None:
        self._hold = store.hold(name)
        self.run, self.log = store.read(name), store.decisions(name)
        if self.run.kind != "chain":
            raise ConfigError(f"run {name!r}: holds ratings, and no edits to decide on")
        self.skip = frozenset((store.settings(name) or {}).get("skip_guards") or ())

    def segments(self, *, only_decided: bool = False) -> Iterator[tuple[int, Decided]]:
        """The segments by position, each with its decisions applied. ``only_decided``: those that have any."""
        histories = self.log.histories()
        if only_decided:
            for position, history in histories.items():
                yield position, decided(self.run.chain_at(position), history, skip=self.skip)
            return
        for position, chain in self.run.placed_chains():
            yield position, decided(chain, histories.get(position, ()), skip=self.skip)

    def segment(self, position: int) -> Decided:
        """The segment at ``position``, which must be there, with its decisions applied."""
        return decided(self.run.chain_at(position), self.log.history(position), skip=self.skip)

    def checked(self, chain: Chain, decision: Decision, history: Iterable[Decision]) -> Decision:
        """``decision`` on a segment of this run, after those of ``history``: :func:`mtagent.chain.decided.checked`."""
        return checked(chain, decision, history, skip=self.skip)

    def chains(self) -> Iterator[Chain]:
        """The chains by position, each with the text that people's decisions made, where there are any."""
        return (chain for _, chain in self.placed_chains())

    def placed_chains(self) -> Iterator[tuple[int, Chain]]:
        """The same, each with its position."""
        return ((position, result.reviewed_chain) for position, result in self.segments())


# -- which edits


def _categories(step: Step, edit: Edit) -> Iterable[str]:
    """``style/awkward`` is ``style`` too."""
    category = edit.span.category if edit.span else ""
    return (category, category.partition("/")[0])


_KEYS: Mapping[str, Callable[[Chain, Step, Edit], Iterable[str | None]]] = {
    "guard": lambda chain, step, edit: edit.guards,
    "category": lambda chain, step, edit: _categories(step, edit),
    "severity": lambda chain, step, edit: [edit.span.severity if edit.span else None],
    "outcome": lambda chain, step, edit: [edit.outcome],
    "stage": lambda chain, step, edit: [step.stage],
    "judge": lambda chain, step, edit: [judgement.judge for judgement in judgements_of(step.cause)],
    "document": lambda chain, step, edit: [chain.segment.document],
    "domain": lambda chain, step, edit: [chain.segment.domain],
}
"""What a filter may go by, and the values of an edit."""


class Filter(NamedTuple):
    """Conditions ``KEY=VALUE`` on edits, which all must hold."""

    conditions: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, specs: Sequence[str]) -> Filter:
        """The filter of ``specs``. Raises :class:`ConfigError` for an unknown key."""
        conditions = []
        for spec in specs:
            key, equals, value = (part.strip() for part in spec.partition("="))
            if not equals or not value or key not in _KEYS:
                raise ConfigError(f"--where {spec!r}: write KEY=VALUE, with a KEY of {', '.join(_KEYS)}")
            conditions.append((key, value))
        return cls(tuple(conditions))

    def holds(self, chain: Chain, step: Step, edit: Edit) -> bool:
        """Whether an edit meets all conditions."""
        return all(value in _KEYS[key](chain, step, edit) for key, value in self.conditions)

    def values(self, chain: Chain) -> Iterator[tuple[str, str]]:
        """The values of the edits in ``chain`` by key, to tell the user what there is."""
        for _, step, edit in numbered(chain):
            for key, _ in self.conditions:
                yield from ((key, value) for value in _KEYS[key](chain, step, edit) if value)

    def __str__(self) -> str:
        return " and ".join(f"{key}={value}" for key, value in self.conditions)


EVERY = Filter(())
"""The filter without conditions."""


class Result(NamedTuple):
    """What became of a segment: its text before and now, and how many of its edits were decided on (0: the whole).

    ``replaced`` are decisions that held before and do not hold now.
    """

    segment: str
    before: str
    decided: Decided
    edits: int
    replaced: tuple[Decision, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the person may not expect, a sentence each."""
        remarks = [f"replaces: {_place(old.edit)}{old.sentence}" for old in self.replaced]
        whole = self.decided.decision
        if self.edits and whole is not None and whole.verdict == "text":
            remarks.append(f"its own text stands whatever is decided on its edits: {whole.sentence}")
        return (*remarks, *self.decided.remarks)


def _place(edit: int | None) -> str:
    return "" if edit is None else f"edit {edit} "


def _replaced(before: Sequence[Decision], made: Sequence[Decision]) -> tuple[Decision, ...]:
    """The decisions of ``before`` that ``made`` ones put out of force."""
    still = set(latest([*before, *made]))
    return tuple(decision for decision in latest(before) if decision not in still)


def decide(
    store: Store,
    name: str,
    verdict: DecisionVerdict,
    segments: Sequence[str] = (),
    *,
    numbers: Sequence[int] = (),
    where: Filter = EVERY,
    who: str = "",
    reason: str | None = None,
    text: str | None = None,
) -> list[Result]:
    """Decide on edits of ``segments``: the ``numbers`` among them, those that ``where`` holds for, or on the whole.

    ``undecided`` withdraws the last decision on each edit, or the last command on the segment.
    Raises :class:`mtagent.errors.MtagentError` before anything is written.
    """
    run = DecidedRun(store, name)
    results, decisions, versions = list[Result](), list[tuple[int, Decision]](), dict[int, int]()
    seen = set[tuple[str, str]]()
    chosen = [run.run.chain(segment) for segment in dict.fromkeys(segments)]
    for position, chain in chosen or run.run.placed_chains():
        versions[position] = run.log.version(position)
        history = run.log.history(position)
        now = decided(chain, history, skip=run.skip)
        about: list[int | None] = list(dict.fromkeys(numbers))
        if where.conditions:
            seen.update(where.values(chain))
            about = [
                number
                for (number, step, edit), row in zip(numbered(chain), now.edits, strict=True)
                if where.holds(chain, step, edit) and (row.decision if verdict == "undecided" else row.alone)
            ]
            if not about:
                del versions[position]
                continue
        elif not numbers:
            about = [None]
        if verdict == "undecided":
            said = _withdrawals(chain, history, about)
        else:
            said = [Decision(segment=chain.segment.id, edit=number, verdict=verdict, text=text) for number in about]
        said = [one.model_copy(update={"who": who, "reason": reason}) for one in said]
        made = [run.checked(chain, one, history) for one in said]
        decisions += [(position, decision) for decision in made]
        after = decided(chain, [*history, *made], skip=run.skip)
        replaced = tuple(old for old in _replaced(history, made) if old.who != who)
        edits = sum(one.edit is not None for one in made)
        results.append(Result(chain.segment.id, now.text, after, edits, replaced))
    if where.conditions and not decisions:
        raise ConfigError(_nothing_found(name, verdict, where, seen))
    run.log.append(decisions, expected=versions)
    return results


def _withdrawals(chain: Chain, history: Sequence[Decision], about: Sequence[int | None]) -> list[Decision]:
    """Decisions that withdraw the last one on each edit in ``about``; for the whole, all of the last command."""
    before, found = standing(history), list[Decision]()
    for number in about:
        if number is None:
            old = [decision for decision in before if decision.command == before[-1].command]
        else:
            old = [decision for decision in latest(history) if decision.edit == number]
        found += old
        if not old:
            what = "it" if number is None else f"edit {number}"
            raise ConfigError(f"segment {chain.segment.id}: nothing was decided on {what} that could be taken back")
    segment = chain.segment.id
    return [Decision(segment=segment, edit=old.edit, verdict="undecided", withdraws=old.id) for old in found]


def _nothing_found(name: str, verdict: DecisionVerdict, where: Filter, seen: Iterable[tuple[str, str]]) -> str:
    if verdict == "undecided":
        return f"run {name!r}: nothing was decided on an edit with {where} that could be taken back"
    values = sorted({f"{key}={value}" for key, value in seen})
    shown = ", ".join(values[:12]) + (" …" if len(values) > 12 else "")
    return f"run {name!r}: no edit that can be decided on has {where}" + (f"; there are {shown}" if shown else "")


# -- tables


class Import(NamedTuple):
    """What a table of decisions came to: new decisions, those that were there already, and rows without one.

    ``unknown`` are the columns that mean nothing here.
    """

    results: list[Result]
    new: int
    known: int
    empty: int
    unknown: list[str]


def import_decisions(store: Store, name: str, path: Path, who: str = "", *, force: bool = False) -> Import:
    """Take over the decisions of a table; nothing is written where one row of it is wrong.

    Raises :class:`InputError`, which names the line, for a segment or an edit that the run does not have, where its
    words are others by now, and unless ``force`` where another person has decided since the table was written.
    """
    run, read = DecidedRun(store, name), read_decisions(path)
    by_segment, empty = dict[str, list[DecisionRow]](), 0
    for row in read.rows:
        if row.verdict is None:
            empty += 1
        else:
            segment = row.segment if run.run.has(row.segment) else row.segment.strip()
            by_segment.setdefault(segment, []).append(row._replace(segment=segment))
    results, decisions, versions, known = list[Result](), list[tuple[int, Decision]](), dict[int, int](), 0
    for segment, table in by_segment.items():
        try:
            position, chain = run.run.chain(segment)
        except StoreError as error:
            raise InputError(f"{table[0].where}: {error}") from error
        version, history = run.log.version(position), run.log.history(position)
        history = [decision for decision in history if decision.chain in ("", fingerprint(chain))]
        made = list[Decision]()
        _refuse_twice(table)
        for row in sorted(table, key=_in_order):
            decision = _decision(run, chain, row, who, [*history, *made])
            if _holds(decision, latest([*history, *made])):
                known += 1
            else:
                if not force:
                    _refuse_late(row, history, who)
                made.append(decision)
        after = decided(chain, [*history, *made], skip=run.skip)
        _refuse_other_texts(run, chain, table, history, after.text)
        if made:
            versions[position] = version
            decisions += [(position, decision) for decision in made]
            before, edits = decided(chain, history, skip=run.skip).text, sum(one.edit is not None for one in made)
            results.append(Result(segment, before, after, edits, _replaced(history, made)))
    run.log.append(decisions, expected=versions)
    return Import(results, len(decisions), known, empty, read.unknown)


def _holds(decision: Decision, there: Sequence[Decision]) -> bool:
    """Whether what is in force says the same already."""
    same = [old for old in there if old.edit == decision.edit]
    if decision.verdict == "undecided":
        return not same
    if decision.approves:  # a text that was approved or decided on already need not be approved
        return any(old.approves in ("", decision.approves) for old in same)
    return any((old.verdict, old.text) == (decision.verdict, decision.text) for old in same)


def _last_word(history: Sequence[Decision], edit: int | None) -> Decision | None:
    """The last decision on an edit or, which says something of it, on the whole; for the whole, any on the segment."""
    return next((old for old in reversed(history) if edit is None or old.edit in (edit, None)), None)


def _signed(decision: Decision | None) -> str:
    """Who made a decision, and when; no spreadsheet takes it for a date."""
    return "" if decision is None else f"{decision.who or 'nobody'} at {decision.at}"


def _refuse_late(row: DecisionRow, history: Sequence[Decision], who: str) -> None:
    """Refuse to replace what another person has decided since the table was written, where the table tells."""
    last = _last_word(history, row.edit)
    if last is None or row.decided is None or row.decided.strip() == _signed(last) or last.who == who:
        return
    raise InputError(
        f"{row.where}: decided after this table was written: {_place(last.edit)}{last.sentence}; export it again, or "
        "give --force to replace that"
    )


def _refuse_other_texts(
    run: DecidedRun, chain: Chain, table: Sequence[DecisionRow], history: Sequence[Decision], after: str
) -> None:
    """Refuse rows about a segment of another source, or of a text that this one never had."""
    for row in table:
        if row.source is not None and row.source != chain.segment.source:
            raise InputError(
                f"{row.where}: source is {_short(row.source)}, and segment {row.segment} has "
                f"{_short(chain.segment.source)}: if this is not the table of another run, empty the cell"
            )
        states = (history[:end] for end in range(len(history), -1, -1))
        if row.result in (None, after) or any(
            decided(chain, state, skip=run.skip).text == row.result for state in states
        ):
            continue
        raise InputError(
            f"{row.where}: result is {_short(row.result or '')}, which segment {row.segment} of run {run.run.name!r} "
            "never was: if this is not the table of another run, export it again, or empty the cell"
        )


def _in_order(row: DecisionRow) -> tuple[bool, int]:
    """The segment as a whole first, but last where it is accepted with all that the table says of its edits."""
    return row.edit is None and row.verdict == "accept", row.edit or 0


def _decision(run: DecidedRun, chain: Chain, row: DecisionRow, who: str, history: Sequence[Decision]) -> Decision:
    assert row.verdict is not None
    given = Decision(segment=row.segment, edit=row.edit, verdict=row.verdict, text=row.text, reason=row.reason, who=who)
    try:
        decision = run.checked(chain, given, history)
    except ConfigError as error:
        raise InputError(f"{row.where}: {error}") from error
    if row.edit is not None:
        _, _, edit = numbered(chain)[row.edit - 1]
        for column, words, there in (("old", row.old, edit.old), ("new", row.new, edit.new)):
            if words is not None and words != there:
                raise InputError(
                    f"{row.where}: {column} is {_short(words)}, and edit {row.edit} of segment {row.segment} has "
                    f"{_short(there)}: the run is another one by now; export the table again"
                )
    return decision


def _refuse_twice(table: Sequence[DecisionRow]) -> None:
    first = dict[int | None, DecisionRow]()
    for row in table:
        other = first.setdefault(row.edit, row)
        if (other.verdict, other.text) != (row.verdict, row.text):
            raise InputError(f"{row.where}: decides otherwise than {other.where} on the same; keep one of them")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def export_decisions(store: Store, name: str, path: Path) -> int:
    """Write a table with a row for each edit, and for each segment that has any, or errors that nobody corrected.

    Returns how many rows hold a decision.
    """
    run = DecidedRun(store, name)
    histories, count = run.log.histories(), 0

    def table() -> Iterator[dict[str, object]]:
        nonlocal count
        for position, result in run.segments():
            if result.edits or result.decision or any(step.not_fixed for step in result.chain.steps):
                for row in _rows_of(result, histories.get(position, ())):
                    count += bool(row["decision"])
                    yield row

    write_decisions(path, table())
    return count


def _rows_of(result: Decided, history: Sequence[Decision]) -> Iterator[dict[str, object]]:
    """The segment as a whole, and then its edits that can be decided on alone."""
    history = [decision for decision in history if decision.chain in ("", fingerprint(result.chain))]

    def said(decision: Decision | None, edit: int | None) -> dict[str, Any]:
        cells = {"decision": "", "text": "", "reason": "", "decided": _signed(_last_word(history, edit))}
        if decision is not None:
            cells |= {"decision": decision.verdict, "text": decision.text or "", "reason": decision.reason or ""}
        return cells

    segment = result.chain.segment
    left = [error for step in result.chain.steps for error in step.not_fixed]
    why = "; ".join(
        f"not fixed: {error.severity} {error.category} {error.text!r}: {error.explanation or ''}" for error in left
    )
    whole = {"segment": segment.id, "why": why, "source": segment.source, "result": result.text}
    yield whole | said(result.decision, None)
    for row in result.edits:
        if row.alone:
            about = {"segment": segment.id, "edit": row.number, "stage": row.stage, "outcome": row.edit.outcome}
            why = row.edit.detail or (row.edit.span.explanation if row.edit.span else None) or ""
            yield about | {"why": why, "old": row.edit.old, "new": row.edit.new} | said(row.decision, row.number)
