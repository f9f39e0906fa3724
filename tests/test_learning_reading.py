"""``mtagent gate calibrate``: from files of scores to a calibration, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtagent.chain.calibration import Calibration, Effect, ExpectedGain, Figure, read
from mtagent.evaluators.rules import Rules
from mtagent.learning.pairs import JudgedData, RatedText, definition
from mtagent.learning.reading import read_pairs, with_edits
from mtagent.learning.text import figure, verdict
from mtagent.records import Segment
from tests.calibrations import GAINS, calibration, effect, expected_gain, pairs_file
from tests.commands import ROOT, Shell

RULES = Rules().signature
SEGMENT = Segment(id="1", source="", source_lang="en", target_lang="de")
N = 64
"""Segments: half of them are enough to learn from."""


def rated(system: str, number: int, score: float | None, **more: Any) -> str:
    return json.dumps({"id": str(number), "system": system, "score": score, **more})


def made(shell: Shell, name: str = "gate.json") -> Calibration:
    return read(shell.folder / name)


def gain_of(shell: Shell, name: str = "gate.json") -> ExpectedGain:
    gain = made(shell, name).gain
    assert gain is not None
    return gain


def held_out(shell: Shell, name: str = "gate.json") -> Effect:
    effect = gain_of(shell, name).held_out
    assert effect is not None
    return effect


def edits(shell: Shell, *judges: str, scale: float = 1.0, size: int = N, **changed: str) -> None:
    """Edits that a judge sees on a scale, and people as well, in ``NAME.jsonl`` and ``human.seg.score``."""
    for judge in judges:
        lines = []
        for system, late in (("old", 0), ("new", 1)):
            scores = [late * scale * ((n * (3 if judge == "b" else 1)) % 7 - 3) for n in range(size)]
            lines += [rated(system, n, score, signature=f"{judge}|v:1", evaluator=judge) for n, score in
                      enumerate(scores)]  # fmt: skip
        shell.write(f"{judge}.jsonl", *lines)
    people = [f"{system}\t{late * (n % 7 - 2.5)}" for late, system in enumerate(("old", "new")) for n in range(size)]
    shell.write("human.seg.score", *people)


EDIT = "id\tbefore\tafter\tjudge_before\tjudge_after\thuman_before\thuman_after"
SIDES = "--human human.seg.score --before old --after new"


def test_pairs_become_a_table_and_a_file(shell: Shell) -> None:
    pairs_file(shell, GAINS, RULES)
    line = "gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -l en-de -o"
    done = shell(f"{line} gate.json")
    assert done.code == 0, done.err
    assert "an edit is kept if this is above 0\n            learnt from 72 edits" in done.out
    assert "the gate is better than keeping no edit" in done.out
    whole, gain, effect = made(shell), gain_of(shell), held_out(shell)
    assert (gain.calibrated_on, effect.items, whole.threshold) == (72, 72, 5)
    assert (whole.evaluator, whole.signature, whole.pairs) == ("rules", RULES, ("en-de",))
    assert [(judge.judge, judge.signature) for judge in gain.judges] == [("rules", RULES)]
    source = whole.data[0]
    assert (source.option, source.name, len(source.sha256 or "")) == ("--pairs", "pairs.tsv", 64)
    assert whole.error_free is not None
    assert whole.error_free.definition == "human scores >= 80"
    for name, value in (
        ("keep no edit", effect.never), ("keep every edit", effect.always),
        ("keep if rated better", effect.alone["rules"]), ("this gate", effect.gate), ("best possible", effect.oracle),
    ):  # fmt: skip
        assert f"  {name:<22}  {value.value:.2f}" in done.out
    assert effect.gate.value > effect.alone["rules"].value  # type: ignore[operator]
    assert any(point.calibrated and point.threshold == 5 for point in gain.triage)
    assert shell("gate show gate.json").out == done.out
    assert "sha256:" not in done.out
    assert "sha256:" in shell("gate show gate.json --details").out
    assert shell(f"{line} -").out == (shell.folder / "gate.json").read_text(encoding="utf-8")
    as_json = json.loads(shell(f"{line} other.json -f json").out)
    assert as_json["gain"]["held_out"]["gate"]["value"] == effect.gate.value


@pytest.mark.parametrize("given", ["-e a.jsonl b.jsonl", "-e wide.tsv", "-e long.jsonl", "-e a.jsonl -e b=b.seg.score"])
def test_several_judges_are_read_from_one_table_or_from_several_files(shell: Shell, given: str) -> None:
    """Always the same two judges, in the order in which they are named."""
    edits(shell, "a", "b")
    a, b = ([json.loads(line) for line in shell.read(f"{name}.jsonl")] for name in "ab")
    rows = [f"{x['system']}\t{x['id']}\t{x['score']}\t{y['score']}\t7" for x, y in zip(a, b, strict=True)]
    shell.write("wide.tsv", "system\tid\ta\tb\tother", *rows)
    shell.write("long.jsonl", *(json.dumps(row) for row in (*a, *b)))
    shell.write("b.seg.score", *(f"{row['system']}\t{row['score']}" for row in b))
    signatures = "--signature b=b|v:1" if "seg" in given else ""
    signatures = "--signature a=a|v:1 --signature b=b|v:1" if "wide" in given else signatures
    done = shell(f"gate calibrate {given} --judge b --judge a {SIDES} {signatures} -q -o gate.json --force")
    assert (done.code, done.err) == (
        0,
        "mtagent: the documents are unknown, and the edits come from few blocks of segments (they count as 16 of equal "
        "size; 30 are enough), so the intervals may be too narrow\n",
    )
    shell(
        "gate calibrate -e a.jsonl b.jsonl --judge b --judge a --human human.seg.score --before old --after new -q -o x"
    )
    assert gain_of(shell) == gain_of(shell, "x")
    assert [(judge.judge, judge.signature) for judge in gain_of(shell).judges] == [("b", "b|v:1"), ("a", "a|v:1")]
    assert set(held_out(shell).alone) == {"a", "b"}
    assert "gain " in shell("gate show gate.json").out


def test_the_order_of_lines_and_a_judge_s_scale_change_no_gate(shell: Shell) -> None:
    results = []
    for scale, step in ((1.0, 1), (100.0, 1), (1.0, -1)):
        edits(shell, "a", "b", scale=scale)
        for name in "ab":
            shell.write(f"{name}.jsonl", *shell.read(f"{name}.jsonl")[::step])
        people = [json.dumps({"system": line.split("\t")[0], "id": str(n % N), "score": float(line.split("\t")[1])})
                  for n, line in enumerate(shell.read("human.seg.score"))]  # fmt: skip
        shell.write("human.jsonl", *people[::step])
        sides = SIDES.replace("human.seg.score", "human.jsonl")
        line = f"gate calibrate -e a.jsonl b.jsonl --judge a --judge b {sides} -q -o gate.json --force"
        assert shell(line).code == 0
        results.append(held_out(shell))
    assert results[0].gate == results[1].gate == results[2].gate


def test_a_judge_that_compares_and_people_s_preferences_are_read_from_pairs(shell: Shell) -> None:
    """Verdicts of the judge are right two times of three; the other judge knows nothing."""
    words = ("before", "same", "after")
    rows = [
        {"id": n, "lm": words[(n + (n % 9 == 0)) % 3], "qe_before": 1, "qe_after": 1 + n % 2, "human": words[n % 3],
         "lm_signature": "lm|1", "qe_signature": "qe|2"}
        for n in range(2 * N)
    ]  # fmt: skip
    shell.write("pairs.jsonl", *map(json.dumps, rows))
    done = shell("gate calibrate --pairs pairs.jsonl --judge lm --judge qe -o gate.json --force")
    assert done.code == 0, done.err
    compares, scores = gain_of(shell).judges
    assert (compares.signature, scores.signature) == ("lm|1", "qe|2")
    assert compares.weight > 5 * abs(scores.weight)
    assert held_out(shell).never.value == 0
    assert held_out(shell).headroom.value > 0.7  # type: ignore[operator]
    assert (made(shell).evaluator, made(shell).human) == ("lm", "preferences")


def test_a_sample_of_the_pairs_is_enough(shell: Shell) -> None:
    edits(shell, "a", size=200)
    done = shell(f"gate calibrate -e a.jsonl {SIDES} --sample 40 -o gate.json --force")
    assert done.code == 0, done.err
    assert (gain_of(shell).calibrated_on, held_out(shell).items) == (40, 200)
    assert [point.pairs for point in gain_of(shell).learning] == [50, 100]
    assert shell(f"gate calibrate -e a.jsonl {SIDES} --sample 150 -q -o gate.json --force").code == 0
    assert (gain_of(shell).calibrated_on, held_out(shell).items) == (150, 200)
    many = shell(f"gate calibrate -e a.jsonl {SIDES} --sample 201")
    assert (many.code, "--sample 201: there are 200 pairs with all scores" in many.err) == (1, True)
    few = shell(f"gate calibrate -e a.jsonl {SIDES} --sample 20")
    assert (few.code, "20 pairs with all scores: at least 30 are needed" in few.err) == (1, True)


# --- what a gate is worth elsewhere


def test_a_gate_is_checked_on_other_data(shell: Shell) -> None:
    edits(shell, "a", "b", size=100)
    shell(f"gate calibrate -e a.jsonl b.jsonl --judge a --judge b {SIDES} -l en-de -q -o gate.json --force")
    edits(shell, "a", "b", size=50)
    line = f"gate check gate.json -e b.jsonl a.jsonl {SIDES} -l en-fr"
    checked = shell(f"{line} -f json")
    assert checked.code == 0, checked.err
    assert "the gate was calibrated for the language pair en-de, not for en-fr" in checked.err
    found = json.loads(checked.out)
    assert (found["items"], found["never"]["value"], set(found["alone"])) == (50, 0, {"a", "b"})
    assert found["always"]["value"] < found["gate"]["value"] <= found["oracle"]["value"]
    assert found["gate"]["low"] <= found["gate"]["value"] <= found["gate"]["high"]
    shown = shell(line).out
    assert "50 edits of 13 documents or blocks of segments (worth 13 of equal size)" in shown
    assert f"  this gate               {found['gate']['value']:.2f}" in shown
    renamed = shell(f"gate check gate.json -e x=a.jsonl y=b.jsonl --judge x --judge y {SIDES} -f json")
    assert json.loads(renamed.out)["gate"] == found["gate"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "-e a.jsonl --judge a",
            "gate.json: the gate has 2 judges (a, b), and --judge names 1; name each one, in this order",
        ),
        (
            "-e a.jsonl b.jsonl --judge b --judge a",
            "b: the gate was calibrated for a|v:1, and these scores are of b|v:1",
        ),
        ("-e a.jsonl", "no such evaluator; there are: a"),
    ],
)
def test_a_gate_of_other_judges_is_not_checked(shell: Shell, line: str, message: str) -> None:
    edits(shell, "a", "b")
    calibration(shell, gain=expected_gain("a|v:1", "b|v:1").model_dump(), error_free=None)
    done = shell(f"gate check gate.json {line} {SIDES}")
    assert (done.code, message in done.err) == (1, True), done.err


def test_a_calibration_without_a_gate_and_data_without_edits_cannot_be_checked(shell: Shell) -> None:
    edits(shell, "a")
    calibration(shell, signature="a|v:1", gain=None)
    assert "only a threshold for error-free texts" in shell(f"gate check gate.json -e a.jsonl {SIDES}").err
    calibration(shell, signature="a|v:1")
    unnamed = shell("gate check gate.json -e a.jsonl --human human.seg.score")
    assert "there is no edit to check the gate on" in unnamed.err


# --- what is read


def test_ratings_of_mtagent_and_human_scores_of_mtme_go_together(shell: Shell) -> None:
    """As `mtagent rate` writes them, with ids; people's without, in the order of the segments."""
    shell("rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules -o ratings.jsonl -q")
    shell.write("human.mqm.seg.score", *["old\t-25"] * 3, *["ours\t0"] * 2, "ours\tNone")
    line = "gate calibrate -e ratings.jsonl --human human.mqm.seg.score --kind mqm --fewest 1 -o gate.json --force"
    done = shell(line)
    assert (done.code, done.err) == (0, "")
    assert made(shell).left_out == {"texts without a human score": 1}
    assert (made(shell).signature, made(shell).pairs, made(shell).human) == (RULES, ("en-es",), "mqm")
    few = shell(f"{line} --before old --after ours")
    assert (few.code, "2 pairs with all scores: at least 30 are needed" in few.err) == (1, True)


