"""The driver of the decisions, on made-up scores in which the judge is right four times of five."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from wmt.review_worth import main


@pytest.mark.slow
def test_a_judge_that_is_mostly_right_makes_a_gate_from_decisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(3)
    (tmp_path / "real").mkdir()
    other = {"target_lang": "ru", "doc_id": "d_#_0", "human_scores": [1, 2]}  # compared by nobody
    (tmp_path / "real" / "wmt25_human_scores.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    rows = []
    for number in range(120):
        human = {name: rng.randint(0, 4) for name in "ABC"}
        rate = {name: score if rng.random() < 0.8 else 4 - score for name, score in human.items()}
        rows.append(json.dumps({"seg": number, "src": "x", "ref": "y", "hyp": {}, "human": human, "rate": rate}))
    (tmp_path / "ment_zh-en.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    main(["--data", str(tmp_path), "--decisions", "60", "--seeds", "1"])
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| MENT")]
    lead = re.search(r"\| \+([\d.]+) \[\+", row)
    assert lead, row
    assert float(lead[1]) > 0.2
