"""MQM-APE (Lu et al. 2025): an error counts if mending it makes the text better.

Another evaluator marks the errors. For each of them a text is made in which that one error alone is mended, and a judge
compares it with the text as it is, in both orders. An error whose mending is not preferred is dropped, and the score is
made again from the errors that are left. Unlike the paper, errors are mended by their own suggestions where they have
some, and the judge is called in both orders. A judge that chooses the same place in both orders has checked nothing.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mtagent.errors import ConfigError, EvaluationError, calls_of
from mtagent.evaluators.fixes import Fixes, wants_a_fix
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import (
    CountsCalls,
    Evaluator,
    HasWeights,
    RatesSystems,
    checked_evaluator,
    signature_of,
    signed,
)
from mtagent.evaluators.rating import checked_rating, rating_as_given
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import finished
from mtagent.llm.protocol import LLM
from mtagent.records import Choice, Edit, ErrorSpan, Rating, Segment, contradict
from mtagent.text import edits, mqm

Unmended = Literal["keep", "drop"]
_WORDS: dict[Choice, str] = {"before": "as it is", "after": "mended", "tie": "tie"}


class Mending(NamedTuple):
    """An error, and the text in which it alone is mended."""

    error: ErrorSpan
    text: str | None
    """``None`` if it cannot be mended."""
    why: str = ""
    """Why it cannot be mended."""


class MqmApe:
    """The errors of ``evaluator`` that are worth mending. Its calls, at most one "fix" request, and two for each error.

    ``judge`` compares the texts; by default ``llm`` does, which also suggests missing corrections. The ``most``
    severest errors are checked. An error that cannot be located or mended, or on which the judge contradicts itself, is
    kept with a warning, or dropped (``unmended``). Raises :class:`ConfigError` for an evaluator whose score does not
    follow from its errors.
    """

    name = "mqm-ape"
    suggests = True

    def __init__(
        self,
        llm: LLM,
        evaluator: Evaluator,
        judge: Pairwise | None = None,
        *,
        unmended: Unmended = "keep",
        most: int = 10,
        prompts_folder: Path | None = None,
    ) -> None:
        evaluator = checked_evaluator(evaluator)
        if not isinstance(evaluator, HasWeights) or evaluator.weights not in mqm.PRESETS:
            raise ConfigError(
                f"mqm-ape: the score of {evaluator.name} is not the sum of the errors that it marks, so none can be "
                "dropped: use one that scores by error spans, such as evaluator=gemba-mqm or evaluator=rubric-mqm"
            )
        if most < 1:
            raise ConfigError(f"mqm-ape: most={most} checks no error: give at least 1")
        self._llm = llm
        self._evaluator = evaluator
        self.weights = evaluator.weights
        self._judge = judge or Pairwise(llm, prompts_folder=prompts_folder)
        self._unmended = unmended
        self._most = most
        self._fixes = Fixes(prompts_folder)
        if isinstance(evaluator, CountsCalls):
            fewest_calls, most_calls = evaluator.calls
            self.calls = (fewest_calls, most_calls + 1 + 2 * most)
        if isinstance(evaluator, RatesSystems):
            # An evaluator with this method is asked for each system separately.
            self.rate_system = self._rate_system

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``, and keep the errors whose mending a judge prefers.

        Raises :class:`EvaluationError` for a rating whose score does not follow from its errors, and whatever the
        evaluator and the judge raise: an error that could not be checked fails the rating.
        """
        return await self._checked(segment, translation, rating_as_given(self._evaluator, segment, translation))

    async def _rate_system(self, segment: Segment, translation: str, system: str, *, alone: bool) -> Rating:
        assert isinstance(self._evaluator, RatesSystems)
        rating = self._evaluator.rate_system(segment, translation, system, alone=alone)
        return await self._checked(segment, translation, rating)

    async def _checked(self, segment: Segment, translation: str, rating_to_come: Awaitable[Rating]) -> Rating:
        with Dialogue(self._llm, segment.id) as dialogue:  # collects all calls, so that an error carries them, too
            try:
                rating = checked_rating(await rating_to_come, self._evaluator)
            except Exception as failure:
                dialogue.calls += calls_of(failure)
                raise
            dialogue.calls += rating.calls
            errors = rating.errors
            if errors is None or not math.isclose(rating.score, mqm.score(errors, self.weights), abs_tol=1e-6):
                raise EvaluationError(
                    f"mqm-ape: the score {rating.score:g} of {rating.evaluator} is not the sum of the errors that it "
                    "marks, so none can be dropped (a file with several raters? choose one with rater=NAME)"
                )
            weights: dict[int, float] = {}  # of the errors that count, by their place in the list
            for place, error in enumerate(errors):
                weight = mqm.weight(error, self.weights)
                if error.side != "source" and weight > 0:
                    weights[place] = weight
            severest_first = sorted(weights, key=weights.__getitem__, reverse=True)
            checked = sorted(severest_first[: self._most])
            suggested: Sequence[ErrorSpan] = [errors[place] for place in checked]
            if any(map(wants_a_fix, suggested)):
                suggested = await self._fixes.suggest(dialogue, segment, translation, suggested)
            mendings = dict(zip(checked, mended(translation, suggested), strict=True))
            choices = await self._compare(dialogue, segment, translation, mendings.values())
        kept, dropped, warnings = self._verdicts(errors, mendings, choices)
        if len(weights) > len(checked):
            unchecked = len(weights) - len(checked)
            warnings.append(f"{unchecked} of {len(weights)} errors are not checked: most={self._most}")
        story = [rating.explanation, *dropped] if rating.explanation else dropped
        return rating.model_copy(
            update={
                "evaluator": self.name,
                "score": mqm.score(kept, self.weights),
                "errors": tuple(kept),
                "explanation": "\n".join(story) or None,
                "calls": tuple(dialogue.calls),
                "signature": self._signed(rating.signature or signature_of(self._evaluator)),
                "correction": None,  # it would mend what was dropped
                "warnings": (*rating.warnings, *warnings),
                "seconds": dialogue.seconds,
            }
        )

    def _verdicts(
        self, errors: Sequence[ErrorSpan], mendings: Mapping[int, Mending], choices: Mapping[str, tuple[Choice, ...]]
    ) -> tuple[list[ErrorSpan], list[str], list[str]]:
        """The errors that are kept, the reasons why others are dropped, and warnings about unchecked ones."""
        kept: list[ErrorSpan] = []
        dropped: list[str] = []
        warnings: list[str] = []
        for place, error in enumerate(errors):
            mending = mendings.get(place)
            if mending is None:
                kept.append(error)
                continue
            line = shown(mending.error)
            if mending.text is None:
                unchecked = f"{line}: not checked, since it cannot be mended: {mending.why}"
            elif contradict(choices[mending.text]):
                contradiction = "the judge contradicts itself: in both orders it chooses the same place"
                unchecked = f"{line}: not checked, since {contradiction}"
            elif choices[mending.text] == ("after", "after"):
                kept.append(mending.error)
                continue
            else:
                preferred = ", ".join(_WORDS[choice] for choice in choices[mending.text])
                dropped.append(f"dropped: {line}: mending it does not make the text better ({preferred})")
                continue
            if self._unmended == "keep":
                kept.append(mending.error)
                warnings.append(unchecked)
            else:
                dropped.append(f"dropped: {unchecked}")
        return kept, dropped, warnings

    async def _compare(
        self, dialogue: Dialogue, segment: Segment, translation: str, mendings: Iterable[Mending]
    ) -> dict[str, tuple[Choice, ...]]:
        """The judge's choices between ``translation`` and each mended text, all asked for at once."""
        texts = list(dict.fromkeys(mending.text for mending in mendings if mending.text is not None))
        try:
            comparisons = await finished(*(self._judge.compare(segment, translation, text) for text in texts))
        except Exception as failure:
            dialogue.calls += calls_of(failure)
            raise
        choices = {}
        for text, comparison in zip(texts, comparisons, strict=True):
            dialogue.calls += comparison.calls
            choices[text] = comparison.choices
        return choices

    @property
    def signature(self) -> str:
        """What ratings depend on, the evaluator's and the judge's signatures included."""
        return self._signed(signature_of(self._evaluator))

    def _signed(self, evaluator: str) -> str:
        parts = [*_parts("evaluator", evaluator), *_parts("judge", self._judge.signature)]
        return signed(self.name, self._llm, [self._fixes.prompt], *parts, unmended=self._unmended, most=self._most)


