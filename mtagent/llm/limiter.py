"""How many requests a server gets at once, and how many a minute."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

from mtagent.llm.clock import Clock

MINUTE = 60.0


class Limiter:
    """Admits requests to one server; share it between all clients of that server.

    At most ``concurrency`` requests are under way. A 429 halves that number (once for all requests that were under
    way together) and every two rounds of successes raise it by one again, up to ``concurrency``. After a 429 with
    Retry-After, nobody is admitted until that time is over. ``requests_per_minute`` and ``tokens_per_minute`` hold for
    any 60 seconds.
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
        self.counts_tokens = tokens_per_minute is not None
        self._clock = clock or Clock()
        self._requests = Rate(requests_per_minute, self._clock) if requests_per_minute else None
        self._tokens = Rate(tokens_per_minute, self._clock) if tokens_per_minute else None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._successes = 0
        self._epoch = 0

    @property
    def pause(self) -> float:
        """Seconds for which the server asked to be left alone; 0 where it did not."""
        return max(0.0, self._paused_until - self._clock.now()) if self._paused_until else 0.0

    def slot(self, tokens: int = 0) -> Slot:
        """A place for one request, as an async context. ``tokens`` is what the request will take, as far as known."""
        return Slot(self, tokens)

    async def enter(self, tokens: int) -> Reservation | None:
        """Wait for a place, for the end of a pause and for the rates. Leave again with :meth:`leave`."""
        if self._waiting or self.active >= self.limit:
            await self._queue()
        else:
            self.active += 1
        try:
            return await self._wait_for_rates(tokens)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.active -= 1
        self._admit()

    def throttled(self, epoch: int, retry_after: float | None) -> None:
        """The server said 429 to a request that was admitted in ``epoch``."""
        if retry_after:
            self._paused_until = max(self._paused_until, self._clock.now() + retry_after)
        self._successes = 0
        if epoch == self._epoch:
            self._epoch += 1
            self.limit = max(1, self.limit // 2)

    def succeeded(self) -> None:
        """The server answered."""
        if self.limit == self.concurrency:
            return
        self._successes += 1
        if self._successes >= 2 * self.limit:
            self._successes = 0
            self.limit += 1
            self._admit()

    @property
    def epoch(self) -> int:
        """Counts the halvings, so that requests that were under way together halve once."""
        return self._epoch

    async def _queue(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def _admit(self) -> None:
        while self._waiting and self.active < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.active += 1
                turn.set_result(None)

    async def _wait_for_rates(self, tokens: int) -> Reservation | None:
        reservation = None
        if self._requests is not None:
            await self._requests.reserve(1).wait(self._clock)
        if self._tokens is not None:
            reservation = self._tokens.reserve(tokens)
            await reservation.wait(self._clock)
        while wait := self.pause:
            await self._clock.sleep(wait)
        return reservation


class Slot:
    """A place for one request (``async with limiter.slot() as slot``)."""

    __slots__ = ("_epoch", "_limiter", "_reservation", "_tokens")

    def __init__(self, limiter: Limiter, tokens: int) -> None:
        self._limiter = limiter
        self._tokens = tokens

    async def __aenter__(self) -> Self:
        self._reservation = await self._limiter.enter(self._tokens)
        self._epoch = self._limiter.epoch
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter.leave()

    def succeeded(self, tokens: int) -> None:
        """The server answered, and counted ``tokens``."""
        if self._reservation is not None:
            self._reservation.correct(tokens)
        self._limiter.succeeded()

    def throttled(self, retry_after: float | None) -> None:
        """The server said 429, and perhaps when to come back (seconds)."""
        self._limiter.throttled(self._epoch, retry_after)


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

    async def wait(self, clock: Clock) -> None:
        """Sleep until the booked time."""
        if (wait := self.time - clock.now()) > 0:
            await clock.sleep(wait)

    def correct(self, amount: float) -> None:
        """Replace the estimate by what was really used."""
        if self.rate is not None:
            self.rate.change(amount - self.amount)
            self.amount = amount
