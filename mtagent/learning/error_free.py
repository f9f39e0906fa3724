"""From which score on a text is error-free: precision and coverage, the choice of a threshold, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import ErrorFree, Labels, Point
from mtagent.errors import ConfigError, InputError
from mtagent.learning.gain import USUAL, Floats, Ints, Resampling, Truths, bounds, numbered, ratios

KINDS: dict[str, float] = {"mqm": 0.0, "esa": 85.0, "rate": 4.0}
"""Kinds of human scores, and from which on people call a text error-free: WMT's for MQM and ESA, RATE's best."""


class Definition(NamedTuple):
    """What people call error-free: a score of ``cut`` or more, and no marked error (``unmarked``)."""

    kind: str = "human scores"
    cut: float | None = None
    unmarked: bool = False

    def __str__(self) -> str:
        score = "a label" if self.cut is None else f"{self.kind} >= {self.cut:g}"
        return f"{score} and nothing marked" if self.unmarked else score

    def holds_for(self, human: float | None, marked: bool | None) -> bool | None:
        """Whether people who gave this score, and ``marked`` something, found a text error-free; ``None``: unknown."""
        if human is None or self.cut is None:
            return None
        return human >= self.cut and not (self.unmarked and marked)


def definition(kind: str | None, cut: float | None) -> Definition:
    """The definition for a ``kind`` of scores (see :data:`KINDS`), or one with a ``cut`` of its own."""
    if cut is not None and not math.isfinite(cut):
        raise ConfigError(f"error-free from {cut:g} on: give a number")
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"no kind of human scores {kind!r}; there are {', '.join(KINDS)}, or give a cut")
    if kind is None or cut is not None:
        return Definition(kind or "human scores", cut)
    return Definition(kind, KINDS[kind], unmarked=kind == "esa")


PRECISION = 0.9
FEWEST = 10
"""Texts at or above a threshold, below which its precision says nothing."""
_NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rated texts, one after the other: the judge's score, whether people found no error, and the group.

    Raises :class:`InputError` for no text at all, arrays of several lengths, and scores that are no finite numbers.
    """

    scores: Floats
    error_free: Truths
    groups: Ints

    def __post_init__(self) -> None:
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
    """Precision over coverage, thresholds descending: every score that was seen.

    ``precision`` is the share of error-free texts among those at or above the threshold, ``coverage`` the share of all
    texts that these are, ``recall`` the share of all error-free texts (NaN where there is none).
    """

    thresholds: Floats
    precision: Floats
    coverage: Floats
    recall: Floats


def curve(labelled: Labelled) -> Curve:
    """The whole curve, exactly."""
    rising, place = np.unique(labelled.scores, return_inverse=True)
    reached = np.cumsum(np.bincount(place)[::-1])
    free = np.cumsum(np.bincount(place, labelled.error_free)[::-1])
    with np.errstate(invalid="ignore"):
        return Curve(rising[::-1], free / reached, reached / len(labelled), free / free[-1])


def best_threshold(labelled: Labelled, wanted: float = PRECISION, fewest: int = FEWEST) -> float | None:
    """The lowest threshold at which the share of error-free texts is at least ``wanted``; ``None``: there is none.

    Thresholds that fewer than ``fewest`` texts reach are not considered.
    """
    if not 0 < wanted <= 1:
        raise ConfigError(f"a precision of {wanted:g} cannot be wanted: it is a share above 0 and up to 1")
    if fewest < 1:
        raise ConfigError(f"{fewest} texts at a threshold have no precision: at least one is needed")
    found = curve(labelled)
    fit = (found.precision >= wanted - _NOISE) & (found.coverage * len(labelled) >= fewest - 0.5)
    return float(found.thresholds[fit].min()) if fit.any() else None


def threshold_interval(
    labelled: Labelled, wanted: float = PRECISION, fewest: int = FEWEST, resampling: Resampling = USUAL
) -> tuple[float | None, float | None, float]:
    """Where the threshold lies in resamples: its 95 % bounds, and in which share of resamples there is one.

    In each resample it is the lowest score that fits among those that were drawn.
    """
    rising, place = np.unique(labelled.scores, return_inverse=True)
    order = np.argsort(-place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=-1))  # the last text of each score, scores descending
    found, groups = [], labelled.groups[order]
    for draw in resampling.draws(int(groups.max()) + 1, len(labelled)):
        weights = draw[:, groups]
        reached = np.cumsum(weights, axis=1)[:, last]
        free = np.cumsum(weights * labelled.error_free[order], axis=1)[:, last]
        drawn = np.diff(reached, axis=1, prepend=0) > 0
        fit = drawn & (free >= (wanted - _NOISE) * reached) & (reached >= fewest)
        lowest = fit.shape[1] - 1 - np.argmax(fit[:, ::-1], axis=1)
        found.append(np.where(fit.any(axis=1), rising[::-1][lowest], np.nan))
    values = np.concatenate(found)
    there = values[~np.isnan(values)]
    low, high = bounds(there) if len(there) else (None, None)
    return low, high, len(there) / len(values)


def labels(labelled: Labelled, threshold: float, resampling: Resampling = USUAL) -> Labels:
    """What ``threshold`` does to ``labelled``, with confidence intervals over the groups."""
    reached = (labelled.scores >= threshold).astype(np.float64)
    free, one = labelled.error_free.astype(np.float64), np.ones(len(labelled))
    error_free, precision, coverage, recall = ratios(
        [free, reached * free, reached, reached * free], [one, reached, one, free], labelled.groups, resampling
    )
    return Labels(
        items=len(labelled),
        groups=int(labelled.groups.max()) + 1,
        error_free=error_free,
        precision=precision,
        coverage=coverage,
        recall=recall,
    )


def thinned(found: Curve, most: int = 50) -> Curve:
    """At most about ``most`` points of a curve, evenly spread over the coverage, both ends among them."""
    if len(found.thresholds) <= most:
        return found
    wanted = np.linspace(found.coverage[0], found.coverage[-1], most)
    places = np.unique(np.searchsorted(found.coverage, wanted - _NOISE))
    return Curve(*(values[places] for values in found))


def error_free_of(
    labelled: Labelled,
    half: Truths,
    definition: str,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: Resampling = USUAL,
) -> ErrorFree:
    """The lowest threshold that reaches ``precision`` on the texts in ``half``, and what it does to the others.

    Raises :class:`InputError` where all are in one half.
    """
    if half.all() or not half.any():
        raise InputError(
            f"all {len(half)} texts with both scores are in one half of the documents: more documents or segments are "
            "needed, or another --seed"
        )
    ours, other = labelled.chosen(half), labelled.chosen(~half)
    found = best_threshold(ours, precision, fewest)
    low, high, reached = threshold_interval(ours, precision, fewest, resampling)
    points = thinned(curve(ours))
    columns = (points.thresholds.tolist(), points.precision.tolist(), points.coverage.tolist())
    return ErrorFree(
        definition=definition,
        wanted=precision,
        threshold=found,
        low=low,
        high=high,
        reached=reached,
        calibrated_on=len(ours),
        held_out=None if found is None else labels(other, found, resampling),
        curve=tuple(Point(threshold=t, precision=p, coverage=c) for t, p, c in zip(*columns, strict=True)),
    )
