"""YAML with the places of its values: texts are replaced and added in the layout that the file has.

PyYAML reads the file and gives the places. What is written is read again: a text keeps its style (plain, quoted, block)
only if it comes back as the same text, and is in double quotes otherwise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import DecodedFile, TextEdit, decoded, newline_of, shown_id
from mtagent.formats.json_spans import DEEPEST, DOCUMENTS, NewValue, Raw, TreeMember, TreeValue, last_of_each_key

_PROPERTIES = regex.compile(r"(?:[&!]\S*\s+)*")  # an anchor and a tag before a value
_BLOCK_HEADER = regex.compile(r"[|>](?=(?:[-+]?(?P<indent>[1-9])?))[-+1-9]*+(?P<rest>[^\r\n]*)")
_ACTIVE_IN_FLOW = regex.compile(r"[][{},?:#]")  # parsers disagree on these within a plain text
_SYMBOL = regex.compile(r":[\w\"'@]")
_NUMBER_LIKE = regex.compile(r"[-+]?[\d.][\d_,.:]*(?:[eE][-+]?\d+)?|[-+]?0[xob][\da-fA-F_]+")
_WORDS = {"true", "false", "null", "~"}
_ALSO_WORDS = {"y", "n"}  # of YAML 1.1, which PyYAML reads as texts
_TEXT_TAGS = {None, "!", "tag:yaml.org,2002:str"}
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\x1b": "\\e", "\x85": "\\N"}
_ESCAPED = r'"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff'
_WAY_OUT = "correct it, or restore the file"
_BREAKABLE = regex.compile(r"(?<=\S) (?=\S)")


class YamlFile:
    """A YAML file that has been read. Of repeated keys the last one counts."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.file: DecodedFile = decoded(path, data)
        self.content = self.file.content
        self._newline = newline_of(data, self.file.encoding)
        self._unit: int | None = None  # of indentation
        self._styles: Counter[str] = Counter()
        self.root = self._parsed()

    def line_of(self, place: int) -> int:
        """The line of a character, from 1."""
        return bisect_left(self._line_feeds, place) + 1

    def replacement(self, value: TreeValue, new: NewValue) -> TextEdit:
        """The edit that puts ``new`` in the place of a value."""
        if isinstance(new, str):
            written = new if isinstance(new, Raw) else self._literal(new, value, value.in_flow)
            if value.start == value.end and self.content[value.start - 1 : value.start].strip():
                written = f" {written}"  # of a key without a value, the colon is before it
            return TextEdit(value.start, value.end, written)
        return self._in_place_of_nothing(value, new)

    def addition(self, container: TreeValue, entries: list[tuple[str, NewValue]], after: TreeMember | None) -> TextEdit:
        """The edit that adds members to a mapping (or items to a sequence), after one of its own or as the first."""
        is_mapping = container.kind != "array"
        new: NewValue = dict(entries) if is_mapping else [value for _, value in entries]
        if not container.members:
            return self._in_place_of_nothing(container, new)
        first = container.members[0]
        if container.style:
            flow = self._flow(new)[1:-1]
            if after is None:
                return TextEdit(first.start, first.start, f"{flow}, ")
            return TextEdit(after.value.end, after.value.end, f", {flow}")
        lines = self._block(new, container.column)
        if after is not None:
            place = self._line_end(_end(after.value))
            return TextEdit(place, place, "".join(self._newline + line for line in lines))
        indent = " " * container.column
        return TextEdit(
            first.start, first.start, self._newline.join(lines)[container.column :] + self._newline + indent
        )

    def copied(self, value: TreeValue, change: Callable[[TreeValue], str | None] = lambda value: None) -> NewValue:
        """A value to add to another file; strings for which ``change`` gives a text have that text."""
        if value.kind == "object":
            return {str(member.key): self.copied(member.value, change) for member in value.members}
        if value.kind == "array":
            return [self.copied(member.value, change) for member in value.members]
        changed = change(value)
        if changed is not None:
            return changed
        if value.kind == "fixed":
            return Raw("null")
        return value.text if value.kind == "string" else Raw(value.text)

    # -- layout

    @cached_property
    def _line_feeds(self) -> list[int]:
        return [match.start() for match in regex.finditer("\n", self.content)]

    @cached_property
    def _escapes_non_ascii(self) -> bool:
        escape = regex.search(r"\\(?:u[0-9A-Fa-f]{4}|x[89A-Fa-f][0-9A-Fa-f])", self.content)
        return self.content.isascii() and escape is not None

    def _line_end(self, place: int) -> int:
        number = bisect_left(self._line_feeds, place)
        end = self._line_feeds[number] if number < len(self._line_feeds) else len(self.content)
        return end - 1 if end and self.content[end - 1] == "\r" else end

    def _in_place_of_nothing(self, value: TreeValue, new: NewValue) -> TextEdit:
        """The edit that puts a collection in the place of ``{}``, ``[]`` or null."""
        if value.in_flow:
            return TextEdit(value.start, value.end, self._flow(new))
        if value is self.root:
            return TextEdit(value.start, value.end, self._newline.join(self._block(new, 0)))
        start = value.start
        while self.content[start - 1] in " \t":
            start -= 1
        lines = self._block(new, value.column + (self._unit or 2))
        return TextEdit(start, value.end, "".join(self._newline + line for line in lines))

    def _block(self, new: NewValue, column: int) -> list[str]:
        """The lines of a collection in block style."""
        indent = " " * column
        entries: list[tuple[str, NewValue]]
        if isinstance(new, dict):
            entries = [(f"{self._key(key)}:", value) for key, value in new.items()]
        else:
            entries = [("-", value) for value in new]
        lines = []
        for head, value in entries:
            if isinstance(value, Raw):
                lines.append(f"{indent}{head} {value}")
            elif isinstance(value, str):
                lines.append(f"{indent}{head} {self._literal(value, None, False)}")
            elif value and isinstance(value, dict) and head == "-":
                first, *others = self._block(value, column + 2)
                lines += [f"{indent}- {first[column + 2 :]}", *others]
            elif value:
                lines.append(indent + head)
                lines += self._block(value, column + (self._unit or 2))
            else:
                lines.append(f"{indent}{head} {self._flow(value)}")
        return lines

    def _flow(self, new: NewValue) -> str:
        """A collection, or a text in one, on one line."""
        if isinstance(new, Raw):
            may_be_plain = _read_back(f"[{new}, z]\n")  # a symbol of Ruby may not
            return new if may_be_plain else _double_quoted(new, self._escapes_non_ascii)
        if isinstance(new, str):
            return self._literal(new, None, True)
        if isinstance(new, dict):
            return "{" + ", ".join(f"{self._key(key)}: {self._flow(value)}" for key, value in new.items()) + "}"
        return "[" + ", ".join(self._flow(value) for value in new) + "]"

    def _key(self, key: str) -> str:
        if _read_back(f"{key}: x\n") == [(key, ""), ("x", "")] and (_tag(key) in ("str", "int", "float")):
            return key
        return _double_quoted(key, False)

    # -- texts

    def _literal(self, text: str, old: TreeValue | None, in_flow: bool) -> str:
        """A text in the style of the ``old`` one or of most others, or in double quotes if it does not fit in."""
        usual = max(self._styles, key=lambda style: self._styles[style], default="")
        style = usual if old is None or old.kind != "string" else old.style
        quote = "'" if self._styles["'"] > self._styles['"'] else '"'
        for candidate in {"": ["", quote], ">": [">", "|"], '"': []}.get(style, [style]):
            written = self._styled(text, candidate, old)
            if written is not None and _reads_back(written, text, candidate, in_flow):
                return written
        return _double_quoted(text, self._escapes_non_ascii)

    def _styled(self, text: str, style: str, old: TreeValue | None) -> str | None:
        """A text in a style, if it might have it; what is written is not checked."""
        if style in ("|", ">"):
            return None if old is None else self._as_block(text, style, old)
        if regex.search(rf"[{_ESCAPED}]", text.replace('"', "").replace("\\", "")):
            return None
        if style == "'":
            return "'" + text.replace("'", "''") + "'"
        if style == "" and text:
            return text
        return _double_quoted(text, self._escapes_non_ascii)

    def _as_block(self, text: str, style: str, old: TreeValue) -> str | None:
        """A text as a block with the header and the indentation of the ``old`` one."""
        header = _BLOCK_HEADER.match(self.content, old.start)
        body = text.rstrip("\n")
        line_breaks = len(text) - len(body)
        if header is None or not body or body[0] in " \n\t":
            return None
        head = header[0][: len(header[0]) - len(header["rest"])]
        if old.end == len(self.content) and line_breaks:
            return None  # a block that ends with the file has no line break at its end
        if line_breaks > 1 and "+" not in head:
            return None  # the empty lines after it would be its own
        old_lines = self.content[header.end() : old.end].split("\n")[1:]
        first = next((line for line in old_lines if line.strip()), None)
        indent = (
            " " * (old.column + (self._unit or 2)) if first is None else first[: len(first) - len(first.lstrip(" "))]
        )
        lines = body.split("\n")
        if style == ">":
            if any(line[:1] in (" ", "\t") for line in lines):
                return None
            width = max((len(line.rstrip("\r")) for line in old_lines), default=80)
            lines = list(_folded(lines, max(width - len(indent), 20)))
        lines += [""] * (line_breaks - 1)
        chomping = "-+"[line_breaks > 1] if line_breaks != 1 else ""
        head = style + (header["indent"] or "") + chomping
        return self._newline.join([head + header["rest"], *(indent + line if line else "" for line in lines)])

    # -- parsing

    def _parsed(self) -> TreeValue:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            return self._tree(yaml.parse(self.content, Loader=loader))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = 1 if mark is None else mark.line + 1
            problem = " ".join(filter(None, (error.context, error.problem)))
            raise InputError(f"{self.path}:{line}: not YAML: {problem}; {_WAY_OUT}") from None
        except yaml.reader.ReaderError as error:
            position = error.position if isinstance(error.position, int) else 0
            raise InputError(f"{self.path}:{self.line_of(position)}: not YAML: {error.reason}; {_WAY_OUT}") from None

    def _tree(self, events: Any) -> TreeValue:
        import yaml

        holder = TreeValue("array", 0)
        containers = [holder]
        keys: list[dict[str, Any]] = [{}]  # of each container, with the event of the last one
        key: tuple[str, int, bool] | None = None  # with its place, and whether it is no text
        for event in events:
            start = event.start_mark.index
            container = containers[-1]
            if isinstance(event, yaml.CollectionEndEvent):
                containers.pop()
                keys.pop()
                container.end = event.end_mark.index
                container.members = last_of_each_key(container.members)
                members = containers[-1].members
                if not members or members[-1].value is not container:
                    key = (self.content[container.start : container.end], container.start, True)
            if not isinstance(event, yaml.NodeEvent):
                continue
            is_key = container.kind == "object" and key is None
            if is_key and not container.members:
                is_text = isinstance(event, yaml.ScalarEvent)
                container.column = event.start_mark.column if is_text else self._dash_column(start, container)
            if is_key and isinstance(event, yaml.ScalarEvent):
                self._refuse_other_type(event, keys[-1].get(event.value))
                keys[-1][event.value] = event
                key = (event.value, start, False)
                continue
            if container.kind == "array" and not container.members and container is not holder:
                container.column = self._dash_column(start, container)
            value = self._value(event, container)
            if is_key and not value.is_container:
                key = (value.text, start, True)
                continue
            if not is_key:
                name, begin, is_fixed = key or (len(container.members), start, False)
                container.members.append(TreeMember(name, begin, value, is_fixed))
                key = None
            if isinstance(event, yaml.CollectionStartEvent):
                containers.append(value)
                keys.append({})
                if len(containers) > DEEPEST:
                    self._refuse(start, f"is nested more than {DEEPEST} levels deep; flatten it")
        if not holder.members:
            raise InputError(f"{self.path}:1: has no values")
        if len(holder.members) == 1:
            return holder.members[0].value
        holder.style = DOCUMENTS
        return holder

    def _refuse_other_type(self, key: Any, former: Any) -> None:
        """Refuse keys such as ``1`` and ``"1"``, which are two keys for programs, and would have the same id here."""
        if former is None or bool(key.style) == bool(former.style) or _tag(key.value) == "str":
            return
        line = self.line_of(former.start_mark.index)
        self._refuse(
            key.start_mark.index,
            f"the key {shown_id(key.value)} is already used in line {line}, once in quotes and once without, which may "
            "be two keys; remove one of them",
        )

    def _value(self, event: Any, container: TreeValue) -> TreeValue:
        """The value that an event begins. Its column is that of the keys around it, until it has keys itself."""
        import yaml

        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            return TreeValue("fixed", start, end, f"*{event.anchor}")
        properties = _PROPERTIES.match(self.content, start) if event.anchor or event.tag else None
        in_flow = container.in_flow or bool(container.style)
        if isinstance(event, yaml.CollectionStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            style = ""
            if event.flow_style:
                style = "{" if is_mapping else "["
            value = TreeValue("object" if is_mapping else "array", start, end, style=style, in_flow=in_flow)
            value.start = start if properties is None else min(properties.end(), len(self.content))
            value.column = container.column
            if is_mapping and not style and not in_flow and container.kind == "object" and self._unit is None:
                self._unit = self._first_indent(value.start, container.column)
            return value
        start = start if properties is None else min(properties.end(), end)
        style = event.style or ""
        text = event.value
        is_block = style in ("|", ">")
        end = self._block_end(start, end) if is_block else start + len(self.content[start:end].rstrip(" \t\r\n"))
        value = TreeValue("string", start, end, text, style=style, column=container.column, in_flow=in_flow)
        if event.tag not in _TEXT_TAGS:
            value.kind = "fixed"
        elif not style and event.tag is None:
            tag = _tag(text)
            if tag == "null":
                value.kind, value.text = "word", "null"
            elif tag == "timestamp":
                value.kind = "word"
            elif tag in ("int", "float") and ":" not in text:  # 12:30 is a number of YAML 1.1 only
                value.kind = "number"
            elif (tag == "bool" and text.casefold() in _WORDS) or _SYMBOL.match(text):
                value.kind = "word"
        if value.kind == "string" and not is_block:
            self._styles[style] += 1
        return value

    def _first_indent(self, place: int, column: int) -> int | None:
        """How much deeper than ``column`` the first key of a mapping is."""
        line_start = self._line_feeds[bisect_left(self._line_feeds, place) - 1] + 1 if self.line_of(place) > 1 else 0
        return place - line_start - column if place - line_start > column else None

    def _block_end(self, start: int, end: int) -> int:
        """Where a block ends, without the line break at its end; with its empty lines only if they are its text."""
        header = _BLOCK_HEADER.match(self.content, start)
        if header is not None and "+" in header[0][: len(header[0]) - len(header["rest"])]:
            end -= self.content[start:end].endswith("\n")
            return end - self.content[start:end].endswith("\r")
        last = start + len(self.content[start:end].rstrip(" \t\r\n"))
        return min(self._line_end(last), end)  # spaces at the end of its last line are its text

    def _dash_column(self, place: int, container: TreeValue) -> int:
        """The column of the dash before the first item of a sequence."""
        if container.style:
            return container.column
        place -= 1
        while place > 0 and self.content[place] in " \t\r\n":
            place -= 1
        line = bisect_left(self._line_feeds, place)
        return place - (self._line_feeds[line - 1] + 1 if line else 0)

    def _refuse(self, place: int, why: str) -> NoReturn:
        raise InputError(f"{self.path}:{self.line_of(place)}: {why}")


def _end(value: TreeValue) -> int:
    """Where the last text of a value ends; the events of block collections end at what follows them."""
    while value.members and not value.style:
        value = value.members[-1].value
    return value.end


@cache
def _resolver() -> Any:
    import yaml

    return yaml.SafeLoader("")


def _tag(text: str) -> str:
    """What YAML takes a plain text for: ``str``, ``int``, ``bool``, ``null``, ``timestamp``, …"""
    import yaml

    return str(_resolver().resolve(yaml.ScalarNode, text, (True, False))).rpartition(":")[2]


def _read_back(content: str) -> list[tuple[str, str]]:
    """The scalars of a YAML text with their styles; an empty list if it isn't YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = list(yaml.parse(content, Loader=loader))
    except yaml.YAMLError:
        return []
    plain_events = (yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent)
    count = sum(isinstance(event, plain_events) for event in events)
    scalars = [(event.value, event.style or "") for event in events if isinstance(event, yaml.ScalarEvent)]
    return scalars if count == len(scalars) + 1 and not any(_has_properties(event) for event in events) else []


def _has_properties(event: Any) -> bool:
    return bool(getattr(event, "anchor", None) or getattr(event, "tag", None))


def _reads_back(written: str, text: str, style: str, in_flow: bool) -> bool:
    """Whether a text comes back as it was from what is written, and not as a number, a word or a symbol."""
    if style == "":
        is_word = _tag(text) != "str" or text.casefold() in _ALSO_WORDS
        if is_word or _SYMBOL.match(text) or _NUMBER_LIKE.fullmatch(text):
            return False
        if in_flow and _ACTIVE_IN_FLOW.search(text):
            return False
    if in_flow:
        return _read_back(f"[{written}, z]\n") == [(text, style), ("z", "")]
    return _read_back(f"k: {written}\nz: z\n") == [("k", ""), (text, style), ("z", ""), ("z", "")]


def _double_quoted(text: str, escapes_non_ascii: bool) -> str:
    def escape(match: regex.Match[str]) -> str:
        code = ord(match[0])
        if match[0] in _SHORT:
            return _SHORT[match[0]]
        if code < 0x100:
            return f"\\x{code:02X}"
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"

    pattern = rf"[{_ESCAPED}\x80-\U0010ffff]" if escapes_non_ascii else f"[{_ESCAPED}]"
    return f'"{regex.sub(pattern, escape, text)}"'


def _folded(lines: list[str], width: int) -> Iterator[str]:
    """The lines of a folded block: a line break of the text is an empty line, and long lines are wrapped."""
    for number, line in enumerate(lines):
        if number and (line or lines[number - 1]):
            yield ""
        wrapped = ""
        for word in _BREAKABLE.split(line):
            if wrapped and len(wrapped) + 1 + len(word) > width:
                yield wrapped
                wrapped = word
            else:
                wrapped = f"{wrapped} {word}" if wrapped else word
        if wrapped:
            yield wrapped
