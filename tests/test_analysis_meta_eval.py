"""``mtagent meta-eval`` as a user meets it: from ratings and people's scores to tables, and back from folders."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtagent.analysis.agreement import (
    Averaging,
    ScorePair,
    accuracy,
    calibrated_accuracy,
    kendall,
    paired,
    pearson,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from tests.commands import ROOT, Done, Shell, run

SOURCES = [
    "The cat sat here.",
    "Pay 5 dollars now, please.",
    "It rains and rains and rains in our old town today, again.",
]
GOOD = [
    "Die Katze saß hier.",
    "Zahle jetzt bitte 5 Dollar.",
    "Heute regnet und regnet es wieder in unserer alten Stadt.",
]
SCORED = "meta-eval -e s.tsv --human mqm"


@pytest.fixture
def scored(shell: Shell) -> Shell:
    """The shell with five systems, three segments, two evaluators and people."""
    lines = ["system\tid\tdomain\tlp\tsource\tmqm\tgood\tconstant"]
    for place, system in enumerate("ABCDE"):
        for item, source in enumerate(SOURCES):
            human = -((place * 3 + item * 2) % 7)
            domain = "news" if item else "talk"
            lines.append(f"{system}\t{item}\t{domain}\ten-de\t{source}\t{human}\t{human + place % 2 + 90}\t1")
    shell.write("s.tsv", *lines)
    return shell


def changed(shell: Shell, column: str, value: Any, *rows: int) -> None:
    """Give the cells of ``column`` in these rows (from 1; all, if none is named) a value, or what it makes of them."""
    cells = [line.split("\t") for line in shell.read("s.tsv")]
    place = cells[0].index(column)
    for row in rows or range(1, len(cells)):
        cells[row][place] = value(cells[row]) if callable(value) else value
    shell.write("s.tsv", *("\t".join(row) for row in cells))


def table(out: str, title: str) -> list[list[str]]:
    """The cells of the table under ``title``."""
    lines = out.split(f"{title}:\n", 1)[1].splitlines()
    body = lines[: next((i for i, line in enumerate(lines) if not line or line.startswith("(")), len(lines))]
    return [re.split(r"  +", line) for line in body]


def scores_in(shell: Shell, evaluator: str) -> list[ScorePair]:
    head, *rows = (line.split("\t") for line in shell.read("s.tsv"))
    cells = (dict(zip(head, row, strict=True)) for row in rows)
    return [ScorePair(row["system"], row["id"], float(row[evaluator]), float(row["mqm"])) for row in cells]


def data(done: Done) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


def numbers(done: Done) -> list[Any]:
    """All values of the tables, without names and signatures; they may differ in their last digit."""
    result = data(done)
    values: list[list[Any]] = [
        [row["level"], row["averaging"], str(row["part"]), *(v["value"] for v in row["statistics"].values())]
        for row in result["levels"]
    ]
    values += [[row["f1"], row["gold"], row["segments"]] for row in (result["spans"] or {"measures": []})["measures"]]
    return sorted(([round(v, 12) if isinstance(v, float) else v for v in row] for row in values), key=str)


# --- tables


def test_the_tables_hold_the_statistics_of_the_library(scored: Shell) -> None:
    done = scored(f"{SCORED} --metrics good")
    assert (done.code, done.err) == (0, "")
    own = paired(scores_in(scored, "good"))
    systems = system_level(own)
    statistics = [accuracy(systems), soft_pairwise_accuracy(own), pearson(systems), spearman(systems), kendall(systems)]
    assert table(done.out, "level of systems") == [
        ["evaluator", "scores", "Acc", "SPA", "Pearson", "Spearman", "Kendall"],
        ["good", "5", *(f"{statistic.value:.3f}" for statistic in statistics)],
    ]
    averagings: dict[Averaging, str] = {"none": "all scores together", "item": "averaged by item"}
    for averaging, words in averagings.items():
        tied = calibrated_accuracy(own, averaging)
        values = [*(statistic(own, averaging).value for statistic in (pearson, spearman, kendall)), tied.value]
        assert table(done.out, f"level of segments, {words}") == [
            ["evaluator", "scores", "Pearson", "Spearman", "Kendall", "Acc-t", "ε"],
            ["good", "15", *(f"{value:.3f}" for value in values), f"{tied.epsilon:.3g}"],
        ]
    assert f"\n{tied.signature}" in done.out
    for who, column in (("people: mqm", "mqm"), ("good", "good")):
        assert f"\n{who}: file:s.tsv|column:{column}|sha256:" in done.out


def test_what_is_not_defined_is_a_dash_with_its_reason_and_0_is_a_value(scored: Shell) -> None:
    done = scored(f"{SCORED} --average none")
    assert table(done.out, "level of systems")[2][1:3] == ["5", "0.000"]
    assert table(done.out, "level of segments, all scores together")[2][:5] == ["constant", "15", "–", "–", "–"]
    reason = "no Pearson, Spearman, Kendall: the scores of the evaluator or of people are all equal"
    assert f"\n– constant, level of segments, all scores together: {reason}\n" in done.out
    scored.write("s.tsv", "system\tid\tmqm\tj", "A\t1\t0\t1", "A\t2\t1\t0", "A\t3\t0\t0", "A\t4\t1\t1")
    shown = scored(f"{SCORED} --level seg -w 1").out
    assert shown.splitlines()[2].split() == ["j", "4", "0.0", "0.0", "0.0", "0.3", "1"]
    assert "no Pearson" not in shown


def test_missing_scores_that_are_left_out_are_counted(scored: Shell) -> None:
    changed(scored, "good", "None", 5)
    done = scored(f"{SCORED} --average none --missing leave-out --test acc-t --permutations 20")
    rows = table(done.out, "level of segments, all scores together")
    assert [row[:3] for row in rows] == [
        ["evaluator", "scores", "left out"],
        ["good", "14", "1"],
        ["constant", "15", "0"],
    ]
    assert "pearson|level:seg|avg:none|left-out:1|" in done.out
    assert "20 permutations of 14 scores that all have" in done.out
    warning = "the means of systems are over different segments: 2 to 3 of each have both scores (left out: 1)"
    assert (f"warning: good: {warning}" in done.out, "warning: constant: the means" in done.out) == (True, False)


def test_errors_plain_and_scaled(scored: Shell) -> None:
    title = "level of segments, all scores together"
    plain = table(scored(f"{SCORED} --distance plain").out, title)
    assert (plain[0][-2:], plain[1][-2:]) == (["MAE", "MSE"], ["90.400", "8172.400"])
    scaled = scored(f"{SCORED} --distance minmax").out
    assert (float(table(scaled, title)[1][-2]) < 0.2, "mae|level:seg|scale:minmax|" in scaled) == (True, True)


def test_scores_by_domain_and_length(scored: Shell) -> None:
    done = scored(f"{SCORED} --metrics good --by domain,length --average none")
    domains = table(done.out, "by domain: level of segments, all scores together")
    assert [row[:3] for row in domains] == [
        ["domain", "evaluator", "scores"], ["talk", "good", "5"], ["news", "good", "10"]
    ]  # fmt: skip
    news = paired(row for row in scores_in(scored, "good") if row.item != "0")
    assert domains[2][3] == f"{pearson(news).value:.3f}"
    assert table(done.out, "by domain: level of systems")[2][3] == f"{accuracy(system_level(news)).value:.3f}"
    lengths = table(done.out, "by length: level of segments, all scores together")
    assert [row[:3] for row in lengths[1:]] == [["0–10 words", "good", "10"], ["11–20 words", "good", "5"]]


def test_of_many_parts_the_largest_are_shown_and_reasons_share_a_line(shell: Shell) -> None:
    rows = [
        f"{system}\t{part}.{item}\td{part}\t{item}\t{1 if part < 3 else item + part}"
        for part in range(21)
        for item in range(2 if part else 1)
        for system in "AB"
    ]
    shell.write("s.tsv", "system\tid\tdomain\tmqm\tjudge", *rows)
    out = shell(f"{SCORED} --level seg --average none --by domain").out
    assert "1 more, the smaller ones, are not shown: -f json has all" in out
    assert ("\nd0 " in out, "\nd1 " in out) == (False, True)
    assert "no Pearson, Spearman, Kendall in d0, d1, d2 by domain: " in out


def test_one_system_has_no_level_of_systems_and_no_average_by_item(scored: Shell) -> None:
    line = f"{SCORED} -f json --drop-systems"
    for drop, expected in (("C,D,E", ["sys", "none", "item"]), ("B,C,D,E", ["none"])):
        result = data(scored(f"{line} {drop} --metrics good"))["levels"]
        assert [row["averaging"] if row["level"] == "seg" else "sys" for row in result] == expected
    assert data(scored(f"{line} B,C,D,E --level sys,seg"))["levels"][0]["level"] == "sys"


def test_markdown_latex_and_json(scored: Shell) -> None:
    markdown = scored(f"{SCORED} --average none -f markdown").out
    assert markdown.startswith("### Level of systems\n\n| evaluator | scores | Acc |")
    assert "\n- `acc|level:sys|avg:none|eps:0|" in markdown
    latex = scored(f"{SCORED} --average none -f latex").out
    assert latex.count(r"\begin{tabular}{lS[table-format=") == 2
    assert "\nconstant & 15 & {--} & {--} & {--} & " in latex
    assert "\n% people: mqm: " in latex
    result = data(scored(f"{SCORED} --average none -f json"))
    assert (result["human"]["name"], [row["name"] for row in result["evaluators"]]) == ("mqm", ["good", "constant"])
    scored.write("odd.tsv", "system\tid\tmqm\ta%<c>|", *(f"A\t{n}\t{n * n}\t{n}" for n in range(3)))
    odd = scored("meta-eval -e odd.tsv --human mqm --average none -f latex").out
    assert ("\na\\%$<$c$>$\\textbar{} & 3 & " in odd, "\n% a%<c>|: file:odd.tsv|" in odd) == (True, True)
    first, second, *_ = result["levels"]
    assert (first["level"], second["evaluator"], second["statistics"]["pearson"]["value"]) == ("sys", "constant", None)
    assert first["statistics"]["acc"]["value"] == accuracy(system_level(paired(scores_in(scored, "good")))).value


# --- tests between evaluators


def test_evaluators_are_tested_and_ranked(scored: Shell) -> None:
    line = f"{SCORED} --test pearson,acc-t --average none --permutations 50"
    done = scored(line)
    rows = table(done.out, "test by Acc-t: level of segments, all scores together")
    assert rows[0] == ["evaluator", "rank", "Acc-t", "p(2)"]
    assert [row[:2] for row in rows[1:]] == [["good", "1"], ["constant", "2"]]
    assert "acc-t|level:seg|avg:none|perm:50|unit:score|seed:12345|" in done.out
    assert "; not defined for constant)" in done.out  # of Pearson
    assert scored(line).out == done.out
    (test,) = data(scored(f"{SCORED} --test acc --permutations 50 --unit system --seed 3 -f json"))["tests"]
    assert (test["level"], test["ranked"][0]["name"], test["scores"]) == ("sys", "good", 5)
    assert "|perm:50|unit:system|seed:3|" in test["signature"]
    (mixed,) = data(scored(f"{SCORED} --test acc --permutations 50 --unit item --seed 3 -f json"))["tests"]
    assert mixed == test, "a system has one score, so its unit is the system"
    assert 0 <= test["p_values"][0]["p_value"] <= 1


# --- several language pairs


@pytest.fixture
def pairs(shell: Shell) -> Shell:
    """The shell with two language pairs of different systems, and three evaluators, one of which lacks en-cs."""
    random = np.random.default_rng(8)
    lines = ["system\tid\tlp\tdocument\tmqm\tgood\tbad\tgerman"]
    for lp, systems in (("en-de", "ABCDEF"), ("en-cs", "CDEFGHI")):
        for place, system in enumerate(systems):
            for item in range(8):
                human = round(place + random.normal(), 1)
                good, bad = (round(human + noise * random.normal(), 2) for noise in (0.5, 3))
                german = str(good) if lp == "en-de" else "None"
                lines.append(f"{system}\t{lp}/{item}\t{lp}\td{item // 2}\t{human}\t{good}\t{bad}\t{german}")
    shell.write("p.tsv", *lines)
    return shell


PAIRS = "meta-eval -e p.tsv --human mqm --missing leave-out --permutations 100"


def test_each_language_pair_has_its_tables_and_then_the_mean(pairs: Shell) -> None:
    line = f"{PAIRS} --metrics good,bad --resample document --resamples 50"
    result = data(pairs(f"{line} -f json"))
    assert list(result["pairs"]) == ["en-de", "en-cs"]
    alone = data(pairs(f"{line} -l en-de -f json"))
    assert result["pairs"]["en-de"] == alone
    out = pairs(line).out
    for lp, systems in (("en-de", 6), ("en-cs", 7)):
        assert table(out, f"{lp}, level of systems")[1][:2] == ["good", str(systems)]
    first, second = (result["pairs"][lp]["levels"] for lp in result["pairs"])
    for average in result["averages"]:
        key = (average["level"], average["averaging"], average["evaluator"])
        values = []
        for levels in (first, second):
            (level,) = [one for one in levels if (one["level"], one["averaging"], one["evaluator"]) == key]
            values.append(level["statistics"][average["statistic"]]["value"])
        assert average["value"] == sum(values) / 2
        assert average["interval"]["low"] <= average["interval"]["high"]
    assert table(out, "mean of 2 language pairs: level of systems")[0][:5] == [
        "evaluator",
        "pairs",
        "Acc",
        "low",
        "high",
    ]
    rows = list(csv.DictReader(io.StringIO(pairs(f"{line} -f csv").out)))
    assert {row["lp"] for row in rows if row["kind"] == "statistic"} == {"en-de", "en-cs"}
    assert sum(row["kind"] == "mean" for row in rows) == len(result["averages"])


def test_an_evaluator_that_lacks_a_pair_has_no_mean_and_no_rank(pairs: Shell) -> None:
    result = data(pairs(f"{PAIRS} --test acc,sys-pearson,acc-t:item -f json"))
    lacking = [average for average in result["averages"] if average["evaluator"] == "german"]
    assert {(average["value"], average["pairs"]) for average in lacking} == {(None, 1)}
    assert [evaluator["name"] for evaluator in result["ranking"]["ranked"]] == ["good", "bad"]
    assert result["ranking"]["left_out"] == ["german"]
    assert "left out, since they lack a task: german" in pairs(f"{PAIRS} --test acc").out


def test_ranks_by_tasks_are_by_the_mean_with_correlations_scaled(pairs: Shell) -> None:
    line = f"{PAIRS} --metrics good,bad --test acc,pearson:none,acc-t:item"
    result = data(pairs(f"{line} -f json"))
    signatures = [task["signature"].split("|") for task in result["ranking"]["tasks"]]
    assert [parts[0] for parts in signatures] == 2 * ["acc", "pearson", "acc-t"]
    assert [parts[5] for parts in signatures] == 3 * ["seed:12345"] + 3 * ["seed:12346"]
    for ranked in result["ranking"]["ranked"]:
        scaled = []
        for evaluation in result["pairs"].values():
            for test in evaluation["tests"]:
                (value,) = [one["value"] for one in test["ranked"] if one["name"] == ranked["name"]]
                scaled.append((value + 1) / 2 if test["statistic"] == "pearson" else value)
        assert ranked["value"] == pytest.approx(sum(scaled) / 6, abs=1e-12)
    assert [ranked["rank"] for ranked in result["ranking"]["ranked"]] == [1, 2]
    rows = table(pairs(line).out, "ranks by 6 tasks")
    assert rows[0][:4] == ["evaluator", "rank", "mean", "task 1"]
    assert [row[:2] for row in rows[1:]] == [["good", "1"], ["bad", "2"]]


def test_what_several_pairs_cannot_be_combined_with(pairs: Shell) -> None:
    pairs.write("sys.tsv", "system\tmqm\tgood\tbad\tgerman", *(f"{name}\t1\t1\t1\t1" for name in "ABCDEFGHI"))
    done = pairs(f"{PAIRS} --system-scores sys.tsv")
    assert (done.code, "sys.tsv: the scores of whole systems are of one language pair" in done.err) == (1, True)
    lines = pairs.read("p.tsv")
    pairs.write("p.tsv", *lines, "A\tx\t\td\t1\t1\t1\t1")
    done = pairs(PAIRS)
    assert (done.code, "segment 'x' has no language pair, and others have several" in done.err) == (1, True)


def test_a_folder_with_several_pairs_is_read_whole(pairs: Shell) -> None:
    for lp in ("en-de", "en-cs"):
        done = pairs(f"{PAIRS} --metrics good,bad -l {lp} -o set --force")
        assert done.code == 0, done.err
    from_files, from_folder = (
        data(pairs(line))
        for line in (f"{PAIRS} --metrics good,bad -f json", "meta-eval --mtme set --human mqm -f json")
    )
    assert sorted(from_folder["pairs"]) == sorted(from_files["pairs"])
    for lp, evaluation in from_folder["pairs"].items():
        expected = [one["statistics"]["pearson"]["value"] for one in from_files["pairs"][lp]["levels"]]
        values = [one["statistics"]["pearson"]["value"] for one in evaluation["levels"]]
        assert sorted(values) == pytest.approx(sorted(expected), abs=1e-12)


# --- intervals


def test_every_statistic_has_an_interval_and_the_same_seed_gives_the_same(scored: Shell) -> None:
    line = f"{SCORED} --metrics good --distance minmax --resample segment --resamples 50"
    result = data(scored(f"{line} -f json"))
    assert result["resampling"] == "bootstrap:50|unit:segment|units:3|seed:12345"
    for level in result["levels"]:
        for statistic in level["statistics"].values():
            low, high = statistic["interval"]["low"], statistic["interval"]["high"]
            assert low <= high, statistic["name"]
    done = scored(line)
    head, row = table(done.out, "level of systems")
    assert head[2:5] == ["Acc", "low", "high"]
    first = result["levels"][0]["statistics"]["acc"]
    assert row[2:5] == [f"{number:.3f}" for number in (first["value"], *first["interval"].values())]
    assert "\nlow, high: 95 % interval, percentiles: bootstrap:50|unit:segment|units:3|seed:12345\n" in done.out
    assert scored(line).out == done.out
    assert data(scored(f"{line} --seed 4 -f json"))["resampling"].endswith("|seed:4")
    assert "low" not in scored(f"{SCORED} --metrics good").out


def test_documents_are_drawn_as_a_whole(scored: Shell) -> None:
    line = f"{SCORED} --metrics good --average none --resample document --resamples 50 -f json"
    done = scored(line)
    assert (done.code, done.out) == (1, "")
    assert "--resample document: no file has the document of segment '0'; give a column with it" in done.err
    renamed = [row.replace("domain", "document") for row in scored.read("s.tsv")]
    scored.write("s.tsv", *renamed)
    assert data(scored(line))["resampling"] == "bootstrap:50|unit:document|units:2|seed:12345"


def test_given_scores_of_systems_have_no_intervals(scored: Shell) -> None:
    scored.write("sys.tsv", "system\tmqm\tgood", *(f"{name}\t{n}\t{n * n}" for n, name in enumerate("ABCDE")))
    line = f"{SCORED} --metrics good --system-scores sys.tsv --level sys --resample segment --resamples 20"
    statistics = data(scored(f"{line} -f json"))["levels"][0]["statistics"]
    assert [name for name, statistic in statistics.items() if statistic["interval"]] == ["spa"]
    assert "these have no intervals, except for SPA" in scored(line).out


def test_differences_of_two_have_intervals_and_of_more_corrected_p_values(contest: Shell) -> None:
    two = f"{SCORED} --missing leave-out --permutations 20 --resample segment --resamples 50 --average none"
    result = data(contest(f"{two} -f json"))
    names = [(lead["level"], lead["statistic"], lead["p_value"]) for lead in result["differences"]]
    assert ("sys", "spa", None) in names
    assert ("seg", "acc-t", None) in names
    for lead in result["differences"]:
        assert lead["value"] >= 0
        # In more than 5 % of the resamples of three segments, none is of system D.
        assert (lead["interval"] is None) == (lead["level"] == "sys")
    rows = table(contest(f"{two} --test pearson").out, "differences by Pearson: level of segments, all scores together")
    assert rows[0] == ["better", "worse", "difference", "low", "high", "p"]
    assert len(rows) == 2
    lines = contest.read("s.tsv")
    more = [lines[0] + "\tthird", *(f"{line}\t{number}" for number, line in enumerate(lines[1:]))]
    contest.write("s.tsv", *more)
    three = f"{SCORED} --missing leave-out --permutations 200 --average none --test pearson"
    rows = table(contest(three).out, "differences by Pearson: level of segments, all scores together")
    assert rows[0] == ["better", "worse", "difference", "p", "p (Holm)"]
    (test,) = data(contest(f"{three} -f json"))["tests"]
    ordered = sorted(test["p_values"], key=lambda pair: pair["p_value"])
    largest = 0.0
    for factor, pair in zip((3, 2, 1), ordered, strict=True):
        largest = max(largest, min(1.0, factor * pair["p_value"]))
        assert pair["holm"] == largest
    assert "differences by Spearman" not in contest(f"{three} --resample segment --resamples 20").out


def test_a_p_value_of_no_permutation_is_printed_as_less_than_one_permutation(scored: Shell) -> None:
    lines = ["system\tid\tlp\tsource\tmqm\tright\twrong"]
    for number in range(20):
        lines.append(f"{'ABCD'[number % 4]}\t{number // 4}\ten-de\ttext {number // 4}\t{-number}\t{-number}\t{number}")
    scored.write("s.tsv", *lines)
    line = f"{SCORED} --average none --test pearson"
    heading = "test by Pearson: level of segments, all scores together"
    assert table(scored(f"{line} --permutations 20").out, heading)[1] == ["right", "1", "1.000", "<0.05"]
    assert table(scored(f"{line} --permutations 2000").out, heading)[1] == ["right", "1", "1.000", "<0.001"]
    (test,) = data(scored(f"{line} --permutations 20 -f json"))["tests"]
    assert test["p_values"][0]["p_value"] == 0  # the share of permutations, as in mt-metrics-eval
    few = scored(f"{line} --permutations 19")
    assert (few.code, few.out) == (1, "")
    assert "19 permutations" in few.last
    assert "give at least 20" in few.last


def test_corrected_p_values_of_no_permutation_are_in_order(scored: Shell) -> None:
    """Holm's method is told the share of one permutation: corrected values rise, as the others do."""
    lines = ["system\tid\tlp\tsource\tmqm\tright\tnoisy\twrong"]
    for number in range(20):
        right, noisy = -number + 8 * (number % 2), -number + 10 * (number % 3)
        start = f"{'ABCD'[number % 4]}\t{number // 4}\ten-de\ttext {number // 4}"
        lines.append(f"{start}\t{-number}\t{right}\t{noisy}\t{number}")
    scored.write("s.tsv", *lines)
    line = f"{SCORED} --average none --test pearson --permutations 500"
    rows = table(scored(line).out, "differences by Pearson: level of segments, all scores together")[1:]
    raw = [row[-2] for row in rows]
    (test,) = data(scored(f"{line} -f json"))["tests"]
    plain = [pair["p_value"] for pair in test["p_values"]]
    assert plain.count(0) == raw.count("<0.002") == 2
    corrected = {float(p.lstrip("<")): float(p_holm.lstrip("<")) for p, p_holm in (row[-2:] for row in rows)}
    assert sorted(corrected.values()) == [corrected[p_value] for p_value in sorted(corrected)]
    assert [row[-1] for row in rows if row[-2] == "<0.002"] == ["<0.006", "<0.006"]


