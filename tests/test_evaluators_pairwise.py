"""The pairwise judge with and without a reason: what is sent, what is read, and that no place is favoured."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from mtagent.config import Config
from mtagent.evaluators.pairwise import Pairwise, read_choice
from mtagent.evaluators.registry import Surroundings, make_pairwise
from mtagent.jobs.estimate import counter
from mtagent.llm import prompts
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Segment
from mtagent.store import default_path

SEGMENT = Segment(id="1", source="The bank pays.", source_lang="en", target_lang="es")
CACHED_FROM = 1024
"""Tokens from which on providers keep the beginning of a request."""


def judge(spec: str, llm: ScriptedLLM) -> Pairwise:
    return make_pairwise(spec, Surroundings(llm=llm, config=Config(), data_folder=default_path().parent))


@pytest.mark.parametrize(
    ("spec", "prompt", "fields"),
    [("pairwise", "compare", ["better"]), ("pairwise:reason=yes", "compare-reasoned", ["reason", "better"])],
)
async def test_the_reason_is_asked_for_only_on_request_and_comes_first(
    spec: str, prompt: str, fields: list[str]
) -> None:
    llm = ScriptedLLM(['{"reason": "B is right.", "better": "B"}', '{"reason": "A is right.", "better": "A"}'])
    pairwise = judge(spec, llm)
    comparison = await pairwise.compare(SEGMENT, "old", "new")
    assert comparison.choices == ("after", "after")
    assert prompts.load(prompt).signature in pairwise.signature
    for request in llm.requests:
        assert request.schema is not None
        assert list(request.schema["properties"]) == fields
        assert request.schema["required"] == fields


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ('{"better": "A"}', "a"),
        ('{"reason": "Translation A is better in style, but B has the right day.", "better": "B"}', "b"),
        ('```json\n{\n  "reason": "Both say \\"hoy\\".",\n  "better": "tie"\n}\n```', "tie"),
        ('{"reason": "\\"A\\" leaves out the date.", "better": "B"}', "b"),
        ('{"better": "A", "reason": "B adds a remark."}', "a"),
    ],
)
def test_a_choice_is_read_with_and_without_its_reason(reply: str, choice: str) -> None:
    assert read_choice(reply) == choice


def test_the_examples_favour_no_place() -> None:
    examples = prompts.load("compare-reasoned").examples
    choices = [read_choice(example.reply) for example in examples]
    assert Counter(choices) == {"a": 2, "b": 2, "tie": 2}
    pairs = {(example.values["source_language"], example.values["target_language"]) for example in examples}
    assert len(pairs) == len(examples), "each is for another pair of languages"
    for example in examples:
        reply = json.loads(example.reply)
        assert list(reply) == ["reason", "better"]
        quoted = reply["reason"].split('"')[1::2]
        shown = example.values["translation_a"] + example.values["translation_b"]
        assert [text for text in quoted if text not in shown] == []


def test_the_constant_part_with_a_reason_is_long_enough_to_be_cached() -> None:
    values = prompts.segment_values(SEGMENT, translation_a="Uno.", translation_b="Dos.")
    tokens = counter()
    sizes = {}
    for name in ("compare", "compare-reasoned"):
        constant = prompts.load(name).render(values)[:-1]
        sizes[name] = sum(tokens.count(message.content) for message in constant)
    assert sizes["compare"] < CACHED_FROM <= sizes["compare-reasoned"]
