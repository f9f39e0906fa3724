"""Limits of a run's models, and several servers for one of them."""

from __future__ import annotations

import time

import pytest

from mtagent import Agent
from mtagent.records import Segment
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving

pytestmark = pytest.mark.loopback
SEGMENT = Segment(id="1", source="A cat.", source_lang="en", target_lang="es")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


async def test_rates_hold_for_each_model_at_a_server() -> None:
    async with Simulator(Settings(behaviour=improving)) as server:
        began = time.monotonic()
        agent = Agent(
            base_url=server.base_url,
            model="a",
            proofread={"model": "b"},
            stages="tpr",
            gate="none",
            requests_per_minute=1,
        )
        [chain] = [chain async for chain in agent.astream([SEGMENT])]
    assert not chain.failed
    assert [body["model"] for body in server.requests] == ["a", "b"]
    assert time.monotonic() - began < 30, "each model got its request of this minute"
