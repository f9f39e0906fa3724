"""``mtagent rate`` as a user meets it: files, formats, stored runs, trajectories, exit codes, kills."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from bench.harness import simulator
from mtagent.cli.rate import command
from mtagent.config import DEFAULT_MODEL, Config
from mtagent.store import Store
from tests import killing
from tests.codes import without_codes
from tests.commands import ROOT, SOURCES, TRANSLATIONS, Shell, run, start
from tests.pages import section

OFFLINE = "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm): offline, with the rules evaluator."
FILES = "rate -s en.txt -t es.txt other.txt -l en-es"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        yield base_url


@pytest.fixture(scope="module")
def panel() -> Iterator[str]:
    """A server that knows the prompts of all evaluators."""
    with simulator("--behaviour", "tests.simulator.evaluators:answer") as base_url:
        yield base_url


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with a second system, the first of whose texts is equal."""
    shell.write("other.txt", TRANSLATIONS[0], "Hola  mundo.", "Paga ya.")
    return shell


def lines(text: str) -> list[str]:
    return text.splitlines()


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(text)]


# --- files


def test_ratings_go_to_standard_output_and_the_table_to_standard_error(files: Shell) -> None:
    done = files(FILES)
    assert done.code == 0
    assert [(o["id"], o["system"]) for o in objects(done.out)] == [
        (str(i), system) for i in (1, 2, 3) for system in ("es", "other")
    ]
    shown = lines(done.err)
    assert shown[0] == OFFLINE
    columns = "system mean rated failed critical major minor neutral calls tokens cost seconds"
    assert shown[1].split() == columns.split()
    assert shown[2].split()[:8] == ["es", "-0.033", "3", "0", "0", "0", "1", "0"]
    assert shown[4].startswith("rules|")
    assert shown[5].startswith("mtagent: 6 rated, 0 failed; 0 calls, 0 + 0 tokens, $0.0000; run rate-")


@pytest.mark.parametrize(
    "spelled",
    [
        "-t es.txt other.txt -l en-es",
        "-t es.txt -t other.txt -l en-es",
        "--translation es.txt other.txt -l en-es",
        "-l en-es -t es.txt other.txt",
        "-t es.txt -l en-es -t other.txt",
    ],
)
def test_systems_are_named_one_after_the_other_or_each_with_its_option(spelled: str, files: Shell) -> None:
    done = files(f"rate -s en.txt {spelled} -q")
    assert (done.code, done.err) == (0, "")
    assert [o["system"] for o in objects(done.out)][:2] == ["es", "other"]


def test_a_system_gets_a_name_and_only_the_chosen_ones_are_rated(files: Shell) -> None:
    done = files("rate -s en.txt -t first=es.txt second=other.txt -l en-es --systems second -q")
    assert {o["system"] for o in objects(done.out)} == {"second"}


def test_translations_come_through_a_pipe_too(files: Shell) -> None:
    arguments = ["rate", "-s", "en.txt", "-t", "es.txt", "x=-", "-l", "en-es", "-q"]
    done = run(files.folder, *arguments, stdin="".join(f"{line}\n" for line in TRANSLATIONS))
    assert done.code == 0, done.err
    assert [o["system"] for o in objects(done.out)] == ["es", "x"] * 3
    again = run(files.folder, *arguments, stdin="uno\n")
    assert again.code == 1
    assert "standard input has 1" in again.err


def test_a_table_with_foreign_columns_is_read_and_said(files: Shell) -> None:
    files.write("t.tsv", "src\tmt\tlp", f"{SOURCES[0]}\t{TRANSLATIONS[0]}\ten-es")
    done = files("rate -s t.tsv -o o.jsonl")
    assert "t.tsv: column 'src' is read as source" in done.err
    assert json.loads(files.read("o.jsonl")[0])["system"] == "t"
    assert "mtagent: written: o.jsonl" in done.err


def test_the_files_of_mt_metrics_eval_are_written_and_named(files: Shell) -> None:
    files.write("gpt-4.1.txt", *TRANSLATIONS)
    done = files("rate -s en.txt -t gpt-4.1.txt other.txt -l en-es -o rules-src.seg.score")
    assert done.code == 0
    assert "gpt-4.1 is gpt_4_1" in done.err
    assert "mtagent: written: rules-src.seg.score, rules-src.sys.score, rules-src.seg.rating" in done.err
    assert [line.split("\t")[0] for line in files.read("rules-src.seg.score")] == ["gpt_4_1"] * 3 + ["other"] * 3
    assert len(files.read("rules-src.seg.rating")) == 6
    assert len(files.read("rules-src.sys.score")) == 2


