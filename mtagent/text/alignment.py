"""Two texts side by side: the words that they share, in order or not, and the sentences that translate each other.

:func:`match` aligns words. :func:`pairs` aligns the sentences of a translation with those of its source, by their
lengths and shared words, after Gale and Church (1993), with a text in between: the words for a source sentence in the
text before are searched in the text after. It works for any language. :class:`Rewording` describes how an edit reworded
a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf, log
from typing import NamedTuple

import regex
from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes, Postfix, Prefix

from mtagent.text.paragraphs import is_ended, sentences
from mtagent.text.scripts import UNSPACED_LETTER, letters, remembered, words

MOST_MATCHED, MOST_APPROACHED = 400_000_000, 4_000_000_000
"""The words of one text times those of the other up to which a longest common subsequence is found (in 50 MB), and up
to which it is approached by the edit distance, in linear memory. Of longer texts only the common ends are matched."""


def match(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of equal words, rising on both sides."""
    work = len(before) * len(after)
    if work > MOST_APPROACHED:
        head, tail = shared_ends(before, after)
        ends = zip(range(len(before) - tail, len(before)), range(len(after) - tail, len(after)), strict=True)
        return [*((k, k) for k in range(head)), *ends]
    runs = opcodes(before, after) if work <= MOST_MATCHED else Levenshtein.opcodes(before, after, score_hint=64)
    matched: list[tuple[int, int]] = []
    for run in runs:
        if run.tag == "equal":
            matched += zip(range(run.src_start, run.src_end), range(run.dest_start, run.dest_end), strict=True)
    return matched


def opcodes(before: Sequence[str], after: Sequence[str]) -> Opcodes:
    """The runs of words or characters that two texts share (``tag`` is ``equal``) and those that differ, in order.

    As few as possible are deleted and inserted; none is called replaced. Takes time and memory by the product of both
    lengths.
    """
    return LCSseq.opcodes(before, after)


