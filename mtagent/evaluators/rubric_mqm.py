"""RUBRIC-MQM as the reviewer of the post-edit stage (Multi-agentMT paper, §2.3, Listing 1): spans, severities, fixes.

Unlike the paper's, the reply is a list, so that a span can occur twice, each span comes with its context, and "no
error" is an answer unless ``forced``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mtagent.evaluators.protocol import rated, signed
from mtagent.evaluators.replies import Weighed, errors_in, refuse
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_answer
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm

_PROMPTS: dict[mqm.Scale, str] = {"1-4": "rubric-mqm", "1-8": "rubric-mqm-8", "1-100": "rubric-mqm-100"}
_OUT_OF = re.compile(r"\s*(\d{1,3})\s*(?:/|out of|of)\s*(\d{1,3})\s*")


class RubricMQM:
    """One call. The score is the negated sum of the severities, which are numbers on ``scale``; 0 is error-free.

    ``1-4`` is the scale of Multi-agentMT, ``1-100`` the scale of RUBRIC-MQM before it; scores on different scales
    cannot be compared. ``forced`` demands at least one error, as the paper does. ``reference=True`` shows the model the
    reference of segments that have one.
    """

    name = "rubric-mqm"
    suggests = True
    calls = (1, 1)
    weights: mqm.Preset = "rubric"

    def __init__(
        self,
        llm: LLM,
        *,
        scale: mqm.Scale = "1-4",
        forced: bool = False,
        reference: bool = False,
        prompts_folder: Path | None = None,
    ) -> None:
        self._llm, self._scale, self._forced, self._reference = llm, scale, forced, reference
        self._prompt = prompts.load(_PROMPTS[scale], prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], scale=scale, forced=forced, reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        forced = "yes" if self._forced else None
        values = prompts.segment_values(segment, show_reference=self._reference, translation=translation, forced=forced)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._prompt, values, "rate", lambda reply: parse(reply, translation, self._scale)
            )
        return rated(self, dialogue, mqm.score(errors, self.weights), errors)


def parse(reply: str, translation: str, scale: mqm.Scale = "1-4") -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` if that is certain; ``()`` only for a stated "no error".

    Reads the list that the prompt asks for, and the paper's object keyed by span, and keeps duplicates. A severity is a
    whole number of the ``scale``, also as text (``3``, ``3/4``), or a word of MQM. Raises :class:`RatingParseError`.
    """
    top = mqm.highest(scale)

    def severity(value: Any) -> Weighed:
        word = value.strip().casefold() if isinstance(value, str) else ""
        if word in mqm.SEVERITIES[1:]:
            number = mqm.number_of_severity(word, scale)
        else:
            out_of = _OUT_OF.fullmatch(word)
            try:
                number = float(out_of[1] if out_of and int(out_of[2]) == top else value)
            except (TypeError, ValueError, OverflowError):
                number = 0.0
        if isinstance(value, bool) or number not in range(1, top + 1):
            refuse(f"the severity {str(value)[:40]!r} is not a whole number from 1 to {top}")
        return Weighed(mqm.severity_of_number(number, scale), number)

    return errors_in(read_answer(reply), translation, severity)