def test_a_flat_table_has_every_number_in_a_line(contest: Shell) -> None:
    line = f"{SCORED} --missing leave-out --permutations 20 --resample segment --resamples 20 --test pearson"
    done = contest(f"{line} -f csv")
    result = data(contest(f"{line} -f json"))
    rows = list(csv.DictReader(io.StringIO(done.out)))
    kinds = Counter(row["kind"] for row in rows)
    statistics = sum(len(level["statistics"]) for level in result["levels"])
    assert kinds == {"statistic": statistics, "difference": len(result["differences"]), "rank": 4}
    by_item = [
        row for row in rows if (row["averaging"], row["statistic"], row["evaluator"]) == ("item", "acc-t", "judge")
    ]
    assert by_item[0]["value"] == repr(result["levels"][5]["statistics"]["acc-t"]["value"])
    assert by_item[0]["low"] == repr(result["levels"][5]["statistics"]["acc-t"]["interval"]["low"])
    assert "mtagent: warning: level of systems: there are 4" in done.err
    assert contest(f"{line} -f tsv").out == done.out.replace(",", "\t")


CONTEST = """\
system id mqm BLEU judge
A 1 0 61.2 95
A 2 -1 44.0 88
A 3 -5 30.5 60
B 1 -1 38.1 90
B 2 -6 40.9 55
B 3 -5 22.7 72
C 1 0 35.0 93
C 2 -2 47.3 91
C 3 0 51.6 85
D 1 -10 12.4 20
D 2 -6 99.9 None
D 3 -11 25.1 35"""
TESTED = f"{SCORED} --missing leave-out --permutations 20 -f json"
FOLDER = "meta-eval --mtme set --human mqm --missing leave-out --permutations 20 -f json"


