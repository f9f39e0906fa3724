"""Replies that are a text: what wraps it goes, what belongs to it stays, and what is no text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import EmptyReply, UnreadableReply
from mtagent.llm.plain import plain_text, whole_characters


@pytest.mark.parametrize(
    ("reply", "like", "text"),
    [
        (" Hallo \n", "Hello", "Hallo"),
        ("Hallo", "  Hello\n", "  Hallo\n"),
        ("Hallo", "  ", "Hallo"),
        ("```\nHallo\n```", "Hello", "Hallo"),
        ("```text \nHallo\n```", "Hello", "Hallo"),
        ("```\nHallo\n```", "```\nHello\n```", "```\nHallo\n```"),
        ("<translation>\nHallo\n</translation>", "Hello", "Hallo"),
        ("<source-2>Hallo</source-2>", "Hello", "Hallo"),
        ("<source-482913>Hallo</source-482913>", "Hello", "Hallo"),
        ("<translation-017405>\nHallo\n</translation>", "Hello", "Hallo"),
        ("<source>Hallo</source>", "<source>Hello</source>", "<source>Hallo</source>"),
        ("<source>a</source> b <source>c</source>", "x", "<source>a</source> b <source>c</source>"),
        ("<think>Hm.</think>\n\nHallo", "Hello", "Hallo"),
        ("<Thinking>Hm.</Thinking>Hallo", "Hello", "Hallo"),
        ("Let me see … hello is hallo.\n</think>\nHallo", "Hello", "Hallo"),
        ("<think>a</think>Hallo", "<think>a</think>Hello", "<think>a</think>Hallo"),
        ("Das Tag <think> beginnt", "The tag begins", "Das Tag <think> beginnt"),
        ("Hallo`", "Hello`", "Hallo`"),
    ],
)
def test_only_what_wraps_the_text_is_taken_off(reply: str, like: str, text: str) -> None:
    assert plain_text(reply, like) == text


@pytest.mark.parametrize("reply", ["", " \n", "<think>Hm.</think>", "```\n\n```", "```\n```", "<source> </source>"])
def test_a_reply_without_text_is_an_error(reply: str) -> None:
    with pytest.raises(EmptyReply):
        plain_text(reply, "Hello")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("<think>Hello is", "cut off while thinking"),
        ("Hal\x00lo", r"U\+0000"),
        ("Hal\ud83dlo", r"U\+FFFD"),
        ("\ufffd", r"U\+FFFD"),
        ("Hal\x1blo", r"U\+001B"),
    ],
)
def test_a_reply_that_is_no_text_is_asked_for_again(reply: str, reason: str) -> None:
    with pytest.raises(UnreadableReply, match=reason):
        plain_text(reply, "Hello")


def test_a_replacement_character_of_the_source_may_stay() -> None:
    assert plain_text("Hal\ufffdo", "Hel\ufffdo") == "Hal\ufffdo"


def test_halves_of_characters_become_replacement_characters_and_nothing_else_changes() -> None:
    assert whole_characters("\ufeffa\ud83db\udc00\U0001f600") == "\ufeffa\ufffdb\ufffd\U0001f600"


@given(st.text(min_size=1).filter(str.strip), st.text().filter(str.strip))
def test_a_bare_text_comes_back_with_the_outer_white_space_of_the_other(reply: str, like: str) -> None:
    try:
        text = plain_text(reply, like)
    except UnreadableReply:
        return
    assert text.strip() == reply.strip()
    assert text[: len(text) - len(text.lstrip())] == like[: len(like) - len(like.lstrip())]
    assert text[len(text.rstrip()) :] == like[len(like.rstrip()) :]
