"""The simulation of self-judging: what the real gates keep of needless edits."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from wmt.self_judging import NOISE, main, outcomes

README = Path(__file__).parents[1] / "wmt" / "README.md"


def kept(texts: int, flawed: float, kind: str) -> dict[str, list[float]]:
    """The share of the edits of ``kind`` that each gate keeps, for each noise."""
    found = asyncio.run(outcomes(texts, flawed, 1))
    return {name: [outcome.share(kind) for outcome in by_noise] for name, by_noise in found.items()}


@pytest.mark.slow
def test_a_rating_that_caused_an_edit_keeps_it_and_fresh_ones_and_panels_do_not() -> None:
    shares = kept(200, 0.0, "needless")
    assert shares["none: every edit"] == [1, 1, 1]
    for noise, share in zip(NOISE, shares["rate, before = the rating that caused the edit (former rule)"], strict=True):
        assert abs(share - (1 - noise)) < 0.15  # the second rating is better wherever it marks nothing
    assert max(shares["rate, both afresh, by the reviewer itself"]) < 0.37  # about noise * (1 - noise)
    assert max(shares["pairwise, a judge as noisy"] + shares["panel of two, both must agree"]) < 0.15
    assert max(shares["panel of two, expected gain"]) <= 0.05


@pytest.mark.slow
def test_a_calibrated_panel_keeps_what_mends_an_error() -> None:
    shares = kept(100, 0.5, "mending")
    assert min(shares["panel of two, expected gain"]) > 0.9
    assert shares["none: every edit"] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tables_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    page = README.read_text(encoding="utf-8").split("\n")
    rows = re.findall(r"^\| .*$", capsys.readouterr().out, re.MULTILINE)
    assert len(rows) == 2 * 11
    assert [row for row in rows if row not in page] == []
