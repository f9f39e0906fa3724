"""Error annotations in files: who marked which errors in which translation, whatever the format.

The JSON of COMET and of Bio-MQM, which is only read, is here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from mtagent.errors import InputError
from mtagent.formats.files import whole_file
from mtagent.records import ErrorSpan, Record, Severity
from mtagent.text import mqm

NO_CATEGORY = "other"
TextSide = Literal["translation", "source"]
"""The text that the offsets in a file refer to."""


class Annotation(Record):
    """One rater's errors in one translation, as a file has them."""

    where: str
    """The file and the line."""
    errors: tuple[ErrorSpan, ...] | None
    """``None`` = the rater did not rate it, ``()`` = it is error-free. The offsets are code points, end exclusive, in
    ``translation``, or in ``source`` for errors on the source's side. An error without words in the file has the text
    ``""``."""
    segment: str | None = None
    """The file's own id, or the position from 1."""
    document: str | None = None
    system: str | None = None
    rater: str | None = None
    source: str | None = None
    """``None`` = the file doesn't have the text."""
    translation: str | None = None
    warnings: tuple[str, ...] = ()
    note: str | None = None
    """Further remarks of the rater."""


class SpanFormat(Protocol):
    """Reads files in which people or tools have marked errors."""

    @property
    def name(self) -> str: ...

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file with the first line ``first`` and the JSON ``value`` has this format.

        ``value`` comes from the first line if that is complete JSON, or else from the whole file; ``None``: the file
        isn't JSON.
        """
        ...

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file, in its order. Raises :class:`InputError`, beginning with ``file:line``."""
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
    """An error as a file has it. An omission marked in the source, or by an empty span, is on the side ``omission``.

    Raises :class:`InputError` for an end before the start, and for a category or penalty of another type.
    """
    if start is not None and end is not None and start > end:
        raise InputError(f"{where}: the span from {start} to {end} ends before it begins; correct it")
    if not isinstance(category, str | None) or not isinstance(penalty, int | float | None):
        raise InputError(
            f"{where}: expected a text as category and a number as score, got {category!r} and {penalty!r}; correct it"
        )
    category = (category or "").strip().strip("/") or NO_CATEGORY
    span_side: Literal["translation", "source", "omission"] = side
    if is_omission(category) and (side == "source" or start == end):
        span_side = "omission"
        if side == "source" and start == end:  # neither words of the source, nor a place in the translation
            start = end = None
    return ErrorSpan(
        text=text,
        category=category,
        severity=named_severity(severity, where),
        start=start,
        end=end,
        side=span_side,
        explanation=explanation,
        suggestion=suggestion,
        penalty=penalty,
    )


def named_severity(word: object, where: str) -> Severity:
    """A severity in any case; ``undecided`` (ESA's, before a click) weighs nothing. Raises :class:`InputError`."""
    if isinstance(word, str):
        plain = word.strip().casefold()
        for severity in mqm.SEVERITIES:
            if plain == severity:
                return severity
        if plain == "undecided":
            return "neutral"
    raise InputError(f"{where}: the severity {word!r} must be one of {', '.join(mqm.SEVERITIES)}; correct it")


def is_omission(category: str) -> bool:
    """Whether a category is omission, whatever the tool adds to it (``Accuracy/Omission (Translation)``)."""
    return category.casefold().rpartition("/")[2].strip().startswith("omission")


def offset(value: object, where: str, *, inclusive_end: bool = False) -> int:
    """A whole number from 0, also written as text. Raises :class:`InputError`."""
    number = value
    if isinstance(value, str):
        digits = value.strip()
        if digits.isascii() and digits.removeprefix("-").isdecimal() and len(digits) < 20:
            number = int(digits)
    least = -1 if inclusive_end else 0
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise InputError(f"{where}: the offset {value!r} must be a whole number from {least}; correct it")
    return number + inclusive_end


def fields_of(values: dict[str, Any], where: str, *, source: str, translation: str, **names: str) -> dict[str, Any]:
    """The fields of an :class:`Annotation` that ``values`` has under other names; both texts are required."""
    texts = {"source": text_field(values, source, where), "translation": text_field(values, translation, where)}
    return texts | {field: name_field(values, name) for field, name in names.items()}


def text_field(values: dict[str, Any], name: str, where: str) -> str:
    """The text under ``name``. Raises :class:`InputError` for a missing text."""
    value = values.get(name)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} must be a text; it is {value!r}"[:300])
    return value


def name_field(values: dict[str, Any], name: str) -> str | None:
    """The text or number under ``name`` as text; ``None`` for a missing or empty one."""
    value = values.get(name)
    if not isinstance(value, str | int):
        return None
    return str(value) or None


