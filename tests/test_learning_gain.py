"""The gain learnt from judges' differences: what must hold for any data, cases done by hand, and real ones."""

from __future__ import annotations

import csv
import math
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.calibration import CautiousPoint, Figure
from mtagent.chain.shipped import shipped_weights
from mtagent.errors import ConfigError, InputError
from mtagent.learning.calibrate import (
    DecidedPairs,
    cautious_points,
    decided_crosswise,
    effect,
    few_groups,
    learning_curve,
    triage,
    triage_thresholds,
)
from mtagent.learning.gain import Floats, JudgedPairs, kept, learn, learnt_groups, predictions
from mtagent.learning.pairs import JudgedData, JudgedPair, Label, group_of
from mtagent.metrics.significance import GroupResampling
from mtagent.records import Judgement, Segment

QUICK = GroupResampling(50)


def world(size: int = 300, seed: int = 1, mean: float = 0.0, judges: int = 2, **changes: Any) -> JudgedPairs:
    """Documents of three pairs, whose gain each judge sees with noise of its own and on a scale of its own."""
    rng = np.random.default_rng(seed)
    gain, before = rng.normal(mean, 2, size), rng.normal(70, 5, size)
    seen = [(gain + rng.normal(0, 2, size)) * 10.0**place for place in range(judges)]
    columns: dict[str, Any] = {
        "judges": tuple("ABC"[:judges]),
        "differences": np.stack(seen, axis=1),
        "human_before": before,
        "human_after": before + gain,
        "groups": np.arange(size) // 3,
        "before": rng.normal(0, 1, (size, judges)),
    }
    return JudgedPairs(**{**columns, **changes})


def split(pairs: JudgedPairs, *, sample: int | None = None, seed: int) -> tuple[JudgedPairs, JudgedPairs]:
    """The pairs to learn from, and the pairs to report on."""
    learnt = learnt_groups(np.bincount(pairs.groups), sample=sample, seed=seed)[pairs.groups]
    half = pairs.chosen(learnt)
    return half if sample is None else half.drawn(sample, seed), pairs.chosen(~learnt)


def verdicts(teaching: JudgedPairs, others: JudgedPairs) -> list[bool]:
    """What a gate that was taught by some pairs keeps of others."""
    return list(kept(learn(teaching), others))


def judgements(pairs: JudgedPairs, place: int) -> list[Judgement]:
    """What the judges A and B think of a pair."""
    return [
        Judgement(judge=name, before=float(before), after=float(before + difference))
        for name, before, difference in zip("AB", pairs.scores_before[place], pairs.differences[place], strict=True)
    ]


# --- learning


@pytest.mark.parametrize("mean", [-3.0, 3.0])
def test_a_judge_that_knows_nothing_leaves_never_or_always(mean: float) -> None:
    pairs = world(mean=mean)
    blind = world(mean=mean, differences=np.random.default_rng(9).normal(0, 1, (300, 2)))
    assert set(predictions(learn(blind), blind) > 0) == {mean > 0}
    assert verdicts(blind, blind) == list((mean > 0) & ~(blind.differences < 0).all(axis=1))
    constant = world(mean=mean, differences=np.ones((300, 2)))
    gain = learn(constant)
    assert gain.intercept == pytest.approx(pairs.gains.mean())
    assert [(judge.weight, judge.scale) for judge in gain.judges] == [(0, 0), (0, 0)]
    assert set(predictions(gain, pairs) > 0) == {mean > 0}


@given(st.integers(0, 10**6))
def test_the_order_of_the_pairs_changes_nothing(seed: int) -> None:
    pairs = world(120)
    shuffled = pairs.chosen(np.random.default_rng(seed).permutation(120))
    ours, theirs = learn(pairs), learn(shuffled)
    assert theirs.ridge == ours.ridge
    assert theirs.scale == pytest.approx(ours.scale)
    assert predictions(theirs, pairs) == pytest.approx(predictions(ours, pairs))


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_a_judge_s_scale_changes_nothing(first: float, second: float) -> None:
    pairs = world(120)
    scaled = world(120, differences=pairs.differences * [first, second])
    assert predictions(learn(scaled), scaled) == pytest.approx(predictions(learn(pairs), pairs), rel=1e-4, abs=1e-4)


