"""The gate experiment: on small data made here, and on the real data what wmt/README.md says of it."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mtagent.errors import InputError
from mtagent.learning.gain import Floats, JudgedPairs
from mtagent.metrics.significance import GroupResampling
from tests.commands import ROOT
from wmt.gate_ablation import main
from wmt.lib.gate_data import OURS, people, wmt23, wmt25
from wmt.lib.gate_worth import BEST, GIVEN, ORACLE, Worth, candidates, decided, gain_rule, learnt_segments, worths

README = Path(__file__).parents[1] / "wmt" / "README.md"
SCORES = ("GEMBA-ESA-CMDA", "GEMBA-ESA-GPT4.1", "XCOMET-XL", "MetricX-24-Hybrid-XL", "CometKiwi-XL")
PANEL = ("GEMBA-ESA-CMDA", "CometKiwi-XL")
SMALL = ["--resamples", "30", "--splits", "2", "--sample", "40"]


def table(path: Path, header: list[str], rows: list[list[object]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")


def compared(segment: int, human: list[float], language: str) -> str:
    """A line of people's scores, and of a judge that prefers what people prefer but for a liking for what is first."""
    verdicts = [[(1 if a >= b - 10 else -1) if i != j else 0 for j, b in enumerate(human)] for i, a in enumerate(human)]
    names = {"target_lang": language, "doc_id": f"{language}_#_{segment // 2}_#_{segment % 2}", "pairwise_judge": "m"}
    return json.dumps(names | {"human_scores": human, "pairwise_winloss": verdicts})


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Data sets of a few segments, in which every judge sees what people see, with some noise."""
    chance = random.Random(1)
    lines = []
    for segment in range(110):
        human = {f"system_{s}": chance.choice([0, 1, 2, 3, 4]) for s in range(3)}
        rate = {system: max(0, min(4, score + chance.choice([-1, 0, 0, 1]))) for system, score in human.items()}
        lines.append(json.dumps({"seg": segment, "human": human, "rate": rate}))
    (tmp_path / "ment_zh-en.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows: list[list[object]] = []
    for system in ("A", "B", "refA"):
        for segment in range(110):
            score = -chance.randrange(20)
            rows.append([system, segment, score, *(score + chance.randrange(9) for _ in range(2))])
    table(tmp_path / "wmt23_en-de_seg_scores.tsv", ["system", "seg", "mqm", "GEMBA-MQM", "CometKiwi"], rows)
    rows = []
    for system in ("Gemma-3-12B", OURS, "ONLINE-B", "GPT-4.1"):
        for place in range(120):
            if (system, place) == ("ONLINE-B", 7):
                continue  # a system may lack a paragraph
            good = chance.randrange(100)
            scored = [good + chance.randrange(20) for _ in SCORES]
            rows.append(["cs-de", f"d{place // 2}", place % 2, system, *scored])
    table(tmp_path / "wmt25_paragraph_scores.tsv", ["lp", "document", "paragraph", "system", *SCORES], rows)
    scored_by_people = [("ru", segment) for segment in range(70)] + [("zh", segment) for segment in range(2)]
    lines = [compared(segment, [chance.randrange(100) for _ in range(3)], lang) for lang, segment in scored_by_people]
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "wmt25_human_scores.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_all_data_sets_make_tables_and_plots(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small), "--svg", str(small), *SMALL])
    shown = capsys.readouterr().out
    assert re.findall(r"^### (.*)$", shown, re.MULTILINE) == [
        "MENT zh-en: 3 kinds of edits, learnt from 40 pairs", "WMT23 en-de: 1 kinds of edits, learnt from 40 pairs",
        "WMT25: 3 kinds of edits, learnt from 40 pairs",
        "WMT25 en-ru, people's scores: nothing calibrated", "WMT25 en-zh, people's scores: nothing calibrated",
    ]  # fmt: skip
    for block in shown.split("\n\n"):
        widths = {line.count("|") for line in block.split("\n") if line.startswith("|")}
        assert len(widths) <= 1, block
    assert "The best of several proposals for each segment (Gemma-3-12B, IR-MultiagentMT, ONLINE-B)" in shown
    assert shown.count("| 50 | ") == 3  # the learning curve
    for name in ("ment", "wmt23", "wmt25"):
        svg = ElementTree.fromstring((small / f"gate_{name}.svg").read_text(encoding="utf-8"))
        assert svg.tag.endswith("svg")


def test_a_dry_run_says_what_would_be_looked_at(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--data", str(small), "--dry-run", "--only", "wmt25", "--only", "people"])
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3
    assert "3 cases, 359 edits, 60 groups (worth 60 of equal size); learnt from 200 pairs" in told[0]
    assert told[0].endswith("scored by GEMBA-ESA-GPT4.1; no model is asked")
    assert "1 cases, 420 edits, 35 groups (worth 35 of equal size); nothing calibrated" in told[1]


def test_data_that_is_not_there_or_no_score_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ment_zh-en\.jsonl: no such file; --data DIR"):
        main(["--data", str(tmp_path), "--only", "ment"])
    (tmp_path / "ment_zh-en.jsonl").write_text('{"human": {"a": 1}, "rate": {"a": "good"}}\n', encoding="utf-8")
    with pytest.raises(InputError, match="'good' is not a score"):
        main(["--data", str(tmp_path), "--only", "ment"])


def test_a_sample_that_leaves_nothing_to_report_on_is_refused(small: Path) -> None:
    with pytest.raises(InputError, match="--sample 110: "):
        main(["--data", str(small), "--only", "wmt23", "--sample", "110"])


def test_nobody_needs_to_read_all_of_it(small: Path) -> None:
    command = [sys.executable, "-m", "wmt.gate_ablation", "--data", str(small), *SMALL]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=100)) == ("", 1)


def test_a_paragraph_that_a_system_lacks_is_left_out(small: Path) -> None:
    (data,) = wmt25(small)
    sizes = {case.name: len(data.pairs(case)[data.target]) for case in data.cases}
    assert sizes == {f"Gemma-3-12B -> {OURS}": 120, f"ONLINE-B -> {OURS}": 119, f"GPT-4.1 -> {OURS}": 120}
    assert "refA" not in wmt23(small)[0].systems


def test_a_source_document_is_in_one_group_with_all_its_translations(tmp_path: Path) -> None:
    languages = ("cs-de_DE", "cs-uk_UA", "en-de_DE")
    rows = [[lp, "d1", 0, system, *[5] * len(SCORES)] for system in ("A", OURS) for lp in languages]
    path = tmp_path / "wmt25_paragraph_scores.tsv"
    table(path, ["lp", "document", "paragraph", "system", *SCORES], rows)
    assert wmt25(tmp_path)[0].groups.tolist() == [0, 0, 1]


def test_only_a_text_that_is_preferred_in_both_orders_is_better(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    line = compared(0, [50, 95, 55], "ru")  # the third is better than the first, but not by more than the liking
    (tmp_path / "real" / "wmt25_human_scores.jsonl").write_text(line + "\n", encoding="utf-8")
    (data,) = people(tmp_path)
    (case,) = data.cases
    verdicts = replace(data, judges=tuple(data.verdicts)).pairs(case)["human"].differences.tolist()
    said = dict(zip(case.pairs, verdicts, strict=True))
    assert data.judges == ("m",)
    assert said["text 1", "text 2"] == [1, 1, 1]
    assert said["text 2", "text 1"] == [-1, -1, -1]
    assert said["text 1", "text 3"] == said["text 3", "text 1"] == [0, -1, 1]


def test_shares_of_verdicts_are_of_pairs_of_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People's scores in two documents: the judge prefers the second text of each to the first, in both orders."""
    (tmp_path / "real").mkdir()
    judged = json.loads(compared(0, [50, 95, 55], "ru"))
    misjudged = json.loads(compared(2, [50, 95, 55], "ru")) | {"human_scores": [50, 40, 55]}
    lines = f"{json.dumps(judged)}\n{json.dumps(misjudged)}\n"
    (tmp_path / "real" / "wmt25_human_scores.jsonl").write_text(lines, encoding="utf-8")
    main(["--data", str(tmp_path), "--only", "people", "--resamples", "30"])
    shares = re.findall(r"^\| ([a-z: ']+) \| ([0-9.]+) %", capsys.readouterr().out, re.MULTILINE)
    assert dict(shares) == {
        "comparisons in which the text shown first is preferred": "66.7",
        "pairs of texts whose two orders disagree": "33.3",
        "edits kept: the text after is preferred in both orders": "33.3",
        "kept edits that are worse by people's scores": "50.0",
    }


