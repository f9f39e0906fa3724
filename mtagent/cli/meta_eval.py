"""``mtagent meta-eval``: how well evaluators and metrics agree with people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import click

from mtagent.analysis.agreement import Averaging
from mtagent.analysis.compare import GROUPINGS
from mtagent.analysis.error_spans import Outside, Unlocated
from mtagent.analysis.matching import Match, gather
from mtagent.analysis.meta_eval import (
    SPAN_GROUPINGS,
    TESTED,
    MetaEvalSettings,
    agreement,
    as_json,
    averagings,
    below,
    marking_both,
    tables,
)
from mtagent.analysis.mtme_folder import write_folder
from mtagent.analysis.permutation import PERMUTATIONS, Unit
from mtagent.cli.options import FILE, F, store_path
from mtagent.cli.score_inputs import SeveralScores, inputs_of, names_in, score_inputs
from mtagent.cli.terminal import display, say
from mtagent.jobs.export import Target
from mtagent.metrics.significance import SEED
from mtagent.text import table

EXAMPLES = """\b
Examples:
  mtagent meta-eval -e ratings.jsonl --human mqm.tsv
  mtagent meta-eval -e scores.tsv --human mqm --drop-systems refA --average item --test acc-t
  mtagent meta-eval --mtme wmt23 -l en-de --human mqm --metrics BLEU,COMET --missing leave-out
  mtagent meta-eval --run rate-1a2b3c4d --human mqm=people.tsv --by domain,length -f markdown
"""
_LEVELS: tuple[Literal["sys", "seg", "span"], ...] = ("sys", "seg", "span")
_MANY = 2_000
"""Scores whose permutations take long where ties are calibrated."""


def _several(*names: str, known: Sequence[str] = (), help: str) -> Callable[[F], F]:  # noqa: A002 click's own name
    """An option with several values, which may have commas; ``known`` are all that there are."""

    def callback(_: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
        chosen = names_in(values)
        if known and (unknown := [name for name in chosen if name not in known]):
            raise click.UsageError(f"{option.opts[0]} {unknown[0]}: there are {', '.join(known)}")
        return chosen

    return click.option(*names, multiple=True, callback=callback, metavar="|".join(known) or "NAME,…", help=help)


@click.command(
    "meta-eval", cls=SeveralScores, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]}
)
@score_inputs
@click.option("--system-scores", type=FILE, metavar="FILE.tsv", help="Scores of systems that are no means (BLEU's).")
@_several("--metrics", help="Only these evaluators.")
@_several("--lower", help="Evaluators whose lower scores are the better ones.")
@_several("--drop-systems", "drop", help="Leave out these systems.")
@click.option(
    "--missing", type=click.Choice(["refuse", "leave-out"]), default="refuse", show_default=True,
    help="Translations without one of the scores.",
)  # fmt: skip
@_several("--level", "levels", known=_LEVELS, help="[default: all that there is]")
@_several(
    "--average", "averaging", known=get_args(Averaging),
    help="At the level of segments; several with commas.  [default: none,item]",
)  # fmt: skip
@click.option("--distance", type=click.Choice(["plain", "minmax"]), help="Add MAE and MSE; minmax: both scaled to 0–1.")
@_several("--by", known=(*GROUPINGS, *SPAN_GROUPINGS), help="By part as well.")
@_several(
    "--test", "tests", known=TESTED,
    help="Permutation tests of the evaluators against each other, and ranks; acc: of systems.",
)  # fmt: skip
@click.option("--unit", type=click.Choice(get_args(Unit)), default="score", show_default=True, help="What is permuted.")
@click.option("--permutations", type=click.IntRange(1), default=PERMUTATIONS, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Of the permutations.")
@click.option(
    "--unlocated", type=click.Choice(get_args(Unlocated)), default="miss", show_default=True,
    help="Error spans that have no sure place in the text.",
)  # fmt: skip
@click.option(
    "--outside", type=click.Choice(get_args(Outside)), default="leave-out", show_default=True,
    help="Omissions and source errors.",
)  # fmt: skip
@click.option(
    "-f", "--format", "format_name", type=click.Choice([*table.FORMS, "json"]), default="text", show_default=True
)
@click.option("-w", "--width", type=click.IntRange(0, 15), default=3, show_default=True, help="Digits after the point.")
@click.option("-o", "--output", type=FILE, metavar="DIR", help="Write what is compared as a folder of mt-metrics-eval.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
def command(**options: Any) -> None:
    """Say how well evaluators and metrics agree with people.

    Levels of systems, segments and error spans, each as mt-metrics-eval or the task of its field computes it. Higher
    scores are the better ones. What the columns mean is in docs/reference/meta-eval.md.
    """
    _refuse_misuse(options)
    inputs = inputs_of(options, **{name: options[name] for name in ("system_scores", "metrics", "lower")})
    target = None
    if options["output"] is not None:  # looked at before anything is computed
        target = Target(options["output"], options["force"], frozenset(), store_path(options["store"]))
        target.refuse_taken_folder()
    matches = gather(inputs, missing=options["missing"], drop=options["drop"])
    settings = _settings(options, matches)
    if "acc-t" in settings.tests and "none" in averagings(matches, settings) and len(matches[0].rows) > _MANY:
        say(
            "mtagent: ties are calibrated anew in each permutation: of all scores together this takes minutes for each "
            "two evaluators; --average item takes seconds"
        )
    results = agreement(matches, settings)
    if target:
        people, evaluators = [match.human for match in matches], [match.evaluator for match in matches]
        for remark in write_folder(people, evaluators, target, options["lp"]):
            say(f"mtagent: {remark}")
    if options["format_name"] == "json":
        display(as_json(results))
    else:
        shown = table.FORMS[options["format_name"]]
        display(shown(tables(results, options["width"]), below(results), results.warnings))


def _refuse_misuse(options: dict[str, Any]) -> None:
    if not options["files"] and not options["runs"] and options["folder"] is None:
        raise click.UsageError("give scores with -e, --run or --mtme")
    if options["force"] and options["output"] is None:
        raise click.UsageError("--force is for -o DIR")
    levels, by = options["levels"], options["by"]
    if levels and "span" not in levels and (lost := [name for name in by if name in SPAN_GROUPINGS]):
        raise click.UsageError(f"--by {lost[0]}: groups error spans; add --level span")
    if levels == ("span",) and (lost := [name for name in by if name in GROUPINGS]):
        raise click.UsageError(f"--by {lost[0]}: is for the levels of systems and segments; add --level sys or seg")


def _settings(options: dict[str, Any], matches: Sequence[Match]) -> MetaEvalSettings:
    if not marking_both(matches):
        if "span" in options["levels"]:
            raise click.UsageError(
                "--level span: no evaluator and people have both marked errors in known translations"
            )
        if lost := [name for name in options["by"] if name in SPAN_GROUPINGS]:
            raise click.UsageError(f"--by {lost[0]}: groups error spans, and there are none on both sides")
    several = any(len(match.human.names()) > 1 for match in matches)
    names = ("averaging", "tests", "unit", "permutations", "seed", "by", "unlocated", "outside")
    return MetaEvalSettings(
        levels=options["levels"] or (_LEVELS if several else ("seg", "span")),
        distance="none" if options["distance"] == "plain" else options["distance"],
        **{name: options[name] for name in names},
    )
