"""An evaluator made of a function that is fast for many translations together and slow for each alone."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread

from mtagent.errors import FATAL, ConfigError, EvaluationError
from mtagent.records import Rating, Segment

Pair = tuple[Segment, str]
RateBatch = Callable[[Sequence[Pair]], Sequence[Rating]]


class InBatches:
    """Rates with ``rate_batch``, which takes pairs of segment and translation and gives a rating for each, in order.

    It runs in a thread, one batch at a time: whatever is asked for meanwhile waits and becomes the next batch, of
    ``most`` pairs at most. A batch that fails is tried again in halves, so that what cannot be rated harms no other;
    errors that concern every segment alike (:data:`mtagent.errors.FATAL`) go to all who asked. No event loop is held:
    an object serves any number of them, one after the other or at once. Nothing waits for the thread when Python ends.
    """

    suggests = False
    calls = (0, 0)

    def __init__(self, name: str, rate_batch: RateBatch, *, signature: str, most: int = 64) -> None:
        if most < 1:
            raise ConfigError(f"{name}: a batch of {most} translations is none: give at least 1")
        self.name, self.signature = name, signature
        self._rate_batch, self._most = rate_batch, most
        self._waiting: deque[tuple[Pair, Future[Rating]]] = deque()
        self._thread: Thread | None = None
        self._lock = Lock()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``, together with others that wait. Raises whatever the function raises for it."""
        rating: Future[Rating] = Future()
        self._waiting.append(((segment, translation), rating))
        # Not at once: all that is asked for in the same turn of the loop belongs into one batch.
        asyncio.get_running_loop().call_soon(self._start)
        return await asyncio.wrap_future(rating)

    def _start(self) -> None:
        """Have a thread rate all that waits. One that is at work does so; after a fork it is not alive any more."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                # A daemon, and no executor: Python would wait for that one's thread, after Ctrl-C for a batch of hours.
                self._thread = Thread(target=self._rate_waiting, name=self.name, daemon=True)
                self._thread.start()

    def _rate_waiting(self) -> None:
        while taken := self._next_batch():
            wanted = [(pair, rating) for pair, rating in taken if rating.set_running_or_notify_cancel()]
            found = self._rated([pair for pair, _ in wanted]) if wanted else []
            for (_, rating), result in zip(wanted, found, strict=True):
                if isinstance(result, BaseException):
                    rating.set_exception(result)
                else:
                    rating.set_result(result)

    def _next_batch(self) -> list[tuple[Pair, Future[Rating]]]:
        """What waits longest; where nothing does, the thread ends, and the next call starts another one."""
        with self._lock:
            taken = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            if not taken:
                self._thread = None
            return taken

    def _rated(self, pairs: Sequence[Pair]) -> list[Rating | BaseException]:
        try:
            return self._counted(pairs)
        except BaseException as error:  # noqa: BLE001  it belongs to those who wait, not to this thread
            if len(pairs) == 1 or isinstance(error, FATAL) or not isinstance(error, Exception):
                return [error] * len(pairs)
        half = len(pairs) // 2
        return self._rated(pairs[:half]) + self._rated(pairs[half:])

    def _counted(self, pairs: Sequence[Pair]) -> list[Rating | BaseException]:
        try:
            ratings = list(self._rate_batch(pairs))
        except StopIteration as error:  # no future takes it: those who wait would wait for ever
            raise EvaluationError(f"{self.name}: the function that rates stopped with {error!r}") from error
        if len(ratings) != len(pairs):
            raise ConfigError(f"{self.name} gave {len(ratings)} ratings for {len(pairs)} translations")
        return [*ratings]
