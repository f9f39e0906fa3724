"""The agreement of several evaluators with people, as ``mtagent meta-eval`` computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mtagent.analysis.agreement import (
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
from mtagent.analysis.compare_tables import MOST_PARTS
from mtagent.analysis.compared_rows import GROUPINGS, Grouping, grouped
from mtagent.analysis.error_spans import (
    MEASURES,
    THRESHOLDS,
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
    span_pairs,
)
from mtagent.analysis.matching import LEAVE_OUT, Match
from mtagent.analysis.permutation import Contest, Test, Unit, contest
from mtagent.analysis.scores import SegmentInfo, Side, joined_about
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import dumped
from mtagent.metrics.significance import SEED
from mtagent.records import comparable
from mtagent.text.amounts import first_of
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table

TESTED: tuple[Name, ...] = tuple(STATISTICS)
"""What can be tested: ``acc`` at the level of systems, the others at the level of segments."""
SPAN_GROUPINGS: tuple[SpanGrouping, ...] = get_args(SpanGrouping)
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
    tests: tuple[Name, ...] = ()
    """Statistics by which the evaluators are tested against each other."""
    unit: Unit = "score"
    permutations: int = PERMUTATIONS
    seed: int = SEED
    by: tuple[Grouping | SpanGrouping, ...] = ()
    """Groupings of segments or of error spans."""
    unlocated: Unlocated = "miss"
    outside: Outside = "leave-out"
    """Both as in :class:`SpanRules`."""


class LevelResult(NamedTuple):
    """The statistics of one evaluator at one level."""

    evaluator: str
    level: Level
    averaging: Averaging
    grouping: Grouping | None
    part: str | None
    """The part of ``grouping`` that the segments are in; both are ``None`` for all segments."""
    given: bool
    """The scores of systems come from a file, and are not means over segments."""
    statistics: tuple[Statistic, ...]


class SpanResult(NamedTuple):
    """A score of one evaluator's error spans."""

    kind: str
    """The measure, the threshold of matches, or the severity or category."""
    evaluator: str
    score: SpanScore


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
    warnings: tuple[str, ...]
    """What makes the numbers doubtful."""


def agreement(matches: Sequence[Match], settings: MetaEvalSettings) -> MetaEvaluation:
    """Compute what ``settings`` ask for, of evaluators that were matched with the same people.

    Raises :class:`InputError` where nothing can be compared at a level, or where no file tells the parts of segments.
    """
    human = matches[0].human
    results = tuple(_results(matches, settings))
    if not results and settings.levels != ("span",):
        raise InputError(f"{human.origin}: no translation has both a score of an evaluator and one of people")
    contests = tuple(_contests(matches, settings))
    marking = [match for match in matches if match.marked]
    spans = None
    if marking and "span" in settings.levels:
        spans = _span_level(marking, settings)
    whole_results = [result for result in results if result.part is None]
    return MetaEvaluation(
        human=Rater(human.name, human.signature),
        evaluators=tuple(Rater(match.name, match.evaluator.signature) for match in matches),
        results=results,
        contests=contests,
        spans=spans,
        warnings=tuple(_warnings(matches, whole_results)),
    )


def averagings(matches: Sequence[Match], settings: MetaEvalSettings) -> tuple[Averaging, ...]:
    """The averagings of the settings; by default also by item where there are several systems to compare."""
    if settings.averaging:
        return settings.averaging
    if any(len(match.human.names()) > 1 for match in matches):
        return ("none", "item")
    return ("none",)


def _results(matches: Sequence[Match], settings: MetaEvalSettings) -> Iterator[LevelResult]:
    levels: list[tuple[Level, Averaging]] = []
    if "sys" in settings.levels:
        levels.append(("sys", "none"))
    if "seg" in settings.levels:
        for averaging in averagings(matches, settings):
            levels.append(("seg", averaging))
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
        for level, averaging in levels:
            for part, match in matches_by_part:
                given = level == "sys" and match.given_systems
                if level == "sys":
                    statistics = _system_statistics(match)
                else:
                    statistics = _segment_statistics(match, averaging, settings.distance)
                if statistics:
                    yield LevelResult(match.name, level, averaging, grouping, part, given, tuple(statistics))


def _system_statistics(match: Match) -> list[Statistic]:
    systems = match.systems()
    if systems is None:
        return []
    segments = match.segments()
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


def _segment_statistics(match: Match, averaging: Averaging, distance: Scale | None) -> list[Statistic]:
    scores = match.segments()
    if scores is None:
        return []
    statistics = []
    for name, compute in STATISTICS.items():
        if name != "acc":  # with segments, ties are always calibrated
            statistics.append(compute(scores, averaging))
    if distance is not None:
        statistics.append(mean_absolute_error(scores, distance))
        statistics.append(mean_squared_error(scores, distance))
    return statistics


