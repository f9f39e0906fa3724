"""Files with scores of edits, and calibrations of a gate that are made of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent.evaluators.rules import Rules
from tests.commands import Shell

HARMFUL_BELOW_4 = [(0, 2, 50, 40), (0, 6, 50, 90), (0, 5, 50, 80), (0, 3, 50, 30), (0, -2, 50, 20), (0, 0, 50, 60)]


def pairs_file(shell: Shell, rows: Sequence[tuple[float, float, float, float]], signature: str) -> Path:
    """Edits over and over again, each in a document of its own."""
    columns = ("judge_before", "judge_after", "human_before", "human_after", "document", "signature")
    lines = ["\t".join(map(str, (*row, f"d{i}", signature))) for i, row in enumerate(list(rows) * 6)]
    return shell.write("pairs.tsv", "\t".join(columns), *lines)


def calibration(shell: Shell, name: str = "gate.json", signature: str = Rules().signature, **fields: Any) -> Path:
    """A calibration file with a margin of 5 and the threshold 5, and ``fields`` changed."""
    pairs_file(shell, HARMFUL_BELOW_4, signature)
    shell(f"gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -q -o {name}")
    path = shell.folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    for key, value in fields.items():
        partial = key in ("margin", "error_free") and value is not None
        data[key] = {**data[key], **value} if partial else value
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
