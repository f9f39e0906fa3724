"""The command line: one file per command. A command parses, calls one library function, and prints."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mtagent.cli.terminal import guard_the_rest, say, show_misuse
from mtagent.errors import BudgetSpent, MtagentError, ServerPaused, UntrustedSettings
from mtagent.version import __version__

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
STOPPED = "mtagent: stopped. What was finished is stored: the same command again goes on from there."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# name: (module, or module:object; the line that `mtagent --help` shows). A module is imported when its command is used.
COMMANDS = {
    "translate": ("mtagent.cli.improve:translate", "Translate a file and improve the translation."),
    "postedit": ("mtagent.cli.improve:postedit", "Improve a given translation."),
    "rate": ("mtagent.cli.rate", "Rate translations: scores and error spans."),
    "estimate": ("mtagent.cli.estimate", "What a run would cost: tokens and dollars by stage."),
    "score": ("mtagent.cli.score", "Score translations: BLEU, chrF, TER, scores of other tools."),
    "compare": ("mtagent.cli.compare", "What each stage of a run gains, edits and costs; several runs; other systems."),
    "meta-eval": ("mtagent.cli.meta_eval", "How well evaluators and metrics agree with people."),
    "report": ("mtagent.cli.report", "A run on one page: what was changed, was it worth it, every segment."),
    "demo": ("mtagent.cli.demo", "Show the whole chain on a small sample; asks no model."),
    "serve": ("mtagent.cli.serve:serve", "Serve improved translations to tools that speak LibreTranslate or DeepL."),
    "gate": ("mtagent.cli.gate", "Calibrate the gate on human judgement."),
    "config": ("mtagent.cli.config", "Print the effective configuration, or trust the file that holds it."),
    "runs": ("mtagent.cli.runs", "List, show and delete stored runs."),
    "export": (
        "mtagent.cli.export",
        "Write what a run holds: its texts and details, its ratings, files for other tools.",
    ),
    "review": ("mtagent.cli.review", "Decide on the edits of runs in the browser."),
    "accept": ("mtagent.cli.decide:accept", "Let edits stand, also refused ones; approve segments."),
    "revert": ("mtagent.cli.decide:revert", "Take back edits, or all edits of a segment."),
    "decide": ("mtagent.cli.decide:decide", "Take over decisions from a table, or write one to fill in."),
}

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
        """The names in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module, _, name = COMMANDS[cmd_name][0].partition(":")
        with ended_at_once():
            command = getattr(import_module(module), name or "command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that ``args`` begin with; a misspelt one gets the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`mtagent --help` lists them"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mtagent")
def cli() -> None:
    """Improve machine translation: Translate, Postedit, Proofread.

    Every change is checked, and kept only where it is no worse. The texts go to standard output or -o, all else to
    standard error. Exit codes: 0 all done, 1 an error, 2 wrong usage, 3 some segments failed and kept the last
    accepted text, 4 the budget is spent, 5 the server asks to come back later.
    """
    from mtagent.formats.files import remove_stale

    remove_stale()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    guard_the_rest()
    run(cli, arguments)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> None:
    """Run ``command``; our own errors become one line and exit code 1, 4 or 5.

    Where nobody reads the output any more (`| head`), click ends the command with exit code 1 and without a word.
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
        show_misuse(error)
        sys.exit(error.exit_code)
    except MtagentError as error:
        say(f"mtagent: {error}")
        for line in error.lines if isinstance(error, UntrustedSettings) else ():
            say(line)
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        sys.exit(4 if isinstance(error, BudgetSpent) else 5 if isinstance(error, ServerPaused) else 1)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        _discard_output()
        say(f"mtagent: the output cannot be written: {str(error.strerror).lower()}")
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # threads may keep the process waiting
        with suppress(OSError):  # the terminal may be gone
            say(STOPPED)
        sys.exit(128 + stopped_by)


@contextmanager
def _stoppable() -> Iterator[list[signal.Signals]]:
    """SIGTERM and SIGHUP stop a command as Ctrl-C does, so that no copy of people's texts and no process is left.

    Yields the list of those that came. A signal that is ignored (`nohup`) stays ignored.
    """
    came: list[signal.Signals] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number))
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        interrupt = signal.getsignal(signal.SIGINT)  # asyncio has its own while it runs
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    heard = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    heard = [number for number in heard if signal.getsignal(number) is signal.SIG_DFL]
    for number in heard:
        signal.signal(number, stop)
    try:
        yield came
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Ctrl-C ends the process at once, for commands that have nothing to finish.

    A KeyboardInterrupt is no way to end one that still imports its modules: where it meets a finalizer, it is lost.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    heeded = heeded and threading.current_thread() is threading.main_thread()
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"\n{STOPPED}\n".encode())
    os._exit(130)


def run_async(main: Coroutine[Any, Any, T], loop_factory: Callable[[], AbstractEventLoop] | None = None) -> T:
    """``asyncio.run``, but a second Ctrl-C ends the process at once, whatever is still being closed."""
    import asyncio  # here, so that `mtagent --help` is quick

    interrupted = False

    async def guarded() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel(*_: object) -> None:
            nonlocal interrupted
            interrupted = True
            signal.signal(signal.SIGINT, _leave)
            loop.call_soon_threadsafe(task.cancel)

        if heeded:
            signal.signal(signal.SIGINT, cancel)
        return await main

    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(guarded())
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if heeded and not interrupted:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _discard_output() -> None:
    """What is left in the buffer goes nowhere: Python would try, and fail, once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
