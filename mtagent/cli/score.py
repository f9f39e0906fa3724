"""``mtagent score`` and ``mtagent compare``: scores of files and of the stages of stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtagent.analysis import compare_tables, rating_table
from mtagent.analysis.compare import CompareOptions, named_summaries, read_runs
from mtagent.analysis.compared_rows import GROUPINGS
from mtagent.analysis.language_pairs import compare_pairs
from mtagent.analysis.rating_table import RatingTable
from mtagent.analysis.score import ScoreOptions, ScoreReport, as_json, flat, score_files, score_runs, sentences, shown
from mtagent.cli.options import (
    COMPARISON_OPTIONS,
    FILE,
    LANGUAGE_OPTIONS,
    METRIC_OPTIONS,
    RUN_OPTIONS,
    WIDTH_OPTION,
    name_list,
    named_comet_python,
    named_translation,
    options_on_command_line,
    print_licences,
    read_config,
    with_options,
)
from mtagent.cli.rate import SeveralFiles
from mtagent.cli.terminal import display, hand_out, say
from mtagent.formats import Lines, by_path
from mtagent.metrics.protocol import each_once
from mtagent.metrics.significance import RESAMPLES, SEED, Resampling
from mtagent.store.store import open_existing
from mtagent.text import table
from mtagent.text.languages import parse_pair

SCORE_EXAMPLES = """\b
Examples:
  mtagent score -t out.txt -r ref.txt -l en-de
  mtagent score -t a.txt b.txt -r ref.txt -l en-ja -m bleu,chrf++ -f latex --paired-bs
  mtagent score -s en.txt -t out.txt -r ref.txt -l en-de -m chrf -f json --sentence-level
  mtagent score -t out.txt -r refA.txt refB.txt -l en-de
  mtagent score --run postedit-1a2b3c4d -r ref.txt --edits-from given
  mtagent score --run safe=postedit-1a2b3c4d --run forced=postedit-5e6f7a8b --stages final --paired-bs
  mtagent score --run rate-1a2b3c4d --run rate-5e6f7a8b --sentence-level -f csv
  mtagent score -t a.txt b.txt -r ref.txt -m scores-file:path=comet.json
"""
COMPARE_EXAMPLES = """\b
Examples:
  mtagent compare postedit-1a2b3c4d
  mtagent compare postedit-1a2b3c4d -r ref.txt --baseline online=b.txt --paired-bs
  mtagent compare safe=postedit-1a2b3c4d forced=postedit-5e6f7a8b -f markdown
  mtagent compare translate-1a2b3c4d --by domain,length -f csv
  mtagent compare a b c --against all
  mtagent compare safe=postedit-1a2b3c4d forced=postedit-5e6f7a8b --paired-bs --figures figures
