"""Decisions on many edits of a stored run at once, chosen by number or by a filter, as the commands make them.

A command writes all of its decisions or none. It reads a segment's version before it decides and passes it on when it
writes: if another window was first, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mtagent.chain.decided_text import Decided, DecidedRun, decided, numbered
from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, Step, judgements_of
from mtagent.records.decisions import Decision, DecisionVerdict, latest, not_withdrawn
from mtagent.store.store import Store

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
            return [judgement.judge for judgement in judgements_of(step.cause)]
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
            key, equals, value = (part.strip() for part in spec.partition("="))
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

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the person may not expect, a sentence each."""
        remarks = [f"replaces: {edit_prefix(old.edit)}{old.sentence}" for old in self.replaced]
        whole = self.decided.decision
        if self.edits and whole is not None and whole.verdict == "text":
            remarks.append(f"decisions on its edits have no effect, because it has its own text: {whole.sentence}")
        return (*remarks, *self.decided.remarks)


def edit_prefix(edit: int | None) -> str:
    """``edit 2`` and a space, before a sentence about the edit; empty for the segment as a whole."""
    return "" if edit is None else f"edit {edit} "


def replaced_decisions(before: Sequence[Decision], added: Sequence[Decision]) -> tuple[Decision, ...]:
    """The decisions in ``before`` that no longer count after the ``added`` ones."""
    still_counting = set(latest([*before, *added]))
    return tuple(decision for decision in latest(before) if decision not in still_counting)


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

        if verdict == "undecided":
            drafts = _withdrawals(chain, history, edits)
        else:
            drafts = [Decision(segment=chain.segment.id, edit=edit, verdict=verdict, text=text) for edit in edits]
        added = list[Decision]()
        for draft in drafts:
            signed = draft.model_copy(update={"who": who, "reason": reason})
            added.append(run.checked(chain, signed, history))
        decisions += [(position, decision) for decision in added]

        after = decided(chain, [*history, *added], skip=run.skip)
        replaced = [old for old in replaced_decisions(history, added) if old.who != who]
        edit_count = sum(decision.edit is not None for decision in added)
        results.append(DecidedSegment(chain.segment.id, current.text, after, edit_count, tuple(replaced)))
    if where.conditions and not decisions:
        raise ConfigError(_no_match(name, verdict, where, seen_values))
    run.log.append(decisions, expected=versions)
    return results


def _matching_edits(current: Decided, where: EditFilter, verdict: DecisionVerdict) -> Iterator[int]:
    """The numbers of the edits that match the filter and can be decided on or, to undo that, were decided on."""
    chain = current.chain
    for (number, step, edit), row in zip(numbered(chain), current.edits, strict=True):
        is_eligible = row.decision is not None if verdict == "undecided" else row.alone
        if is_eligible and where.holds(chain, step, edit):
            yield number


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
            raise ConfigError(f"segment {segment}: nothing was decided on {subject} that could be taken back")
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
