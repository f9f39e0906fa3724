"""How sure a figure is: the bootstrap over groups of items (documents, or segments), seeded and paired.

All figures here are ratios of sums, such as a mean or a share. A resample draws as many groups as there are, with
replacement; the same seed draws the same groups for every figure, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.errors import ConfigError, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
RESAMPLES, SEED = 1_000, 12345
LARGEST = 1e100
"""Scores beyond it are refused: their sums would not be numbers any more."""
_CELLS = 2**22
"""Numbers in a matrix at a time: 32 MB."""
_TAIL = 2.5


class Interval(NamedTuple):
    """A figure with its 95 % confidence interval; ``None`` where it is not defined (a share of nothing)."""

    value: float | None
    low: float | None
    high: float | None


class Resampling(NamedTuple):
    """How many resamples, drawn from which seed."""

    resamples: int = RESAMPLES
    seed: int = SEED

    def draws(self, groups: int, width: int = 0) -> Iterator[Floats]:
        """How often each group is drawn: matrices of resamples × groups, all resamples in a few of them.

        ``width`` is the number of columns of the widest matrix that the caller makes of one. Raises
        :class:`ConfigError` for less than one resample.
        """
        if self.resamples < 1:
            raise ConfigError(f"{self.resamples} resamples: at least one is needed")
        chance, rng = np.full(groups, 1 / groups), np.random.default_rng(self.seed)
        most = max(1, _CELLS // max(groups, width))
        for first in range(0, self.resamples, most):
            number = min(most, self.resamples - first)
            yield rng.multinomial(groups, chance, size=number).astype(np.float64)


USUAL = Resampling()


def numbered(groups: Ints) -> Ints:
    """The groups numbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def column(values: object, name: str) -> Floats:
    """``values`` as an array. Raises :class:`InputError` for what is no finite number."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not (np.abs(found) <= LARGEST).all():
        raise InputError(f"{name}: not all are finite numbers up to {LARGEST:g}; leave missing ones out")
    return found


def ratios(above: list[Floats], below: list[Floats], groups: Ints, resampling: Resampling) -> list[Interval]:
    """The ratio of the sums of each of ``above`` (a number for each item) to those of its ``below``, with intervals.

    ``groups`` are numbered without gaps. Resamples in which a ratio is not defined are left out of its interval.
    """
    sums = np.stack([np.bincount(groups, values) for values in (*above, *below)], axis=1)
    drawn = np.concatenate([draw @ sums for draw in resampling.draws(len(sums))])
    whole, size = sums.sum(axis=0), len(above)
    return [_interval(whole[i], whole[size + i], drawn[:, i], drawn[:, size + i]) for i in range(size)]


def _interval(above: float, below: float, drawn_above: Floats, drawn_below: Floats) -> Interval:
    defined = drawn_below > 0
    if below == 0 or not defined.any():
        return Interval(float(above / below) if below else None, None, None)
    low, high = bounds(drawn_above[defined] / drawn_below[defined])
    return Interval(float(above / below), low, high)


def bounds(values: Floats) -> tuple[float, float]:
    """The bounds between which 95 % of ``values`` lie."""
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)
