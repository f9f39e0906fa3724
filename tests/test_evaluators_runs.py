"""Each evaluator on many texts through a server that fails in every way it can: rated rightly, or failed by name."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.config import Config, parse_spec
from mtagent.errors import MtagentError
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.registry import EVALUATORS, Surroundings, make_evaluator
from mtagent.llm.client import OpenAIClient
from mtagent.llm.limits import Limiter
from mtagent.records import Rating, Segment
from tests.simulator import KINDS
from tests.simulator.evaluators import RUBRIC, grade, score
from tests.simulator.marks import Mark, marks, segments

Weigh = Callable[[Sequence[Mark]], float]
FAULTS = ("500", "429:0.02", *(kind for kind in KINDS if kind != "status"))
PER_KIND = 0.02
CONCURRENCY = 64


def rubric(marked: Sequence[Mark]) -> float:
    return -sum(RUBRIC[mark.severity] for mark in marked)


def gemba(marked: Sequence[Mark]) -> float:
    weights = sorted(({"critical": 25, "major": 5, "minor": 1}[mark.severity] for mark in marked), reverse=True)
    return -min(25, sum(weights[:5]))


def five_and_one(marked: Sequence[Mark]) -> float:
    return -sum(5 if mark.plain == "major" else 1 for mark in marked)


def five_and_one_at_last(marked: Sequence[Mark]) -> float:
    return -sum(5 if mark.at_last == "major" else 1 for mark in marked)


def typology(marked: Sequence[Mark]) -> float:
    return -sum(5 if mark.plain == "major" else _minor(mark) for mark in marked)


def typology_discussed(marked: Sequence[Mark]) -> float:
    return -sum(5 if mark.at_last == "major" else _minor(mark) for mark in marked if mark.real)


def gemba_worth_mending(marked: Sequence[Mark]) -> float:
    return gemba([mark for mark in marked if mark.real])


def _minor(mark: Mark) -> float:
    return 0.1 if mark.category == "fluency/punctuation" else 1


@dataclass(frozen=True)
class Run:
    """An evaluator, how it weighs errors, and how many of its requests go wrong.

    One that makes many requests for each text gets fewer faults, or none of its texts would be rated.
    """

    spec: str
    weigh: Weigh
    faults: float = PER_KIND * len(FAULTS)
    count: int = 500
    unsupported: str = ""


# A run for each family of evaluators, and a short one for each of its other members. What an evaluator does under its
# options is tested with scripted models in its own file.
RUNS = (
    Run("rubric-mqm", rubric),
    Run("single-agent", typology, count=100),
    Run("gemba-mqm", gemba, count=100),
    Run("gemba-esa", score),
    Run("gemba-da", score, count=100),
    Run("gemba-sqm", score, count=100),
    Run("mqm-ape:evaluator=gemba-mqm", gemba_worth_mending, faults=0.04, count=200),
    Run("eaprompt", five_and_one),
    Run("m-mad", five_and_one_at_last, faults=0.04, count=200),
    Run("himate", typology_discussed, faults=0.02, count=200),
    Run("rate", grade, faults=0.1, count=200),
    Run("rate", grade, faults=0.1, count=60, unsupported="tools"),  # the core agent writes its calls as text
)


def registered(run: Run) -> bool:
    return parse_spec(run.spec)[0] in EVALUATORS


@contextmanager
def server(run: Run) -> Iterator[str]:
    options = ["--behaviour", "tests.simulator.evaluators:answer", "--latency", "0.002", "--no-cached-tokens"]
    options += ["--fault-rate", str(run.faults), "--faults", *FAULTS, "--seed", "1"]
    options += ["--unsupported", run.unsupported] if run.unsupported else []
    with simulator(*options) as base_url:
        yield base_url


async def attempt(evaluator: Evaluator, segment: Segment) -> Rating | MtagentError:
    assert segment.translation is not None
    try:
        return await evaluator.rate(segment, segment.translation)
    except MtagentError as error:
        return error


async def outcomes(run: Run, folder: Path) -> list[tuple[Segment, Rating | MtagentError]]:
    with server(run) as base_url:
        client = OpenAIClient("m", base_url=base_url, limiter=Limiter(CONCURRENCY), timeout=2, deadline=120)
        evaluator = make_evaluator(run.spec, Surroundings(client, Config(), folder))
        todo = segments(run.count)
        try:
            return list(
                zip(todo, await asyncio.gather(*(attempt(evaluator, segment) for segment in todo)), strict=True)
            )
        finally:
            await client.aclose()


@pytest.mark.slow
@pytest.mark.loopback
@pytest.mark.timeout(300)
@pytest.mark.parametrize("run", [run for run in RUNS if registered(run)], ids=lambda run: run.spec)
async def test_every_text_is_rated_rightly_or_has_failed_by_name(run: Run, tmp_path: Path) -> None:
    results = await outcomes(run, tmp_path)
    rated = {segment.id: (segment, outcome) for segment, outcome in results if isinstance(outcome, Rating)}
    failed = [outcome for _, outcome in results if isinstance(outcome, MtagentError)]
    right = {id_: pytest.approx(run.weigh(marks(segment.translation or ""))) for id_, (segment, _) in rated.items()}
    assert {id_: rating.score for id_, (_, rating) in rated.items()} == right
    assert all(outcome.calls for outcome in (*(rating for _, rating in rated.values()), *failed)), (
        "what was paid is told"
    )
    assert len(rated) > run.count / 2, Counter(f"{type(error).__name__}: {str(error)[:80]}" for error in failed)
    assert failed, "the faults never got through"


def asks_a_model(name: str) -> bool:
    module, _, attribute = EVALUATORS[name].partition(":")
    return "llm" in inspect.signature(getattr(import_module(module), attribute)).parameters


def test_every_evaluator_that_asks_a_model_has_a_run() -> None:
    assert {name for name in EVALUATORS if asks_a_model(name)} <= {parse_spec(run.spec)[0] for run in RUNS}
