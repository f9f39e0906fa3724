"""What a stage took: as it was stored, or in dollars by another price list."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from mtagent import formats
from mtagent.config import Config, Role
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.ratings import FINAL, GIVEN, texts_of
from mtagent.formats.segments import SegmentDefaults
from mtagent.llm.prices import Prices
from mtagent.metrics.significance import Interval, Resampling
from mtagent.records import Chain, Score, Segment, Stage, Step, Usage
from mtagent.store.rows import segment_state
from mtagent.store.store import Store

PAID = "as paid at the time of the run"
"""Where the dollars come from, unless they were computed anew."""


class Cell(NamedTuple):
    """A row's score by one metric; ``difference`` is to the ``former`` row, whichever direction is better."""

    score: Score
    difference: float | None = None
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Moved:
    """What changed on the way from the former row's texts to this row's.

    ``ter``: from the former texts to these, the words edited per 100 words (HTER, Snover et al. 2006). ``characters``:
    Levenshtein distance, added up. ``changed``: the share of segments with another text. ``regressed``: the share of
    segments whose own score by the deciding metric got worse. ``gain_to_edit``: the gain by the deciding metric per
    point of ``ter``.
    """

    ter: float
    characters: int
    changed: float
    regressed: float | None = None
    gain_to_edit: float | None = None


@dataclass(frozen=True)
class Outcomes:
    """What became of the segments in this stage, and of the edits.

    Numbers of segments by verdict, which add up to all; ``reverted`` are those that were kept until the user took every
    edit back, ``idle`` those on which the stage did not run. Of the final texts ``kept`` are those that any stage
    changed. ``edits`` counts the edits by outcome; ``applied`` are those that stand in the text.
    """

    kept: int = 0
    unchanged: int = 0
    rejected: int = 0
    failed: int = 0
    reverted: int = 0
    idle: int = 0
    edits: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Cost:
    """What a stage took. The dollars are in ``usage.cost``; seconds are those of all segments one after the other.

    ``per_kept_edit`` and ``per_point`` (of the deciding metric) are dollars that were spent since the former row: of
    ``final`` without what the first row took, where the run made it itself.
    """

    usage: Usage
    seconds: float
    per_kept_edit: float | None = None
    per_point: float | None = None


@dataclass(frozen=True)
class Row:
    """A system: the texts as given, those after a stage, the final ones of a run, or a file's.

    ``name`` is unique and what is printed; ``run`` and ``stage`` (``given``, ``translate`` …, ``final``) say where the
    texts come from, both ``None`` for a file; ``run`` is also ``None`` for given texts that several runs share.
    ``former`` is the name of the row that differences and ``moved`` go by: the stage before; for ``final``, which has
    the costs of the whole run, the first row of the run; for a file the first row of all.
    """

    name: str
    run: str | None
    stage: str | None
    texts: tuple[str, ...]
    cells: tuple[Cell, ...] = ()
    former: str | None = None
    moved: Moved | None = None
    outcomes: Outcomes | None = None
    cost: Cost | None = None


class Part(NamedTuple):
    """Some of the segments: those of a domain, of a length, of a document. ``scores``: by row, then by metric."""

    name: str
    segments: int
    scores: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """The rows, in order; the first is the baseline of the tests.

    ``segments`` are the ids, ``metrics`` the printed names in the order of the cells. ``deciding`` is the metric that
    regressions, the gain-to-edit ratio and dollars per point go by. ``parts`` holds, for each grouping that was asked
    for (``domain``, ``length``, ``document``), its parts. ``signatures`` are ``NAME|signature`` of all metrics and of
    what ``moved`` was measured with. ``prices`` says where the dollars come from. ``warnings`` are whole sentences for
    the user. ``source_lang`` and ``target_lang`` are those of the first segment.
    """

    segments: tuple[str, ...]
    rows: tuple[Row, ...]
    metrics: tuple[str, ...] = ()
    deciding: str | None = None
    resampling: Resampling | None = None
    parts: Mapping[str, tuple[Part, ...]] | None = None
    signatures: tuple[str, ...] = ()
    prices: str = PAID
    warnings: tuple[str, ...] = ()
    source_lang: str = ""
    target_lang: str = ""

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)


