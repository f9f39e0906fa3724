"""Word and Excel documents: the texts of paragraphs and cells change, and all other parts keep their bytes.

A paragraph's text has other formatting (``<1>bold</1>``), links, fields and pictures as placeholders. Tabs and line
breaks are characters. Texts of a workbook are shared: a text that several cells show is one unit. The heads of Excel's
tables stay, because formulas refer to them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import (
    PLACEHOLDER,
    ByteEdit,
    TranslationUnit,
    between_placeholders,
    content_of,
    with_edits,
)
from mtagent.formats.prose import Passage, ProseFile
from mtagent.formats.xml_spans import XmlFile, character_fault
from mtagent.formats.zip_parts import ZipParts
from mtagent.text import scripts

_MAIN_PARTS = regex.compile(r"word/document\d*\.xml|xl/workbook\d*\.xml")
_WORD_PARTS = regex.compile(r"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes)\.xml")
_EXCEL_PARTS = regex.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
_TABLE_PARTS = regex.compile(r"xl/tables/table\d+\.xml")
_UNSEEN_PROPERTIES = regex.compile(r"<w:(?:lang|noProof)\b[^>]*/>")
"""Properties of runs that nobody sees."""
_SEEN_ON_SPACES = regex.compile(
    r"<(?:w:)?(?:u|highlight|shd|strike|dstrike|bdr|vanish|webHidden|rPrChange)\b"
    r'|<w:rStyle w:val="(?!apple-converted-space")'
)
"""Properties that change how white space looks, and whether it is there. A style may have any of them.

The style of Safari's spaces, which come with each text that is pasted from a web page, has none.
"""
_WRAPPERS = frozenset([
    "w:hyperlink", "w:smartTag", "w:ins", "w:moveTo", "w:sdt", "w:fldSimple", "w:customXml", "w:dir", "w:bdo",
])  # fmt: skip
_HEADS = frozenset(["w:sdtPr", "w:sdtEndPr", "w:smartTagPr", "w:customXmlPr", "w:fldData"])
"""What a wrapper begins with, so that no text may come before it."""
_DROPPED = frozenset(["w:proofErr", "w:lastRenderedPageBreak"])
_DEEPEST = 200  # levels of elements; a text box in a text box in a table has about 40
_LINK = "HYPERLINK"
_COMPUTED = ("TOC", "TOA", "INDEX", "BIBLIOGRAPHY")
"""Fields over several paragraphs that Word fills from other texts of the document."""
_CHARACTERS = {"w:tab": "\t", "w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad", "w:br": "\n", "w:cr": "\n"}
_ELEMENTS = {"\t": "<w:tab/>", "\u2011": "<w:noBreakHyphen/>", "\u00ad": "<w:softHyphen/>", "\n": "<w:br/>"}


@dataclass(frozen=True, slots=True)
class RunNames:
    """What the elements of runs are called."""

    paragraphs: frozenset[str]
    run: str
    properties: str
    text: str
    is_word: bool


WORD = RunNames(frozenset(["w:p"]), "w:r", "w:rPr", "w:t", is_word=True)
EXCEL = RunNames(frozenset(["si", "is"]), "r", "rPr", "t", is_word=False)


@dataclass(slots=True)
class _Piece:
    """A part of a paragraph: a text with its properties, a wrapper's tag, or a whole object (``raw``)."""

    kind: str  # text, open, close, object, mark
    start: int
    end: int
    text: str = ""
    properties: str = ""
    raw: str = ""


@dataclass(slots=True)
class FormattedText:
    """A paragraph's text at the bytes ``start`` to ``end`` of a part."""

    part: str
    start: int
    end: int
    text: str
    inline: dict[str, str]
    properties: str  # of the text outside of placeholders
    formats: dict[str, str] = field(default_factory=dict)  # the properties within a placeholder
    wrapped: dict[str, str] = field(default_factory=dict)  # those of most of the text within a wrapper, such as a link
    marks: str = ""  # beginnings of bookmarks, which are written before the text
    marks_after: str = ""  # ends of bookmarks, which are written after it, so that no bookmark becomes empty
    copies: list[FormattedText] = field(default_factory=list)  # the same text for older programs


@dataclass(slots=True)
class _OpenField:
    """A field that has begun at the token ``start``, within so many wrappers; ``depth`` counts fields within it."""

    start: int
    depth: int
    wrappers: int


