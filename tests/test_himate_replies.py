"""Replies of HiMATE's agents, in the shapes that models give them: read, or refused; never perfect by accident."""

from __future__ import annotations

import json

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.himate_replies import (
    Opinion,
    View,
    parse_correction,
    parse_opinion,
    parse_subtype,
    parse_sure,
    parse_verdict,
)
from mtagent.evaluators.typology import Subtype, subtype_of
from mtagent.records import Segment

TEXT = 'Der „Zug“ nach Köln hat\n10 Minuten Verspätung, sagt "Anna".'


def agent(name: str) -> Subtype:
    found = subtype_of(name)
    assert found is not None
    return found


MIS = agent("mistranslation")
ONE = '{"span": "Köln", "before": "nach ", "after": " hat", "explanation": "Kiel is meant.", "severity": "major"}'

OMISSION = '"category": "omission", '


def found(reply: str, subtype: Subtype = MIS) -> list[tuple[str, str, str, int | None]]:
    return [(e.text, e.category, e.severity, e.start) for e in parse_subtype(reply, TEXT, subtype)]


KOELN = [("Köln", "accuracy/mistranslation", "major", 15)]


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"errors": [{ONE}]}}',
        f"[{ONE}]",
        ONE,
        f'```json\n{{"errors": [{ONE}]}}\n```',
        f"```\n{ONE}\n```",
        f"Here is my evaluation:\n\n[{ONE}]\n\nLet me know if you need more.",
        f"**Evaluation**\n{ONE}",
        f"<think>The city is wrong [1].</think>\n[{ONE}]",
        f'{{"errors": [{ONE},]}}',
        ONE.replace('"', "'"),
        ONE.replace('"major"', '"Major"'),
        ONE.replace('"major"', '"MAJOR ERROR"'),
        ONE.replace('"major"', '"critical"'),
        ONE.replace('"before": "nach ", "after": " hat", ', ""),
        ONE.replace('"nach "', "null").replace('" hat"', "null"),
        ONE.replace('"span"', '"Error Span"'),
        f'{{"annotations": [{ONE}]}}',
        f'{{"exists": true, "errors": [{ONE}]}}',
        f'{{"error_exists": "yes", "errors": [{ONE}]}}',
        ONE.replace("{", '{"error_exist": "Yes", ', 1),
        ONE.replace("{", '{"category": "mistranslation", ', 1),
        ONE.replace("{", '{"category": "Accuracy/Mistranslation", ', 1),
        ONE.replace("{", '{"type": "wrong place", ', 1),
        '{"Köln": {"severity": "major", "explanation": "Kiel is meant."}}',
        f'\ufeff{{"errors": [{ONE}, {{"exists": false, "severity": "minor"}}]}}',
        f'{{"errors": [{ONE}, "no-error"]}}',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    assert found(reply) == KOELN


@pytest.mark.parametrize(
    "reply",
    [
        '{"errors": []}',
        "[]",
        "```json\n[]\n```",
        '["no-error"]',
        "There is none of my type.\n\n[]",
        '{"exists": false}',
        '{"error_exists": "No", "errors": []}',
        '{"error exist": "no", "severity": "neutral", "explanation": "It is right."}',
        '{"exists": false, "span": "", "severity": "neutral", "explanation": ""}',
        '{"exists": false, "span": null}',
        '[{"exists": "no", "severity": "neutral"}]',
        '{"errors": [{"span": "no error", "severity": "neutral"}]}',
    ],
)
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert found(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "No.",
        "The translation is excellent!",
        "I'm sorry, but I can't help with that.",
        "**Major:**\n- Köln",
        "Error Exist: Yes. Error Severity: Major.",
        "{}",
        "null",
        f'{{"errors": [{ONE}, {{"span": "Zu',
        f'{{"errors": [{ONE}',
        "<think>Let me look at the translation",
        ONE.replace('"major"', '"serious"'),
        ONE.replace('"major"', "3"),
        ONE.replace('"major"', "null"),
        ONE.replace(', "severity": "major"', ""),
        ONE.replace('"Köln"', "null"),
        ONE.replace('"Köln"', '""'),
        ONE.replace('"span": "Köln", ', ""),
        '{"errors": ["Köln"]}',
        '{"Köln": "mistranslation"}',
        f'{{"errors": [{ONE}], "errors": []}}',
        f'{{"exists": false, "errors": [{ONE}]}}',
        '{"exists": true, "errors": []}',
        ONE.replace("{", '{"exists": "no", ', 1),
        ONE.replace("{", '{"category": "fluency/spelling", ', 1),
        f"[{ONE.replace('{', '{' + OMISSION, 1)}]",
        ONE.replace("Kiel", "\\ud83d"),
    ],
)
def test_an_unreadable_evaluation_is_an_error_and_never_perfect(reply: str) -> None:
    with pytest.raises(RatingParseError):
        found(reply)


