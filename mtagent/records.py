"""The records that travel through mtagent. Their field names are the public API.

All are frozen: a change is a copy (``record.model_copy(update={...})``). Unknown fields are refused. Offsets are
Unicode code points into the text that was rated, end exclusive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from mtagent.errors import MtagentError, StepFailed

__all__ = [
    "Call",
    "Cause",
    "Chain",
    "Choice",
    "Completion",
    "Draft",
    "Edit",
    "ErrorSpan",
    "Found",
    "Judgement",
    "Message",
    "Outcome",
    "Rated",
    "Rating",
    "RatingRole",
    "Record",
    "Schema",
    "Score",
    "Segment",
    "SegmentState",
    "Severity",
    "Side",
    "Stage",
    "Step",
    "Term",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "Usage",
    "Verdict",
]


class Record(BaseModel):
    """Base of all records: frozen, and strict about field names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Schema = dict[str, Any]
"""A JSON Schema as a plain dictionary."""


class Usage(Record):
    """Tokens and dollars as the servers reported them; adds up with ``+``.

    ``input_tokens`` includes ``cached_tokens``, and ``output_tokens`` includes ``reasoning_tokens``. ``reused`` counts
    calls that were answered from the store and cost nothing now. ``cost`` is in US dollars; ``None`` = unknown price,
    and stays unknown in every sum.
    """

    calls: int = 0
    reused: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            calls=self.calls + other.calls,
            reused=self.reused + other.reused,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=cost,
        )

    @staticmethod
    def total(usages: Iterable[Usage]) -> Usage:
        """The sum of ``usages``; ``Usage()`` for none."""
        return sum(usages, start=Usage())


class Tool(Record):
    """A function that a model may ask for; ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Record):
    """A model's wish to have a :class:`Tool` called. ``arguments`` is JSON as the model wrote it, maybe broken."""

    id: str
    name: str
    arguments: str


class Message(Record):
    """One turn of a conversation with a model. ``role="tool"`` answers the tool call ``tool_call_id``."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class TokenLogprob(Record):
    """The log-probability of one token of a reply (natural logarithm)."""

    token: str
    logprob: float


class Call(Record):
    """One request to a model as it is accounted for; ``error`` is set where no usable reply came.

    ``purpose`` says what the request was for: ``translate``, ``rate``, ``judge``, ``proofread`` …
    """

    purpose: str
    model: str
    messages: tuple[Message, ...] = ()
    reply: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None


class Completion(Record):
    """A model's reply to one request. ``text`` may be empty only beside ``tool_calls``.

    ``attempts`` are equal requests before it that brought no usable reply; ``usage`` counts them too.
    """

    text: str
    model: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    logprobs: tuple[TokenLogprob, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    attempts: tuple[Call, ...] = ()


class Term(Record):
    """A glossary entry. ``target=None`` means: do not translate, keep the source term as it is.

    Several targets of one source are its senses, and ``note`` says which is meant where; any of them is right.
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
    max_length: int | None = Field(default=None, ge=1)


class Found(Record):
    """A piece of knowledge that a search brought: a note, a glossary entry, a page."""

    title: str
    text: str
    source: str = ""


class Draft(Record):
    """A text that a translator or a proofreader proposes, and the calls it took."""

    text: str
    calls: tuple[Call, ...] = ()


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


RatingRole = Literal["triage", "editor", "before", "after", "try"]
"""Why the chain asked for a rating: to see whether a text needs work at all, to edit by it, or to judge the text before
or after a step.

``try`` is a judge's rating of a text that was not kept: one of several candidates, or one with some or all edits of a
step that was tried in parts.
"""


