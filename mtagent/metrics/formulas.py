"""From added-up counts to scores, for many corpora at once: one row of counts each, one score each.

The formulas are sacreBLEU's (BLEU with its default smoothing ``exp``, chrF with β = 2 and effective order, TER) on
arrays. Resampling a corpus a thousand times is then one product of matrices and one call here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
"""Counts that add up: segments (or corpora) × counts."""

_BETA_SQUARED = 4


def bleu(sums: Counts) -> Counts:
    """BLEU of rows ``[length, reference length, 4 × matches, 4 × n-grams]``."""
    ours, theirs, matches, ngrams = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:10]
    unmatched = (matches == 0) & (ngrams > 0)
    smoothed = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=1), matches)
    precisions = _ratio(100 * smoothed, ngrams)
    with np.errstate(divide="ignore"):
        scores: Counts = np.exp(np.log(precisions).mean(axis=1))
        brevity = np.where(ours < theirs, np.exp(1 - _ratio(theirs, ours, empty=np.inf)), 1.0)
    return np.where(matches.any(axis=1), brevity * scores, 0.0)


def chrf(sums: Counts) -> Counts:
    """chrF, or chrF++, of rows that hold ``n-grams, reference n-grams, matches`` for each order."""
    ours, theirs, matches = sums.reshape(len(sums), -1, 3).transpose(2, 0, 1)
    counted = (ours > 0) & (theirs > 0)
    orders = counted.sum(axis=1)
    precision = _ratio((_ratio(matches, ours) * counted).sum(axis=1), orders)
    recall = _ratio((_ratio(matches, theirs) * counted).sum(axis=1), orders)
    return 100 * _ratio((1 + _BETA_SQUARED) * precision * recall, _BETA_SQUARED * precision + recall)


def ter(sums: Counts) -> Counts:
    """TER of rows ``[edits, reference length]``; 100 where there are edits and no reference."""
    edits, length = sums[:, 0], sums[:, 1]
    return 100 * np.where(length > 0, _ratio(edits, length), edits > 0)


def mean(sums: Counts) -> Counts:
    """The mean of rows ``[sum of scores, number of segments]``."""
    return _ratio(sums[:, 0], sums[:, 1])


def total(sums: Counts) -> Counts:
    """The sum, of rows ``[sum]``."""
    return sums[:, 0]


def _ratio(numerator: Counts, denominator: Counts, empty: float = 0.0) -> Counts:
    ratio: Counts = np.divide(numerator, denominator, out=np.full(np.shape(numerator), empty), where=denominator > 0)
    return ratio
