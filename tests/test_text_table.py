"""Tables in Markdown and CSV, and how numbers are spelt."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mtagent.text import amounts
from mtagent.text.table import Table, as_csv, latex, markdown, text


def test_a_table_in_markdown_has_no_markup_from_its_cells() -> None:
    table = Table("my_title", ("a", "b"), (("x|y\nz", "<b>*1*</b>"),))
    assert markdown([table]) == "### My\\_title\n\n| a | b |\n| --- | ---: |\n| x\\|y z | \\<b\\>\\*1\\*\\</b\\> |"


_NAMES = ("a/translate", "a/postedit", "a/proofread", "a/final", "b/translate", "b/postedit", "b/proofread", "b/final")
PARAGRAPH = "\n\n"
WIDE = Table("wide", ("row", *_NAMES), tuple((name, *["+12.34*"] * 8) for name in _NAMES))


def test_latex_leaves_room_for_marks_and_for_what_is_below_a_number() -> None:
    (line,) = [line for line in latex([WIDE]).splitlines() if line.startswith(r"\begin{tabular}")]
    assert line.count("S[table-format=+2.2,retain-explicit-plus,table-space-text-post={*}]") == 8
    assert "text-post" not in latex([Table("narrow", ("row", "score"), (("a", "1.5"),))])
    small = latex(
        [Table("small", ("row", "p", "dollars"), (("a", "<0.001", "$0.0012"), ("b", "0.034*", "< $0.000001")))]
    )
    assert "S[table-format=1.3,table-space-text-pre={$<$},table-space-text-post={*}]" in small
    assert r"a & {$<$}0.001 & 0.0012 \\" in small
    assert r"b & 0.034{*} & {$<$}0.000001 \\" in small


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: sudo apt-get install texlive-science")
def test_latex_finds_no_table_wider_than_its_place(tmp_path: Path) -> None:
    numbers = Table("ten columns", ("system", *(["BLEU"] * 9)), (("a", *(["12.34"] * 9)), ("b", *(["<0.001"] * 9))))
    document = r"\documentclass[twocolumn]{article}\usepackage{booktabs,siunitx,graphicx}\begin{document}"
    document += (
        rf"\begin{{table*}}{latex([WIDE])}\end{{table*}}\begin{{table}}{latex([WIDE])}\end{{table}}"
        rf"Text.{PARAGRAPH}{latex([WIDE, numbers])}{PARAGRAPH}Text.\end{{document}}"
    )
    (tmp_path / "paper.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, "Overfull" in done.stdout) == (0, False), done.stdout


def test_csv_guards_texts_and_columns_but_no_number() -> None:
    rows = [{"@a": "=1", "b": -1.5, "c": math.nan}, {"b": None, "c": "x\ry"}]
    lines = list(as_csv(["@a", "b", "c", "guarded"], rows))
    assert lines == ["'@a,b,c,guarded\n", "'=1,-1.5,,'@a\n", ',,"x\ry",\n']


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


def test_how_shares_and_counts_are_spelt() -> None:
    shares = [(0, 0), (0, 9), (9, 9), (1, 8), (1, 10**6), (999_999, 10**6)]
    assert [amounts.share(*share) for share in shares] == ["–", "0 %", "100 %", "12.5 %", "< 0.1 %", "> 99.9 %"]
    assert [amounts.counted(n, "reply", "replies") for n in (1, 1234)] == ["1 reply", "1,234 replies"]


def test_columns_are_aligned_by_what_a_terminal_shows_not_by_characters() -> None:
    rows = (("百度翻译", "10"), ("online-b", "10"), ("ไทยที่", "10"), ("e\u0301t", "10"))
    lines = text([Table("", ("system", "segments"), rows, labels=1)]).splitlines()[-4:]
    assert [line.removesuffix("10") for line in lines] == [
        "百度翻译" + " " * 8,
        "online-b" + " " * 8,
        "ไทยที่" + " " * 12,
        "e\u0301t" + " " * 14,
    ]
