"""The gate for judges without labels: fixed weights, and an intercept from the judged edits of the run itself.

The best weight of an LLM's rating together with a QE metric hardly differs between data sets, so the weights can be
shipped (``shipped_weights.toml``). The average quality of a run's edits does differ, and the mean of the judges' rooted
differences shows it better than the difference of a single edit. So the gate judges some edits first, as a pilot:

    gain = trust * sum(weight * (root / spread - mean)) + drift * (sum(weight * mean) - doubt)

``root`` is the signed square root of a judge's difference; ``spread`` and ``mean`` are taken over the pilot.

A mean of noise is a small number, not zero, and a judge may favour its own family's edits. Three limits follow:

- ``trust`` is 0 if the judges agree no better than chance in the pilot, and 1 if they agree well. Judges that only make
  noise then decide nothing.
- ``doubt`` is two standard errors of the mean, less where there is trust: without trust all edits are kept only if
  the judges certainly find them better on average, and otherwise none.
- The mean is taken only from judges that are not of the editor's family.

``docs/explanation/gate.md`` has the measured effect of each, ``wmt/shipped_weights.py`` makes the file.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import NamedTuple

from pydantic import Field

from mtagent.chain.calibration import ExpectedGain, JudgeWeight, Moments, Pilot, signed_root
from mtagent.config import JUDGE_KINDS
from mtagent.errors import ConfigError
from mtagent.records import Record, Stage
from mtagent.text.amounts import counted

FEWEST_EDITS = 30
"""With fewer judged edits nothing is known about a run, and all judges must agree."""
SURE_AGREEMENT = 0.2
"""From this correlation on, judges are trusted fully. Judges of WMT23 and WMT25 reach .04 to .67."""
_LEAST_ERRORS = 1.5
"""Standard errors that are subtracted from the correlation: if judges only make noise, it is rarely larger."""
LARGEST_DIFFERENCE = 1e100
"""Larger differences are refused: their sums would overflow."""
_DOUBT_ERRORS = 2.0
"""Standard errors of the mean by which edits must be better on average, if the judges aren't trusted."""


class UnknownEdits(ConfigError):
    """A pilot does not show what edits are like."""


class ShippedWeights(Record):
    """Weights that were learnt from public scores, in standard deviations of people's gain."""

    weights: dict[str, float]
    """The gain for one standard deviation of a judge's rooted difference, by kind of judge."""
    drift: float = Field(gt=0)
    """The mean gain of a run's edits for each point of the weighted means."""
    scale: float = Field(gt=0)
    tie_band: float = Field(ge=0)
    """The chances, as in :class:`ExpectedGain`."""


@cache
def shipped_weights() -> ShippedWeights:
    """The weights in ``shipped_weights.toml``."""
    content = files("mtagent.chain").joinpath("shipped_weights.toml").read_text(encoding="utf-8")
    return ShippedWeights.model_validate(tomllib.loads(content))


def shipped_weights_of(signatures: Sequence[str]) -> tuple[float, ...] | None:
    """The weights of the judges with these signatures; ``None`` unless they are of two kinds that have a weight."""
    kinds = []
    for signature in signatures:
        kind = JUDGE_KINDS.get(signature.partition("|")[0])
        if kind is None:
            return None
        kinds.append(kind)
    if len(set(kinds)) < 2:
        return None
    return tuple(shipped_weights().weights[kind] for kind in kinds)


class PanelMember(NamedTuple):
    """A judge of a panel with shipped weights."""

    judge: str
    signature: str
    kind: str
    """Its kind: a key of :attr:`ShippedWeights.weights`."""


