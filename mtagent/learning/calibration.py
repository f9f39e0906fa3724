"""A gate calibrated on human judgement: the gain that judges foretell, and from which score on a text is error-free.

Both are learnt from half of the documents and reported on the others. What is read is in ``gate_inputs.py``, the gain
in ``expected_gain.py``, the threshold in ``error_free.py``; see ``docs/safety.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from mtagent.chain.calibration import (
    Calibration,
    Effect,
    ErrorFree,
    ExpectedGain,
    Figure,
    Source,
)
from mtagent.errors import ConfigError, InputError
from mtagent.learning.error_free import FEWEST, PRECISION, Definition, error_free_of
from mtagent.learning.gain import (
    FEWEST_PAIRS,
    USUAL,
    JudgedPairs,
    Resampling,
    Truths,
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
from mtagent.learning.reading import Judged
from mtagent.records import Record, same_rater
from mtagent.text.table import Table
from mtagent.text.table import text as tables_as_text
from mtagent.version import __version__


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


class Lead(NamedTuple):
    """What a gate learnt from ``edits`` is worth on others: its ``lead`` over the better of keeping all and none.

    ``needed`` is about how many would show that it leads; ``None`` where it does not seem to.
    """

    edits: int
    lead: Figure
    needed: int | None


def expected_lead(judged: Judged, resampling: Resampling = USUAL) -> Lead:
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
    return Lead(len(pairs), lead, needed)


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


# On paper: the expected gain, the threshold, and what both do to texts that were not learnt from

_COVERAGES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


def text(calibration: Calibration) -> str:
    """All of it, in lines of a few columns."""
    lines = [f"evaluator   {calibration.signature or calibration.evaluator or 'not known'}"]
    if calibration.gain is not None:
        judges = calibration.gain.judges
        lines = [f"judge       {judge.judge}: {judge.signature or 'no signature'}" for judge in judges]
    lines += _data(calibration.data)
    who, label = "human", calibration.human
    if calibration.is_taught:
        who, _, label = calibration.human.partition(" ")
    lines.append(f"{who:<12}{', '.join([label, *calibration.pairs, *calibration.domains])}")
    lines.append(f"made        {calibration.date} by mtagent {calibration.version}, seed {calibration.seed}")
    lines += _left_out(calibration.left_out)
    if calibration.gain is not None:
        score = "teacher's score" if calibration.is_taught else "human score"
        lines += ["", *_gain_lines(calibration.gain, score)]
    if (margin := calibration.margin) is not None:
        effect = margin.held_out
        chosen = "none is enough: no text is kept" if margin.value is None else f"{margin.value:g}"
        lines += ["", f"margin      {chosen} (chosen on {margin.calibrated_on} edits)"]
        lines.append(
            f"held out: {effect.items} edits of {effect.groups} documents or segments, human score with 95 % interval"
        )
        lines += effect_lines(effect, margin.unmargined.gate)
    if calibration.error_free is not None:
        lines += ["", *_error_free(calibration.error_free)]
    return "\n".join(lines)


def check_text(name: str, check: Check) -> str:
    """What a gate is worth on other data."""
    kinds = ", ".join([*check.pairs, *check.domains])
    lines = [f"gate        {name}", *_data(check.data), *([f"texts       {kinds}"] if kinds else [])]
    effect = check.effect
    lines += [*_left_out(check.left_out), ""]
    lines.append(f"{effect.items} edits of {effect.groups} documents or segments, human score with 95 % interval")
    return "\n".join([*lines, *effect_lines(effect)])


def figure(found: Figure, *, percent: bool = False, signed: bool = False) -> str:
    """``70.5 [69.8, 71.2]``, a share as ``35.1 % [33.0, 37.2]``; ``-`` where it is not defined."""
    if found.value is None:
        return "-"
    factor, sign = (100.0 if percent else 1.0), ("+" if signed else "")
    wide = (found.high or 0.0) - (found.low or 0.0) > 0.1
    digits = 1 if percent else 2 if wide else 4  # as many as tell the bounds apart
    shown = [
        f"{value * factor:{sign}.{digits}f}" for value in (found.value, found.low, found.high) if value is not None
    ]
    unit = " %" if percent else ""
    return f"{shown[0]}{unit} [{', '.join(shown[1:])}]" if len(shown) == 3 else f"{shown[0]}{unit}"


def effect_lines(effect: Effect, unmargined: Figure | None = None) -> Iterator[str]:
    """What a gate does, beside what needs none, each judge alone and the oracle."""
    rows = [("never accept", figure(effect.never)), ("always accept", figure(effect.always))]
    rows += [(f"{name} alone", figure(value)) for name, value in effect.alone.items() if len(effect.alone) > 1]
    rows += [("any better rating", figure(value)) for value in effect.alone.values() if len(effect.alone) == 1]
    rows += [("gate, no margin", figure(unmargined))] if unmargined else []
    rows += [("gate, this margin" if unmargined else "gate", figure(effect.gate)), ("oracle", figure(effect.oracle))]
    rows.append(("gate over never", figure(effect.over_never, signed=True)))
    rows.append(("gate over always", figure(effect.over_always, signed=True)))
    rows += [("of the headroom", figure(effect.headroom, percent=True))] if effect.headroom else []
    rows.append(("accepted", figure(effect.accepted, percent=True)))
    rows.append(("good edits kept", figure(effect.good_kept, percent=True)))
    rows.append(("harmful refused", figure(effect.harmful_refused, percent=True)))
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {value}" for name, value in rows)
    yield from (f"  {line}" for line in verdict(effect))


def verdict(effect: Effect) -> Iterator[str]:
    """Whether the gate beats both of what needs no gate, in words."""
    for name, lead, hint in (
        ("leaving all as it was", effect.over_never, ": edit nothing"),
        ("accepting all", effect.over_always, ": --gate guards keeps all that does no damage"),
    ):
        if lead.low is None or lead.high is None:
            continue
        if lead.low > 0:
            yield f"the gate beats {name}"
        elif lead.high < 0:
            yield f"the gate LOSES to {name}{hint}"
        elif lead.low == lead.high == 0:
            yield f"the gate does the same as {name}"
        else:
            yield f"the gate is not told apart from {name}"


def worth(effect: Effect) -> str:
    """What a gate is worth, in a line."""
    lead = "-" if effect.lead is None else figure(effect.lead, signed=True)
    share = "" if effect.headroom is None else f", {figure(effect.headroom, percent=True)} of what an oracle gains"
    return f"{lead} over the better of never and always{share}; {'; '.join(verdict(effect))}"


def _data(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources:
        content = f" sha256:{source.sha256[:12]}" if source.sha256 else ""
        yield f"data        {source.option} {source.name}{content}"


def _left_out(reasons: dict[str, int]) -> list[str]:
    return [f"left out    {number} {reason}" for reason, number in reasons.items()]


def _gain_lines(gain: ExpectedGain, score: str) -> Iterator[str]:
    terms = [f"{gain.intercept:.3g}"]
    for judge in gain.judges:
        if judge.scale:
            terms.append(f"{judge.weight:+.3g} * root({judge.judge} after - before) / {judge.scale:.3g}")
        if judge.before_weight:
            before = f"({judge.judge} before - {judge.before_mean:.4g}) / {judge.before_scale:.3g}"
            terms.append(f"{judge.before_weight:+.3g} * {before}")
    yield f"gain        {' '.join(terms)}"
    yield (
        f"            kept where above 0; learnt from {gain.calibrated_on} edits, ridge {gain.ridge:g}, spread "
        f"{gain.spread:.3g}"
    )
    if (effect := gain.held_out) is not None:
        yield (f"held out: {effect.items} edits of {effect.groups} documents or segments, {score} with 95 % interval")
        yield from effect_lines(effect)
    tables = []
    if points := gain.learning:
        rows = [
            (str(point.pairs), f"{point.lead:+.3g}", _share(point.headroom), _share(point.lost)) for point in points
        ]
        note = f"lead over the better of never and always, held out; means of {points[0].draws} draws"
        head: tuple[str, ...] = ("edits", "lead", "headroom", "lost")
        tables.append(Table("how many edits it takes", head, tuple(rows), note, labels=0))
    if gain.triage:
        cells = [
            (
                point.judge,
                f"{point.threshold:.4g}{' (error-free)' if point.calibrated else ''}",
                *(figure(point.untouched, percent=True), figure(point.human), figure(point.change, signed=True)),
            )
            for point in gain.triage
        ]
        head = ("judge", "threshold", "not touched", score, "over editing all")
        tables.append(Table("texts left alone from a score on, the others edited", head, tuple(cells)))
    if tables:
        yield from ["", *tables_as_text(tables).split("\n")]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _error_free(found: ErrorFree) -> Iterator[str]:
    if found.threshold is None:
        yield f"error-free  no threshold reaches a precision of {found.wanted:g} for {found.definition}"
    else:
        between = f", in resamples {found.low:g} to {found.high:g}" if None not in (found.low, found.high) else ""
        yield f"error-free  from {found.threshold:g} on{between}: {found.definition}, wanted precision {found.wanted:g}"
    yield f"            chosen on {found.calibrated_on} texts; reached in {found.reached:.0%} of resamples"
    if found.held_out is not None:
        labels = found.held_out
        yield f"held out: {labels.items} texts of {labels.groups} documents or segments"
        yield f"  {'error-free texts':<18} {figure(labels.error_free, percent=True)}"
        yield f"  {'precision':<18} {figure(labels.precision, percent=True)}"
        yield f"  {'coverage':<18} {figure(labels.coverage, percent=True)}"
        yield f"  {'recall':<18} {figure(labels.recall, percent=True)}"
    yield "  threshold  precision  coverage   (the half that was chosen on)"
    curve = found.curve
    places = {min(range(len(curve)), key=lambda i: abs(curve[i].coverage - wanted)) for wanted in _COVERAGES}
    for point in (curve[place] for place in sorted(places)):
        yield f"  {point.threshold:9.4g}  {point.precision:9.3f}  {point.coverage:8.3f}"
