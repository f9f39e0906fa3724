"""Scores from files, folders and runs: what is read, what goes together, and what is refused, with file and line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.agreement import Row
from mtagent.analysis.matching import Inputs, Match, gather
from tests.commands import Done, Shell

TABLE = ["system\tseg\tmqm\tX\tY", "A\t1\t-1\t0.5\t90", "A\t2\t-2\t0.4\t80", "B\t1\t0\t0.9\t70", "B\t2\t-5\t0.1\t60"]
ROWS = [Row("A", "1", 0.5, -1.0), Row("A", "2", 0.4, -2.0), Row("B", "1", 0.9, 0.0), Row("B", "2", 0.1, -5.0)]


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with the same scores in several forms."""
    shell.write("t.tsv", *TABLE)
    shell.write("t.csv", *(line.replace("\t", ",") for line in TABLE))
    shell.write("x.seg.score", "A\t0.5", "A\t0.4", "B\t0.9", "B\t0.1")
    shell.write("gold.tsv", *("\t".join(line.split("\t")[:3]) for line in TABLE))
    shell.write("gold.seg.score", "A\t-1", "A\t-2", "B\t0", "B\t-5")
    shell.write("x.jsonl", *map(json.dumps, objects("X", [0.5, 0.4, 0.9, 0.1])))
    shell.write("gold.jsonl", *map(json.dumps, objects("people", [-1, -2, 0, -5])))
    return shell


def objects(who: str, scores: Sequence[float | None], **more: Any) -> list[dict[str, Any]]:
    """Two systems, two segments, as ``mtagent rate`` writes them: by segment, then by system."""
    (first, second, third, fourth) = scores
    places = (("A", "1", first), ("B", "1", third), ("A", "2", second), ("B", "2", fourth))
    return [
        {"id": item, "system": system, "evaluator": who, "score": score, "confidence": 0.5, "seconds": 1.5, **more}
        for system, item, score in places
    ]


def read(**inputs: Any) -> list[Match]:
    return gather(Inputs(**inputs))


def rows(found: Match) -> list[Row]:
    return sorted(found.rows)


# --- every form gives the same rows


@pytest.mark.parametrize("file", ["t.tsv", "t.csv", "x.seg.score", "x.jsonl"])
@pytest.mark.parametrize("human", ["gold.tsv", "mqm=gold.tsv", "gold.seg.score", "gold.jsonl", "people=gold.jsonl"])
def test_every_form_of_scores_goes_with_every_other(files: Shell, file: str, human: str) -> None:
    metrics = ("X",) if file.startswith("t") else ()
    (found,) = read(human=human, files=(file,), metrics=metrics)
    assert rows(found) == ROWS
    assert found.name == ("x" if file == "x.seg.score" else "X")


def test_people_s_scores_are_a_column_of_the_same_file(files: Shell) -> None:
    found = read(human="mqm", files=("t.tsv",))
    assert [one.name for one in found] == ["X", "Y"]
    assert rows(found[0]) == ROWS
    assert found[0].human.signature.startswith("file:t.tsv|column:mqm|sha256:")


def test_people_s_scores_may_stand_in_the_rows_of_every_evaluator(files: Shell) -> None:
    both = [
        one | {"human": n}
        for who in "XZ"
        for n, one in zip((-1, 0, -2, -5), objects(who, [0.5, 0.4, 0.9, 0.1]), strict=True)
    ]
    files.write("long.jsonl", *map(json.dumps, both))
    assert [(one.name, rows(one)) for one in read(human="human", files=("long.jsonl",))] == [("X", ROWS), ("Z", ROWS)]


def test_a_name_is_given_to_the_only_evaluator_of_a_file(files: Shell) -> None:
    found = read(human="gold.tsv", files=("one=x.jsonl", "two=x.seg.score"))
    assert [one.name for one in found] == ["one", "two"]


