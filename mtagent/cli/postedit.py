"""``mtagent postedit``."""

from __future__ import annotations

from typing import Any

import click

from mtagent.cli.improve import improve_command
from mtagent.cli.options import FILE, FILE_OPTIONS, SETTING_OPTIONS, TALK_OPTIONS, with_options

EXAMPLES = """\b
Examples:
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt
  mtagent postedit -s en.txt -t es.txt -l en-es -o better.txt --details edits.jsonl --base-url http://localhost:8080/v1
  mtagent postedit -s segments.jsonl -o better.jsonl --stages pe --gate pairwise --judge-model gpt-6.1-sol
  mtagent postedit -s en.txt -t es.txt -l en-es --limit 3 --dry-run
"""


@click.command("postedit", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-t", "--translation", type=FILE, help="The translations to improve, line-aligned with the source.")
@with_options(FILE_OPTIONS, SETTING_OPTIONS, TALK_OPTIONS)
def command(**options: Any) -> None:
    """Improve a given translation: Postedit, then Proofread.

    With a key in OPENAI_API_KEY or a server at --base-url a model marks and corrects errors. Without, the rules
    evaluator corrects what is certain. The same command again resumes a run that was stopped.
    """
    if options["translation"] is None and (options["format_name"] or options["source"].suffix) in ("lines", ".txt"):
        raise click.UsageError("give the translations with -t, or use `mtagent translate`")
    improve_command("postedit", options)
