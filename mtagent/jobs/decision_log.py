"""All decisions on a run as JSON Lines, to bring them from one person's store to another's.

The first line names the run. Each further line is a decision with its time, the person, and the text it is about. So
that decisions also reach a run on the same texts whose gate kept other edits, ``about`` names the edit, or the segment,
without what the machine made of it. A table (:mod:`mtagent.jobs.decisions`) cannot carry this: it has only the
decisions that count, and people edit it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import regex
from pydantic import ValidationError

from mtagent.chain.decided_text import DecidedRun, decided
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import encoded, object_lines, write_pieces
from mtagent.jobs.decisions import DecidedSegment, edit_prefix
from mtagent.records import Chain
from mtagent.records.decisions import Decision, fingerprint, latest, not_withdrawn, text_hash
from mtagent.store.store import Store
from mtagent.text.amounts import counted

SUFFIX = ".jsonl"
"""Files with this name are logs; all others are tables."""
_FORMAT = "mtagent decisions 1"
_TIME = regex.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}")
_HASH = regex.compile(r"[0-9a-f]{24}")
_CLOCK_ERROR = timedelta(hours=1)
"""How far another machine's clock may be ahead of this one."""
_LONGEST_NAME = 200


def export_log(store: Store, name: str, path: Path) -> int:
    """Write all decisions on a run, also those that were replaced or withdrawn. Returns how many there are."""
    run = DecidedRun(store, name)
    histories = run.log.histories()

    def lines() -> Iterator[str]:
        for position, history in histories.items():
            chain = run.run.chain_at(position)
            current = fingerprint(chain)
            subjects = {number: subject for subject, number in _subjects(chain).items()}
            for decision in history:
                fields = decision.model_dump(exclude_defaults=True)
                fields |= {"position": position, "chain": decision.chain or current}
                if fields["chain"] == current and decision.edit in subjects:
                    fields["about"] = subjects[decision.edit]
                yield encoded(fields) + "\n"

    write_pieces(path, encoded({"format": _FORMAT, "run": name}) + "\n", lines())
    return sum(map(len, histories.values()))


def _subjects(chain: Chain) -> dict[str, int | None]:
    """The number of each edit, and ``None`` for the segment, by a hash that any run on the same text has."""
    given = (chain.segment.source, chain.segment.translation)
    subjects: dict[str, int | None] = {text_hash(repr(given)): None}
    before = chain.segment.translation
    number = 0
    for step in chain.steps:
        for edit in step.edits:
            number += 1
            content = (chain.segment.source, step.stage, before, edit.old, edit.new, edit.start)
            subjects.setdefault(text_hash(repr(content)), number)
        before = step.text
    return subjects


class LoggedDecision(NamedTuple):
    """A line of a log."""

    where: str
    """``FILE:LINE``, for messages."""
    position: int
    decision: Decision
    about: str = ""
    """A hash of the edit or the segment; empty for a decision on a text that was replaced before the export."""


class DecisionConflict(NamedTuple):
    """Two decisions that differ, made in two stores without knowledge of each other."""

    segment: str
    counting: Decision
    """The later one."""
    replaced: Decision

    @property
    def sentence(self) -> str:
        """Who decided what, and which decision counts now."""
        words = [f"{edit_prefix(each.edit)}{each.sentence}" for each in (self.replaced, self.counting)]
        return f"decided differently: {words[0]} | {words[1]}; the later one counts now"


class LogImport(NamedTuple):
    """What the import of a log changed."""

    results: list[DecidedSegment]
    conflicts: list[DecisionConflict]
    new: int
    """The number of decisions that were stored."""
    older: int
    """How many of these do not count, because a later decision was here."""
    known: int
    """The number of decisions that were stored before."""
    missing: Counter[str]
    """By segment, the number of decisions on texts and edits that this run does not have. They were not stored."""


