"""Reads XLIFF and its dialects: what is known of each unit, and where its texts are.

==========  ===================  ============================================  =======================================
file        ``state``            locked or approved                            of a person
==========  ===================  ============================================  =======================================
1.x         ``target state``     ``translate="no"``; ``approved="yes"``
2.x         ``segment state``    ``translate="no"``
SDLXLIFF    ``sdl:seg conf``     ``locked="true"``                             ``origin="interactive"``
memoQ       ``mq:status``        ``mq:locked``                                 edited, confirmed, reviewed, proofread
Phrase      ``m:confirmed``      ``m:locked="true"``                           ``m:confirmed`` isn't 0
==========  ===================  ============================================  =======================================

Which states are approved is in ``documents.STATES``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError
from mtagent.formats.documents import TranslationUnit
from mtagent.formats.inline import InlineTag, numbered, pieces_of
from mtagent.formats.xml_spans import INSIDE_TAG, XmlFile, XmlToken, attributes_in, tag_pair, unescaped

ITS = "http://www.w3.org/2005/11/its"
TOOL = "mtagent"
_SDL = "http://sdl.com/FileTypes/SdlXliff/1.0"
_MEMOQ = "MQXliff"
_PHRASE = "http://www.memsource.com/mxlf/2.0"
_SIZES = "urn:oasis:names:tc:xliff:sizerestriction:2.0"

_PEOPLE_IN_MEMOQ = {
    "partiallyedited",
    "manuallyconfirmed",
    "reviewer1confirmed",
    "reviewer2confirmed",
    "proofread",
}
_MOST_DIGITS = 10
_NO = {"", "0", "no", "false"}
_NO_INLINE: Mapping[str, str] = {}
_TEXTS = {"source", "seg-source", "target"}
_REMARKS = {("note", "trans-unit"), ("note", "notes"), ("context", "context-group")}
_OWNERS = {"trans-unit", "segment", "ignorable"}


# Most units have one source, perhaps a target, notes and contexts, and no segments. One match for all of such a unit is
# much faster than its tokens. What the pattern misses is read token by token.
_INSIDE = rf"(?:\s{INSIDE_TAG})?+"
_CONTENT = r"[^<]*+(?:<(?!/?(?:source|target|mrk)\b|[!?])[^<]*+)*+"
_PLAIN_UNIT = (
    rf"<trans-unit({_INSIDE})>\s*<source(?P<source_tag>{_INSIDE})>(?P<source>{_CONTENT})</source>\s*"
    rf"(?:<target({_INSIDE})>(?P<target>{_CONTENT})</target>\s*)?+"
    rf"((?:</?(?:note|context-group|context){_INSIDE}>[^<]*)*+)</trans-unit>\s*"
)
_PLAIN_OR_OPAQUE = re.compile(rf"{_PLAIN_UNIT}|<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>".encode(), re.DOTALL)
_REMARK = re.compile(rf"<(note|context){_INSIDE}>([^<]*)", re.ASCII)


@dataclass
class Content:
    """A source, a target, or a segment of one: its tokens, and the places of its tag and of what is in it."""

    tag: XmlToken
    tokens: list[XmlToken] = field(default_factory=list)
    start: int = 0
    end: int = 0
    after: int = 0  # where the closing tag ends

    @property
    def is_empty_tag(self) -> bool:
        return self.end == self.after


@dataclass
class NotesPlace:
    """Where a unit's next note is written."""

    start: int = 0
    end: int = 0
    before: str = ""
    after: str = ""
    note: str = ""  # the opening tag of a note


@dataclass
class Owner:
    """A trans-unit, or a segment of a unit: what is known of it while it is read."""

    tag: XmlToken
    name: str
    attributes: dict[str, str]
    inherited: dict[str, str]
    notes_place: NotesPlace = field(default_factory=NotesPlace)
    texts: dict[str, Content] = field(default_factory=dict)
    segment_definitions: dict[str, XmlToken] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    indent: str = ""  # white space before the source


class Facts(NamedTuple):
    """What is known of a unit apart from its texts, and why it must not be changed."""

    state: str | None  # in the words of its tool
    locked: bool
    approved: bool
    by_person: bool
    max_length: int | None  # in characters
    max_width: str | None  # a limit in another unit, in words
    source_lang: str | None
    target_lang: str | None


