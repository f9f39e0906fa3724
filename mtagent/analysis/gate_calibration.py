"""A gate calibrated on human judgement: which margin and which threshold are worth having, and how sure that is.

======================= ============================================================================================
``margin.py``           what each margin is worth, against always, never and an oracle
``threshold.py``        from which score on a text is error-free: precision and coverage
``resampling.py``       confidence intervals; ``halves.py``: what is chosen on, and what is reported on
``inputs.py``           what is read: files, runs, folders as for ``meta-eval``; ``pairs.py``: both scores in a file
``matching.py``         the judge's scores and people's side by side
``texts.py``            texts with both scores, and which of them are edits
``calibrate.py``        from them to a calibration
``calibration.py``      the calibration, its file, and whose ratings it holds for
``use.py``              what it changes in the chain
``tables.py``           a calibration on paper
======================= ============================================================================================

See ``docs/safety.md``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtagent import __version__
from mtagent.chain.calibration import Calibration, ErrorFree, Figure, Margin, Point, Source
from mtagent.chain.calibration import Effect as Effect_of_calibration
from mtagent.chain.calibration import Labels as Labels_of_calibration
from mtagent.errors import ConfigError, InputError
from mtagent.records import GAIN_DIGITS, comparable
from mtagent.text import languages

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
RESAMPLES, SEED = 1_000, 12345
LARGEST = 1e100
"""Scores beyond it are refused: their sums would not be numbers any more."""
_CELLS = 2**22
"""Numbers in a matrix at a time: 32 MB."""
_TAIL = 2.5


class Interval(NamedTuple):
    """A figure with its 95 % confidence interval; ``None`` where it is not defined (a share of nothing)."""

    value: float | None
    low: float | None
    high: float | None


class Resampling(NamedTuple):
    """How many resamples, drawn from which seed."""

    resamples: int = RESAMPLES
    seed: int = SEED

    def draws(self, groups: int, width: int = 0) -> Iterator[Floats]:
        """How often each group is drawn: matrices of resamples × groups, all resamples in a few of them.

        ``width`` is the number of columns of the widest matrix that the caller makes of one. Raises
        :class:`ConfigError` for less than one resample.
        """
        if self.resamples < 1:
            raise ConfigError(f"{self.resamples} resamples: at least one is needed")
        chance, rng = np.full(groups, 1 / groups), np.random.default_rng(self.seed)
        most = max(1, _CELLS // max(groups, width))
        for first in range(0, self.resamples, most):
            number = min(most, self.resamples - first)
            yield rng.multinomial(groups, chance, size=number).astype(np.float64)


USUAL = Resampling()


def numbered(groups: Ints) -> Ints:
    """The groups numbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def column(values: object, name: str) -> Floats:
    """``values`` as an array. Raises :class:`InputError` for what is no finite number."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not (np.abs(found) <= LARGEST).all():
        raise InputError(f"{name}: not all are finite numbers up to {LARGEST:g}; leave missing ones out")
    return found


def ratios(above: list[Floats], below: list[Floats], groups: Ints, resampling: Resampling) -> list[Interval]:
    """The ratio of the sums of each of ``above`` (a number for each item) to those of its ``below``, with intervals.

    ``groups`` are numbered without gaps. Resamples in which a ratio is not defined are left out of its interval.
    """
    sums = np.stack([np.bincount(groups, values) for values in (*above, *below)], axis=1)
    drawn = np.concatenate([draw @ sums for draw in resampling.draws(len(sums))])
    whole, size = sums.sum(axis=0), len(above)
    return [_interval(whole[i], whole[size + i], drawn[:, i], drawn[:, size + i]) for i in range(size)]


def _interval(above: float, below: float, drawn_above: Floats, drawn_below: Floats) -> Interval:
    defined = drawn_below > 0
    if below == 0 or not defined.any():
        return Interval(float(above / below) if below else None, None, None)
    low, high = bounds(drawn_above[defined] / drawn_below[defined])
    return Interval(float(above / below), low, high)


def bounds(values: Floats) -> tuple[float, float]:
    """The bounds between which 95 % of ``values`` lie."""
    low, high = np.percentile(values, [_TAIL, 100 - _TAIL])
    return float(low), float(high)


def first_half(groups: Ints, seed: int) -> Truths:
    """Which items are to calibrate on: those of a random half of the groups; the same seed draws the same ones.

    Raises :class:`InputError` where all items are of one group.
    """
    of = numbered(groups)
    size = int(of.max(initial=-1)) + 1
    if size < 2:
        raise InputError(
            f"{size} document or segment: two at least are needed, one to calibrate on and one to report on"
        )
    drawn = np.random.default_rng(seed).permutation(size)[: (size + 1) // 2]
    return np.isin(of, drawn)


NEVER = math.inf
"""The margin that no text reaches."""


@dataclass(frozen=True, eq=False)
class Edits:
    """Edits, one after the other: five arrays with an entry for each; higher scores are better.

    ``groups``: numbers that are equal for items that belong together (a document, or a segment). Raises
    :class:`InputError` for no item at all, for arrays of several lengths and for scores that are no finite numbers.
    """

    judge_before: Floats
    judge_after: Floats
    human_before: Floats
    human_after: Floats
    groups: Ints

    def __post_init__(self) -> None:
        for name in ("judge_before", "judge_after", "human_before", "human_after"):
            object.__setattr__(self, name, column(getattr(self, name), name))
        object.__setattr__(self, "groups", numbered(np.asarray(self.groups)))
        sizes = {len(self.judge_before), len(self.judge_after), len(self.human_before), len(self.human_after)}
        if sizes != {len(self.groups)} or not len(self.groups):
            raise InputError("edits: there must be one score of each kind and one group for each edit, and one edit")

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def gains(self) -> Floats:
        """The judge's, rounded as in the gate: by Python, since numpy's rounding differs where ten digits end in 5."""
        found, place = np.unique(self.judge_after - self.judge_before, return_inverse=True)
        return np.array([round(gain, GAIN_DIGITS) for gain in found.tolist()])[place]

    @property
    def changes(self) -> Floats:
        """People's: above 0 the edit is good, below it is harmful."""
        return np.round(self.human_after - self.human_before, GAIN_DIGITS)

    def chosen(self, which: Truths) -> Edits:
        """Some of the edits."""
        columns = (self.judge_before, self.judge_after, self.human_before, self.human_after, self.groups)
        return Edits(*(values[which] for values in columns))  # type: ignore[arg-type]  # four of floats, one of ints