@pytest.fixture
def contest(shell: Shell) -> Shell:
    """Four systems, three segments; the judge failed once. The same as a folder."""
    shell.write("s.tsv", *(line.replace(" ", "\t") for line in CONTEST.splitlines()))
    assert shell(f"{SCORED} --missing leave-out -l en-de -o set").code == 0
    return shell


def test_systems_are_tested_by_given_scores_or_means_over_what_all_evaluators_scored(contest: Shell) -> None:
    (test,) = data(contest(f"{TESTED} --test acc --level sys"))["tests"]
    assert "|left-out:1|" in test["signature"]
    means = {"judge": 1.0, "BLEU": pytest.approx(5 / 6)}  # 2 / 6 with the segment that the judge did not score
    assert {row["name"]: row["value"] for row in test["ranked"]} == means
    (test,) = data(contest(f"{FOLDER} --level sys --test acc"))["tests"]
    assert {row["name"].removesuffix("-src"): row["value"] for row in test["ranked"]} == means
    for name, values in (("judge-src", (4, 3, 2, 1)), ("BLEU-src", (1, 2, 3, 4))):
        lines = (f"{system}\t{value}" for system, value in zip("ABCD", values, strict=True))
        contest.write(f"set/metric-scores/en-de/{name}.sys.score", *lines)
    (test,) = data(contest(f"{FOLDER} --level sys --test acc"))["tests"]
    given = {row["name"]: row["value"] for row in test["ranked"]}
    assert given == {"judge-src": pytest.approx(4 / 6), "BLEU-src": pytest.approx(2 / 6)}


