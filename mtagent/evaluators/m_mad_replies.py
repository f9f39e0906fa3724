"""What the agents of M-MAD write and read: annotations of a dimension, statements, verdicts, and the rules for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import regex

from mtagent import mqm
from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators.annotations import NO_ERROR, Weighed, located, named_severity, read_error, read_items, stated
from mtagent.llm.plain import plain_text
from mtagent.llm.reading import Answer, read_answer
from mtagent.records import ErrorSpan

Errors = tuple[ErrorSpan, ...]

DIMENSIONS = {
    "accuracy": ("addition", "mistranslation", "omission", "untranslated text"),
    "fluency": ("character encoding", "grammar", "inconsistency", "punctuation", "register", "spelling"),
    "terminology": ("inappropriate for context", "inconsistent use"),
    "style": ("awkward",),
}
"""The dimensions in the order of the typology, with their subcategories (M-MAD paper, §2.2 and Table 13)."""

_ALONE = regex.compile(r"^[ \t*_`\"'«“>#-]*+(yes|no)[ \t\r*_`\"'»”.!]*+$", regex.IGNORECASE | regex.MULTILINE)
# An answer inside a sentence: "the answer is no.", "no (they differ)", but not "no differences", "yes if", "no. 3".
_SAID = regex.compile(
    r"""(?<![^\W_]) (yes|no) [\"'*_`”’»]*+ (?=[^\S\n]*+(?:\Z | [\n,:;!()\[\]{}–—] | \.(?!\s?\d) | -\s))
    | \A\W*+(yes|no) (?=\s+(?:they|the|these|those|it|both|there|because|since)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
# A yes that is none: "I would not say yes", "yes, they are inconsistent".
_NOT_YES = regex.compile(
    r"\b(?:not|never|cannot|\w+n['’]t)\s+(?:\w+\s+){0,2}[\"'“‘*]*+yes\b"
    r"|\b(?:inconsistent|disagree\w*)\b|\b(?:not|never|\w+n['’]t)\s+(?:\w+\s+)?(?:consistent|agree)\b",
    regex.IGNORECASE,
)
_CHOICE = regex.compile(r"\byes\b\W{0,3}(?:/|\b(?:or|and)\b)\W{0,3}\bno\b", regex.IGNORECASE)


class Statement(NamedTuple):
    """What a debater says: the whole text without thoughts, and the annotations at its end."""

    text: str
    errors: Errors


class Judgement(NamedTuple):
    """What a judge decides, and why."""

    errors: Errors
    analysis: str | None


def parse(reply: str, translation: str, dimension: str | None = None) -> Errors:
    """The errors in ``reply``, located in ``translation`` where that is certain; ``()`` only for a stated "no error".

    Severities are major and minor. A category without its ``dimension`` gets it, and the rules of :func:`settled`
    hold. Raises :class:`RatingParseError` where anything of it cannot be read.
    """
    return _errors(read_answer(reply), translation, dimension)


def parse_statement(reply: str, translation: str, dimension: str | None = None) -> Statement:
    """A debater's reasons, which may quote the other's annotations, and its own annotations: the last in ``reply``."""
    return Statement(parse_words(reply), _errors(read_answer(reply, last=True), translation, dimension))


def parse_judgement(reply: str, translation: str, dimension: str | None = None) -> Judgement:
    """A judge's ``annotations`` and ``analysis``."""
    answer = read_answer(reply)
    analysis = answer.value.pop("analysis", None) if isinstance(answer.value, dict) else None
    return Judgement(_errors(answer, translation, dimension), analysis if isinstance(analysis, str) else None)


def parse_consensus(reply: str) -> bool:
    """Whether a consensus checker says yes. Raises :class:`RatingParseError` unless it clearly says yes or no."""
    words = _CHOICE.sub("", parse_words(reply))
    found = _ALONE.findall(words) or [inside or first for inside, first in _SAID.findall(words)]
    answers = set(map(str.casefold, found))
    if len(answers) != 1 or (answers == {"yes"} and _NOT_YES.search(words)):
        raise RatingParseError(f"it says neither yes nor no: {words[:80]!r}")
    return answers == {"yes"}


def parse_words(reply: str) -> str:
    """A reply that is text, such as a reviewer's questions, without the thoughts before it."""
    try:
        return plain_text(reply, "")
    except (EmptyReply, UnreadableReply) as error:
        raise RatingParseError(str(error)) from None


def as_json(errors: Sequence[ErrorSpan], *, context: bool = True) -> str:
    """``errors`` as the annotations that the prompts ask for, with or without the words around each span."""
    fields = [_as_fields(error, context) for error in errors]
    return json.dumps({"annotations": fields}, ensure_ascii=False)


def settled(errors: Iterable[ErrorSpan]) -> Errors:
    """The typology's rules: a non-translation excludes all else, and a place has one error: the worst, the first kind.

    Errors of the same severity at the same place count in the order accuracy, fluency, terminology, style.
    """
    errors = list(errors)
    if whole := [error for error in errors if mqm.is_non_translation(error.category)]:
        return (whole[0],)
    worst: dict[object, ErrorSpan] = {}
    for number, error in enumerate(errors):
        place = number if error.start is None else (error.start, error.end)
        worst[place] = min(worst.get(place, error), error, key=_rank)
    return tuple(worst.values())


def remembered(errors: Iterable[ErrorSpan], former: Sequence[ErrorSpan]) -> Errors:
    """``errors``, those that came without context being put where ``former`` errors of the same words stand."""
    return settled(_remembered(error, former) for error in errors)


def _remembered(error: ErrorSpan, former: Sequence[ErrorSpan]) -> ErrorSpan:
    same = [one for one in former if one.text == error.text and _is_omission(one) == _is_omission(error)]
    places = {(one.side, one.start, one.end, one.before, one.after) for one in same}
    if error.before or error.after or len(places) != 1:
        return error
    side, start, end, before, after = places.pop()
    return error.model_copy(update={"side": side, "start": start, "end": end, "before": before, "after": after})


def _is_omission(error: ErrorSpan) -> bool:
    return error.category.endswith("omission")


def _rank(error: ErrorSpan) -> tuple[int, int]:
    kind = error.category.partition("/")[0]
    order = list(DIMENSIONS).index(kind) if kind in DIMENSIONS else len(DIMENSIONS)
    return -mqm.severity_rank(error.severity), order


def _errors(answer: Answer, translation: str, dimension: str | None) -> Errors:
    items = [_completed(item, dimension) for item in read_items(answer.value)]
    errors = stated(answer, (read_error(item, translation, _severity) for item in items))
    return settled(located(errors, translation))


def _completed(item: dict[str, Any], dimension: str | None) -> dict[str, Any]:
    """``item`` with its category in full. A non-translation is major and marks all of the text, whatever it says."""
    category = str(item.get("category") or "").strip().casefold()
    if mqm.is_non_translation(category.rpartition("/")[2]):
        return {**item, "category": "non-translation", "severity": "major", "span": "all"}
    if category.rpartition("/")[2] in NO_ERROR:
        return {**item, "category": "no-error"}
    if category.startswith("not "):  # what an opponent on categories starts from
        raise RatingParseError(f"{category[:40]!r} does not say which category an error has")
    if dimension is None or ("/" in category and not category.startswith(dimension)):
        return item
    return {**item, "category": f"{dimension}/{category.removeprefix(dimension).strip(' /:>–-')}".rstrip("/")}


def _severity(value: Any) -> Weighed:
    weighed = named_severity(value)
    if weighed.severity not in ("major", "minor"):
        raise RatingParseError(f"the severity {weighed.severity!r} is neither major nor minor")
    return weighed


def _as_fields(error: ErrorSpan, context: bool) -> dict[str, str]:
    whole = mqm.is_non_translation(error.category)
    around = {"before": error.before or "", "after": error.after or ""} if context else {}
    return {
        "error_span": "all" if whole else error.text,
        **around,
        "category": error.category,
        "severity": error.severity,
        "is_source_error": "yes" if error.side == "source" else "no",
    }
