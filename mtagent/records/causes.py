"""Why a step has its verdict: one class for each kind of cause, as data; its sentence is made where people read.

The field ``kind`` tells the classes apart, also in JSON and in the store (:func:`read_cause`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, TypeAdapter, model_serializer, model_validator

from mtagent.errors import MtagentError
from mtagent.records.calls import Record

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


class BaseCause(Record):
    """What all causes have in common."""

    kind: str
    # Where a rejected text was tried in parts: how many of its edits were tried, and how many were kept.
    edits_kept: int = 0
    edits_tried: int = 0
    # The questions that the judges were shown beside the texts (mtagent.chain.hints).
    hints: tuple[str, ...] = ()
    # Where a step had several texts to choose from: the cause of each, and the number of the text that was kept, from 1
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
        """The sentence, without what was tried in parts or beside others."""


def _numbered(number: int, cause: Cause) -> str:
    against = f" against {cause.against}" if cause.against else ""
    return f"{number}{against}: {cause.sentence}"


PlainKind = Literal["blank", "no-translation", "error-free", "no-edit", "missing", "unchecked", "lines"]
_PLAIN_SENTENCES: dict[PlainKind, str] = {
    "blank": "nothing to translate",
    "no-translation": "there is no translation, and no translate stage to make one: name a model or a translator",
    "error-free": "no error found",
    "no-edit": "no edit",
    "missing": "no text",
    "unchecked": "kept without a check",
    "lines": "several lines were made of one, which no setting allows",
}


class PlainCause(BaseCause):
    """A cause that its kind explains.

    ``blank``: the source has no words. ``no-translation``: there is none, and nothing to make one with.
    ``error-free``: the evaluator found nothing to correct. ``no-edit``: the stage wants the text as it is.
    ``missing``: there is no such candidate. ``unchecked``: kept without guards and gate. ``lines``: several lines were
    made of one.
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
    # The guards whose marks of the source are missing in the translation, and what is missing.
    guards: tuple[str, ...] = ()
    detail: str = ""

    @property
    def _decision(self) -> str:
        lost = f", which lost: {self.detail}" if self.guards else ""
        return f"translated by {self.by}{lost}"


class TriageCause(BaseCause):
    """The text was left alone: its ``score`` by an evaluator reaches the ``threshold``."""

    kind: Literal["triage"] = "triage"
    by: str
    score: float
    threshold: float

    @property
    def _decision(self) -> str:
        return f"left alone by triage: {self.by} {self.score:g}, and {self.threshold:g} is enough"


class GuardsCause(BaseCause):
    """The ``guards`` refused the text for the damage in ``detail``; where there are none, the guards let it pass."""

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
    # The probability that the gain is above 0, and the least probability that was asked for.
    chance: float | None = None
    required_chance: float | None = None

    @property
    def _decision(self) -> str:
        judgements = "; ".join(_in_words(judgement) for judgement in self.judgements)
        if self.gain is None:
            return judgements
        chance = ""
        if self.required_chance:
            chance = f" ({self.chance or 0:.0%} sure; {self.required_chance:.0%} required)"
        return f"expected gain {self.gain:+.3g}{chance}: {judgements}"


class UndecidedCause(BaseCause):
    """Nothing was decided: the ``judgements`` of a panel were asked for to calibrate a gate."""

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
        return f"{self.error}: {self.detail}"


Cause = Annotated[
    PlainCause
    | NotedCause
    | TranslatedCause
    | TriageCause
    | GuardsCause
    | DecidedCause
    | GainCause
    | UndecidedCause
    | ErrorCause,
    Field(discriminator="kind"),
]
"""Any cause; ``isinstance`` or ``kind`` tells which."""

_ANY_CAUSE: TypeAdapter[Cause] = TypeAdapter(Cause)


def read_cause(fields: Mapping[str, Any]) -> Cause:
    """The cause with these ``fields``, as ``model_dump`` gives them. Raises :class:`pydantic.ValidationError`."""
    return _ANY_CAUSE.validate_python(fields)


def judgements_of(cause: Cause) -> tuple[Judgement, ...]:
    """The judgements that a decision went by; ``()`` for causes without any."""
    return cause.judgements if isinstance(cause, DecidedCause | GainCause | UndecidedCause) else ()


def guards_of(cause: Cause) -> tuple[str, ...]:
    """The guards that a cause names; ``()`` for causes without any."""
    return cause.guards if isinstance(cause, GuardsCause | TranslatedCause) else ()


def _in_words(judgement: Judgement) -> str:
    if judgement.choices:
        doubt = " (the same place in both orders)" if judgement.contradicts_itself else ""
        return f"compared in both orders by {judgement.judge}: {', '.join(judgement.choices)}{doubt}"
    if judgement.before is None or judgement.after is None:
        return f"{judgement.judge}: nothing"
    return f"{judgement.judge} {judgement.before:g} -> {judgement.after:g}"
