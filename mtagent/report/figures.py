"""The numbers behind the tables, the page and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` means that there is no such number.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import numpy as np

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.score import digits
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED, ratings_of_texts, systems_of, texts_of
from mtagent.records import GAIN_DIGITS, Chain, Rating, Score, Severity, Stage, Usage
from mtagent.report.fates import KINDS, OUTCOMES, Fate, Kind, edit_fate, fate, final_fate, idle_fate
from mtagent.text.mqm import SEVERITIES

SHOWN = 10
"""Segments in each list of examples."""


class Group(NamedTuple):
    """Segments of one stage with the same fate."""

    kind: Kind
    reason: str
    segments: int


@dataclass(frozen=True)
class StageFlow:
    """One stage: its groups, which add up to all segments, and its edits by outcome.

    ``stage`` is ``final`` for the run as a whole. If a stage ran twice on a segment, its last step counts.
    """

    stage: str
    groups: tuple[Group, ...]
    edits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Flow:
    """What became of all segments, stage by stage.

    ``given`` segments came with a translation, the run translated ``translated``. ``changed`` segments end with another
    text than they began with; in ``failed`` ones a stage failed.
    """

    segments: int
    given: int
    stages: tuple[StageFlow, ...]
    translated: int = 0
    changed: int = 0
    failed: int = 0


@dataclass(frozen=True)
class FailedSegment:
    """A segment in which a stage failed, with the error message."""

    segment: str
    stage: str
    reason: str


@dataclass(frozen=True)
class StageMarks:
    """The errors in the texts after one stage.

    Of ``segments`` texts ``rated`` were rated, ``marked`` of them with error spans; ``error_free`` of these have no
    error, or only neutral ones. ``errors`` counts by category, then by severity, without errors in the source, which
    are counted in ``source_errors``. ``mean`` is the mean score of the rated texts.
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
        """The number of errors of each severity, most severe first."""
        return {s: sum(severities.get(s, 0) for severities in self.errors.values()) for s in reversed(SEVERITIES)}

    def per_hundred(self, category: str) -> float:
        """Errors of ``category`` per 100 marked texts; 0 if no text was marked."""
        return 100 * sum(self.errors.get(category, {}).values()) / self.marked if self.marked else 0.0


@dataclass(frozen=True)
class Marks:
    """What one evaluator marked, stage by stage. ``spans``: whether it marks error spans at all."""

    evaluator: str
    signature: str
    spans: bool
    stages: tuple[StageMarks, ...]

    def rated(self, stage: StageMarks) -> int:
        """How many texts of ``stage`` the numbers are based on."""
        return stage.marked if self.spans else stage.rated

    def comparable(self) -> list[StageMarks]:
        """The stages with at least as many rated texts as the first rated stage.

        Where a gate's judge does not rate new texts, only the texts that a later stage left alone are rated: their
        error rate says which texts were left alone, and nothing about the stage.
        """
        first = next((rated for stage in self.stages if (rated := self.rated(stage))), 0)
        return [stage for stage in self.stages if self.rated(stage) >= max(first, 1)]


@dataclass
class _StageCount:
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


_BINS = 8
"""Bins on each side of zero, about."""
_COVERED = 0.98
"""The share of the differences that the bins cover; the outermost ones take what lies beyond."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Bin:
    """Segments whose difference is above ``low`` up to ``high`` (gains), or from ``low`` to below ``high`` (losses).

    ``open``: an outermost bin, which reaches to the largest difference.
    """

    low: float
    high: float
    segments: int
    open: bool = False


@dataclass(frozen=True)
class Change:
    """One segment's score before and after."""

    segment: str
    former: float
    score: float
    difference: float


