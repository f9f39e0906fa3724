"""``mtagent estimate``."""

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
@option(FILES, "--rating", is_flag=True, help="What `mtagent rate` would take, in place of the chain.")
@with_options(SETTING_OPTIONS)
@option(
    RUN, "--count", type=click.Choice(["o200k", "length"]),
    help="How tokens are counted.  [default: o200k, if installed]",
)  # fmt: skip
@option(RUN, "-q", "--quiet", is_flag=True, help="Only the table.")
def command(rating: bool, count: Literal["o200k", "length"] | None, quiet: bool, **options: Any) -> None:
    """What a run would take, by stage: calls, tokens and dollars, each at least and at most. Nothing is sent.

    Takes the options of translate, postedit and rate. The first requests are the real ones; the rest is a range.
    """
    from mtagent.jobs.estimate import assumptions, counter, estimate, estimate_ratings, table
    from mtagent.llm.prices import Prices

    files, config = read_files(options), read_config(options)
    if config.offline and not quiet:
        say(f"{offline(config)} Name a model with --model to see what it would cost.")
    tokens = counter(count)
    with notices(quiet), files.opened(config) as inputs:
        ranges = (estimate_ratings if rating else estimate)(inputs.config, inputs.files, tokens)
        prices = Prices(inputs.config.prices)
    display(table(ranges))
    if not quiet:
        display(assumptions(config, ranges, tokens, prices))