STAGES: tuple[Stage, ...] = get_args(Stage)
SYSTEMS = (GIVEN, *STAGES, FINAL)
_WHOLE = {"changed": "kept", "unchanged": "unchanged", "rejected": "rejected", "failed": "failed"}


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
    """The evaluators of the ratings that gates went by."""
    for step in steps:
        yield from (rating.evaluator for rating in step.ratings if rating.role != "editor")


def restricted(run: HeldRun, keep: Sequence[int]) -> HeldRun:
    """``run`` with the segments at these indices only."""
    return replace(run, passed=tuple(run.passed[index] for index in keep))


_SHOWN = 40
_Key = tuple[str, str, str, str, int]
_WAY_OUT = "--shared compares the segments that all runs have"


class Aligned(NamedTuple):
    """Runs with the same segments, and what had to be left out for that."""

    runs: tuple[HeldRun, ...]
    remarks: tuple[str, ...] = ()


def aligned(runs: Sequence[HeldRun], *, shared: bool = False) -> Aligned:
    """The ``runs`` with the same segments in the order of the first.

    Segments are the same where id, source and languages are. Raises :class:`InputError` naming the first difference;
    with ``shared`` the segments that not all have are left out instead.
    """
    keys = [_keys(run) for run in runs]
    if all(own == keys[0] for own in keys):
        return Aligned(tuple(runs))
    if not shared:
        other = next(number for number, own in enumerate(keys) if own != keys[0])
        raise InputError(f"{_difference(runs[0], runs[other])}; {_WAY_OUT}")
    common = set(keys[0]).intersection(*keys[1:])
    if not common:
        raise InputError(f"runs {', '.join(run.name for run in runs)}: no segment is in all of them")
    wanted = [key for key in keys[0] if key in common]
    kept = []
    for run, own in zip(runs, keys, strict=True):
        place = {key: index for index, key in enumerate(own)}
        kept.append(restricted(run, [place[key] for key in wanted]))
    return Aligned(tuple(kept), (_left_out(runs, len(wanted)),))


def _keys(run: HeldRun) -> list[_Key]:
    seen: Counter[tuple[str, ...]] = Counter()
    keys = []
    for segment in (one.segment for one in run.passed):
        same = (segment.id, segment.source, segment.source_lang, segment.target_lang)
        seen[same] += 1
        keys.append((*same, seen[same]))
    return keys


def _difference(one: HeldRun, other: HeldRun) -> str:
    """The first segment in which two runs differ, and how."""
    for number, (ours, theirs) in enumerate(zip(one.passed, other.passed, strict=False), start=1):
        if found := _differing(ours.segment, theirs.segment):
            name, a, b = found
            return f"segment {number} has another {name} in run {other.name!r} than in run {one.name!r}: {b} and {a}"
    few, many = sorted((one, other), key=lambda run: len(run.passed))
    first = many.passed[len(few.passed)].segment.id
    return (
        f"run {many.name!r} has {len(many.passed)} segments, and run {few.name!r} has {len(few.passed)}; "
        f"segment {first!r} is the first that it lacks"
    )


def _differing(one: Segment, other: Segment) -> tuple[str, str, str] | None:
    for name in ("id", "source_lang", "target_lang", "source"):
        ours, theirs = str(getattr(one, name)), str(getattr(other, name))
        if ours != theirs:
            return name.replace("_lang", " language"), _short(ours), _short(theirs)
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _left_out(runs: Sequence[HeldRun], kept: int) -> str:
    lost = ", ".join(f"{len(run.passed) - kept} of {len(run.passed)} of {run.name}" for run in runs)
    return f"{kept} segments are in all runs, and compared; left out: {lost}"


def texts_for(run: HeldRun, path: Path, what: str = "translation") -> tuple[str, ...]:
    """The lines of ``path`` for the segments of ``run``; or the ``translation`` or ``reference`` of a table's rows.

    The file has a line for each segment of the run's input, also where the run is not complete, or a line for each
    segment that the run holds. Raises :class:`InputError` where it has another number, or is about other sources.
    """
    kind = _table(path)
    if kind is None:
        texts = [line.text for line in lines_of(path)]
        return tuple(texts[index] for index in _places(run, path, len(texts)))
    first = run.passed[0].segment
    rows = list(kind.read(path, SegmentDefaults(source_lang=first.source_lang, target_lang=first.target_lang)))
    chosen = [rows[index] for index in _places(run, path, len(rows))]
    return tuple(_told(path, row, one.segment, what) for row, one in zip(chosen, run.passed, strict=True))


