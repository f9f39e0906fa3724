"""The ``qe-e5`` evaluator: the metric of that name rates single translations, offline, so that a gate can ask it."""

from __future__ import annotations

from collections.abc import Sequence

from mtagent.evaluators.in_batches import InBatches, Pair
from mtagent.metrics.qe_e5 import QeE5
from mtagent.records import Rating


def qe_e5() -> InBatches:
    """Rates with the metric ``qe-e5``, 0 to 1; marks no spans. Raises :class:`mtagent.errors.MissingExtra`."""
    metric = QeE5()
    signature = f"{metric.label}|{metric.signature}"

    def rate_batch(pairs: Sequence[Pair]) -> list[Rating]:
        return [Rating(evaluator=metric.name, score=value, signature=signature) for value in metric.values(pairs)]

    return InBatches(metric.name, rate_batch, signature=signature)
