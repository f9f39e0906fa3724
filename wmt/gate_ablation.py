"""A gate that decides by the expected gain, compared with accepting every edit and accepting none.

    python -m wmt.gate_ablation [--data DIR] [--only ment|wmt23|wmt25|people] [--svg DIR] [--dry-run]

Takes pairs of systems as the texts before and after an edit. A gate is learnt from some pairs of texts, and its effect
is shown on other documents (blocks of segments, if documents are unknown), in several random splits. Calls no
model: all scores are published ones. See wmt/README.md for the expected results.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mtagent.chain.calibration import Figure
from mtagent.cli.terminal import display
from mtagent.learning.calibrate import LEARNING, effective_number
from mtagent.learning.gain import ratios
from mtagent.learning.text import figure
from mtagent.metrics.significance import GroupResampling
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import refuse_absent, run
from wmt.lib.gate_data import DATA, DataSet
from wmt.lib.gate_plot import Bar, plot
from wmt.lib.gate_worth import NEITHER, ORACLE, Worth, Worths, candidate_systems, candidates, gain_rule, worths

FEW_CASES = 10
"""Up to this many cases are shown one by one."""
FEWEST_LEFT = 50
"""Segments that a point of the learning curve must leave to report on."""


def rules_table(data: DataSet, found: Worths, resampling: GroupResampling) -> Iterator[str]:
    """A row for each rule and scorer."""
    several = next(iter(found.values())).lead.size
    what = "pairs of systems" if len(data.cases) > FEW_CASES else "kinds of edits"
    heading = f"{len(data.cases)} {what}, learnt from {data.sample} pairs" if data.sample else "nothing calibrated"
    yield f"### {data.name}: {heading}\n"
    by = len(data.reports) > 1
    won_of = [f"won / lost of {several}"] if several > 1 else []
    yield _row("rule", *["by"] * by, "lead over the better of always and never", *won_of, "headroom")
    yield _row("---", *["---"] * by, *["---:"] * (2 + len(won_of)))
    for rule in dict.fromkeys(rule for rule, _ in found):
        for report in data.reports:
            worth = found[rule, report]
            won = [f"{100 * worth.won:.0f} / {100 * worth.lost:.0f} %"] * len(won_of)
            shown = _lead(worth.mean_lead(resampling), worth.room.mean())
            yield _row(rule, *[report] * by, shown, *won, f"{worth.headroom():.2f}")


def verdicts_table(data: DataSet, resampling: GroupResampling) -> Iterator[str]:
    """How a judge that compares decides in both orders, and how often people find worse what it keeps."""
    (case,) = data.cases
    pairs = replace(data, judges=tuple(data.verdicts)).pairs(case)[data.target]
    both, before_first, after_first = pairs.differences.T
    kept, every = (both > 0).astype(np.float64), np.ones(len(pairs))
    shares = {
        "comparisons in which the text shown first is preferred": (before_first < 0, every),
        "pairs of texts whose two orders disagree": (before_first != after_first, every),
        "edits kept: the text after is preferred in both orders": (both > 0, every),
        "kept edits that are worse by people's scores": ((both > 0) & (pairs.gains < 0), kept),
    }
    above = [np.asarray(upper, dtype=np.float64) for upper, _ in shares.values()]
    below = [lower for _, lower in shares.values()]
    yield f"\n{data.judges[0]}, edits: {len(pairs)}, documents: {len(np.unique(pairs.groups))}\n"
    yield _row("what", "share")
    yield _row("---", "---:")
    for name, share in zip(shares, ratios(above, below, pairs.groups, resampling), strict=True):
        yield _row(name, figure(share, percent=True))


def cases_table(data: DataSet, found: Worths, resampling: GroupResampling) -> Iterator[str]:
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
        ends = ([lead.value for lead in leads], [lead.low for lead in leads], [-(lead.high or 0) for lead in leads])
        counts = [sum((end or 0) > 0 for end in of_all) for of_all in ends]
        yield _row(rule, *map(str, counts), f"{np.mean(shares):.2f}")


def learning_table(data: DataSet, found: dict[int, Worths]) -> Iterator[str]:
    """What fewer and more pairs teach the largest panel."""
    rule, report = gain_rule(max(data.panels, key=len)), data.reports[0]
    shares = [f"headroom by {report}" for report in data.reports] if len(data.reports) > 1 else ["headroom"]
    yield f"\n{rule}, learnt from fewer and more pairs (lead by {report}):\n"
    yield _row("pairs", "documents or blocks reported on", "lead", "won / lost", *shares)
    yield _row(*["---:"] * (4 + len(shares)))
    for size, of_size in found.items():
        worth = of_size[rule, report]
        headroom = [f"{of_size[rule, report].headroom():.2f}" for report in data.reports]
        digits = _digits(worth.room.mean())
        won = f"{100 * worth.won:.0f} / {100 * worth.lost:.0f} %"
        left = f"{worth.reported:.0f}"
        yield _row(str(size), left, f"{worth.lead.mean():+.{digits}f}", won, *headroom)


def candidates_table(data: DataSet, splits: int, seed: int, resampling: GroupResampling) -> Iterator[str]:
    """Which system's text to take for each segment."""
    found, names = candidates(data, splits, seed), ", ".join(candidate_systems(data))
    yield f"\nThe best of several proposals for each segment ({names}): mean, and lead over the best one:\n"
    yield _row("chosen", *data.reports)
    yield _row("---", *["---:"] * len(data.reports))
    for rule in dict.fromkeys(rule for rule, _ in found):
        of_rule = [found[rule, report] for report in data.reports]
        cells = [f"{_mean(of.gate.mean())}, {_lead(of.mean_lead(resampling), of.room.mean())}" for of in of_rule]
        yield _row(rule, *cells)


