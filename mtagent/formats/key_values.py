"""Java's ``.properties`` and Apple's ``.strings``: files of keys and texts.

A ``.properties`` file is ASCII, UTF-8, or else ISO-8859-1. Characters that its encoding lacks are escaped; in an ASCII
file too, because Java reads escapes in either encoding. A ``.strings`` file is UTF-8 or UTF-16. The ids of both are the
keys; of entries with the same key the last one counts, as for Java and Apple. Comments right above an entry are its
notes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.errors import InputError
from mtagent.formats.documents import (
    ByteEdit,
    DecodedFile,
    TextEdit,
    TranslationUnit,
    content_of,
    decoded,
    marked_encoding,
    newline_of,
    refuse_nul,
)
from mtagent.formats.monolingual import KeyedText, language_in_path, paired, source_file

_SHOWN = 40  # characters of a file in a message
_SURROGATE = re.compile(r"[\uD800-\uDFFF]")


class KeyValue(NamedTuple):
    """A key and its text. Places are in characters of the file."""

    key: str
    text: str
    line: int
    notes: tuple[str, ...]
    start: int  # of the text, with its quotes if it has some
    end: int
    block_start: int  # of the entry, with its indent and the comments right above it
    line_end: int  # of the entry, with a comment after it, but without its line end
    indent: str
    separator: str  # between key and text, as it is in the file
    follows_blank_line: bool


class Syntax(Protocol):
    """How a file of keys and texts is read and written."""

    file: DecodedFile
    entries: list[KeyValue]

    def replacement(self, entry: KeyValue, text: str, newline: str) -> str:
        """What replaces the characters of an entry's text."""
        ...

    def new_entry(self, key: str, text: str, like: KeyValue | None) -> str:
        """A new entry without its line end, laid out like another one."""
        ...


