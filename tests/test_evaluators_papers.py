"""What each evaluator sends, beside the figures of its paper: whom it asks, in which order, and in which turns.

The requests are those of a whole rating, which the simulator answers. The rules that the figures state are looked for
by their words; docs/explanation/papers.md lists where a request deviates, and why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from mtagent.config import Config
from mtagent.evaluators import typology
from mtagent.jobs.parts import named_evaluator
from mtagent.llm import prompts
from mtagent.llm.fake import Request, ScriptedLLM
from mtagent.llm.request import request_body
from mtagent.records import Message, Segment
from tests.simulator.asked import asked
from tests.simulator.evaluators import answer

SEGMENT = Segment(id="1", source="A cat.", source_lang="en", target_lang="es")
TEXT = "Un gato errado."


async def requests(spec: str) -> list[Request]:
    """All that is sent for a rating of a text with a major error of accuracy."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        said = answer(request_body("m", {}, messages, None, False))
        assert isinstance(said, str)
        return said

    llm = ScriptedLLM(reply)
    await named_evaluator(Config(), spec, llm).rate(SEGMENT, TEXT)
    return llm.requests


def turns(request: Request) -> str:
    """Prompt and roles: ``gemba-mqm suau``."""
    question = asked(request_body("m", {}, request.messages, None, False))
    assert question is not None
    return f"{question.prompt} {''.join(message.role[0] for message in request.messages)}"


FOUR = [f"m-mad-{dimension} suauauauau" for dimension in ("accuracy", "fluency", "terminology", "style")]
SUBTYPES = ["himate-subtype suauau"] * 19
REFLECTION = ["himate-correct su", "himate-verify su"]
BOTH = ["m-mad-debate suau"] * 2


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # Multi-agentMT, Listing 1: few-shot, one call. Ours has an example without error, which `forced` leaves out.
        ("rubric-mqm", ["rubric-mqm suauauauau"]),
        ("rubric-mqm:forced=yes", ["rubric-mqm suauauau"]),
        # M-MAD, Figures 4 and 5: three examples
        ("gemba-mqm", ["gemba-mqm suauauau"]),
        ("gemba-esa", ["gemba-esa suauauau", "gemba-esa-score su"]),
        # RATE, Figure 24
        ("gemba-da", ["gemba-da su"]),
        ("gemba-sqm", ["gemba-sqm su"]),
        # RATE, Figure 25, and M-MAD, Figure 6: one example
        ("eaprompt", ["eaprompt-errors suau", "eaprompt-count su"]),
        ("eaprompt:steps=1", ["eaprompt-once suau"]),
        # M-MAD, Figures 7 to 10: 4-shot; both debaters, then the checker; the judge at last
        ("m-mad:rounds=1", [*FOUR, *BOTH, "m-mad-consensus su", "m-mad-judge su"]),
        ("m-mad:strategy=deliberation,rounds=1", [*FOUR, *BOTH, "m-mad-decide su", "m-mad-judge su"]),
        # HiMATE, §3 and Tables 9 and 10: 2-shot; correction, verification; the expert of the core type begins
        ("single-agent", ["single-agent suauau"]),
        ("himate:stages=se", SUBTYPES),
        ("himate:stages=se+sr,confidence=verbal", [*SUBTYPES, *REFLECTION]),
        ("himate:confidence=verbal", [*SUBTYPES, *REFLECTION, "himate-discuss-1 su", "himate-discuss-2 su"]),
        # RATE, Figures 15 to 20
        (
            "rate",
            ["rate-core su", "rate-evaluate su", "rate-core suau", *["rate-compare su"] * 2, "rate-core suauau"],
        ),
    ],
)
async def test_the_same_roles_are_asked_in_the_same_order_as_in_the_paper(spec: str, expected: list[str]) -> None:
    sent = [turns(request) for request in await requests(spec)]
    # Agents of one stage that work at the same time may overtake each other.
    order = list(dict.fromkeys(expected))
    assert sorted(sent, key=order.index) == expected
    assert [sent.index(turn) for turn in order] == sorted(sent.index(turn) for turn in order)


async def test_m_mads_rounds_go_on_from_each_other_and_the_reviewer_asks_in_between() -> None:
    purposes = [r.purpose for r in await requests("m-mad:strategy=interactive-review,rounds=2")]
    assert [purpose.removeprefix("m-mad accuracy ") for purpose in purposes[4:]] == [
        "round 1 supporter", "round 1 opponent", "round 1 reviewer", "round 2 supporter", "round 2 opponent", "judge",
        "m-mad judge",
    ]  # fmt: skip


