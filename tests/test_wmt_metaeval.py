"""The drivers of meta-evaluation: on small data made here, and on the real data what wmt/README.md says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.commands import ROOT
from wmt import himate_table1, metaeval_ment, metaeval_wmt23

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
    for system in ("A", "B", "C", "refA"):
        systems.append("\t".join([system, *(str(chance.random()) for _ in range(len(metrics) + 1))]))
        for number in range(12):
            segments.append("\t".join([system, str(number), *(str(chance.random()) for _ in range(len(metrics) + 1))]))
    (tmp_path / metaeval_wmt23.SEGMENTS).write_text("\n".join(segments), encoding="utf-8")
    (tmp_path / metaeval_wmt23.SYSTEMS).write_text("\n".join(systems), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("main", DRIVERS)
def test_small_data_gives_a_table_with_differences(main: Main, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small)])
    out = capsys.readouterr().out
    assert out.startswith("| ")
    assert "(published " in out
    assert out.rstrip().endswith("published numbers, to every printed digit")


@pytest.mark.parametrize("main", DRIVERS)
def test_a_dry_run_computes_nothing(main: Main, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small), "--dry-run"])
    out = capsys.readouterr().out
    assert out.startswith(f"would read {small}")
    assert out.endswith("asks no model: $0\n")


@pytest.mark.parametrize("main", DRIVERS)
def test_data_that_is_not_there_is_named(main: Main, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no such file; --data names the folder with the research data"):
        main(["--data", str(tmp_path)])


def test_references_are_no_systems(small: Path) -> None:
    found = metaeval_wmt23.scores(small / metaeval_wmt23.SEGMENTS, "BLEU")
    assert (found.systems, len(found)) == (("A", "B", "C"), 36)


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
