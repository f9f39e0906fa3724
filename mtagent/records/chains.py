"""The work of the chain on a segment: its steps, the edits of each step, and the cause of its verdict.

A cause is data: one class for each kind; its sentence is made where people read. The field ``kind`` distinguishes the
classes, also in JSON and in the store (:func:`read_cause`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    field_validator,
    model_serializer,
    model_validator,
)

from mtagent import errors
from mtagent.errors import MtagentError, StepFailed
from mtagent.records.calls import Call, Record, Usage
from mtagent.records.ratings import ErrorSpan, Rating, RatingRole, Segment, plain_judge_name

Choice = Literal["before", "after", "tie"]

GAIN_DIGITS = 9
"""Differences of scores are rounded to this many digits: -0.2 is better than -0.3 by 0.1, though not in binary."""


def contradict(choices: tuple[Choice, ...]) -> bool:
    """Whether a judge preferred one text in one order and the other text in the other: it chose the same place twice.

    A tie in one of the orders is a doubt, not a contradiction.
    """
    return {"before", "after"}.issubset(choices)


class Judgement(Record):
    """What one judge thinks of the texts before and after a step: a score for each, or its choice in each order."""

    judge: str
    signature: str = ""
    before: float | None = None
    after: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def plain_name(self) -> str:
        """The judge, as :func:`mtagent.records.plain_judge_name` writes it."""
        return plain_judge_name(self.judge, self.signature)

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

        ``None`` where the judge gave neither.
        """
        if not self.choices:
            return self.gain
        if len(set(self.choices)) > 1:
            return 0.0
        return {"after": 1.0, "before": -1.0, "tie": 0.0}[self.choices[0]]


def all_call_worse(judgements: Sequence[Judgement]) -> bool:
    """Whether there are several judges, and every one prefers the text before.

    A single judge's "worse" does not veto the edit: if it often prefers the text before, a calibration has learnt that.
    """
    if len(judgements) < 2:
        return False
    return all(judgement.difference is not None and judgement.difference < 0 for judgement in judgements)


