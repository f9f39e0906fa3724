"""The command line: one file per command. A command parses, calls one library function, and prints."""

from __future__ import annotations

import errno
import gc
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mtagent.cli.terminal import guard_the_rest, say, show_misuse, use_plain_words
from mtagent.errors import BatchOpen, BudgetSpent, MtagentError, ServerPaused, UntrustedSettings
from mtagent.version import __version__

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
STOPPED = "mtagent: stopped. Finished work is stored; run the same command again to continue."
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# group: {name: (module, or module:object; the line that `mtagent --help` shows)}. A module is imported when its command
# is used.
COMMAND_GROUPS = {
    "Improve translations": {
        "demo": ("mtagent.cli.demo", "Show the whole chain on a small sample, without a model."),
        "translate": ("mtagent.cli.improve:translate", "Translate a file and improve the translation."),
        "postedit": ("mtagent.cli.improve:postedit", "Improve an existing translation."),
        "serve": ("mtagent.cli.serve:serve", "Serve improved translations through LibreTranslate's or DeepL's API."),
        "estimate": ("mtagent.cli.improve:estimate_run", "Estimate the calls, tokens and dollars of a run."),
        "config": ("mtagent.cli.config", "Print the effective configuration, or trust a settings file."),
    },
    "Localization files": {
        "check": ("mtagent.cli.check:command_check", "Find faults in existing translations, without a model."),
        "terms": ("mtagent.cli.terms:command_terms", "Propose a glossary from existing translations."),
        "units": ("mtagent.cli.units", "List the texts of localization files, or write translations back."),
    },
    "Use and review results": {
        "runs": ("mtagent.cli.runs", "List, show, merge and delete stored runs."),
        "report": ("mtagent.cli.export:report", "Write a report of a run: changes, costs and every segment."),
        "export": (
            "mtagent.cli.export:export",
            "Write a run's texts, details or ratings, or export them to other tools.",
        ),
        "review": ("mtagent.cli.decide:review", "Decide on the edits of runs in the browser."),
        "accept": ("mtagent.cli.decide:accept", "Accept edits, including refused ones, or approve whole segments."),
        "revert": ("mtagent.cli.decide:revert", "Take back edits, or all edits of a segment."),
        "decide": ("mtagent.cli.decide:decide", "Import decisions from a table, or export a table to fill in."),
    },
    "Measure": {
        "rate": ("mtagent.cli.rate", "Rate translations with an evaluator: scores and error spans."),
        "score": ("mtagent.cli.score:score", "Score translations with metrics: BLEU, chrF, TER, COMET."),
        "compare": ("mtagent.cli.score:compare", "Compare stages, runs and other systems: scores, edits and costs."),
        "meta-eval": ("mtagent.cli.meta_eval", "Measure how well evaluators and metrics agree with people."),
        "gate": ("mtagent.cli.gate", "Calibrate the gate with human scores, and check it."),
        "comet": ("mtagent.cli.comet", "Install COMET in a separate environment."),
    },
}
COMMANDS = {name: entry for group in COMMAND_GROUPS.values() for name, entry in group.items()}

EXAMPLES = """\b
Examples:
  mtagent demo
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --details edits.jsonl
  mtagent translate -s en.txt -l en-es -o es.txt --model gpt-6-luna
  mtagent rate -s en.txt -t a.txt b.txt -l en-es -o ratings.jsonl
  mtagent score -t a.txt b.txt -r ref.txt -l en-es -m bleu,chrf,ter --paired-bs
  mtagent report postedit-1a2b3c4d -o report.html
  mtagent runs list
"""


