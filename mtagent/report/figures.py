"""The numbers behind the plots, the tables and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` always means: there is no such number.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from mtagent.analysis.comparison import Cell, Comparison, Row
from mtagent.analysis.score import digits
from mtagent.formats.ratings import FINAL, GIVEN, systems_of, texts_of
from mtagent.jobs.export import ratings_of_texts
from mtagent.records import Chain, Edit, Outcome, Rating, Severity, Stage, Step, Usage
from mtagent.text.mqm import SEVERITIES


class SegmentScores:
    """What the segments of ``run`` score in ``comparison``; nothing where there is no comparison."""

    def __init__(self, run: str, comparison: Comparison | None) -> None:
        self.metrics = comparison.metrics if comparison else ()
        self._rows = comparison.rows if comparison else ()
        self._numbers = {segment: i for i, segment in enumerate(comparison.segments)} if comparison else {}
        self._by_stage = {row.stage: row for row in self._rows if row.stage is not None and _belongs(row, run)}
        self.others = tuple(row for row in self._rows if row not in self._by_stage.values())
        self._differences = {row.name: self._against_former(row) for row in self._rows}

    def of(self, segment: str, stage: str) -> dict[str, float]:
        """Scores by metric name, and the differences to the former row as ``NAME difference``."""
        row = self._by_stage.get(stage)
        return self.of_row(segment, row) if row is not None else {}

    def of_row(self, segment: str, row: Row) -> dict[str, float]:
        """The same for one row."""
        number = self._numbers.get(segment)
        if number is None:
            return {}
        found = {cell.score.metric: cell.score.segments[number] for cell in row.cells}
        apart = self._differences[row.name]
        return found | {f"{metric} difference": values[number] for metric, values in apart.items()}

    def rows_of(self, segment: str) -> dict[str, Row]:
        """All rows of the run by their name; none where the segment was not compared."""
        return {row.name: row for row in self._rows} if segment in self._numbers else {}

    def text(self, segment: str, row: Row) -> str:
        """The text that ``row`` has for ``segment``, which was compared."""
        return row.texts[self._numbers[segment]]

    def _against_former(self, row: Row) -> dict[str, list[float]]:
        former = next((other for other in self._rows if other.name == row.former), None)
        if former is None:
            return {}
        pairs = zip(row.cells, former.cells, strict=False)
        return {after.score.metric: differences(after, before) for after, before in pairs}


def _belongs(row: Row, run: str) -> bool:
    """Given texts may be shared by several runs."""
    return row.run == run or (row.run is None and row.stage == GIVEN)


_DIGITS = 9  # -0.2 is better than -0.3 by 0.1, though not in binary
_BINS = 8
"""Bins on each side of zero, about."""
_COVERED = 0.98
"""The share of the differences that the bins cover; the outermost ones take what lies beyond."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Bin:
    """Segments whose difference is above ``low`` up to ``high`` on the positive side, from ``low`` to below ``high`` on
    the negative one. ``open``: an outermost bin that reaches to the largest difference, however far away.
    """

    low: float
    high: float
    segments: int
    open: bool = False


@dataclass(frozen=True)
class Change:
    """One segment's own score, before and after."""

    segment: str
    former: float
    score: float
    difference: float


@dataclass(frozen=True)
class Spread:
    """The differences of ``row`` to ``former`` by ``metric``, segment by segment.

    ``better + equal + worse + unknown`` is the number of segments; ``same_text`` of the ``equal`` ones have the same
    text. ``unknown`` have no finite score. ``bins`` hold every segment that is better or worse; zero has none.
    ``quantiles`` are those of all known differences at :data:`QUANTILES`. ``worst`` starts with the largest loss.
    ``digits`` suit the metric's scores.
    """

    row: str
    former: str
    metric: str
    higher_is_better: bool
    better: int
    equal: int
    same_text: int
    worse: int
    unknown: int
    mean: float | None
    quantiles: tuple[float, ...]
    bins: tuple[Bin, ...]
    worst: tuple[Change, ...]
    digits: int = 2

    @property
    def segments(self) -> int:
        """The number of segments."""
        return self.better + self.equal + self.worse + self.unknown


