"""At which temperature evaluators, judges and the editor are asked, as their signatures say and servers receive it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mtagent import Agent
from mtagent.chain.gate import PanelGate
from mtagent.config import Config, load
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import signature_of
from mtagent.jobs.parts import assembled
from mtagent.records import Segment
from tests.calibrations import calibration
from tests.commands import Shell
from tests.simulator import Settings, Simulator
from tests.simulator.asked import asked
from tests.simulator.evaluators import answer

SERVER = "http://localhost:9/v1"  # never asked


def temperature(signature: str) -> str | None:
    found = re.search(r"\|temperature:([\d.]+)", signature)
    return found[1] if found else None


async def temperatures(**settings: Any) -> dict[str, list[str | None]]:
    """Those of the editor's evaluator, of its further proposals, of the judges' draws and of triage."""
    config = Config.model_validate({"stages": "pe", "model": "m", "base_url": SERVER, "gate": "rate", **settings})
    async with assembled(config) as plan:
        assert isinstance(plan.gate, PanelGate)
        triage = [plan.triage.evaluator] if plan.triage else []
        parts = {
            "editor": [plan.evaluator] if plan.evaluator else [],
            "proposals": plan.proposers,
            "judge": plan.gate.judges,
            "triage": triage,
        }
        return {name: [temperature(signature_of(one)) for one in several] for name, several in parts.items() if several}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # At 0 the editor's own evaluator would repeat the rating that caused the edit.
        ({}, {"editor": ["0.0"], "judge": ["1.0"]}),
        ({"judge": {"evaluator": "rubric-mqm"}}, {"editor": ["0.0"], "judge": ["1.0"]}),
        ({"judge": {"evaluator": "rubric-mqm:model=x"}}, {"editor": ["0.0"], "judge": ["0.0"]}),
        ({"judge": {"base_url": "http://localhost:8/v1"}}, {"editor": ["0.0"], "judge": ["0.0"]}),
        ({"judge": {"evaluator": ["rubric-mqm", "gemba-da"]}, "gate": "panel"},
         {"editor": ["0.0"], "judge": ["1.0", "0.0"]}),
        ({"judge": {"evaluator": "rubric-mqm"}, "stages": "pr"}, {"judge": ["0.0"]}),
        ({"judge": {"temperature": 0}}, {"editor": ["0.0"], "judge": ["0.0"]}),
        ({"temperature": 0.3}, {"editor": ["0.3"], "judge": ["0.3"]}),
        ({"evaluator": "gemba-mqm:temperature=0.7"}, {"editor": ["0.7"], "judge": ["0.7"]}),
        ({"evaluator": "m-mad:temperature=0.7,rounds=2", "judge": {"evaluator": "gemba-da"}},
         {"editor": ["0.7"], "judge": ["0.0"]}),
        ({"postedit": {"temperature": 0.5}, "judge": {"temperature": 0.1}}, {"editor": ["0.5"], "judge": ["0.1"]}),
        # Several draws of the same request have to differ.
        ({"samples": 3}, {"editor": ["0.0"], "judge": ["1.0"]}),
        ({"samples": 3, "temperature": 0.2}, {"editor": ["0.2"], "judge": ["0.2"]}),
        ({"proposals": 3}, {"editor": ["0.0"], "judge": ["1.0"], "proposals": ["1.0", "1.0"]}),
        ({"samples": 2, "triage": "gemba-da", "triage_above": 90.0},
         {"editor": ["0.0"], "judge": ["1.0"], "triage": ["0.0"]}),
        ({"gate": "pairwise", "evaluator": "rules"}, {"editor": [None], "judge": ["0.0"]}),
    ],
)  # fmt: skip
async def test_who_rates_is_asked_at_temperature_0_unless_something_else_is_said(
    settings: Any, expected: dict[str, list[str | None]]
) -> None:
    assert await temperatures(**settings) == expected


@pytest.mark.parametrize(("stages", "expected"), [("pe", "1.0"), ("pr", "0.0")])
async def test_a_calibrated_judge_is_asked_as_it_was_calibrated(stages: str, expected: str, shell: Shell) -> None:
    config = Config.model_validate({"stages": stages, "model": "m", "base_url": SERVER, "gate": "rate"})
    async with assembled(config) as plan:
        assert isinstance(plan.gate, PanelGate)
        (judge,) = plan.gate.judges
    assert temperature(judge.signature) == expected
    path = calibration(shell, signature=judge.signature, gain=None)
    assert (await temperatures(calibration=path))["judge"] == [expected]


async def test_an_evaluator_may_have_another_model_and_an_impossible_setting_is_named() -> None:
    async with assembled(Config(stages=("postedit",), model="m", base_url=SERVER, evaluator="eaprompt:model=x")) as p:
        assert p.evaluator is not None
        assert "|model:x|" in signature_of(p.evaluator)
    with pytest.raises(ConfigError, match="evaluator eaprompt: temperature: "):
        await temperatures(evaluator="eaprompt:temperature=hot")


@pytest.mark.parametrize(("options", "sent"), [({}, 0.0), ({"temperature": 1.0}, 1.0)])
def test_both_published_temperatures_of_the_paper_can_be_chosen(options: Any, sent: float) -> None:
    config = load(None, {"preset": "paper", **options})
    assert {config.model_for(role).temperature for role in (None, "translate", "postedit", "proofread")} == {sent}


@pytest.mark.loopback
async def test_the_server_receives_0_for_ratings_and_nothing_for_what_is_written(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    async with Simulator(Settings(behaviour=answer)) as server:
        agent = Agent(base_url=server.base_url, model="m", stages="tpp", evaluator="gemba-mqm")
        segment = Segment(id="1", source="A cat errado.", source_lang="en", target_lang="es")
        _ = [chain async for chain in agent.astream([segment])]
    sent = {question.prompt: body.get("temperature") for body in server.requests if (question := asked(body))}
    assert sent == {"translate": None, "gemba-mqm": 0.0, "fix": None, "proofread": None, "compare": 0.0}