def test_the_order_of_the_judges_changes_nothing_and_people_s_scale_scales_the_prediction() -> None:
    pairs = world()
    swapped = predictions(learn(pairs.of(1, 0)), pairs.of(1, 0))
    assert swapped == pytest.approx(predictions(learn(pairs), pairs))
    doubled = world(human_before=pairs.human_before * 2, human_after=pairs.human_after * 2)
    assert predictions(learn(doubled), doubled) == pytest.approx(2 * predictions(learn(pairs), pairs))


def test_the_weights_are_those_of_ridge_regression_done_by_hand() -> None:
    """One judge: the slope is cov / (1 + ridge) for roots of differences divided by their deviation."""
    pairs = world(judges=1)
    gain, differences = learn(pairs), pairs.differences[:, 0]
    roots = np.sign(differences) * abs(differences) ** 0.5
    standard = roots / roots.std()
    tamed = np.clip(pairs.gains, *np.percentile(pairs.gains, [2.5, 97.5]))
    slope = np.cov(standard, tamed, bias=True)[0, 1] / (1 + gain.ridge)
    assert gain.judges[0].weight == pytest.approx(slope)
    assert gain.intercept == pytest.approx(pairs.gains.mean() - slope * standard.mean())


def test_the_weights_are_shrunk_to_the_shipped_ones_or_to_those_that_are_given() -> None:
    pairs = world(60, signatures=("gemba-mqm", "cometkiwi"))
    shipped = [shipped_weights().weights[kind] for kind in ("mqm", "qe")]
    assert learn(pairs) == learn(pairs, prior=shipped)
    standard = pairs.roots / pairs.roots.std(axis=0)
    tamed = np.clip(pairs.gains, *np.percentile(pairs.gains, [2.5, 97.5]))
    products = (standard - standard.mean(axis=0)).T @ (tamed - tamed.mean()) / len(pairs)
    for prior in (shipped, [1.0, -1.0], [0.0, 0.0]):
        gain = learn(pairs, prior=prior)
        penalised = np.corrcoef(standard, rowvar=False) + gain.ridge * np.eye(2)
        expected = np.linalg.solve(penalised, products + gain.ridge * tamed.std() * np.array(prior))
        assert [judge.weight for judge in gain.judges] == pytest.approx(expected)


def test_the_file_predicts_what_was_counted() -> None:
    pairs = world(600, human_before=np.zeros(600), human_after=world(600).scores_before @ [3.0, 2.0])
    gain = learn(pairs)
    assert gain.judges[0].before_weight > 0, "people's gain hangs on the score before"
    counted = predictions(gain, pairs)
    for place in (0, 7, 599):
        assert gain.predict(judgements(pairs, place)) == pytest.approx(counted[place], abs=1e-6)


@pytest.mark.parametrize(("tie", "mean"), [(0.5, 0.0), (1.0, 0.5), (2.0, 0.0)])
def test_the_chances_are_the_shares_of_better_and_worse_edits(tie: float, mean: float) -> None:
    """People see no difference in gains up to ``tie``. New edits, in tenths by their prediction."""

    def people(seed: int) -> JudgedPairs:
        gains = world(4000, seed, mean).gains
        seen = np.where(np.abs(gains) < tie, 0, gains)
        return world(4000, seed, mean, human_before=np.zeros(4000), human_after=seen)

    gain, others = learn(people(1)), people(2)
    predicted, errors = predictions(gain, others), []
    for tenth in np.array_split(np.argsort(predicted), 10):
        better = np.mean([gain.chance(value) for value in predicted[tenth]])
        worse = np.mean([gain.chance_of_worse(value) for value in predicted[tenth]])
        errors.append((better - (others.gains[tenth] > 0).mean(), worse - (others.gains[tenth] < 0).mean()))
    assert (np.abs(errors).mean(axis=0) <= 0.04).all()


