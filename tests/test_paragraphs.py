"""Paragraph separators survive exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.text import paragraphs

texts = st.text(alphabet=st.sampled_from("ab.  \n\r\t\u00a0\u2028\x85`"))


@given(texts)
def test_split_and_join_give_the_text_back(text: str) -> None:
    assert paragraphs.join(*paragraphs.split(text)) == text


@given(texts)
def test_paragraphs_hold_no_line_break_and_no_outer_space(text: str) -> None:
    for paragraph in paragraphs.split(text).texts:
        assert paragraph == paragraph.strip()
        assert "\n" not in paragraph
        assert "\u2028" not in paragraph


def test_blank_line_breaks_stay_blank_lines() -> None:
    assert paragraphs.split("One.\n\nTwo. \n Three.").separators == ("", "\n\n", " \n ", "")


def test_a_blank_text_has_no_paragraph() -> None:
    assert paragraphs.split(" \n ") == ((), (" \n ",))


def test_a_text_takes_the_separators_of_another() -> None:
    assert paragraphs.like("Uno.\nDos.\n", "One.\n\nTwo.") == "Uno.\n\nDos."


def test_extra_paragraphs_are_never_dropped_unlike_the_paper() -> None:
    assert paragraphs.like("Uno.\nDos.\nTres.", "one para") is None


def test_a_trailing_backtick_stays() -> None:
    assert paragraphs.like("uno`", "one") == "uno`"


def test_a_wrong_number_of_separators_is_refused() -> None:
    with pytest.raises(ValueError, match="2 paragraphs need 3 separators, not 1"):
        paragraphs.join(["a", "b"], [""])


def test_long_white_space_takes_linear_time() -> None:
    text = "a" + " " * 1_000_000 + "b"
    assert paragraphs.split(text).texts == (text,)
