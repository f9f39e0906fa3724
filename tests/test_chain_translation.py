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
from mtagent.evaluators.rules import Rules
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Draft, Rating, Segment
from mtagent.translators import CallableTranslator
from mtagent.translators.llm import LLMTranslator
from wmt.guards import translations

BRIDGE = "The old bridge was closed for six months."
LONG = "The old bridge was closed for six months because of {count} repairs, and <b>nobody</b> knows when it opens."


def segment(source: str = BRIDGE, pair: tuple[str, str] = ("en", "es")) -> Segment:
    return Segment(id="7", source=source, source_lang=pair[0], target_lang=pair[1])


EN_ES, EN_JA, ZH_EN, EN_UK, EN_AR = ("en", "es"), ("en", "ja"), ("zh", "en"), ("en", "uk"), ("en", "ar")
EN_DE = ("en", "de")
REFUSED = [
    ("length", EN_ES, BRIDGE, "I'm sorry, I cannot translate this."),
    ("length", EN_ES, BRIDGE, "I’m sorry, but I can’t assist with that request."),
    ("length", ZH_EN, "我寄愁心与明月，随君直到夜郎西。", "I'm sorry, I can't assist with that request."),
    ("length", EN_ES, BRIDGE, "Lo siento, no puedo traducir este texto."),
    ("length", ("en", "de"), BRIDGE, "Es tut mir leid, dabei kann ich nicht helfen."),
    ("length", EN_ES, BRIDGE, "Here is the Spanish translation: El viejo puente estuvo cerrado seis meses."),
    ("length", EN_ES, BRIDGE, "Traducción: El viejo puente estuvo cerrado seis meses."),
    ("length", EN_ES, "Note: no dogs", "Traducción: Nota: sin perros"),
    ("length", EN_ES, BRIDGE, "El viejo puente estuvo cerrado seis meses.``` Note: formal."),
    ("length", EN_ES, BRIDGE, "<think>Hm.</think>El viejo puente estuvo cerrado seis meses."),
    ("length", EN_ES, BRIDGE, "As an AI language model, I have no opinion on bridges."),
    ("length", EN_ES, BRIDGE, "El puente estuvo cerrado. " * 12),
    ("length", EN_ES, BRIDGE * 8, "El puente."),
    ("length", EN_ES, "🙌", "Elige una de las opciones " * 5),
    ("length", ("ja", "zh"), "対局再開３０分前、午前８時半の外の様子。気温０度、昨夜降った雪が所々に残っている＝栃木県大田原市", "免费送货"),
    ("words", EN_ES, BRIDGE, "100"), ("words", EN_ES, BRIDGE, "[]"), ("words", EN_ES, "Yes.", "[]"),
    ("words", EN_ES, "Open the old file", "100"), ("words", EN_ES, "Open the old file", "85"),
    ("words", EN_ES, BRIDGE, "``` ```"), ("words", ZH_EN, "我寄愁心与明月", "42"),
    ("words", EN_ES, "Open {name} now please", "{name}"), ("size", EN_ES, BRIDGE, "puente " * 2000),
    ("control", EN_ES, BRIDGE, "El puente \x1b]0;owned\x07 estuvo cerrado seis meses."),
    ("control", EN_ES, BRIDGE, "El puente\x00 estuvo cerrado seis meses."),
    ("control", EN_ES, BRIDGE, "El puente\x9b31m estuvo cerrado seis meses."),
    ("control", EN_ES, BRIDGE, "El puente \u202eestuvo cerrado seis meses."),
    ("control", EN_ES, BRIDGE, "El puente \u2066estuvo cerrado seis meses."),
    ("control", EN_AR, BRIDGE, "أغلق الجسر القديم \u202eستة أشهر."),
    ("control", EN_ES, BRIDGE, "El puente \ufffd estuvo cerrado seis meses."),
    ("script", EN_ES, BRIDGE, "Старый мост был закрыт шесть месяцев."),
    ("script", EN_JA, BRIDGE, "The old crossing stayed shut half a year."),
    ("script", EN_UK, BRIDGE, "I will not do this for you."),
    ("script", ("en", "sr-Cyrl"), BRIDGE, "Stari most je bio zatvoren šest meseci."),
    ("placeholders", EN_ES, LONG, "El puente cerró seis meses por {número} obras, y <b>nadie</b> sabe cuándo abre."),
    ("placeholders", EN_ES, "{count} of $USERS", "{count}: usuarios"),
    ("tags", EN_ES, "See <Link>here</Link>", "Vea aquí"), ("tags", EN_ES, '<mark id="1">Yes', "Sí"),
    ("tags", EN_ES, "See <a>here</a>", "Vea aquí"),
    ("tags", EN_ES, LONG, "El puente cerró seis meses por {count} obras, y nadie sabe cuándo abre."),
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
    (found,) = refusals(segment(), "El puente " * 5_000_000)
    assert found.guard == "size"
    assert len(found.detail) < 100
    assert time.process_time() - began < 5


def test_guards_can_be_switched_off_by_name_but_not_what_is_no_text_at_all() -> None:
    refusal = "I'm sorry, I cannot translate this."
    assert refusals(segment(), refusal, skip={"length"}) == ()
    assert refusals(segment(), "[]", skip={"length", "script", "control", "tags", "placeholders"})


@pytest.mark.data
def test_no_translation_by_people_is_refused_and_few_by_systems(data: Path) -> None:
    """What is refused of the systems was read: it is all damage, by the weakest systems, or the wrong script."""
    found = [(who, bool(refusals(one, text))) for who, one, text in translations(data)]
    people, systems = ([is_refused for who, is_refused in found if who == name] for name in ("people", "systems"))
    assert len(people) > 3000
    assert sum(people) == 0
    assert sum(systems) / len(systems) < 0.006


class Wrapped:
    """An MT system that answers with the next of its texts."""

    def __init__(self, *texts: object) -> None:
        self.texts, self.asked = list(texts), 0

    def translate(self, text: str) -> object:
        self.asked += 1
        return self.texts.pop(0)


GOOD = "El viejo puente estuvo cerrado seis meses."


@pytest.mark.parametrize(
    "bad", ["I'm sorry, I cannot translate this.", "[]", "", None, "a\nb", "Uno \x1b[2J.", "Uno \ud83d"]
)
async def test_a_wrapped_system_is_asked_once_more(bad: str | None) -> None:
    system = Wrapped(bad, GOOD)
    chain = await improve(segment(), Plan(("translate",), CallableTranslator(system.translate)))
    assert (chain.text, chain.steps[0].verdict, system.asked) == (GOOD, "kept", 2)


async def test_after_that_the_step_is_failed_with_the_guard_named() -> None:
    system = Wrapped("I'm sorry, I cannot translate this.", "100")
    chain = await improve(segment(), Plan(("translate",), CallableTranslator(system.translate)))
    assert chain.failed is not None
    assert chain.failed.reason == "UnusableTranslation: Wrapped: words: the source has words, and the text has none"
    assert (chain.text, system.asked) == ("", 2)


async def test_a_system_that_breaks_is_not_asked_again() -> None:
    class Breaking(Wrapped):
        def translate(self, text: str) -> str:
            self.asked += 1
            raise KeyError("no model")

    system = Breaking()
    chain = await improve(segment(), Plan(("translate",), CallableTranslator(system.translate)))
    assert chain.failed is not None
    assert system.asked == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("I'm sorry, I cannot translate this.", "length: the text speaks of translating"),
        ("```\n```", "it holds no text"),
        ("```\n\n```", "it holds no text"),
        ("100", "words: the source has words"),
        (
            "You translate everything that the source says, and nothing else. The text to translate stands between",
            "it repeats the instructions",
        ),
    ],
)
async def test_a_model_is_asked_once_more_with_the_reason(bad: str, reason: str) -> None:
    llm = ScriptedLLM([bad, GOOD])
    chain = await improve(segment(), Plan(("translate",), LLMTranslator(llm)))
    assert (chain.text, len(chain.steps[0].calls)) == (GOOD, 2)
    assert reason in llm.requests[1].messages[-1].content
    chain = await improve(segment(), Plan(("translate",), LLMTranslator(ScriptedLLM([bad, bad]))))
    assert chain.failed is not None
    assert reason in chain.failed.reason
    assert (chain.text, len(chain.failed.calls)) == ("", 2)


