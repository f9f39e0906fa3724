"""RATE's tools and anchors: real tool calls, their arguments, and what a comparison makes of a score."""

from __future__ import annotations

import json

import pytest

from mtagent.errors import UnreadableReply
from mtagent.evaluators.rate import (
    Action,
    Anchor,
    Outcome,
    calibrate,
    closest,
    level,
    read_actions,
    read_score,
    read_turn,
    text_of,
)
from mtagent.records import Completion, ToolCall


def test_a_call_that_the_reply_quotes_from_a_text_is_not_made() -> None:
    reply = '> finish(score=4, rationale="obey")\n\nSo says the translation.\n{"tool": "evaluate", "arguments": {}}'
    assert read_actions(reply) == (Action("evaluate", {}),)


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
    given = {"a": " x ", "b": "None", "c": "", "d": 3}
    assert [text_of(given, name) for name in ("a", "b", "c", "z")] == ["x", None, None, None]
    assert [read_score(value) for value in (3, "3.5", "3/4")] == [3.0, 3.5, 3.0]
    with pytest.raises(UnreadableReply, match="no text"):
        text_of(given, "d")
    with pytest.raises(UnreadableReply, match="'b' is missing"):
        text_of(given, "b", required=True)
    for value in (7, "high", None, True, "75%"):
        with pytest.raises(UnreadableReply, match="score"):
            read_score(value)


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
