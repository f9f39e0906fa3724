"""Segments in the first sheet of an Excel workbook. Only cells with new texts change; all else keeps its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import regex

from mtagent.errors import InputError, OutputError
from mtagent.formats.documents import ByteEdit, content_of, with_edits
from mtagent.formats.files import replacing
from mtagent.formats.segments import (
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    SegmentFields,
    named_fields,
    paired,
    segments_from,
    without_source,
)
from mtagent.formats.xml_spans import INVALID, XmlFile
from mtagent.formats.zip_parts import ZipParts
from mtagent.records import Segment

_SHARED = "xl/sharedStrings.xml"
_LONGEST_TEXT = 32_767  # characters of a cell
_CELL_NAME = regex.compile(r"(?P<column>[A-Z]{1,3})(?P<row>[1-9]\d*)")


@dataclass(slots=True)
class _Cell:
    """A cell at the bytes ``start`` to ``end`` of the sheet."""

    start: int
    end: int
    text: str
    style: str
    is_formula: bool = False


@dataclass(slots=True)
class _Row:
    """A row with its cells by column, from 0; new cells can be inserted before the byte ``end``."""

    number: int
    end: int
    cells: dict[int, _Cell] = field(default_factory=dict)


class _Sheet:
    """The first sheet of a workbook. Raises :class:`InputError`."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.path = path
        self.data = content_of(path, longest_line=None)
        self.zip = ZipParts(path, self.data)
        self.part = self._first_sheet()
        self.file = XmlFile(Path(f"{path}/{self.part}"), self.zip.read(self.part))
        self.rows = list(self._rows(self._shared_texts()))
        while self.rows and not any(cell.text.strip() for cell in self.rows[0].cells.values()):
            del self.rows[0]
        if not self.rows:
            raise InputError(f"{path}: its first sheet is empty; the first row must name the columns")
        header = self.rows.pop(0)
        self.header = header
        self.rows = [row for row in self.rows if any(cell.text.strip() for cell in row.cells.values())]
        self.width = max(header.cells) + 1
        self.names = [header.cells[at].text if at in header.cells else "" for at in range(self.width)]
        where = f"{path}:{header.number}"
        self.columns = named_fields(self.names, where, columns)
        if "source" not in self.columns:
            raise InputError(f"{where}: {without_source(self.names, self.columns)}")

    def text(self, row: _Row, name: str) -> str | None:
        """The text of a field; ``None`` for an empty cell, or if there is no such column."""
        at = self.columns.get(name)
        cell = None if at is None else row.cells.get(at)
        return None if cell is None or not cell.text else cell.text

    def refuse_formula(self, row: _Row) -> None:
        """Raise :class:`InputError` if the translation is a formula, which a text cannot replace without a trace."""
        column = self.columns.get("translation")
        cell = None if column is None else row.cells.get(column)
        if column is not None and cell is not None and cell.is_formula:
            place = f"{_letters(column)}{row.number}"
            raise InputError(
                f"{self.path}:{row.number}: the translation in {place} is a formula; copy the column, and paste its "
                "values in its place"
            )

    def _first_sheet(self) -> str:
        """The part that holds the first sheet of the workbook."""
        if "xl/workbook.xml" not in self.zip.names:
            raise InputError(f"{self.path}: isn't an Excel workbook")
        targets = {}
        relations = "xl/_rels/workbook.xml.rels"
        for token in XmlFile(Path(f"{self.path}/{relations}"), self.zip.read(relations)).tokens():
            if token.kind == "start" and token.value == "Relationship":
                targets[token.attributes.get("Id", "")] = token.attributes.get("Target", "")
        for token in XmlFile(Path(f"{self.path}/xl/workbook.xml"), self.zip.read("xl/workbook.xml")).tokens():
            if token.kind == "start" and token.value == "sheet":
                target = targets.get(token.attributes.get("r:id", ""), "")
                part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
                if part in self.zip.names:
                    return part
        raise InputError(f"{self.path}: has no sheet")

    def _shared_texts(self) -> list[str]:
        """The texts that cells refer to by number."""
        if _SHARED not in self.zip.names:
            return []
        texts: list[str] = []
        is_text, is_phonetic = False, False
        for token in XmlFile(Path(f"{self.path}/{_SHARED}"), self.zip.read(_SHARED)).tokens():
            if token.kind in ("start", "end"):
                begins = token.kind == "start"
                if token.value == "si" and begins:
                    texts.append("")
                is_text = begins if token.value == "t" else is_text
                is_phonetic = begins if token.value == "rPh" else is_phonetic
            elif token.kind in ("text", "cdata") and is_text and not is_phonetic:
                texts[-1] += token.value
        return texts

    def _rows(self, shared: list[str]) -> Iterator[_Row]:
        row: _Row | None = None
        cell: _Cell | None = None
        kind = ""
        column = 0
        is_value, is_phonetic = False, False
        for token in self.file.tokens():
            if token.kind == "start" and token.value == "row":
                written = token.attributes.get("r", "")
                number = row.number + 1 if row else 1
                if written.isdecimal():
                    number = int(written)
                row, column = _Row(number, 0), -1
            elif token.kind == "end" and token.value == "row" and row is not None:
                row.end = token.start
                yield row
            elif token.kind == "start" and token.value == "c" and row is not None:
                named = _CELL_NAME.fullmatch(token.attributes.get("r", ""))
                column = _number(named["column"]) if named else column + 1
                kind = token.attributes.get("t", "n")
                cell = _Cell(token.start, 0, "", token.attributes.get("s", ""))
            elif token.kind == "end" and token.value == "c" and row is not None and cell is not None:
                cell.end = max(token.end, token.start)
                if kind == "s" and cell.text:
                    cell.text = self._shared_text(cell.text, shared, row)
                row.cells[column] = cell
                cell = None
            elif token.value in ("v", "t") and token.kind in ("start", "end"):
                is_value = token.kind == "start"
            elif token.value == "rPh" and token.kind in ("start", "end"):
                is_phonetic = token.kind == "start"
            elif token.value == "f" and token.kind == "start" and cell is not None:
                cell.is_formula = True
            elif token.kind in ("text", "cdata") and is_value and not is_phonetic and cell is not None:
                cell.text += token.value

    def _shared_text(self, number: str, shared: Sequence[str], row: _Row) -> str:
        """The text that a cell refers to. Raises :class:`InputError` if there is none."""
        if not number.isdecimal() or int(number) >= len(shared):
            raise InputError(f"{self.path}:{row.number}: a cell refers to the text {number!r}, which isn't there")
        return shared[int(number)]

    def cell_markup(self, row: _Row, column: int, text: str) -> str:
        """A cell with a text."""
        cell = row.cells.get(column)
        style = f' s="{cell.style}"' if cell is not None and cell.style else ""
        content = f'<is><t xml:space="preserve">{self.file.escaped(text)}</t></is>'
        return f'<c r="{_letters(column)}{row.number}"{style} t="inlineStr">{content}</c>'

    def edit(self, row: _Row, column: int, text: str) -> ByteEdit:
        """The change that gives a cell a text. Raises :class:`OutputError` for one that a cell cannot hold."""
        where = f"{self.path}: the text for the cell {_letters(column)}{row.number}"
        invalid = INVALID.search(text)
        if invalid:
            raise OutputError(f"{where} has the character U+{ord(invalid[0]):04X}; write .csv or .jsonl")
        if len(text) > _LONGEST_TEXT:
            raise OutputError(f"{where} has {len(text):,} characters, and Excel takes {_LONGEST_TEXT:,}; write .csv")
        data = self.file.encoded(self.cell_markup(row, column, text))
        cell = row.cells.get(column)
        if cell is not None:
            return ByteEdit(cell.start, cell.end, data)
        later = [other.start for at, other in row.cells.items() if at > column]
        place = min(later, default=row.end)
        return ByteEdit(place, place, data)


