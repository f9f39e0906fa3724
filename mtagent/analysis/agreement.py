"""An evaluator's scores compared with people's, and how well they agree, by the statistics of the field.

The statistics equal those of the field's tool, mt-metrics-eval, without sampling or rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from mtagent.analysis.ties import (
    BLOCK,
    Floats,
    Groups,
    Ints,
    ScorePairs,
    TieThreshold,
    calibrate,
    pairs_in,
    uncalibrated,
)
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import NOISE, Bounds
from mtagent.version import __version__

Level = Literal["sys", "seg"]
Policy = Literal["refuse", "leave-out"]
Averaging = Literal["none", "item", "system"]
Scale = Literal["none", "minmax"]

LARGEST = 1e100
"""Scores beyond it are refused: their squares would not be numbers any more."""


class ScorePair(NamedTuple):
    """The scores of one translation; ``None`` is "not scored"."""

    system: str
    item: str
    """The segment or document; empty for the score of a whole system."""
    evaluator: float | None
    human: float | None


class Missing(NamedTuple):
    """How many translations (systems × items) were left out because a score is missing."""

    evaluator: int = 0
    human: int = 0
    both: int = 0
    """A row with neither score."""
    absent: int = 0
    """No row at all."""

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


NOTHING_MISSING = Missing()


@dataclass(frozen=True, eq=False)
class PairedScores:
    """Paired scores, one after the other; each has both scores, so that no array ever holds a NaN.

    The arrays have one entry for each score and cannot be written to. At level ``sys`` there is one score for each
    system and one item without a name. Made by :func:`paired`. Raises :class:`InputError` for scores that are not
    finite numbers.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    evaluator: Floats
    human: Floats
    """The scores; higher is better in both."""
    system: Ints
    item: Ints
    """The places of their names in ``systems`` and ``items``."""
    missing: Missing = NOTHING_MISSING
    level: Level = "seg"

    def __post_init__(self) -> None:
        if not len(self.evaluator) == len(self.human) == len(self.system) == len(self.item):
            raise InputError("paired scores: the four arrays must have the same length")
        if not (np.abs(self.evaluator) <= LARGEST).all() or not (np.abs(self.human) <= LARGEST).all():
            raise InputError(f"paired scores: not all are finite numbers up to {LARGEST:g}; leave missing scores out")
        for values in (self.evaluator, self.human, self.system, self.item):
            values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.evaluator)

    def rows(self) -> Iterator[ScorePair]:
        """The scores as rows, in order, without those left out."""
        columns = (self.system, self.item, self.evaluator, self.human)
        for system, item, evaluator, human in zip(*(values.tolist() for values in columns), strict=True):
            yield ScorePair(self.systems[system], self.items[item], evaluator, human)


def paired(rows: Iterable[ScorePair], *, missing: Policy = "refuse", level: Level = "seg") -> PairedScores:
    """Read paired scores from rows in any order, one for each translation.

    ``missing``: what becomes of translations with a score that is ``None`` or with no row: ``refuse`` them, or
    ``leave-out`` and count them (:class:`Missing`). For given scores of systems (corpus BLEU, for example): ``level``
    ``sys``, the items empty.

    Raises :class:`InputError` for NaN and infinite scores, two rows for one translation, a missing score (if refused),
    and where no score is left.
    """
    if missing not in ("refuse", "leave-out"):
        raise ConfigError(f"missing scores: 'refuse' or 'leave-out', not {missing!r}")
    way_out = "give all scores, or leave such translations out (missing='leave-out')"
    systems: dict[str, int] = {}
    items: dict[str, int] = {}
    places: dict[tuple[int, int], tuple[float | None, float | None]] = {}
    for system, item, *scores in rows:
        name = translation_name(system, item)
        place = (systems.setdefault(system, len(systems)), items.setdefault(item, len(items)))
        if level == "sys" and item:
            raise InputError(f"{name}: a system's own score has no item")
        if place in places:
            raise InputError(f"{name}: has two rows")
        for score, whose in zip(scores, ("the evaluator's", "the human"), strict=True):
            if score is None and missing == "refuse":
                raise InputError(f"{name}: {whose} score is missing; {way_out}")
            if score is not None and not abs(score) <= LARGEST:
                raise InputError(
                    f"{name}: {whose} score must be a finite number up to {LARGEST:g}; a missing one is None"
                )
        places[place] = (scores[0], scores[1])
    absent = len(systems) * len(items) - len(places)
    if absent and missing == "refuse":
        for system, system_place in systems.items():
            for item, item_place in items.items():
                if (system_place, item_place) not in places:
                    raise InputError(f"{translation_name(system, item)}: has no score; {way_out}")
    scored = {place: scores for place, scores in places.items() if None not in scores}
    if not scored:
        raise InputError("no translation has both a score of the evaluator and one of people")
    lacking = Counter((score is None, human_score is None) for score, human_score in places.values())
    evaluator, human = np.array(list(scored.values()), dtype=np.float64).T.copy()
    system_places, item_places = np.array(list(scored), dtype=np.int64).T.copy()
    return PairedScores(
        systems=tuple(systems),
        items=tuple(items),
        evaluator=evaluator,
        human=human,
        system=system_places,
        item=item_places,
        missing=Missing(lacking[True, False], lacking[False, True], lacking[True, True], absent),
        level=level,
    )


