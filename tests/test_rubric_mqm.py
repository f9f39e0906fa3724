"""RUBRIC-MQM replies, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import json

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.rubric_mqm import RubricMQM, parse
from mtagent.llm.cached import Cached
from mtagent.llm.client import OpenAIClient
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.sampling import Sampling
from mtagent.records import Segment
from mtagent.store import Store

TEXT = "El Banco pagó a el banco «central» ayer, y el perro rojo durmió."
ONE = '{"span": "perro rojo", "category": "mistranslation", "severity": 3, "suggestion": "gato rojo"}'


def spans(reply: str) -> list[tuple[str, str, float | None, str | None]]:
    return [(error.text, error.category, error.penalty, error.suggestion) for error in parse(reply, TEXT)]


FOUND = [("perro rojo", "mistranslation", 3.0, "gato rojo")]
KEYED = '{"perro rojo": {"category": "mistranslation", "severity": 3, "suggestion": "gato rojo"}}'


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"errors": [{ONE}]}}',
        f"[{ONE}]",
        ONE,
        KEYED,
        f'{{"errors": {KEYED}}}',
        f'```json\n{{"errors": [{ONE}]}}\n```',
        f"```\n[{ONE}]\n```",
        f"Here are the errors I found:\n\n[{ONE}]\n\nLet me know if you need more!",
        f"<think>Let me see [1] {{x}}.</think>\n[{ONE}]",
        f'{{"errors": [{ONE},]}}',
        "{'errors': [{'span': 'perro rojo', 'category': 'mistranslation', 'severity': 3, 'suggestion': 'gato rojo'}]}",
        ONE.replace("3", '"3"'),
        ONE.replace("3", "3.0"),
        ONE.replace("3", '"major"'),
        ONE.replace('"mistranslation"', '" Mistranslation "'),
        ONE.replace('"span"', '"Span"').replace('"severity"', '"Severity"'),
        f'\ufeff{{"errors": [{ONE}]}}',
        f'{{"errors": [{ONE}, "no-error"]}}',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    assert spans(reply) == FOUND


@pytest.mark.parametrize(
    "reply", ['{"errors": []}', "[]", "```json\n[]\n```", '["no-error"]', '{"no-error": {"category": "no-error"}}']
)
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert parse(reply, TEXT) == ()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The translation is excellent!",
        "**Major:**\n- perro rojo",
        "I'm sorry, but I can't help with that.",
        f'{{"errors": [{ONE}, {{"span": "El Ba',
        '{"errors": [{"span": "perro", "severity": 9, "suggestion": "x"}]}',
        '{"errors": [{"span": "perro", "severity": 0, "suggestion": "x"}]}',
        '{"errors": [{"span": "perro", "severity": -1, "suggestion": "x"}]}',
        '{"errors": [{"span": "perro", "severity": true, "suggestion": "x"}]}',
        '{"errors": [{"span": "perro", "suggestion": "x"}]}',
        '{"errors": [{"severity": 2, "category": "style", "suggestion": "x"}]}',
        '{"errors": [{"span": null, "severity": 2, "suggestion": "x"}]}',
        '{"errors": ["perro rojo"]}',
        '{"perro rojo": "mistranslation"}',
        "{}",
        f'{{"errors": [{ONE}], "errors": []}}',
        '{"errors": [{"span": "perro", "severity": 1, "suggestion": "\\ud83d"}]}',
        '{"errors": [{"span": "perro", "severity": 1' + "0" * 400 + ', "suggestion": "x"}]}',
        "Score: 85/100",
    ],
)
def test_an_unreadable_reply_is_an_error_and_never_perfect(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse(reply, TEXT)


def test_the_same_span_twice_is_kept_twice_unlike_the_paper() -> None:
    reply = (
        '{"banco": {"category": "style", "severity": 1, "suggestion": "a"},'
        ' "banco": {"category": "terminology", "severity": 2, "suggestion": "b"}}'
    )
    assert [(text, suggestion) for text, _, _, suggestion in spans(reply)] == [("banco", "a"), ("banco", "b")]


def test_spans_keep_their_case_and_get_offsets() -> None:
    (error,) = parse('[{"span": "Banco", "severity": 1, "category": "style", "suggestion": "banco"}]', TEXT)
    assert (error.text, error.start, error.end) == ("Banco", 3, 8)


def test_a_span_that_is_not_certain_stays_without_offsets() -> None:
    (error,) = parse('[{"span": "el", "severity": 1, "category": "style", "suggestion": "al"}]', TEXT)
    assert error.start is None


def test_context_gives_the_offsets() -> None:
    reply = (
        '[{"span": "el", "before": "a ", "after": " banco", "severity": 1, "category": "grammar", "suggestion": "al"}]'
    )
    (error,) = parse(reply, TEXT)
    assert (error.start, error.end) == (16, 18)


@pytest.mark.parametrize("suggestion", ["null", '["a", "b"]', "3"])
def test_a_bad_suggestion_leaves_the_span_and_the_other_errors(suggestion: str) -> None:
    reply = f'[{{"span": "ayer", "severity": 1, "category": "style", "suggestion": {suggestion}}}, {ONE}]'
    assert spans(reply) == [("ayer", "style", 1.0, None), *FOUND]


@pytest.mark.parametrize("suggestion", ["doctor or nurse", "l'amie de l'État", "(a) or (b)", 'the "best" one', "x\ny"])
def test_suggestions_come_through_whole(suggestion: str) -> None:
    reply = json.dumps([{"span": "ayer", "severity": 1, "category": "style", "suggestion": suggestion}])
    assert spans(reply) == [("ayer", "style", 1.0, suggestion)]


def test_categories_of_several_words_come_through() -> None:
    assert spans(ONE.replace("mistranslation", "untranslated text"))[0][1] == "untranslated text"


def test_an_omission_keeps_its_source_words_and_anchors() -> None:
    missing = {"span": "finally", "before": "pagó", "after": " a", "category": "omission", "severity": 2}
    reply = json.dumps([{**missing, "suggestion": "por fin"}])
    (error,) = parse(reply, TEXT)
    assert (error.side, error.before, error.after, error.start) == ("omission", "pagó", " a", None)


@pytest.mark.parametrize("span", ["«central»", "rojo durmió.", "a el banco «central» ayer"])
def test_spans_with_quotes_and_punctuation_are_located(span: str) -> None:
    (error,) = parse(json.dumps([{"span": span, "severity": 1, "category": "style", "suggestion": "x"}]), TEXT)
    assert error.start is not None
    assert TEXT[error.start : error.end] == span


async def test_a_rating_is_signed_and_scored() -> None:
    segment = Segment(id="1", source="s", source_lang="en", target_lang="es", reference="r")
    llm = ScriptedLLM([f'{{"errors": [{ONE}]}}'], model="gpt-x")
    rating = await RubricMQM(llm).rate(segment, TEXT)
    assert rating.score == -3
    assert rating.signature.startswith("rubric-mqm|model:gpt-x|prompt:rubric-mqm@1#")
    assert rating.signature.endswith("|scale:1-4|forced:no|version:0.1.0")
    assert llm.requests[0].schema is not None
    assert "<reference>r</reference>" in llm.requests[0].messages[-1].content


async def test_an_error_free_rating_scores_zero() -> None:
    segment = Segment(id="1", source="s", source_lang="en", target_lang="es")
    rating = await RubricMQM(ScriptedLLM(['{"errors": []}'])).rate(segment, TEXT)
    assert (rating.score, rating.errors) == (0, ())


def test_an_error_about_the_words_no_error_is_kept() -> None:
    reply = '{"errors": [{"span": "no error", "severity": 2, "category": "style", "suggestion": "not a mistake"}]}'
    assert [error.text for error in parse(reply, "It was no error.")] == ["no error"]
    assert parse(reply, TEXT) == ()


def test_an_omission_stays_one_where_its_source_words_happen_to_stand_in_the_translation() -> None:
    missing = {"span": "on", "category": "omission", "severity": 2, "suggestion": "am Freitag"}
    translation = "Die Klinik bleibt geschlossen bis Montag, Donnerstag."
    reply = json.dumps([missing | {"before": "bleibt", "after": "geschlossen"}])
    assert [error.side for error in parse(reply, translation)] == ["omission"]
    marked = json.dumps([missing | {"span": "Donnerstag", "before": "Montag, ", "after": "."}])
    assert [(error.side, error.start) for error in parse(marked, translation)] == [("translation", 42)]


def test_the_signature_names_the_settings_that_are_sent() -> None:
    cold = OpenAIClient("m", base_url="http://127.0.0.1:1/v1", sampling=Sampling(temperature=0.0, seed=7))
    plain = OpenAIClient("m", base_url="http://127.0.0.1:1/v1")
    with Store(":memory:") as store:
        for llm in (cold, Cached(cold, store)):
            assert "|temperature:0.0|seed:7|" in RubricMQM(llm).signature
        assert "temperature" not in RubricMQM(plain).signature
