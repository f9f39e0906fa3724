"""The lists of words in ``mtagent/text/data``: written as their files say, and each of them is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex

from mtagent.text.word_lists import alternatives, word_lists, words_or_parts
from tests.commands import ROOT

NAMES = sorted(path.stem for path in (ROOT / "mtagent/text/data").glob("*.toml"))
EXPRESSIONS = ("commentary", "gemba", "headings", "shop_talk")
"""The files whose lists are regular expressions."""


def lists_in(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text in a file, with the name of its list."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from lists_in(item, f"{name}.{key}")
    elif isinstance(value, str):
        yield name, value


@pytest.mark.parametrize(("name", "text"), [pair for file in EXPRESSIONS for pair in lists_in(word_lists(file), file)])
def test_a_list_is_a_regular_expression_without_an_empty_alternative(name: str, text: str) -> None:
    pattern = regex.compile(alternatives(text), regex.IGNORECASE)
    assert pattern.fullmatch("") is None, f"{name}: an empty alternative stands in any text"


def test_whole_words_and_parts_of_words() -> None:
    pattern = regex.compile(words_or_parts({"words": "\nnot|never\nno\n", "parts": "\n不|没\n"}))
    assert pattern.findall("not a knot, nobody says no: 我不知道") == ["not", "no", "不"]
    assert regex.findall(words_or_parts({"words": "no"}), "no, nobody") == ["no"]


@pytest.mark.parametrize("name", NAMES)
def test_every_list_is_read_by_some_module(name: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(ROOT / "mtagent").rglob("*.py")]
    (source,) = [text for text in sources if f'word_lists("{name}")' in text]
    for key in word_lists(name):
        assert f'"{key}"' in source or f"'{key}'" in source, f"{name}.toml: nothing reads {key}"
