"""A rejected text is tried in parts: what is kept, what it costs, and what the step says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain import guards
from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector
from mtagent.chain.decided_text import checked, decided
from mtagent.chain.fates import edit_fate, fate
from mtagent.chain.gate import Gate, GateDecision, PairwiseGate, RateGate
from mtagent.chain.parts import Parts, keep_in_parts, may_hold_a_bad_edit, price
from mtagent.chain.proofread import Proofreader
from mtagent.formats.jsonl import details
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import (
    Call,
    Chain,
    DecidedCause,
    Edit,
    ErrorSpan,
    GuardsCause,
    Judgement,
    Message,
    Rating,
    Segment,
    Step,
)
from mtagent.records.decisions import Decision
from mtagent.store.store import Store
from tests.codes import without_codes

CALL = Call(purpose="judge", model="m")


def refusal(*calls: Call) -> GateDecision:
    return GateDecision(False, DecidedCause(kind="choices"), calls=calls or (CALL,))


async def search(
    count: int, fits: Callable[[frozenset[int]], bool], *, calls: int = 1000, suspected: Sequence[int] = ()
) -> tuple[Parts, list[frozenset[int]]]:
    """The result among ``count`` edits by a judge that keeps what ``fits``, and the sets that were tried."""
    tried: list[frozenset[int]] = []

    async def decide(numbers: Sequence[int]) -> GateDecision:
        tried.append(frozenset(numbers))
        return refusal()._replace(keep=fits(tried[-1]))

    return await keep_in_parts(count, refusal(), decide, calls=calls, suspected=suspected), tried


# -- the search


@pytest.mark.parametrize("bad", range(6))
async def test_one_bad_edit_among_six_is_found_within_four_tries(bad: int) -> None:
    found, tried = await search(6, lambda numbers: bad not in numbers)
    assert found.kept == tuple(sorted({*range(6)} - {bad}))
    assert list(found.left_out) == [bad]
    assert len(tried) == len(found.tries) <= 4


@given(st.integers(2, 12), st.data())
async def test_whatever_is_bad_is_left_out_and_all_else_is_kept(count: int, data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    suspected = data.draw(st.sets(st.integers(0, count - 1)))
    found, tried = await search(count, lambda numbers: not numbers & bad, suspected=sorted(suspected))
    assert set(found.kept) == {*range(count)} - bad
    assert set(found.left_out) == bad
    assert len(tried) == len(set(tried)), "no set is tried twice"
    assert frozenset(range(count)) not in tried, "the whole text was judged before"


@given(st.integers(2, 9), st.integers(0, 12), st.data())
async def test_what_is_kept_was_judged_as_it_is_and_the_calls_are_never_exceeded(
    count: int, calls: int, data: st.DataObject
) -> None:
    """The judge answers at random."""
    found, tried = await search(count, lambda numbers: data.draw(st.booleans()), calls=calls)
    assert len(tried) <= calls
    assert set(found.kept).isdisjoint(found.left_out)
    assert set(found.kept) | set(found.left_out) == {*range(count)}
    if found.kept:
        assert found.decision is found.tries[tried.index(frozenset(found.kept))]
        assert found.decision.keep
    else:
        assert found.decision is None


async def test_a_suspected_edit_is_left_out_first() -> None:
    found, tried = await search(6, lambda numbers: 4 not in numbers, suspected=[4])
    assert (found.kept, tried) == ((0, 1, 2, 3, 5), [{0, 1, 2, 3, 5}])
    found, tried = await search(6, lambda numbers: 1 not in numbers, suspected=[4])
    assert (found.kept, tried[0]) == ((0, 2, 3, 4, 5), {0, 1, 2, 3, 5}), "a wrong suspicion is no verdict"


async def test_no_try_is_made_that_would_exceed_the_calls() -> None:
    async def decide(numbers: Sequence[int]) -> GateDecision:
        return refusal(CALL, CALL)

    for calls, tries in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2)):
        found = await keep_in_parts(6, refusal(CALL, CALL), decide, calls=calls)
        assert len(found.tries) == tries


def test_a_decision_costs_its_requests_a_metrics_rating_one_call_and_the_guards_none() -> None:
    rating = Rating(evaluator="judge", score=0, role="after")
    assert price(GateDecision(False, DecidedCause(kind="scores"), (rating,))) == 1
    assert (
        price(GateDecision(False, DecidedCause(kind="scores"), (rating.model_copy(update={"calls": (CALL,) * 3}),)))
        == 3
    )
    assert price(refusal(CALL, CALL)) == 2
    assert price(GateDecision(False, GuardsCause(guards=("end",)))) == 0


def test_what_comparisons_cannot_tell_is_not_tried_in_parts() -> None:
    def judged(*judgements: Judgement) -> bool:
        return may_hold_a_bad_edit(GateDecision(False, DecidedCause(kind="panel", judgements=judgements)))

    worse, tie = Judgement(judge="a", choices=("before", "before")), Judgement(judge="a", choices=("tie", "tie"))
    unsure, scored = Judgement(judge="a", choices=("after", "before")), Judgement(judge="b", before=1, after=1)
    assert [judged(worse), judged(tie), judged(unsure)] == [True, False, False]
    assert [judged(scored), judged(tie, scored), judged(tie, worse)] == [True, True, True]
    assert judged(), "a gate of one's own says nothing"


# -- the step

TEXT = "Casa malo y mesa malo y silla malo y puerta bueno."


class Reviewer:
    """Suggests a change for each word of a table, in its only place."""

    name = "reviewer"

    def __init__(self, **changes: str) -> None:
        self.changes = changes

    async def rate(self, segment: Segment, translation: str) -> Rating:
        errors = [
            ErrorSpan(text=old, category="other", severity="major", suggestion=new) for old, new in self.changes.items()
        ]
        return Rating(evaluator=self.name, score=-1, errors=tuple(errors))


class Judge:
    """Scores by points for words; marks no spans, or those words that cost points."""

    name = "judge"

    def __init__(self, *, spans: bool = False, **points: float) -> None:
        self.points, self.spans, self.rated = points, spans, list[str]()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.rated.append(translation)
        words = re.findall(r"\w+", translation)
        errors = [
            ErrorSpan(text=word, category="other", severity="major") for word in words if self.points.get(word, 0) < 0
        ]
        score = sum(self.points.get(word, 0) for word in words)
        call = Call(purpose="rate", model="m")
        return Rating(evaluator=self.name, score=score, errors=tuple(errors) if self.spans else None, calls=(call,))


CHANGES = {"Casa": "Caso", "mesa": "mozo", "silla": "sello", "puerta": "portal"}
POINTS = {"Caso": 1, "mozo": 1, "sello": 1, "portal": -9}


def segment(text: str = TEXT, source: str = "One bad and two bad and three bad and four good.") -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang="es", translation=text)


async def postedited(judge: Judge, changes: dict[str, str] = CHANGES, calls: int = 12) -> Chain:
    plan = Plan(("postedit",), evaluator=Reviewer(**changes), gate=RateGate(judge), gate_calls=calls)
    return await improve(segment(), plan)


async def test_one_bad_edit_does_not_sink_the_good_ones() -> None:
    judge = Judge(**POINTS)
    chain = await postedited(judge)
    (step,) = chain.steps
    assert chain.text == "Caso malo y mozo malo y sello malo y puerta bueno."
    assert (step.verdict, step.cause.edits_kept, step.cause.edits_tried) == ("kept", 3, 4)
    assert step.reason == "3 of 4 edits kept: judge 0 -> 3: better"
    assert [edit.outcome for edit in step.edits] == ["applied", "applied", "applied", "rejected"]
    assert step.edits[3].detail == "with 3 other edits: judge 0 -> -6: worse"
    assert step.proposed == "Caso malo y mozo malo y sello malo y portal bueno."
    assert len(step.calls) == len(judge.rated) == 4, "before, whole, and two tries"


async def test_the_rating_after_is_that_of_the_text_that_was_kept() -> None:
    (step,) = (await postedited(Judge(**POINTS))).steps
    roles = [(rating.role, rating.score) for rating in step.ratings if rating.role != "editor"]
    assert roles == [("before", 0), ("try", -6), ("try", 2), ("after", 3)]
    after = step.rating("after")
    assert after is not None
    assert after.score == 3


async def test_a_judge_that_marks_the_new_error_saves_tries() -> None:
    judge = Judge(spans=True, **POINTS)
    chain = await postedited(judge)
    assert chain.text == "Caso malo y mozo malo y sello malo y puerta bueno."
    assert len(judge.rated) == 3, "before, whole, and the whole without the edit that is marked"


async def test_where_nothing_can_be_kept_the_step_is_rejected_and_every_edit_says_by_what() -> None:
    (step,) = (await postedited(Judge(Caso=-1, mozo=-1, sello=-1, portal=-1))).steps
    assert (step.text, step.verdict) == (TEXT, "rejected")
    assert step.reason == "none of 4 edits kept: judge 0 -> -4: worse"
    assert {edit.outcome for edit in step.edits} == {"rejected"}
    assert {edit.detail for edit in step.edits} == {"judge 0 -> -1: worse"}, "each was tried alone in the end"
    after = step.rating("after")
    assert after is not None
    assert after.score == -4, "the text that was proposed"


@pytest.mark.parametrize(("calls", "ratings"), [(0, 2), (1, 3)])
async def test_no_more_than_the_calls_that_are_allowed(calls: int, ratings: int) -> None:
    judge = Judge(**POINTS)
    (step,) = (await postedited(judge, calls=calls)).steps
    assert len(judge.rated) == ratings
    assert step.verdict == ("kept" if calls else "rejected")
    assert step.cause.edits_tried == (4 if calls else 0)
    assert [edit.outcome for edit in step.edits].count("applied") == (2 if calls else 0)


async def test_a_single_edit_is_not_tried_again() -> None:
    judge = Judge(**POINTS)
    (step,) = (await postedited(judge, {"puerta": "portal"})).steps
    assert (len(judge.rated), step.reason) == (2, "judge 0 -> -9: worse")
    assert step.edits[0].detail == step.reason


async def test_edits_that_are_only_good_together_stay_together() -> None:
    before = "Dijo hola ayer a todos."
    opening, closing = (
        Edit(old="", new=mark, start=at, end=at, outcome="applied") for mark, at in (("«", 5), ("»", 9))
    )
    bad = Edit(old="todos", new="nadie", start=17, end=22, outcome="applied")
    groups = guards.inseparable(segment(before, 'He said "hello" yesterday to all.'), before, [bad, closing, opening])
    assert groups == [[opening, closing], [bad]]


async def test_the_judge_is_shown_no_part_that_does_damage() -> None:
    """Two edits move a number; one alone would lose it, or have it twice."""
    judge = Judge(mozo=1, portal=-9)
    changes = {"mesa": "mozo", "puerta": "portal", "Casa 5": "Casa", "silla": "silla 5"}
    plan = Plan(("postedit",), evaluator=Reviewer(**changes), gate=RateGate(judge))
    text = "Casa 5 malo y mesa malo y silla malo y puerta bueno."
    chain = await improve(segment(text, "One bad and two bad and three 5 bad and four good."), plan)
    assert all(text.count("5") == 1 for text in judge.rated)
    assert chain.text.count("5") == 1
    assert "portal" not in chain.text


async def test_pairwise_takes_two_calls_a_try() -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        (a, b) = re.findall(r"<translation_[ab]>(.*?)</translation_", without_codes(messages[-1].content))
        points = [sum(POINTS.get(word, 0) for word in re.findall(r"\w+", text)) for text in (a, b)]
        return '{"better": "%s"}' % ("tie" if points[0] == points[1] else "A" if points[0] > points[1] else "B")

    llm = ScriptedLLM(reply)
    plan = Plan(("postedit",), evaluator=Reviewer(**CHANGES), gate=PairwiseGate(llm))
    chain = await improve(segment(), plan)
    assert chain.text == "Caso malo y mozo malo y sello malo y puerta bueno."
    assert len(llm.requests) == len(chain.steps[0].calls) == 6


def rejecting(chain: Chain, edit: int | None) -> str:
    """The text where a person rejects an edit, or the whole."""
    return decided(chain, [checked(chain, Decision(segment=chain.segment.id, edit=edit, verdict="reject"))]).text


async def test_a_rejected_rewording_is_tried_sentence_by_sentence() -> None:
    before = "El gato duerme aquí. El perro come allí. La casa es vieja."
    after = "El gato duerme acá. El perro come carne. La casa es antigua."
    judge = Judge(acá=1, antigua=1, carne=-9)
    plan = Plan(("proofread",), proofreader=Proofreader(ScriptedLLM([after])), gate=RateGate(judge))
    source = "The cat sleeps here. The dog eats there. The house is old."
    chain = await improve(segment(before, source), plan)
    assert chain.text == "El gato duerme acá. El perro come allí. La casa es antigua."
    assert [(edit.old, edit.outcome) for edit in chain.steps[0].edits] == [
        ("El gato duerme aquí.", "applied"),
        ("El perro come allí.", "rejected"),
        ("La casa es vieja.", "applied"),
    ]
    assert rejecting(chain, 1) == "El gato duerme aquí. El perro come allí. La casa es antigua."
    assert rejecting(chain, None) == before


async def test_what_was_kept_in_part_can_be_reverted_reported_and_stored(tmp_path: Path) -> None:
    chain = await postedited(Judge(**POINTS))
    (step,) = chain.steps
    assert rejecting(chain, 2) == "Caso malo y mesa malo y sello malo y puerta bueno."
    assert fate(step).reason == "in part: the gate rejected some edits"
    assert edit_fate(step.edits[3]) == "rejected by the gate"
    (account,) = details(chain)["stages"]
    assert account["cause"]["edits_kept"] == 3
    assert [rating["role"] for rating in account["ratings"]] == ["editor", "before", "try", "try", "after"]
    with Store(tmp_path / "store.db") as store:
        run = store.start("r", settings={}, inputs={}, total=1)
        run.save(0, chain)
        assert list(run.chains()) == [chain]


# -- the paper's substitution behind a gate


async def substituted(gate: Gate, **changes: str) -> Step:
    plan = Plan(("postedit",), evaluator=Reviewer(**changes), gate=gate, corrector=Corrector(strategy="paper"))
    (step,) = (await improve(segment(), plan)).steps
    return step


async def test_the_papers_substitution_is_kept_where_the_judge_prefers_it() -> None:
    step = await substituted(RateGate(Judge(bien=1)), malo="bien")
    assert (step.verdict, step.text) == ("kept", TEXT.replace("malo", "bien"))
    assert [(edit.outcome, edit.start) for edit in step.edits] == [("applied", None)]


async def test_the_papers_substitution_is_rejected_as_a_whole() -> None:
    judge = Judge(**POINTS)
    step = await substituted(RateGate(judge), **CHANGES)
    assert (step.verdict, step.text, len(judge.rated)) == ("rejected", TEXT, 2)
    assert {(edit.outcome, edit.detail) for edit in step.edits} == {("rejected", "judge 0 -> -6: worse")}


async def test_the_guards_look_at_the_papers_text_as_a_whole() -> None:
    judge = Judge()
    step = await substituted(RateGate(judge), bueno="bueno [", Casa="Caso")
    assert (step.verdict, step.text, step.cause.guards, judge.rated) == ("rejected", TEXT, ("brackets",), [])
    assert {edit.outcome for edit in step.edits} == {"refused"}
    assert step.edits[0].detail == "the whole text: brackets: [ has no partner"
