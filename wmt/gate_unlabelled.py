"""A gate without labels, compared with gates with labels and a panel that must agree.

    python -m wmt.gate_unlabelled [--data DIR] [--splits N] [--seed N]

WMT23 en-de, people's MQM: weights are learnt on the pairs of half of the systems, and all rules are tried on the pairs
of the other half. WMT25: the weights are WMT23's, of other judges; GEMBA-ESA by GPT-4.1, XCOMET and MetricX measure.
Labels and pilots are taken from half of the segments (WMT23) or documents (WMT25), and all rules are tried on the other
half. Without a pilot, the gate without labels sees the judges' scores of the edits that it decides on. Calls no model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mtagent.chain.chain import most_agreeing
from mtagent.chain.shipped import ShippedWeights, shipped_weights
from mtagent.cli.terminal import display
from mtagent.jobs.pilot import EDITS
from mtagent.learning.gain import Floats, JudgedPairs, Truths, kept, learn, learnt_groups, predictions, signed_roots
from mtagent.metrics.significance import SEED
from mtagent.records import Segment
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import records, refuse_absent, run
from wmt.lib.gate_data import Case, DataSet, wmt25
from wmt.shipped_weights import JUDGES, METRIC, held_out_edits, scores, settled, weights_of

LABELS = (50, 200)
AGREE, UNLABELLED = "all judges agree", "shipped weights, no label"
WHOLE = f"{UNLABELLED}, all edits at once"
Rule = Callable[[JudgedPairs, JudgedPairs, int], Truths]
"""Which pairs to keep, after learning from other pairs, for a seed."""


def agrees(_: JudgedPairs, pairs: JudgedPairs, seed: int) -> Truths:
    """Keep what all judges prefer."""
    return np.asarray((pairs.differences > 0).all(axis=1))


def calibrated(labels: int, prior: Sequence[float]) -> Rule:
    """Keep the edits that a gate expects to be better; it learns from this many labels, shrunk to ``prior`` weights."""

    def keeps(learnt_from: JudgedPairs, pairs: JudgedPairs, seed: int) -> Truths:
        teaching = learnt_from.drawn(labels, seed)
        if (teaching.gains == teaching.gains[0]).all():
            return np.full(len(pairs), teaching.gains[0] > 0)
        return kept(learn(teaching, seed=seed, prior=prior), pairs)

    return keeps


def unlabelled(kinds: Sequence[str], shipped: ShippedWeights, pilot: int | None = None) -> Rule:
    """Keep what shipped weights and the edits' own mean expect to be better, or the mean of ``pilot`` other edits."""

    def keeps(others: JudgedPairs, pairs: JudgedPairs, seed: int) -> Truths:
        seen = pairs if pilot is None else others.drawn(pilot, seed)
        return kept(settled(kinds, shipped, seen.differences), pairs)

    return keeps


def rules_for(kinds: Sequence[str], shipped: ShippedWeights) -> dict[str, Rule]:
    """All rules by name, for judges of some kinds; ``shipped`` are weights that don't know the edits."""
    prior = [shipped.weights[kind] for kind in kinds]
    rules: dict[str, Rule] = {AGREE: agrees}
    for labels in LABELS:
        rules[f"{labels} labels"] = calibrated(labels, ())
        rules[f"{labels} labels, shrunk to shipped weights"] = calibrated(labels, prior)
    rules[UNLABELLED] = unlabelled(kinds, shipped)
    rules[f"{UNLABELLED}, pilot of {EDITS}"] = unlabelled(kinds, shipped, EDITS)
    return rules


class Leads:
    """The leads of a rule over the better of always and never, and the leads of the oracle."""

    def __init__(self) -> None:
        self.leads: list[float] = []
        self.rooms: list[float] = []
        self.splits: list[int] = []

    def add(self, keep: Truths, gains: Floats, split: int = 0) -> None:
        """Count a rule's choice of edits, of which people see the ``gains``."""
        better = max(float(gains.mean()), 0.0)
        self.leads.append(float(gains[keep].sum()) / len(gains) - better)
        self.rooms.append(float(np.maximum(gains, 0).mean()) - better)
        self.splits.append(split)

    @property
    def lead(self) -> float:
        """The mean lead."""
        return float(np.mean(self.leads))

    @property
    def deviation(self) -> float:
        """The standard deviation of the splits' mean leads."""
        return float(np.std(np.bincount(self.splits, self.leads) / np.bincount(self.splits)))

    @property
    def share(self) -> float:
        """The share of the oracle's lead."""
        return self.lead / float(np.mean(self.rooms))

    @property
    def lost(self) -> float:
        """The share of cells in which the rule is worse than the better of always and never."""
        return float(np.mean(np.array(self.leads) < 0))


