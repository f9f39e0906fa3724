"""A command as a translator: one line in, one line out.

The command is started on first use and kept open. Many MT programs hold their answers back until their input ends;
such a command is run once for each line instead. A text of several lines is sent line by line, so that its paragraph
separators come back exactly; blank lines are not sent.

What works with Apertium (3.8): the ``apertium`` script never answers before its input ends, also with ``-z`` and with
``-f line``, because its (de)formatters do not flush and two awk programs inside read one record ahead. Within one run
it also moves words across line ends. So it is run once for each line. Its inner pipeline does flush at each NUL that
follows a blank, and can be kept open with ``null_flush=True``; it reads Apertium's stream format, where the characters
``^$/<>{}[]@`` and the backslash are escaped with a backslash::

    bash -c 'bash <(apertium-wblank-mode -z /usr/share/apertium/modes/eng-spa.mode) -g'
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from mtagent.errors import ConfigError, TranslatorError
from mtagent.records import Draft, Segment
from mtagent.translators.protocol import Turns, checked, line_by_line

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


HOLDS_BACK = frozenset({"apertium"})
"""Programs known to answer only when their input ends."""

_WAY_OUT = "standard output is for translations alone: send messages to standard error (>&2) or switch them off"


class CommandTranslator:
    """A command as a :class:`mtagent.translators.protocol.Translator`.

    ``command`` is a string for the shell, or a sequence of arguments. ``keep_open=None`` finds out: where the first
    line is not answered within ``patience`` seconds, the input is closed, and a command that answers then is run once
    for each line from there on. ``null_flush`` sends a line feed and NUL after each line, and reads up to
    NUL. ``timeout`` is in seconds for each line. A command that ends early is started again once for each line.

    Standard output is for translations alone. A banner at the start, and a second line that comes with an answer, fail
    the segment, and the command is started anew, so that the next line gets its own answer. A message that is
    written long before its answer cannot be told from a translation.

    Raises :class:`TranslatorError` with the exit code and the end of the command's stderr, or the surplus output.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        name: str | None = None,
        keep_open: bool | None = None,
        null_flush: bool = False,
        timeout: float = 60.0,
        patience: float = 5.0,
    ) -> None:
        words = _words(command)
        if not words:
            raise ConfigError("the command is empty: write for example 'command:apertium eng-spa'")
        self.name = name or " ".join(words)
        self._command = command
        known_to_hold_back = Path(words[0]).name in HOLDS_BACK
        self._keep_open = False if keep_open is None and known_to_hold_back else keep_open
        self._sent_after = b"\n\0" if null_flush else b"\n"
        self._terminator = self._sent_after[-1:]
        self._timeout = timeout
        self._patience = patience
        self._open: OpenProcess | None = None
        self._turns_open = Turns()
        self._turns_once = Turns(os.cpu_count() or 1)

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source comes back as it is, without a call."""
        return Draft(text=await line_by_line(segment.source, self._translate))

    async def aclose(self) -> None:
        """End the command, if it is open. A later :meth:`draft` starts it again."""
        process, self._open = self._open, None
        if process is not None and process.loop is asyncio.get_running_loop():
            await process.close()

    async def _translate(self, line: str) -> str:
        if "\0" in line:
            raise TranslatorError(f"{self.name}: the source holds a NUL character, which no command can read")
        try:
            answer = await self._answer(line.encode() + self._sent_after)
            return checked(answer.decode().strip(), self.name)
        except ProcessEnded as failure:
            raise TranslatorError(f"{self.name}: ended without an answer: {failure}") from failure
        except OutOfStep as failure:
            raise TranslatorError(f"{self.name}: {failure}; {_WAY_OUT}") from failure
        except TimeoutError as failure:
            raise TranslatorError(f"{self.name}: no answer within {self._timeout:g} s") from failure
        except UnicodeError as failure:
            raise TranslatorError(f"{self.name}: the answer is not UTF-8: {failure}") from failure
        except OSError as failure:
            raise TranslatorError(f"{self.name}: cannot be started: {failure}") from failure

    async def _answer(self, line: bytes) -> bytes:
        if not self._runs_once():
            async with self._turns_open.one():
                if not self._runs_once():  # another task may have found out meanwhile
                    return await self._ask(line)
        async with self._turns_once.one():
            return await self._ask_once(line)

    def _runs_once(self) -> bool:
        return self._keep_open is False

    async def _ask_once(self, line: bytes) -> bytes:
        async with asyncio.timeout(self._timeout):
            return one_line(await run_once(self._command, line))

    async def _ask(self, line: bytes) -> bytes:
        try:
            return await self._ask_open(line)
        except ProcessEnded:
            return await self._ask_open(line)

    async def _ask_open(self, line: bytes) -> bytes:
        process = await self._running()
        try:
            await process.quiet_start()
            async with asyncio.timeout(self._timeout):
                if self._keep_open is None:
                    return await self._first_answer(process, line)
                return await process.ask(line)
        except BaseException:  # timed out, cancelled or out of step: its next line would answer an older question
            await self.aclose()
            raise

    async def _first_answer(self, process: OpenProcess, line: bytes) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                answer = await process.ask(line)
        except TimeoutError:
            answer = one_line(await process.rest())
            self._keep_open = False
            await self.aclose()
        else:
            self._keep_open = True
        return answer

    async def _running(self) -> OpenProcess:
        if self._open is not None and (self._open.ended or self._open.loop is not asyncio.get_running_loop()):
            await self.aclose()
        if self._open is None:
            self._open = OpenProcess(await start(self._command), self._terminator)
        return self._open


def _words(command: str | Sequence[str]) -> list[str]:
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError as failure:
        raise ConfigError(f"the command {command!r} cannot be read: {failure}") from failure
