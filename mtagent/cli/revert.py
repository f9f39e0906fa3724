"""``mtagent revert``."""

from __future__ import annotations

from pathlib import Path

import click

from mtagent.chain.revert import revert
from mtagent.cli.options import STORE_OPTION, existing_store, with_options

EXAMPLES = """\b
Examples:
  mtagent runs show postedit-1a2b3c4d 17        # the edits of segment 17, with their numbers
  mtagent revert postedit-1a2b3c4d 17 --edit 2
  mtagent revert postedit-1a2b3c4d 17
"""


@click.command("revert", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run")
@click.argument("segment")
@click.option("--edit", type=int, metavar="N", help="Only this edit; without it, all edits of the segment.")
@with_options(STORE_OPTION)
def command(run: str, segment: str, edit: int | None, store: Path | None) -> None:
    """Take back one edit of a SEGMENT in a stored RUN, or all of them, and print the text that this gives.

    Write the file again with `mtagent export`.
    """
    with existing_store(store) as opened, opened.reopen(run) as stored:
        position, chain = stored.chain(segment)
        chain = revert(chain, edit)
        stored.replace(position, chain)
    click.echo(chain.text)
