"""RUBRIC-MQM replies, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.evaluators.rubric_mqm import RubricMQM, parse
from mtagent.jobs.agent import Agent
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Message, Segment
from mtagent.text import edits, mqm
from tests.codes import without_codes

TEXT = "El Banco pagó a el banco «central» ayer, y el perro rojo durmió."
ONE = '{"span": "perro rojo", "category": "mistranslation", "severity": 3, "suggestion": "gato rojo"}'


def test_an_omission_without_words_has_its_place_between_its_neighbours() -> None:
    reply = '[{"span": "", "before": "ayer", "after": ", y", "category": "omission", "severity": 2, "suggestion": "x"}]'
    (error,) = parse(reply, TEXT)
    assert error.side == "omission"
    assert edits.apply(TEXT, edits.locate(TEXT, [error])) == TEXT.replace("ayer, y", "ayer x, y")


def test_the_same_span_twice_is_kept_twice_unlike_the_paper() -> None:
    reply = (
        '{"banco": {"category": "style", "severity": 1, "suggestion": "a"},'
        ' "banco": {"category": "terminology", "severity": 2, "suggestion": "b"}}'
    )
    assert [(error.text, error.suggestion) for error in parse(reply, TEXT)] == [("banco", "a"), ("banco", "b")]


def test_spans_keep_their_case_and_get_offsets() -> None:
    (error,) = parse('[{"span": "Banco", "severity": 1, "category": "style", "suggestion": "banco"}]', TEXT)
    assert (error.text, error.start, error.end) == ("Banco", 3, 8)


@pytest.mark.parametrize("suggestion", ["null", '["a", "b"]', "3"])
def test_a_bad_suggestion_leaves_the_span_and_the_other_errors(suggestion: str) -> None:
    reply = f'[{{"span": "ayer", "severity": 1, "category": "style", "suggestion": {suggestion}}}, {ONE}]'
    assert [(error.text, error.suggestion) for error in parse(reply, TEXT)] == [
        ("ayer", None), ("perro rojo", "gato rojo"),
    ]  # fmt: skip


def test_categories_of_several_words_come_through() -> None:
    (error,) = parse(ONE.replace("mistranslation", "untranslated text"), TEXT)
    assert error.category == "untranslated text"


@pytest.mark.parametrize(("scale", "severity", "score"), [("1-4", 3, -3), ("1-8", 6, -6), ("1-100", 62, -62)])
async def test_a_score_is_minus_the_sum_on_the_scale_that_was_asked_for(
    scale: mqm.Scale, severity: int, score: float
) -> None:
    segment = Segment(id="1", source="s", source_lang="en", target_lang="es")
    llm = ScriptedLLM([ONE.replace("3", str(severity))])
    rating = await RubricMQM(llm, scale=scale).rate(segment, TEXT)
    top = mqm.highest(scale)
    assert (rating.score, rating.seconds > 0) == (score, True)
    assert f"|scale:{scale}|" in rating.signature
    assert severities_of(llm.requests[0].schema) == (1, top)
    assert f"{top} = distorts the meaning" in " ".join(llm.requests[0].messages[0].content.split("\n"))


def severities_of(schema: dict[str, Any] | None) -> tuple[int, int]:
    """The lowest and the highest severity that a schema allows."""
    assert schema is not None
    severity = schema["properties"]["errors"]["items"]["properties"]["severity"]
    allowed = severity.get("enum") or [severity["minimum"], severity["maximum"]]
    return allowed[0], allowed[-1]


async def test_a_number_off_the_scale_is_asked_for_again_with_the_reason() -> None:
    segment = Segment(id="1", source="s", source_lang="en", target_lang="es")
    llm = ScriptedLLM([ONE.replace("3", "85"), ONE.replace("3", "6")])
    rating = await RubricMQM(llm, scale="1-8").rate(segment, TEXT)
    assert rating.score == -6
    assert "'85' is not a whole number from 1 to 8" in llm.requests[1].messages[-1].content


class Icelandic:
    """A model with the texts of the paper's Table 5, and a reviewer that sees what the post-edit did wrong."""

    def __init__(self, example: dict[str, str], proofread_score: int) -> None:
        self.texts = {stage: example[stage] for stage in ("translate", "postedit", "proofread")}
        literal = self._error("SEC-stofnunina hafa það á", 2, "SEC blasta")
        english = self._error("blasta", 4, "hafa það á")
        missing = self._error("miðvikudagskvöld", 2, "á miðvikudagskvöld")
        clumsy = self._error("að kvöldi miðvikudags", proofread_score, "á miðvikudagskvöld")
        self.errors = {"translate": [literal], "postedit": [english, missing], "proofread": [clumsy]}

    @staticmethod
    def _error(span: str, severity: int, suggestion: str) -> dict[str, Any]:
        return {"span": span, "category": "mistranslation", "severity": severity, "suggestion": suggestion}

    def __call__(self, messages: Sequence[Message], purpose: str) -> str:
        if purpose in self.texts:
            return self.texts[purpose]
        (rated,) = re.findall("<translation>(.*)</translation>", without_codes(messages[-1].content))
        (stage,) = [stage for stage, text in self.texts.items() if text == rated]
        return json.dumps({"errors": self.errors[stage]}, ensure_ascii=False)

    def improve(self, source: str, preset: str) -> Chain:
        gate = {"gate": "rate"} if preset == "safe" else {}
        agent = Agent(llm=ScriptedLLM(self), preset=preset, stages="tpp", evaluator="rubric-mqm", **gate)
        return agent.translate([source], "en", "is")[0]


@pytest.fixture
def table_5(data: Path) -> dict[str, str]:
    (example,) = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["multi_agent_mt"]
    return dict(example)


@pytest.mark.data
@pytest.mark.parametrize(("proofread_score", "kept"), [(1, "proofread"), (2, "translate"), (3, "translate")])
def test_safe_never_keeps_the_wrong_post_edit_of_multi_agent_mt_table_5(
    table_5: dict[str, str], proofread_score: int, kept: str
) -> None:
    chain = Icelandic(table_5, proofread_score).improve(table_5["source"], "safe")
    steps = chain.by_stage()
    assert steps["postedit"].proposed == table_5["postedit"]
    assert steps["postedit"].verdict == "rejected"
    assert steps["postedit"].reason == "rubric-mqm (scripted) -2 -> -6: worse"
    assert [step.text for step in chain.steps].count(table_5["postedit"]) == 0
    assert chain.text == table_5[kept]


@pytest.mark.data
def test_paper_keeps_all_three_texts_of_multi_agent_mt_table_5(table_5: dict[str, str]) -> None:
    chain = Icelandic(table_5, 1).improve(table_5["source"], "paper")
    assert [(step.stage, step.text, step.verdict) for step in chain.steps] == [
        (stage, table_5[stage], "kept") for stage in ("translate", "postedit", "proofread")
    ]
