"""Evaluators against people: which evaluator ranks systems and segments as people do, and how surely.

The statistics are those of the field's tool, mt-metrics-eval, without sampling and without loss by rounding:

======================= ============================================================================================
``paired.py``           the scores of an evaluator and of people side by side, what is missing counted
``statistic.py``        a statistic: its value or why there is none, what it is made of, its signature
``correlations.py``     Pearson, Spearman and Kendall τ-b, pooled or averaged over items or systems
``pairs.py``            pairs of scores counted in n log n: reached by a threshold, tied, ordered alike
``ties.py``             pairwise accuracy, plain and with tie calibration (the best ε of all)
``soft.py``             soft pairwise accuracy of systems
``distances.py``        mean absolute and mean squared error, plain and after scaling
``significance.py``     permutation test between two evaluators, ranks of several
``permuted.py``         a statistic of many permutations at once; ``listed.py``: pairs of small groups, listed once
======================= ============================================================================================

Error spans, which are imported from their own modules:

======================= ============================================================================================
``marked.py``           the error spans of an evaluator and of people side by side, what is left out counted
``pairing.py``          from errors to such spans: which segments, and at which places
``spans.py``            precision, recall and F1 of error spans, by category and severity; tests between evaluators
``span_measures.py``    what is counted: matches, characters, partial overlaps
``overlaps.py``         which spans overlap, and by how much; ``assignment.py``: one partner for each
``categories.py``       one name for the same category in several typologies
``error_free.py``       whether error-free translations are told from others
======================= ============================================================================================

From files to tables, as ``mtagent meta-eval`` does it:

======================= ============================================================================================
``files/``              scores as they stand in files, folders and runs; an evaluator's beside people's
``evaluated.py``        all statistics of several evaluators; ``span_level.py``: those of error spans
``warned.py``           what makes the numbers doubtful
``tables.py``           the tables for people, and ``data.py`` the JSON for programs
======================= ============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mtagent
from mtagent.errors import ConfigError, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Level = Literal["sys", "seg"]
Policy = Literal["refuse", "leave-out"]

LARGEST = 1e100
"""Scores beyond it are refused: their squares would not be numbers any more."""


class Row(NamedTuple):
    """The scores of one translation: ``item`` is the segment (or document), ``None`` is "not scored"."""

    system: str
    item: str
    evaluator: float | None
    human: float | None


class Missing(NamedTuple):
    """How many translations (systems × items) were left out, for want of which score.

    ``absent``: there was no row for them at all. ``both``: a row with neither score.
    """

    evaluator: int = 0
    human: int = 0
    both: int = 0
    absent: int = 0

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


NOTHING = Missing()
"""Nothing was left out."""


@dataclass(frozen=True, eq=False)
class Paired:
    """Paired scores, one after the other; each has both scores, so that no array ever holds a NaN.

    ``evaluator`` and ``human``: the scores, higher is better in both. ``system`` and ``item``: the places of their
    names in ``systems`` and ``items``. All four have one entry for each score and cannot be written to. At level
    ``sys`` there is one score for each system and one item without a name.

    Made by :func:`paired`. Raises :class:`InputError` for scores that are no finite numbers, whoever makes it.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    evaluator: Floats
    human: Floats
    system: Ints
    item: Ints
    missing: Missing = NOTHING
    level: Level = "seg"

    def __post_init__(self) -> None:
        if not len(self.evaluator) == len(self.human) == len(self.system) == len(self.item):
            raise InputError("paired scores: the four arrays have not the same length")
        if not (np.abs(self.evaluator) <= LARGEST).all() or not (np.abs(self.human) <= LARGEST).all():
            raise InputError(f"paired scores: not all are finite numbers up to {LARGEST:g}; leave missing ones out")
        for values in (self.evaluator, self.human, self.system, self.item):
            values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.evaluator)

    def rows(self) -> Iterator[Row]:
        """The scores as rows, in order, without what was left out."""
        columns = (self.system, self.item, self.evaluator, self.human)
        for system, item, evaluator, human in zip(*(values.tolist() for values in columns), strict=True):
            yield Row(self.systems[system], self.items[item], evaluator, human)


