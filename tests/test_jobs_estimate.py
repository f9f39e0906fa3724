"""Estimates: what a run really takes lies between low and high, stage by stage."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.cli.estimate import command
from mtagent.cli.options import read_config, read_files
from mtagent.config import load
from mtagent.errors import EvaluationError, MissingExtra, ModelError
from mtagent.evaluators.named import EVALUATORS
from mtagent.jobs.estimate import FRAME, Counter, Estimator, Range, Text, by_length, counter, estimate, estimate_ratings
from mtagent.jobs.inputs import Files
from mtagent.llm.protocol import LLM
from mtagent.records import Message, Rating, Segment, Usage
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
    "himate:confidence=verbal", "rate",
)  # fmt: skip
PRICES = ("[[prices]]", 'model = "*"', "input = 1", "cached_input = 0.1", "output = 5")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        yield base_url


@pytest.fixture(scope="module")
def panel() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.evaluators:answer") as base_url:
        yield base_url


@pytest.fixture
def files(shell: Shell) -> Shell:
    """A shell with 24 segments, some of them equal, some of several paragraphs, and a price file."""
    lines = [*sources(20).splitlines(), *sources(3).splitlines(), "Hi."]
    shell.write("long.txt", *lines)
    shell.write("long.es.txt", *map(translated, lines))
    shell.write("prices.toml", *PRICES)
    return shell


def refuse_outside(found: Range, real: Usage, what: str) -> None:
    for field in FIELDS:
        low, high = getattr(found.low, field), getattr(found.high, field)
        assert low <= getattr(real, field) <= high, f"{what}: {field}"


def estimated(line: str) -> dict[str, Range]:
    """What ``mtagent estimate`` finds with the options of ``line``, counting tokens as the simulator does."""
    options = command.make_context("estimate", line.split()).params
    rating, _, _ = (options.pop(name) for name in ("rating", "count", "quiet"))
    files, config = read_files(options), read_config(options)
    return (estimate_ratings if rating else estimate)(config, files, Counter("as the simulator", tokens))


def paid_by_stage(store: Path, run: str) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    with Store(store) as opened:
        for chain in opened.read(run).chains():
            for step in chain.steps:
                found[step.stage] = found.get(step.stage, Usage()) + step.usage
    return found


CHAINS = {
    "given": "-t long.es.txt",
    "from-nothing": "",
    "pairwise": "-t long.es.txt --gate pairwise",
    "guards": "-t long.es.txt --gate guards --stages pe",
    "go-on": "-t long.es.txt --go-on",
    "t-pr": "--stages t-pr",
    "another-judge": "-t long.es.txt --judge-model other",
    "paper": "--preset paper",
    "scale": "-t long.es.txt --evaluator rubric-mqm:scale=1-100 --context 2 --domain news",
}


@pytest.mark.loopback
@pytest.mark.parametrize("line", CHAINS.values(), ids=CHAINS)
def test_what_a_chain_takes_lies_between_low_and_high(line: str, files: Shell, server: str) -> None:
    options = f"-s long.txt -l en-es --prices prices.toml --base-url {server} {line}"
    found = estimated(options)
    name = "postedit" if "-t " in line else "translate"
    assert files(f"{name} {options} --run r -o out.txt -q").code == 0
    real = paid_by_stage(files.folder / "store.db", "r")
    assert set(real) >= {"proofread"} or "guards" in line
    for stage, usage in real.items():
        refuse_outside(found[stage], usage, stage)


def row(table: str, stage: str) -> Range:
    """A row of the table that is printed."""
    cells = next(line for line in table.splitlines() if line.startswith(stage)).split()[1:]
    spans = [[float(number.strip("$").replace(",", "")) for number in cell.split("–")] for cell in cells]
    (*least, cost), (*most, highest) = ([span[place] for span in spans] for place in (0, -1))
    rounding = 0.00005
    names = FIELDS[:3]
    return Range(
        Usage(**dict(zip(names, map(int, least), strict=True)), cost=cost - rounding),
        Usage(**dict(zip(names, map(int, most), strict=True)), cost=highest + rounding),
    )


@pytest.mark.loopback
@pytest.mark.parametrize("spec", SPECS)
def test_what_ratings_take_lies_between_low_and_high(spec: str, files: Shell, panel: str) -> None:
    texts = segments(12)
    files.write("src.txt", *(segment.source for segment in texts))
    files.write("mt.txt", *(segment.translation or "" for segment in texts))
    options = f"-s src.txt -t mt.txt -l en-es --evaluator {spec} --base-url {panel} --prices prices.toml"
    found = estimated(f"{options} --rating")
    assert files(f"rate {options} --name r -o r.jsonl -q").code == 0
    with Store(files.folder / "store.db") as store:
        refuse_outside(found["rate"], store.run("r").usage, spec)


@pytest.mark.loopback
@pytest.mark.parametrize("spec", ["gemba-mqm", "gemba-da", "eaprompt", "single-agent", "m-mad", "himate", "rate"])
def test_an_evaluator_that_suggests_nothing_takes_a_fix_too(spec: str, files: Shell, panel: str) -> None:
    texts = segments(12)
    files.write("src.txt", *(segment.source for segment in texts))
    files.write("mt.txt", *(segment.translation or "" for segment in texts))
    options = f"-s src.txt -t mt.txt -l en-es --prices prices.toml --base-url {panel} --evaluator {spec} --stages pe"
    found = estimated(options)
    assert files(f"postedit {options} --run r -o out.txt -q").code == 0
    refuse_outside(found["postedit"], paid_by_stage(files.folder / "store.db", "r")["postedit"], spec)


@pytest.mark.loopback
def test_where_no_error_is_found_the_low_figure_is_all_that_is_paid(files: Shell, server: str) -> None:
    files.write("good.txt", *(f"Una frase buena, la {i}." for i in range(24)))
    options = f"-s long.txt -t good.txt -l en-es --base-url {server} --prices prices.toml --limit 20"
    found = estimated(options)
    assert files(f"postedit {options} --run r -o out.txt -q").code == 0
    with Store(files.folder / "store.db") as store:
        usage = store.run("r").usage
    low = Usage.total(needed.low for needed in found.values())
    assert usage.calls == low.calls == 20
    assert low.input_tokens <= usage.input_tokens < 1.02 * low.input_tokens


@pytest.mark.loopback
@pytest.mark.parametrize(
    "line", ["", "--gate pairwise", "--gate guards", "--judge-model other", "--judge rubric-mqm:scale=1-8", "--forced"]
)
def test_where_every_text_is_edited_twice_the_high_figure_has_just_the_calls_that_are_made(
    line: str, files: Shell, server: str
) -> None:
    files.write("some.txt", *(f"A good sentence, number {i}." for i in range(10)))
    files.write("bad.txt", *(f"Una frase errado buena, la {i}." for i in range(10)))
    options = f"-s some.txt -t bad.txt -l en-es --base-url {server} {line}"
    found = estimated(options)
    assert files(f"postedit {options} --run r -o out.txt -q").code == 0
    assert files.read("out.txt")[0] == "Una frase correcto buena, la 0."
    real = paid_by_stage(files.folder / "store.db", "r")
    assert {stage: usage.calls for stage, usage in real.items()} == {
        stage: found[stage].high.calls for stage in ("postedit", "proofread")
    }


# --- what is counted


def test_every_evaluator_states_its_calls_for_a_rating() -> None:
    from importlib import import_module

    for name, where in EVALUATORS.items():
        module, _, attribute = where.partition(":")
        source = Path(str(import_module(module).__file__)).read_text(encoding="utf-8")
        stated = re.search(r"^    calls = \(|self\.calls = \(|-> InBatches:|InBatches\(", source, re.MULTILINE)
        assert stated or attribute == "GembaSQM", name


@pytest.mark.parametrize("calls", [None, [], 7, (1, "2"), (1, 2, 3)])
def test_an_evaluator_that_states_no_calls_makes_its_first_requests(calls: object, tmp_path: Path) -> None:
    class Own:
        name = "own"

        def __init__(self, llm: LLM) -> None:
            self.llm, self.calls = llm, calls

        async def rate(self, segment: Segment, translation: str) -> Rating:
            try:
                await self.llm.complete([Message(role="user", content=translation)])
            except ModelError as error:
                raise EvaluationError("own words for it") from error
            raise AssertionError

    segment = Segment(id="1", source="a", source_lang="en", target_lang="es", translation="una frase")
    estimator = Estimator(load(None, {"model": "gpt-4o-mini"}).effective(), counter("length"))
    estimator.evaluator = Own(estimator.listener)
    found = asyncio.run(estimator.ratings(iter([segment])))["rate"]
    assert (found.low.calls, found.high.calls) == (1, 1)


def test_the_figures_of_a_rating_by_hand() -> None:
    """A request of 10 tokens and a translation of 3; a reply has 1 token, or 150 and three times the translation's."""

    class Own:
        name, calls = "own", (2, 4)

        def __init__(self, llm: LLM) -> None:
            self.llm = llm

        async def rate(self, segment: Segment, translation: str) -> Rating:
            await self.llm.complete([Message(role="user", content="x" * 28 + translation)])
            raise AssertionError

    segment = Segment(id="1", source="a", source_lang="en", target_lang="es", translation="una frase xy")
    estimator = Estimator(load(None, {"model": "gpt-4o-mini"}).effective(), counter("length"))
    estimator.evaluator = Own(estimator.listener)
    low, high = asyncio.run(estimator.ratings(iter([segment])))["rate"]
    assert (low.calls, low.input_tokens, low.output_tokens) == (2, 10 + 3, 2)
    said, sent = 150 + 3 * 3, 10 + FRAME
    assert (high.calls, high.output_tokens) == (4, 4 * said)
    assert high.input_tokens == sent + (sent + said) + (sent + 2 * said) + (sent + 3 * said)


