"""``mtagent gate``: calibrate margin and threshold on human judgement, and show a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtagent.cli.options import FILE
from mtagent.cli.score_inputs import SeveralScores, inputs_of, score_inputs
from mtagent.cli.terminal import display, say

EXAMPLES = """\b
Examples:
  mtagent gate calibrate -e ratings.jsonl --human ende.mqm.seg.score --kind mqm --before given --after final
  mtagent gate show gate.json
"""
CALIBRATE_EXAMPLES = """\b
Examples:
  mtagent gate calibrate -e a.jsonl b.jsonl --human human.seg.score --kind mqm \\
      --before online --after ours -o gate.json
  mtagent gate calibrate --run rate-1a2b3c4d --human human.seg.score --kind esa -o gate.json
  mtagent gate calibrate --pairs edits.tsv --error-free 85 --precision 0.95
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --calibration gate.json
"""
_HELP = {"help_option_names": ["-h", "--help"]}


@click.group("gate", epilog=EXAMPLES, context_settings=_HELP)
def command() -> None:
    """Calibrate the gate on human judgement, or show a calibration."""


@command.command("calibrate", cls=SeveralScores, epilog=CALIBRATE_EXAMPLES, context_settings=_HELP)
@score_inputs
@click.option(
    "--judge", metavar="NAME", help="The evaluator of them that is to be calibrated, where there are several."
)
@click.option("--pairs", type=FILE, help="Both, in place of these: .jsonl, .tsv, .csv.")
@click.option(
    "--before",
    multiple=True,
    metavar="SYSTEM",
    help="The texts before the edit.  [default: given, if given and final are there]",
)
@click.option("--after", multiple=True, metavar="SYSTEM", help="The texts after it.  [default: final, likewise]")
@click.option("--documents", type=FILE, help="The document of each segment, a line each (.docs).")
@click.option("--kind", type=click.Choice(["mqm", "esa", "rate"]), help="Error-free: MQM 0, ESA 85 unmarked, RATE 4.")
@click.option("--error-free", "cut", type=float, metavar="SCORE", help="Error-free: this human score, or more.")
@click.option("--precision", type=float, default=0.9, show_default=True, help="Wanted of what is called error-free.")
@click.option(
    "--fewest", type=click.IntRange(1), default=10, show_default=True, help="Texts that must reach a threshold."
)
@click.option("--signature", help="The ratings' signature, where they have none.")
@click.option(
    "--seed", type=click.IntRange(0), default=12345, show_default=True, help="Of the halves and the resamples."
)
@click.option("--resamples", type=int, default=1000, show_default=True, help="For the confidence intervals.")
@click.option("-o", "--output", type=FILE, metavar="FILE.json", help="The calibration, for --calibration.")
@click.option("-q", "--quiet", is_flag=True, help="No table, only the file.")
def calibrate(output: Path | None, quiet: bool, **options: Any) -> None:
    """Find the margin and the threshold at which a judge does most for people's scores.

    Chooses on a half of the documents (of the segments, where no documents are known), and shows what the choice does
    to the other half: against accepting every edit, accepting none, and an oracle. Asks no model.
    """
    from mtagent.analysis import gate_calibration
    from mtagent.analysis.gate_inputs import Inputs, refuse_unsigned
    from mtagent.chain.calibration import write
    from mtagent.formats.files import STANDARD
    from mtagent.jobs.inputs import refuse_overwriting, refuse_unwritable

    scores = inputs_of(options, metrics=(options["judge"],) if options["judge"] else ())
    more = {name: options[name] for name in ("documents", "before", "after")}
    inputs = Inputs(scores, both=options["pairs"], **more)
    if output is not None:
        refuse_overwriting([output], inputs.kept)
        refuse_unwritable(output)
    calibration = _calibration(inputs, options)
    if output is not None:
        refuse_unsigned(calibration.signature, inputs.paths)
    if not quiet and output != STANDARD:
        display(gate_calibration.text(calibration))
    for remark in calibration.remarks:
        say(f"mtagent: {remark}")
    if output is not None:
        write(calibration, output)


def _calibration(inputs: Any, options: dict[str, Any]) -> Any:
    """The calibration that ``options`` ask for."""
    from mtagent.analysis.gate_calibration import Resampling, definition
    from mtagent.analysis.gate_calibration import calibrate as calibrated

    texts, origin = inputs.read()
    return calibrated(
        texts,
        definition(options["kind"], options["cut"]),
        origin=origin.told(options["signature"], options["lp"]),
        precision=options["precision"],
        fewest=options["fewest"],
        resampling=Resampling(options["resamples"], options["seed"]),
    )


@command.command("show", context_settings=_HELP)
@click.argument("file", type=FILE)
def show(file: Path) -> None:
    """What a calibration holds: margin, threshold, how good they are, and whom it is for."""
    from mtagent.analysis import gate_calibration
    from mtagent.chain.calibration import read

    display(gate_calibration.text(read(file)))
