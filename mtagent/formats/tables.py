"""CSV and TSV: one segment per row, with a header that names the columns."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import Line, Sink, byte_order_mark, lines_of, replacing
from mtagent.formats.segments import (
    FIELDS,
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    named_fields,
    paired,
    segment,
    suggested,
    unique,
)
from mtagent.records import Segment

logger = logging.getLogger("mtagent.formats")

# The csv module refuses cells of more than 131,072 characters; this is the most that it can take on every system.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))

_STRAY_RETURN = "a carriage return outside of quotes; quote the cell, or convert the line ends to \\n"
_CSV_ERRORS = {
    "unexpected end": "a quote opens here and is never closed",
    "expected after": "text after a closing quote; write a quote inside a quoted cell twice",
    "new-line": _STRAY_RETURN,
}
"""What the messages of Python's csv module mean for the user."""


class Dialect(NamedTuple):
    """How cells are set apart. Where they are not ``quoted``, a quote is a character like any other."""

    delimiter: str
    quoted: bool


class Row(NamedTuple):
    """A row: the line that it starts in, its cells, the very characters that it consists of, and its line end."""

    line: int
    cells: list[str]
    raw: str
    end: str


def rows(lines: Iterable[Line], dialect: Dialect, path: Path) -> Iterator[Row]:
    """Yield the rows of a file. An empty line is a row with one empty cell.

    Raises :class:`InputError` for misplaced quotes and for line breaks and carriage returns outside of quotes.
    """
    if not dialect.quoted:
        for line in lines:
            yield Row(line.number, line.text.split(dialect.delimiter), line.text + line.end, line.end)
        return
    taken: list[Line] = []

    def fed() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line.text + line.end

    reader = csv.reader(fed(), delimiter=dialect.delimiter, strict=True)
    while True:
        taken.clear()
        try:
            cells = next(reader, None)
        except csv.Error as error:
            why = next((told for part, told in _CSV_ERRORS.items() if part in str(error)), str(error))
            raise InputError(f"{path}:{taken[0].number}: {why}") from error
        if cells is None:
            return
        if taken[-1].text.endswith("\r"):  # the reader would drop it without a word
            raise InputError(f"{path}:{taken[-1].number}: {_STRAY_RETURN}")
        yield Row(taken[0].number, cells or [""], "".join(line.text + line.end for line in taken), taken[-1].end)


def table_rows(all_rows: Iterable[Row], columns: int, dialect: Dialect, path: Path) -> Iterator[Row]:
    """Yield rows of ``columns`` cells. Empty lines at the end of the file are left out; any other row is an error."""
    blank: Row | None = None
    for row in all_rows:
        if columns > 1 and row.cells == [""]:
            blank = blank or row
            continue
        if blank:
            raise InputError(f"{path}:{blank.line}: an empty line between the rows; delete it")
        if len(row.cells) != columns:
            hint = "" if dialect.quoted or '"' not in row.raw else "; if its cells are quoted, use --format tsv-quoted"
            raise InputError(f"{path}:{row.line}: {len(row.cells)} columns instead of {columns}{hint}")
        yield row


def rendered(cells: Sequence[str], dialect: Dialect, where: str, like: Row | None = None) -> str:
    """The cells as one row, quoted where they must be, or all if all of ``like`` were; it ends as ``like`` does.

    Raises :class:`OutputError`, beginning with ``where``, for a cell that does not fit into a file without quotes.
    """
    end = like.end if like else "\n"
    if not dialect.quoted:
        if any(dialect.delimiter in cell or "\n" in cell for cell in cells) or cells[-1].endswith("\r"):
            reason = "a tab or a line break does not fit into a TSV without quotes"
            raise OutputError(f"{where}: {reason}; use --format tsv-quoted, csv or jsonl")
        return dialect.delimiter.join(cells) + end
    # Not csv.writer: it does not quote a carriage return when lines end with a line feed.
    special = (dialect.delimiter, '"', "\r", "\n")
    every = list(cells) == [""] or (
        like is not None and dialect.delimiter.join(map(_quoted, like.cells)) + end == like.raw
    )
    texts = (_quoted(cell) if every or any(mark in cell for mark in special) else cell for cell in cells)
    return dialect.delimiter.join(texts) + end


def _quoted(cell: str) -> str:
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


class Layout(NamedTuple):
    """What the header of a table says: its dialect, its columns, and which of them holds which field."""

    dialect: Dialect
    names: tuple[str, ...]
    fields: dict[str, int]
    header: Row | None = None