def test_systems_are_matched_by_the_names_that_mt_metrics_eval_allows(files: Shell) -> None:
    files.write("gold.seg.score", "gpt_4_1\t-1", "gpt_4_1\t-2", "B\t0", "B\t-5")
    files.write("x.jsonl", *(json.dumps(one).replace('"A"', '"gpt-4.1"') for one in objects("X", [0.5, 0.4, 0.9, 0.1])))
    (found,) = read(human="gold.seg.score", files=("x.jsonl",))
    assert [row.system for row in rows(found)] == ["B", "B", "gpt_4_1", "gpt_4_1"]


def test_a_file_without_names_of_systems_is_about_the_only_one(files: Shell) -> None:
    files.write("comet.txt", "0.5", "0.4")
    files.write("gold.tsv", "id\tsystem\tda", "1\tA\t70", "2\tA\t80")
    (found,) = read(human="gold.tsv", files=("comet.txt",))
    assert rows(found) == [Row("A", "1", 0.5, 70.0), Row("A", "2", 0.4, 80.0)]


def test_lower_scores_that_are_better_are_turned_round(files: Shell) -> None:
    (found,) = read(human="mqm", files=("t.tsv",), metrics=("X",), lower=("X",))
    assert [row.evaluator for row in rows(found)] == [-0.5, -0.4, -0.9, -0.1]
    assert found.evaluator.signature.endswith("|negated:yes")


def test_several_columns_tell_segments_apart(files: Shell) -> None:
    files.write(
        "d.tsv",
        "lp\tdocument\tparagraph\tsystem\tmqm\tX",
        *(f"en-de\t{d}\t{p}\tA\t-{p}\t{p}" for d in "uv" for p in "01"),
    )
    (found,) = read(human="mqm", files=("d.tsv",), item=("document", "paragraph"))
    assert [row.item for row in found.rows] == ["u/0", "u/1", "v/0", "v/1"]
    assert found.human.about["u/1"].document == "u"


def test_names_with_underscores_are_no_scores_and_column_names_have_any_case(files: Shell) -> None:
    files.write("u.TSV", "System\tSeg\tplace\tmqm\tX", "A\t1\t12_3\t-1\t1", "B\t1\t12_4\t-2\t2")
    (found,) = read(human="mqm", files=("u.TSV",))
    assert (found.name, rows(found)) == ("X", [Row("A", "1", 1, -1), Row("B", "1", 2, -2)])


def test_only_rows_of_the_language_pair_are_read(files: Shell) -> None:
    files.write("l.tsv", "lp\tid\tmqm\tX", "en-de_DE\t1\t0\t1", "en-cs\t2\t0\t1", "en-cs\t3\t-1\t0")
    (found,) = read(human="mqm", files=("l.tsv",), lp="en-cs")
    assert [row.item for row in found.rows] == ["2", "3"]
    with pytest.raises(Exception, match=r"l\.tsv: no row is of the language pair en-fr"):
        read(human="mqm", files=("l.tsv",), lp="en-fr")


def test_given_scores_of_systems_count_where_both_sides_have_them(files: Shell) -> None:
    files.write("sys.tsv", "system\tmqm\tX\tY", "A\t-1.5\t30\t1", "B\t-2.5\t20\t2")
    found = read(human="mqm", files=("t.tsv",), system_scores=Path("sys.tsv"))
    systems = found[0].systems()
    assert systems is not None
    assert list(systems.rows()) == [Row("A", "", 30.0, -1.5), Row("B", "", 20.0, -2.5)]
    plain = read(human="mqm", files=("t.tsv",))[0].systems()
    assert plain is not None
    assert [row.evaluator for row in plain.rows()] == pytest.approx([0.45, 0.5])


# --- missing scores


def test_a_missing_score_is_refused_or_left_out(files: Shell) -> None:
    files.write("x.seg.score", "A\t0.5", "A\tNone", "B\t0.9", "B\t0.1")
    done = files("meta-eval -e x.seg.score --human gold.tsv")
    assert (done.code, done.out) == (1, "")
    assert "mtagent: x.seg.score:2: the score of segment '2' of system 'A' by x is missing; --missing leave" in done.err
    (found,) = gather(Inputs(human="gold.tsv", files=("x.seg.score",)), missing="leave-out")
    segments = found.segments()
    assert segments is not None
    assert (len(segments), segments.missing.evaluator) == (3, 1)


