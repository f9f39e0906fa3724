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


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The U.S. army came. It went.", 2), ("A book by J. K. Rowling. It sold.", 2),
        ("Prof. Dr. Lind came. Then I.", 2),
        ("It opens at 9 a. m. today. It closes at 6 p.m. The end.", 3), ("See No. 5. No. Never.", 3),
        ("Tiere, z. B. Hunde. Am 3. Mai kam er. Das war 2010. Dann kam sie.", 4), ("1. Open it. 2. Close it.", 2),
        ("Это было в 1990 г. в Москве. И т. д. Потом он ушёл.", 3), ("डॉ. ओक ने कहा। हाँ।", 2),
        ("He is ill. She is not.", 2), ("1.\nOpen it.", 2), ("Mr.\nLind", 2), ("Tools, etc. Then more.", 2),
    ],
)  # fmt: skip
def test_abbreviations_initials_and_list_numbers_end_no_sentence(text: str, count: int) -> None:
    assert len(paragraphs.sentences(text)) == count


def test_lines_are_counted_as_python_counts_them() -> None:
    for text in ("a\nb", "a\r\nb", "a\rb", "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i", "a\n\rb", ""):
        assert len(paragraphs.line_breaks(text)) == max(0, len(f"{text}.".splitlines()) - 1)
    assert paragraphs.new_line_breaks("a\r\nb", "a\nb") == set()
    assert paragraphs.new_line_breaks("a\rb\nc", "a\nb") == {"\r"}
    assert len(paragraphs.blocks("a\r\nb\r\n\r\nc\r\rd")) == 3


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
