"""How RATE calibrates a score by comparing a translation with an anchor (RATE paper, appendix B, "Comparison Agent").

================  ==========================  ==========================================
both orders       step                        only where the tentative score is
================  ==========================  ==========================================
win, win          +1                          not above the anchor's
win, tie          +0.5                        not above the anchor's
tie, tie          none
win, lose         none
lose, tie         −0.5                        not below the anchor's (the paper: anywhere)
lose, lose        −1                          not below the anchor's (the paper: anywhere)
================  ==========================  ==========================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

LOWEST, HIGHEST = 0.0, 4.0
LOW_ANCHOR, HIGH_ANCHOR = 1.0, 4.0
"""The scores of the two anchors that the core agent writes itself, while there are no others."""

Outcome = Literal["win", "tie", "lose"]
Advice = Literal["upgrade", "adjust", "confirm", "downgrade"]

_STEPS: dict[tuple[str, ...], float] = {
    ("win", "win"): 1.0,
    ("tie", "win"): 0.5,
    ("lose", "tie"): -0.5,
    ("lose", "lose"): -1.0,
}
_ADVICE: dict[float, Advice] = {1.0: "upgrade", 0.5: "adjust", -0.5: "adjust", -1.0: "downgrade"}


class Anchor(NamedTuple):
    """A translation of the same source whose score is settled."""

    text: str
    score: float


class Calibration(NamedTuple):
    """What a comparison says about a tentative score: what to do, and the score to go on with."""

    advice: Advice
    score: float


def calibrate(tentative: float, anchor: float, outcomes: tuple[Outcome, Outcome]) -> Calibration:
    """The score that the outcomes of both orders suggest, within 0 to 4; the table above."""
    step = _STEPS.get(tuple(sorted(outcomes)), 0.0)
    on_that_side_already = (step > 0 and tentative > anchor) or (step < 0 and tentative < anchor)
    suggested = tentative if on_that_side_already else min(HIGHEST, max(LOWEST, tentative + step))
    return Calibration("confirm" if suggested == tentative else _ADVICE[step], suggested)


def closest(anchors: Iterable[Anchor], score: float) -> Anchor:
    """The anchor whose score is nearest to ``score``; of two equally near ones the lower."""
    return min(anchors, key=lambda anchor: (abs(anchor.score - score), anchor.score))


def level(score: float) -> int:
    """The anchor slot, 0 to 4, of a score: the nearest whole number, halves go up. The anchor keeps its exact score."""
    return math.floor(score + 0.5)
