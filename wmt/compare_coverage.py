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
from mtagent.metrics.significance import Resampling, Statistics, paired_tests, statistics_of
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


def main() -> None:
    """Print the coverage by language pair, metric and sample size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--samples", type=int, default=400, help="samples of each kind")
    arguments = parser.parse_args()
    rows = []
    for corpus in corpora(arguments.data):
        if corpus.pair not in PAIRS:
            continue
        for metric in METRICS:
            systems = population(corpus, metric)
            cells = [corpus.pair, Overlap(metric, corpus.target_lang).name]
            for size in SIZES:
                shares = coverage(systems, size, arguments.samples)
                cells.append(" / ".join(f"{100 * share:.1f}" for share in shares))
            rows.append(tuple(cells))
    head = ("pair", "metric", *(f"{size} segments" for size in SIZES))
    display(text([Table("95 % intervals that hold the truth: score / difference", head, tuple(rows), labels=2)]))


if __name__ == "__main__":
    run(main)
