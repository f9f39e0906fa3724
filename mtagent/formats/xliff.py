"""XLIFF 1.0 to 1.2 and 2.0 to 2.2, with the dialects of Trados (SDLXLIFF), memoQ and Phrase: units and writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.formats.documents import (
    NO_MARKS,
    STATES,
    ByteEdit,
    MarkKind,
    TranslationUnit,
    UnitMark,
    content_of,
    own_state,
    refuse_repeated_ids,
    refuse_source,
    with_markup,
)
from mtagent.formats.inline import numbered, pieces_of
from mtagent.formats.xliff_reader import (
    ITS,
    TOOL,
    Content,
    NotesPlace,
    Owner,
    XliffReader,
    identified,
    segments_of,
    unit_of,
)
from mtagent.formats.xml_spans import INVALID, XmlFile, XmlToken, character_fault, tag_pair, with_attributes
from mtagent.records import ErrorSpan

_MARK_KINDS: dict[str, tuple[MarkKind, ...]] = {
    "XLIFF 1.x": ("state", "comment", "its"),
    "XLIFF 2.x": ("state", "comment"),
}
_SUB_STATE = regex.compile(r"[^\s:]+:\S+")
_ITS_SEVERITY = {"neutral": 0, "minor": 33, "major": 67, "critical": 100}
_ITS_TYPES = {
    "terminology",
    "mistranslation",
    "omission",
    "untranslated",
    "addition",
    "duplication",
    "inconsistency",
    "grammar",
    "legal",
    "register",
    "locale-specific-content",
    "locale-violation",
    "style",
    "characters",
    "misspelling",
    "typographical",
    "formatting",
    "inconsistent-entities",
    "numbers",
    "markup",
    "pattern-problem",
    "whitespace",
    "internationalization",
    "length",
    "non-conformance",
    "uncategorized",
    "other",
}
_ITS_NAMES = {
    "spelling": "misspelling",
    "punctuation": "typographical",
    "accuracy": "mistranslation",
    "untranslated-text": "untranslated",
    "source-language-fragment": "untranslated",
    "number": "numbers",
    "locale-convention": "locale-violation",
    "locale": "locale-violation",
    "non-translation": "non-conformance",
}


class _Place(NamedTuple):
    """Where a target is written, as CDATA if its file has it so. It gets the ``tag`` if the file has none to keep."""

    start: int
    end: int
    lead: str = ""  # before the tag
    tag: str = ""
    closing: str = ""
    cdata: bool = False


class _Skeleton(NamedTuple):
    """A target to make of a segmented source, because the file's has no segments, or lacks some of them."""

    place: _Place
    source: Content
    target: Content | None  # with the segments to keep
    segments: dict[str, int]  # the numbers of the units, by ``mid``


class _Tags(NamedTuple):
    """The tags that hold a unit's marks; ``None`` for one that is written with the target."""

    unit: XmlToken
    target: XmlToken | None  # of the whole target
    text: XmlToken | None  # of the unit's own text: of its segment, or else the target
    definition: XmlToken | None  # Trados keeps the state here
    notes: NotesPlace


class _Slot(NamedTuple):
    """Where a unit's target and marks are written; the place is ``None`` if the target has to be made anew."""

    place: _Place | None
    tags: _Tags


