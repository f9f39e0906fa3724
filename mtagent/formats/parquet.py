"""Segments in Parquet files. Reading and writing them needs pyarrow, which is part of the extra ``ray``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtagent.errors import InputError, MissingExtra, OutputError
from mtagent.formats.files import reason_of, replacing
from mtagent.formats.segments import (
    FIELDS,
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    SegmentFields,
    named_fields,
    paired,
    segments_from,
    without_source,
)
from mtagent.records import Segment

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

_ROWS = 1000  # held in memory at a time


@dataclass(frozen=True)
class Parquet:
    """One segment per row. Columns that are not fields of a segment are carried through."""

    name: str = "parquet"
    suffixes: tuple[str, ...] = (".parquet", ".pq")
    columns: Mapping[str, str] = field(default_factory=dict)
    """The user's names of some fields, by field."""

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per row; ``null`` is a missing field. The numbers in errors are those of rows."""

        def records() -> Iterator[SegmentFields]:
            file, columns = self._opened(path)
            for number, row in enumerate(_rows(file, list(columns.values())), start=1):
                yield SegmentFields(number, {field: row[name] for field, name in columns.items()}, columns)

        return segments_from(records(), defaults, path, "column")

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one row per result.

        The texts go to the translation column of ``like``, or to a new one after the others; all else stays. Without
        ``like`` the fields of the segments are written.
        """
        import pyarrow
        from pyarrow import parquet

        if like is None:
            fields = [(name, "int64" if name == "max_length" else "string") for name in FIELDS]
            schema, pages = pyarrow.schema(fields), _plain_pages(results, pyarrow.schema(fields))
        else:
            file, columns = self._opened(like)
            target = columns.get("translation", "translation")
            texts = self._texts(path, results, like, target)
            schema = _with_texts(file.schema_arrow.empty_table(), target, []).schema
            pages = _changed_pages(file, target, texts)
        count = 0
        try:
            with replacing(path) as sink, parquet.ParquetWriter(sink.file, schema) as writer:
                for page in pages:
                    writer.write_table(page)
                    count += page.num_rows
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from error
        return count

    def _texts(self, path: Path, results: Iterable[Result], like: Path, target: str) -> Iterator[str | None]:
        """The texts of ``results``, which must fit the rows of ``like``; no translation stays none."""
        file, columns = self._opened(like)
        wanted = [name for name in file.schema_arrow.names if name in (*columns.values(), target)]

        def entries() -> Iterator[tuple[str, int, dict[str, Any]]]:
            for number, row in enumerate(_rows(file, wanted), start=1):
                written_id = row[columns["id"]] if "id" in columns else None
                yield str(number if written_id is None else written_id), number, row

        source = columns["source"]
        for row, result in paired(entries(), results, path, like, lambda row: row[source]):
            yield result.text or row.get(target)

    def _opened(self, path: Path) -> tuple[parquet.ParquetFile, dict[str, str]]:
        """The file, and which of its columns holds which field. Raises :class:`InputError`."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra(f"{path}: a Parquet file", "ray") from None
        try:
            file = parquet.ParquetFile(path)
        except pyarrow.ArrowInvalid as error:
            raise InputError(f"{path}: isn't a Parquet file: {error}") from error
        except OSError as error:
            raise InputError(f"{path}: {reason_of(error)}") from error
        names = file.schema_arrow.names
        columns = named_fields(names, str(path), self.columns)
        if "source" not in columns:
            raise InputError(f"{path}: {without_source(names, columns)}")
        return file, {field: names[index] for field, index in columns.items()}


def _plain_pages(results: Iterable[Result], schema: pyarrow.Schema) -> Iterator[pyarrow.Table]:
    """All fields of the segments, under their own names."""
    import pyarrow

    rows = (result.segment.model_dump(include=set(FIELDS)) | {"translation": result.text} for result in results)
    while True:
        page = pyarrow.Table.from_pylist(list(islice(rows, _ROWS)), schema=schema)
        if not page.num_rows:
            return
        yield page


def _changed_pages(file: parquet.ParquetFile, target: str, texts: Iterator[str | None]) -> Iterator[pyarrow.Table]:
    """The rows of ``file`` with ``texts`` in the column ``target``."""
    import pyarrow

    with file:
        for batch in file.iter_batches(_ROWS):
            page = pyarrow.Table.from_batches([batch])
            yield _with_texts(page, target, list(islice(texts, page.num_rows)))
    next(texts, None)  # raises an error if a text is left over


def _with_texts(page: pyarrow.Table, target: str, texts: list[str | None]) -> pyarrow.Table:
    import pyarrow

    column = pyarrow.array(texts, "string")
    if target in page.column_names:
        return page.set_column(page.column_names.index(target), target, column)
    return page.append_column(target, column)


def _rows(file: parquet.ParquetFile, columns: list[str]) -> Iterator[dict[str, Any]]:
    with file:
        for batch in file.iter_batches(_ROWS, columns=columns):
            yield from batch.to_pylist()


PARQUET = Parquet()
