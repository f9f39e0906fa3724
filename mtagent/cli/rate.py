"""``mtagent rate``: rate files or the stages of a stored run, and show how a rating was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from mtagent.cli import run_async
from mtagent.cli.improve import announce_repeats, idle_options, print_requests
from mtagent.cli.options import (
    BATCH_OPTION,
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
    REFERENCE_OPTION,
    REPEAT_OPTION,
    RUN_NAME_OPTION,
    RUN_OPTIONS,
    TALK_OPTIONS,
    NameList,
    SectionedCommand,
    existing_store,
    named_translation,
    option,
    options_on_command_line,
    read_batches,
    read_config,
    with_options,
)
from mtagent.cli.options import command as command_of
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices, say
from mtagent.config import Config
from mtagent.formats import RATING_FORMATS, Lines, by_path
from mtagent.formats.files import STANDARD
from mtagent.formats.ratings import Candidates
from mtagent.jobs.inputs import RatingInputs
from mtagent.jobs.outputs import RatingOutput
from mtagent.jobs.parts import budget_of
from mtagent.jobs.rate import RatingReport, rate_file, rate_run, stored_stages
from mtagent.jobs.summary import show_ratings
from mtagent.llm.batch import Batches
from mtagent.llm.budget import Budget

EXAMPLES = """\b
Examples:
  mtagent rate -s en.txt -t a.txt b.txt -r ref.txt -l en-es -o ratings.jsonl
  mtagent rate -s en.txt -t online=a.txt -l en-es --evaluator rules -o out.seg.score --format mtme
  mtagent rate --run postedit-1a2b3c4d --systems given,final --evaluator rubric-mqm -o stages.jsonl
  mtagent rate -s en.txt -t es.txt -l en-es --evaluator mqm-ape:evaluator=rubric-mqm,scale=1-8
  mtagent rate --show a/17
"""
OFFLINE = "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm); working offline with the rules evaluator."
# Options that a stored run makes superfluous.
_NOT_WITH_RUN = {
    "source": "-s", "translations": "-t", "reference": "-r", "input_format": "--input-format", "lp": "-l",
    "source_lang": "--source-lang", "target_lang": "--target-lang", "glossary": "--glossary", "keep": "--keep",
    "context": "--context", "domain": "--domain",
}  # fmt: skip


class SeveralFiles(SectionedCommand):
    """A command without arguments, which reads ``-t a b c`` as ``-t a -t b -t c``."""

    several: tuple[str, ...] = ("-t", "--translation")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further file."""
        return super().parse_args(ctx, list(_repeated(args, self.several)))


def _repeated(args: list[str], names: Sequence[str]) -> Iterator[str]:
    option = ""
    values = 0  # after this option
    for arg in args:
        if arg in names:
            option = arg
            values = 0
        elif arg.startswith("-") and arg != "-":
            option = ""
        elif option:
            if values:
                yield option
            values += 1
        yield arg


