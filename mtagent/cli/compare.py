"""``mtagent compare``: what each stage of a run gains, edits and costs; several runs, and other systems."""

from __future__ import annotations

from typing import Any, get_args

import click

from mtagent.analysis import compare_tables, paper, table
from mtagent.analysis.compare import GROUPINGS, Grouping, compare_runs
from mtagent.analysis.compare_tables import below, tables
from mtagent.analysis.comparison import Comparison
from mtagent.cli.options import (
    FILE,
    METRIC_OPTIONS,
    RUN_OPTIONS,
    WIDTH_OPTION,
    read_config,
    with_options,
)
from mtagent.cli.resampling import RESAMPLING_OPTIONS, read_wanted, tests_in
from mtagent.cli.terminal import display, say
from mtagent.jobs.inputs import named_translation

EXAMPLES = """\b
Examples:
  mtagent compare postedit-1a2b3c4d
  mtagent compare postedit-1a2b3c4d -r ref.txt --baseline online=b.txt --paired-bs
  mtagent compare safe=postedit-1a2b3c4d forced=postedit-5e6f7a8b -f markdown
  mtagent compare translate-1a2b3c4d --by domain,length -f csv
  mtagent compare translate-1a2b3c4d translate-5e6f7a8b --layout paper -f latex
"""
_READ = {"text": table.text, "markdown": table.markdown, "latex": table.latex}
FORMATS = (*_READ, "json", "csv", "tsv")


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
@click.option("--layout", type=click.Choice(["paper"]), help="The tables of the Multi-agentMT paper.")
@click.option("--prices", type=FILE, metavar="FILE.toml", help="Compute dollars anew, by prices of your own.")
@click.option("-f", "--format", "format_name", type=click.Choice(FORMATS), default="text", show_default=True)
@with_options(WIDTH_OPTION)
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def command(**options: Any) -> None:
    """Compare the stages of stored runs: scores, edits, outcomes and costs.

    A row for the texts as given, after each stage, and at the end, for each run; and for other systems (--baseline).
    Each row has the difference to the one before. What the columns mean is in docs/comparing.md.
    """
    _refuse_misuse(options)
    format_name, width, layout = (options.pop(name) for name in ("format_name", "width", "layout"))
    names, wanted = options.pop("runs"), read_wanted(options)
    more = {name: options.pop(name) for name in ("reference", "deciding", "shared", "prices")}
    more["baselines"] = [named_translation(spec) for spec in options.pop("baselines")]
    more["by"] = _groupings(options.pop("by"))
    config = read_config(options)
    if layout == "paper":
        display(paper.shown(paper.compare_variants(names, config, wanted=wanted, **more), format_name, width))
        return
    comparison = compare_runs(names, config, wanted=wanted, **more)
    shown = _shown(comparison, format_name, width)
    if format_name in ("csv", "tsv"):
        click.echo(shown)
        for warning in comparison.warnings:
            say(f"mtagent: warning: {warning}")
    else:
        display(shown)


def _shown(comparison: Comparison, format_name: str, width: int | None) -> str:
    if format_name == "json":
        return compare_tables.as_json(comparison)
    if format_name in ("csv", "tsv"):
        return compare_tables.flat(comparison, "," if format_name == "csv" else "\t")
    return _READ[format_name](tables(comparison, width), below(comparison), comparison.warnings)


def _refuse_misuse(options: dict[str, Any]) -> None:
    tests = tests_in(options)
    if options["layout"] == "paper":
        given = {"--by": options["by"], "--baseline": options["baselines"], "--deciding": options["deciding"]}
        if unfit := [name for name, value in {**given, "--paired-…, -ci": tests}.items() if value]:
            raise click.UsageError(f"--layout paper has no place for {', '.join(unfit)}")
        if options["format_name"] in ("csv", "tsv"):
            raise click.UsageError("--layout paper is several tables: write text, markdown, latex or json")


def _groupings(given: tuple[str, ...]) -> list[Grouping]:
    names = [name.strip() for one in given for name in one.split(",") if name.strip()]
    if unknown := [name for name in names if name not in GROUPINGS]:
        raise click.UsageError(f"--by {unknown[0]}: there are {', '.join(GROUPINGS)}")
    return [name for name in get_args(Grouping) if name in names]
