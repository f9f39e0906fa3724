"""JSON out of any reply: whole values come back, parts are refused; ``data/replies/json.json`` has the shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import RatingParseError
from mtagent.llm.reading import RepeatedKeys, failure_in, read_answer, read_json

PLAIN = '{"errors": [{"span": "bank", "severity": "major"}]}'


def test_repeated_keys_are_told_from_a_list_of_pairs() -> None:
    assert isinstance(read_json('{"a": 1, "a": 2}'), RepeatedKeys)
    assert not isinstance(read_json('[["a", 1], ["a", 2]]'), RepeatedKeys)
    assert isinstance(read_json('{"edits": {"a": 1, "a": 2}}')["edits"], RepeatedKeys)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
VALUES = st.lists(JSON, max_size=4) | st.dictionaries(st.text(), JSON, max_size=4)
VALUES = VALUES.filter(lambda value: failure_in(value) is None)  # {"failure": 1} is refused on purpose
WORDS = st.text("abc ,.!?\n'äß中", max_size=30)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_any_json_comes_back(value: Any, ascii_only: bool, indent: int | None) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@given(VALUES, WORDS, WORDS)
def test_prose_and_fences_change_nothing(value: Any, before: str, after: str) -> None:
    assert read_json(f"{before}\n```json\n{json.dumps(value)}\n```\n{after}") == value


@given(VALUES.filter(bool), st.data())
def test_no_beginning_of_an_answer_is_taken_for_the_answer(value: Any, data: st.DataObject) -> None:
    whole = json.dumps(value)
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(RatingParseError):
        read_json("Errors: " + whole[:cut])


@given(st.text("[]{}\"',: ab1\\/*#\n<>think", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = read_json(text)
    except RatingParseError:
        return
    assert isinstance(value, dict | list)


@pytest.mark.parametrize(
    ("reply", "alone"),
    [
        ("[]", True),
        ("```json\n[]\n```", True),
        ("> []", True),
        ("- **Errors**: `[]`.", True),
        ("结果：[]", True),
        ("<answer>[]</answer>", True),
        ("<think>[] or not?</think>[]\nDone.", True),
        (f"Is it []? No:\n{PLAIN}\nDone.", True),
        ("No errors were found. []", True),
        ("没有错误。[]。", True),
        ("- []", True),
        ("1. []", True),
        ("| [] |", True),
        ("→ []", True),
        ("There are [] of them", False),
        ("There are 3 [] of them", False),
        ("No. I would write [] here", False),
        ("I cannot tell. [] would be wrong", False),
        ("I would write - []", False),
        ("e.g. []", False),
        ("The answer [] is right", False),
        ("It is []", False),
        ("Say: [] where it is right", False),
        ('"\\"[]\\" is what you want"', False),
    ],
)
def test_whether_it_stands_as_an_answer_or_in_a_sentence(reply: str, alone: bool) -> None:
    assert read_answer(reply).alone is alone


BIG = "9" * 5000


@pytest.mark.parametrize(
    "reply",
    [
        *(f'{{"errors": {nest}}}' for nest in ("[" * 150 + "]" * 150, "[" * 900 + "]" * 900, "[" * 5000 + "]" * 5000)),
        '{"a": ' * 500 + "1" + "}" * 500,
        "[" * 5000,
        "Here it is: " + "[" * 990 + "]" * 990 + " and \\ud83d",
        f'{{"score": {BIG}}}',
        f'{{"score": -{BIG}, }}',
        f'Well: [{{"score": {BIG[:400]}}}] \\ud83d',
    ],
    ids=lambda reply: reply[:20],
)
@pytest.mark.parametrize("last", [False, True])
def test_endless_nesting_and_endless_numbers_are_unreadable_replies(reply: str, last: bool) -> None:
    with pytest.raises(RatingParseError):
        read_json(reply, last=last)


def test_deep_nesting_and_long_numbers_within_reason_are_read() -> None:
    assert read_json("[" * 99 + '{"a": 1}' + "]" * 99)
    assert read_json(f'{{"a": {BIG[:300]}}}') == {"a": int(BIG[:300])}
