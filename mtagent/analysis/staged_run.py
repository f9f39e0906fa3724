"""A stored run as comparisons read it: the text of each segment after each stage, outcomes and costs.

All segments of a run are in memory: equal texts are shared, and the results of the stages are stored in columns.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isnan, nan
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, get_args

from pydantic import ValidationError

from mtagent import formats
from mtagent.analysis.review_summary import ReviewCount, ReviewSummary
from mtagent.chain.chain import with_rules_step
from mtagent.chain.decided_text import Decided, DecidedRun
from mtagent.chain.fates import SegmentOutcome, run_outcome, stage_outcome
from mtagent.config import Config, Role
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED, texts_of
from mtagent.formats.segments import SegmentDefaults
from mtagent.llm.prices import Prices
from mtagent.records import Call, Chain, Segment, Stage, Usage
from mtagent.store.runs import RunSummary
from mtagent.store.store import Store

PAID = "as paid at the time of the run"
"""Where the dollars come from, unless they were recomputed."""
STAGES: tuple[Stage, ...] = get_args(Stage)
USAGE_COUNTS = tuple(name for name in Usage.model_fields if name not in ("cost", "saved"))
"""What tables and JSON have of a usage besides its dollars."""
SYSTEMS = (GIVEN, *STAGES, FINAL, REVIEWED)


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of the segments in a stage, and of the edits.

    The numbers of segments by :data:`mtagent.chain.fates.SegmentOutcome` add up to all segments. For ``final``,
    ``kept`` counts the segments that any stage changed. For ``reviewed`` it counts those to which people gave another
    text than the final one, and the ``idle`` are those on which nobody decided.
    """

    kept: int = 0
    unchanged: int = 0
    rejected: int = 0
    failed: int = 0
    reverted: int = 0
    triaged: int = 0
    idle: int = 0
    failed_changed: int = 0
    """The ``failed`` of ``final`` whose text an earlier stage had changed."""
    edits: Mapping[str, int] | None = None
    """Edits by outcome; ``applied`` ones are in the text."""


@dataclass(frozen=True)
class Cost:
    """The cost of a stage."""

    usage: Usage
    """The paid usage, with the dollars in ``usage.cost``."""
    nominal: Usage
    """The cost with an empty store: the paid usage, and what other runs paid for reused replies."""
    seconds: float
    """The sum over segments."""
    per_kept_edit: float | None = None
    per_point: float | None = None
    """Nominal dollars since the former row, for each point of the deciding metric; for ``final`` both are without the
    cost of the first row, if the run made it."""


