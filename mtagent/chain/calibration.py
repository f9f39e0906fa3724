"""The two effects of a calibration on the chain: the gain that the gate expects, and the score of error-free texts.

A :class:`Calibration` is the object; :func:`write` and :func:`read` keep it in a calibration file (``--calibration
FILE``). ``mtagent.learning.calibrate`` makes it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import replacing, whole_file
from mtagent.records import Judgement, Record, all_call_worse, comparable, same_rater
from mtagent.text import languages

KIND = "mtagent gate calibration"


class Figure(Record):
    """A figure and its 95 % confidence interval."""

    value: float | None
    """``None``: not defined for these items."""
    low: float | None = None
    high: float | None = None


class Effect(Record):
    """The effect of a gate on ``items`` edits in ``groups`` groups, as means of people's scores and as shares."""

    items: int
    groups: int
    """Documents, or blocks of segments if documents are unknown."""
    effective_groups: float
    """How many groups of equal size are worth as much."""
    gate: Figure
    """The mean score of the texts that the gate keeps."""
    always: Figure
    """… of all edited texts."""
    never: Figure
    """… of all texts before."""
    oracle: Figure
    """… of the better text of each pair."""
    over_always: Figure
    """``gate`` - ``always``."""
    over_never: Figure
    """``gate`` - ``never``."""
    accepted: Figure
    """The share of edits that are kept."""
    good_kept: Figure
    """The share of improvements that are kept."""
    harmful_refused: Figure
    """The share of harmful edits that are refused."""
    lead: Figure
    """The gate's lead over the better of ``always`` and ``never``."""
    headroom: Figure
    """``lead`` as a share of the oracle's lead."""
    alone: dict[str, Figure]
    """The mean score if one judge decides alone: a text is kept if the judge's difference is above 0."""

    @property
    def loses_to(self) -> Iterator[str]:
        """The rules that are certainly better than the gate: keeping no edit, or all."""
        for rival, lead in (("keeping no edit", self.over_never), ("keeping all edits", self.over_always)):
            if lead.high is not None and lead.high < 0:
                yield rival


def signed_root(difference: float) -> float:
    """The square root, with the sign of the difference."""
    return math.copysign(math.sqrt(abs(difference)), difference)


class JudgeWeight(Record):
    """The weight of a judge in an :class:`ExpectedGain`.

    The weight is for the signed square root of the judge's difference (after - before), since a point of a large
    difference means less than a point of a small one. The score of the text before may have a weight, too.
    """

    judge: str
    signature: str
    scale: float = Field(ge=0, allow_inf_nan=False)
    """The standard deviation of the square root in the calibration pairs; 0: it never varied, and has no weight."""
    weight: float = Field(allow_inf_nan=False)
    """People's points for one standard deviation."""
    before_mean: float = Field(default=0.0, allow_inf_nan=False)
    """The mean score of the texts before, which is subtracted."""
    before_scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """The standard deviation of their scores."""
    before_weight: float = Field(default=0.0, allow_inf_nan=False)
    """People's points for one such deviation."""


class LearningPoint(Record):
    """The worth of a gate that learnt from ``pairs`` pairs, on the held-out pairs."""

    pairs: int
    draws: int
    lead: float
    """The mean lead over the better of always and never."""
    headroom: float | None
    """The lead as a share of the oracle's."""


class TriagePoint(Record):
    """The effect of skipping texts that ``judge`` scores ``threshold`` or more, if the others go to the gate."""

    judge: str
    threshold: float
    calibrated: bool = False
    """Whether it is the calibrated threshold for error-free texts."""
    untouched: Figure
    """The share of skipped texts."""
    human: Figure
    """People's mean score of all texts."""
    change: Figure
    """Its lead over a gate that sees every text."""


class Pilot(Record):
    """The results of a run's pilot, if weights are shipped and not learnt (:mod:`mtagent.chain.shipped`)."""

    agreement: float
    """The mean correlation of the judges."""
    trust: float
    """How much the judges' answers about single edits count, from 0 to 1."""
    drift: float
    """The gain that is expected of an edit on average."""


