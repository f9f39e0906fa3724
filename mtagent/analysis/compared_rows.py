"""The rows of a comparison, the differences between them, and both in parts of the segments.

``None`` means that there is no such number; it is never zero.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mtagent.analysis.score import Pair
from mtagent.analysis.staged_run import Cost, Outcomes
from mtagent.errors import ConfigError
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.metrics.protocol import HeavyMetric, Metric
from mtagent.metrics.significance import (
    FEW,
    NOISE,
    Bounds,
    Interval,
    Resampling,
    Significance,
    Statistics,
    holm,
    is_significant,
    paired_tests,
    statistics_of,
)
from mtagent.records import Score, Segment
from mtagent.text import scripts
from mtagent.text.foreign import Flag

Grouping = Literal["domain", "length", "document"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
AGAINST = ("former", "first", "given", "all")
"""What rows can be compared with, besides a row that is named."""
_MOST_SEGMENTS = 10


class Cell(NamedTuple):
    """A row's score by one metric."""

    score: Score
    difference: float | None = None
    """Its score minus the score of the ``former`` row."""
    interval: Interval | None = None


@dataclass(frozen=True)
class Moved:
    """How the texts of a row differ from those of the former row."""

    edited_percent: float
    """Words edited per 100 words of these texts (HTER, Snover et al. 2006). No reference is involved."""
    characters: int
    """The sum of Levenshtein distances."""
    changed: float
    """The share of segments with another text."""
    regressed: float | None = None
    """The share of segments that score worse by the deciding metric."""
    gain_to_edit: float | None = None
    """The gain by the deciding metric per point of ``edited_percent``."""


@dataclass(frozen=True)
class ComparedTexts:
    """A row: the given texts, the texts after a stage, the final texts of a run, or those of a file."""

    name: str
    """Printed, and unique."""
    run: str | None
    """``None`` for a file, and for given texts that several runs share."""
    stage: str | None
    """``given``, ``translate`` …, ``final``; ``None`` for a file."""
    texts: tuple[str, ...]
    cells: tuple[Cell, ...] = ()
    former: str | None = None
    """The row that ``Cell.difference`` and ``moved`` refer to: the stage before; for ``final`` the first row of its
    run; for a file the first row of all."""
    moved: Moved | None = None
    outcomes: Outcomes | None = None
    cost: Cost | None = None
    """For ``final``, the cost of the whole run."""
    flags: tuple[tuple[Flag, ...], ...] = ()
    """What is wrong with each text as a whole."""


class Contrast(NamedTuple):
    """The difference between two rows by one metric: the score of ``row`` minus the score of ``against``."""

    row: str
    against: str
    metric: str
    difference: float
    bounds: Bounds | None
    """The 95 % interval of the difference, by paired bootstrap; ``None`` without one."""
    p_value: float | None
    """``None`` if nothing was tested, or if the two rows are equal in every segment."""
    p_holm: float | None
    """Corrected for all tests by this metric in the same table (Holm 1979); rows with equal texts are tested once."""
    wins: int
    """Segments on which ``row`` scores better, whichever direction that is."""
    ties: int
    losses: int
    won: tuple[tuple[str, float], ...] = ()
    """Ids of the segments on which ``row`` is better by most, with how much; at most ten."""
    lost: tuple[tuple[str, float], ...] = ()

    @property
    def is_significant(self) -> bool:
        """Whether the difference gets a star, by the rule of :func:`mtagent.metrics.significance.is_significant`."""
        return is_significant(self.difference, self.p_holm, self.bounds)


@dataclass(frozen=True)
class Part:
    """Segments of one domain, length or document."""

    name: str
    places: tuple[int, ...]
    """Of its segments among all."""
    scores: tuple[tuple[float, ...], ...]
    """By row, then by metric."""
    contrasts: tuple[Contrast, ...] = ()
    """Of the same pairs of rows as for all segments; corrected for all parts of the grouping."""
    costs: Mapping[str, Cost] | None = None
    """By row; rows without a run have none."""


