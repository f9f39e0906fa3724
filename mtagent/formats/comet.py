"""The JSON of ``comet-score --to_json`` with an XCOMET model: ``{FILE: [{"src", "mt", "COMET", "errors", …}]}``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.annotations import Annotation, error_span, fields_of, objects_in, offset, text_field
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan


class Comet:
    """Reads error spans. A system is called as its file of translations was."""

    name = "comet"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the JSON ``value`` has this form, with or without spans."""
        return (
            isinstance(value, dict)
            and value != {}
            and all(isinstance(segments, list) for segments in value.values())
            and all(isinstance(values, dict) and "mt" in values for segments in value.values() for values in segments)
        )

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file. Raises :class:`InputError`."""
        data = whole_file(path)
        if not isinstance(data, dict):
            raise InputError(f"{path}: no object with a list of segments for each file of translations")
        annotations = []
        for system, segments in data.items():
            for number, values in enumerate(objects_in(segments, repr(system), str(path)), start=1):
                where, errors = f"{path}: {system}, segment {number}", None
                if values.get("errors") is not None:
                    errors = tuple(_error(error, where) for error in objects_in(values["errors"], '"errors"', where))
                texts = fields_of(values, where, source="src", translation="mt")
                about = {"segment": str(number), "system": system, "rater": "COMET"}
                annotations.append(Annotation(where=where, errors=errors, **about, **texts))
        if annotations and all(annotation.errors is None for annotation in annotations):
            raise InputError(
                f'{path}: no segment has "errors"; only XCOMET models mark spans, e.g. --model Unbabel/XCOMET-XL'
            )
        return annotations


def _error(values: dict[str, Any], where: str) -> ErrorSpan:
    confidence = values.get("confidence")
    return error_span(
        where,
        severity=values.get("severity"),
        start=offset(values.get("start"), where),
        end=offset(values.get("end"), where),
        text=text_field(values, "text", where),
        explanation=f"confidence {confidence:.2f}" if isinstance(confidence, int | float) else None,
    )


COMET = Comet()