def _parts(matches: Sequence[Match], grouping: Grouping) -> list[tuple[str, list[str]]]:
    """The names of the parts, each with its items."""
    sides: list[Side] = []
    for match in matches:
        sides += (match.human, match.evaluator)
    known = joined_about(sides)
    infos: dict[str, SegmentInfo] = {}
    for match in matches:
        for row in match.rows:
            infos[row.item] = known.get(row.item, SegmentInfo())
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


# --- tests between evaluators


def _contests(matches: Sequence[Match], settings: MetaEvalSettings) -> Iterator[Contest]:
    if settings.tests and len(matches) < 2:
        raise ConfigError("--test compares evaluators with each other: give at least two")
    for name in settings.tests:
        level: Level = "sys" if name == "acc" else "seg"
        scores = _contest_scores(matches, level)
        if not scores:
            what = "systems" if level == "sys" else "segments"
            raise InputError(f"--test {name}: no {what} have scores of both an evaluator and people")
        unscored = [match.name for match in matches if match.name not in scores]
        ways: tuple[Averaging, ...] = ("none",)
        if level == "seg":
            ways = averagings(matches, settings)
        for averaging in ways:
            tested = contest(scores, Test(name, averaging, settings.unit, settings.permutations, settings.seed))
            yield replace(tested, left_out=(*unscored, *tested.left_out))


def _contest_scores(matches: Sequence[Match], level: Level) -> dict[str, PairedScores]:
    """The scores that all evaluators have in common; of systems the given ones, or means of segments, for all alike."""
    by_system = level == "sys" and all(match.given_systems for match in matches)
    by_evaluator: dict[str, PairedScores] = {}
    for match in matches:
        scores = match.systems() if by_system else match.segments()
        if scores:
            by_evaluator[match.name] = scores
    by_evaluator = in_common(by_evaluator)
    if level == "sys" and not by_system:
        for evaluator, scores in by_evaluator.items():
            by_evaluator[evaluator] = replace(system_level(scores), missing=scores.missing)
    return by_evaluator


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
        raise InputError(f"--test: {', '.join(scores)} have no translation in common that all of them rated")
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


# --- error spans


def _span_level(matches: Sequence[Match], settings: MetaEvalSettings) -> SpanLevel:
    pairs_by_evaluator = {match.name: _span_pairs(match, settings) for match in matches}
    measures = []
    for kind, measure in MEASURES.items():
        for evaluator, pairs in pairs_by_evaluator.items():
            measures.append(SpanResult(kind, evaluator, score(pairs, measure)))
    thresholds = []
    for evaluator, pairs in pairs_by_evaluator.items():
        for threshold in THRESHOLDS:
            thresholds.append(SpanResult(f"{threshold:g}", evaluator, score(pairs, matching(threshold))))
    groups: dict[SpanGrouping, tuple[SpanResult, ...]] = {}
    for grouping in sorted({*SPAN_GROUPINGS} & {*settings.by}, key=settings.by.index):
        results = []
        for evaluator, pairs in pairs_by_evaluator.items():
            for group, group_score in by_group(pairs, grouping).items():
                results.append(SpanResult(group, evaluator, group_score))
        groups[grouping] = tuple(results)
    return SpanLevel(tuple(measures), tuple(thresholds), groups)


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
        segments.append(SegmentErrors(human_rating.errors, rating.errors, translation or "", source, name))
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
    """Several language pairs, several raters taken for one, people's own scores, and a reference among the systems."""
    language_pairs: dict[str, None] = {}
    for match in matches:
        for info in match.human.about.values():
            if info.source_lang and info.target_lang:
                language_pairs[f"{info.source_lang}-{info.target_lang}"] = None
    if len(language_pairs) > 1:
        pairs = first_of(list(language_pairs), _SHOWN)
        yield (
            f"scores of {len(language_pairs)} language pairs ({pairs}) are compared with each other; -l takes one of "
            "them"
        )
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


# --- tables for people, and JSON for programs

NO_VALUE = "–"
_HEADS = {
    "acc": "Acc", "spa": "SPA", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "acc-t": "Acc-t",
    "mae": "MAE", "mse": "MSE",
}  # fmt: skip
_AVERAGED = {"none": "all scores together", "item": "averaged by item", "system": "averaged by system"}
_LEVELS = {"sys": "level of systems", "seg": "level of segments"}
_SPANS = "level of error spans"


