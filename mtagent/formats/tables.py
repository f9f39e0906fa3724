"""CSV and TSV: one segment per row, with a header that names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import Line, byte_order_mark, lines_of, write_pieces
from mtagent.formats.segments import (
    FIELDS,
    NO_DEFAULTS,
    Fields,
    Result,
    SegmentDefaults,
    named_fields,
    paired,
    segments_from,
    suggested,
)
from mtagent.records import Segment

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


def rows(lines: Iterable[Line], dialect: Dialect, path: Path, columns: int | None = None) -> Iterator[Row]:
    """Yield the rows of a file, each of ``columns`` cells, or of as many as the first row has.

    Empty lines at the end of the file are left out, but for those of a single column, which are empty cells. Raises
    :class:`InputError` for rows of another length, for misplaced quotes, and for line breaks and carriage returns
    outside of quotes.
    """
    mark, blank = dialect.delimiter, None
    plain = (Row(line.number, line.text.split(mark), line.text + line.end, line.end) for line in lines)
    for row in _quoted_rows(lines, dialect, path) if dialect.quoted else plain:
        columns = columns or len(row.cells)
        if columns > 1 and row.cells == [""]:
            blank = blank or row
            continue
        if blank:
            raise InputError(f"{path}:{blank.line}: an empty line between the rows; delete it")
        if len(row.cells) != columns:
            hint = "" if dialect.quoted or '"' not in row.raw else "; if its cells are quoted, use --format tsv-quoted"
            raise InputError(f"{path}:{row.line}: {len(row.cells)} columns instead of {columns}{hint}")
        yield row


def _quoted_rows(lines: Iterable[Line], dialect: Dialect, path: Path) -> Iterator[Row]:
    taken: list[Line] = []  # by the reader, for the present row

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
            why = next((meaning for part, meaning in _CSV_ERRORS.items() if part in str(error)), str(error))
            raise InputError(f"{path}:{taken[0].number}: {why}") from error
        if cells is None:
            return
        if taken[-1].text.endswith("\r"):  # the reader would drop it without a word
            raise InputError(f"{path}:{taken[-1].number}: {_STRAY_RETURN}")
        yield Row(taken[0].number, cells or [""], "".join(line.text + line.end for line in taken), taken[-1].end)


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
    """What the header of a table says: its dialect, and which of its columns holds which field."""

    dialect: Dialect
    header: Row
    fields: dict[str, int]


@dataclass(frozen=True)
class Table:
    """CSV, where cells may be quoted and then hold line breaks, or plain TSV, where a quote is a character like any.

    ``delimiters`` are tried on the header in this order; the first that yields a source column is the file's. Columns
    that are no fields are carried through.
    """

    name: str
    suffixes: tuple[str, ...]
    delimiters: str
    quoted: bool

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per row. An empty cell is a missing field; an empty source is an empty segment."""

        def records() -> Iterator[Fields]:
            layout, table = self._opened(path)
            names = {field: layout.header.cells[index] for field, index in layout.fields.items()}
            for row in table:
                values: dict[str, str | None] = {field: row.cells[at] or None for field, at in layout.fields.items()}
                if values["source"] is None:
                    values["source"] = ""
                    if "translation" in values:  # nothing to translate, so the empty translation is complete
                        values["translation"] = values["translation"] or ""
                yield Fields(row.line, values, names)

        return segments_from(records(), defaults, path, "column")

    def _opened(self, path: Path) -> tuple[Layout, Iterator[Row]]:
        """The layout of a file and its rows. A TSV header in quotes says that the cells are quoted too."""
        lines = lines_of(path)
        header = next(lines, None)
        if header is None:
            raise InputError(f"{path}: is empty; the first line must name the columns")
        quoted = self.quoted or all_quoted(header, self.delimiters[0])
        layouts = []
        for dialect in (Dialect(delimiter, quoted) for delimiter in self.delimiters):
            try:
                row = next(rows([header], dialect, path))
            except InputError:
                row = Row(1, [header.text], header.text, header.end)  # another delimiter may read it
            layouts.append(Layout(dialect, row, named_fields(row.cells, f"{path}:1")))
        layout = next((layout for layout in layouts if "source" in layout.fields), layouts[0])
        names = layout.header.cells
        if "source" not in layout.fields:
            hint = next(filter(None, map(suggested, names)), "; the first line must name the columns")
            raise InputError(f"{path}:1: no column 'source' among {', '.join(map(repr, names))}{hint}")
        return layout, rows(lines, layout.dialect, path, len(names))

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one row per result.

        The texts go to the translation column of ``like``, or to a new one after the others. A row that does not
        change is copied as it is; a row that does keeps its style of quoting.
        """
        if like is None:
            plain = Dialect(self.delimiters[0], self.quoted)
            values = (result.segment.model_dump() | {"translation": result.text} for result in results)
            lines = (
                rendered([str(fields[name] or "") for name in FIELDS], plain, f"{path}: segment {fields['id']!r}")
                for fields in values
            )
            return write_pieces(path, rendered(FIELDS, plain, str(path)), lines)
        mark = byte_order_mark(like)
        (dialect, header, fields), table = self._opened(like)
        columns = len(header.cells)
        at = fields.get("translation", columns)  # a new column comes after the others
        head = header.raw
        if at == columns:
            head = rendered([*header.cells, "translation"], dialect, f"{path}: the header", header)
        entries = (
            ((row.cells[fields["id"]] if "id" in fields else "") or str(number), row.line, row)
            for number, row in enumerate(table, start=1)
        )

        def changed() -> Iterator[str]:
            for row, result in paired(entries, results, path, like, lambda row: row.cells[fields["source"]]):
                cells = [*row.cells[:at], result.text, *row.cells[at + 1 :]]
                same = cells == row.cells
                yield row.raw if same else rendered(cells, dialect, f"{path}: segment {result.segment.id!r}", row)

        return write_pieces(path, mark + head, changed())


def all_quoted(header: Line, delimiter: str) -> bool:
    """Whether every cell of a header stands in quotes: then those of the rows may, whatever the file is called."""
    return all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in header.text.split(delimiter))


CSV = Table("csv", (".csv",), ",;\t|", quoted=True)
TSV = Table("tsv", (".tsv", ".tab"), "\t", quoted=False)
TSV_QUOTED = Table("tsv-quoted", (), "\t", quoted=True)
