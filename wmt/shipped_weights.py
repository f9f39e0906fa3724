"""The weights that mtagent ships for judges without labels (``mtagent/chain/shipped_weights.toml``).

    python -m wmt.shipped_weights [--data DIR] [-o FILE]

Each judge of WMT23 en-de that rates with a model is fitted beside CometKiwi: people's gain on the rooted differences,
within each pair of systems, all in standard deviations of the pair. A comparing judge is fitted alone, on the texts of
WMT25 that people scored, and its weight is lowered by what a second judge takes from a judge in WMT23. Asks no model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.cli.terminal import display
from mtagent.learning.gain import EXTREME, Floats, fitted_chances
from wmt.data import DATA as FOLDER
from wmt.data import records, refuse_absent, rows, run

MODELS = ("GEMBA-MQM", "EAPrompt", "M-MAD", "GEMBA-DA")
"""Judges of WMT23 that rate with a model. Their weights differ as much within a kind as between kinds."""
METRIC = "CometKiwi"


class Fit(NamedTuple):
    """What a regression within pairs of systems says about judges."""

    weights: Floats
    drift: float
    scale: float
    tie_band: float


def scores(path: Path) -> dict[str, Floats]:
    """The scores of WMT23 en-de by scorer, systems × segments, without the references."""
    cells = [row for row in rows(path, "system", "seg", "mqm", *MODELS, METRIC) if row["system"] != "refA"]
    systems = list(dict.fromkeys(row["system"] for row in cells))
    segments = list(dict.fromkeys(row["seg"] for row in cells))
    by_scorer = {}
    for name in ("mqm", *MODELS, METRIC):
        values = {(row["system"], row["seg"]): float(row[name]) for row in cells}
        by_scorer[name] = np.array([[values[system, segment] for segment in segments] for system in systems])
    return by_scorer


def fitted(by_scorer: dict[str, Floats], judges: Sequence[str], systems: Sequence[int] | None = None) -> Fit:
    """The regression on ``judges``, over all pairs of ``systems`` (all of them by default)."""
    people = by_scorer["mqm"]
    centred_roots, centred_gains, mean_roots, mean_gains, all_gains = [], [], [], [], []
    for before, after in combinations(range(len(people)) if systems is None else systems, 2):
        differences = np.stack([by_scorer[judge][after] - by_scorer[judge][before] for judge in judges], axis=1)
        roots = np.copysign(np.sqrt(np.abs(differences)), differences)
        roots /= roots.std(axis=0)
        gains = people[after] - people[before]
        gains /= gains.std()
        tamed = np.clip(gains, *np.percentile(gains, [EXTREME, 100 - EXTREME]))
        centred_roots.append(roots - roots.mean(axis=0))
        centred_gains.append(tamed - tamed.mean())
        mean_roots.append(roots.mean(axis=0))
        mean_gains.append(gains.mean())
        all_gains.append(gains)
    features, targets = np.concatenate(centred_roots), np.concatenate(centred_gains)
    weights = np.linalg.lstsq(features, targets, rcond=None)[0]
    weighted_means = np.array(mean_roots) @ weights
    weighted_mean_of_each = [np.full(len(people[0]), mean) for mean in weighted_means]
    drift = float(weighted_means @ np.array(mean_gains) / (weighted_means @ weighted_means))
    predicted = features @ weights + drift * np.concatenate(weighted_mean_of_each)
    chances = fitted_chances(predicted, np.concatenate(all_gains))
    return Fit(weights, drift, chances.scale, chances.tie_band)


def of_comparisons(path: Path) -> float:
    """The weight of a model that compares in both orders, alone: for each two texts of a segment."""
    preferences, gains = [], []
    for record in records(path, "human_scores"):
        verdicts, people = record.get("pairwise_winloss"), record["human_scores"]
        if not verdicts:
            continue
        for one, other in combinations(range(len(people)), 2):
            known = (people[one], people[other], verdicts[one][other], verdicts[other][one])
            if any(value is None for value in known):
                continue
            first, second = verdicts[one][other], verdicts[other][one]
            preference = np.sign(second) if first == -second else 0.0
            preferences += [preference, -preference]
            gains += [people[other] - people[one], people[one] - people[other]]
    return float(np.corrcoef(preferences, gains)[0, 1])


def shipped(folder: Path) -> Iterator[str]:
    """The lines of the file."""
    by_scorer = scores(folder / "wmt23_en-de_seg_scores.tsv")
    beside = {judge: fitted(by_scorer, (judge, METRIC)) for judge in MODELS}
    alone = {judge: fitted(by_scorer, (judge,)) for judge in MODELS}
    rating = float(np.mean([fit.weights[0] for fit in beside.values()]))
    metric = float(np.mean([fit.weights[1] for fit in beside.values()]))
    left_beside = rating / float(np.mean([fit.weights[0] for fit in alone.values()]))
    comparing = of_comparisons(folder / "real" / "wmt25_human_scores.jsonl") * left_beside
    yield "# Weights of judges for a gate without labels; made by `python -m wmt.shipped_weights`."
    yield "# Unit: standard deviations of people's gain for one of the judge's rooted differences."
    yield f"drift = {np.mean([fit.drift for fit in beside.values()]):.2f}"
    yield f"scale = {np.mean([fit.scale for fit in beside.values()]):.3f}"
    yield f"tie_band = {np.mean([fit.tie_band for fit in beside.values()]):.3f}"
    yield ""
    yield "[weights]"
    for kind, weight in (("mqm", rating), ("da", rating), ("qe", metric), ("pairwise", comparing)):
        yield f"{kind} = {weight:.3f}"


def table(folder: Path) -> Iterator[str]:
    """What each judge's weight is, beside the metric and alone."""
    by_scorer = scores(folder / "wmt23_en-de_seg_scores.tsv")
    yield f"| judge | beside {METRIC} | {METRIC} | drift | alone |"
    yield "|---|---:|---:|---:|---:|"
    for judge in MODELS:
        fit, alone = fitted(by_scorer, (judge, METRIC)), fitted(by_scorer, (judge,))
        weight, metric = fit.weights
        yield f"| {judge} | {weight:.3f} | {metric:.3f} | {fit.drift:.2f} | {alone.weights[0]:.3f} |"
    comparing = of_comparisons(folder / "real" / "wmt25_human_scores.jsonl")
    yield f"| a model that compares (WMT25) | | | | {comparing:.3f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the weights of each judge, and write or print the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the file that is shipped")
    options = parser.parse_args(arguments)
    for name in ("wmt23_en-de_seg_scores.tsv", "real/wmt25_human_scores.jsonl"):
        refuse_absent(options.data / name)
    for line in table(options.data):
        display(line)
    content = "\n".join(shipped(options.data)) + "\n"
    if options.output:
        options.output.write_text(content, encoding="utf-8")
    else:
        display(f"\n{content}")


if __name__ == "__main__":
    run(main)
