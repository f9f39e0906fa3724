"""From a rating to a proposal: own suggestions, an offered text, spans to be fixed, and a mere score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector, is_error_free, parse_fixes
from mtagent.config import Fix
from mtagent.errors import ConfigError, UnreadableReply
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import ErrorSpan, Rating, Segment

TEXT = "Die Klinik bleibt zu, also sammeln Sie Ihre Ergebnisse spätestens heute ab."
SEGMENT = Segment(
    id="4", source="The clinic is closed on Friday, so collect your results today.", source_lang="en",
    target_lang="de", translation=TEXT,
)  # fmt: skip


def span(text: str, **fields: Any) -> ErrorSpan:
    start = TEXT.find(text)
    place = {"start": start, "end": start + len(text)} if start >= 0 else {}
    return ErrorSpan(**{"text": text, "category": "accuracy/mistranslation", "severity": "major", **place, **fields})


VERB, LATEST = span("sammeln"), span(" spätestens", severity="minor", category="accuracy/addition")
MISSING = span("on Friday", side="omission", category="accuracy/omission")
THREE = (VERB, MISSING, LATEST)


def fixes(*suggestions: str | None, **context: str) -> str:
    items = [{"number": n, "suggestion": text, **context} for n, text in enumerate(suggestions, start=1)]
    return json.dumps({"fixes": items}, ensure_ascii=False)


class Fixed:
    """An evaluator that always says the same."""

    name = "fixed"
    best_score = 100.0

    def __init__(self, rating: Rating) -> None:
        self._rating = rating

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return self._rating


def rating(errors: Sequence[ErrorSpan] | None, score: float = -11, correction: str | None = None) -> Rating:
    found = None if errors is None else tuple(errors)
    return Rating(evaluator="fixed", score=score, errors=found, correction=correction, explanation="Not good.")


async def test_spans_without_a_suggestion_are_put_to_a_model_in_one_request() -> None:
    llm = ScriptedLLM(['{"fixes": [' + ", ".join([
        '{"number": 1, "suggestion": "holen", "before": "", "after": ""}',
        '{"number": 2, "suggestion": " am Freitag", "before": "Die Klinik bleibt", "after": " zu"}',
        '{"number": 3, "suggestion": "", "before": "", "after": ""}]}',
    ])])  # fmt: skip
    chain = await improve(SEGMENT, Plan(("postedit",), evaluator=Fixed(rating(THREE)), corrector=Corrector(llm)))
    assert chain.text == "Die Klinik bleibt am Freitag zu, also holen Sie Ihre Ergebnisse heute ab."
    assert [call.purpose for call in chain.steps[0].calls] == ["fix"]
    assert [edit.outcome for edit in chain.steps[0].edits] == ["applied"] * 3
    shown = llm.requests[0].messages[-1].content
    assert '{"number": 2, "missing": "on Friday", "category": "accuracy/omission", "severity": "major"}' in shown
    assert '{"number": 1, "span": "sammeln", "before": "bt zu, also ", "after": " Sie Ihre Er"' in shown
    llm.finish()


async def test_only_spans_that_need_it_are_asked_for() -> None:
    given = VERB.model_copy(update={"suggestion": "holen"})
    neutral = span("heute", severity="neutral")
    of_source = span("collect", side="source")
    llm = ScriptedLLM([fixes("")])
    proposal = await Corrector(llm).propose(SEGMENT, TEXT, rating([given, neutral, of_source, LATEST]))
    assert proposal.text == "Die Klinik bleibt zu, also holen Sie Ihre Ergebnisse heute ab."
    assert '"number": 2' not in llm.requests[0].messages[-1].content.rpartition("The marked errors:")[2]


async def test_an_evaluator_that_suggests_by_itself_is_not_asked_for_more() -> None:
    given = VERB.model_copy(update={"suggestion": "holen"})
    proposal = await Corrector(ForbiddenLLM()).propose(SEGMENT, TEXT, rating([given, LATEST]), suggests=True)
    assert proposal.text == TEXT.replace("sammeln", "holen")


async def test_without_a_model_a_span_without_suggestion_stays() -> None:
    proposal = await Corrector().propose(SEGMENT, TEXT, rating(THREE))
    assert (proposal.text, proposal.edits, proposal.calls) == (TEXT, (), ())


async def test_null_leaves_a_span_as_it_is() -> None:
    proposal = await Corrector(ScriptedLLM([fixes(None)])).propose(SEGMENT, TEXT, rating([VERB]))
    assert proposal.text == TEXT


@pytest.mark.parametrize(("fix", "asked"), [("offered", 0), ("asked", 1)])
async def test_a_corrected_text_that_is_offered_is_taken_unless_the_spans_are_asked_for(fix: Fix, asked: int) -> None:
    better = TEXT.replace("sammeln", "holen")
    llm = ScriptedLLM([fixes("nehmen")][:asked])
    offering = rating([VERB], correction=better)
    plan = Plan(("postedit",), evaluator=Fixed(offering), corrector=Corrector(llm, fix=fix))
    chain = await improve(SEGMENT, plan)
    assert chain.text == (TEXT.replace("sammeln", "nehmen") if asked else better)
    assert chain.steps[0].edits[0].span is not None
    llm.finish()


async def test_a_corrected_text_beside_a_mere_score_is_taken_though_spans_should_be_asked_for() -> None:
    offering = rating(None, score=62, correction=TEXT.replace("sammeln", "holen"))
    proposal = await Corrector(ForbiddenLLM(), fix="asked").propose(SEGMENT, TEXT, offering)
    assert proposal.text == offering.correction


async def test_a_mere_score_leads_to_a_revision_of_the_whole_text() -> None:
    llm = ScriptedLLM([TEXT.replace("sammeln", "holen")])
    plan = Plan(("postedit",), evaluator=Fixed(rating(None, score=62)), corrector=Corrector(llm))
    chain = await improve(SEGMENT, plan)
    assert chain.text == TEXT.replace("sammeln", "holen")
    assert "Not good." in llm.requests[0].messages[-1].content


async def test_a_mere_score_without_a_model_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="fixed gives a score and marks no error spans"):
        await Corrector().propose(SEGMENT, TEXT, rating(None, score=62))


async def test_the_best_score_or_neutral_spans_alone_are_error_free_and_cost_nothing_more() -> None:
    perfect = Fixed(rating(None, score=100))
    neutral = Fixed(rating([span("heute", severity="neutral")], score=0))
    for evaluator in (perfect, neutral):
        plan = Plan(("postedit",), evaluator=evaluator, corrector=Corrector(ForbiddenLLM()))
        chain = await improve(SEGMENT, plan)
        assert (chain.steps[0].verdict, chain.text) == ("unchanged", TEXT)
    assert is_error_free(rating([span("heute", severity="neutral")], score=0), neutral)
    assert is_error_free(rating([span("collect", side="source")], score=0), neutral)
    assert not is_error_free(rating([span("collect", side="source"), VERB]), neutral)
    assert not is_error_free(rating(None, score=99.5), perfect)
    assert not is_error_free(rating([VERB]), neutral)


async def test_an_unreadable_fix_is_asked_for_again_and_then_fails_the_step_alone() -> None:
    llm = ScriptedLLM(["Sure! I fixed them.", "Done."])
    chain = await improve(SEGMENT, Plan(("postedit",), evaluator=Fixed(rating(THREE)), corrector=Corrector(llm)))
    assert (chain.steps[0].verdict, chain.text) == ("failed", TEXT)
    assert len(chain.steps[0].calls) == 2


ONE = '{"number": 1, "suggestion": "holen"}'
TWO = '{"number": 2, "suggestion": ""}'


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"fixes": [{ONE}, {TWO}]}}', f"[{ONE}, {TWO}]", f"[{TWO}, {ONE}]",
        f'```json\n{{"fixes": [{ONE}, {TWO}]}}\n```',
        f"Here you are:\n[{ONE}, {TWO}]\nAnything else?", f"{ONE}\n{TWO}",
        f"<think>1? 2?</think>[{ONE}, {TWO}]", f'{{"fixes": [{ONE}, {TWO},]}}',
        '{"fixes": [{"number": "1", "suggestion": "holen"}, {"number": 2.0, "suggestion": ""}]}',
        '{"1": "holen", "2": ""}',
        '{"fixes": {"1": {"suggestion": "holen"}, "2": {"suggestion": ""}}}',
        "{'fixes': [{'number': 1, 'suggestion': 'holen'}, {'number': 2, 'suggestion': ''}]}",
    ],
)  # fmt: skip
def test_fixes_in_many_shapes(reply: str) -> None:
    assert [error.suggestion for error in parse_fixes(reply, (VERB, LATEST))] == ["holen", ""]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("I am sorry, I cannot help with that.", "no JSON"), ("{}", "nothing of error 1"),
        ("[]", "nothing of error 1"), (f"[{ONE}]", "nothing of error 2"),
        (f"[{ONE}, {ONE}]", "fixed twice"),
        (f'[{ONE}, {TWO}, {{"number": 3, "suggestion": "x"}}]', "'3' is not the number"),
        ('[{"number": 0, "suggestion": "x"}]', "'0' is not the number"),
        ('[{"number": true, "suggestion": "x"}]', "'True' is not the number"),
        ('[{"suggestion": "x"}, {"suggestion": "y"}]', "'None' is not the number"),
        ('[{"number": 1}, {"number": 2}]', "no suggestion"),
        ('[{"number": 1, "suggestion": ["a", "b"]}, {"number": 2, "suggestion": ""}]', "no suggestion"),
        ('["holen", ""]', "no object"),
        (f'[{{"number": "{"9" * 5000}", "suggestion": "x"}}]', "999' is not the number"),
        ('{"fixes": [{"number": 1, "suggestion": "ho', "cut off"),
        ('{"1": "holen", "1": ""}', "same thing twice"),
    ],
)  # fmt: skip
def test_a_fix_that_cannot_be_read_is_refused(reply: str, why: str) -> None:
    with pytest.raises(UnreadableReply, match=why):
        parse_fixes(reply, (VERB, LATEST))


def test_a_fix_that_names_another_span_than_that_of_its_number_is_refused() -> None:
    named = [
        {"number": 1, "span": "SAMMELN", "suggestion": "holen"},
        {"number": 2, "span": "sammeln", "suggestion": ""},
    ]
    with pytest.raises(UnreadableReply, match="fix for ' spätestens' says that it is for 'sammeln'"):
        parse_fixes(json.dumps(named), (VERB, LATEST))
    named[1]["span"] = "spätestens"
    assert [error.suggestion for error in parse_fixes(json.dumps(named), (VERB, LATEST))] == ["holen", ""]


async def test_the_edits_of_a_corrected_text_name_the_error_in_their_place() -> None:
    text = "Die Klinik bleibt zu.\n\nBitte sammeln Sie es ab."
    placed = [span(word, start=text.index(word), end=text.index(word) + len(word)) for word in ("Klinik", "sammeln")]
    proposal = await Corrector().propose(SEGMENT, text, rating(placed, correction=text.replace("sammeln", "holen")))
    assert [edit.span.text if edit.span else None for edit in proposal.edits] == ["sammeln"]


def test_only_an_omission_takes_its_place_from_the_fix() -> None:
    moved, kept = parse_fixes(fixes("x", "y", before="bleibt", after=" zu"), (MISSING, VERB))
    assert (moved.before, moved.after) == ("bleibt", " zu")
    assert (kept.before, kept.after) == (None, None)
