"""The quality of rules that decide on edits: learnt on some documents, measured on others, in several splits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtagent.chain.calibration import ExpectedGain, Figure
from mtagent.learning.calibrate import cautious_points, decided_crosswise
from mtagent.learning.gain import (
    Floats,
    Ints,
    JudgedPairs,
    Truths,
    kept,
    learn,
    learnt_groups,
    predictions,
    ratios,
)
from mtagent.metrics.significance import GroupResampling
from wmt.lib.gate_data import TEACHER, DataSet

NEITHER = "never or always, whichever was better"
ORACLE = "oracle"
GIVEN = "the text given"
BEST = "the best single system"


def gain_rule(panel: Sequence[str]) -> str:
    """The name of the rule that decides by the expected gain of a panel."""
    return f"expected gain: {' + '.join(panel)}"


def learnt_segments(data: DataSet, sample: int, seed: int) -> Truths:
    """Which groups are learnt from: a random half, or more until each case has ``sample`` pairs; none for 0."""
    sizes = np.bincount(data.groups)
    if not sample:
        return np.zeros(len(sizes), dtype=np.bool_)
    return learnt_groups(sizes, sample=data.segments_for(sample), seed=seed)


class Worth:
    """What a rule is worth by one scorer, for each case and split: means of scores over the edits reported on.

    ``lead`` is that over the better of always and never on these edits, ``room`` the lead of the oracle; ``reported``
    is how many groups they are of.
    """

    def __init__(self, cases: int, splits: int, groups: int) -> None:
        self.lead, self.room, self.gate, self.never, self.always = np.full((5, cases, splits), np.nan)
        self._leads, self._weights = np.zeros((2, cases, groups))
        self.reported = 0.0

    def add(self, case: int, split: int, groups: Ints, gate: Floats, sides: tuple[Floats, Floats, Floats]) -> None:
        """Scores of the texts that the rule leaves, and as ``sides`` those of never, always and the oracle."""
        never, always, oracle = sides
        better = always if always.mean() > never.mean() else never
        means = (never.mean(), always.mean(), gate.mean())
        self.never[case, split], self.always[case, split], self.gate[case, split] = means
        self.lead[case, split], self.room[case, split] = (gate - better).mean(), (oracle - better).mean()
        self.reported += len(np.unique(groups)) / self.lead.size
        size = self._leads.shape[1]
        self._leads[case] += np.bincount(groups, (gate - better) / len(gate), size)
        self._weights[case] += np.bincount(groups, np.full(len(gate), 1 / len(gate)), size)

    def mean_lead(self, resampling: GroupResampling, case: int | None = None) -> Figure:
        """The mean lead over the splits, and the cases or one of them, with an interval over the groups."""
        cases = slice(None) if case is None else slice(case, case + 1)
        leads, weights = self._leads[cases].sum(axis=0), self._weights[cases].sum(axis=0)
        there = weights > 0
        if there.sum() < 2:
            return Figure(value=float(self.lead[cases].mean()))
        return ratios([leads[there]], [weights[there]], np.arange(there.sum()), resampling)[0]

    def headroom(self, case: int | None = None) -> float:
        """The share that the mean lead is of the oracle's."""
        cases = slice(None) if case is None else slice(case, case + 1)
        return float(self.lead[cases].mean() / self.room[cases].mean())

    @property
    def won(self) -> float:
        """In which share of the cases and splits the rule beats the better of always and never."""
        return float((self.lead > 0).mean())

    @property
    def lost(self) -> float:
        """In which share of them it is worse."""
        return float((self.lead < 0).mean())


Worths = dict[tuple[str, str], Worth]
"""By the rule and the scorer."""


def worths(data: DataSet, sample: int, splits: int, seed: int, panels: Sequence[Sequence[str]]) -> Worths:
    """All rules on all cases: those of single judges, and the expected gain of ``panels`` learnt from ``sample`` pairs.

    For a sample of 0 nothing is learnt, and all edits are reported on.
    """
    cases = [(data.pairs(case), data.groups_of(case)) for case in data.cases]
    places = {panel: [data.judges.index(judge) for judge in panel] for panel in map(tuple, panels)}
    size, found = int(data.groups.max()) + 1, Worths()
    for number in range(splits):
        half = learnt_segments(data, sample, seed + number)
        for case, (pairs, groups) in enumerate(cases):
            reported = ~half[groups]
            others = pairs[data.target].chosen(reported)
            keeps = {f"better by {judge}": others.differences[:, place] > 0 for place, judge in enumerate(data.judges)}
            if sample:
                learnt = pairs[data.target].chosen(half[groups]).drawn(sample, (seed + number, case))
                keeps[NEITHER] = np.full(len(others), learnt.gains.sum() > 0)
                for panel, of in places.items():
                    keeps[gain_rule(panel)] = decided(learnt.of(*of), others.of(*of))
            for report in data.reports:
                scored = pairs[report].chosen(reported)
                before, after = scored.human_before, scored.human_after
                for rule, keep in (*keeps.items(), (ORACLE, scored.gains > 0)):
                    worth = found.setdefault((rule, report), Worth(len(cases), splits, size))
                    sides = (before, after, np.maximum(before, after))
                    worth.add(case, number, groups[reported], np.where(keep, after, before), sides)
    return found


