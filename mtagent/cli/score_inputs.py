"""Options for the scores of evaluators and of people, which ``meta-eval`` and ``gate calibrate`` read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli.options import FILE, STORE_OPTION, F, store_path, with_options
from mtagent.cli.rate import SeveralFiles

if TYPE_CHECKING:
    from mtagent.analysis.matching import Inputs


_OPTIONS = [
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
    click.option(
        "--item", multiple=True, metavar="COLUMN,…",
        help="Columns that identify a segment.  [default: id, segment, seg]",
    ),
    *STORE_OPTION,
]  # fmt: skip


class SeveralScores(SeveralFiles):
    """A command which reads ``-e a b`` and ``--run a b`` as repeated options."""

    several = ("-e", "--scores", "--run")


def score_inputs(function: F) -> F:
    """Add the options to a command."""
    add_options: Callable[[F], F] = with_options(_OPTIONS)
    return add_options(function)


def names_in(values: Iterable[str]) -> tuple[str, ...]:
    """Split ``values`` at commas and return each name once, in order."""
    names: dict[str, None] = {}
    for value in values:
        for name in value.split(","):
            if name.strip():
                names[name.strip()] = None
    return tuple(names)


def inputs_of(options: Mapping[str, Any], **more: Any) -> Inputs:
    """The inputs given by the options of :func:`score_inputs`; ``more`` are other fields of :class:`Inputs`."""
    from mtagent.analysis.matching import Inputs

    fields = {name: options[name] for name in ("human", "files", "runs", "folder", "lp")}
    fields["store"] = store_path(options["store"])
    return Inputs(**fields, item=names_in(options["item"]), **more)
