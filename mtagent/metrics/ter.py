"""TER: the edits from one text to another, exactly as sacreBLEU counts them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, takewhile
from math import ceil, floor
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

MOST_COMPARED = 10**10
"""The length of one text times that of the other up to which any distance is computed: half a second."""
MOST_CHANGES = 20_000
"""For longer texts: distances that are computed."""
REPLACED = "long:replaced"
"""What a signature says where a distance is not the least one."""
_HINT = 64  # a first guess, from which rapidfuzz goes up: texts that are much alike are compared much faster


class Changes(NamedTuple):
    """How many items were inserted, deleted or substituted; ``least`` if that is the minimum."""

    number: int
    least: bool = True


def changes(before: Sequence[object], after: Sequence[object]) -> Changes:
    """The Levenshtein distance of two texts.

    If it is above :data:`MOST_CHANGES` in texts beyond :data:`MOST_COMPARED`, everything between the first and the last
    difference counts as replaced.
    """
    if before == after:
        return Changes(0)
    if len(before) * len(after) <= MOST_COMPARED:
        return Changes(Levenshtein.distance(before, after, score_hint=_HINT))
    distance = Levenshtein.distance(before, after, score_cutoff=MOST_CHANGES, score_hint=_HINT)
    if distance <= MOST_CHANGES:
        return Changes(distance)
    start = _common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _common(before[::-1], after[::-1]))
    return Changes(max(len(before), len(after)) - start - end, least=False)


def _common(text: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common beginning of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))


MOST_SHIFTED, MOST_DISTANT, BEAM, MOST_TRIED = 10, 50, 25, 1000
"""Words in a shift, words that it may cross, half the width of the band, and shifts tried for one sentence."""
MOST_WORDS = 20_000
"""Words in a text, beyond which no shift is tried; sacreBLEU would hold a matrix of 3 GB for such a text."""
NO_SHIFTS = "long:noshifts"
"""What a signature says where none was tried."""
_INFINITE = 10**16


class _Shift(NamedTuple):
    """Move ``length`` words from ``start`` to before word ``target``."""

    start: int
    length: int
    target: int


class _Row(NamedTuple):
    """The part of a matrix row that lies in the band: from column ``first`` on."""

    first: int
    costs: list[int]

    def at(self, column: int) -> int:
        """The cost in ``column``."""
        place = column - self.first
        return self.costs[place] if 0 <= place < len(self.costs) else _INFINITE

    def cut(self, start: int, end: int) -> list[int]:
        """The costs from column ``start`` to before ``end``."""
        costs = self.costs[max(0, start - self.first) : max(0, end - self.first)]
        costs = [_INFINITE] * (min(end, self.first) - start) + costs
        return costs + [_INFINITE] * (end - start - len(costs))


_Rank = tuple[int, int, int]
_Matrix = list[_Row]


class _Alignment(NamedTuple):
    """Where the reference's words stand in the translation, and how many words before each position are errors."""

    places: list[int]
    wrong_reference: list[int]
    wrong_translation: list[int]


class Edits(NamedTuple):
    """The number of edits, and a ``remark`` for the signature if they were not all searched for."""

    number: int
    remark: str = ""


def edits(translation: Sequence[str], reference: Sequence[str]) -> Edits:
    """The edits that turn the words of ``translation`` into those of ``reference``.

    In texts of more than :data:`MOST_WORDS` words shifts are not tried, as the remark says.
    """
    if not reference or translation == reference:
        return Edits(len(translation) if not reference else 0)
    if max(len(translation), len(reference)) > MOST_WORDS:
        number, least = changes(translation, reference)
        return Edits(number, NO_SHIFTS if least else REPLACED)
    return Edits(_with_shifts(translation, reference))


def _with_shifts(translation: Sequence[str], reference: Sequence[str]) -> int:
    letters: defaultdict[str, str] = defaultdict(map(chr, count(1)).__next__)
    ours, theirs = "".join(letters[word] for word in translation), "".join(letters[word] for word in reference)
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
    return shifts + rows[-1].costs[-1]


