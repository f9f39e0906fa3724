"""Ratings in the files of mt-metrics-eval: ``.seg.score``, ``.sys.score`` and ``.seg.rating``.

Each line begins with the system. Systems follow each other, and the segments of each are in input order. ``None`` is a
missing score or rating, an empty list of errors a text judged error-free. Ends of spans are exclusive.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

from mtagent import mqm
from mtagent.candidates import Candidates
from mtagent.errors import ConfigError, OutputError
from mtagent.formats.files import STANDARD, Sink, replacing
from mtagent.formats.ratings.places import Place, place_of
from mtagent.formats.ratings.protocol import Ratings
from mtagent.records import ErrorSpan, Rated

_ENDS = (".seg.score", ".sys.score", ".seg.rating")


@dataclass(frozen=True)
class Mtme:
    """Three files with the name that is given and the three ends, whichever of them was named."""

    name: str = "mtme"
    suffixes: tuple[str, ...] = _ENDS

    def paths(self, output: Path) -> tuple[Path, ...]:
        """``NAME.seg.score``, ``NAME.sys.score`` and ``NAME.seg.rating``."""
        if output == STANDARD:
            raise ConfigError("mtme writes several files: give -o NAME.seg.score")
        stem = next((output.name.removesuffix(end) for end in _ENDS if output.name.endswith(end)), output.name)
        return tuple(output.with_name(stem + end) for end in _ENDS)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """The files hold no texts; only the names of systems may get into each other's way."""
        shared = Counter(plain_name(system) for system in candidates.translations)
        if twice := [system for system in candidates.translations if shared[plain_name(system)] > 1]:
            raise OutputError(
                f"{output}: mtme allows no '.' and '-' in names, and without them {' and '.join(map(repr, twice))} "
                "are the same: name them otherwise with -t NAME=FILE"
            )

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the three files."""
        unplaced = 0
        with ExitStack() as stack:
            scores, averages, spans = (stack.enter_context(replacing(path)) for path in self.paths(output))
            for system in ratings.systems:
                unplaced += _write_system(system, ratings, scores, averages, spans)
        return _remarks(ratings.systems, unplaced)


def plain_name(name: str) -> str:
    """``name`` as mt-metrics-eval allows it: no dot, no hyphen, no white space."""
    return re.sub(r"[.\-\s]", "_", name)


def _write_system(system: str, ratings: Ratings, scores: Sink, averages: Sink, spans: Sink) -> int:
    """Write the lines of one system, and return how many of its spans have no place in the text."""
    name, found, unplaced = plain_name(system), [], 0
    for rated in ratings.read(system):
        found.append(rated.rating.score if rated.rating else None)
        line, lost = _rating(rated)
        spans.write(f"{name}\t{line}\n")
        unplaced += lost
    write_scores(name, found, scores, averages)
    return unplaced


def write_scores(
    name: str, found: Sequence[float | None], scores: Sink, averages: Sink, *, given: float | None = None
) -> None:
    """Write a line per segment, and the mean of all; ``None`` = not rated. ``given`` stands in place of the mean.

    There is no mean where a segment is not rated: that of the others would look better or worse than the system is.
    """
    rated = [score for score in found if score is not None]
    for score in found:
        scores.write(f"{name}\t{score}\n")
    if given is not None:
        averages.write(f"{name}\t{given}\n")
        return
    averages.write(f"{name}\t{fsum(rated) / len(rated) if rated and len(rated) == len(found) else None}\n")


def _rating(rated: Rated) -> tuple[str, int]:
    """``JSON⇥RATER`` or ``None``, and how many spans have no place."""
    rating = rated.rating
    if rating is None:
        return "None", 0
    return rating_line(rating.errors, rating.evaluator, rated.segment.source, rated.translation)


def rating_line(errors: Sequence[ErrorSpan] | None, rater: str, source: str, translation: str) -> tuple[str, int]:
    """``JSON⇥RATER``, or ``None`` where no errors are known of; and how many errors have no place."""
    if errors is None:
        return "None", 0
    placed = [(span, place_of(span, source, translation)) for span in errors]
    found = json.dumps({"errors": [_error(span, place) for span, place in placed]}, ensure_ascii=False)
    rater = re.sub(r"\s", "_", rater)
    return f"{found}\t{rater}", sum(place is None for _, place in placed)


def _error(span: ErrorSpan, place: Place | None) -> dict[str, Any]:
    """An error without a place is an empty span at the start: it overlaps nothing, and its severity still counts."""
    start, end, in_source = place or Place(0, 0, span.side != "translation")
    return {
        "start": start,
        "end": end,
        "category": span.category,
        "severity": span.severity,
        "score": mqm.weight(span) if span.penalty is None else span.penalty,
        "is_source_error": in_source,
    }


def _remarks(systems: tuple[str, ...], unplaced: int) -> tuple[str, ...]:
    renamed = [f"{system} is {plain_name(system)}" for system in systems if plain_name(system) != system]
    remarks = [f"mtme allows no '.' and '-' in names: {', '.join(renamed)} in the files"] if renamed else []
    if unplaced:
        remarks.append(f"{unplaced} errors have no known place in the text: they stand as empty spans at its start")
    return tuple(remarks)
