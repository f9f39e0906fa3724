"""HTML: the texts of blocks, and attributes that are read, are translated; scripts, code and ``translate=no`` stay.

A block's text has its inline elements as placeholders (``<1>bold</1>``, ``<2/>``). White space is written as one space.
"""

from __future__ import annotations

import html
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import (
    PLACEHOLDER,
    ByteEdit,
    DecodedFile,
    TextEdit,
    TranslationUnit,
    charset_called,
    content_of,
    decoded,
    marked_encoding,
    refuse_nul,
    with_markup,
)
from mtagent.formats.prose import Passage, ProseFile
from mtagent.formats.xml_spans import character_fault
from mtagent.text import scripts

_INLINE = frozenset([
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr",
])  # fmt: skip
_VOID = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
])  # fmt: skip
_SKIPPED = frozenset(["script", "style", "pre", "svg", "math", "template", "textarea"])
_CODE = frozenset(["code", "kbd", "samp", "var"])
_ENDED_BY = {
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "th": frozenset(["td", "th", "tr", "tbody", "tfoot"]),
    "td": frozenset(["td", "th", "tr", "tbody", "tfoot"]),
    "tr": frozenset(["tr", "tbody", "tfoot"]),
    "option": frozenset(["option", "optgroup"]),
    "p": frozenset(["p", "div", "ul", "ol", "dl", "table", "section", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr"]),
}
"""Elements whose end tag may be left out, by the start tags that end them; their parent's end ends them, too."""
_READ_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")
_READ_META = frozenset(
    ["description", "keywords", "og:title", "og:description", "twitter:title", "twitter:description"]
)
_CHARSET = regex.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", regex.IGNORECASE)
_ATTRIBUTE = regex.compile(
    r"[\s/\"'](?P<name>[^\s=/>\"']+)(?:\s*=\s*(?:\"(?P<value>[^\"]*)\"|'(?P<value>[^']*)'|[^\s\"'>]+))?"
)
"""An attribute; ``value`` only if it is in quotes."""
_SPACE = regex.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class _Event:
    """A piece of the file, in order."""

    kind: Literal["start", "end", "text", "other"]
    name: str
    attributes: Mapping[str, str]
    start: int
    end: int
    is_void: bool
    """Whether no end tag follows a start tag."""


class _Scanner(HTMLParser):
    """Notes where each tag, text and comment begins. In XML, ``<span/>`` is a whole element."""

    def __init__(self, content: str, *, is_xml: bool) -> None:
        super().__init__(convert_charrefs=False)
        self._is_xml = is_xml
        self.line_starts = [0]
        for line in content.split("\n"):
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)
        self._begun: list[tuple[Literal["start", "end", "text", "other"], str, Mapping[str, str], int, bool]] = []
        self.feed(content)
        self.close()
        self.events: list[_Event] = []
        for place, (kind, name, attributes, start, is_void) in enumerate(self._begun):
            end = self._begun[place + 1][3] if place + 1 < len(self._begun) else len(content)
            self.events.append(_Event(kind, name, attributes, start, end, is_void))

    def _note(
        self,
        kind: Literal["start", "end", "text", "other"],
        name: str = "",
        attributes: Sequence[tuple[str, str | None]] = (),
        *,
        is_void: bool = False,
    ) -> None:
        line, column = self.getpos()
        values = {key: value or "" for key, value in attributes}
        self._begun.append((kind, name, values, self.line_starts[line - 1] + column, is_void))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("start", tag, attrs, is_void=tag in _VOID)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_void = tag in _VOID or tag in ("svg", "math") or self._is_xml
        self._note("start", tag, attrs, is_void=is_void)

    def handle_endtag(self, tag: str) -> None:
        self._note("end", tag)

    def handle_data(self, data: str) -> None:
        self._note("text")

    def handle_entityref(self, name: str) -> None:
        self._note("text")

    def handle_charref(self, name: str) -> None:
        self._note("text")

    def handle_comment(self, data: str) -> None:
        self._note("other")

    def handle_decl(self, decl: str) -> None:
        self._note("other", "!")

    def handle_pi(self, data: str) -> None:
        self._note("other")

    def unknown_decl(self, data: str) -> None:
        self._note("other")


def _read_bytes(path: Path) -> tuple[DecodedFile, bytes]:
    """The file, decoded as its mark or its ``meta`` element says. Raises :class:`InputError`."""
    data = content_of(path)
    mark, _ = marked_encoding(data)
    declared = _CHARSET.search(data[:4096])
    if mark or declared is None:
        return decoded(path, data), data
    name = declared[1].decode("ascii", "replace")
    if name.casefold().startswith("utf-16"):  # browsers read UTF-8, because the declaration itself was in ASCII
        return decoded(path, data), data
    try:
        encoding = charset_called("cp1252" if name.casefold() == "iso-8859-1" else name)  # as browsers do
        content = data.decode(encoding)
    except LookupError:
        raise InputError(f"{path}: the charset {name!r} is unknown; correct it") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[error.start]:02X} is not {name}, the declared charset; correct the charset"
        ) from None
    refuse_nul(path, content)
    if content.encode(encoding) != data:
        raise InputError(f"{path}: cannot be written in {name} as it was read; convert it to UTF-8")
    return DecodedFile(b"", encoding, content), data