def translation_name(system: str, item: str) -> str:
    """A translation, or a system as a whole, for messages."""
    return f"system {system!r}, item {item!r}" if item else f"system {system!r}"


def system_level(scores: PairedScores) -> PairedScores:
    """One score for each system: the mean over its segments that have both scores.

    Systems without any are counted as missing. Where scores were left out, the means of two systems may be about
    different segments.
    """
    if scores.level == "sys":
        return scores
    groups, scored = groups_of(scores, "system"), np.unique(scores.system)
    return PairedScores(
        systems=scores.systems,
        items=("",),
        evaluator=groups.total(scores.evaluator) / groups.counts(),
        human=groups.total(scores.human) / groups.counts(),
        system=scored,
        item=np.zeros(len(scored), dtype=np.int64),
        missing=Missing(absent=len(scores.systems) - len(scored)),
        level="sys",
    )


# --- statistics


EQUAL = "the scores of the evaluator or of people are all equal"
"""Why there is no correlation."""
ALONE = "there are no two scores to compare"
"""Why there is no accuracy."""
NOWHERE = "no segment has scores of all systems"
"""Why systems cannot be compared by the same segments."""


@dataclass(frozen=True)
class Statistic:
    """How an evaluator agrees with people, by one statistic."""

    name: str
    value: float | None
    """``None`` where the statistic is not defined."""
    level: Level
    averaging: Averaging
    scores: int
    """How many paired scores there are."""
    groups: int
    """How many groups the value is the mean of."""
    groups_left_out: int
    """Groups without a defined value."""
    missing: Missing
    """Translations that were left out before."""
    signature: str
    pairs: int | None = None
    """How many pairs of scores were compared; ``None`` if scores aren't compared in pairs."""
    epsilon: float | None = None
    """Differences of the evaluator's scores up to it are ties (accuracy only)."""
    undefined: str | None = None
    """Why there is no value."""
    higher_is_better: bool = True
    interval: Bounds | None = None
    """Of the value (:mod:`mtagent.analysis.intervals`)."""


def groups_of(scores: PairedScores, averaging: Averaging) -> Groups:
    """One group for all scores (``none``), or one for each item or system that has a score."""
    if averaging == "none":
        return Groups(np.zeros(len(scores), dtype=np.int64), 1)
    if averaging not in ("item", "system"):
        raise ConfigError(f"averaging: 'none', 'item' or 'system', not {averaging!r}")
    names, of = np.unique(scores.item if averaging == "item" else scores.system, return_inverse=True)
    return Groups(of.astype(np.int64), len(names))


def signed(name: str, scores: PairedScores, *parts: str) -> str:
    """All that a value depends on, in one line: ``acc-t|level:seg|avg:item|eps:exact|left-out:0|version:0.1.0``."""
    left_out = f"left-out:{scores.missing.total}"
    return "|".join([name, f"level:{scores.level}", *parts, left_out, f"version:{__version__}"])