def test_what_one_evaluator_lacks_is_left_out_of_the_test_of_all(contest: Shell) -> None:
    result = data(contest(f"{TESTED} --test spearman --average none"))
    assert (result["tests"][0]["scores"], "|left-out:1|" in result["tests"][0]["signature"]) == (11, True)
    judge = next(row for row in result["levels"] if (row["evaluator"], row["level"]) == ("judge", "seg"))
    assert judge["statistics"]["pearson"]["missing"] == {"evaluator": 1, "human": 0, "both": 0, "absent": 0}


def test_evaluators_without_scores_of_segments_are_left_out_of_tests(contest: Shell) -> None:
    nothing = [f"{system}\tNone" for system in "AAABBBCCCDDD"]
    contest.write("set/metric-scores/en-de/judge-src.seg.score", *nothing)
    (test,) = data(contest(f"{FOLDER} --average none --test pearson"))["tests"]
    assert ([row["name"] for row in test["ranked"]], test["left_out"]) == (["BLEU-src"], ["judge-src"])
    for path in ("metric-scores/en-de/judge-src", "human-scores/en-de.mqm"):
        contest.write(f"set/{path}.sys.score", *(f"{system}\t{n}" for n, system in enumerate("ABCD")))
    (judge,) = data(contest(f"{FOLDER} --level sys --metrics judge"))["levels"]
    spa = judge["statistics"]["spa"]
    assert (spa["value"], spa["epsilon"], spa["undefined"]) == (None, None, "there are no scores of segments")
    contest.write("set/metric-scores/en-de/BLEU-src.seg.score", *nothing)
    done = contest(f"{FOLDER} --test pearson")
    assert (done.code, "no segments have scores of both an evaluator and people" in done.err) == (1, True)


