"""RUBRIC-MQM as the reviewer of the post-edit stage (Multi-agentMT paper, §2.3, Listing 1): spans, severities, fixes.

Unlike the paper's, the reply is a list, so that a span can occur twice, each span comes with its context, and "no
error" is an answer unless ``forced``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import mtagent
from mtagent import mqm, prompts
from mtagent.errors import RatingParseError
from mtagent.evaluators.annotations import Weighed, read_annotations
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.sampling import settings_of
from mtagent.protocols import LLM
from mtagent.records import ErrorSpan, Rating, Segment, Severity


class RubricMQM:
    """One call. The score is the negated sum of the severities 1 to 4; 0 is error-free."""

    name = "rubric-mqm"
    suggests = True

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
    return read_annotations(reply, translation, _severity)


def _severity(value: Any) -> Weighed:
    """1 to 4, also given as text or as a word of MQM."""
    if isinstance(value, str) and value.strip().casefold() in mqm.SEVERITIES[1:]:
        named = cast(Severity, value.strip().casefold())
        return Weighed(mqm.severity_of_number(mqm.number_of_severity(named)), mqm.number_of_severity(named))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or number not in (1, 2, 3, 4):
        raise RatingParseError(f"the severity {str(value)[:40]!r} is not a number from 1 to 4")
    return Weighed(mqm.severity_of_number(number), number)