class Sweep(NamedTuple):
    """What each margin does, the margins ascending: every gain that the judge saw, and :data:`NEVER`.

    Between two of them nothing changes. ``value`` is the mean of people's scores of what is kept.
    """

    margins: Floats
    value: Floats


def sweep(edits: Edits) -> Sweep:
    """All margins at once: the edits are sorted once and added up."""
    margins, place = np.unique(edits.gains, return_inverse=True)
    sums = np.bincount(place, edits.changes)
    at_or_above = np.append(np.cumsum(sums[::-1])[::-1], 0.0)
    return Sweep(np.append(margins, NEVER), edits.human_before.mean() + at_or_above / len(edits))


def best_margin(edits: Edits) -> float:
    """The margin above 0 with the highest mean human score of what is kept; of several the largest.

    :data:`NEVER`, where no margin is worth more than leaving every text as it was.
    """
    found = sweep(edits)
    margins, value = found.margins[found.margins > 0], np.round(found.value[found.margins > 0], GAIN_DIGITS)
    return float(margins[np.flatnonzero(value == value.max())[-1]])


def kept(gains: Floats, margin: float) -> Truths:
    """Which edits the gate keeps: never a tie, nor what is rated worse."""
    return (gains > 0) & (gains >= margin)


class Effect(NamedTuple):
    """What a gate does to ``items`` edits in ``groups`` groups.

    ``gate``, ``always``, ``never`` and ``oracle`` are means of people's scores: of what the gate keeps, of all edited
    texts, of all texts before, and of the better of each two. ``over_always`` and ``over_never`` are the gate's lead.
    """

    items: int
    groups: int
    gate: Interval
    always: Interval
    never: Interval
    oracle: Interval
    over_always: Interval
    over_never: Interval
    accepted: Interval
    good_kept: Interval
    harmful_refused: Interval


