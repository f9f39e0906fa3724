"""XML as tokens with their places in the bytes of a file, so that a writer can replace some bytes and keep the others.

Expat checks the whole file. What is well-formed can be read with a regular expression, in any part of the file and much
faster than by expat's events. Names keep their prefix, and namespaces are not checked, so that files with an undeclared
prefix can be read. Entities that a file declares are refused: they can grow without limit, or read other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal
from xml.parsers import expat

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import charset_called, marked_encoding, newline_of
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
_ATTRIBUTE = re.compile(r"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""", re.ASCII)
_NAME = regex.compile(r"<[^\s/>]+")
_INVALID_TOKEN = 4  # expat's error for bytes that are not of the declared encoding, among others
TokenKind = Literal["start", "end", "text", "cdata", "other"]
_NO_ATTRIBUTES: dict[str, str] = {}
_ENCODING_ADVICE = "save the file as UTF-8, and declare that"
INSIDE_TAG = r"""(?:[^"'/>]|"[^"]*"|'[^']*')*+"""
"""What a tag has after its name, up to its end."""

_MARKUP = re.compile(
    rf"<(?P<name>[^\s/>!?]+)(?P<attributes>{INSIDE_TAG})(?P<empty>/?)>|</(?P<closed>[^\s>]+)\s*>"
    r"|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<!--.*?-->|<\?.*?\?>"
    r"""|<!DOCTYPE(?:[^"'\[>]|"[^"]*"|'[^']*'|\[(?:<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|[^"'\]])*+\])*+>""",
    re.DOTALL | re.ASCII,
)
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]+)|#([0-9]+)|(amp|lt|gt|quot|apos));")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TO_SPACES = str.maketrans("\t\n", "  ")


