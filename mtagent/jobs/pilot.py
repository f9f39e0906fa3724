"""The pilot of a run: some of its edits are judged first, and show the gate what the run's edits are like.

A gate without labels (:mod:`mtagent.chain.shipped`) needs the judges' differences for 50 to 100 edits before it can
decide on any. So the chain is first tried on segments from all over the input, one stage after the other, with a gate
that calls the judges and keeps nothing. From their judgements the gate of the stage is settled and stored in the run.

The order in which replies arrive has no influence, and the calls are not lost: when a segment's turn comes, the store
answers its requests, and the segment counts them then. Where the gate then needs no model, only the run counts them.
"""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import Field

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
from mtagent.records import Chain, Draft, Record, Segment, Stage, UndecidedCause
from mtagent.store.runs import Run
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator

logger = logging.getLogger(__name__)

EDITS = 100
"""In how many segments the pilot judges edits of a stage, if the run has as many."""
WAVE = 50
"""About how many segments are tried at a time, until there are enough edits."""
MOST_FAILURES = 0.1
"""The share of the pilot's segments that may fail."""
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
    panel, unlabelled = plan.gate, plan.unlabelled
    if unlabelled is None or not isinstance(panel, PanelGate):
        return plan
    settled = _still_valid(run.gates(), total)
    if not settled:
        logger.info("gate gain without a calibration: %s", shipped_worth())
    drafts = None
    if plan.translator is not None and not isinstance(plan.translator, LLMTranslator):
        drafts = _RememberedDrafts(plan.translator)
        plan = replace(plan, translator=drafts)
    for number, stage in enumerate(plan.stages, start=1):
        if stage not in _JUDGED_STAGES or (stage == "rerank" and not _has_candidates(places)):
            continue
        if stage not in settled:
            tried = replace(plan, stages=plan.stages[:number], gates={**plan.gates, stage: PilotGate(panel)})
            judged_segments = await _judged_segments(tried, stage, run, places, total, config, sleepers)
            settled[stage] = _settled(unlabelled, stage, judged_segments)
            run.note_gates(SettledGates(segments=total, stages=settled).model_dump(mode="json"))
            if drafts is not None:
                drafts.begin_again()
        plan = _with_gates(plan, stage, settled[stage], panel)
    return plan


def _has_candidates(places: Callable[[], Iterable[Placed]]) -> bool:
    all_places = places()
    with closing_files(all_places):
        return any(place.segment.candidates for place in all_places)


class _RememberedDrafts:
    """An MT system that is asked once, though each pilot and the run translate a segment.

    Only models' replies are in the store. A system may be asked twice about a segment, if its first draft is unusable.
    """

    def __init__(self, translator: Translator) -> None:
        self.name = translator.name
        self._translator = translator
        self._drafts: dict[tuple[str, str], list[Draft]] = {}
        self._used = Counter[tuple[str, str]]()

    async def draft(self, segment: Segment) -> Draft:
        """The draft of a former pilot, or a new one."""
        key = segment.id, segment.source
        number = self._used[key]
        self._used[key] += 1
        drafts = self._drafts.setdefault(key, [])
        if number < len(drafts):
            return drafts[number]
        drafts.append(await self._translator.draft(segment))
        return drafts[-1]

    def begin_again(self) -> None:
        """Hand out all drafts once more."""
        self._used.clear()


class StageGates(Record):
    """What the pilot of a stage settled."""

    gain: ExpectedGain | None = None
    """``None``: too few edits, all judges must agree."""
    candidates: dict[int, ExpectedGain] = Field(default_factory=dict)
    """In the stage rerank, by the candidate's number, from 1, where it has enough edits."""


class SettledGates(Record):
    """The gates that a run has settled, as it stores them."""

    segments: int
    """How many segments the run had then."""
    stages: dict[Stage, StageGates]


def _still_valid(stored: Mapping[str, Any], total: int) -> dict[Stage, StageGates]:
    """The ``stored`` gates. A pilot that was cut short is done again if the run has more segments than then."""
    if not stored:
        return {}
    settled = SettledGates.model_validate(stored)
    if settled.segments >= total:
        return dict(settled.stages)
    valid = {}
    for stage, gates in settled.stages.items():
        if gates.gain is not None and gates.gain.calibrated_on >= EDITS:
            valid[stage] = gates
    return valid