def test_an_edited_text_has_from_three_to_five_quarters_of_the_tokens_before() -> None:
    text = Text("", 100)
    assert (text.low, text.high) == (100, 100)
    assert (text.edited().low, text.edited().high) == (75, 125 + 20)


def test_ratings_of_no_translation_are_refused_as_rate_refuses_them(files: Shell) -> None:
    done = files("estimate -s en.txt -l en-es --rating --model gpt-4o-mini")
    assert (done.code, done.out) == (1, "")
    assert "there is no translation to rate: give it with -t" in done.err


def test_equal_segments_are_paid_for_once_at_least_and_every_time_at_most(files: Shell) -> None:
    files.write("same.txt", *["The same sentence."] * 5)
    done = files("estimate -s same.txt -t same.txt -l en-es --stages pe --gate none --model gpt-4o-mini -q")
    assert re.search(r"^postedit +1–5 ", done.out, re.MULTILINE)


def test_what_is_empty_costs_nothing(files: Shell) -> None:
    files.write("blank.txt", "", "   ")
    done = files("estimate -s blank.txt -t blank.txt -l en-es --model gpt-4o-mini -q")
    assert re.search(r"^total +0 +0 +0 +\$0.0000$", done.out, re.MULTILINE)


def test_a_system_of_the_users_own_is_not_counted(files: Shell) -> None:
    done = files("estimate -s long.txt -l en-es --translator command:cat --model gpt-4o-mini -q")
    assert re.search(r"^translate +0 +0 +0 +\$0.0000$", done.out, re.MULTILINE)
    assert re.search(r"^postedit +\d+–\d+ ", done.out, re.MULTILINE)


