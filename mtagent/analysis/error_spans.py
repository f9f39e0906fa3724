"""One partner for each span: the pairs with the highest sum of weights in which no span occurs twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
import regex
from numpy.typing import NDArray

from mtagent.errors import ConfigError, InputError
from mtagent.records import ErrorSpan, Severity
from mtagent.text.mqm import SEVERITIES
from mtagent.text.scripts import UNSPACED
from mtagent.text.spans import find_spans

_MAJOR = {
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
_OF_SUBTYPE = {
    "addition": "accuracy",
    "mistranslation": "accuracy",
    "omission": "accuracy",
    "untranslated": "accuracy",
    "untranslated text": "accuracy",
    "grammar": "fluency",
    "inconsistency": "fluency",
    "punctuation": "fluency",
    "register": "fluency",
    "spelling": "fluency",
    "character encoding": "fluency",
    "word order": "fluency",
    "awkward": "style",
    "inappropriate for context": "terminology",
    "inconsistent use": "terminology",
    "address format": "locale convention",
    "currency format": "locale convention",
    "date format": "locale convention",
    "measurement format": "locale convention",
    "name format": "locale convention",
    "number format": "locale convention",
    "telephone format": "locale convention",
    "time format": "locale convention",
}


def major_category(category: str) -> str:
    """The major category in lower case: ``Accuracy/Mistranslation`` and ``mistranslation`` are both ``accuracy``.

    The names are those of Freitag et al. (2021): the MQM core's ``linguistic conventions`` is ``fluency`` here, and
    ``inconsistency`` belongs to it. A bare subtype gets its major category; any other name stays what it is.
    """
    major = plain_category(category).partition("/")[0].strip()
    named = _MAJOR.get(major, major)
    return _OF_SUBTYPE.get(named, named)


def plain_category(category: str) -> str:
    """The whole category in lower case, with spaces for underscores."""
    return " ".join(category.casefold().replace("_", " ").split()).replace("non translation", "non-translation")


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Unrated = Literal["refuse", "leave-out"]
Unlocated = Literal["refuse", "leave-out", "locate", "miss"]
Outside = Literal["leave-out", "source", "segment"]

FIELDS = 4
"""Fields of a segment in the one long text."""


class Marked(NamedTuple):
    """The errors that people (``gold``) and an evaluator (``predicted``) marked in one translation.

    ``()`` says that it is error-free, ``None`` that it was not rated, or that this evaluator marks no errors. Offsets
    are code points into the translation, of errors on the source's side into the source. ``name`` is for messages.
    """

    gold: Sequence[ErrorSpan] | None
    predicted: Sequence[ErrorSpan] | None
    translation: str
    source: str = ""
    name: str = ""


@dataclass(frozen=True)
class SpanRules:
    """What becomes of segments and spans that cannot simply be compared.

    ``unrated``: segments whose errors are ``None`` on either side.

    ``unlocated``: spans without offsets, or with offsets at which their words do not stand. ``locate`` searches their
    words (:func:`mtagent.text.spans.find_spans`) and leaves out those with no certain place; ``miss`` keeps these: they
    count as spans, and have no place to overlap with anything.

    ``outside``: omissions and source errors, which have no words in the translation. ``source``: they are spans of the
    source text (and unlocated, where they name no words of it). ``segment``: an omission matches any omission of the
    same segment, a source error any source error; each counts as one character.

    ``severities``: the others are left out. ``category``: the name by which categories are compared.
    """

    unrated: Unrated = "refuse"
    unlocated: Unlocated = "refuse"
    outside: Outside = "leave-out"
    severities: tuple[Severity, ...] = ("minor", "major", "critical")
    category: Callable[[str], str] = major_category

    def __post_init__(self) -> None:
        for name, allowed in (("unrated", Unrated), ("unlocated", Unlocated), ("outside", Outside)):
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(f"{name}: one of {', '.join(get_args(allowed))}, not {getattr(self, name)!r}")
        if not self.severities or set(self.severities) - set(SEVERITIES):
            raise ConfigError(f"severities: some of {', '.join(SEVERITIES)}, not {self.severities!r}")

    @property
    def signature(self) -> str:
        """The rules that change a number."""
        return f"severities:{','.join(self.severities)}|unlocated:{self.unlocated}|outside:{self.outside}"


class SegmentsLeftOut(NamedTuple):
    """Segments that were left out, because their errors are ``None`` on one side or on both."""

    gold: int = 0
    predicted: int = 0
    both: int = 0

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


class SpansLeftOut(NamedTuple):
    """Spans of one side that were left out, each for the first of these reasons.

    ``severity``: not one of the rules' severities. ``omissions`` and ``source_errors``: outside of the translation.
    ``unlocated``: no (certain) place. ``empty``: a place without a character.
    """

    severity: int = 0
    omissions: int = 0
    source_errors: int = 0
    unlocated: int = 0
    empty: int = 0

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


@dataclass(frozen=True, eq=False)
class Side:
    """The spans of one side, all arrays with an entry for each, ordered by segment, field and place.

    ``segment``: the place in ``SpanPairs.kept``. ``start`` and ``end``: offsets into the one long text; both −1 where a
    span has no place. ``length``: characters. ``severity``: the place in ``mqm.SEVERITIES``. ``category``: the place in
    ``SpanPairs.categories``.
    """

    segment: Ints
    field: Ints
    start: Ints
    end: Ints
    length: Ints
    severity: Ints
    category: Ints
    words: tuple[str, ...]
    left_out: SpansLeftOut

    def __len__(self) -> int:
        return len(self.words)

    @property
    def placed(self) -> Bools:
        """Which spans have a place."""
        return self.start >= 0

    def chosen(self, mask: Bools) -> Side:
        """Only the spans where ``mask`` is true."""
        words = tuple(word for word, wanted in zip(self.words, mask.tolist(), strict=True) if wanted)
        return Side(
            segment=self.segment[mask],
            field=self.field[mask],
            start=self.start[mask],
            end=self.end[mask],
            length=self.length[mask],
            severity=self.severity[mask],
            category=self.category[mask],
            words=words,
            left_out=self.left_out,
        )


@dataclass(frozen=True, eq=False)
class SpanPairs:
    """The spans of people and of an evaluator in the same segments, as ``pairing.span_pairs`` makes them.

    ``kept``: the places of the compared segments among those given. ``starts``: where each of their fields begins in
    the one long text, segments × :data:`FIELDS`, and at the end where it ends.
    """

    gold: Side
    predicted: Side
    kept: tuple[int, ...]
    starts: Ints
    categories: tuple[str, ...]
    left_out: SegmentsLeftOut
    rules: SpanRules

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def signature(self) -> str:
        """The rules, and how many segments, human spans and spans of the evaluator they left out."""
        counts = (self.left_out.total, self.gold.left_out.total, self.predicted.left_out.total)
        return f"{self.rules.signature}|left-out:{','.join(map(str, counts))}"


DEFAULT_RULES = SpanRules()
_TRANSLATION, _SOURCE, _OMITTED, _IN_SOURCE = range(FIELDS)
_SLOT_WORDS = {_OMITTED: "omission", _IN_SOURCE: "source error"}
_NO_PLACE = -1
_WAY_OUT = "give its offsets, or search for its words (unlocated='locate'), or leave it out (unlocated='leave-out')"


def span_pairs(marked: Iterable[Marked], rules: SpanRules = DEFAULT_RULES) -> SpanPairs:
    """Put the spans of both sides into arrays.

    Raises :class:`InputError` for what ``rules`` refuse, and where no segment is left.
    """
    rows = list(marked)
    kept, left_out = _rated(rows, rules)
    if not kept:
        raise InputError("there is no segment in which people and the evaluator marked errors, or said there are none")
    lengths = [length for at in kept for length in (len(rows[at].translation), len(rows[at].source), 1, 1)]
    starts = np.r_[0, np.cumsum(np.array(lengths, dtype=np.int64))]
    categories: dict[str, int] = {}
    chosen = [(_named(rows[at], at), rows[at]) for at in kept]
    gold = _Reader("the human", rules, categories).side([(name, row.gold or (), row) for name, row in chosen], starts)
    theirs = [(name, row.predicted or (), row) for name, row in chosen]
    predicted = _Reader("the evaluator's", rules, categories).side(theirs, starts)
    return SpanPairs(gold, predicted, tuple(kept), starts, tuple(categories), left_out, rules)


def _rated(rows: Sequence[Marked], rules: SpanRules) -> tuple[list[int], SegmentsLeftOut]:
    kept: list[int] = []
    counts = [0, 0, 0]
    for at, row in enumerate(rows):
        if row.gold is not None and row.predicted is not None:
            kept.append(at)
            continue
        if rules.unrated == "refuse":
            why = (
                "was not rated by people"
                if row.gold is None
                else "was not rated by the evaluator, or it marks no spans"
            )
            raise InputError(
                f"{_named(row, at)}: {why} (its errors are None); leave such segments out (unrated='leave-out')"
            )
        counts[(row.gold is None) + 2 * (row.predicted is None) - 1] += 1
    return kept, SegmentsLeftOut(*counts)


def _named(row: Marked, at: int) -> str:
    return f"segment {row.name!r}" if row.name else f"segment number {at + 1}"


class _Place(NamedTuple):
    field: int
    start: int
    end: int


@dataclass
class _Reader:
    """Reads the spans of one side, row by row."""

    whose: str
    rules: SpanRules
    categories: dict[str, int]
    known: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SpansLeftOut._fields, 0))

    def side(self, rows: Iterable[tuple[str, Sequence[ErrorSpan], Marked]], starts: Ints) -> Side:
        found: list[tuple[int, ...]] = []
        words: list[str] = []
        for segment, (name, errors, row) in enumerate(rows):
            for error, place in self._places(errors, row, name):
                category = self._number(error.category)
                length = max(1, len(error.text)) if place.start < 0 else place.end - place.start
                found.append((segment, *place, length, SEVERITIES.index(error.severity), category))
                words.append(_words(error, place, row))
        return _sorted(found, words, starts, SpansLeftOut(**self.counts))

    def _number(self, category: str) -> int:
        """The number of a category's name; the rules are asked once for each."""
        if category not in self.known:
            self.known[category] = self.categories.setdefault(self.rules.category(category), len(self.categories))
        return self.known[category]

    def _places(self, errors: Sequence[ErrorSpan], row: Marked, name: str) -> list[tuple[ErrorSpan, _Place]]:
        found = []
        for error, place in self._located([error for error in errors if not self._left_out(error)], row):
            if place is None and self.rules.unlocated == "refuse":
                raise InputError(f"{name}: {self.whose} span {_shown(error)} has no place in the text; {_WAY_OUT}")
            if place is None and self.rules.unlocated != "miss":
                self.counts["unlocated"] += 1
            elif place is not None and place.start == place.end:
                self.counts["empty"] += 1
            else:
                found.append((error, place or _Place(self._field(error), _NO_PLACE, _NO_PLACE)))
        return found

    def _left_out(self, error: ErrorSpan) -> bool:
        if error.severity not in self.rules.severities:
            self.counts["severity"] += 1
        elif error.side != "translation" and self.rules.outside == "leave-out":
            self.counts["omissions" if error.side == "omission" else "source_errors"] += 1
        else:
            return False
        return True

    def _field(self, error: ErrorSpan) -> int:
        if error.side == "translation":
            return _TRANSLATION
        if self.rules.outside == "source":
            return _SOURCE
        return _OMITTED if error.side == "omission" else _IN_SOURCE

    def _located(self, errors: Sequence[ErrorSpan], row: Marked) -> list[tuple[ErrorSpan, _Place | None]]:
        places = [_given(error, self._field(error), row) for error in errors]
        if self.rules.unlocated in ("locate", "miss"):
            for wanted, text in ((_TRANSLATION, row.translation), (_SOURCE, row.source)):
                lost = [at for at, place in enumerate(places) if not place and self._field(errors[at]) == wanted]
                searched = find_spans(text, [_bare(errors[at]) for at in lost]) if lost else []
                for at, finding in zip(lost, searched, strict=True):
                    places[at] = _Place(wanted, *finding.places[0]) if finding.certain else None
        return list(zip(errors, places, strict=True))