class Rating(Record):
    """What an evaluator says about one translation. Higher scores are better; MQM scores are ≤ 0.

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


Choice = Literal["before", "after", "tie"]


GAIN_DIGITS = 9
"""Differences of scores are rounded to so many digits: -0.2 is better than -0.3 by 0.1, though not in binary."""


def contradict(choices: tuple[Choice, ...]) -> bool:
    """Whether a judge preferred one text in one order and the other text in the other: it chose the same place twice.

    A tie in one of the orders is a doubt, and no contradiction.
    """
    return {"before", "after"}.issubset(choices)


class Judgement(Record):
    """What one judge said of the texts before and after a step: a score for each, or its choice in each order asked."""

    judge: str
    signature: str = ""
    before: float | None = None
    after: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def contradicts_itself(self) -> bool:
        """Whether its choices contradict each other."""
        return contradict(self.choices)

    @property
    def gain(self) -> float | None:
        """By how much the score rose; ``None`` where the judge gave none."""
        if self.before is None or self.after is None:
            return None
        return round(self.after - self.before, GAIN_DIGITS)

    @property
    def difference(self) -> float | None:
        """By how much the score rose; of choices +1, -1 or 0: all for ``after``, all for ``before``, or not agreed.

        ``None`` where the judge said nothing.
        """
        if not self.choices:
            return self.gain
        if len(set(self.choices)) > 1:
            return 0.0
        return {"after": 1.0, "before": -1.0, "tie": 0.0}[self.choices[0]]


CauseKind = Literal[
    "translated",
    "blank",
    "no-translation",
    "triage",
    "error-free",
    "found",
    "no-edit",
    "missing",
    "unplaced",
    "unchecked",
    "guards",
    "lines",
    "scores",
    "choices",
    "panel",
    "gain",
    "judged",
    "error",
    "other",
]


class Cause(Record):
    """Why a step has its verdict.

    ==================  =======================================================================================
    ``translated``      ``by`` a system; ``guards`` and ``detail`` say which marks of the source are missing
    ``blank``           the source has no words
    ``no-translation``  there is no translation, and nothing to make one with
    ``triage``          left alone: the ``score`` ``by`` an evaluator reaches the ``threshold``
    ``error-free``      the evaluator found nothing to correct
    ``found``           the rules found errors, and no certain fix for any of them; ``detail`` says which
    ``no-edit``         the stage wants the text as it is
    ``missing``         there is no such candidate
    ``unplaced``        no edit could be made: the edits' outcomes say why
    ``unchecked``       kept without guards and gate
    ``guards``          the guards refused the text (``guards``, ``detail``), or let it pass (no ``guards``)
    ``lines``           several lines were made of one
    ``scores``          the gate went by ``judgements`` with scores, and by ``margin`` (``None``: keep nothing)
    ``choices``         the gate went by ``judgements`` with choices
    ``panel``           the gate went by ``judgements`` of both kinds, of which ``quorum`` had to be in favour
    ``gain``            the gate predicted from ``judgements`` a ``gain`` in people's points, which is one by a
                        ``chance``; ``wanted`` is the least chance that was asked for
    ``judged``          nothing was decided: ``judgements`` of a panel were asked for to calibrate a gate, and that of
                        a ``teacher``, where one gives the labels
    ``error``           an exception of the class ``error``; ``detail`` is its message, ``status`` the server's, and
                        ``retryable`` says whether the same may succeed later; ``by`` is the judge that failed, where
                        edits are judged
    ``other``           ``detail`` says it
    ==================  =======================================================================================

    ``hints`` are the questions that the judges were shown beside the texts (:mod:`mtagent.chain.hints`).

    Where a rejected text was tried in parts, ``edits_kept`` says how many of ``edits_tried`` edits were kept.

    Where a step had several texts to choose from, ``candidates`` holds the cause of each, and ``chosen`` the number of
    the one that was kept, from 1 (``None``: the text stayed). A cause in ``candidates`` says in ``against`` with which
    other candidate the judges compared it; ``None``: with the text before.
    """

    kind: CauseKind
    guards: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    margin: float | None = 0.0
    quorum: int | None = None
    gain: float | None = None
    chance: float | None = None
    wanted: float | None = None
    teacher: Judgement | None = None
    by: str | None = None
    score: float | None = None
    threshold: float | None = None
    error: str | None = None
    detail: str | None = None
    status: int | None = None
    retryable: bool = False
    edits_kept: int = 0
    edits_tried: int = 0
    hints: tuple[str, ...] = ()
    candidates: tuple[Cause, ...] = ()
    chosen: int | None = None
    against: int | None = None

    @classmethod
    def of_error(cls, error: BaseException, detail: str | None = None, by: str | None = None) -> Cause:
        """The cause of a step in which ``error`` was raised; ``detail`` in place of its message."""
        return cls(
            kind="error",
            error=type(error).__name__,
            detail=str(error) if detail is None else detail,
            by=by,
            status=getattr(error, "status", None) if isinstance(error, MtagentError) else None,
            retryable=isinstance(error, TimeoutError | ConnectionError) or getattr(error, "retryable", False) is True,
        )

    @model_validator(mode="after")
    def _with_scores(self) -> Cause:
        if self.kind == "scores" and any(judgement.gain is None for judgement in self.judgements):
            raise ValueError("each judgement has a score before and one after")
        if self.kind == "triage" and (self.score is None or self.threshold is None):
            raise ValueError("triage has a score and a threshold")
        return self

    @property
    def sentence(self) -> str:
        """The cause, as people read it."""
        if self.candidates:
            kept = f"candidate {self.chosen}" if self.chosen else "none"
            return f"{kept} of {len(self.candidates)} kept: " + " | ".join(
                f"{number}{f' against {cause.against}' if cause.against else ''}: {cause.sentence}"
                for number, cause in enumerate(self.candidates, start=1)
            )
        if not self.edits_tried:
            return self._decision
        return f"{self.edits_kept or 'none'} of {self.edits_tried} edits kept: {self._decision}"

    @property
    def _decision(self) -> str:
        match self.kind:
            case "translated":
                return f"translated by {self.by}" + (f", which lost: {self.detail}" if self.guards else "")
            case "blank":
                return "nothing to translate"
            case "no-translation":
                return "there is no translation, and no translate stage to make one: name a model or a translator"
            case "triage":
                return f"left alone by triage: {self.by} {self.score:g}, and {self.threshold:g} is enough"
            case "error-free":
                return "no error found"
            case "found":
                return f"found, and not fixed: {self.detail}"
            case "no-edit":
                return "no edit"
            case "missing":
                return "no text"
            case "unplaced":
                return f"no edit could be made: {self.detail}"
            case "unchecked":
                return "kept without a check"
            case "guards":
                return f"guards: {self.detail}" if self.guards else "the guards found no new damage"
            case "lines":
                return "several lines were made of one, which no setting allows"
            case "scores" | "choices" | "panel" | "gain":
                said = "; ".join(map(self._said, self.judgements))
                if self.gain is not None:
                    chance = f" ({self.chance or 0:.0%} sure; {self.wanted:.0%} wanted)" if self.wanted else ""
                    return f"expected gain {self.gain:+.3g}{chance}: {said}"
                wanted = len(self.judgements) if self.quorum is None else self.quorum
                return said if wanted == len(self.judgements) else f"{wanted} must agree: {said}"
            case "judged":
                taught = [f"taught by {self._said(self.teacher)}"] if self.teacher else []
                return "; ".join([*map(self._said, self.judgements), *taught])
            case "error":
                return f"{self.error}: {self.detail}"
            case "other":
                return self.detail or ""

    def _said(self, judgement: Judgement) -> str:
        """What one judge said, and what follows from it."""
        if judgement.choices:
            doubt = " (the same place in both orders)" if judgement.contradicts_itself else ""
            return f"compared in both orders by {judgement.judge}: {', '.join(judgement.choices)}{doubt}"
        if judgement.before is None or judgement.after is None:
            return f"{judgement.judge}: nothing"
        gain, scores = judgement.gain or 0.0, f"{judgement.judge} {judgement.before:g} -> {judgement.after:g}"
        if self.kind in ("gain", "judged"):
            return scores
        if gain <= 0:
            return f"{scores}: {'a tie keeps the earlier text' if gain == 0 else 'worse'}"
        return f"{scores}: {'below the margin' if self.margin is None or gain < self.margin else 'better'}"


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
        return Cause(kind="other", detail=cause) if isinstance(cause, str) else cause

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
        error.kind = self.cause.error or self.cause.kind
        error.status, error.retryable, error.calls = self.cause.status, self.cause.retryable, self.calls
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


_OF_ONE_RATING = ("order:", "paragraphs:", "version:")
_FELL_BACK = "confidence:verbal(no logprobs)"
_REVISION = "revision:"
_CALIBRATED = re.compile(r"threshold:(calibrated|none\(.*\)|.*\(.*,n=\d+\))")


def comparable(signature: str) -> str:
    """The parts of a signature in which two evaluators must agree: name, model, prompts, sampling settings, options.

    Left aside are the version of mtagent, and what a signature says about a single rating: the place among the ratings
    of a source (``order``), in how many ``paragraphs`` a long text was rated, and of himate that a model gave no
    log-probabilities and the calibrated threshold of a language pair.
    """
    parts = _without(signature, *_OF_ONE_RATING).split("|")
    parts = ["confidence:logprobs" if part == _FELL_BACK else part for part in parts]
    return "|".join(part for part in parts if not _CALIBRATED.fullmatch(part))


def same_rater(signature: str, other: str) -> bool:
    """Whether two signatures are of the same evaluator.

    The revision of a model on the hub counts where both know it: an evaluator does so once the model is loaded.
    """
    first, second = comparable(signature), comparable(other)
    if (_REVISION in first) != (_REVISION in second):
        first, second = _without(first, _REVISION), _without(second, _REVISION)
    return first == second


def _without(signature: str, *beginnings: str) -> str:
    return "|".join(part for part in signature.split("|") if not part.startswith(beginnings))
