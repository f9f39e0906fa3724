"""Bootstrap intervals of sums and ratios over groups of items (documents): 95 %, paired, exact for a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent.chain.calibration import Figure
from mtagent.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
RESAMPLES, SEED = 1_000, 12345
_CELLS = 2**22
"""Numbers in a matrix at a time: 32 MB."""
_TAIL = 2.5


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


def ratios(above: list[Floats], below: list[Floats], groups: Ints, resampling: Resampling) -> list[Figure]:
    """The ratio of the sums of each of ``above`` (a number for each item) to those of its ``below``, with intervals.

    ``groups`` are numbered without gaps. Resamples in which a ratio is not defined are left out of its interval.
    """
    sums = np.stack([np.bincount(groups, values) for values in (*above, *below)], axis=1)
    drawn = np.concatenate([draw @ sums for draw in resampling.draws(len(sums))])
    whole, size = sums.sum(axis=0), len(above)
    figures = []
    for upper in range(size):
        lower = size + upper
        value = float(whole[upper] / whole[lower]) if whole[lower] else None
        defined = drawn[:, lower] > 0
        low, high = (
            bounds(drawn[defined, upper] / drawn[defined, lower])
            if value is not None and defined.any()
            else (None, None)
        )
        figures.append(Figure(value=value, low=low, high=high))
    return figures


def bounds(values: Floats) -> tuple[float, float]:
    """The bounds between which 95 % of ``values`` lie."""
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)