def spreads(comparison: Comparison, shown: int = 10) -> tuple[Spread, ...]:
    """One for each row that has a former one; none where no metric decides."""
    if comparison.deciding is None or comparison.deciding not in comparison.metrics:
        return ()
    at = comparison.metrics.index(comparison.deciding)
    rows = {row.name: row for row in comparison.rows}
    pairs = [(row, rows[row.former]) for row in comparison.rows if row.former in rows]
    return tuple(
        _spread(comparison.segments, row, former, at, shown)
        for row, former in pairs
        if len(row.cells) > at and len(former.cells) > at
    )


def _spread(segments: Sequence[str], row: Row, former: Row, at: int, shown: int) -> Spread:
    after, before = row.cells[at], former.cells[at]
    found = differences(after, before)
    known = [value for value in found if math.isfinite(value)]
    sign = 1 if after.score.higher_is_better else -1
    same = [one == other for one, other in zip(row.texts, former.texts, strict=True)]
    return Spread(
        row=row.name,
        former=former.name,
        metric=after.score.metric,
        higher_is_better=after.score.higher_is_better,
        better=sum(sign * value > 0 for value in known),
        equal=sum(value == 0 for value in known),
        same_text=sum(value == 0 and alike for value, alike in zip(found, same, strict=True)),
        worse=sum(sign * value < 0 for value in known),
        unknown=len(found) - len(known),
        mean=math.fsum(known) / len(known) if known else None,
        quantiles=tuple(float(value) for value in np.quantile(known, QUANTILES)) if known else (),
        bins=histogram(known),
        worst=_worst(segments, before, after, found, sign, shown),
        digits=digits((before.score, after.score), None),
    )


def differences(after: Cell, before: Cell) -> list[float]:
    """The difference of each segment, the noise of its last digits rounded away."""
    pairs = zip(after.score.segments, before.score.segments, strict=True)
    return [round(new - old, _DIGITS) if math.isfinite(new - old) else math.nan for new, old in pairs]


def histogram(values: Sequence[float]) -> tuple[Bin, ...]:
    """Bins of one width over all ``values`` but zero, the same on both sides of it."""
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ()
    width = nice(sizes[math.ceil(_COVERED * len(sizes)) - 1] / _BINS)
    last = max(1, math.ceil(round(sizes[math.ceil(_COVERED * len(sizes)) - 1] / width, _DIGITS)))
    counts = Counter(_side(value) * min(last, math.ceil(abs(value) / width)) for value in values if value)
    low, high = min(0.0, *values), max(0.0, *values)
    span = [n for n in range(-last, last + 1) if n and min(counts) <= n <= max(counts)]
    return tuple(_bin(n, width, counts[n], last, low, high) for n in span)


def _bin(number: int, width: float, count: int, last: int, low: float, high: float) -> Bin:
    start, end = sorted((_clean(number * width), _clean((number - _side(number)) * width)))
    if number == -last and low < start:
        return Bin(low, end, count, open=True)
    if number == last and high > end:
        return Bin(start, high, count, open=True)
    return Bin(start, end, count)


def _side(value: float) -> int:
    return 1 if value > 0 else -1


def _clean(value: float) -> float:
    """``value`` without the noise of its last digits, at any size."""
    return float(f"{value:.12g}")


