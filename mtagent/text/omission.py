"""What an edit of a translation dropped; deterministic, without a model.

:func:`lost` compares source, text before and text after an edit. ``docs/explanation/safety.md`` explains the rules.
:mod:`mtagent.text.commentary` finds what an edit added that isn't a translation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice, pairwise
from math import inf, log
from typing import NamedTuple

import regex

from mtagent.text.alignment import (
    HALF_SAID,
    LONG_ENOUGH,
    SHORT_KEPT,
    STEM,
    WIDEST_GAP,
    Pair,
    Rewording,
    difference,
    had_surplus,
    match,
    names,
    pairs,
    shared_ends,
    stems,
    without_joints,
)
from mtagent.text.paragraphs import blocks, ends_sentence, is_ended, sentences
from mtagent.text.scripts import UNSPACED_LETTER, letters, remembered, word_pattern, words

STRICTNESS = 0.0
"""The default: refuses at most 2 % of good texts (``wmt/README.md``). Higher refuses more; about -2 to 3."""
SMALL_EDIT = 16
"""Letters that an edit may take away in one place without a closer look, if no sentence ends among them."""
PARAGRAPH = 1.0
"""Added to the evidence where paragraphs are compared: they are counted with less doubt than sentences."""
IMPLAUSIBLE = -4.0
"""Evidence not worth a second look."""
SURE = 4.0
"""Evidence that needs no judge. Below this, about half of the flagged edits by people and models were good."""
MOST_SHORTER = 0.5
"""Share of a stretch's letters by which the text after may be shorter, if the words it has are the stretch's."""
WORDS_KEPT = 0.85
"""Share of a stretch's words that the text after has, from which it is not called lost."""

