"""The figures as tables with bars: with their numbers, and bars that fit, for any run."""

from __future__ import annotations

import math
import re
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.records import Chain
from mtagent.report import tables
from mtagent.report.figures import Flow, Group, Marks, StageFlow, StageMarks, figures, spreads
from mtagent.text.table import Bar, Table
from tests.report_records import CHAINS, chain, comparison, edit, row, step

STYLE = "".join(
    files("mtagent.report").joinpath("page", name).read_text(encoding="utf-8") for name in ("colours.css", "page.css")
)


def marks(*stages: StageMarks, spans: bool = True) -> Marks:
    return Marks("judge", "judge|m", spans, stages)


def stage(name: str, marked: int, **errors: int) -> StageMarks:
    mean = -1.0 if marked else None
    return StageMarks(name, 10, marked, marked, 0, mean, {k: {"minor": n} for k, n in errors.items()})


def check_bars(table: Table) -> None:
    """Every bar must stand in its cell."""
    assert all(0 <= bar.start <= bar.start + bar.width <= 1.000001 for bar in table.bars.values())
    assert all(row < len(table.rows) and column < len(table.head) for row, column in table.bars)


def test_bars_of_a_stage_follow_each_other_in_the_colours_of_what_became_of_it() -> None:
    groups = (Group("changed", "edited", 1), Group("gate", "rated worse", 3))
    flow = Flow(4, 4, (StageFlow("postedit", groups, (("applied", 3), ("refused by a guard: x", 1))),))
    table = tables.flow_table(flow)
    assert table.rows == (
        ("post-edit", "changed", "edited", "1", "25.0 %"),
        ("post-edit", "rejected by the gate", "rated worse", "3", "75.0 %"),
    )
    assert list(table.bars.values()) == [Bar(0, 0.25, "changed"), Bar(0.25, 0.75, "gate")]
    table = tables.edits_table(flow)
    assert table.rows[0][2:] == ("3", "75.0 %")
    assert list(table.bars.values()) == [Bar(0, 0.75, "changed"), Bar(0.75, 0.25, "guard")]


def test_a_stage_with_fewer_rated_texts_than_the_first_has_no_rate() -> None:
    few = marks(stage("given", 4, a=4), stage("postedit", 2, a=9, b=1), stage("proofread", 4, a=2), stage("final", 0))
    counts, rates = tables.marks_table(few), tables.categories_table(few)
    assert counts.rows[0] == ("as given", "10", "4", "-1.000", "0", "0", "0", "4", "0", "100.0")
    assert counts.rows[1] == ("post-edit", "10", "2", *[""] * 7)
    assert counts.rows[2][-1] == "50.0"
    assert (rates.head, rates.rows) == (("category", "as given", "proofread"), (("a", "100.0", "50.0"),))
    assert counts.note == rates.note == "only 2 of 10 texts were rated after post-editing: not comparable"


def test_means_without_spans_follow_the_same_rule_and_uneven_texts_are_said() -> None:
    both = (StageMarks("given", 3, 3, 0, 0, 80.5, {}), StageMarks("postedit", 3, 1, 0, 0, 99, {}))
    assert [line[3] for line in tables.marks_table(marks(*both, spans=False)).rows] == ["80.500", ""]
    uneven = marks(stage("given", 2, a=4), stage("postedit", 4, a=1))
    even = marks(stage("given", 4, a=4), stage("final", 4))
    for table in (tables.marks_table, tables.categories_table):
        assert ("not all stages have the same texts rated" in table(uneven).note, table(even).note) == (True, "")


@pytest.mark.parametrize("higher", [True, False])
def test_differences_keep_zero_apart_and_have_the_colour_of_their_side(higher: bool) -> None:
    rows = (
        row("given", [1, 1, 2, 9, 5], texts=list("abcde"), higher=higher),
        row("postedit", [1, 1, 3, 1, math.nan], "given", texts=list("aBCDE"), higher=higher),
    )
    table = tables.spread_table(spreads(comparison(*rows))[0])
    counts = {line[0]: line[1] for line in table.rows}
    assert (counts["0 (another text)"], counts["0 (the same text)"], counts["unknown"]) == ("1", "1", "1")
    colours = [bar.colour for bar in table.bars.values()]
    assert (colours[0], colours[-2]) == (("worse", "better") if higher else ("better", "worse"))
    assert table.note.startswith("1 worse, 2 equal, 1 better, 1 unknown; mean -1.75, median +0.00; nine tenths")


def test_what_says_nothing_is_not_shown() -> None:
    edited = step("postedit", "kept", "x", "new", edits=(edit("applied"),))
    titles = [table.title for table in tables.gallery(figures([chain(edited)]), None)]
    assert titles == ["What became of the edits"], "what became of the segments is the table of a chart"
    assert tables.gallery(figures([]), None) == []


@settings(max_examples=60, deadline=None)
@given(
    CHAINS,
    st.lists(st.tuples(*[st.floats(-1e9, 1e9) | st.just(0.0) | st.just(math.nan)] * 2), max_size=20),
    st.booleans(),
)
def test_any_run_has_bars_that_fit(chains: list[Chain], pairs: list[tuple[float, float]], higher: bool) -> None:
    result = figures(chains)
    before, after = ([pair[i] for pair in pairs] for i in (0, 1))
    rows = (row("given", before, higher=higher), row("postedit", after, "given", higher=higher))
    spread = tables.spread_table(spreads(comparison(*rows))[0])
    assert sum(int(cells[1].replace(",", "")) for cells in spread.rows) == len(pairs)
    marked = [table(each) for each in result.marks for table in (tables.marks_table, tables.categories_table)]
    for table in (*tables.gallery(result, None), *marked, spread):
        check_bars(table)


# --- the style sheet


def contrast(colour: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(colour), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(scheme: int) -> None:
    pairs = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", STYLE)
    colours = {name: pair[scheme] for name, *pair in pairs}
    paper = colours["paper"]
    assert min(contrast(colours[name], paper) for name in ("ink", "soft", "link", "better", "worse")) >= 4.5
    bars = [colour for name, colour in colours.items() if name.startswith("bar-")]
    assert len(bars) == 10
    assert min(contrast(colour, paper) for colour in bars) >= 3


def test_every_bar_has_a_colour_and_the_style_reaches_nothing_outside() -> None:
    colours = {"changed", "untouched", "unplaced", "guard", "gate", "failed", "idle", "better", "worse", "mark"}
    assert {*colours, "neutral", "minor", "major", "critical"} <= set(re.findall(r"\.bar\.([a-z]+)", STYLE))
    assert not re.search(r"https?://|@import|url\(", STYLE)
