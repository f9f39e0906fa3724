"""Figures of comparisons and reports: which files are written, what they state, and what is said of missing ones."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

from mtagent.analysis.compare import RunComparison, compare_run
from mtagent.analysis.compared_rows import Cell, ComparedTexts
from mtagent.analysis.review_summary import DecidedGroup, ReviewSummary
from mtagent.analysis.score import ScoreOptions
from mtagent.analysis.staged_run import Cost
from mtagent.metrics.significance import Interval, Resampling
from mtagent.records import Chain, Judgement, Score, Step, UndecidedCause, Usage
from mtagent.report.drawing import Plot, figure_of, inline_svg
from mtagent.report.figures import figures
from mtagent.report.plots import plots_of
from mtagent.store import Store
from tests.commands import Shell, python
from tests.report_runs import many, save, segment, varied

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def stored(shell: Shell) -> Shell:
    """The shell with the runs ``a`` and ``b`` of the same 30 segments; ``b`` has the first stage only."""
    chains = many(30)
    save(shell.folder, "a", chains)
    save(shell.folder, "b", [whole.model_copy(update={"steps": whole.steps[:1]}) for whole in chains])
    return shell


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def label(svg: str) -> str:
    """What an SVG says to those who cannot see it."""
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    return root.get("aria-label") or ""


def test_compare_writes_each_figure_as_svg_and_pdf_and_the_same_bytes_again(stored: Shell) -> None:
    line = "compare a b -m chrf --paired-bs --resamples 50 --by domain,length"
    done = stored(f"{line} --figures one")
    assert done.code == 0
    assert done.remarks == [
        "mtagent: not drawn: agreement: nobody decided on edits, and no two judges judged the same steps",
        "mtagent: written: one (20 files)",
    ]
    stems = [
        "edits-a", "edits-b", "errors-a", "errors-b", "gain-by-domain", "gain-by-length", "outcomes-a", "outcomes-b",
        "quality-cost", "score-by-stage",
    ]  # fmt: skip
    one = files(stored.folder / "one")
    assert list(one) == [f"{stem}{suffix}" for stem in stems for suffix in (".pdf", ".svg")]
    assert stored(f"{line} --figures two").out == done.out
    assert files(stored.folder / "two") == one
    for name, content in one.items():
        if name.endswith(".pdf"):
            assert b"/FontFile2" in content, "the font is embedded"
            assert b"CreationDate" not in content


def test_the_numbers_of_a_figure_are_those_of_the_comparison(stored: Shell) -> None:
    done = stored("compare a b -m chrf -ci --resamples 50 --by domain -f json --figures f")
    comparison = json.loads(done.out)
    rows = {row["name"]: row for row in comparison["rows"]}
    summary = label((stored.folder / "f" / "quality-cost.svg").read_text("utf-8"))
    # The last stage has the cost of the whole run.
    for name, words, cost in (("a/postedit", "a postedit", "a/postedit"), ("a/proofread", "a proofread", "a/final")):
        score = rows[name]["scores"][0]
        mean, half_width = score["interval"]["mean"], score["interval"]["half_width"]
        assert (
            f"{words}: {score['score']:.2f} (95 % interval {mean - half_width:.2f} to {mean + half_width:.2f}) "
            f"at ${rows[cost]['cost']['nominal']['dollars']:.4f}"
        ) in summary
    summary = label((stored.folder / "f" / "gain-by-domain.svg").read_text("utf-8"))
    for part in comparison["parts"]["domain"]:
        gain = part["scores"]["b/final"]["chrF2"] - part["scores"]["given"]["chrF2"]
        assert f"{part['part']} ({part['segments']}) {gain:+.2f}" in summary.split("; b: ")[1]
    svg = (stored.folder / "f" / "gain-by-domain.svg").read_text("utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {f"{part['part']} ({part['segments']})" for part in comparison["parts"]["domain"]} <= set(texts)


def test_what_has_no_numbers_is_named_and_not_written(shell: Shell) -> None:
    assert shell.postedit("--name r -o o.txt -q").code == 0
    shell.write("ref.txt", "El gato.", "Hola.", "Paga.")
    done = shell("compare r --figures f")
    assert (done.code, done.remarks) == (
        0,
        [
            "mtagent: not drawn: score-by-stage: nothing is scored",
            "mtagent: not drawn: quality-cost: nothing is scored",
            "mtagent: not drawn: gain-by-part: nothing is scored",
            "mtagent: not drawn: errors of r by rules: only 2 of 3 texts were rated in the end",
            "mtagent: not drawn: agreement: nobody decided on edits, and no two judges judged the same steps",
            "mtagent: written: f (4 files)",
        ],
    )
    assert [*files(shell.folder / "f")] == ["edits.pdf", "edits.svg", "outcomes.pdf", "outcomes.svg"]
    done = shell("compare r -r ref.txt --figures f --force")
    assert done.remarks[:3] == [
        "mtagent: not drawn: intervals: none were computed (-ci or --paired-bs computes them)",
        "mtagent: not drawn: quality-cost: no model was called, so that no stage has a cost",
        "mtagent: not drawn: gain-by-part: no parts are compared (`mtagent compare RUN --by domain,document,length "
        "--figures DIR` draws it)",
    ]
    assert "score-by-stage.svg" in files(shell.folder / "f")


def test_a_folder_with_files_is_left_alone_unless_forced(stored: Shell) -> None:
    (stored.folder / "f").mkdir()
    (stored.folder / "f" / "mine.txt").write_text("mine")
    done = stored("compare a --figures f")
    assert (done.code, done.out) == (1, "")
    assert "f: is not empty; --force writes into it and replaces files of the same name" in done.err
    assert stored("compare a --figures f --force").code == 0
    assert files(stored.folder / "f")["mine.txt"] == b"mine"
    assert stored("compare a --force").code == 2


def drawn_stacks(plot: Plot) -> dict[str, dict[str, float]]:
    """The lengths of the bars that a figure really has: by the label of the row, then by the name in the legend."""
    with figure_of(plot, salt="x") as figure:
        (axes,) = figure.axes
        labels = [label.get_text() for label in axes.get_yticklabels()]
        names = {}
        lengths: dict[str, dict[str, float]] = {label: {} for label in labels}
        for container in axes.containers:
            (bar,) = container
            colour = (bar.get_facecolor(), bar.get_edgecolor())
            if not container.get_label().startswith("_"):
                names[colour] = container.get_label()
            row = labels[round(bar.get_y() + bar.get_height() / 2)]
            lengths[row][names[colour]] = bar.get_width()
        return lengths


def drawn_points(plot: Plot) -> list[tuple[float, float]]:
    """The marks of a figure, and the ends of its vertical intervals as marks at their place."""
    with figure_of(plot, salt="x") as figure:
        (axes,) = figure.axes
        points = [(x, y) for line in axes.lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]
        for container in axes.containers:
            for bars in container[2]:
                points += [(x, y) for segment in bars.get_segments() for x, y in segment]
        return points


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plot]:
    """The figures of one run with intervals, by name."""
    folder = tmp_path_factory.mktemp("plots")
    chains = [*many(30), *varied()]
    with Store(save(folder, "r", chains)) as store:
        scoring = ScoreOptions(metrics=("chrf",), resampling=Resampling(resamples=50))
        comparison = compare_run(store, "r", scoring=scoring, by=("domain",))
    return {plot.name: plot for plot in plots_of(comparison, {"r": figures(chains, comparison)}).drawn}


def test_the_bars_of_segments_are_as_long_as_their_table_says(plots: dict[str, Plot]) -> None:
    table = plots["outcomes"].table
    assert table is not None
    counted: dict[str, Counter[str]] = {}
    for stage, kind, _, segments, _ in table.rows:
        counted.setdefault(stage, Counter())[kind] += int(segments)
    assert drawn_stacks(plots["outcomes"]) == counted
    assert {sum(counts.values()) for counts in counted.values()} == {38}, "each stage adds up to all segments"
    assert "run r" in table.note


def test_the_bars_of_edits_are_as_long_as_their_table_says(plots: dict[str, Plot]) -> None:
    table = plots["edits"].table
    assert table is not None
    expected = {}
    for category, *counts, total in table.rows:
        expected[category] = {
            name: int(count) for name, count in zip(table.head[1:-1], counts, strict=True) if count != "0"
        }
        assert sum(expected[category].values()) == int(total)
    assert drawn_stacks(plots["edits"]) == expected
    assert {"critical", "major", "minor", "not applied"} <= {*table.head}


def test_the_points_of_scores_and_costs_are_those_of_their_tables(plots: dict[str, Plot]) -> None:
    for name in ("score-by-stage", "quality-cost"):
        table = plots[name].table
        assert table is not None
        points = [f"{y:.2f}" for _, y in drawn_points(plots[name])]
        for row in table.rows:
            assert {*row[1:4]} <= {*points}, "the score and the ends of its interval"
        assert "chrF2|nrefs:1|" in table.note
    costs = {f"${x:.4f}" for x, _ in drawn_points(plots["quality-cost"])}
    table = plots["quality-cost"].table
    assert table is not None
    assert {row[-1] for row in table.rows} <= costs


def test_each_table_has_the_numbers_that_its_figure_tells_in_words(plots: dict[str, Plot]) -> None:
    assert {*plots} >= {"outcomes", "score-by-stage", "quality-cost", "edits", "gain-by-domain", "errors"}
    for plot in plots.values():
        assert plot.table is not None
        cells = {cell for row in plot.table.rows for cell in row}
        for number in re.findall(r"[+-]?\d+\.\d+", plot.summary.replace("95 % interval", "")):
            assert {number, f"${number}"} & cells, (plot.name, number)


def test_the_report_has_the_figures_that_its_folder_gets(stored: Shell) -> None:
    done = stored("report a -o r.html -m chrf --figures f")
    assert done.code == 0
    page = (stored.folder / "r.html").read_text("utf-8")
    labels = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    written = [label(path.read_text("utf-8")) for path in (stored.folder / "f").glob("*.svg")]
    assert sorted(labels) == sorted(written)
    assert len(labels) == 5
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    figures_part = page.split('<div class="figures">')[1].split("</section>")[0]
    assert not re.search(r"https?:|url\(|<style|#ffffff|DejaVu", figures_part)


def test_without_the_extra_the_report_says_so_and_a_folder_of_figures_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "r", varied())
    hide = "import sys; sys.modules['matplotlib'] = None; from mtagent.cli import main; main('{}'.split())"
    done = python("-c", hide.format("report r -o r.html"), folder=tmp_path)
    way_out = "needs an optional package: pip install 'mtagent[figures]'"
    assert f"mtagent: the report has no figures: drawing them {way_out}" in done.err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "<svg" not in page
    assert "<caption>What became of the segments in each stage</caption>" in page, "its numbers are there"
    for line in ("compare r --figures f", "report r -o other.html --figures f"):
        done = python("-c", hide.format(line), folder=tmp_path)
        assert (done.out, f"drawing figures {way_out}" in done.err) == ("", True)
    assert not (tmp_path / "other.html").exists()


def test_a_name_of_any_kind_can_be_drawn(shell: Shell) -> None:
    chains = many(5)
    save(shell.folder, "$x_1$", chains)
    save(shell.folder, "تشغيل", chains)
    save(shell.folder, "翻訳", chains)
    done = shell("compare $x_1$ تشغيل 翻訳 -m chrf --figures f")
    assert done.code == 0
    assert "score-by-stage.pdf: its font lacks some characters of names, which are boxes there" in done.err
    svg = (shell.folder / "f" / "score-by-stage.svg").read_text("utf-8")
    for name in ("$x_1$", "تشغيل", "翻訳"):
        assert f">{name}</text>" in svg


def compared(cost: float | None, *, higher_is_better: bool = True) -> RunComparison:
    """A run of one stage that took 1,000 tokens, with scores of 50 and 48."""
    rows = []
    for name, value, usage in (("given", 50.0, None), ("postedit", 48.0, Usage(calls=1, input_tokens=1000, cost=cost))):
        score = Score(metric="m", value=value, segments=(value,), signature="s", higher_is_better=higher_is_better)
        paid = usage and Cost(usage, usage, 1.0)
        rows.append(ComparedTexts(name, "r", name, (name,), (Cell(score, interval=Interval(value, 2)),), cost=paid))
    return RunComparison(("1",), tuple(rows), ("m",), "m")


def only(comparison: RunComparison, name: str, chains: list[Chain]) -> Plot:
    (plot,) = [plot for plot in plots_of(comparison, {"r": figures(chains)}).drawn if plot.name == name]
    return plot


def test_without_prices_tokens_are_the_cost() -> None:
    priced = only(compared(0.5), "quality-cost", [])
    assert priced.summary.endswith("r postedit: 48.00 (95 % interval 46.00 to 50.00) at $0.5000")
    unpriced = only(compared(None), "quality-cost", [])
    assert unpriced.summary.endswith("r postedit: 48.00 (95 % interval 46.00 to 50.00) at 1,000 tokens")
    assert "tokens (input and output)" in inline_svg(unpriced)


def test_where_less_is_better_the_axis_says_so() -> None:
    assert ">m (lower is better)</text>" in inline_svg(only(compared(1, higher_is_better=False), "score-by-stage", []))


def test_gains_have_the_interval_of_the_row_that_was_chosen_to_compare_with(stored: Shell) -> None:
    line = "compare a b -m ter --by domain -f json --resamples 50 --figures f --force"
    for against, start, runs in (("first", "given", "ab"), ("a", "a/final", "b"), ("all", "given", "ab")):
        done = stored(f"{line} --against {against}")
        assert done.code == 0
        summary = label((stored.folder / "f" / "gain-by-domain.svg").read_text("utf-8"))
        texts = "the first texts to the last" if start == "given" else "a/final to the final texts"
        assert summary.startswith(f"Reduction of TER by domain, from {texts}. ")
        assert re.findall(r"(\w): ", summary) == list(runs)
        for part in json.loads(done.out)["parts"]["domain"]:
            for contrast in part["contrasts"]:
                name, _, stage = contrast["row"].partition("/")
                if contrast["against"] != start or stage != "final" or contrast["bounds"] is None:
                    continue
                # TER is better if it is lower, so the gain is the difference with another sign.
                gain, low, high = (
                    -value + 0.0 for value in (contrast["difference"], *reversed(contrast["bounds"].values()))
                )
                of_run = summary.split(f"{name}: ")[1].split(";")[0]
                interval = f"(95 % interval {low:+.2f} to {high:+.2f})"
                assert f"{part['part']} ({part['segments']}) {gain:+.2f} {interval}" in of_run


def test_agreement_of_judges_and_people_has_wilsons_interval() -> None:
    def judged(after: float) -> Chain:
        signed = {"judge": "y (compare@3#c6e863ae)", "signature": "pairwise|model:y|prompt:compare@3#c6e863ae"}
        judgements = (Judgement(judge="x", before=0, after=1), Judgement(**signed, before=0, after=after))
        cause = UndecidedCause(judgements=judgements)
        return Chain(
            segment=segment("1", "s", "t"), steps=(Step(stage="postedit", text="t", verdict="rejected", cause=cause),)
        )

    chains = [judged(after) for after in [2, 3, 1, 1, 1, 1, 1, 1, -1, 0]]
    assert figures(chains).judge_pairs == (("x", "y, comparing both texts", 8, 10),)
    review = ReviewSummary(1, 0, 0, 0, 0, 0, 0, (DecidedGroup("all", "all", 15, 15, 5, 0),))
    comparison = RunComparison((), (), reviews={"r": review})
    # 8 of 10: Brown, Cai and DasGupta (2001) give the formula; 0.4902 to 0.9433 is its value.
    assert only(comparison, "agreement", chains).summary == (
        "people – machine 100.0 % of 20 (95 % interval 83.9 to 100.0 %); "
        "x – y, comparing both texts 80.0 % of 10 (95 % interval 49.0 to 94.3 %)"
    )
