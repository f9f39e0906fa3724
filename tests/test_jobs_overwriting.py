"""No output takes the place of a file that the run reads, whichever option names the one or the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import SOURCES, TRANSLATIONS, Shell
from tests.span_writers import Case, marot, mtme
from tests.stored import sql

CASES = [Case(str(n), *texts, ()) for n, texts in enumerate(zip(SOURCES, TRANSLATIONS, strict=True), start=1)]
FILES = "-s en.txt -t es.txt -l en-es"
HTTP = "--base-url http://127.0.0.1:9/v1 --model m"
MQM = "human/en-de.mqm.seg.rating"


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with a file for each option that names one."""
    rows = [{"id": c.id, "source": c.source, "translation": c.translation, "errors": []} for c in CASES]
    shell.write("x.jsonl", *map(json.dumps, rows))
    marot(shell.folder / "hw.tsv", CASES)
    mtme(shell.folder / MQM, CASES)
    (shell.folder / "h1.seg.rating").write_bytes((shell.folder / MQM).read_bytes())
    shell.write("g.csv", "source,target", "cat,gato")
    shell.write("keep.txt", "5")
    shell.write("c.toml", 'source_lang = "en"', 'target_lang = "es"')
    shell.write("g.toml", 'glossary = "g.csv"')
    (shell.folder / "mine").mkdir()
    shell.write("mine/rubric-mqm.toml", "# mine")
    return shell


@pytest.fixture
def with_run(files: Shell) -> Shell:
    """The same, with a run ``r``."""
    assert files.postedit("-q --name r -o o.txt -r es.txt").code == 0
    return files


def refused(shell: Shell, line: str, *said: str) -> None:
    """``line`` ends with an error that says all this, and changes no file but the store, which it may open."""

    def contents() -> dict[Path, bytes]:
        paths = (path for path in shell.folder.rglob("*") if path.is_file() and "store.db" not in path.name)
        return {path: path.read_bytes() for path in paths}

    before = contents()
    done = shell(line)
    assert (done.code, [words for words in said if words not in done.err]) == (1, [])
    assert contents() == before


@pytest.mark.parametrize(
    ("line", "lost", "option"),
    [
        ("--evaluator spans-file:path=x.jsonl -o x.jsonl", "x.jsonl", "--evaluator spans-file:path=x.jsonl"),
        ("--evaluator spans-file:path=x.jsonl -o ./mine/../x.jsonl", "x.jsonl", "--evaluator spans-file"),
        ("--evaluator spans-file:path=h1.seg.rating -o h1.seg.score", "h1.seg.rating", "--evaluator spans-file"),
        ("--evaluator spans-file:path=h1.seg.rating -o h1.sys.score", "h1.seg.rating", "--evaluator spans-file"),
        (f"--evaluator spans-file:path={MQM} -o sources/en-de.txt", "sources/en-de.txt", "--evaluator spans-file"),
        (f"--evaluator spans-file:path={MQM} -o system-outputs/en-de/sys.txt", "sys.txt", "--evaluator spans-file"),
        ("--glossary g.csv -o g.csv", "g.csv", "--glossary"),
        ("--config g.toml -o g.csv", "g.csv", "--glossary"),
        ("--keep keep.txt -o keep.txt", "keep.txt", "--keep"),
        ("--config c.toml -o c.toml", "c.toml", "--config"),
        ("--prompts mine -o mine/rubric-mqm.toml", "rubric-mqm.toml", "--prompts, rubric-mqm.toml"),
        ("--store s.db -o s.db", "s.db", "--store"),
        (f"--evaluator rate:search=local,knowledge=keep.txt {HTTP} -o keep.txt", "keep.txt", "--evaluator rate"),
        (f"--evaluator rate:search=local,knowledge=mine+keep.txt {HTTP} -o keep.txt", "keep.txt", "--evaluator rate"),
        (f"--evaluator rate:search=local,knowledge=. {HTTP} -o g.csv", "g.csv", "--evaluator rate"),
        ("--llm local:keep.txt -o keep.txt", "keep.txt", "--llm"),
    ],
)
@pytest.mark.parametrize("command", ["rate", "postedit", "details"])
def test_what_a_run_reads_is_no_output(command: str, line: str, lost: str, option: str, files: Shell) -> None:
    if command != "rate" and "h1.seg" in line:  # only ratings go to several files
        line = line.replace(".score", ".rating").replace("sys.rating", "seg.rating")
    line = line if command != "details" else line.replace("-o ", "--details ")
    said = f"{lost}: the results would overwrite the file of {option}"
    refused(files, f"{command.replace('details', 'postedit')} {FILES} {line}", said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"postedit {FILES} --gate rate --judge spans-file:path=hw.tsv -o hw.tsv", "--evaluator spans-file:path=hw"),
        ("rate --run r --evaluator spans-file:path=hw.tsv -o hw.tsv --format marot", "hw.tsv: the results would"),
        *(
            (f"export r --force {line}", ".txt: the run was made from this file")
            for line in (
                "-o en.txt",
                "-o es.txt",
                "-o n.txt --details en.txt",
                "-o n.txt --like es.txt --details es.txt",
            )
        ),
        ("export r -o out.txt --details out.txt", "cannot both go to one file"),
        ("export r -o store.db", "store.db: is the store"),
    ],
)
def test_what_another_command_reads_is_no_output(line: str, said: str, with_run: Shell) -> None:
    refused(with_run, line, said)
    assert with_run("runs list").code == 0


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", ".run-1.lock"])
@pytest.mark.parametrize(
    "line",
    [
        f"postedit {FILES} --store s.db -o {{}}",
        f"postedit {FILES} --store s.db -o n.txt --details {{}}",
        f"rate {FILES} --store s.db -o {{}}",
        "export r -o {}",
        "export r --format wmt25 -o {} --force",
        "report r --format csv -o {} --force",
    ],
)
def test_what_belongs_to_the_store_is_no_output(line: str, end: str, with_run: Shell) -> None:
    name = ("s.db" if "--store" in line else "store.db") + end
    done = with_run(line.format(name))
    assert (done.code, f"{name}: " in done.err) == (1, True)
    assert "the store" in done.err or "the file of --store" in done.err
    assert end != "-journal" or not (with_run.folder / name).is_file()


