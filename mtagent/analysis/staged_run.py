"""A stored run as comparisons read it: the text of each segment after each stage, outcomes and costs.

All segments of a run are in memory, in about a kilobyte each: equal texts, languages and counts are shared.
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
from mtagent.analysis.review_summary import ReviewSummary, summarize_review
from mtagent.chain.decided_run import DecidedRun
from mtagent.chain.decided_text import Decided
from mtagent.config import Config, Role
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED, texts_of
from mtagent.formats.segments import SegmentDefaults
from mtagent.llm.prices import Prices
from mtagent.records import Segment, Stage, Usage
from mtagent.store.store import Store

PAID = "as paid at the time of the run"
"""Where the dollars come from, unless they were computed anew."""
STAGES: tuple[Stage, ...] = get_args(Stage)
SYSTEMS = (GIVEN, *STAGES, FINAL, REVIEWED)
_FINAL_OUTCOMES = {"changed": "kept", "unchanged": "unchanged", "rejected": "rejected", "failed": "failed"}


@dataclass(frozen=True)
class Outcomes:
    """What became of the segments in a stage, and of the edits.

    The numbers of segments by verdict add up to all segments. ``triaged`` ones were left alone by triage. ``reverted``
    ones were kept until the user took all their edits back; the stage did not run on ``idle`` ones. For ``final``,
    ``kept`` counts the segments that any stage changed; for ``reviewed``, those to which people gave another text than
    the final one, and the ``idle`` are those on which nobody decided. ``failed_changed`` counts the ``failed`` of
    ``final`` whose text an earlier stage had changed. ``edits`` counts the edits by outcome; ``applied`` ones stand in
    the text.
    """

    kept: int = 0
    unchanged: int = 0
    rejected: int = 0
    failed: int = 0
    reverted: int = 0
    triaged: int = 0
    idle: int = 0
    failed_changed: int = 0
    edits: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Cost:
    """What a stage cost. Dollars are in ``usage.cost``; ``seconds`` is the sum over segments.

    ``per_kept_edit`` and ``per_point`` (of the deciding metric) are dollars spent since the former row; for ``final``
    without the cost of the first row, if the run made it.
    """

    usage: Usage
    seconds: float
    per_kept_edit: float | None = None
    per_point: float | None = None


class CallUsage(NamedTuple):
    """A call: its model and its usage, in a tenth of the memory of :class:`Usage`."""

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
        """The usage of a call to ``model``."""
        return cls(sys.intern(model), *(getattr(usage, name) for name in cls._fields[1:]))

    @property
    def usage(self) -> Usage:
        """The usage as a record."""
        return Usage(**{name: value for name, value in self._asdict().items() if name != "model"})


class StageResult(NamedTuple):
    """What a stage did with a segment: a field of :class:`Outcomes`, the edits by outcome, and the calls."""

    outcome: str
    edits: Mapping[str, int] = MappingProxyType({})
    calls: tuple[CallUsage, ...] = ()
    seconds: float = 0.0


_IDLE = StageResult("idle")


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A segment, its text in each system (``None`` = never any), and what each stage did, in the order of
    :data:`SYSTEMS`.

    ``judges`` are the evaluators that gates asked.
    """

    position: int
    segment: Segment
    texts: tuple[str | None, ...]
    results: tuple[StageResult | None, ...]
    judges: frozenset[str]

    def text(self, system: str) -> str | None:
        """The text of ``system``."""
        return self.texts[SYSTEMS.index(system)]

    @property
    def changed(self) -> bool:
        """Whether a stage changed the given translation, or the one that the translate stage made."""
        return self.text(FINAL) != self.text(GIVEN)

    def result(self, system: str) -> StageResult:
        """What a stage did, or all of them (``final``)."""
        return self.results[SYSTEMS.index(system)] or _IDLE


