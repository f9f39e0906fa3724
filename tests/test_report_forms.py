"""A report as Markdown, CSV and JSON: complete, readable by the usual readers, and true to the records."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from mtagent.analysis.compare import RunComparison
from mtagent.formats.jsonl import details
from mtagent.records import Chain
from mtagent.report.figures import figures
from mtagent.report.report import as_csv, as_json, as_markdown
from tests.report_records import CHAINS, RUN, chain, comparison, edit, error, paid, rating, row, step

KEPT = step(
    "postedit", "kept", "judge -6 -> 0: better", "new", proposed="new", seconds=1.23456, calls=(paid(0.25),),
    edits=[edit("applied"), edit("refused", "tags: <b> is missing"), edit("ambiguous"), edit("rejected")],
    ratings=(rating(-6, error(severity="major")), rating(0)),
)  # fmt: skip
FAILED = step("postedit", "failed", "ServerError: 500 | `x`", "alt", calls=(paid(None),))
TWO = [chain(KEPT, document="d", domain="news"), chain(FAILED, number=2, given="alt")]
ROWS = comparison(
    row("given", [10, 20.5], texts=["old", "alt"]),
    row("postedit", [12.5, 20.5], "given", texts=["new", "alt"]),
    row(None, [1, math.nan], "given", name="other.txt", texts=["x", "y"]),
)


def read(pieces: Iterator[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(pieces), newline="")))


def parsed(chains: list[Chain], compared: RunComparison | None = None) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads("".join(as_json(RUN, chains, figures(chains, compared), compared)), parse_constant=refuse)


# --- CSV


def test_csv_has_a_line_for_the_given_text_and_each_step() -> None:
    given_, kept, *others = read(as_csv(RUN, TWO, ROWS))
    assert [(line["id"], line["stage"]) for line in others] == [("2", "given"), ("2", "postedit")]
    assert given_ | {"text": "old", "verdict": "", "chrF2": "10.0", "chrF2 difference": "", "dollars": ""} == given_
    assert kept | {
        "id": "1", "document": "d", "domain": "news", "stage": "postedit", "verdict": "kept",
        "outcome": "changed: in part: a guard refused some edits", "reason": "judge -6 -> 0: better", "text": "new",
        "chrF2": "12.5", "chrF2 difference": "2.5", "edits applied": "1", "edits refused": "1", "edits rejected": "1",
        "edits unplaced": "1", "edits reverted": "0", "calls": "1", "input_tokens": "100", "dollars": "0.25",
        "seconds": "1.235", "guarded": "",
    } == kept  # fmt: skip
    assert (others[1]["dollars"], others[1]["document"]) == ("unknown", "")


def test_scores_belong_to_the_last_step_of_a_stage_and_to_this_run_alone() -> None:
    twice = [chain(KEPT.model_copy(update={"text": "first"}), KEPT)]
    assert [line["chrF2"] for line in read(as_csv(RUN, twice, ROWS))] == ["10.0", "", "12.5"]
    assert {line["chrF2"] for line in read(as_csv("another", TWO, ROWS))} == {""}
    assert {line["chrF2"] for line in read(as_csv(RUN, [chain(KEPT, number="not compared")], ROWS))} == {""}


@pytest.mark.parametrize("text", ["=1+1", "+49", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＠x", "－1", "＋1"])
def test_a_cell_that_a_spreadsheet_would_run_is_guarded_and_named(text: str) -> None:
    formula = [chain(number=text, given=text)]
    (line,) = read(as_csv(RUN, formula))
    assert (line["text"], line["id"], line["guarded"]) == (f"'{text}", f"'{text}", "id text")
    (line,) = read(as_csv(RUN, formula, guarded=False))
    assert (line["text"], line["id"], "guarded" in line) == (text, text, False)


def test_numbers_are_never_guarded_and_texts_stay_as_they_are() -> None:
    worse = comparison(row("given", [math.nan]), row("postedit", [9], "given"), row("final", [8], "postedit"))
    given_, kept = read(as_csv(RUN, TWO[:1], worse))
    assert (given_["chrF2"], kept["chrF2"], kept["chrF2 difference"]) == ("", "9.0", "")
    for text, shown, guarded in (("'=1", "'=1", ""), ("a\ud800", "a?", "text")):
        (line,) = read(as_csv(RUN, [chain(given=text)]))
        assert (line["text"], line["guarded"]) == (shown, guarded)


@given(CHAINS)
@settings(deadline=None)
def test_csv_reads_back_what_the_records_say(chains: list[Chain]) -> None:
    columns = ("id", "stage", "text", "reason")
    expected = []
    for each in chains:
        id_, translation = each.segment.id, each.segment.translation
        if translation is not None or not each.steps:
            expected.append((id_, "given", translation or "", ""))
        expected += [(id_, step_.stage, step_.text, step_.reason) for step_ in each.steps]
    for guarded in (True, False):
        lines = read(as_csv(RUN, chains, guarded=guarded))
        assert not any(None in line or None in line.values() for line in lines)
        names = [line["guarded"].split() if guarded else [] for line in lines]
        values = [
            tuple(line[name].removeprefix("'" if name in marked else "") for name in columns)
            for line, marked in zip(lines, names, strict=True)
        ]
        assert values == expected


# --- JSON


def test_json_holds_figures_comparison_and_segments() -> None:
    data = parsed(TWO, ROWS)
    assert set(data) == {"version", "run", "figures", "comparison", "segments"}
    assert (data["version"], data["run"], data["figures"]["flow"]["segments"]) == (1, RUN, 2)
    assert data["figures"]["flow"]["stages"][0]["groups"][0] == {
        "kind": "changed", "reason": "in part: a guard refused some edits", "segments": 1,
    }  # fmt: skip
    assert set(data["figures"]) == {
        "flow", "marks", "spreads", "costly", "failures", "edits", "judge_pairs"
    }  # fmt: skip
    rows = data["comparison"]["rows"]
    assert [(row["name"], row["scores"][0]["score"], "texts" in row) for row in rows] == [
        ("given", 15.25, False), ("postedit", 16.5, False), ("other.txt", None, False)
    ]  # fmt: skip
    first, second = data["segments"]
    assert {key: first[key] for key in details(TWO[0])} == json.loads(json.dumps(details(TWO[0])))
    assert first["fates"]["final"] == {"kind": "changed", "reason": "edited"}
    assert first["scores"]["postedit"] == {"chrF2": 12.5, "chrF2 difference": 2.5}
    assert first["others"] == {"other.txt": "x"}
    assert second["scores"]["other.txt"] == {"chrF2": None, "chrF2 difference": None}


@pytest.mark.parametrize("chains", [[], TWO[:1], [chain(given="a\ud800", number="\udfff")]])
def test_json_of_nothing_of_one_and_of_broken_characters(chains: list[Chain]) -> None:
    assert [segment["id"] for segment in parsed(chains)["segments"]] == [each.segment.id for each in chains]
    "".join(as_json(RUN, chains, figures(chains))).encode()


def test_json_comes_in_pieces_of_one_segment() -> None:
    def chains() -> Iterator[Chain]:
        yield from TWO
        raise RuntimeError("all that was asked for was read")

    pieces = as_json(RUN, chains(), figures(TWO))
    assert [next(pieces).count('"source_lang"') for _ in range(3)] == [0, 1, 1]


@given(CHAINS)
@settings(deadline=None, max_examples=50)
def test_json_holds_any_run(chains: list[Chain]) -> None:
    data = parsed(chains)
    assert [segment["text"] for segment in data["segments"]] == [segment.text for segment in chains]
    for stage in data["figures"]["flow"]["stages"]:
        kinds = [segment["fates"].get(stage["stage"], {}).get("kind") for segment in data["segments"]]
        for kind in {group["kind"] for group in stage["groups"]} - {"idle"}:
            assert kinds.count(kind) == sum(g["segments"] for g in stage["groups"] if g["kind"] == kind)


# --- Markdown


def test_markdown_has_the_tables_and_the_short_lists() -> None:
    rows = comparison(
        row("given", [10, 20], texts=["old", "alt"]), row("postedit", [9, 20], "given", texts=["new", "alt"])
    )
    text = "".join(as_markdown(RUN, figures(TWO, rows), rows))
    assert text.startswith("# Report of the run run-1\n\n2 segments, 2 of them with a given translation.\n")
    for title in (
        "Scores of 2 segments", "What became of the segments", "What became of the edits", "Errors marked by judge",
        "What got worse: postedit", "Most costly segments", "Failed segments",
    ):  # fmt: skip
        assert f"\n## {title}\n\n|" in text
    assert "| 1 | 10.00 | 9.00 | -1.00 |" in text
    assert "| 2 | post-edit | ServerError: 500 \\| \\`x\\` |" in text


def test_markdown_has_no_markup_from_names_and_says_how_many_more_there_are() -> None:
    empty = "".join(as_markdown("my|*run*", figures([])))
    assert empty == "# Report of the run my\\|\\*run\\*\n\n0 segments, 0 of them with a given translation.\n"
    many = [chain(FAILED, number=n) for n in range(13)]
    assert "… and 3 more." in "".join(as_markdown(RUN, figures(many)))


@given(CHAINS)
@settings(deadline=None, max_examples=50)
def test_markdown_s_tables_have_as_many_cells_in_each_line(chains: list[Chain]) -> None:
    bars: list[int] = []
    for line in "".join(as_markdown(RUN, figures(chains))).split("\n"):
        bars = [*bars, line.replace("\\\\", "").replace("\\|", "").count("|")] if line.startswith("|") else []
        assert len(set(bars)) <= 1
