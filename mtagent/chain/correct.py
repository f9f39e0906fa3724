"""From a rating to edits and the text that they lead to: what the post-edit stage proposes.

The evaluator's own suggestions go first. A corrected text that it offers is taken as a whole. Spans without a
suggestion are put to a model in one "fix these spans" request. A text that only got a score is revised as a whole.

The strategy ``paper`` is Algorithm 1 of the Multi-agentMT paper, to the letter (:func:`substitute`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.chain.translation import read_revision
from mtagent.config import Fix, Strategy
from mtagent.errors import ConfigError
from mtagent.evaluators.fixes import Fixes, wants_a_fix
from mtagent.evaluators.protocol import Evaluator, HasBestScore
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Edit, ErrorSpan, Outcome, Rating, Segment
from mtagent.text import edits, paragraphs
from mtagent.text.scripts import without_stray_spaces

MIN_SAFE_SPAN_LEN = 2
"""Characters of the shortest span that Algorithm 1 replaces."""


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
            proposed, changes = substitute(text, errors)
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


def substitute(text: str, errors: Iterable[ErrorSpan]) -> tuple[str, tuple[Edit, ...]]:
    """Algorithm 1: the text after substitution, and one edit without offsets for each span that suggests something.

    It corrupts texts and is for reproduction only: it replaces every occurrence, hits inside words, reads suggestions
    as regular-expression templates and drops all edits when one fails. The ``paper`` preset uses it;
    :mod:`mtagent.text.edits` is for everyone else. Two of its lines call functions that the paper does not print:
    ``clean_suggestion`` only strips white space here, and ``preserve_paragraph`` restores the separators where the
    number of paragraphs allows it. The paper reads a JSON object keyed by span: of equal spans only the last is left,
    in the place of the first.
    """
    by_span = {error.text: error for error in errors}
    suggesting = []
    for error in by_span.values():
        new = (error.suggestion or "").strip()
        if new not in ("", error.text):
            suggesting.append((error, new))
    corrected = text
    substitutions = []
    for error, new in suggesting:
        outcome: Outcome = "not-found"
        if len(error.text) < MIN_SAFE_SPAN_LEN:
            detail: str | None = "the paper skips spans of one character"
        else:
            try:
                corrected, count = re.subn(f" {re.escape(error.text)} ", f" {new} ", corrected)
                if count == 0:
                    corrected, count = re.subn(re.escape(error.text), new, corrected)
            except (re.error, IndexError) as failure:
                why = f"a suggestion failed as a template ({failure}), and the paper then drops all edits"
                return text, tuple(_substitution(error, new, "not-found", why) for error, new in suggesting)
            detail = None
            if count == 0:
                detail = "the span is not in the text"
            else:
                outcome = "applied"
                if count > 1:
                    detail = f"{count} times"
        substitutions.append(_substitution(error, new, outcome, detail))
    return paragraphs.like(corrected, text) or corrected, tuple(substitutions)


def _substitution(error: ErrorSpan, new: str, outcome: Outcome, detail: str | None) -> Edit:
    return Edit(span=error, old=error.text, new=new, outcome=outcome, detail=detail)
