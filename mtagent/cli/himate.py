"""``mtagent himate``: calibrate the threshold of the evaluator ``himate``, and show what is calibrated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mtagent.cli import run_async
from mtagent.cli.options import (
    CHAIN_RUN_OPTIONS,
    FILE,
    FILES,
    LANGUAGE_OPTIONS,
    MODEL_OPTIONS,
    PACE_OPTIONS,
    PROMPT_OPTIONS,
    RUN_OPTIONS,
    SOURCE_OPTIONS,
    STORE_OPTION,
    Command,
    option,
    read_config,
    store_path,
    with_options,
)
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import say
from mtagent.formats.files import STANDARD
from mtagent.jobs.inputs import Files
from mtagent.text.escaping import visible

CALIBRATE_EXAMPLES = """\b
Examples:
  mtagent himate calibrate -s dev.src -t dev.tgt -l zh-en --model gpt-6-luna --reasoning-effort none
  mtagent himate calibrate -s dev.src -t dev.tgt -l en-de --percentile 50 -o threshold.json
"""
EXAMPLES = """\b
Examples:
  mtagent himate calibrate -s dev.src -t dev.tgt -l zh-en
  mtagent himate show
"""


@click.group("himate", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Calibrate the evaluator himate, or show what is calibrated."""


@command.command("calibrate", cls=Command, epilog=CALIBRATE_EXAMPLES)
@with_options(SOURCE_OPTIONS)
@option(FILES, "-t", "--translation", type=FILE, help="Translations of the sources, line-aligned.")
@click.option(
    "--percentile",
    type=click.FloatRange(0, 100),
    default=60.0,
    show_default=True,
    help="Share of the verifications that are to be below the threshold; linear interpolation.",
)
@click.option(
    "--confidence",
    type=click.Choice(["logprobs", "verbal"]),
    default="logprobs",
    show_default=True,
    help="What the agents' confidence is taken from.",
)
@option(FILES, "-o", "--output", type=FILE, help="Where the result goes.  [default: where the evaluator finds it]")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only errors.")
@with_options(LANGUAGE_OPTIONS, PROMPT_OPTIONS, MODEL_OPTIONS, CHAIN_RUN_OPTIONS, PACE_OPTIONS, RUN_OPTIONS)
def calibrate(percentile: float, confidence: str, output: Path | None, quiet: bool, **options: Any) -> None:
    """Find the confidence below which himate's findings are discussed, for one model and language pair.

    Takes translations that are not evaluated later on, about 150 of them. Each costs 19 calls, and 2 more for each
    type of error that is flagged. The same command again pays only for what is missing.
    """
    from mtagent.evaluators.confidence import keep, write
    from mtagent.jobs.himate import calibrate_file, data_folder

    files = Files(
        source=options.pop("source"), translation=options.pop("translation"), format=options.pop("format_name")
    )
    config = read_config(options)
    with Progress(quiet=quiet) as progress:
        calibration, run = run_async(
            calibrate_file(
                config,
                files,
                percent=percentile,
                kind="verbal" if confidence == "verbal" else "logprobs",
                on_start=progress.start,
                on_chain=progress.advance,
                output=output,
            )
        )
    progress.finish(run)
    path = output or keep(calibration, data_folder(config))
    if output is not None:
        write(calibration, output)
    if output != STANDARD:
        click.echo(f"{calibration.threshold:.6g}")
    if not quiet:
        scale = f"from {calibration.smallest:.4g} to {calibration.largest:.4g} ({calibration.confidence})"
        about = f"{calibration.n} confidences {scale}; in {path}"
        say(f"mtagent: threshold {calibration.threshold:.6g} for {calibration.pair}: {about}")
    sys.exit(3 if calibration.failed else 0)


@command.command("show")
@with_options(STORE_OPTION)
def show(store: Path | None) -> None:
    """The calibrated thresholds, as tab-separated columns."""
    from mtagent.evaluators.confidence import read_all

    columns = (
        "pair",
        "model",
        "threshold",
        "percentile",
        "n",
        "smallest",
        "largest",
        "confidence",
        "segments",
        "failed",
    )
    folder = store_path(store).parent
    click.echo("\t".join(columns))
    for calibration in read_all(folder):
        click.echo("\t".join(visible(_cell(getattr(calibration, column)), one_line=True) for column in columns))


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