class ShippedPanel(NamedTuple):
    """The judges of a gate without labels."""

    members: tuple[PanelMember, ...]
    favours: Mapping[Stage, frozenset[int]] = {}
    """By stage: the places of the judges that may favour its edits, because a model of their family makes them."""

    def settled(
        self,
        differences: Sequence[Sequence[float]],
        stage: Stage | None = None,
        shipped: ShippedWeights | None = None,
        sample_size: int | None = None,
    ) -> ExpectedGain:
        """The expected gain for edits like these; ``differences`` has each judge's (after - before) for each edit.

        ``sample_size`` is the number of segments, if some have several edits: only segments are independent. An
        experiment may give other weights than those that are shipped. Raises :class:`UnknownEdits` for fewer segments
        than :data:`FEWEST_EDITS`, and for a judge that calls all edits equally better, or equally worse.
        """
        if sample_size is None:
            sample_size = len(differences)
        if sample_size < FEWEST_EDITS:
            raise UnknownEdits(f"{counted(sample_size, 'judged edit')}, and {FEWEST_EDITS} are needed")
        for row in differences:
            for member, difference in zip(self.members, row, strict=True):
                if not abs(difference) <= LARGEST_DIFFERENCE:  # NaN is not below it either
                    raise UnknownEdits(f"a difference of {member.judge} that is not a finite number: {difference}")
        shipped = shipped or shipped_weights()
        weights = []
        columns = []
        for place, member in enumerate(self.members):
            column = _scaled([signed_root(row[place]) for row in differences])
            if not column.spread:
                raise UnknownEdits(f"the same difference of {member.judge} for all edits, so it tells nothing")
            weights.append(shipped.weights[member.kind])
            columns.append(column)
        means = [column.mean for column in columns]
        agreement = _agreement(columns)
        trust = min(1.0, max(0.0, (agreement - _LEAST_ERRORS / math.sqrt(sample_size)) / SURE_AGREEMENT))
        doubt = _DOUBT_ERRORS * (1 - trust) / math.sqrt(sample_size)
        drift = shipped.drift * self._mean_gain(weights, columns, doubt, stage)
        intercept = drift - trust * math.fsum(map(_product, weights, means))
        judges = []
        for member, weight, column in zip(self.members, weights, columns, strict=True):
            judge = JudgeWeight(
                judge=member.judge, signature=member.signature, scale=column.spread, weight=trust * weight
            )
            judges.append(judge)
        parts = []
        for edit in range(len(differences)):
            parts.append([judge.weight * column.values[edit] for judge, column in zip(judges, columns, strict=True)])
        return ExpectedGain(
            intercept=intercept,
            judges=tuple(judges),
            scale=shipped.scale,
            tie_band=shipped.tie_band,
            calibrated_on=len(differences),
            pilot=Pilot(agreement=agreement, trust=trust, drift=drift),
            moments=Moments.of(parts),
        )

    def _mean_gain(
        self, weights: Sequence[float], columns: Sequence[_Column], doubt: float, stage: Stage | None
    ) -> float:
        """The weighted mean of the judges that do not favour the editor, less ``doubt`` standard deviations.

        It counts for the whole panel: its weights are as large as all weights together.
        """
        partial = () if stage is None else self.favours.get(stage, frozenset())
        neutral = list[tuple[float, _Column]]()
        for place, (weight, column) in enumerate(zip(weights, columns, strict=True)):
            if place not in partial:
                neutral.append((weight, column))
        if not neutral:
            return 0.0
        whole = math.fsum(weights) / math.fsum(weight for weight, _ in neutral)
        mean = math.fsum(weight * column.mean for weight, column in neutral)
        sums = []
        for edit in range(len(columns[0].values)):
            sums.append(math.fsum(weight * column.values[edit] for weight, column in neutral))
        return whole * (mean - doubt * _deviation(sums))


class _Column(NamedTuple):
    """A judge's rooted differences in units of their spread."""

    values: list[float]
    mean: float
    spread: float
    """0 if they are all the same."""


def _scaled(roots: list[float]) -> _Column:
    spread = _deviation(roots)
    if spread <= 1e-12 * max(map(abs, roots)):  # constant except for rounding
        return _Column([0.0] * len(roots), 0.0, 0.0)
    values = [root / spread for root in roots]
    return _Column(values, math.fsum(values) / len(values), spread)


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of all ``values``."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def shipped_worth() -> str:
    """The quality of the gate on public data, and where it is weak, in a line."""
    return (
        "on WMT23 en-de GEMBA-MQM and CometKiwi lead by 0.10 MQM points over keeping all edits or none, and votes "
        "lose by 0.39; weak if judges hardly agree (GEMBA-DA and CometKiwi: -0.12), and with few edits"
    )


def _agreement(columns: Sequence[_Column]) -> float:
    """The mean correlation of each two judges; 0 with a judge whose differences are all the same."""
    correlations = []
    for one, other in combinations(columns, 2):
        products = math.fsum(map(_product, one.values, other.values)) / len(one.values)
        is_constant = not one.spread or not other.spread
        correlations.append(0.0 if is_constant else products - one.mean * other.mean)
    return math.fsum(correlations) / len(correlations)


def _product(one: float, other: float) -> float:
    return one * other
