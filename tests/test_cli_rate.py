"""``mtagent rate`` as a user meets it: files, formats, stored runs, trajectories, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.config import DEFAULT_MODEL
from tests.codes import without_codes
from tests.commands import IMPROVED, SOURCES, TRANSLATIONS, Shell, run
from tests.pages import DOCS, linked_sample, section

OFFLINE = "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm); working offline with the rules evaluator."
FILES = "rate -s en.txt -t es.txt other.txt -l en-es"


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with a second system, the first of whose texts is equal."""
    shell.write("other.txt", TRANSLATIONS[0], "Hola  mundo.", "Paga ya.")
    return shell


# --- files


def test_ratings_go_to_standard_output_and_the_table_to_standard_error(files: Shell) -> None:
    done = files(FILES)
    assert done.code == 0
    assert [(o["id"], o["system"]) for o in done.objects] == [(i, system) for i in "123" for system in ("es", "other")]
    offline, header, first, _, signature, summary = done.err.splitlines()
    assert offline == OFFLINE
    columns = "system mean rated failed critical major minor neutral calls tokens cost seconds"
    assert header.split() == columns.split()
    assert first.split()[:8] == ["es", "-0.033", "3", "0", "0", "0", "1", "0"]
    assert signature.startswith("rules|")
    assert summary.startswith("mtagent: 6 rated, 0 failed; 0 calls, 0 + 0 tokens, $0.0000; run rate-")


@pytest.mark.parametrize(
    "words",
    [
        "-t es.txt other.txt -l en-es",
        "--translation es.txt other.txt -l en-es",
        "-l en-es -t es.txt other.txt",
        "-t es.txt -l en-es -t other.txt",
    ],
)
def test_systems_are_named_one_after_the_other_or_each_with_its_option(words: str, files: Shell) -> None:
    done = files(f"rate -s en.txt {words} -q")
    assert (done.code, done.err) == (0, "")
    assert [o["system"] for o in done.objects][:2] == ["es", "other"]


def test_a_system_is_called_like_its_file_or_as_it_is_told_and_only_the_chosen_ones_are_rated(files: Shell) -> None:
    (files.folder / "out").mkdir()
    files.write("out/gpt-4o.txt", *TRANSLATIONS)
    files.write("a=b.txt", *TRANSLATIONS)
    systems = "rate -s en.txt -t out/gpt-4o.txt best=es.txt a=b.txt -l en-es -q"
    assert [o["system"] for o in files(systems).objects][:3] == ["gpt-4o", "best", "a=b"]
    assert {o["system"] for o in files(f"{systems} --systems best").objects} == {"best"}


def test_translations_come_through_a_pipe_too(files: Shell) -> None:
    arguments = ["rate", "-s", "en.txt", "-t", "es.txt", "x=-", "-l", "en-es", "-q"]
    done = run(files.folder, *arguments, stdin="".join(f"{line}\n" for line in TRANSLATIONS))
    assert done.code == 0, done.err
    assert [o["system"] for o in done.objects] == ["es", "x"] * 3
    again = run(files.folder, *arguments, stdin="uno\n")
    assert again.code == 1
    assert "standard input has 1" in again.err


def test_a_table_with_foreign_columns_is_read_and_said(files: Shell) -> None:
    files.write("t.tsv", "src\tmt\tlp", f"{SOURCES[0]}\t{TRANSLATIONS[0]}\ten-es")
    done = files("rate -s t.tsv -o o.jsonl")
    assert "t.tsv: column 'src' is read as source" in done.err
    assert files.objects("o.jsonl")[0]["system"] == "t"
    assert "mtagent: written: o.jsonl" in done.err


def test_the_files_of_mt_metrics_eval_are_written_and_named(files: Shell) -> None:
    files.write("gpt-4.1.txt", *TRANSLATIONS)
    done = files("rate -s en.txt -t gpt-4.1.txt other.txt -l en-es -o rules-src.seg.score")
    assert done.code == 0
    assert "gpt-4.1 is gpt_4_1" in done.err
    assert "mtagent: written: rules-src.seg.score, rules-src.sys.score, rules-src.seg.rating" in done.err
    assert [line.split("\t")[0] for line in files.read("rules-src.seg.score")] == ["gpt_4_1"] * 3 + ["other"] * 3
    assert [len(files.read(f"rules-src.{end}")) for end in ("seg.rating", "sys.score")] == [6, 2]


