"""The single-agent baseline of HiMATE (its "SA", §5.1): one call that looks for all 19 kinds of errors at once.

It marks what HiMATE's nineteen agents mark, with the same severities and weights, and asks nobody to think again.
Neutral remarks are opinions that cost nothing: they go into the rating's explanation, not among its errors.
"""

from __future__ import annotations

from pathlib import Path

from mtagent.evaluators import typology
from mtagent.evaluators.protocol import rated, signed
from mtagent.evaluators.replies import Item, errors_in
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_answer
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm

_KINDS = ("category", "core", "subcategory", "subtype", "type")


class SingleAgent:
    """One call, no reference. The score is the negated sum of the HiMATE weights (Table 6); 0 is error-free."""

    name = "single-agent"
    calls = (1, 1)
    weights: mqm.Preset = "himate"

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("single-agent", prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], typology.SIGNATURE, f"weights:{self.weights}")

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        values = prompts.segment_values(
            segment, translation=translation, typology=typology.described(), severities=typology.SEVERITIES
        )
        with Dialogue(self._llm, segment.id) as dialogue:
            marked = await dialogue.ask(self._prompt, values, "rate", lambda reply: parse(reply, translation))
        errors = tuple(error for error in marked if error.severity != "neutral")
        remarks = [
            f"neutral, not counted: {error.category} - {error.text!r}"
            f"{f': {error.explanation}' if error.explanation else ''}"
            for error in marked
            if error.severity == "neutral"
        ]
        explanation = "\n".join(remarks) or None
        return rated(self, dialogue, mqm.score(errors, self.weights), errors, explanation=explanation)


def parse(reply: str, translation: str) -> tuple[ErrorSpan, ...]:
    """What ``reply`` marks, neutral remarks included; ``()`` only for a stated "no error".

    Categories are those of the typology where they mean one of its subtypes, else as they are written. Raises
    :class:`RatingParseError`.
    """

    def complete(item: Item) -> Item:
        kinds = [item[kind] for kind in _KINDS if isinstance(item.get(kind), str) and item[kind].strip()]
        return {**item, "category": typology.category_of("/".join(kinds))}

    return errors_in(read_answer(reply), translation, complete=complete)