def _with_gates(plan: Plan, stage: Stage, settled: StageGates, panel: PanelGate) -> Plan:
    """``plan`` with the ``settled`` gates of ``stage``."""
    gates, candidate_gates = dict(plan.gates), dict(plan.candidate_gates)
    if settled.gain is not None:
        gates[stage] = panel.with_gain(settled.gain)
    for candidate, gain in settled.candidates.items():
        # All judges are called where one of several texts is chosen.
        candidate_gates[candidate] = panel.with_gain(gain, ask_all=True)
    return replace(plan, gates=gates, candidate_gates=candidate_gates)


def _settled(panel: ShippedPanel, stage: Stage, segments: Sequence[Sequence[_JudgedEdit]]) -> StageGates:
    """The gates of ``stage``.

    One candidate's system may be much better than another's, so that each has a mean of its own.
    """
    differences = []
    by_candidate: dict[int, list[Differences]] = {}
    for edits in segments:
        for edit in edits:
            differences.append(edit.differences)
            by_candidate.setdefault(edit.candidate, []).append(edit.differences)
    gain = _settled_gain(panel, stage, stage, differences, len(segments))
    candidates = {}
    if stage == "rerank":
        for candidate in sorted(by_candidate):
            name = f"{stage} {candidate}"
            of_candidate = _settled_gain(panel, stage, name, by_candidate[candidate], len(by_candidate[candidate]))
            if of_candidate is not None:
                candidates[candidate] = of_candidate
    return StageGates(gain=gain, candidates=candidates)


def _settled_gain(
    panel: ShippedPanel, stage: Stage, name: str, differences: Sequence[Differences], segments: int
) -> ExpectedGain | None:
    """The gate for edits like these, which are from this number of ``segments``; ``None`` if they are too few.

    The edits of a segment are alike, so the number of segments tells how sure their mean is.
    """
    try:
        gain = panel.settled(differences, stage, sample_size=segments)
    except UnknownEdits as error:
        if differences or stage != "rerank":
            instead = "all judges must agree" if name == stage else "the gate of all candidates decides"
            logger.info("%s: %s, because a pilot has %s", name, instead, error)
        return None
    logger.info("%s: %s", name, summary_of(gain))
    return gain


def pilots_in(stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each stage and candidate of a run that had a pilot, and what it showed; ``stored``: the gates of the run."""
    if not stored:
        return
    for stage, gates in SettledGates.model_validate(stored).stages.items():
        if gates.gain is None:
            yield stage, "too few edits in the pilot: all judges must agree"
        else:
            yield stage, summary_of(gates.gain)
        for candidate, gain in gates.candidates.items():
            yield f"{stage}, candidate {candidate}", summary_of(gain)


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
        run.forget_try(chain)
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
        if len(failures) > MOST_FAILURES * len(by_position):
            # The gate would be another one than without these errors, and the run would keep it.
            raise MtagentError(
                f"stopped: in the pilot of {stage} {len(failures)} of {len(by_position)} segments failed, the last "
                f"with {failures[-1].rstrip('.')}. Nothing is lost: the same command continues (a run "
                "of another name with gate=panel needs no pilot)"
            )
        if sum(map(bool, by_position.values())) >= EDITS:
            break
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
        numbers = tuple(difference for difference in differences if difference is not None)
        if len(numbers) == len(differences):
            yield _JudgedEdit(numbers, candidate)


def summary_of(gain: ExpectedGain) -> str:
    """What a pilot showed, in a line."""
    pilot = gain.pilot
    assert pilot is not None
    mean = f"an edit gains {pilot.drift:+.2f} of people's standard deviations on average"
    if not pilot.drift:
        mean = "their mean is not used, because models of their family make the edits"
    consequence = ""
    if not pilot.trust:
        kept = "all edits are kept" if gain.intercept > 0 else "no edit is kept, and the stage can be left out"
        consequence = f": {kept}"
    return (
        f"pilot of {gain.calibrated_on} edits: the judges correlate by {pilot.agreement:.2f} and are trusted by "
        f"{pilot.trust:.0%}; {mean}{consequence}"
    )
