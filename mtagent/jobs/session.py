"""The session of an agent: its parts, opened once, for calls from any task and any thread.

Parts belong to one event loop. Synchronous calls work in the session's own loop, in a thread; once that loop exists, so
do async calls. Inside ``async with`` everything works in the loop of that block; otherwise an async call works in the
loop in which it is made, and its parts are closed when that loop ends. A forked process opens parts of its own.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from mtagent.errors import ConfigError
from mtagent.processes import begin_in_children

Parts = TypeVar("Parts")
Result = TypeVar("Result")


class Session(Generic[Parts]):
    """``open_parts`` makes the parts, and closes what it opened: a generator function as an async context manager."""

    def __init__(self, open_parts: Callable[[], AbstractAsyncContextManager[Parts]]) -> None:
        self._open_parts = open_parts
        self._begin()
        begin_in_children(self)

    def _begin(self) -> None:
        """Start with nothing opened."""
        self._opened: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Parts]]
        self._opened = weakref.WeakKeyDictionary()
        self._managers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AbstractAsyncContextManager[Parts]]
        self._managers = weakref.WeakKeyDictionary()
        self._home: asyncio.AbstractEventLoop | None = None
        self._own: OwnLoop | None = None
        self._lock = threading.Lock()

    def begin_in_child(self) -> None:
        """Start again in a forked process: threads, loops and connections of its parent don't work there."""
        # Kept, because ending them would reach into the parent, which uses the same sockets and files.
        _OF_THE_PARENT.append((self._opened, self._managers, self._own))
        self._begin()

    async def run(self, work: Callable[[Parts], Awaitable[Result]]) -> Result:
        """The result of ``work`` on the parts, in their loop."""
        home = self._home
        if home is None or home is asyncio.get_running_loop():
            return await self._here(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._here(work), home))

    def submit(self, work: Callable[[Parts], Awaitable[Result]]) -> Future[Result]:
        """The same, from a thread whose own loop, if there is one, need not run meanwhile."""
        loop = self._loop_for_waiting()
        return asyncio.run_coroutine_threadsafe(self._here(work), loop)

    def wait(self, work: Callable[[Parts], Awaitable[Result]]) -> Result:
        """The result, waited for. Ctrl-C cancels the work."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def enter(self) -> None:
        """Open the parts in the running loop, where all calls work until :meth:`leave`."""
        with self._lock:
            if self._home is not None and self._own is None:
                raise ConfigError("this agent is already inside `async with`: use it there, or make another agent")
            self._home = asyncio.get_running_loop()
        try:
            await self._here(_nothing)
        except BaseException:
            self._home = None
            raise

    async def leave(self) -> None:
        """Close what was opened in the running loop. A later call opens it again."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._home is loop:
                self._home = None if self._own is None else self._own.loop
        self._opened.pop(loop, None)
        manager = self._managers.pop(loop, None)
        if manager is not None:
            await manager.__aexit__(None, None, None)

    def close(self) -> None:
        """End the session's own loop, if there is one, and close what was opened there."""
        with self._lock:
            own, self._own = self._own, None
            if own is not None and self._home is own.loop:
                self._home = None
        if own is not None:
            own.stop()

    async def _here(self, work: Callable[[Parts], Awaitable[Result]]) -> Result:
        """The result of ``work`` on the parts of the running loop, which the first call opens."""
        loop = asyncio.get_running_loop()
        opening = self._opened.get(loop)
        if opening is None:
            opening = self._opened[loop] = loop.create_task(self._open(loop))
        try:
            parts = await asyncio.shield(opening)
        except BaseException:
            if opening.done() and (opening.cancelled() or opening.exception()):
                self._opened.pop(loop, None)  # the next call tries again
            raise
        return await work(parts)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> Parts:
        # If nobody closes it, the loop does: it ends the async generators that began in it, and this is one of them.
        manager = self._open_parts()
        if self._own is not None and self._own.loop is loop:
            self._own.opened = manager
        else:
            self._managers[loop] = manager
        return await manager.__aenter__()

    def _loop_for_waiting(self) -> asyncio.AbstractEventLoop:
        """The loop for a thread that waits for the result: never a loop that runs in this thread."""
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        with self._lock:
            if self._home is not None and self._home is not here:
                return self._home
            if here is not None and here is (self._home if self._own is None else self._own.loop):
                raise ConfigError("this thread runs the loop that the agent works in: await agent.atranslate(…) here")
            if self._own is None:
                self._own = OwnLoop()
                weakref.finalize(self, self._own.stop)
            self._home = self._home or self._own.loop
            return self._own.loop


class OwnLoop:
    """An event loop in its own thread, which doesn't keep Python from ending. At its end it closes ``opened``."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.opened: AbstractAsyncContextManager[Any] | None = None
        self._thread = threading.Thread(target=self._run, name="mtagent", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def stop(self) -> None:
        """Cancel the work in the loop, close what is open, and end the loop."""
        if not self._thread.is_alive():  # it has ended, or it is in the parent of a forked process
            return
        asyncio.run_coroutine_threadsafe(self._stop(), self.loop)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)

    async def _stop(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        try:
            if self.opened is not None:
                await self.opened.__aexit__(None, None, None)
        finally:
            self.loop.stop()


_OF_THE_PARENT: list[object] = []


async def _nothing(parts: object) -> None:
    """Work that only opens the parts."""
