"""Localization files as documents: units to read, and targets that are replaced in the user's own bytes.

A document keeps the bytes of its file and the places of all targets in them. What is not a new target stays as it is,
byte for byte. Inline tags are short placeholders in a unit's texts (``<1>bold</1>``, ``<2/>``), whose markup is in
``TranslationUnit.inline``. They may be moved, and none may be lost or invented::

    document = formats.document_format(path).open(path)
    for unit in selected(document.units, only=["new", "needs-review"]): ...
    data = replaced(document, {unit.id: "Neuer <1>Text</1>"}, {unit.id: [UnitMark(kind="comment", text="by machine")]})

Units that are locked, approved or a person's are changed only if they are selected by name.
"""

from __future__ import annotations

import codecs
import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable

from mtagent.errors import ConfigError, InputError
from mtagent.formats.annotations import own_spans
from mtagent.formats.files import opened, parsed_lines
from mtagent.records import ErrorSpan, Segment
from mtagent.text import markup

PLACEHOLDER = markup.NUMBERED_TAG
_SHOWN_ID = 80
Status = Literal["new", "fuzzy", "needs-review", "translated", "reviewed", "approved", "locked"]
PEOPLE = "people"
"""Selects the texts that people have written or confirmed, where the tool records that."""

STATES: dict[str, dict[str, Status]] = {
    "XLIFF 1.x": {
        "new": "new",
        "needs-translation": "new",
        "needs-review-translation": "needs-review",
        "needs-review-adaptation": "needs-review",
        "needs-review-l10n": "needs-review",
        "needs-adaptation": "needs-review",
        "needs-l10n": "needs-review",
        "translated": "translated",
        "final": "approved",
        "signed-off": "approved",
    },
    "XLIFF 2.x": {"initial": "new", "translated": "translated", "reviewed": "reviewed", "final": "approved"},
    "SDLXLIFF": {
        "Draft": "needs-review",
        "RejectedTranslation": "needs-review",
        "RejectedSignOff": "needs-review",
        "Translated": "translated",
        "ApprovedTranslation": "approved",
        "ApprovedSignOff": "approved",
    },
    "memoQ": {
        "NotStarted": "new",
        "PreTranslated": "needs-review",
        "MachineTranslated": "needs-review",
        "AssembledFromFragments": "needs-review",
        "PartiallyEdited": "needs-review",
        "Rejected": "needs-review",
        "ManuallyConfirmed": "translated",
        "Reviewer1Confirmed": "approved",
        "Reviewer2Confirmed": "approved",
        "Proofread": "approved",
    },
    "Phrase": {"unconfirmed": "needs-review", "confirmed": "translated"},
    "PO": {"new": "new", "fuzzy": "fuzzy", "translated": "translated"},
    "Xcode": {"new": "new", "needs_review": "needs-review", "translated": "translated"},
    "Qt": {"unfinished": "needs-review", "finished": "translated"},
}
"""The status of each state of each format. Of several states with one status, a mark takes the first."""

_STATUSES = {state.casefold(): status for states in STATES.values() for state, status in states.items()}
_SELECTION_WORDS = {*get_args(Status), PEOPLE, *_STATUSES}
MarkKind = Literal["state", "fuzzy", "comment", "its"]
DEFAULT_COMMENT = "Machine translation, not reviewed (mtagent)"
LONGEST_LINE = 6 * 2**20
"""Bytes. Lines of apps' texts are far shorter; one that long takes up to 1 GB of memory to read."""
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape"}
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True)
class PluralForm:
    """Which form of a plural a unit is: its ``number`` from 0, of ``count`` forms, chosen by the language's ``rule``.

    ``rule`` is an expression in ``n`` as in PO headers; ``examples`` are counts for which it chooses this form.
    ``category`` is the form's name in formats that use those of the CLDR (``one``, ``few``, ``other``). ``is_ordinal``:
    it is for 1st, 2nd, 3rd …, and the CLDR has other categories for them.
    """

    number: int
    count: int
    rule: str | None = None
    examples: tuple[int, ...] = ()
    category: str | None = None
    is_ordinal: bool = False