class SegmentGroup(NamedTuple):
    """Segments whose rows are compared."""

    places: Sequence[int] | slice
    scores: Sequence[Sequence[float]]
    """By row, then by metric."""
    tests: Sequence[Sequence[Significance]]
    """By metric, then by pair; empty if nothing was tested."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all segments."""
        return isinstance(self.places, slice)


# --- differences between rows


def pairs_of(rows: Sequence[ComparedTexts], against: str | None = None) -> list[Pair]:
    """The pairs to compare: first the row ``against`` which, then the row.

    By default each row with its former row, and the end of each run with the end of the first run. ``against`` is one
    of :data:`AGAINST`, or the name of a row, or of a run, whose end it then is. Raises :class:`ConfigError` for any
    other name.
    """
    if against is None:
        return list(dict.fromkeys(_pairs_with_former(rows) + _pairs_of_ends(rows)))
    if against == "former":
        return list(dict.fromkeys(_pairs_with_former(rows)))
    if against == "given":
        return _pairs_with_given(rows)
    names = [row.name for row in rows]
    if against == "all":
        return list(combinations(names, 2))
    if against == "first":
        against = names[0]
    elif against not in names:
        against = _names_by_run(rows, FINAL).get(against, against)
    if against not in names:
        raise ConfigError(
            f"--against {against!r}: expected {', '.join(AGAINST)}, or the name of a row; "
            f"the rows are: {', '.join(names)}"
        )
    return [(against, name) for name in names if name != against]


def _names_by_run(rows: Sequence[ComparedTexts], stage: str) -> dict[str | None, str]:
    """The names of the rows of ``stage``, by run."""
    names = {}
    for row in rows:
        if row.stage == stage:
            names[row.run] = row.name
    return names


def _pairs_with_former(rows: Sequence[ComparedTexts]) -> list[Pair]:
    """Each row with its former row."""
    pairs = []
    for row in rows:
        if row.former is not None:
            pairs.append((row.former, row.name))
    return pairs


def _pairs_of_ends(rows: Sequence[ComparedTexts]) -> list[Pair]:
    """The end of each run with the end of the first run."""
    first_end, *other_ends = _names_by_run(rows, FINAL).values() or [""]
    return [(first_end, end) for end in other_ends]


def _pairs_with_given(rows: Sequence[ComparedTexts]) -> list[Pair]:
    """Each row with the given texts of its run; rows of files with the first given texts."""
    given = _names_by_run(rows, GIVEN)
    if not given:
        raise ConfigError("--against given: the runs translated the texts themselves, so there are no given texts")
    first = next(iter(given.values()))
    if len(rows) > 1 and rows[0].stage == GIVEN and rows[0].run is None:
        return [(first, row.name) for row in rows[1:]]  # all runs share the given texts
    pairs = []
    for row in rows:
        # A run that made its first translations itself has no given texts; a file has the first ones.
        start = first if row.run is None else given.get(row.run)
        if start is not None and row.name not in given.values():
            pairs.append((start, row.name))
    return pairs


def contrasts_in(
    groups: Sequence[SegmentGroup],
    rows: Sequence[ComparedTexts],
    metrics: Sequence[str],
    pairs: Sequence[Pair],
    segments: Sequence[str],
) -> list[tuple[Contrast, ...]]:
    """The contrasts of ``pairs`` in each group, pair by pair and metric by metric. ``segments`` are the ids."""
    distinct = [_distinct(pairs, rows, group.places) for group in groups]
    contrasts: list[list[Contrast]] = [[] for _ in groups]
    for pair_number, (first, second) in enumerate(_row_places(pairs, rows)):
        for number, metric in enumerate(metrics):
            gains = gains_of(rows[first], rows[second], number)
            for group, contrasts_of_group in zip(groups, contrasts, strict=True):
                test = group.tests[number][pair_number] if group.tests else Significance(None, None)
                group_gains = gains[group.places]
                wins = int(np.count_nonzero(group_gains > NOISE))
                losses = int(np.count_nonzero(group_gains < -NOISE))
                contrasts_of_group.append(
                    Contrast(
                        row=rows[second].name,
                        against=rows[first].name,
                        metric=metric,
                        difference=group.scores[second][number] - group.scores[first][number],
                        bounds=test.bounds,
                        p_value=test.p_value,
                        p_holm=None,
                        wins=wins,
                        ties=len(group_gains) - wins - losses,
                        losses=losses,
                        won=_largest(gains, segments) if group.is_whole else (),
                        lost=_largest(-gains, segments) if group.is_whole else (),
                    )
                )
    for number in range(len(metrics)):
        _correct(contrasts, number, len(metrics), distinct)
    return [tuple(contrasts_of_group) for contrasts_of_group in contrasts]