def shared_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Length of the common beginning of two texts, and of the common end of what follows it."""
    head = Prefix.similarity(before, after)
    return head, Postfix.similarity(before[head:], after[head:])


def difference(before: str, after: str) -> tuple[str, str]:
    """The parts between the common beginning and the common end of two texts."""
    head, tail = shared_ends(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def grams(text: str) -> list[str]:
    """Groups of four letters within each word, its two ends among them; in scripts without spaces, of two characters.

    They are shared by inflected and misspelt forms, and do not mind the order of words.
    """
    groups: list[str] = []
    character_before = ""
    for word in words(text.casefold()):
        if UNSPACED_LETTER.match(word):
            if character_before:
                groups.append(character_before + word)
            character_before = word
        else:
            character_before = ""
            with_ends = f" {word} "
            groups += [with_ends[start : start + 4] for start in range(max(1, len(with_ends) - 3))]
    return groups


# -- sentences

_SHAPES = ((1, 1, 0.0), (1, 0, 5.0), (0, 1, 5.0), (2, 1, 1.5), (1, 2, 1.5), (2, 2, 2.5), (3, 1, 2.5), (1, 3, 2.5))
"""How many sentences of each side may be paired, and the cost of such a pair."""
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
STEM = 5
"""The first letters of a word, which its inflected forms share."""


def stems(text: str) -> list[str]:
    """The first letters of each word of ``text``."""
    return [word[:STEM] for word in words(text.casefold())]


@remembered
def names(text: str) -> tuple[str, ...]:
    """The words and marks that a translation keeps: names in Latin letters, numbers, pictures, question marks."""
    return tuple(_NAME.findall(text.casefold().translate(_MARKS)))


class Pair(NamedTuple):
    """Sentences of the source, and the letters of their translations."""

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
            if high - low == 1:
                self._grams[low, high] = frozenset(grams(self.parts[low]))
            else:
                self._grams[low, high] = frozenset().union(*(self.grams(k, k + 1) for k in range(low, high)))
        return self._grams[low, high]

    def names(self, low: int, high: int) -> frozenset[str]:
        return self._names[low] if high - low == 1 else frozenset().union(*self._names[low:high])


def pairs(source: str, before: str, after: str, lang: str = "") -> list[Pair]:
    """The sentences of ``source`` in order, one or a few at a time, with their counterparts before and after.

    Empty if a text has no words, or too many sentences.
    """
    original, old, new = _Side(source), _Side(before, lang), _Side(after, lang)
    asked, given, kept = len(original.parts), len(old.parts), len(new.parts)
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
        lefts, rights = zip(*spans[low:high], strict=True)
        return min(lefts), max(rights)

    def shared(low: int, high: int, left: int, right: int) -> float:
        """The share of the sentences before that the sentences after contain, or the other way round."""
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


_SEMICOLON = regex.compile(r"[;；؛](?<!&#?\s?\w{1,8}\s?;)\s*+")
_LONGEST_WORD = 60


def without_joints(before: str, after: str, lang: str) -> str:
    """``after``, cut at each semicolon behind which a sentence of ``before`` begins.

    An edit may join two sentences so: "It rains. The boats stay in." → "It rains; the boats stay in."
    """
    semicolons = list(_SEMICOLON.finditer(after))
    if len(semicolons) <= len(_SEMICOLON.findall(before)):
        return after
    first_words = set(map(_first_word, sentences(before, lang)[1:]))
    parts = []
    start = 0
    for semicolon in semicolons:
        end = semicolon.end()
        if _first_word(after[end : end + _LONGEST_WORD]) in first_words:
            parts.append(after[start:end].rstrip() + "\n")
            start = end
    return "".join([*parts, after[start:]])


def _first_word(text: str) -> tuple[str, ...]:
    return words(text[:_LONGEST_WORD].casefold())[:1]


# -- how a sentence was reworded

OVERLONG, LONG_ENOUGH = 1.25, 0.8
"""A text before with this many times its source's letters has surplus to remove; the text after needs this many."""
WIDEST_GAP, NEW_WORDS = 0.25, 0.1
"""A sentence was reworded, not cut, if no gap in it is wider, by letters, and more of it is new."""
CIRCLING, CIRCLE_KEPT = 0.25, 0.75
"""Share of repeated word pairs from which a text goes round in circles, and of its source's letters that it must have
without them."""
HALF_SAID = 0.6
"""Share of the source's letters from which a text with as many sentences is whole."""
PARTLY_NEW, MOSTLY_NEW, OTHER, ALL_NEW = 0.25, 0.5, 2 / 3, 0.9
"""Shares of new letters in a text after."""
SHORT, SHORT_KEPT = 32, 0.55
"""Letters of a phrase of a few words, and the share of them that must remain."""
_LETTER = regex.compile(r"\p{L}")


def had_surplus(source: str, before: str, after: str) -> bool:
    """Whether ``before`` is much longer than ``source``, and ``after`` is long enough."""
    source_size = letters(source)
    return letters(before) >= OVERLONG * source_size and letters(after) >= LONG_ENOUGH * source_size


