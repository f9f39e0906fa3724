"""The edit distance of two texts, words or characters alike, in a time that is bounded for texts of any length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
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
    """How many items are inserted, deleted or substituted; ``least`` where fewer would not do."""

    number: int
    least: bool = True


def changes(before: Sequence[object], after: Sequence[object]) -> Changes:
    """The Levenshtein distance of two texts.

    Where it is above :data:`MOST_CHANGES` in texts beyond :data:`MOST_COMPARED`, all that stands between the first
    difference and the last counts as replaced.
    """
    if before == after:
        return Changes(0)
    if len(before) * len(after) <= MOST_COMPARED:
        return Changes(Levenshtein.distance(before, after, score_hint=_HINT))
    found = Levenshtein.distance(before, after, score_cutoff=MOST_CHANGES, score_hint=_HINT)
    if found <= MOST_CHANGES:
        return Changes(found)
    start = _common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _common(before[::-1], after[::-1]))
    return Changes(max(len(before), len(after)) - start - end, least=False)


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """With how many equal items two texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