def test_who_must_wait_is_told(shell: Shell) -> None:
    rows = [f"{s}\t{n}\t{-n % 7}\t{n % 5}\t{n % 3}" for s in "AB" for n in range(1001)]
    shell.write("s.tsv", "system\tid\tmqm\tone\ttwo", *rows)
    line = f"{SCORED} --level seg --test acc-t --permutations 20"
    assert "takes minutes for each pair of evaluators" in shell(f"{line} --average none").err
    assert shell(f"{line} --average item").err == ""


# --- warnings


def test_doubtful_numbers_are_warned_of(scored: Shell) -> None:
    changed(scored, "good", lambda row: str(-int(row[5])))
    changed(scored, "constant", lambda row: row[5])
    out = scored(f"{SCORED} --drop-systems D,E").out
    assert "warning: level of systems: there are 3, and below 5 its statistics mean little" in out
    assert "warning: constant: its scores are people's own (mqm), every one" in out
    turned = "warning: good: correlates negatively; if its lower scores are the better ones, say --lower good"
    assert (turned in out, "constant: correlates" in out) == (True, False)
    assert "good: corr" not in scored(f"{SCORED} --drop-systems D,E --lower good").out
    people = scored(f"{SCORED} --metrics good").out
    assert "all correlate negatively; if people's lower scores are the better ones, say --lower mqm" in people
    assert numbers(scored(f"{SCORED} --metrics good -f json --lower mqm")) == numbers(
        scored(f"{SCORED} --metrics good -f json --lower good")
    )


def test_an_evaluator_that_correlates_negatively_anywhere_is_warned_of(shell: Shell) -> None:
    """With the scores of all segments together negatively, by segment positively."""
    shell.write("s.tsv", "system\tid\tmqm\tX", "A\t0\t0\t0", "B\t0\t1\t1", "A\t1\t-9\t9", "B\t1\t-8\t10")
    assert "warning: X: correlates negatively" in shell(f"{SCORED} --level seg").out


@pytest.mark.parametrize(
    ("systems", "given", "warnings"),
    [
        ("ABC", True, []),
        ("ABC", False, ["different segments: 1 to 2"]),
        (("A", "B", "refA"), True, ["saw the reference"]),
    ],
)
def test_given_scores_and_references_of_a_folder(systems: Any, given: bool, warnings: list[str], shell: Shell) -> None:
    for side, values in (("human-scores/en-de.mqm", "012345"), ("metric-scores/en-de/judge-refA", "01-345")):
        (shell.folder / "set" / side).parent.mkdir(parents=True, exist_ok=True)
        scores = ["None" if value == "-" else value for value in values]
        segments = (f"{systems[place // 2]}\t{value}" for place, value in enumerate(scores))
        shell.write(f"set/{side}.seg.score", *segments)
        if given:
            shell.write(f"set/{side}.sys.score", *(f"{system}\t{n}" for n, system in enumerate(systems)))
    out = shell("meta-eval --mtme set --human mqm --missing leave-out").out
    for warning in ("different segments: 1 to 2", "saw the reference"):
        assert (warning in out) == (warning in warnings)


