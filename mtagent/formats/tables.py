"""CSV and TSV: one segment per row, with a header that names the columns."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import BOM, Line, Sink, has_bom, lines_of, replacing
from mtagent.formats.segments import (
    FIELDS,
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    extra_names,
    named_fields,
    paired,
    segment,
    suggested,
    unique,
)
from mtagent.records import Segment

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


logger = logging.getLogger("mtagent.formats")


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
        segments = ((row.line, _segment(row, number, layout, defaults, path)) for number, row in enumerate(table, 1))
        return unique(segments, path) if "id" in layout.fields else (one for _, one in segments)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one row per result.

        The texts go to the translation column of ``like``, or to a new one after the others. A row that does not
        change is copied as it is; a row that does keeps its style of quoting.
        """
        with replacing(path) as sink:
            extra, results = extra_names(results, path)
            return self._write_like(sink, results, extra, like) if like else self._write_plain(sink, results, extra)

    def _opened(self, path: Path) -> tuple[Layout, Iterator[Row]]:
        lines = lines_of(path)
        if self.columns:
            fields = named_fields(self.columns, f"{path}: columns")
            layout = Layout(Dialect(self.delimiters[0], self.quoted), self.columns, fields)
        else:
            layout = self._layout(lines, path)
        if "source" not in layout.fields:
            listed = ", ".join(map(repr, layout.names))
            hint = next(filter(None, map(suggested, layout.names)), "; the first line must name the columns")
            raise InputError(f"{path}:1: no column 'source' among {listed}{hint}")
        return layout, table_rows(rows(lines, layout.dialect, path), len(layout.names), layout.dialect, path)

    def _layout(self, lines: Iterator[Line], path: Path) -> Layout:
        """The layout that the header shows. A TSV header in quotes says that the cells are quoted too."""
        header = next(lines, None)
        if header is None:
            raise InputError(f"{path}: is empty; the first line must name the columns")
        quoted = self.quoted or all(_in_quotes(cell) for cell in header.text.split(self.delimiters[0]))
        layouts = [_layout_of(header, Dialect(delimiter, quoted), path) for delimiter in self.delimiters]
        return next((layout for layout in layouts if "source" in layout.fields), layouts[0])

    def _write_plain(self, sink: Sink, results: Iterable[Result], extra: tuple[str, ...]) -> int:
        dialect = Dialect(self.delimiters[0], self.quoted)
        names = (*FIELDS, *extra)
        sink.write(rendered(names, dialect, f"{sink.path}: the header") + "\n")
        count = 0
        for result in results:
            values = {**result.segment.model_dump(), "translation": result.text, **result.extra}
            sink.write(rendered([_cell(values[name]) for name in names], dialect, _where(sink, result)) + "\n")
            count += 1
        return count

    def _write_like(self, sink: Sink, results: Iterable[Result], extra: tuple[str, ...], like: Path) -> int:
        mark = BOM if has_bom(like) else ""
        layout, table = self._opened(like)
        wider = _widened(layout, extra)
        sink.write(mark)
        if header := layout.header:
            same = wider.names == layout.names
            sink.write(
                header.raw if same else restyled(wider.names, header, layout.dialect, f"{sink.path}: the header")
            )
        entries = (_entry(row, number, layout) for number, row in enumerate(table, start=1))
        count = 0
        for entry, result in paired(entries, results, sink.path, like):
            row, cells = entry.row, _changed(entry.row, result, wider)
            same = cells == row.cells
            sink.write(row.raw if same else restyled(cells, row, layout.dialect, _where(sink, result)))
            count += 1
        return count


CSV = Table("csv", (".csv",), ",;\t|", quoted=True)
TSV = Table("tsv", (".tsv", ".tab"), "\t", quoted=False)
TSV_QUOTED = Table("tsv-quoted", (), "\t", quoted=True)


class _TableEntry(NamedTuple):
    id: str
    line: int
    row: Row


def _entry(row: Row, number: int, layout: Layout) -> _TableEntry:
    own = row.cells[layout.fields["id"]] if "id" in layout.fields else ""
    return _TableEntry(own or str(number), row.line, row)


def _layout_of(header: Line, dialect: Dialect, path: Path) -> Layout:
    """The layout if ``dialect`` is the header's; one without columns where the header cannot be read so."""
    try:
        first = next(rows(iter([header]), dialect, path))
    except InputError:
        return Layout(dialect, (header.text,), {})
    return Layout(dialect, tuple(first.cells), named_fields(first.cells, f"{path}:1"), first)


def _in_quotes(cell: str) -> bool:
    return len(cell) > 1 and cell.startswith('"') and cell.endswith('"')


def _segment(row: Row, number: int, layout: Layout, defaults: SegmentDefaults, path: Path) -> Segment:
    values: dict[str, str | None] = {field: row.cells[index] or None for field, index in layout.fields.items()}
    if values["source"] is None:
        values["source"] = ""
        if "translation" in values:  # nothing to translate, so the empty translation is complete
            values["translation"] = values["translation"] or ""
    return segment(values, defaults, number, f"{path}:{row.line}")


def _widened(layout: Layout, extra: tuple[str, ...]) -> Layout:
    """The layout with a translation column and the extra columns, where it has them not yet."""
    names = layout.names if "translation" in layout.fields else (*layout.names, "translation")
    fields = {"translation": len(layout.names), **layout.fields}
    return layout._replace(names=(*names, *(name for name in extra if name not in names)), fields=fields)


def _changed(row: Row, result: Result, layout: Layout) -> list[str]:
    cells = row.cells + [""] * (len(layout.names) - len(row.cells))
    cells[layout.fields["translation"]] = result.text
    for name, value in result.extra.items():
        cells[layout.names.index(name)] = _cell(value)
    return cells


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _where(sink: Sink, result: Result) -> str:
    return f"{sink.path}: segment {result.segment.id!r}"
