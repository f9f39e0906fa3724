"""Lists of words as data: files in ``mtagent/text/data``, each read once, where it is needed."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from mtagent.text.scripts import has_spaces, language_of


@cache
def word_lists(name: str) -> dict[str, Any]:
    """The lists in the file ``data/NAME.toml``, whose comments explain them."""
    path = files("mtagent.text").joinpath("data", f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def alternatives(lines: str) -> str:
    """A list of alternatives, with ``|`` or a line break between them, as one regular expression."""
    return "|".join(lines.strip().split("\n"))


def words_by_language(table: dict[str, str]) -> dict[str, frozenset[str]]:
    """A table of words by language, which white space separates, as sets."""
    return {lang: frozenset(words.split()) for lang, words in table.items()}


def words_or_parts(lists: dict[str, str]) -> str:
    """A regular expression of whole ``words``, and of ``parts`` of a text if there are any."""
    pattern = rf"\b(?:{alternatives(lists['words'])})\b"
    if "parts" in lists:
        pattern += f"|{alternatives(lists['parts'])}"
    return pattern


# -- small words that turn a sentence's meaning round

_SAME_WORDS = {"no": "nb", "nn": "nb", "bs": "hr", "sh": "hr", "ms": "id"}


class Phrases:
    """Words and phrases by language: a table of ``data/phrases.toml``."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._patterns: dict[str, regex.Pattern[str]] = {}

    def find(self, text: str, lang: str) -> list[str]:
        """The phrases in ``text``, as they are written there; none for a language that is not in the table."""
        language = language_of(lang)
        language = _SAME_WORDS.get(language, language)
        table = word_lists("phrases")[self._kind]
        if language not in table:
            return []
        if language not in self._patterns:
            self._patterns[language] = _pattern(table[language], is_spaced=has_spaces(language))
        return self._patterns[language].findall(text)


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


# For questions to a judge, not for refusals: they hold the usual words and no more.
NEGATIONS = Phrases("negations")
AT_LEAST = Phrases("at_least")
AT_MOST = Phrases("at_most")
