"""M-MAD's rules for lists of errors: one error a place, what is remembered, and how a list is shown."""

from __future__ import annotations

import json

from mtagent.evaluators.m_mad import as_json, parse, parse_statement, remembered, settled
from mtagent.records import ErrorSpan

TEXT = "Die „große“ Straße ist gesperrt,\nweil die große Brücke — 3 m breit — repariert wird."
FIELDS = '"category": "accuracy/mistranslation", "severity": "major", "is_source_error": "no"'
ONE = f'{{"error_span": "Brücke", "before": "große ", "after": " — 3", {FIELDS}}}'


def test_a_statement_keeps_its_reasons_but_not_its_thoughts() -> None:
    reply = f'<think>let me see</think>\nB is right about the bridge.\n```json\n{{"annotations": [{ONE}]}}\n```'
    statement = parse_statement(reply, TEXT, "accuracy")
    assert statement.text.startswith("B is right about the bridge.")
    assert "let me see" not in statement.text


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