def worth_of(before: list[float], after: list[float], keep: list[bool]) -> Worth:
    worth, old, new = Worth(1, 1, len(before)), np.array(before), np.array(after)
    worth.add(0, 0, np.arange(len(before)), np.where(keep, new, old), (old, new, np.maximum(old, new)))
    return worth


@pytest.mark.parametrize(
    ("after", "keep", "lead", "headroom"),
    [
        ([5.0, -1.0], [True, True], 0.0, 0.0),  # it is always, which is the better of the two
        ([5.0, -1.0], [True, False], 0.5, 1.0), ([5.0, -1.0], [False, True], -2.5, -5.0),
        ([1.0, -5.0], [False, False], 0.0, 0.0), ([1.0, -5.0], [True, False], 0.5, 1.0),
    ],
)  # fmt: skip
def test_the_lead_is_that_over_the_better_of_never_and_always(
    after: list[float], keep: list[bool], lead: float, headroom: float
) -> None:
    worth = worth_of([0.0, 0.0], after, keep)
    assert (worth.lead.item(), worth.headroom(), worth.won, worth.lost) == (lead, headroom, lead > 0, lead < 0)
    assert worth.mean_lead(GroupResampling(20)).value == pytest.approx(lead)


def test_an_interval_is_over_documents_and_needs_two_of_them() -> None:
    figure = worth_of([0.0] * 30, [5.0, -5.0, 1.0] * 10, [True, False, True] * 10).mean_lead(GroupResampling(200))
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < (figure.value or 0) < figure.high
    alone = worth_of([0.0], [1.0], [True]).mean_lead(GroupResampling(20))
    assert (alone.value, alone.low, alone.high) == (0, None, None)


