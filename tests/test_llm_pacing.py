"""Many calls to a server that turns some of them away, all, or everybody for an hour: how long it takes.

Seconds are those of a loop whose time jumps, and the server is behind the client's transport without a socket: the
figures depend on nothing but the seeds.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from bench.harness import simulator
from mtagent.config import load
from mtagent.errors import FATAL, ModelError, RateLimited, ServerError, ServerPaused
from mtagent.jobs.agent import Agent
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.pool import GRACE, Outcome, work_all
from mtagent.jobs.python_inputs import make_segments
from mtagent.llm.client import OpenAIClient
from mtagent.llm.events import Observed, Observers
from mtagent.llm.limits import Limiter, ReadLimits
from mtagent.llm.reply import exchange_failure, stated_limits, status_failure
from mtagent.llm.request import Body
from mtagent.records import Message
from mtagent.store import Store
from tests.clocks import LoopClock, run_in_no_time
from tests.commands import Shell
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.chain import improving

HELLO = (Message(role="user", content="Hello"),)
CALLS, CONCURRENCY, LATENCY = 5, 32, 0.2
MIXED = (
    *(Fault("status", 500), Fault("status", 503), Fault("status", 429, retry_after=1), Fault("status", 429)),
    *(Fault(kind) for kind in ("reset", "bad-json", "no-choices", "empty", "truncate")),
)
FREE = 150 * CALLS * LATENCY / CONCURRENCY
"""Seconds that a run of 150 segments takes where nothing is turned away."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


class Wire:
    """A transport to a simulator in the same loop, without a socket; ``statuses`` counts its answers."""

    def __init__(self, settings: Settings) -> None:
        self.statuses: Counter[int] = Counter()
        self._server = Simulator(settings)

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits) -> Any:
        answer = await self._server.answer(body)
        self.statuses[answer.status] += 1
        headers = {name.lower(): value for name, value in answer.headers.items()}
        read_limits(stated_limits(headers))
        if answer.status == 200:
            return answer.payload
        if answer.status == 0:
            return exchange_failure("no connection", "", unreachable=True)
        return status_failure(answer.status, headers, answer.payload, now=LoopClock().wall())


def connected(
    settings: Settings, concurrency: int = CONCURRENCY, *, deadline: float = 600, requests_per_minute: int | None = None
) -> tuple[OpenAIClient, Wire]:
    clock, wire = LoopClock(), Wire(settings)
    limiter = Limiter(concurrency, requests_per_minute=requests_per_minute, clock=clock)
    transport: Any = wire
    return OpenAIClient("m", clock=clock, limiter=limiter, deadline=deadline, transport=transport), wire


@dataclass
class Course:
    """How a run went: its seconds, what became of the segments, the server's answers by status."""

    seconds: float
    done: int
    failed: int
    statuses: Counter[int]
    error: Exception | None


def run(settings: Settings, segments: int = 150, concurrency: int = CONCURRENCY) -> Course:
    """Segments of five calls each, one call after the other."""
    random.seed(settings.seed)  # for the waits between attempts
    return run_in_no_time(_run(settings, segments, concurrency))


def least_seconds(settings: Settings, segments: int, concurrency: int) -> float:
    """The least time of that run at a server that takes ``requests_per_window``.

    All windows except the last one are waited for. In the last one, ``concurrency`` requests are in flight at once.
    """
    most = settings.requests_per_window
    assert most is not None
    calls = segments * CALLS
    last = min(most, calls)
    windows = math.ceil(calls / most) - 1
    return max(
        math.ceil(calls / concurrency) * settings.latency,
        windows * settings.window + math.ceil(last / concurrency) * settings.latency,
    )


async def _run(settings: Settings, segments: int, concurrency: int) -> Course:
    client, wire = connected(settings, concurrency)
    failures: list[str | None] = []
    began, error = LoopClock().now(), None

    async def work(position: int, number: int) -> str | None:
        for call in range(CALLS):
            try:
                await client.complete((Message(role="user", content=f"{number} {call}"),))
            except FATAL:
                raise
            except ModelError as failure:
                return str(failure)
        return None

    def save(position: int, failure: str | None) -> Outcome:
        failures.append(failure)
        return Outcome(failure is None, failure)

    try:
        await work_all(
            range(segments),
            work,
            save,
            concurrency=concurrency,
            sleepers=client.limiter.sleepers,
            done=lambda _: False,
            give_up_after=0,
        )
    except ServerPaused as stopped:
        error = stopped
    done = failures.count(None)
    return Course(LoopClock().now() - began, done, len(failures) - done, wire.statuses, error)


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
    course = run(settings, segments)
    assert (course.done, course.failed) == (segments, 0)
    assert course.seconds < most
    assert run(settings, segments) == course, "nothing but the seed decides"


