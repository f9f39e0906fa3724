"""EAPrompt: itemised lists in the shapes that models give, the count against the list, and one step or two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.eaprompt import EAPrompt, parse_once
from mtagent.jobs.agent import Agent
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Message, Segment, Usage
from tests.codes import without_codes

SOURCE = "The nurse “Ana” told them at 5 p.m. that they were free to go."
TEXT = "Die Krankenschwester „Ana“ sagte ihnen um 5 Uhr, dass sie l'hôpital gratis verlassen kann."
SEGMENT = Segment(id="1", source=SOURCE, source_lang="en", target_lang="de", reference="Eine Referenz.")
LIST = 'Major errors:\n(1) "gratis" - mistranslation\n(2) "5 Uhr" - mistranslation\nMinor errors:\n(1) "kann" - grammar'
NONE = "Major errors:\nno-error\nMinor errors:\nno-error"


def test_an_error_about_a_score_is_no_score() -> None:
    reply = 'Major errors:\n(1) "score: 3" - mistranslation\nMinor errors:\nno-error\n<score>-5</score>'
    (error,), counted = parse_once(reply, "the score: 3 to 0", "der Spielstand ist 2:0")
    assert (error.text, counted.score) == ("score: 3", -5)


async def test_two_steps_and_the_second_sees_the_list_alone() -> None:
    llm = ScriptedLLM([f"<think>Hm.</think>{LIST}", "2, 1"], model="gpt-x")
    rating = await EAPrompt(llm).rate(SEGMENT, TEXT)
    assert (rating.score, rating.warnings, [call.purpose for call in rating.calls]) == (-11, (), ["rate", "count"])
    first, second = llm.requests
    assert f"<translation>{TEXT}</translation>" in without_codes(first.messages[-1].content)
    assert without_codes(second.messages[-1].content) == f"Errors:\n<errors>{LIST}</errors>"
    assert not any(TEXT in message.content or SOURCE in message.content for message in second.messages)
    assert rating.seconds > 0


MANY = (
    "Major errors:\n" + "\n".join(f'({n}) "gratis" - mistranslation' for n in range(1, 8)) + "\nMinor errors:\nno-error"
)
CRITICAL = 'Critical:\n(1) "gratis" - Mistranslation\nMajor:\nno-error\nMinor:\nno-error'


@pytest.mark.parametrize(
    ("listed", "count", "score", "warning"),
    [
        (LIST, "Major: 3, Minor: 1", -11, "counts 3 major and 1 minor, its list holds 2 major and 1 minor"),
        (LIST, "1, 6", -11, "counts 1 major and 6 minor"),  # which is the same score
        (LIST, "<score>-11</score>", -11, None),
        (LIST, "<score>-10</score>", -11, "counts a score of -10"),
        (NONE, "0, 0", 0, None),
        (NONE, "1, 0", 0, "counts 1 major and 0 minor, its list holds 0 major and 0 minor"),
        (CRITICAL, "1, 0", -5, None),
        (CRITICAL, "0, 0", -5, "its list holds 1 major and 0 minor"),
        (MANY, "7, 0", -35, None),
    ],
)
async def test_the_list_decides_and_a_count_that_disagrees_is_warned_of(
    listed: str, count: str, score: float, warning: str | None
) -> None:
    rating = await EAPrompt(ScriptedLLM([listed, count])).rate(SEGMENT, TEXT)
    assert rating.score == score
    assert len(rating.errors or ()) == listed.count('"') / 2
    assert [text.endswith("; the list decides") and (warning or "?") in text for text in rating.warnings] == (
        [True] if warning else []
    )


async def test_a_count_that_cannot_be_read_twice_fails_and_keeps_account_of_what_was_paid() -> None:
    def paid(text: str) -> Completion:
        return Completion(text=text, model="m", usage=Usage(calls=1, input_tokens=10, cost=0.5))

    llm = ScriptedLLM([paid(LIST), paid("Quite a few."), paid("Many.")])
    with pytest.raises(RatingParseError) as caught:
        await EAPrompt(llm).rate(SEGMENT, TEXT)
    assert Usage.total(call.usage for call in caught.value.calls).cost == 1.5


async def test_one_step_is_one_call() -> None:
    llm = ScriptedLLM([f"{LIST}\n\n-5-5-1 = -11\n<score>-11</score>"])
    rating = await EAPrompt(llm, steps=1).rate(SEGMENT, TEXT)
    assert (rating.score, rating.warnings, len(rating.calls)) == (-11, (), 1)
    wrong = ScriptedLLM([f"{LIST}\n\n-5-5-1 = -12\n<score>-12</score>"])
    rating = await EAPrompt(wrong, steps=1).rate(SEGMENT, TEXT)
    assert rating.score == -11
    assert rating.warnings == ("the model counts a score of -12, its list holds 2 major and 1 minor; the list decides",)


def test_it_drives_post_editing_with_fixes_that_are_asked_for() -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        fixes = [{"number": n, "suggestion": fix, "before": "", "after": ""} for n, fix in ((1, "frei"), (2, "17 Uhr"))]
        fixes.append({"number": 3, "suggestion": None, "before": "", "after": ""})
        return {"rate": LIST, "count": "2, 1", "fix": json.dumps({"fixes": fixes})}[purpose]

    llm = ScriptedLLM(reply)
    agent = Agent(llm=llm, evaluator="eaprompt", gate="guards", stages="pe", skip_guards=("numbers",))
    (chain,) = agent.postedit([SOURCE], [TEXT], "en", "de")
    assert chain.text == TEXT.replace("gratis", "frei").replace("5 Uhr", "17 Uhr")
    assert [request.purpose for request in llm.requests] == ["rate", "count", "fix"]


@pytest.mark.data
async def test_what_m_mad_table_8_prints_of_eaprompt_scores_minus_13(data: Path) -> None:
    (example,) = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["m_mad"]
    listed = (
        'Major errors:\n(1) "the 12 number" - accuracy/mistranslation\n'
        '(2) "on the dial" - terminology/inappropriate for context\n'
        'Minor errors:\n(1) "the time of the watch" - style/awkward\n(2) "there is a real diamond" - style/awkward\n'
        '(3) "on the 12 number" - style/awkward'
    )
    segment = Segment(id="1", source="手表", source_lang=example["source_lang"], target_lang=example["target_lang"])
    rating = await EAPrompt(ScriptedLLM([listed, "2, 3"])).rate(segment, example["translation"])
    assert (rating.score, rating.warnings) == (-13, ())
    assert rating.errors is not None
    assert [error.severity for error in rating.errors] == ["major"] * 2 + ["minor"] * 3
