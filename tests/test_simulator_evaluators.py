"""The simulator as a model of the evaluators: every prompt is recognised and has an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mtagent.llm import prompts
from mtagent.llm.request import request_body
from mtagent.records import Message
from tests.simulator.asked import FOLDER, asked
from tests.simulator.evaluators import ANSWERS, answer
from tests.simulator.marks import ALL, marks, segments

CHAIN = {"translate", "proofread", "proofread-paper", "terms"}
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


def body(name: str, *more: Message, conditions: str | None = "yes") -> dict[str, Any]:
    """A request made from prompt ``name``, with every variable set to its own name."""
    prompt = prompts.load(name)
    parts = (*prompt.system, *prompt.user)
    conditional = {part.when for part in parts if part.when} | {part.unless for part in parts if part.unless}
    values = {**dict.fromkeys(conditional, conditions), **{variable: variable for variable in prompt.variables}}
    return request_body("m", {}, (*prompt.render({**values, "lp": "en-es"}), *more), None, False)


@pytest.mark.parametrize("conditions", ["yes", None])
@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_is_recognised_with_its_variables_and_texts(name: str, conditions: str | None) -> None:
    question = asked(body(name, conditions=conditions))
    assert question is not None
    assert question.prompt == name
    shown = {part.quote for part in prompts.load(name).user if part.quote and not part.when}
    assert {text: question.values[text] for text in shown} == {text: text for text in shown}


def test_every_prompt_of_an_evaluator_has_an_answer() -> None:
    assert set(NAMES) - CHAIN - set(ANSWERS) == set()


def test_the_texts_are_found_where_an_unreadable_answer_is_asked_for_again() -> None:
    again = (Message(role="assistant", content="<x>no</x>"), Message(role="user", content="Please give it again."))
    question = asked(body("rubric-mqm", *again))
    assert question is not None
    assert question.translation == "translation"


def test_an_unknown_prompt_gets_an_answer_that_nothing_can_be_read_from() -> None:
    reply = answer({"messages": [{"role": "system", "content": "You are a poet."}]})
    assert isinstance(reply, str)
    assert not any(char.isdigit() or char in "{[" for char in reply)


def test_a_third_of_the_texts_are_error_free_and_all_errors_occur() -> None:
    texts = [segment.translation or "" for segment in segments(150)]
    assert len(set(texts)) == 150
    assert sum(not marks(text) for text in texts) == 50
    assert {mark.word for text in texts for mark in marks(text)} == {mark.word for mark in ALL}


def test_the_same_question_gets_the_same_answer() -> None:
    request = body("rubric-mqm")
    request["messages"][-1]["content"] = request["messages"][-1]["content"].replace(">translation<", ">Es errado.<")
    first, again = answer(request), answer(request)
    assert isinstance(first, str)
    assert first == again
    [error] = json.loads(first[first.index("{") : first.rindex("}") + 1])["errors"]
    assert (error["span"], error["severity"], error["suggestion"]) == ("errado", 3, "acertado")
