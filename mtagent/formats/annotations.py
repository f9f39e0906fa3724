"""Error annotations in files: who marked which errors in which translation, whatever the format.

The JSON of COMET and of Bio-MQM, which is only read, is here too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from mtagent.errors import InputError
from mtagent.formats.json_text import whole_file
from mtagent.records import ErrorSpan, Record, Severity
from mtagent.text import mqm

NO_CATEGORY = "other"
TextSide = Literal["translation", "source"]
"""The text that offsets in a file count in."""


class Annotation(Record):
    """One rater's errors in one translation, as they stand in a file.

    ``errors=None`` means that the rater did not rate it, ``()`` that it is error-free. A text that the file does not
    hold is ``None``. The offsets of the errors are code points, end exclusive, into ``translation``, or into ``source``
    for those on the source's side; an error whose words the file does not tell has the text ``""``. ``where`` names
    the file and the line; ``segment`` is the file's own id, or the position from 1; ``note`` is what else was said.
    """

    where: str
    errors: tuple[ErrorSpan, ...] | None
    segment: str | None = None
    document: str | None = None
    system: str | None = None
    rater: str | None = None
    source: str | None = None
    translation: str | None = None
    warnings: tuple[str, ...] = ()
    note: str | None = None


class SpanFormat(Protocol):
    """Reads files in which people or tools have marked errors."""

    @property
    def name(self) -> str: ...

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file is of this format whose first line is ``first``, and which holds the JSON ``value``.

        ``value`` is that of the first line where that is whole, else that of the file; ``None`` where it is no JSON.
        """
        ...

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file, in its order. Raises :class:`InputError`, beginning with ``file:line``."""
        ...


def error_span(
    where: str,
    *,
    severity: object,
    start: int | None = None,
    end: int | None = None,
    text: str = "",
    category: object = None,
    side: TextSide = "translation",
    explanation: str | None = None,
    suggestion: str | None = None,
    penalty: object = None,
) -> ErrorSpan:
    """An error as a file tells it. An omission marked in the source, or at a mere place, is on the side ``omission``.

    Raises :class:`InputError` for offsets that are no span, and for a category or penalty of another kind.
    """
    if start is not None and end is not None and start > end:
        raise InputError(f"{where}: the span from {start} to {end} ends before it begins; correct it")
    if not isinstance(category, str | None) or not isinstance(penalty, int | float | None):
        raise InputError(
            f"{where}: the category {category!r} is no text, or the score {penalty!r} no number; correct it"
        )
    category = (category or "").strip().strip("/") or NO_CATEGORY
    omission = is_omission(category) and (side == "source" or start == end)
    if omission and side == "source" and start == end:  # no words of the source, no place in the translation either
        start = end = None
    return ErrorSpan(
        text=text,
        category=category,
        severity=named_severity(severity, where),
        start=start,
        end=end,
        side="omission" if omission else side,
        explanation=explanation,
        suggestion=suggestion,
        penalty=penalty,
    )


def named_severity(word: object, where: str) -> Severity:
    """A severity in any case; ``undecided`` (ESA's, before a click) weighs nothing. Raises :class:`InputError`."""
    plain = word.strip().casefold() if isinstance(word, str) else ""
    for known in mqm.SEVERITIES:
        if plain == known:
            return known
    if plain == "undecided":
        return "neutral"
    raise InputError(f"{where}: the severity {word!r} is none of {', '.join(mqm.SEVERITIES)}; correct it")


def is_omission(category: str) -> bool:
    """Whether a category is omission, whatever the tool adds to it (``Accuracy/Omission (Translation)``)."""
    return category.casefold().rpartition("/")[2].strip().startswith("omission")


def offset(value: object, where: str, *, inclusive_end: bool = False) -> int:
    """A whole number from 0, also written as text. Raises :class:`InputError`."""
    plain = value.strip() if isinstance(value, str) else value
    if isinstance(plain, str) and plain.isascii() and plain.removeprefix("-").isdecimal() and len(plain) < 20:
        plain = int(plain)
    least = -1 if inclusive_end else 0
    if not isinstance(plain, int) or isinstance(plain, bool) or plain < least:
        raise InputError(f"{where}: the offset {value!r} is no whole number from {least}; correct it")
    return plain + inclusive_end


def fields_of(values: dict[str, Any], where: str, *, source: str, translation: str, **names: str) -> dict[str, Any]:
    """The fields of an :class:`Annotation` that stand in ``values`` under other names; both texts must be there."""
    texts = {"source": text_field(values, source, where), "translation": text_field(values, translation, where)}
    return texts | {field: name_field(values, name) for field, name in names.items()}


def text_field(values: dict[str, Any], name: str, where: str) -> str:
    """The text under ``name``. Raises :class:`InputError` where there is none."""
    value = values.get(name)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} must be a text; it is {value!r}"[:300])
    return value