def test_it_says_what_it_assumes_and_makes_no_store(files: Shell) -> None:
    done = files("estimate -s en.txt -t es.txt -l en-es --model gpt-4o-mini")
    assert (done.code, done.err) == (0, "")
    for words in (
        "low: no error is found",
        "high: every stage edits",
        "not in it: thoughts",
        "tokens: counted with o200k",
    ):
        assert f"\n{words}" in done.out
    assert "prices: the public list prices" in done.out
    assert not (files.folder / "store.db").exists()


def test_without_a_price_there_are_tokens_only(files: Shell) -> None:
    done = files("estimate -s en.txt -t es.txt -l en-es --model unheard-of --stages pe")
    assert re.search(r"^postedit .* unknown$", done.out, re.MULTILINE)
    assert "name its price in a file (--prices)" in done.out


def test_offline_nothing_is_asked_and_it_is_said_how_to_name_a_model(files: Shell) -> None:
    done = files("estimate -s en.txt -t es.txt -l en-es")
    assert "Name a model with --model" in done.err
    assert re.search(r"^total +0 ", done.out, re.MULTILINE)


def test_the_batch_discount_of_the_price_file_is_told(files: Shell) -> None:
    files.write("prices.toml", *PRICES, "batch_discount = 0.5")
    done = files("estimate -s en.txt -t es.txt -l en-es --model unheard-of --prices prices.toml")
    assert "in the provider's batch queue 50% less; mtagent sends no batches itself" in done.out


def test_each_stage_has_the_price_of_its_own_model(files: Shell) -> None:
    files.write("prices.toml", *PRICES, "[[prices]]", 'model = "dear"', "input = 100", "output = 500")
    options = "estimate -s en.txt -t es.txt -l en-es --model cheap --prices prices.toml --gate guards -q"
    cheap, dear = (files(f"{options} {more}").out for more in ("", "--stage-model proofread=dear"))
    assert row(dear, "postedit") == row(cheap, "postedit")
    ratio = row(dear, "proofread").high.cost / row(cheap, "proofread").high.cost  # type: ignore[operator]
    assert ratio == pytest.approx(100, rel=0.05)


def test_estimating_from_python_gives_the_same(files: Shell) -> None:
    config = load(None, {"model": "gpt-4o-mini", "source_lang": "en", "target_lang": "es"})
    found = estimate(config, Files(Path("en.txt"), Path("es.txt")), counter("length"))
    shown = files("estimate -s en.txt -t es.txt -l en-es --model gpt-4o-mini --count length -q").out
    assert found["postedit"].high.input_tokens == row(shown, "postedit").high.input_tokens


def test_tokens_by_length_and_by_vocabulary() -> None:
    text = "The city council decided on Tuesday evening that the old bridge will stay closed."
    assert counter("o200k").count(text) == 15
    assert by_length(text) == 21
    assert by_length("世界您好") == 4
    assert counter("length").how.startswith("estimated from the length")


def test_without_the_vocabulary_the_length_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)  # what Python does for a package that is not there
    assert counter().count("four") == 1
    with pytest.raises(MissingExtra, match=r"pip install 'mtagent\[tokens\]'"):
        counter("o200k")
