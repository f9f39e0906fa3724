"""Files with scores of edits, and calibrations of a gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent.chain.calibration import (
    Calibration,
    Effect,
    ErrorFree,
    ExpectedGain,
    Figure,
    JudgeWeight,
    Point,
    write,
)
from mtagent.evaluators.rules import Rules
from tests.commands import Shell

GAINS = [(0, 2, 50, 20), (0, 6, 50, 90), (0, 5, 50, 80), (0, 3, 50, 30), (0, -2, 50, 10), (0, 0, 50, 15)]
"""The judge's score before and after, and people's: they rise together, and people's from a gain of about 3 on."""


def pairs_file(
    shell: Shell, rows: Sequence[tuple[float, float, float, float]], signature: str, times: int = 12
) -> Path:
    """Edits over and over again, each in a document of its own."""
    columns = ("judge_before", "judge_after", "human_before", "human_after", "document", "signature")
    lines = ["\t".join(map(str, (*row, f"d{i}", signature))) for i, row in enumerate(list(rows) * times)]
    return shell.write("pairs.tsv", "\t".join(columns), *lines)


def expected_gain(*signatures: str, **fields: Any) -> ExpectedGain:
    """One that expects a gain where the judges' scores rise by 3 in sum."""
    judges = tuple(JudgeWeight(judge=s.partition("|")[0], signature=s, scale=2, weight=2) for s in signatures)
    return ExpectedGain(
        **{"intercept": -3, "judges": judges, "scale": 4, "tie_band": 0, "ridge": 0.3, "calibrated_on": 200, **fields}
    )


def effect() -> Effect:
    """What a gate does to 18 edits."""
    known = Figure(value=1, low=0, high=2)
    names = ("gate", "always", "never", "oracle", "over_always", "over_never", "accepted", "good_kept")
    more = {"lead": known, "headroom": known, "alone": {"rules": known}}
    return Effect(
        items=18, groups=18, effective_groups=18, harmful_refused=known, **dict.fromkeys(names, known), **more
    )


def calibration(shell: Shell, name: str = "gate.json", signature: str = Rules().signature, **fields: Any) -> Path:
    """A calibration of one judge with an expected gain and the threshold 5, and ``fields`` changed."""
    whole = Calibration(
        evaluator=signature.partition("|")[0],
        signature=signature,
        version="0.1.0",
        date="2026-01-02",
        data=(),
        human="mqm",
        seed=1,
        resamples=1000,
        gain=expected_gain(signature, held_out=effect()),
        error_free=ErrorFree(
            definition="mqm >= 0", wanted=0.9, threshold=5, calibrated_on=36,
            curve=(Point(threshold=5, precision=1, coverage=0.3),),
        ),
    )  # fmt: skip
    data = whole.model_dump(mode="json")
    for key, value in fields.items():
        partial = key in ("gain", "error_free") and value is not None
        data[key] = {**data[key], **value} if partial else value
    path = shell.folder / name
    write(Calibration.model_validate(data), path)
    return path
