"""What a gate that decides by the expected gain is worth, against accepting every edit and accepting none.

    python -m wmt.gate_ablation [--data DIR] [--only ment|wmt23|wmt25|people] [--svg DIR] [--dry-run]

Takes pairs of systems as the texts before and after an edit. A gate is learnt from some pairs of texts, and its effect
is shown on other documents (segments, where no documents are known), in several random splits. Asks no model: all
scores are those of others. See wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from mtagent.analysis.expected_gain import LEARNING, JudgedPairs, learn, predictions
from mtagent.analysis.intervals import Ints, Resampling, Truths, ratios
from mtagent.chain.calibration import Figure
from mtagent.errors import InputError
from wmt.data import DATA as FOLDER
from wmt.data import refuse_absent, run
from wmt.gate_data import DATA, TEACHER, DataSet
from wmt.gate_plot import Bar, plot

FEW_CASES = 10
"""Up to so many cases are shown one by one."""
POOLED = 200
"""Pairs of all cases that the one gate for all is learnt from."""
FEWEST_LEFT = 50
"""Segments that a point of the learning curve must leave to report on."""


class Split(NamedTuple):
    """Which groups are learnt from; the others are reported on."""

    learnt: Truths
    rng: np.random.Generator

    def sample(self, groups: Ints, size: int) -> Ints:
        """The places of ``size`` random pairs to learn from, or of all that there are."""
        places = np.flatnonzero(self.learnt[groups])
        return np.sort(self.rng.permutation(places)[:size])


def divided(groups: Ints, sample: int, seed: int) -> Split:
    """A random half of the groups to learn from, or as many as have ``sample`` segments; none for a sample of 0."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(groups)
    order = rng.permutation(len(sizes))
    learnt = np.zeros(len(sizes), dtype=np.bool_)
    if sample:
        enough = int(np.searchsorted(np.cumsum(sizes[order]), sample)) + 1
        number = max((len(sizes) + 1) // 2, enough)
        if number >= len(sizes):
            raise InputError(f"{sample} pairs to learn from: the {len(groups)} segments leave none to report on")
        learnt[order[:number]] = True
    return Split(learnt, rng)


class Worth:
    """What a rule is worth by one scorer, for each case and split: means of scores over the edits reported on.

    ``lead`` is that over the better of always and never, ``room`` the lead of the oracle.
    """

    def __init__(self, cases: int, splits: int, groups: int) -> None:
        self.lead, self.room, self.gate, self.never, self.always = np.full((5, cases, splits), np.nan)
        self._leads, self._weights = np.zeros((2, cases, groups))

    def add(self, case: int, split: int, pairs: JudgedPairs, groups: Ints, keep: Truths) -> None:
        """Decide as ``keep`` says on the pairs that are reported on."""
        never, always = pairs.human_before.mean(), pairs.human_after.mean()
        better = pairs.human_after if always > never else pairs.human_before
        gate = np.where(keep, pairs.human_after, pairs.human_before)
        self.never[case, split], self.always[case, split], self.gate[case, split] = never, always, gate.mean()
        self.lead[case, split] = (gate - better).mean()
        self.room[case, split] = (np.maximum(pairs.human_before, pairs.human_after) - better).mean()
        size = self._leads.shape[1]
        self._leads[case] += np.bincount(groups, (gate - better) / len(pairs), size)
        self._weights[case] += np.bincount(groups, np.full(len(pairs), 1 / len(pairs)), size)

    def mean_lead(self, resampling: Resampling, case: int | None = None) -> Figure:
        """The mean lead over the splits, and the cases or one of them, with an interval over the groups."""
        cases = slice(None) if case is None else slice(case, case + 1)
        leads, weights = self._leads[cases].sum(axis=0), self._weights[cases].sum(axis=0)
        there = weights > 0
        return ratios([leads[there]], [weights[there]], np.arange(there.sum()), resampling)[0]

    def headroom(self, case: int | None = None) -> float:
        """The share that the mean lead is of the oracle's."""
        cases = slice(None) if case is None else slice(case, case + 1)
        return float(self.lead[cases].mean() / self.room[cases].mean())

    @property
    def won(self) -> float:
        """In which share of the cases and splits the rule beats the better of always and never."""
        return float((self.lead > 0).mean())

    @property
    def lost(self) -> float:
        """In which share of them it is worse."""
        return float((self.lead < 0).mean())


Worths = dict[tuple[str, str], Worth]
"""By the rule and the scorer."""

NEITHER = "never or always, whichever was better"
ORACLE = "oracle"


def gain_rule(panel: Sequence[str]) -> str:
    """The name of the rule that decides by the expected gain of a panel."""
    return f"expected gain: {' + '.join(panel)}"


def alone_rule(judge: str) -> str:
    """The name of the rule that one judge decides without calibration."""
    return f"preferred by {judge}" if "order" in judge or "first" in judge else f"higher {judge}"


def worths(data: DataSet, sample: int, splits: int, seed: int, panels: Sequence[Sequence[str]]) -> Worths:
    """All rules on all cases: those of single judges, and the expected gain of ``panels`` learnt from ``sample`` pairs.

    Nothing depends on how many splits there are but the splits themselves: the first ones stay the same.
    """
    cases = [(data.pairs(case), data.groups_of(case)) for case in data.cases]
    halves = [divided(data.groups, sample, seed + split) for split in range(splits)]
    groups = int(data.groups.max()) + 1
    tallies: Worths = {}
    places = [data.judges.index(judge) for judge in data.judges]
    for number, half in enumerate(halves):
        samples = [half.sample(groups_of, sample) for _, groups_of in cases] if sample else []
        pooled = {}
        if sample and data.pooled:
            pooled = {gain_rule(panel) + ", one gate for all": _pooled(data, cases, half, panel) for panel in panels}
        for case, (pairs, groups_of) in enumerate(cases):
            reported = ~half.learnt[groups_of]
            others, target = pairs[data.target].chosen(reported), pairs[data.target]
            keeps = {alone_rule(data.judges[place]): others.differences[:, place] > 0 for place in places}
            if sample:
                learnt = target.chosen(samples[case])
                keeps[NEITHER] = np.full(len(others), learnt.gains.sum() > 0)
                for panel in panels:
                    of = [data.judges.index(judge) for judge in panel]
                    keeps[gain_rule(panel)] = decided(learnt.of(*of), others.of(*of))
                for rule, (gate, of) in pooled.items():
                    keeps[rule] = decided(gate, others.of(*of))
            for report in data.reports:
                scored = pairs[report].chosen(reported)
                for rule, keep in (*keeps.items(), (ORACLE, scored.gains > 0)):
                    worth = tallies.setdefault((rule, report), Worth(len(cases), splits, groups))
                    worth.add(case, number, scored, groups_of[reported], keep)
    return tallies


def _pooled(
    data: DataSet, cases: Sequence[tuple[dict[str, JudgedPairs], Ints]], half: Split, panel: Sequence[str]
) -> tuple[JudgedPairs, list[int]]:
    """Pairs of all cases to learn one gate from, and the places of its judges."""
    of = [data.judges.index(judge) for judge in panel]
    whole = [pairs[data.target] for pairs, _ in cases]
    groups = np.concatenate([groups_of for _, groups_of in cases])
    every = JudgedPairs(
        data.judges,
        np.concatenate([pairs.differences for pairs in whole]),
        np.concatenate([pairs.human_before for pairs in whole]),
        np.concatenate([pairs.human_after for pairs in whole]),
        groups,
        np.concatenate([pairs.scores_before for pairs in whole]),
    )
    return every.chosen(half.sample(groups, POOLED)).of(*of), of


def decided(learnt: JudgedPairs, others: JudgedPairs) -> Truths:
    """Which of ``others`` are kept by their expected gain; labels that are all the same teach never or always."""
    if (learnt.gains == learnt.gains[0]).all():
        return np.full(len(others), learnt.gains[0] > 0)
    return predictions(learn(learnt), others) > 0


def rules_table(data: DataSet, found: Worths, resampling: Resampling) -> Iterator[str]:
    """A row for each rule and scorer."""
    several = len(data.cases) * next(iter(found.values())).lead.shape[1]
    learnt = f", learnt from {data.sample} pairs" if data.sample else ""
    yield (
        f"### {data.name}: {len(data.cases)} pairs of systems{learnt}\n"
        if len(data.cases) > FEW_CASES
        else (f"### {data.name}: {len(data.cases)} kinds of edits{learnt}\n")
    )
    by = len(data.reports) > 1
    yield _row("rule", *["by"] * by, "lead over the better of always and never", f"won / lost of {several}", "headroom")
    yield _row("---", *["---"] * by, "---:", "---:", "---:")
    for rule in dict.fromkeys(rule for rule, _ in found):
        for report in data.reports:
            worth = found[rule, report]
            won = f"{100 * worth.won:.0f} / {100 * worth.lost:.0f} %"
            shown = _lead(worth.mean_lead(resampling), worth.room.mean())
            yield _row(rule, *[report] * by, shown, won, f"{worth.headroom():.2f}")


def cases_table(data: DataSet, found: Worths, resampling: Resampling) -> Iterator[str]:
    """Each case by each scorer, by the largest panel; then all panels in short."""
    largest = gain_rule(max(data.panels, key=len))
    yield f"\n{largest}:\n"
    yield _row("edits", "by", "never", "always", "gate", "oracle", "lead", "headroom")
    yield _row("---", "---", *["---:"] * 6)
    for case, (name, _) in enumerate(data.cases):
        for report in data.reports:
            worth = found[largest, report]
            means = [values[case].mean() for values in (worth.never, worth.always, worth.gate)]
            means.append(max(means[:2]) + worth.room[case].mean())
            lead = _lead(worth.mean_lead(resampling, case), worth.room[case].mean())
            yield _row(name, report, *map(_mean, means), lead, f"{worth.headroom(case):.2f}")
    cells = len(data.cases) * len(data.reports)
    yield ""
    yield _row("rule", f"lead above 0, of {cells}", "surely above 0", "surely below 0", "mean share of the headroom")
    yield _row("---", *["---:"] * 4)
    for rule in dict.fromkeys(rule for rule, _ in found if rule not in (NEITHER, ORACLE)):
        leads, shares = [], []
        for report in data.reports:
            leads += [found[rule, report].mean_lead(resampling, case) for case in range(len(data.cases))]
            shares += [found[rule, report].headroom(case) for case in range(len(data.cases))]
        counts = [sum((bound or 0) > 0 for bound in bounds) for bounds in (
            [lead.value for lead in leads], [lead.low for lead in leads], [-(lead.high or 0) for lead in leads]
        )]  # fmt: skip
        yield _row(rule, *map(str, counts), f"{np.mean(shares):.2f}")


def learning_table(data: DataSet, found: dict[int, Worths]) -> Iterator[str]:
    """What fewer and more pairs teach the largest panel."""
    rule, report = gain_rule(max(data.panels, key=len)), data.reports[0]
    shares = [f"headroom by {report}" for report in data.reports] if len(data.reports) > 1 else ["headroom"]
    yield f"\n{rule}, learnt from fewer and more pairs (lead by {report}):\n"
    yield _row("pairs", "lead", "won / lost", *shares)
    yield _row("---:", "---:", "---:", *["---:"] * len(shares))
    for size, of_size in found.items():
        worth = of_size[rule, report]
        headroom = [f"{of_size[rule, report].headroom():.2f}" for report in data.reports]
        digits = _digits(worth.room.mean())
        won = f"{100 * worth.won:.0f} / {100 * worth.lost:.0f} %"
        yield _row(str(size), f"{worth.lead.mean():+.{digits}f}", won, *headroom)


def candidates_table(data: DataSet, splits: int, seed: int, resampling: Resampling) -> Iterator[str]:
    """Which system's text to take for each segment; the systems are candidates, but for the teacher's own model.

    Given is the text of the system that the teacher finds best on the segments learnt from. One gate is learnt there
    from pairs of that and any other system, and the text with the highest expected gain above 0 is chosen.
    """
    systems = tuple(system for system in data.systems if system != TEACHER)
    names = (*data.reports, *data.judges)
    scores = {name: np.stack([data.scores[name][system] for system in systems], axis=1) for name in names}
    there = ~np.isnan(np.concatenate(list(scores.values()), axis=1)).any(axis=1)
    scores, groups = {name: of[there] for name, of in scores.items()}, data.groups[there]
    judged = np.stack([scores[judge] for judge in data.judges], axis=2)  # segments x systems x judges
    target, size = scores[data.target], int(data.groups.max()) + 1
    panels = [[data.judges.index(judge) for judge in panel] for panel in data.panels]
    tallies: dict[tuple[str, str], list[tuple[float, float]]] = {}
    leads, weights = {}, np.zeros(size)
    for number in range(splits):
        half = divided(data.groups, data.sample, seed + number)
        learnt, reported = half.sample(groups, data.sample), np.flatnonzero(~half.learnt[groups])
        given = int(target[learnt].mean(axis=0).argmax())
        others = [place for place in range(len(systems)) if place != given]
        drawn_system = half.rng.choice(others, len(learnt))
        chosen = {f"highest {judge}": judged[reported, :, place].argmax(axis=1)
                  for place, judge in enumerate(data.judges)}  # fmt: skip
        for panel in panels:
            judges = tuple(data.judges[place] for place in panel)
            expected = np.zeros((len(reported), len(systems)))

            def edits(rows: Ints, after: Ints, panel: list[int] = panel, judges: tuple[str, ...] = judges,
                      given: int = given) -> JudgedPairs:  # fmt: skip
                old, new = judged[rows, given][:, panel], judged[rows, after][:, panel]
                return JudgedPairs(judges, new - old, target[rows, given], target[rows, after], groups[rows], old)

            gain = learn(edits(learnt, drawn_system))
            for other in others:
                expected[:, other] = predictions(gain, edits(reported, np.full(len(reported), other)))
            chosen[gain_rule(judges)] = expected.argmax(axis=1)
        weights += np.bincount(groups[reported], np.full(len(reported), 1 / len(reported)), size)
        for report in data.reports:
            of = scores[report][reported]
            best = of[:, of.mean(axis=0).argmax()]
            texts = {"the text given": of[:, given], "best single system of the reported documents": best}
            texts |= {rule: of[np.arange(len(of)), places] for rule, places in chosen.items()}
            for rule, values in (*texts.items(), (ORACLE, of.max(axis=1))):
                tallies.setdefault((rule, report), []).append((values.mean(), best.mean()))
                lead = leads.setdefault((rule, report), np.zeros(size))
                lead += np.bincount(groups[reported], (values - best) / len(reported), size)
    yield f"\nThe best of {len(systems)} systems for each segment ({', '.join(systems)}); mean, and lead over the best one:\n"
    yield _row("chosen", *data.reports)
    yield _row("---", *["---:"] * len(data.reports))
    seen = weights > 0
    for rule in dict.fromkeys(rule for rule, _ in tallies):
        cells = []
        for report in data.reports:
            mean, room = (
                np.mean(tallies[rule, report], axis=0)[0],
                np.subtract(*np.mean(tallies[ORACLE, report], axis=0)),
            )
            lead = ratios([leads[rule, report][seen]], [weights[seen]], np.arange(seen.sum()), resampling)[0]
            cells.append(f"{_mean(mean)}, {_lead(lead, float(room))}")
        yield _row(rule, *cells)


def drawn(name: str, data: DataSet, found: Worths, resampling: Resampling, learning: dict[int, Worths]) -> str:
    """The plot of a data set: each rule, the largest panel learnt from fewer and more pairs, and by single cases."""
    report, largest = data.reports[0], gain_rule(max(data.panels, key=len))
    rows = [(rule, found[rule, report], None) for rule, by in found if by == report and rule != ORACLE]
    rows += [(f"{size} pairs", of_size[largest, report], None) for size, of_size in learning.items()]
    if len(data.cases) <= FEW_CASES:
        rows += [(case.name, found[largest, report], number) for number, case in enumerate(data.cases)]
    bars = []
    for label, worth, number in rows:
        cases, lead = slice(None) if number is None else number, worth.mean_lead(resampling, number)
        never, always = ((side - worth.gate + worth.lead)[cases].mean() for side in (worth.never, worth.always))
        value, room = worth.lead[cases].mean(), worth.room[cases].mean()
        bars.append(Bar(label, never, always, value, lead.low or 0.0, lead.high or 0.0, room))
    unit = f"lead over the better of always and never, {data.unit}"
    return plot(f"gate-{name}", f"What the gate is worth: {data.name}, by {report}", unit, bars)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _digits(room: float) -> int:
    """After the point: three figures of what there is to be gained."""
    return 4 if room < 0.1 else 3 if room < 3 else 2


def _mean(value: float) -> str:
    return f"{value:.{1 if abs(value) > 20 else 3}f}"


def _lead(lead: Figure, room: float) -> str:
    values = (lead.value, lead.low, lead.high)
    value, low, high = (f"{0.0 if value is None else value:+.{_digits(room)}f}" for value in values)
    return f"{value} [{low}, {high}]"


def sizes(data: DataSet) -> list[int]:
    """The sizes of the learning curve that leave enough to report on."""
    fewest = len(data.groups)
    return [size for size in LEARNING if data.sample and size + FEWEST_LEFT <= fewest]


def planned(data: DataSet) -> str:
    """What a run would look at."""
    edits = sum(len(data.groups_of(case)) for case in data.cases)
    numbers = f"{len(data.cases)} cases, {edits} edits, {len(np.unique(data.groups))} groups"
    learnt = f"learnt from {data.sample} pairs, scored by {data.target}" if data.sample else "nothing calibrated"
    return f"{data.name}: judges {', '.join(data.judges)}; {numbers}; {learnt}; no model is asked"


def tables(name: str, data: DataSet, options: argparse.Namespace) -> Iterator[str]:
    """All tables of a data set; its plot is written."""
    resampling, splits = Resampling(options.resamples, options.seed), options.splits if data.sample else 1
    found = worths(data, data.sample, splits, options.seed, data.panels)
    yield from rules_table(data, found, resampling)
    if data.sample:
        if len(data.cases) <= FEW_CASES:
            yield from cases_table(data, found, resampling)
        panel = [max(data.panels, key=len)]
        learning = {size: worths(data, size, splits, options.seed, panel) for size in sizes(data)}
        if learning:
            yield from learning_table(data, learning)
        if name == "wmt25":
            yield from candidates_table(data, splits, options.seed, resampling)
        if options.svg:
            svg = drawn(name, data, found, resampling, learning)
            (options.svg / f"gate_{name}.svg").write_text(svg, encoding="utf-8")
    yield ""


def lines(options: argparse.Namespace) -> Iterable[str]:
    """The lines to print; plots are written."""
    for name in options.only or DATA:
        file, read = DATA[name]
        refuse_absent(options.data / file)
        for data in read(options.data):
            yield from [planned(data)] if options.dry_run else tables(name, data, options)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--only", choices=list(DATA), action="append")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="write the plots there")
    parser.add_argument("--seed", type=int, default=12345, help="of the first split")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=20, help="random splits, over which all figures are means")
    parser.add_argument("--dry-run", action="store_true", help="say what would be looked at")
    for line in lines(parser.parse_args(arguments)):
        click.echo(line)


if __name__ == "__main__":
    run(main)
