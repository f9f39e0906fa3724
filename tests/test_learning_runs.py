"""A gate from a stored run: labels by a teacher and by people, and what is said of labels that are no use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtagent.chain.calibration import read
from mtagent.chain.decided_text import decided
from mtagent.chain.guards import GUARDS
from mtagent.config import load
from mtagent.errors import ConfigError, InputError
from mtagent.evaluators.rules import Rules
from mtagent.jobs.parts import OwnParts
from mtagent.learning.calibrate import calibrate
from mtagent.learning.gain import learnt_groups
from mtagent.learning.pairs import AFTER, BEFORE, JudgedData, JudgedPair, Label, RatedText, definition, group_of
from mtagent.learning.runs import (
    EditLabels,
    decided_gain,
    edits_to_judge,
    judge_edits,
    of_chains,
    of_own_gate,
    pairs_in,
)
from mtagent.learning.text import text
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import (
    Chain,
    DecidedCause,
    Edit,
    GainCause,
    GuardsCause,
    Judgement,
    Message,
    PlainCause,
    Segment,
    Step,
)
from mtagent.records.decisions import Decision
from tests import stored
from tests.commands import Done, Shell
from tests.simulator import taught

SIGNED = Rules().signature


def model(fails: Sequence[str] = ()) -> ScriptedLLM:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        asked = [{"role": message.role, "content": message.content} for message in messages]
        if any(word in messages[-1].content for word in fails):
            raise RuntimeError("no")
        return str(taught.answer({"model": "small", "messages": asked}))

    return ScriptedLLM(reply, model="small")


def edited(number: int, *, judged: str | None = SIGNED, **more: Any) -> Chain:
    """A segment whose edit helps where its number is even: a full stop is restored, or lost."""
    whole, cut = f"El informe {number} es bueno.", f"El informe {number} es bueno"
    before, after = (whole, cut) if number % 2 else (cut, whole)
    fields = {"id": str(number), "source": f"Report {number} is good.", "source_lang": "en", "target_lang": "es"}
    gain = -0.1 if number % 2 else 0.1
    judgements = (Judgement(judge="rules", signature=judged, before=0, after=gain),) if judged is not None else ()
    cause = DecidedCause(kind="scores", judgements=judgements) if judgements else PlainCause(kind="unchecked")
    made = Step(stage="postedit", text=after, proposed=after, verdict="kept", cause=cause)
    return Chain(segment=Segment(translation=before, **{**fields, **more}), steps=(made,))


def run(shell: Shell, *chains: Chain) -> None:
    stored.store(shell.folder / "store.db", "first", *(chains or [edited(number) for number in range(60)]))


def preferences(shell: Shell, *rows: str, head: str = "id\tpreference", name: str = "labels.tsv") -> Path:
    """Labels of all 60 edits, a tenth of them same; or the ``rows`` that are given."""
    said = {0: "after", 1: "before"}
    usual = [f"{number}\t{'same' if number % 10 == 9 else said[number % 2]}" for number in range(60)]
    return shell.write(name, head, *(rows or usual))


def calibrated(shell: Shell, line: str = "--human labels.tsv -o gate.json --force") -> Done:
    return shell(f"gate calibrate --run first {line}")


# --- labels by people


def test_preferences_and_the_judgements_in_the_run_make_a_gate_and_no_model_is_asked(shell: Shell) -> None:
    run(shell)
    said = ["after", "before"]
    preferences(shell, *[f"{number}\t{'same' if number % 7 == 0 else said[number % 2]}" for number in range(60)])
    done = calibrated(shell)
    assert done.code == 0, done.err
    assert "no model is called, because the run's own ratings are stored" in done.err
    assert (
        done.err.splitlines()[0] == "mtagent: learning from 60 of the 60 edited texts of run first, those with a label"
    )
    never, always, alone, next_command = done.err.splitlines()[-4:]
    assert never.startswith("  the gate is better than keeping no edit (+")
    assert always.startswith("  the gate is better than keeping every edit (+")
    assert alone.endswith("if the judge decides alone, without learning")
    assert next_command == (
        "mtagent: next, repeat the command that made first, with --calibration gate.json and another -o"
    )
    made = read(shell.folder / "gate.json")
    assert (made.human, made.pairs, [source.option for source in made.data]) == (
        "preferences", ("en-es",), ["--run", "--human"],
    )  # fmt: skip
    assert made.gain is not None
    assert made.gain.judges[0].signature == SIGNED
    assert made.gain.calibrated_on == 60
    assert made.gain.held_out is not None
    assert (made.gain.held_out.items, made.gain.held_out.never.value) == (60, 0)
    good = Judgement(judge="rules", signature=SIGNED, before=0, after=0.1)
    assert made.gain.predict([good]) > 0 > made.gain.predict([good.model_copy(update={"after": -0.1})])
    assert list(shell.runs()) == ["first"]


def test_what_people_accepted_and_rejected_makes_the_same_gate(shell: Shell) -> None:
    run(shell)
    preferences(shell, *[f"{number}\t{'before' if number % 2 else 'after'}" for number in range(50)])
    assert calibrated(shell).code == 0
    shell.write("d.csv", "segment,edit,decision", *(f"{n},,{'reject' if n % 2 else 'accept'}" for n in range(50)))
    assert shell("decide first d.csv").code == 0
    done = calibrated(shell, "--decisions -o decided.json")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        "mtagent: learning from your decisions on 50 edited texts (25 accepted, 25 rejected) of run first; 200 are "
        "recommended, and the run has 60",
    )
    assert "no model is called, because the run's own ratings are stored" in done.err
    made, other = read(shell.folder / "decided.json"), read(shell.folder / "gate.json")
    assert made.gain == other.gain
    assert (made.human, [source.option for source in made.data]) == ("decisions", ["--run", "--decisions"])
    assert shell("revert first", *map(str, range(30)), "--undo").code == 0
    few = calibrated(shell, "--decisions -o none.json").last
    assert (
        "20 edited texts (10 accepted, 10 rejected); at least 30 are needed to learn from; 200 are recommended" in few
    )
    assert few.endswith("Go on with `mtagent review first`")
    assert shell("revert first", *map(str, range(30, 50)), "--undo").code == 0
    assert "0 edited texts (0 accepted, 0 rejected)" in calibrated(shell, "--decisions -o none.json").last


def test_a_sample_of_the_labelled_edits_is_learnt_from(shell: Shell) -> None:
    run(shell)
    preferences(shell, *[f"{number}\t{'before' if number % 2 else 'after'}" for number in range(50)])
    done = calibrated(shell, "--human labels.tsv --sample 40 -o gate.json")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        "mtagent: learning from 40 of the 60 edited texts of run first, those with a label",
    )
    made = read(shell.folder / "gate.json")
    assert made.gain is not None
    assert made.gain.calibrated_on == 40


def test_equal_texts_stay_together_where_a_gate_is_tried_on_texts_that_it_was_not_learnt_from(shell: Shell) -> None:
    """Sixty edits of ten texts are worth no more than ten."""
    run(shell, *[edited(number % 10, id=str(number), document=f"d{number}") for number in range(60)])
    shell.write("d.csv", "segment,edit,decision", *(f"{n},,{'reject' if n % 2 else 'accept'}" for n in range(60)))
    assert shell("decide first d.csv").code == 0
    assert calibrated(shell, "--decisions -o gate.json").code == 0
    made = read(shell.folder / "gate.json")
    assert made.gain is not None
    assert made.gain.held_out is not None
    assert (made.gain.held_out.items, made.gain.held_out.groups) == (60, 10)


def test_equal_labels_are_refused_before_a_judge_is_paid_for(shell: Shell) -> None:
    run(shell, *[edited(number, judged=None) for number in range(60)])
    preferences(shell, *[f"{number}\tafter" for number in range(60)])
    done = calibrated(shell, "--human labels.tsv --judge gemba-da -o gate.json")
    assert "people see the same gain (1) in all 60 pairs" in done.last
    assert list(shell.runs()) == ["first"]


def test_too_few_decisions_on_a_run_without_judges_are_told_in_one_go(shell: Shell) -> None:
    run(shell, *[edited(number, judged=None) for number in range(60)])
    assert shell("accept first 2 4").code == 0
    last = calibrated(shell, "--decisions -o gate.json").last
    assert "2 edited texts (2 accepted, 0 rejected); at least 30 are needed to learn from" in last
    assert "; and no judge has rated its edits: name judges with --judge, as in `--judge pairwise --model" in last


@pytest.mark.parametrize(("decisions", "gain"), [
    ([(None, "accept")], 1.0), ([(None, "reject")], -1.0), ([(1, "accept")], None),
    ([(1, "accept"), (2, "accept")], 1.0), ([(1, "accept"), (2, "reject")], 0.0),
    ([(1, "reject"), (2, "reject")], -1.0), ([(2, "reject"), (None, "accept")], 0.0),
    ([(1, "accept"), (2, "text", "bb")], 0.25), ([(None, "text", "x y")], 1.0), ([(None, "text", "a b")], -1.0),
])  # fmt: skip
def test_what_decisions_say_of_an_edit_that_a_gate_decided_on(
    decisions: list[tuple[Any, ...]], gain: float | None
) -> None:
    """An edit of two parts; with 'a' -> 'x' alone, where the second is rejected and the segment accepted."""
    changes = tuple(
        Edit(old=old, new=new, start=start, end=start + 1, outcome="applied")
        for old, new, start in (("a", "x", 0), ("b", "y", 2))
    )
    segment = Segment(id="1", source="-", source_lang="en", target_lang="es", translation="a b")
    step = Step(stage="postedit", text="x y", proposed="x y", edits=changes, verdict="kept", cause="better")
    made = Chain(segment=segment, steps=(step,))
    history = [
        Decision(segment="1", edit=edit, verdict=verdict, text=own[0] if own else None)
        for edit, verdict, *own in decisions
    ]
    (pair,) = pairs_in(made, as_kept=True)
    assert decided_gain(decided(made, history, skip=GUARDS.keys()), pair) == gain


def test_a_named_judge_is_asked_for_the_labelled_edits_alone_and_the_run_resumes(shell: Shell) -> None:
    run(shell, *(edited(number, judged=None) for number in range(60)))
    preferences(shell, *[f"{number}\t{'before' if number % 2 else 'after'}" for number in range(40)])
    done = calibrated(shell, "--judge rules --human labels.tsv -o gate.json --force")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        "mtagent: learning from 40 of the 60 edited texts of run first, those with a label",
    )
    assert "mtagent: 40 edited texts judged, 0 failed; 0 calls" in done.err
    again = calibrated(shell, "--judge rules --human labels.tsv -o again.json")
    assert "40 of 40 segments are done" in again.err
    assert (shell.folder / "again.json").read_text() == (shell.folder / "gate.json").read_text()


def test_a_former_calibration_in_the_settings_is_written_anew(shell: Shell) -> None:
    run(shell)
    preferences(shell)
    shell.write("mtagent.toml", 'calibration = "gate.json"', "cautious = 0.8")
    assert [calibrated(shell).code for _ in range(2)] == [0, 0]


def test_scores_of_people_are_labels_too_and_give_a_threshold(shell: Shell) -> None:
    run(shell)
    rows = [f"{number}\tpostedit\t{50 + 40 * (number % 2)}\t{90 - 40 * (number % 2)}" for number in range(60)]
    preferences(shell, *rows, head="id\tstage\thuman_before\thuman_after")
    assert calibrated(shell, "--human labels.tsv --error-free 85 -o gate.json -q --force").code == 0
    made = read(shell.folder / "gate.json")
    assert made.human == "human scores"
    assert made.gain is not None
    assert made.gain.held_out is not None
    assert made.gain.held_out.oracle.value == 90
    assert made.threshold == 0.1


def test_a_preference_beside_scores_is_no_score_of_a_text(shell: Shell) -> None:
    run(shell)
    scores = [json.dumps({"id": str(number), "human_before": 50, "human_after": 60 + number}) for number in range(40)]
    preferred = [json.dumps({"id": str(number), "preference": "before"}) for number in range(40, 60)]
    labels = EditLabels.read(shell.write("labels.jsonl", *scores, *preferred))
    judged = of_own_gate(edits_to_judge(load(None, {}), "first", labels))
    assert judged.people == "human scores"
    assert len(judged.pairs or ()) == 60
    assert {text.segment.id for text in judged.texts} == {str(number) for number in range(40)}


def test_labels_of_several_annotators_are_averaged_and_told(shell: Shell) -> None:
    run(shell)
    rows = [f"{number}\t\t{'before' if number % 2 else 'after'}" for number in range(40)]
    preferences(shell, *rows, "0\t\tsame", "1\tpostedit\tafter", "1\tpostedit\tbefore", head="id\tstage\tpreference")
    labels = EditLabels.read(shell.folder / "labels.tsv")
    judged = of_own_gate(edits_to_judge(load(None, {}), "first", labels))
    gains = {pair.segment.id: pair.label.gain for pair in judged.pairs or ()}
    assert (len(gains), gains["0"], gains["2"]) == (40, 0.5, 1)
    assert gains["1"] == pytest.approx(-1 / 3)
    done = calibrated(shell)
    assert "mtagent: several labels of one edit are averaged: 2 edits" in done.err
    assert read(shell.folder / "gate.json").remarks[0] == "several labels of one edit are averaged: 2 edits"


def test_scores_and_a_preference_of_one_edit_have_no_mean(shell: Shell) -> None:
    run(shell)
    rows = [{"id": "1", "preference": "after"}, {"id": "1", "human_before": 50, "human_after": 60}]
    shell.write("labels.jsonl", *map(json.dumps, rows))
    done = calibrated(shell, "--human labels.jsonl")
    assert done.code == 1
    assert "labels.jsonl:2: this label and the one in labels.jsonl:1 are of the same edit; expected scores" in done.last


@pytest.mark.parametrize(("rows", "head", "error"), [
    (["1\tbetter"], "id\tpreference", "labels.tsv:2: preference is 'better'; of a pair write before, after or same"),
    (["1\tp\tafter"], "id\tstage\tpreference", "labels.tsv:2: there is no stage 'p'; write postedit or proofread"),
    (["\tafter"], "id\tpreference",
     "labels.tsv:2: has no id: name the segment whose edit it is about; scores of single texts go with the ratings of "
     "the run: mtagent rate --run"),
    (["1\tafter"], "id\tscore",
     "labels.tsv:2: has id, score; the label of an edit is a preference (before, after or same), or human_before and "
     "human_after; scores of single texts go with the ratings of the run: mtagent rate --run"),
    (["1\tNaN\t3"], "id\thuman_before\thuman_after",
     "labels.tsv:2: 'human_before' must be a number, not 'NaN'; a missing score is None or an empty cell"),
    ([f"{number}\tafter" for number in range(20)], "id\tpreference",
     "run 'first': has 60 edited texts that a gate decides on, of which 20 are labelled in labels.tsv: at least 30 are "
     "needed to learn from"),
    ([f"{number}\tafter" for number in range(60)], "id\tpreference",
     "people see the same gain (1) in all 60 pairs: nothing can be learnt; also label worse edits"),
])  # fmt: skip
def test_labels_that_are_no_use_are_one_clear_line(rows: list[str], head: str, error: str, shell: Shell) -> None:
    run(shell)
    preferences(shell, *rows, head=head)
    done = calibrated(shell)
    assert (done.code, done.last) == (1, f"mtagent: {error}")
    assert not (shell.folder / "gate.json").exists()


def test_a_label_that_is_given_twice_counts_once_and_labels_of_no_edit_are_named(shell: Shell) -> None:
    run(shell)
    rows = [f"{number}\t{'before' if number % 2 else 'after'}" for number in range(40)]
    preferences(shell, *rows, *rows, "x1\tafter", "59\t")
    done = calibrated(shell)
    assert done.code == 0
    assert "mtagent: labels of no edit in the run: x1" in done.err
    made = read(shell.folder / "gate.json")
    assert made.gain is not None
    assert (made.gain.calibrated_on, made.left_out) == (40, {"labels of no edit in the run": 1})


def test_a_label_without_a_stage_is_refused_where_two_stages_edited(shell: Shell) -> None:
    both = edited(0)
    reworded = both.steps[0].model_copy(update={"stage": "proofread", "proposed": "Muy bueno.", "text": "Muy bueno."})
    run(shell, both.model_copy(update={"steps": (*both.steps, reworded)}))
    preferences(shell, "0\tafter")
    error = "labels.tsv:2: segment 0 has an edit in postedit and in proofread: name the stage in a column `stage`"
    assert calibrated(shell).last == f"mtagent: {error}"
    preferences(shell, "0\tproofread\tafter", head="id\tstage\tpreference")
    assert "1 are labelled in labels.tsv" in calibrated(shell).last


def test_a_run_whose_edits_nobody_judged_wants_judges(shell: Shell) -> None:
    run(shell, *(edited(number, judged=None) for number in range(60)))
    preferences(shell)
    assert "run 'first': no judge has rated its edits: name judges with --judge, as in" in calibrated(shell).last


def test_edits_that_nobody_judged_are_left_out_and_two_panels_are_refused(shell: Shell) -> None:
    run(shell, *(edited(number, judged=SIGNED if number < 50 else None) for number in range(60)))
    preferences(shell)
    assert calibrated(shell).code == 0
    assert read(shell.folder / "gate.json").left_out == {"edits that no judge has rated": 10}
    (shell.folder / "store.db").unlink()
    run(shell, *(edited(number, judged=SIGNED if number < 50 else "other|1") for number in range(60)))
    assert "its edits were judged by different panels (" in calibrated(shell).last


def test_edits_that_a_judge_was_not_asked_about_are_counted_and_left_out(shell: Shell) -> None:
    def clear(number: int) -> Chain:
        chain = edited(number)
        (step,) = chain.steps
        cause = GainCause(judgements=step.cause.judgements, gain=1, chance=0.9, unasked=("gemba-da",))
        return chain.model_copy(update={"steps": (step.model_copy(update={"cause": cause}),)})

    for asked, code in ((50, 0), (20, 1)):
        run(shell, *(edited(number) if number < asked else clear(number) for number in range(60)))
        preferences(shell)
        done = calibrated(shell)
        assert done.code == code
        assert f"gemba-da: not asked about {60 - asked} of 60 edits, on which the decision was clear" in done.err
        assert "name all judges with --judge, and they are asked about these, too" in done.err
        (shell.folder / "store.db").unlink()
    assert read(shell.folder / "gate.json").left_out == {"edits that not all judges have rated": 10}
    run(shell, *map(clear, range(60)))
    assert calibrated(shell, "--judge rules --human labels.tsv -o gate.json --force").code == 0


def test_another_language_pair_is_left_out_if_one_is_named(shell: Shell) -> None:
    run(shell, *(edited(number, target_lang="es" if number < 40 else "pt") for number in range(60)))
    preferences(shell)
    assert calibrated(shell, "-l en-es --human labels.tsv -o gate.json --force").code == 0
    assert read(shell.folder / "gate.json").pairs == ("en-es",)


@pytest.mark.parametrize(("line", "error"), [
    ("--judge rules", "expected one source of labels; give either --decisions, --human FILE, or --teacher NAME"),
    ("--judge rules --teacher rules:x=1 --human labels.tsv", "expected one source of labels"),
    ("--human labels.tsv --before given --after final", "a chain run (--run) contains its edits; leave out --before"),
    ("--run second --judge rules --teacher spans-file", "--teacher and --decisions label the edits of one chain run"),
    ("--pairs labels.tsv --budget 3", "a chain run (--run) contains its edits; leave out --pairs"),
])  # fmt: skip
def test_wrong_usage(line: str, error: str, shell: Shell) -> None:
    run(shell)
    preferences(shell)
    done = calibrated(shell, line)
    assert (done.code, f"Error: {error}" in done.err) == (2, True), done.err


def test_scores_that_are_read_need_no_model(shell: Shell) -> None:
    done = shell("gate calibrate --pairs pairs.tsv --budget 3")
    assert done.code == 2
    assert "--budget: needs a chain run (--run); from files of scores the gate is learned without a model" in done.err


# --- a teacher


def taught_by(shell: Shell, llm: ScriptedLLM, teacher: str = "pairwise", **more: Any) -> JudgedData:
    settings = {"model": "small", "judge": {"evaluator": more.pop("judges", ("gemba-da", "pairwise"))}}
    config = load(None, settings)
    edits = edits_to_judge(config, "first", **more)
    return of_chains(edits, asyncio.run(judge_edits(config, edits, teacher=teacher, own=OwnParts(llm=llm))).chains)


def worse_or_better(number: int) -> Chain:
    """An edit that the simulator's models see: a good text is spoilt, or a bad one mended."""
    good, bad = f"El informe {number} es bueno.", f"El informe {number} es errado."
    before, after = (good, bad) if number % 2 else (bad, good)
    chain = edited(number, document=f"d{number // 2}", domain="reports")
    made = chain.steps[0].model_copy(update={"proposed": after, "text": before, "verdict": "rejected"})
    return Chain(segment=chain.segment.model_copy(update={"translation": before}), steps=(made,))


