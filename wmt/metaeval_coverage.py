"""Do the 95 % intervals of ``mtagent meta-eval --resample`` cover the truth in 95 of 100 samples?

    python -m wmt.metaeval_coverage [--simulations N] [--resamples N] [--seed N] [--only NAME]

Populations are invented: systems with a quality, documents and segments that are harder or easier, people who count
errors, and an evaluator that sees the quality with noise. Samples of segments or of documents are drawn from them, and
the intervals of each sample compared with the statistic of a very large sample; those of systems also with the mean of
all samples of this size. Reads no data and calls no model. See wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mtagent.analysis.agreement import (
    STATISTICS,
    Averaging,
    PairedScores,
    Statistic,
    accuracy,
    kendall,
    mean_absolute_error,
    pearson,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from mtagent.analysis.error_spans import rates
from mtagent.analysis.intervals import Bootstrap, Draws, ResamplingUnit, interval, resampled, resampled_spans
from mtagent.analysis.ties import Floats
from mtagent.cli.terminal import display
from mtagent.metrics.significance import Bounds
from wmt.lib.data import run

LARGE = 20_000
"""Segments of the sample that is taken for the truth; of pairs of all scores, whose number is its square, a tenth."""


class Population(NamedTuple):
    """What samples are drawn from."""

    name: str
    segments: int
    unit: ResamplingUnit = "segment"
    systems: int = 8
    per_document: int = 1
    noise: float = 1.5
    """Of the evaluator, relative to that of people (1)."""
    closeness: float = 1.0
    """The standard deviation of the systems' qualities, relative to that of single translations (2)."""


POPULATIONS = (
    Population("50 segments", 50),
    Population("200 segments", 200),
    Population("200 segments, close systems", 200, closeness=0.2),
    Population("40 documents of 5", 200, "document", per_document=5),
    Population("40 documents of 5, resampled as segments", 200, "segment", per_document=5),
    Population("200 segments, one system", 200, systems=1),
)


