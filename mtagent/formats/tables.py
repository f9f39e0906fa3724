"""Tables in text files: how each of them is read, and the formats of segments that are tables, CSV and TSV.

:func:`open_table` owns what all tables share: delimiter, quotes, the header, line numbers in errors. Glossaries, notes,
annotations, decisions and scores are read through it; what their columns mean is theirs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import TextLine, byte_order_mark, encoding_of, lines_of, write_pieces
from mtagent.formats.segments import (
    FIELDS,
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    SegmentFields,
    field_called,
    named_fields,
    paired,
    segments_from,
    without_source,
)
from mtagent.records import Segment

# The csv module refuses cells of more than 131,072 characters; this is the most that it can take on every system.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))

NAME_THE_COLUMNS = "the first line must name the columns"
_STRAY_RETURN = "a carriage return outside of quotes; quote the cell, or convert the line ends to \\n"
_CSV_ERRORS = {
    "unexpected end": "a quote opens here and is never closed",
    "expected after": "text after a closing quote; write a quote inside a quoted cell twice",
    "new-line": _STRAY_RETURN,
}
"""What the messages of Python's csv module mean for the user."""

_SEPARATOR_LINE = re.compile(r"sep=([,;\t])[,;\t ]*", re.IGNORECASE)
"""The line before the header that tells Excel which character separates cells."""


class Dialect(NamedTuple):
    """How cells are separated. In a dialect that is not ``quoted``, a quote is a character like any other."""

    delimiter: str
    quoted: bool


class FileRow(NamedTuple):
    """A row of a file."""

    line: int
    """The line that the row starts in, from 1."""
    cells: list[str]
    raw: str
    """The characters that the row consists of, with its line end."""
    end: str


