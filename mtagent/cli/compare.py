"""``mtagent compare``: what each stage of a run gains, edits and costs; several runs, and other systems."""

from __future__ import annotations

from typing import Any

import click

from mtagent.analysis import compare_tables
from mtagent.analysis.compare import GROUPINGS, compare_runs
from mtagent.cli.options import (
    FILE,
    METRIC_OPTIONS,
    RUN_OPTIONS,
    WIDTH_OPTION,
    named_translation,
    read_config,
    with_options,
)
from mtagent.cli.score import RESAMPLING_OPTIONS, read_score_options
from mtagent.cli.score_inputs import names_in
from mtagent.cli.terminal import display, hand_out, say
from mtagent.text import table

EXAMPLES = """\b
Examples:
  mtagent compare postedit-1a2b3c4d
  mtagent compare postedit-1a2b3c4d -r ref.txt --baseline online=b.txt --paired-bs
  mtagent compare safe=postedit-1a2b3c4d forced=postedit-5e6f7a8b -f markdown
  mtagent compare translate-1a2b3c4d --by domain,length -f csv
"""
FORMATS = (*table.FORMS, "json", "csv", "tsv")


@click.command("compare", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN…")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="[NAME=]FILE",
    help="Another system's translations of the same segments, line-aligned; named like the file or NAME.",
)  # fmt: skip
@click.option("-r", "--reference", type=FILE, help="References, line-aligned, in place of the run's own.")
@with_options(METRIC_OPTIONS)
@click.option(
    "--deciding", metavar="METRIC", help="Regressions and gains go by this one.  [default: chrF2, else the first]"
)
@click.option("--by", multiple=True, metavar="|".join(GROUPINGS), help="Scores by part as well; several with commas.")
@click.option("--shared", is_flag=True, help="Compare the segments that all runs have, and leave out the others.")
@click.option("--prices", type=FILE, metavar="FILE.toml", help="Compute dollars anew, by prices of your own.")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@with_options(WIDTH_OPTION)
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def command(**options: Any) -> None:
    """Compare the stages of stored runs: scores, edits, outcomes and costs.

    A row for the texts as given, after each stage, and at the end, for each run; and for other systems (--baseline).
    Each row has the difference to the one before. What the columns mean is in docs/reference/scores.md.
    """
    form, width, by = options.pop("form"), options.pop("width"), names_in(options.pop("by"))
    if unknown := [name for name in by if name not in GROUPINGS]:
        raise click.UsageError(f"--by {unknown[0]}: there are {', '.join(GROUPINGS)}")
    comparison = compare_runs(
        options.pop("runs"),
        scoring=read_score_options(options),
        by=[name for name in GROUPINGS if name in by],
        baselines=[named_translation(spec) for spec in options.pop("baselines")],
        reference=options.pop("reference"),
        deciding=options.pop("deciding"),
        shared=options.pop("shared"),
        prices=options.pop("prices"),
        config=read_config(options),
    )
    if form == "json":
        display(compare_tables.as_json(comparison))
    elif form in ("csv", "tsv"):
        hand_out(compare_tables.flat(comparison, "," if form == "csv" else "\t"))
        for warning in comparison.warnings:
            say(f"mtagent: warning: {warning}")
    else:
        display(compare_tables.shown(comparison, form, width))
