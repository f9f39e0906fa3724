"""RUBRIC-MQM replies, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from mtagent.evaluators.rubric_mqm import RubricMQM, parse
from mtagent.jobs.agent import Agent
from mtagent.llm import prompts
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Message, Segment
from mtagent.text import edits, mqm
from tests.codes import without_codes

FILES: dict[mqm.Scale, str] = {"1-4": "rubric-mqm", "1-8": "rubric-mqm-8", "1-100": "rubric-mqm-100"}
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


def languages_shown(name: str, pair: str, folder: Path | None = None, forced: str | None = None) -> list[str]:
    """The language pairs of the examples that a segment of ``pair`` is asked with, in order."""
    source_lang, target_lang = pair.split("-")
    segment = Segment(id="1", source="s", source_lang=source_lang, target_lang=target_lang)
    messages = prompts.load(name, folder).render(prompts.segment_values(segment, translation="t", forced=forced))
    users = [message.content for message in messages[:-1] if message.role == "user"]
    return ["-".join(re.findall(r"^(\w+) (?:source|translation)\b", text, re.MULTILINE)) for text in users]


@pytest.mark.parametrize("name", FILES.values())
def test_a_pair_with_examples_of_its_own_is_shown_those_and_other_pairs_the_multilingual_ones(name: str) -> None:
    free = "English-Spanish"
    assert languages_shown(name, "en-de") == ["English-German"] * 3 + [free]
    assert languages_shown(name, "zh-en") == ["Chinese-English"] * 3 + [free]
    assert languages_shown(name, "ja-ko") == ["Japanese-Korean"] * 3 + [free]
    assert languages_shown(name, "en-is") == ["English-German", "Chinese-English", "Japanese-Korean", free]
    assert languages_shown(name, "en-is", forced="yes") == ["English-German", "Chinese-English", "Japanese-Korean"]


@pytest.mark.parametrize(("scale", "name"), FILES.items())
def test_every_example_is_corrected_by_its_own_reply(scale: mqm.Scale, name: str) -> None:
    for example in prompts.load(name).examples:
        text = example.values["translation"]
        errors = parse(example.reply, text, scale)
        found = edits.locate(text, errors)
        assert {edit.outcome for edit in found} <= {"applied"}
        assert {error.category for error in errors} <= set(mqm.RUBRIC_CATEGORIES)
        assert CORRECTED[example.values["source"]] == edits.apply(text, found)


CORRECTED = {
    "The clinic stays closed on Friday, so please collect your test results by Thursday noon.": (
        "Die Klinik bleibt am Freitag geschlossen, also bitte holen Sie Ihre Testergebnisse bis Donnerstagmittag ab."
    ),
    "这家店周末人很多，建议提前三天预订，而且只收现金。": (
        "This shop gets crowded on weekends; it is recommended to book three days in advance, and only cash is "
        "accepted."
    ),
    "会議は午後二時からですが、資料は前日までに送ってください。": (
        "회의는 오후 두 시부터이지만, 자료는 전날까지 보내 주세요."
    ),
    "Restart the device to finish the update.": "Reinicie el dispositivo para completar la actualización.",
    "Please hand in the form in person by 5 p.m. on 3 March; late applications will not be considered.": (
        "Bitte reichen Sie das Formular bis 17 Uhr am 3. März persönlich ein; verspätete Bewerbungen werden nicht "
        "berücksichtigt."
    ),
    "Her latest novel tells the story of a lighthouse keeper who eventually loses his sight.": (
        "Ihr neuester Roman erzählt die Geschichte eines Leuchtturmwärters, der schließlich sein Augenlicht verliert."
    ),
    "由于台风影响，原定于周六举行的音乐会将延期至下月，已购票的观众可以全额退款。": (
        "Because of the typhoon, the concert originally scheduled for Saturday will be postponed to next month, and "
        "anyone who has bought tickets can get a full refund."
    ),
    "他在这家公司干了二十年，从普通工人一步一步做到了厂长。": (
        "He has worked in this company for twenty years, rising step by step from an ordinary worker to factory "
        "director."
    ),
    "お客様のご都合により返品される場合、送料はお客様のご負担となります。": (
        "고객님의 사정으로 반품하시는 경우, 배송비는 고객님께서 부담하셔야 합니다."
    ),
    "彼は電車の中に傘を忘れたことに気づいて、慌てて駅員に連絡した。": (
        "그는 전철 안에 우산을 두고 온 것을 깨닫고 황급히 역무원에게 연락했다."
    ),
}


def test_the_scales_differ_in_numbers_alone() -> None:
    def without_numbers(scale: mqm.Scale) -> list[tuple[Any, ...]]:
        return [
            (e.lp, e.default, e.unless, e.values, [x.model_copy(update={"penalty": None}) for x in errors_of(e, scale)])
            for e in prompts.load(FILES[scale]).examples
        ]

    def errors_of(example: prompts.Example, scale: mqm.Scale) -> Any:
        return parse(example.reply, example.values["translation"], scale)

    assert without_numbers("1-4") == without_numbers("1-8") == without_numbers("1-100")
    assert set(get_args(mqm.Scale)) == set(FILES)
    assert [prompts.load(name).user for name in FILES.values()] == [prompts.load("rubric-mqm").user] * 3


def test_a_user_adds_examples_for_a_pair(tmp_path: Path) -> None:
    (tmp_path / "rubric-mqm.examples.toml").write_text(
        """
[[examples]]
lp = "en-is"
reply = '''{"errors": [{"span": "hund", "before": "ég á ", "after": "", "category": "mistranslation", "severity": 3,
 "suggestion": "kött"}]}'''
[examples.values]
source_language = "English"
target_language = "Icelandic"
source = "I have a cat"
translation = "ég á hund"
""",
        encoding="utf-8",
    )
    free = "English-Spanish"
    assert languages_shown("rubric-mqm", "en-is", tmp_path) == [free, "English-Icelandic"]
    assert languages_shown("rubric-mqm", "en-de", tmp_path) == ["English-German"] * 3 + [free]
    assert Counter(languages_shown("rubric-mqm", "en-cs", tmp_path)) == Counter(languages_shown("rubric-mqm", "en-cs"))
    own = RubricMQM(ScriptedLLM([]), prompts_folder=tmp_path)
    assert own.signature != RubricMQM(ScriptedLLM([])).signature
    assert languages_shown("rubric-mqm-8", "en-is", tmp_path) == languages_shown("rubric-mqm-8", "en-is")


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
        agent = Agent(llm=ScriptedLLM(self), preset=preset, stages="tpp", evaluator="rubric-mqm")
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
    assert steps["postedit"].reason == "rubric-mqm -2 -> -6: worse"
    assert [step.text for step in chain.steps].count(table_5["postedit"]) == 0
    assert chain.text == table_5[kept]


@pytest.mark.data
def test_paper_keeps_all_three_texts_of_multi_agent_mt_table_5(table_5: dict[str, str]) -> None:
    chain = Icelandic(table_5, 1).improve(table_5["source"], "paper")
    assert [(step.stage, step.text, step.verdict) for step in chain.steps] == [
        (stage, table_5[stage], "kept") for stage in ("translate", "postedit", "proofread")
    ]