def test_chances_are_the_shares_where_judges_know_nothing_and_no_outcome_is_impossible() -> None:
    gains = np.tile([1.0, 2.0, 0.0, -1.0], 75)
    blind = world(differences=np.ones((300, 2)), human_before=np.zeros(300), human_after=gains)
    gain = learn(blind)
    assert gain.chance(gain.intercept) == pytest.approx(0.5, abs=0.01)
    assert gain.chance_of_worse(gain.intercept) == pytest.approx(0.25, abs=0.01)
    good = learn(world(human_before=np.zeros(300), human_after=np.abs(world().gains) + 1))
    assert 0.9 < good.chance(2) < 1
    exact = world(human_before=np.zeros(300), human_after=world().roots[:, 0])
    assert learn(exact).chance(3) > 0.99
    assert learn(exact).chance_of_worse(-3) > 0.99


@pytest.mark.parametrize("mean", [-1.0, 0.0, 3.0])
def test_one_edit_is_decided_as_many_are(mean: float) -> None:
    pairs = world(mean=mean)
    gain = learn(pairs)
    verdicts = kept(gain, pairs)
    assert [gain.keeps(judgements(pairs, place)) for place in range(len(pairs))] == list(verdicts)
    careful = gain.model_copy(update={"cautious": (CautiousPoint(chance_of_worse=0.15, worse=0.2, kept=0.1),)})
    cautious = kept(careful, pairs, 0.2)
    assert [careful.keeps(judgements(pairs, place), 0.2) for place in range(len(pairs))] == list(cautious)
    assert 0 < cautious.sum() < verdicts.sum()
    assert 0 < verdicts.sum() < len(pairs)


def test_an_edit_that_every_judge_calls_worse_is_not_kept_though_edits_are_good_on_the_whole() -> None:
    pairs = world(mean=6)
    worse = world(60, differences=np.repeat([[-0.1, -1], [-0.1, 1]], 30, axis=0))
    assert (predictions(learn(pairs), worse) > 0).all()
    assert verdicts(pairs, worse) == [False] * 30 + [True] * 30
    assert verdicts(pairs.of(0), worse.of(0)) == [True] * 60, "a single judge has no veto"


@pytest.mark.parametrize(("size", "used"), [(399, False), (402, True)])
def test_scores_before_count_from_400_pairs_on_and_only_where_they_help(size: int, used: bool) -> None:
    before = world(size).scores_before
    helpful = learn(world(size, human_before=np.zeros(size), human_after=before[:, 0] * 5))
    assert any(judge.before_weight for judge in helpful.judges) is used
    assert not any(judge.before_weight for judge in learn(world(size)).judges)


def test_noise_is_penalised_more_and_what_is_exact_less() -> None:
    noise = np.random.default_rng(1).normal(0, 9, (20, 60))
    few = [learn(world(60, seed, human_after=after, human_before=np.zeros(60))) for seed, after in enumerate(noise)]
    assert sum(gain.ridge >= 0.3 for gain in few) >= 18
    pairs = world(600)
    exact = world(600, human_before=np.zeros(600), human_after=pairs.roots[:, 0])
    assert learn(exact).ridge < 0.3


def test_one_catastrophe_decides_for_never_but_not_what_a_judge_is_worth() -> None:
    """People's mean gain counts to the last point; the weights do not hang on one pair."""
    pairs = world(mean=0.5)
    worse = pairs.human_after.copy()
    worse[17] = -10_000
    disaster = learn(world(mean=0.5, human_after=worse))
    assert [judge.weight for judge in disaster.judges] == pytest.approx(
        [judge.weight for judge in learn(pairs).judges], rel=0.25
    )
    assert not any(verdicts(world(mean=0.5, human_after=worse), pairs))


def test_two_judges_are_better_than_one() -> None:
    learnt, other = split(world(1200), seed=2)
    assert isinstance(learnt, JudgedPairs)
    both, one = (
        effect(other.of(*judges), predictions(learn(learnt.of(*judges)), other.of(*judges)) > 0, QUICK)
        for judges in ((0, 1), (0,))
    )
    assert both.gate.value > one.gate.value > max(one.never.value, one.always.value)  # type: ignore[operator, type-var]


