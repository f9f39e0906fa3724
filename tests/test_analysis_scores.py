"""Scores from files, folders and runs: what is read, what goes together, and what is refused, with file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.agreement import ScorePair
from mtagent.analysis.matching import Inputs, Match, gather
from mtagent.analysis.scores import UNNAMED, TranslationKey, is_table
from mtagent.errors import ConfigError, InputError
from tests.commands import Done, Shell

Files = Mapping[str, str | Sequence[Mapping[str, Any]]]
"""By name: lines, parted by "|" and with spaces for tabs, or objects for JSON Lines."""


def write(shell: Shell, files: Files) -> None:
    for name, content in files.items():
        (shell.folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            shell.write(name, *(line.strip().replace(" ", "\t") for line in content.split("|")))
        else:
            shell.write(name, *map(json.dumps, content))


def objects(who: str, scores: Sequence[float | None], systems: str = "AB", **more: Any) -> list[dict[str, Any]]:
    """Ratings as ``mtagent rate`` writes them, of two segments: by segment, then by system."""
    places = [(system, item) for item in "12" for system in systems]
    return [
        {"id": item, "system": system, "evaluator": who, "score": score, "confidence": 0.5, "seconds": 1.5, **more}
        for (system, item), score in zip(places, scores, strict=True)
    ]


def read(human: str, *files: str, missing: Any = "refuse", drop: Sequence[str] = (), **inputs: Any) -> list[Match]:
    (matches,) = gather(Inputs(human=human, files=files, **inputs), missing=missing, drop=drop).values()
    return matches


def compact(match: Match) -> str:
    """``A1 0.5 -1, …``: the rows, sorted."""
    rows = sorted(match.rows, key=lambda row: row[:2])
    return ", ".join(f"{system}{item} {show(ours)} {show(theirs)}" for system, item, ours, theirs in rows)


def evaluators_systems(match: Match) -> list[float]:
    """The evaluator's scores of systems."""
    systems = match.systems()
    assert systems is not None
    scores: list[float] = systems.evaluator.tolist()
    return scores


def show(score: float | None) -> str:
    return "-" if score is None else f"{score:g}"


def refused(done: Done) -> str:
    """What the one line says that a refusal is."""
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    return done.err


