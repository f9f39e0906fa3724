"""Catalogues of GNU gettext: PO and POT.

Each message without a plural is a unit, and so is each form of a plural. An id is what gettext looks up: the text, with
its context before it and U+0004 between them; ``[0]`` at the end is the number of a plural form. After a ``domain``
directive its name and a slash come first. Obsolete messages aren't units. A changed ``msgstr`` is wrapped as
``msgmerge`` does, in a file that is wrapped at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import (
    NO_MARKS,
    ByteEdit,
    MarkKind,
    PluralForm,
    TranslationUnit,
    UnitMark,
    charset_called,
    content_of,
    marked_encoding,
    newline_of,
    refuse_nul,
    refuse_repeated_ids,
    refuse_source,
)
from mtagent.text.plurals import rule_examples

_MOST_FORMS = 20  # of a plural; Arabic has six
_WIDTH = 79  # columns of a line with its quotes, as msgmerge writes them
_KEYWORD = regex.compile(r"(msgctxt|msgid_plural|msgid|msgstr)(?:\s*\[\s*(\d{1,9})\s*\])?[ \t]*(?=\"|\r?$)")
_DOMAIN = regex.compile(r"domain\s+(?:\"([^\"]+)\"|([^\s\"]+))")
_QUOTED = regex.compile(r'\s*"((?:[^"\\\n]|\\.)*)"')
_NUMBER = regex.compile(r"\\?(x[0-9A-Fa-f]{1,2}|[0-7]{1,3})")
_ESCAPE = regex.compile(r"\\((?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3})(?:\\x[0-9A-Fa-f]{1,2}|\\[0-7]{1,3})*|.)", regex.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", '"': '"'}
_TO_ESCAPE = {character: f"\\{letter}" for letter, character in _ESCAPED.items()}
_TRANSLATED = {code: f"\\{code:03o}" for code in (*range(32), 127)}
_TRANSLATED |= {ord(character): escaped for character, escaped in _TO_ESCAPE.items()}
_NO_WRAP = "no-wrap"  # the flag of a message that msgmerge doesn't wrap
_CHARSET = regex.compile(r"Content-Type:[^\"\n]*?charset=\s*([\w.:-]+)", regex.IGNORECASE)
_PLURAL_RULE = regex.compile(r"nplurals\s*=\s*0*(\d+)\s*;\s*plural\s*=\s*([^;\n]*)")


class _Field(NamedTuple):
    """A ``msgstr`` or another keyword: its text, and the characters of its quoted strings."""

    text: str
    start: int  # of the first quote
    end: int  # after the last quote
    line_end: int  # after the line of the last quote, without its line end
    keyword: str  # as it is in the file, with the white space up to the quote
    indent: str  # before the keyword
    line: int


@dataclass
class _Message:
    """A message of the catalogue."""

    domain: str = ""
    line: int = 0
    comments: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    fields: dict[str, _Field] = field(default_factory=dict)
    translations: dict[int, _Field] = field(default_factory=dict)
    comment_place: int = -1  # the line before which a translator's comment is written
    flags_end: int = -1  # after the # and the comma of the flags; -1: it has none
    flags_place: int = -1  # the line before which flags are written

    @property
    def key(self) -> str:
        context = self.fields.get("msgctxt")
        text = self.fields["msgid"].text
        if context is not None:
            text = f"{context.text}\x04{text}"
        return f"{self.domain}/{text}" if self.domain else text

    @property
    def is_header(self) -> bool:
        return not self.fields["msgid"].text and "msgctxt" not in self.fields


class _Place(NamedTuple):
    """Where a target is written: the quoted strings of ``like``, or new lines after it for the ``lacking`` forms."""

    like: _Field
    lacking: range  # the numbers of the forms that the file lacks, up to the target's own


class PoFile:
    """A catalogue that has been read."""

    mark_kinds: tuple[MarkKind, ...] = ("fuzzy", "comment")

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self._mark, self._charset, self._content = _decoded(path, data)
        self._newline = newline_of(data, self._charset)
        self.units: list[TranslationUnit] = []
        self._slots: dict[str, _Place] = {}
        self._messages: dict[str, _Message] = {}  # of each unit
        entries = list(_entries(path, self._content, self._charset))
        headers: dict[str, _Message] = {}  # of each domain
        for entry in entries:
            if entry.is_header:
                first = headers.setdefault(entry.domain, entry)
                if first is not entry:
                    raise InputError(
                        f'{path}:{entry.line}: msgid "" is the header, which is already in line {first.line}; '
                        "remove one of them"
                    )
        header = next(iter(headers.values()), None)
        fields = _header_fields(header.translations[0].text) if header and 0 in header.translations else {}
        self.target_lang = fields.get("language") or None
        self._rule = _PLURAL_RULE.search(fields.get("plural-forms", ""))
        if header and self._rule and int(self._rule[1][:9]) > _MOST_FORMS:
            raise InputError(
                f"{path}:{header.line}: the header's Plural-Forms has nplurals={self._rule[1][:9]}; no language has "
                f"more than {_MOST_FORMS} forms; correct it"
            )
        self._examples = rule_examples(self._rule[2]) if self._rule else {}
        self._unwrapped_lines: set[int] = set()  # where the fields of messages begin that are flagged as such
        exceptions = 0  # overlong lines that say nothing of the others
        for entry in entries:
            if entry.is_header or _NO_WRAP in entry.flags:  # many tools write each field of the header on one line
                for each in (*entry.fields.values(), *entry.translations.values()):
                    self._unwrapped_lines.add(each.line)
                    line_start = self._content.rfind("\n", 0, each.start) + 1
                    exceptions += _overlong_lines(self._content[line_start : each.end])
        self._wrapped = _overlong_lines(self._content) == exceptions
        for entry in entries:
            if not entry.is_header:
                self._add(entry)
        refuse_repeated_ids(path, self.units)

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the catalogue cannot hold ``target``."""
        if "\0" in target:
            return "has a NUL, which ends a text of gettext; take it out"
        for where, same in (("leading", str.startswith), ("trailing", str.endswith)):
            if not target or same(target, "\n") == same(unit.source, "\n"):
                continue
            if same(unit.source, "\n"):
                return f"lacks the {where} line break (\\n) of its source; put it back"
            return f"has a {where} line break (\\n) that its source lacks; take it out"
        return self._charset_fault(target)

    def mark_fault(self, unit: TranslationUnit, mark: UnitMark) -> str | None:
        """Why the catalogue cannot hold this mark."""
        problem = self._charset_fault(mark.text)
        return f"the comment {problem}" if problem else None

    def _charset_fault(self, text: str) -> str | None:
        try:
            text.encode(self._charset)
        except UnicodeEncodeError as error:
            character = text[error.start]
            return (
                f"has {character!r} (U+{ord(character):04X}), which the file's charset {self._charset} lacks; "
                "convert the file first: msgconv -t UTF-8"
            )
        return None

    def edits(self, targets: Mapping[str, str], marks: Mapping[str, Sequence[UnitMark]] = NO_MARKS) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets and marks."""
        insertions = self._mark_insertions(marks)
        places: dict[int, int] = dict.fromkeys((place for place, _ in insertions), 0)
        for unit_id in targets:
            slot = self._slots[unit_id]
            places |= dict.fromkeys((slot.like.start, slot.like.end, slot.like.line_end), 0)
        position, byte = 0, len(self._mark)
        for place in sorted(places):  # from places in the text to places in the bytes
            byte += len(self._content[position:place].encode(self._charset))
            places[place] = byte
            position = place
        edits = [
            ByteEdit(places[place], places[place], inserted.encode(self._charset)) for place, inserted in insertions
        ]
        added: dict[_Field, dict[int, str]] = {}  # the new forms of each message, by the form that they follow
        for unit_id, target in targets.items():
            like, lacking = self._slots[unit_id]
            if lacking:
                forms = added.setdefault(like, {})
                for number in lacking:
                    forms.setdefault(number, "")  # gettext allows no gaps
                forms[lacking[-1]] = target
            else:
                written = self._quoted(like, like.keyword, target)
                edits.append(ByteEdit(places[like.start], places[like.end], written.encode(self._charset)))
        for like, forms in added.items():
            place = places[like.line_end]
            edits.append(ByteEdit(place, place, self._new_forms(like, forms).encode(self._charset)))
        return edits

    def _mark_insertions(self, marks: Mapping[str, Sequence[UnitMark]]) -> list[tuple[int, str]]:
        """What the marks insert, and before which character. The forms of a plural share their comments and flags."""
        insertions: dict[tuple[int, str], None] = {}
        for unit_id, its_marks in marks.items():
            message = self._messages[unit_id]
            for mark in its_marks:
                if mark.kind == "comment":
                    lines = [line for line in mark.text.splitlines() if line not in message.comments]
                    comment = "".join(f"# {line}".rstrip() + self._newline for line in lines)
                    if comment:
                        insertions[message.comment_place, comment] = None
                elif "fuzzy" not in message.flags:
                    if message.flags_end >= 0:
                        insertions[message.flags_end, " fuzzy,"] = None
                    else:
                        insertions[message.flags_place, f"#, fuzzy{self._newline}"] = None
        return sorted(insertions)

    def _new_forms(self, like: _Field, forms: Mapping[int, str]) -> str:
        """Lines for these forms of a plural, in the order of their numbers, after the form ``like``."""
        lines = []
        for number, text in sorted(forms.items()):
            keyword = f"msgstr[{number}] "
            lines.append(f"{self._newline}{like.indent}{keyword}{self._quoted(like, keyword, text)}")
        return "".join(lines)

    def _quoted(self, like: _Field, keyword: str, text: str) -> str:
        """``text`` in quotes, over as many lines as msgmerge would take in the message of ``like``."""
        width = _WIDTH if self._wrapped and like.line not in self._unwrapped_lines else None
        lines = _wrapped(text, width, len(keyword) + len(like.indent))
        return f"{self._newline}{like.indent}".join(f'"{line}"' for line in lines)

    def _add(self, entry: _Message) -> None:
        singular = entry.fields["msgid"].text
        plural = entry.fields.get("msgid_plural")
        if plural is None:
            self._add_unit(entry, entry.key, singular, entry.translations.get(0), None)
            return
        count = int(self._rule[1]) if self._rule else len(entry.translations)
        for number, translation in entry.translations.items():
            if number >= count:
                raise InputError(
                    f"{self.path}:{translation.line}: msgstr[{number}] is one form too many: the header's Plural-Forms "
                    f"has nplurals={count}; correct one of them"
                )
        for expected, (number, translation) in enumerate(entry.translations.items()):
            if number != expected:
                raise InputError(
                    f"{self.path}:{translation.line}: msgstr[{number}] is where gettext expects msgstr[{expected}]; "
                    "put the forms in order from 0, without a gap"
                )
        for number in range(count):
            examples = self._examples.get(number, ())
            form = PluralForm(number, count, self._rule[2].strip() if self._rule else None, examples)
            is_singular = 1 in examples if examples else number == 0 and count > 1
            text = singular if is_singular and count > 1 else plural.text
            self._add_unit(entry, f"{entry.key}[{number}]", text, entry.translations.get(number), form)

    def _add_unit(
        self, entry: _Message, identity: str, source: str, translation: _Field | None, plural: PluralForm | None
    ) -> None:
        state = "translated" if translation is not None and translation.text else "new"
        if state == "translated" and "fuzzy" in entry.flags:
            state = "fuzzy"
        self._messages[identity] = entry
        context = entry.fields.get("msgctxt")
        if translation is not None:
            self._slots[identity] = _Place(translation, range(0))
        elif plural is not None and entry.translations:
            count = len(entry.translations)
            self._slots[identity] = _Place(entry.translations[count - 1], range(count, plural.number + 1))
        else:
            raise InputError(f'{self.path}:{entry.line}: this message has no msgstr; add one: msgstr ""')
        self.units.append(
            TranslationUnit(
                id=identity,
                source=source,
                target=None if translation is None or (source and not translation.text) else translation.text,
                state=state,
                notes=tuple(entry.comments),
                context=None if context is None else context.text,
                plural=plural,
                target_lang=self.target_lang,
                line=entry.line,
            )
        )


def _decoded(path: Path, data: bytes) -> tuple[bytes, str, str]:
    """The file's byte order mark, its charset and its characters."""
    mark, charset = marked_encoding(data)
    if charset is None:
        declared = _CHARSET.search(data[: 2**16].decode("latin-1"))
        charset = declared[1] if declared else "utf-8"
        if charset == "CHARSET":  # of a template that nobody has filled in
            charset = "utf-8"
    try:
        charset_called(charset)  # refuses what only Python knows; the declared name stays, for messages
        content = data[len(mark) :].decode(charset)
    except LookupError:
        raise InputError(f"{path}:1: the header's charset {charset!r} is unknown; correct it") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, len(mark) + error.start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[len(mark) + error.start]:02X} is not {charset}, the file's charset; "
            "correct Content-Type in its header"
        ) from None
    refuse_nul(path, content)
    if content.encode(charset) != data[len(mark) :]:
        raise InputError(f"{path}:1: {charset} cannot be written as it was read; convert the file: msgconv -t UTF-8")
    return mark, charset, content