def objects_in(value: object, what: str, where: str) -> list[dict[str, Any]]:
    """``value``, if it is a list of objects. Raises :class:`InputError` that names it ``what``."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{where}: {what} must be a list of objects")
    return value


def own_spans(value: object, where: str) -> tuple[ErrorSpan, ...]:
    """The error spans of a list in the form of this project. Raises :class:`InputError`."""
    fields = ErrorSpan.model_fields
    needed = [name for name, field in fields.items() if field.is_required()]
    items = objects_in(value, "'errors'", where)
    spans = []
    for number, item in enumerate(items, start=1):
        where_item = f"{where}: error {number} of {len(items)}"
        missing = [name for name in needed if name not in item]
        unknown = [name for name in item if name not in fields]
        if missing or unknown:
            problem = f"no {' and no '.join(map(repr, missing))}"
            if not missing:
                problem = f"unknown field {unknown[0]!r}"
            optional = ", ".join(name for name in fields if name not in needed)
            raise InputError(f"{where_item}: {problem}; an error needs {', '.join(needed)}, and may have {optional}")
        try:
            spans.append(ErrorSpan.model_validate(item))
        except ValidationError as error:
            first = error.errors()[0]
            field = "".join(f"{part}: " for part in first["loc"])
            reason = first["msg"].removeprefix("Value error, ").lower()
            raise InputError(f"{where_item}: {field}{reason}; correct it") from None
    return tuple(spans)


_SIDES: dict[object, TextSide] = {"tgt": "translation", "omission": "translation", "src": "source"}


def sided_spans(value: object, where: str) -> tuple[ErrorSpan, ...]:
    """The error spans of a list of objects with ``side`` (tgt, src or omission) and ``severity``.

    They may have ``start``, ``end`` (exclusive), ``text`` and ``category``. Raises :class:`InputError`.
    """
    items = objects_in(value, "'spans'", where)
    spans = []
    for number, item in enumerate(items, start=1):
        where_item = f"{where}: span {number} of {len(items)}"
        side = _SIDES.get(item.get("side"))
        if side is None:
            raise InputError(f"{where_item}: side {item.get('side')!r}: expected tgt, src or omission; correct it")
        start, end = item.get("start"), item.get("end")
        span = error_span(
            where_item,
            severity=item.get("severity"),
            start=None if start is None else offset(start, where_item),
            end=None if end is None else offset(end, where_item),
            text=str(item.get("text") or ""),
            category=item.get("category"),
            side=side,
        )
        if item["side"] == "omission":
            span = span.model_copy(update={"side": "omission"})
        spans.append(span)
    return tuple(spans)


def _are_objects_with(name: str, items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) and name in item for item in items)


class CometJson:
    """The JSON of ``comet-score --to_json`` with an XCOMET model: ``{FILE: [{"src", "mt", "COMET", "errors", …}]}``.

    A system has the name of its file of translations.
    """

    name = "comet"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the JSON ``value`` has this form, with or without spans."""
        if not isinstance(value, dict) or not value:
            return False
        return all(_are_objects_with("mt", segments) for segments in value.values())

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file. Raises :class:`InputError`."""
        data = whole_file(path)
        if not isinstance(data, dict):
            raise InputError(f"{path}: expected an object with a list of segments for each file of translations")
        found_segments = found_errors = False
        for system, segments in data.items():
            for number, values in enumerate(objects_in(segments, repr(system), str(path)), start=1):
                where, errors = f"{path}: {system}, segment {number}", None
                if values.get("errors") is not None:
                    items = objects_in(values["errors"], '"errors"', where)
                    errors = tuple(_comet_error(item, where) for item in items)
                found_segments, found_errors = True, found_errors or errors is not None
                texts = fields_of(values, where, source="src", translation="mt")
                yield Annotation(where=where, errors=errors, segment=str(number), system=system, rater="COMET", **texts)
        if found_segments and not found_errors:
            raise InputError(
                f'{path}: no segment has "errors"; only XCOMET models mark spans, e.g. --model Unbabel/XCOMET-XL'
            )


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


_BIO_MQM_NAMES = {
    "segment": "SEG_ID",
    "document": "Doc_ID",
    "system": "System_ID",
    "rater": "Annotator_ID",
    "source": "source",
    "translation": "target",
}


class BioMqm:
    """A list of annotated segments with ``target_errors`` that have an inclusive ``endIndex``."""

    name = "bio-mqm"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the JSON ``value`` has this form."""
        return bool(value) and _are_objects_with("target_errors", value)

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file. Raises :class:`InputError`."""
        for number, values in enumerate(objects_in(whole_file(path), "the file", str(path)), start=1):
            where, errors = f"{path}: segment {number}", None
            if values.get("target_errors") is not None:
                source_errors = _errors(values.get("source_errors") or [], "source", where)
                errors = _errors(values["target_errors"], "translation", where) + source_errors
            yield Annotation(where=where, errors=errors, **fields_of(values, where, **_BIO_MQM_NAMES))


def _errors(data: Any, side: TextSide, where: str) -> tuple[ErrorSpan, ...]:
    errors = []
    for values in objects_in(data, f"the errors of the {side}", where):
        text = ""
        for name in ("text", "span", "term"):  # a term goes before a span, and that before a text
            if isinstance(values.get(name), str):
                text = values[name]
        categories = [name_field(values, name) for name in ("error_category", "error_subcategory")]
        error = error_span(
            where,
            severity=values.get("severity"),
            start=offset(values.get("startIndex"), where),
            end=offset(values.get("endIndex"), where, inclusive_end=True),
            text=text,
            category="/".join(filter(None, categories)),
            side=side,
        )
        errors.append(error)
    return tuple(errors)


COMET, BIO_MQM = CometJson(), BioMqm()