# --- usage


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--human mqm", 2, "give scores with -e, --run or --mtme"),
        ("-e s.tsv --human mqm --level doc", 1, "--level: expected one of sys, seg, span, not 'doc'"),
        ("-e s.tsv --human mqm --average domain", 1, "--average: expected one of none, item, system"),
        (
            "-e s.tsv --human mqm --test spa",
            1,
            "--test: expected one of acc, sys-pearson, sys-spearman, sys-kendall, pearson, spearman",
        ),
        (
            "-e s.tsv --human mqm --by system",
            1,
            "--by: expected one of domain, length, document, severity, category",
        ),
        ("-e s.tsv --human mqm --force", 2, "--force needs -o DIR"),
        ("-e s.tsv --human mqm --resamples 9", 2, "--resamples needs --resample segment or document"),
        ("-e s.tsv --human mqm --level span", 2, "--level span: needs an evaluator and people who both marked errors"),
        ("-e s.tsv --human mqm --by severity", 2, "--by severity: needs an evaluator and people who both"),
        ("-e s.tsv --human mqm --level seg --by severity", 2, "--by severity: groups error spans; add --level span"),
        ("-e s.tsv --human mqm --level span --by domain", 2, "--by domain: groups segments; add --level sys or seg"),
        ("-e s.tsv --human mqm --metrics good --test pearson", 1, "--test compares evaluators with each other: give"),
        ("-e s.tsv --human mqm --by document", 1, "--by document: no file has a column with the document of segments"),
        ("-e bare.tsv --human mqm --by length", 1, "--by length: no file has the source of segment '0'"),
        ("-e s.tsv --human mqm -o full", 1, "full: is not empty; --force writes into it"),
        ("-e lost.tsv --human mqm -o full", 1, "full: is not empty"),  # before anything is read
        ("-e bare.tsv --human mqm -o new", 1, "new: no file has the language pair; name one with -l, e.g. -l en-de"),
        ("-e two.tsv --human mqm -o new", 1, "new: the scores are of 2 language pairs; name one with -l"),
    ],
)
def test_wrong_usage(scored: Shell, line: str, code: int, message: str) -> None:
    (scored.folder / "full").mkdir()
    scored.write("full/own.txt", "mine")
    scored.write("bare.tsv", "system\tid\tmqm\tX", "A\t0\t0\t1", "A\t1\t1\t2")
    scored.write("two.tsv", "system\tid\tmqm\tX\tlp", "A\t0\t0\t1\ten-de", "A\t1\t1\t2\ten-cs")
    done = scored(f"meta-eval {line}")
    assert (done.code, done.out, message in done.err) == (code, "", True), done.err


# --- from `mtagent rate` to the tables, with spans


def annotated(rating: dict[str, Any], *, free: bool) -> dict[str, Any]:
    """What a person says about a rated translation: its last word is wrong, or nothing is."""
    text = rating["translation"]
    span = {"text": text[-4:], "start": len(text) - 4, "end": len(text), "category": "style", "severity": "minor"}
    own = {"evaluator": "people", "score": 0 if free else -1, "errors": [] if free else [span], "signature": "people|1"}
    return {**rating, **own}


@pytest.fixture
def rated(shell: Shell) -> Shell:
    """The shell with ratings of two systems by rules, in a file and a run, and people's."""
    shell.write("de.txt", *SOURCES)
    shell.write("good.txt", *GOOD)
    shell.write("bad.txt", "Die Katze  saß hier", *SOURCES[1:])
    done = shell("rate -s de.txt -t good.txt bad.txt -l en-de --evaluator rules -q -o r.jsonl --name stored")
    assert done.code == 0
    people = [annotated(json.loads(line), free="good" in line) for line in shell.read("r.jsonl")]
    shell.write("people.jsonl", *map(json.dumps, people))
    return shell


RATED = "meta-eval -e r.jsonl --human people.jsonl"


def test_from_ratings_to_all_three_levels(rated: Shell) -> None:
    done = rated(f"{RATED} --by severity")
    assert done.code == 0
    assert table(done.out, "level of systems")[1][:3] == ["rules", "2", "1.000"]
    spans = table(done.out, "level of error spans")
    assert spans[0][:6] == ["measure", "evaluator", "precision", "recall", "F1", "macro F1"]
    assert [row[0] for row in spans[1:]] == ["characters", "partial overlap", "match at 0.5"]
    assert spans[1][7] == "12"  # characters that people marked
    thresholds = table(done.out, "level of error spans: F1 of matches by threshold")[0]
    assert thresholds == ["evaluator", *(f"0.{tenth}" for tenth in range(1, 10))]
    severities = table(done.out, "level of error spans: characters by severity")
    assert [row[:2] for row in severities[1:]] == [["minor", "rules"], ["major", "rules"]]
    assert "\nchar-f1|credit:0.5|severities:minor,major,critical|unlocated:miss|" in done.out
    assert rated("meta-eval --run stored --human people.jsonl --by severity").out == done.out
    alone = rated(f"{RATED} --level span --outside segment --unlocated locate").out
    assert (alone.startswith("level of error spans"), "|unlocated:locate|outside:segment|" in alone) == (True, True)
    assert "error spans" not in rated(f"{RATED} --level seg").out


def test_a_translation_that_nobody_annotated_is_refused_or_left_out_of_the_level_of_spans(rated: Shell) -> None:
    people = [json.loads(line) for line in rated.read("people.jsonl")]
    rated.write("people.jsonl", *map(json.dumps, [people[0] | {"errors": None}, *people[1:]]))
    done = rated(RATED)
    assert (done.code, done.out) == (1, "")
    assert "people.jsonl:1: no errors of people for segment '1' of system 'good' (null, or None); [] says" in done.err
    rated.write("r.jsonl", *rated.read("r.jsonl")[:-1])
    measure = data(rated(f"{RATED} --missing leave-out -f json"))["spans"]["measures"][0]
    assert (measure["segments"], measure["segments_left_out"]) == (4, {"gold": 1, "predicted": 1, "both": 0})


def test_copied_annotations_are_warned_of_and_nothing_marked_is_no_copy(rated: Shell) -> None:
    people = [json.loads(line) for line in rated.read("people.jsonl")]
    rated.write("again.jsonl", *(json.dumps(row | {"score": -n}) for n, row in enumerate(people)))
    out = rated("meta-eval -e again=again.jsonl --human people.jsonl").out
    assert "warning: again: its error spans are people's own (people), every one" in out
    for name, sign in (("again.jsonl", 1), ("none.jsonl", -1)):
        rated.write(name, *(json.dumps(row | {"score": sign * n, "errors": []}) for n, row in enumerate(people)))
    assert "people's own" not in rated("meta-eval -e again=again.jsonl --human none.jsonl").out