@pytest.mark.parametrize("name", ["o.jsonl", "o.tsv", "en-es.rules.seg.rating"])
def test_what_is_written_is_read_back_as_a_rating(name: str, files: Shell) -> None:
    before = files(f"{FILES} -q")
    assert files(f"{FILES} -q -o {name}").code == 0
    again = files(f"rate -s en.txt -t es.txt -l en-es -q --evaluator spans-file:path={name},system=es")
    assert again.code == 0, again.err
    own, read = (
        [[(e["start"], e["end"], e["severity"]) for e in o["errors"]] for o in done.objects if o["system"] == "es"]
        for done in (before, again)
    )
    assert own == read
    assert sum(map(len, read)) == 1


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "give the texts with -s and -t, or a stored run with --run"),
        ("-s en.txt -l en-es", 2, "en.txt: give the translations with -t"),
        ("-s en.txt -t es.txt", 1, "no source_lang"),
        ("-s en.txt -t no.txt -l en-es", 1, "no.txt: no such file"),
        ("-s en.txt -t short.txt -l en-es", 1, "different numbers of lines"),
        ("-s en.txt -t es.txt es.txt -l en-es", 1, "two systems are called 'es': name them with -t NAME=FILE"),
        ("-s en.txt -t es.txt -l en-es -o es.txt", 1, "the results would overwrite the file of -t es"),
        ("-s en.txt -t x.seg.score -l en-es -o x.sys.score", 1, "x.seg.score: the results would overwrite"),
        ("-s en.txt -t es.txt -l en-es -o no/o.jsonl", 1, "the folder no does not exist"),
        ("-s en.txt -t es.txt -l en-es --format mtme", 1, "give -o NAME.seg.score"),
        ("-s en.txt -t a.b=es.txt a-b=es.txt -l en-es -o o.seg.score", 1, "'a.b' and 'a-b' would both be called 'a_b'"),
        ("-s en.txt -t tab.txt -l en-es -o o.tsv", 1, "the translation by tab has a tab"),
        ("-s en.txt -t es.txt -l en-es --format xml", 1, "--format: expected one of"),
        ("-s t.csv -t es.txt -l en-es", 1, "a csv file holds its translations and references itself: leave out -t"),
        ("-s none.csv -l en-es", 1, "nothing to rate: the input has no translation"),
        ("-s en.txt -t es.txt -l en-es --evaluator rulez", 1, "no evaluator 'rulez'; did you mean 'rules'?"),
        ("-s en.txt -t es.txt -l en-es --evaluator rules:skp=x", 1, "no option 'skp'"),
        ("-s en.txt -t es.txt -l en-es --evaluator rubric-mqm", 1, "rubric-mqm calls a model, but none is set"),
        ("-s en.txt -t es.txt -l en-es --systems x", 1, "has no system 'x'; there are: es"),
        ("-s en.txt -t es.txt -l en-es --gate none", 2, "No such option"),
        ("-s en.txt -t es.txt -l en-es --context -1", 1, "context: input should be greater"),
        ("--run nothing", 1, "there is no store yet"),
        ("--run r -s en.txt -l en-es", 2, "--run already defines the texts, languages and terms; leave out -s, -l"),
        ("--show 1", 1, "there is no store yet"),
        *(
            (f"--show 1 {option}", 2, "--show prints a stored rating; leave out --")
            for option in ("--evaluator rules", "-s en.txt", "--systems es", "-o x.jsonl")
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_stored(
    line: str, code: int, message: str, shell: Shell
) -> None:
    shell.write("short.txt", "uno")
    shell.write("tab.txt", "uno", "a\tb", "tres")
    shell.write("x.seg.score", *TRANSLATIONS)
    shell.write("t.csv", "source,translation", "one,uno")
    shell.write("none.csv", "source,translation", "one,")
    done = shell(f"rate {line}")
    assert (done.code, done.out) == (code, "")
    assert message in done.last
    assert shell.runs() == {}


def test_the_command_shows_what_applies_to_ratings_and_nothing_of_the_chain(shell: Shell) -> None:
    options = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shell("rate --help").out))
    chain_only = "--gate --preset --margin --judge --judge-model --stage-model --translator --strategy --forced "
    chain_only += "--on-ambiguous --skip-guards --stop-when-error-free --details"
    assert options & set(chain_only.split()) == set()
    assert {"--evaluator", "--model", "--concurrency", "--limit", "--dry-run", "--give-up-after", "-q"} <= options


