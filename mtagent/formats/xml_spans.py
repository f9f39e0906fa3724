"""XML as tokens with their places in the bytes of a file, so that a writer can replace some bytes and keep the others.

The places come from expat, which counts in the bytes of the file whatever its encoding is. Names keep their prefix, and
namespaces are not checked, so that files with an undeclared prefix can be read. Entities that a file declares are
refused: they can grow without limit, or read other files.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal
from xml.parsers import expat

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import marked_encoding, newline_of
from mtagent.formats.files import CHUNK

INVALID = regex.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""A character that XML 1.0 cannot hold, not even as a reference."""


def character_fault(text: str, holder: str = "XML") -> str | None:
    """Which character of ``text`` an XML file, or another ``holder`` of plain text, cannot hold; ``None`` if none."""
    invalid = INVALID.search(text)
    if invalid is None:
        return None
    return f"has the character U+{ord(invalid[0]):04X}, which {holder} cannot hold; take it out"


WHITE_SPACE = " \t\n\r\f\v"
_ATTRIBUTE = regex.compile(r"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_NAME = regex.compile(r"<[^\s/>]+")
_INVALID_TOKEN = 4  # expat's error for bytes that are not of the declared encoding, among others
TokenKind = Literal["start", "end", "text", "cdata", "other", "skipped"]
_NO_ATTRIBUTES: dict[str, str] = {}
_ENCODING_ADVICE = "save the file as UTF-8, and declare that"


class XmlToken:
    """A piece of XML at the bytes ``start`` to ``end``; an empty tag is a ``start`` and an ``end`` without bytes.

    ``skipped`` are elements that the caller reads itself. ``value`` is the name of a tag, or the characters of a text.
    Not a dataclass: a file has millions of them.
    """

    __slots__ = ("attributes", "end", "kind", "line", "start", "value")

    def __init__(self, kind: TokenKind, start: int, line: int, value: str, attributes: dict[str, str]) -> None:
        self.kind = kind
        self.start = self.end = start
        self.line = line
        self.value = value
        self.attributes = attributes


class XmlFile:
    """The bytes of an XML file, with its encoding and line ends. Raises :class:`InputError` for a file without XML."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.encoding = self._encoding()
        if self.encoding.startswith("utf-16"):
            self._refuse_lone_surrogates()
        self.newline = newline_of(data, self.encoding)

    def _encoding(self) -> str:
        _, encoding = marked_encoding(self.data)
        if encoding is not None:
            return encoding
        if self.data.startswith(b"<\0"):
            return "utf-16-le"
        if self.data.startswith(b"\0<"):
            return "utf-16-be"
        declared = regex.match(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""", self.data)
        name = declared[1].decode() if declared else "utf-8"
        try:
            return codecs.lookup(name).name
        except LookupError:
            raise InputError(f"{self.path}:1: unknown encoding {name!r}; {_ENCODING_ADVICE}") from None

    def _refuse_lone_surrogates(self) -> None:
        """Expat reads half of a surrogate pair as a character that isn't in the file."""
        try:
            self.data.decode(self.encoding)
        except UnicodeDecodeError as error:
            line = self.data[: error.start].decode(self.encoding).count("\n") + 1
            raise InputError(f"{self.path}:{line}: {error.reason}; restore the file, or export it again") from None

    def raw(self, start: int, end: int) -> str:
        """The characters of these bytes, as they are in the file."""
        return self.data[start:end].decode(self.encoding)

    def encoded(self, markup: str) -> bytes:
        """The bytes of ``markup``; characters that the encoding lacks become references."""
        return markup.encode(self.encoding, "xmlcharrefreplace")

    def escaped(self, text: str) -> str:
        """``text`` as markup, with the file's line ends."""
        markup = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return markup.replace("\r", "&#13;").replace("\n", self.newline)

    def cdata(self, text: str) -> str | None:
        """``text`` as a CDATA section, or ``None`` where a section cannot hold it."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return None
        if "]]>" in text or "\r" in text:
            return None
        return f"<![CDATA[{text.replace(chr(10), self.newline)}]]>"

    def tokens(self, skipped: Sequence[tuple[int, int]] = ()) -> Iterator[XmlToken]:
        """The file's tokens in order. Raises :class:`InputError` with the line of what is wrong.

        ``skipped`` are the bytes of well-formed elements, in order. Each is one token, and what is in it isn't checked.
        The file's encoding must contain ASCII.
        """
        data, parser = self.data, _Tokenizer(self.path)
        if skipped:
            data = parser.skip(self.data, skipped)
        try:
            for start in range(0, len(data) + 1, CHUNK):
                chunk = data[start : start + CHUNK]
                parser.expat.Parse(chunk, start + CHUNK > len(data))
                yield from parser.finished()
        except expat.ExpatError as error:
            if skipped:  # expat must see all of the file to tell where it is wrong
                yield from self.tokens()
            raise InputError(self._malformed(error)) from None
        except (LookupError, ValueError) as error:  # of expat, for encodings with several bytes a character
            raise InputError(f"{self.path}:1: the encoding {self.encoding}: {error}; {_ENCODING_ADVICE}") from None
        yield from parser.last(len(self.data))

    def _malformed(self, error: expat.ExpatError) -> str:
        where = f"{self.path}:{error.lineno}:{error.offset + 1}"
        if error.code == _INVALID_TOKEN:
            try:
                self.data.decode(self.encoding)
            except UnicodeDecodeError as wrong:
                byte = self.data[wrong.start]
                return f"{where}: byte 0x{byte:02X} is not {self.encoding}, the declared encoding; correct the encoding"
        problem = expat.ErrorString(error.code) or "unreadable"
        return f"{where}: not well-formed XML: {problem}; restore the file, or export it again"


def with_attributes(tag: str, values: Mapping[str, str | None]) -> str:
    """The opening tag with these attributes; ``None`` removes one. All else stays as it is written."""
    pieces = []
    position = after_last = _name_end(tag)
    missing = dict(values)
    for match in _ATTRIBUTE.finditer(tag, position):
        after_last = match.end()
        name = match[1]
        if name not in values:
            continue
        value = missing.pop(name)
        pieces.append(tag[position : match.start() if value is None else match.start(2)])
        if value is not None:
            pieces.append(_attribute_value(value, match[2][0]))
        position = match.end()
    pieces.append(tag[position:after_last])
    pieces += [f" {name}={_attribute_value(value)}" for name, value in missing.items() if value is not None]
    return "".join([tag[: _name_end(tag)], *pieces, tag[after_last:]])


def _name_end(tag: str) -> int:
    name = _NAME.match(tag)
    assert name is not None, tag
    return name.end()


def _attribute_value(value: str, quote: str = '"') -> str:
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(quote, f"&#{ord(quote)};")
    for character in "\t\n\r":  # which would be read as spaces
        escaped = escaped.replace(character, f"&#{ord(character)};")
    return f"{quote}{escaped}{quote}"


class _Tokenizer:
    """Collects expat's events. Where a token ends is known only when the next one begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.expat = expat.ParserCreate()
        self._tokens: list[XmlToken] = []
        self._in_cdata = False
        self._skipped: Iterator[tuple[int, int]] = iter(())
        self._skipped_name = ""
        self._skipped_bytes = 0  # so far
        self._skipped_lines = 0
        self._data = b""
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._text
        self.expat.StartCdataSectionHandler = self._cdata_begins
        self.expat.EndCdataSectionHandler = self._cdata_ends
        self.expat.DefaultHandler = self._other
        self.expat.EntityDeclHandler = self._refuse_entity
        self.expat.ExternalEntityRefHandler = self._refuse_external

    def skip(self, data: bytes, skipped: Sequence[tuple[int, int]]) -> bytes:
        """The file with an empty element for each skipped part, so that expat finds it only where an element may be."""
        name = "skipped"
        while f"<{name}".encode() in data:
            name += "-"
        pieces = []
        position = 0
        for start, end in skipped:
            pieces += [data[position:start], f"<{name}/>".encode()]
            position = end
        self._skipped, self._skipped_name, self._data = iter(skipped), name, data
        return b"".join([*pieces, data[position:]])

    def finished(self) -> list[XmlToken]:
        """All tokens but the last, whose end is not known yet."""
        tokens = self._tokens
        self._tokens = tokens[-1:]
        for token, after in pairwise(tokens):
            token.end = after.start
        return tokens[:-1]

    def last(self, end: int) -> list[XmlToken]:
        """The last token, which ends with the file."""
        for token in self._tokens:
            token.end = end
        return self._tokens

    def _add(self, kind: TokenKind, value: str = "", attributes: dict[str, str] = _NO_ATTRIBUTES) -> None:
        start = self.expat.CurrentByteIndex + self._skipped_bytes
        line = self.expat.CurrentLineNumber + self._skipped_lines
        self._tokens.append(XmlToken(kind, start, line, value, attributes))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name != self._skipped_name:
            self._add("start", name, attributes)
            return
        self._add("skipped")
        start, end = next(self._skipped)
        self._skipped_bytes += end - start - len(f"<{name}/>")
        self._skipped_lines += self._data.count(b"\n", start, end)

    def _end(self, name: str) -> None:
        if name != self._skipped_name:
            self._add("end", name)

    def _text(self, text: str) -> None:
        self._add("cdata" if self._in_cdata else "text", text)

    def _cdata_begins(self) -> None:
        self._in_cdata = True
        self._add("cdata")

    def _cdata_ends(self) -> None:
        self._in_cdata = False
        self._add("cdata")

    def _other(self, raw: str) -> None:
        if raw.startswith("&"):  # with an external DTD, expat does not take an unknown entity for an error
            raise InputError(f"{self._where()}: the entity {raw} is not declared in this file; write its character")
        self._add("other", raw)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise InputError(
            f"{self._where()}: declares the entity {name!r}; such files can be harmful and are refused: "
            "remove its <!ENTITY> and write the text itself"
        )

    def _refuse_external(self, *_: object) -> int:
        raise InputError(f"{self._where()}: refers to another file, which is never read; remove the reference")

    def _where(self) -> str:
        return f"{self.path}:{self.expat.CurrentLineNumber + self._skipped_lines}"


