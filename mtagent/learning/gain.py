"""The gain that people would see, learnt from the differences of several judges' scores.

``learn`` fits it on pairs of a text before and after, ``effect`` says what deciding by it is worth on other pairs. All
splits are by group (document). See ``docs/safety.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.chain.calibration import Effect, ExpectedGain, Figure, JudgeWeight, LearningPoint, TriagePoint
from mtagent.errors import ConfigError, InputError
from mtagent.records import GAIN_DIGITS

# Bootstrap intervals of sums and ratios over groups (documents): 95 %, paired, exact for a seed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
RESAMPLES, SEED = 1_000, 12345
_CELLS = 2**22
"""Numbers in a matrix at a time: 32 MB."""
_TAIL = 2.5


class Resampling(NamedTuple):
    """How many resamples, drawn from which seed."""

    resamples: int = RESAMPLES
    seed: int = SEED

    def draws(self, groups: int, width: int = 0) -> Iterator[Floats]:
        """How often each group is drawn: matrices of resamples × groups, all resamples in a few of them.

        ``width`` is the number of columns of the widest matrix that the caller makes of one. Raises
        :class:`ConfigError` for less than one resample.
        """
        if self.resamples < 1:
            raise ConfigError(f"{self.resamples} resamples: at least one is needed")
        chance, rng = np.full(groups, 1 / groups), np.random.default_rng(self.seed)
        most = max(1, _CELLS // max(groups, width))
        for first in range(0, self.resamples, most):
            number = min(most, self.resamples - first)
            yield rng.multinomial(groups, chance, size=number).astype(np.float64)


USUAL = Resampling()


def numbered(groups: Ints) -> Ints:
    """The groups numbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def ratios(above: list[Floats], below: list[Floats], groups: Ints, resampling: Resampling) -> list[Figure]:
    """The ratio of the sums of each of ``above`` (a number for each item) to those of its ``below``, with intervals.

    ``groups`` are numbered without gaps. Resamples in which a ratio is not defined are left out of its interval.
    """
    sums = np.stack([np.bincount(groups, values) for values in (*above, *below)], axis=1)
    drawn = np.concatenate([draw @ sums for draw in resampling.draws(len(sums))])
    whole, size = sums.sum(axis=0), len(above)
    figures = []
    for upper in range(size):
        lower = size + upper
        value = float(whole[upper] / whole[lower]) if whole[lower] else None
        defined = drawn[:, lower] > 0
        low, high = (
            bounds(drawn[defined, upper] / drawn[defined, lower])
            if value is not None and defined.any()
            else (None, None)
        )
        figures.append(Figure(value=value, low=low, high=high))
    return figures


def bounds(values: Floats) -> tuple[float, float]:
    """The bounds between which 95 % of ``values`` lie."""
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)


# The gain

