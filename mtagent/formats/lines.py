"""Line-aligned text: one segment per line, source, translation and reference in files of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from mtagent.errors import InputError, OutputError
from mtagent.formats.files import BOM, STANDARD, byte_order_mark, count_lines, lines_of, write_pieces
from mtagent.formats.segments import NO_DEFAULTS, Result, SegmentDefaults, paired, segment
from mtagent.records import Segment


@dataclass(frozen=True)
class Lines:
    """Reads the source lines of a file, and the aligned lines of ``translation``, ``reference`` and ``candidates``.

    An empty line in a file of candidates means that this system has no translation.
    """

    name: str = "lines"
    suffixes: tuple[str, ...] = (".txt",)
    translation: Path | None = None
    reference: Path | None = None
    candidates: tuple[Path, ...] = ()

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line of ``path``; the ids are the line numbers, from 1, as strings.

        An empty line is an empty text. Raises :class:`InputError` if a file isn't UTF-8, or the files have
        different numbers of lines: files are compared before the first segment, standard input and pipes as they are
        read.
        """
        fields_read, files = ["source"], [path]
        if self.translation is not None:
            fields_read.append("translation")
            files.append(self.translation)
        if self.reference is not None:
            fields_read.append("reference")
            files.append(self.reference)
        files += self.candidates
        if files.count(STANDARD) > 1:
            raise InputError("only one of the files can be standard input")
        if len(files) > 1 and all(file.is_file() for file in files):
            check_counts(files)
        fields = defaults.model_dump(exclude_none=True)
        for number, row in enumerate(zip_longest(*map(lines_of, files)), start=1):
            if None in row:
                short = files[row.index(None)]
                raise InputError(f"{short}: ends after {number - 1} lines, before the other files do")
            texts: dict[str, Any] = {field: line.text for field, line in zip(fields_read, row, strict=False)}
            if self.candidates:
                texts["candidates"] = [line.text for line in row[len(fields_read) :]]
            yield segment(texts, fields, number, f"{path}:{number}")

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one line per result.

        ``like`` is any of the aligned files: its line ends and byte order mark are kept. A text with
        a line break in it is an :class:`OutputError`, because it would shift all lines after it.
        """
        mark = ""
        lines: Iterable[tuple[str, Result]] = (("\n", result) for result in results)
        if like:
            mark = byte_order_mark(like)
            lines = paired(((str(line.number), line.number, line.end) for line in lines_of(like)), results, path, like)

        def checked() -> Iterator[str]:
            for number, (end, result) in enumerate(lines, start=1):
                text = result.text
                if "\n" in text or text.endswith("\r"):
                    reason = "has a line break, which line-aligned text cannot hold; write csv or jsonl instead"
                    raise OutputError(f"{path}: the text of segment {result.segment.id!r} {reason}")
                line_end = end
                if not (end or text):  # an empty last line needs an end to be a line
                    line_end = "\n"
                if number == 1 and not mark and text.startswith(BOM):
                    text = BOM + text  # otherwise the text's own mark would be read as the file's
                yield text + line_end

        return write_pieces(path, mark, checked())


def check_counts(paths: Iterable[Path]) -> None:
    """Raise :class:`InputError` if the files have different numbers of lines.

    Lines are counted without decoding them. If the counts differ the files are decoded too: a wrong encoding may be the
    reason, and then the error must name that.
    """
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        for path in counts:
            for _ in lines_of(path):
                pass
        listed = ", ".join(f"{path} has {count}" for path, count in counts.items())
        raise InputError(f"the files have different numbers of lines: {listed}")