def _table(path: Path) -> formats.Format | None:
    """The format of a file whose name says that it is a table or JSON Lines; ``None`` = a text for each line."""
    try:
        kind = formats.by_path(path)
    except ConfigError:
        return None
    return None if isinstance(kind, formats.Lines) else kind


def _places(run: HeldRun, path: Path, number: int) -> Sequence[int]:
    """Where in the file the segments of ``run`` stand."""
    if number == run.total:
        return [one.position for one in run.passed]
    if number == run.stored and run.whole:
        return range(number)
    held = f" and holds {run.stored} of them" if run.stored < run.total else ""
    raise InputError(f"{path}: has {number} lines, and the input of run {run.name!r} has {run.total} segments{held}")


def _told(path: Path, row: Segment, segment: Segment, what: str) -> str:
    if row.source != segment.source:
        raise InputError(f"{path}: {row.id!r} is about another source than segment {segment.id!r} of the run")
    text: str | None = getattr(row, what)
    if text is None:
        raise InputError(f"{path}: segment {segment.id!r} has no {what}")
    return text


_ROLES: tuple[Role | None, ...] = (None, "translate", "postedit", "proofread", "judge")


class Bills:
    """Adds up calls; with a price file their dollars are computed anew from the tokens, by it and the public list."""

    def __init__(self, path: Path | None = None) -> None:
        self._prices = Prices(path) if path else None
        self.told = f"by {path} and, where it names no price, today's public list" if path else PAID

    def total(self, spent: Iterable[Spent], run: HeldRun) -> Usage:
        """The sum of calls of ``run``; its cost is unknown where that of one call is."""
        if self._prices is None:
            return Usage.total(call.usage for call in spent)
        servers = _servers(run.settings)
        return Usage.total(self._priced(call.model, call.usage, servers, self._prices) for call in spent)

    def _priced(self, model: str, usage: Usage, servers: dict[str, str | None], prices: Prices) -> Usage:
        if not usage.input_tokens + usage.output_tokens:
            return usage  # nothing was counted: reused, failed, or a server that reports no usage
        asked = _asked(model, servers)
        cost = prices(asked, usage, servers.get(asked))
        if cost is None and asked != model:
            cost = prices(model, usage, servers.get(asked))
        return usage.model_copy(update={"cost": cost})

    def cost(self, run: HeldRun, system: str) -> Cost:
        """What a stage took; for ``final`` what the run has paid, where the calls of all its steps are compared."""
        usage = self.total(run.spent(system), run)
        if system == "final" and unaccounted(run, self) is not None:
            usage = self.total(run.paid, run).model_copy(update={"reused": usage.reused})
        return Cost(usage=usage, seconds=run.seconds(system))


def unaccounted(run: HeldRun, bills: Bills) -> Usage | None:
    """What ``run`` has paid for calls that no stored step holds; ``None`` where there is nothing of the kind.

    These are the calls of failed tries that were replaced, and of segments under way.
    """
    if not run.whole:
        return None
    paid, told = bills.total(run.paid, run), bills.total(run.spent("final"), run)
    counts = {name: getattr(paid, name) - getattr(told, name) for name in _COUNTS}
    if any(number < 0 for number in counts.values()) or not any(counts.values()):
        return None
    cost = None if paid.cost is None or told.cost is None else max(0.0, paid.cost - told.cost)
    return Usage(**counts, cost=cost)


_COUNTS = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def _servers(settings: Any) -> dict[str, str | None]:
    """The models that a run asked, and the addresses of their servers."""
    try:
        config = Config.model_validate({name: settings[name] for name in settings if name in Config.model_fields})
    except ValidationError:
        return {}
    asked = [config.model_for(role) for role in _ROLES]
    return {one.model: one.base_url for one in reversed(asked) if one.model}


def _asked(model: str, servers: dict[str, str | None]) -> str:
    """The name by which a model was asked for; servers reply with longer ones (``gpt-4o-mini-2024-07-18``)."""
    if model in servers:
        return model
    if len(servers) == 1:
        return next(iter(servers))
    return max((name for name in servers if model.startswith(name)), key=len, default=model)
