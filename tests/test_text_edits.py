"""Error spans become located edits: right places only, in any order, one by one reversible."""

from __future__ import annotations

import random
import time
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.edits import case
from mtagent.records import Edit, ErrorSpan, Severity
from mtagent.text import edits
from mtagent.text.spans import find_spans, normalised


def error(text: str, suggestion: str | None = "X", severity: Severity = "minor", **fields: Any) -> ErrorSpan:
    return ErrorSpan(text=text, suggestion=suggestion, severity=severity, category="style", **fields)


def omission(suggestion: str, before: str | None = None, after: str | None = None, **fields: Any) -> ErrorSpan:
    return error("omitted", suggestion, side="omission", before=before, after=after, **fields)


def corrected(text: str, *errors: ErrorSpan, on_ambiguous: edits.OnAmbiguous = "skip") -> str:
    return edits.apply(text, edits.locate(text, errors, on_ambiguous=on_ambiguous))


def outcomes(text: str, *errors: ErrorSpan) -> list[str]:
    return [edit.outcome for edit in edits.locate(text, errors)]


BANK = "We like the bank because the bank pays"
LOCATED = {
    "context picks one of two": (BANK, [error("the bank", after=" pays")], "We like the bank because X pays"),
    "context in another case": ("A bank near the bank.", [error("bank", before="NEAR THE ")], "A bank near the X."),
    "offsets": ("Bank rates and Bank holidays", [error("Bank", start=0, end=4)], "X rates and Bank holidays"),
    "offsets that do not match are not trusted": ("a bad day", [error("bad", start=0, end=3)], "a X day"),
    "not inside words": ("The category of the cat, clearly.", [error("cat")], "The category of the X, clearly."),
    "before a full stop": ("He artfully sold art.", [error("art")], "He artfully sold X."),
    "inside a word, by context": ("Frachtbote", [error("bote", "boote", before="Fracht")], "Frachtboote"),
    "inside a word, by its end": ("die Haustür, Haus", [error("Haus", before="die ", after="tür")], "die Xtür, Haus"),
    "a whole word in another case": ("Concatenate. Cat sat.", [error("cat")], "Concatenate. X sat."),
    "context elsewhere moves nothing into a word": (
        "concat. The cat sat", [error("cat", before="big ", after=".")], "concat. The X sat"
    ),
    "each of several repeats is marked": ("go go go go home", [error("go", "run")] * 4, "run run run run home"),
    "no edit matches another": ("red car", [error("red", "dark red"), error("dark", "light")], "dark red car"),
    "edits that change places": ("hot and cold", [error("hot", "cold"), error("cold", "hot")], "cold and hot"),
    "the more severe wins": (
        "New York City", [error("New York", "Boston", "critical"), error("New York City", "NYC")], "Boston City"
    ),
    "the same span twice": (
        "la casa y la casa", [error("casa", "1", after=" y"), error("casa", "2", before="y la ")], "la 1 y la 2"
    ),
    "one character": ("Yes, He left.", [error(",", ".")], "Yes. He left."),
    "one Chinese character": ("他有三本书", [error("三", "四")], "他有四本书"),
    "Chinese, by context": ("中国人民银行的中国人", [error("中国人", before="的")], "中国人民银行的X"),
    "no suggestion beside one": ("one two", [error("one", None), error("two", "three")], "one three"),
    "deletion between words": ("a very good day", [error("very", "")], "a good day"),
    "deletion with its space": ("a very very good day", [error("very ", "", start=2, end=7)], "a very good day"),
    "deletion at the beginning": ("very good", [error("very", "")], "good"),
    "deletion at the end": ("it is good indeed.", [error("indeed", "")], "it is good."),
    "deletion behind a line break": ("one\n\nextra two", [error("extra", "")], "one\n\ntwo"),
    "deletion before a no-break space": ("C'est très\u00a0!", [error("très", "")], "C'est\u00a0!"),
    "deletion before a carriage return": ("Bon très\r\nB.", [error("très", "")], "Bon\r\nB."),
    "insertion between": ("the house is old", [omission("big", "the", "house")], "the big house is old"),
    "insertion, spaces in the anchor": ("the house is old", [omission("big", "the ", "house")], "the big house is old"),
    "insertion after": ("the house is old", [omission("big", "the ")], "the big house is old"),
    "insertion before": ("the house is old", [omission("big", None, " house")], "the big house is old"),
    "insertion at the beginning": ("a house", [omission("big", None, "a house")], "big a house"),
    "insertion at the end": ("a house", [omission("big", "house")], "a house big"),
    "insertion of a bracket": ("Hallo Welt", [omission("(schöne)", "Hallo", "Welt")], "Hallo (schöne) Welt"),
    "insertion into Chinese": ("我 爱北京。", [omission("非常", "爱", "北京")], "我 爱非常北京。"),
    "insertion beside wide marks": ("我爱 Beijing。他来", [omission("Linux", "。", "他")], "我爱 Beijing。Linux他来"),
    "insertion into Korean": ("회의는 두 시", [omission("오후", "회의는", "두")], "회의는 오후 두 시"),
    "insertion, other case": ("Er wohnt hier.", [omission("jetzt", "WOHNT", "Hier")], "Er wohnt jetzt hier."),
    "insertion at a no-break space": (
        "Er wohnt\u00a0hier.", [omission("jetzt", "wohnt ", "hier")], "Er wohnt\u00a0jetzt hier."
    ),
    "the more severe of two insertions": (
        "the house", [omission("big", "the"), omission("old", "the", severity="major")], "the old house"
    ),
    "an omitted name that is its own translation": (
        "Er wohnt in seit Jahren.", [omission("omitted", "in", "seit")], "Er wohnt in omitted seit Jahren."
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOCATED)
def test_the_intended_place_is_corrected(case: str) -> None:
    text, errors, right = LOCATED[case]
    assert corrected(text, *errors) == right


@pytest.mark.parametrize(
    ("text", "errors", "expected"),
    [
        (BANK, [error("the bank")], ["ambiguous"]),
        ("Bank rates rose and Bank holidays fell", [error("Bank")], ["ambiguous"]),
        ("bad or bad", [error("bad", start=1, end=4)], ["ambiguous"]),
        ("He artfully sold it.", [error("art")], ["ambiguous"]),
        ("the category", [error("cat", before="the ")], ["ambiguous"]),
        ("Das ist ein T-Shirt", [error("t", "d")], ["ambiguous"]),
        ("go go go go home", [error("go", "run")] * 3, ["ambiguous"] * 3),
        ("中国人民银行的中国人", [error("中国人")], ["ambiguous"]),
        ("some text", [error("missing")], ["not-found"]),
        ("New York City", [error("New York"), error("New York City")], ["overlapping", "applied"]),
        ("New York City", [error("New York City"), error("New York")], ["applied", "overlapping"]),
        ("a bad day", [error("bad"), error("bad")], ["applied", "overlapping"]),
        ("the house", [omission("big")], ["not-found"]),
        ("the house and the house", [omission("big", "the")], ["ambiguous"]),
    ],
)  # fmt: skip
def test_what_cannot_be_placed_is_reported_and_left(text: str, errors: list[ErrorSpan], expected: list[str]) -> None:
    assert outcomes(text, *errors) == expected
    if "applied" not in expected:
        assert corrected(text, *errors) == text


@pytest.mark.parametrize(
    "new", [r"C:\new", r"C:\1", r"\g<0>", r"$\alpha$", "\\", "%s{0}", "l'amie de l'État", "a or b (both)", 'the "best"']
)  # fmt: skip
def test_a_suggestion_is_literal_text_and_never_cut(new: str) -> None:
    assert corrected("a bad path", error("bad", new)) == f"a {new} path"


@pytest.mark.parametrize(("choice", "right"), [("first", "X b a."), ("all", "X b X."), ("spaced", "X b a.")])
def test_the_user_may_decide_what_is_ambiguous(choice: edits.OnAmbiguous, right: str) -> None:
    assert corrected("a b a.", error("a"), on_ambiguous=choice) == right


@pytest.mark.parametrize(
    ("text", "right"), [("a. b a c a.", "a. b X c a."), ("a. b, a.", "X. b, a."), ("a. b a c a d.", "X. b a c a d.")]
)
def test_of_several_policies_the_first_that_finds_a_place_decides(text: str, right: str) -> None:
    assert corrected(text, error("a"), on_ambiguous=("spaced", "first")) == right
    assert corrected(text, error("a"), on_ambiguous=("skip", "first")) == corrected(
        text, error("a"), on_ambiguous="first"
    )


# -- the edits between two texts


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("Uno es. Dos es. Tres es.", "Uno era. Dos es. Tres era.", ["Uno es.", "Tres es."]),
        ("Uno es.\n\nDos es. Tres es.", "Uno es.\n\nDos era. Tres es.", ["Dos es."]),
        ("Uno dos tres.", "Uno dos cuatro. Cinco.", ["Uno dos tres."]),
        ("Uno dos. Gato negro come. Al fin.", "Uno tres. Gato negro come. Al cabo.", ["Uno dos.", "Al fin."]),
        # Neighbours that have little in common with what stands in their place may have changed places.
        ("Uno dos. Gato come. Al fin.", "Gato come. Uno dos. Al cabo.", ["Uno dos. Gato come.", "Al fin."]),
        # Where two sentences became one, nothing says which, up to the next that stayed.
        ("No. Va. Viene. Sí.", "No. Va y viene. Sí.", ["Va. Viene."]),
        (
            "Es él. No. Va. Viene. Sí. Es ella.",
            "Es el. No. Va y viene. Sí. Era ella.",
            ["Es él.", "Va. Viene.", "Es ella."],
        ),
        ("Uno es. Va. Viene. Tres es.", "Uno era. Va y viene. Tres era.", ["Uno es. Va. Viene. Tres es."]),
        ("No. Sí.", "No. Más. Sí.", [""]),
        ("No. Más. Sí.", "No. Sí.", ["Más. "]),
        ("Uno es.  Dos es.", "Uno es. Dos es.", ["Uno es.  "]),
        ("Uno es.\nDos es.", "Uno es. Dos es.", ["Uno es.\nDos es."]),
        ("你好吗。世界很大。", "你们好。世界很小。", ["你好吗。", "世界很大。"]),
        ("Uno es.", "Uno es.", []),
    ],
)
def test_a_reworded_text_becomes_one_edit_per_sentence(before: str, after: str, changed: list[str]) -> None:
    changes = edits.between(before, after)
    assert [edit.old for edit in changes] == changed
    assert edits.apply(before, changes) == after