@dataclass
class _Reading:
    """The passages of a file, in order, and the quotes around those that are attributes."""

    content: str
    line_starts: Sequence[int]
    passages: list[Passage] = field(default_factory=list)
    quotes: dict[tuple[int, int], str] = field(default_factory=dict)  # by the place of the value

    def read(self, events: Sequence[_Event]) -> None:
        """Find the passages."""
        run: list[_Event] = []
        skipped: list[str] = []  # the open elements from the one that isn't translated
        is_in_text = False
        for event in events:
            is_tag = event.kind in ("start", "end")
            if len(skipped) == 1 and _ends_without_tag(skipped[0], event):
                skipped.clear()
            if skipped:
                self._follow(skipped, event)
                if is_in_text:  # it stays within the text, as a placeholder
                    run.append(event)
                continue
            if is_tag and not _is_inline(event):
                self._add_text(run)
                run = []
            elif is_tag or event.kind == "text" or run:
                run.append(event)
            if event.kind == "start":
                self._add_attributes(event)
                if _is_left_alone(event) and not event.is_void:
                    skipped.append(event.name)
                    is_in_text = _is_inline(event)
        self._add_text(run)

    @staticmethod
    def _follow(skipped: list[str], event: _Event) -> None:
        if event.kind == "start" and not event.is_void:
            skipped.append(event.name)
        elif event.kind == "end" and event.name in skipped:
            while skipped.pop() != event.name:
                pass

    def _add_text(self, run: list[_Event]) -> None:
        """Add the text of a run of inline pieces."""
        run = _trimmed(run, self.content)
        if not run:
            return
        literal = "".join(self.content[event.start : event.end] for event in run if event.kind == "text")
        taken = {int(match["number"]) for match in PLACEHOLDER.finditer(html.unescape(literal))}
        inline: dict[str, str] = {}
        text = ""
        number = 0
        place = 0
        has_letters = False
        pairs = _pairs(run)
        numbers: dict[int, int] = {}
        while place < len(run):
            event = run[place]
            raw = self.content[event.start : event.end]
            last = place
            if event.kind == "text":
                plain = html.unescape(raw)
                has_letters = has_letters or scripts.LETTER.search(plain) is not None
                text += plain
            elif event.kind == "end" and place in numbers:
                key = f"</{numbers[place]}>"
                inline[key], text = raw, text + key
            else:
                number += 1
                while number in taken:
                    number += 1
                partner = pairs.get(place)
                if partner is not None and not _is_left_alone(event):
                    key = f"<{number}>"
                    numbers[partner] = number
                else:
                    key = f"<{number}/>"
                    last = partner if partner is not None else place
                    raw = self.content[event.start : run[last].end]
                inline[key], text = raw, text + key
            place = last + 1
        text = _SPACE.sub(" ", text)
        if has_letters:
            start, end = run[0].start, run[-1].end
            self.passages.append(
                Passage(kind="text", text=text, line=self._line(start), spans=((start, end),), inline=inline)
            )

    def _add_attributes(self, event: _Event) -> None:
        """Add the attributes of an element that people read."""
        if _forbids_translation(event):
            return
        names = [name for name in _READ_ATTRIBUTES if name in event.attributes]
        if event.name == "meta":
            named = event.attributes.get("name") or event.attributes.get("property") or ""
            names = ["content"] if named.casefold() in _READ_META else []
        if event.name == "input" and event.attributes.get("type", "").casefold() in ("submit", "button", "reset"):
            names.append("value")
        for match in _ATTRIBUTE.finditer(self.content, pos=event.start, endpos=event.end) if names else ():
            name = match["name"].lower()
            if name not in names or match["value"] is None or not scripts.LETTER.search(html.unescape(match["value"])):
                continue
            names.remove(name)  # browsers take the first of two
            span = match.span("value")
            self.quotes[span] = self.content[span[0] - 1]
            text = html.unescape(match["value"])
            self.passages.append(Passage(kind=f"attribute {name}", text=text, line=self._line(span[0]), spans=(span,)))

    def _line(self, place: int) -> int:
        return bisect_right(self.line_starts, place)


