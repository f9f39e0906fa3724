"""A command as a translator: one line in, one line out.

The command is started on first use and kept open. Many MT programs hold their answers back until their input ends;
such a command is run once for each line instead. A text of several lines is sent line by line, so that its paragraph
separators are kept exactly; blank lines are not sent.

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
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from mtagent.errors import ConfigError, TranslatorError
from mtagent.processes import OF_A_GROUP, end_group, in_shell
from mtagent.records import Draft, Segment
from mtagent.translators.protocol import Turns, checked, line_by_line

TAIL = 400
"""How many bytes of a command's stderr go into an error."""
HOLDS_BACK = frozenset({"apertium"})
"""Programs that answer only when their input ends."""

# Correctness before speed: a second line within this time after an answer is surplus. It limits a command to about 200
# lines per second, which is faster than any neural system.
_SURPLUS_WAIT = 0.005
_START_WAIT = 0.2  # how long, once after its start, a command may greet before the first line is sent to it
_GRACE = 1.0
_CHUNK = 65536
_LONGEST_ANSWER = 2**30
_SHOWN = 200
_SURPLUS = "wrote more than one line for one line of the source"


class ProcessEnded(Exception):
    """The command ended with ``code`` before it answered; the message has the tail of its stderr, too."""

    def __init__(self, code: int, stderr: str) -> None:
        shown = f"stderr: {stderr}" if stderr else "nothing on stderr"
        super().__init__(f"exit code {code}, {shown}")
        self.code = code


class OutOfStep(Exception):
    """The command wrote a line too many, so it's unclear which one is the translation. The message shows it."""


