"""``mtagent gate calibrate``: from files of scores to a calibration, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mtagent.analysis.gate_calibration import Text, Texts, definition
from mtagent.analysis.gate_inputs import chosen, read_pairs
from mtagent.chain.calibration import Calibration, Margin, read
from mtagent.evaluators.rules import Rules
from tests.calibrations import HARMFUL_BELOW_4, pairs_file
from tests.commands import Shell

RULES = Rules().signature


def rated(system: str, number: int, score: float | None, **more: Any) -> str:
    return json.dumps({"id": str(number), "system": system, "score": score, **more})


def made(shell: Shell, name: str = "gate.json") -> Calibration:
    return read(shell.folder / name)


def margin_of(shell: Shell, name: str = "gate.json") -> Margin:
    margin = made(shell, name).margin
    assert margin is not None
    return margin


def test_pairs_become_a_table_and_a_file(shell: Shell) -> None:
    pairs_file(shell, HARMFUL_BELOW_4, RULES)
    line = "gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -l en-de -o"
    done = shell(f"{line} gate.json")
    assert done.code == 0
    assert "margin      5 (chosen on" in done.out
    assert "the gate beats leaving all as it was" in done.out
    calibration, margin = made(shell), margin_of(shell)
    assert (margin.value, margin.calibrated_on, calibration.threshold) == (5, 18, 5)
    assert (calibration.evaluator, calibration.signature, calibration.pairs) == ("rules", RULES, ("en-de",))
    source = calibration.data[0]
    assert (source.option, source.name, len(source.sha256 or "")) == ("--pairs", "pairs.tsv", 64)
    assert calibration.error_free is not None
    assert calibration.error_free.definition == "human scores >= 80"
    for name, figure in (
        ("never accept", margin.held_out.never), ("always accept", margin.held_out.always),
        ("gate, no margin", margin.unmargined.gate), ("gate, this margin", margin.held_out.gate),
        ("oracle", margin.held_out.oracle),
    ):  # fmt: skip
        assert f"  {name:<18} {figure.value:.2f}" in done.out
    assert margin.held_out.gate != margin.unmargined.gate
    assert shell("gate show gate.json").out == done.out
    assert shell(f"{line} -").out == (shell.folder / "gate.json").read_text(encoding="utf-8")


def test_ratings_of_mtagent_and_human_scores_of_mtme_go_together(shell: Shell) -> None:
    """As `mtagent rate` writes them, with ids; people's without, in the order of the segments."""
    shell("rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules -o ratings.jsonl -q")
    shell.write("human.mqm.seg.score", *["old\t-25"] * 3, *["ours\t0"] * 2, "ours\tNone")
    line = "gate calibrate -e ratings.jsonl --human human.mqm.seg.score --kind mqm --fewest 1 -o gate.json"
    done = shell(f"{line} --before old --after ours")
    assert (done.code, done.err) == (0, "")
    calibration, margin = made(shell), margin_of(shell)
    assert calibration.left_out == {"texts without a human score": 1, "edits without all four scores": 1}
    assert (calibration.signature, calibration.pairs, calibration.human) == (RULES, ("en-es",), "mqm")
    assert margin.held_out.items + margin.calibrated_on == 2


def test_a_stored_rating_run_and_a_score_file_give_the_same(shell: Shell) -> None:
    rate = "rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules"
    shell(f"{rate} -o r.seg.score --format mtme --name r -q")
    shell.write("human.jsonl", *[rated(s, n, n, errors=[]) for s in ("old", "ours") for n in (1, 2, 3)])
    common = "--human human.jsonl --before old --after ours --kind esa"
    assert shell(f"gate calibrate --run r {common} -o a.json -q").code == 0
    assert shell("gate calibrate -e r.seg.score -o b.json -q", *common.split(), "--signature", RULES).code == 0
    a, b = (made(shell, name).model_dump(exclude={"data", "pairs"}) for name in ("a.json", "b.json"))
    assert a == b
    unsigned = shell(f"gate calibrate -e r.seg.score {common} -o c.json")
    assert (unsigned.code, (shell.folder / "c.json").exists()) == (1, False)
    assert "no rating is signed" in unsigned.err
    assert shell(f"gate calibrate -e r.seg.score {common}").code == 0  # a table needs no signature