def test_a_teachers_scores_are_the_labels_and_documents_stay_together(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(60)))
    judged = taught_by(shell, model(), "gemba-da:reference=yes")
    assert judged.pairs is not None
    assert len(judged.pairs) == 60
    first = next(pair for pair in judged.pairs if pair.name == "0 postedit")
    assert (first.label.before, first.label.after) == tuple(
        round(taught.seen("small", text), 2) for text in ("El informe 0 es errado.", "El informe 0 es bueno.")
    )
    assert first.group == ("document", "d0")
    assert first.scores_before[1] is None
    assert judged.people.startswith("teacher gemba-da|model:small")
    assert (judged.domains, judged.language_pairs) == (("reports",), ("en-es",))
    learnt = calibrate(judged, definition(None, None))
    assert learnt.gain is not None
    assert learnt.gain.held_out is not None
    assert (learnt.gain.calibrated_on, learnt.gain.held_out.groups) == (60, 30)
    table = text(learnt)
    assert "\nteacher     gemba-da|model:small|" in table
    extent = "60 edited texts of 30 documents or blocks of segments (worth 30 of equal size)"
    assert f"tested on edited texts that it did not learn from: {extent};\nteacher's score with 95 % interval:" in table
    assert "human" not in table


def test_a_teacher_that_compares_gives_preferences(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(60)))
    judged = taught_by(shell, model(), judges="gemba-da")
    assert judged.pairs is not None
    assert {(pair.label.before, pair.label.after) for pair in judged.pairs} <= {(0, -1), (0, 0), (0, 1)}
    assert all(text.human is None for text in judged.texts)


