"""``mtagent gate calibrate --run RUN``: have the edits of a chain run judged and labelled, and learn the gate."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mtagent.cli import run_async
from mtagent.cli.options import (
    CONFIG_NAME,
    JUDGE_MODEL_OPTIONS,
    OWN_PROMPTS_OPTION,
    PACE_OPTIONS,
    RUN,
    UNSEEDED_MODEL_OPTIONS,
    existing_store,
    option,
    read_config,
)
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices, say
from mtagent.config import Config

if TYPE_CHECKING:
    from mtagent.chain.calibration import Calibration
    from mtagent.learning.runs import EditLabels, RunEdits

JUDGING_OPTIONS: list[Any] = [
    *JUDGE_MODEL_OPTIONS,
    *UNSEEDED_MODEL_OPTIONS,
    *OWN_PROMPTS_OPTION,
    option(RUN, "--name", "run", metavar="NAME", help="Name of the run.  [default: made from settings and input]"),
    *PACE_OPTIONS,
    option(RUN, "--dry-run", is_flag=True, help="Print what judging would take; ask nobody."),
    option(RUN, "-v", "--verbose", is_flag=True, help="One line per edit on standard error."),
]
"""What is needed where models are asked."""
_OF_FILES = ("files", "folder", "pairs", "item", "documents", "before", "after", "signatures")
_OF_BOTH = {"store", "seed"}
"""Settings that are options of a calibration, too; its seed is not the model's."""


def is_chain_run(options: Mapping[str, Any]) -> bool:
    """Whether the labels are decisions or a teacher's, or the run that is named holds edits and no ratings."""
    if options["teacher"] is not None or options["decisions"]:
        return True
    if len(options["runs"]) != 1 or options["files"] or options["folder"]:
        return False
    name = options["runs"][0]
    with existing_store(options["store"]) as store:
        return store.settings(name) is not None and store.read(name).kind == "chain"


def refuse_judging_options() -> None:
    """Raise for options of models and runs where scores are read from files: nobody is asked there."""
    if given := _given({*Config.model_fields, "dry_run", "verbose"} - _OF_BOTH):
        raise click.UsageError(f"{given[0]}: scores are read and no model is asked, unless --run names a chain run")


def _given(names: Collection[str | None]) -> list[str]:
    """The options of these names that stand on the command line."""
    context = click.get_current_context()
    return [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in names and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def calibrate_run(output: Path | None, force: bool, quiet: bool, options: dict[str, Any]) -> None:
    """Judge the edits of a run, learn the gate from them, and say what it is worth; exit with 3 if judges failed."""
    from mtagent.jobs.inputs import files_named
    from mtagent.jobs.outputs import refuse_existing, refuse_overwriting, refuse_unwritable
    from mtagent.learning.asking import judge_edits
    from mtagent.learning.calibration import calibrate
    from mtagent.learning.error_free import definition
    from mtagent.learning.pairs import refuse_unsigned
    from mtagent.learning.runs import EditLabels
    from mtagent.metrics.significance import GroupResampling

    if given := _given(_OF_FILES):
        raise click.UsageError(f"--run brings the edits with it: leave out {given[0]}")
    if len(options["runs"]) != 1:
        raise click.UsageError("--teacher and --decisions label the edits of one chain run: name it with --run")
    if (options["teacher"] is not None) + (options["human"] is not None) + options["decisions"] != 1:
        raise click.UsageError(
            "who labels the edits? Give --decisions, --human FILE, or --teacher NAME:model=MODEL; one of them"
        )
    error_free = definition(options["kind"], options["cut"])
    resampling = GroupResampling(options["resamples"], options["seed"])
    config = _config(options)
    name, human = options["runs"][0], None if options["human"] is None else Path(options["human"])
    if output is not None:
        refuse_overwriting([output], files_named(config) | ({"--human": human} if human else {}))
        refuse_unwritable(output)
        if not force:
            refuse_existing([output])
    labels = None if human is None else EditLabels.read(human)
    if options["decisions"]:
        with existing_store(config.store) as store:
            labels = EditLabels.of_decisions(store, name)
    if options["dry_run"]:
        _estimate(config, name, labels, options)
        return
    counted = ("judged", "failed")
    with notices(quiet), Progress(verbose=options["verbose"], quiet=quiet, counted=counted) as progress:
        data, run = run_async(
            judge_edits(
                config,
                name,
                teacher=options["teacher"],
                labels=labels,
                sample=options["sample"],
                seed=options["seed"],
                lp=options["lp"],
                on_pairs=lambda edits: None if quiet else say(f"mtagent: {_sampled(edits, options)}"),
                on_start=progress.start,
                on_chain=progress.advance_judged,
            )
        )
    if run is not None:
        progress.finish_judged(run)
    elif not quiet:
        say("mtagent: no model is asked: the run holds what its judges said")
    calibration = calibrate(
        data,
        error_free,
        crossed=True,
        precision=options["precision"],
        fewest=options["fewest"],
        resampling=resampling,
    )
    if output is not None:
        refuse_unsigned(data, [])
    deliver(calibration, output, quiet=quiet, as_json=options["format_name"] == "json")
    _say_worth(calibration, output)
    sys.exit(3 if run is not None and run.counts.failed else 0)


def deliver(calibration: Calibration, output: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Show a calibration and what makes it less than it seems, and write it."""
    from mtagent.chain.calibration import write
    from mtagent.formats.files import STANDARD
    from mtagent.learning.text import text

    if not quiet and output != STANDARD:
        display(calibration.model_dump_json(indent=1) if as_json else text(calibration))
    for remark in calibration.remarks:
        say(f"mtagent: {remark}")
    if output is not None:
        write(calibration, output)


def _say_worth(calibration: Calibration, output: Path | None) -> None:
    from mtagent.learning.text import worth

    gain = calibration.gain
    if gain is not None and gain.held_out is not None:
        say(f"mtagent: {output or 'the gate'} is worth {worth(gain.held_out)}")


def _config(options: dict[str, Any]) -> Config:
    """The settings of the judges, without a former calibration, which may be replaced."""
    given = {name: value for name, value in options.items() if name in Config.model_fields and name != "seed"}
    config_file = click.get_current_context().meta.get(CONFIG_NAME)
    config = read_config({**given, "judge": options["judges"], "config_file": config_file})
    return config.model_copy(update={"calibration": None, "cautious": None})


def _sampled(edits: RunEdits, options: Mapping[str, Any]) -> str:
    """How many of how many edits are judged."""
    chosen = "labelled ones" if options["teacher"] is None else "sampled by size"
    refused = f"; {edits.refused} more were refused by the guards" if edits.refused else ""
    return f"{len(edits.pairs)} of {edits.total} edits of {options['runs'][0]}, {chosen}{refused}"


def _estimate(config: Config, name: str, labels: EditLabels | None, options: Mapping[str, Any]) -> None:
    """Print what judging would take."""
    from mtagent.jobs.estimate import assumptions, counter, table
    from mtagent.learning.asking import edits_to_judge, estimate_pairs, refuse_few, require_judges
    from mtagent.llm.prices import Prices

    require_judges(config)
    with existing_store(config.store) as store:
        edits = edits_to_judge(
            store.read(name), labels, sample=options["sample"], seed=options["seed"], lp=options["lp"]
        )
    refuse_few(edits, name, labels)
    tokens = counter()
    ranges = estimate_pairs(config, edits.pairs, options["teacher"], tokens)
    display(table(ranges))
    display(assumptions(config, ranges, tokens, Prices(config.prices)))
    say(f"mtagent: {_sampled(edits, options)}. Nothing was sent; what was asked before comes from the store.")
