"""How well an evaluator marks the errors that people mark: precision, recall and F1 of spans by several measures.

``detection`` is about labels of whole translations: error-free or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
import regex
from numpy.typing import NDArray

import mtagent
from mtagent.analysis.error_spans import (
    Field,
    SegmentsLeftOut,
    SpanPairs,
    Spans,
    SpansLeftOut,
    Unrated,
    check_choice,
)
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import Interval, Resampling, Statistics, paired_tests
from mtagent.records import ErrorSpan
from mtagent.text.mqm import SEVERITIES
from mtagent.text.scripts import UNSPACED

Floats = NDArray[np.float64]
Unit = Literal["characters", "spans"]
Pair = tuple[int, int]
"""The places of a human span and of one of the evaluator's among those of their segment."""

_MAJOR_RANK = SEVERITIES.index("major")
_TIE = 1e-9
_WORD = regex.compile(rf"[{UNSPACED}]\p{{M}}*|[^\W{UNSPACED}][\w\p{{M}}--{UNSPACED}]*|[^\w\s]", regex.V1)


Counts = tuple[float, float, float, float]
"""Of a segment: credit for precision, what the evaluator marked, credit for recall, what people marked."""


class Measure(Protocol):
    """What is counted in the spans of a segment."""

    @property
    def signature(self) -> str: ...

    @property
    def unit(self) -> Unit: ...

    def counts(self, gold: Spans, predicted: Spans) -> Counts: ...


@dataclass(frozen=True)
class CharacterF1:
    """The score of WMT25's task on error spans: characters, with ``credit`` for those of the wrong severity.

    A character counts once for each span over it. It is matched as often as both sides have a span of its severity
    over it (critical is major, neutral is minor), and ``credit`` times as often as they have one of another severity.
    """

    credit: float = 0.5
    unit: Unit = "characters"

    def __post_init__(self) -> None:
        _check_share("credit", self.credit)

    @property
    def signature(self) -> str:
        return f"char-f1|credit:{self.credit:g}"

    def counts(self, gold: Spans, predicted: Spans) -> Counts:
        matched = sum(self._matched(gold, predicted, field) for field in {span.field for span in gold})
        marked, wanted = (sum(span.length for span in spans) for spans in (predicted, gold))
        return matched, marked, matched, wanted

    def _matched(self, gold: Spans, predicted: Spans, field: Field) -> float:
        """The credit for all characters of one text, from edge to edge of the spans."""
        sides = [[span for span in side if span.field == field and span.placed] for side in (gold, predicted)]
        edges = sorted({edge for side in sides for span in side for edge in (span.start, span.end)})
        matched = 0.0
        for start, end in pairwise(edges):
            depths = []
            for side in sides:
                over = [span.severity >= _MAJOR_RANK for span in side if span.start <= start < span.end]
                depths.append((len(over) - sum(over), sum(over)))
            (minor, major), (their_minor, their_major) = depths
            same = min(minor, their_minor) + min(major, their_major)
            left = min(minor + major, their_minor + their_major) - same
            matched += (same + self.credit * left) * (end - start)
        return matched


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
        check_choice("credit", self.credit, ("share", "full"))

    @property
    def signature(self) -> str:
        return f"partial-overlap|credit:{self.credit}|severity:{self.severity_credit:g}"

    def counts(self, gold: Spans, predicted: Spans) -> Counts:
        common = _common_characters(gold, predicted)
        longest = max(common.values(), default=1)
        worth, weights = {}, {}
        for (ours, theirs), characters in common.items():
            same = gold[ours].severity == predicted[theirs].severity
            worth[ours, theirs] = 1.0 if same else self.severity_credit
            dice = 2 * characters / (gold[ours].length + predicted[theirs].length)
            weight = worth[ours, theirs] * (dice if self.credit == "share" else 1.0)
            weights[ours, theirs] = weight + _TIE * (1 + dice) * characters / longest
        precise = recalled = 0.0
        for ours, theirs in best_pairs(weights):
            shared, credit = common[ours, theirs], worth[ours, theirs]
            precise += credit * (shared / predicted[theirs].length if self.credit == "share" else 1.0)
            recalled += credit * (shared / gold[ours].length if self.credit == "share" else 1.0)
        return precise, len(predicted), recalled, len(gold)


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
        check_choice("by", self.by, ("words", "characters"))
        check_choice("partners", self.partners, ("one", "any"))

    @property
    def signature(self) -> str:
        return f"match|threshold:{self.threshold:g}|by:{self.by}|partners:{self.partners}"

    def counts(self, gold: Spans, predicted: Spans) -> Counts:
        if self.by == "words":
            shares = {
                (ours, theirs): _word_share(first.words, second.words)
                for ours, first in enumerate(gold)
                for theirs, second in enumerate(predicted)
                if first.field == second.field
            }
        else:
            shares = {
                (ours, theirs): common / max(gold[ours].length, predicted[theirs].length)
                for (ours, theirs), common in _common_characters(gold, predicted).items()
            }
        matched = {pair: 1.0 for pair, share in shares.items() if share >= self.threshold}
        chosen = best_pairs(matched) if self.partners == "one" else matched
        right, known = {theirs for _, theirs in chosen}, {ours for ours, _ in chosen}
        return len(right), len(predicted), len(known), len(gold)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name}: from 0 to 1, not {value}")


