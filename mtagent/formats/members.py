"""Change values inside the characters of a JSON object, and leave all other characters as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_SPACE = frozenset(" \t\r\n")


class Member(NamedTuple):
    """A key of an object, and where the key and its value stand; ``key_end`` and ``end`` are exclusive."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


def members(raw: str) -> list[Member]:
    """The members of the object that ``raw`` is, not those of the objects in it. ``raw`` must be valid JSON."""
    found = []
    at = _filled(raw, _filled(raw, 0) + 1)
    while raw[at] != "}":
        key, key_end = _DECODER.raw_decode(raw, at)
        start = _filled(raw, _filled(raw, key_end) + 1)
        _, end = _DECODER.raw_decode(raw, start)
        found.append(Member(key, at, key_end, start, end))
        at = _filled(raw, end)
        if raw[at] == ",":
            at = _filled(raw, at + 1)
    return found


def replaced(raw: str, changes: Mapping[str, Any], dumps: Callable[..., str]) -> str:
    """``raw`` with the values of ``changes``; a key that it lacks is added at its end, spaced as the last one is.

    ``dumps`` is called as :func:`json.dumps`, with the separators and the escapes that ``raw`` has.
    """
    found = members(raw)
    comma, colon = _spacing(raw, found)
    style = {"ensure_ascii": _escapes(raw), "separators": (",", ":") if colon == ":" else (", ", ": ")}
    parts: list[str] = []
    at = 0
    for member in found:
        if member.key in changes:
            parts += raw[at : member.start], dumps(changes[member.key], **style)
            at = member.end
    last = found[-1].end if found else raw.index("{") + 1
    parts.append(raw[at:last])
    kept = {member.key for member in found}
    added = [dumps(key, **style) + colon + dumps(changes[key], **style) for key in changes if key not in kept]
    return "".join([*parts, comma if found and added else "", comma.join(added), raw[last:]])


def _spacing(raw: str, found: list[Member]) -> tuple[str, str]:
    """What stands before the last member, and between its key and its value."""
    if not found:
        return ", ", ": "
    colon = raw[found[-1].key_end : found[-1].start]
    if len(found) > 1:
        return raw[found[-2].end : found[-1].key_start], colon
    return "," if colon == ":" else ", ", colon


def _escapes(raw: str) -> bool:
    """Whether ``raw`` writes other characters than ASCII as escapes."""
    if "\\u" not in raw or not raw.isascii():
        return False
    return not json.dumps(json.loads(raw), ensure_ascii=False).isascii()


def _filled(raw: str, at: int) -> int:
    """The first place from ``at`` that is not white space."""
    while raw[at] in _SPACE:
        at += 1
    return at
