"""What became of the segments and of the edits, stage by stage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import get_args

from mtagent.candidates import FINAL
from mtagent.records import Chain, Stage
from mtagent.report.fates import KINDS, OUTCOMES, Fate, Kind, edit_fate, fate, final_fate, idle_fate


@dataclass(frozen=True)
class Group:
    """Segments of one stage with the same fate."""

    kind: Kind
    reason: str
    segments: int


@dataclass(frozen=True)
class StageFlow:
    """One stage: its groups, which add up to all segments, and its edits by what became of them.

    ``stage`` is ``final`` for the whole way. A stage that ran twice on a segment counts with its last step there.
    """

    stage: str
    groups: tuple[Group, ...]
    edits: tuple[tuple[str, int], ...] = ()

    def of(self, kind: Kind) -> int:
        """The number of segments of one kind."""
        return sum(group.segments for group in self.groups if group.kind == kind)


@dataclass(frozen=True)
class Flow:
    """``given`` is the number of segments that came with a translation."""

    segments: int
    given: int
    stages: tuple[StageFlow, ...]


@dataclass(frozen=True)
class Failure:
    """A segment that failed in a stage, and the error's own words."""

    segment: str
    stage: str
    reason: str


@dataclass
class FlowCount:
    """Counts chain by chain; holds ``most`` failures as examples."""

    most: int
    segments: int = 0
    given: int = 0
    _fates: dict[str, Counter[Fate]] = field(default_factory=dict)
    _edits: dict[str, Counter[str]] = field(default_factory=dict)
    _failures: list[Failure] = field(default_factory=list)
    _idle: dict[str, Counter[Fate]] = field(default_factory=dict)

    def add(self, chain: Chain) -> None:
        """Count the steps of ``chain``."""
        steps = chain.by_stage()
        for stage in get_args(Stage):
            if stage in steps:
                self._fates.setdefault(stage, Counter())[fate(steps[stage])] += 1
                self._edits.setdefault(stage, Counter()).update(map(edit_fate, steps[stage].edits))
            else:
                self._idle.setdefault(stage, Counter())[idle_fate(chain, stage)] += 1
        self._fates.setdefault(FINAL, Counter())[final_fate(chain)] += 1
        self.segments += 1
        self.given += chain.segment.translation is not None
        if (failed := chain.failed) is not None and len(self._failures) < self.most:
            self._failures.append(Failure(chain.segment.id, failed.stage, failed.reason))

    def figure(self) -> Flow:
        """What was counted. A stage that ran nowhere is left out."""
        return Flow(self.segments, self.given, tuple(map(self._stage, self._ran())))

    def failures(self) -> tuple[Failure, ...]:
        """The first segments that failed."""
        return tuple(self._failures)

    def _ran(self) -> list[str]:
        return [stage for stage in (*get_args(Stage), FINAL) if stage in self._fates]

    def _stage(self, stage: str) -> StageFlow:
        counted = self._fates[stage] + self._idle.get(stage, Counter())
        kinds = list(KINDS)
        ordered = sorted(counted.items(), key=lambda item: (kinds.index(item[0].kind), -item[1], item[0].reason))
        groups = tuple(Group(one.kind, one.reason, count) for one, count in ordered)
        return StageFlow(stage, groups, _ordered(self._edits.get(stage, Counter())))


def _ordered(edits: Counter[str]) -> tuple[tuple[str, int], ...]:
    """By outcome as in :data:`OUTCOMES`, then by number."""
    outcomes = list(OUTCOMES.values())

    def place(words: str) -> int:
        return next(i for i, outcome in enumerate(outcomes) if words.startswith(outcome))

    return tuple(sorted(edits.items(), key=lambda item: (place(item[0]), -item[1], item[0])))