class Moments(Record):
    """Each judge's contribution to the gain in the pairs it was learnt from. The judges that are called first predict
    the contributions of the others."""

    means: tuple[float, ...]
    covariances: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, parts: Sequence[Sequence[float]]) -> Moments:
        """The moments of ``parts``, which have the judges' points for each pair."""
        columns = list(zip(*parts, strict=True))
        means = [math.fsum(column) / len(column) for column in columns]
        centred = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
        rows = []
        for column in centred:
            products = [math.fsum(map(operator.mul, column, other)) for other in centred]
            rows.append(tuple(product / len(column) for product in products))
        return cls(means=tuple(means), covariances=tuple(rows))


class Foreseen(NamedTuple):
    """The prediction of the other judges from those called first: ``offset`` + ``slope`` · what these add."""

    offset: float
    slope: float
    deviation: float
    """The standard deviation of the others' real contributions."""


class CautiousPoint(Record):
    """What it does to keep an edit only up to a chance of being worse."""

    chance_of_worse: float
    """The highest chance of an edit that is kept."""
    worse: float
    """The share of worse edits among the kept ones is at most this, at 90 % confidence."""
    kept: float
    """The share of all edits that are kept."""


class ExpectedGain(Record):
    """The gain that people would see, predicted from judges' ratings of the texts before and after.

    It is learnt by ridge regression. The intercept has no penalty, so that the mean prediction is people's mean gain.
    With shipped weights the unit is a standard deviation of people's gain.
    """

    intercept: float = Field(allow_inf_nan=False)
    judges: tuple[JudgeWeight, ...] = Field(min_length=1)
    scale: float = Field(gt=0, allow_inf_nan=False)
    """Chances are by an ordered probit: what people see is the prediction + ``bias``, with a normal error of this
    standard deviation."""
    tie_band: float = Field(ge=0, allow_inf_nan=False)
    """… and the two texts are equal to them where that is less than this away from 0."""
    bias: float = Field(default=0.0, allow_inf_nan=False)
    ridge: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The penalty on the weights, per pair; ``None`` for shipped weights."""
    calibrated_on: int
    """The number of pairs; with shipped weights, of the edits in the pilot."""
    pilot: Pilot | None = None
    """``None`` for weights that were learnt from labels."""
    moments: Moments | None = None
    """They let a gate ask cheap judges first; ``None``: all judges are always asked."""
    held_out: Effect | None = None
    """The effect on edits of other documents."""
    learning: tuple[LearningPoint, ...] = ()
    """The effect after learning from fewer pairs."""
    triage: tuple[TriagePoint, ...] = ()
    """The effect of leaving texts alone that a judge scores well."""
    cautious: tuple[CautiousPoint, ...] = ()
    """What ``--cautious`` can promise, on edits of other documents; few edits kept first, all that are kept last."""

    def predict(self, judgements: Sequence[Judgement]) -> float:
        """The expected gain in people's points; ``judgements`` in the order of :attr:`judges`.

        Raises :class:`ConfigError` for judgements of other judges, and if a judge gave no scores.
        """
        if len(judgements) != len(self.judges):
            names = ", ".join(judge.judge for judge in self.judges)
            raise ConfigError(f"the gain was learnt from {len(self.judges)} judges ({names}), not {len(judgements)}")
        gain = self.intercept
        for place, judgement in enumerate(judgements):
            for points in self._points(place, judgement):
                gain += points
        return gain

    def _points(self, place: int, judgement: Judgement) -> Iterator[float]:
        """The contribution of the judge at ``place`` to the gain: by the difference, and by the score before."""
        judge = self.judges[place]
        if judge.signature and judgement.signature and not same_rater(judge.signature, judgement.signature):
            raise ConfigError(f"the gain was learnt from {judge.signature}, not from {judgement.signature}")
        if judgement.difference is None or (judge.before_weight and judgement.before is None):
            raise ConfigError(f"{judgement.judge}: gave no score of both texts, as {judge.judge} did in calibration")
        if judge.scale:
            yield judge.weight * signed_root(judgement.difference) / judge.scale
        if judge.before_weight and judgement.before is not None:
            yield judge.before_weight * (judgement.before - judge.before_mean) / judge.before_scale

    def foreseen(self, first: Collection[int]) -> Foreseen | None:
        """The prediction of the judges at the places ``first`` about the others; ``None`` if it is unknown."""
        others = [place for place in range(len(self.judges)) if place not in first]
        if self.moments is None or not first or not others:
            return None
        means, covariances = self.moments.means, self.moments.covariances

        def covariance(places: Collection[int], other_places: Collection[int]) -> float:
            return math.fsum(covariances[one][other] for one in places for other in other_places)

        variance = covariance(first, first)
        shared = covariance(others, first)
        slope = shared / variance if variance > 0 else 0.0
        offset = math.fsum(means[place] for place in others) - slope * math.fsum(means[place] for place in first)
        unexplained = max(0.0, covariance(others, others) - slope * shared)
        return Foreseen(offset, slope, math.sqrt(unexplained))

    def expect(self, judgements: Mapping[int, Judgement], foreseen: Foreseen) -> float:
        """The gain that the judges at some places let expect. Raises as :meth:`predict`."""
        points = math.fsum(part for place in judgements for part in self._points(place, judgements[place]))
        return self.intercept + points + foreseen.offset + foreseen.slope * points

    def keeps(self, judgements: Sequence[Judgement], cautious: float | None = None) -> bool:
        """Whether the gate keeps the edit: it expects a gain, and not all of several judges call the edit worse.

        ``cautious``: of the kept edits, at most this share is worse; see :meth:`highest_chance_of_worse`.
        ``mtagent.learning.gain.kept`` decides in the same way on arrays. Raises as :meth:`predict`.
        """
        prediction = self.predict(judgements)
        if prediction <= 0 or all_call_worse(judgements):
            return False
        if self.pilot is not None and not any(judgement.difference for judgement in judgements):
            return False  # nobody sees a difference: the mean of other edits isn't a reason to keep this one
        return cautious is None or self.chance_of_worse(prediction) <= self.highest_chance_of_worse(cautious)

    def highest_chance_of_worse(self, cautious: float) -> float:
        """Up to which chance of being worse edits are kept, so that at most the share ``cautious`` of them is worse.

        The confidence is 90 %: no point is used beyond the first that breaks the promise, since one of many points
        keeps it by chance. Raises :class:`ConfigError` for a promise that this gate cannot keep.
        """
        highest = None
        for point in self.cautious:
            if point.worse > cautious:
                break
            highest = point.chance_of_worse
        if highest is not None:
            return highest
        if not self.cautious:
            raise ConfigError(
                f"cautious {cautious:g}: this gate can't promise anything, because it keeps too few edits of its "
                "calibration to tell how many are worse; calibrate on more labels, or leave cautious out"
            )
        least = math.ceil(100 * self.cautious[0].worse) / 100
        raise ConfigError(
            f"cautious {cautious:g}: this gate can't promise that: the smallest share of worse edits that it can "
            f"promise at 90 % confidence is {least:g}; give that, calibrate on more labels, or leave cautious out"
        )

    def chance(self, prediction: float, deviation: float = 0.0) -> float:
        """The chance that people see a gain if ``prediction`` is expected, and is itself only known up to a
        ``deviation``."""
        return NormalDist().cdf((prediction + self.bias - self.tie_band) / math.hypot(self.scale, deviation))

    def chance_of_worse(self, prediction: float, deviation: float = 0.0) -> float:
        """The chance that people find the text after worse."""
        return NormalDist().cdf((-prediction - self.bias - self.tie_band) / math.hypot(self.scale, deviation))


class Labels(Record):
    """The effect of a threshold on texts."""

    items: int
    groups: int
    error_free: Figure
    precision: Figure
    coverage: Figure
    recall: Figure


class Point(Record):
    """A point of the precision–coverage curve for the calibration texts."""

    threshold: float
    precision: float
    coverage: float


class ErrorFree(Record):
    """The score from which a text is error-free, chosen on some texts, and its effect on others."""

    definition: str
    """What people call error-free."""
    wanted: float
    """The required precision."""
    threshold: float | None = Field(allow_inf_nan=False)
    """``None``: no score reaches the precision."""
    low: float | None = None
    """The threshold is from ``low`` to ``high`` in 95 % of the resamples that have one."""
    high: float | None = None
    reached: float = 0.0
    """The share of resamples that have a threshold."""
    calibrated_on: int
    """The number of texts."""
    held_out: Labels | None = None
    """The effect on the other texts."""
    curve: tuple[Point, ...] = Field(min_length=1)


class Source(Record):
    """A file or run that was read."""

    option: str
    """The option that names it."""
    name: str
    sha256: str | None = None
    """The hash of a file's content."""


