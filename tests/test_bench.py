"""The benchmarks run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bench import faults, parts
from bench.__main__ import check
from bench.chain import efficiency
from bench.client import compare
from bench.harness import Timing, cpu_ratio, report, simulator, timed_calls
from bench.meta_eval import Case
from bench.meta_eval import compare as compare_ties
from bench.savings import CACHES, run
from bench.scores import resampling
from tests.meta_scores import scores
from tests.simulator.faults import FAULTS, RARE
from tests.simulator.replies import completion


@pytest.mark.loopback
async def test_client_benchmark_reports_the_ratio() -> None:
    with simulator(lifetime=60) as base_url:
        lines = report(await compare(base_url, rounds=1, calls=20, concurrency=4), "openai").splitlines()
    assert [line.split()[0] for line in lines] == ["openai", "mtagent"]
    assert "ratio 1.00" in lines[0]


def test_efficiency_counts_the_end_of_a_run_and_the_processor() -> None:
    slow = efficiency(100.0, 4, 8)
    assert slow.calls > 2 * 8
    assert slow.ideal == slow.calls * 100 / 4
    assert slow.ideal < slow.seconds < 2 * slow.ideal, "the last segments don't take all places"
    fast = efficiency(0.0, 4, 8)
    assert 0 < fast.cpu <= fast.seconds < 100


async def test_every_call_is_made_with_no_more_at_once_than_allowed() -> None:
    active = most = made = 0

    async def call() -> None:
        nonlocal active, most, made
        active += 1
        most, made = max(most, active), made + 1
        await asyncio.sleep(0)
        active -= 1

    timing = await timed_calls(call, 25, 4)
    assert timing.seconds > 0
    assert timing.cpu > 0
    assert made == 25
    assert most <= 4


def rounds(*cpu: float, seconds: float = 0.01) -> list[Timing]:
    return [Timing(seconds, each) for each in cpu]


def test_report_compares_medians() -> None:
    timings = {"base": rounds(0.001, 0.001, 0.009), "slow": rounds(0.003, 0.003, 0.003, seconds=0.02)}
    line = report(timings, "base").splitlines()[1]
    assert "50 calls/s" in line
    assert "ratio 0.50" in line
    assert "3.00 ms CPU a call, ratio 3.00" in line


def test_a_busy_moment_falls_on_both_contestants_of_a_round() -> None:
    timings = {"base": rounds(0.001, 0.005, 0.001), "ours": rounds(0.002, 0.010, 0.002)}
    assert cpu_ratio(timings, "ours", "base") == 2.0


@pytest.mark.parametrize(
    ("measured", "good", "said"),
    [
        ([2.0], True, "chain: 2.000 of the bare client's CPU time, +0.0 % to the kept 2.000"),
        ([2.09], True, "+4.5 % to the kept"),
        ([1.5], True, "-25.0 % to the kept"),
        ([2.2, 2.05], True, "chain: 2.050"),
        ([2.2, 2.15], False, "WORSE: chain: 2.150 of the bare client's CPU time, +7.5 % to the kept 2.000"),
    ],
)
def test_what_takes_over_five_percent_more_twice_is_worse(
    measured: list[float], good: bool, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    results = iter([{"openai": rounds(1.0), "mtagent": rounds(ratio)} for ratio in measured])
    assert check({"chain": lambda: {"openai": rounds(1.0), "mtagent": rounds(2.0)}}, figures, save=True)
    assert json.loads(figures.read_text(encoding="utf-8")) == {"chain": 2.0}
    assert check({"chain": lambda: next(results)}, figures, save=False) == good
    assert said in capsys.readouterr().out
    assert next(results, None) is None, "measured as often as needed"
    assert json.loads(figures.read_text(encoding="utf-8")) == {"chain": 2.0}


def test_the_resampling_that_is_measured_gives_the_same_p_values() -> None:
    line = resampling("bs", 50)
    assert "ratio" in line
    assert "3 of 3 p-values equal" in line


def test_both_ways_of_calibrating_ties_find_the_same() -> None:
    small = scores([[1, 2, 4], [2, 2, 5], [1, 1, 9]], [[1, 1, 3], [2, 1, 3], [1, 0, 4]])
    for averaging in ("none", "item", "system"):
        assert compare_ties(Case("small", small, averaging)).endswith("the same")


@pytest.mark.parametrize(
    ("judge", "noise", "calls"), [("rate", 0.01, 6), ("rate with spans", 0.01, 4), ("pairwise", 0.0, 10)]
)
def test_one_bad_edit_is_found_among_five_good_ones(judge: str, noise: float, calls: float) -> None:
    kept = parts.measure(judge, noise, texts=100)
    assert kept.good >= 0.95
    assert kept.bad <= 0.05
    assert kept.calls <= calls
    assert parts.measure(judge, noise, texts=20, calls=0).good < 0.2, "all or none"


@pytest.mark.slow
@pytest.mark.loopback
@pytest.mark.parametrize("fault", ["500", "422", "broken-json", "parts"])
async def test_a_run_that_met_a_fault_is_mended_by_the_same_command(fault: str) -> None:
    row = await faults.measured(fault, faults.Job(segments=20))
    assert row.right + row.failed == 20
    assert (row.failed > 0) == (fault == "422")
    assert row.calls > 50
    assert (row.then_right, row.repeated, row.then_code) == (20, 0, "0")
    assert row.dollars is not None


def test_every_fault_can_be_sent() -> None:
    whole = completion({"model": "sim", "messages": []}, 1, "Hola.")
    wires = {name: spoil({**whole, "usage": {}}) for name, spoil in FAULTS.items() if name != "50-mb"}
    assert len(FAULTS) >= 25
    assert {wire.status for wire in wires.values()} >= {0, 200, 400, 401, 403, 404, 408, 409, 429, 500, 502, 503, 529}
    assert set(RARE) <= set(FAULTS)


@pytest.mark.loopback
async def test_savings_come_from_prefixes_and_marks_and_equal_segments_are_paid_for_once() -> None:
    lines = [f"The old bridge, number {number}, stays closed." for number in range(8)]
    settings = {"stages": "tp", "gate": "guards"}
    results = {}
    for name, (server, cache_settings) in CACHES.items():
        results[name], _ = await run(lines, {**settings, **cache_settings}, server)
    nothing, prefixes, unmarked, marked = results.values()
    assert len({result.usage.input_tokens for result in results.values()}) == 1, "marks change no text"
    assert nothing.usage.cached_tokens == nothing.usage.cache_write_tokens == unmarked.usage.cached_tokens == 0
    assert prefixes.usage.cache_write_tokens == 0
    # All ratings but the first read what the first one left in the cache, in whole steps of 128 tokens or to a mark.
    assert prefixes.usage.cached_tokens == 7 * 1152
    assert marked.usage.cached_tokens == 7 * marked.usage.cache_write_tokens > 7 * 1152
    assert max(marked.dollars, prefixes.dollars) < nothing.dollars < unmarked.dollars

    twice, _ = await run([*lines, *lines], settings, CACHES["prefixes cached"][0])
    assert twice.usage.calls == prefixes.usage.calls
    assert twice.usage.reused == prefixes.usage.calls


@pytest.mark.loopback
@pytest.mark.parametrize("settings", [{"gate": "rate"}, {"gate": "pairwise"}, {"stop_when_error_free": False}], ids=str)
async def test_no_request_is_paid_for_twice_in_a_run(settings: dict[str, Any]) -> None:
    lines = [f"The old bridge, number {number % 4}, stays closed." for number in range(12)]
    result, _ = await run(lines, settings, CACHES["nothing cached"][0])
    stages = {step.stage for chain in result.chains for step in chain.steps}
    assert stages >= {"translate", "postedit", "proofread"}
    assert result.repeated == 0
    assert result.usage.calls < result.usage.reused
