"""The agreement of several evaluators with people, as ``mtagent meta-eval`` computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

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
from mtagent.analysis.scores import About, joined_about
from mtagent.errors import ConfigError, InputError
from mtagent.records import comparable

TESTED: tuple[Name, ...] = tuple(STATISTICS)
"""What can be tested: ``acc`` at the level of systems, the others at that of segments."""
SPAN_GROUPINGS: tuple[SpanGrouping, ...] = get_args(SpanGrouping)
FEW = 5
"""Systems below which their level means little."""


@dataclass(frozen=True)
class Settings:
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


class Result(NamedTuple):
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


class Signed(NamedTuple):
    """Who scored, and what the scores depend on."""

    name: str
    signature: str


@dataclass(frozen=True)
class Agreement:
    """How well evaluators agree with people; ``warnings`` is what makes the numbers doubtful."""

    human: Signed
    evaluators: tuple[Signed, ...]
    results: tuple[Result, ...]
    contests: tuple[Contest, ...]
    spans: SpanLevel | None
    warnings: tuple[str, ...]


def agreement(matches: Sequence[Match], settings: Settings) -> Agreement:
    """Compute what is wanted of evaluators that were matched with the same people.

    Raises :class:`InputError` where nothing can be compared at a level, or the segments do not tell their parts.
    """
    human = matches[0].human
    results = tuple(_results(matches, settings))
    if not results and settings.levels != ("span",):
        raise InputError(f"{human.origin}: there is no translation with a score of an evaluator and of people")
    marking = marking_both(matches)
    return Agreement(
        human=Signed(human.name, human.signature),
        evaluators=tuple(Signed(match.name, match.evaluator.signature) for match in matches),
        results=results,
        contests=tuple(_contests(matches, settings)),
        spans=_span_level(marking, settings) if marking and "span" in settings.levels else None,
        warnings=tuple(_warnings(matches, [result for result in results if result.part is None])),
    )


def averagings(matches: Sequence[Match], settings: Settings) -> tuple[Averaging, ...]:
    """Those that are wanted; by item only where there are systems to compare, unless it was asked for."""
    if settings.averaging:
        return settings.averaging
    return ("none", "item") if any(len(match.human.names()) > 1 for match in matches) else ("none",)


def _results(matches: Sequence[Match], settings: Settings) -> Iterator[Result]:
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
                    yield Result(match.name, level, averaging, grouping, part, given, tuple(statistics))


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
    abouts = {row.item: known.get(row.item, About()) for match in matches for row in match.rows}
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


def _contests(matches: Sequence[Match], settings: Settings) -> Iterator[Contest]:
    if settings.tests and len(matches) < 2:
        raise ConfigError("--test compares evaluators with each other: give at least two")
    for name in settings.tests:
        level: Level = "sys" if name == "acc" else "seg"
        scores = _tested_scores(matches, level)
        if not scores:
            what = "systems" if level == "sys" else "segments"
            raise InputError(f"--test {name}: no evaluator and people have both scores of {what}")
        unscored = [match.name for match in matches if match.name not in scores]
        for averaging in averagings(matches, settings) if level == "seg" else ("none",):
            tested = contest(scores, Test(name, averaging, settings.unit, settings.permutations, settings.seed))
            yield replace(tested, left_out=(*unscored, *tested.left_out))


def _tested_scores(matches: Sequence[Match], level: Level) -> dict[str, PairedScores]:
    """The scores that all evaluators have in common; of systems the given ones, or means of segments, for all alike."""
    if level == "sys" and all(match.given_systems for match in matches):
        return in_common({match.name: scores for match in matches if (scores := match.systems())})
    segments = in_common({match.name: scores for match in matches if (scores := match.segments())})
    if level == "seg":
        return segments
    return {who: replace(system_level(scores), missing=scores.missing) for who, scores in segments.items()}


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


def _span_level(matches: Sequence[Match], settings: Settings) -> SpanLevel:
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


def _span_pairs(match: Match, settings: Settings) -> SpanPairs:
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
        source, name = about.get(key.item, About()).source or "", f"{key.item} of {key.system}"
        segments.append(SegmentErrors(theirs.errors, ours.errors, translation or "", source, name))
    return span_pairs(segments, SpanRules(match.missing, settings.unlocated, settings.outside))


# --- what makes the numbers doubtful


def _warnings(matches: Sequence[Match], results: Sequence[Result]) -> Iterator[str]:
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
