"""What a run in batches cannot do, and how many round trips it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mtagent.chain.chain import Plan
from mtagent.chain.gate import Gate, PairwiseJudge, PanelGate, RatingJudge
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import Evaluator, stated_calls, suggests_edits
from mtagent.translators.llm import LLMTranslator

HOURS = 24
"""The longest time that a batch takes."""


class Trips(NamedTuple):
    """How many batches one after the other a part of the work takes, if each reply can be used."""

    part: str
    fewest: int
    most: int


def refuse_unfit(config: Config, plan: Plan | None = None, *, translates: bool = False) -> None:
    """Raise :class:`ConfigError` for settings that don't go with batches. ``translates``: texts lack a translation."""
    if config.llm not in (None, "openai"):
        raise ConfigError("batch: a local model takes no batches: set base_url, or leave batch out")
    if plan is None:
        return
    if translates and plan.translator is not None and not isinstance(plan.translator, LLMTranslator):
        raise ConfigError(
            f"batch: {plan.translator.name} would translate again after each batch: translate first without batch "
            "(stages=t), and improve that translation in batches"
        )
    if plan.unlabelled is not None:
        raise ConfigError(
            "batch: the gate gain without a calibration first tries the chain on some segments, which takes an unknown "
            "number of batches: set calibration or another gate"
        )


def _of_rating(part: str, evaluator: Evaluator) -> Trips:
    fewest, most = stated_calls(evaluator) or (1, 1)
    return Trips(part, min(1, fewest), most)


def _of_gate(part: str, gate: Gate, tries: int) -> Trips:
    """A decision, and ``tries`` of parts of the edits at most. The judges are asked at the same time."""
    if not isinstance(gate, PanelGate):
        return Trips(part, 0, 0)
    most = 0
    for judge in gate.judges:
        if isinstance(judge, PairwiseJudge):
            most = max(most, 1)
        elif isinstance(judge, RatingJudge):
            most = max(most, _of_rating(part, judge.evaluator).most)
    return Trips(part, 0, most * (1 + tries))


def trips_of(plan: Plan, *, translates: bool, reranks: bool) -> list[Trips]:
    """The round trips of each part of the chain, if texts lack a translation, or have candidates."""
    trips: list[Trips] = []
    for stage in plan.stages:
        judges = f"judges of {stage}"
        gate = plan.gate_of(stage)
        calls_of_try = 2  # a comparison in both orders, or a rating of both texts
        tries = plan.gate_calls // calls_of_try
        if stage == "translate" and translates and isinstance(plan.translator, LLMTranslator):
            trips.append(Trips(stage, 1, 1))
        elif stage == "rerank" and reranks:
            trips.append(_of_gate(judges, gate, 2))  # one candidate after the other challenges the best so far
        elif stage == "postedit" and plan.evaluator is not None:
            trips.append(_of_rating(stage, plan.evaluator))
            if not suggests_edits(plan.evaluator):
                trips.append(Trips("fixes", 0, 1))
            trips.append(_of_gate(judges, gate, tries))
        elif stage == "proofread":
            trips.append(Trips(stage, 0, 1))
            trips.append(_of_gate(judges, gate, tries))
    if plan.triage is not None:
        trips.insert(0, _of_rating("triage", plan.triage.evaluator))
    return [trip for trip in trips if trip.most]


def round_trips_line(plan: Plan, *, translates: bool, reranks: bool) -> str:
    """How many round trips ``plan`` takes, in words; see :func:`trips_of`."""
    return _line(trips_of(plan, translates=translates, reranks=reranks))


def rating_trips_line(evaluator: Evaluator) -> str:
    """The same for ratings."""
    return _line([_of_rating("rating", evaluator)])


def _line(trips: Iterable[Trips]) -> str:
    parts = []
    fewest = most = 0
    for trip in trips:
        fewest += trip.fewest
        most += trip.most
        count = str(trip.most) if trip.fewest == trip.most else f"{trip.fewest} to {trip.most}"
        parts.append(f"{trip.part} {count}")
    span = str(most) if fewest == most else f"{fewest} to {most}"
    return (
        f"batch: {span} round trips of up to {HOURS} hours ({', '.join(parts)}), and one more where replies cannot be "
        "used and are asked for again"
    )
