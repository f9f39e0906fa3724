"""95 % intervals of agreement with people: percentiles of a bootstrap over segments or documents.

A resample gives each unit (segment or document) a weight, the number of times that it is drawn. Statistics are computed
from sums and pairs that are made once, and weighted by resample. All evaluators have the same draws, so that their
differences have intervals, too.

Two things are not computed again in each resample: the ε of ``acc-t``, which is the one of all scores, and the
permutations of SPA, whose p-values are those of the normal distribution with the permutations' variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Literal, get_args

import numpy as np

from mtagent.analysis.agreement import CORRELATIONS, PairedScores, Scale, Statistic, groups_of
from mtagent.analysis.error_spans import rates
from mtagent.analysis.ties import Floats, Ints, accuracies
from mtagent.errors import ConfigError
from mtagent.metrics.significance import NOISE, SEED, Bounds, GroupResampling

ResamplingUnit = Literal["segment", "document"]
RESAMPLES = 1_000
LEVEL = 0.95
_DEFINED = 0.95
"""The share of resamples in which a statistic must be defined to have an interval."""
_CELLS = 2**22


@dataclass(frozen=True)
class Bootstrap:
    """What is drawn: segments, or documents with all their segments. The same seed gives the same intervals."""

    unit: ResamplingUnit = "segment"
    resamples: int = RESAMPLES
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.unit not in get_args(ResamplingUnit):
            raise ConfigError(f"unit {self.unit!r}: 'segment' or 'document'")
        if self.resamples < 1 or self.seed < 0:
            raise ConfigError(f"{self.resamples} resamples, seed {self.seed}: at least one, and a seed from 0")


class Draws:
    """The resamples: ``weights`` (resamples × units), and the place of each item's unit.

    ``unit_by_item`` names the unit of each item: its document, or the item itself.
    """

    def __init__(self, unit_by_item: Mapping[str, str], how: Bootstrap) -> None:
        places: dict[str, int] = {}
        for unit in unit_by_item.values():
            places.setdefault(unit, len(places))
        self.places = {item: places[unit] for item, unit in unit_by_item.items()}
        self.units = len(places)
        self.how = how
        self.weights: Floats = np.concatenate(list(GroupResampling(how.resamples, how.seed).draws(self.units)))

    @property
    def signature(self) -> str:
        """What the intervals depend on, besides the scores."""
        return f"bootstrap:{self.how.resamples}|unit:{self.how.unit}|units:{self.units}|seed:{self.how.seed}"

    def units_of(self, scores: PairedScores) -> Ints:
        """The place of each score's unit."""
        by_item = np.array([self.places[item] for item in scores.items], dtype=np.int64)
        units: Ints = by_item[scores.item]
        return units

    def totals(self, values: Floats, units: Ints) -> Floats:
        """Weighted sums: of ``values`` (scores × columns) for each resample (resamples × columns)."""
        by_unit = np.zeros((self.units, values.shape[1]))
        np.add.at(by_unit, units, values)
        sums: Floats = self.weights @ by_unit
        return sums


def interval(samples: Floats) -> Bounds | None:
    """The 95 % percentile interval; ``None`` if more than 5 % of the resamples have no value (NaN)."""
    defined = samples[~np.isnan(samples)]
    if len(defined) < _DEFINED * len(samples) or not len(defined):
        return None
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Bounds(float(low), float(high))