@dataclass(frozen=True)
class StagedRun:
    """A stored run. It was begun with ``total`` segments, ``stored`` of them are in the store, ``segments`` are
    compared.

    ``paid`` is the log of calls, failed attempts included. ``review`` is what people decided on all of its segments.
    """

    name: str
    state: str
    settings: Mapping[str, Any]
    total: int
    segments: tuple[StagedSegment, ...]
    stored: int
    paid: tuple[CallUsage, ...] = ()
    systems: tuple[str, ...] = ()
    review: ReviewSummary | None = None

    @property
    def whole(self) -> bool:
        """Whether all stored segments are compared."""
        return len(self.segments) == self.stored

    @property
    def judges(self) -> set[str]:
        """The names of the evaluators that gates asked."""
        return {judge for segment in self.segments for judge in segment.judges}

    def texts(self, system: str) -> tuple[str, ...]:
        """The text of each segment after a stage; empty if there never was one."""
        return tuple(segment.text(system) or "" for segment in self.segments)

    def outcomes(self, system: str) -> Outcomes:
        """What became of the segments in a stage, or in the run (``final``)."""
        verdicts: Counter[str] = Counter()
        edits: Counter[str] = Counter()
        for segment in self.segments:
            result = segment.result(system)
            verdicts[result.outcome] += 1
            edits.update(result.edits)
            if system == FINAL and result.outcome == "failed" and segment.changed:
                verdicts["failed_changed"] += 1
        return Outcomes(**verdicts, edits=dict(edits))

    def calls(self, system: str) -> Iterator[CallUsage]:
        """The calls of a stage, or of the run (``final``)."""
        return (call for segment in self.segments for call in segment.result(system).calls)


def read_run(store: Store, name: str) -> StagedRun:
    """The chain run ``name``. Raises :class:`ConfigError` for ratings, :class:`InputError` for an empty run."""
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
    decided_run = DecidedRun(store, name)
    shared = dict[CallUsage, CallUsage]()  # the log holds nearly all calls of the steps once more
    segments = tuple(_staged(position, result, shared) for position, result in decided_run.segments())
    if not segments:
        raise InputError(f"run {name!r}: there is no segment in it to compare yet")
    given = [GIVEN] if any(staged.segment.translation is not None for staged in segments) else []
    ran = [stage for stage in STAGES if any(segment.result(stage) is not _IDLE for segment in segments)]
    reviewed = summarize_review(result for _, result in decided_run.segments(only_decided=True))
    return StagedRun(
        name=name,
        state=summary.state,
        settings=summary.settings,
        total=max(summary.counts.total or 0, segments[-1].position + 1),
        segments=segments,
        stored=len(segments),
        paid=tuple(_shared_usage(model, usage, shared) for model, usage in stored.each_usage()),
        systems=(*given, *ran, FINAL, *([REVIEWED] if reviewed.segments else [])),
        review=reviewed if reviewed.segments or reviewed.stale else None,
    )


_SEGMENT_FIELDS = set(Segment.model_fields)


def _shared_usage(model: str, usage: Usage, shared: dict[CallUsage, CallUsage]) -> CallUsage:
    """The usage of a call, which equal calls in ``shared`` have in common."""
    call = CallUsage.of(model, usage)
    return shared.setdefault(call, call)


def _staged(position: int, result: Decided, shared: dict[CallUsage, CallUsage]) -> StagedSegment:
    chain = result.reviewed_chain
    results: dict[str, StageResult] = {}
    before = chain.segment.translation or ""
    for stage in STAGES:
        steps = [step for step in chain.steps if step.stage == stage]
        if not steps:
            continue
        last, edits = steps[-1], Counter[str](edit.outcome for step in steps for edit in step.edits)
        taken_back = last.verdict == "kept" and bool(edits["reverted"]) and last.text == before
        results[stage] = StageResult(
            outcome="reverted" if taken_back else "triaged" if last.cause.kind == "triage" else last.verdict,
            edits=_counts(*edits.items()),
            calls=tuple(_shared_usage(call.model, call.usage, shared) for step in steps for call in step.calls),
            seconds=sum(step.seconds for step in steps),
        )
        before = last.text
    edits = sum((Counter(result.edits) for result in results.values()), Counter[str]())
    triaged = chain.state == "unchanged" and any(step.cause.kind == "triage" for step in chain.steps)
    outcome = "triaged" if triaged else _FINAL_OUTCOMES[chain.state]
    whole = StageResult(
        outcome="reverted" if outcome in ("unchanged", "rejected") and edits["reverted"] else outcome,
        edits=_counts(*edits.items()),
        calls=tuple(call for result in results.values() for call in result.calls),
        seconds=sum(result.seconds for result in results.values()),
    )
    results[FINAL] = next((result for result in results.values() if result == whole), whole)
    if result.reviewed:
        decisions = [result.decision, *(row.decision for row in result.edits)]
        took = sum(decision.seconds or 0.0 for decision in decisions if decision is not None)
        stand = Counter("applied" if row.stands != "no" else "reverted" for row in result.edits)
        outcome = "kept" if result.text != chain.text else "unchanged"
        results[REVIEWED] = StageResult(outcome, _counts(*stand.items()), seconds=took)
    texts = texts_of(chain, SYSTEMS)
    equal = dict[str | None, str | None]()
    fields = dict(chain.segment)
    fields |= {name: sys.intern(fields[name]) for name in ("source_lang", "target_lang")}
    others = ("triage", "editor")
    judges = {rating.evaluator for step in chain.steps for rating in step.ratings if rating.role not in others}
    return StagedSegment(
        position=position,
        segment=Segment.model_construct(_fields_set=_SEGMENT_FIELDS, **fields),  # shares the set with all others
        texts=tuple(equal.setdefault(texts[system], texts[system]) for system in SYSTEMS),
        results=tuple(map(results.get, SYSTEMS)),
        judges=_names(frozenset(judges)),
    )


