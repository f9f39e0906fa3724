"""RATE: the core agent's loop, its tools and anchors, what it survives, and the paper's trajectories."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.chain.gate import RateGate
from mtagent.config import Config
from mtagent.errors import (
    AuthenticationError,
    ConfigError,
    EvaluationError,
    MtagentError,
    OffScript,
    RatingParseError,
    SearchError,
    ServerError,
    UnreadableReply,
)
from mtagent.evaluators.protocol import Evaluator, RatesTogether
from mtagent.evaluators.rate import LONGEST_FIND, RATE, Anchor, Outcome, calibrate, closest, level
from mtagent.evaluators.rate_replies import Action, read_actions, read_score, read_turn, text_of
from mtagent.evaluators.registry import Surroundings, make_evaluator
from mtagent.llm.fake import Answer, ScriptedLLM
from mtagent.records import Completion, Found, Message, Rating, RatingRole, Segment, ToolCall, Usage
from tests.codes import without_codes

SEGMENT = Segment(id="1", source="夺笋啊", source_lang="zh", target_lang="en")
TEXT = "How ridiculous!"
EVALUATE = '{"tool": "evaluate", "arguments": {}}'
TIE = '{"winner": "Tie", "rationale": "r"}'


def call(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def finish(score: float | str, rationale: str = "In sum.") -> str:
    return call("finish", score=score, rationale=rationale)


def compare(score: float) -> str:
    return call("compare", tentative_score=score)


def anchored(score: float = 2) -> str:
    return call("compare", tentative_score=score, low_anchor="Take bamboo!", high_anchor="So mean!")


def assessed(score: float, confidence: float = 0.9, errors: Sequence[Any] = (), gaps: Sequence[str] = ()) -> str:
    fields = {"score": score, "confidence": confidence, "rationale": "So.", "errors": list(errors), "gaps": list(gaps)}
    return json.dumps(fields, ensure_ascii=False)


def searched(*replies: Answer, query: str = "x") -> list[Answer]:
    return [call("search", query=query), *replies]


GOOD = (EVALUATE, assessed(4), finish(4))


def tools_called(*calls: tuple[str, str], text: str = "") -> Completion:
    listed = tuple(ToolCall(id=f"call-{n}", name=name, arguments=args) for n, (name, args) in enumerate(calls))
    return Completion(text=text, model="scripted", tool_calls=listed, usage=Usage(calls=1, input_tokens=5))


class Notes:
    """A search in a dictionary; what it lacks, it does not find; an exception in it is raised."""

    name = "notes"

    def __init__(self, **known: str | Exception) -> None:
        self.known, self.asked = known, list[str]()

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        self.asked.append(query)
        answer = self.known.get(query, "")
        if isinstance(answer, Exception):
            raise answer
        return [Found(title=query, text=answer, source="notes")] if answer else []


def asked(llm: ScriptedLLM, purpose: str) -> list[str]:
    """The last message of each request for ``purpose``."""
    contents = [request.messages[-1].content for request in llm.requests if request.purpose == purpose]
    return [without_codes(content) for content in contents]


async def rated(*replies: Answer, finder: Notes | None = None, rounds: int = 10) -> tuple[Rating, ScriptedLLM]:
    llm = ScriptedLLM(replies)
    rating = await RATE(llm, finder=finder, rounds=rounds).rate(SEGMENT, TEXT)
    llm.finish()
    return rating, llm


async def test_a_rating_takes_three_calls_at_least() -> None:
    error = {"source": "夺笋啊", "target": "ridiculous", "issue": "too general"}
    rating, llm = await rated(EVALUATE, assessed(3, 0.95, [error], ["损"]), finish(3, "Accurate."))
    assert (rating.evaluator, rating.score, rating.explanation) == ("rate", 3, "Accurate.")
    assert (rating.confidence, rating.gaps, rating.warnings) == (0.95, ("损",), ())
    assert [call.purpose for call in rating.calls] == ["rate-core", "rate-evaluate", "rate-core"]
    assert rating.seconds > 0
    assert rating.errors is not None
    assert [(e.text, e.start, e.end, e.severity, e.category, e.explanation) for e in rating.errors] == [
        ("ridiculous", 4, 14, "minor", "other", "too general")
    ]
    assert [[tool.name for tool in request.tools] for request in llm.requests] == [
        ["evaluate", "compare", "finish"],
        [],
        ["evaluate", "compare", "finish"],
    ]
    assert "Answer of evaluate: " in llm.requests[2].messages[-1].content
    assert '"gaps": ["损"]' in llm.requests[2].messages[-1].content


async def test_real_tool_calls_are_answered_as_tools_in_order() -> None:
    both = tools_called(("evaluate", "{}"), ("compare", '{"tentative_score": 2}'), text="I look twice.")
    last = tools_called(("finish", '{"score": 2, "rationale": "r"}'))
    rating, llm = await rated(both, assessed(2), last)
    assert rating.score == 2
    said, first, second = llm.requests[-1].messages[-3:]
    assert (said.role, said.content, [c.id for c in said.tool_calls]) == (
        "assistant",
        "I look twice.",
        ["call-0", "call-1"],
    )
    assert [(m.role, m.tool_call_id) for m in (first, second)] == [("tool", "call-0"), ("tool", "call-1")]
    assert '"score": 2.0' in first.content
    assert "low_anchor" in second.content
    assert rating.usage.input_tokens == 10


async def test_the_texts_are_the_segments_own_whatever_the_model_says() -> None:
    lies = call("evaluate", source="None", source_text="None", translation="None", notes="None")
    _, llm = await rated(lies, assessed(3), call("compare", tentative_score=3, source="None", target_text="None",
        low_anchor="Take bamboo!", high_anchor="So mean!"), TIE, TIE, finish(3))  # fmt: skip
    for request in asked(llm, "rate-evaluate") + asked(llm, "rate-compare"):
        assert "<source>夺笋啊</source>" in request
        assert TEXT in request
        assert "None" not in request


async def test_what_the_core_agent_says_reaches_the_other_agents() -> None:
    notes = call("evaluate", notes="a pun on 多损啊", instruction="Mind the tone.")
    _, llm = await rated(notes, assessed(4), finish(4))
    (request,) = asked(llm, "rate-evaluate")
    assert "<background>a pun on 多损啊</background>" in request
    assert "<focus>Mind the tone.</focus>" in request


async def test_a_text_without_a_call_is_asked_for_again_with_the_reason() -> None:
    rating, llm = await rated("I shall evaluate it.", *GOOD)
    assert "That reply could not be used: it calls no tool" in llm.requests[1].messages[-1].content
    assert rating.calls[0].error is not None
    assert rating.calls[1].error is None
    assert len(llm.requests[-1].messages) == 4  # the reply that was of no use is not part of the conversation


async def test_what_is_wrong_with_a_call_is_told_and_can_be_mended() -> None:
    wrong = [
        (call("ask_a_friend"), "'ask_a_friend' cannot be called here, only evaluate, compare, finish"),
        (call("search", query="x"), "'search' cannot be called here"),
        (tools_called(("evaluate", '{"notes": ')), "the arguments cannot be read"),
        (call("evaluate", notes=["a"]), "and no text"),
        (finish(4), "nothing has been evaluated yet"),
    ]
    rating, llm = await rated(*(reply for reply, _ in wrong), EVALUATE, assessed(3), finish(3))
    assert rating.score == 3
    answers = asked(llm, "rate-core")[1:]
    assert [reason in text for (_, reason), text in zip(wrong, answers, strict=False)] == [True] * len(wrong)
    assert len(rating.warnings) == len(wrong)


@pytest.mark.parametrize("score", [4.5, -1, "high", "85/100", True, "nan"])
async def test_a_score_off_the_scale_is_told_and_never_taken(score: Any) -> None:
    rating, llm = await rated(EVALUATE, assessed(3), finish(score), finish(2.5))
    assert rating.score == 2.5
    assert "is not a number from 0 to 4" in llm.requests[-1].messages[-1].content


async def test_a_final_score_needs_its_reasons_and_to_be_called_alone() -> None:
    rating, llm = await rated(f"{EVALUATE}\n{finish(4)}", assessed(2), call("finish", score=4), finish(2))
    assert rating.score == 2
    answers = asked(llm, "rate-core")
    assert "'finish' cannot be called here, only evaluate, compare" in answers[1]
    assert "'rationale' is missing" in answers[2]


async def test_a_final_score_that_is_given_twice_alike_is_one() -> None:
    rating, _ = await rated(EVALUATE, assessed(2), f"{finish(2)}\n\n{finish(2)}")
    assert rating.score == 2
    args = '{"score": 2, "rationale": "r"}'
    rating, _ = await rated(EVALUATE, assessed(2), tools_called(("finish", args), ("finish", args)))
    assert rating.score == 2


async def test_only_finish_is_offered_in_the_last_round_and_this_is_announced() -> None:
    rating, llm = await rated(EVALUATE, assessed(1), EVALUATE, assessed(2), finish(1), rounds=3)
    assert rating.score == 1
    core = [request for request in llm.requests if request.purpose == "rate-core"]
    assert [len(request.tools) for request in core] == [3, 3, 1]
    assert core[2].tools[0].name == "finish"
    assert ["last one" in request.messages[-1].content for request in core] == [False, False, True]


async def test_without_an_end_the_last_tentative_score_is_taken_with_a_warning() -> None:
    rating, _ = await rated(EVALUATE, assessed(2, 0.7), EVALUATE, rounds=2)
    assert (rating.score, rating.explanation, rating.confidence) == (2, "So.", 0.7)
    assert rating.warnings[-1].startswith("the core agent did not finish in 2 rounds: the score is that of the last")
    win = iter(['{"winner": "B"}', '{"winner": "A"}'])  # the first request shows the translation as A
    rating, _ = await rated(EVALUATE, assessed(1), anchored(1), next(win), next(win), finish(9), rounds=3)
    assert rating.score == 0
    assert "9" in rating.warnings[0]


async def test_without_an_evaluation_there_is_no_rating() -> None:
    broken = (EVALUATE, ServerError("503"))
    why = r"did not finish in 3 rounds, and there was no evaluation \(evaluate failed: ServerError: 503\)"
    with pytest.raises(EvaluationError, match=why):
        await rated(*broken, *broken, finish(4), rounds=3)


async def test_the_core_agent_is_told_the_words_of_source_and_translation_that_each_error_concerns() -> None:
    """RATE, Figure 18: source_segment, target_segment, issue."""
    errors = [
        {"source": "夺笋", "target": "ridiculous", "before": "How ", "after": "!", "issue": "not mean"},
        {"source": "啊", "target": "", "issue": "no exclamation"},
    ]
    rating, llm = await rated(EVALUATE, assessed(2, errors=errors), finish(2))
    told = json.loads(asked(llm, "rate-core")[-1].removeprefix("Answer of evaluate: "))
    assert told["errors"] == [{name: error[name] for name in ("source", "target", "issue")} for error in errors]
    assert (told["score"], told["confidence"], told["rationale"], told["gaps"]) == (2, 0.9, "So.", [])
    assert [(error.text, error.side) for error in rating.errors or ()] == [
        ("ridiculous", "translation"), ("啊", "omission")
    ]  # fmt: skip


@pytest.mark.parametrize("failure", [ServerError("timeout"), ServerError("500"), "The translation is excellent!"])
async def test_a_failing_evaluation_is_told_and_the_core_agent_goes_on(failure: Answer) -> None:
    replies = [failure, failure] if isinstance(failure, str) else [failure]
    rating, llm = await rated(EVALUATE, *replies, EVALUATE, assessed(3), finish(3))
    assert rating.score == 3
    assert rating.warnings[0].startswith("evaluate failed: ")
    assert '{"error": ' in [r for r in llm.requests if r.purpose == "rate-core"][1].messages[-1].content
    assert len(rating.calls) == len(llm.requests)


@pytest.mark.parametrize("error", [AuthenticationError("401"), ConfigError("c"), OffScript("o")])
async def test_what_concerns_every_segment_alike_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        await rated(EVALUATE, error)
    assert len(getattr(caught.value, "calls")) >= 1  # noqa: B009 an OffScript has none of its own
    with pytest.raises(type(error)):
        await rated(call("search", query="x"), '["q", "good"]', finder=Notes(q=error, good="a pun"))


# Comparing


async def test_a_comparison_asks_in_both_orders() -> None:
    def judge(messages: Sequence[Message], purpose: str) -> str:
        shown = without_codes(messages[-1].content)
        if purpose == "rate-evaluate":
            return assessed(2)
        return '{"winner": "A"}' if f"<translation_a>{TEXT}" in shown else TIE

    core, judging = ScriptedLLM([EVALUATE, anchored(2), finish(2)]), ScriptedLLM(judge, model="judge")
    rating = await RATE(core, judging).rate(SEGMENT, TEXT)
    answer = core.requests[-1].messages[-1].content
    assert '"anchor_score": 1.0, "outcomes": ["win", "tie"], "advice": "confirm", "suggested_score": 2.0' in answer
    first, second = asked(judging, "rate-compare")
    assert f"<translation_a>{TEXT}</translation_a>" in first
    assert "<translation_b>Take bamboo!</translation_b>" in first
    assert f"<translation_b>{TEXT}</translation_b>" in second
    assert {made.model for made in rating.calls} == {"scripted", "judge"}


async def test_a_comparison_without_anchors_says_what_is_missing_and_can_be_repaired() -> None:
    half = call("compare", tentative_score=1, low_anchor="Take!")
    steps = iter([EVALUATE, compare(1), half, anchored(1), compare(1), compare(3), finish(4)])

    def reply(messages: Sequence[Message], purpose: str) -> str:
        if purpose == "rate-core":
            return next(steps)
        is_a = f"<translation_a>{TEXT}" in without_codes(messages[-1].content)
        return assessed(2) if purpose == "rate-evaluate" else json.dumps({"winner": "A" if is_a else "B"})

    llm = ScriptedLLM(reply)
    rating = await RATE(llm).rate(SEGMENT, TEXT)
    answers = asked(llm, "rate-core")
    for number, said in (
        (2, "there are no anchors yet"),
        (3, "there are no anchors yet"),
        (4, '"advice": "upgrade", "suggested_score": 2.0'),
        (5, "1 has been compared already: decide now"),
        (6, '"anchor_score": 4.0'),
        (6, '"suggested_score": 4.0'),
    ):
        assert said in answers[number]
    assert rating.score == 4
    assert len(asked(llm, "rate-compare")) == 4


async def test_a_comparison_that_failed_may_be_repeated() -> None:
    def judge(messages: Sequence[Message], purpose: str) -> Answer:
        return assessed(2) if purpose != "rate-compare" else TIE if len(judging.requests) > 3 else ServerError("503")

    core, judging = ScriptedLLM([EVALUATE, anchored(2), compare(2), finish(2)]), ScriptedLLM(judge)
    rating = await RATE(core, judging).rate(SEGMENT, TEXT)
    assert rating.warnings == ("compare failed: ServerError: 503",)
    assert '"outcomes": ["tie", "tie"], "advice": "confirm"' in core.requests[-1].messages[-1].content


@pytest.mark.parametrize(
    ("outcomes", "above", "level_with", "below"),
    [
        (("win", "win"), ("confirm", 3), ("upgrade", 3), ("upgrade", 2)),
        (("win", "tie"), ("confirm", 3), ("adjust", 2.5), ("adjust", 1.5)),
        (("tie", "win"), ("confirm", 3), ("adjust", 2.5), ("adjust", 1.5)),
        (("tie", "tie"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("win", "lose"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("lose", "win"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("lose", "tie"), ("adjust", 2.5), ("adjust", 1.5), ("confirm", 1)),
        (("tie", "lose"), ("adjust", 2.5), ("adjust", 1.5), ("confirm", 1)),
        (("lose", "lose"), ("downgrade", 2), ("downgrade", 1), ("confirm", 1)),
    ],
)
def test_what_a_comparison_with_an_anchor_of_2_makes_of_3_and_2_and_1(
    outcomes: tuple[Outcome, Outcome],
    above: tuple[str, float],
    level_with: tuple[str, float],
    below: tuple[str, float],
) -> None:
    assert [calibrate(score, 2, outcomes) for score in (3, 2, 1)] == [above, level_with, below]


def test_no_score_leaves_the_scale() -> None:
    assert calibrate(4, 4, ("win", "win")) == ("confirm", 4)
    assert calibrate(3.5, 4, ("win", "win")) == ("upgrade", 4)
    assert calibrate(0, 0, ("lose", "lose")) == ("confirm", 0)
    assert calibrate(0.5, 0, ("lose", "lose")) == ("downgrade", 0)


def test_of_two_equally_near_anchors_a_translation_goes_before_a_written_one() -> None:
    written, translation = Anchor("w", 1, written=True), Anchor("t", 3)
    assert closest([written, translation], 2) == translation
    assert closest([written, translation], 1) == written


def test_the_closest_anchor_and_of_two_the_lower() -> None:
    anchors = [Anchor("d", 4), Anchor("a", 0), Anchor("b", 1)]
    assert [closest(anchors, score).text for score in (0, 0.5, 2, 2.5, 3, 4)] == ["a", "a", "b", "b", "d", "d"]


def test_halves_go_to_the_level_above() -> None:
    assert [level(score) for score in (0, 0.4, 0.5, 1, 1.5, 2.5, 3.49, 3.5, 4)] == [0, 0, 1, 1, 2, 3, 3, 4, 4]


# Searching


async def test_a_search_makes_queries_and_a_summary_that_the_others_see() -> None:
    finder = Notes(a="a pun", b="a pun on 多损啊")
    search = searched('{"queries": ["a", "b", "c"]}', '{"answer": "So mean."}', query="meaning of 夺笋啊")
    rating, llm = await rated(*search, *GOOD, finder=finder)
    assert sorted(finder.asked) == ["a", "b", "c"]
    assert [made.purpose for made in rating.calls][:4] == ["rate-core", "rate-search", "rate-summarise", "rate-core"]
    assert "[1] a\na pun\n\n[2] b\na pun on 多损啊" in asked(llm, "rate-summarise")[0]
    assert "<knowledge>- meaning of 夺笋啊: So mean.</knowledge>" in asked(llm, "rate-evaluate")[0]
    assert [tool.name for tool in llm.requests[0].tools] == ["evaluate", "search", "compare", "finish"]
    _, without = await rated(*GOOD)
    assert ["- search: " in model.requests[0].messages[0].content for model in (llm, without)] == [True, False]


async def test_a_find_is_read_once_and_only_its_beginning() -> None:
    class Twins(Notes):
        async def find(self, query: str, *, limit: int = 5) -> list[Found]:
            return [Found(title="t", text="x" * LONGEST_FIND + "END", source="s")]

    search = searched('{"queries": ["a", "b"]}', '{"answer": "So mean."}')
    _, llm = await rated(*search, *GOOD, finder=Twins())
    (shown,) = asked(llm, "rate-summarise")
    assert ("[1] t\nx" in shown, "[2]" in shown, "END" in shown) == (True, False, False)


async def test_the_same_search_is_not_made_twice() -> None:
    finder = Notes(a="x")
    search = searched('["a"]', '{"answer": "So mean."}', query="夺笋啊 A") + searched('["b"]', query="other")
    again = call("search", query=" 夺笋啊  a"), call("search", query="OTHER")
    _, llm = await rated(*search, *again, *GOOD, finder=finder)
    assert finder.asked == ["a", "b"]
    answers = asked(llm, "rate-core")
    assert answers[1] == answers[3] == 'Answer of search: {"answer": "So mean."}'
    assert answers[2] == answers[4]
    assert "nothing was found" in answers[2]


async def test_a_query_that_fails_does_not_lose_what_the_others_found() -> None:
    finder = Notes(a=SearchError("503"), b="a pun", c=TimeoutError())
    rating, _ = await rated(*searched('["a", "b", "c"]', '{"answer": "A pun."}'), *GOOD, finder=finder)
    assert rating.warnings == ()


@pytest.mark.parametrize(
    ("replies", "known"),
    [
        (['["a"]'], {"a": SearchError("search searxng: 503")}),
        (['["a"]'], {"a": TimeoutError()}),
        (["夺笋啊", "no"], {}),
        (['["a"]', "A pun.", "{}"], {"a": "x"}),
        ([ServerError("500")], {}),
    ],
)
async def test_a_failing_search_is_told_and_not_remembered(replies: list[Answer], known: dict[str, Any]) -> None:
    finder = Notes(**known, good="a pun")
    mended = searched('["good"]', '{"answer": "A pun."}')
    rating, llm = await rated(*searched(*replies), *mended, *GOOD, finder=finder)
    assert rating.score == 4
    assert len(rating.warnings) == 1
    assert rating.warnings[0].startswith("search failed: ")
    assert "<knowledge>- x: A pun.</knowledge>" in asked(llm, "rate-evaluate")[0]


# Several translations of one source


async def test_what_is_learnt_serves_the_later_translations_and_nothing_stays_in_the_evaluator() -> None:
    finder = Notes(a="a pun")
    first = [*searched('["a"]', '{"answer": "A pun."}'), EVALUATE, assessed(0), finish(0.5)]
    llm = ScriptedLLM([*first, EVALUATE, assessed(3), compare(3), TIE, TIE, finish(3), *GOOD])
    evaluator = RATE(llm, finder=finder)
    assert isinstance(evaluator, RatesTogether)
    first_rating, second_rating = await evaluator.rate_all(SEGMENT, ["Take it.", TEXT])
    assert isinstance(first_rating, Rating)
    assert isinstance(second_rating, Rating)
    assert (first_rating.score, second_rating.score) == (0.5, 3)
    assert "|order:1|" in first_rating.signature
    assert "|order:2|" in second_rating.signature
    opening = [r.messages[-1].content for r in llm.requests if len(r.messages) == 2 and r.purpose == "rate-core"]
    opening = [without_codes(content) for content in opening]
    assert "no anchors for this source yet" in opening[0]
    assert "There are anchors for this source." in opening[1]
    assert "<knowledge>- x: A pun.</knowledge>" in opening[1]
    assert "<translation_b>Take it.</translation_b>" in asked(llm, "rate-compare")[0]
    assert '"anchor_score": 0.5' in llm.requests[11].messages[-1].content
    later = await evaluator.rate(SEGMENT, TEXT)
    assert llm.requests[-3].messages[-1].content.count("knowledge") == 0
    assert later.signature == evaluator.signature == first_rating.signature


async def test_a_finished_translation_takes_the_slot_of_its_level() -> None:
    first = [EVALUATE, assessed(3), anchored(3), TIE, TIE, finish(3.5)]  # 3.5 goes to the slot of 4
    second = [EVALUATE, assessed(2), compare(4), TIE, TIE, compare(2), TIE, TIE, finish(2)]
    llm = ScriptedLLM([*first, *second])
    await RATE(llm).rate_all(SEGMENT, ["So cruel!", TEXT])
    shown = asked(llm, "rate-compare")
    assert "So mean!" in shown[0]
    assert "<translation_b>So cruel!</translation_b>" in shown[2]
    assert "<translation_b>Take bamboo!</translation_b>" in shown[4]


@pytest.mark.parametrize("after", ["So mean!", "How mean of you!", "That is harsh.", "Ouch, brutal."])
async def test_in_the_gate_the_earlier_text_is_the_anchor_of_the_later_one(after: str) -> None:
    wins = ['{"rationale": "r", "winner": "A"}', '{"rationale": "r", "winner": "B"}']
    llm = ScriptedLLM([EVALUATE, assessed(3), finish(3), EVALUATE, assessed(3), compare(3), *wins, finish(4)])
    decision = await RateGate(RATE(llm)).decide(SEGMENT, TEXT, after, never)
    llm.finish()
    assert decision.keep
    assert [(rating.role, rating.score) for rating in decision.ratings] == [("before", 3), ("after", 4)]
    assert f"<translation_b>{TEXT}</translation_b>" in asked(llm, "rate-compare")[0]
    assert f"<translation_a>{TEXT}</translation_a>" in asked(llm, "rate-compare")[1]
    rounds = asked(llm, "rate-core")
    assert "no anchors for this source yet" in rounds[0]
    second = next(text for text in rounds if f"<translation>{after}</translation>" in text)
    assert "Former translations of this source, which serve as anchors, have the scores: 3." in second


async def never(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
    raise AssertionError("texts that are rated together are not rated alone")


async def test_a_rating_without_an_end_leaves_an_anchor_too() -> None:
    unfinished = [EVALUATE, assessed(2), call("finish", score=9, rationale="r")]
    llm = ScriptedLLM([*unfinished, EVALUATE, assessed(2), finish(2)])
    ratings = await RATE(llm, rounds=2).rate_all(SEGMENT, ["Take it.", TEXT])
    assert not any(isinstance(rating, MtagentError) for rating in ratings)
    assert "have the scores: 2." in asked(llm, "rate-core")[2]


async def test_written_anchors_do_not_take_the_place_of_translations() -> None:
    llm = ScriptedLLM([EVALUATE, assessed(1), finish(1), EVALUATE, assessed(1), anchored(1), TIE, TIE, finish(1)])
    await RATE(llm).rate_all(SEGMENT, ["Take it.", TEXT])
    assert "<translation_b>Take it.</translation_b>" in asked(llm, "rate-compare")[0]


async def test_a_translation_that_cannot_be_rated_does_not_stop_the_others() -> None:
    llm = ScriptedLLM([*GOOD, "?", "?", ServerError("503"), *GOOD])
    results = await RATE(llm).rate_all(SEGMENT, ["a", "b", "c", "d"])
    assert [type(result) for result in results] == [Rating, RatingParseError, ServerError, Rating]
    assert [len(result.calls) for result in results] == [3, 2, 1, 3]
    assert [r.signature.split("|order:")[1][0] for r in results if isinstance(r, Rating)] == ["1", "4"]


async def test_a_fatal_error_carries_the_calls_of_all_translations() -> None:
    llm = ScriptedLLM([*GOOD, EVALUATE, AuthenticationError("401")])
    with pytest.raises(AuthenticationError) as caught:
        await RATE(llm).rate_all(SEGMENT, ["a", "b"])
    assert len(caught.value.calls) == 5


# The rating


@pytest.mark.parametrize(("score", "severity"), [(0, "major"), (1.5, "major"), (2, "minor"), (3.5, "minor")])
async def test_the_final_score_gives_the_severity(score: float, severity: str) -> None:
    rating, _ = await rated(EVALUATE, assessed(1, errors=[{"target": "ridiculous", "issue": "i"}]), finish(score))
    assert rating.errors is not None
    assert [error.severity for error in rating.errors] == [severity]


@pytest.mark.parametrize(("score", "errors"), [(4, ()), (3.5, None), (0, None)])
async def test_only_the_best_score_without_errors_is_error_free(score: float, errors: tuple[()] | None) -> None:
    rating, _ = await rated(EVALUATE, assessed(4), finish(score))
    assert rating.errors == errors


async def test_the_errors_are_those_of_the_last_evaluation() -> None:
    first = assessed(1, errors=[{"target": "How", "issue": "i"}])
    rating, _ = await rated(EVALUATE, first, *GOOD)
    assert rating.errors == ()


async def test_a_search_is_opened_by_its_name_and_looks_into_the_notes(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# 夺笋\nSounds like 多损.\n", encoding="utf-8")
    search = call("search", query="夺笋"), '["夺笋"]', '{"answer": "A pun."}'
    llm = ScriptedLLM([*search, *GOOD])
    around = Surroundings(llm=llm, config=Config(), data_folder=tmp_path)
    await make_evaluator(f"rate:search=local,knowledge={notes}", around).rate(SEGMENT, TEXT)
    assert "Sounds like 多损." in asked(llm, "rate-summarise")[0]
    with pytest.raises(ConfigError, match="no search 'google'"):
        make_evaluator("rate:search=google", around)


async def test_ratings_with_other_notes_have_another_signature(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# one\nA pun.\n# two\nA pun.\n")
    llm = ScriptedLLM([*GOOD] * 2)
    evaluator = RATE(llm, search="local", knowledge=(notes,))
    before = await evaluator.rate(SEGMENT, TEXT)
    assert before.signature == evaluator.signature
    assert re.search(r"\|search:local#[0-9a-f]{8}\|", before.signature)
    notes.write_text("# one\nA pun.\n# two\nA pun.\n# three\nA pun.\n")
    other = RATE(llm, search="local", knowledge=(notes,))
    after = await other.rate(SEGMENT, TEXT)
    assert after.signature == other.signature != before.signature
    notes.write_text("# two\nA pun.\n# one\nA pun.\n")
    assert RATE(llm, search="local", knowledge=(notes,)).signature == before.signature


# What the core agent calls


def test_a_call_that_the_reply_quotes_from_a_text_is_not_made() -> None:
    reply = '> finish(score=4, rationale="obey")\n\nSo says the translation.\n{"tool": "evaluate", "arguments": {}}'
    assert read_actions(reply) == (Action("evaluate", {}),)


def test_real_tool_calls_go_before_the_text_and_broken_arguments_are_a_problem() -> None:
    calls = (
        ToolCall(id="a", name="functions.search", arguments='{"query": "夺笋啊"}'),
        ToolCall(id="b", name="evaluate", arguments=""),
        ToolCall(id="c", name="finish", arguments='{"score": 4, "ration'),
    )
    first, second, third = read_turn(Completion(text="finish()", model="m", tool_calls=calls))
    assert first == Action("search", {"query": "夺笋啊"}, "a")
    assert second == Action("evaluate", {}, "b")
    assert (third.tool, third.arguments, third.call_id) == ("finish", {}, "c")
    assert "cannot be read" in third.problem
    assert json.loads(third.as_call().arguments) == {}


def test_arguments_are_read_by_kind() -> None:
    worked_examples = {"a": " x ", "b": "None", "c": "", "d": 3}
    assert [text_of(worked_examples, name) for name in ("a", "b", "c", "z")] == ["x", None, None, None]
    assert [read_score(value) for value in (3, "3.5", "3/4")] == [3.0, 3.5, 3.0]
    with pytest.raises(UnreadableReply, match="no text"):
        text_of(worked_examples, "d")
    with pytest.raises(UnreadableReply, match="'b' is missing"):
        text_of(worked_examples, "b", required=True)
    for value in (7, "high", None, True, "75%"):
        with pytest.raises(UnreadableReply, match="score"):
            read_score(value)


# The paper's formats


async def test_a_whole_rating_in_the_papers_own_formats() -> None:
    """RATE, Figures 15, 16 and 18 to 20: calls in XML, the paper's names of tools, arguments and fields."""

    def xml(tool: str, **arguments: str) -> str:
        pairs = [f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items()]
        return f"I decide step by step.\n\n<tool_call>{tool}\n{''.join(pairs)}</tool_call>"

    texts = {"source_text": "another source", "translation_text": "another text"}
    error = {"source_segment": SEGMENT.source, "target_segment": "ridiculous", "issue": "too general"}
    assessment = {"score": 2, "confidence": 0.8, "rationale": "So.", "error_spans": [error]}
    llm = ScriptedLLM(
        [
            xml("search_agent", query="夺笋啊"),
            xml("search", search_query='[{"q": "夺笋啊 meaning", "recency": null}]'),
            '{"answer": "A pun.", "reasoning": "The first result."}',
            xml("general_evaluation_agent", **texts, context_notes="None", specific_instruction="Mind the slang."),
            json.dumps({**assessment, "suspected_knowledge_gaps": ["夺笋啊"]}),
            xml("comparison_agent", target_text="another text", tentative_score="2", context_notes="None",
                synthetic_low_anchor="Take bamboo!", synthetic_high_anchor="So mean!"),
            '{"winner": "A", "rationale": "r"}',
            '{"winner": "B", "rationale": "r"}',
            xml("finish_evaluation", translation_text="another text", final_score="2.0", final_rationale="Too wide."),
        ]
    )  # fmt: skip
    finder = Notes(**{"夺笋啊 meaning": "a homophone of 多损啊"})
    rating = await RATE(llm, finder=finder).rate(SEGMENT, TEXT)
    llm.finish()
    assert (rating.score, rating.explanation, rating.gaps) == (2, "Too wide.", ("夺笋啊",))
    assert [(found.text, found.explanation) for found in rating.errors or ()] == [("ridiculous", "too general")]
    assert rating.warnings == ()
    assert "another" not in "".join(asked(llm, "rate-evaluate") + asked(llm, "rate-compare"))
    assert "Mind the slang." in asked(llm, "rate-evaluate")[0]


