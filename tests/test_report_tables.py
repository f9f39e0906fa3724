"""The figures as tables with bars: with their numbers, escaped, well-formed for any run; and how numbers are spelt."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib.resources import files
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.records import Chain, Usage
from mtagent.report import tables
from mtagent.report.figures import Flow, Group, Marks, Spread, StageFlow, StageMarks, costs, figures, spreads
from mtagent.text import amounts
from mtagent.text.table import Bar, Table, as_csv, html, markdown
from tests.report_records import CHAINS, chain, comparison, edit, error, rating, row, step

STYLE = files("mtagent.report").joinpath("page", "page.css").read_text(encoding="utf-8")
NASTY = '</td><script>alert("1")</script>&\x00\ud800 long'


def flow(*groups: Group, edits: tuple[tuple[str, int], ...] = ()) -> Flow:
    total = sum(group.segments for group in groups)
    return Flow(total, total, (StageFlow("postedit", groups, edits),))


def marks(*stages: StageMarks, spans: bool = True, evaluator: str = "judge") -> Marks:
    return Marks(evaluator, "judge|m", spans, stages)


def stage(name: str, marked: int, **errors: int) -> StageMarks:
    mean = -1.0 if marked else None
    return StageMarks(name, 10, marked, marked, 0, mean, {k: {"minor": n} for k, n in errors.items()})


def spread(before: list[float], after: list[float], **more: bool) -> Spread:
    (found,) = spreads(comparison(row("given", before, **more), row("postedit", after, "given", **more)))  # type: ignore[arg-type]
    return found


def read(table: Table) -> ElementTree.Element:
    """The HTML as XML, after a look at what every bar must keep to."""
    page = ElementTree.fromstring(html(table).replace("<td></td>", "<td/>").join(("<main>", "</main>")))
    for bar in table.bars.values():
        assert 0 <= bar.start <= 1
        assert 0 <= bar.width <= 1.000001
        assert bar.start + bar.width <= 1.000001
    return page


def test_bars_of_a_stage_follow_each_other_and_fill_the_width() -> None:
    table = tables.flow_table(flow(Group("changed", "edited", 1), Group("gate", "rated worse", 3)))
    assert table.rows == (
        ("post-edit", "changed", "edited", "1", "25.0 %"),
        ("post-edit", "rejected by the gate", "rated worse", "3", "75.0 %"),
    )
    assert list(table.bars.values()) == [Bar(0, 0.25, "changed"), Bar(0.25, 0.75, "gate")]
    assert [one.get("class") for one in read(table).iter("span")][1::2] == ["bar changed", "bar gate"]


def test_edits_have_the_colour_of_their_outcome() -> None:
    table = tables.edits_table(
        flow(Group("changed", "edited", 2), edits=(("applied", 3), ("refused by a guard: x", 1)))
    )
    assert table.rows[0][2:] == ("3", "75.0 %")
    assert [bar.colour for bar in table.bars.values()] == ["changed", "guard"]


FEW = "only 2 of 10 texts were rated after post-editing: not comparable"


def test_a_stage_with_fewer_rated_texts_than_the_first_has_no_rate() -> None:
    few = marks(stage("given", 4, a=4), stage("postedit", 2, a=9, b=1), stage("proofread", 4, a=2), stage("final", 0))
    counts, rates = tables.marks_table(few), tables.categories_table(few)
    assert counts.rows[0] == ("as given", "10", "4", "-1.000", "0", "0", "0", "4", "0", "100.0")
    assert counts.rows[1] == ("post-edit", "10", "2", *[""] * 7)
    assert counts.rows[2][-1] == "50.0"
    assert (rates.head, rates.rows) == (("category", "as given", "proofread"), (("a", "100.0", "50.0"),))
    assert counts.note == rates.note == FEW
    assert FEW in html(counts)


def test_means_without_spans_follow_the_same_rule_and_uneven_texts_are_said() -> None:
    both = (StageMarks("given", 3, 3, 0, 0, 80.5, {}), StageMarks("postedit", 3, 1, 0, 0, 99, {}))
    assert [line[3] for line in tables.marks_table(marks(*both, spans=False)).rows] == ["80.500", ""]
    uneven = marks(stage("given", 2, a=4), stage("postedit", 4, a=1))
    even = marks(stage("given", 4, a=4), stage("final", 4))
    for table in (tables.marks_table, tables.categories_table):
        assert ("not all stages have the same texts rated" in table(uneven).note, table(even).note) == (True, "")


def test_categories_go_by_their_frequency() -> None:
    many = marks(stage("given", 1, **{f"c{n:02}": n + 1 for n in range(15)}))
    assert [line[0] for line in tables.categories_table(many).rows][:2] == ["c14", "c13"]


@pytest.mark.parametrize("higher", [True, False])
def test_differences_keep_zero_apart_and_have_the_colour_of_their_side(higher: bool) -> None:
    rows = (
        row("given", [1, 1, 2, 9, 5], texts=list("abcde"), higher=higher),
        row("postedit", [1, 1, 3, 1, math.nan], "given", texts=list("aBCDE"), higher=higher),
    )
    (found,) = spreads(comparison(*rows))
    table = tables.spread_table(found)
    counts = {line[0]: line[1] for line in table.rows}
    assert (counts["0 (another text)"], counts["0 (the same text)"], counts["unknown"]) == ("1", "1", "1")
    colours = [bar.colour for bar in table.bars.values()]
    assert (colours[0], colours[-2]) == (("worse", "better") if higher else ("better", "worse"))
    assert table.note.startswith("1 worse, 2 equal, 1 better, 1 unknown; mean -1.75, median +0.00; nine tenths")


def test_what_says_nothing_is_not_shown() -> None:
    edited = step("postedit", "kept", "x", "new", edits=(edit("applied"),))
    titles = [table.title for table in tables.gallery(figures([chain(edited)]), None)]
    assert titles == ["What became of the segments", "What became of the edits"]
    assert tables.gallery(figures([]), None) == []


@settings(max_examples=40, deadline=None)
@given(CHAINS)
def test_any_run_gives_well_formed_tables(chains: list[Chain]) -> None:
    found = figures(chains)
    for table in tables.gallery(found, None):
        read(table)
    for each in found.marks:
        read(tables.marks_table(each))
        read(tables.categories_table(each))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e9, 1e9) | st.just(0.0) | st.just(math.nan)] * 2), max_size=20), st.booleans())
def test_any_scores_give_well_formed_tables(pairs: list[tuple[float, float]], higher: bool) -> None:
    before, after = [one for one, _ in pairs], [one for _, one in pairs]
    table = tables.spread_table(spread(before, after, higher=higher))
    read(table)
    assert sum(int(cells[1].replace(",", "")) for cells in table.rows) == len(pairs)
    told = costs(comparison(row("given", before), row("postedit", after, cost=Usage(calls=1, input_tokens=3))))
    assert told is not None
    read(tables.costs_table(told))


@pytest.mark.parametrize(
    "table",
    [
        tables.flow_table(flow(Group("failed", NASTY, 1))),
        tables.marks_table(marks(stage(NASTY, 1, a=1), evaluator=NASTY)),
        tables.categories_table(marks(stage("given", 1, **{NASTY: 1}), evaluator=NASTY)),
        tables.categories_table(
            figures([chain(step("postedit", "rejected", "x", ratings=(rating(0, error(NASTY)),)))]).marks[0]
        ),
    ],
)
def test_names_stay_text(table: Table) -> None:
    shown = html(table)
    shown.encode()
    assert not re.search("<script|<b>|\x00", shown)
    assert "alert(&quot;1&quot;)" in shown


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=9), min_size=2, max_size=4))
def test_a_table_reads_back_from_html(cells: list[str]) -> None:
    rows = [
        [cell.text or "" for cell in line] for line in read(Table("title", tuple(cells), (tuple(cells),))).iter("tr")
    ]
    assert rows == [[re.sub("[\ufffe\uffff]", "\ufffd", cell) for cell in cells]] * 2


def test_a_table_in_markdown_has_no_markup_from_its_cells() -> None:
    table = Table("my_title", ("a", "b"), (("x|y\nz", "<b>*1*</b>"),))
    assert markdown([table]) == "### My\\_title\n\n| a | b |\n| --- | ---: |\n| x\\|y z | \\<b\\>\\*1\\*\\</b\\> |"


def test_csv_guards_texts_and_columns_but_no_number() -> None:
    lines = list(
        as_csv(["@a", "b", "c", "guarded"], [{"@a": "=1", "b": -1.5, "c": math.nan}, {"b": None, "c": "x\ry"}])
    )
    assert lines == ["'@a,b,c,guarded\n", "'=1,-1.5,,'@a\n", ',,"x\ry",\n']


# --- the style sheet


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(scheme: int) -> None:
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", STYLE)
    colours = {name: pair[scheme] for name, *pair in found}
    paper = colours["paper"]
    assert min(contrast(colours[name], paper) for name in ("ink", "soft", "link", "better", "worse")) >= 4.5
    bars = [colour for name, colour in colours.items() if name.startswith("bar-")]
    assert len(bars) == 10
    assert min(contrast(colour, paper) for colour in bars) >= 3


def test_every_bar_has_a_colour_and_the_style_reaches_nothing_outside() -> None:
    colours = {"changed", "untouched", "unplaced", "guard", "gate", "failed", "idle", "better", "worse", "mark"}
    assert {*colours, "neutral", "minor", "major", "critical"} <= set(re.findall(r"\.bar\.([a-z]+)", STYLE))
    assert not re.search(r"https?://|@import|url\(", STYLE)


# --- numbers


@pytest.mark.parametrize(
    ("spell", "value", "shown"),
    [
        (amounts.dollars, None, "unknown"), (amounts.dollars, 0.0, "$0.0000"), (amounts.dollars, 1e-9, "< $0.000001"),
        (amounts.dollars, 0.000012, "$0.000012"), (amounts.dollars, 0.0004, "$0.0004"),
        (amounts.dollars, 0.0025, "$0.0025"), (amounts.dollars, 0.01234, "$0.0123"),
        (amounts.dollars, 1234.5, "$1,234.5000"), (amounts.seconds, 1.26, "1.3 s"),
        (amounts.score, math.nan, "unknown"), (amounts.score, 1.005, "1.00"),
        (amounts.signed, -0.001, "+0.00"), (amounts.signed, -0.5, "-0.50"), (amounts.signed, 1234, "+1,234.00"),
    ],
)  # fmt: skip
def test_how_numbers_are_spelt(spell: Callable[[float | None], str], value: float | None, shown: str) -> None:
    assert spell(value) == shown


@pytest.mark.parametrize(
    ("count", "total", "shown"),
    [
        (0, 0, "–"),
        (0, 9, "0 %"),
        (9, 9, "100 %"),
        (1, 8, "12.5 %"),
        (1, 10**6, "< 0.1 %"),
        (999_999, 10**6, "> 99.9 %"),
    ],
)
def test_how_shares_are_spelt(count: int, total: int, shown: str) -> None:
    assert amounts.share(count, total) == shown


def test_counts_have_their_plural() -> None:
    assert [amounts.counted(1, "reply", "replies"), amounts.counted(1234, "reply", "replies")] == [
        "1 reply",
        "1,234 replies",
    ]
