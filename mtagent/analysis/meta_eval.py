"""The agreement of several evaluators with people, as ``mtagent meta-eval`` computes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mtagent.analysis.agreement import (
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
from mtagent.analysis.compare import GROUPINGS, Grouping, grouped
from mtagent.analysis.compare_tables import MOST_PARTS
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
from mtagent.analysis.permutation import PERMUTATIONS, SEED, Contest, Test, Unit, contest
from mtagent.analysis.scores import SegmentInfo, joined_about
from mtagent.errors import ConfigError, InputError
from mtagent.records import comparable
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table

TESTED: tuple[Name, ...] = tuple(STATISTICS)
"""What can be tested: ``acc`` at the level of systems, the others at that of segments."""
SPAN_GROUPINGS: tuple[SpanGrouping, ...] = get_args(SpanGrouping)
FEW = 5
"""Systems below which their level means little."""


@dataclass(frozen=True)
class MetaEvalSettings:
    """What to compute. ``averaging``: of segments; empty: over all and by item, the latter where there are systems.

    ``distance`` adds mean absolute and mean squared errors, of plain or scaled scores. ``tests`` names statistics to
    test the evaluators against each other by. ``by`` groups segments, or error spans; ``unlocated`` and ``outside`` as
    in :class:`SpanRules`.
    """

    levels: tuple[Level | Literal["span"], ...] = ("sys", "seg", "span")
    averaging: tuple[Averaging, ...] = ()
    distance: Scale | None = None
    tests: tuple[Name, ...] = ()
    unit: Unit = "score"
    permutations: int = PERMUTATIONS
    seed: int = SEED
    by: tuple[Grouping | SpanGrouping, ...] = ()
    unlocated: Unlocated = "miss"
    outside: Outside = "leave-out"


class LevelResult(NamedTuple):
    """The statistics of one evaluator at one level; ``grouping`` and ``part`` say of which segments, if not of all.

    ``given``: the scores of systems were given, and are no means.
    """

    evaluator: str
    level: Level
    averaging: Averaging
    grouping: Grouping | None
    part: str | None
    given: bool
    statistics: tuple[Statistic, ...]


class SpanResult(NamedTuple):
    """A score of one evaluator; ``kind`` is the measure, the threshold of matches, or the severity or category."""

    kind: str
    evaluator: str
    score: SpanScore


@dataclass(frozen=True)
class SpanLevel:
    """All scores of spans: by measure, by the threshold of matches, and by severity or category."""

    measures: tuple[SpanResult, ...]
    thresholds: tuple[SpanResult, ...]
    groups: dict[SpanGrouping, tuple[SpanResult, ...]]


class Rater(NamedTuple):
    """Who scored, and what the scores depend on."""

    name: str
    signature: str


@dataclass(frozen=True)
class MetaEvaluation:
    """How well evaluators agree with people; ``warnings`` is what makes the numbers doubtful."""

    human: Rater
    evaluators: tuple[Rater, ...]
    results: tuple[LevelResult, ...]
    contests: tuple[Contest, ...]
    spans: SpanLevel | None
    warnings: tuple[str, ...]


def agreement(matches: Sequence[Match], settings: MetaEvalSettings) -> MetaEvaluation:
    """Compute what is wanted of evaluators that were matched with the same people.

    Raises :class:`InputError` where nothing can be compared at a level, or the segments do not tell their parts.
    """
    human = matches[0].human
    results = tuple(_results(matches, settings))
    if not results and settings.levels != ("span",):
        raise InputError(f"{human.origin}: there is no translation with a score of an evaluator and of people")
    marking = marking_both(matches)
    return MetaEvaluation(
        human=Rater(human.name, human.signature),
        evaluators=tuple(Rater(match.name, match.evaluator.signature) for match in matches),
        results=results,
        contests=tuple(_contests(matches, settings)),
        spans=_span_level(marking, settings) if marking and "span" in settings.levels else None,
        warnings=tuple(_warnings(matches, [result for result in results if result.part is None])),
    )


def averagings(matches: Sequence[Match], settings: MetaEvalSettings) -> tuple[Averaging, ...]:
    """Those that are wanted; by item only where there are systems to compare, unless it was asked for."""
    if settings.averaging:
        return settings.averaging
    return ("none", "item") if any(len(match.human.names()) > 1 for match in matches) else ("none",)


def _results(matches: Sequence[Match], settings: MetaEvalSettings) -> Iterator[LevelResult]:
    tables: list[tuple[Level, Averaging]] = [("sys", "none")] if "sys" in settings.levels else []
    if "seg" in settings.levels:
        tables += [("seg", averaging) for averaging in averagings(matches, settings)]
    groupings = sorted({*GROUPINGS} & {*settings.by}, key=settings.by.index)
    for grouping in (None, *groupings):
        of_parts: list[tuple[str | None, Match]] = [(None, match) for match in matches]
        if grouping is not None:
            parts = _parts(matches, grouping)
            of_parts = [(name, match.of_items(items)) for name, items in parts for match in matches]
        for level, averaging in tables:
            for part, match in of_parts:
                of_systems = level == "sys"
                statistics = _of_systems(match) if of_systems else _of_segments(match, averaging, settings.distance)
                if statistics:
                    given = of_systems and match.given_systems
                    yield LevelResult(match.name, level, averaging, grouping, part, given, tuple(statistics))


def _of_systems(match: Match) -> list[Statistic]:
    systems, segments = match.systems(), match.segments()
    if systems is None:
        return []
    acc = accuracy(systems)
    if segments is not None:
        spa = soft_pairwise_accuracy(segments)
    else:
        why = "there are no scores of segments"
        spa = replace(acc, name="spa", value=None, epsilon=None, undefined=why, signature=signed("spa", systems))
    return [acc, spa, pearson(systems), spearman(systems), kendall(systems)]


def _of_segments(match: Match, averaging: Averaging, distance: Scale | None) -> list[Statistic]:
    scores = match.segments()
    if scores is None:
        return []
    statistics = [compute(scores, averaging) for name, compute in STATISTICS.items() if name != "acc"]
    if distance is not None:
        statistics += [mean_absolute_error(scores, distance), mean_squared_error(scores, distance)]
    return statistics


def _parts(matches: Sequence[Match], grouping: Grouping) -> list[tuple[str, list[str]]]:
    """The names of the parts, each with its items."""
    known = joined_about(side for match in matches for side in (match.human, match.evaluator))
    abouts = {row.item: known.get(row.item, SegmentInfo()) for match in matches for row in match.rows}
    if grouping != "length" and not any(getattr(about, grouping) for about in abouts.values()):
        raise InputError(f"--by {grouping}: no file says the {grouping} of a segment")
    for item, about in abouts.items() if grouping == "length" else ():
        if about.source is None or about.source_lang is None:
            what = "source" if about.source is None else "source language (a column source_lang or lp)"
            raise InputError(f"--by length: no file has the {what} of segment {item!r}")
    items = list(abouts)
    parts = grouped(grouping, [about.segment(item) for item, about in abouts.items()])
    return [(name, [items[place] for place in places]) for name, places in parts]


# --- tests between evaluators


def _contests(matches: Sequence[Match], settings: MetaEvalSettings) -> Iterator[Contest]:
    if settings.tests and len(matches) < 2:
        raise ConfigError("--test compares evaluators with each other: give at least two")
    for name in settings.tests:
        level: Level = "sys" if name == "acc" else "seg"
        # of systems the given scores, or means of segments, for all evaluators alike
        if level == "sys" and all(match.given_systems for match in matches):
            scores = in_common({match.name: own for match in matches if (own := match.systems())})
        else:
            scores = in_common({match.name: own for match in matches if (own := match.segments())})
            if level == "sys":
                scores = {who: replace(system_level(of), missing=of.missing) for who, of in scores.items()}
        if not scores:
            what = "systems" if level == "sys" else "segments"
            raise InputError(f"--test {name}: no evaluator and people have both scores of {what}")
        unscored = [match.name for match in matches if match.name not in scores]
        for averaging in averagings(matches, settings) if level == "seg" else ("none",):
            tested = contest(scores, Test(name, averaging, settings.unit, settings.permutations, settings.seed))
            yield replace(tested, left_out=(*unscored, *tested.left_out))


def in_common(scores: Mapping[str, PairedScores]) -> dict[str, PairedScores]:
    """The scores of the translations that all evaluators have scores for. Raises :class:`InputError` if there is none.

    What one of them lacks was counted as missing before; here it is left out for all.
    """
    keys = {who: [row[:2] for row in own.rows()] for who, own in scores.items()}
    shared = set.intersection(*map(set, keys.values())) if keys else set()
    if keys and not shared:
        raise InputError(f"--test: {', '.join(scores)} have no translation in common that all rated")
    common = {}
    for who, own in scores.items():
        mask = np.array([key in shared for key in keys[who]])
        arrays = {name: getattr(own, name)[mask] for name in ("evaluator", "human", "system", "item")}
        common[who] = replace(own, **arrays, missing=Missing(absent=len(own.systems) * len(own.items) - len(shared)))
    return common


# --- error spans


def marking_both(matches: Sequence[Match]) -> list[Match]:
    """Those of which both sides marked errors in texts that are known."""
    return [
        match
        for match in matches
        if match.evaluator.marks
        and match.human.marks
        and any(score.translation is not None for _, *both in match.translations() for score in both)
    ]


def _span_level(matches: Sequence[Match], settings: MetaEvalSettings) -> SpanLevel:
    pairs = {match.name: _span_pairs(match, settings) for match in matches}
    return SpanLevel(
        measures=tuple(
            SpanResult(kind, who, score(of_who, measure))
            for kind, measure in MEASURES.items()
            for who, of_who in pairs.items()
        ),
        thresholds=tuple(
            SpanResult(f"{threshold:g}", who, score(of_who, matching(threshold)))
            for who, of_who in pairs.items()
            for threshold in THRESHOLDS
        ),
        groups={
            grouping: tuple(
                SpanResult(group, who, of_group)
                for who, of_who in pairs.items()
                for group, of_group in by_group(of_who, grouping).items()
            )
            for grouping in sorted({*SPAN_GROUPINGS} & {*settings.by}, key=settings.by.index)
        },
    )


def _span_pairs(match: Match, settings: MetaEvalSettings) -> SpanPairs:
    """The spans of both sides.

    Raises :class:`InputError` where a translation is not known, and where one was not annotated and none may be left
    out.
    """
    about = joined_about((match.human, match.evaluator))
    segments = []
    for key, ours, theirs in match.translations():
        translation = theirs.translation if theirs.translation is not None else ours.translation
        for given, name in ((ours, match.evaluator.name), (theirs, match.human.name)):
            if given.errors is None and match.missing == "refuse":
                raise InputError(
                    f"{given.where}: no errors of {name} for segment {key.item!r} of system {key.system!r} (null, or "
                    f"None); [] says that it is error-free; {LEAVE_OUT}"
                )
        if translation is None and None not in (ours.errors, theirs.errors):
            raise InputError(
                f"{ours.where}: spans are placed in the translation, which neither this file nor {theirs.where} has"
            )
        source, name = about.get(key.item, SegmentInfo()).source or "", f"{key.item} of {key.system}"
        segments.append(SegmentErrors(theirs.errors, ours.errors, translation or "", source, name))
    return span_pairs(segments, SpanRules(match.missing, settings.unlocated, settings.outside))


# --- what makes the numbers doubtful


def _warnings(matches: Sequence[Match], results: Sequence[LevelResult]) -> Iterator[str]:
    """All that a reader should know before believing the tables; ``results`` are those of all segments."""
    of_systems = [result for result in results if result.level == "sys"]
    number = max((result.statistics[0].scores for result in of_systems), default=FEW)
    if number < FEW:
        yield f"level of systems: there are {number}, and below {FEW} its statistics mean little"
    for match in matches:
        if match.others:
            yield (
                f"{match.name}: {len(match.others)} systems that it or people did not score are left out: "
                f"{_first(match.others)}"
            )
    given = {result.evaluator for result in of_systems if result.given}
    for match in matches if of_systems else ():
        by_system = Counter(row.system for row in match.scored_rows)
        if match.name not in given and len(set(by_system.values())) > 1:
            items, systems = ({row[place] for row in match.rows} for place in (1, 0))
            yield (
                f"{match.name}: the means of systems are about different segments: {min(by_system.values())} to "
                f"{max(by_system.values())} of each have both scores (left out: "
                f"{len(items) * len(systems) - sum(by_system.values())})"
            )
    known = (about for match in matches for about in match.human.about.values())
    languages = ((about.source_lang, about.target_lang) for about in known)
    pairs = list(dict.fromkeys(f"{source}-{target}" for source, target in languages if source and target))
    if len(pairs) > 1:
        yield (
            f"scores of {len(pairs)} language pairs ({_first(pairs)}) are compared with each other; -l takes one of "
            "them"
        )
    for match in matches:
        raters = list(dict.fromkeys(comparable(signature) for signature in match.evaluator.signatures if signature))
        if len(raters) > 1:
            yield f"{match.name}: its scores are of {len(raters)} evaluators, taken for one: {_first(raters, '; ')}"
    for match in matches:
        if same_scores(match):
            yield f"{match.name}: its scores are people's own ({match.human.name}), every one"
        elif match.evaluator.marks and _same_spans(match):
            yield f"{match.name}: its error spans are people's own ({match.human.name}), every one"
    for match in matches:
        saw = match.evaluator.reference
        if saw and saw in match.human.names():
            yield f"{match.name}: saw the reference {saw}, which is one of the systems: --drop-systems {saw}"
    lowest: dict[str, float] = {}
    for result in results:
        r = next(statistic.value for statistic in result.statistics if statistic.name == "pearson")
        if r is not None:
            lowest[result.evaluator] = min(r, lowest.get(result.evaluator, r))
    if lowest and max(lowest.values()) < 0:
        human = matches[0].human.name
        yield f"all correlate negatively; if people's lower scores are the better ones, say --lower {human}"
    for name, r in lowest.items():
        if r < 0:
            yield f"{name}: correlates negatively; if its lower scores are the better ones, say --lower {name}"


def same_scores(match: Match) -> bool:
    """Whether the evaluator's scores are people's own, every one."""
    return bool(match.rows) and all(row.evaluator == row.human for row in match.rows)


def _same_spans(match: Match) -> bool:
    theirs = match.human.segments
    marked = [(ours.errors, theirs[key].errors) for key, ours in match.evaluator.segments.items() if key in theirs]
    marked = [(ours, people) for ours, people in marked if ours]
    return bool(marked) and all(ours == people for ours, people in marked)


def _first(names: Sequence[str], between: str = ", ", number: int = 3) -> str:
    return between.join([*names[:number], *(["…"] if len(names) > number else [])])


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
    by_table = groupby(agreement.results, key=lambda result: (result.grouping, result.level, result.averaging))
    shown = [list(results) for _, results in by_table]
    return [
        *(_whole_table(results, width) for results in shown if results[0].part is None),
        *(_span_tables(agreement.spans, width) if agreement.spans else []),
        *(_contest_table(contest, width) for contest in agreement.contests),
        *(_part_table(results, width) for results in shown if results[0].part is not None),
    ]


def below(agreement: MetaEvaluation) -> list[str]:
    """The lines below the tables: why values are missing, and all signatures, each once.

    Each evaluator, level and reason has a line that names the statistics without a value; parts share a line.
    """
    parts: dict[tuple[str, str, str], list[str]] = {}
    lines = []
    for result in agreement.results:
        by_reason: dict[str, list[str]] = {}
        for statistic in result.statistics:
            if statistic.value is None:
                by_reason.setdefault(statistic.undefined or "", []).append(_HEADS[statistic.name])
        for reason, names in by_reason.items():
            where, lacking = f"{NO_VALUE} {result.evaluator}, {_title(result)}", ", ".join(names)
            if result.part is None:
                lines.append(f"{where}: no {lacking}: {reason}")
            else:
                parts.setdefault((where, lacking, f"{result.grouping}: {reason}"), []).append(result.part)
    for (where, lacking, reason), names in parts.items():
        shown = ", ".join(names) if len(names) <= MOST_PARTS else f"{len(names)} parts"
        lines.append(f"{where}: no {lacking} in {shown} by {reason}")
    lines.append(f"people: {agreement.human.name}: {agreement.human.signature}")
    lines += [f"{name}: {signature}" for name, signature in agreement.evaluators]
    signatures = [statistic.signature for result in agreement.results for statistic in result.statistics]
    signatures += [contest.signature for contest in agreement.contests]
    signatures += [measure.score.signature for measure in agreement.spans.measures] if agreement.spans else []
    return [*lines, *dict.fromkeys(signatures)]


def _title(result: LevelResult) -> str:
    return _LEVELS[result.level] + (f", {_AVERAGED[result.averaging]}" if result.level == "seg" else "")


def _whole_table(results: Sequence[LevelResult], width: int) -> Table:
    given = ", ".join(result.evaluator for result in results if result.given)
    head, *cells = _cells(results, width)
    rows = tuple((result.evaluator, *row) for result, row in zip(results, cells, strict=True))
    note = f"scores of systems as given: {given}" if given else ""
    return Table(_title(results[0]), ("evaluator", *head), rows, note)


def _part_table(results: Sequence[LevelResult], width: int) -> Table:
    """A table of parts, of many only the largest."""
    parts = [list(of_part) for _, of_part in groupby(results, key=lambda result: result.part)]
    largest = sorted(parts, key=lambda part: -max(result.statistics[0].scores for result in part))
    shown = parts if len(parts) <= MOST_PARTS else largest[:MOST_PARTS]
    left = len(parts) - len(shown)
    note = f"{left} more, the smaller ones, are not shown: -f json has all" if left else ""
    head, *cells = _cells([result for part in shown for result in part], width)
    names = [(str(result.part) if result is part[0] else "", result.evaluator) for part in shown for result in part]
    rows = tuple((*name, *row) for name, row in zip(names, cells, strict=True))
    grouping = str(results[0].grouping)
    return Table(f"by {grouping}: {_title(results[0])}", (grouping, "evaluator", *head), rows, note, labels=2)


def _cells(results: Sequence[LevelResult], width: int) -> Iterator[tuple[str, ...]]:
    """The head of the numbers, and the numbers of each result."""
    left_out = any(result.statistics[0].missing.total for result in results)
    head = ["scores", *(["left out"] if left_out else [])]
    for statistic in results[0].statistics:
        head += [_HEADS[statistic.name], *(["ε"] if statistic.name == "acc-t" else [])]
    yield tuple(head)
    for result in results:
        first = result.statistics[0]
        row = [f"{first.scores:,}", *([f"{first.missing.total:,}"] if left_out else [])]
        for statistic in result.statistics:
            row.append(_number(statistic.value, width))
            if statistic.name == "acc-t":
                row.append(NO_VALUE if statistic.epsilon is None else f"{statistic.epsilon:.{width}g}")
        yield tuple(row)


def _number(value: float | None, width: int) -> str:
    return NO_VALUE if value is None else f"{value:.{width}f}"


def _contest_table(contest: Contest, width: int) -> Table:
    test, order = contest.test, [evaluator.name for evaluator in contest.ranked]
    rows = []
    for place, evaluator in enumerate(contest.ranked):
        p_values = ["" for _ in order[1 : place + 1]]
        p_values += [_number(contest.p_values[evaluator.name, other], 3) for other in order[place + 1 :]]
        rows.append((evaluator.name, str(evaluator.rank), _number(evaluator.value, width), *p_values))
    note = (
        f"p(2): the chance that the row leads the second row by as much; {test.permutations:,} permutations of "
        f"{contest.scores:,} scores that all have; in one rank nobody is significantly worse (p ≤ 0.05) than another"
    )
    note += f"; not defined for {', '.join(contest.left_out)}" if contest.left_out else ""
    columns = [f"p({place})" for place in range(2, len(order) + 1)]
    averaged = f", {_AVERAGED[test.averaging]}" if contest.level == "seg" else ""
    title = f"test by {_HEADS[test.statistic]}: {_LEVELS[contest.level]}{averaged}"
    return Table(title, ("evaluator", "rank", _HEADS[test.statistic], *columns), tuple(rows), note)


def _span_tables(spans: SpanLevel, width: int) -> Iterator[Table]:
    head = ("evaluator", "precision", "recall", "F1", "macro F1", "marked", "by people", "segments", "left out")
    note = "marked, by people: characters, or spans; left out: of the evaluator + of people (see the signatures)"
    yield Table(_SPANS, ("measure", *head), _span_rows(spans.measures, width), note, labels=2)
    kinds = dict.fromkeys(result.kind for result in spans.thresholds)
    curves = groupby(spans.thresholds, key=lambda result: result.evaluator)
    body = tuple((who, *(_number(result.score.f1, width) for result in curve)) for who, curve in curves)
    yield Table(f"{_SPANS}: F1 of matches by threshold", ("evaluator", *kinds), body)
    for grouping, results in spans.groups.items():
        if results:
            ranks = {str(severity): place for place, severity in enumerate(SEVERITIES)}
            ordered = sorted(results, key=lambda result: (ranks.get(result.kind, 0), result.kind))
            title = f"{_SPANS}: characters by {grouping}"
            yield Table(title, (grouping, *head), _span_rows(ordered, width), labels=2)


def _span_rows(results: Sequence[SpanResult], width: int) -> tuple[tuple[str, ...], ...]:
    rows = []
    for kind, evaluator, result in results:
        rates = (result.precision, result.recall, result.f1, result.macro_f1)
        left_out = f"{sum(result.predicted_left_out):,} + {sum(result.gold_left_out):,}"
        numbers = (f"{result.predicted:,.0f}", f"{result.gold:,.0f}", f"{result.segments:,}", left_out)
        rows.append((kind, evaluator, *(_number(rate, width) for rate in rates), *numbers))
    return tuple(rows)


def as_json(agreement: MetaEvaluation) -> str:
    """One JSON object. ``levels`` has an object for each evaluator, level, averaging and part.

    Nothing is rounded; ``null`` is no value.
    """
    levels = []
    for result in agreement.results:
        statistics = {
            statistic.name: asdict(statistic) | {"missing": statistic.missing._asdict()}
            for statistic in result.statistics
        }
        levels.append(result._asdict() | {"statistics": statistics})
    spans: dict[str, list[dict[str, Any]]] | None = None
    if agreement.spans:
        by_kind = {"measure": agreement.spans.measures, "threshold": agreement.spans.thresholds}
        spans = {f"{kind}s": [_span_data(result, kind) for result in results] for kind, results in by_kind.items()}
        spans |= {name: [_span_data(result, name) for result in of] for name, of in agreement.spans.groups.items()}
    tests = [
        {
            "statistic": contest.test.statistic,
            "level": contest.level,
            "averaging": contest.test.averaging,
            "scores": contest.scores,
            "ranked": [evaluator._asdict() for evaluator in contest.ranked],
            "p_values": [{"better": a, "worse": b, "p_value": p} for (a, b), p in contest.p_values.items()],
            "left_out": list(contest.left_out),
            "signature": contest.signature,
        }
        for contest in agreement.contests
    ]
    data = {
        "human": agreement.human._asdict(),
        "evaluators": [evaluator._asdict() for evaluator in agreement.evaluators],
        "levels": levels,
        "spans": spans,
        "tests": tests,
        "warnings": agreement.warnings,
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)


def _span_data(result: SpanResult, kind: str) -> dict[str, Any]:
    left_out = {name: value._asdict() for name, value in vars(result.score).items() if name.endswith("left_out")}
    return {"evaluator": result.evaluator, kind: result.kind, **asdict(result.score), **left_out}