_NO_INLINE: Mapping[str, str] = {}


class TranslationUnit(NamedTuple):
    """A text to translate. ``id`` is unique in its document, ``line`` is where it begins in the file.

    Not a dataclass: a file has 100,000 of them, and a frozen dataclass takes twice as long to make.
    """

    id: str
    source: str
    target: str | None  # None: not translated yet
    state: str | None = None  # in the words of the file's format
    locked: bool = False  # locked, or not to be translated
    approved: bool = False  # approved apart from its state
    by_person: bool = False  # written or confirmed by a person, as the tool records it
    notes: tuple[str, ...] = ()
    context: str | None = None
    max_length: int | None = None  # in characters
    max_width: str | None = None  # in another unit, such as "120 pixel"
    plural: PluralForm | None = None
    inline: Mapping[str, str] = _NO_INLINE  # placeholder: markup
    source_lang: str | None = None
    target_lang: str | None = None
    line: int = 0

    @property
    def status(self) -> Status:
        """What the state means, in words for all formats. A unit without a target is new, whatever its state."""
        if self.locked:
            return "locked"
        status = _STATUSES.get((self.state or "").casefold(), "translated")
        if self.approved or status == "approved":
            return "approved"
        return "new" if self.source and not self.target else status

    @property
    def protected(self) -> bool:
        """Whether the unit is changed only if it is selected by name."""
        return self.by_person or self.status in ("locked", "approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitMark:
    """How a new target is marked in its file, for people and their tools."""

    kind: MarkKind
    text: str = ""  # the state, or the comment
    confidence: float | None = None  # for ``its``: the probability that the target is right, 0 to 1
    errors: tuple[ErrorSpan, ...] = ()  # for ``its``: what is still wrong


NO_MARKS: Mapping[str, Sequence[UnitMark]] = {}


class ByteEdit(NamedTuple):
    """Bytes that replace the bytes ``start`` to ``end`` of a file."""

    start: int
    end: int
    data: bytes


class TextEdit(NamedTuple):
    """Characters that replace the characters ``start`` to ``end`` of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """A file as characters: its ``content`` follows the byte order ``mark``."""

    mark: bytes
    encoding: str
    content: str

    def byte_edits(self, edits: Iterable[TextEdit]) -> list[ByteEdit]:
        """The edits of the content as edits of the file's bytes. They must not overlap."""
        written = []
        position, byte = 0, len(self.mark)
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            byte += len(self.content[position : edit.start].encode(self.encoding))
            end = byte + len(self.content[edit.start : edit.end].encode(self.encoding))
            written.append(ByteEdit(byte, end, edit.text.encode(self.encoding)))
            position, byte = edit.end, end
        return written


class LocalizationFile(Protocol):
    """A localization file that has been read."""

    path: Path
    data: bytes
    units: list[TranslationUnit]

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``, with a way out; ``None`` if it can."""
        ...

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets, which have no fault."""
        ...


@runtime_checkable
class MarkingFile(LocalizationFile, Protocol):
    """A localization file that can mark new targets."""

    mark_kinds: tuple[MarkKind, ...]

    def mark_fault(self, unit: TranslationUnit, mark: UnitMark) -> str | None:
        """Why the file cannot hold this mark, with a way out; ``None`` if it can. It is of one of ``mark_kinds``."""
        ...

    def edits(self, targets: Mapping[str, str], marks: Mapping[str, Sequence[UnitMark]] = ...) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets and marks, which have no fault."""
        ...


@runtime_checkable
class DocumentFormat(Protocol):
    """A format of localization files."""

    name: str
    suffixes: tuple[str, ...]

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> LocalizationFile:
        """Read a file.

        ``source`` is the file or folder with the source texts, for formats whose files have one language each. The
        others refuse it. ``target_lang`` is the language to take from a file of several, and that of a file which
        names none. Raises :class:`InputError`, beginning with ``file:line``.
        """
        ...


def content_of(path: Path, longest_line: int | None = LONGEST_LINE) -> bytes:
    """The bytes of a file. Raises :class:`InputError` if it cannot be read, is empty or has a longer line (bytes)."""
    with opened(path) as file:
        data = file.read()
    mark, _ = marked_encoding(data)
    if not data[len(mark) :].strip():
        raise InputError(f"{path}: is empty; restore the file, or leave it out")
    if longest_line is not None:
        _refuse_long_lines(path, data, longest_line)
    return data


def _refuse_long_lines(path: Path, data: bytes, longest_line: int) -> None:
    start = 0
    while len(data) - start > longest_line:
        line_end = data.rfind(b"\n", start, start + longest_line)
        if line_end < 0:
            line = data.count(b"\n", 0, start) + 1
            raise InputError(
                f"{path}:{line}: the line has more than {longest_line // 2**20} MB; write the file with line "
                "breaks, or split it"
            )
        start = line_end + 1


def marked_encoding(data: bytes) -> tuple[bytes, str | None]:
    """The byte order mark that ``data`` begins with, and its encoding; ``b""`` and ``None`` without a mark."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return mark, encoding
    return b"", None


def charset_called(name: str) -> str:
    """Python's name for the charset that a file declares.

    Raises :class:`LookupError` for an unknown one, and for Python's codecs that aren't charsets, such as ``base64``.
    """
    charset = codecs.lookup(name).name
    try:
        "".encode(charset)
    except UnicodeError:
        raise LookupError(name) from None
    if charset in _NO_CHARSETS:
        raise LookupError(name)
    return "utf-8" if charset == "utf-8-sig" else charset  # which would write a mark before each text


def decoded(path: Path, data: bytes) -> DecodedFile:
    """A file in UTF-8, or in UTF-16 with a byte order mark. Raises :class:`InputError` for others, and for NULs."""
    mark, encoding = marked_encoding(data)
    try:
        content = data[len(mark) :].decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        start = len(mark) + error.start
        line = data.count(b"\n", 0, start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[start]:02X} is not {encoding or 'UTF-8'}; convert the file first, for "
            "example: iconv -f WINDOWS-1252 -t UTF-8"
        ) from None
    refuse_nul(path, content)
    return DecodedFile(mark, encoding or "utf-8", content)


