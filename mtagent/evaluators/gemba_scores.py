"""GEMBA-DA and GEMBA-SQM (Kocmi and Federmann 2023): one call without examples for a score from 0 to 100, no spans.

DA asks for a direct assessment; SQM names landmarks at 0, 33, 66 and 100. Replies are asked for as JSON, as the RATE
paper does (Figure 24), and read from text too.
"""

from __future__ import annotations

from pathlib import Path

import mtagent
from mtagent import prompts
from mtagent.evaluators.scores import parse_score
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.sampling import settings_of
from mtagent.protocols import LLM
from mtagent.records import Rating, Segment


class GembaDA:
    """One call. The score is the model's number, 0 to 100.

    ``reference=True`` shows the model the reference where a segment has one.
    """

    name = "gemba-da"
    best_score = 100.0

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load(self.name, prompts_folder)
        self.signature = "|".join(
            [
                self.name,
                f"model:{llm.model}",
                f"prompt:{self._prompt.signature}",
                *settings_of(llm),
                f"reference:{'yes' if reference else 'no'}",
                "scale:0-100",
                f"version:{mtagent.__version__}",
            ]
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Score ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            score = await dialogue.ask(self._prompt, values, "rate", parse_score)
        return Rating(
            evaluator=self.name,
            score=score,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


class GembaSQM(GembaDA):
    """The same with landmarks on the scale."""

    name = "gemba-sqm"