def test_another_format_of_the_same_ratings_asks_nobody_again(files: Shell) -> None:
    files(f"{FILES} -o o.jsonl")
    done = files(f"{FILES} -o o.tsv -v")
    assert "3 of 3 segments are done" in done.err
    assert files.read("o.tsv")[0].startswith("system\tdoc\t")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("rate", 2, "give the texts with -s and -t, or a stored run with --run"),
        ("rate -s en.txt -l en-es", 1, "en.txt: give the translations with -t"),
        ("rate -s en.txt -t es.txt", 1, "no source_lang"),
        ("rate -s en.txt -t no.txt -l en-es", 1, "no.txt: no such file"),
        ("rate -s en.txt -t es.txt es.txt -l en-es", 1, "two systems are called 'es': name them with -t NAME=FILE"),
        ("rate -s en.txt -t es.txt -l en-es -o es.txt", 1, "the results would overwrite the file of -t es"),
        ("rate -s en.txt -t es.txt -l en-es -o no/o.jsonl", 1, "there is no folder no"),
        ("rate -s en.txt -t es.txt -l en-es --format mtme", 1, "give -o NAME.seg.score"),
        ("rate -s en.txt -t es.txt -l en-es --format xml", 2, "'xml' is not one of"),
        ("rate -s en.txt -t es.txt -l en-es --evaluator rulez", 1, "no evaluator 'rulez'; did you mean 'rules'?"),
        ("rate -s en.txt -t es.txt -l en-es --evaluator rules:skp=x", 1, "no option 'skp'"),
        ("rate -s en.txt -t es.txt -l en-es --evaluator rubric-mqm", 1, "rubric-mqm asks a model, and there is none"),
        ("rate -s en.txt -t es.txt -l en-es --systems x", 1, "there is no system 'x'; there are: es"),
        ("rate -s en.txt -t es.txt -l en-es --gate none", 2, "No such option"),
        ("rate -s en.txt -t es.txt -l en-es --context -1", 1, "context: input should be greater"),
        ("rate --run nothing", 1, "there is no store yet"),
        ("rate --run r -s en.txt -l en-es", 2, "--run brings its texts, languages and terms with it: leave out -s, -l"),
        ("rate --show 1", 1, "there is no store yet"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_stored(
    line: str, code: int, message: str, shell: Shell
) -> None:
    done = shell(line)
    assert done.code == code
    assert message in lines(done.err)[-1]
    assert done.out == ""
    if (shell.folder / "store.db").exists():
        with Store(shell.folder / "store.db") as store:
            assert store.runs() == []


def test_the_command_shows_what_applies_to_ratings_and_nothing_of_the_chain() -> None:
    names = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    chain_only = "--gate --preset --margin --judge --judge-model --stage-model --translator --strategy --forced "
    chain_only += "--on-ambiguous --skip-guards --stop-when-error-free --details"
    assert names & set(chain_only.split()) == set()
    assert {"--evaluator", "--model", "--concurrency", "--limit", "--dry-run", "--give-up-after", "-q", "-v"} <= names
    assert {str(o.name) for o in command.params if isinstance(o, click.Option)} & set(Config.model_fields) >= {"run"}


# --- runs


def test_a_rating_run_is_listed_shown_and_exported(files: Shell) -> None:
    files(f"{FILES} --name mine -q")
    header, row = (line.split("\t") for line in lines(files("runs list").out))
    shown = dict(zip(header, row, strict=True))
    assert (shown["name"], shown["kind"], shown["segments"], shown["changed"]) == ("mine", "rating", "3", "-")
    table = lines(files("runs show mine").out)
    assert table[0].startswith("mine: finished, started ")
    assert table[1].startswith("system")
    assert "segment 2, system other, en-es" in files("runs show mine 2").out
    assert objects(files("runs export mine").out) == objects(files(f"{FILES} --name mine -q").out)
    done = files("runs export mine -o x.seg.score")
    assert "mtagent: written: x.seg.score, x.sys.score, x.seg.rating" in done.err
    assert files.read("x.seg.score")[0] == "es\t-0.1"
    assert "run 'mine' holds ratings: --details and --like are for runs" in files("runs export mine --like es.txt").err


def test_the_stages_of_a_run_are_rated_and_what_belongs_to_files_is_refused(files: Shell) -> None:
    files.postedit("--run improved -q")
    done = files("rate --run improved -o stages.jsonl")
    assert done.code == 0
    assert [line.split()[:2] for line in lines(done.err)[2:5]] == [
        ["given", "-0.033"], ["postedit", "0.000"], ["final", "0.000"]
    ]  # fmt: skip
    assert len(files.read("stages.jsonl")) == 9
    chosen = files("rate --run improved --stages given,final -q")
    assert [o["system"] for o in objects(chosen.out)][:2] == ["given", "final"]
    assert "there is no run 'improvd'; did you mean 'improved'?" in files("rate --run improvd").err


# --- trajectories


def test_how_a_rating_came_about_is_shown_from_the_newest_or_a_named_run(files: Shell) -> None:
    files(f"{FILES} --name one -q")
    both = files("rate --show 1").out
    assert both.count("segment 1, system ") == 2
    shown = files("rate --show other/2 --run one").out
    assert "segment 2, system other, en-es" in shown
    assert "translation  Hola  mundo." in shown
    assert "error        minor fluency/punctuation '  ' (4–6) → ' ': more than one space" in shown
    done = files("rate --show 9 --run one")
    assert (done.code, done.out) == (1, "")
    assert "run 'one': has no rating of '9'; name a segment, or SYSTEM/SEGMENT" in done.err


@pytest.mark.loopback
def test_a_trajectory_shows_who_was_asked_what_and_what_came_back(server: str, files: Shell) -> None:
    files.write("es.txt", "El gato errado aquí.", *TRANSLATIONS[1:])
    assert files(f"{FILES} --base-url {server} --evaluator rubric-mqm -o o.jsonl --name one").code == 0
    shown = files("rate --show es/1").out
    assert lines(shown)[4].startswith(f"1. rate  ({DEFAULT_MODEL}, ")
    assert " tokens, price unknown, " in shown
    assert "characters, -v shows all)" in shown
    assert "messages with examples (-v shows them)" in shown
    assert "<translation>El gato errado aquí.</translation>" in without_codes(shown)
    assert 'reply        {"errors": [{"span": "errado"' in shown
    assert "rating       rubric-mqm: -3" in shown
    assert "error        major mistranslation 'errado' (8–14) → 'acertado'" in shown
    full = files("rate --show es/1 -v").out
    assert "-v shows" not in full
    assert len(full) > 2 * len(shown)


@pytest.mark.parametrize("option", ["--evaluator rules", "-s en.txt", "--systems es", "-o x.jsonl"])
def test_a_stored_rating_is_shown_and_nothing_else_is_done(option: str, files: Shell) -> None:
    assert files(f"{FILES} -o o.jsonl --name one").code == 0
    assert "rating       rules" in files("rate --show 1 --name one").out
    done = files(f"rate --show 1 {option}")
    assert done.code == 2
    assert "--show prints a stored rating and takes no --" in done.err


@pytest.mark.loopback
def test_ratings_inside_a_chain_run_have_trajectories_too(server: str, files: Shell) -> None:
    files.write("es.txt", "El gato errado aquí.", *TRANSLATIONS[1:])
    assert files.postedit(f"--base-url {server} --stages pe --run c -o o.txt").code == 0
    shown = files("rate --show 1 --run c").out
    assert shown.count("segment 1, stage postedit") == 3  # the editor's rating, and the gate's of both texts
    assert "rating       rubric-mqm: -3" in shown
    assert "rating       rubric-mqm: -1" in shown
    assert files("rate --show postedit/1 --run c").out == shown
    assert files("rate --show proofread/1 --run c").code == 1


# --- with a server


@pytest.mark.loopback
@pytest.mark.parametrize("evaluator", ["m-mad", "rate"])
def test_evaluators_of_many_calls_rate_several_systems_and_tell_their_story(
    evaluator: str, panel: str, files: Shell
) -> None:
    done = files(f"{FILES} --base-url {panel} --evaluator {evaluator} -o o.jsonl --name many")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in files.read("o.jsonl")]
    assert [o["usage"]["calls"] > 1 for o in found] == [True, False, True, True, True, True]
    assert all(o["score"] is not None and o["signature"].startswith(f"{evaluator}|") for o in found)
    with Store(files.folder / "store.db") as store:
        assert store.run("many").usage.calls == sum(o["usage"]["calls"] for o in found)
    shown = files("rate --show es/2").out
    assert shown.count("\nreply ") == found[2]["usage"]["calls"]
    assert f"rating       {evaluator}: " in shown
    before = (files.folder / "o.jsonl").read_bytes()
    assert files(f"{FILES} --base-url {panel} --evaluator {evaluator} -o o.jsonl --name many").code == 0
    assert (files.folder / "o.jsonl").read_bytes() == before


