"""Paragraphs: split a text into paragraphs and the separators around them, and join them again, exactly.

A separator is a run of white space that holds a line break; white space at the two ends of a text belongs to the outer
separators. ``join(*split(text)) == text`` for every text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

_SPACE = re.compile(r"\s+")
_BREAKS = re.compile(r"[\n\r\u2028\u2029\x85]")


class Paragraphs(NamedTuple):
    """``texts`` holds the n paragraphs, ``separators`` the n + 1 pieces of white space around them."""

    texts: tuple[str, ...]
    separators: tuple[str, ...]


def split(text: str) -> Paragraphs:
    """Split ``text`` at line breaks. A blank text has no paragraph and one separator: itself."""
    body = text.strip()
    if not body:
        return Paragraphs((), (text,))
    first = text.index(body[0])
    last = first + len(body)
    texts, separators, start = [], [text[:first]], first
    for space in _SPACE.finditer(text, first, last):
        if _BREAKS.search(space.group()):
            texts.append(text[start : space.start()])
            separators.append(space.group())
            start = space.end()
    texts.append(text[start:last])
    separators.append(text[last:])
    return Paragraphs(tuple(texts), tuple(separators))


def join(texts: Sequence[str], separators: Sequence[str]) -> str:
    """The inverse of :func:`split`. Raises ``ValueError`` if there is not one separator more than texts."""
    if len(separators) != len(texts) + 1:
        raise ValueError(f"{len(texts)} paragraphs need {len(texts) + 1} separators, not {len(separators)}")
    return "".join(piece for pair in zip_longest(separators, texts, fillvalue="") for piece in pair)


def like(text: str, model: str) -> str | None:
    """``text`` with the separators of ``model``, or ``None`` if the two differ in their number of paragraphs."""
    texts, separators = split(text).texts, split(model).separators
    return join(texts, separators) if len(separators) == len(texts) + 1 else None
