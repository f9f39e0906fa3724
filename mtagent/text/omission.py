"""What an edit of a translation dropped, and what it added that is no translation; deterministic, without a model.

:func:`lost` and :func:`grown` compare source, text before and text after an edit; :func:`commentary` needs no text
before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice, pairwise
from math import log
from typing import NamedTuple

import regex

_CLOSERS = "\"'”’“‘»)\\]*_"
_WIDE_CLOSERS = "\"'”’」』）》】"
_ENDS = rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)|[。！？｡]++[{_WIDE_CLOSERS}]*+|[।॥؟۔။។]++[{_CLOSERS}]*+|\n"
_END = regex.compile(rf"(?:{_ENDS})\s*+")
# Greek asks with a semicolon; Thai and Lao end a sentence with nothing but a space.
_GREEK_END = regex.compile(rf"(?:{_ENDS}|;(?=\s|$))\s*+")
_SPACE_END = regex.compile(rf"(?:{_ENDS}|\s)\s*+")
_END_BY_LANGUAGE = {"el": _GREEK_END, "th": _SPACE_END, "lo": _SPACE_END}

_BLANK_LINE = regex.compile(r"\n[^\S\n]*+\n\s*+")
_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"(?V1)[{_DENSE}]\p{{M}}*+|[[\p{{L}}\p{{M}}\p{{N}}]--[{_DENSE}]]++")

# How many Latin letters say as much as one character of the script.
_LETTERS_PER_CHARACTER = (
    (regex.compile(r"\p{Han}"), 3.2),
    (regex.compile(r"[\p{Hiragana}\p{Katakana}]"), 1.8),
    (regex.compile(r"\p{Hangul}"), 2.2),
    (regex.compile(r"[\p{Arabic}\p{Hebrew}]"), 1.25),
)
_VISIBLE = regex.compile(r"\S++")


def paragraphs(text: str) -> list[str]:
    """Cut ``text`` at blank lines; white space stays with the paragraph before it, and nothing is lost."""
    return _cut(text, _BLANK_LINE)


def sentences(text: str, lang: str = "") -> list[str]:
    """Cut ``text`` into sentences and lines; white space stays with the sentence before it, and nothing is lost."""
    return _cut(text, _END_BY_LANGUAGE.get(lang.split("-")[0].lower(), _END))


def has_end(text: str) -> bool:
    """Whether a sentence or a line ends in ``text``."""
    return _END.search(text) is not None


def _cut(text: str, end: regex.Pattern[str]) -> list[str]:
    found: list[str] = []
    start = 0
    for match in end.finditer(text):
        if text[start : match.end()].strip():
            found.append(text[start : match.end()])
            start = match.end()
    if text[start:].strip():
        found.append(text[start:])
    elif found:
        found[-1] += text[start:]
    return found


def words(text: str) -> list[str]:
    """The words of ``text``, case folded; of a script without spaces, its characters."""
    found: list[str] = _WORD.findall(text.casefold())
    return found


def stretch(text: str, low: int, high: int) -> str:
    """The words ``low`` to ``high`` (exclusive) of ``text`` with what stands between them."""
    found = list(islice(_WORD.finditer(text), low, high))
    return text[found[0].start() : found[-1].end()] if found else ""


def letters(text: str) -> float:
    """The amount of ``text`` in Latin letters: a Chinese character says as much as about three. At least 1."""
    size = float(sum(len(run) for run in _VISIBLE.findall(text)))
    if text.isascii():
        return max(size, 1.0)
    for script, weight in _LETTERS_PER_CHARACTER:
        size += (weight - 1) * len(script.findall(text))
    return max(size, 1.0)


def shared_ends(before: str, after: str) -> tuple[int, int]:
    """Length of the common beginning of two texts, and of the common end of what follows it."""
    head = _common(before, after)
    return head, _common(before[head:][::-1], after[head:][::-1])


def changed(before: str, after: str) -> tuple[str, str]:
    """What stands between the common beginning and the common end of two texts."""
    head, tail = shared_ends(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def _common(one: str, two: str) -> int:
    """Length of the common beginning, found by halving."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def quoted(text: str, width: int = 60) -> str:
    """``text`` on one line in quotes, its middle left out where it is long."""
    line = " ".join(text.split())
    if len(line) > width:
        line = f"{line[: width // 2].rstrip()} … {line[-width // 3 :].lstrip()}"
    return f"“{line}”"


