"""The pilot of a run: some of its edits are judged first, and show the gate what the run's edits are like.

A gate without labels (:mod:`mtagent.chain.shipped`) needs the judges' differences for 50 to 100 edits before it can
decide on any. So the chain is first tried on segments from all over the input, one stage after the other, with a gate
that asks the judges and keeps nothing. From their judgements the gate of the stage is settled and stored in the run.

The order in which replies arrive has no influence, and the calls are not lost: when a segment's turn comes, the store
answers its requests, and the segment counts them then. Where the gate then needs no model, only the run counts them.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mtagent.chain.calibration import ExpectedGain
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import PanelGate, PilotGate
from mtagent.chain.shipped import ShippedPanel, UnknownEdits, shipped_worth
from mtagent.config import Config
from mtagent.errors import MtagentError
from mtagent.jobs.context import Placed
from mtagent.jobs.pool import Outcome, work_all
from mtagent.jobs.run import closing_files
from mtagent.llm.limits import Sleepers
from mtagent.records import Chain, Stage, UndecidedCause
from mtagent.store.runs import Run

logger = logging.getLogger(__name__)

EDITS = 100
"""In how many segments the pilot judges edits of a stage, if the run has as many."""
WAVE = 50
"""About how many segments are tried at a time, until there are enough edits."""
MOST_FAILURES = 0.1
"""The share of the pilot's segments that may fail."""
_SEGMENTS = "segments"
"""Stored beside the gates: how many segments the run had."""
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
    stored = _still_valid(run.gates(), total)
    if not stored:
        logger.info("gate gain without a calibration: %s", shipped_worth())
    stored[_SEGMENTS] = total
    for number, stage in enumerate(plan.stages, start=1):
        if stage not in _JUDGED_STAGES:
            continue
        if stage not in stored:
            tried = replace(plan, stages=plan.stages[:number], gates={**plan.gates, stage: PilotGate(panel)})
            judged_segments = await _judged_segments(tried, stage, run, places, total, config, sleepers)
            stored |= _settled(plan.unlabelled, stage, judged_segments)
            run.note_gates(stored)
        plan = _with_gates(plan, stage, stored, panel)
    return plan


def _still_valid(stored: dict[str, Any], total: int) -> dict[str, Any]:
    """The ``stored`` gates. A stage with too few edits is tried again if the run has more segments than then."""
    if stored.get(_SEGMENTS, total) >= total:
        return stored
    return {name: gain for name, gain in stored.items() if gain is not None}


def _with_gates(plan: Plan, stage: Stage, stored: Mapping[str, Any], panel: PanelGate) -> Plan:
    """``plan`` with the ``stored`` gates of ``stage`` and, in the stage rerank, of its candidates."""
    gates, candidate_gates = dict(plan.gates), dict(plan.candidate_gates)
    for name, gain in stored.items():
        stage_of_gate, _, candidate = name.partition(" ")
        if stage_of_gate != stage or gain is None:
            continue
        # All judges are asked where one of several texts is chosen.
        gate = panel.with_gain(ExpectedGain.model_validate(gain), ask_all=bool(candidate))
        if candidate:
            candidate_gates[int(candidate)] = gate
        else:
            gates[stage] = gate
    return replace(plan, gates=gates, candidate_gates=candidate_gates)


def _settled(panel: ShippedPanel, stage: Stage, segments: Sequence[Sequence[_JudgedEdit]]) -> dict[str, Any]:
    """The gate of ``stage`` as plain data, and of each candidate (``rerank 1``); ``None`` where edits are too few.

    One candidate's system may be much better than another's, so that each has a mean of its own. The edits of a segment
    are alike, so the number of segments tells how sure a mean is.
    """
    by_name: dict[str, list[Differences]] = {stage: []}
    for edits in segments:
        for edit in edits:
            by_name[stage].append(edit.differences)
            if stage == "rerank":
                by_name.setdefault(f"{stage} {edit.candidate}", []).append(edit.differences)
    settled: dict[str, Any] = {}
    for name, differences in by_name.items():
        try:
            gain = panel.settled(differences, stage, sample_size=min(len(segments), len(differences)))
        except UnknownEdits as error:
            settled[name] = None
            instead = "the gate of all candidates decides" if " " in name else "all judges must agree"
            if differences or stage != "rerank":
                logger.info("%s: %s, because a pilot has %s", name, instead, error)
            continue
        settled[name] = gain.model_dump(mode="json")
        logger.info("%s: %s", name, summary_of(gain))
    return settled


