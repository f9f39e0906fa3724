"""``mtagent gate``: learn a gate from people's or a teacher's judgement, check it on other texts, and show it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli import run_async
from mtagent.cli.meta_eval import SeveralScores, inputs_of, score_inputs
from mtagent.cli.options import (
    CONFIG_NAME,
    FILE,
    JUDGE_MODEL_OPTIONS,
    OWN_PROMPTS_OPTION,
    PACE_OPTIONS,
    RUN,
    RUN_NAME_OPTION,
    SPEC,
    UNSEEDED_MODEL_OPTIONS,
    F,
    existing_store,
    instructions_by_language,
    option,
    options_on_command_line,
    read_config,
    with_options,
    words_by_option,
)
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices, say
from mtagent.config import Config
from mtagent.text.amounts import counted
from mtagent.text.masking import MASK

if TYPE_CHECKING:
    from mtagent.chain.calibration import Effect
    from mtagent.learning.calibrate import GateCheck
    from mtagent.learning.pairs import JudgedData
    from mtagent.learning.reading import JudgedInputs
    from mtagent.learning.runs import EditLabels, RunEdits

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
  mtagent gate calibrate --run postedit-1a2b3c4d --decisions --next 20
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --calibration gate.json
"""
CHECK_EXAMPLES = """\b
Examples:
  mtagent gate check gate.json -e other.jsonl --human other.seg.score --before online --after ours
  mtagent gate check gate.json -e scores.tsv --human xcomet --item document,paragraph --before A --after B -f json
  mtagent gate check shipped -e scores.tsv --judge GEMBA-MQM=mqm --judge CometKiwi=qe --human mqm --before A --after B
"""
_COMMON_OPTIONS = (
    "--run", "--scores", "--human", "--judge", "--decisions", "--next", "--teacher", "--sample", "--output", "--budget",
    "--model", "--base-url",
)  # fmt: skip
"""The options of ``calibrate`` that nearly everyone needs."""
_HELP = {"help_option_names": ["-h", "--help"]}
SHIPPED = "shipped"
"""Names the gate without labels where a calibration file could be named."""
_SEED, _RESAMPLES = 12345, 1000
_FORMAT_OPTION = click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the output; json also has the judges' signatures and the hashes of the files.",
)
JUDGING_OPTIONS: list[Any] = [
    *JUDGE_MODEL_OPTIONS,
    *UNSEEDED_MODEL_OPTIONS,
    *OWN_PROMPTS_OPTION,
    *RUN_NAME_OPTION,
    *PACE_OPTIONS,
    option(RUN, "--dry-run", is_flag=True, help="Estimate the cost of judging; send nothing."),
    option(RUN, "-v", "--verbose", is_flag=True, help="Print one line per edit to standard error."),
]
"""Options that only matter if judges are called."""
_SCORE_FILE_OPTIONS = ("files", "folder", "pairs", "item", "documents", "before", "after", "signatures")
"""Options that choose edits in files of scores; a chain run brings its edits with it."""
_OF_BOTH = {"store", "seed"}
"""Settings that are also options without a chain run; the seed of a calibration isn't the model's."""


@click.group("gate", epilog=EXAMPLES, context_settings=_HELP)
def command() -> None:
    """Calibrate the gate with people's or a teacher's scores, check a calibration on other texts, or show it."""


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
            help="Signature of the ratings, if they have none.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=_SEED, show_default=True,
            help="Random seed for the split and the bootstrap.",
        ),
        click.option(
            "--resamples", type=int, default=_RESAMPLES, show_default=True,
            help="Number of bootstrap resamples for the confidence intervals.",
        ),
        _FORMAT_OPTION,
    ]  # fmt: skip
    return with_options(options)