def test_a_stored_rating_run_and_a_score_file_give_the_same(shell: Shell) -> None:
    rate = "rate -s en.txt -t ours=es.txt -t old=en.txt -l en-es --evaluator rules"
    shell(f"{rate} -o r.seg.score --format mtme --name r -q")
    shell.write("human.jsonl", *[rated(s, n, n, errors=[]) for s in ("old", "ours") for n in (1, 2, 3)])
    common = "--human human.jsonl --error-free 2 --fewest 1"
    assert shell(f"gate calibrate --run r {common} -o a.json -q").code == 0
    assert shell("gate calibrate -e rules=r.seg.score -o b.json -q", *common.split(), "--signature", RULES).code == 0
    a, b = (made(shell, name).model_dump(exclude={"data", "pairs"}) for name in ("a.json", "b.json"))
    assert a == b
    unsigned = shell(f"gate calibrate -e r.seg.score {common} -o c.json")
    assert (unsigned.code, (shell.folder / "c.json").exists()) == (1, False)
    assert "the ratings of r carry no signature, so the gate cannot tell who made them" in unsigned.err
    assert shell(f"gate calibrate -e r.seg.score {common}").code == 0  # a table needs no signature


def test_the_stages_of_a_chain_are_calibrated_on_without_naming_them(shell: Shell) -> None:
    shell.postedit("-o out.txt --name chain -q")
    shell.write("human.seg.score", "final\t-1", "final\t-2")
    unrated = shell("gate calibrate --run chain --human human.seg.score --kind mqm")
    assert (unrated.code, "mtagent rate --run" in unrated.err) == (1, True)
    scores = {"given": 0.0, "other": 7.0, "final": 1.0}
    texts = [RatedText(system, SEGMENT, (score,), score) for system, score in scores.items()]
    (pair,) = with_edits(JudgedData(("a",), tuple(texts)), (), ()).pairs or ()
    assert (pair.scores_before, pair.differences, pair.label.after) == ((0,), (1,), 1)
    assert with_edits(JudgedData(("a",), tuple(texts[:2])), (), ()).pairs is None