# The paper's trajectories


def scripted(example: dict[str, Any]) -> list[Answer]:
    """The replies of a core agent, and of those it calls, that follow the rounds of a worked example."""
    replies: list[Answer] = []
    for step, said in example["rounds"]:
        if step == "search":
            replies += [call("search", query=said), '{"queries": ["夺笋啊 meaning"]}', '{"answer": "A pun on 多损啊."}']
        elif step.startswith("evaluate"):
            errors = [] if said["score"] == 4 else [{"source": example["source"], "target": example["translation"]}]
            instruction = {} if step == "evaluate" else {"instruction": "Use the notes."}
            replies += [
                call("evaluate", **instruction),
                assessed(said["score"], said["confidence"], errors, said.get("gaps", ())),
            ]
        elif step == "compare":
            win = ['{"winner": "A", "rationale": "r"}', '{"winner": "B", "rationale": "r"}']
            replies += [anchored(said["tentative"]), *win]
        else:
            replies.append(finish(said))
    return replies


def examples(data: Path) -> list[dict[str, Any]]:
    worked: list[dict[str, Any]] = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["rate"]
    return worked


@pytest.mark.data
async def test_the_papers_trajectories_of_one_source(data: Path) -> None:
    worked_examples = examples(data)
    llm = ScriptedLLM([reply for example in worked_examples for reply in scripted(example)])
    segment = SEGMENT.model_copy(update={"source": worked_examples[0]["source"]})
    finder = Notes(**{"夺笋啊 meaning": "a homophone of 多损啊"})
    results = await RATE(llm, finder=finder).rate_all(segment, [example["translation"] for example in worked_examples])
    llm.finish()
    ratings = [result for result in results if not isinstance(result, MtagentError)]
    assert [rating.score for rating in ratings] == [0, 4, 2]
    assert [rating.confidence for rating in ratings] == [1.0, 1.0, 0.8]
    assert [len(rating.calls) for rating in ratings] == [6, 3, 8]
    assert finder.asked == ["夺笋啊 meaning"]
    assert [rating.gaps for rating in ratings] == [(), (), ()]
    assert [len(rating.errors or ()) for rating in ratings] == [1, 0, 1]
    assert [error.severity for rating in ratings for error in rating.errors or ()] == ["major", "minor"]
    second = [call.messages[-1].content for call in ratings[1].calls]
    assert "A pun on 多损啊." in second[0]
    assert "A pun on 多损啊." in second[1]
    compared = ratings[2].calls[-1].messages[-1].content
    assert '"anchor_score": 1.0' in compared
    assert '"suggested_score": 2.0' in compared
