"""``mtagent export`` and ``mtagent report``: write the results of a stored run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtagent.cli.options import (
    COMPARISON_OPTIONS,
    FILE,
    STORE_OPTION,
    existing_store,
    name_list,
    named_comet_python,
    named_translation,
    print_licences,
    with_options,
)
from mtagent.cli.terminal import say
from mtagent.errors import ConfigError
from mtagent.formats import EXPORTS, other_endings
from mtagent.formats.files import STANDARD
from mtagent.formats.mtme import Mtme
from mtagent.metrics.protocol import each_once
from mtagent.text.languages import parse_pair

if TYPE_CHECKING:
    from mtagent.report.report import Form

EXPORT_EXAMPLES = """\b
Examples:
  mtagent export postedit-1a2b3c4d -o better.txt --details edits.jsonl
  mtagent export postedit-1a2b3c4d -o approved.txt --only approved
  mtagent export postedit-1a2b3c4d -o better.csv --like segments.csv
  mtagent export postedit-1a2b3c4d -o de.new.json --like locales/de.json -s locales/en.json
  mtagent export rate-9a8b7c6d -o judge-src.seg.score
  mtagent export postedit-1a2b3c4d --format mtme -o testset
  mtagent export postedit-1a2b3c4d --format marot -o errors.tsv --systems given,final
  mtagent export postedit-1a2b3c4d --format pearmut -o campaign.json --systems given,final
  mtagent export translate-5e6f7a8b --format wmt25 -o submission.jsonl
  mtagent export postedit-1a2b3c4d --format stages -o texts
"""
REPORT_EXAMPLES = """\b
Examples:
  mtagent report postedit-1a2b3c4d -o report.html
  mtagent report postedit-1a2b3c4d -o report.html -r ref.txt -m chrf,ter
  mtagent report postedit-1a2b3c4d -o report.html --baseline online=other.txt
  mtagent report postedit-1a2b3c4d -o report.html --figures figures
  mtagent report safe=postedit-1a2b3c4d forced=postedit-5e6f7a8b -o both.html
  mtagent report postedit-1a2b3c4d --format markdown
