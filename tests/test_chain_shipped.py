"""The gate for judges without labels: what it settles from the differences of a pilot, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent.chain.shipped import PanelMember, ShippedPanel, ShippedWeights, UnknownEdits, shipped_weights_of
from mtagent.config import Config
from mtagent.jobs.parts import OwnParts, checked_plan
from mtagent.llm.fake import ScriptedLLM

MEMBERS = (PanelMember("marks", "gemba-mqm|v:1", "mqm"), PanelMember("metric", "cometkiwi|v:1", "qe"))
WEIGHTS = ShippedWeights(weights={"mqm": 0.3, "qe": 0.5}, drift=2.0, scale=1.0, tie_band=0.1)
ALIKE = [(4.0, 1.0), (-1.0, -0.25), (0.0, 0.0), (9.0, 2.25)] * 9
"""Roots of 2, -1, 0 and 3, and half of each: both judges say the same. Mean 1, spread sqrt(2.5)."""


def settled(differences: Sequence[tuple[float, float]], **more: Any) -> Any:
    favours = more.pop("favours", {})
    return ShippedPanel(MEMBERS, favours).settled(differences, "postedit", WEIGHTS, **more)


def test_judges_that_agree_are_trusted_and_their_mean_is_the_drift() -> None:
    gain = settled(ALIKE)
    mean = (0.3 + 0.5) / math.sqrt(2.5)
    assert (gain.pilot.agreement, gain.pilot.trust) == (pytest.approx(1), 1)
    assert gain.pilot.drift == pytest.approx(2 * mean)
    assert gain.intercept == pytest.approx(2 * mean - mean)
    assert [judge.weight for judge in gain.judges] == pytest.approx([0.3, 0.5])
    assert [judge.scale for judge in gain.judges] == pytest.approx([math.sqrt(2.5), math.sqrt(2.5) / 2])


def test_judges_that_do_not_agree_decide_by_their_mean_less_two_errors() -> None:
    unlike = [(4.0, 4.0), (4.0, 1.0), (1.0, 4.0), (1.0, 1.0)] * 9  # roots of 1 and 2, not correlated
    gain = settled(unlike)
    assert (gain.pilot.agreement, gain.pilot.trust) == (pytest.approx(0), 0)
    assert [judge.weight for judge in gain.judges] == [0, 0]
    mean, deviation = 0.8 * 1.5 / 0.5, math.hypot(0.3, 0.5)
    assert gain.intercept == pytest.approx(2 * (mean - 2 * deviation / math.sqrt(36)))
    # Several edits of a segment do not make it surer.
    fewer = settled(unlike * 4, sample_size=36)
    assert fewer.intercept == pytest.approx(gain.intercept)
    assert settled(unlike * 4).intercept > gain.intercept


def test_trust_grows_with_the_correlation_above_chance() -> None:
    mostly = [(4.0, 4.0), (4.0, 1.0), (1.0, 4.0), (1.0, 1.0), (4.0, 4.0), (1.0, 1.0)] * 6
    gain = settled(mostly)
    assert gain.pilot.agreement == pytest.approx(1 / 3)
    assert gain.pilot.trust == pytest.approx((1 / 3 - 1.5 / 6) / 0.2)


def test_the_mean_of_a_judge_of_the_editors_family_does_not_count() -> None:
    metric_alone = settled(ALIKE, favours={"postedit": frozenset([0])})
    assert metric_alone.pilot.drift == pytest.approx(2 * (0.3 + 0.5) / 0.5 * 0.5 / math.sqrt(2.5))
    assert settled(ALIKE, favours={"postedit": frozenset([0, 1])}).pilot.drift == 0
    assert settled(ALIKE, favours={"proofread": frozenset([0])}) == settled(ALIKE)


@pytest.mark.parametrize(
    ("differences", "message"),
    [
        (ALIKE[:29], "29 judged edits, and 30 are needed"),
        ([*ALIKE, (math.nan, 1.0)], "a difference of marks that is not a finite number: nan"),
        ([*ALIKE, (1.0, 1e101)], "a difference of metric that is not a finite number: 1e\\+101"),
        ([(1.0, number / 9) for number in range(40)], "the same difference of marks for all edits"),
        ([(0.0, number / 9) for number in range(40)], "the same difference of marks for all edits"),
    ],
)
def test_a_pilot_that_tells_nothing_is_refused(differences: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(UnknownEdits, match=message):
        settled(differences)


def test_only_judges_of_two_known_kinds_have_shipped_weights() -> None:
    assert shipped_weights_of(("gemba-mqm|v:1", "cometkiwi|v:1")) is not None
    assert shipped_weights_of(("gemba-mqm|v:1", "rubric-mqm|v:1")) is None
    assert shipped_weights_of(("gemba-mqm|v:1", "mine|v:1")) is None


def scripted(name: str) -> Any:
    llm = ScriptedLLM(lambda messages, purpose: "")
    llm.model = name
    return llm


JUDGES = {"evaluator": ("gemba-da:model=gpt-6-luna", "pairwise:model=mistral-small")}


@pytest.mark.parametrize(
    ("settings", "own", "expected"),
    [
        ({"model": "claude-5"}, {}, []),
        ({"model": "openai/gpt-6"}, {}, [0]),
        ({"model": "o3"}, {}, [0]),
        ({"model": "ministral-8b"}, {}, [1]),
        # This evaluator only marks errors; another model writes the edits. Both may be favoured.
        ({"model": "gpt-6", "evaluator": "gemba-mqm:model=mistral-large"}, {}, [0, 1]),
        ({"model": "claude-5", "evaluator": "gemba-mqm:model=mistral-large"}, {}, [1]),
        ({"model": "claude-5"}, {"llms": {"postedit": scripted("gpt-6")}}, [0]),
        ({"model": "claude-5"}, {"llms": {"postedit": scripted("7")}}, [0, 1]),
    ],
)
def test_who_may_favour_an_edit_is_known_by_the_models_that_write_it(
    settings: dict[str, Any], own: dict[str, Any], expected: list[int]
) -> None:
    config = Config(judge=JUDGES, stages=("postedit",), **settings)
    plan = checked_plan(config, OwnParts(**own)).plan
    assert plan.unlabelled is not None
    assert sorted(plan.unlabelled.favours["postedit"]) == expected
