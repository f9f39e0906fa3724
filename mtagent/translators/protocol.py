"""What an MT system is, and how its replies are checked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import regex

from mtagent.errors import UnusableTranslation
from mtagent.llm.reading import whole_characters
from mtagent.records import Draft, Segment

if TYPE_CHECKING:
    pass


@runtime_checkable
class Translator(Protocol):
    """An MT system; :func:`mtagent.translators.wrap` makes one of a callable, an object or a command."""

    name: str

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


class Turns:
    """At most ``limit`` tasks at a time, on whichever event loop is running.

    A translator may live longer than one ``asyncio.run``; an :mod:`asyncio` lock may not.
    """

    def __init__(self, limit: int = 1) -> None:
        self._limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._semaphore = asyncio.Semaphore(limit)

    def one(self) -> asyncio.Semaphore:
        """The semaphore of the running event loop, for ``async with``."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._semaphore = loop, asyncio.Semaphore(self._limit)
        return self._semaphore


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