def _best(ours: str, theirs: str, possible: list[_Shift], rows: _Matrix) -> tuple[str, _Matrix] | None:
    """The text after the best shift, and its matrix; ``None`` if no shift lowers the distance.

    The best shift leaves the smallest distance; of equal ones the longest, then the first, then the one that moves
    farthest to the front.
    """
    now = rows[-1].costs[-1]
    least = {s: Levenshtein.distance(_shifted(ours, s), theirs, score_cutoff=now - 1) for s in possible}
    order = sorted((least[s], (-s.length, s.start, s.target), s) for s in least if least[s] < now)
    best: tuple[int, _Rank, str, _Matrix] | None = None
    for at_least, rank, shift in order:
        if best is not None and (at_least, rank) > best[:2]:
            break  # neither this one nor those after it can be better
        text = _shifted(ours, shift)
        matrix = _rows(text, theirs, rows[: min(shift.start, shift.target) + 1])
        distance = matrix[-1].costs[-1]
        if distance < now and (best is None or (distance, rank) < best[:2]):
            best = (distance, rank, text, matrix)
    return None if best is None else best[2:]


def _shifted(text: str, shift: _Shift) -> str:
    start, length, target = shift
    moved, rest = text[start : start + length], text[:start] + text[start + length :]
    # Within the shifted words the target counts from their start, elsewhere from that of the text.
    at = target if target <= start + length else target - length
    return rest[:at] + moved + rest[at:]


def _shifts(ours: str, theirs: str, alignment: _Alignment, tried: int) -> Iterator[_Shift]:
    """All shifts that sacreBLEU tries, in its order, up to the run of words that reaches its limit."""
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
    """Runs of equal words, as (start in ours, start in theirs, length), shorter ones first."""
    where: defaultdict[str, list[int]] = defaultdict(list)
    for there, letter in enumerate(theirs):
        where[letter].append(there)
    for start, letter in enumerate(ours):
        places = where.get(letter, [])
        near = slice(bisect_left(places, start - MOST_DISTANT), bisect_right(places, start + MOST_DISTANT))
        for there in places[near]:
            longest = min(len(ours) - start, len(theirs) - there, MOST_SHIFTED)
            for length in range(1, longest + 1):
                if ours[start + length - 1] != theirs[there + length - 1]:
                    break
                yield start, there, length


def _rows(ours: str, theirs: str, known: _Matrix) -> _Matrix:
    """The matrix of edit distances between all beginnings of both texts, within a band around its diagonal.

    ``known`` holds its first rows, from a text of the same length with the same beginning.
    """
    width = len(theirs)
    ratio = width / len(ours) if ours else 1
    beam = ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM
    rows = [*known] or [_Row(0, list(range(width + 1)))]
    for i in range(len(rows), len(ours) + 1):
        middle = floor(i * ratio)
        first, end = max(0, middle - beam), min(width + 1, middle + beam)
        rows.append(_row(rows[-1], ours[i - 1], theirs, first, width + 1 if i == len(ours) else end))
    return rows


def _row(above: _Row, letter: str, theirs: str, first: int, end: int) -> _Row:
    """The next row, from column ``first`` to before ``end``."""
    if first == 0:
        costs = [left := above.costs[0] + 1]
        diagonal, *over = above.cut(0, end)
    else:
        costs, left = [], _INFINITE
        diagonal, *over = above.cut(first - 1, end)
    for other, higher in zip(theirs[max(0, first - 1) : end - 1], over, strict=True):
        cost = diagonal if other == letter else diagonal + 1
        diagonal = higher
        if higher < cost:
            cost = higher + 1
        if left < cost:
            cost = left + 1
        costs.append(cost)
        left = cost
    return _Row(first, costs)


def _aligned(ours: str, theirs: str, rows: _Matrix) -> _Alignment:
    """Read the matrix from its end: a match or substitution goes before a deletion, and that before an insertion."""
    places, wrong_there, wrong_here = [-1] * len(theirs), [0] * len(theirs), [1] * len(ours)
    i, j = len(ours), len(theirs)
    while j:
        cost, diagonal = rows[i].at(j), rows[i - 1].at(j - 1) if i else _INFINITE
        same = i > 0 and ours[i - 1] == theirs[j - 1]
        if i and cost == diagonal + (not same):
            i, j = i - 1, j - 1
            places[j], wrong_there[j], wrong_here[i] = i, int(not same), int(not same)
        elif i and cost == rows[i - 1].at(j) + 1:
            i -= 1
        else:
            j -= 1
            places[j], wrong_there[j] = i - 1, 1
    return _Alignment(places, [0, *accumulate(wrong_there)], [0, *accumulate(wrong_here)])
