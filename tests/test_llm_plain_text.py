"""Replies that are a text: what wraps it goes, what belongs to it stays, and what is no text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import EmptyReply, UnreadableReply
from mtagent.llm.reading import plain_text, says_nothing, whole_characters


@pytest.mark.parametrize(
    ("reply", "like", "text"),
    [
        (" Hallo \n", "Hello", "Hallo"), ("Hallo", "  Hello\n", "  Hallo\n"),
        ("Hallo", "  ", "Hallo"), ("```\nHallo\n```", "Hello", "Hallo"),
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
)  # fmt: skip
def test_only_what_wraps_the_text_is_taken_off(reply: str, like: str, text: str) -> None:
    assert plain_text(reply, like) == text


EMPTY = [
    "", " \n", "<think>Hm.</think>", "\ufeff<think>Hm.</think>\n", "```\n\n```", "```\n```", "```text\n```", "```",
    "``` ```", "<source> </source>", "<translation-1></translation-1>", "```\n<translation>\n</translation>\n```",
    "\u200b", "\u00ad\u2060", "<translation>\u200b</translation>", "\u2800",
]  # fmt: skip


TAGS = [
    "<answer></answer>", "<translation/>", "<translation>", "<br/>", "<br><br />", "<p><b></b></p>", "<a></a>\n<b></b>",
    "<|im_end|>", "[TOOL_CALLS]", "<translation><p></p></translation>", "<think>Hm.</think><b></b>",
]  # fmt: skip


@pytest.mark.parametrize("reply", [*EMPTY, *TAGS, "<think>Hm.", "Hm.</think>"])
def test_a_reply_without_text_says_nothing(reply: str) -> None:
    assert says_nothing(reply, ["Translate <source>Hello</source> \u200b"])


@pytest.mark.parametrize(
    "reply",
    ["Hallo", "```Hallo```", "<b>Hallo</b>", "{}", "[]", "<think>Hm.</think>Hallo", "Ein <think>", "…", "<lacht>",
     "<lacht/>", "[MUSIK]", "<b>1</b>", "<a> </b>", "<|im_end|>1"],
)  # fmt: skip
def test_a_reply_with_text_says_something(reply: str) -> None:
    assert not says_nothing(reply)


def test_what_was_asked_about_may_be_the_answer() -> None:
    assert not says_nothing("<b></b>", ["Translate <source><b></b></source>"])
    assert not says_nothing("<br/>", ["Translate <source><br/></source>"])
    assert not says_nothing("<think> ist ein Tag", ["Translate <source><think> is a tag</source>"])


def test_an_invisible_text_may_stay_invisible() -> None:
    assert plain_text("\u200b", "\u200b") == "\u200b"


@pytest.mark.parametrize("reply", EMPTY)
def test_a_reply_without_text_is_an_error(reply: str) -> None:
    with pytest.raises(EmptyReply):
        plain_text(reply, "Hello")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("<think>Hello is", "cut off while thinking"), ("Hal\x00lo", r"U\+0000"),
        ("Hal\ud83dlo", r"U\+FFFD"), ("\ufffd", r"U\+FFFD"), ("Hal\x1blo", r"U\+001B"),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_text_is_asked_for_again(reply: str, reason: str) -> None:
    with pytest.raises(UnreadableReply, match=reason):
        plain_text(reply, "Hello")


def test_a_replacement_character_of_the_source_may_stay() -> None:
    assert plain_text("Hal\ufffdo", "Hel\ufffdo") == "Hal\ufffdo"


def test_halves_of_characters_become_replacement_characters_and_nothing_else_changes() -> None:
    assert whole_characters("\ufeffa\ud83db\udc00\U0001f600") == "\ufeffa\ufffdb\ufffd\U0001f600"


@given(st.text().filter(lambda reply: not says_nothing(reply)), st.text().filter(str.strip))
def test_a_bare_text_comes_back_with_the_outer_white_space_of_the_other(reply: str, like: str) -> None:
    try:
        text = plain_text(reply, like)
    except UnreadableReply:
        return
    assert text.strip() == reply.strip()
    assert text[: len(text) - len(text.lstrip())] == like[: len(like) - len(like.lstrip())]
    assert text[len(text.rstrip()) :] == like[len(like.rstrip()) :]
