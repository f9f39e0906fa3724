"""The numbers behind the tables, the page and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` always means: there is no such number.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from mtagent.analysis.comparison import Cell, Comparison, Row
from mtagent.analysis.score import digits
from mtagent.formats.ratings import FINAL, GIVEN, ratings_of_texts, systems_of, texts_of
from mtagent.records import Chain, Rating, Severity, Stage, Usage
from mtagent.report.fates import KINDS, OUTCOMES, Fate, Kind, edit_fate, fate, final_fate, idle_fate
from mtagent.text.mqm import SEVERITIES

SHOWN = 10
"""Segments in each list of examples."""
_DIGITS = 9  # -0.2 is better than -0.3 by 0.1, though not in binary


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


class FlowCount:
    """Counts the fates of segments and edits, chain by chain."""

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        """The first segments that failed."""
        self._fates = {stage: Counter[Fate]() for stage in (*get_args(Stage), FINAL)}
        self._edits = {stage: Counter[str]() for stage in self._fates}
        self._segments = self._given = 0

    def add(self, chain: Chain) -> None:
        """Count the steps of ``chain``."""
        steps = chain.by_stage()
        for stage in get_args(Stage):
            self._fates[stage][fate(steps[stage]) if stage in steps else idle_fate(chain, stage)] += 1
            self._edits[stage].update(map(edit_fate, steps[stage].edits if stage in steps else ()))
        self._fates[FINAL][final_fate(chain)] += 1
        self._segments += 1
        self._given += chain.segment.translation is not None
        if (failed := chain.failed) is not None and len(self.failures) < SHOWN:
            self.failures.append(Failure(chain.segment.id, failed.stage, failed.reason))

    def figure(self) -> Flow:
        """What was counted. A stage that ran nowhere is left out."""
        kinds, outcomes, stages = list(KINDS), list(OUTCOMES.values()), []
        for stage, fates in self._fates.items():
            groups = sorted(fates.items(), key=lambda item: (kinds.index(item[0].kind), -item[1], item[0].reason))
            edits = sorted(
                self._edits[stage].items(),
                key=lambda item: (
                    next(i for i, words in enumerate(outcomes) if item[0].startswith(words)),
                    -item[1],
                    item[0],
                ),
            )
            if any(kind != "idle" for kind, _ in fates):
                own = (Group(kind, reason, number) for (kind, reason), number in groups)
                stages.append(StageFlow(stage, tuple(own), tuple(edits)))
        return Flow(self._segments, self._given, tuple(stages))


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
        return {s: sum(severities.get(s, 0) for severities in self.errors.values()) for s in reversed(SEVERITIES)}

    def per_hundred(self, category: str) -> float:
        """Errors of ``category`` per 100 texts whose errors were marked; 0 where none were."""
        return 100 * sum(self.errors.get(category, {}).values()) / self.marked if self.marked else 0.0


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
            category = " ".join(error.category.casefold().replace("_", " ").split()) or "unnamed"
            self.errors.setdefault(category, Counter())[error.severity] += 1

    def figure(self, stage: str, segments: int) -> StageMarks:
        return StageMarks(
            stage,
            segments,
            self.rated,
            self.marked,
            self.error_free,
            self.scores / self.rated if self.rated else None,
            {name: dict(severities) for name, severities in self.errors.items()},
            self.source_errors,
        )


_TEXTS = (GIVEN, *get_args(Stage), FINAL)


class MarksCount:
    """Counts marked errors, chain by chain. A rating counts for each stage whose text is the one that was rated."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], dict[str, _Count]] = {}
        self._segments, self._ran = 0, set[str]()

    def add(self, chain: Chain) -> None:
        """Count the ratings of the texts of ``chain``; of two of one text by one evaluator the first."""
        self._ran.update(systems_of([chain]))
        texts = texts_of(chain, _TEXTS)
        self._segments += chain.given is not None
        first = {
            (rating.evaluator, rating.signature, text): rating for text, rating in reversed(ratings_of_texts(chain))
        }
        for (evaluator, signature, rated), rating in first.items():
            stages = self._counts.setdefault((evaluator, signature), {})
            for stage in (stage for stage, text in texts.items() if text == rated):
                stages.setdefault(stage, _Count()).add(rating)

    def figures(self) -> tuple[Marks, ...]:
        """What was counted, an entry for each evaluator and signature. A stage that ran nowhere is left out."""
        ran = [stage for stage in _TEXTS if stage in self._ran]
        return tuple(
            Marks(
                evaluator,
                signature,
                any(count.marked for count in counts.values()),
                tuple(counts.get(stage, _Count()).figure(stage, self._segments) for stage in ran),
            )
            for (evaluator, signature), counts in self._counts.items()
        )


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


