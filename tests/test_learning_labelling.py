"""Which edits are most worth labelling: the order by hand, and the command on a run and on files of scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.learning.gain import RIDGE, by_leverage
from tests import stored
from tests.commands import Done, Shell
from tests.test_learning_reading import EDIT, SIDES, edits
from tests.test_learning_runs import edited, run


def listed(done: Done) -> list[dict[str, object]]:
    assert done.code == 0, done.err
    rows: list[dict[str, object]] = json.loads(done.out)["next"]
    return rows


def test_the_first_edit_has_the_highest_leverage_by_hand() -> None:
    differences = np.array([[1.0], [4.0], [0.0], [-9.0], [1.0]])
    roots = np.array([1, 2, 0, -3, 1])
    features = np.stack([np.ones(5), roots / roots.std()], axis=1)
    labelled = np.array([True, False, False, False, True])
    moments = features[labelled].T @ features[labelled] + np.diag([1e-3, RIDGE * 3])  # the intercept is free
    leverages = [x @ np.linalg.inv(moments) @ x for x in features]
    ((place, leverage),) = by_leverage(differences, labelled, 1)
    assert (place, leverage) == (3, pytest.approx(leverages[3]))
    assert leverages[3] == max(leverages)


def test_of_equal_edits_one_is_listed_before_edits_of_another_kind() -> None:
    alike, others = np.tile([[100.0, 100.0]], (10, 1)), np.array([[100.0, -100.0], [-100.0, 100.0], [-100.0, -100.0]])
    differences = np.vstack([alike, others, np.zeros((5, 2))])
    order = [place for place, _ in by_leverage(differences, np.arange(18) >= 13, 4)]
    assert len([place for place in order if place < 10]) <= 1
    assert {10, 11} <= set(order)


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_labelled_edits_are_not_listed_and_none_twice(seed: int, number: int) -> None:
    random = np.random.default_rng(seed)
    labelled = random.random(20) < 0.5
    order = [place for place, _ in by_leverage(random.normal(0, 5, (20, 2)), labelled, number)]
    assert len(order) == min(number, (~labelled).sum()) == len(set(order))
    assert not any(labelled[place] for place in order)


def test_edits_of_a_run_without_a_label_are_listed_with_their_stage(shell: Shell) -> None:
    run(shell)
    shell.write("labels.tsv", "id\tpreference", *[f"{number}\tafter" for number in range(50)])
    line = "gate calibrate --run first --human labels.tsv --next"
    rows = listed(shell(f"{line} 6 -f json"))
    assert len(rows) == 6
    assert all(int(str(row["id"])) >= 50 and row["stage"] == "postedit" for row in rows)
    shown = shell(f"{line} 6").lines
    assert shown[0] == "label next, of 10 edits without a label (50 have one):"
    assert shown[1].split() == ["id", "stage", "leverage"]
    assert [row.split()[0] for row in shown[2:]] == [row["id"] for row in rows]
    assert len(listed(shell(f"{line} 99 -f json"))) == 10
    assert len(listed(shell("gate calibrate --run first --next 60 -f json"))) == 60
    assert list(shell.runs()) == ["first"], "no judge was asked"


def test_decided_edits_are_labelled(shell: Shell) -> None:
    run(shell)
    shell.write("d.csv", "segment,edit,decision", *(f"{n},,{'reject' if n % 2 else 'accept'}" for n in range(57)))
    assert shell("decide first d.csv").code == 0
    rows = listed(shell("gate calibrate --run first --decisions --next 9 -f json"))
    assert {row["id"] for row in rows} == {"57", "58", "59"}


def test_edits_in_files_without_a_human_score_are_listed(shell: Shell) -> None:
    edits(shell, "a", "b")
    human = shell.read("human.seg.score")
    size = len(human) // 2
    few = [f"{line.split()[0]}\tNone" if n % size < 7 else line for n, line in enumerate(human)]
    shell.write("human.seg.score", *few)
    line = f"gate calibrate -e a.jsonl b.jsonl --judge a --judge b {SIDES} --next 20 -f json"
    rows = listed(shell(line))
    assert {row["id"] for row in rows} == set("1234567"), "matched by position, they are numbered from 1"
    assert {(row["before"], row["after"]) for row in rows} == {("old", "new")}
    rated = [f"{number}\tA\tB\t1\t{number}\t2\t{3 + number % 2}" for number in range(5)]
    shell.write("pairs.tsv", EDIT, *rated, "x\tA\tB\t1\t9\t\t", "y\tA\tB\t1\t3\t\t")
    assert [row["id"] for row in listed(shell("gate calibrate --pairs pairs.tsv --next 2 -f json"))] == ["x", "y"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--run first --next 3 -o gate.json", "--next only lists edits; leave out --output"),
        ("--run first --next 3 --teacher gemba-da:model=m", "only lists edits; leave out --teacher"),
        ("--run first --next 3 --judge rules", "uses the stored answers of the run's own judges; leave out --judge"),
        ("--run first --decisions --human labels.tsv --next 3", "expected one source of labels"),
        ("--run first --human labels.tsv --next 3", "all 2 edits that the judges scored have labels"),
        ("--run silent --next 3", "no judge has rated its edits"),
        ("--pairs texts.tsv --next 3", "there is no edit to label: name the systems"),
    ],
)
def test_what_cannot_be_listed_is_told(shell: Shell, line: str, message: str) -> None:
    run(shell, edited(0), edited(1))
    stored.store(shell.folder / "store.db", "silent", edited(0, judged=None))
    shell.write("labels.tsv", "id\tpreference", "0\tafter", "1\tbefore")
    shell.write("texts.tsv", "judge\terror_free", "1\tyes")
    done = shell(f"gate calibrate {line}")
    assert (done.code != 0, message in done.err) == (True, True), done.err