class Calibration(Record):
    """A gate's calibration, as its file holds it."""

    kind: str = Field(default=KIND, pattern=f"^{KIND}$")
    evaluator: str
    """The judge that the threshold for error-free texts is for: the first judge that gives scores."""
    signature: str
    """Its signature."""
    version: str
    """The version of mtagent that made it."""
    date: str
    data: tuple[Source, ...]
    pairs: tuple[str, ...] = ()
    """Language pairs."""
    domains: tuple[str, ...] = ()
    human: str
    """The kind of people's scores, or ``teacher`` and its signature."""
    seed: int
    resamples: int
    left_out: dict[str, int] = Field(default_factory=dict)
    """How many items were not used, by reason."""
    remarks: tuple[str, ...] = ()
    gain: ExpectedGain | None = None
    error_free: ErrorFree | None = None

    @property
    def is_taught(self) -> bool:
        """Whether a judge, not people, gave the labels."""
        return self.human.startswith("teacher ")

    @property
    def is_decided(self) -> bool:
        """Whether the labels are people's decisions in a review."""
        return self.human == "decisions"

    @property
    def threshold(self) -> float | None:
        """The threshold for error-free texts, if there is one."""
        return self.error_free.threshold if self.error_free else None

    @property
    def signatures(self) -> tuple[str, ...]:
        """The signatures of the judges that it was made for."""
        if self.gain is None:
            return (self.signature,)
        return tuple(weight.signature for weight in self.gain.judges)

    def holds_for(self, signature: str) -> bool:
        """Whether the threshold was calibrated for ratings with this ``signature``."""
        return same_rater(self.signature, signature)

    def refuse_other_languages(self, path: Path, pairs: Iterable[str]) -> None:
        """Raise :class:`ConfigError` for language pairs that it was not made for, if it names its pairs.

        If a source language is not known, the target language decides.
        """
        targets = {pair.partition("-")[2] for pair in self.pairs}
        unknown_source = f"{languages.UNKNOWN}-"
        named = [pair for pair in pairs if pair.removeprefix(unknown_source) not in targets]
        for warning in self.foreign(named, ()):
            raise ConfigError(
                f"{path}: {warning}: calibrate a gate for these texts, or set any_language to use this one anyway"
            )

    def foreign(self, pairs: Iterable[str], domains: Iterable[str]) -> Iterator[str]:
        """Warnings about language pairs and domains that it was not made for, if it names its own."""
        for what, names, calibrated in (("language pair", pairs, self.pairs), ("domain", domains, self.domains)):
            if not calibrated:
                continue
            others = [name for name in dict.fromkeys(names) if name not in calibrated]
            if others:
                yield f"the gate was calibrated for the {what} {', '.join(calibrated)}, not for {', '.join(others)}"

    def settings(self) -> dict[str, Any]:
        """What results depend on, as plain data: the values, and the signatures of the judges."""
        settings: dict[str, Any] = {"signature": comparable(self.signature)}
        if self.gain is not None:
            fields = {"intercept", "scale", "tie_band", "bias", "judges", "cautious", "moments"}
            weights = self.gain.model_dump(include=fields)
            for judge in weights["judges"]:
                judge["signature"] = comparable(judge["signature"])
            settings["gain"] = weights
        if self.threshold is not None:
            settings["error_free"] = self.threshold
        return settings


def write(calibration: Calibration, path: Path) -> None:
    """Write a calibration, and replace a former one. Raises :class:`mtagent.errors.OutputError`."""
    with replacing(path) as sink:
        sink.write(calibration.model_dump_json(indent=1) + "\n")


def read(path: Path) -> Calibration:
    """The calibration in a file. Raises :class:`ConfigError` that names the file and the fault."""
    try:
        data = whole_file(path)
    except InputError as error:
        raise ConfigError(f"{error}; `mtagent gate calibrate -o FILE` writes calibrations") from None
    try:
        return Calibration.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(
            f"{path}: isn't a calibration of a gate: {where}: {first['msg'].lower()}; "
            "`mtagent gate calibrate -o FILE` writes them"
        ) from None
