"""``mtagent terms extract`` proposes a glossary from existing translations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtagent.cli import run_async
from mtagent.cli.options import (
    FILE,
    FILES,
    FORCE_OPTION,
    LANGUAGE_OPTIONS,
    MODEL_OPTIONS,
    OWN_PROMPTS_OPTION,
    RUN,
    RUN_OPTIONS,
    SOURCE_OPTIONS,
    SPENDING_OPTIONS,
    TRANSLATION_OPTION,
    command,
    option,
    read_config,
    read_files,
    with_options,
)
from mtagent.cli.terminal import hand_out, say
from mtagent.formats.files import STANDARD, replacing
from mtagent.jobs.outputs import refuse_existing
from mtagent.jobs.term_extraction import FEWEST, as_csv, candidates, cleaned, translated_segments
from mtagent.text.amounts import counted, dollars

EXAMPLES = """\b
Examples:
  mtagent terms extract locales/es --source-lang en -o terms.csv
  mtagent terms extract app.xlf old.xlf --at-least 5 -o terms.csv --model gpt-6-luna --budget 0.50
  mtagent terms extract -s en.txt -t es.txt -l en-es > terms.csv
"""


@click.group("terms", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command_terms() -> None:
    """Propose a glossary from existing translations."""


@command("extract", EXAMPLES)
@click.argument("names", nargs=-1, metavar="[FILE]…")
@with_options(SOURCE_OPTIONS, TRANSLATION_OPTION)
@option(FILES, "-o", "--output", type=FILE, default=STANDARD, help="File for the terms.  [default: standard output]")
@with_options(FORCE_OPTION, LANGUAGE_OPTIONS, OWN_PROMPTS_OPTION, MODEL_OPTIONS, SPENDING_OPTIONS)
@option(
    RUN, "--at-least", "fewest", type=click.IntRange(2), default=FEWEST, show_default=True,
    help="Minimum number of different texts with the term.",
)  # fmt: skip
@with_options(RUN_OPTIONS)
def extract(fewest: int, **options: Any) -> None:
    """Propose a glossary: words that occur often, with the words that their translations have in common.

    FILE is a localization file, a folder, or a pattern in quotes. With a model, one request for each 50 candidates
    removes what is not a term. Edit the CSV file, and use it with --glossary.
    """
    files, config = read_files(options), read_config(options)
    if files.output != STANDARD and not files.force:
        refuse_existing([files.output])
    with files.opened(config) as inputs:
        segments = list(translated_segments(inputs))
    terms = candidates(segments, fewest)
    number = len(terms)
    account = ""
    if terms and not config.offline:
        terms, usage = run_async(cleaned(terms, segments[0], config))
        account = f", of {number:,}; {counted(usage.calls, 'call')}, {usage.tokens:,} tokens, {dollars(usage.cost)}"
    if files.output == STANDARD:
        hand_out(as_csv(terms).removesuffix("\n"))
    else:
        with replacing(Path(files.output)) as sink:
            sink.write_bytes(as_csv(terms).encode())
    say(f"mtagent: {counted(len(terms), 'term')} in {counted(len(segments), 'translation')}{account}")


command_terms.add_command(extract)
