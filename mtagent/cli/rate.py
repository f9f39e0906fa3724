"""``mtagent rate``: files, the stages of a stored run, and how a rating came about."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mtagent.cli import run_async
from mtagent.cli.options import (
    CONFIG_NAME,
    EVALUATOR_OPTIONS,
    FILE,
    FILES,
    FORCE_OPTION,
    LANGUAGE_OPTIONS,
    LIMIT_OPTION,
    MODEL_OPTIONS,
    PACE_OPTIONS,
    PROMPT_OPTIONS,
    RUN,
    RUN_OPTIONS,
    TALK_OPTIONS,
    Command,
    Names,
    existing_store,
    named_translation,
    option,
    read_config,
    with_options,
)
from mtagent.cli.options import command as command_of
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices, say
from mtagent.config import Config
from mtagent.formats import RATING_FORMATS
from mtagent.formats.files import STANDARD
from mtagent.formats.ratings import Candidates
from mtagent.jobs.inputs import RatingInputs
from mtagent.jobs.outputs import RatingOutput
from mtagent.jobs.rate import RatingReport, rate_file, rate_run, stored_stages
from mtagent.jobs.summary import show_ratings

EXAMPLES = """\b
Examples:
  mtagent rate -s en.txt -t a.txt b.txt -r ref.txt -l en-es -o ratings.jsonl
  mtagent rate -s en.txt -t online=a.txt -l en-es --evaluator rules -o out.seg.score --format mtme
  mtagent rate --run postedit-1a2b3c4d --systems given,final --evaluator rubric-mqm -o stages.jsonl
  mtagent rate -s en.txt -t es.txt -l en-es --evaluator mqm-ape:evaluator=rubric-mqm,scale=1-8
  mtagent rate --show a/17
"""
OFFLINE = "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm): offline, with the rules evaluator."
_NOT_WITH_RUN = {
    "source": "-s", "translations": "-t", "reference": "-r", "input_format": "--input-format", "lp": "-l",
    "source_lang": "--source-lang", "target_lang": "--target-lang", "glossary": "--glossary", "keep": "--keep",
    "context": "--context", "domain": "--domain",
}  # fmt: skip


class SeveralFiles(Command):
    """A command without arguments, in which ``-t a b c`` stands for ``-t a -t b -t c``."""

    several: tuple[str, ...] = ("-t", "--translation")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further file."""
        return super().parse_args(ctx, list(_repeated(args, self.several)))


def _repeated(args: list[str], names: Sequence[str]) -> Iterator[str]:
    taken, option = 0, ""
    for arg in args:
        if arg in names:
            taken, option = 0, arg
        elif arg.startswith("-") and arg != "-":
            option = ""
        elif option:
            if taken:
                yield option
            taken += 1
        yield arg


