"""A comparison of runs for each language pair, and the averages over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Unpack

from mtagent.analysis.compare import CompareOptions, RunComparison, compare_staged
from mtagent.analysis.compared_rows import Contrast
from mtagent.analysis.staged_run import StagedRun
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import NOISE
from mtagent.text import languages

LanguagePair = tuple[str, str]
"""The source and the target language."""


class AverageScore(NamedTuple):
    """The mean over language pairs, each of which counts the same."""

    row: str
    metric: str
    score: float


class AverageDifference(NamedTuple):
    """The mean difference between two rows over language pairs, and in how many pairs ``row`` is better or worse."""

    row: str
    against: str
    metric: str
    difference: float
    better: int
    worse: int
    surely_better: int | None
    """Pairs in which the difference is significant after correction; ``None`` if nothing was tested."""
    surely_worse: int | None


@dataclass(frozen=True)
class PairAverages:
    """The averages of the rows and metrics that all pairs have."""

    pairs: tuple[str, ...]
    scores: tuple[AverageScore, ...]
    differences: tuple[AverageDifference, ...]


def compare_pairs(
    runs: Sequence[StagedRun], pairs: Sequence[LanguagePair] = (), **options: Unpack[CompareOptions]
) -> list[RunComparison]:
    """Compare ``runs`` for each language pair of their segments, or for ``pairs`` only.

    Raises :class:`ConfigError` for a pair that no run has, and :class:`InputError` for a run that lacks one.
    """
    all_pairs = _language_pairs(runs)
    if len(all_pairs) == 1:
        _refuse_unknown(pairs, all_pairs)
        return [compare_staged(runs, **options)]
    comparisons = []
    for pair in pairs or all_pairs:
        comparisons.append(compare_staged(in_pairs(runs, [pair]), **options))
    return comparisons


def in_pairs(runs: Sequence[StagedRun], pairs: Sequence[LanguagePair]) -> list[StagedRun]:
    """``runs`` with their segments in these language pairs; without people's decisions, which are on all segments.

    Raises :class:`ConfigError` for a pair that no run has, and :class:`InputError` for a run that has none of them.
    """
    _refuse_unknown(pairs, _language_pairs(runs))
    chosen_runs = []
    for run in runs:
        segments = []
        for staged in run.segments:
            if (staged.segment.source_lang, staged.segment.target_lang) in pairs:
                segments.append(staged)
        if not segments:
            names = ", ".join(languages.pair_of(*pair) for pair in pairs)
            raise InputError(f"run {run.name!r} has no segments in {names}; -l chooses other pairs")
        chosen_runs.append(replace(run, segments=tuple(segments), review=None))
    return chosen_runs


def _language_pairs(runs: Sequence[StagedRun]) -> list[LanguagePair]:
    """The language pairs of the segments, in their order."""
    found: dict[LanguagePair, None] = {}
    for run in runs:
        for staged in run.segments:
            found[staged.segment.source_lang, staged.segment.target_lang] = None
    return list(found)


def _refuse_unknown(pairs: Sequence[LanguagePair], all_pairs: Sequence[LanguagePair]) -> None:
    for pair in pairs:
        if pair not in all_pairs:
            listed = ", ".join(languages.pair_of(*other) for other in all_pairs)
            raise ConfigError(f"-l {languages.pair_of(*pair)}: the runs have no such segments, only {listed}")


def averages(comparisons: Sequence[RunComparison]) -> PairAverages:
    """The averages over ``comparisons``, one for each language pair."""
    names = tuple(languages.pair_of(each.source_lang, each.target_lang) for each in comparisons)
    first = comparisons[0]
    scores = []
    for row in first.rows:
        for metric in first.metrics:
            values = []
            for comparison in comparisons:
                value = _score(comparison, row.name, metric)
                if value is not None:
                    values.append(value)
            if len(values) == len(comparisons):
                scores.append(AverageScore(row.name, metric, sum(values) / len(values)))
    differences = []
    for contrast in first.contrasts:
        contrasts = []
        for comparison in comparisons:
            same_contrast = comparison.contrast(contrast.row, contrast.against, contrast.metric)
            if same_contrast is not None:
                contrasts.append(same_contrast)
        if len(contrasts) == len(comparisons):
            is_better = first.row(contrast.row).cells[first.metrics.index(contrast.metric)].score.higher_is_better
            differences.append(_average_difference(contrasts, 1 if is_better else -1))
    return PairAverages(names, tuple(scores), tuple(differences))


def _score(comparison: RunComparison, row_name: str, metric: str) -> float | None:
    """The score of a row by a metric; ``None`` if this pair lacks either."""
    if metric not in comparison.metrics:
        return None
    for row in comparison.rows:
        if row.name == row_name:
            return row.cells[comparison.metrics.index(metric)].score.value
    return None


def _average_difference(contrasts: Sequence[Contrast], sign: int) -> AverageDifference:
    """The average of one contrast over pairs; ``sign`` is -1 if a lower score is better."""
    better = worse = surely_better = surely_worse = 0
    for contrast in contrasts:
        is_sure = contrast.is_significant
        if sign * contrast.difference > NOISE:
            better += 1
            surely_better += is_sure
        elif sign * contrast.difference < -NOISE:
            worse += 1
            surely_worse += is_sure
    was_tested = any(contrast.p_value is not None for contrast in contrasts)
    first = contrasts[0]
    return AverageDifference(
        row=first.row,
        against=first.against,
        metric=first.metric,
        difference=sum(contrast.difference for contrast in contrasts) / len(contrasts),
        better=better,
        worse=worse,
        surely_better=surely_better if was_tested else None,
        surely_worse=surely_worse if was_tested else None,
    )
