"""A gate that asks a metric first, and the model only if it can still change the decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.chain.calibration import ExpectedGain
from mtagent.records import GainCause, Step, Usage
from mtagent.store import Store
from tests.comet_environment import Fake
from tests.commands import Shell
from tests.simulator import read_journal
from tests.test_jobs_pilot import prepare


def gate_of(shell: Shell, name: str, store: str = "store.db") -> tuple[ExpectedGain, list[Step], Usage]:
    """The gate that a run settled, the steps that it decided on, and what the run took."""
    with Store(shell.folder / store) as opened:
        gain = ExpectedGain.model_validate(opened.read(name).gates()["stages"]["postedit"]["gain"])
        steps = [step for chain in opened.read(name).chains() for step in chain.steps]
        return gain, [step for step in steps if isinstance(step.cause, GainCause)], opened.run(name).usage


@pytest.mark.loopback
def test_the_model_is_asked_about_edits_that_the_metric_leaves_open_and_a_resumed_run_asks_the_same(
    shell: Shell, tmp_path: Path
) -> None:
    log = tmp_path / "simulator.jsonl"
    panel = f"--judge gemba-da --judge cometkiwi:model=fake/words,python={Fake(tmp_path).python} --prices p.toml"
    shell.write("p.toml", "[[prices]]", 'model = "*"', "input = 1", "output = 5")
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server, 240)
        estimate = shell(f"estimate -s en.txt -t es.txt -l en-es {panel}")
        whole = shell.postedit(f"{panel} --ask-all --name whole --store whole.db -o whole.txt")
        assert whole.code == 0, whole.err
        log.write_text("")
        done = shell.postedit(f"{panel} --name first --store first.db -o first.txt")
        assert done.code == 0, done.err
        needed = len(read_journal(log))
        log.write_text("")
        stopped = shell.postedit(f"{panel} --name first --budget 0.25 -o again.txt")
        assert stopped.code == 4, stopped.err
        resumed = shell.postedit(f"{panel} --name first -o again.txt")
        assert resumed.code == 0, resumed.err
        assert len(read_journal(log)) == needed
    assert "usually half or less, after the metrics (--ask-all)" in estimate.out
    assert shell.read("again.txt") == shell.read("first.txt")

    gain, asked_all, usage_of_all = gate_of(shell, "whole", "whole.db")
    same_gain, steps, usage = gate_of(shell, "first", "first.db")
    assert gain == same_gain
    assert not any(step.cause.unasked for step in asked_all)
    saved = [step for step in steps if step.cause.unasked]
    assert 0.3 < len(saved) / len(steps) < 0.9
    assert needed == usage.calls < 0.95 * usage_of_all.calls
    assert usage.cost < usage_of_all.cost
    for step in saved:
        assert [judgement.judge for judgement in step.cause.judgements] == ["cometkiwi"]
        assert "gemba-da not asked: cometkiwi " in step.cause.sentence
    for step in steps:
        if not step.cause.unasked:
            assert step.cause.gain == pytest.approx(gain.predict(step.cause.judgements))
    same = [one == other for one, other in zip(shell.read("first.txt"), shell.read("whole.txt"), strict=True)]
    assert sum(same) / len(same) > 0.95
