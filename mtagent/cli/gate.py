"""``mtagent gate``: calibrate the gate on human judgement, check a calibration on other texts, and show it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli.gate_run import JUDGING_OPTIONS, calibrate_run, deliver, is_chain_run, refuse_judging_options
from mtagent.cli.meta_eval import SeveralScores, inputs_of, score_inputs
from mtagent.cli.options import FILE, SPEC, F, with_options
from mtagent.cli.terminal import display, say

if TYPE_CHECKING:
    from mtagent.learning.reading import CalibrationInputs

EXAMPLES = """\b
Examples:
  mtagent gate calibrate -e ratings.jsonl --judge gemba-da --judge cometkiwi --human ende.mqm.seg.score \\
      --before given --after final -o gate.json
  mtagent gate check gate.json -e other.jsonl --human other.seg.score --before given --after final
  mtagent gate show gate.json
"""
CALIBRATE_EXAMPLES = """\b
Examples:
  mtagent gate calibrate -e a.jsonl b.jsonl --judge gemba-da --judge cometkiwi --human human.seg.score \\
      --before online --after ours --sample 200 -o gate.json
  mtagent gate calibrate --run rate-1a2b3c4d --human human.seg.score --kind esa -o gate.json
  mtagent gate calibrate --pairs edits.tsv --error-free 85 --precision 0.95
  mtagent gate calibrate --run postedit-1a2b3c4d --judge gemba-esa --judge pairwise \\
      --teacher gemba-esa:model=gpt-6.1-sol --sample 200 --budget 2 -o gate.json
  mtagent gate calibrate --run postedit-1a2b3c4d --decisions -o gate.json
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --calibration gate.json
"""
CHECK_EXAMPLES = """\b
Examples:
  mtagent gate check gate.json -e other.jsonl --human other.seg.score --before online --after ours
  mtagent gate check gate.json -e scores.tsv --human xcomet --item document,paragraph --before A --after B -f json
