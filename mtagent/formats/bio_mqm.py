"""Bio-MQM's JSON: a list of annotated segments with ``target_errors``, whose ``endIndex`` is inclusive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.formats.annotations import Annotation, TextSide, error_span, fields_of, name_field, objects_in, offset
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan

_NAMES = {
    **{"segment": "SEG_ID", "document": "Doc_ID", "system": "System_ID", "rater": "Annotator_ID"},
    **{"source": "source", "translation": "target"},
}


class BioMqm:
    """Reads error spans."""

    name = "bio-mqm"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the JSON ``value`` has this form."""
        return (
            isinstance(value, list) and value != [] and all(isinstance(x, dict) and "target_errors" in x for x in value)
        )

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file. Raises :class:`InputError`."""
        annotations = []
        for number, values in enumerate(objects_in(whole_file(path), "the file", str(path)), start=1):
            where, errors = f"{path}: segment {number}", None
            if values.get("target_errors") is not None:
                of_source = _errors(values.get("source_errors") or [], "source", where)
                errors = _errors(values["target_errors"], "translation", where) + of_source
            annotations.append(Annotation(where=where, errors=errors, **fields_of(values, where, **_NAMES)))
        return annotations


def _errors(data: Any, side: TextSide, where: str) -> tuple[ErrorSpan, ...]:
    return tuple(
        error_span(
            where,
            severity=error.get("severity"),
            start=offset(error.get("startIndex"), where),
            end=offset(error.get("endIndex"), where, inclusive_end=True),
            text=next((error[name] for name in ("term", "span", "text") if isinstance(error.get(name), str)), ""),
            category="/".join(
                filter(None, (name_field(error, name) for name in ("error_category", "error_subcategory")))
            ),
            side=side,
        )
        for error in objects_in(data, f"the errors of the {side}", where)
    )


BIO_MQM = BioMqm()
