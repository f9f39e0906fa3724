"""How much speaks for it that a unit (sentence or paragraph) of ``before`` has no counterpart in ``after``.

Every unit is looked up in a monotone word alignment of ``before`` and ``after``. What stands there, and what the
whole text says (units and amounts of text of source, before and after; names and numbers gone), is added up to one
number, in log-odds. The weights were fitted by logistic regression on half of the data of ``docs/omission.md``, where
a text counts by its unit with the most evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, pairwise
from math import log
from typing import NamedTuple

import regex

from mtagent.omission.align import Pairs, match
from mtagent.omission.split import letters, stretch, words

_NAME = regex.compile(r"[a-z0-9]{2,}+|\d|[?!]|\p{Emoji_Presentation}")
_MARKS = str.maketrans("？！؟", "?!?")


OVERLONG, LONG_ENOUGH = 1.25, 0.8
"""Text before / source from which there is surplus to remove, and text after / source that must remain."""
ALIKE, WIDE, REPLACED = 0.85, 20.0, 0.1
"""A gap is a loss by itself where the texts are more alike elsewhere, more letters are gone, less came instead."""
_ALIKE_SLOPE, _WIDE_SLOPE = 60.0, 5.0


class Stretch(NamedTuple):
    """A part of the text before, and the evidence for its loss."""

    text: str
    evidence: float


class Features(NamedTuple):
    """What is known about one unit of ``before``, every value clipped to a small range."""

    missing: float
    """Share of the unit, by length, that no text of ``after`` stands for; below 0 where ``after`` says more."""
    missing_amid_kept: float
    """``missing`` times the share of the other units that is matched: in a small edit a hole says more."""
    short_here: float
    """log(length by the source's sentence / length in ``after``), where the sentence counts tell which it is."""
    missing_below_source: float
    """``missing`` times log(size of source / size of ``after``), in letters, at least 0: the whole lacks text too."""
    names_lost: float
    """Names, numbers, pictures, question and exclamation marks of the unit that ``after`` has less often than source
    and ``before``."""
    fewer_units: float
    """1 where ``after`` has fewer units than source and ``before``, else 0."""
    missing_and_fewer: float
    """``missing`` where ``fewer_units``."""
    gap_in_small_edit: float
    """log(1 + letters) of the widest gap in the alignment, if it touches the unit, times the share of both texts that
    is alike elsewhere."""


WEIGHTS = Features(-1.7, 9.4, 1.2, 21.6, 0.8, 2.1, 0.4, 0.26)
BIAS = -4.8
STEM = 5


def evidence(features: Features) -> float:
    """The log-odds of a loss, less those at which 2 % of good texts are refused."""
    return BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))


def had_surplus(source: str, before: str, after: str) -> bool:
    """Whether ``before`` says more than ``source``, and ``after`` still says enough."""
    said = letters(source)
    return letters(before) >= OVERLONG * said and letters(after) >= LONG_ENOUGH * said


def _names(text: str) -> list[str]:
    """What a translation leaves as it is: names in Latin letters, numbers, pictures, question marks."""
    found: list[str] = _NAME.findall(text.casefold().translate(_MARKS))
    return found


class Unit(NamedTuple):
    """A sentence or paragraph, and the words ``low`` to ``high`` (exclusive) of the text that it holds."""

    text: str
    low: int
    high: int


class Units:
    """A text cut into units that hold words. A word's key is what its inflected forms share: its first letters."""

    def __init__(self, text: str, parts: Iterable[str]) -> None:
        self.text = text
        self.keys: list[str] = []
        self.units: list[Unit] = []
        self.sums = [0]
        for part in parts:
            found = words(part)
            if found:
                self.units.append(Unit(part, len(self.keys), len(self.keys) + len(found)))
                self.keys += [word[:STEM] for word in found]
                self.sums += accumulate(map(len, found), initial=self.sums.pop())

    def __len__(self) -> int:
        return len(self.units)

    @property
    def size(self) -> int:
        """Length of all words."""
        return self.sums[-1]

    def size_of(self, low: int, high: int) -> int:
        """Length of the words ``low`` to ``high``; 0 where ``high`` is lower."""
        return max(0, self.sums[high] - self.sums[low])


