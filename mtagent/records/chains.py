"""What the chain did to a segment: edits, steps, and the chain of steps."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from pydantic import PrivateAttr, field_validator

from mtagent.errors import StepFailed
from mtagent.records.calls import Call, Record, Usage
from mtagent.records.causes import Cause, ErrorCause, NotedCause
from mtagent.records.ratings import ErrorSpan, Rating, RatingRole, Segment

Stage = Literal["translate", "rerank", "rules", "postedit", "proofread"]


SegmentState = Literal["changed", "unchanged", "rejected", "failed", "rated"]
"""What became of a segment in a run. ``rejected``: it kept its text because a change was not accepted."""


Outcome = Literal["applied", "not-found", "ambiguous", "overlapping", "unchanged", "refused", "rejected", "reverted"]


Verdict = Literal["kept", "unchanged", "rejected", "failed"]


class Edit(Record):
    """A change to a text: ``text[start:end] == old`` becomes ``new``; ``outcome`` says what became of it.

    ``start`` and ``end`` are ``None`` where the edit was not located. ``detail`` says why, for people, where the
    outcome is not ``applied``; ``guards`` names the guards that refused it.
    """

    old: str
    new: str
    outcome: Outcome
    start: int | None = None
    end: int | None = None
    span: ErrorSpan | None = None
    detail: str | None = None
    guards: tuple[str, ...] = ()


class Step(Record):
    """One stage's attempt on a text. ``text`` is the accepted text after the step, ``proposed`` what the stage wanted.

    ``ratings`` holds the ratings that the stage and its gate went by, each with its role. A text as ``cause`` is one
    of kind ``other``.
    """

    stage: Stage
    text: str
    proposed: str | None = None
    edits: tuple[Edit, ...] = ()
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()
    verdict: Verdict
    cause: Cause
    seconds: float = 0.0
    _exception: BaseException | None = PrivateAttr(default=None)

    @field_validator("cause", mode="before")
    @classmethod
    def _in_words(cls, cause: object) -> object:
        return NotedCause(kind="other", detail=cause) if isinstance(cause, str) else cause

    @property
    def reason(self) -> str:
        """The cause, as people read it."""
        return self.cause.sentence

    @property
    def not_fixed(self) -> tuple[ErrorSpan, ...]:
        """The errors by which the stage edited, or would have, for which no edit was applied."""

        def key(error: ErrorSpan) -> tuple[str, ...]:  # places and suggestions may have been added to the edit's span
            return error.text, error.category, error.severity, error.side, error.explanation or ""

        rating = self.rating("editor")
        errors = [error for error in (rating.errors or () if rating else ()) if error.severity != "neutral"]
        fixed = Counter(key(edit.span) for edit in self.edits if edit.span and edit.outcome == "applied")
        left = []
        for error in errors:
            fixed[key(error)] -= 1
            if fixed[key(error)] < 0:
                left.append(error)
        return tuple(left)

    def rating(self, role: RatingRole) -> Rating | None:
        """The rating of the editor, or the judge's of the text before or after."""
        return next((rating for rating in self.ratings if rating.role == role), None)

    @property
    def error(self) -> StepFailed | None:
        """The error with which it failed, with ``status`` and ``retryable``.

        Its ``__cause__`` is the exception itself, as long as the step was not stored in between.
        """
        if self.verdict != "failed":
            return None
        error = StepFailed(f"{self.stage}: {self.reason}")
        error.kind, error.calls = self.cause.kind, self.calls
        if isinstance(self.cause, ErrorCause):
            error.kind, error.status, error.retryable = self.cause.error, self.cause.status, self.cause.retryable
        error.__cause__ = self._exception
        return error

    def raised(self, exception: BaseException) -> Step:
        """The step, which remembers what was raised in it."""
        self._exception = exception
        return self

    @property
    def usage(self) -> Usage:
        """What this step cost, its ratings included."""
        return Usage.total(call.usage for call in self.calls)


class Chain(Record):
    """A segment and the steps taken on it. Nothing is lost: ``text`` is always the last accepted text.

    ``reviewed`` is the text after people's decisions (:mod:`mtagent.chain.decided_text`), if there are any.
    """

    segment: Segment
    steps: tuple[Step, ...] = ()
    reviewed: str | None = None

    @property
    def given(self) -> str | None:
        """The text before any editing: the given translation, or what the translate stage made."""
        if self.segment.translation is not None:
            return self.segment.translation
        return next((step.text for step in self.steps if step.stage == "translate" and step.verdict == "kept"), None)

    @property
    def text(self) -> str:
        """The last accepted text; empty only where there was never any translation (see :attr:`failed`)."""
        return self.steps[-1].text if self.steps else (self.segment.translation or "")

    @property
    def failed(self) -> Step | None:
        """The step that failed, if one did."""
        return next((step for step in self.steps if step.verdict == "failed"), None)

    @property
    def changed(self) -> bool:
        """Whether a given or fresh translation was changed by a later stage."""
        return self.given is not None and self.text != self.given

    @property
    def state(self) -> SegmentState:
        """What became of the segment, in one word."""
        verdicts = {step.verdict for step in self.steps}
        if "failed" in verdicts:
            return "failed"
        return "changed" if self.changed else "rejected" if "rejected" in verdicts else "unchanged"

    @property
    def usage(self) -> Usage:
        """What all steps cost."""
        return Usage.total(step.usage for step in self.steps)

    def raise_for_failure(self) -> Chain:
        """The chain; raises :class:`mtagent.errors.StepFailed` where a step failed."""
        if self.failed is not None and self.failed.error is not None:
            raise self.failed.error
        return self

    def to_dict(self, *, prompts: bool = False) -> dict[str, Any]:
        """All of it as plain data for JSON, with ``text``, ``changed``, ``state`` and ``usage`` on top.

        ``prompts``: also what models were asked and what they answered, which is most of it.
        """
        dialogues: Any = None if prompts else {"steps": {"__all__": {"calls": True, "ratings": {"__all__": {"calls"}}}}}
        usage = self.usage.model_dump(mode="json")
        head = {"text": self.text, "given": self.given, "changed": self.changed, "state": self.state, "usage": usage}
        data = head | self.model_dump(mode="json", exclude=dialogues, exclude_none=True)
        for step, plain in zip(self.steps, data["steps"], strict=True):
            plain["reason"], plain["usage"] = step.reason, step.usage.model_dump(mode="json")
        return data

    def by_stage(self) -> dict[str, Step]:
        """The steps by stage name (the last one, where a stage runs twice)."""
        return {step.stage: step for step in self.steps}
