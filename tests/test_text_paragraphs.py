"""Texts are cut into paragraphs and sentences, and joined again exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.text import paragraphs


@given(st.text(alphabet=st.sampled_from("ab.  \n\r\t\u00a0\u2028\x85`")))
def test_split_and_join_give_the_text_back(text: str) -> None:
    texts, separators = paragraphs.split(text)
    assert paragraphs.join(texts, separators) == text
    for paragraph in texts:
        assert paragraph == paragraph.strip()
        assert not {"\n", "\u2028"} & set(paragraph)


def test_blank_lines_stay_and_a_blank_text_has_no_paragraph() -> None:
    assert paragraphs.split("One.\n\nTwo. \n Three.").separators == ("", "\n\n", " \n ", "")
    assert paragraphs.split(" \n ") == ((), (" \n ",))


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("Uno.\nDos.\n", "One.\n\nTwo.", "Uno.\n\nDos."),
        ("Uno.\nDos.\nTres.", "one para", None),  # extra paragraphs are never dropped, unlike in the paper
        ("uno`", "one", "uno`"),
    ],
)
def test_a_text_takes_the_separators_of_another(text: str, model: str, expected: str | None) -> None:
    assert paragraphs.like(text, model) == expected


def test_a_wrong_number_of_separators_is_refused() -> None:
    with pytest.raises(ValueError, match="2 paragraphs need 3 separators, not 1"):
        paragraphs.join(["a", "b"], [""])


def test_long_white_space_takes_linear_time() -> None:
    text = "a" + " " * 1_000_000 + "b"
    assert paragraphs.split(text).texts == (text,)


@given(
    text=st.text(alphabet=st.sampled_from('aB .!?。\n\u3002ไท中あ;»"'), max_size=80),
    lang=st.sampled_from(["", "el", "th"]),
)
def test_sentences_and_blocks_lose_nothing(text: str, lang: str) -> None:
    assert "".join(paragraphs.sentences(text, lang)) == (text if text.strip() else "")
    assert "".join(paragraphs.blocks(text)) == (text if text.strip() else "")


@pytest.mark.parametrize(
    ("text", "lang", "count"),
    [
        ("One. Two! Three?", "en", 3), ("3.14 is not two sentences.", "en", 1),
        ("„Eins.“ Zwei.", "de", 2), ("一。二！三？", "zh", 3), ("एक। दो।", "hi", 2),
        ("Τι; Τίποτα.", "el", 2), ("Que; rien.", "fr", 1), ("ไป มา", "th", 2),
        ("line\nline", "en", 2),
    ],
)  # fmt: skip
def test_sentences_end_as_their_script_does(text: str, lang: str, count: int) -> None:
    assert len(paragraphs.sentences(text, lang)) == count
