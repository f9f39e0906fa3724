"""Whether an evaluator tells error-free translations from others: the third task of WMT26's evaluation.

There a translation is error-free if people marked no error in it and gave it an ESA score of at least 85.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

import mtagent
from mtagent.errors import ConfigError, InputError
from mtagent.meta_eval.marked import Floats, SegmentsLeftOut, Unrated
from mtagent.meta_eval.spans import DEFAULT_TEST, Lead
from mtagent.metrics.significance import Counted, Resampling, compared
from mtagent.mqm import SEVERITIES
from mtagent.records import ErrorSpan, Severity

ESA_ERROR_FREE = 85.0
"""WMT26's threshold for ESA scores (0 to 100)."""


@dataclass(frozen=True)
class Detection:
    """How well error-free translations are told from others; "positive" is error-free.

    ``precision``: of those labelled error-free, the share that is. ``recall``: of those that are, the share that is
    labelled so. Each is ``None`` where it is a share of nothing, and so is ``f1`` where there is no error-free
    translation on either side. ``left_out``: without a label on the side(s) named.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    left_out: SegmentsLeftOut
    signature: str

    @property
    def segments(self) -> int:
        """How many were compared."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives


def is_error_free(
    errors: Collection[ErrorSpan] | None,
    score: float | None = None,
    *,
    at_least: float | None = None,
    severities: Collection[Severity] = SEVERITIES,
    source_errors: bool = True,
) -> bool | None:
    """Whether a translation is labelled error-free: no error is marked and, with ``at_least``, its score reaches it.

    ``None`` where that cannot be told: ``errors`` are ``None`` (not rated), or the score that is asked for is. Only
    errors of ``severities`` count, and those of the source only with ``source_errors``; by default all count, as at
    WMT26 (with ``at_least=ESA_ERROR_FREE`` for ESA scores).
    """
    if errors is None:
        return None
    if any(error.severity in severities and (source_errors or error.side != "source") for error in errors):
        return False
    return True if at_least is None else is_scored_error_free(score, at_least)


def is_scored_error_free(score: float | None, at_least: float) -> bool | None:
    """The label of an evaluator that marks no errors: whether its score reaches ``at_least``; ``None`` without one.

    Raises :class:`InputError` for a score that is NaN.
    """
    if score is not None and math.isnan(score):
        raise InputError("a score is NaN; a missing score is None")
    return None if score is None else score >= at_least


def detection(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], *, unrated: Unrated = "refuse"
) -> Detection:
    """Compare an evaluator's labels with people's: ``True`` is error-free, ``None`` is no label.

    Raises :class:`InputError` for lists of different lengths, a missing label (if refused), and where none is left.
    """
    cells, left_out = _cells(gold, predicted, unrated)
    tp, fp, fn, tn = (int(number) for number in cells.sum(axis=0))
    return Detection(
        precision=tp / (tp + fp) if tp + fp else None,
        recall=tp / (tp + fn) if tp + fn else None,
        f1=2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        accuracy=(tp + tn) / len(cells),
        true_positives=tp,
        false_positives=fp,
        false_negatives=fn,
        true_negatives=tn,
        left_out=left_out,
        signature=f"error-free|left-out:{left_out.total}|version:{mtagent.__version__}",
    )


def detection_difference(
    gold: Sequence[bool | None],
    first: Sequence[bool | None],
    second: Sequence[bool | None],
    how: Resampling = DEFAULT_TEST,
    *,
    accuracy: bool = False,
    unrated: Unrated = "refuse",
) -> Lead:
    """Test whether two evaluators' F1 (or accuracy) differ, by resampling segments (two-sided).

    Segments without a label of people or of either evaluator are refused or left out, so that both have the same. In a
    resample without an error-free segment on either side F1 counts as 0.
    """
    if not len(gold) == len(first) == len(second):
        raise InputError(f"{len(gold)} labels of people, {len(first)} and {len(second)} of the evaluators")
    known = [None if one is None or other is None else True for one, other in zip(first, second, strict=True)]
    _cells(gold, known, unrated)
    common = [at for at, label in enumerate(known) if label is not None and gold[at] is not None]
    combined = _accuracies if accuracy else _f1s
    tested = []
    for labels in (first, second):
        rows, _ = _cells([gold[at] for at in common], [labels[at] for at in common], "refuse")
        tested.append(Counted(rows, combined))
    ours, theirs = compared([tested], how)[0]
    values = [float(combined(one.rows.sum(axis=0, keepdims=True))[0]) for one in tested]
    name = "error-free-accuracy" if accuracy else "error-free-f1"
    signature = how.signed(f"{name}|segments:{len(common)}|version:{mtagent.__version__}")
    return Lead(values[0] - values[1], theirs.p_value, ours.interval, theirs.interval, len(common), signature)


def _cells(
    gold: Sequence[bool | None], predicted: Sequence[bool | None], unrated: Unrated
) -> tuple[Floats, SegmentsLeftOut]:
    """One row for each labelled segment, with 1 in the column of its case: tp, fp, fn, tn."""
    if unrated not in ("refuse", "leave-out"):
        raise ConfigError(f"unrated: 'refuse' or 'leave-out', not {unrated!r}")
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} labels of people and {len(predicted)} of the evaluator; each segment needs both")
    pairs = list(zip(gold, predicted, strict=True))
    missing = [(is_free is None) + 2 * (label is None) for is_free, label in pairs]
    if any(missing) and unrated == "refuse":
        at = next(at for at, kind in enumerate(missing) if kind)
        whose = "people" if gold[at] is None else "the evaluator"
        raise InputError(f"segment number {at + 1}: no label of {whose}; leave such out (unrated='leave-out')")
    kept = np.array([pair for pair, kind in zip(pairs, missing, strict=True) if not kind], dtype=bool).reshape(-1, 2)
    if not len(kept):
        raise InputError("there is no segment with a label of people and of the evaluator")
    is_free, label = kept.T
    columns = (is_free & label, ~is_free & label, is_free & ~label, ~is_free & ~label)
    return np.stack(columns, axis=1).astype(np.float64), SegmentsLeftOut(*(missing.count(kind) for kind in (1, 2, 3)))


def _f1s(sums: Floats) -> Floats:
    double = 2 * sums[:, 0]
    total = double + sums[:, 1] + sums[:, 2]
    return np.divide(double, total, out=np.zeros(len(sums)), where=total > 0)


def _accuracies(sums: Floats) -> Floats:
    found: Floats = (sums[:, 0] + sums[:, 3]) / sums.sum(axis=1)
    return found
