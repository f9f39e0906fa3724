"""What RATE's sub-agents reply, read into records or refused (RATE paper, figures 18 to 20).

Each reader takes the fields that this project's prompts ask for, and the paper's own names for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NoReturn, cast

import regex

from mtagent.errors import RatingParseError
from mtagent.evaluators.annotations import located
from mtagent.evaluators.rate_comparison import HIGHEST, LOWEST
from mtagent.llm.reading import Pairs, read_json
from mtagent.records import ErrorSpan, Severity

MOST_QUERIES = 3
Winner = Literal["a", "b", "tie"]

_NUMBER = regex.compile(r"\s*([+-]?\d{1,6}(?:[.,]\d{1,9})?)\s*(%|/\s*4(?:\.0)?)?\s*")
_NOTHING = frozenset({"", "none", "null", "n/a", "na", "nil", "-", "missing", "omitted", "omission", "no errors"})
_BRACKETS = " \t\r\n()[]<>{}.*"
_WINNER = regex.compile(
    r"\W*(?:the\s+)?(?:(?:winner|better|candidate|translation|option)\W+)*(a|b|tie|tied|draw|equal|neither|both)\W*"
)
_ERRORS = ("errors", "error_spans")
_GAPS = ("gaps", "suspected_knowledge_gaps", "knowledge_gaps")
_RATIONALE = ("rationale", "reasoning", "explanation")
_SOURCE = ("source", "source_segment", "source_text")
_TARGET = ("target", "target_segment", "target_text", "translation", "span")
_ISSUE = ("issue", "description", "explanation")


class Assessment(NamedTuple):
    """What the evaluation agent says: a score from 0 to 4, and what it rests on.

    ``confidence`` is 0 to 1, or ``None`` where none is given; ``gaps`` are terms that the agent does not know for sure.
    """

    score: float
    confidence: float | None
    rationale: str
    errors: tuple[ErrorSpan, ...]
    gaps: tuple[str, ...]


def severity_at(score: float) -> Severity:
    """The severity of the errors of a translation with this score; the method gives none.

    Below 2 a part of the meaning is lost (major), from 2 on the text can be understood (minor).
    """
    return "major" if score < 2 else "minor"


def read_assessment(reply: str, translation: str) -> Assessment:
    """The evaluation agent's reply. Raises :class:`RatingParseError` where it lacks a score from 0 to 4 or the errors.

    Errors are located in ``translation`` where that is certain; one without target words is an omission.
    """
    fields = _fields(read_json(reply))
    if not any(name in fields for name in _ERRORS):
        raise RatingParseError("it has no list of errors")
    score = read_score(fields.get("score"))
    items = _listed(_first(fields, _ERRORS))
    return Assessment(
        score=score,
        confidence=_confidence(fields.get("confidence")),
        rationale=str(_first(fields, _RATIONALE) or "").strip(),
        errors=located([_error(item, translation, severity_at(score)) for item in items], translation),
        gaps=tuple(_gap(item) for item in _listed(_first(fields, _GAPS))),
    )


def read_score(value: Any) -> float:
    """A number from 0 to 4, also as text: ``3``, ``"3.5"``, ``"3/4"``. Raises :class:`RatingParseError`."""
    number, unit = _number(value)
    if number is None or unit == "%" or not LOWEST <= number <= HIGHEST:
        raise RatingParseError(f"the score {str(value)[:40]!r} is not a number from 0 to 4")
    return number


def read_queries(reply: str) -> tuple[str, ...]:
    """The search agent's queries, at most three. Raises :class:`RatingParseError` if there is none."""
    data = read_json(reply)
    if isinstance(data, dict):
        fields = _fields(data)
        data = _first(fields, ("queries", "search_query", "search_queries", "query", "q"))
    texts = [_query(item) for item in _listed(data)]
    queries = tuple(dict.fromkeys(text for text in texts if text))
    if not queries:
        raise RatingParseError("it has no search query")
    return queries[:MOST_QUERIES]


