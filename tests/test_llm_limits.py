"""Concurrency that gives way and comes back, and rates that hold in any minute."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.llm.limits import (
    LONGEST_PAUSE,
    Breaker,
    Limiter,
    NoPlaceInTime,
    PauseTooLong,
    Rate,
    Reservation,
    StatedLimit,
)
from tests.clocks import FakeClock, LoopClock, run_in_no_time


class StoppedClock(FakeClock):
    """Nobody wakes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def most_at_once(limiter: Limiter, calls: int) -> int:
    most = 0

    async def call() -> None:
        nonlocal most
        async with limiter.slot():
            most = max(most, limiter.active)
            await asyncio.sleep(0)

    await asyncio.gather(*(call() for _ in range(calls)))
    return most


async def turn_away(limiter: Limiter, times: int = 1, *, wait: float | None = 1.0, everybody: bool = False) -> None:
    for _ in range(times):
        async with limiter.slot() as slot:
            slot.throttled(wait, everybody=everybody)


async def answer(limiter: Limiter, times: int = 1) -> None:
    for _ in range(times):
        async with limiter.slot() as slot:
            slot.succeeded(0)


async def cancelled(*tasks: asyncio.Task[None]) -> None:
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# --- concurrency


@pytest.mark.parametrize("concurrency", [1, 3, 8])
async def test_no_more_than_the_allowed_number_at_once(concurrency: int) -> None:
    limiter = Limiter(concurrency)
    assert await most_at_once(limiter, 30) == concurrency
    assert limiter.active == 0


def test_an_impossible_concurrency_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(0)


async def test_a_server_that_rejects_all_halves_the_limit_once_for_all_that_were_under_way() -> None:
    limiter = Limiter(16, clock=FakeClock())
    async with AsyncExitStack() as stack:
        for slot in [await stack.enter_async_context(limiter.slot()) for _ in range(16)]:
            slot.throttled(None)
    assert limiter.limit == 8
    assert await most_at_once(limiter, 30) == 8


async def test_the_limit_never_falls_below_one() -> None:
    limiter = Limiter(2, clock=FakeClock())
    await turn_away(limiter, 20, wait=None)
    assert limiter.limit == 1


async def test_successes_bring_the_limit_back_but_not_beyond() -> None:
    limiter = Limiter(4, clock=FakeClock())
    await turn_away(limiter, everybody=True)
    limits = [limiter.limit]
    for _ in range(30):
        await answer(limiter)
        limits.append(limiter.limit)
    assert list(dict.fromkeys(limits)) == [2, 3, 4]


async def test_after_a_while_without_any_success_the_limit_grows_fast_to_what_was_safe() -> None:
    limiter = Limiter(32, clock=FakeClock())
    await turn_away(limiter, 60)
    assert limiter.limit == 1
    await answer(limiter, 15)
    assert limiter.limit == 16
    await answer(limiter, 15)
    assert limiter.limit == 16, "from here on it takes two rounds"


async def test_a_server_that_turns_away_some_requests_slows_down_nobody_else() -> None:
    limiter = Limiter(8, clock=FakeClock())
    for _ in range(50):
        await turn_away(limiter, 2, wait=3600.0)
        assert limiter.pause == 0
        await answer(limiter)
    assert limiter.limit == 8


async def test_successes_of_requests_that_were_admitted_before_say_nothing_about_the_server_now() -> None:
    limiter = Limiter(8, clock=FakeClock())
    async with AsyncExitStack() as stack:
        slots = [await stack.enter_async_context(limiter.slot()) for _ in range(8)]
        for late in slots[:5]:
            slots[5].throttled(10.0)
            late.succeeded(0)
        assert (limiter.pause, limiter.limit) == (10.0, 4)