# --- runs


def test_a_rating_run_is_listed_shown_and_exported(files: Shell) -> None:
    written = files(f"{FILES} --name mine -q").objects
    header, row = (line.split("\t") for line in files("runs list -f tsv").lines)
    shown = dict(zip(header, row, strict=True))
    assert (shown["name"], shown["kind"], shown["segments"], shown["changed"]) == ("mine", "rating", "3", "-")
    table = files("runs show mine").lines
    assert table[0].startswith("mine: finished, started ")
    assert table[1].startswith("system")
    assert "segment 2, system other, en-es" in files("runs show mine 2").out
    assert files("export mine").objects == written
    assert "x.seg.score, x.sys.score, x.seg.rating" in files("export mine -o x.seg.score").err
    assert files.read("x.seg.score")[0] == "es\t-0.1"
    assert (
        "run 'mine' holds ratings: --details, --like, -s and --only are for runs"
        in files("export mine --like es.txt").err
    )
    assert "holds ratings already: `mtagent export mine` writes them again" in files("rate --run mine").err


def test_the_stages_of_a_run_are_rated_and_those_that_are_not_there_are_named(files: Shell) -> None:
    files.postedit("--name improved -q")
    done = files("rate --run improved -o stages.jsonl")
    assert done.code == 0
    assert [line.split()[:2] for line in done.err.splitlines()[2:5]] == [
        ["given", "-0.033"], ["postedit", "0.000"], ["final", "0.000"]
    ]  # fmt: skip
    assert len(files.read("stages.jsonl")) == 9
    assert {o["system"] for o in files("rate --run improved --stages given,final -q").objects} == {"given", "final"}
    assert (
        "no system 'proofread'; there are: given, postedit, final"
        in files("rate --run improved --stages proofread").last
    )
    assert "there is no run 'improvd'; did you mean 'improved'?" in files("rate --run improvd").last
    assert "holds improved texts, not ratings: choose another name" in files(f"{FILES} --name improved").last


def test_a_run_in_which_an_edit_was_taken_back_is_another_input(files: Shell) -> None:
    files.postedit("--name mine -q")
    before = files("rate --run mine")
    assert files("revert mine 1 --edit 1").code == 0
    after = files("rate --run mine")
    assert after.last.split("run rate-")[1] != before.last.split("run rate-")[1]
    assert [o["system"] for o in after.objects[:4]] == ["given", "postedit", "final", "reviewed"]
    assert [o["translation"] for o in after.objects[:4]] == [TRANSLATIONS[0], IMPROVED[0], IMPROVED[0], TRANSLATIONS[0]]


def test_a_segment_that_was_never_translated_has_no_rating_and_says_so(files: Shell) -> None:
    files.write("t.csv", "source,translation,lp", "one,uno,en-es", "two,,en-es")
    assert files("postedit -s t.csv --name mine -q").code == 3
    done = files("rate --run mine")
    assert done.code == 3
    assert {o["error"] for o in done.objects if o["id"] == "2"} == {"there is no translation to rate"}


# --- trajectories


def test_how_a_rating_came_about_is_shown_from_the_newest_run(files: Shell) -> None:
    files(f"{FILES} -q")
    shown = files("rate --show 2").out
    assert shown.count("segment 2, system ") == 2
    assert "error        minor fluency/punctuation '  ' (4–6) → ' ': more than one space" in shown


@pytest.mark.loopback
def test_a_trajectory_shows_who_was_asked_what_and_what_came_back(server: str, files: Shell) -> None:
    files.write("es.txt", "El gato errado aquí.", *TRANSLATIONS[1:])
    assert files(f"{FILES} --base-url {server} --evaluator rubric-mqm -o o.jsonl --name one").code == 0
    shown, full = (files(f"rate --show es/1 {more}").out for more in ("", "-v"))
    assert f"\n1. rate  ({DEFAULT_MODEL}, " in shown
    assert " tokens, price unknown, " in shown
    assert "<translation>El gato errado aquí.</translation>" in without_codes(shown)
    assert 'reply        {"errors": [{"span": "errado"' in shown
    assert "error        major mistranslation 'errado' (8–14) → 'acertado'" in shown
    assert len(full) > 2 * len(shown)


