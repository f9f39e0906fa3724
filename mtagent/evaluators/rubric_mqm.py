"""RUBRIC-MQM as the reviewer of the post-edit stage (Multi-agentMT paper, §2.3, Listing 1): spans, severities, fixes.

Unlike the paper's, the reply is a list, so that a span can occur twice, each span comes with its context, and "no
error" is an answer unless ``forced``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import mtagent
from mtagent import mqm, prompts
from mtagent.errors import RatingParseError
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.reading import Pairs, read_json
from mtagent.llm.sampling import settings_of
from mtagent.protocols import LLM
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from mtagent.spans import find_spans

_NO_ERROR = {"no-error", "no error", "noerror", "none"}


class RubricMQM:
    """One call. The score is the negated sum of the severities 1 to 4; 0 is error-free."""

    name = "rubric-mqm"

    def __init__(self, llm: LLM, *, forced: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._forced = llm, forced
        self._prompt = prompts.load("rubric-mqm", prompts_folder)
        self.signature = "|".join(
            [
                self.name,
                f"model:{llm.model}",
                f"prompt:{self._prompt.signature}",
                *settings_of(llm),
                "scale:1-4",
                f"forced:{'yes' if forced else 'no'}",
                f"version:{mtagent.__version__}",
            ]
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        values = prompts.segment_values(segment, translation=translation, forced="yes" if self._forced else None)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(self._prompt, values, "rate", lambda reply: parse(reply, translation))
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, "rubric"),
            errors=errors,
            calls=tuple(dialogue.calls),
            signature=self.signature,
        )


def parse(reply: str, translation: str) -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` where that is certain; ``()`` only for a stated "no error".

    Reads the list asked for, and the paper's object keyed by span, duplicates kept.
    """
    errors = [error for item in _items(read_json(reply)) if (error := _error(item, translation)) is not None]
    located = zip(errors, find_spans(translation, errors), strict=True)
    return tuple(
        error.model_copy(update={"start": finding.places[0].start, "end": finding.places[0].end})
        if finding.certain and error.side == "translation"
        else error
        for error, finding in located
    )


def _items(data: Any) -> Iterator[dict[str, Any]]:
    """One dictionary per error, whichever shape the reply has."""
    if data == {}:
        raise RatingParseError("an empty object says neither which errors there are nor that there is none")
    if isinstance(data, dict) and isinstance(data.get("errors"), list | dict):
        data = data["errors"]
    if isinstance(data, Pairs) and any(key == "errors" for key, _ in data):
        raise RatingParseError("it has several lists of errors")
    if isinstance(data, Pairs) or (isinstance(data, dict) and not any(str(key).casefold() == "span" for key in data)):
        for span, info in data if isinstance(data, Pairs) else data.items():
            for one in info if type(info) is list else [info]:
                yield {**_fields(one), "span": span}
        return
    for one in data if isinstance(data, list) else [data]:
        yield _fields(one)


def _fields(info: Any) -> dict[str, Any]:
    if isinstance(info, str) and info.strip().casefold() in _NO_ERROR:
        return {"category": "no-error"}
    if isinstance(info, Pairs):
        info = dict(info)
    if not isinstance(info, dict):
        raise RatingParseError(f"{str(info)[:40]!r} is no error with span, category, severity and suggestion")
    return {str(key).strip().casefold(): value for key, value in info.items()}


def _error(item: dict[str, Any], translation: str) -> ErrorSpan | None:
    span, category = item.get("span"), str(item.get("category") or "").strip().casefold()
    said = span.strip().casefold() if isinstance(span, str) else ""
    if category in _NO_ERROR or (said in _NO_ERROR - {"none"} and said not in translation.casefold()):
        return None
    if not isinstance(span, str) or not (span or category == "omission"):
        raise RatingParseError("an error has no span")
    penalty = _severity(item.get("severity"))
    before, after = _context(item.get("before")), _context(item.get("after"))
    suggestion = item.get("suggestion")
    return ErrorSpan(
        text=span,
        category=category or "other",
        severity=mqm.severity_of_number(penalty),
        side="translation" if category != "omission" or _stands_in(translation, span, before, after) else "omission",
        suggestion=suggestion if isinstance(suggestion, str) else None,
        before=before,
        after=after,
        penalty=float(penalty),
    )


def _stands_in(translation: str, span: str, before: str | None, after: str | None) -> bool:
    """Whether an omission marks words of the translation. The missing source words may stand there by chance."""
    if not (before or after):
        return span in translation
    joined = [f"{before}{glue}{span}" for glue in ("", " ") if before]
    joined += [f"{span}{glue}{after}" for glue in ("", " ") if after]
    return any(text in translation for text in joined)


def _severity(value: Any) -> int:
    """1 to 4, also given as text or as a word of MQM."""
    if isinstance(value, str) and value.strip().casefold() in mqm.SEVERITIES[1:]:
        return int(mqm.number_of_severity(cast(Severity, value.strip().casefold())))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or number not in (1, 2, 3, 4):
        raise RatingParseError(f"the severity {str(value)[:40]!r} is not a number from 1 to 4")
    return int(number)


def _context(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
