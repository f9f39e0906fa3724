"""One segment through the chain: stages, verdicts, reasons, costs, and what the guards and the gate refuse."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mtagent.chain import guards
from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector
from mtagent.chain.gate import OpenGate, PairwiseGate, RateGate
from mtagent.chain.proofread import Proofreader
from mtagent.cli.demo import sample_path
from mtagent.errors import AuthenticationError, ConfigError, OffScript, ServerError
from mtagent.evaluators.rubric_mqm import RubricMQM
from mtagent.jobs.agent import Agent
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.llm.gathering import LARGE, aside
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Completion, Draft, Message, Rating, Segment, Stage, Step, Usage
from mtagent.translators.llm import LLMTranslator
from tests.codes import without_codes
from tests.simulator import Settings, Simulator
from tests.simulator import chain as simulated
from tests.simulator.settings import Body

SOURCE = "The old bridge was closed for six months."
BAD = "The old bridge was closed for six errado months."
TPP: tuple[Stage, ...] = ("translate", "postedit", "proofread")


def segment(source: str = SOURCE, translation: str | None = BAD) -> Segment:
    return Segment(id="7", source=source, source_lang="en", target_lang="es", translation=translation)


def model(behaviour: Callable[[Body], str] = simulated.improving) -> ScriptedLLM:
    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        text = behaviour({"messages": [message.model_dump() for message in messages]})
        return Completion(text=text, model="m", usage=Usage(calls=1, input_tokens=10, output_tokens=2, cost=0.5))

    return ScriptedLLM(reply)


def plan(llm: LLM, stages: tuple[Stage, ...] = TPP, gate: str = "rate") -> Plan:
    evaluator = RubricMQM(llm)
    gates = {"rate": RateGate(evaluator), "pairwise": PairwiseGate(llm)}
    return Plan(stages, LLMTranslator(llm), evaluator, Proofreader(llm), gates.get(gate, OpenGate(gate)))


async def only_step(segment: Segment, plan: Plan) -> Step:
    (step,) = (await improve(segment, plan)).steps
    return step


# -- the stages


async def test_each_stage_improves_the_text_and_every_call_is_accounted_for() -> None:
    llm = model()
    chain = await improve(segment(translation=None), plan(llm))
    assert [(step.stage, step.verdict) for step in chain.steps] == [(stage, "kept") for stage in TPP]
    assert [step.text for step in chain.steps] == [BAD.replace("errado", w) for w in ("errado", "acertado", "correcto")]
    assert chain.steps[1].reason == "rubric-mqm (scripted) -3 -> -1: better"
    assert chain.usage == Usage(calls=6, input_tokens=60, output_tokens=12, cost=3.0)
    asked = [call.purpose for step in chain.steps for call in step.calls]
    assert asked == [request.purpose for request in llm.requests]
    assert asked == ["translate", "rate", "rate", "rate", "proofread", "rate"], "edited by one, judged before and after"
    assert all(0 < step.seconds < 60 for step in chain.steps)


async def test_a_given_translation_skips_translate() -> None:
    chain = await improve(segment(), plan(model()))
    assert (list(chain.by_stage()), chain.given) == (["postedit", "proofread"], BAD)


async def test_a_text_without_error_is_left_alone_at_no_further_cost() -> None:
    llm = model()
    step = await only_step(segment(translation=SOURCE), plan(llm))
    assert [request.purpose for request in llm.requests] == ["rate"]
    assert (step.text, step.verdict, step.reason) == (SOURCE, "unchanged", "no error found")
    llm = ScriptedLLM(['{"errors": [{"span": "errado ", "severity": 3, "suggestion": ""}]}'] * 2 + ['{"errors": []}'])
    step = await only_step(segment("Le vieux pont fut fermé pendant six mois."), plan(llm))
    assert (step.stage, step.verdict, step.text) == ("postedit", "kept", SOURCE), "the judge found no error left"
    llm.finish()


async def test_edits_carry_their_offsets_and_outcomes() -> None:
    (edit,) = (await only_step(segment(), plan(model(), ("postedit",)))).edits
    assert (edit.start, edit.end, edit.old, edit.new, edit.outcome) == (34, 40, "errado", "acertado", "applied")
    assert edit.span is not None
    assert BAD[edit.span.start : edit.span.end] == edit.span.text


async def test_an_empty_source_asks_nobody() -> None:
    chain = await improve(segment("  ", "  "), plan(ForbiddenLLM()))
    assert (chain.text, chain.steps) == ("  ", ())
    assert (await improve(segment("\t", None), plan(ForbiddenLLM()))).text == "\t"


async def test_paragraphs_are_translated_and_proofread_one_by_one_and_joined_exactly() -> None:
    llm = model()
    step = await only_step(segment("One.\n\nTwo.\n Three.\n", None), plan(llm, ("translate",)))
    assert [request.purpose for request in llm.requests] == ["translate"] * 3
    assert step.text.replace("errado ", "") == "One.\n\nTwo.\n Three.\n"
    pair = segment("One is.\n\nTwo are.", "Uno acertado es.\n\nDos acertado son.")
    step = await only_step(pair, plan(model(), ("proofread",), "guards"))
    assert step.text == "Uno correcto es.\n\nDos correcto son."
    assert [edit.old for edit in step.edits] == ["Uno acertado es.", "Dos acertado son."]


async def test_a_text_with_other_paragraphs_than_its_source_is_proofread_as_a_whole() -> None:
    llm = ScriptedLLM(["Uno.\n\nDos y tres."])
    pair = segment("One.\n\nTwo and three.", "Uno.\n\nDos.\n\nY tres.")
    step = await only_step(pair, plan(llm, ("proofread",), "guards"))
    assert (step.text, step.verdict, len(llm.requests)) == ("Uno.\n\nDos y tres.", "kept", 1)


async def test_the_papers_proofreader_gets_the_whole_text_at_once_and_gives_a_single_sentence() -> None:
    """Multi-agentMT, Listing 2; what it loses (Table 6) is lost, unless the guards look."""
    pair = segment("One is.\n\nTwo are.", "Uno es.\n\nDos son.").model_copy(
        update={"domain": "news", "notes": "Be formal.", "context": "Before."}
    )
    llm = ScriptedLLM(["Uno es y dos son."])
    papers = dataclasses.replace(plan(llm, ("proofread",), "none"), proofreader=Proofreader(llm, strategy="paper"))
    step = await only_step(pair, papers)
    assert (step.text, step.verdict) == ("Uno es y dos son.", "kept")
    [request] = llm.requests
    system, user = (without_codes(message.content) for message in request.messages)
    assert "single sentence" in system
    assert not re.search("unchanged|as it stands|good", system), "there is no word of a text that needs no change"
    assert user == (
        "Domain:\n<domain>news</domain>\nEnglish source:\n<source>One is.\n\nTwo are.</source>\n"
        "Spanish translation:\n<translation>Uno es.\n\nDos son.</translation>"
    )


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"problems": ["perro"], "text": "El gato come."}', "El gato come."),
        ('```json\n{"problems": [], "text": "{count} gatos."}\n```', "{count} gatos."),
        ("El gato come.", "El gato come."),
        ('{"problems": ["perro"]}', None),
        ('{"problems": ["perro"], "text": ["El gato come."]}', None),
        ('{"problems": ["perro"], "text": "El ga', None),
    ],
)
async def test_the_proofreader_gives_the_problems_and_then_the_text_in_json(reply: str, text: str | None) -> None:
    llm = ScriptedLLM([reply, reply])
    step = await only_step(segment("The cat eats.", "El perro come."), plan(llm, ("proofread",), "none"))
    assert (step.text, step.verdict) == ((text, "kept") if text else ("El perro come.", "failed"))
    assert list((llm.requests[0].schema or {})["properties"]) == ["problems", "text"]


async def test_a_proofread_prompt_without_a_schema_asks_for_the_text_alone(tmp_path: Path) -> None:
    (tmp_path / "proofread.toml").write_text(
        'version = "own"\n[[system]]\ntext = "Proofread."\n[[user]]\nquote = "translation"\n', encoding="utf-8"
    )
    llm = ScriptedLLM(['{"text": "Un gato."}'])
    own = dataclasses.replace(plan(llm, ("proofread",), "none"), proofreader=Proofreader(llm, prompts_folder=tmp_path))
    step = await only_step(segment('{"text": "A cat."}', '{"text": "Un perro."}'), own)
    assert (step.text, llm.requests[0].schema) == ('{"text": "Un gato."}', None)


@pytest.mark.parametrize("stage", ["translate", "proofread"])
async def test_each_paragraph_is_shown_its_neighbours(stage: Stage) -> None:
    llm = ScriptedLLM(["Uno.", "Dos.", "Tres."])
    translation = None if stage == "translate" else "Uno.\n\nDos.\n\nTres."
    await improve(segment("One.\n\nTwo.\n\nThree.", translation), plan(llm, (stage,)))
    contexts = [request.messages[-1].content.split("</context-")[0] for request in llm.requests]
    assert ["One." in context for context in contexts] == [False, True, False]
    assert ["Two." in context for context in contexts] == [True, False, True]
    assert ["Three." in context for context in contexts] == [False, True, False]


async def test_the_papers_strategy_replaces_without_asking() -> None:
    papers = dataclasses.replace(
        plan(model(), ("postedit",), "none"), corrector=Corrector(strategy="paper"), stop_when_error_free=False
    )
    step = await only_step(segment(translation=BAD + " errado"), papers)
    assert step.text == BAD.replace("errado", "acertado") + " errado"  # only the occurrence between spaces
    assert step.edits[0].start is None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Plan(()), "there is no stage to run"),
        (lambda: Plan(("proofread",)), "the stage proofread has nothing to work with"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(make: Callable[[], Plan], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        make()


# -- what the gate and the guards refuse


async def test_a_tie_keeps_the_earlier_text() -> None:
    def indifferent(body: Body) -> str:
        text = simulated.improving(body)
        return text.replace("acertado", "errado otro") if "errors" in text else text

    step = await only_step(segment(), plan(model(indifferent), ("postedit",)))
    assert (step.text, step.verdict, step.edits[0].outcome) == (BAD, "rejected", "rejected")
    assert step.reason == step.edits[0].detail == "rubric-mqm (scripted) -3 -> -3: a tie keeps the earlier text"


async def test_pairwise_asks_in_both_orders_and_keeps_what_wins_both() -> None:
    llm = model()
    chain = await improve(segment(), plan(llm, gate="pairwise"))
    assert [r.purpose for r in llm.requests] == ["rate", "judge", "judge", "proofread", "judge", "judge"]
    assert chain.steps[0].reason == "scripted, comparing both texts: prefers the new text"
    assert [call.purpose for call in chain.steps[0].calls] == ["rate", "judge", "judge"]
    assert chain.steps[0].usage.cost == 1.5


@pytest.mark.loopback
@pytest.mark.parametrize("gate", ["guards", "rate"])
@pytest.mark.parametrize("name", ["sample.en-es.jsonl", "sample.en-pt.jsonl"])
@pytest.mark.parametrize("behaviour", ["half", "commentary", "placeholder", "number", "paragraph", "copied"])
async def test_nothing_of_it_reaches_the_output(behaviour: str, name: str, gate: str) -> None:
    """A proofreader does one kind of damage to the whole sample, and the judge prefers whatever is newer."""
    lines = sample_path(name).read_text(encoding="utf-8").splitlines()
    async with Simulator(Settings(behaviour=getattr(simulated, behaviour))) as server:
        agent = Agent(base_url=server.base_url, stages="pr", gate=gate)
        chains = [chain async for chain in agent.astream(map(Segment.model_validate_json, lines))]
    assert [(chain.given, chain.text) for chain in chains if chain.text != chain.given] == []
    steps = [chain.steps[0] for chain in chains if chain.steps[0].proposed != chain.given]
    assert len(steps) >= 4
    # What talks about itself is no translation: it is asked for once more, and then has failed.
    assert {step.verdict for step in steps} == {"failed" if behaviour == "commentary" else "rejected"}
    assert {edit.outcome for step in steps for edit in step.edits} <= {"refused"}


@pytest.mark.parametrize("gate", ["none", "guards"])
@pytest.mark.parametrize(
    "wording", ["Uno.\nDos.", "Uno.\n\nDos.", *(f"Uno.{mark}Dos." for mark in "\r\x0b\x0c\x85\u2028\u2029")]
)
async def test_a_line_stays_a_line_whatever_is_switched_off(gate: str, wording: str) -> None:
    proofreader = Proofreader(ScriptedLLM([wording]))
    every_guard = frozenset(guards.GUARDS)
    step = await only_step(
        segment(), Plan(("proofread",), proofreader=proofreader, gate=OpenGate(gate), skip_guards=every_guard)
    )
    assert (step.text, step.verdict, step.proposed) == (BAD, "rejected", wording)
    assert step.cause.kind == "lines"
    assert [(edit.outcome, edit.detail) for edit in step.edits] == [("rejected", step.reason)]


@pytest.mark.parametrize("mark", ["\r", "\x0b", "\x85", "\u2028"])
@pytest.mark.parametrize("gate", ["none", "guards"])
async def test_a_line_break_of_the_source_may_stay(gate: str, mark: str) -> None:
    source, before = f"The bridge was closed.{mark}It is open.", f"El puente estaba cerrado.{mark}Esta abierto."
    lines = {"The bridge": "El puente estaba cerrado.", "It is open": "Está abierto."}

    def corrected(messages: Sequence[Message], purpose: str) -> str:
        asked = messages[-1].content.partition("English source:")[2]
        return next(text for start, text in lines.items() if start in asked)

    plan = Plan(("proofread",), proofreader=Proofreader(ScriptedLLM(corrected)), gate=OpenGate(gate))
    step = await only_step(segment(source, before), plan)
    assert (step.verdict, step.text) == ("kept", before.replace("Esta", "Está"))


async def test_a_translation_of_one_line_has_one_line_for_every_reader() -> None:
    class Breaking:
        name = "breaking"

        async def draft(self, segment: Segment) -> Draft:
            return Draft(text="El puente\restaba cerrado.")

    step = await only_step(segment(translation=None), Plan(("translate",), Breaking()))
    assert (step.verdict, step.cause.detail) == ("failed", "breaking made several lines of one")


async def test_a_large_text_that_is_not_checked_in_time_is_that_of_the_mt_system() -> None:
    class Echo:
        name = "echo"

        async def draft(self, segment: Segment) -> Draft:
            return Draft(text=f"{segment.source}!")

    go_on = threading.Event()
    busy = asyncio.create_task(aside(LARGE, go_on.wait, 30))  # the thread that would check it
    large = "word " * LARGE + "end"
    chain = await improve(segment(large, translation=None), Plan(("translate",), Echo()), within=0.3)
    go_on.set()
    await busy
    assert (chain.text, chain.state, chain.steps[0].cause.kind) == (f"{large}!", "failed", "error")
    assert chain.failed is not None
    assert chain.failed.reason == "not done within 0.3 s"


# -- failures


async def test_a_failed_step_keeps_the_text_and_its_costs() -> None:
    bad = Completion(text="no json here", model="m", usage=Usage(calls=1, input_tokens=7, cost=0.1))
    chain = await improve(segment(), plan(ScriptedLLM([bad, bad])))
    assert (chain.text, chain.steps[-1].verdict) == (BAD, "failed")
    assert chain.failed is not None
    assert chain.failed.reason.startswith("no JSON object or list in the reply")
    assert chain.usage == Usage(calls=2, input_tokens=14, cost=0.2)


async def test_calls_made_before_a_failure_are_kept() -> None:
    errors = json.dumps({"errors": [{"span": "errado", "severity": 3, "suggestion": "x"}]})
    paid = Completion(text=errors, model="m", usage=Usage(calls=1, cost=0.5))
    down = ServerError("down")
    down.calls = (Call(purpose="", model="m", error="down", usage=Usage(calls=1, cost=0.25)),)
    step = await only_step(segment(), plan(ScriptedLLM([paid, down, paid])))
    assert (step.text, step.usage) == (BAD, Usage(calls=3, cost=1.25))  # the judge's other rating was under way
    assert [call.purpose for call in step.calls] == ["rate", "rate", "rate"]
    third_party = ScriptedLLM([paid, RuntimeError("bug")])
    step = await only_step(segment("One.\n\nTwo.", translation=None), plan(third_party, ("translate",)))
    assert (step.verdict, step.reason, step.usage.cost) == ("failed", "RuntimeError: bug", 0.5)


class Broken:
    """An evaluator that raises."""

    name = "broken"

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def rate(self, segment: Segment, translation: str) -> Rating:
        raise self.error


@pytest.mark.parametrize("error", [KeyError("oops"), AssertionError("'oops'")])
async def test_a_third_partys_bug_fails_one_segment_only(error: Exception) -> None:
    step = await only_step(segment(), Plan(("postedit",), evaluator=Broken(error)))
    assert (step.verdict, step.text, step.reason) == ("failed", BAD, f"{type(error).__name__}: 'oops'")


async def test_an_error_that_concerns_every_segment_is_raised() -> None:
    with pytest.raises(AuthenticationError):
        await improve(segment(), plan(ScriptedLLM([AuthenticationError("401")])))
    with pytest.raises(OffScript, match="no request is allowed here"):
        await improve(segment(), plan(ForbiddenLLM()))


class Speaker:
    """A translator that says the same whatever it is given."""

    name = "speaker"

    def __init__(self, text: str) -> None:
        self.text = text

    async def draft(self, segment: Segment) -> Draft:
        return Draft(text=self.text)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("hola", "kept"), ("hola\n", "kept"), ("hola\r\n", "kept"), ("a\nb", "failed"), ("", "failed"), (" ", "failed"),
     ("a\ud83d", "failed")],
)  # fmt: skip
async def test_what_is_no_translation_of_one_line_is_never_kept(text: str, verdict: str) -> None:
    step = await only_step(segment(translation=None), Plan(("translate",), Speaker(text)))
    assert (step.verdict, step.text) == (verdict, "hola" if verdict == "kept" else "")


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("translate", "Un \ud83d."),
        ("translate", "Uno.\n\nDos."),
        ("postedit", '{"errors": [{"span": "errado", "severity": 1, "suggestion": "\\ud83d"}]}'),
        ("proofread", "Un \x00."),
    ],
)
async def test_a_reply_that_is_no_text_of_the_segment_fails_the_step_and_keeps_its_costs(
    stage: Stage, reply: str
) -> None:
    translation = None if stage == "translate" else BAD
    step = await only_step(segment(translation=translation), plan(model(lambda body: reply), (stage,)))
    assert (step.verdict, step.text) == ("failed", translation or "")
    assert (step.usage.calls, step.usage.cost) == (2, 1.0)
