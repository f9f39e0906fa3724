"""The GEMBA family: what is asked, what is made of the replies, and how errors add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector, is_error_free
from mtagent.chain.gate import OpenGate
from mtagent.evaluators.gemba import GembaDA, GembaESA, GembaMQM, GembaSQM
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Segment
from tests.codes import without_codes

TEXT = "El Banco pagó ayer, y el perro rojo durmió."
SEGMENT = Segment(
    id="7",
    source="The bank paid yesterday at noon, and the red cat slept.",
    source_lang="en",
    target_lang="es",
    reference="El banco pagó ayer a mediodía, y el gato rojo durmió.",
    domain="news",
)
REPLY = """Critical:
no-error
Major:
accuracy/mistranslation - "perro"
accuracy/omission - "at noon"
Minor:
fluency/spelling - "Banco"
"""
NONE = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error"


async def test_mqm_marks_and_scores() -> None:
    llm = ScriptedLLM([REPLY], model="gpt-x")
    rating = await GembaMQM(llm).rate(SEGMENT, TEXT)
    assert rating.score == -11
    assert rating.errors is not None
    assert [(e.severity, e.category, e.text, e.side) for e in rating.errors] == [
        ("major", "accuracy/mistranslation", "perro", "translation"),
        ("major", "accuracy/omission", "at noon", "omission"),
        ("minor", "fluency/spelling", "Banco", "translation"),
    ]
    assert [TEXT[e.start : e.end] for e in rating.errors if e.start is not None] == ["perro", "Banco"]
    assert rating.signature.startswith("gemba-mqm|model:gpt-x|prompt:gemba-mqm@3#")
    assert "|weights:gemba|reference:no|version:" in rating.signature
    assert len(rating.calls) == rating.usage.calls == 1
    llm.finish()


@pytest.mark.parametrize("heading", ["Critical", "Major", "Minor"])
async def test_mqm_gives_a_non_translation_the_lowest_score(heading: str) -> None:
    rating = await GembaMQM(ScriptedLLM([f"{heading}:\nnon-translation"])).rate(SEGMENT, TEXT)
    assert rating.score == -25
    assert [(e.text, e.start, e.end) for e in rating.errors or ()] == [(TEXT, 0, len(TEXT))]


@pytest.mark.parametrize("kind", [GembaDA, GembaSQM])
async def test_da_and_sqm_score_without_spans(kind: type[GembaDA]) -> None:
    llm = ScriptedLLM(['{"score": 85.5}'], model="gpt-x")
    rating = await kind(llm).rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors) == (85.5, None)
    assert rating.signature.startswith(f"{kind.name}|model:gpt-x|prompt:{kind.name}@2#")
    assert "|scale:0-100|" in rating.signature
    assert len(llm.requests[0].messages) == 2


async def test_sqm_names_the_landmarks_and_da_does_not() -> None:
    llm = ScriptedLLM(["85", "85"])
    await GembaSQM(llm).rate(SEGMENT, TEXT)
    await GembaDA(llm).rate(SEGMENT, TEXT)
    sqm, da = (request.messages[0].content for request in llm.requests)
    assert all(f"\n- {number}: " in sqm for number in (0, 33, 66, 100))
    assert "33" not in da


async def test_esa_scores_with_its_own_spans_in_view() -> None:
    llm = ScriptedLLM([REPLY, "85/100"])
    rating = await GembaESA(llm).rate(SEGMENT, TEXT)
    assert rating.score == 85
    assert [error.text for error in rating.errors or ()] == ["perro", "at noon", "Banco"]
    assert len(rating.calls) == 2
    shown = (
        '<errors>Major:\naccuracy/mistranslation - "perro"\naccuracy/omission - "at noon"\n'
        'Minor:\nfluency/spelling - "Banco"</errors>'
    )
    assert without_codes(llm.requests[1].messages[-1].content).endswith(shown)
    assert [request.purpose for request in llm.requests] == ["rate", "score"]
    assert "prompt:gemba-esa@4#" in rating.signature
    assert "|prompt:gemba-esa-score@2#" in rating.signature


async def test_esa_also_scores_what_has_no_error() -> None:
    llm = ScriptedLLM(["Major:\nno-error\nMinor:\nno-error", '{"score": 97}'])
    rating = await GembaESA(llm).rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors) == (97, ())
    assert "<errors>Major:\nno-error\nMinor:\nno-error</errors>" in without_codes(llm.requests[1].messages[-1].content)


@pytest.mark.parametrize(("score", "error_free"), [(100, True), (83, True), (82.9, False), (66, False), (0, False)])
async def test_esa_finds_no_error_only_where_its_score_says_so_too(score: float, error_free: bool) -> None:
    evaluator = GembaESA(ScriptedLLM(["Major:\nno-error\nMinor:\nno-error", f'{{"score": {score}}}']))
    rating = await evaluator.rate(SEGMENT, TEXT)
    assert is_error_free(rating, evaluator) is error_free
    assert rating.errors == (() if error_free else None)
    assert rating.warnings == (() if error_free else (f"no error is marked, and the score is only {score:g}",))


async def test_the_chain_revises_a_text_that_esa_scores_low_without_a_span() -> None:
    llm = ScriptedLLM(["Major:\nno-error\nMinor:\nno-error", '{"score": 20}', "Ein anderer Text."])
    plan = Plan(("postedit",), evaluator=GembaESA(llm), corrector=Corrector(llm), gate=OpenGate("none"))
    chain = await improve(SEGMENT.model_copy(update={"translation": TEXT}), plan)
    assert chain.text == "Ein anderer Text."


async def test_esa_lists_the_worst_first() -> None:
    reply = 'Minor:\nstyle/awkward - "ayer"\nCritical:\nother - "rojo"'
    llm = ScriptedLLM([reply, "3"])
    await GembaESA(llm).rate(SEGMENT, TEXT)
    listed = 'Critical:\nother - "rojo"\nMajor:\nno-error\nMinor:\nstyle/awkward - "ayer"'
    assert f"<errors>{listed}</errors>" in without_codes(llm.requests[1].messages[-1].content)


@pytest.mark.data
@pytest.mark.parametrize(
    ("paper", "reply", "score"),
    [
        (
            "m_mad",
            '**Major:**\naccuracy/mistranslation - "12 number on the dial"\n'
            'style/awkward - "the error is completely within the acceptable range"\nMinor:\nno-error',
            -10,
        ),
        (
            "himate",
            "Major:\nMistranslation - 'I hope you know about it'\nMinor:\nAwkward - 'I hope you know about it'",
            -6,
        ),
    ],
)
async def test_what_the_papers_show_of_gemba_mqm(data: Path, paper: str, reply: str, score: float) -> None:
    """M-MAD Table 8 and HiMATE Table 4 print the spans; M-MAD prints the score, HiMATE's follows from them."""
    worked = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))[paper][0]
    segment = Segment(id="1", source=worked.get("source", "?"), source_lang="zh", target_lang="en")
    rating = await GembaMQM(ScriptedLLM([reply])).rate(segment, worked["translation"])
    assert rating.score == score
    assert len(rating.errors or ()) == 2
    for error in rating.errors or ():
        assert worked["translation"][error.start : error.end] == error.text
