"""Error spans of an evaluator against people's: which are compared, and precision, recall and F1 by several measures.

Measures take the spans of one segment; :func:`score` adds their counts up. :func:`detection` is about labels of whole
translations: error-free or not.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import regex

from mtagent.analysis.agreement import Policy
from mtagent.analysis.ties import Floats
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import Bounds
from mtagent.records import ErrorSpan
from mtagent.text.mqm import SEVERITIES
from mtagent.text.scripts import UNSPACED
from mtagent.text.spans import find_spans
from mtagent.version import __version__

Unlocated = Literal["refuse", "leave-out", "locate", "miss"]
Outside = Literal["leave-out", "source", "segment"]
Field = Literal["translation", "source", "omission", "source error"]
"""The text that a span lies in; the last two are one place for the whole segment."""
Unit = Literal["characters", "spans"]
SpanGrouping = Literal["severity", "category"]

COMPARED = ("minor", "major", "critical")
"""Severities that are compared."""
_MAJOR_RANK = SEVERITIES.index("major")
_OTHER_NAMES = {
    "linguistic conventions": "fluency",
    "linguistic convention": "fluency",
    "locale conventions": "locale convention",
    "locale": "locale convention",
    "source": "source error",
    "source issue": "source error",
    "source errors": "source error",
    "non-translation!": "non-translation",
    "no category": "other",
    "": "other",
}
_SUBTYPES = {
    "accuracy": "addition, mistranslation, omission, untranslated, untranslated text",
    "fluency": "grammar, inconsistency, punctuation, register, spelling, character encoding, word order",
    "style": "awkward",
    "terminology": "inappropriate for context, inconsistent use",
    "locale convention": "address format, currency format, date format, measurement format, name format, "
    "number format, telephone format, time format",
}
_MAJOR_OF_SUBTYPE = {subtype: major for major, subtypes in _SUBTYPES.items() for subtype in subtypes.split(", ")}


def major_category(category: str) -> str:
    """The major category in lower case: ``Accuracy/Mistranslation`` and ``mistranslation`` are both ``accuracy``.

    The names are those of Freitag et al. (2021): the MQM core's ``linguistic conventions`` is ``fluency`` here, and
    ``inconsistency`` belongs to it. A bare subtype gets its major category; any other name stays unchanged.
    """
    plain = " ".join(category.casefold().replace("_", " ").split()).replace("non translation", "non-translation")
    major = plain.partition("/")[0].strip()
    major = _OTHER_NAMES.get(major, major)
    return _MAJOR_OF_SUBTYPE.get(major, major)


# --- which spans are compared


class SegmentErrors(NamedTuple):
    """The errors that people (``gold``) and an evaluator (``predicted``) marked in one translation.

    ``()`` means error-free; ``None`` means not rated, or that this evaluator marks no errors. Offsets are code points
    into the translation, or into the source for errors on its side. ``name`` is for messages.
    """

    gold: Sequence[ErrorSpan] | None
    predicted: Sequence[ErrorSpan] | None
    translation: str
    source: str = ""
    name: str = ""
    item: str = ""
    """The segment, where several systems translate it."""


@dataclass(frozen=True)
class SpanRules:
    """What becomes of segments and spans that cannot simply be compared.

    ``unrated``: segments whose errors are ``None`` on either side.

    ``unlocated``: spans without offsets, or with offsets where the text reads otherwise. ``locate`` searches their
    words (:func:`mtagent.text.spans.find_spans`) and leaves out those with no certain place; ``miss`` keeps these: they
    count as spans, and have no place to overlap with anything.

    ``outside``: omissions and source errors, which have no words in the translation. ``source``: they are spans of the
    source text (and unlocated, where they name no words of it). ``segment``: an omission matches any omission of the
    same segment, a source error any source error; each counts as one character.
    """

    unrated: Policy = "refuse"
    unlocated: Unlocated = "refuse"
    outside: Outside = "leave-out"

    def __post_init__(self) -> None:
        for name, choices in (("unrated", Policy), ("unlocated", Unlocated), ("outside", Outside)):
            if getattr(self, name) not in get_args(choices):
                raise ConfigError(f"{name}: one of {', '.join(get_args(choices))}, not {getattr(self, name)!r}")


DEFAULT_RULES = SpanRules()


class SegmentsLeftOut(NamedTuple):
    """Segments that were left out, because their errors are ``None`` on one side or on both."""

    gold: int = 0
    predicted: int = 0
    both: int = 0


class SpansLeftOut(NamedTuple):
    """Spans of one side that were left out, each for the first of these reasons.

    ``severity``: neutral. ``omissions`` and ``source_errors``: outside of the translation. ``unlocated``: no (certain)
    place. ``empty``: a place without a character.
    """

    severity: int = 0
    omissions: int = 0
    source_errors: int = 0
    unlocated: int = 0
    empty: int = 0


class Span(NamedTuple):
    """A span that is compared.

    ``start`` and ``end`` are offsets into ``field``, both −1 where it has no place. ``length`` is in characters,
    ``severity`` the place in ``mqm.SEVERITIES``.
    """

    field: Field
    start: int
    end: int
    length: int
    severity: int
    category: str
    words: str


Spans = tuple[Span, ...]


@dataclass(frozen=True)
class SpanPairs:
    """The spans of people and of an evaluator by segment, each segment's in a fixed order, and what was left out."""

    gold: tuple[Spans, ...]
    predicted: tuple[Spans, ...]
    left_out: SegmentsLeftOut
    gold_left_out: SpansLeftOut
    predicted_left_out: SpansLeftOut
    rules: SpanRules
    items: tuple[str, ...] = ()
    """The segment of each translation."""
    group: str | None = None
    """The only category or severity of the spans."""

    def signature(self, measure: Measure) -> str:
        """The measure, the rules, and how many segments, human spans and spans of the evaluator they left out."""
        counts = map(sum, (self.left_out, self.gold_left_out, self.predicted_left_out))
        rules = f"unlocated:{self.rules.unlocated}|outside:{self.rules.outside}"
        left_out = f"left-out:{','.join(map(str, counts))}|version:{__version__}"
        group = f"|group:{self.group}|against:same" if self.group else ""
        return f"{measure.signature}|severities:{','.join(COMPARED)}|{rules}|{left_out}{group}"


