"""The metric ``scores-file``: scores of other tools, in the forms that they write."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from mtagent.metrics.scores_file import read_scores
from tests.commands import Shell

REFERENCE = ["El gato se sentó aquí.", "Hola, gran mundo.", "Paga cinco dólares ahora."]
OTHER = ["El gato está aquí.", "", "Pay five dollars now please sir."]


@pytest.fixture
def files(shell: Shell) -> Shell:
    """References, and a second system beside ``es.txt``."""
    shell.write("ref.txt", *REFERENCE)
    shell.write("other.txt", *OTHER)
    return shell


NUMBERS = "0.5\n0.25\n0.75\n"
PRINTED = (
    "".join(f"es.txt\tSegment {i}\tscore: {x}\n" for i, x in enumerate((0.5, 0.25, 0.75))) + "es.txt\tscore: 0.5\n"
)


def comet_json(translations: Sequence[str]) -> str:
    pairs = zip(translations, (0.5, 0.25, 0.75), strict=True)
    return json.dumps({"out/es.txt": [{"src": "s", "mt": mt, "COMET": score} for mt, score in pairs]}, indent=4)


@pytest.mark.parametrize(
    ("name", "content", "label"),
    [
        ("qe.txt", NUMBERS, "qe"),
        ("COMET-refA.seg.score", "es\t0.5\nb\t9\nes\t0.25\nes\t0.75\nb\t9\nb\t9\n", "COMET-refA"),
        ("printed.txt", PRINTED, "COMET"),
        (
            "rated.jsonl",
            "".join(f'{{"system": "es", "evaluator": "E", "score": {x}}}\n' for x in (0.5, 0.25, 0.75)),
            "E",
        ),
    ],
)
def test_scores_of_other_tools_are_shown(files: Shell, name: str, content: str, label: str) -> None:
    (files.folder / name).write_text(content, encoding="utf-8")
    done = json.loads(files(f"score -t es.txt -r ref.txt -l en-es -m scores-file:path={name} --confidence -f json").out)
    assert (done["name"], done["score"], done["agg"]) == (label, 0.5, "mean")
    assert done["signature"].startswith(f"file:{name}|bs:1000|seed:12345|sha256:")
    assert 0.3 < done["confidence_mean"] < 0.7


def test_the_json_of_comet_is_checked_against_the_translations(files: Shell) -> None:
    path = files.folder / "comet.json"
    path.write_text(comet_json(files.read("es.txt")), encoding="utf-8")
    line = "score -t es.txt -m scores-file:path=comet.json"
    assert "COMET|file:comet.json|" in files(line).out
    path.write_text(comet_json(OTHER), encoding="utf-8")
    assert "comet.json: out/es.txt, segment 1: was computed for another translation of segment '1'" in files(line).err


def test_each_metric_has_the_digits_that_suit_its_scale(files: Shell) -> None:
    files.write("unit.es.txt", "0.5", "-1", "1")
    files.write("unit.other.txt", "0.5", "-1", "0.98765")
    files.write("mqm.es.txt", "0", "0", "0")
    files.write("mqm.other.txt", "-5", "0", "-1.25")
    line = "score -t es.txt other.txt -r ref.txt -l en-es -m chrf" + "".join(
        f" scores-file:path={name}.{{system}}.txt" for name in ("unit", "mqm")
    )
    rows = [table_row.split() for table_row in files(line).out.splitlines() if table_row.startswith(("es ", "other "))]
    assert [[len(cell.partition(".")[2]) for cell in row[1:]] for row in rows] == [[2, 4, 2]] * 2
    assert rows[0][2] == "0.1667"
    wide = [
        table_row.split()
        for table_row in files(f"{line} -w 3").out.splitlines()
        if table_row.startswith(("es ", "other "))
    ]
    assert [[len(cell.partition(".")[2]) for cell in row[1:]] for row in wide] == [[3, 3, 3]] * 2
    scores = [score["score"] for score in json.loads(files(f"{line} -f json").out)]
    assert scores[2:4] == pytest.approx([1 / 6, 0.48765 / 3])
    assert scores[:2] != [round(score, 2) for score in scores[:2]], "JSON is not rounded"
    assert scores[4:] == pytest.approx([0.0, -6.25 / 3])
    assert files(f"{line} -sl").out.splitlines()[-2].endswith(" = 0.9877")


def test_a_file_for_each_system(files: Shell) -> None:
    files.write("x.es.txt", "1", "2", "3")
    files.write("x.other.txt", "3", "4", "5")
    line = "score -t es.txt other.txt -f json --paired-bs -m scores-file:label=X,path="
    scores = json.loads(files(f"{line}x.{{system}}.txt").out)
    assert [(score["system"], score["score"]) for score in scores] == [("es", 2), ("other", 4)]
    assert "x.es.txt: holds the scores of one system, and there are 2" in files(f"{line}x.es.txt").err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0.5\nNone\n0.1\n", "s.txt:2: 'None' isn't a score; every segment needs one"),
        ("0.5\nnan\n0.1\n", "s.txt:2: 'nan' isn't a score"),
        ("0.5\n0.1\n", "s.txt: has 2 scores of 'es', and there are 3 segments"),
        ("", "s.txt: holds no scores"),
        ("1\n2\n3\nes\t1\nes\t2\nes\t3\n", "s.txt: some of its scores name a system (es), others do not"),
        ("a\t1\na\t2\na\t3\nb\t1\nb\t2\nb\t3\n", "has no scores of 'es'; name one with system=NAME: a, b"),
        ('{"score": null, "error": "Refused: no"}\n', "s.txt:1: has no score: Refused: no"),
        ('{"score": true}\n', "s.txt:1: True isn't a score"),
        ('{"score": 1}\n[]\n', 's.txt:2: expected an object with a "score"'),
        ('{"score": 1, "id": "9"}\n' * 3, "s.txt:1: is about segment '9', where '1' should be"),
        ("[1, 2]\n", "s.txt: is neither the JSON of comet-score"),
        ('{"f": [{"mt": "x"}]}', 's.txt: f, segment 1: has no "COMET"'),
    ],
)
def test_what_is_no_score_is_named(files: Shell, content: str, message: str) -> None:
    (files.folder / "s.txt").write_text(content, encoding="utf-8")
    done = files("score -t es.txt -l en-es -m scores-file:path=s.txt")
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_systems_have_their_own_name_or_the_one_given_before_those_of_files(files: Shell) -> None:
    rows = [("es.txt", 9), ("es", 2), ("b", 1)] * 3
    path = files.write("M.seg.score", *(f"{system}\t{score}" for system, score in rows))
    assert {name: len(scores) for name, scores in read_scores(path).items()} == {"es.txt": 3, "es": 3, "b": 3}
    line = "score -t es.txt -l en-es -f json -m scores-file:path=M.seg.score"
    assert json.loads(files(line).out)["score"] == 2
    assert json.loads(files(f"{line},system=b").out)["score"] == 1
    assert "write scores-file:path=FILE" in files("score -t es.txt -m scores-file").err