class XliffReader:
    """Reads the tokens of an XLIFF file into the owners of its texts."""

    def __init__(self, xml: XmlFile) -> None:
        self._xml = xml
        self._line_break = xml.line_break.encode(xml.encoding)
        # Of plain units in the open element, by their attributes and those of their targets: most are the same.
        self._plain_facts: dict[tuple[bytes | None, tuple[tuple[str, str], ...]], Facts] = {}
        self._line = 1
        self._counted = 0  # the bytes before ``_line``
        self._prefixes: dict[str, str] = {}  # of namespaces
        self._files: list[str] = []
        self._root = ""
        self._stack: list[str] = []
        self._inherited: list[dict[str, str]] = [{}]
        self._owner: Owner | None = None
        self._unit_notes: list[str] = []
        self._notes_place = NotesPlace()  # of the open unit
        self._notes_tag: XmlToken | None = None
        self._segments: list[Owner] = []  # of the open unit
        self._unit: list[Owner] = []  # that has just ended
        self._text: Content | None = None
        self._text_depth = 0
        self._collected: list[str] | None = None
        self._white_space = ""
        self.is_2 = False
        self.its_prefix: str | None = None  # if the first element declares it

    @property
    def is_sdl(self) -> bool:
        """Whether Trados wrote the file."""
        return _SDL in self._prefixes

    @property
    def dialect(self) -> str:
        """Which of ``documents.STATES`` the file has."""
        if self.is_2:
            return "XLIFF 2.x"
        if self.is_sdl:
            return "SDLXLIFF"
        if _MEMOQ in self._prefixes:
            return "memoQ"
        return "Phrase" if _PHRASE in self._prefixes else "XLIFF 1.x"

    def status_name(self) -> str:
        """The attribute of a trans-unit in which memoQ or Phrase keeps the state."""
        return f"{self._memoq}:status" if self.dialect == "memoQ" else f"{self._phrase}:confirmed"

    def file_prefixes(self) -> list[str]:
        """What the ids of each file begin with; nothing if there is only one file.

        That is the file's name. Of files with the same name the second has ``[2]`` behind it, and those without a name
        are ``[1]``, ``[2]``: so the ids stay if files with other names are added or removed.
        """
        if len(self._files) <= 1:
            return [""]
        prefixes: list[str] = []
        taken = set(self._files)
        counts: Counter[str] = Counter()
        for name in self._files:
            counts[name] += 1
            prefix = name
            if counts[name] > 1 or not name:
                prefix = f"{name}[{counts[name]}]"
                while prefix in taken:  # another file has just that name
                    counts[name] += 1
                    prefix = f"{name}[{counts[name]}]"
            taken.add(prefix)
            prefixes.append(f"{prefix}#")
        return prefixes

    @property
    def file_count(self) -> int:
        """How many files have begun."""
        return len(self._files)

    def read(self) -> Iterator[list[Owner] | tuple[TranslationUnit, int]]:
        """The owners with a source, unit by unit, or a plain unit with the byte at which it begins."""
        data = self._xml.data
        position = self._xml.start
        may_be_plain = False
        for match in _PLAIN_OR_OPAQUE.finditer(data) if self._contains_ascii() else ():
            if match["source"] is None:
                continue
            start, end = match.span()
            if start > position:
                yield from self._read_between(position, start)
                may_be_plain = self._is_in_body()
            unit = self._plain_unit(match) if may_be_plain else None
            if unit is None:
                yield from self._read_between(start, end)
            else:
                yield unit, start
            position = end
        yield from self._read_between(position, len(data))

    def _contains_ascii(self) -> bool:
        """Whether the file's encoding has one byte for each character of ASCII."""
        return len("<".encode(self._xml.encoding)) == 1

    def _is_in_body(self) -> bool:
        """Whether units of XLIFF 1 may follow that can be plain."""
        if self.is_2 or self.is_sdl or self._root or not self._files or self._text is not None:
            return False
        return self._stack[-1] in ("body", "group") and self._owner is None

    def _plain_unit(self, match: re.Match[bytes]) -> TranslationUnit | None:
        """The unit, or ``None`` if it has no id or declares a namespace."""
        encoding = self._xml.encoding
        tag, _, source, target_tag, target, remarks = match.groups()
        attributes = attributes_in(tag.decode(encoding))
        identity = attributes.pop("id", "")
        if not identity or b"xmlns" in tag:
            return None
        resource_name = attributes.pop("resname", "")
        key = (target_tag, tuple(attributes.items()))
        facts = self._plain_facts.get(key)
        if facts is None:
            target_attributes = attributes_in(target_tag.decode(encoding)) if target_tag else {}
            facts = self.facts_of(attributes, self._inherited[-1], target_attributes, None)
            self._plain_facts[key] = facts
        inline = _NO_INLINE
        if b"<" in source or (target is not None and b"<" in target):
            source_text, target_text, inline = numbered(self._pieces(match, "source"), self._pieces(match, "target"))
        else:
            source_text, target_text = unescaped(source.decode(encoding)), unescaped((target or b"").decode(encoding))
        notes: list[str] = []
        contexts = [resource_name] if resource_name else []
        for name, markup in _REMARK.findall(remarks.decode(encoding)) if remarks else ():
            text = unescaped(markup).strip()
            if text:
                (notes if name == "note" else contexts).append(text)
        line = self._line_of(match.start("source_tag"))
        new_target = None if target is None else target_text
        return unit_of(identity, facts, source_text, new_target, inline, notes, contexts, line)

    def _pieces(self, match: re.Match[bytes], name: str) -> list[str | InlineTag]:
        """The source or the target of a plain unit."""
        return pieces_of(self._xml, self._xml.tokens_between(*match.span(name))) if match[name] is not None else []

    def _line_of(self, byte: int) -> int:
        """The line of a byte, which must not come before the last that was asked for."""
        self._line += self._xml.data.count(self._line_break, self._counted, byte)
        self._counted = byte
        return self._line

    def owner_at(self, start: int) -> Owner:
        """The owner of the plain unit that begins at this byte, apart from what it inherits, when all has been read."""
        end = self._xml.data.index(b"</trans-unit>", start) + len(b"</trans-unit>")
        self._stack.append("body")
        [[owner]] = self._read_tokens(self._xml.tokens_between(start, end))
        self._stack.pop()
        return owner

    def target_at(self, start: int) -> tuple[int, int] | None:
        """Where the target of the plain unit is that begins at this byte."""
        match = _PLAIN_OR_OPAQUE.match(self._xml.data, start)
        assert match is not None
        return None if match["target"] is None else match.span("target")

    def _read_between(self, start: int, end: int) -> Iterator[list[Owner]]:
        yield from self._read_tokens(self._xml.tokens_between(start, end, self._line_of(start)))

    def _read_tokens(self, tokens: Iterator[XmlToken]) -> Iterator[list[Owner]]:
        """The owners with a source, unit by unit."""
        for token in tokens:
            if self._text is not None:
                self._in_text(token)
            elif token.kind == "start":
                self._enter(token)
            elif token.kind == "end":
                self._leave(token)
                if self._unit:
                    yield self._unit
                    self._unit = []
            elif token.kind in ("text", "cdata"):
                if self._collected is not None:
                    self._collected.append(token.value)
                self._white_space = self._white_space + token.value if token.value.isspace() else ""

    def _core(self, name: str) -> str:
        """The name of an element of XLIFF itself without its prefix; other names stay as they are."""
        return name.removeprefix(self._root)

    def _enter(self, token: XmlToken) -> None:
        attributes = token.attributes
        self._plain_facts.clear()
        for name, value in attributes.items():
            if name.startswith("xmlns:"):
                self._prefixes.setdefault(value, name[6:])
        if not self._stack:
            self._enter_root(token)
        name = self._core(token.value)
        parent = self._stack[-1] if self._stack else ""
        self._stack.append(name)
        inherited = self._inherited[-1]
        if name in ("file", "group", "body", "unit", "xliff"):
            inherited = self._inherit(name, inherited, attributes)
        self._inherited.append(inherited)
        if name == "file":
            self._files.append(attributes.get("id" if self.is_2 else "original", ""))
        elif name == "unit":
            self._unit_notes = []
            self._segments = []
            self._notes_place = NotesPlace(note=f'<{self._root}note category="{TOOL}" appliesTo="target">')
        elif name == "notes" and parent == "unit":
            self._notes_tag = token
        elif name == "originalData" and parent == "unit":
            self._place_notes(token)
        elif name in _OWNERS:
            self._owner = Owner(token, name, attributes, inherited, self._notes_place)
            if self.is_2:
                self._place_notes(token)
                self._owner.notes = self._unit_notes
                self._owner.contexts = [inherited["unit name"]] if inherited.get("unit name") else []
            elif attributes.get("resname"):
                self._owner.contexts.append(attributes["resname"])
        elif name in _TEXTS and parent in _OWNERS and self._owner is not None:
            if name == "source":
                self._owner.indent = self._white_space
            self._text = Content(token, start=token.end)
            self._text_depth = 1
        elif (name, parent) in _REMARKS:
            self._collected = []
        elif self._owner is not None and name == f"{self._prefixes.get(_SDL)}:seg" and "id" in attributes:
            self._owner.segment_definitions[attributes["id"]] = token
        self._white_space = ""

    def _place_notes(self, following: XmlToken) -> None:
        """The notes of an XLIFF 2 unit come before ``following``, unless it has some already."""
        place = self._notes_place
        if not place.before and not place.start:
            place.start = place.end = following.start
            place.before, place.after = f"<{self._root}notes>", f"</{self._root}notes>{self._white_space}"

    def _end_notes(self, closing: XmlToken) -> None:
        """The next note of an XLIFF 2 unit comes after those that it has."""
        place, opening = self._notes_place, self._notes_tag
        place.start = place.end = closing.start
        place.before = place.after = ""
        if opening is not None and closing.start == closing.end:
            tag, closing_tag = tag_pair(self._xml, opening)
            place.start, place.before, place.after = opening.start, tag, closing_tag
        self._notes_tag = None

    def notes_place_of(self, owner: Owner) -> NotesPlace:
        """Where a note on a unit is written."""
        if self.is_2:
            return owner.notes_place
        last = owner.texts.get("target") or owner.texts.get("seg-source") or owner.texts["source"]
        note = f'<{self._root}note from="{TOOL}">'
        return NotesPlace(last.after, last.after, owner.indent, "", note)

    def _enter_root(self, token: XmlToken) -> None:
        name = token.value.rpartition(":")[2]
        where = f"{self._xml.path}:{token.line}"
        if name != "xliff":
            raise InputError(f"{where}: the first element is <{token.value}>, not <xliff>; give an XLIFF file")
        self._root = token.value.removesuffix("xliff")
        self.its_prefix = self._prefixes.get(ITS)
        version = token.attributes.get("version", "")
        self.is_2 = version.startswith("2.") or token.attributes.get("xmlns", "").startswith(
            "urn:oasis:names:tc:xliff:document:2."
        )
        if not self.is_2 and version and not version.startswith("1."):
            raise InputError(f"{where}: XLIFF {version!r} is unknown; versions 1.0 to 2.2 are read")

    def _inherit(self, name: str, inherited: dict[str, str], attributes: dict[str, str]) -> dict[str, str]:
        """What the units in this element take from it."""
        own = dict(inherited)
        inherits = ("translate", "source-language", "target-language", "maxwidth", "size-unit")
        own |= {key: attributes[key] for key in inherits if key in attributes}
        if name == "xliff" and self.is_2:
            own["source-language"] = attributes.get("srcLang", "")
            own["target-language"] = attributes.get("trgLang", "")
        if name == "unit":
            own["unit id"] = attributes.get("id", "")
            own["unit name"] = attributes.get("name", "")
            own["unit size"] = attributes.get(f"{self._prefixes.get(_SIZES)}:sizeRestriction", "")
        return own

    def _leave(self, token: XmlToken) -> None:
        name = self._stack.pop()
        self._inherited.pop()
        self._plain_facts.clear()
        if name in ("note", "context") and self._collected is not None:
            text = "".join(self._collected).strip()
            in_unit = self._owner is not None or "unit" in self._stack
            if text and in_unit and name == "note":
                (self._owner.notes if self._owner is not None else self._unit_notes).append(text)
            elif text and self._owner is not None and name == "context":
                self._owner.contexts.append(text)
            self._collected = None
        elif name == "notes" and self._notes_tag is not None:
            self._end_notes(token)
        elif name in _OWNERS and self._owner is not None:
            if "source" in self._owner.texts:
                if not self._files:
                    raise InputError(f"{self._xml.path}:{token.line}: this unit is outside of <file>; put it into one")
                (self._segments if self.is_2 else self._unit).append(self._owner)
            self._owner = None
        elif name == "unit":
            self._unit = self._segments
        self._white_space = ""

    def _in_text(self, token: XmlToken) -> None:
        text, owner = self._text, self._owner
        assert text is not None
        assert owner is not None
        self._text_depth += (token.kind == "start") - (token.kind == "end")
        if self._text_depth:
            text.tokens.append(token)
            return
        text.end, text.after = token.start, token.end
        name = self._stack.pop()
        self._inherited.pop()
        if name in owner.texts:
            raise InputError(f"{self._xml.path}:{text.tag.line}: a second <{name}> in one unit; remove one of them")
        owner.texts[name] = text
        self._text = None

    def facts_of(
        self,
        attributes: Mapping[str, str],
        inherited: Mapping[str, str],
        target: Mapping[str, str],
        definition: Mapping[str, str] | None,
    ) -> Facts:
        """The facts of a unit with these attributes.

        ``target`` and ``definition`` are the attributes of its target and of Trados' definition of its segment.
        """
        locked = attributes.get("translate", inherited.get("translate")) == "no"
        approved = not self.is_2 and attributes.get("approved") == "yes"
        by_person = False
        lock = ""
        state = attributes.get("state") if self.is_2 else target.get("state")
        if self.is_2:
            pass
        elif definition is not None:
            state = definition.get("conf", state)
            by_person = definition.get("origin") == "interactive"
            lock = definition.get("locked", "")
        elif self._memoq is not None:
            state = attributes.get(f"{self._memoq}:status", state)
            by_person = (state or "").casefold() in _PEOPLE_IN_MEMOQ
            lock = attributes.get(f"{self._memoq}:locked", "")
        elif self._phrase is not None:
            confirmed = attributes.get(f"{self._phrase}:confirmed")
            if confirmed is not None:  # 1, 2 …: the step of the workflow
                by_person = confirmed not in _NO
                state = "confirmed" if by_person else "unconfirmed"
            lock = attributes.get(f"{self._phrase}:locked", "")
        return Facts(
            state,
            locked or lock not in _NO,
            approved,
            by_person,
            *self._length_of(attributes, inherited),
            inherited.get("source-language") or None,
            inherited.get("target-language") or None,
        )

    @property
    def _memoq(self) -> str | None:
        return self._prefixes.get(_MEMOQ)

    @property
    def _phrase(self) -> str | None:
        return self._prefixes.get(_PHRASE)

    def _length_of(self, attributes: Mapping[str, str], inherited: Mapping[str, str]) -> tuple[int | None, str | None]:
        """The most characters that a target may have, or else its limit in another unit, in words."""
        if self.is_2:
            size = inherited.get("unit size", "").rpartition(",")[2]
            return _limit(size), None
        if self._memoq is not None:
            characters = _limit(attributes.get(f"{self._memoq}:maxlengthchars", ""))
            if characters is not None:
                return characters, None
        width = _limit(attributes.get("maxwidth") or inherited.get("maxwidth", ""))
        size_unit = attributes.get("size-unit") or inherited.get("size-unit") or "pixel"
        if width is not None:
            return (width, None) if size_unit == "char" else (None, f"{width} {size_unit}")
        size_in_bytes = _limit(attributes.get("maxbytes", ""))
        return None, None if size_in_bytes is None else f"{size_in_bytes} bytes"


