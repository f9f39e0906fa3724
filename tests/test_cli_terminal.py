"""Nothing that a text, a name or a server brings along acts on a terminal; data goes out as it is."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtagent.cli.progress import MOST_EARLIER
from mtagent.text.escaping import harmless, visible
from mtagent.text.table import width_of
from tests.commands import ROOT, SOURCES, TRANSLATIONS, Done, Shell, environment, python
from tests.scripted_server import Answer, scripted_server

ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x7f"
NAME = NASTY + "\nmtagent: all is well\tx"


def test_what_would_act_is_shown_and_all_else_stays() -> None:
    assert visible("a\x1b[2J\x9b\x7f\u202e\u2066\u2028\rb") == r"a\u001b[2J\u009b\u007f\u202e\u2066\u2028\rb"
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("a\tb\nc", one_line=True) == r"a\tb\nc"
    assert visible("half \ud83d") == r"half \ud83d"
    fine = "é Ω 中文 עברית\u200f العربية\u200e \u200d😀 \\n “x”"
    assert visible(fine, one_line=True) == fine


def test_json_that_is_made_visible_means_the_same() -> None:
    assert json.loads(visible(json.dumps({"a": NASTY}, ensure_ascii=False))) == {"a": NASTY}


def harmless_to_read(done: Done) -> bool:
    return not ACTING.search(done.out + done.err)


@pytest.fixture
def nasty(shell: Shell) -> Shell:
    """The shell with a run of segments whose names and texts are all nasty."""
    rows = [
        {"id": f"{NAME}{number}", "document": NAME, "domain": NAME, "source_lang": "en", "target_lang": "es"}
        | {
            "source": f"Pay {number} dollars{NASTY}.",
            "translation": f"Paga {number} dólares{NASTY}",
            "reference": NASTY,
        }
        for number in range(3)
    ]
    shell.write("in.jsonl", *(json.dumps(row) for row in rows))
    done = shell("postedit -s in.jsonl -o out.jsonl -v --name r")
    assert done.code == 0
    assert harmless_to_read(done)
    assert "mtagent: all is well" not in [line[:20] for line in done.err.splitlines()]
    return shell


def test_a_run_keeps_its_data_as_it_is(nasty: Shell) -> None:
    rows = [json.loads(line) for line in (nasty.folder / "out.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert [row["id"] for row in rows] == [f"{NAME}{number}" for number in range(3)]
    assert all(NASTY in row["translation"] for row in rows)


@pytest.mark.parametrize(
    "line",
    [
        *("runs show", "compare -m chrf", "compare -m chrf --by document -f markdown", "compare -m chrf -f latex"),
        *("compare -m chrf -f json --by domain", "score -m chrf --run", "score -m chrf -f json --run"),
        *("score -m chrf -sl --run", "report --format markdown"),
    ],
)
def test_no_command_shows_what_acts(nasty: Shell, line: str) -> None:
    done = nasty(f"{line} r")
    assert done.code == 0, done.err
    assert harmless_to_read(done)


def test_lists_have_a_line_for_each_and_texts_are_made_visible(nasty: Shell) -> None:
    done = nasty("runs list -f tsv")
    assert harmless_to_read(done)
    assert [len(line.split("\t")) for line in done.lines] == [12, 12]
    done = nasty("runs show r", f"{NAME}1")
    assert done.code == 0
    assert harmless_to_read(done)
    assert r"Paga 1 dólares\u001b]0;owned\u0007" in done.out


@pytest.mark.parametrize(
    "words", [["runs", "show", NAME], ["postedit", "-s", NAME, "-l", "en-es"], [NAME], ["score", f"--{NAME}"]]
)
def test_no_error_shows_what_acts(shell: Shell, words: list[str]) -> None:
    done = shell("", *words)
    assert done.code in (1, 2)
    assert done.err
    assert harmless_to_read(done)


def translated(shell: Shell, module: str, body: str, line: str) -> Done:
    """What is said where the function ``translate(text)`` of a ``module`` of one's own translates."""
    shell.write(f"{module}.py", "def translate(text):", *(f"    {part}" for part in body.split("; ")))
    return shell(f"translate -l en-es -o o.txt --translator python:{module}:translate {line}")