def _entries(path: Path, content: str, charset: str) -> Iterator[_Message]:
    """The messages of a catalogue, with its header; obsolete ones are left out."""
    domain = ""  # of the messages that follow
    entry = _Message()
    reader = _Lines(path, content, charset)
    for start, line in reader:
        text = line.strip()
        if text.startswith("#"):
            if entry.fields:
                yield _complete(path, entry)
                entry = _Message(domain)
            if text.startswith("#~"):  # what came before it belongs to an obsolete message
                entry = _Message(domain)
            else:
                _add_comment(entry, text, start, line)
            continue
        if not text:
            continue
        match = _KEYWORD.match(line, len(line) - len(line.lstrip()))
        if match is None:
            directive = _DOMAIN.fullmatch(text)
            if directive is None:
                raise InputError(f"{path}:{reader.number}: {_problem_of(text)}; correct it, or restore the file")
            if entry.fields:
                yield _complete(path, entry)
            domain = directive[1] or directive[2]
            entry = _Message(domain)
            continue
        name = match[1]
        is_next = name == "msgctxt" or (name == "msgid" and "msgid" in entry.fields)
        if is_next and entry.fields:
            yield _complete(path, entry)
            entry = _Message(domain)
        entry.line = entry.line or reader.number
        _place_marks(entry, start)
        value = reader.field(start, line, match)
        if name != "msgstr":
            if name in entry.fields or entry.translations:
                raise InputError(f"{path}:{value.line}: a second {name} in one message; remove one of them")
            entry.fields[name] = value
            continue
        number = int(match[2] or 0)
        if number in entry.translations:
            raise InputError(f"{path}:{value.line}: a second msgstr[{number}] in one message; remove one of them")
        entry.translations[number] = value
    if entry.fields or entry.translations:
        yield _complete(path, entry)


