"""What was done to a segment: edits, steps, the chain of them."""

from __future__ import annotations

from typing import Literal

from mtagent.records.conversation import Call, Usage
from mtagent.records.ratings import ErrorSpan, Rating
from mtagent.records.record import Record
from mtagent.records.segments import Segment

Stage = Literal["translate", "postedit", "proofread"]
Outcome = Literal["applied", "not-found", "ambiguous", "overlapping", "unchanged", "refused", "rejected", "reverted"]
Verdict = Literal["kept", "unchanged", "rejected", "failed"]


class Edit(Record):
    """A change to a text: ``text[start:end] == old`` becomes ``new``; ``outcome`` says what became of it.

    ``start`` and ``end`` are ``None`` where the edit was not located. ``detail`` gives the reason of any outcome but
    ``applied``.
    """

    old: str
    new: str
    outcome: Outcome
    start: int | None = None
    end: int | None = None
    span: ErrorSpan | None = None
    detail: str | None = None


class Step(Record):
    """One stage's attempt on a text. ``text`` is the accepted text after the step, ``proposed`` what the stage wanted.

    ``ratings`` holds the editor's rating first and then the judge's, where there are any.
    """

    stage: Stage
    text: str
    proposed: str | None = None
    edits: tuple[Edit, ...] = ()
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()
    verdict: Verdict
    reason: str
    seconds: float = 0.0

    @property
    def usage(self) -> Usage:
        """What this step cost, its ratings included."""
        return Usage.total(call.usage for call in self.calls)


class Chain(Record):
    """A segment and the steps taken on it. Nothing is lost: ``text`` is always the last accepted text."""

    segment: Segment
    steps: tuple[Step, ...] = ()

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
    def usage(self) -> Usage:
        """What all steps cost."""
        return Usage.total(step.usage for step in self.steps)

    def by_stage(self) -> dict[str, Step]:
        """The steps by stage name (the last one, where a stage runs twice)."""
        return {step.stage: step for step in self.steps}