@pytest.mark.parametrize(
    ("module", "failure", "error"),
    [
        (
            "empty_mt",
            "return '[]'",
            "segment 1: translate failed: translate: words: the source has words",
        ),
        ("angry_mt", f"raise ValueError({NAME!a})", "segment 1: translate failed: "),
    ],
)
def test_no_error_of_a_translator_acts_and_the_summary_names_the_segments(
    module: str, failure: str, error: str, shell: Shell
) -> None:
    body = f"if 'Hello' not in text: {failure}; return 'Hola, mundo.'"
    done = translated(shell, module, body, "-s en.txt --stages t")
    assert done.code == 3
    assert harmless_to_read(done)
    assert error in done.err
    assert done.last == "mtagent: failed: 1 (translate), 3 (translate)"


@pytest.mark.loopback
def test_failures_are_grouped_by_cause(shell: Shell) -> None:
    with scripted_server() as server:
        failure = Answer(json.dumps({"error": {"message": "the text is too long"}}), status=400)
        other_failure = Answer(json.dumps({"error": {"message": "no such text"}}), status=400)
        server.answer = lambda request: other_failure if "Hello" in request.body else failure
        shell.write("blank.txt", *SOURCES, "")
        line = "translate -s blank.txt -l en-es -o o.txt --stages t --model m"
        done = shell(f"{line} --base-url {server.url}/v1")
    causes = [line for line in done.remarks if re.match(r"mtagent: \d+ segments?: m at ", line)]
    assert [line[: len("mtagent: 2 segments")] for line in causes] == ["mtagent: 2 segments", "mtagent: 1 segment:"]
    assert "the text is too long" in causes[0]
    assert "no such text" in causes[1]
    assert [line for line in done.remarks if "segment 1: translate failed: m at " in line]


def test_context_without_documents_is_announced_as_slow(shell: Shell) -> None:
    def postedited(more: str) -> Done:
        return shell(f"postedit -l en-es -o o.txt --force --context 2 {more}")

    notice = "its 3 segments are worked on one after the other"
    assert notice in postedited("-s en.txt -t es.txt").err
    rows = []
    for number, (source, translation) in enumerate(zip(SOURCES, TRANSLATIONS, strict=True)):
        rows.append(json.dumps({"document": f"d{number}", "source": source, "translation": translation}))
    shell.write("documents.jsonl", *rows)
    done = postedited("-s documents.jsonl")
    assert done.code == 0
    assert "one after the other" not in done.err


def on_a_terminal(folder: Path, *arguments: str, columns: int = 80, **variables: str) -> str:
    """What ``mtagent`` writes to a terminal that is its standard error."""
    import pty  # not on Windows
    import termios

    terminal, stderr = pty.openpty()
    termios.tcsetwinsize(stderr, (24, columns))
    given = environment(folder / "store.db") | {"TERM": "xterm"}
    given.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "mtagent", *arguments],
        cwd=folder, env=given | variables, stderr=stderr, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        os.close(stderr)
        written = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # Linux reports the end of a terminal so
                break
            if not part:
                break
            written += part
        process.wait(100)
    os.close(terminal)
    return written.decode()