def tables(agreement: MetaEvaluation, width: int = 3) -> list[Table]:
    """All tables: whole levels, error spans, tests, and parts; ``width`` is the digits after the point."""
    tables, part_tables = [], []
    by_table = groupby(agreement.results, key=lambda result: (result.grouping, result.level, result.averaging))
    for (grouping, _, _), group in by_table:
        if grouping is None:
            tables.append(_whole_table(list(group), width))
        else:
            part_tables.append(_part_table(list(group), width))
    if agreement.spans:
        tables += _span_tables(agreement.spans, width)
    tables += [_contest_table(contest, width) for contest in agreement.contests]
    return tables + part_tables


def below(agreement: MetaEvaluation) -> list[str]:
    """The lines below the tables: why values are missing, and all signatures, each once.

    Each evaluator, level and reason has a line that names the statistics without a value; parts share a line.
    """
    lines = []
    parts: dict[tuple[str, str, str], list[str]] = {}
    for result in agreement.results:
        undefined_by_reason: dict[str, list[str]] = {}
        for statistic in result.statistics:
            if statistic.value is None:
                undefined_by_reason.setdefault(statistic.undefined or "", []).append(_HEADS[statistic.name])
        where = f"{NO_VALUE} {result.evaluator}, {_title(result)}"
        for reason, names in undefined_by_reason.items():
            undefined = ", ".join(names)
            if result.part is None:
                lines.append(f"{where}: no {undefined}: {reason}")
            else:
                parts.setdefault((where, undefined, f"{result.grouping}: {reason}"), []).append(result.part)
    for (where, undefined, reason), part_names in parts.items():
        shown = ", ".join(part_names)
        if len(part_names) > MOST_PARTS:
            shown = f"{len(part_names)} parts"
        lines.append(f"{where}: no {undefined} in {shown} by {reason}")
    lines.append(f"people: {agreement.human.name}: {agreement.human.signature}")
    lines += [f"{evaluator.name}: {evaluator.signature}" for evaluator in agreement.evaluators]
    signatures: dict[str, None] = {}
    for result in agreement.results:
        for statistic in result.statistics:
            signatures[statistic.signature] = None
    for tested in agreement.contests:
        signatures[tested.signature] = None
    if agreement.spans:
        for measure in agreement.spans.measures:
            signatures[measure.score.signature] = None
    return [*lines, *signatures]


def _title(result: LevelResult) -> str:
    if result.level == "seg":
        return f"{_LEVELS['seg']}, {_AVERAGED[result.averaging]}"
    return _LEVELS[result.level]


def _whole_table(results: Sequence[LevelResult], width: int) -> Table:
    head, *numbers = _cells(results, width)
    rows = []
    for result, row in zip(results, numbers, strict=True):
        rows.append((result.evaluator, *row))
    note = ""
    given = [result.evaluator for result in results if result.given]
    if given:
        note = f"scores of systems as given: {', '.join(given)}"
    return Table(_title(results[0]), ("evaluator", *head), tuple(rows), note)


def _part_table(results: Sequence[LevelResult], width: int) -> Table:
    """A table of parts; of many only the largest."""
    parts = [list(part_results) for _, part_results in groupby(results, key=lambda result: result.part)]
    note = ""
    if len(parts) > MOST_PARTS:
        note = f"{len(parts) - MOST_PARTS} more, the smaller ones, are not shown: -f json has all"
        parts.sort(key=lambda part: -max(result.statistics[0].scores for result in part))
        parts = parts[:MOST_PARTS]
    results = list(chain.from_iterable(parts))
    head, *numbers = _cells(results, width)
    rows = []
    former = None
    for result, row in zip(results, numbers, strict=True):
        name = str(result.part) if result.part != former else ""  # only the first row of a part names it
        rows.append((name, result.evaluator, *row))
        former = result.part
    grouping = str(results[0].grouping)
    head = (grouping, "evaluator", *head)
    return Table(f"by {grouping}: {_title(results[0])}", head, tuple(rows), note, labels=2)


def _cells(results: Sequence[LevelResult], width: int) -> Iterator[tuple[str, ...]]:
    """The head of the numbers, and the numbers of each result."""
    shows_left_out = any(result.statistics[0].missing.total for result in results)
    head = ["scores"]
    if shows_left_out:
        head.append("left out")
    for statistic in results[0].statistics:
        head.append(_HEADS[statistic.name])
        if statistic.name == "acc-t":
            head.append("ε")
    yield tuple(head)
    for result in results:
        first = result.statistics[0]
        row = [f"{first.scores:,}"]
        if shows_left_out:
            row.append(f"{first.missing.total:,}")
        for statistic in result.statistics:
            row.append(_number(statistic.value, width))
            if statistic.name == "acc-t":
                row.append(NO_VALUE if statistic.epsilon is None else f"{statistic.epsilon:.{width}g}")
        yield tuple(row)


def _number(value: float | None, width: int) -> str:
    return NO_VALUE if value is None else f"{value:.{width}f}"