def drawn(name: str, data: DataSet, found: Worths, resampling: GroupResampling, learning: dict[int, Worths]) -> str:
    """The plot of a data set: each rule, the largest panel learnt from fewer and more pairs, and by single cases."""
    report, largest = data.reports[0], gain_rule(max(data.panels, key=len))
    rows: list[tuple[str, Worth, int | None]] = [
        (rule, worth, None) for (rule, by), worth in found.items() if by == report and rule != ORACLE
    ]
    rows += [(f"{largest}, {size} pairs", of_size[largest, report], None) for size, of_size in learning.items()]
    if len(data.cases) <= FEW_CASES:
        rows += [(case.name, found[largest, report], number) for number, case in enumerate(data.cases)]
    bars = []
    for label, worth, number in rows:
        cases, lead = slice(None) if number is None else number, worth.mean_lead(resampling, number)
        never, always = ((side - worth.gate + worth.lead)[cases].mean() for side in (worth.never, worth.always))
        value, room = worth.lead[cases].mean(), worth.room[cases].mean()
        low, high = (value if end is None else end for end in (lead.low, lead.high))
        bars.append(Bar(label, never, always, value, low, high, room))
    return plot(f"gate-{name}", f"What the gate is worth: {data.name}, by {report}", data.unit, bars)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _digits(room: float) -> int:
    """After the point: three figures of what there is to be gained."""
    return 4 if room < 0.1 else 3 if room < 3 else 2


def _mean(value: float) -> str:
    return f"{value:.{1 if abs(value) > 20 else 3}f}"


def _lead(lead: Figure, room: float) -> str:
    digits = _digits(room)
    between = "" if lead.low is None or lead.high is None else f" [{lead.low:+.{digits}f}, {lead.high:+.{digits}f}]"
    return f"{lead.value or 0.0:+.{digits}f}{between}"


def sizes(data: DataSet) -> list[int]:
    """The sizes of the learning curve that leave enough to report on."""
    most = len(data.groups) - FEWEST_LEFT
    return [size for size in LEARNING if data.sample and data.segments_for(size) <= most]


def planned(data: DataSet) -> str:
    """What a run would look at."""
    edits = sum(len(data.groups_of(case)) for case in data.cases)
    sizes = np.bincount(data.groups)
    groups = f"{len(sizes)} groups (worth {effective_number(sizes):.0f} of equal size)"
    numbers = f"{len(data.cases)} cases, {edits} edits, {groups}"
    learnt = f"learnt from {data.sample} pairs, scored by {data.target}" if data.sample else "nothing calibrated"
    return f"{data.name}: judges {', '.join(data.judges)}; {numbers}; {learnt}; no model is asked"


def tables(name: str, data: DataSet, options: argparse.Namespace) -> Iterator[str]:
    """All tables of a data set; its plot is written."""
    resampling, splits = GroupResampling(options.resamples, options.seed), options.splits if data.sample else 1
    found = worths(data, data.sample, splits, options.seed, data.panels)
    yield from rules_table(data, found, resampling)
    if data.verdicts:
        yield from verdicts_table(data, resampling)
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
            if options.sample and data.sample:
                data = replace(data, sample=options.sample)
            yield from [planned(data)] if options.dry_run else tables(name, data, options)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--only", choices=list(DATA), action="append")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="write the plots there")
    parser.add_argument("--sample", type=int, metavar="N", help="pairs to learn from (default: 200)")
    parser.add_argument("--seed", type=int, default=12345, help="of the first split")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=20, help="random splits, over which all figures are means")
    parser.add_argument("--dry-run", action="store_true", help="say what would be looked at")
    for line in lines(parser.parse_args(arguments)):
        display(line)


if __name__ == "__main__":
    run(main)