class _WordField(NamedTuple):
    """A field of Word: its first word, such as ``HYPERLINK``, and the tokens that mark its parts."""

    name: str
    begin: int
    separator: int
    """Where its result begins; like ``begin`` if it has none."""
    end: int


class _PartReader:
    """Finds the stretches of a part."""

    def __init__(self, part: str, file: XmlFile, dialect: RunNames) -> None:
        self.part, self.file, self.dialect = part, file, dialect
        self.stretches: list[FormattedText] = []
        self._tokens = list(file.tokens())
        self._ends = self._all_ends()
        self._fields = {each.begin: each for each in self._all_fields()}
        self._computed = [each for each in self._fields.values() if each.name in _COMPUTED]

    def read(self) -> list[FormattedText]:
        """All stretches, in order. Raises :class:`InputError` for a part with other prefixes than Office writes."""
        root = next(token.value for token in self._tokens if token.kind == "start")
        expects_prefix = self.dialect.is_word
        if root.startswith("w:") != expects_prefix or (":" in root) != expects_prefix:
            raise InputError(
                f"{self.file.path}: its first element is <{root}>; open the document in Office and save it"
            )
        self._content(0, len(self._tokens))
        self._join_alternatives()
        return self.stretches

    def _all_ends(self) -> dict[int, int]:
        """The token that ends each element, by the token that begins it."""
        ends: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self._tokens):
            if token.kind == "start":
                opened.append(place)
            elif token.kind == "end":
                ends[opened.pop()] = place
            if len(opened) > _DEEPEST:
                raise InputError(
                    f"{self.file.path}:{token.line}: more than {_DEEPEST} elements are within each other; such files "
                    "are refused"
                )
        return ends

    def _all_fields(self) -> Iterator[_WordField]:
        """The fields that have an end, which may be paragraphs away."""
        opened: list[_WordField] = []
        for place, token in enumerate(self._tokens):
            if token.kind == "text" and opened and self._tokens[place - 1].value == "w:instrText":
                instruction = f"{opened[-1].name}{token.value}"
                opened[-1] = opened[-1]._replace(name=instruction)
            if token.kind != "start" or token.value != "w:fldChar":
                continue
            mark = token.attributes.get("w:fldCharType")
            if mark == "begin":
                opened.append(_WordField("", place, place, place))
            elif mark == "separate" and opened:
                opened[-1] = opened[-1]._replace(separator=place)
            elif mark == "end" and opened:
                last = opened.pop()
                yield last._replace(name=(last.name.split() or [""])[0].upper(), end=place)

    def _join_alternatives(self) -> None:
        """Make the texts for older programs copies of those that they repeat. Word writes both."""
        in_order = sorted(self.stretches, key=lambda stretch: stretch.start)
        starts = [stretch.start for stretch in in_order]
        copies: set[int] = set()
        for place in reversed(range(len(self._tokens))):  # inner ones first
            if self._tokens[place].kind != "start" or self._tokens[place].value != "mc:AlternateContent":
                continue
            choices: list[FormattedText] = []
            fallbacks: list[FormattedText] = []
            for child, last in self._children(place):
                first = bisect_left(starts, self._tokens[child].start)
                stop = bisect_left(starts, self._tokens[last].start)
                within = [stretch for stretch in in_order[first:stop] if stretch.start not in copies]
                (choices if self._tokens[child].value == "mc:Choice" else fallbacks).extend(within)
            if [stretch.text for stretch in choices] == [stretch.text for stretch in fallbacks]:
                for stretch, copy in zip(choices, fallbacks, strict=True):
                    stretch.copies += [copy, *copy.copies]
                    copies.add(copy.start)
        self.stretches = [stretch for stretch in self.stretches if stretch.start not in copies]

    def _children(self, place: int) -> Iterator[tuple[int, int]]:
        """The first and the last token of each element in an element."""
        child = place + 1
        while self._tokens[child].kind != "end":
            if self._tokens[child].kind == "start":
                last = self._end_of(child)
                yield child, last
                child = last
            child += 1

    def _content(self, begin: int, end: int) -> None:
        """The paragraphs between two tokens."""
        place = begin
        while place < end:
            token = self._tokens[place]
            if token.kind == "start" and token.value in self.dialect.paragraphs:
                last = self._end_of(place)
                if not self._is_computed(place, last):
                    self._paragraph(place + 1, last)
                place = last
            place += 1

    def _is_computed(self, place: int, last: int) -> bool:
        """Whether a whole paragraph is within a table of contents or the like."""
        return any(each.begin < place and last < each.end for each in self._computed)

    def _end_of(self, place: int) -> int:
        """The token that ends the element which begins at ``place``."""
        return self._ends[place]

    def _paragraph(self, begin: int, end: int) -> None:
        """Add the texts of a paragraph. One in which a field and a change cross each other is left alone."""
        pieces: list[_Piece] = []
        open_field: _OpenField | None = None
        link_ends: set[int] = set()
        wrappers = 0
        place = begin
        while place < end:
            token = self._tokens[place]
            if token.kind != "start":
                closing = place
                if token.kind == "end" and token.value == "w:sdtContent":
                    while self._tokens[place].value != "w:sdt":
                        place += 1
                if self._tokens[place].kind == "end" and self._tokens[place].value in _WRAPPERS:
                    wrappers -= 1
                    if open_field is None:
                        pieces.append(self._piece("close", closing, place))
                place += 1
                continue
            last = self._end_of(place)
            if token.value in _WRAPPERS and self._has_place_for_text(place):
                wrappers += 1
                head = self._head_of(place)
                if open_field is None:
                    pieces.append(self._piece("open", place, head))
                place = head + 1
                continue
            steps = self._field_steps(place, last) if token.value == self.dialect.run else 0
            if open_field is not None:
                open_field.depth += steps
                if open_field.depth <= 0:
                    if open_field.wrappers != wrappers:
                        return
                    pieces.append(self._piece("object", open_field.start, last))
                    open_field = None
            elif place in link_ends:
                pieces.append(self._piece("close", place, last))
            elif steps > 0:
                link = self._link(place, end)
                if link is not None:
                    last, link_end = link
                    link_ends.add(link_end)
                    pieces.append(self._piece("open", place, last))
                else:
                    open_field = _OpenField(place, steps, wrappers)
            else:
                pieces += self._element(place, last, is_first=not pieces)
            place = last + 1
        self._add(pieces)

    def _link(self, place: int, end: int) -> tuple[int, int] | None:
        """The last token before the text of the link that a run begins, and the run that ends it.

        ``None`` if the run begins another field, or if the marks of the link aren't in runs side by side, without text.
        """
        inner = range(place, self._end_of(place))
        link = next((self._fields[each] for each in inner if each in self._fields), None)
        if link is None or link.name != _LINK or link.end >= end:
            return None
        head = self._run_with(link, link.separator, place)
        tail = self._run_with(link, link.end, place)
        if head is None or tail is None or head == tail:
            return None
        return self._end_of(head), tail

    def _run_with(self, link: _WordField, mark: int, place: int) -> int | None:
        """The run at ``place`` or after it that has this mark of a link, and neither text nor marks of other fields."""
        while place < mark and self._tokens[place].kind != "end":
            if self._tokens[place].kind == "start":
                last = self._end_of(place)
                if mark < last:
                    break
                place = last
            place += 1
        if self._tokens[place].kind != "start" or self._tokens[place].value != "w:r":
            return None
        for inner in range(place, self._end_of(place)):
            token = self._tokens[inner]
            is_other_mark = token.value == "w:fldChar" and inner not in (link.begin, link.separator, link.end)
            if token.kind == "start" and (token.value == "w:t" or is_other_mark):
                return None
        return place

    def _has_place_for_text(self, place: int) -> bool:
        """Whether a wrapper may have a text to translate: a field is a link, and a content control isn't empty."""
        token = self._tokens[place]
        if token.value == "w:fldSimple":
            return token.attributes.get("w:instr", "").upper().split()[:1] == [_LINK]
        if token.value != "w:sdt":
            return True
        head = self._head_of(place)
        return self._tokens[head].value == "w:sdtContent" and self._tokens[head + 1].kind != "end"

    def _head_of(self, place: int) -> int:
        """The last token of what a wrapper begins with; for a content control, the start of its content."""
        head = place
        while self._tokens[head + 1].kind != "end":
            token = self._tokens[head + 1]
            if token.value == "w:sdtContent":
                return head + 1
            is_space = token.kind == "text" and not token.value.strip()
            if not is_space and token.value not in _HEADS:
                break
            head = head + 1 if is_space else self._end_of(head + 1)
        return head

    def _element(self, place: int, last: int, *, is_first: bool) -> list[_Piece]:
        """The pieces of an element of a paragraph, outside of fields."""
        token = self._tokens[place]
        start, end = token.start, self._tokens[last].end
        if token.value == self.dialect.run:
            return self._run(place, last)
        if token.value == self.dialect.text:  # <si><t>…</t></si>
            return [_Piece("text", start, end, self._text_of(place, last))]
        if token.value.endswith("Pr") and is_first:
            return []
        if token.value in _DROPPED:
            return [_Piece("mark", start, end)]
        if self._has_paragraphs(place, last) or token.value in ("rPh", "phoneticPr"):
            self._content(place, last)
            return [_Piece("border", start, end)]
        is_bookmark = token.value in ("w:bookmarkStart", "w:bookmarkEnd")
        return [self._piece("mark" if is_bookmark else "object", place, last)]

    def _field_steps(self, place: int, last: int) -> int:
        """By how many fields more are open after a run."""
        steps = 0
        for token in self._tokens[place:last]:
            if token.kind == "start" and token.value == "w:fldChar":
                steps += {"begin": 1, "end": -1}.get(token.attributes.get("w:fldCharType", ""), 0)
        return steps

    def _has_paragraphs(self, place: int, last: int) -> bool:
        return any(
            token.kind == "start" and token.value in self.dialect.paragraphs for token in self._tokens[place:last]
        )

    def _piece(self, kind: str, place: int, last: int) -> _Piece:
        start, end = self._tokens[place].start, self._tokens[last].end
        end = max(end, self._tokens[place].end)
        return _Piece(kind, start, end, raw=self.file.raw(start, end))

    def _run(self, place: int, last: int) -> list[_Piece]:
        """The pieces of a run: one if it is simple."""
        properties = ""
        text = ""
        is_simple = True
        inner = place + 1
        while inner < last:
            token = self._tokens[inner]
            if token.kind != "start":
                inner += 1
                continue
            end = self._end_of(inner)
            if token.value == self.dialect.properties:
                properties = self.file.raw(token.start, self._tokens[end].end)
            elif token.value == self.dialect.text:
                text += self._text_of(inner, end)
            elif token.value in _CHARACTERS and self.dialect.is_word and "w:type" not in token.attributes:
                text += _CHARACTERS[token.value]
            elif token.value not in _DROPPED:
                is_simple = False
            inner = end + 1
        start, stop = self._tokens[place].start, self._tokens[last].end
        if is_simple:
            return [_Piece("text", start, stop, text, properties)]
        if self._has_paragraphs(place, last):  # a text box: its paragraphs are texts of their own
            self._content(place, last)
            return [_Piece("border", start, stop)]
        return [_Piece("object", start, stop, raw=self.file.raw(start, stop))]

    def _text_of(self, place: int, last: int) -> str:
        return "".join(token.value for token in self._tokens[place + 1 : last] if token.kind in ("text", "cdata"))

    def _add(self, pieces: Sequence[_Piece]) -> None:
        """Add the stretches between borders."""
        stretch: list[_Piece] = []
        for piece in (*pieces, _Piece("border", 0, 0)):
            if piece.kind == "border":
                self._add_stretch(_trimmed(stretch))
                stretch = []
            else:
                stretch.append(piece)

    def _add_stretch(self, pieces: Sequence[_Piece]) -> None:
        texts = [piece for piece in pieces if piece.kind == "text"]
        plain = "".join(piece.text for piece in texts)
        if not scripts.LETTER.search(plain) or not _is_balanced(pieces):
            return
        properties = _usual_properties(texts)
        bases = [_seen(properties)]  # of the paragraph, and of each open wrapper
        _blend_blanks([piece for piece in pieces if piece.kind != "mark"], properties)
        taken = {int(match["number"]) for match in PLACEHOLDER.finditer(plain)}
        stretch = FormattedText(self.part, pieces[0].start, pieces[-1].end, "", {}, properties)
        number = 0
        wrappers: list[int] = []
        current = bases[0]
        current_number = 0
        for place, piece in enumerate(pieces):
            base = bases[-1]
            key = _seen(piece.properties) if piece.kind == "text" else base
            if piece.kind == "mark":
                if piece.raw.startswith("<w:bookmarkEnd"):
                    stretch.marks_after += piece.raw
                else:
                    stretch.marks += piece.raw
                continue
            if current != base and (piece.kind != "text" or key != current):
                stretch.text += f"</{current_number}>"
                current = base
            if piece.kind == "close":
                stretch.inline[f"</{wrappers[-1]}>"] = piece.raw
                stretch.text += f"</{wrappers.pop()}>"
                bases.pop()
                current = bases[-1]
                continue
            if piece.kind != "text" or (key != base and current == base and piece.text):
                number += 1
                while number in taken:
                    number += 1
            if piece.kind == "open":
                wrappers.append(number)
                stretch.inline[f"<{number}>"] = piece.raw
                stretch.text += f"<{number}>"
                within = _texts_within(pieces, place)
                properties = _usual_properties(within) if within else stretch.properties
                stretch.wrapped[f"<{number}>"] = properties
                current = _seen(properties)
                bases.append(current)
            elif piece.kind == "object":
                stretch.inline[f"<{number}/>"] = piece.raw
                stretch.text += f"<{number}/>"
            elif piece.text:
                if key != base and current == base:
                    current, current_number = key, number
                    stretch.inline[f"<{number}>"] = piece.properties or f"<{self.dialect.properties}/>"
                    stretch.inline[f"</{number}>"] = f"</{self.dialect.run}>"
                    stretch.formats[f"<{number}>"] = piece.properties
                    stretch.text += f"<{number}>"
                stretch.text += piece.text
        if current != bases[0]:
            stretch.text += f"</{current_number}>"
        self.stretches.append(stretch)