class CallUsage(NamedTuple):
    """A call: its model and its usage, in a tenth of the memory of :class:`Usage`."""

    model: str
    calls: int
    reused: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    batched: int
    cost: float | None
    saved: CallUsage | None = None
    """What another run paid for the reply, if this is the first use of it here."""

    @classmethod
    def of(cls, model: str, usage: Usage) -> CallUsage:
        """The usage of a call to ``model``."""
        return cls(
            sys.intern(model),
            usage.calls,
            usage.reused,
            usage.input_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.batched,
            usage.cost,
        )

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts, from ``calls`` to ``batched``."""
        return self[1:9]

    @property
    def usage(self) -> Usage:
        """The usage as a record."""
        fields = self._asdict()
        del fields["model"], fields["saved"]
        return Usage(**fields)


class CallColumns:
    """The usages of many calls, column by column: in a third of the memory of :class:`CallUsage`."""

    def __init__(self) -> None:
        self._models: list[str] = []
        self._numbers: dict[str, int] = {}  # the place of each name in ``_models``
        self._model_of = array("I")
        self._counts = array("Q")  # the counts of :class:`CallUsage`, one call after the other
        self._costs = array("d")  # NaN = unknown
        self._saved: dict[int, CallUsage] = {}

    def __len__(self) -> int:
        return len(self._costs)

    def append(self, call: CallUsage) -> None:
        """Add a call at the end."""
        if call.model not in self._numbers:
            self._numbers[call.model] = len(self._models)
            self._models.append(call.model)
        if call.saved is not None:
            self._saved[len(self)] = call.saved
        self._model_of.append(self._numbers[call.model])
        self._counts.extend(call.counts)
        self._costs.append(nan if call.cost is None else call.cost)

    def between(self, start: int, end: int) -> Iterator[CallUsage]:
        """The calls from place ``start`` to before ``end``."""
        for place in range(start, end):
            cost = self._costs[place]
            first = place * len(USAGE_COUNTS)
            counts = self._counts[first : first + len(USAGE_COUNTS)]
            calls, reused, input_tokens, cached, written, output_tokens, reasoning, batched = counts
            yield CallUsage(
                model=self._models[self._model_of[place]],
                calls=calls,
                reused=reused,
                input_tokens=input_tokens,
                cached_tokens=cached,
                cache_write_tokens=written,
                output_tokens=output_tokens,
                reasoning_tokens=reasoning,
                batched=batched,
                cost=None if isnan(cost) else cost,
                saved=self._saved.get(place),
            )


class StageResults:
    """The results of a stage for each segment of a stored run, column by column to save memory.

    The columns of a stage that ran for no segment are empty.
    """

    def __init__(self) -> None:
        self._skipped = 0  # the segments before the first for which the stage ran
        self.outcomes: list[SegmentOutcome] = []
        self.edits: list[Mapping[str, int]] = []
        """The edits of each segment by outcome."""
        self.seconds = array("d")
        self.call_starts = array("I")
        """Where the calls for a segment begin in :attr:`StagedRun.stored_calls`."""
        self.call_ends = array("I")

    @property
    def has_run(self) -> bool:
        """Whether the stage ran for any segment."""
        return bool(self.outcomes)

    def append(self, outcome: SegmentOutcome, edits: Mapping[str, int], seconds: float, calls: tuple[int, int]) -> None:
        """Add the result of the next segment."""
        for _ in range(self._skipped):
            self._append("idle", _counts(), 0.0, (0, 0))
        self._skipped = 0
        self._append(outcome, edits, seconds, calls)

    def skip(self) -> None:
        """The stage did not run for the next segment."""
        if self.has_run:
            self._append("idle", _counts(), 0.0, (0, 0))
        else:
            self._skipped += 1

    def _append(
        self, outcome: SegmentOutcome, edits: Mapping[str, int], seconds: float, calls: tuple[int, int]
    ) -> None:
        self.outcomes.append(outcome)
        self.edits.append(edits)
        self.seconds.append(seconds)
        self.call_starts.append(calls[0])
        self.call_ends.append(calls[1])


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A segment, and its text in each system."""

    position: int
    row: int
    """Its place in :attr:`StagedRun.results`."""
    segment: Segment
    texts: tuple[str | None, ...]
    """In the order of :data:`SYSTEMS`; ``None`` where the segment never had a text."""
    judges: frozenset[str]
    """The evaluators that gates asked."""

    def text(self, system: str) -> str | None:
        """The text of ``system``."""
        return self.texts[SYSTEMS.index(system)]

    @property
    def changed(self) -> bool:
        """Whether a stage changed the given translation, or that of the translate stage."""
        return self.text(FINAL) != self.text(GIVEN)