def test_the_language_says_how_sentences_end() -> None:
    before, after = "Τι είναι; Είναι αυτό.", "Τι ήταν; Είναι αυτό εδώ."
    assert [len(edits.between(before, after, lang)) for lang in ("el", "")] == [2, 1]


_PIECES = st.lists(st.sampled_from(["a", "b ", "c. ", "D. ", "\n", "。", "  ", "e.\n\n", "!  "]), max_size=14)


@given(_PIECES.map("".join), _PIECES.map("".join), st.data())
def test_the_edits_between_two_texts_lead_from_one_to_the_other_and_each_stands_alone(
    before: str, after: str, data: st.DataObject
) -> None:
    changes = edits.between(before, after)
    assert edits.apply(before, changes) == after
    assert bool(changes) == (before != after)
    assert all(before[edit.start : edit.end] == edit.old != edit.new for edit in changes)
    if changes:
        alone = data.draw(st.sampled_from(changes))
        undone = edits.after_applying(changes, alone)
        assert after[undone.start : undone.end] == alone.new


# -- spellings and whole characters


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("La Bank pagó", "la bank"), ("La cafe\u0301 cerró", "café"), ("10\u00a0km más", "10 km"),
        ("dijo “hola” ayer", '"hola"'), ("uno – dos", "uno - dos"), ("STRASSE zu", "straße"),
    ],
)  # fmt: skip
def test_case_composition_spaces_quotes_and_dashes_may_differ(text: str, span: str) -> None:
    (edit,) = edits.locate(text, [error(span)])
    assert edit.outcome == "applied"
    assert edit.start is not None
    assert text[edit.start : edit.start + len(edit.old)] == edit.old
    assert edits.apply(text, [edit]).startswith(text[: edit.start] + "X")


