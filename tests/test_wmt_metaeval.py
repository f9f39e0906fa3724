"""The drivers of meta-evaluation: on small data made here, and on the real data what wmt/README.md says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mtagent.analysis.agreement import Missing, Statistic
from mtagent.errors import InputError
from tests.commands import ROOT, python
from wmt import himate_table1, metaeval_ment, metaeval_wmt23
from wmt.published import Cell, table, told

README = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")
Main = Callable[[Sequence[str]], None]
DRIVERS = [
    pytest.param(driver.main, id=driver.__name__.rpartition(".")[2])
    for driver in (metaeval_ment, metaeval_wmt23, himate_table1)
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Data sets of a few segments, in which every metric sees what people see, with some noise."""
    chance = random.Random(1)
    ment, himate = [], []
    for segment in range(12):
        human = {f"system_{n}": chance.randrange(5) for n in range(3)}
        rate = {name: score + chance.randrange(2) for name, score in human.items()}
        ment.append(json.dumps({"seg": segment, "human": human, "rate": rate}))
        mqm = -chance.randrange(9)
        scores = {name: mqm + chance.random() for name in (*himate_table1.PUBLISHED, "chrF-refA")}
        himate.append(json.dumps({"seg": segment, "mqm": mqm, "scores": scores}))
    (tmp_path / metaeval_ment.FILE).write_text("\n".join(ment), encoding="utf-8")
    (tmp_path / himate_table1.FILE).write_text("\n".join(himate), encoding="utf-8")
    metrics = list(metaeval_wmt23.PUBLISHED)
    segments, systems = ["\t".join(["system", "seg", "mqm", *metrics])], ["\t".join(["system", "mqm", *metrics])]
    for system in ("A", "B", "C", "refA", "synthetic_ref"):
        systems.append("\t".join([system, *(str(chance.random()) for _ in range(len(metrics) + 1))]))
        for number in range(12):
            segments.append("\t".join([system, str(number), *(str(chance.random()) for _ in range(len(metrics) + 1))]))
    (tmp_path / metaeval_wmt23.SEGMENTS).write_text("\n".join(segments), encoding="utf-8")
    (tmp_path / metaeval_wmt23.SYSTEMS).write_text("\n".join(systems), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("main", DRIVERS)
def test_small_data_gives_a_table_with_differences_and_a_dry_run_none(
    main: Main, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--data", str(small)])
    out = capsys.readouterr().out
    assert out.startswith("| ")
    assert "(published " in out
    assert out.rstrip().endswith("published numbers, to every printed digit")
    main(["--data", str(small), "--dry-run"])
    out = capsys.readouterr().out
    assert (out.startswith(f"would read {small}"), out.endswith("asks no model: $0\n")) == (True, True)


@pytest.mark.parametrize("main", DRIVERS)
def test_data_that_is_not_there_is_named(main: Main, tmp_path: Path) -> None:
    for name in (metaeval_ment.FILE, metaeval_wmt23.SEGMENTS, himate_table1.FILE):
        (tmp_path / name).mkdir()
    for folder in (tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=r"no such file; --data DIR .* wmt/README.md says what is in it and where"):
            main(["--data", str(folder)])


@pytest.mark.parametrize("main", DRIVERS)
@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"", "there is nothing in it"),
        (b"\xe9\n", ":1:1: byte 0xE9 is not UTF-8"),
        (b'{"seg": 0}\n' * 2, "there is no field"),
        (b"system\tmqm\n" + b"A\t0\n", "there is no field|not JSON"),
        (b"system\tmqm\n", "there is nothing in it|not JSON"),
    ],
)
def test_a_file_that_is_not_the_data_is_refused(main: Main, small: Path, written: bytes, words: str) -> None:
    for path in small.iterdir():
        path.write_bytes(written)
    with pytest.raises(InputError, match=words):
        main(["--data", str(small)])


@pytest.mark.parametrize("main", DRIVERS)
def test_lines_may_end_as_windows_ends_them(main: Main, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small)])
    before = capsys.readouterr().out
    for path in small.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    main(["--data", str(small)])
    assert capsys.readouterr().out == before


def test_a_missing_score_is_refused(small: Path) -> None:
    path = small / metaeval_wmt23.SEGMENTS
    header, first, *rest = path.read_text(encoding="utf-8").split("\n")
    for score, words in (("None", "score is missing"), ("x", "'x' is not a score"), ("nan", "no finite number")):
        cells = first.split("\t")
        cells[3] = score
        path.write_text("\n".join([header, "\t".join(cells), *rest]), encoding="utf-8")
        with pytest.raises(InputError, match=words):
            metaeval_wmt23.main(["--data", str(small)])
    path.write_text("\n".join([header, first + "\t0", *rest]), encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.tsv:2: has 13 columns, and the header has 12"):
        metaeval_wmt23.main(["--data", str(small)])


def stat(value: float | None) -> Statistic:
    return Statistic("x", value, "seg", "none", 2, 1, 0, Missing(), "x")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Cell(stat(0.9695), "0.970"), "0.970 ="),
        (Cell(stat(0.9694), "0.970"), "0.969 (published 0.970, -0.001)"),
        (Cell(stat(0.9775), "97.8", 100), "97.8 ="),
        (Cell(stat(0.97), ".970"), "0.970 ="),
        (Cell(stat(0.12345)), "0.123"),
        (Cell(stat(0.12345), None, 100, 2), "12.35"),
        (Cell(stat(None), "0.970"), "–"),
    ],
)
def test_a_number_is_beside_the_published_one(cell: Cell, shown: str) -> None:
    assert cell.shown() == shown


def test_only_what_was_published_is_counted() -> None:
    cells = [Cell(stat(value), text) for value, text in ((0.5, "0.500"), (0.4, "0.500"), (None, "0.1"), (1, None))]
    assert told(cells) == "1 of 3 published numbers, to every printed digit"
    assert list(table(("a", "b", "c"), [("x", cells[:1])])) == [
        "| a | b | c |",
        "|---|---:|---:|",
        "| x | 0.500 = |  |",
    ]


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
