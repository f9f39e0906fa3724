"""The agreement of evaluators with people for programs: one JSON object. Nothing is rounded; ``null`` is no value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from mtagent.analysis.agreement import (
    NOTHING,
    Averaging,
    Level,
    Paired,
    Scale,
    Statistic,
    kendall,
    mean_absolute_error,
    mean_squared_error,
    pearson,
    signed,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from mtagent.analysis.compare import Grouping, grouped
from mtagent.analysis.compare_tables import MOST_PARTS
from mtagent.analysis.permutation import PERMUTATIONS, SEED, Name, Ranked, Test, Unit, clustered, difference
from mtagent.analysis.scores_matched import Match
from mtagent.analysis.scores_read import About
from mtagent.analysis.span_scores import SpanEntry, SpanLevel
from mtagent.analysis.ties import accuracy, calibrated_accuracy
from mtagent.errors import ConfigError, InputError
from mtagent.records import Segment, comparable
from mtagent.text.foreign import UNKNOWN
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table

_BY_NAME: dict[Name, Callable[[Paired, Averaging], Statistic]] = {
    "acc": accuracy,
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "acc-t": calibrated_accuracy,
}
TESTED: tuple[Name, ...] = tuple(_BY_NAME)
"""What can be tested: ``acc`` at the level of systems, the others at that of segments."""
_OF_SEGMENTS: tuple[Name, ...] = ("pearson", "spearman", "kendall", "acc-t")
_NO_SEGMENTS = "there are no scores of segments"


@dataclass(frozen=True)
class Wanted:
    """What to compute. ``averaging``: of segments; empty: over all and by item, the latter where there are systems.

    ``distance`` adds mean absolute and mean squared errors, of plain or scaled scores. ``tests`` names statistics to
    test the evaluators against each other by.
    """

    levels: tuple[Level, ...] = ("sys", "seg")
    averaging: tuple[Averaging, ...] = ()
    distance: Scale | None = None
    tests: tuple[Name, ...] = ()
    unit: Unit = "score"
    permutations: int = PERMUTATIONS
    seed: int = SEED
    by: tuple[Grouping, ...] = ()


class Entry(NamedTuple):
    """The statistics of one evaluator."""

    evaluator: str
    statistics: tuple[Statistic, ...]


@dataclass(frozen=True)
class Block:
    """The evaluators at one level; ``grouping`` and ``part`` say of which segments, if not of all.

    ``given`` are those of whom scores of systems were given, and are no means.
    """

    level: Level
    averaging: Averaging
    entries: tuple[Entry, ...]
    grouping: Grouping | None = None
    part: str | None = None
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contest:
    """A test of the evaluators against each other: their ranks, and the p-values that the first of two is not better.

    ``left_out``: evaluators whose statistic is not defined, or that have no scores at this level. ``scores``: how many
    scores all others have.
    """

    test: Test
    level: Level
    ranked: tuple[Ranked, ...]
    p_values: Mapping[tuple[str, str], float | None]
    scores: int
    left_out: tuple[str, ...]
    signature: str


class Signed(NamedTuple):
    """Who scored, and what the scores depend on."""

    name: str
    signature: str


@dataclass(frozen=True)
class Agreement:
    """How well evaluators agree with people."""

    human: Signed
    evaluators: tuple[Signed, ...]
    blocks: tuple[Block, ...]
    contests: tuple[Contest, ...]


def agreement(matches: Sequence[Match], wanted: Wanted) -> Agreement:
    """Compute what is ``wanted`` of evaluators that were matched with the same people.

    Raises :class:`InputError` where nothing can be compared at a level, or the segments do not tell their parts.
    """
    human = matches[0].human
    blocks = list(_blocks(matches, wanted))
    if wanted.levels and not blocks:
        raise InputError(f"{human.origin}: there is no translation with a score of an evaluator and of people")
    return Agreement(
        human=Signed(human.name, human.signature),
        evaluators=tuple(Signed(one.name, one.evaluator.signature) for one in matches),
        blocks=tuple(blocks),
        contests=tuple(_contests(matches, wanted)),
    )


def _blocks(matches: Sequence[Match], wanted: Wanted) -> Iterator[Block]:
    for level in wanted.levels:
        for averaging in averagings(matches, wanted) if level == "seg" else ("none",):
            if block := _block(matches, level, averaging, wanted):
                yield block
    for grouping in wanted.by:
        parts = _parts(matches, grouping)
        for level in wanted.levels:
            for averaging in averagings(matches, wanted) if level == "seg" else ("none",):
                for part, items in parts:
                    if block := _block(matches, level, averaging, wanted, items):
                        yield replace(block, grouping=grouping, part=part)


def averagings(matches: Sequence[Match], wanted: Wanted) -> tuple[Averaging, ...]:
    """Those that are wanted; by item only where there are systems to compare, unless it was asked for."""
    if wanted.averaging:
        return wanted.averaging
    return ("none", "item") if any(len(one.human.names()) > 1 for one in matches) else ("none",)


def _block(
    matches: Sequence[Match], level: Level, averaging: Averaging, wanted: Wanted, items: Sequence[str] | None = None
) -> Block | None:
    entries, given = [], []
    for one in matches:
        part = one if items is None else one.of_items(items)
        found = _of_systems(part) if level == "sys" else _of_segments(part, averaging, wanted.distance)
        if found:
            entries.append(Entry(one.name, found))
            given += [one.name] if level == "sys" and part.given_systems else []
    return Block(level, averaging, tuple(entries), given=tuple(given)) if entries else None


def _of_systems(one: Match) -> tuple[Statistic, ...]:
    systems, segments = one.systems(), one.segments()
    if systems is None:
        return ()
    found = [statistic(systems) for statistic in (accuracy, pearson, spearman, kendall)]
    lacking = replace(
        found[0], name="spa", value=None, epsilon=None, undefined=_NO_SEGMENTS, signature=signed("spa", systems)
    )
    return (found[0], soft_pairwise_accuracy(segments) if segments else lacking, *found[1:])


def _of_segments(one: Match, averaging: Averaging, distance: Scale | None) -> tuple[Statistic, ...]:
    scores = one.segments()
    if scores is None:
        return ()
    found = [_BY_NAME[name](scores, averaging) for name in _OF_SEGMENTS]
    if distance is not None:
        found += [mean_absolute_error(scores, distance), mean_squared_error(scores, distance)]
    return tuple(found)


def _parts(matches: Sequence[Match], grouping: Grouping) -> list[tuple[str, list[str]]]:
    """The names of the parts, each with its items."""
    known: dict[str, About] = {}
    for one in matches:
        for side in (one.human, one.evaluator):
            for item, about in side.about.items():
                known[item] = known.get(item, About()).or_else(about)
    items = list(dict.fromkeys(row.item for one in matches for row in one.rows))
    segments = [_segment(item, known.get(item, About()), grouping) for item in items]
    if grouping != "length" and not any(getattr(segment, grouping) for segment in segments):
        raise InputError(f"--by {grouping}: no file says the {grouping} of a segment")
    return [(name, [items[place] for place in places]) for name, places in grouped(grouping, segments)]


def _segment(item: str, about: About, grouping: Grouping) -> Segment:
    if grouping == "length" and (about.source is None or about.source_lang is None):
        what = "source" if about.source is None else "source language (a column source_lang or lp)"
        raise InputError(f"--by length: no file has the {what} of segment {item!r}")
    return Segment(
        id=item,
        source=about.source or "",
        source_lang=about.source_lang or UNKNOWN,
        target_lang=about.target_lang or UNKNOWN,
        document=about.document,
        domain=about.domain,
    )


def _contests(matches: Sequence[Match], wanted: Wanted) -> Iterator[Contest]:
    if wanted.tests and len(matches) < 2:
        raise ConfigError("--test compares evaluators with each other: give at least two")
    for name in wanted.tests:
        level: Level = "sys" if name == "acc" else "seg"
        for averaging in averagings(matches, wanted) if level == "seg" else ("none",):
            test = Test(name, averaging, wanted.unit, wanted.permutations, wanted.seed)
            common = _tested(matches, level)
            if not common:
                what = "systems" if level == "sys" else "segments"
                raise InputError(f"--test {name}: no evaluator and people have both scores of {what}")
            left_out = tuple(one.name for one in matches if one.name not in common)
            yield _contest(common, test, level, left_out)


def _tested(matches: Sequence[Match], level: Level) -> dict[str, Paired]:
    """The scores that all evaluators have in common; of systems the given ones, or means of segments, for all alike."""
    if level == "sys" and all(one.given_systems for one in matches):
        return in_common({one.name: held for one in matches if (held := one.systems())})
    segments = in_common({one.name: held for one in matches if (held := one.segments())})
    if level == "seg":
        return segments
    return {who: replace(system_level(held), missing=held.missing) for who, held in segments.items()}


def _contest(common: Mapping[str, Paired], test: Test, level: Level, left_out: tuple[str, ...]) -> Contest:
    values = {who: _BY_NAME[test.statistic](held, test.averaging).value for who, held in common.items()}
    defined = {who: value for who, value in values.items() if value is not None}

    @cache
    def p_value(first: str, second: str) -> float | None:
        return difference(common[first], common[second], test).p_value

    ranked = clustered(defined, p_value)
    order = [one.name for one in ranked]
    pairs = [(first, second) for place, first in enumerate(order) for second in order[place + 1 :]]
    first = next(iter(common.values()))
    return Contest(
        test=test,
        level=level,
        ranked=tuple(ranked),
        p_values={pair: p_value(*pair) for pair in pairs},
        scores=len(first),
        left_out=(*left_out, *(who for who in values if who not in defined)),
        signature=test.signature(first),
    )


def in_common(scores: Mapping[str, Paired]) -> dict[str, Paired]:
    """The scores of the translations that all evaluators have scores for. Raises :class:`InputError` if there is none.

    What one of them lacks was counted as missing before; here it is left out for all.
    """
    if not scores:
        return {}
    keys = {who: [row[:2] for row in held.rows()] for who, held in scores.items()}
    shared = set.intersection(*map(set, keys.values()))
    if not shared:
        raise InputError(f"--test: {', '.join(scores)} have no translation in common that all rated")
    found = {}
    for who, held in scores.items():
        mask = np.array([key in shared for key in keys[who]])
        arrays = {name: getattr(held, name)[mask].copy() for name in ("evaluator", "human", "system", "item")}
        lost = NOTHING._replace(absent=len(held.systems) * len(held.items) - len(shared))
        found[who] = replace(held, **arrays, missing=lost)
    return found


FEW = 5
"""Systems below which their level means little."""
_SHOWN = 3


def warnings(matches: Sequence[Match], found: Agreement) -> list[str]:
    """All that a reader should know before believing the tables."""
    whole = [block for block in found.blocks if block.part is None]
    return [
        *_few_systems(whole),
        *_others(matches),
        *_uneven(matches, whole),
        *_pairs(matches),
        *_signatures(matches),
        *_same(matches),
        *_references(matches),
        *_contrary(whole, found.human.name),
    ]


def _few_systems(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        number = max(entry.statistics[0].scores for entry in block.entries)
        if block.level == "sys" and number < FEW:
            yield f"level of systems: there are {number}, and below {FEW} its statistics mean little"


def _others(matches: Sequence[Match]) -> Iterator[str]:
    for one in matches:
        if one.others:
            shown = ", ".join([*one.others[:_SHOWN], *(["…"] if len(one.others) > _SHOWN else [])])
            yield f"{one.name}: {len(one.others)} systems that it or people did not score are left out: {shown}"


def _uneven(matches: Sequence[Match], blocks: Sequence[Block]) -> Iterator[str]:
    """Means of systems that are about different segments."""
    given = {name for block in blocks for name in block.given}
    for one in matches if any(block.level == "sys" for block in blocks) else ():
        by_system = Counter(row.system for row in one.rows if row.evaluator is not None and row.human is not None)
        if one.name not in given and len(set(by_system.values())) > 1:
            items = len({row.item for row in one.rows})
            lost = items * len({row.system for row in one.rows}) - sum(by_system.values())
            yield (
                f"{one.name}: the means of systems are about different segments: {min(by_system.values())} to "
                f"{max(by_system.values())} of each have both scores (left out: {lost})"
            )


def _pairs(matches: Sequence[Match]) -> Iterator[str]:
    held = dict.fromkeys(
        f"{about.source_lang}-{about.target_lang}"
        for one in matches
        for about in one.human.about.values()
        if about.source_lang and about.target_lang
    )
    if len(held) > 1:
        shown = ", ".join([*list(held)[:_SHOWN], *(["…"] if len(held) > _SHOWN else [])])
        yield f"scores of {len(held)} language pairs ({shown}) are compared with each other; -l takes one of them"


def _signatures(matches: Sequence[Match]) -> Iterator[str]:
    for one in matches:
        found = list(dict.fromkeys(comparable(signature) for signature in one.evaluator.signatures if signature))
        if len(found) > 1:
            shown = "; ".join([*found[:_SHOWN], *(["…"] if len(found) > _SHOWN else [])])
            yield f"{one.name}: its scores are of {len(found)} evaluators, taken for one: {shown}"


def _same(matches: Sequence[Match]) -> Iterator[str]:
    for one in matches:
        if same_scores(one):
            yield f"{one.name}: its scores are people's own ({one.human.name}), every one"
        elif one.evaluator.marks and _same_spans(one):
            yield f"{one.name}: its error spans are people's own ({one.human.name}), every one"


def same_scores(one: Match) -> bool:
    """Whether the evaluator's scores are people's own, every one."""
    return bool(one.rows) and all(row.evaluator == row.human for row in one.rows)


def _same_spans(one: Match) -> bool:
    theirs = one.human.segments
    both = [(given.errors, theirs[key].errors) for key, given in one.evaluator.segments.items() if key in theirs]
    marked = [(ours, people) for ours, people in both if ours]
    return bool(marked) and all(ours == people for ours, people in marked)


def _references(matches: Sequence[Match]) -> Iterator[str]:
    for one in matches:
        saw = one.evaluator.reference
        if saw and saw in one.human.names():
            yield f"{one.name}: saw the reference {saw}, which is one of the systems: --drop-systems {saw}"


def _contrary(blocks: Sequence[Block], human: str) -> Iterator[str]:
    correlated: dict[str, bool] = {}
    for entry in (entry for block in blocks for entry in block.entries):
        pearson = next(one.value for one in entry.statistics if one.name == "pearson")
        if pearson is not None:
            correlated[entry.evaluator] = correlated.get(entry.evaluator, False) or pearson < 0
    if correlated and all(correlated.values()):
        yield f"all correlate negatively; if people's lower scores are the better ones, say --lower {human}"
    for name in (name for name, contrary in correlated.items() if contrary):
        yield f"{name}: correlates negatively; if its lower scores are the better ones, say --lower {name}"


NO_VALUE = "–"
_HEADS = {
    "acc": "Acc", "spa": "SPA", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "acc-t": "Acc-t",
    "mae": "MAE", "mse": "MSE",
}  # fmt: skip
_AVERAGED = {"none": "all scores together", "item": "averaged by item", "system": "averaged by system"}
_LEVELS = {"sys": "level of systems", "seg": "level of segments"}
_SPANS = "level of error spans"


def tables(found: Agreement, spans: SpanLevel | None = None, width: int = 3) -> list[Table]:
    """All tables: whole levels, error spans, tests, and parts; ``width`` is the digits after the point."""
    whole = [_whole(block, width) for block in found.blocks if block.part is None]
    parts = groupby((block for block in found.blocks if block.part), key=lambda b: (b.grouping, b.level, b.averaging))
    return [
        *whole,
        *(_of_spans(spans, width) if spans else []),
        *(_tables_contest(one, width) for one in found.contests),
        *(_tables_parts(list(blocks), width) for _, blocks in parts),
    ]


def below(found: Agreement, spans: SpanLevel | None = None) -> list[str]:
    """The lines below the tables: why values are missing, and all signatures, each once."""
    statistics = [one for block in found.blocks for entry in block.entries for one in entry.statistics]
    signatures = [one.signature for one in statistics] + [one.signature for one in found.contests]
    marked = [one.score.signature for one in spans.measures] if spans else []
    scored = [f"people: {found.human.name}: {found.human.signature}"]
    scored += [f"{name}: {signature}" for name, signature in found.evaluators]
    return [*_reasons(found.blocks), *scored, *dict.fromkeys([*signatures, *marked])]


def _reasons(blocks: Iterable[Block]) -> Iterator[str]:
    """A line for each evaluator, level and reason for which statistics are not defined; parts in one line."""
    parts: dict[tuple[str, str, str], list[str]] = {}
    for block in blocks:
        for entry in block.entries:
            by_reason: dict[str, list[str]] = {}
            for one in entry.statistics:
                if one.value is None:
                    by_reason.setdefault(one.undefined or "", []).append(_HEADS[one.name])
            for reason, names in by_reason.items():
                where = f"{NO_VALUE} {entry.evaluator}, {_title(block)}"
                if block.part is None:
                    yield f"{where}: no {', '.join(names)}: {reason}"
                else:
                    parts.setdefault((where, ", ".join(names), f"{block.grouping}: {reason}"), []).append(block.part)
    for (where, lacking, reason), found in parts.items():
        shown = ", ".join(found) if len(found) <= MOST_PARTS else f"{len(found)} parts"
        yield f"{where}: no {lacking} in {shown} by {reason}"


def _title(block: Block) -> str:
    return _LEVELS[block.level] + (f", {_AVERAGED[block.averaging]}" if block.level == "seg" else "")


def _whole(block: Block, width: int) -> Table:
    note = f"scores of systems as given: {', '.join(block.given)}" if block.given else ""
    rows = tuple((entry.evaluator, *_cells(entry, block.entries, width)) for entry in block.entries)
    return Table(_title(block), ("evaluator", *_head(block.entries)), rows, note)


def _tables_parts(blocks: Sequence[Block], width: int) -> Table:
    first = blocks[0]
    shown = sorted(blocks, key=lambda block: -_scores(block))[:MOST_PARTS] if len(blocks) > MOST_PARTS else blocks
    entries = [entry for block in shown for entry in block.entries]
    rows = [
        (str(block.part) if place == 0 else "", entry.evaluator, *_cells(entry, entries, width))
        for block in shown
        for place, entry in enumerate(block.entries)
    ]
    left = len(blocks) - len(shown)
    note = f"{left} more, the smaller ones, are not shown: -f json has all" if left else ""
    title = f"by {first.grouping}: {_title(first)}"
    return Table(title, (str(first.grouping), "evaluator", *_head(entries)), tuple(rows), note, labels=2)


def _scores(block: Block) -> int:
    return max(entry.statistics[0].scores for entry in block.entries)


def _head(entries: Iterable[Entry]) -> list[str]:
    entries = list(entries)
    head = ["scores", *(["left out"] if _left_out(entries) else [])]
    for one in entries[0].statistics:
        head += [_HEADS[one.name], *(["ε"] if one.name == "acc-t" else [])]
    return head


def _left_out(entries: Iterable[Entry]) -> bool:
    return any(entry.statistics[0].missing.total for entry in entries)


def _cells(entry: Entry, entries: Sequence[Entry], width: int) -> Iterator[str]:
    yield f"{entry.statistics[0].scores:,}"
    if _left_out(entries):
        yield f"{entry.statistics[0].missing.total:,}"
    for one in entry.statistics:
        yield _number(one.value, width)
        if one.name == "acc-t":
            yield NO_VALUE if one.epsilon is None else f"{one.epsilon:.{width}g}"


def _number(value: float | None, width: int) -> str:
    return NO_VALUE if value is None else f"{value:.{width}f}"


def _tables_contest(contest: Contest, width: int) -> Table:
    test = contest.test
    averaged = f", {_AVERAGED[test.averaging]}" if contest.level == "seg" else ""
    order = [one.name for one in contest.ranked]
    rows = tuple(
        (one.name, str(one.rank), _number(one.value, width), *_p_values(contest, one.name, order))
        for one in contest.ranked
    )
    note = (
        f"p(2): the chance that the row leads the second row by as much; {test.permutations:,} permutations of "
        f"{contest.scores:,} scores that all have; in one rank nobody is significantly worse (p ≤ 0.05) than another"
    )
    note += f"; not defined for {', '.join(contest.left_out)}" if contest.left_out else ""
    columns = [f"p({place})" for place in range(2, len(order) + 1)]
    title = f"test by {_HEADS[test.statistic]}: {_LEVELS[contest.level]}{averaged}"
    return Table(title, ("evaluator", "rank", _HEADS[test.statistic], *columns), rows, note)


def _p_values(contest: Contest, name: str, order: Sequence[str]) -> Iterator[str]:
    for other in order[1:]:
        p_value = contest.p_values.get((name, other))
        yield "" if (name, other) not in contest.p_values else _number(p_value, 3)


def _of_spans(spans: SpanLevel, width: int) -> Iterator[Table]:
    head = ("evaluator", "precision", "recall", "F1", "macro F1", "marked", "by people", "segments", "left out")
    rows = tuple((one.kind, *_span_cells(one, width)) for one in spans.measures)
    note = "marked, by people: characters, or spans; left out: of the evaluator + of people (see the signatures)"
    yield Table(_SPANS, ("measure", *head), rows, note, labels=2)
    kinds = list(dict.fromkeys(one.kind for one in spans.thresholds))
    curves = groupby(spans.thresholds, key=lambda one: one.evaluator)
    body = tuple((who, *(_number(one.score.f1, width) for one in of)) for who, of in curves)
    yield Table(f"{_SPANS}: F1 of matches by threshold", ("evaluator", *kinds), body)
    for grouping, entries in spans.groups.items():
        ordered = sorted(entries, key=lambda one: SEVERITIES.index(one.kind) if grouping == "severity" else one.kind)
        found = tuple((one.kind, *_span_cells(one, width)) for one in ordered)
        if found:
            yield Table(f"{_SPANS}: characters by {grouping}", (grouping, *head), found, labels=2)


def _span_cells(one: SpanEntry, width: int) -> tuple[str, ...]:
    found = one.score
    rates = (found.precision, found.recall, found.f1, found.macro_f1)
    left_out = f"{found.predicted_left_out.total:,} + {found.gold_left_out.total:,}"
    numbers = (f"{found.predicted:,.0f}", f"{found.gold:,.0f}", f"{found.segments:,}", left_out)
    return (one.evaluator, *(_number(rate, width) for rate in rates), *numbers)


def as_json(found: Agreement, spans: SpanLevel | None, warnings: Sequence[str]) -> str:
    """``levels`` has an object for each evaluator, level, averaging and part."""
    return json.dumps(
        {
            "human": found.human._asdict(),
            "evaluators": [one._asdict() for one in found.evaluators],
            "levels": [one for block in found.blocks for one in _data_block(block)],
            "spans": _spans(spans) if spans else None,
            "tests": [_data_contest(one) for one in found.contests],
            "warnings": list(warnings),
        },
        indent=1,
        ensure_ascii=False,
        allow_nan=False,
    )


def _data_block(block: Block) -> list[dict[str, Any]]:
    about = {"level": block.level, "averaging": block.averaging, "grouping": block.grouping, "part": block.part}
    return [
        {
            "evaluator": entry.evaluator,
            **about,
            "given": entry.evaluator in block.given,
            "statistics": {one.name: asdict(one) | {"missing": one.missing._asdict()} for one in entry.statistics},
        }
        for entry in block.entries
    ]


def _data_contest(contest: Contest) -> dict[str, Any]:
    return {
        "statistic": contest.test.statistic,
        "level": contest.level,
        "averaging": contest.test.averaging,
        "scores": contest.scores,
        "ranked": [one._asdict() for one in contest.ranked],
        "p_values": [{"better": a, "worse": b, "p_value": p} for (a, b), p in contest.p_values.items()],
        "left_out": list(contest.left_out),
        "signature": contest.signature,
    }


def _spans(spans: SpanLevel) -> dict[str, Any]:
    return {
        "measures": [_span(one, "measure") for one in spans.measures],
        "thresholds": [_span(one, "threshold") for one in spans.thresholds],
        **{grouping: [_span(one, grouping) for one in entries] for grouping, entries in spans.groups.items()},
    }


def _span(one: SpanEntry, kind: str) -> dict[str, Any]:
    score = asdict(one.score)
    left_out = {name: value._asdict() for name, value in vars(one.score).items() if name.endswith("left_out")}
    return {"evaluator": one.evaluator, kind: one.kind, **score, **left_out}
