"""From Python: any MT system in, records out."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from mtagent import Agent, Chain, ErrorSpan, Rating, Segment, make_segments, rate
from mtagent.chain.gate import RateGate
from mtagent.config import Config, Settings
from mtagent.errors import AuthenticationError, BudgetSpent, ConfigError, MtagentError, StepFailed
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import Call, Completion, Message, Step, Usage
from mtagent.translators import CallableTranslator
from tests.commands import ROOT
from tests.jobs import improving
from tests.simulator import chain as simulated


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
    (chain,) = Agent("command:cat", stages="t").translate(["Hola\n\nmundo"], "en", "es")
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


async def test_async_code_iterates_over_a_stream() -> None:
    segments = make_segments(["a", "b"], ["a errado x", "b x"], "en", "es")
    assert [chain.text async for chain in Agent(llm=improving()).astream(segments)] == ["a correcto x", "b x"]


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
    stream = Agent(llm=Slow(), stages="t", concurrency=3).astream(make_segments(["a"] * 9, None, "en", "es"))
    await anext(stream)
    assert len(asyncio.all_tasks()) > before
    await stream.aclose()
    assert len(asyncio.all_tasks()) == before


def test_without_translator_model_and_translation_the_segment_fails_and_says_why() -> None:
    (chain,) = Agent().translate(["Hi"], "en", "es")
    assert chain.failed is not None
    assert "no translation, and no translate stage" in chain.failed.reason


def broken_mt(text: str) -> str:
    if text == "bad":
        raise ConnectionError("no reply")
    return f"R {text}"


async def test_a_text_without_a_translation_is_an_error_and_not_an_empty_text() -> None:
    with Agent(broken_mt, stages="t") as agent:
        with pytest.raises(StepFailed, match=r"translate: .*no reply") as caught:
            agent.translate("bad", "en", "es")
        assert [chain.segment.source for chain in caught.value.chains] == ["bad"]
        with pytest.raises(StepFailed):
            await agent.atranslate("bad", "en", "es")
        good, bad = agent.translate(["good", "bad"], "en", "es")
        assert (good.text, good.to_dict()["text"]) == ("R good", "R good")
        assert (bad.state, bad.to_dict()["text"]) == ("failed", None)
        assert agent.translate(" ", "en", "es").text == " "
    failing = ScriptedLLM(lambda messages, purpose: "no json")
    with Agent(llm=failing) as agent:  # the given text is still there
        chain = agent.postedit("Hi end.", "Hola fin.", "en", "es")
        assert (chain.text, chain.state) == ("Hola fin.", "failed")


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


def test_the_paper_preset_shows_models_no_more_than_the_papers_do_and_the_guards_all() -> None:
    llm = ScriptedLLM(
        [
            '[{"span": "casa", "severity": 1, "suggestion": "el hogar"}]',
            "Una ACME.",
        ]
    )
    agent = Agent(llm=llm, preset="paper", gate="guards", keep=["ACME"], stages="pp", domain="news")
    known = {"notes": "Mind the tone.", "context": "They sell houses.", "max_length": 90}
    fields = {"id": "1", "source": "An ACME house.", "source_lang": "en", "target_lang": "es"}
    segment = Segment.model_validate({**fields, **known, "translation": "Una casa ACME."})
    (chain,) = agent.improve([segment])
    llm.finish()
    review, proofread = ("\n".join(m.content for m in request.messages) for request in llm.requests)
    for said in (review, proofread):
        assert not any(hidden in said for hidden in ("Mind the tone.", "They sell houses.", "at most 90", "glossary-"))
    assert ("Domain:" in review, "Domain:" in proofread) == (False, True), "as in Listings 1 and 2"
    assert chain.segment.terms, "the guards read them"


@pytest.mark.parametrize(("preset", "shown"), [("paper", 0), ("safe", 2)])
def test_the_paper_preset_translates_each_paragraph_without_its_neighbours(preset: str, shown: int) -> None:
    llm = ScriptedLLM(lambda messages, purpose: "Uno." if ">One.</source" in messages[-1].content else "Dos.")
    (chain,) = Agent(llm=llm, preset=preset, stages="t").translate(["One.\n\nTwo."], "en", "es")
    assert chain.text == "Uno.\n\nDos."
    assert sum("Context" in request.messages[-1].content for request in llm.requests) == shown


def test_ratings_with_the_paper_preset_show_no_notes_either() -> None:
    llm = ScriptedLLM(['{"score": 90}'])
    (rated,) = rate(["One."], ["Uno."], "en", "es", evaluator="gemba-da", llm=llm, preset="paper", domain="news")
    assert rated.rating is not None
    assert "Domain:" not in llm.requests[0].messages[-1].content


def test_the_paper_preset_refuses_terms_that_nobody_would_read() -> None:
    with pytest.raises(ConfigError, match="glossary: the glossary has no effect"):
        Agent(llm=ForbiddenLLM(), preset="paper", glossary={"house": "casa"})
    with pytest.raises(ConfigError, match="keep: the list of words has no effect"):
        Agent(llm=ForbiddenLLM(), preset="paper", keep=["ACME"])


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"stages": "tpx"}, "no stage 'tpx'"),
        ({"stages": ["postedit", "translate"]}, "in the order translate, rerank, postedit, proofread"),
        ({"modle": "x"}, "unknown setting 'modle'; did you mean 'model'"),
        ({"clinet": "x"}, "unknown setting 'clinet'; did you mean 'client'"),
        ({"endpoint": ["http://h/v1", "h"]}, "endpoint 2: is not an address"),
        ({"header": ["A=B,C=D"]}, "header 1: holds a comma, which doesn't separate headers"),
        ({"azure_endpoint": "127.0.0.1:1"}, "azure_endpoint: .*write for example https://NAME.openai.azure.com"),
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
        ("abc", ["x"], "give one translation for one text"),
        (["abc"], "x", "give a list of texts"),
        (["a", None], ["x", "y"], "source 2: expected a text"),
        (["a", "b"], ["x", 3], "translation 2: expected a text"),
    ],
)
def test_lists_that_do_not_fit_and_what_is_no_text_are_refused(sources: Any, translations: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Agent(llm=improving()).postedit(sources, translations, "en", "es")


# --- one agent, many calls


class System:
    """An MT system that counts its objects, calls and ends."""

    made = ended = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.running = self.most = 0

    async def translate(self, text: str) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        return text.upper()

    async def aclose(self) -> None:
        type(self).ended += 1


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> type[System]:
    """``python:test_systems:System`` names the class."""
    monkeypatch.setitem(sys.modules, "test_systems", SimpleNamespace(System=System))
    System.made = System.ended = 0
    return System


def test_parts_are_made_once_for_calls_from_many_threads_and_closed_at_the_end(systems: type[System]) -> None:
    with Agent("python:test_systems:System", stages="t") as agent, ThreadPoolExecutor(16) as threads:
        chains = threads.map(lambda n: agent.translate([f"cat {n} {i}" for i in range(8)], "en", "es"), range(16))
        assert [[chain.text for chain in of_one] for of_one in chains] == [
            [f"CAT {n} {i}" for i in range(8)] for n in range(16)
        ]
    assert systems.made == 1
    assert agent.translate("again", "en", "es").text == "AGAIN", "a closed agent opens again"
    assert systems.made == 2
    agent.close()


async def test_async_calls_share_parts_with_each_other_and_with_calls_that_are_not(systems: type[System]) -> None:
    async with Agent("python:test_systems:System", stages="t") as agent:
        chains = await asyncio.gather(*(agent.atranslate(f"cat {n}", "en", "es") for n in range(50)))
        assert [chain.text for chain in chains] == [f"CAT {n}" for n in range(50)]
        assert (await asyncio.to_thread(agent.translate, "dog", "en", "es")).text == "DOG"
        with pytest.raises(ConfigError, match="this thread runs the loop that the agent works in: await"):
            agent.translate("here", "en", "es")
        assert systems.made == 1


async def test_calls_that_are_not_async_work_where_a_loop_runs_and_async_ones_join_them(systems: type[System]) -> None:
    agent = Agent("python:test_systems:System", stages="t")
    assert agent.translate(["a", "b"], "en", "es")[1].text == "B"
    assert (await agent.atranslate("c", "en", "es")).text == "C"
    assert [chain.text async for chain in agent.astream(make_segments(["d"], None, "en", "es"))] == ["D"]
    assert systems.made == 1
    agent.close()


def test_an_agent_outlives_the_loops_that_it_is_used_in(systems: type[System]) -> None:
    agent = Agent("python:test_systems:System", stages="t")
    for text in ("a", "b"):
        assert asyncio.run(agent.atranslate(text, "en", "es")).text == text.upper()
    assert systems.made == 2


def test_what_the_user_passes_in_is_not_closed(systems: type[System]) -> None:
    class Own(ScriptedLLM):
        ended = 0

        async def aclose(self) -> None:
            self.ended += 1

    system, llm = System(), Own(lambda messages, purpose: '{"errors": []}')
    with Agent(CallableTranslator(system.translate), llm=llm, evaluator="rubric-mqm", gate="guards") as agent:
        agent.translate(["a"], "en", "es")
    assert (system.ended, llm.ended) == (0, 0)


def test_an_error_that_concerns_all_hands_out_what_is_done() -> None:
    def answer(messages: Any, purpose: str) -> str:
        if "text 7" in messages[-1].content:
            raise AuthenticationError("401")
        return "texto"

    agent = Agent(llm=ScriptedLLM(answer), stages="t")
    texts = [f"text {n}." for n in range(10)]
    with pytest.raises(AuthenticationError) as caught:
        agent.translate(texts, "en", "es")
    assert [chain.segment.id for chain in caught.value.chains][:6] == ["1", "2", "3", "4", "5", "6"]
    with pytest.raises(AuthenticationError):
        list(agent.stream(make_segments(texts, None, "en", "es")))
    agent.close()


class Stopping(ScriptedLLM):
    """Translates; reviews text five never and text six slowly; at text seven, after that, its key is wrong."""

    async def complete(self, *given: Any, **settings: Any) -> Completion:
        completion = await super().complete(*given, **settings)
        if settings["purpose"] == "translate":
            return completion
        seconds = {"five": 60.0, "six": 0.4, "seven": 0.2}
        number = next((number for number in seconds if f"text {number}." in str(given[0])), "")
        await asyncio.sleep(seconds.get(number, 0.0))
        if number == "seven":
            raise AuthenticationError("401")
        return completion


@pytest.mark.parametrize("way", ["list", "stream", "astream", "astream of async"])
def test_an_error_that_concerns_all_lets_others_end_and_hands_out_how_far_they_came(way: str) -> None:
    usage = Usage(calls=1, input_tokens=10, output_tokens=2)

    def answer(messages: Any, purpose: str) -> Completion:
        return Completion(text="Texto." if purpose == "translate" else '{"errors": []}', model="m", usage=usage)

    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    segments = make_segments([f"This is the text {name}." for name in names], None, "en", "es")
    handed_out = list[Chain]()
    agent = Agent(llm=Stopping(answer), stages="tp", evaluator="rubric-mqm", gate="guards", rules_first=False)

    async def from_afar() -> AsyncIterator[Segment]:
        for segment in segments:
            yield segment

    async def streamed() -> None:
        async for chain in agent.astream(from_afar() if "of" in way else segments, ordered=False):
            handed_out.append(chain)

    def work() -> None:
        if way == "list":
            agent.improve(segments)
        elif way == "stream":
            handed_out.extend(agent.stream(segments, ordered=False))
        else:
            asyncio.run(streamed())

    with pytest.raises(AuthenticationError) as caught:
        work()
    agent.close()
    chains = {chain.segment.id: chain for chain in (*handed_out, *caught.value.chains)}
    assert sorted(chains, key=int) == [str(n) for n in range(1, 11)]
    assert [number for number in sorted(chains) if chains[number].failed] == ["6", "8"]
    assert {chain.text for chain in chains.values()} == {"Texto."}
    stopped, wrong = chains["6"].failed, chains["8"].failed
    assert stopped is not None
    assert wrong is not None
    assert (stopped.stage, stopped.reason) == ("postedit", "CancelledError: stopped before it was done")
    assert wrong.reason == "401"
    assert [chains[number].usage.calls for number in ("1", "6", "7", "8")] == [2, 1, 2, 1]


def test_a_reply_that_was_paid_for_is_on_the_chain_that_an_error_stops() -> None:
    def answer(messages: Any, purpose: str) -> str:
        if messages[0].content.startswith("You compare"):
            raise AuthenticationError("401")
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    agent = Agent(llm=ScriptedLLM(answer), stages="pe", gate="pairwise")
    with pytest.raises(AuthenticationError) as caught:
        agent.postedit("Hi end.", "Hi errado fin.", "en", "es")
    (chain,) = caught.value.chains
    assert (chain.text, chain.state) == ("Hi errado fin.", "failed")
    assert chain.usage.calls == 1


@pytest.mark.parametrize("ordered", [True, False])
async def test_streams_take_segments_as_they_are_needed_and_give_all_of_them(ordered: bool) -> None:
    taken = 0

    def segments(number: int = 200) -> Iterator[Segment]:
        nonlocal taken
        for segment in make_segments([f"cat {n}" for n in range(number)], None, "en", "es"):
            taken += 1
            yield segment

    async def from_afar() -> AsyncIterator[Segment]:
        for segment in segments():
            await asyncio.sleep(0)
            yield segment

    agent = Agent(System(), stages="t", concurrency=2)
    expected = [f"CAT {n}" for n in range(200)]
    streams = [agent.astream(segments(), ordered=ordered), agent.astream(from_afar(), ordered=ordered)]
    for stream in streams:
        texts = [chain.text async for chain in stream]
        assert (texts if ordered else sorted(texts)) == (expected if ordered else sorted(expected))
    taken = 0
    stream_here = agent.stream(segments(), ordered=ordered)
    first = next(stream_here).text
    assert first == expected[0] or not ordered
    assert taken < 100, "not all at once"
    texts = [first, *(chain.text for chain in stream_here)]
    assert (texts if ordered else sorted(texts)) == (expected if ordered else sorted(expected))
    agent.close()


@pytest.mark.parametrize("model", [True, False])
def test_the_source_language_may_be_left_to_the_system(model: bool) -> None:
    llm = ScriptedLLM(lambda messages, purpose: "Hola, mundo." if purpose == "translate" else '{"errors": []}')
    agent = Agent(None if model else lambda text, src, tgt: f"{src} {tgt} {text}", llm=llm, stages="tp", gate="guards")
    chain = agent.translate("Hello, world.", "auto", "es")
    assert (chain.text, chain.failed) == ("Hola, mundo." if model else "None es Hello, world.", None)
    assert "its own language" in str(llm.requests[0].messages)
    agent.close()


# --- every setting counts or is refused


@pytest.mark.parametrize(("settings", "complaint"), [
    ({"run": "r"}, r"run: has no effect in an agent: name the run in agent\.run\(NAME\)"),
    ({"limit": 3}, "limit: has no effect"), ({"give_up_after": 3}, "give_up_after: has no effect"),
    ({"llm": ForbiddenLLM(), "model": "m"}, "model: the model that you pass .* has its own settings"),
    ({"llm": ForbiddenLLM(), "temperature": 0}, "temperature: the model that you pass"),
    ({"llm": ForbiddenLLM(), "api_key": "sk-x"}, "api_key: the model that you pass"),
    ({"llm": ForbiddenLLM(), "requests_per_minute": 6}, "requests_per_minute: the model that you pass"),
    ({"comet_python": "python"}, "comet_python: no COMET model is the evaluator, a judge or triage"),
    ({"source_lang": "en"}, "source_lang: has no effect in an agent: name the languages of each text"),
    ({"translator": lambda text, lang: text}, "needs 'lang', but a translator gets only a text and its languages"),
    ({"glossary": {"Foo": 1}}, "terms: target 1: input should be a valid string"),
    ({"glossary": 5}, "terms: 5 are not terms"),
    ({"glossary": [("a", "b")]}, "terms: .* is not a term: give a mapping"),
    ({"glossary": {"Foo": "Bar"}, "keep": ["Foo"]}, "keep: 'Foo' is to be kept"),
    ({"gate": "guards", "samples": 3}, "leave gate out"),
    # senseless values
    ({"translator": "nosuch"}, "unknown translator 'nosuch'"), ({"translator": "command:"}, "the command is empty"),
    ({"evaluator": "nosuch"}, "no evaluator 'nosuch'"), ({"judge": "nosuch"}, "no evaluator 'nosuch'"),
    ({"evaluator": "rubric-mqm:bogus=1", "model": "m"}, "no option 'bogus'"),
    ({"gate": 5}, "5 isn't a gate: a gate is an object with"), ({"llm": 5}, "llm: 5 isn't a model"),
    ({"llm": "nosuch"}, "no llm 'nosuch'"), ({"llms": {"judge": 5}}, "judge: 5 isn't a model"),
    ({"llms": [ForbiddenLLM()]}, "llms: expected a model for each role"),
    ({"llms": {"postedi": ForbiddenLLM()}}, "llms: no role 'postedi'; there are: translate, postedit"),
    ({"headers": 5}, "headers: expected names and texts"), ({"headers": {"a": "b\n"}}, "headers: 'a': a header is"),
    ({"api_key": " "}, "api_key: must be a text"), ({"http_client": 5}, "http_client: 5 isn't an aiohttp"),
    ({"http_client": httpx.AsyncClient(), "model": "m"}, "http_client: .* isn't an aiohttp.ClientSession; a client of"),
    ({"judge": [Picky(), "rules"]}, "judge: 'rules' is a name, but other judges are objects"),
    ({"judge": [Picky(), Picky()]}, "judge: two judges have the same signature, picky"),
    ({"judge": [Picky(), 5]}, "int has no method `rate`"),
    ({"on_step": 3}, "on_step: expected a function, not 3"), ({"on_call": 3}, "on_call: expected a function, not 3"),
    ({"config_file": ""}, "config_file: expected a path, not ''"), ({"keep": 5}, "keep: expected a file or a list"),
    ({"keep": ["", "x"]}, "keep: expected words, not ''"), ({"model": " "}, "model: is empty"),
    ({"store": "."}, "expected a file, but . is a folder"),
    ({"calibration": "/nosuch.json"}, "nosuch.json"), ({"budget": 5, "llm": ForbiddenLLM()}, "budget: the price of"),
    # what needs something else
    *[({name: value}, f"{name}: this agent uses no model; set OPENAI_API_KEY") for name, value in {
        "temperature": 0.5, "top_p": 0.5, "max_tokens": 5, "seed": 5, "reasoning_effort": "low", "timeout": 5,
        "deadline": 5, "requests_per_minute": 5, "tokens_per_minute": 5, "api_key_env": "NOSUCH", "budget": 5,
        "token_budget": 5, "headers": {"a": "b"},
    }.items()],
    *[({name: value}, f"{name}: the gate guards uses no judge") for name, value in {
        "margin": 0.1, "samples": 3, "quorum": 2, "gate_calls": 3,
    }.items()],
    ({"margin": 0.1, "gate": RateGate(Picky())}, r"margin: the gate that you pass \(gate\) has its own settings"),
    ({"judge": Picky(), "gate": RateGate(Picky())}, "judge: the gate that you pass"),
    ({"judge": Picky(), "gate": "guards"}, "judge: the gate guards uses no judge"),
    ({"quorum": 2, "judge": Picky()}, "quorum 2: needs that many judges, but there are 1: name more judges"),
    ({"samples": 3, "judge": Picky()}, "samples: the judges give the same rating each time"),
    ({"samples": 3, "judge": "rules"}, "samples: the judges give the same rating each time"),
    ({"judge_model": "m", "judge": "rules"}, "judge_model: the judges of this agent use no model"),
    ({"judge_model": "m", "model": "m", "gate": "guards"}, "judge_model: the gate guards uses no judge"),
    ({"judge_model": "m", "model": "n", "stages": "t"}, "judge_model: none of the stages \\(translate\\) edits"),
    ({"triage_above": 0.5}, "triage_above: 0.5 needs an evaluator that gives scores: set triage"),
    ({"triage": Picky()}, "triage picky: no score is known from which a text is skipped: set triage_above"),
    ({"triage": Picky(), "triage_above": 0.5, "stages": "t", "model": "m"}, "triage has nothing to decide"),
    ({"proposals": 3}, "the gate guards calls no judge, so it can't choose the best of several texts"),
    ({"proposals": 3, "evaluator": "rules", "judge": Picky()}, "proposals: the evaluator rules gives the same"),
    ({"proposals": 3, "model": "m", "stages": "t"}, "proposals: postedit is not among the stages \\(translate"),
    ({"llms": {"translate": ForbiddenLLM()}, "translator": str.upper}, "llms: this agent uses no model as 'translate'"),
    ({"llms": {"judge": ForbiddenLLM()}, "judge_model": "m"}, r"judge_model: the model that you pass \(llm, llms\)"),
    ({"translate": {"model": "m"}, "translator": str.upper}, "translate: this agent uses no model as 'translate'"),
    ({"postedit": {"temperature": 0.5}, "llm": ForbiddenLLM()}, "postedit: the model that you pass"),
    ({"llm": ForbiddenLLM(), "evaluator": "rules", "stages": "pe", "gate": "guards"}, "llm: this agent uses no model"),
    ({"model": "m", "evaluator": "rules", "stages": "pe", "gate": "guards"}, "model: this agent uses no model"),
    ({"translator": str.upper, "stages": "pe"}, "translator: translate is not among the stages"),
    ({"evaluator": "rules", "stages": "t", "model": "m"}, "evaluator: postedit is not among the stages \\(translate"),
    ({"stages": "proofread"}, "the proofread stage calls a model, but none is set: set OPENAI_API_KEY"),
    *[({name: value, "model": "m", "stages": "t"}, f"{name}: postedit is not among the stages \\(translate")
      for name, value in {"fix": "asked", "forced": True, "on_ambiguous": "first", "rules_first": True}.items()],
    ({"forced": True, "evaluator": Picky()}, "forced: this evaluator cannot be forced to find errors"),
    ({"on_ambiguous": "first", "strategy": "paper", "model": "m"}, "on_ambiguous: the strategy paper replaces every"),
    *[({name: value, "translator": str.upper, "stages": "t"}, f"{name}: this agent uses no model")
      for name, value in {
        "base_url": "http://h/v1", "api_key": "sk-x", "domain": "law", "context": 2, "model": "m",
    }.items()],
    ({"llm": "local:/m.gguf", "base_url": "http://h/v1"}, "llm: local:/m.gguf is set beside base_url, whose server"),
    ({"strategy": "paper", "stages": "t", "model": "m"}, "strategy: none of the stages \\(translate\\) edits"),
    ({"stop_when_error_free": False, "stages": "pe", "evaluator": "rules"}, "stop_when_error_free: needs at least two"),
    ({"skip_guards": ["length"], "gate": "none", "model": "m"}, "skip_guards: the gate none uses no guards"),
])  # fmt: skip
def test_what_an_agent_cannot_do_is_refused_at_once(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        Agent(**settings)
    assert "--" not in str(caught.value)


def test_settings_at_their_defaults_and_those_of_a_file_for_other_commands_are_no_errors(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("temperature = 0.5\nsamples = 3\n")
    usual = Config()
    Agent(config_file=tmp_path / "c.toml", margin=usual.margin, proposals=usual.proposals, timeout=usual.timeout)


def test_an_agent_is_checked_without_loading_its_translator_or_reading_a_key(systems: type[System]) -> None:
    Agent("python:test_systems:System", model="m")
    assert systems.made == 0


def test_all_settings_are_typed_taken_by_name_or_refused() -> None:
    taken = set(inspect.signature(Agent).parameters) - {"settings"}
    refused = {"run", "limit", "give_up_after", "source_lang", "target_lang", "own_memory"}
    assert taken & set(Settings.__annotations__) == set()
    assert {*Settings.__annotations__} | (taken & {*Config.model_fields}) | refused == {*Config.model_fields}


def test_terms_domain_and_context_reach_the_model() -> None:
    llm = ScriptedLLM(lambda messages, purpose: "El segmento y la frase de mtagent.")
    agent = Agent(
        llm=llm, stages="t", glossary={"segment": "segmento"}, keep=["mtagent"], domain="software",
        context=1,
    )  # fmt: skip
    texts = ["The segment and the phrase of mtagent.", "The segment follows, and mtagent stays with its phrase."]
    agent.translate(texts, "en", "es", terms={"phrase": "frase"}, instructions="Be brief.", timeout=60)
    first, second = (request.messages[-1].content for request in llm.requests[:2])
    for word in ("segmento", "mtagent", "software", "frase", "Be brief."):
        assert word in first
    assert "El segmento y la frase de mtagent." in second, "the translation before is shown"
    given = ScriptedLLM(lambda messages, purpose: "El segmento.")
    other = Agent(llm=given, stages="t")
    other.translate("The segment.", "en", "es", context="Around it.", domain="law")
    assert all(word in given.requests[0].messages[-1].content for word in ("Around it.", "law"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'tone'"):
        agent.translate("a", "en", "es", tone="polite")  # type: ignore[call-overload]


def test_a_role_may_have_a_model_object_of_its_own() -> None:
    editor, judge = improving(), ScriptedLLM(lambda messages, purpose: '{"better": "B"}' if purpose else "")
    agent = Agent(llms={"judge": judge}, llm=editor, stages="pe", gate="pairwise")
    agent.postedit("Hi end.", "Hi errado fin.", "en", "es")
    assert {request.purpose for request in editor.requests} == {"postedit"} or editor.requests
    assert judge.requests


# --- results


def test_a_text_that_takes_too_long_is_what_it_is_by_then() -> None:
    class Stuck(ScriptedLLM):
        async def complete(self, *given: Any, **settings: Any) -> Completion:
            await asyncio.sleep(60)
            raise AssertionError

    agent = Agent(str.upper, llm=Stuck([]))
    chain = agent.translate("a cat", "en", "es", timeout=0.2)
    assert (chain.text, chain.state) == ("A CAT", "failed")
    assert chain.failed is not None
    error = chain.failed.error
    assert error is not None
    assert (error.kind, error.retryable, str(error)) == (
        "TimeoutError", True, "postedit: not done within 0.2 s"
    )  # fmt: skip
    assert isinstance(error.__cause__, TimeoutError)
    with pytest.raises(StepFailed, match="not done within"):
        chain.raise_for_failure()
    agent.close()


def test_a_chain_is_plain_data_and_calls_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    steps: list[tuple[str, str]] = []
    calls: list[Call] = []
    agent = Agent(
        llm=improving(), on_step=lambda segment, step: steps.append((segment.source, step.stage)), on_call=calls.append
    )
    chain = agent.postedit("Hi end.", "Hi errado fin.", "en", "es")
    assert chain.raise_for_failure() is chain
    assert [stage for _, stage in steps] == [step.stage for step in chain.steps]
    assert len(calls) == chain.usage.calls
    plain = json.loads(json.dumps(chain.to_dict()))
    assert (plain["text"], plain["changed"], plain["state"]) == (chain.text, True, "changed")
    assert plain["usage"]["calls"] == chain.usage.calls
    assert [edit["new"] for edit in plain["steps"][0]["edits"]] == [edit.new for edit in chain.steps[0].edits] != []
    assert "messages" not in json.dumps(plain)
    assert "messages" in json.dumps(chain.to_dict(prompts=True))
    agent.close()


def test_a_chain_is_made_again_of_its_plain_data() -> None:
    with Agent(llm=improving()) as agent:
        chain = agent.postedit("Hi end.", "Hi errado fin.", "en", "es")
    plain = json.loads(json.dumps(chain.to_dict()))
    again = Chain.model_validate(plain)
    assert (again.text, again.usage, again.to_dict()) == (chain.text, chain.usage, plain)
    assert Chain.model_validate(chain.to_dict(prompts=True)) == chain
    assert Chain.model_validate_json(chain.model_dump_json()).to_dict() == plain
    unknown = Call(purpose="judge", model="m", usage=Usage(calls=1, cost=None))
    step = chain.steps[-1].model_copy(update={"calls": (unknown,)})
    chain = chain.model_copy(update={"steps": (step,)})
    assert Chain.model_validate(chain.to_dict()).usage.cost is None
    assert chain.to_dict()["usage"]["cost"] is None
    assert set(Chain.model_json_schema()["properties"]) <= set(plain)
    with pytest.raises(ValueError, match="text: is not the text of the last step"):
        Chain.model_validate(plain | {"text": "other"})
    with pytest.raises(ValueError, match="nosuch"):
        Chain.model_validate(plain | {"nosuch": 1})


def test_a_chain_is_a_response_model_with_its_text_and_without_prompts() -> None:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    app = FastAPI()

    @app.get("/chain")
    async def one() -> Chain:
        async with Agent(llm=improving()) as agent:
            return await agent.apostedit("Hi end.", "Hi errado fin.", "en", "es")

    with TestClient(app) as client:
        reply = client.get("/chain")
        described = client.get("/openapi.json").json()["components"]["schemas"]["Chain"]
    assert described["type"] == "object"
    assert reply.json()["text"] == "Hi correcto fin."
    assert reply.json()["usage"]["calls"] == 6
    for name in ("messages", "reply"):
        assert f'"{name}"' not in reply.text


async def test_callbacks_may_be_async_and_their_errors_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    async def on_step(segment: Segment, step: Step) -> None:
        await asyncio.sleep(0)
        heard.append(step.stage)
        raise KeyError("of the callback")

    def on_call(call: Call) -> None:
        raise ValueError("of the other callback")

    async with Agent(llm=improving(), on_step=on_step, on_call=on_call) as agent:
        chain = await agent.apostedit("Hi end.", "Hi errado fin.", "en", "es")
    assert (chain.text, chain.failed) == ("Hi correcto fin.", None)
    assert heard == [step.stage for step in chain.steps]
    for words in ("on_step: the function that you passed", "of the callback", "of the other callback"):
        assert words in caplog.text


async def test_what_was_paid_for_is_handed_out_if_a_callback_is_stopped() -> None:
    refused = asyncio.Event()

    async def on_step(segment: Segment, step: Step) -> None:
        refused.set()
        await asyncio.sleep(60)

    class Refusing(ScriptedLLM):
        async def complete(self, messages: Any, **settings: Any) -> Completion:
            if "second" in messages[-1].content:
                await refused.wait()
                raise AuthenticationError("HTTP 401")
            return await super().complete(messages, **settings)

    llm = Refusing(lambda messages, purpose: "texto")
    async with Agent(llm=llm, stages="t", on_step=on_step) as agent:
        with pytest.raises(AuthenticationError) as caught:
            await agent.atranslate(["first", "second"], "en", "es")
    assert [chain.text for chain in caught.value.chains if not chain.failed] == ["texto"]


async def test_a_callback_is_not_stopped_halfway_by_the_timeout() -> None:
    second_expired = asyncio.Event()
    finished: list[str] = []

    async def translate(text: str) -> str:
        if text == "second":
            await asyncio.Event().wait()  # until the timeout
        return text.upper()

    async def on_step(segment: Segment, step: Step) -> None:
        if segment.source == "second":
            second_expired.set()
        else:
            await second_expired.wait()  # the time of the first one ends no later
        finished.append(f"{segment.source} {step.stage}")

    async with Agent(translate, stages="t", on_step=on_step) as agent:
        await agent.atranslate(["first", "second"], "en", "es", timeout=0.05)
    assert sorted(finished) == ["first translate", "second translate"]


async def test_several_judges_may_be_objects() -> None:
    class Judge:
        def __init__(self, name: str, after: float) -> None:
            self.name, self._after = name, after

        async def rate(self, segment: Segment, translation: str) -> Rating:
            score = self._after if "acertado" in translation else 0.5
            return Rating(evaluator=self.name, score=score, errors=())

    for second, text in ((0.9, "Hi acertado fin."), (0.1, "Hi errado fin.")):
        judges = [Judge("a", 0.9), Judge("b", second)]
        async with Agent(llm=improving(), judge=judges, stages="pe") as agent:
            assert (await agent.apostedit("Hi end.", "Hi errado fin.", "en", "es")).text == text


def test_an_agent_shows_its_settings_and_no_secret() -> None:
    secret = "sk-" + "a1B2" * 10
    agent = Agent(
        str.upper, model="m", base_url="http://h/v1", api_key=secret, headers={"X-Key": "geheim"}, temperature=0.5
    )
    assert repr(agent).startswith("Agent(")
    for shown in ("model='m'", "temperature=0.5", "http://h/v1"):
        assert shown in repr(agent)
    for hidden in (secret, "geheim"):
        assert hidden not in repr(agent)


@pytest.mark.parametrize(
    ("languages", "timeout", "complaint"),
    [
        ((None, "es"), 5, "source_lang: expected a language code such as 'en', not None; .* write \"auto\""),
        (("en", None), 5, "target_lang: expected a language code such as 'en', not None$"),
        (("en", "es"), "5", "timeout: expected a number of seconds above 0, not '5'"),
        (("en", "es"), float("nan"), "timeout: expected a number of seconds above 0, not nan"),
        (("en", "es"), 0, "timeout: expected a number of seconds above 0, not 0"),
        (("en", "es"), -1.0, "timeout: expected a number of seconds above 0, not -1.0"),
    ],
)
def test_a_wrong_language_or_timeout_is_explained(languages: Any, timeout: Any, complaint: str) -> None:
    with Agent(str.upper) as agent, pytest.raises(ConfigError, match=complaint):
        agent.translate("x", *languages, timeout=timeout)


@pytest.mark.loopback
async def test_a_client_of_the_wrong_state_is_refused_at_once() -> None:
    import aiohttp

    session = aiohttp.ClientSession()
    await session.close()
    with pytest.raises(ConfigError, match="http_client: is closed"):
        Agent(model="m", http_client=session)


def test_a_failure_in_a_part_of_the_users_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def broken(text: str) -> str:
        raise KeyError("no such thing")

    caplog.set_level(logging.DEBUG, "mtagent")
    (chain,) = Agent(broken, stages="t").translate(["a"], "en", "es")
    assert chain.failed is not None
    assert "no such thing" in caplog.text
    assert "in broken" in caplog.text


def test_a_run_is_stored_and_resumed_by_its_name(tmp_path: Path) -> None:
    llm, texts = improving(), [f"phrase {n} end." for n in range(6)]
    segments = make_segments(texts, [f"frase {n} errado fin." for n in range(6)], "en", "es")
    agent = Agent(llm=llm, store=tmp_path / "s.db")
    with agent.run("job-17") as run:
        chains = run.improve(segments)
        assert [chain.text for chain in chains] == [f"frase {n} correcto fin." for n in range(6)]
        asked = len(llm.requests)
        assert run.improve(segments) == chains
        assert run.chains() == chains
        assert run.summary.counts.changed == 6
    assert len(llm.requests) == asked
    with pytest.raises(MtagentError, match="job-17"):
        agent.run("job-17").improve(segments[:3])


def test_segments_of_a_run_have_ids_of_their_own(tmp_path: Path) -> None:
    run = Agent(llm=improving(), store=tmp_path / "s.db").run("r")
    twice = make_segments(["a", "b"], ["x", "y"], "en", "es") + make_segments(["c"], ["z"], "en", "es")
    with pytest.raises(ConfigError, match=r"segments 1 and 3 share the id '1'; ids must be unique"):
        run.improve(twice)
    assert not (tmp_path / "s.db").exists(), "nothing was begun"


def test_runs_share_the_budget_of_their_agent_and_are_heard(tmp_path: Path) -> None:
    def reply(number: int) -> Completion:
        return Completion(text=f"Texto {number}.", model="m", usage=Usage(calls=1, input_tokens=22_000, cost=1.0))

    def segments(first: int) -> list[Segment]:
        texts = [f"Text number {first}.", f"Text number {first + 1}."]
        return make_segments(texts, None, "en", "es")

    stages, calls = list[str](), list[Call]()
    llm = ScriptedLLM(lambda messages, purpose: reply(len(llm.requests)))
    given: dict[str, Any] = {"llm": llm, "stages": "t", "store": tmp_path / "s.db", "on_call": calls.append}
    agent = Agent(**given, token_budget=75_000, on_step=lambda segment, step: stages.append(step.stage))
    agent.run("a").improve(segments(1))
    agent.run("a").improve(segments(1))  # what was paid for in this agent does not count twice
    with pytest.raises(BudgetSpent, match="with a higher token_budget") as stopped:
        agent.run("b").improve(segments(3))
    assert len(llm.requests) == len(calls) == len(stages) == 3
    assert len(stopped.value.chains) == 1
    with pytest.raises(BudgetSpent) as without_run:
        agent.translate("One more.", "en", "es")
    assert "stored" not in str(without_run.value)
    with pytest.raises(BudgetSpent, match="22,000 tokens of the budget"):  # another agent counts what the run has paid
        Agent(**given, token_budget=25_000).run("b").improve(segments(3))


def test_with_a_store_nothing_is_paid_for_twice_and_an_unreadable_reply_is_not_kept(tmp_path: Path) -> None:
    replies = iter(["no JSON at all", "none again", *['{"errors": []}'] * 9])

    class Keyed(ScriptedLLM):
        def key(self, messages: Any, schema: Any = None, logprobs: bool = False, tools: Any = ()) -> str:
            return f"{messages}"

    llm = Keyed(lambda messages, purpose: next(replies))
    settings: dict[str, Any] = {"llm": llm, "evaluator": "rubric-mqm", "gate": "guards", "store": tmp_path / "s.db"}
    with Agent(**settings) as agent:
        assert agent.postedit("one.", "uno.", "en", "es").failed is not None
        assert agent.postedit("one.", "uno.", "en", "es").failed is None
        asked = len(llm.requests)
        assert agent.postedit("one.", "uno.", "en", "es").usage.reused == 1
    usage = Agent(**settings).postedit("one.", "uno.", "en", "es").usage
    assert usage == Usage(reused=1, saved=usage.saved)
    assert len(llm.requests) == asked


async def test_a_stream_of_texts_says_that_it_takes_segments() -> None:
    texts: Any = ["one"]
    with pytest.raises(ConfigError, match=r"expected a Segment, not 'one'; make_segments\("):
        [chain async for chain in Agent(str.upper).astream(texts)]


@pytest.mark.slow
def test_a_wrong_setting_is_an_error_of_the_type_checker(tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(
        "from mtagent import Agent, Chain\n\n"
        "agent = Agent(str.upper, model='m', budget=2.5, stages='pe')\n"
        "one: Chain = agent.translate('a', 'en', 'es', timeout=5)\n"
        "many: list[Chain] = agent.translate(['a'], 'en', 'es')\n"
        "Agent(modle='m')\nAgent(budget='much')\nagent.translate('a', 'en', 'es', tone='polite')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(client)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wrong = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(wrong)) == ["6", "7", "8"], done.stdout


# --- parts of the user's that do what no error does


async def test_a_cancelled_task_of_the_user_s_fails_one_segment_and_loses_none() -> None:
    flight = asyncio.ensure_future(asyncio.sleep(30))

    async def shared(text: str) -> str:
        if text == "Two dogs.":
            await flight
        return f"R {text}"

    class Evaluator:
        name = "mine"

        async def rate(self, segment: Segment, translation: str) -> Rating:
            raise asyncio.CancelledError

    async with Agent(shared, stages="t") as agent:
        asyncio.get_running_loop().call_later(0.05, flight.cancel)
        first, second, third = await agent.atranslate(["One house.", "Two dogs.", "Three cats."], "en", "es")
        assert (first.text, third.text) == ("R One house.", "R Three cats.")
        assert second.failed is not None
        assert "the task that it waited for was cancelled" in second.failed.reason
    async with Agent(shared, evaluator=Evaluator()) as agent:
        (chain,) = await agent.atranslate(["One house."], "en", "es")
        assert (chain.text, chain.failed and chain.failed.stage) == ("R One house.", "postedit")


class PanicException(BaseException):
    """As extensions in Rust raise it."""


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt, PanicException])
def test_a_translator_that_raises_what_ends_a_thread_fails_one_segment(error: type[BaseException]) -> None:
    def translator(text: str) -> str:
        if text == "b":
            raise error
        return f"R {text}"

    with Agent(translator, stages="t") as agent:
        good, bad = agent.translate(["a", "b"], "en", "es")
    assert good.text == "R a"
    assert bad.failed is not None
    assert error.__name__ in bad.failed.reason


def test_a_callback_that_waits_for_its_own_agent_is_told() -> None:
    refused = list[str]()

    def on_step(segment: Segment, step: Step) -> None:
        with pytest.raises(ConfigError) as caught:
            agent.translate("inner", "en", "es")
        refused.append(str(caught.value))

    with Agent(lambda text: f"R {text}", stages="t", on_step=on_step) as agent:
        assert agent.translate("outer", "en", "es").text == "R outer"
    assert ["await agent.atranslate" in words for words in refused] == [True]


def test_a_refused_run_hands_out_no_text_of_another_job(tmp_path: Path) -> None:
    def run_on(source: str) -> list[Chain]:
        with Agent(lambda text: f"R {text}", stages="t", store=tmp_path / "s.db") as agent, agent.run("r") as run:
            return run.improve(make_segments([source], None, "en", "es"))

    assert [chain.text for chain in run_on("secret")] == ["R secret"]
    with pytest.raises(MtagentError) as caught:
        run_on("another")
    assert caught.value.chains == ()


def test_an_agent_names_a_judge_that_chooses_by_place_over_several_calls(caplog: pytest.LogCaptureFixture) -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        if purpose == "judge":
            return '{"better": "A"}'
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    agent = Agent(llm=ScriptedLLM(reply), gate="pairwise", stages="p")
    for call in range(3):
        numbers = range(10 * call, 10 * call + 10)
        agent.postedit([f"phrase {i} end." for i in numbers], [f"frase {i} errado fin." for i in numbers], "en", "es")
        assert sum("contradicted itself in 20 of its last 20" in message for message in caplog.messages) == (call > 0)


FORK_DURING_A_CALL = """
import asyncio, os, signal, threading
from mtagent import Agent
from tests.jobs import improving