@pytest.mark.loopback
def test_ratings_inside_a_chain_run_have_trajectories_too(server: str, files: Shell) -> None:
    files.write("es.txt", "El gato errado aquí.", *TRANSLATIONS[1:])
    assert files.postedit(f"--base-url {server} --stages pe --gate rate --name c -o o.txt").code == 0
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
    line = f"{FILES} --base-url {panel} --evaluator {evaluator} -o o.jsonl --name many"
    done = files(line)
    assert done.code == 0, done.err
    ratings = files.objects("o.jsonl")
    assert [o["usage"]["calls"] > 1 for o in ratings] == [True, False, True, True, True, True]
    assert all(o["score"] is not None and o["signature"].startswith(f"{evaluator}|") for o in ratings)
    assert files.runs()["many"].usage.calls == sum(o["usage"]["calls"] for o in ratings)
    shown = files("rate --show es/2").out
    assert shown.count("\nreply ") == ratings[2]["usage"]["calls"]
    assert f"rating       {evaluator}: " in shown
    assert files(line).code == 0
    assert files.objects("o.jsonl") == ratings


@pytest.mark.loopback
def test_a_failed_rating_is_a_line_with_an_error_and_the_same_command_retries_only_it(files: Shell) -> None:
    with simulator("--script", "422", "--behaviour", "tests.simulator.evaluators:answer") as address:
        line = f"{FILES} --base-url {address} -o o.jsonl --concurrency 1"
        done = files(line)
        assert done.code == 3
        errors = [o["error"] for o in files.objects("o.jsonl")]
        assert [error is not None for error in errors] == [True, True, False, False, False, False]  # equal texts
        assert errors[0].startswith("BadRequest: ")
        assert "segment 1: es failed: BadRequest" in done.err
        assert "run the same command again to retry them" in done.err
        assert files(line).code == 0
        assert [o["error"] for o in files.objects("o.jsonl")] == [None] * 6


