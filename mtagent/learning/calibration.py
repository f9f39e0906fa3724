"""What the pairs and texts teach: a calibration of the gate, what it is worth, and what it is worth on other data.

Half of the documents are learnt from, the others are reported on. The regression is in ``gain.py``, the threshold for
error-free texts in ``error_free.py``, the tables for people in ``text.py``; see ``docs/explanation/gate.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from mtagent.chain.calibration import (
    Calibration,
    Effect,
    ExpectedGain,
    Figure,
    LearningPoint,
    Source,
    TriagePoint,
)
from mtagent.errors import ConfigError, InputError
from mtagent.learning.error_free import FEWEST, PRECISION, Definition, error_free_of
from mtagent.learning.gain import (
    FEWEST_PAIRS,
    USUAL,
    Floats,
    JudgedPairs,
    Truths,
    folds,
    learn,
    learnt_groups,
    predictions,
    ratios,
    split,
)
from mtagent.learning.pairs import JudgedData
from mtagent.metrics.significance import SEED, GroupResampling
from mtagent.records import Record, same_rater
from mtagent.version import __version__


def calibrate(
    data: JudgedData,
    definition: Definition,
    *,
    sample: int | None = None,
    crossed: bool = False,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: GroupResampling = USUAL,
) -> Calibration:
    """The expected gain, where there are pairs, and the threshold, where people's scores or labels define error-free.

    Both are learnt from half of the documents, the gain from ``sample`` pairs of these if given. ``crossed``: the gain
    is learnt from all pairs, and reported from folds, where each pair meets a gate that was learnt from other
    documents. Raises :class:`InputError` where there is too little to learn from, and :class:`ConfigError` where there
    is nothing at all.
    """
    place = data.scoring_judge
    texts = data.labelled(definition)
    pairs, pair_groups = data.judged_pairs()
    if pairs is None and texts is None:
        if definition.cut is not None or any(text.label for text in data.texts):
            raise InputError("there is no text with both a score of the judge and one of people")
        raise ConfigError(
            "there is nothing to calibrate: name the systems before and after an edit for the gate, and say from which "
            "human score on a text is error-free (--kind or --error-free) for a threshold"
        )
    # Both halve the documents in the same way, by the number of pairs where there are pairs.
    sizes = np.ones(len(data.groups), dtype=np.int64)
    if pairs is not None:
        sizes = np.bincount(pair_groups, minlength=len(data.groups))
    learnt = learnt_groups(sizes, sample=sample, seed=resampling.seed)
    error_free, gain = None, None
    if texts is not None:
        labelled, text_groups = texts
        error_free = error_free_of(labelled, learnt[text_groups], str(definition), precision, fewest, resampling)
    if pairs is not None:
        threshold = None if error_free is None else error_free.threshold
        gain = _gain(pairs, learnt[pair_groups], sample, crossed, {place: threshold}, resampling)
    return Calibration(
        evaluator=data.judges[place],
        signature=data.signatures[place],
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        data=data.data,
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
    for judge in gain.judges if gain else ():
        if not judge.scale:
            remarks.append(f"{judge.judge}: its differences are all the same: it counts nothing")
    return remarks


def _gain(
    pairs: JudgedPairs,
    learnt: Truths,
    sample: int | None,
    crossed: bool,
    calibrated: Mapping[int, float | None],
    resampling: GroupResampling,
) -> ExpectedGain:
    """The expected gain that the ``learnt`` pairs teach, and what it does to the others.

    ``crossed``: all pairs teach it. Triage is reported on the others nevertheless, since the ``calibrated`` threshold
    (by the place of its judge) was chosen on the ``learnt`` ones.
    """
    half, others = split(pairs, learnt, seed=resampling.seed)
    if crossed:
        teaching, reported = pairs, pairs
        gain = learn(teaching, seed=resampling.seed)
        keep = kept_crosswise(pairs, seed=resampling.seed)
        keep_others = keep[~learnt]
    else:
        teaching, reported = half, others
        if sample is not None:
            teaching = half.drawn(sample, resampling.seed)
        if len(teaching) < FEWEST_PAIRS:
            raise InputError(
                f"{len(teaching)} pairs with all scores: at least {FEWEST_PAIRS} are needed to learn from, and half of "
                f"the documents of all {len(pairs)} are kept to report on"
            )
        gain = learn(teaching, seed=resampling.seed)
        keep = keep_others = predictions(gain, others) > 0
    thresholds = {}
    for place in range(len(pairs.judges)):
        gives_scores = not np.isnan(pairs.scores_before[:, place]).all()
        if gives_scores:
            thresholds[place] = triage_thresholds(teaching, place, calibrated.get(place))
    reports = {
        "held_out": effect(reported, keep, resampling),
        "learning": learning_curve(half, others, seed=resampling.seed),
        "triage": triage(others, keep_others, thresholds, resampling),
    }
    return gain.model_copy(update=reports)


# What a gate does to pairs


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
        "accepted": (keep.astype(np.float64), every),
        "good_kept": (good * keep, good),
        "harmful_refused": (harmful * ~keep, harmful),
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
    return Effect(
        items=len(pairs),
        groups=int(pairs.groups.max()) + 1,
        **dict(zip(columns, figures[: len(columns)], strict=True)),
        alone=dict(zip(pairs.judges, figures[len(columns) :], strict=True)),
    )


def kept_crosswise(pairs: JudgedPairs, *, seed: int = SEED) -> Truths:
    """Which pairs are kept by gates that were each learnt from the other documents, in five folds.

    Folds that cannot be learnt from count as never or always, which they teach.
    """
    fold = folds(pairs, seed)
    keep = np.zeros(len(pairs), dtype=bool)
    for number in range(int(fold.max()) + 1):
        others, held_out = pairs.chosen(fold != number), pairs.chosen(fold == number)
        try:
            keep[fold == number] = predictions(learn(others, seed=seed, fewest=2), held_out) > 0
        except InputError:
            keep[fold == number] = others.gains.sum() > 0
    return keep


LEARNING = (50, 100, 200, 400)
"""Numbers of pairs on the learning curve."""
DRAWS = 20


def learning_curve(
    learnt_from: JudgedPairs, reported_on: JudgedPairs, *, draws: int = DRAWS, seed: int = SEED
) -> tuple[LearningPoint, ...]:
    """What gates learnt on fewer pairs are worth on ``reported_on``: the mean of ``draws`` random choices of each size.

    Choices that cannot be learnt from (labels that are all the same) count as never or always, which they teach.
    """
    points = []
    better = max(reported_on.gains.sum(), 0.0)  # of always and never
    headroom = np.maximum(reported_on.gains, 0).sum() - better
    for size in LEARNING:
        if size > len(learnt_from):
            break
        leads = []
        for draw in range(draws):
            chosen = learnt_from.drawn(size, (seed, size, draw))
            try:
                keep = predictions(learn(chosen, seed=seed), reported_on) > 0
            except InputError:
                keep = np.full(len(reported_on), chosen.gains.sum() > 0)
            leads.append(float(reported_on.gains[keep].sum() - better))
        mean = sum(leads) / draws
        lost = np.count_nonzero(np.array(leads) < 0)
        points.append(
            LearningPoint(
                pairs=size,
                draws=draws,
                lead=mean / len(reported_on),
                headroom=mean / headroom if headroom > 0 else None,
                lost=lost / draws,
            )
        )
    return tuple(points)


UNTOUCHED = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Shares of the texts before that triage could leave alone."""


