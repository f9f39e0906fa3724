"""A calibration of the gate, learnt from pairs and texts, and its quality, also on other data.

The gate is learnt from all pairs and reported by cross-validation; the threshold is chosen on half of the documents and
reported on the others. The regression is in ``gain.py``, the tables for people are in ``text.py``; see
``docs/explanation/gate.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from mtagent.chain.calibration import (
    Calibration,
    CautiousPoint,
    Effect,
    ErrorFree,
    ExpectedGain,
    Figure,
    Labels,
    LearningPoint,
    Pilot,
    Point,
    TriagePoint,
)
from mtagent.chain.shipped import PanelMember, ShippedPanel, UnknownEdits
from mtagent.errors import ConfigError, InputError
from mtagent.learning.gain import (
    FEWEST_PAIRS,
    USUAL,
    Floats,
    Ints,
    JudgedPairs,
    Truths,
    bounds,
    chances_of_worse,
    folds,
    kept,
    learn,
    learnt_groups,
    numbered,
    ratios,
)
from mtagent.learning.pairs import Definition, JudgedData, group_of
from mtagent.metrics.significance import SEED, GroupResampling
from mtagent.records import same_rater
from mtagent.version import __version__

PRECISION = 0.9
FEWEST = 10
"""With fewer texts at or above a threshold, its precision means nothing."""
FEWEST_GROUPS = 30
"""Bootstrap intervals over fewer groups are too narrow (Cameron, Gelbach and Miller 2008)."""
LEARNING = (50, 100, 200, 400)
"""Numbers of pairs on the learning curve."""
DRAWS = 20
FEWEST_KEPT = 20
"""Nothing is promised about fewer kept edits."""
MOST_POINTS = 40
"""How many promises are tried, from the fewest kept edits to all."""
CONFIDENCE = 0.9
"""Of a promise."""
UNTOUCHED = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Shares of the texts before that triage could skip."""
_Z = NormalDist().inv_cdf(0.975)
"""Standard deviations on either side of a 95 % interval."""
_NOISE = 1e-12
"""Rounding of shares: 9 of 10 texts are a precision of 0.9."""


def calibrate(
    data: JudgedData,
    definition: Definition,
    *,
    sample: int | None = None,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: GroupResampling = USUAL,
) -> Calibration:
    """The expected gain, where there are pairs, and the threshold, where people's scores or labels define error-free.

    The gain is learnt from all pairs, or from a random ``sample``, and reported from folds, where each pair meets a
    gate that was learnt from as many pairs of other documents. The threshold is chosen on half of the documents, and
    reported on the others. Raises :class:`InputError` where there is too little to learn from, and
    :class:`ConfigError` where there is nothing at all.
    """
    texts, text_groups = labelled_texts(data, definition)
    pairs, pair_groups = complete_pairs(data)
    if pairs is None and texts is None:
        if definition.cut is not None or any(text.label for text in data.texts):
            raise InputError("there is no text with both a score of the judge and one of people")
        raise ConfigError(
            "there is nothing to calibrate: name the systems before and after an edit for the gate, or, for a "
            "threshold, the human score of an error-free text (--kind or --error-free)"
        )
    # Both halve the documents in the same way, by the number of pairs where there are pairs.
    number = max(data.groups.values()) + 1
    sizes = np.ones(number, dtype=np.int64)
    if pairs is not None:
        sizes = np.bincount(pair_groups, minlength=number)
    learnt = learnt_groups(sizes, seed=resampling.seed)
    error_free, gain = None, None
    if texts is not None:
        error_free = error_free_of(texts, learnt[text_groups], str(definition), precision, fewest, resampling)
    if pairs is not None:
        threshold = None if error_free is None else error_free.threshold
        if sample is not None and sample > len(pairs):
            raise InputError(f"--sample {sample}: there are {len(pairs)} pairs with all scores; give a smaller number")
        gain = _gain(pairs, learnt[pair_groups], sample, {data.scoring_judge: threshold}, resampling)
    return Calibration(
        evaluator=data.judges[data.scoring_judge],
        signature=data.signatures[data.scoring_judge],
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        data=data.sources,
        pairs=data.language_pairs,
        domains=data.domains,
        human=data.people or definition.kind,
        seed=resampling.seed,
        resamples=resampling.resamples,
        left_out=dict(data.left_out),
        remarks=(*data.remarks, *_remarks(data, definition, gain)),
        gain=gain,
        error_free=error_free,
    )


