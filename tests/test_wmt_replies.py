"""The driver that tells how replies of real models are read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import python
from wmt.replies import CHECKED, FILES, checked

ERROR = 'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "dog" should be "cat"\nMinor:\nno-error'
ROWS = {
    "score_replies": ["A score of 85 for the translation.", "I cannot score this."],
    "mqm_replies": [ERROR, "no-error", "Nice."],
    "json_span_replies": ['{"annotations": [{"reason": "r", "text": "dog", "type": 1}]}'] * 2,
    "pairwise_replies": ['{"winner": "B"}', "Hm."],
    "gemba_mqm_replies": ["A"],
    "self_feedback_replies": ["'dog' is a minor style/awkward error"],
}


def test_the_table_counts_what_is_read_refused_and_wrong(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for name, replies in ROWS.items():
        rows = [
            {"id": f"{name}#{number}", "reply": reply, "translation": "He saw the dog.", "kind": "pairwise",
             "expected": [{"text": "dog" if number == 0 else "cat", "type": 1, "start": 11}]}
            for number, reply in enumerate(replies)
        ]  # fmt: skip
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "real" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    done = python("-m", "wmt.replies", "--data", str(tmp_path))
    assert (done.err, done.out.splitlines()[2:]) == (
        "",
        [
            "| score_replies | 2 | 1 (50.0%) | 1 (1 decline) | 0 | – |",
            "| mqm_replies | 3 | 2 (66.7%) | 1 | – | 1 |",
            "| json_span_replies | 2 | 2 (100.0%) | 0 | 1 | – |",
            "| pairwise_replies | 2 | 1 (50.0%) | 1 | 0 | – |",
            "| gemba_mqm_replies | 1 | 1 (100.0%) | 0 | – | – |",
            "| self_feedback_replies | 1 | 1 (100.0%) | 0 | – | 0 |",
        ],
    )
    shown = python("-m", "wmt.replies", "--data", str(tmp_path), "--show", "mqm_replies")
    assert shown.out.startswith("mqm_replies#2: it has no heading")


def test_the_rows_that_a_person_has_read_are_kept() -> None:
    assert json.loads(CHECKED.read_text(encoding="utf-8"))["seed"] == 13
    scores = checked("score_replies")
    assert len(scores) == 200
    assert all(0 <= score <= 100 for score in scores.values())
    assert set(ROWS) == set(FILES)
