"""The agreement of several evaluators with people, as ``mtagent meta-eval`` computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from mtagent.analysis.agreement import (
    CORRELATIONS,
    PERMUTATIONS,
    STATISTICS,
    Averaging,
    Level,
    Missing,
    Name,
    PairedScores,
    Scale,
    Statistic,
    accuracy,
    kendall,
    mean_absolute_error,
    mean_squared_error,
    pearson,
    signed,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from mtagent.analysis.compared_rows import GROUPINGS, Grouping, grouped
from mtagent.analysis.error_spans import (
    CHARACTERS,
    MEASURES,
    THRESHOLDS,
    Measure,
    Outside,
    SegmentErrors,
    SpanGrouping,
    SpanPairs,
    SpanRules,
    SpanScore,
    Unlocated,
    by_group,
    matching,
    score,
    segment_counts,
    span_pairs,
)
from mtagent.analysis.intervals import Bootstrap, Draws, interval, resampled, resampled_spans
from mtagent.analysis.matching import LEAVE_OUT, Match
from mtagent.analysis.permutation import Contest, TaskRanking, Test, Unit, contest, rank_tasks
from mtagent.analysis.scores import SegmentInfo, Side, joined_about
from mtagent.analysis.ties import Floats
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import SEED, Bounds
from mtagent.records import comparable
from mtagent.text.amounts import first_of

_SYS = "sys-"
_SEGMENT_TESTS: tuple[Name, ...] = ("pearson", "spearman", "kendall", "acc-t")
TESTED = ("acc", *(f"{_SYS}{name}" for name in CORRELATIONS), *_SEGMENT_TESTS)
"""What can be tested: ``acc`` and ``sys-`` at the level of systems, the others at the level of segments."""
TESTED_AVERAGES = tuple(f"{name}:{averaging}" for name in _SEGMENT_TESTS for averaging in get_args(Averaging))
"""Statistics of segments with the only averaging to test."""
_AverageKey = tuple[Level | Literal["span"], Averaging, str, str]
Samples = Mapping[str, Floats]
"""The values of resamples, by statistic."""
SPAN_GROUPINGS: tuple[SpanGrouping, ...] = get_args(SpanGrouping)
RATES = ("precision", "recall", "f1", "macro_f1")
"""The fields of :class:`SpanScore` that are compared and averaged."""
FEW = 5
"""Systems below which their level means little."""
_SHOWN = 3
"""How many names a warning lists."""


@dataclass(frozen=True)
class MetaEvalSettings:
    """What to compute."""

    levels: tuple[Level | Literal["span"], ...] = ("sys", "seg", "span")
    averaging: tuple[Averaging, ...] = ()
    """Of segments. Empty: over all scores, and by item where there are several systems."""
    distance: Scale | None = None
    """Adds mean absolute and mean squared errors, of plain or scaled scores."""
    tests: tuple[str, ...] = ()
    """Statistics by which the evaluators are tested against each other, of ``TESTED`` and ``TESTED_AVERAGES``."""
    unit: Unit = "score"
    permutations: int = PERMUTATIONS
    seed: int = SEED
    by: tuple[Grouping | SpanGrouping, ...] = ()
    """Groupings of segments or of error spans."""
    unlocated: Unlocated = "miss"
    outside: Outside = "leave-out"
    """Both as in :class:`SpanRules`."""
    bootstrap: Bootstrap | None = None
    """Adds intervals."""


class LevelResult(NamedTuple):
    """The statistics of one evaluator at one level, with ``samples`` of those that have an interval."""

    evaluator: str
    level: Level
    averaging: Averaging
    grouping: Grouping | None
    part: str | None
    """The part of ``grouping`` that the segments are in; both are ``None`` for all segments."""
    given: bool
    """The scores of systems come from a file, and are not means over segments."""
    statistics: tuple[Statistic, ...]
    samples: Samples


class SpanResult(NamedTuple):
    """A score of one evaluator's error spans."""

    kind: str
    """The measure, the threshold of matches, or the severity or category."""
    evaluator: str
    score: SpanScore
    items: tuple[str, ...]
    """The segments of the translations."""
    samples: Samples