def _remarks(data: JudgedData, definition: Definition, gain: ExpectedGain | None) -> list[str]:
    """Warnings: what makes the calibration worth less than it seems."""
    remarks = []
    if definition.unmarked:
        has_spans = [text.marked is not None for text in data.texts if text.human is not None]
        if not all(has_spans):
            some = f" of {has_spans.count(False)} texts" if any(has_spans) else ""
            remarks.append(f"no spans are known{some}: error-free goes by the score alone")
    if gain is not None and gain.held_out is not None:
        remarks += few_groups(gain.held_out, has_documents=data.has_documents)
    for judge in gain.judges if gain else ():
        if not judge.scale:
            remarks.append(f"{judge.judge}: its differences are all the same: it counts nothing")
    return remarks


def _gain(
    pairs: JudgedPairs,
    learnt: Truths,
    sample: int | None,
    thresholds: Mapping[int, float | None],
    resampling: GroupResampling,
) -> ExpectedGain:
    """The expected gain that the pairs teach, all or a ``sample``, and what such gates do to documents not learnt from.

    The learning curve learns from the ``learnt`` pairs and reports on the others. So does triage, since the threshold
    for error-free texts (``thresholds``, by the place of its judge) was chosen on the ``learnt`` ones.
    """
    if learnt.all() or not learnt.any():
        raise InputError(
            f"all {len(pairs)} pairs with all scores are in one half of the documents: give more documents or "
            "segments, or another --seed"
        )
    seed = resampling.seed
    half, others = pairs.chosen(learnt), pairs.chosen(~learnt)
    gain = learn(_sampled(pairs, sample, seed), seed=seed)
    decided = decided_crosswise(pairs, sample=sample, seed=seed)
    keep = decided.keep
    points = list[TriagePoint]()
    for place in range(len(pairs.judges)):
        gives_scores = not np.isnan(pairs.scores_before[:, place]).all()
        if gives_scores:
            error_free = thresholds.get(place)
            points += triage(others, keep[~learnt], place, triage_thresholds(half, place, error_free), resampling)
    reports = {
        "held_out": effect(pairs, keep, resampling),
        "learning": learning_curve(half, others, seed=seed),
        "triage": tuple(points),
        "cautious": cautious_points(pairs, decided, resampling),
    }
    return gain.model_copy(update=reports)


def _sampled(pairs: JudgedPairs, sample: int | None, seed: int | Sequence[int]) -> JudgedPairs:
    """A random ``sample`` of the pairs; all of them without a sample, or if there are fewer."""
    return pairs if sample is None else pairs.drawn(sample, seed)


# The data as arrays


def complete_pairs(data: JudgedData) -> tuple[JudgedPairs | None, Ints]:
    """The complete pairs, and the number of each pair's group; ``None`` if no edits were named.

    Raises :class:`InputError` if no pair is complete.
    """
    if data.pairs is None:
        return None, np.zeros(0, dtype=np.int64)
    complete = [pair for pair in data.pairs if pair.is_complete]
    if not complete:
        raise InputError(f"no edit has the scores of {' and '.join(data.judges)} and people's, before and after")
    # Sums depend on the order in their last digit: the order of a file must not.
    complete.sort(key=lambda pair: (pair.group, pair.name, pair.differences, pair.label.before, pair.label.after))
    groups = np.array([data.groups[pair.group] for pair in complete], dtype=np.int64)
    pairs = JudgedPairs(
        judges=data.judges,
        differences=np.array([pair.differences for pair in complete], dtype=np.float64),
        human_before=np.array([pair.label.before for pair in complete], dtype=np.float64),
        human_after=np.array([pair.label.after for pair in complete], dtype=np.float64),
        groups=groups,
        before=np.array([pair.scores_before for pair in complete], dtype=np.float64),
        signatures=data.signatures,
    )
    return pairs, groups