@dataclass(frozen=True)
class StagedRun:
    """A stored run."""

    name: str
    summary: RunSummary
    total: int
    """The segments that the run was begun with."""
    segments: tuple[StagedSegment, ...]
    """Those that are compared."""
    decided_run: DecidedRun
    """The run in the store."""
    stored: int
    """How many segments are in the store."""
    results: Mapping[str, StageResults]
    """What each system of :data:`SYSTEMS` did with the stored segments."""
    stored_calls: CallColumns
    """The calls of all stored steps."""
    paid: CallColumns
    """The log of calls, failed attempts included."""
    systems: tuple[str, ...] = ()
    review: ReviewSummary | None = None
    """What people decided, on all of the run's segments."""

    @property
    def whole(self) -> bool:
        """Whether all stored segments are compared."""
        return len(self.segments) == self.stored

    @property
    def judges(self) -> set[str]:
        """The names of the evaluators that gates asked."""
        judges = set[str]()
        for segment in self.segments:
            judges |= segment.judges
        return judges

    def texts(self, system: str) -> tuple[str, ...]:
        """The text of each segment after a stage; empty if there never was one."""
        return tuple(segment.text(system) or "" for segment in self.segments)

    def outcomes(self, system: str) -> Outcomes:
        """The outcomes of the segments in a stage, or in the run (``final``)."""
        verdicts: Counter[str] = Counter()
        edits: Counter[str] = Counter()
        results = self.results[system]
        for segment in self.segments:
            outcome = results.outcomes[segment.row]
            verdicts[outcome] += 1
            edits.update(results.edits[segment.row])
            if system == FINAL and outcome == "failed" and segment.changed:
                verdicts["failed_changed"] += 1
        return Outcomes(**verdicts, edits=dict(edits))

    def calls(self, system: str) -> Iterator[CallUsage]:
        """The calls of a stage, or of the run (``final``)."""
        results = self.results[system]
        if not results.has_run:
            return
        for segment in self.segments:
            yield from self.stored_calls.between(results.call_starts[segment.row], results.call_ends[segment.row])

    def seconds(self, system: str) -> float:
        """How long a stage took, or the run (``final``): the sum over segments."""
        results = self.results[system]
        if not results.has_run:
            return 0.0
        return sum(results.seconds[segment.row] for segment in self.segments)

    def with_references(self, references: Sequence[str | None]) -> StagedRun:
        """This run with other references, one for each segment."""
        segments = []
        for staged, reference in zip(self.segments, references, strict=True):
            if staged.segment.reference != reference:
                segment = staged.segment.model_copy(update={"reference": reference})
                staged = replace(staged, segment=segment)
            segments.append(staged)
        return replace(self, segments=tuple(segments))

    def chain_reader(self) -> Callable[[], Iterator[Chain]]:
        """A function that reads the chains of these segments, in their order, again, with their references.

        It needs only little memory, also after this run is deleted.
        """
        decided_run, stages = self.decided_run, self.summary.settings.get("stages") or ()
        references = {staged.position: staged.segment.reference for staged in self.segments}
        is_sorted = list(references) == sorted(references)

        def one_by_one() -> Iterator[tuple[int, Chain]]:
            for position in references:
                yield position, decided_run.segment(position).reviewed_chain

        def chains() -> Iterator[Chain]:
            # The segments of a run are read much faster in the order in which they are stored.
            for position, chain in decided_run.placed_chains() if is_sorted else one_by_one():
                if position not in references:
                    continue
                chain = with_rules_step(chain, stages)
                reference = references[position]
                if chain.segment.reference != reference:
                    segment = chain.segment.model_copy(update={"reference": reference})
                    chain = chain.model_copy(update={"segment": segment})
                yield chain

        return chains


