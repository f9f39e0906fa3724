"""What evaluators and metrics say about translations."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from mtagent.records.conversation import Call, Usage
from mtagent.records.record import Record
from mtagent.records.segments import Segment

Severity = Literal["neutral", "minor", "major", "critical"]
Side = Literal["translation", "source", "omission"]


class ErrorSpan(Record):
    """An error that an evaluator marked. An unlocated span has ``start=None``.

    ``side="omission"`` names source text that the translation lacks; ``before`` and ``after`` are the characters next
    to the span in the rated text (for an omission: around the place where the text is missing). ``suggestion`` is the
    text to put in the span's place: ``None`` = the evaluator suggests nothing, ``""`` = delete the span.
    """

    text: str
    category: str
    severity: Severity
    start: int | None = None
    end: int | None = None
    side: Side = "translation"
    suggestion: str | None = None
    explanation: str | None = None
    before: str | None = None
    after: str | None = None
    penalty: float | None = None

    @model_validator(mode="after")
    def _offsets(self) -> ErrorSpan:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end go together")
        if self.start is not None and self.end is not None and not 0 <= self.start <= self.end:
            raise ValueError(f"offsets {self.start}..{self.end} are not a span")
        return self


class Rating(Record):
    """What an evaluator says about one translation. Higher scores are better; MQM scores are ≤ 0.

    ``errors=()`` means judged error-free; ``errors=None`` means that this evaluator marks no spans. ``correction`` is
    the whole text as the evaluator would have it, ``confidence`` its trust in itself (0 to 1), ``gaps`` what it would
    have to know to be sure, and ``warnings`` what looked wrong in its work but did not stop it.
    """

    evaluator: str
    score: float
    errors: tuple[ErrorSpan, ...] | None = None
    explanation: str | None = None
    calls: tuple[Call, ...] = ()
    signature: str = ""
    correction: str | None = None
    confidence: float | None = None
    gaps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def usage(self) -> Usage:
        """What this rating cost."""
        return Usage.total(call.usage for call in self.calls)

    @property
    def signed(self) -> str:
        """The signature, for people; where there is none, who rated."""
        return self.signature or f"{self.evaluator} (no signature)"


class Rated(Record):
    """The rating of one system's translation of a segment, or the ``error`` for which there is none.

    ``calls`` holds what was paid for either way.
    """

    segment: Segment
    system: str
    translation: str
    rating: Rating | None = None
    error: str | None = None
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0

    @property
    def usage(self) -> Usage:
        """What it cost."""
        return Usage.total(call.usage for call in self.calls)


UNIT_DIGITS = 4
"""Digits after the point for scores between 0 and 1."""


class Score(Record):
    """What a metric says about a list of translations: ``value`` for all of them, ``segments`` for each.

    ``metric`` is the name that is printed (``chrF2``). ``segment_signature`` is the signature of ``segments``, where it
    is another one (BLEU's is), ``detail`` what else the metric has to say of the whole, in its own words. ``digits``
    after the point tell scores apart on the metric's scale: 2 up to 100, more where all lies between 0 and 1.
    """

    metric: str
    value: float
    segments: tuple[float, ...]
    signature: str
    segment_signature: str = ""
    higher_is_better: bool = True
    detail: str = ""
    digits: int = 2