def _is_inline(event: _Event) -> bool:
    return event.name in _INLINE


def _is_left_alone(event: _Event) -> bool:
    """Whether an element isn't translated."""
    return _forbids_translation(event) or event.name in _SKIPPED or event.name in _CODE


def _ends_without_tag(name: str, event: _Event) -> bool:
    """Whether an element whose end tag may be left out ends before ``event``."""
    if name not in _ENDED_BY or (event.kind == "end" and event.name == name):
        return False
    if event.kind == "start":
        return event.name in _ENDED_BY[name]
    return event.kind == "end" and not _is_inline(event)


def _forbids_translation(event: _Event) -> bool:
    attributes = event.attributes
    is_no_class = "notranslate" in attributes.get("class", "").split()
    return is_no_class or attributes.get("translate", "").casefold() == "no"


def _trimmed(run: Sequence[_Event], content: str) -> list[_Event]:
    """The run without white space and markup at its ends, as far as no pair of tags is torn."""
    pairs = _pairs(run)
    ends = set(pairs.values())
    first, last = 0, len(run) - 1
    while first <= last:
        if pairs.get(first) == last and not _is_left_alone(run[first]):
            first, last = first + 1, last - 1
        elif _is_blank(run[first], content) and first not in pairs:
            first += 1
        elif _is_blank(run[last], content) and last not in ends:
            last -= 1
        else:
            break
    run = list(run[first : last + 1])
    if run and run[0].kind == "text":
        text = content[run[0].start : run[0].end]
        run[0] = replace(run[0], start=run[0].end - len(text.lstrip()))
    if run and run[-1].kind == "text":
        text = content[run[-1].start : run[-1].end]
        run[-1] = replace(run[-1], end=run[-1].start + len(text.rstrip()))
    return run


def _is_blank(event: _Event, content: str) -> bool:
    return event.kind != "text" or not content[event.start : event.end].strip()


def _pairs(run: Sequence[_Event]) -> dict[int, int]:
    """The place of each end tag by that of its start tag."""
    pairs: dict[int, int] = {}
    still_open: list[int] = []
    open_names: Counter[str] = Counter()
    for place, event in enumerate(run):
        if event.kind == "start" and not event.is_void:
            still_open.append(place)
            open_names[event.name] += 1
        elif event.kind == "end":
            if not open_names[event.name]:
                continue
            opened = still_open.pop()
            while run[opened].name != event.name:
                open_names[run[opened].name] -= 1
                opened = still_open.pop()
            open_names[event.name] -= 1
            pairs[opened] = place
    return pairs


