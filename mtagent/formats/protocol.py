"""What a file format is: the protocol that readers and writers share, and the two records that they exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from mtagent.records import Record, Segment


class SegmentDefaults(Record):
    """What the user says about all segments of a file; what the file says about one segment goes before it."""

    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = None


class Result(Record):
    """One segment and the text to write for it.

    ``extra`` holds further columns or fields by name (a status, a score), for the formats that have room for them. All
    results of one file name the same ones.
    """

    segment: Segment
    text: str
    extra: dict[str, Any] = Field(default_factory=dict)


NO_DEFAULTS = SegmentDefaults()


@runtime_checkable
class Format(Protocol):
    """Reads segments from a file and writes texts to one. ``-`` as path is standard input or output.

    ``name`` is what a user calls it; a file whose name ends in one of ``suffixes`` is taken to be of this format.
    """

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield the segments in file order, one at a time; only the ids seen so far are kept in memory.

        Raises :class:`mtagent.errors.InputError`, whose message starts with ``file:line``, at the first defect.
        """
        ...

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write ``results`` in the order given, one at a time, and return their number.

        ``like`` is the file that the segments were read from. It is read again beside the results, and everything but
        the texts stays as it is there: columns, fields, quoting, line ends, byte order mark. Without it, or where the
        input was not a file, the format's plain form is written.

        The file appears under ``path`` only when it is complete; ``path`` and ``like`` may be the same file. Raises
        :class:`mtagent.errors.OutputError`, and then leaves what was at ``path`` untouched.
        """
        ...
