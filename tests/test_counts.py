"""Counting replies in the shapes that models give: read as a count or a score, or refused; never zero by accident."""

from __future__ import annotations

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.scores import Counted, read_count, read_score


@pytest.mark.parametrize(
    "reply",
    [
        "2, 1",
        "2,1",
        "(2, 1)",
        "[2, 1]",
        '"2, 1"',
        "2 1",
        "2; 1.",
        "2 and 1",
        "**2, 1**",
        "`2, 1`",
        "```\n2, 1\n```",
        "２，１",
        "2.0, 1.0",
        "Here is the count:\n\n2, 1",
        "2, 1\n\nLet me know if you need more.",
        "2\n1",
        "Answer: 2, 1",
        "The answer is: `2, 1`",
        "Major, Minor = 2, 1",
        "Major：2，Minor：1",
        "Major errors: 2 (-10)\nMinor errors: 1 (-1)\nTotal: -11",
        "2 major errors (gratis, 5 Uhr) and 1 minor error (kann)",
        "<think>2 or 3 major? Two.</think>\n2, 1",
        "Major: 2, Minor: 1",
        "Minor: 1, Major: 2",
        "**Major:** 2\n**Minor:** 1",
        "Major errors: 2\nMinor errors: 1",
        "- Major errors: 2.\n- Minor errors: 1.",
        "Major (2), Minor (1)",
        "Major = 2; Minor = 1",
        "MAJOR - 2, MINOR - 1",
        "Major 2, Minor 1",
        "Major: two, minor: one",
        "Major: 2 Minor: 1 Total: 3",
        "Number of major errors: 2; number of minor errors: 1",
        "The number of major errors is 2 and the number of minor errors is 1.",
        "2 major, 1 minor",
        "2 major errors and 1 minor error",
        "There are two major errors and one minor one.",
        "I count **2** major errors, and **one** minor error, 3 in all.",
        '{"major": 2, "minor": 1}',
        '{"Major errors": "2", "Minor errors": 1.0}',
        "```json\n{'major_errors': 2, 'minor_errors': 1,}\n```",
        'Major errors:\n(1) "Sie" - Mistranslation\n(2) "wird" - Grammar\nMinor errors:\n(1) "im" - Style\n\n2, 1',
    ],
)
def test_the_same_count_in_many_shapes(reply: str) -> None:
    assert read_count(reply) == Counted(-11, major=2, minor=1)


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        ("0, 0", Counted.of(0, 0)),
        ("There are two major errors and no minor ones", Counted.of(2, 0)),
        ("No major errors, three minor errors.", Counted.of(0, 3)),
        ("Major: none; Minor: 3", Counted.of(0, 3)),
        ("There are no errors.", Counted.of(0, 0)),
        ("There are neither major nor minor errors.", Counted.of(0, 0)),
        ("no-error", Counted.of(0, 0)),
        ("Major: 0\n\nMinor: 12", Counted.of(0, 12)),
        ("<score>-15</score>", Counted(-15)),
        ("The score is:\n<score> −15 </score>", Counted(-15)),
        ("<score>0</score>", Counted(0)),
    ],
)
def test_no_errors_many_errors_and_scores(reply: str, counted: Counted) -> None:
    assert read_count(reply) == counted


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "x, x",
        "2",
        "3 errors",
        "2, 1, 1",
        "-2, -1",
        "2.5, 1",
        "12024, 3",
        "2, 1\n3, 1",
        "Minor, Major: 1, 2",
        "Major: 2, 1",
        "No errors except one major one.",
        "Major: 2",
        "Two major errors.",
        "Major: many, Minor: few",
        "Major: -2, Minor: -1",
        "Major: 2, Minor: 1. Sorry: Major: 3, Minor: 1",
        "2 major errors, no, 3 major errors, 1 minor error",
        'Major errors: (1) "Sie" - Mistranslation\nMinor errors: (1) "wird" - Grammar',
        'Major:\n1. "Sie" - Mistranslation\nMinor:\n1. "wird" - Grammar',
        "The translation is excellent!",
        "I'm sorry, but I can't help with that.",
        "<think>2, 1",
        '{"major": 2}',
        '{"major": 2, "minor": null}',
        '{"major": true, "minor": 1}',
        '{"major": -2, "minor": 1}',
        '{"major": ["Sie"], "minor": []}',
        '{"major": 2, "minor"',
        "[2]",
        "<score>15</score>",
        "<score>-15.5</score>",
        "<score>-15</score> or <score>-11</score>",
        "85/100",
        "Zwei schwere Fehler und ein leichter.",
    ],
)
def test_what_is_no_count_is_an_error(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_count(reply)


LIST = 'Major errors:\n(1) "Sie" - Mistranslation\n(2) "5 Uhr" - Mistranslation\nMinor errors:\n(1) "im" - Style\n\n'


@pytest.mark.parametrize(
    "end",
    [
        "<score>-11</score>",
        "The final score is -5-5-1=-11.\n<score>-11</score>",
        "<score>\n-11\n</score>",
        "<Score>-11.0</Score>",
        "<score>-5 - 5 - 1 = -11</score>",
        "**Score:** -11",
        "Final score: -5 - 5 - 1 = -11",
        "Score: −11.",
        "Score = -11 points",
        "The score is -11",
        "A score of -11",
        "Score: -5\nNo, the score is: -11",
        "**<score>-11</score>**",
    ],
)
def test_the_score_at_the_end_of_a_list(end: str) -> None:
    assert read_score(LIST + end) == Counted(-11)


@pytest.mark.parametrize(
    "end",
    [
        "",
        "<score></score>",
        "<score>11</score>",
        "<score>-11",
        "<score>bad</score>",
        "<score>-11/25</score>",
        "<score>-11</score>\n<score>-10</score>",
        "Score: 85/100",
        "Score: -10.5",
        "I would give it -11.",
        "The score is low.",
        "Score: -11 or -10",
    ],
)
def test_a_list_without_a_clear_score_is_an_error(end: str) -> None:
    with pytest.raises(RatingParseError):
        read_score(LIST + end)


def test_counts_agree_where_both_say_the_same() -> None:
    assert Counted.of(2, 1).agrees(Counted.of(2, 1))
    assert not Counted.of(2, 1).agrees(Counted.of(1, 6))
    assert Counted.of(2, 1).agrees(Counted(-11))
    assert not Counted(-10).agrees(Counted.of(2, 1))
    assert (str(Counted.of(2, 1)), str(Counted(-11))) == ("2 major and 1 minor", "a score of -11")
