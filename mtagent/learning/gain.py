"""The gain that people would see in an edit, learnt from the differences between several judges' scores.

:func:`learn` fits a ridge regression on pairs of a text before and after, :func:`predictions` applies it to other
pairs, and :func:`kept` decides as the gate does. All figures of a calibration share the bootstrap at the top.
:func:`next_edits` names the edits that are most worth labelling. See ``docs/explanation/gate.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.chain.calibration import ExpectedGain, Figure, JudgeWeight, Moments
from mtagent.chain.shipped import shipped_weights_of
from mtagent.errors import ConfigError, InputError
from mtagent.learning.pairs import JudgedData, JudgedPair
from mtagent.metrics.significance import SEED, GroupResampling
from mtagent.records import GAIN_DIGITS
from mtagent.text.table import Table
from mtagent.text.table import text as tables_as_text

# Bootstrap intervals of sums and ratios over groups (documents): 95 %, paired, exact for a seed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
_TAIL = 2.5
"""Per cent of the resamples on either side of a 95 % interval."""
USUAL = GroupResampling()


def numbered(groups: Ints) -> Ints:
    """The groups numbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def ratios(above: list[Floats], below: list[Floats], groups: Ints, resampling: GroupResampling) -> list[Figure]:
    """For each column of ``above`` its sum divided by the sum of the same column of ``below``, with intervals.

    A column has a number for each item; ``groups`` are numbered without gaps. Resamples in which a ratio is not
    defined are left out of its interval. Where all resamples agree (one group, or groups that are all alike) nothing is
    known of how the ratio varies: it has no interval.
    """
    columns = [np.bincount(groups, values) for values in (*above, *below)]
    sums = np.stack(columns, axis=1)
    drawn = np.concatenate([draw @ sums for draw in resampling.draws(len(sums))])
    whole = sums.sum(axis=0)
    figures = []
    for upper in range(len(above)):
        lower = len(above) + upper
        if not whole[lower]:
            figures.append(Figure(value=None))
            continue
        low, high = None, None
        defined = drawn[:, lower] > 0
        if defined.any():
            low, high = bounds(drawn[defined, upper] / drawn[defined, lower])
            if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
                low = high = None
        figures.append(Figure(value=float(whole[upper] / whole[lower]), low=low, high=high))
    return figures


def bounds(values: Floats) -> tuple[float, float]:
    """The bounds between which 95 % of ``values`` lie."""
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)


# Pairs as arrays


def signed_roots(differences: Floats) -> Floats:
    """The square roots of differences, with their signs."""
    return np.asarray(np.copysign(np.sqrt(np.abs(differences)), differences))