def test_documents_keep_segments_together(shell: Shell) -> None:
    """They may be named in a file of their own, by the judge's or by people's."""
    edits(shell, "judge", size=72)
    lines = [json.loads(line) for line in shell.read("judge.jsonl")]
    shell.write("named.jsonl", *[json.dumps({**line, "document": f"d{int(line['id']) // 6}"}) for line in lines])
    people = [{"system": line["system"], "id": line["id"], "score": n % 5} for n, line in enumerate(lines)]
    shell.write("human.jsonl", *[json.dumps({**line, "document": f"e{int(line['id']) // 6}"}) for line in people])
    shell.write("x.docs", *[f"news\tdoc{n // 6}" for n in range(72)])
    groups = []
    for line in (
        "-e judge.jsonl --human human.seg.score", "-e judge.jsonl --human human.seg.score --documents x.docs",
        "-e named.jsonl --human human.seg.score", "-e judge.jsonl --human human.jsonl",
    ):  # fmt: skip
        assert shell(f"gate calibrate {line} --before old --after new -q -o gate.json --force").code == 0
        groups.append(held_out(shell).groups)
    assert groups == [18, 12, 12, 12], "without documents there are 18 blocks of 4 segments"


def test_texts_of_a_segment_share_the_document_that_one_of_them_names(shell: Shell) -> None:
    lines = [rated("a", n, n, signature="s", document=f"d{n // 4}") for n in range(8)]
    shell.write("judge.jsonl", *lines, *[rated("b", n, n + 1, signature="s") for n in range(8)])
    shell.write("human.seg.score", *[f"{system}\t{n}" for system in "ab" for n in range(8)])
    line = "gate calibrate -e judge.jsonl ./judge.jsonl --human human.seg.score -q --fewest 1 --error-free 0"
    assert shell(f"{line} -o gate.json --force").code == 0
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


