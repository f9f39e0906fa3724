"""Evaluators that rate many translations together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from mtagent.errors import ConfigError, EvaluationError
from mtagent.evaluators.metric import InBatches, Pair
from mtagent.evaluators.protocol import checked_evaluator
from mtagent.records import Rating, Segment
from tests.comet_environment import until
from tests.commands import ROOT

SEGMENT = Segment(id="1", source="source", source_lang="en", target_lang="de")


def by_length(pairs: Sequence[Pair]) -> list[Rating]:
    """A rating is as high as its text is long; ``bad`` texts have none."""
    if any(text.startswith("bad") for _, text in pairs):
        raise EvaluationError("bad text in it")
    return [Rating(evaluator="length", score=len(text)) for _, text in pairs]


class Recorded:
    """``by_length`` that notes its batches and waits for ``go``."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.started, self.go = threading.Event(), threading.Event()

    def __call__(self, pairs: Sequence[Pair]) -> Sequence[Rating]:
        self.batches.append([text for _, text in pairs])
        self.started.set()
        assert self.go.wait(5)
        return by_length(pairs)


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def evaluator(rate_batch: Callable[[Sequence[Pair]], Sequence[Rating]], most: int = 64) -> InBatches:
    return checked_evaluator(InBatches("length", rate_batch, signature="length|v:1", most=most))


async def scores(rated: InBatches, texts: Sequence[str]) -> list[float]:
    return [rating.score for rating in await asyncio.gather(*(rated.rate(SEGMENT, text) for text in texts))]


def begun(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


async def busy(rated: InBatches, recorded: Recorded) -> asyncio.Task[Rating]:
    """A rating under way: what is asked from now on waits."""
    task = begun(rated.rate(SEGMENT, "running"))
    await asyncio.to_thread(recorded.started.wait, 5)
    assert not task.done()
    return task


@pytest.mark.parametrize(("most", "sizes"), [(64, [5]), (2, [2, 2, 1])])
async def test_calls_of_one_turn_are_one_batch_up_to_its_limit(most: int, sizes: list[int], recorded: Recorded) -> None:
    recorded.go.set()
    assert await scores(evaluator(recorded, most), ["a", "bb", "ccc", "dd", "e"]) == [1, 2, 3, 2, 1]
    assert [len(batch) for batch in recorded.batches] == sizes
    with pytest.raises(ConfigError, match="length: batches must hold at least 1"):
        evaluator(recorded, most=0)


async def test_what_is_asked_meanwhile_is_the_next_batch(recorded: Recorded) -> None:
    rated = evaluator(recorded)
    running = await busy(rated, recorded)
    second, third = begun(scores(rated, ["bb", "ccc"])), begun(scores(rated, ["dddd"]))
    await asyncio.sleep(0.01)
    recorded.go.set()
    assert ((await running).score, await second, await third) == (7, [2, 3], [4])
    assert recorded.batches == [["running"], ["bb", "ccc", "dddd"]]


async def test_an_error_is_that_of_its_own_caller_alone() -> None:
    rated = evaluator(by_length)
    texts = ["a", "bb", "bad 1", "cccc", "bad 2"]
    results = await asyncio.gather(*(rated.rate(SEGMENT, text) for text in texts), return_exceptions=True)
    assert [result.score if isinstance(result, Rating) else type(result) for result in results] == [
        1, 2, EvaluationError, 4, EvaluationError,
    ]  # fmt: skip
    assert (await rated.rate(SEGMENT, "after")).score == 5


@pytest.mark.parametrize(
    ("results", "error"),
    [
        *(([1.0] * number, f"length gave {number} ratings for 3 translations") for number in (0, 1, 4)),
        (ConfigError("no model"), "no model"),
    ],
)
async def test_an_error_that_concerns_all_is_not_tried_again(results: Any, error: str) -> None:
    batches = []

    def rate_batch(pairs: Sequence[Pair]) -> list[Rating]:
        batches.append(len(pairs))
        if isinstance(results, Exception):
            raise results
        return [Rating(evaluator="length", score=score) for score in results]

    rated = evaluator(rate_batch)
    errors = await asyncio.gather(*(rated.rate(SEGMENT, text) for text in "abc"), return_exceptions=True)
    assert [type(raised) for raised in errors] == [ConfigError] * 3
    assert all(error in str(raised) for raised in errors)
    assert batches == [3]


async def test_nobody_waits_for_ever_on_a_function_that_stops_short() -> None:
    rated = evaluator(lambda pairs: [next(iter([]))])
    with pytest.raises(EvaluationError, match="StopIteration"):
        await asyncio.wait_for(rated.rate(SEGMENT, "a"), 5)


async def test_a_caller_that_goes_away_harms_no_other(recorded: Recorded) -> None:
    rated = evaluator(recorded)
    running = await busy(rated, recorded)
    stays, goes, stays_too = (begun(rated.rate(SEGMENT, text)) for text in ("stays", "goes", "also stays"))
    await asyncio.sleep(0.01)
    running.cancel()
    goes.cancel()
    await asyncio.sleep(0.01)
    recorded.go.set()
    assert [(await task).score for task in (stays, stays_too)] == [5, 10]
    assert running.cancelled()
    assert recorded.batches == [["running"], ["stays", "also stays"]]


async def test_no_batch_is_empty_and_no_thread_stays_where_nothing_waits(recorded: Recorded) -> None:
    rated = InBatches("few", recorded, signature="few|v:1", most=1)
    running = await busy(rated, recorded)
    waiting = begun(rated.rate(SEGMENT, "goes"))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.sleep(0.01)
    recorded.go.set()
    await running
    await asyncio.to_thread(until, lambda: "few" not in {thread.name for thread in threading.enumerate()})
    assert recorded.batches == [["running"]]
    assert await scores(rated, ["dddd"]) == [4]


async def test_a_caller_that_goes_at_once_is_never_rated(recorded: Recorded) -> None:
    recorded.go.set()
    rated = evaluator(recorded)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rated.rate(SEGMENT, "gone"), 0)
    assert (await rated.rate(SEGMENT, "here")).score == 4
    assert recorded.batches == [["here"]]


