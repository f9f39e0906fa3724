"""Line-aligned text: one segment per line, source, translation and reference in files of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import BOM, STANDARD, byte_order_mark, count_lines, lines_of, replacing
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
        """Write one line per result.

        ``like`` is any of the aligned files: its line ends and byte order mark are kept. A text with
        a line break in it is an :class:`OutputError`, because it would shift all lines after it.
        """
        count = 0
        with replacing(path) as sink:
            mark = byte_order_mark(like) if like else ""
            for end, result in _with_ends(results, path, like):
                text, count = result.text, count + 1
                if "\n" in text or text.endswith("\r"):
                    reason = "has a line break, which line-aligned text cannot hold; write csv or jsonl instead"
                    raise OutputError(f"{path}: the text of segment {result.segment.id!r} {reason}")
                if count == 1:  # a text that begins like a byte order mark would be taken for one, and lost
                    sink.write(mark or (BOM if text.startswith(BOM) else ""))
                sink.write(text + (end or ("" if text else "\n")))  # an empty last line needs its end to be one
        return count


def _with_ends(results: Iterable[Result], path: Path, like: Path | None) -> Iterator[tuple[str, Result]]:
    if like is None:
        return (("\n", result) for result in results)
    return paired(((str(line.number), line.number, line.end) for line in lines_of(like)), results, path, like)


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
    named = {"source": source, "translation": translation, "reference": reference}
    files = {field: path for field, path in named.items() if path is not None}
    if list(files.values()).count(STANDARD) > 1:
        raise InputError("only one of the files can be standard input")
    if len(files) > 1 and all(path.is_file() for path in files.values()):
        check_counts(files.values())

    def aligned() -> Iterator[Segment]:
        for number, row in enumerate(zip_longest(*map(lines_of, files.values())), start=1):
            if None in row:
                short = list(files.values())[row.index(None)]
                raise InputError(f"{short}: ends after {number - 1} lines, before the other files do")
            texts = {field: line.text for field, line in zip(files, row, strict=True)}
            yield segment(texts, defaults, number, f"{source}:{number}")

    return aligned()


def check_counts(paths: Iterable[Path]) -> None:
    """Raise :class:`InputError` where the files have different numbers of lines."""
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path} has {count}" for path, count in counts.items())
        raise InputError(f"the files have different numbers of lines: {listed}")
