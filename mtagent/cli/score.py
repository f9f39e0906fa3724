"""``mtagent score``: files, or the stages of a stored run, against references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtagent.analysis import score
from mtagent.analysis.score import ScoreReport, Wanted
from mtagent.analysis.score_files import score_files, score_run
from mtagent.cli.options import (
    FILE,
    LANGUAGE_OPTIONS,
    METRIC_OPTIONS,
    RUN_OPTIONS,
    WIDTH_OPTION,
    read_config,
    with_options,
)
from mtagent.cli.rate import SeveralFiles
from mtagent.cli.resampling import RESAMPLING_OPTIONS, read_wanted, tests_in
from mtagent.cli.terminal import display, say
from mtagent.config import Config
from mtagent.jobs.inputs import named_translation

EXAMPLES = """\b
Examples:
  mtagent score -t out.txt -r ref.txt -l en-de
  mtagent score -t a.txt b.txt -r ref.txt -l en-ja -m bleu,chrf++ -f latex --paired-bs
  mtagent score -s en.txt -t out.txt -r ref.txt -l en-de -m chrf -f json --sentence-level
  mtagent score --run postedit-1a2b3c4d -r ref.txt --edits-from given
  mtagent score -t a.txt b.txt -r ref.txt -m scores-file:path=comet.json
"""
FORMATS = {
    "text": score.text,
    "json": score.as_json,
    "latex": score.latex,
    "markdown": score.markdown,
}
_SENTENCES = {"text": score.sentences_as_text, "json": score.sentences_as_json}
_NO_LANGUAGE = "mtagent: no language is given (-l): texts are tokenized as Western ones, and scripts are not checked."


class Command(SeveralFiles):
    """A command in which ``-t a b`` and ``-m bleu ter`` stand for repeated options."""

    several = ("-t", "--translation", "-m", "--metrics")


@click.command("score", cls=Command, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-s", "--source", type=FILE, help="Source texts, to flag copies; or a table with its translations.")
@click.option(
    "-t", "--translation", "translations", multiple=True, metavar="[NAME=]FILE …",
    help="Translations, line-aligned; a system per file, named like the file or NAME.",
)  # fmt: skip
@click.option("-r", "--reference", type=FILE, help="Reference translations, line-aligned.")
@click.option("--run", "run", metavar="RUN", help="Score what the stages of a stored run left.")
@click.option("--systems", "--stages", "systems", metavar="NAME,…", help="Only these systems, or stages of the run.")
@click.option("--input-format", metavar="NAME", help="Of the source, where its name does not tell.")
@with_options(LANGUAGE_OPTIONS)
@with_options(METRIC_OPTIONS)
@click.option("--edits-from", metavar="SYSTEM", help="Add TER and characters from this system's texts to the others'.")
@click.option("-f", "--format", "format_name", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@with_options(WIDTH_OPTION)
@click.option("-sl", "--sentence-level", is_flag=True, help="Score each segment.")
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def command(**options: Any) -> None:
    """Score translations against references, several systems side by side.

    Scores files (-t, -r) or the stages of a stored run (--run). BLEU, chrF and TER are sacreBLEU's, digit by digit,
    with its signatures. Empty, copied and foreign output is scored like any other, and flagged.
    """
    _refuse_misuse(options)
    wanted, format_name = _wanted(options), options.pop("format_name")
    width, by_sentence = options.pop("width"), options.pop("sentence_level")
    report = _report(options, wanted)
    if by_sentence:
        for line in _SENTENCES[format_name](report, width):
            display(line)
    else:
        display(FORMATS[format_name](report, width))


def _refuse_misuse(options: dict[str, Any]) -> None:
    if options["run"] is None and not options["translations"] and options["source"] is None:
        raise click.UsageError("give the translations with -t, or a stored run with --run")
    brought = {"source": "-s", "translations": "-t", "input_format": "--input-format", "lp": "-l"}
    if options["run"] is not None and (given := [name for key, name in brought.items() if options[key]]):
        raise click.UsageError(f"--run brings its texts and languages with it: leave out {', '.join(given)}")
    tests = tests_in(options)
    if options["sentence_level"] and (tests or options["format_name"] not in _SENTENCES):
        raise click.UsageError("--sentence-level writes text or json, without tests and intervals")


def _wanted(options: dict[str, Any]) -> Wanted:
    systems = tuple(filter(None, (options.pop("systems") or "").split(",")))
    return read_wanted(options, edits_from=options.pop("edits_from"), systems=systems)


def _report(options: dict[str, Any], wanted: Wanted) -> ScoreReport:
    run, reference = options.pop("run"), options.pop("reference")
    source, source_format = options.pop("source"), options.pop("input_format")
    translations: tuple[tuple[str, Path], ...] = tuple(named_translation(spec) for spec in options.pop("translations"))
    config: Config = read_config(options)
    if run is not None:
        return score_run(run, config, reference=reference, wanted=wanted)
    if source is None and config.target_lang is None:
        say(_NO_LANGUAGE)
    return score_files(translations, reference, config, source=source, source_format=source_format, wanted=wanted)