def _usual_properties(texts: Sequence[_Piece]) -> str:
    """The properties of most characters, which need no placeholder."""
    lengths: dict[str, int] = {}
    for piece in texts:
        key = _seen(piece.properties)
        lengths[key] = lengths.get(key, 0) + len(piece.text)
    base = max(lengths, key=lambda key: lengths[key])
    return next(piece.properties for piece in texts if _seen(piece.properties) == base)


def _texts_within(pieces: Sequence[_Piece], opening: int) -> list[_Piece]:
    """The texts in the wrapper that begins with the piece ``opening``, such as a link."""
    texts = []
    depth = 0
    for piece in pieces[opening:]:
        depth += (piece.kind == "open") - (piece.kind == "close")
        if depth == 0:
            break
        if piece.kind == "text" and piece.text:
            texts.append(piece)
    return texts


def _is_balanced(pieces: Sequence[_Piece]) -> bool:
    """Whether each wrapper begins and ends within the pieces."""
    depth = 0
    for piece in pieces:
        depth += (piece.kind == "open") - (piece.kind == "close")
        if depth < 0:
            return False
    return depth == 0


def _seen(properties: str) -> str:
    """The properties of a run that people can see."""
    return _UNSEEN_PROPERTIES.sub("", properties).replace("<w:rPr></w:rPr>", "").replace("<w:rPr/>", "")