def test_a_failed_rating_says_why_it_is_missing(files: Shell) -> None:
    lines = objects("X", [0.5, 0.4, 0.9, 0.1])
    lines[2] |= {"score": None, "evaluator": None, "error": "Refused: no"}
    files.write("x.jsonl", *map(json.dumps, lines))
    done = files("meta-eval -e x.jsonl --human gold.tsv")
    assert "x.jsonl:3: the score of segment '2' of system 'A' by X is missing (Refused: no)" in done.err


def test_with_leave_out_what_one_side_lacks_is_counted(files: Shell) -> None:
    files.write("gold.tsv", *TABLE[:3], "B\t1\t0\t0\t0", "C\t1\t0\t0\t0")
    (found,) = gather(Inputs(human="mqm=gold.tsv", files=("x.jsonl",)), missing="leave-out")
    assert (len(found.rows), found.human.names()) == (4, ["A", "B"])
    segments = found.segments()
    assert segments is not None
    assert segments.missing.human == 1


# --- what is refused


HEAD = "system\tseg\tX\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "e.tsv:1: is empty; the first line must name the columns"),
        (HEAD, "e.tsv: there is no row in it"),
        (HEAD + "A\t1\n", "e.tsv:2: 2 columns instead of 3"),
        ("system\tX\tX\nA\t1\t2\n", "e.tsv:1: two columns are called 'X'"),
        (HEAD + "A\t1\tgood\n", "e.tsv:1: no column holds scores; there are: system, seg, X"),
        (HEAD + "A\t1\t1\nA\t2\tNaN\n", "e.tsv:3: 'X' is 'NaN', which is no score; a missing one is None (or an empty"),
        (HEAD + "A\t1\tinf\n", "e.tsv:2: 'X' is 'inf', which is no score"),
        (HEAD + "A\t1\t1\nA\t2\t1_0\n", "e.tsv:3: 'X' is '1_0', which is no score"),
        (HEAD + "A\t1\t1\nA\t2\tn/a\n", "e.tsv:3: 'X' is 'n/a', which is no score"),
        (HEAD + "A\t1\t1\nA\t1\t2\n", "e.tsv:3: system 'A', segment '1' has a score already (e.tsv:2)"),
        (
            "system\tdocument\tseg\tX\nA\tu\t1\t1\nA\tv\t1\t2\n",
            "where ids repeat, name all columns that tell segments apart: --item document,seg",
        ),
        (HEAD + "A\t\t1\n", "e.tsv:2: 'seg' is empty; it names the segment"),
        (
            HEAD + "A\t1\t1\nC\t1\t2\n",
            "e.tsv:3: system 'C' has scores of X, and none of mqm in gold.tsv; there are: A, B. --drop-systems C",
        ),
        (
            HEAD + "A\t1\t1\nA\t2\t1\n",
            "gold.tsv:4: system 'B' has scores of mqm, and none of X in e.tsv; there are: A. --drop-systems B",
        ),
        (
            HEAD + "A\t1\t1\nA\t22\t1\nB\t1\t1\nB\t22\t1\n",
            "gold.tsv:3: segment '2' of system 'A' has no score of X in e.tsv; did you mean '22'?",
        ),
        (
            HEAD + "A\ts\t1\nB\ts\t1\n",
            "gold.tsv:2: segment '1' of system 'A' has no score of X in e.tsv; there are: s.",
        ),
    ],
)
def test_what_is_wrong_in_a_table_is_named_with_its_place(files: Shell, content: str, message: str) -> None:
    (files.folder / "e.tsv").write_text(content, encoding="utf-8")
    assert message in refused(files("meta-eval -e e.tsv --human gold.tsv"))