def read_run(
    store: Store, summary: RunSummary, name: str | None = None, other_run: Sequence[StagedSegment] = ()
) -> StagedRun:
    """The chain run that ``summary`` is about, as ``name`` if it is another one.

    Segments and texts that are equal in ``other_run`` are shared with it, to save memory. Raises :class:`ConfigError`
    for ratings, :class:`InputError` for an empty run.
    """
    if summary.kind == "rating":
        rated_run = summary.inputs.get("run")
        way_out = "`mtagent score` shows its scores beside others with -m scores-file:path=FILE"
        if isinstance(rated_run, str):
            way_out = f"it rated the stages of run {rated_run!r}: name that run instead"
        raise ConfigError(
            f"run {summary.name!r} holds ratings, and no stages: {way_out}; `mtagent runs show {summary.name}` shows it"
        )
    decided_run = DecidedRun(store, summary.name)
    stages = summary.settings.get("stages") or ()
    results = {system: StageResults() for system in SYSTEMS}
    calls = CallColumns()
    recalled = set[int]()
    review = ReviewCount()
    segments: list[StagedSegment] = []
    has_given = False
    for position, result in decided_run.segments():
        review.add(result)
        twin = other_run[len(segments)] if len(segments) < len(other_run) else None
        chain = with_rules_step(result.reviewed_chain, stages)
        _add_results(results, calls, chain, result, recalled)
        staged = _staged(position, len(segments), chain, twin)
        segments.append(staged)
        has_given = has_given or staged.segment.translation is not None
    if not segments:
        raise InputError(f"run {summary.name!r}: has no segments yet")
    paid = CallColumns()
    for model, usage in decided_run.run.each_usage():
        paid.append(CallUsage.of(model, usage))
    systems = []
    for system in SYSTEMS:
        if results[system].has_run or (system == GIVEN and has_given):
            systems.append(system)
    return StagedRun(
        name=name or summary.name,
        summary=summary,
        total=max(summary.counts.total or 0, segments[-1].position + 1),
        segments=tuple(segments),
        decided_run=decided_run,
        stored=len(segments),
        results=results,
        stored_calls=calls,
        paid=paid,
        systems=tuple(systems),
        review=review.summary(),
    )


_SEGMENT_FIELDS = set(Segment.model_fields)


def _call_usage(call: Call, recalled: set[int]) -> CallUsage:
    """The usage of a call. What its reply cost another run counts once: ``recalled`` has the calls so far."""
    usage = CallUsage.of(call.model, call.usage)
    if call.usage.saved is None:
        return usage
    identity = hash((call.model, call.purpose, call.messages, call.reply))
    if identity in recalled:
        return usage
    recalled.add(identity)
    return usage._replace(saved=CallUsage.of(call.model, call.usage.saved))


def _add_results(
    results: Mapping[str, StageResults], calls: CallColumns, chain: Chain, decided: Decided, recalled: set[int]
) -> None:
    """Add what each stage did with the next segment, what all of them did (``final``), and what people did."""
    all_edits: Counter[str] = Counter()
    all_seconds = 0.0
    first_call = len(calls)
    before = chain.segment.translation or ""
    results[GIVEN].skip()
    for stage in STAGES:
        steps = [step for step in chain.steps if step.stage == stage]
        if not steps:
            results[stage].skip()
            continue
        edits = Counter[str]()
        first_call_of_stage = len(calls)
        seconds = 0.0
        for step in steps:
            for edit in step.edits:
                edits[edit.outcome] += 1
            for call in step.calls:
                calls.append(_call_usage(call, recalled))
            seconds += step.seconds
        places = (first_call_of_stage, len(calls))
        results[stage].append(stage_outcome(steps, before), _counts(*edits.items()), seconds, places)
        all_edits += edits
        all_seconds += seconds
        before = steps[-1].text
    results[FINAL].append(run_outcome(chain), _counts(*all_edits.items()), all_seconds, (first_call, len(calls)))
    if decided.reviewed:
        outcome, edits, seconds = _review_result(decided, chain.text)
        results[REVIEWED].append(outcome, _counts(*edits.items()), seconds, (0, 0))
    else:
        results[REVIEWED].skip()


def _staged(position: int, row: int, chain: Chain, twin: StagedSegment | None) -> StagedSegment:
    """The texts of ``chain``; those of its ``twin`` in another run are shared."""
    return StagedSegment(
        position=position,
        row=row,
        segment=_shared_segment(chain.segment, twin),
        texts=_shared_texts(chain, twin),
        judges=_judges(chain),
    )


def _shared_segment(segment: Segment, twin: StagedSegment | None) -> Segment:
    """The ``segment``, as the object of its ``twin`` if both are equal. Equal languages are one object."""
    if twin is not None and twin.segment == segment:
        return twin.segment
    fields = dict(segment)
    for name in ("source_lang", "target_lang"):
        fields[name] = sys.intern(fields[name])
    return Segment.model_construct(_fields_set=_SEGMENT_FIELDS, **fields)  # shares the set with all others