LARGEST = 1e100
"""Larger scores are refused: their sums would overflow."""


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Judged pairs as arrays; higher is better everywhere.

    Raises :class:`InputError` for no pair, arrays whose sizes differ, and scores that are not finite numbers.
    """

    judges: tuple[str, ...]
    differences: Floats
    """Pairs × judges: after - before of each judge; a judge that compares gives -1, 0 or +1."""
    human_before: Floats
    human_after: Floats
    """One for each pair. Preferences are gains without scores: 0 before, and after -1, 0 or +1."""
    groups: Ints
    """Equal numbers for pairs that belong together (a document)."""
    before: Floats | None = None
    """Pairs × judges: the judge's score of the text before, NaN for a judge that compares."""
    signatures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = numbered(np.asarray(self.groups))
        by_judge = (len(groups), len(self.judges))
        arrays = {
            "differences": np.asarray(self.differences, dtype=np.float64).round(GAIN_DIGITS),
            "before": np.full(by_judge, np.nan) if self.before is None else np.asarray(self.before, dtype=np.float64),
            "human_before": np.asarray(self.human_before, dtype=np.float64),
            "human_after": np.asarray(self.human_after, dtype=np.float64),
            "groups": groups,
        }
        for name, values in arrays.items():
            expected = by_judge if name in ("differences", "before") else (len(groups),)
            if values.shape != expected or not values.size:
                raise InputError(f"pairs: {name}: expected an array of the shape {expected}, found {values.shape}")
            # The record is frozen: this is the only way to store what was made of the arguments.
            object.__setattr__(self, name, values)
        object.__setattr__(self, "signatures", self.signatures or ("",) * len(self.judges))
        columns = {"the human scores before": self.human_before, "the human scores after": self.human_after}
        for place, judge in enumerate(self.judges):
            columns[f"the differences of {judge}"] = self.differences[:, place]
            compares = np.isnan(self.scores_before[:, place]).all()
            if not compares:
                columns[f"the scores before of {judge}"] = self.scores_before[:, place]
        for name, scores in columns.items():
            unusable = int((~(np.abs(scores) <= LARGEST)).sum())  # NaN is not below it either
            if unusable:
                raise InputError(
                    f"pairs: {name}: {unusable} are not finite numbers up to {LARGEST:g}; leave missing scores out"
                )

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def gains(self) -> Floats:
        """People's gains: above 0 the edit is good, below it is harmful."""
        return np.round(self.human_after - self.human_before, GAIN_DIGITS)

    @property
    def roots(self) -> Floats:
        """The signed square roots of the differences."""
        return signed_roots(self.differences)

    @property
    def all_call_worse(self) -> Truths:
        """Whether there are several judges, and every one prefers the text before."""
        return np.asarray((self.differences < 0).all(axis=1) & (len(self.judges) > 1))

    @property
    def scores_before(self) -> Floats:
        """The judges' scores of the texts before; NaN for judges that compare."""
        assert self.before is not None
        return self.before

    def chosen(self, which: Truths | Ints) -> JudgedPairs:
        """Some of the pairs."""
        return replace(
            self,
            differences=self.differences[which],
            human_before=self.human_before[which],
            human_after=self.human_after[which],
            groups=self.groups[which],
            before=self.scores_before[which],
        )

    def drawn(self, number: int, seed: int | Sequence[int] = SEED) -> JudgedPairs:
        """A random ``number`` of the pairs."""
        return self.chosen(np.sort(np.random.default_rng(seed).permutation(len(self))[:number]))

    def of(self, *places: int) -> JudgedPairs:
        """The same pairs with some of the judges."""
        which = list(places)
        return replace(
            self,
            judges=tuple(self.judges[place] for place in places),
            differences=self.differences[:, which],
            before=self.scores_before[:, which],
            signatures=tuple(self.signatures[place] for place in places),
        )