class LazyGroup(click.Group):
    """Imports a command only when it is used, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, group by group."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """Import the command and return it."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module, _, name = COMMANDS[cmd_name][0].partition(":")
        if cmd_name == "serve" and ctx is not None:  # programs that list commands have none
            ctx.with_resource(ended_at_once(_exit_quietly))  # until the server handles signals itself
        with ended_at_once():
            command = getattr(import_module(module), name or "command")
        assert isinstance(command, click.Command)
        use_plain_words(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begin with; the error for an unknown one suggests the closest name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            close_names = get_close_matches(args[0], COMMANDS, n=1)
            if close_names:
                ctx.fail(f"unknown command {args[0]!r}; did you mean {close_names[0]!r}?")
            ctx.fail(f"unknown command {args[0]!r}; `mtagent --help` lists the commands")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            refuse_repeated(command, ctx, rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the tables of commands without importing any command."""
        width = max(len(name) for name in COMMANDS)
        for title, group in COMMAND_GROUPS.items():
            with formatter.section(title):
                # The names are padded, so that the descriptions of all groups begin in one column.
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in group.items()])


def refuse_repeated(command: click.Command, parent: click.Context, arguments: Sequence[str]) -> None:
    """Raise :class:`click.UsageError` for an option that takes one value and is given several: click takes the last."""
    context = click.Context(command, parent=parent, info_name=command.name)
    try:
        _, rest, parameters = command.make_parser(context).parse_args(list(arguments))
    except click.UsageError:
        return  # the command itself will raise it
    for parameter, times in Counter(parameters).items():
        takes_one = isinstance(parameter, click.Option) and not parameter.multiple and not parameter.is_flag
        if takes_one and times > 1:
            raise click.UsageError(f"{parameter.opts[0]} is given {times} times, but takes one value", context)
    if isinstance(command, click.Group) and rest:
        subcommand = command.get_command(context, rest[0])
        if subcommand is not None:
            refuse_repeated(subcommand, context, rest[1:])


@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mtagent")
def cli() -> None:
    """Improve machine translation: Translate, Postedit, Proofread.

    Every change is checked and kept only if the text doesn't get worse. Texts go to standard output or -o, everything
    else to standard error. Exit codes: 0 success, 1 an error or a wrong value, 2 options that are unknown, missing or
    cannot be combined, 3 some segments failed and kept their last accepted text, 4 the budget is spent, 5 the server
    asked to retry later, 6 requests were written to files and wait for their results (--batch).
    """
    from mtagent.formats.files import remove_stale

    remove_stale()


_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    collect_garbage_rarely()
    guard_the_rest()
    run(cli, arguments)


def collect_garbage_rarely() -> None:
    """Let Python look for unreachable cycles after every 50,000 new objects, not after every 700.

    A chain makes many objects and few cycles, so that the default takes a tenth of the time of a run. A program that
    uses the package decides this for its own process.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> None:
    """Run ``command``; errors of this project become one line and exit code 1, 4 or 5.

    If the reader of the output has gone (`| head`), click ends the command silently with exit code 1.
    """
    stopped_by = signal.SIGINT
    try:
        with _stoppable() as signals:
            try:
                command(arguments, standalone_mode=False)
            finally:
                stopped_by = signals[0] if signals else stopped_by
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        sys.exit(show_misuse(error))
    except MtagentError as error:
        say(f"mtagent: {error}", logging.ERROR)
        if isinstance(error, UntrustedSettings):
            for line in error.lines:
                say(line, logging.ERROR)
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        sys.exit(_exit_code(error))
    except OSError as error:
        if error.errno not in _DISK_FULL or error.filename is not None:
            raise
        _discard_output()
        say(f"mtagent: cannot write the output: {str(error.strerror).lower()}", logging.ERROR)
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # threads may keep the process waiting
        with suppress(OSError):  # the terminal may be gone
            say(STOPPED)
        sys.exit(128 + stopped_by)


def _exit_code(error: MtagentError) -> int:
    if isinstance(error, BudgetSpent):
        return 4
    if isinstance(error, ServerPaused):
        return 5
    if isinstance(error, BatchOpen):
        return 6
    return 1


@contextmanager
def _stoppable() -> Iterator[list[signal.Signals]]:
    """Stop a command on SIGTERM and SIGHUP as on Ctrl-C, so that it removes temporary copies and ends its processes.

    Yields the list of the signals received. An ignored signal (`nohup`) stays ignored.
    """
    received: list[signal.Signals] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(signal.Signals(number))
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        interrupt = signal.getsignal(signal.SIGINT)  # while asyncio runs, its handler
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    handled = []
    if threading.current_thread() is threading.main_thread():  # only there may Python set handlers
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                handled.append(number)
    for number in handled:
        signal.signal(number, stop)
    try:
        yield received
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _exit_now(*_: object) -> None:
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"\n{STOPPED}\n".encode())
    os._exit(130)


def _exit_quietly(*_: object) -> None:
    """End a server that is starting, as a signal ends it later: that is its normal end."""
    os._exit(0)


@contextmanager
def ended_at_once(handler: Callable[..., None] = _exit_now) -> Iterator[None]:
    """End the process at once on Ctrl-C, by calling ``handler``; for commands that have nothing to finish.

    A KeyboardInterrupt can't end a command that is still importing modules: one raised in a finalizer is lost.
    """
    sets_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    sets_handler = sets_handler and threading.current_thread() is threading.main_thread()
    if sets_handler:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if sets_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def run_async(main: Coroutine[Any, Any, T], loop_factory: Callable[[], AbstractEventLoop] | None = None) -> T:
    """Run ``main`` as ``asyncio.run`` does, but end the process at once on a second Ctrl-C, even during clean-up."""
    import asyncio  # here, so that `mtagent --help` is quick

    former = signal.getsignal(signal.SIGINT)
    sets_handler = former in (signal.default_int_handler, _exit_quietly)
    exit_at_once = _exit_quietly if former is _exit_quietly else _exit_now
    interrupted = False

    async def guarded() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel(*_: object) -> None:
            nonlocal interrupted
            interrupted = True
            signal.signal(signal.SIGINT, exit_at_once)
            loop.call_soon_threadsafe(task.cancel)

        if sets_handler:
            signal.signal(signal.SIGINT, cancel)
        return await main

    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(guarded())
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if sets_handler and not interrupted:
            signal.signal(signal.SIGINT, former)


def _discard_output() -> None:
    """Send the rest of the buffer nowhere; otherwise Python would try to write it, and fail, when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