@cache
def _counts(*edits: tuple[str, int]) -> Mapping[str, int]:
    """Counts of edits by outcome; segments with equal counts share them."""
    return MappingProxyType(dict(edits))


@cache
def _names(names: frozenset[str]) -> frozenset[str]:
    return names


def aligned(runs: Sequence[StagedRun], *, shared: bool = False) -> tuple[list[StagedRun], list[str]]:
    """The ``runs`` with the same segments, in the order of the first run, and a remark about segments left out.

    Segments are the same if id, source and languages are. Raises :class:`InputError` for the first difference, unless
    ``shared`` leaves out what some runs lack.
    """
    if len(runs) == 1:
        return list(runs), []
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
    """What identifies the segments; equal ones are numbered."""
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
    """The lines of ``path`` for the segments of ``run``, or the ``translation`` or ``reference`` column of a table.

    The file has a line for each segment of the run's input, or for each stored segment. Raises :class:`InputError` for
    another number of lines, or other sources.
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
    """The places in the file of the segments of ``run``."""
    if number == run.total:
        return [segment.position for segment in run.segments]
    if number == run.stored and run.whole:
        return range(number)
    so_far = f" and holds {run.stored} of them" if run.stored < run.total else ""
    raise InputError(f"{path}: has {number} lines, and the input of run {run.name!r} has {run.total} segments{so_far}")


_ROLES: tuple[Role | None, ...] = (None, "translate", "postedit", "proofread", "judge")


class Bills:
    """Adds up calls; with a price file it computes their dollars anew from tokens, by the file and the public list."""

    def __init__(self, path: Path | None = None) -> None:
        self._prices = Prices(path) if path else None
        self.source = f"by {path} and, where it names no price, today's public list" if path else PAID

    def total(self, calls: Iterable[CallUsage], run: StagedRun) -> Usage:
        """The sum of ``calls``; its cost is unknown if that of any call is."""
        if self._prices is None:
            return Usage.total(call.usage for call in calls)
        try:
            config = Config.model_validate({k: v for k, v in run.settings.items() if k in Config.model_fields})
            asked = [config.model_for(role) for role in _ROLES]
        except ValidationError:
            asked = []
        servers = {server.model: server.base_url for server in reversed(asked) if server.model}
        priced = []
        for call in calls:
            usage, model, name = call.usage, call.model, call.model
            if usage.input_tokens + usage.output_tokens:  # else reused, failed, or of a server that reports no usage
                if (
                    model not in servers
                ):  # priced by the name that was requested: gpt-4o-mini-2024-07-18 is a longer one
                    likely = (
                        list(servers) if len(servers) == 1 else [name for name in servers if model.startswith(name)]
                    )
                    name = max(likely, key=len, default=model)
                cost = self._prices(name, usage, servers.get(name))
                if cost is None and name != model:
                    cost = self._prices(model, usage, servers.get(name))
                usage = usage.model_copy(update={"cost": cost})
            priced.append(usage)
        return Usage.total(priced)

    def cost(self, run: StagedRun, system: str) -> Cost:
        """What a stage cost; for ``final`` what the run paid, if all its segments are compared."""
        usage = self.total(run.calls(system), run)
        if system == FINAL and self.unaccounted(run) is not None:
            usage = self.total(run.paid, run).model_copy(update={"reused": usage.reused})
        return Cost(usage=usage, seconds=sum(segment.result(system).seconds for segment in run.segments))

    def unaccounted(self, run: StagedRun) -> Usage | None:
        """What ``run`` paid for calls that no stored step holds: failed attempts, and segments under way.

        ``None`` if there are none.
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