"""
FORMATS = (*table.FORMS, "json", "csv", "tsv")
_DELIMITERS = {"csv": ",", "tsv": "\t"}
COMPARE_FORMATS = (*table.FORMS, "json", "csv", "tsv")
_BY_SENTENCE = ("text", "json", "csv", "tsv")
_NO_LANGUAGE = "mtagent: no language is given (-l); texts are tokenized as Western ones, and scripts are not checked."
_TESTS = ("paired_bs", "paired_ar", "confidence")
RESAMPLING_OPTIONS = [
    click.option("-ci", "--confidence", is_flag=True, help="Add 95 % confidence intervals by bootstrap resampling."),
    click.option("--paired-bs", is_flag=True, help="Test differences by paired bootstrap resampling."),
    click.option("--paired-ar", is_flag=True, help="Test differences by approximate randomization."),
    click.option(
        "--resamples",
        type=click.IntRange(1),
        metavar="N",
        help=f"Number of resamples or trials.  [default: {RESAMPLES['bs']:,}; --paired-ar: {RESAMPLES['ar']:,}]",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Random seed for the resampling."
    ),
]


def read_score_options(options: dict[str, Any], **more: Any) -> ScoreOptions:
    """Remove the options of metrics and resampling from ``options``, return them, and print licences.

    ``more`` are other fields of :class:`ScoreOptions`. Raises :class:`click.UsageError` for options that cannot be
    combined.
    """
    tests = [name for name in _TESTS if options.pop(name)]
    resamples, seed = options.pop("resamples"), options.pop("seed")
    if len(tests) > 1 and "confidence" not in tests:
        raise click.UsageError("--paired-bs and --paired-ar are different tests; choose one")
    if len(tests) > 1 and "paired_ar" in tests:
        raise click.UsageError("--paired-ar gives no intervals; use --paired-bs, or --confidence alone")
    if resamples and not tests:
        raise click.UsageError("--resamples needs --confidence, --paired-bs or --paired-ar")
    resampling = None
    if tests:
        resampling = Resampling("ar" if "paired_ar" in tests else "bs", resamples or 0, seed)
    metrics = each_once(options.pop("metrics") or ScoreOptions.metrics)
    print_licences(metrics)
    return ScoreOptions(
        metrics=metrics,
        resampling=resampling,
        paired="paired_bs" in tests or "paired_ar" in tests,
        comet_python=named_comet_python(options.pop("comet_python"), metrics),
        **more,
    )


class SeveralFilesAndMetrics(SeveralFiles):
    """A command which reads ``-t a b``, ``-r a b`` and ``-m bleu ter`` as repeated options."""

    several = ("-t", "--translation", "-r", "--reference", "-m", "--metrics")


@click.command(
    "score",
    cls=SeveralFilesAndMetrics,
    epilog=SCORE_EXAMPLES,
)
@click.option(
    "-s", "--source", type=FILE, help="File of source texts, to flag copies; or a table that also has translations."
)
@click.option(
    "-t", "--translation", "translations", multiple=True, metavar="[NAME=]FILE …",
    help="Files of translations, line-aligned; each file is a system, called NAME, or by the file's name.",
)  # fmt: skip
@click.option(
    "-r",
    "--reference",
    "references",
    type=FILE,
    multiple=True,
    metavar="FILE …",
    help="File of reference translations, line-aligned. Several are used together, as in sacreBLEU.",
)
@click.option(
    "--run", "runs", multiple=True, metavar="[NAME=]RUN",
    help="Stored run whose texts after each stage are scored, or whose ratings are printed. Repeatable; systems are "
    "then called NAME/STAGE, and columns of ratings NAME/EVALUATOR.",
)  # fmt: skip
@name_list("--systems", "--stages", "systems", help="Score these systems, or stages of the run, only.")
@click.option("--input-format", metavar="NAME", help="Format of the source file, if its name doesn't show it.")
@with_options(LANGUAGE_OPTIONS)
@with_options(METRIC_OPTIONS)
@click.option(
    "--edits-from",
    metavar="SYSTEM",
    help="Add how far each system's texts are from this system's: edited words per 100, and edited characters.",
)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Format of the output.",
)
@with_options(WIDTH_OPTION)
@click.option("-sl", "--sentence-level", is_flag=True, help="Print the scores of each segment.")
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def score(**options: Any) -> None:
    """Score translations against references, several systems side by side.

    Scores files (-t, -r) or the stages of a stored run (--run). BLEU, chrF and TER equal sacreBLEU's to the last digit
    and have its signatures. Empty, copied and foreign output is scored like any other, and flagged. Tests compare each
    system with the first one. Several runs of ratings (--run) become one table.
    """
    if not options["runs"] and not options["translations"] and options["source"] is None:
        raise click.UsageError("give the translations with -t, or a stored run with --run")
    if options["runs"]:
        run_defines = {"source": "-s", "translations": "-t", "input_format": "--input-format"}
        superfluous = [option for name, option in run_defines.items() if options[name]]
        if superfluous:
            raise click.UsageError(f"--run already defines the texts; leave out {', '.join(superfluous)}")
    form, width, by_sentence = (options.pop(name) for name in ("format_name", "width", "sentence_level"))
    given_options = options_on_command_line(
        {"metrics", "comet_python", "references", "edits_from", *_TESTS, "resamples", "seed"}
    )
    scoring = read_score_options(options, edits_from=options.pop("edits_from"), systems=options.pop("systems"))
    if by_sentence and (scoring.resampling or form not in _BY_SENTENCE):
        raise click.UsageError(
            "--sentence-level prints text, json, csv or tsv, and cannot be combined with tests or intervals"
        )
    runs, references = options.pop("runs"), options.pop("references")
    source, source_format = options.pop("source"), options.pop("input_format")
    translations = tuple(named_translation(spec) for spec in options.pop("translations"))
    is_table = source is not None and not isinstance(by_path(source, source_format), Lines)
    are_systems_known = not runs and (bool(scoring.systems) or not is_table)
    if scoring.paired and are_systems_known and len(scoring.systems or translations) < 2:
        raise click.UsageError(
            "a paired test compares systems with the first system, and there is only one: give more systems (-t)"
        )
    given_languages = options_on_command_line({"lp", "source_lang", "target_lang"})
    config = read_config(options)
    if runs and not given_languages:  # a run has its own, whatever the settings file names
        config = config.model_copy(update={"source_lang": None, "target_lang": None})
    ratings = rating_table.read_ratings(runs, config, scoring.systems) if runs else None
    if ratings is not None:
        superfluous = given_options + given_languages
        if superfluous:
            raise click.UsageError(f"these runs have ratings, which are printed unchanged: leave out {superfluous[0]}")
        _print_ratings(ratings, form, width, by_sentence=by_sentence)
        return
    if runs:
        report = score_runs(runs, config, references=references, scoring=scoring)
    else:
        if source is None and config.target_lang is None:
            say(_NO_LANGUAGE)
        report = score_files(
            translations, references, config, source=source, source_format=source_format, scoring=scoring
        )
    _print_scores(report, form, width, by_sentence=by_sentence)


def _print_scores(report: ScoreReport, form: str, width: int | None, *, by_sentence: bool) -> None:
    if by_sentence or form in (*_DELIMITERS, "json"):
        for warning in report.warnings:
            say(f"mtagent: warning: {warning}")
    if form in _DELIMITERS:
        hand_out(flat(report, _DELIMITERS[form], by_sentence=by_sentence))
    elif by_sentence:
        for line in sentences(report, form, width):
            display(line)
    elif form == "json":
        display(as_json(report, width))
    else:
        display(shown(report, form, width))


def _print_ratings(ratings: RatingTable, form: str, width: int | None, *, by_sentence: bool) -> None:
    if form in _DELIMITERS:
        hand_out(rating_table.flat(ratings, _DELIMITERS[form], by_sentence=by_sentence))
    elif form == "json" and by_sentence:
        for line in rating_table.sentence_objects(ratings):
            display(line)
    elif form == "json":
        display(rating_table.as_json(ratings))
    else:
        display(rating_table.shown(ratings, form, width, by_sentence=by_sentence))


@click.command("compare", epilog=COMPARE_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN…")
@with_options(COMPARISON_OPTIONS)
@click.option(
    "--against",
    metavar="former|first|given|ROW|all",
    help="Rows to compare each row with; tests the differences by paired bootstrap unless --paired-ar is given.  "
    "[default: the row before it, and the final texts of each run with those of the first run]",
)
@name_list("-l", "--lp", "pairs", help="Compare only segments in these language pairs, such as en-de,en-ja.")
@name_list("--by", choices=GROUPINGS, help="Also score groups of segments; repeatable.")
@click.option("--shared", is_flag=True, help="Compare only the segments that all runs have.")
@click.option("--prices", type=FILE, metavar="FILE.toml", help="File of your own prices, to recompute the dollars.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(COMPARE_FORMATS),
    default="text",
    show_default=True,
    help="Format of the output.",
)
@click.option("--figures", type=FILE, metavar="DIR", help="Folder for figures of the comparison, as SVG and PDF.")
@click.option("--force", is_flag=True, help="Write figures into a folder that isn't empty.")
@with_options(WIDTH_OPTION)
@with_options(RESAMPLING_OPTIONS)
@with_options(RUN_OPTIONS)
def compare(**options: Any) -> None:
    """Compare the stages of stored runs: scores, edits, outcomes and costs.

    The table has a row for the given texts, for the texts after each stage and for the final texts of each run, and a
    row for each other system (--baseline). --paired-bs and --paired-ar test each row against the row before it (its
    former row), and the final texts of each run against those of the first run; --against chooses other pairs.
    docs/reference/scores.md explains the columns.
    """
    form, width, groupings = options.pop("form"), options.pop("width"), options.pop("by")
    names, figures, force = options.pop("runs"), options.pop("figures"), options.pop("force")
    if force and figures is None:
        raise click.UsageError("--force needs --figures: nothing else is written")
    if options["against"] is not None and not options["paired_ar"]:
        options["paired_bs"] = True
    pairs = [parse_pair(pair) for pair in options.pop("pairs")]
    comparing: CompareOptions = {
        "scoring": read_score_options(options),
        "by": [name for name in GROUPINGS if name in groupings],
        "baselines": [named_translation(spec) for spec in options.pop("baselines")],
        "reference": options.pop("reference"),
        "deciding": options.pop("deciding"),
        "against": options.pop("against"),
        "shared": options.pop("shared"),
        "prices": options.pop("prices"),
    }
    config = read_config(options)
    with open_existing(config.store) as store:
        runs = read_runs(named_summaries(names, store), store)
        if figures is None:
            comparisons = compare_pairs(runs, pairs, **comparing)
        else:
            from mtagent.report import plots

            target = plots.folder_for(figures, runs, Path(store.database.path), force=force)
            comparisons = compare_pairs(runs, pairs, **comparing)
            drawn = plots.plots_of_pairs(comparisons, runs, shared=comparing["shared"])
            for remark in plots.write_plots(drawn, target):
                say(f"mtagent: {remark}")
    is_one_pair = len(comparisons) == 1
    if form == "json":
        display(compare_tables.as_json(comparisons[0]) if is_one_pair else compare_tables.pairs_as_json(comparisons))
    elif form in ("csv", "tsv"):
        delimiter = "," if form == "csv" else "\t"
        hand_out(compare_tables.flat(comparisons, delimiter))
        for comparison in comparisons:
            for warning in comparison.warnings:
                say(f"mtagent: warning: {warning}")
    elif is_one_pair:
        display(compare_tables.shown(comparisons[0], form, width))
    else:
        display(compare_tables.shown_pairs(comparisons, form, width))
