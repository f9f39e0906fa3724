"""What ``score`` and ``compare`` score with: their options of tests and intervals, and what these say together."""

from __future__ import annotations

from typing import Any

import click

from mtagent.analysis.score import Wanted
from mtagent.cli.options import tell_licences
from mtagent.metrics.named import each_once
from mtagent.metrics.significance import RESAMPLES, SEED, Resampling

_TESTS = ("paired_bs", "paired_ar", "confidence")
RESAMPLING_OPTIONS = [
    click.option("-ci", "--confidence", is_flag=True, help="95 % confidence intervals by bootstrap resampling."),
    click.option("--paired-bs", is_flag=True, help="Test the others against the first: paired bootstrap resampling."),
    click.option("--paired-ar", is_flag=True, help="Test the others against the first: approximate randomization."),
    click.option(
        "--resamples",
        type=click.IntRange(1),
        metavar="N",
        help=f"Resamples or trials.  [default: {RESAMPLES['bs']:,}; --paired-ar: {RESAMPLES['ar']:,}]",
    ),
    click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Of the resampling."),
]


def read_wanted(options: dict[str, Any], **more: Any) -> Wanted:
    """What to score with; takes the options of metrics and resampling out of ``options``, and tells licences.

    ``more`` are other fields of :class:`Wanted`. Raises :class:`click.UsageError` for options that do not go together.
    """
    asked = [name for name in _TESTS if options.pop(name)]
    resamples, seed = options.pop("resamples"), options.pop("seed")
    if len(asked) > 1 and "confidence" not in asked:
        raise click.UsageError("--paired-bs and --paired-ar are two tests: choose one")
    if len(asked) > 1 and "paired_ar" in asked:
        raise click.UsageError("--paired-ar gives no intervals: take --paired-bs, or --confidence alone")
    if resamples and not asked:
        raise click.UsageError("--resamples is for --confidence, --paired-bs and --paired-ar")
    wanted = Wanted(
        metrics=options.pop("metrics") or Wanted.metrics,
        resampling=Resampling("ar" if "paired_ar" in asked else "bs", resamples, seed) if asked else None,
        paired=asked not in ([], ["confidence"]),
        comet_python=options.pop("comet_python"),
        **more,
    )
    tell_licences(each_once(wanted.metrics))
    return wanted
