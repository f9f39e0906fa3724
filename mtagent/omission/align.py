"""A monotone alignment of two word sequences, near-linear in their length.

The common beginning and end are matched first. Long remainders are cut at n-grams that occur once on either side and
keep their order (as in patience diff); what lies between two cuts is aligned by its longest common subsequence, with
bit vectors (Hyyrö 2004). A remainder without anchors is cut into blocks, so that no text can take quadratic time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

BLOCK = 1500
_GRAM = 3

Pairs = list[tuple[int, int]]


def match(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Index pairs of equal words, rising on both sides."""
    size = min(len(before), len(after))
    head = 0
    while head < size and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < size - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = _middle(before[head : len(before) - tail], after[head : len(after) - tail])
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in middle),
        *((len(before) - k, len(after) - k) for k in range(tail, 0, -1)),
    ]


def _middle(before: Sequence[str], after: Sequence[str]) -> Pairs:
    if not before or not after:
        return []
    if len(before) <= BLOCK and len(after) <= BLOCK:
        return common_subsequence(before, after)
    found: Pairs = []
    for (i, j), (next_i, next_j) in pairwise([(0, 0), *anchors(before, after), (len(before), len(after))]):
        for low, high, from_, to in _blocks(i, next_i, j, next_j):
            found += [(low + x, from_ + y) for x, y in common_subsequence(before[low:high], after[from_:to])]
    return found


def _blocks(i: int, next_i: int, j: int, next_j: int) -> list[tuple[int, int, int, int]]:
    if i == next_i or j == next_j:
        return []
    count = -(-max(next_i - i, next_j - j) // BLOCK)
    rows = [i + (next_i - i) * k // count for k in range(count + 1)]
    columns = [j + (next_j - j) * k // count for k in range(count + 1)]
    return [(*row, *column) for row, column in zip(pairwise(rows), pairwise(columns), strict=True)]


def anchors(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Places where an n-gram that is unique on both sides starts, the longest chain that rises on both sides."""
    there = _unique(after)
    pairs = sorted((i, there[gram]) for gram, i in _unique(before).items() if gram in there)
    return [pairs[k] for k in _rising([j for _, j in pairs])]


def _unique(keys: Sequence[str]) -> dict[tuple[str, ...], int]:
    places: dict[tuple[str, ...], int] = {}
    for start in range(len(keys) - _GRAM + 1):
        gram = tuple(keys[start : start + _GRAM])
        places[gram] = -1 if gram in places else start
    return {gram: start for gram, start in places.items() if start >= 0}


def _rising(values: Sequence[int]) -> list[int]:
    """Indices of a longest strictly rising subsequence."""
    ends: list[int] = []
    tops: list[int] = []
    previous: list[int] = []
    for index, value in enumerate(values):
        place = bisect_left(tops, value)
        previous.append(ends[place - 1] if place else -1)
        if place == len(tops):
            tops.append(value)
            ends.append(index)
        else:
            tops[place], ends[place] = value, index
    chain = [ends[-1]] if ends else []
    while chain and previous[chain[-1]] >= 0:
        chain.append(previous[chain[-1]])
    return chain[::-1]


def common_subsequence(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """A longest common subsequence as index pairs; ``len(after)`` operations on numbers of ``len(before)`` bits."""
    places: dict[str, int] = {}
    for i, key in enumerate(before):
        places[key] = places.get(key, 0) | 1 << i
    ones = (1 << len(before)) - 1
    # In row j, bit i is 0 where the subsequence of before[:i + 1] and after[:j] is one longer than that of before[:i].
    rows = [ones]
    for key in after:
        row = rows[-1]
        hit = row & places.get(key, 0)
        rows.append((row + hit | row - hit) & ones)
    return _backtrack(rows, len(before), len(after))


def _backtrack(rows: Sequence[int], i: int, j: int) -> Pairs:
    found: Pairs = []
    while i and j:
        bit = 1 << i - 1
        if rows[j] & bit:
            i -= 1
        elif not rows[j - 1] & bit:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]
