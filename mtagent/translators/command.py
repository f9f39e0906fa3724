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
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from mtagent.errors import ConfigError, TranslatorError
from mtagent.records import Draft, Segment
from mtagent.translators.lines import checked, line_by_line
from mtagent.translators.process import OpenProcess, OutOfStep, ProcessEnded, one_line, run_once, start
from mtagent.translators.turns import Turns

HOLDS_BACK = frozenset({"apertium"})
"""Programs known to answer only when their input ends."""

_WAY_OUT = "standard output is for translations alone: send messages to standard error (>&2) or switch them off"


class CommandTranslator:
    """A command as a :class:`mtagent.protocols.Translator`.

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
