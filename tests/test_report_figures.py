"""What became of segments and edits, errors by stage, differences, quality and cost: counted right, nothing lost."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.gate import PairwiseGate, RateGate
from mtagent.evaluators.protocol import Evaluator
from mtagent.formats.ratings import FINAL
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Cause, Chain, Rating, RatingRole, Segment, Step, Usage
from mtagent.report.figures import (
    KINDS,
    SHOWN,
    Costly,
    CostlyCount,
    Fate,
    costs,
    edit_fate,
    fate,
    figures,
    final_fate,
    histogram,
    idle_fate,
    nice,
    spreads,
)
from mtagent.report.forms import of_run, spread_table
from mtagent.report.page import gallery
from mtagent.report.plots import per_hundred
from tests.reported import CHAINS, RUN, chain, comparison, edit, error, paid, rating, row, segment, step

BEFORE_AFTER = [
    (-3, -3, "a tie keeps the earlier text", "rated the same"),
    (-3, -4.5, "worse", "rated worse"),
    (-3, -2.9, "below the margin", "rated better, but below the margin"),
]
GUARDED = Cause(kind="guards", detail="x")


def failed_by(error: str) -> Cause:
    return Cause(kind="error", error=error, detail="…")


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (step("postedit", "kept", "better", "new", edits=[edit("applied")]), ("changed", "edited")),
        (
            step("postedit", "kept", "better", "new", edits=[edit("applied"), edit("refused", "tags")]),
            ("changed", "in part: a guard refused some edits"),
        ),
        (step("translate", "kept", "translated by mt", "new"), ("changed", "translated")),
        (step("translate", "kept", "nothing to translate", "  "), ("untouched", "nothing to translate")),
        (step("postedit", "kept", "x", edits=[edit("reverted")]), ("untouched", "the user took all edits back")),
        (
            step("postedit", "kept", "x", "n", edits=[edit("reverted"), edit("applied")]),
            ("changed", "in part: the user took edits back"),
        ),
        (step("postedit", "unchanged", "no error found"), ("untouched", "no error found")),
        (step("postedit", "unchanged", "nothing to change", proposed="old"), ("untouched", "nothing to change")),
        (step("proofread", "unchanged", "nothing to change", proposed="old"), ("untouched", "nothing to change")),
        (
            step("postedit", "unchanged", "…", proposed="old", edits=[edit("not-found")] * 2),
            ("unplaced", "its place was not found"),
        ),
        (
            step("postedit", "unchanged", "…", proposed="old", edits=[edit("ambiguous"), edit("not-found")]),
            ("unplaced", "several of these reasons"),
        ),
        (step("postedit", "unchanged", "…", edits=[edit("applied")]), ("unplaced", "the edits change nothing")),
        (step("postedit", "rejected", GUARDED, edits=[edit("refused", "tags")]), ("guard", "tags")),
        (
            step(
                "postedit", "rejected", GUARDED,
                edits=[edit("refused", "numbers")],
            ),
            ("guard", "numbers"),
        ),
        (
            step("postedit", "rejected", GUARDED, edits=[edit("refused", "tags", "numbers")]),
            ("guard", "several guards"),
        ),
        (step("postedit", "rejected", GUARDED, edits=[edit("refused")]), ("guard", "other")),
        (
            step("postedit", "rejected", Cause(kind="lines"), edits=[edit("rejected")]),
            ("guard", "lines"),
        ),
        (step("proofread", "rejected", "a plugin's words"), ("gate", "other")),
        (step("proofread", "failed", failed_by("RatingParseError")), ("failed", "unreadable rating")),
        (step("proofread", "failed", failed_by("KeyError")), ("failed", "KeyError")),
        (step("postedit", "failed", Cause(kind="no-translation")), ("failed", "no translation")),
        (step("postedit", "failed", ""), ("failed", "other")),
    ],
)  # fmt: skip
def test_a_step_s_fate(one: Step, expected: tuple[str, str]) -> None:
    assert fate(one) == expected


class Judge:
    """Rates as it is told."""

    name, calls = "judge-1 -> 2: fun", (0, 0)

    def __init__(self, **scores: float) -> None:
        self._scores = scores

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return rating(self._scores[translation])


async def _rated(judge: Evaluator, text: str, role: RatingRole) -> Rating:
    return (await judge.rate(segment(), text)).model_copy(update={"role": role})


@pytest.mark.parametrize(("before", "after", "words", "expected"), BEFORE_AFTER)
async def test_the_rate_gate_s_own_words_are_understood(before: float, after: float, words: str, expected: str) -> None:
    judge = Judge(old=before, new=after)
    decision = await RateGate(judge, margin=1).decide(segment(), "old", "new", _rated)
    assert decision.cause.sentence.endswith(words)
    rejected = step("postedit", "rejected", decision.cause, ratings=(rating(-9), *decision.ratings))
    assert fate(rejected) == ("gate", expected)


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (["A", "B"], "the judge prefers the earlier text"),
        (["tie", "tie"], "the judge sees a tie"),
        (["B", "B"], "the judge is not sure"),
    ],
)
async def test_the_pairwise_gate_s_own_words_are_understood(replies: list[str], expected: str) -> None:
    decision = await PairwiseGate(ScriptedLLM(replies)).decide(segment(), "old", "new", _rated)
    assert fate(step("proofread", "rejected", decision.cause)) == ("gate", expected)


def test_why_a_stage_did_not_run() -> None:
    failed = step("postedit", "failed", "ServerError: 500")
    free = step("postedit", "unchanged", "no error found")
    assert idle_fate(chain(source=" "), "postedit").reason == "nothing to translate"
    assert idle_fate(chain(free), "translate").reason == "a translation was given"
    assert idle_fate(chain(failed), "proofread").reason == "an earlier stage failed"
    assert idle_fate(chain(free), "proofread").reason == "error-free after an earlier stage"
    assert idle_fate(chain(), "proofread").reason == "not run on this segment"


def test_what_became_of_a_segment_in_the_end() -> None:
    changed, failed = step("postedit", "kept", "x", "new"), step("proofread", "failed", "ServerError: 500", "new")
    assert final_fate(chain(changed)) == ("changed", "edited")
    assert final_fate(chain(changed, failed)) == ("failed", "changed before a stage failed")
    assert final_fate(chain(step("translate", "failed", "x", ""), given=None)) == ("failed", "without a translation")
    assert final_fate(chain(step("postedit", "rejected", "x"))) == ("untouched", "changes were rejected")
    assert final_fate(chain()).kind == "untouched"


def test_an_edit_s_fate_names_its_guard() -> None:
    assert edit_fate(edit("refused", "numbers")) == "refused by a guard: numbers"
    assert edit_fate(edit("ambiguous")) == "may mean several places"


@given(CHAINS)
def test_all_counts_add_up_to_the_segments_and_the_edits(chains: list[Chain]) -> None:
    flow = figures(chains).flow
    assert flow.segments == len(chains)
    for stage in flow.stages:
        assert sum(group.segments for group in stage.groups) == len(chains)
        assert all(group.segments > 0 and group.kind in KINDS and group.reason for group in stage.groups)
    edits = sum(len(one.edits) for each in chains for one in each.by_stage().values())
    assert sum(count for stage in flow.stages for _, count in stage.edits) == edits


@given(CHAINS)
def test_every_rated_text_is_counted_once_for_an_evaluator_and_stage(chains: list[Chain]) -> None:
    for marks in figures(chains).marks:
        for stage in marks.stages:
            assert stage.error_free <= stage.marked <= stage.rated <= stage.segments <= len(chains)
            assert sum(stage.by_severity().values()) == sum(sum(found.values()) for found in stage.errors.values())


def test_a_stage_that_did_not_run_is_idle_and_one_that_ran_nowhere_is_left_out() -> None:
    flow = figures([chain(step("postedit", "unchanged", "no error found")), chain(number=2)]).flow
    assert [stage.stage for stage in flow.stages] == ["postedit", FINAL]
    assert [(g.kind, g.segments) for g in flow.stages[0].groups] == [("untouched", 1), ("idle", 1)]


def test_errors_belong_to_the_text_that_was_rated_and_to_all_stages_that_have_it() -> None:
    before = rating(-6, error(severity="major"), error("Word_Order"))
    after = rating(-1, error("word order"), role="after")
    kept = step("postedit", "kept", "better", "new", proposed="new", ratings=(before, after))
    same = step("postedit", "rejected", "x", ratings=(before,))
    (marks,) = figures([chain(kept), chain(same, number=2), chain(number=3)]).marks
    given_, postedit, final = marks.stages
    assert [one.stage for one in marks.stages] == ["given", "postedit", "final"]
    assert (given_.rated, postedit.rated, postedit.segments) == (2, 2, 3)
    assert given_.errors == {"accuracy/mistranslation": {"major": 2}, "word order": {"minor": 2}}
    assert postedit.errors == {"accuracy/mistranslation": {"major": 1}, "word order": {"minor": 2}}
    assert (given_.mean, postedit.mean, final.mean) == (-6, -3.5, -3.5)


def test_errors_of_the_source_and_neutral_ones_do_not_make_a_text_wrong() -> None:
    free = rating(0, error(severity="neutral"), error(side="source", severity="major"))
    (marks,) = figures([chain(step("postedit", "unchanged", "no error found", ratings=(free,)))]).marks
    assert (marks.stages[0].error_free, marks.stages[0].source_errors) == (1, 1)
    assert marks.stages[0].by_severity() == {"critical": 0, "major": 0, "minor": 0, "neutral": 1}


def test_an_evaluator_that_marks_no_spans_is_said_so() -> None:
    (marks,) = figures([chain(step("postedit", "kept", "x", "new", ratings=(rating(80, spans=False),)))]).marks
    assert not marks.spans
    assert (marks.stages[0].mean, marks.stages[0].marked, marks.stages[1].mean) == (80, 0, None)


# --- differences


def test_a_spread_keeps_zero_apart_and_says_where_the_text_is_the_same() -> None:
    former = row("given", [10, 20, 30, 40, 50], texts=list("abcde"))
    after = row("postedit", [10.3, 20, 30, 10, math.nan], "given", texts=["A", "b", "C", "D", "E"])
    (found,) = spreads(comparison(former, after))
    assert (found.better, found.equal, found.same_text, found.worse, found.unknown) == (1, 2, 1, 1, 1)
    assert [(one.segment, one.former, one.score, one.difference) for one in found.worst] == [("4", 40, 10, -30)]
    assert found.quantiles[2] == 0
    assert found.mean == pytest.approx(-7.425)


def test_for_a_metric_where_less_is_better_worse_is_more() -> None:
    rows = row("given", [10, 10], higher=False), row("postedit", [12, 7], "given", higher=False)
    (found,) = spreads(comparison(*rows))
    assert (found.better, found.worse, found.worst[0].segment) == (1, 1, "1")


def test_the_noise_of_binary_numbers_is_no_difference() -> None:
    (found,) = spreads(comparison(row("given", [0.1 + 0.2]), row("postedit", [0.3], "given")))
    assert found.equal == 1


@pytest.mark.parametrize("rows", [[row("given", [1])], [row("given", [1]), row("postedit", [1], "absent")]])
def test_without_a_former_row_there_is_no_spread(rows: list) -> None:  # type: ignore[type-arg]
    assert spreads(comparison(*rows)) == ()


@given(
    st.lists(
        st.floats(-1e9, 1e9).map(lambda x: round(x, 9)) | st.floats(-3, 3).map(lambda x: round(x, 9)) | st.just(0.0)
    )
)
def test_the_histogram_holds_every_difference_but_zero_in_its_place(values: list[float]) -> None:
    bins = histogram(values)
    assert sum(one.segments for one in bins) == sum(value != 0 for value in values)
    assert len(bins) <= 18
    for one in bins:
        inside = [v for v in values if (one.low <= v < one.high if one.high <= 0 else one.low < v <= one.high)]
        edge = 1e-6 * max(abs(one.low), abs(one.high), 1e-9)
        near = [v for v in values if v and min(abs(v - one.low), abs(v - one.high)) <= edge]
        assert abs(len(inside) - one.segments) <= len(near)


@given(st.floats(1e-9, 1e12))
def test_a_nice_step_is_not_below_and_not_far_above(step_: float) -> None:
    assert step_ * (1 - 1e-8) <= nice(step_) <= 2.5 * step_


# --- costs


def test_dollars_are_those_of_the_run_until_the_row() -> None:
    one, two = Usage(calls=1, input_tokens=10, cost=0.5), Usage(calls=1, output_tokens=5, cost=0.25)
    found = costs(
        comparison(
            row("given", [1]), row("postedit", [2], cost=one), row("proofread", [3], cost=two),
            row("final", [3], cost=one + two), row(None, [9]),
        )
    )  # fmt: skip
    assert found is not None
    assert [(p.score, p.dollars, p.tokens) for p in found.points] == [
        (1, 0, 0), (2, 0.5, 10), (3, 0.75, 15), (3, 0.75, 15), (9, None, None)
    ]  # fmt: skip
    assert found.unit == "dollars"


@pytest.mark.parametrize("cost", [None, 0.0])
def test_tokens_stand_for_dollars_where_a_price_is_unknown_or_nothing(cost: float | None) -> None:
    found = costs(comparison(row("given", [1]), row("postedit", [2], cost=Usage(calls=1, input_tokens=7, cost=cost))))
    assert found is not None
    assert (found.unit, found.points[1].tokens, found.points[1].dollars) == ("tokens", 7, cost)


def test_the_most_costly_go_by_tokens_where_a_price_is_unknown() -> None:
    def ids(*usages: Usage) -> list[str]:
        count = CostlyCount(2)
        for number, usage in enumerate(usages):
            count.add(Costly(str(number), usage, 0.0))
        return [one.segment for one in count.found()]

    cheap, dear = Usage(calls=1, input_tokens=90, cost=0.1), Usage(calls=1, input_tokens=9, cost=0.2)
    assert ids(Usage(), cheap, dear) == ["2", "1"]
    assert ids(cheap, dear, Usage(calls=1, input_tokens=50, cost=None)) == ["0", "2"]


def test_the_lists_are_short_and_the_counts_are_whole() -> None:
    many = [chain(step("postedit", "failed", failed_by("ServerError"), calls=(paid(),)), number=n) for n in range(30)]
    found = figures(iter(many))
    assert len(found.failures) == len(found.costly) == SHOWN
    assert found.flow.stages[0].of("failed") == 30
    assert Counter(group.reason for group in found.flow.stages[0].groups) == {"the server failed": 1}
    assert Fate("failed", "the server failed") == fate(many[0].steps[0])


# --- what a small slip would change


def test_minor_errors_make_a_text_wrong_and_only_marked_texts_count_for_rates() -> None:
    marked = rating(-1, error(severity="minor"))
    bare = rating(-3, spans=False)
    chains = [
        chain(step("postedit", "unchanged", "x", ratings=(marked,))),
        chain(step("postedit", "unchanged", "x", ratings=(bare,)), number=2),
        chain(step("translate", "failed", "x", ""), number=3, given=None),
    ]
    (marks,) = figures(chains).marks
    first = marks.stages[0]
    assert (first.segments, first.rated, first.marked, first.error_free) == (2, 2, 1, 0)
    assert per_hundred(first, "accuracy/mistranslation") == 100


def test_of_two_ratings_of_one_text_the_first_counts() -> None:
    steps = (
        step("postedit", "unchanged", "x", ratings=(rating(-5),)),
        step("proofread", "rejected", "x", ratings=(rating(-1, role="before"), rating(-2, role="after"))),
    )
    (marks,) = figures([chain(*steps)]).marks
    assert marks.stages[0].mean == -5


def test_translations_that_the_run_made_were_not_given() -> None:
    flow = figures([chain(step("translate", "kept", "x", "new"), given=None), chain(number=2)]).flow
    assert (flow.segments, flow.given) == (2, 1)


def test_the_largest_loss_stands_first_where_less_is_better_too() -> None:
    rows = row("given", [10, 10], higher=False), row("postedit", [11, 19], "given", higher=False)
    (found,) = spreads(comparison(*rows))
    assert [one.segment for one in found.worst] == ["2", "1"]


def test_the_table_of_differences_tells_the_same_text_from_the_same_score() -> None:
    rows = row("given", [1, 1, 2], texts=list("abc")), row("postedit", [1, 1, 3], "given", texts=list("aBC"))
    (found,) = spreads(comparison(*rows))
    counts = {line[0]: line[1] for line in spread_table(found).rows}
    assert (counts["0 (another text)"], counts["0 (the same text)"]) == ("1", "1")


def test_the_plots_of_edits_stay_where_one_stage_has_none() -> None:
    steps = step("postedit", "kept", "x", "new", edits=(edit("applied"),)), step("proofread", "unchanged", "x", "new")
    assert any("What became of the edits" in plot for plot in gallery(figures([chain(*steps)]), RUN, None))


def test_what_got_worse_is_told_of_the_whole_way() -> None:
    rows = (
        row("given", [3]),
        row("postedit", [1], "given"),
        row("proofread", [2], "postedit"),
        row("final", [2], "given"),
    )
    found = of_run(spreads(comparison(*rows)), RUN, comparison(*rows))
    assert found is not None
    assert (found.row, found.former) == ("final", "given")
