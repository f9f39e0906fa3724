"""``mtagent gate calibrate --run RUN``: judge and label the edits of a chain run, and learn the gate from them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli import run_async
from mtagent.cli.options import (
    CONFIG_NAME,
    JUDGE_MODEL_OPTIONS,
    OWN_PROMPTS_OPTION,
    PACE_OPTIONS,
    RUN,
    RUN_NAME_OPTION,
    UNSEEDED_MODEL_OPTIONS,
    existing_store,
    option,
    options_on_command_line,
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
    *RUN_NAME_OPTION,
    *PACE_OPTIONS,
    option(RUN, "--dry-run", is_flag=True, help="Estimate the cost of judging; send nothing."),
    option(RUN, "-v", "--verbose", is_flag=True, help="Print one line per edit to standard error."),
]
"""Options that only matter if judges are asked."""
_SCORE_FILE_OPTIONS = ("files", "folder", "pairs", "item", "documents", "before", "after", "signatures")
"""Options that choose edits in files of scores; a chain run brings its edits with it."""
_OF_BOTH = {"store", "seed"}
"""Settings that are also options without a chain run; the seed of a calibration isn't the model's."""


def is_chain_run(options: Mapping[str, Any]) -> bool:
    """Whether the gate is learned from the edits of a chain run rather than from stored ratings."""
    if options["teacher"] is not None or options["decisions"]:
        return True
    if len(options["runs"]) != 1 or options["files"] or options["folder"]:
        return False
    name = options["runs"][0]
    with existing_store(options["store"]) as store:
        return store.settings(name) is not None and store.read(name).kind == "chain"


def refuse_judging_options() -> None:
    """Raise :class:`click.UsageError` for options of models and runs if all scores come from files."""
    judging_options = options_on_command_line({*Config.model_fields, "dry_run", "verbose"} - _OF_BOTH)
    if judging_options:
        raise click.UsageError(
            f"{judging_options[0]}: needs a chain run (--run); from files of scores the gate is learned without a model"
        )


def calibrate_run(output: Path | None, force: bool, quiet: bool, options: dict[str, Any]) -> None:
    """Judge the edits of a run, learn the gate from them, and print its worth; exit with 3 if judges failed."""
    from mtagent.jobs.inputs import files_named
    from mtagent.jobs.outputs import refuse_existing, refuse_overwriting, refuse_unwritable
    from mtagent.learning.asking import judge_edits
    from mtagent.learning.calibration import calibrate
    from mtagent.learning.error_free import definition
    from mtagent.learning.pairs import refuse_unsigned
    from mtagent.learning.runs import EditLabels
    from mtagent.metrics.significance import GroupResampling

    score_file_options = options_on_command_line(_SCORE_FILE_OPTIONS)
    if score_file_options:
        raise click.UsageError(f"a chain run (--run) contains its edits; leave out {score_file_options[0]}")
    if len(options["runs"]) != 1:
        raise click.UsageError("--teacher and --decisions label the edits of one chain run; name it with --run")
    label_sources = [options["teacher"] is not None, options["human"] is not None, options["decisions"]]
    if label_sources.count(True) != 1:
        raise click.UsageError(
            "expected one source of labels; give either --decisions, --human FILE, or --teacher NAME:model=MODEL"
        )
    error_free = definition(options["kind"], options["cut"])
    resampling = GroupResampling(options["resamples"], options["seed"])
    config = _config(options)
    name = options["runs"][0]
    inputs = files_named(config)
    labels = None
    if options["human"] is not None:
        inputs["--human"] = Path(options["human"])
    if output is not None:
        refuse_overwriting([output], inputs)
        refuse_unwritable(output)
        if not force:
            refuse_existing([output])
    if options["human"] is not None:
        labels = EditLabels.read(Path(options["human"]))
    if options["decisions"]:
        with existing_store(config.store) as store:
            labels = EditLabels.of_decisions(store, name)
    if options["dry_run"]:
        _estimate(config, name, labels, options)
        return

    def announce(edits: RunEdits) -> None:
        if not quiet:
            say(f"mtagent: {_extent(edits, options)}")

    states = ("judged", "failed")
    with notices(quiet), Progress(verbose=options["verbose"], quiet=quiet, states=states) as progress:
        data, run = run_async(
            judge_edits(
                config,
                name,
                teacher=options["teacher"],
                labels=labels,
                sample=options["sample"],
                seed=options["seed"],
                lp=options["lp"],
                on_pairs=announce,
                on_start=progress.start,
                on_chain=progress.advance_judged,
            )
        )
    if run is not None:
        progress.finish_judged(run)
    elif not quiet:
        say("mtagent: no requests needed: the run's own ratings are stored")
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
    """Print a calibration and its caveats, and write it to ``output``."""
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
    """The settings of the judges, without an earlier calibration, which this one may replace."""
    settings = {name: value for name, value in options.items() if name in Config.model_fields and name != "seed"}
    config_file = click.get_current_context().meta.get(CONFIG_NAME)
    config = read_config({**settings, "judge": options["judges"], "config_file": config_file})
    return config.model_copy(update={"calibration": None, "cautious": None})


def _extent(edits: RunEdits, options: Mapping[str, Any]) -> str:
    """How many edits are judged, out of how many, and how they were chosen."""
    choice = "labelled ones" if options["teacher"] is None else "sampled by size"
    extent = f"{len(edits.pairs)} of {edits.total} edits of {options['runs'][0]}, {choice}"
    if edits.refused:
        extent += f"; {edits.refused} more were refused by the guards"
    return extent


def _estimate(config: Config, name: str, labels: EditLabels | None, options: Mapping[str, Any]) -> None:
    """Print the calls, tokens and dollars that judging would take."""
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
    say(f"mtagent: {_extent(edits, options)}. Nothing was sent; stored replies are used again without cost.")
