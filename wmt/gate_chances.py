"""How honest a learnt gate is: do its chances hold, and does ``--cautious`` keep its promises?

    python -m wmt.gate_chances [--data DIR] [--only wmt23|wmt25] [--sample N] [--splits N] [--dry-run]

A gate is learnt from pairs of some systems on half of the documents. Its chances of better and worse are checked on
pairs of other systems on the other half, its promises there and on pairs of the same systems. The chances of gates
without labels are checked on WMT23. Calls no model. See wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import ExpectedGain
from mtagent.cli.terminal import display
from mtagent.errors import ConfigError
from mtagent.jobs.pilot import EDITS
from mtagent.learning.gain import Floats, JudgedPairs, Truths, chances_of_worse, folds, kept, learn, predictions
from mtagent.metrics.significance import SEED, GroupResampling
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import refuse_absent, run
from wmt.lib.gate_data import DATA, OURS, Case, DataSet
from wmt.lib.gate_worth import learnt_gain
from wmt.shipped_weights import JUDGES, METRIC, held_out_edits, settled

NAMES = ("wmt23", "wmt25")
PROMISES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
BINS = 10
ERRORS = ("calibration error, all gates together", "mean of single gates", "single gates, if their chances were right")
"""What :func:`errors` returns."""


class ChanceTable(NamedTuple):
    """A gate's chances for some edits, and what people see."""

    better: Floats
    worse: Floats
    is_better: Truths
    is_worse: Truths


class KeptShare(NamedTuple):
    """What a gate keeps by a promise."""

    worse: float
    """The share of worse edits among those kept."""
    kept: float
    """The share of edits kept."""


def system_pairs(data: DataSet, random: np.random.Generator) -> tuple[Case, Case]:
    """The pairs of systems to learn from, and those of other systems.

    Of WMT25, where every edit leads to one system, the systems before are split; otherwise all systems are, and each
    pair is in one direction.
    """
    if OURS in data.systems:
        before = [str(system) for system in random.permutation([name for name in data.systems if name != OURS])]
        middle = (len(before) + 1) // 2
        sides = [tuple((system, OURS) for system in part) for part in (before[:middle], before[middle:])]
    else:
        systems = [str(system) for system in random.permutation(data.systems)]
        middle = len(systems) // 2
        sides = [tuple(combinations(part, 2)) for part in (systems[:middle], systems[middle:])]
    return Case("learnt from", sides[0]), Case("others", sides[1])


def edits(data: DataSet, case: Case, half: Truths) -> JudgedPairs:
    """The pairs of a case whose documents are in ``half``, without equal texts."""
    return without_equal_texts(data.pairs(case)[data.target].chosen(half[data.groups_of(case)]))


def without_equal_texts(pairs: JudgedPairs) -> JudgedPairs:
    """The pairs that a gate sees: a pair has equal texts if its metric, the last judge, scores them exactly alike."""
    return pairs.chosen(pairs.differences[:, -1] != 0)


def spread(pairs: JudgedPairs, seed: int) -> float:
    """The standard deviation of people's gain around predictions by gates that were learnt from other documents."""
    fold = folds(pairs, seed)
    errors = np.zeros(len(pairs))
    for number in range(int(fold.max()) + 1):
        held_out = fold == number
        gain = learn(pairs.chosen(~held_out), seed=seed)
        errors[held_out] = pairs.gains[held_out] - predictions(gain, pairs.chosen(held_out))
    return float(np.sqrt((errors**2).mean()))


def chance_table(gain: ExpectedGain, pairs: JudgedPairs) -> ChanceTable:
    """The chances of pairs."""
    return ChanceTable(
        better=np.array([gain.chance(value) for value in predictions(gain, pairs).tolist()]),
        worse=chances_of_worse(gain, pairs),
        is_better=pairs.gains > 0,
        is_worse=pairs.gains < 0,
    )


def former_chances(gain: ExpectedGain, former_spread: float, pairs: JudgedPairs) -> Floats:
    """The chances of a gain by the former rule: the error is normal with the spread of people's gain, without ties."""
    normal = NormalDist(sigma=former_spread)
    return np.array([normal.cdf(value) for value in predictions(gain, pairs).tolist()])


def calibration_error(chances: Floats, happened: Truths) -> float:
    """The mean distance between the mean chance and the share that happened, over tenths of the edits by chance."""
    tenths = np.array_split(np.argsort(chances, kind="stable"), BINS)
    distances = [abs(chances[tenth].mean() - happened[tenth].mean()) for tenth in tenths]
    return float(np.average(distances, weights=[len(tenth) for tenth in tenths]))


def promised(gain: ExpectedGain, pairs: JudgedPairs) -> dict[float, KeptShare]:
    """What the gate keeps by each promise that it gives."""
    results = {}
    for promise in PROMISES:
        try:
            keep = kept(gain, pairs, promise)
        except ConfigError:
            continue
        worse = float((pairs.gains[keep] < 0).mean()) if keep.any() else 0.0
        results[promise] = KeptShare(worse, float(keep.mean()))
    return results


def tables(data: DataSet, options: argparse.Namespace) -> Iterator[str]:
    """All tables of a data set."""
    chances = list[ChanceTable]()
    former = list[Floats]()
    by_documents: dict[str, list[dict[float, KeptShare]]] = {"the same systems": [], "other systems": []}
    for split in range(options.splits):
        seed = options.seed + split
        random = np.random.default_rng(seed)
        learnt, others = system_pairs(data, random)
        groups = len(np.unique(data.groups))
        half = random.permutation(groups) < groups // 2
        teaching = edits(data, learnt, half).drawn(options.sample, seed)
        gain = learnt_gain(teaching, GroupResampling(options.resamples, seed))
        unseen = edits(data, others, ~half)
        chances.append(chance_table(gain, unseen))
        former.append(former_chances(gain, spread(teaching, seed), unseen))
        by_documents["the same systems"].append(promised(gain, edits(data, learnt, ~half)))
        by_documents["other systems"].append(promised(gain, unseen))
    yield f"### {data.name}: {options.splits} gates, each learnt from {options.sample} pairs\n"
    yield from chances_table(chances, former)
    yield from promises_table(by_documents, options.splits)