def instructions(name: str) -> str:
    """All that prompt ``name`` may say in its system message, in one line."""
    return " ".join("\n".join(part.text for part in prompts.load(name).system).split())


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        # M-MAD, Figure 4
        ("gemba-mqm", ["Critical: it inhibits comprehension", "Major: it breaks the flow, but .* still be understood",
                       "Minor: a technical error that neither breaks the flow nor"]),
        # GEMBA-ESA, as its authors publish it: two severities, told apart by how well the text can be understood
        ("gemba-esa", ["Major: it disturbs the flow, and .* hard or impossible to understand",
                       "Minor: it hardly disturbs the flow, and .* can still be understood"]),
        # M-MAD, Figure 6, and RATE, Figure 25
        *((name, ["Major errors are real mistakes of translation or grammar; minor ones are smaller imperfections and "
                  "mere opinions"]) for name in ("eaprompt-errors", "eaprompt-once")),
        ("eaprompt-count", ["two numbers alone: how many major errors, a comma, how many minor ones"]),
        # M-MAD, Figures 7 to 10
        ("m-mad-accuracy", ["two wrong words in a sentence are two errors", "gets only the worst of them",
                            'error_span "all", category "non-translation"']),
        ("m-mad-debate", ['hard to tell, prefer "minor"', 'Use "non-translation" only where nothing else will do',
                          "end your reply with the annotations as you see them now, in JSON"]),
        ("m-mad-consensus", ["agree in essence", "one word: yes if they agree, no if they do not"]),
        ("m-mad-judge", ["keep only the most severe", "in the order accuracy, fluency, terminology, style",
                         "annotations of the same span only", "first whether this is a non-translation"]),
        # HiMATE, Tables 9 and 10
        *((name, [r"\{\{severities\}\}"])
          for name in ("single-agent", "himate-subtype", "himate-discuss-1", "himate-discuss-2")),
        ("himate-discuss-1", ["whether it exists", "You need not reject everything"]),
        # RATE, Figures 15 to 20
        ("rate-core", ["Observe.*Orient.*Decide.*Act", "settle them before anything else", "Never repeat a search that",
                       "confidence is below 0.9", "Never compare twice with the same tentative score"]),
        ("rate-evaluate", ["never gets a 3", "no gap"]),
        ("rate-compare", ["1. Meaning.*2. Tone.*3. Language"]),
        # Multi-agentMT, Listings 1 and 2
        ("rubric-mqm", ["never a whole sentence", "Find at least one thing to improve"]),
        ("proofread-paper", ["First find the errors and correct them", "five rephrasings", "be a single sentence"]),
    ],
)  # fmt: skip
def test_the_rules_of_the_papers_figures_are_said(name: str, rules: list[str]) -> None:
    said = instructions(name)
    assert [rule for rule in rules if not re.search(rule, said)] == []


def test_himate_and_its_baseline_share_one_definition_of_severities() -> None:
    """HiMATE, Table 9: actual errors of translation or grammar, smaller imperfections, purely subjective opinions."""
    for word in ('"major" = an actual mistake of translation or grammar', '"minor" = a smaller', '"neutral" = purely'):
        assert word in typology.SEVERITIES
    names = ("single-agent", "himate-subtype", "himate-discuss-1", "himate-discuss-2")
    assert not [name for name in names if re.search(r'"?(?:major|minor)"? (?:if|=)', instructions(name))]


@pytest.mark.parametrize("name", prompts.names())
def test_a_reply_in_json_gives_its_reasons_before_its_verdict(name: str) -> None:
    schema = prompts.load(name).schema_text or ""
    fields = re.findall(r'"(\w+)": \{"type"', schema)
    reasons = [
        fields.index(field)
        for field in fields
        if field in ("why", "explanation", "rationale", "analysis", "reasoning", "comment", "reason")
    ]
    verdicts = ("category", "severity", "suggestion", "score", "winner", "agrees", "exists", "answer", "better")
    assert all(reason < fields.index(verdict) for reason in reasons for verdict in verdicts if verdict in fields)


EXAMPLES_WITHOUT_ERROR = {
    "gemba-mqm": "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error",
    "gemba-esa": "Major:\nno-error\nMinor:\nno-error",
    "rubric-mqm": '{"errors": []}',
    "single-agent": '{"errors": []}',
    "himate-subtype": '{"errors": []}',
    **{f"m-mad-{name}": '{"annotations": []}' for name in ("accuracy", "fluency", "terminology", "style")},
}


@pytest.mark.parametrize("name", EXAMPLES_WITHOUT_ERROR)
@pytest.mark.parametrize("pair", ["en-de", "zh-en", "is-pl"])
def test_each_list_of_errors_is_shown_a_translation_without_any(name: str, pair: str) -> None:
    prompt = prompts.load(name)
    conditions = {"lp": pair, "forced": None, "reference": None, "accuracy": "yes", "accuracy/omission": "yes"}
    shown = prompt.render({**dict.fromkeys(prompt.variables, "x"), **conditions})
    replies = [message.content.strip() for message in shown if message.role == "assistant"]
    assert replies.count(EXAMPLES_WITHOUT_ERROR[name]) == 1
    assert len(replies) > 1