class Rewording:
    """A sentence before and after, compared by the stems of its words."""

    def __init__(self, pair: Pair, lang: str) -> None:
        self._pair = pair
        self._lang = lang
        self._old = stems(pair.text)
        self._new = stems(pair.text_after)
        self._removed = Counter(self._old) - Counter(self._new)
        self._added = Counter(self._new) - Counter(self._old)
        self._size_before = sum(map(len, self._old))
        self._size_after = sum(map(len, self._new))

    @property
    def keeps_content(self) -> bool:
        """Whether the shorter sentence may have the same content."""
        return self.is_in_other_words or self.is_rid_of_surplus or self.is_short_phrase

    @property
    def is_in_other_words(self) -> bool:
        """Whether the sentence has other words throughout, and ends like a sentence.

        A mere cut has its gap in one place, and no new words: "in case you should have any difficulties, please
        do not hesitate to write" and "if you have any problems, please write" differ everywhere.
        """
        has_new_words = self._new_letters >= NEW_WORDS * self._size_before
        return has_new_words and self._is_ended and max(self._gaps) <= WIDEST_GAP * self._size_before

    @property
    def is_rid_of_surplus(self) -> bool:
        """Whether the sentence before was far longer than its source, and a new version is as long as the source.

        Circular repetition is also surplus. A new version has other words, and reaches the end of the sentence.
        """
        source, before, after = self._pair.text_source, self._pair.text, self._pair.text_after
        neighbours = list(pairwise(self._old))
        is_circling = len(neighbours) - len(set(neighbours)) >= CIRCLING * max(1, len(neighbours))
        is_circle_removed = is_circling and letters(after) >= CIRCLE_KEPT * letters(source)
        if not is_circle_removed and not had_surplus(source, before, after):
            return False
        if not self._is_ended or not self._begins_alike:
            return False
        if self._new_letters >= ALL_NEW * self._size_after:
            return True
        reaches_end = is_circle_removed or self._gaps[-1] <= WIDEST_GAP * self._size_before
        return reaches_end and self._new_letters >= PARTLY_NEW * self._size_after

    @property
    def is_short_phrase(self) -> bool:
        """Whether half of a phrase of a few words is new, its end included: one word may say what three said."""
        pair = self._pair
        size = letters(pair.text)
        if size > SHORT or letters(pair.text_after) < SHORT_KEPT * size or pair.lost_names:
            return False
        is_end_cut_off = self._gaps[-1] > 0 and self._new_at_end == 0
        is_whole = self._is_ended and self._begins_alike and not is_end_cut_off
        return is_whole and self._new_letters >= MOSTLY_NEW * self._size_after

    @property
    def is_another_text(self) -> bool:
        """Whether few of the words were in the text before, so that only the length can show a loss.

        A proverb may become another proverb.
        """
        return self._new_letters >= OTHER * self._size_after

    @cached_property
    def _new_letters(self) -> int:
        return sum(len(word) * count for word, count in self._added.items())

    @cached_property
    def _matches(self) -> list[tuple[int, int]]:
        return match(self._old, self._new)

    @cached_property
    def _gaps(self) -> list[int]:
        """For each place between two words that stay, the letters removed there beyond those added, at least 0."""
        gaps = []
        for (old, new), (next_old, next_new) in pairwise([(-1, -1), *self._matches, (len(self._old), len(self._new))]):
            removed = _letters_in(self._old[old + 1 : next_old], self._removed)
            added = _letters_in(self._new[new + 1 : next_new], self._added)
            gaps.append(max(0, removed - added))
        return gaps

    @cached_property
    def _new_at_end(self) -> int:
        """The letters of the new words behind the last word that stays."""
        last = self._matches[-1][1] if self._matches else -1
        return _letters_in(self._new[last + 1 :], self._added)

    @cached_property
    def _is_ended(self) -> bool:
        """Whether the text after ends as a sentence, if its source does."""
        return is_ended(self._pair.text_after, self._lang) or not is_ended(self._pair.text_source, "")

    @cached_property
    def _begins_alike(self) -> bool:
        """Whether the text after begins with a capital, if source and text before do."""
        texts = self._pair.text_source, self._pair.text, self._pair.text_after
        source, before, after = map(_first_letter, texts)
        needs_capital = before.isupper() and not source.islower()
        return not (needs_capital and after.islower())


def _letters_in(stretch: list[str], counted: Counter[str]) -> int:
    """The letters of the words of a ``stretch`` that are ``counted``."""
    return sum(len(word) for word in stretch if word in counted)


def _first_letter(text: str) -> str:
    letter = _LETTER.search(text)
    return letter.group() if letter else ""
