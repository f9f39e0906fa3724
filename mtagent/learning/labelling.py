"""Which edits are most worth labelling next: those about which the labels so far tell the least.

A gate's weights are uncertain in the directions in which no labelled edit lies. The leverage of an edit measures how
uncertain its prediction is: x' A⁻¹ x, where x are its features and A the moments of the labelled edits with the penalty
of the regression. The edit with the highest leverage comes first, and counts as labelled for the next one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mtagent.errors import ConfigError, InputError
from mtagent.learning.gain import RIDGE, Floats, Truths, signed_roots
from mtagent.learning.pairs import JudgedData, JudgedPair
from mtagent.text.table import Table
from mtagent.text.table import text as tables_as_text


class NextEdit(NamedTuple):
    """An edit that is worth labelling."""

    pair: JudgedPair
    leverage: float

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        before, after = self.pair.systems or (None, None)
        return {
            "id": self.pair.segment.id,
            "stage": self.pair.stage,
            "document": self.pair.segment.document,
            "before": before,
            "after": after,
            "leverage": self.leverage,
        }


class NextEdits(NamedTuple):
    """The edits most worth labelling, best first, and how many there are."""

    edits: tuple[NextEdit, ...]
    labelled: int
    unlabelled: int

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        edits = [edit.plain() for edit in self.edits]
        return {"labelled": self.labelled, "unlabelled": self.unlabelled, "next": edits}

    def text(self) -> str:
        """A table; columns without content are left out."""
        lines = [edit.plain() | {"leverage": f"{edit.leverage:.3g}"} for edit in self.edits]
        head = []
        for name in lines[0]:
            if any(line[name] is not None for line in lines):
                head.append(name)
        rows = []
        for line in lines:
            rows.append(tuple(str(line[name] or "") for name in head))
        title = f"label next, of {self.unlabelled} edits without a label ({self.labelled} have one)"
        return tables_as_text([Table(title, tuple(head), tuple(rows), labels=len(head) - 1)])


def next_edits(data: JudgedData, number: int) -> NextEdits:
    """The ``number`` edits of ``data`` that are most worth labelling.

    Raises :class:`ConfigError` where no edits are named, and :class:`InputError` where all have labels.
    """
    if data.pairs is None:
        raise ConfigError("there is no edit to label: name the systems with --before and --after")
    judged = []
    for pair in data.pairs:
        if None not in pair.differences:
            judged.append(pair)
    # The order of a file decides nothing, not even between equals.
    judged.sort(key=lambda pair: (pair.group, pair.name, pair.systems or ("", ""), pair.differences))
    if not judged:
        raise InputError(f"no edit has the scores of {' and '.join(data.judges)}: there is nothing to choose from")
    is_labelled = np.array([pair.label.gain is not None for pair in judged], dtype=np.bool_)
    if is_labelled.all():
        raise InputError(f"all {len(judged)} edits that the judges scored have labels: there is nothing left to label")
    differences = np.array([pair.differences for pair in judged], dtype=np.float64)
    edits = []
    for place, leverage in by_leverage(differences, is_labelled, number):
        edits.append(NextEdit(judged[place], leverage))
    labelled = int(is_labelled.sum())
    return NextEdits(tuple(edits), labelled, len(judged) - labelled)


_FREE = 1e-3
"""A penalty of nearly nothing, so that the moments can be inverted where nothing is labelled."""


def by_leverage(differences: Floats, is_labelled: Truths, number: int) -> list[tuple[int, float]]:
    """The places of ``number`` edits without labels, each with the highest leverage after those before it; and these.

    ``differences``: edits × judges.
    """
    roots = signed_roots(differences)
    deviations = roots.std(axis=0)
    varies = deviations > 1e-12 * np.abs(roots).max(axis=0, initial=0)  # constant except for rounding
    scaled = np.divide(roots, deviations, out=np.zeros_like(roots), where=varies)
    features = np.hstack([np.ones((len(roots), 1)), scaled])
    labelled_features = features[is_labelled]
    penalties = np.full(
        features.shape[1], RIDGE * (len(labelled_features) + number)
    )  # of the fit that the labels are for
    penalties[0] = _FREE  # the intercept has none
    inverse = np.linalg.inv(labelled_features.T @ labelled_features + np.diag(penalties))
    is_open = ~is_labelled
    chosen = []
    for _ in range(min(number, int(is_open.sum()))):
        leverages = np.where(is_open, np.einsum("ij,jk,ik->i", features, inverse, features), -1.0)
        # Rounded, so that equal edits are equal in every order of the sums.
        place = int(leverages.round(12).argmax())
        chosen.append((place, float(leverages[place])))
        is_open[place] = False
        step = inverse @ features[place]
        inverse -= np.outer(step, step) / (1 + leverages[place])
    return chosen
