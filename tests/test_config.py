"""Settings: from command line, file, preset and default to the printed configuration; what is wrong is named."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mtagent.config import Config, load
from mtagent.errors import ConfigError
from tests.commands import Done, Shell


def printed(done: Done) -> dict[str, Any]:
    """The settings that ``mtagent config`` prints."""
    assert done.code == 0, done.err
    return tomllib.loads(done.out)


@pytest.mark.parametrize("name", sorted(Config.model_fields.keys() - {"judge", "translate", "postedit", "proofread"}))
def test_every_setting_is_an_option(name: str, shell: Shell) -> None:
    option = "name" if name == "run" else name.replace("_", "-")
    assert "No such option" not in shell(f"config --{option}").err


def test_the_command_line_goes_before_the_file_before_the_preset_before_the_default(shell: Shell) -> None:
    shell.write("m.toml", "temperature = 0.5", "max_tokens = 9", "seed = 1", "preset = 'paper'")
    config = printed(shell("config --config m.toml --max-tokens 7"))
    values = {name: config[name] for name in ("max_tokens", "temperature", "seed", "forced", "margin")}
    assert values == {"max_tokens": 7, "temperature": 0.5, "seed": 1, "forced": True, "margin": 0.0}


def test_an_option_for_one_stage_leaves_the_rest_of_its_table_in_the_file(shell: Shell) -> None:
    shell.write("m.toml", "[postedit]", "temperature = 0.5", "model = 'a'", "[judge]", "model = 'b'", "seed = 1")
    config = printed(shell("config --config m.toml --stage-model postedit=x --judge-model y"))
    assert config["postedit"] == {"temperature": 0.5, "model": "x"}
    assert config["judge"] == {"model": "y", "seed": 1}


@pytest.mark.parametrize("guards", ["--skip-guards end,length", "--skip-guards end --skip-guards length"])
def test_names_come_with_commas_or_again(shell: Shell, guards: str) -> None:
    assert printed(shell(f"config {guards}"))["skip_guards"] == ["end", "length"]


@pytest.mark.parametrize(
    "line", ["--on-ambiguous spaced,first", "--on-ambiguous spaced --on-ambiguous first", "--config m.toml"]
)
def test_what_is_ambiguous_is_decided_by_a_policy_or_a_list(line: str, shell: Shell) -> None:
    shell.write("m.toml", "on_ambiguous = ['spaced', 'first']")
    assert printed(shell(f"config {line}"))["on_ambiguous"] == "spaced,first"
    assert printed(shell("config --on-ambiguous all"))["on_ambiguous"] == "all"
    assert printed(shell("config"))["on_ambiguous"] == "skip"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--on-ambiguous spaced,frist", "on_ambiguous: no policy 'frist'; there are: skip, spaced, first, all"),
        ("--on-ambiguous first,spaced", "on_ambiguous: give one policy, or spaced followed by another policy"),
        ("--gate-calls -1", "gate_calls: input should be greater than or equal to 0"),
    ],
)
def test_policies_and_calls_that_cannot_be_are_refused(line: str, message: str, shell: Shell) -> None:
    result = shell(f"config {line}")
    assert result.code == 1
    assert message in result.err


@pytest.mark.parametrize("languages", ["-l en-sr_Latn_RS", "--source-lang en --target-lang sr-Latn-RS"])
def test_languages_are_given_as_a_pair_or_one_by_one(languages: str, shell: Shell) -> None:
    assert shell(f"translate -s en.txt {languages} --translator command:cat --stages t -o o.jsonl").code == 0
    assert {segment["target_lang"] for segment in shell.objects("o.jsonl")} == {"sr-Latn-RS"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--preset paper --base-url http://localhost:1/v1 --stage-model postedit=x --judge-model y",
        "--glossary g.csv --keep k.txt --prompts p --skip-guards end,length --limit 3 --name r --store s.db",
        "--stages pe --context 2 --temperature 1e-9 -l en-sr_Latn_RS --not-forced --go-on --seed 3 --llm local",
    ],
)
def test_the_printed_configuration_given_back_is_the_same(line: str, shell: Shell) -> None:
    (shell.folder / "p").mkdir()
    shell.write("p/proofread.examples.toml", "")
    domain = 'a "quoted" \\ \x7f dömain'
    first = shell(f"config {line}", "--domain", domain)
    assert printed(first)["domain"] == domain
    (shell.folder / "elsewhere").mkdir()
    (shell.folder / "elsewhere" / "m.toml").write_text(first.out, encoding="utf-8")
    assert shell("config --config elsewhere/m.toml").out == first.out


def test_the_configuration_file_of_the_working_folder_is_found_by_all(shell: Shell) -> None:
    settings = {"source_lang": "en", "target_lang": "es", "stages": "pe", "store": "sub/own.db", "run": "mine"}
    shell.write("mtagent.toml", *(f"{name} = {json.dumps(value)}" for name, value in settings.items()))
    assert shell("config trust").code == 0
    assert shell("postedit -s en.txt -t es.txt -o o.txt").code == 0
    assert (shell.folder / "sub" / "own.db").exists()
    assert "mine" in shell("runs list").out
    assert "own.db" in shell("revert nobody 1").err
    assert shell("rate --run mine -o r.jsonl --name rated").code == 0


# --- what is wrong


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("concurency = 3", "", "m.toml: unknown setting 'concurency'; did you mean 'concurrency'?"),
        ("[judge]\nmodle = 'x'", "", "m.toml: unknown setting 'judge.modle'; did you mean 'model'?"),
        ("concurrency = 0", "", "m.toml: concurrency: "),
        ("concurrency = 3", "--concurrency 0", "mtagent: concurrency: "),  # not the file's fault
        ("preset = ['paper']", "", "m.toml: preset: "),
        ("stages = ['proofread', 'postedit']", "", "stages"),
        ("stages = ['postedit', 'postedit']", "", "stages"),
        ("stages = [1]", "", "no stage '1'"),
        ("stages = 'prpe'", "", "m.toml: stages: no stage 'prpe'"),
        ("[judge]\nevaluator = ['rules', 'rules']", "", "judge: rules is named twice"),
        ("gate = 'guards'\nsamples = 3", "", "samples: concerns judges' scores, but the gate guards calls no judge"),
        ("gate = 'none'\nmargin = 1", "", "margin: concerns judges' scores, but the gate none calls no judge"),
        ("model = 'm'", "--judge gemba-da --judge gemba-da:model=m --base-url http://127.0.0.1:9/v1", "is named twice"),
        ("[judge]\nbase_url = ''", "", "m.toml: judge.base_url: is empty"),
    ],
)
def test_a_wrong_setting_is_named_with_where_it_stands(file: str, line: str, message: str, shell: Shell) -> None:
    shell.write("m.toml", file)
    done = shell.postedit(f"--config m.toml {line}")
    assert (done.code, done.out) == (1, "")
    assert message in done.last
    assert len(done.remarks) == 1


@pytest.mark.parametrize("address", ["", "  "])
def test_an_empty_base_url_is_an_error_and_not_the_default_server(address: str, shell: Shell) -> None:
    done = shell.postedit("--base-url", address)
    assert done.code == 1
    assert "mtagent: base_url: is empty: give the address of a server, or leave it out for OpenAI's" in done.err


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://host:port/v1", "http://host:99999", "http://a b", "http://a\x07"]
)
@pytest.mark.parametrize(
    "line",
    [
        "translate -s en.txt -l en-es -o o.txt",
        "postedit -s en.txt -t es.txt -l en-es --dry-run",
        "rate -s en.txt -t es.txt -l en-es -o o.jsonl",
        "estimate -s en.txt -t es.txt -l en-es",
    ],
)
def test_a_malformed_address_is_one_line_that_names_where_it_was_set(
    line: str, address: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("m.toml", "model = 'm'", f"base_url = {json.dumps(address)}")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    errors = [shell(line, "--base-url", address), shell(line, "--config", "m.toml")]
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    if "--dry-run" not in line:  # which asks no server
        errors.append(shell(line))
    places = ("base_url:", "m.toml: base_url:", "the environment variable OPENAI_BASE_URL")
    for done, place in zip(errors, places, strict=False):
        assert done.code == 1
        (error,) = done.remarks
        assert error.startswith(f"mtagent: {place} ")
        assert error.endswith("write for example http://localhost:8000/v1")


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


def test_a_server_and_a_local_model_do_not_go_together_and_the_later_one_overrides_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="llm: local is set beside azure_endpoint, whose server would be called"):
        load(None, {"llm": "local", "azure_endpoint": "https://h.example"})
    file = tmp_path / "c.toml"
    file.write_text('base_url = "http://h/v1"\n')
    assert load(file, {"llm": "local"}).base_url is None
    file.write_text('llm = "local"\n')
    assert load(file, {"base_url": "http://h/v1"}).llm is None