class OpenProcess:
    """A running command, in its own process group. Its answers end with ``terminator``.

    asyncio reads its output all the time, so that neither side waits for the other.
    """

    def __init__(self, process: Process, terminator: bytes) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._terminator = process, terminator
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, b""
        self._greeted = False
        self.loop = asyncio.get_running_loop()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: str | Sequence[str], terminator: bytes) -> OpenProcess:
        """Start ``command``: a string in the shell, a sequence directly (:class:`OSError` for a missing program)."""
        words = command
        if isinstance(command, str):
            words = in_shell(command)
        process = await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LONGEST_ANSWER, **OF_A_GROUP
        )
        return cls(process, terminator)

    @property
    def ended(self) -> bool:
        """Whether the command has closed its output or has ended."""
        return self._process.returncode is not None or self._stdout.at_eof()

    async def ask(self, sent: bytes) -> bytes:
        """The line that answers ``sent``, without its terminator.

        Raises :class:`ProcessEnded` if no line comes, and :class:`OutOfStep` if more than one has come.
        """
        late = await self._read_within(0)
        if late:
            raise OutOfStep(f"{_SURPLUS}: {_shown(late)} came after an earlier answer, which may be wrong too")
        self._send(sent)
        try:
            answer = await self._stdout.readuntil(self._terminator)
        except asyncio.IncompleteReadError:
            raise await self._failure() from None
        surplus = await self._read_within(_SURPLUS_WAIT)
        if surplus:
            raise OutOfStep(f"{_SURPLUS}: {_shown(answer + surplus)}")
        return answer.removesuffix(self._terminator)

    async def quiet_start(self) -> None:
        """Wait, once, for a banner, and raise :class:`OutOfStep` if the command writes one."""
        if not self._greeted:
            self._greeted = True
            banner = await self._read_within(_START_WAIT)
            if banner:
                raise OutOfStep(f"wrote {_shown(banner)} before any line was sent to it")

    async def last_answer(self, sent: bytes = b"") -> bytes:
        """Send ``sent``, end the input, and return the line that the command writes until it ends."""
        self._send(sent)
        self._stdin.close()
        answer = (await self._stdout.read()).strip(b"\0\r\n")
        if await self._process.wait():
            raise await self._failure()
        if b"\n" in answer or b"\0" in answer:
            raise OutOfStep(f"{_SURPLUS}: {_shown(answer)}")
        return answer

    async def close(self) -> None:
        """Kill the whole process group, and wait."""
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        if self._process.returncode is None:
            end_group(self._process.pid)
        # A grandchild of an ended command may still hold the pipes.
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_GRACE):
                await self._process.communicate()

    def _send(self, data: bytes) -> None:
        # Not drained: asyncio buffers the rest if the pipe is full, and the answer is the confirmation. The end of the
        # command shows when its answer is read; uvloop would raise RuntimeError for its closed pipe.
        if not self._stdin.is_closing():
            with contextlib.suppress(ConnectionError):
                self._stdin.write(data)

    async def _read_within(self, seconds: float) -> bytes:
        """The next output, until nothing more comes for ``seconds``, or enough was read for a message."""
        output = b""
        with contextlib.suppress(TimeoutError):
            while len(output) < _SHOWN:
                async with asyncio.timeout(seconds):
                    chunk = await self._stdout.read(_CHUNK)
                if not chunk:
                    break
                output += chunk
        return output

    async def _failure(self) -> ProcessEnded:
        code = await self._process.wait()
        await self._listening
        return ProcessEnded(code, self._stderr.decode("utf-8", "replace").strip())

    async def _listen(self) -> None:
        """Keep the end of the command's stderr."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._stderr = (self._stderr + chunk)[-TAIL:]


def _shown(output: bytes) -> str:
    text = output[:_SHOWN].replace(b"\0", b"\n").decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return ", then ".join(map(repr, lines)) or "a blank line"


class CommandTranslator:
    """A command as a :class:`mtagent.translators.protocol.Translator`.

    ``command`` is a string for the shell, or a sequence of arguments. ``keep_open=None`` finds out whether it can be
    kept open: if the first line isn't answered within ``patience`` seconds, the input is closed, and a command that
    answers then is run once per line from there on. ``null_flush`` sends a line feed and NUL after each line, and reads
    up to NUL. ``timeout`` is in seconds per line. A command that ends early is started again once per line.

    Standard output is for translations only. A banner at the start, or a second line after an answer, fails the
    segment, and the command is started again, so that the next line gets its own answer. A message that is written
    long before its answer cannot be distinguished from a translation.

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
        try:
            words = command
            if isinstance(command, str):
                words = shlex.split(command)
        except ValueError as failure:
            raise ConfigError(f"the command {command!r} cannot be read: {failure}") from failure
        if not words:
            raise ConfigError("the command is empty: write for example 'command:apertium eng-spa'")
        self.name = name or " ".join(words)
        self._command = command
        if keep_open is None and Path(words[0]).name in HOLDS_BACK:
            keep_open = False
        self._keep_open = keep_open
        self._line_end = b"\n"
        if null_flush:
            self._line_end = b"\n\0"
        self._timeout, self._patience = timeout, patience
        self._open: OpenProcess | None = None
        self._turns_open = Turns()
        self._turns_once = Turns(os.cpu_count() or 1)

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source is returned as it is, without a call."""
        return Draft(text=await line_by_line(segment.source, self._translate))

    async def aclose(self) -> None:
        """End the command, if it is open. A later :meth:`draft` starts it again."""
        process, self._open = self._open, None
        if process is not None and process.loop is asyncio.get_running_loop():
            await process.close()

    async def _translate(self, line: str) -> str:
        if "\0" in line:
            raise TranslatorError(f"{self.name}: the source contains a NUL character, which no command can read")
        try:
            answer = await self._answer(line.encode() + self._line_end)
            return checked(answer.decode().strip(), self.name)
        except ProcessEnded as failure:
            cause = f"exit code {failure.code}"
            raise TranslatorError(f"{self.name}: ended without an answer: {failure}", cause=cause) from failure
        except OutOfStep as failure:
            way_out = "standard output is for translations alone: send messages to standard error (>&2)"
            message = f"{self.name}: {failure}; {way_out} or switch them off"
            raise TranslatorError(message, cause="surplus output") from failure
        except TimeoutError as failure:
            cause = f"no answer within {self._timeout:g} s"
            raise TranslatorError(f"{self.name}: {cause}", cause=cause, retryable=True) from failure
        except UnicodeError as failure:
            raise TranslatorError(f"{self.name}: the answer is not UTF-8: {failure}", cause="not UTF-8") from failure
        except OSError as failure:
            cause = type(failure).__name__
            raise TranslatorError(f"{self.name}: cannot be started: {failure}", cause=cause) from failure

    async def _answer(self, line: bytes) -> bytes:
        """The answer of the open command; if it can't be kept open, the answer of one that is run for this line."""
        if self._keep_open in (None, True):
            async with self._turns_open:
                if self._keep_open in (None, True):  # another task may have found out meanwhile
                    try:
                        return await self._ask_open(line)
                    except ProcessEnded:
                        return await self._ask_open(line)
        async with self._turns_once:
            process = await OpenProcess.start(self._command, self._line_end[-1:])
            try:
                async with asyncio.timeout(self._timeout):
                    return await process.last_answer(line)
            finally:
                await process.close()

    async def _ask_open(self, line: bytes) -> bytes:
        """Ask the open command; the first line shows whether it can be kept open."""
        if self._open is not None and (self._open.ended or self._open.loop is not asyncio.get_running_loop()):
            await self.aclose()
        if self._open is None:
            self._open = await OpenProcess.start(self._command, self._line_end[-1:])
        process = self._open
        try:
            await process.quiet_start()
            async with asyncio.timeout(self._timeout):
                if self._keep_open:
                    return await process.ask(line)
                try:
                    async with asyncio.timeout(self._patience):
                        answer = await process.ask(line)
                    self._keep_open = True
                except TimeoutError:
                    answer = await process.last_answer()
                    self._keep_open = False
                    await self.aclose()
                return answer
        except BaseException:  # timed out, cancelled or out of step: its next line would answer an older question
            await self.aclose()
            raise
