"""The level of error spans: evaluators that mark errors, against people who marked errors in the same translations."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

import mtagent
from mtagent.analysis import error_spans
from mtagent.analysis.error_spans import (
    FIELDS,
    Bools,
    Floats,
    Ints,
    Marked,
    Outside,
    Overlaps,
    SegmentsLeftOut,
    Side,
    SpanPairs,
    SpanRules,
    SpansLeftOut,
    Unlocated,
    Unrated,
    best_pairs,
    span_pairs,
)
from mtagent.analysis.scores_matched import LEAVE_OUT, NOTHING, Match
from mtagent.analysis.scores_read import About, Given, Key
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import Counted, Interval, Resampling, compared
from mtagent.records import ErrorSpan, Severity
from mtagent.text.mqm import SEVERITIES

Unit = Literal["characters", "spans"]

_TIE = 1e-9


class Measure(Protocol):
    """What is counted. ``counts``: segments × (credit for precision, predicted, credit for recall, gold)."""

    @property
    def signature(self) -> str: ...

    @property
    def unit(self) -> Unit: ...

    def counts(self, pairs: SpanPairs) -> Floats: ...


@dataclass(frozen=True)
class CharacterF1:
    """The score of WMT25's task on error spans: characters, with ``credit`` for those of the wrong severity.

    Critical counts as major. A character under two spans of one side counts twice.
    """

    credit: float = 0.5
    unit: Unit = "characters"

    def __post_init__(self) -> None:
        _check_share("credit", self.credit)

    @property
    def signature(self) -> str:
        return f"char-f1|credit:{self.credit:g}"

    def counts(self, pairs: SpanPairs) -> Floats:
        return error_spans.characters(pairs, self.credit)[:, [0, 1, 0, 2]]


@dataclass(frozen=True)
class PartialOverlap:
    """Each span has at most one partner, which it overlaps; its credit is the share of its own characters in common.

    Partners are chosen so that the Dice coefficients of the pairs add up to the most; of equally good choices, the one
    with more characters in common, in pairs that are more alike.
    With ``credit="full"`` each pair counts as a whole, and the most pairs are chosen. ``severity_credit`` is multiplied
    in where the severities differ. Source: "match with partial overlap and partial credit" (mpp, micro-averaged) of
    Perrella et al. (2026), Span-Level Machine Translation Meta-Evaluation, arXiv 2603.19921; "full" is its "mp".
    """

    credit: Literal["share", "full"] = "share"
    severity_credit: float = 1.0
    unit: Unit = "spans"

    def __post_init__(self) -> None:
        _check_share("severity_credit", self.severity_credit)
        if self.credit not in ("share", "full"):
            raise ConfigError(f"credit: 'share' or 'full', not {self.credit!r}")

    @property
    def signature(self) -> str:
        return f"partial-overlap|credit:{self.credit}|severity:{self.severity_credit:g}"

    def counts(self, pairs: SpanPairs) -> Floats:
        found = error_spans.in_characters(pairs)
        same = pairs.gold.severity[found.gold] == pairs.predicted.severity[found.predicted]
        worth = np.where(same, 1.0, self.severity_credit)
        dice = 2 * found.length / (found.gold_length + found.predicted_length)
        weight = worth * (dice if self.credit == "share" else 1.0)
        weight += _TIE * (1 + dice) * found.length / found.length.max(initial=1)
        chosen = best_pairs(found.gold, found.predicted, weight, found.segment)
        shares = [found.length / own if self.credit == "share" else 1.0 for own in found[-2:]]
        recalled, precise = (
            np.bincount(found.segment[chosen], (worth * share)[chosen], len(pairs)) for share in shares
        )
        return _counted(pairs, precise, recalled)


@dataclass(frozen=True)
class Matching:
    """Spans of which at least ``threshold`` is common to both: HiMATE's Algorithm 1 (appendix E).

    ``by="words"``: the longest common run of words, wherever it stands, as in the paper's pseudo code; spans need no
    place. ``by="characters"``: the characters of the text that both spans cover, as in the paper's formula.

    The paper does not say how matches become precision and recall. ``partners="one"``: each span has at most one
    partner, and as many as possible have one. ``"any"``: a span is right (or found) if it matches any of the other
    side. Neither severity nor category matters.
    """

    threshold: float = 0.5
    by: Literal["words", "characters"] = "words"
    partners: Literal["one", "any"] = "one"
    unit: Unit = "spans"

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ConfigError(f"threshold: above 0 and at most 1, not {self.threshold}")
        if self.by not in ("words", "characters"):
            raise ConfigError(f"by: 'words' or 'characters', not {self.by!r}")
        if self.partners not in ("one", "any"):
            raise ConfigError(f"partners: 'one' or 'any', not {self.partners!r}")

    @property
    def signature(self) -> str:
        return f"match|threshold:{self.threshold:g}|by:{self.by}|partners:{self.partners}"

    def counts(self, pairs: SpanPairs) -> Floats:
        return self.counts_of(self.overlaps(pairs), pairs)

    def overlaps(self, pairs: SpanPairs) -> Overlaps:
        """What spans have in common, for all thresholds."""
        return error_spans.in_words(pairs) if self.by == "words" else error_spans.in_characters(pairs)

    def counts_of(self, found: Overlaps, pairs: SpanPairs) -> Floats:
        """The counts, where the overlaps are known."""
        matched = found.share >= self.threshold
        gold, predicted, segment = found.gold[matched], found.predicted[matched], found.segment[matched]
        if self.partners == "one":
            chosen = best_pairs(gold, predicted, np.ones(len(gold)), segment)
            number = np.bincount(segment[chosen], minlength=len(pairs))
            return _counted(pairs, number, number)
        right, known = np.unique(predicted), np.unique(gold)
        precise = np.bincount(pairs.predicted.segment[right], minlength=len(pairs))
        return _counted(pairs, precise, np.bincount(pairs.gold.segment[known], minlength=len(pairs)))


def _counted(pairs: SpanPairs, precise: Floats | Ints, recalled: Floats | Ints) -> Floats:
    """Credits beside the numbers of spans of both sides."""
    columns = [precise, _numbers(pairs.predicted, pairs), recalled, _numbers(pairs.gold, pairs)]
    return np.stack(columns, axis=1).astype(np.float64)


def _numbers(side: Side, pairs: SpanPairs) -> Ints:
    return np.bincount(side.segment, minlength=len(pairs))


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name}: from 0 to 1, not {value}")


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


ESA_ERROR_FREE = 85.0
"""WMT26's threshold for ESA scores (0 to 100)."""