FEWEST_PAIRS = 30
"""Fewer pairs teach nothing."""
PAIRS_FOR_BEFORE = 400
"""Pairs from which on the scores before are tried as well."""
RIDGE = 0.3
RIDGES = (0.03, 0.1, RIDGE, 1.0, 3.0, 10.0)
"""Penalties per pair: minimised is the mean squared error + ridge * the sum of the squared weights of deviations."""
EXTREME = 2.5
"""Per cent of people's gains at either end that count as if they were the next less extreme one for the weights."""
FOLDS = 5
LARGEST = 1e100
"""Scores beyond it are refused: their sums would not be numbers any more."""


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Pairs of a text before and after, with what judges and people say of them; higher is better everywhere.

    ``differences`` (pairs x judges): after - before of each judge; a judge that compares says -1, 0 or +1. ``before``
    (pairs x judges): its scores of the texts before, NaN for a judge that compares. ``groups``: numbers that are equal
    for pairs that belong together (a document). Preferences of people are gains without scores: ``human_before`` 0,
    ``human_after`` -1, 0 or +1. Raises :class:`InputError` for no pair, arrays that do not fit together, and scores
    that are no finite numbers.
    """

    judges: tuple[str, ...]
    differences: Floats
    human_before: Floats
    human_after: Floats
    groups: Ints
    before: Floats | None = None
    signatures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        differences = np.asarray(self.differences, dtype=np.float64).round(GAIN_DIGITS)
        before = np.full(differences.shape, np.nan) if self.before is None else self.before
        before = np.asarray(before, dtype=np.float64)
        human = [np.asarray(scores, dtype=np.float64) for scores in (self.human_before, self.human_after)]
        groups = numbered(np.asarray(self.groups))
        signatures = self.signatures or ("",) * len(self.judges)
        shape = (len(groups), len(self.judges))
        if differences.shape != shape or before.shape != shape or not groups.size or not self.judges:
            raise InputError(
                "pairs: there must be a difference of each judge and one group for each pair, and one pair"
            )
        if any(scores.shape != groups.shape for scores in human) or len(signatures) != len(self.judges):
            raise InputError("pairs: there must be one human score before and one after for each pair")
        for place, judge in enumerate(self.judges):
            compares = np.isnan(before[:, place]).all()
            for what, scores in (("differences", differences[:, place]), ("scores before", before[:, place])):
                if not (what == "scores before" and compares) and not (np.abs(scores) <= LARGEST).all():
                    raise _not_finite(f"the {what} of {judge}", scores)
        for what, scores in zip(("human scores before", "human scores after"), human, strict=True):
            if not (np.abs(scores) <= LARGEST).all():
                raise _not_finite(f"the {what}", scores)
        values = {"differences": differences, "before": before, "groups": groups, "signatures": signatures}
        values |= {"human_before": human[0], "human_after": human[1]}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def gains(self) -> Floats:
        """People's: above 0 the edit is good, below it is harmful."""
        return np.round(self.human_after - self.human_before, GAIN_DIGITS)

    @property
    def roots(self) -> Floats:
        """The signed square roots of the differences."""
        return np.asarray(np.copysign(np.sqrt(np.abs(self.differences)), self.differences))

    @property
    def scores_before(self) -> Floats:
        """The judges' scores of the texts before; NaN for judges that compare."""
        assert self.before is not None
        return self.before

    def chosen(self, which: Truths | Ints) -> JudgedPairs:
        """Some of the pairs."""
        return JudgedPairs(
            self.judges, self.differences[which], self.human_before[which], self.human_after[which],
            self.groups[which], self.scores_before[which], self.signatures,
        )  # fmt: skip

    def drawn(self, number: int, seed: int | Sequence[int] = SEED) -> JudgedPairs:
        """A random ``number`` of the pairs."""
        return self.chosen(np.sort(np.random.default_rng(seed).permutation(len(self))[:number]))

    def of(self, *places: int) -> JudgedPairs:
        """The same pairs with some of the judges."""
        which, names = list(places), [(self.judges[place], self.signatures[place]) for place in places]
        judges, signatures = zip(*names, strict=True)
        return JudgedPairs(
            judges, self.differences[:, which], self.human_before, self.human_after, self.groups,
            self.scores_before[:, which], signatures,
        )  # fmt: skip


def _not_finite(what: str, scores: Floats) -> InputError:
    number = int((~(np.abs(scores) <= LARGEST)).sum())
    return InputError(f"pairs: {what}: {number} are no finite numbers up to {LARGEST:g}; leave missing ones out")


def learnt_groups(sizes: Ints, *, sample: int | None = None, seed: int = SEED) -> Truths:
    """Which groups are learnt from; ``sizes`` says how many pairs each has.

    A random half; more where that has fewer than ``sample`` pairs. Raises :class:`InputError` where none would be left
    to report on.
    """
    if len(sizes) < 2:
        raise InputError(
            f"{len(sizes)} document or segment: two at least are needed, one to calibrate on and one to report on"
        )
    order = np.random.default_rng(seed).permutation(len(sizes))
    number = (len(sizes) + 1) // 2
    if sample is not None:
        number = max(number, int(np.searchsorted(np.cumsum(sizes[order]), sample)) + 1)
        if number >= len(sizes):
            raise InputError(
                f"--sample {sample}: there are {sizes.sum()} pairs of {len(sizes)} documents or segments, which leaves "
                "none to report on"
            )
    return np.isin(np.arange(len(sizes)), order[:number])