def refuse_nul(path: Path, content: str) -> None:
    """Raise :class:`InputError` if ``content`` has a NUL."""
    place = content.find("\0")
    if place >= 0:
        line = content.count("\n", 0, place) + 1
        raise InputError(
            f"{path}:{line}: has a NUL, which no text has; is it compiled, or UTF-16 without a byte order mark?"
        )


def refuse_source(path: Path, source: Path | None) -> None:
    """Raise :class:`InputError` if a ``source`` is given for a file that has its sources itself."""
    if source is not None:
        raise InputError(f"{path}: has its sources in itself; leave out --source {source}")


def newline_of(data: bytes, encoding: str) -> str:
    """The line end of most lines. ``encoding`` must be one that adds no byte order mark."""
    crlf = data.count("\r\n".encode(encoding))
    return "\r\n" if 2 * crlf > data.count("\n".encode(encoding)) else "\n"


def refuse_repeated_ids(path: Path, units: Iterable[TranslationUnit]) -> None:
    """Raise :class:`InputError` if two units have the same id."""
    way_out = "ids must be unique because targets are written by id"
    refuse_repeated(path, ((unit.id, unit.line) for unit in units), "id", way_out)


def refuse_repeated(path: Path, names: Iterable[tuple[str, int]], what: str, way_out: str) -> None:
    """Raise :class:`InputError` if two of ``names``, each with its line, are equal; ``what`` is an id or a key."""
    lines: dict[str, int] = {}
    for name, line in names:
        if name in lines:
            raise InputError(
                f"{path}:{line}: the {what} {shown_id(name)} is already used in line {lines[name]}; {way_out}"
            )
        lines[name] = line