class Comparison:
    """A text before and after, aligned, with the sums that make a look at any unit cheap."""

    def __init__(self, source: Units, before: Units, after: Units) -> None:
        self.source, self.before, self.after = source, before, after
        self.texts = source.text, before.text, after.text
        pairs = match(before.keys, after.keys)
        self._matched = _matched(pairs, before)
        self._left, self._right = _neighbours(pairs, len(before.keys), len(after.keys))
        self.gap = _widest_gap(pairs, before, after)
        differs = before.size + after.size - 2 * self._matched[-1] - self.gap.gone - self.gap.come
        self._alike = _clip(1 - 2 * differs / max(1, before.size + after.size), 0, 1)
        self._letters_source, self._letters_after = letters(source.text), letters(after.text)
        self._lost_names = _lost_names(source.text, before.text, after.text)
        self._fewer = min(len(self.source), len(self.before)) > len(self.after)

    def features(self, index: int) -> Features:
        """What is known about the unit ``index`` of ``before``."""
        text, low, high = self.before.units[index]
        size = self.before.size_of(low, high)
        stands = self.after.size_of(self._left[low], self._right[high])
        matched = self._matched[high] - self._matched[low]
        missing = _clip((size - stands) / size, -1, 1)
        hole = max(0.0, missing)
        wide = log(1 + self.gap.net) if low < self.gap.high and high > self.gap.low else 0.0
        return Features(
            missing=missing,
            missing_amid_kept=hole * (self._matched[-1] - matched + 5) / (self.before.size - size + 10),
            short_here=self._short_here(index, size, stands),
            missing_below_source=hole * _clip(log(self._letters_source / self._letters_after), 0, 1),
            names_lost=min(3, len(self._lost_names.intersection(_names(text)))) if self._lost_names else 0,
            fewer_units=float(self._fewer),
            missing_and_fewer=hole * self._fewer,
            gap_in_small_edit=wide * self._alike,
        )

    def bare_gap(self) -> Stretch | None:
        """The widest gap, where next to nothing came instead; its evidence is high where all else stayed as it was."""
        gap = self.gap
        if not gap.net or gap.come > REPLACED * gap.gone:
            return None
        net = gap.net * letters(self.before.text) / self.before.size
        found = min(_ALIKE_SLOPE * (self._alike - ALIKE), _WIDE_SLOPE * log(net / WIDE))
        return Stretch(stretch(self.before.text, gap.low, gap.high), found)

    def _short_here(self, index: int, size: int, stands: int) -> float:
        if len(self.source) != len(self.before):
            return _clip(log((size + 8) / (stands + 8)), -1, 2)
        _, low, high = self.source.units[index]
        said = self.source.size_of(low, high)
        elsewhere = (self.source.size - said + 20) / (max(0, self.after.size - stands) + 20)
        return _clip(log((said + 8) / (elsewhere * stands + 8)), -1, 2)


def _lost_names(source: str, before: str, after: str) -> set[str]:
    source_names, before_names, after_names = (Counter(_names(text)) for text in (source, before, after))
    shared = source_names & before_names
    return {name for name, count in shared.items() if after_names[name] < count}


class Gap(NamedTuple):
    """Words ``low`` to ``high`` of ``before`` between two neighbouring matches; letters gone, and come instead."""

    low: int
    high: int
    gone: int
    come: int

    @property
    def net(self) -> int:
        """Letters gone that nothing came for."""
        return max(0, self.gone - self.come)


def _widest_gap(pairs: Pairs, before: Units, after: Units) -> Gap:
    ends = [(-1, -1), *pairs, (len(before.keys), len(after.keys))]
    gaps = (
        Gap(i + 1, next_i, before.size_of(i + 1, next_i), after.size_of(j + 1, next_j))
        for (i, j), (next_i, next_j) in pairwise(ends)
    )
    return max(gaps, key=lambda gap: gap.net)


def _matched(pairs: Pairs, before: Units) -> list[int]:
    """Length of the matched words of ``before`` up to each cut."""
    found = {i for i, _ in pairs}
    sizes = (high - low if k in found else 0 for k, (low, high) in enumerate(pairwise(before.sums)))
    return list(accumulate(sizes, initial=0))


def _neighbours(pairs: Pairs, old: int, new: int) -> tuple[list[int], list[int]]:
    """For every cut in ``before``: where ``after`` goes on behind the last match, and where the next match stands."""
    partner = dict(pairs)
    left, right = [0] * (old + 1), [new] * (old + 1)
    for k in range(old):
        left[k + 1] = partner[k] + 1 if k in partner else left[k]
    for k in range(old - 1, -1, -1):
        right[k] = partner.get(k, right[k + 1])
    return left, right


def _clip(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
