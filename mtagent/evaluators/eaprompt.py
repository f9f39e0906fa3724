"""EAPrompt (Lu et al. 2024; M-MAD, Figure 6; RATE, Figure 25): list the major and minor errors, then count them.

The score follows from the errors that were read, not from the model's count: so it always fits the errors of the
rating, and models count and add badly. The count is there to catch a list that was written or read wrongly: where the
two disagree, the rating says so in its warnings.
"""

from __future__ import annotations

from pathlib import Path

from mtagent.errors import ConfigError
from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.protocol import signed
from mtagent.evaluators.scores import Counted, read_count, read_score, without_score
from mtagent.evaluators.typology import category_of
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import without_thoughts
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm

Errors = tuple[ErrorSpan, ...]
_PROMPTS = {1: ("eaprompt-once",), 2: ("eaprompt-errors", "eaprompt-count")}


class EAPrompt:
    """Two calls, or one with ``steps=1``. The score is -(5 major + 1 minor), without a floor; 0 is error-free.

    ``reference=True`` shows the model the reference
    where a segment has one. Raises :class:`mtagent.errors.ConfigError` for other ``steps``.
    """

    name = "eaprompt"

    def __init__(
        self, llm: LLM, *, steps: int = 2, reference: bool = False, prompts_folder: Path | None = None
    ) -> None:
        if steps not in _PROMPTS:
            raise ConfigError(f"evaluator eaprompt: steps is 1 or 2, not {steps}")
        self._llm, self._reference = llm, reference
        self.calls = (1, steps)  # counting an empty list is one request for all segments, and paid for once
        self._prompts = [prompts.load(name, prompts_folder) for name in _PROMPTS[steps]]
        self.signature = signed(self.name, llm, self._prompts, "weights:mmad", steps=steps, reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """List the errors of ``translation`` and check their number.

        Raises :class:`RatingParseError` if two replies to the same request cannot be read, those that count included:
        a score that was checked and one that was not would carry the same signature.
        """
        shown = segment if self._reference else segment.model_copy(update={"reference": None})
        with Dialogue(self._llm, segment.id) as dialogue:
            ask = self._once if len(self._prompts) == 1 else self._list_and_count
            errors, counted = await ask(dialogue, shown, translation)
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, "mmad"),
            errors=errors,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            warnings=tuple(disagreement(errors, counted)),
            seconds=dialogue.seconds,
        )

    async def _list_and_count(self, dialogue: Dialogue, segment: Segment, translation: str) -> tuple[Errors, Counted]:
        """Errors in the first step; the second one sees nothing but the list."""
        to_list, to_count = self._prompts
        values = prompts.segment_values(segment, translation=translation)
        errors, completion = await dialogue.ask_fully(
            to_list, values, "rate", lambda reply: parse(reply, translation, segment.source)
        )
        values = {"errors": without_thoughts(completion.text)}
        return errors, await dialogue.ask(to_count, values, "count", read_count)

    async def _once(self, dialogue: Dialogue, segment: Segment, translation: str) -> tuple[Errors, Counted]:
        values = prompts.segment_values(segment, translation=translation)
        return await dialogue.ask(
            self._prompts[0], values, "rate", lambda reply: parse_once(reply, translation, segment.source)
        )


def parse(reply: str, translation: str, source: str = "") -> Errors:
    """The listed errors, located in ``translation`` where that is certain; ``()`` only where "no-error" is stated.

    Categories are those of HiMATE's typology where they mean one of its subtypes (``grammar`` is ``fluency/grammar``).
    Raises :class:`RatingParseError`.
    """
    errors = read_headed(reply, translation, source=source)
    return tuple(error.model_copy(update={"category": category_of(error.category)}) for error in errors)


def parse_once(reply: str, translation: str, source: str = "") -> tuple[Errors, Counted]:
    """The listed errors, and the score at the end of the same reply. Raises :class:`RatingParseError`."""
    return parse(without_score(reply), translation, source), read_score(reply)


def disagreement(errors: Errors, counted: Counted) -> list[str]:
    """A warning, if ``counted`` is not what ``errors`` hold."""
    minor = sum(error.severity == "minor" for error in errors)
    listed = Counted.of(sum(error.severity in ("major", "critical") for error in errors), minor)
    return [] if counted.agrees(listed) else [f"the model counts {counted}, its list holds {listed}; the list decides"]
