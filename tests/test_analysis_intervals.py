"""Intervals of agreement: each resample is what one gets by writing the drawn segments out and computing again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtagent.analysis.agreement import (
    STATISTICS,
    Averaging,
    PairedScores,
    ScorePair,
    Statistic,
    calibrated_accuracy,
    mean_absolute_error,
    mean_squared_error,
    paired,
    soft_pairwise_accuracy,
    system_level,
)
from mtagent.analysis.error_spans import CHARACTERS, SegmentErrors, score, segment_counts, span_pairs
from mtagent.analysis.intervals import Bootstrap, Draws, interval, resampled, resampled_spans
from mtagent.errors import ConfigError
from mtagent.records import ErrorSpan

SYSTEMS, SEGMENTS, RESAMPLES = 5, 24, 12
RNG = np.random.default_rng(5)
HUMAN = RNG.integers(-4, 1, (SYSTEMS, SEGMENTS)).astype(float)
JUDGE = np.round(HUMAN + RNG.normal(size=HUMAN.shape) * 2)
ITEMS = [str(item) for item in range(SEGMENTS)]
BY_SEGMENT = {item: item for item in ITEMS}
BY_DOCUMENT = {item: f"d{int(item) // 4}" for item in ITEMS}
SCORES = paired(
    ScorePair("ABCDE"[s], ITEMS[i], JUDGE[s, i], HUMAN[s, i]) for s in range(SYSTEMS) for i in range(SEGMENTS)
)
units = pytest.mark.parametrize("units", [BY_SEGMENT, BY_DOCUMENT])


def draws_of(units: dict[str, str]) -> Draws:
    return Draws(units, Bootstrap("segment", RESAMPLES))


def written_out(draws: Draws, resample: int) -> PairedScores:
    """A resample, with a segment of its own for each time that one was drawn."""
    rows = []
    for item in ITEMS:
        for copy in range(int(draws.weights[resample, draws.places[item]])):
            for system in range(SYSTEMS):
                place = int(item)
                rows.append(ScorePair("ABCDE"[system], f"{item}/{copy}", JUDGE[system, place], HUMAN[system, place]))
    return paired(rows)


@units
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
def test_correlations_of_segments(name: str, averaging: Averaging, units: dict[str, str]) -> None:
    draws = draws_of(units)
    compute = STATISTICS[name]  # type: ignore[index]
    expected = [compute(written_out(draws, resample), averaging).value for resample in range(RESAMPLES)]
    assert resampled(SCORES, compute(SCORES, averaging), draws) == pytest.approx(expected, abs=1e-12)


@units
@pytest.mark.parametrize("name", ["acc", "pearson", "spearman", "kendall"])
def test_statistics_of_systems(name: str, units: dict[str, str]) -> None:
    draws = draws_of(units)
    compute = STATISTICS[name]  # type: ignore[index]
    expected = [compute(system_level(written_out(draws, resample)), "none").value for resample in range(RESAMPLES)]
    assert resampled(SCORES, compute(system_level(SCORES), "none"), draws) == pytest.approx(expected, abs=1e-12)


def test_soft_accuracy_is_near_to_the_one_by_permutations() -> None:
    draws = draws_of(BY_SEGMENT)
    expected = [soft_pairwise_accuracy(written_out(draws, resample)).value for resample in range(RESAMPLES)]
    assert resampled(SCORES, soft_pairwise_accuracy(SCORES), draws) == pytest.approx(expected, abs=0.03)


@units
def test_errors_scaled_by_the_extremes_of_the_drawn_scores(units: dict[str, str]) -> None:
    draws = draws_of(units)
    for compute in (mean_absolute_error, mean_squared_error):
        for scale in ("none", "minmax"):
            expected = [compute(written_out(draws, resample), scale).value for resample in range(RESAMPLES)]
            assert resampled(SCORES, compute(SCORES, scale), draws, scale) == pytest.approx(expected, abs=1e-12)


def accuracy_at(scores: PairedScores, epsilon: float, averaging: Averaging) -> float:
    """By counting pairs of different scores, a score and its copy being none; the mean over groups."""
    groups: dict[str, list[ScorePair]] = {}
    for row in scores.rows():
        groups.setdefault({"none": "", "item": row.item, "system": row.system}[averaging], []).append(row)
    shares = []
    for rows in groups.values():
        right = []
        for place, first in enumerate(rows):
            for second in rows[place + 1 :]:
                if first.system == second.system and first.item.split("/")[0] == second.item.split("/")[0]:
                    continue
                apart = first.evaluator - second.evaluator  # type: ignore[operator]
                verdict = np.sign(first.human - second.human)  # type: ignore[operator]
                right.append(verdict == (0 if abs(apart) <= epsilon else np.sign(apart)))
        shares.append(np.mean(right))
    return float(np.mean(shares))


@units
@pytest.mark.parametrize("averaging", ["none", "item", "system"])
def test_calibrated_accuracy_keeps_the_threshold_of_all_scores(averaging: Averaging, units: dict[str, str]) -> None:
    draws = draws_of(units)
    whole = replace(calibrated_accuracy(SCORES, averaging), epsilon=1.0)
    expected = [accuracy_at(written_out(draws, n), 1.0, averaging) for n in range(RESAMPLES)]
    assert resampled(SCORES, whole, draws) == pytest.approx(expected, abs=1e-12)


def test_spans() -> None:
    def marked(start: int, end: int) -> tuple[ErrorSpan, ...]:
        return (ErrorSpan(text="", start=start, end=end, category="accuracy", severity="major"),) if end else ()

    marks = [(marked(0, n % 3), marked(n % 2, n % 4)) for n in range(SEGMENTS)]
    segments = [SegmentErrors(*both, "abcdef", item=item) for item, both in zip(ITEMS, marks, strict=True)]
    pairs = span_pairs(segments)
    draws = draws_of(BY_DOCUMENT)
    places = np.array([draws.places[item] for item in pairs.items])
    samples = resampled_spans(segment_counts(pairs, CHARACTERS), places, draws)
    for resample in range(RESAMPLES):
        drawn = []
        for segment in segments:
            drawn += [segment] * int(draws.weights[resample, draws.places[segment.item]])
        expected = score(span_pairs(drawn), CHARACTERS)
        for rate, values in samples.items():
            assert values[resample] == pytest.approx(getattr(expected, rate), abs=1e-12)


def test_what_is_often_undefined_has_no_interval() -> None:
    values = np.arange(100.0)
    bounds = interval(values)
    assert bounds is not None
    assert (bounds.low, bounds.high) == (pytest.approx(2.475), pytest.approx(96.525))
    values[:5] = np.nan
    assert interval(values) is not None
    values[5] = np.nan
    assert interval(values) is None


def test_a_constant_evaluator_in_a_resample_is_undefined_and_not_0() -> None:
    rows = [ScorePair("A", item, float(item == "0"), float(int(item))) for item in ITEMS]
    scores = paired(rows)
    draws = Draws(BY_SEGMENT, Bootstrap(resamples=50))
    drawn = draws.weights[:, 0] > 0
    assert 0 < drawn.sum() < 50
    for name in ("pearson", "spearman", "kendall"):
        values = resampled(scores, STATISTICS[name](scores, "none"), draws)
        assert (np.isnan(values) == ~drawn).all()


@pytest.mark.parametrize("wrong", [{"unit": "word"}, {"resamples": 0}, {"seed": -1}])
def test_wrong_settings(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Bootstrap(**wrong)  # type: ignore[arg-type]


def test_large_data_are_computed_in_blocks_with_the_same_result() -> None:
    """4,000 scores of which only 40 are drawn: the others change nothing."""
    random = np.random.default_rng(2)
    rows = [ScorePair("A", str(n), float(random.integers(9)), float(random.integers(5))) for n in range(4000)]
    few, all_scores = paired(rows[:40]), paired(rows)
    draws = Draws({row.item: row.item for row in rows[:40]}, Bootstrap(resamples=5))
    all_draws = Draws({row.item: row.item for row in rows}, Bootstrap(resamples=5))
    all_draws.weights = np.zeros((5, 4000))
    all_draws.weights[:, :40] = draws.weights
    statistics: list[Statistic] = [STATISTICS[name](few, "none") for name in ("spearman", "kendall", "acc-t")]
    for statistic in statistics:
        assert resampled(all_scores, statistic, all_draws) == pytest.approx(resampled(few, statistic, draws), abs=1e-12)