def _statistic(name: str, paired_scores: PairedScores, *signature: str, **fields: Any) -> Statistic:
    """A statistic of ``paired_scores``; ``signature`` has the settings that it depends on."""
    common = {
        "level": paired_scores.level,
        "averaging": "none",
        "scores": len(paired_scores),
        "missing": paired_scores.missing,
        "signature": signed(name, paired_scores, *signature),
    }
    return Statistic(name=name, **(common | fields))


def pearson(scores: PairedScores, averaging: Averaging = "none") -> Statistic:
    """Pearson's product-moment correlation (−1 to 1)."""
    return _correlation("pearson", scores, averaging)


def spearman(scores: PairedScores, averaging: Averaging = "none") -> Statistic:
    """Spearman's rank correlation (−1 to 1): Pearson's of the ranks, tied scores sharing the mean of theirs."""
    return _correlation("spearman", scores, averaging)


def kendall(scores: PairedScores, averaging: Averaging = "none") -> Statistic:
    """Kendall's τ-b (−1 to 1; Kendall 1945), in n log n: (C − D) / √((P − Tₑ)(P − Tₕ)).

    C and D are the pairs ordered alike and contrarily, P all pairs, T the pairs that are tied in either's scores.
    """
    return _correlation("kendall", scores, averaging)


def _correlation(name: str, scores: PairedScores, averaging: Averaging) -> Statistic:
    """The mean over the groups in which the correlation is defined, as mt-metrics-eval has it."""
    groups = groups_of(scores, averaging)
    values = CORRELATIONS[name](scores.evaluator, scores.human, groups)
    defined = values[~np.isnan(values)]
    undefined = None
    if not len(defined):
        undefined = EQUAL if groups.counts().max() > 1 else ALONE
    return _statistic(
        name,
        scores,
        f"avg:{averaging}",
        value=float(np.mean(defined)) if len(defined) else None,
        averaging=averaging,
        groups=len(defined),
        groups_left_out=len(values) - len(defined),
        pairs=int(pairs_in(groups.counts()).sum()) if name == "kendall" else None,
        undefined=undefined,
    )


def pearson_by_group(evaluator: Floats, human: Floats, groups: Groups) -> Floats:
    """Pearson's r of each group; NaN where it is not defined."""
    x, y = deviations(evaluator, groups), deviations(human, groups)
    r: Floats = groups.total(x * y) / (np.sqrt(groups.total(x * x)) * np.sqrt(groups.total(y * y)))
    return r.clip(-1.0, 1.0)


def spearman_by_group(evaluator: Floats, human: Floats, groups: Groups) -> Floats:
    """Spearman's ρ of each group; NaN where it is not defined."""
    return pearson_by_group(_ranks(evaluator, groups), _ranks(human, groups), groups)


def kendall_by_group(evaluator: Floats, human: Floats, groups: Groups) -> Floats:
    """Kendall's τ-b of each group; NaN where it is not defined."""
    pairs = ScorePairs(evaluator, human, groups)
    alike = pairs.by_group(pairs.alike(pairs.group_ends))
    every = pairs_in(groups.counts())
    both = pairs.by_group(pairs.tied(pairs.run_ends))
    in_evaluator = pairs.by_group(pairs.run_ends - np.arange(len(evaluator)) - 1)
    in_human = pairs.by_group(pairs.tied(pairs.group_ends))
    contrarily = every - alike - in_evaluator - in_human + both
    apart = np.sqrt(every - in_evaluator) * np.sqrt(every - in_human)
    apart[apart == 0] = np.nan
    tau: Floats = (alike - contrarily) / apart
    return tau.clip(-1.0, 1.0)


