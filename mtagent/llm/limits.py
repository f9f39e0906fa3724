"""How many requests a server gets at once, and how many a minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Self


class Clock:
    """The real time. Tests pass a subclass that does not sleep."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for HTTP dates."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


MINUTE = 60.0
LEAST_PATIENCE, MOST_PATIENCE = 2, 5
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds, where the server does not say


class PauseTooLong(Exception):
    """The server wants a pause of ``seconds``, which the request may not wait for."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class NoPlaceInTime(Exception):
    """The request's time was over before there was a place for it. It was not sent."""


class Sleepers:
    """How many calls sleep, without a place, because a server turned them away; ``on_sleep`` hears of each new one."""

    def __init__(self) -> None:
        self.count = 0
        self.on_sleep: Callable[[], None] | None = None

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """A call that sleeps."""
        self.count += 1
        try:
            if self.on_sleep is not None:
                self.on_sleep()
            yield
        finally:
            self.count -= 1


class Limiter:
    """Admits requests to one server; share it between all clients of that server.

    At most ``concurrency`` requests are under way. A server that turns away some requests slows down only those: they
    sleep without a place. A server that turns away one after the other (half as many as may be under way, with no
    success of a later request between them) is at its limit: until the time that it names (Retry-After) nobody is
    admitted, and from then on half as many at once. Where it names none, the pause is a quarter of the time since its
    last success. Each success admits one more, up to the last number that was safe; beyond that, two rounds of
    successes do. ``requests_per_minute`` and ``tokens_per_minute`` hold for any 60 seconds.
    """

    def __init__(
        self,
        concurrency: int = 32,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
        self.concurrency = concurrency
        self.limit = concurrency
        self.active = 0
        self.sleepers = Sleepers()
        self.counts_tokens = tokens_per_minute is not None
        self._clock = clock or Clock()
        self._requests = Rate(requests_per_minute, self._clock) if requests_per_minute else None
        self._tokens = Rate(tokens_per_minute, self._clock) if tokens_per_minute else None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._admitted = 0  # requests so far; each gets the next number
        self._in_a_row = 0  # requests that were turned away one after the other …
        self._row_began = 0  # … and the last number that was admitted before the first of them came back
        self._patience = max(MOST_PATIENCE, concurrency)  # how many of them may be chance
        self._halved_at = 0  # the last number that was admitted before the limit was halved
        self._safe = concurrency  # up to here the limit grows fast
        self._successes = 0  # since the limit last changed
        self._answered = True  # whether there was a success since the limit was halved
        self._last_success = -inf  # when it was

    @property
    def pause(self) -> float:
        """Seconds for which nobody is admitted, because the server asked for it; 0 where it did not."""
        return max(0.0, self._paused_until - self._clock.now()) if self._paused_until else 0.0

    def slot(self, tokens: int = 0, left: Callable[[bool], float] = lambda _: inf) -> Slot:
        """A place for one request, as an async context. ``tokens`` is what the request will take, as far as known.

        ``left(paused)`` says how many seconds it may still wait: for the end of a pause that the server wants, or else
        for its turn.
        """
        return Slot(self, tokens, left)

    async def enter(self, tokens: int, left: Callable[[bool], float]) -> tuple[int, list[Reservation]]:
        """Wait for the end of a pause, for a place and for the rates; returns the request's number.

        Leave again with :meth:`leave`. Raises :class:`PauseTooLong` and :class:`NoPlaceInTime`.
        """
        while True:
            while wait := self.pause:
                if wait > left(True):
                    raise PauseTooLong(wait)
                await self._clock.sleep(wait)
            if self._waiting or self.active >= self.limit:
                await self._queue(left(False))
            else:
                self.active += 1
            booked: list[Reservation] = []
            try:
                for rate, amount in ((self._requests, 1), (self._tokens, tokens)):
                    if rate is not None:
                        booked.append(rate.reserve(amount))
                        await booked[-1].wait(self._clock, left(False))
                if not self.pause:
                    self._admitted += 1
                    return self._admitted, booked
            except BaseException:
                self._give_back(booked)
                raise
            self._give_back(booked)

    def _give_back(self, booked: list[Reservation]) -> None:
        for reservation in booked:
            reservation.correct(0)
        self.leave()

    def leave(self) -> None:
        """Give the place back."""
        self.active -= 1
        self._admit()

    def throttled(self, number: int, retry_after: float | None, *, everybody: bool) -> None:
        """The server turned away request ``number``; ``everybody``: certainly not for a reason of its own."""
        if not self._in_a_row:
            self._row_began = self._admitted
        self._in_a_row += 1
        too_many = min(self._patience, max(MOST_PATIENCE, self.limit // 2))
        known = number <= self._halved_at  # it was under way when the limit was halved
        if not everybody and (not self.pause if known else self._in_a_row < too_many):
            return
        now = self._clock.now()
        pause = retry_after or min(LONGEST_PAUSE, max(SHORTEST_PAUSE, (now - self._last_success) / 4))
        self._paused_until = max(self._paused_until, now + pause)
        if not known:
            self.limit = max(1, self.limit // 2)
            self._safe = self.limit if self._answered else self._safe
            self._halved_at = self._admitted
            self._in_a_row = self._successes = 0
            self._patience = max(LEAST_PATIENCE, too_many // 4)
            self._answered = False

    def succeeded(self, number: int) -> None:
        """The server answered request ``number``."""
        if self._in_a_row and number > self._row_began:
            self._in_a_row = 0
            self._patience = min(self._patience + 1, self.concurrency)
        self._answered = True
        self._last_success = self._clock.now()
        if self.limit == self.concurrency:
            return
        self._successes += 1
        if self.limit < self._safe or self._successes >= 2 * self.limit:
            self._successes = 0
            self.limit += 1
            self._admit()

    async def _queue(self, seconds: float) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(None if seconds == inf else seconds):
                try:
                    await turn
                except asyncio.CancelledError:
                    if turn.done() and not turn.cancelled():
                        self.leave()
                    raise
        except TimeoutError:
            raise NoPlaceInTime from None

    def _admit(self) -> None:
        while self._waiting and self.active < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.active += 1
                turn.set_result(None)


class Slot:
    """A place for one request (``async with limiter.slot() as slot``)."""

    __slots__ = ("_booked", "_left", "_limiter", "_number", "_tokens")

    def __init__(self, limiter: Limiter, tokens: int, left: Callable[[bool], float]) -> None:
        self._limiter = limiter
        self._tokens = tokens
        self._left = left

    async def __aenter__(self) -> Self:
        self._number, self._booked = await self._limiter.enter(self._tokens, self._left)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter.leave()

    def succeeded(self, tokens: int | None) -> None:
        """The server answered, and counted ``tokens``; where it did not count, the estimate stands."""
        if self._limiter.counts_tokens and tokens is not None:
            self._booked[-1].correct(tokens)
        self._limiter.succeeded(self._number)

    def throttled(self, retry_after: float | None, *, everybody: bool = False) -> None:
        """The server turned the request away, and perhaps said when to come back (seconds).

        ``everybody``: nobody is admitted until then; otherwise only if it turns away one request after the other.
        """
        self._limiter.throttled(self._number, retry_after, everybody=everybody)


class Rate:
    """At most ``limit`` units in any 60 seconds, first come, first served."""

    def __init__(self, limit: float, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._reserved: deque[Reservation] = deque()
        self._total = 0.0

    def reserve(self, amount: float) -> Reservation:
        """Book ``amount`` at the earliest time that has room; an amount above the limit gets a minute of its own."""
        now = self._clock.now()
        time = max(now, self._reserved[-1].time) if self._reserved else now
        while self._reserved and (self._reserved[0].time + MINUTE <= now or self._total + amount > self._limit):
            oldest = self._reserved.popleft()
            self._total -= oldest.amount
            oldest.rate = None
            time = max(time, oldest.time + MINUTE)
        reservation = Reservation(self, time, amount)
        self._reserved.append(reservation)
        self._total += amount
        return reservation

    def change(self, by: float) -> None:
        """A booked amount turned out to be different."""
        self._total += by


class Reservation:
    """An amount that is booked at a time."""

    __slots__ = ("amount", "rate", "time")

    def __init__(self, rate: Rate, time: float, amount: float) -> None:
        self.rate: Rate | None = rate
        self.time = time
        self.amount = amount

    async def wait(self, clock: Clock, most: float = inf) -> None:
        """Sleep until the booked time; raises :class:`NoPlaceInTime` at once where that takes more than ``most``."""
        if (wait := self.time - clock.now()) > most:
            raise NoPlaceInTime
        if wait > 0:
            await clock.sleep(wait)

    def correct(self, amount: float) -> None:
        """Replace the estimate by what was really used."""
        if self.rate is not None:
            self.rate.change(amount - self.amount)
            self.amount = amount
