"""JSON in which a model or a server reports a failure, instead of an answer or in addition to one.

``{"errors": [], "error": "context length exceeded"}`` lists no error of the translation, but isn't a verdict. The words
of such reports are in ``text/data/failures.toml``. Names are compared in lower case, with spaces between
words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import regex

from mtagent.text.shop_talk import declines
from mtagent.text.word_lists import word_lists

_LISTS = word_lists("failures")
REPORTS = frozenset(_LISTS["reports"])
"""Fields that report a failure by any text, number or object in them."""
FLAGS = frozenset(_LISTS["flags"])
"""Fields that report a failure if they are true."""
SUCCESS = frozenset(_LISTS["success"])
"""Fields that report a failure if they are false."""
STATES = frozenset(_LISTS["states"])
"""Fields that report a failure by one of the words below, or by an HTTP status from 400 on."""
STATE_WORDS = FLAGS | frozenset(_LISTS["state_words"])
KINDS = frozenset(_LISTS["kinds"])
"""Fields that also report a failure by a text that begins with one, or that holds a phrase about the task."""
ENDINGS = frozenset(_LISTS["endings"])
"""Fields with the reason why a model stopped. Any reason but a regular ending means a truncated reply."""
REGULAR_ENDINGS = frozenset(_LISTS["regular_endings"])
MESSAGES = frozenset(_LISTS["messages"])
"""Fields for remarks of any kind. Phrases about the task report a failure; without a verdict, all phrases do."""
REMARKS = frozenset(_LISTS["remarks"])
"""Fields for remarks on a translation. They report a failure by a phrase about the task, beside an empty verdict."""
TASKS: list[str] = _LISTS["tasks"]
CANNOT: list[str] = _LISTS["cannot"]
REFUSALS = tuple(f"{cannot} {task}" for cannot in CANNOT for task in TASKS)
TASK_PHRASES = (*REFUSALS, *_LISTS["task_phrases"])
"""Phrases about a failed task that are rare in remarks on a translation."""
PHRASES = (*TASK_PHRASES, *_LISTS["phrases"])
VERDICTS = frozenset(_LISTS["verdicts"])
"""Fields that hold a verdict, whatever is in them."""

ERROR_FIELDS = frozenset(_LISTS["error_fields"])
"""Fields of an error in a translation: in an object that has one, ``error`` describes that error."""
_ANSWERS = frozenset(_LISTS["answers"])
_FINDINGS = ("annotations", "errors", "exists", "views")  # empty or false if the judge found nothing
_FAILED = regex.compile(r"(?:error(?! free\b)|fail(?:ed|ure)?)\b")
_TEXT = r"(?:source|text|translation)\b"
_OF_WRITER = r"(?:^|[,:;] |\b(?:and|but|i|so|we)(?:'m| am| are| was| were)? )"
_NO_TEXT = regex.compile(
    rf"\bno {_TEXT} (?:given|provided|was (?:found|given|provided))\b|\bno translation to (?:{'|'.join(TASKS)})\b"
    rf"|\b{_TEXT} (?:is|was) not provided\b"
    rf"|\bprovide (?:a|both|the|your) (?:(?:and|original|source|target|the|translated) )*{_TEXT}"
    rf"|{_OF_WRITER}(?:{'|'.join(CANNOT)}) (?:access|open|parse|read|see) the {_TEXT}"
)
"""Said where a text did not arrive. Beside errors it may be about a part of the text."""
_TELLS_CONTENT = regex.compile(r"\b(?:ask|instruct|mean|say|state|tell)(?:s|ing)?\b")
_SENTENCE_END = regex.compile(r"[.!?]++ ")
_ERROR_WORD = rf"(?:{'|'.join(_LISTS['error_words'])})"
_NONE_ABROAD = rf"(?:{'|'.join(_LISTS['foreign_none_words'])})"
_ERROR_LINE = regex.compile(
    rf"^[^\w\n>]*+\w*?{_ERROR_WORD}(?: \d{{3}})?(?:[ *_\])]*+[:：]|\])[ *_]*+"
    rf"(?!(?:{'|'.join(_LISTS['none_words'])})\b|no[ .]*$|{_NONE_ABROAD}[ .。]*$"
    r"|(?:there (?:are|is|was|were) )?no (?:\w+ )?(?:errors?|issues?|mistakes?)\b"
    rf"|(?:\w+ ){{0,3}}{_NONE_ABROAD} ?(?:\w+ )?{_ERROR_WORD})(?:\w|\W*(?:json)?\W*\Z)",
    regex.IGNORECASE | regex.MULTILINE,
)
"""Not a line that is marked as quoted. With nothing after the colon it is a report if it ends the text."""
_SHORT_REPORT = 4  # words of a reply's prose that is nothing but a report
_HTTP_FAILURE = regex.compile(r"[45]\d\d")
_QUOTED = regex.compile(r"""(?<!\w)["'“„«‘].{0,200}?["'”“»’](?!\w)""", regex.DOTALL)
_CAMEL = regex.compile(r"(?<=[a-z])(?=[A-Z])")
_SPACING = regex.compile(r"[\s_-]++")
LONGEST_REPORT = 60  # characters of a report that are shown


def failure_in(value: Any) -> str | None:
    """The failure that ``value``, the JSON of a reply, reports, as ``name: text``; ``None`` for no failure.

    Looks into lists and into objects inside of objects, except errors in the translation.
    """
    for fields in _objects_in(value):
        for name, content in fields:
            if _reports_failure(name, content, fields):
                shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
                return f"{name}: {shown[:LONGEST_REPORT]}"
    return None


def failure_in_text(text: str) -> str | None:
    """The same of a reply in plain text, if all of it is JSON."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return failure_in(value)


def finds_nothing(value: Any) -> bool:
    """Whether ``value``, the JSON of a reply, is empty or lists no error, and holds no other verdict."""
    if not value:
        return True
    return isinstance(value, dict) and _finds_nothing([(_plain(str(name)), content) for name, content in value.items()])


def refuses(prose: str) -> bool:
    """Whether ``prose`` next to JSON that finds nothing reports an error, or that its writer cannot do the task.

    Quoted words don't count.
    """
    said = _unified(prose)
    reports_error = _ERROR_LINE.search(_QUOTED.sub("", prose)) is not None
    is_report = len(said.split()) <= _SHORT_REPORT and _holds(TASK_PHRASES, said)
    return reports_error or is_report or _holds(REFUSALS, said) or _lacks_text(said) or declines("", prose)


def _objects_in(value: Any) -> Iterator[list[tuple[str, Any]]]:
    """The objects in ``value`` that are not errors in the translation, as lists of name and content."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        # Objects with repeated names come as lists of pairs.
        pairs = list(item.items()) if isinstance(item, dict) else item
        if isinstance(item, list) and not _are_pairs(item):
            waiting += reversed(item)
            continue
        fields = [(_plain(str(name)), content) for name, content in pairs]
        if any(name in ERROR_FIELDS for name, _ in fields):
            continue
        yield fields
        for name, content in reversed(fields):
            if name in _FINDINGS and isinstance(content, dict):
                waiting += reversed([item for span, item in content.items() if not _is_error_at(span, item)])
            else:
                waiting.append(content)


def _is_error_at(span: str, item: Any) -> bool:
    """Whether an object under ``errors`` is the error in a span: ``{"errors": {"Haus": {"error": "wrong word"}}}``."""
    return isinstance(item, dict) and _plain(span) not in REPORTS and "error" in item


def _are_pairs(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, tuple) for item in items)


