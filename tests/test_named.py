"""Evaluators by name and options, and who judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtagent import config as configuration
from mtagent.agent import Agent
from mtagent.build import named_evaluator
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.evaluators.named import EVALUATORS, parse_spec
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Rating, Segment


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
        ("rubric-mqm:forced", "'forced' is no option; write rubric-mqm:OPTION=VALUE"),
        ("rubric-mqm:forced=maybe", "rubric-mqm: forced: .*valid boolean.*got 'maybe'"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        named_evaluator(Config(), spec, ScriptedLLM([]))


@pytest.mark.parametrize("name", EVALUATORS)
def test_each_evaluator_is_made_by_its_name_and_knows_it(name: str, tmp_path: Path) -> None:
    spec = f"{name}:path={tmp_path / 'spans.jsonl'}" if name == "spans-file" else name
    (tmp_path / "spans.jsonl").write_text('{"id": "1", "source": "a", "translation": "b", "errors": []}\n')
    evaluator = named_evaluator(Config(store=tmp_path / "s.db"), spec, ScriptedLLM([]))
    assert evaluator.name == name


def test_an_evaluator_that_asks_a_model_says_so_where_there_is_none() -> None:
    with pytest.raises(ConfigError, match="rubric-mqm asks a model, and there is none"):
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
    assert Agent(judge="rules", judge_model="m").config.judge.evaluator == "rules"
    (tmp_path / "c.toml").write_text('[judge]\nevaluater = "rules"\n')
    with pytest.raises(ConfigError, match=r"c\.toml: unknown setting 'judge.evaluater'; did you mean 'evaluator'"):
        configuration.load(tmp_path / "c.toml")


class Strict:
    """A judge that likes nothing."""

    name = "strict"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=-len(translation), errors=())


@pytest.mark.parametrize(
    ("span", "suggestion", "verdict", "reason"),
    [
        ("Tienes", "Tienes %d", "kept", "rules -5 -> 0: better"),
        ("Tienes", "Hay", "rejected", "gate: rules -5 -> -5: a tie"),
    ],
)
def test_a_judge_by_name_decides_in_the_gate(span: str, suggestion: str, verdict: str, reason: str) -> None:
    reply = json.dumps([{"span": span, "severity": 3, "category": "mistranslation", "suggestion": suggestion}])
    agent = Agent(llm=ScriptedLLM([reply]), judge="rules", gate="rate", stages="pe", model="m")
    (chain,) = agent.postedit(["You have %d files."], ["Tienes archivos."], "en", "es")
    assert chain.steps[0].verdict == verdict
    assert chain.steps[0].reason.startswith(reason)
    assert [rating.evaluator for rating in chain.steps[0].ratings] == ["rubric-mqm", "rules", "rules"]


def test_a_judge_object_goes_before_a_named_one() -> None:
    reply = '{"errors": [{"span": "bad", "severity": 3, "category": "style", "suggestion": "good"}]}'
    agent = Agent(llm=ScriptedLLM([reply]), judge=Strict(), gate="rate", stages="pe", model="m")
    (chain,) = agent.postedit(["A bad word."], ["Una bad palabra."], "en", "es")
    assert chain.steps[0].reason.startswith("gate: strict")
