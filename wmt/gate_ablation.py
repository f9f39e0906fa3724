"""What a gate with a calibrated margin is worth, against accepting every edit and accepting none.

    python -m wmt.gate_ablation [--data DIR] [--only ment|wmt23|wmt25] [--svg DIR] [--dry-run]

Takes pairs of systems as the texts before and after an edit. The margin is chosen on half of the documents (of the
segments, where no documents are known), and its effect is shown on the other half. Asks no model: all scores are those
of others. See wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from mtagent.analysis.gate_calibration import (
    FEWEST,
    KINDS,
    Edits,
    Effect,
    Interval,
    Labelled,
    Resampling,
    Truths,
    best_margin,
    curve,
    effect,
    error_free_of,
    first_half,
    kept,
)
from wmt.data import DATA as FOLDER
from wmt.data import refuse_absent, run
from wmt.gate_data import DATA, Case, Scores, cases, edits, ranked_pairs
from wmt.gate_plot import Bar, plot


class Outcome(NamedTuple):
    """What was chosen for a case, and what it does to the half that it was not chosen on."""

    case: Case
    margin: float
    found: Effect
    unmargined: Effect


def outcome(data: Scores, case: Case, resampling: Resampling) -> Outcome:
    """Calibrate on one half by the target's scores, look at the other."""
    every = edits(data, case, data.target)
    half = first_half(every.groups, resampling.seed)
    margin, other = best_margin(every.chosen(half)), every.chosen(~half)
    return Outcome(case, margin, effect(other, margin, resampling), effect(other, 0.0, resampling))


