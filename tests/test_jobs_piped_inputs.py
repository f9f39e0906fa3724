"""Files that a run is given as pipes: ``--keep <(grep …)``, ``/dev/stdin``, a FIFO. Each is read once, and counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtagent.store import Store
from tests.commands import SOURCES, TRANSLATIONS, Done, Shell, run

KEEP, GLOSSARY = "cat\n", "source,target\ncat,gato\n"
FILES = "-s en.txt -t es.txt -l en-es -q"
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files."""
    for name, lines in (("en.txt", SOURCES), ("es.txt", TRANSLATIONS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def piped(folder: Path, line: str, **contents: str) -> Done:
    """``mtagent`` with the words of ``line``, in which ``PIPE`` stands for FIFOs of these names and contents."""
    feeds = []
    for name, content in contents.items():
        (folder / f"{name}.content").write_text(content, encoding="utf-8")
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        feeds.append(f"{{ cat {name}.content > {name} & }}")
    return run(folder, *line.split(), shell_prefix="; ".join(feeds))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "contents"),
    [
        ("--keep terms", {"terms": KEEP}),
        ("--glossary terms", {"terms": GLOSSARY}),
        ("--glossary t.tsv", {"t.tsv": 'source\ttarget\ncat\t"gato\n'}),  # read as its name says
        ("--config else/c.toml", {"else/c.toml": 'keep = "keep.txt"\n'}),  # which names files from where the user is
        ("--keep -", KEEP),
        ("--glossary /dev/stdin", GLOSSARY),
    ],
)
def test_terms_from_a_pipe_reach_the_segments(line: str, contents: dict[str, str] | str, folder: Path) -> None:
    (folder / "keep.txt").write_text(KEEP, encoding="utf-8")
    (folder / "else").mkdir()
    line = f"postedit {FILES} --name one {line}"
    done = run(folder, *line.split(), stdin=contents) if isinstance(contents, str) else piped(folder, line, **contents)
    assert (done.code, done.err) == (0, "")
    with Store(folder / "store.db") as store:
        terms = [[term.source for term in chain.segment.terms] for chain in store.read("one").chains()]
    assert terms == [["cat"], [], []]


@pytest.mark.slow
def test_a_run_with_terms_from_a_pipe_goes_on_with_the_same_command(folder: Path) -> None:
    for _ in range(2):
        assert piped(folder, f"postedit {FILES} --keep terms", terms=KEEP).code == 0
    with Store(folder / "store.db") as store:
        assert len(store.runs()) == 1


@pytest.mark.slow
def test_ratings_are_of_the_terms_in_the_pipe(folder: Path) -> None:
    line = f"rate {FILES} --evaluator rules --name one -o ratings.jsonl --keep terms"
    assert piped(folder, line, terms=KEEP).code == 0
    (folder / "terms").unlink()
    (folder / "terms").write_text(KEEP, encoding="utf-8")
    assert run(folder, *line.split()).code == 0  # the same inputs, by their content
    (folder / "terms").write_text("world\n", encoding="utf-8")
    assert "one" in run(folder, *line.split()).err


@pytest.mark.slow
def test_prices_from_a_pipe_are_those_of_the_estimate(folder: Path) -> None:
    line = "estimate -s en.txt -t es.txt -l en-es --model x --base-url http://localhost:9/v1 --prices p.toml"
    done = piped(folder, line, **{"p.toml": '[[prices]]\nmodel = "x"\ninput = 1\noutput = 2\nbatch_discount = 0.5\n'})
    assert (done.code, done.err) == (0, "")
    assert "prices: p.toml, then" in done.out
    assert "50% less" in done.out


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


@pytest.mark.slow
@pytest.mark.parametrize("line", ["--keep /dev/stdin --glossary /dev/stdin", "--keep - --glossary /dev/stdin"])
def test_one_pipe_is_not_two_files(line: str, folder: Path) -> None:
    done = run(folder, *f"postedit {FILES} {line}".split(), stdin=GLOSSARY)
    assert done.code == 1
    assert done.err.endswith(": is named twice, and a pipe can be read only once: give a file\n")


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
def test_a_report_and_an_export_read_pipes_once(folder: Path) -> None:
    assert run(folder, *f"postedit {FILES} --name one".split()).code == 0
    texts = "".join(f"{line}\n" for line in TRANSLATIONS)
    done = piped(folder, "report one -o r.md -r ref.txt --baseline other=b.txt", **{"ref.txt": texts, "b.txt": texts})
    assert (done.code, done.err) == (0, "mtagent: written: r.md\n")
    done = piped(folder, "export one --like like.txt -o out.txt", **{"like.txt": texts.replace("\n", "\r\n")})
    assert (done.code, done.err) == (0, "mtagent: written: out.txt\n")
    assert (folder / "out.txt").read_bytes().count(b"\r\n") == 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere", "no such folder"), ("en.txt", "is a file; name its folder"), ("empty", "has no prompt, which would be a file")],
)
def test_prompts_that_are_not_there_are_told(name: str, reason: str, shell: Shell) -> None:
    (shell.folder / "empty").mkdir()
    done = shell.postedit(f"--prompts {name}")
    assert done.code == 1
    assert f"mtagent: prompts {name}: {reason}" in done.err
    shell.write("c.toml", f'prompts = "{name}"')
    assert f"prompts {name}: {reason}" in shell.postedit("--config c.toml").err
