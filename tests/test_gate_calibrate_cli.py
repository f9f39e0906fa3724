"""`mtagent gate`: from files of scores to a calibration, and what it changes in the chain."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent
from mtagent.analysis.gate_calibration import Definition, Origin, Text, Texts, calibrate, definition
from mtagent.analysis.gate_inputs import chosen, read_pairs, side_by_side
from mtagent.analysis.scores import Key, SegmentScore, Side
from mtagent.chain.calibration import Calibration, Threshold, calibrated, read
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import OpenGate, RateGate
from mtagent.config import load
from mtagent.errors import ConfigError
from mtagent.evaluators.gemba import GembaDA
from mtagent.evaluators.rules import Rules
from mtagent.jobs.parts import settings_for_results
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Message, Rating, Segment, comparable
from mtagent.store import Store
from tests.commands import IMPROVED, TRANSLATIONS, Shell

RULES = Rules().signature
HARMFUL_BELOW_4 = [(0, 2, 50, 40), (0, 6, 50, 90), (0, 5, 50, 80), (0, 3, 50, 30), (0, -2, 50, 20), (0, 0, 50, 60)]


def pairs_file(shell: Shell, rows: Sequence[tuple[float, float, float, float]], signature: str = RULES) -> Path:
    """Edits over and over again, each in a document of its own."""
    columns = ("judge_before", "judge_after", "human_before", "human_after", "document", "signature")
    lines = ["\t".join(map(str, (*row, f"d{i}", signature))) for i, row in enumerate(list(rows) * 6)]
    return shell.write("pairs.tsv", "\t".join(columns), *lines)


def rated(system: str, number: int, score: float | None, **more: Any) -> str:
    return json.dumps({"id": str(number), "system": system, "score": score, **more})


# --- from files to a calibration


def test_pairs_become_a_table_and_a_file(shell: Shell) -> None:
    pairs_file(shell, HARMFUL_BELOW_4)
    done = shell("gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -l en-de -o gate.json")
    assert done.code == 0
    assert "margin      5 (chosen on" in done.out
    assert "the gate beats leaving all as it was" in done.out
    found = read(shell.folder / "gate.json")
    assert (found.margin and found.margin.value, found.threshold) == (5, 5)
    assert (found.evaluator, found.signature, found.pairs) == ("rules", RULES, ("en-de",))
    assert (found.data[0].option, found.data[0].name, len(found.data[0].sha256 or "")) == ("--pairs", "pairs.tsv", 64)
    assert found.error_free is not None
    assert found.error_free.definition == "human scores >= 80"
    shown = shell("gate show gate.json")
    assert shown.out == done.out
    held = found.margin.held_out if found.margin else None
    assert held is not None
    assert found.margin is not None
    for name, figure in (
        ("never accept", held.never),
        ("always accept", held.always),
        ("gate, no margin", found.margin.unmargined.gate),
        ("gate, this margin", held.gate),
        ("oracle", held.oracle),
    ):
        assert f"  {name:<18} {figure.value:.2f}" in done.out
    assert held.gate != found.margin.unmargined.gate
    assert found.margin.calibrated_on == 18
    bare = shell("gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -l en-de -o -")
    assert bare.out == (shell.folder / "gate.json").read_text(encoding="utf-8")


def test_ratings_of_mtagent_and_human_scores_of_mtme_go_together(shell: Shell) -> None:
    """As `mtagent rate` writes them, with ids; people's without, in the order of the segments."""
    shell("rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules -o ratings.jsonl -q")
    shell.write(
        "human.mqm.seg.score", *[f"{s}\t{v}" for s, v in [*(("old", -25),) * 3, *(("ours", 0),) * 2]], "ours\tNone"
    )
    line = "gate calibrate -e ratings.jsonl --human human.mqm.seg.score --kind mqm --fewest 1 -o gate.json"
    done = shell(f"{line} --before old --after ours")
    assert (done.code, done.err) == (0, "")
    found = read(shell.folder / "gate.json")
    assert found.left_out == {"texts without a human score": 1, "edits without all four scores": 1}
    assert found.margin is not None
    assert (found.signature, found.pairs, found.human) == (RULES, ("en-es",), "mqm")
    assert found.margin.held_out.items + found.margin.calibrated_on == 2


def test_a_stored_rating_run_and_two_score_files_give_the_same(shell: Shell) -> None:
    rate = "rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules"
    shell(f"{rate} -o r.seg.score --format mtme --name r -q")
    shell.write("human.jsonl", *[rated(s, n, n, errors=[]) for s in ("old", "ours") for n in (1, 2, 3)])
    common = "--human human.jsonl --before old --after ours --kind esa"
    assert shell(f"gate calibrate --run r {common} -o a.json -q").code == 0
    signed = shell("gate calibrate -e r.seg.score -o b.json -q", *common.split(), "--signature", RULES)
    assert signed.code == 0
    a, b = (read(shell.folder / name).model_dump(exclude={"data", "pairs"}) for name in ("a.json", "b.json"))
    assert a == b
    unsigned = shell(f"gate calibrate -e r.seg.score {common} -o c.json")
    assert (unsigned.code, (shell.folder / "c.json").exists()) == (1, False)
    assert "no rating is signed" in unsigned.err
    assert shell(f"gate calibrate -e r.seg.score {common}").code == 0  # a table needs no signature


