"""``mtagent demo``: the whole chain on a small sample, with replies that were written for it."""

from __future__ import annotations

import click

from mtagent.cli.terminal import display
from mtagent.jobs.demo import run_demo
from mtagent.jobs.summary import stage_table
from mtagent.records import Chain

EXAMPLES = """\b
Example:
  mtagent demo
"""


@click.command("demo", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show Translate, Postedit, Proofread on a small English-Spanish sample.

    The replies were written for the demo: it calls no model and sends nothing.
    """
    chains = run_demo()
    for chain in chains:
        display(_story(chain) + "\n")
    display(stage_table(chains))
    display("\nNo model was called. The replies were written for this demo; some are good, some must be refused.")


def _story(chain: Chain) -> str:
    lines = [f"{chain.segment.id}  {chain.segment.source}"]
    for step in chain.steps:
        lines.append(f"  {step.stage}: {step.verdict}: {step.reason}")
        if step.verdict == "kept":
            lines.append(f"    {step.text}")
    return "\n".join(lines).replace("\n\n", "\n")