def span_pairs(segments: Iterable[SegmentErrors], rules: SpanRules = DEFAULT_RULES) -> SpanPairs:
    """Put the spans of both sides side by side.

    Raises :class:`InputError` for spans that ``rules`` refuse, and if no segment is left.
    """
    gold, predicted = list[Spans](), list[Spans]()
    gold_left_out, predicted_left_out, unrated = Counter[str](), Counter[str](), Counter[str]()
    items = []
    for number, segment in enumerate(segments, start=1):
        name = f"segment {segment.name!r}" if segment.name else f"segment number {number}"
        if segment.gold is not None and segment.predicted is not None:
            gold.append(_side(segment.gold, segment, rules, gold_left_out, f"{name}: the human span"))
            whose = f"{name}: the evaluator's span"
            predicted.append(_side(segment.predicted, segment, rules, predicted_left_out, whose))
            items.append(segment.item)
        elif rules.unrated == "refuse":
            who = "people" if segment.gold is None else "the evaluator, or it marks no spans"
            raise InputError(
                f"{name}: was not rated by {who} (its errors are None); leave such segments out (unrated='leave-out')"
            )
        else:
            unrated[_lacking(segment.gold, segment.predicted)] += 1
    if not gold:
        raise InputError("no segment was rated by both people and the evaluator, with error spans or as error-free")
    return SpanPairs(
        tuple(gold),
        tuple(predicted),
        SegmentsLeftOut(**unrated),
        SpansLeftOut(**gold_left_out),
        SpansLeftOut(**predicted_left_out),
        rules,
        tuple(items),
    )


