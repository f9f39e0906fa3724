"""Rows of CSV and TSV files, read so that each can be written back exactly as it was."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import Line

# The csv module refuses cells of more than 131,072 characters; this is the most that it can take on every system.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))


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
    return _quoted_rows(lines, dialect, path) if dialect.quoted else _plain_rows(lines, dialect)


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


def _plain_rows(lines: Iterable[Line], dialect: Dialect) -> Iterator[Row]:
    for line in lines:
        yield Row(line.number, line.text.split(dialect.delimiter), line.text + line.end, line.end)


def _quoted_rows(lines: Iterable[Line], dialect: Dialect, path: Path) -> Iterator[Row]:
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
            raise InputError(f"{path}:{taken[0].number}: {_explained(error)}") from error
        if cells is None:
            return
        if taken[-1].text.endswith("\r"):  # the reader would drop it without a word
            raise InputError(f"{path}:{taken[-1].number}: {_STRAY_RETURN}")
        yield Row(taken[0].number, cells or [""], "".join(line.text + line.end for line in taken), taken[-1].end)


_STRAY_RETURN = "a carriage return outside of quotes; quote the cell, or convert the line ends to \\n"


def _explained(error: csv.Error) -> str:
    message = str(error)
    if "unexpected end" in message:
        return "a quote opens here and is never closed"
    if "expected after" in message:
        return "text after a closing quote; write a quote inside a quoted cell twice"
    return _STRAY_RETURN if "new-line" in message else message


def rendered(cells: Sequence[str], dialect: Dialect, where: str, always: bool = False) -> str:
    """The cells as one row without its line end, quoted where it must be, or ``always``.

    Raises :class:`OutputError`, beginning with ``where``, for a cell that does not fit into a file without quotes.
    """
    if dialect.quoted:
        # Not csv.writer: it does not quote a carriage return when lines end with a line feed.
        alone = len(cells) == 1 and not cells[0]
        return dialect.delimiter.join(_quoted(cell, dialect.delimiter, always or alone) for cell in cells)
    if any(dialect.delimiter in cell or "\n" in cell for cell in cells) or cells[-1].endswith("\r"):
        reason = "a tab or a line break does not fit into a TSV without quotes"
        raise OutputError(f"{where}: {reason}; use --format tsv-quoted, csv or jsonl")
    return dialect.delimiter.join(cells)


def restyled(cells: Sequence[str], row: Row, dialect: Dialect, where: str) -> str:
    """The cells as a row that is quoted as ``row`` was, every cell or only where it must be, and ends as it did."""
    always = dialect.quoted and rendered(row.cells, dialect, where, always=True) + row.end == row.raw
    return rendered(cells, dialect, where, always) + row.end


def _quoted(cell: str, delimiter: str, always: bool) -> str:
    if always or any(mark in cell for mark in (delimiter, '"', "\r", "\n")):
        doubled = cell.replace('"', '""')
        return f'"{doubled}"'
    return cell