def _given(error: ErrorSpan, where: int, row: Marked) -> _Place | None:
    """The place that the offsets give, if the span's words stand there."""
    if where in _SLOT_WORDS:
        return _Place(where, 0, 1)
    if error.start is None or error.end is None or (error.side == "omission" and error.start == error.end):
        return None
    text = row.translation if where == _TRANSLATION else row.source
    stands = error.end <= len(text) and error.text in ("", text[error.start : error.end])
    return _Place(where, error.start, error.end) if stands else None


def _bare(error: ErrorSpan) -> ErrorSpan:
    """``error`` as it is searched for. What stands around an omission is of the translation, not of the source."""
    around = {} if error.side != "omission" else {"before": None, "after": None}
    return error.model_copy(update={"start": None, "end": None, **around})


def _words(error: ErrorSpan, place: _Place, row: Marked) -> str:
    if place.field in _SLOT_WORDS:
        return _SLOT_WORDS[place.field]
    text = row.translation if place.field == _TRANSLATION else row.source
    return error.text or text[place.start : place.end]


def _shown(error: ErrorSpan) -> str:
    at = "" if error.start is None else f" at {error.start}–{error.end}"
    return f"{error.text[:40]!r}{at}"


def _sorted(found: Sequence[tuple[int, ...]], words: Sequence[str], starts: Ints, left_out: SpansLeftOut) -> Side:
    """In one order whatever the order given, and with offsets into the one long text."""
    order = sorted(range(len(found)), key=lambda at: (found[at], words[at]))
    table = np.array([found[at] for at in order], dtype=np.int64).reshape(-1, 7)
    segment, where, start, end, length, severity, category = (column.copy() for column in table.T)
    base = starts[segment * FIELDS + where]
    placed = start >= 0
    start, end = np.where(placed, start + base, _NO_PLACE), np.where(placed, end + base, _NO_PLACE)
    return Side(segment, where, start, end, length, severity, category, tuple(words[at] for at in order), left_out)


