"""Localization files as documents: units to read, and targets that are replaced in the user's own bytes.

A document keeps the bytes of its file and the places of all targets in them. What is not a new target stays as it is,
byte for byte. Inline tags are short placeholders in a unit's texts (``<1>bold</1>``, ``<2/>``), whose markup is in
``TranslationUnit.inline``. They may be moved, and none may be lost or invented::

    document = formats.document_format(path).open(path)
    for unit in document.units: ...
    data = replaced(document, {unit.id: "Neuer <1>Text</1>"})
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import regex

from mtagent.errors import InputError
from mtagent.formats.files import opened, parsed_lines

PLACEHOLDER = regex.compile(r"<(?P<closes>/)?(?P<number>[0-9]{1,9})(?P<empty>/)?>")
_SHOWN_ID = 80
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True)
class PluralForm:
    """Which form of a plural a unit is: its ``number`` from 0, of ``count`` forms, chosen by the language's ``rule``.

    ``rule`` is an expression in ``n`` as in PO headers; ``examples`` are counts for which it chooses this form.
    ``category`` is the form's name in formats that use those of the CLDR (``one``, ``few``, ``other``).
    """

    number: int
    count: int
    rule: str | None = None
    examples: tuple[int, ...] = ()
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationUnit:
    """A text to translate. ``id`` is unique in its document, ``line`` is where it begins in the file."""

    id: str
    source: str
    target: str | None  # None: the file has no place for it yet
    state: str | None = None  # in the words of the file's format
    locked: bool = False  # locked, approved, signed off or not to be translated: never changed
    notes: tuple[str, ...] = ()
    context: str | None = None
    max_length: int | None = None  # in characters
    max_width: str | None = None  # in another unit, such as "120 pixel"
    plural: PluralForm | None = None
    inline: Mapping[str, str] = field(default_factory=dict)  # placeholder: markup
    source_lang: str | None = None
    target_lang: str | None = None
    line: int = 0


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


def content_of(path: Path) -> bytes:
    """The bytes of a file. Raises :class:`InputError` if it cannot be read, or is empty."""
    with opened(path) as file:
        data = file.read()
    if not data.strip():
        raise InputError(f"{path}: is empty")
    return data


def marked_encoding(data: bytes) -> tuple[bytes, str | None]:
    """The byte order mark that ``data`` begins with, and its encoding; ``b""`` and ``None`` without a mark."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return mark, encoding
    return b"", None


def decoded(path: Path, data: bytes) -> DecodedFile:
    """A file in UTF-8, or in UTF-16 with a byte order mark. Raises :class:`InputError` for other encodings."""
    mark, encoding = marked_encoding(data)
    try:
        return DecodedFile(mark, encoding or "utf-8", data[len(mark) :].decode(encoding or "utf-8"))
    except UnicodeDecodeError as error:
        start = len(mark) + error.start
        line = data.count(b"\n", 0, start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[start]:02X} is not {encoding or 'UTF-8'}; convert the file first, for "
            "example: iconv -f WINDOWS-1252 -t UTF-8"
        ) from None


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
    lines: dict[str, int] = {}
    for unit in units:
        if unit.id in lines:
            raise InputError(
                f"{path}:{unit.line}: the id {shown_id(unit.id)} is already used in line {lines[unit.id]}; "
                "ids must be unique because targets are written by id"
            )
        lines[unit.id] = unit.line


def shown_id(unit_id: str) -> str:
    """An id for a message, shortened; ids of PO files are whole texts."""
    return repr(unit_id if len(unit_id) <= _SHOWN_ID else unit_id[: _SHOWN_ID - 1] + "…")


def replaced(document: LocalizationFile, targets: Mapping[str, str]) -> bytes:
    """The file's bytes with these targets by id; targets that the file already has change nothing.

    Raises :class:`InputError` for unknown ids and for targets that :func:`fault` refuses.
    """
    units = {unit.id: unit for unit in document.units}
    changed = {}
    for unit_id, target in targets.items():
        unit = units.get(unit_id)
        if unit is None:
            raise InputError(f"{document.path}: has no unit {shown_id(unit_id)}")
        if target == unit.target:
            continue
        problem = fault(document, unit, target)
        if problem:
            raise InputError(f"{document.path}:{unit.line}: the new target of {shown_id(unit_id)} {problem}")
        changed[unit_id] = target
    pieces = []
    position = 0
    for edit in sorted(document.edits(changed), key=lambda edit: (edit.start, edit.end)):
        pieces += [document.data[position : edit.start], edit.data]
        position = edit.end
    return b"".join([*pieces, document.data[position:]])


def fault(document: LocalizationFile, unit: TranslationUnit, target: str) -> str | None:
    """Why ``target`` cannot be the unit's new target, as the end of a sentence; ``None`` if it can."""
    if unit.locked:
        return "is not written: the unit is locked or approved; unlock it in the file, or leave it out"
    return placeholder_fault(unit, target) or document.fault(unit, target)


def placeholder_fault(unit: TranslationUnit, target: str) -> str | None:
    """Which placeholder ``target`` loses, invents or puts in the wrong order; ``None`` if it has none of that."""
    needed = Counter(placeholders(unit, unit.source))
    allowed = needed | Counter(placeholders(unit, unit.target or ""))
    order = placeholders(unit, target)
    used = Counter(order)
    lost = sorted(needed - used)
    if lost:
        return f"loses {' '.join(lost)}, which the source has; put it back"
    invented = sorted(used - allowed)
    if invented:
        return f"has {' '.join(invented)} once too often; take it out"
    still_open: list[str] = []
    for placeholder in order:
        if placeholder.startswith("</"):
            opening = "<" + placeholder[2:]
            if opening not in still_open:
                return f"has {placeholder} before {opening}; swap them"
            if unit.inline[placeholder].startswith("</") and not _nests(unit, still_open, opening):
                return f"has {placeholder} within another pair of tags; close the inner pair first"
            still_open.remove(opening)
        elif not placeholder.endswith("/>"):
            still_open.append(placeholder)
    return None


def _nests(unit: TranslationUnit, still_open: list[str], opening: str) -> bool:
    """Whether ``opening`` is the innermost of the open elements. Codes that only mark a place may cross."""
    elements = [tag for tag in still_open if unit.inline.get("</" + tag[1:], "").startswith("</")]
    return elements[-1] == opening


def placeholders(unit: TranslationUnit, text: str) -> list[str]:
    """The placeholders in ``text``, in order, without what only looks like one in the unit's own texts."""
    known = f"{unit.source} {unit.target or ''}"
    literal = {match[0] for match in PLACEHOLDER.finditer(known) if match[0] not in unit.inline}
    return [match[0] for match in PLACEHOLDER.finditer(text) if match[0] not in literal]


def read_targets(path: Path, document: LocalizationFile) -> dict[str, str]:
    """The targets in a file of JSON Lines, by the ids of the document's units.

    An object has ``id`` and ``target`` (or ``translation``), and perhaps ``source`` and ``file``, which must fit. One
    without a target changes nothing. Raises :class:`InputError` with file, line and id of the first that doesn't fit.
    """
    units = {unit.id: unit for unit in document.units}
    targets: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, values in parsed_lines(path):
        where = f"{path}:{number}"
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
        if target is None or target == unit.target:
            continue
        if not isinstance(target, str):
            raise InputError(f"{where}: the target of {shown_id(unit.id)} must be a text, not {type(target).__name__}")
        problem = fault(document, unit, target)
        if problem:
            raise InputError(f"{where}: the target of {shown_id(unit.id)} {problem}")
        targets[unit.id] = target
    return targets