def spreads(comparison: Comparison) -> tuple[Spread, ...]:
    """One for each row that has a former one; none where no metric decides."""
    at, rows = comparison.place, {row.name: row for row in comparison.rows}
    if at is None:
        return ()
    pairs = [(row, rows[row.former]) for row in comparison.rows if row.former in rows]
    return tuple(
        _spread(comparison.segments, row, former, at)
        for row, former in pairs
        if len(row.cells) > at and len(former.cells) > at
    )


def _spread(segments: Sequence[str], row: Row, former: Row, at: int) -> Spread:
    after, before = row.cells[at], former.cells[at]
    changes = differences(after, before)
    known = [value for value in changes if math.isfinite(value)]
    sign = 1 if after.score.higher_is_better else -1
    same = [text == other for text, other in zip(row.texts, former.texts, strict=True)]
    losses = sorted((sign * value, i) for i, value in enumerate(changes) if sign * value < 0)
    return Spread(
        row=row.name,
        former=former.name,
        metric=after.score.metric,
        higher_is_better=after.score.higher_is_better,
        better=sum(sign * value > 0 for value in known),
        equal=sum(value == 0 for value in known),
        same_text=sum(value == 0 and alike for value, alike in zip(changes, same, strict=True)),
        worse=len(losses),
        unknown=len(changes) - len(known),
        mean=math.fsum(known) / len(known) if known else None,
        quantiles=tuple(float(value) for value in np.quantile(known, QUANTILES)) if known else (),
        bins=histogram(known),
        worst=tuple(
            Change(segments[i], before.score.segments[i], after.score.segments[i], changes[i])
            for _, i in losses[:SHOWN]
        ),
        digits=digits((before.score, after.score)),
    )


def differences(after: Cell, before: Cell) -> list[float]:
    """The difference of each segment, the noise of its last digits rounded away."""
    pairs = zip(after.score.segments, before.score.segments, strict=True)
    return [round(new - old, _DIGITS) if math.isfinite(new - old) else math.nan for new, old in pairs]


def histogram(values: Sequence[float]) -> tuple[Bin, ...]:
    """Bins of one width over all ``values`` but zero, the same on both sides of it.

    The width is 1, 2, 2.5 or 5 times a power of ten.
    """
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ()
    covered = sizes[math.ceil(_COVERED * len(sizes)) - 1]
    step = covered / _BINS
    power = 10.0 ** math.floor(math.log10(step))
    width = _clean(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9)))
    last = max(1, math.ceil(round(covered / width, _DIGITS)))
    numbers = [int(math.copysign(min(last, math.ceil(abs(value) / width)), value)) for value in values if value]
    counts, low, high = Counter(numbers), min(values), max(values)
    bins = []
    for number in (n for n in range(-last, last + 1) if n and min(0, *numbers) <= n <= max(0, *numbers)):
        start, end = sorted((_clean(number * width), _clean((number - math.copysign(1, number)) * width)))
        if number == -last and low < start:
            bins.append(Bin(low, end, counts[number], open=True))
        elif number == last and high > end:
            bins.append(Bin(start, high, counts[number], open=True))
        else:
            bins.append(Bin(start, end, counts[number]))
    return tuple(bins)


