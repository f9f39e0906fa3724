"""``mtagent estimate``: the calls, tokens and dollars of a run, before anything is sent."""

from __future__ import annotations

from typing import Any, Literal

import click

from mtagent.cli.improve import offline
from mtagent.cli.options import (
    CANDIDATE_OPTION,
    FILES,
    REFERENCE_OPTION,
    RUN,
    SETTING_OPTIONS,
    SOURCE_OPTIONS,
    TRANSLATION_OPTION,
    option,
    read_config,
    read_files,
    with_options,
)
from mtagent.cli.options import command as command_of
from mtagent.cli.terminal import display, notices, say

EXAMPLES = """\b
Examples:
  mtagent estimate -s en.txt -t es.txt -l en-es --model gpt-6-luna
  mtagent estimate -s en.txt -l en-es --stages tpp --model gpt-6-luna --stage-model postedit=gpt-6.1-sol
  mtagent estimate -s en.txt -t es.txt -l en-es --rating --evaluator himate --model gpt-6-luna
  mtagent estimate -s en.txt -t es.txt -l en-es --base-url http://localhost:8000/v1 --model my-7b --prices prices.toml
"""


@command_of("estimate", EXAMPLES)
@with_options(SOURCE_OPTIONS, TRANSLATION_OPTION, CANDIDATE_OPTION, REFERENCE_OPTION)
@option(FILES, "--rating", is_flag=True, help="Estimate `mtagent rate` instead of the chain.")
@with_options(SETTING_OPTIONS)
@option(
    RUN, "--count", type=click.Choice(["o200k", "length"]),
    help="Method of counting tokens.  [default: o200k, if installed, else length]",
)  # fmt: skip
@option(RUN, "-q", "--quiet", is_flag=True, help="Print the table only.")
def command(rating: bool, count: Literal["o200k", "length"] | None, quiet: bool, **options: Any) -> None:
    """Estimate the calls, tokens and dollars of each stage, each as a range. Nothing is sent.

    Takes the options of translate, postedit and rate. The first requests are counted from the real prompts; the number
    and length of later ones depends on the replies.
    """
    from mtagent.jobs.estimate import assumptions, counter, estimate, estimate_ratings, table
    from mtagent.llm.prices import Prices

    files, config = read_files(options), read_config(options)
    if config.offline and not quiet:
        say(f"{offline(config)} Choose a model with --model to estimate its cost.")
    tokens = counter(count)
    with notices(quiet), files.opened(config) as inputs:
        ranges = (estimate_ratings if rating else estimate)(inputs.config, inputs.files, tokens)
        prices = Prices(inputs.config.prices)
    display(table(ranges))
    if not quiet:
        display(assumptions(config, ranges, tokens, prices))
