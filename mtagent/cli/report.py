"""``mtagent report``: write a report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtagent.cli.options import FILE, METRIC_OPTIONS, existing_store, named_translation, print_licences, with_options
from mtagent.cli.runs import STORE
from mtagent.cli.terminal import say
from mtagent.errors import ConfigError
from mtagent.formats import UNSUPPORTED
from mtagent.formats.files import STANDARD
from mtagent.metrics.protocol import each_once

if TYPE_CHECKING:
    from mtagent.report.report import Form


EXAMPLES = """\b
Examples:
  mtagent report postedit-1a2b3c4d -o report.html
  mtagent report postedit-1a2b3c4d -o report.html -r ref.txt -m chrf,ter
  mtagent report postedit-1a2b3c4d -o report.html --baseline online=other.txt
  mtagent report postedit-1a2b3c4d --format markdown
"""
FORMS = ("html", "markdown", "csv", "json")


@click.command("report", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run")
@click.option("-o", "--output", type=FILE, default=STANDARD, help="File for the report.  [default: standard output]")
@click.option(
    "--format", "form", type=click.Choice(FORMS), help="Format of the report.  [default: by the name of -o, else html]"
)
@click.option("-r", "--reference", type=FILE, help="File of references, line-aligned, to use instead of the run's own.")
@with_options(METRIC_OPTIONS)
@click.option(
    "--deciding", metavar="NAME", help="Metric that decides whether a text got better or worse.  [default: chrF2]"
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="[NAME=]FILE",
    help="File of another system's translations to compare with; repeatable.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@STORE
def command(
    run: str,
    output: Path,
    form: Form | None,
    reference: Path | None,
    metrics: tuple[str, ...],
    comet_python: Path | None,
    deciding: str | None,
    baselines: tuple[str, ...],
    force: bool,
    store: Path | None,
) -> None:
    """Write a report of RUN: one page to read, search and send, which works without network.

    It shows what was changed, what it cost and whether it helped, and every segment with its texts, errors, edits and
    decisions. The report of an unfinished run says that the run is unfinished.
    """
    from mtagent.report.report import ReportOptions, write_report

    named = tuple(named_translation(spec) for spec in baselines)
    options = ReportOptions(
        reference=reference, metrics=metrics, deciding=deciding, baselines=named, comet_python=comet_python
    )
    print_licences(each_once(metrics))
    with existing_store(store) as opened:
        write_report(opened, run, output, form or _by_name(output), options, force=force)
    if output != STANDARD:
        say(f"mtagent: written: {output}")


def _by_name(output: Path) -> Form:
    """The form that belongs to the file's suffix, or else the page. Raises :class:`ConfigError` for other kinds."""
    endings: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
    endings |= {".csv": "csv", ".json": "json"}
    ending = output.suffix.casefold()
    if ending not in endings and ending[1:] in " ".join(UNSUPPORTED).split():
        raise ConfigError(f"{output}: cannot write a report as {ending}; use one of {', '.join(endings)}")
    return endings.get(ending, "html")