@dataclass(frozen=True)
class OpenTable:
    """A table whose header has been read."""

    path: Path
    dialect: Dialect
    header: FileRow
    """Where the file has no header, one of no characters, in line 0."""
    names: tuple[str, ...]
    """The columns, in their plain spelling."""
    rows: Iterator[FileRow]
    """The rows below the header, each with as many cells as there are names. They can be read once."""

    def records(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield ``FILE:LINE`` of each row, and its cells by column."""
        for row in self.rows:
            yield f"{self.path}:{row.line}", dict(zip(self.names, row.cells, strict=True))

    def require(self, columns: Iterable[str], way_out: str = NAME_THE_COLUMNS) -> None:
        """Raise :class:`InputError` for the first of ``columns`` that the header lacks."""
        missing = [column for column in columns if column not in self.names]
        if not missing:
            return
        meant = [column for name in self.names for column in get_close_matches(name, missing, n=1)]
        hint = f"did you mean {meant[0]!r}?" if meant else way_out
        written = ", ".join(map(repr, self.header.cells))
        raise InputError(f"{self._head}: no column {missing[0]!r} among {written}; {hint}")

    def refuse_unknown(self, known: Sequence[str]) -> None:
        """Raise :class:`InputError` for a column that is not one of the ``known``."""
        for name in self.names:
            if name in known:
                continue
            near = get_close_matches(name, [column for column in known if column not in self.names], n=1)
            hint = f"the columns are {', '.join(known)}"
            if near:
                hint = f"did you mean {near[0]!r}?"
            elif not set(known).intersection(self.names):
                hint = f"{NAME_THE_COLUMNS}: {', '.join(known)}"
            raise InputError(f"{self._head}: unknown column {name!r}; {hint}")

    def refuse_repeated(self, *, nameless: bool = True) -> None:
        """Raise :class:`InputError` where two columns have one name, or none unless ``nameless`` is false."""
        for name in self.names:
            if self.names.count(name) > 1 and (name or nameless):
                raise InputError(f"{self._head}: two columns are called {name!r}; keep one")

    @property
    def _head(self) -> str:
        return f"{self.path}:{self.header.line}"


def open_table(
    path: Path,
    delimiters: str,
    *,
    quoted: bool | None = None,
    required: Collection[str] = (),
    columns: Sequence[str] | None = None,
    plain: Callable[[str], str] = str,
    empty: str = NAME_THE_COLUMNS,
    separator_line: bool = False,
    encoding: str = "utf-8",
) -> OpenTable:
    """Open a table and read its header.

    The delimiter is the first of ``delimiters`` in the header that cuts it into columns with all the ``required``
    ones. If none does, it is the first one in the header; :meth:`OpenTable.require` then reports what
    is missing. ``quoted=None``: cells may be quoted if all cells of the header are. ``columns`` are the names in a file
    without a header. ``plain`` gives the plain spelling of a name. With ``separator_line`` the line ``sep=;`` may come
    before the header. Raises :class:`InputError` for an empty file, for which ``empty`` is the way out, and for
    misplaced quotes.
    """
    lines = lines_of(path, encoding)
    first = next(lines, None)
    if first is not None and separator_line:
        separator = _SEPARATOR_LINE.fullmatch(first.text)
        if separator is not None:
            delimiters = separator[1]
            first = next(lines, None)
    if first is None:
        raise InputError(f"{path}: is empty; {empty}")
    if quoted is None:  # the cells of the rows may be quoted if those of the header are, whatever the file is called
        quoted = all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in first.text.split(delimiters[0]))
    dialects = [Dialect(mark, quoted) for mark in delimiters if mark in first.text] or [Dialect(delimiters[0], quoted)]
    dialect = dialects[0]
    for candidate in dialects:
        with suppress(InputError):  # another delimiter may be able to read it
            cells = next(_rows([first], candidate, path)).cells
            if set(required) <= set(map(plain, cells)):
                dialect = candidate
                break
    all_lines = chain([first], lines)
    if columns is None:
        rows = _rows(all_lines, dialect, path)
        header = next(rows)
    else:
        rows = _rows(all_lines, dialect, path, len(columns))
        header = FileRow(0, list(columns), "", "")
    return OpenTable(path, dialect, header, tuple(map(plain, header.cells)), rows)


def _rows(lines: Iterable[TextLine], dialect: Dialect, path: Path, columns: int | None = None) -> Iterator[FileRow]:
    """Yield the rows of a file, each of ``columns`` cells, or of as many as the first row has.

    Empty lines at the end of the file are left out, except in a table of one column, where they are empty cells. Raises
    :class:`InputError` for rows of another length, for misplaced quotes, and for line breaks and carriage returns
    outside of quotes.
    """
    blank: FileRow | None = None
    rows = _quoted_rows(lines, dialect.delimiter, path) if dialect.quoted else _plain_rows(lines, dialect.delimiter)
    for row in rows:
        if columns is None:
            columns = len(row.cells)
        if columns > 1 and row.cells == [""]:
            blank = blank or row
            continue
        if blank is not None:
            raise InputError(f"{path}:{blank.line}: an empty line between the rows; delete it")
        if len(row.cells) != columns:
            hint = ""
            if not dialect.quoted and '"' in row.raw:
                hint = "; if its cells are quoted, use --format tsv-quoted"
            raise InputError(f"{path}:{row.line}: {len(row.cells)} columns instead of {columns}{hint}")
        yield row


def _plain_rows(lines: Iterable[TextLine], delimiter: str) -> Iterator[FileRow]:
    for line in lines:
        yield FileRow(line.number, line.text.split(delimiter), line.text + line.end, line.end)


def _quoted_rows(lines: Iterable[TextLine], delimiter: str, path: Path) -> Iterator[FileRow]:
    row_lines: list[TextLine] = []  # those of the row that is being read

    def raw_lines() -> Iterator[str]:
        for line in lines:
            row_lines.append(line)
            yield line.text + line.end

    reader = csv.reader(raw_lines(), delimiter=delimiter, strict=True)
    while True:
        row_lines.clear()
        try:
            cells = next(reader, None)
        except csv.Error as error:
            meanings = [meaning for part, meaning in _CSV_ERRORS.items() if part in str(error)]
            raise InputError(f"{path}:{row_lines[0].number}: {(meanings or [str(error)])[0]}") from error
        if cells is None:
            return
        first, last = row_lines[0], row_lines[-1]
        if last.text.endswith("\r"):  # the csv module would drop it silently
            raise InputError(f"{path}:{last.number}: {_STRAY_RETURN}")
        raw = "".join(line.text + line.end for line in row_lines)
        yield FileRow(first.number, cells or [""], raw, last.end)


def rendered(cells: Sequence[str], dialect: Dialect, where: str, like: FileRow | None = None) -> str:
    """The cells as one row, with quotes where needed, or all quoted if all of ``like`` are; it ends as ``like`` does.

    Raises :class:`OutputError`, beginning with ``where``, for a cell that does not fit into a file without quotes.
    """
    end = "\n" if like is None else like.end
    if not dialect.quoted:
        if any(dialect.delimiter in cell or "\n" in cell for cell in cells) or cells[-1].endswith("\r"):
            reason = "a tab or a line break does not fit into a TSV without quotes"
            raise OutputError(f"{where}: {reason}; use --format tsv-quoted, csv or jsonl")
        return dialect.delimiter.join(cells) + end
    quote_all = list(cells) == [""]
    if like is not None and dialect.delimiter.join(map(_quoted, like.cells)) + end == like.raw:
        quote_all = True
    # Not csv.writer: it does not quote a carriage return when lines end with a line feed.
    special = (dialect.delimiter, '"', "\r", "\n")
    written = []
    for cell in cells:
        must_quote = quote_all or any(mark in cell for mark in special)
        written.append(_quoted(cell) if must_quote else cell)
    return dialect.delimiter.join(written) + end


def _quoted(cell: str) -> str:
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


@dataclass(frozen=True)
class SegmentTable:
    """One segment per row: CSV, whose cells may be quoted and may then hold line breaks, or plain TSV.

    Columns that are not fields of a segment are carried through.
    """

    name: str
    suffixes: tuple[str, ...]
    delimiters: str
    """The first that yields a source column is the file's."""
    quoted: bool
    columns: Mapping[str, str] = field(default_factory=dict)
    """The user's names of some fields, by field."""
    encoding: str | None = None
    """``None`` = UTF-8, or UTF-16 with a byte order mark."""

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per row. An empty cell is a missing field; an empty source is an empty segment."""

        def records() -> Iterator[SegmentFields]:
            table, columns = self._opened(path)
            names = {field: table.header.cells[column] for field, column in columns.items()}
            for row in table.rows:
                values = {field: row.cells[column] or None for field, column in columns.items()}
                if values["source"] is None:
                    values["source"] = ""
                    if "translation" in values:  # nothing to translate, so the empty translation is complete
                        values["translation"] = values["translation"] or ""
                yield SegmentFields(row.line, values, names)

        return segments_from(records(), defaults, path, "column")

    def _opened(self, path: Path) -> tuple[OpenTable, dict[str, int]]:
        """The file, and which of its columns holds which field."""
        quoted = True if self.quoted else None
        user_names = {name.strip().casefold(): field for field, name in self.columns.items()}

        def plain(name: str) -> str:
            return user_names.get(name.strip().casefold()) or field_called(name)

        encoding = encoding_of(path, self.encoding)
        table = open_table(path, self.delimiters, quoted=quoted, required=("source",), plain=plain, encoding=encoding)
        columns = named_fields(table.header.cells, f"{path}:{table.header.line}", self.columns)
        if "source" not in columns:
            raise InputError(f"{path}:{table.header.line}: {without_source(table.header.cells, columns)}")
        return table, columns

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one row per result.

        The texts go to the translation column of ``like``, or to a new one after the others. A row that does not
        change is copied as it is; a row that does keeps its style of quoting.
        """
        if like is None:
            return self._write_plain(path, results)
        encoding = encoding_of(like, self.encoding)
        mark = byte_order_mark(like, encoding)
        table, columns = self._opened(like)
        dialect, header = table.dialect, table.header
        target = columns.get("translation", len(header.cells))  # a new column comes after the others
        head = header.raw
        if target == len(header.cells):
            head = rendered([*header.cells, "translation"], dialect, f"{path}: the header", header)

        def entries() -> Iterator[tuple[str, int, FileRow]]:
            for number, row in enumerate(table.rows, start=1):
                written_id = row.cells[columns["id"]] if "id" in columns else ""
                yield written_id or str(number), row.line, row

        def rows() -> Iterator[str]:
            source = columns["source"]
            for row, result in paired(entries(), results, path, like, lambda row: row.cells[source]):
                cells = [*row.cells[:target], result.text, *row.cells[target + 1 :]]
                if cells == row.cells:
                    yield row.raw
                else:
                    yield rendered(cells, dialect, f"{path}: segment {result.segment.id!r}", row)

        return write_pieces(path, mark + head, rows(), encoding)

    def _write_plain(self, path: Path, results: Iterable[Result]) -> int:
        """Write all fields of the segments, under their own names."""
        dialect = Dialect(self.delimiters[0], self.quoted)

        def rows() -> Iterator[str]:
            for result in results:
                values = result.segment.model_dump() | {"translation": result.text}
                cells = [str(values[name] or "") for name in FIELDS]
                yield rendered(cells, dialect, f"{path}: segment {result.segment.id!r}")

        return write_pieces(path, rendered(FIELDS, dialect, str(path)), rows())


CSV = SegmentTable("csv", (".csv",), ",;\t|", quoted=True)
TSV = SegmentTable("tsv", (".tsv", ".tab"), "\t", quoted=False)
TSV_QUOTED = SegmentTable("tsv-quoted", (), "\t", quoted=True)