@pytest.mark.parametrize("latency", [LATENCY, 1.0])
def test_a_server_that_states_its_limit_hardly_has_to_refuse_anything(latency: float) -> None:
    settings = Settings(latency=latency, requests_per_window=300, window=60, rate_headers=True)
    course = run(settings, 180)
    assert (course.done, course.failed) == (180, 0)
    assert course.seconds < 1.15 * 2 * 60, "900 requests take two windows at least"
    assert course.statuses[429] < 0.04 * course.statuses.total()


@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("latency", [1.0, 5.0])
def test_a_cap_a_minute_is_used_up_however_long_the_replies_take(states: bool, latency: float) -> None:
    settings = Settings(latency=latency, requests_per_window=300, window=60, rate_headers=states)
    course = run(settings, 300)
    assert (course.done, course.failed) == (300, 0)
    assert course.seconds < 1.1 * least_seconds(settings, 300, CONCURRENCY)
    assert course.statuses[429] < 0.1 * course.statuses.total()


@pytest.mark.slow
def test_mixed_faults_cost_few_calls_and_no_segment_is_lost() -> None:
    course = run(Settings(latency=LATENCY, fault_rate=0.1, faults=MIXED, keep=False), 5000)
    assert course.done + course.failed == 5000
    assert course.failed < 25, "two useless replies to one call"
    assert course.statuses.total() <= 1.25 * 5000 * CALLS


def test_after_a_bad_while_a_run_is_fast_again_within_seconds() -> None:
    script = [Fault("status", 503, retry_after=1)] * 40
    assert run(Settings(latency=LATENCY, script=script)).seconds < FREE + 30


def test_a_long_pause_stops_a_run_at_once_and_no_segment_fails() -> None:
    course = run(Settings(latency=LATENCY, script=["fine"] * 400 + [Fault("status", 503, retry_after=3600)]))
    assert isinstance(course.error, ServerPaused)
    assert course.failed == 0
    assert course.done >= 32
    assert course.seconds < (401 / CONCURRENCY + 1) * LATENCY + GRACE + 0.01


def test_a_pause_that_fits_the_deadline_is_waited_for() -> None:
    course = run(Settings(latency=LATENCY, script=["fine"] * 100 + [Fault("status", 429, retry_after=500)] * 12))
    assert (course.done, course.failed, course.error) == (150, 0, None)
    assert 500 < course.seconds < 500 + 3 * FREE


def test_one_request_that_is_always_turned_away_fails_and_stops_nothing() -> None:
    def choosy(body: Body) -> str | Fault:
        return Fault("status", 429, retry_after=60) if body["messages"][0]["content"] == "7" else "fine"

    async def ask() -> list[object]:
        client, _ = connected(Settings(behaviour=choosy), 4)
        calls = [client.complete((Message(role="user", content=f"{i}"),)) for i in range(20)]
        return await asyncio.gather(*calls, return_exceptions=True)

    outcomes = run_in_no_time(ask())
    assert [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Exception)] == [7]
    assert isinstance(outcomes[7], RateLimited)


def test_a_retry_gives_up_its_turn_at_the_deadline_and_sends_nothing() -> None:
    async def ask() -> tuple[BaseException | None, float, int]:
        client, wire = connected(Settings(script=[Fault("status", 503), Fault("hang")]), 1, deadline=30)
        began = LoopClock().now()
        retried, queued = (
            asyncio.ensure_future(client.complete(HELLO)) for _ in range(2)
        )  # the second keeps the place
        await asyncio.wait([retried])
        seconds = LoopClock().now() - began
        queued.cancel()
        return retried.exception(), seconds, wire.statuses.total()

    error, seconds, answers = run_in_no_time(ask())
    assert isinstance(error, ServerError)
    assert "HTTP 503" in str(error)
    assert "given up at the deadline of 30 s" in str(error)
    assert abs(seconds - 30) < 1
    assert answers == 1


