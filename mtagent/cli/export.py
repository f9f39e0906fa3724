"""``mtagent export``: what a run holds, for other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mtagent.cli.options import FILE, existing_store
from mtagent.cli.runs import STORE
from mtagent.cli.terminal import say
from mtagent.formats.exports import Export
from mtagent.formats.files import STANDARD
from mtagent.formats.mtme import MtmeExport
from mtagent.jobs.export import EXPORTS, export_run

EXAMPLES = """\b
Examples:
  mtagent export postedit-1a2b3c4d --format mtme -o testset
  mtagent export postedit-1a2b3c4d --format marot -o errors.tsv --systems given,final
  mtagent export translate-5e6f7a8b --format wmt25 -o submission.jsonl
  mtagent export postedit-1a2b3c4d --format stages -o texts
"""


@click.command("export", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run")
@click.option(
    "--format", "format_name", type=click.Choice(list(EXPORTS)), required=True,
    help="mtme: a folder of mt-metrics-eval; marot: error spans; wmt25: a submission; stages: a file per stage.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=FILE, default=STANDARD, metavar="DIR|FILE",
    help="A folder for mtme and stages; a file for marot and wmt25.  [default: standard output]",
)  # fmt: skip
@click.option("--systems", "--stages", "systems", metavar="NAME,…", help="Only these stages, or systems.")
@click.option("--escape", is_flag=True, help="mtme: write line breaks as \\n, and \\ as \\\\.")
@click.option("--partial", is_flag=True, help="Export what there is of a run that is not complete.")
@click.option("--force", is_flag=True, help="Replace the file; write into a folder that is not empty.")
@STORE
def command(
    run: str,
    format_name: str,
    output: Path,
    systems: str | None,
    escape: bool,
    partial: bool,
    force: bool,
    store: Path | None,
) -> None:
    """Write the texts of a run's stages, and the ratings of these texts, in the form of another tool.

    `mtagent runs export` writes the run's own output again. Exit code 3: a segment has no translation; it is empty.
    """
    kind = _kind(format_name, escape)
    if kind.folder and output == STANDARD:
        raise click.UsageError(f"--format {format_name} writes a folder: give -o DIR")
    wanted = tuple(filter(None, (systems or "").split(",")))
    with existing_store(store) as opened:
        report = export_run(opened, run, kind, output, systems=wanted, partial=partial, force=force)
    for remark in report.remarks:
        say(f"mtagent: {remark}")
    if report.missing:
        count, first = len(report.missing), report.missing[0]
        say(f"mtagent: segments without a translation, which is left empty: {count} (first: {first!r})")
    sys.exit(3 if report.missing else 0)


def _kind(name: str, escape: bool) -> Export:
    if escape and name != "mtme":
        raise click.UsageError("--escape is for --format mtme; the other formats hold line breaks, or refuse them")
    return MtmeExport(escape=True) if escape else EXPORTS[name]
