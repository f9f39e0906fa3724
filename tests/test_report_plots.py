"""Figures of comparisons and reports: which files are written, what they state, and what is said of missing ones."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compared_rows import Cell, ComparedTexts
from mtagent.analysis.review_summary import DecidedGroup, ReviewSummary
from mtagent.analysis.staged_run import Cost
from mtagent.metrics.significance import Interval
from mtagent.records import Chain, Judgement, Score, Step, UndecidedCause, Usage
from mtagent.report.figures import figures
from mtagent.report.plots import Plot, inline_svg, plots_of
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
        "mtagent: written: one (12 files)",
    ]
    stems = ["errors-a", "errors-b", "gain-by-domain", "gain-by-length", "quality-cost", "score-by-stage"]
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
            "mtagent: not drawn: quality-cost: nothing is scored",
            "mtagent: not drawn: score-by-stage: nothing is scored",
            "mtagent: not drawn: gain-by-part: nothing is scored",
            "mtagent: not drawn: errors of r by rules: only 2 of 3 texts were rated in the end",
            "mtagent: not drawn: agreement: nobody decided on edits, and no two judges judged the same steps",
        ],
    )
    assert not (shell.folder / "f").exists()
    done = shell("compare r -r ref.txt --figures f")
    assert done.remarks[:3] == [
        "mtagent: not drawn: intervals: none were computed (-ci or --paired-bs computes them)",
        "mtagent: not drawn: quality-cost: no model was called, so that no stage has a cost",
        "mtagent: not drawn: gain-by-part: no parts are compared (`mtagent compare RUN --by domain,document,length "
        "--figures DIR` draws it)",
    ]
    assert sorted(files(shell.folder / "f")) == ["score-by-stage.pdf", "score-by-stage.svg"]


def test_a_folder_with_files_is_left_alone_unless_forced(stored: Shell) -> None:
    (stored.folder / "f").mkdir()
    (stored.folder / "f" / "mine.txt").write_text("mine")
    done = stored("compare a --figures f")
    assert (done.code, done.out) == (1, "")
    assert "f: is not empty; --force writes into it and replaces files of the same name" in done.err
    assert stored("compare a --figures f --force").code == 0
    assert files(stored.folder / "f")["mine.txt"] == b"mine"
    assert stored("compare a --force").code == 2


def test_the_report_has_the_figures_that_its_folder_gets(stored: Shell) -> None:
    done = stored("report a -o r.html -m chrf --figures f")
    assert done.code == 0
    page = (stored.folder / "r.html").read_text("utf-8")
    labels = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    written = [label(path.read_text("utf-8")) for path in (stored.folder / "f").glob("*.svg")]
    assert sorted(labels) == sorted(written)
    assert len(labels) == 3
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
    assert "<svg" not in (tmp_path / "r.html").read_text("utf-8")
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
        judgements = (Judgement(judge="x", before=0, after=1), Judgement(judge="y", before=0, after=after))
        cause = UndecidedCause(judgements=judgements)
        return Chain(
            segment=segment("1", "s", "t"), steps=(Step(stage="postedit", text="t", verdict="rejected", cause=cause),)
        )

    chains = [judged(after) for after in [2, 3, 1, 1, 1, 1, 1, 1, -1, 0]]
    assert figures(chains).judge_pairs == (("x", "y", 8, 10),)
    review = ReviewSummary(1, 0, 0, 0, 0, 0, 0, (DecidedGroup("all", "all", 15, 15, 5, 0),))
    comparison = RunComparison((), (), reviews={"r": review})
    # 8 of 10: Brown, Cai and DasGupta (2001) give the formula; 0.4902 to 0.9433 is its value.
    assert only(comparison, "agreement", chains).summary == (
        "people – machine 100.0 % of 20 (95 % interval 83.9 to 100.0 %); "
        "x – y 80.0 % of 10 (95 % interval 49.0 to 94.3 %)"
    )
