"""From which score a text is error-free: precision and coverage, the choice of a threshold, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import ErrorFree, Labels, Point
from mtagent.errors import ConfigError, InputError
from mtagent.learning.gain import USUAL, Floats, Ints, Truths, bounds, numbered, ratios
from mtagent.metrics.significance import GroupResampling

KINDS: dict[str, float] = {"mqm": 0.0, "esa": 85.0, "rate": 4.0}
"""Kinds of human scores, and from which score people call a text error-free: WMT's for MQM and ESA, RATE's best."""


class Definition(NamedTuple):
    """What people call error-free: a score of ``cut`` or more and, with ``unmarked``, no marked error."""

    kind: str = "human scores"
    cut: float | None = None
    unmarked: bool = False

    def __str__(self) -> str:
        score = "a label" if self.cut is None else f"{self.kind} >= {self.cut:g}"
        return f"{score} and nothing marked" if self.unmarked else score

    def holds_for(self, human: float | None, marked: bool | None) -> bool | None:
        """Whether a text with this score is error-free, where people ``marked`` an error or not; ``None``: unknown."""
        if human is None or self.cut is None:
            return None
        return human >= self.cut and not (self.unmarked and marked)


def definition(kind: str | None, cut: float | None) -> Definition:
    """The definition for a ``kind`` of scores (see :data:`KINDS`), or one with its own ``cut``."""
    if cut is not None and not math.isfinite(cut):
        raise ConfigError(f"error-free from {cut:g} on: give a number")
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"no kind of human scores {kind!r}; there are {', '.join(KINDS)}, or give a cut")
    if kind is None or cut is not None:
        return Definition(kind or "human scores", cut)
    return Definition(kind, KINDS[kind], unmarked=kind == "esa")


PRECISION = 0.9
FEWEST = 10
"""With fewer texts at or above a threshold, its precision means nothing."""
_NOISE = 1e-12
"""Rounding of shares: 9 of 10 texts are a precision of 0.9."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rated texts as arrays.

    Raises :class:`InputError` for no text, arrays whose lengths differ, and scores that are not finite numbers.
    """

    scores: Floats
    """The judge's score of each text."""
    error_free: Truths
    """Whether people found no error in it."""
    groups: Ints
    """Equal numbers for texts that belong together (a document)."""

    def __post_init__(self) -> None:
        # The record is frozen: this is the only way to store what was made of the arguments.
        object.__setattr__(self, "scores", np.asarray(self.scores, dtype=np.float64))
        object.__setattr__(self, "error_free", np.asarray(self.error_free, dtype=np.bool_))
        object.__setattr__(self, "groups", numbered(np.asarray(self.groups)))
        if not len(self.scores) == len(self.error_free) == len(self.groups) or not len(self.groups):
            raise InputError("ratings: there must be one label and one group for each score, and one score")
        if not np.isfinite(self.scores).all():
            raise InputError("ratings: not all scores are finite numbers; leave missing ones out")

    def __len__(self) -> int:
        return len(self.groups)

    def chosen(self, which: Truths) -> Labelled:
        """Some of the texts."""
        return Labelled(self.scores[which], self.error_free[which], self.groups[which])


class Curve(NamedTuple):
    """Precision over coverage at every score that was seen, highest threshold first."""

    thresholds: Floats
    precision: Floats
    """The share of error-free texts among the texts at or above the threshold."""
    coverage: Floats
    """The share of all texts that reach the threshold."""
    recall: Floats
    """The share of all error-free texts that reach it; NaN where no text is error-free."""


def curve(labelled: Labelled) -> Curve:
    """The whole curve, exactly."""
    rising, place = np.unique(labelled.scores, return_inverse=True)
    reached = np.cumsum(np.bincount(place)[::-1])
    free = np.cumsum(np.bincount(place, labelled.error_free)[::-1])
    with np.errstate(invalid="ignore"):
        return Curve(rising[::-1], free / reached, reached / len(labelled), free / free[-1])


