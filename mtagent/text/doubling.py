"""Words that follow themselves: which are a slip, and which a language doubles on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from mtagent.text import scripts
from mtagent.text.word_lists import word_lists, words_by_language

_LISTS = word_lists("doubling")
_NEVER_DOUBLED = words_by_language(_LISTS["never_doubled"])
_MAY_BE_DOUBLED = words_by_language(_LISTS["may_be_doubled"])
_DOUBLED_IN_CHINESE = words_by_language(_LISTS["doubled_on_purpose"])["zh"]
_DOUBLED = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}\p{Pd}'’])(?P<word>\p{L}[\p{L}\p{M}]*+)"
    r"(?P<again>[ \u00a0]++(?P=word))(?![\p{L}\p{M}\p{N}\p{Pd}'’])",
    regex.IGNORECASE,
)
# Without spaces: particles and pronouns that do not follow themselves, and three characters or more that do.
_DOUBLED_SIGNS = {
    "ja": regex.compile(rf"をを|(?P<again>(?P<word>{scripts.CHINESE_OR_JAPANESE}{{3,12}}?)(?P=word))"),
    "zh": regex.compile(
        r"(?<!目)的的(?![确確士])|您您|我我|请请|與與|与与|(?P<again>(?P<word>\p{Han}{2,12}?)(?P=word))"
    ),
}
_OBJECT_MARK_TWICE = "をを"
_TWICE = regex.compile(r"(?<!\p{L})(\p{L}[\p{L}\p{M}]*+)\W++\1(?!\p{L})|(\p{Han}{2,}?)\2", regex.IGNORECASE)
_HAN = regex.compile(r"\p{Han}")
_LONGER_THAN_SOUNDS = 5
_PERIODIC = regex.compile(r"(.+?)\1++", regex.DOTALL)


class Doubled(NamedTuple):
    """A word that follows itself in ``text[start:end]``."""

    word: str
    start: int
    end: int
    certain: bool
    """Whether the language never doubles it."""

    @property
    def complaint(self) -> str:
        """The fault, as people read it."""
        return f"{self.word!r} is doubled"


def doubled_words(source: str, text: str, lang: str) -> Iterator[Doubled]:
    """The words of ``text`` that follow themselves by mistake, where the words of the ``source`` do not.

    For languages that double words to make new ones (Indonesian, Turkish, Hindi …) only the smallest words are listed.
    """
    lang = scripts.language_of(lang)
    signs = _DOUBLED_SIGNS.get(lang)
    if signs is None and lang not in _NEVER_DOUBLED and lang not in _MAY_BE_DOUBLED:
        return
    pattern = signs or _DOUBLED
    if not pattern.search(text) or _TWICE.search(source):
        return
    if signs is None:
        yield from _doubled_between_spaces(text, lang)
    else:
        yield from _doubled_signs(text, signs)


def _doubled_between_spaces(text: str, lang: str) -> Iterator[Doubled]:
    never_doubled, may_be_doubled = _NEVER_DOUBLED.get(lang, frozenset()), _MAY_BE_DOUBLED.get(lang)
    for match in _DOUBLED.finditer(text):
        first, again = match["word"], match["again"].strip()
        word = first.casefold()
        has_case = word.upper() != word
        is_name = has_case and not again.islower()
        if is_name:
            continue
        if word in never_doubled:
            yield Doubled(first, *match.span(), certain=True)
        elif may_be_doubled is not None and word not in may_be_doubled:
            yield Doubled(first, *match.span(), certain=False)


def _doubled_signs(text: str, pattern: regex.Pattern[str]) -> Iterator[Doubled]:
    for match in pattern.finditer(text):
        word = match["word"] or match.group()[0]
        is_particle_or_pronoun = match["again"] is None
        if is_particle_or_pronoun or not (_is_doubled_on_purpose(word) or _is_sound(word)):
            yield Doubled(word, *match.span(), certain=match.group() == _OBJECT_MARK_TWICE)


def _is_doubled_on_purpose(word: str) -> bool:
    is_periodic = _PERIODIC.fullmatch(word) is not None
    return is_periodic or len(set(word)) == 1 or word[0] in "一每" or word in _DOUBLED_IN_CHINESE


def _is_sound(word: str) -> bool:
    """Whether ``word``, doubled, imitates a sound or a manner: ひょろひょろ."""
    return len(word) < _LONGER_THAN_SOUNDS and not _HAN.search(word)