def test_the_stages_of_a_chain_are_calibrated_on_without_naming_them(shell: Shell) -> None:
    shell.postedit("-o out.txt --run chain -q")
    shell("rate --run chain --evaluator rules -o stages.jsonl -q")
    shell.write("human.seg.score", *["given\t-1"] * 3, *["postedit\t0"] * 3, *["final\t0"] * 3)
    assert shell("gate calibrate -e stages.jsonl --human human.seg.score -o gate.json").code == 0
    assert margin_of(shell).calibrated_on + margin_of(shell).held_out.items == 3
    unrated = shell("gate calibrate --run chain --human human.seg.score --kind mqm")
    assert (unrated.code, "mtagent rate --run chain" in unrated.err) == (1, True)
    given, final = Text("given", "1", 0, 0), Text("final", "1", 0, 0)
    assert (chosen(Texts((given,)), (), ()).before, chosen(Texts((final,)), (), ()).after) == ((), ())


def test_documents_keep_segments_together(shell: Shell) -> None:
    """They may be named in a file of their own, by the judge's or by people's."""
    systems = ("given", "final")
    for name, named in (("judge", False), ("named", True)):
        rows = [(s, n, n % 3 + (s == "final"), {"document": f"d{n // 6}"} if named else {}) for s in systems
                for n in range(12)]  # fmt: skip
        shell.write(f"{name}.jsonl", *[rated(s, n, score, signature="s|v", **more) for s, n, score, more in rows])
    shell.write("human.seg.score", *[f"{s}\t{n}" for s in systems for n in range(12)])
    shell.write("human.jsonl", *[rated(s, n, n, document=f"e{n // 6}") for s in systems for n in range(12)])
    shell.write("x.docs", *[f"news\tdoc{n // 6}" for n in range(12)])
    groups = []
    for line in (
        "-e judge.jsonl --human human.seg.score", "-e judge.jsonl --human human.seg.score --documents x.docs",
        "-e named.jsonl --human human.seg.score", "-e judge.jsonl --human human.jsonl",
    ):  # fmt: skip
        assert shell(f"gate calibrate {line} -q -o gate.json").code == 0
        groups.append(margin_of(shell).held_out.groups)
    assert groups == [6, 1, 1, 1]


def test_texts_of_a_segment_share_the_document_that_one_of_them_names(shell: Shell) -> None:
    lines = [rated("a", n, n, signature="s", document=f"d{n // 4}") for n in range(8)]
    shell.write("judge.jsonl", *lines, *[rated("b", n, n + 1, signature="s") for n in range(8)])
    shell.write("human.seg.score", *[f"{system}\t{n}" for system in "ab" for n in range(8)])
    line = "gate calibrate -e judge.jsonl ./judge.jsonl --human human.seg.score -q --fewest 1 --error-free 0"
    assert shell(f"{line} -o gate.json").code == 0
    free = made(shell).error_free
    assert free is not None
    assert free.held_out is not None
    assert (free.calibrated_on, free.held_out.items, free.held_out.groups) == (8, 8, 1)
    names = [source.name for source in made(shell).data]
    assert names == ["judge.jsonl", "human.seg.score"], "a file that is named in two ways is one"


def test_esa_wants_no_marked_error_and_says_where_none_is_known(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, 90, signature="s") for n in range(8)])
    spans = [{"text": "a", "start": 0, "end": 1, "severity": "minor", "category": "style"}]
    shell.write("marked.jsonl", *[rated("a", n, 95, errors=spans if n % 2 else []) for n in range(8)])
    shell.write("some.jsonl", *[rated("a", n, 95, **({"errors": []} if n else {})) for n in range(8)])
    line = "gate calibrate -e judge.jsonl --kind esa --fewest 1 --precision 0.9 --human"
    marked, some = shell(f"{line} marked.jsonl"), shell(f"{line} some.jsonl")
    assert "no threshold reaches a precision of 0.9 for esa >= 85 and nothing marked" in marked.out
    assert "error-free  from 90 on" in some.out
    assert "no spans are known of 1 texts: " in some.err


def test_what_people_call_error_free() -> None:
    good, marked = Text("", "1", 0, 90, marked=False), Text("", "1", 0, 90, marked=True)
    assert [definition("esa", None).label(text) for text in (good, marked)] == [True, False]
    assert [definition("esa", 90).label(text) for text in (good, marked)] == [True, True]
    assert [definition("esa", 91).label(text) for text in (good, marked._replace(label=True))] == [False, True]
    assert [definition(None, None).label(text) for text in (good, marked._replace(label=False))] == [None, False]