def best_threshold(labelled: Labelled, precision: float = PRECISION, fewest: int = FEWEST) -> float | None:
    """The lowest threshold at which the share of error-free texts is at least ``precision``; ``None``: there is none.

    Thresholds that fewer than ``fewest`` texts reach are not considered.
    """
    if not 0 < precision <= 1:
        raise ConfigError(f"a precision of {precision:g} cannot be wanted: it is a share above 0 and up to 1")
    if fewest < 1:
        raise ConfigError(f"{fewest} texts at a threshold have no precision: at least one is needed")
    points = curve(labelled)
    is_precise = points.precision >= precision - _NOISE
    is_reached = points.coverage * len(labelled) >= fewest - 0.5
    fitting = points.thresholds[is_precise & is_reached]
    return float(fitting.min()) if len(fitting) else None


def threshold_interval(
    labelled: Labelled, precision: float = PRECISION, fewest: int = FEWEST, resampling: GroupResampling = USUAL
) -> tuple[float | None, float | None, float]:
    """The 95 % bounds of the threshold in resamples, and the share of resamples that have a threshold.

    The threshold of a resample is the lowest score that fits among the scores that were drawn.
    """
    rising, place = np.unique(labelled.scores, return_inverse=True)
    falling = rising[::-1]
    order = np.argsort(-place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=-1))  # the last text of each score, scores descending
    groups, error_free = labelled.groups[order], labelled.error_free[order]
    thresholds = []
    for draw in resampling.draws(int(groups.max()) + 1, len(labelled)):
        weights = draw[:, groups]
        reached = np.cumsum(weights, axis=1)[:, last]
        free = np.cumsum(weights * error_free, axis=1)[:, last]
        is_drawn = np.diff(reached, axis=1, prepend=0) > 0
        fits = is_drawn & (free >= (precision - _NOISE) * reached) & (reached >= fewest)
        lowest = fits.shape[1] - 1 - np.argmax(fits[:, ::-1], axis=1)
        thresholds.append(np.where(fits.any(axis=1), falling[lowest], np.nan))
    values = np.concatenate(thresholds)
    existing = values[~np.isnan(values)]
    low, high = bounds(existing) if len(existing) else (None, None)
    return low, high, len(existing) / len(values)


def labels(labelled: Labelled, threshold: float, resampling: GroupResampling = USUAL) -> Labels:
    """What ``threshold`` does to ``labelled``, with confidence intervals over the groups."""
    reached = (labelled.scores >= threshold).astype(np.float64)
    free = labelled.error_free.astype(np.float64)
    every = np.ones(len(labelled))
    above = [free, reached * free, reached, reached * free]
    below = [every, reached, every, free]
    error_free, precision, coverage, recall = ratios(above, below, labelled.groups, resampling)
    return Labels(
        items=len(labelled),
        groups=int(labelled.groups.max()) + 1,
        error_free=error_free,
        precision=precision,
        coverage=coverage,
        recall=recall,
    )


def thinned(points: Curve, most: int = 50) -> Curve:
    """At most about ``most`` points of a curve, evenly spread over the coverage, both ends among them."""
    if len(points.thresholds) <= most:
        return points
    coverages = np.linspace(points.coverage[0], points.coverage[-1], most)
    places = np.unique(np.searchsorted(points.coverage, coverages - _NOISE))
    return Curve(*(values[places] for values in points))


def error_free_of(
    labelled: Labelled,
    half: Truths,
    definition: str,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: GroupResampling = USUAL,
) -> ErrorFree:
    """The lowest threshold that reaches ``precision`` on the texts in ``half``, and what it does to the others.

    Raises :class:`InputError` where all texts are in one half.
    """
    if half.all() or not half.any():
        raise InputError(
            f"all {len(half)} texts with both scores are in one half of the documents: more documents or segments are "
            "needed, or another --seed"
        )
    learnt, others = labelled.chosen(half), labelled.chosen(~half)
    threshold = best_threshold(learnt, precision, fewest)
    low, high, reached = threshold_interval(learnt, precision, fewest, resampling)
    points = []
    for score, share, coverage, _ in zip(*(values.tolist() for values in thinned(curve(learnt))), strict=True):
        points.append(Point(threshold=score, precision=share, coverage=coverage))
    return ErrorFree(
        definition=definition,
        wanted=precision,
        threshold=threshold,
        low=low,
        high=high,
        reached=reached,
        calibrated_on=len(learnt),
        held_out=None if threshold is None else labels(others, threshold, resampling),
        curve=tuple(points),
    )
