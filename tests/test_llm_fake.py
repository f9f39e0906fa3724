"""Fakes are strict: they never answer what they were not told to."""

from __future__ import annotations

import pytest

from mtagent.errors import MtagentError, ServerError
from mtagent.llm.fake import ForbiddenLLM, Request, ScriptedLLM
from mtagent.llm.protocol import LLM
from mtagent.records import Completion, Message, Usage

HI = [Message(role="user", content="Hi")]


async def test_replies_come_in_order_exceptions_are_raised_and_requests_are_kept() -> None:
    llm = ScriptedLLM([ServerError("down"), "one", Completion(text="two", model="m", usage=Usage(input_tokens=3))])
    assert isinstance(llm, LLM)
    with pytest.raises(ServerError, match="down"):
        await llm.complete(HI)
    first = await llm.complete(HI, purpose="rate", segment="7")
    second = await llm.complete(HI, schema={"type": "object"}, logprobs=True)
    assert [first.text, second.text] == ["one", "two"]
    assert (first.usage.calls, first.usage.cost, second.usage.input_tokens) == (1, 0.0, 3)
    assert llm.requests[1:] == [
        Request(tuple(HI), purpose="rate", segment="7"),
        Request(tuple(HI), schema={"type": "object"}, logprobs=True),
    ]
    llm.finish()


async def test_a_request_too_many_raises_what_no_code_takes_for_a_failed_request() -> None:
    with pytest.raises(
        AssertionError, match=r"no scripted reply left for request 1 \(purpose 'judge'\): 'Hi'"
    ) as caught:
        await ScriptedLLM([]).complete(HI, purpose="judge")
    assert not isinstance(caught.value, MtagentError)
    with pytest.raises(AssertionError, match="1 scripted replies were not used; next: 'left'"):
        ScriptedLLM(["left"]).finish()


async def test_a_function_sees_messages_and_purpose() -> None:
    llm = ScriptedLLM(lambda messages, purpose: f"{purpose}: {messages[-1].content}")
    assert (await llm.complete(HI, purpose="translate")).text == "translate: Hi"
    llm.finish()


async def test_a_forbidden_model_raises_on_any_request() -> None:
    llm = ForbiddenLLM()
    assert isinstance(llm, LLM)
    with pytest.raises(AssertionError, match="'rate' of segment '3' asks 'Hi'"):
        await llm.complete(HI, purpose="rate", segment="3")


def test_keys_differ_by_model() -> None:
    assert ScriptedLLM([]).key(HI) == ScriptedLLM([]).key(HI) != ScriptedLLM([], model="other").key(HI)
    assert ForbiddenLLM().key(HI) == ScriptedLLM([], model="forbidden").key(HI)