@pytest.mark.parametrize(("evaluator", "people"), [({"evaluator": "rules", "signature": RULES}, "judge"), ({}, "copy")])
def test_a_judge_that_is_held_against_itself_is_warned_of(shell: Shell, evaluator: dict[str, str], people: str) -> None:
    """By its signature, or where nobody signed by its equal scores."""
    for name in ("judge", "copy"):
        shell.write(f"{name}.jsonl", *[rated("a", n, n, **evaluator) for n in range(8)])
    done = shell(f"gate calibrate -e judge.jsonl --human {people}.jsonl --error-free 4 --fewest 1")
    assert (done.code, "the human scores are the judge's own" in done.err) == (0, True)


def test_a_table_that_meta_eval_reads_is_calibrated_on_too(shell: Shell) -> None:
    """Before and after differ by the judge's gain of 0, 1 or 2, and people agree from a gain of 2 on."""
    table = [
        [system, str(n + 1), n % 3 * late, -n % 2, n if n % 3 < 2 else n + 9 * late]
        for late, system in enumerate(("old", "gpt-4.1"))
        for n in range(12)
    ]
    shell.write("scores.tsv", "system\tid\tjudge\tother\tmqm", *["\t".join(map(str, row)) for row in table])
    common = "--human mqm --before old --after gpt_4_1 --signature judge|v:1"
    done = shell(f"gate calibrate -e scores.tsv --judge judge -o gate.json -q {common}")
    assert (done.code, done.err) == (0, "")
    first = margin_of(shell)
    assert (made(shell).evaluator, first.value, made(shell).data[0].option) == ("judge", 2, "-e")
    several = shell(f"gate calibrate -e scores.tsv {common}")
    assert (several.code, "there are judge and other: choose one with --judge" in several.err) == (1, True)

    shell.write("a.seg.score", *[f"{row[0]}\t{row[2]}" for row in table if row[0] == "old"])
    shell.write("b.seg.score", *[f"{row[0]}\t{row[2]}" for row in table if row[0] != "old"])
    shell.write("h.seg.score", *[f"{row[0]}\t{row[4]}" for row in table])
    common = common.replace("mqm", "h.seg.score")
    unnamed = shell(f"gate calibrate -e a.seg.score b.seg.score {common}")
    assert "there are a and b: choose one with --judge, or name them alike with -e NAME=FILE" in unnamed.err
    assert shell(f"gate calibrate -e judge=a.seg.score judge=b.seg.score -o gate.json -q {common}").code == 0
    assert margin_of(shell) == first


def test_a_folder_of_mt_metrics_eval_is_calibrated_on_with_its_documents(shell: Shell) -> None:
    for name in ("human-scores", "metric-scores/en-es", "documents"):
        (shell.folder / "set" / name).mkdir(parents=True)
    scores = [(system, n) for system in ("old", "new") for n in range(8)]
    shell.write("set/human-scores/en-es.mqm.seg.score", *[f"{s}\t{n if s == 'old' else n + 1}" for s, n in scores])
    shell.write("set/metric-scores/en-es/judge-src.seg.score", *[f"{s}\t{n * (s == 'new')}" for s, n in scores])
    shell.write("set/documents/en-es.docs", *[f"news\td{n // 2}" for n in range(8)])
    line = "gate calibrate --mtme set --judge judge --before old --after new --signature s -o gate.json -q"
    assert shell(line).code == 0
    assert (made(shell).pairs, margin_of(shell).held_out.groups) == (("en-es",), 2)
    assert [(source.option, source.name) for source in made(shell).data] == [
        ("--mtme", "judge-src.seg.score"), ("--mtme", "en-es.mqm.seg.score")
    ]  # fmt: skip


