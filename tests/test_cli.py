"""The command line as a whole: help, standard output and standard error, exit codes, and what it must not import."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from mtagent import __version__
from mtagent.cli import COMMANDS, cli
from mtagent.store import Store
from tests.commands import IMPROVED, NEXT, SOURCES, Done, Shell, environment, python, run
from tests.scripted_server import Answer, scripted_server

OFFLINE = (
    "mtagent: no model is set (OPENAI_API_KEY, --base-url, --llm); working offline with the rules evaluator "
    "and the guards."
)
TRANSLATE, POSTEDIT = "translate -s en.txt -l en-es", "postedit -s en.txt -t es.txt -l en-es"


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("rate -s a -t b --evaluator rules --evaluator gemba-da -o c", "--evaluator"),
        ("score -t a --edits-from one --edits-from=two", "--edits-from"),
        ("gate calibrate --run a --pairs b --seed 1 --seed 2", "--seed"),
        ("runs delete --older-than 3d --older-than 4d", "--older-than"),
    ],
)
def test_an_option_that_takes_one_value_is_not_given_twice(shell: Shell, line: str, option: str) -> None:
    done = shell(line)
    assert done.code == 2
    assert f"{option} is given 2 times, but takes one value" in done.err


@pytest.mark.parametrize("line", ["", *COMMANDS, "runs list", "runs show"])
def test_every_help_shows_its_use_and_examples_that_exist(line: str, shell: Shell) -> None:
    done = shell(f"{line} --help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage:")
    examples = [words[1] for words in map(str.split, done.lines) if words[:1] == ["mtagent"] and words[1:]]
    if line in COMMANDS:
        assert examples
        assert set(examples) <= {line, "runs"}


@pytest.mark.parametrize("line", ["postedit", "translate", "estimate", "serve", "gate calibrate"])
def test_help_shows_a_dozen_options_and_help_all_the_others(line: str, shell: Shell) -> None:
    short, full = shell(f"{line} --help"), shell(f"{line} --help-all")
    assert (short.code, full.code) == (0, 0)

    def options_of(done: Done) -> set[str]:
        found = re.findall(r"^  (?:-\w, )?(--[\w-]+)", done.out, re.MULTILINE)
        return {*found} - {"--help", "--help-all"}

    assert 12 <= len(options_of(short)) <= 13
    left_out = re.search(rf"{line}\s+--help-all`\s+shows (\d+)\s+more\s+options", short.out)
    assert left_out is not None
    assert options_of(short) < options_of(full)
    assert len(options_of(full) - options_of(short)) == int(left_out[1])
    assert "more options" not in full.out


@pytest.mark.parametrize("line", ["--help", "translate --help", "runs --help"])
def test_help_imports_nothing_heavy(line: str) -> None:
    code = "import sys; from mtagent.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    heavy = "{'sacrebleu', 'aiohttp', 'openai'}"
    if line == "--help":
        heavy = "{'aiohttp', 'openai', 'pydantic', 'numpy', 'regex'}"
    assert python("-c", code + f"print({heavy} & set(sys.modules))", *line.split()).lines[-1] == "set()"


def test_python_m_mtagent_is_the_command() -> None:
    assert python("-m", "mtagent", "--version").out == f"mtagent, version {__version__}\n"


def test_a_misspelt_command_gets_the_nearest_name(shell: Shell) -> None:
    done = shell("postedt -s en.txt")
    assert (done.code, done.last) == (2, "Error: unknown command 'postedt'; did you mean 'postedit'?")


def test_texts_alone_go_to_standard_output_and_offline_is_said_in_one_line(shell: Shell) -> None:
    done = shell.postedit()
    assert (done.code, done.lines) == (0, IMPROVED)
    offline, summary, next_command = done.err.splitlines()
    assert offline == OFFLINE
    assert "3 segments: 1 changed, 2 unchanged, 0 rejected, 0 failed; 0 calls" in summary
    run_name = summary.rpartition("; run ")[2]
    assert next_command == f"mtagent: to decide on the changes: mtagent review {run_name}"


def test_the_next_command_names_the_store_and_is_only_printed_if_something_changed(shell: Shell) -> None:
    done = shell.postedit("--name r --store", "my runs.db")
    assert done.err.splitlines()[-1] == f"{NEXT}mtagent review r --store 'my runs.db'"
    assert shell.postedit("--name q -q").err == ""
    shell.write("es.txt", "El gato se sentó aquí.", "Hola gran mundo.", "Paga 5 dólares ahora.")
    assert NEXT not in shell.postedit("--name s").err


def test_quiet_says_nothing_and_verbose_says_a_line_per_step(shell: Shell) -> None:
    assert shell.postedit("-q --name quiet").err == ""
    steps = [line for line in shell.postedit("-v --name verbose").err.splitlines() if ": postedit: " in line]
    assert [step.split(": ")[0] for step in steps] == ["segment 1", "segment 2", "segment 3"]


@pytest.mark.parametrize(
    ("option", "warning"),
    [
        (
            "--budget 2",
            "mtagent: --budget has no effect, because no model is set: set OPENAI_API_KEY, --base-url or --llm",
        ),
        ("--token-budget 9", "mtagent: --token-budget has no effect, because no model is set: "),
        ("--margin 2", "mtagent: --margin has no effect, because the gate guards uses no judge: "),
        ("--samples 3", "mtagent: --samples has no effect, because the gate guards uses no judge: "),
    ],
)
def test_an_option_that_does_nothing_offline_is_named(option: str, warning: str, shell: Shell) -> None:
    assert warning in shell.postedit(option).err
    assert "has no effect" not in shell.postedit(f"{option} -q --name quiet").err
    assert "has no effect" not in shell.postedit("--name plain").err
    judged = "--gate rate --judge rules --name judged"
    assert ("has no effect" in shell.postedit(f"{judged} {option}").err) == ("budget" in option)
    rated = shell(f"rate -s en.txt -t es.txt -l en-es {option}").err
    assert ("--budget has no effect" in rated) == (option == "--budget 2")


CHECK_LANGUAGES = "; check the languages (-l, or those in the file)"
SWAPPED = f"en.txt: the languages of es-en seem to be swapped{CHECK_LANGUAGES}"


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_swapped_languages_are_noticed(shell: Shell) -> None:
    shell.write("en.txt", "The old bridge over the river was closed for six months.", "We will meet again next week.")
    shell.write(
        "es.txt",
        "El viejo puente sobre el río estuvo cerrado durante seis meses.",
        "Nos veremos otra vez la semana que viene.",
    )
    assert SWAPPED in shell("postedit -s en.txt -t es.txt -l es-en --name wrong").err
    assert "seem" not in shell("postedit -s en.txt -t es.txt -l en-es --name right").err
    assert SWAPPED in shell("translate -s en.txt -l es-en --translator command:cat --stages t").err
    for number, (files, message) in enumerate(
        (
            ("-s en.txt -t en.txt -l es-en", "en.txt: the sources seem to be in English, not in Spanish"),
            ("-s en.txt -t en.txt -l en-es", "en.txt: the translations seem to be in English, not in Spanish"),
            ("-s es.txt -t en.txt -l de-en", "es.txt: the sources seem to be in Spanish, not in German"),
        )
    ):
        assert message + CHECK_LANGUAGES in shell(f"postedit {files} --name other-{number}").err


@pytest.mark.loopback
@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_wrong_languages_cost_nothing_unless_forced(shell: Shell) -> None:
    shell.write("de.txt", "Die alte Brücke war sechs Monate gesperrt.", "Wir treffen uns nächste Woche wieder.")
    shell.write("es.txt", "El viejo puente estuvo cerrado durante seis meses.", "Nos veremos la semana que viene.")
    with scripted_server() as server:
        files = f"-s de.txt -t es.txt -l en-es --base-url {server.url} --model m"
        for line in (f"postedit {files} -o out.txt", f"rate {files} -o out.jsonl"):
            done = shell(line)
            assert (done.code, shell.runs()) == (1, {})
            assert f"in German, not in English{CHECK_LANGUAGES}, or continue with --force" in done.last
        assert server.requests == []
        server.answer = lambda request: Answer("{}", 401)
        shell(f"postedit {files} -o out.txt --force")
        assert server.requests


def test_every_option_has_a_help_text() -> None:
    """Hidden options are not in --help, but in the pages that are made from the commands."""

    def commands(command: click.Command) -> Iterator[click.Command]:
        yield command
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                subcommand = command.get_command(click.Context(command), name)
                assert subcommand is not None
                yield from commands(subcommand)

    without_help = []
    for command in commands(cli):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.help:
                without_help.append(f"{command.name} {parameter.opts[0]}")
    assert without_help == []


def test_a_process_of_its_own_gives_the_same_and_reads_standard_input(shell: Shell) -> None:
    arguments = ["postedit", "-s", "-", "--format", "lines", "-t", "es.txt", "-l", "en-es"]
    done = run(shell.folder, *arguments, stdin="\n".join(SOURCES))
    assert (done.code, done.lines) == (0, IMPROVED)
    assert OFFLINE in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("postedit -t es.txt -l en-es", 2, "source texts with -s"),
        ("postedit -s en.txt -l en-es", 2, "give them with -t"),
        (f"{POSTEDIT} --quorum 2", 2, "--quorum 2: needs that many judges, but there are 1"),
        (f"{POSTEDIT} --judge rules --judge qe-e5 --quorum 3", 2, "there are 2: name more"),
        ("gate calibrate -o gate.json", 2, "give the judges' scores (-e, --run or --mtme)"),
        (
            f"{POSTEDIT} --gate maybe",
            1,
            "mtagent: --gate: expected one of none, guards, rate, pairwise, panel, gain, qe, not 'maybe'",
        ),
        (f"{POSTEDIT} --margin much", 1, "mtagent: --margin: expected a number, not 'much'"),
        (f"{POSTEDIT} --context many", 1, "mtagent: --context: expected a whole number, not 'many'"),
        (f"{POSTEDIT} --samples 0", 1, "mtagent: --samples: expected a whole number from 1 on, not '0'"),
        ("serve --port 65536", 1, "mtagent: --port: expected a whole number from 0 to 65535, not '65536'"),
        ("gate check gate.json --resamples few", 1, "mtagent: --resamples: expected a whole number, not 'few'"),
        (
            f"{POSTEDIT} --config broken.toml",
            1,
            "broken.toml: is not valid TOML: invalid value (at line 2, column 8); a setting is",
        ),
        (
            f"{POSTEDIT} --glossary headless.csv",
            1,
            "headless.csv:1: unknown column 'cat'; the first line must name the columns: source, target",
        ),
        ("postedit -s en.txt -t es.txt", 1, "en.txt:1: no source_lang; give the language pair, as in -l en-es"),
        ("postedit -s en.txt -t es.txt -l klingon", 1, "'klingon' is not a language pair"),
        ("postedit -s en.txt -t es.txt -l en-en", 1, "source and target language are both en"),
        (f"{POSTEDIT} --concurrency 0", 1, "concurrency: input should be greater"),
        (f"{POSTEDIT} --stages pq", 1, "no stage 'pq'"),
        (f"{POSTEDIT} --stages pp", 1, "the proofread stage calls a model"),
        (f"{POSTEDIT} --evaluator mine", 1, "no evaluator 'mine'; there are: "),
        (f"{POSTEDIT} --evaluator rubric-mqm", 1, "rubric-mqm calls a model"),
        (f"{POSTEDIT} --skip-guards mine", 1, "no guard 'mine'; there are: placeholders"),
        (f"{POSTEDIT} --judge mine", 1, "rules, single-agent, spans-file, xcomet; and as a judge: pairwise"),
        (f"{POSTEDIT} --stage-model reviewer=x", 1, "translate, postedit, proofread, judge, as in postedit="),
        (f"{POSTEDIT} --llm remote", 1, "no llm 'remote'"),
        (f"{POSTEDIT} --base-url localhost", 1, "is not an address"),
        (f"{POSTEDIT} --model m", 1, "no API key: set the environment variable"),
        (f"{POSTEDIT} --glossary twice.csv", 1, "twice.csv: 'Konto' for 'account' is both required and forbidden"),
        (f"{POSTEDIT} --glossary terms.csv --keep keep.txt", 1, "keep.txt: 'cat' is to be kept, but terms.csv has"),
        ("postedit -s no.txt -t es.txt -l en-es", 1, "no.txt: no such file"),
        (
            "postedit -s en.odt -t es.txt -l en-es",
            1,
            "en.odt: is a document with layout, which this command does not read",
        ),
        (
            "postedit -s t.csv -t es.txt -l en-es",
            1,
            "a csv file holds its translations and references itself: leave out -t",
        ),
        ("postedit -s - -t - --format lines -l en-es", 1, "only one of the files can be standard input"),
        (f"{POSTEDIT} -o no/out.txt", 1, "no/out.txt: the folder no does not exist"),
        (f"{POSTEDIT} -o .", 1, "is a folder"),
        (f"{POSTEDIT} -o en.txt", 1, "would overwrite this file"),
        (f"{TRANSLATE} --translator command:cat -o en.txt", 1, "would overwrite this file"),
        (f"{POSTEDIT} --details -", 1, "cannot both go to standard output"),
        (f"{POSTEDIT} -o out.txt --details out.txt", 1, "cannot both go to one file"),
        (f"{POSTEDIT} -o out.txt --details en.txt", 1, "--details would overwrite the file of -s"),
        (f"{POSTEDIT} -o out.txt --details es.txt", 1, "--details would overwrite the file of -t"),
        (f"{POSTEDIT} -o es.txt --limit 2 --force", 1, "--limit would cut the file of -t short"),
        ("postedit -s t.csv -o t.csv -l en-es --limit 2 --force", 1, "--limit would cut the file of -s short"),
        (f"{POSTEDIT} --store en.txt", 1, "is not a SQLite database"),
        (f"{POSTEDIT} --store en.txt/store.db", 1, "en.txt/store.db: its folder cannot be made; choose another place"),
        (f"{POSTEDIT} --config no.toml", 1, "no.toml"),
        (f"{POSTEDIT} --config stale.toml", 1, "gone.csv: no such file or directory; check glossary in stale.toml, or"),
        (TRANSLATE, 1, "has no translations, and there is nothing to translate with"),
        ("translate -s gap.txt -l en-es", 1, "nothing to translate with"),
        (
            f"{TRANSLATE} --stages pe --model m",
            1,
            "the stages postedit make none: give a translation, or add translate",
        ),
        ("translate -s empty.txt -l en-es --translator command:cat", 1, "has no segments"),
        ("runs show nothing", 1, "there is no store yet"),
        ("runs show mine --store other.db", 1, "other.db: there is no store yet"),
        ("runs list --store other.db", 1, "other.db: there is no store yet"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_stored(
    line: str, code: int, message: str, shell: Shell
) -> None:
    shell.write("t.csv", "source,translation", "a,b")
    shell.write("gap.txt", "One.", "", "Two.")
    shell.write("empty.txt")
    shell.write("terms.csv", "source,target", "cat,gato")
    shell.write("keep.txt", "cat")
    shell.write("stale.toml", 'glossary = "gone.csv"')
    shell.write("broken.toml", 'model = "m"', "gate = guards")
    shell.write("headless.csv", "cat,gato")
    shell.write("twice.csv", "source,target,forbidden", "account,Konto,", "account,Konto,yes")
    done = shell(line)
    assert (done.code, done.out) == (code, "")
    assert message in done.last
    assert shell.runs() == {}
    assert not (shell.folder / "other.db").exists()


def test_a_wrong_setting_can_be_corrected_under_the_same_run(shell: Shell) -> None:
    assert shell.postedit("--name mine --evaluator rulez").code == 1
    assert shell.postedit("--name mine --evaluator rules").code == 0
    assert shell.runs().keys() == {"mine"}


def test_the_demo_needs_no_model(shell: Shell) -> None:
    done = shell("demo")
    assert done.code == 0
    assert "No model was called" in done.out
    head, _, postedit, *_ = done.out[done.out.index("\nstage ") + 1 :].splitlines()
    assert "edits  edits kept" in head
    assert postedit.split()[5:7] == ["31", "30"], "of 31 proposed edits 30 were kept"
    assert shell.runs() == {}


def test_the_demo_stores_its_run_and_says_where_its_report_and_review_are(shell: Shell) -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    pages = shell.folder / "pages"
    for _ in range(2):  # the second time the run is there already
        done = subprocess.run(
            [sys.executable, "-m", "mtagent", "demo", "--pages", "pages"],
            cwd=shell.folder, env=environment(shell.folder / "store.db"), stdin=subprocess.DEVNULL,
            text=True, capture_output=True, timeout=100,
        )  # fmt: skip
        assert "No model was called" in done.stdout
        address, command = done.stderr.splitlines()[-2:]
        assert address == f"mtagent: report at {(pages / 'report.html').as_uri()}"
        assert command.endswith(f" review demo --store {Path('pages') / 'store.db'}")
    assert '"count":19' in (pages / "report.html").read_text("utf-8")
    with Store(pages / "store.db") as store:
        assert store.run("demo").counts.total == 19
        assert store.run("demo").counts.changed == 15


# --- Ctrl-C


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