def _lacking(gold: object | None, predicted: object | None) -> str:
    """The field of :class:`SegmentsLeftOut` for the missing side."""
    if gold is None and predicted is None:
        return "both"
    return "gold" if gold is None else "predicted"


def _side(
    errors: Sequence[ErrorSpan], segment: SegmentErrors, rules: SpanRules, left_out: Counter[str], name: str
) -> Spans:
    """The spans of one side of a segment that are compared; the others are counted in ``left_out``."""
    compared: list[tuple[ErrorSpan, Field]] = []
    for error in errors:
        if error.severity not in COMPARED:
            left_out["severity"] += 1
        elif error.side == "translation":
            compared.append((error, "translation"))
        elif rules.outside == "leave-out":
            left_out["omissions" if error.side == "omission" else "source_errors"] += 1
        elif rules.outside == "source":
            compared.append((error, "source"))
        elif error.side == "omission":
            compared.append((error, "omission"))
        else:
            compared.append((error, "source error"))
    texts: dict[Field, str] = {"translation": segment.translation, "source": segment.source}
    places = _places(compared, texts, search=rules.unlocated in ("locate", "miss"))
    spans = []
    for (error, field), place in zip(compared, places, strict=True):
        if place is None and rules.unlocated == "refuse":
            offsets = "" if error.start is None else f" at {error.start}–{error.end}"
            raise InputError(
                f"{name} {error.text[:40]!r}{offsets} has no place in the text; give its offsets, or search for its "
                "words (unlocated='locate'), or leave it out (unlocated='leave-out')"
            )
        if place is None and rules.unlocated != "miss":
            left_out["unlocated"] += 1
        elif place is not None and place[0] == place[1]:
            left_out["empty"] += 1
        else:
            start, end = place or (-1, -1)
            length = end - start if place else max(1, len(error.text))
            words: str = field  # omissions and errors in the source, which match by their kind alone
            if field in texts:
                words = error.text or texts[field][start:end]
            severity = SEVERITIES.index(error.severity)
            spans.append(Span(field, start, end, length, severity, major_category(error.category), words))
    return tuple(sorted(spans))


def _places(
    compared: Sequence[tuple[ErrorSpan, Field]], texts: Mapping[Field, str], search: bool
) -> list[tuple[int, int] | None]:
    """The places of errors: at their offsets, if their words are there, or else where a ``search`` finds them."""
    places: list[tuple[int, int] | None] = []
    for error, field in compared:
        start, end, text = error.start, error.end, texts.get(field, "")
        is_point = error.side == "omission" and start == end
        if field not in texts:
            places.append((0, 1))
        elif start is None or end is None or is_point or end > len(text) or error.text not in ("", text[start:end]):
            places.append(None)
        else:
            places.append((start, end))
    if not search:
        return places
    for searched, text in texts.items():
        unplaced, errors = [], []
        for number, (error, field) in enumerate(compared):
            if field != searched or places[number] is not None:
                continue
            update: dict[str, None] = {"start": None, "end": None}
            if error.side == "omission":
                # The words around an omission are of the translation, not of the source.
                update |= {"before": None, "after": None}
            unplaced.append(number)
            errors.append(error.model_copy(update=update))
        if errors:
            for number, finding in zip(unplaced, find_spans(text, errors), strict=True):
                if finding.certain:
                    places[number] = (finding.places[0].start, finding.places[0].end)
    return places


# --- measures


Counts = tuple[float, float, float, float]
"""Of a segment: credit for precision, what the evaluator marked, credit for recall, what people marked."""
Pair = tuple[int, int]
"""The places of a human span and of an evaluator's span in their segment."""
_CREDIT = 0.5
_TIE = 1e-9
_WORD = regex.compile(rf"[{UNSPACED}]\p{{M}}*|[^\W{UNSPACED}][\w\p{{M}}--{UNSPACED}]*|[^\w\s]", regex.V1)