def test_edits_that_a_judge_fails_for_are_left_out_counted_and_named(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(60)))
    judged = taught_by(shell, model(fails=["informe 7 ", "informe 8 "]), judges="gemba-da")
    assert judged.left_out == {"edits for which gemba-da failed": 2}
    assert judged.remarks == ("gemba-da failed for 7, 8: left out",)
    assert judged.pairs is not None
    assert len(judged.pairs) == 58


def test_a_teacher_that_fails_is_called_the_teacher(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(60)))
    judged = taught_by(shell, model(fails=["informe 7 "]), "gemba-da:reference=yes", judges="rules")
    assert judged.remarks == ("the teacher gemba-da failed for 7: left out",)


def test_two_judges_of_one_name_are_told_apart_by_their_signatures(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(40)))
    judged = taught_by(shell, model(), judges=("gemba-da", "gemba-da:reference=yes"))
    assert judged.judges == ("gemba-da (reference:no)", "gemba-da (reference:yes)")


@pytest.mark.parametrize(("number", "sample", "error"), [
    (20, 200, "run 'first': has 20 edited texts that a gate decides on: at least 30 are needed to learn from"),
    (60, 20, "run 'first': has 60 edited texts that a gate decides on; the sample is of 20: at least 30"),
])  # fmt: skip
def test_too_few_edits_are_refused_before_anything_is_asked(number: int, sample: int, error: str, shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(number)))
    llm = model()
    with pytest.raises(InputError) as refused:
        taught_by(shell, llm, sample=sample)
    assert str(refused.value).startswith(error)
    assert llm.requests == []