def mended(text: str, errors: Sequence[ErrorSpan]) -> list[Mending]:
    """For each of ``errors`` the ``text`` with that one alone mended, by its own suggestion."""
    omissions: list[int] = []
    replacements: list[int] = []
    for place, error in enumerate(errors):
        if error.suggestion is None:
            continue
        if error.side == "omission":
            omissions.append(place)
        elif error.side == "translation" and error.suggestion != error.text:
            replacements.append(place)
    changes: dict[int, Edit] = {}
    for places in (omissions, replacements):
        # They are located together, so that equal errors share their places; there is one edit for each.
        changes |= zip(places, edits.locate(text, [errors[place] for place in places]), strict=True)
    mendings = []
    for place, error in enumerate(errors):
        edit = changes.get(place)
        if edit is None:
            why = "the suggestion is already there"
            if error.suggestion is None:
                why = "nothing is suggested"
            mendings.append(Mending(error, None, why))
        elif edit.start is None:
            mendings.append(Mending(error, None, edit.detail or edit.outcome))
        else:
            located = error if error.side == "omission" else edit.span or error
            alone = edit.model_copy(update={"outcome": "applied"})  # also one that overlaps another
            mendings.append(Mending(located, edits.apply(text, [alone])))
    return mendings


def shown(error: ErrorSpan) -> str:
    """An error in one line."""
    missing = "missing " if error.side == "omission" else ""
    fix = "" if error.suggestion is None else f" -> {error.suggestion!r}"
    return f"{error.severity} {error.category}, {missing}{error.text!r}{fix}"


def _parts(role: str, signature: str) -> list[str]:
    """The parts of another signature without its version; the first begins with ``role``."""
    name, *rest = signature.split("|")
    return [f"{role}:{name}", *(part for part in rest if not part.startswith("version:"))]
