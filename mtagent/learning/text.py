"""A calibration on paper: the expected gain, the threshold, and what both do to texts that were not learnt from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mtagent.chain.calibration import (
    Calibration,
    Effect,
    ErrorFree,
    ExpectedGain,
    Figure,
    JudgeWeight,
    LearningPoint,
    Point,
    Source,
    TriagePoint,
)
from mtagent.chain.shipped import ShippedWeights, shipped_worth
from mtagent.errors import ConfigError
from mtagent.learning.calibrate import FEWEST_GROUPS, GateCheck, edits_needed
from mtagent.learning.gain import SAMPLE
from mtagent.text.amounts import counted
from mtagent.text.table import Table
from mtagent.text.table import text as tables_as_text

_PROMISES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""Shares of worse edits that the table of promises shows."""
_COVERAGES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""Where the precision–coverage curve is shown."""


def text(calibration: Calibration, *, details: bool = False) -> str:
    """The calibration in lines of a few columns; ``details`` adds the judges' signatures and the files' hashes."""
    lines = []
    if calibration.gain is None:
        lines.append(f"evaluator   {calibration.evaluator or 'not known'}")
        if details and calibration.signature:
            lines.append(f"signature   {calibration.signature}")
    else:
        for judge in calibration.gain.judges:
            unsigned = "" if judge.signature else " (its ratings have no signature)"
            lines.append(f"judge       {judge.judge}{unsigned}")
            if details and judge.signature:
                lines.append(f"signature   {judge.signature}")
    lines += _sources(calibration.data, details=details)
    who, label, score = "human", calibration.human, "human score"
    if calibration.is_taught:
        who, _, label = calibration.human.partition(" ")
        score = "teacher's score"
    elif calibration.is_decided:
        score = "people's decisions (accepted 1, rejected -1)"
    lines.append(f"{who:<12}{', '.join([label, *calibration.pairs, *calibration.domains])}")
    lines.append(f"made        {calibration.date} by mtagent {calibration.version}, seed {calibration.seed}")
    lines += _left_out(calibration.left_out)
    if calibration.gain is not None:
        noun = "edited text" if any(source.option == "--run" for source in calibration.data) else "edit"
        lines += ["", *_gain_lines(calibration.gain, score, noun)]
    if calibration.error_free is not None:
        lines += ["", *_error_free_lines(calibration.error_free)]
    return "\n".join(lines)


def check_text(name: str, check: GateCheck) -> str:
    """The quality of a gate on other data."""
    data = check.data
    lines = [f"gate        {name}", *_sources(data.sources)]
    kinds = [*data.language_pairs, *data.domains]
    if kinds:
        lines.append(f"texts       {', '.join(kinds)}")
    lines += [*_left_out(data.left_out), ""]
    if check.pilot is not None:
        pilot = check.pilot
        lines.append(
            f"pilot       the judges correlate by {pilot.agreement:.2f} and are trusted by {pilot.trust:.0%}; an edit "
            f"gains {pilot.drift:+.2f} of people's standard deviations on average"
        )
    effect = check.effect
    lines.append(f"{_extent(effect)}; human score with 95 % interval:")
    return "\n".join([*lines, *effect_lines(effect)])


def shipped_text(shipped: ShippedWeights) -> str:
    """The weights of the gate without labels, and their quality."""
    rows = tuple((kind, f"{weight:.3f}") for kind, weight in shipped.weights.items())
    table = Table("", ("kind of judge", "weight"), rows, shipped_worth())
    lines = [
        "gate        shipped: no labels; the rest is settled by a pilot of the run's own edits",
        f"            drift {shipped.drift:g}; chances: scale {shipped.scale:g}, tie band {shipped.tie_band:g}",
        "            unit: people's standard deviation",
        *tables_as_text([table]).split("\n"),
    ]
    return "\n".join(lines)


def figure(value: Figure, *, percent: bool = False, signed: bool = False, digits: int | None = None) -> str:
    """``70.5 [69.8, 71.2]``, a share as ``35.1 % [33.0, 37.2]``; ``-`` where it is not defined.

    Without ``digits`` it has as many as tell the bounds apart.
    """
    if value.value is None:
        return "-"
    factor, sign, unit = 1.0, "+" if signed else "", ""
    if digits is None:
        digits = _digits(value)
    if percent:
        factor, unit, digits = 100.0, " %", 1
    shown = f"{value.value * factor:{sign}.{digits}f}{unit}"
    if value.low is None or value.high is None:
        return shown
    return f"{shown} [{value.low * factor:{sign}.{digits}f}, {value.high * factor:{sign}.{digits}f}]"


def _digits(*figures: Figure) -> int:
    """The digits of figures that are read together: two, or four if all of their intervals are narrow."""
    widest = max((figure.high or 0.0) - (figure.low or 0.0) for figure in figures)
    return 2 if widest > 0.1 else 4


def _digits_of(effect: Effect) -> int:
    return _digits(effect.gate, effect.always, effect.never, effect.over_always, effect.over_never)


def _extent(effect: Effect, noun: str = "edit") -> str:
    """How much an effect is seen on."""
    worth = f"worth {effect.effective_groups:.0f} of equal size"
    return f"{effect.items} {noun}s of {effect.groups} documents or blocks of segments ({worth})"


def effect_lines(effect: Effect) -> Iterator[str]:
    """The effect of a gate, compared with never and always accepting, each judge alone and the oracle."""
    digits = _digits_of(effect)
    rows = [
        ("keep no edit", figure(effect.never, digits=digits)),
        ("keep every edit", figure(effect.always, digits=digits)),
    ]
    for judge, value in effect.alone.items():
        name = f"{judge} alone" if len(effect.alone) > 1 else "keep if rated better"
        rows.append((name, figure(value, digits=digits)))
    rows.append(("this gate", figure(effect.gate, digits=digits)))
    rows.append(("best possible", figure(effect.oracle, digits=digits)))
    rows.append(("gate minus no edit", figure(effect.over_never, signed=True, digits=digits)))
    rows.append(("gate minus every edit", figure(effect.over_always, signed=True, digits=digits)))
    rows.append(("share of possible gain", figure(effect.headroom, percent=True)))
    rows.append(("edits kept", figure(effect.accepted, percent=True)))
    rows.append(("good edits kept", figure(effect.good_kept, percent=True)))
    rows.append(("harmful edits refused", figure(effect.harmful_refused, percent=True)))
    for line in tables_as_text([Table("", (), tuple(rows), labels=2)]).split("\n"):
        yield f"  {line}"
    for line in verdict(effect):
        yield f"  {line}"


EVERY_EDIT = "--gate guards keeps every edit that does no damage"


def verdict(effect: Effect, *, numbers: bool = False) -> Iterator[str]:
    """Whether the gate is better than keeping no edit, and than keeping every edit; ``numbers``: also by how much."""
    rivals = (
        ("keeping no edit", effect.over_never, ""),
        ("keeping every edit", effect.over_always, f"; {EVERY_EDIT}"),
    )
    for name, lead, hint in rivals:
        shown = f" ({figure(lead, signed=True, digits=_digits_of(effect))})" if numbers else ""
        if lead.value == 0 and lead.low == lead.high:
            yield f"the gate does the same as {name}"
        elif lead.low is None or lead.high is None:
            reason = "the edits are from too few documents or segments, or all alike"
            yield f"it is unknown whether the gate is better than {name}{shown}: {reason}"
        elif lead.low > 0:
            yield f"the gate is better than {name}{shown}"
        elif lead.high < 0:
            yield f"the gate is WORSE than {name}{shown}{hint}"
        else:
            yield f"the gate may be better or worse than {name}{shown}"


MEANING = "what this gate does with edited texts that it did not learn from (with 95 % intervals"
MEANING_OF_DECISIONS = f"{MEANING}; an accepted one counts 1, a rejected one -1)"


def meaning(effect: Effect) -> Iterator[str]:
    """What a gate does with edited texts, in a few lines for people who read no table."""
    kept = figure(effect.accepted, percent=True)
    good_kept = figure(effect.good_kept, percent=True)
    harmful_refused = figure(effect.harmful_refused, percent=True)
    yield f"it keeps {kept} of all, and {good_kept} of the good ones"
    yield f"it refuses {harmful_refused} of the harmful ones"
    yield from verdict(effect, numbers=True)
    if len(effect.alone) == 1 and effect.gate.value is not None:
        (alone,) = effect.alone.values()
        if alone.value is not None:
            yield (
                f"texts score {effect.gate.value:.2f} with this gate, and {alone.value:.2f} if the judge decides "
                "alone, without learning"
            )


def outlook(effect: Effect, total: int) -> str:
    """Whether more decisions on a run with ``total`` edited texts would show that the gate is better."""
    rival = _rival(effect)
    if effect.lead.low is not None and effect.lead.low > 0:
        return f"your decisions are enough to show that the gate is better than {rival}"
    needed = edits_needed(effect)
    if needed is not None:
        extent = f"; the run has {total:,}" if needed > total else ""
        enough = counted(needed, "edited text")
        return f"decisions on about {enough} would show whether the gate is better than {rival}{extent}"
    if not needs_no_gate(effect, total):
        return f"{SAMPLE} decided edited texts are recommended; these do not show that the gate is better than {rival}"
    return f"the gate does not seem to be better than {rival}, and more decisions would hardly change that"


def more_decisions_help(effect: Effect, total: int) -> bool:
    """Whether :func:`outlook` asks for more decisions, and the run has edited texts that are not decided on yet."""
    is_shown = effect.lead.low is not None and effect.lead.low > 0
    return effect.items < total and not is_shown and not needs_no_gate(effect, total)


def needs_no_gate(effect: Effect, total: int) -> bool:
    """Whether enough labels for edited texts, of which the run has ``total``, show no lead of the gate.

    Labels for a few documents are not enough, however many there are.
    """
    is_enough = effect.items >= min(SAMPLE, total) and effect.effective_groups >= FEWEST_GROUPS
    return edits_needed(effect) is None and is_enough


def without_gate(effect: Effect) -> str:
    """What to do with a run that :func:`needs_no_gate`."""
    if _rival(effect) == _KEEPING_EVERY_EDIT:
        return f"a run like this needs no gate: {EVERY_EDIT}"
    return "a run like this needs no gate: on average its edits do not improve the texts that were given"


_KEEPING_EVERY_EDIT = "keeping every edit"


def _rival(effect: Effect) -> str:
    """What the gate must be better than: keeping every edit, or no edit if that is better."""
    if (effect.always.value or 0.0) > (effect.never.value or 0.0):
        return _KEEPING_EVERY_EDIT
    return "keeping no edit"


def _sources(sources: Sequence[Source], *, details: bool = False) -> Iterator[str]:
    for source in sources:
        content = f" sha256:{source.sha256[:12]}" if details and source.sha256 else ""
        yield f"data        {source.option} {source.name}{content}"


def _left_out(reasons: Mapping[str, int]) -> list[str]:
    return [f"left out    {number} {reason}" for reason, number in reasons.items()]


def _gain_lines(gain: ExpectedGain, score: str, noun: str) -> Iterator[str]:
    """The formula, what it does to held-out edits, and two tables; ``score`` is what the labels of a ``noun`` are."""
    terms = [f"{gain.intercept:.3g}"]
    for judge in gain.judges:
        terms += _terms(judge)
    yield f"gain        {' '.join(terms)}"
    yield "            an edit is kept if this is above 0"
    yield f"            learnt from {gain.calibrated_on} {noun}s, ridge {gain.ridge:g}"
    yield f"chances     scale {gain.scale:.3g}, tie band {gain.tie_band:.3g}, bias {gain.bias:+.3g}"
    effect = gain.held_out
    if effect is not None:
        yield f"tested on {noun}s that it did not learn from: {_extent(effect, noun)};"
        yield f"{score} with 95 % interval:"
        yield from effect_lines(effect)
    tables = []
    if gain.learning:
        tables.append(_learning_table(gain.learning, 2 if effect is None else _digits_of(effect)))
    promises = _promises_table(gain)
    if promises is not None:
        tables.append(promises)
    if gain.triage:
        tables.append(_triage_table(gain.triage, score))
    if tables:
        yield ""
        yield from tables_as_text(tables).split("\n")


def _terms(judge: JudgeWeight) -> Iterator[str]:
    """What a judge adds to the expected gain."""
    if judge.scale:
        yield f"{judge.weight:+.3g} * root({judge.judge} after - before) / {judge.scale:.3g}"
    if judge.before_weight:
        before = f"({judge.judge} before - {judge.before_mean:.4g}) / {judge.before_scale:.3g}"
        yield f"{judge.before_weight:+.3g} * {before}"


def _learning_table(points: Sequence[LearningPoint], digits: int) -> Table:
    rows = []
    for point in points:
        headroom = "-" if point.headroom is None else f"{point.headroom:.0%}"
        rows.append((str(point.pairs), f"{point.lead:+.{digits}f}", headroom))
    note = (
        "better by: than keeping every edit, or than keeping none if that is better; share: of the possible gain; "
        f"means of {points[0].draws} draws"
    )
    return Table("how many edits it takes", ("edits", "better by", "share"), tuple(rows), note, labels=0)


def _promises_table(gain: ExpectedGain) -> Table | None:
    """What ``--cautious`` can promise; ``None`` if nothing."""
    rows, promises, seen = [], [], None
    for promise in _PROMISES:
        try:
            highest = gain.highest_chance_of_worse(promise)
        except ConfigError:
            continue
        (point,) = (point for point in gain.cautious if point.chance_of_worse == highest)
        if point != seen:  # a laxer promise that keeps no more edits is not shown
            promises.append(promise)
            rows.append((f"{promise:.0%}", f"{point.kept:.1%}", f"{highest:.0%}"))
        seen = point
    if not rows:
        return None
    head = ("worse at most", "edits kept", "chance of worse up to")
    note = "worse at most: of the kept edits, at 90 % confidence; --cautious takes one of these shares, such as "
    note += f"{promises[0]:g} for {rows[0][0]}"
    return Table("what --cautious can promise", head, tuple(rows), note, labels=0)


def _triage_table(points: Sequence[TriagePoint], score: str) -> Table:
    rows = []
    for point in points:
        threshold = f"{point.threshold:.4g}{' (error-free)' if point.calibrated else ''}"
        skipped = figure(point.untouched, percent=True)
        rows.append((point.judge, threshold, skipped, figure(point.human), figure(point.change, signed=True)))
    head = ("judge", "threshold", "skipped", score, "over editing all")
    return Table("texts skipped at a threshold, the others edited", head, tuple(rows))


def _error_free_lines(error_free: ErrorFree) -> Iterator[str]:
    """The threshold, how sure it is, what it does to held-out texts, and points of the curve."""
    if error_free.threshold is None:
        yield (f"error-free  no threshold reaches a precision of {error_free.wanted:g} for {error_free.definition}")
    else:
        between = ""
        if error_free.low is not None and error_free.high is not None:
            between = f", in resamples {error_free.low:g} to {error_free.high:g}"
        yield (
            f"error-free  from {error_free.threshold:g} on{between}: {error_free.definition}, wanted precision "
            f"{error_free.wanted:g}"
        )
    yield (f"            chosen on {error_free.calibrated_on} texts; reached in {error_free.reached:.0%} of resamples")
    labels = error_free.held_out
    if labels is not None:
        yield f"tested on the other half: {labels.items} texts of {labels.groups} documents or blocks of segments"
        yield f"  {'error-free texts':<18} {figure(labels.error_free, percent=True)}"
        yield f"  {'precision':<18} {figure(labels.precision, percent=True)}"
        yield f"  {'coverage':<18} {figure(labels.coverage, percent=True)}"
        yield f"  {'recall':<18} {figure(labels.recall, percent=True)}"
    rows = []
    for point in _shown_points(error_free.curve):
        rows.append((f"{point.threshold:.4g}", f"{point.precision:.3f}", f"{point.coverage:.3f}"))
    curve = Table("", ("threshold", "precision", "coverage"), tuple(rows), labels=0)
    head, *lines = tables_as_text([curve]).split("\n")
    yield f"  {head}   (the half that was chosen on)"
    for line in lines:
        yield f"  {line}"


def _shown_points(points: Sequence[Point]) -> list[Point]:
    """The points nearest to :data:`_COVERAGES`, in the order of the curve."""
    places = set()
    for shown in _COVERAGES:
        nearest = 0
        for place, point in enumerate(points):
            if abs(point.coverage - shown) < abs(points[nearest].coverage - shown):
                nearest = place
        places.add(nearest)
    return [points[place] for place in sorted(places)]
