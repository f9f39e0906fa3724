"""What became of segments and edits, errors by stage, differences, quality and cost: counted right, nothing lost."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.fates import KINDS, edit_fate, fate, final_fate, idle_fate
from mtagent.chain.gate import PairwiseGate, RateGate
from mtagent.evaluators.protocol import Evaluator
from mtagent.formats.ratings import FINAL
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Cause, Chain, ErrorCause, GuardsCause, PlainCause, Rating, RatingRole, Segment, Stage, Step
from mtagent.report.figures import SHOWN, figures, histogram, spreads
from tests.report_records import CHAINS, RUN, chain, comparison, edit, error, paid, rating, row, segment, step

BY_GUARDS = GuardsCause(detail="x")


def failed(name: str) -> Cause:
    return ErrorCause(error=name, detail="…")


@pytest.mark.parametrize(
    ("of", "kind", "reason"),
    [
        (step("postedit", "kept", "-", "new", edits=[edit("applied")]), "changed", "edited"),
        (step("postedit", "kept", "-", "new", edits=[edit("applied"), edit("refused", "tags")]),
         "changed", "in part: a guard refused some edits"),
        (step("translate", "kept", "-", "new"), "changed", "translated"),
        (step("translate", "kept", PlainCause(kind="blank"), "  "), "untouched", "nothing to translate"),
        (step("postedit", "kept", "-", edits=[edit("reverted")]), "untouched", "the user took all edits back"),
        (step("postedit", "kept", "-", "n", edits=[edit("reverted"), edit("applied")]),
         "changed", "in part: the user took edits back"),
        (step("postedit", "unchanged", PlainCause(kind="error-free")), "untouched", "no error found"),
        (step("postedit", "unchanged", "-", proposed="old"), "untouched", "nothing to change"),
        (step("proofread", "unchanged", "-"), "untouched", "nothing to change"),
        (step("postedit", "unchanged", "-", edits=[edit("not-found")] * 2), "unplaced", "its place was not found"),
        (step("postedit", "unchanged", "-", edits=[edit("ambiguous"), edit("not-found")]),
         "unplaced", "several of these reasons"),
        (step("postedit", "unchanged", "-", edits=[edit("applied")]), "unplaced", "the edits change nothing"),
        (step("postedit", "rejected", BY_GUARDS, edits=[edit("refused", "tags")]), "guard", "tags"),
        (step("postedit", "rejected", BY_GUARDS, edits=[edit("refused", "tags", "x")]), "guard", "several guards"),
        (step("postedit", "rejected", BY_GUARDS, edits=[edit("refused")]), "guard", "other"),
        (step("postedit", "rejected", PlainCause(kind="lines"), edits=[edit("rejected")]), "guard", "lines"),
        (step("proofread", "rejected", "a plugin's words"), "gate", "other"),
        (step("proofread", "failed", failed("RatingParseError")), "failed", "unreadable rating"),
        (step("proofread", "failed", failed("KeyError")), "failed", "unexpected error"),
        (step("postedit", "failed", PlainCause(kind="no-translation")), "failed", "no translation"),
    ],
)  # fmt: skip
def test_a_step_s_fate(of: Step, kind: str, reason: str) -> None:
    assert fate(of) == (kind, reason)


class Judge:
    """Rates as it is told."""

    name, calls = "judge-1 -> 2: fun", (0, 0)

    def __init__(self, **scores: float) -> None:
        self._scores = scores

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return rating(self._scores[translation])


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (RateGate(Judge(old=-3, new=-3), margin=1), "rated the same"),
        (RateGate(Judge(old=-3, new=-4.5), margin=1), "rated worse"),
        (RateGate(Judge(old=-3, new=-2.9), margin=1), "rated better, but below the margin"),
        (PairwiseGate(ScriptedLLM(["A", "B"])), "the judge prefers the earlier text"),
        (PairwiseGate(ScriptedLLM(["tie", "tie"])), "the judge sees a tie"),
        (PairwiseGate(ScriptedLLM(["B", "B"])), "the judge contradicts itself"),
        (PairwiseGate(ScriptedLLM(["B", "tie"])), "the judge is not sure"),
    ],
)
async def test_why_a_gate_rejects(gate: RateGate | PairwiseGate, expected: str) -> None:
    async def rate(judge: Evaluator, text: str, role: RatingRole) -> Rating:
        return (await judge.rate(segment(), text)).model_copy(update={"role": role})

    decision = await gate.decide(segment(), "old", "new", rate)
    assert fate(step("proofread", "rejected", decision.cause)) == ("gate", expected)


FAILED, FREE = step("postedit", "failed", failed("ServerError")), step("postedit", "unchanged", "no error found")


@pytest.mark.parametrize(
    ("of", "stage", "expected"),
    [
        (chain(source=" "), "postedit", "nothing to translate"),
        (chain(FREE), "translate", "a translation was given"),
        (chain(FAILED), "proofread", "an earlier stage failed"),
        (chain(FAILED), "rules", "the rules found nothing"),  # that stage comes before the failed one
        (chain(FREE), "proofread", "error-free after an earlier stage"),
        (chain(), "proofread", "not run on this segment"),
    ],
)
def test_why_a_stage_did_not_run(of: Chain, stage: Stage, expected: str) -> None:
    assert idle_fate(of, stage) == ("idle", expected)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (chain(step("postedit", "kept", "x", "new")), ("changed", "edited")),
        (chain(step("postedit", "kept", "x", "new"), step("proofread", "failed", "x", "new")),
         ("failed", "changed before a stage failed")),
        (chain(step("translate", "failed", "x", ""), given=None), ("failed", "without a translation")),
        (chain(step("postedit", "rejected", "x")), ("untouched", "changes were rejected")),
        (chain(), ("untouched", "as given or first translated")),
    ],
)  # fmt: skip
def test_what_became_of_a_segment_in_the_end(of: Chain, expected: tuple[str, str]) -> None:
    assert final_fate(of) == expected


@given(CHAINS)
def test_all_counts_add_up_to_the_segments_and_the_edits(chains: list[Chain]) -> None:
    result = figures(chains)
    assert result.flow.segments == len(chains)
    for stage in result.flow.stages:
        assert sum(group.segments for group in stage.groups) == len(chains)
        assert all(group.segments > 0 and group.kind in KINDS and group.reason for group in stage.groups)
    edits = [edit_fate(item) for each in chains for last in each.by_stage().values() for item in last.edits]
    assert sum(count for stage in result.flow.stages for _, count in stage.edits) == len(edits)
    assert sum(group.applied + group.others for group in result.edits) == len(edits)
    assert sum(group.applied for group in result.edits) == edits.count("applied")
    for marked in (stage for marks in result.marks for stage in marks.stages):
        assert marked.error_free <= marked.marked <= marked.rated <= marked.segments <= len(chains)
        assert sum(marked.by_severity.values()) == sum(sum(each.values()) for each in marked.errors.values())


def test_a_stage_that_did_not_run_is_idle_and_one_that_ran_nowhere_is_left_out() -> None:
    flow = figures([chain(FREE), chain(number=2)]).flow
    assert [stage.stage for stage in flow.stages] == ["postedit", FINAL]
    assert [(group.kind, group.segments) for group in flow.stages[0].groups] == [("untouched", 1), ("idle", 1)]
    translated = chain(step("translate", "kept", "x", "new"), given=None)
    assert figures([translated, chain(number=2)]).flow.given == 1, "what the run made was not given"


def test_the_lists_are_short_and_the_counts_are_whole() -> None:
    many = [chain(step("postedit", "failed", failed("ServerError"), calls=(paid(),)), number=n) for n in range(30)]
    result = figures(iter(many))
    assert len(result.failures) == len(result.costly) == SHOWN
    assert [(group.reason, group.segments) for group in result.flow.stages[0].groups] == [("the server failed", 30)]


# --- errors


def test_errors_belong_to_the_text_that_was_rated_and_to_all_stages_that_have_it() -> None:
    before = rating(-6, error(severity="major"), error("Word_Order"))
    after = rating(-1, error("word order"), role="after")
    kept = step("postedit", "kept", "better", "new", proposed="new", ratings=(before, after))
    same = step("postedit", "rejected", "x", ratings=(before,))
    (marks,) = figures([chain(kept), chain(same, number=2), chain(number=3)]).marks
    given_, postedit, final = marks.stages
    assert [stage.stage for stage in marks.stages] == ["given", "postedit", "final"]
    assert (given_.rated, postedit.rated, postedit.segments) == (2, 2, 3)
    assert given_.errors == {"accuracy/mistranslation": {"major": 2}, "word order": {"minor": 2}}
    assert postedit.errors == {"accuracy/mistranslation": {"major": 1}, "word order": {"minor": 2}}
    assert (given_.mean, postedit.mean, final.mean) == (-6, -3.5, -3.5)


@pytest.mark.parametrize(
    ("rated", "expected"),
    [
        (rating(0, error(severity="neutral"), error(side="source", severity="major")), (True, 1, 1, 1, 1)),
        (rating(-1, error(severity="minor")), (True, 1, 0, 1, 0)),
        (rating(80, spans=False), (False, 0, 0, 0, 0)),
    ],
)
def test_what_makes_a_text_wrong(rated: Rating, expected: tuple[Any, ...]) -> None:
    """Errors of the source and neutral ones do not; of an evaluator without spans only the score is known."""
    (marks,) = figures([chain(step("postedit", "unchanged", "x", ratings=(rated,)))]).marks
    first = marks.stages[0]
    counts = (first.marked, first.error_free, sum(first.by_severity.values()), first.source_errors)
    assert (marks.spans, *counts, first.mean) == (*expected, rated.score)


def test_only_marked_texts_count_for_rates_and_of_two_ratings_of_a_text_the_first_counts() -> None:
    twice = step("proofread", "unchanged", "x", ratings=(rating(-9, spans=False),))
    chains = [
        chain(step("postedit", "unchanged", "x", ratings=(rating(-1, error()),))),
        chain(step("postedit", "unchanged", "x", ratings=(rating(-3, spans=False),)), twice, number=2),
        chain(step("translate", "failed", "x", ""), number=3, given=None),
    ]
    (marks,) = figures(chains).marks
    first = marks.stages[0]
    assert (first.segments, first.rated, first.marked, first.mean) == (2, 2, 1, -2)
    assert first.per_hundred("accuracy/mistranslation") == 100


# --- differences


def test_a_spread_keeps_zero_apart_and_says_where_the_text_is_the_same() -> None:
    former = row("given", [10, 20, 30, 40, 50, 0.1 + 0.2], texts=list("abcdef"))
    after = row("postedit", [10.3, 20, 30, 10, math.nan, 0.3], "given", texts=["A", "b", "C", "D", "E", "F"])
    (spread,) = spreads(comparison(former, after))
    assert (spread.better, spread.equal, spread.same_text, spread.worse, spread.unknown) == (1, 3, 1, 1, 1)
    assert [(loss.segment, loss.former, loss.score, loss.difference) for loss in spread.worst] == [("4", 40, 10, -30)]
    assert (spread.quantiles[2], spread.mean) == (0, pytest.approx(-5.94))


def test_where_less_is_better_worse_is_more_and_the_largest_loss_stands_first() -> None:
    rows = row("given", [10, 10, 10], higher=False), row("postedit", [12, 7, 19], "given", higher=False)
    (spread,) = spreads(comparison(*rows))
    assert (spread.better, spread.worse, [loss.segment for loss in spread.worst]) == (1, 2, ["3", "1"])
    assert spreads(comparison(row("given", [1]), row("postedit", [1], "absent"))) == ()


@given(
    st.lists(
        st.floats(-1e9, 1e9).map(lambda x: round(x, 9)) | st.floats(-3, 3).map(lambda x: round(x, 9)) | st.just(0.0)
    )
)
def test_the_histogram_holds_every_difference_but_zero_in_its_place(values: list[float]) -> None:
    bins = histogram(values)
    assert sum(bin_.segments for bin_ in bins) == sum(value != 0 for value in values)
    assert len(bins) <= 18
    for bin_ in bins:
        low, high = bin_.low, bin_.high
        inside = [v for v in values if (low <= v < high if high <= 0 else low < v <= high)]
        edge = 1e-6 * max(abs(low), abs(high), 1e-9)
        near = [v for v in values if v and min(abs(v - low), abs(v - high)) <= edge]
        assert abs(len(inside) - bin_.segments) <= len(near)


def test_what_got_worse_is_told_of_the_whole_way() -> None:
    rows = comparison(
        row("given", [3]), row("postedit", [1], "given"), row("proofread", [2], "postedit"), row("final", [2], "given")
    )
    spread = figures([], rows).whole_way(RUN, rows)
    assert spread is not None
    assert (spread.row, spread.former) == ("final", "given")


@pytest.mark.parametrize(("dearest", "order"), [(0.2, "210"), (None, "021")])
def test_the_most_costly_go_by_tokens_where_a_price_is_unknown(dearest: float | None, order: str) -> None:
    calls = [paid(0.05, tokens=90), paid(0.1, tokens=9), paid(dearest, tokens=50)]
    chains = [chain(step("postedit", "failed", "x", calls=(call,)), number=n) for n, call in enumerate(calls)]
    assert "".join(item.segment for item in figures([*chains, chain(number=9)]).costly) == order
