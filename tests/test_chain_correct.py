"""From a rating to a proposal: own suggestions, an offered text, spans to be fixed, and a mere score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.chain.correct import Corrector, is_error_free
from mtagent.config import Fix
from mtagent.errors import ConfigError, UnreadableReply
from mtagent.evaluators.fixes import parse_fixes
from mtagent.evaluators.gemba import GembaMQM
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import ErrorSpan, Rating, Segment, Step

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
SUGGESTED, BETTER = VERB.model_copy(update={"suggestion": "holen"}), TEXT.replace("sammeln", "holen")


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
    spans = None if errors is None else tuple(errors)
    return Rating(evaluator="fixed", score=score, errors=spans, correction=correction, explanation="Not good.")


async def postedited(rating: Rating, corrector: Corrector) -> Step:
    (step,) = (await improve(SEGMENT, Plan(("postedit",), evaluator=Fixed(rating), corrector=corrector))).steps
    return step


async def test_spans_without_a_suggestion_are_put_to_a_model_in_one_request() -> None:
    llm = ScriptedLLM(['{"fixes": [' + ", ".join([
        '{"number": 1, "suggestion": "holen", "before": "", "after": ""}',
        '{"number": 2, "suggestion": " am Freitag", "before": "Die Klinik bleibt", "after": " zu"}',
        '{"number": 3, "suggestion": "", "before": "", "after": ""}]}',
    ])])  # fmt: skip
    step = await postedited(rating(THREE), Corrector(llm))
    assert step.text == "Die Klinik bleibt am Freitag zu, also holen Sie Ihre Ergebnisse heute ab."
    assert [call.purpose for call in step.calls] == ["fix"]
    assert [edit.outcome for edit in step.edits] == ["applied"] * 3
    shown = llm.requests[0].messages[-1].content
    assert '{"number": 2, "missing": "on Friday", "category": "accuracy/omission", "severity": "major"}' in shown
    assert '{"number": 1, "span": "sammeln", "before": "bt zu, also ", "after": " Sie Ihre Er"' in shown
    llm.finish()


async def test_only_spans_that_need_it_are_asked_for() -> None:
    neutral, of_source = span("heute", severity="neutral"), span("collect", side="source")
    llm = ScriptedLLM([fixes("")])
    proposal = await Corrector(llm).propose(SEGMENT, TEXT, rating([SUGGESTED, neutral, of_source, LATEST]))
    assert proposal.text == "Die Klinik bleibt zu, also holen Sie Ihre Ergebnisse heute ab."
    assert '"number": 2' not in llm.requests[0].messages[-1].content.rpartition("The marked errors:")[2]


async def test_a_span_for_which_nobody_suggests_anything_stays() -> None:
    without_model = await Corrector().propose(SEGMENT, TEXT, rating(THREE))
    assert (without_model.text, without_model.edits, without_model.calls) == (TEXT, (), ())
    null = await Corrector(ScriptedLLM([fixes(None)])).propose(SEGMENT, TEXT, rating([VERB]))
    assert null.text == TEXT
    own = await Corrector(ForbiddenLLM()).propose(SEGMENT, TEXT, rating([SUGGESTED, LATEST]), suggests=True)
    assert own.text == BETTER, "the evaluator has suggested all that it wants"


@pytest.mark.parametrize(("fix", "text"), [("offered", BETTER), ("asked", TEXT.replace("sammeln", "nehmen"))])
async def test_a_corrected_text_that_is_offered_is_taken_unless_the_spans_are_asked_for(fix: Fix, text: str) -> None:
    llm = ScriptedLLM([fixes("nehmen")] if fix == "asked" else [])
    step = await postedited(rating([VERB], correction=BETTER), Corrector(llm, fix=fix))
    assert step.text == text
    assert step.edits[0].span is not None
    llm.finish()


async def test_a_mere_score_leads_to_the_correction_that_comes_with_it_or_to_a_revision_of_the_whole_text() -> None:
    offered = await Corrector(ForbiddenLLM(), fix="asked").propose(SEGMENT, TEXT, rating(None, correction=BETTER))
    assert offered.text == BETTER
    llm = ScriptedLLM([BETTER])
    assert (await postedited(rating(None, score=62), Corrector(llm))).text == BETTER
    assert "Not good." in llm.requests[0].messages[-1].content
    with pytest.raises(ConfigError, match="fixed gives a score and marks no error spans"):
        await Corrector().propose(SEGMENT, TEXT, rating(None, score=62))


NEUTRAL, OF_SOURCE = span("heute", severity="neutral"), span("collect", side="source")


@pytest.mark.parametrize(
    ("judgement", "free"),
    [
        (rating(None, score=100), True), (rating(None, score=99.5), False), (rating([NEUTRAL], score=0), True),
        (rating([OF_SOURCE], score=0), True), (rating([OF_SOURCE, VERB]), False), (rating([VERB]), False),
    ],
)  # fmt: skip
async def test_the_best_score_and_neutral_spans_are_error_free_and_cost_nothing_more(
    judgement: Rating, free: bool
) -> None:
    assert is_error_free(judgement, Fixed(judgement)) is free
    if free:
        step = await postedited(judgement, Corrector(ForbiddenLLM()))
        assert (step.verdict, step.text) == ("unchanged", TEXT)


async def test_an_unreadable_fix_is_asked_for_again_and_then_fails_the_step_alone() -> None:
    step = await postedited(rating(THREE), Corrector(ScriptedLLM(["Sure! I fixed them.", "Done."])))
    assert (step.verdict, step.text, len(step.calls)) == ("failed", TEXT, 2)


ONE = '{"number": 1, "suggestion": "holen"}'
TWO = '{"number": 2, "suggestion": ""}'


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"fixes": [{ONE}, {TWO}]}}', f"[{TWO}, {ONE}]", f"{ONE}\n{TWO}", '{"1": "holen", "2": ""}',
        '{"fixes": [{"number": "1", "suggestion": "holen"}, {"number": 2.0, "suggestion": ""}]}',
        '{"fixes": {"1": {"suggestion": "holen"}, "2": {"suggestion": ""}}}',
    ],
)  # fmt: skip
def test_fixes_in_many_shapes(reply: str) -> None:
    assert [error.suggestion for error in parse_fixes(reply, (VERB, LATEST))] == ["holen", ""]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I am sorry, I cannot help with that.", "no JSON"),
        ("[]", "nothing of error 1"), (f"[{ONE}]", "nothing of error 2"),
        (f"[{ONE}, {ONE}]", "fixed twice"),
        (f'[{ONE}, {TWO}, {{"number": 3, "suggestion": "x"}}]', "'3' is not the number"),
        ('[{"number": 0, "suggestion": "x"}]', "'0' is not the number"),
        ('[{"number": true, "suggestion": "x"}]', "'True' is not the number"),
        ('[{"suggestion": "x"}, {"suggestion": "y"}]', "'None' is not the number"),
        ('[{"number": 1}, {"number": 2}]', "no suggestion"),
        ('[{"number": 1, "suggestion": ["a", "b"]}, {"number": 2, "suggestion": ""}]', "no suggestion"),
        ('["holen", ""]', "isn.t an object"),
        (f'[{{"number": "{"9" * 5000}", "suggestion": "x"}}]', "999' is not the number"),
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


def test_what_has_no_place_yet_takes_it_from_the_fix() -> None:
    unplaced = span("Sie", start=None, end=None)
    moved, placed, kept = parse_fixes(fixes("x", "y", "z", before="bleibt", after=" zu"), (MISSING, unplaced, VERB))
    assert [(error.before, error.after) for error in (moved, placed, kept)] == [("bleibt", " zu")] * 2 + [(None, None)]


@pytest.mark.parametrize(
    ("lang", "text", "marked", "around", "suggestion", "after"),
    [
        ("de", "Die Bank steht bei der Bank.", "Bank", ("bei der ", "."), "Sparkasse",
         "Die Bank steht bei der Sparkasse."),
        ("de", "Die Frachtbote fahren.", "bote", ("Fracht", " fahren"), "boote", "Die Frachtboote fahren."),
        ("ko", "당일까지 내고 당일에 가세요.", "당일", ("", "까지 내고"), "내일", "내일까지 내고 당일에 가세요."),
        ("ko", "당일까지 내세요.", "당일", ("", ""), "내일", "내일까지 내세요."),
        ("ar", "القلم والكتاب هنا.", "كتاب", ("", ""), "دفتر", "القلم والدفتر هنا."),
        ("de", "Die Bank steht bei der Bank.", "Bank", ("neben der ", "!"), "Sparkasse",
         "Die Bank steht bei der Bank."),
    ],
)  # fmt: skip
async def test_a_span_that_was_marked_without_context_is_found_by_that_of_its_fix(
    lang: str, text: str, marked: str, around: tuple[str, str], suggestion: str, after: str
) -> None:
    """Through an evaluator that asks for no context: the request for the fix asks for it."""
    reply = f'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "{marked}"\nMinor:\nno-error'
    llm = ScriptedLLM([reply, fixes(suggestion, before=around[0], after=around[1])])
    segment = Segment(id="1", source="A source.", source_lang="en", target_lang=lang)
    rated = await GembaMQM(llm).rate(segment, text)
    assert (await Corrector(llm).propose(segment, text, rated)).text == after
    asked = llm.requests[-1].messages[0].content
    assert '"before" and "after": the two or three words' in asked
    llm.finish()