def effect(edits: Edits, margin: float, resampling: Resampling = USUAL) -> Effect:
    """What the gate with ``margin`` does to ``edits``, with paired confidence intervals over the groups."""
    keep, before, after, changes = kept(edits.gains, margin), edits.human_before, edits.human_after, edits.changes
    gate, one = np.where(keep, after, before), np.ones(len(edits))
    good, harmful = (changes > 0).astype(np.float64), (changes < 0).astype(np.float64)
    means = [gate, after, before, np.maximum(before, after), gate - after, gate - before, keep.astype(np.float64)]
    above, below = [*means, good * keep, harmful * ~keep], [one] * len(means) + [good, harmful]
    found = ratios(above, below, edits.groups, resampling)
    return Effect(len(edits), int(edits.groups.max()) + 1, *found)


PRECISION = 0.9
FEWEST = 10
"""Texts at or above a threshold, below which its precision says nothing."""
_NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rated texts, one after the other: the judge's score, whether people found no error, and the group.

    Raises :class:`InputError` for no text at all, arrays of several lengths, and scores that are no finite numbers.
    """

    scores: Floats
    error_free: Truths
    groups: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", column(self.scores, "scores"))
        object.__setattr__(self, "error_free", np.asarray(self.error_free, dtype=np.bool_))
        object.__setattr__(self, "groups", numbered(np.asarray(self.groups)))
        if not len(self.scores) == len(self.error_free) == len(self.groups) or not len(self.groups):
            raise InputError("ratings: there must be one label and one group for each score, and one score")

    def __len__(self) -> int:
        return len(self.groups)

    def chosen(self, which: Truths) -> Labelled:
        """Some of the texts."""
        return Labelled(self.scores[which], self.error_free[which], self.groups[which])


class Curve(NamedTuple):
    """Precision over coverage, thresholds descending: every score that was seen.

    ``precision`` is the share of error-free texts among those at or above the threshold, ``coverage`` the share of all
    texts that these are, ``recall`` the share of all error-free texts (NaN where there is none).
    """

    thresholds: Floats
    precision: Floats
    coverage: Floats
    recall: Floats


def curve(labelled: Labelled) -> Curve:
    """The whole curve, exactly."""
    rising, place = np.unique(labelled.scores, return_inverse=True)
    reached = np.cumsum(np.bincount(place)[::-1])
    free = np.cumsum(np.bincount(place, labelled.error_free)[::-1])
    with np.errstate(invalid="ignore"):
        return Curve(rising[::-1], free / reached, reached / len(labelled), free / free[-1])


def best_threshold(labelled: Labelled, wanted: float = PRECISION, fewest: int = FEWEST) -> float | None:
    """The lowest threshold at which the share of error-free texts is at least ``wanted``; ``None``: there is none.

    Thresholds that fewer than ``fewest`` texts reach are not considered.
    """
    if not 0 < wanted <= 1:
        raise ConfigError(f"a precision of {wanted:g} cannot be wanted: it is a share above 0 and up to 1")
    if fewest < 1:
        raise ConfigError(f"{fewest} texts at a threshold have no precision: at least one is needed")
    found = curve(labelled)
    fit = (found.precision >= wanted - _NOISE) & (found.coverage * len(labelled) >= fewest - 0.5)
    return float(found.thresholds[fit].min()) if fit.any() else None


class Sureness(NamedTuple):
    """Where the threshold lies in resamples: its 95 % bounds, and in which share of resamples there is one."""

    low: float | None
    high: float | None
    reached: float


def threshold_interval(
    labelled: Labelled, wanted: float = PRECISION, fewest: int = FEWEST, resampling: Resampling = USUAL
) -> Sureness:
    """How much the threshold depends on the texts that happened to be labelled.

    In each resample it is the lowest score that fits among those that were drawn.
    """
    rising, place = np.unique(labelled.scores, return_inverse=True)
    order = np.argsort(-place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=-1))  # the last text of each score, scores descending
    found, groups = [], labelled.groups[order]
    for draw in resampling.draws(int(groups.max()) + 1, len(labelled)):
        weights = draw[:, groups]
        reached = np.cumsum(weights, axis=1)[:, last]
        free = np.cumsum(weights * labelled.error_free[order], axis=1)[:, last]
        drawn = np.diff(reached, axis=1, prepend=0) > 0
        fit = drawn & (free >= (wanted - _NOISE) * reached) & (reached >= fewest)
        lowest = fit.shape[1] - 1 - np.argmax(fit[:, ::-1], axis=1)
        found.append(np.where(fit.any(axis=1), rising[::-1][lowest], np.nan))
    values = np.concatenate(found)
    there = values[~np.isnan(values)]
    low, high = bounds(there) if len(there) else (None, None)
    return Sureness(low, high, len(there) / len(values))


class Labels(NamedTuple):
    """What a threshold does to ``items`` texts: ``error_free`` is the share that people found to be so."""

    items: int
    groups: int
    error_free: Interval
    precision: Interval
    coverage: Interval
    recall: Interval


def labels(labelled: Labelled, threshold: float, resampling: Resampling = USUAL) -> Labels:
    """What ``threshold`` does to ``labelled``, with confidence intervals over the groups."""
    reached = (labelled.scores >= threshold).astype(np.float64)
    free, one = labelled.error_free.astype(np.float64), np.ones(len(labelled))
    found = ratios(
        [free, reached * free, reached, reached * free], [one, reached, one, free], labelled.groups, resampling
    )
    return Labels(len(labelled), int(labelled.groups.max()) + 1, *found)


def thinned(found: Curve, most: int = 50) -> Curve:
    """At most about ``most`` points of a curve, evenly spread over the coverage, both ends among them."""
    if len(found.thresholds) <= most:
        return found
    wanted = np.linspace(found.coverage[0], found.coverage[-1], most)
    places = np.unique(np.searchsorted(found.coverage, wanted - _NOISE))
    return Curve(*(values[places] for values in found))


KINDS: dict[str, float] = {"mqm": 0.0, "esa": 85.0, "rate": 4.0}
"""Kinds of human scores, and from which on people call a text error-free: WMT's for MQM and ESA, RATE's best."""


class Text(NamedTuple):
    """A text that ``system`` left of ``segment``, its scores, and whether people say that it is error-free.

    ``row`` is its line in a file of pairs, where a segment may have several edits; 0 elsewhere.
    """

    system: str
    segment: str
    judge: float | None
    human: float | None = None
    marked: bool | None = None
    label: bool | None = None
    document: str | None = None
    row: int = 0

    @property
    def usable(self) -> bool:
        """Whether the judge and people have said something about it."""
        return self.judge is not None and not (self.human is None and self.label is None)

    @property
    def group(self) -> tuple[str, str]:
        """What it belongs to: its document where that is known, or else its segment."""
        return ("segment", self.segment) if self.document is None else ("document", self.document)


def documented(texts: Iterable[Text]) -> tuple[Text, ...]:
    """The same texts, each with the document of its segment where only another text of it names one.

    All texts of a segment must be in one half.
    """
    texts = tuple(texts)
    known = {text.segment: text.document for text in texts if text.document}
    return tuple(text if text.document else text._replace(document=known.get(text.segment)) for text in texts)


class Definition(NamedTuple):
    """What people call error-free: a score of ``cut`` or more, and no marked error (``unmarked``)."""

    kind: str = "human scores"
    cut: float | None = None
    unmarked: bool = False

    def __str__(self) -> str:
        score = "a label" if self.cut is None else f"{self.kind} >= {self.cut:g}"
        return f"{score} and nothing marked" if self.unmarked else score

    def label(self, text: Text) -> bool | None:
        """Whether people found ``text`` error-free; ``None``: not known. A label of theirs goes before the score."""
        if text.label is not None or text.human is None or self.cut is None:
            return text.label
        return text.human >= self.cut and not (self.unmarked and text.marked)


def definition(kind: str | None, cut: float | None) -> Definition:
    """The definition for a ``kind`` of scores (see :data:`KINDS`), or one with a ``cut`` of its own."""
    if cut is not None and not math.isfinite(cut):
        raise ConfigError(f"error-free from {cut:g} on: give a number")
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"no kind of human scores {kind!r}; there are {', '.join(KINDS)}, or give a cut")
    if kind is None or cut is not None:
        return Definition(kind or "human scores", cut)
    return Definition(kind, KINDS[kind], unmarked=kind == "esa")


class Judged(NamedTuple):
    """Edits, the number of the group of each, and how many were left out for want of a score."""

    edits: Edits
    groups: Ints
    lacking: int


@dataclass(frozen=True)
class Texts:
    """All texts, and the systems that edits lead from and to (none: there are no edits).

    ``left_out`` counts what was read and cannot be used, by the reason.
    """

    texts: tuple[Text, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)

    def groups(self) -> dict[tuple[str, str], int]:
        """A number for each group with a usable text, in alphabetical order: the order of a file changes no split."""
        found = {text.group for text in self.texts if text.usable}
        return {group: number for number, group in enumerate(sorted(found))}

    def labelled(self, wanted: Definition) -> tuple[Labelled, Ints] | None:
        """The texts that both have judged, and the number of the group of each; ``None`` where there is none."""
        numbers = self.groups()
        rows = [
            (text.judge, label, numbers[text.group])
            for text in self.texts
            if text.judge is not None and (label := wanted.label(text)) is not None
        ]
        if not rows:
            return None
        scores, labels, groups = zip(*rows, strict=True)
        return Labelled(np.array(scores), np.array(labels), np.array(groups)), np.array(groups)

    def edits(self) -> Judged | None:
        """The edits that both have judged; ``None`` without systems for them.

        Raises :class:`InputError` where there is not a single one.
        """
        if not self.before or not self.after:
            return None
        numbers, lacking = self.groups(), 0
        rows: list[tuple[float, ...]] = []
        for one, other in self._pairs():
            scores = [x for text in (one, other) if text for x in (text.judge, text.human) if x is not None]
            if len(scores) == 4:
                rows.append((*scores, numbers[one.group]))
            else:
                lacking += 1
        if not rows:
            names = f"{', '.join(self.before)} and {', '.join(self.after)}"
            raise InputError(f"no segment has the judge's score and people's for both {names}")
        old_judge, old_human, new_judge, new_human, groups = map(np.array, zip(*rows, strict=True))
        groups = groups.astype(np.int64)
        return Judged(Edits(old_judge, new_judge, old_human, new_human, groups), groups, lacking)

    def _pairs(self) -> Iterator[tuple[Text, Text | None]]:
        """The texts of each segment before and after an edit; no text after it where that system has none."""
        by_place = {(text.system, text.segment, text.row): text for text in self.texts}
        for old, new in product(self.before, self.after):
            if old != new:
                ours = (text for text in self.texts if text.system == old)
                yield from ((one, by_place.get((new, one.segment, one.row))) for one in ours)


class Origin(NamedTuple):
    """Whose ratings they are, what they were read from, the language pairs, and what is to be said of them."""

    evaluator: str = ""
    signature: str = ""
    data: tuple[Source, ...] = ()
    pairs: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def told(self, signature: str | None, pair: str | None) -> Origin:
        """With what the user says where the ratings say nothing. Raises :class:`ConfigError` where they say other."""
        told = (
            self if self.pairs or not pair else self._replace(pairs=(languages.pair_of(*languages.parse_pair(pair)),))
        )
        if not signature or self.signature:
            if signature and comparable(signature) != comparable(self.signature):
                raise ConfigError(f"--signature {signature}: the ratings are signed {self.signature}")
            return told
        return told._replace(signature=signature, evaluator=signature.partition("|")[0])


UNKNOWN = Origin()
_LACKING = "edits without all four scores"


def calibrate(
    texts: Texts,
    wanted: Definition,
    *,
    origin: Origin = UNKNOWN,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: Resampling = USUAL,
) -> Calibration:
    """The margin, where there are edits, and the threshold, where people say what is error-free.

    Raises :class:`mtagent.errors.InputError` where a half would have nothing in it, and :class:`ConfigError` where
    there is neither.
    """
    labelled, edits = texts.labelled(wanted), texts.edits()
    if labelled is None and edits is None and (wanted.cut is not None or any(text.label for text in texts.texts)):
        raise InputError("there is no text with both a score of the judge and one of people")
    if labelled is None and edits is None:
        raise ConfigError(
            "there is nothing to calibrate: name the systems before and after an edit for a margin, and say from which "
            "human score on a text is error-free (--kind or --error-free) for a threshold"
        )
    half = first_half(np.arange(len(texts.groups())), resampling.seed)
    return Calibration(
        evaluator=origin.evaluator or origin.signature.partition("|")[0],
        signature=origin.signature,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        data=origin.data,
        pairs=origin.pairs,
        human=wanted.kind,
        seed=resampling.seed,
        resamples=resampling.resamples,
        left_out=dict(texts.left_out) | ({_LACKING: edits.lacking} if edits and edits.lacking else {}),
        remarks=(*origin.remarks, *_unmarked(texts, wanted)),
        margin=None if edits is None else margin_of(edits.edits, half[edits.groups], resampling),
        error_free=None
        if labelled is None
        else error_free_of(labelled[0], half[labelled[1]], str(wanted), precision, fewest, resampling),
    )


def _unmarked(texts: Texts, wanted: Definition) -> Iterator[str]:
    """What is to be said where error-free should mean that nothing is marked, and that is not known of all texts."""
    known = [text.marked is not None for text in texts.texts if text.human is not None]
    if wanted.unmarked and not all(known):
        of = f" of {known.count(False)} texts" if any(known) else ""
        yield f"no spans are known{of}: error-free goes by the score alone"


def _refuse_one_sided(half: Truths, what: str) -> None:
    if half.all() or not half.any():
        raise InputError(
            f"all {len(half)} {what} with both scores are in one half of the documents: more documents or segments are "
            "needed, or another --seed"
        )


def margin_of(edits: Edits, half: Truths, resampling: Resampling = USUAL) -> Margin:
    """The best margin of the edits in ``half``, and what it does to the others.

    Raises :class:`InputError` where all are in one half.
    """
    _refuse_one_sided(half, "edits")
    chosen, other = best_margin(edits.chosen(half)), edits.chosen(~half)
    return Margin(
        value=None if math.isinf(chosen) else chosen,
        calibrated_on=int(half.sum()),
        held_out=_effect(effect(other, chosen, resampling)),
        unmargined=_effect(effect(other, 0.0, resampling)),
    )


def error_free_of(
    labelled: Labelled,
    half: Truths,
    definition: str,
    precision: float = PRECISION,
    fewest: int = FEWEST,
    resampling: Resampling = USUAL,
) -> ErrorFree:
    """The lowest threshold that reaches ``precision`` on the texts in ``half``, and what it does to the others.

    Raises :class:`InputError` where all are in one half.
    """
    _refuse_one_sided(half, "texts")
    ours, other = labelled.chosen(half), labelled.chosen(~half)
    found = best_threshold(ours, precision, fewest)
    low, high, reached = threshold_interval(ours, precision, fewest, resampling)
    points = thinned(curve(ours))
    columns = (points.thresholds.tolist(), points.precision.tolist(), points.coverage.tolist())
    return ErrorFree(
        definition=definition,
        wanted=precision,
        threshold=found,
        low=low,
        high=high,
        reached=reached,
        calibrated_on=len(ours),
        held_out=None if found is None else _labels(labels(other, found, resampling)),
        curve=tuple(Point(threshold=t, precision=p, coverage=c) for t, p, c in zip(*columns, strict=True)),
    )


def _effect(found: Effect) -> Effect_of_calibration:
    return Effect_of_calibration.model_validate(_plain(found._asdict()))


def _labels(found: Labels) -> Labels_of_calibration:
    return Labels_of_calibration.model_validate(_plain(found._asdict()))


def _plain(found: dict[str, Interval | int]) -> dict[str, Any]:
    return {name: value if isinstance(value, int) else value._asdict() for name, value in found.items()}


_COVERAGES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


def text(calibration: Calibration) -> str:
    """All of it, in lines of a few columns."""
    lines = [*_about(calibration)]
    if calibration.margin is not None:
        lines += ["", *_margin(calibration.margin)]
    if calibration.error_free is not None:
        lines += ["", *_error_free(calibration.error_free)]
    return "\n".join(lines)


def figure(found: Figure, *, percent: bool = False, signed: bool = False) -> str:
    """``70.5 [69.8, 71.2]``, a share as ``35.1 % [33.0, 37.2]``; ``-`` where it is not defined."""
    if found.value is None:
        return "-"
    factor, sign = (100.0 if percent else 1.0), ("+" if signed else "")
    digits = 1 if percent else _digits(found)
    shown = [
        f"{value * factor:{sign}.{digits}f}" for value in (found.value, found.low, found.high) if value is not None
    ]
    unit = " %" if percent else ""
    return f"{shown[0]}{unit} [{', '.join(shown[1:])}]" if len(shown) == 3 else f"{shown[0]}{unit}"


def _digits(found: Figure) -> int:
    """As many as tell the bounds apart."""
    width = (found.high or 0.0) - (found.low or 0.0)
    return 2 if width > 0.1 else 4


def _about(calibration: Calibration) -> Iterator[str]:
    yield f"evaluator   {calibration.signature or calibration.evaluator or 'not known'}"
    for source in calibration.data:
        content = f" sha256:{source.sha256[:12]}" if source.sha256 else ""
        yield f"data        {source.option} {source.name}{content}"
    pairs = f", {', '.join(calibration.pairs)}" if calibration.pairs else ""
    yield f"human       {calibration.human}{pairs}"
    yield f"made        {calibration.date} by mtagent {calibration.version}, seed {calibration.seed}"
    for reason, number in calibration.left_out.items():
        yield f"left out    {number} {reason}"


def _margin(margin: Margin) -> Iterator[str]:
    shown = "none is enough: no text is kept" if margin.value is None else f"{margin.value:g}"
    yield f"margin      {shown} (chosen on {margin.calibrated_on} edits)"
    found = margin.held_out
    yield f"held out: {found.items} edits of {found.groups} documents or segments, human score with 95 % interval"
    rows: list[tuple[str, Figure]] = [
        ("never accept", found.never),
        ("always accept", found.always),
        ("gate, no margin", margin.unmargined.gate),
        ("gate, this margin", found.gate),
        ("oracle", found.oracle),
    ]
    yield from _columns([(name, figure(value)) for name, value in rows])
    yield from _columns([(name, figure(value, signed=True)) for name, value in _leads(found)])
    yield from _columns([(name, figure(value, percent=True)) for name, value in _shares(found)])
    yield from (f"  {line}" for line in verdict(found))


def _leads(found: Effect_of_calibration) -> list[tuple[str, Figure]]:
    return [("gate over never", found.over_never), ("gate over always", found.over_always)]


def _shares(found: Effect_of_calibration) -> list[tuple[str, Figure]]:
    return [
        ("accepted", found.accepted),
        ("good edits kept", found.good_kept),
        ("harmful refused", found.harmful_refused),
    ]


def verdict(found: Effect_of_calibration) -> Iterator[str]:
    """Whether the gate beats both of what needs no gate, in words."""
    for name, lead, hint in (
        ("leaving all as it was", found.over_never, ": edit nothing"),
        ("accepting all", found.over_always, ": --gate guards keeps all that does no damage"),
    ):
        if lead.low is None or lead.high is None:
            continue
        if lead.low > 0:
            yield f"the gate beats {name}"
        elif lead.high < 0:
            yield f"the gate LOSES to {name}{hint}"
        else:
            yield f"the gate is not told apart from {name}"


def _error_free(found: ErrorFree) -> Iterator[str]:
    if found.threshold is None:
        yield f"error-free  no threshold reaches a precision of {found.wanted:g} for {found.definition}"
    else:
        between = f", in resamples {found.low:g} to {found.high:g}" if None not in (found.low, found.high) else ""
        yield f"error-free  from {found.threshold:g} on{between}: {found.definition}, wanted precision {found.wanted:g}"
    yield f"            chosen on {found.calibrated_on} texts; reached in {found.reached:.0%} of resamples"
    if found.held_out is not None:
        yield from _held_out(found.held_out)
    yield "  threshold  precision  coverage   (the half that was chosen on)"
    for point in _spread(found.curve):
        yield f"  {point.threshold:9.4g}  {point.precision:9.3f}  {point.coverage:8.3f}"


def _held_out(found: Labels_of_calibration) -> Iterator[str]:
    yield f"held out: {found.items} texts of {found.groups} documents or segments"
    rows = [
        ("error-free texts", found.error_free),
        ("precision", found.precision),
        ("coverage", found.coverage),
        ("recall", found.recall),
    ]
    yield from _columns([(name, figure(value, percent=True)) for name, value in rows])


def _spread(curve: Sequence[Point]) -> list[Point]:
    """The points next to a few coverages."""
    places = [min(range(len(curve)), key=lambda i: abs(curve[i].coverage - wanted)) for wanted in _COVERAGES]
    return [curve[place] for place in sorted(set(places))]


def _columns(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    for name, value in rows:
        yield f"  {name:<18} {value}"