def pilots_in(gates: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each stored gate of a run by its stage or candidate, and what its pilot showed."""
    for name, gain in gates.items():
        if name == _SEGMENTS:
            continue
        if gain is None:
            yield name, "too few edits in the pilot: all judges must agree"
        else:
            yield name, summary_of(ExpectedGain.model_validate(gain))


class _JudgedEdit(NamedTuple):
    """The judgements of an edit in the pilot."""

    differences: Differences
    candidate: int
    """In the stage rerank, the number of the candidate, from 1."""


async def _judged_segments(
    plan: Plan,
    stage: Stage,
    run: Run,
    places: Callable[[], Iterable[Placed]],
    total: int,
    config: Config,
    sleepers: Sleepers,
) -> list[list[_JudgedEdit]]:
    """The judged edits of each segment in which ``stage`` has any, in the order of the input."""
    by_position: dict[int, list[_JudgedEdit]] = {}
    failures: list[str] = []

    async def work(_: int, place: Placed) -> tuple[int, Chain]:
        segment = place.in_context(lambda neighbour, other: run.text_at(neighbour) or other.translation)
        return place.position, await improve(segment, plan)

    def save(_: int, tried: tuple[int, Chain]) -> Outcome:
        position, chain = tried
        run.forget_tries(chain.segment.id)
        by_position[position] = list(_edits(chain, stage))
        if chain.failed is not None:
            failures.append(chain.failed.reason)
            return Outcome(False, chain.failed.reason)
        return Outcome(bool(chain.steps), None)

    waves = -(-total // WAVE)
    for wave in range(waves):
        all_places = places()
        with closing_files(all_places):
            await work_all(
                (place for place in all_places if _wave_of(place.position, waves) == wave),
                work,
                save,
                concurrency=config.concurrency,
                done=lambda _: False,
                give_up_after=config.give_up_after,
                sleepers=sleepers,
            )
        if sum(map(bool, by_position.values())) >= EDITS:
            break
    if len(failures) > MOST_FAILURES * len(by_position):
        # The gate would be another one than without these errors, and the run would keep it.
        raise MtagentError(
            f"stopped: in the pilot of {stage} {len(failures)} of {len(by_position)} segments failed, the last with "
            f"{failures[-1].rstrip('.')}. Nothing is lost: the same command again goes on from there (with gate=panel "
            "there is no pilot)"
        )
    return [by_position[position] for position in sorted(by_position) if by_position[position]]


def _wave_of(position: int, waves: int) -> int:
    """The wave of a segment, at random: every n-th segment of a file may be of the same kind."""
    return zlib.crc32(str(position).encode()) % waves


def _edits(chain: Chain, stage: Stage) -> Iterator[_JudgedEdit]:
    """The edits that ``stage`` proposed and all judges judged."""
    step = chain.by_stage().get(stage)
    if step is None:
        return
    for candidate, cause in enumerate(step.cause.candidates or (step.cause,), start=1):
        if not isinstance(cause, UndecidedCause):
            continue
        differences = [judgement.difference for judgement in cause.judgements]
        known = tuple(difference for difference in differences if difference is not None)
        if len(known) == len(differences):
            yield _JudgedEdit(known, candidate)


def summary_of(gain: ExpectedGain) -> str:
    """What a pilot showed, in a line."""
    pilot = gain.pilot
    assert pilot is not None
    mean = f"an edit gains {pilot.drift:+.2f} of people's standard deviations on average"
    if not pilot.drift:
        mean = "their mean is not used, because models of their family make the edits"
    return (
        f"pilot of {gain.calibrated_on} edits: the judges correlate by {pilot.agreement:.2f} and are trusted by "
        f"{pilot.trust:.0%}; {mean}"
    )