class HtmlFile(ProseFile):
    """An HTML file that has been read."""

    def __init__(self, path: Path, source: Path | None, target_lang: str | None) -> None:
        files: dict[Path, tuple[DecodedFile, dict[tuple[int, int], str]]] = {}

        def read(path_of_file: Path) -> tuple[bytes, list[Passage]]:
            file, data = _read_bytes(path_of_file)
            scanner = _Scanner(file.content, is_xml=_is_xml(path_of_file, file.content))
            reading = _Reading(file.content, scanner.line_starts)
            reading.read(scanner.events)
            files[path_of_file] = file, reading.quotes
            reading.passages.sort(key=lambda passage: passage.spans[0])
            return data, reading.passages

        super().__init__(path, source, target_lang, read)
        self._file, self._quotes = files[path]
        self._is_xml = _is_xml(path, self._file.content)

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the page cannot hold ``target``."""
        return character_fault(target, "a page")

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes of the file's bytes. An attribute within a text that changes too is written with the text."""
        attributes: list[TextEdit] = []
        for unit_id, target in targets.items():
            span = self.passages[unit_id].spans[0]
            if span in self._quotes:
                attributes.append(TextEdit(*span, self._encodable(_escaped(target, self._quotes[span]))))
        attributes.sort()
        starts = [edit.start for edit in attributes]
        texts = []
        within: set[TextEdit] = set()
        for unit_id, target in targets.items():
            passage = self.passages[unit_id]
            start, end = passage.spans[0]
            if (start, end) not in self._quotes:
                inner = attributes[bisect_left(starts, start) : bisect_left(starts, end)]
                within.update(inner)
                texts.append(TextEdit(start, end, self._text(passage, target, inner)))
        return self._file.byte_edits([*texts, *(edit for edit in attributes if edit not in within)])

    def _text(self, passage: Passage, target: str, attributes: Sequence[TextEdit]) -> str:
        """The target with the markup of its placeholders, in which ``attributes`` are changed."""
        raw = self._file.content[slice(*passage.spans[0])]
        has_nbsp = "&nbsp;" in raw or ("\xa0" not in raw and not self._is_xml)  # XML itself has no such entity
        inline = self._inline(passage, attributes)
        return self._encodable(with_markup(target, inline, lambda text: _escaped(text, "", nbsp=has_nbsp)))

    def _inline(self, passage: Passage, attributes: Sequence[TextEdit]) -> Mapping[str, str]:
        """The markup by placeholder, in which ``attributes`` are changed."""
        if not attributes:
            return passage.inline
        inline = {}
        starts = [edit.start for edit in attributes]
        place = passage.spans[0][0]
        for key, markup in passage.inline.items():  # in the order of the file
            start = self._file.content.index(markup, place)
            place = start + len(markup)
            for edit in reversed(attributes[bisect_left(starts, start) : bisect_left(starts, place)]):
                markup = markup[: edit.start - start] + edit.text + markup[edit.end - start :]
            inline[key] = markup
        return inline

    def _encodable(self, text: str) -> str:
        """The text with references for characters that the file's encoding lacks."""
        return text.encode(self._file.encoding, "xmlcharrefreplace").decode(self._file.encoding)


def _is_xml(path: Path, content: str) -> bool:
    """Whether the page is XHTML."""
    return path.name.casefold().endswith(".xhtml") or content.startswith("<?xml")


def _escaped(text: str, quote: str, *, nbsp: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if quote:
        text = text.replace(quote, "&quot;" if quote == '"' else "&#39;")
    return text.replace("\xa0", "&nbsp;") if nbsp else text


class Html:
    """Pages of the web."""

    name = "html"
    suffixes: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> HtmlFile:
        """Read a file, and perhaps the file with its sources."""
        return HtmlFile(path, source, target_lang)


HTML = Html()