@lru_cache(1000)  # replies use the same names again and again
def _plain(name: str) -> str:
    """``name`` in lower case with spaces between its words: ``finishReason`` and ``finish_reason`` are the same."""
    words = _SPACING.sub(" ", _CAMEL.sub(" ", name)).strip().casefold()
    return words.removeprefix("is ").removeprefix("was ")


def _reports_failure(name: str, content: Any, fields: list[tuple[str, Any]]) -> bool:
    """Whether the field ``name`` of an object with these ``fields`` reports a failure by its ``content``."""
    text = _unified(content) if isinstance(content, str) else ""
    if name in REPORTS:
        if content is True or text in ("true", "yes"):  # it may answer whether there is an error in the translation
            return not any(findings for other, findings in fields if other in _FINDINGS)
        if isinstance(content, dict | list) and _describes_errors(content):
            return False
        return bool(content) and text not in _ANSWERS
    if name in FLAGS:
        return content is True or text in ("true", "yes")
    if name in SUCCESS:
        return content is False or text in ("false", "no")
    if name in STATES:
        is_number = isinstance(content, int) and not isinstance(content, bool)
        if text in STATE_WORDS or (is_number and 400 <= content <= 599) or _HTTP_FAILURE.fullmatch(text):
            return True
    if name in KINDS and (name != "type" or _finds_nothing(fields)):  # the type of an error may be anything
        return _FAILED.match(text) is not None or _holds(TASK_PHRASES, text)
    if name in ENDINGS:
        return content is not None and text not in REGULAR_ENDINGS
    if name in MESSAGES:
        if _has_verdict(fields):
            return _holds(TASK_PHRASES, text)
        return _holds(PHRASES, text) or _lacks_text(text)
    if name in REMARKS:
        return _finds_nothing(fields) and (_holds(TASK_PHRASES, text) or _lacks_text(text) or declines("", text))
    return False


def _unified(text: str) -> str:
    """``text`` in lower case, with straight apostrophes, and with single spaces for white space, ``_`` and ``-``."""
    return _SPACING.sub(" ", text).strip().casefold().replace("’", "'")


def _holds(phrases: tuple[str, ...], text: str) -> bool:
    """Whether ``text`` contains one of the ``phrases``, except in quotes, which come from source or translation."""
    said = _QUOTED.sub("", text)
    return any(phrase in said for phrase in phrases)


def _lacks_text(text: str) -> bool:
    """Whether ``text`` says that its writer got no source or no translation."""
    for sentence in _SENTENCE_END.split(_QUOTED.sub("", text)):
        # "The source asks to provide the text" tells what is translated.
        if _NO_TEXT.search(sentence) and not _TELLS_CONTENT.search(sentence):
            return True
    return False


def _has_verdict(fields: list[tuple[str, Any]]) -> bool:
    return any(name in VERDICTS or (name in _FINDINGS and content) for name, content in fields)


def _finds_nothing(fields: list[tuple[str, Any]]) -> bool:
    return not _has_verdict(fields) and any(name in _FINDINGS for name, _ in fields)


def _describes_errors(content: dict[str, Any] | list[Any]) -> bool:
    """Whether the content of a field is an error in the translation, or a list of them: its name is a span then."""
    items = content if isinstance(content, list) else [content]
    return any(
        isinstance(item, dict) and not ERROR_FIELDS.isdisjoint(_plain(str(name)) for name in item) for item in items
    )