class AgreementDifference(NamedTuple):
    """By how much one evaluator agrees better with people than another, on what both have rated."""

    level: Level | Literal["span"]
    averaging: Averaging
    statistic: str
    """Of error spans: the measure, and the rate."""
    better: str
    worse: str
    value: float
    """The statistic of ``better`` minus that of ``worse``."""
    interval: Bounds | None
    p_value: float | None
    """One-sided, by permutation; ``None`` if it was not tested."""
    holm: float | None
    """``p_value``, corrected for the number of tested pairs."""


@dataclass(frozen=True)
class SpanLevel:
    """All scores of spans."""

    measures: tuple[SpanResult, ...]
    thresholds: tuple[SpanResult, ...]
    """F1 and the like of matches, for each threshold of overlap."""
    groups: dict[SpanGrouping, tuple[SpanResult, ...]]
    """By severity or category."""


class Rater(NamedTuple):
    """Who scored, and what the scores depend on."""

    name: str
    signature: str


@dataclass(frozen=True)
class MetaEvaluation:
    """How well evaluators agree with people."""

    human: Rater
    evaluators: tuple[Rater, ...]
    results: tuple[LevelResult, ...]
    contests: tuple[Contest, ...]
    spans: SpanLevel | None
    leads: tuple[AgreementDifference, ...]
    """The differences of evaluators that are tested or have an interval."""
    resampling: str | None
    """The signature of the intervals."""
    warnings: tuple[str, ...]
    """What makes the numbers doubtful."""


def agreement(matches: Sequence[Match], settings: MetaEvalSettings) -> MetaEvaluation:
    """Compute what ``settings`` ask for, of evaluators that were matched with the same people.

    Raises :class:`InputError` where nothing can be compared at a level, or where no file tells the parts of segments.
    """
    human = matches[0].human
    draws = None
    if settings.bootstrap is not None:
        draws = _draws(matches, settings.bootstrap)
    results = tuple(_results(matches, settings, draws))
    if not results and settings.levels != ("span",):
        raise InputError(f"{human.origin}: no translation has both a score of an evaluator and one of people")
    contests = tuple(_contests(matches, settings))
    marking = [match for match in matches if match.marked]
    spans = None
    if marking and "span" in settings.levels:
        spans = _span_level(marking, settings, draws)
    whole_results = [result for result in results if result.part is None]
    leads = list(_leads(matches, settings, draws, whole_results, contests))
    if spans and draws:
        leads += _span_leads(spans)
    return MetaEvaluation(
        human=Rater(human.name, human.signature),
        evaluators=tuple(Rater(match.name, match.evaluator.signature) for match in matches),
        results=results,
        contests=contests,
        spans=spans,
        leads=tuple(leads),
        resampling=draws.signature if draws else None,
        warnings=tuple(_warnings(matches, whole_results)),
    )


def _draws(matches: Sequence[Match], bootstrap: Bootstrap) -> Draws:
    """The resamples of all segments that an evaluator and people have. Raises :class:`InputError` without documents."""
    infos = _infos(matches)
    units = {}
    for item, info in infos.items():
        units[item] = item
        if bootstrap.unit == "document":
            if info.document is None:
                raise InputError(
                    f"--resample document: no file has the document of segment {item!r}; give a column with it "
                    "(document), or use --resample segment"
                )
            units[item] = f"{info.domain or ''}/{info.document}"
    if len({*units.values()}) < 2:
        raise ConfigError(
            f"--resample {bootstrap.unit}: all scores are from one {bootstrap.unit}, but intervals need several; leave "
            "the option out"
        )
    return Draws(units, bootstrap)


def averagings(matches: Sequence[Match], settings: MetaEvalSettings) -> tuple[Averaging, ...]:
    """The averagings of the settings; by default also by item where there are several systems to compare."""
    if settings.averaging:
        return settings.averaging
    if any(len(match.human.names()) > 1 for match in matches):
        return ("none", "item")
    return ("none",)


def _levels(matches: Sequence[Match], settings: MetaEvalSettings) -> list[tuple[Level, Averaging]]:
    levels: list[tuple[Level, Averaging]] = []
    if "sys" in settings.levels:
        levels.append(("sys", "none"))
    if "seg" in settings.levels:
        for averaging in averagings(matches, settings):
            levels.append(("seg", averaging))
    return levels


