"""Equal requests have equal keys; anything that is sent makes another key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.llm.request import OPENAI, Sampling, estimated_tokens, request_body, request_key
from mtagent.records import Message, Tool, ToolCall

BASE: dict[str, Any] = {
    "model": "m",
    "base_url": None,
    "sampling": Sampling(temperature=0.5),
    "messages": (Message(role="user", content="Hi"),),
    "schema": {"type": "object", "required": ["a", "b"]},
    "logprobs": False,
}
SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object"})
WISH = ToolCall(id="call_1", name="search", arguments='{"query": "é"}')


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"base_url": "http://localhost:1/v1"},
        {"sampling": Sampling()},
        {"sampling": Sampling(temperature=0.5, extra={"cache_prompt": False})},
        {"messages": (Message(role="system", content="Hi"),)},
        {"messages": (Message(role="user", content="Hi "),)},
        {"messages": (*BASE["messages"], *BASE["messages"])},
        {"schema": None},
        {"schema": {"type": "object", "required": ["b", "a"]}},
        {"logprobs": True},
        {"tools": (SEARCH,)},
        {"messages": (Message(role="user", content="Hi", tool_call_id="call_1"),)},
        {"messages": (Message(role="user", content="Hi", tool_calls=(WISH,)),)},
    ],
    ids=str,
)
def test_whatever_is_sent_is_in_the_key(change: dict[str, Any]) -> None:
    assert request_key(**BASE) != request_key(**{**BASE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": OPENAI},
        {"base_url": OPENAI + "/"},
        {"messages": list(BASE["messages"])},
        {"schema": {"required": ["a", "b"], "type": "object"}},
    ],
    ids=str,
)
def test_what_makes_no_difference_is_not(change: dict[str, Any]) -> None:
    assert request_key(**BASE) == request_key(**{**BASE, **change})


def test_keys_are_tagged_and_stay_the_same_between_versions() -> None:
    key = request_key("m", None, Sampling(), [Message(role="user", content="é")], None, False)
    assert key == "request-1:ea83e4450e5a4bebbd6025e540d591364d559313037ae59b9a6f054a73e79b20"


def test_tools_make_keys_of_their_own_that_stay_the_same_between_versions() -> None:
    asked = [Message(role="user", content="Hi"), Message(role="assistant", content="", tool_calls=(WISH,))]
    answered = [*asked, Message(role="tool", content="found", tool_call_id="call_1")]
    other = SEARCH.model_copy(update={"description": "Finds something."})
    keys = [
        request_key("m", None, Sampling(), messages, None, False, tools)
        for messages, tools in ((answered, ()), (answered, (SEARCH,)), (answered, (other,)), (asked, (SEARCH,)))
    ]
    assert len(set(keys)) == 4
    assert keys[1] == "request-1:4691cb23778a771014d6bbbd8cdba381f3c544665048c8c93a18a67784c6f5ae"


def test_tools_and_tool_calls_are_sent_as_openai_wants_them() -> None:
    messages = [
        Message(role="assistant", content="", tool_calls=(WISH,)),
        Message(role="tool", content="found", tool_call_id="call_1"),
    ]
    body = request_body("m", {}, messages, None, False, (SEARCH,))
    function = {"name": "search", "arguments": '{"query": "é"}'}
    assert body["messages"] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "found", "tool_call_id": "call_1"},
    ]
    described = {"name": "search", "description": "Looks something up.", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": described}]


@pytest.mark.parametrize("broken", ['{"query": "a', "[1]", "", "search now"])
def test_broken_arguments_go_back_as_json_because_servers_read_them(broken: str) -> None:
    wish = WISH.model_copy(update={"arguments": broken})
    body = request_body("m", {}, [Message(role="assistant", content="", tool_calls=(wish,))], None, False)
    assert json.loads(body["messages"][0]["tool_calls"][0]["function"]["arguments"]) == {"unreadable": broken}


def test_the_estimate_counts_tools_and_tool_calls() -> None:
    plain = [Message(role="assistant", content="x" * 400)]
    calling = [Message(role="assistant", content="", tool_calls=(WISH.model_copy(update={"arguments": "y" * 400}),))]
    tool = Tool(name="search", description="z" * 400, parameters={})
    bodies = [
        request_body("m", {}, messages, None, False, tools)
        for messages, tools in ((plain, ()), (plain, (tool,)), (calling, ()))
    ]
    alone, offered, called = map(estimated_tokens, bodies)
    assert alone == 100
    assert offered >= 200
    assert called >= 100


TEXTS = st.lists(st.text(st.characters(codec=None, categories=None)), min_size=1, max_size=4)


@given(TEXTS, TEXTS)
def test_different_conversations_have_different_keys(one: list[str], other: list[str]) -> None:
    keys = [
        request_key(
            "m", None, Sampling(), [Message.model_construct(role="user", content=t) for t in texts], None, False
        )
        for texts in (one, other)
    ]
    assert (keys[0] == keys[1]) == (one == other)
