"""The replies of M-MAD's agents, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import json

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.m_mad import (
    as_json,
    parse,
    parse_consensus,
    parse_judgement,
    parse_statement,
    parse_words,
    remembered,
    settled,
)
from mtagent.records import ErrorSpan

TEXT = "Die „große“ Straße ist gesperrt,\nweil die große Brücke — 3 m breit — repariert wird."
FIELDS = '"category": "accuracy/mistranslation", "severity": "major", "is_source_error": "no"'
ONE = f'{{"error_span": "Brücke", "before": "große ", "after": " — 3", {FIELDS}}}'
FOUND = [("Brücke", "accuracy/mistranslation", "major", TEXT.index("Brücke"))]

SHAPES = [
    pytest.param(f'{{"annotations": [{ONE}]}}', id="as asked for"),
    pytest.param(f'{{"errors": [{ONE}]}}', id="another key"),
    pytest.param(f'{{"annotations": {ONE}}}', id="one object, as the paper prints it"),
    pytest.param(f'{{"Annotations": [{ONE}]}}', id="a capital letter"),
    pytest.param(f'{{"annotations\\n": [{ONE}]}}', id="a line break, as the paper prints it"),
    pytest.param(f"[{ONE}]", id="list alone"),
    pytest.param(ONE, id="object alone"),
    pytest.param(f'{{"Brücke": {{{FIELDS}}}}}', id="keyed by span"),
    pytest.param(f'{{"annotations": {{"Brücke": {{{FIELDS}}}}}}}', id="keyed by span inside"),
    pytest.param(f'```json\n{{"annotations": [{ONE}]}}\n```', id="fence"),
    pytest.param(f'```\n{{"annotations": [{ONE}]}}\n```\n', id="fence without language"),
    pytest.param(f'```json\n{{"annotations": [{ONE}]}}', id="fence left open"),
    pytest.param(f'Here you go:\n\n{{"annotations": [{ONE}]}}\n\nHope this helps [1]!', id="prose around"),
    pytest.param(f'**Annotations:** {{"annotations": [{ONE}]}}', id="bold inline heading"),
    pytest.param(f'## Annotations\n- Result:\n{{"annotations": [{ONE}]}}', id="headings"),
    pytest.param(f'<think>Is {{"annotations": []}} right?</think>{{"annotations": [{ONE}]}}', id="thoughts"),
    pytest.param(f'Hm, {{x}}.</think>\n{{"annotations": [{ONE}]}}', id="thoughts whose tag was left out"),
    pytest.param(f'{{"annotations": [{ONE},],}}', id="trailing commas"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"', "'"), id="single quotes"),
    pytest.param(f"{{annotations: [{ONE}]}} // done", id="bare key and comment"),
    pytest.param(f'\ufeff{{"annotations": [{ONE}]}}', id="byte order mark"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"major"', '"MAJOR"'), id="upper-case severity"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"major"', '" Major error"'), id="wordy severity"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace("accuracy/mis", "Accuracy/Mis"), id="upper-case category"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"accuracy/mis', '"mis'), id="category without dimension"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace("accuracy/", "accuracy: "), id="category with colon"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace("error_span", "Error_Span"), id="upper-case key"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace("error_span", "span"), id="short key"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"no"', "null"), id="null field"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace('"große "', "null").replace('" — 3"', "null"), id="no context"),
    pytest.param(f'{{"annotations": [{ONE}, "no-error"]}}', id="no-error beside it"),
    pytest.param(f'{{"annotations": [{ONE}, {ONE}]}}', id="the same twice at one place"),
    pytest.param(f'{{"annotations": [{ONE}]}}'.replace("ü", "\\u00fc"), id="escapes"),
]
UNREADABLE = [
    "",
    " \n",
    "The translation is excellent!",
    "No errors.",
    "I'm sorry, but I can't assist with that.",
    "**Major:**\n- accuracy/mistranslation: Brücke",
    'Major: accuracy/mistranslation - "Brücke"',
    f'{{"annotations": [{ONE}, {{"error_span": "Stra',
    '{"annotations": [{"error_span": "Brücke", "category": "accuracy/omission"',
    "<think>There may be an error in",
    "{}",
    '{"annotations": null}',
    '{"annotations": }',
    '{"annotations": ["Brücke"]}',
    '{"annotations": [[]]}',
    '{"annotations": [{"error_span": "Brücke"}]}',
    '{"annotations": [{"error_span": null, "category": "accuracy/mistranslation", "severity": "major"}]}',
    f'{{"annotations": [{ONE}]}}'.replace('"major"', '"critical"'),
    f'{{"annotations": [{ONE}]}}'.replace('"major"', '"neutral"'),
    f'{{"annotations": [{ONE}]}}'.replace('"major"', '"minor or major"'),
    f'{{"annotations": [{ONE}]}}'.replace('"major"', "null"),
    f'{{"annotations": [{ONE}]}}'.replace('"major"', "5"),
    f'{{"annotations": [{ONE}]}}'.replace('"major"', "true"),
    f'{{"annotations": [{ONE}]}}'.replace('"accuracy/', '"not accuracy/'),
    f'{{"annotations": [{ONE}], "annotations": []}}',
    f'{{"annotations": [{ONE}]}}'.replace("Brücke", "\\ud83d"),
    "Score: -5",
    f'{{"annotations": [], "errors": [{ONE}]}}',
    f'{{"errors": [], "annotations": [{ONE}]}}',
    f'{{"annotations": [{ONE}]}}'.replace("Brücke", "..."),
    f'{{"annotations": [{ONE}]}}'.replace("Brücke", "…"),
    '{"annotations": [{"error_span": "Brücke", "category": "no-error", "severity": "major"}]}',
    '{"annotations": [{"error_span": "Brücke", "category": "none", "severity": "minor"}]}',
]
NO_ERROR = [
    '{"annotations": []}',
    "[]",
    '```json\n{"annotations": []}\n```',
    '{"annotations": ["no-error"]}',
    '{"annotations": [{"error_span": "", "category": "no-error", "severity": "minor"}]}',
    '{"annotations": [{"error_span": "", "category": "accuracy/no-error", "severity": null}]}',
    "{'annotations': []}",
]


def seen(errors: tuple[ErrorSpan, ...]) -> list[tuple[str, str, str, int | None]]:
    return [(error.text, error.category, error.severity, error.start) for error in errors]


@pytest.mark.parametrize("reply", SHAPES)
def test_the_same_annotation_in_many_shapes(reply: str) -> None:
    assert seen(parse(reply, TEXT, "accuracy")) == FOUND
    assert seen(parse_statement(reply, TEXT, "accuracy").errors) == FOUND
    assert seen(parse_judgement(reply, TEXT, "accuracy").errors) == FOUND


@pytest.mark.parametrize("reply", UNREADABLE)
def test_an_unreadable_reply_is_an_error_and_never_perfect(reply: str) -> None:
    for read in (parse, parse_statement, parse_judgement):
        with pytest.raises(RatingParseError):
            read(reply, TEXT, "accuracy")


@pytest.mark.parametrize("reply", NO_ERROR)
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert parse(reply, TEXT, "accuracy") == ()
    assert parse_statement(reply, TEXT, "accuracy").errors == ()
    assert parse_judgement(reply, TEXT).errors == ()


@pytest.mark.parametrize("span", ["„große“", "gesperrt,\nweil", "— 3 m breit —", "ß", "repariert wird."])
def test_spans_with_quotes_line_breaks_and_dashes_are_located(span: str) -> None:
    at = TEXT.index(span)
    around = {"before": TEXT[max(0, at - 5) : at], "after": TEXT[at + len(span) :][:5]}
    item = {"error_span": span, **around, "severity": "minor", "category": "spelling"}
    (error,) = parse(json.dumps({"annotations": [item]}), TEXT, "fluency")
    assert (error.start, error.end, error.category) == (at, at + len(span), "fluency/spelling")


def test_a_span_that_is_not_certain_stays_without_offsets() -> None:
    (error,) = parse('[{"error_span": "große", "category": "awkward", "severity": "minor"}]', TEXT, "style")
    assert (error.start, error.category) == (None, "style/awkward")


@pytest.mark.parametrize(
    "item",
    [
        {"error_span": "all", "category": "non-translation", "severity": "major"},
        {"error_span": "ALL", "category": "Non-translation", "severity": "minor"},
        {"error_span": TEXT, "category": "accuracy/non-translation", "severity": "major"},
        {"error_span": "", "category": "non-translation", "severity": None},
    ],
)
def test_a_non_translation_is_one_major_error_of_all_the_text_and_excludes_others(item: dict[str, str]) -> None:
    for items in ([item], [json.loads(ONE), item], [item, item]):
        (error,) = parse(json.dumps({"annotations": items}), TEXT, "accuracy")
        assert seen((error,)) == [(TEXT, "non-translation", "major", 0)]
        assert error.end == len(TEXT)


def test_an_annotation_of_another_dimension_keeps_its_category() -> None:
    (error,) = parse(ONE.replace("accuracy/mistranslation", "style/awkward"), TEXT, "accuracy")
    assert error.category == "style/awkward"


def test_a_statement_keeps_its_reasons_but_not_its_thoughts() -> None:
    reply = f'<think>let me see</think>\nB is right about the bridge.\n```json\n{{"annotations": [{ONE}]}}\n```'
    statement = parse_statement(reply, TEXT, "accuracy")
    assert statement.text.startswith("B is right about the bridge.")
    assert "let me see" not in statement.text


@pytest.mark.parametrize(
    "ending",
    [
        '{"annotations": []}',
        '```json\n{"annotations": []}\n```',
        'So my final answer is {"annotations": []}.',
        '**Final annotations:** {"annotations": []}',
        "Final: {'annotations': []}",
    ],
)
@pytest.mark.parametrize(
    "quoted",
    [
        f'The other annotator says\n{{"annotations": [{ONE}]}}\nand I do not agree.',
        f'I began with\n```json\n{{"annotations": [{ONE}]}}\n```\nbut was wrong.',
        f"Take {ONE}: it is no error.",
    ],
)
def test_what_a_debater_quotes_is_not_what_it_concludes(quoted: str, ending: str) -> None:
    assert parse_statement(f"{quoted}\n{ending}", TEXT, "accuracy").errors == ()


@pytest.mark.parametrize("span", ["{'annotations': []}", '{"annotations": []}', "{annotations: []}"])
def test_a_text_that_looks_like_an_answer_is_not_taken_for_one(span: str) -> None:
    item = {"error_span": span, "category": "untranslated text", "severity": "major"}
    reply = f"It holds {span}, which is wrong.\n" + json.dumps({"annotations": [item]})
    assert [error.text for error in parse_statement(reply, f"Siehe {span} hier.", "accuracy").errors] == [span]


def test_a_judgement_comes_with_its_analysis() -> None:
    judgement = parse_judgement(f'{{"analysis": "No non-translation.", "annotations": [{ONE}]}}', TEXT)
    assert (judgement.analysis, seen(judgement.errors)) == ("No non-translation.", FOUND)
    assert parse_judgement('{"analysis": null, "annotations": []}', TEXT).analysis is None


@pytest.mark.parametrize("analysis", ["none", "no error", "all is well"])
def test_an_analysis_without_annotations_is_no_judgement(analysis: str) -> None:
    with pytest.raises(RatingParseError):
        parse_judgement(json.dumps({"analysis": analysis}), TEXT)


YES = [
    "yes", "Yes", "YES", "Yes.", "**Yes**", "__yes__", "'yes'", '"Yes."', "`yes`", "yes\n", "- Yes", "> yes", "Yes!",
    "Answer: yes", "**Answer:** Yes", "The answer is yes.", "Yes, they agree in essence.", "Yes - both mark the same.",
    "Yes they agree.", "Yes (same spans, same severities).", "They mark the same spans.\n\nYes", "<think>no</think>yes",
    "```\nyes\n```", '{"consistent": "yes"}', "Yes. There are no differences.", "Yes or no: yes",
    "Consistent?\n**yes**\nNo. 2 is the same.",
]  # fmt: skip
NO = [
    "no", "No", "NO", "No.", "**No**", "_No._", "'no'", '"No"', "«no»", "`No`", "no\n\n", "# No", "No!", "Answer: no",
    "The answer is: **no**", "My answer is no.", "No, the severities differ.", "No – one is major.",
    "No - they differ.", "No (the second marks more).", "No because the first is major.", "No the severity differs.",
    "The first says major, the second minor.\nNo", "<think>yes?</think>\nNo.", "```\nno\n```", '{"consistent": "no"}',
    "yes/no? no",
]  # fmt: skip
NEITHER = [
    "", "  ", "maybe", "They are consistent.", "There is no difference.", "There are no differences between the two",
    "No differences were found", "Yes and no.", "yes\nno", "Yes. No.", "yes/no", "Return yes or no",
    "I cannot say yes or no.", "I'm sorry, but I can't assist with that.", "<think>yes", "<think>yes</think>",
    'I am to return "yes" if they agree', "是", "Ja", "nope", "yesterday",
    "noted", "no-error in both", "1", "true", "See error no. 3", '{"annotations": []}',
    "I would say yes if the spans agreed", "I would not say yes.", "The answer is not yes.", "I can't say **yes**.",
    "Yes, they are not consistent.", "Yes, the annotations are inconsistent.", "Yes. They disagree on the severity.",
]  # fmt: skip


@pytest.mark.parametrize("reply", YES)
def test_a_consensus_is_read(reply: str) -> None:
    assert parse_consensus(reply) is True


@pytest.mark.parametrize("reply", NO)
def test_a_disagreement_is_read(reply: str) -> None:
    assert parse_consensus(reply) is False


@pytest.mark.parametrize("reply", NEITHER)
def test_a_checker_that_says_neither_yes_nor_no_is_asked_again(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_consensus(reply)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("Why major?", "Why major?"),
        ("  Why?  \n", "Why?"),
        ("1. Why?\n2. Who says so?", "1. Why?\n2. Who says so?"),
        ("- Why?\n- Why not?", "- Why?\n- Why not?"),
        ("**Question 1:** Why?", "**Question 1:** Why?"),
        ("<think>hm</think>Why?", "Why?"),
        ("<think>\nhm\n</think>\n\nWhy?", "Why?"),
        ("<reasoning>hm</reasoning> Why?", "Why?"),
        ("hm</think>Why?", "Why?"),
        ("```\nWhy?\n```", "Why?"),
        ("```markdown\nWhy?\nWho?\n```", "Why?\nWho?"),
        ("¿Por qué «mayor»?", "¿Por qué «mayor»?"),
        ("为什么是主要错误？", "为什么是主要错误？"),
        ("Pourquoi « majeure » ?", "Pourquoi « majeure » ?"),
        ("Is „Brücke“ a bridge?", "Is „Brücke“ a bridge?"),
        ('{"questions": ["Why?"]}', '{"questions": ["Why?"]}'),
        ("No further questions.", "No further questions."),
        ("Why <b>this</b>?", "Why <b>this</b>?"),
        ("Why?\r\nWho?", "Why?\r\nWho?"),
        ("Which is it:\n\n\na or b?", "Which is it:\n\n\na or b?"),
        ("WHY?", "WHY?"),
    ],
)
def test_a_reviewers_questions_are_plain_text(reply: str, words: str) -> None:
    assert parse_words(reply) == words


@pytest.mark.parametrize(
    "reply", ["", " \n\t", "<think>Which question", "<think>none</think>", "``` \n\n```", "Why\x00?"]
)
def test_a_reviewer_that_says_nothing_is_asked_again(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_words(reply)


def span(text: str, category: str, severity: str, start: int | None = None, **more: object) -> ErrorSpan:
    end = None if start is None else start + len(text)
    return ErrorSpan.model_validate(
        {"text": text, "category": category, "severity": severity, "start": start, "end": end, **more}
    )


def test_a_place_keeps_its_worst_error_and_of_equals_the_first_of_the_typology() -> None:
    style, grammar = span("ab", "style/awkward", "minor", 0), span("ab", "fluency/grammar", "minor", 0)
    term, other = span("ab", "terminology/inconsistent use", "major", 0), span("ab", "other", "minor", 0)
    assert settled([other, style, grammar]) == (grammar,)
    assert settled([style, grammar, term]) == (term,)
    assert settled([style, other]) == (style,)


def test_the_rule_for_one_place_leaves_other_places_alone_and_those_unknown() -> None:
    here, overlapping = span("ab", "style/awkward", "minor", 0), span("abc", "style/awkward", "minor", 0)
    unlocated = span("ab", "style/awkward", "minor")
    assert settled([here, overlapping, unlocated, unlocated]) == (here, overlapping, unlocated, unlocated)


def test_an_error_without_context_is_remembered_where_it_was() -> None:
    first = span("der", "fluency/grammar", "major", 7, before="mit ", after=" Frau")
    said = span("der", "fluency/grammar", "minor")
    assert remembered([said], [first]) == (first.model_copy(update={"severity": "minor"}),)


def test_nothing_is_remembered_where_it_could_be_two_places_or_new_context_was_given() -> None:
    places = [span("der", "fluency/grammar", "major", 7), span("der", "fluency/grammar", "major", 20)]
    said = span("der", "fluency/grammar", "minor")
    assert remembered([said], places) == (said,)
    elsewhere = span("der", "fluency/grammar", "minor", 30, before="auf ")
    assert remembered([elsewhere], places[:1]) == (elsewhere,)
    assert remembered([said], [span("den", "fluency/grammar", "major", 7)]) == (said,)


def test_an_omission_is_remembered_as_one_though_its_words_stand_in_the_text_by_chance() -> None:
    first = span("on", "accuracy/omission", "major", side="omission", before="bleibt ", after="zu")
    (said,) = parse(
        '[{"error_span": "on", "category": "omission", "severity": "minor"}]', "Sie bleibt zu on.", "accuracy"
    )
    assert said.side == "translation"
    assert [(error.side, error.before, error.start) for error in remembered([said], [first])] == [
        ("omission", "bleibt ", None)
    ]


def test_a_missing_word_is_not_put_where_the_same_word_was_wrong() -> None:
    wrong = span("on", "accuracy/mistranslation", "major", 14)
    missing = span("on", "accuracy/omission", "minor", side="omission")
    assert remembered([missing], [wrong]) == (missing,)


def test_annotations_are_shown_as_they_are_asked_for_and_can_be_read_again() -> None:
    errors = parse(f'{{"annotations": [{ONE}]}}', TEXT, "accuracy")
    assert parse(as_json(errors), TEXT) == errors
    assert json.loads(as_json(errors, context=False)) == {
        "annotations": [{"error_span": "Brücke", **json.loads(f"{{{FIELDS}}}")}]
    }
    whole = parse('[{"error_span": "all", "category": "non-translation", "severity": "major"}]', TEXT)
    assert json.loads(as_json(whole))["annotations"][0]["error_span"] == "all"