def test_hangul_in_pieces_is_found_and_replaced_by_whole_syllables() -> None:
    text = unicodedata.normalize("NFD", "회의는 오전 두 시")
    assert unicodedata.normalize("NFC", corrected(text, error("오전", "오후"))) == "회의는 오후 두 시"
    assert corrected(text, error("오저")) == text


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("I ❤\ufe0f you", "❤"),
        ("family \U0001f469\u200d\U0001f467 here", "\U0001f469"),
        ("thumb \U0001f44d\U0001f3fd up", "\U0001f44d"), ("او می\u200cخواهم گفت", "خواهم"),
        ("un cafe\u0301 ici", "cafe"), ("Maße", "Mas"), ("xﬁx", "xf"),
    ],
)  # fmt: skip
def test_half_of_a_character_or_joined_word_is_never_replaced(text: str, span: str) -> None:
    assert corrected(text, error(span), error(span, after="e"), error(span, after="ix")) == text


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_line_break_is_taken_for_a_space(separator: str) -> None:
    text = f"a one{separator}two b"
    assert corrected(text, error("one two")) == text
    assert separator in normalised(text).text


def test_every_place_in_a_normalised_view_leads_back_to_whole_characters() -> None:
    text = "İ ﬁn Maße cafe\u0301 “x”\u00a0–\u00a0y"
    for word in normalised(text).text.split():
        (finding,) = find_spans(text, [error(word)])
        assert finding.certain
        assert normalised(text[finding.places[0].start : finding.places[0].end]).text == word