def _number(letters: str) -> int:
    """The column, from 0: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


@dataclass(frozen=True)
class Workbook:
    """One segment per row of the first sheet, whose first row names the columns."""

    name: str = "xlsx"
    suffixes: tuple[str, ...] = (".xlsx",)
    columns: Mapping[str, str] = field(default_factory=dict)
    """The user's names of some fields, by field."""

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield the segments; an empty cell is a missing field. The numbers in errors are those of rows."""

        def records() -> Iterator[SegmentFields]:
            sheet = _Sheet(path, self.columns)
            names = {name: sheet.names[at] for name, at in sheet.columns.items()}
            for row in sheet.rows:
                sheet.refuse_formula(row)
                values = {name: sheet.text(row, name) for name in sheet.columns}
                values["source"] = values["source"] or ""
                yield SegmentFields(row.number, values, names)

        return segments_from(records(), defaults, path, "column")

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write the workbook ``like`` with the texts in its translation column, or in a new one after the others.

        Raises :class:`OutputError` without ``like``: no workbook is made from nothing.
        """
        if like is None:
            raise OutputError(
                f"{path}: a workbook is only written like the whole one that was read; write .csv, or leave --limit out"
            )
        sheet = _Sheet(like, self.columns)
        target = sheet.columns.get("translation", sheet.width)
        edits = []
        if target == sheet.width:
            edits.append(sheet.edit(sheet.header, target, "translation"))
        entries = []
        for number, row in enumerate(sheet.rows, start=1):
            entries.append((sheet.text(row, "id") or str(number), row.number, row))
        count = 0
        for row, result in paired(iter(entries), results, path, like, lambda row: sheet.text(row, "source") or ""):
            count += 1
            cell = row.cells.get(target)
            if result.text != (cell.text if cell else ""):
                edits.append(sheet.edit(row, target, result.text))
        content = with_edits(sheet.file.data, edits)
        with replacing(path) as sink:
            sink.write_bytes(with_edits(sheet.data, sheet.zip.edits({sheet.part: content} if edits else {})))
        return count


WORKBOOK = Workbook()
