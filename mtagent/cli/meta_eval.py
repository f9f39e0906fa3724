"""``mtagent meta-eval``: measure how well evaluators and metrics agree with people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import click

from mtagent.analysis.agreement import PERMUTATIONS, Averaging
from mtagent.analysis.compared_rows import GROUPINGS
from mtagent.analysis.error_spans import Outside, Unlocated
from mtagent.analysis.intervals import RESAMPLES, Bootstrap, ResamplingUnit
from mtagent.analysis.matching import Inputs, Match, gather
from mtagent.analysis.meta_eval import (
    SPAN_GROUPINGS,
    TESTED,
    TESTED_AVERAGES,
    MetaEvalSettings,
    MetaEvaluation,
    PairsEvaluation,
    agreement,
    agreement_by_pair,
    averagings,
)
from mtagent.analysis.meta_eval_tables import as_json, below, flat, pair_below, pair_tables, pair_warnings, tables
from mtagent.analysis.mtme_folder import write_folder
from mtagent.analysis.permutation import Unit
from mtagent.cli.options import FILE, STORE_OPTION, F, name_list, store_path, with_options
from mtagent.cli.rate import SeveralFiles
from mtagent.cli.terminal import display, hand_out, say
from mtagent.errors import OutputError
from mtagent.jobs.export import Target
from mtagent.metrics.significance import SEED
from mtagent.text import table

EXAMPLES = """\b
Examples:
  mtagent meta-eval -e ratings.jsonl --human mqm.tsv
  mtagent meta-eval -e scores.tsv --human mqm --drop-systems refA --average item --test acc-t
  mtagent meta-eval --mtme wmt23 -l en-de --human mqm --metrics BLEU,COMET --missing leave-out
  mtagent meta-eval --run rate-1a2b3c4d --human mqm=people.tsv --by domain,length -f markdown
  mtagent meta-eval -e ment_zh-en.jsonl --human human --resample segment -f latex
