"""Equal requests have equal keys; anything that is sent makes another key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.llm.request import OPENAI, request_key
from mtagent.llm.sampling import Sampling
from mtagent.records import Message

BASE: dict[str, Any] = {
    "model": "m",
    "base_url": None,
    "sampling": Sampling(temperature=0.5),
    "messages": (Message(role="user", content="Hi"),),
    "schema": {"type": "object", "required": ["a", "b"]},
    "logprobs": False,
}


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