class BaseCause(Record):
    """What all causes have in common."""

    kind: str
    # If a rejected text was tried in parts: how many of its edits were tried, and how many were kept.
    edits_kept: int = 0
    edits_tried: int = 0
    # The questions that the judges saw with the texts (mtagent.chain.hints).
    hints: tuple[str, ...] = ()
    # If a step had several texts to choose from: the cause of each, and the number of the text that was kept, from 1
    # (None: the text stayed).
    candidates: tuple[Cause, ...] = ()
    chosen: int | None = None
    # In ``candidates``: the number of the candidate that the judges compared this one with; None: the text before.
    against: int | None = None

    @model_serializer(mode="wrap")
    def _with_kind(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The kind is a default of most classes, and must survive exclude_defaults.
        return {"kind": self.kind, **serialise(self)}

    @property
    def sentence(self) -> str:
        """The cause, as people read it."""
        if self.candidates:
            kept = f"candidate {self.chosen}" if self.chosen else "none"
            causes = [_numbered(number, cause) for number, cause in enumerate(self.candidates, start=1)]
            return f"{kept} of {len(self.candidates)} kept: {' | '.join(causes)}"
        if not self.edits_tried:
            return self._decision
        return f"{self.edits_kept or 'none'} of {self.edits_tried} edits kept: {self._decision}"

    @property
    @abstractmethod
    def _decision(self) -> str:
        """The sentence, without attempts in parts and comparisons with other texts."""


def _numbered(number: int, cause: Cause) -> str:
    against = f" against {cause.against}" if cause.against else ""
    return f"{number}{against}: {cause.sentence}"


PlainKind = Literal["blank", "no-translation", "error-free", "no-edit", "missing", "unchecked", "lines", "unasked"]
_PLAIN_SENTENCES: dict[PlainKind, str] = {
    "blank": "nothing to translate",
    "no-translation": "there is no translation, and no translate stage to make one: name a model or a translator",
    "error-free": "no error found",
    "no-edit": "no edit",
    "missing": "no text",
    "unchecked": "kept without a check",
    "lines": "several lines were made of one, which no setting allows",
    "unasked": "no judge was called: two other candidates agree more with all others",
}


class PlainCause(BaseCause):
    """A cause that its kind explains.

    ``blank``: the source has no words. ``no-translation``: the segment has none, and no
    stage can make one. ``error-free``: the evaluator found nothing to correct. ``no-edit``: the stage changed nothing.
    ``missing``: the candidate doesn't exist. ``unchecked``: kept without guards and gate. ``lines``: one line became
    several. ``unasked``: no judge was called, because other candidates agree more with each other.
    """

    kind: PlainKind

    @property
    def _decision(self) -> str:
        return _PLAIN_SENTENCES[self.kind]


class NotedCause(BaseCause):
    """A cause in words.

    ``found``: the rules found errors, and no certain fix for any of them; ``detail`` lists them. ``unplaced``: no edit
    could be made; ``detail`` counts the edits' outcomes. ``other``: ``detail`` explains it.
    """

    kind: Literal["found", "unplaced", "other"]
    detail: str = ""

    @property
    def _decision(self) -> str:
        if self.kind == "found":
            return f"found, and not fixed: {self.detail}"
        if self.kind == "unplaced":
            return f"no edit could be made: {self.detail}"
        return self.detail


class TranslatedCause(BaseCause):
    """A system translated the source."""

    kind: Literal["translated"] = "translated"
    by: str
    # The guards that miss marks of the source in the translation, and these marks.
    guards: tuple[str, ...] = ()
    detail: str = ""

    @property
    def _decision(self) -> str:
        lost = f", with losses: {self.detail}" if self.guards else ""
        return f"translated by {self.by}{lost}"


class MemoryCause(BaseCause):
    """The text is an approved translation of the same source: it was taken from ``origin``, or already there."""

    kind: Literal["memory"] = "memory"
    origin: str

    @property
    def _decision(self) -> str:
        return f"as approved in the translation memory: {self.origin}"


class TriageCause(BaseCause):
    """The text was skipped: its ``score`` by an evaluator reaches the ``threshold``."""

    kind: Literal["triage"] = "triage"
    by: str
    score: float
    threshold: float

    @property
    def _decision(self) -> str:
        return f"skipped by triage: {self.by} {self.score:g}, and {self.threshold:g} is enough"


class GuardsCause(BaseCause):
    """The ``guards`` refused the text for the damage in ``detail``; without ``guards`` they found none."""

    kind: Literal["guards"] = "guards"
    guards: tuple[str, ...] = ()
    detail: str = ""

    @property
    def _decision(self) -> str:
        return f"guards: {self.detail}" if self.guards else "the guards found no new damage"


class DecidedCause(BaseCause):
    """The gate decided by ``judgements``: with ``scores``, with ``choices``, or in a ``panel`` with both kinds."""

    kind: Literal["scores", "choices", "panel"]
    judgements: tuple[Judgement, ...] = ()
    # By how much a score had to rise; None: keep nothing.
    margin: float | None = 0.0
    # How many judges had to be in favour; None: all.
    quorum: int | None = None

    @model_validator(mode="after")
    def _with_scores(self) -> DecidedCause:
        if self.kind == "scores" and any(judgement.gain is None for judgement in self.judgements):
            raise ValueError("each judgement has a score before and one after")
        return self

    @property
    def _decision(self) -> str:
        judgements = "; ".join(self._with_verdict(judgement) for judgement in self.judgements)
        if self.quorum is None or self.quorum == len(self.judgements):
            return judgements
        return f"{self.quorum} must agree: {judgements}"

    def _with_verdict(self, judgement: Judgement) -> str:
        if judgement.choices or judgement.gain is None:
            return _in_words(judgement)
        if judgement.gain < 0:
            verdict = "worse"
        elif judgement.gain == 0:
            verdict = "a tie keeps the earlier text"
        elif self.margin is None or judgement.gain < self.margin:
            verdict = "below the margin"
        else:
            verdict = "better"
        return f"{_in_words(judgement)}: {verdict}"


class GainCause(BaseCause):
    """The gate predicted from ``judgements`` a ``gain`` in people's points."""

    kind: Literal["gain"] = "gain"
    judgements: tuple[Judgement, ...] = ()
    gain: float | None = None
    # The probabilities that people find the text better, and worse.
    chance: float | None = None
    chance_of_worse: float | None = None
    # With --cautious: the highest chance of being worse that is kept.
    highest_chance_of_worse: float | None = None
    # Judges that were not called, because they could hardly change the decision. The others predict the gain.
    unasked: tuple[str, ...] = ()

    @property
    def is_vetoed(self) -> bool:
        """Whether every judge calls the edit worse, though a gain is expected: it is not kept."""
        if self.gain is None or self.gain <= 0 or self.unasked:
            return False
        return all_call_worse(self.judgements)

    @property
    def _decision(self) -> str:
        judgements = "; ".join(_in_words(judgement) for judgement in self.judgements)
        if self.gain is None:
            return judgements
        chance = ", but every judge calls it worse" if self.is_vetoed else ""
        if self.highest_chance_of_worse is not None:
            chance += f" ({self.chance_of_worse or 0:.0%} likely worse; {self.highest_chance_of_worse:.0%} allowed)"
        unasked = f", {' and '.join(self.unasked)} not asked" if self.unasked else ""
        return f"expected gain {self.gain:+.3g}{chance}{unasked}: {judgements}"


class UndecidedCause(BaseCause):
    """Nothing was decided: a panel made the ``judgements`` to calibrate a gate."""

    kind: Literal["judged"] = "judged"
    judgements: tuple[Judgement, ...] = ()
    # The judgement of a stronger judge that gives the label.
    teacher: Judgement | None = None

    @property
    def _decision(self) -> str:
        parts = [_in_words(judgement) for judgement in self.judgements]
        if self.teacher is not None:
            parts.append(f"taught by {_in_words(self.teacher)}")
        return "; ".join(parts)


class ErrorCause(BaseCause):
    """An exception stopped the step."""

    kind: Literal["error"] = "error"
    # The class of the exception, and its message.
    error: str
    detail: str = ""
    # The judge that failed, where edits are judged.
    by: str | None = None
    # The HTTP status of the server, and whether the same request may succeed later.
    status: int | None = None
    retryable: bool = False

    @classmethod
    def of(cls, error: BaseException, detail: str | None = None, by: str | None = None) -> ErrorCause:
        """The cause of a step in which ``error`` was raised; ``detail`` in place of its message."""
        return cls(
            error=type(error).__name__,
            detail=str(error) if detail is None else detail,
            by=by,
            status=error.status if isinstance(error, MtagentError) else None,
            retryable=isinstance(error, TimeoutError | ConnectionError) or getattr(error, "retryable", False) is True,
        )

    @property
    def _decision(self) -> str:
        # The project's own errors say what happened. Of another exception the class may be all that explains it.
        if self.detail and (hasattr(errors, self.error) or self.error == TimeoutError.__name__):
            return self.detail
        return f"{self.error}: {self.detail}"


Cause = Annotated[
    PlainCause
    | NotedCause
    | TranslatedCause
    | MemoryCause
    | TriageCause
    | GuardsCause
    | DecidedCause
    | GainCause
    | UndecidedCause
    | ErrorCause,
    Field(discriminator="kind"),
]
"""Any cause; check ``isinstance`` or ``kind``."""

_ANY_CAUSE: TypeAdapter[Cause] = TypeAdapter(Cause)


def read_cause(fields: Mapping[str, Any]) -> Cause:
    """The cause with these ``fields``, as ``model_dump`` gives them. Raises :class:`pydantic.ValidationError`."""
    return _ANY_CAUSE.validate_python(fields)


def judgements_of(cause: Cause) -> tuple[Judgement, ...]:
    """The judgements behind a decision; ``()`` for other causes."""
    return cause.judgements if isinstance(cause, DecidedCause | GainCause | UndecidedCause) else ()


def guards_of(cause: Cause) -> tuple[str, ...]:
    """The guards that a cause names; ``()`` for other causes."""
    return cause.guards if isinstance(cause, GuardsCause | TranslatedCause) else ()


def _in_words(judgement: Judgement) -> str:
    name = judgement.plain_name
    if judgement.choices:
        return f"{name}: {_choices_in_words(judgement.choices)}"
    if judgement.before is None or judgement.after is None:
        return f"{name}: nothing"
    return f"{name} {judgement.before:g} -> {judgement.after:g}"


_CHOICE_WORDS: dict[Choice, str] = {"before": "the earlier text", "after": "the new text", "tie": "neither text"}


def _choices_in_words(choices: tuple[Choice, ...]) -> str:
    """Which text a judge preferred in both orders."""
    if contradict(choices):
        return "undecided, it chose the same place in both orders"
    preferred = [_CHOICE_WORDS[choice] for choice in dict.fromkeys(choices)]
    if len(preferred) == 1:
        return f"prefers {preferred[0]}"
    return f"undecided, it prefers {preferred[0]} in one order and {preferred[1]} in the other"


Stage = Literal["translate", "rerank", "rules", "postedit", "proofread"]
SegmentState = Literal["changed", "unchanged", "rejected", "failed", "rated"]
"""The outcome of a segment in a run. ``rejected``: it kept its text because a change was not accepted."""
Outcome = Literal["applied", "not-found", "ambiguous", "overlapping", "unchanged", "refused", "rejected", "reverted"]
Verdict = Literal["kept", "unchanged", "rejected", "failed"]


class Edit(Record):
    """A change to a text: ``text[start:end] == old`` becomes ``new``; ``outcome`` is its result.

    ``start`` and ``end`` are ``None`` if the edit was not located. ``detail`` is the reason, for people, if it wasn't
    applied; ``guards`` names the guards that refused it.
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
    """One stage's attempt on a text. ``text`` is the accepted text after the step, ``proposed`` the stage's proposal.

    ``ratings`` holds the ratings that the stage and its gate used, each with its role. A string as ``cause``
    becomes a cause of kind ``other``.
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

        rating = self.rating("editor")
        errors = []
        if rating is not None and rating.errors:
            errors = [error for error in rating.errors if error.severity != "neutral"]
        fixed = Counter(edit.span.identity for edit in self.edits if edit.span and edit.outcome == "applied")
        left = []
        for error in errors:
            fixed[error.identity] -= 1
            if fixed[error.identity] < 0:
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
        """The step, with the exception that was raised in it."""
        self._exception = exception
        return self

    @property
    def usage(self) -> Usage:
        """What this step cost, its ratings included."""
        return Usage.total(call.usage for call in self.calls)


_COMPUTED = ("text", "given", "changed", "state", "usage")
_COMPUTED_IN_STEP = ("reason", "usage")
"""What plain data of a chain and of its steps has besides their fields."""
_PROMPTS = ("messages", "reply", "tool_calls")
"""The request and the reply in a call."""


_IN_ALL_CALLS = {"__all__": set(_PROMPTS)}
_CALLS_WITHOUT_PROMPTS: Any = {
    "steps": {"__all__": {"calls": _IN_ALL_CALLS, "ratings": {"__all__": {"calls": _IN_ALL_CALLS}}}}
}


def _remove_prompts(plain: Mapping[str, Any]) -> None:
    """Remove requests and replies from the calls of a step or a rating, as plain data."""
    for call in plain.get("calls", ()):
        for name in _PROMPTS:
            call.pop(name, None)


class Chain(Record):
    """A segment and the steps taken on it. Nothing is lost: ``text`` is always the last accepted text.

    ``reviewed`` is the text after people's decisions (:mod:`mtagent.chain.decided_text`), if there are any.

    As plain data or JSON, also as the response of a web framework, it begins with ``text``, ``given``, ``changed``,
    ``state`` and ``usage``, and each step has ``reason`` and ``usage``; ``text`` is null if there was never a
    translation. Requests and replies are left out, unless ``model_dump(context={"prompts": True})`` asks for them. The
    data can be read again with ``Chain.model_validate``.
    """

    segment: Segment
    steps: tuple[Step, ...] = ()
    reviewed: str | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _from_plain(cls, data: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Read plain data without the fields that the serializer adds. They follow from the others."""
        if not isinstance(data, Mapping):
            return validate(data)
        fields = {name: value for name, value in data.items() if name not in _COMPUTED}
        steps = []
        for step in fields.get("steps", ()):
            if isinstance(step, Mapping):
                step = {name: value for name, value in step.items() if name not in _COMPUTED_IN_STEP}
            steps.append(step)
        chain = validate(fields | {"steps": steps})
        if data.get("text") not in (None, chain.text):
            raise ValueError("text: is not the text of the last step")
        return chain

    @model_serializer(mode="wrap")
    def _with_computed(self, serialise: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        mode: Any = info.mode
        with_prompts = bool((info.context or {}).get("prompts"))
        for step, plain in zip(self.steps, fields.get("steps", ()), strict=False):
            plain["reason"], plain["usage"] = step.reason, step.usage.model_dump(mode=mode)
            if not with_prompts:
                _remove_prompts(plain)
                for rating in plain.get("ratings", ()):
                    _remove_prompts(rating)
        return {
            "text": None if self.given is None and self.failed else self.text,
            "given": self.given,
            "changed": self.changed,
            "state": self.state,
            "usage": self.usage.model_dump(mode=mode),
            **fields,
        }

    @property
    def given(self) -> str | None:
        """The text before any editing: the given translation, or that of the translate stage."""
        if self.segment.translation is not None:
            return self.segment.translation
        return next((step.text for step in self.steps if step.stage == "translate" and step.verdict == "kept"), None)

    @property
    def text(self) -> str:
        """The last accepted text; empty only if there was never a translation (see :attr:`failed`)."""
        if self.steps:
            return self.steps[-1].text
        return self.segment.translation or ""

    @property
    def errors_left(self) -> tuple[ErrorSpan, ...]:
        """The errors that the last text still has: see :meth:`errors_left_in`."""
        return self.errors_left_in(self.text)

    def errors_left_in(self, text: str) -> tuple[ErrorSpan, ...]:
        """The errors that a stage found, that no edit fixed and that ``text``, made of the last one, still has.

        A later stage that does not find them again does not refute them: a model overlooks a wrong number that the
        fixed rules found.
        """
        return tuple(error for errors in self.errors_left_by_step(text) for error in errors)

    def errors_left_by_step(self, text: str) -> tuple[tuple[ErrorSpan, ...], ...]:
        """The errors of :meth:`errors_left_in`, those that each step found; each is listed at its first step only."""
        left = list[tuple[ErrorSpan, ...]]()
        already_listed = set[tuple[str, ...]]()
        for step in self.steps:
            errors_of_step = []
            for error in step.not_fixed:
                if error.is_in(text, step.text) and error.subject not in already_listed:
                    errors_of_step.append(error)
            already_listed.update(error.subject for error in errors_of_step)
            left.append(tuple(errors_of_step))
        return tuple(left)

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
        """The outcome of the segment, in one word."""
        verdicts = {step.verdict for step in self.steps}
        if "failed" in verdicts:
            return "failed"
        if self.changed:
            return "changed"
        return "rejected" if "rejected" in verdicts else "unchanged"

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

        ``prompts``: also the requests to models and their replies, which is most of it. ``Chain.model_validate``
        makes a chain of the data.
        """
        # To leave prompts out here takes half as long as to remove them afterwards.
        excluded = None if prompts else _CALLS_WITHOUT_PROMPTS
        return self.model_dump(mode="json", context={"prompts": True}, exclude=excluded)

    def by_stage(self) -> dict[str, Step]:
        """The steps by stage name (the last one, where a stage runs twice)."""
        return {step.stage: step for step in self.steps}