def test_what_cannot_be_learnt_from_is_said_in_a_line() -> None:
    for pairs, message in (
        (world(27), r"27 pairs with all scores: at least 30 are needed"),
        (world(30, human_after=world(30).human_before), r"the same gain \(0\) in all 30 pairs"),
        (world(30, groups=np.zeros(30)), "all 30 pairs are from one document"),
    ):
        with pytest.raises(InputError, match=message):
            learn(pairs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"differences": np.full((30, 2), np.nan)}, "the differences of A: 30 are not finite numbers"),
        (
            {"before": np.where(np.arange(60).reshape(30, 2) == 1, np.nan, 0)},
            "the scores before of B: 1 are not finite",
        ),
        ({"human_after": np.full(30, math.inf)}, "the human scores after: 30 are not finite numbers"),
        ({"human_after": np.zeros(29)}, r"human_after: expected an array of the shape \(30,\), found \(29,\)"),
        ({"differences": np.zeros((30, 1))}, r"differences: expected an array of the shape \(30, 2\), found \(30, 1\)"),
        ({"groups": np.zeros(0)}, r"differences: expected an array of the shape \(0, 2\)"),
    ],
)
def test_pairs_that_are_none_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        world(30, **changes)


# --- promises


def test_promises_are_kept_on_other_documents_and_broken_by_one_gate_in_ten_at_most() -> None:
    given, broken = 0, 0
    for seed in range(40):
        learnt, others = world(240, 2 * seed, mean=0.5), world(3000, 2 * seed + 1, mean=0.5)
        points = cautious_points(learnt, decided_crosswise(learnt, seed=seed), GroupResampling(300, seed))
        gain = learn(learnt, seed=seed).model_copy(update={"cautious": points})
        try:
            keep = kept(gain, others, 0.15)
        except ConfigError:
            continue
        given += 1
        broken += (others.gains[keep] < 0).mean() > 0.15
        assert 0 < keep.sum() < kept(gain, others).sum()
    assert given >= 20
    assert broken <= 4


def test_few_kept_edits_promise_nothing_and_many_good_ones_not_everything() -> None:
    pairs = world(120)
    nothing = np.zeros(120)
    few = DecidedPairs(np.arange(120) < 19, nothing)
    assert cautious_points(pairs, few) == ()
    good = world(120, human_before=nothing, human_after=nothing + 1)
    (point,) = cautious_points(good, DecidedPairs(np.ones(120, dtype=bool), nothing))
    assert (point.kept, point.chance_of_worse) == (1, 0)
    assert 0 < point.worse < 0.05
    (few_good,) = cautious_points(good, DecidedPairs(np.arange(120) < 20, nothing))
    assert few_good.worse > point.worse


def test_edits_of_one_document_are_worth_less_to_a_promise() -> None:
    """Half of the documents are good throughout, the others bad."""
    whole = np.repeat([1.0, -1.0], 60)
    everything = DecidedPairs(np.ones(120, dtype=bool), np.zeros(120))
    bounds = []
    for groups in (np.arange(120), np.arange(120) // 20):
        pairs = world(120, human_before=np.zeros(120), human_after=whole, groups=groups)
        bounds.append(cautious_points(pairs, everything)[-1].worse)
    assert 0.5 < bounds[0] < bounds[1]


# --- halves


@given(st.integers(0, 1000), st.sampled_from([None, 10, 100]))
def test_no_document_is_in_both_halves_and_the_sample_is_as_large_as_asked(seed: int, sample: int | None) -> None:
    size = 150
    pairs = world(size, groups=np.random.default_rng(seed).integers(0, 30, size), human_before=np.arange(size) * 1.0)
    ours, others = split(pairs, sample=sample, seed=seed)
    group_of = dict(zip(pairs.human_before.tolist(), pairs.groups.tolist(), strict=True))
    learnt, reported = ({group_of[score] for score in side.human_before.tolist()} for side in (ours, others))
    assert not learnt & reported
    assert len(reported) <= 15
    assert sample in (None, len(ours))


def test_a_sample_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"--sample 300: there are 300 pairs of 100 documents"):
        learnt_groups(np.full(100, 3), sample=300)
    with pytest.raises(InputError, match="at least two are needed"):
        learnt_groups(np.full(1, 3))