def _common_characters(gold: Spans, predicted: Spans) -> dict[Pair, int]:
    """How many characters two spans of the same text have in common, where they have any."""
    common = {}
    for ours, first in enumerate(gold):
        for theirs, second in enumerate(predicted):
            shared = min(first.end, second.end) - max(first.start, second.start)
            if shared > 0 and first.placed and second.placed and first.field == second.field:
                common[ours, theirs] = shared
    return common


@lru_cache(maxsize=2**14)
def _word_share(first: str, second: str) -> float:
    both = words(first), words(second)
    return longest_run(*both) / max(1, *map(len, both))


def words(text: str) -> tuple[str, ...]:
    """The words and marks of ``text``; each character, in scripts without spaces between words. A blank is itself."""
    return tuple(_WORD.findall(text)) or ((text,) if text else ())


def longest_run(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    """How many words the longest run has that stands in both. Where there is one, there are all shorter ones."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        size = (low + high + 1) // 2
        runs = {first[at : at + size] for at in range(len(first) - size + 1)}
        if any(second[at : at + size] in runs for at in range(len(second) - size + 1)):
            low = size
        else:
            high = size - 1
    return low


def best_pairs(weights: Mapping[Pair, float]) -> list[Pair]:
    """The pairs in which no span occurs twice and whose weights (> 0) add up to the most."""
    if len(weights) < 2:
        return list(weights)
    rows, columns = (sorted(set(places)) for places in zip(*weights, strict=True))
    table = np.array([[weights.get((row, column), 0.0) for column in columns] for row in rows])
    partners = heaviest(table).tolist()
    return [(row, columns[partner]) for row, partner in zip(rows, partners, strict=True) if partner >= 0]


def heaviest(table: Floats) -> NDArray[np.int64]:
    """For each row the column that it gets, −1 for none; weights of 0 are no pairs. Rows × columns, weights ≥ 0.

    Shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987). Column 0 is no column, but where
    the path of a new row begins.
    """
    rows, columns = table.shape
    partner = np.full(rows, -1, dtype=np.int64)
    if rows > columns:
        turned = heaviest(np.ascontiguousarray(table.T))
        partner[turned[turned >= 0]] = np.flatnonzero(turned >= 0)
        return partner
    cost = table.max() - table
    row_price, column_price, reduced = np.zeros(rows), np.zeros(columns + 1), np.full(columns + 1, np.inf)
    owner = np.full(columns + 1, -1)
    for row in range(rows):
        owner[0], at = row, 0
        slack, came_from = np.full(columns + 1, np.inf), np.zeros(columns + 1, dtype=np.int64)
        done = np.zeros(columns + 1, dtype=bool)
        while owner[at] >= 0:
            done[at] = True
            reduced[1:] = cost[owner[at]] - row_price[owner[at]] - column_price[1:]
            closer = ~done & (reduced < slack)
            slack[closer], came_from[closer] = reduced[closer], at
            at = int(np.argmin(np.where(done, np.inf, slack)))
            step = slack[at]
            row_price[owner[done]] += step
            column_price[done] -= step
            slack[~done] -= step
        while at:
            owner[at] = owner[came_from[at]]
            at = int(came_from[at])
    for column in np.flatnonzero(owner[1:] >= 0):
        if table[owner[column + 1], column] > 0:
            partner[owner[column + 1]] = column
    return partner


Against = Literal["same", "any"]
SpanGrouping = Literal["severity", "category"]
THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))
"""Those of HiMATE's Figure 3."""
DEFAULT_MATCHING = Matching()
DEFAULT_TEST = Resampling()


