"""The rows' scores on some of the segments: those of a domain, of a length, of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from mtagent import languages, marks
from mtagent.comparison.rows import Part, Row
from mtagent.errors import ConfigError
from mtagent.metrics.significance import counted
from mtagent.protocols import Metric, Releases
from mtagent.records import Segment

Grouping = Literal["domain", "length", "document"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
_UP_TO = {"words": (10, 20, 40, 80), "characters": (20, 40, 80, 160)}
_Scorer = Callable[[Sequence[int]], float]


def parts_by(
    grouping: Grouping, rows: Sequence[Row], segments: Sequence[Segment], metrics: Sequence[Sequence[Metric]]
) -> tuple[Part, ...]:
    """The parts of ``grouping``: by length from short to long, others in the order of the segments.

    ``metrics`` holds, for each cell, a metric for each row.
    """
    scorers = [
        [_scorer(of_row[number], segments, row, place) for place, of_row in enumerate(metrics)]
        for number, row in enumerate(rows)
    ]
    parts = tuple(
        Part(name, len(places), tuple(tuple(scorer(places) for scorer in of_row) for of_row in scorers))
        for name, places in grouped(grouping, segments)
    )
    for metric in (one for of_row in metrics for one in of_row if isinstance(one, Releases)):
        metric.release()
    return parts


def grouped(grouping: Grouping, segments: Sequence[Segment]) -> list[tuple[str, list[int]]]:
    """The names of the parts, each with the places of its segments, in the order of :func:`parts_by`."""
    if grouping not in GROUPINGS:
        raise ConfigError(f"no grouping {grouping!r}; there are: {', '.join(GROUPINGS)}")
    found: dict[Any, list[int]] = {}
    key = _length if grouping == "length" else lambda segment: getattr(segment, grouping) or None
    for place, segment in enumerate(segments):
        found.setdefault(key(segment), []).append(place)
    if grouping == "length":
        return [(_bucket(*size), found[size]) for size in sorted(found, key=lambda size: (size[0] != "words", size[1]))]
    return [(f"no {grouping}" if name is None else name, places) for name, places in found.items()]


def _length(segment: Segment) -> tuple[str, int]:
    """What the length of the source is counted in, and the number of its bucket."""
    unit = "words" if languages.has_spaces(segment.source_lang) else "characters"
    size = len(marks.words(segment.source)) if unit == "words" else sum(not c.isspace() for c in segment.source)
    return unit, sum(size > most for most in _UP_TO[unit])


def _bucket(unit: str, number: int) -> str:
    bounds = (0, *_UP_TO[unit])
    return (
        f"over {bounds[-1]} {unit}"
        if number == len(bounds) - 1
        else f"{bounds[number] + bool(number)}–{bounds[number + 1]} {unit}"
    )


def _scorer(metric: Metric, segments: Sequence[Segment], row: Row, place: int) -> _Scorer:
    """The score of ``row`` on some of the segments: from the counts of all where these add up, else scored anew."""
    try:
        rows, combined = counted(metric, segments, row.texts, row.cells[place].score)
    except ConfigError:
        return lambda places: metric.score(_at(segments, places), _at(row.texts, places)).value
    return lambda places: float(combined(np.asarray(rows)[places].sum(axis=0, keepdims=True))[0])


def _at(values: Sequence[Any], places: Iterable[int]) -> list[Any]:
    return [values[place] for place in places]
