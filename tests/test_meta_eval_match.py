"""What goes together: systems, segments and texts of an evaluator and of people, and what only one of them has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.agreement import Row
from mtagent.analysis.matching import Inputs, Match, gather
from mtagent.analysis.meta_eval import Settings, SpanLevel, agreement
from mtagent.analysis.scores import UNNAMED
from mtagent.errors import InputError
from tests.commands import Done, Shell


def refused(done: Done) -> str:
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    return done.err


def table(shell: Shell, name: str, column: str, scores: dict[str, Sequence[Any]], ids: Sequence[str]) -> None:
    """A TSV with a row for each system and id."""
    rows = [f"{system}\t{item}\t{score}" for system, of in scores.items() for item, score in zip(ids, of, strict=True)]
    shell.write(name, f"system\tid\t{column}", *rows)


def listing(shell: Shell, name: str, scores: dict[str, Sequence[Any]]) -> None:
    """A file of mt-metrics-eval."""
    shell.write(name, *(f"{system}\t{score}" for system, of in scores.items() for score in of))


def read(*files: str, human: str = "gold.tsv", **inputs: Any) -> list[Match]:
    return gather(Inputs(human=human, files=files, **inputs))


HUMAN = {"A": [-1, -2, -3], "B": [-3, 0, -1]}
IDS = ["0", "1", "2"]


# --- segments


def test_positions_are_people_s_ids_so_that_all_evaluators_go_together(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", HUMAN, IDS)
    listing(shell, "x.seg.score", HUMAN)
    table(shell, "y.tsv", "y", {"A": [1, 3, 2], "B": [3, 1, 2]}, IDS)
    x, y = read("x.seg.score", "y.tsv")
    assert [row[:2] for row in x.rows] == [row[:2] for row in y.rows]
    assert all(row.evaluator == row.human for row in x.rows)
    done = shell("meta-eval -e x.seg.score y.tsv --human gold.tsv --test pearson --average none --permutations 20")
    assert "20 permutations of 6 scores that all have" in done.out


def test_ids_of_an_evaluator_are_positions_where_people_have_none(shell: Shell) -> None:
    listing(shell, "gold.seg.score", HUMAN)
    table(shell, "y.tsv", "y", {"A": [7, 8, 9], "B": [4, 5, 6]}, "abc")
    (found,) = read("y.tsv", human="gold.seg.score")
    assert [(row.item, row.evaluator) for row in found.rows] == list(zip("123123", [7, 8, 9, 4, 5, 6], strict=True))


@pytest.mark.parametrize("number", [1, 3])
def test_positions_need_equally_many_scores(number: int, shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2]}, "ab")
    listing(shell, "x.seg.score", {"A": range(number)})
    message = refused(shell("meta-eval -e x.seg.score --human gold.tsv --missing leave-out"))
    assert f"x.seg.score: {number} scores of system 'A', and gold.tsv has 2; segments without ids" in message


def test_what_is_known_about_a_segment_follows_it_to_people_s_name(shell: Shell) -> None:
    listing(shell, "gold.seg.score", {"A": [-1, -2]})
    shell.write("y.tsv", "system\tid\tdomain\ty", "A\tu\tnews\t1", "A\tv\ttalk\t2")
    (found,) = read("y.tsv", human="gold.seg.score")
    assert {item: about.domain for item, about in found.evaluator.about.items()} == {"1": "news", "2": "talk"}


@pytest.mark.parametrize("ids", ["people", "evaluator"])
def test_positions_that_differ_between_systems_are_refused(ids: str, shell: Shell) -> None:
    shell.write("t.tsv", "system\tid\tmqm", "A\t1\t1", "A\t2\t2", "B\t2\t3", "B\t1\t4")
    listing(shell, "x.seg.score", {"A": [1, 2], "B": [4, 3]})
    evaluator, human = ("x.seg.score", "t.tsv") if ids == "people" else ("t.tsv", "x.seg.score")
    message = refused(shell(f"meta-eval -e {evaluator} --human {human}"))
    assert "t.tsv:4: segment '2' is number 1 of system 'B' and number 2 of others; scores without ids" in message


def test_objects_with_ids_are_matched_by_them_whatever_the_file_is_called(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2]}, "ab")
    objects = [{"id": item, "system": "A", "evaluator": "X", "score": score} for item, score in [("b", -2), ("a", -1)]]
    shell.write("x.json", *map(json.dumps, objects))
    (found,) = read("x.json")
    assert sorted(found.rows) == [Row("A", "a", -1, -1), Row("A", "b", -2, -2)]
    shell.write("x.json", *map(json.dumps, [*objects, objects[0]]))
    with pytest.raises(InputError, match=r"x\.json:3: system 'A', segment 'b' has a score already \(x\.json:1\)"):
        read("x.json")


# --- systems


def test_a_system_s_own_name_goes_before_what_it_resembles(shell: Shell) -> None:
    two = {"gpt_4": [-1, -2], "gpt-4": [-3, -4]}
    table(shell, "gold.tsv", "mqm", two, "ab")
    table(shell, "y.tsv", "y", two, "ab")
    (found,) = read("y.tsv")
    assert [row.evaluator for row in found.rows] == [row.human for row in found.rows] == [-1, -2, -3, -4]


def test_a_system_that_the_evaluator_lacks_gets_no_scores_of_a_similar_one(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"gpt-4": [-3, -4], "gpt_4": [-1, -2]}, "ab")
    table(shell, "y.tsv", "y", {"gpt_4": [-1, -2]}, "ab")
    (found,) = gather(Inputs(human="gold.tsv", files=("y.tsv",)), missing="leave-out")
    assert ({row.system for row in found.rows}, found.others) == ({"gpt_4"}, ("gpt-4",))


def test_two_systems_do_not_become_one(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"gpt_4": [-1, -2]}, "ab")
    table(shell, "y.tsv", "y", {"gpt_4": [-1, -2], "gpt-4": [-3, -4]}, "ab")
    message = refused(shell("meta-eval -e y.tsv --human gold.tsv"))
    assert "y.tsv:4: system 'gpt-4' has scores of y, and none of mqm" in message
    table(shell, "y.tsv", "y", {"gpt.4": [-1, -2], "gpt-4": [-3, -4]}, "ab")
    assert "y.tsv:2: system 'gpt.4' has scores of y, and none" in refused(shell("meta-eval -e y.tsv --human gold.tsv"))


@pytest.mark.parametrize("name", ["gpt_4", "gpt-4"])
def test_a_system_is_dropped_by_either_of_its_names(name: str, shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"gpt_4": [-1, -2], "A": [0, -1]}, "ab")
    table(shell, "y.tsv", "y", {"gpt-4": [-1, -2], "A": [3, 4]}, "ab")
    (found,) = gather(Inputs(human="gold.tsv", files=("y.tsv",)), drop=[name])
    assert (found.human.names(), found.evaluator.names(), found.others) == (["A"], ["A"], ())


def test_dropping_a_system_spares_one_of_a_similar_name(shell: Shell) -> None:
    two = {"gpt_4": [-1, -2], "gpt-4": [-3, -4]}
    table(shell, "gold.tsv", "mqm", two, "ab")
    table(shell, "y.tsv", "y", two, "ab")
    (found,) = gather(Inputs(human="gold.tsv", files=("y.tsv",)), drop=["gpt-4"])
    assert found.human.names() == ["gpt_4"]


def test_a_file_without_systems_is_about_the_one_that_is_left(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2], "B": [0, 0]}, "ab")
    shell.write("comet.txt", "0.5", "0.4")
    (found,) = gather(Inputs(human="gold.tsv", files=("comet.txt",)), drop=["B"])
    assert found.rows == (Row("A", "a", 0.5, -1), Row("A", "b", 0.4, -2))


def test_systems_that_one_side_lacks_are_told(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2], "C": [0, 0]}, "ab")
    table(shell, "y.tsv", "y", {"A": [-1, -2], "B": [3, 4]}, "ab")
    done = shell("meta-eval -e y.tsv --human gold.tsv --missing leave-out")
    assert "warning: y: 2 systems that it or people did not score are left out: C, B" in done.out
    done = shell("meta-eval -e y.tsv --human gold.tsv --missing leave-out --drop-systems B,C")
    assert "are left out" not in done.out


def test_the_name_of_a_system_is_not_left_empty(shell: Shell) -> None:
    shell.write("t.tsv", "System\tid\tmqm\tX", "A\t1\t1\t2", "\t1\t2\t3")
    assert "t.tsv:3: 'System' is empty; it names the system" in refused(shell("meta-eval -e t.tsv --human mqm"))
    shell.write("t.tsv", "system\tid\tmqm\tX", "\t1\t1\t2", "\t2\t2\t3")
    assert read("t.tsv", human="mqm")[0].human.names() == [UNNAMED]
    shell.write("sys.tsv", "system\tmqm\tX", "\t1\t1")
    done = shell("meta-eval -e t.tsv --human mqm --system-scores sys.tsv")
    assert "sys.tsv:2: 'system' is empty; it names the system" in refused(done)


# --- which scores of systems count


SYSTEMS = ("A\t9\nB\t8\n", "A\t9\nB\t8\nC\tNone\n")


@pytest.mark.parametrize("given", SYSTEMS)
def test_given_scores_count_only_where_all_scored_systems_have_them(given: str, shell: Shell) -> None:
    for name in ("gold", "x"):
        listing(shell, f"{name}.seg.score", {"A": [1, 2], "B": [3, 4], "C": [5, 6]})
        (shell.folder / f"{name}.sys.score").write_text(given, encoding="utf-8")
    (found,) = read("x.seg.score", human="gold.seg.score")
    systems = found.systems()
    assert systems is not None
    assert [row.evaluator for row in systems.rows()] == [1.5, 3.5, 5.5]
    (found,) = gather(Inputs(human="gold.seg.score", files=("x.seg.score",)), drop=["C"])
    systems = found.systems()
    assert systems is not None
    assert [row.evaluator for row in systems.rows()] == [9, 8]


def test_given_scores_count_where_the_system_without_one_is_not_scored_at_all(shell: Shell) -> None:
    for name, missing in (("gold", None), ("x", 7)):
        listing(shell, f"{name}.seg.score", {"A": [1, 2], "B": [3, 4], "C": [missing, missing]})
        shell.write(f"{name}.sys.score", "A\t9", "B\t8", f"C\t{missing}")
    (found,) = gather(Inputs(human="gold.seg.score", files=("x.seg.score",)), missing="leave-out")
    systems = found.systems()
    assert systems is not None
    assert ([row.evaluator for row in systems.rows()], systems.missing.human) == ([9, 8], 1)


# --- texts


TEXT, SPACED = "Die Bank zahlt", " Die  Bank zahlt\n"


def rated(who: str, text: str | None, errors: list[dict[str, Any]] | None, item: str = "1", **more: Any) -> str:
    values = {"id": item, "system": "A", "evaluator": who, "score": -1, "translation": text, "errors": errors, **more}
    return json.dumps(values)


def error(start: int, end: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {"text": text, "start": start, "end": end, "category": "style", "severity": "minor", **more}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (error(4, 8), error(6, 10)),
        (error(4, 8, "Bank"), error(6, 10)),
        (error(3, 9), error(6, 10)),  # white space at the edges is not of the words
        (error(0, 14), error(1, 16)),
        (error(3, 4, " "), error(4, 6, "  ")),
        (error(9, 14), error(11, 16)),
    ],
)
def test_spans_are_found_again_where_white_space_differs(
    ours: dict[str, Any], theirs: dict[str, Any], shell: Shell
) -> None:
    shell.write("x.jsonl", rated("X", TEXT, [ours]))
    shell.write("gold.jsonl", rated("people", SPACED, [theirs]))
    (found,) = read("x.jsonl", human="gold.jsonl")
    (given,) = found.evaluator.segments.values()
    assert given.errors is not None
    assert (given.translation, given.errors[0].start, given.errors[0].end) == (SPACED, theirs["start"], theirs["end"])
    scores = spans_of(found, unlocated="refuse").measures
    assert [one.score.f1 for one in scores] == [1, 1, 1]


@pytest.mark.parametrize(
    "unmoved",
    [
        error(4, 8, "Geld"),
        error(4, 99),
        {**error(0, 0, "Bank"), "start": None, "end": None},
        error(0, 3, "the", side="source"),
    ],
)
def test_spans_without_a_sure_place_are_left_as_they_are(unmoved: dict[str, Any], shell: Shell) -> None:
    shell.write("x.jsonl", rated("X", TEXT, [unmoved]))
    shell.write("gold.jsonl", rated("people", SPACED, []))
    (found,) = read("x.jsonl", human="gold.jsonl")
    (given,) = found.evaluator.segments.values()
    assert given.errors is not None
    assert given.errors[0].model_dump(include=set(unmoved)) == unmoved


# --- spans


def spans_of(found: Match, **settings: Any) -> SpanLevel:
    spans = agreement([found], Settings(**settings)).spans
    assert spans is not None
    return spans


def test_segments_that_one_side_lacks_are_counted_at_the_level_of_spans(shell: Shell) -> None:
    shell.write("x.jsonl", *(rated("X", TEXT, [error(0, 3)], item) for item in "123"), rated("X", None, None, "4"))
    shell.write("gold.jsonl", *(rated("people", TEXT, [error(0, 3)], item) for item in "15"))
    done = shell("meta-eval -e x.jsonl --human gold.jsonl --missing leave-out --level span -f json")
    measure = json.loads(done.out)["spans"]["measures"][0]
    assert (measure["segments"], measure["segments_left_out"]) == (1, {"gold": 2, "predicted": 1, "both": 1})


def test_an_invented_span_counts_unless_asked_otherwise(shell: Shell) -> None:
    invented = {**error(0, 0, "Geld"), "start": None, "end": None}
    shell.write("x.jsonl", rated("X", TEXT, [error(0, 3), invented]))
    shell.write("gold.jsonl", rated("people", TEXT, [error(0, 3)]))
    (found,) = read("x.jsonl", human="gold.jsonl")
    assert [one.score.precision for one in spans_of(found).measures] == [3 / 7, 1 / 2, 1 / 2]
    done = shell("meta-eval -e x.jsonl --human gold.jsonl --level span -f json")
    assert [one["precision"] for one in json.loads(done.out)["spans"]["measures"]] == [3 / 7, 1 / 2, 1 / 2]


@pytest.mark.parametrize("lacking", [{"errors": None}, {"translation": None}])
def test_the_level_of_spans_needs_errors_and_texts_of_both(lacking: dict[str, Any], shell: Shell) -> None:
    for name, who in (("x.jsonl", "X"), ("gold.jsonl", "people")):
        values = json.loads(rated(who, TEXT, [error(0, 3)]))
        shell.write(name, json.dumps(values | (lacking if who == "people" or "translation" in lacking else {})))
    done = shell("meta-eval -e x.jsonl --human gold.jsonl")
    assert (done.code, "level of segments" in done.out, "spans" in done.out) == (0, True, False)
    assert shell("meta-eval -e x.jsonl --human gold.jsonl --level span").code == 2


def test_the_source_may_be_known_to_either_side(shell: Shell) -> None:
    lost = {"text": "lost", "category": "accuracy/omission", "severity": "major", "side": "omission"}
    for at in range(2):
        for place, (name, who) in enumerate([("x.jsonl", "X"), ("gold.jsonl", "people")]):
            shell.write(name, rated(who, TEXT, [lost], **({"source": "the lost word"} if place == at else {})))
        (found,) = read("x.jsonl", human="gold.jsonl")
        characters = spans_of(found, outside="source").measures[0].score
        assert (characters.right, characters.gold) == (4, 4)


# --- rows of several raters


def test_a_failed_rating_without_a_name_is_of_who_did_not_rate(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2]}, "12")
    failed = {"id": "1", "system": "A", "evaluator": None, "score": None, "error": "boom"}
    shell.write("x.jsonl", rated("X", None, None), json.dumps(failed), *(rated(who, None, None, "2") for who in "XY"))
    x, y = gather(Inputs(human="gold.tsv", files=("x.jsonl",)), missing="leave-out")
    assert [row.evaluator for row in x.rows] == [-1, -1]
    assert [(row.evaluator, y.evaluator.segments[row[0:2]].why) for row in y.rows] == [(None, "boom"), (-1, "")]  # type: ignore[index]
    shell.write("x.jsonl", rated("X", None, None), json.dumps(failed), rated("X", None, None, "2"))
    assert "x.jsonl:2: system 'A', segment '1' has a score already" in refused(
        shell("meta-eval -e x.jsonl --human gold.tsv")
    )


# --- folders of mt-metrics-eval


MARK = '{"errors": [{"start": 0, "end": 3, "category": "style", "severity": "minor"}]}\tr'


@pytest.fixture
def folder(shell: Shell) -> Shell:
    """The shell with such a folder, that has neither sources nor documents."""
    for name in ("human-scores/en-de.mqm", "metric-scores/en-de/X-src"):
        contents = {"seg.score": "A\t-1\nA\t-5\n", "seg.rating": f"A\t{MARK}\nA\tNone\n"}
        for end, content in contents.items():
            put(shell, f"set/{name}.{end}", content)
    put(shell, "set/system-outputs/en-de/A.txt", "Die Bank\nzahlt\n")
    return shell


def put(shell: Shell, name: str, content: str) -> None:
    path = shell.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_a_folder_without_sources_tells_its_languages(folder: Shell) -> None:
    assert folder("meta-eval --mtme set --missing leave-out -o copy").code == 0
    assert (folder.folder / "copy/human-scores/en-de.mqm.seg.rating").is_file()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "human-scores/en-de.mqm.seg.rating",
            f"A\t{MARK}\n" * 3,
            "en-de.mqm.seg.rating: 3 ratings of system 'A', and 2 scores beside it; a line is a segment",
        ),
        ("system-outputs/en-de/A.txt", "Die Bank\n", "en-de.mqm.seg.score: 2 scores of 'A', and 1 translations in set"),
        ("system-outputs/en-de/A.txt", "1\n2\n3\n", "en-de.mqm.seg.score: 2 scores of 'A', and 3 translations in set"),
    ],
)
def test_files_of_other_lengths_are_refused(file: str, content: str, message: str, folder: Shell) -> None:
    put(folder, f"set/{file}", content)
    assert message in refused(folder("meta-eval --mtme set --missing leave-out"))


def test_a_system_that_has_errors_and_no_scores_lacks_scores(folder: Shell) -> None:
    put(folder, "set/human-scores/en-de.mqm.seg.rating", f"A\t{MARK}\nA\tNone\nB\t{MARK}\nB\t{MARK}\n")
    (found,) = gather(Inputs(human="mqm", folder=Path("set")), missing="leave-out")
    assert found.others == ("B",)
    assert "en-de.mqm.seg.rating:3: system 'B' has scores of mqm, and none" in refused(folder("meta-eval --mtme set"))


@pytest.mark.parametrize("name", ["x" * 300, "../../../etc/hosts", "a b"])
def test_names_of_systems_that_are_no_names_of_files(name: str, folder: Shell) -> None:
    for path in (folder.folder / "set").rglob("*.seg.*"):
        path.write_text(path.read_text(encoding="utf-8").replace("A\t", f"{name}\t"), encoding="utf-8")
    put(folder, "set/sources/en-de.txt", "The bank\npays\n")
    assert folder("meta-eval --mtme set --missing leave-out --level seg").code == 0


def test_metrics_of_a_folder_are_chosen_beside_files_too(folder: Shell) -> None:
    put(folder, "set/metric-scores/en-de/Y-src.seg.score", "A\t1\nA\t2\n")
    listing(folder, "z.seg.score", {"A": [1, 2]})
    found = read("z.seg.score", human="mqm", folder=Path("set"), metrics=("X", "z"))
    assert [(one.name, one.evaluator.reference) for one in found] == [("X-src", None), ("z", None)]


# --- written, and read back


def test_people_s_scores_of_all_systems_are_written(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2], "B": [0, -3], "C": [-4, -5]}, "ab")
    table(shell, "x.tsv", "x", {"B": [1, 2], "C": [3, 4]}, "ab")
    table(shell, "y.tsv", "y", {"A": [5, 6], "B": [7, 8]}, "ab")
    shell("meta-eval -e x.tsv y.tsv --human gold.tsv --missing leave-out -l en-de -o set")
    back = gather(Inputs(human="mqm", folder=Path("set")), missing="leave-out")
    assert [sorted(one.evaluator.names()) for one in back] == [["B", "C"], ["A", "B"]]
    assert sorted(back[1].rows)[0] == Row("A", "1", 5, -1)


def test_an_omission_in_the_source_stays_one(folder: Shell) -> None:
    omission = {"start": 4, "end": 8, "category": "Accuracy/Omission", "severity": "major", "is_source_error": True}
    line = json.dumps({"errors": [omission]})
    put(folder, "set/human-scores/en-de.mqm.seg.rating", f"A\t{line}\tr\nA\t{MARK}\n")
    put(folder, "set/metric-scores/en-de/X-src.seg.rating", f"A\t{MARK}\nA\t{MARK}\n")
    put(folder, "set/sources/en-de.txt", "The bank\npays\n")
    done = folder("meta-eval --mtme set -o copy --outside source --level span")
    again = folder("meta-eval --mtme copy --outside source --level span")
    assert again.out.split("\n\n")[0] == done.out.split("\n\n")[0]
    assert '"start": 4, "end": 8' in folder.read("copy/human-scores/en-de.mqm.seg.rating")[0]
    assert '"is_source_error": true' in folder.read("copy/human-scores/en-de.mqm.seg.rating")[0]


def test_documents_that_have_to_be_renamed_are_told(shell: Shell) -> None:
    lines = [
        json.dumps({**json.loads(rated("X", TEXT, [], item)), "source": "s", "lp": "en-de", "document": document})
        for item, document in [("1", "d"), ("2", "e"), ("3", "d")]
    ]
    shell.write("x.jsonl", *lines)
    shell.write("gold.jsonl", *(line.replace('"X"', '"people"') for line in lines))
    done = shell("meta-eval -e x.jsonl --human gold.jsonl -o set")
    assert "en-de: documents renamed, to stand in one piece and without spaces: 1 (d is d_2)" in done.err
    assert "holds no rating" not in done.err


# --- whose scores and spans a table holds


def test_spans_beside_scores_of_several_evaluators_are_nobody_s(shell: Shell) -> None:
    row = {"id": "1", "system": "A", "translation": TEXT, "errors": [error(0, 3)], "mqm": -1}
    shell.write("t.jsonl", json.dumps(row | {"x": 1}))
    assert not any(side.marks for side in read("t.jsonl", human="mqm")[0][:2])
    shell.write("t.jsonl", json.dumps(row))
    table(shell, "gold.tsv", "people", {"A": [-1]}, "1")
    assert read("t.jsonl")[0].evaluator.marks


def test_errors_in_another_form_are_no_spans(shell: Shell) -> None:
    shell.write("t.tsv", "system\tid\terrors\tx", "A\t1\tnone\t1")
    table(shell, "gold.tsv", "mqm", {"A": [-1]}, "1")
    (found,) = read("t.tsv")
    assert (found.name, found.evaluator.marks) == ("x", False)


def test_people_s_scores_in_the_rows_of_every_evaluator_must_be_the_same(shell: Shell) -> None:
    rows = [{"id": "1", "system": "A", "evaluator": who, "score": 1, "mqm": -n} for n, who in enumerate("XY")]
    shell.write("t.jsonl", *map(json.dumps, rows))
    message = refused(shell("meta-eval -e t.jsonl --human mqm"))
    assert "t.jsonl:2: system 'A', segment '1' has a score already (t.jsonl:1)" in message


def test_what_one_row_does_not_say_about_a_segment_another_may(shell: Shell) -> None:
    shell.write("t.tsv", "system\tid\tdomain\tsource\tmqm\tx", "A\t1\t\ts\t-1\t1", "B\t1\tnews\t\t-1\t1")
    (found,) = read("t.tsv", human="mqm")
    assert found.human.about["1"][0::4] == ("s", "news")


def test_the_name_that_an_evaluator_is_given_chooses_it(shell: Shell) -> None:
    shell.write("x.jsonl", rated("X", None, None))
    table(shell, "gold.tsv", "mqm", {"A": [-1]}, "1")
    assert [one.name for one in read("own=x.jsonl", metrics=("own",))] == ["own"]


def test_rows_without_ids_are_numbered_by_system(shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1, -2], "B": [-3, -4]}, "ab")
    shell.write("x.tsv", "system\tX\tsignature", "A\t1\ts", "B\t3\ts", "A\t2\ts", "B\t4\ts")
    (found,) = read("x.tsv")
    assert [(*row[:2], row.evaluator) for row in found.rows] == [
        ("A", "a", 1), ("A", "b", 2), ("B", "a", 3), ("B", "b", 4)
    ]  # fmt: skip
    assert found.evaluator.signature == "s"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.sys.score", "1\n", "x.sys.score:1: a line is SYSTEM⇥SCORE, and each system has one"),
        ("x.sys.score", "A\t1\nA\t2\n", "x.sys.score:2: a line is SYSTEM⇥SCORE, and each system has one"),
        (
            "x.seg.score",
            '{"metric": "X", "score": 1, "system": "A"}\n{"metric": "Y", "score": 1, "system": "A"}\n',
            "x.seg.score: has scores of X, Y; name the file .jsonl to read all",
        ),
    ],
)
def test_lists_of_another_kind_are_refused(name: str, content: str, message: str, shell: Shell) -> None:
    table(shell, "gold.tsv", "mqm", {"A": [-1]}, "1")
    listing(shell, "x.seg.score", {"A": [1]})
    put(shell, name, content)
    assert message in refused(shell("meta-eval -e x.seg.score --human gold.tsv"))


def test_names_are_changed_once_and_references_stay_in_them(shell: Shell) -> None:
    pair = {"source": "s", "lp": "en-de"}
    one = json.dumps({**json.loads(rated("COMET-refA", TEXT, None)), **pair}).replace('"A"', '"a/b.c"')
    shell.write("x.jsonl", one)
    shell.write("gold.jsonl", one.replace("COMET-refA", "people").replace("null", "[]"))
    done = shell("meta-eval -e x.jsonl --human gold.jsonl -o set")
    assert done.err.count("a/b.c is a_b_c") == 1
    folder = shell.folder / "set"
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.seg.*"))
    assert written == [
        "human-scores/en-de.people.seg.rating", "human-scores/en-de.people.seg.score",
        "metric-scores/en-de/COMET-refA.seg.score",
    ]  # fmt: skip
    (found,) = gather(Inputs(human="people", folder=Path("set")))
    assert (found.name, found.evaluator.reference, found.evaluator.names()) == ("COMET-refA", "refA", ["a_b_c"])