def _results(matches: Sequence[Match], settings: MetaEvalSettings, draws: Draws | None) -> Iterator[LevelResult]:
    groupings = sorted({*GROUPINGS} & {*settings.by}, key=settings.by.index)
    for grouping in (None, *groupings):
        matches_by_part: list[tuple[str | None, Match]] = []
        if grouping is None:
            for match in matches:
                matches_by_part.append((None, match))
        else:
            for name, items in _parts(matches, grouping):
                for match in matches:
                    matches_by_part.append((name, match.of_items(items)))
        for level, averaging in _levels(matches, settings):
            for part, match in matches_by_part:
                given = level == "sys" and match.given_systems
                systems = match.systems() if level == "sys" else None
                segments = match.segments()
                statistics = _statistics(level, averaging, segments, systems, settings.distance)
                if not statistics:
                    continue
                samples: Samples = {}
                if draws is not None and segments is not None:
                    # Scores that were given for whole systems do not depend on segments; SPA does.
                    sampled = [statistic for statistic in statistics if statistic.name == "spa" or not given]
                    samples = _samples(sampled, segments, settings.distance, draws)
                    statistics = _with_intervals(statistics, samples)
                yield LevelResult(match.name, level, averaging, grouping, part, given, tuple(statistics), samples)


def _statistics(
    level: Level,
    averaging: Averaging,
    segments: PairedScores | None,
    systems: PairedScores | None,
    distance: Scale | None,
) -> list[Statistic]:
    """All statistics of a level; none where it has no scores."""
    statistics = []
    if level == "sys":
        if systems is None:
            return []
        acc = accuracy(systems)
        if segments is not None:
            spa = soft_pairwise_accuracy(segments)
        else:
            spa = replace(
                acc,
                name="spa",
                value=None,
                epsilon=None,
                undefined="there are no scores of segments",
                signature=signed("spa", systems),
            )
        return [acc, spa, pearson(systems), spearman(systems), kendall(systems)]
    if segments is None:
        return []
    for name, compute in STATISTICS.items():
        if name != "acc":  # with segments, ties are always calibrated
            statistics.append(compute(segments, averaging))
    if distance is not None:
        statistics.append(mean_absolute_error(segments, distance))
        statistics.append(mean_squared_error(segments, distance))
    return statistics


def _samples(
    statistics: Sequence[Statistic], segments: PairedScores, distance: Scale | None, draws: Draws
) -> dict[str, Floats]:
    samples = {}
    for statistic in statistics:
        if statistic.value is not None:
            samples[statistic.name] = resampled(segments, statistic, draws, distance or "none")
    return samples


def _with_intervals(statistics: Sequence[Statistic], samples: Samples) -> list[Statistic]:
    with_intervals = []
    for statistic in statistics:
        if statistic.name in samples:
            statistic = replace(statistic, interval=interval(samples[statistic.name]))
        with_intervals.append(statistic)
    return with_intervals


def _infos(matches: Sequence[Match]) -> dict[str, SegmentInfo]:
    """What all files know about the segments."""
    sides: list[Side] = []
    for match in matches:
        sides += (match.human, match.evaluator)
    known = joined_about(sides)
    infos: dict[str, SegmentInfo] = {}
    for match in matches:
        for key, _, _ in match.translations():
            infos[key.item] = known.get(key.item, SegmentInfo())
    return infos


def _parts(matches: Sequence[Match], grouping: Grouping) -> list[tuple[str, list[str]]]:
    """The names of the parts, each with its items."""
    infos = _infos(matches)
    if grouping == "length":
        for item, info in infos.items():
            if info.source is None:
                raise InputError(f"--by length: no file has the source of segment {item!r}")
            if info.source_lang is None:
                missing = "source language (a column source_lang or lp)"
                raise InputError(f"--by length: no file has the {missing} of segment {item!r}")
    elif not any(getattr(info, grouping) for info in infos.values()):
        raise InputError(f"--by {grouping}: no file has a column with the {grouping} of segments")
    segments = [info.segment(item) for item, info in infos.items()]
    parts = []
    for name, places in grouped(grouping, segments):
        parts.append((name, [segments[place].id for place in places]))
    return parts


