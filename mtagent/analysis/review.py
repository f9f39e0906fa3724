"""How far people agree with what the machine did: their decisions on its edits, by guard, category and judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from mtagent.chain.decided import Decided, DecidedEdit
from mtagent.records import Stage, Step, judgements_of

Grouping = Literal["all", "stage", "guard", "category", "judge"]
_ORDER: tuple[Grouping, ...] = ("all", "stage", "guard", "category", "judge")


class Agreement(NamedTuple):
    """Edits of one group that people decided on: how many the machine ``kept`` and how many it ``refused``, and how
    many of each people want.
    """

    grouping: Grouping
    name: str
    kept: int
    kept_wanted: int
    refused: int
    refused_wanted: int

    @property
    def edits(self) -> int:
        """All edits of the group that were decided on."""
        return self.kept + self.refused

    @property
    def share(self) -> float:
        """The share of edits in which people agree with the machine."""
        return (self.kept_wanted + self.refused - self.refused_wanted) / self.edits


@dataclass(frozen=True)
class Review:
    """What people decided on a run: on how many ``segments``, how many of these they ``approved`` as a whole and to how
    many they gave an ``own`` text.

    ``characters`` is the sum of Levenshtein distances from the machine's last text to the decided one. ``seconds`` is
    how long the ``timed`` decisions took. ``stale`` ones are about texts that are no longer there.
    """

    segments: int
    approved: int
    own: int
    characters: int
    seconds: float
    timed: int
    stale: int
    agreements: tuple[Agreement, ...]


def wanted(result: Decided, row: DecidedEdit) -> bool | None:
    """Whether a person wants an edit that can be decided on alone; ``None`` where nobody decided on it.

    Words of one's own in its place say neither. A segment that was accepted as it stands says the same of its edits,
    and one that was rejected that none is wanted.
    """
    if not row.alone:
        return None
    if row.decision is not None:
        return {"accept": True, "reject": False}.get(row.decision.verdict)
    if result.decision is not None:
        return {"accept": row.stands != "no", "reject": False}.get(result.decision.verdict)
    return None


def review(results: Iterable[Decided]) -> Review:
    """What people decided on the segments of a run."""
    segments = approved = own = characters = timed = stale = 0
    seconds, groups = 0.0, dict[tuple[Grouping, str], list[int]]()
    for result in results:
        stale += len(result.stale)
        if not result.reviewed:
            continue
        segments, approved = segments + 1, approved + result.approved
        own += result.decision is not None and result.decision.verdict == "text"
        characters += Levenshtein.distance(result.chain.text, result.text)
        decisions = [result.decision, *(row.decision for row in result.edits)]
        times = [decision.seconds for decision in decisions if decision is not None and decision.seconds is not None]
        seconds, timed = seconds + sum(times), timed + len(times)
        for row, step in zip(result.edits, _steps(result), strict=True):
            if (verdict := wanted(result, row)) is None:
                continue
            for group in _groups(row, step):
                counts = groups.setdefault(group, [0, 0, 0, 0])
                place = 0 if row.edit.outcome == "applied" else 2
                counts[place] += 1
                counts[place + 1] += verdict
    found = (Agreement(*group, *counts) for group, counts in groups.items())
    agreements = tuple(sorted(found, key=lambda group: (_ORDER.index(group.grouping), -group.edits, group.name)))
    return Review(segments, approved, own, characters, seconds, timed, stale, agreements)


def _steps(result: Decided) -> Iterator[Step]:
    """The step of each edit."""
    return (step for step in result.chain.steps for _ in step.edits)


def _groups(row: DecidedEdit, step: Step) -> Iterator[tuple[Grouping, str]]:
    stage: Stage = row.stage
    yield "all", "all"
    yield "stage", stage
    yield from (("guard", guard) for guard in row.edit.guards)
    if row.edit.span is not None:
        yield "category", row.edit.span.category
    if row.edit.outcome in ("applied", "rejected"):
        yield from (("judge", judge) for judge in dict.fromkeys(said.judge for said in judgements_of(step.cause)))