"""
_LEVELS: tuple[Literal["sys", "seg", "span"], ...] = ("sys", "seg", "span")
_MANY = 2_000
"""Number of scores from which permutations with calibrated ties take minutes."""


_SCORE_OPTIONS = [
    click.option(
        "-e", "--scores", "files", multiple=True, metavar="[NAME=]FILE …",
        help="Files of evaluators' scores: .jsonl of rate or score, .tsv, .csv, .seg.score, or one number per line.",
    ),
    click.option("--run", "runs", multiple=True, metavar="[NAME=]RUN …", help="Stored runs that contain ratings."),
    click.option("--mtme", "folder", type=FILE, metavar="DIR", help="Folder of mt-metrics-eval."),
    click.option(
        "--human", metavar="[NAME=]FILE|COLUMN|NAME",
        help="People's scores: a file (NAME: its column), a column of the scores, or NAME in the folder.",
    ),
    click.option("-l", "--lp", metavar="LP", help="Use this language pair only, such as en-de."),
    name_list("--item", metavar="COLUMN,…", help="Columns that identify a segment.  [default: id, segment, seg]"),
    *STORE_OPTION,
]  # fmt: skip


class SeveralScores(SeveralFiles):
    """A command which reads ``-e a b`` and ``--run a b`` as repeated options."""

    several = ("-e", "--scores", "--run")


def score_inputs(function: F) -> F:
    """Add the options to a command."""
    add_options: Callable[[F], F] = with_options(_SCORE_OPTIONS)
    return add_options(function)


def inputs_of(options: Mapping[str, Any], **more: Any) -> Inputs:
    """The inputs given by the options of :func:`score_inputs`; ``more`` are other fields of :class:`Inputs`."""
    return Inputs(
        human=options["human"],
        files=options["files"],
        runs=options["runs"],
        folder=options["folder"],
        lp=options["lp"],
        item=options["item"],
        store=store_path(options["store"]),
        **more,
    )


@click.command("meta-eval", cls=SeveralScores, epilog=EXAMPLES)
@score_inputs
@click.option(
    "--system-scores", type=FILE, metavar="FILE.tsv",
    help="File of scores of whole systems, for metrics such as BLEU whose system score isn't a mean.",
)  # fmt: skip
@name_list("--metrics", help="Use these evaluators only.")
@name_list("--lower", help="Evaluators whose lower scores are better.")
@name_list("--drop-systems", "drop", help="Leave out these systems.")
@click.option(
    "--missing", type=click.Choice(["refuse", "leave-out"]), default="refuse", show_default=True,
    help="What to do with translations that lack one of the scores.",
)  # fmt: skip
@name_list("--level", "levels", choices=_LEVELS, help="Levels to compare.  [default: all that the scores allow]")
@name_list(
    "--average", "averaging", choices=get_args(Averaging),
    help="How to average correlations at the level of segments; repeatable.  [default: none,item]",
)  # fmt: skip
@click.option(
    "--distance", type=click.Choice(["plain", "minmax"]),
    help="Add MAE and MSE; minmax: scale both scores to 0–1 first.",
)  # fmt: skip
@name_list("--by", choices=(*GROUPINGS, *SPAN_GROUPINGS), help="Also compare groups of segments or error spans.")
@name_list(
    "--test", "tests", choices=(*TESTED, *TESTED_AVERAGES),
    help="Statistics by which permutation tests compare and rank evaluators; acc and sys-… are about systems.",
)  # fmt: skip
@click.option("--unit", type=click.Choice(get_args(Unit)), default="score", show_default=True, help="Unit to permute.")
@click.option(
    "--permutations", type=click.IntRange(1), default=PERMUTATIONS, show_default=True,
    help="Number of permutations; a test needs 20 or more.",
)  # fmt: skip
@click.option(
    "--resample", type=click.Choice(get_args(ResamplingUnit)),
    help="Add 95 % intervals by a bootstrap over segments or documents.",
)  # fmt: skip
@click.option(
    "--resamples", type=click.IntRange(1), metavar="N",
    help=f"Number of resamples for the intervals.  [default: {RESAMPLES:,}]",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=SEED, show_default=True,
    help="Random seed for permutations and resamples.",
)  # fmt: skip
@click.option(
    "--unlocated", type=click.Choice(get_args(Unlocated)), default="miss", show_default=True,
    help="How to count error spans without a certain place in the text.",
)  # fmt: skip
@click.option(
    "--outside", type=click.Choice(get_args(Outside)), default="leave-out", show_default=True,
    help="How to count omissions and errors in the source.",
)  # fmt: skip
@click.option(
    "-f", "--format", "format_name", type=click.Choice([*table.FORMS, "json", "csv", "tsv"]), default="text",
    show_default=True, help="Format of the output.",
)  # fmt: skip
@click.option(
    "-w", "--width", type=click.IntRange(0, 15), default=3, show_default=True,
    help="Digits after the decimal point.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=FILE, metavar="DIR", help="Folder to write the compared scores to, for mt-metrics-eval."
)
@click.option("--force", is_flag=True, help="Write into a folder that isn't empty.")
def command(**options: Any) -> None:
    """Measure how well evaluators and metrics agree with people.

    Computes mt-metrics-eval's statistics for systems and segments, and F1 for error spans. Higher scores must be
    better, except for evaluators in --lower. docs/reference/meta-eval.md explains the columns.
    """
    _refuse_misuse(options)
    inputs = inputs_of(
        options, system_scores=options["system_scores"], metrics=options["metrics"], lower=options["lower"]
    )
    target = None
    if options["output"] is not None:  # refused before anything is computed
        target = Target(options["output"], options["force"], frozenset(), store_path(options["store"]))
        target.refuse_taken_folder()
    matches_by_pair = gather(inputs, missing=options["missing"], drop=options["drop"])
    all_matches: list[Match] = []
    named_pairs = {}
    for pair, matches in matches_by_pair.items():
        all_matches += matches
        if pair is not None:
            named_pairs[pair] = matches
    if target and named_pairs:
        raise OutputError(
            f"{target.path}: the scores are of {len(named_pairs)} language pairs; name one with -l, e.g. -l "
            f"{next(iter(named_pairs))}"
        )
    _say_meanings(all_matches)
    settings = _settings(options, all_matches)
    is_pooled = "acc-t:none" in settings.tests
    if "acc-t" in settings.tests:
        is_pooled = is_pooled or "none" in averagings(all_matches, settings)
    if is_pooled and any(len(match.rows) > _MANY for match in all_matches):
        say(
            "mtagent: ties are calibrated in each permutation, which takes minutes for each pair of evaluators with so "
            "much data; --test acc-t:item takes seconds"
        )
    results: MetaEvaluation | PairsEvaluation
    if named_pairs:
        results = agreement_by_pair(named_pairs, settings)
        warnings = pair_warnings(results)
    else:
        results = agreement(all_matches, settings)
        warnings = list(results.warnings)
    if target:
        people = [match.human for match in all_matches]
        evaluators = [match.evaluator for match in all_matches]
        for remark in write_folder(people, evaluators, target, options["lp"]):
            say(f"mtagent: {remark}")
    form, width = options["format_name"], options["width"]
    if form == "json":
        display(as_json(results))
    elif form in ("csv", "tsv"):
        hand_out(flat(results, "," if form == "csv" else "\t"))
        for warning in warnings:
            say(f"mtagent: warning: {warning}")
    elif isinstance(results, PairsEvaluation):
        display(table.FORMS[form](pair_tables(results, width), pair_below(results), warnings))
    else:
        display(table.FORMS[form](tables(results, width), below(results), warnings))


def _say_meanings(matches: Sequence[Match]) -> None:
    """Print what the fields of each table were read as, where they have other names than this project's."""
    meanings: dict[tuple[str, str], None] = {}
    for match in matches:
        for side in (match.human, match.evaluator):
            if side.fields:
                meanings[side.origin, side.fields] = None
    for origin, fields in meanings:
        say(f"mtagent: {origin}: read {fields}")