_WORD = regex.compile(rf"[{UNSPACED}]\p{{M}}*|[^\W{UNSPACED}][\w\p{{M}}--{UNSPACED}]*|[^\w\s]", regex.V1)
_OVERLAPS_MAJOR = SEVERITIES.index("major")

Words = tuple[str, ...]


class Overlaps(NamedTuple):
    """Pairs of a human span and one of the evaluator's in the same segment, ordered by segment.

    ``gold`` and ``predicted`` are their places on their sides, ``length`` is what they have in common, and
    ``gold_length`` and ``predicted_length`` are their own lengths in the same unit.
    """

    gold: Ints
    predicted: Ints
    segment: Ints
    length: Ints
    gold_length: Ints
    predicted_length: Ints

    @property
    def share(self) -> Floats:
        """The common part of the longer of the two, 0 to 1."""
        shares: Floats = self.length / np.maximum(self.gold_length, self.predicted_length)
        return shares


def in_characters(pairs: SpanPairs) -> Overlaps:
    """All pairs of spans that have a character of the text in common, and how many."""
    golds, theirs = np.flatnonzero(pairs.gold.placed), np.flatnonzero(pairs.predicted.placed)
    a, b = pairs.gold.chosen(pairs.gold.placed), pairs.predicted.chosen(pairs.predicted.placed)
    begun_in_gold = _within(b.start, a.start, a.end)
    begun_in_theirs = _within(a.start, b.start + 1, b.end)
    gold = np.r_[begun_in_gold[0], begun_in_theirs[1]]
    predicted = np.r_[begun_in_gold[1], begun_in_theirs[0]]
    common = np.minimum(a.end[gold], b.end[predicted]) - np.maximum(a.start[gold], b.start[predicted])
    order = np.lexsort((predicted, gold, a.segment[gold]))
    found = (golds[gold], theirs[predicted], a.segment[gold], common, a.length[gold], b.length[predicted])
    return Overlaps(*(column[order] for column in found))