# --- several language pairs


class Average(NamedTuple):
    """The mean of a statistic over language pairs, each counting alike; ``None`` if it is undefined in one of them."""

    evaluator: str
    level: Level | Literal["span"]
    averaging: Averaging
    statistic: str
    """Of error spans: the measure, and the rate."""
    value: float | None
    interval: Bounds | None
    pairs: int
    """Language pairs that have the statistic."""


@dataclass(frozen=True)
class PairsEvaluation:
    """How well evaluators agree with people in several language pairs."""

    pairs: Mapping[str, MetaEvaluation]
    averages: tuple[Average, ...]
    ranking: TaskRanking | None
    """By all tests of all pairs."""


def agreement_by_pair(matches_by_pair: Mapping[str, Sequence[Match]], settings: MetaEvalSettings) -> PairsEvaluation:
    """Compute what ``settings`` ask for in each language pair, the means over pairs, and the ranks over all tests.

    Each pair has a seed of its own (the seed + 0, 1, 2 …), so that their samples are independent.
    Raises as :func:`agreement` does.
    """
    evaluations: dict[str, MetaEvaluation] = {}
    for place, (pair, matches) in enumerate(matches_by_pair.items()):
        bootstrap = settings.bootstrap and replace(settings.bootstrap, seed=settings.bootstrap.seed + place)
        with_seed = replace(settings, seed=settings.seed + place, bootstrap=bootstrap)
        evaluations[pair] = agreement(matches, with_seed)
    tasks = []
    for pair, evaluation in evaluations.items():
        for tested in evaluation.contests:
            tasks.append((pair, tested))
    ranking = rank_tasks(tasks) if tasks else None
    return PairsEvaluation(evaluations, tuple(_averages(list(evaluations.values()))), ranking)


def _averages(evaluations: Sequence[MetaEvaluation]) -> Iterator[Average]:
    values: dict[_AverageKey, list[float]] = {}
    samples: dict[_AverageKey, list[Floats]] = {}
    for evaluation in evaluations:
        for result in evaluation.results:
            if result.part is not None:
                continue
            for statistic in result.statistics:
                key: _AverageKey = (result.level, result.averaging, statistic.name, result.evaluator)
                values.setdefault(key, [])
                if statistic.value is not None:
                    values[key].append(statistic.value)
                if statistic.interval is not None:
                    samples.setdefault(key, []).append(result.samples[statistic.name])
        for span_result in evaluation.spans.measures if evaluation.spans else ():
            for rate in RATES:
                key = ("span", "none", f"{span_result.kind}: {rate}", span_result.evaluator)
                values.setdefault(key, []).append(getattr(span_result.score, rate))
                if rate in span_result.samples:
                    samples.setdefault(key, []).append(span_result.samples[rate])
    for key, pair_values in values.items():
        level, averaging, name, evaluator = key
        value = average_interval = None
        if len(pair_values) == len(evaluations):
            value = float(np.mean(pair_values))
        if len(samples.get(key, [])) == len(evaluations):
            average_interval = interval(np.mean(samples[key], axis=0))
        yield Average(evaluator, level, averaging, name, value, average_interval, len(pair_values))


# --- tests between evaluators


def _contests(matches: Sequence[Match], settings: MetaEvalSettings) -> Iterator[Contest]:
    if settings.tests and len(matches) < 2:
        raise ConfigError("--test compares evaluators with each other: give at least two")
    for spec in settings.tests:
        name, level, ways = _test_of(spec, averagings(matches, settings))
        scores = _contest_scores(matches, level)
        if not scores:
            what = "systems" if level == "sys" else "segments"
            raise InputError(f"--test {spec}: no {what} have scores of both an evaluator and people")
        unscored = [match.name for match in matches if match.name not in scores]
        unit = "system" if level == "sys" else settings.unit  # a system has one score, which is its own unit
        for averaging in ways:
            tested = contest(scores, Test(name, averaging, unit, settings.permutations, settings.seed))
            yield replace(tested, left_out=(*unscored, *tested.left_out))