def test_event_loops_come_and_go_and_one_that_ends_early_leaves_no_one_stuck(recorded: Recorded) -> None:
    rated = evaluator(recorded)

    async def leave() -> None:
        await busy(rated, recorded)

    asyncio.run(leave())
    recorded.go.set()
    assert [asyncio.run(scores(rated, texts)) for texts in (["a"], ["bb", "ccc"])] == [[1], [2, 3]]


def test_two_loops_at_once() -> None:
    rated = evaluator(by_length, most=3)
    results: dict[int, list[float]] = {}

    def run(number: int) -> None:
        results[number] = asyncio.run(scores(rated, ["x" * (number + i) for i in range(20)]))

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert results == {number: list(range(number, number + 20)) for number in (1, 50)}


SCRIPT = """
import asyncio, os, sys, time
from mtagent.evaluators.metric import InBatches
from mtagent.records import Rating, Segment

SEGMENT = Segment(id="1", source="source", source_lang="en", target_lang="de")

def rate_batch(pairs):
    time.sleep(sum(60 for _, text in pairs if text == "long"))
    return [Rating(evaluator="length", score=len(text)) for _, text in pairs]

rated = InBatches("length", rate_batch, signature="v:1")

async def within(text, seconds):
    return (await asyncio.wait_for(rated.rate(SEGMENT, text), seconds)).score
"""


@pytest.mark.parametrize(
    ("script", "written"),
    [
        ("try:\n    asyncio.run(within('long', 0.2))\nexcept TimeoutError:\n    print('given up')", "given up\n"),
        (
            "asyncio.run(within('a', 5))\nchild = os.fork()\n"
            "print(asyncio.run(within('ccc', 5)), flush=True) if not child else os.waitpid(child, 0)\n"
            "child or os._exit(0)\nprint(asyncio.run(within('bb', 5)))",
            "3.0\n2.0\n",
        ),
    ],
    ids=["the end of Python waits for no batch", "a forked process rates by itself"],
)
def test_its_thread_outlives_nothing(script: str, written: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT + script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", written)
