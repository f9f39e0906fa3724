"""``mtagent export``: what a run holds, in its own form or for other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mtagent.cli.options import FILE, existing_store
from mtagent.cli.runs import STORE
from mtagent.cli.terminal import say
from mtagent.formats import EXPORTS
from mtagent.formats.files import STANDARD
from mtagent.formats.mtme import Mtme

EXAMPLES = """\b
Examples:
  mtagent export postedit-1a2b3c4d -o better.txt --details edits.jsonl
  mtagent export postedit-1a2b3c4d -o approved.txt --only approved
  mtagent export postedit-1a2b3c4d -o better.csv --like segments.csv
  mtagent export rate-9a8b7c6d -o judge-src.seg.score
  mtagent export postedit-1a2b3c4d --format mtme -o testset
  mtagent export postedit-1a2b3c4d --format marot -o errors.tsv --systems given,final
  mtagent export translate-5e6f7a8b --format wmt25 -o submission.jsonl
  mtagent export postedit-1a2b3c4d --format stages -o texts
"""


@click.command("export", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run")
@click.option(
    "-o", "--output", type=FILE, default=STANDARD, metavar="FILE|DIR",
    help="A file; a folder for mtme and stages.  [default: standard output]",
)  # fmt: skip
@click.option(
    "--format", "format_name", metavar="NAME",
    help="For other tools: mtme (a folder of mt-metrics-eval), marot (error spans), wmt25 (a submission), stages (a "
    "file per stage). Else lines, tsv, csv, jsonl, where the name of -o does not tell; ratings: as that name tells.",
)  # fmt: skip
@click.option("--details", type=FILE, metavar="FILE.jsonl", help="Every stage's text, edits, decisions and costs.")
@click.option("--like", type=FILE, help="The input file: keep its further columns, its quoting and its line ends.")
@click.option(
    "--systems", "--stages", "systems", metavar="NAME,…", help="Only these stages, or systems; for other tools."
)
@click.option("--escape", is_flag=True, help="mtme: write line breaks as \\n, and \\ as \\\\.")
@click.option(
    "--only", type=click.Choice(["approved"]),
    help="approved: the decided text where people approved a segment, the given one elsewhere.",
)  # fmt: skip
@click.option("--partial", is_flag=True, help="Export what there is of a run that is not complete.")
@click.option("--force", is_flag=True, help="Replace the file; write into a folder that is not empty.")
@STORE
def command(
    run: str,
    output: Path,
    format_name: str | None,
    details: Path | None,
    like: Path | None,
    systems: str | None,
    escape: bool,
    only: str | None,
    partial: bool,
    force: bool,
    store: Path | None,
) -> None:
    """Write what a run holds: the improved texts again, as people decided on them, or its ratings.

    With --format mtme, marot, wmt25 or stages: the texts of all its stages, and the ratings of these texts, in the form
    of another tool. Exit code 3: some segments have no translation; their lines are empty.
    """
    from mtagent.jobs.export import export_own, export_run

    form = EXPORTS.get(format_name or "")
    if escape and format_name != "mtme":
        raise click.UsageError("--escape is for --format mtme; the other formats hold line breaks, or refuse them")
    if form and (details or like or only):
        raise click.UsageError(
            f"--details, --like and --only are for the run's own output, not for --format {format_name}"
        )
    if systems and not form:
        raise click.UsageError(f"--systems is for the formats {', '.join(EXPORTS)}: choose one with --format")
    if form and form.folder and output == STANDARD:
        raise click.UsageError(f"--format {format_name} writes a folder: give -o DIR")
    with existing_store(store) as opened:
        if form:
            form = Mtme(escape=True) if escape else form
            chosen = tuple(filter(None, (systems or "").split(",")))
            report = export_run(opened, run, form, output, systems=chosen, partial=partial, force=force)
        else:
            report = export_own(
                opened,
                run,
                output,
                format_name=format_name,
                details=details,
                like=like,
                only_approved=only == "approved",
                partial=partial,
                force=force,
            )
    for remark in report.remarks:
        say(f"mtagent: {remark}")
    if report.missing:
        count, first = len(report.missing), report.missing[0]
        say(f"mtagent: segments without a translation, which is left empty: {count} (first: {first!r})")
    sys.exit(3 if report.missing else 0)