@command_of("rate", EXAMPLES, cls=SeveralFiles)
@option(FILES, "-s", "--source", type=FILE, help="Source texts: .txt; or .tsv, .csv, .jsonl with their translations.")
@option(
    FILES, "-t", "--translation", "translations", multiple=True, metavar="[NAME=]FILE …",
    help="Translations to rate, line-aligned; a system per file, named like the file or NAME.",
)  # fmt: skip
@option(FILES, "-r", "--reference", type=FILE, help="Reference translations, line-aligned.")
@option(
    FILES,
    "--run",
    "rated_run",
    metavar="RUN",
    help="A stored run: rate what its stages left; with --show: look there.",
)
@option(
    FILES, "--systems", "--stages", "systems", type=Names(), multiple=True, metavar="NAME,…",
    help="Only these systems, or stages of the run.",
)  # fmt: skip
@option(
    FILES, "--show", "shown", metavar="[SYSTEM/]SEGMENT", help="Print how ratings came about; -v: all that was sent."
)
@option(FILES, "-o", "--output", type=FILE, default=STANDARD, help="Where ratings go.  [default: standard output]")
@option(
    FILES, "--format", "format_name", type=click.Choice(list(RATING_FORMATS)),
    help="Format of the ratings.  [default: as the name of -o tells, or jsonl]",
)  # fmt: skip
@with_options(FORCE_OPTION)
@option(FILES, "--input-format", metavar="NAME", help="Format of the source, where its name does not tell.")
@with_options(LANGUAGE_OPTIONS, PROMPT_OPTIONS, MODEL_OPTIONS, EVALUATOR_OPTIONS)
@option(RUN, "--name", "run", metavar="NAME", help="Name of the rating run.  [default: made from settings and input]")
@with_options(LIMIT_OPTION, PACE_OPTIONS, RUN_OPTIONS, TALK_OPTIONS)
def command(**options: Any) -> None:
    """Rate translations: a score and, where the evaluator marks them, error spans.

    Rates files (-s, -t) or the stages of a stored run (--run). Several systems are rated side by side; equal texts of a
    segment once. A failed rating stops nothing. The same command again resumes a run that was stopped.
    """
    shown, rated_run = options.pop("shown"), options.pop("rated_run")
    if shown is not None:
        _show(shown, rated_run or options["run"], options)
        return
    _refuse_mixture(rated_run, options)
    dry_run, verbose, quiet = (options.pop(name) for name in ("dry_run", "verbose", "quiet"))
    output = RatingOutput(options.pop("output"), options.pop("format_name"), options.pop("force"))
    systems = options.pop("systems")
    inputs = _inputs(options, systems)
    what, config = rated_run or inputs, read_config(options)
    if config.offline and config.evaluator is None and not quiet:
        say(OFFLINE)
    with notices(quiet):
        if dry_run:
            run_async(_print_requests(config, what, systems))
            return
        with Progress(verbose=verbose, quiet=quiet, counted=("rated", "failed")) as progress:
            report = run_async(_rated(config, what, output, systems, progress))
    progress.finish_rated(report, output.paths)
    sys.exit(3 if any(system.failed for system in report.systems) else 0)


def _refuse_mixture(rated_run: str | None, options: dict[str, Any]) -> None:
    if rated_run is None and options["source"] is None:
        raise click.UsageError("give the texts with -s and -t, or a stored run with --run")
    if rated_run is not None and (given := [option for name, option in _NOT_WITH_RUN.items() if options[name]]):
        raise click.UsageError(f"--run brings its texts, languages and terms with it: leave out {', '.join(given)}")


def _inputs(options: dict[str, Any], systems: tuple[str, ...]) -> RatingInputs:
    translations = tuple(named_translation(spec) for spec in options.pop("translations"))
    source, reference, kind = (options.pop(name) for name in ("source", "reference", "input_format"))
    return RatingInputs(source, translations, reference, kind, systems)


async def _rated(
    config: Config, what: RatingInputs | str, output: RatingOutput, systems: tuple[str, ...], progress: Progress
) -> RatingReport:
    if isinstance(what, RatingInputs):
        return await rate_file(config, what, output, on_start=progress.start, on_rated=progress.advance_rated)
    return await rate_run(
        config, what, output, systems=systems, on_start=progress.start, on_rated=progress.advance_rated
    )


async def _print_requests(config: Config, what: RatingInputs | str, systems: tuple[str, ...]) -> None:
    from mtagent.jobs.estimate import first_requests

    total = requests = 0
    with _candidates(config, what, systems) as candidates:
        async for request in first_requests(config, candidates):
            display(request.shown)
            total, requests = total + request.tokens, requests + request.requests
    estimate = f"{requests} requests, about {total} input tokens, estimated from the length"
    say(f"{estimate}; what is asked after the first replies comes on top. Nothing was sent.")


@contextmanager
def _candidates(config: Config, what: RatingInputs | str, systems: tuple[str, ...]) -> Iterator[Iterator[Candidates]]:
    if isinstance(what, RatingInputs):
        with what.opened(config) as (material, _):
            yield material.candidates()
    else:
        with existing_store(config.store) as store:
            yield stored_stages(store, config, what, systems).candidates()


def _show(shown: str, run: str | None, options: dict[str, Any]) -> None:
    context = click.get_current_context()
    useless = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in options.keys() - {"run", "store", "config_file", "verbose", "quiet"}
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if useless:
        raise click.UsageError(f"--show prints a stored rating and takes no {useless[0]}")
    path: Path | None = options["store"]
    context.meta[CONFIG_NAME] = options["config_file"]
    with existing_store(path) as store:
        stored = store.read(run or store.newest("rating"))
        display(show_ratings(stored, shown, full=options["verbose"]))
