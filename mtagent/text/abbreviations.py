"""Full stops that end no sentence: abbreviations, initials, list numbers and ordinals.

The tables hold the abbreviations of running text, by language. They are used for texts in any language: a text quotes
others, and a source's language is often not given. So a word that is also a plain word in one of these languages is in
a table only if what follows tells which of the two it is.
"""

from __future__ import annotations

import regex

from mtagent.text.word_lists import word_lists

_LISTS = word_lists("abbreviations")


def _words(table: dict[str, str]) -> frozenset[str]:
    return frozenset(word for words in table.values() for word in words.split())


NEVER_LAST = _words(_LISTS["never_last"])
"""What a name or more of the sentence follows."""
BEFORE_A_NUMBER = _words(_LISTS["before_a_number"])
"""What a number follows. Alone they may be words that end a sentence: "No." """
MAY_BE_LAST = _words(_LISTS["may_be_last"])
"""What ends a sentence if a capital letter follows."""
GERMAN_MONTHS = frozenset([
    "januar", "jänner", "februar", "feber", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober",
    "november", "dezember",
])  # fmt: skip
"""German writes them with a capital, as it does the beginning of a sentence: "am 3. Mai"."""
_FARTHEST = 24
"""Characters before a full stop that are looked at."""
_CHAIN = regex.compile(r"(?<![\p{L}\p{M}\p{N}])(?:\p{L}\.[ \u00a0\u202f]?)+\p{L}\Z")
_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}№][\p{L}\p{M}\p{N}.º°-]*+\Z")
_ENUMERATOR = regex.compile(r"[^\p{L}\p{N}]*+(?:\p{N}{1,3}+(?:\.\p{N}{1,3}+)*+|\p{L}|[IVXivx]{1,5}+)\Z")
_ORDINAL = regex.compile(r"(?<![\p{L}\p{N}.,])\p{N}{1,2}\Z")
_NEXT = regex.compile(r"[ \u00a0\u202f]*+([^\s\p{L}\p{N}]*+)([\p{L}\p{M}]++|\p{N}|\Z)(\.?)")


def ends_in_abbreviation(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at ``stop`` belongs to what is before it, in a sentence that begins at ``start``."""
    follows = _NEXT.match(text, stop + 1)
    if follows is None:
        return False
    marks, following, stop_follows = follows.groups()
    if _ENUMERATOR.match(text, start, stop):
        return bool(following)
    begins_small = following[:1].islower()
    before = max(start, stop - _FARTHEST)
    if _ORDINAL.search(text, before, stop):
        return begins_small or following.casefold() in GERMAN_MONTHS
    chain, word = _CHAIN.search(text, before, stop), _WORD.search(text, before, stop)
    if word is None:
        return False
    found = (chain or word)[0].casefold().replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    if found in MAY_BE_LAST:
        return begins_small or following.isdigit() or marks[:1] in (",", ";", ":", ")")
    if chain is not None or found in NEVER_LAST:
        return True
    if found in BEFORE_A_NUMBER and following.isdigit():
        return True
    is_initial = len(found) == 1 and word[0].isupper()
    begins_chain = len(found) == 1 and len(following) == 1 and stop_follows == "."
    return is_initial or begins_chain