# -- properties

Marked = tuple[str, list[ErrorSpan]]
WORDS = st.text(alphabet="abč人 .,\n", min_size=1, max_size=6)


@st.composite
def marked_texts(draw: st.DrawFn) -> Marked:
    text = draw(st.text(alphabet="abč人 .,\n", max_size=60))
    errors = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 8)))
        severity = draw(st.sampled_from(["minor", "major", "critical"]))
        hint = {"start": start, "end": end} if draw(st.booleans()) else {}
        errors.append(error(text[start:end], draw(WORDS | st.just("")), severity, **hint))
    return text, errors


def applied(located: Sequence[Edit]) -> dict[tuple[int | None, str, str], Edit]:
    return {(edit.start, edit.old, edit.new): edit for edit in located if edit.outcome == "applied"}


@given(marked_texts(), st.randoms())
def test_the_result_does_not_depend_on_the_order_of_the_spans(marked: Marked, shuffler: random.Random) -> None:
    text, errors = marked
    shuffled = shuffler.sample(errors, len(errors))
    assert applied(edits.locate(text, errors)).keys() == applied(edits.locate(text, shuffled)).keys()


def test_equal_errors_get_their_places_by_severity() -> None:
    errors = [error("a", new, severity) for new in ("aa", "") for severity in ("minor", "major")]
    forward, backward = applied(edits.locate("aa", errors)), applied(edits.locate("aa", errors[::-1]))
    assert forward.keys() == backward.keys()
    assert [edit.span and edit.span.severity for _, edit in sorted(forward.items())] == ["major", "minor"]


@given(marked_texts())
def test_every_edit_is_accounted_for_fits_the_text_and_may_be_left_out(marked: Marked) -> None:
    text, errors = marked
    located = edits.locate(text, errors)
    assert len(located) == sum(e.suggestion is not None and e.suggestion != e.text for e in errors)
    assert all(text[e.start : e.end] == e.old if e.outcome == "applied" else e.detail for e in located)
    assert edits.apply(text, [*located, *located]) == edits.apply(text, located)
    for count in range(len(located)):
        assert isinstance(edits.apply(text, located[:count]), str)


@given(marked_texts(), st.integers(0, 5))
def test_every_applied_edit_can_be_reverted_alone(marked: Marked, pick: int) -> None:
    text, errors = marked
    located = [*applied(edits.locate(text, errors)).values()]
    for chosen in located[pick : pick + 1]:
        after, here = edits.apply(text, located), edits.after_applying(located, chosen)
        assert here.start is not None
        assert after[here.start : here.end] == chosen.new
        without = after[: here.start] + chosen.old + after[here.end :]
        assert without == edits.apply(text, [edit for edit in located if edit is not chosen])


@given(marked_texts())
def test_paragraph_separators_outside_the_spans_survive(marked: Marked) -> None:
    text, errors = marked
    clean = [e for e in errors if "\n" not in e.text and "\n" not in (e.suggestion or "")]
    assert corrected(text, *clean).count("\n") == text.count("\n")


def test_overlapping_edits_are_refused_when_applied_by_hand() -> None:
    overlapping = [
        Edit(old=text, new="x", start=at, end=at + 2, outcome="applied") for at, text in enumerate(["ab", "bc"])
    ]
    with pytest.raises(ValueError, match="does not fit"):
        edits.apply("abc", overlapping)


@pytest.mark.slow
def test_ten_thousand_edits_on_a_megabyte_take_no_quadratic_time() -> None:
    text, errors = case()
    began = time.process_time()
    located = edits.locate(text, errors)
    assert edits.apply(text, located)
    assert time.process_time() - began < 10  # the benchmark measures
    assert sum(edit.outcome in ("applied", "overlapping") for edit in located) == len(errors)


@pytest.mark.slow
def test_repetitive_texts_take_no_quadratic_time() -> None:
    text = "a" * 1_000_000
    assert outcomes(text, *[error("a" * n, "b") for n in range(1, 50)]) == ["ambiguous"] * 49
