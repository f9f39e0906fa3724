"""What an MT system is, how its replies are checked, and how texts are cut for systems that break lines or markup."""

from __future__ import annotations

import asyncio
import html
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Literal, Protocol, runtime_checkable

import regex

from mtagent.errors import UnusableTranslation
from mtagent.llm.gathering import aside, finished
from mtagent.llm.reading import whole_characters
from mtagent.records import Call, Draft, Segment


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
    parts = regex.split(r"(\r\n|\r|\n)", text)
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


# Texts with markup

Markup = Literal["html", "xml"]
_TAG = regex.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[/!?]?[A-Za-z_](?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+>|</?[0-9]{1,9}/?>", regex.S
)
_NAME = regex.compile(r"</?([A-Za-z_][\w:.-]*|[0-9]++)")
_UNTRANSLATED = regex.compile(r"""(?i)\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*["'][^"']*\bnotranslate\b""")
_TEXTS_AT_A_TIME = 32
_RAW = frozenset({"script", "style", "code", "pre"})
_VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr", "area", "base", "col", "embed", "source"})


class BetweenTags:
    """``translator`` for texts with markup: it gets each text between two tags alone, without entities.

    ``markup()`` returns the kind of the current text, and the tags whose content is kept; ``None``: it is plain text.
    In HTML, ``script``, ``style``, ``code``, ``pre`` and ``translate="no"`` are kept, too.
    """

    def __init__(self, translator: Translator, markup: Callable[[], tuple[Markup, frozenset[str]] | None]) -> None:
        self.name = translator.name
        self._translator, self._markup = translator, markup

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``, and put every tag back where it was."""
        markup = self._markup()
        if markup is None or not (_TAG.search(segment.source) or "&" in segment.source):
            return await self._translator.draft(segment)

        async def translated(text: str) -> Draft:
            words = html.unescape(text).strip()
            if not any(map(str.isalnum, words)):
                return Draft(text=text)
            draft = await self._translator.draft(segment.model_copy(update={"source": words}))
            before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            return draft.model_copy(update={"text": before + html.escape(draft.text.strip(), quote=False) + after})

        def read() -> tuple[list[tuple[str, bool]], list[str]]:
            parts = list(_parts(segment.source, *markup))
            texts = dict.fromkeys(text for text, stays in parts if not stays and any(map(str.isalnum, text)))
            return parts, list(texts)

        def joined() -> str:
            return "".join(text if stays or text not in drafts else drafts[text].text for text, stays in parts)

        parts, waiting = await aside(len(segment.source), read, is_urgent=True)
        # A text that occurs again is not translated again. Between a few texts, others get their turn.
        drafts: dict[str, Draft] = {}
        while waiting:
            some = waiting[:_TEXTS_AT_A_TIME]
            del waiting[:_TEXTS_AT_A_TIME]
            drafts |= zip(some, await finished(*map(translated, some)), strict=True)
        calls = list[Call]()
        for draft in drafts.values():
            calls += draft.calls
        return Draft(text=await aside(len(segment.source), joined, is_urgent=True), calls=tuple(calls))


def _parts(text: str, markup: Markup, ignored: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Tags and the texts between them, and whether each is kept as it is."""
    is_html = markup == "html"
    kept = ignored
    if is_html:
        kept = ignored | _RAW
    inside: list[str] = []  # the open tags, from the first with content that is kept
    opened: Counter[str] = Counter()  # the same by name
    end = 0
    for tag in _TAG.finditer(text):
        yield text[end : tag.start()], bool(inside)
        yield tag[0], True
        end = tag.end()
        match = _NAME.match(tag[0])
        if match is None:  # a comment or a CDATA section
            continue
        name = match[1]
        if is_html:
            name = name.lower()
        if tag[0].startswith("</"):
            is_open = opened[name] > 0
            while is_open:
                closed = inside.pop()
                opened[closed] -= 1
                is_open = closed != name
            continue
        if tag[0].endswith("/>") or (is_html and name in _VOID):
            continue
        if inside or name in kept or (is_html and _UNTRANSLATED.search(tag[0])):
            inside.append(name)
            opened[name] += 1
    yield text[end:], bool(inside)