"""
FORMS = ("html", "markdown", "csv", "json")


@click.command("export", epilog=EXPORT_EXAMPLES)
@click.argument("run")
@click.option(
    "-o", "--output", type=FILE, default=STANDARD, metavar="FILE|DIR",
    help="File to write, or folder for mtme and stages.  [default: standard output]",
)  # fmt: skip
@click.option(
    "--format", "format_name", metavar="NAME",
    help="Format for another tool: mtme (a folder of mt-metrics-eval), marot (error spans), wmt25 (a submission), "
    "pearmut (a campaign), "
    "stages (a file per stage); or lines, tsv, csv, jsonl for the texts, if the name of -o doesn't show it. The format "
    "of ratings always follows the name of -o.",
)  # fmt: skip
@click.option(
    "--details", type=FILE, metavar="FILE.jsonl",
    help="File for the text, edits, decisions and costs of every stage.",
)  # fmt: skip
@click.option(
    "--like", type=FILE, help="The run's input file, whose other columns, quoting and line ends the output keeps."
)
@click.option(
    "-s", "--source", "sources", type=FILE, metavar="FILE|DIR",
    help="File or folder with the sources of --like, if localization files have one language each.",
)  # fmt: skip
@click.option(
    "--systems", "--stages", "systems", metavar="NAME,…", help="Export these stages or systems only; for other tools."
)
@click.option("--escape", is_flag=True, help="Write line breaks as \\n, and \\ as \\\\; for mtme.")
@click.option(
    "--only", type=click.Choice(["approved"]),
    help="approved: write the decided text of segments that people approved, and the given text of all others.",
)  # fmt: skip
@click.option("--partial", is_flag=True, help="Export the finished part of an incomplete run.")
@click.option("--force", is_flag=True, help="Replace an existing file, or write into a folder that isn't empty.")
@with_options(STORE_OPTION)
def export(
    run: str,
    output: Path,
    format_name: str | None,
    details: Path | None,
    like: Path | None,
    sources: Path | None,
    systems: str | None,
    escape: bool,
    only: str | None,
    partial: bool,
    force: bool,
    store: Path | None,
) -> None:
    """Write the texts of a RUN, with people's decisions applied, or its ratings.

    With --format mtme, marot, wmt25, pearmut or stages it writes the texts of all stages and their ratings in the
    form of another tool. Exit code 3 means that some segments have no translation; their lines are empty.
    """
    from mtagent.jobs.export import export_own, export_run

    form = EXPORTS.get(format_name or "")
    if escape and format_name != "mtme":
        raise click.UsageError("--escape needs --format mtme; the other formats keep line breaks, or refuse them")
    if form and (details or like or sources or only):
        raise click.UsageError(f"--format {format_name} cannot be combined with --details, --like, -s or --only")
    if systems and not form:
        raise click.UsageError(f"--systems needs a --format for other tools: {', '.join(EXPORTS)}")
    if form and form.folder and output == STANDARD:
        raise click.UsageError(f"--format {format_name} writes a folder; name it with -o DIR")
    with existing_store(store) as opened:
        if form:
            if escape:
                form = Mtme(escape=True)
            chosen = tuple(name for name in (systems or "").split(",") if name)
            result = export_run(opened, run, form, output, systems=chosen, partial=partial, force=force)
        else:
            result = export_own(
                opened,
                run,
                output,
                format_name=format_name,
                details=details,
                like=like,
                sources=sources,
                only_approved=only == "approved",
                partial=partial,
                force=force,
            )
        counts = opened.run(run).counts
    if partial and counts.total is not None:
        tried = counts.done + counts.failed
        say(f"mtagent: exported {tried} of {counts.total} segments; left out: {counts.total - tried}")
    for remark in result.remarks:
        say(f"mtagent: {remark}")
    if result.missing:
        count, first = len(result.missing), result.missing[0]
        say(f"mtagent: segments without a translation, whose lines are empty: {count} (first: {first!r})")
        sys.exit(3)


@click.command("report", epilog=REPORT_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN…")
@click.option("-o", "--output", type=FILE, default=STANDARD, help="File for the report.  [default: standard output]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Format of the report.  [default: by the name of -o, otherwise html]",
)
@with_options(COMPARISON_OPTIONS)
@name_list("-l", "--lp", "pairs", help="Show only segments in these language pairs, such as en-de,en-ja.")
@click.option("--shared", is_flag=True, help="Show only the segments that all runs have.")
@click.option("--figures", type=FILE, metavar="DIR", help="Folder for the report's figures, as SVG and PDF.")
@click.option(
    "--force", is_flag=True, help="Replace an existing file, or write figures into a folder that isn't empty."
)
@with_options(STORE_OPTION)
def report(
    runs: tuple[str, ...],
    output: Path,
    form: Form | None,
    reference: Path | None,
    metrics: tuple[str, ...],
    comet_python: Path | None,
    deciding: str | None,
    baselines: tuple[str, ...],
    pairs: tuple[str, ...],
    shared: bool,
    figures: Path | None,
    force: bool,
    store: Path | None,
) -> None:
    """Write a report of RUN: one page to read, search and send, which works offline.

    It shows what was changed, what it cost and whether it helped, and every segment with its texts, errors, edits and
    decisions. The report of an unfinished run says that the run is unfinished. The page of several RUNs compares them,
    and shows each segment in all of them.
    """
    from mtagent.report.report import ReportOptions, write_report

    named = tuple(named_translation(spec) for spec in baselines)
    all_metrics = each_once(metrics)
    print_licences(all_metrics)
    options = ReportOptions(
        reference=reference,
        metrics=metrics,
        deciding=deciding,
        baselines=named,
        comet_python=named_comet_python(comet_python, all_metrics),
        figures=figures,
        shared=shared,
        pairs=[parse_pair(pair) for pair in pairs],
    )
    with existing_store(store) as opened:
        remarks = write_report(opened, runs, output, form or _by_name(output), options, force=force)
    for remark in remarks:
        say(f"mtagent: {remark}")
    if output != STANDARD:
        say(f"mtagent: written: {output}")


def _by_name(output: Path) -> Form:
    """The form that belongs to the file's suffix, or else the page. Raises :class:`ConfigError` for other kinds."""
    endings: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
    endings |= {".csv": "csv", ".json": "json"}
    ending = output.suffix.casefold()
    other_kinds = {*other_endings(), "tex", "tsv"}
    if ending not in endings and ending[1:] in other_kinds:
        raise ConfigError(f"{output}: cannot write a report as {ending}; use one of {', '.join(endings)}")
    return endings.get(ending, "html")