def shown_id(unit_id: str) -> str:
    """An id for a message, shortened; ids of PO files are whole texts."""
    return repr(unit_id if len(unit_id) <= _SHOWN_ID else unit_id[: _SHOWN_ID - 1] + "…")


def selected(
    units: Iterable[TranslationUnit], only: Collection[str] = (), not_: Collection[str] = ()
) -> list[TranslationUnit]:
    """The units that ``only`` names, or all that aren't protected, without those that ``not_`` names.

    A word is a status, a state of any format, or ``people``. Units that are locked, approved or a person's are selected
    only by ``locked``, ``approved``, ``people`` or their own state. Raises :class:`ConfigError` for an unknown word.
    """
    only, not_ = selection_words(only), selection_words(not_)
    return [unit for unit in units if _is_selected(unit, only, not_)]


def selection_words(words: Iterable[str]) -> frozenset[str]:
    """The words of a selection, in lower case. Raises :class:`ConfigError` for one that is unknown."""
    plain = frozenset(word.strip().casefold() for word in words)
    for word in sorted(plain - _SELECTION_WORDS):
        close = difflib.get_close_matches(word, _SELECTION_WORDS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join([*get_args(Status), PEOPLE])}"
        raise ConfigError(f"unknown status {word!r}; {hint}")
    return plain


def _is_selected(unit: TranslationUnit, only: frozenset[str], not_: frozenset[str]) -> bool:
    state = (unit.state or "").casefold()
    facts = {unit.status, state, PEOPLE if unit.by_person else ""}
    if facts & not_:
        return False
    if not only:
        return not unit.protected
    if unit.locked:
        return "locked" in only
    if unit.protected:  # "translated" is also a state, and doesn't ask for people's or approved texts
        facts = {"approved", PEOPLE} & facts | ({state} - set(get_args(Status)))
    return bool(facts & only)


def own_state(format_name: str, word: str) -> str | None:
    """The state of a format that ``word`` names: the state itself, or the first with the status that it has elsewhere.

    A format without a state for texts to review takes ``translated``, the state before it is reviewed.
    """
    states = STATES[format_name]
    plain = word.casefold()
    for state in states:
        if state.casefold() == plain:
            return state
    status = _STATUSES.get(plain, plain)
    for each in (status, "translated" if status == "needs-review" else status):
        for state, its_status in states.items():
            if its_status == each:
                return state
    return None


def parsed_mark(written: str) -> UnitMark | None:
    """The mark that an option names: ``none``, ``state=STATE``, ``fuzzy``, ``comment[=TEXT]`` or ``its``.

    Raises :class:`ConfigError`.
    """
    kind, equals, text = written.partition("=")
    if written == "none":
        return None
    if written in ("fuzzy", "its"):
        return UnitMark(kind="fuzzy" if written == "fuzzy" else "its")
    if kind == "state" and text.strip():
        return UnitMark(kind="state", text=text.strip())
    if kind == "comment" and (text.strip() or not equals):
        return UnitMark(kind="comment", text=text.strip() or DEFAULT_COMMENT)
    raise ConfigError(f"unknown mark {written!r}; there are none, state=STATE, fuzzy, comment, comment=TEXT and its")


def replaced(
    document: LocalizationFile,
    targets: Mapping[str, str],
    marks: Mapping[str, Sequence[UnitMark]] = NO_MARKS,
    *,
    only: Collection[str] = (),
    not_: Collection[str] = (),
) -> bytes:
    """The file's bytes with these targets by id, and with these marks of the units whose target changes.

    ``only`` and ``not_`` are as in :func:`selected`. Raises :class:`InputError` for unknown ids, for units that aren't
    selected, and for targets and marks that the file cannot hold.
    """
    units = {unit.id: unit for unit in document.units}
    changed = {}
    for unit_id, target in targets.items():
        unit = units.get(unit_id)
        if unit is None:
            raise InputError(f"{document.path}: has no unit {shown_id(unit_id)}")
        if target == (unit.target or ""):
            continue
        where = f"{document.path}:{unit.line}"
        problem = fault(document, unit, target, only, not_)
        if problem:
            raise InputError(f"{where}: the new target of {shown_id(unit_id)} {problem}")
        for mark in marks.get(unit_id, ()):
            problem = mark_fault(document, unit, mark)
            if problem:
                raise InputError(f"{where}: {problem}")
        changed[unit_id] = target
    used_marks = {unit_id: marks[unit_id] for unit_id in changed if marks.get(unit_id)}
    edits = document.edits(changed, used_marks) if isinstance(document, MarkingFile) else document.edits(changed)
    return with_edits(document.data, edits)


