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
        """Score ``translations``, one for each of ``segments``, including empty and wrong ones.

        Raises :class:`mtagent.errors.MtagentError` if a segment cannot be scored; none is left out.
        """
        ...


@runtime_checkable
class Additive(Metric, Protocol):
    """A metric whose score is a function of summed counts, which makes resampling fast."""

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """A row of counts for each segment."""
        ...

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of summed counts."""
        ...


@runtime_checkable
class BySystem(Metric, Protocol):
    """A metric that must know whose translations it scores, because the scores were made elsewhere."""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


@runtime_checkable
class HeavyMetric(Metric, Protocol):
    """A metric that holds much memory between scores, such as a large model."""

    def release(self) -> None:
        """Free the memory. Scoring again is possible, but slower."""
        ...


def for_systems(metric: Metric, systems: Sequence[str]) -> list[Metric]:
    """A metric for each of ``systems``: the same one, unless it must know whose translations it scores."""
    return metric.each(systems) if isinstance(metric, BySystem) else [metric] * len(systems)
