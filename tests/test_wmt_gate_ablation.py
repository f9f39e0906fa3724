"""The gate experiment: on small data made here, and on the real data what wmt/README.md says of it."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mtagent.analysis.gate_calibration import Edits, Effect, Resampling, best_margin, effect, first_half
from mtagent.errors import InputError
from tests.commands import ROOT, Shell
from wmt.gate_ablation import (
    bar_of,
    drawn,
    error_free_table,
    lead,
    main,
    main_table,
    outcome,
    report_table,
    splits_table,
    verdict,
)
from wmt.gate_data import OURS, Case, Scores, cases, edits, ment, wmt23, wmt25

README = Path(__file__).parents[1] / "wmt" / "README.md"
JUDGES = ("M-MAD", "GEMBA-MQM", "EAPrompt", "CometKiwi")
METRICS = ("GEMBA-ESA-CMDA", "GEMBA-ESA-GPT4.1", "XCOMET-XL", "MetricX-24-Hybrid-XL", "CometKiwi-XL")


def table(path: Path, header: list[str], rows: list[list[object]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Data sets of a few segments, in which every judge sees what people see, with some noise."""
    chance = random.Random(1)
    lines = []
    for segment in range(24):
        human = {f"system_{s}": chance.choice([0, 1, 2, 3, 4]) for s in range(3)}
        rate = {system: max(0, min(4, score + chance.choice([-1, 0, 0, 1]))) for system, score in human.items()}
        lines.append(json.dumps({"seg": segment, "human": human, "rate": rate}))
    (tmp_path / "ment_zh-en.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows: list[list[object]] = []
    for system in ("A", "B", "refA"):
        for segment in range(24):
            human = -chance.randrange(20)
            rows.append([system, segment, human, *(human + chance.randrange(3) for _ in JUDGES)])
    table(tmp_path / "wmt23_en-de_seg_scores.tsv", ["system", "seg", "mqm", *JUDGES], rows)
    rows = []
    for system in ("Gemma-3-12B", OURS, "ONLINE-B"):
        for place in range(40):
            if (system, place) == ("ONLINE-B", 7):
                continue  # a system may lack a paragraph
            good = chance.randrange(100)
            found = [good + chance.randrange(10) for _ in METRICS]
            rows.append(["cs-de", f"d{place // 2}", place % 2, system, *found])
    table(tmp_path / "wmt25_paragraph_scores.tsv", ["lp", "document", "paragraph", "system", *METRICS], rows)
    return tmp_path


def test_all_data_sets_make_tables_and_plots(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small), "--svg", str(small), "--resamples", "30", "--splits", "2"])
    shown = capsys.readouterr().out
    assert re.findall(r"^### (.*?):", shown, re.MULTILINE) == ["MENT zh-en"] * 4 + ["WMT23 en-de"] * 4 + ["WMT25"] * 4
    both = [line for line in shown.split("\n") if line.startswith(("| RATE | both", "| M-MAD | both"))]
    assert [line.split(" | ")[-1] for line in both].count("yes |") == 2
    assert "warning: the judge and the metric are the same" in shown
    assert shown.count(" (*) |") == 4  # two judges, two systems before
    for block in shown.split("\n\n"):
        widths = {line.count("|") for line in block.split("\n") if line.startswith("|")}
        assert len(widths) <= 1, block
    for name in ("ment", "wmt23", "wmt25"):
        svg = ElementTree.fromstring((small / f"gate_{name}.svg").read_text(encoding="utf-8"))
        assert svg.tag.endswith("svg")


def test_a_dry_run_says_what_would_be_looked_at(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small), "--dry-run", "--only", "wmt25"])
    told = capsys.readouterr().out
    assert "4 cases, 158 edits, 20 groups" in told
    assert "no model is asked" in told


def test_data_that_is_not_there_or_no_score_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ment_zh-en\.jsonl: no such file; --data DIR"):
        main(["--data", str(tmp_path), "--only", "ment"])
    (tmp_path / "ment_zh-en.jsonl").write_text('{"human": {"a": 1}, "rate": {"a": "good"}}\n', encoding="utf-8")
    with pytest.raises(InputError, match="'good' is not a score"):
        main(["--data", str(tmp_path), "--only", "ment"])


