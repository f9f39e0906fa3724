"""File formats: one file each, all behind one small protocol.

Another package adds a format through the entry-point group ``mtagent.formats``: the entry's name is the format's, its
object is anything with the methods of :class:`Format`.
"""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points
from pathlib import Path

from mtagent.errors import ConfigError
from mtagent.formats.files import STANDARD, spooled
from mtagent.formats.jsonl import JSONL, JSONL_LENIENT, JsonLines
from mtagent.formats.lines import Lines, read_lines
from mtagent.formats.segments import NO_DEFAULTS, Format, Result, SegmentDefaults
from mtagent.formats.tables import CSV, TSV, TSV_QUOTED, Table
from mtagent.text import languages

ENTRY_POINTS = "mtagent.formats"

_SIDES = frozenset({"src", "source", "tgt", "trg", "target", "ref", "hyp", "mt", "pe"})
FORMATS: dict[str, Format] = {own.name: own for own in (Lines(), TSV, TSV_QUOTED, CSV, JSONL, JSONL_LENIENT)}
"""The formats that come with the package, by name."""


def by_path(path: Path, format_name: str | None = None) -> Format:
    """The format called ``format_name``, or else the one that the end of the file's name stands for.

    Formats of other packages are found too; the package's own go before them. Raises :class:`ConfigError`.
    """
    if format_name is not None:
        return _by_name(format_name)
    found = _by_suffix(path, FORMATS) or _by_suffix(path, _installed())
    if found is None and _is_plain(path):
        return FORMATS["lines"]
    if found is None:
        known = ", ".join(sorted({*FORMATS, *_installed()}))
        what = "standard input or output" if path == STANDARD else str(path)
        raise ConfigError(
            f"{what}: the name does not tell the format; give --format ({known}; `mtagent rate`: --input-format)"
        )
    return found


def _is_plain(path: Path) -> bool:
    """Whether a file is called as line-aligned texts are in the field: ``dev.src``, ``newstest.de``, ``test.ref``."""
    ending = path.suffix[1:].casefold()
    return ending in _SIDES or (path != STANDARD and languages.is_code(ending))


def check(path: Path, source: Format, defaults: SegmentDefaults = NO_DEFAULTS) -> int:
    """Read a whole file, keep nothing, and return the number of its segments.

    A defect in the last line is found here, before anything has been paid for. Raises what ``source.read`` raises.
    """
    return sum(1 for _ in source.read(path, defaults))


def _by_name(name: str) -> Format:
    found = FORMATS.get(name) or _installed().get(name)
    if found is None:
        known = sorted({*FORMATS, *_installed()})
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        raise ConfigError(f"unknown format {name!r}; {hint}")
    return found


def _by_suffix(path: Path, formats: dict[str, Format]) -> Format | None:
    name = path.name.casefold()
    return next((one for one in formats.values() if any(name.endswith(end) for end in one.suffixes)), None)


def _installed() -> dict[str, Format]:
    """The formats that other installed packages offer."""
    found: dict[str, Format] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        offered = entry.load()
        if not isinstance(offered, Format):
            raise ConfigError(f"the format {entry.name!r} ({entry.value}) lacks a name, suffixes, read or write")
        found[entry.name] = offered
    return found


__all__ = [
    "CSV",
    "FORMATS",
    "JSONL",
    "JSONL_LENIENT",
    "STANDARD",
    "TSV",
    "TSV_QUOTED",
    "Format",
    "JsonLines",
    "Lines",
    "Result",
    "SegmentDefaults",
    "Table",
    "by_path",
    "check",
    "read_lines",
    "spooled",
]