async def test_a_third_of_those_under_way_that_is_turned_away_is_chance_also_after_the_limit_was_halved() -> None:
    limiter = Limiter(32, clock=FakeClock())
    await turn_away(limiter, 16)
    await answer(limiter)
    async with AsyncExitStack() as stack:
        slots = [await stack.enter_async_context(limiter.slot()) for _ in range(15)]
        for slot in slots[:5]:
            slot.throttled(1.0)
        assert (limiter.limit, limiter.pause) == (16, 0)
        for slot in slots[5:10]:
            slot.throttled(1.0)
        assert (limiter.limit, limiter.pause) == (8, 1.0)


# --- pauses and queues


@pytest.mark.parametrize("wait", [180.0, None])
async def test_everybody_waits_where_the_server_turns_away_one_after_the_other(wait: float | None) -> None:
    clock = FakeClock()
    limiter = Limiter(4, clock=clock)
    await turn_away(limiter, 5, wait=wait)
    assert limiter.pause == (wait or LONGEST_PAUSE)
    async with limiter.slot():
        assert clock.now() == 1000 + (wait or LONGEST_PAUSE)
    assert limiter.pause == 0.0


async def test_a_pause_is_waited_for_without_a_place() -> None:
    limiter = Limiter(1, clock=StoppedClock())
    await turn_away(limiter, wait=60.0, everybody=True)
    waiting = [asyncio.create_task(answer(limiter)) for _ in range(3)]
    await asyncio.sleep(0)
    assert limiter.active == 0
    await cancelled(*waiting)


async def test_a_request_that_may_not_wait_that_long_is_refused() -> None:
    limiter = Limiter(4, clock=FakeClock())
    await turn_away(limiter, wait=60.0, everybody=True)
    with pytest.raises(PauseTooLong) as caught:
        async with limiter.slot(left=lambda _: 59.0):
            pass
    assert caught.value.seconds == 60.0
    assert limiter.active == 0


