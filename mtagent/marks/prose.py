"""The text between the marks."""

from __future__ import annotations

from mtagent.marks.characters import alphabet, remembered
from mtagent.marks.links import emails, urls
from mtagent.marks.placeholders import placeholders, tags


@remembered
def prose(text: str) -> str:
    """``text`` with placeholders, tags, URLs and e-mail addresses blanked out; offsets stay as they are."""
    if alphabet(text).isdisjoint("%{$&\\<@:w"):
        return text
    spans = sorted((mark.start, mark.end) for find in (placeholders, tags, urls, emails) for mark in find(text))
    if not spans:
        return text
    pieces, done = [], 0
    for start, end in spans:
        if end > done:
            pieces.append(text[done : max(start, done)] + " " * (end - max(start, done)))
            done = end
    return "".join(pieces) + text[done:]