def resampled(scores: PairedScores, statistic: Statistic, draws: Draws, scale: Scale = "none") -> Floats:
    """``statistic`` of the ``scores`` of segments in each resample; NaN where it is not defined.

    A statistic of level ``sys`` is computed from the means of systems. ``scale`` is that of MAE and MSE.
    """
    if statistic.level == "sys":
        return _of_systems(scores, statistic.name, draws)
    if statistic.name in ("mae", "mse"):
        return _errors(scores, 1 if statistic.name == "mae" else 2, scale, draws)
    epsilon = statistic.epsilon or 0.0
    units = draws.units_of(scores)
    if statistic.averaging == "item":
        # A unit has all scores of its items: each item's value is the same in all resamples.
        groups = groups_of(scores, "item")
        if statistic.name in CORRELATIONS:
            values = CORRELATIONS[statistic.name](scores.evaluator, scores.human, groups)
        else:
            values = accuracies(scores.evaluator, scores.human, groups, epsilon)
        first = np.zeros(groups.size, dtype=np.int64)
        first[groups.of] = units
        defined = ~np.isnan(values)
        return _mean(draws.totals(np.column_stack([values[defined], np.ones(defined.sum())]), first[defined]))
    groups = groups_of(scores, statistic.averaging)
    by_group = []
    for group in range(groups.size):
        rows = np.flatnonzero(groups.of == group)
        sides = (scores.evaluator[rows], scores.human[rows], units[rows])
        by_group.append(_pooled(statistic.name, *sides, epsilon, draws))
    values = np.stack(by_group)
    count = (~np.isnan(values)).sum(axis=0)
    return _ratio(np.nansum(values, axis=0), count.astype(np.float64))


def _pooled(name: str, evaluator: Floats, human: Floats, units: Ints, epsilon: float, draws: Draws) -> Floats:
    """A statistic of all scores together, in each resample."""
    if name == "pearson":
        return _pearson(evaluator, human, units, draws)
    if name == "spearman":
        parts = []
        for weights in _blocks(draws, len(units)):
            drawn = weights[:, units]
            parts.append(_weighted_pearson(_midranks(evaluator, drawn), _midranks(human, drawn), drawn))
        return np.concatenate(parts)
    # Statistics of pairs. A score and its own copy are not a pair.
    sums = draws.totals(np.ones((len(units), 1)), units)[:, 0]
    squares = (draws.weights**2) @ np.bincount(units, minlength=draws.units)
    pairs = sums**2 - squares
    if name == "kendall":
        alike = _pair_sums(evaluator, human, units, None, draws)
        apart = np.sqrt(pairs - _tied(evaluator, units, draws, squares))
        human_apart = np.sqrt(pairs - _tied(human, units, draws, squares))
        return _ratio(alike, apart * human_apart).clip(-1.0, 1.0)
    return _ratio(_pair_sums(evaluator, human, units, epsilon, draws), pairs)


def _pair_sums(evaluator: Floats, human: Floats, units: Ints, epsilon: float | None, draws: Draws) -> Floats:
    """In each resample: pairs judged as people do, with a threshold for ties; without it, C − D of Kendall's τ.

    Each pair counts twice. Pairs are added up by unit once, and the units' sums weighted.
    """
    order = np.argsort(units, kind="stable")
    evaluator, human, units = evaluator[order], human[order], units[order]
    present, starts = np.unique(units, return_index=True)
    weights = draws.weights[:, present]
    ends = np.r_[starts[1:], len(units)]
    sums = np.zeros(len(weights))
    first = 0
    while first < len(present):
        last = first + 1
        while last < len(present) and (ends[last] - starts[first]) * len(units) <= _CELLS:
            last += 1
        rows = slice(int(starts[first]), int(ends[last - 1]))
        difference = evaluator[rows, None] - evaluator
        verdict = np.sign(human[rows, None] - human)
        if epsilon is None:
            right = np.sign(difference) * verdict
        else:
            tied = np.abs(difference) <= epsilon
            right = np.where(tied, verdict == 0, np.sign(difference) * verdict > 0).astype(np.float64)
            itself = np.arange(rows.start, rows.stop)
            right[itself - rows.start, itself] = 0
        by_column = np.add.reduceat(right, starts, axis=1)
        by_unit = np.add.reduceat(by_column, starts[first:last] - starts[first], axis=0)
        sums += ((weights @ by_unit.T) * weights[:, first:last]).sum(axis=1)
        first = last
    return sums


def _tied(values: Floats, units: Ints, draws: Draws, squares: Floats) -> Floats:
    """Pairs of different scores with equal ``values``, in each resample; each counts twice."""
    _, of = np.unique(values, return_inverse=True)
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of[order]) > 0])
    parts = []
    for weights in _blocks(draws, len(units)):
        sums = np.add.reduceat(weights[:, units[order]], starts, axis=1)
        parts.append((sums**2).sum(axis=1))
    return np.concatenate(parts) - squares


