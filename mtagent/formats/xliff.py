"""XLIFF 1.0 to 1.2 and 2.0 to 2.2, with the dialects of Trados (SDLXLIFF), memoQ and Phrase.

==========  ==========================================  =====================================================
file        ``state``                                   ``locked``
==========  ==========================================  =====================================================
1.x         ``target state``                            ``translate="no"``, ``approved="yes"``, state ``final``
                                                        or ``signed-off``
2.x         ``segment state``                           ``translate="no"``, state ``final``
SDLXLIFF    ``sdl:seg conf``                            ``locked="true"``, ``conf="Approved…"``
memoQ       ``mq:status``                               ``mq:locked``, reviewed or proofread
Phrase      ``m:confirmed``                             ``m:locked="true"``
==========  ==========================================  =====================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError
from mtagent.formats.documents import PLACEHOLDER, ByteEdit, TranslationUnit, content_of, refuse_repeated_ids
from mtagent.formats.xml_spans import INVALID, XmlFile, XmlToken

_SDL = "http://sdl.com/FileTypes/SdlXliff/1.0"
_MEMOQ = "MQXliff"
_PHRASE = "http://www.memsource.com/mxlf/2.0"
_SIZES = "urn:oasis:names:tc:xliff:sizerestriction:2.0"

_EMPTY_CODES = {"x", "ph", "it", "cp"}
_OPENING = {"bpt": "bpt", "bx": "bx", "sc": "sc", "sm": "sm"}
_CLOSING = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}
_FINAL = {"final", "signed-off"}
_REVIEWED_IN_MEMOQ = {"reviewer1confirmed", "reviewer2confirmed", "proofread"}
_TEXTS = {"source", "seg-source", "target"}
_REMARKS = {("note", "trans-unit"), ("note", "notes"), ("context", "context-group")}
_OWNERS = {"trans-unit", "segment", "ignorable"}


class InlineCode(NamedTuple):
    """An inline tag in a text. Both tags of a pair have the same ``key``."""

    key: tuple[str, str, int]  # element, id, and how many tags with both came before it
    role: str  # open, close or empty
    markup: str


@dataclass
class _Content:
    """A source, a target, or a segment of one: its tokens, and the places of its tag and of what is in it."""

    tag: XmlToken
    tokens: list[XmlToken] = field(default_factory=list)
    start: int = 0
    end: int = 0
    after: int = 0  # where the closing tag ends

    @property
    def is_empty_tag(self) -> bool:
        return self.end == self.after


class _Place(NamedTuple):
    """Where a target is written: between ``before`` and ``after``, as CDATA if its file has it so."""

    start: int
    end: int
    before: str = ""
    after: str = ""
    cdata: bool = False


class _Skeleton(NamedTuple):
    """A target to make of a segmented source, because the file's has no segments, or lacks some of them."""

    place: _Place
    source: _Content
    target: _Content | None  # with the segments to keep
    segments: dict[str, int]  # the numbers of the units, by ``mid``


@dataclass
class _Owner:
    """A trans-unit, or a segment of a unit: what is known of it while it is read."""

    line: int
    name: str
    attributes: dict[str, str]
    inherited: dict[str, str]
    texts: dict[str, _Content] = field(default_factory=dict)
    segment_definitions: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    indent: str = ""  # white space before the source