class LabelledTexts(NamedTuple):
    """Rated texts as arrays."""

    scores: Floats
    """The judge's score of each text."""
    error_free: Truths
    """Whether people found no error in it."""
    groups: Ints
    """Equal numbers for texts that belong together (a document), from 0 without gaps."""

    def chosen(self, which: Truths) -> LabelledTexts:
        """Some of the texts."""
        return LabelledTexts(self.scores[which], self.error_free[which], numbered(self.groups[which]))


def labelled_texts(data: JudgedData, definition: Definition) -> tuple[LabelledTexts | None, Ints]:
    """The texts that the scoring judge scored and people labelled, and the number of each text's group."""
    scores, labels, groups = list[float](), list[bool](), list[int]()
    for text in data.texts:
        score, label = text.scores[data.scoring_judge], text.error_free(definition)
        if score is not None and label is not None:
            scores.append(score)
            labels.append(label)
            groups.append(data.groups[group_of(text.segment)])
    numbers = np.array(groups, dtype=np.int64)
    if not scores:
        return None, numbers
    return LabelledTexts(np.array(scores), np.array(labels), numbered(numbers)), numbers


# The effect of a gate on pairs


def effect(pairs: JudgedPairs, keep: Truths, resampling: GroupResampling = USUAL) -> Effect:
    """What keeping the edits in ``keep`` does to ``pairs``, with paired confidence intervals over the groups."""
    before, after, gains = pairs.human_before, pairs.human_after, pairs.gains
    every = np.ones(len(pairs))
    gate = np.where(keep, after, before)
    oracle = np.maximum(before, after)
    better = after if gains.sum() > 0 else before  # of always and never
    good = (gains > 0).astype(np.float64)
    harmful = (gains < 0).astype(np.float64)
    columns: dict[str, tuple[Floats, Floats]] = {
        "gate": (gate, every),
        "always": (after, every),
        "never": (before, every),
        "oracle": (oracle, every),
        "over_always": (gate - after, every),
        "over_never": (gate - before, every),
        "lead": (gate - better, every),
        "headroom": (gate - better, oracle - better),
    }
    above, below = list[Floats](), list[Floats]()
    for upper, lower in columns.values():
        above.append(upper)
        below.append(lower)
    for place in range(len(pairs.judges)):
        above.append(np.where(pairs.differences[:, place] > 0, after, before))
        below.append(every)
    figures = ratios(above, below, pairs.groups, resampling)
    kept = [keep * every, keep * good, ~keep * harmful]
    accepted, good_kept, harmful_refused = shares(kept, [every, good, harmful], pairs.groups, resampling)
    return Effect(
        items=len(pairs),
        groups=int(pairs.groups.max()) + 1,
        effective_groups=effective_number(np.bincount(pairs.groups)),
        **dict(zip(columns, figures[: len(columns)], strict=True)),
        accepted=accepted,
        good_kept=good_kept,
        harmful_refused=harmful_refused,
        alone=dict(zip(pairs.judges, figures[len(columns) :], strict=True)),
    )


class DecidedPairs(NamedTuple):
    """What gates think of pairs that they did not learn from."""

    keep: Truths
    chance_of_worse: Floats


def _decided(learnt_from: JudgedPairs, others: JudgedPairs, seed: int, fewest: int = FEWEST_PAIRS) -> DecidedPairs:
    """The decisions on ``others`` of a gate that learns from some pairs.

    Pairs that cannot be learnt from (labels that are all the same) teach never or always.
    """
    try:
        gain = learn(learnt_from, seed=seed, fewest=fewest)
    except InputError:
        keep = np.full(len(others), learnt_from.gains.sum() > 0) & ~others.all_call_worse
        return DecidedPairs(keep, np.full(len(others), (learnt_from.gains < 0).mean()))
    return DecidedPairs(kept(gain, others), chances_of_worse(gain, others))


