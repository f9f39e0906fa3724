"""Where a span stands: what context decides, and how characters of several code points are kept whole."""

from __future__ import annotations

import unicodedata

import pytest

from mtagent.records import ErrorSpan
from mtagent.text import edits
from mtagent.text.spans import find_spans, normalised


def error(text: str, suggestion: str = "X", **fields: object) -> ErrorSpan:
    return ErrorSpan.model_validate(
        {"text": text, "suggestion": suggestion, "severity": "minor", "category": "style", **fields}
    )


def corrected(text: str, *errors: ErrorSpan) -> str:
    return edits.apply(text, edits.locate(text, errors))


def omission(source: str, suggestion: str, before: str = "", after: str = "") -> ErrorSpan:
    return error(source, suggestion, category="omission", side="omission", before=before, after=after)


def test_context_in_another_case_still_decides() -> None:
    text = "The bank is near the bank."
    assert corrected(text, error("bank", before="NEAR THE ")) == "The bank is near the X."


def test_a_whole_word_in_another_case_is_found_though_the_span_stands_inside_a_word() -> None:
    assert corrected("Concatenate. Cat sat.", error("cat")) == "Concatenate. X sat."


def test_context_on_one_side_does_not_move_an_edit_into_a_word() -> None:
    assert corrected("concat. The cat sat", error("cat", before="big ", after=".")) == "concat. The X sat"
    assert corrected("the category", error("cat", before="the ")) == "the category"


def test_context_on_the_side_of_the_word_places_an_edit_inside_it() -> None:
    assert corrected("die Haustür, das Haus", error("Haus", before="die ", after="tür")) == "die Xtür, das Haus"


def test_hangul_in_pieces_is_found_and_replaced_by_whole_syllables() -> None:
    text = unicodedata.normalize("NFD", "회의는 오전 두 시")
    assert unicodedata.normalize("NFC", corrected(text, error("오전", "오후"))) == "회의는 오후 두 시"
    assert corrected(text, error("오저")) == text


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("I ❤\ufe0f you", "❤"),
        ("family \U0001f469\u200d\U0001f467 here", "\U0001f469"),
        ("thumb \U0001f44d\U0001f3fd up", "\U0001f44d"),
        ("او می\u200cخواهم گفت", "خواهم"),
        ("un cafe\u0301 ici", "cafe"),
        ("Maße", "Mas"),
        ("xﬁx", "xf"),
    ],
)
def test_half_of_a_character_or_joined_word_is_never_replaced(text: str, span: str) -> None:
    assert corrected(text, error(span), error(span, after="e"), error(span, after="ix")) == text


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_line_break_is_taken_for_a_space(separator: str) -> None:
    text = f"a one{separator}two b"
    assert corrected(text, error("one two")) == text
    assert separator in normalised(text).text


def test_every_place_in_a_normalised_view_leads_back_to_whole_characters() -> None:
    text = "İ ﬁn Maße cafe\u0301 “x”\u00a0–\u00a0y"
    view = normalised(text)
    for word in view.text.split():
        (finding,) = find_spans(text, [error(word)])
        assert finding.certain
        assert normalised(text[finding.places[0].start : finding.places[0].end]).text == word


def test_an_omitted_name_that_is_the_same_in_both_languages_is_inserted() -> None:
    text = "Er wohnt in seit Jahren."
    assert corrected(text, omission("Paris", "Paris", "in", "seit")) == "Er wohnt in Paris seit Jahren."


@pytest.mark.parametrize(
    ("text", "missing", "right"),
    [
        ("Hallo", omission("world", "Welt", "Hallo"), "Hallo Welt"),
        ("Hallo Welt", omission("(x)", "(schöne)", "Hallo", "Welt"), "Hallo (schöne) Welt"),
        ("Hallo Welt", omission("(x)", "(schöne)", "Hallo ", "Welt"), "Hallo (schöne) Welt"),
        ("我 爱北京。", omission("very much", "非常", "爱", "北京"), "我 爱非常北京。"),
        ("我爱 Beijing。他来", omission("too", "Linux", "。", "他"), "我爱 Beijing。Linux他来"),
        ("회의는 두 시", omission("午後", "오후", "회의는", "두"), "회의는 오후 두 시"),
        ("Er wohnt hier.", omission("now", "jetzt", "WOHNT", "Hier"), "Er wohnt jetzt hier."),
        ("Er wohnt\u00a0hier.", omission("now", "jetzt", "wohnt ", "hier"), "Er wohnt\u00a0jetzt hier."),
    ],
)
def test_an_insertion_gets_the_spaces_of_its_script(text: str, missing: ErrorSpan, right: str) -> None:
    assert corrected(text, missing) == right


@pytest.mark.parametrize(("text", "right"), [("C'est très\u00a0!", "C'est\u00a0!"), ("Bon très\r\nB.", "Bon\r\nB.")])
def test_a_deletion_takes_its_space_along_before_any_kind_of_space(text: str, right: str) -> None:
    assert corrected(text, error("très", "")) == right


def test_of_two_equal_edits_one_is_applied_so_that_it_can_be_reverted() -> None:
    found = edits.locate("a bad day", [error("bad", "good"), error("bad", "good")])
    assert [(edit.outcome, edit.detail) for edit in found] == [
        ("applied", None),
        ("overlapping", "another edit does the same"),
    ]