def _contest_table(contest: Contest, width: int) -> Table:
    test = contest.test
    order = [evaluator.name for evaluator in contest.ranked]
    rows = []
    for place, evaluator in enumerate(contest.ranked):
        # A triangle: each row is tested against the ones below it.
        p_values = [""] * place
        for other in order[place + 1 :]:
            p_values.append(_number(contest.p_values[evaluator.name, other], 3))
        rows.append((evaluator.name, str(evaluator.rank), _number(evaluator.value, width), *p_values))
    note = (
        f"p(2): the chance that the row leads the second row by as much; {test.permutations:,} permutations of "
        f"{contest.scores:,} scores that all have; in one rank nobody is significantly worse (p ≤ 0.05) than another"
    )
    if contest.left_out:
        note += f"; not defined for {', '.join(contest.left_out)}"
    columns = [f"p({place})" for place in range(2, len(order) + 1)]
    title = f"test by {_HEADS[test.statistic]}: {_LEVELS[contest.level]}"
    if contest.level == "seg":
        title += f", {_AVERAGED[test.averaging]}"
    return Table(title, ("evaluator", "rank", _HEADS[test.statistic], *columns), tuple(rows), note)


def _span_tables(spans: SpanLevel, width: int) -> list[Table]:
    head = ("evaluator", "precision", "recall", "F1", "macro F1", "marked", "by people", "segments", "left out")
    note = "marked, by people: characters, or spans; left out: of the evaluator + of people (see the signatures)"
    tables = [Table(_SPANS, ("measure", *head), _span_rows(spans.measures, width), note, labels=2)]
    curves: dict[str, list[str]] = {}
    for result in spans.thresholds:
        curves.setdefault(result.evaluator, []).append(_number(result.score.f1, width))
    thresholds = dict.fromkeys(result.kind for result in spans.thresholds)
    curve_rows = tuple((evaluator, *curve) for evaluator, curve in curves.items())
    tables.append(Table(f"{_SPANS}: F1 of matches by threshold", ("evaluator", *thresholds), curve_rows))
    severity_ranks = {str(severity): place for place, severity in enumerate(SEVERITIES)}
    for grouping, results in spans.groups.items():
        if results:
            ordered = sorted(results, key=lambda result: (severity_ranks.get(result.kind, 0), result.kind))
            title = f"{_SPANS}: characters by {grouping}"
            tables.append(Table(title, (grouping, *head), _span_rows(ordered, width), labels=2))
    return tables


def _span_rows(results: Sequence[SpanResult], width: int) -> tuple[tuple[str, ...], ...]:
    rows = []
    for kind, evaluator, span_score in results:
        row = [kind, evaluator]
        for rate in (span_score.precision, span_score.recall, span_score.f1, span_score.macro_f1):
            row.append(_number(rate, width))
        row += [f"{span_score.predicted:,.0f}", f"{span_score.gold:,.0f}", f"{span_score.segments:,}"]
        row.append(f"{sum(span_score.predicted_left_out):,} + {sum(span_score.gold_left_out):,}")
        rows.append(tuple(row))
    return tuple(rows)


def as_json(agreement: MetaEvaluation) -> str:
    """One JSON object. ``levels`` has an object for each evaluator, level, averaging and part.

    Nothing is rounded; ``null`` is a missing value.
    """
    levels = []
    for result in agreement.results:
        statistics = {statistic.name: statistic for statistic in result.statistics}
        levels.append(result._asdict() | {"statistics": statistics})
    spans = None
    if agreement.spans is not None:
        spans = {
            "measures": _span_data(agreement.spans.measures, "measure"),
            "thresholds": _span_data(agreement.spans.thresholds, "threshold"),
        }
        for grouping, results in agreement.spans.groups.items():
            spans[grouping] = _span_data(results, grouping)
    data = {
        "human": agreement.human,
        "evaluators": agreement.evaluators,
        "levels": levels,
        "spans": spans,
        "tests": [_contest_data(contest) for contest in agreement.contests],
        "warnings": agreement.warnings,
    }
    return dumped(data, indent=1)


def _span_data(results: Sequence[SpanResult], kind: str) -> list[dict[str, Any]]:
    return [{"evaluator": result.evaluator, kind: result.kind, **vars(result.score)} for result in results]


def _contest_data(contest: Contest) -> dict[str, Any]:
    p_values = []
    for (better, worse), p_value in contest.p_values.items():
        p_values.append({"better": better, "worse": worse, "p_value": p_value})
    return {
        "statistic": contest.test.statistic,
        "level": contest.level,
        "averaging": contest.test.averaging,
        "scores": contest.scores,
        "ranked": contest.ranked,
        "p_values": p_values,
        "left_out": contest.left_out,
        "signature": contest.signature,
    }