class Measure(NamedTuple):
    """How the spans of a segment are counted, people's first."""

    signature: str
    unit: Unit
    counts: Callable[[Spans, Spans], Counts]


def _character_counts(gold: Spans, predicted: Spans) -> Counts:
    """Characters, each once for each span over it.

    One is matched as often as both sides have a span of its severity over it (critical is major), and half as often as
    they have one of another severity.
    """
    matched = 0.0
    for field in {span.field for span in gold}:
        edges: set[int] = set()
        for span in (*gold, *predicted):
            if span.field == field and span.start >= 0:
                edges |= {span.start, span.end}
        for start, end in pairwise(sorted(edges)):
            minor, major = _depths(gold, field, start)
            predicted_minor, predicted_major = _depths(predicted, field, start)
            same = min(minor, predicted_minor) + min(major, predicted_major)
            other = min(minor + major, predicted_minor + predicted_major) - same
            matched += (same + _CREDIT * other) * (end - start)
    marked = sum(span.length for span in predicted)
    marked_by_people = sum(span.length for span in gold)
    return matched, marked, matched, marked_by_people


def _depths(spans: Spans, field: Field, place: int) -> tuple[int, int]:
    """How many minor spans, and how many major or critical ones, lie over a character."""
    minor = major = 0
    for span in spans:
        if span.field == field and span.start <= place < span.end:
            if span.severity >= _MAJOR_RANK:
                major += 1
            else:
                minor += 1
    return minor, major


CHARACTERS = Measure(f"char-f1|credit:{_CREDIT:g}", "characters", _character_counts)
"""The score of WMT25's task on error spans: characters, with half of the credit for those of the wrong severity."""


def _overlap_counts(gold: Spans, predicted: Spans) -> Counts:
    common: dict[Pair, int] = {}
    for gold_place, first in enumerate(gold):
        for predicted_place, second in enumerate(predicted):
            shared = min(first.end, second.end) - max(first.start, second.start)
            if shared > 0 and first.field == second.field and min(first.start, second.start) >= 0:
                common[gold_place, predicted_place] = shared
    longest = max(common.values(), default=1)
    weights = {}
    for (gold_place, predicted_place), shared in common.items():
        dice = 2 * shared / (gold[gold_place].length + predicted[predicted_place].length)
        weights[gold_place, predicted_place] = dice + _TIE * (1 + dice) * shared / longest
    pairs = best_pairs(weights)
    precise = sum(common[pair] / predicted[pair[1]].length for pair in pairs)
    recalled = sum(common[pair] / gold[pair[0]].length for pair in pairs)
    return precise, len(predicted), recalled, len(gold)


PARTIAL_OVERLAP = Measure("partial-overlap|credit:share|severity:1", "spans", _overlap_counts)
"""Each span has at most one partner, which it overlaps; its credit is the share of its characters in common.

Partners are chosen so that the Dice coefficients of the pairs add up to the most; of equally good choices, the one with
more characters in common, in pairs that are more alike. Source: "match with partial overlap and partial credit" (mpp,
micro-averaged) of Perrella et al. (2026), Span-Level Machine Translation Meta-Evaluation, arXiv 2603.19921.
"""


def matching(threshold: float = 0.5) -> Measure:
    """Spans of which at least ``threshold`` (above 0, at most 1) is common to both: HiMATE's Algorithm 1 (appendix E).

    The common part is the longest shared run of words, wherever it is; spans need no place. The paper does not say how
    matches become precision and recall: here each span has at most one partner, and as many as possible have one.
    Severity and category are ignored.
    """
    if not 0 < threshold <= 1:
        raise ConfigError(f"threshold: above 0 and at most 1, not {threshold}")

    def counts(gold: Spans, predicted: Spans) -> Counts:
        weights: dict[Pair, float] = {}
        for gold_place, first in enumerate(gold):
            for predicted_place, second in enumerate(predicted):
                if first.field == second.field and common_words(first.words, second.words) >= threshold:
                    weights[gold_place, predicted_place] = 1.0
        matched = best_pairs(weights)
        return len(matched), len(predicted), len(matched), len(gold)

    return Measure(f"match|threshold:{threshold:g}|by:words|partners:one", "spans", counts)


THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))
"""Those of HiMATE's Figure 3."""
MEASURES = {"characters": CHARACTERS, "partial overlap": PARTIAL_OVERLAP, "match at 0.5": matching()}


@lru_cache(maxsize=2**14)
def common_words(first: str, second: str) -> float:
    """The share of the longer text that is the longest run of words common to both."""
    first_words, second_words = words(first), words(second)
    run = SequenceMatcher(None, first_words, second_words, autojunk=False).find_longest_match()
    return run.size / max(1, len(first_words), len(second_words))


def words(text: str) -> tuple[str, ...]:
    """The words and marks of ``text``; each character, in scripts without spaces between words. A blank is itself."""
    found_words = tuple(_WORD.findall(text))
    if not found_words and text:
        return (text,)
    return found_words


def best_pairs(weights: Mapping[Pair, float]) -> list[Pair]:
    """The pairs in which no span occurs twice and whose weights (> 0) add up to the most.

    Shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987). Column 0 isn't a column, but where
    the path of a new row begins.
    """
    if len(weights) < 2:
        return list(weights)
    rows, columns = (sorted(set(places)) for places in zip(*weights, strict=True))
    table = np.zeros((len(rows), len(columns) + len(rows)))  # the last ones are for rows without a partner
    for (row, column), weight in weights.items():
        table[rows.index(row), columns.index(column)] = weight
    cost, size = table.max() - table, table.shape[1] + 1
    row_price, column_price, reduced = np.zeros(len(rows)), np.zeros(size), np.full(size, np.inf)
    owner = np.full(size, -1)
    for row in range(len(rows)):
        owner[0], at = row, 0
        slack, came_from = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
        done = np.zeros(size, dtype=bool)
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
    pairs = [(rows[row], columns[at]) for at, row in enumerate(owner[1 : len(columns) + 1]) if row >= 0]
    return sorted(pair for pair in pairs if pair in weights)


# --- scores