def bars_of(written: str) -> list[str]:
    """The states of the bar, without colours."""
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", written))
    return [line for line in lines if re.match(r" *\d+/\d+ \|", line)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_bar_fits_80_columns_and_counts_the_whole_run(shell: Shell) -> None:
    (shell.folder / "half_mt.py").write_text(
        "import pathlib\n\n\ndef translate(text):\n"
        "    if 'Hello' in text and not pathlib.Path('well').exists():\n"
        "        raise ValueError('not yet')\n"
        "    return 'Paga 5 dólares ahora .' if '5' in text else 'Hola.'\n"
    )
    files = ["-s", "en.txt", "-l", "en-es", "-o", "o.txt", "--name", "r"]
    line = ["translate", *files, "--stages", "tp", "--translator", "python:half_mt:translate"]
    first = on_a_terminal(shell.folder, *line)
    (shell.folder / "well").touch()
    second = on_a_terminal(shell.folder, *line, NO_COLOR="1")
    for written in (first, second):
        assert 70 < max(map(len, bars_of(written))) <= 80
    narrow = on_a_terminal(shell.folder, *line, columns=40)
    assert max(map(len, bars_of(narrow))) <= 40
    changed = shell.runs()["r"].counts.changed
    assert f"{changed} changed, 1 failed, $0.0000" in bars_of(first)[-1]
    assert bars_of(second)[0].startswith("2/3 |")
    assert bars_of(second)[-1].startswith("3/3 |")
    assert f"{changed} changed, 0 failed, $0.0000" in bars_of(second)[-1]
    assert "\x1b[32m" in first
    assert not re.search(r"\x1b\[[0-9;]*m", second)
    assert not re.search(r"\x1b\[[0-9;]*m", on_a_terminal(shell.folder, "runs", "show", "none", TERM="dumb"))
    assert "\x1b[31m" in on_a_terminal(shell.folder, "runs", "show", "none")
    assert "\x1b" not in shell("runs show none").err


def test_a_summary_names_ten_failed_segments_at_most(shell: Shell) -> None:
    shell.write("many.txt", *(f"Pay {number} dollars now." for number in range(12)), "Hello.")
    body = "return '[]' if 'Pay' in text else 'Hola.'"
    done = translated(shell, "wordless_mt", body, "-s many.txt --stages t")
    assert done.code == 3
    assert done.last.endswith("10 (translate) and 2 more")


def test_the_summary_names_the_segments_that_lack_a_tag_in_the_end(shell: Shell) -> None:
    shell.write("ui.txt", "Press <b>Enter</b> to go on.", "Press <b>Esc</b> to stop it.")
    body = "return 'Pulse <b>Esc</b> y ya.' if 'Esc' in text else 'Pulse Intro.'"
    done = translated(shell, "lossy_mt", body, "-s ui.txt --stages tp --evaluator rules")
    assert (done.code, shell.read("o.txt")[0]) == (0, "Pulse Intro.")
    assert done.last == "mtagent: placeholders or tags of the source are missing in: 1"


def test_the_summary_and_the_details_tell_which_segments_lack_a_number_in_the_end(shell: Shell) -> None:
    shell.write("years.txt", "It was built in 1984.", "It was closed in 1995.")
    body = "return 'Se cerró en 1995.' if '1995' in text else 'Se construyó hace mucho.'"
    done = translated(shell, "vague_mt", body, "-s years.txt --stages tp --evaluator rules --details d.jsonl --name r")
    assert (done.code, shell.read("o.txt")[0]) == (0, "Se construyó hace mucho.")
    assert done.last == "mtagent: numbers of the source are missing in: 1"
    first, second = shell.objects("d.jsonl")
    assert first["stages"][0]["cause"]["guards"] == ["numbers"]
    assert "guards" not in second["stages"][0]["cause"]
    assert shell("report r -o r.md").code == 0
    assert "translated; something of the source is missing" in "\n".join(shell.read("r.md"))


def test_the_summary_of_a_resumed_run_is_about_all_its_segments(shell: Shell) -> None:
    shell.write("years.txt", "It was built in 1984.", "Press <b>Esc</b> to stop it.", "It was closed in 1995.")
    body = "return 'Pulse Escape.' if 'Esc' in text else 'Hace mucho tiempo.'"
    line = "-s years.txt --stages tp --evaluator rules --name r"
    assert "missing in: 1" in translated(shell, "lossy_years_mt", body, f"{line} --limit 2").last
    for _ in ("the rest", "nothing, since all is done"):
        done = translated(shell, "lossy_years_mt", body, line)
        assert done.err.splitlines()[-2:] == [
            "mtagent: placeholders or tags of the source are missing in: 2",
            "mtagent: numbers of the source are missing in: 1, 3",
        ]
    assert "missing" not in translated(shell, "lossy_years_mt", body, f"{line} --quiet").err


def test_the_summary_leaves_out_earlier_segments_if_there_are_very_many(shell: Shell) -> None:
    shell.write("many.en.txt", *["One."] * (MOST_EARLIER + 1))
    shell.write("many.es.txt", *["Uno."] * (MOST_EARLIER + 1))
    line = "postedit -s many.en.txt -t many.es.txt -l en-es -o o.txt --evaluator rules --name r"
    assert "done before" not in shell(f"{line} --limit {MOST_EARLIER}").err
    assert "done before" not in shell(line).err
    assert (
        shell(line).last
        == f"mtagent: remarks are only about segments done now, not about the {MOST_EARLIER + 1:,} done before"
    )


def test_what_no_command_says_is_made_visible_too() -> None:
    code = f"""
import logging
from mtagent.cli import main
main(["--version"])
logging.getLogger("mtagent.llm").warning("model %s", {NAME!r})
raise ValueError({NASTY!r})
"""
    done = python("-c", code)
    assert harmless_to_read(done)
    warning, *_, error = done.err.splitlines()
    assert warning.startswith(r"model \u001b]0;owned\u0007")
    assert error.startswith(r"ValueError: \u001b]0;owned\u0007")


def test_commands_speak_through_the_one_seam() -> None:
    """``click.echo`` is for data; nothing but the seam, and the bar, writes to standard error."""
    for path in sorted((ROOT / "mtagent" / "cli").glob("*.py")):
        if path.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("click.echo", "print", "click.secho"):
                assert not any(word.arg == "err" for word in node.keywords), f"{path.name}:{node.lineno}: use say()"
                assert ast.unparse(node.func) == "click.echo", f"{path.name}:{node.lineno}"


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


RUN_ALL = """
import json, sys
from mtagent.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as done:
        assert not done.code, words
    print(sys.argv[2], flush=True)
"""
END = "-- the next command --"
TEXTS = [
    ["accept", "r", f"{NAME}1"],
    ["revert", "r", f"{NAME}1"],
    ["export", "r"],
    ["export", "r", "--format", "csv"],
    ["decide", "r", "--export", "-"],
]
SHOWN = [
    ["accept", "r", f"{NAME}1", f"{NAME}2"],
    ["compare", "r", "-m", "chrf", "-f", "csv", "--by", "document"],
    ["report", "r", "--format", "markdown"],
    ["postedit", "-s", "in.jsonl"],
    ["runs", "show", "r", f"{NAME}1"],
    ["demo"],
]


def printed(folder: Path, commands: list[list[str]], *, terminal: bool, columns: int = 0) -> list[str]:
    """What each of the ``commands`` writes on standard output, one process for all: on a terminal, or to a pipe."""
    reader, writer = os.openpty() if terminal else os.pipe()
    if columns:
        import termios  # not on Windows

        termios.tcsetwinsize(writer, (24, columns))
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_ALL, json.dumps(commands), END],
        cwd=folder,
        env=environment(folder / "store.db"),
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    written = b""
    try:
        while piece := os.read(reader, 65536):
            written += piece
    except OSError:  # how Linux says that nobody has the terminal open any more
        pass
    os.close(reader)
    assert process.wait() == 0
    text = written.decode()
    if terminal:  # it writes its own line ends
        text = text.replace("\r\n", "\n")
    return text.split(f"{END}\n")[:-1]