class _LineNumbers:
    """The numbers of the lines of places that come in order."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._line_end = "\n" if "\n" in content else "\r"
        self._place = 0
        self._number = 1

    def at(self, place: int) -> int:
        self._number += self._content.count(self._line_end, self._place, place)
        self._place = place
        return self._number


def _with_whole_characters(path: Path, line: int, text: str) -> str:
    """``text`` with each pair of surrogates as one character."""
    if not _SURROGATE.search(text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InputError(f"{path}:{line}: has half of a surrogate pair; write both escapes of the character") from None


def _escaped_units(character: str) -> list[str]:
    """``character`` in hexadecimal digits of UTF-16, four a unit."""
    digits = character.encode("utf-16-be").hex()
    return [digits[place : place + 4] for place in range(0, len(digits), 4)]


# -- .properties

_JOIN = r"\\(?:\r\n|[\r\n])[ \t\f]*+"  # the line goes on in the next one, whose indent is not text
_BLANK = rf"(?:{_JOIN}|[ \t\f])*+"
_PROPERTY = re.compile(
    r"(?P<indent>[ \t\f]*+)(?:(?P<comment>[#!][^\r\n]*+)|"
    rf"(?P<key>(?:{_JOIN}|\\[^\r\n]|[^\\ \t\f:=\r\n]++)*+)"
    rf"(?P<separator>{_BLANK}(?:[:=]{_BLANK})?+)"
    rf"(?P<text>(?:{_JOIN}|\\[^\r\n]|[^\\\r\n]++)*+\\?+))"
    r"(?:\r\n|[\r\n]|$)"
)
_JOINED = re.compile(_JOIN)
_PROPERTY_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.?)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TO_ESCAPE = {"\\": "\\\\"} | {character: f"\\{letter}" for letter, character in _LETTERS.items()}
_UPPER_CASE_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}[A-F]")
_WORD = re.compile(r" *+[^ ]++ *+| ++")
_LAST_CODES = {"ascii": 0x7E, "latin-1": 0xFF, "utf-8": 0x10FFFF}


class PropertiesSyntax:
    """The lines of ``.properties``, as ``java.util.Properties`` reads them."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.file = self._decoded(data)
        self._escapes_are_upper_case = bool(_UPPER_CASE_ESCAPE.search(self.file.content))
        self.entries = self._read()

    def _decoded(self, data: bytes) -> DecodedFile:
        mark, encoding = marked_encoding(data)
        if encoding is not None and encoding != "utf-8":
            raise InputError(f"{self.path}:1: is UTF-16, which Java does not read here; convert it: iconv -t UTF-8")
        if data[len(mark) :].isascii():
            file = DecodedFile(mark, "ascii", data[len(mark) :].decode("ascii"))
        else:
            try:
                file = decoded(self.path, data)
            except InputError:
                if mark:
                    raise
                file = DecodedFile(b"", "latin-1", data.decode("latin-1"))
        refuse_nul(self.path, file.content)
        if file.content.lstrip().startswith(("<?xml", "<!DOCTYPE")):
            raise InputError(f"{self.path}:1: is XML, not lines of KEY=TEXT; write such lines, which Java reads too")
        return file

    def _read(self) -> list[KeyValue]:
        entries = []
        content = self.file.content
        lines = _LineNumbers(content)
        position = block_start = 0
        notes: list[str] = []
        follows_blank_line = False
        while position < len(content):
            match = _PROPERTY.match(content, position)
            assert match is not None, position  # each line is a comment or an entry, of which all parts may be empty
            position = match.end()
            if match["comment"] is not None:
                comment = match["comment"].lstrip("#!").strip()
                if comment:
                    notes.append(comment)
                continue
            is_blank = match.end("text") == match.end("indent")
            if not is_blank:
                line = lines.at(match.start("key"))
                start, end = match.span("text")
                entries.append(
                    KeyValue(
                        key=self._unescaped(match["key"], line),
                        text=self._unescaped(match["text"], line),
                        line=line,
                        notes=tuple(notes),
                        start=start,
                        end=end,
                        block_start=block_start,
                        line_end=end,
                        indent=match["indent"],
                        separator=match["separator"],
                        follows_blank_line=follows_blank_line,
                    )
                )
            notes = []
            block_start = position
            follows_blank_line = is_blank
        return entries

    def _unescaped(self, raw: str, line: int) -> str:
        if "\\" not in raw:
            return raw

        def character(match: re.Match[str]) -> str:
            code = match[1]
            if code == "u":
                raise InputError(
                    f"{self.path}:{line}: \\u without four hexadecimal digits, which Java refuses; write \\\\ for a "
                    "backslash"
                )
            return chr(int(code[1:], 16)) if len(code) > 1 else _LETTERS.get(code, code)

        return _with_whole_characters(self.path, line, _PROPERTY_ESCAPE.sub(character, _JOINED.sub("", raw)))

    def replacement(self, entry: KeyValue, text: str, newline: str) -> str:
        """What replaces the characters of an entry's text. If they took several lines, ``text`` is broken like them."""
        raw = self.file.content[entry.start : entry.end]
        joins = list(_JOINED.finditer(raw))
        pieces = [text]
        indent = ""
        if joins:
            indent = joins[0][0].lstrip("\\\r\n")
            follow_line_breaks = [raw.endswith("\\n", 0, join.start()) for join in joins]
            if any(follow_line_breaks):
                pieces = re.split(r"(?<=\n)(?=.)", text, flags=re.DOTALL)
            if not all(follow_line_breaks):
                width = max(len(line) for line in _JOINED.split(raw))
                pieces = [line for piece in pieces for line in _lines_of_words(piece, width)]
        lines = [self._escaped(piece) for piece in pieces]
        if not any(mark in entry.separator for mark in ":="):
            if text and not entry.separator:  # a key alone
                lines[0] = f"={lines[0]}"
            elif text.startswith((":", "=")):
                lines[0] = f"\\{lines[0]}"
        return f"\\{newline}{indent}".join(lines)

    def new_entry(self, key: str, text: str, like: KeyValue | None) -> str:
        """A new entry without its line end, laid out like another one."""
        indent, separator = "", "="
        if like is not None:
            indent = like.indent
            if any(mark in like.separator for mark in ":=") and not _JOINED.search(like.separator):
                separator = like.separator
        written_key = re.sub(r"(?<!^\\)[ :=]|^[#!]", r"\\\g<0>", self._escaped(key))
        return f"{indent}{written_key}{separator}{self._escaped(text)}"

    def _escaped(self, text: str) -> str:
        """``text`` as a part of a line, with a space at its start that Java doesn't skip."""
        last_code = _LAST_CODES[self.file.encoding]
        characters = []
        for character in text:
            code = ord(character)
            if character in _TO_ESCAPE:
                characters.append(_TO_ESCAPE[character])
            elif code < 0x20 or 0x7F <= code < 0xA0 or code > last_code:
                for digits in _escaped_units(character):
                    characters.append(f"\\u{digits.upper() if self._escapes_are_upper_case else digits}")
            else:
                characters.append(character)
        if text.startswith(" "):
            characters[0] = "\\ "
        return "".join(characters)


