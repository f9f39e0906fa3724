"""Two halves of the items: one to choose on, one to report on. What belongs together stays together."""

from __future__ import annotations

import numpy as np

from mtagent.errors import InputError
from mtagent.gate_calibration.resampling import Ints, Truths, numbered


def first_half(groups: Ints, seed: int) -> Truths:
    """Which items are to calibrate on: those of a random half of the groups; the same seed draws the same ones.

    Raises :class:`InputError` where all items are of one group.
    """
    of = numbered(groups)
    size = int(of.max(initial=-1)) + 1
    if size < 2:
        raise InputError(
            f"{size} document or segment: two at least are needed, one to calibrate on and one to report on"
        )
    drawn = np.random.default_rng(seed).permutation(size)[: (size + 1) // 2]
    return np.isin(of, drawn)