# -- elements


@dataclass(slots=True)
class XmlElement:
    """An element with all tokens in it, and what is right above it."""

    tag: XmlToken
    lead: str = ""  # the white space before it, from the last line break on
    comments: tuple[str, ...] = ()
    block_start: int = 0  # where its comments begin
    tokens: list[XmlToken] = field(default_factory=list)
    end: int = 0  # of its content
    after: int = 0  # its closing tag

    @property
    def text(self) -> str:
        """All characters in it."""
        return "".join(token.value for token in self.tokens if token.kind in ("text", "cdata"))

    @property
    def is_cdata(self) -> bool:
        """Whether its content is one CDATA section."""
        markers = [token for token in self.tokens if token.kind == "cdata" and not token.value]
        return len(markers) == 2 and all(token.kind == "cdata" for token in self.tokens)

    def children(self) -> Iterator[XmlElement]:
        """The elements directly in it."""
        return elements(iter(self.tokens))


def elements(tokens: Iterator[XmlToken]) -> Iterator[XmlElement]:
    """The elements on the highest level of ``tokens``, up to the end of their parent."""
    comments: list[str] = []
    gap: list[str] = []  # the white space since the last tag or comment
    block_start: int | None = None
    has_sibling = False
    for token in tokens:
        if token.kind in ("text", "cdata"):
            if token.value.isspace():
                gap.append(token.value)
            continue
        if token.kind == "end":
            return
        white_space = "".join(gap)
        gap = []
        if white_space.count("\n") > 1:  # comments above a blank line are about more than one element
            comments = []
            block_start = None
        if token.kind == "other":
            is_about_sibling = has_sibling and not comments and "\n" not in white_space
            if token.value.startswith("<!--") and not is_about_sibling:
                comments.append(token.value[4:-3].strip())
                block_start = token.start if block_start is None else block_start
            continue
        lead = white_space[white_space.rfind("\n") :] if "\n" in white_space else ""
        notes = tuple(comment for comment in comments if comment)
        element = XmlElement(token, lead, notes, token.start if block_start is None else block_start)
        depth = 1
        for inner in tokens:
            depth += (inner.kind == "start") - (inner.kind == "end")
            if depth == 0:
                element.end, element.after = inner.start, inner.end
                break
            element.tokens.append(inner)
        yield element
        comments, block_start, has_sibling = [], None, True


