"""Inline tags as short numbered placeholders: ``<1>bold</1>``, ``<2/>``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mtagent.formats.documents import PLACEHOLDER
from mtagent.formats.xml_spans import XmlFile, XmlToken, tag_pair

_EMPTY_CODES = {"x", "ph", "it", "cp"}
_OPENING = {"bpt": "bpt", "bx": "bx", "sc": "sc", "sm": "sm"}
_CLOSING = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}


class InlineTag(NamedTuple):
    """An inline tag in a text. Both tags of a pair have the same ``key``."""

    key: tuple[str, str, int]  # element, id, and how many tags with both came before it
    role: str  # open, close or empty
    markup: str


def pieces_of(xml: XmlFile, tokens: Iterable[XmlToken]) -> list[str | InlineTag]:
    """A text of XLIFF as characters and inline tags."""
    pieces: list[str | InlineTag] = []
    seen: Counter[tuple[str, str]] = Counter()
    closed: Counter[tuple[str, str]] = Counter()
    open_elements: list[InlineTag] = []
    remaining = iter(tokens)
    for token in remaining:
        if token.kind in ("text", "cdata"):
            pieces.append(token.value)
        elif token.kind == "end":
            opening = open_elements.pop()
            pieces.append(InlineTag(opening.key, "close", f"</{token.value}>"))
        elif token.kind == "start":
            name = token.value.rpartition(":")[2]
            attributes = token.attributes
            is_code = name in _EMPTY_CODES or name in _OPENING or name in _CLOSING
            if is_code or attributes.get("mtype") == "protected" or attributes.get("translate") == "no":
                family = _OPENING.get(name) or _CLOSING.get(name) or name
                reference = attributes.get("rid") or attributes.get("startRef") or attributes.get("id", "")
                count = closed if name in _CLOSING else seen
                key = (family, reference, count[family, reference])
                count[family, reference] += 1
                role = "empty"
                if name in _OPENING:
                    role = "open"
                elif name in _CLOSING:
                    role = "close"
                pieces.append(InlineTag(key, role, xml.raw(token.start, _end_of_element(token, remaining))))
                continue
            reference = attributes.get("id") or attributes.get("mid", "")
            opening = InlineTag((name, reference, seen[name, reference]), "open", tag_pair(xml, token)[0])
            seen[name, reference] += 1
            open_elements.append(opening)
            pieces.append(opening)
    return pieces


def _end_of_element(start: XmlToken, tokens: Iterator[XmlToken]) -> int:
    """Skip the rest of the element that ``start`` begins, and return where it ends."""
    depth = 1
    for token in tokens:
        depth += (token.kind == "start") - (token.kind == "end")
        if depth == 0:
            return token.end
    raise AssertionError(f"<{start.value}> has no end, which expat refuses")


def numbered(source: Sequence[str | InlineTag], target: Sequence[str | InlineTag]) -> tuple[str, str, dict[str, str]]:
    """Both texts with placeholders for their inline tags, and the markup of each placeholder.

    The same tag has the same number in both. Its markup is the target's, where the target has it.
    """
    texts = [source, target]
    plain = "".join(piece for pieces in texts for piece in pieces if isinstance(piece, str))
    first_number = max((int(match["number"]) for match in PLACEHOLDER.finditer(plain)), default=0) + 1
    paired = {key for pieces in texts for key in _paired(pieces)}
    numbers: dict[tuple[object, ...], int] = {}
    inline: dict[str, str] = {}
    written = []
    for pieces in texts:
        characters = []
        for piece in pieces:
            if isinstance(piece, InlineTag):
                # An end before its beginning, of another pair with the same id, is a tag of its own.
                identity = piece.key if piece.key in paired else (piece.key, piece.role)
                number = numbers.setdefault(identity, first_number + len(numbers))
                placeholder = _placeholder(number, piece, paired)
                inline[placeholder] = piece.markup
                characters.append(placeholder)
            else:
                characters.append(piece)
        written.append("".join(characters))
    return written[0], written[1], inline


def _paired(pieces: Iterable[str | InlineTag]) -> Iterator[tuple[str, str, int]]:
    """The keys of the tags that begin before they end."""
    still_open: set[tuple[str, str, int]] = set()
    for piece in pieces:
        if isinstance(piece, str):
            continue
        if piece.role == "open":
            still_open.add(piece.key)
        elif piece.role == "close" and piece.key in still_open:
            yield piece.key


def _placeholder(number: int, code: InlineTag, paired: set[tuple[str, str, int]]) -> str:
    if code.key not in paired or code.role == "empty":
        return f"<{number}/>"
    return f"<{number}>" if code.role == "open" else f"</{number}>"