def test_queueing_for_the_first_attempt_does_not_count() -> None:
    async def ask() -> None:
        client, _ = connected(Settings(), deadline=30, requests_per_minute=1)
        await asyncio.gather(*(client.complete(HELLO) for _ in range(3)))
        assert LoopClock().now() == 1000 + 120

    run_in_no_time(ask())


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ({"tokens_per_minute": 5}, r"a request of about \d+ tokens exceeds tokens_per_minute \(5\)"),
        ({"requests_per_minute": 1}, r"a request waits for 60 s because of requests_per_minute \(1\)"),
    ],
)
def test_a_long_wait_for_a_rate_is_logged_once_and_counted_if_it_is_cut_short(
    rate: dict[str, int], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Any] = []
    request = (Message(role="user", content="Hello, world! " * 10),)

    async def ask() -> None:
        clock, transport = LoopClock(), cast("Any", Wire(Settings()))
        client = OpenAIClient("m", clock=clock, limiter=Limiter(clock=clock, **rate), transport=transport)
        llm = Observed(client, Observers([events.append]))
        await llm.complete(request)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(llm.complete(request), 45)
        await llm.complete(request)

    run_in_no_time(ask())
    assert [event.error for event in events] == [None, "CancelledError", None]
    assert [event.waited for event in events[:2]] == [0, pytest.approx(45)]
    assert len(re.findall(message, caplog.text)) == 1
    assert caplog.text.count("per_minute") == 1


# --- stored runs


@pytest.mark.loopback
async def test_a_run_that_a_long_pause_stopped_goes_on_and_pays_for_no_call_twice(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("".join(f"Text number {i}.\n" for i in range(40)), encoding="utf-8")
    numbers = itertools.count(1)

    def pausing(body: Body) -> str | Fault:
        return Fault("status", 429, retry_after=3600) if next(numbers) == 60 else improving(body)

    async def improved() -> None:
        files = Files(source=tmp_path / "en.txt", output=tmp_path / "out.txt")
        await improve_file(config, files, command="translate", on_start=lambda *_: None, on_chain=lambda _: None)

    async with Simulator(Settings(behaviour=pausing, latency=0.01)) as server:
        config = load(None, {"base_url": server.base_url, "source_lang": "en", "target_lang": "es",
                             "store": tmp_path / "s.db", "run": "r", "concurrency": 4})  # fmt: skip
        with pytest.raises(ServerPaused):
            await improved()
        with Store(tmp_path / "s.db") as store:
            counts = store.read("r").counts()
            assert 0 < counts.done < 40
            assert counts.failed == 0
        assert not (tmp_path / "out.txt").exists()
        await improved()
        answered = [entry.sha256 for entry in server.journal.entries if entry.status == 200]
        assert len(answered) == len(set(answered)), "all replies under way were stored before the run stopped"
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()) == 40


@pytest.mark.loopback
@pytest.mark.parametrize(
    "line",
    [
        "translate -s en.txt -l en-es -o out.txt --name r",
        "postedit -s en.txt -t es.txt -l en-es -o out.txt --name r",
        "rate -s en.txt -t es.txt -l en-es -o out.jsonl --name r",
    ],
)
def test_a_command_that_the_server_sends_away_ends_with_5_and_the_same_command_goes_on(shell: Shell, line: str) -> None:
    shell.write("es.txt", "Uno errado.", "Dos errado.", "Tres errado.")
    with simulator("--script", "429:3600", "--behaviour", "tests.simulator.evaluators:answer") as address:
        done = shell(f"{line} --base-url {address}")
        assert (done.code, done.out) == (5, "")
        [message] = [text for text in done.err.splitlines() if text.startswith("mtagent: stopped")]
        assert "asks to be left alone for 3,600 s (60 minutes, until " in message
        assert "the same command after that time continues from there" in message
        with Store(shell.folder / "store.db") as store:
            stored = store.run("r")
        assert (stored.state, stored.counts.failed) == ("stopped", 0)
        assert shell(f"{line} --base-url {address}").code == 0


@pytest.mark.loopback
def test_from_python_the_pause_is_raised_after_what_was_finished() -> None:
    done: list[str] = []

    async def collect() -> None:
        script: list[Any] = ["uno", "dos", Fault("status", 503, retry_after=3600)]
        async with Simulator(Settings(script=script)) as server:
            agent = Agent(base_url=server.base_url, stages="t", concurrency=1)
            async for chain in agent.astream(make_segments(["one", "two", "three", "four"], None, "en", "es")):
                done.append(chain.text)

    with pytest.raises(ServerPaused) as caught:
        asyncio.run(collect())
    assert (done, caught.value.seconds) == (["uno", "dos"], 3600)
