"""Several pieces of work at the same time: which of them may go on after an error, and which error is raised.

- :func:`together`: the results are useful only together. The first error cancels the others.
- :func:`answered`: one error says nothing about the others. It is returned in the place of its result; only an error
  that concerns every segment cancels the others.
- :func:`finished`: all work is useful to its end, since it is paid for. Then the most serious error is raised.

An error that :func:`answered` or :func:`finished` raises carries the calls of all the work, so that no cost is lost.
If many pieces could go on at the same moment, :func:`turn` lets a few of them through at a time, and :func:`aside` does
what takes long in a thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from mtagent.errors import FATAL, NotAnswered, OffScript, calls_of
from mtagent.records import Call

T = TypeVar("T")
CallsOf = Callable[[Any], Iterable[Call]]
STOPPING = (*FATAL, OffScript)
"""Errors that stop all work: they concern every segment, or a fake was asked for more than it knows."""


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results in order. The first error cancels the others, waits for them, and is raised as it is.

    :class:`NotAnswered` doesn't cancel the others, so that all their requests get into the same batch.
    """
    if len(work) == 1:  # needs no task of its own
        return [await work[0]]
    unanswered: list[NotAnswered] = []

    async def result_of(coroutine: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await coroutine
        except NotAnswered as error:
            unanswered.append(error)
            return None

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(result_of(coroutine)) for coroutine in work]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    if unanswered:
        raise unanswered[0]
    return [cast(T, task.result()) for task in tasks]


async def answered(*work: Coroutine[Any, Any, T], calls: CallsOf = calls_of) -> list[T | Exception]:
    """The results in order, each error in the place of its result. A :data:`STOPPING` error cancels the others.

    ``calls`` returns the calls of a result; the default reads the field of that name.
    """
    ended: list[T | BaseException] = []

    async def answer(coroutine: Coroutine[Any, Any, T]) -> T | Exception:
        try:
            result = await coroutine
        except (*STOPPING, asyncio.CancelledError) as error:
            ended.append(error)
            raise
        except Exception as error:  # noqa: BLE001 a third party's part may raise anything; it must not stop the others
            ended.append(error)
            return error
        ended.append(result)
        return result

    try:
        return await together(*map(answer, work))
    except STOPPING as error:
        _carry_calls(error, ended, calls)
        raise


async def finished(*work: Awaitable[T], calls: CallsOf = calls_of) -> list[T]:
    """The results in order. An error is raised when all have ended: see :func:`unfailed`."""
    return unfailed(await asyncio.gather(*work, return_exceptions=True), calls=calls)


def unfailed(results: Sequence[T | BaseException], *, calls: CallsOf = calls_of) -> list[T]:
    """The ``results``, if none is an error; else the first :data:`STOPPING` error, or the first error, is raised."""
    successes = list[T]()
    failures = list[BaseException]()
    for result in results:
        if isinstance(result, BaseException):
            failures.append(result)
        else:
            successes.append(result)
    if not failures:
        return successes
    most_serious = failures[0]
    for failure in failures:
        if isinstance(failure, STOPPING):
            most_serious = failure
            break
    _carry_calls(most_serious, results, calls)
    raise most_serious


def _carry_calls(error: BaseException, results: Sequence[object], calls: CallsOf) -> None:
    """Put the calls of all ``results`` on ``error``, each once: a result may share calls with another."""
    paid: dict[int, Call] = {}
    for result in results:
        of_result = calls_of(result) if isinstance(result, BaseException) else calls(result)
        for call in of_result:
            paid[id(call)] = call
    setattr(error, "calls", tuple(paid.values()))  # noqa: B010 may be any exception; only our own declare calls


# Turns: the work of a chain between two requests takes a millisecond or more. If hundreds worked in one round of the
# loop, everything else in it would wait: other endpoints of a web service, and the next requests of the first chains.

A_ROUND = 2
"""How many tasks continue in one round."""


class _Turns:
    """The tasks of a loop that wait for their turn, each queue in the order in which they came."""

    def __init__(self) -> None:
        self.begun = deque[asyncio.Future[None]]()
        self.new = deque[asyncio.Future[None]]()

    def __len__(self) -> int:
        return len(self.begun) + len(self.new)

    @property
    def first(self) -> deque[asyncio.Future[None]]:
        """The queue whose turn it is."""
        return self.begun or self.new


_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


async def turn(*, has_begun: bool = False) -> None:
    """Wait until it is this task's turn. A chain that ``has_begun`` goes first.

    Otherwise chains that begin together would send all their requests together, and get all their replies together.
    """
    loop = asyncio.get_running_loop()
    waiting = _waiting.get(loop)
    if waiting is None:
        waiting = _waiting[loop] = _Turns()
    my_turn: asyncio.Future[None] = loop.create_future()
    if has_begun:
        waiting.begun.append(my_turn)
    else:
        waiting.new.append(my_turn)
    if len(waiting) == 1:
        loop.call_soon(_next_round, loop, waiting)
    await my_turn


def _next_round(loop: asyncio.AbstractEventLoop, waiting: _Turns) -> None:
    try:
        for _ in range(min(A_ROUND, len(waiting))):
            queue = waiting.first
            if not queue[0].done():
                queue[0].set_result(None)
            queue.popleft()
    finally:  # the loop may continue after Ctrl-C in this place
        if waiting:
            loop.call_soon(_next_round, loop, waiting)


# Checks of a large text take up to a second. One thread does them for the whole loop, so that they share the processor
# with it rather than with each other. What still waits for the thread when its chain is cancelled is never begun.

LARGE = 2_000
"""Characters from which the work on a text is done in the thread: 10 ms of work or more."""


class _Thread:
    """The thread of a loop.

    What is urgent goes first, then the work of the task that came first, because what was read of its texts is cached.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="mtagent-aside")
        self._is_busy = False
        self._numbers = count()
        self._tasks: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        self._waiting: list[tuple[bool, int, int, asyncio.Future[None]]] = []

    async def run(self, work: Callable[[], T], is_urgent: bool) -> T:
        task = asyncio.current_task()
        assert task is not None
        number = self._tasks.setdefault(task, next(self._numbers))
        loop = asyncio.get_running_loop()
        if self._is_busy:
            my_turn: asyncio.Future[None] = loop.create_future()
            heappush(self._waiting, (not is_urgent, number, next(self._numbers), my_turn))
            try:
                await my_turn
            except asyncio.CancelledError:
                if my_turn.done() and not my_turn.cancelled():
                    self._release()
                raise
        self._is_busy = True
        try:
            return await loop.run_in_executor(self._executor, work)
        finally:
            loop.call_soon(self._release)  # after this task has come back with more work

    def _release(self) -> None:
        while self._waiting:
            *_, turn_of_next = heappop(self._waiting)
            if not turn_of_next.done():
                turn_of_next.set_result(None)
                return
        self._is_busy = False


_threads: WeakKeyDictionary[asyncio.AbstractEventLoop, _Thread] = WeakKeyDictionary()


async def aside(size: int, work: Callable[..., T], *arguments: Any, is_urgent: bool = False) -> T:
    """The result of ``work(*arguments)``, done in a thread if the ``size`` of its texts is ``LARGE`` or more.

    The loop serves other tasks meanwhile. Work that ``is_urgent`` goes before checks. ``work`` must not change what
    other tasks change.
    """
    if size < LARGE:
        return work(*arguments)
    loop = asyncio.get_running_loop()
    if loop not in _threads:
        _threads[loop] = _Thread()
    return await _threads[loop].run(partial(copy_context().run, work, *arguments), is_urgent)