def decided(learnt: JudgedPairs, others: JudgedPairs) -> Truths:
    """Which of ``others`` are kept by their expected gain; labels that are all the same teach never or always."""
    if (learnt.gains == learnt.gains[0]).all():
        return np.full(len(others), learnt.gains[0] > 0) & ~others.all_call_worse
    return kept(learn(learnt), others)


def learnt_gain(pairs: JudgedPairs, resampling: GroupResampling) -> ExpectedGain:
    """The expected gain that pairs teach, with what ``--cautious`` can promise of it."""
    points = cautious_points(pairs, decided_crosswise(pairs, seed=resampling.seed), resampling)
    return learn(pairs, seed=resampling.seed).model_copy(update={"cautious": points})


def candidate_systems(data: DataSet) -> tuple[str, ...]:
    """The systems whose texts are proposals: all but the teacher's own model."""
    return tuple(system for system in data.systems if system != TEACHER)


def candidates(data: DataSet, splits: int, seed: int) -> Worths:
    """Which system's text to take for each segment that all have translated; ``lead`` is that over the best system.

    Given is the text of the system that the target's scores find best on the segments learnt from. One gate is learnt
    there from pairs of its text and that of another system, a random one for each segment; the text with the highest
    expected gain above 0 over the given one is chosen. The best single system is that of the documents reported on.
    """
    scores = {
        name: np.stack([data.scores[name][system] for system in candidate_systems(data)], axis=1)
        for name in (*data.reports, *data.judges)
    }
    there = ~np.isnan(np.concatenate(list(scores.values()), axis=1)).any(axis=1)
    scores, groups = {name: of[there] for name, of in scores.items()}, data.groups[there]
    target, judged = scores[data.target], np.stack([scores[judge] for judge in data.judges], axis=2)
    number_of_systems, size, found = target.shape[1], int(data.groups.max()) + 1, Worths()

    def edits(rows: Ints, given: int, after: Ints) -> JudgedPairs:
        old, new = judged[rows, given], judged[rows, after]
        return JudgedPairs(data.judges, new - old, target[rows, given], target[rows, after], groups[rows], old)

    for number in range(splits):
        half, rng = learnt_segments(data, data.sample, seed + number), np.random.default_rng(seed + number)
        learnt, reported = rng.permutation(np.flatnonzero(half[groups]))[: data.sample], np.flatnonzero(~half[groups])
        given = int(target[learnt].mean(axis=0).argmax())
        others = [place for place in range(number_of_systems) if place != given]
        calibration = edits(learnt, given, rng.choice(others, len(learnt)))
        choices = {GIVEN: np.full(len(reported), given)}
        for place, judge in enumerate(data.judges):
            choices[f"best by {judge}"] = judged[reported, :, place].argmax(axis=1)
        for panel in data.panels:
            of = [data.judges.index(judge) for judge in panel]
            gain, expected = learn(calibration.of(*of)), np.zeros((len(reported), number_of_systems))
            for other in others:
                proposals = edits(reported, given, np.full(len(reported), other))
                expected[:, other] = np.where(
                    kept(gain, proposals.of(*of)), predictions(gain, proposals.of(*of)), -np.inf
                )
            choices[gain_rule(panel)] = expected.argmax(axis=1)
        for report in data.reports:
            texts = scores[report][reported]
            best = texts[:, texts.mean(axis=0).argmax()]
            chosen = {rule: texts[np.arange(len(texts)), places] for rule, places in choices.items()}
            for rule, values in {**chosen, BEST: best, ORACLE: texts.max(axis=1)}.items():
                worth = found.setdefault((rule, report), Worth(1, splits, size))
                worth.add(0, number, groups[reported], values, (best, best, texts.max(axis=1)))
    return found
