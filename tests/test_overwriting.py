"""No output takes the place of a file that the run reads, whichever option names the one or the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import SOURCES, TRANSLATIONS, Shell
from tests.span_writers import Case, marot, mtme

CASES = [Case(str(n), *texts, ()) for n, texts in enumerate(zip(SOURCES, TRANSLATIONS, strict=True), start=1)]
HTTP = "--base-url http://127.0.0.1:9/v1 --model m"


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with a file for each option that names one."""
    rows = [{"id": c.id, "source": c.source, "translation": c.translation, "errors": []} for c in CASES]
    shell.write("x.jsonl", *map(json.dumps, rows))
    marot(shell.folder / "hw.tsv", CASES)
    mtme(shell.folder / "human" / "en-de.mqm.seg.rating", CASES)
    rating = (shell.folder / "human" / "en-de.mqm.seg.rating").read_text(encoding="utf-8")
    (shell.folder / "h1.seg.rating").write_text(rating, encoding="utf-8")
    shell.write("g.csv", "source,target", "cat,gato")
    shell.write("keep.txt", "5")
    shell.write("c.toml", 'source_lang = "en"', 'target_lang = "es"')
    shell.write("g.toml", 'glossary = "g.csv"')
    (shell.folder / "mine").mkdir()
    shell.write("mine/rubric-mqm.toml", "# mine")
    return shell