def root_element(xml: XmlFile, name: str, advice: str) -> XmlElement:
    """The file's root with all that is in it. Raises :class:`InputError` unless it is called ``name``."""
    roots = list(elements(xml.tokens()))
    if not roots or roots[0].tag.value != name:
        found, line = (f"<{roots[0].tag.value}>", roots[0].tag.line) if roots else ("nothing", 1)
        raise InputError(f"{xml.path}:{line}: the first element is {found}, not <{name}>; {advice}")
    return roots[0]


def empty_tag_pair(raw: str) -> tuple[str, str]:
    """The opening and the closing tag for an empty tag."""
    name = _NAME.match(raw)
    assert name is not None, raw
    return f"{raw[:-2].rstrip()}>", f"</{name[0][1:]}>"


def text_place(xml: XmlFile, element: XmlElement, keeps_space: bool) -> tuple[int, int, str, str]:
    """Where the text of an element is written, and what is written before and after it."""
    if element.end == element.after:  # an empty tag
        opening, closing = empty_tag_pair(xml.raw(element.tag.start, element.tag.end))
        return element.tag.start, element.after, opening, closing
    raw = xml.raw(element.tag.end, element.end)
    if keeps_space or not raw.strip(WHITE_SPACE):
        return element.tag.end, element.end, "", ""
    before = raw[: len(raw) - len(raw.lstrip(WHITE_SPACE))]
    after = raw[len(raw.rstrip(WHITE_SPACE)) :]
    return element.tag.end + len(xml.encoded(before)), element.end - len(xml.encoded(after)), "", ""