async def test_a_cancelled_caller_gives_its_place_to_the_next() -> None:
    limiter = Limiter(1)
    order: list[str] = []

    async def call(name: str) -> None:
        async with limiter.slot():
            order.append(name)

    async with limiter.slot():
        waiting = [asyncio.create_task(call(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # its turn was already granted
    await asyncio.gather(*waiting, return_exceptions=True)
    assert order == ["c"]
    assert limiter.active == 0


def test_who_waits_for_a_place_gives_up_at_its_deadline_and_leaves_nothing_behind() -> None:
    async def wait() -> float:
        clock, limiter = LoopClock(), Limiter(1, clock=LoopClock())
        began = clock.now()
        async with limiter.slot():
            with pytest.raises(NoPlaceInTime):
                async with limiter.slot(left=lambda _: began + 30 - clock.now()):
                    pass
            seconds = clock.now() - began
        await answer(limiter)
        assert limiter.active == 0
        return seconds

    assert run_in_no_time(wait()) == pytest.approx(30)


# --- rates


@pytest.mark.parametrize("rates", [{"requests_per_minute": 1}, {"tokens_per_minute": 100}])
async def test_who_may_not_wait_for_the_rate_gives_up_at_once_and_leaves_nothing_behind(rates: dict[str, int]) -> None:
    clock = FakeClock()
    limiter = Limiter(clock=clock, **rates)
    for _ in range(2):
        async with limiter.slot(100):
            pass
        for _ in range(5):
            with pytest.raises(NoPlaceInTime):
                async with limiter.slot(100, left=lambda _: 59.0):
                    pass
        assert limiter.active == 0
    assert clock.slept == [60]


@pytest.mark.parametrize("rates", [{"requests_per_minute": 2}, {"tokens_per_minute": 200}])
async def test_what_was_booked_by_a_caller_that_was_cancelled_is_free_again(rates: dict[str, int]) -> None:
    clock = StoppedClock()
    limiter = Limiter(clock=clock, **rates)

    async def call() -> None:
        async with limiter.slot(100):
            pass

    for _ in range(2):
        await call()
    await cancelled(*(asyncio.create_task(call()) for _ in range(4)))
    assert limiter.active == 0
    clock.time = 1120.0
    await asyncio.wait_for(call(), 1)


@pytest.mark.parametrize("rates", [{"requests_per_minute": 2}, {"tokens_per_minute": 200}])
async def test_what_was_booked_before_a_pause_is_booked_once(rates: dict[str, int]) -> None:
    class PausedWhileAsleep(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if len(self.slept) == 1:
                limiter.throttled(99, 5.0, everybody=True)

    clock = PausedWhileAsleep()
    limiter = Limiter(clock=clock, **rates)
    for _ in range(4):
        async with limiter.slot(100):
            pass
    assert clock.now() == 1065


@pytest.mark.parametrize("is_before", [True, False])
def test_a_request_of_more_than_a_minute_that_is_cancelled_delays_nobody(is_before: bool) -> None:
    """``is_before``: it is cancelled before the next request comes, and otherwise while that one waits behind it."""

    async def times() -> list[float]:
        clock = LoopClock()
        limiter = Limiter(tokens_per_minute=100, clock=clock)
        sent: list[float] = []

        async def call(tokens: int) -> None:
            async with limiter.slot(tokens):
                sent.append(clock.now() - 1000)

        await call(40)
        huge = asyncio.create_task(call(500))
        await asyncio.sleep(10)
        others = [] if is_before else [asyncio.create_task(call(30)) for _ in range(3)]
        await asyncio.sleep(10)
        huge.cancel()
        if is_before:
            others = [asyncio.create_task(call(30)) for _ in range(3)]
        await asyncio.gather(huge, *others, return_exceptions=True)
        return sent

    assert run_in_no_time(times()) == [0, 20, 20, 60]


@given(st.lists(st.tuples(st.integers(1, 90), st.floats(0, 30), st.integers(0, 3)), max_size=40))
def test_no_minute_holds_more_than_the_rate_if_some_requests_are_cancelled(
    requests: list[tuple[int, float, int]],
) -> None:
    clock, rate_limit = FakeClock(), 60
    rate = Rate(rate_limit, clock)
    booked: list[Reservation] = []
    for amount, gap, cancelled_place in requests:
        clock.time += gap
        booked.append(rate.reserve(amount))
        waiting = [reservation for reservation in booked if reservation.time > clock.time]
        if cancelled_place < len(waiting):
            booked.remove(waiting[cancelled_place])
            waiting[cancelled_place].give_back()
    for first in booked:
        minute = [other for other in booked if first.time <= other.time < first.time + 60]
        assert sum(other.amount for other in minute) <= max(rate_limit, first.amount)


@given(st.lists(st.tuples(st.integers(1, 90), st.floats(0, 30), st.integers(0, 9), st.integers(0, 3)), max_size=40))
def test_a_cancellation_delays_nobody_and_fills_no_minute_also_after_corrections(
    requests: list[tuple[int, float, int, int]],
) -> None:
    clock, rate_limit = FakeClock(), 60
    rate = Rate(rate_limit, clock)
    booked: list[Reservation] = []

    def minute_before(last: Reservation) -> float:
        return sum(other.amount for other in booked if other.time <= last.time < other.time + 60)

    for amount, gap, corrected_place, cancelled_place in requests:
        clock.time += gap
        booked.append(rate.reserve(amount))
        assert minute_before(booked[-1]) <= max(rate_limit, amount)
        sent = [reservation for reservation in booked if reservation.time <= clock.time]
        if corrected_place < len(sent):
            sent[-1 - corrected_place].correct(amount)
        waiting = [reservation for reservation in booked if reservation.time > clock.time]
        if cancelled_place < len(waiting):
            cancelled = waiting.pop(cancelled_place)
            before = [(reservation, reservation.time, minute_before(reservation)) for reservation in waiting]
            booked.remove(cancelled)
            cancelled.give_back()
            for reservation, time, held in before:
                assert reservation.time <= time
                assert minute_before(reservation) <= max(rate_limit, reservation.amount, held)


def test_nobody_waits_longer_than_the_deadline_because_another_request_is_cancelled() -> None:
    async def outcomes() -> list[float]:
        clock = LoopClock()
        limiter = Limiter(tokens_per_minute=100, clock=clock)
        times: list[float] = []

        async def call(estimate: int, count: int, seconds: float = 0.0, deadline: float = 1e9) -> None:
            async with limiter.slot(estimate, lambda _: 1000 + deadline - clock.now()) as slot:
                times.append(clock.now() - 1000)
                await asyncio.sleep(seconds)
                slot.succeeded(count)

        tasks = [asyncio.create_task(call(40, 100, seconds=35))]
        await asyncio.sleep(30)
        tasks.append(asyncio.create_task(call(40, 90, seconds=6)))
        await asyncio.sleep(1)
        tasks.append(asyncio.create_task(call(40, 40, deadline=80)))
        await asyncio.sleep(1)
        cancelled = asyncio.create_task(call(10, 10))
        await asyncio.sleep(10)
        cancelled.cancel()
        await asyncio.gather(*tasks)
        return times

    assert run_in_no_time(outcomes()) == [0, 30, 60]


async def test_requests_per_minute_hold() -> None:
    clock = FakeClock()
    limiter = Limiter(requests_per_minute=2, clock=clock)
    times = []
    for _ in range(5):
        async with limiter.slot():
            times.append(clock.now() - 1000)
    assert times == [0, 0, 60, 60, 120]


@pytest.mark.parametrize(
    ("calls", "times"),
    [
        ([(90, 20), (80, 80), (10, 10)], [0, 0, 60]),  # the server counted fewer than were estimated
        ([(90, None), (90, None)], [0, 60]),  # it counted none: the estimate stands
        ([(500, 500), (500, 500)], [0, 60]),  # above the limit: alone instead of never
    ],
)
async def test_tokens_per_minute_count_what_the_server_counted(
    calls: list[tuple[int, int | None]], times: list[int]
) -> None:
    clock = FakeClock()
    limiter = Limiter(tokens_per_minute=100, clock=clock)
    admitted = []
    for estimate, count in calls:
        async with limiter.slot(estimate) as slot:
            admitted.append(clock.now() - 1000)
            slot.succeeded(count)
    assert admitted == times


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 30)), max_size=40))
def test_no_minute_holds_more_than_the_rate(requests: list[tuple[int, float]]) -> None:
    clock, booked = FakeClock(), []
    rate = Rate(60, clock)
    for amount, gap in requests:
        clock.time += gap
        booked.append((rate.reserve(amount).time, amount))
    assert [time for time, _ in booked] == sorted(time for time, _ in booked)
    for start, _ in booked:
        assert sum(amount for time, amount in booked if start <= time < start + 60) <= 60


