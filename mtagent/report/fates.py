"""What became of a segment in a stage, and of an edit, in a few groups with plain words for people.

The records say most of it (verdicts, outcomes, ratings); only what stands nowhere else is read from a reason's words,
and what is not known there is a group of its own, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from mtagent.guards import GUARDS
from mtagent.records import Chain, Edit, Outcome, Step

Kind = Literal["changed", "untouched", "unplaced", "guard", "gate", "failed", "idle"]
"""``changed``: a new text stands. ``untouched``: nothing was to be done. ``unplaced``: no edit could be made.
``guard``, ``gate``: rejected by it. ``failed``: an error; the text stays. ``idle``: the stage did not run here."""

KINDS: dict[Kind, str] = {
    "changed": "changed",
    "untouched": "left as it was",
    "unplaced": "no edit could be made",
    "guard": "rejected by a guard",
    "gate": "rejected by the gate",
    "failed": "failed, text kept",
    "idle": "not run",
}
"""All kinds, in the order in which they are shown, and how they are called."""

OUTCOMES: dict[Outcome, str] = {
    "applied": "applied",
    "refused": "refused by a guard",
    "rejected": "rejected with the whole text",
    "not-found": "its place was not found",
    "ambiguous": "may mean several places",
    "overlapping": "another edit covers its place",
    "unchanged": "the text reads so already",
    "reverted": "taken back by the user",
}
"""What becomes of edits, in the order in which it is shown."""

_DIGITS = 9  # as the gate compares scores
_SCORED_REASON = re.compile(r"gate: \S.* (?:-|–|\+)?\d\S* -> \S+: (better|worse|below the margin|a tie)")
_PAIR_REASON = re.compile(r"gate: compared in both orders(?: by .+)?: (before|after|tie), (before|after|tie)$")
_TOGETHER = "together with other edits: "
_SEVERAL = "several guards"


class Fate(NamedTuple):
    """What became of one segment in one stage."""

    kind: Kind
    reason: str


def fate(step: Step) -> Fate:
    """What ``step`` did, in a kind and a reason that many segments share."""
    match step.verdict:
        case "kept":
            return _kept(step)
        case "unchanged":
            return _unchanged(step)
        case "failed":
            return Fate("failed", _error_name(step.reason))
        case "rejected":
            return _rejected(step)


def idle_fate(chain: Chain, stage: str) -> Fate:
    """Why there is no step of ``stage`` in ``chain``."""
    if not chain.segment.source.strip():
        return Fate("idle", "nothing to translate")
    if stage == "translate" and chain.segment.translation is not None:
        return Fate("idle", "a translation was given")
    if chain.failed is not None:
        return Fate("idle", "an earlier stage failed")
    if any(step.stage == "postedit" for step in chain.steps):
        return Fate("idle", "error-free after an earlier stage")
    return Fate("idle", "not run on this segment")


def final_fate(chain: Chain) -> Fate:
    """What became of the segment on the whole way."""
    if chain.given is None:
        return Fate("failed", "without a translation")
    if chain.failed is not None:
        return Fate("failed", "changed before a stage failed" if chain.changed else "a stage failed")
    if chain.changed:
        return Fate("changed", "edited")
    rejected = any(step.verdict == "rejected" for step in chain.steps)
    return Fate("untouched", "changes were rejected" if rejected else "as given or first translated")


def guards_of(edits: Iterable[Edit]) -> tuple[str, ...]:
    """The guards that refused any of ``edits``, each once; ``other`` for one that has no known name."""
    refused = (edit.detail or "" for edit in edits if edit.outcome == "refused")
    return tuple(dict.fromkeys(name for detail in refused for name in _named_guards(detail)))


def edit_fate(edit: Edit) -> str:
    """What became of ``edit``, in words that many edits share."""
    if edit.outcome != "refused":
        return OUTCOMES[edit.outcome]
    return f"{OUTCOMES['refused']}: {_one(guards_of([edit]))}"


def _kept(step: Step) -> Fate:
    if step.stage == "translate":
        blank = not step.calls and not step.text.strip()
        return Fate("untouched", "nothing to translate") if blank else Fate("changed", "translated")
    outcomes = {edit.outcome for edit in step.edits}
    if "reverted" in outcomes:
        return Fate("changed", "in part: the user took edits back") if "applied" in outcomes else _taken_back()
    return Fate("changed", "in part: a guard refused some edits" if "refused" in outcomes else "edited")


def _taken_back() -> Fate:
    return Fate("untouched", "the user took all edits back")


def _unchanged(step: Step) -> Fate:
    outcomes = {edit.outcome for edit in step.edits}
    if not outcomes:
        free = step.stage == "postedit" and step.proposed is None
        return Fate("untouched", "no error found" if free else "nothing to change")
    if len(outcomes) > 1:
        return Fate("unplaced", "several of these reasons")
    (outcome,) = outcomes
    return Fate("unplaced", "the edits change nothing" if outcome == "applied" else OUTCOMES[outcome])


def _rejected(step: Step) -> Fate:
    """A gate rejects the edits that the guards let pass; where it did not get to decide, the guards have refused."""
    by_gate = step.reason.startswith("gate: ")
    if not by_gate and (guards := guards_of(step.edits)) and not _has(step, "rejected"):
        return Fate("guard", _one(guards))
    if by_gate:
        return Fate("gate", _gate_reason(step))
    return Fate("guard", "lines" if "several lines" in step.reason else "other")


def _has(step: Step, outcome: Outcome) -> bool:
    return any(edit.outcome == outcome for edit in step.edits)


def _gate_reason(step: Step) -> str:
    if pair := _PAIR_REASON.match(step.reason):
        return _pair_reason(pair[1], pair[2])
    if not _SCORED_REASON.match(step.reason) or len(step.ratings) < 2:
        return "other"
    before, after = step.ratings[-2:]
    gain = round(after.score - before.score, _DIGITS)
    return "rated worse" if gain < 0 else "rated the same" if gain == 0 else "rated better, but below the margin"


def _pair_reason(first: str, second: str) -> str:
    if first == second:
        return {"before": "the judge prefers the earlier text", "tie": "the judge sees a tie"}.get(first, "other")
    return "the judge is not sure"


def _named_guards(detail: str) -> list[str]:
    """The guards that ``detail`` speaks of: ``numbers: 5 is missing; tags: <b> is missing``."""
    told = detail.removeprefix(_TOGETHER)
    first = told.partition(": ")[0]
    rest = [part.partition(": ")[0] for part in told.split("; ")[1:]]
    return [first if first in GUARDS else "other", *(name for name in rest if name in GUARDS)]


def _one(guards: tuple[str, ...]) -> str:
    return guards[0] if len(guards) == 1 else _SEVERAL


_ERRORS = {
    "AuthenticationError": "the server refused the key",
    "BadRequest": "the server refused the request",
    "EmptyReply": "empty reply",
    "EvaluationError": "the evaluator has no rating",
    "RateLimited": "rate limit of the server",
    "RatingParseError": "unreadable rating",
    "Refused": "the model refused",
    "ServerError": "the server failed",
    "TranslatorError": "the translator failed",
    "Truncated": "reply cut off",
    "UnreadableReply": "unreadable reply",
    "UnusableTranslation": "no translation came back",
}


def _error_name(reason: str) -> str:
    """``RatingParseError: the reply …`` → ``unreadable rating``; the name of an error that is none of ours."""
    name = reason.partition(":")[0]
    if name.isidentifier():
        return _ERRORS.get(name, name)
    return "no translation" if reason.startswith("there is no translation") else "other"
