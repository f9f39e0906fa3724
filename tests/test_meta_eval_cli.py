"""``mtagent meta-eval`` as a user meets it: from ratings and people's scores to tables, and back from folders."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.agreement import (
    Row,
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
SYSTEMS = "ABCDE"


@pytest.fixture
def scored(shell: Shell) -> Shell:
    """The shell with five systems, three segments, two evaluators and people."""
    lines = ["system\tid\tdomain\tlp\tsource\tmqm\tgood\tconstant"]
    for place, system in enumerate(SYSTEMS):
        for item, source in enumerate(SOURCES):
            human = -((place * 3 + item * 2) % 7)
            domain = "news" if item else "talk"
            lines.append(f"{system}\t{item}\t{domain}\ten-de\t{source}\t{human}\t{human + place % 2 + 90}\t1")
    shell.write("s.tsv", *lines)
    return shell


def table(out: str, title: str) -> list[list[str]]:
    """The cells of the table under ``title``."""
    lines = out.split(f"{title}:\n", 1)[1].splitlines()
    body = lines[: next((i for i, line in enumerate(lines) if not line or line.startswith("(")), len(lines))]
    return [re.split(r"  +", line) for line in body]


def scores_in(shell: Shell, evaluator: str) -> list[Row]:
    head, *rows = (line.split("\t") for line in shell.read("s.tsv"))
    found = (dict(zip(head, row, strict=True)) for row in rows)
    return [Row(one["system"], one["id"], float(one[evaluator]), float(one["mqm"])) for one in found]


# --- tables


def test_the_tables_hold_the_statistics_of_the_library(scored: Shell) -> None:
    done = scored("meta-eval -e s.tsv --human mqm --metrics good")
    assert (done.code, done.err) == (0, "")
    own = paired(scores_in(scored, "good"))
    systems = system_level(own)
    found = [accuracy(systems), soft_pairwise_accuracy(own), pearson(systems), spearman(systems), kendall(systems)]
    assert table(done.out, "level of systems") == [
        ["evaluator", "scores", "Acc", "SPA", "Pearson", "Spearman", "Kendall"],
        ["good", "5", *(f"{one.value:.3f}" for one in found)],
    ]
    for averaging, words in (("none", "all scores together"), ("item", "averaged by item")):
        tied = calibrated_accuracy(own, averaging)  # type: ignore[arg-type]
        values = [*(one(own, averaging).value for one in (pearson, spearman, kendall)), tied.value]  # type: ignore[arg-type]
        assert table(done.out, f"level of segments, {words}") == [
            ["evaluator", "scores", "Pearson", "Spearman", "Kendall", "Acc-t", "ε"],
            ["good", "15", *(f"{value:.3f}" for value in values), f"{tied.epsilon:.3g}"],
        ]
    assert f"\n{tied.signature}" in done.out
    assert "\npeople: mqm: file:s.tsv|column:mqm|sha256:" in done.out
    assert "\ngood: file:s.tsv|column:good|sha256:" in done.out


def test_what_is_not_defined_is_a_dash_with_its_reason(scored: Shell) -> None:
    done = scored("meta-eval -e s.tsv --human mqm --average none")
    assert table(done.out, "level of systems")[2][1:3] == ["5", "0.000"]
    assert table(done.out, "level of segments, all scores together")[2][:5] == ["constant", "15", "–", "–", "–"]
    reason = "no Pearson, Spearman, Kendall: the scores of the evaluator or of people are all equal"
    assert f"\n– constant, level of segments, all scores together: {reason}\n" in done.out


def test_missing_scores_that_are_left_out_are_counted(scored: Shell) -> None:
    text = (scored.folder / "s.tsv").read_text(encoding="utf-8")
    (scored.folder / "s.tsv").write_text(re.sub(r"(B\t1\t.*)\t\d+\t1\n", r"\1\tNone\t1\n", text), encoding="utf-8")
    done = scored("meta-eval -e s.tsv --human mqm --average none")
    assert (done.code, done.out) == (1, "")
    assert "s.tsv:6: the score of segment '1' of system 'B' by good is missing; --missing leave-out" in done.err
    done = scored("meta-eval -e s.tsv --human mqm --average none --missing leave-out")
    rows = table(done.out, "level of segments, all scores together")
    assert [row[:3] for row in rows] == [
        ["evaluator", "scores", "left out"],
        ["good", "14", "1"],
        ["constant", "15", "0"],
    ]
    assert "pearson|level:seg|avg:none|left-out:1|" in done.out


def test_errors_plain_and_scaled(scored: Shell) -> None:
    plain = table(
        scored("meta-eval -e s.tsv --human mqm --distance plain").out, "level of segments, all scores together"
    )
    assert plain[0][-2:] == ["MAE", "MSE"]
    assert plain[1][-2:] == ["90.400", "8172.400"]
    scaled = scored("meta-eval -e s.tsv --human mqm --distance minmax")
    assert float(table(scaled.out, "level of segments, all scores together")[1][-2]) < 0.2
    assert "mae|level:seg|scale:minmax|" in scaled.out


def test_scores_by_domain_and_length(scored: Shell) -> None:
    done = scored("meta-eval -e s.tsv --human mqm --metrics good --by domain,length --average none")
    domains = table(done.out, "by domain: level of segments, all scores together")
    assert [row[:3] for row in domains] == [
        ["domain", "evaluator", "scores"],
        ["talk", "good", "5"],
        ["news", "good", "10"],
    ]
    news = paired(row for row in scores_in(scored, "good") if row.item != "0")
    assert domains[2][3] == f"{pearson(news).value:.3f}"
    systems = table(done.out, "by domain: level of systems")
    assert systems[2][3] == f"{accuracy(system_level(news)).value:.3f}"
    lengths = table(done.out, "by length: level of segments, all scores together")
    assert [row[:3] for row in lengths[1:]] == [["0–10 words", "good", "10"], ["11–20 words", "good", "5"]]


def test_markdown_latex_and_json(scored: Shell) -> None:
    line = "meta-eval -e s.tsv --human mqm --average none"
    markdown = scored(f"{line} -f markdown").out
    assert markdown.startswith("### Level of systems\n\n| evaluator | scores | Acc |")
    assert "\n- `acc|level:sys|avg:none|eps:0|" in markdown
    latex = scored(f"{line} -f latex").out
    assert latex.count(r"\begin{tabular}{lrrrrrr}") == 2
    assert "\n% people: mqm: " in latex
    found = json.loads(scored(f"{line} -f json").out)
    assert found["human"]["name"] == "mqm"
    assert [one["name"] for one in found["evaluators"]] == ["good", "constant"]
    first, second, *_ = found["levels"]
    assert (first["level"], second["evaluator"]) == ("sys", "constant")
    assert second["statistics"]["pearson"]["value"] is None
    exact = accuracy(system_level(paired(scores_in(scored, "good")))).value
    assert first["statistics"]["acc"]["value"] == exact


# --- tests between evaluators


def test_evaluators_are_tested_and_ranked(scored: Shell) -> None:
    done = scored("meta-eval -e s.tsv --human mqm --test pearson,acc-t --average none --permutations 50")
    rows = table(done.out, "test by Acc-t: level of segments, all scores together")
    assert rows[0] == ["evaluator", "rank", "Acc-t", "p(2)"]
    assert [row[:2] for row in rows[1:]] == [["good", "1"], ["constant", "2"]]
    assert "50 permutations of 15 scores that all have" in done.out
    assert "acc-t|level:seg|avg:none|perm:50|unit:score|seed:12345|" in done.out
    assert "; not defined for constant)" in done.out  # of Pearson
    found = json.loads(scored("meta-eval -e s.tsv --human mqm --test acc --permutations 50 -f json").out)
    (test,) = found["tests"]
    assert (test["level"], test["ranked"][0]["name"], test["scores"]) == ("sys", "good", 5)
    assert 0 <= test["p_values"][0]["p_value"] <= 1


def test_the_same_seed_gives_the_same_p_values(scored: Shell) -> None:
    line = "meta-eval -e s.tsv --human mqm --test acc-t --permutations 30 --seed"
    assert scored(f"{line} 1").out == scored(f"{line} 1").out


def test_evaluators_are_tested_on_what_all_of_them_rated(scored: Shell) -> None:
    head, *rows = scored.read("s.tsv")
    scored.write("s.tsv", head, rows[0].rpartition("\t")[0] + "\tNone", *rows[1:])
    done = scored("meta-eval -e s.tsv --human mqm --missing leave-out --test acc-t --permutations 20 --average none")
    assert "20 permutations of 14 scores that all have" in done.out


# --- warnings


def test_doubtful_numbers_are_warned_of(scored: Shell) -> None:
    rows = [line.split("\t") for line in scored.read("s.tsv")]
    lines = ["\t".join([*row[:6], row[5] if n == 0 else str(-int(row[5])), row[5]]) for n, row in enumerate(rows)]
    lines[0] = "\t".join([*rows[0][:6], "turned", "copy"])
    scored.write("s.tsv", *lines)
    done = scored("meta-eval -e s.tsv --human mqm --drop-systems D,E")
    assert "warning: level of systems: there are 3, and below 5 its statistics mean little" in done.out
    assert "warning: copy: its scores are people's own (mqm), every one" in done.out
    assert (
        "warning: turned: correlates negatively; if its lower scores are the better ones, say --lower turned"
        in done.out
    )
    assert "copy: correlates" not in done.out
    assert "turned: corr" not in scored("meta-eval -e s.tsv --human mqm --drop-systems D,E --lower turned").out


def test_means_over_different_segments_are_warned_of(scored: Shell) -> None:
    head, *rows = scored.read("s.tsv")
    scored.write("s.tsv", head, rows[0].rpartition("\t")[0] + "\tNone", *rows[1:])
    done = scored("meta-eval -e s.tsv --human mqm --missing leave-out")
    told = "the means of systems are about different segments: 2 to 3 of each have both scores (left out: 1)"
    assert f"warning: constant: {told}" in done.out
    assert "warning: good: the means" not in done.out


def test_several_language_pairs_are_warned_of(scored: Shell) -> None:
    scored.write(
        "s.tsv", *(line.replace("en-de", "en-cs") if "\t0\t" in line else line for line in scored.read("s.tsv"))
    )
    shared = scored("meta-eval -e s.tsv --human mqm")
    assert (shared.code, "is one of en-de and en-cs: take one language pair with -l" in shared.err) == (1, True)
    assert (
        "scores of 2 language pairs (en-cs, en-de) are compared with each other"
        in scored("meta-eval -e s.tsv --human mqm --item lp,id --missing leave-out").out
    )
    assert "language pairs" not in scored("meta-eval -e s.tsv --human mqm -l en-de").out


# --- usage


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--human mqm", "give scores with -e, --run or --mtme"),
        ("-e s.tsv --human mqm --level doc", "--level doc: there are sys, seg, span"),
        ("-e s.tsv --human mqm --average domain", "--average domain: there are none, item, system"),
        ("-e s.tsv --human mqm --test spa", "--test spa: there are acc, pearson, spearman, kendall, acc-t"),
        ("-e s.tsv --human mqm --by system", "--by system: there are domain, length, document, severity, category"),
        ("-e s.tsv --human mqm --force", "--force is for -o DIR"),
        ("-e s.tsv --human mqm --level span", "no evaluator and people have both marked errors"),
        ("-e s.tsv --human mqm --by severity", "--by severity: groups error spans, and there are none on both sides"),
        ("-e s.tsv --human mqm --level seg --by severity", "--by severity: groups error spans; add --level span"),
        ("-e s.tsv --human mqm --level span --by domain", "--by domain: is for the levels of systems and segments"),
    ],
)
def test_wrong_usage(scored: Shell, line: str, message: str) -> None:
    done = scored(f"meta-eval {line}")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--metrics good --test pearson", "--test compares evaluators with each other: give at least two"),
        ("--by document", "--by document: no file says the document of a segment"),
    ],
)
def test_what_cannot_be_done_is_said(scored: Shell, line: str, message: str) -> None:
    done = scored(f"meta-eval -e s.tsv --human mqm {line}")
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_by_length_needs_sources(scored: Shell) -> None:
    scored.write("s.tsv", *("\t".join([*line.split("\t")[:4], *line.split("\t")[5:]]) for line in scored.read("s.tsv")))
    assert (
        "--by length: no file has the source of segment '0'" in scored("meta-eval -e s.tsv --human mqm --by length").err
    )


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


def test_from_ratings_to_all_three_levels(rated: Shell) -> None:
    done = rated("meta-eval -e r.jsonl --human people.jsonl --by severity")
    assert done.code == 0
    assert table(done.out, "level of systems")[1][:3] == ["rules", "2", "1.000"]
    spans = table(done.out, "level of error spans")
    assert spans[0][:6] == ["measure", "evaluator", "precision", "recall", "F1", "macro F1"]
    assert [row[0] for row in spans[1:]] == ["characters", "partial overlap", "match at 0.5"]
    assert spans[1][7] == "12"  # characters that people marked
    assert table(done.out, "level of error spans: F1 of matches by threshold")[0] == [
        "evaluator", *(f"0.{tenth}" for tenth in range(1, 10))
    ]  # fmt: skip
    severities = table(done.out, "level of error spans: characters by severity")
    assert [row[:2] for row in severities[1:]] == [["minor", "rules"], ["major", "rules"]]
    assert "\nchar-f1|credit:0.5|severities:minor,major,critical|unlocated:miss|" in done.out
    stored = rated("meta-eval --run stored --human people.jsonl --by severity")
    assert stored.out == done.out


def test_a_level_can_be_chosen(rated: Shell) -> None:
    out = rated("meta-eval -e r.jsonl --human people.jsonl --level seg").out
    assert "level of systems" not in out
    assert "level of error spans" not in out
    assert out.startswith("level of segments")
    assert rated("meta-eval -e r.jsonl --human people.jsonl --level span").out.startswith("level of error spans")


def test_settings_of_spans_and_tests_stand_in_the_signatures(rated: Shell) -> None:
    line = "meta-eval -e r.jsonl again=r.jsonl --human people.jsonl"
    out = rated(f"{line} --outside segment --unlocated locate --test pearson --unit item --permutations 5 --seed 3").out
    assert "|unlocated:locate|outside:segment|" in out
    assert "|perm:5|unit:item|seed:3|" in out


def test_a_translation_that_nobody_annotated_is_refused_at_the_level_of_spans(rated: Shell) -> None:
    people = [json.loads(line) for line in rated.read("people.jsonl")]
    rated.write("people.jsonl", *map(json.dumps, [people[0] | {"errors": None}, *people[1:]]))
    done = rated("meta-eval -e r.jsonl --human people.jsonl")
    assert (done.code, done.out) == (1, "")
    assert "people.jsonl:1: no errors of people for segment '1' of system 'good' (null, or None); [] says" in done.err
    done = rated("meta-eval -e r.jsonl --human people.jsonl --missing leave-out -f json")
    measure = json.loads(done.out)["spans"]["measures"][0]
    assert (measure["segments"], measure["segments_left_out"]["gold"]) == (5, 1)


def test_one_s_own_annotation_is_warned_of(rated: Shell) -> None:
    changed = [json.loads(line) | {"score": -n} for n, line in enumerate(rated.read("people.jsonl"))]
    rated.write("again.jsonl", *map(json.dumps, changed))
    done = rated("meta-eval -e again=again.jsonl --human people.jsonl")
    assert "warning: again: its error spans are people's own (people), every one" in done.out


# --- written as a folder of mt-metrics-eval, and read back


def numbers(done: Done) -> list[Any]:
    """All values of the tables, without names and signatures."""
    assert done.code == 0, done.err
    found = json.loads(done.out)
    levels = [
        [one["level"], one["averaging"], one["part"], *([v["value"], v["scores"]] for v in one["statistics"].values())]
        for one in found["levels"]
    ]
    spans = [[one["f1"], one["gold"], one["segments"]] for one in (found["spans"] or {"measures": []})["measures"]]
    return [*levels, *spans]


def approximately(values: Any) -> Any:
    """The same, with numbers that may differ in their last digit."""
    if isinstance(values, list):
        return [approximately(one) for one in values]
    return pytest.approx(values, abs=1e-12) if isinstance(values, float) else values


def test_what_is_written_as_a_folder_gives_the_same_numbers(rated: Shell) -> None:
    done = rated("meta-eval -e r.jsonl --human people.jsonl --by length -f json -o set")
    assert done.err == "mtagent: written: set\n"
    folder = rated.folder / "set"
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert written == [
        "documents/en-de.docs", "human-scores/en-de.people.seg.rating", "human-scores/en-de.people.seg.score",
        "human-scores/en-de.people.sys.score", "metric-scores/en-de/rules-src.seg.rating",
        "metric-scores/en-de/rules-src.seg.score", "metric-scores/en-de/rules-src.sys.score", "sources/en-de.txt",
        "system-outputs/en-de/bad.txt", "system-outputs/en-de/good.txt",
    ]  # fmt: skip
    back = rated("meta-eval --mtme set --by length -f json")
    assert numbers(back) == approximately(numbers(done))
    again = rated("meta-eval --mtme set --by length -f json -o set2")
    assert numbers(rated("meta-eval --mtme set2 --by length -f json")) == approximately(numbers(again))
    for name in written:
        assert (rated.folder / "set2" / name).read_bytes() == (rated.folder / "set" / name).read_bytes()


def test_missing_scores_are_written_as_none_and_read_back(scored: Shell) -> None:
    head, *rows = scored.read("s.tsv")
    cut = rows[3].split("\t")
    scored.write("s.tsv", head, *rows[:3], "\t".join([*cut[:5], "None", *cut[6:]]), *rows[4:])
    done = scored("meta-eval -e s.tsv --human mqm --missing leave-out -f json -o set")
    assert "mtagent: sources, translations and documents are not written: not all are known" in done.err
    folder = scored.folder / "set/human-scores"
    assert (folder / "en-de.mqm.seg.score").read_text(encoding="utf-8").split("\n")[3] == "B\tNone"
    assert (folder / "en-de.mqm.sys.score").read_text(encoding="utf-8").split("\n")[1] == "B\tNone"
    back = scored("meta-eval --mtme set --missing leave-out -f json --metrics good,constant")
    order = sorted(numbers(done), key=str)
    assert sorted(numbers(back), key=str) == approximately(order)


def test_given_scores_of_systems_are_written_and_read_back(scored: Shell) -> None:
    scored.write("sys.tsv", "system\tmqm\tgood\tconstant", *(f"{s}\t{-n}\t{n * n}\t{n}" for n, s in enumerate(SYSTEMS)))
    done = scored("meta-eval -e s.tsv --human mqm --system-scores sys.tsv -f json -o set")
    assert json.loads(done.out)["levels"][0]["given"]
    back = scored("meta-eval --mtme set -f json")
    assert sorted(numbers(back), key=str) == approximately(sorted(numbers(done), key=str))


def test_a_folder_needs_the_language_pair(scored: Shell) -> None:
    text = (scored.folder / "s.tsv").read_text(encoding="utf-8")
    (scored.folder / "s.tsv").write_text(text.replace("\tlp\t", "\tpair\t"), encoding="utf-8")
    done = scored("meta-eval -e s.tsv --human mqm -o set")
    assert (done.code, done.out) == (1, "")
    assert "set: no file tells the language pair; name one with -l, e.g. -l en-de" in done.err
    assert scored("meta-eval -e s.tsv --human mqm -o set -l en-de").code == 0
    assert (scored.folder / "set/human-scores/en-de.mqm.seg.score").is_file()
    (scored.folder / "s.tsv").write_text(re.sub(r"(\t2\t\w+\t)en-de", r"\1en-cs", text), encoding="utf-8")
    done = scored("meta-eval -e s.tsv --human mqm -o set2")
    assert "set2: the scores are of 2 language pairs; name one with -l" in done.err


def test_a_folder_that_is_not_empty_is_not_written_into(scored: Shell) -> None:
    (scored.folder / "set").mkdir()
    scored.write("set/own.txt", "mine")
    line = "meta-eval -e s.tsv --human mqm -o set"
    assert "set: is not empty; --force writes into it" in scored(line).err
    assert "set: is not empty" in scored("meta-eval -e lost.tsv --human mqm -o set").err  # before anything is read
    assert scored(f"{line} --force").code == 0
    assert scored.read("set/own.txt") == ["mine"]


# --- what the page shows

PAGE = (ROOT / "docs" / "meta-eval.md").read_text(encoding="utf-8")


TRANSCRIPTS = [
    (command, output)
    for block in re.findall(r"```console\n(\$ .*?)```", PAGE, re.DOTALL)
    for command, output in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
]


def test_the_transcripts_on_the_page_are_true(shell: Shell) -> None:
    found = [(command, output) for command, output in TRANSCRIPTS if "wmt23" not in command]
    assert len(found) == 7
    for command, output in found:
        if command.startswith("cat "):
            shell.write(command.split()[1], *output.splitlines())
            continue
        done = run(shell.folder, *command.removeprefix("mtagent ").split())
        assert (done.out.rstrip(), done.code) == (output.rstrip(), 0), done.err


@pytest.mark.data
def test_the_transcripts_on_real_data_are_true(shell: Shell, data: Path) -> None:
    ((command, output),) = [one for one in TRANSCRIPTS if "wmt23" in one[0]]
    for level in ("seg", "sys"):
        name = f"wmt23_en-de_{level}_scores.tsv"
        (shell.folder / name).symlink_to(data / name)
    assert shell(command.removeprefix("mtagent ")).out.rstrip() == output.rstrip()


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "meta-eval.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1.0 pearson|level:seg|")


def test_every_option_of_the_command_is_on_the_page(shell: Shell) -> None:
    known = {"--help", "--store", "--width", "--scores", "--output", "--format", "--lp", "--seed"}
    options = set(re.findall(r"--[a-z-]+", shell("meta-eval -h").out.split("Examples:")[0])) - known
    assert sorted(name for name in options if name not in PAGE) == []


def test_a_stored_run_has_only_its_own_language_pair(rated: Shell) -> None:
    run_name = "mine"
    rated(f"rate -s en.txt -t a=es.txt -l en-es --evaluator rules --name {run_name} -o r.jsonl -q")
    people = [json.dumps({"id": str(n), "system": "a", "score": -n}) for n in (1, 2, 3)]
    rated.write("h.jsonl", *people)
    assert rated(f"meta-eval --run {run_name} --human h.jsonl -l en-es").code == 0
    other = rated(f"meta-eval --run {run_name} --human h.jsonl -l en-fr")
    assert (other.code, "no segment is of the language pair en-fr" in other.err) == (1, True)


def test_older_spans_are_not_left_beside_new_scores(rated: Shell) -> None:
    common = "--human people.jsonl -l en-de -o set --force"
    assert rated(f"meta-eval -e r.jsonl {common}").code == 0
    bare = [json.dumps(json.loads(line) | {"errors": None}) for line in rated.read("r.jsonl")]
    rated.write("bare.jsonl", *bare)
    before = {path: path.read_bytes() for path in (rated.folder / "set").rglob("*") if path.is_file()}
    done = rated(f"meta-eval -e rules=bare.jsonl {common}")
    assert done.code == 1
    assert "rules-src.seg.rating: is an older one, and would be read with the new scores: remove it" in done.err
    assert before == {path: path.read_bytes() for path in (rated.folder / "set").rglob("*") if path.is_file()}


def test_one_system_has_no_level_of_systems_and_parts_share_a_line(shell: Shell) -> None:
    rows = [("A", n, f"d{n % 3}", -n, n % 4 if n % 3 else 1) for n in range(12)]
    shell.write("s.tsv", "system\tid\tdocument\tmqm\tjudge", *["\t".join(map(str, row)) for row in rows])
    shown = shell("meta-eval -e s.tsv --human mqm --by document").out
    assert "level of systems" not in shown
    assert "– judge, level of segments, all scores together: no Pearson, Spearman, Kendall in d0 by document: " in shown
    assert "level of systems" in shell("meta-eval -e s.tsv --human mqm --level sys,seg").out


def test_lower_scores_of_people_can_be_the_better_ones(scored: Shell) -> None:
    scored.write("p.tsv", *[re.sub(r"\tmqm\t", "\tpenalty\t", line) for line in scored.read("s.tsv")])
    turned = [line.split("\t") for line in scored.read("p.tsv")]
    place = turned[0].index("penalty")
    for row in turned[1:]:
        row[place] = str(-float(row[place]))
    scored.write("p.tsv", *("\t".join(row) for row in turned))
    plain = numbers(scored("meta-eval -e s.tsv --human mqm -f json"))
    assert numbers(scored("meta-eval -e p.tsv --human penalty --lower penalty -f json")) == plain
    assert "say --lower penalty" in scored("meta-eval -e p.tsv --human penalty").out


def test_a_column_with_wrong_cells_is_no_text_and_null_is_missing(scored: Shell) -> None:
    lines = scored.read("s.tsv")
    for number, wrong, said in (
        (1, "abc", "which is no score"),
        (1, "1,5", "which is no score"),
        (1, "null", "is missing"),
    ):
        cells = [line.split("\t") for line in lines]
        cells[number][cells[0].index("good")] = wrong
        scored.write("w.tsv", *("\t".join(row) for row in cells))
        done = scored("meta-eval -e w.tsv --human mqm")
        assert (done.code, said in done.err) == (1, True), done.err


def test_files_of_one_evaluator_are_pooled(scored: Shell) -> None:
    lines = scored.read("s.tsv")
    for name, systems in (("one.tsv", "AB"), ("two.tsv", "CDE")):
        scored.write(name, lines[0], *(line for line in lines[1:] if line.split("\t")[0] in systems))
    whole, parted = (scored(f"meta-eval -e {files} --human mqm -f json") for files in ("s.tsv", "one.tsv two.tsv"))
    assert numbers(parted) == numbers(whole)
    scored.write("semicolons.csv", *(line.replace("\t", ";") for line in lines))
    assert numbers(scored("meta-eval -e semicolons.csv --human mqm -f json")) == numbers(whole)


def test_who_must_wait_is_told(shell: Shell) -> None:
    rows = [f"{s}\t{n}\t{-n % 7}\t{n % 5}\t{n % 3}" for s in "AB" for n in range(1001)]
    shell.write("s.tsv", "system\tid\tmqm\tone\ttwo", *rows)
    line = "meta-eval -e s.tsv --human mqm --level seg --test acc-t --permutations 1"
    assert "takes minutes for each two evaluators" in shell(f"{line} --average none").err
    assert shell(f"{line} --average item").err == ""


# --- standard input


def test_scores_are_read_from_standard_input(tmp_path: Path) -> None:
    table = "system\tid\tmqm\tjudge\n" + "".join(f"{s}\t{n}\t{-n}\t{n * n}\n" for s in "AB" for n in range(4))
    (tmp_path / "s.tsv").write_text(table, encoding="utf-8")
    common = ("--human", "mqm", "-f", "json", "--level", "seg")
    given, piped = (
        run(tmp_path, "meta-eval", "-e", name, *common, stdin=text) for name, text in (("s.tsv", ""), ("-", table))
    )
    assert piped.code == 0, piped.err
    assert numbers(piped) == numbers(given)
    objects = "".join(json.dumps({"id": n, "score": n, "evaluator": "one"}) + "\n" for n in range(4))
    (tmp_path / "people.txt").write_text("4\n2\n1\n0\n", encoding="utf-8")
    listed = run(tmp_path, "meta-eval", "-e", "-", "--human", "people.txt", stdin=objects)
    assert listed.code == 0, listed.err
    assert "one 4 -0.983" in " ".join(listed.out.split())
    wrong = run(tmp_path, "meta-eval", "-e", "-", "--human", "mqm", stdin=table.replace("9\n", "x\n"))
    assert (wrong.code, "standard input:5: 'judge' is 'x'" in wrong.err) == (1, True)


def test_standard_input_is_one_file(tmp_path: Path) -> None:
    objects = "".join(json.dumps({"id": n, "score": n, "evaluator": "one"}) + "\n" for n in range(4))
    for line in ("meta-eval -e - --human -", "gate calibrate -e - --documents - --human people.txt"):
        done = run(tmp_path, *line.split(), stdin=objects)
        assert (done.code, "only one of the files can be standard input" in done.err) == (1, True), done.err


@pytest.mark.parametrize("name", ["x.jsonl", "x.seg.score"])
def test_an_integer_of_hundreds_of_digits_is_no_score(shell: Shell, name: str) -> None:
    shell.write(name, f'{{"system": "A", "score": 1{"0" * 400}}}', '{"system": "A", "score": 1}')
    shell.write("people.txt", "1", "2")
    done = shell(f"meta-eval -e {name} --human people.txt")
    assert done.code == 1
    assert done.err.startswith(f"mtagent: {name}:1: ")
    assert "is no score" in done.err.replace("which is no", "is no")
    assert len(done.err) < 400