"""
_HELP = {"help_option_names": ["-h", "--help"]}
_SEED, _RESAMPLES = 12345, 1000


@click.group("gate", epilog=EXAMPLES, context_settings=_HELP)
def command() -> None:
    """Calibrate the gate on people's or a teacher's judgement, check a calibration on other texts, or show it."""


def _edit_options(judge: str) -> Callable[[F], F]:
    """Options that choose judges, edits and resampling; ``judge`` is the help of ``--judge``."""
    options = [
        *[click.option("--judge", "judges", multiple=True, metavar="NAME", help=judge)],
        click.option(
            "--pairs", type=FILE,
            help="File with the scores of both judges and people: .jsonl, .tsv, .csv.",
        ),
        click.option(
            "--before", multiple=True, metavar="SYSTEM",
            help="System with the texts before the edit.  [default: given, if systems given and final exist]",
        ),
        click.option(
            "--after", multiple=True, metavar="SYSTEM", help="System with the texts after the edit.  [default: final]"
        ),
        click.option("--documents", type=FILE, help="File with the document of each segment, one per line (.docs)."),
        click.option(
            "--signature", "signatures", multiple=True, metavar="[NAME=]SIGNATURE",
            help="Signature for ratings that carry none.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=_SEED, show_default=True,
            help="Random seed for the split and the bootstrap.",
        ),
        click.option(
            "--resamples", type=int, default=_RESAMPLES, show_default=True,
            help="Number of bootstrap resamples for the confidence intervals.",
        ),
        click.option(
            "-f", "--format", "format_name", type=click.Choice(["text", "json"]), default="text", show_default=True,
            help="Format of the output.",
        ),
    ]  # fmt: skip

    def decorated(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


@command.command("calibrate", cls=SeveralScores, epilog=CALIBRATE_EXAMPLES, context_settings=_HELP)
@score_inputs
@_edit_options("Evaluator to use as judge; repeat for a panel.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Number of pairs to learn from.  [default: half of them; with --teacher 200]",
)
@click.option(
    "--teacher", metavar=SPEC, help="Let a stronger judge label the edits of a chain run (--run): NAME:model=MODEL."
)
@click.option(
    "--decisions", is_flag=True, help="Use the decisions in its review as labels of the edits of a chain run (--run)."
)
@click.option(
    "--kind",
    type=click.Choice(["mqm", "esa", "rate"]),
    help="Kind of human scores, which says what error-free means: MQM 0, ESA 85 without marked errors, RATE 4.",
)
@click.option(
    "--error-free", "cut", type=float, metavar="SCORE", help="Minimum human score of a text that counts as error-free."
)
@click.option(
    "--precision", type=float, default=0.9, show_default=True, help="Minimum precision of the error-free label."
)
@click.option(
    "--fewest",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Minimum number of texts above the threshold.",
)
@click.option(
    "-o", "--output", type=FILE, metavar="FILE.json", help="File for the calibration, to use with --calibration."
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("-q", "--quiet", is_flag=True, help="Write the file without printing a table.")
@with_options(JUDGING_OPTIONS)
def calibrate(output: Path | None, force: bool, quiet: bool, **options: Any) -> None:
    """Learn from people's scores which edits judges should let pass.

    A regression predicts the gain that people see from how much each judge's rating rises; the gate keeps edits with a
    positive expected gain. The command learns from half of the documents (or segments, if the documents are unknown),
    and tests the gate on the other half: against accepting every edit, accepting none, each judge alone, and an oracle.
    With --kind or --error-free it also finds the score from which a text needs no work. It asks no model.

    With a run of postedit or translate (--run), judges first rate the run's edits. The labels come from a stronger
    judge (--teacher) or from people: a file (--human: id, stage, preference), or what they accepted and rejected in the
    review (--decisions). Judges and teacher send requests as in any run. With people's labels and without --judge it
    sends none, because the ratings of the run's own gate are stored.
    """
    from mtagent.jobs.outputs import refuse_existing, refuse_overwriting, refuse_unwritable
    from mtagent.learning import calibration as learning
    from mtagent.learning.error_free import definition
    from mtagent.learning.pairs import refuse_unsigned
    from mtagent.metrics.significance import GroupResampling

    if is_chain_run(options):
        calibrate_run(output, force, quiet, options)
        return
    refuse_judging_options()
    inputs = _inputs(options, options["judges"])
    if output is not None:
        refuse_overwriting([output], inputs.kept)
        refuse_unwritable(output)
        if not force:
            refuse_existing([output])
    data = inputs.read().with_details(options["signatures"], options["lp"])
    calibration = learning.calibrate(
        data,
        definition(options["kind"], options["cut"]),
        sample=options["sample"],
        precision=options["precision"],
        fewest=options["fewest"],
        resampling=GroupResampling(options["resamples"], options["seed"]),
    )
    if output is not None:
        refuse_unsigned(data, [str(path) for path in inputs.paths.values()])
    deliver(calibration, output, quiet=quiet, as_json=options["format_name"] == "json")


@command.command("check", cls=SeveralScores, epilog=CHECK_EXAMPLES, context_settings=_HELP)
@click.argument("file", type=FILE)
@score_inputs
@_edit_options(
    "Name of a judge in these scores; repeat for all judges, in the gate's order.  [default: their names in the gate]"
)
def check(file: Path, **options: Any) -> None:
    """Measure a calibrated gate on other texts with human scores. Asks no model."""
    from mtagent.chain.calibration import read
    from mtagent.errors import ConfigError
    from mtagent.learning import calibration as learning
    from mtagent.learning.text import check_text
    from mtagent.metrics.significance import GroupResampling

    calibration = read(file)
    names = [calibration.evaluator]
    if calibration.gain is not None:
        names = [judge.judge for judge in calibration.gain.judges]
    judges = options["judges"] or names
    if len(judges) != len(names):
        raise ConfigError(
            f"{file}: the gate has {len(names)} judges ({', '.join(names)}), and --judge names {len(judges)}; name "
            "each one, in this order"
        )
    data = _inputs(options, judges).read().with_details(options["signatures"], options["lp"])
    resampling = GroupResampling(options["resamples"], options["seed"])
    checked = learning.check(calibration, data, resampling)
    if options["format_name"] == "json":
        display(json.dumps({"calibration": str(file), **checked.plain()}, indent=1, ensure_ascii=False))
    else:
        display(check_text(str(file), checked))
    for remark in checked.remarks:
        say(f"mtagent: {remark}")


def _inputs(options: dict[str, Any], judges: Sequence[str]) -> CalibrationInputs:
    from mtagent.learning.reading import CalibrationInputs

    more = {name: options[name] for name in ("documents", "before", "after")}
    return CalibrationInputs(inputs_of(options), both=options["pairs"], judges=tuple(judges), **more)


@command.command("show", context_settings=_HELP)
@click.argument("file", type=FILE)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the output.",
)
def show(file: Path, format_name: str) -> None:
    """Print a calibration: the expected gain, the threshold, their quality, and the judges they are for."""
    from mtagent.chain.calibration import read
    from mtagent.learning.text import text

    calibration = read(file)
    display(calibration.model_dump_json(indent=1) if format_name == "json" else text(calibration))
