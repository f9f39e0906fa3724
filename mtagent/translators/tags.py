"""Markup around an MT system that knows none: what stands between the tags is translated, the tags stay."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Literal

import regex

from mtagent.llm.gathering import finished
from mtagent.records import Draft, Segment
from mtagent.translators.protocol import Translator

Markup = Literal["html", "xml"]
_TAG = regex.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[/!?]?[A-Za-z_](?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+>", regex.S)
_NAME = regex.compile(r"</?([A-Za-z_][\w:.-]*)")
_UNTRANSLATED = regex.compile(r"""(?i)\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*["'][^"']*\bnotranslate\b""")
_RAW = frozenset({"script", "style", "code", "pre"})
_VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr", "area", "base", "col", "embed", "source"})


class BetweenTags:
    """``translator`` for texts with markup: it gets each text between two tags alone, without entities.

    ``markup`` says of which kind the text is that is translated now, and names tags whose content stays; ``None``: it
    is plain. In HTML, ``script``, ``style``, ``code``, ``pre`` and ``translate="no"`` stay, too.
    """

    def __init__(self, translator: Translator, markup: Callable[[], tuple[Markup, frozenset[str]] | None]) -> None:
        self.name = translator.name
        self._translator, self._markup = translator, markup

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``, and put every tag back where it was."""
        markup = self._markup()
        if markup is None or not (_TAG.search(segment.source) or "&" in segment.source):
            return await self._translator.draft(segment)

        async def translated(text: str, stays: bool) -> Draft:
            words = html.unescape(text).strip()
            if stays or not any(map(str.isalnum, words)):
                return Draft(text=text)
            draft = await self._translator.draft(segment.model_copy(update={"source": words}))
            before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            return draft.model_copy(update={"text": before + html.escape(draft.text.strip(), quote=False) + after})

        drafts = await finished(*(translated(*part) for part in _parts(segment.source, *markup)))
        return Draft(
            text="".join(draft.text for draft in drafts), calls=tuple(call for d in drafts for call in d.calls)
        )


def _parts(text: str, markup: Markup, ignored: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Tags and the texts between them, and whether each stays as it is."""
    kept = ignored | _RAW if markup == "html" else ignored
    inside: list[str] = []  # the tags that are open, from the first whose content stays
    end = 0
    for tag in _TAG.finditer(text):
        yield text[end : tag.start()], bool(inside)
        yield tag[0], True
        end = tag.end()
        if (named := _NAME.match(tag[0])) is None:
            continue
        name = named[1].lower() if markup == "html" else named[1]
        if tag[0].startswith("</"):
            if name in inside:
                del inside[len(inside) - 1 - inside[::-1].index(name) :]
            continue
        opens = not tag[0].endswith("/>") and not (markup == "html" and name in _VOID)
        stays = inside or name in kept or (markup == "html" and _UNTRANSLATED.search(tag[0]))
        if opens and stays:
            inside.append(name)
    yield text[end:], bool(inside)
