"""``--seed`` and ``--repeat``: fresh replies for each seed, stored ones for the same, one budget over all repeats."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path
from statistics import fmean, stdev

import pytest
from sacrebleu.metrics.chrf import CHRF

from bench.harness import simulator
from mtagent.records import same_rater
from mtagent.store import Store
from tests.commands import Shell, start
from tests.simulator import read_journal

pytestmark = pytest.mark.loopback
WAVERING = ("--behaviour", "tests.simulator.chain:wavering")
THREE_TRANSLATIONS = ("x-1/translate", "x-2/translate", "x-3/translate")
IMPROVING = ("--behaviour", "tests.simulator.chain:improving")


@pytest.fixture
def log(shell: Shell) -> Path:
    """The server's journal; ``long.txt`` has enough texts for runs that choose words by chance to differ."""
    shell.write("long.txt", *(f"Text number {number} is about some things." for number in range(12)))
    return shell.folder / "log.jsonl"


def seeds(log: Path) -> list[int | None]:
    return [entry.body.get("seed") for entry in read_journal(log)]


@pytest.mark.parametrize("refused", [(), ("--unsupported", "seed")], ids=["seeds", "no seeds"])
def test_each_repeat_gets_fresh_replies_and_the_same_command_pays_nothing(
    refused: tuple[str, ...], shell: Shell, log: Path
) -> None:
    with simulator(*WAVERING, "--log", str(log), *refused) as server:
        line = f"translate -s long.txt -l en-es --stages t -o out.txt --temperature 0.7 --base-url {server} --name x"
        done = shell(f"{line} --repeat 3 --details d.jsonl --concurrency 1")
        assert done.code == 0
        assert "mtagent: --repeat 3: x-1 to x-3, each with a seed and replies of its own" in done.remarks
        assert "may be alike" not in done.err
        texts = [shell.read(f"out-{seed}.txt") for seed in (1, 2, 3)]
        assert texts[0] != texts[1] != texts[2] != texts[0]
        assert len(shell.objects("d-3.jsonl")) == 12
        runs = shell.runs()
        assert {name: (run.settings["seed"], run.usage.calls) for name, run in runs.items()} == {
            "x-1": (1, 12), "x-2": (2, 12), "x-3": (3, 12),
        }  # fmt: skip
        answered = [entry.body.get("seed") for entry in read_journal(log) if entry.status == 200]
        assert len(answered) == 36
        assert set(answered) == ({None} if refused else {1, 2, 3})
        requests = len(read_journal(log))

        assert shell(f"{line} --repeat 3").code == 0  # finished
        again = shell(f"{line.replace('out.txt', 'again.txt').replace('--name x', '--name y')} --seed 2")
        assert "; paid: 0 calls (12 more answered from the store), 0 + 0 tokens, $0.0000; run" in again.err
        assert shell.read("again.txt") == texts[1]
        assert len(read_journal(log)) == requests

        assert shell(f"{line} --repeat 2 --seed 3").code == 0  # x-3 is there already
        assert shell.runs()["x-4"].usage.calls == 12
        assert sum(entry.status == 200 for entry in read_journal(log)) == 36 + 12


def test_a_killed_command_resumes_and_pays_nothing_twice(shell: Shell, log: Path) -> None:
    with simulator(*IMPROVING, "--log", str(log), "--latency", "0.02") as server:
        line = f"translate -s long.txt -l en-es -o out.txt --base-url {server} --name x --repeat 3 --concurrency 1"
        process = start(shell.folder, *line.split())
        while not log.exists() or 2 not in seeds(log):  # it works on the second run
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert set(shell.runs()) == {"x-1", "x-2"}
        before = len(read_journal(log))
        done = shell(line)
        assert done.code == 0
        assert shell.read("out-1.txt") == shell.read("out-3.txt")  # each run is whole
        assert [run.counts.done for run in shell.runs().values()] == [12, 12, 12]
        requests = [entry.sha256 for entry in read_journal(log)]
        assert before < len(requests)
        assert len(requests) - len(set(requests)) <= 1  # the request that was under way


def tokens(shell: Shell) -> int:
    return sum(run.usage.input_tokens + run.usage.output_tokens for run in shell.runs().values())