def paired(rows: Iterable[Row], *, missing: Policy = "refuse", level: Level = "seg") -> Paired:
    """Read paired scores from rows in any order, one for each translation.

    ``missing``: what becomes of translations with a score that is ``None`` or with no row: ``refuse`` them, or
    ``leave-out`` and count them (:class:`Missing`). For given scores of systems (corpus BLEU, for example): ``level``
    ``sys``, the items empty.

    Raises :class:`InputError` for NaN and infinite scores, two rows for one translation, a missing score (if refused),
    and where no score is left.
    """
    if missing not in ("refuse", "leave-out"):
        raise ConfigError(f"missing scores: 'refuse' or 'leave-out', not {missing!r}")
    cells, systems, items, counts = _cells(rows, missing, level)
    absent = len(systems) * len(items) - len(cells) - sum(counts)
    if absent and missing == "refuse":
        raise InputError(f"{_first_absent(cells, systems, items)}: has no row; {_WAY_OUT}")
    if not cells:
        raise InputError("there is no translation with a score of the evaluator and of people")
    places = np.array(list(cells), dtype=np.int64)
    scores = np.array(list(cells.values()), dtype=np.float64)
    return Paired(
        systems=tuple(systems),
        items=tuple(items),
        evaluator=scores[:, 0].copy(),
        human=scores[:, 1].copy(),
        system=places[:, 0].copy(),
        item=places[:, 1].copy(),
        missing=Missing(counts[0], counts[1], counts[2], absent),
        level=level,
    )


def system_level(scores: Paired) -> Paired:
    """One score for each system: the mean over its segments that have both scores.

    Systems without any are counted as missing. Where scores were left out, the means of two systems may be about
    different segments.
    """
    if scores.level == "sys":
        return scores
    size = len(scores.systems)
    counts = np.bincount(scores.system, minlength=size)
    held = np.flatnonzero(counts)
    means = [
        np.bincount(scores.system, values, size)[held] / counts[held] for values in (scores.evaluator, scores.human)
    ]
    return Paired(
        systems=scores.systems,
        items=("",),
        evaluator=means[0],
        human=means[1],
        system=held.astype(np.int64),
        item=np.zeros(len(held), dtype=np.int64),
        missing=Missing(absent=size - len(held)),
        level="sys",
    )


_WAY_OUT = "give all scores, or leave such translations out (missing='leave-out')"
_Cells = dict[tuple[int, int], tuple[float, float]]


def _cells(
    rows: Iterable[Row], missing: Policy, level: Level
) -> tuple[_Cells, dict[str, int], dict[str, int], list[int]]:
    """The scores by place, the places by name, and how many rows lack the evaluator's score, people's, or both."""
    systems: dict[str, int] = {}
    items: dict[str, int] = {}
    cells: _Cells = {}
    seen: set[tuple[int, int]] = set()
    counts = [0, 0, 0]
    for system, item, evaluator, human in rows:
        if level == "sys" and item:
            raise InputError(f"system {system!r}, item {item!r}: a system's own score has no item")
        place = (systems.setdefault(system, len(systems)), items.setdefault(item, len(items)))
        if place in seen:
            raise InputError(f"{named(system, item)}: has two rows")
        seen.add(place)
        if evaluator is not None:
            evaluator = _finite(evaluator, "the evaluator's", system, item)
        if human is not None:
            human = _finite(human, "the human", system, item)
        if evaluator is not None and human is not None:
            cells[place] = evaluator, human
            continue
        if missing == "refuse":
            lacking = "the evaluator's" if evaluator is None else "the human"
            raise InputError(f"{named(system, item)}: {lacking} score is missing; {_WAY_OUT}")
        counts[(evaluator is None) + 2 * (human is None) - 1] += 1
    return cells, systems, items, counts


def _finite(value: object, whose: str, system: str, item: str) -> float:
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        raise InputError(f"{named(system, item)}: {whose} score is an integer of hundreds of digits") from None
    if not abs(number) <= LARGEST:
        why = "too large" if math.isfinite(number) else "not a finite number"
        raise InputError(f"{named(system, item)}: {whose} score is {value!r}, {why}; a missing score is None")
    return number


def _first_absent(cells: _Cells, systems: dict[str, int], items: dict[str, int]) -> str:
    places = ((system, item) for system in systems for item in items if (systems[system], items[item]) not in cells)
    return named(*next(places))


def named(system: str, item: str) -> str:
    """A translation, or a system as a whole, for messages."""
    return f"system {system!r}, item {item!r}" if item else f"system {system!r}"


Averaging = Literal["none", "item", "system"]

EQUAL = "the scores of the evaluator or of people are all equal"
"""Why there is no correlation."""
ALONE = "there are no two scores to compare"
"""Why there is no accuracy."""


