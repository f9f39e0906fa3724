"""Whose annotations a file holds: no system is rated with those of another one."""

from __future__ import annotations

import json

import pytest

from mtagent.records import ErrorSpan
from tests.commands import SOURCES, TRANSLATIONS, Shell
from tests.span_writers import Case, marot, own

MARKED = '{"errors": [{"start": 0, "end": 2, "category": "style", "severity": "major"}]}'
LINES = {"s1": f"{MARKED}\tr", "s2": '{"errors": []}\tr'}
SPAN = ErrorSpan(text="El", category="style", severity="major", start=0, end=2)


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with two systems, the first of whose texts is equal."""
    shell.write("s1.txt", *TRANSLATIONS)
    shell.write("s2.txt", TRANSLATIONS[0], "Hola mundo.", "Paga.")
    return shell


def ratings(shell: Shell, *systems: str, name: str = "a.seg.rating") -> None:
    """An MTME file without texts, that holds the lines of ``systems``."""
    shell.write(name, *(f"{system}\t{LINES['s1' if '1' in system else 's2']}" for system in systems for _ in SOURCES))


def rate(shell: Shell, translations: str, spec: str) -> tuple[int, dict[str, list[float | None]], list[str], str]:
    """Exit code, scores by system, all that went wrong, and what was said."""
    done = shell(f"rate -s en.txt -t {translations} -l en-es --evaluator spans-file:path={spec}")
    rows = [json.loads(line) for line in done.out.splitlines()]
    scores = {row["system"]: [one["score"] for one in rows if one["system"] == row["system"]] for row in rows}
    return done.code, scores, [row["error"] for row in rows if row["error"]], done.err


@pytest.mark.parametrize("option", ["", ",system=s1"])
def test_no_system_gets_the_ratings_of_another(option: str, files: Shell) -> None:
    ratings(files, "s1")
    code, scores, errors, said = rate(files, "s1.txt s2.txt", f"a.seg.rating{option}")
    assert (code, scores) == (3, {"s1": [-5.0] * 3, "s2": [None] * 3})
    assert [error.partition("a.seg.rating ")[2] for error in errors] == [
        "holds no ratings of system 's2'; it has those of s1"
    ] * 3
    assert said.count("cannot be checked") == 1
    assert "mtagent: 3 ratings carry warnings; the first: s1/1: the file holds no texts: that this is" in said


def test_each_system_gets_its_own_ratings(files: Shell) -> None:
    ratings(files, "s2", "s1")
    assert rate(files, "s1.txt s2.txt", "a.seg.rating")[:3] == (0, {"s1": [-5.0] * 3, "s2": [0.0] * 3}, [])
    assert rate(files, "s2.txt", "a.seg.rating")[1] == {"s2": [0.0] * 3}
    code, scores, _, _ = rate(files, "s1.txt s2.txt", "a.seg.rating,system=s1")
    assert (code, scores) == (3, {"s1": [-5.0] * 3, "s2": [None] * 3})


def test_names_are_matched_as_mt_metrics_eval_writes_them(files: Shell) -> None:
    ratings(files, "online_s1", "s2_v_1_0".replace("1", "9"))
    _, scores, errors, _ = rate(files, "online-s1=s1.txt s2-v.9.0=s2.txt", "a.seg.rating")
    assert (scores, errors) == ({"online-s1": [-5.0] * 3, "s2-v.9.0": [0.0] * 3}, [])


def test_a_single_file_of_another_name_is_rated_and_warned_of(files: Shell) -> None:
    ratings(files, "s1")
    code, scores, _, said = rate(files, "mt=s2.txt", "a.seg.rating")
    assert (code, scores) == (0, {"mt": [-5.0] * 3})
    assert "the first: mt/1: the file's ratings are of the system 's1', and this one is called 'mt'" in said
    assert "is called" not in rate(files, "mt=s2.txt", "a.seg.rating,system=s1")[3]


def test_which_of_several_systems_a_single_file_is_must_be_said(files: Shell) -> None:
    ratings(files, "s1", "s2")
    done = files("rate -s en.txt -t mt=s2.txt -l en-es --evaluator spans-file:path=a.seg.rating")
    assert (done.code, "has no texts, and 2 systems: choose with system=s1|s2" in done.err) == (1, True)
    done = files.postedit("--evaluator spans-file:path=a.seg.rating --gate guards")
    assert (done.code, "choose with system=s1|s2" in done.err) == (1, True)


def test_equal_texts_of_two_systems_have_the_ratings_of_each(files: Shell) -> None:
    cases = [Case("1", SOURCES[0], TRANSLATIONS[0], errors, name) for name, errors in [("s1", (SPAN,)), ("s2", ())]]
    marot(files.folder / "a.tsv", cases)
    _, scores, errors, _ = rate(files, "s1.txt s2.txt --limit 1", "a.tsv")
    assert (scores, errors) == ({"s1": [-5.0], "s2": [0.0]}, [])
    _, scores, _, _ = rate(files, "x=s1.txt y=s2.txt --limit 1", "a.tsv")
    assert scores == {"x": [-2.5], "y": [-2.5]}  # nothing tells whose text it is: all that was said of it


def test_a_stopped_run_keeps_what_each_system_has(files: Shell) -> None:
    ratings(files, "s1")
    first = rate(files, "s1.txt s2.txt", "a.seg.rating")
    again = rate(files, "s1.txt s2.txt", "a.seg.rating")
    assert again[:3] == first[:3]


def test_post_editing_tells_of_warnings_too(files: Shell) -> None:
    ratings(files, "s2")
    done = files.postedit("--evaluator spans-file:path=a.seg.rating --gate guards --stages pe")
    assert "mtagent: 3 ratings carry warnings; the first: 1: the file holds no texts" in done.err


def test_a_rating_without_warnings_is_not_spoken_of(files: Shell) -> None:
    own(files.folder / "a.jsonl", [Case("1", SOURCES[0], TRANSLATIONS[0], ())])
    assert "warning" not in rate(files, "s1.txt --limit 1", "a.jsonl")[3]


HEAD = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")


def two_texts(shell: Shell) -> None:
    """A Marot file in which two raters of one item had different texts before them."""
    item = ("s1", "d", "1", "1")
    rows = [
        (*item, "ann1", SOURCES[0], "El gato <v>no</v> se sentó aquí", "Accuracy/Addition", "Major"),
        (*item, "ann2", SOURCES[0], TRANSLATIONS[0], "No-error", "No-error"),
    ]
    shell.write("a.tsv", *map("\t".join, (HEAD, *rows)))


@pytest.mark.parametrize(
    ("text", "score", "rater", "places"),
    [
        (TRANSLATIONS[0], 0.0, "ann1", ("a.tsv:2", "a.tsv:3")),
        ("El gato no se sentó aquí", -5.0, "ann2", ("a.tsv:3", "a.tsv:2")),
    ],
)
def test_what_is_said_of_another_text_of_the_item_is_told(
    text: str, score: float, rater: str, places: tuple[str, str], files: Shell
) -> None:
    two_texts(files)
    files.write("s1.txt", text, *TRANSLATIONS[1:])
    code, scores, _, said = rate(files, "s1.txt --limit 1", "a.tsv")
    assert (code, scores) == (0, {"s1": [score]})
    left_out = f"{places[0]}: this rating by {rater} is left out, since it is of another text than"
    assert f"mtagent: 1 rating carries a warning: s1/1: {left_out} {places[1]}: " in said
    assert "El gato no se" in said


def test_a_rater_who_is_not_asked_for_is_not_missed(files: Shell) -> None:
    two_texts(files)
    assert "left out" not in rate(files, "s1.txt --limit 1", "a.tsv,rater=ann2")[3]


def test_a_span_that_lacks_fields_is_told_which_it_needs(files: Shell) -> None:
    values = {"id": "1", "source": SOURCES[0], "translation": TRANSLATIONS[0]}
    span = {"text": "El", "severity": "minor"}
    errors = [{**span, "category": "style"}, span]
    files.write("a.jsonl", json.dumps({**values, "errors": []}), json.dumps({**values, "errors": errors}))
    done = files("rate -s en.txt -t s1.txt -l en-es --evaluator spans-file:path=a.jsonl")
    assert done.code == 1
    needed = "no 'category'; an error needs text, category, severity, and may have start, end, side, suggestion"
    assert f"a.jsonl:2: error 2 of 2: {needed}" in done.err
