"""Lists of words as data: files in ``mtagent/text/data``, each read once, when a module that needs it is imported."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_lists(name: str) -> dict[str, Any]:
    """The lists in the file ``data/NAME.toml``, which says what each of them holds."""
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
