"""What a metric is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mtagent.records import Score, Segment

Counts = NDArray[np.float64]


@runtime_checkable
class Metric(Protocol):
    """Scores the translations of one system: BLEU, COMET."""

    name: str
    higher_is_better: bool

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """Score ``translations``, one for each of ``segments``; empty and wrong ones too.

        Raises :class:`mtagent.errors.MtagentError` where a segment cannot be scored; none is ever left out.
        """
        ...


@runtime_checkable
class Additive(Metric, Protocol):
    """A metric whose score is a function of counts that add up, so that it can be resampled quickly."""

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """A row of counts for each segment."""
        ...

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of added-up counts."""
        ...


@runtime_checkable
class BySystem(Metric, Protocol):
    """A metric that has to know whose translations it scores, since the scores were made elsewhere."""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


@runtime_checkable
class HeavyMetric(Metric, Protocol):
    """A metric that holds much memory between its scores, such as a large model."""

    def release(self) -> None:
        """Give it back. To score again is possible, and slower."""
        ...


def for_systems(metric: Metric, systems: Sequence[str]) -> list[Metric]:
    """The metric for each of ``systems``: the same one, unless it has to know whose translations it scores."""
    return metric.each(systems) if isinstance(metric, BySystem) else [metric] * len(systems)