def test_a_run_that_holds_no_ratings_is_refused(shell: Shell) -> None:
    shell.postedit("-o out.txt --run chain -q")
    shell.write("human.seg.score", "given\t1")
    done = shell("gate calibrate --run chain --human human.seg.score --kind mqm")
    assert done.code == 1
    assert "mtagent rate --run chain" in done.err


def test_what_the_stages_of_a_chain_left_is_calibrated_on_without_naming_them(shell: Shell) -> None:
    shell.postedit("-o out.txt --run chain -q")
    shell("rate --run chain --evaluator rules -o stages.jsonl -q")
    shell.write("human.seg.score", *["given\t-1"] * 3, *["postedit\t0"] * 3, *["final\t0"] * 3)
    done = shell("gate calibrate -e stages.jsonl --human human.seg.score -o gate.json")
    found = read(shell.folder / "gate.json").margin
    assert found is not None
    assert (done.code, found.calibrated_on + found.held_out.items) == (0, 3)


def test_documents_keep_segments_together(shell: Shell) -> None:
    systems = ("given", "final")
    shell.write(
        "judge.jsonl", *[rated(s, n, n % 3 + (s == "final"), signature="s|v") for s in systems for n in range(12)]
    )
    shell.write("human.seg.score", *[f"{s}\t{n}" for s in systems for n in range(12)])
    shell.write("x.docs", *[f"news\tdoc{n // 6}" for n in range(12)])
    line = "gate calibrate -e judge.jsonl --human human.seg.score -q -o"
    assert shell(f"{line} with.json --documents x.docs").code == 0
    assert shell(f"{line} without.json").code == 0
    counts = [read(shell.folder / name).margin for name in ("with.json", "without.json")]
    assert [found and found.held_out.groups for found in counts] == [1, 6]


def test_esa_wants_no_marked_error_and_says_where_none_is_known(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, 90, signature="s") for n in range(8)])
    spans = [{"text": "a", "start": 0, "end": 1, "severity": "minor", "category": "style"}]
    shell.write("marked.jsonl", *[rated("a", n, 95, errors=spans if n % 2 else []) for n in range(8)])
    shell.write("plain.seg.score", *["a\t95"] * 8)
    line = "gate calibrate -e judge.jsonl --kind esa --fewest 1 --precision 0.9 --human"
    marked, plain = shell(f"{line} marked.jsonl"), shell(f"{line} plain.seg.score")
    assert "no threshold reaches a precision of 0.9 for esa >= 85 and nothing marked" in marked.out
    assert "error-free  from 90 on" in plain.out
    assert "no spans are known" in plain.err


def test_a_judge_that_is_held_against_itself_is_warned_of(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, n, evaluator="rules", signature=RULES) for n in range(8)])
    done = shell("gate calibrate -e judge.jsonl --human judge.jsonl --error-free 4 --fewest 1")
    assert done.code == 0
    assert "the human scores are the judge's own" in done.err


def test_equal_scores_are_the_judge_s_own_even_if_nobody_signed_them(shell: Shell) -> None:
    for name in ("judge.jsonl", "people.jsonl"):
        shell.write(name, *[rated("a", n, n) for n in range(8)])
    done = shell("gate calibrate -e judge.jsonl --human people.jsonl --error-free 4 --fewest 1")
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
    found = read(shell.folder / "gate.json")
    assert (found.evaluator, found.margin and found.margin.value, found.data[0].option) == ("judge", 2, "-e")
    several = shell(f"gate calibrate -e scores.tsv {common}")
    assert several.code == 1
    assert "there are judge and other: choose one with --judge" in several.err

    shell.write("a.seg.score", *[f"{row[0]}\t{row[2]}" for row in table if row[0] == "old"])
    shell.write("b.seg.score", *[f"{row[0]}\t{row[2]}" for row in table if row[0] != "old"])
    shell.write("h.seg.score", *[f"{row[0]}\t{row[4]}" for row in table])
    unnamed = shell(f"gate calibrate -e a.seg.score b.seg.score {common.replace('mqm', 'h.seg.score')}")
    assert "there are a and b: choose one with --judge, or name them alike with -e NAME=FILE" in unnamed.err
    line = "gate calibrate -e judge=a.seg.score judge=b.seg.score -o again.json -q"
    assert shell(f"{line} {common.replace('mqm', 'h.seg.score')}").code == 0
    assert read(shell.folder / "again.json").margin == found.margin