def test_what_the_guards_refused_is_told_where_too_little_is_left(shell: Shell) -> None:
    refused = edited(0).steps[0].model_copy(update={"verdict": "rejected", "cause": GuardsCause()})
    chains = [edited(number).model_copy(update={"steps": (refused,)}) for number in range(40)]
    run(shell, *chains)
    with pytest.raises(
        InputError, match=r"has 0 edited texts that a gate decides on \(and 40 that the guards refused\)"
    ):
        taught_by(shell, model())


def test_a_dry_run_says_what_it_would_take_and_asks_nobody(shell: Shell) -> None:
    run(shell, *map(worse_or_better, range(60)))
    teacher = "--teacher gemba-esa:model=gpt-6.1-sol --sample 40 --dry-run"
    done = calibrated(shell, f"--model gpt-6-luna --judge gemba-da --judge pairwise --samples 2 {teacher}")
    assert done.code == 0, done.err
    rows = {line.split("  ")[0]: line.split()[-5] for line in done.lines[1:6]}
    judges = {"gemba-da": "160", "pairwise": "80", "teacher gemba-esa:model=gpt-6.1-sol": "160"}
    assert rows == judges | {"reserve": "0–3", "total": "400–403"}
    assert done.last.startswith(
        "mtagent: learning from 40 of the 60 edited texts of run first, drawn evenly by size. Nothing was sent"
    )
    assert list(shell.runs()) == ["first"]


