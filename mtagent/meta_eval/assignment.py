"""One partner for each span: the pairs with the highest sum of weights in which no span occurs twice."""

from __future__ import annotations

import numpy as np

from mtagent.meta_eval.marked import Bools, Floats, Ints


def best_pairs(first: Ints, second: Ints, weight: Floats, group: Ints) -> Bools:
    """Which pairs are chosen so that no first and no second occurs twice and the weights add up to the most.

    All arrays have an entry for each pair: the numbers of both, a weight > 0, and the segment, in rising order. With
    equal weights this is a matching of maximum size. Where only one side has rivals, the heaviest pair is taken; the
    other segments are solved one by one (Kuhn 1955).
    """
    if not len(first):
        return np.zeros(0, dtype=bool)
    alone = _alone(first, second), _alone(second, first)
    chosen = (alone[0] & _is_heaviest(first, weight)) | (alone[1] & _is_heaviest(second, weight))
    rivals = np.flatnonzero(~(alone[0] | alone[1]))
    if not len(rivals):
        return chosen
    for places in np.split(rivals, np.flatnonzero(np.diff(group[rivals])) + 1):
        rows, row = np.unique(first[places], return_inverse=True)
        columns, column = np.unique(second[places], return_inverse=True)
        table = np.zeros((len(rows), len(columns)))
        table[row, column] = weight[places]
        partner = heaviest(table)
        chosen[places] = partner[row] == column
    return chosen


def _alone(first: Ints, second: Ints) -> Bools:
    """Whether all partners of a pair's first have no other partner."""
    shared = np.bincount(second)[second] > 1
    found: Bools = np.bincount(first, shared)[first] == 0
    return found


def _is_heaviest(first: Ints, weight: Floats) -> Bools:
    """Whether a pair is the heaviest of its first (and the earliest of these)."""
    order = np.lexsort((-weight, first))
    leading = np.r_[True, np.diff(first[order]) > 0]
    found = np.zeros(len(first), dtype=bool)
    found[order[leading]] = True
    return found


def heaviest(table: Floats) -> Ints:
    """For each row the column that it gets, −1 for none; weights of 0 are no pairs. Rows × columns, weights ≥ 0."""
    if table.shape[0] > table.shape[1]:
        partner = np.full(table.shape[0], -1, dtype=np.int64)
        turned = heaviest(np.ascontiguousarray(table.T))
        partner[turned[turned >= 0]] = np.flatnonzero(turned >= 0)
        return partner
    partner = table.argmax(axis=1) if len(table) == 1 else _assigned(table.max() - table)
    partner[table[np.arange(len(table)), partner] <= 0] = -1
    return partner


def _assigned(cost: Floats) -> Ints:
    """The cheapest column for each row, no column twice: shortest augmenting paths with potentials (rows ≤ columns).

    Column 0 is no column, but where the path of a new row begins.
    """
    rows, columns = cost.shape
    row_price, column_price, reduced = np.zeros(rows), np.zeros(columns + 1), np.full(columns + 1, np.inf)
    owner = np.full(columns + 1, -1)
    for row in range(rows):
        owner[0], at = row, 0
        slack, came_from = np.full(columns + 1, np.inf), np.zeros(columns + 1, dtype=np.int64)
        done = np.zeros(columns + 1, dtype=bool)
        while owner[at] >= 0:
            done[at] = True
            reduced[1:] = cost[owner[at]] - row_price[owner[at]] - column_price[1:]
            closer = ~done & (reduced < slack)
            slack[closer], came_from[closer] = reduced[closer], at
            at = int(np.argmin(np.where(done, np.inf, slack)))
            step = slack[at]
            row_price[owner[done]] += step
            column_price[done] -= step
            slack[~done] -= step
        while at:
            owner[at] = owner[came_from[at]]
            at = int(came_from[at])
    partner = np.full(rows, -1, dtype=np.int64)
    taken = np.flatnonzero(owner[1:] >= 0)
    partner[owner[1:][taken]] = taken
    return partner
