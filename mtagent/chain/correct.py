"""From a rating to edits and the text that they lead to: what the post-edit stage proposes.

The evaluator's own suggestions go first. A corrected text that it offers is taken as a whole. Spans without a
suggestion are put to a model in one "fix these spans" request. A text that only got a score is revised as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.chain import algorithm1
from mtagent.chain.translation import read_revision
from mtagent.config import Fix, Strategy
from mtagent.errors import ConfigError
from mtagent.evaluators.fixes import Fixes, wants_a_fix
from mtagent.evaluators.protocol import Evaluator, HasBestScore
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Edit, ErrorSpan, Rating, Segment
from mtagent.text import edits
from mtagent.text.scripts import without_stray_spaces


class Proposal(NamedTuple):
    """Edits, and the text that they lead to."""

    edits: tuple[Edit, ...]
    text: str
    calls: tuple[Call, ...] = ()
    """The calls that were made for it."""


def is_error_free(rating: Rating, evaluator: Evaluator, threshold: float | None = None) -> bool:
    """Whether the evaluator found nothing to correct.

    Either its score reaches the ``threshold`` that was calibrated for it; or it marked only neutral errors and errors
    of the source; or, if it does not mark errors, it gave the best possible score (``best_score``).
    """
    if threshold is not None and rating.score >= threshold:
        return True
    if rating.errors is not None:
        return all(error.severity == "neutral" or error.side == "source" for error in rating.errors)
    return isinstance(evaluator, HasBestScore) and rating.score >= evaluator.best_score


class Corrector:
    """Turns ratings into proposals.

    ``fix="offered"`` takes the evaluator's corrected text if it offers one, ``"asked"`` always asks for the spans.
    ``llm`` is asked to fix spans of evaluators that suggest nothing; without it such spans stay as they are.
    """

    def __init__(
        self,
        llm: LLM | None = None,
        *,
        strategy: Strategy = "located",
        on_ambiguous: edits.OnAmbiguous | Sequence[edits.OnAmbiguous] = "skip",
        fix: Fix = "offered",
        prompts_folder: Path | None = None,
    ) -> None:
        self._llm = llm
        self.strategy = strategy
        self._on_ambiguous = on_ambiguous
        self._fix = fix
        self._fixes = Fixes(prompts_folder)
        self._revise_prompt = prompts.load("revise", prompts_folder)

    async def propose(
        self,
        segment: Segment,
        text: str,
        rating: Rating,
        *,
        suggests: bool = False,
        skip_guards: Collection[str] = (),
    ) -> Proposal:
        """The edits of ``text`` that follow from ``rating``; ``suggests``: its evaluator suggests every edit itself.

        Raises :class:`UnreadableReply` if two replies cannot be read, or aren't translations by the guards of the
        translate stage, without ``skip_guards``; and :class:`ConfigError` for a score without spans if there is no
        model to ask.
        """
        if rating.correction is not None and (self._fix == "offered" or rating.errors is None):
            correction = without_stray_spaces(rating.correction, text)
            changes = edits.between(text, correction, segment.target_lang)
            return Proposal(tuple(_with_error(edit, rating.errors or ()) for edit in changes), correction)
        if rating.errors is None:
            return await self._revise(segment, text, rating, skip_guards)
        errors = rating.errors
        calls: tuple[Call, ...] = ()
        if not suggests and self._llm is not None and any(map(wants_a_fix, errors)):
            with Dialogue(self._llm, segment.id) as dialogue:
                errors = await self._fixes.suggest(dialogue, segment, text, errors)
            calls = tuple(dialogue.calls)
        if self.strategy == "paper":
            proposed, changes = algorithm1.substitute(text, errors)
            return Proposal(changes, proposed, calls)
        changes = edits.locate(text, errors, on_ambiguous=self._on_ambiguous)
        return Proposal(changes, edits.apply(text, changes), calls)

    async def _revise(self, segment: Segment, text: str, rating: Rating, skip_guards: Collection[str]) -> Proposal:
        """A corrected text, if the evaluator gave only a score."""
        if self._llm is None:
            raise ConfigError(
                f"the evaluator {rating.evaluator} gives a score and marks no error spans: without a model it cannot "
                "drive post-editing"
            )
        values = prompts.segment_values(segment, translation=text, verdict=rating.explanation or None)
        with Dialogue(self._llm, segment.id) as dialogue:
            revised = await dialogue.ask(
                self._revise_prompt, values, "fix", lambda reply: read_revision(reply, segment, text, skip=skip_guards)
            )
        return Proposal(edits.between(text, revised, segment.target_lang), revised, tuple(dialogue.calls))


def _with_error(edit: Edit, errors: Sequence[ErrorSpan]) -> Edit:
    """``edit`` with the first error that overlaps it."""
    start = edit.start or 0
    end = edit.end or 0
    for error in errors:
        if error.start is not None and error.end is not None and error.start < end and error.end > start:
            return edit.model_copy(update={"span": error})
    return edit.model_copy(update={"span": None})
