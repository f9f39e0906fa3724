"""HiMATE's single-agent baseline: replies in the shapes that models give, its weights, and what is no error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtagent.config import Config
from mtagent.errors import RatingParseError
from mtagent.evaluators.named import Surroundings, make_evaluator
from mtagent.evaluators.single_agent import SingleAgent, parse
from mtagent.evaluators.typology import SIGNATURE, SUBTYPES, described
from mtagent.llm import prompts
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Segment, Term
from mtagent.text import mqm

SOURCE = "她说：「我明天不来，对不起。」"
TEXT = 'She said: "I will come tomorrow,\nsorry", and l\'amie left the café early, early.'
SEGMENT = Segment(id="1", source=SOURCE, source_lang="zh", target_lang="en", reference="A reference.")
FIELDS = {
    "span": "will come",
    "before": "I ",
    "after": " tomorrow",
    "category": "accuracy/mistranslation",
    "severity": "major",
    "explanation": "She will not come.",
}
ONE = json.dumps(FIELDS)


def item(**changes: Any) -> str:
    return json.dumps({**FIELDS, **changes}, ensure_ascii=False)


def test_an_error_has_all_that_was_asked_for() -> None:
    (error,) = parse(f'{{"errors": [{ONE}]}}', TEXT)
    assert (error.text, error.category, error.severity) == ("will come", "accuracy/mistranslation", "major")
    assert (error.start, error.end, error.explanation) == (13, 22, "She will not come.")
    assert (error.before, error.after, error.suggestion, error.penalty) == ("I ", " tomorrow", None, None)


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"errors": [{ONE}]}}',
        f"[{ONE}]",
        ONE,
        f'{{"annotations": [{ONE}]}}',
        f'```json\n{{"errors": [{ONE}]}}\n```',
        f'Sure! Here is my evaluation:\n\n{{"errors": [{ONE}]}}\n\nI hope this helps.',
        f"<think>Perhaps [{{}}] …</think>{ONE}",
        f'{{"errors": [{ONE},],}}',
        f'{{"errors": [{ONE}], "score": -5}}',
        "{'errors': [{'span': 'will come', 'category': 'accuracy/mistranslation', 'severity': 'major'}]}",
        "{“errors”: [{“span”: “will come”, “category”: “accuracy/mistranslation”, “severity”: “major”}]}",
        '{"will come": {"category": "accuracy/mistranslation", "severity": "major"}}',
        item(severity="Major"),
        item(severity="MAJOR ERROR"),
        item(category="Accuracy/Mistranslation"),
        item(category="mistranslation"),
        item(category="Accuracy - Mistranslation"),
        item(category="accuracy", subtype="mistranslation"),
        item(category="Accuracy", subcategory="Mistranslation"),
        item(category=None, core="accuracy", subtype="mistranslation"),
        item(explanation=None),
        item(explanation=["a", "list"]),
        item(before=None, after=None),
        ONE.replace('"span"', '"Error_Span"').replace('"severity"', '"Severity"'),
        f'// the errors\n{{"errors": [{ONE} /* the only one */]}}',
        f'\ufeff{{"errors": [{ONE}]}}',
        f'{{"errors": [{ONE}, "no-error"]}}',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    errors = parse(reply, TEXT)
    assert [(e.text, e.category, e.severity, e.start) for e in errors] == [
        ("will come", "accuracy/mistranslation", "major", 13)
    ]


@pytest.mark.parametrize(
    "reply",
    ['{"errors": []}', "[]", "```json\n[]\n```", '["no-error"]', '{"errors": [{"span": "", "category": "No-error"}]}'],
)
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert parse(reply, TEXT) == ()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The translation is excellent!",
        "No errors found.",
        "**Major:**\nnone",
        "I'm sorry, but I cannot evaluate this text.",
        "{}",
        '{"errors": null}',
        '{"errors": [{"span": "will come", "category": "accuracy/mis',
        '{"errors": ["will come"]}',
        f'{{"errors": [{ONE}], "errors": []}}',
        'You asked for {"errors": []} where there is none, but I cannot tell.',
        "I would write [] if it were right.",
        'Write ["no-error"] if there is none, you say. There is one.',
        "I cannot answer with [] here.",
        "Neither [] nor anything else.\nI do not know.",
        item(severity=None),
        item(severity="high"),
        item(severity=5),
        item(severity="minor/major"),
        item(span=None),
        item(span=""),
        item(span=3),
        '{"errors": [{"category": "style/awkward", "severity": "minor"}]}',
        "<think>The errors are [1]",
        "Score: -5",
    ],
)
def test_an_unreadable_reply_is_an_error_and_never_perfect(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse(reply, TEXT)


@pytest.mark.parametrize("span", ['"I will come tomorrow,\nsorry"', "l'amie", "café", "tomorrow,\nsorry"])
def test_spans_with_quotes_line_breaks_and_accents_are_located(span: str) -> None:
    (error,) = parse(item(span=span, before=None, after=None), TEXT)
    assert error.start is not None
    assert TEXT[error.start : error.end] == span


def test_a_span_that_stands_twice_is_found_by_its_context_and_not_guessed_without() -> None:
    (known,) = parse(item(span="early", before="early, ", after="."), TEXT)
    (unknown,) = parse(item(span="early", before=None, after=None), TEXT)
    assert (known.start, unknown.start) == (TEXT.rindex("early"), None)


def test_the_same_span_under_two_kinds_is_kept_twice() -> None:
    reply = f"[{ONE}, {item(category='fluency/grammar', severity='minor')}]"
    assert [error.category for error in parse(reply, TEXT)] == ["accuracy/mistranslation", "fluency/grammar"]


def test_an_omission_marks_source_words_however_its_category_is_written() -> None:
    missing = {"span": "对不起", "before": "tomorrow,", "after": "\nsorry"}
    for category in ("accuracy/omission", "Omission", "Accuracy - Omission"):
        (error,) = parse(item(**missing, category=category), TEXT)
        assert (error.side, error.category, error.start) == ("omission", "accuracy/omission", None)


@pytest.mark.parametrize(
    ("marked", "score"),
    [
        ([("style/awkward", "major")], -5),
        ([("fluency/punctuation", "minor")], -0.1),
        ([("Punctuation", "minor"), ("fluency/grammar", "minor")], -1.1),
        ([("locale convention/date format", "minor")] * 3, -3),
        ([("accuracy/omission", "major")] * 6, -30),
        ([("accuracy/addition", "critical")], -5),
        ([("hallucination", "minor")], -1),
    ],
)
async def test_errors_add_up_with_the_weights_of_himate_table_6(marked: list[tuple[str, str]], score: float) -> None:
    reply = ", ".join(item(category=category, severity=severity) for category, severity in marked)
    rating = await SingleAgent(ScriptedLLM([f"[{reply}]"])).rate(SEGMENT, TEXT)
    assert rating.errors is not None
    assert (rating.score, len(rating.errors)) == (score, len(marked))


async def test_a_neutral_remark_is_no_error_and_stays_readable() -> None:
    taste = item(category="style/awkward", severity="neutral", explanation="I would say otherwise.")
    rating = await SingleAgent(ScriptedLLM([f"[{taste}]", f"[{taste}, {ONE}]"])).rate(SEGMENT, TEXT)
    assert (rating.errors, rating.score) == ((), 0)
    assert rating.explanation == "neutral, not counted: style/awkward - 'will come': I would say otherwise."


async def test_a_rating_is_signed_timed_and_keeps_its_call() -> None:
    llm = ScriptedLLM([f"[{ONE}]"], model="gpt-x")
    rating = await SingleAgent(llm).rate(SEGMENT, TEXT)
    assert rating.signature.startswith("single-agent|model:gpt-x|prompt:single-agent@2#")
    assert rating.signature.endswith(f"|{SIGNATURE}|weights:himate|version:0.1.0")
    assert ([call.purpose for call in rating.calls], rating.explanation) == (["rate"], None)
    assert rating.seconds > 0
    assert rating.errors is not None
    assert mqm.score(rating.errors, "himate") == rating.score == -5


async def test_an_unreadable_reply_is_asked_for_once_more_and_then_an_error() -> None:
    llm = ScriptedLLM(["Excellent!", f"[{ONE}]"])
    assert (await SingleAgent(llm).rate(SEGMENT, TEXT)).score == -5
    with pytest.raises(RatingParseError) as caught:
        await SingleAgent(ScriptedLLM(["Excellent!", "Excellent!"])).rate(SEGMENT, TEXT)
    assert len(caught.value.calls) == 2


async def test_one_call_asks_for_all_19_kinds_and_shows_no_reference() -> None:
    llm = ScriptedLLM([f"[{ONE}]"])
    segment = SEGMENT.model_copy(update={"domain": "chat", "notes": "Be brief.", "terms": (Term(source="她"),)})
    await SingleAgent(llm).rate(segment, TEXT)
    (request,) = llm.requests
    assert described() in request.messages[0].content
    asked = request.messages[-1].content
    assert ("A reference." in asked, "chat" in asked, "Be brief." in asked, "她 = keep as it is" in asked) == (
        False,
        True,
        True,
        True,
    )
    assert request.schema is not None
    properties = request.schema["properties"]["errors"]["items"]["properties"]
    assert properties["category"]["enum"] == [subtype.category for subtype in SUBTYPES]
    assert properties["severity"]["enum"] == ["major", "minor", "neutral"]


@pytest.mark.parametrize(
    ("pair", "shown"), [("en-de", "German"), ("zh-en", "English"), ("en-fr", "French"), ("cs-uk", "French")]
)
def test_two_examples_are_shown_one_of_the_pair_and_one_without_error(pair: str, shown: str) -> None:
    source_lang, target_lang = pair.split("-")
    segment = Segment(id="1", source="s", source_lang=source_lang, target_lang=target_lang)
    messages = prompts.load("single-agent").render(prompts.segment_values(segment, translation="t", typology="-"))
    users = [message.content for message in messages[:-1] if message.role == "user"]
    assert [f"{shown} translation" in users[0], "Portuguese translation" in users[1], len(users)] == [True, True, 2]


def test_every_example_has_known_kinds_and_spans_that_are_found() -> None:
    kinds = set()
    for example in prompts.load("single-agent").examples:
        errors = parse(example.reply, example.values["translation"])
        assert [e.text for e in errors if e.side == "translation" and e.start is None] == []
        assert [e.text for e in errors if e.side == "omission" and e.text not in example.values["source"]] == []
        kinds |= {error.category for error in errors}
    assert kinds <= {subtype.category for subtype in SUBTYPES}
    assert len({kind.partition("/")[0] for kind in kinds}) == 4


def test_it_is_known_by_name() -> None:
    surroundings = Surroundings(llm=ScriptedLLM([]), config=Config(), data_folder=Path())
    assert isinstance(make_evaluator("single-agent", surroundings), SingleAgent)
