"""What ``translate`` and ``postedit`` have in common."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mtagent.batch import improve_file
from mtagent.cli import run_async
from mtagent.cli.options import read_config, read_files
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, say
from mtagent.config import Config
from mtagent.files import Files


def offline(config: Config) -> str:
    """What is to be said where there is no model to ask."""
    gate = config.gate or config.effective().gate
    known = "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm): offline, with the rules evaluator"
    return f"{known} and {'the guards' if gate == 'guards' else f'the gate {gate}'}."


def improve_command(command: str, options: dict[str, Any]) -> None:
    """Improve the files that ``options`` name, show how it goes, and exit with 3 if segments failed."""
    dry_run, verbose, quiet = (options.pop(name) for name in ("dry_run", "verbose", "quiet"))
    files, config = read_files(options), read_config(options)
    if config.offline and config.evaluator is None and config.judge.evaluator is None and not quiet:
        say(offline(config))
    if dry_run:
        with notices(quiet):
            _print_prompts(config, files)
        return
    with notices(quiet), Progress(verbose=verbose, quiet=quiet) as progress:
        summary = run_async(
            improve_file(config, files, command=command, on_start=progress.start, on_chain=progress.advance)
        )
    progress.finish(summary)
    sys.exit(3 if summary.counts.failed else 0)


def _print_prompts(config: Config, files: Files) -> None:
    from mtagent.dry_run import rendered_requests

    total = requests = 0
    for request in rendered_requests(config, files):
        display(request.shown)
        total, requests = total + request.tokens, requests + 1
    estimate = f"{requests} requests, about {total} input tokens, estimated from the length"
    say(f"{estimate}; the gate's requests come on top. Nothing was sent.")


class _Once(logging.Handler):
    """Shows each message once, however often a file is read."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show it on standard error."""
        message = record.getMessage()
        if message not in self._shown:
            self._shown.add(message)
            say(f"mtagent: {message}")


@contextmanager
def notices(quiet: bool) -> Iterator[None]:
    """Show what the readers of files report: which foreign column was taken for what."""
    logger, handler = logging.getLogger("mtagent.formats"), _Once()
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
