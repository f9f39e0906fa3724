"""What a calibration changes in the chain: the gain that the gate expects, and what is called error-free."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from pydantic import Field, ValidationError

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import replacing
from mtagent.formats.json_text import whole_file
from mtagent.records import Judgement, Record, comparable, same_rater

KIND = "mtagent gate calibration"


class Figure(Record):
    """A figure and its 95 % confidence interval; ``None``: it is not defined for these items."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Effect(Record):
    """What a gate does to ``items`` edits in ``groups`` groups.

    ``gate``, ``always``, ``never``, ``oracle`` and ``alone`` (each judge without the others: kept where its difference
    is above 0) are means of people's scores: of what is kept, of all edited texts, of all texts before, and of the
    better of each two. ``over_always``, ``over_never`` and ``lead`` are the gate's lead over these and over the better
    of the two; ``headroom`` is the share that ``lead`` is of the oracle's.
    """

    items: int
    groups: int
    gate: Figure
    always: Figure
    never: Figure
    oracle: Figure
    over_always: Figure
    over_never: Figure
    accepted: Figure
    good_kept: Figure
    harmful_refused: Figure
    lead: Figure
    headroom: Figure
    alone: dict[str, Figure]


def signed_root(difference: float) -> float:
    """The square root, with the sign of the difference."""
    return math.copysign(math.sqrt(abs(difference)), difference)


class JudgeWeight(Record):
    """What a judge's word counts in an :class:`ExpectedGain`.

    What counts is the signed square root of its difference (after - before), since large differences say less for each
    point than small ones. It is divided by ``scale``, its standard deviation in the calibration pairs (0: it is the
    same in all, and the judge counts nothing); ``weight`` is people's points for one such deviation.
    ``before_*`` say the same of its score of the text before, less ``before_mean``, where that counts too.
    """

    judge: str
    signature: str
    scale: float = Field(ge=0, allow_inf_nan=False)
    weight: float = Field(allow_inf_nan=False)
    before_mean: float = Field(default=0.0, allow_inf_nan=False)
    before_scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    before_weight: float = Field(default=0.0, allow_inf_nan=False)


class LearningPoint(Record):
    """What a gate learnt on ``pairs`` pairs is worth on the held-out ones: its mean ``lead`` and share of ``headroom``.

    ``lost`` is the share of the draws in which it is worse than the better of always and never.
    """

    pairs: int
    draws: int
    lead: float
    headroom: float | None
    lost: float


class TriagePoint(Record):
    """What leaving texts alone that ``judge`` scores ``threshold`` or more is worth, where the others go to the gate.

    ``untouched`` is the share of these texts, ``human`` people's mean score of all, ``change`` its lead over the gate
    for every text. The calibrated threshold for error-free is ``calibrated``.
    """

    judge: str
    threshold: float
    calibrated: bool = False
    untouched: Figure
    human: Figure
    change: Figure


class ExpectedGain(Record):
    """The gain that people would see, predicted from what judges say of the texts before and after.

    Learnt on ``calibrated_on`` pairs by ridge regression, with the penalty ``ridge`` per pair on the weights and none
    on the intercept, which makes the mean prediction people's mean gain. ``spread`` is the standard deviation of
    people's gain around predictions for pairs of documents that were not learnt from. ``held_out`` is the effect on
    edits of other documents, ``learning`` that of fewer pairs, ``triage`` that of leaving alone what a judge scores
    well.
    """

    intercept: float = Field(allow_inf_nan=False)
    judges: tuple[JudgeWeight, ...] = Field(min_length=1)
    spread: float = Field(ge=0, allow_inf_nan=False)
    ridge: float = Field(gt=0, allow_inf_nan=False)
    calibrated_on: int
    held_out: Effect | None = None
    learning: tuple[LearningPoint, ...] = ()
    triage: tuple[TriagePoint, ...] = ()

    def predict(self, judgements: Sequence[Judgement]) -> float:
        """The expected gain in people's points; ``judgements`` in the order of :attr:`judges`.

        Raises :class:`ConfigError` where they are by other judges, or where a judge gave no scores.
        """
        if len(judgements) != len(self.judges):
            names = ", ".join(judge.judge for judge in self.judges)
            raise ConfigError(f"the gain was learnt from {len(self.judges)} judges ({names}), not {len(judgements)}")
        gain = self.intercept
        for judge, judgement in zip(self.judges, judgements, strict=True):
            if judge.signature and judgement.signature and not same_rater(judge.signature, judgement.signature):
                raise ConfigError(f"the gain was learnt from {judge.signature}, not from {judgement.signature}")
            if judgement.difference is None or (judge.before_weight and judgement.before is None):
                raise ConfigError(
                    f"{judgement.judge}: gave no score of both texts, as {judge.judge} did in calibration"
                )
            if judge.scale:
                gain += judge.weight * signed_root(judgement.difference) / judge.scale
            if judge.before_weight and judgement.before is not None:
                gain += judge.before_weight * (judgement.before - judge.before_mean) / judge.before_scale
        return gain

    def chance(self, prediction: float) -> float:
        """The chance that people see a gain where ``prediction`` is expected: normal, with the spread."""
        if not self.spread:
            return float(prediction > 0)
        return NormalDist(sigma=self.spread).cdf(prediction)


