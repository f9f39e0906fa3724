"""Precision, recall and F1 of an evaluator's error spans against people's, by a measure of ``span_measures.py``.

Everything here is made of sums of the measure's counts. Precision is 1 where the evaluator marks nothing, and recall 1
where people mark nothing; so F1 is 1 where both mark nothing, and 0 where only one does. WMT25's task has the same
convention for a corpus; here it holds for a segment too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

import mtagent
from mtagent.errors import ConfigError, InputError
from mtagent.meta_eval.marked import FIELDS, Bools, Floats, Ints, SegmentsLeftOut, SpanPairs, SpansLeftOut
from mtagent.meta_eval.span_measures import Matching, Measure, Unit
from mtagent.metrics.significance import Counted, Interval, Resampling, compared
from mtagent.mqm import SEVERITIES

Against = Literal["same", "any"]

THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))
"""Those of HiMATE's Figure 3."""

DEFAULT_MATCHING = Matching()
DEFAULT_TEST = Resampling()
_Groups = dict[str, tuple[Bools, Bools]]


@dataclass(frozen=True, eq=False)
class SpanScore:
    """Precision, recall and F1 over all segments (micro: of added-up counts).

    ``predicted`` and ``gold`` are how much the evaluator and people marked, ``right`` and ``found`` how much of each
    was credited, all in ``unit``. ``macro_f1`` is the mean of the segments' own F1 (1 where neither marked anything).
    ``group``: the category or severity that it is about. ``segments_left_out``, ``gold_left_out`` and
    ``predicted_left_out`` say what was not compared.
    """

    precision: float
    recall: float
    f1: float
    macro_f1: float
    right: float
    predicted: float
    found: float
    gold: float
    unit: Unit
    segments: int
    segments_left_out: SegmentsLeftOut
    gold_left_out: SpansLeftOut
    predicted_left_out: SpansLeftOut
    signature: str
    group: str | None = None


class Lead(NamedTuple):
    """By how much the first of two evaluators has the higher F1 (or accuracy), and how likely that is by chance.

    ``p_value`` is ``None`` where both have the same counts in every segment, the intervals (95 %) are ``None`` after
    approximate randomization. ``segments``: those that both were compared on.
    """

    value: float
    p_value: float | None
    first: Interval | None
    second: Interval | None
    segments: int
    signature: str


def score(pairs: SpanPairs, measure: Measure) -> SpanScore:
    """The score of all segments together."""
    return _scored(measure.counts(pairs), pairs, measure)


def segment_scores(pairs: SpanPairs, measure: Measure) -> Floats:
    """Precision, recall and F1 of each segment: segments × 3, in the order of ``pairs.kept``."""
    return _rates(measure.counts(pairs))


def by_threshold(
    pairs: SpanPairs, matching: Matching = DEFAULT_MATCHING, thresholds: Sequence[float] = THRESHOLDS
) -> dict[float, SpanScore]:
    """The score at each threshold: the curves of HiMATE's Figure 3."""
    found = matching.overlaps(pairs)
    at = {threshold: replace(matching, threshold=threshold) for threshold in thresholds}
    return {threshold: _scored(one.counts_of(found, pairs), pairs, one) for threshold, one in at.items()}


def by_category(pairs: SpanPairs, measure: Measure, against: Against = "same") -> dict[str, SpanScore]:
    """The score of each category that occurs on any side, as ``SpanRules.category`` names them.

    ``against="same"``: only spans of this category, on both sides. ``"any"``: precision is that of the evaluator's
    spans of this category against all of people's, recall that of people's against all of the evaluator's; so it tells
    which errors are found, whatever they are called.
    """
    columns = (pairs.gold.category, pairs.predicted.category)
    grouped = {name: (columns[0] == number, columns[1] == number) for number, name in enumerate(pairs.categories)}
    return _by_group(pairs, measure, against, dict(sorted(grouped.items())))


def by_severity(pairs: SpanPairs, measure: Measure, against: Against = "same") -> dict[str, SpanScore]:
    """The score of each severity that occurs on any side, from harmless to worst; ``against`` as by category."""
    columns = (pairs.gold.severity, pairs.predicted.severity)
    grouped: _Groups = {str(name): (columns[0] == rank, columns[1] == rank) for rank, name in enumerate(SEVERITIES)}
    return _by_group(pairs, measure, against, grouped)


