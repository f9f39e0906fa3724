"""The numbers behind the plots, the tables and the JSON of a report: small frozen records, made in one pass.

Every count of segments adds up to the number of segments. ``None`` always means: there is no such number.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def figures(chains: Iterable[Chain], comparison: Comparison | None = None) -> Figures:
    """The figures of a run. ``chains`` is read once, a chain at a time."""
    flow, marks, costly = FlowCount(SHOWN), MarksCount(), CostlyCount(SHOWN)
    for chain in chains:
        flow.add(chain)
        marks.add(chain)
        costly.add(Costly(chain.segment.id, chain.usage, sum(step.seconds for step in chain.steps)))
    return Figures(
        flow=flow.figure(),
        marks=marks.figures(),
        spreads=spreads(comparison, SHOWN) if comparison else (),
        costs=costs(comparison) if comparison else None,
        costly=costly.found(),
        failures=flow.failures(),
    )