class Labels(Record):
    """What a threshold does to texts."""

    items: int
    groups: int
    error_free: Figure
    precision: Figure
    coverage: Figure
    recall: Figure


class Point(Record):
    """A point of the precision–coverage curve, of the texts that were calibrated on."""

    threshold: float
    precision: float
    coverage: float


class ErrorFree(Record):
    """From which score on a text is error-free: chosen on ``calibrated_on`` texts, its effect on the others.

    ``threshold`` ``None``: none reaches the ``wanted`` precision. ``definition`` says what people call error-free,
    ``low`` and ``high`` where the threshold lies in 95 % of resamples, of which the share ``reached`` has one.
    """

    definition: str
    wanted: float
    threshold: float | None = Field(allow_inf_nan=False)
    low: float | None = None
    high: float | None = None
    reached: float = 0.0
    calibrated_on: int
    held_out: Labels | None = None
    curve: tuple[Point, ...] = Field(min_length=1)


class Source(Record):
    """What was read: the option that names it, the name of the file or run, and the hash of a file's content."""

    option: str
    name: str
    sha256: str | None = None


class Calibration(Record):
    """A gate's calibration, as its file holds it.

    ``evaluator`` and ``signature`` say whose scores the threshold for error-free is about: the first judge that gives
    scores. ``human`` is the kind of people's scores (or ``teacher`` and its
    signature), ``pairs`` and ``domains`` are the language pairs and domains, ``date`` and ``version`` say when and by
    which mtagent it was made, ``left_out`` what was not used and why.
    """

    kind: str = Field(default=KIND, pattern=f"^{KIND}$")
    evaluator: str
    signature: str
    version: str
    date: str
    data: tuple[Source, ...]
    pairs: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    human: str
    seed: int
    resamples: int
    left_out: dict[str, int] = Field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    gain: ExpectedGain | None = None
    error_free: ErrorFree | None = None

    @property
    def is_taught(self) -> bool:
        """Whether a judge gave the labels, and not people."""
        return self.human.startswith("teacher ")

    @property
    def threshold(self) -> float | None:
        """The threshold for error-free, if there is one."""
        return self.error_free.threshold if self.error_free else None

    @property
    def signatures(self) -> tuple[str, ...]:
        """Whose scores it was made of."""
        return tuple(weight.signature for weight in self.gain.judges) if self.gain else (self.signature,)

    def holds_for(self, signature: str) -> bool:
        """Whether ratings of ``signature`` are those that were calibrated on."""
        return same_rater(self.signature, signature)

    def foreign(self, pairs: Iterable[str], domains: Iterable[str]) -> Iterator[str]:
        """Warnings about language pairs and domains that it was not made for, as far as it knows its own."""
        for what, here, there in (("language pair", pairs, self.pairs), ("domain", domains, self.domains)):
            if others := [name for name in dict.fromkeys(here) if there and name not in there]:
                yield f"the gate was calibrated for the {what} {', '.join(there)}, not for {', '.join(others)}"

    def settings(self) -> dict[str, Any]:
        """What results depend on, as plain data: the values, and whose ratings they are for."""
        settings: dict[str, Any] = {"signature": comparable(self.signature)}
        if self.gain is not None:
            weights = self.gain.model_dump(include={"intercept", "spread", "judges"})
            for judge in weights["judges"]:
                judge["signature"] = comparable(judge["signature"])
            settings["gain"] = weights
        if self.threshold is not None:
            settings["error_free"] = self.threshold
        return settings


def write(calibration: Calibration, path: Path) -> None:
    """Write a calibration, in the place of a former one. Raises :class:`mtagent.errors.OutputError`."""
    with replacing(path) as sink:
        sink.write(calibration.model_dump_json(indent=1) + "\n")


def read(path: Path) -> Calibration:
    """The calibration in a file. Raises :class:`ConfigError` that names the file, and what in it is wrong."""
    try:
        data = whole_file(path)
    except InputError as error:
        raise ConfigError(f"{error}; `mtagent gate calibrate -o FILE` writes calibrations") from None
    if isinstance(data, dict) and "margin" in data:
        raise ConfigError(
            f"{path}: has a margin, which gates no longer use: calibrate again with `mtagent gate calibrate -o FILE`"
        )
    try:
        return Calibration.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(
            f"{path}: isn't a calibration of a gate: {where}: {first['msg'].lower()}; "
            "`mtagent gate calibrate -o FILE` writes them"
        ) from None
