"""GEMBA-MQM (Kocmi and Federmann 2023): one call with three examples in three language pairs, errors as a headed list.

Unlike the published tool, spans keep their case and get offsets, and a reply that cannot be read is no score.
"""

from __future__ import annotations

from pathlib import Path

import mtagent
from mtagent import mqm, prompts
from mtagent.evaluators.headings import read_headed
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.sampling import settings_of
from mtagent.protocols import LLM
from mtagent.records import ErrorSpan, Rating, Segment


class GembaMQM:
    """One call. The score is the ``gemba`` one of :mod:`mtagent.mqm`: 0 for no error, down to -25.

    ``reference=True`` shows the model the reference where a segment has one; the published method has none.
    """

    name = "gemba-mqm"

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load("gemba-mqm", prompts_folder)
        self.signature = "|".join(
            [
                self.name,
                f"model:{llm.model}",
                f"prompt:{self._prompt.signature}",
                *settings_of(llm),
                f"reference:{'yes' if reference else 'no'}",
                "weights:gemba",
                f"version:{mtagent.__version__}",
            ]
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._prompt, values, "rate", lambda reply: parse(reply, translation, segment.source)
            )
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, "gemba"),
            errors=errors,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


def parse(reply: str, translation: str, source: str = "") -> tuple[ErrorSpan, ...]:
    """The errors under the headings of ``reply``, located; see :func:`mtagent.evaluators.headings.read_headed`."""
    return read_headed(reply, translation, source=source)
