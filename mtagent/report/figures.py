"""The numbers behind the tables, the page and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` means that there is no such number.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, get_args

import numpy as np

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compared_rows import ComparedTexts
from mtagent.analysis.score import digits
from mtagent.chain.fates import KINDS, OUTCOMES, Fate, Kind, edit_fate, fate, final_fate, idle_fate, plain_reason
from mtagent.formats.ratings import FINAL, GIVEN, REVIEWED, ratings_of_texts, systems_of, texts_of
from mtagent.records import GAIN_DIGITS, Chain, Edit, ErrorSpan, Rating, Score, Severity, Stage, Usage, judgements_of
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
    """One stage. If it ran twice on a segment, its last step counts."""

    stage: str
    """``final`` for the run as a whole."""
    groups: tuple[Group, ...]
    """They add up to all segments."""
    edits: tuple[tuple[str, int], ...] = ()
    """The stage's edits by outcome."""


@dataclass(frozen=True)
class Flow:
    """What became of all segments, stage by stage."""

    segments: int
    given: int
    """Segments that came with a translation."""
    stages: tuple[StageFlow, ...]
    translated: int = 0
    """Segments that the run translated."""
    changed: int = 0
    """Segments that end with another text than they began with."""
    failed: int = 0
    """Segments in which a stage failed."""


@dataclass(frozen=True)
class FailedSegment:
    """A segment in which a stage failed, with the error message."""

    segment: str
    stage: str
    reason: str


@dataclass(frozen=True)
class StageMarks:
    """The errors in the texts after one stage."""

    stage: str
    segments: int
    rated: int
    marked: int
    """Rated texts whose errors are marked with spans."""
    error_free: int
    """Marked texts without errors, or with neutral ones only."""
    mean: float | None
    """The mean score of the rated texts."""
    errors: Mapping[str, Mapping[Severity, int]]
    """Errors by category, then by severity; without errors in the source."""
    source_errors: int = 0

    @cached_property
    def by_severity(self) -> dict[Severity, int]:
        """The number of errors of each severity, most severe first."""
        totals: dict[Severity, int] = dict.fromkeys(reversed(SEVERITIES), 0)
        for severities in self.errors.values():
            for severity, count in severities.items():
                totals[severity] += count
        return totals

    def per_hundred(self, category: str) -> float:
        """Errors of ``category`` per 100 marked texts; 0 if no text was marked."""
        if not self.marked:
            return 0.0
        return 100 * sum(self.errors.get(category, {}).values()) / self.marked


@dataclass(frozen=True)
class Marks:
    """What one evaluator marked, stage by stage."""

    evaluator: str
    signature: str
    spans: bool
    """Whether it marks error spans at all."""
    stages: tuple[StageMarks, ...]

    @cached_property
    def rated(self) -> dict[str, int]:
        """By stage, how many texts the numbers are based on."""
        rated = {}
        for stage in self.stages:
            rated[stage.stage] = stage.marked if self.spans else stage.rated
        return rated

    @cached_property
    def comparable(self) -> list[StageMarks]:
        """The stages with at least as many rated texts as the first rated stage.

        Where a gate's judge does not rate new texts, only the texts that a later stage left alone are rated: their
        error rate depends on which texts were left alone, not on the stage.
        """
        first = next(filter(None, self.rated.values()), 1)
        return [stage for stage in self.stages if self.rated[stage.stage] >= first]


