"""Small words that turn a sentence's meaning round, by language: negations, "at least" and "at most".

They are looked up as whole words, in scripts without spaces as parts of them.
The tables are for questions to a judge, not for refusals: they hold the usual words and no more.
"""

from __future__ import annotations

from collections.abc import Mapping

import regex

from mtagent.text.scripts import has_spaces, language_of
from mtagent.text.word_lists import alternatives, word_lists


class Phrases:
    """Words and phrases by language, separated by ``|`` or a line break. ``*`` at an end stands for any letters."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._patterns: dict[str, regex.Pattern[str]] = {}

    def find(self, text: str, lang: str) -> list[str]:
        """The phrases in ``text``, as they are written there; none for a language that is not in the table."""
        language = language_of(lang)
        language = _SAME_WORDS.get(language, language)
        if language not in self._table:
            return []
        if language not in self._patterns:
            self._patterns[language] = _pattern(self._table[language], is_spaced=has_spaces(language))
        return self._patterns[language].findall(text)


_SAME_WORDS = {"no": "nb", "nn": "nb", "bs": "hr", "sh": "hr", "ms": "id"}


def _pattern(phrases: str, is_spaced: bool) -> regex.Pattern[str]:
    """What finds any of the ``phrases``, the longest first; as whole words in scripts with spaces."""
    patterns = []
    for phrase in sorted(alternatives(phrases).split("|"), key=len, reverse=True):
        written = regex.escape(phrase.strip("*"), special_only=True).replace("'", "['’]")
        before = r"\p{L}*" if phrase.startswith("*") else ""
        after = r"[\p{L}\p{M}]*" if phrase.endswith("*") else ""
        if is_spaced:
            written = rf"(?<![\p{{L}}\p{{M}}]){before}{written}{after}(?![\p{{L}}\p{{M}}])"
        patterns.append(written)
    return regex.compile("|".join(patterns), regex.IGNORECASE)


_LISTS = word_lists("phrases")
NEGATIONS = Phrases(_LISTS["negations"])
AT_LEAST = Phrases(_LISTS["at_least"])
AT_MOST = Phrases(_LISTS["at_most"])
