"""Bio-MQM's JSON: a list of annotated segments with ``target_errors``, whose ``endIndex`` is inclusive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from mtagent.formats.annotations import Annotation, marked, name_field, objects_in, offset, text_field
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan

_TEXT = ("term", "span", "text")


def recognised(data: Any) -> bool:
    """Whether the JSON value ``data`` has this form."""
    return (
        isinstance(data, list) and bool(data) and all(isinstance(one, dict) and "target_errors" in one for one in data)
    )


def read(path: Path) -> list[Annotation]:
    """The annotations of a file. Raises :class:`InputError`."""
    return list(_annotations(objects_in(whole_file(path), "the file", str(path)), path))


def _annotations(segments: list[dict[str, Any]], path: Path) -> Iterator[Annotation]:
    for number, values in enumerate(segments, start=1):
        where = f"{path}: segment {number}"
        errors = None
        if values.get("target_errors") is not None:
            of_source = _errors(values.get("source_errors") or [], "source", where)
            errors = _errors(values["target_errors"], "translation", where) + of_source
        yield Annotation(
            where=where,
            errors=errors,
            segment=name_field(values, "SEG_ID"),
            document=name_field(values, "Doc_ID"),
            system=name_field(values, "System_ID"),
            rater=name_field(values, "Annotator_ID"),
            source=text_field(values, "source", where),
            translation=text_field(values, "target", where),
        )


def _errors(data: Any, side: Literal["translation", "source"], where: str) -> tuple[ErrorSpan, ...]:
    return tuple(_error(error, side, where) for error in objects_in(data, f"the errors of the {side}", where))


def _error(error: dict[str, Any], side: Literal["translation", "source"], where: str) -> ErrorSpan:
    parts = (name_field(error, name) for name in ("error_category", "error_subcategory"))
    return marked(
        where,
        severity=error.get("severity"),
        start=offset(error.get("startIndex"), where),
        end=offset(error.get("endIndex"), where, inclusive_end=True),
        text=next((error[name] for name in _TEXT if isinstance(error.get(name), str)), ""),
        category="/".join(filter(None, parts)),
        side=side,
    )
