"""Which sentences of a translation stand for which of its source, by their lengths and by what they share.

After Gale and Church (1993), with a text in between: what a sentence of the source became in the text before is looked
for in the text after. Nothing is asked of the languages.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import inf, log
from typing import NamedTuple

import regex

from mtagent.text.alignment import grams
from mtagent.text.paragraphs import sentences
from mtagent.text.scripts import letters, remembered, words

_SHAPES = ((1, 1, 0.0), (1, 0, 5.0), (0, 1, 5.0), (2, 1, 1.5), (1, 2, 1.5), (2, 2, 2.5), (3, 1, 2.5), (1, 3, 2.5))
"""How many sentences of each side may stand for each other, and what that costs."""
_SPREAD, _SMALLEST, _WORST = 0.35, 10.0, 8.0
"""Standard deviation of the log of the quotient of two lengths, letters added to both, and the most it may cost."""
_SHARED, _NAMED, _MOST_NAMED = 6.0, 0.7, 3.0
_ALIKE = 0.4
"""What every two sentences of the same place must share to be paired without a further look."""
_REACH = 4
"""Sentences by which the two sides may be out of step."""
MOST_PAIRS = 10_000
"""Sentences of one text times those of the other; longer texts are not paired."""
_NAME = regex.compile(r"[a-z0-9]{2,}+|\d|[?!]|\p{Emoji_Presentation}")
_MARKS = str.maketrans("？！؟", "?!?")


@remembered
def names(text: str) -> tuple[str, ...]:
    """What a translation leaves as it is: names in Latin letters, numbers, pictures, question marks."""
    return tuple(_NAME.findall(text.casefold().translate(_MARKS)))


class Pair(NamedTuple):
    """Sentences of the source, and the letters of what stands for them."""

    sentences: int
    source: float
    before: float
    after: float
    lost_names: int
    """Names, numbers and marks of source and text before that the text after lacks here."""
    text: str
    """The text before; never empty."""
    text_after: str
    text_source: str


class _Side:
    def __init__(self, text: str, lang: str = "") -> None:
        self.parts = [part for part in sentences(text, lang) if words(part)]
        self.sums = list(accumulate(map(letters, self.parts), initial=0.0))
        self._grams: dict[tuple[int, int], frozenset[str]] = {}
        self._names = [frozenset(names(part)) for part in self.parts]

    def size(self, low: int, high: int) -> float:
        return self.sums[high] - self.sums[low]

    def grams(self, low: int, high: int) -> frozenset[str]:
        if (low, high) not in self._grams:
            several = high - low != 1
            found = (self.grams(k, k + 1) for k in range(low, high)) if several else (grams(self.parts[low]),)
            self._grams[low, high] = frozenset().union(*found)
        return self._grams[low, high]

    def names(self, low: int, high: int) -> frozenset[str]:
        return self._names[low] if high - low == 1 else frozenset().union(*self._names[low:high])


def pairs(source: str, before: str, after: str, lang: str = "") -> list[Pair]:
    """The sentences of ``source`` in order, one or a few at a time, with what stands for them before and after.

    Empty where a text has no words, and for texts of very many sentences.
    """
    sides = original, old, new = _Side(source), _Side(before, lang), _Side(after, lang)
    asked, given, kept = (len(side.parts) for side in sides)
    if not (asked and given and kept) or asked * max(given, kept) > MOST_PAIRS:
        return []
    longer = min(1.5, max(0.67, old.sums[-1] / original.sums[-1]))

    def cost_before(low: int, high: int, left: int, right: int) -> float:
        shared = len(original.names(low, high) & old.names(left, right))
        return _by_length(original.size(low, high) * longer, old.size(left, right)) - min(_MOST_NAMED, _NAMED * shared)

    spans = [(0, 0)] * asked
    if asked == given:
        spans = [(k, k + 1) for k in range(asked)]
    else:
        for low, high, left, right in _aligned(asked, given, cost_before):
            spans[low:high] = [(left, right)] * (high - low)

    def span(low: int, high: int) -> tuple[int, int]:
        return min(left for left, _ in spans[low:high]), max(right for _, right in spans[low:high])

    def shared(low: int, high: int, left: int, right: int) -> float:
        """The share of what became of the sentences before that is in those after, or the other way round."""
        mine, there = old.grams(*span(low, high)), new.grams(left, right)
        return len(mine & there) / max(1, min(len(mine), len(there)))

    def cost_after(low: int, high: int, left: int, right: int) -> float:
        named = len(original.names(low, high) & new.names(left, right))
        by_length = _by_length(original.size(low, high) * longer, new.size(left, right))
        return by_length + _SHARED * (1 - shared(low, high, left, right)) - min(_MOST_NAMED, _NAMED * named)

    if asked == 1:
        places = [(0, 1, 0, kept)]
    elif asked == given == kept and all(shared(k, k + 1, k, k + 1) >= _ALIKE for k in range(asked)):
        places = [(k, k + 1, k, k + 1) for k in range(asked)]
    else:
        places = _aligned(asked, kept, cost_after)
    found = []
    for low, high, left, right in places:
        if low < high:
            start, end = span(low, high)
            if start == end:  # the text before has nothing for these sentences, so nothing can be lost of them
                continue
            lost = (original.names(low, high) & old.names(start, end)) - new.names(left, right)
            sizes = original.size(low, high) * longer, old.size(start, end), new.size(left, right)
            texts = "".join(old.parts[start:end]), "".join(new.parts[left:right]), "".join(original.parts[low:high])
            found.append(Pair(high - low, *sizes, len(lost), *texts))
    return found


def _by_length(one: float, other: float) -> float:
    return min(_WORST, (log((one + _SMALLEST) / (other + _SMALLEST)) / _SPREAD) ** 2 / 2)


def _aligned(here: int, there: int, cost: Callable[[int, int, int, int], float]) -> list[tuple[int, int, int, int]]:
    """The cheapest way to go through both sides: from and to which sentence of each; ``[]`` if they are too uneven."""
    best = {(0, 0): 0.0}
    back: dict[tuple[int, int], tuple[int, int]] = {}
    reach = _REACH + abs(here - there)
    for low in range(here + 1):
        middle = low * there // here
        for left in range(max(0, middle - reach), min(there, middle + reach) + 1):
            so_far = best.get((low, left), inf)
            if so_far == inf:
                continue
            for more_here, more_there, shape in _SHAPES:
                high, right = low + more_here, left + more_there
                if high > here or right > there or so_far + shape - _MOST_NAMED >= best.get((high, right), inf):
                    continue
                total = so_far + shape + (cost(low, high, left, right) if more_here and more_there else 0.0)
                if total < best.get((high, right), inf):
                    best[high, right], back[high, right] = total, (low, left)
    path, end = [], (here, there)
    while end in back:
        start = back[end]
        path.append((start[0], end[0], start[1], end[1]))
        end = start
    return path[::-1]
