"""What people read. No control character that a text, a name or a server brings along acts on a terminal.

Everything that a command says goes through :func:`say`, every table and story through :func:`display`. Data (texts,
CSV) goes through :func:`hand_out`: a file or a pipe gets it exactly, a terminal gets it made visible, as
:func:`mtagent.formats.files.replacing` does with what goes to standard output.
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
    """One line on standard error."""
    click.echo(visible(message, one_line=True), err=True)


def display(text: str, *, err: bool = False) -> None:
    """A text of several lines for people: a table, a story."""
    click.echo(visible(text), err=err)


def hand_out(data: str) -> None:
    """Data on standard output: exactly as it is, unless that is a terminal."""
    click.echo(shown_on(sys.stdout, data), color=True)  # otherwise click drops escape sequences from a pipe


def show_misuse(error: click.ClickException) -> None:
    """What click says of wrong usage: the usage, and the error with what the user wrote."""
    shown = io.StringIO()
    error.show(file=shown)
    click.echo(visible(shown.getvalue()), err=True, nl=False)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), one_line=True)


def guard_the_rest() -> None:
    """Do the same for what does not come from a command: log records without a handler, and tracebacks."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())
    sys.excepthook = _show_traceback


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    display("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


class _Once(logging.Handler):
    """Shows each message once, however often a file is read; of warnings about a server the first."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show it on standard error."""
        message = record.getMessage()
        of_server = record.name == _CLIENT
        if of_server and record.levelno < logging.WARNING:
            return
        key = str(record.msg) if of_server else message
        if key not in self._shown:
            self._shown.add(key)
            say(f"mtagent: {message}")


_CLIENT = "mtagent.llm.client"
_JUDGE = "mtagent.evaluators.pairwise"


@contextmanager
def notices(quiet: bool) -> Iterator[None]:
    """Show what is reported of files: which foreign column is taken for what, and what a calibration was not made for.

    Also that a server keeps failing, and that a judge chooses by place. ``quiet``: warnings alone.
    """
    loggers, handler = [logging.getLogger(name) for name in ("mtagent.formats", "mtagent.jobs.improve")], _Once()
    for logger in loggers:
        logger.setLevel(logging.WARNING if quiet else logging.INFO)
    loggers += [logging.getLogger(_CLIENT), logging.getLogger(_JUDGE)]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
