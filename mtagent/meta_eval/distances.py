"""How far an evaluator's scores are from people's: mean absolute and mean squared error."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mtagent.errors import ConfigError
from mtagent.meta_eval.paired import Floats, Paired
from mtagent.meta_eval.statistic import EQUAL, Statistic, signed

Scale = Literal["none", "minmax"]


def mean_absolute_error(scores: Paired, scale: Scale = "none") -> Statistic:
    """The mean of |evaluator − human|, over all scores; lower is better.

    ``none``: of the scores as they are, which only makes sense where both have the same unit. ``minmax``: after scaling
    both to 0–1 by their own lowest and highest score, as in HiMATE (Table 1); not defined for constant scores.
    """
    return _stated("mae", scores, scale, power=1)


def mean_squared_error(scores: Paired, scale: Scale = "none") -> Statistic:
    """The mean of (evaluator − human)², over all scores; ``scale`` as in :func:`mean_absolute_error`."""
    return _stated("mse", scores, scale, power=2)


def _stated(name: str, scores: Paired, scale: Scale, power: int) -> Statistic:
    if scale not in ("none", "minmax"):
        raise ConfigError(f"scale: 'none' or 'minmax', not {scale!r}")
    constant = scale == "minmax" and min(np.ptp(scores.evaluator), np.ptp(scores.human)) == 0
    return Statistic(
        name=name,
        value=None if constant else _distance(scores, scale, power),
        level=scores.level,
        averaging="none",
        scores=len(scores),
        groups=0 if constant else 1,
        groups_left_out=1 if constant else 0,
        missing=scores.missing,
        signature=signed(name, scores, f"scale:{scale}"),
        undefined=EQUAL if constant else None,
        higher_is_better=False,
    )


def _distance(scores: Paired, scale: Scale, power: int) -> float:
    both = (scores.evaluator, scores.human)
    evaluator, human = (_scaled(values) for values in both) if scale == "minmax" else both
    return float(np.mean(np.abs(evaluator - human) ** power))


def _scaled(values: Floats) -> Floats:
    scaled: Floats = (values - values.min()) / np.ptp(values)
    return scaled
