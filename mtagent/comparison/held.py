"""What a stored chain run holds for a comparison, by segment: texts, and what each stage did and took.

A comparison holds all segments of its runs at once, so what stands here is small: about 1.5 KB a segment besides the
letters of its texts and 250 bytes a call.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from mtagent.candidates import FINAL, GIVEN, texts_of
from mtagent.comparison.rows import Outcomes
from mtagent.errors import ConfigError, InputError
from mtagent.records import Chain, Segment, Stage, Step, Usage
from mtagent.store import Store
from mtagent.store.rows import segment_state

STAGES: tuple[Stage, ...] = get_args(Stage)
SYSTEMS = (GIVEN, *STAGES, FINAL)
_WHOLE = {"changed": "kept", "kept": "unchanged", "rejected": "rejected", "failed": "failed"}


class Spent(NamedTuple):
    """A call: the model that it asked, and what it took."""

    model: str
    calls: int
    reused: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None

    @classmethod
    def of(cls, model: str, usage: Usage) -> Spent:
        """What a call to ``model`` took, in a tenth of the memory of ``usage``."""
        return cls(sys.intern(model), *(getattr(usage, name) for name in cls._fields[1:]))

    @property
    def usage(self) -> Usage:
        """The same as a record."""
        return Usage(
            calls=self.calls,
            reused=self.reused,
            input_tokens=self.input_tokens,
            cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens,
            reasoning_tokens=self.reasoning_tokens,
            cost=self.cost,
        )


class Did(NamedTuple):
    """What a stage did with a segment: one of the fields of :class:`Outcomes`, the edits by outcome, and its calls."""

    outcome: str
    edits: Mapping[str, int] = MappingProxyType({})
    spent: tuple[Spent, ...] = ()
    seconds: float = 0.0


_IDLE = Did("idle")


@cache
def _counts(*edits: tuple[str, int]) -> Mapping[str, int]:
    """Counts of edits by outcome; segments with the same ones share them."""
    return MappingProxyType(dict(edits))


@dataclass(frozen=True, slots=True)
class Passed:
    """A segment on its way: the text that each system left (``None`` = there never was one), and what each stage did,
    in the order of :data:`SYSTEMS`; use :meth:`text` and :meth:`did`.
    """

    position: int
    segment: Segment
    texts: tuple[str | None, ...]
    deeds: tuple[Did | None, ...]
    judges: frozenset[str]

    def text(self, system: str) -> str | None:
        """The text that ``system`` left."""
        return self.texts[SYSTEMS.index(system)]

    def did(self, system: str) -> Did | None:
        """What a stage, or all of them (``final``), did; ``None`` where it did not run."""
        return self.deeds[SYSTEMS.index(system)]


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
        return tuple(one.text(system) or "" for one in self.passed)

    def outcomes(self, system: str) -> Outcomes:
        """What became of the segments in a stage, or in all (``final``)."""
        counts = Counter((one.did(system) or _IDLE).outcome for one in self.passed)
        edits: Counter[str] = Counter()
        for one in self.passed:
            edits.update((one.did(system) or _IDLE).edits)
        return Outcomes(**counts, edits=dict(edits))

    def spent(self, system: str) -> Iterator[Spent]:
        """The calls of a stage, or of all (``final``)."""
        return (call for one in self.passed for call in (one.did(system) or _IDLE).spent)

    def seconds(self, system: str) -> float:
        """The seconds of a stage, or of all, one segment after the other."""
        return sum((one.did(system) or _IDLE).seconds for one in self.passed)


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
    ran = [stage for stage in STAGES if any(one.did(stage) for one in passed)]
    return HeldRun(
        name=name,
        state=summary.state,
        settings=summary.settings,
        total=max(summary.counts.total or 0, passed[-1].position + 1),
        passed=passed,
        stored=len(passed),
        paid=tuple(Spent.of(*paid) for paid in stored.each_usage()),
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
    whole = _all_done(chain, did)
    did[FINAL] = next((one for one in did.values() if one == whole), whole)  # where there is one stage, it is that one
    texts = texts_of(chain, SYSTEMS)
    same: dict[str | None, str | None] = {}  # stages that left a text as it was share it
    return Passed(
        position=position,
        segment=_small(chain.segment),
        texts=tuple(same.setdefault(texts[system], texts[system]) for system in SYSTEMS),
        deeds=tuple(map(did.get, SYSTEMS)),
        judges=_names(frozenset(_judges(chain.steps))),
    )


_FIELDS = set(Segment.model_fields)


def _small(segment: Segment) -> Segment:
    """The same segment in half the memory: it shares the set of its fields with all others, and its languages."""
    values = dict(segment)
    values |= {name: sys.intern(values[name]) for name in ("source_lang", "target_lang")}
    return Segment.model_construct(_fields_set=_FIELDS, **values)


@cache
def _names(names: frozenset[str]) -> frozenset[str]:
    return names


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
        edits=_counts(*edits.items()),
        spent=tuple(Spent.of(call.model, call.usage) for step in steps for call in step.calls),
        seconds=sum(step.seconds for step in steps),
    )


def _all_done(chain: Chain, did: Mapping[str, Did]) -> Did:
    edits: Counter[str] = Counter()
    for one in did.values():
        edits.update(one.edits)
    outcome = _WHOLE[segment_state(chain)]
    return Did(
        outcome="reverted" if outcome in ("unchanged", "rejected") and edits["reverted"] else outcome,
        edits=_counts(*edits.items()),
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
