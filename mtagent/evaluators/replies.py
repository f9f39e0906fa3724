"""What the readers of evaluators' replies share: text, the fields of JSON, and errors in JSON.

Models give errors in several shapes: a list of objects, alone or under ``errors`` or ``annotations``, one object alone,
or an object keyed by span. All are read, or refused. What only one evaluator asks for is read in its own module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.llm.reading import EXCERPT, Answer, RepeatedKeys, plain_text
from mtagent.records import ErrorSpan, Severity, Side
from mtagent.text import mqm, scripts
from mtagent.text.spans import Location, find_spans

Item = dict[str, Any]
"""The fields of one error, as a reply gives them."""

NO_ERROR = frozenset({"no-error", "no error", "noerror", "no errors", "none"})
_LISTS = ("errors", "annotations")
_SPAN = ("span", "error span", "errorspan", "text")
WHOLE_TRANSLATION = "entire translation"
"""A span that means the whole translation."""
_WHOLE = frozenset(
    f"{size} {text}"
    for size in ("entire", "whole", "full", "complete")
    for text in ("translation", "text", "sentence", "segment", "passage")
)
_WHOLLY = frozenset({"completely", "entirely", "fully", "totally", "wholly"})
_FILLERS = _WHOLLY | {"are", "been", "has", "is", "left", "simply", "was"}
_VERDICTS = {
    "accuracy/mistranslation": (
        "gibberish", "inaccurate", "incomprehensible", "incorrect", "meaningless", "mistranslated", "nonsense",
        "nonsensical", "unintelligible", "unrelated to the source", "wrong",
    ),
    "accuracy/untranslated text": ("in the source language", "not translated", "untranslated"),
}  # fmt: skip
"""Verdicts on a whole translation, by the category that they mean."""
_WHOLE_OF_NON_TRANSLATION = frozenset({"", "all", "whole", "entire"})
_NESTED_QUOTES = ('""', "''", "``", "“”", "„“", "„”", "«»", "»«", "‹›", "‘’", "「」", "『』")
_YES = frozenset({"yes", "true", "1"})
_GRAVE = frozenset({"critical", "major", "minor"})
_PLACEHOLDERS = frozenset({"...", "…"})


def refuse(problem: str, culprit: str | None = None) -> NoReturn:
    """Raise :class:`RatingParseError` with the ``problem`` and the beginning of the ``culprit``."""
    if culprit is None:
        raise RatingParseError(problem) from None
    shown = culprit if len(culprit) <= EXCERPT else f"{culprit[:EXCERPT]}…"
    raise RatingParseError(f"{problem}: {shown!r}") from None


def text_in(reply: str, like: str = "") -> str:
    """The text of a reply, as :func:`mtagent.llm.reading.plain_text` reads it. Raises :class:`RatingParseError`."""
    try:
        return plain_text(reply, like)
    except (EmptyReply, UnreadableReply) as error:
        refuse(str(error))


def fields_of(data: Any) -> dict[str, Any]:
    """The fields of an object, or of a list of one object; names in lower case, spaces for hyphens and underscores.

    Raises :class:`RatingParseError` for anything else, and for a field that is given twice, differently.
    """
    if type(data) is list and len(data) == 1:
        data = data[0]
    if isinstance(data, RepeatedKeys):
        by_name = dict(data)
        if any(value != by_name[key] for key, value in data):
            refuse("it says two different things under the same name")
        data = by_name
    if not isinstance(data, dict):
        refuse(f"{str(data)[:40]!r} isn't a JSON object of the form that was asked for")
    fields = {}
    for key, value in data.items():
        name = str(key).strip().casefold().replace("_", " ").replace("-", " ")
        fields[name] = value
    return fields


class Weighed(NamedTuple):
    """A severity as a reply gives it."""

    severity: Severity
    penalty: float | None = None
    """Its number, if the reply uses a scale of numbers."""


def read_severity(value: Any) -> Weighed:
    """A severity given as a word of MQM: critical, major, minor or neutral, in any case."""
    word = str(value).strip().casefold().removesuffix("error").removesuffix("errors").strip()
    if not isinstance(value, str) or word not in mqm.SEVERITIES:
        refuse(f"the severity {str(value)[:40]!r} is none of {', '.join(mqm.SEVERITIES)}")
    return Weighed(word)


def errors_in(
    answer: Answer,
    translation: str,
    severity: Callable[[Any], Weighed] = read_severity,
    complete: Callable[[Item], Item | None] = lambda item: item,
) -> tuple[ErrorSpan, ...]:
    """The errors in ``answer``, located in ``translation`` if that is certain; ``()`` only for a stated "no error".

    ``severity`` reads a severity; ``complete`` adds what an evaluator knows of an item, and returns ``None`` for an
    item that states that there is no error. Raises :class:`RatingParseError` if any part of the answer cannot be read,
    and if no error is left in JSON inside a sentence, which may quote the request.
    """
    errors = []
    for written_item in read_items(answer.value):
        item = complete(written_item)
        if item is None:
            continue
        error = read_error(item, translation, severity)
        if error is not None:
            errors.append(error)
    if not errors and not answer.alone:
        refuse("it speaks of no error in a sentence, and does not give that as its answer")
    return located(errors, translation)


MOST_ERRORS = 50
"""The most errors that are believed of any text. A model that lists more may be repeating itself endlessly."""


def located(errors: Iterable[ErrorSpan], translation: str) -> tuple[ErrorSpan, ...]:
    """``errors``, with offsets for errors that can mean only one place in ``translation``.

    Raises :class:`RatingParseError` for more than :data:`MOST_ERRORS` errors, if they are more than the translation has
    words, or if most of them mark what does not occur in it, or not that often.
    """
    errors = list(errors)
    locations = find_spans(translation, errors)
    if len(errors) > MOST_ERRORS:
        _refuse_flood(errors, locations, translation)
    located_errors = []
    for error, location in zip(errors, locations, strict=True):
        if location.certain and error.side == "translation" and error.start is None:
            place = location.places[0]
            error = error.model_copy(update={"start": place.start, "end": place.end})
        located_errors.append(error)
    return tuple(located_errors)


def _refuse_flood(errors: Sequence[ErrorSpan], locations: Sequence[Location], translation: str) -> None:
    """Raise if ``errors`` are too many to be believed. What is missing from the translation occurs at most once."""
    words = len(scripts.words(translation))
    if len(errors) > words:
        refuse(f"it lists {len(errors)} errors in a translation of {words} words")
    marked = Counter[str]()
    absent = 0
    for error, location in zip(errors, locations, strict=True):
        marked[error.text] += 1
        occurrences = 1
        if error.side == "translation" and error.start is None:
            occurrences = len(location.places)
            if location.places:
                occurrences = max(occurrences, translation.count(error.text))
        absent += marked[error.text] > occurrences
    if absent > len(errors) / 2:
        refuse(f"it lists {len(errors)} errors, and {absent} of them mark what does not occur in the translation")


def read_items(data: Any) -> Iterator[Item]:
    """The fields of each error, whichever shape the JSON has."""
    if data == {}:
        refuse("an empty object says neither which errors there are nor that there is none")
    # RepeatedKeys are an object that has a field twice.
    has_repeated_field = isinstance(data, RepeatedKeys)
    lists = []
    for key, value in _key_values(data):
        if str(key).strip().casefold() in _LISTS and isinstance(value, list | dict):
            lists.append(value)
    if len(lists) > 1 or (lists and has_repeated_field):
        refuse("it has several lists of errors")
    if lists:
        data = lists[0]
    is_error = isinstance(data, dict) and any(str(key).casefold().replace("_", " ") in _SPAN for key in data)
    is_keyed_by_span = isinstance(data, RepeatedKeys) or (isinstance(data, dict) and not is_error)
    if not is_keyed_by_span:
        for item in data if isinstance(data, list) else [data]:
            yield _item(item)
        return
    for span, info in _key_values(data):
        if info == [] and str(span).strip().casefold() not in NO_ERROR:
            refuse(f"it says nothing about {str(span)[:40]!r}")
        for item in info if type(info) is list else [info]:
            # The item's own span is preferred: the key may be a word such as "issues".
            yield {"span": span, **_item(item)}


def _key_values(data: Any) -> Iterable[tuple[Any, Any]]:
    """The fields of an object, also of one that has a field twice; none for other data."""
    if isinstance(data, RepeatedKeys):
        return data
    if isinstance(data, dict):
        return data.items()
    return ()


def _item(data: Any) -> Item:
    if isinstance(data, str) and data.strip().casefold() in NO_ERROR:
        return {"category": "no-error"}
    fields = fields_of(data)
    for name in _SPAN:
        if name in fields:
            return {**fields, "span": fields[name]}
    return fields


def is_all(words: str) -> bool:
    """Whether ``words`` name the whole translation: ``the entire text``."""
    return words.strip(" .!").casefold().removeprefix("the ") in _WHOLE


def verdict_on_all(sentence: str) -> str | None:
    """The category of an error that a ``sentence`` finds in the whole translation; ``None`` for any other sentence.

    It concerns the whole text ("The entire text is wrong."), or all of it ("The translation is completely wrong.").
    """
    words = sentence.strip(" .!").casefold().removeprefix("the ").split()
    if is_all(" ".join(words[:2])):
        predicate = words[2:]
    elif words[:1] == ["translation"] and not _WHOLLY.isdisjoint(words):
        predicate = words[1:]
    else:
        return None
    verdict = " ".join(word for word in predicate if word not in _FILLERS)
    for category, verdicts in _VERDICTS.items():
        if verdict in verdicts:
            return category
    return None


def without_quotes(span: str) -> str:
    """``span`` without quotation marks that a model writes around it, inside the quotation marks of the reply."""
    inner = span
    while len(inner) > 2 and inner[0] + inner[-1] in _NESTED_QUOTES:
        inner = inner[1:-1].strip()
    return inner or span


def read_error(item: Item, translation: str, severity: Callable[[Any], Weighed] = read_severity) -> ErrorSpan | None:
    """The error in ``item``, without offsets; ``None`` if it states that there is no error."""
    span = item.get("span")
    category = str(item.get("category") or "").strip().casefold()
    if isinstance(span, str) and span not in translation:
        span = without_quotes(span)
    words = span.strip().casefold() if isinstance(span, str) else ""
    occurs = words in translation.casefold()
    if category == "none" and words and occurs:  # an error without a category
        category = ""
    says_no_error = category in NO_ERROR or category.endswith("/no-error")
    if says_no_error or (words in NO_ERROR - {"none"} and not occurs):
        if words and occurs and str(item.get("severity")).strip().casefold() in _GRAVE:
            refuse(f"it marks {words[:40]!r} as {item['severity']} and says that it is no error")
        return None
    if words in _PLACEHOLDERS and words not in translation:
        refuse("it repeats the form of the reply instead of filling it in")
    weighed, penalty = severity(item.get("severity"))
    names_whole_text = is_all(words) and not occurs
    is_whole_non_translation = mqm.is_non_translation(category) and words in _WHOLE_OF_NON_TRANSLATION
    if names_whole_text or is_whole_non_translation:
        return ErrorSpan(
            text=translation,
            start=0,
            end=len(translation),
            category=category or "other",
            severity=weighed,
            explanation=_explanation_in(item),
            penalty=penalty,
        )
    is_omission = category.rpartition("/")[2].strip() == "omission"
    if not isinstance(span, str) or not (span or is_omission):
        refuse("an error has no span")
    texts = {name: text for name, text in item.items() if isinstance(text, str)}
    before = texts.get("before") or ""
    after = texts.get("after") or ""
    # Words that are missing may occur elsewhere in the translation: the context decides, if there is one.
    in_context = []
    if before:
        in_context += [f"{before}{span}", f"{before} {span}"]
    if after:
        in_context += [f"{span}{after}", f"{span} {after}"]
    occurs_there = any(text in translation for text in in_context or [span])
    is_in_source = str(item.get("is source error", "")).strip().casefold() in _YES or mqm.is_source_error(category)
    side: Side = "translation"
    if is_in_source and span not in translation:
        side = "source"
    elif is_omission and (span == "" or not occurs_there):
        side = "omission"
    return ErrorSpan(
        text=span,
        category=category or "other",
        severity=weighed,
        side=side,
        suggestion=texts.get("suggestion"),
        explanation=_explanation_in(item),
        before=before or None,
        after=after or None,
        penalty=penalty,
    )


def _explanation_in(item: Item) -> str | None:
    for name in ("explanation", "why"):
        text = item.get(name)
        if isinstance(text, str) and text.strip():
            return text
    return None