class XliffFile:
    """An XLIFF file that has been read."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.units: list[TranslationUnit] = []
        self._xml = XmlFile(path, data)
        self._places: list[_Place | None] = []  # of each unit
        self._skeletons: list[_Skeleton] = []
        self._unplaced: list[int] = []  # numbers of the units whose segment cannot be added to its target
        reader = _XliffReader(self._xml)
        files: list[int] = []  # of each unit
        for file_number, owners in reader.read():
            for identity, owner in _identified(path, owners):
                self._add(identity, owner, reader)
            files += [file_number] * (len(self.units) - len(files))
        prefixes = reader.file_prefixes()
        if len(prefixes) > 1:
            self.units = [
                replace(unit, id=prefixes[file] + unit.id) for unit, file in zip(self.units, files, strict=True)
            ]
        refuse_repeated_ids(path, self.units)
        self._without_place = {self.units[number].id for number in self._unplaced}

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        if unit.id in self._without_place:
            return (
                f"has no place: in the unit at {self.path}:{unit.line}, the target lacks this segment and differs from "
                "the seg-source in its other segments, tags or text; put an empty <mrk> with its mid into that target"
            )
        invalid = INVALID.search(target)
        if invalid:
            return f"has the character U+{ord(invalid[0]):04X}, which XML cannot hold; take it out"
        return None

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets."""
        edits = []
        rebuilt: set[int] = set()
        for skeleton in self._skeletons:
            numbers = skeleton.segments.values()
            if any(self._places[number] is None and self.units[number].id in targets for number in numbers):
                edits.append(self._filled(skeleton, targets))
                rebuilt.update(numbers)
        for number, (unit, place) in enumerate(zip(self.units, self._places, strict=True)):
            if unit.id in targets and place is not None and number not in rebuilt:
                markup = place.before + self._markup(unit, targets[unit.id], place.cdata) + place.after
                edits.append(ByteEdit(place.start, place.end, self._xml.encoded(markup)))
        return edits

    def _markup(self, unit: TranslationUnit, target: str, cdata: bool = False) -> str:
        section = self._xml.cdata(target) if cdata and not unit.inline else None
        if section is not None:
            return section
        pieces = []
        position = 0
        for match in PLACEHOLDER.finditer(target):
            if match[0] in unit.inline:
                pieces += [self._xml.escaped(target[position : match.start()]), unit.inline[match[0]]]
                position = match.end()
        return "".join([*pieces, self._xml.escaped(target[position:])])

    def _filled(self, skeleton: _Skeleton, targets: Mapping[str, str]) -> ByteEdit:
        """The whole target of a segmented source. Segments that have no text in the file or in ``targets`` are empty.

        Segments of the file's target stay as they are, and so does the white space between two that stay neighbours.
        """
        in_source = _segments(self.path, skeleton.source)
        in_target = _segments(self.path, skeleton.target) if skeleton.target else {}
        kept_gaps = _gaps(self._xml, skeleton.target, in_target) if skeleton.target else {}
        pieces = [skeleton.place.before]
        for neighbours, gap in _gaps(self._xml, skeleton.source, in_source).items():
            kept_gap = kept_gaps.get(neighbours)
            if kept_gap is not None and "".join(kept_gap.split()) == "".join(gap.split()):
                gap = kept_gap
            pieces.append(gap)
            mid = neighbours[1]
            if mid is None:
                break
            unit = self.units[skeleton.segments[mid]]
            segment = in_target.get(mid)
            if segment is not None and unit.id not in targets:
                pieces.append(self._xml.raw(segment.tag.start, segment.after))
            else:
                opening, closing = _tag_pair(self._xml, (segment or in_source[mid]).tag)
                pieces += [opening, self._markup(unit, targets.get(unit.id, "")), closing]
        pieces.append(skeleton.place.after)
        return ByteEdit(skeleton.place.start, skeleton.place.end, self._xml.encoded("".join(pieces)))

    def _add(self, identity: str, owner: _Owner, reader: _XliffReader) -> None:
        """Add the unit of ``owner``, or one for each of its segments."""
        source, target = owner.texts["source"], owner.texts.get("target")
        segmented = owner.texts.get("seg-source")
        segments = _segments(self.path, segmented) if segmented else {}
        in_target = _segments(self.path, target) if target else {}
        if not segments and reader.is_sdl and (segmented or owner.attributes.get("translate") == "no"):
            return  # Trados keeps the layout between its segments in such units
        if segmented is None or not segments or (target and _has_text(target) and not in_target):
            self._add_unit(identity, owner, source, target, reader, self._whole_place(owner, source, target))
            return
        numbers = {}
        for mid, segment in segments.items():
            place = self._segment_place(in_target[mid]) if mid in in_target else None
            own = replace(owner, attributes=owner.attributes | reader.segment_facts(owner, mid))
            numbers[mid] = len(self.units)
            self._add_unit(f"{identity}/{mid}", own, segment, in_target.get(mid), reader, place)
        if not in_target:
            place = self._whole_place(owner, segmented, target)._replace(cdata=False)
            self._skeletons.append(_Skeleton(place, segmented, None, numbers))
            return
        missing = [numbers[mid] for mid in segments if mid not in in_target]
        if not missing or target is None:
            return
        if _follows(self._xml, target, in_target, segmented, segments):
            self._skeletons.append(_Skeleton(_Place(target.start, target.end), segmented, target, numbers))
        else:
            self._unplaced += missing

    def _add_unit(
        self,
        identity: str,
        owner: _Owner,
        source: _Content,
        target: _Content | None,
        reader: _XliffReader,
        place: _Place | None,
    ) -> None:
        pieces = [_pieces(self._xml, source), _pieces(self._xml, target) if target else []]
        source_text, target_text, inline = numbered(pieces)
        self._places.append(place)
        state, locked = reader.state_of(owner)
        max_length, max_width = reader.length_of(owner)
        languages = owner.inherited
        self.units.append(
            TranslationUnit(
                id=identity,
                source=source_text,
                target=None if target is None else target_text,
                state=state,
                locked=locked,
                notes=tuple(owner.notes),
                context="; ".join(owner.contexts) or None,
                max_length=max_length,
                max_width=max_width,
                inline=inline,
                source_lang=languages.get("source-language") or None,
                target_lang=languages.get("target-language") or None,
                line=source.tag.line,
            )
        )

    def _whole_place(self, owner: _Owner, source: _Content, target: _Content | None) -> _Place:
        if target is not None:
            if target.is_empty_tag:
                opening, closing = _tag_pair(self._xml, target.tag)
                return _Place(target.tag.start, target.after, opening, closing, _is_cdata(source))
            return _Place(
                target.start, target.end, cdata=_is_cdata(target) or (not _has_text(target) and _is_cdata(source))
            )
        name = source.tag.value.replace("seg-source", "target").replace("source", "target")
        last = owner.texts.get("seg-source") or owner.texts["source"]
        return _Place(last.after, last.after, f"{owner.indent}<{name}>", f"</{name}>", _is_cdata(source))

    def _segment_place(self, segment: _Content) -> _Place:
        if segment.is_empty_tag:
            opening, closing = _tag_pair(self._xml, segment.tag)
            return _Place(segment.tag.start, segment.after, opening, closing)
        return _Place(segment.start, segment.end)