def test_a_folder_of_mt_metrics_eval_is_calibrated_on_with_its_documents(shell: Shell) -> None:
    for name in ("human-scores", "metric-scores/en-es", "documents"):
        (shell.folder / "set" / name).mkdir(parents=True)
    scores = [(system, n) for system in ("old", "new") for n in range(8)]
    shell.write("set/human-scores/en-es.mqm.seg.score", *[f"{s}\t{n if s == 'old' else n + 1}" for s, n in scores])
    shell.write("set/metric-scores/en-es/judge-src.seg.score", *[f"{s}\t{n * (s == 'new')}" for s, n in scores])
    shell.write("set/documents/en-es.docs", *[f"news\td{n // 2}" for n in range(8)])
    line = "gate calibrate --mtme set --judge judge --before old --after new --signature s -o gate.json -q"
    assert shell(line).code == 0
    found = read(shell.folder / "gate.json")
    assert (found.pairs, found.margin and found.margin.held_out.groups) == (("en-es",), 2)
    named = ["judge-src.seg.score", "en-es.mqm.seg.score"]
    assert [(one.option, one.name, len(one.sha256 or "")) for one in found.data] == [("--mtme", n, 64) for n in named]


def test_systems_that_people_did_not_score_are_counted(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated(s, n, n, signature="s") for s in "ab" for n in range(5)])
    shell.write("people.jsonl", *[rated("a", n, n % 2) for n in (1, 2, 3, 4, 9)])
    assert shell("gate calibrate -e judge.jsonl --human people.jsonl --error-free 1 --fewest 1 -o g.json -q").code == 0
    assert read(shell.folder / "g.json").left_out == {
        "texts of systems that people did not score": 5,
        "texts without a human score": 1,
        "human scores of texts that the judge did not score": 1,
    }


def test_edits_of_one_segment_are_paired_by_their_line_and_stay_in_one_half(shell: Shell) -> None:
    """Good edits that the judge likes by 10, and a harmful one that it likes less of each of the same segments."""
    good, bad = {"judge_after": 10, "human_after": 70}, {"judge_after": -5, "human_after": 30}
    before = {"judge_before": 0, "human_before": 50, "signature": "s"}
    lines = [json.dumps({"id": n, **before, **edit}) for edit in (good, bad) for n in range(20)]
    shell.write("pairs.jsonl", *lines)
    assert shell("gate calibrate --pairs pairs.jsonl -q -o gate.json").code == 0
    found = read(shell.folder / "gate.json").margin
    assert found is not None
    assert (found.value, found.calibrated_on) == (10, 20)
    assert (found.held_out.groups, found.held_out.items, found.held_out.always.value) == (10, 20, 50)
    assert found.held_out.over_always.value == found.held_out.over_never.value == 10


def test_files_that_name_no_segments_are_not_numbered_through(shell: Shell) -> None:
    """Who knows whether the second file goes on where the first one ends, or is about the same segments?"""
    for score, name in enumerate(("one", "two")):
        shell.write(f"{name}.seg.score", *[f"a\t{score}"] * 4)
    shell.write("human.seg.score", *["a\t1"] * 8)
    done = shell("gate calibrate -e j=one.seg.score j=two.seg.score --human human.seg.score --error-free 1")
    assert done.code == 1
    assert "two.seg.score:1: system 'a', segment '1' has a score already (one.seg.score:1)" in done.err


def test_ratings_that_nobody_signed_are_told(shell: Shell) -> None:
    shell.write("a.jsonl", *[rated("a", n, n, signature="s") for n in range(8)])
    shell.write("b.jsonl", *[rated("b", n, n) for n in range(8)])
    shell.write("human.seg.score", *[f"{s}\t{n}" for s in "ab" for n in range(8)])
    done = shell("gate calibrate -e j=a.jsonl j=b.jsonl --human human.seg.score --error-free 1 --fewest 1")
    assert (done.code, "b.jsonl:1: not signed, and taken for a rating of the evaluator" in done.err) == (0, True)


def test_texts_of_a_segment_share_the_document_that_one_of_them_names(shell: Shell) -> None:
    lines = [rated("a", n, n, signature="s", document=f"d{n // 4}") for n in range(8)]
    shell.write("judge.jsonl", *lines, *[rated("b", n, n + 1, signature="s") for n in range(8)])
    shell.write("human.seg.score", *[f"{system}\t{n}" for system in "ab" for n in range(8)])
    line = "gate calibrate -e judge.jsonl --human human.seg.score -q --fewest 1 --error-free 0 -o gate.json"
    assert shell(line).code == 0
    found = read(shell.folder / "gate.json").error_free
    assert found is not None
    assert found.held_out is not None
    assert (found.calibrated_on, found.held_out.items, found.held_out.groups) == (8, 8, 1)


def test_a_document_that_only_people_s_file_names_keeps_its_segments_together(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, n, signature="s") for n in range(8)])
    shell.write("human.jsonl", *[rated("a", n, n, document=f"d{n // 4}") for n in range(8)])
    shell.write("other.jsonl", *[rated("a", n, n, signature="s", document=f"e{n // 2}") for n in range(8)])
    groups = []
    for judge in ("judge.jsonl", "other.jsonl"):
        line = f"gate calibrate -e {judge} --human human.jsonl -q --fewest 1 --error-free 0 -o gate.json"
        assert shell(line).code == 0
        found = read(shell.folder / "gate.json").error_free
        assert found is not None
        assert found.held_out is not None
        groups.append(found.held_out.groups)
    assert groups == [1, 2]


