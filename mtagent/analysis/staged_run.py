"""A stored run as it is compared: the text of each segment after each stage, what the stages did and what they took.

All segments of a run are held at once, each in about a kilobyte: equal texts, languages and counts are shared.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from mtagent import formats
from mtagent.analysis.comparison import PAID, Cost, Outcomes
from mtagent.config import Config, Role
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.ratings import FINAL, GIVEN, texts_of
from mtagent.formats.segments import SegmentDefaults
from mtagent.llm.prices import Prices
from mtagent.records import Chain, Segment, Stage, Step, Usage
from mtagent.store.store import Store

STAGES: tuple[Stage, ...] = get_args(Stage)
SYSTEMS = (GIVEN, *STAGES, FINAL)
_FINAL_OUTCOMES = {"changed": "kept", "unchanged": "unchanged", "rejected": "rejected", "failed": "failed"}


class CallUsage(NamedTuple):
    """A call: the model that it asked, and what it took; the fields of :class:`Usage` in a tenth of the memory."""

    model: str
    calls: int
    reused: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None

    @classmethod
    def of(cls, model: str, usage: Usage) -> CallUsage:
        """What a call to ``model`` took."""
        return cls(sys.intern(model), *(getattr(usage, name) for name in cls._fields[1:]))

    @property
    def usage(self) -> Usage:
        """The same as a record."""
        return Usage(**{name: value for name, value in self._asdict().items() if name != "model"})


class StageResult(NamedTuple):
    """What a stage did with a segment: one of the fields of :class:`Outcomes`, the edits by outcome, and its calls."""

    outcome: str
    edits: Mapping[str, int] = MappingProxyType({})
    calls: tuple[CallUsage, ...] = ()
    seconds: float = 0.0


_IDLE = StageResult("idle")


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A segment with the text that each system left (``None`` = there never was one) and what each stage did, both in
    the order of :data:`SYSTEMS`. ``judges`` are the evaluators that gates went by.
    """

    position: int
    segment: Segment
    texts: tuple[str | None, ...]
    results: tuple[StageResult | None, ...]
    judges: frozenset[str]

    def text(self, system: str) -> str | None:
        """The text that ``system`` left."""
        return self.texts[SYSTEMS.index(system)]

    def result(self, system: str) -> StageResult:
        """What a stage, or all of them (``final``), did."""
        return self.results[SYSTEMS.index(system)] or _IDLE