def _ranks(values: Floats, groups: Groups) -> Floats:
    """The rank of each score in its group, from 0; tied scores share the mean of theirs."""
    order = np.lexsort((values, groups.of))
    ordered, group = values[order], groups.of[order]
    starts = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])])
    ends = np.r_[starts[1:], len(values)]
    first = np.r_[0, np.cumsum(groups.counts())[:-1]]
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((starts + ends - 1) / 2 - first[group[starts]], ends - starts)
    return ranks


CORRELATIONS: dict[str, Callable[[Floats, Floats, Groups], Floats]] = {
    "pearson": pearson_by_group,
    "spearman": spearman_by_group,
    "kendall": kendall_by_group,
}


def deviations(values: Floats, groups: Groups) -> Floats:
    """How far each score is from the mean of its group, the farthest being 1; NaN where all of a group are equal.

    Equal is decided by comparing scores: the mean of equal numbers may differ from them in its last digit.
    """
    order = np.argsort(groups.of, kind="stable")
    starts = np.r_[0, np.cumsum(groups.counts())[:-1]]
    apart = values - (groups.total(values) / groups.counts())[groups.of]
    varies = np.maximum.reduceat(values[order], starts) > np.minimum.reduceat(values[order], starts)
    farthest = np.maximum.reduceat(np.abs(apart)[order], starts)
    scale = np.where(varies & (farthest > 0), farthest, np.nan)
    return np.asarray(apart / scale[groups.of], dtype=np.float64)


def accuracy(scores: PairedScores, averaging: Averaging = "none") -> Statistic:
    """The share of pairs in which people and evaluator agree on which is better, or that both are equally good (ε = 0).

    At level ``sys`` it is the pairwise accuracy of Kocmi et al. (2021), "To Ship or Not to Ship".
    """
    groups = groups_of(scores, averaging)
    result = uncalibrated(scores.evaluator, scores.human, groups)
    return _accuracy("acc", scores, averaging, groups, result, "eps:0")


def calibrated_accuracy(scores: PairedScores, averaging: Averaging = "none", *, block: int = BLOCK) -> Statistic:
    """The accuracy with tie calibration, acc*_eq of Deutsch et al. (2023): one ε for all groups, the best of all."""
    groups = groups_of(scores, averaging)
    result = calibrate(scores.evaluator, scores.human, groups, block=block)
    return _accuracy("acc-t", scores, averaging, groups, result, "eps:exact")


def _accuracy(
    name: str, scores: PairedScores, averaging: Averaging, groups: Groups, result: TieThreshold | None, epsilon: str
) -> Statistic:
    fields: dict[str, Any] = {"averaging": averaging, "pairs": int(pairs_in(groups.counts()).sum())}
    if result:
        left_out = groups.size - result.groups
        fields |= {"value": result.accuracy, "groups": result.groups, "groups_left_out": left_out}
        fields |= {"epsilon": result.epsilon}
    else:
        fields |= {"value": None, "groups": 0, "groups_left_out": groups.size, "undefined": ALONE}
    return _statistic(name, scores, f"avg:{averaging}", epsilon, **fields)


Name = Literal["acc", "pearson", "spearman", "kendall", "acc-t"]
STATISTICS: dict[Name, Callable[[PairedScores, Averaging], Statistic]] = {
    "acc": accuracy,
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "acc-t": calibrated_accuracy,
}


def mean_absolute_error(scores: PairedScores, scale: Scale = "none") -> Statistic:
    """The mean of |evaluator − human|, over all scores; lower is better.

    ``none``: of the scores as they are, which only makes sense where both have the same unit. ``minmax``: after scaling
    both to 0–1 by their own lowest and highest score, as in HiMATE (Table 1); not defined for constant scores.
    """
    return _error("mae", scores, scale, power=1)


def mean_squared_error(scores: PairedScores, scale: Scale = "none") -> Statistic:
    """The mean of (evaluator − human)², over all scores; ``scale`` as in :func:`mean_absolute_error`."""
    return _error("mse", scores, scale, power=2)