@pytest.mark.loopback
def test_equal_texts_are_asked_for_once_and_the_table_adds_up(server: str, files: Shell) -> None:
    done = files(f"{FILES} --base-url {server} -o o.jsonl")
    assert done.code == 0
    usage = [o["usage"] for o in map(json.loads, files.read("o.jsonl"))]
    assert [u["calls"] for u in usage] == [1, 0, 1, 1, 1, 1]
    assert {u["cost"] for u in usage if u["calls"]} == {None}
    assert "unknown" in done.err
    assert "5 calls, " in lines(done.err)[-2]
    with Store(files.folder / "store.db") as store:
        (summary,) = store.runs()
    assert summary.usage.input_tokens == sum(u["input_tokens"] for u in usage)


@pytest.mark.loopback
def test_a_failed_rating_is_a_line_with_an_error_and_the_same_command_retries_only_it(files: Shell) -> None:
    with simulator("--script", "422", "--behaviour", "tests.simulator.evaluators:answer") as address:
        line = f"{FILES} --base-url {address} -o o.jsonl --concurrency 1"
        done = files(line)
        assert done.code == 3
        errors = [o["error"] for o in map(json.loads, files.read("o.jsonl"))]
        assert sum(error is not None for error in errors) == 2  # the equal texts of segment 1
        assert errors[0].startswith("BadRequest: ")
        assert "1: es failed: BadRequest" in done.err
        assert "the same command again retries what failed" in done.err
        assert files(line).code == 0
        assert [o["error"] for o in map(json.loads, files.read("o.jsonl"))] == [None] * 6


