"""What people read. Control characters in texts, names and replies are escaped, so that none acts on the terminal.

Messages go through :func:`say`, tables and longer texts through :func:`display`. Data (texts, CSV) goes through
:func:`hand_out`: a file or a pipe receives it unchanged, a terminal with control characters escaped, as in
:func:`mtagent.formats.files.replacing` for standard output.
"""

from __future__ import annotations

import io
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import click

from mtagent.text.escaping import shown_on, visible


def say(message: str) -> None:
    """Print one line to standard error."""
    click.echo(visible(message, one_line=True), err=True)


def display(text: str, *, err: bool = False) -> None:
    """Print a text of several lines for people, such as a table."""
    click.echo(visible(text), err=err)


def hand_out(data: str) -> None:
    """Print data to standard output: unchanged, unless that is a terminal."""
    click.echo(shown_on(sys.stdout, data), color=True)  # without color=True, click drops escape sequences from a pipe


def show_misuse(error: click.ClickException) -> None:
    """Print click's message on wrong usage, which quotes what the user wrote."""
    shown = io.StringIO()
    error.show(file=shown)
    click.echo(visible(shown.getvalue()), err=True, nl=False)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), one_line=True)


def guard_the_rest() -> None:
    """Escape control characters in log records without a handler and in tracebacks, too."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())
    sys.excepthook = _show_traceback


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    display("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


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
            say(f"mtagent: {message}")


_CLIENT = "mtagent.llm.client"
_JUDGE = "mtagent.evaluators.pairwise"


@contextmanager
def notices(quiet: bool) -> Iterator[None]:
    """Show log messages about files and calibrations, or warnings only if ``quiet``.

    Also show warnings that a server keeps failing, or that a judge chooses by position.
    """
    handler = _Once()
    file_loggers = [logging.getLogger("mtagent.formats"), logging.getLogger("mtagent.jobs.improve")]
    for logger in file_loggers:
        logger.setLevel(logging.WARNING if quiet else logging.INFO)
    loggers = [*file_loggers, logging.getLogger(_CLIENT), logging.getLogger(_JUDGE)]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