def test_a_file_that_is_named_in_two_ways_is_one(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, n, signature="s") for n in range(8)])
    shell.write("human.seg.score", *[f"a\t{n}" for n in range(8)])
    line = (
        "gate calibrate -e judge.jsonl ./judge.jsonl --human human.seg.score --fewest 1 --error-free 0 -q -o gate.json"
    )
    assert shell(line).code == 0
    assert [source.name for source in read(shell.folder / "gate.json").data] == ["judge.jsonl", "human.seg.score"]


def test_what_only_one_side_scored_is_counted_and_changes_no_half(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, n, signature="s") for n in range(60)])
    shell.write("human.jsonl", *[json.dumps({"system": "a", "id": n, "score": -1, "human": n}) for n in range(56, 64)])
    done = shell("gate calibrate -e judge.jsonl --human human=human.jsonl --error-free 0 --fewest 1 -q -o gate.json")
    found = read(shell.folder / "gate.json")
    assert (done.code, found.error_free and found.error_free.calibrated_on) == (0, 2)
    assert found.error_free is not None
    assert found.error_free.threshold is not None  # by "human", not by "score"
    left_out = {"human scores of texts that the judge did not score": 4, "texts without a human score": 56}
    assert found.left_out == left_out
    pairs = shell.write("pairs.tsv", "judge\thuman", "1\t", "2\t3", "3\t4", "\t4")
    shell(f"gate calibrate --pairs {pairs.name} --error-free 3 --fewest 1 --signature s -q -o gate.json")
    assert read(shell.folder / "gate.json").left_out == {
        "texts without a score of the judge": 1,
        "texts without a human score": 1,
    }


def test_esa_says_of_how_many_texts_no_spans_are_known(shell: Shell) -> None:
    shell.write("judge.jsonl", *[rated("a", n, 90, signature="s") for n in range(8)])
    shell.write("human.jsonl", *[rated("a", n, 95, **({"errors": []} if n else {})) for n in range(8)])
    done = shell("gate calibrate -e judge.jsonl --human human.jsonl --kind esa --fewest 1")
    assert "no spans are known of 1 texts: " in done.err


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
    told = {"signature": "s|version:1", "source_lang": "en", "target_lang": "de"}
    shell.write("judge.jsonl", *[rated("a", n, n, **told) for n in range(8)])
    shell.write("human.seg.score", *[f"a\t{n}" for n in range(8)])
    done = shell("gate calibrate -e judge.jsonl --human human.seg.score --error-free 4 --fewest 1", *more.split())
    assert (done.code, message in done.err) == (code, True), done.err
    if not code:
        assert "evaluator   s|version:1" in done.out


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