@command.command(
    "calibrate",
    cls=SeveralScores,
    short_help="Learn from people's scores which edits to keep.",
    epilog=CALIBRATE_EXAMPLES,
    context_settings=_HELP,
    common=_COMMON_OPTIONS,
)
@score_inputs
@_edit_options("Evaluator to use as judge; repeat for a panel.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Number of pairs to learn from.  [default: all; with --teacher 200]",
)
@click.option(
    "--teacher", metavar=SPEC, help="Let a stronger judge label the edits of a chain run (--run): NAME:model=MODEL."
)
@click.option(
    "--decisions", is_flag=True, help="Use people's review decisions on a chain run (--run) as labels of its edits."
)
@click.option(
    "--next",
    "next_edits",
    type=click.IntRange(1),
    metavar="N",
    help="Only list the N edits that are most worth labelling next.",
)
@click.option(
    "--kind",
    type=click.Choice(["mqm", "esa", "rate"]),
    help="Kind of human scores. It sets which texts are error-free: MQM 0, ESA 85 without marked errors, RATE 4.",
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
    """Learn from people's scores which edits to keep, given the judges' ratings.

    A regression predicts the gain in people's scores from the gain in each judge's ratings; the gate keeps edits with
    a positive expected gain. The command learns from all edits. It tests gates by cross-validation: each gate decides
    on documents (or blocks of segments, if the documents are unknown) that it did not learn from, and is compared with
    accepting every edit, accepting none, each judge alone, and an oracle. With --kind or --error-free the command also
    finds the score from which a text needs no editing, on half of the documents. No model is called.

    With a run of postedit or translate (--run), judges first rate the run's edits. The labels come from a stronger
    judge (--teacher) or from people: a file (--human: id, stage, preference), or their decisions in the review
    (--decisions). Judges and teacher send requests as in any run. With people's labels and without --judge, nothing is
    sent, because the ratings of the run's own gate are stored.

    With --next the command only lists the edits whose labels would teach most in addition to the labels so far. These
    are edits of a run, or edits without a human score in files of scores.
    """
    if options["next_edits"] is not None:
        _list_next(output, options)
        return
    from mtagent.chain.calibration import write
    from mtagent.formats.files import STANDARD
    from mtagent.learning import text
    from mtagent.learning.calibrate import calibrate
    from mtagent.learning.pairs import definition
    from mtagent.metrics.significance import GroupResampling

    error_free = definition(options["kind"], options["cut"])
    resampling = GroupResampling(options["resamples"], options["seed"])
    config = _config(options) if _is_chain_run(options) else None
    total = 0  # edited texts of the run
    if config is not None:
        data, has_failed, total = _judge_run(config, output, force, quiet, options)
    else:
        data, has_failed = _read_scores(output, force, options), False
    calibration = calibrate(
        data,
        error_free,
        sample=options["sample"] if config is None else None,
        precision=options["precision"],
        fewest=options["fewest"],
        resampling=resampling,
    )
    if output is not None:
        data.refuse_unsigned()
    if not quiet and output != STANDARD:
        is_json = options["format_name"] == "json"
        display(calibration.model_dump_json(indent=1) if is_json else text.text(calibration))
    for remark in calibration.remarks:
        say(f"mtagent: {remark}")
    if output is not None:
        write(calibration, output)
    if config is not None and calibration.gain is not None:
        _say_result(config, calibration.gain.held_out, total, output, options)
    if has_failed:
        sys.exit(3)


def _say_result(
    config: Config, effect: Effect | None, total: int, output: Path | None, options: Mapping[str, Any]
) -> None:
    """Print what the gate does with the edited texts of a run that has ``total``, and what to do next."""
    from mtagent.formats.files import STANDARD
    from mtagent.learning import text

    if effect is not None:
        _say_meaning(effect, total, options)
        if text.needs_no_gate(effect, total):
            say(f"mtagent: {text.without_gate(effect)}")
            return
    if output not in (None, STANDARD):
        _print_next_command(config, output, options)


def _say_meaning(effect: Effect, total: int, options: Mapping[str, Any]) -> None:
    """Print in a few lines what the gate does with the edited texts of a run that has ``total``."""
    from mtagent.learning import text

    title = text.MEANING_OF_DECISIONS if options["decisions"] else f"{text.MEANING})"
    say(f"mtagent: {title}:")
    for line in text.meaning(effect):
        say(f"  {line}")
    if options["decisions"]:
        say(f"mtagent: {text.outlook(effect, total)}")
        if text.more_decisions_help(effect, total):
            review_command = shlex.join(["mtagent", "review", options["runs"][0], *_store_words()])
            say(f"mtagent: to decide on more: {review_command}; then calibrate again")


def _list_next(output: Path | None, options: Mapping[str, Any]) -> None:
    """Print the edits that are most worth labelling."""
    from mtagent.learning.gain import next_edits
    from mtagent.learning.runs import all_edits

    learning_options = options_on_command_line(("teacher", "sample", "kind", "cut"))
    if output is not None:
        learning_options = ["--output", *learning_options]
    if learning_options:
        raise click.UsageError(f"--next only lists edits; leave out {learning_options[0]}")
    if options["decisions"] and options["human"] is not None:
        raise click.UsageError("expected one source of labels; give either --decisions or --human FILE")
    if _is_chain_run(options):
        if options["judges"]:
            raise click.UsageError("--next uses the stored answers of the run's own judges; leave out --judge")
        config, name = _config(options), _name_of_run(options)
        data = all_edits(config, name, _labels_of_run(config, name, options), lp=options["lp"])
    else:
        data = _read_scores(None, False, options)
    edits = next_edits(data, options["next_edits"])
    is_json = options["format_name"] == "json"
    display(json.dumps(edits.plain(), indent=1, ensure_ascii=False) if is_json else edits.text())
    for remark in data.remarks:
        say(f"mtagent: {remark}")


def _is_chain_run(options: Mapping[str, Any]) -> bool:
    """Whether the gate is learned from the edits of a chain run rather than from stored ratings."""
    if options["teacher"] is not None or options["decisions"]:
        return True
    if len(options["runs"]) != 1 or options["files"] or options["folder"]:
        return False
    name = options["runs"][0]
    with existing_store(options["store"]) as store:
        return store.settings(name) is not None and store.read(name).kind == "chain"


def _refuse_output(output: Path | None, force: bool, inputs: Mapping[str, Path]) -> None:
    """Raise :class:`mtagent.errors.MtagentError` if the calibration cannot be written to ``output``."""
    from mtagent.jobs.outputs import refuse_existing, refuse_overwriting, refuse_unwritable

    if output is None:
        return
    refuse_overwriting([output], inputs)
    refuse_unwritable(output)
    if not force:
        refuse_existing([output])


def _inputs(options: Mapping[str, Any], judges: Sequence[str]) -> JudgedInputs:
    from mtagent.learning.reading import JudgedInputs

    more = {name: options[name] for name in ("documents", "before", "after")}
    return JudgedInputs(inputs_of(options), both=options["pairs"], judges=tuple(judges), **more)


def _read_scores(output: Path | None, force: bool, options: Mapping[str, Any]) -> JudgedData:
    """The edits and texts in files of scores and stored ratings."""
    judging_options = options_on_command_line({*Config.model_fields, "dry_run", "verbose"} - _OF_BOTH)
    if judging_options:
        raise click.UsageError(
            f"{judging_options[0]}: needs a chain run (--run); from files of scores the gate is learned without a model"
        )
    if not any(options[name] for name in ("files", "runs", "folder", "pairs")):
        raise click.UsageError("give the judges' scores (-e, --run or --mtme) and people's (--human), or --pairs")
    inputs = _inputs(options, options["judges"])
    _refuse_output(output, force, inputs.kept)
    return inputs.read().with_details(options["signatures"], options["lp"])


def _judge_run(
    config: Config, output: Path | None, force: bool, quiet: bool, options: dict[str, Any]
) -> tuple[JudgedData, bool, int]:
    """The edits of a chain run as judges and people (or a teacher) see them.

    Also returns whether a judge failed for one of them, and how many edited texts the run has.
    """
    from mtagent.jobs.inputs import files_named
    from mtagent.learning.runs import EDITED_TEXT, edits_to_judge, judge_edits, of_chains, of_own_gate

    name = _name_of_run(options)
    teacher, human = options["teacher"], options["human"]
    if [teacher is not None, human is not None, options["decisions"]].count(True) != 1:
        raise click.UsageError(
            "expected one source of labels; give either --decisions, --human FILE, or --teacher NAME:model=MODEL"
        )
    inputs = files_named(config)
    if human is not None:
        inputs["--human"] = Path(human)
    _refuse_output(output, force, inputs)
    labels = _labels_of_run(config, name, options)
    edits = edits_to_judge(config, name, labels, sample=options["sample"], seed=options["seed"], lp=options["lp"])
    kind = "drawn evenly by size" if labels is None else "those with a label"
    extent = f"learning from {len(edits.pairs)} of the {edits.total} edited texts of run {name}, {kind}"
    if options["decisions"]:
        extent = f"learning from your decisions on {edits.progress} of run {name}{edits.recommended}"
    if edits.refused:
        extent += f". The gate never sees {counted(edits.refused, 'edited text')} that the guards refused"
    if options["dry_run"]:
        _print_estimate(config, edits, teacher)
        say(f"mtagent: {extent}. Nothing was sent; stored replies are used again without cost.")
        sys.exit()
    if not quiet:
        say(f"mtagent: {extent}")
        if options["decisions"]:
            say(f"mtagent: {EDITED_TEXT}")
    if labels is not None and not config.judges:
        data = of_own_gate(edits)
        if not quiet:
            say("mtagent: no model is called, because the run's own ratings are stored")
        return data, False, edits.total
    states = ("judged", "failed")
    with notices(quiet), Progress(verbose=options["verbose"], quiet=quiet, states=states) as progress:
        judged = run_async(
            judge_edits(config, edits, teacher=teacher, on_start=progress.start, on_chain=progress.advance_judged)
        )
    progress.finish_judged(judged.run)
    return of_chains(edits, judged.chains), judged.run.counts.failed > 0, edits.total


_OF_ONE_RUN = {
    "details", "force", "run", "limit", "repeat", "dry_run", "calibration", "gate", "margin", "quorum",
}  # fmt: skip
"""Options that another run with a calibrated gate must not repeat."""


def _print_next_command(config: Config, output: Path, options: Mapping[str, Any]) -> None:
    """Print the command that makes a run like the one that was learnt from, with the calibrated gate."""
    from mtagent.cli.improve import postedit, translate
    from mtagent.formats.files import STANDARD

    with existing_store(options["store"]) as store:
        run = store.run(options["runs"][0])
    more = _judges_to_name(config, run.settings, options)
    words = ["--calibration", str(output)]
    for name, values in more.items():
        for value in values:
            words += [name, value]
    # A masked word is lost, and a folder of batches belongs to the run that wrote it.
    is_repeatable = not any(MASK in word or word.startswith("--batch") for word in run.command)
    if not run.command or not is_repeatable:
        say(f"mtagent: next, repeat the command that made {run.name}, with {shlex.join(words)} and another -o")
        return
    new_name = _unused_name(options["store"], run.name)
    words += ["--name", new_name]
    command_name, *given = run.command
    left_out = {"--judge": "judge", "--judge-model": "judge_model"}
    next_words = [command_name]
    for option_name, group in words_by_option({"postedit": postedit, "translate": translate}[command_name], given):
        if option_name == "output":
            output_name = group[-1].removeprefix("--output=").removeprefix("-o")
            if Path(output_name) != STANDARD and not Path(output_name).is_dir():
                words += ["-o", _unused(output_name)]
        elif option_name not in _OF_ONE_RUN and option_name not in {left_out[name] for name in more}:
            next_words += group
    say("mtagent: next, let this gate decide on all texts:")
    say(f"  mtagent {shlex.join([*next_words, *words])}")
    if options["decisions"]:
        log = "decisions.jsonl"
        if Path(log).exists():
            log = _unused(log)
        say("mtagent: then take your decisions along to the new run, as far as it has the same texts and edits:")
        say(f"  mtagent {shlex.join(['decide', run.name, '--export', log, *_store_words()])}")
        say(f"  mtagent {shlex.join(['decide', new_name, '--import', log, *_store_words()])}")


def _store_words() -> list[str]:
    """The option of this command that names the store, for commands that it prints."""
    words = []
    for option_name in options_on_command_line(["store"]):
        words += [option_name, str(click.get_current_context().params["store"])]
    return words


def _unused_name(store: Path | None, run: str) -> str:
    """A name like that of ``run`` that no stored run has."""
    with existing_store(store) as opened:
        names = {stored.name for stored in opened.runs()}
    for number in count(2):
        name = f"{run}-{number}"
        if name not in names:
            return name
    raise AssertionError


def _unused(output: str) -> str:
    """A name like ``output`` of a file that does not exist."""
    path = Path(output)
    for number in count(2):
        other = path.with_stem(f"{path.stem}-{number}")
        if not other.exists():
            return str(other)
    raise AssertionError


def _judges_to_name(
    config: Config, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Sequence[str]]:
    """The judges of the calibration, with their model, as far as the command that made the run did not name them."""
    if not options["judges"]:
        is_default = settings.get("gate") == "pairwise" and not settings.get("judge", {}).get("evaluator")
        return {"--judge": ["pairwise"]} if is_default else {}
    model = config.judge_model or config.model
    more: dict[str, Sequence[str]] = {"--judge": options["judges"]}
    if model is not None and model != (settings.get("judge_model") or settings.get("model")):
        more["--judge-model"] = [model]
    return more


def _name_of_run(options: Mapping[str, Any]) -> str:
    """The chain run whose edits are labelled."""
    score_file_options = options_on_command_line(_SCORE_FILE_OPTIONS)
    if score_file_options:
        raise click.UsageError(f"a chain run (--run) contains its edits; leave out {score_file_options[0]}")
    if len(options["runs"]) != 1:
        raise click.UsageError("--teacher and --decisions label the edits of one chain run; name it with --run")
    name: str = options["runs"][0]
    return name


def _labels_of_run(config: Config, name: str, options: Mapping[str, Any]) -> EditLabels | None:
    """People's labels of the edits of a chain run, as far as options name them."""
    from mtagent.learning.runs import EditLabels

    if options["human"] is not None:
        return EditLabels.read(Path(options["human"]))
    if not options["decisions"]:
        return None
    with existing_store(config.store) as store:
        return EditLabels.of_decisions(store, name)


def _config(options: Mapping[str, Any]) -> Config:
    """The settings of the judges, without an earlier calibration, which this one may replace."""
    settings = {name: value for name, value in options.items() if name in Config.model_fields and name != "seed"}
    if options.get("instructions_for") or "instructions_for" in instructions_by_language(
        options.get("instructions", ())
    ):
        raise click.UsageError(
            "--instructions: judges see the instructions for a language with which the run was made: leave LANG= out"
        )
    config_file = click.get_current_context().meta.get(CONFIG_NAME)
    config = read_config({**settings, "judge": options["judges"], "config_file": config_file})
    return config.model_copy(update={"calibration": None, "cautious": None, "any_language": False, "ask_all": True})


def _print_estimate(config: Config, edits: RunEdits, teacher: str | None) -> None:
    """Print the calls, tokens and dollars that judging would take."""
    from mtagent.jobs.estimate import assumptions, counter, table
    from mtagent.learning.runs import estimate_edits
    from mtagent.llm.prices import Prices

    tokens = counter()
    ranges = estimate_edits(config, edits, teacher, tokens)
    display(table(ranges))
    display(assumptions(config, ranges, tokens, Prices(config.prices)))


@command.command(
    "check",
    cls=SeveralScores,
    short_help="Measure a calibrated gate on other texts.",
    epilog=CHECK_EXAMPLES,
    context_settings=_HELP,
)
@click.argument("file", type=FILE)
@score_inputs
@_edit_options(
    "Name of a judge in these scores; repeat for all judges, in the gate's order.  [default: their names in the gate] "
    "With FILE shipped: NAME=KIND, where KIND is mqm, da, qe or pairwise."
)
def check(file: Path, **options: Any) -> None:
    """Measure a calibrated gate on other texts with human scores. Calls no model.

    FILE is a calibration that `mtagent gate calibrate -o FILE` wrote, or `shipped` for the gate without labels: its
    weights are fixed, and the rest comes from the judges' scores of these edits.
    """
    from mtagent.learning.text import check_text

    checked = _checked_shipped(options) if str(file) == SHIPPED else _checked(file, options)
    if options["format_name"] == "json":
        display(json.dumps({"calibration": str(file), **checked.plain()}, indent=1, ensure_ascii=False))
    else:
        display(check_text(str(file), checked))
    for remark in checked.remarks:
        say(f"mtagent: {remark}")


def _checked_shipped(options: Mapping[str, Any]) -> GateCheck:
    """The gate without labels on the scores in ``options``."""
    from mtagent.chain.shipped import shipped_weights
    from mtagent.learning.calibrate import check_shipped
    from mtagent.metrics.significance import GroupResampling

    names, kinds = list[str](), list[str]()
    for judge in options["judges"]:
        name, _, kind = judge.rpartition("=")
        if not name or kind not in shipped_weights().weights:
            known = ", ".join(shipped_weights().weights)
            raise click.UsageError(f"--judge {judge}: expected NAME=KIND, where KIND is one of {known}")
        names.append(name)
        kinds.append(kind)
    if len(set(kinds)) < 2:
        raise click.UsageError("the shipped gate needs judges of two kinds: name each judge with --judge NAME=KIND")
    data = _inputs(options, names).read().with_details(options["signatures"], options["lp"])
    checked = check_shipped(data, kinds, GroupResampling(options["resamples"], options["seed"]))
    if len(options["before"]) > 1 or len(options["after"]) > 1:
        remark = "one mean is taken for the edits of several systems; a run has one for each: check them one by one"
        checked = checked._replace(remarks=(*checked.remarks, remark))
    return checked


def _checked(file: Path, options: Mapping[str, Any]) -> GateCheck:
    """The calibration in ``file`` on the scores in ``options``."""
    from mtagent.chain.calibration import read
    from mtagent.errors import ConfigError
    from mtagent.learning.calibrate import check
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
    return check(calibration, data, GroupResampling(options["resamples"], options["seed"]))


@command.command("show", short_help="Print a calibration and its quality.", context_settings=_HELP)
@click.argument("file", type=FILE)
@click.option("--details", is_flag=True, help="Also print the judges' signatures and the hashes of the files.")
@_FORMAT_OPTION
def show(file: Path, format_name: str, details: bool) -> None:
    """Print a calibration: the expected gain, the threshold, their quality, and the judges they are for.

    FILE is a calibration that `mtagent gate calibrate -o FILE` wrote, or `shipped` for the gate without labels.
    """
    from mtagent.chain.calibration import read
    from mtagent.chain.shipped import shipped_weights
    from mtagent.learning.text import shipped_text, text

    if str(file) == SHIPPED:
        weights = shipped_weights()
        display(weights.model_dump_json(indent=1) if format_name == "json" else shipped_text(weights))
        return
    calibration = read(file)
    is_json = format_name == "json"
    display(calibration.model_dump_json(indent=1) if is_json else text(calibration, details=details))
