"""One segment through the chain: stages, verdicts, reasons, and what the guards and the gate refuse."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence

import pytest

from mtagent.chain import guards
from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector
from mtagent.chain.gate import OpenGate, PairwiseGate, RateGate
from mtagent.chain.proofread import Proofreader
from mtagent.errors import AuthenticationError, ConfigError, OffScript, ServerError
from mtagent.evaluators.rubric_mqm import RubricMQM
from mtagent.llm import prompts
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Completion, Draft, Message, Rating, Segment, Stage, Usage
from mtagent.translators.llm import LLMTranslator
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
    gates = {
        "rate": RateGate(evaluator),
        "pairwise": PairwiseGate(llm),
        "guards": OpenGate("guards"),
        "none": OpenGate("none"),
    }
    return Plan(stages, LLMTranslator(llm), evaluator, Proofreader(llm), gates[gate])


async def test_translate_postedit_proofread_each_better_by_its_judge() -> None:
    chain = await improve(segment(translation=None), plan(model()))
    assert [(step.stage, step.verdict) for step in chain.steps] == [(stage, "kept") for stage in TPP]
    assert [
        step.text.count(word) for step, word in zip(chain.steps, ["errado", "acertado", "correcto"], strict=True)
    ] == [1, 1, 1]
    assert chain.text == "The old bridge was closed for six correcto months."
    assert chain.steps[1].reason == "rubric-mqm -3 -> -1: better"


async def test_a_given_translation_skips_translate() -> None:
    chain = await improve(segment(), plan(model()))
    assert list(chain.by_stage()) == ["postedit", "proofread"]
    assert chain.given == BAD


async def test_a_segment_without_error_is_left_alone_at_no_further_cost() -> None:
    llm = model()
    chain = await improve(segment(translation=SOURCE), plan(llm))
    assert [request.purpose for request in llm.requests] == ["rate"]
    assert (chain.text, chain.steps[-1].verdict, chain.steps[-1].reason) == (SOURCE, "unchanged", "no error found")


async def test_a_text_is_rated_once_per_segment() -> None:
    llm = model()
    await improve(segment(), plan(llm))
    assert [request.purpose for request in llm.requests] == ["rate", "rate", "proofread", "rate"]


async def test_every_call_is_accounted_for() -> None:
    llm = model()
    chain = await improve(segment(translation=None), plan(llm))
    assert chain.usage == Usage(calls=5, input_tokens=50, output_tokens=10, cost=2.5)
    assert [call.purpose for step in chain.steps for call in step.calls] == [r.purpose for r in llm.requests]


async def test_edits_carry_their_offsets_and_outcomes() -> None:
    (edit,) = (await improve(segment(), plan(model(), ("postedit",)))).steps[0].edits
    assert (edit.start, edit.end, edit.old, edit.new, edit.outcome) == (34, 40, "errado", "acertado", "applied")
    assert edit.span is not None
    assert BAD[edit.span.start : edit.span.end] == edit.span.text


async def test_a_tie_keeps_the_earlier_text() -> None:
    def indifferent(body: Body) -> str:
        text = simulated.improving(body)
        return text.replace("acertado", "errado otro") if "errors" in text else text

    chain = await improve(segment(), plan(model(indifferent), ("postedit",)))
    assert chain.text == BAD
    assert chain.steps[0].reason == "rubric-mqm -3 -> -3: a tie keeps the earlier text"
    assert [edit.outcome for edit in chain.steps[0].edits] == ["rejected"]


async def test_pairwise_asks_in_both_orders_and_keeps_what_wins_both() -> None:
    llm = model()
    chain = await improve(segment(), plan(llm, gate="pairwise"))
    assert [r.purpose for r in llm.requests] == ["rate", "judge", "judge", "proofread", "judge", "judge"]
    assert (
        chain.steps[0].reason
        == f"compared in both orders by scripted ({prompts.load('compare').signature}): after, after"
    )


async def test_pairwise_disagreement_keeps_the_earlier_text() -> None:
    def likes_a(body: Body) -> str:
        text = simulated.improving(body)
        return json.dumps({"better": "A"}) if "better" in text else text

    chain = await improve(segment(), plan(model(likes_a), ("postedit",), "pairwise"))
    assert (chain.text, chain.steps[0].verdict) == (BAD, "rejected")


UI = "Press {name} to save 20 files of <b>%s</b>. Then go on."
TEXTS = {
    "half": (simulated.half, SOURCE, BAD),
    "commentary": (simulated.commentary, SOURCE, BAD),
    "placeholder": (
        simulated.placeholder,
        UI,
        "Pulse {name} para guardar 20 archivos errado de <b>%s</b>. Luego siga.",
    ),
    "number": (simulated.number, UI, "Pulse {name} para guardar 20 archivos errado de <b>%s</b>. Luego siga."),
    "paragraph": (simulated.paragraph, "It opened again. The mayor came.", "Abrió errado de nuevo. Vino el alcalde."),
    "whole paragraph": (
        simulated.paragraph,
        "The old bridge opened again in May. The mayor came.\n\nIt had been closed for six months.",
        "El puente viejo se abrió errado de nuevo en mayo.\n\nVino el alcalde.\n\nLlevaba seis meses cerrado.",
    ),
    "copied": (simulated.copied, SOURCE, "El puente viejo estuvo cerrado durante tres errado meses."),
}


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("gate", ["guards", "pairwise"])
async def test_no_damage_by_the_proofreader_reaches_the_text(case: str, gate: str) -> None:
    """Also where the judge is fooled: it prefers whatever is newer."""
    behaviour, source, translation = TEXTS[case]

    def fooled(body: Body) -> str:
        reply = behaviour(body)
        newer = "B" if "acertado" not in body["messages"][-1]["content"].split("Translation A:")[-1][:200] else "A"
        return json.dumps({"better": newer}) if reply.startswith('{"better"') else reply

    good = await improve(segment(source, translation), plan(model(fooled), ("postedit",), "guards"))
    chain = await improve(segment(source, translation), plan(model(fooled), ("postedit", "proofread"), "guards"))
    assert chain.text == good.text == translation.replace(" errado", " acertado")
    if case == "commentary":
        assert chain.failed is not None
        assert "it is no translation of the text (length:" in chain.failed.reason
    else:
        assert chain.steps[-1].verdict == "rejected"
        assert chain.steps[-1].reason.startswith(("guards:", "several lines"))
        assert all(edit.outcome == "refused" for edit in chain.steps[-1].edits)


async def test_a_failed_step_keeps_the_text_and_its_costs() -> None:
    bad = Completion(text="no json here", model="m", usage=Usage(calls=1, input_tokens=7, cost=0.1))
    chain = await improve(segment(), plan(ScriptedLLM([bad, bad])))
    assert (chain.text, chain.steps[-1].verdict) == (BAD, "failed")
    assert chain.failed is not None
    assert chain.failed.reason.startswith("RatingParseError")
    assert chain.usage == Usage(calls=2, input_tokens=14, cost=0.2)


async def test_an_unreadable_reply_is_asked_for_once_more_with_the_reason() -> None:
    llm = ScriptedLLM(["The translation is excellent!", '{"errors": []}'])
    chain = await improve(segment(), plan(llm))
    assert chain.steps[-1].verdict == "unchanged"
    assert "could not be used" in llm.requests[1].messages[-1].content


async def test_calls_made_before_a_failure_in_the_gate_are_kept() -> None:
    first = Completion(
        text=json.dumps({"errors": [{"span": "errado", "severity": 3, "suggestion": "x"}]}),
        model="m",
        usage=Usage(calls=1, cost=0.5),
    )
    error = ServerError("down")
    error.calls = (Call(purpose="", model="m", error="down", usage=Usage(calls=1, cost=0.25)),)
    chain = await improve(segment(), plan(ScriptedLLM([first, error])))
    assert chain.text == BAD
    assert chain.usage == Usage(calls=2, cost=0.75)
    assert [call.purpose for call in chain.steps[0].calls] == ["rate", "rate"]


async def test_an_error_that_concerns_every_segment_is_raised() -> None:
    with pytest.raises(AuthenticationError):
        await improve(segment(), plan(ScriptedLLM([AuthenticationError("401")])))


class Broken:
    name = "broken"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        raise KeyError("oops")


async def test_a_third_partys_bug_fails_one_segment_only() -> None:
    chain = await improve(segment(), Plan(("postedit",), evaluator=Broken()))
    assert chain.failed is not None
    assert chain.failed.reason == "KeyError: 'oops'"
    assert chain.text == BAD


class Asserting:
    name = "asserting"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        raise AssertionError("a third party's")


async def test_a_third_partys_assertion_fails_one_segment_only_but_a_fakes_does_not_pass() -> None:
    chain = await improve(segment(), Plan(("postedit",), evaluator=Asserting()))
    assert chain.failed is not None
    with pytest.raises(OffScript, match="nothing may be asked here"):
        await improve(segment(), plan(ForbiddenLLM()))


class Unmarked:
    name = "da"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator="da", score=70)


async def test_an_evaluator_without_spans_cannot_drive_postediting() -> None:
    with pytest.raises(ConfigError, match="marks no error spans"):
        await improve(segment(), Plan(("postedit",), evaluator=Unmarked()))


async def test_an_empty_source_asks_nobody() -> None:
    chain = await improve(segment("  ", "  "), plan(ForbiddenLLM()))
    assert (chain.text, chain.steps) == ("  ", ())
    assert (await improve(segment("\t", None), plan(ForbiddenLLM()))).text == "\t"


async def test_paragraphs_are_translated_one_by_one_and_joined_exactly() -> None:
    llm = model()
    chain = await improve(segment("One.\n\nTwo.\n Three.\n", None), plan(llm, ("translate",)))
    assert [r.purpose for r in llm.requests] == ["translate"] * 3
    assert chain.text.replace("errado ", "") == "One.\n\nTwo.\n Three.\n"


async def test_paragraphs_are_proofread_one_by_one_each_an_edit() -> None:
    source, text = "One is.\n\nTwo are.", "Uno acertado es.\n\nDos acertado son."
    chain = await improve(segment(source, text), plan(model(), ("proofread",), "guards"))
    assert chain.text == "Uno correcto es.\n\nDos correcto son."
    assert [edit.old for edit in chain.steps[0].edits] == ["Uno acertado es.", "Dos acertado son."]


async def test_a_translation_of_several_lines_for_one_is_asked_for_again_and_then_fails() -> None:
    chain = await improve(segment(translation=None), plan(ScriptedLLM(["Uno.\n\nDos.", "Uno.\nDos."]), ("translate",)))
    assert chain.failed is not None
    assert "several paragraphs" in chain.failed.reason


async def test_even_without_gate_and_guards_a_line_stays_a_line() -> None:
    chain = await improve(segment(), plan(model(simulated.commentary), ("proofread",), "none"))
    assert chain.text == BAD
    assert chain.steps[0].reason.startswith("several lines")


async def test_the_papers_strategy_replaces_without_asking() -> None:
    papers = dataclasses.replace(
        plan(model(), ("postedit",), "none"), corrector=Corrector(strategy="paper"), stop_when_error_free=False
    )
    chain = await improve(segment(translation=BAD + " errado"), papers)
    assert chain.text == BAD.replace("errado", "acertado") + " errado"  # only the occurrence between spaces
    assert chain.steps[0].edits[0].start is None


def test_the_papers_strategy_goes_with_no_gate() -> None:
    with pytest.raises(ConfigError, match="--gate none"):
        dataclasses.replace(plan(model()), corrector=Corrector(strategy="paper"))


def test_a_stage_without_its_part_is_refused() -> None:
    with pytest.raises(ConfigError, match="the stage proofread has nothing to work with"):
        Plan(("proofread",))


async def test_a_text_that_its_edits_made_error_free_is_left_alone_at_no_further_cost() -> None:
    found = json.dumps({"errors": [{"span": "errado ", "severity": 3, "suggestion": ""}]})
    llm = ScriptedLLM([found, '{"errors": []}'])
    chain = await improve(segment("Le vieux pont fut fermé pendant six mois."), plan(llm))
    assert [(step.stage, step.verdict) for step in chain.steps] == [("postedit", "kept")]
    assert chain.text == SOURCE
    llm.finish()


async def test_the_gates_own_calls_and_the_time_are_on_the_step() -> None:
    chain = await improve(segment(), plan(model(), ("postedit",), "pairwise"))
    assert [call.purpose for call in chain.steps[0].calls] == ["rate", "judge", "judge"]
    assert chain.steps[0].usage.cost == 1.5
    assert 0 < chain.steps[0].seconds < 60


@pytest.mark.parametrize("stage", ["translate", "proofread"])
async def test_each_paragraph_is_shown_its_neighbours(stage: Stage) -> None:
    llm = ScriptedLLM(["Uno.", "Dos.", "Tres."])
    given = None if stage == "translate" else "Uno.\n\nDos.\n\nTres."
    await improve(segment("One.\n\nTwo.\n\nThree.", given), plan(llm, (stage,)))
    contexts = [request.messages[-1].content.split("</context-")[0] for request in llm.requests]
    assert ["One." in context for context in contexts] == [False, True, False]
    assert ["Two." in context for context in contexts] == [True, False, True]
    assert ["Three." in context for context in contexts] == [False, True, False]


class Speaker:
    """A translator that says the same whatever it is given."""

    name = "speaker"

    def __init__(self, text: str) -> None:
        self.text = text

    async def draft(self, segment: Segment) -> Draft:
        return Draft(text=self.text)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("hola", "kept"),
        ("hola\n", "kept"),
        ("hola\r\n", "kept"),
        ("a\nb", "failed"),
        ("", "failed"),
        (" ", "failed"),
        ("a\ud83d", "failed"),
    ],
)
async def test_what_is_no_translation_of_one_line_is_never_kept(text: str, verdict: str) -> None:
    chain = await improve(segment(translation=None), Plan(("translate",), Speaker(text)))
    assert (chain.steps[0].verdict, chain.text) == (verdict, "hola" if verdict == "kept" else "")


@pytest.mark.parametrize("gate", ["none", "guards"])
@pytest.mark.parametrize("wording", ["Uno.\nDos.", "Uno.\n\nDos."])
async def test_a_rejected_step_of_several_lines_lists_no_edit_as_applied(gate: str, wording: str) -> None:
    every_guard = frozenset(guards.GUARDS)
    plan = Plan(
        ("proofread",),
        proofreader=Proofreader(ScriptedLLM([wording])),
        gate=OpenGate(gate),
        skip_guards=every_guard,
    )
    chain = await improve(segment(), plan)
    assert (chain.text, chain.steps[0].verdict) == (BAD, "rejected")
    assert [edit.outcome for edit in chain.steps[0].edits] == ["rejected"]
    assert chain.steps[0].proposed == wording


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("translate", "Un \ud83d."),
        ("postedit", '{"errors": [{"span": "errado", "severity": 1, "suggestion": "\\ud83d"}]}'),
        ("proofread", "Un \x00."),
    ],
)
async def test_a_reply_with_broken_characters_fails_the_step_and_keeps_its_costs(stage: Stage, reply: str) -> None:
    given = None if stage == "translate" else BAD
    chain = await improve(segment(translation=given), plan(model(lambda body: reply), (stage,)))
    assert chain.failed is not None
    assert (chain.text, chain.usage.calls, chain.usage.cost) == (given or "", 2, 1.0)


def test_a_plan_without_stages_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no stage to run"):
        Plan(())


async def test_what_was_paid_before_a_third_partys_bug_is_accounted_for() -> None:
    paid = Completion(text="Uno.", model="m", usage=Usage(calls=1, cost=0.5))
    chain = await improve(
        segment("One.\n\nTwo.", translation=None), plan(ScriptedLLM([paid, RuntimeError("bug")]), ("translate",))
    )
    assert chain.failed is not None
    assert (chain.failed.reason, chain.usage.cost) == ("RuntimeError: bug", 0.5)
