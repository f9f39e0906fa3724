"""Where a term occurs in a text."""

from __future__ import annotations

from functools import lru_cache

import regex

from mtagent.marks.characters import SPACED_LETTER, Mark

_SHORTEST_STEM = 4
_ENDING = 2


@lru_cache(maxsize=4096)
def _pattern(term: str, case_sensitive: bool, suffixes: bool, inflected: bool) -> regex.Pattern[str]:
    parts = []
    for word in term.split():
        stem = word[: max(_SHORTEST_STEM, len(word) - _ENDING)] if inflected and word.isalpha() else word
        parts.append(regex.escape(stem) + (r"\w*+" if suffixes and SPACED_LETTER.match(word[-1]) else ""))
    left = r"(?<![\p{L}\p{N}])" if SPACED_LETTER.match(term) else ""
    right = r"(?![\p{L}\p{N}])" if SPACED_LETTER.match(term[-1]) and not suffixes else ""
    return regex.compile(
        left + r"\s++".join(parts) + right, flags=regex.UNICODE if case_sensitive else regex.IGNORECASE
    )


def occurrences(
    term: str, text: str, *, case_sensitive: bool = False, suffixes: bool = False, inflected: bool = False
) -> list[Mark]:
    """Where ``term`` occurs as a word in ``text``; in scripts without spaces anywhere.

    ``suffixes``: the word may go on (Googles, iPhone-ում). ``inflected``: the last two letters of a longer word may be
    others too (Konto, Konten); a case-sensitive term is not bent.
    """
    if not term.strip():
        return []
    pattern = _pattern(term.strip(), case_sensitive, suffixes, inflected and not case_sensitive)
    return [Mark(match.group(), *match.span()) for match in pattern.finditer(text)]