@dataclass(frozen=True)
class Statistic:
    """How an evaluator agrees with people, by one statistic.

    ``value`` is ``None`` where the statistic is not defined, and ``undefined`` says why. ``scores`` is how many paired
    scores there are, ``pairs`` how many pairs of them were compared (``None`` where none are), ``groups`` how many
    groups the value is the mean of, ``groups_left_out`` how many had no defined value. ``missing`` are the translations
    left out before. ``epsilon``: differences of the evaluator's up to it are ties (accuracy only).
    """

    name: str
    value: float | None
    level: Level
    averaging: Averaging
    scores: int
    groups: int
    groups_left_out: int
    missing: Missing
    signature: str
    pairs: int | None = None
    epsilon: float | None = None
    undefined: str | None = None
    higher_is_better: bool = True


class Groups(NamedTuple):
    """Which group each score belongs to: ``of`` holds numbers below ``size``; every group has a score."""

    of: Ints
    size: int

    def counts(self) -> Ints:
        """Scores by group."""
        return np.bincount(self.of, minlength=self.size)

    def total(self, values: Floats) -> Floats:
        """Sums by group."""
        return np.bincount(self.of, values, self.size).astype(np.float64, copy=False)


class ByGroup(NamedTuple):
    """A value for each group, and for which groups it is defined; it means nothing in the others."""

    values: Floats
    defined: NDArray[np.bool_]


def groups_of(scores: Paired, averaging: Averaging) -> Groups:
    """All scores in one group (``none``), those of an item, or those of a system. Names without a score make none."""
    if averaging == "none":
        return Groups(np.zeros(len(scores), dtype=np.int64), 1)
    if averaging not in ("item", "system"):
        raise ConfigError(f"averaging: 'none', 'item' or 'system', not {averaging!r}")
    held, of = np.unique(scores.item if averaging == "item" else scores.system, return_inverse=True)
    return Groups(of.astype(np.int64), len(held))


def mean_of(
    found: ByGroup, scores: Paired, groups: Groups, name: str, averaging: Averaging, pairs: int | None = None
) -> Statistic:
    """The mean over the groups where the value is defined, as mt-metrics-eval has it; none, where there is no such."""
    defined = int(np.count_nonzero(found.defined))
    return Statistic(
        name=name,
        value=float(np.mean(found.values[found.defined])) if defined else None,
        level=scores.level,
        averaging=averaging,
        scores=len(scores),
        groups=defined,
        groups_left_out=len(found.defined) - defined,
        missing=scores.missing,
        signature=signed(name, scores, f"avg:{averaging}"),
        pairs=pairs,
        undefined=None if defined else EQUAL if groups.counts().max() > 1 else ALONE,
    )


def signed(name: str, scores: Paired, *parts: str) -> str:
    """All that a value depends on, in one line: ``acc-t|level:seg|avg:item|eps:exact|left-out:0|version:0.1.0``."""
    first = [name, f"level:{scores.level}"]
    return "|".join([*first, *parts, f"left-out:{scores.missing.total}", f"version:{mtagent.__version__}"])


def pairs_in(counts: Ints) -> Ints:
    """How many pairs ``counts`` scores make."""
    return counts * (counts - 1) // 2


