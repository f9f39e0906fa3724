"""How much the scores of repeated runs differ: the mean and the standard deviation over the repeats of each stage.

Repeats are runs with equal settings and inputs, except for their seed. Of several runs with the same seed only the
first counts: their replies are the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from mtagent.analysis.compared_rows import ComparedTexts
from mtagent.analysis.staged_run import StagedRun
from mtagent.formats.ratings import GIVEN
from mtagent.store.runs import RunSummary

_SEED = re.compile(r"\|(?:judges-)?seed:-?\d+")


class Spread(NamedTuple):
    """The scores of one stage of repeated runs by one metric."""

    runs: tuple[str, ...]
    stage: str
    metric: str
    mean: float
    deviation: float
    """The standard deviation over the runs (n - 1): how much chance in the models' replies changes the score."""
    half_width: float | None
    """The mean of half the 95 % intervals of the runs: how much the choice of segments changes the score. ``None``
    without resampling."""


def spreads_of(runs: Sequence[StagedRun], rows: Sequence[ComparedTexts], metrics: Sequence[str]) -> tuple[Spread, ...]:
    """The spread of each stage after ``given`` by each of ``metrics``, for each group of at least two repeats."""
    groups: dict[str, dict[int | None, str]] = {}  # names of runs by seed
    for run in runs:
        names_by_seed = groups.setdefault(_all_but_seed(run.summary), {})
        names_by_seed.setdefault(run.summary.settings.get("seed"), run.name)
    spreads = []
    for names_by_seed in groups.values():
        rows_by_stage: dict[str, list[ComparedTexts]] = {}
        for row in rows:
            if row.run in names_by_seed.values() and row.stage not in (None, GIVEN):
                rows_by_stage.setdefault(str(row.stage), []).append(row)
        for stage, rows_of_stage in rows_by_stage.items():
            if len(rows_of_stage) < 2:
                continue
            for place, metric in enumerate(metrics):
                scores = [row.cells[place].score.value for row in rows_of_stage]
                intervals = [row.cells[place].interval for row in rows_of_stage]
                half_widths = [interval.half_width for interval in intervals if interval is not None]
                half_width = fmean(half_widths) if len(half_widths) == len(scores) else None
                names_of_rows = tuple(str(row.run) for row in rows_of_stage)
                spreads.append(Spread(names_of_rows, stage, metric, fmean(scores), stdev(scores), half_width))
    return tuple(spreads)


def _all_but_seed(summary: RunSummary) -> str:
    """Settings and inputs of a run without its seed, which is also in the signatures of its evaluators."""
    settings = {name: value for name, value in summary.settings.items() if name != "seed"}
    return _SEED.sub("", json.dumps([settings, summary.inputs], sort_keys=True))