def decided_crosswise(pairs: JudgedPairs, *, sample: int | None = None, seed: int = SEED) -> DecidedPairs:
    """What gates think of the pairs that were each learnt from the other documents, in five folds.

    ``sample``: each of them learns from this many pairs, or from all of its documents if they have fewer.
    """
    fold = folds(pairs, seed)
    crosswise = DecidedPairs(np.zeros(len(pairs), dtype=bool), np.zeros(len(pairs)))
    for number in range(int(fold.max()) + 1):
        held_out = fold == number
        teaching = _sampled(pairs.chosen(~held_out), sample, (seed, number))
        decided = _decided(teaching, pairs.chosen(held_out), seed, fewest=2)
        crosswise.keep[held_out] = decided.keep
        crosswise.chance_of_worse[held_out] = decided.chance_of_worse
    return crosswise


def cautious_points(
    pairs: JudgedPairs, decided: DecidedPairs, resampling: GroupResampling = USUAL
) -> tuple[CautiousPoint, ...]:
    """What ``--cautious`` can promise: the share of worse edits among the kept ones up to each chance of being worse.

    The bound is the 90th percentile of a bootstrap over groups. One more group, with one kept edit that is worse, is
    resampled with them: without it, a few edits without a worse one would promise that none ever is.
    """
    places = np.flatnonzero(decided.keep)
    places = places[np.argsort(decided.chance_of_worse[places], kind="stable")]
    if len(places) < FEWEST_KEPT:
        return ()
    chances = decided.chance_of_worse[places]
    numbers = np.linspace(FEWEST_KEPT, len(places), MOST_POINTS).astype(np.int64)
    numbers = np.unique(np.searchsorted(chances, chances[numbers - 1], side="right"))  # equal chances go together
    groups = int(pairs.groups.max()) + 2
    is_worse = (pairs.gains < 0)[places]
    kept_of, worse_of = np.ones((2, groups, len(numbers)))  # the last group is the one more
    for column, number in enumerate(numbers):
        of = pairs.groups[places[:number]]
        kept_of[:-1, column] = np.bincount(of, minlength=groups - 1)
        worse_of[:-1, column] = np.bincount(of, is_worse[:number], minlength=groups - 1)
    shares = []
    for draw in resampling.draws(groups, len(numbers)):
        kept_in, worse_in = draw @ kept_of, draw @ worse_of
        shares.append(np.where(kept_in > 0, worse_in / np.maximum(kept_in, 1), 1.0))
    highest = np.quantile(np.concatenate(shares), CONFIDENCE, axis=0)
    points = []
    for number, share in zip(numbers.tolist(), highest.tolist(), strict=True):
        chance = float(chances[number - 1])
        points.append(CautiousPoint(chance_of_worse=chance, worse=share, kept=number / len(pairs)))
    return tuple(points)


def learning_curve(
    learnt_from: JudgedPairs, reported_on: JudgedPairs, *, draws: int = DRAWS, seed: int = SEED
) -> tuple[LearningPoint, ...]:
    """The quality on ``reported_on`` of gates learnt from fewer pairs: means of ``draws`` random choices per size."""
    points = []
    better = max(reported_on.gains.sum(), 0.0)  # of always and never
    headroom = np.maximum(reported_on.gains, 0).sum() - better
    for size in LEARNING:
        if size > len(learnt_from):
            break
        leads = []
        for draw in range(draws):
            keep = _decided(learnt_from.drawn(size, (seed, size, draw)), reported_on, seed).keep
            leads.append(float(reported_on.gains[keep].sum() - better))
        mean = sum(leads) / draws
        points.append(
            LearningPoint(
                pairs=size,
                draws=draws,
                lead=mean / len(reported_on),
                headroom=mean / headroom if headroom > 0 else None,
            )
        )
    return tuple(points)