@pytest.mark.parametrize("span", ["„Zug“", 'sagt "Anna".', "hat\n10 Minuten", "Verspätung, sagt"])
def test_spans_with_quotes_and_line_breaks_are_located(span: str) -> None:
    ((text, _, _, start),) = found(json.dumps([{"span": span, "severity": "minor"}]))
    assert start == TEXT.index(text)


def test_a_span_that_stands_twice_is_kept_twice() -> None:
    assert len(found(f"[{ONE}, {ONE}]")) == 2


def test_an_omission_names_the_source_and_its_place() -> None:
    (error,) = parse_subtype(
        '[{"span": "about", "before": "hat\\n", "after": "10", "severity": "minor"}]', TEXT, agent("omission")
    )
    assert (error.side, error.text, error.before, error.after) == ("omission", "about", "hat\n", "10")


SEGMENT = Segment(id="1", source="Keep the shop's receipt.", source_lang="en", target_lang="de")
KEEP = "Behalten Sie den Kassenbon des Ladens."
BETTER = "Bewahren Sie den Kassenbon des Ladens auf."


@pytest.mark.parametrize(
    "reply",
    [
        BETTER,
        f"  {BETTER}\n\n",
        f"```\n{BETTER}\n```",
        f"```text\n{BETTER}\n```",
        f"<translation>{BETTER}</translation>",
        f"<think>behalten or aufbewahren?</think>\n{BETTER}",
        f"behalten or aufbewahren?</think>{BETTER}",
        json.dumps({"correction": BETTER}),
        json.dumps({"Corrected_Translation": BETTER}, ensure_ascii=False),
        f"```json\n{json.dumps({'corrected translation': BETTER})}\n```",
        json.dumps({"translation": BETTER, "explanation": "aufbewahren"}),
    ],
)
def test_a_correction_in_many_shapes(reply: str) -> None:
    assert parse_correction(reply, SEGMENT, KEEP) == BETTER


@pytest.mark.parametrize("text", [KEEP, "Behalten Sie „den“ Bon.", "保留收据。", "Nichts.", "Note: Bon.", "x"])
def test_a_correction_is_taken_as_it_is(text: str) -> None:
    before = {"保留收据。": "留收据。", "Note: Bon.": "Note: Beleg."}.get(text, KEEP)
    assert parse_correction(text, SEGMENT, before) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Teh translation is correct in all three files.", "The translation is correct in all three files."),
        ("No chnages to the timetable are planned.", "No changes to the timetable are planned."),
        ("Nothing to declare?", "Nothing to declare!"),
    ],
)
def test_a_translation_that_reads_like_a_remark_is_taken(before: str, after: str) -> None:
    assert parse_correction(after, SEGMENT, before) == after