def _test_of(spec: str, ways: tuple[Averaging, ...]) -> tuple[Name, Level, tuple[Averaging, ...]]:
    """The statistic that ``spec`` names, its level, and how to average it: in all ``ways``, or as ``spec`` tells."""
    if spec not in (*TESTED, *TESTED_AVERAGES):
        raise ConfigError(f"test {spec!r}: one of {', '.join((*TESTED, *TESTED_AVERAGES))}")
    name, _, averaging = spec.partition(":")
    statistic = cast(Name, name.removeprefix(_SYS))
    if name == "acc" or name.startswith(_SYS):
        return statistic, "sys", ("none",)
    return statistic, "seg", (cast(Averaging, averaging),) if averaging else ways


def _contest_scores(matches: Sequence[Match], level: Level) -> dict[str, PairedScores]:
    """The scores that all evaluators have in common; of systems the given ones, or means of segments, for all alike."""
    by_evaluator = _shared_scores(matches, level)
    if level == "sys":
        for evaluator, scores in by_evaluator.items():
            if scores.level == "seg":
                by_evaluator[evaluator] = replace(system_level(scores), missing=scores.missing)
    return by_evaluator


def _shared_scores(matches: Sequence[Match], level: Level) -> dict[str, PairedScores]:
    """The scores of segments that all evaluators have in common, or the given ones of systems, if all have them."""
    by_system = level == "sys" and all(match.given_systems for match in matches)
    by_evaluator: dict[str, PairedScores] = {}
    for match in matches:
        scores = match.systems() if by_system else match.segments()
        if scores:
            by_evaluator[match.name] = scores
    return in_common(by_evaluator)


def in_common(scores: Mapping[str, PairedScores]) -> dict[str, PairedScores]:
    """The scores of the translations that all evaluators have scores for. Raises :class:`InputError` without any.

    What one of them lacks was counted as missing before; here it is left out for all.
    """
    if not scores:
        return {}
    keys = {}
    for evaluator, paired_scores in scores.items():
        keys[evaluator] = [(row.system, row.item) for row in paired_scores.rows()]
    shared = set.intersection(*map(set, keys.values()))
    if not shared:
        raise InputError(
            f"{', '.join(scores)} did not all rate a common translation; --metrics chooses evaluators that have"
        )
    common = {}
    for evaluator, paired_scores in scores.items():
        mask = np.array([key in shared for key in keys[evaluator]])
        translations = len(paired_scores.systems) * len(paired_scores.items)
        common[evaluator] = replace(
            paired_scores,
            evaluator=paired_scores.evaluator[mask],
            human=paired_scores.human[mask],
            system=paired_scores.system[mask],
            item=paired_scores.item[mask],
            missing=Missing(absent=translations - len(shared)),
        )
    return common


def _leads(
    matches: Sequence[Match],
    settings: MetaEvalSettings,
    draws: Draws | None,
    results: Sequence[LevelResult],
    contests: Sequence[Contest],
) -> Iterator[AgreementDifference]:
    """The differences between all evaluators: of the tested statistics, and of all with ``draws``.

    ``results`` are for all segments.
    """
    if len(matches) < 2 or (draws is None and not contests):
        return
    tested = {(contest.level, contest.test.averaging, contest.test.statistic): contest for contest in contests}
    levels = dict.fromkeys([*_levels(matches, settings), *((level, averaging) for level, averaging, _ in tested)])
    results_by_level = {(result.evaluator, result.level, result.averaging): result for result in results}
    for level, averaging in levels:
        shared = _shared_scores(matches, level)
        statistics: dict[str, dict[str, Statistic]] = {}
        samples: dict[str, Samples] = {}
        for evaluator, scores in shared.items():
            result = results_by_level.get((evaluator, level, averaging))
            segments = scores if scores.level == "seg" else None
            # What all evaluators have rated need not be computed again.
            if result is not None and not result.given and _counted(matches, evaluator) == len(scores):
                computed, samples[evaluator] = list(result.statistics), result.samples
            else:
                systems = system_level(scores) if level == "sys" else None
                computed = _statistics(level, averaging, segments, systems, settings.distance)
                samples[evaluator] = {}
                if draws is not None and segments is not None:
                    samples[evaluator] = _samples(computed, segments, settings.distance, draws)
            statistics[evaluator] = {statistic.name: statistic for statistic in computed}
        for name in next(iter(statistics.values()), {}):
            contest = tested.get((level, averaging, name))  # type: ignore[arg-type]
            if contest is None and draws is None:
                continue
            values = {}
            for evaluator, by_name in statistics.items():
                value = by_name[name].value
                if value is not None:
                    values[evaluator] = value if by_name[name].higher_is_better else -value
            ordered = sorted(values, key=lambda evaluator: -values[evaluator])
            corrected = contest.holm() if contest else {}
            for pair in combinations(ordered, 2):
                better, worse = pair
                lead_interval = None
                if name in samples[better] and name in samples[worse]:
                    lead_interval = interval(samples[better][name] - samples[worse][name])
                difference = statistics[better][name].value - statistics[worse][name].value  # type: ignore[operator]
                p_value = contest.p_values.get(pair) if contest else None
                yield AgreementDifference(
                    level, averaging, name, *pair, difference, lead_interval, p_value, corrected.get(pair)
                )