# --- what it is worth


def hand_made(*rows: tuple[float, float, float], judges: int = 1) -> JudgedPairs:
    """Each row: the judge's difference, and people's scores before and after."""
    differences, before, after = map(np.array, zip(*rows, strict=True))
    return JudgedPairs(("A",), differences[:, None], before, after, np.arange(len(rows)))


FOUR = hand_made((30, 60, 90), (10, 80, 70), (0, 70, 75), (-20, 80, 20))


def test_an_effect_is_told_beside_always_never_each_judge_and_the_oracle() -> None:
    found = effect(FOUR, np.array([True, False, False, False]), QUICK)
    assert (found.gate.value, found.always.value, found.never.value, found.oracle.value) == (80, 63.75, 72.5, 81.25)
    assert (found.over_always.value, found.over_never.value) == (16.25, 7.5)
    assert (found.lead.value, found.headroom.value) == (7.5, 7.5 / 8.75)
    assert found.alone["A"].value == 77.5
    assert (found.accepted.value, found.good_kept.value, found.harmful_refused.value) == (0.25, 0.5, 1)
    assert (found.items, found.groups) == (4, 4)


def pairs_of(*segments: tuple[str, str | None]) -> JudgedData:
    """Edits of segments with these ids and documents."""
    judgement, label = Judgement(judge="A", before=0, after=1), Label(0.0, 1.0, has_scores=True)
    pairs = []
    for name, document in segments:
        segment = Segment(id=name, source="x", source_lang="en", target_lang="es", document=document)
        pairs.append(JudgedPair(segment, group_of(segment), judgements=(judgement,), label=label))
    return JudgedData(("A",), pairs=tuple(pairs))


