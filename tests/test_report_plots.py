"""The plots and tables of a report: well-formed, escaped, with the figures' numbers, for any size of run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.analysis.table import Table, html, markdown
from mtagent.records import Chain, Usage
from mtagent.report import forms as tables
from mtagent.report import plots
from mtagent.report import plots as words
from mtagent.report.figures import (
    Costs,
    Flow,
    Group,
    Marks,
    Point,
    Spread,
    StageFlow,
    StageMarks,
    costs,
    figures,
    spreads,
)
from mtagent.report.plots import Scale, cut, ticks, width
from tests.reported import CHAINS, chain, comparison, error, rating, row, step

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '</svg><script>alert("1")</script>&\x00\ud800 ' + "long" * 50


def read(plot: str) -> ElementTree.Element:
    """The SVG as XML, after a look at what every plot must have."""
    plot.encode()
    root = ElementTree.fromstring(plot)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    assert set((root.get("aria-labelledby") or "").split()) <= set(ids)
    assert all((root.findtext(f"{SVG}{tag}") or "").strip() for tag in ("title", "desc"))
    _stays_inside(root)
    return root


def _stays_inside(root: ElementTree.Element) -> None:
    _, _, wide, high = map(float, (root.get("viewBox") or "").split())
    for one in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(one.get(name, "0")) for name in ("x", "y", "width", "height"))
        assert min(w, h) > 0
        assert min(x, y) >= -0.01
        assert x + w <= wide + 1.51
        assert y + h <= high + 0.01
    for one in root.iter(f"{SVG}text"):
        assert 0 <= float(one.get("y", "-1")) <= high
    places = [
        value for one in root.iter() for name, value in one.items() if name in ("x", "y", "d", "points", "cx", "x1")
    ]
    assert not [value for value in places if re.search("nan|inf", value)]


def shown(plot: str) -> list[str]:
    return [one.text or "" for one in read(plot).iter(f"{SVG}text")]


def bars(plot: str, class_: str) -> list[ElementTree.Element]:
    return [one for one in read(plot).iter(f"{SVG}rect") if one.get("class") == class_]


def flow(*groups: Group, edits: tuple[tuple[str, int], ...] = ()) -> Flow:
    total = sum(group.segments for group in groups)
    return Flow(total, total, (StageFlow("postedit", groups, edits),) if groups else ())


def marks(*stages: StageMarks, spans: bool = True, evaluator: str = "judge") -> Marks:
    return Marks(evaluator, "judge|m", spans, stages)


def stage(name: str, marked: int, **errors: int) -> StageMarks:
    return StageMarks(
        name, 10, marked, marked, 0, -1.0 if marked else None, {k: {"minor": n} for k, n in errors.items()}
    )


def spread(before: list[float], after: list[float], **more: bool) -> Spread:
    (found,) = spreads(comparison(row("given", before, **more), row("postedit", after, "given", **more)))  # type: ignore[arg-type]
    return found


def points(*points: Point, unit: str = "dollars") -> Costs:
    return Costs("chrF2", True, unit, points)  # type: ignore[arg-type]


# --- segments and edits


def test_the_flow_shows_every_group_with_its_number_and_share() -> None:
    plot = plots.flow_plot(flow(Group("changed", "edited", 1), Group("gate", "rated worse", 3)))
    assert shown(plot) == [
        "post-edit", "4 segments", "changed: edited", "1 · 25.0 %", "rejected by the gate: rated worse", "3 · 75.0 %",
    ]  # fmt: skip


def test_each_bar_begins_where_the_one_above_ends_and_they_fill_the_width() -> None:
    plot = plots.flow_plot(flow(Group("changed", "edited", 1), Group("gate", "rated worse", 3)))
    (first,), (second,) = bars(plot, "changed"), bars(plot, "gate")
    assert (float(first.get("x", "")), float(first.get("width", ""))) == (0, 100)
    assert (float(second.get("x", "")), float(second.get("width", ""))) == (100, 300)


def test_one_of_a_million_is_still_seen_and_no_share_of_zero() -> None:
    plot = plots.flow_plot(flow(Group("changed", "edited", 999_999), Group("failed", "KeyError", 1)))
    assert {"999,999 · > 99.9 %", "1 · < 0.1 %"} <= set(shown(plot))
    assert float(bars(plot, "failed")[0].get("width", "0")) >= 1


def test_many_groups_are_cut_but_their_sum_stays() -> None:
    plot = plots.flow_plot(flow(*(Group("failed", f"Error{n}", 1) for n in range(40))))
    assert "29 other fates" in shown(plot)
    assert len(bars(plot, "track")) == 12
    assert len(tables.flow_table(flow(*(Group("failed", f"Error{n}", 1) for n in range(40)))).rows) == 40


def test_edits_are_shown_by_outcome_and_a_stage_without_any_says_so() -> None:
    edited = flow(Group("changed", "edited", 2), edits=(("applied", 3), ("refused by a guard: tags", 1)))
    assert "3 · 75.0 %" in shown(plots.edits_plot(edited))
    assert shown(plots.edits_plot(flow(Group("changed", "edited", 1)))) == ["post-edit", "0 edits", "none"]


def test_names_are_escaped_and_cut_and_stand_whole_in_a_tool_tip() -> None:
    for plot in (
        plots.flow_plot(flow(Group("failed", NASTY, 1))),
        plots.severities_plot(marks(stage(NASTY, 1, a=1), evaluator=NASTY)),
        plots.categories_plot(marks(stage("given", 1, **{NASTY: 1}), evaluator=NASTY)),
        plots.costs_plot(points(Point(NASTY, None, None, 1.0, 1.0, 1))),
    ):
        assert "<script" not in plot
        tips = [tip.text or "" for one in read(plot).iter(f"{SVG}text") for tip in one]
        assert any("script" in tip and "longlonglong" in tip for tip in tips)


# --- errors


def test_severities_are_per_hundred_rated_texts_and_told_in_words() -> None:
    both = StageMarks("given", 10, 4, 4, 1, -2.0, {"a": {"minor": 2, "major": 1}, "b": {"minor": 1}})
    plot = plots.severities_plot(marks(both, stage("postedit", 0)))
    assert {"as given, 4 of 10 rated", "100.0 per 100", "major 1, minor 3"} <= set(shown(plot))
    assert {"post-edit, 0 of 10 rated", "not rated", "nobody rated these texts"} <= set(shown(plot))
    fills = [one.get("fill") for one in bars(plot, "severity")]
    assert fills[4:] == ["url(#severities-major)", "url(#severities-minor)"]
    assert 'id="severities-minor"' in plot


FEW = "only 2 of 10 texts were rated after post-editing"


def test_a_stage_with_fewer_rated_texts_than_the_first_has_no_rate() -> None:
    few = marks(stage("given", 4, a=4), stage("postedit", 2, a=9, b=1), stage("proofread", 4, a=2))
    severities, categories = plots.severities_plot(few), plots.categories_plot(few)
    assert {"post-edit", "not comparable", FEW, "100.0 per 100", "50.0 per 100"} <= set(shown(severities))
    assert [float(one.get("width", "")) for one in bars(severities, "severity")[4:]] == [400, 200]
    assert {"100.0 → 50.0", f"{FEW}:", "not comparable"} <= set(shown(categories))
    assert "b" not in shown(categories), "a category of that stage alone"
    for plot in (severities, categories):
        assert f"{FEW}: not comparable" in plot, "in the description too"
        assert "not all stages" not in plot
        assert not re.search(r"\b(500|450|9)(\.0)?\b(?!\d)", " ".join(shown(plot)))


def test_the_tables_leave_out_what_the_plots_do_not_compare() -> None:
    few = marks(stage("given", 4, a=4), stage("postedit", 2, a=9), stage("proofread", 0))
    counts, rates = tables.marks_table(few), tables.categories_table(few)
    assert counts.rows[1] == ("post-edit", "10", "2", "", "", "", "", "", "")
    assert counts.rows[0][3:] == ("-1.000", "0", "0", "0", "4", "0")
    assert (rates.head, rates.rows) == (("category", "as given"), (("a", "100.0"),))
    for table in (counts, rates):
        assert table.note == f"{FEW}: not comparable"
        assert FEW in plots.with_table("", table)


def test_means_of_fewer_rated_texts_are_not_told_either() -> None:
    both = (StageMarks("given", 3, 3, 0, 0, 80.5, {}), StageMarks("postedit", 3, 1, 0, 0, 99, {}))
    assert "post-edit: not comparable, 1 of 3 rated" in shown(plots.severities_plot(marks(*both, spans=False)))
    assert tables.marks_table(marks(*both, spans=False)).rows[1][3] == ""


def test_rates_of_different_texts_are_said_to_be_that() -> None:
    uneven, even = (
        marks(stage("given", 2, a=4), stage("postedit", 4, a=1)),
        marks(stage("given", 4, a=4), stage("final", 4)),
    )
    for plot in (plots.severities_plot, plots.categories_plot):
        assert "not all stages have the same texts rated" in shown(plot(uneven))
        assert "not all stages have the same texts rated" not in shown(plot(even))


def test_the_final_texts_stand_once_where_they_are_those_of_the_last_stage() -> None:
    same = plots.categories_plot(marks(stage("given", 2, a=4), stage("postedit", 2, a=1), stage("final", 2, a=1)))
    assert "200.0 → 50.0" in shown(same)
    other = plots.categories_plot(marks(stage("given", 2, a=4), stage("postedit", 2, a=1), stage("final", 2, a=3)))
    assert "200.0 → 50.0 → 150.0" in shown(other)


def test_only_frequent_categories_are_drawn_and_all_stand_in_the_table() -> None:
    many = marks(stage("given", 1, **{f"c{n:02}": n + 1 for n in range(15)}))
    words_ = shown(plots.categories_plot(many))
    assert "and 5 rarer categories (in the table)" in words_
    assert [word for word in words_ if word.startswith("c")][:2] == ["c14", "c13"]
    assert len(tables.categories_table(many).rows) == 15


def test_an_evaluator_without_spans_has_mean_scores_only() -> None:
    told = marks(StageMarks("given", 3, 2, 0, 0, 80.5, {}), StageMarks("postedit", 3, 0, 0, 0, None, {}), spans=False)
    for plot in (plots.severities_plot(told), plots.categories_plot(told)):
        assert shown(plot) == [
            "This evaluator gives scores and marks no error spans.", "as given: mean 80.500 over 2 rated texts",
        ]  # fmt: skip


# --- differences


def test_worse_same_and_better_are_counted_beside_the_histogram() -> None:
    plot = plots.spread_plot(spread([10, 10, 10, 10], [10, 12, 9, 14]))
    assert {"1 · 25.0 %", "2 · 50.0 %", "worse", "same score", "better", "0"} <= set(shown(plot))
    assert "mean +1.25" in " ".join(shown(plot))


def test_better_is_on_the_right_for_a_metric_where_less_is_better() -> None:
    plot = plots.spread_plot(spread([10, 10], [14, 9], higher=False))
    places = {
        one.get("class"): float(one.get("x", ""))
        for one in read(plot).iter(f"{SVG}rect")
        if float(one.get("y", "0")) > 60
    }
    assert places["hatched"] < places["better"]
    tips = [tip.text for one in bars(plot, "hatched") for tip in one]
    assert tips == ["+3.5 to +4: 1"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([1.0, 2.0], [1.0, 2.0], "no segment's score differs"),
        ([], [], "no segment's score differs"),
        ([1.0], [math.nan], "1 have no score in one of the two rows"),
        ([0.0], [-1e12], "1 segment"),
        ([0.0], [1e-9], "mean 0.00, median 0.00"),
    ],
)
def test_spreads_without_and_with_extreme_differences(before: list[float], after: list[float], told: str) -> None:
    assert told in shown(plots.spread_plot(spread(before, after)))


# --- costs


def test_points_on_one_place_share_a_disc_and_each_has_a_line_in_the_list() -> None:
    plot = plots.costs_plot(
        points(
            Point("given", "r", "given", 50.0, 0.0, 0), Point("postedit", "r", "postedit", 52.0, 1.5, 10),
            Point("final", "r", "final", 52.0, 1.5, 10), Point("file", None, None, 40.0, None, None),
        )
    )  # fmt: skip
    told = shown(plot)
    assert {"2,3", "50.00 · $0.0000", "52.00 · $1.5000", "40.00 · unknown cost"} <= set(told)
    assert sum(one.get("class") == "elsewhere" for one in read(plot).iter(f"{SVG}line")) == 1


@pytest.mark.parametrize(
    "some",
    [
        (),
        (Point("a", "r", "given", None, None, None),),
        (Point("a", "r", "given", 0.0, 0.0, 0),),
        (Point("a", "r", "given", -25.0, 1e6, 10**12, 3.0), Point("b", "r", "final", -1e-9, 1e6, 10**12)),
        tuple(Point(f"row {n}", "r", "final", float(n % 3), 1.0, 1) for n in range(30)),
    ],
)
@pytest.mark.parametrize("unit", ["dollars", "tokens"])
def test_costs_of_any_size(some: tuple[Point, ...], unit: str) -> None:
    told = shown(plots.costs_plot(points(*some, unit=unit)))
    assert all(point.row in told for point in some)


# --- all of them


@settings(max_examples=40, deadline=None)
@given(CHAINS)
def test_any_run_gives_well_formed_plots_and_tables(chains: list[Chain]) -> None:
    found = figures(chains)
    each: list[tuple[str, Table]] = [
        (plots.flow_plot(found.flow), tables.flow_table(found.flow)),
        (plots.edits_plot(found.flow), tables.edits_table(found.flow)),
    ]
    for one in found.marks:
        each.append((plots.severities_plot(one), tables.marks_table(one)))
        each.append((plots.categories_plot(one), tables.categories_table(one)))
    for plot, table in each:
        read(plot)
        ElementTree.fromstring(plots.with_table(plot, table))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e9, 1e9) | st.just(0.0) | st.just(math.nan)] * 2), max_size=20), st.booleans())
def test_any_scores_give_well_formed_plots(pairs: list[tuple[float, float]], higher: bool) -> None:
    before, after = [one for one, _ in pairs], [one for _, one in pairs]
    found = spread(before, after, higher=higher)
    read(plots.spread_plot(found))
    assert sum(int(cells[1].replace(",", "")) for cells in tables.spread_table(found).rows) == len(pairs)
    told = costs(comparison(row("given", before), row("postedit", after, cost=Usage(calls=1, input_tokens=3))))
    assert told is not None
    read(plots.costs_plot(told))


def test_a_page_may_hold_two_plots_of_a_kind() -> None:
    both = [plots.severities_plot(marks(stage("given", 1, a=1)), name) for name in ("one", "two")]
    ids = [one.get("id") for plot in both for one in read(plot).iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    assert all(f"url(#{name}-minor)" in plot for name, plot in zip(("one", "two"), both, strict=True))


def test_no_plot_reaches_outside_or_runs_anything() -> None:
    plot = plots.flow_plot(flow(Group("changed", "edited", 1)))
    for text in (plot, plots.STYLE):
        assert not re.findall(
            r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)|<script|javascript:|\son\w+=", text
        )


# --- the style sheet


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(scheme: int) -> None:
    found = re.findall(r"--plot-([a-z]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", plots.STYLE)
    colours = {name: pair[scheme] for name, *pair in found}
    assert set(re.findall(r"var\(--plot-([a-z]+)\)", plots.STYLE)) == set(colours)
    paper = colours.pop("paper")
    assert min(contrast(colours.pop(name), paper) for name in ("ink", "muted")) >= 4.5
    assert contrast(colours["mark"], paper) >= 4.5  # numbers stand in it in the colour of the paper
    del colours["grid"]
    assert min(contrast(colour, paper) for colour in colours.values()) >= 3


def test_every_class_that_is_drawn_has_a_style() -> None:
    kinds = ("changed", "untouched", "unplaced", "guard", "gate", "failed", "idle")
    drawn = plots.flow_plot(flow(*(Group(kind, "why", 1) for kind in kinds)))  # type: ignore[arg-type]
    drawn += plots.severities_plot(marks(stage("given", 1, a=1))) + plots.categories_plot(marks(stage("given", 1, a=1)))
    drawn += plots.spread_plot(spread([1, 1, 1], [2, 1, 0])) + plots.costs_plot(
        points(Point("a", None, None, 1, None, None))
    )
    classes = {name for found in re.findall(r'class="([^"]+)"', drawn) for name in found.split()}
    styled = set(re.findall(r"\.([a-z-]+)", plots.STYLE))
    assert classes - styled == {"label"}


# --- tables, words, drawing


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1][-1] += data


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=9), min_size=2, max_size=4))
def test_a_table_reads_back_from_html(cells: list[str]) -> None:
    parser = _Cells()
    parser.feed(html(Table("title", tuple(cells), (tuple(cells),))))
    assert [[cell.replace("\ufffd", "") for cell in found] for found in parser.rows] == [
        [re.sub("[\ufffe\uffff\ufffd]", "", cell) for cell in cells]
    ] * 2


def test_a_table_in_markdown_has_no_markup_from_its_cells() -> None:
    table = Table("my_title", ("a", "b"), (("x|y\nz", "<b>*1*</b>"),))
    assert markdown([table]) == "### My\\_title\n\n| a | b |\n| --- | ---: |\n| x\\|y z | \\<b\\>\\*1\\*\\</b\\> |"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (words.share(0, 0), "–"), (words.share(0, 9), "0 %"), (words.share(9, 9), "100 %"),
        (words.share(1, 8), "12.5 %"),
        (words.dollars(None), "unknown"), (words.dollars(0.0), "$0.0000"), (words.dollars(0.000012), "$0.000012"),
        (words.dollars(1234.5), "$1,234.5000"), (words.signed(-0.001), "0.00"), (words.signed(0.5), "+0.50"),
        (words.signed(None), ""), (words.score(math.nan), "unknown"), (words.tick(2e6), "2M"),
        (words.tick(20_000), "20k"),
        (words.tick(-0.5), "-0.5"), (words.spent(5, "tokens"), "5 tokens"), (words.stage_name("mine"), "mine"),
    ],
)  # fmt: skip
def test_how_numbers_are_shown(told: str, expected: str) -> None:
    assert told == expected


@given(st.text(), st.floats(20, 400))
def test_cut_words_fit(text: str, room: float) -> None:
    assert width(cut(text, room)) <= room or len(cut(text, room)) == 1


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-25, 0), (0, 1e12), (1e-7, 3e-7), (-1e9, 1e9), (5, 5)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high) for value in found)


def test_a_scale_without_extent_is_its_middle() -> None:
    assert Scale(5, 5, 0, 10).at(5) == 5


MAKERS: list[Callable[[], str]] = [
    lambda: plots.flow_plot(Flow(0, 0, ())),
    lambda: plots.edits_plot(Flow(0, 0, ())),
    lambda: plots.severities_plot(marks()),
    lambda: plots.categories_plot(marks()),
    lambda: plots.costs_plot(points()),
    lambda: plots.severities_plot(figures([chain(step("postedit", "unchanged", "x", ratings=(rating(0),)))]).marks[0]),
    lambda: plots.categories_plot(
        figures([chain(step("postedit", "rejected", "x", ratings=(rating(0, error("x" * 99)),)))]).marks[0]
    ),
]


@pytest.mark.parametrize("make", MAKERS)
def test_of_nothing_and_of_one_there_is_a_plot_too(make: Callable[[], str]) -> None:
    assert shown(make())