class Pairs:
    """The pairs of scores of the same group.

    ``evaluator`` (n) are the scores in order, ``human`` (n) people's as ranks from 0, ``group`` (n) their groups. A
    pair is named by its lower score and a place above it; "ends" (n) are for each score the place after its last
    partner.
    """

    def __init__(self, evaluator: Floats, human: Floats, groups: Groups) -> None:
        order = np.lexsort((evaluator, groups.of))
        self.evaluator, self.group, self.size = evaluator[order], groups.of[order], groups.size
        self.human: Ints = np.unique(human, return_inverse=True)[1].astype(np.int64)[order]
        self._distinct, rank = np.unique(self.evaluator, return_inverse=True)
        self._first_key = self.group * len(self._distinct)
        self._keys = self._first_key + rank
        self.run_ends: Ints = np.searchsorted(self._keys, self._keys, side="right")
        self.group_ends: Ints = np.searchsorted(self.group, self.group, side="right")
        self._rank_ties()
        self._build_wavelets()

    def __len__(self) -> int:
        return len(self.evaluator)

    def ends(self, epsilon: float) -> Ints:
        """Up to where partners differ by at most ``epsilon`` in the evaluator's scores, as floating point has it."""
        found = np.searchsorted(self._distinct, self._distinct + epsilon, side="right")
        found = _corrected(self._distinct, found, epsilon)
        rank = self._keys - self._first_key
        ends: Ints = np.searchsorted(self._keys, self._first_key + found[rank], side="left")
        return ends

    def tied(self, ends: Ints) -> Ints:
        """For each score: its partners up to ``ends`` that people score the same."""
        below = np.searchsorted(self._tie_keys, self._tie_first + ends, side="left")
        found: Ints = below - self._tie_place - 1
        return found

    def alike(self, ends: Ints) -> Ints:
        """For each score: its partners up to ``ends`` (not below ``run_ends``) that are higher in both scores."""
        low, high = self.run_ends, ends
        count = np.zeros(len(self), dtype=np.int64)
        for bit, zeros in zip(self._bits, self._zeros, strict=True):
            low_zeros, high_zeros = zeros[low], zeros[high]
            low_ones, high_ones = low - low_zeros, high - high_zeros
            count += np.where(bit, 0, high_ones - low_ones)
            low = np.where(bit, zeros[-1] + low_ones, low_zeros)
            high = np.where(bit, zeros[-1] + high_ones, high_zeros)
        return count

    def by_group(self, counts: Ints) -> Ints:
        """``counts`` of the scores, summed up by group, exactly."""
        sums = np.r_[0, np.cumsum(counts)]
        bounds = np.searchsorted(self.group, np.arange(self.size + 1))
        found: Ints = np.diff(sums[bounds])
        return found

    def _rank_ties(self) -> None:
        """Order the scores by group, people's score and place, so that a tie's partners stand together."""
        n = len(self)
        _, tie = np.unique(self.group * (self.human.max() + 1) + self.human, return_inverse=True)
        self._tie_first: Ints = tie.astype(np.int64) * (n + 1)
        keys = self._tie_first + np.arange(n)
        order = np.argsort(keys)
        self._tie_keys = keys[order]
        self._tie_place = np.empty(n, dtype=np.int64)
        self._tie_place[order] = np.arange(n)

    def _build_wavelets(self) -> None:
        """For each bit of people's ranks, the highest first: whose is 1, and how many 0 stand before each place."""
        self._bits: list[NDArray[np.bool_]] = []
        self._zeros: list[Ints] = []
        values = self.human
        for shift in reversed(range(int(self.human.max()).bit_length())):
            ones = (values >> shift & 1).astype(bool)
            self._zeros.append(np.r_[0, np.cumsum(~ones)].astype(np.int64))
            self._bits.append((self.human >> shift & 1).astype(bool))
            values = np.concatenate([values[~ones], values[ones]])


def _corrected(distinct: Floats, ends: Ints, epsilon: float) -> Ints:
    """``ends`` by the rounded differences, which may disagree with the rounded sums that they were found by."""
    padded = np.r_[distinct, np.inf]
    while True:
        more = padded[ends] - distinct <= epsilon
        less = distinct[ends - 1] - distinct > epsilon
        if not (more.any() or less.any()):
            return ends
        ends = ends + more - less


def pearson(scores: Paired, averaging: Averaging = "none") -> Statistic:
    """Pearson's product-moment correlation (−1 to 1)."""
    groups = groups_of(scores, averaging)
    return mean_of(pearson_by_group(scores.evaluator, scores.human, groups), scores, groups, "pearson", averaging)


def spearman(scores: Paired, averaging: Averaging = "none") -> Statistic:
    """Spearman's rank correlation (−1 to 1): Pearson's of the ranks, tied scores sharing the mean of theirs."""
    groups = groups_of(scores, averaging)
    return mean_of(spearman_by_group(scores.evaluator, scores.human, groups), scores, groups, "spearman", averaging)


def kendall(scores: Paired, averaging: Averaging = "none") -> Statistic:
    """Kendall's τ-b (−1 to 1; Kendall 1945), in n log n: (C − D) / √((P − Tₑ)(P − Tₕ)).

    C and D are the pairs ordered alike and contrarily, P all pairs, T the pairs that are tied in either's scores.
    """
    groups = groups_of(scores, averaging)
    found = kendall_by_group(scores.evaluator, scores.human, groups)
    return mean_of(found, scores, groups, "kendall", averaging, int(pairs_in(groups.counts()).sum()))


