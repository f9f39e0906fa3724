"""Spellings of one word made one, as number words are looked up by."""

from __future__ import annotations

import regex

_IGNORED = regex.compile(r"[\u00ad\u200b-\u200f\u0640\u064b-\u0652\u0591-\u05c7\u093c\u09bc]")  # vowel signs, joiners
_NASAL = regex.compile(r"[ङञणनम]्(?=[क-ह])|ँ")  # पाँच, पांच; पन्द्रह, पंद्रह
_VARIANTS = {"ё": "е", "ş": "ș", "ţ": "ț", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
_PLAIN = str.maketrans(_VARIANTS)


def fold(text: str) -> str:
    """``text`` with variants of spelling made one: case, soft hyphens, vowel signs, nasals, hamzas."""
    if text.isascii():
        return text.casefold()
    return _NASAL.sub("ं", _IGNORED.sub("", text)).translate(_PLAIN).casefold()
