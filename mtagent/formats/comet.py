"""The JSON of ``comet-score --to_json`` with an XCOMET model: ``{FILE: [{"src", "mt", "COMET", "errors", …}]}``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.annotations import Annotation, error_span, objects_in, offset, text_field
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan


def recognised(data: Any) -> bool:
    """Whether the JSON value ``data`` has this form, with or without spans."""
    return (
        isinstance(data, dict)
        and data != {}
        and all(isinstance(segments, list) for segments in data.values())
        and all(isinstance(values, dict) and "mt" in values for segments in data.values() for values in segments)
    )


class Comet:
    """Reads error spans. A system is called as its file of translations was."""

    name = "comet"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the JSON ``value`` has this form."""
        return recognised(value)

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file. Raises :class:`InputError`."""
        data = whole_file(path)
        if not isinstance(data, dict):
            raise InputError(f"{path}: no object with a list of segments for each file of translations")
        annotations = []
        for system, segments in data.items():
            for number, values in enumerate(objects_in(segments, repr(system), str(path)), start=1):
                where = f"{path}: {system}, segment {number}"
                annotations.append(
                    Annotation(
                        where=where,
                        errors=_errors(values["errors"], where) if values.get("errors") is not None else None,
                        segment=str(number),
                        system=system,
                        rater="COMET",
                        source=text_field(values, "src", where),
                        translation=text_field(values, "mt", where),
                    )
                )
        if annotations and all(annotation.errors is None for annotation in annotations):
            raise InputError(
                f'{path}: no segment has "errors"; only XCOMET models mark spans, e.g. --model Unbabel/XCOMET-XL'
            )
        return annotations


def _errors(data: Any, where: str) -> tuple[ErrorSpan, ...]:
    errors = []
    for error in objects_in(data, '"errors"', where):
        confidence = error.get("confidence")
        errors.append(
            error_span(
                where,
                severity=error.get("severity"),
                start=offset(error.get("start"), where),
                end=offset(error.get("end"), where),
                text=text_field(error, "text", where),
                explanation=f"confidence {confidence:.2f}" if isinstance(confidence, int | float) else None,
            )
        )
    return tuple(errors)


COMET = Comet()
