"""Numbers in one word that are no number words: double, ढाई (two and a half), hora e meia (an hour and a half).

They say what a number in digits may have become: none of them is certain, as many have other senses.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.folding import fold
from mtagent.text.word_lists import word_lists

_LINES: list[str] = word_lists("number_phrases")["phrases"].split("\n")
_SAME_AS = {"nb": "no", "nn": "no"}
_WITHOUT_SPACES = frozenset(["ja", "ko", "th", "zh"])
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_SHORTEST_STEM = 3

Value = tuple[bool, float]
"""A number, or, where it begins with true, a part of one that is added to the number word beside it."""


class Phrases(NamedTuple):
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


def phrases(folded: str, lang: str) -> Phrases:
    """What the phrases of a ``folded`` text, in the language ``lang`` (``pt``), say."""
    found = Phrases([], [])
    table = _table(lang)
    if table is None:
        return found
    values: list[Value] = []
    if lang in _WITHOUT_SPACES:
        forms = [
            *table.words.items(),
            *((form, [value]) for forms in table.several_words.values() for form, value in forms),
        ]
        for form, its_values in forms:
            values += its_values * folded.count(form)
    else:
        words = _WORD.findall(folded)
        for word in words:
            values += _values_of(word, lang)
        for first in table.several_words.keys() & set(words):
            plain = " ".join(words)
            for form, value in table.several_words[first]:
                values += [value] * f" {plain} ".count(f" {form} ")
    for is_added, number in values:
        (found.added if is_added else found.values).append(number)
    return found