def test_a_segment_that_both_sides_lack_for_a_system_is_missing_too(files: Shell) -> None:
    files.write("t.tsv", *TABLE[:-1])
    message = refused(files("meta-eval -e t.tsv --human mqm"))
    assert "t.tsv: system 'B' has no score of segment '2', which others have (t.tsv has none either)" in message
    (found, _) = gather(Inputs(human="mqm", files=("t.tsv",)), missing="leave-out")
    segments = found.segments()
    assert segments is not None
    assert segments.missing.absent == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", '{"id": "1", "score": NaN, "evaluator": "X"}\n', "e.jsonl:1: "),
        ("e.jsonl", '{"id": "1", "score": true, "evaluator": "X"}\n', "e.jsonl:1: 'score' is True, which is no score"),
        ("e.jsonl", '{"id": "1", "score": 1}\n{\n', "e.jsonl:2:2: not JSON"),
        ("e.jsonl", '{"id": "1", "score": 1, "errors": [{"text": "a"}]}\n', "e.jsonl:1: error 1 of 1: no 'category'"),
        ("e.seg.score", "A\tNaN\n", "e.seg.score:1: 'NaN' is no score"),
        ("e.seg.score", "A 0.5\n", "e.seg.score:1: 'A 0.5' is no score"),
        ("e.seg.score", "", "e.seg.score: holds no scores"),
        (
            "e.seg.score", "A\t1\nA\t2\nA\t3\nB\t1\nB\t2\n",
            "e.seg.score: 3 scores of system 'A', and gold.tsv has 2; segments without ids are matched by position",
        ),
        ("e.sys.score", "A\t1\n", "e.sys.score: give e.seg.score; what stands beside it is read as well"),
        ("lost.tsv", None, "lost.tsv: no such file"),
        ("", None, ".: is a folder; --mtme reads those of mt-metrics-eval"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_other_files_is_named(files: Shell, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (files.folder / name).write_text(content, encoding="utf-8")
    assert message in refused(files(f"meta-eval -e {name or '.'} --human gold.tsv"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-e x.jsonl --human mqmm=gold.tsv", "gold.tsv:1: no column 'mqmm'; did you mean 'mqm'?"),
        ("-e t.tsv --human mqmm", "--human mqmm: neither a file nor a column of the scores; did you mean 'mqm'?"),
        ("-e t.tsv --human mqm --metrics COMET", "--metrics COMET: no such evaluator; there are: X, Y"),
        ("-e t.tsv --human mqm --lower Z", "--lower Z: no such evaluator; there are: X, Y"),
        ("-e t.tsv --human mqm --item segg", "t.tsv:1: no column 'segg'; did you mean 'seg'?"),
        ("-e t.tsv --human mqm --drop-systems AA", "--drop-systems AA: no such system; did you mean 'A'?"),
        ("-e t.tsv --human mqm --drop-systems A,B", "t.tsv: no system of mqm is left to compare"),
        (
            "-e x.jsonl --human t.tsv",
            "t.tsv:1: which scores are people's? name them: --human NAME=t.tsv; there are: mqm",
        ),
        ("-e N=t.tsv --human mqm", "t.tsv: has scores of 2 evaluators; leave out N=, and choose with --metrics"),
        (
            "-e x.jsonl z.tsv --human mqm",
            "z.tsv:2: system 'A', segment '1' has a score already (x.jsonl:1); if X are two, name them apart",
        ),
        ("-e t.tsv", "whose judgement to compare with? --human FILE, NAME=FILE, or a column of the scores"),
        ("-e t.tsv --human lost.tsv", "lost.tsv: no such file"),
        ("-e t.tsv --human folder.tsv", "folder.tsv: is a folder"),
        ("--mtme lost --human mqm", "lost: is no folder of mt-metrics-eval"),
        ("-e t.tsv --human mqm --system-scores y.tsv", "y.tsv:1: no column 'Y'; there are: mqm, X"),
        ("-e t.tsv --human mqm --system-scores twice.tsv", "twice.tsv:3: system 'A' has a score already (twice.tsv:2)"),
        ("-e t.tsv --human mqm --system-scores who.tsv", "who.tsv:1: no column 'system'; there are: who, mqm, X, Y"),
    ],
)
def test_what_does_not_fit_is_named(files: Shell, line: str, message: str) -> None:
    (files.folder / "folder.tsv").mkdir()
    files.write("y.tsv", "system\tmqm\tX", "A\t1\t1", "B\t1\t1")
    files.write("z.tsv", "system\tid\tmqm\tX", "A\t1\t1\t1", "B\t1\t1\t1")
    files.write("twice.tsv", "system\tmqm\tX\tY", "A\t1\t1\t1", "A\t1\t1\t1")
    files.write("who.tsv", "who\tmqm\tX\tY", "A\t1\t1\t1")
    assert message in refused(files(f"meta-eval {line}"))


def refused(done: Done) -> str:
    """What the one line says that a refusal is."""
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    return done.err


def test_scores_of_another_translation_are_refused(files: Shell) -> None:
    files.write("x.jsonl", *map(json.dumps, objects("X", [0.5, 0.4, 0.9, 0.1], translation="Hallo Welt.")))
    files.write("gold.jsonl", *map(json.dumps, objects("people", [-1, -2, 0, -5], translation="Hallo  Welt.\n")))
    assert files("meta-eval -e x.jsonl --human gold.jsonl").code == 0
    files.write("gold.jsonl", *map(json.dumps, objects("people", [-1, -2, 0, -5], translation="Guten Tag.")))
    done = files("meta-eval -e x.jsonl --human gold.jsonl")
    assert "x.jsonl:1: segment '1' of system 'A' has another translation than in gold.jsonl:1" in done.err


# --- folders of mt-metrics-eval


@pytest.fixture
def testset(files: Shell) -> Shell:
    """The shell with such a folder, of two language pairs."""
    contents = {
        "human-scores/en-de.mqm.seg.score": "A\t-1\nA\t-2\nB\t0\nB\tNone\nrefA\t0\nrefA\t0\n",
        "human-scores/en-de.mqm.sys.score": "A\t-1.5\nB\t0\nrefA\t0\n",
        "human-scores/en-de.esa.seg.score": "A\t90\nA\t80\nB\t70\nB\t60\n",
        "human-scores/cs-uk.mqm.seg.score": "A\t0\n",
        "metric-scores/en-de/X-refA.seg.score": "A\t0.5\nA\t0.4\nB\t0.9\nB\t0.1\nrefA\t1\nrefA\t1\n",
        "metric-scores/en-de/X-refA.sys.score": "A\t7\nB\t8\nrefA\t9\n",
        "metric-scores/en-de/Y-src.seg.score": "B\t1\nB\t2\nA\t3\nA\t4\n",
        "sources/en-de.txt": "Hello there.\nBye.\n",
        "documents/en-de.docs": "news\td1\ntalk\td2\n",
    }
    for name, content in contents.items():
        path = files.folder / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return files


def test_a_folder_is_read_with_its_scores_of_systems(testset: Shell) -> None:
    inputs = Inputs(human="mqm", folder=Path("set"), lp="en-de", metrics=("X",))
    (found,) = gather(inputs, missing="leave-out", drop=("refA",))
    assert [one.name for one in (found.human, found.evaluator)] == ["mqm", "X-refA"]
    systems = found.systems()
    assert systems is not None
    assert list(systems.rows()) == [Row("A", "", 7.0, -1.5), Row("B", "", 8.0, 0.0)]
    assert found.rows[3] == Row("B", "2", 0.1, None)
    assert found.human.about["2"].domain == "talk"


def test_systems_stand_in_any_order_in_a_folder(testset: Shell) -> None:
    found = read(human="esa", folder=Path("set"), lp="en-de", metrics=("Y-src",))
    assert found[0].rows == (Row("A", "1", 3, 90), Row("A", "2", 4, 80), Row("B", "1", 1, 70), Row("B", "2", 2, 60))


def test_a_metric_that_saw_a_reference_is_warned_of(testset: Shell) -> None:
    done = testset("meta-eval --mtme set -l en-de --human mqm --metrics X --missing leave-out")
    assert "warning: X-refA: saw the reference refA, which is one of the systems: --drop-systems refA" in done.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--human mqm", "set: has 2 language pairs; choose one with -l; there are: cs-uk, en-de"),
        ("-l en-da --human mqm", "set/human-scores: nothing for 'en-da'; did you mean 'en-de'?"),
        ("-l en-de", "set: people's scores are several; choose with --human; there are: esa, mqm"),
        ("-l en-de --human mqmm", "no en-de.mqmm.seg.score; did you mean 'mqm'?"),
        (
            "-l en-de --human esa --metrics COMET",
            "set/metric-scores/en-de: no metric 'COMET'; there are: X-refA, Y-src",
        ),
        ("-l cs-uk --human mqm", "set/metric-scores/cs-uk: there is no NAME-REF.seg.score"),
        ("-l en-de --human mqm", "system 'refA' has scores of X-refA, and none"),
        ("-l en-de --human esa --metrics X --drop-systems B", "system 'refA' has scores of X-refA, and none of esa"),
    ],
)
def test_what_a_folder_lacks_is_named(testset: Shell, line: str, message: str) -> None:
    if "refA' has scores of X-refA, and none" in message and "esa" not in line:
        (testset.folder / "set/human-scores/en-de.mqm.seg.score").write_text("A\t-1\nA\t-2\nB\t0\nB\t0\n")
        (testset.folder / "set/human-scores/en-de.mqm.sys.score").unlink()
    done = testset(f"meta-eval --mtme set {line}")
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_a_folder_whose_files_are_about_other_numbers_of_segments(testset: Shell) -> None:
    (testset.folder / "set/documents/en-de.docs").write_text("news\td1\n")
    done = testset("meta-eval --mtme set -l en-de --human esa")
    assert "en-de.docs: has 1 lines, and there are 2 sources" in done.err
    (testset.folder / "set/documents/en-de.docs").unlink()
    (testset.folder / "set/human-scores/en-de.esa.seg.score").write_text("A\t1\nB\t1\n")
    done = testset("meta-eval --mtme set -l en-de --human esa")
    assert "en-de.esa.seg.score: 1 scores of 'A', and there are 2 segments" in done.err