def main_table(data: Scores, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row for each case."""
    yield f"### {data.name}: calibrated on {data.target}, the half that was not calibrated on\n"
    yield _row("judge", "edits", "margin", "never", "always", "no margin", "gate", "oracle") + _head(
        "over never", "over always", "accepted", "good kept", "harmful refused", "beats both"
    )
    yield "|---|---|---:" + "|---:" * 10 + "|---|"
    for one in outcomes:
        means = (one.found.never, one.found.always, one.unmargined.gate, one.found.gate, one.found.oracle)
        shares = (one.found.accepted, one.found.good_kept, one.found.harmful_refused)
        leads = (_lead(one.found.over_never), _lead(one.found.over_always))
        first = (one.case.judge, one.case.name, f"{one.margin:.4g}", *map(_mean, means))
        yield _row(*first) + _head(*leads, *map(_share, shares), verdict(one.found))


def verdict(found: Effect) -> str:
    """Whether the gate beats both never and always; what it does not beat is named."""
    told = []
    for name, lead in (("never", found.over_never), ("always", found.over_always)):
        if lead.high is not None and lead.high < 0:
            told.append(f"loses to {name}")
        elif lead.low is not None and lead.low <= 0:
            told.append(f"not told apart from {name}")
    return ", ".join(told) or "yes"


def report_table(data: Scores, outcomes: Sequence[Outcome], resampling: Resampling) -> Iterator[str]:
    """The same gates by metrics that had no part in the calibration, and by the judge itself, which is marked so."""
    yield f"\n### {data.name}: other metrics on the same half (lead of the gate over never / over always)\n"
    yield _row("judge", "edits", *data.reports) + "|"
    yield "|---" * (2 + len(data.reports)) + "|"
    warned = False
    for one in outcomes:
        cells = []
        for metric in data.reports:
            every = edits(data, one.case, metric)
            found = effect(every.chosen(~first_half(every.groups, resampling.seed)), one.margin, resampling)
            warned = warned or metric == one.case.judge
            star = " (*)" if metric == one.case.judge else ""
            cells.append(f"{_lead(found.over_never)} / {_lead(found.over_always)}{star}")
        yield _row(one.case.judge, one.case.name, *cells) + "|"
    if warned:
        yield "\n(*) warning: the judge and the metric are the same; a gate is always good by its own judge."


def splits_table(data: Scores, splits: int, seed: int) -> Iterator[str]:
    """How much the verdict hangs on the one split: the gate's lead over the better of never and always in several."""
    yield f"\n### {data.name}: lead over the better of never and always in {splits} other splits\n"
    yield "| judge | edits | mean, calibrated | lowest | highest | above 0 | mean, no margin |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for case in cases(data):
        every, leads, plain = edits(data, case, data.target), [], []
        for other in range(seed + 1, seed + 1 + splits):
            half = first_half(every.groups, other)
            held = every.chosen(~half)
            leads.append(lead(held, best_margin(every.chosen(half))))
            plain.append(lead(held, 0.0))
        above = f"{sum(value > 0 for value in leads)} of {splits}"
        numbers = (f"{value:+.3f}" for value in (np.mean(leads), min(leads), max(leads)))
        yield _row(case.judge, case.name, *numbers, above, f"{np.mean(plain):+.3f}") + "|"


def lead(held: Edits, margin: float) -> float:
    """By how much the gate beats the better of never and always; below 0 where it does not."""
    keep = kept(held.gains, margin)
    gate = np.where(keep, held.human_after, held.human_before).mean()
    return float(gate - max(held.human_before.mean(), held.human_after.mean()))


def whole_table(data: Scores) -> Iterator[str]:
    """All edits at once, nothing calibrated: what is known of all paragraphs of WMT25, on those that are here."""
    metrics = (data.target, *data.reports)
    yield f"\n### {data.name}: all edits, judge {data.judges[0]}, margins that nobody calibrated\n"
    yield _row("edits", "by", "never", "always", "margin 0", "accepted", "margin 10", "oracle") + "|"
    yield "|---|---" + "|---:" * 6 + "|"
    for case in (case for case in cases(data) if case.judge == data.judges[0]):
        for metric in (metric for metric in metrics if metric != case.judge):
            every = edits(data, case, metric)
            none, ten = (effect(every, margin, Resampling(1)) for margin in (0.0, 10.0))
            means = [_exact(x) for x in (none.never, none.always, none.gate)]
            rest = (_share(none.accepted), _exact(ten.gate), _exact(none.oracle))
            yield _row(case.name, metric, *means, *rest) + "|"


def single_pairs(data: Scores, resampling: Resampling) -> Iterator[str]:
    """On how many single pairs of systems the gate beats both, each calibrated for itself."""
    up = ranked_pairs(data)
    pairs = (*up, *((after, before) for before, after in up))
    yield f"\n### {data.name}: each of the {len(pairs)} pairs of systems calibrated for itself\n"
    yield "| judge | beats both | not told apart from one | loses to always | loses to never |"
    yield "|---|---:|---:|---:|---:|"
    for judge in data.judges:
        told = Counter(_kind(data, judge, pair, resampling) for pair in pairs)
        names = ("both", "neither", "always", "never")
        yield _row(judge, *(str(told[name]) for name in names)) + "|"


def _kind(data: Scores, judge: str, pair: tuple[str, str], resampling: Resampling) -> str:
    told = verdict(outcome(data, Case(data.name, judge, "", (pair,)), resampling).found)
    return (
        "both"
        if told == "yes"
        else next((name for name in ("always", "never") if f"loses to {name}" in told), "neither")
    )


def error_free_table(data: Scores, precision: float, resampling: Resampling) -> Iterator[str]:
    """From which score of each judge on a text is error-free, by people's best score."""
    kind = {"human": "rate"}.get(data.target, data.target)
    if kind not in KINDS:
        return
    yield f"\n### {data.name}: error-free is {data.target} >= {KINDS[kind]:g}, wanted precision {precision:g}\n"
    yield _row("judge", "error-free texts", "highest precision", "threshold", "in resamples", "reached") + _head(
        "precision", "coverage", "recall"
    )
    yield "|---" + "|---:" * 8 + "|"
    for judge in data.judges:
        labelled = _labelled(data, judge, KINDS[kind])
        half = _half(labelled, resampling.seed)
        found = error_free_of(labelled, half, data.target, precision, resampling=resampling)
        base = (judge, f"{100 * labelled.error_free.mean():.1f} %", _highest(labelled.chosen(half)))
        if found.threshold is None or found.held_out is None:
            yield _row(*base, "none", "-", f"{found.reached:.0%}", "-", "-", "-") + "|"
            continue
        between = f"{found.low:.4g} to {found.high:.4g}"
        held = (found.held_out.precision, found.held_out.coverage, found.held_out.recall)
        shares = [_share(Interval(one.value, one.low, one.high)) for one in held]
        yield _row(*base, f"{found.threshold:.4g}", between, f"{found.reached:.0%}", *shares) + "|"


def _labelled(data: Scores, judge: str, cut: float) -> Labelled:
    ours = np.concatenate([data.scores[judge][system] for system in data.systems])
    human = np.concatenate([data.scores[data.target][system] for system in data.systems])
    there = ~(np.isnan(ours) | np.isnan(human))
    return Labelled(ours[there], human[there] >= cut, np.tile(data.groups, len(data.systems))[there])


def _highest(labelled: Labelled) -> str:
    """The best precision of any threshold that enough texts reach."""
    found = curve(labelled)
    return f"{100 * found.precision[found.coverage * len(labelled) >= FEWEST].max():.0f} %"


def _half(labelled: Labelled, seed: int) -> Truths:
    return first_half(labelled.groups, seed)


def drawn(data: Scores, outcomes: Sequence[Outcome]) -> str:
    """The plot of a data set."""
    bars = [bar_of(f"{one.case.judge}: {one.case.name}", one.found) for one in outcomes]
    return plot("gate", f"What the gate is worth: {data.name}", data.unit, bars)


def bar_of(label: str, found: Effect) -> Bar:
    """The row of a case in the plot."""
    never, always, gate, oracle = (one.value or 0.0 for one in (found.never, found.always, found.gate, found.oracle))
    lead = found.over_never if never >= always else found.over_always
    best = max(never, always)
    return Bar(label, never, always, gate, best + (lead.low or 0.0), best + (lead.high or 0.0), oracle)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " "


def _head(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _mean(found: Interval) -> str:
    return "-" if found.value is None else f"{found.value:.2f}"


def _exact(found: Interval) -> str:
    return "-" if found.value is None else f"{found.value:.{1 if abs(found.value) > 20 else 3}f}"


def _lead(found: Interval) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "-"
    digits = 2 if abs(found.high - found.low) > 0.1 else 3
    return f"{found.value:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"


def _share(found: Interval) -> str:
    return "-" if found.value is None else f"{100 * found.value:.0f} %"


def planned(data: Scores) -> str:
    """What a run would look at."""
    found = [edits(data, case, data.target) for case in cases(data)]
    numbers = f"{len(found)} cases, {sum(map(len, found))} edits, {len(np.unique(data.groups))} groups"
    return f"{data.name}: judges {', '.join(data.judges)}; {numbers}; calibrated on {data.target}; no model is asked"


def tables(data: Scores, outcomes: Sequence[Outcome], options: argparse.Namespace) -> Iterator[str]:
    """All tables of a data set."""
    resampling = Resampling(options.resamples, options.seed)
    yield from main_table(data, outcomes)
    yield from splits_table(data, options.splits, options.seed)
    if data.reports:
        yield from report_table(data, outcomes, resampling)
        yield from whole_table(data)
    else:
        yield from single_pairs(data, resampling)
    yield from error_free_table(data, options.precision, resampling)
    yield ""


def lines(options: argparse.Namespace) -> Iterable[str]:
    """The lines to print; plots are written."""
    resampling = Resampling(options.resamples, options.seed)
    for key in options.only or DATA:
        file, read = DATA[key]
        refuse_absent(options.data / file)
        data = read(options.data)
        if options.dry_run:
            yield planned(data)
            continue
        outcomes = [outcome(data, case, resampling) for case in cases(data)]
        yield from tables(data, outcomes, options)
        if options.svg:
            (options.svg / f"gate_{key}.svg").write_text(drawn(data, outcomes), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the research data")
    parser.add_argument("--only", choices=list(DATA), action="append")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="write the plots there")
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=20, help="other splits, to see how much hangs on the one")
    parser.add_argument("--dry-run", action="store_true", help="say what would be looked at")
    for line in lines(parser.parse_args(arguments)):
        click.echo(line)


if __name__ == "__main__":
    run(main)
