"""Characters: what a text is made of, which of them are invisible, and which script a language is written in."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

import langcodes
import regex
from langcodes.tag_parser import LanguageTagError

Found = TypeVar("Found")

REMEMBERED_LENGTH = 20_000
"""Of longer texts only the last four are remembered, so that the caches stay small."""


class Mark(NamedTuple):
    """Something in a text that must survive: ``text[start:end]``. Marks with equal ``key`` are worth the same."""

    key: str
    start: int
    end: int


def remembered(find: Callable[[str], Found]) -> Callable[[str], Found]:
    """``find`` with a cache: a chain asks about the same few strings again and again."""
    cached, recent = lru_cache(maxsize=512)(find), lru_cache(maxsize=4)(find)

    def look_up(text: str) -> Found:
        return cached(text) if len(text) <= REMEMBERED_LENGTH else recent(text)

    look_up.__doc__ = find.__doc__
    return look_up


@remembered
def alphabet(text: str) -> frozenset[str]:
    """The distinct characters of ``text``: the cheapest question that rules most marks out."""
    return frozenset(text)


# Zero-width joiners are letters' business (Persian, Hindi, emoji) and are no marks here.
_ODD = regex.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffd"
    r"\u202a-\u202e\u2066-\u2069\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff]"
)
_DIRECTION = regex.compile(r"[\u200e\u200f]")
_RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm"})


def runs_right_to_left(lang: str) -> bool:
    """Whether the script of ``lang`` runs from right to left."""
    return script_of(lang) in _RIGHT_TO_LEFT


def control_characters(text: str, lang: str = "") -> list[str]:
    """Control, private-use, replacement and odd invisible characters and lone surrogates, as ``U+XXXX``.

    Direction marks count only where the script of ``lang`` runs from left to right.
    """
    if text.isascii() and text.isprintable():
        return []
    found = _ODD.findall(text)
    if not runs_right_to_left(lang):
        found += _DIRECTION.findall(text)
    return [f"U+{ord(character):04X}" for character in found]


@lru_cache(maxsize=1024)
def script_of(lang: str) -> str:
    """The ISO 15924 code of the script that ``lang`` (BCP-47) is mostly written in; ``""`` = not known."""
    if not lang:
        return ""
    try:
        return langcodes.Language.get(lang).maximize().script or ""
    except LanguageTagError:
        return ""


@lru_cache(maxsize=1024)
def language_of(lang: str) -> str:
    """The bare language of a BCP-47 code: ``pt`` for ``pt-BR``; ``""`` = not known."""
    try:
        return langcodes.Language.get(lang).language or "" if lang else ""
    except LanguageTagError:
        return ""


_WRITTEN_WITH = {
    "Jpan": r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc",
    "Kore": r"\p{Hangul}\p{Han}",
    "Hans": r"\p{Han}\p{Bopomofo}",
    "Hant": r"\p{Han}\p{Bopomofo}",
    "Cyrl": r"\p{Cyrillic}",
}
_NOT_LETTERS_OF_A_SCRIPT = r"\p{Common}\p{Inherited}"


@lru_cache(maxsize=256)
def letters_of(script: str) -> regex.Pattern[str] | None:
    """A pattern of one letter of ``script`` (ISO 15924), or ``None`` for a script that is not known."""
    inside = _WRITTEN_WITH.get(script, rf"\p{{{script}}}")
    try:
        return regex.compile(rf"[[{inside}]&&\p{{L}}]", flags=regex.V1)
    except regex.error:
        return None


@lru_cache(maxsize=256)
def foreign_words_of(script: str) -> regex.Pattern[str] | None:
    """A pattern of a run of two or more letters that are neither of ``script`` nor Latin; ``None`` = not known."""
    inside = _WRITTEN_WITH.get(script, rf"\p{{{script}}}")
    try:
        return regex.compile(rf"[\p{{L}}--[{inside}\p{{Latin}}{_NOT_LETTERS_OF_A_SCRIPT}]]{{2,}}+", flags=regex.V1)
    except regex.error:
        return None


LETTER = regex.compile(r"\p{L}")
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"[{_UNSPACED}]|[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]++", flags=regex.V1)
_SPACED_WORD = regex.compile(r"[^\W_]++")
_FIRST_UNSPACED = "\u0e00"
SPACED_LETTER = regex.compile(rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]", flags=regex.V1)


@remembered
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` as they are written; in scripts without spaces every character is one."""
    spaced = max(alphabet(text), default="") < _FIRST_UNSPACED
    return tuple((_SPACED_WORD if spaced else _WORD).findall(text))