def _problem_of(text: str) -> str:
    if text.startswith('"'):
        return f'{text[:40]} belongs to no msgid or msgstr; a header begins with two lines: msgid "" and msgstr ""'
    return f"expected msgid, msgstr, a quoted text or a comment, not {text[:40]!r}"


def _complete(path: Path, entry: _Message) -> _Message:
    if "msgid" not in entry.fields:
        raise InputError(f"{path}:{entry.line}: this message has no msgid; restore it")
    if not entry.translations:
        raise InputError(f"{path}:{entry.line}: this message has no msgstr (is the file cut off?); restore it")
    return entry


def _add_comment(entry: _Message, text: str, start: int, line: str) -> None:
    """Add a line of comments or flags, which begins at ``start``."""
    if text.startswith(("#.", "#:", "#,", "#=", "#|")) and entry.comment_place < 0:
        entry.comment_place = start
    if text.startswith("#,"):
        entry.flags |= {flag.strip() for flag in text[2:].split(",")}
        if entry.flags_end < 0:
            entry.flags_end = start + line.index("#,") + 2
    elif text.startswith("#|"):
        _place_marks(entry, start)
    elif not text.startswith(("#:", "#=")):
        comment = text[2:].strip() if text.startswith("#.") else text[1:].strip()
        if comment:
            entry.comments.append(comment)