@dataclass
class _Marking:
    """The attributes that the marks of a unit change in its tags, and the notes that they add."""

    target: dict[str, str | None] = field(default_factory=dict)
    text: dict[str, str | None] = field(default_factory=dict)
    unit: dict[str, str | None] = field(default_factory=dict)
    definition: dict[str, str | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


_UNMARKED = _Marking()


class XliffFile:
    """An XLIFF file that has been read."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.units: list[TranslationUnit] = []
        self._xml = XmlFile(path, data)
        self._slots: list[_Slot | int] = []  # of each unit; where it begins, if it is plain
        self._skeletons: list[_Skeleton] = []
        self._unplaced: list[int] = []  # numbers of the units whose segment cannot be added to its target
        self._xml.check()
        self._reader = self._read()
        self._numbers = {unit.id: number for number, unit in enumerate(self.units)}
        if len(self._numbers) < len(self.units):
            refuse_repeated_ids(path, self.units)
        self._without_place = {self.units[number].id for number in self._unplaced}
        self.dialect = self._reader.dialect
        self.mark_kinds: tuple[MarkKind, ...] = _MARK_KINDS.get(self.dialect, ("state",))

    def _read(self) -> XliffReader:
        reader = XliffReader(self._xml)
        first_units: list[int] = []  # the numbers of the units with which the files begin
        for found in reader.read():
            while len(first_units) < reader.file_count:
                first_units.append(len(self.units))
            if isinstance(found, list):
                for identity, owner in identified(self.path, found):
                    self._add(identity, owner, reader)
            else:
                unit, start = found
                self.units.append(unit)
                self._slots.append(start)
        prefixes = reader.file_prefixes()
        if len(prefixes) > 1:
            first_units.append(len(self.units))
            for prefix, (first, after) in zip(prefixes, pairwise(first_units), strict=False):
                for number in range(first, after):
                    unit = self.units[number]
                    self.units[number] = unit._replace(id=prefix + unit.id)
        return reader

    def _slot(self, number: int) -> _Slot:
        """Where the unit with this number is written."""
        slot = self._slots[number]
        if not isinstance(slot, int):
            return slot
        owner = self._reader.owner_at(slot)
        source, target = owner.texts["source"], owner.texts.get("target")
        tags = _Tags(owner.tag, _kept_tag(target), _kept_tag(target), None, self._reader.notes_place_of(owner))
        return _Slot(self._whole_place(owner, source, target), tags)

    def _place(self, number: int) -> _Place | None:
        """Where the target of the unit with this number is written."""
        slot = self._slots[number]
        span = self._reader.target_at(slot) if isinstance(slot, int) else None
        return self._slot(number).place if span is None else _Place(*span)

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        if unit.id in self._without_place:
            return (
                f"has no place: in the unit at {self.path}:{unit.line}, the target lacks this segment and differs from "
                "the seg-source in its other segments, tags or text; put an empty <mrk> with its mid into that target"
            )
        return character_fault(target)

    def mark_fault(self, unit: TranslationUnit, mark: UnitMark) -> str | None:
        """Why the file cannot hold this mark."""
        if mark.kind == "state":
            number = self._numbers[unit.id]
            if self.dialect == "SDLXLIFF" and self._slot(number).tags.definition is None:
                return "this text has no sdl:seg, where Trados keeps the state; leave it out, or mark it otherwise"
            if self._state(mark.text) is None:
                states = ", ".join(STATES[self.dialect])
                return f"{self.dialect} has no state for {mark.text!r}; it has {states}"
        problem = character_fault(mark.text)
        return f"the mark {problem}" if problem else None

    def _state(self, word: str) -> str | None:
        """The state of this dialect that ``word`` names; also a state of the user's own, where the dialect has them."""
        if self.dialect == "XLIFF 1.x" and word.startswith("x-"):
            return word
        if self.dialect == "XLIFF 2.x" and _SUB_STATE.fullmatch(word):
            return word
        return own_state(self.dialect, word)

    def edits(self, targets: Mapping[str, str], marks: Mapping[str, Sequence[UnitMark]] = NO_MARKS) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets and marks."""
        edits = []
        markings = {self._numbers[unit_id]: self._marking(unit_id, marks[unit_id]) for unit_id in marks}
        rebuilt: set[int] = set()
        for skeleton in self._skeletons:
            numbers = skeleton.segments.values()
            if any(self._slot(number).place is None and self.units[number].id in targets for number in numbers):
                edits.append(self._filled(skeleton, targets, markings))
                rebuilt.update(numbers)
        for unit_id, target in targets.items():
            number = self._numbers[unit_id]
            place = self._place(number)
            if place is None or number in rebuilt:
                continue
            tag = place.tag
            tags = self._slot(number).tags if tag else None
            if tags is not None and tags.text is None:
                marking = markings.get(number, _UNMARKED)
                tag = with_attributes(tag, marking.text if tags.target else marking.target | marking.text)
            text = self._markup(self.units[number], target, place.cdata)
            edits.append(ByteEdit(place.start, place.end, self._xml.encoded(f"{place.lead}{tag}{text}{place.closing}")))
        return edits + self._mark_edits(markings, rebuilt)

    def _marking(self, unit_id: str, marks: Sequence[UnitMark]) -> _Marking:
        """What these marks of a unit change."""
        unit = self.units[self._numbers[unit_id]]
        marking = _Marking()
        for mark in marks:
            if mark.kind == "its":
                marking.text.update(_its_attributes(mark, self._reader.its_prefix))
            elif mark.kind == "comment" and mark.text not in unit.notes:
                marking.notes.append(mark.text)
            elif mark.kind == "state":
                state = self._state(mark.text)
                if self.dialect == "XLIFF 2.x":
                    is_own = state is not None and ":" in state
                    marking.unit["state"] = "translated" if is_own else state
                    marking.unit["subState"] = state if is_own else None
                elif self.dialect == "SDLXLIFF":
                    marking.definition["conf"] = state
                elif self.dialect in ("memoQ", "Phrase"):
                    value = {"unconfirmed": "0", "confirmed": "1"}.get(state or "", state)
                    marking.unit[self._reader.status_name()] = value
                else:
                    marking.target["state"] = state
                    if unit.approved:
                        marking.unit["approved"] = "no"
        return marking

    def _mark_edits(self, markings: Mapping[int, _Marking], rebuilt: set[int]) -> list[ByteEdit]:
        """The changes of tags that stay, and the new notes. Several segments may change the same tag."""
        changes: dict[int, tuple[XmlToken, dict[str, str | None]]] = {}
        notes: dict[int, tuple[NotesPlace, list[str]]] = {}
        for number, marking in markings.items():
            tags = self._slot(number).tags
            changed_tags = [(tags.unit, marking.unit), (tags.target, marking.target)]
            changed_tags.append((tags.definition, marking.definition))
            if number not in rebuilt:
                changed_tags.append((tags.text, marking.text))
            for tag, attributes in changed_tags:
                if tag is not None and attributes:
                    changes.setdefault(tag.start, (tag, {}))[1].update(attributes)
            for note in marking.notes:
                _, written = notes.setdefault(tags.notes.start, (tags.notes, []))
                if note not in written:
                    written.append(note)
        edits = []
        for tag, attributes in changes.values():
            edits.append(ByteEdit(tag.start, tag.end, self._xml.encoded(with_attributes(self._raw(tag), attributes))))
        for place, written in notes.values():
            closing = f"</{place.note.lstrip('<').split()[0]}>"
            markup = "".join(f"{place.note}{self._xml.escaped(note)}{closing}" for note in written)
            edits.append(ByteEdit(place.start, place.end, self._xml.encoded(f"{place.before}{markup}{place.after}")))
        return edits

    def _raw(self, token: XmlToken) -> str:
        return self._xml.raw(token.start, token.end)

    def _markup(self, unit: TranslationUnit, target: str, cdata: bool = False) -> str:
        section = self._xml.cdata(target) if cdata and not unit.inline else None
        if section is not None:
            return section
        return with_markup(target, unit.inline, self._xml.escaped)

    def _filled(self, skeleton: _Skeleton, targets: Mapping[str, str], markings: Mapping[int, _Marking]) -> ByteEdit:
        """The whole target of a segmented source. Segments that have no text in the file or in ``targets`` are empty,
        except those of white space, which is layout.

        Segments of the file's target stay as they are, and so does the white space between two that stay neighbours.
        """
        in_source = segments_of(self.path, skeleton.source)
        in_target = segments_of(self.path, skeleton.target) if skeleton.target else {}
        kept_gaps = _gaps(self._xml, skeleton.target, in_target) if skeleton.target else {}
        tag = skeleton.place.tag
        for number in skeleton.segments.values() if tag else ():
            tag = with_attributes(tag, markings.get(number, _UNMARKED).target)
        pieces = [skeleton.place.lead, tag]
        for neighbours, gap in _gaps(self._xml, skeleton.source, in_source).items():
            kept_gap = kept_gaps.get(neighbours)
            if kept_gap is not None and "".join(kept_gap.split()) == "".join(gap.split()):
                gap = kept_gap
            pieces.append(gap)
            mid = neighbours[1]
            if mid is None:
                break
            number = skeleton.segments[mid]
            unit = self.units[number]
            segment = in_target.get(mid)
            if segment is not None and unit.id not in targets:
                pieces.append(self._xml.raw(segment.tag.start, segment.after))
            else:
                opening, closing = tag_pair(self._xml, (segment or in_source[mid]).tag)
                opening = with_attributes(opening, markings.get(number, _UNMARKED).text)
                text = "" if unit.source.strip() else unit.source
                pieces += [opening, self._markup(unit, targets.get(unit.id, text)), closing]
        pieces.append(skeleton.place.closing)
        return ByteEdit(skeleton.place.start, skeleton.place.end, self._xml.encoded("".join(pieces)))

    def _add(self, identity: str, owner: Owner, reader: XliffReader) -> None:
        """Add the unit of ``owner``, or one for each of its segments."""
        source, target = owner.texts["source"], owner.texts.get("target")
        segmented = owner.texts.get("seg-source")
        segments = segments_of(self.path, segmented) if segmented else {}
        in_target = segments_of(self.path, target) if target else {}
        if not segments and reader.is_sdl and (segmented or owner.attributes.get("translate") == "no"):
            return  # Trados keeps the layout between its segments in such units
        if segmented is None or not segments or (target and _has_text(target) and not in_target):
            self._add_unit(identity, owner, source, target, reader, self._whole_place(owner, source, target))
            return
        numbers = {}
        for mid, segment in segments.items():
            place = self._segment_place(in_target[mid]) if mid in in_target else None
            numbers[mid] = len(self.units)
            self._add_unit(f"{identity}/{mid}", owner, segment, in_target.get(mid), reader, place, mid)
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
        owner: Owner,
        source: Content,
        target: Content | None,
        reader: XliffReader,
        place: _Place | None,
        mid: str = "",
    ) -> None:
        source_text, target_text, inline = numbered(
            pieces_of(self._xml, source.tokens), pieces_of(self._xml, target.tokens) if target else []
        )
        definition = owner.segment_definitions.get(mid)
        whole = owner.texts.get("target")
        tags = _Tags(owner.tag, _kept_tag(whole), _kept_tag(target), definition, reader.notes_place_of(owner))
        self._slots.append(_Slot(place, tags))
        facts = reader.facts_of(
            owner.attributes,
            owner.inherited,
            whole.tag.attributes if whole else {},
            definition.attributes if definition else None,
        )
        new_target = None if target is None else target_text
        line = source.tag.line
        self.units.append(unit_of(identity, facts, source_text, new_target, inline, owner.notes, owner.contexts, line))

    def _whole_place(self, owner: Owner, source: Content, target: Content | None) -> _Place:
        if target is not None:
            if target.is_empty_tag:
                opening, closing = tag_pair(self._xml, target.tag)
                return _Place(target.tag.start, target.after, "", opening, closing, _is_cdata(source))
            return _Place(
                target.start, target.end, cdata=_is_cdata(target) or (not _has_text(target) and _is_cdata(source))
            )
        name = source.tag.value.replace("seg-source", "target").replace("source", "target")
        last = owner.texts.get("seg-source") or owner.texts["source"]
        return _Place(last.after, last.after, owner.indent, f"<{name}>", f"</{name}>", _is_cdata(source))

    def _segment_place(self, segment: Content) -> _Place:
        if segment.is_empty_tag:
            opening, closing = tag_pair(self._xml, segment.tag)
            return _Place(segment.tag.start, segment.after, "", opening, closing)
        return _Place(segment.start, segment.end)


def _kept_tag(text: Content | None) -> XmlToken | None:
    """The tag of a text, if it stays when the text changes."""
    return None if text is None or text.is_empty_tag else text.tag


def _its_attributes(mark: UnitMark, prefix: str | None) -> dict[str, str | None]:
    """Attributes of ITS 2.0 for a target; those without a value are removed."""
    values: dict[str, str | None] = {}
    if prefix is None:
        prefix = "its"
        values = {"xmlns:its": ITS, "its:version": "2.0"}
    known = mark.confidence is not None
    values[f"{prefix}:annotatorsRef"] = f"mt-confidence|{TOOL}" if known else None
    values[f"{prefix}:mtConfidence"] = f"{mark.confidence:.4g}" if known else None
    worst = max(mark.errors, key=lambda error: _ITS_SEVERITY[error.severity], default=None)
    issue = f"{prefix}:locQualityIssue"
    values[f"{issue}Type"] = _its_type(worst.category) if worst else None
    comment = "; ".join(_issue_comment(error) for error in mark.errors)
    values[f"{issue}Comment"] = INVALID.sub("\ufffd", comment) or None  # a model wrote it
    values[f"{issue}Severity"] = str(_ITS_SEVERITY[worst.severity]) if worst else None
    if not mark.errors and not known:
        values = {name: None for name in values if not name.startswith("xmlns:")}
    return values


def _its_type(category: str) -> str:
    """The type of a quality issue in ITS for a category of MQM, which has the names of ITS for many."""
    for name in reversed(category.casefold().replace("_", "-").split("/")):
        plain = name.strip().replace(" ", "-")
        plain = _ITS_NAMES.get(plain, plain)
        if plain in _ITS_TYPES:
            return plain
    return "other"


def _issue_comment(error: ErrorSpan) -> str:
    comment = f"{error.severity} {error.category}: {error.text}"
    return f"{comment} ({error.explanation})" if error.explanation else comment


def _has_text(text: Content) -> bool:
    return any(token.value.strip() for token in text.tokens if token.kind in ("text", "cdata"))


def _is_cdata(text: Content) -> bool:
    """Whether all of a text is one CDATA section."""
    markers = [token for token in text.tokens if token.kind == "cdata" and not token.value]
    return len(markers) == 2 and all(token.kind == "cdata" for token in text.tokens)


def _gaps(xml: XmlFile, text: Content, segments: Mapping[str, Content]) -> dict[tuple[str | None, str | None], str]:
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
    target: Content,
    in_target: Mapping[str, Content],
    source: Content,
    in_source: Mapping[str, Content],
) -> bool:
    """Whether all that a target has, apart from white space, is in its source too, in the same order."""
    outline = iter(_outline(xml, source, in_source))
    return all(piece in outline for piece in _outline(xml, target, in_target))


def _outline(xml: XmlFile, text: Content, segments: Mapping[str, Content]) -> list[tuple[str, str]]:
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


class Xliff:
    """XLIFF in all its versions and dialects."""

    name = "xliff"
    suffixes: tuple[str, ...] = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> XliffFile:
        """Read a file. Raises :class:`InputError`, beginning with ``file:line``."""
        refuse_source(path, source)
        return XliffFile(path, content_of(path, longest_line=None))


XLIFF = Xliff()