def test_a_label_goes_before_the_score() -> None:
    good = RatedText("", SEGMENT, (0,), 90, marked=False)
    marked = good._replace(marked=True)
    assert [text.error_free(definition("esa", None)) for text in (good, marked)] == [True, False]
    assert [text.error_free(definition("esa", 91)) for text in (good, marked._replace(label=True))] == [False, True]


@pytest.mark.parametrize(("evaluator", "people"), [({"evaluator": "rules", "signature": RULES}, "judge"), ({}, "copy")])
def test_a_judge_that_is_held_against_itself_is_warned_of(shell: Shell, evaluator: dict[str, str], people: str) -> None:
    """By its signature, or where nobody signed by its equal scores."""
    for name in ("judge", "copy"):
        shell.write(f"{name}.jsonl", *[rated("a", n, n, **evaluator) for n in range(8)])
    done = shell(f"gate calibrate -e judge.jsonl --human {people}.jsonl --error-free 4 --fewest 1")
    assert (done.code, "the human scores are its own" in done.err) == (0, True)


def test_of_several_evaluators_the_judges_must_be_named(shell: Shell) -> None:
    edits(shell, "a", "b")
    unnamed = shell(f"gate calibrate -e a.jsonl b.jsonl {SIDES}")
    assert (
        "there are a, b: choose with --judge (several: a panel), or give them the same name with -e NAME=FILE"
        in unnamed.err
    )
    assert shell(f"gate calibrate -e a.jsonl b.jsonl --judge b {SIDES} -q -o gate.json --force").code == 0
    assert [judge.judge for judge in gain_of(shell).judges] == ["b"]
    old, new = ([line for line in shell.read("a.jsonl") if f'"{name}"' in line] for name in ("old", "new"))
    shell.write("old.jsonl", *old)
    shell.write("new.jsonl", *new)
    assert shell(f"gate calibrate -e old.jsonl new.jsonl {SIDES} -q -o halves.json").code == 0, "one judge in two files"
    shell(f"gate calibrate -e a.jsonl {SIDES} -q -o gate.json --force")
    assert gain_of(shell) == gain_of(shell, "halves.json")