def test_neighbouring_segments_without_a_document_are_resampled_together() -> None:
    names = [str(number) for number in range(30)]
    of_ten = [pairs_of(*[(name, None) for name in order]).groups for order in (names, reversed(names))]
    assert of_ten[0] == of_ten[1]
    assert [of_ten[0]["segment", name] for name in names] == [number // 3 for number in range(30)]
    with_documents = pairs_of(*[(name, None) for name in names], ("30", "d"), ("31", "d"), ("32", "c")).groups
    assert (with_documents["document", "c"], with_documents["document", "d"]) == (0, 1)
    assert [with_documents["segment", name] for name in names] == [2 + number // 3 for number in range(30)]


def test_the_effective_number_of_documents_is_that_of_equal_ones() -> None:
    """Kish's number of ten documents, of which one holds half of the edits: 18² / (9² + 9 · 1²) = 3.6."""
    documents = np.array([0] * 9 + list(range(1, 10)))
    pairs = JudgedPairs(("A",), np.ones((18, 1)), np.zeros(18), np.arange(18.0) - 5, documents)
    found = effect(pairs, np.arange(18) > 5, QUICK)
    assert found.groups == 10
    assert found.effective_groups == pytest.approx(3.6)
    assert list(few_groups(found, has_documents=True)) == [
        "the edits come from too few documents (they count as 4 of equal size; 30 are enough), so the intervals "
        "are too narrow: add edits from other documents"
    ]
    assert list(few_groups(found, has_documents=False)) == [
        "the documents are unknown, and the edits come from few blocks of segments (they count as 4 of equal size; "
        "30 are enough), so the intervals may be too narrow"
    ]
    many = JudgedPairs(("A",), np.ones((30, 1)), np.zeros(30), np.arange(30.0) - 5, np.arange(30))
    assert effect(many, np.arange(30) > 5, QUICK).effective_groups == pytest.approx(30)
    assert not list(few_groups(effect(many, np.arange(30) > 5, QUICK), has_documents=True))


@pytest.mark.parametrize(
    ("groups", "high"),
    # Wilson's bound for 0 of n is z² / (n + z²): n is the effective number of groups, (sum of sizes)² / sum of sizes².
    [([0, 1], 3.8415 / 5.8415), ([0, 0], 3.8415 / 4.8415), ([0, 0, 1, 2], 3.8415 / (16 / 6 + 3.8415))],
)
def test_no_refusal_of_a_few_harmful_edits_shows_little(groups: list[int], high: float) -> None:
    """Every harmful edit is kept: each resample has a share of 0, which is no interval from 0 to 0."""
    gains = np.full(len(groups) + 2, -1.0)
    gains[-2:] = 3
    documents = np.array([*groups, 7, 8])
    pairs = JudgedPairs(("A",), np.ones((len(gains), 1)), np.zeros(len(gains)), gains, documents)
    refused = effect(pairs, np.ones(len(gains), dtype=bool), QUICK).harmful_refused
    assert (refused.value, refused.low) == (0, 0)
    assert refused.high == pytest.approx(high, abs=1e-4)


def test_a_gate_that_decides_like_always_has_a_lead_of_nothing_and_no_interval() -> None:
    found = effect(FOUR, np.array([True] * 4), QUICK)
    assert (found.over_always, found.over_never.low is None) == (Figure(value=0), False)
    of_one_document = JudgedPairs(("A",), np.ones((3, 1)), np.zeros(3), np.array([1.0, 2, -1]), np.zeros(3, dtype=int))
    found = effect(of_one_document, np.array([True, True, False]), QUICK)
    assert (found.lead, found.over_never) == (Figure(value=found.lead.value), Figure(value=1))


def test_always_is_the_bar_where_it_is_better_than_never() -> None:
    found = effect(hand_made((1, 0, 9), (1, 0, -1)), np.array([True, False]), QUICK)
    assert found.lead.value == 0.5
    assert found.headroom.value == 1


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=20))
def test_never_and_always_are_themselves_and_none_beats_the_oracle(rows: list[tuple[float, float, float]]) -> None:
    pairs = hand_made(*rows)
    for keep in (False, True):
        found = effect(pairs, np.full(len(pairs), keep), GroupResampling(1))
        assert found.gate == (found.always if keep else found.never)
        assert found.oracle.value >= found.gate.value  # type: ignore[operator]