def _identified(path: Path, owners: list[_Owner]) -> list[tuple[str, _Owner]]:
    """The texts of one unit with their ids; a segment is called after its unit, if that has several."""
    segments = [owner for owner in owners if owner.name != "ignorable"]
    identified = []
    for number, owner in enumerate(segments, start=1):
        identity = owner.attributes.get("id") if owner.name == "trans-unit" else owner.inherited.get("unit id")
        if not identity:
            raise InputError(f"{path}:{owner.line}: this unit has no id; targets are written by id: give it one")
        if len(segments) > 1:
            identity = f"{identity}/{owner.attributes.get('id') or f'[{number}]'}"
        identified.append((identity, owner))
    return identified


class _XliffReader:
    """Reads the tokens of an XLIFF file into the owners of its texts."""

    def __init__(self, xml: XmlFile) -> None:
        self._xml = xml
        self._prefixes: dict[str, str] = {}  # of namespaces
        self._files: list[str] = []
        self._root = ""
        self._stack: list[str] = []
        self._inherited: list[dict[str, str]] = [{}]
        self._owner: _Owner | None = None
        self._unit_notes: list[str] = []
        self._segments: list[_Owner] = []  # of the open unit
        self._unit: list[_Owner] = []  # that has just ended
        self._text: _Content | None = None
        self._text_depth = 0
        self._collected: list[str] | None = None
        self._white_space = ""
        self.is_2 = False

    @property
    def is_sdl(self) -> bool:
        """Whether Trados wrote the file."""
        return _SDL in self._prefixes

    def file_prefixes(self) -> list[str]:
        """What the ids of each file begin with; nothing if there is only one file."""
        if len(self._files) <= 1:
            return [""]
        names_are_usable = all(self._files) and len(set(self._files)) == len(self._files)
        return [f"{name if names_are_usable else number}#" for number, name in enumerate(self._files, start=1)]

    def read(self) -> Iterator[tuple[int, list[_Owner]]]:
        """The owners with a source, unit by unit, each with the number of its file."""
        for token in self._xml.tokens():
            if self._text is not None:
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

    def _core(self, name: str) -> str:
        """The name of an element of XLIFF itself without its prefix; other names stay as they are."""
        return name.removeprefix(self._root)

    def _enter(self, token: XmlToken) -> None:
        attributes = token.attributes
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
        elif name in _OWNERS:
            self._owner = _Owner(token.line, name, attributes, inherited)
            if self.is_2:
                self._owner.notes = self._unit_notes
                self._owner.contexts = [inherited["unit name"]] if inherited.get("unit name") else []
            elif attributes.get("resname"):
                self._owner.contexts.append(attributes["resname"])
        elif name in _TEXTS and parent in _OWNERS and self._owner is not None:
            if name == "source":
                self._owner.indent = self._white_space
            self._text = _Content(token, start=token.end)
            self._text_depth = 1
        elif (name, parent) in _REMARKS:
            self._collected = []
        elif self._owner is not None and name == f"{self._prefixes.get(_SDL)}:seg" and "id" in attributes:
            self._owner.segment_definitions[attributes["id"]] = attributes
        self._white_space = ""

    def _enter_root(self, token: XmlToken) -> None:
        name = token.value.rpartition(":")[2]
        where = f"{self._xml.path}:{token.line}"
        if name != "xliff":
            raise InputError(f"{where}: the first element is <{token.value}>, not <xliff>; give an XLIFF file")
        self._root = token.value.removesuffix("xliff")
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
        elif name in _OWNERS and self._owner is not None:
            if "source" in self._owner.texts:
                if not self._files:
                    raise InputError(f"{self._xml.path}:{token.line}: this unit is in no <file>; put it into one")
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

    def segment_facts(self, owner: _Owner, mid: str) -> dict[str, str]:
        """What Trados knows of a segment, as attributes of its own."""
        definition = owner.segment_definitions.get(mid, {})
        return {f"sdl {name}": value for name, value in definition.items()}

    def state_of(self, owner: _Owner) -> tuple[str | None, bool]:
        """The state of a unit in the words of its tool, and whether it must not be changed."""
        attributes = owner.attributes
        locked = attributes.get("translate", owner.inherited.get("translate")) == "no"
        if self.is_2:
            state = attributes.get("state")
            return state, locked or state in _FINAL
        target = owner.texts.get("target")
        state = target.tag.attributes.get("state") if target else None
        locked = locked or attributes.get("approved") == "yes" or state in _FINAL
        memoq, phrase = self._prefixes.get(_MEMOQ), self._prefixes.get(_PHRASE)
        if self.is_sdl:
            state = attributes.get("sdl conf", state)
            locked = locked or attributes.get("sdl locked") == "true" or (state or "").startswith("Approved")
        elif memoq is not None:
            state = attributes.get(f"{memoq}:status", state)
            locked = locked or attributes.get(f"{memoq}:locked", "false") not in ("", "no", "false", "0")
            locked = locked or (state or "").casefold() in _REVIEWED_IN_MEMOQ
        elif phrase is not None:
            confirmed = attributes.get(f"{phrase}:confirmed")
            if confirmed is not None:
                state = "unconfirmed" if confirmed == "0" else "confirmed"  # 1, 2 …: the step of the workflow
            locked = locked or attributes.get(f"{phrase}:locked") == "true"
        return state, locked

    def length_of(self, owner: _Owner) -> tuple[int | None, str | None]:
        """The most characters that a target may have, or else its limit in another unit, in words."""
        if self.is_2:
            size = owner.inherited.get("unit size", "").rpartition(",")[2]
            return (int(size), None) if size.isascii() and size.isdigit() else (None, None)
        facts = owner.inherited | owner.attributes
        width = facts.get("maxwidth", "").strip()
        if not (width.isascii() and width.isdigit()):
            return None, None
        size_unit = facts.get("size-unit", "pixel")
        return (int(width), None) if size_unit == "char" else (None, f"{width} {size_unit}")