def pearson_by_group(evaluator: Floats, human: Floats, groups: Groups) -> ByGroup:
    """Pearson's r of each group."""
    x, x_varies = standing_in(evaluator, groups)
    y, y_varies = standing_in(human, groups)
    spread = np.sqrt(groups.total(x * x)) * np.sqrt(groups.total(y * y))
    defined = x_varies & y_varies
    values = groups.total(x * y) / np.where(defined, spread, 1.0)
    return ByGroup(np.clip(values, -1.0, 1.0), defined)


def spearman_by_group(evaluator: Floats, human: Floats, groups: Groups) -> ByGroup:
    """Spearman's ρ of each group."""
    return pearson_by_group(ranks(evaluator, groups), ranks(human, groups), groups)


def kendall_by_group(evaluator: Floats, human: Floats, groups: Groups) -> ByGroup:
    """Kendall's τ-b of each group."""
    pairs = Pairs(evaluator, human, groups)
    alike = pairs.by_group(pairs.alike(pairs.group_ends))
    every = pairs_in(groups.counts())
    both = pairs.by_group(pairs.tied(pairs.run_ends))
    in_evaluator = pairs.by_group(pairs.run_ends - np.arange(len(evaluator)) - 1)
    in_human = pairs.by_group(pairs.tied(pairs.group_ends))
    contrarily = every - alike - in_evaluator - in_human + both
    x_apart, y_apart = every - in_evaluator, every - in_human
    defined = (x_apart > 0) & (y_apart > 0)
    spread = np.sqrt(np.where(defined, x_apart, 1)) * np.sqrt(np.where(defined, y_apart, 1))
    return ByGroup(np.clip((alike - contrarily) / spread, -1.0, 1.0), defined)


def ranks(values: Floats, groups: Groups) -> Floats:
    """The rank of each score in its group, from 0; tied scores share the mean of theirs."""
    order = np.lexsort((values, groups.of))
    ordered, group = values[order], groups.of[order]
    starts = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])])
    ends = np.r_[starts[1:], len(values)]
    first = np.r_[0, np.cumsum(groups.counts())[:-1]]
    found = np.empty(len(values))
    found[order] = np.repeat((starts + ends - 1) / 2 - first[group[starts]], ends - starts)
    return found


def standing_in(values: Floats, groups: Groups) -> tuple[Floats, NDArray[np.bool_]]:
    """How far each score is from the mean of its group, the farthest being 1, and which groups are not constant.

    Constant is decided by comparing scores: the mean of equal numbers may differ from them in its last digit.
    """
    lowest, highest = extremes(values, groups)
    apart = values - (groups.total(values) / groups.counts())[groups.of]
    farthest = extremes(np.abs(apart), groups)[1]
    varies = (highest > lowest) & (farthest > 0)
    scaled: Floats = apart / np.where(varies, farthest, 1.0)[groups.of]
    return scaled, varies


def extremes(values: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """The lowest and the highest score of each group."""
    order: Ints = np.argsort(groups.of, kind="stable")
    starts = np.r_[0, np.cumsum(groups.counts())[:-1]]
    ordered = values[order]
    return np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)


Scale = Literal["none", "minmax"]


def mean_absolute_error(scores: Paired, scale: Scale = "none") -> Statistic:
    """The mean of |evaluator − human|, over all scores; lower is better.

    ``none``: of the scores as they are, which only makes sense where both have the same unit. ``minmax``: after scaling
    both to 0–1 by their own lowest and highest score, as in HiMATE (Table 1); not defined for constant scores.
    """
    return _stated("mae", scores, scale, power=1)


def mean_squared_error(scores: Paired, scale: Scale = "none") -> Statistic:
    """The mean of (evaluator − human)², over all scores; ``scale`` as in :func:`mean_absolute_error`."""
    return _stated("mse", scores, scale, power=2)


def _stated(name: str, scores: Paired, scale: Scale, power: int) -> Statistic:
    if scale not in ("none", "minmax"):
        raise ConfigError(f"scale: 'none' or 'minmax', not {scale!r}")
    constant = scale == "minmax" and min(np.ptp(scores.evaluator), np.ptp(scores.human)) == 0
    return Statistic(
        name=name,
        value=None if constant else _distance(scores, scale, power),
        level=scores.level,
        averaging="none",
        scores=len(scores),
        groups=0 if constant else 1,
        groups_left_out=1 if constant else 0,
        missing=scores.missing,
        signature=signed(name, scores, f"scale:{scale}"),
        undefined=EQUAL if constant else None,
        higher_is_better=False,
    )