@dataclass(frozen=True)
class StagedRun:
    """A stored run. ``total`` segments were begun, ``stored`` are in the store, and ``segments`` are compared.

    ``paid`` is what the run's log of calls has, call by call, failed tries included.
    """

    name: str
    state: str
    settings: Mapping[str, Any]
    total: int
    segments: tuple[StagedSegment, ...]
    stored: int
    paid: tuple[CallUsage, ...] = ()
    systems: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all segments that the run holds are compared."""
        return len(self.segments) == self.stored

    @property
    def judges(self) -> set[str]:
        """The names of the evaluators that decided what is kept."""
        return {judge for segment in self.segments for judge in segment.judges}

    def texts(self, system: str) -> tuple[str, ...]:
        """The text of each segment after a stage; empty where there never was one."""
        return tuple(segment.text(system) or "" for segment in self.segments)

    def outcomes(self, system: str) -> Outcomes:
        """What became of the segments in a stage, or in all (``final``)."""
        results = [segment.result(system) for segment in self.segments]
        edits: Counter[str] = Counter()
        for result in results:
            edits.update(result.edits)
        return Outcomes(**Counter(result.outcome for result in results), edits=dict(edits))

    def calls(self, system: str) -> Iterator[CallUsage]:
        """The calls of a stage, or of all (``final``)."""
        return (call for segment in self.segments for call in segment.result(system).calls)


def read_run(store: Store, name: str) -> StagedRun:
    """What the chain run ``name`` holds. Raises :class:`ConfigError` for a run of ratings, or without a segment."""
    stored, summary = store.read(name), store.run(name)
    if stored.kind == "rating":
        rated = summary.inputs.get("run")
        way_out = (
            f"it rated the stages of run {rated!r}: compare that one"
            if isinstance(rated, str)
            else "`mtagent score` shows its scores beside others with -m scores-file:path=FILE"
        )
        raise ConfigError(
            f"run {name!r} holds ratings, and no stages to compare: {way_out}; `mtagent runs show {name}` shows it"
        )
    segments = tuple(_staged(position, chain) for position, chain in stored.placed_chains())
    if not segments:
        raise InputError(f"run {name!r}: there is no segment in it to compare yet")
    given = [GIVEN] if any(staged.segment.translation is not None for staged in segments) else []
    ran = [stage for stage in STAGES if any(segment.result(stage) is not _IDLE for segment in segments)]
    return StagedRun(
        name=name,
        state=summary.state,
        settings=summary.settings,
        total=max(summary.counts.total or 0, segments[-1].position + 1),
        segments=segments,
        stored=len(segments),
        paid=tuple(CallUsage.of(*paid) for paid in stored.each_usage()),
        systems=(*given, *ran, FINAL),
    )


_SEGMENT_FIELDS = set(Segment.model_fields)


def _staged(position: int, chain: Chain) -> StagedSegment:
    results: dict[str, StageResult] = {}
    before = chain.segment.translation or ""
    for stage in STAGES:
        if steps := [step for step in chain.steps if step.stage == stage]:
            results[stage] = _result(before, steps)
            before = steps[-1].text
    edits: Counter[str] = Counter()
    for result in results.values():
        edits.update(result.edits)
    outcome = _FINAL_OUTCOMES[chain.state]
    whole = StageResult(
        outcome="reverted" if outcome in ("unchanged", "rejected") and edits["reverted"] else outcome,
        edits=_counts(*edits.items()),
        calls=tuple(call for result in results.values() for call in result.calls),
        seconds=sum(result.seconds for result in results.values()),
    )
    results[FINAL] = next((result for result in results.values() if result == whole), whole)
    texts, shared = texts_of(chain, SYSTEMS), dict[str | None, str | None]()
    fields = dict(chain.segment)
    fields |= {name: sys.intern(fields[name]) for name in ("source_lang", "target_lang")}
    return StagedSegment(
        position=position,
        segment=Segment.model_construct(_fields_set=_SEGMENT_FIELDS, **fields),  # shares the set with all others
        texts=tuple(shared.setdefault(texts[system], texts[system]) for system in SYSTEMS),
        results=tuple(map(results.get, SYSTEMS)),
        judges=_names(frozenset(_judges(chain.steps))),
    )


def _result(before: str, steps: Sequence[Step]) -> StageResult:
    edits = Counter(edit.outcome for step in steps for edit in step.edits)
    taken_back = steps[-1].verdict == "kept" and bool(edits["reverted"]) and steps[-1].text == before
    return StageResult(
        outcome="reverted" if taken_back else steps[-1].verdict,
        edits=_counts(*edits.items()),
        calls=tuple(CallUsage.of(call.model, call.usage) for step in steps for call in step.calls),
        seconds=sum(step.seconds for step in steps),
    )


@cache
def _counts(*edits: tuple[str, int]) -> Mapping[str, int]:
    """Counts of edits by outcome; segments with the same ones share them."""
    return MappingProxyType(dict(edits))


@cache
def _names(names: frozenset[str]) -> frozenset[str]:
    return names


def _judges(steps: Iterable[Step]) -> Iterator[str]:
    """The evaluators of the ratings that gates went by."""
    for step in steps:
        yield from (rating.evaluator for rating in step.ratings if rating.role != "editor")


def aligned(runs: Sequence[StagedRun], *, shared: bool = False) -> tuple[list[StagedRun], list[str]]:
    """The ``runs`` with the same segments in the order of the first, and what had to be left out for that.

    Segments are the same where id, source and languages are. Raises :class:`InputError` naming the first difference;
    with ``shared`` the segments that not all have are left out instead.
    """
    keys = [_keys(run) for run in runs]
    other = next((run for run, own in zip(runs, keys, strict=True) if own != keys[0]), None)
    if other is None:
        return list(runs), []
    if not shared:
        raise InputError(f"{_difference(runs[0], other)}; --shared compares the segments that all runs have")
    common = set(keys[0]).intersection(*keys[1:])
    if not common:
        raise InputError(f"runs {', '.join(run.name for run in runs)}: no segment is in all of them")
    order = [key for key in keys[0] if key in common]
    kept = []
    for run, own in zip(runs, keys, strict=True):
        places = {key: index for index, key in enumerate(own)}
        kept.append(replace(run, segments=tuple(run.segments[places[key]] for key in order)))
    lost = ", ".join(f"{len(run.segments) - len(order)} of {len(run.segments)} of {run.name}" for run in runs)
    return kept, [f"{len(order)} segments are in all runs, and compared; left out: {lost}"]


def _keys(run: StagedRun) -> list[tuple[str, str, str, str, int]]:
    """What tells segments apart; of equal ones the first, the second …"""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    keys = []
    for segment in (staged.segment for staged in run.segments):
        same = (segment.id, segment.source, segment.source_lang, segment.target_lang)
        seen[same] += 1
        keys.append((*same, seen[same]))
    return keys


def _difference(run: StagedRun, other: StagedRun) -> str:
    """The first segment in which two runs differ, and how."""

    def short(text: str) -> str:
        return repr(text if len(text) <= 40 else f"{text[:39]}…")

    for number, pair in enumerate(zip(run.segments, other.segments, strict=False), start=1):
        for name in ("id", "source_lang", "target_lang", "source"):
            ours, theirs = (str(getattr(staged.segment, name)) for staged in pair)
            if ours != theirs:
                return (
                    f"segment {number} has another {name.replace('_lang', ' language')} in run {other.name!r} than in "
                    f"run {run.name!r}: {short(theirs)} and {short(ours)}"
                )
    few, many = sorted((run, other), key=lambda staged: len(staged.segments))
    first = many.segments[len(few.segments)].segment.id
    return (
        f"run {many.name!r} has {len(many.segments)} segments, and run {few.name!r} has {len(few.segments)}; "
        f"segment {first!r} is the first that it lacks"
    )


def texts_for(run: StagedRun, path: Path, what: str = "translation") -> tuple[str, ...]:
    """The lines of ``path`` for the segments of ``run``; or the ``translation`` or ``reference`` of a table's rows.

    The file has a line for each segment of the run's input, also where the run is not complete, or a line for each
    segment that the run holds. Raises :class:`InputError` where it has another number, or is about other sources.
    """
    try:
        kind: formats.Format | None = formats.by_path(path)
    except ConfigError:  # a name that says nothing: a text for each line
        kind = None
    if kind is None or isinstance(kind, formats.Lines):
        texts = [line.text for line in lines_of(path)]
        return tuple(texts[place] for place in _places(run, path, len(texts)))
    first = run.segments[0].segment
    rows = list(kind.read(path, SegmentDefaults(source_lang=first.source_lang, target_lang=first.target_lang)))
    texts = []
    for place, segment in zip(_places(run, path, len(rows)), (staged.segment for staged in run.segments), strict=True):
        row = rows[place]
        if row.source != segment.source:
            raise InputError(f"{path}: {row.id!r} is about another source than segment {segment.id!r} of the run")
        text = row.translation if what == "translation" else row.reference
        if text is None:
            raise InputError(f"{path}: segment {segment.id!r} has no {what}")
        texts.append(text)
    return tuple(texts)


def _places(run: StagedRun, path: Path, number: int) -> Sequence[int]:
    """Where in the file the segments of ``run`` stand."""
    if number == run.total:
        return [segment.position for segment in run.segments]
    if number == run.stored and run.whole:
        return range(number)
    held = f" and holds {run.stored} of them" if run.stored < run.total else ""
    raise InputError(f"{path}: has {number} lines, and the input of run {run.name!r} has {run.total} segments{held}")


_ROLES: tuple[Role | None, ...] = (None, "translate", "postedit", "proofread", "judge")


class Bills:
    """Adds up calls; with a price file their dollars are computed anew from the tokens, by it and the public list."""

    def __init__(self, path: Path | None = None) -> None:
        self._prices = Prices(path) if path else None
        self.source = f"by {path} and, where it names no price, today's public list" if path else PAID

    def total(self, calls: Iterable[CallUsage], run: StagedRun) -> Usage:
        """The sum of calls of ``run``; its cost is unknown where that of one call is."""
        if self._prices is None:
            return Usage.total(call.usage for call in calls)
        try:
            config = Config.model_validate({k: v for k, v in run.settings.items() if k in Config.model_fields})
            asked = [config.model_for(role) for role in _ROLES]
        except ValidationError:
            asked = []
        servers = {server.model: server.base_url for server in reversed(asked) if server.model}
        return Usage.total(self._priced(call, servers, self._prices) for call in calls)

    def _priced(self, call: CallUsage, servers: dict[str, str | None], prices: Prices) -> Usage:
        """By the name that was asked for; servers reply with longer ones (``gpt-4o-mini-2024-07-18``)."""
        usage, model = call.usage, call.model
        if not usage.input_tokens + usage.output_tokens:
            return usage  # nothing was counted: reused, failed, or a server that reports no usage
        asked = model
        if model not in servers:
            likely = list(servers) if len(servers) == 1 else [name for name in servers if model.startswith(name)]
            asked = max(likely, key=len, default=model)
        cost = prices(asked, usage, servers.get(asked))
        if cost is None and asked != model:
            cost = prices(model, usage, servers.get(asked))
        return usage.model_copy(update={"cost": cost})

    def cost(self, run: StagedRun, system: str) -> Cost:
        """What a stage took; for ``final`` what the run has paid, where the calls of all its steps are compared."""
        usage = self.total(run.calls(system), run)
        if system == FINAL and self.unaccounted(run) is not None:
            usage = self.total(run.paid, run).model_copy(update={"reused": usage.reused})
        return Cost(usage=usage, seconds=sum(segment.result(system).seconds for segment in run.segments))

    def unaccounted(self, run: StagedRun) -> Usage | None:
        """What ``run`` has paid for calls that no stored step holds: those of failed tries that were replaced, and of
        segments under way. ``None`` where there is nothing of the kind.
        """
        if not run.whole:
            return None
        paid, stored = self.total(run.paid, run), self.total(run.calls(FINAL), run)
        names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
        counts = {name: getattr(paid, name) - getattr(stored, name) for name in names}
        if any(number < 0 for number in counts.values()) or not any(counts.values()):
            return None
        cost = None if paid.cost is None or stored.cost is None else max(0.0, paid.cost - stored.cost)
        return Usage(**counts, cost=cost)