def _category(error: ErrorSpan) -> str:
    """The category as tables write it: evaluators differ in case and spaces."""
    return " ".join(error.category.casefold().replace("_", " ").split()) or "unnamed"


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
        is_error_free = True
        for error in rating.errors:
            if error.side == "source":
                self.source_errors += 1
                continue
            if error.severity != "neutral":
                is_error_free = False
            self.errors.setdefault(_category(error), Counter())[error.severity] += 1
        self.error_free += is_error_free

    def figure(self, stage: str, segments: int) -> StageMarks:
        return StageMarks(
            stage=stage,
            segments=segments,
            rated=self.rated,
            marked=self.marked,
            error_free=self.error_free,
            mean=self.scores / self.rated if self.rated else None,
            errors={name: dict(severities) for name, severities in self.errors.items()},
            source_errors=self.source_errors,
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
    """The differences between ``row`` and ``former`` by ``metric``, segment by segment."""

    row: str
    former: str
    metric: str
    higher_is_better: bool
    better: int
    equal: int
    same_text: int
    """The ``equal`` segments whose texts are the same."""
    worse: int
    unknown: int
    """Segments without a finite score."""
    mean: float | None
    quantiles: tuple[float, ...]
    """Of all known differences, at :data:`QUANTILES`."""
    bins: tuple[Bin, ...]
    """The segments that are better or worse."""
    worst: tuple[Change, ...]
    """The largest losses, the largest first."""
    digits: int = 2
    """The precision that suits the metric."""

    @property
    def segments(self) -> int:
        """The number of segments."""
        return self.better + self.equal + self.worse + self.unknown


def spreads(comparison: RunComparison) -> tuple[Spread, ...]:
    """One for each row that has a former row; empty if nothing is scored."""
    place = comparison.place
    if place is None:
        return ()
    rows = {row.name: row for row in comparison.rows}
    result = []
    for row in comparison.rows:
        former = rows.get(row.former or "")
        if former is not None and min(len(row.cells), len(former.cells)) > place:
            result.append(_spread(comparison.segments, row, former, place))
    return tuple(result)


def _spread(segments: Sequence[str], row: ComparedTexts, former: ComparedTexts, place: int) -> Spread:
    """The differences between two rows by the metric at ``place``."""
    after, before = row.cells[place].score, former.cells[place].score
    changes = differences(after, before)
    finite = [change for change in changes if math.isfinite(change)]
    sign = 1 if after.higher_is_better else -1
    better = equal = same_text = 0
    losses = []
    for number, change in enumerate(changes):
        if sign * change > 0:
            better += 1
        elif sign * change < 0:
            losses.append((sign * change, number))
        elif change == 0:
            equal += 1
            same_text += row.texts[number] == former.texts[number]
    mean: float | None = None
    quantiles: list[float] = []
    if finite:
        mean = math.fsum(finite) / len(finite)
        quantiles = np.quantile(finite, QUANTILES).tolist()
    worst = []
    for _, number in heapq.nsmallest(SHOWN, losses):
        worst.append(Change(segments[number], before.segments[number], after.segments[number], changes[number]))
    return Spread(
        row=row.name,
        former=former.name,
        metric=after.metric,
        higher_is_better=after.higher_is_better,
        better=better,
        equal=equal,
        same_text=same_text,
        worse=len(losses),
        unknown=len(changes) - len(finite),
        mean=mean,
        quantiles=tuple(quantiles),
        bins=histogram(finite),
        worst=tuple(worst),
        digits=digits((before, after)),
    )


def differences(after: Score, before: Score) -> list[float]:
    """The difference of each segment, without floating-point noise."""
    changes = []
    for new, old in zip(after.segments, before.segments, strict=True):
        change = new - old
        changes.append(round(change, GAIN_DIGITS) if math.isfinite(change) else math.nan)
    return changes


def histogram(values: Sequence[float]) -> tuple[Bin, ...]:
    """Bins of equal width over all ``values`` except zero. The width is 1, 2, 2.5 or 5 times a power of ten."""
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ()
    covered = sizes[math.ceil(_COVERED * len(sizes)) - 1]
    step = covered / _BINS
    power = 10.0 ** math.floor(math.log10(step))
    width = step
    for factor in (1, 2, 2.5, 5, 10):
        if factor * power >= step * (1 - 1e-9):
            width = _clean(factor * power)
            break
    last = max(1, math.ceil(round(covered / width, GAIN_DIGITS)))
    # Bins are numbered from zero outwards: 1 is (0, width], -1 is [-width, 0).
    counts: Counter[int] = Counter()
    for value in values:
        if value:
            counts[int(math.copysign(min(last, math.ceil(abs(value) / width)), value))] += 1
    low, high = min(values), max(values)
    bins = []
    for number in range(min(0, *counts), max(0, *counts) + 1):
        if number == 0:
            continue
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


class EditGroup(NamedTuple):
    """Edits that correct errors of one category and severity."""

    category: str
    """Empty if the edit names no error."""
    severity: Severity | None
    applied: int
    others: int
    """Edits that are not in the text."""


@dataclass(frozen=True)
class Costly:
    """What one segment cost."""

    segment: str
    usage: Usage
    seconds: float


class JudgePair(NamedTuple):
    """How often two judges of a gate find the same text better."""

    first: str
    second: str
    same: int
    """Steps on which both prefer the text before, both the text after, or both neither."""
    steps: int
    """Steps that both judged."""


@dataclass(frozen=True)
class Figures:
    """All figures of a run."""

    flow: Flow
    marks: tuple[Marks, ...] = ()
    """One for each evaluator."""
    spreads: tuple[Spread, ...] = ()
    """One for each row of the comparison that has a former row."""
    costly: tuple[Costly, ...] = ()
    failures: tuple[FailedSegment, ...] = ()
    """Of both at most :data:`SHOWN` segments; ``flow`` counts all failures."""
    edits: tuple[EditGroup, ...] = ()
    """The edits of all stages; the most frequent category first, then the most severe errors."""
    judge_pairs: tuple[JudgePair, ...] = ()
    """Each two judges that judged the same steps, in the order in which they first appear."""

    def whole_way(self, run: str, comparison: RunComparison | None) -> Spread | None:
        """The differences between the first and the last texts of ``run``; of its last stage if there are no others."""
        if comparison is None:
            return None
        rows_of_run = {row.name for row in comparison.rows if row.run == run}
        for spread in reversed(self.spreads):
            if spread.row in rows_of_run:
                return spread
        return None


_TEXTS = (GIVEN, *get_args(Stage), FINAL, REVIEWED)
_KIND_ORDER = list(KINDS)
_OUTCOME_ORDER = list(OUTCOMES.values())


def _edit_order(edits: tuple[str, int]) -> tuple[int, int, str]:
    """Edits by outcome, then the most frequent first; the words may begin with an outcome and name a guard."""
    words, number = edits
    place = 0
    while not words.startswith(_OUTCOME_ORDER[place]):
        place += 1
    return place, -number, words


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
        self._edit_groups: dict[tuple[str, Severity | None], Counter[bool]] = {}
        self._failures: list[FailedSegment] = []
        self._stages = set[str]()
        self._marks: dict[tuple[str, str], dict[str, _StageCount]] = {}
        # Each judge is its name for people and the one that tells it apart.
        self._judge_pairs: dict[tuple[tuple[str, str], tuple[str, str]], Counter[bool]] = {}
        self._unpriced = False
        self._by_dollars: list[Costly] = []
        self._by_tokens: list[Costly] = []

    def add(self, chain: Chain) -> None:
        """Count one chain."""
        self._segments += 1
        self._given += chain.segment.translation is not None
        self._count_fates(chain)
        self._count_marks(chain)
        self._count_judge_pairs(chain)
        usage = chain.usage
        if usage.calls:
            costly = Costly(chain.segment.id, usage, sum(step.seconds for step in chain.steps))
            self._unpriced = self._unpriced or usage.cost is None
            self._by_dollars = heapq.nlargest(
                SHOWN, [*self._by_dollars, costly], key=lambda item: (item.usage.cost or 0, item.usage.tokens)
            )
            self._by_tokens = heapq.nlargest(SHOWN, [*self._by_tokens, costly], key=lambda item: item.usage.tokens)

    def _count_fates(self, chain: Chain) -> None:
        steps = chain.by_stage()
        for stage in get_args(Stage):
            step = steps.get(stage)
            if step is None:
                self._fates[stage][idle_fate(chain, stage)] += 1
            else:
                self._fates[stage][fate(step)] += 1
                self._edits[stage].update(map(edit_fate, step.edits))
                for edit in step.edits:
                    self._count_edit(edit)
        self._fates[FINAL][final_fate(chain)] += 1
        self._translated += any(step.stage == "translate" and step.verdict == "kept" for step in chain.steps)
        self._changed += chain.changed
        failed = chain.failed
        if failed is not None:
            self._failed += 1
            if self._failed <= SHOWN:
                self._failures.append(FailedSegment(chain.segment.id, failed.stage, plain_reason(failed)))

    def _count_edit(self, edit: Edit) -> None:
        group: tuple[str, Severity | None] = ("", None)
        if edit.span is not None:
            group = (_category(edit.span), edit.span.severity)
        self._edit_groups.setdefault(group, Counter())[edit.outcome == "applied"] += 1

    def _count_marks(self, chain: Chain) -> None:
        self._with_text += chain.given is not None
        self._stages.update(systems_of([chain]))
        texts = texts_of(chain, _TEXTS)
        # The first rating of a text counts: it is the last that the reversed list leaves in its place.
        ratings: dict[tuple[str, str, str], Rating] = {}
        for rated_text, rating in reversed(ratings_of_texts(chain)):
            ratings[rating.evaluator, rating.signature, rated_text] = rating
        for (evaluator, signature, rated_text), rating in ratings.items():
            counts = self._marks.setdefault((evaluator, signature), {})
            for stage, text in texts.items():
                if text == rated_text:
                    counts.setdefault(stage, _StageCount()).add(rating)

    def _count_judge_pairs(self, chain: Chain) -> None:
        for step in chain.steps:
            preferences = {}
            for judgement in judgements_of(step.cause):
                if judgement.difference is not None:
                    preferences[judgement.plain_name, judgement.judge] = np.sign(judgement.difference)
            for first, second in combinations(sorted(preferences), 2):
                agreed = self._judge_pairs.setdefault((first, second), Counter())
                agreed[bool(preferences[first] == preferences[second])] += 1

    def figures(self, comparison: RunComparison | None = None) -> Figures:
        """The figures of all chains so far, without stages that never ran."""
        flows = []
        for stage, fates in self._fates.items():
            if all(kind == "idle" for kind, _ in fates):
                continue
            groups = [Group(kind, reason, number) for (kind, reason), number in fates.items()]
            groups.sort(key=lambda group: (_KIND_ORDER.index(group.kind), -group.segments, group.reason))
            edits = sorted(self._edits[stage].items(), key=_edit_order)
            flows.append(StageFlow(stage, tuple(groups), tuple(edits)))
        ran = [stage for stage in _TEXTS if stage in self._stages]
        marks = []
        for (evaluator, signature), counts in self._marks.items():
            marks_spans = any(count.marked for count in counts.values())
            stages = [counts.get(stage, _StageCount()).figure(stage, self._with_text) for stage in ran]
            marks.append(Marks(evaluator, signature, marks_spans, tuple(stages)))
        pairs = []
        for ((first, _), (second, _)), agreed in self._judge_pairs.items():
            pairs.append(JudgePair(first, second, agreed[True], agreed.total()))
        costly = self._by_tokens if self._unpriced else self._by_dollars
        return Figures(
            flow=Flow(self._segments, self._given, tuple(flows), self._translated, self._changed, self._failed),
            marks=tuple(marks),
            spreads=spreads(comparison) if comparison else (),
            costly=tuple(costly),
            failures=tuple(self._failures),
            edits=tuple(self._sorted_edits()),
            judge_pairs=tuple(pairs),
        )

    def _sorted_edits(self) -> list[EditGroup]:
        totals = Counter[str]()
        groups = []
        for (category, severity), counts in self._edit_groups.items():
            totals[category] += counts.total()
            groups.append(EditGroup(category, severity, counts[True], counts[False]))

        def order(group: EditGroup) -> tuple[int, str, int]:
            severity = 0 if group.severity is None else SEVERITIES.index(group.severity)
            return -totals[group.category], group.category, -severity

        return sorted(groups, key=order)


def figures(chains: Iterable[Chain], comparison: RunComparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    count = FiguresCount()
    for chain in chains:
        count.add(chain)
    return count.figures(comparison)
