"""Many calls to a server that turns some of them away, all, or everybody for an hour: how long it takes.

Seconds are those of a loop whose time jumps; what is measured does not depend on the machine.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.config import Config, load
from mtagent.errors import FATAL, ModelError, ServerPaused
from mtagent.jobs.agent import Agent, make_segments
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.pool import GRACE, Outcome, work_all
from mtagent.llm.client import OpenAIClient
from mtagent.llm.limits import Limiter
from mtagent.records import Message
from mtagent.store import Store
from tests.clocks import LoopClock, run_in_no_time
from tests.commands import Shell
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.chain import improving
from tests.simulator.settings import Body

pytestmark = pytest.mark.loopback
CALLS, CONCURRENCY, LATENCY = 5, 32, 0.2


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@dataclass
class Course:
    """How a run went: its seconds, what became of the segments, the server's answers by status."""

    seconds: float
    done: int
    failed: int
    statuses: Counter[int]
    error: Exception | None


def run(settings: Settings, segments: int = 150) -> Course:
    """Segments of five calls each, one call after the other."""
    random.seed(settings.seed)  # for the waits between attempts
    return run_in_no_time(_run(settings, segments))


async def _run(settings: Settings, segments: int) -> Course:
    clock, error = LoopClock(), None
    began, saved = clock.now(), []
    async with Simulator(settings) as server:
        limiter = Limiter(CONCURRENCY, clock=clock)
        client = OpenAIClient("m", base_url=server.base_url, clock=clock, limiter=limiter)

        async def work(position: int, number: int) -> str | None:
            for call in range(CALLS):
                try:
                    await client.complete((Message(role="user", content=f"{number} {call}"),))
                except FATAL:
                    raise
                except ModelError as failure:
                    return str(failure)
            return None

        try:
            await work_all(
                range(segments),
                work,
                lambda _, failure: saved.append(failure),
                concurrency=CONCURRENCY,
                sleepers=limiter.sleepers,
                done=lambda _: False,
                give_up_after=0,
                outcome=lambda failure: Outcome(failure is None, failure),
            )
        except ServerPaused as stopped:
            error = stopped
        seconds = clock.now() - began
        await client.aclose()
        statuses = Counter(entry.status for entry in server.journal.entries)
    return Course(seconds, saved.count(None), len(saved) - saved.count(None), statuses, error)


FREE = 150 * CALLS * LATENCY / CONCURRENCY


@pytest.mark.parametrize(
    ("share", "status", "seed", "most"),
    [(0.1, 429, 0, 2.5), (0.2, 429, 0, 3), (0.2, 503, 1, 3), (0.2, 529, 2, 3), (0.3, 429, 0, 4), (0.3, 429, 9, 4)],
)
def test_some_requests_turned_away_slow_down_only_those(share: float, status: int, seed: int, most: float) -> None:
    fault = Fault("status", status, retry_after=1)
    course = run(Settings(latency=LATENCY, fault_rate=share, faults=(fault,), seed=seed))
    assert (course.done, course.failed) == (150, 0)
    assert course.seconds < most * FREE


