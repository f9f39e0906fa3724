"""What a calibration changes in the chain, and with what it does not go."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent, make_segments
from mtagent.chain.calibration import Figure, read
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import OpenGate, PanelGate, RateGate, RatingJudge, Threshold, calibrated
from mtagent.config import Config, load
from mtagent.errors import ConfigError
from mtagent.evaluators.gemba import GembaDA
from mtagent.evaluators.rules import Rules
from mtagent.jobs.parts import settings_for_results
from mtagent.learning.text import text
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Judgement, Message, Rating, Segment, comparable
from mtagent.serve.access import ServiceError
from mtagent.serve.service import Service
from mtagent.store import Store
from tests.calibrations import calibration, effect, expected_gain
from tests.commands import IMPROVED, TRANSLATIONS, Shell

RULES = Rules().signature


@pytest.mark.parametrize(
    ("options", "fields", "texts", "reason"),
    [
        ("", {"gain": {"intercept": 1}, "error_free": None}, IMPROVED, "expected gain +1.32"),
        ("", {"error_free": None}, TRANSLATIONS, "expected gain -2.68"),
        ("--gate guards", {"gain": None, "error_free": {"threshold": 0}}, IMPROVED, "guards"),
        ("--gate guards", {"gain": None, "error_free": {"threshold": -0.1}}, TRANSLATIONS, "no error found"),
    ],
)
def test_the_calibrated_gain_and_threshold_decide_what_is_kept(
    shell: Shell, options: str, fields: dict[str, Any], texts: list[str], reason: str
) -> None:
    """The rules give -0.1 for the missing full stop; the root of the difference is 0.32."""
    calibration(shell, **fields)
    done = shell.postedit(f"--evaluator rules {options} -o out.txt --details d.jsonl --calibration gate.json")
    assert (done.code, shell.read("out.txt")) == (0, texts)
    assert reason in shell.read("d.jsonl")[0]


def test_a_run_shows_the_numbers_of_its_gate_in_a_few_digits(shell: Shell) -> None:
    calibration(shell, gain={"intercept": 0.12345678901})
    assert shell.postedit("--evaluator rules -q --name mine -o out.txt --calibration gate.json").code == 0
    assert re.search(r"\n  calibrated\.gain\.intercept +0\.123457\n", shell("runs show mine").out)


def test_another_calibration_is_another_run(shell: Shell) -> None:
    calibration(shell, "a.json", gain={"intercept": 1})
    calibration(shell, "b.json", gain={"intercept": 5})
    shell.folder.joinpath("moved").mkdir()
    shell.folder.joinpath("moved/c.json").write_bytes((shell.folder / "a.json").read_bytes())
    line = "--evaluator rules -q -o out.txt --calibration"
    assert shell.postedit(f"{line} a.json --name mine").code == 0
    assert shell.postedit(f"{line} moved/c.json --name mine").code == 0  # the same values, wherever the file lies
    other = shell.postedit(f"{line} b.json --name mine")
    assert other.code == 1
    assert "calibrated.gain.intercept was 1" in other.err
    with Store(shell.folder / "store.db") as store:
        data = store.run("mine").settings["calibrated"]
    assert (data["signature"], data["gain"]["intercept"], data["error_free"]) == (comparable(RULES), 1, 5)


@pytest.mark.parametrize(
    ("signature", "difference"),
    [
        ("gemba-da|model:gpt-4o|scale:0-100|version:0.1.0", "gemba-da model:gpt-4o, but the gate asks rules"),
        (f"{RULES}|skip:numbers", "rules skip:numbers, but the gate asks rules"),
    ],
)
def test_a_calibration_of_another_evaluator_is_an_error_that_names_what_differs(
    shell: Shell, signature: str, difference: str
) -> None:
    calibration(shell, signature=signature)
    done = shell.postedit("--evaluator rules --calibration gate.json -o out.txt")
    assert done.code == 1
    assert not (shell.folder / "out.txt").exists()
    way_out = "set judge or evaluator to what `mtagent gate show gate.json --details` prints, or calibrate again"
    assert f"gate.json: was calibrated for {difference}: {way_out}" in done.last


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--gate guards", "calibrates a gate with judges, but the gate is guards"),
        ("--margin 2", "margin: 2 is set beside the calibration"),
        ("--judge rules:skip=numbers", "was calibrated for rules, but the gate asks rules skip:numbers"),
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
        ("{}", ("bad.json: isn't a calibration of a gate: evaluator: field required",)),
        ('{"kind": "himate"}', ("bad.json", "kind")),
        ("[]", ("bad.json: isn't a calibration",)),
        ("", ("bad.json:1:", "not JSON")),
        ("gain.judges []", ("bad.json: isn't a calibration of a gate: gain.",)),
        ("gain.intercept NaN", ("bad.json: isn't a calibration of a gate: gain.intercept",)),
        ("gain.intercept Infinity", ("bad.json: isn't a calibration of a gate: gain.intercept",)),
        ("gain.scale -1", ("bad.json: isn't a calibration of a gate: gain.scale",)),
        ("gain.ridge 1e999", ("bad.json: isn't a calibration of a gate: gain.ridge",)),
        ("margin.value 5", ("bad.json: isn't a calibration of a gate: margin: extra",)),
        ("error_free.threshold NaN", ("bad.json: isn't a calibration of a gate: error_free.threshold",)),
        ("error_free.threshold -Infinity", ("bad.json: isn't a calibration of a gate: error_free.threshold",)),
        ("error_free.curve []", ("bad.json: isn't a calibration of a gate: error_free.curve",)),
    ],
)
def test_a_broken_calibration_is_named(shell: Shell, text: str, messages: tuple[str, ...]) -> None:
    if text[:1].isalpha():
        field, _, value = text.partition(" ")
        part, _, name = field.partition(".")
        data = json.loads(calibration(shell).read_text(encoding="utf-8"))
        text = json.dumps({**data, part: {**(data.get(part) or {}), name: json.loads(value)}})
    (shell.folder / "bad.json").write_text(text, encoding="utf-8")
    for done in (shell.postedit("--evaluator rules --calibration bad.json"), shell("gate show bad.json")):
        assert done.code == 1
        assert all(message in done.err for message in messages), done.err
        assert "mtagent gate calibrate" in done.err
    missing = shell("gate show none.json")
    assert (missing.code, "none.json: no such file" in missing.err) == (1, True)


def test_the_setting_is_listed_and_found_beside_the_file_of_settings(shell: Shell) -> None:
    calibration(shell, "gate.json")
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
    ("intercept", "threshold", "text", "reason"),
    [
        (-3, None, "Hola", "expected gain -1"),
        (-1, None, "Hola!", "expected gain +1"),
        (None, 90, "Hola", "no error found"),
        (None, 91, "Hola!", "kept"),
        (-1, 91, "Hola!", "expected gain +1"),
    ],
)
def test_an_evaluator_with_a_score_alone_is_calibrated_too(
    shell: Shell, intercept: float | None, threshold: float | None, text: str, reason: str
) -> None:
    """The root of the difference, 4, counts 2."""
    llm = scripted({"Hola": 90, "Hola!": 94})
    values = {
        "gain": None if intercept is None else {"intercept": intercept},
        "error_free": None if threshold is None else {"threshold": threshold},
    }
    path = calibration(shell, signature=GembaDA(llm).signature, **values)
    gate = "none" if intercept is None else None
    settings = {"evaluator": "gemba-da", "stages": "pe", "calibration": path, "gate": gate}
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


def test_what_cannot_be_calibrated_is_refused_and_a_gate_of_one_s_own_keeps_what_it_does(shell: Shell) -> None:
    class Cautious(RateGate):
        """Does something besides."""

        name = "cautious"

    path, judge = calibration(shell), Rules()
    gate, thresholds = calibrated(path, RateGate(judge), None)
    assert isinstance(gate, PanelGate)
    assert (gate.gain, gate.raters[0], thresholds) == (read(path).gain, judge, (Threshold(judge, 5),))
    empty = calibration(shell, "empty.json", gain=None, error_free={"threshold": None})
    threshold = calibration(shell, "threshold.json", gain=None)
    for of, own_gate, evaluator, message in (
        (path, Cautious(judge), None, "the gate is cautious"),
        (empty, RateGate(judge), judge, "cannot be used: it has no expected gain"),
        (threshold, OpenGate("guards"), None, "no judge rates here"),
    ):
        with pytest.raises(ConfigError, match=message):
            calibrated(of, own_gate, evaluator)
    with pytest.raises(ConfigError, match=r"nowhere\.json: no such file"):
        settings_for_results(load(overrides={"calibration": Path("nowhere.json")}))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_pipe_is_no_calibration(shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe")
    for name in ("-", "pipe"):
        done = shell.postedit(f"--evaluator rules --calibration {name} -o out.txt")
        assert (done.code, f"calibration {name}: is read more than once" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("signature", "holds"),
    [
        ("k|model:a|revision:1", True),
        ("k|model:a|comet:2", True),
        ("k|model:a|revision:2", False),
        ("k|model:b", False),
    ],
)
def test_the_revision_of_a_model_counts_where_both_know_it(shell: Shell, signature: str, holds: bool) -> None:
    comet = "|comet:2" if "comet" in signature else ""
    path = calibration(shell, signature=f"k|model:a|revision:1{comet}")
    assert read(path).holds_for(signature) is holds


# --- the expected gain

BOTH = (Judgement(judge="a", before=1, after=5), Judgement(judge="b", choices=("after", "after")))


def test_the_expected_gain_adds_up_roots_by_hand() -> None:
    gain = expected_gain("a", "b")
    assert gain.predict(BOTH) == -3 + 2 * 2 / 2 + 2 * 1 / 2
    assert gain.predict((BOTH[0].model_copy(update={"after": -3}), BOTH[1])) == -3 - 2 + 1
    before = gain.judges[0].model_copy(update={"before_mean": 3, "before_scale": 4, "before_weight": 10})
    assert expected_gain("a", "b", judges=(before, gain.judges[1])).predict(BOTH) == 0 + 10 * (1 - 3) / 4
    silent = gain.judges[0].model_copy(update={"scale": 0})
    assert expected_gain("a", "b", judges=(silent, gain.judges[1])).predict(BOTH) == -2


def test_the_chances_of_better_and_worse_leave_room_for_ties() -> None:
    gain = expected_gain("a")
    assert (gain.chance(0), gain.chance(4), gain.chance(-4)) == pytest.approx((0.5, 0.8413, 0.1587), abs=1e-4)
    assert (gain.chance_of_worse(0), gain.chance_of_worse(4)) == pytest.approx((0.5, 0.1587), abs=1e-4)
    with_ties = expected_gain("a", tie_band=4, bias=2)
    assert (with_ties.chance(2), with_ties.chance_of_worse(2)) == pytest.approx((0.5, 0.0228), abs=1e-4)


@pytest.mark.parametrize(
    ("judgements", "message"),
    [
        (BOTH[:1], r"learnt from 2 judges \(a, b\), not 1"),
        ((BOTH[0], BOTH[1].model_copy(update={"signature": "c|model:x"})), "from b, not from c|model:x"),
        ((BOTH[0], Judgement(judge="c", before=1)), "c: gave no score of both texts, as b did"),
    ],
)
def test_an_expected_gain_wants_the_judges_that_it_was_learnt_from(
    judgements: tuple[Judgement, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        expected_gain("a", "b").predict(judgements)


def test_a_judge_that_scored_before_cannot_only_compare() -> None:
    weight = expected_gain("a").judges[0].model_copy(update={"before_weight": 1})
    with pytest.raises(ConfigError, match="gave no score of both texts"):
        expected_gain("a", judges=(weight,)).predict((BOTH[1],))


@pytest.mark.parametrize(("intercept", "texts"), [(-1.0, TRANSLATIONS), (1.0, IMPROVED)])
def test_a_gate_with_an_expected_gain_keeps_what_promises_one(shell: Shell, intercept: float, texts: list[str]) -> None:
    """The rules see a gain of 0.1 in the full stop, which counts 0.3 here."""
    calibration(shell, gain=expected_gain(RULES, intercept=intercept).model_dump(), error_free=None)
    assert shell.postedit("--evaluator rules --judge rules --calibration gate.json -o out.txt").code == 0
    assert shell.read("out.txt") == texts


def test_the_weights_are_settings_of_the_run_and_what_was_measured_is_not(shell: Shell) -> None:
    gain = expected_gain(f"{RULES}|version:9").model_dump()
    settings = read(calibration(shell, gain=gain, error_free=None)).settings()
    assert settings["gain"]["judges"][0]["signature"] == comparable(RULES)
    later = read(calibration(shell, gain={**gain, "calibrated_on": 7}, error_free=None)).settings()
    assert later == settings
    other = read(calibration(shell, gain={**gain, "intercept": 7}, error_free=None)).settings()
    assert other != settings


OTHER_PAIR = "gate.json: the gate was calibrated for the language pair de-fr, not for en-es"


def test_a_run_warns_once_of_another_domain_than_the_calibration_s(shell: Shell) -> None:
    calibration(shell, pairs=["de-fr"], domains=["news"])
    line = "--evaluator rules --calibration gate.json -o out.txt --domain speech"
    for options in (" --any-language", " --any-language -q --force --name again"):
        shown = shell.postedit(line + options).err
        assert shown.count(OTHER_PAIR) == 1
        assert shown.count("gate.json: the gate was calibrated for the domain news, not for speech") == 1
    calibration(shell, pairs=["de-fr", "en-es"])
    assert "was calibrated for" not in shell.postedit(line + " --force --name other").err


def test_a_run_warns_of_a_gate_that_lost_in_its_calibration_and_names_its_weights(shell: Shell) -> None:
    worse = Figure(value=-2, low=-3, high=-1)
    lost = effect().model_copy(update={"over_never": worse})
    calibration(shell, gain={"held_out": lost.model_dump(), "intercept": 1}, error_free=None)
    done = shell.postedit("--evaluator rules --calibration gate.json -o out.txt --name first")
    assert done.err.count("gate.json: on the edits of its calibration this gate loses to keeping no edit") == 1
    assert "keeping all edits" not in done.err
    shown = shell("runs show first").out
    assert re.search(r"calibrated\.gain\.weights +rules \+2\n", shown)
    assert "'judge':" not in shown


def test_another_language_pair_than_the_calibration_s_is_refused_before_anything_is_sent(shell: Shell) -> None:
    calibration(shell, pairs=["de-fr"])
    line = "--evaluator rules --calibration gate.json -o out.txt"
    for done in (
        shell.postedit(line),
        shell("estimate -s en.txt -t es.txt -l en-es --evaluator rules --calibration gate.json"),
    ):
        assert (done.code, OTHER_PAIR in done.last) == (1, True), done.err
        assert done.last.endswith("calibrate a gate for these texts, or set any_language to use this one anyway")
    assert not (shell.folder / "out.txt").exists()
    shell.write("mtagent.toml", "any_language = true")
    assert shell.postedit(line).code == 0
    assert shell.postedit(f"{line} --no-any-language --force --name other").code == 1
    assert "any_language: needs a calibration" in shell.postedit("--evaluator rules -o out.txt --force").last


def test_an_agent_refuses_another_language_pair_than_the_calibration_s(shell: Shell) -> None:
    path = calibration(shell, pairs=["de-fr"], gain={"intercept": 1}, error_free=None)
    settings: dict[str, Any] = {"evaluator": "rules", "stages": "p", "calibration": path}
    texts = "It is good.", "Es bueno"
    with Agent(**settings) as agent:
        for source in ("en", "de"):
            with pytest.raises(ConfigError, match=f"pair de-fr, not for {source}-es: calibrate a gate for these texts"):
                agent.postedit(*texts, source, "es")
        assert agent.postedit("Es ist gut.", "C'est bon", "de", "fr").failed is None
        run = agent.run("first", store=shell.folder / "agent.db")
        with pytest.raises(ConfigError, match="pair de-fr, not for en-es"):
            run.improve(make_segments([texts[0]], [texts[1]], "en", "es"))
    with Agent(lambda text, src="auto", dest="fr": f"{src} {dest}", **settings | {"stages": "tp"}) as agent:
        assert agent.translate("Es ist gut.", "auto", "fr").failed is None, "the source language may be unknown"
        with pytest.raises(ConfigError, match="not for und-es"):
            agent.translate("Es ist gut.", "auto", "es")
    with Agent(**settings, any_language=True) as agent:
        assert agent.postedit(*texts, "en", "es").text == "Es bueno."
    with pytest.raises(ConfigError, match="any_language: needs a calibration"):
        Agent(evaluator="rules", stages="p", any_language=True)


def test_a_service_offers_the_language_pairs_of_its_calibration(shell: Shell) -> None:
    path = calibration(shell, pairs=["de-fr", "en-fr"])
    config = Config(evaluator="rules", stages=("postedit",), calibration=path)
    assert Service(config).offered() == (("de", "fr"), ("en", "fr"))
    with pytest.raises(ServiceError, match="en to es is not supported"):
        Service(config).pair("en", "es")
    assert Service(config, pairs=[("de", "fr-CA")]).offered() == (("de", "fr-CA"),)
    with pytest.raises(ConfigError, match="not for en-es"):
        Service(config, pairs=[("de", "fr"), ("en", "es")])
    anything = config.model_copy(update={"any_language": True})
    assert Service(anything, pairs=[("en", "es")]).offered() == (("en", "es"),)


def test_a_quorum_beside_an_expected_gain_is_refused(shell: Shell) -> None:
    judges = RatingJudge(Rules()), RatingJudge(GembaDA(ScriptedLLM([])))
    gain = expected_gain(*(judge.signature for judge in judges)).model_dump()
    path = calibration(shell, gain=gain, error_free=None)
    gate, _ = calibrated(path, PanelGate(*judges), None)
    assert gate.name == "gain"
    with pytest.raises(ConfigError, match="not by a quorum: leave quorum out"):
        calibrated(path, PanelGate(*judges, quorum=1), None)


def test_the_gate_gain_is_refused_without_an_expected_gain(shell: Shell) -> None:
    calibration(shell, gain=None)
    for options in ("", "--calibration gate.json"):
        done = shell.postedit(f"--evaluator rules --judge rules --gate gain -o out.txt {options}")
        assert done.code == 1
        assert "the gate gain decides by an expected gain: name two judges of different kinds in judge" in done.last


def test_a_gain_that_counts_scores_before_is_shown_with_whose_scores_it_was_held_against(shell: Shell) -> None:
    gain = expected_gain(RULES)
    judges = (gain.judges[0].model_copy(update={"before_weight": 2.0, "before_mean": 50.0, "before_scale": 4.0}),)
    gain = gain.model_copy(update={"judges": judges, "held_out": effect()})
    shown = text(read(calibration(shell, gain=gain.model_dump())))
    assert "+2 * (rules before - 50) / 4" in shown
    assert "documents or blocks of segments (worth 18 of equal size);\nhuman score with 95 % interval:" in shown
