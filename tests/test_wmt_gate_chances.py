"""The experiment on a gate's chances and promises: its parts by hand, and on the real data what wmt/README.md tells."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.commands import ROOT
from wmt.gate_chances import calibration_error, main


def test_the_calibration_error_is_that_of_tenths_by_hand() -> None:
    chances = np.repeat([0.1, 0.9], 50)
    happened = np.array(([True] + [False] * 9) * 5 + [True] * 50)
    assert calibration_error(chances, happened) == pytest.approx(0.05)  # half of the tenths are wrong by 0.1
    assert calibration_error(chances, chances > 0.5) == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(600)
def test_chances_and_promises_hold_as_the_page_tells(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(data)])
    printed = capsys.readouterr().out
    rows = re.findall(r"^\| .*$", printed, re.MULTILINE)
    page = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8").split("\n")
    assert [row for row in rows if row not in page] == []
    errors = [float(value) for value in re.findall(r"^\| (?:better|worse) \| (\S+) ", printed, re.MULTILINE)]
    assert len(errors) == 4
    assert max(errors) <= 0.04
    unlabelled = re.findall(r"^\| GEMBA-MQM .* \| (?:better|worse) \| (\S+) ", printed, re.MULTILINE)
    assert len(unlabelled) == 2
    assert max(map(float, unlabelled)) <= 0.04, "as learnt gates"
    promises = re.findall(r"^\| the same systems \| (\S+) .*\| (\d+) of (\d+) \|", printed, re.MULTILINE)
    assert [promise for promise, _, _ in promises] == ["15%", "20%", "25%", "30%", "any"] * 2
    for promise, breaking, promising in promises:
        assert int(breaking) <= 10, "a promise at 90 % confidence, given by 100 gates at most"
        if promise == "any":
            assert int(breaking) <= 0.1 * int(promising), "gates that break a promise, of those that promise something"