def test_the_budget_holds_over_all_repeats(shell: Shell, log: Path) -> None:
    with simulator(*IMPROVING, "--log", str(log)) as server:
        line = f"translate -s long.txt -l en-es --stages t --max-tokens 50 --base-url {server} -o"
        assert shell(f"{line} one-2.txt --name x-2 --seed 2").code == 0
        of_one = tokens(shell)
        repeated = f"{line} out.txt --name x --repeat 3 --token-budget"
        budget = 2 * of_one + 500  # enough for x-1 and x-3, if x-2 had not been paid for
        assert shell(f"{repeated} {budget}").code == 4
        assert of_one < tokens(shell) <= budget
        assert sum(run.counts.done for run in shell.runs().values()) < 3 * 12
        paid, requests = tokens(shell), len(read_journal(log))
        assert shell(f"{repeated} {budget}").code == 4
        assert (tokens(shell), len(read_journal(log))) == (paid, requests)
        assert shell(f"{repeated} {5 * of_one}").code == 0
        assert [run.counts.done for run in shell.runs().values()] == [12, 12, 12]
        assert tokens(shell) == 3 * of_one


def test_an_estimate_and_a_dry_run_count_every_repeat(shell: Shell, log: Path) -> None:
    line = "estimate -s long.txt -l en-es --model gpt-4o-mini --stages t --count length -q"
    once, thrice = shell(line), shell(f"{line} --repeat 3")
    rows = [{row.split()[0]: row.split()[1:] for row in done.lines if row.strip()} for done in (once, thrice)]
    assert rows[0]["translate"][0] == "12"
    assert rows[1]["translate"][0] == "36"
    assert rows[1]["reserve"] == rows[0]["reserve"]  # what is held back for one call
    dry = shell("translate -s long.txt -l en-es --model m --base-url http://localhost:9/v1 --stages t --dry-run")
    repeated = shell(
        "translate -s long.txt -l en-es --model m --base-url http://localhost:9/v1 --stages t --dry-run --repeat 2"
    )
    assert dry.last.startswith("12 requests")
    assert repeated.last.startswith("24 requests")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-o out.txt", "repeat: the runs need a name: with --name trial they are called trial-1, trial-2 …"),
        ("--name x", "repeat: each run writes a file of its own: give -o FILE, which becomes FILE-1, FILE-2 …"),
        ("--name x -o out.txt --details -", "repeat: each run writes a file of its own: "),
        ("--name x -o out.txt --glossary -", "repeat: --glossary is standard input, which can be read only once: "),
        ("--name x -o out.txt", "out-2.txt: already exists; --force replaces it"),
    ],
)
def test_what_cannot_be_repeated_is_refused_before_anything_is_paid(options: str, message: str, shell: Shell) -> None:
    shell.write("out-2.txt", "precious")
    done = shell.postedit(f"--base-url http://localhost:9/v1 --repeat 2 {options}")
    assert done.code == 1
    assert done.last.startswith(f"mtagent: {message}")
    assert shell.read("out-2.txt") == ["precious"]
    assert not shell.runs()


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ("--evaluator rules", "no model is set, so the repeats will be alike"),
        ("--base-url {}", "temperature is 0 in postedit, so the repeats may be alike: set --temperature"),
        ("--base-url {} --stages pp --temperature 0",
         "temperature is 0 in postedit, proofread, so the repeats may be alike: set --temperature"),
        ("--base-url {} --stages pr", None),
        ("--base-url {} --temperature 0.7", None),
    ],
)  # fmt: skip
def test_repeats_that_may_be_alike_are_announced_once(options: str, remark: str | None, shell: Shell) -> None:
    with simulator(*IMPROVING) as server:
        done = shell.postedit(f"--name x -o out.txt --repeat 2 {options.format(server)}")
    assert done.code == 0
    assert [line for line in done.remarks if "alike" in line] == ([f"mtagent: --repeat: {remark}"] if remark else [])


def test_ratings_are_repeated_too(shell: Shell, log: Path) -> None:
    with simulator(*IMPROVING, "--log", str(log)) as server:
        line = f"rate -s en.txt -t es.txt -l en-es --evaluator rubric-mqm --base-url {server} --name r --repeat 2"
        assert shell(f"{line} -o r.seg.score --temperature 1").code == 0
        done = shell(f"{line} -o r.jsonl")
    assert done.code == 1
    assert "run 'r-1': was started with other settings" in done.last
    shell.write("es.txt", *reversed(shell.read("es.txt")))
    changed = shell(f"{line} -o r.seg.score --temperature 1")
    assert "run 'r-1': was started with other settings or inputs: the file es.txt has changed since. " in changed.last
    assert sorted(path.name for path in shell.folder.glob("r-*")) == [
        f"r-{seed}.{kind}" for seed in (1, 2) for kind in ("seg.rating", "seg.score", "sys.score")
    ]
    assert sorted(filter(None, seeds(log))) == [1, 1, 1, 2, 2, 2]


