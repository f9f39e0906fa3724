"""The JSON of ``comet-score --to_json`` with an XCOMET model: ``{FILE: [{"src", "mt", "COMET", "errors", …}]}``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.annotations import Annotation, marked, objects_in, offset, text_field
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan


def recognised(data: Any) -> bool:
    """Whether the JSON value ``data`` has this form."""
    return isinstance(data, dict) and bool(data) and all(_is_output(value) for value in data.values())


def _is_output(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "mt" in one for one in value)


def read(path: Path) -> list[Annotation]:
    """The annotations of a file; a system is called as its file of translations was. Raises :class:`InputError`."""
    data = whole_file(path)
    if not isinstance(data, dict):
        raise InputError(f"{path}: no object with a list of segments for each file of translations")
    found = list(_annotations(data, path))
    if found and all(one.errors is None for one in found):
        raise InputError(
            f'{path}: no segment has "errors"; only XCOMET models mark spans, e.g. --model Unbabel/XCOMET-XL'
        )
    return found


def _annotations(data: dict[str, Any], path: Path) -> Iterator[Annotation]:
    for system, segments in data.items():
        for number, values in enumerate(objects_in(segments, repr(system), str(path)), start=1):
            where = f"{path}: {system}, segment {number}"
            yield Annotation(
                where=where,
                errors=_errors(values["errors"], where) if values.get("errors") is not None else None,
                segment=str(number),
                system=system,
                rater="COMET",
                source=text_field(values, "src", where),
                translation=text_field(values, "mt", where),
            )


def _errors(data: Any, where: str) -> tuple[ErrorSpan, ...]:
    return tuple(
        marked(
            where,
            severity=error.get("severity"),
            start=offset(error.get("start"), where),
            end=offset(error.get("end"), where),
            text=text_field(error, "text", where),
            explanation=_confidence(error.get("confidence")),
        )
        for error in objects_in(data, '"errors"', where)
    )


def _confidence(value: object) -> str | None:
    return f"confidence {value:.2f}" if isinstance(value, int | float) else None