# --- limits that replies state


async def read(limiter: Limiter, remaining: float, reset: float = 20, *, limit: float = 300, tokens: int = 0) -> float:
    """Ask once, and read a reply with these limits. Return the time of the request."""
    async with limiter.slot(tokens) as slot:
        began = limiter._clock.now() - 1000
        unit = "tokens" if tokens else "requests"
        slot.read_limits({unit: StatedLimit(limit, remaining, reset)})
        slot.succeeded(None)
    return began


async def test_when_nothing_remains_the_next_request_waits_for_the_reset() -> None:
    limiter = Limiter(clock=FakeClock())
    assert [await read(limiter, left) for left in (2, 1, 0, 299, 298)] == [0, 0, 0, 20, 20]


async def test_tokens_are_estimated_and_kept_for_once_a_reply_states_them() -> None:
    limiter = Limiter(clock=FakeClock())
    assert not limiter.estimates_tokens
    assert [await read(limiter, left, limit=1000, tokens=50) for left in (100, 49, 950)] == [0, 0, 20]
    assert limiter.estimates_tokens


async def test_requests_in_flight_count_although_the_reply_does_not_know_them() -> None:
    limiter = Limiter(clock=FakeClock())
    async with AsyncExitStack() as others:
        async with limiter.slot() as first:
            for _ in range(3):
                await others.enter_async_context(limiter.slot())
            first.read_limits({"requests": StatedLimit(4, 3, 30)})
        async with limiter.slot():
            assert limiter._clock.now() == 1030