def wmt23_table(folder: Path, splits: int, seed: int) -> Iterator[str]:
    """Weights from half of the systems, rules tried on the others."""
    yield (
        "| WMT23 en-de, people's MQM: judges | rule | lead | deviation | lost in | share of headroom "
        "| better than agreeing in |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for judge, kind in JUDGES.items():
        leads_of: dict[str, Leads] = {}
        for held_out in held_out_edits(folder, judge, splits, seed):
            split, edits, others = held_out.split, held_out.edits, held_out.second_half
            rules = rules_for((kind, "qe"), held_out.weights)
            for name, rule in rules.items():
                keep = rule(held_out.first_half, others, seed + split)
                leads_of.setdefault(name, Leads()).add(keep, others.gains, split)
            for name, rule in ((f"{AGREE}, all edits", agrees), (WHOLE, rules[UNLABELLED])):
                leads_of.setdefault(name, Leads()).add(rule(edits, edits, seed), edits.gains, split)
        for name, leads in leads_of.items():
            rival = leads_of[f"{AGREE}, all edits" if name == WHOLE else AGREE]
            better = np.mean(np.array(leads.leads) > np.array(rival.leads))
            shown = f"{leads.lead:+.3f} | {leads.deviation:.3f} | {leads.lost:.0%} | {leads.share:.3f}"
            yield f"| {judge} + {METRIC} | {name} | {shown} | {'' if name.startswith(AGREE) else f'{better:.0%}'} |"


def wmt25_table(folder: Path, splits: int, seed: int) -> Iterator[str]:
    """WMT23's weights on WMT25: cells of system and scorer in which the mean lead is above 0."""
    (data,) = wmt25(folder)
    rules = rules_for(("da", "qe"), shipped_weights())
    yield (
        "| WMT25, judges GEMBA-ESA-CMDA + CometKiwi-XL: rule | cells won | "
        + " | ".join(f"share by {report}" for report in data.reports)
        + " |"
    )
    yield "|---|---:|" + "---:|" * len(data.reports)
    by_rule = {name: _cells(data, rule, splits, seed) for name, rule in rules.items()}
    by_rule[WHOLE] = _cells(data, rules[UNLABELLED], 0, seed)
    for name, cells in by_rule.items():
        won = sum(leads.lead > 0 for leads in cells.values())
        shares = []
        for report in data.reports:
            of_report = [leads for (_, by), leads in cells.items() if by == report]
            share = sum(leads.lead for leads in of_report) / sum(float(np.mean(leads.rooms)) for leads in of_report)
            shares.append(f"{share:.3f}")
        yield f"| {name} | {won} of {len(cells)} | {' | '.join(shares)} |"


def _cells(data: DataSet, rule: Rule, splits: int, seed: int) -> dict[tuple[Case, str], Leads]:
    """The leads of a rule by case and scorer, over splits of the documents; on all of them without splits."""
    cells: dict[tuple[Case, str], Leads] = {}
    for case in data.cases:
        by_report, groups = data.pairs(case), data.groups_of(case)
        if not splits:
            pairs = by_report[data.target]
            keep = rule(pairs, pairs, seed)
            for report in data.reports:
                cells.setdefault((case, report), Leads()).add(keep, by_report[report].gains)
        for split in range(splits):
            half = learnt_groups(np.bincount(data.groups), seed=seed + split)[groups]
            target = by_report[data.target]
            keep = rule(target.chosen(half), target.chosen(~half), seed + split)
            for report in data.reports:
                cells.setdefault((case, report), Leads()).add(keep, by_report[report].chosen(~half).gains)
    return cells


def candidates_table(folder: Path) -> Iterator[str]:
    """The best of all systems for each segment, with each system in turn as the text given."""
    by_scorer = scores(folder / "wmt23_en-de_seg_scores.tsv")
    people, weights = by_scorer["mqm"], weights_of(by_scorer)
    systems, segments = people.shape
    best_system = float(people.mean(axis=1).max())
    yield "| WMT23 en-de, best of 12 systems, people's MQM over the best single system | one mean | a mean for each |"
    yield "|---|---:|---:|"
    for judge, kind in JUDGES.items():
        means: dict[bool, list[float]] = {False: [], True: []}
        judged = np.stack([by_scorer[name] for name in (judge, METRIC)], axis=2)
        for given in range(systems):
            differences = judged - judged[given]
            others = [system for system in range(systems) if system != given]
            pooled = settled((kind, "qe"), weights, np.concatenate(differences[others])[:: len(others)])
            for own_mean, found in means.items():
                gains = np.zeros((systems, segments))
                for system in others:
                    gain = pooled
                    if own_mean:
                        gain = settled((kind, "qe"), weights, differences[system])
                    pairs = JudgedPairs(
                        (judge, METRIC), differences[system], people[given], people[system], np.arange(segments)
                    )
                    gains[system] = predictions(gain, pairs)
                chosen = gains.argmax(axis=0)
                found.append(float(people[chosen, np.arange(segments)].mean()) - best_system)
        one, own = (f"{np.mean(found):+.3f}" for found in means.values())
        yield f"| {judge} + {METRIC} | {one} | {own} |"


def agreement_table(folder: Path) -> Iterator[str]:
    """A text is challenged by all other texts of its segment, or by the two that agree most; ties keep it."""
    leads: dict[str, list[float]] = {"all others": [], "the two that agree most": []}
    calls: dict[str, list[int]] = {name: [] for name in leads}
    for record in records(folder / "real" / "wmt25_human_scores.jsonl", "human_scores", "hypotheses"):
        verdicts, people, texts = record.get("pairwise_winloss"), record["human_scores"], record["hypotheses"]
        if not verdicts:
            continue
        segment = Segment(id="1", source=record["source"], source_lang="en", target_lang=record["target_lang"])
        mean = float(np.mean(people))
        for given in range(len(texts)):
            others = [place for place in range(len(texts)) if place != given]
            ranked = most_agreeing(segment, [texts[place] for place in others], texts[given])
            shortlist = [others[[texts[place] for place in others].index(text)] for text in ranked[:2]]
            for name, challengers in zip(leads, (others, shortlist), strict=True):
                kept = given
                for place in challengers:
                    if verdicts[place][kept] == 1 and verdicts[kept][place] == -1:
                        kept = place
                leads[name].append(people[kept] - mean)
                calls[name].append(2 * len(challengers))
    yield "| WMT25, 8 texts of 66 segments: compared in both orders | calls | people's ESA over a random text |"
    yield "|---|---:|---:|"
    for name, found in leads.items():
        yield f"| {name} | {np.mean(calls[name]):.0f} | {np.mean(found):+.2f} |"


def edits_table(folder: Path) -> Iterator[str]:
    """Real edits of Ladder-7B: COMET-22's lead of CometKiwi alone, without and with the mean of each set of edits."""
    sets: dict[str, list[tuple[float, float]]] = {}
    for record in records(folder / "real" / "scored_refinements.jsonl", "model", "delta_comet22", "delta_cometkiwi"):
        sets.setdefault(record["model"], []).append((record["delta_cometkiwi"], 100 * record["delta_comet22"]))
    yield "| edits of | COMET-22 of all edits | lead of CometKiwi's rise | with the mean of the edits |"
    yield "|---|---:|---:|---:|"
    totals = []
    for name, pairs in sets.items():
        differences, gains = np.array(pairs).T
        roots = signed_roots(differences)
        roots /= roots.std()
        shift = (shipped_weights().drift - 1) * roots.mean()
        better = max(float(gains.mean()), 0.0)
        leads = [float(gains[keep].sum()) / len(gains) - better for keep in (roots > 0, roots + shift > 0)]
        totals.append((float(gains.mean()), *leads))
        yield f"| {name} | {totals[-1][0]:+.2f} | {leads[0]:+.3f} | {leads[1]:+.3f} |"
    mean = np.mean(totals, axis=0)
    yield f"| mean | {mean[0]:+.2f} | {mean[1]:+.3f} | {mean[2]:+.3f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--splits", type=int, default=20, help="random splits, over which all figures are means")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    for name in ("wmt23_en-de_seg_scores.tsv", "wmt25_paragraph_scores.tsv"):
        refuse_absent(options.data / name)
    for line in wmt23_table(options.data, options.splits, options.seed):
        display(line)
    display("")
    for line in wmt25_table(options.data, options.splits, options.seed):
        display(line)
    for table in (candidates_table, agreement_table, edits_table):
        display("")
        for line in table(options.data):
            display(line)


if __name__ == "__main__":
    run(main)
