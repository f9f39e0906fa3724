"""The edits that TER counts: insertions, deletions, substitutions and shifts of words, exactly as in sacreBLEU.

Snover et al. 2006 describe the measure; the limits below are Tercom's, as sacreBLEU has them. sacreBLEU computes a
banded edit distance for every shift that it tries. Here a plain edit distance (rapidfuzz, a microsecond) comes first:
it is never larger than the banded one, so only shifts that could win are computed with the band. Words are mapped to
characters, a sentence to a string, so that a shift is a matter of slices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from math import ceil, floor
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

MOST_SHIFTED, MOST_DISTANT, BEAM, MOST_TRIED = 10, 50, 25, 1000
"""Words in a shift, words that it may cross, half the width of the band, and shifts tried for one sentence."""
_INFINITE = 10**16


class _Shift(NamedTuple):
    """Move ``length`` words from ``start`` to before word ``target``."""

    start: int
    length: int
    target: int


_Rank = tuple[int, int, int]
_Matrix = list[list[int]]


class _Alignment(NamedTuple):
    """Where the reference's words stand in the translation, and how many words before each position are errors."""

    places: list[int]
    wrong_reference: list[int]
    wrong_translation: list[int]


def edits(translation: Sequence[str], reference: Sequence[str]) -> int:
    """The number of edits that turn the words of ``translation`` into those of ``reference``, shifts included."""
    if not reference:
        return len(translation)
    letters: defaultdict[str, str] = defaultdict(map(chr, count(1)).__next__)
    ours, theirs = "".join(letters[word] for word in translation), "".join(letters[word] for word in reference)
    if ours == theirs:
        return 0
    tried = shifts = 0
    rows = _rows(ours, theirs, [])
    while True:
        possible = list(_shifts(ours, theirs, _aligned(ours, theirs, rows), tried))
        tried += len(possible)
        if tried >= MOST_TRIED:
            break
        better = _best(ours, theirs, possible, rows)
        if better is None:
            break
        shifts += 1
        ours, rows = better
    return shifts + rows[-1][-1]


def _best(ours: str, theirs: str, possible: list[_Shift], rows: _Matrix) -> tuple[str, _Matrix] | None:
    """The text after the best shift, and its matrix; ``None`` where no shift brings it nearer than ``rows`` says it is.

    The best one leaves the smallest distance; among equals it is the longest, then the first, then the one that goes
    farthest to the front.
    """
    texts = {shift: _shifted(ours, shift) for shift in possible}
    least = {shift: Levenshtein.distance(text, theirs) for shift, text in texts.items()}
    order = sorted((least[s], (-s.length, s.start, s.target), s) for s in texts if least[s] < rows[-1][-1])
    best: tuple[int, _Rank, str, _Matrix] | None = None
    for at_least, rank, shift in order:
        if best is not None and (at_least, rank) > best[:2]:
            break  # neither this one nor those after it can be better
        same = rows[: min(shift.start, shift.target) + 1]
        found = _rows(texts[shift], theirs, same)
        distance = found[-1][-1]
        if distance < rows[-1][-1] and (best is None or (distance, rank) < best[:2]):
            best = (distance, rank, texts[shift], found)
    return None if best is None else best[2:]


def _shifted(text: str, shift: _Shift) -> str:
    start, length, target = shift
    moved, rest = text[start : start + length], text[:start] + text[start + length :]
    # Within the shifted words the target counts from their start, elsewhere from that of the text.
    at = target if target <= start + length else target - length
    return rest[:at] + moved + rest[at:]


def _shifts(ours: str, theirs: str, alignment: _Alignment, tried: int) -> Iterator[_Shift]:
    """All shifts that sacreBLEU tries, in its order; it stops after the run of words with which it has tried enough."""
    places, wrong_there, wrong_here = alignment
    for start, there, length in _common_runs(ours, theirs):
        if wrong_here[start + length] == wrong_here[start] or wrong_there[there + length] == wrong_there[there]:
            continue
        if start <= places[there] < start + length:
            continue
        previous = -1
        for at in range(there - 1, there + length):
            target = places[at] + 1 if at >= 0 else 0
            if target != previous:
                previous = target
                tried += 1
                yield _Shift(start, length, target)
        if tried >= MOST_TRIED:
            return


def _common_runs(ours: str, theirs: str) -> Iterator[tuple[int, int, int]]:
    """Runs of equal words, as (start in ours, start in theirs, length), each with the shorter ones at its start."""
    where = defaultdict(list)
    for there, letter in enumerate(theirs):
        where[letter].append(there)
    for start, letter in enumerate(ours):
        for there in where.get(letter, ()):
            if abs(there - start) > MOST_DISTANT:
                continue
            longest = min(len(ours) - start, len(theirs) - there, MOST_SHIFTED)
            for length in range(1, longest + 1):
                if ours[start + length - 1] != theirs[there + length - 1]:
                    break
                yield start, there, length


def _rows(ours: str, theirs: str, known: _Matrix) -> _Matrix:
    """The matrix of edit distances between all beginnings of both, within the band around its diagonal.

    ``known`` holds its first rows: those of another text with the same length and the same beginning.
    """
    width = len(theirs)
    ratio = width / len(ours) if ours else 1
    beam = ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM
    rows = [*known] or [list(range(width + 1))]
    for i in range(len(rows), len(ours) + 1):
        middle = floor(i * ratio)
        first, end = max(0, middle - beam), min(width + 1, middle + beam)
        rows.append(_row(rows[-1], ours[i - 1], theirs, first, width + 1 if i == len(ours) else end))
    return rows


def _row(above: list[int], letter: str, theirs: str, first: int, end: int) -> list[int]:
    row = [_INFINITE] * len(above)
    left = _INFINITE
    if first == 0:
        row[0] = left = above[0] + 1
        first = 1
    diagonal = above[first - 1]
    for j in range(first, end):
        cost = diagonal if theirs[j - 1] == letter else diagonal + 1
        diagonal = above[j]
        if diagonal < cost:
            cost = diagonal + 1
        if left < cost:
            cost = left + 1
        row[j] = left = cost
    return row


def _aligned(ours: str, theirs: str, rows: _Matrix) -> _Alignment:
    """Read the matrix from its end: a match or substitution goes before a deletion, and that before an insertion."""
    places, wrong_there, wrong_here = [-1] * len(theirs), [0] * len(theirs), [1] * len(ours)
    i, j = len(ours), len(theirs)
    while j:
        cost, diagonal = rows[i][j], rows[i - 1][j - 1] if i else _INFINITE
        same = i > 0 and ours[i - 1] == theirs[j - 1]
        if i and cost == diagonal + (not same):
            i, j = i - 1, j - 1
            places[j], wrong_there[j], wrong_here[i] = i, int(not same), int(not same)
        elif i and cost == rows[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
            places[j], wrong_there[j] = i - 1, 1
    return _Alignment(places, [0, *accumulate(wrong_there)], [0, *accumulate(wrong_here)])