def triage(
    pairs: JudgedPairs,
    keep: Truths,
    place: int,
    thresholds: Mapping[float, bool],
    resampling: GroupResampling = USUAL,
) -> list[TriagePoint]:
    """The effect of skipping texts that score a threshold or more, if ``keep`` decides on the others.

    The scores are those of the judge at ``place``; ``thresholds`` come with whether it is the one for error-free texts.
    """
    points = []
    every = np.ones(len(pairs))
    gate = np.where(keep, pairs.human_after, pairs.human_before)
    for threshold, is_error_free in thresholds.items():
        is_skipped = pairs.scores_before[:, place] >= threshold
        human = np.where(is_skipped, pairs.human_before, gate)
        (untouched,) = shares([is_skipped.astype(np.float64)], [every], pairs.groups, resampling)
        mean, change = ratios([human, human - gate], [every, every], pairs.groups, resampling)
        points.append(
            TriagePoint(
                judge=pairs.judges[place],
                threshold=threshold,
                calibrated=is_error_free,
                untouched=untouched,
                human=mean,
                change=change,
            )
        )
    return points


def triage_thresholds(pairs: JudgedPairs, place: int, error_free: float | None = None) -> dict[float, bool]:
    """Scores that the shares in :data:`UNTOUCHED` of the texts before reach, and the threshold for ``error_free`` ones.

    Highest first, each with whether it is the one for error-free texts.
    """
    scores = pairs.scores_before[:, place]
    thresholds = {float(np.quantile(scores, 1 - share, method="higher")) for share in UNTOUCHED}
    if error_free is not None:
        thresholds.add(error_free)
    return {threshold: threshold == error_free for threshold in sorted(thresholds, reverse=True)}


def crosswise_effect(data: JudgedData, resampling: GroupResampling = USUAL) -> Effect:
    """The effect of the gate learnt from the pairs: each pair is decided by a gate learnt from other documents.

    Raises :class:`InputError` where the pairs are too few or too much alike to learn from.
    """
    pairs, _ = complete_pairs(data)
    if pairs is None:
        raise InputError("no edit has all scores")
    learn(pairs, seed=resampling.seed)
    return effect(pairs, decided_crosswise(pairs, seed=resampling.seed).keep, resampling)


def edits_needed(found: Effect) -> int | None:
    """About how many edits would show that the gate leads; ``None`` where it does not seem to."""
    lead = found.lead
    if lead.value is None or lead.low is None or lead.value <= 0:
        return None
    # The half-width of the interval falls with the square root of the number of edits.
    return math.ceil(found.items * ((lead.value - lead.low) / lead.value) ** 2)


# From which score a text is error-free


def error_free_of(
    texts: LabelledTexts,
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
            f"all {len(half)} texts with both scores are in one half of the documents: give more documents or "
            "segments, or another --seed"
        )
    learnt, others = texts.chosen(half), texts.chosen(~half)
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
        calibrated_on=len(learnt.scores),
        held_out=None if threshold is None else labels(others, threshold, resampling),
        curve=tuple(points),
    )


class Curve(NamedTuple):
    """Precision over coverage at every score that was seen, highest threshold first."""

    thresholds: Floats
    precision: Floats
    """The share of error-free texts among the texts at or above the threshold."""
    coverage: Floats
    """The share of all texts that reach the threshold."""
    recall: Floats
    """The share of all error-free texts that reach it; NaN if no text is error-free."""


def curve(texts: LabelledTexts) -> Curve:
    """The whole curve, exactly."""
    rising, place = np.unique(texts.scores, return_inverse=True)
    reached = np.cumsum(np.bincount(place)[::-1])
    free = np.cumsum(np.bincount(place, texts.error_free)[::-1])
    with np.errstate(invalid="ignore"):
        return Curve(rising[::-1], free / reached, reached / len(texts.scores), free / free[-1])


