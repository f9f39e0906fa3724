"""Texts and replies of MT systems: a text sent line by line, and a reply that is checked before it counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import regex

from mtagent.errors import UnusableTranslation
from mtagent.llm.plain import whole_characters

_BREAK = regex.compile(r"(\r\n|\r|\n)")


async def line_by_line(text: str, translate: Callable[[str], Awaitable[str]]) -> str:
    """Translate each line of ``text`` on its own and put every separator back exactly.

    Line breaks, blank lines and the white space around a line never reach ``translate``.
    """
    parts = _BREAK.split(text)
    return "".join([await _framed(part, translate) if part.strip() else part for part in parts])


async def _framed(line: str, translate: Callable[[str], Awaitable[str]]) -> str:
    start = len(line) - len(line.lstrip())
    end = len(line.rstrip())
    answer = await translate(line[start:end])
    return line[:start] + answer.strip() + line[end:]


def checked(reply: object, name: str) -> str:
    """``reply`` as the translation of a text that is not blank.

    Raises :class:`UnusableTranslation` for anything that is no text, for blank text, and for half of a character (a
    lone surrogate): none of them is a translation.
    """
    if not isinstance(reply, str):
        raise UnusableTranslation(f"{name}: expected a string as the translation, got {_shown(reply)}")
    if not reply.strip():
        raise UnusableTranslation(f"{name}: the translation is empty, but the source is not")
    if whole_characters(reply) != reply:
        raise UnusableTranslation(f"{name}: the translation holds half of a character (a lone surrogate)")
    return reply


def _shown(reply: object) -> str:
    return "None" if reply is None else f"{type(reply).__name__} {repr(reply)[:80]}"
