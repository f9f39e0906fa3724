"""The guards of the translate stage see what is no translation, with nothing but the source, and no other text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector
from mtagent.chain.gate import OpenGate
from mtagent.chain.proofread import Proofreader
from mtagent.chain.translation import refusals
from mtagent.errors import (
    FATAL,
    BadRequest,
    EmptyReply,
    ModelError,
    MtagentError,
    RateLimited,
    Refused,
    ServerError,
    Truncated,
    UnreadableReply,
)
from mtagent.evaluators.rules import Rules
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Rating, Segment, Step
from mtagent.translators import CallableTranslator
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator
from wmt.guards import translations

BRIDGE = "The old bridge was closed for six months."
GOOD, BETTER = "El viejo puente estuvo cerrado seis meses.", "El viejo puente permaneció cerrado seis meses."
LONG = "The old bridge was closed for six months because of {count} repairs, and <b>nobody</b> knows when it opens."
LOSSY = "El puente cerró seis meses por {count} obras, y nadie sabe cuándo abre."
REFUSAL = "I'm sorry, I cannot translate this."
SNOW = "対局再開３０分前、午前８時半の外の様子。気温０度、昨夜降った雪が所々に残っている＝栃木県大田原市"


def segment(source: str = BRIDGE, pair: tuple[str, str] = ("en", "es"), translation: str | None = None) -> Segment:
    return Segment(id="7", source=source, source_lang=pair[0], target_lang=pair[1], translation=translation)


EN_ES, EN_JA, ZH_EN, EN_UK, EN_AR = ("en", "es"), ("en", "ja"), ("zh", "en"), ("en", "uk"), ("en", "ar")
EN_DE = ("en", "de")
REFUSED_OF_THE_BRIDGE = {
    "length": [
        REFUSAL,
        "I’m sorry, but I can’t assist with that request.",
        "Lo siento, no puedo traducir este texto.",
        "Here is the Spanish translation: El viejo puente estuvo cerrado seis meses.",
        "Traducción: El viejo puente estuvo cerrado seis meses.",
        "El viejo puente estuvo cerrado seis meses.``` Note: formal.",
        "<think>Hm.</think>El viejo puente estuvo cerrado seis meses.",
        "As an AI language model, I have no opinion on bridges.", "El puente estuvo cerrado. " * 12,
    ],
    "words": ["100", "[]", "``` ```"],
    "size": ["puente " * 2000],
    "control": [
        f"El puente {signs} estuvo cerrado."
        for signs in ("\x1b]0;owned\x07", "\x00", "\x9b31m", "\u202e", "\u2066", "\ufffd")
    ],
    "script": ["Старый мост был закрыт шесть месяцев."],
}  # fmt: skip
REFUSED = [
    *((guard, EN_ES, BRIDGE, text) for guard, texts in REFUSED_OF_THE_BRIDGE.items() for text in texts),
    ("length", ZH_EN, "我寄愁心与明月，随君直到夜郎西。", "I'm sorry, I can't assist with that request."),
    ("length", EN_DE, BRIDGE, "Es tut mir leid, dabei kann ich nicht helfen."),
    ("length", EN_ES, "Note: no dogs", "Traducción: Nota: sin perros"),
    ("length", EN_ES, BRIDGE * 8, "El puente."),
    ("length", EN_ES, "🙌", "Elige una de las opciones " * 5),
    ("length", ("ja", "zh"), SNOW, "免费送货"),
    ("words", EN_ES, "Yes.", "[]"), ("words", EN_ES, "Open the old file", "100"),
    ("words", EN_ES, "Open the old file", "85"), ("words", ZH_EN, "我寄愁心与明月", "42"),
    ("words", EN_ES, "Open {name} now please", "{name}"),
    ("control", EN_AR, BRIDGE, "أغلق الجسر القديم \u202eستة أشهر."),
    ("script", EN_JA, BRIDGE, "The old crossing stayed shut half a year."),
    ("script", EN_UK, BRIDGE, "I will not do this for you."),
    ("script", ("en", "sr-Cyrl"), BRIDGE, "Stari most je bio zatvoren šest meseci."),
    ("placeholders", EN_ES, LONG, "El puente cerró seis meses por {número} obras, y <b>nadie</b> sabe cuándo abre."),
    ("placeholders", EN_ES, "{count} of $USERS", "{count}: usuarios"),
    ("tags", EN_ES, "See <Link>here</Link>", "Vea aquí"), ("tags", EN_ES, '<mark id="1">Yes', "Sí"),
    ("tags", EN_ES, "See <1>here</1>", "Vea aquí"), ("tags", EN_ES, "See <1>here</1>", "Vea <1>aquí</1> <2/>"),
    ("tags", EN_ES, "<1>See</1> <2>here</2>", "<1>Vea <2>aquí</1></2>"),
    ("tags", EN_ES, "See <a>here</a>", "Vea aquí"), ("tags", EN_ES, LONG, LOSSY),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "pair", "source", "text"), REFUSED)
def test_what_is_no_translation_is_refused(guard: str, pair: tuple[str, str], source: str, text: str) -> None:
    assert guard in {damage.guard for damage in refusals(segment(source, pair), text)}


ALLOWED = [
    (EN_ES, BRIDGE, "hola"), (EN_ES, BRIDGE, BRIDGE), (EN_JA, BRIDGE, BRIDGE),
    (EN_JA, "GitHub Actions for PlayStation Plus", "GitHub Actions PlayStation Plus"),
    (("ja", "ko"), "マイクロソフト・オフィス・ワード", "Microsoft Office Word"), (EN_ES, "One hundred", "100"),
    (ZH_EN, "一百二十", "120"), (EN_ES, "lol", "😂"), (EN_ES, "Hmm…", "…"), (EN_ES, "…", "[]"),
    (EN_ES, "OK", "De acuerdo, así lo haremos la próxima vez"),
    (ZH_EN, "不客气", "You are very welcome, it was no trouble at all for me, really"),
    (("de", "en"), "Es tut mir leid, ich kann das nicht übersetzen.", "I'm sorry, I cannot translate that."),
    (ZH_EN, "很抱歉，我无法协助您处理此请求。", "I'm sorry, I can't assist with that request."),
    (("he", "en"), "הנה התרגום לאנגלית:", "Here is the English translation:"),
    (EN_ES, "Sorry, I cannot help with that.", "Lo siento, no puedo ayudar con eso."),
    (ZH_EN, "当然，我可以。", "Of course, I can. I can't wait."),
    (EN_ES, "Note: no dogs", "Nota: sin perros"),
    (EN_AR, "The file \u202a(a.txt)\u202c is here", "الملف \u202a(a.txt)\u202c هنا"),
    (EN_AR, "The file (a.txt) is here", "الملف \u2066(a.txt)\u2069 هنا"),
    (EN_ES, "Bell\x07 rings", "La campana\x07 suena"),
    (("en", "sr"), BRIDGE, "Stari most je bio zatvoren šest meseci."),
    (EN_ES, r"Line one\nLine two &amp; three", "Línea una línea dos & tres"),
    (EN_ES, "<div id=a>Yes</div>", '<div id="a">Sí</div>'),
    (EN_ES, "<1>See</1> <2/> here", "Aquí <2/> <1>vea</1>"),
    (EN_ES, "Well <laugh/> yes", "Bueno, sí"),
    (EN_DE, "Press <Ctrl>+<Del>.", "Drücken Sie <Strg>+<Entf>."),
    (EN_DE, "Dear <First Name>, enter <your password>", "Hallo <Vorname>, geben Sie <Ihr Passwort> ein"),
    (EN_DE, r"This is \textbf{important} news.", r"Das sind \textbf{wichtige} Neuigkeiten."),
    (EN_DE, "He paid $A20, not $US500.", "Er zahlte 20 australische, nicht 500 amerikanische Dollar."),
    (("en", "ru"), "Bank transfer: 500 rubles", "Банковский перевод: 500 рублей"),
    (EN_JA, "Breakdown: 3 apples", "内訳：りんご3個"),
    (("de", "en"), "Endfassung: 12. Mai", "Final version: 12 May"),
    (("en", "ru"), "Unfortunately, I cannot fulfil your order.", "К сожалению, я не могу выполнить ваш заказ."),
    (("nl", "en"), "Helaas kan ik dit verzoek niet verwerken.", "I'm sorry, I can't process this request."),
    (("bn", "en"), "দুঃখিত, আমি এতে সাহায্য করতে পারি না।", "I'm sorry, I can't help with that."),
    (("ja", "en"), "AIの言語モデルとして、意見はありません。", "As an AI language model, I have no opinions."),
    (EN_ES, "Nineteen eighty-four", "1984"), (EN_DE, "a quarter past nine", "9:15"),
    (EN_ES, "-" * 60 + " TITLE " + "-" * 60, "TÍTULO"),
    (("en", "crh"), BRIDGE, "Eski köpür altı ay qapatıldı ve kimse bilmey."),
    (("en", "nan"), BRIDGE, "Kū ê kiô koaiⁿ-pì la̍k kò goe̍h."),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "source", "text"), ALLOWED)
def test_a_real_translation_however_odd_is_none_of_their_business(
    pair: tuple[str, str], source: str, text: str
) -> None:
    assert refusals(segment(source, pair), text) == ()


def test_a_text_of_megabytes_is_refused_at_a_glance() -> None:
    began = time.process_time()
    (damage,) = refusals(segment(), "El puente " * 5_000_000)
    assert (damage.guard, len(damage.detail) < 100) == ("size", True)
    assert time.process_time() - began < 5


def test_guards_can_be_switched_off_by_name_but_not_what_is_no_text_at_all() -> None:
    assert refusals(segment(), REFUSAL, skip={"length"}) == ()
    assert refusals(segment(), "[]", skip={"length", "script", "control", "tags", "placeholders"})


@pytest.mark.slow
@pytest.mark.data
def test_no_translation_by_people_is_refused_and_few_by_systems(data: Path) -> None:
    """What is refused of the systems was read: it is all damage, by the weakest systems, or the wrong script."""
    rows = [(who, bool(refusals(segment, text))) for who, segment, text in translations(data)]
    people, systems = ([refused for who, refused in rows if who == name] for name in ("people", "systems"))
    assert len(people) > 3000
    assert sum(people) == 0
    assert sum(systems) / len(systems) < 0.006


class Wrapped:
    """An MT system that answers with the next of its texts, or raises it."""

    def __init__(self, *texts: object) -> None:
        self.texts, self.asked = list(texts), 0

    def translate(self, text: str) -> object:
        self.asked += 1
        answer = self.texts.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def first_step(translator: Translator, source: str = BRIDGE, **settings: Any) -> Step:
    plan = Plan(**{"stages": ("translate",), "translator": translator, **settings})
    return (await improve(segment(source), plan)).steps[0]


@pytest.mark.parametrize("bad", [REFUSAL, "[]", "", None, "a\nb", "Uno \x1b[2J.", "Uno \ud83d"])
async def test_a_wrapped_system_is_asked_once_more(bad: str | None) -> None:
    system = Wrapped(bad, GOOD)
    step = await first_step(CallableTranslator(system.translate))
    assert (step.text, step.verdict, system.asked) == (GOOD, "kept", 2)


@pytest.mark.parametrize(
    ("answers", "asked", "reason"),
    [
        ([REFUSAL, "100"], 2, "Wrapped: words: the source has words, and the text has none"),
        ([KeyError("no model")], 1, "Wrapped: KeyError: 'no model'"),
    ],
)
async def test_then_the_step_fails_with_the_guard_named_and_a_system_that_breaks_is_not_asked_again(
    answers: list[object], asked: int, reason: str
) -> None:
    system = Wrapped(*answers)
    step = await first_step(CallableTranslator(system.translate))
    assert (step.verdict, step.text, system.asked) == ("failed", "", asked)
    assert step.reason.startswith(reason)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (REFUSAL, "length: the text speaks of translating"),
        ("```\n```", "it holds no text"),
        ("```\n\n```", "it holds no text"),
        ("100", "words: the source has words"),
        (
            "Keep placeholders, tags, URLs, e-mail addresses, code and line breaks exactly as they are.",
            "it repeats the instructions",
        ),
    ],
)
async def test_a_model_is_asked_once_more_with_the_reason(bad: str, reason: str) -> None:
    llm = ScriptedLLM([bad, GOOD])
    step = await first_step(LLMTranslator(llm))
    assert (step.text, len(step.calls)) == (GOOD, 2)
    assert reason in llm.requests[1].messages[-1].content
    step = await first_step(LLMTranslator(ScriptedLLM([bad, bad])))
    assert (step.verdict, step.text, len(step.calls)) == ("failed", "", 2)
    assert reason in step.reason


@pytest.mark.parametrize("stages", [("translate",), ("translate", "postedit")])
async def test_a_lost_tag_is_asked_for_again_and_then_left_to_a_stage_that_can_restore_it(stages: Any) -> None:
    """Weak systems lose them in good translations: 10 of 65 texts of the bundled sample."""
    system, llm = Wrapped(LOSSY, LOSSY), ScriptedLLM([LOSSY, LOSSY])
    for translator in (CallableTranslator(system.translate), LLMTranslator(llm)):
        settings = {"stages": stages, "evaluator": Rules(), "stop_when_error_free": False}
        step = await first_step(translator, LONG, **settings)
        assert "tags: <b> is missing; tags: </b> is missing" in step.reason
        assert (step.verdict, step.text) == (("failed", "") if len(stages) == 1 else ("kept", LOSSY))
    assert (system.asked, len(llm.requests)) == (2, 2)


# -- texts that a model makes of a translation


class Scorer:
    """An evaluator that gives a score and marks nothing."""

    name = "scorer"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=0.5)


async def revised(
    stage: Any, *replies: str, source: str = BRIDGE, translation: str = GOOD, **settings: Any
) -> tuple[Step, ScriptedLLM]:
    """The step in which a model makes a whole new text of ``translation``, and that model."""
    llm = ScriptedLLM(list(replies))
    proofreader = Proofreader(llm) if stage == "proofread" else None
    plan = Plan((stage,), evaluator=Scorer(), corrector=Corrector(llm), proofreader=proofreader, **settings)
    (step,) = (await improve(segment(source, translation=translation), plan)).steps
    return step, llm


@pytest.mark.parametrize("stage", ["postedit", "proofread"])
@pytest.mark.parametrize(
    ("guard", "bad"),
    [
        ("length", "I'm sorry, I can't help with that request."),
        ("length", "Lo siento, no puedo ayudar con esa solicitud."),
        ("control", "El viejo puente \u202eestuvo cerrado seis meses."),
        ("script", "Старый мост был закрыт шесть месяцев."), ("words", "[]"),
        ("size", "puente " * 2000),
    ],
)  # fmt: skip
async def test_a_revision_that_is_no_translation_is_asked_for_once_more_and_then_fails(
    stage: str, guard: str, bad: str
) -> None:
    step, llm = await revised(stage, bad, BETTER)
    assert (step.text, step.verdict) == (BETTER, "kept")
    assert f"it is not a translation of the text ({guard}: " in llm.requests[1].messages[-1].content
    step, _ = await revised(stage, bad, bad)
    assert (step.verdict, step.text, len(step.calls)) == ("failed", GOOD, 2)
    assert guard in step.reason
    assert all(call.error for call in step.calls), "no such reply is taken from the store again"


@pytest.mark.parametrize(
    ("source", "before", "reply", "verdict"),
    [
        (LONG, LONG, LONG.replace("<b>", "").replace("</b>", ""), "rejected"),
        (BRIDGE, "El puente \u202eestuvo cerrado.", "El viejo puente \u202eestuvo cerrado.", "kept"),
    ],
)
async def test_a_fault_that_the_text_had_and_a_lost_tag_are_left_to_the_guards_over_edits(
    source: str, before: str, reply: str, verdict: str
) -> None:
    step, _ = await revised("proofread", reply, source=source, translation=before)
    assert (step.verdict, len(step.calls)) == (verdict, 1)


@pytest.mark.parametrize("stage", ["translate", "postedit", "proofread"])
@pytest.mark.parametrize(
    ("text", "settings", "verdict"),
    [
        (REFUSAL, {"gate": OpenGate("none")}, "kept"),
        ("[]", {"gate": OpenGate("none")}, "failed"),
        ("El viejo puente \u202eestuvo cerrado seis meses.", {"gate": OpenGate("none")}, "failed"),
        ("x" * 20_000, {"gate": OpenGate("none")}, "failed"),
        (REFUSAL, {"skip_guards": frozenset({"length", "language"})}, "kept"),
    ],
)
async def test_without_a_gate_only_what_is_no_text_is_refused_and_skipped_guards_are_skipped(
    stage: str, text: str, settings: dict[str, Any], verdict: str
) -> None:
    if stage == "translate":
        for translator in (CallableTranslator(Wrapped(text, text).translate), LLMTranslator(ScriptedLLM([text] * 2))):
            assert (await first_step(translator, **settings)).verdict == verdict
    else:
        step, _ = await revised(stage, text, text, **settings)
        assert step.verdict == verdict


async def test_each_paragraph_is_held_against_its_own_source() -> None:
    source = f"{BRIDGE}\n\nThe mayor came to see it."
    step = await first_step(LLMTranslator(ScriptedLLM([GOOD, "100", "El alcalde vino."])), source)
    assert step.text == f"{GOOD}\n\nEl alcalde vino."
    replies = (BETTER, "100", "El alcalde vino a verlo.")
    step, _ = await revised("proofread", *replies, source=source, translation=step.text)
    assert step.text == f"{BETTER}\n\nEl alcalde vino a verlo."


REPAIRS = "The bridge was closed in 1984 for 3 years."
COMPLETE, WITHOUT_YEAR = "El puente cerró en 1984 durante tres años.", "El puente cerró durante 3 años."
WITHOUT_ANY, OTHERWISE_WITHOUT_YEAR = "El puente cerró mucho tiempo.", "El puente estuvo 3 años cerrado."


@pytest.mark.parametrize(
    ("replies", "text", "lost"),
    [
        ([COMPLETE], COMPLETE, ""),
        ([WITHOUT_YEAR, COMPLETE], COMPLETE, ""),
        ([WITHOUT_YEAR, WITHOUT_YEAR], WITHOUT_YEAR, "numbers: number 1984 is missing"),
        ([WITHOUT_YEAR, REFUSAL], WITHOUT_YEAR, "numbers: number 1984 is missing"),
        ([WITHOUT_ANY, WITHOUT_YEAR], WITHOUT_YEAR, "numbers: number 1984 is missing"),
        ([WITHOUT_YEAR, WITHOUT_ANY], WITHOUT_YEAR, "numbers: number 1984 is missing"),
        ([WITHOUT_YEAR, OTHERWISE_WITHOUT_YEAR], WITHOUT_YEAR, "numbers: number 1984 is missing"),
    ],
)
async def test_a_translation_that_lost_a_number_is_asked_for_once_more_and_then_kept_and_marked(
    replies: list[str], text: str, lost: str
) -> None:
    llm = ScriptedLLM(replies)
    step = await first_step(LLMTranslator(llm), REPAIRS)
    assert (step.verdict, step.text, len(step.calls)) == ("kept", text, len(replies))
    assert step.cause.guards == (("numbers",) if lost else ())
    assert (step.cause.detail or "") == lost
    assert lost in step.reason
    if len(replies) > 1:
        assert "numbers: number 1984 is missing" in llm.requests[1].messages[-1].content


@pytest.mark.parametrize(
    "error", [RateLimited, ServerError, Truncated, EmptyReply, Refused, BadRequest, ModelError, UnreadableReply]
)
async def test_the_first_text_is_kept_where_the_request_for_a_lost_number_fails(error: type[MtagentError]) -> None:
    step = await first_step(LLMTranslator(ScriptedLLM([WITHOUT_YEAR, error("it failed")])), REPAIRS)
    assert (step.verdict, step.text, step.cause.guards) == ("kept", WITHOUT_YEAR, ("numbers",))
    assert [(call.reply, call.error) for call in step.calls] == [(WITHOUT_YEAR, None), (None, "it failed")]


@pytest.mark.parametrize("error", FATAL)
async def test_what_concerns_every_segment_is_raised_with_the_calls_paid_for(error: type[MtagentError]) -> None:
    translator = LLMTranslator(ScriptedLLM([WITHOUT_YEAR, error("it stops")]))
    with pytest.raises(error, match="it stops") as caught:
        await translator.draft(segment(REPAIRS), why_incomplete=lambda *attempt: ("number 1984",))
    assert [(call.reply, call.error) for call in caught.value.calls] == [(WITHOUT_YEAR, None), (None, "it stops")]


@pytest.mark.parametrize("second", [COMPLETE, WITHOUT_ANY, REFUSAL])
async def test_no_text_that_only_lacks_a_number_is_recorded_as_unusable(second: str) -> None:
    """What is recorded as unusable is paid for again in the next run."""
    step = await first_step(LLMTranslator(ScriptedLLM([WITHOUT_YEAR, second])), REPAIRS)
    assert [call.error is None for call in step.calls] == [True, second != REFUSAL]


async def test_a_second_text_that_lacks_a_tag_is_not_taken_for_its_number() -> None:
    first, second = "El puente <b>cerró</b> 3 años.", "El puente cerró en 1984 durante 3 años."
    settings = {"stages": ("translate", "postedit"), "evaluator": Rules(), "stop_when_error_free": False}
    source = "The bridge was <b>closed</b> in 1984 for 3 years."
    step = await first_step(LLMTranslator(ScriptedLLM([first, second])), source, **settings)
    assert (step.text, step.cause.guards, len(step.calls)) == (first, ("numbers",), 2)


@pytest.mark.parametrize("settings", [{"gate": OpenGate("none")}, {"skip_guards": frozenset({"numbers"})}])
async def test_no_number_is_asked_for_without_a_gate_or_where_the_guard_is_skipped(settings: dict[str, Any]) -> None:
    step = await first_step(LLMTranslator(ScriptedLLM([WITHOUT_YEAR])), REPAIRS, **settings)
    assert (step.verdict, step.cause.guards, len(step.calls)) == ("kept", (), 1)


async def test_a_wrapped_system_is_not_asked_again_for_a_number_but_its_text_is_marked() -> None:
    step = await first_step(CallableTranslator(Wrapped(WITHOUT_YEAR).translate), REPAIRS)
    assert (step.verdict, step.text, step.cause.guards) == ("kept", WITHOUT_YEAR, ("numbers",))