def _refuse_misuse(options: dict[str, Any]) -> None:
    if not options["files"] and not options["runs"] and options["folder"] is None:
        raise click.UsageError("give scores with -e, --run or --mtme")
    if options["force"] and options["output"] is None:
        raise click.UsageError("--force needs -o DIR")
    if options["resamples"] and options["resample"] is None:
        raise click.UsageError("--resamples needs --resample segment or document")
    levels = options["levels"]
    for name in options["by"]:
        if name in SPAN_GROUPINGS and levels and "span" not in levels:
            raise click.UsageError(f"--by {name}: groups error spans; add --level span")
        if name in GROUPINGS and levels == ("span",):
            raise click.UsageError(f"--by {name}: groups segments; add --level sys or seg")


def _settings(options: dict[str, Any], matches: Sequence[Match]) -> MetaEvalSettings:
    if not any(match.marked for match in matches):
        no_spans = "needs an evaluator and people who both marked errors in known translations"
        if "span" in options["levels"]:
            raise click.UsageError(f"--level span: {no_spans}")
        for name in options["by"]:
            if name in SPAN_GROUPINGS:
                raise click.UsageError(f"--by {name}: {no_spans}")
    has_several_systems = any(len(match.human.names()) > 1 for match in matches)
    default_levels = _LEVELS if has_several_systems else ("seg", "span")
    bootstrap = None
    if options["resample"]:
        bootstrap = Bootstrap(options["resample"], options["resamples"] or RESAMPLES, options["seed"])
    return MetaEvalSettings(
        levels=options["levels"] or default_levels,
        bootstrap=bootstrap,
        distance="none" if options["distance"] == "plain" else options["distance"],
        averaging=options["averaging"],
        tests=options["tests"],
        unit=options["unit"],
        permutations=options["permutations"],
        seed=options["seed"],
        by=options["by"],
        unlocated=options["unlocated"],
        outside=options["outside"],
    )
