"""The options that name scores of evaluators and of people: what ``meta-eval`` and ``gate calibrate`` read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli.options import FILE, STORE_OPTION, F, store_path
from mtagent.cli.rate import SeveralFiles

if TYPE_CHECKING:
    from mtagent.analysis.matching import Inputs


_OPTIONS = [
    click.option(
        "-e", "--scores", "files", multiple=True, metavar="[NAME=]FILE …",
        help="Scores of evaluators: .jsonl of rate or score, .tsv, .csv, .seg.score, or a number a line.",
    ),
    click.option("--run", "runs", multiple=True, metavar="[NAME=]RUN …", help="Stored runs of ratings."),
    click.option("--mtme", "folder", type=FILE, metavar="DIR", help="A folder of mt-metrics-eval."),
    click.option(
        "--human", metavar="[NAME=]FILE|COLUMN|NAME",
        help="People's scores: a file (its column NAME), a column of the scores, or NAME in the folder.",
    ),
    click.option("-l", "--lp", metavar="LP", help="Only this language pair, e.g. en-de."),
    click.option(
        "--item", multiple=True, metavar="COLUMN,…", help="What tells segments apart.  [default: id, segment, seg]"
    ),
    *STORE_OPTION,
]  # fmt: skip


class SeveralScores(SeveralFiles):
    """A command in which ``-e a b`` and ``--run a b`` stand for repeated options."""

    several = ("-e", "--scores", "--run")


def score_inputs(function: F) -> F:
    """Give a command these options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def names_in(values: Iterable[str]) -> tuple[str, ...]:
    """The names in values with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))


def inputs_of(options: Mapping[str, Any], **more: Any) -> Inputs:
    """What the options of :func:`score_inputs`, and ``more``, say."""
    from mtagent.analysis.matching import Inputs

    plain = {name: options[name] for name in ("human", "files", "runs", "folder", "lp")}
    plain["store"] = store_path(options["store"])
    return Inputs(**plain, item=names_in(options["item"]), **more)