TABLE = "system seg mqm X Y|A 1 -1 0.5 90|A 2 -2 0.4 80|B 1 0 0.9 70|B 2 -5 0.1 60"
ROWS = "A1 0.5 -1, A2 0.4 -2, B1 0.9 0, B2 0.1 -5"


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with the same scores in several forms."""
    write(shell, {
        "t.tsv": TABLE,
        "x.seg.score": "A 0.5|A 0.4|B 0.9|B 0.1",
        "gold.tsv": "|".join(" ".join(line.split()[:3]) for line in TABLE.split("|")),
        "gold.seg.score": "A -1|A -2|B 0|B -5",
        "x.jsonl": objects("X", [0.5, 0.9, 0.4, 0.1]),
        "gold.jsonl": objects("people", [-1, 0, -2, -5]),
    })  # fmt: skip
    shell.write("t.csv", *TABLE.replace(" ", ",").split("|"))
    return shell


# --- every form gives the same rows


@pytest.mark.parametrize("file", ["t.tsv", "t.csv", "x.seg.score", "x.jsonl"])
@pytest.mark.parametrize("human", ["gold.tsv", "mqm=gold.tsv", "gold.seg.score", "gold.jsonl", "people=gold.jsonl"])
def test_every_form_of_scores_goes_with_every_other(files: Shell, file: str, human: str) -> None:
    (match,) = read(human, file, metrics=("X",) if file.startswith("t") else ())
    assert (compact(match), match.name) == (ROWS, "x" if file == "x.seg.score" else "X")


def test_evaluators_and_people_are_columns_raters_or_files(files: Shell) -> None:
    matches = read("mqm", "t.tsv")
    assert ([match.name for match in matches], compact(matches[0])) == (["X", "Y"], ROWS)
    assert matches[0].human.signature.startswith("file:t.tsv|column:mqm|sha256:")
    assert [match.name for match in read("gold.tsv", "one=x.jsonl", "two=x.seg.score")] == ["one", "two"]
    assert [match.name for match in read("gold.tsv", "own=x.jsonl", metrics=("own",))] == ["own"]
    (turned,) = read("mqm", "t.tsv", metrics=("X",), lower=("X",))
    assert compact(turned) == "A1 -0.5 -1, A2 -0.4 -2, B1 -0.9 0, B2 -0.1 -5"
    assert turned.evaluator.signature.endswith("|negated:yes")
    people = objects("people", [-1, 0, -2, -5])
    both = [
        row | {"human": human["score"]}
        for who in "XZ"
        for human, row in zip(people, objects(who, [0.5, 0.9, 0.4, 0.1]), strict=True)
    ]
    write(files, {"long.jsonl": both})
    assert [(match.name, compact(match)) for match in read("human", "long.jsonl")] == [("X", ROWS), ("Z", ROWS)]


@pytest.mark.parametrize(
    ("content", "inputs", "rows"),
    [
        # several columns tell segments apart
        ("document p system mqm X|u 0 A 0 1|v 0 A -1 2", {"item": ("document", "p")}, "Au/0 1 0, Av/0 2 -1"),
        # names with underscores are no scores, and names of columns have any case
        ("System Seg place mqm X|A 1 12_3 -1 1|B 1 12_4 -2 2", {}, "A1 1 -1, B1 2 -2"),
        ("lp id mqm X|en-de_DE 1 0 1|en-cs 2 0 1|en-cs 3 -1 0", {"lp": "en-cs"}, "system2 1 0, system3 0 -1"),
        ("system id none mqm X|A 0  0 None|A 1  -1 5", {"missing": "leave-out"}, "A0 - 0, A1 5 -1"),
        ("{X} system id mqm|2 A 1 -1|1 A 2 -2", {}, "A1 2 -1, A2 1 -2"),
    ],
)  # fmt: skip
def test_tables(content: str, inputs: dict[str, Any], rows: str, shell: Shell) -> None:
    write(shell, {"T.TSV": content})
    (match,) = read("mqm", "T.TSV", **inputs)
    assert (match.name.strip("{}"), compact(match)) == ("X", rows)


def test_what_tables_say_about_segments_is_known(shell: Shell) -> None:
    write(shell, {"t.tsv": "system id domain source mqm X|A 1  s -1 1|B 1 news  -1 1"})
    (match,) = read("mqm", "t.tsv")
    assert (compact(match), match.human.about["1"][0::4]) == ("A1 1 -1, B1 1 -1", ("s", "news"))
    write(shell, {"a.jsonl": objects("j", [1, 2], "A"), "b.jsonl": objects("j", [1, 2], "B", document="d", lp="en-de")})
    write(shell, {"gold.tsv": "system id mqm|A 1 0|A 2 1|B 1 2|B 2 3"})
    about = read("gold.tsv", "a.jsonl", "b.jsonl")[0].evaluator.about["1"]
    assert (about.document, about.target_lang) == ("d", "de")
    write(shell, {"gold.seg.score": "A -1|A -2", "y.tsv": "system id domain y|A u news 1|A v talk 2"})
    (match,) = read("gold.seg.score", "y.tsv")
    assert {item: about.domain for item, about in match.evaluator.about.items()} == {"1": "news", "2": "talk"}


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("system;id;mqm;X|A;1;-0,5;61,2|A;2;-1;,5|B;1;+2,5;1,5e1", "A1 61.2 -0.5, A2 0.5 -1, B1 15 2.5"),
        ('system,id,mqm,"X;Y"|A,1,-1,2.5|A,2,NA,1', "A1 2.5 -1, A2 1 -"),
    ],
)  # fmt: skip
def test_semicolons_go_with_decimal_commas_and_after_commas(content: str, rows: str, shell: Shell) -> None:
    write(shell, {"s.csv": content})
    assert compact(read("mqm", "s.csv", missing="leave-out")[0]) == rows


@pytest.mark.parametrize(
    ("first", "table"),
    [
        ("system\tid\tjudge", True), (" System \tSeg\tX", True), ("sys\tjudge", True), ("system\t0.5", False),
        ("system\tNone", False), ("sys\tSegment 0\tscore: 0.8", False), ("A\t0.5", False), ("A\tsystem\t0.5", False),
        ("0.5", False), ('{"id": "1", "score": null}', True), ('{"file": [{"COMET": 0.8, "mt": "x"}]}', False),
        ("", False),
    ],
)  # fmt: skip
def test_a_file_whose_name_tells_nothing_is_known_by_its_first_line(first: str, table: bool, tmp_path: Path) -> None:
    (tmp_path / "input").write_text(f"{first}\n", encoding="utf-8")
    assert is_table(tmp_path / "input") is table


def test_a_failed_rating_is_missing_and_of_who_did_not_rate(files: Shell) -> None:
    rows = objects("X", [0.5, 0.9, 0.4, 0.1])
    failed = {**rows[2], "score": None, "evaluator": None, "error": "Refused: no"}
    write(files, {"x.jsonl": [*rows[:2], failed, rows[3]]})
    message = refused(files("meta-eval -e x.jsonl --human gold.tsv"))
    assert "x.jsonl:3: the score of segment '2' of system 'A' by X is missing (Refused: no); --missing leave" in message
    write(files, {"x.jsonl": [*rows, failed, *objects("Y", [1, 2, 3, 4])[:2], objects("Y", [1, 2, 3, 4])[3]]})
    x, y = read("gold.tsv", "x.jsonl", missing="leave-out")
    assert (compact(x), compact(y)) == (ROWS, "A1 1 -1, A2 - -2, B1 2 0, B2 4 -5")
    assert next(score for score in y.evaluator.segments.values() if score.score is None).why == "Refused: no"
    write(files, {"x.jsonl": [*rows, failed]})
    message = refused(files("meta-eval -e x.jsonl --human gold.tsv"))
    assert "x.jsonl:5: system 'A', segment '2' has a score already" in message


MARK = {"text": "x", "start": 0, "end": 1, "category": "style", "severity": "minor"}


def test_whose_spans_and_signatures_a_table_holds(shell: Shell) -> None:
    row = {"id": "1", "system": "A", "translation": "x", "errors": [MARK], "mqm": -1, "signature": "s"}
    write(shell, {"gold.tsv": "system id people|A 1 -1", "t.jsonl": [row]})
    (alone,) = read("gold.tsv", "t.jsonl")
    assert (alone.evaluator.marks, list(alone.evaluator.signatures)) == (True, ["s"])
    write(shell, {"t.jsonl": [row | {"x": 1}]})
    (beside,) = read("mqm", "t.jsonl")
    assert (beside.evaluator.marks, beside.human.marks, list(beside.evaluator.signatures)) == (False, False, [""])
    write(shell, {"t.jsonl": [row | {"evaluator": "judge", "score": None, "mqm": None}]})
    (spans,) = read("gold.tsv", "t.jsonl", missing="leave-out")
    assert list(spans.evaluator.signatures) == ["s"]
    write(shell, {"t.tsv": "system id errors x|A 1 none 1"})
    assert not read("gold.tsv", "t.tsv")[0].evaluator.marks


# --- files of one evaluator


GERMAN = {"source_lang": "en", "target_lang": "de"}
ELVISH = {"source_lang": "Old High Elvish", "target_lang": "de"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"translation": "Ja, bitte."}, {"translation": "Ja,  bitte. "}, True),
        ({"errors": [MARK]}, {"errors": None}, True),
        ({"translation": "Ja."}, {"translation": "Nein."}, False),
        ({"errors": [MARK]}, {"errors": []}, False),
    ],
)
def test_what_stands_in_two_files_must_be_the_same_rating(
    first: dict[str, Any], second: dict[str, Any], same: bool, shell: Shell
) -> None:
    write(shell, {"gold.tsv": "system id mqm|A 1 0|A 2 -1"})
    write(shell, {"1.jsonl": objects("j", [3, 2], "A", **first), "2.jsonl": objects("j", [3, 2], "A", **second)})
    if same:
        assert compact(read("gold.tsv", "1.jsonl", "2.jsonl")[0]) == "A1 3 0, A2 2 -1"
    else:
        with pytest.raises(InputError, match=r"2\.jsonl:1: .* has a score already \(1\.jsonl:1\).*NAME="):
            read("gold.tsv", "1.jsonl", "2.jsonl")


@pytest.mark.parametrize(
    ("first", "second", "gold", "message"),
    [
        (GERMAN, {"source_lang": "en", "target_lang": "fr"}, "", r"b\.jsonl: segment '1' is en-fr, but en-de in"),
        (GERMAN, GERMAN, "en-fr", r"a\.jsonl: segment '1' is en-de, but en-fr in gold\.tsv.*-l"),
        (GERMAN, {"source_lang": "eng", "target_lang": "de_AT"}, "en-de_DE", ""),
        (ELVISH, ELVISH, "", ""),
    ],
)  # fmt: skip
def test_segments_of_other_languages_are_not_pooled(
    first: dict[str, str], second: dict[str, str], gold: str, message: str, shell: Shell
) -> None:
    rows = "|".join(f"{system} {item} 0 {gold}" for system in "AB" for item in "12")
    write(shell, {"gold.tsv": f"system id mqm lp|{rows}" if gold else f"system id mqm|{rows}"})
    write(shell, {"a.jsonl": objects("j", [3, 2], "A", **first), "b.jsonl": objects("j", [1, 0], "B", **second)})
    if message:
        with pytest.raises(InputError, match=message):
            read("gold.tsv", "a.jsonl", "b.jsonl")
    else:
        assert compact(read("gold.tsv", "a.jsonl", "b.jsonl")[0]) == "A1 3 0, A2 2 0, B1 1 0, B2 0 0"


def test_the_signature_of_pooled_files_is_that_of_the_first_and_others_are_warned_of(shell: Shell) -> None:
    write(shell, {"gold.tsv": "system id mqm|A 1 0|A 2 1|B 1 2|B 2 3"})
    write(shell, {"a.jsonl": objects("j", [3, 2], "A", signature="j|one|version:1")})
    for signature, warned in (("j|one|version:2", False), ("j|two|version:1", True)):
        write(shell, {"b.jsonl": objects("j", [1, 0], "B", signature=signature)})
        (match,) = read("gold.tsv", "a.jsonl", "b.jsonl")
        assert match.evaluator.signature == "j|one|version:1 (and 1 others)"
        assert dict(match.evaluator.signatures) == {"j|one|version:1": "a.jsonl:1", signature: "b.jsonl:1"}
        out = shell("meta-eval -e a.jsonl b.jsonl --human gold.tsv --average none").out
        assert ("warning: j: its scores are from 2 evaluators, taken for one: j|one; j|two" in out) == warned


def test_given_scores_of_a_system_that_differ_between_files_are_refused(shell: Shell) -> None:
    write(shell, {"gold.tsv": "system id mqm|A 0 0|A 1 -1"})
    for folder, given in (("x", 9), ("y", 8), ("z", 9)):
        write(shell, {f"{folder}/M.seg.score": "A 1|A 2", f"{folder}/M.sys.score": f"A {given}"})
    assert read("gold.tsv", "x/M.seg.score", "z/M.seg.score")[0].evaluator.systems["A"].score == 9
    with pytest.raises(InputError, match=r"y/M\.sys\.score:1: system 'A' has another score \(x/M\.sys\.score:1\)"):
        read("gold.tsv", "x/M.seg.score", "y/M.seg.score")


# --- segments go together by id, or by position


@pytest.mark.parametrize(
    ("contents", "human", "file", "rows"),
    [
        ({"x.seg.score": "A 7|A 8|B 4|B 5"}, "g.tsv", "x.seg.score", "Aa 7 -1, Ab 8 -2, Ba 4 -3, Bb 5 0"),
        ({"g.seg.score": "A -1|A -2|B -3|B 0"}, "g.seg.score", "y.tsv", "A1 7 -1, A2 8 -2, B1 4 -3, B2 5 0"),
        ({"x.tsv": "system X|A 7|B 4|A 8|B 5"}, "g.tsv", "x.tsv", "Aa 7 -1, Ab 8 -2, Ba 4 -3, Bb 5 0"),
        (  # objects are matched by their ids, whatever the file is called
            {"x.json": [{"id": i, "system": s, "name": "X", "score": 1} for s in "AB" for i in "ba"]},
            "g.tsv", "x.json", "Aa 1 -1, Ab 1 -2, Ba 1 -3, Bb 1 0",
        ),
        ({"list": "system None|system 5", "g": "1|2"}, "g", "list", "system1 - 1, system2 5 2"),
    ],
)  # fmt: skip
def test_positions_and_ids(contents: Files, human: str, file: str, rows: str, shell: Shell) -> None:
    write(shell, {"g.tsv": "system id mqm|A a -1|A b -2|B a -3|B b 0", "y.tsv": "system id y|A c 7|A d 8|B c 4|B d 5"})
    write(shell, contents)
    assert compact(read(human, file, missing="leave-out")[0]) == rows


@pytest.mark.parametrize("line", ["-e x.seg.score --human t.tsv", "-e t.tsv --human x.seg.score"])
def test_positions_that_differ_between_systems_are_refused(line: str, shell: Shell) -> None:
    write(shell, {"t.tsv": "system id mqm|A 1 1|A 2 2|B 2 3|B 1 4", "x.seg.score": "A 1|A 2|B 4|B 3"})
    message = refused(shell(f"meta-eval {line}"))
    assert "t.tsv:4: segment '2' is number 1 of system 'B' and number 2 of others; scores without ids" in message


def test_segments_that_are_counted_from_0_and_from_1_are_matched_only_where_texts_tell(shell: Shell) -> None:
    for start in (0, 1):
        numbers = range(start, start + 3)
        write(shell, {f"{start}.tsv": "|".join(["system id score", *(f"A {n} {n}" for n in numbers)])})
        texts = "|".join(["system id score translation", *(f"A {n} {n} t{n}" for n in numbers)])
        write(shell, {f"text{start}.tsv": texts})
    for first in (0, 1):
        other = f"{1 - first}.tsv"
        with pytest.raises(InputError, match=f"{first}.tsv: counts its 3 segments from {first}, and {other} from"):
            read(other, f"X={first}.tsv", missing="leave-out")
    assert [row.item for row in read("text1.tsv", "text0.tsv", missing="leave-out")[0].scored_rows] == ["1", "2"]


# --- systems go together by name


@pytest.mark.parametrize(
    ("human", "evaluator", "drop", "rows", "others"),
    [
        ("gpt_4_1 B", "gpt-4.1 B", "", "Ba 1 -1, gpt_4_1a 0 0", ""),
        ("gpt-4 gpt_4", "gpt_4", "", "gpt_4a 0 -1", "gpt-4"),
        ("gpt_4 A", "gpt-4 A", "gpt-4", "Aa 1 -1", ""),
        ("gpt_4 gpt-4", "gpt_4 gpt-4", "gpt-4", "gpt_4a 0 0", ""),
        ("A C", "A B", "", "Aa 0 0", "C B"),
    ],
)
def test_systems(human: str, evaluator: str, drop: str, rows: str, others: str, shell: Shell) -> None:
    for name, column, systems in (("g.tsv", "mqm", human), ("y.tsv", "y", evaluator)):
        sign = -1 if column == "mqm" else 1
        body = "|".join(f"{system} a {sign * place}" for place, system in enumerate(systems.split()))
        write(shell, {name: f"system id {column}|{body}"})
    (match,) = read("g.tsv", "y.tsv", missing="leave-out", drop=drop.split())
    assert (compact(match), match.others) == (rows, tuple(others.split()))


def test_a_file_without_systems_is_about_the_only_one_that_is_left(shell: Shell) -> None:
    write(shell, {"gold.tsv": "system id mqm|A a -1|A b -2|B a 0|B b 0", "comet.txt": "0.5|0.4"})
    assert compact(read("gold.tsv", "comet.txt", drop=["B"])[0]) == "Aa 0.5 -1, Ab 0.4 -2"
    write(shell, {"t.tsv": "system id mqm X| 1 1 2| 2 2 3"})
    shell.write("t.tsv", "system\tid\tmqm\tX", "\t1\t1\t2", "\t2\t2\t3")
    assert read("mqm", "t.tsv")[0].human.names() == [UNNAMED]


@pytest.mark.parametrize("last", ["C None", ""])
def test_given_scores_count_only_where_all_scored_systems_have_them(last: str, shell: Shell) -> None:
    for name in ("gold", "x"):
        write(
            shell, {f"{name}.seg.score": "A 1|A 2|B 3|B 4|C 5|C 6", f"{name}.sys.score": f"A 9|B 8|{last}".strip("|")}
        )
    for drop, expected in (([], [1.5, 3.5, 5.5]), (["C"], [9, 8])):
        assert evaluators_systems(read("gold.seg.score", "x.seg.score", drop=drop)[0]) == expected
    write(shell, {"gold.seg.score": "A 1|A 2|B 3|B 4|C None|C None"})  # a system that is not scored at all needs none
    assert evaluators_systems(read("gold.seg.score", "x.seg.score", missing="leave-out")[0]) == [9, 8]


def test_given_scores_of_systems_stand_in_a_table_too(files: Shell) -> None:
    write(files, {"sys.tsv": "system mqm X Y|A -1.5 30 1|B -2.5 20 2"})
    x, y = read("mqm", "t.tsv", system_scores=Path("sys.tsv"))
    assert (evaluators_systems(x), evaluators_systems(y)) == ([30, 20], [1, 2])


# --- texts


TEXT, SPACED = "Die Bank zahlt", " Die  Bank zahlt\n"


def error(start: int | None, end: int | None, text: str = "", **more: Any) -> dict[str, Any]:
    return {"text": text, "start": start, "end": end, "category": "style", "severity": "minor", **more}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (error(4, 8, "Bank"), (6, 10)),
        (error(3, 9), (6, 10)),  # white space at the edges is not of the words
        (error(0, 14), (1, 16)),
        (error(3, 4, " "), (4, 6)),
        # without a sure place
        (error(4, 8, "Geld"), (4, 8)),
        (error(4, 99), (4, 99)),
        (error(None, None, "Bank"), (None, None)),
        (error(0, 3, "the", side="source"), (0, 3)),
    ],
)
def test_spans_are_found_again_where_white_space_differs(
    ours: dict[str, Any], theirs: tuple[int | None, int | None], shell: Shell
) -> None:
    row = {"id": "1", "system": "A", "score": -1}
    write(shell, {"x.jsonl": [{**row, "name": "X", "translation": TEXT, "errors": [ours]}]})
    write(shell, {"gold.jsonl": [{**row, "translation": SPACED}]})
    (match,) = read("gold.jsonl", "x.jsonl")
    ((_, _, text, errors, _),) = match.evaluator.segments.values()
    assert errors is not None
    assert (text, errors[0].start, errors[0].end) == (SPACED, *theirs)


# --- what is missing


def test_missing_scores_are_left_out_and_counted_where_that_is_asked_for(files: Shell) -> None:
    write(files, {"x.seg.score": "A 0.5|A None|B 0.9|B 0.1", "gold.tsv": "system seg mqm|A 1 -1|A 2 -2|B 1 0|C 1 0"})
    (by_position,) = read("gold.seg.score", "x.seg.score", missing="leave-out")
    (by_id,) = read("gold.tsv", "x.jsonl", missing="leave-out")
    write(files, {"t.tsv": TABLE.rpartition("|")[0]})
    absent, _ = read("mqm", "t.tsv", missing="leave-out")
    missing = [match.segments().missing for match in (by_position, by_id, absent)]  # type: ignore[union-attr]
    assert [tuple(counts) for counts in missing] == [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)]
    assert by_id.others == ("C",)


# --- what is refused, with file and line


HEAD = "system seg X"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "e.tsv:1: is empty; the first line must name the columns"),
        (HEAD, "e.tsv: has no rows"),
        ("system X X|A 1 2", "e.tsv:1: two columns are called 'X'"),
        (f"{HEAD}|A 1 good", "e.tsv:1: no column has scores; there are: system, seg, X"),
        (f"{HEAD}|A 1 1|A 2 NaN", "e.tsv:3: 'X' must be a number, not 'NaN'; a missing score is None or an empty"),
        (f"{HEAD}|A 1 1|A 2 1_0", "e.tsv:3: 'X' must be a number, not '1_0'"),
        (f"{HEAD}|A 1 1|A 1 2", "e.tsv:3: system 'A', segment '1' has a score already (e.tsv:2)"),
        ("system document seg X|A u 1 1|A v 1 2", "name all columns that tell segments apart: --item document,seg"),
        (f"{HEAD}|A  1", "e.tsv:2: 'seg' is empty; it names the segment"),
        (f"{HEAD}|A 1 1| 1 2", "e.tsv:3: 'system' is empty; it names the system"),
        (f"{HEAD}|A 1 1|C 1 2", "e.tsv:3: system 'C' has scores of X, but none of mqm in gold.tsv; there are: A, B. -"),
        (f"{HEAD}|A 1 1|A 2 1", "gold.tsv:4: system 'B' has scores of mqm, but none of X in e.tsv; there are: A."),
        (f"{HEAD}|A 1 1|A 22 1|B 1 1|B 22 1", "gold.tsv:3: segment '2' of system 'A' has no score of X in e.tsv; did "),
        (f"{HEAD}|A 1 1|A 2 null|B 1 1|B 2 1", "e.tsv:3: the score of segment '2' of system 'A' by X is missing"),
        ("system seg X lp|A 1 1 en-de|B 1 1 en-cs", "e.tsv:3: segment '1' has the language pairs en-de and en-c"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_table_is_named_with_its_place(files: Shell, content: str, message: str) -> None:
    text = "".join(line.replace(" ", "\t") + "\n" for line in content.split("|")) if content else ""
    (files.folder / "e.tsv").write_text(text, encoding="utf-8")
    assert message in refused(files("meta-eval -e e.tsv --human gold.tsv"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", '{"id": "1", "score": NaN, "evaluator": "X"}', "e.jsonl:1: "),
        ("e.jsonl", '{"id": "1", "score": true, "evaluator": "X"}', "e.jsonl:1: 'score' must be a number, not True"),
        ("e.jsonl", '{"id": "1", "score": 1, "errors": [{"text": "a"}]}', "e.jsonl:1: error 1 of 1: no 'category'"),
        ("e.seg.score", "A\tNaN", "e.seg.score:1: 'NaN' isn't a score"),
        ("e.seg.score", f'{{"system": "A", "score": 1{"0" * 400}}}', "e.seg.score:1: 1000"),
        ("e.seg.score", "", "e.seg.score: holds no scores"),
        ("e.seg.score", "A\t1\nA\t2\nA\t3\nB\t1\nB\t2", "e.seg.score: 3 scores of system 'A', and gold.tsv has 2; seg"),
        ("e.seg.score", '{"metric": "X", "score": 1}\n{"metric": "Y", "score": 1}', "has scores of X, Y; name the"),
        ("e.sys.score", "A\t1", "e.sys.score: give e.seg.score; the files in the same folder are also read"),
        ("", None, ".: is a folder; --mtme reads those of mt-metrics-eval"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_other_files_is_named(files: Shell, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (files.folder / name).write_text(f"{content}\n" if content else "", encoding="utf-8")
    said = refused(files(f"meta-eval -e {name or '.'} --human gold.tsv --missing leave-out"))
    assert (message in said, len(said) < 400) == (True, True), said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-e x.jsonl --human mqmm=gold.tsv", "gold.tsv:1: no column 'mqmm'; did you mean 'mqm'?"),
        ("-e t.tsv --human mqmm", "--human mqmm: neither a file nor a column of the scores; did you mean 'mqm'?"),
        ("-e t.tsv --human mqm --metrics COMET", "--metrics COMET: no such evaluator; there are: X, Y"),
        ("-e t.tsv --human mqm --lower Z", "--lower Z: no such evaluator; there are: X, Y"),
        ("-e mqm=x.jsonl --human gold.tsv --lower mqm", "--lower mqm: both people's scores and an evaluator have"),
        ("-e t.tsv --human mqm --item segg", "t.tsv:1: no column 'segg'; did you mean 'seg'?"),
        ("-e t.tsv --human mqm --drop-systems AA", "--drop-systems AA: no such system; did you mean 'A'?"),
        ("-e t.tsv --human mqm --drop-systems A,B", "t.tsv: no system of mqm remains to compare"),
        ("-e x.jsonl --human t.tsv", "t.tsv:1: which scores are people's? name them: --human NAME=t.tsv; there are: m"),
        ("-e N=t.tsv --human mqm", "t.tsv: has scores of 2 evaluators; leave out N=, and choose with --metrics"),
        ("-e x.jsonl z.tsv --human mqm", "z.tsv:2: system 'A', segment '1' has a score already (x.jsonl:1); if X are "),
        ("-e t.tsv", "no human scores are given; use --human FILE, NAME=FILE, or a column of the scores"),
        ("-e t.tsv --human folder.tsv", "folder.tsv: is a folder"),
        ("--mtme lost --human mqm", "lost: is not a folder; expected a folder of mt-metrics-eval"),
        ("-e lp.tsv --human mqm -l en-fr", "lp.tsv: no row is of the language pair en-fr; "),
        ("-e cut.tsv --human mqm", "cut.tsv: system 'B' has no score of segment '2', which others have (cut.tsv has n"),
        ("-e sure.tsv --human mqm=gold.tsv", "sure.tsv:1: no column has scores except 'mqm', which --human names"),
        ("-e raters.jsonl --human mqm", "raters.jsonl:2: system 'A', segment '1' has a score already (raters.jsonl:1)"),
        ("-e other.jsonl --human x.jsonl", "other.jsonl:1: segment '1' of system 'A' has another translation than in "),
        ("-e alike.tsv --human gold.tsv", "alike.tsv:2: system 'gpt.4' has scores of y, but none"),
        ("-e alike.tsv --human gold.tsv --missing leave-out", "alike.tsv: has no system that gold.tsv has: gpt.4, "),
        ("-e none.tsv --human mqm --missing leave-out", "none.tsv: no translation has both a score of an"),
        ("-e t.tsv --human mqm --system-scores who.tsv", "who.tsv:1: no column 'system'; there are: who, mqm, X, Y"),
        ("-e apart.tsv --human mqm --missing leave-out --test pearson", "X, Y did not all rate a common translation"),
        ("-e X=x.seg.score x.jsonl --human gold.tsv", "x.jsonl: only one of this and x.seg.score names the segments"),
        ("--mtme folder.tsv --human mqm", "folder.tsv/human-scores: expected people's scores in a file LP"),
        ("-e t.tsv --human mqm --system-scores y.tsv", "y.tsv:1: no column 'Y'; there are: mqm, X"),
        ("-e t.tsv --human mqm --system-scores twice.tsv", "twice.tsv:3: system 'A' has a score already (twice.tsv:2)"),
        ("-e s.seg.score --human gold.tsv", "s.sys.score:2: a line is SYSTEM⇥SCORE, and each system has one"),
        ("--run chain --human gold.tsv", "run 'chain' has no ratings of texts; rate its texts with mtagent rate --ru"),
        ("--run nothing --human gold.tsv", "nothing"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(files: Shell, line: str, message: str) -> None:
    (files.folder / "folder.tsv").mkdir()
    if "--run" in line:
        files.postedit("--name chain -o o.txt -q")
    write(files, {
        "y.tsv": "system mqm X|A 1 1|B 1 1", "z.tsv": "system id mqm X|A 1 1 1|B 1 1 1",
        "twice.tsv": "system mqm X Y|A 1 1 1|A 1 1 1",
        "lp.tsv": "lp id mqm X|en-de_DE 1 0 1", "cut.tsv": TABLE.rpartition("|")[0], "sure.tsv": "system id mqm|A 1 -1",
        "raters.jsonl": [{"id": "1", "system": "A", "evaluator": who, "score": 1, "mqm": who} for who in (1, 2)],
        "x.jsonl": objects("X", [0.5, 0.9, 0.4, 0.1], translation="Hallo  Welt."),
        "other.jsonl": objects("Y", [0.5, 0.9, 0.4, 0.1], translation="Guten Tag."),
        "alike.tsv": "system id y|gpt.4 1 -1|gpt-4 1 -3", "s.seg.score": "A 1|B 2", "s.sys.score": "A 1|A 2",
        "who.tsv": "who mqm X Y|A 1 1 1", "none.tsv": "system id mqm X|A 1 None 1|A 2 0 None",
        "apart.tsv": "system id mqm X Y|A 1 0 1 None|A 2 0 None 1",
    })  # fmt: skip
    assert message in refused(files(f"meta-eval {line}"))


# --- folders of mt-metrics-eval


@pytest.fixture
def testset(shell: Shell) -> Shell:
    """The shell with such a folder, of two language pairs."""
    write(shell, {
        "set/human-scores/en-de.mqm.seg.score": "A -1|A -2|B 0|B None|refA 0|refA 0",
        "set/human-scores/en-de.mqm.sys.score": "A -1.5|B 0|refA 0",
        "set/human-scores/en-de.esa.seg.score": "A 90|A 80|B 70|B 60",
        "set/human-scores/cs-uk.mqm.seg.score": "A 0",
        "set/metric-scores/en-de/X-refA.seg.score": "A 0.5|A 0.4|B 0.9|B 0.1|refA 1|refA 1",
        "set/metric-scores/en-de/X-refA.sys.score": "A 7|B 8|refA 9",
        "set/metric-scores/en-de/Y-src.seg.score": "B 1|B 2|A 3|A 4",
        "set/sources/en-de.txt": "Hello|Bye",
        "set/documents/en-de.docs": "news d1|talk d2",
    })  # fmt: skip
    return shell


def test_a_folder_is_read_with_its_scores_of_systems(testset: Shell) -> None:
    folder = {"folder": Path("set"), "lp": "en-de"}
    (match,) = read("mqm", **folder, metrics=("X",), missing="leave-out", drop=("refA",))
    assert (match.human.name, match.name, match.evaluator.reference) == ("mqm", "X-refA", "refA")
    assert evaluators_systems(match) == [7, 8]
    assert (match.rows[3], match.human.about["2"].domain) == (ScorePair("B", "2", 0.1, None), "talk")
    assert compact(read("esa", **folder, metrics=("Y-src",))[0]) == "A1 3 90, A2 4 80, B1 1 70, B2 2 60"
    write(testset, {"z.seg.score": "A 1|A 2|B 3|B 4"})
    beside = read("esa", "z.seg.score", **folder, metrics=("Y", "z"))
    assert [(match.name, match.evaluator.reference) for match in beside] == [("Y-src", None), ("z", None)]


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        ({}, "--human mqm", "set: has 2 language pairs; choose one with -l; there are: cs-uk, en-de"),
        ({}, "-l en-da --human mqm", "set/human-scores: nothing for 'en-da'; did you mean 'en-de'?"),
        ({}, "-l en-de", "set: has several scores of people; choose with --human; there are: esa, mqm"),
        ({}, "-l en-de --human mqmm", "no en-de.mqmm.seg.score; did you mean 'mqm'?"),
        ({}, "-l en-de --human esa --metrics COMET", "set/metric-scores/en-de: no metric 'COMET'; there are: X-refA, "),
        ({}, "-l cs-uk --human mqm", "set/metric-scores/cs-uk: expected a metric's scores in a file NAME"),
        ({}, "-l en-de --human esa --metrics X", "X-refA.seg.score:5: system 'refA' has scores of X-refA, but none of"),
        ({"documents/en-de.docs": "news d1"}, "-l en-de --human esa", "en-de.docs: has 1 lines, and there are 2 sourc"),
        (
            {"human-scores/en-de.esa.seg.score": "A 1|B 1"},
            "-l en-de --human esa", "en-de.esa.seg.score: 1 scores of 'A', and there are 2 segments",
        ),
        (
            {"system-outputs/en-de/A.txt": "1|2|3"},
            "-l en-de --human esa", "en-de.esa.seg.score: 2 scores of 'A', and 3 translations in set",
        ),
        (
            {"human-scores/en-de.esa.seg.rating": "A None|A None|A None", "sources/en-de.txt": "1|2"},
            "-l en-de --human esa", "en-de.esa.seg.rating: 3 ratings of system 'A', and 2 scores beside it",
        ),
    ],
)  # fmt: skip
def test_what_a_folder_lacks_is_named(contents: Files, line: str, message: str, testset: Shell) -> None:
    write(testset, {f"set/{name}": content for name, content in contents.items()})
    assert message in refused(testset(f"meta-eval --mtme set {line}"))


def test_a_system_that_has_errors_and_no_scores_lacks_scores(testset: Shell) -> None:
    write(testset, {"set/human-scores/en-de.esa.seg.rating": "A None|A None|B None|B None|C None|C None"})
    write(testset, {"set/metric-scores/en-de/X-refA.seg.score": "A 0.5|A 0.4|B 0.9|B 0.1"})
    (match,) = read("esa", folder=Path("set"), lp="en-de", metrics=("X",), missing="leave-out", drop=("refA",))
    assert match.others == ("C",)


@pytest.mark.parametrize("name", ["x" * 300, "../../../etc/hosts"])
def test_names_of_systems_that_are_no_names_of_files(name: str, testset: Shell) -> None:
    for path in (testset.folder / "set").rglob("en-de*/*.score"):
        path.write_text(path.read_text(encoding="utf-8").replace("A\t", f"{name}\t"), encoding="utf-8")
    assert testset("meta-eval --mtme set -l en-de --human esa --metrics Y --missing leave-out --level seg").code == 0


# --- stored ratings


def test_a_stored_run_is_an_evaluator(files: Shell) -> None:
    files("rate -s en.txt -t a=es.txt b=en.txt -l en-es --evaluator rules -q -o r.jsonl --name stored")
    scores = [json.loads(line) for line in files.read("r.jsonl")]
    files.write("gold.tsv", "system\tid\tmqm", *(f"{row['system']}\t{row['id']}\t{-n}" for n, row in enumerate(scores)))
    matches = read("gold.tsv", "file=r.jsonl", runs=("stored", "again=stored"))
    assert [match.name for match in matches] == ["file", "rules", "again"]
    assert compact(matches[0]) == compact(matches[1]) == compact(matches[2])
    assert matches[0].evaluator.signature == matches[1].evaluator.signature
    assert (matches[1].human.marks, matches[1].evaluator.marks) == (False, True)
    assert read("gold.tsv", runs=("stored",), lp="en-es")
    with pytest.raises(ConfigError, match="has no segments of the language pair en-fr"):
        read("gold.tsv", runs=("stored",), lp="en-fr")


def test_a_failed_rating_of_a_run_says_why_it_is_missing(files: Shell) -> None:
    files.write("a.seg.rating", *['one\t{"errors": []}\tr'] * 3)
    line = "rate -s en.txt -t one=es.txt two=en.txt -l en-es --evaluator spans-file:path=a.seg.rating"
    assert files(f"{line} --name stored -q -o r.jsonl").code == 3
    files.write("gold.tsv", "system\tid\tmqm", *(f"{who}\t{n}\t-{n}" for who in ("one", "two") for n in (1, 2, 3)))
    message = refused(files("meta-eval --run stored --human gold.tsv"))
    assert "the score of segment '1' of system 'two' by spans-file is missing (" in message
    assert "has no ratings of system 'two'" in message


# --- files as they were published


def test_translations_and_scores_by_system_become_rows(files: Shell) -> None:
    """As in MENT: a line per segment, with an object by system in each field."""
    rows = []
    for number in (0, 1):
        texts = {"A": f"Text {number}", "B": "Anderer"}
        scores = {"human": {"A": number, "B": 2}, "rate": {"A": 3.5, "B": None}}
        rows.append({"seg": number, "src": "x", "hyp": texts, **scores})
    write(files, {"m.jsonl": rows})
    (match,) = read("human", "m.jsonl", missing="leave-out")
    assert match.name == "rate"
    assert compact(match) == "A0 3.5 0, A1 3.5 1, B0 - 2, B1 - 2"
    assert match.human.segments[TranslationKey("A", "1")].translation == "Text 1"
    assert match.human.about["0"].source == "x"
    assert match.human.fields == (
        "human = scores by system, rate = scores by system, hyp = translations by system, seg = segment, src = source"
    )
    done = files("meta-eval -e m.jsonl --human human --missing leave-out")
    assert done.err.startswith("mtagent: m.jsonl: read human = scores by system, rate = ")
    assert done.err.count("\n") == 1


def test_scores_by_metric_become_columns(files: Shell) -> None:
    """As in HiMATE's data: a line per translation, with an object of metrics."""
    rows = [
        {"seg": n, "hyp": "Text", "mqm": -n, "scores": {"BLEU-refA": n / 2, "chrF": None if n else 7}} for n in range(3)
    ]
    write(files, {"h.jsonl": rows})
    bleu, chrf = read("mqm", "h.jsonl", missing="leave-out")
    assert [match.name for match in (bleu, chrf)] == ["BLEU-refA", "chrF"]
    assert [row.evaluator for row in bleu.rows] == [0, 0.5, 1]
    assert [row.evaluator for row in chrf.rows] == [7, None, None]
    assert bleu.human.fields == "scores = scores of BLEU-refA, chrF, seg = segment, hyp = translation"
    write(files, {"twice.jsonl": [{"seg": 1, "mqm": 1, "scores": {"mqm": 2}}]})
    assert "twice.jsonl:1: 'scores' has the score 'mqm', which is a field, too" in refused(
        files("meta-eval -e twice.jsonl --human mqm")
    )


