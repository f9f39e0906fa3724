"""The account of what was done to each segment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import OutputError
from mtagent.formats.jsonl import details, write_details
from mtagent.records import Call, Chain, Edit, ErrorSpan, Message, Rating, Segment, Step, ToolCall, Usage

SEGMENT = Segment(id="7", source="A cat.", source_lang="en", target_lang="de", translation="Ein Hund.", domain="news")
SPAN = ErrorSpan(
    text="Hund", category="accuracy/mistranslation", severity="major", start=4, end=8, suggestion="Kater", penalty=5
)
RATE = Call(
    purpose="rate",
    model="m",
    messages=(Message(role="user", content="Rate this."),),
    reply="{}",
    usage=Usage(calls=1, input_tokens=100, output_tokens=10, cost=0.5),
    seconds=1.5,
)
SEARCH = ToolCall(id="1", name="search", arguments='{"query": "cat"}')
CORE = Call(
    purpose="core",
    model="m",
    messages=(
        Message(role="user", content="Rate this."),
        Message(role="assistant", content="", tool_calls=(SEARCH,)),
        Message(role="tool", content="A cat is an animal.", tool_call_id="1"),
    ),
    reply="",
    tool_calls=(SEARCH,),
)
JUDGE = Call(purpose="judge", model="j", usage=Usage(calls=1, input_tokens=50, cost=0.25), error="EmptyReply: no text")
STEP = Step(
    stage="postedit",
    text="Ein Kater.",
    proposed="Ein Kater!",
    edits=(
        Edit(old="Hund", new="Kater", outcome="applied", start=4, end=8, span=SPAN),
        Edit(old="Maus", new="", outcome="not-found", detail="not in the text"),
    ),
    ratings=(
        Rating(evaluator="rubric-mqm", score=-5, errors=(SPAN,), calls=(RATE,), signature="sig"),
        Rating(evaluator="rate", score=3, confidence=0.5, gaps=("who?",), warnings=("odd",), correction="Kater"),
    ),
    calls=(RATE, JUDGE),
    verdict="kept",
    cause="the rating rose",
    seconds=2.0,
)
FAILED = Step(stage="proofread", text="Ein Kater.", verdict="failed", cause="ServerError: 503")
CHAIN = Chain(segment=SEGMENT, steps=(STEP, FAILED))


def written(path: Path, *chains: Chain, messages: bool = False) -> list[dict[str, Any]]:
    assert write_details(path, chains, messages=messages) == len(chains)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_an_account_tells_everything_that_was_done(tmp_path: Path) -> None:
    (account,) = written(tmp_path / "d.jsonl", CHAIN)
    assert {name: account[name] for name in ("id", "source", "given", "text", "changed", "error", "domain")} == {
        "id": "7", "source": "A cat.", "given": "Ein Hund.", "text": "Ein Kater.", "changed": True,
        "error": "ServerError: 503", "domain": "news",
    }  # fmt: skip
    usage = account["usage"]
    assert (usage["calls"], usage["input_tokens"], usage["cost"]) == (2, 150, 0.75)
    postedit, proofread = account["stages"]
    assert {name: postedit[name] for name in ("stage", "verdict", "reason", "text", "proposed", "seconds")} == {
        "stage": "postedit", "verdict": "kept", "reason": "the rating rose", "text": "Ein Kater.",
        "proposed": "Ein Kater!", "seconds": 2.0,
    }  # fmt: skip
    assert [Edit(**edit) for edit in postedit["edits"]] == list(STEP.edits)
    assert (proofread["verdict"], proofread["edits"], proofread["proposed"]) == ("failed", [], None)
    # A rating is told whole, but for its calls, which stand with the step that paid for them.
    assert [Rating(**rating) for rating in postedit["ratings"]] == [
        rating.model_copy(update={"calls": ()}) for rating in STEP.ratings
    ]
    assert postedit["ratings"][1]["errors"] is None  # it marks no spans, which is not error-free
    rate, judge = postedit["calls"]
    assert (rate["purpose"], rate["model"], rate["seconds"], rate["usage"]["input_tokens"]) == ("rate", "m", 1.5, 100)
    assert judge["error"] == "EmptyReply: no text"
    assert not {"messages", "reply", "tool_calls"} & rate.keys()


def test_messages_are_told_on_request_and_tool_calls_where_there_are_any(tmp_path: Path) -> None:
    chain = Chain(segment=SEGMENT, steps=(STEP.model_copy(update={"calls": (RATE, CORE)}),))
    (account,) = written(tmp_path / "d.jsonl", chain, messages=True)
    plain, with_tools = account["stages"][0]["calls"]
    tool_call = SEARCH.model_dump()
    assert (plain["messages"], plain["reply"]) == ([{"role": "user", "content": "Rate this."}], "{}")
    assert (plain["tool_calls"], with_tools["tool_calls"]) == ([], [tool_call])
    _, asked, answered = with_tools["messages"]
    assert asked == {"role": "assistant", "content": "", "tool_calls": [tool_call]}
    assert answered == {"role": "tool", "content": "A cat is an animal.", "tool_call_id": "1"}


def test_an_unknown_price_stays_unknown_and_a_segment_without_steps_is_told_too() -> None:
    free = Call(purpose="rate", model="m", usage=Usage(calls=1, cost=None))
    unknown = details(Chain(segment=SEGMENT, steps=(STEP.model_copy(update={"calls": (RATE, free)}),)))
    assert unknown["usage"]["cost"] is None
    account = details(Chain(segment=SEGMENT.model_copy(update={"translation": None})))
    assert (account["given"], account["text"], account["changed"], account["error"]) == (None, "", False, None)
    assert account["stages"] == []


def test_a_lone_surrogate_in_a_model_s_proposal_is_escaped_not_lost(tmp_path: Path) -> None:
    step = STEP.model_copy(update={"proposed": "a\ud83d", "text": "a\nb\u2028c\rd"})
    first, second = written(tmp_path / "d.jsonl", Chain(segment=SEGMENT, steps=(step,)), CHAIN)
    assert first["stages"][0]["proposed"] == "a\ud83d"
    assert first["text"] == "a\nb\u2028c\rd"
    assert second == json.loads(json.dumps(details(CHAIN)))


def test_a_score_that_is_no_number_is_refused_with_the_segment_and_nothing_is_left(tmp_path: Path) -> None:
    step = STEP.model_copy(update={"ratings": (Rating(evaluator="qe", score=float("nan")),)})
    with pytest.raises(OutputError, match=r"d\.jsonl: segment '7': a number in its ratings is not finite"):
        write_details(tmp_path / "d.jsonl", [CHAIN, Chain(segment=SEGMENT, steps=(step,))])
    assert list(tmp_path.iterdir()) == []


def test_the_documentation_names_every_field() -> None:
    documentation = (Path(__file__).parents[1] / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")

    def names(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(names, value.values()))
        return set().union(*map(names, value)) if isinstance(value, list | tuple) else set()

    for step in (STEP, STEP.model_copy(update={"calls": (CORE,)})):
        account = details(Chain(segment=SEGMENT, steps=(step,)), messages=True)
        assert [name for name in names(account) if f"`{name}`" not in documentation] == []