@dataclass(frozen=True)
class SpanScore:
    """Precision, recall and F1 over all segments (micro: of added-up counts).

    ``predicted`` and ``gold`` are how much the evaluator and people marked, ``right`` and ``found`` how much of each
    was credited, all in ``unit``. ``macro_f1`` is the mean of the segments' own F1 (1 where neither marked anything).
    ``group``: the category or severity that it is about. ``segments_left_out``, ``gold_left_out`` and
    ``predicted_left_out`` count what was not compared.
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
    intervals: Mapping[str, Bounds | None] = dataclasses.field(default_factory=dict)
    """95 % intervals of precision, recall, f1 and macro_f1, if segments were resampled."""


def segment_counts(pairs: SpanPairs, measure: Measure) -> Floats:
    """The counts of each segment: segments × 4."""
    return np.array([measure.counts(*spans) for spans in zip(pairs.gold, pairs.predicted, strict=True)], np.float64)


def score(pairs: SpanPairs, measure: Measure, counts: Floats | None = None) -> SpanScore:
    """The score of all segments together; ``counts`` are the :func:`segment_counts`, if they are known."""
    if counts is None:
        counts = segment_counts(pairs, measure)
    precision, recall, f1 = rates(counts.sum(axis=0, keepdims=True))[0].tolist()
    right, predicted, found, gold = counts.sum(axis=0).tolist()
    return SpanScore(
        precision=precision,
        recall=recall,
        f1=f1,
        macro_f1=float(rates(counts)[:, 2].mean()),
        right=right,
        predicted=predicted,
        found=found,
        gold=gold,
        unit=measure.unit,
        segments=len(pairs.gold),
        segments_left_out=pairs.left_out,
        gold_left_out=pairs.gold_left_out,
        predicted_left_out=pairs.predicted_left_out,
        signature=pairs.signature(measure),
        group=pairs.group,
    )


def by_group(pairs: SpanPairs, grouping: SpanGrouping) -> dict[str, SpanPairs]:
    """The spans of each severity (from harmless to worst) or category (by name), on both sides."""
    groups: set[Any] = set()
    for spans in (*pairs.gold, *pairs.predicted):
        groups.update(getattr(span, grouping) for span in spans)
    pairs_by_name = {}
    for group in sorted(groups):
        sides = []
        for side in (pairs.gold, pairs.predicted):
            sides.append(tuple(tuple(span for span in spans if getattr(span, grouping) == group) for spans in side))
        gold, predicted = sides
        name = SEVERITIES[group] if grouping == "severity" else group
        pairs_by_name[name] = replace(pairs, gold=gold, predicted=predicted, group=name)
    return pairs_by_name


def rates(counts: Floats) -> Floats:
    """Precision, recall and F1 of rows of counts: rows × 3. A share of nothing is 1."""
    credit, marked = counts[:, [0, 2]], counts[:, [1, 3]]
    shares = np.divide(credit, marked, out=np.ones_like(credit), where=marked > 0)
    product, total = shares.prod(axis=1), shares.sum(axis=1)
    f1 = np.divide(2 * product, total, out=np.zeros(len(counts)), where=total > 0)
    return np.column_stack([shares, f1])


# --- error-free translations


ESA_ERROR_FREE = 85.0
"""WMT26's threshold for ESA scores (0 to 100)."""


class Detection(NamedTuple):
    """How well error-free translations are distinguished from others; "positive" is error-free.

    ``f1`` is the harmonic mean of precision and recall, ``accuracy`` the share of right labels; a share of nothing is
    ``None``. ``left_out``: without a label on the side(s) named.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float | None
    left_out: SegmentsLeftOut


def is_error_free(
    errors: Collection[ErrorSpan] | None, score: float | None = None, at_least: float | None = None
) -> bool | None:
    """Whether a translation is labelled error-free: no error is marked and, with ``at_least``, its score reaches it.

    ``None`` if that is unknown: ``errors`` are ``None`` (not rated), or the required score is. Errors
    of all severities and sides count, as at WMT26 (with ``at_least=ESA_ERROR_FREE`` for ESA scores).
    """
    if errors is None or (not errors and at_least is not None and score is None):
        return None
    return not errors and (at_least is None or score is None or score >= at_least)


def detection(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], *, unrated: Policy = "refuse"
) -> Detection:
    """Compare an evaluator's labels with people's: ``True`` is error-free, ``None`` is unlabelled.

    Raises :class:`InputError` for lists of different lengths and for a missing label (if refused).
    """
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} labels of people and {len(predicted)} of the evaluator; each segment needs both")
    cases, left_out = Counter[tuple[bool | None, bool | None]](), Counter[str]()
    for number, labels in enumerate(zip(gold, predicted, strict=True), start=1):
        if None not in labels:
            cases[labels] += 1
        elif unrated == "refuse":
            whose = "people" if labels[0] is None else "the evaluator"
            raise InputError(f"segment number {number}: no label of {whose}; leave such out (unrated='leave-out')")
        else:
            left_out[_lacking(*labels)] += 1
    right, wrong, missed, others = cases[True, True], cases[False, True], cases[True, False], cases[False, False]

    def share(part: int, whole: int) -> float | None:
        return part / whole if whole else None

    return Detection(
        right,
        wrong,
        missed,
        others,
        precision=share(right, right + wrong),
        recall=share(right, right + missed),
        f1=share(2 * right, 2 * right + wrong + missed),
        accuracy=share(right + others, cases.total()),
        left_out=SegmentsLeftOut(**left_out),
    )
