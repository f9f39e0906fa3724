"""URLs and e-mail addresses."""

from __future__ import annotations

import regex

from mtagent.marks.characters import Mark, remembered

# No letters of scripts without spaces, and no Hangul: there the sentence goes on right behind the URL.
_URL = regex.compile(
    r"""
    (?<![A-Za-z0-9_]) (?: (?:https?|ftps?|file)://(?=\w) | www\.(?=\w) | (?:mailto|tel):(?=[\w+]) )
    (?: [A-Za-z0-9\-._~:/?\#@!$&()*+,;=%] | [\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Devanagari}] )++
    """,
    flags=regex.VERBOSE | regex.IGNORECASE,
)
_EMAIL = regex.compile(r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++")
_TRAILING = ".,;:!?*_"


def _without_punctuation(url: str) -> str:
    """``url`` without the sentence's punctuation and without brackets that were opened before it."""
    surplus = url.count(")") - url.count("(")
    end = len(url)
    while end and (url[end - 1] in _TRAILING or (url[end - 1] == ")" and surplus > 0)):
        surplus -= url[end - 1] == ")"
        end -= 1
    return url[:end]


@remembered
def urls(text: str) -> tuple[Mark, ...]:
    """URLs, in order, without the punctuation that follows them."""
    if ":" not in text and "www." not in text:
        return ()
    found = ((_without_punctuation(match.group()), match.start()) for match in _URL.finditer(text))
    return tuple(Mark(url, start, start + len(url)) for url, start in found)


@remembered
def emails(text: str) -> tuple[Mark, ...]:
    """E-mail addresses, in order."""
    if "@" not in text:
        return ()
    found = ((match.group().rstrip(".-"), match.start()) for match in _EMAIL.finditer(text))
    return tuple(Mark(email, start, start + len(email)) for email, start in found)