@dataclass(frozen=True)
class Detection:
    """How well error-free translations are told from others; "positive" is error-free.

    ``precision``: of those labelled error-free, the share that is. ``recall``: of those that are, the share that is
    labelled so. Each is ``None`` where it is a share of nothing, and so is ``f1`` where there is no error-free
    translation on either side. ``left_out``: without a label on the side(s) named.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    left_out: SegmentsLeftOut
    signature: str

    @property
    def segments(self) -> int:
        """How many were compared."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives


def is_error_free(
    errors: Collection[ErrorSpan] | None,
    score: float | None = None,
    *,
    at_least: float | None = None,
    severities: Collection[Severity] = SEVERITIES,
    source_errors: bool = True,
) -> bool | None:
    """Whether a translation is labelled error-free: no error is marked and, with ``at_least``, its score reaches it.

    ``None`` where that cannot be told: ``errors`` are ``None`` (not rated), or the score that is asked for is. Only
    errors of ``severities`` count, and those of the source only with ``source_errors``; by default all count, as at
    WMT26 (with ``at_least=ESA_ERROR_FREE`` for ESA scores).
    """
    if errors is None:
        return None
    if any(error.severity in severities and (source_errors or error.side != "source") for error in errors):
        return False
    return True if at_least is None else is_scored_error_free(score, at_least)


def is_scored_error_free(score: float | None, at_least: float) -> bool | None:
    """The label of an evaluator that marks no errors: whether its score reaches ``at_least``; ``None`` without one.

    Raises :class:`InputError` for a score that is NaN.
    """
    if score is not None and math.isnan(score):
        raise InputError("a score is NaN; a missing score is None")
    return None if score is None else score >= at_least


