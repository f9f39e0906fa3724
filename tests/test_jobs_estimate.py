"""Estimates: what a run really takes lies between low and high, stage by stage."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent.config import Config, load
from mtagent.errors import MissingExtra
from mtagent.evaluators.registry import EVALUATORS
from mtagent.jobs.estimate import Counter, Range, counter, estimate, estimate_ratings
from mtagent.jobs.inputs import Files
from mtagent.records import Usage
from mtagent.store import Store
from tests.commands import Shell
from tests.killing import sources
from tests.simulator.chain import translated
from tests.simulator.marks import segments
from tests.simulator.replies import tokens

FIELDS = ("calls", "input_tokens", "output_tokens", "cost")
SPECS = (
    "rubric-mqm", "gemba-mqm", "gemba-esa", "gemba-da", "gemba-sqm", "eaprompt", "eaprompt:steps=1", "single-agent",
    "m-mad", "m-mad:strategy=deliberation", "m-mad:strategy=interactive-review,rounds=2", "himate:stages=se", "himate",
    "himate:confidence=verbal", "rate", "mqm-ape", "mqm-ape:evaluator=rubric-mqm,scale=1-8",
)  # fmt: skip
ASK_NOBODY = {"rules", "qe-e5", "spans-file", "cometkiwi", "xcomet"}
AS_SIMULATOR = Counter("as the simulator", tokens)
PRICES = ("[[prices]]", 'model = "*"', "input = 1", "cached_input = 0.1", "output = 5")


@pytest.fixture(scope="module")
def counting() -> Iterator[str]:
    """The address of a server whose model knows all prompts, and which counts tokens as OpenAI does."""
    with simulator("--behaviour", "tests.simulator.evaluators:answer", "--o200k", lifetime=3000) as base_url:
        yield base_url


@pytest.fixture
def files(shell: Shell) -> Shell:
    """A shell with 24 segments, some of them equal, the texts of six more, and a price file."""
    lines = [*sources(20).splitlines(), *sources(3).splitlines(), "Hi."]
    shell.write("long.txt", *lines)
    shell.write("long.es.txt", *map(translated, lines))
    shell.write("src.txt", *(segment.source for segment in segments(6)))
    shell.write("mt.txt", *(segment.translation or "" for segment in segments(6)))
    shell.write("prices.toml", *PRICES)
    return shell


def set_up(**settings: Any) -> Config:
    """The settings, in the file ``m.toml`` for the command line and read from it for Python."""
    settings = {"source_lang": "en", "target_lang": "es", "prices": "prices.toml", **settings}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items() if name != "judge"]
    lines += [f"[judge]\nevaluator = {json.dumps(settings['judge'])}\n"] if "judge" in settings else []
    Path("m.toml").write_text("".join(lines), encoding="utf-8")
    return load(Path("m.toml"))


def paid(shell: Shell) -> dict[str, Usage]:
    """What each stage of the run ``r`` has paid."""
    stages: dict[str, Usage] = {}
    with Store(shell.folder / "store.db") as store:
        for chain in store.read("r").chains():
            for step in chain.steps:
                stages[step.stage] = stages.get(step.stage, Usage()) + step.usage
    return stages


def refuse_outside(expected: Range, real: Usage, what: str) -> None:
    for field in FIELDS:
        low, high = getattr(expected.low, field), getattr(expected.high, field)
        assert low <= getattr(real, field) <= high, f"{what}: {field}"


CHAINS: dict[str, dict[str, Any]] = {
    "given": {},
    "from-nothing": {},
    "pairwise": {"gate": "pairwise"},
    "pairwise-reasoned": {"judge": "pairwise:reason=yes"},
    "guards": {"gate": "guards", "stages": "pe"},
    "go-on": {"stop_when_error_free": False},
    "t-pr": {"stages": "t-pr"},
    "another-judge": {"judge_model": "other"},
    "paper": {"preset": "paper"},
    "scale": {"evaluator": "rubric-mqm:scale=1-100", "context": 2, "domain": "news"},
}


@pytest.mark.loopback
@pytest.mark.parametrize("name", CHAINS)
def test_what_a_chain_takes_lies_between_low_and_high(name: str, files: Shell, server: str) -> None:
    translated_before = name not in ("from-nothing", "t-pr", "paper")
    config = set_up(base_url=server, **CHAINS[name])
    stages = estimate(config, Files(Path("long.txt"), Path("long.es.txt") if translated_before else None), AS_SIMULATOR)
    line = "postedit -t long.es.txt" if translated_before else "translate"
    assert files(f"{line} -s long.txt --config m.toml --name r -o out.txt -q --force").code == 0
    real = paid(files)
    assert real.pop("rules", Usage()) == Usage()
    assert set(real) >= {"proofread"} or name == "guards"
    for stage, usage in real.items():
        refuse_outside(stages[stage], usage, stage)


LIKELY: dict[str, dict[str, Any]] = {
    **CHAINS,
    "guards": {"gate": "guards", "stages": "tp"},
    "t-p": {"stages": "tp"},
    "rating-gate": {"gate": "rate"},
    "samples": {"judge": "rubric-mqm", "samples": 3},
    "proposals": {"proposals": 2},
    "judged-by-gemba-esa": {"judge": "gemba-esa"},
    "judged-by-m-mad": {"judge": "m-mad"},
    "triage": {"triage": "rubric-mqm", "triage_above": -1},
    **{spec: {"evaluator": spec} for spec in SPECS},
}


@pytest.mark.loopback
@pytest.mark.parametrize("name", LIKELY)
def test_the_likely_cost_is_within_a_factor_of_three(name: str, files: Shell, counting: str) -> None:
    config = set_up(base_url=counting, **LIKELY[name])
    expected = estimate(config, Files(Path("long.txt")), counter("o200k"))
    assert files("translate -s long.txt --config m.toml --name r -o out.txt -q").code == 0
    refuse_far(expected, files)


@pytest.mark.loopback
@pytest.mark.parametrize("settings", [{}, {"cache_control": "openai"}, {"gate": "rate"}, {"preset": "paper"}], ids=str)
def test_an_estimate_includes_what_is_written_to_a_cache(settings: dict[str, Any], files: Shell) -> None:
    files.write("prices.toml", *PRICES, "cache_write = 20")
    with simulator("--behaviour", "tests.simulator.evaluators:answer", "--o200k", "--cached-to-marks") as base_url:
        config = set_up(base_url=base_url, **settings)
        expected = estimate(config, Files(Path("long.txt")), counter("o200k"))
        assert files("translate -s long.txt --config m.toml --name r -o out.txt -q").code == 0
    assert files.runs()["r"].usage.cache_write_tokens > 1024
    refuse_far(expected, files)


@pytest.mark.loopback
def test_the_likely_cost_is_that_near_where_every_text_is_edited_twice(files: Shell, counting: str) -> None:
    files.write("mt.txt", *(f"Una frase errado buena, la {i}." for i in range(24)))
    expected = estimate(set_up(base_url=counting), Files(Path("long.txt"), Path("mt.txt")), counter("o200k"))
    assert files("postedit -s long.txt -t mt.txt --config m.toml --name r -o out.txt -q").code == 0
    refuse_far(expected, files)


def refuse_far(expected: dict[str, Range], files: Shell) -> None:
    low, high, likely = reduce(Range.plus, expected.values(), Range())
    real = files.runs()["r"].usage.cost
    assert low.cost is not None
    assert likely is not None
    assert real is not None
    assert high.cost is not None
    assert low.cost <= real <= high.cost
    assert 1 / 3 < likely / real < 3, f"{likely / real:.2f}"


@pytest.mark.loopback
@pytest.mark.parametrize("name", ["from-nothing", "pairwise", "another-judge"])
def test_a_probe_tells_what_the_whole_run_takes(name: str, files: Shell, server: str) -> None:
    files.write("many.txt", *sources(100).splitlines())
    set_up(base_url=server, **CHAINS[name])
    done = files("estimate -s many.txt --config m.toml --probe 10 -q")
    words = done.out.splitlines()[-1]
    numbers = re.fullmatch(
        r"probe: 10 of 100 segments took \d+ calls, [\d,]+ tokens, \$([\d.]+); "
        r"the whole run: about [\d,]+ calls, [\d,]+ tokens, \$([\d.]+) \(± \$[\d.]+\)",
        words,
    )
    assert numbers is not None, done
    assert files("translate -s many.txt --config m.toml --name r -o out.txt -q").code == 0
    paid_by_run = files.runs()["r"].usage.cost
    assert paid_by_run is not None
    real = float(numbers[1]) + paid_by_run
    assert paid_by_run < 0.95 * real, "the run uses the replies of the probe"
    assert 1 / 1.3 < float(numbers[2]) / real < 1.3


@pytest.mark.loopback
def test_a_probe_counts_the_calls_of_segments_that_failed(files: Shell) -> None:
    files.write("many.txt", *sources(100).splitlines())
    journal = files.folder / "journal.jsonl"
    with simulator("--behaviour", "tests.simulator.chain:declining", "--log", str(journal)) as base_url:
        set_up(base_url=base_url)
        words = files("estimate -s many.txt --config m.toml --probe 10 -q").out.splitlines()[-1]
        requests = len(journal.read_text(encoding="utf-8").splitlines())
        assert files("translate -s many.txt --config m.toml --name r -o out.txt -q").code == 3
    numbers = re.fullmatch(
        r"probe: 10 of 100 segments took (\d+) calls, [\d,]+ tokens, \$([\d.]+); "
        r"the whole run: about [\d,]+ calls, [\d,]+ tokens, \$([\d.]+) \(± \$[\d.]+\); "
        r"(\d) of the probed segments failed, and their calls are included",
        words,
    )
    assert numbers is not None, words
    assert int(numbers[1]) == requests
    assert int(numbers[4]) > 1
    paid_by_run = files.runs()["r"].usage.cost
    assert paid_by_run is not None
    assert 1 / 1.3 < float(numbers[3]) / (float(numbers[2]) + paid_by_run) < 1.3


@pytest.mark.loopback
def test_a_probe_of_all_segments_is_certain_and_one_without_any_success_an_error(files: Shell, server: str) -> None:
    files.write("many.txt", *sources(6).splitlines())
    set_up(base_url=server)
    assert files("estimate -s many.txt --config m.toml --probe 9 -q").lines[-1].endswith("(± $0.0000)")
    set_up(base_url="http://127.0.0.1:9/v1", deadline=1)
    done = files("estimate -s many.txt --config m.toml --probe 2 -q")
    assert done.code != 0
    assert "probe: all 2 probed segments failed, after 0 calls ($0.0000): " in done.err
    assert "127.0.0.1:9" in done.err
    assert "probe: 2" not in done.out


def test_a_probe_needs_segments_and_a_chain(files: Shell) -> None:
    files.write("empty.txt")
    assert "probe: the input has no segments" in files("estimate -s empty.txt -l en-es --probe 3").err
    for option in ("--rating", "--batch", "--repeat 3"):
        done = files(f"estimate -s src.txt -t mt.txt -l en-es --probe 3 {option}")
        assert (done.code, f"leave out {option.split()[0]}" in done.err) == (2, True)


@pytest.mark.loopback
def test_a_probe_counts_replies_from_the_store_once(files: Shell, server: str) -> None:
    files.write("same.txt", *["The bridge is closed."] * 4)
    set_up(base_url=server)
    first, second = (files("estimate -s same.txt --config m.toml --probe 4 -q").lines[-1] for _ in range(2))
    assert first == second
    assert "±" not in first, "four segments are too few for an interval"


def test_every_evaluator_that_asks_a_model_is_compared_with_real_ratings() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} == EVALUATORS.keys() - ASK_NOBODY


@pytest.mark.loopback
@pytest.mark.parametrize("spec", SPECS)
def test_what_ratings_take_lies_between_low_and_high(spec: str, files: Shell, panel: str) -> None:
    config = set_up(base_url=panel, evaluator=spec)
    expected = estimate_ratings(config, Files(Path("src.txt"), Path("mt.txt")), AS_SIMULATOR)["rate"]
    assert files("rate -s src.txt -t mt.txt --config m.toml --name r -o r.jsonl -q").code == 0
    refuse_outside(expected, files.runs()["r"].usage, spec)


@pytest.mark.loopback
@pytest.mark.parametrize("spec", ["gemba-mqm", "gemba-da", "eaprompt", "single-agent", "m-mad", "himate", "rate"])
def test_an_evaluator_that_suggests_nothing_takes_a_fix_too(spec: str, files: Shell, panel: str) -> None:
    config = set_up(base_url=panel, evaluator=spec, stages="pe")
    expected = estimate(config, Files(Path("src.txt"), Path("mt.txt")), AS_SIMULATOR)["postedit"]
    assert files("postedit -s src.txt -t mt.txt --config m.toml --name r -o out.txt -q").code == 0
    refuse_outside(expected, paid(files)["postedit"], spec)


@pytest.mark.loopback
def test_where_no_error_is_found_the_low_figure_is_all_that_is_paid(files: Shell, server: str) -> None:
    files.write("good.txt", *(f"Una frase buena, la {i}." for i in range(24)))
    stages = estimate(set_up(base_url=server, limit=20), Files(Path("long.txt"), Path("good.txt")), AS_SIMULATOR)
    assert files("postedit -s long.txt -t good.txt --config m.toml --name r -o out.txt -q").code == 0
    usage, low = files.runs()["r"].usage, Usage.total(stage.low for stage in stages.values())
    assert usage.calls == low.calls == 20
    assert low.input_tokens <= usage.input_tokens < 1.02 * low.input_tokens


@pytest.mark.loopback
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gate": "pairwise"},
        {"gate": "guards"},
        {"judge_model": "other"},
        {"judge": "rubric-mqm:scale=1-8"},
        {"forced": True},
    ],
    ids=str,
)
def test_where_every_text_is_edited_twice_the_high_figure_has_just_the_calls_that_are_made(
    settings: dict[str, Any], files: Shell, server: str
) -> None:
    files.write("some.txt", *(f"A good sentence, number {i}." for i in range(10)))
    files.write("bad.txt", *(f"Una frase errado buena, la {i}." for i in range(10)))
    stages = estimate(set_up(base_url=server, **settings), Files(Path("some.txt"), Path("bad.txt")), AS_SIMULATOR)
    assert files("postedit -s some.txt -t bad.txt --config m.toml --name r -o out.txt -q").code == 0
    assert files.read("out.txt")[0] == "Una frase correcto buena, la 0."
    real = {stage: usage.calls for stage, usage in paid(files).items()}
    assert real == {stage: stages[stage].high.calls for stage in ("postedit", "proofread")}


# --- a budget of the high end


@pytest.mark.loopback
@pytest.mark.parametrize("segments_of_file", [1, 12])
@pytest.mark.parametrize(
    ("options", "translation"),
    [
        ("", "Una frase buena"),
        ("", "Una frase errado buena"),
        ("--gate rate --go-on", "Una frase errado buena"),
        ("--evaluator m-mad", "Una frase errado buena"),
        ("--max-tokens 300", "Una frase errado buena"),
        ("", None),
    ],
)
def test_a_run_whose_budget_is_the_high_end_finishes(
    options: str, translation: str | None, segments_of_file: int, files: Shell, panel: str
) -> None:
    numbers = range(segments_of_file)
    files.write("some.txt", *(f"A good sentence, number {i}." for i in numbers))
    files.write("mt.txt", *(f"{translation}, la {i}." for i in numbers))
    given = "" if translation is None else "-t mt.txt"
    options = f"-s some.txt {given} -l en-es --model m --base-url {panel} --prices prices.toml {options}"
    total = files(f"estimate {options} -q").lines[-1].split()
    input_tokens, output_tokens = (int(figure.split("–")[-1].replace(",", "")) for figure in total[2:4])
    dollars = total[4].split("–")[-1].lstrip("$")
    command = "translate" if translation is None else "postedit"
    for name, budget in (
        ("dollars", f"--budget {dollars}"),
        ("tokens", f"--token-budget {input_tokens + output_tokens}"),
    ):
        files.write(f"{name}.txt")
        done = files(f"{command} {options} {budget} --store {name}.db --name {name} -o {name}.txt --force")
        assert done.code == 0, done.err
        assert len(files.read(f"{name}.txt")) == segments_of_file


# --- what is counted

OWN = """
from mtagent.errors import EvaluationError, ModelError
from mtagent.records import Message, Rating