def chances_table(chances: Sequence[ChanceTable], former: Sequence[Floats]) -> Iterator[str]:
    """The calibration errors, and the chances in tenths."""
    every = ChanceTable(*map(np.concatenate, zip(*chances, strict=True)))
    every_former = np.concatenate(former)
    yield f"Chances of {len(every.better)} edits of other systems and documents:\n"
    yield row("chance of", *ERRORS)
    yield row("---", *["---:"] * len(ERRORS))
    is_better = [gate.is_better for gate in chances]
    yield row("better, former rule", *errors(former, is_better))
    yield row("better", *errors([gate.better for gate in chances], is_better))
    yield row("worse", *errors([gate.worse for gate in chances], [gate.is_worse for gate in chances]))
    yield "\n" + row("tenth of the edits", "better: former rule", "better", "seen", "worse", "seen")
    yield row(*["---:"] * 6)
    for number, tenth in enumerate(np.array_split(np.argsort(every.better, kind="stable"), BINS), start=1):
        columns = (every_former, every.better, every.is_better, every.worse, every.is_worse)
        yield row(str(number), *(f"{column[tenth].mean():.2f}" for column in columns))


def errors(chances: Sequence[Floats], happened: Sequence[Truths]) -> tuple[str, str, str]:
    """The calibration errors of some gates. The last of them is what chance alone makes of so few edits."""
    random = np.random.default_rng(SEED)
    whole = calibration_error(np.concatenate(chances), np.concatenate(happened))
    single = [calibration_error(*gate) for gate in zip(chances, happened, strict=True)]
    by_chance = [calibration_error(gate, random.random(len(gate)) < gate) for gate in chances]
    return f"{whole:.3f}", f"{np.mean(single):.3f}", f"{np.mean(by_chance):.3f}"


def unlabelled_table(options: argparse.Namespace) -> Iterator[str]:
    """The calibration errors of gates without labels, each with a pilot of its own pair of systems."""
    yield row(f"shipped weights, pilot of {EDITS}", "edits", "chance of", *ERRORS)
    yield row("---", "---:", "---", *["---:"] * len(ERRORS))
    for judge, kind in JUDGES.items():
        chances = list[ChanceTable]()
        for held_out in held_out_edits(options.data, judge, options.splits, options.seed):
            pilot = without_equal_texts(held_out.first_half).drawn(EDITS, options.seed + held_out.split)
            gain = settled((kind, "qe"), held_out.weights, pilot.differences)
            chances.append(chance_table(gain, without_equal_texts(held_out.second_half)))
        better = errors([gate.better for gate in chances], [gate.is_better for gate in chances])
        worse = errors([gate.worse for gate in chances], [gate.is_worse for gate in chances])
        edits_decided = f"{sum(len(gate.better) for gate in chances):,}"
        yield row(f"{judge} + {METRIC}", edits_decided, "better", *better)
        yield row(f"{judge} + {METRIC}", edits_decided, "worse", *worse)
    yield ""


def promises_table(by_documents: dict[str, list[dict[float, KeptShare]]], splits: int) -> Iterator[str]:
    """How often each promise is given, and broken."""
    yield "\n" + row(
        "edits of", "worse at most", "gates that promise it", "of these break it", "worse in fact", "edits kept"
    )
    yield row("---", *["---:"] * 5)
    for name, gates in by_documents.items():
        for promise in PROMISES:
            results = [gate[promise] for gate in gates if promise in gate]
            if not results:
                yield row(name, f"{promise:.0%}", "0 %", "", "", "")
                continue
            broken = sum(result.worse > promise for result in results)
            means = (np.mean([result.worse for result in results]), np.mean([result.kept for result in results]))
            counts = (f"{100 * len(results) / splits:.0f} %", f"{broken} of {len(results)}")
            yield row(name, f"{promise:.0%}", *counts, *(f"{100 * mean:.0f} %" for mean in means))
        promising = [gate for gate in gates if gate]
        breaking = 0
        for gate in promising:
            breaking += any(result.worse > promise for promise, result in gate.items())
        share = f"{100 * len(promising) / splits:.0f} %"
        yield row(name, "any of these", share, f"{breaking} of {len(promising)}", "", "")
    yield ""


def row(*cells: str) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def lines(options: argparse.Namespace) -> Iterable[str]:
    """The lines to print."""
    for name in options.only or NAMES:
        file, read = DATA[name]
        refuse_absent(options.data / file)
        (data,) = read(options.data)
        if options.dry_run:
            yield f"{data.name}: {options.splits} gates, each learnt from {options.sample} pairs; no model is asked"
        else:
            yield from tables(data, options)
            if name == "wmt23":
                yield from unlabelled_table(options)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--only", choices=NAMES, action="append")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="pairs to learn from")
    parser.add_argument("--seed", type=int, default=12345, help="of the first split")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=100, help="random splits of systems and documents")
    parser.add_argument("--dry-run", action="store_true", help="name what would be looked at")
    for line in lines(parser.parse_args(arguments)):
        display(line)


if __name__ == "__main__":
    run(main)