def thinned(points: Curve, most: int = 50) -> Curve:
    """At most about ``most`` points of a curve, evenly spread over the coverage, both ends among them."""
    if len(points.thresholds) <= most:
        return points
    coverages = np.linspace(points.coverage[0], points.coverage[-1], most)
    places = np.unique(np.searchsorted(points.coverage, coverages - _NOISE))
    return Curve(*(values[places] for values in points))


def best_threshold(texts: LabelledTexts, precision: float = PRECISION, fewest: int = FEWEST) -> float | None:
    """The lowest threshold at which the share of error-free texts is at least ``precision``; ``None``: there is none.

    Thresholds that fewer than ``fewest`` texts reach are not considered.
    """
    if not 0 < precision <= 1:
        raise ConfigError(f"a precision of {precision:g} is not a share above 0 and up to 1")
    if fewest < 1:
        raise ConfigError(f"fewest {fewest}: at least one text is needed")
    points = curve(texts)
    is_precise = points.precision >= precision - _NOISE
    is_reached = points.coverage * len(texts.scores) >= fewest - 0.5
    fitting = points.thresholds[is_precise & is_reached]
    return float(fitting.min()) if len(fitting) else None


def threshold_interval(
    texts: LabelledTexts, precision: float = PRECISION, fewest: int = FEWEST, resampling: GroupResampling = USUAL
) -> tuple[float | None, float | None, float]:
    """The 95 % bounds of the threshold in resamples, and the share of resamples that have a threshold.

    The threshold of a resample is the lowest score that fits among the scores that were drawn.
    """
    rising, place = np.unique(texts.scores, return_inverse=True)
    falling = rising[::-1]
    order = np.argsort(-place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=-1))  # the last text of each score, scores descending
    groups, error_free = texts.groups[order], texts.error_free[order]
    thresholds = []
    for draw in resampling.draws(int(groups.max()) + 1, len(texts.scores)):
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


def labels(texts: LabelledTexts, threshold: float, resampling: GroupResampling = USUAL) -> Labels:
    """What ``threshold`` does to ``texts``, with confidence intervals over the groups."""
    reached = (texts.scores >= threshold).astype(np.float64)
    free = texts.error_free.astype(np.float64)
    every = np.ones(len(texts.scores))
    above = [free, reached * free, reached, reached * free]
    below = [every, reached, every, free]
    error_free, precision, coverage, recall = shares(above, below, texts.groups, resampling)
    return Labels(
        items=len(texts.scores),
        groups=int(texts.groups.max()) + 1,
        error_free=error_free,
        precision=precision,
        coverage=coverage,
        recall=recall,
    )


# How sure the figures are


def effective_number(sizes: Floats | Ints) -> float:
    """How many groups of equal size are worth as much as groups with these ``sizes``: (sum of sizes)² / sum of sizes².

    That is the number of groups, divided by Kish's design effect of unequal sizes (Survey Sampling, 1965), 1 + their
    squared coefficient of variation. It takes the items of a group for alike, as the gains of a document's edits are.
    """
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def few_groups(found: Effect, *, has_documents: bool) -> Iterator[str]:
    """A warning if the intervals of an effect rest on too few groups."""
    if found.effective_groups >= FEWEST_GROUPS:
        return
    worth = f"{found.effective_groups:.0f} of equal size; {FEWEST_GROUPS} are enough"
    if has_documents:
        yield (
            f"the edits come from too few documents (they count as {worth}), so the intervals are too narrow: add "
            "edits from other documents"
        )
    else:
        yield (
            f"the documents are unknown, and the edits come from few blocks of segments (they count as {worth}), so "
            "the intervals may be too narrow"
        )