def test_nothing_is_reported_on_that_was_learnt_from(small: Path) -> None:
    (data,) = wmt25(small)
    for seed in range(5):
        assert learnt_segments(data, 40, seed).sum() == 30  # half of the documents
        assert learnt_segments(data, 100, seed).sum() >= 50  # as many as are needed
    assert not learnt_segments(data, 0, 1).any()


def judged(differences: Floats, gains: Floats) -> JudgedPairs:
    return JudgedPairs(("j",), differences[:, None], np.zeros(len(gains)), gains, np.arange(len(gains)))


def test_labels_that_are_all_the_same_teach_never_or_always() -> None:
    others = judged(np.array([1.0, -1.0]), np.zeros(2))
    for gain, keep in ((2.0, True), (0.0, False), (-2.0, False)):
        assert decided(judged(np.arange(40.0), np.full(40, gain)), others).tolist() == [keep, keep]
    differences = np.tile([2.0, -1.0], 20)
    assert decided(judged(differences, differences), others).tolist() == [True, False]


def test_judges_that_see_what_people_see_beat_both_and_two_see_more_than_one(small: Path) -> None:
    data = replace(wmt25(small)[0], sample=40)
    found = worths(data, data.sample, 5, 1, data.panels)
    for report in data.reports:
        leads = [found[gain_rule(panel), report].lead.mean() for panel in (*data.panels, PANEL)]
        assert 0 < min(leads) <= leads[2] < found[ORACLE, report].lead.mean()
    chosen = {rule: worth.gate.mean() for (rule, by), worth in candidates(data, 5, 1).items() if by == data.target}
    assert chosen[GIVEN] <= chosen[BEST] < chosen[gain_rule(PANEL)] < chosen[ORACLE]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["ment", "wmt23", "wmt25", "people"])
def test_the_page_and_its_plots_are_those_of_the_data(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Every row of the tables in wmt/README.md, to the digit. The page leaves some rows out."""
    main(["--data", str(data), "--only", name, "--svg", str(tmp_path)])
    printed = capsys.readouterr().out.split("\n")
    start = "### WMT25: people's scores" if name == "people" else f"(gate_{name}.svg)"
    section = README.read_text(encoding="utf-8").split(start)[1].split("\n#")[0]
    rows = [row for row in section.split("\n") if row.startswith("| ")]
    assert len(rows) >= 4
    assert [row for row in rows if row not in printed] == []
    if name == "people":
        return  # it has no plot
    plot = f"gate_{name}.svg"
    assert (tmp_path / plot).read_text(encoding="utf-8") == (README.parent / plot).read_text(encoding="utf-8")
