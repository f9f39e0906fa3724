"""What an MT system is, and how its replies are checked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from mtagent.errors import UnusableTranslation
from mtagent.llm.reading import whole_characters
from mtagent.records import Draft, Segment


@runtime_checkable
class Translator(Protocol):
    """An MT system; :func:`mtagent.translators.wrap` makes one of a callable, an object or a command."""

    name: str

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


class Turns:
    """A semaphore for ``limit`` tasks (``async with turns:``) that can outlive an event loop, unlike asyncio's."""

    def __init__(self, limit: int = 1) -> None:
        self._limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._semaphore = loop, asyncio.Semaphore(self._limit)
        await self._semaphore.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._semaphore.release()


async def line_by_line(text: str, translate: Callable[[str], Awaitable[str]]) -> str:
    """Translate each line of ``text`` on its own and put every separator back exactly.

    ``translate`` never gets line breaks, blank lines or the white space around a line.
    """
    parts = re.split(r"(\r\n|\r|\n)", text)
    for i, line in enumerate(parts):
        stripped = line.strip()
        if stripped:
            before, _, after = line.partition(stripped)
            parts[i] = before + (await translate(stripped)).strip() + after
    return "".join(parts)


def checked(reply: object, name: str) -> str:
    """``reply`` as the translation of a text that isn't blank.

    Raises :class:`UnusableTranslation` for anything but text, for blank text, and for half of a character (a lone
    surrogate).
    """
    if reply is None:
        raise UnusableTranslation(f"{name}: expected a string as the translation, got None")
    if not isinstance(reply, str):
        shown = f"{type(reply).__name__} {repr(reply)[:80]}"
        raise UnusableTranslation(f"{name}: expected a string as the translation, got {shown}")
    if not reply.strip():
        raise UnusableTranslation(f"{name}: the translation is empty, but the source is not")
    if whole_characters(reply) != reply:
        raise UnusableTranslation(f"{name}: the translation contains half of a character (a lone surrogate)")
    return reply