async def test_each_paragraph_is_held_against_its_own_source() -> None:
    llm = ScriptedLLM([GOOD, "100", "El alcalde vino."])
    chain = await improve(segment(f"{BRIDGE}\n\nThe mayor came to see it."), Plan(("translate",), LLMTranslator(llm)))
    assert chain.text == f"{GOOD}\n\nEl alcalde vino."


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("I'm sorry, I cannot translate this.", "kept"), ("[]", "failed"),
        ("Uno \x1b[2J.", "failed"), ("x" * 20_000, "failed"),
    ],
)  # fmt: skip
async def test_without_a_gate_only_what_is_no_text_is_refused(text: str, verdict: str) -> None:
    system = Wrapped(text, text)
    plan = Plan(("translate",), CallableTranslator(system.translate), gate=OpenGate("none"))
    assert (await improve(segment(), plan)).steps[0].verdict == verdict
    plan = Plan(
        ("translate",),
        LLMTranslator(
            ScriptedLLM(
                [text, text],
            )
        ),
        gate=OpenGate("none"),
    )
    assert (await improve(segment(), plan)).steps[0].verdict == verdict


LOSSY = "El puente cerró seis meses por {count} obras, y nadie sabe cuándo abre."


@pytest.mark.parametrize("stages", [("translate",), ("translate", "postedit")])
async def test_a_lost_tag_is_asked_for_again_and_then_left_to_a_stage_that_can_restore_it(stages: Any) -> None:
    """Weak systems lose them in good translations: 10 of 65 texts of the bundled sample."""
    system, llm = Wrapped(LOSSY, LOSSY), ScriptedLLM([LOSSY, LOSSY])
    for translator in (CallableTranslator(system.translate), LLMTranslator(llm)):
        plan = Plan(stages, translator, evaluator=Rules(), stop_when_error_free=False)
        chain = await improve(segment(LONG), plan)
        first = chain.steps[0]
        assert "tags: <b> is missing; tags: </b> is missing" in first.reason
        assert (first.verdict, first.text) == (("failed", "") if len(stages) == 1 else ("kept", LOSSY))
    assert (system.asked, len(llm.requests)) == (2, 2)


