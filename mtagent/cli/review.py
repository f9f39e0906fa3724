"""``mtagent review``: decide on edits in the browser."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from mtagent.cli import ended_at_once
from mtagent.cli.decide import WHO, user
from mtagent.cli.options import STORE_OPTION, existing_store, with_options
from mtagent.cli.serve import Duration
from mtagent.cli.terminal import say
from mtagent.errors import MissingExtra

EXAMPLES = """\b
Examples:
  mtagent review postedit-1a2b3c4d
  mtagent review postedit-1a2b3c4d postedit-5e6f7a8b --who ana
  mtagent review postedit-1a2b3c4d --port 6000 --no-browser --idle 2h
"""


@click.command("review", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free one.  [default: 5055, or any free one]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--idle", type=Duration(), metavar="DURATION", help="End when nothing was asked for so long, as in 2h.")
@WHO
@with_options(STORE_OPTION)
def command(
    runs: tuple[str, ...],
    port: int | None,
    no_browser: bool,
    idle: float | None,
    who: str | None,
    store: Path | None,
) -> None:
    """Decide on the edits of stored RUNs on a page in the browser.

    Those come first where something is most likely wrong. Each decision is stored at once, as those of `mtagent accept`
    and `mtagent revert` are. The page is for this machine and for who has its address; Ctrl-C ends it.
    """
    with ended_at_once():
        _review(runs, port, no_browser, idle, user() if who is None else who, store)


def _review(
    runs: tuple[str, ...], port: int | None, no_browser: bool, idle: float | None, who: str, store: Path | None
) -> None:
    try:
        from mtagent.jobs.review import ReviewQueue
        from mtagent.serve.review import bound, run_server
    except ModuleNotFoundError as cause:
        if (cause.name or "").startswith("mtagent"):
            raise
        raise MissingExtra("mtagent review", "serve") from cause

    def tell(address: str, once: str) -> None:
        say(f"mtagent: review at {address}")
        say("mtagent: Ctrl-C ends it; every decision is stored at once.")
        if not no_browser:  # the address that opens it once: other users of the machine can see commands
            threading.Thread(target=webbrowser.open, args=(once,), daemon=True).start()

    with existing_store(store) as opened, bound(port) as listening:
        review = ReviewQueue(opened, runs, who)
        if obstacle := review.obstacle():
            say(f"mtagent: decisions cannot be stored now, and would wait in the browser: {obstacle}")
        run_server(review, listening, tell, idle)
