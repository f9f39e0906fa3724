"""Files that come from standard input; pipes with a name are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtagent.store import Store
from tests.commands import SOURCES, TRANSLATIONS, Shell, run

KEEP, GLOSSARY = "cat\n", "source,target\ncat,gato\n"
ONLY_ONCE = "is a pipe, which can be read only once; give a file, or - for standard input"
FILES = "-s en.txt -t es.txt -l en-es -q"
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files."""
    for name, lines in (("en.txt", SOURCES), ("es.txt", TRANSLATIONS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("line", "content"), [("--keep -", KEEP), ("--glossary -", GLOSSARY)])
def test_terms_from_standard_input_reach_the_segments_and_the_run_goes_on_with_the_same_command(
    line: str, content: str, folder: Path
) -> None:
    for _ in range(2):
        done = run(folder, *f"postedit {FILES} {line}".split(), stdin=content)
        assert (done.code, done.err) == (0, "")
    with Store(folder / "store.db") as store:
        (summary,) = store.runs()
        terms = [[term.source for term in chain.segment.terms] for chain in store.read(summary.name).chains()]
    assert terms == [["cat"], [], []]


@pytest.mark.slow
def test_ratings_are_of_the_terms_in_standard_input(folder: Path) -> None:
    line = f"rate {FILES} --evaluator rules --name one -o ratings.jsonl --keep -"
    assert run(folder, *line.split(), stdin=KEEP).code == 0
    assert run(folder, *line.split(), stdin=KEEP).code == 0
    assert "one" in run(folder, *line.split(), stdin="world\n").err


@pytest.mark.slow
def test_prices_from_standard_input_are_those_of_the_estimate(folder: Path) -> None:
    line = "estimate -s en.txt -t es.txt -l en-es --model x --base-url http://localhost:9/v1 --prices -"
    prices = '[[prices]]\nmodel = "x"\ninput = 1\noutput = 2\nbatch_discount = 0.5\n'
    done = run(folder, *line.split(), stdin=prices)
    assert (done.code, done.err) == (0, "")
    assert "50% less" in done.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"postedit {FILES} --keep pipe", ""),
        (f"postedit {FILES} --glossary pipe", ""),
        ("postedit -s pipe -t es.txt -l en-es --format lines", ""),
        ("postedit -s pipe -t es.txt -l en-es", ""),
        ("rate -s en.txt -t es.txt pipe -l en-es --evaluator rules", ""),
        ("estimate -s en.txt -t es.txt -l en-es --model x --prices pipe", ""),
        ("score -t es.txt -r pipe -l en-es -m bleu", ""),
        ("meta-eval -e pipe --human mqm", ""),
        (f"postedit {FILES} --config pipe", "is read more than once, which a pipe cannot be: give a file"),
    ],
)
def test_a_pipe_that_is_named_is_refused_with_the_way_out(line: str, message: str, shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe")
    done = shell(line)
    assert done.code == 1
    assert f"pipe: {message or ONLY_ONCE}" in done.err


@pytest.mark.parametrize(
    "line",
    [
        "postedit -s en.txt -t es.txt -l en-es --keep - --glossary -",
        "postedit -s - -t es.txt -l en-es --format lines --keep -",
        "rate -s en.txt -t - -l en-es --evaluator rules --keep -",
        "estimate -s - -t es.txt -l en-es --format lines --model x --glossary -",
    ],
)
def test_only_one_file_is_standard_input(line: str, shell: Shell) -> None:
    done = shell(line)
    assert done.code == 1
    assert "only one of the files can be standard input" in done.err


@pytest.mark.parametrize(
    ("line", "culprit"),
    [
        (f"rate {FILES} --evaluator spans-file:path=pipe", "spans-file:path pipe"),
        (f"postedit {FILES} --evaluator spans-file:path=pipe --dry-run", "spans-file:path pipe"),
        ("score -t es.txt -r es.txt -l en-es -m scores-file:path=pipe", "scores-file:path pipe"),
    ],
)
def test_what_must_be_read_again_is_refused_as_a_pipe(line: str, culprit: str, shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe")
    done = shell(line)
    assert done.code == 1
    assert f"{culprit}: is read more than once, which a pipe cannot be: give a file" in done.err


@pytest.mark.slow
def test_a_report_and_an_export_read_standard_input_once(folder: Path) -> None:
    assert run(folder, *f"postedit {FILES} --name one".split()).code == 0
    texts = "".join(f"{line}\n" for line in TRANSLATIONS)
    done = run(folder, *["report", "one", "-o", "r.md", "-r", "-"], stdin=texts)
    assert (done.code, done.err) == (0, "mtagent: written: r.md\n")
    done = run(
        folder,
        *["export", "one", "--like", "-", "--format", "lines", "-o", "out.txt"],
        stdin=texts.replace("\n", "\r\n"),
    )
    assert (done.code, done.err) == (0, "mtagent: written: out.txt\n")
    assert (folder / "out.txt").read_bytes().count(b"\r\n") == 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere", "no such folder"),
        ("en.txt", "is a file; name its folder"),
        ("empty", "has no prompts; a prompt is a file"),
    ],
)
def test_prompts_that_are_not_there_are_told(name: str, reason: str, shell: Shell) -> None:
    (shell.folder / "empty").mkdir()
    done = shell.postedit(f"--prompts {name}")
    assert done.code == 1
    assert f"mtagent: prompts {name}: {reason}" in done.err
    shell.write("c.toml", f'prompts = "{name}"')
    assert f"prompts {name}: {reason}" in shell.postedit("--config c.toml").err