def test_objects_by_metric_beside_a_system_stay_metrics(files: Shell) -> None:
    rows = [{"system": "A", "id": n, "mqm": n, "auto": {"X": n}, "other": {"X2": n, "X": 3}} for n in range(2)]
    write(files, {"s.jsonl": [rows[0] | {"other": None}, rows[1] | {"other": None}]})
    (match,) = read("mqm", "s.jsonl")
    assert (match.name, [row.evaluator for row in match.rows]) == ("X", [0, 1])


def test_spans_with_sides_are_errors(files: Shell) -> None:
    """As in the ESA annotations of WMT24: sides, no category, and omissions without a place."""
    spans = [
        {"side": "tgt", "start": 0, "end": 4, "text": "Text", "category": None, "severity": "minor"},
        {"side": "omission", "start": None, "end": None, "text": "", "category": None, "severity": "major"},
        {"side": "src", "start": 0, "end": 1, "text": "x", "category": "Source", "severity": "minor"},
    ]
    row = {"lp": "en-cs", "system": "A", "seg": "1", "src": "x", "tgt": "Text", "spans": spans}
    write(files, {"people.jsonl": [row | {"esa": 80}]})
    write(files, {"judge.jsonl": [row | {"judge": 60, "spans": []}]})
    (match,) = read("esa=people.jsonl", "judge.jsonl")
    errors = match.human.segments[TranslationKey("A", "1")].errors
    assert errors is not None
    places = [(error.side, error.start, error.end, error.severity) for error in errors]
    assert places == [("translation", 0, 4, "minor"), ("omission", None, None, "major"), ("source", 0, 1, "minor")]
    assert match.human.fields == "seg = segment, src = source, tgt = translation, spans = errors"
    assert match.marked
    write(files, {"people.jsonl": [row | {"esa": 80, "spans": [{"side": "left", "severity": "minor"}]}]})
    message = "people.jsonl:1: span 1 of 1: side 'left': expected tgt, src or omission"
    assert message in refused(files("meta-eval -e judge.jsonl --human esa=people.jsonl"))