def _counted(matches: Sequence[Match], evaluator: str) -> int:
    """How many translations have a score of ``evaluator`` and one of people."""
    for match in matches:
        if match.name == evaluator:
            return len(match.scored_rows)
    return 0


# --- error spans


def _span_level(matches: Sequence[Match], settings: MetaEvalSettings, draws: Draws | None) -> SpanLevel:
    pairs_by_evaluator = {match.name: _span_pairs(match, settings) for match in matches}

    def result(kind: str, evaluator: str, pairs: SpanPairs, measure: Measure) -> SpanResult:
        counts = segment_counts(pairs, measure)
        span_score = score(pairs, measure, counts)
        if draws is None:
            return SpanResult(kind, evaluator, span_score, pairs.items, {})
        units = np.array([draws.places[item] for item in pairs.items], dtype=np.int64)
        samples = resampled_spans(counts, units, draws)
        intervals = {rate: interval(values) for rate, values in samples.items()}
        return SpanResult(kind, evaluator, replace(span_score, intervals=intervals), pairs.items, samples)

    measures = []
    for kind, measure in MEASURES.items():
        for evaluator, pairs in pairs_by_evaluator.items():
            measures.append(result(kind, evaluator, pairs, measure))
    thresholds = []
    for evaluator, pairs in pairs_by_evaluator.items():
        for threshold in THRESHOLDS:
            thresholds.append(result(f"{threshold:g}", evaluator, pairs, matching(threshold)))
    groups: dict[SpanGrouping, tuple[SpanResult, ...]] = {}
    for grouping in sorted({*SPAN_GROUPINGS} & {*settings.by}, key=settings.by.index):
        results = []
        for evaluator, pairs in pairs_by_evaluator.items():
            for group, group_pairs in by_group(pairs, grouping).items():
                results.append(result(group, evaluator, group_pairs, CHARACTERS))
        groups[grouping] = tuple(results)
    return SpanLevel(tuple(measures), tuple(thresholds), groups)


def _span_leads(spans: SpanLevel) -> Iterator[AgreementDifference]:
    """The differences between evaluators who marked the same translations, by measure and rate."""
    for kind in MEASURES:
        results = [result for result in spans.measures if result.kind == kind]
        for rate in RATES:
            for first, second in combinations(results, 2):
                if first.items != second.items:
                    continue
                difference = getattr(first.score, rate) - getattr(second.score, rate)
                better, worse = (second, first) if difference < 0 else (first, second)
                lead_interval = interval(better.samples[rate] - worse.samples[rate])
                name = f"{kind}: {rate}"
                pair = (better.evaluator, worse.evaluator)
                yield AgreementDifference("span", "none", name, *pair, abs(difference), lead_interval, None, None)


