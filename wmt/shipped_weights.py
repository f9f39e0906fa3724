"""The weights that mtagent ships for judges without labels (``mtagent/chain/shipped_weights.toml``).

    python -m wmt.shipped_weights [--data DIR] [-o FILE]

Each judge of WMT23 en-de that rates with a model is fitted beside CometKiwi: people's gain on the rooted differences,
within each pair of systems, all in standard deviations of the pair. A comparing judge is fitted alone, on the texts of
WMT25 that people scored, and its weight is lowered by what a second judge takes from a judge in WMT23. Calls no model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import ExpectedGain
from mtagent.chain.shipped import PanelMember, ShippedPanel, ShippedWeights
from mtagent.cli.terminal import display
from mtagent.learning.gain import (
    EXTREME,
    Floats,
    JudgedPairs,
    Truths,
    fitted_chances,
    learnt_groups,
    signed_roots,
)
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import records, refuse_absent, rows, run

MODELS = ("GEMBA-MQM", "EAPrompt", "M-MAD", "GEMBA-DA")
"""Judges of WMT23 that rate with a model. Their weights differ as much within a kind as between kinds."""
METRIC = "CometKiwi"
JUDGES = {"GEMBA-MQM": "mqm", "GEMBA-DA": "da"}
"""The judges of WMT23 that experiments try beside the metric, with their kind."""


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
        roots = signed_roots(differences)
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


def weights_of(by_scorer: dict[str, Floats], systems: Sequence[int] | None = None) -> ShippedWeights:
    """The weights of judges that rate, and of metrics, from pairs of ``systems`` (all of them by default)."""
    fits = [fitted(by_scorer, (judge, METRIC), systems) for judge in MODELS]
    rating, metric = np.mean([fit.weights for fit in fits], axis=0).tolist()
    return ShippedWeights(
        weights={"mqm": rating, "da": rating, "qe": metric},
        drift=float(np.mean([fit.drift for fit in fits])),
        scale=float(np.mean([fit.scale for fit in fits])),
        tie_band=float(np.mean([fit.tie_band for fit in fits])),
    )


class HeldOutEdits(NamedTuple):
    """Edits from one system's texts to another's, and weights that were fitted without these two systems."""

    split: int
    weights: ShippedWeights
    edits: JudgedPairs
    is_first_half: Truths
    """The edits that a gate may see before it decides on the others."""

    @property
    def first_half(self) -> JudgedPairs:
        """What a gate may take its labels or its pilot from."""
        return self.edits.chosen(self.is_first_half)

    @property
    def second_half(self) -> JudgedPairs:
        """What a gate is tried on."""
        return self.edits.chosen(~self.is_first_half)


def held_out_edits(folder: Path, judge: str, splits: int, seed: int) -> Iterator[HeldOutEdits]:
    """In each split the weights are fitted on half of WMT23's systems; the edits are of all pairs of the others."""
    by_scorer = scores(folder / "wmt23_en-de_seg_scores.tsv")
    people = by_scorer["mqm"]
    systems, segments = people.shape
    for split in range(splits):
        order = np.random.default_rng(seed + split).permutation(systems)
        weights = weights_of(by_scorer, order[: systems // 2].tolist())
        is_first_half = learnt_groups(np.ones(segments, dtype=np.int64), seed=seed + split)
        for before, after in combinations(order[systems // 2 :].tolist(), 2):
            judged = np.stack([by_scorer[name][[before, after]] for name in (judge, METRIC)], axis=2)
            edits = JudgedPairs(
                (judge, METRIC), judged[1] - judged[0], people[before], people[after], np.arange(segments), judged[0]
            )
            yield HeldOutEdits(split, weights, edits, is_first_half)


def settled(kinds: Sequence[str], weights: ShippedWeights, differences: Floats) -> ExpectedGain:
    """The gate without labels for edits like these, of which the judges of some kinds see ``differences``."""
    members = tuple(PanelMember(kind, "", kind) for kind in kinds)
    return ShippedPanel(members).settled(differences.tolist(), shipped=weights)


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
    beside = weights_of(by_scorer)
    alone = float(np.mean([fitted(by_scorer, (judge,)).weights[0] for judge in MODELS]))
    left_beside = beside.weights["mqm"] / alone
    comparing = of_comparisons(folder / "real" / "wmt25_human_scores.jsonl") * left_beside
    yield "# Weights of judges for a gate without labels; made by `python -m wmt.shipped_weights`."
    yield "# Unit: standard deviations of people's gain for one of the judge's rooted differences."
    yield f"drift = {beside.drift:.2f}"
    yield f"scale = {beside.scale:.3f}"
    yield f"tie_band = {beside.tie_band:.3f}"
    yield ""
    yield "[weights]"
    for kind, weight in {**beside.weights, "pairwise": comparing}.items():
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
