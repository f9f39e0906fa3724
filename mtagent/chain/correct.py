"""From a rating to edits and the text that they lead to: what the post-edit stage proposes.

The evaluator's own suggestions go first. A corrected text that it offers is taken as a whole. Spans without a
suggestion are put to a model in one "fix these spans" request. A text that only got a score is revised as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain import algorithm1
from mtagent.chain.translation import read_revision
from mtagent.config import Fix, Strategy
from mtagent.errors import ConfigError, UnreadableReply
from mtagent.evaluators.protocol import Evaluator, HasBestScore
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import Pairs, read_json
from mtagent.records import Call, Edit, ErrorSpan, Rating, Segment
from mtagent.text import edits
from mtagent.text.spans import normalise

_AROUND = 12  # characters of context shown beside a span


class Proposal(NamedTuple):
    """What to change, the text that it leads to, and the calls that it took."""

    edits: tuple[Edit, ...]
    text: str
    calls: tuple[Call, ...] = ()


def is_error_free(rating: Rating, evaluator: Evaluator, threshold: float | None = None) -> bool:
    """Whether the evaluator found nothing to correct.

    That is: its score reaches the ``threshold`` that was calibrated for it; or it marked no errors but neutral ones and
    those of the source; or, where it marks none, it gave the best score there is (``best_score``).
    """
    if threshold is not None and rating.score >= threshold:
        return True
    if rating.errors is not None:
        return all(error.severity == "neutral" or error.side == "source" for error in rating.errors)
    return isinstance(evaluator, HasBestScore) and rating.score >= evaluator.best_score


class Corrector:
    """Turns ratings into proposals.

    ``fix="offered"`` takes a corrected text where the evaluator offers one, ``"asked"`` always asks for the spans.
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
        self._llm, self.strategy, self._on_ambiguous, self._fix = llm, strategy, on_ambiguous, fix
        self._fix_prompt = prompts.load("fix", prompts_folder)
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
        """What to change in ``text`` after ``rating``; ``suggests``: its evaluator has suggested all that it wants.

        Raises :class:`UnreadableReply` if two replies cannot be read, or are no translation by the guards of the
        translate stage, but for those in ``skip_guards``; and :class:`ConfigError` for a score without spans where
        there is no model to ask.
        """
        if rating.correction is not None and (self._fix == "offered" or rating.errors is None):
            changes = edits.between(text, rating.correction, segment.target_lang)
            return Proposal(tuple(_with_error(edit, rating.errors or ()) for edit in changes), rating.correction)
        if rating.errors is None:
            return await self._revise(segment, text, rating, skip_guards)
        errors, calls = rating.errors, tuple[Call, ...]()
        if not suggests and self._llm is not None and any(map(_wants_a_fix, errors)):
            errors, calls = await self._suggest(self._llm, segment, text, errors)
        if self.strategy == "paper":
            proposed, changes = algorithm1.substitute(text, errors)
            return Proposal(changes, proposed, calls)
        changes = edits.locate(text, errors, on_ambiguous=self._on_ambiguous)
        return Proposal(changes, edits.apply(text, changes), calls)

    async def _suggest(
        self, llm: LLM, segment: Segment, text: str, errors: tuple[ErrorSpan, ...]
    ) -> tuple[tuple[ErrorSpan, ...], tuple[Call, ...]]:
        """``errors`` with suggestions, from one request about those that have none."""
        open_errors = [error for error in errors if _wants_a_fix(error)]
        lines = []
        for number, error in enumerate(open_errors, start=1):
            before, after = error.before, error.after
            if error.start is not None and error.end is not None:
                before = text[max(0, error.start - _AROUND) : error.start]
                after = text[error.end : error.end + _AROUND]
            fields = {
                "number": number,
                "missing" if error.side == "omission" else "span": error.text,
                "before": before,
                "after": after,
                "category": error.category,
                "severity": error.severity,
                "explanation": error.explanation,
            }
            lines.append(json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False))
        values = prompts.segment_values(segment, translation=text, errors="\n".join(["", *lines, ""]))
        with Dialogue(llm, segment.id) as dialogue:
            fixed = await dialogue.ask(self._fix_prompt, values, "fix", lambda reply: parse_fixes(reply, open_errors))
        fixes = iter(fixed)
        return tuple(next(fixes) if _wants_a_fix(error) else error for error in errors), tuple(dialogue.calls)

    async def _revise(self, segment: Segment, text: str, rating: Rating, skip_guards: Collection[str]) -> Proposal:
        """A corrected text for one that was only given a score."""
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


