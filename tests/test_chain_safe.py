"""No damage by a proofreader reaches the output, on the whole sample, with the guards alone and with a judge."""

from __future__ import annotations

import pytest

from mtagent.jobs.agent import Agent
from mtagent.jobs.demo import sample_path as path
from mtagent.records import Chain, Segment
from tests.simulator import Settings, Simulator
from tests.simulator import chain as simulated

BEHAVIOURS = ["half", "commentary", "placeholder", "number", "paragraph", "copied"]


def segments(name: str) -> list[Segment]:
    return [Segment.model_validate_json(line) for line in path(name).read_text(encoding="utf-8").splitlines()]


async def proofread(base_url: str, given: list[Segment], gate: str) -> list[Chain]:
    agent = Agent(base_url=base_url, stages="pr", gate=gate)
    return [chain async for chain in agent.stream(given)]


@pytest.mark.loopback
@pytest.mark.parametrize("gate", ["guards", "rate"])
@pytest.mark.parametrize("name", ["sample.en-es.jsonl", "sample.en-pt.jsonl"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_nothing_of_it_reaches_the_output(behaviour: str, name: str, gate: str) -> None:
    given = segments(name)
    async with Simulator(Settings(behaviour=getattr(simulated, behaviour))) as server:
        chains = await proofread(server.base_url, given, gate)
    changed = [(chain.given, chain.text, chain.segment.source) for chain in chains if chain.text != chain.given]
    assert changed == []
    spoilt = [chain for chain in chains if chain.steps[0].proposed != chain.given]
    assert len(spoilt) >= 4
    # What talks about itself is no translation: it is asked for once more, and then has failed.
    assert {chain.steps[0].verdict for chain in spoilt} == {"failed" if behaviour == "commentary" else "rejected"}