@pytest.mark.loopback
def test_a_run_in_which_every_rating_failed_is_finished(files: Shell, server: str) -> None:
    done = files(f"{FILES} --base-url {server} --evaluator gemba-mqm --name r -o o.jsonl")
    assert (done.code, "no segment succeeded" in done.last) == (1, True)
    run = files.runs()["r"]
    assert (run.state, run.counts.failed, run.counts.done) == ("finished", 3, 0)


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("serving", "more", "message"),
    [
        (["--api-key", "right"], "", "HTTP 401"),
        (["--fault-rate", "1", "--faults", "404"], "--model gone", "gone may be gone, or not open to this key"),
        (
            ["--fault-rate", "1", "--faults", "422"],
            "--give-up-after 2 --concurrency 1",
            "stopped: the first 2 segments all failed",
        ),
    ],
)
def test_a_wrong_key_an_unknown_model_and_nothing_but_refusals_stop_the_run(
    serving: list[str], more: str, message: str, files: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with simulator(*serving) as address:
        done = files(f"{FILES} --base-url {address} -o o.jsonl {more}")
    assert done.code == 1
    assert message in done.last
    assert "sk-wrong" not in done.err
    assert not (files.folder / "o.jsonl").exists()


def test_a_dry_run_shows_the_requests_of_any_evaluator_and_touches_no_store(files: Shell) -> None:
    done = files(f"{FILES} --dry-run --base-url http://127.0.0.1:9/v1 --evaluator rubric-mqm --limit 2")
    assert done.code == 0
    assert [done.out.count(f"--- segment {number}, rate") for number in (1, 2, 3)] == [1, 2, 0]
    assert TRANSLATIONS[0] in done.out
    assert "3 requests, about" in done.err
    assert "Nothing was sent." in done.err
    assert not (files.folder / "store.db").exists()
    own_model = "--evaluator gemba-da:model=other --deadline 1"
    done = files(f"{FILES} --dry-run --base-url http://127.0.0.1:9/v1 --model m --limit 1 {own_model}")
    assert "1 requests" in done.err  # noted, not sent
    assert "0 requests" in files(f"{FILES} --dry-run").err


def test_the_settings_in_the_file_that_rate_goes_by_are_the_general_ones(files: Shell) -> None:
    files.write("m.toml", "model = 'general'", "base_url = 'http://127.0.0.1:9/v1'", "gate = 'none'",
                "[judge]", "model = 'gate'", "[postedit]", "model = 'editor'")  # fmt: skip
    files(f"{FILES} --config m.toml --deadline 1 --name mine -q")
    settings = files.runs()["mine"].settings
    assert settings["model"] == "general"
    assert {"gate", "judge", "postedit", "stages"} & settings.keys() == set()


# --- the pages


def test_the_transcript_of_the_page_is_true(tmp_path: Path) -> None:
    page = section("how-to/measure.md", "Rate translations")
    ((words, shown),) = re.findall(r"```console\n\$ mtagent (.*)\n((?:.*\n)*?)```", page)
    linked_sample(tmp_path)
    done = run(tmp_path, *words.split())
    assert done.code == 0

    def stable(text: str) -> list[str]:
        text = re.sub(r"rate-\w+|rate-…", "rate-", re.sub(r"\d+\.\d$", "s", text, flags=re.MULTILINE))
        return [" ".join(line.split()) for line in text.splitlines() if "rated=" not in line]

    assert stable(done.err) == stable(shown)


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = section("how-to/measure.md", "Rate translations")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for code in blocks:
        exec(code, {})
        assert capsys.readouterr().out == "a -0.1\n"


def test_every_field_of_the_objects_is_documented(files: Shell) -> None:
    page = (DOCS / "reference/formats.md").read_text(encoding="utf-8").split("## Ratings\n")[1]
    assert [name for name in files(f"{FILES} -r es.txt -q").objects[0] if f"`{name}`" not in page] == []


# --- the translations of several systems in one file


def by_system(shell: Shell, *texts: dict[str, object]) -> None:
    """A file as MENT's: one object per segment, with the translations of all systems."""
    lines = []
    for number, (source, translations) in enumerate(zip(SOURCES, texts, strict=False)):
        values = {"lp": "en-es", "seg": number, "src": source, "ref": "Hola.", "hyp": translations, "rate": {"a": 4}}
        lines.append(json.dumps(values))
    shell.write("ment.jsonl", *lines)


def test_a_published_file_with_all_systems_is_read_as_it_is(shell: Shell) -> None:
    by_system(shell, *({"a": text, "b": text.upper()} for text in TRANSLATIONS))
    done = shell("rate -s ment.jsonl --evaluator rules -o r.jsonl")
    assert done.code == 0, done.err
    rated = [(one["id"], one["system"], one["translation"], one["reference"]) for one in shell.objects("r.jsonl")]
    expected = []
    for number, text in enumerate(TRANSLATIONS):
        expected += [(str(number), "a", text, "Hola."), (str(number), "b", text.upper(), "Hola.")]
    assert rated == expected
    for field, read in (("src", "source"), ("ref", "reference"), ("seg", "id")):
        assert f"ment.jsonl: field '{field}' is read as {read}" in done.err
    assert "the translations of 2 systems are read from one field" in done.err
    assert shell("rate -s ment.jsonl --evaluator rules --systems b -o b.jsonl").code == 0
    assert [one["system"] for one in shell.objects("b.jsonl")] == ["b"] * 3
    assert "a  " in shell("score -s ment.jsonl -m chrf").out


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"a": "x", "c": "y"}, "ment.jsonl:2: expected a text of one of a, b, but 'c' has 'y'"),
        ({"a": "x", "b": 1}, "ment.jsonl:2: expected a text of one of a, b, but 'b' has 1"),
    ],
)
def test_a_wrong_system_or_text_is_named_with_its_line(shell: Shell, second: dict[str, object], message: str) -> None:
    by_system(shell, {"a": "x", "b": "y"}, second)
    done = shell("rate -s ment.jsonl --evaluator rules -o r.jsonl")
    assert (done.code, message in done.err) == (1, True), done.err


def test_a_system_without_a_translation_of_a_segment_is_missing_there(shell: Shell) -> None:
    by_system(shell, {"a": "x", "b": "y"}, {"a": "x"})
    done = shell("rate -s ment.jsonl --evaluator rules -o r.jsonl")
    assert done.code == 3
    assert [(one["system"], one.get("error")) for one in shell.objects("r.jsonl")][3] == (
        "b", "there is no translation to rate"
    )  # fmt: skip
