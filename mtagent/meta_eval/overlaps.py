"""Which spans of people and of an evaluator overlap, and by how much: in characters of the text, or in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import regex

from mtagent.meta_eval.marked import FIELDS, Floats, Ints, Side, SpanPairs
from mtagent.mqm import SEVERITIES

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*|[^\W{_UNSPACED}][\w\p{{M}}--{_UNSPACED}]*|[^\w\s]", regex.V1)
_MAJOR = SEVERITIES.index("major")

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
            chosen = (side.severity >= _MAJOR) == is_major
            edges = [np.searchsorted(points, edge[chosen]) for edge in (side.start, side.end)]
            begun, ended = (np.bincount(edge, minlength=len(points)) for edge in edges)
            rows.append(np.cumsum(begun - ended)[:-1])
    segment = np.searchsorted(pairs.starts, points[:-1], side="right") - 1
    return np.stack(rows), np.diff(points), segment // FIELDS