def _place_marks(entry: _Message, start: int) -> None:
    """Comments and flags that a message lacks come before the line at ``start``."""
    if entry.comment_place < 0:
        entry.comment_place = start
    if entry.flags_place < 0:
        entry.flags_place = start


class _Lines:
    """The lines of a catalogue with their places; a field takes the lines that continue it."""

    def __init__(self, path: Path, content: str, charset: str) -> None:
        self._path = path
        self._charset = charset
        self._lines = content.split("\n")
        self._place = 0
        self.number = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while self.number < len(self._lines):
            yield self._next()

    def _next(self) -> tuple[int, str]:
        line = self._lines[self.number]
        start = self._place
        self.number += 1
        self._place += len(line) + 1
        return start, line

    def field(self, start: int, line: str, keyword: regex.Match[str]) -> _Field:
        """The field that ``keyword`` begins, with the quoted strings on this and the next lines."""
        number = self.number
        pieces: list[str] = []
        first_quote = end = line_end = 0
        position = keyword.end()
        while True:
            quoted = _QUOTED.match(line, position)
            while quoted is not None:
                first_quote = first_quote if pieces else start + line.index('"', position)
                pieces.append(quoted[1])
                position = quoted.end()
                end = start + position
                quoted = _QUOTED.match(line, position)
            if line[position:].strip():
                raise InputError(
                    f"{self._path}:{self.number}: {line[position:].strip()[:40]!r} is outside of the quotes; a quote "
                    'within a text is written \\", and each line ends with "'
                )
            line_end = start + len(line.rstrip("\r"))
            if self.number == len(self._lines) or not self._lines[self.number].lstrip().startswith('"'):
                break
            start, line = self._next()
            position = 0
        if not pieces:
            raise InputError(f'{self._path}:{number}: {keyword[1]} has no text; write at least ""')
        indent = keyword.string[: keyword.start()]
        return _Field(
            _unescaped("".join(pieces), self._charset), first_quote, end, line_end, keyword[0], indent, number
        )