def test_on_a_terminal_no_text_acts_and_a_pipe_gets_the_texts_exactly(nasty: Shell) -> None:
    commands = [*TEXTS, *SHOWN]
    for words, shown in zip(commands, printed(nasty.folder, commands, terminal=True), strict=True):
        assert shown, words
        assert not ACTING.search(shown), words
        if words in TEXTS:
            assert f"dólares{visible(NASTY)}" in shown, words
    for words, data in zip(TEXTS, printed(nasty.folder, TEXTS, terminal=False), strict=True):
        assert f"dólares{NASTY}" in data, words


def test_on_a_terminal_a_segment_is_wrapped_and_lists_of_texts_are_cut_to_its_width(shell: Shell) -> None:
    source = "It is here  , and " + "there is much more to say about it, " * 5 + "in short."
    target = "Está aquí  , y " + "hay mucho más que decir de ello, " * 5 + "en resumen."
    shell.write("en.txt", source, "Hello  world.", "世界" * 60)
    shell.write("es.txt", target, "Hola  mundo.", "世界 " * 60)
    assert shell.postedit("--name r -o o.txt").code == 0
    shell.write("d.csv", "segment,edit,decision", "1,,accept", "2,,accept", "3,,accept")
    commands = [["runs", "show", "r", "1"], ["runs", "show", "r", "3"], ["decide", "r", "d.csv"]]
    (piped,) = printed(shell.folder, commands[:1], terminal=False)
    shown, wide, texts = printed(shell.folder, commands, terminal=True, columns=60)
    for line in (shown + wide + texts).splitlines():
        assert width_of(line) <= 60
    assert "\n         " in shown, "a text goes on below its beginning"
    assert shown.split() == piped.split()
    assert f"source   {source}\n" in piped
    assert [line[0] for line in texts.splitlines()] == ["1", "2", "3"]
    assert texts.splitlines()[0].endswith("…")