def _row_places(pairs: Sequence[Pair], rows: Sequence[ComparedTexts]) -> list[tuple[int, int]]:
    """The places of both rows of each pair."""
    names = [row.name for row in rows]
    places = []
    for first, second in pairs:
        places.append((names.index(first), names.index(second)))
    return places


def _distinct(
    pairs: Sequence[Pair], rows: Sequence[ComparedTexts], places: Sequence[int] | slice
) -> list[frozenset[str]]:
    """What each pair compares in a group: rows with the same texts there count as one."""
    first_with_texts: dict[tuple[str, ...], str] = {}
    representative = {}
    for row in rows:
        texts = row.texts
        if not isinstance(places, slice):
            texts = tuple(row.texts[place] for place in places)
        representative[row.name] = first_with_texts.setdefault(texts, row.name)
    return [frozenset((representative[first], representative[second])) for first, second in pairs]


def _correct(
    contrasts: list[list[Contrast]], metric: int, metrics: int, distinct: Sequence[Sequence[frozenset[str]]]
) -> None:
    """Set ``p_holm`` of all contrasts by one metric. The same test, made twice, counts once."""
    p_values: dict[tuple[int, frozenset[str], float | None], float | None] = {}
    for group, contrasts_of_group in enumerate(contrasts):
        for rows, contrast in zip(distinct[group], contrasts_of_group[metric::metrics], strict=True):
            p_values[group, rows, contrast.p_value] = contrast.p_value
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    for group, contrasts_of_group in enumerate(contrasts):
        for pair, rows in enumerate(distinct[group]):
            contrast = contrasts_of_group[pair * metrics + metric]
            p_holm = corrected[group, rows, contrast.p_value]
            contrasts_of_group[pair * metrics + metric] = contrast._replace(p_holm=p_holm)


