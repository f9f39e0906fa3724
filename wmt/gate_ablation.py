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
    calibrated: Effect
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
    for result in outcomes:
        worth = result.calibrated
        means = (worth.never, worth.always, result.unmargined.gate, worth.gate, worth.oracle)
        shares = (worth.accepted, worth.good_kept, worth.harmful_refused)
        leads = (_lead(worth.over_never), _lead(worth.over_always))
        first = (result.case.judge, result.case.name, f"{result.margin:.4g}", *map(_mean, means))
        yield _row(*first) + _head(*leads, *map(_share, shares), verdict(worth))


def verdict(worth: Effect) -> str:
    """Whether the gate beats both never and always; what it does not beat is named."""
    verdicts = []
    for name, lead in (("never", worth.over_never), ("always", worth.over_always)):
        if lead.high is not None and lead.high < 0:
            verdicts.append(f"loses to {name}")
        elif lead.low is not None and lead.low <= 0:
            verdicts.append(f"not told apart from {name}")
    return ", ".join(verdicts) or "yes"


def report_table(data: Scores, outcomes: Sequence[Outcome], resampling: Resampling) -> Iterator[str]:
    """The same gates by metrics that had no part in the calibration, and by the judge itself, which is marked so."""
    yield f"\n### {data.name}: other metrics on the same half (lead of the gate over never / over always)\n"
    yield _row("judge", "edits", *data.reports) + "|"
    yield "|---" * (2 + len(data.reports)) + "|"
    warned = False
    for result in outcomes:
        cells = []
        for metric in data.reports:
            every = edits(data, result.case, metric)
            worth = effect(every.chosen(~first_half(every.groups, resampling.seed)), result.margin, resampling)
            warned = warned or metric == result.case.judge
            star = " (*)" if metric == result.case.judge else ""
            cells.append(f"{_lead(worth.over_never)} / {_lead(worth.over_always)}{star}")
        yield _row(result.case.judge, result.case.name, *cells) + "|"
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
            others = every.chosen(~half)
            leads.append(lead(others, best_margin(every.chosen(half))))
            plain.append(lead(others, 0.0))
        above = f"{sum(value > 0 for value in leads)} of {splits}"
        numbers = (f"{value:+.3f}" for value in (np.mean(leads), min(leads), max(leads)))
        yield _row(case.judge, case.name, *numbers, above, f"{np.mean(plain):+.3f}") + "|"


def lead(others: Edits, margin: float) -> float:
    """By how much the gate beats the better of never and always; below 0 where it does not."""
    keep = kept(others.gains, margin)
    gate = np.where(keep, others.human_after, others.human_before).mean()
    return float(gate - max(others.human_before.mean(), others.human_after.mean()))


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
        verdicts = Counter(_kind(data, judge, pair, resampling) for pair in pairs)
        names = ("both", "neither", "always", "never")
        yield _row(judge, *(str(verdicts[name]) for name in names)) + "|"


def _kind(data: Scores, judge: str, pair: tuple[str, str], resampling: Resampling) -> str:
    verdicts = verdict(outcome(data, Case(data.name, judge, "", (pair,)), resampling).calibrated)
    return (
        "both"
        if verdicts == "yes"
        else next((name for name in ("always", "never") if f"loses to {name}" in verdicts), "neither")
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
        result = error_free_of(labelled, half, data.target, precision, resampling=resampling)
        base = (judge, f"{100 * labelled.error_free.mean():.1f} %", _highest(labelled.chosen(half)))
        if result.threshold is None or result.held_out is None:
            yield _row(*base, "none", "-", f"{result.reached:.0%}", "-", "-", "-") + "|"
            continue
        between = f"{result.low:.4g} to {result.high:.4g}"
        on_others = (result.held_out.precision, result.held_out.coverage, result.held_out.recall)
        shares = [_share(Interval(share.value, share.low, share.high)) for share in on_others]
        yield _row(*base, f"{result.threshold:.4g}", between, f"{result.reached:.0%}", *shares) + "|"


def _labelled(data: Scores, judge: str, cut: float) -> Labelled:
    ours = np.concatenate([data.scores[judge][system] for system in data.systems])
    human = np.concatenate([data.scores[data.target][system] for system in data.systems])
    there = ~(np.isnan(ours) | np.isnan(human))
    return Labelled(ours[there], human[there] >= cut, np.tile(data.groups, len(data.systems))[there])


def _highest(labelled: Labelled) -> str:
    """The best precision of any threshold that enough texts reach."""
    points = curve(labelled)
    return f"{100 * points.precision[points.coverage * len(labelled) >= FEWEST].max():.0f} %"


def _half(labelled: Labelled, seed: int) -> Truths:
    return first_half(labelled.groups, seed)


def drawn(data: Scores, outcomes: Sequence[Outcome]) -> str:
    """The plot of a data set."""
    bars = [bar_of(f"{result.case.judge}: {result.case.name}", result.calibrated) for result in outcomes]
    return plot("gate", f"What the gate is worth: {data.name}", data.unit, bars)


def bar_of(label: str, worth: Effect) -> Bar:
    """The row of a case in the plot."""
    never, always, gate, oracle = (mean.value or 0.0 for mean in (worth.never, worth.always, worth.gate, worth.oracle))
    lead = worth.over_never if never >= always else worth.over_always
    best = max(never, always)
    return Bar(label, never, always, gate, best + (lead.low or 0.0), best + (lead.high or 0.0), oracle)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " "


def _head(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _mean(interval: Interval) -> str:
    return "-" if interval.value is None else f"{interval.value:.2f}"


def _exact(interval: Interval) -> str:
    return "-" if interval.value is None else f"{interval.value:.{1 if abs(interval.value) > 20 else 3}f}"


def _lead(interval: Interval) -> str:
    if interval.value is None or interval.low is None or interval.high is None:
        return "-"
    digits = 2 if abs(interval.high - interval.low) > 0.1 else 3
    return f"{interval.value:+.{digits}f} [{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"


def _share(interval: Interval) -> str:
    return "-" if interval.value is None else f"{100 * interval.value:.0f} %"


def planned(data: Scores) -> str:
    """What a run would look at."""
    of_cases = [edits(data, case, data.target) for case in cases(data)]
    numbers = f"{len(of_cases)} cases, {sum(map(len, of_cases))} edits, {len(np.unique(data.groups))} groups"
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