async def test_an_older_reply_that_comes_later_changes_nothing() -> None:
    limiter = Limiter(clock=FakeClock())
    async with limiter.slot() as older, limiter.slot() as newer:
        newer.read_limits({"requests": StatedLimit(300, 200, 5)})
        older.read_limits({"requests": StatedLimit(300, 0, 50)})
    assert await read(limiter, 100) == 0


async def test_a_false_reset_delays_a_run_by_a_minute_and_false_counts_do_so_once() -> None:
    limiter = Limiter(clock=FakeClock())
    assert [await read(limiter, 0, 1e9) for _ in range(5)] == [0, 60, 60, 60, 60]


async def test_after_the_wait_a_reply_without_headers_leaves_nothing_to_wait_for() -> None:
    limiter = Limiter(clock=FakeClock())
    await read(limiter, 0)
    await answer(limiter, 50)
    assert limiter._clock.now() == 1020


async def test_who_may_not_wait_for_the_reset_gives_up_at_once() -> None:
    limiter = Limiter(clock=FakeClock())
    await read(limiter, 0)
    with pytest.raises(NoPlaceInTime):
        async with limiter.slot(left=lambda _: 19.0):
            pass
    assert limiter.active == 0


async def test_a_limit_that_this_program_alone_reached_is_kept_to_by_the_minute() -> None:
    clock = FakeClock()
    limiter = Limiter(clock=clock)
    await read(limiter, 1, 60, limit=2)
    clock.time += 20
    assert [await read(limiter, 0, 60, limit=2) for _ in range(4)] == [20, 60, 80, 120]


# -- a model that is out of order


def failing(clock: FakeClock, *, failures: int = 6, seconds: float = 1.0) -> Breaker:
    """A breaker after so many failures of the model ``m`` in a row, so many seconds apart."""
    breaker = Breaker(patience=10, clock=clock)
    for _ in range(failures):
        clock.time += seconds
        breaker.failed("m")
    return breaker


def test_a_model_that_fails_for_seconds_rests_and_one_piece_of_work_tries_it_again() -> None:
    clock = FakeClock()
    breaker = failing(clock)
    assert not breaker.admit()
    clock.time += 5
    assert [breaker.admit() for _ in range(3)] == [True, False, False]
    breaker.failed("m")
    assert breaker.resting == {"m": 10.0}
    clock.time += 10
    assert [breaker.admit(), breaker.admit()] == [True, False]
    breaker.succeeded("m")
    assert breaker.resting == {}
    assert [breaker.admit(), breaker.admit()] == [True, True]


@pytest.mark.parametrize(("failures", "seconds"), [(4, 10.0), (100, 0.01)])
def test_a_few_failures_or_many_at_the_same_moment_are_chance(failures: int, seconds: float) -> None:
    assert failing(FakeClock(), failures=failures, seconds=seconds).admit()


def test_a_success_between_failures_shows_that_the_model_works() -> None:
    breaker = failing(clock := FakeClock(), failures=4)
    breaker.succeeded("m")
    clock.time += 60
    breaker.failed("m")
    assert breaker.admit()


def test_calls_that_hang_at_the_same_time_have_failed_since_they_began() -> None:
    breaker = Breaker(patience=10, clock=FakeClock())
    for _ in range(5):
        breaker.failed("m", 9.5)
    assert not breaker.admit()


def test_a_server_is_left_alone_as_long_as_it_asks_for_and_another_model_does_not_end_that() -> None:
    breaker = Breaker(patience=10, clock=(clock := FakeClock()))
    breaker.failed("m", pause=3600)
    breaker.succeeded("another")
    clock.time += 3599
    assert not breaker.admit()
    clock.time += 1
    assert breaker.admit()


def test_a_trial_without_an_outcome_is_repeated() -> None:
    breaker = failing(clock := FakeClock())
    clock.time += 5
    assert breaker.admit()
    clock.time += 10
    assert [breaker.admit(), breaker.admit()] == [True, False]
