"""JSON Lines: one segment per line, as a JSON object with the fields of :class:`mtagent.records.Segment`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.fields import extra_names, named_fields, paired, segment, suggested, unique
from mtagent.formats.files import BOM, Line, Sink, has_bom, lines_of, replacing
from mtagent.formats.members import replaced
from mtagent.formats.protocol import NO_DEFAULTS, Result, SegmentDefaults
from mtagent.records import Segment

logger = logging.getLogger("mtagent.formats")

_ABSENT = object()
_dumped = partial(json.dumps, allow_nan=False)
_OWN = frozenset(Segment.model_fields)


class _Object(NamedTuple):
    """A line's object, which of its keys holds which field, and the very characters it consists of."""

    id: str
    line: int
    values: dict[str, Any]
    keys: dict[str, str]
    raw: str
    end: str


@dataclass(frozen=True)
class JsonLines:
    """Reads and writes JSON Lines.

    Strict by default: an unknown field is an error, since a mistyped name would otherwise be lost without a word. With
    ``lenient`` the names that other tools use are understood, and unknown fields are carried through.
    """

    name: str = "jsonl"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    lenient: bool = False

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line. A field that is ``null`` is missing; ``""`` is an empty text."""
        return unique(self._segments(path, defaults), path)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one object per result, its text as ``translation`` (or the name that ``like`` has for it).

        With ``like`` only the texts (and ``extra``) change; every other character of an object is copied as it is.
        """
        with replacing(path) as sink:
            _, results = extra_names(results, path)
            return _write_plain(sink, results) if like is None else self._write_like(sink, results, like)

    def _segments(self, path: Path, defaults: SegmentDefaults) -> Iterator[tuple[int, Segment]]:
        reported: set[str] = set()
        for number, found in enumerate(self._objects(path), start=1):
            for field, key in found.keys.items():
                if key != field and key not in reported:
                    reported.add(key)
                    logger.info("%s: field %r is read as %s", path, key, field)
            where = f"{path}:{found.line}"
            values = {field: found.values[key] for field, key in found.keys.items()}
            if type(values.get("id")) is int:  # a number will do, but not true or false
                values["id"] = found.id
            yield found.line, segment(values, defaults, number, where)

    def _objects(self, path: Path) -> Iterator[_Object]:
        for number, line in enumerate(_filled(lines_of(path), path), start=1):
            where = f"{path}:{line.number}"
            values = _parsed(line.text, where)
            keys = self._keys(list(values), where)
            own = values[keys["id"]] if "id" in keys else None
            yield _Object(str(number if own is None else own), line.number, values, keys, line.text, line.end)

    def _keys(self, names: list[str], where: str) -> dict[str, str]:
        """Which key holds which field."""
        own = {name: name for name in names if name in _OWN}
        if self.lenient:
            return own | {field: names[index] for field, index in named_fields(names, where).items()}
        unknown = next((name for name in names if name not in own), None)
        if unknown is not None:
            way_out = suggested(unknown) or "; --format jsonl-lenient carries unknown fields through"
            raise InputError(f"{where}: unknown field {unknown!r}{way_out}")
        return own

    def _write_like(self, sink: Sink, results: Iterable[Result], like: Path) -> int:
        sink.write(BOM if has_bom(like) else "")
        count = 0
        for found, result in paired(self._objects(like), results, sink.path, like):
            key = found.keys.get("translation", "translation")
            wanted = {key: result.text, **result.extra}
            if result.text == "" and found.values.get(key) is None and not result.extra:
                wanted = {}
            changes = {name: value for name, value in wanted.items() if found.values.get(name, _ABSENT) != value}
            with _reported(sink, result):
                sink.write((replaced(found.raw, changes, _dumped) if changes else found.raw) + found.end)
            count += 1
        return count


JSONL = JsonLines()
JSONL_LENIENT = JsonLines("jsonl-lenient", (), lenient=True)


def parsed_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and its object. Raises :class:`InputError` as the format does, whatever the fields are."""
    for line in _filled(lines_of(path), path):
        yield line.number, _parsed(line.text, f"{path}:{line.number}")


def _write_plain(sink: Sink, results: Iterable[Result]) -> int:
    count = 0
    for result in results:
        fields = result.segment.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        values = {**fields, "translation": result.text, **result.extra}
        with _reported(sink, result):
            sink.write(_dumped(values, ensure_ascii=False) + "\n")
        count += 1
    return count


def _filled(lines: Iterable[Line], path: Path) -> Iterator[Line]:
    """The lines without empty ones at the end of the file; one in between is an error."""
    blank: Line | None = None
    for line in lines:
        if not line.text.strip():
            blank = blank or line
        elif blank:
            raise InputError(f"{path}:{blank.number}: an empty line between the objects; delete it")
        else:
            yield line


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        values = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_refused)
        if "\\u" in text:  # only an escape can bring in what UTF-8 could not hold
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: an escaped lone surrogate (\\u{ord(error.object[error.start]):04x})") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.pos + 1}: not JSON: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not usable JSON: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{where}: a line must hold an object ({{…}}), not {type(values).__name__}")
    if any("\0" in value for value in values.values() if isinstance(value, str)):
        raise InputError(f"{where}: an escaped NUL (\\u0000); text has none")
    return values


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return values


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


@contextmanager
def _reported(sink: Sink, result: Result) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise OutputError(f"{sink.path}: segment {result.segment.id!r}: {error}") from error
