"""Words of the source, two or more in a row, that an edit leaves untranslated in a translation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from mtagent.records import Segment
from mtagent.text import foreign, scripts
from mtagent.text.word_lists import word_lists, words_by_language

_LISTS = word_lists("left_over")
_SMALL_WORDS = words_by_language(_LISTS["small_words"])
_SMALL_WORDS["no"] = _SMALL_WORDS["nb"]
_FOREIGN_SPELLINGS = {lang: regex.compile(pattern) for lang, pattern in _LISTS["foreign_spellings"].items()}
_LOANS = frozenset(pair for line in _LISTS["taken_over"]["en"].split("\n") for pair in pairwise(line.split()))
"""Pairs of words that other languages took over from English. Some of the pairs are no loans, and do no harm."""
_SMALL = regex.compile(r"\p{Ll}[\p{Ll}\p{M}]*+")
_GAP = regex.compile(r"[ \u00a0]++")
_OPENED = regex.compile(r"(?:\p{Ps}[ \u00a0]?|[\p{Pi}\"'`„*_<])\Z")
_CLOSED = regex.compile(r"['’\"]?[\p{Pe}\p{Pf}\"`“*_>]")
_FEWEST_LETTERS = 5
_CERTAIN_RUN = 3
_INDIC_RUN = 4
_MIXING = frozenset(["Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh"])
_LATIN_WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}]*+")


def left_over(segment: Segment, before: str, after: str) -> Iterator[str]:
    """The runs of source words, two or more, that stand untranslated in ``after`` and did not in ``before``.

    Only sources in Latin script are compared. Names, quotations, words in brackets, the segment's terms, phrases that
    many languages took over from English, and words that the target language may share are left out.
    """
    source_lang, target_lang = scripts.language_of(segment.source_lang), scripts.language_of(segment.target_lang)
    if source_lang not in _SMALL_WORDS or source_lang == target_lang:
        return
    new_words = set(scripts.words(after)).difference(scripts.words(before))
    if new_words.isdisjoint(scripts.words(segment.source)):
        return
    source = foreign.language_words(segment.source)
    pairs_of_source = set(_pairs(source, source_lang))
    text = foreign.language_words(after)
    if not pairs_of_source or pairs_of_source.isdisjoint(_pairs(text, source_lang)):
        return
    pairs_before = set(_pairs(foreign.language_words(before), source_lang))
    terms = {word for term in segment.terms for word in (term.target or term.source).casefold().split()}
    for run, start, end in _runs(text, pairs_of_source - pairs_before, source_lang):
        quoted = _OPENED.search(text, max(0, start - 2), start) or _CLOSED.match(text, end)
        if not quoted and not terms.issuperset(run) and _is_foreign(run, source_lang, segment.target_lang):
            yield " ".join(run)


def _is_word(word: str, lang: str) -> bool:
    """Whether ``word`` may be left over: it is no name. In German, nouns have capitals."""
    return _SMALL.fullmatch(word) is not None or (lang == "de" and len(word) > 1 and word[1:].islower())


def _pairs(text: str, lang: str) -> Iterator[tuple[str, str]]:
    for first, second in pairwise(_LATIN_WORD.finditer(text)):
        if _is_pair(text, first, second, lang):
            yield first.group(), second.group()


def _is_pair(text: str, first: regex.Match[str], second: regex.Match[str], lang: str) -> bool:
    """Whether two words follow each other, are no names, and are not both capitalised."""
    if not _GAP.fullmatch(text, first.end(), second.start()):
        return False
    words = first.group(), second.group()
    return all(_is_word(word, lang) for word in words) and any(word.islower() for word in words)


def _runs(text: str, pairs: set[tuple[str, str]], lang: str) -> Iterator[tuple[list[str], int, int]]:
    """The longest runs of words that are made of ``pairs``, with their places in ``text``."""
    run: list[str] = []
    start = end = 0
    for first, second in pairwise(_LATIN_WORD.finditer(text)):
        fits = _is_pair(text, first, second, lang) and (first.group(), second.group()) in pairs
        if fits and run and end == first.end():
            run.append(second.group())
        elif fits:
            if run:
                yield run, start, end
            run, start = [first.group(), second.group()], first.start()
        if fits:
            end = second.end()
    if run:
        yield run, start, end


def _is_foreign(run: list[str], source_lang: str, target_lang: str) -> bool:
    """Whether a run of source words is certainly no text of the target language."""
    if sum(map(len, run)) < _FEWEST_LETTERS:
        return False
    target = scripts.language_of(target_lang)
    is_latin = scripts.script_of(target_lang) == "Latn"
    small_words, small_words_of_target = _SMALL_WORDS[source_lang], _SMALL_WORDS.get(target, frozenset[str]())
    gives_away = not small_words_of_target.issuperset(small_words.intersection(run))
    if gives_away and not is_latin:
        return True
    if gives_away and target in _SMALL_WORDS:
        return small_words_of_target.isdisjoint(run) or len(run) >= _CERTAIN_RUN
    if source_lang == "en" and all(pair in _LOANS for pair in pairwise(run)):
        return False
    if scripts.script_of(target_lang) in _MIXING:
        return len(run) >= _INDIC_RUN
    if not is_latin:
        return True
    spelling = _FOREIGN_SPELLINGS.get(target)
    return spelling is not None and source_lang == "en" and any(map(spelling.search, run))
