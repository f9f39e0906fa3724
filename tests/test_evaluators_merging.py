"""Several corrections of one text made into one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.evaluators.himate import merged, word_edits

TEXTS = st.text(alphabet="ab .,\n中文é", max_size=30)


@given(TEXTS, TEXTS)
def test_one_correction_is_taken_whole(text: str, correction: str) -> None:
    assert merged(text, [correction]) == (correction, ())


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_the_first_goes_in_and_the_others_whole_or_not_at_all(text: str, corrections: list[str]) -> None:
    result, left_out = merged(text, corrections)
    taken = [correction for correction in corrections if correction not in left_out]
    assert taken[:1] == corrections[:1]
    assert merged(text, taken) == (result, ())


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_what_is_said_twice_changes_nothing_more(text: str, corrections: list[str]) -> None:
    once, left_out = merged(text, corrections)
    twice, _ = merged(text, [correction for correction in corrections if correction not in left_out] * 2)
    assert twice == once


@pytest.mark.parametrize(
    ("text", "corrections", "result", "left_out"),
    [
        ("the red car stop", ["the blue car stop", "the red car stops"], "the blue car stops", 0),
        ("the red car stop", ["the blue car stop", "the red car and bus stop"], "the blue car and bus stop", 0),
        ("the red car stop", ["the car stop", "the red car stop."], "the car stop.", 0),
        ("a red apple", ["a red pear", "a dark red apple"], "a dark red pear", 0),
        ("buy an apple", ["buy a pear", "buy an old apple"], "buy a pear", 1),
        ("the red car", ["the old red car", "the new red car"], "the old red car", 1),
        ("the red car", ["the old red car", "the old red car"], "the old red car", 0),
        ("今天三点开会", ["今天四点开会", "明天三点开会"], "明天四点开会", 0),
        ("今天三点开会", ["今天四点开会", "今天三时开会"], "今天四点开会", 1),  # nothing stands between the two places
        ("a b", [], "a b", 0),
    ],
)
def test_corrections_that_do_not_touch_go_together(
    text: str, corrections: list[str], result: str, left_out: int
) -> None:
    merged_text, others = merged(text, corrections)
    assert (merged_text, len(others)) == (result, left_out)


def test_edits_are_made_of_words() -> None:
    assert [(edit.old, edit.new, edit.start) for edit in word_edits("die mure ist", "der Mure ist.")] == [
        ("die", "der", 0), ("mure", "Mure", 4), ("", ".", 12),
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["(", "a ", "Score: 1\n", "ab cd, "])
def test_long_texts_that_repeat_themselves_take_no_quadratic_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text, start = unit * (length // len(unit)), time.process_time()
        for correction in (text[::-1], f"q {text} z", f"q {text[::-1]}"):
            result, left_out = merged(text, [correction])
            assert (result, left_out) == (correction, ())
        return time.process_time() - start

    # Sixteen times the text: quadratic work would take 256 times as long.
    assert seconds(160_000) < 80 * max(seconds(10_000), 0.02)
