"""A gate calibrated on human judgement: the gain that judges foretell, and from which score on a text is error-free.

Both are learnt from half of the documents and reported on the others. What is read is in ``gate_inputs.py``, the gain
in ``expected_gain.py``, the threshold in ``error_free.py``, how it is printed in ``gate_tables.py``; see
``docs/safety.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from mtagent import __version__
from mtagent.analysis.error_free import FEWEST, PRECISION, Definition, error_free_of
from mtagent.analysis.expected_gain import (
    FEWEST_PAIRS,
    JudgedPairs,
    effect,
    kept_crosswise,
    learn,
    learning_curve,
    learnt_groups,
    predictions,
    split,
    triage,
    triage_thresholds,
)
from mtagent.analysis.gate_inputs import Judged
from mtagent.analysis.intervals import USUAL, Resampling, Truths
from mtagent.chain.calibration import Calibration, Effect, ErrorFree, ExpectedGain, Figure, Source
from mtagent.errors import ConfigError, InputError
from mtagent.records import Record, same_rater


def calibrate(
    judged: Judged,
    wanted: Definition,
    *,
    sample: int | None = None,
    crossed: bool = False,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: Resampling = USUAL,
) -> Calibration:
    """The expected gain, where there are pairs, and the threshold, where people say what is error-free.

    Learnt from half of the documents, the gain from ``sample`` pairs of these if given. ``crossed``: the gain is learnt
    from all pairs, and what it is worth from folds, where each pair meets a gate that was learnt from other documents.
    Raises :class:`InputError` where that is too little or a half has nothing in it, and :class:`ConfigError` where
    there is neither.
    """
    place = judged.scoring_judge
    texts = judged.labelled(wanted)
    pairs, groups = judged.judged_pairs()
    if pairs is None and texts is None:
        if wanted.cut is not None or any(text.label for text in judged.texts):
            raise InputError("there is no text with both a score of the judge and one of people")
        raise ConfigError(
            "there is nothing to calibrate: name the systems before and after an edit for the gate, and say from which "
            "human score on a text is error-free (--kind or --error-free) for a threshold"
        )
    sizes = np.ones(len(judged.groups), dtype=np.int64)
    if pairs is not None:
        sizes = np.bincount(groups, minlength=len(judged.groups))
    learnt = learnt_groups(sizes, sample=sample, seed=resampling.seed)
    error_free, gain = None, None
    if texts is not None:
        labelled, of = texts
        error_free = error_free_of(labelled, learnt[of], str(wanted), precision, fewest, resampling)
    if pairs is not None:
        gain = _gain(pairs, learnt[groups], sample, crossed, error_free, place, resampling)
    return Calibration(
        evaluator=judged.judges[place],
        signature=judged.signatures[place],
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        data=judged.data,
        pairs=judged.language_pairs,
        domains=judged.domains,
        human=judged.people or wanted.kind,
        seed=resampling.seed,
        resamples=resampling.resamples,
        left_out=dict(judged.left_out),
        remarks=(*judged.remarks, *_remarks(judged, wanted, gain)),
        gain=gain,
        error_free=error_free,
    )


def _remarks(judged: Judged, wanted: Definition, gain: ExpectedGain | None) -> Iterator[str]:
    """What makes the calibration less than it seems."""
    known = [text.marked is not None for text in judged.texts if text.human is not None]
    if wanted.unmarked and not all(known):
        some = f" of {known.count(False)} texts" if any(known) else ""
        yield f"no spans are known{some}: error-free goes by the score alone"
    for judge in gain.judges if gain else ():
        if not judge.scale:
            yield f"{judge.judge}: its differences are all the same: it counts nothing"


def _gain(
    pairs: JudgedPairs,
    learnt: Truths,
    sample: int | None,
    crossed: bool,
    error_free: ErrorFree | None,
    place: int,
    resampling: Resampling,
) -> ExpectedGain:
    """The expected gain that the ``learnt`` pairs teach, and what it does to the others.

    ``crossed``: all pairs teach it. Triage is reported on the others all the same, since the threshold for error-free
    was chosen on the ``learnt`` ones.
    """
    half, others = split(pairs, learnt, seed=resampling.seed)
    ours = half if sample is None else half.drawn(sample, resampling.seed)
    judged = others
    if crossed:
        ours = judged = pairs
    if not crossed and len(ours) < FEWEST_PAIRS:
        raise InputError(
            f"{len(ours)} pairs with all scores: at least {FEWEST_PAIRS} are needed to learn from, and half of the "
            f"documents of all {len(pairs)} are kept to report on"
        )
    gain = learn(ours, seed=resampling.seed)
    keep = kept_crosswise(pairs, seed=resampling.seed) if crossed else predictions(gain, others) > 0
    scoring = [place for place in range(len(pairs.judges)) if not np.isnan(pairs.scores_before[:, place]).all()]
    thresholds = {
        each: triage_thresholds(ours, each, error_free.threshold if error_free and each == place else None)
        for each in scoring
    }
    return gain.model_copy(
        update={
            "held_out": effect(judged, keep, resampling),
            "learning": learning_curve(half, others, seed=resampling.seed),
            "triage": triage(others, keep[~learnt] if crossed else keep, thresholds, resampling),
        }
    )


class Worth(NamedTuple):
    """What a gate learnt from ``edits`` is worth on others: its ``lead`` over the better of keeping all and none.

    ``needed`` is about how many would show that it leads; ``None`` where it does not seem to.
    """

    edits: int
    lead: Figure
    needed: int | None


def worth(judged: Judged, resampling: Resampling = USUAL) -> Worth:
    """What the gate that the pairs of ``judged`` teach is worth: each pair meets one learnt from other documents.

    Raises :class:`InputError` where they are too few or too much alike to learn from.
    """
    pairs, _ = judged.judged_pairs()
    if pairs is None:
        raise InputError("no edit has all scores")
    learn(pairs, seed=resampling.seed)
    lead = effect(pairs, kept_crosswise(pairs, seed=resampling.seed), resampling).lead
    assert lead is not None
    needed = None
    if lead.value is not None and lead.low is not None and lead.value > 0:
        needed = math.ceil(len(pairs) * ((lead.value - lead.low) / lead.value) ** 2)  # the error goes with the root
    return Worth(len(pairs), lead, needed)


class Check(Record):
    """What the gate of a calibration does to other edits; ``remarks`` is what makes that doubtful."""

    data: tuple[Source, ...]
    pairs: tuple[str, ...]
    domains: tuple[str, ...]
    left_out: dict[str, int]
    remarks: tuple[str, ...]
    effect: Effect

    def plain(self) -> dict[str, Any]:
        """As plain data, with the figures of the effect at the top."""
        return self.effect.model_dump() | self.model_dump(exclude={"effect"})


def check(calibration: Calibration, judged: Judged, resampling: Resampling = USUAL) -> Check:
    """What the gate of ``calibration`` is worth on other data, by the scores of its judges, in their order.

    Raises :class:`InputError` where there are no pairs or the scores are of other judges.
    """
    gain, margin = calibration.gain, calibration.margin
    signatures = [judge.signature for judge in gain.judges] if gain else [calibration.signature]
    for name, signature, wanted in zip(judged.judges, judged.signatures, signatures, strict=True):
        if signature and wanted and not same_rater(signature, wanted):
            raise InputError(f"{name}: the gate was calibrated for {wanted}, and these scores are of {signature}")
    unsigned = [name for name, signature in zip(judged.judges, judged.signatures, strict=True) if not signature]
    pairs, _ = judged.judged_pairs()
    if pairs is None:
        raise ConfigError("there is no edit to check the gate on: name the systems with --before and --after")
    if gain is not None:
        for place, judge in enumerate(gain.judges):
            if judge.before_weight and np.isnan(pairs.scores_before[:, place]).all():
                raise InputError(f"{judge.judge}: gave scores in calibration, and only compares here")
        keep = predictions(gain, pairs) > 0
    elif margin is not None:
        gains = pairs.differences[:, 0]
        keep = (gains > 0) & (gains >= (np.inf if margin.value is None else margin.value))
    else:
        raise ConfigError("the calibration holds a threshold for error-free alone, and no gate")
    return Check(
        data=judged.data,
        pairs=judged.language_pairs,
        domains=judged.domains,
        left_out=dict(judged.left_out),
        remarks=(
            *judged.remarks,
            *(f"{name}: not signed: taken for scores of the judge that the gate asks" for name in unsigned),
            *calibration.foreign(judged.language_pairs, judged.domains),
        ),
        effect=effect(pairs, keep, resampling),
    )