def test_a_correction_keeps_the_outer_white_space_of_the_translation() -> None:
    assert parse_correction(BETTER, SEGMENT, f" {KEEP}\n") == f" {BETTER}\n"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "```\n\n```",
        "<think></think>",
        "<think>What about",
        "No change needed.",
        "No changes are needed, the translation is correct.",
        "**No correction necessary**",
        "No errors found.",
        "None",
        "N/A",
        "Unchanged.",
        "Nothing to correct.",
        "The translation is already correct.",
        "The original translation needs no correction.",
        "There are no errors in this translation.",
        f"Here is the corrected translation:\n{BETTER}",
        f"Corrected translation: {BETTER}",
        f"**Corrected translation:**\n\n{BETTER}",
        f"Sure! {BETTER}",
        f"{BETTER}\n\nNote: I used the verb aufbewahren.",
        f"{BETTER}\n\nI changed the verb to make it more natural.",
        f"1. {BETTER}\n2. Heben Sie den Kassenbon auf.",
        f"{BETTER}\n{BETTER}",
        "I'm sorry, but I can't help with that.",
        "{}",
        '{"correction": null}',
        '{"correction": ["a"]}',
        f'{{"correction": "{BETTER}',
        f"{BETTER} {'Und noch viel mehr, das nirgends steht. ' * 5}",
        "Bewahren Sie den Bon\x00 auf.",
        f"{BETTER[:-5]}\ufffd\ufffd.",
    ],
)
def test_a_remark_is_no_correction(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_correction(reply, SEGMENT, KEEP)


VERDICTS = {
    "corrected": "corrected",
    "Corrected": "corrected",
    "corrected.": "corrected",
    "**corrected**": "corrected",
    '"corrected"': "corrected",
    "`corrected`": "corrected",
    "Verdict: corrected": "corrected",
    "**Verdict:**\ncorrected": "corrected",
    "Error has been corrected.": "corrected",
    "The error has been fixed in the corrected translation.": "corrected",
    "corrected\n\nThe original had no difference in tense, but the noun was wrong.": "corrected",
    '{"verdict": "corrected"}': "corrected",
    '```json\n{"verdict": "Corrected"}\n```': "corrected",
    '{"corrected": true}': "corrected",
    "<think>not corrected? no, it is worse … hm</think>corrected": "corrected",
    "no difference": "no difference",
    "No difference.": "no difference",
    "no_difference": "no difference",
    "NO-DIFFERENCE": "no difference",
    "No significant difference between the original translation and the corrected Translation.": "no difference",
    "There is no real difference.": "no difference",
    "The error has not been corrected.": "no difference",
    "Not corrected": "no difference",
    "It wasn't corrected.": "no difference",
    "The texts are identical": "no difference",
    '{"verdict": "no difference", "reason": "both have been corrected alike"}': "no difference",
    "worse": "worse",
    "Worse!": "worse",
    "The corrected translation is worse than the original.": "worse",
    "<reasoning>x</reasoning> _worse_": "worse",
}


@pytest.mark.parametrize(("reply", "verdict"), VERDICTS.items())
def test_verdicts(reply: str, verdict: str) -> None:
    assert parse_verdict(reply) == verdict


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\n",
        "Yes.",
        "No.",
        "The corrected translation",
        "The original translation is better.",
        "corrected, but worse in style",
        "corrected / no difference / worse",
        "no difference or worse",
        "I'm sorry, but I can't help with that.",
        '{"verdict": null}',
        '{"verdict": "corr',
        "{}",
        "85",
        "<think>corrected",
        "korrigiert",
    ],
)
def test_no_verdict_or_several_are_an_error(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_verdict(reply)


@pytest.mark.parametrize(
    ("reply", "verdict", "percent"),
    [
        ("corrected, 80", "corrected", 80),
        ("corrected 80", "corrected", 80),
        ("Corrected (80%)", "corrected", 80),
        ("**corrected**, **85**", "corrected", 85),
        ("corrected, 85.5", "corrected", 85.5),
        ("corrected, 85,5", "corrected", 85.5),
        ("corrected: 85/100", "corrected", 85),
        ("corrected\nconfidence: 90", "corrected", 90),
        ("Verdict: no difference\nConfidence: 40 %", "no difference", 40),
        ("no difference, 0", "no difference", 0),
        ("worse, 100", "worse", 100),
        ("worse. 100.", "worse", 100),
        ("Error 1 has been corrected. Confidence: 70", "corrected", 70),
        ('{"verdict": "corrected", "confidence": 75}', "corrected", 75),
        ('```json\n{"verdict": "worse", "confidence": "75"}\n```', "worse", 75),
        ("<think>1 or 2?</think>corrected, 60", "corrected", 60),
        ("I am 90% sure: corrected", "corrected", 90),
    ],
)
def test_confidence_in_words(reply: str, verdict: str, percent: float) -> None:
    assert parse_sure(reply) == (verdict, percent)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "corrected",
        "80",
        "corrected, high",
        "corrected, -5",
        "corrected, 101",
        "corrected, 850",
        "corrected, 0.85",
        "corrected, 80 or 90",
        "corrected, 80-90",
        "corrected and worse, 80",
        '{"verdict": "corrected"}',
        '{"confidence": 80}',
    ],
)
def test_a_confidence_that_is_not_on_the_scale_is_an_error(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_sure(reply)


MAJOR, MINOR, GONE = View(True, "major"), View(True, "minor"), View(False, "neutral")
SAID = '{"number": 1, "exists": true, "severity": "minor"}'


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"errors": [{SAID}], "comment": "c"}}',
        f'{{"agrees": false, "errors": [{SAID}], "comment": "c"}}',
        f'{{"Agree": "No", "errors": [{SAID}], "explanation": "c"}}',
        f'```json\n{{"errors": [{SAID}], "comment": "c"}}\n```',
        f'My opinion:\n\n{{"errors": [{SAID}], "comment": "c"}}\n\nBest wishes.',
        f'<think>hm</think>{{"errors": [{SAID},], "comment": "c"}}',
        f'{{"errors": {SAID}, "comment": "c"}}',
        '{"errors": [{"exists": "yes", "severity": "Minor"}], "comment": "c"}',
        '{"errors": [{"number": "1", "exists": "Yes", "severity": "minor error"}], "comment": "c"}',
        '{"exists": true, "severity": "minor", "comment": "c"}',
        '{"Error Exist": "Yes", "Error Severity": "x", "severity": "minor", "comment": "c"}',
        "{'errors': [{'number': 1, 'exists': true, 'severity': 'minor'}], 'comment': 'c'}",
    ],
)
def test_the_same_opinion_in_many_shapes(reply: str) -> None:
    assert parse_opinion(reply, (MAJOR,)) == Opinion((MINOR,), "c")