def _unescaped(raw: str, charset: str) -> str:
    """The text of a quoted string. Escaped numbers are bytes; several can make one character."""
    if "\\" not in raw:
        return raw

    def character(match: regex.Match[str]) -> str:
        code = match[1]
        if code in _ESCAPED:
            return _ESCAPED[code]
        values = [int(number[1:], 16) if number[0] == "x" else int(number, 8) for number in _NUMBER.findall(code)]
        try:
            return bytes(value & 0xFF for value in values).decode(charset) if values else match[0]
        except UnicodeDecodeError:
            return match[0]  # left as it is written

    return _ESCAPE.sub(character, raw)


def _escaped(text: str) -> str:
    return text.translate(_TRANSLATED)


def _columns(text: str) -> int:
    """How wide a terminal shows ``text``."""
    if text.isascii():
        return len(text)
    columns = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        columns += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return columns


def _wrapped(text: str, width: int | None, indent: int) -> list[str]:
    """The contents of the quotes on each line; the first is empty if the text begins on the next line."""
    lines = [_escaped(line) for line in _split_at_line_breaks(text)]
    if len(lines) == 1 and (width is None or indent + _columns(lines[0]) + 2 <= width):
        return lines
    if width is None:
        return ["", *lines]
    wrapped = []
    for line in lines:
        current = ""
        for piece in _breakable(line):
            if current and _columns(current) + _columns(piece) + 2 > width:
                wrapped.append(current)
                current = ""
            current += piece
        wrapped.append(current)
    return ["", *wrapped]


def _split_at_line_breaks(text: str) -> list[str]:
    lines = text.split("\n")
    whole = [f"{line}\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] or not whole else whole


_IDEOGRAPH = r"\p{Han}\p{Hiragana}\p{Katakana}"
_NOT_FIRST = "ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々〻ゝゞヽヾ"  # of a line, though they are ideographs
_CLOSING = "，、。．；：！？）」』》】〉〕］｝"
_OPENING = "（「『《【〈〔［｛"
_BREAK = regex.compile(
    rf" +(?=[^ .,;:!?/)\]}}{_CLOSING}])|/(?=\p{{L}})|(?<=[\p{{L}}\p{{N}}]-)(?=\p{{L}})|(?<=[.,;:!?])(?=[\p{{L}}\\])"
    rf"|(?<=[{_IDEOGRAPH}{_CLOSING}])(?=[{_IDEOGRAPH}{_OPENING}\p{{L}}\p{{N}}])(?![{_NOT_FIRST}])"
    rf"|(?<=[\p{{L}}\p{{N}}.,;:!?])(?=[{_IDEOGRAPH}{_OPENING}])(?![{_NOT_FIRST}])"
)


def _breakable(line: str) -> list[str]:
    """``line`` in pieces between which msgmerge may break it."""
    pieces = []
    position = 0
    for match in _BREAK.finditer(line):
        pieces.append(line[position : match.end()])
        position = match.end()
    return [*pieces, line[position:]]


def _overlong_lines(text: str) -> int:
    return sum(map(_is_overlong, text.splitlines()))


def _is_overlong(line: str) -> bool:
    """Whether msgmerge would have wrapped this line."""
    text = line.strip()
    if len(text) <= _WIDTH or text.startswith("#") or not text.endswith('"'):
        return False
    return _columns(text) > _WIDTH + 1 and " " in text[text.index('"') + 1 : -2].strip()


def _header_fields(header: str) -> dict[str, str]:
    """The header's fields by their names in lower case."""
    fields = {}
    for line in header.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields[name.strip().casefold()] = value.strip()
    return fields


class Po:
    """Catalogues of GNU gettext."""

    name = "po"
    suffixes: tuple[str, ...] = (".po", ".pot")

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> PoFile:
        """Read a file. Raises :class:`InputError`, beginning with ``file:line``."""
        refuse_source(path, source)
        return PoFile(path, content_of(path))


PO = Po()