def _clean(value: float) -> float:
    """``value`` without the noise of its last digits, at any size."""
    return float(f"{value:.12g}")


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


def costs(comparison: Comparison) -> Costs | None:
    """The points of all rows by the deciding metric; ``None`` where no metric decides.

    The texts as given took nothing, the final ones all that their run took; nobody knows what a file took.
    """
    at = comparison.place
    if at is None or not comparison.rows:
        return None
    spent: dict[str, Usage] = {}
    points, scores = [], []
    for row in comparison.rows:
        cell = row.cells[at] if len(row.cells) > at else None
        usage = Usage() if row.stage == GIVEN else None
        if usage is None and row.run is not None and row.cost is not None:
            before = Usage() if row.stage == FINAL else spent.get(row.run, Usage())
            usage = spent[row.run] = before + row.cost.usage
        scores += [cell.score] if cell else []
        points.append(
            Point(
                row.name,
                row.run,
                row.stage,
                cell.score.value if cell and math.isfinite(cell.score.value) else None,
                None if usage is None else usage.cost,
                None if usage is None else usage.input_tokens + usage.output_tokens,
                cell.interval.half_width if cell and cell.interval else None,
            )
        )
    known = [point for point in points if point.tokens is not None]
    priced = all(point.dollars is not None for point in known) and any(point.dollars for point in known)
    better = scores[0].higher_is_better if scores else True
    return Costs(comparison.metrics[at], better, "dollars" if priced else "tokens", tuple(points), digits(scores))


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
    """Finds the most costly segments, one after the other: by dollars; where any price is unknown, by tokens."""

    def __init__(self, most: int = SHOWN) -> None:
        self._most, self._unknown = most, False
        self._by_dollars: list[Costly] = []
        self._by_tokens: list[Costly] = []

    def add(self, segment: Costly) -> None:
        """Look at one more segment; one that took no call is none of them."""
        if segment.usage.calls:
            self._unknown = self._unknown or segment.usage.cost is None
            by_dollars, by_tokens = [*self._by_dollars, segment], [*self._by_tokens, segment]
            self._by_dollars = heapq.nlargest(
                self._most, by_dollars, key=lambda item: (item.usage.cost or 0, item.tokens)
            )
            self._by_tokens = heapq.nlargest(self._most, by_tokens, key=lambda item: item.tokens)

    def figures(self) -> tuple[Costly, ...]:
        """The most costly ones, the first of equals first."""
        return tuple(self._by_tokens if self._unknown else self._by_dollars)


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

    def whole_way(self, run: str, comparison: Comparison | None) -> Spread | None:
        """The differences on the whole way of ``run``; of its last stage where there are none of its final texts."""
        own = {row.name for row in comparison.rows if row.run == run} if comparison else set()
        return next((spread for spread in reversed(self.spreads) if spread.row in own), None)


class FiguresCount:
    """Counts chains, one after the other, for the figures of their run."""

    def __init__(self) -> None:
        self._flow, self._marks, self._costly = FlowCount(), MarksCount(), CostlyCount()

    def passing(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """``chains``, each counted as it passes."""
        for chain in chains:
            self._flow.add(chain)
            self._marks.add(chain)
            self._costly.add(Costly(chain.segment.id, chain.usage, sum(step.seconds for step in chain.steps)))
            yield chain

    def figures(self, comparison: Comparison | None = None) -> Figures:
        """The figures of all chains so far."""
        return Figures(
            flow=self._flow.figure(),
            marks=self._marks.figures(),
            spreads=spreads(comparison) if comparison else (),
            costs=costs(comparison) if comparison else None,
            costly=self._costly.figures(),
            failures=tuple(self._flow.failures),
        )


def figures(chains: Iterable[Chain], comparison: Comparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    count = FiguresCount()
    for _ in count.passing(chains):
        pass
    return count.figures(comparison)