called, answer = threading.Event(), threading.Event()

class Slow:
    model = "slow"

    async def complete(self, *request, **options):
        if not called.is_set():
            called.set()
            await asyncio.to_thread(answer.wait)
        return await improving().complete(*request, **options)

agent = Agent(llm=Slow(), stages="p", gate="guards", token_budget=60_000)
texts = ("one phrase end.", "frase errado fin.", "en", "es")
thread = threading.Thread(target=agent.postedit, args=texts)
thread.start()
called.wait()
child = os.fork()
if not child:
    signal.alarm(20)
    assert agent.budget.reserved.tokens == 0
    agent.postedit(*texts)
    os._exit(0)
status = os.waitpid(child, 0)[1]
answer.set()
thread.join()
print(status)
"""


FORK_DURING_AN_IMPORT = """
import importlib, os, signal, sys, threading
from mtagent import Agent

begun, go_on = threading.Event(), threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "aiohttp" and not begun.is_set():
            begun.set()
            go_on.wait()

sys.meta_path.insert(0, Slow())
agent = Agent(base_url="http://127.0.0.1:1/v1", model="m", stages="p")
threading.Thread(target=importlib.import_module, args=["aiohttp"]).start()
begun.wait()
threading.Timer(0.5, go_on.set).start()
child = os.fork()
if not child:
    signal.alarm(10)
    import aiohttp
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
@pytest.mark.parametrize("script", [FORK_DURING_A_CALL, FORK_DURING_AN_IMPORT], ids=["a call", "an import"])
def test_a_forked_process_does_not_wait_for_threads_of_its_parent(script: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.stdout) == ("", "0\n")
