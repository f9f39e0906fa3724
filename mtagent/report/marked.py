"""Which errors the evaluators marked in the texts of each stage.

A rating counts for every stage whose text is the very text that was rated: a post-edit that left the text as it was has
the errors of the text before. What nobody rated is not in the numbers, and ``rated`` says how many were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from mtagent.candidates import FINAL, GIVEN, systems_of, texts_of
from mtagent.exports.held import ratings_of_texts
from mtagent.mqm import SEVERITIES
from mtagent.records import Chain, Rating, Severity, Stage

_TEXTS = (GIVEN, *get_args(Stage), FINAL)


@dataclass(frozen=True)
class StageMarks:
    """The errors in the texts of one stage.

    ``rated`` texts of ``segments`` were rated, ``marked`` of them by spans, and ``error_free`` of these have no error
    but neutral ones. ``errors`` counts by category, then by severity; errors of the source are in ``source_errors``
    alone. ``mean`` is the mean score of the rated texts.
    """

    stage: str
    segments: int
    rated: int
    marked: int
    error_free: int
    mean: float | None
    errors: Mapping[str, Mapping[Severity, int]]
    source_errors: int = 0

    def by_severity(self) -> dict[Severity, int]:
        """The number of errors of each severity, the worst first."""
        return {s: sum(found.get(s, 0) for found in self.errors.values()) for s in reversed(SEVERITIES)}


@dataclass(frozen=True)
class Marks:
    """What one evaluator marked, by stage. ``spans``: whether it marks error spans at all."""

    evaluator: str
    signature: str
    spans: bool
    stages: tuple[StageMarks, ...]

    def rated(self, stage: StageMarks) -> int:
        """How many texts of ``stage`` the evaluator's numbers are about."""
        return stage.marked if self.spans else stage.rated

    def comparable(self) -> list[StageMarks]:
        """The stages in which no fewer texts were rated than in the first one that was rated.

        Where a gate's judge does not rate new texts, the rated ones of a later stage are those that were left alone:
        a rate of their errors tells which texts were left alone, and nothing about the stage.
        """
        first = next((rated for stage in self.stages if (rated := self.rated(stage))), 0)
        return [stage for stage in self.stages if self.rated(stage) >= max(first, 1)]


@dataclass
class _Count:
    segments: int = 0
    rated: int = 0
    marked: int = 0
    error_free: int = 0
    scores: float = 0.0
    source_errors: int = 0
    errors: dict[str, Counter[Severity]] = field(default_factory=dict)

    def add(self, rating: Rating) -> None:
        self.rated += 1
        self.scores += rating.score
        if rating.errors is None:
            return
        self.marked += 1
        own = [error for error in rating.errors if error.side != "source"]
        self.source_errors += len(rating.errors) - len(own)
        self.error_free += all(error.severity == "neutral" for error in own)
        for error in own:
            self.errors.setdefault(category(error.category), Counter())[error.severity] += 1

    def figure(self, stage: str, segments: int) -> StageMarks:
        mean = self.scores / self.rated if self.rated else None
        errors = {name: dict(found) for name, found in self.errors.items()}
        return StageMarks(
            stage, segments, self.rated, self.marked, self.error_free, mean, errors, self.source_errors
        )  # fmt: skip


class MarksCount:
    """Counts chain by chain."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], dict[str, _Count]] = {}
        self._segments, self._ran = 0, set[str]()

    def add(self, chain: Chain) -> None:
        """Count the ratings of the texts of ``chain``."""
        self._ran.update(systems_of([chain]))
        texts = texts_of(chain, _TEXTS)
        held = {
            (rating.evaluator, rating.signature, text): rating for text, rating in reversed(ratings_of_texts(chain))
        }
        self._segments += chain.given is not None
        for (evaluator, signature, rated), rating in held.items():
            stages = self._counts.setdefault((evaluator, signature), {})
            for stage in (stage for stage, text in texts.items() if text == rated):
                stages.setdefault(stage, _Count()).add(rating)

    def figures(self) -> tuple[Marks, ...]:
        """What was counted, an entry for each evaluator and signature."""
        return tuple(
            Marks(evaluator, signature, any(count.marked for count in stages.values()), self._stages(stages))
            for (evaluator, signature), stages in self._counts.items()
        )

    def _stages(self, counts: Mapping[str, _Count]) -> tuple[StageMarks, ...]:
        """A stage that ran nowhere is left out; one that did not run on a segment leaves its text as it was."""
        ran = [stage for stage in _TEXTS if stage in self._ran]
        return tuple(counts.get(stage, _Count()).figure(stage, self._segments) for stage in ran)


def category(name: str) -> str:
    """``Accuracy/Word_Order`` → ``accuracy/word order``; ``unnamed`` for a blank one."""
    return " ".join(name.casefold().replace("_", " ").split()) or "unnamed"