def split(
    pairs: JudgedPairs, learnt: Truths | None = None, *, sample: int | None = None, seed: int = SEED
) -> tuple[JudgedPairs, JudgedPairs]:
    """The pairs to learn from (of these ``sample`` random ones) and those to report on; no group is in both.

    ``learnt`` says for each pair whether its group is learnt from; by default :func:`learnt_groups` does. Raises
    :class:`InputError` where all are on one side.
    """
    if learnt is None:
        learnt = learnt_groups(np.bincount(pairs.groups), sample=sample, seed=seed)[pairs.groups]
    if learnt.all() or not learnt.any():
        raise InputError(
            f"all {len(pairs)} pairs with all scores are in one half of the documents: more documents or segments are "
            "needed, or another --seed"
        )
    ours = pairs.chosen(learnt)
    return ours if sample is None else ours.drawn(sample, seed), pairs.chosen(~learnt)


def _design(pairs: JudgedPairs, with_before: bool) -> tuple[Floats, Floats, Floats]:
    """The features, a column each, divided by the scales after the means were taken away; these means and scales.

    They are the roots of the differences of each judge, and ``with_before`` its scores before where it gives scores.
    """
    values, means = pairs.roots, np.zeros(len(pairs.judges))
    if with_before:
        before = np.nan_to_num(pairs.scores_before)
        values, means = np.hstack([values, before]), np.concatenate([means, before.mean(axis=0)])
    scales = values.std(axis=0)
    scales[scales <= 1e-12 * np.abs(values).max(axis=0, initial=0)] = 0.0  # constant but for rounding
    return np.divide(values - means, scales, out=np.zeros_like(values), where=scales > 0), means, scales


def _fit(features: Floats, gains: Floats, tamed: Floats, ridge: float) -> tuple[float, Floats]:
    """The weights with the least mean squared error of ``tamed`` gains + ridge * the sum of squared weights.

    With the intercept that makes the mean prediction the mean of ``gains``, extremes included.
    """
    means = features.mean(axis=0)
    centred = features - means
    moments = centred.T @ centred / len(gains) + ridge * np.eye(features.shape[1])
    weights = np.linalg.solve(moments, centred.T @ (tamed - tamed.mean()) / len(gains))
    return float(gains.mean() - means @ weights), weights


def _out_of_fold(features: Floats, gains: Floats, tamed: Floats, fold: Ints, ridge: float) -> Floats:
    """The prediction for each pair by what the other folds teach."""
    predicted = np.empty(len(gains))
    for number in range(int(fold.max()) + 1):
        others = fold != number
        intercept, weights = _fit(features[others], gains[others], tamed[others], ridge)
        predicted[~others] = intercept + features[~others] @ weights
    return predicted


def _is_better(loss: Floats, other: Floats, groups: Ints) -> bool:
    """Whether ``loss`` is less than ``other`` by more than one standard error, which is one over groups."""
    lead = np.bincount(groups, other - loss)
    error = math.sqrt(len(lead) / max(len(lead) - 1, 1) * ((lead - lead.mean()) ** 2).sum())
    return bool(lead.sum() > error)


