"""Line-aligned text: one segment per line, source, translation and reference in files of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import BOM, STANDARD, Sink, count_lines, has_bom, lines_of, replacing
from mtagent.formats.segments import NO_DEFAULTS, Result, SegmentDefaults, paired, segment
from mtagent.records import Segment


@dataclass(frozen=True)
class Lines:
    """Reads the source lines of a file, with the lines of ``translation`` and ``reference`` where they are given."""

    name: str = "lines"
    suffixes: tuple[str, ...] = (".txt",)
    translation: Path | None = None
    reference: Path | None = None

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line; see :func:`read_lines`."""
        return read_lines(path, self.translation, self.reference, defaults)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one line per result. There is no room for ``extra``: it is left out.

        ``like`` is any of the aligned files: its line ends and byte order mark are kept. A text with
        a line break in it is an :class:`OutputError`, because it would shift all lines after it.
        """
        count = 0
        with replacing(path) as sink:
            for entry, result in _with_ends(results, path, like):
                _write_line(sink, entry, result)
                count += 1
        return count


def read_lines(
    source: Path,
    translation: Path | None = None,
    reference: Path | None = None,
    defaults: SegmentDefaults = NO_DEFAULTS,
) -> Iterator[Segment]:
    """Yield one segment per line of ``source``; the ids are the line numbers, from 1, as strings.

    An empty line is an empty text. Raises :class:`InputError` where a file is not UTF-8, or the files have different
    numbers of lines. Several files are checked before the first segment; a single file, standard input and pipes are
    checked while they are read.
    """
    paths = {"source": source, "translation": translation, "reference": reference}
    files = {field: path for field, path in paths.items() if path is not None}
    if list(files.values()).count(STANDARD) > 1:
        raise InputError("only one of the files can be standard input")
    if len(files) > 1 and all(path.is_file() for path in files.values()):
        check_counts(files.values())
    return _aligned(files, defaults)


def _aligned(files: dict[str, Path], defaults: SegmentDefaults) -> Iterator[Segment]:
    number = 0
    for number, row in enumerate(zip_longest(*map(lines_of, files.values())), start=1):
        if None in row:
            short = list(files.values())[row.index(None)]
            raise InputError(f"{short}: ends after {number - 1} lines, before the other files do")
        texts = {field: line.text for field, line in zip(files, row, strict=True)}
        yield segment(texts, defaults, number, f"{files['source']}:{number}")


def check_counts(paths: Iterable[Path]) -> None:
    """Raise :class:`InputError` where the files have different numbers of lines."""
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path} has {count}" for path, count in counts.items())
        raise InputError(f"the files have different numbers of lines: {listed}")


@dataclass(frozen=True)
class _LineEntry:
    """A line of the file that the output follows."""

    line: int
    end: str
    bom: str = ""

    @property
    def id(self) -> str:
        return str(self.line)


def _with_ends(results: Iterable[Result], path: Path, like: Path | None) -> Iterator[tuple[_LineEntry, Result]]:
    if like is None:
        for number, result in enumerate(results, start=1):
            yield _LineEntry(number, "\n"), result
    else:
        yield from paired(_entries(like), results, path, like)


def _entries(like: Path) -> Iterator[_LineEntry]:
    mark = BOM if has_bom(like) else ""
    for line in lines_of(like):
        yield _LineEntry(line.number, line.end, mark if line.number == 1 else "")


def _write_line(sink: Sink, entry: _LineEntry, result: Result) -> None:
    if "\n" in result.text or result.text.endswith("\r"):
        reason = "has a line break, which line-aligned text cannot hold; write csv or jsonl instead"
        raise OutputError(f"{sink.path}: the text of segment {result.segment.id!r} {reason}")
    end = entry.end or ("" if result.text else "\n")  # an empty last line needs its end to be a line at all
    # A text that begins like a byte order mark would be taken for one, and lost.
    mark = entry.bom or (BOM if entry.line == 1 and result.text.startswith(BOM) else "")
    sink.write(f"{mark}{result.text}{end}")
