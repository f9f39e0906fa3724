"""Limits on requests at once and per minute, and a breaker that notices when a model is down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import ceil, exp, inf
from typing import Literal, NamedTuple

logger = logging.getLogger(__name__)

MINUTE = 60.0
LONG_WAIT = 10.0
"""The first wait of at least this many seconds for a rate that the user set is logged."""
Obstacle = Literal["pause", "turn", "rate"]
"""What a request waits for: a pause of the server, its turn, or the requests or tokens per minute."""
LEAST_PATIENCE, MOST_PATIENCE = 2, 5
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds, if the server names no time
OUTAGE_FAILURES, OUTAGE_SECONDS = 5, 3.0
"""A model counts as down after this many failures in a row over at least this many seconds."""
SHORTEST_REST, LONGEST_REST = 5.0, 60.0  # seconds until a model that is down is tried again


class Clock:
    """The real time. Tests pass a subclass that does not sleep."""

    def now(self) -> float:
        """Seconds on a clock that never runs backwards."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for HTTP dates."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class PauseTooLong(Exception):
    """The server asks for a pause of ``seconds``, which is longer than the request may wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class NoPlaceInTime(Exception):
    """The request's time was up before it got a place. It was not sent."""


class Sleepers:
    """Counts the calls that a server turned away. They sleep before a retry and hold no slot."""

    def __init__(self) -> None:
        self.count = 0
        self.on_sleep: Callable[[], None] | None = None
        """Called whenever another call begins to sleep."""

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a call while it sleeps."""
        self.count += 1
        try:
            if self.on_sleep is not None:
                self.on_sleep()
            yield
        finally:
            self.count -= 1


class StatedLimit(NamedTuple):
    """A limit in the headers of a reply: of requests or of tokens."""

    limit: float
    remaining: float
    reset: float
    """Seconds until ``limit`` remain again."""


ReadLimits = Callable[[Mapping[str, StatedLimit]], None]
"""Takes the limits of ``requests`` and ``tokens`` that a reply states."""


class Limiter:
    """Admits requests to one model at one server; share it between all clients of that model there.

    At most ``concurrency`` requests are in flight. If a server turns away some requests, only these slow down: they
    sleep without a slot.

    The server is at its limit if it turns away many requests in a row: half as many as may be in flight, and half as
    many as are in flight, without a success of a later request between them. Then no request is admitted until the
    time that the server names (Retry-After). After that, half as many are admitted at once, or the average number that
    it answered at once in the last minute, whichever is more. If it names no time, the pause is a quarter of the time
    since its last success, and half as many are admitted.

    Each success admits one more request, up to the last number that was safe. Beyond that number, each further request
    needs two rounds of successes.

    ``requests_per_minute`` and ``tokens_per_minute`` apply to any 60 seconds. ``make_rate`` makes rates that several
    processes share. If a reply states that fewer requests or tokens remain than the next request needs, that request
    waits for the stated reset, at most a minute.
    """

    def __init__(
        self,
        concurrency: int = 32,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Clock | None = None,
        make_rate: Callable[[str, float, Clock], Rate] | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
        self.concurrency = concurrency
        self.limit = concurrency
        self.active = 0
        self.sleepers = Sleepers()
        self.counts_tokens = tokens_per_minute is not None
        self._clock = clock or Clock()
        make_rate = make_rate or (lambda unit, limit, clock: Rate(limit, clock))
        self._logged_rates = set[str]()  # the settings whose waits have been logged
        self._requests: Rate | None = None
        if requests_per_minute:
            self._requests = make_rate("requests", requests_per_minute, self._clock)
        self._tokens: Rate | None = None
        if tokens_per_minute:
            self._tokens = make_rate("tokens", tokens_per_minute, self._clock)
        self._remaining = {"requests": Remaining(self._clock), "tokens": Remaining(self._clock)}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._admitted = 0  # requests so far; each gets the next number
        self._in_a_row = 0  # requests that were turned away one after the other …
        self._row_began = 0  # … and the last number that was admitted before the first of them came back
        self._in_flight_at_row = 0  # how many were in flight then
        self._patience = max(MOST_PATIENCE, concurrency)  # how many in a row may be chance
        self._halved_at = 0  # the last number that was admitted before the limit was halved
        self._safe = concurrency  # the limit grows fast up to this number
        self._successes = 0  # since the limit last changed
        self._answered = True  # whether there was a success since the limit was halved
        self._last_success = -inf  # its time
        self._answered_at_once = AnsweredAtOnce()

    @property
    def pause(self) -> float:
        """Seconds for which no request is admitted, because the server asked for a pause; otherwise 0."""
        if not self._paused_until:
            return 0.0
        return max(0.0, self._paused_until - self._clock.now())

    @property
    def estimates_tokens(self) -> bool:
        """Whether a request needs an estimate of its tokens."""
        return self.counts_tokens or self._remaining["tokens"].is_stated

    @property
    def load(self) -> int:
        """How many requests are in flight or wait for their turn."""
        return self.active + len(self._waiting)

    @property
    def obstacle(self) -> Obstacle:
        """What a request would wait for now, if it had to wait."""
        if self.pause:
            return "pause"
        return "turn" if self._waiting or self.active >= self.limit else "rate"

    @asynccontextmanager
    async def slot(self, tokens: int = 0, left: Callable[[bool], float] = lambda _: inf) -> AsyncIterator[Slot]:
        """A place for one request, after the end of a pause, and when concurrency and rates allow it.

        ``tokens`` estimates what the request will use. ``left(paused)`` returns how many seconds the request may still
        wait: for the end of the server's pause, or else for its turn. Raises :class:`PauseTooLong` and
        :class:`NoPlaceInTime`.
        """
        while True:
            wait = self.pause
            while wait:
                if wait > left(True):
                    raise PauseTooLong(wait)
                await self._clock.sleep(wait)
                wait = self.pause
            if self._waiting or self.active >= self.limit:
                await self._queue(left(False))
            else:
                self.active += 1
            booked: list[Reservation] = []
            sent = False
            try:
                rates = ((self._requests, 1, "requests_per_minute"), (self._tokens, tokens, "tokens_per_minute"))
                for rate, amount, setting in rates:
                    if rate is None:
                        continue
                    booked.append(rate.reserve(amount))
                    wait = booked[-1].time - self._clock.now()
                    if wait > left(False):
                        raise NoPlaceInTime
                    self._log_wait(setting, rate.limit, amount, wait)
                    await self._wait_for(booked[-1])
                needs = {"requests": 1, "tokens": tokens}
                for unit, amount in needs.items():
                    reservation, wait = self._remaining[unit].reserve(amount)
                    booked.insert(0, reservation)  # tokens per minute stay last: Slot.succeeded corrects them
                    if wait > left(False):
                        raise NoPlaceInTime
                    if wait > 0:
                        await self._clock.sleep(wait)
                if not self.pause:  # otherwise a pause began during the waits: start again
                    sent = True
                    self._admitted += 1
                    totals = {unit: self._remaining[unit].use(amount) for unit, amount in needs.items()}
                    yield Slot(self, self._admitted, self._clock.now(), booked, totals)
                    return
            finally:
                if not sent:
                    for reservation in booked:
                        reservation.give_back()
                self.active -= 1
                self._admit()

    async def _wait_for(self, reservation: Reservation) -> None:
        """Wait until the reserved time. It becomes earlier if a request before it is cancelled."""
        wait = reservation.time - self._clock.now()
        while wait > 0:
            try:
                async with asyncio.timeout(None) as reservation.alarm:
                    await self._clock.sleep(wait)
            except TimeoutError:
                pass  # its time has changed
            finally:
                reservation.alarm = None
            wait = reservation.time - self._clock.now()

    def _log_wait(self, setting: str, limit: float, amount: float, wait: float) -> None:
        """Log the first long wait for a rate that the user set, or the first request that alone exceeds it."""
        if setting in self._logged_rates:
            return
        if amount > limit:
            self._logged_rates.add(setting)
            words = "a request of about %d tokens exceeds %s (%d), and takes a minute of its own: raise the limit"
            logger.warning(words, amount, setting, limit)
        elif wait >= LONG_WAIT:
            self._logged_rates.add(setting)
            logger.warning("a request waits for %.0f s because of %s (%d)", wait, setting, limit)

    async def _queue(self, seconds: float) -> None:
        """Wait for a place, and take it."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(None if seconds == inf else seconds):
                try:
                    await turn
                except asyncio.CancelledError:
                    if turn.done() and not turn.cancelled():
                        self.active -= 1
                        self._admit()
                    raise
        except TimeoutError:
            raise NoPlaceInTime from None

    def _admit(self) -> None:
        """Give free slots to the requests that wait."""
        while self._waiting and self.active < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.active += 1
                turn.set_result(None)

    def throttled(self, number: int, retry_after: float | None, *, everybody: bool) -> None:
        """The server turned away request ``number``; ``everybody``: no request is admitted during the pause."""
        if not self._in_a_row:
            self._row_began = self._admitted
            self._in_flight_at_row = self.active
        self._in_a_row += 1
        too_many = min(self._patience, max(MOST_PATIENCE, self.limit // 2))
        is_old = number <= self._halved_at  # sent before the limit was halved: no reason to halve it again
        in_flight = self._in_flight_at_row + self._admitted - self._row_began
        if not everybody:
            if is_old and not self.pause:
                return
            if not is_old and self._in_a_row < max(too_many, in_flight / 2):
                return  # may be chance
        now = self._clock.now()
        pause = retry_after or min(LONGEST_PAUSE, max(SHORTEST_PAUSE, (now - self._last_success) / 4))
        self._paused_until = max(self._paused_until, now + pause)
        if not is_old:
            half = max(1, self.limit // 2)
            if retry_after and self._answered:
                # With a limit per minute, slow replies mean that many are in flight: half of them would be too few.
                half = max(half, min(self.limit, ceil(self._answered_at_once.mean(now))))
            self.limit = half
            if self._answered:
                self._safe = self.limit
            self._halved_at = self._admitted
            self._in_a_row = self._successes = 0
            self._patience = max(LEAST_PATIENCE, too_many // 4)
            self._answered = False

    def read_limits(self, stated: Mapping[str, StatedLimit], totals: Mapping[str, float]) -> None:
        """A reply stated these limits of ``requests`` and ``tokens``; ``totals`` had been sent with its request."""
        for unit, limit in stated.items():
            self._remaining[unit].read(limit, totals[unit])

    def succeeded(self, number: int, sent: float) -> None:
        """The server answered request ``number``; ``sent`` is when it was sent."""
        now = self._clock.now()
        self._answered_at_once.add(now - sent, now)
        if self._in_a_row and number > self._row_began:
            self._in_a_row = 0
            self._patience = min(self._patience + 1, self.concurrency)
        self._answered = True
        self._last_success = now
        if self.limit == self.concurrency:
            return
        self._successes += 1
        if self.limit < self._safe or self._successes >= 2 * self.limit:
            self._successes = 0
            self.limit += 1
            self._admit()


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one request, which reports the outcome to the limiter."""

    limiter: Limiter
    number: int
    sent: float
    """When it was sent."""
    booked: list[Reservation]
    totals: Mapping[str, float]
    """The requests and estimated tokens that were sent up to this request."""

    def read_limits(self, stated: Mapping[str, StatedLimit]) -> None:
        """The headers of the reply, whatever its status, stated these limits of ``requests`` and ``tokens``."""
        self.limiter.read_limits(stated, self.totals)

    def succeeded(self, tokens: int | None) -> None:
        """The server answered, and counted ``tokens``; ``None`` keeps the estimate."""
        if self.limiter.counts_tokens and tokens is not None:
            self.booked[-1].correct(tokens)
        self.limiter.succeeded(self.number, self.sent)

    def throttled(self, retry_after: float | None, *, everybody: bool = False) -> None:
        """The server turned the request away; ``retry_after``: it asked to wait for that many seconds.

        ``everybody``: no request is admitted until then. Otherwise this happens only after several refusals in a row.
        """
        self.limiter.throttled(self.number, retry_after, everybody=everybody)


class AnsweredAtOnce:
    """The average number of answered requests that were in flight at once, over about the last minute.

    It is the sum of their durations divided by the time that passed. Both count less the longer ago they are.
    """

    def __init__(self) -> None:
        self._sum = 0.0
        self._passed = 0.0
        self._updated: float | None = None  # the time

    def add(self, seconds: float, now: float) -> None:
        """A request took ``seconds`` until its answer."""
        if self._updated is None:
            self._updated = now - seconds
        self._update(now)
        self._sum += seconds

    def mean(self, now: float) -> float:
        """The average now; 0 before the first answer."""
        self._update(now)
        return self._sum / self._passed if self._passed else 0.0

    def _update(self, now: float) -> None:
        if self._updated is None:
            return
        seconds = now - self._updated
        weight = exp(-seconds / MINUTE)
        self._sum *= weight
        self._passed = self._passed * weight + seconds
        self._updated = now


@dataclass
class _Health:
    """What a :class:`Breaker` knows of a model."""

    failures: int = 0
    failing_since: float = 0.0
    rest: float = SHORTEST_REST
    rests_until: float | None = None
    """``None`` = the model works."""
    is_tried: bool = False
    """Whether a trial is running."""


class Breaker:
    """Decides whether to start work that needs models, from the failures and successes of their requests.

    A model rests after several failures in a row without a success, or as long as its server asks for. After that, one
    piece of work is admitted, and may take ``patience`` seconds to succeed; after a failure the model rests twice as
    long, at most a minute. Any success ends the rest.
    """

    def __init__(self, patience: float, *, clock: Clock | None = None) -> None:
        self._patience = patience
        self._clock = clock or Clock()
        self._models: dict[str, _Health] = {}

    @property
    def resting(self) -> dict[str, float]:
        """The models that rest, and the seconds until work is admitted again."""
        now = self._clock.now()
        resting = {}
        for model, health in self._models.items():
            if health.rests_until is not None:
                resting[model] = max(0.0, health.rests_until - now)
        return resting

    def admit(self) -> bool:
        """Whether to begin a piece of work. If a model has rested long enough, the work becomes its trial."""
        resting = self.resting
        if any(resting.values()):
            return False
        for model in resting:
            health = self._models[model]
            health.rests_until = self._clock.now() + self._patience
            health.is_tried = True
        return True

    def succeeded(self, model: str) -> None:
        """``model`` has answered."""
        self._models[model] = _Health()

    def failed(self, model: str, seconds: float = 0.0, *, pause: float = 0.0) -> None:
        """``model`` has not answered for ``seconds``.

        ``pause``: its server asks for this many seconds without requests, longer than a request may wait.
        """
        now = self._clock.now()
        health = self._models.setdefault(model, _Health())
        if not health.failures:
            health.failing_since = now - seconds
        health.failures += 1
        is_out = health.failures >= OUTAGE_FAILURES and now - health.failing_since >= OUTAGE_SECONDS
        if pause:
            health.rests_until = max(health.rests_until or 0.0, now + pause)
        elif health.is_tried:
            health.rest = min(2 * health.rest, LONGEST_REST)
            health.rests_until = now + health.rest
        elif is_out and health.rests_until is None:
            health.rests_until = now + health.rest
        health.is_tried = False


class Remaining:
    """How many requests or tokens a server still allows, according to the headers of its newest reply.

    If too little remains, a request waits for the reset. If this program's own requests of the last minute are at least
    half of the limit, it waits only until these leave room, because many servers raise the remainder continuously.

    Headers may be wrong, so a wait lasts a minute at most. If hardly anything remains for the first request after a
    wait, when the whole limit should, the headers are ignored from then on. Refusals then slow down the requests.
    """

    def __init__(self, clock: Clock) -> None:
        self.is_stated = False
        self._clock = clock
        self._recent = Rate(inf, clock)  # until a reply states the limit
        self._sent = 0.0  # since the beginning
        self._remaining = inf
        self._reset = -inf  # the time of the reset; nothing is known about later times
        self._newest = 0.0  # the total that was sent up to the request whose reply was read last
        self._sent_before_wait: float | None = None
        self._is_credible = True

    def reserve(self, amount: float) -> tuple[Reservation, float]:
        """Book ``amount``. Return the seconds until the server allows it."""
        now = self._clock.now()
        reservation = self._recent.reserve(amount)
        if now >= self._reset or self._remaining >= amount:
            return reservation, 0.0
        if self._recent.total >= self._recent.limit / 2:
            return reservation, min(reservation.time, self._reset) - now
        self._sent_before_wait = self._sent
        return reservation, self._reset - now

    def use(self, amount: float) -> float:
        """Send ``amount``. Return what has been sent so far."""
        self._sent += amount
        self._remaining -= amount
        return self._sent

    def read(self, stated: StatedLimit, total: float) -> None:
        """Learn from a reply; ``total`` had been sent with its request. It doesn't count later requests."""
        if total < self._newest or not self._is_credible:
            return
        self._newest = total
        self.is_stated = True
        if self._sent_before_wait is not None and total > self._sent_before_wait:
            used = total - self._sent_before_wait
            self._sent_before_wait = None
            if stated.remaining + used < stated.limit / 10:
                self._is_credible = False
                self._reset = -inf
                return
        self._remaining = stated.remaining - (self._sent - total)
        self._reset = self._clock.now() + min(stated.reset, MINUTE)
        self._recent.limit = stated.limit


class Rate:
    """At most ``limit`` units in any ``window`` of seconds, first come, first served."""

    def __init__(self, limit: float, clock: Clock, window: float = MINUTE) -> None:
        self.limit = limit
        self._clock = clock
        self._window = window
        self._reserved: deque[Reservation] = deque()
        self._earlier: deque[Reservation] = deque()  # of the last window, but too early for the newest reservation
        self.total = 0.0
        """The sum of the reserved amounts."""

    def reserve(self, amount: float) -> Reservation:
        """Book ``amount`` at the earliest time that has room; an amount above the limit gets a minute of its own."""
        reservation = Reservation(self, self._clock.now(), amount)
        self._book(reservation)
        return reservation

    def _book(self, reservation: Reservation, latest: float = inf) -> None:
        """Book it at the earliest time that has room, or at the ``latest`` one, even if that has none."""
        now = self._clock.now()
        time = now
        if self._reserved:
            time = max(now, self._reserved[-1].time)
        while self._reserved:
            oldest = self._reserved[0]
            if oldest.time + self._window > now and self.total + reservation.amount <= self.limit:
                break
            if oldest.time + self._window > latest:
                time = latest
                break
            self._reserved.popleft()
            oldest.counts = False
            self.total -= oldest.amount
            self._earlier.append(oldest)
            time = max(time, oldest.time + self._window)
        while self._earlier and self._earlier[0].time + self._window <= now:
            self._earlier.popleft()
        reservation.time, reservation.counts = time, True
        self._reserved.append(reservation)
        self.total += reservation.amount

    def give_back(self, reservation: Reservation) -> None:
        """Cancel a ``reservation`` that was not used, and book those that still wait again: they may be earlier now.

        None gets a later time, because each request waits only as long as it was told. Amounts that were corrected
        upward may leave no room at its time. Then the minute holds as much as it would have without the cancellation.
        """
        now = self._clock.now()
        others = [other for other in (*self._earlier, *self._reserved) if other is not reservation]
        self._earlier.clear()
        self._reserved = deque(other for other in others if other.time <= now < other.time + self._window)
        self.total = sum(other.amount for other in self._reserved)
        reservation.counts = False
        for other in self._reserved:
            other.counts = True
        for other in others:
            if other.time > now:
                self._book(other, latest=other.time)
                other.wake()


@dataclass(slots=True, eq=False)  # two equal amounts at one time are two reservations
class Reservation:
    """An amount that is booked for a certain time."""

    rate: Rate
    time: float
    amount: float
    counts: bool = True
    """Whether it is part of the rate's total."""
    alarm: asyncio.Timeout | None = None
    """Ends the sleep of the request that waits for its time."""

    def correct(self, amount: float) -> None:
        """Replace the estimate by the amount that was really used."""
        if self.counts:
            self.rate.total += amount - self.amount
        self.amount = amount

    def give_back(self) -> None:
        """Cancel it, because it was not used."""
        self.rate.give_back(self)

    def wake(self) -> None:
        """Its time has changed."""
        if self.alarm is not None:
            self.alarm.reschedule(0)
            self.alarm = None
