"""Scripts: which one a language is written in, what a word is in it, how much its characters say."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from weakref import WeakSet

import pytest

from mtagent.text import scripts


@pytest.mark.parametrize(
    ("code", "script"),
    [
        ("en", "Latn"), ("sr", "Cyrl"), ("sr-Latn", "Latn"), ("zh", "Hans"), ("zh-TW", "Hant"),
        ("yue", "Hant"), ("ja", "Jpan"), ("ko", "Kore"), ("ru-RU", "Cyrl"), ("hi", "Deva"),
        ("pa-PK", "Arab"), ("ajp", ""), ("not a code!", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_likely_script_follows_from_language_script_and_region(code: str, script: str) -> None:
    assert scripts.script_of(code) == script, "a language without data is not taken for English"


def test_languages_written_without_spaces_are_known() -> None:
    unspaced = ["zh", "zh-TW", "yue", "ja", "th", "lo", "km", "my", "bo", "jv-Java"]
    assert [code for code in unspaced if scripts.has_spaces(code)] == []
    assert all(scripts.has_spaces(code) for code in ["en", "ko", "vi", "ar", "hi", "sr-Cyrl", "jv", "ajp", ""])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop, 3rd café!", ["Don", "t", "stop", "3rd", "café"]),
        ("港口 closed", ["港", "口", "closed"]), ("コーヒーabc", ["コ", "ー", "ヒ", "ー", "abc"]),
        ("폭풍 때문에", ["폭풍", "때문에"]), ("ที่นี่", ["ที่", "นี่"]), ("བོད་ཡིག།", ["བོ", "ད", "ཡི", "ག"]),
        ("करता है", ["करता", "है"]),
    ],
)  # fmt: skip
def test_words_are_whole_and_in_scripts_without_spaces_characters(text: str, words: list[str]) -> None:
    assert list(scripts.words(text)) == words


def test_no_space_stands_beside_the_marks_of_scripts_without_spaces() -> None:
    assert [char for char in "aж한1.( 港ー。，（་ก" if scripts.is_spaced(char)] == list("aж한1.( ")


def test_letters_weigh_scripts() -> None:
    assert scripts.letters("a b") == 2
    assert scripts.letters("港口") > 6
    assert scripts.letters("") == 1


def test_control_characters_are_named_but_joiners_are_letters_business() -> None:
    assert scripts.control_characters("a\x00b\u200bc\ufffd\ud800\n\t") == ["U+0000", "U+200B", "U+FFFD", "U+D800"]
    assert scripts.control_characters("می\u200cخواهم 👩\u200d🚀") == []
    assert scripts.control_characters("a\u200eb", "ar") == []
    assert scripts.control_characters("a\u200eb", "en") == ["U+200E"]


# --- answers that are kept


class Answer:
    """What a function returns for a ``text``."""

    def __init__(self, text: str) -> None:
        self.text = text


def test_the_latest_answers_are_kept_and_the_oldest_are_given_up() -> None:
    kept = WeakSet[Answer]()
    computed: list[str] = []

    @scripts.remembered
    def answer(text: str) -> Answer:
        computed.append(text)
        new = Answer(text)
        kept.add(new)
        return new

    for length, most_kept in ((0, 500), (5_000, 20)):  # few answers about long texts are kept, because they are large
        kept.clear()
        texts = [f"{number:0{length}}" for number in range(1_000)]
        for text in texts:
            assert answer(text) is answer(text)
        assert computed[-1_000:] == texts
        assert len(kept) <= most_kept
        answer(texts[-2])
        assert computed[-1] == texts[-1], "the last answers are kept"
        answer(texts[0])
        assert computed[-1] == texts[0], "the first answers are not"


class YieldingText(str):
    """A text that lets other threads continue whenever a dict looks it up, adds it or deletes it."""

    def __hash__(self) -> int:
        time.sleep(0)
        return super().__hash__()


def test_threads_share_the_answers() -> None:
    together = Barrier(4)

    @scripts.remembered
    def answer(text: str) -> Answer:
        if text == "first":
            together.wait()  # no thread finds the answer of another
        return Answer(text)

    def ask(thread: int) -> int:
        right = answer(YieldingText("first")).text == "first"
        for number in range(1_000):
            text = YieldingText(f"{number} {thread}")
            right += answer(text).text == text
        return right

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1_001] * 4