@dataclass(frozen=True)
class Spread:
    """The differences between ``row`` and ``former`` by ``metric``, segment by segment.

    ``better + equal + worse + unknown`` is the number of segments. ``same_text`` of the ``equal`` segments have the
    same text; ``unknown`` ones have no finite score. ``bins`` hold the segments that are better or worse. ``quantiles``
    are those of all known differences at :data:`QUANTILES`. ``worst`` starts with the largest loss. ``digits`` is the
    precision that suits the metric.
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


def spreads(comparison: RunComparison) -> tuple[Spread, ...]:
    """One for each row that has a former row; empty if nothing is scored."""
    place, rows = comparison.place, {row.name: row for row in comparison.rows}
    if place is None:
        return ()
    result = []
    for row in comparison.rows:
        former = rows.get(row.former or "")
        if former is None or min(len(row.cells), len(former.cells)) <= place:
            continue
        after, before = row.cells[place].score, former.cells[place].score
        changes = differences(after, before)
        known = [value for value in changes if math.isfinite(value)]
        sign = 1 if after.higher_is_better else -1
        same_text = [text == other for text, other in zip(row.texts, former.texts, strict=True)]
        losses = sorted((sign * value, i) for i, value in enumerate(changes) if sign * value < 0)
        worst = (
            Change(comparison.segments[i], before.segments[i], after.segments[i], changes[i]) for _, i in losses[:SHOWN]
        )
        spread = Spread(
            row=row.name,
            former=former.name,
            metric=after.metric,
            higher_is_better=after.higher_is_better,
            better=sum(sign * value > 0 for value in known),
            equal=sum(value == 0 for value in known),
            same_text=sum(value == 0 and same for value, same in zip(changes, same_text, strict=True)),
            worse=len(losses),
            unknown=len(changes) - len(known),
            mean=math.fsum(known) / len(known) if known else None,
            quantiles=tuple(float(value) for value in np.quantile(known, QUANTILES)) if known else (),
            bins=histogram(known),
            worst=tuple(worst),
            digits=digits((before, after)),
        )
        result.append(spread)
    return tuple(result)


def differences(after: Score, before: Score) -> list[float]:
    """The difference of each segment, without floating-point noise."""
    pairs = zip(after.segments, before.segments, strict=True)
    return [round(new - old, GAIN_DIGITS) if math.isfinite(new - old) else math.nan for new, old in pairs]


def histogram(values: Sequence[float]) -> tuple[Bin, ...]:
    """Bins of equal width over all ``values`` except zero. The width is 1, 2, 2.5 or 5 times a power of ten."""
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ()
    covered = sizes[math.ceil(_COVERED * len(sizes)) - 1]
    step = covered / _BINS
    power = 10.0 ** math.floor(math.log10(step))
    width = _clean(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9)))
    last = max(1, math.ceil(round(covered / width, GAIN_DIGITS)))
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
    """``value`` without floating-point noise, at any size."""
    return float(f"{value:.12g}")


@dataclass(frozen=True)
class Costly:
    """What one segment cost."""

    segment: str
    usage: Usage
    seconds: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.usage.input_tokens + self.usage.output_tokens


@dataclass(frozen=True)
class Figures:
    """All figures of a run.

    ``marks`` has an entry for each evaluator, ``spreads`` one for each row of the comparison that has a former row.
    ``costly`` and ``failures`` hold at most :data:`SHOWN` segments; ``flow`` counts them all.
    """

    flow: Flow
    marks: tuple[Marks, ...] = ()
    spreads: tuple[Spread, ...] = ()
    costly: tuple[Costly, ...] = ()
    failures: tuple[FailedSegment, ...] = ()

    def whole_way(self, run: str, comparison: RunComparison | None) -> Spread | None:
        """The differences between the first and the last texts of ``run``; of its last stage if there are no others."""
        own = {row.name for row in comparison.rows if row.run == run} if comparison else set()
        return next((spread for spread in reversed(self.spreads) if spread.row in own), None)


_TEXTS = (GIVEN, *get_args(Stage), FINAL, REVIEWED)


class FiguresCount:
    """Counts chains, one after the other, for the figures of their run.

    A rating counts for every stage whose text is the rated text; of two ratings of a text by one evaluator the first
    counts. The most costly segments are ranked by dollars, or by tokens if any price is unknown.
    """

    def __init__(self) -> None:
        self._segments = self._given = self._with_text = 0
        self._translated = self._changed = self._failed = 0
        self._fates = {stage: Counter[Fate]() for stage in (*get_args(Stage), FINAL)}
        self._edits = {stage: Counter[str]() for stage in self._fates}
        self._failures: list[FailedSegment] = []
        self._stages = set[str]()
        self._marks: dict[tuple[str, str], dict[str, _StageCount]] = {}
        self._unpriced = False
        self._by_dollars: list[Costly] = []
        self._by_tokens: list[Costly] = []

    def passing(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """``chains``, each counted as it passes."""
        for chain in chains:
            self._segments += 1
            self._given += chain.segment.translation is not None
            self._count_fates(chain)
            self._count_marks(chain)
            usage = chain.usage
            if usage.calls:
                costly = Costly(chain.segment.id, usage, sum(step.seconds for step in chain.steps))
                self._unpriced = self._unpriced or usage.cost is None
                self._by_dollars = heapq.nlargest(
                    SHOWN, [*self._by_dollars, costly], key=lambda item: (item.usage.cost or 0, item.tokens)
                )
                self._by_tokens = heapq.nlargest(SHOWN, [*self._by_tokens, costly], key=lambda item: item.tokens)
            yield chain

    def _count_fates(self, chain: Chain) -> None:
        steps = chain.by_stage()
        for stage in get_args(Stage):
            self._fates[stage][fate(steps[stage]) if stage in steps else idle_fate(chain, stage)] += 1
            self._edits[stage].update(map(edit_fate, steps[stage].edits if stage in steps else ()))
        self._fates[FINAL][final_fate(chain)] += 1
        self._translated += any(step.stage == "translate" and step.verdict == "kept" for step in chain.steps)
        self._changed += chain.changed
        if (failed := chain.failed) is not None:
            self._failed += 1
            if self._failed <= SHOWN:
                self._failures.append(FailedSegment(chain.segment.id, failed.stage, failed.reason))

    def _count_marks(self, chain: Chain) -> None:
        self._with_text += chain.given is not None
        self._stages.update(systems_of([chain]))
        texts = texts_of(chain, _TEXTS)
        first = {
            (rating.evaluator, rating.signature, text): rating for text, rating in reversed(ratings_of_texts(chain))
        }
        for (evaluator, signature, rated), rating in first.items():
            counts = self._marks.setdefault((evaluator, signature), {})
            for stage in (stage for stage, text in texts.items() if text == rated):
                counts.setdefault(stage, _StageCount()).add(rating)

    def figures(self, comparison: RunComparison | None = None) -> Figures:
        """The figures of all chains so far, without stages that never ran."""
        kinds, outcomes = list(KINDS), list(OUTCOMES.values())

        def outcome_order(item: tuple[str, int]) -> tuple[int, int, str]:
            return next(i for i, words in enumerate(outcomes) if item[0].startswith(words)), -item[1], item[0]

        flows = []
        for stage, fates in self._fates.items():
            if any(kind != "idle" for kind, _ in fates):
                groups = sorted(fates.items(), key=lambda item: (kinds.index(item[0].kind), -item[1], item[0].reason))
                edits = sorted(self._edits[stage].items(), key=outcome_order)
                flows.append(StageFlow(stage, tuple(Group(*fate, number) for fate, number in groups), tuple(edits)))
        ran = [stage for stage in _TEXTS if stage in self._stages]
        marks = [
            Marks(
                evaluator,
                signature,
                any(count.marked for count in counts.values()),
                tuple(counts.get(stage, _StageCount()).figure(stage, self._with_text) for stage in ran),
            )
            for (evaluator, signature), counts in self._marks.items()
        ]
        return Figures(
            flow=Flow(self._segments, self._given, tuple(flows), self._translated, self._changed, self._failed),
            marks=tuple(marks),
            spreads=spreads(comparison) if comparison else (),
            costly=tuple(self._by_tokens if self._unpriced else self._by_dollars),
            failures=tuple(self._failures),
        )


def figures(chains: Iterable[Chain], comparison: RunComparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    count = FiguresCount()
    for _ in count.passing(chains):
        pass
    return count.figures(comparison)