def _wants_a_fix(error: ErrorSpan) -> bool:
    """Whether a suggestion is missing and would be of use: not for what is no error, or an error of the source."""
    return error.suggestion is None and error.severity != "neutral" and error.side != "source"


def parse_fixes(reply: str, errors: Sequence[ErrorSpan]) -> tuple[ErrorSpan, ...]:
    """``errors`` with the suggestions in ``reply``, which must name each exactly once; ``null`` suggests nothing.

    Raises :class:`UnreadableReply`.
    """
    fixes: dict[int, dict[str, Any]] = {}
    for fix in _items(read_json(reply)):
        number = _number(fix.get("number"), len(errors))
        if number in fixes:
            raise UnreadableReply(f"error {number} is fixed twice")
        fixes[number] = fix
    if missing := [number for number in range(1, len(errors) + 1) if number not in fixes]:
        raise UnreadableReply(f"it says nothing of error {missing[0]}")
    fixed = []
    for error, (_, fix) in zip(errors, sorted(fixes.items()), strict=True):
        span, suggestion = fix.get("span"), fix.get("suggestion")
        if (
            error.side != "omission"
            and isinstance(span, str)
            and normalise(span.strip()) != normalise(error.text.strip())
        ):
            raise UnreadableReply(f"the fix for {error.text[:40]!r} says that it is for {span[:40]!r}")
        if "suggestion" not in fix or not (suggestion is None or isinstance(suggestion, str)):
            raise UnreadableReply(f"the fix of {error.text[:40]!r} has no suggestion")
        changes: dict[str, Any] = {"suggestion": suggestion}
        if error.side == "omission":
            changes |= {side: fix[side] for side in ("before", "after") if isinstance(fix.get(side), str) and fix[side]}
        fixed.append(error.model_copy(update=changes))
    return tuple(fixed)


def _items(data: Any) -> list[dict[str, Any]]:
    """One dictionary per fix; also from an object that has the numbers as its keys."""
    if isinstance(data, dict) and isinstance(data.get("fixes"), list | dict):
        data = data["fixes"]
    if isinstance(data, Pairs):
        raise UnreadableReply("it says the same thing twice")
    if isinstance(data, dict) and "number" not in data:
        data = [
            {"number": key, **value} if isinstance(value, dict) else {"number": key, "suggestion": value}
            for key, value in data.items()
        ]
    items = data if isinstance(data, list) else [data]
    if not all(isinstance(item, dict) for item in items):
        raise UnreadableReply("a fix is no object with number and suggestion")
    return items


def _number(value: Any, most: int) -> int:
    digits = str(value).strip().removesuffix(".0")
    if isinstance(value, bool) or not digits.isdecimal() or len(digits) > 9 or not 1 <= int(digits) <= most:
        raise UnreadableReply(f"{str(value)[:40]!r} is not the number of an error")
    return int(digits)


def _with_error(edit: Edit, errors: Sequence[ErrorSpan]) -> Edit:
    """``edit`` with the first error that lies in its place."""
    start, end = edit.start or 0, edit.end or 0
    inside = (
        error
        for error in errors
        if error.start is not None and error.end is not None and error.start < end and error.end > start
    )
    return edit.model_copy(update={"span": next(inside, None)})