def test_a_folder_of_mt_metrics_eval_is_calibrated_on_with_its_documents(shell: Shell) -> None:
    for name in ("human-scores", "metric-scores/en-es", "documents"):
        (shell.folder / "set" / name).mkdir(parents=True)
    scores = [(system, n) for system in ("old", "new") for n in range(80)]
    people = [f"{s}\t{n % 5 if s == 'old' else n % 5 + n % 3 - 1}" for s, n in scores]
    shell.write("set/human-scores/en-es.mqm.seg.score", *people)
    for judge in ("judge-src", "other-refA"):
        shell.write(f"set/metric-scores/en-es/{judge}.seg.score", *[f"{s}\t{n % 3 * (s == 'new')}" for s, n in scores])
    shell.write("set/documents/en-es.docs", *[f"{'news' if n < 40 else 'talk'}\td{n // 4}" for n in range(80)])
    line = "gate calibrate --mtme set --judge judge --judge other --before old --after new -o gate.json -q"
    assert shell(f"{line} --signature judge-src=s --signature other-refA=t").code == 0
    assert (made(shell).pairs, made(shell).domains, held_out(shell).groups) == (("en-es",), ("news", "talk"), 20)
    assert [judge.judge for judge in gain_of(shell).judges] == ["judge-src", "other-refA"]
    assert [(source.option, source.name) for source in made(shell).data] == [
        ("--mtme", "judge-src.seg.score"), ("--mtme", "other-refA.seg.score"), ("--mtme", "en-es.mqm.seg.score")
    ]  # fmt: skip


def test_pairs_that_a_judge_could_not_rate_are_left_out_and_counted(shell: Shell) -> None:
    edits(shell, "a", "b", size=100)
    lines = [json.loads(line) for line in shell.read("b.jsonl")]
    broken = [{**line, "score": None} if line["id"] in ("3", "4") else line for line in lines]
    shell.write("b.jsonl", *map(json.dumps, broken))
    done = shell(f"gate calibrate -e a.jsonl b.jsonl --judge a --judge b {SIDES} -o gate.json --force")
    assert done.code == 0
    assert made(shell).left_out == {"texts without a score of b": 4, "edits without all scores": 2}
    assert "left out    2 edits without all scores" in done.out
    assert (gain_of(shell).calibrated_on, held_out(shell).items) == (98, 98)


def test_a_judge_that_never_differs_counts_nothing_and_is_told(shell: Shell) -> None:
    edits(shell, "a", "b")
    shell.write(
        "b.jsonl", *[rated(s, n, 5, signature="b|v:1", evaluator="b") for s in ("old", "new") for n in range(N)]
    )
    done = shell(f"gate calibrate -e a.jsonl b.jsonl --judge a --judge b {SIDES} -o gate.json --force")
    assert (done.code, "b: its differences are all the same: it counts nothing" in done.err) == (0, True)
    assert gain_of(shell).judges[1].weight == 0