A = [rated("a", n, n, signature="s") for n in range(4)]
HUMAN = [f"a\t{n}" for n in range(4)]
GAP = [rated("a", 0, 0), rated("a", 2, 2), *(rated("b", n, n) for n in range(3))]
WRONG: list[tuple[str, dict[str, list[str]], tuple[str, ...]]] = [
    ("--human h", {"h": HUMAN}, ("the judge's scores (-e, --run or --mtme) and people's",)),
    ("--pairs p --human h", {"p": [], "h": HUMAN}, ("--pairs holds the scores of both sides",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN, "b"]}, ("h:5: 'b' is no score",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN, "a\tgood"]}, ("h:5: 'good' is no score",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN, "a\tnan"]}, ("h:5: 'nan' is no score",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN, "a\t3"]}, ("j: 4 scores of system 'a', and h has 5",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN[:2], "", *HUMAN[2:]]}, ("h:3: '' is no score",)),
    ("-e j --human h", {"j": [*A, "{"], "h": HUMAN}, ("j:5:2: not JSON",)),
    ("-e j --human h", {"j": [*A, '{"id": "9"}'], "h": HUMAN}, ("j:5: 'system' is empty",)),
    ("-e j --human h", {"j": [*A, A[0]], "h": A}, ("j:5: system 'a', segment '0' has a score already (j:1)",)),
    (
        "-e j --human h",
        {"j": [*A, rated("a", 9, 9, signature="t")], "h": A},
        ("j:5: was rated by t", "j:1 by s"),
    ),
    ("-e j --human h", {"j": A, "h": ["b\t1"] * 4}, ("j: has no system that h has: a against b",)),
    ("-e j --human h --before a", {"j": A, "h": HUMAN}, ("name both systems",)),
    ("-e j --human h --before a --after z", {"j": A, "h": HUMAN}, ("no system 'z'", "there are: a")),
    ("-e j --human h", {"j": A, "h": HUMAN}, ("there is nothing to calibrate",)),
    ("-e j --human h", {"j": [], "h": HUMAN}, ("j: holds no scores",)),
    ("-e j k --human h", {"j": A, "k": [rated("a", 1, 1, signature="s", evaluator="t")], "h": A}, ("j and t: choose",)),
    (
        "-e j=j j=k.seg.score --human h",
        {"j": A, "k.seg.score": ["b\t1"], "h": A},
        ("k.seg.score: only one of this and j names the segments",),
    ),
    (
        "-e j --human h",
        {"j": [*A, rated("b", 0, 0, translation="x")], "h": [rated("b", 0, 0, translation="y")]},
        ("j:5: segment '0' of system 'b' has another translation than in h:1",),
    ),
    ("-e j --human h -l en-de", {"j": [rated("a", 1, 1, lp="en-es")], "h": HUMAN}, ("no row is of the language pair",)),
    (
        "-e j --human h --documents d",
        {"j": A, "h": HUMAN, "d": ["x", "y"]},
        ("--documents: has 2 lines, and j 4 segments",),
    ),
    ("-e j --human h --resamples 0 --error-free 1", {"j": A, "h": HUMAN}, ("0 resamples",)),
    ("-e j --human h --precision 2 --error-free 1", {"j": A, "h": HUMAN}, ("2 cannot be wanted",)),
    ("--pairs p", {"p": ["judge\thuman", "1\t2\t3"]}, ("p:2: 3 columns instead of 2",)),
    ("--pairs p", {"p": ["judge\tpeople", "1\t2"]}, ("p:2: has judge, people; an edit has judge_before",)),
    ("--pairs p", {"p": ["judge\terror_free", "1\tyes", "1\tperhaps"]}, ("p:3: error_free is 'perhaps'",)),
    (
        "--pairs p",
        {"p": ['{"judge": 1, "human": 2}', '{"judge": "x", "human": 2}']},
        ("p:2: 'judge' is 'x', which is no score",),
    ),
    ("--pairs p", {"p": []}, ("p:1: is empty",)),
    (
        "-e j --human h --documents d",
        {"j": A, "h": HUMAN, "d": ["x"] * 5},
        ("--documents: has 5 lines, and j 4 segments",),
    ),
    (
        "-e j --human h --documents d --error-free 1",
        {"j": A, "h": HUMAN, "d": ["x"] * 4},
        ("two at least are needed",),
    ),
    (
        "-e j --human h --documents d --error-free 1",
        {"j": GAP, "h": GAP, "d": ["x"] * 3},
        ("--documents: a line is a segment in the order of j, where those of system 'b'",),
    ),
    ("--pairs p --judge j", {"p": []}, ("--pairs holds the scores of both sides",)),
    ("--pairs p --item id", {"p": []}, ("--pairs holds the scores of both sides",)),
    ("--pairs p --documents d", {"p": [], "d": []}, ("--pairs holds the scores of both sides",)),
    ("--pairs p", {"p": ['{"judge": true, "human": 2}']}, ("p:1: 'judge' is True, which is no score",)),
    ("-e j --human h", {"j": A, "h": [*HUMAN, "a\t1e999"]}, ("h:5: '1e999' is no score",)),
    ("--pairs p", {"p": ["judge\tjudge\thuman", "1\t2\t3"]}, ("p:1: two columns are called 'judge'",)),
    ("--pairs p", {"p": ['{"judge": 1, "human": 2}', "1\t2"]}, ("p:2", "not JSON")),
    ("--pairs p", {"p": ['{"judge": 1, "human": 2}', "[1]"]}, ("p:2", "object")),
    ("-e j --human h", {"j": [*A, rated("b", 1, 1)], "h": ["\t1"] * 4}, ("j: has no system that h has: a, b",)),
    ("-e j --human h --kind mqm", {"j": A, "h": ["a\tNone"] * 4}, ("there is no text with both",)),
    ("--run none --human h", {"h": HUMAN}, ("there is no store yet",)),
    ("-e j --human h --error-free nan", {"j": A, "h": HUMAN}, ("give a number",)),
    ("-e j --human h --before a --after a", {"j": A, "h": HUMAN}, ("no segment has the judge's score",)),
    ("--pairs none.tsv", {}, ("none.tsv: no such file",)),
    ("--pairs p -o p", {"p": ["judge\thuman"]}, ("p: the results would overwrite the file of --pairs",)),
]


@pytest.mark.parametrize(("line", "files", "messages"), WRONG, ids=lambda value: str(value)[:40])
def test_bad_input_is_named(shell: Shell, line: str, files: dict[str, list[str]], messages: tuple[str, ...]) -> None:
    for name, lines in files.items():
        shell.write(name, *lines)
    done = shell(f"gate calibrate {line}")
    assert done.code == 1
    assert done.err.startswith("mtagent: ")
    assert all(message in done.err for message in messages), done.err


def test_what_people_call_error_free() -> None:
    good, marked = Text("", "1", 0, 90, marked=False), Text("", "1", 0, 90, marked=True)
    assert [definition("esa", None).label(text) for text in (good, marked)] == [True, False]
    assert [definition("esa", 90).label(text) for text in (good, marked)] == [True, True]
    assert [definition("esa", 91).label(text) for text in (good, marked._replace(label=True))] == [False, True]
    assert [definition(None, None).label(text) for text in (good, marked._replace(label=False))] == [None, False]


