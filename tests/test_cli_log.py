"""``--log``, and ``mtagent runs show RUN --calls``."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent.records import Call, Completion, Message, Usage
from mtagent.store import Store
from tests import commands
from tests.commands import SOURCES, Shell

EVENTS = ("call", "retry", "wait", "verdict")
BOTH = "--model m --store store.db --gate pairwise"


@pytest.fixture
def faulty() -> Iterator[str]:
    """The address of a server that refuses its first two requests."""
    with simulator(
        "--behaviour", "tests.simulator.chain:improving", "--script", "429:0.1", "503", lifetime=60
    ) as base_url:
        yield base_url


@pytest.mark.loopback
def test_the_log_tells_calls_retries_and_verdicts_without_texts(shell: Shell, faulty: str) -> None:
    done = shell.postedit(f"-o out.txt --base-url {faulty} {BOTH} --log log.jsonl --name r")
    assert done.code == 0, done.err
    events = shell.objects("log.jsonl")
    assert {event["event"] for event in events} <= set(EVENTS)
    assert {event["run"] for event in events} == {"r"}
    assert sorted(event["cause"] for event in events if event["event"] == "retry") == ["HTTP 429", "HTTP 503"]
    calls = [event for event in events if event["event"] == "call"]
    with Store(shell.folder / "store.db") as store:
        assert sum(call["usage"]["calls"] for call in calls) == store.run("r").usage.calls
    assert {event["segment"] for event in events if event["event"] == "verdict"} == {"1", "2", "3"}
    text = (shell.folder / "log.jsonl").read_text(encoding="utf-8")
    assert not [source for source in SOURCES if source in text]


@pytest.mark.loopback
def test_the_log_and_the_stored_calls_agree_on_retries_waits_and_endpoints(shell: Shell) -> None:
    behaviour = ("--behaviour", "tests.simulator.chain:improving")
    shell.write("en.txt", *(f"The cat number {number} sat on the mat." for number in range(20)))
    shell.write("es.txt", *(f"El gato número {number} se sentó en la errado alfombra." for number in range(20)))
    with (
        simulator(*behaviour, "--script", *["503"] * 7) as first,
        simulator(*behaviour, "--script", "429:0.1", "truncate") as second,
    ):
        line = f"-o out.txt --base-url {first} --endpoint {second} {BOTH} --log log.jsonl --name r"
        done = shell.postedit(f"{line} --concurrency 1")
    assert done.code == 0, done.err
    events = shell.objects("log.jsonl")
    logged = [event for event in events if event["event"] == "call"]
    stored = json.loads(shell("runs show r --calls 1000 -f json").out)["slowest"]
    assert {call["endpoint"] for call in stored} == {first, second}
    assert {f"http://{call['server']}/v1" for call in logged} == {first, second}

    def told(calls: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        fields = ("segment", "purpose", "endpoint", "retries", "waited")
        return sorted(tuple(call[field] for field in fields) for call in calls)

    assert told([{"retries": [], **call} for call in logged]) == told(stored)
    retries = [event for event in events if event["event"] == "retry"]
    causes = Counter(cause for call in stored for cause in call["retries"])
    assert Counter(event["cause"] for event in retries) == causes
    assert {"HTTP 503", "HTTP 429", "Truncated"} <= set(causes)
    waits = [event["seconds"] for event in events if event["event"] == "wait"]
    waited = sum(call["waited"] for call in stored)
    assert sum(waits) + sum(event["wait"] for event in retries) == pytest.approx(waited, abs=0.05)
    failovers = [event for event in retries if "next_endpoint" in event]
    assert {(event["endpoint"], event["next_endpoint"]) for event in failovers} >= {(first, second)}
    checked_calls = 0
    for call in stored:
        attempts = [
            event["attempt"] for event in retries if all(event[name] == call[name] for name in ("segment", "purpose"))
        ]
        if attempts and len(attempts) == len(call["retries"]):  # the only call of its kind
            assert attempts == list(range(1, len(attempts) + 1))
            checked_calls += 1
    assert checked_calls == sum(bool(call["retries"]) for call in stored) >= 2
    assert shell("runs show r --calls").out.count(second) > 1


@pytest.mark.loopback
def test_ratings_are_logged_and_another_command_adds_its_lines(shell: Shell, panel: str) -> None:
    line = f"rate -s en.txt -t es.txt -l en-es --evaluator gemba-da --model m --base-url {panel} --log log.jsonl"
    assert shell(f"{line} -o a.jsonl --name a").code == 0
    former = (shell.folder / "log.jsonl").read_bytes()
    assert shell(f"{line} -o b.jsonl --name b --seed 2").code == 0
    assert (shell.folder / "log.jsonl").read_bytes().startswith(former)
    events = shell.objects("log.jsonl")
    assert [event["run"] for event in events] == ["a"] * 3 + ["b"] * 3
    assert {(event["event"], event["purpose"]) for event in events} == {("call", "rate")}
    assert sorted(event["segment"] for event in events[:3]) == ["1", "2", "3"]


def test_a_log_in_the_place_of_a_text_is_refused_before_the_first_call(shell: Shell) -> None:
    done = shell.postedit("-o out.txt --log en.txt")
    assert done.code == 1
    assert done.last == "mtagent: en.txt: is not a log of mtagent, and is not changed: name another file in log"
    assert shell.read("en.txt") == SOURCES


def test_a_full_disk_is_said_once_and_the_run_ends_well(shell: Shell) -> None:
    done = shell.postedit("-o out.txt --log /dev/full")
    assert done.code == 0
    assert done.err.count("the log has gaps; the work continues") == 1
    assert len(shell.read("out.txt")) == len(SOURCES)


@pytest.mark.slow
@pytest.mark.loopback
def test_a_killed_run_leaves_whole_lines_to_which_the_resumed_one_adds(tmp_path: Path, server: str) -> None:
    (tmp_path / "en.txt").write_text("".join(f"The cat {number} sat here.\n" for number in range(200)))
    (tmp_path / "es.txt").write_text("".join(f"El gato {number} se sentó aquí\n" for number in range(200)))
    line = f"postedit -s en.txt -t es.txt -l en-es -o out.txt --model m --base-url {server} --log log.jsonl --name r"
    log = tmp_path / "log.jsonl"
    with commands.start(tmp_path, *line.split()) as process:
        while not log.exists() or log.read_bytes().count(b"\n") < 50:
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    killed = log.read_bytes()
    assert killed.endswith(b"\n")
    done = commands.run(tmp_path, *line.split())
    assert done.code == 0, done.err
    assert log.read_bytes().startswith(killed)
    events = [json.loads(written) for written in log.read_text(encoding="utf-8").splitlines()]
    with Store(tmp_path / "store.db") as store:
        logged = sum(event["usage"]["calls"] for event in events if event["event"] == "call")
        # A call whose reply came right before the end may be stored and not logged, or the reverse.
        assert abs(logged - store.run("r").usage.calls) <= 16


# --- mtagent runs show RUN --calls


def stored(path: Path) -> None:
    """A run with four calls: a slow one that was repeated, an expensive one, one that failed, a useless attempt."""
    hello = (Message(role="user", content="Hello"),)

    def call(purpose: str, seconds: float, cost: float | None, **more: object) -> Call:
        usage = Usage(calls=1, input_tokens=100, output_tokens=10, cost=cost)
        fields = {"purpose": purpose, "model": "m", "messages": hello, "usage": usage, "seconds": seconds}
        return Call(**{**fields, **more})

    completion = Completion(text="Hola", model="m")
    with Store(path) as store:
        run = store.start("r", settings={}, inputs={}, total=3)
        retries = ("HTTP 429", "HTTP 429", "Truncated")
        slow = call("rate", 40.0, 0.01, reply="Hola", retries=retries, waited=30.0)
        attempt = call("rate", 0.0, 0.0, reply="Ho", error="Truncated: no text", usage=Usage())
        store.calls.record(run.id, "1", "rate", "a", attempt, None)
        store.calls.record(run.id, "1", "rate", "a", slow, completion)
        store.calls.record(run.id, "2", "rate", "b", call("rate", 2.0, 0.03, reply="Hola"), completion)
        failed = call("translate", 9.0, None, usage=Usage(), error="503", retries=("timeout",))
        store.calls.record(run.id, "3", "translate", "c", failed, None)
        run.finish()


def test_the_calls_of_a_run_are_shown_by_time_and_cost_and_with_the_causes_of_retries(shell: Shell) -> None:
    stored(shell.folder / "store.db")
    done = shell("runs show r --calls 2")
    assert done.code == 0, done.err
    assert done.lines == [
        "calls:",
        "purpose    model  calls  failed  unusable  repeated  seconds  mean  slowest  waited  "
        "input_tokens  output_tokens     cost",
        "rate       m          2       0         0         1     42.0  21.0     40.0    30.0  "
        "         200             20  $0.0400",
        "translate  m          1       1         0         1      9.0   9.0      9.0     0.0  "
        "           0              0  $0.0000",
        "",
        "slowest calls:",
        "id  segment  purpose    model  retries                    failed  seconds  waited  "
        "input_tokens  output_tokens     cost",
        "2   1        rate       m      HTTP 429 ×2, Truncated ×1  -          40.0    30.0  "
        "         100             10  $0.0100",
        "4   3        translate  m      timeout ×1                 yes         9.0     0.0  "
        "           0              0  $0.0000",
        "",
        "most expensive calls:",
        "id  segment  purpose  model  retries                    failed  seconds  waited  "
        "input_tokens  output_tokens     cost",
        "3   2        rate     m      -                          -           2.0     0.0  "
        "         100             10  $0.0300",
        "2   1        rate     m      HTTP 429 ×2, Truncated ×1  -          40.0    30.0  "
        "         100             10  $0.0100",
        "",
        "why requests were sent again:",
        "purpose    model  cause      times  calls",
        "rate       m      HTTP 429       2      1",
        "rate       m      Truncated      1      1",
        "translate  m      timeout        1      1",
    ]


def test_the_calls_of_a_run_as_json(shell: Shell) -> None:
    stored(shell.folder / "store.db")
    overview = json.loads(shell("runs show r --calls -f json").out)
    assert [group["calls"] for group in overview["totals"]] == [2, 1]
    assert [call["segment"] for call in overview["slowest"]] == ["1", "3", "2"]
    assert overview["slowest"][0]["retries"] == ["HTTP 429", "HTTP 429", "Truncated"]
    assert overview["most_expensive"][0]["cost"] == 0.03
    assert overview["causes"][0] == {"purpose": "rate", "model": "m", "cause": "HTTP 429", "times": 2, "calls": 1}


def test_calls_before_a_run_was_continued_with_endpoints_have_a_row_of_their_own(shell: Shell) -> None:
    usage = Usage(calls=1, input_tokens=100, output_tokens=10)
    with Store(shell.folder / "store.db") as store:
        run = store.start("r", settings={}, inputs={}, total=2)
        for segment, endpoint in (("1", None), ("2", "http://a/v1")):
            call = Call(purpose="rate", model="m", messages=(), usage=usage, seconds=1.0, endpoint=endpoint)
            store.calls.record(run.id, segment, "rate", segment, call, Completion(text="Hola", model="m"))
        run.finish()
    overview = json.loads(shell("runs show r --calls -f json").out)
    totals = [(group["endpoint"], group["calls"]) for group in overview["totals"]]
    assert sorted(totals, key=str) == [("http://a/v1", 1), (None, 1)]
    table = shell("runs show r --calls").lines
    assert table[1].split()[:3] == ["purpose", "model", "endpoint"]
    assert sorted(line.split()[2] for line in table[2:4]) == ["-", "http://a/v1"]


def test_a_run_without_calls_says_so_and_wrong_combinations_are_refused(shell: Shell) -> None:
    shell.postedit("-o out.txt --name r")
    done = shell("runs show r --calls")
    assert (done.code, done.lines) == (0, [])
    assert "made no call to a model" in done.last
    assert shell("runs show r 1 --calls").code == 2