def learn(pairs: JudgedPairs, *, seed: int = SEED, fewest: int = FEWEST_PAIRS) -> ExpectedGain:
    """The expected gain that these pairs teach, by ridge regression of people's gains on the roots of differences.

    The penalty is :data:`RIDGE`; another of :data:`RIDGES` only where cross-validation (by groups) finds it better by
    more than one standard error. Likewise the scores before count only where there are enough pairs and they make it
    better by more than one. Raises :class:`InputError` for less than the ``fewest`` pairs, one group and labels that
    are all the same.
    """
    gains, groups = pairs.gains, int(pairs.groups.max()) + 1
    tamed = np.clip(gains, *np.percentile(gains, [EXTREME, 100 - EXTREME]))
    if len(pairs) < fewest:
        raise InputError(f"{len(pairs)} pairs with all scores: at least {fewest} are needed to learn from")
    if (gains == gains[0]).all():
        raise InputError(f"people see the same gain ({gains[0]:g}) in all {len(pairs)} pairs: nothing can be learnt")
    if groups < 2:
        raise InputError(
            f"all {len(pairs)} pairs are of one document, or of one text: at least two are needed to learn from"
        )
    fold = (np.random.default_rng(seed).permutation(groups) % FOLDS)[pairs.groups]
    chosen: tuple[Floats, float, bool] | None = None  # out-of-fold predictions, penalty, with scores before
    for with_before in (False, True):
        if with_before and (len(pairs) < PAIRS_FOR_BEFORE or np.isnan(pairs.scores_before).all()):
            continue
        features, _, _ = _design(pairs, with_before)
        predicted = {ridge: _out_of_fold(features, gains, tamed, fold, ridge) for ridge in RIDGES}
        losses = {ridge: (tamed - values) ** 2 for ridge, values in predicted.items()}
        better = [ridge for ridge in RIDGES if _is_better(losses[ridge], losses[RIDGE], pairs.groups)]
        ridge = min(better or [RIDGE], key=lambda ridge: losses[ridge].sum())
        if chosen is None or _is_better(losses[ridge], (tamed - chosen[0]) ** 2, pairs.groups):
            chosen = predicted[ridge], ridge, with_before
    assert chosen is not None
    predictions, ridge, with_before = chosen
    features, means, scales = _design(pairs, with_before)
    intercept, weights = _fit(features, gains, tamed, ridge)
    size = len(pairs.judges)
    judges = []
    for place, (judge, signature) in enumerate(zip(pairs.judges, pairs.signatures, strict=True)):
        weight = JudgeWeight(judge=judge, signature=signature, scale=float(scales[place]), weight=float(weights[place]))
        if with_before and scales[size + place] > 0:
            mean, scale, of_before = (float(values[size + place]) for values in (means, scales, weights))
            weight = weight.model_copy(update={"before_mean": mean, "before_scale": scale, "before_weight": of_before})
        judges.append(weight)
    return ExpectedGain(
        intercept=intercept,
        judges=tuple(judges),
        spread=float(np.sqrt(((gains - predictions) ** 2).mean())),
        ridge=ridge,
        calibrated_on=len(pairs),
    )


def predictions(gain: ExpectedGain, pairs: JudgedPairs) -> Floats:
    """What :meth:`ExpectedGain.predict` says of each pair, whose judges are in the same order."""
    predicted = np.full(len(pairs), gain.intercept)
    for place, judge in enumerate(gain.judges):
        if judge.scale:
            predicted += judge.weight * pairs.roots[:, place] / judge.scale
        if judge.before_weight:
            before = pairs.scores_before[:, place] - judge.before_mean
            predicted += judge.before_weight * before / judge.before_scale
    return predicted


def effect(pairs: JudgedPairs, keep: Truths, resampling: Resampling = USUAL) -> Effect:
    """What keeping the edits in ``keep`` does to ``pairs``, with paired confidence intervals over the groups."""
    before, after, gains = pairs.human_before, pairs.human_after, pairs.gains
    gate, one = np.where(keep, after, before), np.ones(len(pairs))
    oracle, better = np.maximum(before, after), after if gains.sum() > 0 else before
    good, harmful = (gains > 0).astype(np.float64), (gains < 0).astype(np.float64)
    figures: dict[str, tuple[Floats, Floats]] = {
        "gate": (gate, one),
        "always": (after, one),
        "never": (before, one),
        "oracle": (oracle, one),
        "over_always": (gate - after, one),
        "over_never": (gate - before, one),
        "accepted": (keep.astype(np.float64), one),
        "good_kept": (good * keep, good),
        "harmful_refused": (harmful * ~keep, harmful),
        "lead": (gate - better, one),
        "headroom": (gate - better, oracle - better),
    }
    alone = [(np.where(pairs.differences[:, place] > 0, after, before), one) for place in range(len(pairs.judges))]
    above, below = map(list, zip(*figures.values(), *alone, strict=True))
    measured = ratios(above, below, pairs.groups, resampling)
    return Effect(
        items=len(pairs),
        groups=int(pairs.groups.max()) + 1,
        **dict(zip(figures, measured, strict=False)),
        alone=dict(zip(pairs.judges, measured[len(figures) :], strict=True)),
    )