def test_scores_are_matched_by_place_with_their_document() -> None:
    """Names of systems may be those that mt-metrics-eval allows."""
    judge, human = (
        Side(name, name, "", {Key(system, str(n)): SegmentScore(first + n, name) for n in range(3)}, numbered=True)
        for name, system, first in (("j", "GPT-4.1", 0), ("h", "GPT_4_1", 10))
    )
    texts = side_by_side(judge, human, ["d", "d", "e"])[0].texts
    assert [(text.judge, text.human, text.document) for text in texts] == [(0, 10, "d"), (1, 11, "d"), (2, 12, "e")]


def test_edits_lead_from_given_to_final_only_where_both_are_there() -> None:
    given, final = Text("given", "1", 0, 0), Text("final", "1", 0, 0)
    assert (chosen(Texts((given,)), (), ()).before, chosen(Texts((final,)), (), ()).after) == ((), ())
    assert chosen(Texts((given, final)), (), ()).after == ("final",)


def test_lines_of_pairs_are_texts_and_edits(shell: Shell) -> None:
    edit = dict(zip(("judge_before", "judge_after", "human_before", "human_after"), (1, 2, 3, 4), strict=True))
    lines = [{"judge": 5, "error_free": "yes"}, {"id": 0, "document": 0, **edit}, {"judge": 5, "error_free": False}]
    texts, judge = read_pairs(shell.write("p.jsonl", *map(json.dumps, lines)))
    assert [(text.segment, text.document, text.row) for text in texts.texts] == [
        ("1", None, 1),
        *[("0", "0", 2)] * 2,
        ("3", None, 3),
    ]
    assert (texts.before, texts.after, texts.left_out, list(judge.signatures)) == (
        ("before",),
        ("after",),
        {},
        [""],
    )


def test_who_has_no_score_has_not_rated(shell: Shell) -> None:
    shell.write("judge.jsonl", *A, rated("a", 4, None, signature="another"))
    shell.write("human.seg.score", *HUMAN, "a\t4")
    assert shell("gate calibrate -e judge.jsonl --human human.seg.score --error-free 2 --fewest 1").code == 0


# --- what it changes in the chain


def calibration(shell: Shell, name: str = "gate.json", signature: str = RULES, **fields: Any) -> Path:
    """A calibration file with a margin of 5 and the threshold 5, and ``fields`` changed."""
    pairs_file(shell, HARMFUL_BELOW_4, signature)
    shell(f"gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -q -o {name}")
    path = shell.folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    for key, value in fields.items():
        part = data[key] if key in ("margin", "error_free") else data
        data[key] = value if part is data or value is None else {**part, **value}
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_the_calibrated_margin_decides_what_is_kept(shell: Shell) -> None:
    """The rules gain 0.1 by the full stop that was missing: a margin of 0.1 keeps the correction, one of 5 does not."""
    calibration(shell, "five.json", error_free=None)
    calibration(shell, "tenth.json", margin={"value": 0.1}, error_free=None)
    calibration(shell, "never.json", margin={"value": None}, error_free=None)
    for name, texts in (("tenth", IMPROVED), ("five", TRANSLATIONS), ("never", TRANSLATIONS)):
        done = shell.postedit(f"--evaluator rules -o out.txt --force --details {name}.jsonl --calibration {name}.json")
        assert (done.code, shell.read("out.txt")) == (0, texts), name
    assert "below the margin" in (shell.folder / "five.jsonl").read_text(encoding="utf-8")


def test_the_calibrated_threshold_leaves_a_text_alone(shell: Shell) -> None:
    """The rules give -0.1 for a missing full stop."""
    calibration(shell, "strict.json", margin=None, error_free={"threshold": 0})
    calibration(shell, "lenient.json", margin=None, error_free={"threshold": -0.1})
    for name, texts in (("strict", IMPROVED), ("lenient", TRANSLATIONS)):
        done = shell.postedit(
            f"--evaluator rules --gate guards -o out.txt --force --details {name}.jsonl --calibration {name}.json"
        )
        assert (done.code, shell.read("out.txt")) == (0, texts), name
    assert "no error found" in shell.read("lenient.jsonl")[0]


def test_another_calibration_is_another_run(shell: Shell) -> None:
    calibration(shell, "a.json", margin={"value": 1})
    calibration(shell, "b.json", margin={"value": 5})
    shell.folder.joinpath("moved").mkdir()
    shell.folder.joinpath("moved/c.json").write_bytes((shell.folder / "a.json").read_bytes())
    line = "--evaluator rules -q -o out.txt --calibration"
    assert shell.postedit(f"{line} a.json --run mine").code == 0
    assert shell.postedit(f"{line} moved/c.json --run mine").code == 0  # the same values, wherever the file lies
    other = shell.postedit(f"{line} b.json --run mine")
    assert other.code == 1
    assert "calibrated.margin was 1" in other.err
    with Store(shell.folder / "store.db") as store:
        held = store.run("mine").settings["calibrated"]
    assert held == {"signature": comparable(RULES), "margin": 1, "error_free": 5}
    never = read(calibration(shell, margin={"value": None}, error_free=None))
    assert never.settings() == {"signature": comparable(RULES), "margin": "never"}


