"""JSON out of the replies that models really give."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import RatingParseError
from mtagent.llm.reading import Pairs, read_answer, read_json

ERROR = {"span": "bank", "severity": "major"}
PLAIN = '{"errors": [{"span": "bank", "severity": "major"}]}'
READ = {"errors": [ERROR]}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        pytest.param(PLAIN, READ, id="plain"),
        pytest.param(f"```json\n{PLAIN}\n```", READ, id="fence with language"),
        pytest.param(f"```\n{PLAIN}\n```", READ, id="fence without language"),
        pytest.param(f"```json {PLAIN} ```", READ, id="fence on one line"),
        pytest.param(f"Here are the errors:\n{PLAIN}", READ, id="prose before"),
        pytest.param(f"{PLAIN}\n\nLet me know if you need more [1].", READ, id="prose after"),
        pytest.param(f"Sure! {PLAIN} That's all.", READ, id="prose around in one line"),
        pytest.param('{"errors": [{"span": "bank", "severity": "major",},],}', READ, id="trailing commas"),
        pytest.param("{'errors': [{'span': 'bank', 'severity': 'major'}]}", READ, id="single quotes"),
        pytest.param("{'a': 'it's', 'b': 'l\\'amie \"x\"'}", {"a": "it's", "b": "l'amie \"x\""}, id="apostrophes"),
        pytest.param("{“errors”: [{“span”: “bank”, “severity”: “major”}]}", READ, id="typographic quotes"),
        pytest.param("{errors: [{span: 'bank', severity: 'major'}]}", READ, id="keys without quotes"),
        pytest.param("{'ok': True, 'no': False, 'none': None}", {"ok": True, "no": False, "none": None}, id="Python"),
        pytest.param('{"a": 1, // why\n "b": 2, # so\n /* and } */ "c": 3}', {"a": 1, "b": 2, "c": 3}, id="comments"),
        pytest.param('{"a": "http://x/#y"}, ', {"a": "http://x/#y"}, id="no comment inside a string"),
        pytest.param('{\\n  "a": 1,\\n  "b": 2\\n}', {"a": 1, "b": 2}, id="escaped line breaks between tokens"),
        pytest.param('{"a": "one\ntwo"}', {"a": "one\ntwo"}, id="line break inside a string"),
        pytest.param('{"a": "one\\ntwo"}', {"a": "one\ntwo"}, id="escaped line break inside a string"),
        pytest.param(json.dumps(PLAIN), READ, id="JSON inside a JSON string"),
        pytest.param("\ufeff" + PLAIN, READ, id="byte order mark"),
        pytest.param(f"<think>\nIs it {{'errors': []}}?\n</think>\n\n{PLAIN}", READ, id="thoughts before"),
        pytest.param(f"Is it []? Hm.\n</think>{PLAIN}", READ, id="thoughts without a beginning"),
        pytest.param('{"a": "</think>"}', {"a": "</think>"}, id="thoughts that are data"),
        pytest.param("[]", [], id="empty list"),
        pytest.param("{}", {}, id="empty object"),
        pytest.param("No errors found: []", [], id="empty list after prose"),
        pytest.param(f"[{PLAIN}]", [READ], id="list"),
        pytest.param('{"x": "a", "y": "b", "x": "c"}', [("x", "a"), ("y", "b"), ("x", "c")], id="repeated keys"),
        pytest.param("{'bank': 'a', 'bank': 'c',}", [("bank", "a"), ("bank", "c")], id="repeated keys, sloppy"),
        pytest.param(f'Draft:\n{{"errors": []}}\nBetter:\n{PLAIN}', READ, id="two blocks: the last"),
        pytest.param(f'Draft:\n{PLAIN}\nBetter:\n```json\n{{"a": []}}\n```', {"a": []}, id="two fences: the last"),
        pytest.param(f"{PLAIN}\nI kept the {{}} and the {{name}} and [2].", READ, id="placeholders in the prose after"),
        pytest.param(f'The answer is {PLAIN}; I kept {{}} and [7].', READ, id="placeholders beside an inline answer"),
        pytest.param(f'{PLAIN}\nI left {{"a": 1}} alone.', READ, id="an object inside a sentence after the answer"),
        pytest.param('["x" y, "z"]', ["x", "y", "z"], id="quotes missing"),
        pytest.param(f"In the range [0, 5) I found\n{PLAIN}", READ, id="a half-open interval is prose"),
        pytest.param('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], id="JSON lines"),
        pytest.param('{"a": 1}\n\n{"a": 1}', {"a": 1}, id="the same value twice"),
        pytest.param('{"a": "he said "hi" to", "b": 1}', {"a": 'he said "hi" to', "b": 1}, id="quotes not escaped"),
        pytest.param('["x" "y"]', ["x", "y"], id="missing comma between strings"),
        pytest.param('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}, id="missing comma between fields"),
        pytest.param('{"severity": major}', {"severity": "major"}, id="value without quotes"),
        pytest.param(r'{"a": "$\alpha$ C:\dir", "b": "\u00e9"}', {"a": r"$\alpha$ C:\dir", "b": "é"}, id="backslashes"),
        pytest.param('{"a": "{\\"b\\": [1}"}', {"a": '{"b": [1}'}, id="brackets inside a string"),
        pytest.param("> **{'a': 1}**", {"a": 1}, id="Markdown marks"),
        pytest.param('{"score": -1.5e1}', {"score": -15.0}, id="numbers"),
        pytest.param('{"名": "三→四", "т": "«да»"}', {"名": "三→四", "т": "«да»"}, id="other scripts"),
    ],
)  # fmt: skip
def test_reads(reply: str, value: Any) -> None:
    assert read_json(reply) == value


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param("", "the reply is empty", id="empty"),
        pytest.param(" \n\t", "the reply is empty", id="white space"),
        pytest.param("The translation is excellent!", "no JSON", id="praise"),
        pytest.param("I'm sorry, but I can't help with that.", "no JSON", id="refusal"),
        pytest.param("__import__('os').getcwd()", "no JSON", id="Python code"),
        pytest.param("85", "no JSON object or list", id="bare number"),
        pytest.param("null", "no JSON object or list", id="bare null"),
        pytest.param('"No errors."', "no JSON object or list", id="bare string"),
        pytest.param('{"errors": [{"span": "bank", "sev', "cut off", id="cut off inside a string"),
        pytest.param('[{"a": 1}, {"b": 2}, {"c":', "cut off", id="cut off between items"),
        pytest.param('```json\n[{"a": 1},\n', "cut off", id="cut off inside a fence"),
        pytest.param('{"errors": [{"a": 1}}', "cut off", id="a bracket is missing"),
        pytest.param('{"a": 1}\nBetter:\n{"a": 2, "b": [', "cut off", id="a better version cut off"),
        pytest.param('{"a": 1 /* why', "cut off", id="cut off inside a comment"),
        pytest.param("<think>Is it [1, 2]? It could be", "cut off while thinking", id="thoughts without an end"),
        pytest.param("<think>Yes: {}</think>", "the reply is empty", id="thoughts and nothing else"),
        pytest.param('{"score": NaN}', "NaN is no JSON number", id="NaN"),
        pytest.param("{'score': -Infinity}", "no JSON number|broken", id="infinity"),
        pytest.param('{"score": 1e999}', "no JSON number", id="too large a number"),
        pytest.param('[1, 2]\n[3]', "several JSON values", id="two lists"),
        pytest.param('{"errors": [...]}', "no JSON", id="a form with dots in it"),
        pytest.param('{"errors": [{"a": 1}, ...]}', "cut off", id="a list that goes on with dots"),
        pytest.param('[{"a": 1}, …] and then {"errors": []}', "cut off", id="a list that goes on with an ellipsis"),
        pytest.param('{"a": "x" "y", "a": "z"}', "repeats keys", id="broken and repeated keys"),
        pytest.param("The {name} and the [link](there) stay.", "no JSON", id="placeholders only"),
        pytest.param("[" * 100_000, "cut off", id="many brackets"),
        pytest.param("[" * 100_000 + "]" * 100_000, "broken", id="deep nesting"),
    ],
)  # fmt: skip
def test_refuses(reply: str, problem: str) -> None:
    with pytest.raises(RatingParseError, match=problem) as caught:
        read_json(reply)
    assert isinstance(caught.value, RatingParseError)
    assert len(str(caught.value)) < 400


def test_repeated_keys_are_told_from_a_list_of_pairs() -> None:
    assert isinstance(read_json('{"a": 1, "a": 2}'), Pairs)
    assert not isinstance(read_json('[["a", 1], ["a", 2]]'), Pairs)
    assert isinstance(read_json('{"edits": {"a": 1, "a": 2}}')["edits"], Pairs)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
VALUES = st.lists(JSON, max_size=4) | st.dictionaries(st.text(), JSON, max_size=4)
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
    "unit",
    [
        "[",
        "{",
        '{"',
        "[1,",
        '{"a":',
        "['",
        "/*",
        "[/*",
        "{a:",
        '"',
        "[x",
        "[0)",
        "<think>",
        "[ ",
        "{'a' ",
        "[1] a ",
        "[1]\na ",
        "{}",
    ],
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        text, spent = "Look: " + unit * (length // len(unit)), []
        for _ in range(3):
            start = time.process_time()
            with suppress(RatingParseError):
                read_json(text)
            spent.append(time.process_time() - start)
        return min(spent)

    # Fifty times the text: n log n work takes about 80 times as long, n² takes 2,500; a busy machine up to three times.
    assert seconds(200_000) < 400 * max(seconds(4_000), 0.001)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (f"{PLAIN}\nI take that back: {{'errors': []}}.", {"errors": []}),
        (f"{PLAIN}\nSee [1].", READ),
        (f"{{'errors': []}}\nor rather\n```json\n{PLAIN}\n```", READ),
        (PLAIN, READ),
        ("none: []", []),
    ],
)
def test_the_last_value_counts_where_that_is_asked_for(reply: str, value: Any) -> None:
    assert read_json(reply, last=True) == value


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


@pytest.mark.parametrize("ending", ["I agree that there is none. []", "Mine:\n```json\n[]\n```", "Mine:\n{}"])
def test_an_empty_list_after_others_is_no_licence_to_take_the_others(ending: str) -> None:
    with pytest.raises(RatingParseError, match="ends with an empty list"):
        read_json(f"The other holds {PLAIN}.\n{ending}", last=True)


def test_a_value_cut_off_at_the_end_is_an_error_even_if_one_before_it_is_whole() -> None:
    with pytest.raises(RatingParseError):
        read_json(f'{PLAIN}\nIn the end:\n{{"errors": [{{"span": "ba', last=True)


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