def _pearson(evaluator: Floats, human: Floats, units: Ints, draws: Draws) -> Floats:
    x, y = evaluator - evaluator.mean(), human - human.mean()
    sums = draws.totals(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]), units)
    count, x_sum, y_sum, xx, yy, xy = sums.T
    covariance = xy - _ratio(x_sum * y_sum, count)
    x_variance = _positive(xx - _ratio(x_sum**2, count), xx)
    y_variance = _positive(yy - _ratio(y_sum**2, count), yy)
    r: Floats = (covariance / np.sqrt(x_variance) / np.sqrt(y_variance)).clip(-1.0, 1.0)
    return r


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson's r of each row."""
    total = weights.sum(axis=1, keepdims=True)
    x_apart = x - _ratio((weights * x).sum(axis=1, keepdims=True), total)
    y_apart = y - _ratio((weights * y).sum(axis=1, keepdims=True), total)
    covariance = (weights * x_apart * y_apart).sum(axis=1)
    x_variance = _positive((weights * x_apart**2).sum(axis=1), (weights * x**2).sum(axis=1))
    y_variance = _positive((weights * y_apart**2).sum(axis=1), (weights * y**2).sum(axis=1))
    r: Floats = (covariance / np.sqrt(x_variance) / np.sqrt(y_variance)).clip(-1.0, 1.0)
    return r


def _midranks(values: Floats, weights: Floats) -> Floats:
    """The ranks of the scores in each resample (resamples × scores); tied scores share the mean of theirs."""
    _, of = np.unique(values, return_inverse=True)
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of[order]) > 0])
    by_value = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(by_value, axis=1) - by_value / 2)[:, of]
    return ranks


def _errors(scores: PairedScores, power: int, scale: Scale, draws: Draws) -> Floats:
    units = draws.units_of(scores)
    evaluator, human = scores.evaluator, scores.human
    if scale == "none":
        errors = np.abs(evaluator - human) ** power
        return _mean(draws.totals(np.column_stack([errors, np.ones_like(errors)]), units))
    parts = []
    for weights in _blocks(draws, len(units)):
        drawn = weights[:, units]
        distance = np.abs(_scaled(evaluator, drawn) - _scaled(human, drawn)) ** power
        parts.append(_ratio((drawn * distance).sum(axis=1), drawn.sum(axis=1)))
    return np.concatenate(parts)


def _scaled(values: Floats, weights: Floats) -> Floats:
    """The scores of each resample, scaled to 0–1 by the extremes of the drawn ones."""
    lowest = np.where(weights > 0, values, np.inf).min(axis=1, keepdims=True)
    highest = np.where(weights > 0, values, -np.inf).max(axis=1, keepdims=True)
    span = np.where(highest > lowest, highest - lowest, np.nan)  # also where nothing was drawn
    # Scores that were not drawn may lie outside; they weigh nothing.
    scaled: Floats = (values - lowest) / span
    return scaled


def resampled_spans(counts: Floats, units: Ints, draws: Draws) -> dict[str, Floats]:
    """The rates of a :class:`SpanScore` in each resample, by its fields' names.

    ``counts`` (segments × 4) are those of the segments, ``units`` the places of their units in ``draws``.
    """
    precision, recall, f1 = rates(draws.totals(counts, units)).T
    of_segments = rates(counts)[:, 2]
    macro = _mean(draws.totals(np.column_stack([of_segments, np.ones_like(of_segments)]), units))
    return {"precision": precision, "recall": recall, "f1": f1, "macro_f1": macro}


# --- systems


