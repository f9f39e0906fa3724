"""Numbers in one word that are no number words: double, ढाई (two and a half), hora e meia (an hour and a half).

They say what a number in digits may have become: none of them is certain, as many have other senses.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.folding import fold
from mtagent.text.scripts import has_spaces
from mtagent.text.word_lists import word_lists

_LINES: list[str] = word_lists("number_phrases")["phrases"].split("\n")
_SAME_AS = {"nb": "no", "nn": "no"}
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_SHORTEST_STEM = 3

Value = tuple[bool, float]
"""A number, or, where it begins with true, a part of one that is added to the number word beside it."""


class PhraseValues(NamedTuple):
    """What the phrases of a text say: numbers, and parts of one that are added to a number word beside them."""

    values: list[float]
    added: list[float]


class _Table(NamedTuple):
    """The phrases of a language by their form."""

    words: dict[str, list[Value]]
    stems: dict[str, list[Value]]
    several_words: dict[str, list[tuple[str, Value]]]
    """Phrases of several words by the first of them."""


@lru_cache(maxsize=128)
def _table(lang: str) -> _Table | None:
    lang = _SAME_AS.get(lang, lang)
    lines = [line.partition(": ")[2] for line in _LINES if line.startswith(f"{lang}: ")]
    if not lines:
        return None
    words, stems = defaultdict[str, list[Value]](list), defaultdict[str, list[Value]](list)
    several_words = defaultdict[str, list[tuple[str, Value]]](list)
    for entry in ";".join(lines).split(";"):
        number, _, forms = entry.strip().partition(": ")
        value = number[0] in "+-", float(number)
        for form in map(fold, forms.split()):
            first, _, rest = form.partition("_")
            if rest:
                several_words[first].append((form.replace("_", " "), value))
            elif form.endswith("*"):
                stems[form[:-1]].append(value)
            else:
                words[form].append(value)
    return _Table(words, stems, several_words)


@lru_cache(maxsize=16_384)
def _values_of(word: str, lang: str) -> tuple[Value, ...]:
    """The numbers that a single folded word says."""
    table = _table(lang)
    if table is None:
        return ()
    values = table.words.get(word)
    if values is None:
        stems = (word[:size] for size in range(len(word), _SHORTEST_STEM - 1, -1))
        values = next((table.stems[stem] for stem in stems if stem in table.stems), [])
    return tuple(values)


def phrases(folded: str, lang: str) -> PhraseValues:
    """What the phrases of a ``folded`` text, in the language ``lang`` (``pt``), say."""
    table = _table(lang)
    if table is None:
        return PhraseValues([], [])
    if lang == "ko" or not has_spaces(lang):  # Korean joins particles and counters to its words
        values = _values_inside(folded, table)
    else:
        values = _values_of_words(folded, table, lang)
    return PhraseValues(
        values=[number for is_added, number in values if not is_added],
        added=[number for is_added, number in values if is_added],
    )


def _values_inside(folded: str, table: _Table) -> list[Value]:
    values: list[Value] = []
    for word, its_values in table.words.items():
        values += its_values * folded.count(word)
    for forms in table.several_words.values():
        for form, value in forms:
            values += [value] * folded.count(form)
    return values


def _values_of_words(folded: str, table: _Table, lang: str) -> list[Value]:
    values: list[Value] = []
    words = _WORD.findall(folded)
    for word in words:
        values += _values_of(word, lang)
    for first in table.several_words.keys() & set(words):
        plain = f" {' '.join(words)} "
        for form, value in table.several_words[first]:
            values += [value] * plain.count(f" {form} ")
    return values


def places_of(number: float, folded: str, lang: str) -> list[tuple[int, int]]:
    """The places of single words of a ``folded`` text, in the language ``lang``, that mean ``number``."""
    table = _table(lang)
    if table is None:
        return []
    value = (False, number)
    places = []
    if lang == "ko" or not has_spaces(lang):
        for form, form_values in table.words.items():
            if value in form_values:
                places += [match.span() for match in regex.finditer(regex.escape(form), folded)]
        return places
    for match in _WORD.finditer(folded):
        if value in _values_of(match.group(), lang):
            places.append(match.span())
    return places
