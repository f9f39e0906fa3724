"""Error annotations in JSON, in the shapes that models give them: read into located error spans, or refused.

Every evaluator that asks for JSON reads it here. What differs between them is how a severity is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from mtagent.errors import RatingParseError
from mtagent.llm.reading import Answer, Pairs, read_answer
from mtagent.records import ErrorSpan, Severity, Side
from mtagent.text import mqm
from mtagent.text.spans import find_spans

NO_ERROR = frozenset({"no-error", "no error", "noerror", "no errors", "none"})
_LISTS = ("errors", "annotations")
_SPAN = ("span", "error_span", "error span", "errorspan", "text")
_WHOLE = frozenset({"all", "whole", "entire", "whole translation", "entire translation", "entire segment"})
_YES = frozenset({"yes", "true", "1"})
_GRAVE = frozenset({"critical", "major", "minor"})
_PLACEHOLDERS = frozenset({"...", "…"})


class Weighed(NamedTuple):
    """A severity as a reply gives it: its name, and its number where the scale is one of numbers."""

    severity: Severity
    penalty: float | None = None


ReadSeverity = Callable[[Any], Weighed]


def read_annotations(reply: str, translation: str, severity: ReadSeverity) -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` where that is certain; ``()`` only for a stated "no error".

    Reads a list of objects, alone or under ``errors`` or ``annotations``, one object alone, and an object keyed by
    span, duplicates kept. Raises :class:`RatingParseError` where anything of it cannot be read.
    """
    answer = read_answer(reply)
    return located(
        stated(answer, (read_error(item, translation, severity) for item in read_items(answer.value))), translation
    )


def stated(answer: Answer, errors: Iterable[ErrorSpan | None]) -> list[ErrorSpan]:
    """The ``errors`` that were read from ``answer``, without those that are none.

    Raises :class:`RatingParseError` where nothing is left of JSON inside a sentence: that may quote what was asked for.
    """
    marked = [error for error in errors if error is not None]
    if not marked and not answer.alone:
        raise RatingParseError("it speaks of no error in a sentence, and does not give that as its answer")
    return marked


def named_severity(value: Any) -> Weighed:
    """A severity given as a word of MQM: critical, major, minor or neutral, in any case."""
    word = str(value).strip().casefold().removesuffix("error").removesuffix("errors").strip()
    if not isinstance(value, str) or word not in mqm.SEVERITIES:
        raise RatingParseError(f"the severity {str(value)[:40]!r} is none of {', '.join(mqm.SEVERITIES)}")
    return Weighed(word)


def located(errors: Iterable[ErrorSpan], translation: str) -> tuple[ErrorSpan, ...]:
    """``errors`` with the offsets of those that can mean only one place in ``translation``."""
    errors = list(errors)
    return tuple(
        error.model_copy(update={"start": finding.places[0].start, "end": finding.places[0].end})
        if finding.certain and error.side == "translation" and error.start is None
        else error
        for error, finding in zip(errors, find_spans(translation, errors), strict=True)
    )


def read_items(data: Any) -> Iterator[dict[str, Any]]:
    """One dictionary per error, with lower-case keys, whichever shape the JSON has."""
    if data == {}:
        raise RatingParseError("an empty object says neither which errors there are nor that there is none")
    pairs = data if isinstance(data, Pairs) else list(data.items()) if isinstance(data, dict) else []
    lists = [value for key, value in pairs if str(key).strip().casefold() in _LISTS and isinstance(value, list | dict)]
    if len(lists) > 1 or (lists and isinstance(data, Pairs)):
        raise RatingParseError("it has several lists of errors")
    data = lists[0] if lists else data
    if isinstance(data, Pairs) or (isinstance(data, dict) and not any(str(key).casefold() in _SPAN for key in data)):
        for span, info in data if isinstance(data, Pairs) else data.items():
            if info == [] and str(span).strip().casefold() not in NO_ERROR:
                raise RatingParseError(f"it says nothing about {str(span)[:40]!r}")
            for item in info if type(info) is list else [info]:
                yield {"span": span, **_fields(item)}  # a key such as "issues" is no span beside the item's own
        return
    for item in data if isinstance(data, list) else [data]:
        yield _fields(item)


def _fields(info: Any) -> dict[str, Any]:
    if isinstance(info, str) and info.strip().casefold() in NO_ERROR:
        return {"category": "no-error"}
    if isinstance(info, Pairs):
        if any(value != dict(info)[key] for key, value in info):
            raise RatingParseError("an error says two different things under the same key")
        info = dict(info)
    if not isinstance(info, dict):
        raise RatingParseError(f"{str(info)[:40]!r} is no error with span, category and severity")
    fields = {str(key).strip().casefold(): value for key, value in info.items()}
    name = next((name for name in _SPAN if name in fields), None)
    return fields if name is None else {**fields, "span": fields[name]}


def read_error(item: dict[str, Any], translation: str, severity: ReadSeverity) -> ErrorSpan | None:
    """The error of one item of :func:`read_items`, without offsets; ``None`` where it says that there is none."""
    span, category = item.get("span"), str(item.get("category") or "").strip().casefold()
    words = span.strip().casefold() if isinstance(span, str) else ""
    stands_there = words in translation.casefold()
    if category == "none" and words and stands_there:  # an error of no category, not no error
        category = ""
    no_category = category in NO_ERROR or category.endswith("/no-error")
    if no_category or (words in NO_ERROR - {"none"} and not stands_there):
        if words and stands_there and str(item.get("severity")).strip().casefold() in _GRAVE:
            raise RatingParseError(f"it marks {words[:40]!r} as {item['severity']} and says that it is no error")
        return None
    if words in _PLACEHOLDERS and words not in translation:
        raise RatingParseError("it repeats the form of the reply instead of filling it in")
    weighed, penalty = severity(item.get("severity"))
    if mqm.is_non_translation(category) and (words in _WHOLE or not words):  # which marks all of the text
        end = len(translation)
        return ErrorSpan(text=translation, start=0, end=end, category=category, severity=weighed, penalty=penalty)
    omission = category.rpartition("/")[2].strip() == "omission"
    if not isinstance(span, str) or not (span or omission):
        raise RatingParseError("an error has no span")
    texts = ((name, item.get(name)) for name in ("before", "after", "suggestion", "explanation"))
    told = {name: text for name, text in texts if isinstance(text, str)}
    before, after = told.get("before") or None, told.get("after") or None
    from_source = str(item.get("is_source_error", "")).strip().casefold() in _YES or mqm.is_source_error(category)
    side: Side = "translation"
    if from_source and span not in translation:
        side = "source"
    elif omission and (span == "" or not _stands_in(translation, span, before, after)):
        side = "omission"
    return ErrorSpan(
        text=span,
        category=category or "other",
        severity=weighed,
        side=side,
        suggestion=told.get("suggestion"),
        explanation=told["explanation"] if told.get("explanation", "").strip() else None,
        before=before,
        after=after,
        penalty=penalty,
    )


def _stands_in(translation: str, span: str, before: str | None, after: str | None) -> bool:
    """Whether an omission marks words of the translation. The missing source words may stand there by chance."""
    if not (before or after):
        return span in translation
    joined = [f"{before}{glue}{span}" for glue in ("", " ") if before]
    joined += [f"{span}{glue}{after}" for glue in ("", " ") if after]
    return any(text in translation for text in joined)