def _of_systems(scores: PairedScores, name: str, draws: Draws) -> Floats:
    """A statistic of systems, whose scores are the means over the drawn segments."""
    if name == "spa":
        return _soft_accuracy(scores, draws)
    evaluator, human = (_system_means(values, scores, draws) for values in (scores.evaluator, scores.human))
    first, second = np.triu_indices(evaluator.shape[1], 1)
    undefined = np.isnan(evaluator).any(axis=1)
    if not len(first):
        return np.full(len(evaluator), np.nan)
    if name in ("acc", "kendall"):
        sides = []
        for means in (evaluator, human):
            difference = means[:, first] - means[:, second]
            noise = NOISE * np.abs(means).max(axis=1, keepdims=True)
            sides.append(np.where(np.abs(difference) <= noise, 0.0, np.sign(difference)))
        ours, theirs = sides
        if name == "acc":
            values: Floats = (ours == theirs).mean(axis=1)
        else:
            apart = np.sqrt(np.count_nonzero(ours, axis=1)) * np.sqrt(np.count_nonzero(theirs, axis=1))
            values = _ratio((ours * theirs).sum(axis=1), apart)
    else:
        if name == "spearman":
            evaluator, human = _row_ranks(evaluator), _row_ranks(human)
        values = _weighted_pearson(evaluator, human, np.ones_like(evaluator))
    return np.where(undefined, np.nan, values)


def _system_means(values: Floats, scores: PairedScores, draws: Draws) -> Floats:
    """Resamples × systems; NaN for a system without a drawn segment."""
    systems = groups_of(scores, "system")
    units = draws.units_of(scores)
    sums, counts = np.zeros((2, draws.units, systems.size))
    # Far from 0, differences between systems would drown in rounding.
    np.add.at(sums, (units, systems.of), values - values.mean())
    np.add.at(counts, (units, systems.of), 1.0)
    return _ratio(draws.weights @ sums, draws.weights @ counts)


def _row_ranks(values: Floats) -> Floats:
    """The ranks in each row; tied values share the mean of theirs."""
    difference = values[:, :, None] - values[:, None, :]
    noise = NOISE * np.abs(values).max(axis=1)[:, None, None]
    below = (difference > noise).sum(axis=2)
    equal = (np.abs(difference) <= noise).sum(axis=2)
    ranks: Floats = below + equal / 2
    return ranks


def _soft_accuracy(scores: PairedScores, draws: Draws) -> Floats:
    """SPA in each resample, with p-values of the normal distribution instead of permutations."""
    systems, items = groups_of(scores, "system"), groups_of(scores, "item")
    complete = (items.counts() == systems.size)[items.of]
    if systems.size < 2 or not complete.any():
        return np.full(draws.how.resamples, np.nan)
    order = np.lexsort((items.of[complete], systems.of[complete]))
    units = draws.units_of(scores)[complete][order].reshape(systems.size, -1)[0]
    first, second = np.triu_indices(systems.size, 1)
    sides = []
    for values in (scores.evaluator, scores.human):
        by_system = values[complete][order].reshape(systems.size, -1)
        difference = (by_system[first] - by_system[second]).T
        spread = np.sqrt(draws.totals(difference**2, units))
        lead = draws.totals(difference, units)
        # Equal scores: each permutation is as far ahead as the scores are, so p is 1.
        standardised = np.divide(lead, spread, out=np.full_like(lead, -np.inf), where=spread > 0)
        sides.append(np.vectorize(erfc, otypes=[np.float64])(standardised / sqrt(2)) / 2)
    undefined = draws.totals(np.ones((len(units), 1)), units)[:, 0] == 0
    return np.where(undefined, np.nan, 1.0 - np.abs(sides[0] - sides[1]).mean(axis=1))


# --- arithmetic


def _blocks(draws: Draws, width: int) -> Iterator[Floats]:
    """The weights in blocks whose matrices, ``width`` columns wide, are not too large."""
    most = max(1, _CELLS // max(width, 1))
    for start in range(0, len(draws.weights), most):
        yield draws.weights[start : start + most]


def _mean(sums: Floats) -> Floats:
    """Of columns with sums and counts."""
    return _ratio(sums[:, 0], sums[:, 1])


def _ratio(part: Floats, whole: Floats) -> Floats:
    """NaN for a share of nothing."""
    ratio: Floats = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return ratio


def _positive(variance: Floats, size: Floats) -> Floats:
    """NaN where a variance is nothing but rounding."""
    return np.where(variance > 1e-12 * size, variance, np.nan)
