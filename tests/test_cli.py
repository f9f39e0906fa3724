"""The command line as a user meets it: data on standard output, all else on standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bench.harness import simulator
from mtagent.cli import COMMANDS, cli
from mtagent.cli.options import SETTING_OPTIONS
from mtagent.config import Config, load
from mtagent.errors import ConfigError, InputError
from mtagent.jobs.inputs import with_context
from mtagent.records import Segment
from mtagent.store import Store
from tests.commands import IMPROVED, SOURCES, TRANSLATIONS, Shell, python, run
from tests.scripted_server import scripted_server
from tests.simulator import chain as simulated

PATHS = [[], *([name] for name in COMMANDS), ["runs", "list"], ["runs", "show"], ["runs", "export"]]
OFFLINE = "no model is set (OPENAI_API_KEY, --base-url, --llm): offline, with the rules evaluator and the guards."


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        yield base_url


@pytest.fixture(scope="module")
def log_and_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    with simulator("--api-key", "right", "--log", str(log)) as base_url:
        yield log, base_url


# --- help


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_explains_its_options(path: list[str], shell: Shell) -> None:
    done = shell(" ".join([*path, "--help"]))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage:")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_the_help_of_every_command_shows_examples_that_exist(name: str, shell: Shell) -> None:
    shown = [line.strip() for line in lines(shell(f"{name} --help").out) if line.strip().startswith("mtagent ")]
    assert shown
    assert {word for line in shown for word in line.split()[1:2]} <= {name, "runs"}


def test_help_loads_neither_the_model_client_nor_the_metrics() -> None:
    code = "import sys; from mtagent.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('openai', 'sacrebleu', 'aiohttp') if m in sys.modules])"
    for command in ("translate", "runs"):
        done = python("-c", code, command, "--help")
        assert lines(done.out)[-1] == "[]", command


def test_every_setting_is_an_option() -> None:
    options = {name for option in SETTING_OPTIONS for name in option_names(option)}
    assert set(Config.model_fields) - {"judge", "translate", "postedit", "proofread"} <= options
    assert "stage_model" in options


def option_names(option: object) -> list[str]:
    command = click.Command("c")
    option(command)  # type: ignore[operator]
    return [str(parameter.name) for parameter in command.params]


def test_the_version_and_an_unknown_command(shell: Shell) -> None:
    assert shell("--version").out.startswith("mtagent, version ")
    done = shell("posedit")
    assert done.code == 2
    assert "posedit" in done.err


# --- standard output, standard error, exit codes


def test_texts_alone_go_to_standard_output_and_offline_is_said_in_one_line(shell: Shell) -> None:
    done = shell.postedit()
    assert done.code == 0
    assert lines(done.out) == IMPROVED
    assert lines(done.err)[0] == f"mtagent: {OFFLINE}"
    assert "3 segments: 1 changed, 2 unchanged, 0 rejected, 0 failed; 0 calls" in lines(done.err)[-1]
    assert len(lines(done.err)) == 2


def test_quiet_says_nothing_and_verbose_says_a_line_per_step(shell: Shell) -> None:
    assert shell.postedit("-q --run quiet").err == ""
    steps = [line for line in lines(shell.postedit("-v --run verbose").err) if ": postedit: " in line]
    assert [step.split(": ")[0] for step in steps] == ["1", "2", "3"]


def test_a_process_of_its_own_gives_the_same_and_reads_standard_input(shell: Shell) -> None:
    arguments = ["postedit", "-s", "-", "--format", "lines", "-t", "es.txt", "-l", "en-es"]
    done = run(shell.folder, *arguments, stdin="\n".join(SOURCES))
    assert (done.code, lines(done.out)) == (0, IMPROVED)
    assert OFFLINE in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("postedit -t es.txt -l en-es", 2, "'--source'"),
        ("postedit -s en.txt -l en-es", 2, "give the translations with -t"),
        ("postedit -s en.txt -t es.txt -l en-es --gate maybe", 2, "'maybe' is not one of"),
        ("postedit -s en.txt -t es.txt -l en-es --margin much", 2, "'much' is not a valid float"),
        ("postedit -s en.txt -t es.txt", 1, "en.txt:1: no source_lang; add it to the file or give --source-lang"),
        ("postedit -s en.txt -t es.txt -l klingon", 1, "'klingon' is not a language pair"),
        ("postedit -s en.txt -t es.txt -l en-es --concurrency 0", 1, "concurrency: input should be greater"),
        ("postedit -s en.txt -t es.txt -l en-es --stages pq", 1, "no stage 'pq'"),
        ("postedit -s en.txt -t es.txt -l en-es --stages pp", 1, "the proofread stage asks a model"),
        ("postedit -s en.txt -t es.txt -l en-es --evaluator mine", 1, "no evaluator 'mine'; there are: "),
        ("postedit -s en.txt -t es.txt -l en-es --evaluator rubric-mqm", 1, "rubric-mqm asks a model"),
        ("postedit -s en.txt -t es.txt -l en-es --skip-guards mine", 1, "no guard 'mine'; there are: placeholders"),
        ("postedit -s en.txt -t es.txt -l en-es --stage-model reviewer=x", 1, "write for example postedit=gpt-6.1-sol"),
        ("postedit -s en.txt -t es.txt -l en-es --llm remote", 1, "no llm 'remote'"),
        ("postedit -s en.txt -t es.txt -l en-es --base-url localhost", 1, "is not an address"),
        ("postedit -s en.txt -t es.txt -l en-es --model m", 1, "no API key: set the environment variable"),
        ("postedit -s no.txt -t es.txt -l en-es", 1, "no.txt: no such file"),
        ("postedit -s en.odt -t es.txt -l en-es", 1, "en.odt: is a document with layout, which mtagent does not read"),
        ("postedit -s en.txt -t es.txt -l en-es -o no/out.txt", 1, "no/out.txt: there is no folder no"),
        ("postedit -s en.txt -t es.txt -l en-es -o .", 1, "is a folder"),
        ("postedit -s en.txt -t es.txt -l en-es --details -", 1, "cannot both go to standard output"),
        ("postedit -s - -t - --format lines -l en-es", 1, "only one of the files can be standard input"),
        ("postedit -s en.txt -t es.txt -l en-es --store en.txt", 1, "is not a SQLite database"),
        ("postedit -s en.txt -t es.txt -l en-es --config no.toml", 1, "no.toml"),
        ("translate -s en.txt -l en-es", 1, "there is no translation in it, and nothing to translate with"),
        ("runs show nothing", 1, "there is no store yet"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_stored(
    line: str, code: int, message: str, shell: Shell
) -> None:
    done = shell(line)
    assert done.code == code
    assert message in lines(done.err)[-1]
    assert done.out == ""
    with Store(shell.folder / "store.db") as store:
        assert store.runs() == []


def test_a_wrong_setting_can_be_corrected_under_the_same_run(shell: Shell) -> None:
    assert shell.postedit("--run mine --evaluator rulez").code == 1
    assert shell.postedit("--run mine --evaluator rules").code == 0


def test_a_pipe_that_nobody_reads_ends_the_command_without_a_traceback(shell: Shell) -> None:
    shell.write("long.en.txt", *SOURCES, "word " * 50_000)
    shell.write("long.es.txt", *TRANSLATIONS, "frase " * 50_000)
    done = python(
        "-m",
        "mtagent",
        *("postedit", "-s", "long.en.txt", "-t", "long.es.txt", "-l", "en-es", "-q"),
        folder=shell.folder,
        pipe="head -1",
    )
    assert lines(done.out) == IMPROVED[:1]
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err


# --- languages, configuration


@pytest.mark.parametrize("languages", ["-l en-sr_Latn_RS", "--source-lang en --target-lang sr-Latn-RS"])
def test_languages_are_given_as_a_pair_or_one_by_one(languages: str, shell: Shell) -> None:
    assert shell(f"translate -s en.txt {languages} --translator command:cat --stages t -o o.jsonl").code == 0
    assert {json.loads(line)["target_lang"] for line in shell.read("o.jsonl")} == {"sr-Latn-RS"}


def test_an_unknown_setting_in_the_file_is_named_with_the_file_and_what_was_meant(shell: Shell) -> None:
    shell.write("m.toml", "concurency = 3")
    done = shell.postedit("--config m.toml")
    assert lines(done.err) == ["mtagent: m.toml: unknown setting 'concurency'; did you mean 'concurrency'?"]
    shell.write("m.toml", "[judge]", "modle = 'x'")
    assert "m.toml: unknown setting 'judge.modle'; did you mean 'model'?" in shell.postedit("--config m.toml").err


def test_the_file_is_not_blamed_for_what_the_command_line_says(shell: Shell) -> None:
    shell.write("m.toml", "concurrency = 3")
    assert "m.toml" not in shell.postedit("--config m.toml --concurrency 0").err
    shell.write("m.toml", "concurrency = 0")
    assert "m.toml: concurrency: " in shell.postedit("--config m.toml").err


def test_the_command_line_goes_before_the_file_before_the_preset_before_the_default(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text("temperature = 0.5\nmax_tokens = 9\nseed = 1\npreset = 'paper'\n", encoding="utf-8")
    config = load(file, {"max_tokens": 7})
    assert (config.max_tokens, config.temperature, config.forced, config.margin) == (7, 0.5, True, 0.0)


def test_an_option_for_one_stage_leaves_the_rest_of_its_table_in_the_file(shell: Shell) -> None:
    shell.write("m.toml", "[postedit]", "temperature = 0.5", "model = 'a'", "[judge]", "model = 'b'", "seed = 1")
    done = shell("config --config m.toml --stage-model postedit=x --judge-model y")
    found = tomllib.loads(done.out)
    assert found["postedit"] == {"temperature": 0.5, "model": "x"}
    assert found["judge"] == {"model": "y", "seed": 1}


@pytest.mark.parametrize("stages", [["proofread", "postedit"], ["postedit", "postedit"], "prpe", [1]])
def test_stages_out_of_order_are_refused_in_a_file_too(stages: object, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(f"stages = {json.dumps(stages)}", encoding="utf-8")
    with pytest.raises(ConfigError, match="stage"):
        load(tmp_path / "m.toml")


def test_a_preset_that_is_no_text_is_an_error_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("preset = ['paper']", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"m\.toml: preset: "):
        load(tmp_path / "m.toml")


CONFIGURATIONS = [
    "",
    "--preset paper --base-url http://localhost:1/v1 --stage-model postedit=x --judge-model y",
    "--glossary g.csv --keep k.txt --prompts p --skip-guards end --skip-guards length --limit 3 --run r --store s.db",
    "--stages pe --context 2 --temperature 1e-9 -l en-sr_Latn_RS --not-forced --go-on --seed 3 --llm local",
]


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://host:port/v1", "http://host:99999", "http://a b", "http://a\x07"]
)
@pytest.mark.parametrize(
    "line",
    [
        "translate -s en.txt -l en-es -o o.txt",
        "postedit -s en.txt -t es.txt -l en-es -o o.txt",
        "postedit -s en.txt -t es.txt -l en-es --dry-run",
        "rate -s en.txt -t es.txt -l en-es -o o.jsonl",
        "estimate -s en.txt -t es.txt -l en-es",
        "himate calibrate -s en.txt -t es.txt -l en-es -o o.json",
    ],
)
def test_a_malformed_address_is_one_line_that_names_where_it_was_set(
    line: str, address: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("m.toml", "model = 'm'", f"base_url = {json.dumps(address)}")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for more, where in (
        (["--base-url", address], "--base-url:"),
        (["--config", "m.toml"], "m.toml: base_url:"),
        ([], "the environment variable OPENAI_BASE_URL"),
    ):
        if not more:
            monkeypatch.setenv("OPENAI_BASE_URL", address)
        done = shell(line, *more)
        assert done.code == (0 if "--dry-run" in line and not more else 1)
        if done.code:
            assert done.err.startswith(f"mtagent: {where} ")
            assert done.err.endswith("write for example http://localhost:8000/v1\n")
            assert done.err.count("\n") == 1


@pytest.mark.parametrize("address", ["", "  "])
def test_an_empty_base_url_is_an_error_and_not_the_default_server(address: str, shell: Shell, tmp_path: Path) -> None:
    done = shell.postedit("--base-url", address)
    assert done.code == 1
    assert "mtagent: --base-url: is empty: give the address of a server, or leave it out for OpenAI's" in done.err
    (tmp_path / "m.toml").write_text('[judge]\nbase_url = ""\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"m\.toml: judge\.base_url: is empty"):
        load(tmp_path / "m.toml")


@pytest.mark.parametrize("line", CONFIGURATIONS)
def test_the_printed_configuration_given_back_is_the_same(line: str, shell: Shell) -> None:
    (shell.folder / "p").mkdir()
    shell.write("p/proofread.examples.toml", "")
    printed = shell(f"config {line}", "--domain", 'a "quoted" \\ \x7f dömain').out
    (shell.folder / "elsewhere").mkdir()
    shell.write("elsewhere/m.toml", printed)
    assert shell("config --config elsewhere/m.toml").out == printed
    assert tomllib.loads(printed)["domain"] == 'a "quoted" \\ \x7f dömain'


@pytest.mark.parametrize(
    "line", ["--base-url https://me:sk-secret@host/v1", "--api-key-env sk-secret", "--config m.toml"]
)
def test_a_key_in_the_wrong_place_is_refused_and_never_shown(
    line: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    shell.write("m.toml", "[judge]", "base_url = 'https://me:sk-secret@host'")
    done = shell(f"config {line}")
    assert done.code == 1
    assert "environment" in done.err
    assert "secret" not in done.out + done.err + shell("config").out


# --- files


def test_tables_keep_their_columns_and_foreign_names_are_reported_once(shell: Shell) -> None:
    shell.write("t.csv", "nr,src,mt,src_lang,tgt_lang", f"7,{SOURCES[0]},{TRANSLATIONS[0]},en,es")
    done = shell("postedit -s t.csv -o better.csv")
    assert shell.read("better.csv") == ["nr,src,mt,src_lang,tgt_lang", f"7,{SOURCES[0]},{IMPROVED[0]},en,es"]
    assert done.err.count("t.csv: column 'src' is read as source") == 1
    assert "column" not in shell("postedit -s t.csv -o better.csv -q").err


def test_jsonl_holds_segments_of_several_languages(shell: Shell) -> None:
    rows = [
        {"id": "a", "source": SOURCES[0], "translation": TRANSLATIONS[0], "source_lang": "en", "target_lang": "es"},
        {"id": "b", "source": SOURCES[0], "translation": "Die Katze saß hier", "lp": "en-de"},
    ]
    shell.write("s.jsonl", *(json.dumps(row) for row in rows))
    assert shell("postedit -s s.jsonl --format jsonl-lenient -o o.jsonl").code == 0
    assert [json.loads(line)["translation"] for line in shell.read("o.jsonl")] == [IMPROVED[0], "Die Katze saß hier."]


@pytest.mark.parametrize("format_name", ["jsonl", "csv", "tsv", "txt"])
def test_the_name_of_the_output_tells_its_format(format_name: str, shell: Shell) -> None:
    done = run_stdin(
        "postedit -s - --format csv -l en-es -o", f"out.{format_name}", "source,translation\nHi you all.,Hola\n"
    )
    assert done.exit_code == 0
    written = "\n".join(shell.read(f"out.{format_name}"))
    assert "Hola." in written
    assert ("Hi you all." in written) == (format_name != "txt")


def run_stdin(line: str, output: str, stdin: str) -> Result:
    return CliRunner().invoke(cli, [*line.split(), output], input=stdin, catch_exceptions=False)


def test_a_defect_in_standard_input_is_named_by_its_line(shell: Shell) -> None:
    with pytest.raises(InputError, match=r"^standard input:3: no source_lang"):
        run_stdin("postedit -s - --format csv -o", "out.csv", "source,translation,lp\na,b,en-es\nHi,Hola,\n")


def test_a_named_format_is_the_output_s_too_where_the_name_tells_a_kin(shell: Shell) -> None:
    shell.write("t.tsv", "source\ttranslation\tlp", '"Hi\tyou all."\tHola\ten-es')
    assert shell("postedit -s t.tsv --format tsv-quoted -o o.tsv").code == 0
    assert shell.read("o.tsv")[1] == '"Hi\tyou all."\tHola.\ten-es'


def test_the_details_are_one_object_per_segment(shell: Shell) -> None:
    assert shell.postedit("-o o.txt --details d.jsonl").code == 0
    first = json.loads(shell.read("d.jsonl")[0])
    assert (first["given"], first["text"], first["changed"]) == (TRANSLATIONS[0], IMPROVED[0], True)
    assert len(shell.read("d.jsonl")) == 3


def test_a_limit_takes_the_first_segments_and_a_later_run_goes_on_from_them(shell: Shell) -> None:
    assert lines(shell.postedit("--limit 1").out) == IMPROVED[:1]
    done = shell.postedit()
    assert lines(done.out) == IMPROVED
    assert "resuming run" in done.err
    assert "1 of 3 segments are done" in done.err


def test_a_segment_without_translation_fails_alone_where_nothing_translates(shell: Shell) -> None:
    shell.write("t.csv", "source,translation,lp", f"{SOURCES[0]},{TRANSLATIONS[0]},en-es", "Hi,,en-es")
    done = shell("postedit -s t.csv")
    assert done.code == 3
    assert "2: postedit failed: there is no translation" in done.err
    assert lines(done.out)[1:] == [f"{SOURCES[0]},{IMPROVED[0]},en-es", "Hi,,en-es"]


# --- runs


def test_the_same_command_again_does_nothing_more(shell: Shell) -> None:
    shell.postedit("-o o.txt")
    (shell.folder / "o.txt").unlink()
    done = shell.postedit("-o o.txt -v")
    assert shell.read("o.txt") == IMPROVED
    assert "3 of 3 segments are done" in done.err
    assert ": postedit: " not in done.err


def test_another_input_or_setting_under_the_same_run_is_refused(shell: Shell) -> None:
    shell.postedit("--run mine")
    shell.write("es.txt", *reversed(TRANSLATIONS))
    done = shell.postedit("--run mine --gate none")
    assert done.code == 1
    assert "run 'mine': was started with other settings or inputs: gate was 'guards', is now 'none'" in done.err
    assert "translation was" in done.err


def test_an_edited_prompt_is_another_input(shell: Shell) -> None:
    (shell.folder / "p").mkdir()
    shell.write("p/rubric-mqm.examples.toml", "")
    shell.postedit("--prompts p --run mine")
    shell.write("p/proofread.toml", "")
    assert "prompts/proofread.toml was not set" in shell.postedit("--prompts p --run mine").err


def test_runs_are_listed_and_shown(shell: Shell) -> None:
    shell.postedit("--run mine")
    header, row = (line.split("\t") for line in lines(shell("runs list").out))
    assert dict(zip(header, row, strict=True))["changed"] == "1"
    assert row[:2] == ["mine", "finished"]
    shown = shell("runs show mine").out
    assert lines(shown)[0].startswith("mine: finished, started ")
    assert "postedit     1          2" in shown
    assert '"evaluator": "rules"' in shown
    assert "edit 1: 'aquí' -> 'aquí.': applied" in shell("runs show mine 1").out


def test_a_run_is_exported_to_a_new_file_to_standard_output_and_into_the_input_s_columns(shell: Shell) -> None:
    shell.write("t.csv", "nr,src,mt,lp", f"7,{SOURCES[0]},{TRANSLATIONS[0]},en-es")
    shell("postedit -s t.csv -q --run mine")
    assert shell("runs export mine").out == f"{IMPROVED[0]}\n"
    assert shell("runs export mine -o new.jsonl --details d.jsonl").code == 0
    assert json.loads(shell.read("new.jsonl")[0])["translation"] == IMPROVED[0]
    assert json.loads(shell.read("d.jsonl")[0])["text"] == IMPROVED[0]
    assert lines(shell("runs export mine --like t.csv").out) == ["nr,src,mt,lp", f"7,{SOURCES[0]},{IMPROVED[0]},en-es"]


def test_one_edit_or_a_whole_segment_is_taken_back_and_exported(shell: Shell) -> None:
    shell.postedit("--run mine")
    assert shell("revert mine 1 --edit 1").out == f"{TRANSLATIONS[0]}\n"
    assert lines(shell("runs export mine").out) == TRANSLATIONS
    assert "reverted" in shell("runs show mine 1").out
    done = shell("revert mine 1 --edit 1")
    assert done.code == 1
    assert "cannot be reverted: it is reverted" in done.err
    shell.postedit("--run other --skip-guards end")
    assert shell("revert other 1").out == f"{TRANSLATIONS[0]}\n"
    assert shell("revert other 9").code == 1


def test_a_dry_run_prints_the_prompts_and_touches_no_store(shell: Shell) -> None:
    done = shell.postedit("--dry-run --stages pe --base-url http://127.0.0.1:9/v1 --evaluator rubric-mqm --limit 2")
    assert done.code == 0
    assert done.out.count("--- segment") == 2
    assert TRANSLATIONS[0] in done.out
    assert "2 requests, about" in done.err
    assert "Nothing was sent." in done.err
    assert not (shell.folder / "store.db").exists()


def test_a_dry_run_shows_the_terms_the_context_and_the_languages(shell: Shell) -> None:
    shell.write("terms.csv", "source,target", "world,orbe")
    shell.write("keep.txt", "Pay")
    line = "--dry-run --base-url http://127.0.0.1:9/v1 --glossary terms.csv --keep keep.txt --context 2"
    first, second, third = shell.postedit(f"{line} --stages pe").out.split("--- segment")[1:]
    assert "orbe" not in first
    assert "orbe" in second
    assert SOURCES[0] in third
    assert SOURCES[1] in third
    pages = shell(f"translate -s en.txt -l en-es --stages tpp --limit 1 {line}").out.split("--- segment")[1:]
    assert [page.split("\n")[0] for page in pages] == [
        " 1, translate, translate",
        " 1, postedit, rate",
        " 1, proofread, proofread",
    ]
    assert shell(f"translate -s en.txt -l en-es --stages t --translator command:cat {line}").out == ""


def test_a_glossary_guards_the_texts_and_is_an_input_of_the_run(shell: Shell) -> None:
    shell.write("terms.csv", "source,target", "cat,gato")
    assert lines(shell.postedit("--glossary terms.csv --context 1 --run mine").out) == IMPROVED
    shell.write("terms.csv", "source,target", "cat,minino")
    assert "glossary was" in shell.postedit("--glossary terms.csv --context 1 --run mine").err


def test_context_stays_within_a_document() -> None:
    def one(i: int, document: str, context: str | None = None) -> Segment:
        text = f"s{i}"
        return Segment(id=text, source=text, source_lang="en", target_lang="es", document=document, context=context)

    segments = [one(1, "a"), one(2, "a"), one(3, "a"), one(4, "b"), one(5, "b", "own")]
    assert [segment.context for segment in with_context(segments, 1)] == [None, "s1", "s2", None, "own"]


def test_an_empty_file_and_a_table_with_a_second_file_are_refused(shell: Shell) -> None:
    shell.write("empty.txt")
    assert "there is no segment in it" in shell("translate -s empty.txt -l en-es --translator command:cat").err
    shell.write("t.csv", "source,translation", "a,b")
    assert "a csv file holds its translations" in shell("postedit -s t.csv -t es.txt -l en-es").err


def test_the_demo_needs_no_model(shell: Shell) -> None:
    done = shell("demo")
    assert done.code == 0
    assert "No model was called" in done.out


# --- with a server


@pytest.mark.loopback
def test_the_whole_chain_runs_against_a_server(server: str, shell: Shell) -> None:
    done = shell(
        f"translate -s en.txt -l en-es --base-url {server} --timeout 20 --deadline 60 --requests-per-minute 9999"
    )
    assert done.code == 0
    assert lines(done.out) == [simulated.translated(source).replace("errado", "correcto") for source in SOURCES]
    assert OFFLINE not in done.err


@pytest.mark.loopback
def test_a_wrong_key_stops_the_run_in_one_line_and_the_right_one_resumes_it(
    log_and_server: tuple[Path, str], shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    line = f"--stages pr --gate guards --base-url {log_and_server[1]} -o o.txt --run mine"
    done = shell.postedit(line)
    assert done.code == 1
    assert len(lines(done.err)) == 1
    assert "HTTP 401" in done.err
    assert "check the key in OPENAI_API_KEY" in done.err
    assert "sk-wrong" not in done.err
    assert not (shell.folder / "o.txt").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "right")
    done = shell.postedit(line)
    assert done.code == 3  # this server's fixed reply is no revision of the texts
    assert "HTTP 401" not in done.err
    assert (shell.folder / "o.txt").exists()


@pytest.mark.loopback
def test_an_address_where_nobody_answers_fails_the_segments_soon_and_keeps_their_text(shell: Shell) -> None:
    done = shell.postedit("--base-url http://127.0.0.1:9/v1 --limit 2")
    assert done.code == 3
    assert lines(done.out) == TRANSLATIONS[:2]
    assert "nobody answers there: check the base URL" in done.err
    assert "the same command again retries only them" in done.err


@pytest.mark.loopback
def test_a_run_whose_first_segments_all_fail_stops_instead_of_asking_for_the_rest(shell: Shell, tmp_path: Path) -> None:
    shell.write("long.en.txt", *SOURCES * 100)
    shell.write("long.es.txt", *TRANSLATIONS * 100)
    log = tmp_path / "log.jsonl"
    faults = ["--fault-rate", "1", "--faults", "422", "--log", str(log)]
    with simulator(*faults) as server:
        line = (
            f"postedit -s long.en.txt -t long.es.txt -l en-es --base-url {server} -o o.txt --concurrency 4 --run mine"
        )
        done = shell(line)
        assert done.code == 1
        assert "stopped: the first 20 segments all failed, the last one with BadRequest: " in lines(done.err)[-1]
        assert "change the settings or the request" in lines(done.err)[-1]
        assert "the same command again goes on from there" in lines(done.err)[-1]
        assert len(lines(log.read_text(encoding="utf-8"))) <= 24
        assert not (shell.folder / "o.txt").exists()
        assert shell(f"{line} --give-up-after 0").code == 3
    assert shell.read("o.txt") == TRANSLATIONS * 100


@pytest.mark.loopback
def test_a_model_that_is_gone_stops_the_run_at_its_first_refusal(shell: Shell, tmp_path: Path) -> None:
    shell.write("long.en.txt", *SOURCES * 100)
    shell.write("long.es.txt", *TRANSLATIONS * 100)
    log = tmp_path / "log.jsonl"
    with simulator("--fault-rate", "1", "--faults", "404", "--log", str(log)) as server:
        line = "postedit -s long.en.txt -t long.es.txt -l en-es -o o.txt --concurrency 4 --run mine --give-up-after 0"
        done = shell(f"{line} --base-url {server} --model old-model")
    assert done.code == 1
    assert lines(done.err)[-1] == (
        f"mtagent: old-model at {server}: HTTP 404: The model `old-model` does not exist or is not yours.; old-model "
        "may be gone, or not open to this key: name another with --model NAME "
        f"({server}/models lists what the server has)"
    )
    assert len(lines(log.read_text(encoding="utf-8"))) <= 4
    assert not (shell.folder / "o.txt").exists()


@pytest.mark.loopback
def test_a_model_that_has_answered_is_not_gone_for_one_refusal(shell: Shell) -> None:
    shell.write("long.en.txt", *(f"The cat sat here {n}." for n in range(30)))
    shell.write("long.es.txt", *(f"El gato se sentó errado {n}." for n in range(30)))
    faults = ["--fault-rate", "0.3", "--faults", "404"]  # the first is the fourth request
    with simulator("--behaviour", "tests.simulator.chain:improving", *faults) as server:
        done = shell(f"postedit -s long.en.txt -t long.es.txt -l en-es --base-url {server} --concurrency 1 -q -o o.txt")
    assert done.code == 3
    assert len(shell.read("o.txt")) == 30


@pytest.mark.loopback
def test_a_segment_that_succeeds_is_hope_for_the_others(shell: Shell) -> None:
    shell.write("long.en.txt", *SOURCES * 10)
    shell.write("long.es.txt", *TRANSLATIONS * 10)
    with simulator("--script", *["422"] * 5, "--behaviour", "tests.simulator.chain:improving") as server:
        line = f"postedit -s long.en.txt -t long.es.txt -l en-es --base-url {server} --concurrency 1 --stages pe -q"
        assert shell(f"{line} --give-up-after 6").code == 3


def test_a_run_that_does_not_exist_is_named_with_one_like_it(shell: Shell) -> None:
    shell.postedit("--run summer")
    done = shell("runs show sumer")
    assert (done.code, done.out) == (1, "")
    assert "there is no run 'sumer'; did you mean 'summer'?" in done.err


def test_a_mistyped_store_is_not_made(shell: Shell) -> None:
    done = shell("runs list --store other.db")
    assert done.code == 1
    assert "other.db: there is no store yet" in done.err
    assert not (shell.folder / "other.db").exists()


def test_a_segment_without_edits_has_nothing_to_revert(shell: Shell) -> None:
    shell.postedit("--run summer")
    assert shell("revert summer 1").code == 0
    done = shell("revert summer 1")
    assert (done.code, done.out) == (1, "")
    assert "segment 1 has no applied edit to revert" in done.err


def test_a_language_is_not_translated_into_itself(shell: Shell) -> None:
    done = shell("postedit -s en.txt -t es.txt -l en-en")
    assert (done.code, done.out) == (1, "")
    assert "source and target language are both en" in done.err


def test_a_word_to_keep_that_the_glossary_translates_is_a_contradiction(shell: Shell) -> None:
    (shell.folder / "terms.csv").write_text("source,target\ncat,gato\n", encoding="utf-8")
    (shell.folder / "keep.txt").write_text("cat\n", encoding="utf-8")
    done = shell.postedit("--glossary terms.csv --keep keep.txt")
    assert (done.code, done.out) == (1, "")
    assert "keep.txt: 'cat' is to be kept, but terms.csv has a translation of it" in done.err


# --- mtagent.toml, names, files that are there


def test_the_configuration_file_of_the_working_folder_is_found_by_all(shell: Shell) -> None:
    (shell.folder / "mtagent.toml").write_text(
        'source_lang = "en"\ntarget_lang = "es"\nstages = "pe"\nstore = "sub/own.db"\nrun = "mine"\n', encoding="utf-8"
    )
    assert shell("postedit -s en.txt -t es.txt -o o.txt").code == 0
    assert (shell.folder / "sub" / "own.db").exists()
    assert "mine" in shell("runs list").out
    assert "own.db" in shell("revert nobody 1").err
    assert shell("rate --run mine -o r.jsonl --name rated").code == 0


def test_a_misspelt_command_gets_the_nearest_name(shell: Shell) -> None:
    done = shell("postedt -s en.txt")
    assert (done.code, lines(done.err)[-1]) == (2, "Error: no command 'postedt'; did you mean 'postedit'?")


def test_a_new_run_replaces_no_file_and_a_resumed_one_its_own(shell: Shell) -> None:
    (shell.folder / "o.txt").write_text("precious", encoding="utf-8")
    done = shell.postedit("-o o.txt --run a")
    assert (done.code, (shell.folder / "o.txt").read_text(encoding="utf-8")) == (1, "precious")
    assert "o.txt: is there already; --force replaces it" in done.err
    assert len(lines(shell("runs list").out)) == 1  # the heading: nothing was begun
    assert shell.postedit("-o o.txt --run a --force").code == 0
    written = (shell.folder / "o.txt").read_text(encoding="utf-8")
    assert shell.postedit("-o o.txt --run a").code == 0
    assert (shell.folder / "o.txt").read_text(encoding="utf-8") == written
    rated = "rate --run a -o r.jsonl"
    (shell.folder / "r.jsonl").write_text("precious", encoding="utf-8")
    assert "r.jsonl: is there already" in shell(rated).err
    assert [shell(f"{rated} --force").code, shell(rated).code] == [0, 0]


@pytest.mark.parametrize("guards", ["--skip-guards end,length", "--skip-guards end --skip-guards length"])
def test_names_come_with_commas_or_again(shell: Shell, guards: str) -> None:
    assert 'skip_guards = ["end", "length"]' in shell(f"config {guards}").out


@pytest.mark.loopback
def test_https_to_a_server_without_it_is_told_to_write_http(shell: Shell) -> None:
    with scripted_server() as server:
        address = server.url.replace("http://", "https://")
        done = shell(f"translate -s en.txt -l en-es -q --model m --deadline 1 --base-url {address}")
    assert done.code == 1
    assert "write http://" in done.err


def test_ctrl_c_during_the_imports_ends_without_a_traceback() -> None:
    done = python(
        "-c",
        "import sys\nclass Interrupted:\n def find_spec(self, name, *_):\n  if name == 'mtagent.cli': raise "
        "KeyboardInterrupt\nsys.meta_path.insert(0, Interrupted())\ntry:\n from mtagent.__main__ import main; main()"
        "\nexcept SystemExit as end: print(end.code)",
    )
    assert (done.out, done.err) == ("130\n", "")


STUBBORN = """
import asyncio, os, signal
from mtagent.cli import run_async

async def main():
    os.close(2)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)

run_async(main())
"""


def test_a_second_ctrl_c_ends_the_process_although_the_terminal_is_gone() -> None:
    assert subprocess.run([sys.executable, "-c", STUBBORN], timeout=60, check=False).returncode == 130