def _tag_pair(xml: XmlFile, tag: XmlToken) -> tuple[str, str]:
    """The opening and the closing tag of an element, also of an empty one."""
    raw = xml.raw(tag.start, tag.end)
    if raw.endswith("/>"):
        raw = raw[:-2].rstrip() + ">"
    return raw, f"</{tag.value}>"


def _has_text(text: _Content) -> bool:
    return any(token.value.strip() for token in text.tokens if token.kind in ("text", "cdata"))


def _is_cdata(text: _Content) -> bool:
    """Whether all of a text is one CDATA section."""
    markers = [token for token in text.tokens if token.kind == "cdata" and not token.value]
    return len(markers) == 2 and all(token.kind == "cdata" for token in text.tokens)


def _segments(path: Path, text: _Content) -> dict[str, _Content]:
    """The segments of a text by their ``mid``, in order; they may lie within other tags."""
    segments: dict[str, _Content] = {}
    current: _Content | None = None
    depth = 0
    for token in text.tokens:
        is_segment = token.kind == "start" and token.attributes.get("mtype") == "seg" and "mid" in token.attributes
        if current is None:
            if is_segment:
                current, depth = _Content(token, start=token.end), 1
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


def _gaps(xml: XmlFile, text: _Content, segments: Mapping[str, _Content]) -> dict[tuple[str | None, str | None], str]:
    """The characters between the segments of a text, by the ``mid`` before and after them; ``None`` at its ends."""
    gaps: dict[tuple[str | None, str | None], str] = {}
    before: str | None = None
    position = text.start
    for mid, segment in segments.items():
        gaps[before, mid] = xml.raw(position, segment.tag.start)
        before, position = mid, segment.after
    gaps[before, None] = xml.raw(position, text.end)
    return gaps