def sample(population: Population, segments: int, random: np.random.Generator) -> PairedScores:
    """The scores of all systems for ``segments`` new segments."""
    systems = population.systems
    quality = population.closeness * np.linspace(-1.5, 1.5, systems)[:, None]
    documents = segments // population.per_document
    # A document is hard for all systems, and harder for some; and the evaluator misjudges it as a whole.
    clustered = population.per_document > 1
    shape = (3, systems, documents) if clustered else (3, systems, segments)
    of_document = np.repeat(random.normal(size=shape), segments // shape[2], axis=2) * clustered
    hard = np.repeat(random.normal(size=(1, documents)), population.per_document, axis=1)
    truth = quality + hard + of_document[0] + 2 * random.normal(size=(systems, segments))
    seen = truth + of_document[1] + random.normal(size=truth.shape)
    # People count errors: many translations have none.
    human = -np.floor(np.maximum(0, 2 - seen))
    evaluator = np.round(truth + population.noise * random.normal(size=truth.shape) + of_document[2], 1)
    system, item = np.indices(truth.shape)
    return PairedScores(
        systems=tuple(f"system {place}" for place in range(systems)),
        items=tuple(map(str, range(segments))),
        evaluator=evaluator.ravel(),
        human=human.ravel(),
        system=system.ravel(),
        item=item.ravel(),
    )


def statistics(scores: PairedScores, all_together: PairedScores) -> dict[str, Statistic]:
    """All statistics, by name; those of pairs of all scores from ``all_together``."""
    by_name = {}
    if len(scores.systems) > 1:
        systems = system_level(scores)
        for statistic in (accuracy(systems), pearson(systems), spearman(systems), kendall(systems)):
            by_name[f"systems: {statistic.name}"] = statistic
    averagings: tuple[Averaging, ...] = ("none", "item") if len(scores.systems) > 1 else ("none",)
    for averaging in averagings:
        chosen = all_together if averaging == "none" else scores
        words = "all scores" if averaging == "none" else "by item"
        for name in ("pearson", "spearman", "kendall", "acc-t"):
            by_name[f"{words}: {name}"] = STATISTICS[name](chosen, averaging)
    by_name["all scores: mae"] = mean_absolute_error(scores)
    return by_name


def span_counts(segments: int, random: np.random.Generator) -> Floats:
    """Counts of marked characters (as in :func:`mtagent.analysis.error_spans.segment_counts`); many are 0."""
    gold = random.poisson(1.0, segments) * random.integers(3, 20, segments)
    share = random.beta(2, 2, segments)
    found = np.floor(gold * share)
    extra = random.poisson(0.5, segments) * random.integers(3, 20, segments)
    return np.column_stack([found, found + extra, found, gold]).astype(np.float64)


def coverage(population: Population, simulations: int, resamples: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """Each statistic with the share of intervals that cover the truth, and their mean width."""
    random = np.random.default_rng(seed)
    truth = {}
    very_large = sample(population, LARGE, random)
    for name, statistic in statistics(very_large, sample(population, LARGE // 10, random)).items():
        truth[name] = statistic.value or 0.0
    span_truth = rates(span_counts(LARGE * 10, random).sum(axis=0, keepdims=True))[0].tolist()
    for rate, value in zip(("precision", "recall", "f1"), span_truth, strict=True):
        truth[f"spans: {rate}"] = value
    intervals: dict[str, list[Bounds | None]] = {}
    values_by_name: dict[str, list[float]] = {}
    units = {}
    for item in range(population.segments):
        units[str(item)] = str(item)
        if population.unit == "document":
            units[str(item)] = str(item // population.per_document)
    for simulation in range(simulations):
        draws = Draws(units, Bootstrap(population.unit, resamples, seed + simulation))
        scores = sample(population, population.segments, random)
        by_name = statistics(scores, scores)
        if population.systems > 1:
            by_name["systems: spa"] = soft_pairwise_accuracy(scores)
        for name, statistic in by_name.items():
            intervals.setdefault(name, []).append(interval(resampled(scores, statistic, draws)))
            values_by_name.setdefault(name, []).append(statistic.value or 0.0)
        if population.per_document == 1:
            counts = span_counts(population.segments, random)
            for rate, values in resampled_spans(counts, np.arange(len(counts)), draws).items():
                intervals.setdefault(f"spans: {rate}", []).append(interval(values))
    for name, bounds in intervals.items():
        if name in truth:
            yield name, covered(bounds, truth[name]), mean_width(bounds)
        if name.startswith("systems"):
            yield f"{name}, at this size", covered(bounds, float(np.mean(values_by_name[name]))), mean_width(bounds)


def covered(intervals: Sequence[Bounds | None], truth: float) -> float:
    """The share of intervals that hold the truth; one that is not defined does not."""
    hits = 0
    for bounds in intervals:
        if bounds is not None and bounds.low <= truth <= bounds.high:
            hits += 1
    return hits / len(intervals)


def mean_width(intervals: Sequence[Bounds | None]) -> float:
    """Of the intervals that are defined."""
    widths = [bounds.high - bounds.low for bounds in intervals if bounds is not None]
    return float(np.mean(widths))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table with a column for each population."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=500, metavar="N", help="samples of each population")
    parser.add_argument("--resamples", type=int, default=500, metavar="N", help="of the bootstrap")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--only", choices=[population.name for population in POPULATIONS], action="append")
    parser.add_argument("--dry-run", action="store_true", help="say what would be computed")
    options = parser.parse_args(arguments)
    chosen = [population for population in POPULATIONS if not options.only or population.name in options.only]
    if options.dry_run:
        names = "; ".join(population.name for population in chosen)
        display(f"would simulate {options.simulations} samples of each population ({names}); asks no model: $0")
        return
    columns = []
    for population in chosen:
        column = {}
        for name, share, width in coverage(population, options.simulations, options.resamples, options.seed):
            column[name] = f"{100 * share:.1f} (±{width / 2:.3f})"
        columns.append(column)
    display(f"| statistic | {' | '.join(population.name for population in chosen)} |")
    display("|---" + "|---:" * len(chosen) + "|")
    for name in dict.fromkeys(name for column in columns for name in column):
        display(f"| {name} | {' | '.join(column.get(name, '') for column in columns)} |")


if __name__ == "__main__":
    run(main)