def test_what_only_one_side_scored_is_counted_and_changes_no_half(shell: Shell) -> None:
    shell.write(
        "judge.jsonl",
        *[rated(s, n, n, signature="s") for s in "ab" for n in range(60)],
        rated("a", 99, None, signature="another"),
    )
    people = [json.dumps({"system": "a", "id": n, "score": -1, "human": n}) for n in range(56, 64)]
    shell.write("human.jsonl", *people)
    assert shell(
        "gate calibrate -e judge.jsonl --human human=human.jsonl --error-free 0 --fewest 1 -q -o gate.json"
    ).code == 0  # fmt: skip
    free = made(shell).error_free
    assert free is not None
    assert (free.calibrated_on, free.threshold is None) == (2, False), "by the column human, not by score"
    assert made(shell).left_out["texts of systems that people did not score"] == 60
    assert made(shell).left_out["human scores of texts that the judge did not score"] == 4
    pairs = shell.write("pairs.tsv", "judge\thuman", "1\t", "2\t3", "3\t4", "\t4")
    shell(f"gate calibrate --pairs {pairs.name} --error-free 3 --fewest 1 --signature s -q -o gate.json")
    assert made(shell).left_out == {"texts without a score of the judge": 1, "texts without a human score": 1}


def test_edits_of_one_segment_are_paired_by_their_line_and_stay_in_one_half(shell: Shell) -> None:
    """Good edits that the judge likes by 10, and a harmful one that it likes less of each of the same segments."""
    good, bad = {"judge_after": 10, "human_after": 70}, {"judge_after": -5, "human_after": 30}
    before = {"judge_before": 0, "human_before": 50, "signature": "s"}
    shell.write("pairs.jsonl", *[json.dumps({"id": n, **before, **edit}) for edit in (good, bad) for n in range(20)])
    assert shell("gate calibrate --pairs pairs.jsonl -q -o gate.json").code == 0
    margin = margin_of(shell)
    assert (margin.value, margin.calibrated_on) == (10, 20)
    assert (margin.held_out.groups, margin.held_out.items, margin.held_out.always.value) == (10, 20, 50)
    assert margin.held_out.over_always.value == margin.held_out.over_never.value == 10


def test_lines_of_pairs_are_texts_and_edits(shell: Shell) -> None:
    edit = {"judge_before": 1, "judge_after": 2, "human_before": 3, "human_after": 4}
    lines = [{"judge": 5, "error_free": "yes"}, {"id": 0, "document": 0, **edit}, {"judge": 5, "error_free": False}]
    texts, _ = read_pairs(shell.write("p.jsonl", *map(json.dumps, lines)))
    assert [(text.segment, text.document, text.row) for text in texts.texts] == [
        ("1", None, 1), ("0", "0", 2), ("0", "0", 2), ("3", None, 3)
    ]  # fmt: skip
    assert (texts.before, texts.after, texts.left_out) == (("before",), ("after",), {})


def test_ratings_that_nobody_signed_are_told(shell: Shell) -> None:
    shell.write("a.jsonl", *[rated("a", n, n, signature="s") for n in range(8)])
    shell.write("b.jsonl", *[rated("b", n, n) for n in range(8)])
    shell.write("human.seg.score", *[f"{s}\t{n}" for s in "ab" for n in range(8)])
    done = shell("gate calibrate -e j=a.jsonl j=b.jsonl --human human.seg.score --error-free 1 --fewest 1")
    assert (done.code, "b.jsonl:1: not signed, and taken for a rating of the evaluator" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ("--signature other", 1, "--signature other: the ratings are signed s|version:1"),
        ("--signature s|version:2", 0, ""),
        ("-l en-fr", 1, "judge.jsonl: no row is of the language pair en-fr"),
        ("-l en-de", 0, ""),
    ],
)
def test_what_the_ratings_say_is_not_said_otherwise(shell: Shell, more: str, code: int, message: str) -> None:
    about = {"signature": "s|version:1", "source_lang": "en", "target_lang": "de"}
    shell.write("judge.jsonl", *[rated("a", n, n, **about) for n in range(8)])
    shell.write("human.seg.score", *[f"a\t{n}" for n in range(8)])
    done = shell("gate calibrate -e judge.jsonl --human human.seg.score --error-free 4 --fewest 1", *more.split())
    assert (done.code, message in done.err) == (code, True), done.err
    assert ("evaluator   s|version:1" in done.out) == (code == 0)


A = [rated("a", n, n, signature="s") for n in range(4)]
HUMAN = [f"a\t{n}" for n in range(4)]
GAP = [rated("a", 0, 0), rated("a", 2, 2), *(rated("b", n, n) for n in range(3))]