@dataclass(frozen=True)
class Table:
    """CSV, where cells may be quoted and then hold line breaks, or plain TSV, where a quote is a character like any.

    ``delimiters`` are tried on the header in this order; the first that yields a source column is the file's. A file
    without a header is read where ``columns`` names its columns. Columns that are no fields are carried through.
    """

    name: str
    suffixes: tuple[str, ...]
    delimiters: str
    quoted: bool
    columns: tuple[str, ...] | None = None

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per row. An empty cell is a missing field; an empty source is an empty segment."""
        layout, table = self._opened(path)
        for field, index in layout.fields.items():
            if layout.names[index] != field:
                logger.info("%s: column %r is read as %s", path, layout.names[index], field)

        def segments() -> Iterator[tuple[int, Segment]]:
            for number, row in enumerate(table, start=1):
                values: dict[str, str | None] = {field: row.cells[at] or None for field, at in layout.fields.items()}
                if values["source"] is None:
                    values["source"] = ""
                    if "translation" in values:  # nothing to translate, so the empty translation is complete
                        values["translation"] = values["translation"] or ""
                yield row.line, segment(values, defaults, number, f"{path}:{row.line}")

        return unique(segments(), path) if "id" in layout.fields else (segment for _, segment in segments())

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one row per result.

        The texts go to the translation column of ``like``, or to a new one after the others. A row that does not
        change is copied as it is; a row that does keeps its style of quoting.
        """
        with replacing(path) as sink:
            return self._write_like(sink, results, like) if like else self._write_plain(sink, results)

    def _opened(self, path: Path) -> tuple[Layout, Iterator[Row]]:
        """The layout of a file and its rows. A TSV header in quotes says that the cells are quoted too."""
        lines = lines_of(path)
        if self.columns:
            fields = named_fields(self.columns, f"{path}: columns")
            layout = Layout(Dialect(self.delimiters[0], self.quoted), self.columns, fields)
        else:
            header = next(lines, None)
            if header is None:
                raise InputError(f"{path}: is empty; the first line must name the columns")
            quoted = self.quoted or all(
                len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in header.text.split(self.delimiters[0])
            )
            layouts = [_layout(header, Dialect(delimiter, quoted), path) for delimiter in self.delimiters]
            layout = next((layout for layout in layouts if "source" in layout.fields), layouts[0])
        if "source" not in layout.fields:
            listed = ", ".join(map(repr, layout.names))
            hint = next(filter(None, map(suggested, layout.names)), "; the first line must name the columns")
            raise InputError(f"{path}:1: no column 'source' among {listed}{hint}")
        return layout, table_rows(rows(lines, layout.dialect, path), len(layout.names), layout.dialect, path)

    def _write_plain(self, sink: Sink, results: Iterable[Result]) -> int:
        dialect = Dialect(self.delimiters[0], self.quoted)
        sink.write(rendered(FIELDS, dialect, f"{sink.path}: the header"))
        count = 0
        for result in results:
            values = {**result.segment.model_dump(), "translation": result.text}
            sink.write(rendered([values[name] or "" for name in FIELDS], dialect, _where(sink, result)))
            count += 1
        return count

    def _write_like(self, sink: Sink, results: Iterable[Result], like: Path) -> int:
        sink.write(byte_order_mark(like))
        layout, table = self._opened(like)
        fields, columns = layout.fields, len(layout.names)
        at = fields.get("translation", columns)  # a new column comes after the others
        header = layout.header
        if header and at < columns:
            sink.write(header.raw)
        elif header:
            sink.write(rendered([*header.cells, "translation"], layout.dialect, f"{sink.path}: the header", header))
        count = 0
        entries = (
            ((row.cells[fields["id"]] if "id" in fields else "") or str(number), row.line, row)
            for number, row in enumerate(table, start=1)
        )
        for row, result in paired(entries, results, sink.path, like):
            cells = [*row.cells[:at], result.text, *row.cells[at + 1 :]]
            same = cells == row.cells
            sink.write(row.raw if same else rendered(cells, layout.dialect, _where(sink, result), row))
            count += 1
        return count


def _layout(header: Line, dialect: Dialect, path: Path) -> Layout:
    """The layout if ``dialect`` is the header's; one without columns where the header cannot be read so."""
    try:
        row = next(rows([header], dialect, path))
    except InputError:
        return Layout(dialect, (header.text,), {})
    return Layout(dialect, tuple(row.cells), named_fields(row.cells, f"{path}:1"), row)


def _where(sink: Sink, result: Result) -> str:
    return f"{sink.path}: segment {result.segment.id!r}"


CSV = Table("csv", (".csv",), ",;\t|", quoted=True)
TSV = Table("tsv", (".tsv", ".tab"), "\t", quoted=False)
TSV_QUOTED = Table("tsv-quoted", (), "\t", quoted=True)
