"""``mtagent review``: decide on edits in the browser."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from mtagent.cli import ended_at_once
from mtagent.cli.decide import WHO, user
from mtagent.cli.options import STORE_OPTION, Duration, existing_store, with_options
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
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen at; 0: any free port.  [default: 5055, or any free port]",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option("--idle", type=Duration(), metavar="DURATION", help="End after this time without a request, as in 2h.")
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

    Segments where something is most likely wrong come first. Each decision is stored at once, like the decisions of
    `mtagent accept` and `mtagent revert`. Only people on this machine who have the address can open the page. Ctrl-C
    stops the server.
    """
    with ended_at_once():
        _review(runs, port, no_browser, idle, user() if who is None else who, store)


def _review(
    runs: tuple[str, ...], port: int | None, no_browser: bool, idle: float | None, who: str, store: Path | None
) -> None:
    try:
        from mtagent.review.queue import ReviewQueue
        from mtagent.review.review_app import review_socket, run_server
    except ModuleNotFoundError as cause:
        if (cause.name or "").startswith("mtagent"):
            raise
        raise MissingExtra("mtagent review", "serve") from cause

    def announce(address: str, address_for_once: str) -> None:
        say(f"mtagent: review at {address}")
        say("mtagent: Ctrl-C stops it; every decision is stored at once.")
        if not no_browser:
            # Other users of the machine can see the browser's command line, so the address in it works only once.
            threading.Thread(target=webbrowser.open, args=(address_for_once,), daemon=True).start()

    with existing_store(store) as opened, review_socket(port) as listening:
        review = ReviewQueue(opened, runs, who)
        obstacle = review.obstacle()
        if obstacle:
            say(f"mtagent: cannot store decisions now, so they wait in the browser: {obstacle}")
        run_server(review, listening, announce, idle)