def difference(first: SpanPairs, second: SpanPairs, measure: Measure, how: Resampling = DEFAULT_TEST) -> Lead:
    """Test whether the F1 of two evaluators differs, by resampling the segments that both have (two-sided).

    Both must be made of the same list of segments, in the same order. Raises :class:`InputError` where people's spans
    are not the same, or no segment is common, and :class:`ConfigError` for different rules.
    """
    if first.rules != second.rules:
        raise ConfigError("the spans of the two evaluators were made by different rules; use the same for both")
    common = np.intersect1d(first.kept, second.kept)
    if not len(common):
        raise InputError("the two evaluators have no segment in common; compare them on the same segments")
    rows = [_in_common(pairs, common) for pairs in (first, second)]
    if any(not np.array_equal(one, other) for one, other in zip(*(gold for _, gold in rows), strict=True)):
        raise InputError("people's spans differ between the two evaluators; compare both with the same annotation")
    tested = [
        Counted(measure.counts(pairs)[at], lambda sums: _rates(sums)[:, 2])
        for pairs, (at, _) in zip((first, second), rows, strict=True)
    ]
    ours, theirs = compared([tested], how)[0]
    values = [float(_rates(one.rows.sum(axis=0, keepdims=True))[0, 2]) for one in tested]
    signature = how.signed(
        f"{measure.signature}|{first.rules.signature}|segments:{len(common)}|version:{mtagent.__version__}"
    )
    return Lead(values[0] - values[1], theirs.p_value, ours.interval, theirs.interval, len(common), signature)


def _in_common(pairs: SpanPairs, common: Ints) -> tuple[Ints, list[Ints]]:
    """The places of the common segments, and people's spans in them: segment, field, length, severity, offset."""
    kept = np.array(pairs.kept)
    gold = pairs.gold.chosen(np.isin(kept[pairs.gold.segment], common))
    offset = np.where(gold.placed, gold.start - pairs.starts[gold.segment * FIELDS], -1)
    return np.flatnonzero(np.isin(kept, common)), [
        kept[gold.segment], gold.field, gold.length, gold.severity, offset
    ]  # fmt: skip


def _by_group(pairs: SpanPairs, measure: Measure, against: Against, grouped: _Groups) -> dict[str, SpanScore]:
    if against not in ("same", "any"):
        raise ConfigError(f"against: 'same' or 'any', not {against!r}")
    found = {}
    for name, (gold, predicted) in grouped.items():
        if not (gold.any() or predicted.any()):
            continue
        people, evaluator = pairs.gold.chosen(gold), pairs.predicted.chosen(predicted)
        if against == "same":
            counts = measure.counts(replace(pairs, gold=people, predicted=evaluator))
        else:
            precise, recalled = replace(pairs, predicted=evaluator), replace(pairs, gold=people)
            counts = np.c_[measure.counts(precise)[:, :2], measure.counts(recalled)[:, 2:]]
        scored = _scored(counts, pairs, measure)
        signature = f"{scored.signature}|group:{name}|against:{against}"
        found[name] = replace(scored, group=name, signature=signature)
    return found


def _scored(counts: Floats, pairs: SpanPairs, measure: Measure) -> SpanScore:
    sums = counts.sum(axis=0)
    precision, recall, f1 = _rates(sums[None, :])[0].tolist()
    right, predicted, found, gold = sums.tolist()
    return SpanScore(
        precision=precision,
        recall=recall,
        f1=f1,
        macro_f1=float(_rates(counts)[:, 2].mean()),
        right=right,
        predicted=predicted,
        found=found,
        gold=gold,
        unit=measure.unit,
        segments=len(pairs),
        segments_left_out=pairs.left_out,
        gold_left_out=pairs.gold.left_out,
        predicted_left_out=pairs.predicted.left_out,
        signature=f"{measure.signature}|{pairs.signature}|version:{mtagent.__version__}",
    )


def _rates(counts: Floats) -> Floats:
    """Precision, recall and F1 of rows of counts: rows × 3."""
    shares = [
        np.divide(counts[:, at], counts[:, at + 1], out=np.ones(len(counts)), where=counts[:, at + 1] > 0)
        for at in (0, 2)
    ]
    total = shares[0] + shares[1]
    f1 = np.divide(2 * shares[0] * shares[1], total, out=np.zeros(len(counts)), where=total > 0)
    return np.stack([*shares, f1], axis=1)