def _limit(written: str) -> int | None:
    """The number of an attribute; ``None`` for one that is no limit: 0, -1, another word or absurdly long."""
    written = written.strip()
    is_number = written.isascii() and written.isdigit() and len(written) < _MOST_DIGITS
    return (int(written) or None) if is_number else None


def unit_of(
    identity: str,
    facts: Facts,
    source: str,
    target: str | None,
    inline: Mapping[str, str],
    notes: Sequence[str],
    contexts: Sequence[str],
    line: int,
) -> TranslationUnit:
    """The unit with these facts and texts."""
    if target is not None and not target.strip() and source.strip():
        target = None  # white space is layout
    return TranslationUnit(
        identity,
        source,
        target,
        facts.state,
        facts.locked,
        facts.approved,
        facts.by_person,
        tuple(notes),
        "; ".join(contexts) or None,
        facts.max_length,
        facts.max_width,
        None,  # no plural form
        inline,
        facts.source_lang,
        facts.target_lang,
        line,
    )


def identified(path: Path, owners: list[Owner]) -> list[tuple[str, Owner]]:
    """The texts of one unit with their ids; a segment is called after its unit, if that has several."""
    segments = [owner for owner in owners if owner.name != "ignorable"]
    identified = []
    for number, owner in enumerate(segments, start=1):
        identity = owner.attributes.get("id") if owner.name == "trans-unit" else owner.inherited.get("unit id")
        if not identity:
            raise InputError(f"{path}:{owner.tag.line}: this unit has no id; targets are written by id: give it one")
        if len(segments) > 1:
            identity = f"{identity}/{owner.attributes.get('id') or f'[{number}]'}"
        identified.append((identity, owner))
    return identified


def segments_of(path: Path, text: Content) -> dict[str, Content]:
    """The segments of a text by their ``mid``, in order; they may lie within other tags."""
    segments: dict[str, Content] = {}
    current: Content | None = None
    depth = 0
    for token in text.tokens:
        is_segment = token.kind == "start" and token.attributes.get("mtype") == "seg" and "mid" in token.attributes
        if current is None:
            if is_segment:
                current, depth = Content(token, start=token.end), 1
            continue
        depth += (token.kind == "start") - (token.kind == "end")
        if depth:
            current.tokens.append(token)
            continue
        current.end, current.after = token.start, token.end
        mid = current.tag.attributes["mid"]
        if mid in segments:
            raise InputError(f"{path}:{current.tag.line}: a second segment {mid!r} in one text; give it its own mid")
        segments[mid] = current
        current = None
    return segments
