"""The numbers behind the plots, the tables and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` always means: there is no such number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mtagent.comparison.rows import Comparison
from mtagent.records import Chain
from mtagent.report.costs import Costly, CostlyCount, Costs, costs
from mtagent.report.flow import Failure, Flow, FlowCount
from mtagent.report.marked import Marks, MarksCount
from mtagent.report.spread import Spread, spreads

SHOWN = 10
"""Segments in each list of examples."""


@dataclass(frozen=True)
class Figures:
    """All figures of a run.

    ``marks`` has an entry for each evaluator that rated, ``spreads`` one for each row of the comparison with a former
    one. ``costly`` and ``failures`` hold at most :data:`SHOWN` segments; ``flow`` counts them all.
    """

    flow: Flow
    marks: tuple[Marks, ...] = ()
    spreads: tuple[Spread, ...] = ()
    costs: Costs | None = None
    costly: tuple[Costly, ...] = ()
    failures: tuple[Failure, ...] = ()


class FiguresCount:
    """Counts chains, one after the other, for the figures of their run."""

    def __init__(self) -> None:
        self._flow, self._marks, self._costly = FlowCount(SHOWN), MarksCount(), CostlyCount(SHOWN)

    def add(self, chain: Chain) -> None:
        """Count ``chain``."""
        self._flow.add(chain)
        self._marks.add(chain)
        self._costly.add(Costly(chain.segment.id, chain.usage, sum(step.seconds for step in chain.steps)))

    def passing(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """``chains``, each counted as it passes."""
        for chain in chains:
            self.add(chain)
            yield chain

    def found(self, comparison: Comparison | None = None) -> Figures:
        """The figures of all chains so far."""
        return Figures(
            flow=self._flow.figure(),
            marks=self._marks.figures(),
            spreads=spreads(comparison, SHOWN) if comparison else (),
            costs=costs(comparison) if comparison else None,
            costly=self._costly.found(),
            failures=self._flow.failures(),
        )


def figures(chains: Iterable[Chain], comparison: Comparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    count = FiguresCount()
    for chain in chains:
        count.add(chain)
    return count.found(comparison)
