"""Significance tests: sacreBLEU's p-values from its random numbers, and intervals within its rounding."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from mtagent.errors import ConfigError
from mtagent.metrics import overlap as formulas
from mtagent.metrics.overlap import Name, Overlap
from mtagent.metrics.significance import Kind, Resampling, Significance, Statistics, holm, paired_tests, statistics_of
from mtagent.records import Score, Segment

WORDS = ["der", "die", "das", "Hund", "Katze", "rennt", "im", "am", "Haus", "Garten", "und", "oder", "nicht", ".", ","]


def texts(seed: int = 1, number: int = 60) -> tuple[list[str], list[list[str]]]:
    """References, and three systems that are nearly equally good: only then are p-values anything but the smallest."""
    rng = random.Random(seed)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(3, 20))) for _ in range(number)]
    systems = [
        [" ".join(w if rng.random() < 0.8 else rng.choice(WORDS) for w in text.split()) for text in references]
        for _ in range(3)
    ]
    return references, systems


REFERENCES, SYSTEMS = texts()
SEGMENTS = [
    Segment(id=str(i), source="", source_lang="en", target_lang="de", reference=text)
    for i, text in enumerate(REFERENCES)
]
THEIRS: dict[Name, Any] = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def rows(name: Name, systems: Sequence[Sequence[str]] = SYSTEMS) -> list[Statistics]:
    metric = Overlap(name, "de")
    return [statistics_of(metric, SEGMENTS, system, metric.score(SEGMENTS, system)) for system in systems]


@pytest.mark.parametrize("name", list(THEIRS))
@pytest.mark.parametrize(("kind", "resamples"), [("bs", 1000), ("ar", 2000)])
def test_the_p_values_are_sacrebleu_s(name: Name, kind: Kind, resamples: int) -> None:
    metric = THEIRS[name](references=[REFERENCES])
    named = [(str(i), system) for i, system in enumerate(SYSTEMS)]
    signatures, results = PairedTest(named, {name: metric}, None, test_type=kind, n_samples=resamples)()
    ((label, signature),) = signatures.items()
    how = Resampling(kind, resamples)
    (ours,) = paired_tests([rows(name)], [(0, 1), (0, 2)], how)
    p_values = [test.p_value for test in ours.significances]
    assert p_values == [theirs.p_value for theirs in results[label][1:]]
    assert len({*p_values}) > 1
    assert how.signed(Overlap(name, "de").score(SEGMENTS, SYSTEMS[0]).signature) == str(signature)
    assert (ours.intervals is None) == (kind == "ar")
    for interval, theirs in zip(ours.intervals or (), results[label], strict=kind == "bs"):
        assert interval == pytest.approx((theirs.mean, theirs.ci), abs=1e-4)  # sacreBLEU adds up in float32
    # Any two systems are tested as sacreBLEU tests them with the first of the two as its baseline.
    _, results = PairedTest([named[2], named[1]], {name: metric}, None, test_type=kind, n_samples=resamples)()
    (backward,) = paired_tests([rows(name)], [(2, 1)], how)
    assert backward.significances[0].p_value == results[label][1].p_value


def test_the_interval_of_a_difference_is_turned_with_the_pair() -> None:
    (tests,) = paired_tests([rows("chrf")], [(0, 1), (1, 0), (0, 0)], Resampling())
    there, back, none = tests.significances
    assert there.bounds is not None
    assert back.bounds == (-there.bounds.high, -there.bounds.low)
    assert there.p_value == back.p_value
    assert (none.bounds, none.p_value) == ((0, 0), None)


def test_the_interval_of_a_difference_is_that_of_the_definition() -> None:
    first, other = (values[:200] for values in LARGE)
    drawn = np.random.default_rng(12345).choice(200, size=(1_000, 200), replace=True)
    ordered = np.sort((other - first)[drawn].mean(axis=1))
    (tests,) = paired_tests([[_of_values(first), _of_values(other)]], [(0, 1)], Resampling())
    assert tests.significances[0].bounds == pytest.approx((ordered[25], ordered[974]))


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # an example with its result by hand
        ([0.9, 0.8], [1.0, 1.0]),
        ([None, 0.02, None, 0.04], [None, 0.04, None, 0.04]),
    ],
)
def test_holm_corrects_the_smallest_most(p_values: list[float | None], corrected: list[float | None]) -> None:
    assert holm(p_values) == pytest.approx(corrected)


def test_a_difference_that_is_plain_is_significant_and_another_seed_gives_other_numbers() -> None:
    better = rows("chrf", [SYSTEMS[0], REFERENCES])
    assert only_test(better, Resampling()).p_value == 1 / 1001
    assert only_test(better, Resampling("ar")).p_value == 1 / 10_001
    first, second = (only_test(rows("chrf"), Resampling(seed=seed)) for seed in (1, 2))
    assert first != second
    assert first == only_test(rows("chrf"), Resampling(seed=1))


def only_test(systems: list[Statistics], how: Resampling) -> Significance:
    """The test of the second system against the first."""
    return paired_tests([systems], [(0, 1)], how)[0].significances[0]


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_a_system_against_itself_has_no_p_value_unlike_sacrebleu(kind: Kind) -> None:
    """sacreBLEU calls it significant, p = 0.001: a stage that changed nothing would be marked as better."""
    assert only_test(rows("bleu", [SYSTEMS[0], SYSTEMS[0]]), Resampling(kind)).p_value is None


LARGE = [np.random.default_rng(seed).normal(0.01 * seed, 1, size=9_000) for seed in (1, 2)]
"""Scores of segments, too many for one block of a thousand resamples."""


def test_a_large_corpus_is_resampled_in_blocks_with_the_same_numbers() -> None:
    drawn = np.random.default_rng(7).choice(9_000, size=(1_000, 9_000), replace=True)
    (of_one,) = paired_tests([[_of_values(LARGE[0])]], [], Resampling(seed=7))
    assert of_one.intervals is not None
    mean, half_width = of_one.intervals[0]
    ordered = np.sort(LARGE[0][drawn].mean(axis=1))
    assert (mean, half_width) == pytest.approx((ordered.mean(), (ordered[974] - ordered[25]) / 2))
    swapped = np.random.default_rng(7).integers(2, size=(1_000, 9_000), dtype=bool)
    first, other = LARGE
    apart = np.abs(np.where(swapped, first, other).mean(axis=1) - np.where(swapped, other, first).mean(axis=1))
    expected = (np.count_nonzero(apart > abs(first.mean() - other.mean())) + 1) / 1_001
    test = only_test([_of_values(first), _of_values(other)], Resampling("ar", 1_000, 7))
    assert test.p_value is not None
    assert 0.01 < expected == test.p_value < 0.99


def _of_values(values: Any) -> Statistics:
    return Statistics(np.stack([values, np.ones_like(values)], axis=1), formulas.mean)


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_metrics_that_are_tested_together_are_tested_as_if_alone(kind: Kind) -> None:
    names: list[Name] = ["bleu", "chrf", "ter"]
    pairs = [(0, 1), (2, 1)]
    together = paired_tests([rows(name) for name in names], pairs, Resampling(kind, 200))
    assert together == [paired_tests([rows(name)], pairs, Resampling(kind, 200))[0] for name in names]


class Averaging:
    """A metric from another package: it has scores of segments, and what it makes of them."""

    name = "averaging"
    higher_is_better = True

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        return self.made(translations, float(np.mean([len(text) for text in translations])))

    def made(self, translations: Sequence[str], value: float) -> Score:
        return Score(metric="A", value=value, segments=tuple(len(text) for text in translations), signature="A")


def test_other_metrics_are_resampled_by_their_segments() -> None:
    metric, outputs = Averaging(), ["a", "bbb", "cc", "dddd"]
    segments = SEGMENTS[:4]
    of_mean = statistics_of(metric, segments, outputs, metric.score(segments, outputs))
    of_sum = statistics_of(metric, segments, outputs, metric.made(outputs, 10))
    how = Resampling(resamples=500)
    (tests,) = paired_tests([[of_mean, of_sum]], [], how)
    mean, total = tests.intervals or ()
    assert mean.mean == pytest.approx(2.5, abs=0.1)
    assert total == pytest.approx((4 * mean.mean, 4 * mean.half_width))
    with pytest.raises(ConfigError, match="averaging: its score is not the mean"):
        statistics_of(metric, segments, outputs, metric.made(outputs, 3))


def test_a_score_of_0_is_resampled_like_those_of_the_other_systems() -> None:
    metric, segments = Averaging(), SEGMENTS[:4]
    none, some = metric.made([""] * 4, 0), metric.made(["a", "", "cc", ""], 3)
    both = [statistics_of(metric, segments, [""] * 4, score, [none, some]) for score in (none, some)]
    assert [len(system.rows[0]) for system in both] == [1, 1]
    assert [float(system.combined(system.rows.sum(axis=0, keepdims=True))[0]) for system in both] == [0, 3]


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_three_thousand_segments_take_seconds(kind: Kind) -> None:
    rng = np.random.default_rng(1)
    metric = Overlap("chrf", "de")
    systems = [Statistics(rng.integers(1, 50, size=(3000, 18)).astype(float), metric.combined) for _ in range(4)]
    began = time.perf_counter()
    (tests,) = paired_tests([systems], [(0, 1), (0, 2), (0, 3)], Resampling(kind))
    assert len(tests.significances) == 3
    assert time.perf_counter() - began < 20
