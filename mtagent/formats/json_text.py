"""JSON in files, read so that what is wrong is named with its line, and written so that every reader can read it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mtagent.errors import InputError
from mtagent.formats.files import TextLine, lines_of


def dumped(value: object, *, indent: int | None = None) -> str:
    """``value`` as JSON. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    return encoded(plain(value), indent=indent)


def encoded(value: object, *, indent: int | None = None) -> str:
    """The same for plain data, in which a number that is not finite is a :class:`ValueError`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent)
    return text


def plain(value: Any) -> Any:
    """Records, dataclasses, mappings and sequences as plain data; a number that is not finite is ``None``."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parsed(text: str, where: str, load: Callable[[str], Any] = json.loads, *, lines: bool | None = None) -> Any:
    """The value that ``text`` holds. Raises :class:`InputError` beginning with ``where``.

    The place of an error follows ``where``: line and column where ``text`` is a file of ``lines``, the column where it
    is one line (``False``). Where it is but a cell (``None``), the character in it is named at the end.
    """
    try:
        return load(text)
    except json.JSONDecodeError as error:
        line = f":{error.lineno}" if lines else ""
        column, in_cell = ("", f" at character {error.colno}") if lines is None else (f":{error.colno}", "")
        raise InputError(f"{where}{line}{column}: not JSON: {error.msg.lower()}{in_cell}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not usable JSON: {error}") from None


def whole_file(path: Path) -> Any:
    """The value that a whole file holds, with or without a byte order mark. Raises :class:`InputError`."""
    return parsed("".join(line.text + line.end for line in lines_of(path)), str(path), lines=True)


def object_lines(path: Path) -> Iterator[tuple[TextLine, dict[str, Any]]]:
    """Each line of JSON Lines with its object; empty lines at the end of the file are none.

    Refused are, beside what is not JSON, a name that comes twice in an object, NaN, lone surrogates and NUL.
    """
    blank: TextLine | None = None
    for line in lines_of(path):
        if not line.text.strip():
            blank = blank or line
            continue
        if blank:
            raise InputError(f"{path}:{blank.number}: an empty line between the objects; delete it")
        where = f"{path}:{line.number}"
        values = parsed(line.text, where, _strict, lines=False)
        if not isinstance(values, dict):
            raise InputError(f"{where}: a line must hold an object ({{…}}), not {type(values).__name__}")
        if "\\u0000" in line.text and any("\0" in value for value in values.values() if isinstance(value, str)):
            raise InputError(f"{where}: an escaped NUL (\\u0000); text has none")
        yield line, values


def parsed_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and its object; see :func:`object_lines`."""
    return ((line.number, values) for line, values in object_lines(path))


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return values


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_refuse)


def _strict(text: str) -> Any:
    values = _DECODER.decode(text)
    if "\\u" in text:  # only an escape can bring in what UTF-8 could not hold
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise ValueError(f"an escaped lone surrogate (\\u{code:04x})") from None
    return values