def _shared_texts(chain: Chain, twin: StagedSegment | None) -> tuple[str | None, ...]:
    """The text of each system. Equal texts are one object, also those of the ``twin``."""
    texts_by_system = texts_of(chain, SYSTEMS)
    shared_texts = dict[str | None, str | None]()
    if twin is not None:
        shared_texts.update(zip(twin.texts, twin.texts, strict=True))
    texts = []
    for system in SYSTEMS:
        text = texts_by_system[system]
        texts.append(shared_texts.setdefault(text, text))
    return tuple(texts)


def _judges(chain: Chain) -> frozenset[str]:
    """The evaluators that gates asked."""
    judges = set()
    for step in chain.steps:
        for rating in step.ratings:
            if rating.role not in ("triage", "editor"):
                judges.add(rating.evaluator)
    return _names(frozenset(judges))


def _review_result(result: Decided, final_text: str) -> tuple[SegmentOutcome, Counter[str], float]:
    """What people did with a segment after the run."""
    seconds = 0.0
    if result.decision is not None:
        seconds += result.decision.seconds or 0.0
    edits = Counter[str]()
    for row in result.edits:
        if row.decision is not None:
            seconds += row.decision.seconds or 0.0
        edits["reverted" if row.stands == "no" else "applied"] += 1
    outcome: SegmentOutcome = "kept" if result.text != final_text else "unchanged"
    return outcome, edits, seconds


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
    different_runs = []
    for run, keys_of_run in zip(runs, keys, strict=True):
        if keys_of_run != keys[0]:
            different_runs.append(run)
    if not different_runs:
        return list(runs), []
    if not shared:
        difference = _difference(runs[0], different_runs[0])
        raise InputError(f"{difference}; --shared compares the segments that all runs have")
    common = set(keys[0]).intersection(*keys[1:])
    if not common:
        names = ", ".join(run.name for run in runs)
        raise InputError(f"runs {names}: no segment is in all of them")
    order = [key for key in keys[0] if key in common]
    kept, left_out = [], []
    for run, keys_of_run in zip(runs, keys, strict=True):
        segments = dict(zip(keys_of_run, run.segments, strict=True))
        kept.append(replace(run, segments=tuple(segments[key] for key in order)))
        left_out.append(f"{len(run.segments) - len(order)} of {len(run.segments)} of {run.name}")
    return kept, [f"{len(order)} segments are in all runs, and compared; left out: {', '.join(left_out)}"]


