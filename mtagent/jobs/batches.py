"""What a run in batches cannot do, and how many round trips it takes."""

from __future__ import annotations

from collections.abc import Sequence

from mtagent.chain.chain import Plan
from mtagent.chain.gate import Gate, PairwiseJudge, PanelGate, RatingJudge
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import Evaluator, stated_calls, suggests_edits
from mtagent.translators.llm import LLMTranslator

Trips = tuple[str, int, int]
"""A part of the work, and how many batches one after the other it takes, at least and at most."""


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


def of_rating(part: str, evaluator: Evaluator) -> Trips:
    """The round trips of a rating: at most as many as it takes calls, of which some may be made at the same time."""
    fewest, most = stated_calls(evaluator) or (1, 1)
    return part, min(1, fewest), most


def _of_gate(stage: str, gate: Gate, tries: int) -> Trips:
    """The round trips of a decision and of ``tries`` more; the judges are called at the same time."""
    depth = 0
    for judge in gate.judges if isinstance(gate, PanelGate) else ():
        if isinstance(judge, PairwiseJudge):
            depth = max(depth, 1)
        elif isinstance(judge, RatingJudge):
            depth = max(depth, of_rating("", judge.evaluator)[2])
    return f"judges of {stage}", 0, depth * (1 + tries)


def trips_of(plan: Plan, *, translates: bool, reranks: bool) -> list[Trips]:
    """The round trips of the chain, if texts lack a translation (``translates``) or have candidates (``reranks``)."""
    trips: list[Trips] = []
    tries = plan.gate_calls // 2  # of parts of the edits, with two calls each
    for stage in plan.stages:
        gate = plan.gate_of(stage)
        if stage == "translate" and translates and isinstance(plan.translator, LLMTranslator):
            trips.append((stage, 1, 1))
        elif stage == "rerank" and reranks:
            trips.append(_of_gate(stage, gate, 2))  # one candidate after the other challenges the best so far
        elif stage == "postedit" and plan.evaluator is not None:
            trips.append(of_rating(stage, plan.evaluator))
            fixes = 0 if suggests_edits(plan.evaluator) else 1
            trips += [("fixes", 0, fixes), _of_gate(stage, gate, tries)]
        elif stage == "proofread":
            trips += [(stage, 0, 1), _of_gate(stage, gate, tries)]
    if plan.triage is not None:
        trips.insert(0, of_rating("triage", plan.triage.evaluator))
    return trips


def in_words(trips: Sequence[Trips]) -> str:
    """The number of round trips, in all and of each part."""
    parts = []
    for part, fewest, most in trips:
        if most:
            parts.append(f"{part} {_span(fewest, most)}")
    if not parts:
        return "batch: no model is called, so there are no replies to wait for"
    total = _span(sum(trip[1] for trip in trips), sum(trip[2] for trip in trips))
    noun = "round trip" if total == "1" else "round trips"
    return (
        f"batch: {total} {noun} of up to 24 hours each ({', '.join(parts)}), and one more if unusable "
        "replies are requested again"
    )


def _span(fewest: int, most: int) -> str:
    return str(most) if fewest == most else f"{fewest} to {most}"
