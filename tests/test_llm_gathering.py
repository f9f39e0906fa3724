"""Work at the same time: what goes on after an error, which error is raised, and the calls that it carries."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mtagent.errors import AuthenticationError, EvaluationError, MtagentError, OffScript, ServerError, calls_of
from mtagent.llm.gathering import LARGE, answered, aside, finished, together, unfailed
from mtagent.records import Call, Rating, Usage


def call(purpose: str) -> Call:
    return Call(purpose=purpose, model="m", messages=(), usage=Usage())


def rating(purpose: str) -> Rating:
    return Rating(evaluator="e", score=1, calls=(call(purpose),))


def error(kind: type[MtagentError], purpose: str) -> MtagentError:
    failure = kind(purpose)
    failure.calls = (call(purpose),)
    return failure


async def after(seconds: float, outcome: Rating | Exception, ended: list[object]) -> Rating:
    """End with ``outcome`` after some time; a cancellation carries a call, as one that passes a dialogue does."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError as cancellation:
        ended.append("cancelled")
        setattr(cancellation, "calls", (call("given up"),))  # noqa: B010 not declared
        raise
    ended.append(outcome)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def purposes(failure: BaseException) -> set[str]:
    return {paid.purpose for paid in calls_of(failure)}


async def test_together_cancels_the_others_at_the_first_error() -> None:
    ended: list[object] = []
    with pytest.raises(ServerError, match="slow server"):
        await together(after(0, error(ServerError, "slow server"), ended), after(60, rating("other"), ended))
    assert ended[1:] == ["cancelled"]


async def test_answered_returns_errors_in_their_places() -> None:
    ended: list[object] = []
    failure = error(ServerError, "first")
    results = await answered(after(0, failure, ended), after(0.01, rating("second"), ended))
    assert results == [failure, rating("second")]


@pytest.mark.parametrize("failure", [error(AuthenticationError, "stop"), OffScript("stop")])
async def test_answered_stops_for_an_error_that_concerns_all_and_keeps_all_calls(failure: Exception) -> None:
    ended: list[object] = []
    work = [after(0, rating("done"), ended), after(60, rating("never"), ended), after(0.01, failure, ended)]
    with pytest.raises(type(failure)) as caught:
        await answered(*work)
    assert "cancelled" in ended
    assert purposes(caught.value) == {"done", "given up", *(["stop"] if isinstance(failure, MtagentError) else [])}


async def test_finished_lets_all_end_and_raises_the_most_serious_error_with_all_calls() -> None:
    ended: list[object] = []
    work = [
        after(0, error(ServerError, "first"), ended),
        after(0, error(AuthenticationError, "serious"), ended),
        after(0.02, rating("last"), ended),
    ]
    with pytest.raises(AuthenticationError) as caught:
        await finished(*work)
    assert len(ended) == 3
    assert purposes(caught.value) == {"first", "serious", "last"}


def test_of_equally_serious_errors_the_first_is_raised_and_a_shared_call_counts_once() -> None:
    shared = call("shared")
    first, second = EvaluationError("first"), ServerError("second")
    first.calls = second.calls = (shared,)
    with pytest.raises(EvaluationError, match="first") as caught:
        unfailed([rating("x"), first, second])
    assert [paid.purpose for paid in calls_of(caught.value)] == ["x", "shared"]
    assert unfailed([1, 2]) == [1, 2]


# -- work in the thread


async def test_work_on_large_texts_leaves_the_loop_free_and_the_first_task_goes_first_again() -> None:
    done, go_on = [], threading.Event()

    async def work(name: str) -> None:
        for piece in (1, 2):
            await aside(LARGE, done.append, f"{name}{piece}")

    busy = asyncio.create_task(aside(LARGE, go_on.wait, 30))
    await asyncio.sleep(0)  # the thread has begun
    tasks = [asyncio.create_task(work(name)) for name in "ab"]
    await asyncio.sleep(0)
    urgent = asyncio.create_task(aside(LARGE, done.append, "urgent", is_urgent=True))
    await asyncio.sleep(0)
    assert done == []
    go_on.set()  # the loop ran on, or nobody would set it
    await asyncio.gather(busy, *tasks, urgent)
    assert done == ["urgent", "a1", "a2", "b1", "b2"]


async def test_work_that_waits_for_the_thread_when_it_is_cancelled_is_never_done() -> None:
    done, go_on = [], threading.Event()
    busy = asyncio.create_task(aside(LARGE, go_on.wait, 30))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(aside(LARGE, done.append, number)) for number in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    go_on.set()
    results = await asyncio.gather(busy, *waiting, return_exceptions=True)
    assert done == [1]
    assert isinstance(results[1], asyncio.CancelledError)


async def test_work_on_short_texts_is_done_at_once_and_errors_of_both_are_raised() -> None:
    assert await aside(LARGE - 1, threading.current_thread) is threading.current_thread()
    assert await aside(LARGE, threading.current_thread) is not threading.current_thread()
    for size in (1, LARGE):
        with pytest.raises(ValueError, match="invalid literal"):
            await aside(size, int, "one")