def test_the_value_of_a_gate_is_learnt_crosswise_from_all_labels(shell: Shell) -> None:
    run(shell)
    judged = of_own_gate(edits_to_judge(load(None, {}), "first", EditLabels.read(preferences(shell))))
    gain = calibrate(judged, definition(None, None)).gain
    assert gain is not None
    assert gain.held_out is not None
    assert (gain.calibrated_on, gain.held_out.items) == (60, 60)


def test_triage_is_reported_on_texts_that_its_threshold_was_not_chosen_on() -> None:
    """The judge says what people say, so that every gate keeps the same edits."""
    texts, pairs = list[RatedText](), list[JudgedPair]()
    for number in range(90):
        before, after = float(number % 7 * 10), float(number % 11 * 8)
        segment = Segment(id=str(number), source="", source_lang="en", target_lang="es")
        judgements = (Judgement(judge="A", before=before, after=after),)
        label = Label(before, after, has_scores=True)
        pairs.append(JudgedPair(segment, group_of(segment), judgements=judgements, label=label))
        texts += pairs[-1].texts
    assert [text.system for text in texts[:2]] == [BEFORE, AFTER]
    judged = JudgedData(("A",), tuple(texts), tuple(pairs), ("A",))
    gain = calibrate(judged, definition(None, 50.0)).gain
    assert gain is not None
    (point,) = (point for point in gain.triage if point.calibrated)
    half = learnt_groups(np.bincount([judged.groups[pair.group] for pair in pairs]))
    others = [pair for pair in pairs if not half[judged.groups[pair.group]]]
    humans = [pair.label.before if pair.label.before >= point.threshold else max(pair.label[:2]) for pair in others]
    assert 40 <= len(others) <= 50
    assert point.human.value == pytest.approx(np.mean(humans))


def test_people_or_a_teacher_must_label(shell: Shell) -> None:
    run(shell)
    with pytest.raises(ConfigError, match="name the gate's judges with --judge"):
        edits_to_judge(load(None, {}), "first")