@pytest.mark.parametrize("name", ["store.db", "judge.jsonl", "human.seg.score", "docs"])
def test_no_file_that_is_read_is_overwritten_nor_the_store(shell: Shell, name: str) -> None:
    shell.postedit("-q -o out.txt")
    shell.write("judge.jsonl", *A)
    shell.write("human.seg.score", *HUMAN)
    shell.write("docs", "x", "x", "y", "y")
    before = (shell.folder / name).read_bytes()
    line = "gate calibrate -e judge.jsonl --human human.seg.score --documents docs --error-free 2 --fewest 1"
    done = shell(f"{line} -o {name}")
    assert (done.code, (shell.folder / name).read_bytes() == before) == (1, True)
    assert "would overwrite the file of" in done.err


SIDES = "-e j --human h"
OTHER_SIGNATURE = rated("a", 9, 9, signature="t")


@pytest.mark.parametrize(
    ("line", "files", "messages"),
    [
        ("--human h", {"h": HUMAN}, ["the judge's scores (-e, --run or --mtme) and people's"]),
        ("--pairs p --human h", {"p": [], "h": HUMAN}, ["--pairs holds the scores of both sides"]),
        ("--pairs p --judge j", {"p": []}, ["--pairs holds the scores of both sides"]),
        ("--pairs p --item id", {"p": []}, ["--pairs holds the scores of both sides"]),
        ("--pairs p --documents d", {"p": [], "d": []}, ["--pairs holds the scores of both sides"]),
        (SIDES, {"j": A, "h": [*HUMAN, "a\tgood"]}, ["h:5: 'good' is no score"]),
        (SIDES, {"j": A, "h": [*HUMAN, "a\t3"]}, ["j: 4 scores of system 'a', and h has 5"]),
        (SIDES, {"j": [*A, OTHER_SIGNATURE], "h": A}, ["j:5: was rated by t", "j:1 by s"]),
        (f"{SIDES} --before a", {"j": A, "h": HUMAN}, ["name both systems"]),
        (f"{SIDES} --before a --after z", {"j": A, "h": HUMAN}, ["no system 'z'", "there are: a"]),
        (f"{SIDES} --before a --after a", {"j": A, "h": HUMAN}, ["no segment has the judge's score"]),
        (SIDES, {"j": A, "h": HUMAN}, ["there is nothing to calibrate"]),
        (f"{SIDES} --kind mqm", {"j": A, "h": ["a\tNone"] * 4}, ["there is no text with both"]),
        (f"{SIDES} --documents d", {"j": A, "h": HUMAN, "d": ["x"] * 5}, ["--documents: has 5 lines, and j 4"]),
        (f"{SIDES} --documents d", {"j": A, "h": HUMAN, "d": ['{"a": 1}'] * 4}, ["d:1: a line names a document"]),
        (f"{SIDES} --documents d --error-free 1", {"j": A, "h": HUMAN, "d": ["x"] * 4}, ["two at least"]),
        (
            f"{SIDES} --documents d --error-free 1", {"j": GAP, "h": GAP, "d": ["x"] * 3},
            ["--documents: a line is a segment in the order of j, where those of system 'b'"],
        ),
        (f"{SIDES} --resamples 0 --error-free 1", {"j": A, "h": HUMAN}, ["0 resamples"]),
        (f"{SIDES} --precision 2 --error-free 1", {"j": A, "h": HUMAN}, ["2 cannot be wanted"]),
        (f"{SIDES} --error-free nan", {"j": A, "h": HUMAN}, ["give a number"]),
        ("--pairs p", {"p": ["judge\tpeople", "1\t2"]}, ["p:2: has judge, people; an edit has judge_before"]),
        ("--pairs p", {"p": ["judge\terror_free", "1\tyes", "1\tperhaps"]}, ["p:3: error_free is 'perhaps'"]),
        ("--pairs p", {"p": ['{"judge": true, "human": 2}']}, ["p:1: 'judge' is True, which is no score"]),
        ("--pairs p", {"p": []}, ["p:1: is empty"]),
        ("--pairs none.tsv", {}, ["none.tsv: no such file"]),
    ],
)  # fmt: skip
def test_bad_input_is_named(shell: Shell, line: str, files: dict[str, list[str]], messages: list[str]) -> None:
    for name, lines in files.items():
        shell.write(name, *lines)
    done = shell(f"gate calibrate {line}")
    assert (done.code, done.err.startswith("mtagent: ")) == (1, True)
    assert all(message in done.err for message in messages), done.err
