"""A command that is kept open and asked line by line, or is run once for a line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

TAIL = 400
"""How many bytes of a command's stderr go into an error."""

_CHUNK = 65536
_GRACE = 1.0

# Correctness before speed: so long after each answer a second line still counts as surplus. It bounds a command to
# some 200 lines a second, which is faster than any neural system.
_SURPLUS_WAIT = 0.005

# How long, once after its start, a command may greet before the first line is sent to it.
_START_WAIT = 0.2

_SHOWN = 200


class ProcessEnded(Exception):
    """The command ended before it answered; the message has its exit code and the tail of its stderr."""


class OutOfStep(Exception):
    """The command wrote what answers no line: nobody can tell which line is the translation. The message shows it."""


async def start(command: str | Sequence[str]) -> Process:
    """Start ``command``: a string through the shell, a sequence directly, in a process group of its own.

    Raises :class:`OSError` where a sequence names no program.
    """
    if isinstance(command, str):
        return await asyncio.create_subprocess_shell(
            command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)


async def end(process: Process) -> None:
    """Kill the whole process group, and wait."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # A grandchild of a command that is gone may still hold the pipes.
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(_GRACE):
            await process.communicate()


def ending(process: Process, stderr: bytes) -> str:
    """How a command ended, for an error message."""
    said = stderr[-TAIL:].decode("utf-8", "replace").strip()
    return f"exit code {process.returncode}" + (f", stderr: {said}" if said else ", nothing on stderr")


def one_line(output: bytes) -> bytes:
    """``output`` without its last terminators. Raises :class:`OutOfStep` where it is more than one line."""
    answer = output.strip(b"\0\r\n")
    if b"\n" in answer or b"\0" in answer:
        raise OutOfStep(f"wrote more than one line for one line of the source: {_shown(answer)}")
    return answer


def _shown(output: bytes | bytearray) -> str:
    text = bytes(output[:_SHOWN]).replace(b"\0", b"\n").decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return ", then ".join(map(repr, lines)) or "a blank line"


async def run_once(command: str | Sequence[str], sent: bytes) -> bytes:
    """What ``command`` writes for ``sent`` until it ends. Raises :class:`ProcessEnded` for a non-zero exit code."""
    process = await start(command)
    try:
        stdout, stderr = await process.communicate(sent)
    except BaseException:  # cancelled or timed out: the command must not outlive the call
        await end(process)
        raise
    if process.returncode:
        raise ProcessEnded(ending(process, stderr))
    return stdout


class OpenProcess:
    """A command kept open, whose answers end with ``terminator``.

    Its output is read all the time, so that neither side waits for the other.
    """

    def __init__(self, process: Process, terminator: bytes) -> None:
        self._process = process
        self._terminator = terminator
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._searched = 0
        self._started = False
        self._news = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self._pumps = [asyncio.create_task(self._pump_stdout()), asyncio.create_task(self._pump_stderr())]

    @property
    def ended(self) -> bool:
        """Whether the command has closed its output or has ended."""
        return self._process.returncode is not None or self._pumps[0].done()

    async def quiet_start(self) -> None:
        """Wait, once, whether the command writes something unasked: then it is :class:`OutOfStep`."""
        if not self._started:
            self._started = True
            await self._more(0, _START_WAIT)
            if self._stdout:
                raise OutOfStep(f"wrote {_shown(self._stdout)} before any line was sent to it")

    async def ask(self, sent: bytes) -> bytes:
        """The line that answers ``sent``, without its terminator.

        Raises :class:`ProcessEnded` where none comes, and :class:`OutOfStep` where more than one has come.
        """
        if self._stdout:
            late = f"{_shown(self._stdout)} came after an earlier answer, which may be wrong too"
            raise OutOfStep(f"wrote more than one line for one line of the source: {late}")
        self._write(sent)
        end = await self._answer_end()
        await self._more(end, _SURPLUS_WAIT)
        if len(self._stdout) > end:
            raise OutOfStep(f"wrote more than one line for one line of the source: {_shown(self._stdout)}")
        answer = bytes(self._stdout[: -len(self._terminator)])
        self._stdout.clear()
        return answer

    async def rest(self) -> bytes:
        """Close the command's input and read what it still writes, until it ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._pumps[0]
        if await self._process.wait():
            raise await self._failure()
        return bytes(self._stdout)

    async def close(self) -> None:
        """End the command, whatever it is doing."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        await end(self._process)

    def _write(self, data: bytes) -> None:
        # Not drained: asyncio buffers what the pipe does not take yet, and the answer is the confirmation.
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(data)

    async def _answer_end(self) -> int:
        """Where the first line ends, when it is complete."""
        self._searched = 0
        while (found := self._stdout.find(self._terminator, self._searched)) < 0:
            self._searched = len(self._stdout)
            if self._pumps[0].done():
                raise await self._failure()
            self._news.clear()
            await self._news.wait()
        return found + len(self._terminator)

    async def _more(self, length: int, seconds: float) -> None:
        """Wait until the output is longer than ``length`` or has ended, but not longer than ``seconds``."""
        self._news.clear()
        if len(self._stdout) > length or self._pumps[0].done():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _failure(self) -> ProcessEnded:
        await self._process.wait()
        await self._pumps[1]
        return ProcessEnded(ending(self._process, bytes(self._stderr)))

    async def _pump_stdout(self) -> None:
        assert self._process.stdout is not None
        try:
            while chunk := await self._process.stdout.read(_CHUNK):
                self._stdout += chunk
                self._news.set()
        finally:
            self._news.set()

    async def _pump_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._stderr = (self._stderr + chunk)[-TAIL:]