def _error(name: str, scores: PairedScores, scale: Scale, power: int) -> Statistic:
    if scale not in ("none", "minmax"):
        raise ConfigError(f"scale: 'none' or 'minmax', not {scale!r}")
    evaluator, human = scores.evaluator, scores.human
    fields: dict[str, Any] = {"higher_is_better": False}
    if scale == "minmax" and min(np.ptp(evaluator), np.ptp(human)) == 0:
        fields |= {"value": None, "groups": 0, "groups_left_out": 1, "undefined": EQUAL}
    else:
        if scale == "minmax":
            evaluator = (evaluator - evaluator.min()) / np.ptp(evaluator)
            human = (human - human.min()) / np.ptp(human)
        error = float(np.mean(np.abs(evaluator - human) ** power))
        fields |= {"value": error, "groups": 1, "groups_left_out": 0}
    return _statistic(name, scores, f"scale:{scale}", **fields)


# --- soft pairwise accuracy


PERMUTATIONS = 1_000
SPA_SEED = 4
"""As in the authors' program."""
_CELLS = 2**22


def soft_pairwise_accuracy(scores: PairedScores, permutations: int = PERMUTATIONS, seed: int = SPA_SEED) -> Statistic:
    """SPA (Thompson et al. 2024): 1 − the mean of |p − q| over all pairs of systems (0 to 1).

    p and q are the one-sided p-values, by people and by the evaluator, that the first system is better than the second,
    both from the same random permutations of segments. Only segments that all systems have scores for are used; the
    others count as left out. Not defined for a single system, or without such a segment.

    Raises :class:`ConfigError` for scores of systems: there is nothing to permute.
    """
    if scores.level == "sys":
        raise ConfigError("soft pairwise accuracy needs scores of segments, not of systems")
    systems, items = groups_of(scores, "system"), groups_of(scores, "item")
    complete = items.counts() == systems.size
    segments = int(np.count_nonzero(complete))
    undefined = None
    if systems.size < 2:
        undefined = ALONE
    elif not segments:
        undefined = NOWHERE
    value = None
    if undefined is None:
        chosen = complete[items.of]
        order = np.lexsort((scores.item[chosen], scores.system[chosen]))
        size = (systems.size, segments)
        human_p = p_values(scores.human[chosen][order].reshape(size), permutations, seed)
        evaluator_p = p_values(scores.evaluator[chosen][order].reshape(size), permutations, seed)
        value = 1.0 - float(np.abs(evaluator_p - human_p)[np.triu_indices(systems.size, 1)].mean())
    return _statistic(
        "spa",
        scores,
        f"segments:{segments}",
        f"permutations:{permutations}",
        f"seed:{seed}",
        value=value,
        level="sys",
        scores=systems.size,
        groups=0 if undefined else 1,
        groups_left_out=items.size - segments,
        pairs=int(pairs_in(np.array([systems.size]))[0]),
        undefined=undefined,
    )


def p_values(scores: Floats, permutations: int = PERMUTATIONS, seed: int = SPA_SEED) -> Floats:
    """One-sided p-values that system i is better than system j, for i < j; 0.5 elsewhere.

    ``scores``: systems × segments. In each permutation the two systems swap their scores in half of the segments; the
    p-value is the share of permutations in which the difference of their sums is at least the real one (what only
    rounding tells apart is equal). All pairs use the same swaps, those that the authors' program draws with this seed.
    """
    if permutations < 1 or seed < 0:
        raise ConfigError(f"{permutations} permutations, seed {seed}: at least one is needed, and a seed from 0")
    size, segments = scores.shape
    apart = scores - scores.mean(axis=0)
    real = apart.sum(axis=1)
    noise = NOISE * float(np.abs(apart).sum(axis=1).max())
    first, second = np.triu_indices(size, 1)
    hits = np.zeros(len(first))
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // max(segments, len(first)))
    for start in range(0, permutations, block):
        drawn = random.random((min(block, permutations - start), segments), dtype=np.float32)
        sums = (np.rint(drawn).astype(np.float64) * 2 - 1) @ apart.T
        hits += np.count_nonzero(sums[:, first] - sums[:, second] >= real[first] - real[second] - noise, axis=0)
    result = np.full((size, size), 0.5)
    result[first, second] = hits / permutations
    return result
