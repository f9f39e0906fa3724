"""The drivers that hold the guards against edits: real ones, a table of good and bad ones, planted damage."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT
from wmt import edit_table, planted, real_edits

LINES = "Dogs bark.\nCats sleep.\nBirds sing at {time}."
BEFORE = "Hunde bellen.\nKatzen schlafen.\nVögel singen um {time}."


def write(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    (folder / "real").mkdir(exist_ok=True)
    fields = {"source_lang": "en", "target_lang": "de", "source": "Two {name}.", "translation": "Zwei {name}."}
    lines = [json.dumps({"id": f"{name}#{number}", **fields, **row}) for number, row in enumerate(rows)]
    (folder / "real" / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path, "human_postedits", {"pe": "Die zwei {name}."}, {"pe": "Zwei."}, {"pe": "Zwei.", "target_lang": "ta"}
    )
    write(tmp_path, "llm_postedits", {"reply": "Genau zwei {name}."})
    texts = [BEFORE.replace("bellen", "bellen laut"), BEFORE.replace("{time}", "acht"), BEFORE.replace("\n", " ")]
    write(tmp_path, "llm_refinements", *({"source": LINES, "translation": BEFORE, "reply": text} for text in texts))
    changes = (("Zwei.", -0.02), ("Zwei {names}.", -0.04), ("Nur zwei {name}.", 0.01))
    scored = [{"reply": text, "delta_comet22": gain, "delta_cometkiwi": gain / 2} for text, gain in changes]
    write(tmp_path, "scored_refinements", *scored)
    comment = real_edits.COMMENTS.read_text(encoding="utf-8").split()[0]
    write(tmp_path, "llm_rewrites", {"reply": "Zwei {name} also.", "id": comment}, {"reply": "Zwei von {name}."})
    return tmp_path


def counts(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    real_edits.main(["--data", str(folder), "-f", "json", *more])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


def test_refused_edits_are_counted_by_set_guard_and_pair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = counts(folder, capsys)
    assert {name: (n["refused"], n["edits"]) for name, n in found["sets"].items()} == {
        "human_postedits": (2, 3),
        "human_postedits without en-ta": (1, 2),
        "llm_postedits": (0, 1),
        "llm_refinements": (2, 3),
        "refinements by paragraph": (2, 3),  # the third document has fewer lines, and is one edit
        "scored_refinements": (2, 3),
        "llm_rewrites": (0, 2),
    }
    assert found["guards"]["human_postedits"]["placeholders"] == 2
    assert found["pairs"]["human_postedits"]["en-ta"] == {
        "edits": 1, "refused": 1, "to a judge": 0, "with a hint": 0,
    }  # fmt: skip


def test_what_is_refused_is_held_against_comet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worth = counts(folder, capsys, "--set", "scored_refinements")["worth"]
    assert worth["placeholders"] == pytest.approx({"edits": 2, "comet22": -3, "cometkiwi": -1.5})
    assert worth["passed"] == pytest.approx({"edits": 1, "comet22": 1, "cometkiwi": 0.5})


def test_a_comment_that_passes_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comments = counts(folder, capsys, "--pair", "en-de")["comments"]
    assert (comments["edits"], comments["refused"], len(comments["passed"])) == (1, 0, 1)
    real_edits.main(["--data", str(folder), "--show", "placeholders"])
    out, err = capsys.readouterr()
    assert comments["passed"][0] in out
    assert err.count("\nA ") == 6


@pytest.mark.data
def test_many_edits_are_shared_out_and_come_back_in_order(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits = list(real_edits.read_edits(data, ["llm_rewrites"]))
    changes = [edit.change for edit in edits[:250]]
    assert len(changes) == 250
    assert real_edits.judged(changes, few=100) == real_edits.judged(changes, few=1000)


# --- the table of good and bad edits

KNOWN = {"comment-12", "shorter-1", "shorter-2", "name-3", "name-4", "question-14"}
"""Good edits that are refused, and bad ones that are kept though a program can see them."""


@cache
def edits_of_the_table() -> list[edit_table.Edit]:
    """All edits of the table, judged once for all tests."""
    return edit_table.read_edits()


def test_at_most_five_per_cent_of_the_table_are_treated_wrongly_and_these_are_known() -> None:
    edits = edits_of_the_table()
    assert {edit.name for edit in edits if edit.wrong} == KNOWN
    counts = edit_table.count(edits)
    assert counts.refused <= 0.05 * counts.good
    assert counts.kept <= 0.05 * counts.seen


def test_edits_that_were_written_apart_from_the_guards_are_treated_rightly() -> None:
    edits = edit_table.read_edits(ROOT / "tests" / "data" / "edits_unseen.jsonl")
    assert {edit.name for edit in edits if edit.wrong} == {"unseen-16", "unseen-57"}
    assert len({edit.change.segment.target_lang for edit in edits}) == 13


def test_the_table_is_large_enough_and_names_each_edit_once() -> None:
    edits = edits_of_the_table()
    counts = edit_table.count(edits)
    assert min(counts.good, counts.seen) >= 60
    assert counts.unseen >= 20
    assert len({edit.change.segment.target_lang for edit in edits}) >= 20
    assert len({edit.name for edit in edits}) == len({edit.change for edit in edits}) == len(edits)


def test_the_table_counts_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"langs": "en-de", "source": "Two {x}.", "before": "Zwei {x}.", "why": "placeholder"}
    rows = [
        {"id": "a-1", "verdict": "good", "after": "Genau zwei {x}."},
        {"id": "a-2", "verdict": "good", "after": "Zwei {y}."},
        {"id": "a-3", "verdict": "bad", "seen": True, "after": "Zwei {y}."},
        {"id": "b-4", "verdict": "bad", "seen": True, "after": "Doch zwei {x}."},
        {"id": "b-5", "verdict": "bad", "seen": False, "after": "Kaum zwei {x}."},
    ]
    path = tmp_path / "edits.jsonl"
    path.write_text("\n".join(json.dumps({**fields, **row}) for row in rows), encoding="utf-8")
    edit_table.main(["--table", str(path), "--show"])
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()[2:5]] == [
        ["a", "2", "1", "1"],
        ["b", "1", "1", "1"],
        ["all", "2", "1", "2", "1", "1"],
    ]
    assert "1 of 2 (50.0%) good edits are refused; 1 of 2 (50.0%) bad edits are kept that a program can see" in out
    assert [line.split()[0] for line in err.splitlines() if " en-de " in line] == ["a-2", "b-4"]
    edit_table.main(["--table", str(path), "--kind", "b", "-f", "json"])
    assert json.loads(capsys.readouterr().out)["wrong"] == ["b-4"]


# --- planted damage

PARTLY_CAUGHT = {"unit swapped", "word doubled", "two source words left", "sentence in a third language", "comment"}
"""Where some of the 30 own texts of a language are not caught."""
FEWER_LANGUAGES = {"digit changed, other digits": 4, "word doubled": 6}
"""Kinds of damage that not all eight languages can have: other digits, words in small letters."""


def test_planted_damage_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    planted.main(["--own", "--texts", "2", "-f", "json"])
    counts = json.loads(capsys.readouterr().out)
    assert counts.keys() == planted.KINDS.keys()
    for kind, languages in counts.items():
        assert all(number == 2 for _, number in languages.values()), kind
        assert len(languages) == FEWER_LANGUAGES.get(kind, 8), kind
        if kind not in PARTLY_CAUGHT:
            assert all(caught == 2 for caught, _ in languages.values()), kind


def test_half_of_the_damage_is_planted_in_texts_by_people(tmp_path: Path) -> None:
    write(
        tmp_path,
        "human_postedits",
        *({"source": f"This is number {n} of them.", "pe": f"Das ist Nummer {n} davon."} for n in range(10, 30)),
    )
    (german,) = [language for language in planted.target_languages() if language.name == "de"]
    found = list(planted.cases("digit changed", german, planted.people(tmp_path)["de"], 6))
    assert [case.people for case in found] == [True] * 3 + [False] * 3
    for case in found:
        digits = [[char for char in text if char.isdigit()] for text in case.change[1:]]
        assert sum(old != new for old, new in zip(*digits, strict=True)) == 1
    assert list(planted.cases("digit changed", german, planted.people(tmp_path)["de"], 6)) == found
    reworded = list(planted.cases("list number changed", german, planted.people(tmp_path)["de"], 2, reworded=True))
    assert reworded[0].change.before.endswith("Zwei {name}.")
    assert "Das ist Nummer" in reworded[0].change.after
    assert "Das ist Nummer" not in reworded[0].change.before + reworded[1].change.before


def test_damage_that_is_not_caught_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    planted.main(["--own", "--texts", "3", "--kind", "tag lost", "--kind", "comment", "--show"])
    out, err = capsys.readouterr()
    rows = {line.split("  ")[0]: line.split()[-1] for line in out.splitlines()[2:]}
    assert rows["tag lost"] == "100.0%"
    kept = err.count("\nA ")
    assert rows["comment"] == f"{(24 - kept) / 24:.1%}"
