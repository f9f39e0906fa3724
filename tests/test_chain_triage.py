"""Triage: texts that a judge rates high enough are not touched, and nothing else is asked about them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import OpenGate, Threshold
from mtagent.chain.proofread import Proofreader
from mtagent.config import load
from mtagent.errors import ConfigError, EvaluationError
from mtagent.evaluators.rules import Rules
from mtagent.jobs.estimate import counter, estimate
from mtagent.jobs.inputs import Files
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.records import Call, Message, Rating, Segment, Usage
from mtagent.store import Store
from tests.commands import IMPROVED, TRANSLATIONS, Shell
from tests.simulator.marks import segments

GOOD, BAD = "El puente es viejo.", "El puente es errado."


def segment(translation: str | None = GOOD) -> Segment:
    return Segment(id="1", source="The bridge is old.", source_lang="en", target_lang="es", translation=translation)


class Scorer:
    """Gives each text a score, and counts how often it is asked."""

    name = "scorer"
    signature = "scorer|v:1"

    def __init__(self, *errors: Exception, **scores: float) -> None:
        self.scores = {GOOD: 0.9, BAD: 0.4, **scores}
        self.errors, self.asked = list(errors), list[str]()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.asked.append(translation)
        if self.errors:
            raise self.errors.pop()
        call = Call(purpose="triage", model="q", usage=Usage(calls=1, input_tokens=7))
        return Rating(evaluator=self.name, score=self.scores[translation], calls=(call,), signature=self.signature)


class Reviewer:
    """Puts one word right."""

    name = "reviewer"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        corrected = translation.replace("errado", "viejo")
        errors = None if corrected != translation else ()
        return Rating(evaluator=self.name, score=0 if errors == () else -5, errors=errors, correction=corrected)


class Untouchable:
    """Must not rate."""

    name = "untouchable"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        raise AssertionError("nothing is asked about a text that is skipped")


def plan(triage: Any, threshold: float = 0.8, evaluator: Any = None, **more: Any) -> Plan:
    proofreader = Proofreader(ForbiddenLLM())
    parts = {"stages": ("postedit", "proofread"), "proofreader": proofreader, "gate": OpenGate("guards"), **more}
    return Plan(evaluator=evaluator or Untouchable(), triage=Threshold(triage, threshold), **parts)


@pytest.mark.parametrize("threshold", [0.8, 0.9])
async def test_a_text_that_reaches_the_threshold_is_skipped_by_every_later_stage(threshold: float) -> None:
    scorer = Scorer()
    chain = await improve(segment(), plan(scorer, threshold))
    assert [(step.stage, step.verdict, step.text) for step in chain.steps] == [
        ("postedit", "unchanged", GOOD),
        ("proofread", "unchanged", GOOD),
    ]
    for step in chain.steps:
        assert (step.cause.kind, step.cause.by, step.cause.score) == ("triage", "scorer", 0.9)
        assert (step.cause.threshold, step.proposed, step.edits) == (threshold, None, ())
        assert step.reason == f"skipped by triage: scorer 0.9, and {threshold:g} is enough"
        (rating,) = step.ratings
        assert (rating.role, rating.score) == ("triage", 0.9)
    assert scorer.asked == [GOOD], "exactly one rating"
    assert [step.usage.calls for step in chain.steps] == [1, 0], "which is paid for once"
    assert (chain.state, chain.usage.input_tokens) == ("unchanged", 7)


async def test_a_text_below_it_is_worked_on_and_the_rating_stands_with_the_first_step() -> None:
    scorer = Scorer()
    llm = ScriptedLLM([GOOD])
    chain = await improve(
        segment(BAD), plan(scorer, 0.8, Reviewer(), proofreader=Proofreader(llm), stop_when_error_free=False)
    )
    postedit, proofread = chain.steps
    assert (chain.text, postedit.verdict) == (GOOD, "kept")
    assert [(rating.role, rating.score) for rating in postedit.ratings] == [("triage", 0.4), ("editor", -5)]
    assert [call.purpose for call in postedit.calls] == ["triage"]
    assert (proofread.ratings, scorer.asked) == ((), [BAD]), "what was edited is not rated again"
    llm.finish()


async def test_a_fresh_translation_is_judged_after_it_was_made() -> None:
    class Translator:
        name = "mt"

        async def draft(self, segment: Segment) -> Any:
            from mtagent.records import Draft

            return Draft(text=GOOD)

    scorer = Scorer()
    chain = await improve(segment(None), plan(scorer, stages=("translate", "postedit"), translator=Translator()))
    assert [(step.stage, step.cause.kind) for step in chain.steps] == [
        ("translate", "translated"),
        ("postedit", "triage"),
    ]
    assert scorer.asked == [GOOD]


async def test_an_empty_translation_is_never_skipped() -> None:
    scorer = Scorer(**{"": 1.0})
    chain = await improve(segment(""), plan(scorer, evaluator=Reviewer(), stages=("postedit",)))
    assert scorer.asked == []
    assert chain.steps[0].cause.kind != "triage"


async def test_a_judge_that_fails_fails_the_step_and_the_text_stays() -> None:
    error = EvaluationError("no score")
    error.calls = (Call(purpose="triage", model="q", usage=Usage(calls=1)),)
    chain = await improve(segment(), plan(Scorer(error)))
    (step,) = chain.steps
    assert (step.stage, step.verdict, step.text) == ("postedit", "failed", GOOD)
    assert step.reason == "no score"
    assert step.usage.calls == 1


async def test_the_post_editor_s_own_evaluator_rates_once_for_both() -> None:
    class Marker(Scorer):
        async def rate(self, segment: Segment, translation: str) -> Rating:
            return (await super().rate(segment, translation)).model_copy(update={"correction": GOOD})

    marker = Marker()
    chain = await improve(segment(BAD), plan(marker, 0.8, marker, stages=("postedit",)))
    assert (chain.text, marker.asked) == (GOOD, [BAD])
    (step,) = chain.steps
    assert [(rating.role, len(rating.calls)) for rating in step.ratings] == [("triage", 1), ("editor", 0)]
    assert [call.purpose for call in step.calls] == ["triage"]


def test_triage_with_nothing_to_decide_is_refused_and_so_is_what_is_no_evaluator() -> None:
    translates_only = {"stages": ("translate",), "translator": object()}
    with pytest.raises(ConfigError, match="triage has nothing to decide: no stage comes after translate"):
        plan(Scorer(), **translates_only)
    with pytest.raises(ConfigError, match="has no method `rate`"):
        plan(object())


def test_its_signature_is_one_of_the_run_s() -> None:
    assert plan(Scorer()).signatures["triage"] == "scorer|v:1"


# -- from settings


def test_from_python_an_object_or_a_name_decides_which_texts_are_skipped() -> None:
    for triage in (Scorer(), "rules"):
        threshold = 0.8 if triage != "rules" else 0
        llm = ScriptedLLM(lambda messages, purpose: '{"errors": []}')
        agent = Agent(llm=llm, triage=triage, triage_above=threshold, stages="pe", gate="guards")
        good, bad = agent.postedit(["The bridge is old."] * 2, [GOOD, BAD if triage != "rules" else "x"], "en", "es")
        assert (good.steps[0].cause.kind, bad.steps[-1].cause.kind) == ("triage", "error-free")
        assert len(llm.requests) == 1


def test_the_same_evaluator_asked_alike_is_asked_once() -> None:
    asked: list[str] = []

    def reply(messages: Sequence[Message], purpose: str) -> str:
        asked.append(purpose)
        return '{"errors": [{"span": "errado", "before": "", "after": "", "category": "x", "severity": 1}]}'

    settings = {"evaluator": "rubric-mqm", "stages": "pe", "gate": "guards", "triage": "rubric-mqm", "triage_above": 0}
    for more, purposes in (({}, 1), ({"forced": True}, 2)):
        asked.clear()
        Agent(llm=ScriptedLLM(reply, model="m"), **settings, **more).postedit(["Old."], [BAD], "en", "es")
        assert asked == ["rate"] * purposes


def calibrated(shell: Shell, threshold: float, signature: str = Rules().signature) -> None:
    """The file ``gate.json``: from ``threshold`` on, texts that ``signature`` rated are error-free."""
    rows = [(f"{0 if i % 2 else -5}", f"{90 if i % 2 else 40}", f"d{i}", signature) for i in range(60)]
    shell.write("pairs.tsv", "judge\thuman\tdocument\tsignature", *map("\t".join, rows))
    done = shell("gate calibrate --pairs pairs.tsv --error-free 80 --precision 0.8 --fewest 3 -q -o gate.json")
    assert done.code == 0, done.err
    path = shell.folder / "gate.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["error_free"]["threshold"] = threshold
    path.write_text(json.dumps(data), encoding="utf-8")


LINE = "--evaluator rules --gate guards -o out.txt"


def test_the_calibrated_threshold_decides_and_the_command_says_how_many(shell: Shell) -> None:
    """The rules give the first text -0.1, for its missing full stop."""
    triage = "rules:skip=double-spaces"
    signature = Rules(skip=frozenset({"double-spaces"})).signature
    calibrated(shell, -0.1, signature)
    done = shell.postedit(f"{LINE} --triage {triage} --calibration gate.json --name r --details d.jsonl")
    assert (done.code, shell.read("out.txt")) == (0, TRANSLATIONS)
    assert f"skipped by triage: {len(TRANSLATIONS)}" in done.err
    step = shell.objects("d.jsonl")[0]["stages"][0]
    assert (step["cause"]["kind"], step["cause"]["score"], step["cause"]["threshold"]) == ("triage", -0.1, -0.1)
    assert f"skipped by triage: {len(TRANSLATIONS)}" in shell("runs show r").out
    assert "stage postedit, triage" in shell("rate --run r --show 1").out
    with Store(shell.folder / "store.db") as store:
        assert store.run("r").settings["triage"] == triage
        causes = {step.cause.kind for chain in store.read("r").chains() for step in chain.steps}
        roles = {rating.role for chain in store.read("r").chains() for step in chain.steps for rating in step.ratings}
    assert (causes, roles) == ({"triage"}, {"triage"})


def test_a_score_on_the_command_line_decides_too_and_goes_first(shell: Shell) -> None:
    signature = Rules(skip=frozenset({"double-spaces"})).signature
    calibrated(shell, -100, signature)
    done = shell.postedit(f"{LINE} --triage rules:skip=double-spaces --triage-above 1 --calibration gate.json")
    assert (done.code, shell.read("out.txt"), "skipped" in done.err) == (0, IMPROVED, False)


def test_compare_and_report_show_what_was_skipped(shell: Shell) -> None:
    shell.postedit(f"{LINE} --triage rules --triage-above -0.05 --name r")
    table = shell("compare r").out
    assert "skipped by triage" in table
    assert re.search(r"^postedit +1 +0 +0 +0 +2 +1 +1$", table, re.MULTILINE), table
    shell("report r -o r.md")
    assert "skipped by triage" in "\n".join(shell.read("r.md"))
    shell.postedit(f"{LINE} --name plain --force")
    assert "skipped by triage" not in shell("compare plain").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--triage rules", "triage rules: no score is known from which a text is skipped: set triage_above"),
        ("--triage-above 3", "triage_above: 3 needs an evaluator that gives scores: set triage"),
        ("--triage rules --triage-above nan", "triage_above: input should be a finite number"),
        ("--triage rulez --triage-above 3", "no evaluator 'rulez'; did you mean 'rules'"),
        ("--triage pairwise --triage-above 3", "pairwise compares two texts and does not rate"),
        (
            "--triage rules:skip=numbers --calibration gate.json",
            "triage rules: gate.json has no threshold for rules|v:4|weights:himate|skip:numbers|",
        ),
        (
            "--evaluator rules:skip=pairs --triage rules:skip=numbers --calibration gate.json",
            "gate.json: was calibrated for rules, but",
        ),
        ("--triage rules --triage-above 3 --stages t --translator command:cat", "no stage comes after translate"),
    ],
)
def test_what_is_wrong_is_one_clear_line(shell: Shell, options: str, message: str) -> None:
    calibrated(shell, -0.1)
    done = shell.postedit(
        f"--gate guards -o out.txt {'' if '--evaluator' in options else '--evaluator rules'} {options}"
    )
    assert (done.code, message in done.err) == (1, True), done.err
    assert not (shell.folder / "out.txt").exists()


def test_another_threshold_is_another_run(shell: Shell) -> None:
    assert shell.postedit(f"{LINE} --triage rules --triage-above 0 --name r").code == 0
    done = shell.postedit(f"{LINE} --triage rules --triage-above -1 --name r")
    assert (done.code, "triage_above" in done.err) == (1, True)


def test_a_calibration_beside_triage_is_that_of_triage() -> None:
    assert load(overrides={"model": "m", "calibration": Path("c.json")}).effective().gate == "rate"
    settings = {"model": "m", "calibration": Path("c.json"), "triage": "cometkiwi"}
    assert load(overrides=settings).effective().gate == "pairwise"


def test_what_triage_reads_is_not_overwritten(shell: Shell) -> None:
    shell.write("spans.jsonl", '{"id": "1", "source": "a", "translation": "b", "errors": []}')
    done = shell.postedit("--evaluator rules --triage spans-file:path=spans.jsonl --triage-above 0 -o spans.jsonl")
    assert (done.code, "would overwrite" in done.err) == (1, True)


@pytest.mark.loopback
def test_what_it_takes_lies_between_all_skipped_and_none(shell: Shell, panel: str) -> None:
    texts = segments(6)
    shell.write("s.txt", *(text.source for text in texts))
    shell.write("t.txt", *(text.translation or "" for text in texts))
    shell.write("p.toml", "[[prices]]", 'model = "*"', "input = 1", "output = 5")
    common = {"source_lang": "en", "target_lang": "es", "base_url": panel, "prices": Path("p.toml"), "stages": "pe"}
    for above, paid in ((101, 20), (80, 9), (0, 6)):
        config = load(overrides={**common, "triage": "gemba-da", "triage_above": above})
        usage = estimate(config, Files(Path("s.txt"), Path("t.txt")), counter("length"))["postedit"]
        line = f"postedit -s s.txt -t t.txt -l en-es --base-url {panel} --stages pe --prices p.toml"
        done = shell(f"{line} --triage gemba-da --triage-above {above} --name r --store {above}.db -o {above}.txt -q")
        assert done.code == 0
        with Store(shell.folder / f"{above}.db") as store:
            real = store.run("r").usage
        for field in ("calls", "input_tokens", "output_tokens", "cost"):
            assert getattr(usage.low, field) <= getattr(real, field) <= getattr(usage.high, field)
        assert (usage.low.calls, real.calls) == (6, paid)
    dry = shell(f"{line} --triage gemba-da --triage-above 80 --limit 1 --dry-run")
    assert dry.out.count("--- segment 1, triage, rate") == 1
    shown = shell(
        f"estimate -s s.txt -t t.txt -l en-es --base-url {panel} --prices p.toml --triage gemba-da --triage-above 80"
    )
    assert "triage: skips every text (low) or none (high)" in shown.out