def triage(
    pairs: JudgedPairs,
    keep: Truths,
    thresholds: Mapping[int, Sequence[tuple[float, bool]]],
    resampling: GroupResampling = USUAL,
) -> tuple[TriagePoint, ...]:
    """What it is worth to leave texts alone that score a threshold or more, where ``keep`` decides on the others.

    ``thresholds`` are by the place of the judge, each with whether it is the calibrated one.
    """
    points = []
    every = np.ones(len(pairs))
    gate = np.where(keep, pairs.human_after, pairs.human_before)
    for place, of_judge in thresholds.items():
        for threshold, is_calibrated in of_judge:
            alone = pairs.scores_before[:, place] >= threshold
            human = np.where(alone, pairs.human_before, gate)
            columns = [alone.astype(np.float64), human, human - gate]
            untouched, mean, change = ratios(columns, [every] * len(columns), pairs.groups, resampling)
            points.append(
                TriagePoint(
                    judge=pairs.judges[place],
                    threshold=threshold,
                    calibrated=is_calibrated,
                    untouched=untouched,
                    human=mean,
                    change=change,
                )
            )
    return tuple(points)


def triage_thresholds(pairs: JudgedPairs, place: int, calibrated: float | None = None) -> list[tuple[float, bool]]:
    """Scores that the shares in :data:`UNTOUCHED` of the texts before reach, and the ``calibrated`` one.

    Highest first, each with whether it is the calibrated one.
    """
    scores = pairs.scores_before[:, place]
    thresholds = set[tuple[float, bool]]()
    for share in UNTOUCHED:
        score = float(np.quantile(scores, 1 - share, method="higher"))
        if score != calibrated:
            thresholds.add((score, False))
    if calibrated is not None:
        thresholds.add((calibrated, True))
    return sorted(thresholds, reverse=True)


