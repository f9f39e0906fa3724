"""How often the intervals of ``mtagent score`` and ``compare`` hold the truth, on samples of real translations.

    python -m wmt.compare_coverage [--data DIR] [--samples 400]

The population is the paragraphs of one language pair of WMT24's documents with two systems; the truth is their scores
and their difference on all of it. Each sample draws paragraphs from the population, with replacement.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mtagent.cli.terminal import display
from mtagent.metrics.overlap import Name, Overlap
from mtagent.metrics.protocol import make_metrics
from mtagent.metrics.significance import SIGNIFICANT, Resampling, Statistics, paired_tests, statistics_of
from mtagent.records import Segment
from mtagent.text.table import Table, text
from wmt.lib.data import DATA, run
from wmt.scores import Corpus, corpora

PAIRS = ("en-de", "en-ja")
SIZES = (50, 100, 200, 500)
METRICS: tuple[Name, ...] = ("bleu", "chrf", "ter")


def population(corpus: Corpus, metric_name: Name) -> list[Statistics]:
    """The counts of the first and the last system of ``corpus``."""
    segments = []
    for number, (source, reference) in enumerate(zip(corpus.sources, corpus.references, strict=True)):
        segments.append(
            Segment(
                id=str(number), source=source, source_lang="en", target_lang=corpus.target_lang, reference=reference
            )
        )
    (metric,) = make_metrics([metric_name], corpus.target_lang)
    statistics = []
    for system in (min(corpus.systems), max(corpus.systems)):
        texts = corpus.systems[system]
        statistics.append(statistics_of(metric, segments, texts, metric.score(segments, texts)))
    return statistics


def coverage(systems: list[Statistics], size: int, samples: int) -> tuple[float, float]:
    """How many of ``samples`` intervals hold the truth: of the first system's score, and of the difference."""
    first, second = systems
    true_difference = second.score - first.score
    random = np.random.default_rng(1)
    scores = differences = 0
    for sample in range(samples):
        places = random.integers(len(first.rows), size=size)
        drawn = [Statistics(system.rows[places], system.combined) for system in systems]
        (tests,) = paired_tests([drawn], [(0, 1)], Resampling(resamples=1_000, seed=sample))
        bounds = tests.significances[0].bounds
        assert bounds is not None
        assert tests.intervals is not None
        mean, half_width = tests.intervals[0]
        scores += abs(first.score - mean) <= half_width
        differences += bounds.low <= true_difference <= bounds.high
    return scores / samples, differences / samples


def false_alarms(systems: list[Statistics], size: int, samples: int) -> tuple[float, float, float]:
    """How often two equal systems are found different: each segment is given to the two at random.

    By p < 0.05 of the bootstrap, by that and an interval without 0, and by p < 0.05 of approximate randomization.
    """
    random = np.random.default_rng(2)
    alone = both = randomized = 0
    for sample in range(samples):
        places = random.integers(len(systems[0].rows), size=size)
        swapped = random.integers(2, size=(size, 1), dtype=bool)
        rows = [system.rows[places] for system in systems]
        drawn = [
            Statistics(np.where(swapped, rows[1], rows[0]), systems[0].combined),
            Statistics(np.where(swapped, rows[0], rows[1]), systems[0].combined),
        ]
        (bootstrap,) = paired_tests([drawn], [(0, 1)], Resampling(resamples=1_000, seed=sample))
        (randomization,) = paired_tests([drawn], [(0, 1)], Resampling("ar", 1_000, sample))
        test = bootstrap.significances[0]
        assert test.bounds is not None
        is_small = test.p_value is not None and test.p_value < SIGNIFICANT
        alone += is_small
        both += is_small and not test.bounds.low <= 0 <= test.bounds.high
        p_value = randomization.significances[0].p_value
        randomized += p_value is not None and p_value < SIGNIFICANT
    return alone / samples, both / samples, randomized / samples


def main() -> None:
    """Print the coverage, and the false alarms, by language pair, metric and sample size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--samples", type=int, default=400, help="samples of each kind")
    arguments = parser.parse_args()
    rows = []
    alarms = []
    for corpus in corpora(arguments.data):
        if corpus.pair not in PAIRS:
            continue
        for metric in METRICS:
            systems = population(corpus, metric)
            cells = [corpus.pair, Overlap(metric, corpus.target_lang).name]
            cells_of_alarms = list(cells)
            for size in SIZES:
                shares = coverage(systems, size, arguments.samples)
                cells.append(" / ".join(f"{100 * share:.1f}" for share in shares))
                rates = false_alarms(systems, size, arguments.samples)
                cells_of_alarms.append(" / ".join(f"{100 * rate:.1f}" for rate in rates))
            rows.append(tuple(cells))
            alarms.append(tuple(cells_of_alarms))
    head = ("pair", "metric", *(f"{size} segments" for size in SIZES))
    covered = Table("95 % intervals that hold the truth: score / difference", head, tuple(rows), labels=2)
    title = "equal systems found different: bootstrap p < 0.05 / and an interval without 0 / randomization p < 0.05"
    display(text([covered, Table(title, head, tuple(alarms), labels=2)]))


if __name__ == "__main__":
    run(main)