TEXT = "Die Bank zahlt"


def marked(shell: Shell, ours: Any, theirs: Any, **more: Any) -> None:
    row = {"id": "1", "system": "A", "score": -1, "translation": TEXT}
    shell.write("r.jsonl", json.dumps({**row, "evaluator": "X", "errors": ours} | more))
    shell.write("people.jsonl", json.dumps({**row, "evaluator": "people", "errors": theirs}))


PLACED = {"text": "", "start": 0, "end": 3, "category": "style", "severity": "minor"}
INVENTED = {"text": "Geld", "category": "style", "severity": "minor"}
LOST = {"text": "lost", "category": "accuracy/omission", "severity": "major", "side": "omission"}


def test_an_invented_span_counts_and_an_omission_may_be_one_of_the_source(shell: Shell) -> None:
    marked(shell, [PLACED, INVENTED], [PLACED])
    measures = data(shell(f"{RATED} --level span -f json"))["spans"]["measures"]
    assert [row["precision"] for row in measures] == [3 / 7, 1 / 2, 1 / 2]
    marked(shell, [LOST], [LOST], source="the lost word")  # which only one side knows
    characters = data(shell(f"{RATED} --level span --outside source -f json"))["spans"]["measures"][0]
    assert (characters["right"], characters["gold"]) == (4, 4)


@pytest.mark.parametrize("lacking", ["errors", "translation"])
def test_the_level_of_spans_needs_errors_and_texts_of_both(lacking: str, shell: Shell) -> None:
    marked(shell, [PLACED], [PLACED])
    for name in ("people.jsonl", "r.jsonl") if lacking == "translation" else ("people.jsonl",):
        shell.write(name, json.dumps(json.loads(shell.read(name)[0]) | {lacking: None}))
    done = shell(RATED)
    assert (done.code, "level of segments" in done.out, "spans" in done.out) == (0, True, False)
    assert shell(f"{RATED} --level span").code == 2


def test_a_translation_that_no_file_has_is_named(shell: Shell) -> None:
    for name, evaluator in (("r.jsonl", "X"), ("people.jsonl", "people")):
        row = {"system": "A", "score": -1, "evaluator": evaluator, "errors": [PLACED]}
        shell.write(name, *(json.dumps(row | more) for more in ({"id": "1", "translation": TEXT}, {"id": "2"})))
    done = shell(RATED)
    assert (done.code, "r.jsonl:2: error spans are located in the translation, which neither this" in done.err) == (
        1,
        True,
    )


# --- written as a folder of mt-metrics-eval, and read back


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_written_as_a_folder_gives_the_same_numbers(rated: Shell) -> None:
    done = rated(f"{RATED} --by length -f json -o set")
    assert done.err == "mtagent: written: set\n"
    names = ["documents/en-de.docs", "sources/en-de.txt"]
    names += [f"human-scores/en-de.people.{end}" for end in ("seg.rating", "seg.score", "sys.score")]
    names += [f"metric-scores/en-de/rules-src.{end}" for end in ("seg.rating", "seg.score", "sys.score")]
    names += [f"system-outputs/en-de/{name}.txt" for name in ("bad", "good")]
    assert sorted(contents(rated.folder / "set")) == sorted(names)
    back = rated("meta-eval --mtme set --by length -f json -o set2")
    assert numbers(back) == numbers(done)
    assert contents(rated.folder / "set2") == contents(rated.folder / "set")


def test_missing_and_given_scores_are_written_and_read_back(scored: Shell) -> None:
    rows = (f"{system}\t{-n}\t{n * n}\t{n}" for n, system in enumerate("ABCDE"))
    scored.write("sys.tsv", "system\tmqm\tgood\tconstant", *rows)
    done = scored(f"{SCORED} --system-scores sys.tsv -f json -o given")
    assert data(done)["levels"][0]["given"]
    assert numbers(scored("meta-eval --mtme given -f json")) == numbers(done)
    changed(scored, "mqm", "None", 4)
    done = scored(f"{SCORED} --missing leave-out -f json -o set")
    assert "mtagent: sources, translations and documents are not written: not all are known" in done.err
    assert scored.read("set/human-scores/en-de.mqm.seg.score")[3] == "B\tNone"
    assert scored.read("set/human-scores/en-de.mqm.sys.score")[1] == "B\tNone"
    assert numbers(scored("meta-eval --mtme set --missing leave-out -f json")) == numbers(done)


def test_people_s_scores_of_all_systems_are_written(shell: Shell) -> None:
    shell.write("gold.tsv", "system\tid\tmqm", *(f"{system}\ta\t-1" for system in "ABC"))
    for name, systems in (("x", "BC"), ("y", "AB")):
        shell.write(f"{name}.tsv", f"system\tid\t{name}", *(f"{system}\ta\t5" for system in systems))
    shell("meta-eval -e x.tsv y.tsv --human gold.tsv --missing leave-out -l en-de -o set")
    assert sorted(shell.read("set/human-scores/en-de.mqm.seg.score")) == ["A\t-1.0", "B\t-1.0", "C\t-1.0"]


def test_names_that_have_to_change_are_told_and_references_and_omissions_stay(shell: Shell) -> None:
    omission = {"text": "bank", "start": 4, "end": 8, "category": "accuracy/omission", "severity": "major"}
    row = {"system": "a/b.c", "score": -1, "translation": TEXT, "source": "The bank pays", "lp": "en-de"}
    lines = [row | {"id": n, "document": document} for n, document in (("1", "d"), ("2", "e"), ("3", "d"))]
    people = {"evaluator": "people", "errors": [omission | {"side": "omission"}]}
    shell.write("r.jsonl", *(json.dumps(line | {"evaluator": "COMET-refA"}) for line in lines))
    shell.write("people.jsonl", *(json.dumps(line | people) for line in lines))
    done = shell(f"{RATED} -o set")
    assert done.err.count("a/b.c is a_b_c") == 1
    assert "en-de: documents renamed, to be in one piece and without spaces: 1 (d is d_2)" in done.err
    assert "set/metric-scores/en-de/COMET-refA.seg.score" in {f"set/{name}" for name in contents(shell.folder / "set")}
    rating = shell.read("set/human-scores/en-de.people.seg.rating")[0]
    assert ('"start": 4, "end": 8' in rating, '"is_source_error": true' in rating) == (True, True)
    shell("meta-eval --mtme set -o copy")
    assert shell.read("copy/human-scores/en-de.people.seg.rating")[0] == rating


