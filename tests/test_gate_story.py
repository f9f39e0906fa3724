"""A gate from one's own run, as a user types it: postedit, calibrate with a teacher, postedit again, compare."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.chain.calibration import read
from mtagent.chain.decided_text import numbered
from mtagent.learning.runs import pairs_in
from mtagent.store import Store
from tests.commands import Shell
from tests.simulator import read_journal
from tests.simulator.marks import corrected, marks, segments
from tests.simulator.taught import worth

PRICES = {"editor": (0.5, 2), "small": (0.1, 0.4), "strong": (3, 15)}
PANEL = "--judge gemba-da --judge pairwise"
CALIBRATE = f"gate calibrate --run first {PANEL} --teacher gemba-da:model=strong,max-tokens=100 --sample 200"


def mean_worth(shell: Shell, name: str) -> float:
    lines = shell.read(name)
    return sum(map(worth, lines)) / len(lines)


def prepare(shell: Shell, server: str) -> None:
    """Sources, translations, references, prices and settings."""
    chosen = segments(400)
    shell.write("en.txt", *(segment.source for segment in chosen))
    translations = [segment.translation or "" for segment in chosen]
    shell.write("es.txt", *translations)
    shell.write("ref.txt", *(corrected(text, marks(text)) for text in translations))
    rows = (f'[[prices]]\nmodel = "{name}"\ninput = {ask}\noutput = {say}\n' for name, (ask, say) in PRICES.items())
    shell.write("prices.toml", *rows)
    settings = {"base_url": server, "model": "editor", "judge_model": "small", "prices": "prices.toml", "stages": "pe"}
    shell.write("mtagent.toml", *(f'{name} = "{value}"' for name, value in settings.items()))
    assert shell("config trust").code == 0


@pytest.mark.loopback
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_a_teacher_and_a_budget_make_a_gate_that_a_second_run_uses_for_nothing(
    shell: Shell, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server)
        assert shell.postedit(f"{PANEL} --name first -o first.txt").code == 0

        estimate = shell(f"{CALIBRATE} --dry-run")
        assert estimate.code == 0, estimate.err
        (total,) = (line.split() for line in estimate.lines if line.startswith("total"))
        assert total[1] == "1,200–1,203"  # of the judges, and of a call that the budget holds back
        lowest, highest = (float(cost.removeprefix("$")) for cost in total[-2].split("–"))
        paid_before = len(read_journal(log))

        stopped = shell(f"{CALIBRATE} --budget 0.1 -o gate.json")
        assert stopped.code == 4
        assert re.search(r"stopped: \$0\.\d+ of the budget of \$0\.1000 is spent", stopped.last)
        assert not (tmp_path / "gate.json").exists()

        done = shell(f"{CALIBRATE} --budget 2 -o gate.json")
        assert done.code == 0, done.err
        assert "mtagent: learning from 200 of the 325 edited texts of run first, drawn evenly by size" in done.err
        assert re.search(r"resuming run calibrate-\w+: \d+ of 200 segments are done", done.err)
        assert "200 edited texts judged, 0 failed; paid: 400 calls" in done.err
        assert len(read_journal(log)) == paid_before + 400  # the panel's calls were made by the first run's gate
        judged = next(run for run in shell.runs().values() if run.name.startswith("calibrate"))
        assert judged.usage.cost is not None
        assert lowest <= judged.usage.cost <= highest

        second = shell.postedit(f"{PANEL} --calibration gate.json --name second -o second.txt")
        assert second.code == 0, second.err
        compared = shell("compare first second -r ref.txt -m chrf")
    again = shell.runs()["second"]
    assert again.usage.calls < 0.05 * shell.runs()["first"].usage.calls
    assert max(Counter(entry.sha256 for entry in read_journal(log)).values()) == 1

    gain = read(tmp_path / "gate.json").gain
    assert gain is not None
    assert gain.held_out is not None
    assert gain.held_out.lead.low is not None
    assert gain.calibrated_on == gain.held_out.items == 200
    assert gain.held_out.lead.low > 0
    assert re.search(r"\n  it keeps \S+ % \[\S+ \S+\] of all, and \S+ % \[\S+ \S+\] of the good ones\n", done.err)
    for rival in ("no edit", "every edit"):
        assert re.search(rf"\n  the gate is better than keeping {rival} \(\+\S+ \[\S+ \S+\]\)\n", done.err)
    assert mean_worth(shell, "second.txt") > mean_worth(shell, "first.txt") > mean_worth(shell, "es.txt") + 5
    assert compared.code == 0
    assert [line.split()[0] for line in compared.lines if line.startswith(("first/final", "second/final"))][:2] == [
        "first/final", "second/final",
    ]  # fmt: skip


@pytest.mark.loopback
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_hundred_decisions_make_a_gate_that_decides_on_the_whole_run_again_without_a_call(
    shell: Shell, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server)
        # This gate rejects the most texts, and so has the judges see the most of them in parts.
        assert shell.postedit(f"{PANEL} --gate panel --name first -o first.txt").code == 0
        with Store(shell.folder / "store.db") as store:
            pairs = [pair for chain in store.read("first").chains() for pair in pairs_in(chain)]
        rows = list[str]()
        for pair in pairs:
            gain = worth(pair.after) - worth(pair.before)
            if gain and len(rows) < 200:
                rows += [f"{pair.segment.id},{number},{'accept' if gain > 0 else 'reject'}" for number in (1,)]
        shell.write("d.csv", "segment,edit,decision", *rows)
        decided = shell("decide first d.csv --who ana")
        assert decided.code == 0, decided.err
        paid = len(read_journal(log))
        done = shell("gate calibrate --run first --decisions -o gate.json")
        assert done.code == 0, done.err
        assert "no model is called, because the run's own ratings are stored" in done.err
        second = shell.postedit(f"{PANEL} --calibration gate.json --name second -o second.txt")
        assert second.code == 0, second.err
        assert len(read_journal(log)) == paid
    assert shell.runs()["second"].usage.calls == 0
    assert mean_worth(shell, "second.txt") > mean_worth(shell, "es.txt")


@pytest.mark.loopback
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_printed_command_decides_by_the_gate_that_was_learnt_from_a_run_with_default_settings(
    shell: Shell,
) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        chosen = segments(120)
        shell.write("en.txt", *(segment.source for segment in chosen))
        shell.write("es.txt", *(segment.translation or "" for segment in chosen))
        made = shell.postedit(
            f"-qofirst.txt --model small --base-url {server} --name first --limit 100 --details d.jsonl"
        )
        assert made.code == 0, made.err
        early = shell("gate calibrate --run first --decisions -o gate.json")
        assert early.code == 1
        assert "0 accepted, 0 rejected); at least 30 are needed" in early.last
        assert "Go on with `mtagent review first`" in early.last
        rows = list[str]()
        with Store(shell.folder / "store.db") as store:
            for chain in store.read("first").chains():
                for number, (_, step, edit) in enumerate(numbered(chain), start=1):
                    if step.stage != "rules" and edit.start is not None and len(rows) < 90:
                        verdict = "accept" if worth(edit.new) > worth(edit.old) else "reject"
                        rows.append(f"{chain.segment.id},{number},{verdict}")
        shell.write("decisions.csv", "segment,edit,decision", *rows)
        assert shell("decide first decisions.csv").code == 0
        done = shell("gate calibrate --run first --decisions -o gate.json")
        assert done.code == 0, done.err
        learnt_from = r"learning from your decisions on \d+ edited texts \(\d+ accepted, \d+ rejected\) of run first"
        assert re.search(learnt_from, done.err)
        next_command, along, *commands = done.err.splitlines()[-4:]
        assert next_command == (
            f"  mtagent postedit -s en.txt -t es.txt -l en-es -q --model small --base-url {server} "
            "--calibration gate.json --judge pairwise --name first-2 -o first-2.txt"
        )
        assert along.startswith("mtagent: then take your decisions along to the new run")
        assert commands == [
            "  mtagent decide first --export decisions.jsonl", "  mtagent decide first-2 --import decisions.jsonl",
        ]  # fmt: skip
        for command in (next_command, *commands):  # as they are
            done = shell(command.removeprefix("  mtagent "))
            assert done.code == 0, done.err
    assert len(shell.read("first-2.txt")) == 120