def test_what_only_one_side_scored_is_counted_and_changes_no_half(shell: Shell) -> None:
    shell.write(
        "judge.jsonl",
        *[rated(s, n, n, signature="s") for s in "ab" for n in range(60)],
        rated("a", 99, None, signature="another"),
    )
    people = [json.dumps({"system": "a", "id": n, "score": -1, "human": n}) for n in range(56, 64)]
    shell.write("human.jsonl", *people)
    assert shell(
        "gate calibrate -e judge.jsonl --human human=human.jsonl --error-free 0 --fewest 1 -q -o gate.json --force"
    ).code == 0  # fmt: skip
    free = made(shell).error_free
    assert free is not None
    assert (free.calibrated_on, free.threshold is None) == (2, False), "by the column human, not by score"
    assert made(shell).left_out["texts of systems that people did not score"] == 60
    assert made(shell).left_out["human scores of texts that no judge scored"] == 4
    pairs = shell.write("pairs.tsv", "judge\thuman", "1\t", "2\t3", "3\t4", "\t4")
    shell(f"gate calibrate --pairs {pairs.name} --error-free 3 --fewest 1 --signature s -q -o gate.json --force")
    assert made(shell).left_out == {"texts without a score of judge": 1, "texts without a human score": 1}


def test_edits_of_one_segment_are_paired_by_their_line_and_stay_in_one_half(shell: Shell) -> None:
    """Good edits that the judge likes by 10, and a harmful one that it likes less of each of the same segments.

    Without documents, neighbouring segments stay together in 14 blocks of three, the last one of one segment.
    """
    good, bad = {"judge_after": 10, "human_after": 70}, {"judge_after": -5, "human_after": 30}
    before = {"judge_before": 0, "human_before": 50, "signature": "s"}
    shell.write("pairs.jsonl", *[json.dumps({"id": n, **before, **edit}) for edit in (good, bad) for n in range(40)])
    done = shell("gate calibrate --pairs pairs.jsonl -q -o gate.json --force")
    assert done.code == 0, done.err
    found = held_out(shell)
    assert (gain_of(shell).calibrated_on, found.groups, found.items, found.always.value) == (80, 14, 80, 50)
    assert found.over_always.value == found.over_never.value == 10


def test_edits_that_are_all_in_one_half_of_the_documents_are_refused(shell: Shell) -> None:
    """All edits are of one document; the other half of the documents has single texts only."""
    lines = []
    for number in range(40):
        after = number % 7
        edit = {"judge_before": 3, "judge_after": after, "human_before": 3, "human_after": after}
        lines.append({"id": number, "document": "edited", "signature": "j|v:1", **edit})
    for number in range(40, 80):
        text = {"judge": number % 5, "human": number % 3, "signature": "j|v:1"}
        lines.append({"id": number, "document": "other", **text})
    shell.write("p.jsonl", *map(json.dumps, lines))
    done = shell("gate calibrate --pairs p.jsonl --lp en-de --error-free 1 -o gate.json")
    assert (done.code, "all 40 pairs with all scores are in one half of the documents" in done.last) == (1, True)
    assert not (shell.folder / "gate.json").exists()


def test_lines_of_pairs_are_texts_and_edits(shell: Shell) -> None:
    edit = {"judge_before": 1, "judge_after": 2, "human_before": 3, "human_after": 4}
    lines = [{"judge": 5, "error_free": "yes"}, {"id": 0, "document": 0, **edit}, {"judge": 5, "error_free": False}]
    judged = read_pairs(shell.write("p.jsonl", *map(json.dumps, lines)))
    assert [(text.segment.id, text.segment.document) for text in judged.texts] == [
        ("1", None),
        ("3", None),
        ("0", "0"),
        ("0", "0"),
    ]
    assert [(pair.group, pair.differences) for pair in judged.pairs or ()] == [(("document", "0"), (1,))]
    assert judged.left_out == {}