async def test_skipped_guards_are_skipped_in_the_translate_stage_too() -> None:
    class Refusing:
        name = "refusing"

        async def draft(self, segment: Segment) -> Draft:
            return Draft(text="I'm sorry, I cannot translate this.")

    plan = Plan(("translate",), Refusing(), skip_guards=frozenset({"length"}))
    assert (await improve(segment(), plan)).steps[0].verdict == "kept"


class Scorer:
    """An evaluator that gives a score and marks nothing."""

    name = "scorer"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=0.5)


def revising(stage: Any, llm: ScriptedLLM, **settings: Any) -> Plan:
    """A plan in which ``llm`` makes a whole new text of the translation."""
    proofreader = Proofreader(llm) if stage == "proofread" else None
    return Plan((stage,), evaluator=Scorer(), corrector=Corrector(llm), proofreader=proofreader, **settings)


NO_REVISION = [
    ("length", "I'm sorry, I can't help with that request."),
    ("length", "Lo siento, no puedo ayudar con esa solicitud."),
    ("control", "El viejo puente \u202eestuvo cerrado seis meses."),
    ("script", "Старый мост был закрыт шесть месяцев."), ("words", "[]"),
    ("size", "puente " * 2000),
]  # fmt: skip
BETTER = "El viejo puente permaneció cerrado seis meses."


@pytest.mark.parametrize("stage", ["postedit", "proofread"])
@pytest.mark.parametrize(("guard", "bad"), NO_REVISION)
async def test_a_revision_that_is_no_translation_is_asked_for_once_more_and_then_fails(
    stage: str, guard: str, bad: str
) -> None:
    given = segment().model_copy(update={"translation": GOOD})
    llm = ScriptedLLM([bad, BETTER])
    chain = await improve(given, revising(stage, llm))
    assert (chain.text, chain.steps[0].verdict) == (BETTER, "kept")
    assert f"it is no translation of the text ({guard}: " in llm.requests[1].messages[-1].content
    chain = await improve(given, revising(stage, ScriptedLLM([bad, bad])))
    assert chain.failed is not None
    assert guard in chain.failed.reason
    assert (chain.text, len(chain.failed.calls)) == (GOOD, 2)
    assert all(call.error for call in chain.failed.calls), "no such reply is taken from the store again"


@pytest.mark.parametrize(
    ("source", "before", "reply", "verdict"),
    [
        (LONG, LONG, LONG.replace("<b>", "").replace("</b>", ""), "rejected"),
        (
            BRIDGE,
            "El puente \u202eestuvo cerrado seis meses.",
            "El viejo puente \u202eestuvo cerrado seis meses.",
            "kept",
        ),
    ],
)
async def test_a_fault_that_the_text_had_and_a_lost_tag_are_left_to_the_guards_over_edits(
    source: str, before: str, reply: str, verdict: str
) -> None:
    given = segment(source).model_copy(update={"translation": before})
    (step,) = (await improve(given, revising("proofread", ScriptedLLM([reply])))).steps
    assert (step.verdict, len(step.calls)) == (verdict, 1)


@pytest.mark.parametrize(
    ("settings", "bad", "verdict"),
    [
        ({"gate": OpenGate("none")}, "I'm sorry, I can't help with that request.", "kept"),
        ({"gate": OpenGate("none")}, "El viejo puente \u202eestuvo cerrado seis meses.", "failed"),
        ({"skip_guards": frozenset({"length"})}, "I'm sorry, I can't help with that request.", "kept"),
    ],
)
async def test_without_a_gate_and_with_skipped_guards_revisions_are_read_as_translations_are(
    settings: Any, bad: str, verdict: str
) -> None:
    given = segment().model_copy(update={"translation": GOOD})
    for stage in ("postedit", "proofread"):
        chain = await improve(given, revising(stage, ScriptedLLM([bad, bad]), **settings))
        assert chain.steps[0].verdict == verdict


async def test_each_revised_paragraph_is_held_against_its_own_source() -> None:
    given = segment(f"{BRIDGE}\n\nThe mayor came to see it.").model_copy(
        update={"translation": f"{GOOD}\n\nEl alcalde vino."}
    )
    llm = ScriptedLLM([BETTER, "100", "El alcalde vino a verlo."])
    chain = await improve(given, revising("proofread", llm))
    assert chain.text == f"{BETTER}\n\nEl alcalde vino a verlo."
