"""What a stored chain run holds for a comparison, by segment: texts, and what each stage did and took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from mtagent.candidates import FINAL, GIVEN, texts_of
from mtagent.comparison.rows import Outcomes
from mtagent.errors import ConfigError, InputError
from mtagent.records import Chain, Segment, Stage, Step, Usage
from mtagent.store import Store
from mtagent.store.rows import segment_state

STAGES: tuple[Stage, ...] = get_args(Stage)
Spent = tuple[str, Usage]
"""A model, and what a call to it took."""
_ALL = (GIVEN, *STAGES, FINAL)
_WHOLE = {"changed": "kept", "kept": "unchanged", "rejected": "rejected", "failed": "failed"}


class Did(NamedTuple):
    """What a stage did with a segment: one of the fields of :class:`Outcomes`, the edits by outcome, and its calls."""

    outcome: str
    edits: Mapping[str, int] = MappingProxyType({})
    spent: tuple[Spent, ...] = ()
    seconds: float = 0.0


_IDLE = Did("idle")


@dataclass(frozen=True)
class Passed:
    """A segment on its way: the text that each stage left (``None`` = there never was one), and what it did."""

    position: int
    segment: Segment
    texts: Mapping[str, str | None]
    did: Mapping[str, Did]
    judges: frozenset[str]


@dataclass(frozen=True)
class HeldRun:
    """A stored run as it is compared. ``paid`` is what its log of calls has, call by call, failed tries included."""

    name: str
    state: str
    settings: Mapping[str, Any]
    total: int
    passed: tuple[Passed, ...]
    stored: int
    paid: tuple[Spent, ...] = ()
    systems: tuple[str, ...] = field(default=())

    @property
    def whole(self) -> bool:
        """Whether all segments that the run holds are compared."""
        return len(self.passed) == self.stored

    @property
    def judges(self) -> set[str]:
        """The names of the evaluators that decided what is kept."""
        return {judge for one in self.passed for judge in one.judges}

    def texts(self, system: str) -> tuple[str, ...]:
        """The text of each segment after a stage; empty where there never was one."""
        return tuple(one.texts[system] or "" for one in self.passed)

    def outcomes(self, system: str) -> Outcomes:
        """What became of the segments in a stage, or in all (``final``)."""
        counts = Counter(one.did.get(system, _IDLE).outcome for one in self.passed)
        edits: Counter[str] = Counter()
        for one in self.passed:
            edits.update(one.did.get(system, _IDLE).edits)
        return Outcomes(**counts, edits=dict(edits))

    def spent(self, system: str) -> Iterator[Spent]:
        """The calls of a stage, or of all (``final``)."""
        return (call for one in self.passed for call in one.did.get(system, _IDLE).spent)

    def seconds(self, system: str) -> float:
        """The seconds of a stage, or of all, one segment after the other."""
        return sum(one.did.get(system, _IDLE).seconds for one in self.passed)


def held_run(store: Store, name: str) -> HeldRun:
    """What the chain run ``name`` holds. Raises :class:`ConfigError` for a run of ratings, or without a segment."""
    stored = store.read(name)
    if stored.kind == "rating":
        raise ConfigError(_no_chains(store, name))
    passed = tuple(_passed(position, chain) for position, chain in stored.placed_chains())
    if not passed:
        raise InputError(f"run {name!r}: there is no segment in it to compare yet")
    summary = store.run(name)
    given = [GIVEN] if any(one.segment.translation is not None for one in passed) else []
    ran = [stage for stage in STAGES if any(stage in one.did for one in passed)]
    return HeldRun(
        name=name,
        state=summary.state,
        settings=summary.settings,
        total=max(summary.counts.total or 0, passed[-1].position + 1),
        passed=passed,
        stored=len(passed),
        paid=tuple(stored.each_usage()),
        systems=(*given, *ran, FINAL),
    )


def _no_chains(store: Store, name: str) -> str:
    rated = store.run(name).inputs.get("run")
    way_out = (
        f"it rated the stages of run {rated!r}: compare that one"
        if isinstance(rated, str)
        else "`mtagent score` shows its scores beside others with -m scores-file:path=FILE"
    )
    return f"run {name!r} holds ratings, and no stages to compare: {way_out}; `mtagent runs show {name}` shows it"


def _passed(position: int, chain: Chain) -> Passed:
    did: dict[str, Did] = {stage: _done(before, steps) for stage, before, steps in _by_stage(chain)}
    return Passed(
        position=position,
        segment=chain.segment,
        texts=texts_of(chain, _ALL),
        did={**did, FINAL: _all_done(chain, did)},
        judges=frozenset(_judges(chain.steps)),
    )


def _by_stage(chain: Chain) -> Iterator[tuple[Stage, str, list[Step]]]:
    """Each stage that ran, the text before it, and its steps."""
    before = chain.segment.translation or ""
    for stage in STAGES:
        if steps := [step for step in chain.steps if step.stage == stage]:
            yield stage, before, steps
            before = steps[-1].text


def _done(before: str, steps: Sequence[Step]) -> Did:
    edits: Counter[str] = Counter(edit.outcome for step in steps for edit in step.edits)
    taken_back = steps[-1].verdict == "kept" and bool(edits["reverted"]) and steps[-1].text == before
    return Did(
        outcome="reverted" if taken_back else steps[-1].verdict,
        edits=edits,
        spent=tuple((call.model, call.usage) for step in steps for call in step.calls),
        seconds=sum(step.seconds for step in steps),
    )


def _all_done(chain: Chain, did: Mapping[str, Did]) -> Did:
    edits: Counter[str] = Counter()
    for one in did.values():
        edits.update(one.edits)
    outcome = _WHOLE[segment_state(chain)]
    return Did(
        outcome="reverted" if outcome in ("unchanged", "rejected") and edits["reverted"] else outcome,
        edits=edits,
        spent=tuple(call for one in did.values() for call in one.spent),
        seconds=sum(one.seconds for one in did.values()),
    )


def _judges(steps: Iterable[Step]) -> Iterator[str]:
    """The evaluators of the ratings that gates went by: those after the editor's own."""
    for step in steps:
        editors = 1 if step.stage == "postedit" else 0
        judges = step.ratings[editors:]
        yield from (rating.evaluator for rating in judges)


def restricted(run: HeldRun, keep: Sequence[int]) -> HeldRun:
    """``run`` with the segments at these indices only."""
    return replace(run, passed=tuple(run.passed[index] for index in keep))