@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        (["id\tjudge\thuman", "7\tafter\tafter", "7\tafter\tsame", "8\tafter\tbefore", "7\tafter\t"],
         [(0, 0.5), (0, -1)]),
        ([EDIT, "1\tA\tB\t1\t2\t3\t4", "1\tA\tB\t1\t2\t3\t1", "1\tA\tC\t1\t2\t3\t1"], [(3, 2.5), (3, 1)]),
    ],
)  # fmt: skip
def test_labels_of_several_annotators_are_averaged(
    shell: Shell, lines: list[str], labels: list[tuple[float, float]]
) -> None:
    judged = read_pairs(shell.write("p.tsv", *lines))
    assert [(pair.label.before, pair.label.after) for pair in judged.pairs or ()] == labels
    assert judged.remarks == ("several labels of one edit are averaged: 1 edit",)
    assert [text.human for text in judged.texts] in ([], [3, 2.5, 3, 1])


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
    command = "gate calibrate -e judge.jsonl --human human.seg.score --error-free 4 --fewest 1"
    done = shell(command, *more.split())
    assert (done.code, message in done.err) == (code, True), done.err
    assert ("evaluator   judge\n" in done.out) == (code == 0)
    assert "version:1" not in done.out, "the table has no signature"
    assert ('"signature": "s|version:1"' in shell(f"{command} -f json", *more.split()).out) == (code == 0)


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


BOTH = "-e j --human h"
OTHER_SIGNATURE = rated("a", 9, 9, signature="t")