def _largest(gains: NDArray[np.float64], segments: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """The segments with the largest gains above zero, the largest first."""
    largest = []
    for place in np.argsort(-gains, kind="stable")[:_MOST_SEGMENTS]:
        if gains[place] > NOISE:
            largest.append((segments[place], float(gains[place])))
    return tuple(largest)


def gains_of(first: ComparedTexts, row: ComparedTexts, place: int) -> NDArray[np.float64]:
    """How much each segment is better than in the row ``first``, whichever direction is better."""
    before, after = first.cells[place].score, row.cells[place].score
    gains = np.array(after.segments, dtype=np.float64) - np.array(before.segments, dtype=np.float64)
    return gains if after.higher_is_better else -gains


# --- parts of the segments


_LENGTHS = {"words": (10, 20, 40, 80), "characters": (20, 40, 80, 160)}


def parts_by(
    grouping: Grouping,
    rows: Sequence[ComparedTexts],
    segments: Sequence[Segment],
    metrics: Sequence[Sequence[Metric]],
    pairs: Sequence[Pair],
    resampling: Resampling | None,
) -> tuple[Part, ...]:
    """The parts of ``grouping``: lengths from short to long, others in the order of the segments.

    ``metrics`` holds, for each cell, a metric for each row. If the counts of a metric add up, the counts of a part
    are summed; other metrics score the part again. With a ``resampling``, ``pairs`` are tested in each part that has
    segments enough for a test.
    """
    named_groups = grouped(grouping, segments)
    labels = [cell.score.metric for cell in rows[0].cells]
    statistics = [_statistics(metrics_of_rows, rows, segments, cell) for cell, metrics_of_rows in enumerate(metrics)]
    pair_places = _row_places(pairs, rows)
    groups = []
    for _, places in named_groups:
        parts_of_metrics: list[list[Statistics]] = []
        scores: list[list[float]] = [[] for _ in rows]
        for metrics_of_rows, statistics_of_rows in zip(metrics, statistics, strict=True):
            if statistics_of_rows is None:  # the counts do not add up
                part_segments = [segments[place] for place in places]
                for row, metric, scores_of_row in zip(rows, metrics_of_rows, scores, strict=True):
                    part_texts = [row.texts[place] for place in places]
                    scores_of_row.append(metric.score(part_segments, part_texts).value)
                continue
            of_rows = [Statistics(whole.rows[places], whole.combined) for whole in statistics_of_rows]
            for part, scores_of_row in zip(of_rows, scores, strict=True):
                scores_of_row.append(part.score)
            parts_of_metrics.append(of_rows)
        tests: list[list[Significance]] = []
        if resampling is not None and pairs and len(places) >= FEW:
            tests = [test.significances for test in paired_tests(parts_of_metrics, pair_places, resampling)]
        groups.append(SegmentGroup(places, scores, tests))
    for metrics_of_rows in metrics:
        for metric in metrics_of_rows:
            if isinstance(metric, HeavyMetric):
                metric.release()
    ids = [segment.id for segment in segments]
    parts = []
    contrasts = contrasts_in(groups, rows, labels, pairs, ids)
    for (name, places), group, contrasts_of_part in zip(named_groups, groups, contrasts, strict=True):
        parts.append(Part(name, tuple(places), tuple(map(tuple, group.scores)), contrasts_of_part))
    return tuple(parts)


def _statistics(
    metrics: Sequence[Metric], rows: Sequence[ComparedTexts], segments: Sequence[Segment], cell: int
) -> list[Statistics] | None:
    """The counts of each row by one metric; ``None`` if they do not add up."""
    statistics = []
    for metric, row in zip(metrics, rows, strict=True):
        try:
            counts, combined = statistics_of(metric, segments, row.texts, row.cells[cell].score)
        except ConfigError:
            return None
        statistics.append(Statistics(np.asarray(counts), combined))
    return statistics


def grouped(grouping: Grouping, segments: Sequence[Segment]) -> list[tuple[str, list[int]]]:
    """The names of the parts and the places of their segments, in the order of :func:`parts_by`."""
    if grouping not in GROUPINGS:
        raise ConfigError(f"no grouping {grouping!r}; there are: {', '.join(GROUPINGS)}")
    groups: dict[Any, list[int]] = {}
    for place, segment in enumerate(segments):
        key: Any = None
        if grouping != "length":
            key = getattr(segment, grouping) or None
        elif scripts.has_spaces(segment.source_lang):
            key = "words", bisect_left(_LENGTHS["words"], len(scripts.words(segment.source)))
        else:
            size = sum(not character.isspace() for character in segment.source)
            key = "characters", bisect_left(_LENGTHS["characters"], size)
        groups.setdefault(key, []).append(place)
    parts = []
    if grouping != "length":
        for name, places in groups.items():
            parts.append((name or f"no {grouping}", places))
        return parts
    for unit, number in sorted(groups, key=lambda size: (size[0] != "words", size[1])):
        bounds = (0, *_LENGTHS[unit])
        if number == len(bounds) - 1:
            name = f"over {bounds[-1]} {unit}"
        else:
            # The first part begins with 0, the others one above the bound of the former.
            lowest = bounds[number] + 1 if number else 0
            name = f"{lowest}–{bounds[number + 1]} {unit}"
        parts.append((name, groups[unit, number]))
    return parts