def _follows(
    xml: XmlFile,
    target: _Content,
    in_target: Mapping[str, _Content],
    source: _Content,
    in_source: Mapping[str, _Content],
) -> bool:
    """Whether all that a target has, apart from white space, is in its source too, in the same order."""
    outline = iter(_outline(xml, source, in_source))
    return all(piece in outline for piece in _outline(xml, target, in_target))


def _outline(xml: XmlFile, text: _Content, segments: Mapping[str, _Content]) -> list[tuple[str, str]]:
    """The segments of a text by their ``mid``, and the markup of what else it has, without white space."""
    mids = {segment.tag.start: mid for mid, segment in segments.items()}
    outline = []
    position = 0  # after the last segment
    for token in text.tokens:
        if token.kind == "start" and token.start in mids:
            mid = mids[token.start]
            outline.append(("segment", mid))
            position = segments[mid].after
        elif token.start >= position:
            markup = xml.raw(token.start, token.end).strip()
            if markup:
                outline.append(("markup", markup))
    return outline


def _pieces(xml: XmlFile, text: _Content) -> list[str | InlineCode]:
    """A text as characters and inline tags."""
    pieces: list[str | InlineCode] = []
    seen: Counter[tuple[str, str]] = Counter()
    closed: Counter[tuple[str, str]] = Counter()
    open_elements: list[InlineCode] = []
    tokens = iter(text.tokens)
    for token in tokens:
        if token.kind in ("text", "cdata"):
            pieces.append(token.value)
        elif token.kind == "end":
            opening = open_elements.pop()
            pieces.append(InlineCode(opening.key, "close", f"</{token.value}>"))
        elif token.kind == "start":
            name = token.value.rpartition(":")[2]
            attributes = token.attributes
            is_code = name in _EMPTY_CODES or name in _OPENING or name in _CLOSING
            if is_code or attributes.get("mtype") == "protected" or attributes.get("translate") == "no":
                family = _OPENING.get(name) or _CLOSING.get(name) or name
                reference = attributes.get("rid") or attributes.get("startRef") or attributes.get("id", "")
                count = closed if name in _CLOSING else seen
                key = (family, reference, count[family, reference])
                count[family, reference] += 1
                role = "empty"
                if name in _OPENING:
                    role = "open"
                elif name in _CLOSING:
                    role = "close"
                pieces.append(InlineCode(key, role, xml.raw(token.start, _end_of_element(token, tokens))))
                continue
            reference = attributes.get("id") or attributes.get("mid", "")
            opening = InlineCode((name, reference, seen[name, reference]), "open", _tag_pair(xml, token)[0])
            seen[name, reference] += 1
            open_elements.append(opening)
            pieces.append(opening)
    return pieces