class Lead(NamedTuple):
    """What a gate learnt from ``edits`` is worth on other edits."""

    edits: int
    lead: Figure
    """By how much it is better than the better of keeping all and keeping none."""
    needed: int | None
    """About how many edits would show that it leads; ``None`` where it does not seem to."""


def expected_lead(data: JudgedData, resampling: GroupResampling = USUAL) -> Lead:
    """What the gate that the pairs teach is worth: each pair meets one that was learnt from other documents.

    Raises :class:`InputError` where the pairs are too few or too much alike to learn from.
    """
    pairs, _ = data.judged_pairs()
    if pairs is None:
        raise InputError("no edit has all scores")
    learn(pairs, seed=resampling.seed)
    lead = effect(pairs, kept_crosswise(pairs, seed=resampling.seed), resampling).lead
    if lead.value is None or lead.low is None or lead.value <= 0:
        return Lead(len(pairs), lead, None)
    # The half-width of the interval falls with the square root of the number of edits.
    needed = math.ceil(len(pairs) * ((lead.value - lead.low) / lead.value) ** 2)
    return Lead(len(pairs), lead, needed)


# A calibration on other data


class GateCheck(Record):
    """What the gate of a calibration does to other edits."""

    data: tuple[Source, ...]
    pairs: tuple[str, ...]
    domains: tuple[str, ...]
    left_out: dict[str, int]
    remarks: tuple[str, ...]
    """Warnings: what makes the figures doubtful."""
    effect: Effect

    def plain(self) -> dict[str, Any]:
        """As plain data, with the figures of the effect at the top."""
        return self.effect.model_dump() | self.model_dump(exclude={"effect"})


def check(calibration: Calibration, data: JudgedData, resampling: GroupResampling = USUAL) -> GateCheck:
    """What the gate of ``calibration`` is worth on other data, by the scores of its judges, in their order.

    Raises :class:`InputError` where there are no pairs or the scores are by other judges.
    """
    gain = calibration.gain
    unsigned = []
    for name, signature, expected in zip(data.judges, data.signatures, calibration.signatures, strict=True):
        if not signature:
            unsigned.append(name)
        elif expected and not same_rater(signature, expected):
            raise InputError(f"{name}: the gate was calibrated for {expected}, and these scores are of {signature}")
    pairs, _ = data.judged_pairs()
    if pairs is None:
        raise ConfigError("there is no edit to check the gate on: name the systems with --before and --after")
    if gain is None:
        raise ConfigError("the calibration holds a threshold for error-free alone, and no gate")
    for place, judge in enumerate(gain.judges):
        if judge.before_weight and np.isnan(pairs.scores_before[:, place]).all():
            raise InputError(f"{judge.judge}: gave scores in calibration, and only compares here")
    remarks = list(data.remarks)
    for name in unsigned:
        remarks.append(f"{name}: not signed: taken for scores of the judge that the gate asks")
    remarks += calibration.foreign(data.language_pairs, data.domains)
    return GateCheck(
        data=data.data,
        pairs=data.language_pairs,
        domains=data.domains,
        left_out=dict(data.left_out),
        remarks=tuple(remarks),
        effect=effect(pairs, predictions(gain, pairs) > 0, resampling),
    )
