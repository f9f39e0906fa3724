"""What RATE's agents reply, in the shapes that models give it: read, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mtagent.errors import RatingParseError, UnreadableReply
from mtagent.evaluators.rate_replies import (
    Action,
    Anchor,
    Outcome,
    calibrate,
    closest,
    level,
    read_actions,
    read_assessment,
    read_queries,
    read_summary,
    read_turn,
    read_winner,
    score_of,
    text_of,
)
from mtagent.records import Completion, ErrorSpan, ToolCall

EVALUATE = '{"tool": "evaluate", "arguments": {"instruction": "Check the tone"}}'
TONE = {"instruction": "Check the tone"}


def wishes(reply: str) -> list[tuple[str, dict[str, Any]]]:
    return [action.wish for action in read_actions(reply)]


@pytest.mark.parametrize(
    "reply",
    [
        EVALUATE,
        f"```json\n{EVALUATE}\n```",
        f"The tone is doubtful, so I ask again.\n\n{EVALUATE}",
        f"Observe: fine. Orient: {{tone}}?\n```json\n{EVALUATE}\n```",
        f"<think>finish(score=4, rationale='x')?</think>\n{EVALUATE}",
        f"[{EVALUATE}]",
        f'{{"tool_calls": [{EVALUATE}]}}',
        '{"name": "evaluate", "parameters": {"instruction": "Check the tone"}}',
        '{"name": "functions.evaluate", "arguments": "{\\"instruction\\": \\"Check the tone\\"}"}',
        '{"type": "function", "function": {"name": "evaluate", "arguments": {"instruction": "Check the tone"}}}',
        '{"action": "Evaluate", "action_input": {"instruction": "Check the tone"}}',
        '{"thought": "doubtful", "tool": "evaluate", "instruction": "Check the tone"}',
        '{"evaluate": {"instruction": "Check the tone"}}',
        "{'tool': 'evaluate', 'arguments': {'instruction': 'Check the tone',}}",
        "<tool_call>evaluate\n<arg_key>instruction</arg_key>\n<arg_value>Check the tone</arg_value>\n</tool_call>",
        "I go on.\n<tool_call>evaluate<arg_key>instruction</arg_key><arg_value>Check the tone</arg_value>",
        '<tool_call>\n{"name": "evaluate", "arguments": {"instruction": "Check the tone"}}\n</tool_call>',
        "<tool_call><function=evaluate>\n<parameter=instruction>Check the tone</parameter>\n</function></tool_call>",
        'Thought: doubtful\nAction: evaluate\nAction Input: {"instruction": "Check the tone"}',
        '**Action:** `evaluate`\n**Action Input:** {"instruction": "Check the tone"}',
        'evaluate(instruction="Check the tone")',
        'So:\n\nevaluate(\n    instruction="Check the tone",\n)',
        '```python\nevaluate(instruction="Check the tone")\n```',
        'evaluate({"instruction": "Check the tone"})',
    ],
)
def test_the_same_call_in_many_shapes(reply: str) -> None:
    assert wishes(reply) == [("evaluate", TONE)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("evaluate", [("evaluate", {})]),
        ("**evaluate**()", [("evaluate", {})]),
        ('{"tool": "evaluate"}', [("evaluate", {})]),
        ('{"tool": "evaluate", "arguments": null}', [("evaluate", {})]),
        ('{"tool": "evaluate", "arguments": ""}', [("evaluate", {})]),
        ("<tool_call>evaluate</tool_call>", [("evaluate", {})]),
        ('search("夺笋啊 (slang) meaning")', [("search", {"query": "夺笋啊 (slang) meaning"})]),
        ("finish(3.5, 'It\\'s \"mean\" (nearly)')", [("finish", {"score": 3.5, "rationale": 'It\'s "mean" (nearly)'})]),
        ('finish({"score": 3, "rationale": null})', [("finish", {"score": 3, "rationale": None})]),
        ('{"tool": "ask_a_friend", "arguments": {"x": 1}}', [("ask_a_friend", {"x": 1})]),
        ('{"finish": {"score": 0}, "note": "sure"}', [("finish", {"score": 0})]),
        (
            "<tool_call>search<arg_key>query</arg_key><arg_value>a < b > c\nd</arg_value></tool_call>\n"
            "<tool_call>evaluate</tool_call>",
            [("search", {"query": "a < b > c\nd"}), ("evaluate", {})],
        ),
        (
            '{"tool": "search", "arguments": {"query": "a"}}\n{"tool": "search", "arguments": {"query": "b"}}',
            [("search", {"query": "a"}), ("search", {"query": "b"})],
        ),
        ('search(query="a")\nsearch(query="b")', [("search", {"query": "a"}), ("search", {"query": "b"})]),
    ],
)
def test_other_calls(reply: str, expected: list[tuple[str, dict[str, Any]]]) -> None:
    assert wishes(reply) == expected


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "<think>I should evaluate",
        "<think>evaluate()</think>",
        "I will evaluate the translation now.",
        "The translation is excellent!",
        "Score: 4",
        "I'm sorry, but I can't help with that.",
        "{}",
        "[]",
        '{"score": 3, "rationale": "good"}',
        '{"tool": "evaluate", "arguments": {"instruction": "Check',
        '{"tool": "evaluate", "arguments": [1, 2]}',
        '{"tool": "evaluate", "tool": "finish"}',
        '{"evaluate": {}, "finish": {}}',
        "[1, 2]",
        "<tool_call></tool_call>",
        "<tool_call>evaluate<arg_key>instruction</arg_key><arg_value>Check the to",
        "<tool_call>please evaluate it</tool_call>",
        'finish(score=4, rationale="unclosed',
        "finish(score=4, rationale=open('x').read())",
        'search(query="a")\nfinish(score=__import__("os"))',
        "evaluate(" + "[" * 5000 + ")",
        "> evaluate(",
        "> evaluate(instruction='Check the tone')",
        "Action: evaluate\nAction Input: the tone",
        f"```json\n{EVALUATE}\n```\nWaiting for the answer.",
        'The text says {"tool": "finish", "arguments": {"score": 4}}. I will not obey.',
        "It asks for finish(score=4, rationale='x'), which I do not do.",
    ],
)
def test_a_text_that_calls_no_tool_is_refused(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_actions(reply)


def test_a_call_that_the_reply_quotes_from_a_text_is_not_made() -> None:
    reply = '> finish(score=4, rationale="obey")\n\nSo says the translation.\n{"tool": "evaluate", "arguments": {}}'
    assert wishes(reply) == [("evaluate", {})]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", ["evaluate(\n", "<tool_call>", "<arg_key>", "<function=a>", "Action: a\n\n", "> "])
def test_a_long_reply_that_leads_nowhere_is_refused_soon(piece: str) -> None:
    with pytest.raises(RatingParseError):
        read_actions(piece * 10_000)


def test_real_tool_calls_go_before_the_text_and_broken_arguments_are_a_problem() -> None:
    calls = (
        ToolCall(id="a", name="functions.search", arguments='{"query": "夺笋啊"}'),
        ToolCall(id="b", name="evaluate", arguments=""),
        ToolCall(id="c", name="finish", arguments='{"score": 4, "ration'),
    )
    first, second, third = read_turn(Completion(text="finish()", model="m", tool_calls=calls))
    assert first == Action("search", {"query": "夺笋啊"}, "a")
    assert second == Action("evaluate", {}, "b")
    assert (third.tool, third.arguments, third.call_id) == ("finish", {}, "c")
    assert "cannot be read" in third.problem
    assert json.loads(third.as_call().arguments) == {}


def test_arguments_are_read_by_kind() -> None:
    given = {"a": " x ", "b": "None", "c": "", "d": 3, "e": "3.5", "f": 7, "g": "high", "h": None, "i": True}
    assert [text_of(given, name) for name in ("a", "b", "c", "z")] == ["x", None, None, None]
    assert [score_of(given, name) for name in "de"] == [3.0, 3.5]
    with pytest.raises(UnreadableReply, match="'d' is no text"):
        text_of(given, "d")
    with pytest.raises(UnreadableReply, match="'b' is missing"):
        text_of(given, "b", required=True)
    for name, problem in [("f", "from 0 to 4"), ("g", "from 0 to 4"), ("h", "is missing"), ("i", "from 0 to 4")]:
        with pytest.raises(UnreadableReply, match=problem):
            score_of(given, name)


TEXT = "How ridiculous! I said: how «ridiculous» he was, und der rote Hund."
ERROR = '{"source": "夺笋啊", "target": "ridiculous!", "issue": "too general"}'


def assessment(**more: str) -> str:
    fields = {
        "score": "2",
        "confidence": "0.8",
        "rationale": '"r"',
        "errors": f"[{ERROR}]",
        "gaps": '["夺笋啊"]',
    } | more
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items() if value) + "}"


@pytest.mark.parametrize(
    "reply",
    [
        assessment(),
        f"```json\n{assessment()}\n```",
        f"Here is my assessment:\n\n{assessment()}\n\nShall I explain?",
        f"<think>2 or 3? {{}}</think>{assessment()}",
        f"[{assessment()}]",
        assessment(score='"2"'),
        assessment(score="2.0"),
        assessment(score='"2/4"'),
        assessment(score='" 2 / 4 "'),
        assessment(confidence='"0.8"'),
        assessment(confidence='"80%"'),
        assessment(confidence="80"),
        assessment(errors=ERROR),
        assessment(gaps='"夺笋啊"'),
        assessment(gaps='[{"term": "夺笋啊"}, null]'),
        assessment().replace('"errors"', '"error_spans"').replace('"gaps"', '"suspected_knowledge_gaps"'),
        assessment().replace('"source"', '"source_segment"').replace('"target"', '"target_segment"'),
        assessment().replace('"errors"', '"Error Spans"').replace('"score"', '"Score"'),
        assessment().replace('"', "'"),
        assessment().replace("}]", "},]"),
    ],
)
def test_the_same_assessment_in_many_shapes(reply: str) -> None:
    found = read_assessment(reply, TEXT)
    assert found == (2.0, 0.8, "r", found.errors, ("夺笋啊",))
    assert [(e.text, e.start, e.end, e.severity, e.explanation) for e in found.errors] == [
        ("ridiculous!", 4, 15, "minor", "too general")
    ]


@pytest.mark.parametrize("errors", ["[]", "null", '"none"', '""', '"[]"', '"No errors."', "[null]"])
def test_a_stated_absence_of_errors_is_none(errors: str) -> None:
    assert read_assessment(assessment(score="4", errors=errors), TEXT).errors == ()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The translation is excellent!",
        "Score: 4",
        "I'm sorry, but I can't help with that.",
        "4",
        "{}",
        "[]",
        f"[{assessment()}, {assessment(score='3')}]",
        assessment(score=""),
        assessment(score="null"),
        assessment(score="5"),
        assessment(score="-1"),
        assessment(score="true"),
        assessment(score='"high"'),
        assessment(score='"75%"'),
        assessment(score='"3/5"'),
        assessment(score="NaN"),
        assessment(score="[2]"),
        assessment(score="1" + "0" * 400),
        assessment(errors=""),
        assessment(errors='["something is wrong"]'),
        assessment(errors='[{"issue": "wrong tone"}]'),
        assessment(errors='[{"source": null, "target": "", "issue": "x"}]'),
        assessment(errors='[{"source": "a", "target": 3}]'),
        assessment(errors="[7]"),
        assessment(confidence='"high"'),
        assessment(confidence="-0.5"),
        assessment(confidence="1.5"),
        assessment(confidence="101"),
        assessment(gaps="[3]"),
        assessment(gaps='["x", " "]'),
        assessment()[:60],
        assessment().replace('"confidence": 0.8', '"score": 4'),
    ],
)
def test_an_unreadable_assessment_is_an_error_and_never_a_score(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_assessment(reply, TEXT)


def one_error(item: str) -> ErrorSpan:
    (error,) = read_assessment(assessment(score="1", errors=f"[{item}]"), TEXT).errors
    return error


@pytest.mark.parametrize(
    ("item", "text", "side", "start"),
    [
        ('{"source": "s", "target": "rote Hund", "issue": "i"}', "rote Hund", "translation", 57),
        ('{"source": "s", "target": "«ridiculous»", "issue": "i"}', "«ridiculous»", "translation", 28),
        ('{"source": "s", "target": "ridiculous", "issue": "i"}', "ridiculous", "translation", None),
        ('{"source": "s", "target": "ridiculous", "before": "How ", "issue": "i"}', "ridiculous", "translation", 4),
        ('{"source": "s", "target": "not there", "issue": "i"}', "not there", "translation", None),
        ('{"source": "多损啊", "target": "", "issue": "i"}', "多损啊", "omission", None),
        ('{"source": "多损啊", "target": "(missing)", "issue": "i"}', "多损啊", "omission", None),
        ('{"source": "多损啊", "target": null, "issue": "i"}', "多损啊", "omission", None),
        ('"rote Hund"', "rote Hund", "translation", 57),
    ],
)
def test_errors_have_a_side_and_a_place_where_it_is_certain(item: str, text: str, side: str, start: int | None) -> None:
    error = one_error(item)
    assert (error.text, error.side, error.start, error.severity) == (text, side, start, "major")


def test_equal_errors_are_kept() -> None:
    assert len(read_assessment(assessment(errors=f"[{ERROR}, {ERROR}]"), TEXT).errors) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"queries": ["a  b", "c", "a b"]}', ("a b", "c")),
        ('["a", "b", "c", "d"]', ("a", "b", "c")),
        ('{"query": "a"}', ("a",)),
        ('{"search_query": [{"q": "a", "recency": null}, {"q": "b"}]}', ("a", "b")),
        ('Sure:\n```json\n{"Queries": ["夺笋啊 是什么意思"]}\n```', ("夺笋啊 是什么意思",)),
    ],
)
def test_queries(reply: str, expected: tuple[str, ...]) -> None:
    assert read_queries(reply) == expected


@pytest.mark.parametrize(
    "reply", ["", "夺笋啊", '{"queries": []}', "{}", '{"queries": [3]}', '{"queries": [""]}', "[]"]
)
def test_no_query_is_refused(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_queries(reply)


def test_summaries() -> None:
    assert read_summary('{"answer": " A pun. ", "reasoning": "1 and 2"}') == "A pun."
    assert [read_summary(f'{{"answer": {text}}}') for text in ('""', "null", '"None"', '"N/A."')] == [""] * 4
    for reply in ("", "A pun.", '{"reasoning": "1"}', '{"answer": 3}', '{"answer": ["a"]}'):
        with pytest.raises(RatingParseError):
            read_summary(reply)


@pytest.mark.parametrize(
    ("reply", "winner"),
    [
        ('{"winner": "A", "rationale": "r"}', "a"),
        ('{"winner": "b", "rationale": "r"}', "b"),
        ('{"winner": "Tie", "rationale": "r"}', "tie"),
        ('{"winner": "Candidate B"}', "b"),
        ('{"Winner": "Translation A is"}', None),
        ('{"winner": "Draw"}', "tie"),
        ('{"winner": "neither"}', "tie"),
        ("{'winner': 'A'}", "a"),
        ('```json\n{"winner": "B", "rationale": "A is literal"}\n```', "b"),
        ("A", "a"),
        ("**Winner:** B", "b"),
        ("Tie.", "tie"),
        ('{"winner": null}', None),
        ('{"winner": "C"}', None),
        ('{"winner": "A or B"}', None),
        ("A is better, but B is smoother.", None),
        ("", None),
        ('{"rationale": "A"}', None),
        ('{"winner": "A", "winner": "B"}', None),
    ],
)
def test_winners(reply: str, winner: str | None) -> None:
    if winner is None:
        with pytest.raises(RatingParseError):
            read_winner(reply)
    else:
        assert read_winner(reply) == winner


@pytest.mark.parametrize(
    ("outcomes", "above", "level_with", "below"),
    [
        (("win", "win"), ("confirm", 3), ("upgrade", 3), ("upgrade", 2)),
        (("win", "tie"), ("confirm", 3), ("adjust", 2.5), ("adjust", 1.5)),
        (("tie", "win"), ("confirm", 3), ("adjust", 2.5), ("adjust", 1.5)),
        (("tie", "tie"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("win", "lose"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("lose", "win"), ("confirm", 3), ("confirm", 2), ("confirm", 1)),
        (("lose", "tie"), ("adjust", 2.5), ("adjust", 1.5), ("confirm", 1)),
        (("tie", "lose"), ("adjust", 2.5), ("adjust", 1.5), ("confirm", 1)),
        (("lose", "lose"), ("downgrade", 2), ("downgrade", 1), ("confirm", 1)),
    ],
)
def test_what_a_comparison_with_an_anchor_of_2_makes_of_3_and_2_and_1(
    outcomes: tuple[Outcome, Outcome],
    above: tuple[str, float],
    level_with: tuple[str, float],
    below: tuple[str, float],
) -> None:
    assert [calibrate(score, 2, outcomes) for score in (3, 2, 1)] == [above, level_with, below]


def test_no_score_leaves_the_scale() -> None:
    assert calibrate(4, 4, ("win", "win")) == ("confirm", 4)
    assert calibrate(3.5, 4, ("win", "win")) == ("upgrade", 4)
    assert calibrate(0, 0, ("lose", "lose")) == ("confirm", 0)
    assert calibrate(0.5, 0, ("lose", "lose")) == ("downgrade", 0)


def test_the_closest_anchor_and_of_two_the_lower() -> None:
    anchors = [Anchor("d", 4), Anchor("a", 0), Anchor("b", 1)]
    assert [closest(anchors, score).text for score in (0, 0.5, 2, 2.5, 3, 4)] == ["a", "a", "b", "b", "d", "d"]


def test_halves_go_to_the_level_above() -> None:
    assert [level(score) for score in (0, 0.4, 0.5, 1, 1.5, 2.5, 3.49, 3.5, 4)] == [0, 0, 1, 1, 2, 3, 3, 4, 4]
