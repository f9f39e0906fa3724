"""Scores of one evaluator in several files, what must not go together, and which kind a file is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.agreement import Row
from mtagent.analysis.matching import Inputs, Match, gather
from mtagent.analysis.score_tables import is_table
from mtagent.errors import ConfigError, InputError
from tests.commands import Shell


def rated(shell: Shell, name: str, system: str, scores: Sequence[float], **more: Any) -> None:
    """Ratings of one system, as ``mtagent rate`` writes them."""
    one = {"system": system, "evaluator": "judge", **more}
    shell.write(name, *(json.dumps({"id": str(n), "score": score, **one}) for n, score in enumerate(scores)))


def people(shell: Shell, systems: str, **more: str) -> None:
    rows = ["\t".join((system, str(n), str(-n), *more.values())) for system in systems for n in range(3)]
    shell.write("gold.tsv", "\t".join(("system", "id", "mqm", *more)), *rows)


def read(*files: str, **inputs: Any) -> list[Match]:
    return gather(Inputs(human="gold.tsv", files=files, **inputs))


GERMAN = {"source_lang": "en", "target_lang": "de"}
FRENCH = {"source_lang": "en", "target_lang": "fr"}


def test_a_segment_of_two_language_pairs_is_not_pooled(shell: Shell) -> None:
    people(shell, "AB")
    rated(shell, "de.jsonl", "A", [3, 2, 1], **GERMAN)
    rated(shell, "fr.jsonl", "B", [3, 2, 1], **FRENCH)
    with pytest.raises(InputError, match=r"fr\.jsonl: segment '0' is one of en-fr, and of en-de in de\.jsonl.*-l"):
        read("de.jsonl", "fr.jsonl")


def test_people_s_scores_of_another_language_pair_are_refused(shell: Shell) -> None:
    people(shell, "A", lp="en-fr")
    rated(shell, "de.jsonl", "A", [3, 2, 1], **GERMAN)
    with pytest.raises(InputError, match=r"de\.jsonl: segment '0' is one of en-de, and of en-fr in gold\.tsv"):
        read("de.jsonl")


@pytest.mark.parametrize(
    "other", [{"source_lang": "eng", "target_lang": "German"}, {"source_lang": "en-US", "target_lang": "de_AT"}, {}]
)
def test_the_same_languages_written_otherwise_go_together(other: dict[str, str], shell: Shell) -> None:
    people(shell, "AB", lp="en-de_DE")
    rated(shell, "a.jsonl", "A", [3, 2, 1], **GERMAN)
    rated(shell, "b.jsonl", "B", [5, 4, 3], **other)
    (found,) = read("a.jsonl", "b.jsonl")
    assert [row.evaluator for row in found.rows] == [3, 2, 1, 5, 4, 3]


def test_languages_that_have_no_code_go_together_as_they_are_written(shell: Shell) -> None:
    people(shell, "A", source_lang="Old High Elvish", target_lang="de")
    rated(shell, "a.jsonl", "A", [3, 2, 1], source_lang="Old High Elvish", target_lang="de")
    assert len(read("a.jsonl")[0].rows) == 3


MARK = {"text": "x", "start": 0, "end": 1, "category": "style", "severity": "minor"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"translation": "Ja."}, {"translation": "Nein."}),
        ({"errors": [MARK]}, {"errors": [MARK | {"severity": "major"}]}),
        ({"errors": [MARK]}, {"errors": []}),
    ],
)
def test_equal_scores_of_other_texts_are_two_ratings(one: dict[str, Any], other: dict[str, Any], shell: Shell) -> None:
    people(shell, "A")
    rated(shell, "one.jsonl", "A", [3, 2, 1], **one)
    rated(shell, "other.jsonl", "A", [3, 2, 1], **other)
    with pytest.raises(InputError, match=r"other\.jsonl:1: .* has a score already \(one\.jsonl:1\).*NAME="):
        read("one.jsonl", "other.jsonl")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"translation": "Ja, bitte."}, {"translation": "Ja,  bitte. "}),
        ({"translation": "Ja."}, {}),
        ({"errors": [MARK]}, {"errors": None}),
        ({"errors": [MARK]}, {"errors": [MARK]}),
    ],
)
def test_the_same_rating_may_stand_in_two_files(one: dict[str, Any], other: dict[str, Any], shell: Shell) -> None:
    people(shell, "A")
    rated(shell, "one.jsonl", "A", [3, 2, 1], **one)
    rated(shell, "other.jsonl", "A", [3, 2, 1], **other)
    (found,) = read("one.jsonl", "other.jsonl")
    assert list(found.rows) == [Row("A", "0", 3, 0), Row("A", "1", 2, -1), Row("A", "2", 1, -2)]


def test_given_scores_of_a_system_that_differ_between_files_are_refused(shell: Shell) -> None:
    shell.write("gold.tsv", "system\tid\tmqm", "A\t0\t0", "A\t1\t-1")
    for folder, given in (("x", 9), ("y", 8), ("z", 9)):
        (shell.folder / folder).mkdir()
        shell.write(f"{folder}/M.seg.score", "A\t1", "A\t2")
        shell.write(f"{folder}/M.sys.score", f"A\t{given}")
    (found,) = read("x/M.seg.score", "z/M.seg.score")
    assert found.evaluator.systems["A"].score == 9
    with pytest.raises(InputError, match=r"y/M\.sys\.score:1: system 'A' has another score \(x/M\.sys\.score:1\)"):
        read("x/M.seg.score", "y/M.seg.score")


def test_what_only_the_second_file_knows_of_a_segment_is_known(shell: Shell) -> None:
    people(shell, "AB")
    rated(shell, "a.jsonl", "A", [3, 2, 1])
    rated(shell, "b.jsonl", "B", [3, 2, 1], **GERMAN, document="d")
    (found,) = read("a.jsonl", "b.jsonl")
    assert (found.evaluator.about["0"].document, found.evaluator.about["0"].target_lang) == ("d", "de")


def test_scores_by_two_models_under_one_name_are_warned_of(shell: Shell) -> None:
    people(shell, "AB")
    rated(shell, "a.jsonl", "A", [3, 2, 1], signature="judge|one|version:1")
    rated(shell, "b.jsonl", "B", [3, 2, 1], signature="judge|two|version:1")
    done = shell("meta-eval -e a.jsonl b.jsonl --human gold.tsv --average none")
    assert "warning: judge: its scores are of 2 evaluators, taken for one: judge|one; judge|two" in done.out
    rated(shell, "b.jsonl", "B", [3, 2, 1], signature="judge|one|version:2")
    assert "taken for one" not in shell("meta-eval -e a.jsonl b.jsonl --human gold.tsv --average none").out


def test_spans_alone_are_signed_and_a_column_beside_others_is_not(shell: Shell) -> None:
    people(shell, "A")
    rows = [{"id": str(n), "system": "A", "mqm": -n, "signature": "s"} for n in range(3)]
    marks = [{**one, "evaluator": "judge", "score": None, "errors": [MARK]} for one in rows]
    shell.write("spans.jsonl", *map(json.dumps, marks))
    shell.write("wide.jsonl", *(json.dumps({**one, "X": 1, "Y": 2}) for one in rows))
    (spans,) = gather(Inputs(human="gold.tsv", files=("spans.jsonl",)), missing="leave-out")
    assert list(spans.evaluator.signatures) == ["s"]
    assert [list(one.evaluator.signatures) for one in read("wide.jsonl", metrics=("X", "Y"))] == [[""], [""]]


def test_the_signature_of_pooled_files_is_that_of_the_first(shell: Shell) -> None:
    people(shell, "AB")
    rated(shell, "a.jsonl", "A", [3, 2, 1], signature="judge|one|version:1")
    rated(shell, "b.jsonl", "B", [3, 2, 1], signature="judge|one|version:2")
    (found,) = read("a.jsonl", "b.jsonl")
    assert found.evaluator.signature == "judge|one|version:1 (and 1 others)"
    assert list(found.evaluator.signatures.items()) == [
        ("judge|one|version:1", "a.jsonl:1"),
        ("judge|one|version:2", "b.jsonl:1"),
    ]


def test_lower_scores_of_a_name_that_both_sides_have(shell: Shell) -> None:
    people(shell, "A")
    rated(shell, "a.jsonl", "A", [3, 2, 1])
    with pytest.raises(ConfigError, match="--lower mqm: people's scores and an evaluator are called so"):
        read("mqm=a.jsonl", lower=("mqm",))


@pytest.mark.parametrize("first", [0, 1])
def test_segments_that_are_counted_from_0_and_from_1_are_not_matched(first: int, shell: Shell) -> None:
    for start in (0, 1):
        rows = [f"{system}\t{n}\t{n}" for system in "AB" for n in range(start, start + 3)]
        shell.write(f"{start}.tsv", "system\tid\tscore", *rows)
    shell.write("part.tsv", "system\tid\tscore", "A\t1\t1", "A\t2\t1", "B\t2\t0")
    files = {"human": f"{1 - first}.tsv", "files": (f"X={first}.tsv",)}
    with pytest.raises(InputError, match=f"{first}.tsv: counts its 3 segments from {first}, and {1 - first}.tsv from"):
        gather(Inputs(**files), missing="leave-out")
    (found,) = gather(Inputs(human="part.tsv", files=(f"X={first}.tsv",)), missing="leave-out")
    assert sum(None not in row[2:] for row in found.rows) == 3


def test_texts_tell_that_equal_ids_are_one_segment(shell: Shell) -> None:
    for start in (0, 1):
        rows = [f"A\t{n}\t{n}\ttext {n}" for n in range(start, start + 3)]
        shell.write(f"{start}.tsv", "system\tid\tscore\ttranslation", *rows)
    (found,) = gather(Inputs(human="1.tsv", files=("0.tsv",)), missing="leave-out")
    assert [row.item for row in found.rows if None not in row[2:]] == ["1", "2"]


# --- which kind a file is


@pytest.mark.parametrize(
    ("first", "table"),
    [
        ("system\tid\tjudge", True),
        (" System \tSeg\tX", True),
        ("sys\tjudge", True),
        ("system\t0.5", False),
        ("system\tNone", False),
        ("sys\tSegment 0\tscore: 0.8", False),
        ("A\t0.5", False),
        ("A\tsystem\t0.5", False),
        ("0.5", False),
        ('{"id": "1", "score": null}', True),
        ('{"file": [{"COMET": 0.8, "mt": "x"}]}', False),
        ("", False),
    ],
)
def test_a_file_whose_name_tells_nothing_is_known_by_its_first_line(first: str, table: bool, tmp_path: Path) -> None:
    (tmp_path / "input").write_text(f"{first}\n", encoding="utf-8")
    assert is_table(tmp_path / "input") is table


def test_no_row_of_a_list_is_taken_for_a_header(shell: Shell) -> None:
    shell.write("list", "system\tNone", "system\t5", "system\t7")
    shell.write("gold", "1", "2", "3")
    (found,) = gather(Inputs(human="gold", files=("list",)), missing="leave-out")
    assert [(row.evaluator, row.human) for row in found.rows] == [(None, 1), (5, 2), (7, 3)]


def test_decimal_commas_of_a_table_with_semicolons_are_numbers(shell: Shell) -> None:
    shell.write("s.csv", "system;id;mqm;X;Y", "A;1;-0,5;61,2;7", "A;2;-1;,5;8", "B;1;+2,5;4,0;9", "B;2;3;1,5e1;9")
    found = gather(Inputs(human="mqm", files=("s.csv",)))
    assert [one.name for one in found] == ["X", "Y"]
    assert list(found[0].rows) == [
        Row("A", "1", 61.2, -0.5), Row("A", "2", 0.5, -1), Row("B", "1", 4, 2.5), Row("B", "2", 15, 3),
    ]  # fmt: skip


def test_commas_go_before_semicolons_and_na_is_missing(shell: Shell) -> None:
    shell.write("s.csv", 'system,id,mqm,"X;Y"', "A,1,-1,2.5", "A,2,NA,1")
    (found,) = gather(Inputs(human="mqm", files=("s.csv",)), missing="leave-out")
    assert (found.name, list(found.rows)) == ("X;Y", [Row("A", "1", 2.5, -1), Row("A", "2", 1, None)])


def test_missing_scores_are_no_text_and_an_empty_column_is_no_scores(shell: Shell) -> None:
    rows = [f"A\t{n}\t{-n}\t{'5' if n == 2 else 'None'}\t" for n in range(4)]
    shell.write("s.tsv", "system\tid\tmqm\tX\tempty", *rows)
    (found,) = gather(Inputs(human="mqm", files=("s.tsv",)), missing="leave-out")
    assert (found.name, [row.evaluator for row in found.rows]) == ("X", [None, None, 5, None])


def test_a_column_that_is_called_as_people_s_is_told(shell: Shell) -> None:
    for name in ("judge.tsv", "people.tsv"):
        shell.write(name, "system\tid\tscore", "A\t1\t-1", "A\t2\t0")
    with pytest.raises(InputError, match=r"judge\.tsv:1: no column holds scores but 'score', which --human names"):
        gather(Inputs(human="score=people.tsv", files=("judge.tsv",)))
    assert [one.name for one in gather(Inputs(human="people.tsv", files=("judge.tsv",)))] == ["judge"]
    shell.write("text.tsv", "system\tid\tX", "A\t1\tgood")
    with pytest.raises(InputError, match=r"text\.tsv:1: no column holds scores; there are: system, id, X"):
        gather(Inputs(human="score=people.tsv", files=("text.tsv",)))


def test_a_table_may_have_a_column_with_braces(shell: Shell) -> None:
    shell.write("s.tsv", "{X}\tsystem\tid\tmqm", "2\tA\t1\t-1", "1\tA\t2\t-2")
    (found,) = gather(Inputs(human="mqm", files=("s.tsv",)))
    assert (found.name, [row.evaluator for row in found.rows]) == ("{X}", [2, 1])


def test_a_language_pair_that_no_row_has_is_answered_with_those_there_are(shell: Shell) -> None:
    people(shell, "A", lp="en-de_DE")
    with pytest.raises(InputError, match=r"no row is of the language pair en-fr; .*en-de-DE"):
        gather(Inputs(human="mqm", files=("gold.tsv",), lp="en-fr"))


# --- texts that stand in a folder already


def test_older_texts_are_not_left_beside_new_scores(shell: Shell) -> None:
    texts = {"translation": "Ja.", "source": "Yes.", "document": "d", "domain": "x", **GERMAN}
    rated(shell, "a.jsonl", "A", [3, 2, 1], **texts)
    rated(shell, "bare.jsonl", "A", [3, 2, 1])
    people(shell, "A")
    assert shell("meta-eval -e a.jsonl --human gold.tsv -o set").code == 0
    before = {path: path.read_bytes() for path in (shell.folder / "set").rglob("*") if path.is_file()}
    for lost in ("sources/en-de.txt", "documents/en-de.docs", "system-outputs/en-de/A.txt"):
        done = shell("meta-eval -e bare.jsonl --human gold.tsv -l en-de -o set --force")
        assert (done.code, f"set/{lost}: is an older one, and would be read" in done.err) == (1, True), done.err
        assert {path: path.read_bytes() for path in (shell.folder / "set").rglob("*") if path.is_file()} == before
        (shell.folder / "set" / lost).unlink()
        del before[shell.folder / "set" / lost]
    assert shell("meta-eval -e bare.jsonl --human gold.tsv -l en-de -o set --force").code == 0
    assert shell("meta-eval -e a.jsonl --human gold.tsv -o set --force").code == 0


def test_names_do_not_break_latex(shell: Shell) -> None:
    people(shell, "A")
    rated(shell, "a.jsonl", "A", [3, 2, 1], evaluator="a%\n\nb<c>|")
    shown = shell("meta-eval -e a.jsonl --human gold.tsv --average none -f latex").out
    assert "\na\\% b$<$c$>$\\textbar{} & 3 & " in shown
    tables = [line for line in shown.splitlines() if line and not line.startswith("%")]
    assert all(line.startswith("\\") or line.endswith("\\\\") for line in tables), shown
    assert "% a% b<c>|: file:a.jsonl|" in shown


def test_an_evaluator_that_correlates_negatively_anywhere_is_warned_of(shell: Shell) -> None:
    """With the scores of all segments together negatively, by segment positively."""
    shell.write("s.tsv", "system\tid\tmqm\tX", "A\t0\t0\t0", "B\t0\t1\t1", "A\t1\t-9\t9", "B\t1\t-8\t10")
    done = shell("meta-eval -e s.tsv --human mqm --level seg")
    assert "warning: X: correlates negatively" in done.out
