"""A statistic of meta-evaluation: its value or why there is none, what it is made of, and its signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mtagent
from mtagent.errors import ConfigError
from mtagent.meta_eval.paired import Floats, Ints, Level, Missing, Paired

Averaging = Literal["none", "item", "system"]

EQUAL = "the scores of the evaluator or of people are all equal"
"""Why there is no correlation."""
ALONE = "there are no two scores to compare"
"""Why there is no accuracy."""


@dataclass(frozen=True)
class Statistic:
    """How an evaluator agrees with people, by one statistic.

    ``value`` is ``None`` where the statistic is not defined, and ``undefined`` says why. ``scores`` is how many paired
    scores there are, ``pairs`` how many pairs of them were compared (``None`` where none are), ``groups`` how many
    groups the value is the mean of, ``groups_left_out`` how many had no defined value. ``missing`` are the translations
    left out before. ``epsilon``: differences of the evaluator's up to it are ties (accuracy only).
    """

    name: str
    value: float | None
    level: Level
    averaging: Averaging
    scores: int
    groups: int
    groups_left_out: int
    missing: Missing
    signature: str
    pairs: int | None = None
    epsilon: float | None = None
    undefined: str | None = None
    higher_is_better: bool = True


class Groups(NamedTuple):
    """Which group each score belongs to: ``of`` holds numbers below ``size``; every group has a score."""

    of: Ints
    size: int

    def counts(self) -> Ints:
        """Scores by group."""
        return np.bincount(self.of, minlength=self.size)

    def total(self, values: Floats) -> Floats:
        """Sums by group."""
        return np.bincount(self.of, values, self.size).astype(np.float64, copy=False)


class ByGroup(NamedTuple):
    """A value for each group, and for which groups it is defined; it means nothing in the others."""

    values: Floats
    defined: NDArray[np.bool_]


def groups_of(scores: Paired, averaging: Averaging) -> Groups:
    """All scores in one group (``none``), those of an item, or those of a system. Names without a score make none."""
    if averaging == "none":
        return Groups(np.zeros(len(scores), dtype=np.int64), 1)
    if averaging not in ("item", "system"):
        raise ConfigError(f"averaging: 'none', 'item' or 'system', not {averaging!r}")
    held, of = np.unique(scores.item if averaging == "item" else scores.system, return_inverse=True)
    return Groups(of.astype(np.int64), len(held))


def mean_of(
    found: ByGroup, scores: Paired, groups: Groups, name: str, averaging: Averaging, pairs: int | None = None
) -> Statistic:
    """The mean over the groups where the value is defined, as mt-metrics-eval has it; none, where there is no such."""
    defined = int(np.count_nonzero(found.defined))
    return Statistic(
        name=name,
        value=float(np.mean(found.values[found.defined])) if defined else None,
        level=scores.level,
        averaging=averaging,
        scores=len(scores),
        groups=defined,
        groups_left_out=len(found.defined) - defined,
        missing=scores.missing,
        signature=signed(name, scores, f"avg:{averaging}"),
        pairs=pairs,
        undefined=None if defined else EQUAL if groups.counts().max() > 1 else ALONE,
    )


def signed(name: str, scores: Paired, *parts: str) -> str:
    """All that a value depends on, in one line: ``acc-t|level:seg|avg:item|eps:exact|left-out:0|version:0.1.0``."""
    first = [name, f"level:{scores.level}"]
    return "|".join([*first, *parts, f"left-out:{scores.missing.total}", f"version:{mtagent.__version__}"])