BLOCK = 1500
_GRAM = 3

Pairs = list[tuple[int, int]]


def match(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Index pairs of equal words, rising on both sides."""
    size = min(len(before), len(after))
    head = 0
    while head < size and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < size - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = _middle(before[head : len(before) - tail], after[head : len(after) - tail])
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in middle),
        *((len(before) - k, len(after) - k) for k in range(tail, 0, -1)),
    ]


def _middle(before: Sequence[str], after: Sequence[str]) -> Pairs:
    if not before or not after:
        return []
    if len(before) <= BLOCK and len(after) <= BLOCK:
        return common_subsequence(before, after)
    found: Pairs = []
    for (i, j), (next_i, next_j) in pairwise([(0, 0), *anchors(before, after), (len(before), len(after))]):
        for low, high, from_, to in _blocks(i, next_i, j, next_j):
            found += [(low + x, from_ + y) for x, y in common_subsequence(before[low:high], after[from_:to])]
    return found


def _blocks(i: int, next_i: int, j: int, next_j: int) -> list[tuple[int, int, int, int]]:
    if i == next_i or j == next_j:
        return []
    count = -(-max(next_i - i, next_j - j) // BLOCK)
    rows = [i + (next_i - i) * k // count for k in range(count + 1)]
    columns = [j + (next_j - j) * k // count for k in range(count + 1)]
    return [(*row, *column) for row, column in zip(pairwise(rows), pairwise(columns), strict=True)]


def anchors(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Places where an n-gram that is unique on both sides starts, the longest chain that rises on both sides."""
    there = _unique(after)
    pairs = sorted((i, there[gram]) for gram, i in _unique(before).items() if gram in there)
    return [pairs[k] for k in _rising([j for _, j in pairs])]


def _unique(keys: Sequence[str]) -> dict[tuple[str, ...], int]:
    places: dict[tuple[str, ...], int] = {}
    for start in range(len(keys) - _GRAM + 1):
        gram = tuple(keys[start : start + _GRAM])
        places[gram] = -1 if gram in places else start
    return {gram: start for gram, start in places.items() if start >= 0}


def _rising(values: Sequence[int]) -> list[int]:
    """Indices of a longest strictly rising subsequence."""
    ends: list[int] = []
    tops: list[int] = []
    previous: list[int] = []
    for index, value in enumerate(values):
        place = bisect_left(tops, value)
        previous.append(ends[place - 1] if place else -1)
        if place == len(tops):
            tops.append(value)
            ends.append(index)
        else:
            tops[place], ends[place] = value, index
    chain = [ends[-1]] if ends else []
    while chain and previous[chain[-1]] >= 0:
        chain.append(previous[chain[-1]])
    return chain[::-1]


def common_subsequence(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """A longest common subsequence as index pairs; ``len(after)`` operations on numbers of ``len(before)`` bits."""
    places: dict[str, int] = {}
    for i, key in enumerate(before):
        places[key] = places.get(key, 0) | 1 << i
    ones = (1 << len(before)) - 1
    # In row j, bit i is 0 where the subsequence of before[:i + 1] and after[:j] is one longer than that of before[:i].
    rows = [ones]
    for key in after:
        row = rows[-1]
        hit = row & places.get(key, 0)
        rows.append((row + hit | row - hit) & ones)
    return _backtrack(rows, len(before), len(after))


def _backtrack(rows: Sequence[int], i: int, j: int) -> Pairs:
    found: Pairs = []
    while i and j:
        bit = 1 << i - 1
        if rows[j] & bit:
            i -= 1
        elif not rows[j - 1] & bit:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


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


TAIL_SHARE, TAIL_LETTERS = 0.22, 4
"""Share and number of letters from which a missing end is a loss."""
TORN_SHARE = 0.1
"""The same share where the end was torn off inside a word and whole words went with it."""
SHARE, LETTERS = 0.4, 9
"""Share and number of letters from which a missing beginning or middle is a loss: a word or two may be needless."""
_SLOPE = 15.0

_SAYS = regex.compile(r"[\p{L}\p{N}]")


def only_takes(gone: str, come: str) -> bool:
    """Whether an edit that puts ``come`` for ``gone`` takes words away and puts none."""
    return len(gone) >= TAIL_LETTERS and _SAYS.search(come) is None and _SAYS.search(gone) is not None


def may_be_large(before: str, after: str) -> bool:
    """Whether what is gone may be a large share of its line; a look that costs next to nothing."""
    head, tail = shared_ends(before, after)
    end = len(before) - tail
    line_end = before.find("\n", end)
    line = (len(before) if line_end < 0 else line_end) - before.rfind("\n", 0, head)
    return end - head >= TORN_SHARE / 2 * line and only_takes(before[head:end], after[head : len(after) - tail])


def cut(source: str, before: str, after: str) -> Stretch | None:
    """What was cut out of ``before``, with evidence that rises by its share; ``None`` if that is no loss.

    No loss: few letters, what the source never said (``before`` was over-long), and a phrase said twice.
    """
    head, tail = shared_ends(before, after)
    gone = before[head : len(before) - tail]
    if not only_takes(gone, after[head : len(after) - tail]):
        return None
    size = letters(gone)
    at_end = _SAYS.search(before, len(before) - tail) is None
    torn = at_end and len(gone.split()) > 1 and not set(words(after)) <= set(words(before))
    least, limit = (TAIL_LETTERS, TAIL_SHARE) if at_end else (LETTERS, SHARE)
    if size < least or (not torn and (had_surplus(source, before, after) or _is_repeat(source, gone, after))):
        return None
    share = size / letters(before)
    return Stretch(_whole_words(before, head, tail), _SLOPE * (share - (TORN_SHARE if torn else limit)))


def _is_repeat(source: str, gone: str, after: str) -> bool:
    """Whether ``after`` says what is gone, and is as long as its source even so."""
    return set(words(gone)) <= set(words(after)) and letters(after) >= LONG_ENOUGH * letters(source)


def _whole_words(text: str, head: int, tail: int) -> str:
    while head and _SAYS.match(text, head - 1) and _SAYS.match(text, head):
        head -= 1
    return text[head : len(text) - tail].strip()


STRICTNESS = 0.0
"""The default: refuses at most 2 % of good texts (``docs/omission.md``). Higher refuses more, about -2 to 3."""
SMALL_EDIT = 16
"""Letters that an edit may take away in one place without a closer look, if no sentence ends among them."""
CERTAIN = 6.0
"""The evidence where a sentence is gone and its neighbours, word for word, now touch."""
PARAGRAPH = 1.0
"""Added to the evidence where paragraphs are compared: they are counted with less doubt than sentences."""
STILL_THERE = 0.6
"""Share of a sentence's word pairs that ``after`` must have as often as ``before``: it was moved, not lost."""
IMPLAUSIBLE = -4.0
"""Evidence not worth a second look."""

_Keys = tuple[str, ...]


def lost(
    source: str, before: str, after: str, *, target_lang: str = "", strictness: float = STRICTNESS
) -> tuple[str, ...]:
    """Complaints about text of ``before`` that ``after`` newly lacks, the lost text quoted; ``()`` = fine.

    A rewrite that keeps the content passes, and so does taking away what ``source`` never said. ``target_lang`` is a
    BCP-47 code; it says how sentences end in languages that mark them unlike others (Greek, Thai, Lao). ``strictness``
    is added to the evidence, in log-odds; what is then above 0 is a complaint.
    """
    return tuple(
        f"lost from the text: {quoted(stretch.text)}"
        for stretch in losses(source, before, after, target_lang)
        if stretch.evidence + strictness > 0
    )


def loss_evidence(source: str, before: str, after: str, *, target_lang: str = "") -> float:
    """The strongest evidence of a loss, in log-odds; minus infinity where ``after`` cannot have lost anything."""
    return max((stretch.evidence for stretch in losses(source, before, after, target_lang)), default=float("-inf"))


def losses(source: str, before: str, after: str, lang: str) -> Iterator[Stretch]:
    """Every stretch of ``before`` that may be missing in ``after``."""
    if not before.strip() or before.split() == after.split():
        return
    if not after.strip():
        yield Stretch(before, float("inf"))
        return
    small = _is_small(before, after)
    if small and not may_be_large(before, after):
        return
    old, new, original = paragraphs(before), paragraphs(after), paragraphs(source)
    if len(old) == len(new) == len(original):
        for part in zip(original, old, new, strict=True):
            yield from _cut_or_missing(*part, lang)
        return
    if len(old) > 1 and not small:
        for stretch in _missing(Comparison(*(Units(text, paragraphs(text)) for text in (source, before, after)))):
            yield stretch._replace(evidence=stretch.evidence + PARAGRAPH)
    yield from _cut_or_missing(source, before, after, lang)


def _cut_or_missing(source: str, before: str, after: str, lang: str) -> list[Stretch]:
    """What is missing by sentence, or what was cut from the text as a whole, whichever is more certain."""
    if before.split() == after.split():
        return []
    found = [] if _is_small(before, after) else list(_missing(_by_sentence(source, before, after, lang)))
    whole = cut(source, before, after)
    if whole and whole.evidence > max((stretch.evidence for stretch in found), default=IMPLAUSIBLE):
        return [whole]
    return found


def _by_sentence(source: str, before: str, after: str, lang: str) -> Comparison:
    return Comparison(
        Units(source, sentences(source)), Units(before, sentences(before, lang)), Units(after, sentences(after, lang))
    )


def _is_small(before: str, after: str) -> bool:
    """Whether what was taken away is too little to hold a sentence or half of one."""
    gone, _ = changed(before, after)
    return len(gone) <= SMALL_EDIT and not has_end(gone) and letters(gone) <= SMALL_EDIT


def _missing(comparison: Comparison) -> Iterator[Stretch]:
    removed = _removed(comparison)
    spared = _Spared(comparison)
    bare = _bare_gap(comparison, spared)
    for index, unit in enumerate(comparison.before.units):
        found = evidence(comparison.features(index))
        found = max(found, CERTAIN) if index in removed else found
        if spared.is_kept_or_surplus(unit.low, unit.high):
            found = IMPLAUSIBLE
        if bare and unit.low <= comparison.gap.low < unit.high and bare.evidence > found:
            yield bare
        elif found > IMPLAUSIBLE:
            yield Stretch(unit.text, found)


def _bare_gap(comparison: Comparison, spared: _Spared) -> Stretch | None:
    gap = comparison.bare_gap()
    is_loss = gap and not spared.is_kept_or_surplus(comparison.gap.low, comparison.gap.high)
    return gap if is_loss and not had_surplus(*comparison.texts) else None


def _removed(comparison: Comparison) -> set[int]:
    """Units that are gone while their neighbours (or the ends of the text) now touch."""
    old, new = (_keys(units) for units in (comparison.before, comparison.after))
    kept = set(new)
    touching = {*pairwise([(), *new, ()])}
    gone: set[int] = set()
    run: list[int] = []
    previous: _Keys = ()
    for index, keys in enumerate([*old, ()]):
        if index < len(old) and keys not in kept:
            run.append(index)
            continue
        if run and (previous, keys) in touching:
            gone.update(run)
        previous, run = keys, []
    return gone


def _keys(units: Units) -> list[_Keys]:
    return [tuple(units.keys[unit.low : unit.high]) for unit in units.units]


class _Spared:
    """Units that need no counterpart: they stand elsewhere in ``after``, or the source never said them."""

    def __init__(self, comparison: Comparison) -> None:
        self._before, self._after = comparison.before, comparison.after
        source, before, after = comparison.source, comparison.before, comparison.after
        self._has_all_units = len(after) >= len(source)
        self._may_shrink = self._has_all_units and len(before) > len(source) and had_surplus(*comparison.texts)

    @cached_property
    def _pairs(self) -> tuple[Counter[_Keys], Counter[_Keys]]:
        return Counter(pairwise(self._before.keys)), Counter(pairwise(self._after.keys))

    def is_kept_or_surplus(self, low: int, high: int) -> bool:
        """Whether the words are no loss. A repeat must stay, unless ``after`` has a unit for each of the source."""
        if self._may_shrink:
            return True
        old, new = self._pairs
        mine = list(pairwise(self._before.keys[low:high]))
        kept = sum(new[pair] >= (1 if self._has_all_units else old[pair]) for pair in mine)
        return bool(mine) and kept >= STILL_THERE * len(mine)


LENGTH_LIMIT = 1.6
"""How many times longer than both source and text before, in letters, a text after may be."""
SLACK = 40
"""Letters that a text may grow by whatever its length: one word may become three."""
ADDED_LINE = 15
"""Letters of a line at the beginning or end that make it a line of commentary if nothing before matches it."""
KEPT_OF_LINE = 0.3
"""Share of such a line that must be matched in the text before."""

_FENCE = regex.compile(r"```|~~~")
_TAG = regex.compile(
    r"</?(?:think(?:ing)?|reasoning|analysis|scratchpad|translation|output|answer|final(?:_answer)?|result)>"
    r"|<\|[^|<>\s]{1,40}\|>|\[/?INST\]",
    regex.IGNORECASE,
)
_ENUMERATOR = regex.compile(
    r"^[^\S\n]*+[*_#>-]*+[^\S\n]*+(?:\(?(?:\d{1,2}|[a-eA-E])[.)]|[①-⑩]|"
    r"(?:option|version|variante?|alternativ\w*+|fassung|opción|вариант|варіант|选项|版本|訳案|案)\s*+[\dA-E]\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE_START = r"^[^\S\n]*+[*_#>(\[（【\"“-]*+[^\S\n]*+"
_LABEL = regex.compile(
    _LINE_START + r"(?:[\w'’ ]{0,40}?(?:translation|translated\ text|post-?edit\w*+|proofread\w*+|"
    r"(?:corrected|revised|improved|final|edited)\ (?:text|version|sentence)|übersetzung|traduction|traducción|"
    r"traduzione|tradução|vertaling|översättning|oversættelse|oversettelse|þýðing|käännös|tõlge|tulkojums|vertimas|překlad|preklad|"
    r"tłumaczenie|перевод|переклад|превод|prijevod|prevod|fordítás|traducere|μετάφραση|çeviri|bản\ dịch|terjemahan)"
    r"[\w'’ ()-]{0,30}+|[^\s:：]{0,12}(?:翻译|譯文|译文|翻譯|翻訳|訳文|訳|번역|अनुवाद|الترجمة|ترجمة|תרגום|คำแปล)"
    r"[^\s:：]{0,12})"
    r"[*_\"”)\]】]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_OPENING = regex.compile(
    r"\A\W*+(?:(?:sure|certainly|of\ course|absolutely|okay|ok)\b[!,.]|here(?:'s|’s|\ is|\ are)\b[^\n]{0,120}+\n"
    r"|here(?:'s|’s|\ is|\ are)\ (?:the|my|an?|your|five|some)\ [^\n:]{0,80}+:"
    r"|(?:let\ me|let's|let’s|i\ will|i'll|i’ll|i\ need\ to|we\ need\ to|the\ user)\b)",
    regex.IGNORECASE,
)
_NOTE = regex.compile(
    _LINE_START
    + r"(?:(?:translator['’]?s?\ )?notes?|explanations?|reasoning|rationale|comments?|changes(?:\ made)?|corrections?|"
    r"alternatives?|justification|analysis|confidence|anmerkung(?:en)?|hinweis|erklärung|remarques?|"
    r"note\ du\ traducteur|explication|notas?|explicación|nota\ del\ traductor|poznámk[ay]|uwag[ai]|"
    r"примечани[ея]|примітк[аи]|пояснение|пояснення|napomen[ae]|athugasemd(?:ir)?|märkus(?:ed)?|注释?|备注|说明|解释|修改说明|注意|注記|備考|解説|説明|修正点|"
    r"참고|설명|टिप्पणी|ملاحظة|ملاحظات|หมายเหตุ)[*_]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_ASIDE = regex.compile(
    _LINE_START
    + r"(?:(?:i(?:'ve|’ve|\ have)?|we(?:'ve|’ve|\ have)?)\ (?:also\ )?(?:changed|corrected|revised|improved|kept|fixed|"
    r"translated|made|adjusted|replaced|rephrased|chose|used)\b|let\ me\ know\b|please\ let\ me\ know\b|"
    r"would\ you\ like\b|(?:i\ )?hope\ this\ helps|as\ an\ ai\b|i(?:'m|’m|\ am)\ sorry\b|i\ can(?:no|')?t\b|"
    r"(?:this|the|my)\ (?:\w+\ )?translation\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE = regex.compile(r"\S[^\n]*+")

_TRANSLATE = (  # the word in many languages: whether a source speaks of translating, or of interpreting, itself
    "translat|interpret|dolmetsch|übersetz|traduc|traduz|traduç|tradott|tradui|traduk|vertaal|vertal|översätt|oversæt|"
    "oversett|þýð|käänn|tõlk|tõlg|tulko|vertim|verst|překl|přelož|prekl|prelož|tłumacz|przetłum|перев|перекла|превод|"
    "превед|prevo|preve|prije?vo|prije?ve|fordít|tálmač|μεταφρ|çevir|çevr|tercüme|dịch|terjemah|salin|itzul|përkth|"
    "cyfieith|aistri|tafsir|fassara|humush|turjum|аудар|орчуул|译|譯|訳|번역|통역|अनुवाद|भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|"
    "மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|തർജ്ജമ|පරිවර්තන|ترجم|תרגם|תרגו|แปล|ແປ|បកប្រែ|ဘာသာပြန်|თარგმ|թարգման|ተርጉ|ትርጉ"
)
_TRANSLATION = (
    "übersetzung|traducción|tradução|traduzione|traduction|vertaling|översättning|oversættelse|oversettelse|þýðing|"
    "käännös|překlad|preklad|tłumaczenie|перевод|переклад|превод|prijevod|prevod|fordítás|traducere|μετάφραση|çeviri|"
    "bản dịch|terjemahan|翻译|翻譯|译文|譯文|翻訳|訳文|번역|अनुवाद|ترجمة|תרגום|คำแปล"
)
_ON_TRANSLATING = regex.compile(
    rf"(?:here(?:'s|’s| is| are)|this is|below is|following is)\b[^.!?\n]{{0,60}}\btranslations?\b"
    r"|\btranslat(?:ions?|es|ed)\b[^.!?\n:\"“]{0,60}:|\A\W*the translation of\b"
    r"|\b(?:ca(?:nnot|n't|n’t)|can not|unable|not able|comfortable|sorry|apologi[sz]e)\b[^.!?\n]{0,80}\btranslat"
    r"|\b(?:require|need)(?:s|d)?\b[^.!?\n]{0,20}\btranslation\b|\btranslate the following\b"
    r"|\b(?:provide|like)\b[^.!?\n]{0,60}\btranslated?\b"
    r"|\b(?:this|provided|current|original|human) (?:\w+ )?translation\b"
    r"|(?:\b(?:hier (?:ist|sind|folgt|is)|aquí (?:está|tiene)|aqui (?:está|vai)|ecco|voici|här är|her er|zde je|tu je"
    r"|oto|вот|ось|ето|íme|iată|ορίστε|işte|đây là|berikut)\b|以下是|以下は|这是|這是|다음은"
    r"|यहाँ|هذا هو|هذه هي|إليك|להלן|הנה)"
    rf"[^.!?。！？\n]{{0,60}}?(?:{_TRANSLATION})"
    r"|\bdiese? (?:\w+ )?übersetzung (?:klingt|ist|lautet|wirkt)\b|\bkann\b[^.!?\n]{0,60}\bnicht übersetzen\b"
    r"|\b(?:no puedo traducir|não posso traduzir|non posso tradurre|ne (?:peux|puis) pas traduire|"
    r"kan [^.!?\n]{0,40}niet vertalen|не (?:могу|можу) пере(?:вести|класти))\b"
    r"|(?:无法|不能|無法)(?:提供)?(?:翻译|翻譯)|翻訳(?:することは|は)?でき(?:ません|ない)|번역할 수 없|अनुवाद नहीं कर"
    r"|لا (?:يمكنني|أستطيع) (?:ترجمة|أن أترجم)|לא (?:יכול|יכולה|אוכל) לתרגם",
    regex.IGNORECASE,
)
_COLON = regex.compile("[:：]")
_SPEAKS_OF_TRANSLATING = regex.compile(_TRANSLATE, regex.IGNORECASE)
_DECLINES = regex.compile(
    r"(?P<english>\b(?:i(?:'m|’m| am) (?:sorry|afraid|unable)|i apologi[sz]e|i ca(?:nnot|n't|n’t))\b[^.!?\n]{0,60}"
    r"\b(?:assist|help|fulfil|comply|process|provide)\b[^.!?\n]{0,20}\b(?:with|this|that|your|the)\b"
    r"[^.!?\n]{0,30}(?:\brequest\b|\btext\b|\bcontent\b|\bthat\b|\bthis\b)"
    r"|\bas an? (?:ai|large language|language) (?:language )?(?:model|assistant)\b)"
    r"|\bes tut mir leid, (?:aber )?(?:ich kann )?dabei kann ich nicht (?:behilflich|helfen)|"
    r"\blo siento, (?:pero )?no puedo (?:ayudar|asistir|cumplir)|\b(?:désolée?|regrette), (?:mais )?"
    r"je ne (?:peux|puis) pas (?:vous )?(?:aider|répondre)"
    r"|\b(?:desculpe|sinto muito), (?:mas )?não posso (?:ajudar|atender)|"
    r"\bmi dispiace, (?:ma )?non posso (?:aiutar|assister)"
    r"|к сожалению, я не могу (?:помочь|выполнить)|抱歉，?(?:但)?我(?:无法|不能)(?:协助|帮助|满足|提供)"
    r"|申し訳(?:ありません|ございません)が、(?:その|この)?"
    r"(?:ご)?(?:要望|リクエスト|依頼)",
    regex.IGNORECASE,
)
_SPEAKS_OF_HELP = regex.compile(
    r"help|assist|sorry|apolog|support|\bA\.?I\b|\bK\.?I\b|\bI\.?A\b|\bИИ\b|model|AI[のは・]|人工知能|モデル|인공지능|모델|"
    r"afraid|unfortunat|unable|\bcannot\b|\bcan['’]?t\b|forgive|pardon|malheureus|hélas|désagr|leider|bedau[er]|"
    r"valitettav|ikävä|tyvärr|dessverre|desværre|uheldigvis|helaas|jammer|niestety|bohužel|žiaľ|na ?žalost|purtroppo|"
    r"infelizmente|desgracia|desafortunad|увы|din păcate|sajnos|maalesef|ne yazık|δυστυχώς|sayangnya|rất tiếc|恕|無理|"
    r"できません|できない|samahani|saidi|pole sana|ბოდიში|უკაცრავად|ეხმარ|ներ[եող]|ցավ|օգն|দুঃখিত|ক্ষমা|সাহায্য|క్షమ|సహాయ|"
    r"ይቅርታ|ልረዳ|እርዳ|માફ|ક્ષમ|મદદ|ਮਾਫ|ਮੁਆਫ|ਮਦਦ|ಕ್ಷಮ|ಸಹಾಯ|ക്ഷമ|സഹായ|ขออภัย|ຂໍໂທດ|ຊ່ວຍ|សុំទោស|ជួយ|တောင်းပန်|ကူညီ|fyrirgef|því miður|"
    r"hjálp|tabhair|brón|barkatu|lagun|uxuni|кешір|көмек|узр|afsus|yordam|təəssüf|üzr|kömək|"
    r"hilf|helf|leid|entschuld|ayud|siento|lament|disculp|ajud|"
    r"desculp|sinto|aiut|dispiac|scus|aid[eé]|désol|regret|excus|assur|hjälp|hjelp|hjæl|ledsen|beklag|spijt|hulp|pomoc|"
    r"pomoh|pomoz|pomóc|przykr|přeb?ač|omlouv|lituj|помо|допомо|извин|прости|жал|вибач|прост|segít|sajnál|ajut|scuz|βοηθ|"
    r"λυπ|συγγνώμη|yardım|üzgün|özür|giúp|xin lỗi|bantu|maaf|auta|autta|apua|pahoittel|aita|abi|vaband|"
    r"kahju|palīdz|padė|帮|幫|助|抱歉|对不起|對不起|遗憾|遺憾|不好意思|人工智能|模型|手伝|役|助け|申し訳|すみ|ごめん|恐れ入|残念|도와|도움|죄송|미안|유감|मदद|"
    r"सहायता|क्षमा|माफ|खेद|ساعد|آسف|عذر|أسف|עזור|עזר|סיוע|מצטער|סליחה|ช่วย|ขอโทษ|เสียใจ|"
    r"உதவ|மன்னி|සමාව|කණගාටු|උදව්|मद्दत|کمک|متأسف|مدد|معذرت",
    regex.IGNORECASE,
)


def commentary(source: str, text: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about what ``text`` says beyond a translation of ``source``, where there is no text before it.

    Only signs that real translations practically never have: a code fence, a model's tag, a label, a text that speaks
    of its own translation or declines to help. A sign that the source shows itself, in any language, is no complaint.
    """
    found = [
        complaint
        for sign, name in ((_FENCE, "a code fence"), (_TAG, "a tag of the model"))
        for complaint in ([f"the text has {name}"] if len(sign.findall(text)) > len(sign.findall(source)) else [])
    ]
    if not _SPEAKS_OF_TRANSLATING.search(source):
        said = _LABEL.search(text) or _ON_TRANSLATING.search(text)
        # "Transfer:" is "Перевод:" too, and so a label that the source may have as well.
        is_own_label = said and said.group()[-1] in ":：" and len(_COLON.findall(text)) <= len(_COLON.findall(source))
        found += [f"the text speaks of translating: {quoted(said.group())}"] if said and not is_own_label else []
    declined = _DECLINES.search(text)
    if declined and not _DECLINES.search(source):
        foreign = declined["english"] is not None and target_lang.partition("-")[0].casefold() not in ("", "en")
        if foreign or not _SPEAKS_OF_HELP.search(source):
            found.append(f"the text declines to translate: {quoted(declined.group())}")
    return tuple(found)


_Rule = Callable[[str, str, str], Iterator[str]]


def grown(source: str, before: str, after: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about what ``after`` newly says beyond a translation of ``source``; ``()`` = fine.

    Found are commentary at the beginning or end, labels, notes, code fences, lists of alternatives, reasoning, and a
    text that is far longer than both ``source`` and ``before``. What source or ``before`` had already is no complaint.
    """
    del target_lang  # the signs are looked for in all languages: a model comments in any
    if before.split() == after.split():
        return ()
    come = changed(before, after)[1]
    if len(come) <= SMALL_EDIT and come.replace(" ", "").isalpha():
        return ()
    return tuple(complaint for rule in _RULES for complaint in rule(source, before, after))


def _too_long(source: str, before: str, after: str) -> Iterator[str]:
    allowed = LENGTH_LIMIT * max(letters(source), letters(before)) + SLACK
    size = letters(after)
    if size > allowed:
        yield f"the text grew to {size:.0f} letters; source and text before have at most {allowed:.0f} to offer"


def _more_often(sign: regex.Pattern[str], name: str) -> _Rule:
    def rule(source: str, before: str, after: str) -> Iterator[str]:
        found = [match.group() for match in sign.finditer(after)]
        if len(found) > max(len(sign.findall(source)), len(sign.findall(before))):
            yield f"the edit added {name}: {quoted(found[-1])}"

    return rule


def _alternatives(source: str, before: str, after: str) -> Iterator[str]:
    count = len(_ENUMERATOR.findall(after))
    if count >= 2 and count >= 2 + max(len(_ENUMERATOR.findall(source)), len(_ENUMERATOR.findall(before))):
        yield f"the edit added a list of {count} numbered lines"


def _comment_lines(source: str, before: str, after: str) -> Iterator[str]:
    """A first or last line that nothing in ``before`` matches, where source and ``before`` have fewer lines."""
    lines = Units(after, _LINE.findall(after))
    if len(_LINE.findall(after)) <= max(len(_LINE.findall(source)), len(_LINE.findall(before)), 1) or not len(lines):
        return
    matched = {j for _, j in match(Units(before, [before]).keys, lines.keys)}
    for line in dict.fromkeys((lines.units[0], lines.units[-1])):
        size = lines.size_of(line.low, line.high)
        kept = sum(lines.size_of(k, k + 1) for k in range(line.low, line.high) if k in matched)
        if size >= ADDED_LINE and kept < KEPT_OF_LINE * size:
            yield f"the edit added a line: {quoted(line.text)}"


_RULES: tuple[_Rule, ...] = (
    _too_long,
    _more_often(_FENCE, "a code fence"),
    _more_often(_TAG, "a tag of the model"),
    _more_often(_LABEL, "a label"),
    _more_often(_OPENING, "an opening remark"),
    _more_often(_NOTE, "a note"),
    _more_often(_ASIDE, "a remark to the user"),
    _alternatives,
    _comment_lines,
)
