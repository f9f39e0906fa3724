"""A gate without labels: a pilot of the run's own edits settles it, and the run decides by it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench.harness import simulator
from mtagent import Agent, make_segments
from mtagent.chain.calibration import ExpectedGain
from mtagent.learning.gain import JudgedPairs
from mtagent.learning.gain import kept as decisions_of
from mtagent.records import GainCause, judgements_of
from mtagent.store import Store
from tests.commands import Shell
from tests.simulator import Entry, read_journal
from tests.simulator.asked import asked
from tests.simulator.marks import corrected, marks, segments

PANEL = "--judge gemba-da --judge pairwise"


def prepare(shell: Shell, server: str, number: int) -> None:
    chosen = segments(number)
    shell.write("en.txt", *(segment.source for segment in chosen))
    shell.write("es.txt", *(segment.translation or "" for segment in chosen))
    settings = {"base_url": server, "model": "editor", "judge_model": "small", "stages": "pe"}
    shell.write("mtagent.toml", *(f'{name} = "{value}"' for name, value in settings.items()))
    assert shell("config trust").code == 0


@pytest.mark.loopback
def test_two_judges_without_a_calibration_decide_by_a_pilot_of_the_runs_own_edits(shell: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server, 160)
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
        paid = len(read_journal(log))
        again = shell.postedit(f"{PANEL} --name second -o second.txt")
        assert again.code == 0, again.err
        assert len(read_journal(log)) == paid
    assert max(Counter(entry.sha256 for entry in read_journal(log)).values()) == 1
    with Store(shell.folder / "store.db") as store:
        stored = store.read("first").gates()
        assert stored == store.read("second").gates()
        gain = ExpectedGain.model_validate(stored["stages"]["postedit"]["gain"])
        chains = list(store.read("first").chains())
        usage = store.run("first").usage
    assert sum(chain.usage.calls for chain in chains) == usage.calls == paid
    for chain in chains:
        for step in chain.steps:
            if isinstance(step.cause, GainCause):
                assert step.cause.gain == pytest.approx(gain.predict(judgements_of(step.cause)))
    assert shell.read("first.txt") == shell.read("second.txt")


@pytest.mark.loopback
@pytest.mark.slow
def test_a_run_that_is_stopped_in_its_pilot_and_after_it_decides_as_if_it_had_not_been(
    shell: Shell, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server, 240)
        undisturbed = shell.postedit(f"{PANEL} --name first --store whole.db -o first.txt")
        assert undisturbed.code == 0, undisturbed.err
        needed = len(read_journal(log))
        with Store(shell.folder / "whole.db") as store:
            gates = store.read("first").gates()
            tokens = store.run("first").usage.input_tokens + store.run("first").usage.output_tokens
        log.write_text("")
        settled = []
        for share in (0.2, 0.5, 0.95):
            stopped = shell.postedit(f"{PANEL} --name first --token-budget {int(share * tokens)} -o again.txt")
            assert stopped.code == 4, stopped.err
            with Store(shell.folder / "store.db") as store:
                settled.append(store.read("first").gates())
        assert settled[0] == {}
        assert settled[2] == gates
        done = shell.postedit(f"{PANEL} --name first -o again.txt")
        assert done.code == 0, done.err
        assert len(read_journal(log)) == needed
    assert max(Counter(entry.sha256 for entry in read_journal(log)).values()) == 1
    assert shell.read("again.txt") == shell.read("first.txt")


@pytest.mark.loopback
def test_with_few_edits_all_judges_must_agree(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 12)
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        panel = shell.postedit(f"{PANEL} --gate panel --name second -o second.txt")
        assert (done.code, panel.code) == (0, 0)
    assert "postedit: all judges must agree, because a pilot has " in done.err
    with Store(shell.folder / "store.db") as store:
        assert store.read("first").gates() == {"segments": 12, "stages": {"postedit": {"gain": None, "candidates": {}}}}
    assert shell.read("first.txt") == shell.read("second.txt")


def test_the_shipped_gate_is_checked_on_scores(shell: Shell) -> None:
    rows = ["system,id,marks,metric,human"]
    for number in range(60):
        good = number % 3 - 1
        rows.append(f"old,{number},-5,0.{number + 20},50")
        rows.append(f"new,{number},{good - 5},0.{number + 20 + good},{50 + 10 * good}")
    shell.write("scores.csv", *rows)
    base = "gate check shipped -e scores.csv --human human --before old --after new"
    done = shell(f"{base} --judge marks=mqm --judge metric=qe -f json")
    assert done.code == 0, done.err
    checked = json.loads(done.out)
    assert checked["pilot"]["trust"] == 1
    assert checked["good_kept"]["value"] == 1
    assert checked["lead"]["value"] > 0
    remark = "one mean is taken for the edits of several systems"
    several = shell(f"{base} --after old --judge marks=mqm --judge metric=qe -f json")
    assert remark not in done.err
    assert remark in several.err
    wrong = shell(f"{base} --judge marks=mqm --judge metric")
    assert wrong.code == 2
    assert "--judge metric: expected NAME=KIND, where KIND is one of mqm, da, qe, pairwise" in wrong.err
    single = shell(f"{base} --judge marks=mqm")
    assert single.code == 2
    assert "the shipped gate needs judges of two kinds" in single.err
    shown = shell("gate show shipped")
    assert shown.code == 0
    assert "mqm" in shown.out


@pytest.mark.loopback
def test_each_candidate_has_a_gate_of_its_own(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 60)
        good = [corrected(text, marks(text)) for text in shell.read("es.txt")]
        shell.write("good.txt", *good)
        shell.write("bad.txt", *(f"{text} malo malo" for text in shell.read("es.txt")))
        done = shell.postedit(f"{PANEL} --candidate good.txt --candidate bad.txt --stages r --name first -o first.txt")
        assert done.code == 0, done.err
    with Store(shell.folder / "store.db") as store:
        gates = store.read("first").gates()["stages"]["rerank"]
        chosen = [chain.steps[0].cause.chosen for chain in store.read("first").chains() if chain.steps]
    drifts = [gain["pilot"]["drift"] for gain in (gates["candidates"]["1"], gates["gain"], gates["candidates"]["2"])]
    assert drifts == sorted(drifts, reverse=True)
    assert len(set(drifts)) == 3
    assert 2 not in chosen


@pytest.mark.loopback
def test_a_run_decides_as_the_check_of_the_same_scores_does(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 60)
        done = shell.postedit(f"{PANEL} --gate-calls 0 --name first -o first.txt")
        assert done.code == 0, done.err
    rows, kept = ["id,gemba-da_before,gemba-da_after,pairwise,human_before,human_after"], []
    judged = []
    preferences = {1: "after", 0: "same", -1: "before"}
    with Store(shell.folder / "store.db") as store:
        stored = store.read("first").gates()["stages"]["postedit"]["gain"]
        for chain in store.read("first").chains():
            for step in chain.steps:
                if isinstance(step.cause, GainCause):
                    rating, comparison = judgements_of(step.cause)
                    assert comparison.difference is not None
                    preference = preferences[int(comparison.difference)]
                    human = f"0,{len(rows) % 3}"
                    rows.append(f"{chain.segment.id},{rating.before},{rating.after},{preference},{human}")
                    kept.append(step.verdict == "kept")
                    judged.append((rating.difference, comparison.difference))
    shell.write("pairs.csv", *rows)
    line = "gate check shipped --pairs pairs.csv --judge gemba-da=da --judge pairwise=pairwise -f json"
    checked = json.loads(shell(line).out)
    assert checked["pilot"] == pytest.approx(stored["pilot"])
    assert checked["items"] == stored["calibrated_on"] == len(rows) - 1
    assert checked["accepted"]["value"] == pytest.approx(sum(kept) / len(kept))
    assert 0 < sum(kept) < len(kept)
    # Each edit is decided on as the experiments decide, on arrays.
    pairs = JudgedPairs(
        judges=("gemba-da", "pairwise"),
        differences=np.array(judged, dtype=np.float64),
        human_before=np.zeros(len(judged)),
        human_after=np.zeros(len(judged)),
        groups=np.arange(len(judged)),
    )
    assert decisions_of(ExpectedGain.model_validate(stored), pairs).tolist() == kept


@pytest.mark.loopback
def test_a_trial_of_a_few_segments_does_not_settle_the_gate_of_all(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 100)
        trial = shell.postedit(f"{PANEL} --limit 12 --name first -o first.txt")
        assert "postedit: all judges must agree" in trial.err
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
    assert "postedit: pilot of" in done.err
    shown = shell("runs show first")
    assert "gate of postedit: pilot of" in shown.out
    with Store(shell.folder / "store.db") as store:
        assert store.read("first").gates()["segments"] == 100


@pytest.mark.loopback
def test_with_context_the_pilot_is_paid_for_and_estimated(shell: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log)) as server:
        prepare(shell, server, 80)
        estimated = shell(f"estimate -s en.txt -t es.txt -l en-es {PANEL} --context 2")
        done = shell.postedit(f"{PANEL} --context 2 --name first -o first.txt")
        assert done.code == 0, done.err
        paid = len(read_journal(log))
        again = shell.postedit(f"{PANEL} --context 2 --name second -o second.txt")
        assert again.code == 0, again.err
        assert len(read_journal(log)) == paid
    assert max(Counter(entry.sha256 for entry in read_journal(log)).values()) == 1
    assert shell.read("first.txt") == shell.read("second.txt")
    rows = {line.split()[0]: line.split() for line in estimated.out.splitlines() if line}
    assert rows["pilot"][1] == f"0–{rows['postedit'][1].partition('–')[2]}"
    with Store(shell.folder / "store.db") as store:
        usage = store.run("first").usage
        chains = list(store.read("first").chains())
    of_segments = sum(chain.usage.calls for chain in chains)
    assert of_segments < usage.calls == paid < int(rows["total"][1].partition("–")[2].replace(",", ""))


@pytest.mark.loopback
def test_each_stage_has_a_pilot_of_its_own_and_the_later_one_sees_what_the_earlier_one_keeps(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 120)
        done = shell.postedit(f"{PANEL} --stages postedit,proofread --name first -o first.txt")
        assert done.code == 0, done.err
    with Store(shell.folder / "store.db") as store:
        stored = store.read("first").gates()["stages"]
        chains = list(store.read("first").chains())
    assert stored.keys() == {"postedit", "proofread"}
    gains = {stage: ExpectedGain.model_validate(settled["gain"]) for stage, settled in stored.items()}
    decided = Counter[str]()
    for chain in chains:
        for step in chain.steps:
            if isinstance(step.cause, GainCause):
                decided[step.stage] += 1
                assert step.cause.gain == pytest.approx(gains[step.stage].predict(judgements_of(step.cause)))
    # All segments were in the pilots, so both saw the very edits on which the run decides.
    assert {stage: gain.calibrated_on for stage, gain in gains.items()} == decided


def _is_comparison(entry: Entry) -> bool:
    question = asked(entry.body)
    return question is not None and question.prompt == "compare"


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("failing_half_of_comparisons", "too odd"),
        ("talking_about_half_of_comparisons", "the reply chooses neither A nor B nor tie"),
    ],
)
def test_a_pilot_with_failing_judges_settles_nothing_and_loses_nothing(
    shell: Shell, tmp_path: Path, behaviour: str, reason: str
) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", f"tests.simulator.taught:{behaviour}", "--log", str(log)) as server:
        prepare(shell, server, 200)
        stopped = shell.postedit(f"{PANEL} --name first -o first.txt")
    answered = {entry.sha256 for entry in read_journal(log) if entry.status == 200 and not _is_comparison(entry)}
    assert stopped.code == 1
    assert "in the pilot of postedit" in stopped.err
    assert reason in stopped.err
    assert len(read_journal(log)) < 400, "it stops after the first wave, with a fourth of the segments"
    assert not (shell.folder / "first.txt").exists()
    with Store(shell.folder / "store.db") as store:
        assert store.read("first").gates() == {}
    log.write_text("")
    port = server.removesuffix("/v1").rpartition(":")[2]
    with simulator("--behaviour", "tests.simulator.taught:answer", "--log", str(log), "--port", port):
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
    assert not answered & {entry.sha256 for entry in read_journal(log)}


@pytest.mark.loopback
def test_a_judge_that_always_answers_the_same_adds_nothing(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:undecided") as server:
        prepare(shell, server, 60)
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
    with Store(shell.folder / "store.db") as store:
        stored = store.read("first").gates()["stages"]["postedit"]["gain"]
    assert stored is None
    assert "for all edits, so it tells nothing" in done.err


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("models", "is_used"),
    [
        ("--model editor-1 --judge gemba-da:model=small --judge pairwise:model=small", True),
        ("--model editor-1 --judge gemba-da:model=editor-2 --judge pairwise:model=editor-2", False),
        ("--evaluator rubric-mqm:model=small --judge gemba-da:model=small-2 --judge pairwise:model=small-3", False),
    ],
)
def test_the_mean_of_judges_of_the_editors_family_is_not_used(shell: Shell, models: str, is_used: bool) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 60)
        done = shell.postedit(f"{models} --name first -o first.txt")
        assert done.code == 0, done.err
    assert ("their mean is not used, because models of their family make the edits" in done.err) == (not is_used)


@pytest.mark.loopback
def test_what_changes_the_gate_is_named(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 3)
        voting = shell.postedit(f"{PANEL} --quorum 1 --name first -o first.txt")
        chosen = shell.postedit(f"{PANEL} --quorum 1 --gate panel --name second -o second.txt")
        assert (voting.code, chosen.code) == (0, 0)
        with Agent(base_url=server, judge=["gemba-da", "pairwise"], model="editor", stages="pe") as agent:
            agent.postedit(["The note is clear."], ["La nota es clara."], "en", "es")
    words = "with margin or quorum the gate is panel"
    assert words in voting.err
    assert words not in chosen.err
    assert "gate gain: all judges must agree here, because only a run has a pilot" in caplog.text


@pytest.mark.loopback
def test_an_mt_system_is_asked_once_for_all_pilots_and_the_run(shell: Shell) -> None:
    asked_about = Counter[str]()
    by_source = {segment.source: segment.translation for segment in segments(60)}

    def translate(source: str) -> str:
        asked_about[source] += 1
        return by_source[source] or ""

    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        settings = {"base_url": server, "model": "editor", "judge_model": "small", "store": shell.folder / "store.db"}
        judges = ["gemba-da", "pairwise"]
        with Agent(translate, judge=judges, stages=["translate", "postedit", "proofread"], **settings) as agent:
            chains = agent.run("first").improve(make_segments(list(by_source), None, "en", "es"))
    assert all(chain.failed is None for chain in chains)
    assert set(asked_about.values()) == {1}
    assert len(asked_about) == len(by_source)


@pytest.mark.loopback
def test_a_run_without_candidates_has_no_pilot_of_rerank(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 40)
        shell.write("mtagent.toml", f'base_url = "{server}"', 'model = "editor"', 'judge_model = "small"')
        assert shell("config trust").code == 0
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        assert done.code == 0, done.err
    assert "gate of postedit: " in shell("runs show first").out
    assert "rerank" not in shell("runs show first").out + done.err


@pytest.mark.loopback
def test_a_pilot_that_a_limit_cut_short_is_done_again_and_finished_segments_stay(shell: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.taught:answer") as server:
        prepare(shell, server, 160)
        trial = shell.postedit(f"{PANEL} --limit 60 --name first -o first.txt")
        assert trial.code == 0, trial.err
        before = shell.read("first.txt")
        done = shell.postedit(f"{PANEL} --name first -o first.txt")
        whole = shell.postedit(f"{PANEL} --name second -o second.txt")
        assert (done.code, whole.code) == (0, 0)
    with Store(shell.folder / "store.db") as store:
        gates = [store.read(name).gates()["stages"]["postedit"]["gain"] for name in ("first", "second")]
    assert gates[0] == gates[1]
    assert shell.read("first.txt")[:60] == before[:60]
    assert shell.read("first.txt")[60:] == shell.read("second.txt")[60:]


@pytest.mark.loopback
def test_the_pilot_looks_at_all_parts_of_the_input(shell: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--behaviour", "tests.simulator.taught:failing_half_of_comparisons", "--log", str(log)) as server:
        prepare(shell, server, 200)
        assert shell.postedit(f"{PANEL} --name first -o first.txt").code == 1  # stopped after the first wave
    sources = shell.read("en.txt")
    places = set()
    for entry in read_journal(log):
        question = asked(entry.body)
        assert question is not None
        places.add(sources.index(question.values["source"]))
    assert 30 < len(places) < 80
    for first in range(0, 200, 40):
        assert 2 <= len(places & set(range(first, first + 40))) <= 25
