"""The GEMBA evaluators (Kocmi and Federmann 2023): MQM, ESA, DA and SQM."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.protocol import signed
from mtagent.evaluators.scores import parse_score
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from mtagent.text import mqm


class GembaMQM:
    """One call. The score is the ``gemba`` one of :mod:`mtagent.text.mqm`: 0 for no error, down to -25.

    ``reference=True`` shows the model the reference where a segment has one; the published method has none.
    """

    name = "gemba-mqm"
    calls = (1, 1)
    weights: mqm.Preset = "gemba"

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load("gemba-mqm", prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], f"weights:{self.weights}", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._prompt, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, self.weights),
            errors=errors,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


FLAWED = (66 + 100) / 2
"""A lower score is closer to the landmark for a few slips than to the one for a faultless translation."""


class GembaESA:
    """Two calls. The score is the number of the second, 0 to 100; the errors are those of the first.

    The score is the verdict, and the spans are there to prepare it: a score below :data:`FLAWED` without a span is one
    of a translation whose errors were not marked (``errors=None``), and not of one without errors.
    ``reference=True`` shows the model the reference where a segment has one.
    """

    name = "gemba-esa"
    calls = (2, 2)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._spans = prompts.load("gemba-esa", prompts_folder)
        self._score = prompts.load("gemba-esa-score", prompts_folder)
        self.signature = signed(self.name, llm, [self._spans, self._score], "scale:0-100", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors, then score. Raises :class:`RatingParseError` if two replies to either cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._spans, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
            score = await dialogue.ask(self._score, {**values, "errors": listed(errors)}, "score", parse_score)
        unmarked = not errors and score < FLAWED
        return Rating(
            evaluator=self.name,
            score=score,
            errors=None if unmarked else errors,
            warnings=(f"no error is marked, and the score is only {score:g}",) if unmarked else (),
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


def listed(errors: Iterable[ErrorSpan]) -> str:
    """``errors`` as they are shown to the scoring step: one per line under its severity, or no-error."""
    lines: dict[Severity, list[str]] = {"major": [], "minor": []}
    for error in errors:
        lines.setdefault(error.severity, []).append(f'{error.category} - "{error.text}"')
    worst_first = sorted(lines, key=mqm.severity_rank, reverse=True)
    return "\n".join(
        "\n".join([f"{severity.title()}:", *(lines[severity] or ["no-error"])]) for severity in worst_first
    )


class GembaDA:
    """One call. The score is the model's number, 0 to 100.

    ``reference=True`` shows the model the reference where a segment has one.
    """

    name = "gemba-da"
    best_score = 100.0
    calls = (1, 1)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load(self.name, prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], "scale:0-100", reference=reference)

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
