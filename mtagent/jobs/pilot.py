"""The pilot of a run: some of its edits are judged first, and show the gate what the run's edits are like.

A gate without labels (:mod:`mtagent.chain.shipped`) needs the judges' differences for 50 to 100 edits before it can
decide on any. So the chain is first tried on segments from all over the input, one stage after the other, with a gate
that asks the judges and keeps nothing. From their judgements the gate of the stage is settled and stored in the run.

The order in which replies arrive has no influence, and the calls are not lost: when a segment's turn comes, the store
answers its requests, and the segment counts them then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from mtagent.chain.calibration import ExpectedGain
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate, PanelGate, PilotGate
from mtagent.chain.shipped import FEWEST_EDITS
from mtagent.config import Config
from mtagent.jobs.context import Placed
from mtagent.jobs.pool import Outcome, work_all
from mtagent.llm.limits import Sleepers
from mtagent.records import Chain, Stage, UndecidedCause
from mtagent.store.runs import Run

logger = logging.getLogger(__name__)

EDITS = 100
"""How many edits of a stage the pilot judges, if the run has as many."""
WAVE = 50
"""About how many segments are tried at a time, until there are enough edits."""
_JUDGED_STAGES: tuple[Stage, ...] = ("rerank", "postedit", "proofread")

Differences = tuple[float, ...]
"""By how much each judge prefers the text after an edit."""


async def with_settled_gates(
    plan: Plan, run: Run, places: Callable[[], Iterable[Placed]], total: int, config: Config, sleepers: Sleepers
) -> Plan:
    """``plan`` with a gate for each stage: the gates that ``run`` has settled before, or else settles now.

    ``places`` reads the input again, all ``total`` segments of it. A stage with too few edits keeps the gate of the
    plan, in which all judges must agree.
    """
    panel = plan.gate
    if plan.unlabelled is None or not isinstance(panel, PanelGate):
        return plan
    gates: dict[Stage, Gate] = {}
    stored = run.gates()
    for number, stage in enumerate(plan.stages, start=1):
        if stage not in _JUDGED_STAGES:
            continue
        if stage not in stored:
            tried = replace(plan, stages=plan.stages[:number], gates={**gates, stage: PilotGate(panel)}, gate_calls=0)
            differences = await _judged_edits(tried, stage, run, places, total, config, sleepers)
            gain = None
            if len(differences) >= FEWEST_EDITS:
                gain = plan.unlabelled.settled(differences, stage)
            stored[stage] = None if gain is None else gain.model_dump(mode="json")
            run.note_gates(stored)
            logger.info(_outcome(stage, len(differences), gain))
        if stored[stage] is not None:
            gain = ExpectedGain.model_validate(stored[stage])
            gates[stage] = panel.with_gain(gain)
    return replace(plan, gates=gates)


async def _judged_edits(
    plan: Plan,
    stage: Stage,
    run: Run,
    places: Callable[[], Iterable[Placed]],
    total: int,
    config: Config,
    sleepers: Sleepers,
) -> list[Differences]:
    """The judges' differences for edits of ``stage``, in the order of the input; segments that fail have none."""
    by_position: dict[int, list[Differences]] = {}

    async def work(_: int, place: Placed) -> tuple[int, Chain]:
        segment = place.in_context(lambda neighbour, other: run.text_at(neighbour) or other.translation)
        return place.position, await improve(segment, plan)

    def save(_: int, tried: tuple[int, Chain]) -> Outcome:
        position, chain = tried
        run.forget_tries(chain.segment.id)
        by_position[position] = list(_differences(chain, stage))
        if chain.failed is not None:
            return Outcome(False, chain.failed.reason)
        return Outcome(bool(chain.steps), None)

    stride = -(-total // WAVE)
    for first in range(stride):
        wave = (place for place in places() if place.position % stride == first)
        await work_all(
            wave,
            work,
            save,
            concurrency=config.concurrency,
            done=lambda _: False,
            give_up_after=config.give_up_after,
            sleepers=sleepers,
        )
        if sum(map(len, by_position.values())) >= EDITS:
            break
    edits = []
    for position in sorted(by_position):
        edits += by_position[position]
    return edits


def _differences(chain: Chain, stage: Stage) -> Iterator[Differences]:
    """The differences for the edits that ``stage`` proposed."""
    step = chain.by_stage().get(stage)
    if step is None:
        return
    for cause in step.cause.candidates or (step.cause,):
        if not isinstance(cause, UndecidedCause):
            continue
        differences = [judgement.difference for judgement in cause.judgements]
        known = tuple(difference for difference in differences if difference is not None)
        if len(known) == len(differences):
            yield known


def _outcome(stage: Stage, edits: int, gain: ExpectedGain | None) -> str:
    if gain is None or gain.pilot is None:
        return f"{stage}: all judges must agree, because a pilot needs {FEWEST_EDITS} edits, and there are {edits}"
    pilot = gain.pilot
    return (
        f"{stage}: pilot of {edits} edits: the judges correlate by {pilot.agreement:.2f} and are trusted by "
        f"{pilot.trust:.0%}; an edit gains {pilot.drift:+.2f} of people's standard deviations on average"
    )
