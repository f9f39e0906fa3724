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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError
from mtagent.formats.xml_spans import TokenKind, XmlFile, XmlToken

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
_NO = {"", "0", "no", "false"}
_TEXTS = {"source", "seg-source", "target"}
_REMARKS = {("note", "trans-unit"), ("note", "notes"), ("context", "context-group")}
_OWNERS = {"trans-unit", "segment", "ignorable"}


# Most units have one source, perhaps a target, notes and contexts, and no segments. A regular expression reads these
# much faster than expat's events. It matches less than XML allows: what it misses is read by expat.
_PLAIN_PARTS = {
    "«I»": r"(?:«C»++|«E»|<(?!/?(?:source|target|trans-unit|mrk)\b)(?:«N»«A»/?|/«N»)>)*+",
    "«T»": r"(?:«C»++|«E»)*+",
    "«C»": r"[^<&\x00-\x08\x0b\x0c\x0e-\x1f]",
    "«A»": r"(?:«S»+«N»«S»*=«S»*«V»)*+«S»*+",
    "«V»": r"""(?:"(?:[^"<&\x00-\x1f]++|«E»)*+"|'(?:[^'<&\x00-\x1f]++|«E»)*+')""",
    "«E»": r"&(?:amp|lt|gt|quot|apos);",
    "«N»": r"[A-Za-z_][A-Za-z0-9_.:-]*+",
    "«S»": r"[ \t\r\n]",
}


def _plain_pattern(pattern: str) -> bytes:
    for part, meaning in _PLAIN_PARTS.items():
        pattern = pattern.replace(part, meaning)
    return pattern.encode()