def _blend_blanks(pieces: Sequence[_Piece], base: str) -> None:
    """Give white space the properties of the texts around it if these are alike, or else the ``base``.

    So it needs no placeholder of its own. Where it would look different, and for line breaks, it keeps its properties.
    """
    border = _Piece("border", 0, 0)
    for before, piece, after in zip([border, *pieces], pieces, [*pieces[1:], border], strict=False):
        if piece.kind != "text" or piece.text.strip() or "\n" in piece.text:
            continue
        candidates = [base]
        if before.kind == after.kind == "text" and _seen(before.properties) == _seen(after.properties):
            candidates = [before.properties, base]
        unseen = [properties for properties in candidates if not _SEEN_ON_SPACES.search(properties)]
        if unseen and not _SEEN_ON_SPACES.search(piece.properties):
            piece.properties = unseen[0]


def _trimmed(pieces: Sequence[_Piece]) -> list[_Piece]:
    """The pieces without objects and blank texts at the ends, as far as no wrapper is torn."""
    pieces = list(pieces)

    def is_outside(piece: _Piece) -> bool:
        return piece.kind in ("object", "mark") or (piece.kind == "text" and not piece.text.strip())

    while pieces and is_outside(pieces[0]):
        pieces.pop(0)
    while pieces and is_outside(pieces[-1]):
        pieces.pop()
    return pieces