# --- stored ratings


def test_a_stored_run_is_an_evaluator(files: Shell) -> None:
    files("rate -s en.txt -t a=es.txt b=en.txt -l en-es --evaluator rules -q -o r.jsonl --name stored")
    scores = [json.loads(line) for line in files.read("r.jsonl")]
    files.write("gold.tsv", "system\tid\tmqm", *(f"{one['system']}\t{one['id']}\t{-n}" for n, one in enumerate(scores)))
    found = read(human="gold.tsv", runs=("stored", "again=stored"), files=("file=r.jsonl",))
    assert [one.name for one in found] == ["file", "rules", "again"]
    assert rows(found[0]) == rows(found[1]) == rows(found[2])
    assert found[0].evaluator.signature == found[1].evaluator.signature
    assert found[1].human.marks is False
    assert found[1].evaluator.marks


def test_a_failed_rating_of_a_run_says_why_it_is_missing(files: Shell) -> None:
    files.write("a.seg.rating", *['one\t{"errors": []}\tr'] * 3)
    line = "rate -s en.txt -t one=es.txt two=en.txt -l en-es --evaluator spans-file:path=a.seg.rating"
    assert files(f"{line} --name stored -q -o r.jsonl").code == 3
    files.write("gold.tsv", "system\tid\tmqm", *(f"{who}\t{n}\t-{n}" for who in ("one", "two") for n in (1, 2, 3)))
    message = refused(files("meta-eval --run stored --human gold.tsv"))
    assert "the score of segment '1' of system 'two' by spans-file is missing (" in message
    assert "holds no ratings of system 'two'" in message


def test_a_run_of_another_kind_is_refused(files: Shell) -> None:
    files.postedit("--run chain -o o.txt -q")
    message = refused(files("meta-eval --run chain --human gold.tsv"))
    assert "run 'chain' holds no ratings of texts; rate what it made: mtagent rate --run chain" in message
    assert "nothing" in refused(files("meta-eval --run nothing --human gold.tsv"))