def test_what_is_older_is_not_left_beside_new_scores(rated: Shell) -> None:
    common = "--human people.jsonl -l en-de -o set --force"
    assert rated(f"meta-eval -e r.jsonl {common}").code == 0
    bare = {"errors": None, "translation": None, "source": None, "document": None}
    rated.write("bare.jsonl", *(json.dumps(json.loads(line) | bare) for line in rated.read("r.jsonl")))
    rated.write("people.jsonl", *(json.dumps(json.loads(line) | bare) for line in rated.read("people.jsonl")))
    rated.write("set/own.txt", "mine")
    before = contents(rated.folder / "set")
    older = ["metric-scores/en-de/rules-src.seg.rating", "human-scores/en-de.people.seg.rating", "sources/en-de.txt"]
    older += ["documents/en-de.docs", "system-outputs/en-de/good.txt", "system-outputs/en-de/bad.txt"]
    while older:
        done = rated(f"meta-eval -e rules=bare.jsonl {common}")
        (lost,) = [
            name
            for name in older
            if f"set/{name}: is from an earlier export, and would be read with the new" in done.err
        ]
        assert contents(rated.folder / "set") == before
        older.remove(lost)
        del before[lost]
        (rated.folder / "set" / lost).unlink()
    assert rated(f"meta-eval -e rules=bare.jsonl {common}").code == 0
    assert rated.read("set/own.txt") == ["mine"]


# --- standard input


@pytest.mark.slow
def test_scores_are_read_from_standard_input(tmp_path: Path) -> None:
    text = "system\tid\tmqm\tjudge\n" + "".join(f"{s}\t{n}\t{-n}\t{n * n}\n" for s in "AB" for n in range(4))
    (tmp_path / "s.tsv").write_text(text, encoding="utf-8")
    common = ("--human", "mqm", "-f", "json", "--level", "seg")
    given, piped = (
        run(tmp_path, "meta-eval", "-e", name, *common, stdin=stdin) for name, stdin in (("s.tsv", ""), ("-", text))
    )
    assert numbers(piped) == numbers(given)
    wrong = run(tmp_path, "meta-eval", "-e", "-", "--human", "mqm", stdin=text.replace("9\n", "x\n"))
    assert (wrong.code, "standard input:5: 'judge' must be a number, not 'x'" in wrong.err) == (1, True)
    twice = run(tmp_path, "meta-eval", "-e", "-", "--human", "-", stdin=text)
    assert (twice.code, "only one of the files can be standard input" in twice.err) == (1, True)


# --- what the page shows


PAGE = (ROOT / "docs" / "reference" / "meta-eval.md").read_text(encoding="utf-8")
EXPERIMENTS = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")


def typed(page: str) -> list[tuple[str, str]]:
    """The commands of a page's transcripts, each with the output that the page shows."""
    transcripts = []
    for block in re.findall(r"```console\n(\$ .*?)```", page, re.DOTALL):
        transcripts += re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
    return transcripts


def test_the_transcripts_on_the_page_are_true(shell: Shell) -> None:
    transcripts = typed(PAGE)
    assert len(transcripts) == 5
    for command, output in transcripts:
        if command.startswith("cat "):
            shell.write(command.split()[1], *output.splitlines())
            continue
        done = run(shell.folder, *command.removeprefix("mtagent ").split())
        assert (done.out.rstrip(), done.code) == (output.rstrip(), 0), done.err


@pytest.mark.data
@pytest.mark.slow
def test_the_transcripts_on_real_data_are_true(shell: Shell, data: Path) -> None:
    ((command, output),) = [transcript for transcript in typed(EXPERIMENTS) if "wmt23" in transcript[0]]
    for level in ("seg", "sys"):
        name = f"wmt23_en-de_{level}_scores.tsv"
        (shell.folder / name).symlink_to(data / name)
    assert shell(command.removeprefix("mtagent ")).out.rstrip() == output.rstrip()


@pytest.mark.data
def test_published_files_are_read_as_they_are(shell: Shell, data: Path) -> None:
    """The figures of RATE (Table 3) and of HiMATE (Table 1, BLEU), from the authors' files without any preparation."""
    done = shell(f"meta-eval -e {data / 'ment_zh-en.jsonl'} --human human --average none")
    (systems, segments) = (
        table(done.out, name)[1] for name in ("level of systems", "level of segments, all scores together")
    )
    assert [systems[2], systems[4], systems[5]] == ["0.978", "0.993", "0.997"]
    assert [segments[5], segments[2], segments[3]] == ["0.619", "0.745", "0.664"]
    assert "read human = scores by system, rate = scores by system, hyp = translations by system" in done.err
    himate = data / "wmt22_zh-en_HuaweiTSC.jsonl"
    done = shell(f"meta-eval -e {himate} --human mqm --metrics BLEU-refA --distance minmax -w 4")
    _, row = table(done.out, "level of segments, all scores together")
    assert row[-2:] == ["0.6850", "0.5065"]
    assert [round(float(row[place]), 3) for place in (4, 3)] == [0.172, 0.233]
    esa = data / "esa24_spans.jsonl"
    lines = [json.loads(line) for line in esa.read_text(encoding="utf-8").split("\n") if line]
    shell.write("judge.jsonl", *(json.dumps(line | {"judge": line.pop("esa")}) for line in lines))
    line = f"meta-eval -e judge.jsonl --human esa={esa} --item lp,doc,seg,rater --missing leave-out --average none"
    result = json.loads(shell(f"{line} -f json").out)
    assert sorted(result["pairs"]) == ["en-cs", "en-hi", "en-ja", "en-zh"]
    for evaluation in result["pairs"].values():
        assert {measure["f1"] for measure in evaluation["spans"]["measures"]} == {1.0}
        assert "judge: its scores are people's own (esa), every one" in evaluation["warnings"]


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "meta-eval.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1.0 pearson|level:seg|")


def test_every_option_of_the_command_is_on_the_page(shell: Shell) -> None:
    known = {"--help", "--store", "--config", "--width", "--scores", "--output", "--format", "--lp", "--seed"}
    options = set(re.findall(r"--[a-z-]+", shell("meta-eval -h").out.split("Examples:")[0])) - known
    assert sorted(name for name in options if name not in PAGE) == []