def test_a_calibration_of_another_evaluator_is_an_error_that_names_both(shell: Shell) -> None:
    path = calibration(shell, signature="gemba-da|model:gpt-4o|prompt:gemba-da@1#12345678|scale:0-100|version:0.1.0")
    done = shell.postedit("--evaluator rules --calibration gate.json -o out.txt")
    assert done.code == 1
    assert not (shell.folder / "out.txt").exists()
    assert str(path.name) in done.err
    assert "model:gpt-4o" in done.err
    assert f"the gate asks {RULES}" in done.err


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m|model:a|version:1", "m|model:a|version:2", True),
        ("m|model:a|order:1|version:1", "m|model:a|order:3|version:1", True),
        ("m|model:a", "m|model:b", False),
        ("m|prompt:x@1#aa", "m|prompt:x@1#bb", False),
        ("m|temperature:0.0", "m", False),
        ("m|forced:yes", "m|forced:no", False),
        ("himate|confidence:a|threshold:-0.1(de,p60,n=18)", "himate|confidence:a|threshold:calibrated", True),
        ("himate|confidence:verbal(no logprobs)", "himate|confidence:logprobs", True),
        ("himate|confidence:verbal(no logprobs)", "himate|confidence:verbal", False),
        ("himate|confidence:verbal", "himate|confidence:logprobs", False),
        ("himate|threshold:-0.1", "himate|threshold:calibrated", False),
    ],
)  # fmt: skip
def test_evaluators_are_the_same_if_all_that_ratings_depend_on_is(one: str, other: str, same: bool) -> None:
    assert (comparable(one) == comparable(other)) is same


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_pipe_is_no_calibration(shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe")
    for name in ("-", "pipe"):
        done = shell.postedit(f"--evaluator rules --calibration {name} -o out.txt")
        assert (done.code, f"calibration {name}: is read more than once" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--gate guards", "the calibrated margin is one for the gate rate, and the gate is guards"),
        ("--margin 2", "margin: 2 is set beside the calibration"),
        ("--judge rules:skip=numbers", "the gate asks rules"),
        ("-o gate.json", "would overwrite the file of --calibration"),
    ],
)
def test_what_does_not_go_with_a_calibration_is_refused(shell: Shell, line: str, message: str) -> None:
    calibration(shell)
    done = shell.postedit(f"--evaluator rules --calibration gate.json {line}")
    assert done.code == 1
    assert message in done.err


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('{\n "kind": ,}', ("bad.json:2:", "not JSON")),
        ("{}", ("bad.json: is no calibration of a gate: evaluator: field required",)),
        ('{"kind": "himate"}', ("bad.json", "kind")),
        ("[]", ("bad.json: is no calibration",)),
        ("", ("bad.json:1:", "not JSON")),
        ("margin.value NaN", ("bad.json: is no calibration of a gate: margin.value",)),
        ("margin.value Infinity", ("bad.json: is no calibration of a gate: margin.value",)),
        ("margin.value -1", ("bad.json: is no calibration of a gate: margin.value",)),
        ("margin.value 1e999", ("bad.json: is no calibration of a gate: margin.value",)),
        ("error_free.threshold NaN", ("bad.json: is no calibration of a gate: error_free.threshold",)),
        ("error_free.threshold -Infinity", ("bad.json: is no calibration of a gate: error_free.threshold",)),
        ("error_free.curve []", ("bad.json: is no calibration of a gate: error_free.curve",)),
    ],
)
def test_a_broken_calibration_is_named(shell: Shell, text: str, messages: tuple[str, ...]) -> None:
    if text[:1].isalpha():
        field, _, value = text.partition(" ")
        part, _, name = field.partition(".")
        held = json.loads(calibration(shell).read_text(encoding="utf-8"))
        text = json.dumps({**held, part: {**held[part], name: json.loads(value)}})
    (shell.folder / "bad.json").write_text(text, encoding="utf-8")
    for done in (shell.postedit("--evaluator rules --calibration bad.json"), shell("gate show bad.json")):
        assert done.code == 1
        assert all(message in done.err for message in messages), done.err
        assert "mtagent gate calibrate" in done.err
    missing = shell("gate show none.json")
    assert (missing.code, "none.json: no such file" in missing.err) == (1, True)


