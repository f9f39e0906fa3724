"""JSON with the places of its values: texts are replaced and added in the layout that the file has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, Union

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import DecodedFile, TextEdit, decoded, shown_id

DEEPEST = 100
"""How many levels of values are read."""
DOCUMENTS = "---"
"""The style of a YAML file with several documents, which is a list of them."""

_SPACE = r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?s:.)*?\*/)*+"  # with comments, as Chrome and Visual Studio Code allow them
_TOKEN = regex.compile(
    rf"{_SPACE}(?:"
    r'(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.]))"
    r"|(?P<word>(?:true|false|null)\b)"
    r"|(?P<mark>[{}\[\],:])"
    r"|(?P<end>\Z))"
)
_WHITE_SPACE = regex.compile(_SPACE)
_INDENT = regex.compile(r"[ \t]*+")
_ESCAPE = regex.compile(r"\\(?:u([0-9A-Fa-f]{4})(?:\\u([Dd][C-Fc-f][0-9A-Fa-f]{2}))?|(.))")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_TO_SHORT = {character: f"\\{letter}" for letter, character in _SHORT.items()} | {'"': '\\"', "\\": "\\\\", "/": "\\/"}
_SURROGATE = regex.compile("[\ud800-\udfff]")

NewValue = Union[str, dict[str, "NewValue"], list["NewValue"]]  # noqa: UP007 - a recursive alias of mypy
"""A value to write: texts, objects, lists, and :class:`Raw` values."""


class Raw(str):
    """A value to write as it is, such as a number."""


@dataclass(slots=True)
class TreeValue:
    """A value in a JSON or YAML file, from character ``start`` to ``end``.

    ``text`` is a string's text, or the token itself. Words are ``true``, ``false``, ``null``, and YAML's symbols and
    dates. Fixed are YAML's aliases, and values with a tag of their own: they stay, and are never copied.
    """

    kind: Literal["object", "array", "string", "number", "word", "fixed"]
    start: int
    end: int = 0
    text: str = ""
    members: list[TreeMember] = field(default_factory=list)
    style: str = ""  # of YAML: a string's quote, | or >; { or [ of a flow collection; DOCUMENTS
    column: int = 0  # of YAML: where the keys or dashes of a block collection are
    in_flow: bool = False  # of YAML: within a flow collection

    @property
    def is_container(self) -> bool:
        return self.kind in ("object", "array")

    @property
    def is_null(self) -> bool:
        return self.kind == "word" and self.text == "null"

    def get(self, key: str | int) -> TreeValue | None:
        """The value of a key of an object, or of an item of an array."""
        return next((member.value for member in self.members if member.key == key), None)


class TreeMember(NamedTuple):
    """A key and its value in an object, or an item with its number in an array; ``start`` is where it begins."""

    key: str | int
    start: int
    value: TreeValue
    is_fixed: bool = False  # of YAML: the key is no text; it stays, with its value


def last_of_each_key(members: list[TreeMember]) -> list[TreeMember]:
    """The members that count for a program: of those with the same key the last. Merges (``<<``) are all kept."""
    by_key: dict[object, TreeMember] = {}
    for member in members:
        key: object = member.key
        if member.is_fixed or key == "<<":
            key = member.start
        by_key.pop(key, None)  # so that the members stay in the order of the file
        by_key[key] = member
    return list(by_key.values())


class JsonFile:
    """A JSON file that has been read. Repeated keys are refused unless the last one counts."""

    def __init__(self, path: Path, data: bytes, *, last_counts: bool = True) -> None:
        self.path = path
        self._last_counts = last_counts
        self.data = data
        self.file: DecodedFile = decoded(path, data)
        self.content = self.file.content
        self.root = self._parsed()

    def line_of(self, place: int) -> int:
        """The line of a character, from 1."""
        return bisect_left(self._line_feeds, place) + 1

    def literal(self, text: str) -> str:
        """``text`` as a string, with the escapes that the file uses."""
        return f'"{self._escaping.pattern.sub(self._escape, text)}"'

    def _escape(self, match: regex.Match[str]) -> str:
        character = match[0]
        if character in _TO_SHORT:
            return _TO_SHORT[character]
        code = character.encode("utf-16-be").hex()
        if self._escaping.upper_case:
            code = code.upper()
        return "".join(f"\\u{code[place : place + 4]}" for place in range(0, len(code), 4))

    def replacement(self, value: TreeValue, new: NewValue) -> TextEdit:
        """The edit that puts ``new`` in the place of a value."""
        return TextEdit(value.start, value.end, self._written(new, self._indent_at(value.start)))

    def addition(self, container: TreeValue, entries: list[tuple[str, NewValue]], after: TreeMember | None) -> TextEdit:
        """The edit that adds members to an object (or items to an array), after one of its own or as the first.

        The layout is that of the neighbours.
        """
        if not container.members:
            indent = self._indent_at(container.start)
            new: NewValue = [value for _, value in entries]
            if container.kind != "array":
                new = dict(entries)
            return TextEdit(container.start, container.end, self._written(new, indent))
        neighbour = after or container.members[0]
        separator = self._separator(container, neighbour)
        indent = separator.rpartition("\n")[2] if "\n" in separator else self._indent_at(neighbour.start)
        texts = []
        for key, value in entries:
            written = self._written(value, indent)
            texts.append(f"{self.literal(key)}{self._colon}{written}" if container.kind == "object" else written)
        if after is None:
            return TextEdit(neighbour.start, neighbour.start, "".join(f"{text},{separator}" for text in texts))
        return TextEdit(after.value.end, after.value.end, "".join(f",{separator}{text}" for text in texts))

    def copied(self, value: TreeValue, change: Callable[[TreeValue], str | None] = lambda value: None) -> NewValue:
        """A value to add to another file; strings for which ``change`` gives a text have that text."""
        if value.kind == "object":
            return {str(member.key): self.copied(member.value, change) for member in value.members}
        if value.kind == "array":
            return [self.copied(member.value, change) for member in value.members]
        changed = change(value)
        return Raw(self.content[value.start : value.end]) if changed is None else changed

    # -- layout

    @cached_property
    def _line_feeds(self) -> list[int]:
        return [match.start() for match in regex.finditer("\n", self.content)]

    @cached_property
    def _newline(self) -> str:
        return "\r\n" if 2 * self.content.count("\r\n") > len(self._line_feeds) else "\n"

    @cached_property
    def _escaping(self) -> _Escaping:
        return _Escaping(self.content)

    @cached_property
    def _colon(self) -> str:
        """What is between a key and its value."""
        first = self._first_member()
        if first is None:
            return ": "
        match = _TOKEN.match(self.content, first.start)
        assert match is not None
        return self.content[match.end() : first.value.start]

    @cached_property
    def _unit(self) -> str | None:
        """The indentation of one level; ``None`` if the file is written on one line."""
        if not self.root.members:
            return "  "
        before = self._space_before(self.root.members[0].start)
        return before.rpartition("\n")[2] if "\n" in before else None

    @cached_property
    def _comma(self) -> str:
        """What follows a comma in a file on one line."""
        if len(self.root.members) > 1:
            return self._space_before(self.root.members[1].start)
        return " " if self._colon.endswith(" ") else ""

    def _first_member(self) -> TreeMember | None:
        value = self.root
        while value.members:
            if value.kind == "object":
                return value.members[0]
            value = value.members[0].value
        return None

    def _space_before(self, place: int) -> str:
        start = place
        while start and self.content[start - 1] in " \t\r\n":
            start -= 1
        return self.content[start:place]

    def _separator(self, container: TreeValue, neighbour: TreeMember) -> str:
        """The white space between two members: one line break at most."""
        first = container.members[0]
        before = self._space_before(neighbour.start)
        if neighbour is first and "\n" not in before:
            before = self._space_before(container.members[1].start) if len(container.members) > 1 else self._comma
        if "\n" not in before:
            return before
        return self._newline + before.rpartition("\n")[2]

    def _indent_at(self, place: int) -> str:
        match = _INDENT.match(self.content, self._line_start(place))
        assert match is not None
        return match[0]

    def _line_start(self, place: int) -> int:
        line_feeds = bisect_left(self._line_feeds, place)
        return self._line_feeds[line_feeds - 1] + 1 if line_feeds else 0

    def _written(self, value: NewValue, indent: str) -> str:
        """A new value; ``indent`` is the indentation of the line that it begins in."""
        if isinstance(value, Raw):
            return value
        if isinstance(value, str):
            return self.literal(value)
        inner = indent if self._unit is None else indent + self._unit
        if isinstance(value, dict):
            items = [f"{self.literal(key)}{self._colon}{self._written(item, inner)}" for key, item in value.items()]
            opening, closing = "{", "}"
        else:
            items = [self._written(item, inner) for item in value]
            opening, closing = "[", "]"
        if not items:
            return opening + closing
        if self._unit is None:
            return opening + f",{self._comma}".join(items) + closing
        lines = f",{self._newline}{inner}".join(items)
        return f"{opening}{self._newline}{inner}{lines}{self._newline}{indent}{closing}"

    # -- parsing

    def _parsed(self) -> TreeValue:
        """The value that the file holds. It is a loop, so that deep nesting is an error with a line."""
        holder = TreeValue("array", 0)
        containers = [holder]
        keys: list[dict[str, int]] = [{}]  # of each container, with their places
        key: tuple[str, int] | None = None
        state: _State = "value"
        position = 0
        while True:
            container = containers[-1]
            match = _TOKEN.match(self.content, position)
            if match is None:
                self._refuse(position, state, container, holder)
            kind = str(match.lastgroup)
            token, start = match[kind], match.start(kind)
            position = match.end()
            if container is holder and state == "next":
                if kind != "end":
                    self._refuse(start, state, container, holder)
                return holder.members[0].value
            if state in ("first", "next") and token == _CLOSING[container.kind]:
                containers.pop()
                keys.pop()
                container.end = position
                container.members = last_of_each_key(container.members)
                state = "next"
                continue
            if state == "next":
                if token != ",":
                    self._refuse(start, state, container, holder)
                state = "key" if container.kind == "object" else "value"
                continue
            if state == "first" and container.kind == "object":
                state = "key"
            if state == "key":
                if kind != "string":
                    self._refuse(start, state, container, holder)
                key = self._key(token, start, keys[-1])
                state = "colon"
                continue
            if state == "colon":
                if token != ":":
                    self._refuse(start, state, container, holder)
                state = "value"
                continue
            value = self._value(kind, token, start, position)
            if value is None:
                self._refuse(start, state, container, holder)
            name, begin = (len(container.members), start) if key is None else key
            container.members.append(TreeMember(name, begin, value))
            key = None
            state = "next"
            if value.is_container:
                state = "first"
                containers.append(value)
                keys.append({})
                if len(containers) > DEEPEST:
                    raise InputError(f"{self._where(start)}: is nested more than {DEEPEST} levels deep; flatten it")

    def _key(self, token: str, start: int, keys: dict[str, int]) -> tuple[str, int]:
        key = self._text(token, start)
        if key in keys and not self._last_counts:
            raise InputError(
                f"{self._where(start)}: the key {shown_id(key)} is already used in line {self.line_of(keys[key])}; "
                "remove one of them"
            )
        keys[key] = start
        return key, start

    def _value(self, kind: str, token: str, start: int, end: int) -> TreeValue | None:
        if kind == "string":
            return TreeValue("string", start, end, self._text(token, start))
        if kind == "number":
            return TreeValue("number", start, end, token)
        if kind == "word":
            return TreeValue("word", start, end, token)
        if token == "{":
            return TreeValue("object", start)
        if token == "[":
            return TreeValue("array", start)
        return None

    def _text(self, token: str, start: int) -> str:
        text = token[1:-1]
        if "\\" not in text:
            return text
        text = _ESCAPE.sub(_unescaped, text)
        surrogate = _SURROGATE.search(text)
        if surrogate:
            raise InputError(
                f"{self._where(start)}: the escaped surrogate \\u{ord(surrogate[0]):04x} is alone, and no character; "
                "correct it"
            )
        return text

    def _where(self, place: int) -> str:
        line = self.line_of(place)
        return f"{self.path}:{line}:{place - self._line_start(place) + 1}"

    def _refuse(self, position: int, state: _State, container: TreeValue, holder: TreeValue) -> NoReturn:
        match = _WHITE_SPACE.match(self.content, position)
        assert match is not None
        position = match.end()
        found = self.content[position : position + 20].partition("\n")[0].rstrip("\r")
        where = f"{self._where(position)}: not JSON"
        expected = _EXPECTED[container.kind, state]
        if container is holder:
            expected = "the end of the file" if state == "next" else "a value"
        if position == len(self.content):
            raise InputError(f"{where}: expected {expected}, but the file ends; is it cut off?")
        if found.startswith('"') and (state in ("value", "key") or state == "first"):
            raise InputError(
                f"{where}: {found!r} begins a string without an end, or with a line break or an unknown \\; "
                "correct it, or restore the file"
            )
        if found.startswith("/*"):
            raise InputError(f"{where}: the comment does not end; correct it, or restore the file")
        raise InputError(f"{where}: expected {expected}, not {found!r}; correct it, or restore the file")


def surrogate_fault(text: str) -> str | None:
    """Why a file cannot hold a text with half a character, as the end of a sentence; ``None`` if it has none."""
    surrogate = _SURROGATE.search(text)
    return (
        f"has a lone surrogate (U+{ord(surrogate[0]):04X}), which is not a character; take it out"
        if surrogate
        else None
    )


_CLOSING = {"object": "}", "array": "]"}


_State = Literal["first", "next", "key", "colon", "value"]
_EXPECTED = {
    ("object", "first"): "a key in quotes or }",
    ("object", "next"): "a comma or }",
    ("object", "key"): "a key in quotes",
    ("object", "colon"): "a colon",
    ("object", "value"): "a value",
    ("array", "first"): "a value or ]",
    ("array", "next"): "a comma or ]",
    ("array", "value"): "a value",
}


def _unescaped(match: regex.Match[str]) -> str:
    if match[3]:
        return _SHORT.get(match[3], match[3])
    code = int(match[1], 16)
    if not match[2]:
        return chr(code)
    if 0xD800 <= code < 0xDC00:
        return chr(0x10000 + (code - 0xD800 << 10) + int(match[2], 16) - 0xDC00)
    return chr(code) + chr(int(match[2], 16))


class _Escaping:
    """Which characters a file writes as escapes, and never as they are; ``pattern`` matches them."""

    def __init__(self, content: str) -> None:
        escaped: set[str] = set()
        digits: set[str] = set()
        characters = r'"\\\x00-\x1f'
        if "\\" in content:
            for match in _ESCAPE.finditer(content):
                if match[1]:
                    escaped.add(_unescaped(match))
                    digits.update(match[1])
            if "\\/" in content and not regex.search(r"(?<!\\)/", content):
                characters += "/"
        self.upper_case = bool(digits & set("ABCDEF")) and not digits & set("abcdef")
        for character in sorted(escaped):
            if " " < character < "\x7f" and character not in content:
                characters += regex.escape(character)
        beyond_ascii = "".join(character for character in escaped if character > "\x7f")
        for block in ("\x80-\uffff", "\U00010000-\U0010ffff"):
            is_escaped = content.isascii() or regex.search(f"[{block}]", beyond_ascii)
            if beyond_ascii and is_escaped and not regex.search(f"[{block}]", content):
                characters += block
        self.pattern = regex.compile(f"[{characters}]")
