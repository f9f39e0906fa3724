"""What became of a segment in a stage or a run, and of an edit, as comparisons and reports classify it.

``SegmentOutcome`` is what comparisons count. A ``Fate`` is finer: it names the reason, too, and reports count it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from mtagent.records import (
    Chain,
    DecidedCause,
    Edit,
    ErrorCause,
    GainCause,
    GuardsCause,
    Outcome,
    Stage,
    Step,
    guards_of,
)

SegmentOutcome = Literal["kept", "unchanged", "rejected", "failed", "reverted", "triaged", "idle"]
"""A verdict, or: ``reverted``, kept until the user took all edits back; ``triaged``, skipped by triage; ``idle``,
the stage did not run."""
SEGMENT_OUTCOMES: tuple[SegmentOutcome, ...] = get_args(SegmentOutcome)
UNPLACED: tuple[Outcome, ...] = ("not-found", "ambiguous", "overlapping", "unchanged")
"""Outcomes of edits that could not be made, which tables count together."""
Kind = Literal["changed", "untouched", "unplaced", "guard", "gate", "failed", "idle"]

KINDS: dict[Kind, str] = {
    "changed": "changed",
    "untouched": "left as it was",
    "unplaced": "no edit could be made",
    "guard": "rejected by a guard",
    "gate": "rejected by the gate",
    "failed": "failed",
    "idle": "not run",
}
"""All kinds, in the order in which they are shown, and how they are called."""

OUTCOMES: dict[Outcome, str] = {
    "applied": "applied",
    "refused": "refused by a guard",
    "rejected": "rejected by the gate",
    "not-found": "its place was not found",
    "ambiguous": "may mean several places",
    "overlapping": "another edit covers its place",
    "unchanged": "the text reads so already",
    "reverted": "taken back by the user",
}
"""What becomes of edits, in the order in which it is shown."""

_ERRORS = {
    "AuthenticationError": "the server refused the key",
    "BadRequest": "the server refused the request",
    "BudgetSpent": "the budget is spent",
    "ConnectionError": "no connection to the server",
    "EmptyReply": "empty reply",
    "EvaluationError": "the evaluator has no rating",
    "LanguageNeeded": "the source language is unknown",
    "MetricError": "the metric has no score",
    "ModelNotFound": "the server has no such model",
    "RateLimited": "rate limit of the server",
    "RatingParseError": "unreadable rating",
    "Refused": "the model refused",
    "SearchError": "the search failed",
    "ServerError": "the server failed",
    "ServerPaused": "the server asks for a long pause",
    "TimeoutError": "no answer in time",
    "TranslatorError": "the translator failed",
    "Truncated": "reply cut off",
    "UnreadableReply": "unreadable reply",
    "UnusableTranslation": "no translation came back",
}


def error_in_words(error: str) -> str:
    """What went wrong, for people who have never seen the class ``error`` of an exception."""
    return _ERRORS.get(error, "unexpected error")


def plain_reason(step: Step) -> str:
    """The reason of ``step`` for people who work on texts: an error in words in place of its class."""
    if isinstance(step.cause, ErrorCause):
        words = error_in_words(step.cause.error)
        return f"{words}: {step.cause.detail}" if step.cause.detail else words
    return step.reason


_UNTOUCHED = {
    "blank": "nothing to translate",
    "triage": "skipped by triage",
    "memory": "left alone: as approved in the translation memory",
    "error-free": "no error found",
    "found": "found, and no fix is certain",
}


def stage_outcome(steps: Sequence[Step], before: str) -> SegmentOutcome:
    """What the ``steps`` of one stage did to a segment whose text was ``before``; the last step counts."""
    if not steps:
        return "idle"
    last = steps[-1]
    is_reverted = any(edit.outcome == "reverted" for step in steps for edit in step.edits)
    if last.verdict == "kept" and is_reverted and last.text == before:
        return "reverted"
    if last.cause.kind == "triage":
        return "triaged"
    return last.verdict


def run_outcome(chain: Chain) -> SegmentOutcome:
    """What the whole run did to a segment: ``kept`` if any stage changed it."""
    match chain.state:
        case "changed":
            return "kept"
        case "failed":
            return "failed"
        case "unchanged" if any(step.cause.kind == "triage" for step in chain.steps):
            return "triaged"
    if any(edit.outcome == "reverted" for step in chain.steps for edit in step.edits):
        return "reverted"
    if chain.state == "rejected":
        return "rejected"
    return "unchanged"


class Fate(NamedTuple):
    """What became of one segment in one stage."""

    kind: Kind
    reason: str
    """Many segments share it."""


def fate(step: Step) -> Fate:
    """What ``step`` did: its kind, and a reason that many segments share."""
    outcomes, cause = {edit.outcome for edit in step.edits}, step.cause
    match step.verdict:
        case "kept" if cause.kind == "blank":
            return Fate("untouched", cause.sentence)
        case "kept" if cause.kind == "memory":
            return Fate("changed", "taken from the translation memory")
        case "kept" if step.stage == "translate":
            if set(guards_of(cause)) <= {"max_length"}:
                return Fate("changed", "translated")
            return Fate("changed", "translated; something of the source is missing")
        case "kept" if "reverted" in outcomes:
            if "applied" in outcomes:
                return Fate("changed", "in part: the user took edits back")
            return Fate("untouched", "the user took all edits back")
        case "kept" if step.stage == "rerank":
            return Fate("changed", f"candidate {cause.chosen}")
        case "kept" if "refused" in outcomes:
            return Fate("changed", "in part: a guard refused some edits")
        case "kept" if "rejected" in outcomes:
            return Fate("changed", "in part: the gate rejected some edits")
        case "kept":
            return Fate("changed", "edited")
        case "unchanged" if not outcomes:
            return Fate("untouched", _UNTOUCHED.get(cause.kind, "nothing to change"))
        case "unchanged" if len(outcomes) > 1:
            return Fate("unplaced", "several of these reasons")
        case "unchanged" if outcomes == {"applied"}:
            return Fate("unplaced", "the edits change nothing")
        case "unchanged":
            (outcome,) = outcomes
            return Fate("unplaced", OUTCOMES[outcome])
        case "failed" if isinstance(cause, ErrorCause):
            return Fate("failed", error_in_words(cause.error))
        case "failed" if cause.kind == "no-translation":
            return Fate("failed", "no translation")
        case "failed":
            return Fate("failed", "other")
        case "rejected":
            return _rejected(step)


def _rejected(step: Step) -> Fate:
    cause = step.cause
    if isinstance(cause, GuardsCause):
        refused: list[str] = []
        for edit in step.edits:
            if edit.outcome == "refused":
                refused.extend(edit.guards or ("other",))
        return Fate("guard", _one_guard(refused or cause.guards))
    if cause.kind == "lines":
        return Fate("guard", "lines")
    if isinstance(cause, GainCause):
        if cause.is_vetoed:
            return Fate("gate", "every judge calls it worse")
        if cause.gain is not None and cause.gain > 0:
            return Fate("gate", "it may be worse")
        return Fate("gate", "no gain expected")
    if isinstance(cause, DecidedCause):
        return Fate("gate", _why_not_kept(cause))
    return Fate("gate", "other")


def _why_not_kept(cause: DecidedCause) -> str:
    if len(cause.judgements) > 1:
        return "too few judges agree"
    (judgement,) = cause.judgements
    if cause.kind == "scores":
        gain = judgement.gain or 0.0
        if gain < 0:
            return "rated worse"
        if gain == 0:
            return "rated the same"
        return "rated better, but below the margin"
    if cause.kind == "choices":
        choices = set(judgement.choices)
        if choices == {"before"}:
            return "the judge prefers the earlier text"
        if choices == {"tie"}:
            return "the judge sees a tie"
        if judgement.contradicts_itself:
            return "the judge contradicts itself"
        return "the judge is not sure"
    return "other"


def _one_guard(guards: list[str] | tuple[str, ...]) -> str:
    return guards[0] if len(set(guards)) == 1 else "several guards"


def idle_fate(chain: Chain, stage: Stage) -> Fate:
    """Why there is no step of ``stage`` in ``chain``."""
    if not chain.segment.source.strip():
        return Fate("idle", "nothing to translate")
    if stage == "translate" and chain.segment.translation is not None:
        return Fate("idle", "a translation was given")
    order = get_args(Stage)
    earlier = [step for step in chain.steps if order.index(step.stage) < order.index(stage)]
    if any(step.verdict == "failed" for step in earlier):
        return Fate("idle", "an earlier stage failed")
    if stage == "rules":
        return Fate("idle", "the rules found nothing")
    if stage == "rerank" and not any(chain.segment.candidates):
        return Fate("idle", "no candidate was given")
    if any(step.stage in ("rerank", "postedit") for step in earlier):
        return Fate("idle", "error-free after an earlier stage")
    return Fate("idle", "not run on this segment")


def final_fate(chain: Chain) -> Fate:
    """What became of the segment from first to last."""
    if chain.given is None:
        return Fate("failed", "without a translation")
    if chain.failed is not None and chain.changed:
        return Fate("failed", "changed before a stage failed")
    if chain.failed is not None:
        return Fate("failed", "a stage failed")
    if chain.changed:
        return Fate("changed", "edited")
    if any(step.verdict == "rejected" for step in chain.steps):
        return Fate("untouched", "changes were rejected")
    return Fate("untouched", "as given or first translated")


def edit_fate(edit: Edit) -> str:
    """What became of ``edit``, in words that many edits share."""
    words = OUTCOMES[edit.outcome]
    if edit.outcome == "refused":
        return f"{words}: {_one_guard(edit.guards or ('other',))}"
    return words
