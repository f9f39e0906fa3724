"""Every command of ``bench`` and ``wmt`` that a page documents runs, here on a small input or as the page shows it.

A command that a page newly names fails this test until :data:`SMALL` says how to run it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.commands import ROOT, environment
from wmt import cheap_first, gate_unlabelled, shipped_weights

SMALL: dict[str, list[str]] = {
    "bench": ["--cpu --rounds 1 --segments 4 --figures {folder}/figures.json --save"],
    "bench.chain": ["--rounds 1 --segments 4"],
    "bench.client": ["--ways --rounds 1 --calls 8"],
    "bench.density": [""],
    "bench.scale": [""],
    "bench.embedded": ["--clients 4 --requests 60 --latency 0.05"],
    "bench.faults": ["none --segments 3"],
    "bench.growth": ["--segments 3 5 --no-review --folder {folder}/growth"],
    "bench.meta_eval": [""],
    "bench.pacing": [""],
    "bench.parts": ["--texts 5"],
    "bench.savings": ["--padding"],
    "bench.scores": ["--limit 8"],
    "bench.serve": ["--clients 2 --per-client 3 --long 0 --latency 0"],
    "bench.tokens": ["--prompts"],  # tests/test_package.py runs it without options
    "bench.walk": [""],
    "wmt.compare_coverage": ["--samples 2"],
    "wmt.edit_table": [""],
    "wmt.formats": ["--kind arb", "--kind yml --units 1 --show"],
    "wmt.gate_ablation": ["--splits 1 --resamples 20"],
    "wmt.gate_chances": ["--splits 2 --resamples 20"],
    "wmt.guards": ["", "--translations"],
    "wmt.himate_table1": [""],
    "wmt.locating": [""],
    "wmt.metaeval_coverage": ["--simulations 2 --resamples 20"],
    "wmt.metaeval_ment": [""],
    "wmt.metaeval_wmt23": [""],
    "wmt.omission": ["--limit 1"],
    "wmt.planted": ["--own --texts 1", "--texts 1"],
    "wmt.real_edits": [""],
    "wmt.replies": [""],
    "wmt.review_worth": ["--seeds 1 --decisions 40"],
    "wmt.rules": [""],
    "wmt.scores": [""],
    "wmt.self_judging": ["--texts 10"],
    "wmt.terms": [""],
}
"""The options that make each command short. ``{folder}`` is a folder of the test's own."""
ELSEWHERE = {
    "wmt.cheap_first": "a test below compares its table with the page",
    "wmt.gate_unlabelled": "a test below compares its tables with the page",
    "wmt.shipped_weights": "a test below compares its table and file with those published",
    "wmt.himate_threshold": "tests/test_wmt_himate_threshold.py runs it against a test server",
    "wmt.live": "tests/test_wmt_live.py runs it against a test server",
    "bench.engines": "tests/test_engines.py runs it",
    "bench.check": "needs catalogues of other programs, and pofilter",
    "bench.documents": "makes files of 100,000 units",
    "bench.screenshots": "needs Chromium and fonts",
    "wmt.local_model": "needs the model of mtagent[local]",
    "wmt.qe_e5": "needs the model of mtagent[qe]",
    "wmt.paper_tables": "tests/test_wmt_drivers.py runs it against a test server",
    "wmt.stages_wmt24pp": "tests/test_wmt_drivers.py runs it against a test server",
    "wmt.wmt25_general": "tests/test_wmt_drivers.py runs it against a test server",
}
"""The commands without a small run, and why."""
_COMMAND = re.compile(r"python -m ((?:bench|wmt)(?:\.[a-z]\w*)?)(?!\.?\w)")
_DATA = re.compile(r"shared/data|MTAGENT_TEST_DATA|wmt\.lib\.(?:data|gate_data|published)\b")
LARGE = ("ment_", "wmt22_", "wmt25_")
"""The files of which many lines are needed: calibrations refuse to learn from a few."""


def pages() -> list[Path]:
    return [
        ROOT / "README.md",
        ROOT / "bench/README.md",
        ROOT / "wmt/README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def documented() -> set[str]:
    names = {"bench"} if "make bench" in (ROOT / "bench/README.md").read_text(encoding="utf-8") else set()
    for page in pages():
        names.update(_COMMAND.findall(page.read_text(encoding="utf-8")))
    return names


def reads_research_data(name: str) -> bool:
    package, _, module = name.partition(".")
    return _DATA.search((ROOT / package / f"{module or '__main__'}.py").read_text(encoding="utf-8")) is not None


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of the research data, with a few lines of each JSON Lines file, evenly spaced."""
    data = Path(os.environ.get("MTAGENT_TEST_DATA", str(ROOT.parent / "shared" / "data")))
    if not data.is_dir():
        pytest.skip(f"there is no research data in {data}")
    small = tmp_path_factory.mktemp("data")
    (small / "real").mkdir()
    (small / "formats").symlink_to(data / "formats")
    for file in [*data.iterdir(), *(data / "real").iterdir()]:
        if file.is_dir():
            continue
        target = small / file.relative_to(data)
        if file.suffix != ".jsonl":
            target.symlink_to(file)
            continue
        lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line]
        step = max(1, len(lines) // (60 if file.name.startswith(LARGE) else 8))
        target.write_text("".join(f"{line}\n" for line in lines[::step]), encoding="utf-8")
    return small


def test_every_documented_command_is_run_here_or_says_where() -> None:
    known = {*SMALL, *ELSEWHERE}
    assert documented() <= known, "SMALL needs the options that make it short"
    modules = {"bench" if name == "bench" else f"{name.replace('.', '/')}.py" for name in known}
    assert all((ROOT / module).exists() for module in modules)


@pytest.mark.slow
@pytest.mark.loopback
@pytest.mark.parametrize(("name", "options"), [(name, each) for name, several in SMALL.items() for each in several])
def test_a_documented_command_runs(name: str, options: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    variables = environment(tmp_path / "store.db")
    if reads_research_data(name):
        variables["MTAGENT_TEST_DATA"] = str(request.getfixturevalue("small_data"))
    command = [sys.executable, "-m", name, *options.format(folder=tmp_path).split()]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def rows_not_on_the_page(printed: str) -> list[str]:
    page = (ROOT / "wmt/README.md").read_text(encoding="utf-8").split("\n")
    rows = re.findall(r"^\| .*$", printed, re.MULTILINE)
    assert len(rows) > 5
    return [row for row in rows if row not in page]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(600)
@pytest.mark.parametrize("driver", [gate_unlabelled, cheap_first])
def test_the_tables_are_on_the_page(driver: ModuleType, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver.main(["--data", str(data)])
    assert rows_not_on_the_page(capsys.readouterr().out) == []


@pytest.mark.slow
@pytest.mark.data
def test_the_weights_are_those_that_are_shipped(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped_weights.main(["--data", str(data), "--output", str(tmp_path / "weights.toml")])
    assert rows_not_on_the_page(capsys.readouterr().out) == []
    assert (tmp_path / "weights.toml").read_bytes() == (ROOT / "mtagent/chain/shipped_weights.toml").read_bytes()