class XmlToken:
    """A piece of XML at the bytes ``start`` to ``end``; an empty tag is a ``start`` and an ``end`` without bytes.

    A CDATA section has a token without characters for each of its marks. ``value`` is the name of a tag, or the
    characters of a text. Not a dataclass: a file has millions of them.
    """

    __slots__ = ("attributes", "end", "kind", "line", "start", "value")

    def __init__(
        self,
        kind: TokenKind,
        start: int,
        end: int,
        line: int,
        value: str,
        attributes: dict[str, str] = _NO_ATTRIBUTES,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.line = line
        self.value = value
        self.attributes = attributes


class XmlFile:
    """The bytes of an XML file, with its encoding and line ends. Raises :class:`InputError` for a file without XML."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        mark, _ = marked_encoding(data)
        self.start = len(mark)  # of the markup
        self.encoding = self._encoding()
        self.line_break = "\n" if "\n".encode(self.encoding) in data else "\r"
        """The character that ends a line."""

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
            return charset_called(name)
        except LookupError:
            raise InputError(f"{self.path}:1: unknown encoding {name!r}; {_ENCODING_ADVICE}") from None

    @cached_property
    def newline(self) -> str:
        """The line end of most lines."""
        return newline_of(self.data, self.encoding)

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

    def tokens(self) -> Iterator[XmlToken]:
        """The file's tokens in order. Raises :class:`InputError` as :meth:`check` does."""
        self.check()
        return self.tokens_between(self.start, len(self.data))

    def tokens_between(self, start: int, end: int, line: int = 1) -> Iterator[XmlToken]:
        """The tokens of these bytes, the first of which is in ``line``, of a file that has been checked."""
        text = self.raw(start, end)
        position, byte = 0, start

        def token(kind: TokenKind, until: int, value: str, attributes: dict[str, str] = _NO_ATTRIBUTES) -> XmlToken:
            """The next token, which ends at the character ``until``."""
            nonlocal position, byte, line
            piece = text[position:until]
            new = XmlToken(kind, byte, byte + len(piece.encode(self.encoding)), line, value, attributes)
            position, byte = until, new.end
            line += piece.count(self.line_break)
            return new

        for match in _MARKUP.finditer(text):
            if match.start() > position:
                yield token("text", match.start(), unescaped(text[position : match.start()]))
            name, attributes, empty, closed, section = match.groups()
            if name is not None:
                yield token("start", match.end(), name, attributes_in(attributes))
                if empty:
                    yield token("end", match.end(), name)
            elif closed is not None:
                yield token("end", match.end(), closed)
            elif section is not None:
                yield token("cdata", match.start("cdata"), "")
                if section:
                    yield token("cdata", match.end("cdata"), _with_line_feeds(section))
                yield token("cdata", match.end(), "")
            else:
                yield token("other", match.end(), match[0])
        if position < len(text):
            yield token("text", len(text), unescaped(text[position:]))

    def check(self) -> None:
        """Raise :class:`InputError`, with the line of what is wrong, unless the file is well-formed and harmless."""
        parser = _parser(self.path, self.encoding)
        try:
            for start in range(0, len(self.data) + 1, CHUNK):
                parser.Parse(self.data[start : start + CHUNK], start + CHUNK > len(self.data))
            self.data.decode(self.encoding)
        except expat.ExpatError as error:
            raise InputError(self._malformed(error)) from None
        except UnicodeDecodeError as error:  # half of a surrogate pair, which expat takes for a character
            line = self.data[: error.start].decode(self.encoding).count(self.line_break) + 1
            raise InputError(f"{self.path}:{line}: {error.reason}; restore the file, or export it again") from None
        except (LookupError, ValueError) as error:  # of expat, for encodings with several bytes a character
            raise InputError(f"{self.path}:1: the encoding {self.encoding}: {error}; {_ENCODING_ADVICE}") from None

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


def _parser(path: Path, encoding: str) -> expat.XMLParserType:
    """An expat that checks a file, and refuses what it must not declare."""
    parser = expat.ParserCreate("UTF-8" if encoding == "utf-8" else None)  # it may be declared by another name

    def where() -> str:
        return f"{path}:{parser.CurrentLineNumber}"

    def refuse_entity(name: str, *_: object) -> None:
        raise InputError(
            f"{where()}: declares the entity {name!r}; such files can be harmful and are refused: "
            "remove its <!ENTITY> and write the text itself"
        )

    def refuse_external(*_: object) -> int:
        raise InputError(f"{where()}: refers to another file, which is never read; remove the reference")

    def refuse_undeclared(name: str, *_: object) -> None:  # with an external DTD, expat does not take it for an error
        raise InputError(f"{where()}: the entity &{name}; is not declared in this file; write its character")

    def refuse_default(element: str, attribute: str, _: object, default: str | None, *__: object) -> None:
        if default is not None:
            raise InputError(f"{where()}: declares a value of {attribute} in <{element}>; write it into the elements")

    parser.EntityDeclHandler = refuse_entity
    parser.ExternalEntityRefHandler = refuse_external
    parser.SkippedEntityHandler = refuse_undeclared
    parser.AttlistDeclHandler = refuse_default
    return parser


def attributes_in(tag: str) -> dict[str, str]:
    """The attributes in a tag, or in what it has after its name."""
    attributes = {}
    is_plain = "&" not in tag and tag.isprintable()
    for name, quoted in _ATTRIBUTE.findall(tag):
        value = quoted[1:-1]
        attributes[name] = value if is_plain else unescaped(_with_line_feeds(value).translate(_TO_SPACES))
    return attributes


def unescaped(markup: str) -> str:
    """The characters of a text."""
    text = _with_line_feeds(markup) if "\r" in markup else markup
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    if name:
        return _CHARACTERS[name]
    return chr(int(hexadecimal, 16) if hexadecimal else int(decimal))


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


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


def tag_pair(xml: XmlFile, tag: XmlToken) -> tuple[str, str]:
    """The opening and the closing tag of an element, also of an empty one."""
    raw = xml.raw(tag.start, tag.end)
    if raw.endswith("/>"):
        raw = raw[:-2].rstrip() + ">"
    return raw, f"</{tag.value}>"


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