def test_nobody_needs_to_read_all_of_it(small: Path) -> None:
    command = [sys.executable, "-m", "wmt.gate_ablation", "--data", str(small), "--resamples", "30", "--splits", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=100)) == ("", 1)


def test_a_paragraph_that_a_system_lacks_is_left_out(small: Path) -> None:
    data = wmt25(small)
    sizes = {case.name: len(edits(data, case, data.target)) for case in cases(data)}
    assert "refA" not in wmt23(small).systems
    assert sizes == {f"Gemma-3-12B -> {OURS}": 40, f"ONLINE-B -> {OURS}": 39}


def test_a_source_document_is_in_one_group_with_all_its_translations(tmp_path: Path) -> None:
    languages = ("cs-de_DE", "cs-uk_UA", "en-de_DE")
    rows = [[lp, "d1", 0, system, *[5] * len(METRICS)] for system in ("A", OURS) for lp in languages]
    path = tmp_path / "wmt25_paragraph_scores.tsv"
    table(path, ["lp", "document", "paragraph", "system", *METRICS], rows)
    assert wmt25(tmp_path).groups.tolist() == [0, 0, 1]


def told_of(changes: list[float], gain: float = 1.0) -> Effect:
    """The effect of the gate on edits that the judge rates better by ``gain``, and people by ``changes``."""
    size = len(changes)
    columns = (np.zeros(size), np.full(size, gain), np.zeros(size), np.array(changes))
    return effect(Edits(*columns, np.arange(size)), 0.0, Resampling(200))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (told_of([5.0, -5.0] * 20), "not told apart from never, not told apart from always"),
        (told_of([5.0] * 20), "not told apart from always"),  # it is always
        (told_of([-5.0] * 20), "loses to never, not told apart from always"),
        (told_of([5.0] * 20, -1.0), "not told apart from never, loses to always"),  # it is never
        (told_of([-5.0] * 20, -1.0), "not told apart from never"),
    ],
)
def test_a_verdict_names_what_the_gate_does_not_beat(found: Effect, told: str) -> None:
    assert verdict(found) == told


def test_a_bar_shows_the_gate_beside_the_better_of_never_and_always() -> None:
    up, down = told_of([5.0, 5.0, 4.0] * 9, -1.0), told_of([-5.0, -5.0, -4.0] * 9)
    for found, best, over in ((up, up.always, up.over_always), (down, down.never, down.over_never)):
        bar = bar_of("x", found)
        means = (found.never.value, found.always.value, found.gate.value, found.oracle.value)
        assert (bar.never, bar.always, bar.gate, bar.oracle) == means
        assert (bar.low, bar.high) == ((best.value or 0) + (over.low or 0), (best.value or 0) + (over.high or 0))
        assert bar.low < bar.gate < bar.high


def test_the_lead_is_that_over_the_better_of_never_and_always() -> None:
    zero, one = np.zeros(2), np.ones(2)
    assert lead(Edits(zero, one, zero, np.array([5.0, -1.0]), np.arange(2)), 0.0) == 0
    assert lead(Edits(zero, np.array([1.0, -1.0]), zero, np.array([5.0, -1.0]), np.arange(2)), 0.0) == 0.5


@pytest.mark.data
@pytest.mark.parametrize(
    ("system", "metric", "never", "always", "gate", "oracle"),
    [
        ("Gemma-3-12B", "GEMBA-ESA-GPT4.1", 67.0, 62.7, 70.3, 73.6),
        ("Gemma-3-12B", "XCOMET-XL", 0.411, 0.387, 0.422, 0.453),
        ("Gemma-3-12B", "MetricX-24-Hybrid-XL", -8.04, -8.48, -7.67, -7.07),
        ("ONLINE-B", "GEMBA-ESA-GPT4.1", 72.3, 64.1, 73.3, 76.9),
        ("GPT-4.1", "GEMBA-ESA-GPT4.1", 82.6, 62.7, 81.5, 84.0),
    ],
)
def test_the_worth_of_a_gate_without_margin_is_about_that_of_all_paragraphs(
    data: Path, system: str, metric: str, never: float, always: float, gate: float, oracle: float
) -> None:
    """Half of the documents are here; of all of them Gemma's are known as 66.0, 63.1, 70.5 and 73.8."""
    scores = wmt25(data)
    found = effect(edits(scores, _before(system), metric), 0.0, Resampling(1))
    means = (found.never.value, found.always.value, found.gate.value, found.oracle.value)
    digits = 1 if never > 1 else 2 if never < -1 else 3
    assert tuple(round(value or 0, digits) for value in means) == (never, always, gate, oracle)