def read_summary(reply: str) -> str:
    """The search agent's answer; ``""`` where it says that the results hold none. Raises :class:`RatingParseError`."""
    answer = _fields(read_json(reply)).get("answer", 0)
    if answer is not None and not isinstance(answer, str):
        raise RatingParseError("it has no answer")
    return "" if _says_nothing(answer or "") else str(answer).strip()


def read_winner(reply: str) -> Winner:
    """Which of two candidates the comparison agent prefers. Raises :class:`RatingParseError` for anything else."""
    said = _WINNER.fullmatch(reply.strip().casefold())
    if not said:
        chosen = _first(_fields(read_json(reply)), ("winner", "better", "preferred"))
        said = _WINNER.fullmatch(chosen.casefold()) if isinstance(chosen, str) else None
    if not said:
        raise RatingParseError("the reply chooses neither A nor B nor a tie")
    return cast(Winner, said[1] if said[1] in ("a", "b") else "tie")


def _error(item: Any, translation: str, severity: Severity) -> ErrorSpan:
    if isinstance(item, str):
        if not item.strip() or item not in translation:
            raise RatingParseError(f"the error {item[:40]!r} names no words of the translation")
        return ErrorSpan(text=item, category="other", severity=severity)
    fields = _fields(item)
    source, target, issue = (_text(fields, names) for names in (_SOURCE, _TARGET, _ISSUE))
    before, after = _text(fields, ("before",)) or None, _text(fields, ("after",)) or None
    if target and (target in translation or not _says_nothing(target)):
        place = {"text": target, "category": "other", "before": before, "after": after}
    elif source and not _says_nothing(source):
        place = {"text": source, "category": "accuracy/omission", "side": "omission", "before": before, "after": after}
    else:
        raise RatingParseError("an error names neither words of the source nor of the translation")
    return ErrorSpan.model_validate({**place, "severity": severity, "explanation": issue.strip() or None})


def _confidence(value: Any) -> float | None:
    if value is None:
        return None
    number, unit = _number(value)
    if number is not None and (unit == "%" or 10 <= number <= 100):
        number /= 100
    if number is None or not 0 <= number <= 1 or unit.startswith("/"):
        raise RatingParseError(f"the confidence {str(value)[:40]!r} is not a number from 0 to 1")
    return number


def _gap(item: Any) -> str:
    text = item if isinstance(item, str) else _text(_fields(item), ("term", "gap", "text", "source"))
    return text.strip() or _refuse("a knowledge gap names no term")


def _query(item: Any) -> str:
    text = item if isinstance(item, str) else _text(_fields(item), ("q", "query"))
    return " ".join(text.split())


def _number(value: Any) -> tuple[float | None, str]:
    """A number and what follows it: ``%`` or ``/4``. ``None`` where ``value`` is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e6 else None, ""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1].replace(",", ".")), match[2] or "") if match else (None, "")


def _fields(data: Any) -> dict[str, Any]:
    """An object's fields with names in lower case. A list of one object is that object."""
    if isinstance(data, Pairs):
        _refuse("it gives a field twice")
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if not isinstance(data, dict):
        _refuse(f"{str(data)[:40]!r} is no JSON object of the form that was asked for")
    return {str(key).strip().casefold().replace(" ", "_"): value for key, value in data.items()}


def _listed(value: Any) -> list[Any]:
    """``value`` as a list: nothing, one, or several."""
    if value is None or (isinstance(value, str) and _says_nothing(value)):
        return []
    if isinstance(value, list) and not isinstance(value, Pairs):
        return [one for one in value if one is not None]
    return [value]


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    value = _first(fields, names)
    if value is not None and not isinstance(value, str):
        _refuse(f"{names[0]!r} is {str(value)[:40]!r}, and no text")
    return value or ""


def _says_nothing(text: str) -> bool:
    return text.strip(_BRACKETS).casefold() in _NOTHING


def _refuse(problem: str) -> NoReturn:
    raise RatingParseError(problem)
