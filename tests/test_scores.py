"""Scores from 0 to 100 in the shapes that models give them: read, or refused; no count and no range."""

from __future__ import annotations

import contextlib
import time

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.scores import parse_score


@pytest.mark.parametrize(("reply", "score"), [
    ('{"score": 85}', 85), ("85", 85), ("85/100", 85), ("85.5", 85.5), ("Score: 85", 85), ("**85**", 85),
    ("85 out of 100", 85), ("85%", 85), ("I would give 85.", 85), ("8,5", 8.5), ("score 0", 0),
    ("on a scale from 0 to 100, 85", 85), ("On a scale from 0 to 100, I would give this translation 85.", 85),
    ("Score (0-100): 85", 85), ("Score: **85/100**", 85), ("The translation has 2 errors.\n\n85", 85),
    ("There are 2 major errors and 1 minor one. Score: 85", 85),
    ("85\n\nThe translation is good, with 2 small slips.", 85), ('```json\n{"score": 85}\n```', 85),
    ('{"score": "85/100"}', 85), ("{'score': 85}", 85), ('{"Score": 85.0}', 85),
    ('{"explanation": "3 errors", "score": 85}', 85), ("<think>maybe 70</think>85", 85), ("<score>85</score>", 85),
    ("８５", 85), ("得分：85分", 85), ("Punktzahl: 85", 85), ("85. The translation is fluent.", 85),
    ("85, because the tense is off", 85), ("85 - good", 85),
    ("I would rate this translation from English to German as 85.", 85),
    ("This deserves a score of 85 out of 100 for the good style.", 85), ("\\boxed{85}", 85), ("100", 100),
    ("100/100", 100), ("0", 0), ("0/100", 0), ("85 points", 85), ("Score = 85", 85), ("Score – 85", 85),
    ("I'd say 85", 85), ("85 on a scale from 0 to 100", 85), ("Score: 85. I would give 85.", 85),
    ("score: 85 (out of 100)", 85), ("> 85", 85), ("- 85", 85), ('"score": 85', 85), ("### Score: 85", 85),
    ("Overall score: 85\nFluency is at 3 of 4 stars", 85), ("Score (0 = no meaning, 100 = perfect): 85", 85),
    ('{"score": 0}', 0), ("_85_", 85), ("Score: 85%", 85), ("~85", 85), ("The quality is about 85", 85),
    ("0 to 100 scale: 85", 85), ('{"result": {"score": 85}}', 85), ("7/10 (70/100)", 70), (".5", 0.5),
    ("Score on a scale of 1 to 100: 85", 85), ("Score: 85 – good", 85),
    ("The translation does not convey the meaning and I give it 20.", 20), ("It is not bad, I give it 85.", 85),
])  # fmt: skip
def test_scores_in_many_shapes(reply: str, score: float) -> None:
    assert parse_score(reply) == score


@pytest.mark.parametrize("reply", [
    "", "Score: 4 (out of 5)", "Score: 4 on a scale of 1 to 5", "Score: 4 stars", "Score: 5-star",
    "Score: 85 for accuracy, 70 for fluency", "Score: 85, 70", "85 70", "4 stars", "85, 70",
    "The translation is excellent!", "between 80 and 90", "80-90", "-5", "105", "7/10", "8{0", "Score: -5",
    "Score: 105", "Score: 7/10", "10/10", "5/5", "Score: 80-90", "Score: 80 to 90",
    "I would give it between 80 and 90.", "80 – 90", "4 out of 5", "8.5/10", "The translation has 3 errors.",
    "3 errors", "Score: 3 errors", "score: between 80 and 90", "80 or 85", "85+", "Score: 85+", "Score: 85 ± 5",
    "85±5", "minus 5", "95 points deducted", "20 points off", "Score: N/A (0)", "Score: none (0)",
    "I refuse to give 100.", "I would not give it a score of 100.", "I can't give it 100.", "The best score is 100.",
    "A perfect translation would get 100.", "-5/100", "Score: −5", "–5", "N/A", "eighty-five", '{"score": null}',
    '{"score": true}', '{"score": -5}', '{"score": 105}', '{"score": [80, 90]}', '{"score": "80-90"}', '{"score": 8',
    "{}", '{"quality": 85}', '{"accuracy_score": 80, "fluency_score": 90}', "Accuracy score: 80\nFluency score: 90",
    "80\n90", "I'm sorry, I cannot rate this on a scale from 0 to 100.", "I can't help with that.", "0-100",
    "0 to 100", "8.5.1", "1,000", "Score: 1 000", "<think>85", "80,90", "85, 90", "Score: 85/1000", "85/90",
    "I am 95% sure that it is good.", "1. The translation is good.\n2. The style is off.",
    "1. The translation is good.", "Score deduction: 5", "Version 2 of this text", '{"score": 1e400}',
    '{"score": NaN}', "20/25", "Score: 5-", "from 80 to 100", "100-85", "1-100", "no 5", "GPT4", "Score: GPT4",
    "9" * 500, "Score: " + "9" * 5000, '{"score": ' + "9" * 5000 + "}",
])  # fmt: skip
def test_what_is_no_single_score_on_the_scale_is_an_error(reply: str) -> None:
    with pytest.raises(RatingParseError):
        parse_score(reply)


def test_an_error_says_what_is_wrong() -> None:
    with pytest.raises(RatingParseError, match=r"between 0 and 100.*105"):
        parse_score("105")
    with pytest.raises(RatingParseError, match="several scores"):
        parse_score("Score: 80. Score: 90.")


@pytest.mark.parametrize("reply", [
    "score " * 20_000, "8" * 80_000, "1 " * 40_000, "1," * 40_000, "(" * 80_000, "score (" * 20_000, "-" * 80_000,
    " " * 80_000 + "x", "0-100 " * 20_000, "8/" * 40_000, "on a " * 20_000, "<a" * 40_000, "85\n" * 20_000,
    "score" + " " * 80_000 + "1 x",
])  # fmt: skip
def test_no_reply_takes_long(reply: str) -> None:
    began = time.process_time()
    with contextlib.suppress(RatingParseError):
        parse_score(reply)
    assert time.process_time() - began < 5