def import_log(store: Store, name: str, path: Path) -> LogImport:
    """Add the decisions of another store to those on a run, in order of their times: of two, the later one counts.

    All are stored or none. The same file again changes nothing. Raises :class:`InputError`, which names the line, for
    decisions that cannot be made, and for a file without any decision on the texts of this run.
    """
    run = DecidedRun(store, name)
    other_run, by_segment = _read_log(path)
    merged = list[_MergedSegment]()
    missing = Counter[str]()
    for (place, segment), lines in by_segment.items():
        position = _position(run, place, segment)
        if position is None:
            missing[segment] += len(lines)
        else:
            merged_segment = _MergedSegment(run, position, lines)
            merged.append(merged_segment)
            if merged_segment.missing:
                missing[segment] += merged_segment.missing
    total = sum(map(len, by_segment.values()))
    if total and missing.total() == total:
        raise InputError(
            f"{path}: has {counted(total, 'decision')} on run {other_run!r}, and none is on a text of run {name!r}: "
            "import it into a store with the same run"
        )
    changed = [each for each in merged if each.added]
    decisions = [(each.position, decision) for each in changed for decision in each.added]
    run.log.append(decisions, expected={each.position: each.version for each in changed})
    return LogImport(
        results=[each.result for each in changed],
        conflicts=[conflict for each in changed for conflict in each.conflicts],
        new=len(decisions),
        older=sum(each.older for each in changed),
        known=sum(each.known for each in merged),
        missing=missing,
    )


def _position(run: DecidedRun, place: int, segment: str) -> int | None:
    """The position of a segment in this run; where several have its id, the one at the same ``place``."""
    positions = run.run.positions_of(segment)
    if place in positions:
        return place
    return positions[0] if len(positions) == 1 else None


class _MergedSegment:
    """The decisions on one segment that are stored here, and those of a log."""

    def __init__(self, run: DecidedRun, position: int, lines: Sequence[LoggedDecision]) -> None:
        self.position = position
        self.version = run.log.version(position)
        self.added = list[Decision]()
        self.known = self.missing = 0
        self._run, self._chain = run, run.run.chain_at(position)
        self._history = run.log.history(position)
        self._current = fingerprint(self._chain)
        self._subjects = _subjects(self._chain)
        self._in_log = list[Decision]()
        """The decisions of the log, as they are stored here or will be."""
        stored = dict[tuple[Any, ...], Decision]()
        by_id = {decision.id: decision for decision in self._history}
        for decision in self._history:
            stored[self._identity(decision, by_id.get(decision.withdraws or 0))] = decision
        by_number = dict[int, Decision]()  # by the number in the log
        for line in lines:
            moved = self._here(line)
            withdrawn = by_number.get(line.decision.withdraws or 0)
            if moved is None or (moved.withdraws is not None and withdrawn is None):
                self.missing += 1
                continue
            identity = self._identity(moved, withdrawn)
            here = stored.get(identity)
            if here is not None:
                self.known += 1
            else:
                here = self._new(moved, withdrawn)
                stored[identity] = here
                self.added.append(here)
            by_number[line.decision.id] = here
            self._in_log.append(here)
        self._merged = [*self._history, *self.added]

    def _identity(self, decision: Decision, withdrawn: Decision | None) -> tuple[Any, ...]:
        """By what a decision is recognised in another store, where it has another number."""
        fields = decision.model_dump(exclude={"id", "command", "withdraws", "segment"})
        fields["chain"] = decision.chain or self._current
        of_withdrawn = None if withdrawn is None else self._identity(withdrawn, None)
        return (*fields.values(), of_withdrawn)

    def _here(self, line: LoggedDecision) -> Decision | None:
        """The decision of a line, on the segment or edit of this run that it is about; ``None`` if that isn't here."""
        decision = line.decision
        if decision.chain != self._current:
            if line.about not in self._subjects:
                return None
            decision = decision.model_copy(update={"edit": self._subjects[line.about], "chain": self._current})
        if decision.withdraws is not None:
            return decision
        try:
            stage = self._run.checked(self._chain, decision, ()).stage
        except ConfigError as error:
            if line.decision.chain != self._current:  # what could be decided there cannot be decided here
                return None
            raise InputError(f"{line.where}: {error}") from error
        return decision.model_copy(update={"stage": stage})

    def _new(self, decision: Decision, withdrawn: Decision | None) -> Decision:
        numbers = {"id": -decision.id, "command": -decision.command}
        if withdrawn is not None:
            numbers["withdraws"] = withdrawn.id
        return decision.model_copy(update=numbers)

    @property
    def result(self) -> DecidedSegment:
        """What the decisions of the log changed."""
        before = decided(self._chain, self._history, skip=self._run.skip).text
        after = decided(self._chain, self._merged, skip=self._run.skip)
        edits = sum(decision.edit is not None for decision in self.added)
        return DecidedSegment(self._chain.segment.id, before, after, edits)

    @property
    def older(self) -> int:
        """How many of the added decisions are followed by a later one that was here."""
        added = {decision.id for decision in self.added}
        order = not_withdrawn(self._merged)
        count = 0
        for place, decision in enumerate(order):
            if decision.id in added:
                later = order[place + 1 :]
                count += any(other.edit == decision.edit and other.id not in added for other in later)
        return count

    @property
    def conflicts(self) -> Iterator[DecisionConflict]:
        """Decisions that counted in one store, and do not count beside those of the other."""
        added = {decision.id for decision in self.added}
        only_here = {decision.id for decision in self._history} - {decision.id for decision in self._in_log}
        counting = {decision.id for decision in latest(self._merged)}
        for replaced in (*latest(self._history), *latest(self._in_log)):
            if replaced.id in counting:
                continue
            if replaced.id in only_here:
                elsewhere = added
            elif replaced.id in added:
                elsewhere = only_here
            else:
                continue  # both people knew it
            for decision in reversed(not_withdrawn(self._merged)):
                if decision.id not in elsewhere or decision.edit not in (replaced.edit, None):
                    continue
                if (decision.verdict, decision.text) != (replaced.verdict, replaced.text):
                    yield DecisionConflict(self._chain.segment.id, decision, replaced)
                break


