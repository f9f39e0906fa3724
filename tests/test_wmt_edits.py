"""The drivers that hold the guards against edits: those of real/ in the research data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wmt import real_edits

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
    assert found["pairs"]["human_postedits"]["en-ta"] == {"edits": 1, "refused": 1}


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
    changes = [edit.change for edit in edits]
    assert real_edits.judged(changes, few=100) == real_edits.judged(changes, few=1000)