@pytest.mark.parametrize(
    ("most_a_window", "window", "segments", "rejected"), [(600, 60, 240, 0.05), (100, 10, 150, 0.15), (10, 1, 60, 0.35)]
)
def test_a_server_with_a_cap_is_kept_busy_and_left_alone_in_between(
    most_a_window: int, window: float, segments: int, rejected: float
) -> None:
    course = run(Settings(latency=LATENCY, requests_per_window=most_a_window, window=window), segments)
    assert (course.done, course.failed) == (segments, 0)
    least = (segments * CALLS // most_a_window - 1) * window
    assert course.seconds < 1.1 * least + 1.1 * window
    assert course.statuses[429] < rejected * course.statuses.total()


@pytest.mark.parametrize(
    ("most_a_window", "window", "segments", "most"), [(10, 1, 60, 36), (2, 1, 20, 90), (600, 60, 240, 76)]
)
def test_a_cap_that_the_server_does_not_tell_is_felt_out(
    most_a_window: int, window: float, segments: int, most: float
) -> None:
    settings = Settings(latency=LATENCY, requests_per_window=most_a_window, window=window, retry_after_style="none")
    courses = [run(settings, segments) for _ in range(3)]  # a busy machine's delays only add to the time
    assert all((course.done, course.failed) == (segments, 0) for course in courses)
    assert min(course.seconds for course in courses) < most


def test_after_a_bad_while_a_run_is_fast_again_within_seconds() -> None:
    script: Sequence[Fault] = [Fault("status", 503, retry_after=1)] * 40
    assert run(Settings(latency=LATENCY, script=script)).seconds < FREE + 30


def test_a_long_pause_stops_a_run_at_once_and_no_segment_fails() -> None:
    script = ["fine"] * 400 + [Fault("status", 503, retry_after=3600)]
    course = run(Settings(latency=LATENCY, script=script))
    assert isinstance(course.error, ServerPaused)
    assert course.failed == 0
    assert course.done >= 32
    assert course.seconds < (401 / CONCURRENCY + 1) * LATENCY + GRACE + 0.01


def test_a_pause_that_fits_the_deadline_is_waited_for() -> None:
    script = ["fine"] * 100 + [Fault("status", 429, retry_after=500)] * 12
    course = run(Settings(latency=LATENCY, script=script))
    assert (course.done, course.failed, course.error) == (150, 0, None)
    assert 500 < course.seconds < 500 + 3 * FREE


def test_one_request_that_is_always_turned_away_fails_and_stops_nothing() -> None:
    def choosy(body: Body) -> str | Fault:
        return Fault("status", 429, retry_after=60) if body["messages"][0]["content"] == "7" else "fine"

    async def ask() -> list[str]:
        async with Simulator(Settings(behaviour=choosy)) as server:
            clock = LoopClock()
            client = OpenAIClient("m", base_url=server.base_url, clock=clock, limiter=Limiter(4, clock=clock))
            calls = [client.complete((Message(role="user", content=f"{i}"),)) for i in range(20)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            await client.aclose()
            return [type(outcome).__name__ for outcome in outcomes]

    assert Counter(run_in_no_time(ask())) == {"Completion": 19, "RateLimited": 1}


# --- stored runs


async def improved(config: Config, files: Files) -> ServerPaused | None:
    """What stopped a run."""
    try:
        await improve_file(config, files, command="translate", on_start=lambda *_: None, on_chain=lambda _: None)
    except ServerPaused as error:
        return error
    return None


async def test_a_run_that_a_long_pause_stopped_goes_on_and_pays_for_no_call_twice(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("".join(f"Text number {i}.\n" for i in range(40)), encoding="utf-8")
    numbers = itertools.count(1)

    def pausing(body: Body) -> str | Fault:
        return Fault("status", 429, retry_after=3600) if next(numbers) == 60 else improving(body)

    files = Files(source=tmp_path / "en.txt", output=tmp_path / "out.txt")
    async with Simulator(Settings(behaviour=pausing, latency=0.01)) as server:
        config = load(None, {"base_url": server.base_url, "source_lang": "en", "target_lang": "es",
                             "store": tmp_path / "s.db", "run": "r", "concurrency": 4})  # fmt: skip
        assert await improved(config, files) is not None
        with Store(tmp_path / "s.db") as store:
            counts = store.read("r").counts()
            assert 0 < counts.done < 40
            assert counts.failed == 0
        assert not (tmp_path / "out.txt").exists()
        assert await improved(config, files) is None
        answered = [entry.sha256 for entry in server.journal.entries if entry.status == 200]
        assert len(answered) == len(set(answered)), "all replies under way were stored before the run stopped"
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()) == 40


# --- commands


@pytest.mark.parametrize(
    "line",
    [
        "translate -s en.txt -l en-es -o out.txt --run r",
        "postedit -s en.txt -t es.txt -l en-es -o out.txt --run r",
        "rate -s en.txt -t es.txt -l en-es -o out.jsonl --name r",
        "himate calibrate -s en.txt -t es.txt -l en-es -o out.json --run r",
    ],
)
def test_a_command_that_the_server_sends_away_ends_with_5_and_the_same_command_goes_on(shell: Shell, line: str) -> None:
    shell.write("es.txt", "Uno errado.", "Dos errado.", "Tres errado.")
    with simulator("--script", "429:3600", "--behaviour", "tests.simulator.evaluators:answer") as address:
        done = shell(f"{line} --base-url {address}")
        assert (done.code, done.out) == (5, "")
        [told] = [text for text in done.err.splitlines() if text.startswith("mtagent: stopped")]
        assert "asks to be left alone for 3,600 s (60 minutes, until " in told
        assert "the same command after that time goes on from there" in told
        with Store(shell.folder / "store.db") as store:
            stored = store.run("r")
        assert (stored.state, stored.counts.failed) == ("stopped", 0)
        assert shell(f"{line} --base-url {address}").code == 0


def test_from_python_the_pause_is_raised_after_what_was_finished() -> None:
    done: list[str] = []

    async def collect() -> None:
        script = ["uno", "dos", Fault("status", 503, retry_after=3600)]
        async with Simulator(Settings(script=script)) as server:
            agent = Agent(base_url=server.base_url, stages="t", concurrency=1)
            async for chain in agent.stream(make_segments(["one", "two", "three", "four"], None, "en", "es")):
                done.append(chain.text)

    with pytest.raises(ServerPaused) as caught:
        asyncio.run(collect())
    assert (done, caught.value.seconds) == (["uno", "dos"], 3600)
