"""From Python: any MT system in, records out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mtagent import Agent, Chain, ErrorSpan, Rating, Segment, make_segments
from mtagent.chain.gate import RateGate
from mtagent.errors import ConfigError
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import Completion
from tests.jobs import improving


def spaced(text: str) -> str:
    return text.replace("one two", "uno  dos")


class Engine:
    def translate(self, text: str) -> str:
        return f"{text} errado fin."


def test_a_callable_is_wrapped_and_offline_rules_apply() -> None:
    (chain,) = Agent(spaced).translate(["one two"], "en", "es")
    assert isinstance(chain, Chain)
    assert (chain.given, chain.text) == ("uno  dos", "uno dos")
    assert [step.stage for step in chain.steps] == ["translate", "postedit"]


def test_an_object_with_translate_is_wrapped_and_its_text_improved() -> None:
    (chain,) = Agent(Engine(), llm=improving()).translate(["Hi"], "en", "es")
    assert (chain.given, chain.text) == ("Hi errado fin.", "Hi correcto fin.")


def test_a_command_is_wrapped() -> None:
    (chain,) = Agent("command:cat", stages="t", evaluator="rules").translate(["Hola\n\nmundo"], "en", "es")
    assert chain.text == "Hola\n\nmundo"


def test_given_translations_are_improved_one_for_one_in_order_also_from_a_generator() -> None:
    texts = [f"frase {i} errado fin." for i in range(50)]
    agent = Agent(llm=improving(), concurrency=7)
    chains = agent.postedit((f"phrase {i} end." for i in range(50)), iter(texts), "en", "es")
    assert [chain.segment.source for chain in chains] == [f"phrase {i} end." for i in range(50)]
    assert [chain.given for chain in chains] == texts
    assert [chain.text for chain in chains] == [text.replace("errado", "correcto") for text in texts]


def test_what_is_known_about_a_segment_reaches_the_model_and_the_reference_does_not() -> None:
    llm = improving()
    segment = Segment(id="a", source="Hi", source_lang="en", target_lang="es", translation="Hola", domain="greetings",
                      context="Before.", notes="Be kind.", reference="Buenas")  # fmt: skip
    Agent(llm=llm).improve([segment])
    content = llm.requests[0].messages[-1].content
    assert [word for word in ("greetings", "Before.", "Be kind.", "Buenas") if word not in content] == ["Buenas"]


async def test_async_code_iterates_over_a_stream_and_is_told_so() -> None:
    with pytest.raises(ConfigError, match="use `async for chain"):
        Agent(llm=improving()).translate(["a"], "en", "es")
    segments = make_segments(["a", "b"], ["a errado x", "b x"], "en", "es")
    assert [chain.text async for chain in Agent(llm=improving()).stream(segments)] == ["a correcto x", "b x"]


class Slow(ScriptedLLM):
    """Answers its first request, and none after it."""

    def __init__(self) -> None:
        super().__init__(lambda messages, purpose: "texto")

    async def complete(self, *given: Any, **settings: Any) -> Completion:
        completion = await super().complete(*given, **settings)
        await asyncio.sleep(0 if len(self.requests) == 1 else 60)
        return completion


async def test_a_stream_that_is_left_early_leaves_no_task_behind() -> None:
    before = len(asyncio.all_tasks())
    stream = Agent(llm=Slow(), stages="t", concurrency=3).stream(make_segments(["a"] * 9, None, "en", "es"))
    await anext(stream)
    assert len(asyncio.all_tasks()) > before
    await stream.aclose()
    assert len(asyncio.all_tasks()) == before


def test_without_translator_model_and_translation_the_segment_fails_and_says_why() -> None:
    (chain,) = Agent().translate(["Hi"], "en", "es")
    assert chain.failed is not None
    assert "no translation, and no translate stage" in chain.failed.reason


class Picky:
    name = "picky"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        error = ErrorSpan(text="bad", category="style", severity="major", suggestion="good")
        errors = (error,) if "bad" in translation else ()
        return Rating(evaluator=self.name, score=-5.0 * len(errors), errors=errors, signature="picky|v:1")


def test_objects_of_ones_own_take_any_part() -> None:
    agent = Agent(evaluator=Picky(), gate=RateGate(Picky()), llm=ForbiddenLLM(), stages="pe")
    (chain,) = agent.postedit(["x"], ["a bad text"], "en", "es")
    assert chain.text == "a good text"
    assert [rating.signature for rating in chain.steps[0].ratings] == ["picky|v:1"] * 3


def test_a_different_model_can_serve_each_stage_and_the_judge() -> None:
    agent = Agent(model="big", postedit={"model": "small", "temperature": 0.5}, judge_model="judge", seed=7)
    models = {role: agent.config.model_for(role) for role in ("translate", "postedit", "proofread", "judge")}
    assert [settings.model for settings in models.values()] == ["big", "small", "big", "judge"]
    assert [settings.temperature for settings in models.values()] == [None, 0.5, None, 0.5]
    assert models["judge"].seed == 7


def test_the_paper_preset_forces_edits_and_checks_nothing() -> None:
    llm = ScriptedLLM([json.dumps([{"span": "cat", "severity": 1, "suggestion": "dog"}]), "The dogegory."])
    agent = Agent(llm=llm, preset="paper")
    (chain,) = agent.postedit(["s"], ["The category."], "en", "es")
    assert chain.text == "The dogegory."
    assert "at least one thing" in llm.requests[0].messages[0].content
    assert chain.steps[0].reason == "kept without a check"
    assert (agent.config.temperature, agent.config.max_tokens) == (0.0, 1024)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"stages": "tpx"}, "no stage 'tpx'"),
        ({"stages": ["postedit", "translate"]}, "in the order translate, rerank, postedit, proofread"),
        ({"modle": "x"}, "unknown setting 'modle'; did you mean 'model'"),
        ({"postedit": {"temprature": 1}}, "unknown setting 'postedit.temprature'; did you mean 'temperature'"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Agent(**settings)


@pytest.mark.parametrize(
    ("sources", "translations", "complaint"),
    [
        (["a", "b"], ["x"], "2 sources and 1 translations"),
        ("abc", ["x"], "give a list of texts"),
        (["a", None], ["x", "y"], "source 2 is no text"),
        (["a", "b"], ["x", 3], "translation 2 is no text"),
    ],
)
def test_lists_that_do_not_fit_and_what_is_no_text_are_refused(sources: Any, translations: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Agent(llm=improving()).postedit(sources, translations, "en", "es")