def _distance(scores: Paired, scale: Scale, power: int) -> float:
    both = (scores.evaluator, scores.human)
    evaluator, human = (_scaled(values) for values in both) if scale == "minmax" else both
    return float(np.mean(np.abs(evaluator - human) ** power))


def _scaled(values: Floats) -> Floats:
    scaled: Floats = (values - values.min()) / np.ptp(values)
    return scaled


PERMUTATIONS = 1_000
SEED = 4
"""As in the authors' program."""
NOWHERE = "no segment has scores of all systems"
"""Why systems cannot be compared by the same segments."""
_CELLS = 2**22
_NOISE = 1e-9


def soft_pairwise_accuracy(scores: Paired, permutations: int = PERMUTATIONS, seed: int = SEED) -> Statistic:
    """SPA (Thompson et al. 2024): 1 − the mean of |p − q| over all pairs of systems (0 to 1).

    p and q are the one-sided p-values, by people and by the evaluator, that the first system is better than the second,
    both from the same random permutations of segments. Only segments that all systems have scores for are used; the
    others count as left out. Not defined for a single system, or without such a segment.

    Raises :class:`ConfigError` for scores of systems: there is nothing to permute.
    """
    if scores.level == "sys":
        raise ConfigError("soft pairwise accuracy needs the scores of segments, not those of systems")
    complete = _complete(scores)
    evaluator, human = complete
    size, segments = human.shape
    undefined = ALONE if size < 2 else NOWHERE if not segments else None
    pairs = size * (size - 1) // 2
    return Statistic(
        name="spa",
        value=None if undefined else 1.0 - _apart(evaluator, human, permutations, seed),
        level="sys",
        averaging="none",
        scores=size,
        groups=0 if undefined else 1,
        groups_left_out=len(np.unique(scores.item)) - segments,
        missing=scores.missing,
        signature=signed("spa", scores, f"segments:{segments}", f"permutations:{permutations}", f"seed:{seed}"),
        pairs=pairs,
        undefined=undefined,
    )


def p_values(scores: Floats, permutations: int = PERMUTATIONS, seed: int = SEED) -> Floats:
    """One-sided p-values that system i is better than system j, for i < j; 0.5 elsewhere.

    ``scores``: systems × segments. In each permutation the two systems swap their scores in half of the segments; the
    p-value is the share of permutations in which the difference of their sums is at least the real one (what only
    rounding tells apart is equal). All pairs use the same swaps, those that the authors' program draws with this seed.
    """
    if permutations < 1 or seed < 0:
        raise ConfigError(f"{permutations} permutations, seed {seed}: at least one is needed, and a seed from 0")
    size = len(scores)
    apart = scores - scores.mean(axis=0)
    real = apart.sum(axis=1)
    noise = _NOISE * float(np.abs(apart).sum(axis=1).max())
    first, second = np.triu_indices(size, 1)
    hits = np.zeros(len(first))
    for signs in _signs(permutations, scores.shape[1], seed, len(first)):
        sums = signs @ apart.T
        hits += np.count_nonzero(sums[:, first] - sums[:, second] >= real[first] - real[second] - noise, axis=0)
    found = np.full((size, size), 0.5)
    found[first, second] = hits / permutations
    return found


def _signs(permutations: int, segments: int, seed: int, pairs: int) -> Iterator[Floats]:
    """+1 or −1 for each segment: permutations × segments, a block at a time, for so many pairs of systems."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // max(segments, pairs))
    for start in range(0, permutations, block):
        size = (min(block, permutations - start), segments)
        yield np.rint(random.random(size, dtype=np.float32)).astype(np.float64) * 2 - 1


def _apart(evaluator: Floats, human: Floats, permutations: int, seed: int) -> float:
    pairs = np.triu_indices(len(human), 1)
    ours, theirs = p_values(evaluator, permutations, seed), p_values(human, permutations, seed)
    return float(np.abs(ours - theirs)[pairs].mean())


def _complete(scores: Paired) -> tuple[Floats, Floats]:
    """Both scores as systems × segments, of the segments that all systems have scores for."""
    held, system = np.unique(scores.system, return_inverse=True)
    whole = np.bincount(scores.item, minlength=len(scores.items)) == len(held)
    column = np.cumsum(whole) - 1
    chosen = whole[scores.item]
    shape = (len(held), int(whole.sum()))
    evaluator, human = np.empty(shape), np.empty(shape)
    place = system[chosen], column[scores.item[chosen]]
    evaluator[place], human[place] = scores.evaluator[chosen], scores.human[chosen]
    return evaluator, human