@pytest.mark.parametrize(
    ("line", "files", "messages"),
    [
        ("--pairs p --human h", {"p": [], "h": HUMAN}, ["--pairs has the scores of judges and people"]),
        ("--pairs p --judge j --judge j", {"p": []}, ["--judge j: is named twice"]),
        ("--pairs p --item id", {"p": []}, ["--pairs has the scores of judges and people"]),
        ("--pairs p --documents d", {"p": [], "d": []}, ["--pairs has the scores of judges and people"]),
        (BOTH, {"j": A, "h": [*HUMAN, "a\tgood"]}, ["h:5: 'good' isn't a score"]),
        (BOTH, {"j": A, "h": [*HUMAN, "a\t3"]}, ["j: 4 scores of system 'a', and h has 5"]),
        (BOTH, {"j": [*A, OTHER_SIGNATURE], "h": A}, ["j:5: was rated by t", "j:1 by s"]),
        (f"{BOTH} --before a", {"j": A, "h": HUMAN}, ["name both systems"]),
        (f"{BOTH} --before a --after z", {"j": A, "h": HUMAN}, ["no system 'z'", "there are: a"]),
        (f"{BOTH} --before a --after a", {"j": A, "h": HUMAN}, ["no edit has the scores of j and people's"]),
        (BOTH, {"j": A, "h": HUMAN}, ["there is nothing to calibrate"]),
        (f"{BOTH} --kind mqm", {"j": A, "h": ["a\tNone"] * 4}, ["there is no text with both"]),
        (f"{BOTH} --documents d", {"j": A, "h": HUMAN, "d": ["x"] * 5}, ["--documents: has 5 lines, and j 4"]),
        (f"{BOTH} --documents d", {"j": A, "h": HUMAN, "d": ['{"a": 1}'] * 4}, ["d:1: a line names a document"]),
        (f"{BOTH} --documents d --error-free 1", {"j": A, "h": HUMAN, "d": ["x"] * 4}, ["at least two"]),
        (
            f"{BOTH} --documents d --error-free 1", {"j": GAP, "h": GAP, "d": ["x"] * 3},
            ["--documents: a line is a segment in the order of j, where those of system 'b'"],
        ),
        (f"{BOTH} --resamples 0 --error-free 1", {"j": A, "h": HUMAN}, ["0 resamples"]),
        (f"{BOTH} --precision 2 --error-free 1", {"j": A, "h": HUMAN}, ["2 is not a share"]),
        (f"{BOTH} --error-free nan", {"j": A, "h": HUMAN}, ["give a number"]),
        (f"{BOTH} --judge a --judge b", {"j": A, "h": HUMAN}, ["--judge a: no such evaluator; there are: j"]),
        (f"{BOTH} --signature b", {"j": A, "h": HUMAN}, ["--signature b: the ratings are signed s"]),
        ("--pairs p", {"p": ["judge\tpeople", "1\t2"]}, ["p:2: has judge, people; an edit has human_before"]),
        ("--pairs p", {"p": ["judge\thuman", "better\tafter"]}, ["p:2: judge is 'better'; of a pair write before"]),
        ("--pairs p", {"p": [EDIT, "1\tA\tB\tnan\t2\t3\t4"]}, ["p:2: 'judge_before' must be a number, not 'nan'"]),
        ("--pairs p", {"p": [EDIT, *[f"{n}\tA\tB\t{n}\t2\t3\t4" for n in range(29)]]},
         ["29 pairs with all scores: at least 30 are needed to learn from"]),
        ("--pairs p", {"p": [EDIT, *[f"{n}\tA\tB\t{n}\t2\t3\t4" for n in range(80)]]},
         ["people see the same gain (1) in all 80 pairs: nothing can be learnt"]),
        ("--pairs p", {"p": ["judge\terror_free", "1\tyes", "1\tperhaps"]}, ["p:3: error_free is 'perhaps'"]),
        ("--pairs p", {"p": ['{"judge": true, "human": 2}']}, ["p:1: 'judge' must be a number, not True"]),
        ("--pairs p --judge k", {"p": ["judge\terror_free\tevaluator", "1\tyes\tj"]},
         ["--judge k: the scores are those of j"]),
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


# --- on paper

BEATS, LOSES = "the gate is better than keeping no edit", "the gate is WORSE than keeping no edit"


@pytest.mark.parametrize(
    ("over_never", "over_always", "told"),
    [
        ((2, 1, 3), (0, -1, 1), [BEATS, "the gate may be better or worse than keeping every edit"]),
        ((-2, -3, -1), (0, None, None), [LOSES, "the gate does the same as keeping every edit"]),
        (
            (2, None, None),
            (0.5, 0.1, 1),
            [
                "it is unknown whether the gate is better than keeping no edit: the edits are from too few documents "
                "or segments, or all alike",
                "the gate is better than keeping every edit",
            ],
        ),
    ],
)
def test_what_the_gate_does_not_beat_is_told(
    over_never: tuple[float, float, float], over_always: tuple[float, float, float], told: list[str]
) -> None:
    leads = {"over_never": over_never, "over_always": over_always}
    changed = {name: Figure(value=value, low=low, high=high) for name, (value, low, high) in leads.items()}
    assert list(verdict(effect().model_copy(update=changed))) == told


@pytest.mark.parametrize(
    ("found", "options", "shown"),
    [
        (Figure(value=70.514, low=69.8, high=71.2), {}, "70.51 [69.80, 71.20]"),
        (Figure(value=0.05, low=0.01, high=0.06), {"signed": True}, "+0.0500 [+0.0100, +0.0600]"),
        (Figure(value=0.351, low=0.33, high=0.372), {"percent": True}, "35.1 % [33.0, 37.2]"),
        (Figure(value=0.5), {"percent": True}, "50.0 %"),
        (Figure(value=None), {}, "-"),
    ],
)
def test_a_figure_is_shown_with_its_interval(found: Figure, options: dict[str, bool], shown: str) -> None:
    assert figure(found, **options) == shown


@pytest.mark.slow
@pytest.mark.data
def test_the_table_in_the_docs_is_true(data: Path, shell: Shell) -> None:
    page = (ROOT / "docs" / "how-to" / "gate.md").read_text(encoding="utf-8")
    file, typed = "wmt25_paragraph_scores.tsv", page.split("\n$ mtagent gate calibrate ", 1)[1].partition("\n")[0]
    done = shell(f"gate calibrate {typed.replace(file, str(data / file))}")
    told = [line for line in done.out.splitlines() if not line.startswith("made ")]
    assert len(told) > 30
    assert [line for line in told if line not in page] == []
    assert done.out[done.out.index("gain ") :] in page


def test_a_file_that_is_there_is_replaced_with_force_only(shell: Shell) -> None:
    shell.write("en.txt", "Mine.")
    edits(shell, "a")
    line = f"gate calibrate -e a.jsonl {SIDES} -q -o"
    assert shell(f"{line} gate.json").code == 0
    for name in ("gate.json", "en.txt"):
        before = (shell.folder / name).read_bytes()
        done = shell(f"{line} {name}")
        assert (done.code, done.err) == (1, f"mtagent: {name}: already exists; --force replaces it\n")
        assert (shell.folder / name).read_bytes() == before


def test_a_signature_for_a_judge_that_is_not_there_is_refused(shell: Shell) -> None:
    edits(shell, "a")
    done = shell(f"gate calibrate -e a.jsonl {SIDES} --signature b=model -q")
    assert (done.code, done.err) == (1, "mtagent: --signature b=model: no judge 'b'; there are a\n")
