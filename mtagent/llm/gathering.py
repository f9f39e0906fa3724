"""Several pieces of work at the same time: which of them may go on after an error, and which error is raised.

- :func:`together`: the results are useful only together. The first error cancels the others.
- :func:`answered`: one error says nothing about the others. It is returned in the place of its result; only an error
  that concerns every segment cancels the others.
- :func:`finished`: all work is useful to its end, since it is paid for. Then the most serious error is raised.

An error that :func:`answered` or :func:`finished` raises carries the calls of all the work, so that no cost is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from mtagent.errors import FATAL, OffScript, calls_of
from mtagent.records import Call

T = TypeVar("T")
CallsOf = Callable[[Any], Iterable[Call]]
STOPPING = (*FATAL, OffScript)
"""Errors that stop all work: they concern every segment, or a fake was asked for more than it knows."""


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results in order. The first error cancels the others, waits for them, and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in work]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


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