def name_field(values: dict[str, Any], name: str) -> str | None:
    """The text or number under ``name`` as text; ``None`` where there is none."""
    value = values.get(name)
    return str(value) if isinstance(value, str | int) and str(value) else None


def objects_in(value: object, what: str, where: str) -> list[dict[str, Any]]:
    """A list of objects, or an :class:`InputError` that says ``what`` should be one."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{where}: {what} must be a list of objects")
    return value


def own_spans(value: object, where: str) -> tuple[ErrorSpan, ...]:
    """The error spans of a list in the form of this project. Raises :class:`InputError`."""
    fields = ErrorSpan.model_fields
    needed = [name for name, field in fields.items() if field.is_required()]
    items, spans = objects_in(value, "'errors'", where), []
    for number, item in enumerate(items, start=1):
        place = f"{where}: error {number} of {len(items)}"
        missing = [name for name in needed if name not in item]
        unknown = [name for name in item if name not in fields]
        if missing or unknown:
            why = f"no {' and no '.join(map(repr, missing))}" if missing else f"unknown field {unknown[0]!r}"
            more = ", ".join(name for name in fields if name not in needed)
            raise InputError(f"{place}: {why}; an error needs {', '.join(needed)}, and may have {more}")
        try:
            spans.append(ErrorSpan.model_validate(item))
        except ValidationError as error:
            first = error.errors()[0]
            field = "".join(f"{part}: " for part in first["loc"])
            reason = first["msg"].removeprefix("Value error, ").lower()
            raise InputError(f"{place}: {field}{reason}; correct it") from None
    return tuple(spans)


class CometJson:
    """The JSON of ``comet-score --to_json`` with an XCOMET model: ``{FILE: [{"src", "mt", "COMET", "errors", …}]}``.

    A system is called as its file of translations was.
    """

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
                    items = objects_in(values["errors"], '"errors"', where)
                    errors = tuple(_comet_error(item, where) for item in items)
                texts = fields_of(values, where, source="src", translation="mt")
                about = {"segment": str(number), "system": system, "rater": "COMET"}
                annotations.append(Annotation(where=where, errors=errors, **about, **texts))
        if annotations and all(annotation.errors is None for annotation in annotations):
            raise InputError(
                f'{path}: no segment has "errors"; only XCOMET models mark spans, e.g. --model Unbabel/XCOMET-XL'
            )
        return annotations


def _comet_error(values: dict[str, Any], where: str) -> ErrorSpan:
    confidence = values.get("confidence")
    return error_span(
        where,
        severity=values.get("severity"),
        start=offset(values.get("start"), where),
        end=offset(values.get("end"), where),
        text=text_field(values, "text", where),
        explanation=f"confidence {confidence:.2f}" if isinstance(confidence, int | float) else None,
    )


COMET = CometJson()


_NAMES = {
    **{"segment": "SEG_ID", "document": "Doc_ID", "system": "System_ID", "rater": "Annotator_ID"},
    **{"source": "source", "translation": "target"},
}


class BioMqm:
    """A list of annotated segments with ``target_errors``, whose ``endIndex`` is inclusive."""

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
    errors = []
    for values in objects_in(data, f"the errors of the {side}", where):
        texts = [values[name] for name in ("term", "span", "text") if isinstance(values.get(name), str)]
        categories = [name_field(values, name) for name in ("error_category", "error_subcategory")]
        error = error_span(
            where,
            severity=values.get("severity"),
            start=offset(values.get("startIndex"), where),
            end=offset(values.get("endIndex"), where, inclusive_end=True),
            text=texts[0] if texts else "",
            category="/".join(filter(None, categories)),
            side=side,
        )
        errors.append(error)
    return tuple(errors)


BIO_MQM = BioMqm()