@command_of("rate", EXAMPLES, cls=SeveralFiles)
@option(
    FILES, "-s", "--source", type=FILE,
    help="File of source texts: .txt, or .tsv, .csv, .jsonl with their translations.",
)  # fmt: skip
@option(
    FILES, "-t", "--translation", "translations", multiple=True, metavar="[NAME=]FILE …",
    help="Files of translations to rate, line-aligned; each file is a system, called NAME, or by the file's name.",
)  # fmt: skip
@with_options(REFERENCE_OPTION)
@option(
    FILES,
    "--run",
    "rated_run",
    metavar="RUN",
    help="Stored run whose texts after each stage are rated; with --show, the run whose ratings are printed.",
)
@option(
    FILES, "--systems", "--stages", "systems", type=NameList(), multiple=True, metavar="NAME,…",
    help="Rate these systems, or stages of the run, only.",
)  # fmt: skip
@option(
    FILES, "--show", "shown", metavar="[SYSTEM/]SEGMENT",
    help="Print how ratings were made; with -v, all requests and replies.",
)  # fmt: skip
@option(FILES, "-o", "--output", type=FILE, default=STANDARD, help="File for the ratings.  [default: standard output]")
@option(
    FILES, "--format", "format_name", type=click.Choice(list(RATING_FORMATS)),
    help="Format of the ratings.  [default: by the name of -o, otherwise jsonl]",
)  # fmt: skip
@with_options(FORCE_OPTION)
@option(FILES, "--input-format", metavar="NAME", help="Format of the source file, if its name doesn't show it.")
@with_options(LANGUAGE_OPTIONS, PROMPT_OPTIONS, MODEL_OPTIONS, EVALUATOR_OPTIONS)
@with_options(RUN_NAME_OPTION, REPEAT_OPTION, BATCH_OPTION, LIMIT_OPTION, PACE_OPTIONS, RUN_OPTIONS, TALK_OPTIONS)
def command(**options: Any) -> None:
    """Rate translations: a score and, if the evaluator marks them, error spans.

    Rates files (-s, -t) or the stages of a stored run (--run). It rates several systems side by side, and equal texts
    of a segment once. A failed rating doesn't stop the run. Run the same command again to resume a run that was
    stopped.
    """
    shown, rated_run = options.pop("shown"), options.pop("rated_run")
    if shown is not None:
        _show(shown, rated_run or options["run"], options)
        return
    _refuse_mixture(rated_run, options)
    dry_run, verbose, quiet = (options.pop(name) for name in ("dry_run", "verbose", "quiet"))
    batches = read_batches(options)
    number_of_repeats = options.pop("repeat")
    output = RatingOutput(options.pop("output"), options.pop("format_name"), options.pop("force"))
    systems = options.pop("systems")
    files = _rating_inputs(options, systems)
    texts = rated_run or files
    given_options = options_on_command_line(options.keys())
    config = read_config(options)
    if config.offline and config.evaluator is None and not quiet:
        say(OFFLINE)
    if not quiet:
        for warning in idle_options(config, given_options):
            say(warning)
    with notices(quiet):
        if dry_run:
            from mtagent.jobs.estimate import first_requests

            with _candidates(config, texts, systems) as candidates:
                requests = first_requests(config, candidates)
                print_requests(requests, "requests after the first replies", repeat=number_of_repeats or 1)
            return
    tasks = [(config, output)]
    budget = None
    if number_of_repeats is not None:
        from mtagent.jobs import repeats

        tasks = repeats.of_ratings(config, output, number_of_repeats, {} if rated_run else files.paths)
        budget = budget_of(config, [str(of_repeat.run) for of_repeat, _ in tasks])
        announce_repeats([of_repeat for of_repeat, _ in tasks], repeats.alike(config, rates=True), quiet=quiet)
    has_failures = False
    for config, output in tasks:
        with notices(quiet), Progress(verbose=verbose, quiet=quiet, states=("rated", "failed")) as progress:
            report = run_async(_rate(config, texts, output, systems, progress, budget, batches))
        progress.finish_rated(report, output.paths)
        has_failures = has_failures or any(system.failed for system in report.systems)
    sys.exit(3 if has_failures else 0)


def _refuse_mixture(rated_run: str | None, options: dict[str, Any]) -> None:
    """Raise :class:`click.UsageError` unless the texts come either from files or from a stored run."""
    if rated_run is None and options["source"] is None:
        raise click.UsageError("give the texts with -s and -t, or a stored run with --run")
    if rated_run is None:
        is_table = not isinstance(by_path(options["source"], options["input_format"]), Lines)
        if not options["translations"] and not is_table:
            raise click.UsageError(f"{options['source']}: give the translations with -t")
        return
    superfluous = [option for name, option in _NOT_WITH_RUN.items() if options[name]]
    if superfluous:
        raise click.UsageError(
            f"--run already defines the texts, languages and terms; leave out {', '.join(superfluous)}"
        )


def _rating_inputs(options: dict[str, Any], systems: tuple[str, ...]) -> RatingInputs:
    translations = tuple(named_translation(spec) for spec in options.pop("translations"))
    source, reference, kind = (options.pop(name) for name in ("source", "reference", "input_format"))
    return RatingInputs(source, translations, reference, kind, systems)


async def _rate(
    config: Config,
    texts: RatingInputs | str,
    output: RatingOutput,
    systems: tuple[str, ...],
    progress: Progress,
    budget: Budget | None,
    batches: Batches | None,
) -> RatingReport:
    """Rate files, or the stages of the run called ``texts``."""
    start, advance = progress.start, progress.advance_rated
    if isinstance(texts, RatingInputs):
        return await rate_file(config, texts, output, on_start=start, on_rated=advance, budget=budget, batches=batches)
    return await rate_run(
        config, texts, output, systems=systems, on_start=start, on_rated=advance, budget=budget, batches=batches
    )


@contextmanager
def _candidates(config: Config, texts: RatingInputs | str, systems: tuple[str, ...]) -> Iterator[Iterator[Candidates]]:
    if isinstance(texts, RatingInputs):
        with texts.opened(config) as (material, _):
            yield material.candidates()
    else:
        with existing_store(config.store) as store:
            yield stored_stages(store, config, texts, systems).candidates()


def _show(shown: str, run: str | None, options: dict[str, Any]) -> None:
    """Print how the ratings ``shown`` were made, in ``run`` or the newest run of ratings."""
    superfluous = options_on_command_line(options.keys() - {"run", "store", "config_file", "verbose", "quiet"})
    if superfluous:
        raise click.UsageError(f"--show prints a stored rating; leave out {superfluous[0]}")
    path: Path | None = options["store"]
    click.get_current_context().meta[CONFIG_NAME] = options["config_file"]
    with existing_store(path) as store:
        stored = store.read(run or store.newest("rating"))
        display(show_ratings(stored, shown, full=options["verbose"]))