def test_what_belongs_to_a_store_is_no_output_by_another_name_of_the_store(with_run: Shell) -> None:
    (with_run.folder / "link.db").symlink_to("store.db")
    line = f"postedit {FILES} --store link.db -o store.db.run-1.lock"
    refused(with_run, line, "store.db.run-1.lock: the results would overwrite")


def test_a_resumed_run_replaces_only_what_it_wrote_itself_as_it_is_now(files: Shell) -> None:
    files.write("notes.txt", "mine")
    assert files.postedit("--name r -o o.txt --details d.jsonl").code == 0
    assert files.postedit("--name r -o o.txt --details d.jsonl").code == 0
    for line in ("-o notes.txt", "-o es.txt", "-o o.txt --details notes.txt", "-o o.txt --limit 1"):
        done = files.postedit(f"--name r {line}")
        assert (done.code, "already exists; --force replaces it" in done.last) == (1, True), line
    written = (files.folder / "o.txt").read_bytes()
    files.write("o.txt", "corrected by hand")
    assert "o.txt: is there already" in files.postedit("--name r -o o.txt").last
    assert files.postedit("--name r -o o.txt --force").code == 0
    assert (files.folder / "o.txt").read_bytes() == written
    assert files("rate -s en.txt -t es.txt -l en-es -o r.jsonl").code == 0
    assert files("rate -s en.txt -t es.txt -l en-es -o r.jsonl").code == 0
    files.write("r.jsonl", "mine")
    assert "r.jsonl: is there already" in files("rate -s en.txt -t es.txt -l en-es -o r.jsonl").last


def test_a_run_that_was_killed_while_it_wrote_its_output_goes_on(files: Shell) -> None:
    assert files.postedit("--name r -o o.txt").code == 0
    with sql(files.folder / "store.db") as connection:
        ((noted,),) = connection.execute("SELECT outputs FROM runs").fetchall()
        connection.execute("UPDATE runs SET outputs = ?", (json.dumps(dict.fromkeys(json.loads(noted), "")),))
    files.write("o.txt", "written, and not noted any more")
    assert files.postedit("--name r -o o.txt").code == 0


@pytest.mark.parametrize("command", ["postedit", "rate"])
def test_a_table_is_no_line_aligned_translation(command: str, files: Shell) -> None:
    files.write("t.csv", "id,target", "1,a")
    done = files(f"{command} -s en.txt -t t.csv -l en-es -o out.jsonl")
    assert done.code == 1
    assert "t.csv: -t" in done.last
    assert "read line by line" in done.last
