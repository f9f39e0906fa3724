"""How far people agree with the machine: their decisions on a run's edits, by stage, guard, category and judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from mtagent.chain.decided_text import Decided, DecidedEdit
from mtagent.records import Step, judgements_of

DecisionGrouping = Literal["all", "stage", "guard", "category", "judge"]
_GROUPING_ORDER: tuple[DecisionGrouping, ...] = ("all", "stage", "guard", "category", "judge")


class DecidedGroup(NamedTuple):
    """Edits of one group that people decided on."""

    grouping: DecisionGrouping
    name: str
    kept: int
    """Edits that the machine kept."""
    kept_wanted: int
    """Kept edits that people want."""
    refused: int
    """Edits that the machine refused."""
    refused_wanted: int
    """Refused edits that people want."""

    @property
    def edits(self) -> int:
        """All edits of the group that were decided on."""
        return self.kept + self.refused

    @property
    def share(self) -> float:
        """The share of edits in which people agree with the machine."""
        return (self.kept_wanted + self.refused - self.refused_wanted) / self.edits


@dataclass(frozen=True)
class ReviewSummary:
    """What people decided on the segments of a run."""

    segments: int
    """Segments with decisions."""
    approved: int
    """Segments that people approved as a whole."""
    own: int
    """Segments for which people wrote the text."""
    characters: int
    """The sum of the Levenshtein distances from the machine's last text to the decided text."""
    seconds: float
    """How long the ``timed`` decisions took."""
    timed: int
    stale: int
    """Decisions about texts that were replaced since."""
    agreements: tuple[DecidedGroup, ...]


def is_wanted(result: Decided, row: DecidedEdit) -> bool | None:
    """Whether a person wants an edit that can be decided on alone; ``None`` if nobody decided.

    A person's words in its place count as neither. Accepting a segment as it is means wanting the edits in its text and
    no others; rejecting it means wanting none.
    """
    if not row.alone:
        return None
    if row.decision is not None:
        return {"accept": True, "reject": False}.get(row.decision.verdict)
    if result.decision is None:
        return None
    if result.decision.verdict == "accept":
        return row.stands != "no"
    if result.decision.verdict == "reject":
        return False
    return None


class ReviewCount:
    """Adds up people's decisions on the segments of a run."""

    def __init__(self) -> None:
        self._segments = self._approved = self._own = self._characters = self._timed = self._stale = 0
        self._seconds = 0.0
        self._groups = dict[tuple[DecisionGrouping, str], Counter[str]]()

    def add(self, result: Decided) -> None:
        """Count the decisions on one segment."""
        self._stale += len(result.stale)
        if not result.reviewed:
            return
        self._segments += 1
        self._approved += result.approved
        self._own += result.decision is not None and result.decision.verdict == "text"
        self._characters += Levenshtein.distance(result.chain.text, result.text)
        for decision in (result.decision, *(row.decision for row in result.edits)):
            if decision is not None and decision.seconds is not None:
                self._seconds += decision.seconds
                self._timed += 1
        steps = [step for step in result.chain.steps for _ in step.edits]
        for row, step in zip(result.edits, steps, strict=True):
            wanted = is_wanted(result, row)
            if wanted is None:
                continue
            verdict = "kept" if row.edit.outcome == "applied" else "refused"
            for group in _groups(row, step):
                counts = self._groups.setdefault(group, Counter())
                counts[verdict] += 1
                counts[f"{verdict}_wanted"] += wanted

    def summary(self) -> ReviewSummary | None:
        """What people decided; ``None`` if nobody decided anything."""
        if not self._segments and not self._stale:
            return None
        agreements = []
        for (grouping, name), counts in self._groups.items():
            numbers = (counts[field] for field in DecidedGroup._fields[2:])
            agreements.append(DecidedGroup(grouping, name, *numbers))
        agreements.sort(key=lambda group: (_GROUPING_ORDER.index(group.grouping), -group.edits, group.name))
        return ReviewSummary(
            segments=self._segments,
            approved=self._approved,
            own=self._own,
            characters=self._characters,
            seconds=self._seconds,
            timed=self._timed,
            stale=self._stale,
            agreements=tuple(agreements),
        )


def _groups(row: DecidedEdit, step: Step) -> Iterator[tuple[DecisionGrouping, str]]:
    """The groups to which an edit belongs."""
    yield "all", "all"
    yield "stage", row.stage
    for guard in row.edit.guards:
        yield "guard", guard
    if row.edit.span is not None:
        yield "category", row.edit.span.category
    if row.edit.outcome in ("applied", "rejected"):
        for judge in dict.fromkeys(judgement.plain_name for judgement in judgements_of(step.cause)):
            yield "judge", judge