def _keys(run: StagedRun) -> list[tuple[str, str, str, str, int]]:
    """What identifies the segments; equal ones are numbered."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    keys = []
    for staged in run.segments:
        segment = staged.segment
        same = (segment.id, segment.source, segment.source_lang, segment.target_lang)
        seen[same] += 1
        keys.append((*same, seen[same]))
    return keys


def _difference(run: StagedRun, other: StagedRun) -> str:
    """The first segment in which two runs differ, and how."""

    def short(text: str) -> str:
        return repr(text if len(text) <= 40 else f"{text[:39]}…")

    for number, (staged, other_staged) in enumerate(zip(run.segments, other.segments, strict=False), start=1):
        for name in ("id", "source_lang", "target_lang", "source"):
            value, other_value = str(getattr(staged.segment, name)), str(getattr(other_staged.segment, name))
            if value != other_value:
                field = name.replace("_lang", " language")
                return (
                    f"segment {number} has another {field} in run {other.name!r} than in run {run.name!r}: "
                    f"{short(other_value)} and {short(value)}"
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
    except ConfigError:  # not a known format: a text for each line
        kind = None
    if kind is None or isinstance(kind, formats.Lines):
        texts = [line.text for line in lines_of(path)]
        return tuple(texts[place] for place in _places(run, path, len(texts)))
    first = run.segments[0].segment
    rows = list(kind.read(path, SegmentDefaults(source_lang=first.source_lang, target_lang=first.target_lang)))
    texts = []
    for place, staged in zip(_places(run, path, len(rows)), run.segments, strict=True):
        row, segment = rows[place], staged.segment
        if row.source != segment.source:
            raise InputError(f"{path}: {row.id!r} has another source than segment {segment.id!r} of the run")
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


def _servers(run: StagedRun) -> dict[str, str | None]:
    """The servers of the models that the run asked, by the requested name of the model."""
    settings = {}
    for name, value in run.summary.settings.items():
        if name in Config.model_fields:
            settings[name] = value
    servers: dict[str, str | None] = {}
    try:
        config = Config.model_validate(settings)
        for role in reversed(_ROLES):
            model = config.model_for(role)
            if model.model:
                servers[model.model] = model.base_url
    except ValidationError:
        return {}
    return servers


class RunCosts(NamedTuple):
    """The costs of a run."""

    by_system: Mapping[str, Cost]
    """For each stage, and for the run (``final``): if all its segments are compared, everything that it paid."""
    unaccounted: Usage | None
    """The usage of calls that no stored step holds: failed attempts, and segments in flight."""


class Bills:
    """Adds up calls; with a price file it recomputes their dollars from tokens, by the file and the public list."""

    def __init__(self, path: Path | None = None) -> None:
        self._prices = Prices(path) if path else None
        self._batch_prices = Prices(path, batch=True) if path else None
        self.source = f"by {path} and, where it names no price, today's public list" if path else PAID

    def costs(self, run: StagedRun) -> RunCosts:
        """What each stage of ``run`` cost, and the run as a whole."""
        costs: dict[str, Cost] = {}
        for system in run.systems:
            paid = self._total(run.calls(system), run)
            saved_calls = []
            for call in run.calls(system):
                if call.saved is not None:
                    saved_calls.append(call.saved)
            saved = self._total(saved_calls, run)
            costs[system] = Cost(paid, paid + saved, run.seconds(system))
        if not run.whole:
            return RunCosts(costs, None)
        stored, paid = costs[FINAL].usage, self._total(run.paid.between(0, len(run.paid)), run)
        counts = {}
        for name in USAGE_COUNTS:
            if name in ("reused", "batched"):
                continue
            counts[name] = getattr(paid, name) - getattr(stored, name)
        if min(counts.values()) < 0 or not any(counts.values()):
            return RunCosts(costs, None)
        cost = None
        if paid.cost is not None and stored.cost is not None:
            cost = max(0.0, paid.cost - stored.cost)
        unaccounted = Usage(**counts, cost=cost)
        usage = paid.model_copy(update={"reused": stored.reused})
        costs[FINAL] = replace(costs[FINAL], usage=usage, nominal=costs[FINAL].nominal + unaccounted)
        return RunCosts(costs, unaccounted)

    def _total(self, calls: Iterable[CallUsage], run: StagedRun) -> Usage:
        """The sum of ``calls``; its cost is unknown if the cost of any call is."""
        servers = _servers(run) if self._prices else {}
        counts = [0] * len(USAGE_COUNTS)
        dollars: float | None = 0.0
        for call in calls:
            cost = call.cost
            # Other calls were reused, failed, or went to a server that reports no usage.
            if self._prices is not None and call.input_tokens + call.output_tokens:
                cost = self._dollars(call.model, call.usage, servers)
            dollars = None if dollars is None or cost is None else dollars + cost
            for place, count in enumerate(call.counts):
                counts[place] += count
        return Usage(cost=dollars).model_copy(update=dict(zip(USAGE_COUNTS, counts, strict=True)))

    def _dollars(self, model: str, usage: Usage, servers: Mapping[str, str | None]) -> float | None:
        """The price of one call, by the name that was requested, or else by the name in the reply."""
        prices = self._batch_prices if usage.batched else self._prices
        assert prices is not None
        name = model
        if model not in servers:
            # The reply may have a longer name, such as gpt-4o-mini-2024-07-18.
            candidates = list(servers)
            if len(servers) > 1:
                candidates = list(filter(model.startswith, servers))
            name = max(candidates, key=len, default=model)
        cost = prices(name, usage, servers.get(name))
        if cost is None and name != model:
            cost = prices(model, usage, servers.get(name))
        return cost