class Own:
    name = "own"
    def __init__(self, config, llm):
        self.llm = llm
        self.calls = {calls}
    async def rate(self, segment, translation):
        try:
            await self.llm.complete([Message(role="user", content="x" * 28 + translation)])
        except ModelError as error:
            raise EvaluationError("own words for it") from error
"""


@pytest.mark.parametrize(
    ("calls", "row"),
    [
        # A request has 10 tokens and 4 for its frame, a reply 1 token, or 150 and three times the 3 of the translation.
        # A later request holds the translation at least, and all the replies before it at most.
        ("(2, 4)", f"2–4 {10 + 3}–{14 + (14 + 159) + (14 + 2 * 159) + (14 + 3 * 159):,} 2–{4 * 159}"),
        *((wrong, "1 10–14 1–159") for wrong in ("None", "[]", "7", "(1, '2')", "(1, 2, 3)")),
    ],
)
def test_an_evaluator_of_ones_own_takes_the_calls_that_it_states_or_its_first_requests(
    calls: str, row: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "own-1.dist-info").mkdir()
    shell.write("own-1.dist-info/METADATA", "Metadata-Version: 2.1", "Name: own", "Version: 1")
    shell.write("own-1.dist-info/entry_points.txt", "[mtagent.evaluators]", "own = own_evaluator:Own")
    shell.write("own_evaluator.py", OWN.replace("{calls}", calls))
    monkeypatch.syspath_prepend(str(shell.folder))
    monkeypatch.delitem(sys.modules, "own_evaluator", raising=False)
    shell.write("one.txt", "a")
    shell.write("uno.txt", "una frase xy")
    options = "-l en-es --rating --evaluator own --model gpt-4o-mini --count length -q"
    done = shell(f"estimate -s one.txt -t uno.txt {options}")
    assert " ".join(done.lines[1].split()).startswith(f"rate {row} $")


@pytest.mark.parametrize(
    ("options", "row"),
    [
        # Equal segments are paid for once at least and every time at most.
        ("-s same.txt -t same.txt --stages pe --gate none", r"postedit +1–5 "),
        ("-s blank.txt -t blank.txt", r"total +0 +0 +0 +\$0.0000 +\$0.0000$"),
        ("-s long.txt --translator command:cat", r"translate +0 +0 +0 +\$0.0000 +\$0.0000$"),
        ("-s long.txt --translator command:cat", r"postedit +\d+–\d+ "),
        ("-s long.txt -t long.es.txt --model unheard-of --stages pe", r"postedit .* unknown$"),
        ("-s long.txt -t long.es.txt --model unheard-of --stages pe", r"reserve .* unknown +unknown$"),
    ],
)
def test_what_costs_something_and_what_does_not(options: str, row: str, files: Shell) -> None:
    files.write("same.txt", *["The same sentence."] * 5)
    files.write("blank.txt", "", "   ")
    model = "" if "--model" in options else "--model gpt-4o-mini"
    assert re.search(f"^{row}", files(f"estimate -l en-es -q {options} {model}").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            "--model gpt-4o-mini",
            [
                *("low: no error is found", "high: every stage edits", "not included: reasoning tokens"),
                *("questions to judges about doubtful edits", "a run finishes, if it needs nothing else"),
                *("tokens: counted with o200k", "prices: the public list prices"),
            ],
        ),
        ("--model unheard-of", ["name its price in a file (--prices)"]),
        ("--model unheard-of --prices batch.toml", ["with --batch 40% less"]),
    ],
)
def test_it_says_what_it_assumes_and_makes_no_store(options: str, words: list[str], files: Shell) -> None:
    files.write("batch.toml", *PRICES, "batch_discount = 0.4")
    done = files(f"estimate -s en.txt -t es.txt -l en-es {options}")
    assert (done.code, done.err) == (0, "")
    assert [part for part in words if part not in done.out] == []
    assert not (files.folder / "store.db").exists()


def test_offline_nothing_is_asked_and_it_is_said_how_to_name_a_model(files: Shell) -> None:
    done = files("estimate -s en.txt -t es.txt -l en-es")
    assert "Choose a model with --model" in done.err
    assert re.search(r"^total +0 ", done.out, re.MULTILINE)


def test_ratings_of_no_translation_are_refused_as_rate_refuses_them(files: Shell) -> None:
    done = files("estimate -s en.txt -l en-es --rating --model gpt-4o-mini")
    assert (done.code, done.out) == (1, "")
    assert "there is no translation to rate: give it with -t" in done.err


def test_each_stage_has_the_price_of_its_own_model(files: Shell) -> None:
    files.write("prices.toml", *PRICES, "[[prices]]", 'model = "dear"', "input = 100", "output = 500")
    cheap = set_up(model="cheap", gate="guards")
    dear = cheap.model_copy(update={"proofread": cheap.proofread.model_copy(update={"model": "dear"})})
    before, after = (estimate(config, Files(Path("en.txt"), Path("es.txt")), AS_SIMULATOR) for config in (cheap, dear))
    assert after["postedit"] == before["postedit"]
    costs = [stages["proofread"].high.cost for stages in (before, after)]
    assert costs[1] == pytest.approx(100 * costs[0], rel=0.05)


def test_estimating_from_python_gives_the_same(files: Shell) -> None:
    config = set_up(model="gpt-4o-mini")
    stages = estimate(config, Files(Path("en.txt"), Path("es.txt")), counter("length"))
    shown = files("estimate -s en.txt -t es.txt --config m.toml --count length -q").out
    assert re.search(rf"^postedit .*–{stages['postedit'].high.input_tokens:,} ", shown, re.MULTILINE)


def test_tokens_by_length_and_by_vocabulary() -> None:
    text = "The city council decided on Tuesday evening that the old bridge will stay closed."
    assert (counter("o200k").count(text), counter("length").count(text), counter("length").count("世界您好")) == (
        15,
        21,
        4,
    )


def test_without_the_vocabulary_the_length_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)  # what Python does for a package that is not there
    assert counter().how.startswith("estimated from the length")
    with pytest.raises(MissingExtra, match=r"pip install 'mtagent\[tokens\]'"):
        counter("o200k")