def detection(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], *, unrated: Unrated = "refuse"
) -> Detection:
    """Compare an evaluator's labels with people's: ``True`` is error-free, ``None`` is no label.

    Raises :class:`InputError` for lists of different lengths, a missing label (if refused), and where none is left.
    """
    cells, left_out = _cells(gold, predicted, unrated)
    tp, fp, fn, tn = (int(number) for number in cells.sum(axis=0))
    return Detection(
        precision=tp / (tp + fp) if tp + fp else None,
        recall=tp / (tp + fn) if tp + fn else None,
        f1=2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        accuracy=(tp + tn) / len(cells),
        true_positives=tp,
        false_positives=fp,
        false_negatives=fn,
        true_negatives=tn,
        left_out=left_out,
        signature=f"error-free|left-out:{left_out.total}|version:{mtagent.__version__}",
    )


def detection_difference(
    gold: Sequence[bool | None],
    first: Sequence[bool | None],
    second: Sequence[bool | None],
    how: Resampling = DEFAULT_TEST,
    *,
    accuracy: bool = False,
    unrated: Unrated = "refuse",
) -> Lead:
    """Test whether two evaluators' F1 (or accuracy) differ, by resampling segments (two-sided).

    Segments without a label of people or of either evaluator are refused or left out, so that both have the same. In a
    resample without an error-free segment on either side F1 counts as 0.
    """
    if not len(gold) == len(first) == len(second):
        raise InputError(f"{len(gold)} labels of people, {len(first)} and {len(second)} of the evaluators")
    known = [None if one is None or other is None else True for one, other in zip(first, second, strict=True)]
    _cells(gold, known, unrated)
    common = [at for at, label in enumerate(known) if label is not None and gold[at] is not None]
    combined = _accuracies if accuracy else _f1s
    tested = []
    for labels in (first, second):
        rows, _ = _cells([gold[at] for at in common], [labels[at] for at in common], "refuse")
        tested.append(Counted(rows, combined))
    ours, theirs = compared([tested], how)[0]
    values = [float(combined(one.rows.sum(axis=0, keepdims=True))[0]) for one in tested]
    name = "error-free-accuracy" if accuracy else "error-free-f1"
    signature = how.signed(f"{name}|segments:{len(common)}|version:{mtagent.__version__}")
    return Lead(values[0] - values[1], theirs.p_value, ours.interval, theirs.interval, len(common), signature)


def _cells(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], unrated: Unrated
) -> tuple[Floats, SegmentsLeftOut]:
    """One row for each labelled segment, with 1 in the column of its case: tp, fp, fn, tn."""
    if unrated not in ("refuse", "leave-out"):
        raise ConfigError(f"unrated: 'refuse' or 'leave-out', not {unrated!r}")
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} labels of people and {len(predicted)} of the evaluator; each segment needs both")
    pairs = list(zip(gold, predicted, strict=True))
    missing = [(is_free is None) + 2 * (label is None) for is_free, label in pairs]
    if any(missing) and unrated == "refuse":
        at = next(at for at, kind in enumerate(missing) if kind)
        whose = "people" if gold[at] is None else "the evaluator"
        raise InputError(f"segment number {at + 1}: no label of {whose}; leave such out (unrated='leave-out')")
    kept = np.array([pair for pair, kind in zip(pairs, missing, strict=True) if not kind], dtype=bool).reshape(-1, 2)
    if not len(kept):
        raise InputError("there is no segment with a label of people and of the evaluator")
    is_free, label = kept.T
    columns = (is_free & label, ~is_free & label, is_free & ~label, ~is_free & ~label)
    return np.stack(columns, axis=1).astype(np.float64), SegmentsLeftOut(*(missing.count(kind) for kind in (1, 2, 3)))


def _f1s(sums: Floats) -> Floats:
    double = 2 * sums[:, 0]
    total = double + sums[:, 1] + sums[:, 2]
    return np.divide(double, total, out=np.zeros(len(sums)), where=total > 0)


def _accuracies(sums: Floats) -> Floats:
    found: Floats = (sums[:, 0] + sums[:, 3]) / sums.sum(axis=1)
    return found