# -- reading


def _read_log(path: Path) -> tuple[str, dict[tuple[int, str], list[LoggedDecision]]]:
    """The name of the run, and the decisions by position and id of their segment."""
    lines = object_lines(path)
    first = next(lines, None)
    if first is None or first[1].get("format") != _FORMAT or not isinstance(first[1].get("run"), str):
        raise InputError(
            f"{path}:1: expected a file that `mtagent decide RUN --export FILE{SUFFIX}` has written, which begins with "
            f'{{"format": "{_FORMAT}", …}}'
        )
    by_segment = dict[tuple[int, str], list[LoggedDecision]]()
    by_number = dict[int, LoggedDecision]()
    latest_time = (datetime.now(UTC) + _CLOCK_ERROR).isoformat(" ", "milliseconds")
    for line, values in lines:
        logged = _read_line(f"{path}:{line.number}", values)
        decision = logged.decision
        if decision.id in by_number:
            raise InputError(f"{logged.where}: the id {decision.id} is also in {by_number[decision.id].where}")
        if decision.at > latest_time:
            raise InputError(
                f"{logged.where}: was made at {decision.at} (UTC), which is later than the time on this machine: set "
                "the clock that is wrong"
            )
        place = (logged.position, decision.segment)
        if decision.withdraws is not None:
            withdrawn = by_number.get(decision.withdraws)
            if (
                withdrawn is None
                or withdrawn.decision.withdraws
                or (withdrawn.position, withdrawn.decision.segment) != place
            ):
                raise InputError(
                    f"{logged.where}: withdraws decision {decision.withdraws}, and no line above holds such a decision "
                    "on this segment"
                )
        by_number[decision.id] = logged
        by_segment.setdefault(place, []).append(logged)
    return first[1]["run"], by_segment


def _read_line(where: str, values: dict[str, Any]) -> LoggedDecision:
    position = values.pop("position", None)
    about = values.pop("about", "")
    try:
        decision = Decision.model_validate(values, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"])) or "decision"
        raise InputError(f"{where}: {field}: {problem['msg']}") from error
    seconds = decision.seconds or 0.0
    valid = {
        "position": isinstance(position, int) and not isinstance(position, bool) and 0 <= position < 2**62,
        "id": 0 < decision.id < 2**62,
        "command": 0 < decision.command < 2**62,
        "edit": decision.edit is None or 0 < decision.edit < 2**62,
        "at": _is_time(decision.at),
        "chain": bool(_HASH.fullmatch(decision.chain)),
        "about": about == "" or (isinstance(about, str) and bool(_HASH.fullmatch(about))),
        "approves": not decision.approves or bool(_HASH.fullmatch(decision.approves)),
        "seconds": math.isfinite(seconds) and seconds >= 0,
        "who": len(decision.who) <= _LONGEST_NAME,
    }
    for field, is_valid in valid.items():
        if not is_valid:
            found = encoded({"position": position, "about": about}.get(field, values.get(field)))
            raise InputError(f"{where}: {field}: {found[:40]} cannot be; export the decisions again")
    return LoggedDecision(where, position or 0, decision, about)


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
