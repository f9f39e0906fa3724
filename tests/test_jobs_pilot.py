"""A gate without labels: a pilot of the run's own edits settles it, and the run decides by it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.chain.calibration import ExpectedGain
from mtagent.records import GainCause, judgements_of
from mtagent.store import Store
from tests.commands import Shell
from tests.simulator import read_journal
from tests.simulator.marks import segments

PANEL = "--judge gemba-da --judge pairwise"


def prepare(shell: Shell, server: str, number: int) -> None:
    chosen = segments(number)
    shell.write("en.txt", *(segment.source for segment in chosen))
    shell.write("es.txt", *(segment.translation or "" for segment in chosen))
    settings = {"base_url": server, "model": "editor", "judge_model": "small", "stages": "pe"}
    shell.write("mtagent.toml", *(f'{name} = "{value}"' for name, value in settings.items()))
    assert shell("config trust").code == 0


@pytest.mark.loopback
def test_two_judges_without_a_calibration_decide_by_a_pilot_of_the_runs_own_edits(
    shell: Shell, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server, 160)
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
        print(done.err)
        paid = len(read_journal(log))
        again = shell.postedit(f"{PANEL} --name second -o second.txt")
        assert again.code == 0, again.err
        assert len(read_journal(log)) == paid
    assert max(Counter(entry.sha256 for entry in read_journal(log)).values()) == 1
    with Store(shell.folder / "store.db") as store:
        stored = store.read("first").gates()
        assert stored == store.read("second").gates()
        gain = ExpectedGain.model_validate(stored["postedit"])
        chains = list(store.read("first").chains())
        usage = store.run("first").usage
    print(gain)
    assert sum(chain.usage.calls for chain in chains) == usage.calls == paid
    for chain in chains:
        for step in chain.steps:
            if isinstance(step.cause, GainCause):
                assert step.cause.gain == pytest.approx(gain.predict(judgements_of(step.cause)))
    assert shell.read("first.txt") == shell.read("second.txt")