def kept_crosswise(pairs: JudgedPairs, *, seed: int = SEED) -> Truths:
    """Which pairs are kept by gates that were each learnt from the other documents: five folds, all chosen anew.

    Folds that cannot be learnt from count as never or always, which they teach.
    """
    fold = (np.random.default_rng(seed).permutation(int(pairs.groups.max()) + 1) % FOLDS)[pairs.groups]
    keep = np.zeros(len(pairs), dtype=bool)
    for number in range(int(fold.max()) + 1):
        others, held_out = pairs.chosen(fold != number), pairs.chosen(fold == number)
        try:
            keep[fold == number] = predictions(learn(others, seed=seed, fewest=2), held_out) > 0
        except InputError:
            keep[fold == number] = others.gains.sum() > 0
    return keep


LEARNING = (50, 100, 200, 400)
DRAWS = 20


def learning_curve(
    learnt_from: JudgedPairs, reported_on: JudgedPairs, *, draws: int = DRAWS, seed: int = SEED
) -> tuple[LearningPoint, ...]:
    """What gates learnt on fewer pairs are worth on ``reported_on``: the mean of ``draws`` random choices of each size.

    Choices that cannot be learnt from (labels that are all the same) count as never or always, which they teach.
    """
    points = []
    better = max(reported_on.gains.sum(), 0.0)
    room = np.maximum(reported_on.gains, 0).sum() - better
    for size in (size for size in LEARNING if size <= len(learnt_from)):
        leads = []
        for draw in range(draws):
            few = learnt_from.drawn(size, (seed, size, draw))
            try:
                keep = predictions(learn(few, seed=seed), reported_on) > 0
            except InputError:
                keep = np.full(len(reported_on), few.gains.sum() > 0)
            leads.append(float(reported_on.gains[keep].sum() - better))
        mean = sum(leads) / draws
        points.append(
            LearningPoint(
                pairs=size,
                draws=draws,
                lead=mean / len(reported_on),
                headroom=mean / room if room > 0 else None,
                lost=sum(lead < 0 for lead in leads) / draws,
            )
        )
    return tuple(points)


UNTOUCHED = (0.1, 0.25, 0.5, 0.75, 0.9)


def triage(
    pairs: JudgedPairs,
    keep: Truths,
    thresholds: Mapping[int, Sequence[tuple[float, bool]]],
    resampling: Resampling = USUAL,
) -> tuple[TriagePoint, ...]:
    """What leaving alone the texts of ``pairs`` that score a threshold or more is worth, where ``keep`` decides else.

    ``thresholds`` are of the judge at a place, each with whether it is the calibrated one.
    """
    points, one = [], np.ones(len(pairs))
    gate = np.where(keep, pairs.human_after, pairs.human_before)
    for place, own in thresholds.items():
        for threshold, calibrated in own:
            alone = pairs.scores_before[:, place] >= threshold
            human = np.where(alone, pairs.human_before, gate)
            columns = [alone.astype(np.float64), human, human - gate]
            untouched, mean, change = ratios(columns, [one] * 3, pairs.groups, resampling)
            points.append(
                TriagePoint(
                    judge=pairs.judges[place],
                    threshold=threshold,
                    calibrated=calibrated,
                    untouched=untouched,
                    human=mean,
                    change=change,
                )
            )
    return tuple(points)


def triage_thresholds(pairs: JudgedPairs, place: int, calibrated: float | None = None) -> list[tuple[float, bool]]:
    """Scores that a tenth to nine tenths of the texts before reach, and the ``calibrated`` one; highest first."""
    scores = pairs.scores_before[:, place]
    found = {float(np.quantile(scores, 1 - share, method="higher")) for share in UNTOUCHED} - {calibrated}
    thresholds = [(threshold, False) for threshold in found] + ([] if calibrated is None else [(calibrated, True)])
    return sorted(thresholds, reverse=True)