Nearest = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""For each of the first texts, how near in meaning the nearest of the second ones is; 1 = the same."""


class Stretch(NamedTuple):
    """A part of the text before, and the evidence for its loss, in log-odds."""

    text: str
    evidence: float
    is_cut: bool = False
    """Whether the edit takes words away and puts none: no other words could say the same."""

    @property
    def is_sure(self) -> bool:
        """Whether it is lost even if a judge could decide."""
        return self.evidence > (0 if self.is_cut else SURE)

    @property
    def complaint(self) -> str:
        """The loss, as people read it."""
        return f"lost from the text: {quoted(self.text)}"


def lost(
    source: str,
    before: str,
    after: str,
    *,
    target_lang: str = "",
    strictness: float = STRICTNESS,
    nearest: Nearest | None = None,
) -> tuple[str, ...]:
    """Complaints about text of ``before`` that ``after`` lacks, with the lost text in quotes; ``()`` = fine.

    A rewrite that keeps the content passes, and so does the removal of text that ``source`` never had. ``target_lang``
    is a BCP-47 code; some languages mark the ends of sentences differently (Greek, Thai, Lao). ``strictness`` is added
    to the evidence, in log-odds; evidence above 0 is a complaint. ``nearest`` is called in doubtful cases.
    """
    complaints = []
    for stretch in losses(source, before, after, target_lang, nearest):
        if stretch.evidence + strictness > 0:
            complaints.append(stretch.complaint)
    return tuple(complaints)


def loss_evidence(
    source: str, before: str, after: str, *, target_lang: str = "", nearest: Nearest | None = None
) -> float:
    """The strongest evidence of a loss, in log-odds; minus infinity where ``after`` cannot have lost anything."""
    return _strongest(losses(source, before, after, target_lang, nearest))


def _strongest(stretches: Iterable[Stretch]) -> float:
    """The strongest evidence of a loss, or minus infinity."""
    return max((stretch.evidence for stretch in stretches), default=-inf)


def losses(source: str, before: str, after: str, lang: str, nearest: Nearest | None = None) -> tuple[Stretch, ...]:
    """Every stretch of ``before`` that may be missing in ``after``.

    The evidence for one whose words ``after`` has is at most 0.
    """
    if nearest is None:
        return _losses_by_words(source, before, after, lang)
    return _losses(source, before, after, lang, nearest)


@remembered
def _losses_by_words(source: str, before: str, after: str, lang: str) -> tuple[Stretch, ...]:
    # The guard, its doubts and the hints ask about the same texts. A function of the user's is called each time.
    return _losses(source, before, after, lang, None)


def _losses(source: str, before: str, after: str, lang: str, nearest: Nearest | None) -> tuple[Stretch, ...]:
    words_kept = WordsKept(source, before, after, lang)
    stretches = []
    for stretch in _stretches(source, before, after, lang, nearest):
        is_said = stretch.evidence > 0 and (
            words_kept.has_words_of(stretch.text)
            or words_kept.has_order_of(stretch.text)
            or words_kept.has_moved_before_quotation(stretch.text)
        )
        if is_said:
            stretch = stretch._replace(evidence=0.0)
        stretches.append(stretch)
    return tuple(stretches)


class WordsKept:
    """The words of a text before and after, counted once for all stretches that may be missing."""

    def __init__(self, source: str, before: str, after: str, lang: str) -> None:
        self._source, self._before, self._after, self._lang = source, before, after, lang

    def has_words_of(self, stretch: str) -> bool:
        """Whether the text after has nearly all words of ``stretch``; in scripts without spaces, nearly all pairs of
        characters.

        Where something is gone as a whole, the text after must have each word as often as the text before: its words
        may be in other sentences too. That is so if there are fewer sentences than in the source, fewer paragraphs than
        before, or if the text is shorter by much of the stretch.
        """
        unspaced = any(map(UNSPACED_LETTER.match, words(stretch.casefold())))
        of_stretch = _words_or_pairs(stretch, unspaced)
        if not of_stretch:
            return not stretch.strip()
        counts_before, counts_after = self._pairs if unspaced else self._words
        is_gone = self._has_fewer_parts or self._letters_lost > MOST_SHORTER * letters(stretch)
        kept = 0
        for word in of_stretch:
            kept += counts_after[word] >= (max(1, counts_before[word]) if is_gone else 1)
        return kept >= WORDS_KEPT * len(of_stretch)

    def has_order_of(self, stretch: str) -> bool:
        """Whether most pairs of neighbouring words of ``stretch`` are still neighbours, as often as before, throughout.

        This holds if a sentence was joined to another, or one of its words was replaced. Single words may also occur
        elsewhere in the text. A stretch that lost its words in one place isn't complete.
        """
        neighbours = list(pairwise(words(stretch.casefold())))
        counts_before, counts_after = self._neighbours
        kept = widest = gap = 0
        for pair in neighbours:
            if counts_after[pair] >= max(1, counts_before[pair]):
                kept += 1
                gap = 0
            else:
                gap += 1
                widest = max(widest, gap)
        return kept > 0 and kept >= STILL_THERE * len(neighbours) and widest <= WIDEST_GAP * len(neighbours)

    def has_moved_before_quotation(self, stretch: str) -> bool:
        """Whether ``stretch``, which follows a quotation, is said by new words directly before the quotation.

        The speaker may be named on either side: “Where is he?” she asked me → Asking me, she said: “Where is he?”
        """
        stretch = stretch.lstrip("-–—, ")
        start = max(0, self._before.find(stretch))
        nearby = self._before[max(0, start - QUOTE_NEARBY) : start]
        if not _CLOSING_QUOTE.search(nearby):
            return False
        opening_quotes = list(_OPENING_QUOTE.finditer(nearby))
        if not opening_quotes:
            return False
        first_words = tuple(stems(nearby[opening_quotes[-1].end() :])[:QUOTED_WORDS])
        words_of_stretch = Counter(stems(stretch))
        letters_needed = SPEAKER_KEPT * sum(map(len, words(stretch)))
        for quote_start in self._quotations.get(first_words, []):
            new_letters = 0
            for word in reversed(words(self._after[max(0, quote_start - QUOTE_NEARBY) : quote_start].casefold())):
                if self._stems_before[word[:STEM]] > words_of_stretch[word[:STEM]]:
                    break
                new_letters += len(word)
            if new_letters >= letters_needed:
                return True
        return False

    @cached_property
    def _quotations(self) -> dict[tuple[str, ...], list[int]]:
        """Where the quotations of the text after begin, at most a few of each, by their first words."""
        places: dict[tuple[str, ...], list[int]] = {}
        for quote in _OPENING_QUOTE.finditer(self._after):
            first_words = tuple(stems(self._after[quote.end() : quote.end() + QUOTE_NEARBY])[:QUOTED_WORDS])
            starts = places.setdefault(first_words, [])
            if len(starts) < MOST_ALIKE:
                starts.append(quote.start())
        return places

    @cached_property
    def _stems_before(self) -> Counter[str]:
        return Counter(stems(self._before))

    @cached_property
    def _neighbours(self) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
        before, after = words(self._before.casefold()), words(self._after.casefold())
        return Counter(pairwise(before)), Counter(pairwise(after))

    @cached_property
    def _words(self) -> tuple[Counter[str], Counter[str]]:
        return Counter(_words_or_pairs(self._before, False)), Counter(_words_or_pairs(self._after, False))

    @cached_property
    def _pairs(self) -> tuple[Counter[str], Counter[str]]:
        return Counter(_words_or_pairs(self._before, True)), Counter(_words_or_pairs(self._after, True))

    @cached_property
    def _has_fewer_parts(self) -> bool:
        """Whether the text after has fewer paragraphs than the text before, or fewer sentences than the source."""
        if len(blocks(self._after)) < len(blocks(self._before)):
            return True
        return len(sentences(self._after, self._lang)) < len(sentences(self._source))

    @cached_property
    def _letters_lost(self) -> float:
        return letters(self._before) - letters(self._after)


def _words_or_pairs(text: str, unspaced: bool) -> list[str]:
    found = list(words(text.casefold()))
    if unspaced:
        return [first + second for first, second in pairwise(found)]
    return found


_OPENING_QUOTE = regex.compile(r"(?<![\p{L}\p{N}])[\"'“”„«»‘‚「『]\s?+(?=[\p{L}\p{N}¿¡])")
_CLOSING_QUOTE = regex.compile(r"[\"'“”’«»」』][\s,—–-]*+\Z")
QUOTED_WORDS = 3
"""First words of a quotation by which it is found again."""
QUOTE_NEARBY = 400
"""Characters around a quotation that are looked at."""
MOST_ALIKE = 5
"""Quotations with the same first words that are looked at."""
SPEAKER_KEPT = 0.33
"""Share of the letters of the words that follow a quotation which new words before it must have to say the same."""


def _stretches(source: str, before: str, after: str, lang: str, nearest: Nearest | None) -> Iterator[Stretch]:
    if not before.strip() or before.split() == after.split():
        return
    if not after.strip():
        yield Stretch(before, inf)
        return
    small = is_small(before, after)
    if small and not may_be_large(before, after):
        return
    original, old, new = blocks(source), blocks(before), blocks(after)
    if len(original) == len(old) == len(new):
        for texts in zip(original, old, new, strict=True):
            yield from weighed(cut_or_missing(*texts, lang, blocks=len(old)), *texts, lang, nearest)
        return
    if len(old) > 1 and not small:
        for stretch in Alignment(Units(source, original), Units(before, old), Units(after, new)).missing():
            yield stretch._replace(evidence=stretch.evidence + PARAGRAPH)
    yield from weighed(cut_or_missing(source, before, after, lang), source, before, after, lang, nearest)


def cut_or_missing(source: str, before: str, after: str, lang: str, blocks: int = 1) -> list[Stretch]:
    """The missing sentences, or the cuts from the text as a whole, whichever is more certain.

    ``blocks`` is the number of paragraphs of which this is one.
    """
    if before.split() == after.split():
        return []
    missing = []
    if not is_small(before, after):
        missing = missing_sentences(source, before, without_joints(before, after, lang), lang, blocks)
    whole = cut(source, before, after)
    if whole and whole.evidence > (_strongest(missing) if missing else IMPLAUSIBLE):
        return [whole]
    if is_mere_cut(*difference(before, after)):
        return [stretch._replace(is_cut=True) for stretch in missing]
    return missing


def is_small(before: str, after: str) -> bool:
    """Whether the removed text is too short for a sentence or half of one."""
    removed, _ = difference(before, after)
    return len(removed) <= SMALL_EDIT and not ends_sentence(removed) and letters(removed) <= SMALL_EDIT


# -- a single cut

TAIL_SHARE, TAIL_LETTERS = 0.22, 4
"""Share and number of letters from which a missing end is a loss."""
TORN_SHARE = 0.1
"""The same share where the end was torn off inside a word and whole words went with it."""
SHARE, LETTERS = 0.4, 9
"""Share and number of letters from which a missing beginning or middle is a loss: a word or two may be needless."""
_SLOPE = 15.0
_SAYS = regex.compile(r"[\p{L}\p{N}]")


def is_mere_cut(removed: str, added: str) -> bool:
    """Whether an edit that puts ``added`` for ``removed`` takes words away and puts none."""
    return len(removed) >= TAIL_LETTERS and _SAYS.search(added) is None and _SAYS.search(removed) is not None


def may_be_large(before: str, after: str) -> bool:
    """Whether the removed text may be a large share of its line; a cheap check."""
    head, tail = shared_ends(before, after)
    end = len(before) - tail
    line_end = before.find("\n", end)
    line = (len(before) if line_end < 0 else line_end) - before.rfind("\n", 0, head)
    return end - head >= TORN_SHARE / 2 * line and is_mere_cut(*difference(before, after))


def cut(source: str, before: str, after: str) -> Stretch | None:
    """The cut from ``before``, with evidence that rises with its share; ``None`` if it isn't a loss.

    No loss: few letters, text that the source never had (``before`` was too long), and a repeated phrase.
    """
    removed, added = difference(before, after)
    if not is_mere_cut(removed, added):
        return None
    head, tail = shared_ends(before, after)
    end = len(before) - tail
    at_end = _SAYS.search(before, end) is None
    kept = set(words(after.casefold()))
    torn = at_end and len(removed.split()) > 1 and not kept <= set(words(before.casefold()))
    least, limit = (TAIL_LETTERS, TAIL_SHARE) if at_end else (LETTERS, SHARE)
    if letters(removed) < least:
        return None
    if not torn:
        said_twice = set(words(removed.casefold())) <= kept and letters(after) >= LONG_ENOUGH * letters(source)
        if said_twice or had_surplus(source, before, after):
            return None
    share = letters(removed) / letters(before)
    is_one_sentence = is_ended(before[end : end + 1], "") and not ends_sentence(removed)
    if is_one_sentence and share < SHARE and letters(removed) < LETTERS:
        return None  # nothing was torn off, and a word may be needless at the end, too
    while head and _SAYS.match(before, head - 1) and _SAYS.match(before, head):  # quote the torn word as a whole
        head -= 1
    return Stretch(before[head:end].strip(), _SLOPE * (share - (TORN_SHARE if torn else limit)), is_cut=True)


# -- sentence by sentence, or paragraph by paragraph


class Features(NamedTuple):
    """The features of one unit of ``before``, each clipped to a small range."""

    missing: float
    """Share of the unit, by length, that has no counterpart in ``after``; below 0 if ``after`` is longer."""
    missing_amid_kept: float
    """``missing`` times the share of the other units that is matched: in a small edit a gap is stronger evidence."""
    short_here: float
    """log(length by the source's sentence / length in ``after``), if the sentence counts identify the sentence."""
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
"""With these weights and this bias, the log-odds of a loss are 0 where 2 % of good texts are refused."""
ALIKE, WIDE, REPLACED = 0.85, 20.0, 0.1
"""A gap is a loss by itself where the texts are more alike elsewhere, more letters are removed, and less is added."""
_ALIKE_SLOPE, _WIDE_SLOPE = 60.0, 5.0
LONGEST_ENDING = 6
"""Letters by which a word may grow without a change of meaning."""
BESIDE = 2
"""Within how many kept words of a gap other words may replace the missing ones."""
STILL_THERE = 0.6
"""Share of a sentence's word pairs that ``after`` must have as often as ``before``: it was moved, not lost."""


class Unit(NamedTuple):
    """A sentence or paragraph, and the words ``low`` to ``high`` (exclusive) of the text that it holds."""

    text: str
    low: int
    high: int


class Units:
    """A text cut into units that hold words. Of a word the first letters count: ``keys``."""

    def __init__(self, text: str, parts: Iterable[str]) -> None:
        self.text = text
        self.keys: list[str] = []
        self.units: list[Unit] = []
        self.sums = [0]
        for part in parts:
            if in_part := words(part.casefold()):
                self.units.append(Unit(part, len(self.keys), len(self.keys) + len(in_part)))
                self.keys += [word[:STEM] for word in in_part]
                self.sums += accumulate(map(len, in_part), initial=self.sums.pop())
        self.size = self.sums[-1]

    def __len__(self) -> int:
        return len(self.units)

    def size_of(self, low: int, high: int) -> int:
        """Length of the words ``low`` to ``high``; 0 where ``high`` is lower."""
        return max(0, self.sums[high] - self.sums[low])


class Gap(NamedTuple):
    """Words ``low`` to ``high`` of ``before`` between two neighbouring matches; the letters removed and added there."""

    low: int
    high: int
    removed: int
    added: int

    @property
    def net(self) -> int:
        """Letters removed beyond those that were added."""
        return max(0, self.removed - self.added)


class Alignment:
    """A text before and after, aligned, with the sums that make a look at any unit cheap."""

    def __init__(self, source: Units, before: Units, after: Units) -> None:
        self.source, self.before, self.after = source, before, after
        pairs = match(before.keys, after.keys)
        old, new = len(before.keys), len(after.keys)
        self._partner = partner = dict(pairs)
        # At every cut in ``before``: where ``after`` continues behind the last match, where the next match begins, and
        # the length of all matched words so far.
        self._left, self._right, self._matched = [0], [new] * (old + 1), [0]
        for index in range(old):
            left, matched = self._left[-1], self._matched[-1]
            if index in partner:
                left = partner[index] + 1
                matched += before.size_of(index, index + 1)
            self._left.append(left)
            self._matched.append(matched)
        for index in reversed(range(old)):
            self._right[index] = partner.get(index, self._right[index + 1])
        self._gaps = []
        for (i, j), (next_i, next_j) in pairwise([(-1, -1), *pairs, (old, new)]):
            removed, added = before.size_of(i + 1, next_i), after.size_of(j + 1, next_j)
            self._gaps.append(Gap(i + 1, next_i, removed, added))
        self._gap = max(self._gaps, key=lambda gap: gap.net)
        differs = before.size + after.size - 2 * self._matched[-1] - self._gap.removed - self._gap.added
        self._alike = _clip(1 - 2 * differs / max(1, before.size + after.size), 0, 1)
        self._shrunk = _clip(log(letters(source.text) / letters(after.text)), 0, 1)
        self._lost_names = set((_names(source.text) & _names(before.text)) - _names(after.text))
        self._fewer = min(len(source), len(before)) > len(after)
        self._had_surplus = had_surplus(source.text, before.text, after.text)
        self._has_all_units = len(after) >= len(source)

    def missing(self) -> Iterator[Stretch]:
        """The units of ``before`` that may be missing, and the widest gap where that is more certain."""
        bare = self.bare_gap
        for index, unit in enumerate(self.before.units):
            evidence = BIAS + sum(w * value for w, value in zip(WEIGHTS, self.features(index), strict=True))
            if self._is_kept_or_surplus(unit.low, unit.high):
                evidence = IMPLAUSIBLE
            if bare and unit.low <= self._gap.low < unit.high and bare.evidence > evidence:
                yield bare
            elif evidence > IMPLAUSIBLE:
                yield Stretch(unit.text, evidence, is_cut=self._is_cut(unit.low, unit.high))

    def _is_cut(self, low: int, high: int) -> bool:
        """Whether ``after`` has almost nothing between the words before and after these words."""
        stands = self.after.size_of(self._left[low], self._right[high])
        return stands <= REPLACED * self.before.size_of(low, high)

    def features(self, index: int) -> Features:
        """The features of the unit ``index`` of ``before``."""
        text, low, high = self.before.units[index]
        size = self.before.size_of(low, high)
        stands = self.after.size_of(self._left[low], self._right[high])
        matched = self._matched[high] - self._matched[low]
        missing = _clip((size - stands) / size, -1, 1)
        hole = max(0.0, missing)
        source_size, elsewhere = size, 1.0
        if len(self.source) == len(self.before):
            _, source_low, source_high = self.source.units[index]
            source_size = self.source.size_of(source_low, source_high)
            elsewhere = (self.source.size - source_size + 20) / (max(0, self.after.size - stands) + 20)
        touches_gap = low < self._gap.high and high > self._gap.low
        return Features(
            missing=missing,
            missing_amid_kept=hole * (self._matched[-1] - matched + 5) / (self.before.size - size + 10),
            short_here=_clip(log((source_size + 8) / (elsewhere * stands + 8)), -1, 2),
            missing_below_source=hole * self._shrunk,
            names_lost=min(3, len(self._lost_names.intersection(_names(text)))) if self._lost_names else 0,
            fewer_units=float(self._fewer),
            missing_and_fewer=hole * self._fewer,
            gap_in_small_edit=log(1 + self._gap.net) * self._alike if touches_gap else 0.0,
        )

    def _grown_beside(self, gap: Gap) -> int:
        """The letters by which the words on either side of the ``gap`` grew: a compound may contain the lost word.

        Wiederaufbau nach dem Sturm → Sturmerholung. An ending is no longer than a few letters.
        """
        grown = 0
        for index in (gap.low - 1, gap.high):
            partner = self._partner.get(index)
            if partner is not None:
                more = self.after.size_of(partner, partner + 1) - self.before.size_of(index, index + 1)
                if more > LONGEST_ENDING:
                    grown += more
        return grown

    def _added_beside(self, gap: Gap) -> int:
        """The letters that ``after`` adds a few words away from the ``gap``, in the sentences that it touches."""
        touched = [unit for unit in self.before.units if unit.low < gap.high and gap.low < unit.high]
        if any(gap.low <= unit.low and unit.high <= gap.high for unit in touched):
            return 0  # the words next to it are of other sentences
        low, high = touched[0].low, touched[-1].high
        index = self._gaps.index(gap)
        low = max(low, self._gaps[max(0, index - BESIDE)].low)
        high = min(high, self._gaps[min(index + BESIDE, len(self._gaps) - 1)].high)
        stands = self.after.size_of(self._left[low], self._right[high])
        return max(0, stands - (self._matched[high] - self._matched[low]))

    @cached_property
    def bare_gap(self) -> Stretch | None:
        """The widest gap, where next to nothing came instead; its evidence is high where all else stayed as it was."""
        gap = self._gap
        replaced = gap.added + self._grown_beside(gap) > REPLACED * gap.removed
        if not gap.net or replaced or self._had_surplus or self._is_kept_or_surplus(gap.low, gap.high):
            return None
        # Words may have moved within the sentence, or others may say the same there: beim Pflanzen und bei der Pflege
        # → bei der Pflanzung und der Pflege.
        added = self._added_beside(gap)
        net = gap.removed - added
        if net <= 0:
            return None
        net_letters = net * letters(self.before.text) / self.before.size
        evidence = min(_ALIKE_SLOPE * (self._alike - ALIKE), _WIDE_SLOPE * log(net_letters / WIDE))
        places = list(islice(word_pattern(self.before.text).finditer(self.before.text), gap.low, gap.high))
        text = self.before.text[places[0].start() : places[-1].end()] if places else ""
        return Stretch(text, evidence, is_cut=added <= REPLACED * gap.removed)

    @cached_property
    def _word_pairs(self) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
        return Counter(pairwise(self.before.keys)), Counter(pairwise(self.after.keys))

    def _is_kept_or_surplus(self, low: int, high: int) -> bool:
        """Whether the words aren't a loss: they occur elsewhere in ``after``, or the source never had them.

        A repeat must stay, unless ``after`` has a unit for each of the source.
        """
        if self._has_all_units and self._had_surplus and len(self.before) > len(self.source):
            return True
        old, new = self._word_pairs
        mine = list(pairwise(self.before.keys[low:high]))
        kept = 0
        for pair in mine:
            needed = 1 if self._has_all_units else old[pair]
            kept += new[pair] >= needed
        return bool(mine) and kept >= STILL_THERE * len(mine)


def _names(text: str) -> Counter[str]:
    return Counter(names(text))


def _clip(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


# -- sentence by sentence of the source


class Shortage(NamedTuple):
    """The features of a :class:`Pair`, each clipped to a small range."""

    short: float
    """log(length by the source / length in ``after``)."""
    short_of_both: float
    """The same, or log(length in ``before`` / length in ``after``) if that is less; at least 0."""
    names_lost: float
    fewer_sentences: float
    """1 where ``after`` has fewer sentences than source and ``before``, else 0."""
    short_whole: float
    """log(length of the source / length of ``after``)."""
    several: float
    """1 where several sentences of the source are paired together, else 0."""
    short_several: float
    """``short``, at least 0, where they are."""
    by_words: float
    """The strongest evidence of :class:`Alignment`."""


SHORTAGE_WEIGHTS = Shortage(6.3, 4.3, 0.2, 1.1, 2.2, 2.6, -3.8, 0.35)
SHORTAGE_BIAS = -4.4
FEW, CHANCES = 5, 2.0
"""Sentences from which on every further one is another chance to be wrong, and how much the log of that counts."""


def _shortage(pair: Pair, *, fewer_sentences: float, short_whole: float, by_words: float) -> Shortage:
    short = _clip(log((pair.source + 12) / (pair.after + 12)), -1, 2)
    shrunk = _clip(log((pair.before + 12) / (pair.after + 12)), -1, 2)
    several = float(pair.sentences > 1)
    return Shortage(
        short=short,
        short_of_both=max(0.0, min(short, shrunk)),
        names_lost=min(3, pair.lost_names),
        fewer_sentences=fewer_sentences,
        short_whole=short_whole,
        several=several,
        short_several=several * max(0.0, short),
        by_words=by_words,
    )


def missing_sentences(source: str, before: str, after: str, lang: str, blocks: int = 1) -> list[Stretch]:
    """What ``after`` lacks of the sentences of ``before``, by their words and by the sentences of the source.

    A sentence of the source that has a translation of plausible length is not missing, however it was reworded.
    """
    units = (
        Units(source, sentences(source)),
        Units(before, sentences(before, lang)),
        Units(after, sentences(after, lang)),
    )
    alignment = Alignment(*units)
    by_words = list(alignment.missing())
    found = pairs(source, before, after, lang)
    if not found:
        return by_words
    source_units, units_before, units_after = map(len, units)
    fewer = float(min(source_units, units_before) > units_after)
    whole = _clip(log(letters(source) / letters(after)), -0.5, 1)
    evidence = _clip(_strongest(by_words), 2 * IMPLAUSIBLE, -IMPLAUSIBLE)
    chances = CHANCES * log(max(1.0, blocks * source_units / FEW))
    # One long sentence may be split again as its source is. A part that is short, or lacks a name, isn't such a part.
    is_split = units_before == 1 < source_units <= units_after and letters(after) >= HALF_SAID * letters(source)
    missing = []
    for pair in found:
        shortage = _shortage(pair, fewer_sentences=fewer, short_whole=whole, by_words=evidence)
        weighed = sum(w * value for w, value in zip(SHORTAGE_WEIGHTS, shortage, strict=True))
        total = SHORTAGE_BIAS - chances + weighed
        if total > 0 and is_split and pair.after >= SHORT_KEPT * pair.source and not pair.lost_names:
            total = 0.0
        elif total > 0 and source_units == 1:
            rewording = Rewording(pair, lang)
            if rewording.keeps_content:
                total = 0.0
            elif rewording.is_another_text:
                total = min(total, SURE)
        stretches_here = [stretch for stretch in by_words if stretch.text in pair.text]
        by_its_words = max(stretches_here, key=lambda stretch: stretch.evidence, default=Stretch(pair.text, -inf))
        is_cut = by_its_words.is_cut or pair.after <= REPLACED * pair.before
        missing.append((Stretch(by_its_words.text, total, is_cut), by_its_words.evidence))
    if not missing:
        return by_words
    strongest = max(stretch.evidence for stretch, _ in missing)
    bare = alignment.bare_gap
    if bare and bare.evidence > max(0.0, strongest):
        return [bare]
    # The whole text is short of one sentence, so that all the others seem short too.
    stretches = []
    for stretch, evidence_of_words in missing:
        if stretch.evidence == strongest or evidence_of_words > 0:
            stretches.append(stretch)
    return stretches


# -- by meaning

DOUBT = 1.0
"""Evidence that is not farther from 0 is doubtful."""
MOST_SENTENCES = 20
"""The most sentences of a paragraph that are compared by meaning, because that takes time."""
FARTHER_WEIGHT, FARTHER, MOST_FARTHER = 20.0, 0.05, 0.2
"""The weight of a source sentence that is farther from the text after than from the text before, and the distance
at which a rewording is as likely as a loss. The cosines of qe-e5 lie between 0.7 and 1."""


def weighed(
    stretches: list[Stretch], source: str, before: str, after: str, lang: str, nearest: Nearest | None
) -> list[Stretch]:
    """``stretches``, with the evidence shifted by meaning where the strongest is doubtful.

    A sentence of the source must have a sentence in ``after`` about as near to it as one in ``before``.
    """
    if nearest is None or abs(_strongest(stretches)) > DOUBT:
        return stretches
    asked, old, new = _worded_sentences(source, ""), _worded_sentences(before, lang), _worded_sentences(after, lang)
    if not (asked and old and new) or max(map(len, (asked, old, new))) > MOST_SENTENCES:
        return stretches
    farther = max(was - now for was, now in zip(nearest(asked, old), nearest(asked, new), strict=True))
    shift = FARTHER_WEIGHT * (_clip(farther, 0, MOST_FARTHER) - FARTHER)
    return [stretch._replace(evidence=stretch.evidence + shift) for stretch in stretches]


def _worded_sentences(text: str, lang: str) -> list[str]:
    """The sentences of ``text`` that have words, without white space around them."""
    return [sentence.strip() for sentence in sentences(text, lang) if words(sentence)]


def quoted(text: str, width: int = 60) -> str:
    """``text`` on one line in quotes, its middle left out where it is long."""
    line = " ".join(text.split())
    if len(line) > width:
        line = f"{line[: width // 2].rstrip()} … {line[-width // 3 :].lstrip()}"
    return f"“{line}”"
