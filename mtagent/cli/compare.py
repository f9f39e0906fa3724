"""``mtagent compare``: compare the stages of runs and other systems by scores, edits, outcomes and costs."""

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
    help="File of another system's translations, line-aligned; the system is called NAME, or like the file. "
    "Repeatable.",
)  # fmt: skip
@click.option("-r", "--reference", type=FILE, help="File of references, line-aligned, to use instead of the run's own.")
@with_options(METRIC_OPTIONS)
@click.option(
    "--deciding",
    metavar="METRIC",
    help="Metric that decides whether a text got better or worse.  [default: chrF2, else the first]",
)
@click.option("--by", multiple=True, metavar="|".join(GROUPINGS), help="Also score groups of segments; repeatable.")
@click.option("--shared", is_flag=True, help="Compare only the segments that all runs have.")
@click.option("--prices", type=FILE, metavar="FILE.toml", help="File of your own prices, to recompute the dollars.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Format of the output.",
)
@with_options(WIDTH_OPTION)
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def command(**options: Any) -> None:
    """Compare the stages of stored runs: scores, edits, outcomes and costs.

    The table has a row for the given texts, for the texts after each stage and for the final texts of each run, and a
    row for each other system (--baseline). Differences are to the row before. docs/reference/scores.md explains the
    columns.
    """
    form, width, groupings = options.pop("form"), options.pop("width"), names_in(options.pop("by"))
    for name in groupings:
        if name not in GROUPINGS:
            raise click.UsageError(f"--by {name}: expected one of {', '.join(GROUPINGS)}")
    comparison = compare_runs(
        options.pop("runs"),
        scoring=read_score_options(options),
        by=[name for name in GROUPINGS if name in groupings],
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
        delimiter = "," if form == "csv" else "\t"
        hand_out(compare_tables.flat(comparison, delimiter))
        for warning in comparison.warnings:
            say(f"mtagent: warning: {warning}")
    else:
        display(compare_tables.shown(comparison, form, width))