@pytest.mark.loopback
def test_a_wrong_key_and_an_unknown_model_stop_the_run_and_other_refusals_give_up(
    files: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with simulator("--api-key", "right") as address:
        done = files(f"{FILES} --base-url {address} -o o.jsonl")
        assert done.code == 1
        assert "HTTP 401" in lines(done.err)[-1]
        assert "sk-wrong" not in done.err
    with simulator("--fault-rate", "1", "--faults", "404") as address:
        done = files(f"{FILES} --base-url {address} -o o.jsonl --model gone")
        assert done.code == 1
        assert "gone may be gone, or not open to this key: name another with --model NAME" in lines(done.err)[-1]
    with simulator("--fault-rate", "1", "--faults", "422") as address:
        done = files(f"{FILES} --base-url {address} -o o.jsonl --give-up-after 2 --concurrency 1")
        assert done.code == 1
        assert "stopped: the first 2 segments all failed" in lines(done.err)[-1]
    assert not (files.folder / "o.jsonl").exists()


def test_a_dry_run_shows_the_requests_of_any_evaluator_and_touches_no_store(files: Shell) -> None:
    done = files(f"{FILES} --dry-run --base-url http://127.0.0.1:9/v1 --evaluator rubric-mqm --limit 2")
    assert done.code == 0
    assert done.out.count("--- segment 1, rate") == 1
    assert done.out.count("--- segment 2, rate") == 2
    assert TRANSLATIONS[0] in done.out
    assert "3 requests, about" in done.err
    assert "Nothing was sent." in done.err
    assert not (files.folder / "store.db").exists()
    assert "0 requests" in files(f"{FILES} --dry-run").err


def test_the_settings_in_the_file_that_rate_goes_by_are_the_general_ones(files: Shell) -> None:
    files.write("m.toml", "model = 'general'", "base_url = 'http://127.0.0.1:9/v1'", "gate = 'none'",
                "[judge]", "model = 'gate'", "[postedit]", "model = 'editor'")  # fmt: skip
    files(f"{FILES} --config m.toml --deadline 1 --name mine -q")
    with Store(files.folder / "store.db") as store:
        settings = store.run("mine").settings
    assert settings["model"] == "general"
    assert {"gate", "judge", "postedit", "stages"} & settings.keys() == set()


# --- kills


@pytest.mark.loopback
def test_a_rating_run_that_is_killed_resumes_and_pays_for_no_finished_call_twice(tmp_path: Path) -> None:
    outcome = killing.kill_and_resume(tmp_path, segments=40, kills=2, seed=1, job=killing.RATE)
    assert outcome.equal
    assert (outcome.kills, outcome.unexplained) == (2, 0), str(outcome)
    assert outcome.calls == 80
    assert outcome.repeated <= outcome.in_flight
    scores = (tmp_path / "disturbed.seg.score").read_text(encoding="utf-8").splitlines()
    assert len(scores) == 80
    assert {line.split("\t")[0] for line in scores} == {"a", "b"}
    assert not any("None" in line for line in scores)


@pytest.mark.loopback
def test_ctrl_c_ends_with_130_and_says_how_to_go_on(files: Shell) -> None:
    with simulator("--behaviour", "tests.simulator.evaluators:answer", "--latency", "0.3") as address:
        files.write("en.txt", *(f"Text {i}." for i in range(40)))
        files.write("es.txt", *(f"Texto errado {i}." for i in range(40)))
        line = ["rate", "-s", "en.txt", "-t", "es.txt", "-l", "en-es", "--base-url", address, "-o", "o.jsonl"]
        with start(files.folder, *line, "--concurrency", "4") as process:
            until = time.monotonic() + 30
            while calls(files.folder) < 4:
                assert time.monotonic() < until
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (130, "")
        assert lines(err)[-1].startswith("mtagent: stopped. What was finished is stored")
        assert not (files.folder / "o.jsonl").exists()
        before = calls(files.folder)
        done = run(files.folder, *line, "--concurrency", "40")
        assert done.code == 0, done.err
    assert len(files.read("o.jsonl")) == 40
    assert before < calls(files.folder) <= 40 + 4


def calls(folder: Path) -> int:
    if not (folder / "store.db").exists():
        return 0
    with Store(folder / "store.db") as store:
        return sum(summary.usage.calls for summary in store.runs())


# --- the page


def test_the_transcript_of_the_page_is_true(tmp_path: Path) -> None:
    page = section("evaluators.md", "Rating translations")
    ((words, shown),) = re.findall(r"```console\n\$ mtagent (.*)\n((?:.*\n)*?)```", page)
    shutil.copytree(
        ROOT / "mtagent" / "sample", tmp_path / "mtagent" / "sample", ignore=shutil.ignore_patterns("*.py*")
    )
    done = run(tmp_path, *words.split())
    assert done.code == 0

    def stable(text: str) -> list[str]:
        said = re.sub(r"rate-\w+|rate-…", "rate-", re.sub(r"\d+\.\d$", "s", text, flags=re.MULTILINE))
        return [" ".join(line.split()) for line in said.splitlines() if "rated=" not in line]

    assert stable(done.err) == stable(shown)


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = section("evaluators.md", "Rating translations")
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, {})
        assert capsys.readouterr().out == "a -0.1\n"


def test_every_field_of_the_objects_is_documented(files: Shell) -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").split("## Ratings\n")[1]
    done = files(f"{FILES} -r es.txt -q")
    assert [name for name in objects(done.out)[0] if f"`{name}`" not in page] == []


# --- other evaluators


@pytest.mark.parametrize("name", ["o.jsonl", "o.tsv", "en-es.rules.seg.rating"])
def test_what_is_written_is_read_back_as_a_rating(name: str, files: Shell) -> None:
    before = files(f"{FILES} -q")
    assert files(f"{FILES} -q -o {name}").code == 0
    again = files(f"rate -s en.txt -t es.txt -l en-es -q --evaluator spans-file:path={name},system=es")
    assert again.code == 0, again.err
    own = [o["errors"] for o in objects(before.out) if o["system"] == "es"]
    read = [o["errors"] for o in objects(again.out)]
    place = ("start", "end", "severity")
    assert [[[e[p] for p in place] for e in of] for of in read] == [[[e[p] for p in place] for e in of] for of in own]
    assert sum(map(len, read)) == 1
