"""Equal requests have equal keys; what a server says it does not take is left out, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import ServerError
from mtagent.llm.protocol import Sampling
from mtagent.llm.reply import RequestFailure
from mtagent.llm.request import SYSTEM, estimated_tokens, key_of, refused_parameter, request_body
from mtagent.llm.server import OPENAI
from mtagent.records import Message, Tool, ToolCall

SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object"})
WISH = ToolCall(id="call_1", name="search", arguments='{"query": "é"}')
HI = (Message(role="user", content="Hi"),)
BASE: dict[str, Any] = {"sampling": Sampling(temperature=0.5), "schema": {"type": "object", "required": ["a", "b"]}}


def body(messages: Any = HI, tools: Any = (), *, schema: Any = None, logprobs: bool = False, **settings: Any) -> Any:
    sampling = settings.get("sampling", Sampling())
    return request_body(settings.get("model", "m"), sampling.parameters(), messages, schema, logprobs, tools)


def key(base_url: str | None = None, **fields: Any) -> str:
    return key_of(body(**fields), base_url)


# --- keys


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"base_url": "http://localhost:1/v1"},
        {"sampling": Sampling()},
        {"sampling": Sampling(temperature=0.5, extra={"cache_prompt": False})},
        {"messages": (Message(role="system", content="Hi"),)},
        {"messages": (Message(role="user", content="Hi "),)},
        {"messages": (*HI, *HI)},
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
    assert key(**BASE) != key(**{**BASE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": OPENAI},
        {"base_url": OPENAI + "/"},
        {"messages": list(HI)},
        {"schema": {"required": ["a", "b"], "type": "object"}},
    ],
    ids=str,
)
def test_what_makes_no_difference_is_not(change: dict[str, Any]) -> None:
    assert key(**BASE) == key(**{**BASE, **change})


def test_keys_of_requests_are_tagged_and_fixed() -> None:
    plain = key(messages=[Message(role="user", content="é")])
    assert plain == "request-2:3b8bbcf0e747f273cc4bcfe13f15b123d803783a52ddb2f422ab2cf8c9456050"
    call = [*HI, Message(role="assistant", content="", tool_calls=(WISH,))]
    with_tools = key(messages=[*call, Message(role="tool", content="found", tool_call_id="call_1")], tools=(SEARCH,))
    assert with_tools == "request-2:5c62e2dd8844702dca5758483306eeb4a84dbce95bf28c735a805cd3daf9f40b"


TEXTS = st.lists(st.text(st.characters(codec=None, categories=None)), min_size=1, max_size=4)


@given(TEXTS, TEXTS)
def test_different_conversations_have_different_keys(texts: list[str], others: list[str]) -> None:
    keys = [key(messages=[Message.model_construct(role="user", content=t) for t in of]) for of in (texts, others)]
    assert (keys[0] == keys[1]) == (texts == others)


# --- bodies


def test_tools_and_tool_calls_are_sent_as_openai_wants_them() -> None:
    call = Message(role="assistant", content="", tool_calls=(WISH,))
    sent = body([call, Message(role="tool", content="found", tool_call_id="call_1")], (SEARCH,))
    function = {"name": "search", "arguments": '{"query": "é"}'}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    assert sent["messages"] == [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "found", "tool_call_id": "call_1"},
    ]
    described = {"name": "search", "description": "Looks something up.", "parameters": {"type": "object"}}
    assert sent["tools"] == [{"type": "function", "function": described}]


@pytest.mark.parametrize("broken", ['{"query": "a', "[1]", "", "search now", "[" * 100_000], ids=range(5))
def test_broken_arguments_go_back_as_json_because_servers_read_them(broken: str) -> None:
    wish = WISH.model_copy(update={"arguments": broken})
    sent = body([Message(role="assistant", content="", tool_calls=(wish,))])
    assert json.loads(sent["messages"][0]["tool_calls"][0]["function"]["arguments"]) == {"unreadable": broken}


def test_the_estimate_counts_tools_and_tool_calls() -> None:
    plain = [Message(role="assistant", content="x" * 400)]
    calling = [Message(role="assistant", content="", tool_calls=(WISH.model_copy(update={"arguments": "y" * 400}),))]
    tool = Tool(name="search", description="z" * 400, parameters={})
    assert estimated_tokens(body(plain)) == 100
    assert estimated_tokens(body(plain, (tool,))) >= 200
    assert estimated_tokens(body(calling)) >= 100
    assert estimated_tokens(body(plain, sampling=Sampling(max_tokens=50))) == 150


# --- what a server does not take

SETTINGS = Sampling(temperature=0, top_p=0.1, seed=1, extra={"cache_prompt": False})
NO_REASONING = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."


@pytest.mark.parametrize(
    ("status", "message", "param", "refused"),
    [
        (400, "Unsupported parameter: 'seed' is not supported with this model.", "seed", "seed"),
        (422, "body.seed: Extra inputs are not permitted", None, "seed"),
        (400, "top_p and temperature cannot both be given", None, "top_p"),
        (400, "failed to parse grammar", None, "response_format"),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", None, "tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', None, "tools"),
        (400, "Unrecognized request argument supplied: tools", None, "tools"),
        (400, "Function calling is not enabled for this model", None, "tools"),
        (400, "deepseek-reasoner does not support Function Calling", None, "tools"),
        (400, NO_REASONING, None, "tools"),
        (400, NO_REASONING, "reasoning_effort", "tools"),
        (422, "body.tools: Extra inputs are not permitted", None, "tools"),
        (404, "No endpoints found that support tool use.", None, "tools"),
        (500, "tools param requires --jinja flag", None, "tools"),
        (501, "tool_choice is not supported", None, "tools"),
        # A wrong value is the user's to mend, and other errors cost no parameter.
        (400, "Invalid 'temperature': decimal above maximum value. Expected <= 2, but got 5.", "temperature", None),
        (400, "This model's maximum context length is 8192 tokens.", "messages", None),
        (400, "Unknown parameter: 'cache_prompt'.", "cache_prompt", None),
        (400, "Invalid schema for function 'search': None is not of type 'object'.", None, None),
        (400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.", None, None),
        (404, "The model `tools-7b` does not exist or is not yours.", None, None),
        (500, "Failed to parse tool call: unexpected end of input", None, None),
        (500, "The server had an error while processing your request.", None, None),
    ],
)
def test_a_refused_parameter_is_told_from_other_errors(
    status: int, message: str, param: str | None, refused: str | None
) -> None:
    sent = body(HI, (SEARCH,), schema={"type": "object"}, sampling=SETTINGS)
    sent |= {"reasoning_effort": "low"} if param == "reasoning_effort" else {}
    assert refused_parameter(RequestFailure(ServerError, message, status, param=param), sent) == refused


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Only user and assistant roles are supported!"),
        (500, "Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
)
def test_a_refused_system_role_is_told_from_other_errors(status: int, message: str) -> None:
    failure = RequestFailure(ServerError, message, status, transient=status == 500)
    assert refused_parameter(failure, body([Message(role="system", content="Be brief."), *HI])) == SYSTEM
    assert refused_parameter(failure, body(HI)) is None
    other = RequestFailure(ServerError, "the system role-play model is overloaded", status)
    assert refused_parameter(other, body([Message(role="system", content="Be brief."), *HI])) is None


def test_tools_are_refused_too_where_only_messages_hold_traces_of_them() -> None:
    failure = RequestFailure(ServerError, "tools are not supported", 400)
    assert refused_parameter(failure, body([Message(role="tool", content="found", tool_call_id="1")])) == "tools"
    assert refused_parameter(failure, body()) is None
