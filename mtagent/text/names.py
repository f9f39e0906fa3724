"""Names that a translation has as its source has them: what is certain about them without a model."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from mtagent.text import paragraphs

_CASED = r"\p{Lu}\p{Ll}\p{Lt}\p{M}\p{N}"
_NAME = regex.compile(
    rf"(?<![{_CASED}])(?:[\p{{Lu}}\p{{Lt}}]|\p{{Ll}}++(?=\p{{Lu}}))[{_CASED}]*+(?:['’]\p{{Lu}}[{_CASED}]*+|-[{_CASED}]++)*+"
)
_SMALL = regex.compile(rf"(?<![{_CASED}])\p{{Ll}}[\p{{Ll}}\p{{M}}]*+(?![{_CASED}])")


def capitalised(text: str, lang: str = "") -> Iterator[tuple[str, bool]]:
    """The words of two or more letters that are written with a capital, each with whether it begins a sentence."""
    for sentence in paragraphs.sentences(text, lang):
        first = regex.search(r"\w", sentence)
        for word in _NAME.finditer(sentence):
            if len(word[0]) > 1:
                yield word[0], first is not None and word.start() == first.start()


def small(text: str) -> set[str]:
    """The words that are written in small letters."""
    return set(_SMALL.findall(text))


def stands_in(word: str, text: str) -> bool:
    """Whether ``text`` has ``word`` letter by letter, as a word; characters without case do not belong to words."""
    return word in text and regex.search(rf"(?<![{_CASED}]){regex.escape(word)}(?![{_CASED}])", text) is not None


class KeptNames:
    """The names of a document that its translation has as the source has them.

    A name is written with a capital inside a sentence, and never with a small letter in the document so far; it counts
    as kept while the last translation of a source that has it holds it letter by letter. Nothing is known of names that
    are translated, transliterated or inflected, nor of those in scripts without capitals: that would be a guess.
    """

    def __init__(self) -> None:
        self._inside: set[str] = set()
        self._small: set[str] = set()
        self._kept: dict[str, bool] = {}

    def add(self, source: str, translation: str, lang: str = "") -> None:
        """Note the next source, and how it was translated."""
        self._small |= small(source)
        for word, begins in capitalised(source, lang):
            if not begins:
                self._inside.add(word)
            self._kept[word] = stands_in(word, translation)

    def kept_in(self, source: str, lang: str = "") -> list[str]:
        """Those that ``source`` has again, in its order."""
        words = list(capitalised(source, lang))
        inside = self._inside.union(word for word, begins in words if not begins)
        small_words = self._small | small(source)
        kept = []
        for word in dict.fromkeys(word for word, _ in words):
            is_name = word in inside and word.casefold() not in small_words
            if is_name and self._kept.get(word):
                kept.append(word)
        return kept