def learnt_groups(sizes: Ints, *, sample: int | None = None, seed: int = SEED) -> Truths:
    """Which groups are learnt from; ``sizes`` is the number of pairs of each.

    A random half; more where the half has fewer than ``sample`` pairs. Raises :class:`InputError` where none would be
    left to report on.
    """
    if len(sizes) < 2:
        raise InputError(
            f"{len(sizes)} document or segment: at least two are needed, one to calibrate on and one to report on"
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


def folds(pairs: JudgedPairs, seed: int) -> Ints:
    """The number of the fold of each pair, from 0; a group is in one fold."""
    groups = int(pairs.groups.max()) + 1
    of_group = np.random.default_rng(seed).permutation(groups) % FOLDS
    return np.asarray(of_group[pairs.groups])


# The regression

SAMPLE = 200
"""How many edits people should label, and a teacher labels unless the user names a number."""
FEWEST_PAIRS = 30
"""Nothing is learnt from fewer pairs."""
PAIRS_FOR_BEFORE = 400
"""From this many pairs the scores before are tried as well."""
RIDGE = 0.3
RIDGES = (0.03, 0.1, RIDGE, 1.0, 3.0, 10.0)
"""Penalties per pair: the fit minimises the mean squared error + ridge * the sum of the squared weights."""
PRIOR_PAIRS = 150.0
"""Prior weights count as much as about this many pairs: the penalty is this number, divided by that of the pairs."""
EXTREME = 2.5
"""Per cent of people's gains at either end that count as the next less extreme gain when weights are fitted."""
FOLDS = 5
FLATTEST = 1e-3
"""The least slope of the chances: in standard deviations of what people see, for one of the predictions."""
_SMALL_STEP, _LEAST_CHANCE = 1e-8, 1e-300
"""Where the fit of the chances ends, and what it takes a chance of 0 for."""


class _Features(NamedTuple):
    """A column for each feature, less its mean and divided by its scale; a scale of 0: the feature is constant."""

    values: Floats
    means: Floats
    scales: Floats


def _features(pairs: JudgedPairs, with_before: bool) -> _Features:
    """The roots of each judge's differences, and ``with_before`` the scores before of the judges that give scores."""
    values = pairs.roots
    # The roots keep their zero, which means "no difference".
    means = np.zeros(len(pairs.judges))
    if with_before:
        before = np.nan_to_num(pairs.scores_before)
        values = np.hstack([values, before])
        means = np.concatenate([means, before.mean(axis=0)])
    scales = values.std(axis=0)
    scales[scales <= 1e-12 * np.abs(values).max(axis=0, initial=0)] = 0.0  # constant except for rounding
    scaled = np.divide(values - means, scales, out=np.zeros_like(values), where=scales > 0)
    return _Features(scaled, means, scales)


def _fits(
    features: Floats, gains: Floats, tamed: Floats, ridges: Sequence[float], expected: Floats
) -> list[tuple[float, Floats]]:
    """For each ridge the intercept and the weights with the least penalised mean squared error of the ``tamed`` gains.

    The penalty is on how far the weights are from the ``expected`` ones. The intercept makes the mean prediction the
    mean of ``gains``, extremes included.
    """
    means = features.mean(axis=0)
    centred = features - means
    moments = centred.T @ centred / len(gains)
    penalties = np.multiply.outer(ridges, np.eye(features.shape[1]))
    products = centred.T @ (tamed - tamed.mean()) / len(gains) + np.multiply.outer(ridges, expected)
    weights = np.linalg.solve(moments + penalties, products[..., None])[..., 0]
    mean_gain = gains.mean()
    return [(float(mean_gain - means @ of_ridge), of_ridge) for of_ridge in weights]


def _expected_weights(features: Floats, tamed: Floats, prior: Sequence[float]) -> Floats:
    """The weights to shrink to, in people's points: the ``prior`` ones of the judges, and otherwise 0."""
    expected = np.zeros(features.shape[1])
    expected[: len(prior)] = np.array(prior) * tamed.std()
    return expected


def _out_of_fold(
    features: Floats, gains: Floats, tamed: Floats, fold: Ints, ridges: Sequence[float], expected: Floats
) -> dict[float, Floats]:
    """For each of the ``ridges`` the prediction for each pair by weights that were fitted on the other folds."""
    predicted = {ridge: np.empty(len(gains)) for ridge in ridges}
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        others = ~inside
        fits = _fits(features[others], gains[others], tamed[others], ridges, expected)
        for ridge, (intercept, weights) in zip(ridges, fits, strict=True):
            predicted[ridge][inside] = intercept + features[inside] @ weights
    return predicted


def _is_better(loss: Floats, other: Floats, groups: Ints) -> bool:
    """Whether ``loss`` is less than ``other`` by more than one standard error, taken over groups."""
    lead = np.bincount(groups, other - loss)
    error = math.sqrt(len(lead) / max(len(lead) - 1, 1) * ((lead - lead.mean()) ** 2).sum())
    return bool(lead.sum() > error)


class Chances(NamedTuple):
    """The ordered probit of an :class:`ExpectedGain`."""

    scale: float
    tie_band: float
    bias: float


def fitted_chances(predicted: Floats, gains: Floats) -> Chances:
    """The ordered probit of worse, same and better on out-of-fold predictions, by maximum likelihood.

    Six pairs more, with the weight of one in all, keep it finite: each outcome, at the mean prediction less one
    standard deviation and plus one.
    """
    mean, deviation = predicted.mean(), predicted.std()
    if deviation <= 1e-12 * np.abs(predicted).max(initial=0):
        deviation = 1.0  # constant except for rounding
    standard = np.concatenate([(predicted - mean) / deviation, np.repeat([-1.0, 1.0], 3)])
    outcomes = np.concatenate([np.sign(gains), np.tile([-1.0, 0.0, 1.0], 2)])
    weights = np.concatenate([np.ones(len(gains)), np.full(6, 1 / 6)])
    worse, better = (float(weights[outcomes == outcome].sum() / weights.sum()) for outcome in (-1, 1))
    # Worse is below the first cut, better above the second; the slope is of the standardised prediction.
    shares = np.array([NormalDist().inv_cdf(worse), NormalDist().inv_cdf(1 - better), 0.0])
    fit = _probit(shares, standard, outcomes, weights)
    step = np.linalg.lstsq(fit.information, fit.score, rcond=None)[0]
    while np.abs(step).max() > _SMALL_STEP:
        tried = _probit(fit.parameters + step, standard, outcomes, weights)
        if tried.likelihood <= fit.likelihood:
            step = step / 2
            continue
        fit = tried
        step = np.linalg.lstsq(fit.information, fit.score, rcond=None)[0]
    low, high, slope = fit.parameters.tolist()
    if slope < FLATTEST:  # the predictions tell nothing: the chances are the shares
        low, high, slope = float(shares[0]), float(shares[1]), FLATTEST
    scale = float(deviation / slope)
    return Chances(scale, scale * (high - low) / 2, float(-mean - scale * (high + low) / 2))


class _Probit(NamedTuple):
    """An ordered probit with some parameters: the log-likelihood, its gradient and the expected information."""

    parameters: Floats
    likelihood: float
    score: Floats
    information: Floats


def _probit(parameters: Floats, standard: Floats, outcomes: Floats, weights: Floats) -> _Probit:
    """How well two cuts and a slope (``parameters``) explain outcomes by standardised predictions."""
    low, high, slope = parameters
    if low >= high:
        return _Probit(parameters, -math.inf, np.zeros(3), np.eye(3))
    ends = np.stack([low - slope * standard, high - slope * standard])
    below, above = _normal(ends), _normal(-ends)
    densities = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    zeros, ones = np.zeros_like(standard), np.ones_like(standard)
    low_slopes = densities[0] * np.stack([ones, zeros, -standard])
    high_slopes = densities[1] * np.stack([zeros, ones, -standard])
    # On the side of 0 on which the two ends are small, so that their difference is exact.
    same = np.where(ends[0] > 0, above[0] - above[1], below[1] - below[0])
    likelihood, score, information = 0.0, np.zeros(3), np.zeros((3, 3))
    by_outcome = ((-1, below[0], low_slopes), (0, same, high_slopes - low_slopes), (1, above[1], -high_slopes))
    for outcome, chances, slopes in by_outcome:
        possible = np.maximum(chances, _LEAST_CHANCE)
        seen = weights * (outcomes == outcome)
        likelihood += float(seen @ np.log(possible))
        score += slopes @ (seen / possible)
        information += (slopes * (weights / possible)) @ slopes.T
    return _Probit(parameters, likelihood, score, information)


_erfc = np.frompyfunc(math.erfc, 1, 1)


def _normal(values: Floats) -> Floats:
    """The cumulative normal distribution."""
    return np.asarray(_erfc(-values / math.sqrt(2)) / 2, dtype=np.float64)


class _Model(NamedTuple):
    """A way to fit, and what it predicts for pairs that it was not fitted on."""

    ridge: float
    with_before: bool
    predictions: Floats


def _best_ridge(pairs: JudgedPairs, tamed: Floats, fold: Ints, prior: Sequence[float], with_before: bool) -> _Model:
    """The model with the usual penalty, unless cross-validation finds another one better by one standard error.

    That is :data:`RIDGE`, and with few pairs more if there are ``prior`` weights to shrink to.
    """
    features = _features(pairs, with_before).values
    expected = _expected_weights(features, tamed, prior)
    usual = RIDGE
    if expected.any():
        usual = max(RIDGE, PRIOR_PAIRS / len(pairs))
    ridges = sorted({*RIDGES, usual})
    predicted = _out_of_fold(features, pairs.gains, tamed, fold, ridges, expected)
    losses = {ridge: (tamed - predictions) ** 2 for ridge, predictions in predicted.items()}
    better = [ridge for ridge in ridges if _is_better(losses[ridge], losses[usual], pairs.groups)]
    best = min(better or [usual], key=lambda ridge: losses[ridge].sum())
    return _Model(best, with_before, predicted[best])


def _best_model(pairs: JudgedPairs, tamed: Floats, prior: Sequence[float], seed: int) -> _Model:
    """The model without the scores before, unless these make it better by more than one standard error."""
    fold = folds(pairs, seed)
    model = _best_ridge(pairs, tamed, fold, prior, with_before=False)
    if len(pairs) < PAIRS_FOR_BEFORE or np.isnan(pairs.scores_before).all():
        return model
    larger = _best_ridge(pairs, tamed, fold, prior, with_before=True)
    is_better = _is_better((tamed - larger.predictions) ** 2, (tamed - model.predictions) ** 2, pairs.groups)
    return larger if is_better else model


def refuse_equal_gains(gains: Sequence[float]) -> None:
    """Raise :class:`InputError` if people see the same gain in all pairs."""
    if len(set(gains)) == 1:
        raise InputError(
            f"people see the same gain ({gains[0]:g}) in all {len(gains)} pairs: nothing can be learnt; also label "
            "worse edits"
        )


def learn(
    pairs: JudgedPairs, *, seed: int = SEED, fewest: int = FEWEST_PAIRS, prior: Sequence[float] | None = None
) -> ExpectedGain:
    """The expected gain that these pairs teach, by ridge regression of people's gains on the roots of differences.

    The weights are shrunk to the ``prior`` ones, a weight for each judge in standard deviations of people's gain; by
    default to the shipped ones, if the judges have such. The penalty is :data:`RIDGE` (with few pairs and prior
    weights more), and the scores before are left out, unless cross-validation (by groups) finds something else better
    by more than one standard error. Raises :class:`InputError` for less than the ``fewest``
    pairs, for one group, and for labels that are all the same.
    """
    gains = pairs.gains
    if len(pairs) < fewest:
        raise InputError(f"{len(pairs)} pairs with all scores: at least {fewest} are needed to learn from")
    refuse_equal_gains(gains.tolist())
    if pairs.groups.max() < 1:
        raise InputError(
            f"all {len(pairs)} pairs are from one document or one text: at least two are needed to learn from"
        )
    tamed = np.clip(gains, *np.percentile(gains, [EXTREME, 100 - EXTREME]))
    if prior is None:
        prior = shipped_weights_of(pairs.signatures) or ()
    model = _best_model(pairs, tamed, prior, seed)
    features = _features(pairs, model.with_before)
    expected = _expected_weights(features.values, tamed, prior)
    ((intercept, weights),) = _fits(features.values, gains, tamed, [model.ridge], expected)
    judges = []
    for place, (judge, signature) in enumerate(zip(pairs.judges, pairs.signatures, strict=True)):
        weight = JudgeWeight(
            judge=judge, signature=signature, scale=float(features.scales[place]), weight=float(weights[place])
        )
        column = len(pairs.judges) + place  # of the scores before
        if model.with_before and features.scales[column] > 0:
            of_before = {
                "before_mean": float(features.means[column]),
                "before_scale": float(features.scales[column]),
                "before_weight": float(weights[column]),
            }
            weight = weight.model_copy(update=of_before)
        judges.append(weight)
    chances = fitted_chances(model.predictions, gains)
    learnt = ExpectedGain(
        intercept=intercept,
        judges=tuple(judges),
        scale=chances.scale,
        tie_band=chances.tie_band,
        bias=chances.bias,
        ridge=model.ridge,
        calibrated_on=len(pairs),
    )
    return learnt.model_copy(update={"moments": Moments.of(parts(learnt, pairs).tolist())})


def parts(gain: ExpectedGain, pairs: JudgedPairs) -> Floats:
    """What each judge adds to the expected gain of each pair: pairs × judges."""
    columns = np.zeros((len(pairs), len(gain.judges)))
    for place, points in _points(gain, pairs):
        columns[:, place] += points
    return columns


def predictions(gain: ExpectedGain, pairs: JudgedPairs) -> Floats:
    """The expected gain of each pair, as :meth:`ExpectedGain.predict` computes it; the judges in the same order."""
    predicted = np.full(len(pairs), gain.intercept)
    for _, points in _points(gain, pairs):
        predicted += points
    return predicted


def _points(gain: ExpectedGain, pairs: JudgedPairs) -> Iterator[tuple[int, Floats]]:
    for place, judge in enumerate(gain.judges):
        if judge.scale:
            yield place, judge.weight * pairs.roots[:, place] / judge.scale
        if judge.before_weight:
            before = pairs.scores_before[:, place] - judge.before_mean
            yield place, judge.before_weight * before / judge.before_scale


def kept(gain: ExpectedGain, pairs: JudgedPairs, cautious: float | None = None) -> Truths:
    """Which pairs the gate keeps, as :meth:`ExpectedGain.keeps` decides on one."""
    keep = np.asarray((predictions(gain, pairs) > 0) & ~pairs.all_call_worse)
    if gain.pilot is not None:
        keep &= (pairs.differences != 0).any(axis=1)
    if cautious is not None:
        keep &= chances_of_worse(gain, pairs) <= gain.highest_chance_of_worse(cautious)
    return keep


def chances_of_worse(gain: ExpectedGain, pairs: JudgedPairs) -> Floats:
    """The chance of each pair that people find the text after worse, as :meth:`ExpectedGain.chance_of_worse`."""
    return _normal((-predictions(gain, pairs) - gain.bias - gain.tie_band) / gain.scale)


# -- which edits are most worth labelling next: those about which the labels so far tell the least
#
# A gate's weights are uncertain in the directions in which no labelled edit lies. The leverage of an edit measures how
# uncertain its prediction is: x' A⁻¹ x, where x are its features and A the moments of the labelled edits with the
# penalty of the regression. The edit with the highest leverage comes first, and counts as labelled for the next one.


class NextEdit(NamedTuple):
    """An edit that is worth labelling."""

    pair: JudgedPair
    leverage: float

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        before, after = self.pair.systems or (None, None)
        return {
            "id": self.pair.segment.id,
            "stage": self.pair.stage,
            "document": self.pair.segment.document,
            "before": before,
            "after": after,
            "leverage": self.leverage,
        }


class NextEdits(NamedTuple):
    """The edits most worth labelling, best first, and how many there are."""

    edits: tuple[NextEdit, ...]
    labelled: int
    unlabelled: int

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        edits = [edit.plain() for edit in self.edits]
        return {"labelled": self.labelled, "unlabelled": self.unlabelled, "next": edits}

    def text(self) -> str:
        """A table; columns without content are left out."""
        lines = [edit.plain() | {"leverage": f"{edit.leverage:.3g}"} for edit in self.edits]
        head = []
        for name in lines[0]:
            if any(line[name] is not None for line in lines):
                head.append(name)
        rows = []
        for line in lines:
            rows.append(tuple(str(line[name] or "") for name in head))
        title = f"label next, of {self.unlabelled} edits without a label ({self.labelled} have one)"
        return tables_as_text([Table(title, tuple(head), tuple(rows), labels=len(head) - 1)])


def next_edits(data: JudgedData, number: int) -> NextEdits:
    """The ``number`` edits of ``data`` that are most worth labelling.

    Raises :class:`ConfigError` where no edits are named, and :class:`InputError` where all have labels.
    """
    if data.pairs is None:
        raise ConfigError("there is no edit to label: name the systems with --before and --after")
    judged = []
    for pair in data.pairs:
        if None not in pair.differences:
            judged.append(pair)
    # The order of a file decides nothing, not even between equals.
    judged.sort(key=lambda pair: (pair.group, pair.name, pair.systems or ("", ""), pair.differences))
    if not judged:
        raise InputError(f"no edit has the scores of {' and '.join(data.judges)}: there is nothing to choose from")
    is_labelled = np.array([pair.label.gain is not None for pair in judged], dtype=np.bool_)
    if is_labelled.all():
        raise InputError(f"all {len(judged)} edits that the judges scored have labels: there is nothing left to label")
    differences = np.array([pair.differences for pair in judged], dtype=np.float64)
    edits = []
    for place, leverage in by_leverage(differences, is_labelled, number):
        edits.append(NextEdit(judged[place], leverage))
    labelled = int(is_labelled.sum())
    return NextEdits(tuple(edits), labelled, len(judged) - labelled)


_FREE = 1e-3
"""A penalty of nearly nothing, so that the moments can be inverted where nothing is labelled."""


def by_leverage(differences: Floats, is_labelled: Truths, number: int) -> list[tuple[int, float]]:
    """The places of ``number`` edits without labels, each with the highest leverage after those before it; and these.

    ``differences``: edits × judges.
    """
    roots = signed_roots(differences)
    deviations = roots.std(axis=0)
    varies = deviations > 1e-12 * np.abs(roots).max(axis=0, initial=0)  # constant except for rounding
    scaled = np.divide(roots, deviations, out=np.zeros_like(roots), where=varies)
    features = np.hstack([np.ones((len(roots), 1)), scaled])
    labelled_features = features[is_labelled]
    penalties = np.full(
        features.shape[1], RIDGE * (len(labelled_features) + number)
    )  # of the fit that the labels are for
    penalties[0] = _FREE  # the intercept has none
    inverse = np.linalg.inv(labelled_features.T @ labelled_features + np.diag(penalties))
    is_open = ~is_labelled
    chosen = []
    for _ in range(min(number, int(is_open.sum()))):
        leverages = np.where(is_open, np.einsum("ij,jk,ik->i", features, inverse, features), -1.0)
        # Rounded, so that equal edits are equal in every order of the sums.
        place = int(leverages.round(12).argmax())
        chosen.append((place, float(leverages[place])))
        is_open[place] = False
        step = inverse @ features[place]
        inverse -= np.outer(step, step) / (1 + leverages[place])
    return chosen