def with_edits(data: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """The bytes with all edits, which must not overlap."""
    pieces = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += [data[position : edit.start], edit.data]
        position = edit.end
    return b"".join([*pieces, data[position:]])


def mark_fault(document: LocalizationFile, unit: TranslationUnit, mark: UnitMark) -> str | None:
    """Why the file cannot hold this mark of a unit; ``None`` if it can."""
    kinds = document.mark_kinds if isinstance(document, MarkingFile) else ()
    if mark.kind not in kinds:
        if not kinds:
            return (
                f"such a file has no place for the mark {mark.kind!r}; leave out --mark for it: "
                "`git diff` or --details FILE show which texts are new"
            )
        return f"such a file cannot hold the mark {mark.kind!r}; use one of {', '.join(['none', *kinds])}"
    return document.mark_fault(unit, mark) if isinstance(document, MarkingFile) else None


def fault(
    document: LocalizationFile,
    unit: TranslationUnit,
    target: str,
    only: Collection[str] = (),
    not_: Collection[str] = (),
) -> str | None:
    """Why ``target`` cannot be the unit's new target, as the end of a sentence; ``None`` if it can."""
    if not _is_selected(unit, selection_words(only), selection_words(not_)):
        if only or not_:
            return f"is not written: --only and --not leave out this unit, which is {_described(unit)}"
        name = PEOPLE if unit.by_person else unit.status
        return f"is not written: the unit is {_described(unit)}; leave it out, or select such units: --only {name}"
    return placeholder_fault(unit, target) or _length_fault(unit, target) or document.fault(unit, target)


def _described(unit: TranslationUnit) -> str:
    if unit.by_person:
        return "written or confirmed by a person"
    return "locked or not to be translated" if unit.locked else unit.status


def _length_fault(unit: TranslationUnit, target: str) -> str | None:
    if unit.max_length is None:
        return None
    length = len(target) - sum(len(placeholder) for placeholder in placeholders(unit, target))
    if length <= unit.max_length:
        return None
    return f"has {length} characters, and at most {unit.max_length} are allowed (max_length); shorten it"


def placeholder_fault(unit: TranslationUnit, target: str) -> str | None:
    """Which placeholder ``target`` loses, invents or puts in the wrong order; ``None`` if it has none of that."""
    if not unit.inline and "<" not in target:
        return None
    needed = Counter(placeholders(unit, unit.source))
    allowed = needed | Counter(placeholders(unit, unit.target or ""))
    used = Counter(placeholders(unit, target))
    lost = sorted(needed - used)
    if lost:
        return f"loses {' '.join(lost)}, which the source has; put it back"
    invented = sorted(used - allowed)
    if invented:
        return f"has {' '.join(invented)} once too often; take it out"
    # Pairs of XML elements nest. Codes that only mark a place may cross them and each other.
    groups: dict[str, list[markup.Tag]] = defaultdict(list)
    for tag in markup.tags(target):
        if tag.key in unit.inline and tag.kind != "empty":
            is_element = unit.inline.get(f"</{tag.name}>", "").startswith("</")
            groups["elements" if is_element else tag.name].append(tag)
    for tags in groups.values():
        faults = markup.nesting_faults(tuple(tags))
        if faults:
            return f"has its tags in the wrong order: {faults[0]}; put each closing tag after the text of its pair"
    return None


def placeholders(unit: TranslationUnit, text: str) -> list[str]:
    """The placeholders in ``text``, in order, without what only looks like one in the unit's own texts."""
    known = f"{unit.source} {unit.target or ''}"
    literal = {match[0] for match in PLACEHOLDER.finditer(known) if match[0] not in unit.inline}
    return [match[0] for match in PLACEHOLDER.finditer(text) if match[0] not in literal]


def between_placeholders(text: str, inline: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The characters before each placeholder in ``text``, with the placeholder; the last piece has ``None`` for it."""
    position = 0
    for match in PLACEHOLDER.finditer(text):
        if match[0] in inline:
            yield text[position : match.start()], match[0]
            position = match.end()
    yield text[position:], None


def with_markup(text: str, inline: Mapping[str, str], escaped: Callable[[str], str]) -> str:
    """``text`` with the markup of its placeholders, and all other characters ``escaped``."""
    written = []
    for characters, placeholder in between_placeholders(text, inline):
        written.append(escaped(characters))
        if placeholder is not None:
            written.append(inline[placeholder])
    return "".join(written)


class NewTarget(NamedTuple):
    """A target to write, and what is known of it."""

    text: str
    confidence: float | None = None
    errors: tuple[ErrorSpan, ...] = ()


LISTED = ("file", *TranslationUnit._fields, "status", "protected")
"""The fields of a listed unit."""

_READ = {*LISTED, *Segment.model_fields, "confidence", "errors"}


def read_targets(
    path: Path, document: LocalizationFile, *, only: Collection[str] = (), not_: Collection[str] = ()
) -> dict[str, NewTarget]:
    """The targets in a file of JSON Lines, by the ids of the document's units.

    An object has ``id`` and ``target`` (or ``translation``), and perhaps ``source`` and ``file``, which must fit, and
    ``confidence`` and ``errors`` for marks. One without a target changes nothing. ``only`` and ``not_`` are as in
    :func:`selected`. Raises :class:`InputError` with file, line and id of the first that doesn't fit.
    """
    units = {unit.id: unit for unit in document.units}
    targets: dict[str, NewTarget] = {}
    lines: dict[str, int] = {}
    for number, values in parsed_lines(path):
        where = f"{path}:{number}"
        _refuse_unknown_fields(values, where)
        file = values.get("file")
        if file is not None and Path(str(file)) != document.path:
            raise InputError(f"{where}: is for {file!r}, not {str(document.path)!r}; leave such lines out")
        unit_id = values.get("id")
        unit = units.get(str(unit_id))
        if unit is None:
            raise InputError(
                f"{where}: {document.path} has no unit with the id {unit_id!r}; `mtagent units` lists them"
            )
        if unit.id in lines:
            raise InputError(f"{where}: the id {shown_id(unit.id)} is also in line {lines[unit.id]}; keep one of them")
        lines[unit.id] = number
        if values.get("source") not in (None, unit.source):
            raise InputError(
                f"{where}: the source of {shown_id(unit.id)} differs from {document.path}:{unit.line}; "
                "list the units again"
            )
        target = values.get("target")
        if target is None:
            target = values.get("translation")
        if target is None or target == (unit.target or ""):
            continue
        if not isinstance(target, str):
            raise InputError(f"{where}: the target of {shown_id(unit.id)} must be a text, not {type(target).__name__}")
        problem = fault(document, unit, target, only, not_)
        if problem:
            raise InputError(f"{where}: the target of {shown_id(unit.id)} {problem}")
        targets[unit.id] = NewTarget(target, _confidence(values, where), own_spans(values.get("errors") or [], where))
    return targets


def _refuse_unknown_fields(values: Mapping[str, object], where: str) -> None:
    for name in values:
        if name not in _READ:
            close = difflib.get_close_matches(name, _READ, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "take it out; id and target are needed"
            raise InputError(f"{where}: unknown field {name!r}; {hint}")


def _confidence(values: Mapping[str, object], where: str) -> float | None:
    confidence = values.get("confidence")
    if confidence is None:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InputError(f"{where}: confidence must be a probability from 0 to 1, not {confidence!r}")
    return float(confidence)