def nice(step: float) -> float:
    """The next of 1, 2, 2.5, 5 and 10 times a power of ten that is not below ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return _clean(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9)))


def _worst(
    segments: Sequence[str], before: Cell, after: Cell, found: Sequence[float], sign: int, shown: int
) -> tuple[Change, ...]:
    fell = sorted((sign * value, i) for i, value in enumerate(found) if sign * value < 0)[:shown]
    return tuple(Change(segments[i], before.score.segments[i], after.score.segments[i], found[i]) for _, i in fell)


Kind = Literal["changed", "untouched", "unplaced", "guard", "gate", "failed", "idle"]
"""``changed``: a new text stands. ``untouched``: nothing was to be done. ``unplaced``: no edit could be made.
``guard``, ``gate``: rejected by it. ``failed``: an error; the text stays. ``idle``: the stage did not run here."""

KINDS: dict[Kind, str] = {
    "changed": "changed",
    "untouched": "left as it was",
    "unplaced": "no edit could be made",
    "guard": "rejected by a guard",
    "gate": "rejected by the gate",
    "failed": "failed, text kept",
    "idle": "not run",
}
"""All kinds, in the order in which they are shown, and how they are called."""

OUTCOMES: dict[Outcome, str] = {
    "applied": "applied",
    "refused": "refused by a guard",
    "rejected": "rejected with the whole text",
    "not-found": "its place was not found",
    "ambiguous": "may mean several places",
    "overlapping": "another edit covers its place",
    "unchanged": "the text reads so already",
    "reverted": "taken back by the user",
}
"""What becomes of edits, in the order in which it is shown."""
_SEVERAL = "several guards"


class Fate(NamedTuple):
    """What became of one segment in one stage."""

    kind: Kind
    reason: str


def fate(step: Step) -> Fate:
    """What ``step`` did, in a kind and a reason that many segments share."""
    match step.verdict:
        case "kept":
            return _kept(step)
        case "unchanged":
            return _unchanged(step)
        case "failed":
            if step.cause.kind == "error" and step.cause.error:
                return Fate("failed", _ERRORS.get(step.cause.error, step.cause.error))
            return Fate("failed", "no translation" if step.cause.kind == "no-translation" else "other")
        case "rejected":
            return _rejected(step)


def idle_fate(chain: Chain, stage: str) -> Fate:
    """Why there is no step of ``stage`` in ``chain``."""
    if not chain.segment.source.strip():
        return Fate("idle", "nothing to translate")
    if stage == "translate" and chain.segment.translation is not None:
        return Fate("idle", "a translation was given")
    if chain.failed is not None:
        return Fate("idle", "an earlier stage failed")
    if any(step.stage == "postedit" for step in chain.steps):
        return Fate("idle", "error-free after an earlier stage")
    return Fate("idle", "not run on this segment")


def final_fate(chain: Chain) -> Fate:
    """What became of the segment on the whole way."""
    if chain.given is None:
        return Fate("failed", "without a translation")
    if chain.failed is not None:
        return Fate("failed", "changed before a stage failed" if chain.changed else "a stage failed")
    if chain.changed:
        return Fate("changed", "edited")
    rejected = any(step.verdict == "rejected" for step in chain.steps)
    return Fate("untouched", "changes were rejected" if rejected else "as given or first translated")


def guards_of(edits: Iterable[Edit]) -> tuple[str, ...]:
    """The guards that refused any of ``edits``, each once; ``other`` for one that has no known name."""
    refused = (edit for edit in edits if edit.outcome == "refused")
    return tuple(dict.fromkeys(name for edit in refused for name in edit.guards or ("other",)))


def edit_fate(edit: Edit) -> str:
    """What became of ``edit``, in words that many edits share."""
    if edit.outcome != "refused":
        return OUTCOMES[edit.outcome]
    return f"{OUTCOMES['refused']}: {_one(guards_of([edit]))}"


def _kept(step: Step) -> Fate:
    if step.stage == "translate":
        blank = not step.calls and not step.text.strip()
        return Fate("untouched", "nothing to translate") if blank else Fate("changed", "translated")
    outcomes = {edit.outcome for edit in step.edits}
    if "reverted" in outcomes:
        return Fate("changed", "in part: the user took edits back") if "applied" in outcomes else _taken_back()
    return Fate("changed", "in part: a guard refused some edits" if "refused" in outcomes else "edited")


def _taken_back() -> Fate:
    return Fate("untouched", "the user took all edits back")


def _unchanged(step: Step) -> Fate:
    outcomes = {edit.outcome for edit in step.edits}
    if not outcomes:
        free = step.stage == "postedit" and step.proposed is None
        return Fate("untouched", "no error found" if free else "nothing to change")
    if len(outcomes) > 1:
        return Fate("unplaced", "several of these reasons")
    (outcome,) = outcomes
    return Fate("unplaced", "the edits change nothing" if outcome == "applied" else OUTCOMES[outcome])


def _rejected(step: Step) -> Fate:
    cause = step.cause
    match cause.kind:
        case "guards":
            return Fate("guard", _one(guards_of(step.edits) or cause.guards))
        case "lines":
            return Fate("guard", "lines")
        case "scores":
            gain = cause.judgements[0].gain or 0.0
            reason = "worse" if gain < 0 else "the same" if gain == 0 else "better, but below the margin"
            return Fate("gate", f"rated {reason}")
        case "choices":
            return Fate("gate", _pair_reason(*cause.judgements[0].choices))
        case _:
            return Fate("gate", "other")


def _pair_reason(first: str, second: str) -> str:
    if first == second:
        return {"before": "the judge prefers the earlier text", "tie": "the judge sees a tie"}.get(first, "other")
    return "the judge is not sure"


def _one(guards: tuple[str, ...]) -> str:
    return guards[0] if len(guards) == 1 else _SEVERAL


_ERRORS = {
    "AuthenticationError": "the server refused the key",
    "BadRequest": "the server refused the request",
    "EmptyReply": "empty reply",
    "EvaluationError": "the evaluator has no rating",
    "RateLimited": "rate limit of the server",
    "RatingParseError": "unreadable rating",
    "Refused": "the model refused",
    "ServerError": "the server failed",
    "TranslatorError": "the translator failed",
    "Truncated": "reply cut off",
    "UnreadableReply": "unreadable reply",
    "UnusableTranslation": "no translation came back",
}


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


Unit = Literal["dollars", "tokens"]


@dataclass(frozen=True)
class Point:
    """A row: its score, and what was spent in its run until its texts stood there.

    ``dollars`` and ``tokens`` are ``None`` where nobody knows: for texts from a file, and dollars for an unknown price.
    ``half_width`` is that of the score's 95 % confidence interval.
    """

    row: str
    run: str | None
    stage: str | None
    score: float | None
    dollars: float | None
    tokens: int | None
    half_width: float | None = None

    def spent(self, unit: Unit) -> float | None:
        """What was spent, in ``unit``."""
        return self.dollars if unit == "dollars" else self.tokens


@dataclass(frozen=True)
class Costs:
    """The rows as points. ``unit`` is ``tokens`` where a price is unknown, or where nothing costs money.

    ``digits`` suit the metric's scores.
    """

    metric: str
    higher_is_better: bool
    unit: Unit
    points: tuple[Point, ...]
    digits: int = 2


@dataclass(frozen=True)
class Costly:
    """What one segment took."""

    segment: str
    usage: Usage
    seconds: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.usage.input_tokens + self.usage.output_tokens


class CostlyCount:
    """Finds the ``most`` costly segments, one after the other: by dollars; where any price is unknown, by tokens."""

    def __init__(self, most: int) -> None:
        self._most, self._unknown = most, False
        self._by_dollars: list[Costly] = []
        self._by_tokens: list[Costly] = []

    def add(self, one: Costly) -> None:
        """Look at one more segment; one that took no call is none of them."""
        if one.usage.calls:
            self._unknown = self._unknown or one.usage.cost is None
            self._by_dollars = heapq.nlargest(self._most, [*self._by_dollars, one], key=_dollars_first)
            self._by_tokens = heapq.nlargest(self._most, [*self._by_tokens, one], key=lambda one: one.tokens)

    def found(self) -> tuple[Costly, ...]:
        """The most costly ones, the first of equals first."""
        return tuple(self._by_tokens if self._unknown else self._by_dollars)


def _dollars_first(one: Costly) -> tuple[float, int]:
    return one.usage.cost or 0.0, one.tokens


def costs(comparison: Comparison) -> Costs | None:
    """The points of all rows by the deciding metric; ``None`` where no metric decides."""
    if comparison.deciding is None or comparison.deciding not in comparison.metrics or not comparison.rows:
        return None
    at = comparison.metrics.index(comparison.deciding)
    spent: dict[str, Usage] = {}
    points = tuple(_point(row, _cell(row, at), spent) for row in comparison.rows)
    scores = [cell.score for row in comparison.rows if (cell := _cell(row, at))]
    better = next((score.higher_is_better for score in scores), True)
    return Costs(comparison.deciding, better, _unit(points), points, digits(scores, None))


def _cell(row: Row, at: int) -> Cell | None:
    return row.cells[at] if len(row.cells) > at else None


def _point(row: Row, cell: Cell | None, spent: dict[str, Usage]) -> Point:
    usage = _until(row, spent)
    score = cell.score.value if cell and math.isfinite(cell.score.value) else None
    tokens = None if usage is None else usage.input_tokens + usage.output_tokens
    dollars = None if usage is None else usage.cost
    width = cell.interval.half_width if cell and cell.interval else None
    return Point(row.name, row.run, row.stage, score, dollars, tokens, width)


def _until(row: Row, spent: dict[str, Usage]) -> Usage | None:
    """What the run of ``row`` took until here; the texts as given took nothing, the final ones all of it."""
    if row.stage == GIVEN:  # several runs may share these texts
        return Usage()
    if row.run is None or row.cost is None:
        return None
    if row.stage == FINAL:
        return row.cost.usage
    spent[row.run] = spent.get(row.run, Usage()) + row.cost.usage
    return spent[row.run]


def _unit(points: Iterable[Point]) -> Unit:
    known = [point for point in points if point.tokens is not None]
    priced = all(point.dollars is not None for point in known)
    return "dollars" if priced and any(point.dollars for point in known) else "tokens"


SHOWN = 10
"""Segments in each list of examples."""


@dataclass(frozen=True)
class Figures:
    """All figures of a run.

    ``marks`` has an entry for each evaluator that rated, ``spreads`` one for each row of the comparison with a former
    one. ``costly`` and ``failures`` hold at most :data:`SHOWN` segments; ``flow`` counts them all.
    """

    flow: Flow
    marks: tuple[Marks, ...] = ()
    spreads: tuple[Spread, ...] = ()
    costs: Costs | None = None
    costly: tuple[Costly, ...] = ()
    failures: tuple[Failure, ...] = ()


class FiguresCount:
    """Counts chains, one after the other, for the figures of their run."""

    def __init__(self) -> None:
        self._flow, self._marks, self._costly = FlowCount(SHOWN), MarksCount(), CostlyCount(SHOWN)

    def add(self, chain: Chain) -> None:
        """Count ``chain``."""
        self._flow.add(chain)
        self._marks.add(chain)
        self._costly.add(Costly(chain.segment.id, chain.usage, sum(step.seconds for step in chain.steps)))

    def passing(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """``chains``, each counted as it passes."""
        for chain in chains:
            self.add(chain)
            yield chain

    def found(self, comparison: Comparison | None = None) -> Figures:
        """The figures of all chains so far."""
        return Figures(
            flow=self._flow.figure(),
            marks=self._marks.figures(),
            spreads=spreads(comparison, SHOWN) if comparison else (),
            costs=costs(comparison) if comparison else None,
            costly=self._costly.found(),
            failures=self._flow.failures(),
        )


def figures(chains: Iterable[Chain], comparison: Comparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    count = FiguresCount()
    for chain in chains:
        count.add(chain)
    return count.found(comparison)