def _before(system: str) -> Case:
    return Case("WMT25", "GEMBA-ESA-CMDA", "", ((system, OURS),))


@pytest.mark.data
def test_before_strong_input_a_margin_of_ten_loses_little_where_none_loses_more(data: Path) -> None:
    items = edits(wmt25(data), _before("GPT-4.1"), "GEMBA-ESA-GPT4.1")
    none, ten = (effect(items, margin, Resampling(1)) for margin in (0.0, 10.0))
    lost = [round((found.never.value or 0) - (found.gate.value or 0), 1) for found in (none, ten)]
    assert lost == [1.1, 0.3]


@pytest.mark.data
@pytest.mark.parametrize(("name", "read"), [("ment", ment), ("wmt23", wmt23), ("wmt25", wmt25)])
def test_the_page_and_its_plots_are_those_of_the_data(data: Path, name: str, read: Callable[[Path], Scores]) -> None:
    """Every row of the three main tables in wmt/README.md, to the digit, and what they say in short."""
    page, scores = README.read_text(encoding="utf-8").split("\n"), read(data)
    outcomes = [outcome(scores, case, Resampling()) for case in cases(scores)]
    rows = [row for row in main_table(scores, outcomes) if row.startswith("|")]
    assert [row for row in rows if row not in page] == []
    assert len(rows) == len(outcomes) + 2
    assert drawn(scores, outcomes) == (README.parent / f"gate_{name}.svg").read_text(encoding="utf-8")


@pytest.mark.data
def test_leads_by_other_metrics_and_in_other_splits_are_those_of_the_page(data: Path) -> None:
    page = README.read_text(encoding="utf-8").split("\n")
    scores = wmt25(data)
    case = next(case for case in cases(scores) if case.name.startswith("Gemma"))
    told = report_table(scores, [outcome(scores, case, Resampling())], Resampling())
    assert next(row for row in told if row.startswith(f"| {case.judge} |")) in page
    one = scores._replace(judges=scores.judges[:1], systems=("ONLINE-B", OURS))
    told = splits_table(one, 20, 12345)
    assert next(row for row in told if row.startswith(f"| {case.judge} |")) in page
    assert all(row in page for row in error_free_table(ment(data), 0.9, Resampling()) if row.startswith("| RATE"))


@pytest.mark.data
def test_a_margin_is_chosen_on_one_half_alone(data: Path) -> None:
    """Other scores in the half that is reported on change nothing."""
    items = edits(wmt25(data), _before("Gemma-3-12B"), "GEMBA-ESA-GPT4.1")
    half = first_half(items.groups, 12345)
    assert 0.4 < half.mean() < 0.6  # half of the documents, which differ in length
    assert set(np.unique(items.groups[half])) & set(np.unique(items.groups[~half])) == set()
    assert best_margin(items.chosen(half)) == 5


@pytest.mark.data
def test_the_table_in_the_page_on_gates_is_true(data: Path, shell: Shell) -> None:
    page = (README.parents[1] / "docs" / "safety.md").read_text(encoding="utf-8")
    file, typed = "wmt25_paragraph_scores.tsv", page.split("\n$ mtagent ", 1)[1].partition("\n")[0]
    assert typed.startswith(f"gate calibrate -e {file} ")
    done = shell(typed.replace(file, str(data / file)))
    told = [line for line in done.out.splitlines() if not line.startswith("made ")]
    assert len(told) > 15
    assert [line for line in told if line not in page] == []
    assert done.out[done.out.index("margin") :] in page