_PLAIN_UNIT = _plain_pattern(
    "<trans-unit(?P<unit>«A»)>(?P<indent>«S»*+)<source(?P<source_tag>«A»)>(?P<source>«I»)</source>«S»*+"
    "(?:<target(?P<target_tag>«A»)>(?P<target>«I»)</target>«S»*+)?+"
    "(?P<remarks>(?:<note«A»>«T»</note>«S»*+"
    "|<context-group«A»>«S»*+(?:<context«A»>«T»</context>«S»*+)*+</context-group>«S»*+)*+)</trans-unit>"
)
_PLAIN_OR_OPAQUE = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|" + _PLAIN_UNIT, re.DOTALL
)
_PLAIN_TAG = re.compile(_plain_pattern("<(/?)(«N»)(«A»)(/?)>"))
_PLAIN_REMARK = re.compile(_plain_pattern("<(note|context-group|context)(«A»)>([^<]*)").decode())
_PLAIN_ATTRIBUTE = re.compile(r"""([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_NON_CHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # which XML cannot hold, in UTF-8


class NotPlainError(Exception):
    """The plain units of a file are something else, or malformed; expat has to read them."""


class PlainUnit(NamedTuple):
    """A unit without segments. One with inline tags has its texts in its owner alone."""

    start: int
    line: int  # of its source
    attributes: dict[str, str]
    source: str
    target: str | None
    target_attributes: dict[str, str]
    notes: tuple[str, ...]
    contexts: tuple[str, ...]
    has_inline: bool


class PlainUnits(NamedTuple):
    """Plain units with nothing but white space between them."""

    matches: list[re.Match[bytes]]
    line: int  # of the first
    inherited: dict[str, str]


def _plain_runs(xml: XmlFile) -> list[list[re.Match[bytes]]]:
    """The plain units that follow one another, outside of comments and CDATA."""
    data = xml.data
    if xml.encoding.startswith(("utf-16", "utf_16", "utf-32", "utf_32")) or b"<!DOCTYPE" in data:
        return []
    if any(character in data for character in _NON_CHARACTERS):
        return []
    if data.count(b"\r") != data.count(b"\r\n"):  # expat counts them as lines
        return []
    runs: list[list[re.Match[bytes]]] = []
    end = 0
    for match in _PLAIN_OR_OPAQUE.finditer(data):
        if match["unit"] is None:
            continue
        if not runs or data[end : match.start()].strip(b" \t\r\n"):
            runs.append([])
        runs[-1].append(match)
        end = match.end()
    return runs


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


class StateFacts(NamedTuple):
    """Fields of a unit that its state decides."""

    state: str | None
    locked: bool
    approved: bool
    by_person: bool


class XliffReader:
    """Reads the tokens of an XLIFF file into the owners of its texts."""

    def __init__(self, xml: XmlFile) -> None:
        self._xml = xml
        self._has_section_ends = b"]]>" in xml.data
        self._prefixes: dict[str, str] = {}  # of namespaces
        self._has_dialect = False  # memoQ's or Phrase's, which keep states in attributes of their own
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
        """What the ids of each file begin with; nothing if there is only one file."""
        if len(self._files) <= 1:
            return [""]
        names_are_usable = all(self._files) and len(set(self._files)) == len(self._files)
        return [f"{name if names_are_usable else number}#" for number, name in enumerate(self._files, start=1)]

    def read(self, *, plain: bool) -> Iterator[tuple[int, list[Owner] | PlainUnits]]:
        """The owners with a source, unit by unit, each with the number of its file.

        With ``plain``, plain units come together, for :meth:`plain_units`. Raises :class:`NotPlainError`.
        """
        runs = _plain_runs(self._xml) if plain else []
        remaining = iter(runs)
        for token in self._xml.tokens([(run[0].start(), run[-1].end()) for run in runs]):
            if token.kind == "skipped":
                yield len(self._files) - 1, self._plain(token, next(remaining))
            elif self._text is not None:
                self._in_text(token)
            elif token.kind == "start":
                self._enter(token)
            elif token.kind == "end":
                self._leave(token)
                if self._unit:
                    yield len(self._files) - 1, self._unit
                    self._unit = []
            elif token.kind in ("text", "cdata"):
                if self._collected is not None:
                    self._collected.append(token.value)
                self._white_space = self._white_space + token.value if token.value.isspace() else ""

    def _plain(self, token: XmlToken, run: list[re.Match[bytes]]) -> PlainUnits:
        is_in_body = self._files and self._stack[-1] in ("body", "group") and self._owner is None
        if not is_in_body or self.is_2 or self.is_sdl or self._root:
            raise NotPlainError
        self._white_space = ""
        return PlainUnits(run, token.line, self._inherited[-1])

    def plain_units(self, run: PlainUnits) -> Iterator[PlainUnit]:
        """Read plain units. Raises :class:`NotPlainError` if one is malformed."""
        data, encoding = self._xml.data, self._xml.encoding
        attributes_of: dict[bytes, dict[str, str]] = {}  # most tags have the same
        line, position = run.line, run.matches[0].start()
        try:
            for match in run.matches:
                unit, _, source_tag, source, target_tag, target, remarks = match.groups()
                if b"xmlns" in unit or (self._has_section_ends and b"]]>" in match[0]):
                    raise NotPlainError
                for tag in (source_tag, target_tag):
                    if tag not in attributes_of:
                        attributes_of[tag] = _plain_attributes(tag, encoding)
                attributes = _plain_attributes(unit, encoding)
                if not attributes.get("id"):
                    raise NotPlainError
                source_start = match.start("source_tag")
                line += data.count(b"\n", position, source_start)
                position = source_start
                notes, contexts = _plain_remarks(remarks, encoding) if remarks else ((), ())
                if attributes.get("resname"):
                    contexts = (attributes["resname"], *contexts)
                yield PlainUnit(
                    match.start(),
                    line,
                    attributes,
                    _plain_text(source, encoding),
                    None if target is None else _plain_text(target, encoding),
                    attributes_of[target_tag],
                    notes,
                    contexts,
                    b"<" in source or (target is not None and b"<" in target),
                )
        except UnicodeDecodeError:
            raise NotPlainError from None

    def plain_owner(self, start: int) -> Owner:
        """What :meth:`read` without ``plain`` finds for the plain unit at this byte, apart from what it inherits."""
        match = _PLAIN_OR_OPAQUE.match(self._xml.data, start)
        assert match is not None
        owner = Owner(self._plain_tag(match, "trans-unit", "unit"), "trans-unit", {}, {})
        owner.indent = match["indent"].decode()
        for name in ("source", "target"):
            if match[name] is not None:
                content = Content(self._plain_tag(match, name, f"{name}_tag"), [], *match.span(name))
                content.tokens = self._plain_tokens(content.start, content.end)
                content.after = content.end + len(f"</{name}>")
                owner.texts[name] = content
        return owner

    def _plain_tokens(self, start: int, end: int) -> list[XmlToken]:
        """The tokens of a plain text. Raises :class:`NotPlainError` if its tags don't nest."""
        data, encoding = self._xml.data, self._xml.encoding
        tokens = []
        open_tags: list[str] = []
        for match in _PLAIN_TAG.finditer(data, start, end):
            if match.start() > start:
                tokens.append(
                    _plain_token("text", start, match.start(), _plain_text(data[start : match.start()], encoding))
                )
            start = match.end()
            closes, raw_name, attributes, is_empty = match.groups()
            name = raw_name.decode()
            if closes:
                if not open_tags or open_tags.pop() != name:
                    raise NotPlainError
                tokens.append(_plain_token("end", match.start(), start, name))
                continue
            tokens.append(_plain_token("start", match.start(), start, name, _plain_attributes(attributes, encoding)))
            if is_empty:
                tokens.append(_plain_token("end", start, start, name))
            else:
                open_tags.append(name)
        if open_tags:
            raise NotPlainError
        if end > start:
            tokens.append(_plain_token("text", start, end, _plain_text(data[start:end], encoding)))
        return tokens

    def _plain_tag(self, match: re.Match[bytes], name: str, attributes: str) -> XmlToken:
        start, end = match.span(attributes)
        return _plain_token("start", start - len(f"<{name}"), end + 1, name)

    def _core(self, name: str) -> str:
        """The name of an element of XLIFF itself without its prefix; other names stay as they are."""
        return name.removeprefix(self._root)

    def _enter(self, token: XmlToken) -> None:
        attributes = token.attributes
        for name, value in attributes.items():
            if name.startswith("xmlns:"):
                self._prefixes.setdefault(value, name[6:])
                self._has_dialect = self._has_dialect or value in (_MEMOQ, _PHRASE)
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
        definition: Mapping[str, str] | None = None,
    ) -> StateFacts:
        """The state of a unit in the words of its tool, and why it must not be changed.

        ``target`` and ``definition`` are the attributes of its target and of Trados' definition of its segment.
        """
        locked = attributes.get("translate", inherited.get("translate")) == "no"
        if self.is_2:
            return StateFacts(attributes.get("state"), locked, False, False)
        state = target.get("state")
        approved = attributes.get("approved") == "yes"
        by_person = False
        lock = ""
        if definition is None and not self._has_dialect:
            return StateFacts(state, locked, approved, False)
        if definition is not None:
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
        return StateFacts(state, locked or lock not in _NO, approved, by_person)

    @property
    def _memoq(self) -> str | None:
        return self._prefixes.get(_MEMOQ)

    @property
    def _phrase(self) -> str | None:
        return self._prefixes.get(_PHRASE)

    def length_of(self, attributes: Mapping[str, str], inherited: Mapping[str, str]) -> tuple[int | None, str | None]:
        """The most characters that a target may have, or else its limit in another unit, in words."""
        if self.is_2:
            size = inherited.get("unit size", "").rpartition(",")[2]
            return (int(size), None) if size.isascii() and size.isdigit() else (None, None)
        if self._has_dialect and self._memoq is not None:
            size = attributes.get(f"{self._memoq}:maxlengthchars", "")  # -1: no limit
            if size.isascii() and size.isdigit():
                return int(size), None
        width = (attributes.get("maxwidth") or inherited.get("maxwidth") or "").strip()
        if not (width.isascii() and width.isdigit()):
            return None, None
        size_unit = attributes.get("size-unit") or inherited.get("size-unit") or "pixel"
        return (int(width), None) if size_unit == "char" else (None, f"{width} {size_unit}")


