"""What every reader of annotated files gives: who marked which errors in which translation."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from mtagent.errors import InputError
from mtagent.records import ErrorSpan, Record, Severity
from mtagent.text import mqm

NO_CATEGORY = "other"
OMISSION = "accuracy/omission"
_UNDECIDED = "undecided"


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


class Unmarked(NamedTuple):
    """A text without its ``<v>`` marks, and the places that they enclosed."""

    text: str
    places: list[tuple[int, int]]


def named_severity(word: object, where: str) -> Severity:
    """A severity in any case; ``undecided`` (ESA's, before a click) weighs nothing. Raises :class:`InputError`."""
    plain = word.strip().casefold() if isinstance(word, str) else ""
    for known in mqm.SEVERITIES:
        if plain == known:
            return known
    if plain == _UNDECIDED:
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


def marked(
    where: str,
    *,
    severity: object,
    start: int | None = None,
    end: int | None = None,
    text: str = "",
    category: object = None,
    side: Literal["translation", "source"] = "translation",
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
    named = (category or "").strip().strip("/") or NO_CATEGORY
    omitted = is_omission(named) and (side == "source" or start == end)
    if omitted and side == "source" and start == end:  # no words of the source, and no place in the translation either
        start = end = None
    return ErrorSpan(
        text=text,
        category=named,
        severity=named_severity(severity, where),
        start=start,
        end=end,
        side="omission" if omitted else side,
        explanation=explanation,
        suggestion=suggestion,
        penalty=penalty,
    )


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
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError(f"{where}: {what} must be a list of objects")
    return value


def own_span(values: dict[str, Any], where: str) -> ErrorSpan:
    """An :class:`ErrorSpan` in the form of this project. Raises :class:`InputError`."""
    try:
        return ErrorSpan.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {_wrong_with_span(error)}") from None


def _wrong_with_span(error: ValidationError) -> str:
    """What is wrong, with the fields that a span needs and may have, where that is the question."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] not in ("missing", "extra_forbidden"):
        return ": ".join(filter(None, [place, first["msg"].removeprefix("Value error, ").lower()]))
    fields = ErrorSpan.model_fields
    missing = [str(one["loc"][0]) for one in error.errors() if one["type"] == "missing"]
    what = f"no {' and no '.join(map(repr, missing))}" if missing else f"unknown field {place!r}"
    needed = [name for name, field in fields.items() if field.is_required()]
    more = [name for name, field in fields.items() if not field.is_required()]
    return f"{what}; an error needs {', '.join(needed)}, and may have {', '.join(more)}"
