"""The drivers of meta-evaluation: on small data made here, and on the real data what wmt/README.md says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import scipy.stats

from mtagent.analysis.agreement import Missing, Statistic
from mtagent.errors import InputError
from tests.commands import ROOT, python
from tests.meta_scores import HUMAN, JUDGE
from wmt import himate_table1, metaeval_ment, metaeval_wmt23
from wmt.lib.published import Cell, reproduced, table

README = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")
Main = Callable[[Sequence[str]], None]
every_driver = pytest.mark.parametrize(
    "main",
    [
        pytest.param(driver.main, id=driver.__name__.rpartition(".")[2])
        for driver in (metaeval_ment, metaeval_wmt23, himate_table1)
    ],
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The sample of ``tests.meta_scores`` in the form of each data set; all metrics are its judge."""
    cells = [(f"s{s}", item, HUMAN[s][item], JUDGE[s][item]) for s in range(4) for item in range(6)]

    def objects(name: str, rows: Sequence[dict[str, object]]) -> None:
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    by_item = [[cell for cell in cells if cell[1] == item] for item in range(6)]
    ment = [
        {"seg": item, "human": {name: h for name, _, h, _ in of}, "rate": {name: j for name, _, _, j in of}}
        for item, of in enumerate(by_item)
    ]
    objects(metaeval_ment.FILE, ment)
    himate = [
        {"seg": n, "mqm": human, "scores": dict.fromkeys(himate_table1.PUBLISHED, judge)}
        for n, (_, _, human, judge) in enumerate(cells)
    ]
    objects(himate_table1.FILE, himate)
    metrics = list(metaeval_wmt23.PUBLISHED)
    segments = [["system", "seg", "mqm", *metrics], *([name, n, h, *[j] * len(metrics)] for name, n, h, j in cells)]
    segments += [["refA", n, 0, *[0] * len(metrics)] for n in range(6)]
    systems = [["system", "mqm", *metrics]]
    systems += [[f"s{s}", sum(HUMAN[s]), *[sum(JUDGE[s])] * len(metrics)] for s in range(4)]
    for name, rows in ((metaeval_wmt23.SEGMENTS, segments), (metaeval_wmt23.SYSTEMS, systems)):
        (tmp_path / name).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_the_figures_of_small_data_are_those_that_were_counted(small: Path) -> None:
    """The same as in tests/test_analysis_published.py, and SciPy's."""
    rows = metaeval_ment.rows(metaeval_ment.scores(small / metaeval_ment.FILE))
    assert [[round(cell.measured.value or 0, 6) for cell in cells] for _, cells in rows] == [
        [0.833333, 0.899105, 0.8, 0.8565],
        [0.822464, 0.899154, 0.889816],
        [0.833333, 0.886796, 0.874567],
    ]
    wmt23 = [cell.measured.value for cell in metaeval_wmt23.cells(small, "COMET")]
    assert wmt23 == pytest.approx([5 / 6, 0.8991047525093725, 5 / 6, 0.8991539724022515])
    path = small / himate_table1.FILE
    segments = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    himate = himate_table1.cells(himate_table1.scores(segments, "BLEU-refA", path), "BLEU-refA")
    flat = [[score for row in side for score in row] for side in (JUDGE, HUMAN)]
    kendall, spearman = scipy.stats.kendalltau(*flat)[0], scipy.stats.spearmanr(*flat)[0]
    expected = [kendall, spearman, 0.08863636363636362, 0.018413039485766763]
    assert [cell.measured.value for cell in himate] == pytest.approx(expected)


@every_driver
def test_small_data_gives_a_table_with_differences_and_a_dry_run_none(
    main: Main, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--data", str(small)])
    out = capsys.readouterr().out
    assert out.startswith("| ")
    assert "(published " in out
    assert out.rstrip().endswith("published numbers, to every printed digit")
    for path in small.iterdir():  # lines may end as Windows ends them
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    main(["--data", str(small)])
    assert capsys.readouterr().out == out
    main(["--data", str(small), "--dry-run"])
    out = capsys.readouterr().out
    assert (out.startswith(f"would read {small}"), out.endswith("asks no model: $0\n")) == (True, True)


@every_driver
def test_data_that_is_not_there_is_named(main: Main, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file; --data DIR .* wmt/README.md says what is in it and where"):
        main(["--data", str(tmp_path)])


@every_driver
@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"", "there is nothing in it"),
        (b"\xe9\n", ":1:1: byte 0xE9 is not UTF-8"),
        (b'{"seg": 0}\n' * 2, "there is no field"),
        (b"system\tmqm\n" + b"A\t0\n", "there is no field|not JSON"),
    ],
)
def test_a_file_that_is_not_the_data_is_refused(main: Main, small: Path, written: bytes, words: str) -> None:
    for path in small.iterdir():
        path.write_bytes(written)
    with pytest.raises(InputError, match=words):
        main(["--data", str(small)])


@pytest.mark.parametrize(
    ("score", "words"),
    [
        ("None", "score is missing"),
        ("x", "'x' is not a score"),
        ("nan", "must be a finite number"),
        ("0\t0", r"scores\.tsv:2: has 13 columns, and the header has 12"),
    ],
)
def test_a_missing_or_wrong_score_is_refused(score: str, words: str, small: Path) -> None:
    path = small / metaeval_wmt23.SEGMENTS
    header, first, *rest = path.read_text(encoding="utf-8").splitlines()
    cells = [*first.split("\t")[:3], score, *first.split("\t")[4:]]
    path.write_text("\n".join([header, "\t".join(cells), *rest]), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        metaeval_wmt23.main(["--data", str(small)])


def stat(value: float | None) -> Statistic:
    return Statistic("x", value, "seg", "none", 2, 1, 0, Missing(), "x")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Cell(stat(0.9695), "0.970"), "0.970 ="),
        (Cell(stat(0.9694), "0.970"), "0.969 (published 0.970, -0.001)"),
        (Cell(stat(0.9775), "97.8", 100), "97.8 ="),
        (Cell(stat(0.12345), None, 100, 2), "12.35"),
        (Cell(stat(None), "0.970"), "–"),
    ],
)
def test_a_number_is_beside_the_published_one(cell: Cell, shown: str) -> None:
    assert cell.shown() == shown


def test_only_what_was_published_is_counted() -> None:
    cells = [Cell(stat(value), text) for value, text in ((0.5, "0.500"), (0.4, "0.500"), (None, "0.1"), (1, None))]
    assert reproduced(cells) == "1 of 3 published numbers, to every printed digit"
    assert list(table(("a", "b", "c"), [("x", cells[:1])]))[2] == "| x | 0.500 = |  |"


def test_an_error_ends_a_driver_with_one_line(tmp_path: Path) -> None:
    done = python("-m", "wmt.guards", "--data", str(tmp_path), pipe="cat; exit 0")
    assert done.err.startswith(f"guards: {tmp_path / 'mlqe_pe.jsonl'}: no such file; --data DIR")
    assert done.err.count("\n") == 1


@pytest.mark.data
@pytest.mark.parametrize(
    ("main", "equal"), [(metaeval_ment.main, 6), (metaeval_wmt23.main, 35), (himate_table1.main, 2)]
)
def test_the_tables_of_the_page_are_true(
    main: Main, equal: int, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--data", str(data)])
    out = capsys.readouterr().out
    assert out in README
    assert f"\n{equal} of " in out