def test_a_lead_is_resampled_as_a_lead() -> None:
    rng = np.random.default_rng(7)
    before = rng.normal(50, 20, 300)
    pairs = JudgedPairs(("A",), np.ones((300, 1)), before, before + rng.normal(2, 1, 300), np.arange(300) // 3)
    found = effect(pairs, np.ones(300, dtype=bool), GroupResampling(500))
    assert found.over_never.high - found.over_never.low < 0.5  # type: ignore[operator]
    assert found.gate.high - found.gate.low > 2  # type: ignore[operator]


def test_the_learning_curve_rises_and_stops_at_the_pairs_there_are() -> None:
    ours, others = split(world(900), seed=4)
    points = learning_curve(ours, others, draws=5)
    assert [point.pairs for point in points] == [50, 100, 200, 400]
    assert points[-1].lead > 0.5
    assert points[-1].lead >= points[0].lead - 0.05
    assert all(point.headroom is not None and 0 < point.headroom < 1 for point in points)
    assert [point.pairs for point in learning_curve(ours.drawn(120), others, draws=2)] == [50, 100]


def test_a_draw_whose_labels_are_all_the_same_is_never_or_always() -> None:
    flat = world(60, human_after=world(60).human_before - 1)
    (point,) = learning_curve(flat, world(60, mean=-2), draws=2)
    assert point.lead == 0


def test_triage_skips_texts_above_a_threshold() -> None:
    before = np.array([[9.0], [5.0], [5.0], [1.0]])
    pairs = JudgedPairs(("A",), np.ones((4, 1)), np.zeros(4), np.array([-1.0, 1, 2, 4]), np.arange(4), before)
    thresholds = triage_thresholds(pairs, 0, 7.0)
    assert list(thresholds.items()) == [(9, False), (7, True), (5, False)]
    points = triage(pairs, np.ones(4, dtype=bool), 0, thresholds, QUICK)
    assert [point.untouched.value for point in points] == [0.25, 0.25, 0.75]
    assert [point.human.value for point in points] == [1.75, 1.75, 1]
    assert [point.change.value for point in points] == [0.25, 0.25, -0.5]
    assert [point.calibrated for point in points] == [False, True, False]


# --- real data


def columns(rows: list[dict[str, str]], system: str, key: tuple[str, ...], names: list[str]) -> dict[Any, list[float]]:
    """The scores of a system's segments."""
    return {
        tuple(row[name] for name in key): [float(row[name] or "nan") for name in names]
        for row in rows
        if row["system"] == system
    }


def of_two(before: dict[Any, list[float]], after: dict[Any, list[float]], document: int, human: int) -> JudgedPairs:
    """The pairs of two systems; the first two scores are the judges', the score at ``human`` is people's."""
    keys = [key for key in before if key in after and not np.isnan([*before[key], *after[key]]).any()]
    old, new = (np.array([side[key] for key in keys]) for side in (before, after))
    names = sorted({key[document] for key in keys})
    groups = np.array([names.index(key[document]) for key in keys])
    return JudgedPairs(("A", "B"), (new - old)[:, :2], old[:, human], new[:, human], groups, old[:, :2])


def lead(gain: Any, pairs: JudgedPairs) -> tuple[float, float]:
    """The lead over the better of always and never, and its share of the oracle's."""
    gains: Floats = pairs.gains
    better = max(gains.sum(), 0)
    won = gains[predictions(gain, pairs) > 0].sum() - better
    return won / len(pairs), won / (np.maximum(gains, 0).sum() - better)


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="\n") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.slow
@pytest.mark.data
def test_on_the_wmt25_paragraphs_200_pairs_beat_always_and_never_in_all_21_cells(data: Path) -> None:
    reports = ["GEMBA-ESA-GPT4.1", "XCOMET-XL", "MetricX-24-Hybrid-XL"]
    rows, names = table(data, "wmt25_paragraph_scores.tsv"), ["GEMBA-ESA-CMDA", "CometKiwi-XL", *reports]
    key = ("lp", "document", "paragraph")
    edited = columns(rows, "IR-MultiagentMT", key, names)
    leads = []
    for system in sorted({row["system"] for row in rows} - {"IR-MultiagentMT"}):
        before = columns(rows, system, key, names)
        by_report = [of_two(before, edited, 1, 2 + place) for place in range(3)]
        for seed in range(20):
            gain = learn(split(by_report[0], sample=200, seed=seed)[0])
            leads.append([lead(gain, split(pairs, sample=200, seed=seed)[1]) for pairs in by_report])
    means = np.array(leads).reshape(7, 20, 3, 2).mean(axis=1)
    assert (means[:, :, 0] > 0).all()
    assert means[:, 0, 1].mean() >= 0.45


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("sample", "least", "most_lost"), [(200, 0.12, 0.25), (100, 0.09, 0.3)])
def test_on_wmt23_en_de_all_pairs_of_systems_gain(data: Path, sample: int, least: float, most_lost: float) -> None:
    rows, names = table(data, "wmt23_en-de_seg_scores.tsv"), ["GEMBA-MQM", "CometKiwi", "mqm"]
    systems = sorted({row["system"] for row in rows} - {"refA", "synthetic_ref"})
    scores = {system: columns(rows, system, ("seg",), names) for system in systems}
    seeds, leads = random.Random(1), []
    for before, after in combinations(systems, 2):
        pairs = of_two(scores[before], scores[after], 0, 2)
        for _ in range(5):
            ours, others = split(pairs, sample=sample, seed=seeds.randrange(10**6))
            leads.append(lead(learn(ours), others)[0])
    assert np.mean(leads) >= least
    assert (np.array(leads) < 0).mean() <= most_lost
