"""The rules before the model: what they correct without a judge, and what they find and cannot fix."""

from __future__ import annotations

from typing import Any

import pytest

from mtagent.chain.decided_text import checked, decided
from mtagent.evaluators.rules import Rules
from mtagent.formats.jsonl import details
from mtagent.jobs.agent import Agent
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Segment, Usage
from mtagent.records.decisions import Decision

RULED = Segment(id="1", source="It is  %s, {name}.", source_lang="en", target_lang="es", translation="Es % s, {Name}")


def ruled(translation: str, source: str = RULED.source, **settings: Any) -> tuple[Chain, list[str]]:
    """The chain of a text through an agent whose reviewer finds nothing, and the purposes of its requests."""
    llm = ScriptedLLM(lambda *_: '{"errors": []}', model="m")
    segment = RULED.model_copy(update={"source": source, "translation": translation})
    (chain,) = Agent(llm=llm, **{"stages": "pe", **settings}).improve([segment])
    return chain, [request.purpose for request in llm.requests]


def test_the_rules_correct_what_is_certain_before_the_model_is_asked() -> None:
    chain, purposes = ruled("Es % s, {Name}.")
    rules, postedit = chain.steps
    assert (rules.stage, rules.verdict, rules.text) == ("rules", "kept", "Es %s, {name}.")
    assert rules.reason == "the guards found no new damage"
    assert [(edit.new, edit.outcome) for edit in rules.edits] == [("%s", "applied"), ("{name}", "applied")]
    assert [(rating.evaluator, rating.role) for rating in rules.ratings] == [("rules", "editor")]
    assert (rules.not_fixed, rules.usage, purposes) == ((), Usage(), ["rate"])  # no judge is asked
    assert (postedit.stage, postedit.cause.kind, chain.text) == ("postedit", "error-free", "Es %s, {name}.")
    rejected = checked(chain, Decision(segment=chain.segment.id, edit=1, verdict="reject"))
    assert decided(chain, [rejected]).text == "Es % s, {name}."


@pytest.mark.parametrize(
    ("source", "translation", "found"),
    [
        ("It costs 5,000 euros and %s.", "Cuesta euros y %s.", "number 5,000 is missing"),
        (
            "%s has %d files here.",
            "%d archivos tiene %s aquí.",
            "the arguments are in another order than in the source",
        ),
        ("The cat sat on the mat here.", "The cat sat on the mat here.", "the source is copied"),
    ],
)
def test_what_the_rules_find_and_cannot_fix_is_told(source: str, translation: str, found: str) -> None:
    chain, purposes = ruled(translation, source)
    rules, _ = chain.steps
    assert (rules.verdict, rules.cause.kind, rules.edits) == ("unchanged", "found", ())
    assert found in rules.reason
    assert [error.suggestion for error in rules.not_fixed] == [None] * len(rules.not_fixed)
    assert details(chain)["stages"][0]["not_fixed"][0]["explanation"] in rules.reason
    assert purposes == ["rate"]


@pytest.mark.parametrize(
    ("settings", "stages"),
    [
        ({}, ["rules", "postedit"]),
        ({"rules_first": False}, ["postedit"]),
        ({"preset": "paper"}, ["postedit"]),
        ({"gate": "none"}, ["postedit"]),
        ({"evaluator": "rules"}, ["postedit"]),
        ({"stages": "pr"}, ["proofread"]),
        ({"evaluator": Rules()}, ["postedit"]),
        ({"evaluator": Rules(), "rules_first": True}, ["rules", "postedit"]),
    ],
)
def test_where_the_rules_go_first(settings: dict[str, Any], stages: list[str]) -> None:
    chain, _ = ruled("Es % s, {name}.", **settings)
    assert [step.stage for step in chain.steps] == stages


def test_a_text_in_which_the_rules_find_nothing_has_no_step_of_theirs() -> None:
    chain, _ = ruled("Es %s, {name}.", "It is %s, {name}.")
    assert [step.stage for step in chain.steps] == ["postedit"]