def test_several_answers_to_a_request_have_several_seeds(shell: Shell, log: Path) -> None:
    with simulator(*IMPROVING, "--log", str(log)) as server:
        shell.write("t.txt", "El errado gato", "Hola", "Paga")
        gate = "--gate rate --samples 2 --temperature 1 --seed 5 --no-rules-first"
        shell(f"postedit -s en.txt -t t.txt -l en-es --stages pe -o o.txt --base-url {server} {gate}")
    asked: dict[str, list[int]] = {}
    for entry in read_journal(log):
        asked.setdefault(str(entry.body["messages"]), []).append(entry.body["seed"])
    repeated = [of_request for of_request in asked.values() if len(of_request) > 1]
    assert repeated  # by both draws of the judge
    for of_request in repeated:
        assert len(set(of_request)) == len(of_request)
    assert 5 in seeds(log)  # the editor's


def test_a_comparison_shows_how_much_repeats_differ(shell: Shell, log: Path) -> None:
    shell.write("ref.txt", *(f"Text number {number} is about some correcto things." for number in range(12)))
    with simulator(*WAVERING) as server:
        line = f"translate -s long.txt -l en-es --stages t -o out.txt --base-url {server}"
        assert shell(f"{line} --temperature 0.7 --name x --repeat 3").code == 0
        # The same replies, and another setting:
        assert shell(f"{line} --temperature 0.7 --name again --seed 2 -o again.txt".replace("-o out.txt", "")).code == 0
        assert shell(f"{line} --temperature 0.9 --name other --seed 4 -o other.txt".replace("-o out.txt", "")).code == 0
    reference = shell.read("ref.txt")
    scores = [CHRF().corpus_score(shell.read(f"out-{seed}.txt"), [reference]).score for seed in (1, 2, 3)]
    line = "compare x-1 x-2 x-3 again other -r ref.txt -m chrf --paired-bs --resamples 50"
    compared = json.loads(shell(f"{line} -f json").out)
    half_widths = [
        row["scores"][0]["interval"]["half_width"] for row in compared["rows"] if row["name"] in THREE_TRANSLATIONS
    ]
    assert [spread["stage"] for spread in compared["repeats"]] == ["translate", "final"]
    assert compared["repeats"][0] == {
        "runs": ["x-1", "x-2", "x-3"], "stage": "translate", "metric": "chrF2",
        "mean": pytest.approx(fmean(scores)), "deviation": pytest.approx(stdev(scores)),
        "half_width": pytest.approx(fmean(half_widths)),
    }  # fmt: skip
    assert stdev(scores) > 0
    assert len(half_widths) == 3
    expected = f"x-1 … x-3  translate  chrF2   3  {fmean(scores):.3f}  {stdev(scores):.3f}  {fmean(half_widths):.3f}"
    assert expected in shell(line).lines
    rows = list(csv.DictReader(io.StringIO(shell(f"{line} -f csv").out)))
    (repeated, _) = [row for row in rows if row["grouping"] == "repeats"]
    assert (repeated["part"], repeated["stage"]) == ("x-1 x-2 x-3", "translate")
    assert float(repeated["chrF2 sd"]) == compared["repeats"][0]["deviation"]
    assert "repeats: " not in shell("compare x-1 other -r ref.txt -m chrf").out


def test_a_seed_makes_no_other_rater() -> None:
    signature = "rate|model:m|temperature:1.0|seed:{0}|judges-seed:{0}|version:1"
    assert same_rater(signature.format(1), signature.format(2))
    assert not same_rater(signature.format(1), signature.format(1).replace("1.0", "0.0"))


def test_the_run_shows_its_seed(shell: Shell) -> None:
    with simulator(*IMPROVING) as server:
        shell.postedit(f"--name x -o out.txt --seed 7 --base-url {server}")
    assert re.search(r"^  seed +7$", shell("runs show x").out, re.MULTILINE)
    with Store(shell.folder / "store.db") as store:
        assert store.run("x").settings["seed"] == 7
