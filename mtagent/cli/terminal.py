"""What people read. Control characters in texts, names and replies are escaped, so that none acts on the terminal.

Messages go through :func:`say`, tables and longer texts through :func:`display`. Data (texts, CSV) goes through
:func:`hand_out`: a file or a pipe receives it unchanged, a terminal with control characters escaped, as in
:func:`mtagent.formats.files.replacing` for standard output.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import click

from mtagent.text.escaping import shown_on, visible
from mtagent.text.table import width_of

_line_of: Callable[[str, int], str] | None = None


def say_as(line_of: Callable[[str, int], str] | None) -> None:
    """From now on, print ``line_of(message, level)`` for each message and traceback; ``None``: the message itself."""
    global _line_of
    _line_of = line_of


def say(message: str, level: int = logging.INFO) -> None:
    """Print one line to standard error. ``level`` is that of the module ``logging``."""
    line = visible(message, one_line=True) if _line_of is None else _line_of(message, level)
    colour = _COLOURS.get(level)
    if colour and _line_of is None and has_colour():
        line = click.style(line, fg=colour)
    click.echo(line, err=True)


_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red"}


def has_colour() -> bool:
    """Whether standard error is a terminal with colours, and nobody has switched them off with ``NO_COLOR``."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stderr.isatty() and not is_plain


def display(text: str, *, err: bool = False) -> None:
    """Print a text of several lines for people, such as a table."""
    click.echo(visible(text), err=err)


def hand_out(data: str) -> None:
    """Print data to standard output: unchanged, unless that is a terminal."""
    click.echo(shown_on(sys.stdout, data), color=True)  # without color=True, click drops escape sequences from a pipe


def _columns() -> int | None:
    """The width of the terminal that standard output is; ``None`` if it is a file or a pipe."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def fitted(line: str) -> str:
    """A line for standard output: on a terminal, cut to its width."""
    columns = _columns()
    if columns is None:
        return line
    line = line.expandtabs()
    if width_of(line) <= columns:
        return line
    while width_of(line) >= columns:
        line = line[: columns - 1] if len(line) > columns else line[:-1]
    return f"{line}…"


def wrapped(text: str, indent: int) -> str:
    """A text for standard output: on a terminal, lines that are longer than its width go on below, indented."""
    columns = _columns()
    if columns is None or columns <= 2 * indent:
        return text
    lines = list[str]()
    for line in text.split("\n"):
        margin = ""
        while width_of(margin + line) > columns:
            end = min(len(line), columns)
            while width_of(margin + line[:end]) > columns:
                end -= 1
            space = line.rfind(" ", indent, end + 1)
            if space > 0:
                end = space
            lines.append(margin + line[:end])
            line = line[end:].removeprefix(" ")
            margin = " " * indent
        lines.append(margin + line)
    return "\n".join(lines)


def show_misuse(error: click.ClickException) -> int:
    """Print click's message, which quotes what the user wrote, and return the exit code.

    A wrong value has the exit code of any wrong setting, 1; a command line that cannot be read has 2.
    """
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter) and error.param:
        say(f"mtagent: {error.param.opts[-1]}: {error.message}", logging.ERROR)
        return 1
    shown = io.StringIO()
    error.show(file=shown)
    click.echo(visible(shown.getvalue()), err=True, nl=False)
    return error.exit_code


class _InPlainWords(click.ParamType[Any]):
    """A type of click whose message on a wrong value reads like mtagent's messages."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; the error contains what was expected and what was found."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"expected {self._expected()}, not {str(value)!r}", param, ctx)

    def _expected(self) -> str:
        raise NotImplementedError


class _WholeNumber(_InPlainWords, click.types.IntParamType):
    def _expected(self) -> str:
        return "a whole number"


class _Number(_InPlainWords, click.types.FloatParamType):
    def _expected(self) -> str:
        return "a number"


class _WholeNumberInRange(_InPlainWords, click.IntRange):
    def _expected(self) -> str:
        if self.max is None:
            return f"a whole number from {self.min} on"
        return f"a whole number from {self.min} to {self.max}"


class _OneOf(_InPlainWords, click.Choice[Any]):
    def _expected(self) -> str:
        return f"one of {', '.join(map(str, self.choices))}"


def use_plain_words(command: click.Command) -> None:
    """Give the parameters of ``command`` and its subcommands types with messages like mtagent's."""
    for parameter in command.params:
        kind = parameter.type
        if type(kind) is click.types.IntParamType:
            parameter.type = _WholeNumber()
        elif type(kind) is click.types.FloatParamType:
            parameter.type = _Number()
        elif type(kind) is click.IntRange:
            parameter.type = _WholeNumberInRange(kind.min, kind.max)
        elif type(kind) is click.Choice:
            parameter.type = _OneOf(kind.choices)
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            use_plain_words(subcommand)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), one_line=True)


def guard_the_rest() -> None:
    """Escape control characters in log records without a handler and in tracebacks, too. Messages are plain."""
    say_as(None)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())
    sys.excepthook = _show_traceback


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    message = "".join(traceback.format_exception(kind, error, trace)).rstrip("\n")
    if _line_of is None:
        display(message, err=True)
    else:
        say(message, logging.ERROR)


class _Once(logging.Handler):
    """Shows each message once, although a file may be read often, and each kind of warning about a server once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message to standard error."""
        message = key = record.getMessage()
        if record.name == _CLIENT:
            if record.levelno < logging.WARNING:
                return
            key = str(record.msg)  # the pattern of the message, which is the same for all addresses and numbers
        if key not in self._shown:
            self._shown.add(key)
            say(f"mtagent: {message}", record.levelno)


_CLIENT = "mtagent.llm.client"
_JUDGE = "mtagent.evaluators.pairwise"


@contextmanager
def notices(quiet: bool) -> Iterator[None]:
    """Show log messages about files and calibrations, or warnings only if ``quiet``.

    Also show warnings that a server keeps failing, or that a judge chooses by position.
    """
    handler = _Once()
    file_loggers = [logging.getLogger("mtagent.formats"), logging.getLogger("mtagent.jobs.improve")]
    for name in ("jobs.inputs", "jobs.pilot", "jobs.rate", "jobs.run", "llm.batch"):
        file_loggers.append(logging.getLogger(f"mtagent.{name}"))
    for logger in file_loggers:
        logger.setLevel(logging.WARNING if quiet else logging.INFO)
    loggers = [
        *file_loggers,
        logging.getLogger("mtagent.llm.events"),
        logging.getLogger(_CLIENT),
        logging.getLogger(_JUDGE),
    ]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