@dataclass(frozen=True)
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


def counts_of(pairs: SpanPairs, measure: Measure) -> Floats:
    """The counts of each segment: segments × 4, in the order of ``pairs.kept``."""
    return np.array([measure.counts(*both) for both in zip(pairs.gold, pairs.predicted, strict=True)], dtype=np.float64)


def score(pairs: SpanPairs, measure: Measure) -> SpanScore:
    """The score of all segments together."""
    return _score_of(counts_of(pairs, measure), pairs, measure)


def segment_scores(pairs: SpanPairs, measure: Measure) -> Floats:
    """Precision, recall and F1 of each segment: segments × 3, in the order of ``pairs.kept``."""
    return _rates(counts_of(pairs, measure))


def by_threshold(
    pairs: SpanPairs, matching: Matching = DEFAULT_MATCHING, thresholds: Sequence[float] = THRESHOLDS
) -> dict[float, SpanScore]:
    """The score at each threshold: the curves of HiMATE's Figure 3."""
    return {threshold: score(pairs, replace(matching, threshold=threshold)) for threshold in thresholds}


def by_group(
    pairs: SpanPairs, measure: Measure, grouping: SpanGrouping, against: Against = "same"
) -> dict[str, SpanScore]:
    """The score of each severity (from harmless to worst) or category (by name) that occurs on any side.

    ``against="same"``: only spans of this group, on both sides. ``"any"``: precision is that of the evaluator's spans
    of this group against all of people's, recall that of people's against all of the evaluator's; so it tells which
    errors are found, whatever they are called. Categories are named by ``SpanRules.category``.
    """
    check_choice("against", against, ("same", "any"))
    groups = {getattr(span, grouping) for side in (*pairs.gold, *pairs.predicted) for span in side}
    scores = {}
    for group in sorted(groups):
        gold, predicted = (
            tuple(tuple(span for span in spans if getattr(span, grouping) == group) for spans in side)
            for side in (pairs.gold, pairs.predicted)
        )
        if against == "same":
            counts = counts_of(replace(pairs, gold=gold, predicted=predicted), measure)
        else:
            precise, recalled = replace(pairs, predicted=predicted), replace(pairs, gold=gold)
            counts = np.c_[counts_of(precise, measure)[:, :2], counts_of(recalled, measure)[:, 2:]]
        name = SEVERITIES[group] if grouping == "severity" else group
        whole = _score_of(counts, pairs, measure)
        signature = f"{whole.signature}|group:{name}|against:{against}"
        scores[name] = replace(whole, group=name, signature=signature)
    return scores


def _score_of(counts: Floats, pairs: SpanPairs, measure: Measure) -> SpanScore:
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
        gold_left_out=pairs.gold_left_out,
        predicted_left_out=pairs.predicted_left_out,
        signature=f"{measure.signature}|{pairs.signature}|version:{mtagent.__version__}",
    )


def _rates(counts: Floats) -> Floats:
    """Precision, recall and F1 of rows of counts: rows × 3. A share of nothing is 1."""
    credit, marked = counts[:, [0, 2]], counts[:, [1, 3]]
    shares = np.divide(credit, marked, out=np.ones_like(credit), where=marked > 0)
    product, total = shares.prod(axis=1), shares.sum(axis=1)
    f1 = np.divide(2 * product, total, out=np.zeros(len(counts)), where=total > 0)
    return np.column_stack([shares, f1])


class Lead(NamedTuple):
    """By how much the first of two evaluators has the higher F1, and how likely that is by chance.

    ``p_value`` is ``None`` where both have the same counts in every segment, the intervals (95 %) are ``None`` after
    approximate randomization. ``segments``: those that both were compared on.
    """

    value: float
    p_value: float | None
    first: Interval | None
    second: Interval | None
    segments: int
    signature: str