def _span_pairs(match: Match, settings: MetaEvalSettings) -> SpanPairs:
    """The spans of both sides.

    Raises :class:`InputError` where a translation is not in the files, and where one was not annotated although none
    may be left out.
    """
    infos = joined_about((match.human, match.evaluator))
    segments = []
    for key, rating, human_rating in match.translations():
        for scored, rater in ((rating, match.evaluator.name), (human_rating, match.human.name)):
            if scored.errors is None and match.missing == "refuse":
                raise InputError(
                    f"{scored.where}: no errors of {rater} for segment {key.item!r} of system {key.system!r} (null, or "
                    f"None); [] says that it is error-free; {LEAVE_OUT}"
                )
        translation = human_rating.translation
        if translation is None:
            translation = rating.translation
        is_annotated = rating.errors is not None and human_rating.errors is not None
        if translation is None and is_annotated:
            raise InputError(
                f"{rating.where}: error spans are located in the translation, which neither this file nor "
                f"{human_rating.where} has"
            )
        source = infos.get(key.item, SegmentInfo()).source or ""
        name = f"{key.item} of {key.system}"
        sides = (human_rating.errors, rating.errors)
        segments.append(SegmentErrors(*sides, translation or "", source, name, key.item))
    return span_pairs(segments, SpanRules(match.missing, settings.unlocated, settings.outside))


# --- what makes the numbers doubtful


def _warnings(matches: Sequence[Match], results: Sequence[LevelResult]) -> Iterator[str]:
    """All that a reader should know before believing the tables; ``results`` are for all segments, without parts."""
    yield from _warnings_about_systems(matches, results)
    yield from _warnings_about_raters(matches)
    yield from _warnings_about_signs(matches, results)


def _warnings_about_systems(matches: Sequence[Match], results: Sequence[LevelResult]) -> Iterator[str]:
    """Few systems, systems left out, and means of systems over different segments."""
    system_counts = []
    given = set()
    for result in results:
        if result.level == "sys":
            system_counts.append(result.statistics[0].scores)
            if result.given:
                given.add(result.evaluator)
    if system_counts and max(system_counts) < FEW:
        yield f"level of systems: there are {max(system_counts)}, and below {FEW} its statistics mean little"
    for match in matches:
        if match.others:
            yield (
                f"{match.name}: {len(match.others)} systems that it or people did not score are left out: "
                f"{first_of(match.others, _SHOWN)}"
            )
    if not system_counts:
        return
    for match in matches:
        by_system = Counter(row.system for row in match.scored_rows)
        if match.name not in given and len(set(by_system.values())) > 1:
            items = {row.item for row in match.rows}
            systems = {row.system for row in match.rows}
            left_out = len(items) * len(systems) - by_system.total()
            yield (
                f"{match.name}: the means of systems are over different segments: {min(by_system.values())} to "
                f"{max(by_system.values())} of each have both scores (left out: {left_out})"
            )


def _warnings_about_raters(matches: Sequence[Match]) -> Iterator[str]:
    """Several raters taken for one, people's own scores, and a reference among the systems."""
    for match in matches:
        signatures = filter(None, match.evaluator.signatures)
        raters = list(dict.fromkeys(map(comparable, signatures)))
        if len(raters) > 1:
            shown = first_of(raters, _SHOWN, "; ")
            yield f"{match.name}: its scores are from {len(raters)} evaluators, taken for one: {shown}"
    for match in matches:
        if match.same_scores:
            yield f"{match.name}: its scores are people's own ({match.human.name}), every one"
        elif match.same_spans:
            yield f"{match.name}: its error spans are people's own ({match.human.name}), every one"
    for match in matches:
        reference = match.evaluator.reference
        if reference and reference in match.human.names():
            yield (
                f"{match.name}: saw the reference {reference}, which is one of the systems: --drop-systems {reference}"
            )


def _warnings_about_signs(matches: Sequence[Match], results: Sequence[LevelResult]) -> Iterator[str]:
    """Negative correlations, where lower scores are perhaps the better ones."""
    lowest: dict[str, float] = {}
    for result in results:
        for statistic in result.statistics:
            if statistic.name == "pearson" and statistic.value is not None:
                lowest[result.evaluator] = min(statistic.value, lowest.get(result.evaluator, statistic.value))
    if lowest and max(lowest.values()) < 0:
        human = matches[0].human.name
        yield f"all correlate negatively; if people's lower scores are the better ones, say --lower {human}"
    for name, correlation in lowest.items():
        if correlation < 0:
            yield f"{name}: correlates negatively; if its lower scores are the better ones, say --lower {name}"