def contents(folder: Path) -> dict[Path, bytes]:
    """All files but the store, which a refused run may have opened."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "store.db" not in path.name}


@pytest.mark.parametrize(
    ("line", "lost", "option"),
    [
        ("--evaluator spans-file:path=x.jsonl -o x.jsonl", "x.jsonl", "--evaluator spans-file:path=x.jsonl"),
        ("--evaluator spans-file:path=x.jsonl -o ./mine/../x.jsonl", "x.jsonl", "--evaluator spans-file"),
        ("--evaluator spans-file:path=h1.seg.rating -o h1.seg.score", "h1.seg.rating", "--evaluator spans-file"),
        ("--evaluator spans-file:path=h1.seg.rating -o h1.sys.score", "h1.seg.rating", "--evaluator spans-file"),
        (
            "--evaluator spans-file:path=human/en-de.mqm.seg.rating -o sources/en-de.txt",
            "sources/en-de.txt",
            "--evaluator spans-file",
        ),
        (
            "--evaluator spans-file:path=human/en-de.mqm.seg.rating -o system-outputs/en-de/sys.txt",
            "sys.txt",
            "--evaluator spans-file",
        ),
        ("--glossary g.csv -o g.csv", "g.csv", "--glossary"),
        ("--config g.toml -o g.csv", "g.csv", "--glossary"),
        ("--keep keep.txt -o keep.txt", "keep.txt", "--keep"),
        ("--config c.toml -o c.toml", "c.toml", "--config"),
        ("--prompts mine -o mine/rubric-mqm.toml", "rubric-mqm.toml", "--prompts, rubric-mqm.toml"),
        ("--store s.db -o s.db", "s.db", "--store"),
        (f"--evaluator rate:search=local,knowledge=keep.txt {HTTP} -o keep.txt", "keep.txt", "--evaluator rate"),
        (f"--evaluator rate {HTTP} -o knowledge.db", "knowledge.db", "--evaluator rate"),
        ("--llm local:keep.txt -o keep.txt", "keep.txt", "--llm"),
    ],
)
@pytest.mark.parametrize("command", ["rate", "postedit", "details"])
def test_what_a_run_reads_is_no_output(command: str, line: str, lost: str, option: str, files: Shell) -> None:
    if command != "rate" and "h1.seg" in line:
        line = line.replace(".score", ".rating").replace("sys.rating", "seg.rating")
    before = contents(files.folder)
    line = line if command != "details" else line.replace("-o ", "--details ")
    done = files(f"{command.replace('details', 'postedit')} -s en.txt -t es.txt -l en-es {line}")
    assert done.code == 1
    assert f"{lost}: the results would overwrite the file of {option}" in done.err
    assert contents(files.folder) == before


def test_the_judge_s_file_is_one_that_is_read(files: Shell) -> None:
    done = files.postedit("--gate rate --judge spans-file:path=hw.tsv -o hw.tsv")
    assert (done.code, "would overwrite the file of --evaluator spans-file:path=hw.tsv" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("output", "option"), [("en.txt", "-s"), ("es.txt", "-t"), ("g.csv", "--glossary"), ("c.toml", "--config")]
)
def test_a_calibration_takes_no_file_s_place(output: str, option: str, files: Shell) -> None:
    before = contents(files.folder)
    line = f"himate calibrate -s en.txt -t es.txt --glossary g.csv --config c.toml {HTTP} -o {output}"
    done = files(line)
    assert (done.code, f"{output}: the results would overwrite the file of {option}" in done.err) == (1, True)
    assert contents(files.folder) == before


@pytest.mark.parametrize("command", ["postedit", "rate"])
def test_an_export_takes_no_file_s_place(command: str, files: Shell) -> None:
    name = "--run" if command == "postedit" else "--name"
    assert files(f"{command} -s en.txt -t es.txt -l en-es -q {name} r").code == 0
    done = files("runs export r -o store.db")
    assert (done.code, "store.db: is the store" in done.err) == (1, True)
    assert files("runs list").code == 0


def test_an_export_does_not_replace_what_the_run_was_made_from(files: Shell) -> None:
    assert files.postedit("-q --run r -r es.txt").code == 0
    before = contents(files.folder)
    for line in ("-o en.txt", "-o es.txt", "-o out.txt --details en.txt"):
        done = files(f"runs export r {line}")
        assert (done.code, ".txt: the run was made from this file" in done.err) == (1, True)
    assert contents(files.folder) == before


def test_the_details_of_an_export_take_no_file_s_place(files: Shell) -> None:
    assert files.postedit("-q --run r").code == 0
    done = files("runs export r -o out.txt --like es.txt --details es.txt")
    assert "es.txt: the run was made from this file" in done.err
    assert "cannot both go to one file" in files("runs export r -o out.txt --details out.txt").err
    assert files.read("es.txt") == TRANSLATIONS


def test_ratings_of_a_run_do_not_take_the_place_of_annotations(files: Shell) -> None:
    assert files.postedit("-q --run r").code == 0
    before = contents(files.folder)
    done = files("rate --run r --evaluator spans-file:path=hw.tsv -o hw.tsv --format marot")
    assert (done.code, "hw.tsv: the results would overwrite" in done.err) == (1, True)
    assert contents(files.folder) == before


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", ".run-1.lock"])
@pytest.mark.parametrize(
    "line",
    [
        "postedit -s en.txt -t es.txt -l en-es --store s.db -o {}",
        "postedit -s en.txt -t es.txt -l en-es --store s.db -o o.txt --details {}",
        "rate -s en.txt -t es.txt -l en-es --store s.db -o {}",
        "runs export r -o {}",
        "export r --format wmt25 -o {} --force",
        "report r --format csv -o {} --force",
    ],
)
def test_what_belongs_to_the_store_is_no_output(line: str, end: str, files: Shell) -> None:
    assert files.postedit("--run r -o o.txt").code == 0
    name = ("s.db" if "--store" in line else "store.db") + end
    done = files(line.format(name))
    assert done.code == 1
    assert f"{name}: " in done.err
    assert "the store" in done.err or "the file of --store" in done.err
    assert len(done.err.strip().splitlines()[-1]) < 300
    assert not (files.folder / name).is_file() or end != "-journal"


def test_what_belongs_to_a_store_is_no_output_by_another_name_of_the_store(files: Shell) -> None:
    assert files.postedit("--run r -o o.txt").code == 0
    (files.folder / "link.db").symlink_to("store.db")
    done = files("postedit -s en.txt -t es.txt -l en-es --store link.db -o store.db.run-1.lock")
    assert (done.code, "store.db.run-1.lock: the results would overwrite" in done.err) == (1, True)