def difference(first: SpanPairs, second: SpanPairs, measure: Measure, how: Resampling = DEFAULT_TEST) -> Lead:
    """Test whether the F1 of two evaluators differs, by resampling the segments that both have (two-sided).

    Both must be made of the same list of segments, in the same order. Raises :class:`InputError` where people's spans
    are not the same, or no segment is common, and :class:`ConfigError` for different rules.
    """
    if first.rules != second.rules:
        raise ConfigError("the spans of the two evaluators were made by different rules; use the same for both")
    common = sorted(set(first.kept) & set(second.kept))
    if not common:
        raise InputError("the two evaluators have no segment in common; compare them on the same segments")
    tested, golds = [], []
    for pairs in (first, second):
        at = [pairs.kept.index(place) for place in common]
        golds.append([[span[:5] for span in pairs.gold[place]] for place in at])
        tested.append(Statistics(counts_of(pairs, measure)[at], lambda sums: _rates(sums)[:, 2]))
    if golds[0] != golds[1]:
        raise InputError("people's spans differ between the two evaluators; compare both with the same annotation")
    ours, theirs = paired_tests([tested], how)[0]
    values = [float(_rates(counts.rows.sum(axis=0, keepdims=True))[0, 2]) for counts in tested]
    signature = how.signed(
        f"{measure.signature}|{first.rules.signature}|segments:{len(common)}|version:{mtagent.__version__}"
    )
    return Lead(values[0] - values[1], theirs.p_value, ours.interval, theirs.interval, len(common), signature)


ESA_ERROR_FREE = 85.0
"""WMT26's threshold for ESA scores (0 to 100)."""


class Detection(NamedTuple):
    """How well error-free translations are told from others; "positive" is error-free.

    A share of nothing is ``None``. ``left_out``: without a label on the side(s) named.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    left_out: SegmentsLeftOut

    @property
    def precision(self) -> float | None:
        """Of those labelled error-free, the share that is."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """Of those that are error-free, the share that is labelled so."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; none where there is no error-free translation on either side."""
        return _share(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)

    @property
    def accuracy(self) -> float | None:
        """The share of right labels."""
        return _share(self.true_positives + self.true_negatives, self.segments)

    @property
    def segments(self) -> int:
        """How many were compared."""
        return sum(self[:4])

    @property
    def signature(self) -> str:
        """What the numbers depend on."""
        return f"error-free|left-out:{sum(self.left_out)}|version:{mtagent.__version__}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def is_error_free(
    errors: Collection[ErrorSpan] | None,
    score: float | None = None,
    at_least: float | None = None,
) -> bool | None:
    """Whether a translation is labelled error-free: no error is marked and, with ``at_least``, its score reaches it.

    ``None`` where that cannot be told: ``errors`` are ``None`` (not rated), or the score that is asked for is. Errors
    of all severities and sides count, as at WMT26 (with ``at_least=ESA_ERROR_FREE`` for ESA scores).
    """
    if errors is None:
        return None
    if errors:
        return False
    if at_least is None:
        return True
    return None if score is None else score >= at_least


def detection(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], *, unrated: Unrated = "refuse"
) -> Detection:
    """Compare an evaluator's labels with people's: ``True`` is error-free, ``None`` is no label.

    Raises :class:`InputError` for lists of different lengths, a missing label (if refused), and where none is left.
    """
    check_choice("unrated", unrated, get_args(Unrated))
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} labels of people and {len(predicted)} of the evaluator; each segment needs both")
    cases = Counter(zip(gold, predicted, strict=True))
    missing = next((at for at, pair in enumerate(zip(gold, predicted, strict=True)) if None in pair), None)
    if missing is not None and unrated == "refuse":
        whose = "people" if gold[missing] is None else "the evaluator"
        raise InputError(f"segment number {missing + 1}: no label of {whose}; leave such out (unrated='leave-out')")
    left_out = SegmentsLeftOut(
        gold=cases[None, True] + cases[None, False],
        predicted=cases[True, None] + cases[False, None],
        both=cases[None, None],
    )
    result = Detection(cases[True, True], cases[False, True], cases[True, False], cases[False, False], left_out)
    if not result.segments:
        raise InputError("there is no segment with a label of people and of the evaluator")
    return result
