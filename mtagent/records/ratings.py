"""Texts and their quality: segments, error spans, ratings of evaluators, scores of metrics, signatures."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from mtagent.records.calls import Call, Record, Usage


class Term(Record):
    """A glossary entry. ``target=None`` means: do not translate, keep the source term as it is.

    Several targets of one source are its senses, and any of them is right; ``note`` tells when to use which.
    """

    source: str = Field(min_length=1)
    target: str | None = None
    forbidden: bool = False
    case_sensitive: bool = False
    note: str | None = None

    @property
    def shown(self) -> str:
        """The entry in one line, as prompts have it."""
        target = "keep as it is" if self.target is None else f"{'not ' if self.forbidden else ''}{self.target}"
        return f"{self.source} = {target}{f' ({self.note})' if self.note else ''}"


class MemoryMatch(Record):
    """An approved translation of a ``source`` that equals a segment's or is similar to it, by ``similarity`` percent.

    ``exact``: source and languages are the segment's, so that the translation may be taken as it is. ``origin`` is file
    and line.
    """

    source: str
    target: str
    similarity: int = Field(ge=0, le=100)
    exact: bool = False
    origin: str = ""


class Segment(Record):
    """One unit of translation: a sentence, a paragraph or a whole text, with what is known about it.

    ``source_lang`` and ``target_lang`` are BCP-47 codes. ``context`` is neighbouring text that is not translated.
    ``candidates`` are other translations that may take the place of ``translation``; ``""``: a system has none.
    ``max_length`` is how many characters (Unicode code points) a translation may have.
    """

    id: str
    source: str
    source_lang: str
    target_lang: str
    translation: str | None = None
    candidates: tuple[str, ...] = ()
    reference: str | None = None
    document: str | None = None
    domain: str | None = None
    context: str | None = None
    notes: str | None = None
    terms: tuple[Term, ...] = ()
    matches: tuple[MemoryMatch, ...] = ()
    max_length: int | None = Field(default=None, ge=1)


class Found(Record):
    """A result of a search for knowledge: a note, a glossary entry, a page."""

    title: str
    text: str
    source: str = ""


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
    penalty: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _offsets(self) -> ErrorSpan:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end go together")
        if self.start is not None and self.end is not None and not 0 <= self.start <= self.end:
            raise ValueError(f"offsets {self.start}..{self.end} are not a span")
        return self

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells an error from others, also after the chain has added a place or a suggestion to it."""
        return self.text, self.category, self.severity, self.side, self.explanation or ""

    @property
    def subject(self) -> tuple[str, ...]:
        """By what two stages find the same error, if they call it differently: its words, if it marks any."""
        return (self.text, self.side) if self.text else self.identity

    def is_in(self, text: str, earlier: str) -> bool:
        """Whether ``text`` still has the error, which a stage found that left the ``earlier`` text."""
        if self.side == "translation":
            return self.text in text
        return self.text not in text or self.text in earlier  # a later stage may have added what was missing


RatingRole = Literal["triage", "editor", "before", "after", "try"]
"""Why the chain asked for a rating: to see whether a text needs work at all, to edit by it, or to judge the text before
or after a step.

``try`` is a judge's rating of a text that was not kept: one of several candidates, or one with some or all edits of a
step that was tried in parts.
"""


class Rating(Record):
    """An evaluator's rating of one translation. Higher scores are better; MQM scores are ≤ 0.

    ``role`` is set in the chain alone. ``errors=()`` means judged error-free; ``errors=None`` means that this evaluator
    marks no spans. ``correction`` is the whole text as the evaluator would have it, ``confidence`` its trust in itself
    (0 to 1), ``gaps`` what it would have to know to be sure, and ``warnings`` what looked wrong in its work but did not
    stop it.
    """

    evaluator: str
    role: RatingRole | None = None
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
        """The signature, for people; without one, the evaluator's name."""
        return self.signature or f"{self.evaluator} (no signature)"


class Rated(Record):
    """The rating of one system's translation of a segment, or the ``error`` for which there is none.

    ``calls`` holds the paid calls in either case.
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
    """A metric's score of a list of translations: ``value`` for all of them, ``segments`` for each.

    ``metric`` is the name that is printed (``chrF2``). ``segment_signature`` is the signature of ``segments`` if it
    differs (BLEU's does), ``detail`` what else the metric reports about the whole, in its own words. ``digits`` after
    the point tell scores apart on the metric's scale: 2 up to 100, more if all scores lie between 0 and 1.
    """

    metric: str
    value: float
    segments: tuple[float, ...]
    signature: str
    segment_signature: str = ""
    higher_is_better: bool = True
    detail: str = ""
    digits: int = 2


_OF_ONE_RATING = ("order:", "paragraphs:", "version:", "seed:", "judges-seed:")


_FELL_BACK = "confidence:verbal(no logprobs)"


_REVISION = "revision:"


_CALIBRATED = re.compile(r"threshold:(calibrated|none\(.*\)|.*\(.*,n=\d+\))")


def comparable(signature: str) -> str:
    """The parts of a signature in which two evaluators must agree: name, model, prompts, sampling settings, options.

    Left out are the version of mtagent and the parts about a single rating: the ``seed``, the place among the ratings
    of a source (``order``), the number of ``paragraphs`` in which a long text was rated, and for himate the calibrated
    threshold of a language pair and the note that a model gave no log-probabilities.
    """
    parts = _without(signature, *_OF_ONE_RATING).split("|")
    parts = ["confidence:logprobs" if part == _FELL_BACK else part for part in parts]
    return "|".join(part for part in parts if not _CALIBRATED.fullmatch(part))


def same_rater(signature: str, other: str) -> bool:
    """Whether two signatures are of the same evaluator.

    The revision of a model on the hub counts if both know it: an evaluator knows it once the model is loaded.
    """
    first, second = comparable(signature), comparable(other)
    if (_REVISION in first) != (_REVISION in second):
        first, second = _without(first, _REVISION), _without(second, _REVISION)
    return first == second


def plain_judge_name(name: str, signature: str) -> str:
    """The name of a judge for people who decide on texts: without prompts, settings and hashes.

    ``gpt-6-luna, comparing both texts`` for ``pairwise``, and ``gemba-da (gpt-6-luna, asked 3 times)`` for an
    evaluator that asks a model. For any other judge, and without a ``signature``, the ``name`` as it is.
    """
    method, *parts = signature.split("|")
    values: dict[str, str] = {}
    for part in parts:
        key, _, value = part.partition(":")
        values.setdefault(key, value)  # an evaluator that asks a second one has the model of both
    if "model" not in values or "prompt" not in values:
        return name
    if method == "pairwise":
        return f"{values['model']}, comparing both texts"
    samples = f", asked {values['samples']} times" if "samples" in values else ""
    return f"{name} ({values['model']}{samples})"


def _without(signature: str, *beginnings: str) -> str:
    return "|".join(part for part in signature.split("|") if not part.startswith(beginnings))