def _table_columns(path: Path, zipped: ZipParts) -> set[str]:
    """The heads of a workbook's tables. Formulas refer to them, and Excel repairs files in which a head differs."""
    columns: set[str] = set()
    for name in zipped.names:
        if not _TABLE_PARTS.fullmatch(name):
            continue
        for token in XmlFile(Path(f"{path}/{name}"), zipped.read(name)).tokens():
            if token.kind == "start" and token.value == "tableColumn":
                columns.add(token.attributes.get("name", "").replace("_x000a_", "\n"))
    return columns


class OfficeFile(ProseFile):
    """A Word or Excel document that has been read."""

    def __init__(self, path: Path, source: Path | None, target_lang: str | None, *, is_word: bool) -> None:
        self._dialect = WORD if is_word else EXCEL
        self._parts: dict[str, XmlFile] = {}
        stretches: dict[Path, list[FormattedText]] = {}

        def read(path_of_file: Path) -> tuple[bytes, list[Passage]]:
            data = content_of(path_of_file, longest_line=None)
            zipped = ZipParts(path_of_file, data)
            wanted = _WORD_PARTS if is_word else _EXCEL_PARTS
            found: list[FormattedText] = []
            for name in zipped.names:
                content = zipped.read(name) if wanted.fullmatch(name) else b""
                is_without_texts = name.startswith("xl/worksheets/") and b"is>" not in content and b"\0" not in content
                if content and not is_without_texts:  # most sheets have numbers of shared texts, and may be large
                    part = XmlFile(Path(f"{path_of_file}/{name}"), content)
                    found += _PartReader(name, part, self._dialect).read()
                    if path_of_file == path:
                        self._parts[name] = part
            if not any(map(_MAIN_PARTS.fullmatch, zipped.names)):
                raise InputError(f"{path_of_file}: isn't a {'Word' if is_word else 'Excel'} document")
            fixed = _table_columns(path_of_file, zipped)
            found = [stretch for stretch in found if stretch.text not in fixed]
            stretches[path_of_file] = found
            if path_of_file == path:
                self._zip = zipped
            passages = []
            for number, stretch in enumerate(found, start=1):
                span = (stretch.start, stretch.end)
                passages.append(
                    Passage(kind=stretch.part, text=stretch.text, line=number, spans=(span,), inline=stretch.inline)
                )
            return data, passages

        super().__init__(path, source, target_lang, read)
        self._stretches = dict(zip(self.passages, stretches[path], strict=True))

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the document cannot hold ``target``."""
        return character_fault(target, "a document")

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The parts that change, packed anew, and the directory with their places."""
        by_part: dict[str, list[ByteEdit]] = {}
        for unit_id, target in targets.items():
            stretch = self._stretches[unit_id]
            for place in (stretch, *stretch.copies):
                markup = self._parts[place.part].encoded(self._markup(place, target))
                by_part.setdefault(place.part, []).append(ByteEdit(place.start, place.end, markup))
        contents = {}
        for name, edits in by_part.items():
            contents[name] = with_edits(self._parts[name].data, edits)
        return self._zip.edits(contents)

    def _markup(self, stretch: FormattedText, target: str) -> str:
        """The runs of a new text."""
        part = self._parts[stretch.part]
        properties = [stretch.properties]
        markup = stretch.marks
        for text, placeholder in between_placeholders(target, stretch.inline):
            markup += self._run(part, text, properties[-1], stretch)
            if placeholder is None:
                continue
            opening = placeholder.replace("</", "<")
            if opening not in stretch.formats:
                markup += stretch.inline[placeholder]
            if placeholder != opening:
                properties.pop()
            elif placeholder in stretch.formats:
                properties.append(stretch.formats[placeholder])
            elif placeholder in stretch.wrapped:
                properties.append(stretch.wrapped[placeholder])
        return markup + stretch.marks_after

    def _run(self, part: XmlFile, text: str, properties: str, stretch: FormattedText) -> str:
        if not text:
            return ""
        dialect = self._dialect
        if part.raw(stretch.start, stretch.end).startswith(f"<{dialect.text}"):  # it isn't in a run
            return f'<t xml:space="preserve">{part.escaped(text)}</t>'
        content = ""
        for piece in regex.split(r"([\t\n\u2011\u00ad])", text) if dialect.is_word else [text]:
            if dialect.is_word and piece in _ELEMENTS:
                content += _ELEMENTS[piece]
            elif piece:
                content += f'<{dialect.text} xml:space="preserve">{part.escaped(piece)}</{dialect.text}>'
        return f"<{dialect.run}>{properties}{content}</{dialect.run}>"


class WordFormat:
    """Documents of Word."""

    name = "docx"
    suffixes: tuple[str, ...] = (".docx",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> OfficeFile:
        """Read a file, and perhaps the file with its sources."""
        return OfficeFile(path, source, target_lang, is_word=True)


class ExcelFormat:
    """Workbooks of Excel."""

    name = "xlsx"
    suffixes: tuple[str, ...] = (".xlsx",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> OfficeFile:
        """Read a file, and perhaps the file with its sources."""
        return OfficeFile(path, source, target_lang, is_word=False)


DOCX = WordFormat()
XLSX = ExcelFormat()
