"""Error spans become located edits: right places only, any order, one by one reversible."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.records import Edit, ErrorSpan, Severity
from mtagent.text import edits


def error(text: str, suggestion: str | None, severity: Severity = "minor", **fields: object) -> ErrorSpan:
    return ErrorSpan.model_validate(
        {"text": text, "suggestion": suggestion, "severity": severity, "category": "accuracy/mistranslation", **fields}
    )


def corrected(text: str, *errors: ErrorSpan, on_ambiguous: edits.OnAmbiguous = "skip") -> str:
    return edits.apply(text, edits.locate(text, errors, on_ambiguous=on_ambiguous))


def outcomes(text: str, *errors: ErrorSpan) -> list[str]:
    return [edit.outcome for edit in edits.locate(text, errors)]


# -- the prototypes' damage, line by line ---------------------------------------------------------------------------


def test_a_span_that_occurs_twice_is_ambiguous_not_replaced_everywhere() -> None:
    text = "We like the bank because the bank pays"
    assert corrected(text, error("the bank", "a firm")) == text
    assert outcomes(text, error("the bank", "a firm")) == ["ambiguous"]


def test_context_picks_the_intended_one_of_two() -> None:
    text = "We like the bank because the bank pays"
    assert corrected(text, error("the bank", "a firm", after=" pays")) == "We like the bank because a firm pays"


def test_a_spaced_match_elsewhere_does_not_beat_the_intended_one() -> None:
    text = "Bank rates rose and Bank holidays fell"
    assert corrected(text, error("Bank", "Firm")) == text
    assert corrected(text, error("Bank", "Firm", start=0, end=4)) == "Firm rates rose and Bank holidays fell"


def test_words_are_not_replaced_inside_words() -> None:
    text = "The category of the cat, clearly."
    assert corrected(text, error("cat", "dog")) == "The category of the dog, clearly."


def test_a_span_before_a_full_stop_is_found_as_a_word() -> None:
    assert corrected("He artfully sold art.", error("art", "paintings")) == "He artfully sold paintings."


def test_a_lone_occurrence_inside_a_word_needs_context() -> None:
    assert outcomes("He artfully sold it.", error("art", "paintings")) == ["ambiguous"]
    assert corrected("Frachtbote", error("bote", "boote", before="Fracht")) == "Frachtboote"


def test_adjacent_repeats_are_all_corrected_where_each_is_marked() -> None:
    text = "go go go go home"
    assert corrected(text, *[error("go", "run")] * 4) == "run run run run home"
    assert outcomes(text, *[error("go", "run")] * 3) == ["ambiguous"] * 3


@pytest.mark.parametrize("new", [r"C:\new", r"C:\1", r"\g<0>", r"$\alpha$", "\\", "%s{0}"])
def test_a_suggestion_is_literal_text(new: str) -> None:
    assert corrected("a bad path", error("bad", new)) == f"a {new} path"


def test_an_edit_never_matches_what_a_former_edit_wrote() -> None:
    assert corrected("red car", error("red", "dark red"), error("dark", "light")) == "dark red car"
    assert corrected("hot and cold", error("hot", "cold"), error("cold", "hot")) == "cold and hot"


def test_of_nested_spans_the_longer_wins_in_any_order() -> None:
    text = "New York City is big"
    nested = [error("New York", "Boston"), error("New York City", "NYC")]
    assert corrected(text, *nested) == corrected(text, *reversed(nested)) == "NYC is big"
    assert outcomes(text, *nested) == ["overlapping", "applied"]


def test_of_overlapping_spans_the_more_severe_wins() -> None:
    text = "New York City is big"
    assert (
        corrected(text, error("New York", "Boston", "critical"), error("New York City", "NYC")) == "Boston City is big"
    )


def test_the_same_span_twice_keeps_both_corrections() -> None:
    text = "la casa y la casa"
    first = error("casa", "hogar", after=" y")
    second = error("casa", "vivienda", before="y la ")
    assert corrected(text, first, second) == "la hogar y la vivienda"


@pytest.mark.parametrize("new", ["doctor", "more rapid", "l'amie de l'État", "cat or dog (both)", 'the "best" one'])
def test_suggestions_are_never_cut(new: str) -> None:
    assert corrected("one thing here", error("thing", new)) == f"one {new} here"


def test_spans_of_one_character_are_corrected() -> None:
    assert corrected("他有三本书", error("三", "四")) == "他有四本书"
    assert corrected("Yes, He left.", error(",", ".")) == "Yes. He left."


def test_scripts_without_spaces_are_not_corrected_at_the_first_substring() -> None:
    text = "中国人民银行的中国人"
    assert corrected(text, error("中国人", "外国人")) == text
    assert corrected(text, error("中国人", "外国人", before="的")) == "中国人民银行的外国人"


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("a very very good day", error("very ", "", start=2, end=7), "a very good day"),
        ("a very good day", error("very", ""), "a good day"),
        ("very good", error("very", ""), "good"),
        ("it is good indeed.", error("indeed", ""), "it is good."),
        ("one\n\nextra two", error("extra", ""), "one\n\ntwo"),
    ],
)
def test_deletion_leaves_no_double_space(text: str, wrong: ErrorSpan, right: str) -> None:
    assert corrected(text, wrong) == right


@pytest.mark.parametrize(
    ("text", "before", "after", "right"),
    [
        ("the house is old", "the", "house", "the big house is old"),
        ("the house is old", "the ", "house", "the big house is old"),
        ("the house is old", "the ", None, "the big house is old"),
        ("the house is old", None, " house", "the big house is old"),
        ("a house", None, "a house", "big a house"),
        ("a house", "house", None, "a house big"),
    ],
)
def test_an_omission_is_inserted_at_its_anchor(text: str, before: str, after: str, right: str) -> None:
    assert corrected(text, error("grande", "big", side="omission", before=before, after=after)) == right


def test_an_omission_without_anchor_is_reported() -> None:
    missing = error("grande", "big", side="omission")
    assert outcomes("the house", missing) == ["not-found"]
    assert outcomes("the house and the house", error("x", "big", side="omission", before="the")) == ["ambiguous"]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("La Bank pagó", "la bank"),
        ("La cafe\u0301 cerró", "café"),
        ("10\u00a0km más", "10 km"),
        ("dijo “hola” ayer", '"hola"'),
        ("uno – dos", "uno - dos"),
        ("STRASSE zu", "straße"),
    ],
)
def test_case_composition_spaces_quotes_and_dashes_may_differ(text: str, span: str) -> None:
    (edit,) = edits.locate(text, [error(span, "X")])
    assert edit.outcome == "applied"
    assert edit.start is not None
    assert text[edit.start : edit.start + len(edit.old)] == edit.old
    assert edits.apply(text, [edit]).startswith(text[: edit.start] + "X")


def test_a_word_that_differs_in_case_is_not_taken_for_letters_inside_words() -> None:
    assert outcomes("Das ist ein T-Shirt", error("t", "d")) == ["ambiguous"]


def test_an_edit_that_did_nothing_is_not_listed_as_applied() -> None:
    assert outcomes("some text", error("missing", "found")) == ["not-found"]


def test_one_bad_suggestion_does_not_drop_the_others() -> None:
    assert corrected("one two", error("one", None), error("two", "three")) == "one three"


# -- properties -----------------------------------------------------------------------------------------------------

words = st.text(alphabet="abč人 .,\n", min_size=1, max_size=6)
texts = st.text(alphabet="abč人 .,\n", max_size=60)


@st.composite
def located(draw: st.DrawFn) -> tuple[str, list[ErrorSpan]]:
    text = draw(texts)
    marked = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 8)))
        severity = draw(st.sampled_from(["minor", "major", "critical"]))
        hint = {"start": start, "end": end} if draw(st.booleans()) else {}
        marked.append(error(text[start:end], draw(words | st.just("")), severity, **hint))
    return text, marked


def applied(found: Sequence[Edit]) -> set[tuple[int | None, str, str]]:
    return {(edit.start, edit.old, edit.new) for edit in found if edit.outcome == "applied"}


@given(located(), st.randoms())
def test_the_result_does_not_depend_on_the_order_of_the_spans(
    case: tuple[str, list[ErrorSpan]], shuffler: random.Random
) -> None:
    text, errors = case
    shuffled = shuffler.sample(errors, len(errors))
    assert applied(edits.locate(text, errors)) == applied(edits.locate(text, shuffled))


@given(located())
def test_every_edit_is_accounted_for_and_fits_the_text(case: tuple[str, list[ErrorSpan]]) -> None:
    text, errors = case
    found = edits.locate(text, errors)
    assert len(found) == sum(e.suggestion is not None and e.suggestion != e.text for e in errors)
    for edit in found:
        if edit.outcome == "applied":
            assert edit.start is not None
            assert text[edit.start : edit.end] == edit.old
        else:
            assert edit.detail


@given(located())
def test_applying_is_idempotent_and_takes_any_part_of_the_list(case: tuple[str, list[ErrorSpan]]) -> None:
    text, errors = case
    found = edits.locate(text, errors)
    assert edits.apply(text, [*found, *found]) == edits.apply(text, found)
    assert edits.apply(text, []) == text
    for i in range(len(found)):
        edits.apply(text, found[:i])


@given(located(), st.integers(0, 5))
def test_every_applied_edit_can_be_reverted_alone(case: tuple[str, list[ErrorSpan]], pick: int) -> None:
    text, errors = case
    found = [e for e in edits.locate(text, errors) if e.outcome == "applied"]
    found = list({(e.start, e.old, e.new): e for e in found}.values())
    if not found:
        return
    chosen = found[pick % len(found)]
    after = edits.apply(text, found)
    here = edits.after_applying(found, chosen)
    assert here.start is not None
    assert after[here.start : here.end] == chosen.new
    without = after[: here.start] + chosen.old + after[here.end :]
    assert without == edits.apply(text, [e for e in found if e is not chosen])


@given(located(), st.text(alphabet="xyz", min_size=1, max_size=3), st.data())
def test_later_edits_survive_the_revert_of_an_earlier_one(
    case: tuple[str, list[ErrorSpan]], new: str, data: st.DataObject
) -> None:
    text, errors = case
    start = data.draw(st.integers(0, len(text)))
    old = text[start : start + data.draw(st.integers(0, 3))]
    first = Edit(old=old, new=new, start=start, end=start + len(old), outcome="applied")
    middle = edits.apply(text, [first])
    later = edits.locate(middle, errors)
    moved = edits.rebase(later, edits.after_applying([first], first).model_copy(update={"old": old}))
    if moved is not None:
        pieces = {(e.old, e.new) for e in moved if e.outcome == "applied"}
        assert pieces == {(e.old, e.new) for e in later if e.outcome == "applied"}
        edits.apply(text, moved)


@given(located())
def test_paragraph_separators_outside_the_spans_survive(case: tuple[str, list[ErrorSpan]]) -> None:
    text, errors = case
    clean = [e for e in errors if "\n" not in e.text and "\n" not in (e.suggestion or "")]
    assert corrected(text, *clean).count("\n") == text.count("\n")


def test_overlapping_edits_are_refused_when_applied_by_hand() -> None:
    one = Edit(old="ab", new="x", start=0, end=2, outcome="applied")
    two = Edit(old="bc", new="y", start=1, end=3, outcome="applied")
    with pytest.raises(ValueError, match="does not fit"):
        edits.apply("abc", [one, two])


@pytest.mark.parametrize(("choice", "right"), [("first", "X b a."), ("all", "X b X."), ("spaced", "X b a.")])
def test_the_user_may_decide_what_is_ambiguous(choice: edits.OnAmbiguous, right: str) -> None:
    assert corrected("a b a.", error("a", "X"), on_ambiguous=choice) == right


def test_ten_thousand_edits_on_a_megabyte_take_two_seconds_at_most() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(170_000)]
    text = " ".join(words)
    offsets = rng.sample(range(0, len(text) - 40), 10_000)
    errors = [
        error(text[at : at + 5 + at % 20], "X", before=text[max(0, at - 8) : at], after=text[at + 5 + at % 20 :][:8])
        for at in offsets
    ]
    began = time.process_time()
    found = edits.locate(text, errors)
    edits.apply(text, found)
    assert time.process_time() - began < 10  # a bound against quadratic work only; the benchmark measures
    assert sum(edit.outcome in ("applied", "overlapping") for edit in found) == len(errors)


def test_repetitive_texts_take_no_quadratic_time() -> None:
    text = "a" * 1_000_000
    assert outcomes(text, *[error("a" * n, "b") for n in range(1, 50)]) == ["ambiguous"] * 49


def test_of_two_insertions_at_one_point_one_is_made() -> None:
    missing = [error("x", new, severity, side="omission", before="the") for new, severity in _TWO_INSERTIONS]
    assert corrected("the house", *missing) == "the old house"
    assert outcomes("the house", *missing) == ["overlapping", "applied"]


_TWO_INSERTIONS: list[tuple[str, Severity]] = [("big", "minor"), ("old", "major")]


def test_offsets_that_do_not_match_are_not_trusted() -> None:
    assert corrected("a bad day", error("bad", "good", start=0, end=3)) == "a good day"
    assert outcomes("bad or bad", error("bad", "good", start=1, end=4)) == ["ambiguous"]