OPINIONS: list[tuple[str, tuple[View, ...], tuple[View, ...]]] = [
    ('{"agrees": true, "errors": [], "comment": ""}', (MINOR,), (MINOR,)),
    ('{"agrees": true}', (MAJOR, GONE), (MAJOR, GONE)),
    (f'{{"agrees": true, "errors": [{SAID}]}}', (MINOR,), (MINOR,)),
    ("I agree with him.", (GONE,), (GONE,)),
    ("**I agree.**", (GONE,), (GONE,)),
    ("Yes, I fully agree with the expert", (MAJOR,), (MAJOR,)),
    ("Error Exist: Yes. Error Severity: Major. The assessment is correct.", (MINOR,), (MAJOR,)),
    ("**Error Exist:** No\n**Error Severity:** Neutral\nIt is a matter of taste.", (MINOR,), (GONE,)),
    ("error exists: no", (MINOR,), (GONE,)),
    (f"[{SAID}]", (MAJOR,), (MINOR,)),
    ('[{"exists": false}, {"exists": true, "severity": "major"}]', (MINOR, MINOR), (GONE, MAJOR)),
    ('{"errors": [{"number": 2, "exists": false}, ' + SAID + "]}", (MAJOR, MAJOR), (MINOR, GONE)),
    ('{"exists": false, "severity": "minor"}', (MINOR,), (GONE,)),
    ('{"exists": true, "severity": "critical"}', (MINOR,), (MAJOR,)),
    ('{"exists": true, "severity": "neutral"}', (MINOR,), (View(True, "neutral"),)),
]


@pytest.mark.parametrize(("reply", "standing", "views"), OPINIONS)
def test_opinions(reply: str, standing: tuple[View, ...], views: tuple[View, ...]) -> None:
    assert parse_opinion(reply, standing).views == views


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I agree, but it is minor.",
        "I do not agree with him.",
        "I disagree.",
        "It is a fine translation.",
        "Error Severity: Minor",
        "Error Exist: Yes.",
        "I'm sorry, but I can't help with that.",
        "{}",
        "[]",
        '{"agrees": false}',
        '{"agrees": false, "errors": []}',
        '{"agrees": "maybe", "comment": "c"}',
        f'{{"agrees": true, "errors": [{SAID}]}}',
        '{"errors": [{"number": 1, "exists": true}]}',
        '{"errors": [{"number": 1, "exists": true, "severity": null}]}',
        '{"errors": [{"number": 1, "exists": "perhaps", "severity": "minor"}]}',
        '{"errors": [{"number": 1, "severity": "minor"}]}',
        '{"errors": [{"number": 2, "exists": true, "severity": "minor"}]}',
        f'{{"errors": [{SAID}, {SAID}]}}',
        f'{{"errors": [{SAID}, {{"number": 2, "exists": false}}]}}',
        f'{{"errors": [{SAID}, {{"num',
        '{"errors": ["minor"]}',
        '{"comment": "c"}',
    ],
)
def test_an_opinion_that_leaves_something_open_is_an_error(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_opinion(reply, (MAJOR,))


@pytest.mark.parametrize("reply", [f'{{"errors": [{SAID}]}}', '{"exists": false}', "Error Exist: No."])
def test_of_two_errors_both_must_be_judged(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_opinion(reply, (MAJOR, MINOR))