def _plain_token(
    kind: TokenKind, start: int, end: int, value: str, attributes: dict[str, str] | None = None
) -> XmlToken:
    token = XmlToken(kind, start, 0, value, attributes or {})
    token.end = end
    return token


def _plain_attributes(raw: bytes | None, encoding: str) -> dict[str, str]:
    if not raw:
        return {}
    pairs = _PLAIN_ATTRIBUTE.findall(raw.decode(encoding))
    attributes = {name: double or single for name, double, single in pairs}
    if len(attributes) != len(pairs):
        raise NotPlainError
    if b"&" in raw:
        attributes = {name: _unescaped(value) for name, value in attributes.items()}
    return attributes


def _plain_text(raw: bytes, encoding: str) -> str:
    text = _with_line_feeds(raw.decode(encoding))
    return _unescaped(text) if "&" in text else text


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unescaped(text: str) -> str:
    for name, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(name, character)
    return text


def _plain_remarks(raw: bytes, encoding: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The notes and the contexts of a plain unit."""
    notes: list[str] = []
    contexts: list[str] = []
    for name, attributes, content in _PLAIN_REMARK.findall(_with_line_feeds(raw.decode(encoding))):
        if attributes:
            _plain_attributes(attributes.encode(encoding), encoding)
        text = (_unescaped(content) if "&" in content else content).strip()
        if text and name != "context-group":
            (notes if name == "note" else contexts).append(text)
    return tuple(notes), tuple(contexts)


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


def tag_pair(xml: XmlFile, tag: XmlToken) -> tuple[str, str]:
    """The opening and the closing tag of an element, also of an empty one."""
    raw = xml.raw(tag.start, tag.end)
    if raw.endswith("/>"):
        raw = raw[:-2].rstrip() + ">"
    return raw, f"</{tag.value}>"


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