def _lines_of_words(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` characters, broken after spaces where it has some."""
    lines = [""]
    for word in _WORD.findall(text):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return lines


# -- .strings

_TOKEN = re.compile(
    r"(?P<space>\s++)|(?P<comment>/\*(?:[^*]++|\*(?!/))*+\*/|//[^\r\n]*+)|(?P<unclosed>/\*)"
    r"""|(?P<text>"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|[\w$:./-]++)|(?P<mark>[=;])""",
    re.DOTALL | re.ASCII,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_STRINGS_ESCAPE = re.compile(r"\\(U[0-9A-Fa-f]{1,4}|[0-7]{1,3}|\r\n|.)", re.DOTALL)
_STRINGS_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_STRINGS_TO_LETTER = {character: letter for letter, character in _STRINGS_LETTERS.items()}
_NO_COMMENT = "No comment provided by engineer."  # which Xcode writes itself


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class StringsSyntax:
    """Apple's ``.strings``, as the Core Foundation reads them."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.file = self._decoded(data)
        self.entries = self._read()

    def _decoded(self, data: bytes) -> DecodedFile:
        if data.startswith(b"bplist"):
            raise InputError(f"{self.path}:1: is compiled; start from the file that it was compiled from")
        if data[:2].count(0) == 1 and len(data) % 2 == 0:
            encoding = "utf-16-le" if data[1] == 0 else "utf-16-be"
            file = decoded(self.path, (codecs.BOM_UTF16_LE if data[1] == 0 else codecs.BOM_UTF16_BE) + data)
            file = DecodedFile(b"", encoding, file.content)
        else:
            file = decoded(self.path, data)
        if file.content.lstrip().startswith(("<?xml", "<!DOCTYPE")):
            raise InputError(f'{self.path}:1: is a property list in XML, not lines of "KEY" = "TEXT"; write such lines')
        return file

    def _read(self) -> list[KeyValue]:
        content = self.file.content
        lines = _LineNumbers(content)
        entries: list[KeyValue] = []
        notes: list[str] = []
        parts: list[_Token] = []  # of the entry that has begun
        block_start = 0
        indent = ""
        follows_entry = follows_blank_line = False
        for token in self._tokens():
            if token.kind == "space":
                line_ends = _LINE_END.findall(token.text)
                if not line_ends:
                    continue
                indent = _LINE_END.split(token.text)[-1]
                if not parts and (follows_entry or len(line_ends) > 1):
                    notes = []
                    block_start = token.end - len(indent)
                    follows_blank_line = len(line_ends) > 1
                follows_entry = False
            elif token.kind == "comment" and not parts:
                if follows_entry:  # on the entry's last line
                    entries[-1] = entries[-1]._replace(line_end=token.end)
                else:
                    notes += _remarks(token.text)
            elif token.kind == "mark" and token.text == ";":
                entries.append(self._entry(parts, token, tuple(notes), block_start, indent, lines, follows_blank_line))
                parts, notes = [], []
                block_start = token.end
                follows_entry, follows_blank_line = True, False
            elif token.kind != "comment":
                if not parts:
                    follows_entry = False
                self._refuse_wrong_place(token, len(parts), lines)
                parts.append(token)
        if parts:
            raise InputError(
                f"{self.path}:{lines.at(parts[0].start)}: this entry doesn't end with ; (is the file cut off?)"
            )
        return entries

    def _tokens(self) -> Iterator[_Token]:
        content = self.file.content
        position = 0
        while position < len(content):
            match = _TOKEN.match(content, position)
            if match is None or match.lastgroup == "unclosed":
                line = _LineNumbers(content).at(position)
                raise InputError(f"{self.path}:{line}: {_problem_at(content, position)}")
            yield _Token(match.lastgroup or "", match[0], position, match.end())
            position = match.end()

    def _refuse_wrong_place(self, token: _Token, place: int, lines: _LineNumbers) -> None:
        """Raise :class:`InputError` unless this part of an entry is a key, ``=`` or a text, as its place demands."""
        expected = ("a key or a comment", "= or ;", "a text", ";")[place]
        is_right = token.text == "=" if place == 1 else token.kind == "text" and place < 3
        if not is_right:
            line = lines.at(token.start)
            raise InputError(f"{self.path}:{line}: expected {expected}, not {token.text[:_SHOWN]!r}")

    def _entry(
        self,
        parts: list[_Token],
        end: _Token,
        notes: tuple[str, ...],
        block_start: int,
        indent: str,
        lines: _LineNumbers,
        follows_blank_line: bool,
    ) -> KeyValue:
        if len(parts) not in (1, 3):
            line = lines.at(end.start)
            raise InputError(f"{self.path}:{line}: expected {'a text' if parts else 'a key or a comment'}, not ';'")
        key, text = parts[0], parts[-1]
        line = lines.at(key.start)
        is_key_alone = len(parts) == 1  # which is its own text
        return KeyValue(
            key=self._unescaped(key.text, line),
            text=self._unescaped(text.text, line),
            line=line,
            notes=notes,
            start=key.end if is_key_alone else text.start,
            end=text.end,
            block_start=block_start,
            line_end=end.end,
            indent=indent,
            separator="" if is_key_alone else self.file.content[key.end : text.start],
            follows_blank_line=follows_blank_line,
        )

    def _unescaped(self, raw: str, line: int) -> str:
        if raw[0] not in "\"'":
            return raw
        raw = raw[1:-1].replace("\r\n", "\n")
        if "\\" not in raw:
            return raw

        def character(match: re.Match[str]) -> str:
            code = match[1]
            if code[0] == "U" and len(code) > 1:
                return chr(int(code[1:], 16))
            if code[0] in "01234567":
                if int(code, 8) > 0x7F:
                    raise InputError(f"{self.path}:{line}: \\{code} is not ASCII; write the character itself")
                return chr(int(code, 8))
            return _STRINGS_LETTERS.get(code, code)

        return _with_whole_characters(self.path, line, _STRINGS_ESCAPE.sub(character, raw))

    def replacement(self, entry: KeyValue, text: str, newline: str) -> str:
        """What replaces the characters of an entry's text: in the same quotes, with line breaks as they were."""
        raw = self.file.content[entry.start : entry.end]
        quote = "'" if raw.startswith("'") else '"'
        written = _quoted(text, quote, raw)
        return (written if entry.separator else f" = {written}").replace("\n", newline)

    def new_entry(self, key: str, text: str, like: KeyValue | None) -> str:
        """A new entry without its line end, laid out like another one."""
        indent, separator = "", " = "
        if like is not None:
            indent = like.indent
            if like.separator.strip() == "=":  # and no comment
                separator = like.separator
        return f"{indent}{_quoted(key)}{separator}{_quoted(text)};"


def _quoted(text: str, quote: str = '"', like: str = "") -> str:
    """``text`` in quotes. Line breaks and tabs are escaped unless the characters ``like`` have them unescaped."""
    characters = []
    for character in text:
        if character in (quote, "\\"):
            characters.append(f"\\{character}")
        elif character in "\n\t" and character in like:
            characters.append(character)
        elif character in _STRINGS_TO_LETTER:
            characters.append(f"\\{_STRINGS_TO_LETTER[character]}")
        elif character < " " or "\x7f" <= character < "\xa0":
            characters.append(f"\\U{ord(character):04x}")
        else:
            characters.append(character)
    return f"{quote}{''.join(characters)}{quote}"


def _remarks(comment: str) -> list[str]:
    """What a comment says, without its marks; nothing for the one that Xcode writes itself."""
    text = comment.removeprefix("/*").removesuffix("*/") if comment.startswith("/*") else comment.lstrip("/")
    text = "\n".join(line.strip() for line in text.strip().splitlines())
    return [text] if text and text != _NO_COMMENT else []


def _problem_at(content: str, position: int) -> str:
    """What is wrong with characters that begin nothing that a ``.strings`` file has."""
    if content.startswith("/*", position):
        return "this comment doesn't end; close it with */ (is the file cut off?)"
    if content[position] in "\"'":
        return "this text doesn't end; close its quote (is the file cut off?); a quote within a text is written \\\""
    return f'expected "KEY" = "TEXT"; or a comment, not {content[position : position + _SHOWN]!r}'


# -- files


class KeyValueFile:
    """A file of keys and texts that has been read, with the file of its sources."""

    def __init__(
        self, path: Path, source: Path, syntax: Callable[[Path, bytes], Syntax], target_lang: str | None
    ) -> None:
        self.path = path
        self.data = content_of(path)
        self._syntax = syntax(path, self.data)
        self._entries = {entry.key: entry for entry in self._syntax.entries}
        source_texts = _keyed_texts(syntax(source, content_of(source)))
        target_texts = _keyed_texts(self._syntax)
        self.units = paired(source_texts, target_texts, language_in_path(source), target_lang or language_in_path(path))

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        if _SURROGATE.search(target):
            return "has half of a surrogate pair, which is not a character; take it out"
        if "\0" in target:
            return "has a NUL, which ends texts in many programs; take it out"
        return None

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets."""
        file = self._syntax.file
        newline = newline_of(self.data, file.encoding)
        follow_blank_lines = [entry.follows_blank_line for entry in self._syntax.entries[1:]]
        between = newline * 2 if 2 * sum(follow_blank_lines) > len(follow_blank_lines) else newline
        edits = []
        previous: KeyValue | None = None
        for unit in self.units:
            entry = self._entries.get(unit.id)
            if unit.id in targets and entry is not None:
                replacement = self._syntax.replacement(entry, targets[unit.id], newline)
                edits.append(TextEdit(entry.start, entry.end, replacement))
            elif unit.id in targets:
                edits.append(self._insertion(unit.id, targets[unit.id], previous, between))
            previous = entry or previous
        return file.byte_edits(edits)

    def _insertion(self, key: str, text: str, previous: KeyValue | None, between: str) -> TextEdit:
        """A new entry after ``previous``, or before all others without it."""
        entries = self._syntax.entries
        if previous is not None:
            line = self._syntax.new_entry(key, text, previous)
            return TextEdit(previous.line_end, previous.line_end, f"{between}{line}")
        content = self._syntax.file.content
        if entries:
            place = entries[0].block_start
            return TextEdit(place, place, f"{self._syntax.new_entry(key, text, entries[0])}{between}")
        before = "" if content.endswith(("\n", "\r")) else between
        return TextEdit(len(content), len(content), f"{before}{self._syntax.new_entry(key, text, None)}{between}")


def _keyed_texts(syntax: Syntax) -> list[KeyedText]:
    texts = [KeyedText(key=entry.key, text=entry.text, line=entry.line, notes=entry.notes) for entry in syntax.entries]
    return list({text.key: text for text in texts}.values())


class KeyValues:
    """A format whose files have a key and a text in each entry, in one language each."""

    def __init__(self, name: str, syntax: Callable[[Path, bytes], Syntax]) -> None:
        self.name = name
        self.suffixes: tuple[str, ...] = (f".{name}",)
        self._syntax = syntax

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> KeyValueFile:
        """Read a file with the file of its sources. Raises :class:`InputError`, beginning with ``file:line``."""
        return KeyValueFile(path, source_file(path, source), self._syntax, target_lang)


PROPERTIES = KeyValues("properties", PropertiesSyntax)
STRINGS = KeyValues("strings", StringsSyntax)