def test_the_setting_is_listed_and_found_beside_the_file_of_settings(shell: Shell) -> None:
    calibration(shell, "gate.json", margin={"value": 5})
    shell.folder.joinpath("elsewhere").mkdir()
    (shell.folder / "mtagent.toml").write_text('calibration = "gate.json"\nevaluator = "rules"\n', encoding="utf-8")
    shown = shell("config --config mtagent.toml").out
    assert f'calibration = "{shell.folder}/gate.json"' in shown
    assert 'gate = "rate"' in shown  # a calibrated judge is asked, also offline
    assert shell.postedit("--config mtagent.toml -o out.txt").code == 0
    assert shell.read("out.txt") == TRANSLATIONS


# --- score-only evaluators, and judges that are not the editor


def scripted(scores: dict[str, int]) -> ScriptedLLM:
    """Gives each text its score, and corrects by an exclamation mark."""

    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        shown = messages[-1].content
        text = next(text for text in sorted(scores, key=len, reverse=True) if text in shown)
        return Completion(text=f"{text}!" if purpose == "fix" else str(scores[text]), model="m")

    return ScriptedLLM(reply, model="m")


@pytest.mark.parametrize(
    ("margin", "threshold", "text", "reason"),
    [
        (5, None, "Hola", "below the margin"),
        (4, None, "Hola!", "better"),
        (None, 90, "Hola", "no error found"),
        (None, 91, "Hola!", "kept"),
        (4, 91, "Hola!", "better"),
    ],
)
def test_an_evaluator_with_a_score_alone_is_calibrated_too(
    shell: Shell, margin: float | None, threshold: float | None, text: str, reason: str
) -> None:
    llm = scripted({"Hola": 90, "Hola!": 94})
    values = {"margin": margin and {"value": margin}, "error_free": threshold and {"threshold": threshold}}
    path = calibration(shell, signature=GembaDA(llm).signature, **values)
    settings = {"evaluator": "gemba-da", "stages": "pe", "calibration": path, "gate": None if margin else "none"}
    chain = Agent(llm=llm, **settings).postedit(["Hi"], ["Hola"], "en", "es")[0]
    assert chain.text == text
    assert reason in chain.steps[-1].reason


class Reviewer:
    """Finds every text in need of correction, by one more mark."""

    name = "reviewer"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=-5, correction=f"{translation}!")


def test_a_judge_that_is_not_the_editor_says_what_is_error_free_after_the_edit() -> None:
    llm = scripted({"Hola": 60, "Hola!": 95, "Hola!!": 99})
    judge, segment = GembaDA(llm), Segment(id="1", source="Hi", source_lang="en", target_lang="es", translation="Hola")
    plan = Plan(stages=("postedit",), evaluator=Reviewer(), gate=RateGate(judge))
    for threshold, stages in ((95, 1), (96, 2)):
        twice = Plan(
            stages=("postedit", "postedit"), evaluator=plan.evaluator, gate=plan.gate,
            thresholds=(Threshold(judge, threshold),),
        )  # fmt: skip
        assert len(asyncio.run(improve(segment, twice)).steps) == stages


def test_a_gate_of_one_s_own_keeps_its_margin_and_what_it_does(shell: Shell) -> None:
    path, judge = calibration(shell), Rules()
    gate, thresholds = calibrated(path, RateGate(judge), None)
    assert isinstance(gate, RateGate)
    assert (gate.margin, gate.judge, thresholds) == (5, judge, (Threshold(judge, 5),))
    with pytest.raises(ConfigError, match="has a margin, and the gate has one of 3"):
        calibrated(path, RateGate(judge, margin=3), None)

    class Cautious(RateGate):
        """Does something besides."""

        name = "cautious"

    with pytest.raises(ConfigError, match="the gate is cautious"):
        calibrated(path, Cautious(judge), None)


def test_the_revision_of_a_model_counts_where_both_know_it() -> None:
    def held(signature: str) -> Calibration:
        texts = Texts((Text("", "1", 1, label=True), Text("", "2", 1, label=True)))
        return calibrate(texts, Definition(), origin=Origin(signature=signature), fewest=1)

    assert held("k|model:a|revision:1|comet:2").holds_for("k|model:a|comet:2")
    assert held("k|model:a|revision:1").holds_for("k|model:a|revision:1")
    assert not held("k|model:a|revision:1").holds_for("k|model:a|revision:2")
    assert not held("k|model:a|revision:1").holds_for("k|model:b")


def test_a_calibration_without_anything_to_use_is_refused(shell: Shell) -> None:
    empty = calibration(shell, margin=None, error_free={"threshold": None})
    with pytest.raises(ConfigError, match="nothing to use"):
        calibrated(empty, RateGate(Rules()), Rules())
    threshold = calibration(shell, margin=None)
    with pytest.raises(ConfigError, match="nobody rates here"):
        calibrated(threshold, OpenGate("guards"), None)


def test_the_settings_of_a_run_name_a_calibration_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json: no such file"):
        settings_for_results(load(overrides={"calibration": Path("nowhere.json")}))


def test_help_shows_examples(shell: Shell) -> None:
    assert "mtagent gate calibrate" in shell("gate --help").out
    assert "--calibration gate.json" in shell("gate calibrate --help").out
    assert "--calibration FILE.json" in shell("postedit --help").out
