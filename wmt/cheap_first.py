"""What a gate saves that asks the metric first, and the model only if it can still change the decision.

    python -m wmt.cheap_first [--data DIR] [--splits N] [--deviations X ...] [--seed N]

The data, judges, splits and gates of :mod:`wmt.gate_unlabelled`: a pilot of 100 edits settles a gate, or 200 labels
teach it, both from one half of the edits. It decides on the other half, once with all judges, and once asking the
metric first. "Close" is the third of the pairs of systems whose mean scores differ the least. Calls no model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import ExpectedGain
from mtagent.chain.gate import DECISIVE_DEVIATIONS
from mtagent.chain.shipped import ShippedWeights, shipped_weights
from mtagent.cli.terminal import display
from mtagent.jobs.pilot import EDITS
from mtagent.learning.gain import JudgedPairs, Truths, kept, learn, learnt_groups, parts
from mtagent.metrics.significance import SEED
from wmt.gate_unlabelled import Leads
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import refuse_absent, run
from wmt.lib.gate_data import wmt25
from wmt.shipped_weights import JUDGES, METRIC, held_out_edits, settled

LABELS = 200


class Trial(NamedTuple):
    """A gate and the edits that it decides on."""

    name: str
    gain: ExpectedGain
    edits: JudgedPairs
    distance: float
    """By how much the two systems' mean scores differ."""


def asked(gain: ExpectedGain, pairs: JudgedPairs, deviations: float) -> tuple[Truths, Truths]:
    """For which pairs the model, the first judge, is asked, and which are kept; as :class:`PanelGate` decides."""
    foreseen = gain.foreseen([1])
    assert foreseen is not None
    points = parts(gain, pairs)[:, 1]
    expected = gain.intercept + points + foreseen.offset + foreseen.slope * points
    error = deviations * foreseen.deviation
    is_open = (expected - error > 0) != (expected + error > 0)
    is_called_worse = (expected > 0) & (pairs.differences[:, 1] < 0)
    asks = is_open | is_called_worse
    return asks, np.where(asks, kept(gain, pairs), expected > 0)


def trials(first_half: JudgedPairs, edits: JudgedPairs, kind: str, shipped: ShippedWeights, seed: int) -> list[Trial]:
    """The gates for ``edits`` of one pair of systems, made from other edits of the pair."""
    distance = abs(float(edits.gains.mean()))
    unlabelled = settled((kind, "qe"), shipped, first_half.drawn(EDITS, seed).differences)
    learnt = learn(first_half.drawn(LABELS, seed), seed=seed)
    return [
        Trial(f"pilot of {EDITS}", unlabelled, edits, distance),
        Trial(f"{LABELS} labels", learnt, edits, distance),
    ]


def wmt23_trials(folder: Path, judge: str, kind: str, splits: int, seed: int) -> Iterator[Trial]:
    """Weights from half of the systems, gates for pairs of the others."""
    for held_out in held_out_edits(folder, judge, splits, seed):
        yield from trials(held_out.first_half, held_out.second_half, kind, held_out.weights, seed + held_out.split)


def wmt25_trials(folder: Path, splits: int, seed: int) -> Iterator[Trial]:
    """WMT23's weights on WMT25."""
    (data,) = wmt25(folder)
    for split in range(splits):
        is_first_half = learnt_groups(np.bincount(data.groups), seed=seed + split)
        for case in data.cases:
            edits, is_first = data.pairs(case)[data.target], is_first_half[data.groups_of(case)]
            yield from trials(edits.chosen(is_first), edits.chosen(~is_first), "da", shipped_weights(), seed + split)


def rows(name: str, of_data: Sequence[Trial], multiples: Sequence[float]) -> Iterator[str]:
    """A row for each gate, for all and for close systems, and each multiple of the deviation."""
    for gate in dict.fromkeys(trial.name for trial in of_data):
        of_gate = [trial for trial in of_data if trial.name == gate]
        limit = np.quantile([trial.distance for trial in of_gate], 1 / 3)
        close = [trial for trial in of_gate if trial.distance <= limit]
        for systems, chosen in (("all", of_gate), ("close", close)):
            for deviations in multiples:
                with_all, cheap_first = Leads(), Leads()
                saved, differ = [], []
                gained_by_all, gained = 0.0, 0.0
                for trial in chosen:
                    asks, keep = asked(trial.gain, trial.edits, deviations)
                    keep_by_all = kept(trial.gain, trial.edits)
                    with_all.add(keep_by_all, trial.edits.gains)
                    cheap_first.add(keep, trial.edits.gains)
                    saved.append(1 - asks.mean())
                    differ.append((keep != keep_by_all).mean())
                    gained_by_all += float(trial.edits.gains[keep_by_all].sum()) / len(trial.edits)
                    gained += float(trial.edits.gains[keep].sum()) / len(trial.edits)
                change = gained / gained_by_all - 1
                shown = f"{deviations:g} | {np.mean(saved):.0%} | {np.mean(differ):.2%} | {change:+.1%}"
                yield f"| {name} | {gate} | {systems} | {shown} | {with_all.lead:+.3f} | {cheap_first.lead:+.3f} |"


def table(folder: Path, splits: int, multiples: Sequence[float], seed: int) -> Iterator[str]:
    """All rows."""
    yield (
        "| judges | gate | systems | deviations | judgements saved | decisions differ | change of the gain "
        "| lead, all asked | lead |"
    )
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for judge, kind in JUDGES.items():
        of_wmt23 = list(wmt23_trials(folder, judge, kind, splits, seed))
        yield from rows(f"WMT23: {judge} + {METRIC}", of_wmt23, multiples)
    yield from rows("WMT25: GEMBA-ESA-CMDA + CometKiwi-XL", list(wmt25_trials(folder, splits, seed)), multiples)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--splits", type=int, default=20, help="random splits, over which all figures are means")
    parser.add_argument("--deviations", type=float, nargs="+", default=[DECISIVE_DEVIATIONS], metavar="X")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    for name in ("wmt23_en-de_seg_scores.tsv", "wmt25_paragraph_scores.tsv"):
        refuse_absent(options.data / name)
    for line in table(options.data, options.splits, options.deviations, options.seed):
        display(line)


if __name__ == "__main__":
    run(main)