def _end_of_element(start: XmlToken, tokens: Iterator[XmlToken]) -> int:
    """Skip the rest of the element that ``start`` begins, and return where it ends."""
    depth = 1
    for token in tokens:
        depth += (token.kind == "start") - (token.kind == "end")
        if depth == 0:
            return token.end
    raise AssertionError(f"<{start.value}> has no end, which expat refuses")


def numbered(texts: Sequence[Sequence[str | InlineCode]]) -> tuple[str, str, dict[str, str]]:
    """Source and target with placeholders for their inline tags, and the markup of each placeholder.

    The same tag has the same number in both. Its markup is the target's, where the target has it.
    """
    plain = "".join(piece for pieces in texts for piece in pieces if isinstance(piece, str))
    number = max((int(match["number"]) for match in PLACEHOLDER.finditer(plain)), default=0)
    numbers: dict[tuple[str, str, int], int] = {}
    paired: set[tuple[str, str, int]] = set()
    for pieces in texts:
        still_open: set[tuple[str, str, int]] = set()
        for piece in pieces:
            if isinstance(piece, str):
                continue
            if piece.key not in numbers:
                number += 1
                numbers[piece.key] = number
            if piece.role == "open":
                still_open.add(piece.key)
            elif piece.role == "close" and piece.key in still_open:
                paired.add(piece.key)
    inline: dict[str, str] = {}
    written = []
    for pieces in texts:
        characters = []
        for piece in pieces:
            if isinstance(piece, InlineCode):
                placeholder = _placeholder(numbers[piece.key], piece, paired)
                inline[placeholder] = piece.markup
                characters.append(placeholder)
            else:
                characters.append(piece)
        written.append("".join(characters))
    return written[0], written[1], inline


def _placeholder(number: int, code: InlineCode, paired: set[tuple[str, str, int]]) -> str:
    if code.key not in paired or code.role == "empty":
        return f"<{number}/>"
    return f"<{number}>" if code.role == "open" else f"</{number}>"


class Xliff:
    """XLIFF in all its versions and dialects."""

    name = "xliff"
    suffixes: tuple[str, ...] = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")

    def open(self, path: Path) -> XliffFile:
        """Read a file. Raises :class:`InputError`, beginning with ``file:line``."""
        return XliffFile(path, content_of(path))


XLIFF = Xliff()