def _within(starts: Ints, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """For all intervals the rising ``starts`` in them, low ≤ start < high: (intervals, starts)."""
    first = np.searchsorted(starts, lows)
    return _ranges(first, np.searchsorted(starts, np.maximum(lows, highs)) - first)


def _ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Each place repeated ``counts`` times, beside ``first``, ``first`` + 1 …"""
    repeated = np.repeat(np.arange(len(counts)), counts)
    return repeated, np.arange(len(repeated)) + np.repeat(first - (np.cumsum(counts) - counts), counts)


def in_words(pairs: SpanPairs) -> Overlaps:
    """All pairs of spans of one segment and field with a word in common, and their longest common run of words.

    Words are compared as they are written, wherever in the segment they stand; so a span needs no place.
    """
    gold, predicted = _of_one_field(pairs)
    golds, theirs = _worded(pairs.gold), _worded(pairs.predicted)
    runs: dict[tuple[Words, Words], int] = {}
    vocabularies = [frozenset(found) for found in golds]
    common = np.zeros(len(gold), dtype=np.int64)
    for at, (a, b) in enumerate(zip(gold.tolist(), predicted.tolist(), strict=True)):
        if not vocabularies[a].isdisjoint(theirs[b]):
            key = golds[a], theirs[b]
            common[at] = runs[key] if key in runs else runs.setdefault(key, longest_run(*key))
    held = common > 0
    gold, predicted = gold[held], predicted[held]
    sizes = [np.array([len(words) for words in side], dtype=np.int64) for side in (golds, theirs)]
    return Overlaps(gold, predicted, pairs.gold.segment[gold], common[held], sizes[0][gold], sizes[1][predicted])


def _of_one_field(pairs: SpanPairs) -> tuple[Ints, Ints]:
    """All pairs of spans of the same segment and field."""
    a, b = (side.segment * FIELDS + side.field for side in (pairs.gold, pairs.predicted))
    first = np.searchsorted(b, a)
    return _ranges(first, np.searchsorted(b, a, side="right") - first)


def _worded(side: Side) -> list[Words]:
    known = {text: words(text) for text in set(side.words)}
    return [known[text] for text in side.words]


def words(text: str) -> Words:
    """The words and marks of ``text``; each character, in scripts without spaces between words. A blank is itself."""
    return tuple(_WORD.findall(text)) or ((text,) if text else ())


def longest_run(first: Words, second: Words) -> int:
    """How many words the longest run has that stands in both. Where there is one, there are all shorter ones."""
    low, high = 0, min(len(first), len(second))
    if first == second:
        return high
    while low < high:
        size = (low + high + 1) // 2
        runs = {first[at : at + size] for at in range(len(first) - size + 1)}
        if any(second[at : at + size] in runs for at in range(len(second) - size + 1)):
            low = size
        else:
            high = size - 1
    return low


def characters(pairs: SpanPairs, credit: float) -> Floats:
    """By segment: matched characters, those of the evaluator's spans, and those of people's: segments × 3.

    A character counts once for each span over it. It is matched as often as both sides have a span of its severity
    over it (critical is major, neutral is minor), and ``credit`` times as often as they have one of another severity.
    """
    size = len(pairs)
    depth, lengths, segment = _depths(pairs)
    gold, predicted = depth[:2], depth[2:]
    matched = np.minimum(gold, predicted).sum(axis=0)
    left = [np.maximum(one - other, 0).sum(axis=0) for one, other in ((gold, predicted), (predicted, gold))]
    matched = (matched + credit * np.minimum(*left)) * lengths
    totals = [np.bincount(side.segment, side.length, size) for side in (pairs.predicted, pairs.gold)]
    return np.stack([np.bincount(segment, matched, size), *totals], axis=1).astype(np.float64)


def _depths(pairs: SpanPairs) -> tuple[Ints, Ints, Ints]:
    """How many spans lie over each stretch of text between two edges of spans, its length and its segment.

    Rows: people's minor and major spans, the evaluator's minor and major ones.
    """
    sides = [side.chosen(side.placed) for side in (pairs.gold, pairs.predicted)]
    points = np.unique(np.concatenate([edge for side in sides for edge in (side.start, side.end)]))
    rows = []
    for side in sides:
        for is_major in (False, True):
            chosen = (side.severity >= _OVERLAPS_MAJOR) == is_major
            edges = [np.searchsorted(points, edge[chosen]) for edge in (side.start, side.end)]
            begun, ended = (np.bincount(edge, minlength=len(points)) for edge in edges)
            rows.append(np.cumsum(begun - ended)[:-1])
    segment = np.searchsorted(pairs.starts, points[:-1], side="right") - 1
    return np.stack(rows), np.diff(points), segment // FIELDS


def best_pairs(first: Ints, second: Ints, weight: Floats, group: Ints) -> Bools:
    """Which pairs are chosen so that no first and no second occurs twice and the weights add up to the most.

    All arrays have an entry for each pair: the numbers of both, a weight > 0, and the segment, in rising order. With
    equal weights this is a matching of maximum size. Where only one side has rivals, the heaviest pair is taken; the
    other segments are solved one by one (Kuhn 1955).
    """
    if not len(first):
        return np.zeros(0, dtype=bool)
    alone = _alone(first, second), _alone(second, first)
    chosen = (alone[0] & _is_heaviest(first, weight)) | (alone[1] & _is_heaviest(second, weight))
    rivals = np.flatnonzero(~(alone[0] | alone[1]))
    if not len(rivals):
        return chosen
    for places in np.split(rivals, np.flatnonzero(np.diff(group[rivals])) + 1):
        rows, row = np.unique(first[places], return_inverse=True)
        columns, column = np.unique(second[places], return_inverse=True)
        table = np.zeros((len(rows), len(columns)))
        table[row, column] = weight[places]
        partner = heaviest(table)
        chosen[places] = partner[row] == column
    return chosen


def _alone(first: Ints, second: Ints) -> Bools:
    """Whether all partners of a pair's first have no other partner."""
    shared = np.bincount(second)[second] > 1
    found: Bools = np.bincount(first, shared)[first] == 0
    return found


def _is_heaviest(first: Ints, weight: Floats) -> Bools:
    """Whether a pair is the heaviest of its first (and the earliest of these)."""
    order = np.lexsort((-weight, first))
    leading = np.r_[True, np.diff(first[order]) > 0]
    found = np.zeros(len(first), dtype=bool)
    found[order[leading]] = True
    return found


def heaviest(table: Floats) -> Ints:
    """For each row the column that it gets, −1 for none; weights of 0 are no pairs. Rows × columns, weights ≥ 0."""
    if table.shape[0] > table.shape[1]:
        partner = np.full(table.shape[0], -1, dtype=np.int64)
        turned = heaviest(np.ascontiguousarray(table.T))
        partner[turned[turned >= 0]] = np.flatnonzero(turned >= 0)
        return partner
    partner = table.argmax(axis=1) if len(table) == 1 else _assigned(table.max() - table)
    partner[table[np.arange(len(table)), partner] <= 0] = -1
    return partner


def _assigned(cost: Floats) -> Ints:
    """The cheapest column for each row, no column twice: shortest augmenting paths with potentials (rows ≤ columns).

    Column 0 is no column, but where the path of a new row begins.
    """
    rows, columns = cost.shape
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
    partner = np.full(rows, -1, dtype=np.int64)
    taken = np.flatnonzero(owner[1:] >= 0)
    partner[owner[1:][taken]] = taken
    return partner