SpanGrouping = Literal["severity", "category"]
SPAN_GROUPINGS: tuple[SpanGrouping, ...] = get_args(SpanGrouping)
MEASURES: dict[str, Measure] = {
    "characters": CharacterF1(),
    "partial overlap": PartialOverlap(),
    "match at 0.5": Matching(),
}


@dataclass(frozen=True)
class SpanWanted:
    """``unlocated``: spans without a sure place; ``outside``: omissions and source errors; see :class:`SpanRules`.

    ``by``: scores of single severities or categories as well.
    """

    unlocated: Unlocated = "miss"
    outside: Outside = "leave-out"
    by: tuple[SpanGrouping, ...] = ()


class SpanEntry(NamedTuple):
    """A score of one evaluator; ``kind`` is the measure, the threshold, or the severity or category."""

    kind: str
    evaluator: str
    score: SpanScore


@dataclass(frozen=True)
class SpanLevel:
    """All scores of spans: by measure, by the threshold of matches, and by severity or category."""

    measures: tuple[SpanEntry, ...]
    thresholds: tuple[SpanEntry, ...]
    groups: dict[SpanGrouping, tuple[SpanEntry, ...]]


def marking(matches: Sequence[Match]) -> list[Match]:
    """Those of which both sides marked errors in texts that are known."""
    return [one for one in matches if one.evaluator.marks and one.human.marks and any(_texts(one))]


def span_level(matches: Sequence[Match], wanted: SpanWanted) -> SpanLevel:
    """The scores of evaluators that mark errors.

    Raises :class:`InputError` where a translation is not known, and where one was not annotated and none may be left
    out.
    """
    pairs = {one.name: _pairs(one, wanted) for one in matches}
    return SpanLevel(
        measures=tuple(
            SpanEntry(kind, who, score(held, measure))
            for kind, measure in MEASURES.items()
            for who, held in pairs.items()
        ),
        thresholds=tuple(
            SpanEntry(f"{threshold:g}", who, found)
            for who, held in pairs.items()
            for threshold, found in by_threshold(held).items()
        ),
        groups={grouping: tuple(_grouped(pairs, grouping)) for grouping in wanted.by},
    )


def _grouped(pairs: dict[str, SpanPairs], grouping: SpanGrouping) -> Iterator[SpanEntry]:
    scored = by_severity if grouping == "severity" else by_category
    for who, held in pairs.items():
        for kind, found in scored(held, CharacterF1()).items():
            yield SpanEntry(kind, who, found)


def _pairs(one: Match, wanted: SpanWanted) -> SpanPairs:
    rules = SpanRules(unrated=one.missing, unlocated=wanted.unlocated, outside=wanted.outside)
    return span_pairs(_marked(one), rules)


def _marked(one: Match) -> Iterator[Marked]:
    for key, ours, theirs in _both(one):
        translation = theirs.translation if theirs.translation is not None else ours.translation
        if one.missing == "refuse":
            _refuse_unmarked(key, ours, one.evaluator.name)
            _refuse_unmarked(key, theirs, one.human.name)
        if translation is None and None not in (ours.errors, theirs.errors):
            raise InputError(
                f"{ours.where}: spans are placed in the translation, which neither this file nor {theirs.where} has"
            )
        about, more = (side.about.get(key.item, About()) for side in (one.human, one.evaluator))
        source = about.or_else(more).source
        yield Marked(theirs.errors, ours.errors, translation or "", source or "", f"{key.item} of {key.system}")


def _refuse_unmarked(key: Key, given: Given, name: str) -> None:
    if given.errors is None:
        raise InputError(
            f"{given.where}: no errors of {name} for segment {key.item!r} of system {key.system!r} (null, or None); "
            f"[] says that it is error-free; {LEAVE_OUT}"
        )


def _both(one: Match) -> Iterator[tuple[Key, Given, Given]]:
    for key in dict.fromkeys([*one.human.segments, *one.evaluator.segments]):
        yield key, one.evaluator.segments.get(key, NOTHING), one.human.segments.get(key, NOTHING)


def _texts(one: Match) -> Iterator[str]:
    return (text for _, *both in _both(one) for text in (given.translation for given in both) if text is not None)