def shares(above: list[Floats], below: list[Floats], groups: Ints, resampling: GroupResampling) -> list[Figure]:
    """:func:`ratios` that are shares of items: where resamples give no interval, it is Wilson's (1927).

    The number of trials is the effective number of groups.
    """
    figures = ratios(above, below, groups, resampling)
    for place, figure in enumerate(figures):
        if figure.value is not None and figure.low is None:
            trials = effective_number(np.bincount(groups, below[place]))
            centre = (figure.value + _Z**2 / (2 * trials)) / (1 + _Z**2 / trials)
            variance = figure.value * (1 - figure.value) / trials + _Z**2 / (4 * trials**2)
            half_width = _Z / (1 + _Z**2 / trials) * math.sqrt(variance)
            low, high = max(0.0, centre - half_width), min(1.0, centre + half_width)
            figures[place] = Figure(value=figure.value, low=low, high=high)
    return figures


# A calibration on other data


class GateCheck(NamedTuple):
    """The effect of a calibration's gate on other edits."""

    data: JudgedData
    effect: Effect
    remarks: tuple[str, ...]
    """Warnings: what makes the figures doubtful."""
    pilot: Pilot | None = None
    """For shipped weights: what these edits show, without people's scores."""

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        about = {
            "data": [source.model_dump() for source in self.data.sources],
            "pairs": self.data.language_pairs,
            "domains": self.data.domains,
            "left_out": dict(self.data.left_out),
            "remarks": self.remarks,
        }
        if self.pilot is not None:
            about["pilot"] = self.pilot.model_dump()
        return self.effect.model_dump() | about


def check(calibration: Calibration, data: JudgedData, resampling: GroupResampling = USUAL) -> GateCheck:
    """The quality of the gate of ``calibration`` on other data, with the scores of its judges, in their order.

    Raises :class:`InputError` without pairs, or if the scores are by other judges.
    """
    gain = calibration.gain
    remarks = list(data.remarks)
    for name, signature, expected in zip(data.judges, data.signatures, calibration.signatures, strict=True):
        if not signature:
            remarks.append(f"{name}: not signed: taken for scores of the judge that the gate asks")
        elif expected and not same_rater(signature, expected):
            raise InputError(f"{name}: the gate was calibrated for {expected}, and these scores are of {signature}")
    pairs, _ = complete_pairs(data)
    if pairs is None:
        raise ConfigError("there is no edit to check the gate on: name the systems with --before and --after")
    if gain is None:
        raise ConfigError("the calibration has only a threshold for error-free texts, and no gate")
    for place, judge in enumerate(gain.judges):
        if judge.before_weight and np.isnan(pairs.scores_before[:, place]).all():
            raise InputError(f"{judge.judge}: gave scores in the calibration, but only compares here")
    remarks += calibration.foreign(data.language_pairs, data.domains)
    found = effect(pairs, kept(gain, pairs), resampling)
    return GateCheck(data, found, (*remarks, *few_groups(found, has_documents=data.has_documents)))


def check_shipped(data: JudgedData, kinds: Sequence[str], resampling: GroupResampling = USUAL) -> GateCheck:
    """The quality of shipped weights on ``data``, whose judges are of these ``kinds``.

    The edits themselves are the pilot; people's scores only measure the effect. Raises :class:`InputError` without
    pairs, and :class:`ConfigError` if they are too few.
    """
    pairs, _ = complete_pairs(data)
    if pairs is None:
        raise ConfigError("there is no edit to check the gate on: name the systems with --before and --after")
    members = []
    for name, signature, kind in zip(data.judges, data.signatures, kinds, strict=True):
        members.append(PanelMember(name, signature, kind))
    try:
        segments = len({pair.segment.id for pair in data.pairs or () if pair.is_complete})
        gain = ShippedPanel(tuple(members)).settled(pairs.differences.tolist(), sample_size=segments)
    except UnknownEdits as error:
        raise ConfigError(f"the pilot has {error}: a run would decide by votes; give other edits") from None
    found = effect(pairs, kept(gain, pairs), resampling)
    return GateCheck(data, found, (*data.remarks, *few_groups(found, has_documents=data.has_documents)), gain.pilot)
