"""Runs whose models are asked in batches."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent
from mtagent.config import load
from mtagent.errors import BadRequest, ConfigError, NotAnswered, RateLimited, ServerError
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.llm.batch import Batches, read_result
from mtagent.llm.reply import RequestFailure
from mtagent.llm.server import Endpoint
from mtagent.store import Store
from tests import batches, killing
from tests.commands import Done, Shell, run, start
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.chain import improving

pytestmark = pytest.mark.loopback

PRICES = '[[prices]]\nmodel = "m"\ninput = 1\noutput = 2\n'
NUMBER = 6


@pytest.fixture
def job(shell: Shell) -> Shell:
    """The shell with a few texts, and a price."""
    (shell.folder / "texts.txt").write_text(killing.sources(NUMBER), encoding="utf-8")
    (shell.folder / "prices.toml").write_text(PRICES, encoding="utf-8")
    return shell


def translate(job: Shell, server: str, output: str, *more: str) -> Done:
    files = f"translate -s texts.txt -l en-es -o {output} --name {output} --prices prices.toml --store {output}.db"
    return job(f"{files} --model m --base-url {server} --judge-model m", *more)


def usage(job: Shell, output: str) -> Any:
    with Store(job.folder / f"{output}.db") as store:
        return store.run(output).usage


def details(job: Shell, output: str) -> list[Any]:
    """The chains of a run, without times and costs."""
    with Store(job.folder / f"{output}.db") as store:
        return [
            [(step.stage, step.verdict, step.text, step.cause, len(step.calls)) for step in chain.steps]
            for chain in store.read(output).chains()
        ]


def counts(server: Simulator) -> Counter[str]:
    """How often each request was answered, by its id in a batch."""
    return Counter(entry.id for entry in server.journal.entries if entry.fault)


def test_batches_give_the_ordinary_result_at_half_the_price(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, cached_tokens=False)) as server:
        ordinary = translate(job, server.base_url, "live")
        done = translate(job, server.base_url, "batched", "--batch", "--log", "log.jsonl")
        assert (ordinary.code, done.code) == (0, 0), done.err
        assert job.read("live") == job.read("batched")
        assert details(job, "live") == details(job, "batched")
        live, batched = usage(job, "live"), usage(job, "batched")
        assert batched.cost == pytest.approx(live.cost / 2)
        assert batched.model_copy(update={"cost": live.cost, "batched": 0}) == live
        assert batched.batched == batched.calls
        assert set(counts(server).values()) == {1}
        events = Counter(event["event"] for event in job.objects("log.jsonl"))
        assert events["call"] == live.calls
        assert not list((job.folder / "batched.db.batches").iterdir())  # all is in the store
    assert (
        "batch: 2 to 17 round trips of up to 24 hours each (translate 1, postedit 1, judges of postedit 0 to 7"
        in done.err
    )
    with Store(job.folder / "batched.db") as store:
        calls = [
            call.usage.cost for chain in store.read("batched").chains() for step in chain.steps for call in step.calls
        ]
    assert sum(calls) == pytest.approx(batched.cost)
    shown = [json.loads(job(f"runs show {name} --calls -f json --store {name}.db").out) for name in ("live", "batched")]
    assert all(row["seconds"] > 0 for row in shown[0]["totals"] + shown[0]["slowest"] + shown[0]["most_expensive"])
    assert shown[1]["slowest"] == []
    for row in shown[1]["totals"] + shown[1]["most_expensive"]:
        assert row["seconds"] is None, "the time it took to read a result is no latency"
    assert "batch" in job("runs show batched --calls --store batched.db").out
    (job.folder / "dear.toml").write_text(PRICES.replace("1", "10").replace("2", "20"), encoding="utf-8")
    for prices, factor in (("prices.toml", 1), ("dear.toml", 10)):
        compared = job(f"compare batched --store batched.db --prices {prices} -r texts.txt -m chrf -f json")
        assert compared.code == 0, compared.err
        final = json.loads(compared.out)["rows"][-1]
        assert final["cost"]["paid"]["dollars"] == pytest.approx(factor * batched.cost)


@pytest.mark.parametrize("fault", [None, "400", "500"])
def test_no_call_in_a_batch_has_a_latency(job: Shell, fault: str | None) -> None:
    """Not if its reply had no usage, if it was refused, or if every batch failed to answer it."""
    numbers = itertools.count()

    def answered(body: Any) -> Any:
        if fault is not None and next(numbers) % 2:
            return Fault("status", int(fault))
        return improving(body)

    done = translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "write", "files")
    while done.code == 6:
        batches.answer(job.folder / "files", Settings(behaviour=answered, usage=False))
        done = translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "read", "files")
    overview = json.loads(job("runs show out --calls -f json --store out.db").out)
    assert overview["slowest"] == []
    assert {row["slowest"] for row in overview["totals"]} == {None}
    failed = sum(row["failed"] for row in overview["totals"])
    if fault is None:
        assert (done.code, failed) == (0, 0), done.err
    else:
        assert failed > 0


def test_somebody_else_submits_the_files(job: Shell) -> None:
    settings = Settings(behaviour=improving, cached_tokens=False)
    words = ("--stage-model", "proofread=other", "--batch")  # proofreader and judges are asked in the same wave
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "write", "files")
    rounds = 0
    while done.code == 6:
        assert "submit each file" in done.last
        rounds += 1
        assert batches.answer(job.folder / "files", settings)
        done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert done.code == 0, done.err
    assert rounds == 5
    for path in (job.folder / "files").glob("requests-*.jsonl"):
        assert len({request["body"]["model"] for request in job.objects(f"files/{path.name}")}) == 1
    assert len(job.read("out")) == NUMBER
    assert "errado" not in " ".join(job.read("out"))
    (job.folder / "out").rename(job.folder / "first")
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files").code == 0
    assert job.read("out") == job.read("first"), "the output is written again"
    (job.folder / "out.db").unlink()
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files", "--force").code == 0
    assert job.read("out") == job.read("first"), "the results are read again"


def test_the_same_command_tries_the_failed_segments_of_a_finished_run_again(job: Shell) -> None:
    settings = Settings(behaviour=improving, cached_tokens=False)
    words = ("--stages", "t", "--batch")
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "write", "files").code == 6
    batches.answer(job.folder / "files", settings)
    (answers,) = (job.folder / "files").glob("answers-*.jsonl")
    first, *others = answers.read_text(encoding="utf-8").splitlines(keepends=True)
    refused = json.loads(first)
    refused["response"] = {"status_code": 400, "body": {"error": {"message": "no"}}}
    answers.write_text(json.dumps(refused) + "\n" + "".join(others), encoding="utf-8")
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files").code == 3
    again = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert (again.code, "1 request to answer" in again.err) == (6, True), again
    batches.answer(job.folder / "files", settings)
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files").code == 0
    with Store(job.folder / "out.db") as store:
        counts_of_run = store.run("out").counts
    assert (counts_of_run.done, counts_of_run.failed) == (NUMBER, 0)


def test_a_run_goes_on_elsewhere_with_the_folder_alone(job: Shell) -> None:
    settings = Settings(behaviour=improving)
    translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "write", "files")
    batches.answer(job.folder / "files", settings)
    translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "read", "files")
    (job.folder / "out.db").unlink()
    batches.answer(job.folder / "files", settings)
    done = translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "read", "files")
    assert done.code == 6
    assert usage(job, "out").calls == 2 * NUMBER


@pytest.mark.parametrize("ending", ["expired:2", "silent:2"])
def test_what_an_ended_batch_left_is_asked_again(job: Shell, ending: str) -> None:
    with batches.serving(Settings(behaviour=improving, endings=(ending,))) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 0, done.err
        assert len(server.queue.batches) == 2
        assert len(server.journal.entries) == NUMBER
        assert usage(job, "out").calls == NUMBER


def test_a_cancelled_batch_stops_the_run_and_keeps_what_was_answered(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, endings=("cancelled:2",))) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 1
        assert "batch_1 was cancelled" in done.last
        assert "the rest (4 requests) in a new batch" in done.last
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0
        assert len(server.journal.entries) == NUMBER
        assert usage(job, "out").calls == NUMBER


def test_a_refused_batch_is_explained(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, endings=("invalid",))) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 1
        assert "requests-0001.jsonl: the server refused the batch batch_1: line 3: This batch is invalid." in done.last
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0


class SmallBatches(Batches):
    most_requests = 4


@pytest.mark.parametrize(("endings", "number"), [((), 2), (("completed", "full"), 3)])
def test_large_files_are_split_and_wait_until_the_queue_has_room(
    job: Shell, endings: tuple[str, ...], number: int
) -> None:
    with batches.serving(Settings(behaviour=improving, endings=endings, batch_seconds=0.3)) as server:
        languages = {"source_lang": "en", "target_lang": "es"}
        config = load(overrides={**languages, "base_url": server.base_url, "stages": "t"})
        work = improve_file(
            config,
            Files(source=Path("texts.txt"), output=Path("out")),
            command="translate",
            on_start=lambda *_: None,
            on_chain=lambda _: None,
            batches=SmallBatches(),
        )
        assert asyncio.run(work).counts.done == NUMBER
        assert len(server.queue.batches) == number
        assert len(server.journal.entries) == NUMBER
        sizes = [len(server.queue.contents[name].splitlines()) for name in ("file-1", "file-2")]
        assert sizes == [4, 2]


def test_a_file_that_the_server_still_reads_does_not_block_the_others(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, slow_upload=True)) as server:
        languages = {"source_lang": "en", "target_lang": "es"}
        config = load(overrides={**languages, "base_url": server.base_url, "stages": "t"})
        work = improve_file(
            config,
            Files(source=Path("texts.txt"), output=Path("out")),
            command="translate",
            on_start=lambda *_: None,
            on_chain=lambda _: None,
            batches=SmallBatches(),
        )
        assert asyncio.run(asyncio.wait_for(work, 20)).counts.done == NUMBER
        assert [batch["input_file_id"] for batch in server.queue.batches.values()] == ["file-2", "file-1"]


def test_each_batch_is_submitted_with_its_key(job: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "first")
    monkeypatch.setenv("JUDGE_KEY", "second")
    with batches.serving(Settings(behaviour=improving)) as server:
        job.write("judge.toml", "[judge]", 'api_key_env = "JUDGE_KEY"')
        done = translate(job, server.base_url, "out", "--config", "judge.toml", "--batch")
        assert done.code == 0, done.err
        assert set(server.queue.keys.values()) == {"first", "second"}
        for number, batch in server.queue.batches.items():
            texts = server.queue.contents[batch["input_file_id"]].decode()
            assert (server.queue.keys[number] == "second") == ("Translation A" in texts)


def test_no_file_is_larger_than_a_server_takes(tmp_path: Path) -> None:
    requests = Batches("write", tmp_path)
    requests.most_bytes = 500
    requests.open("mine", tmp_path)
    for number in range(5):
        body = {"model": "m", "messages": [{"role": "user", "content": f"{number}" * 50}]}
        for _ in range(2):  # an equal request is written once
            with pytest.raises(NotAnswered):
                requests.result(Endpoint("http://localhost:1/v1"), "", body)
    requests.end_wave()
    contents = [path.read_bytes() for path in tmp_path.glob("requests-*.jsonl")]
    assert max(map(len, contents)) <= 500
    assert sum(content.count(b"\n") for content in contents) == 5


def test_a_batch_alone_in_a_full_queue_stops_the_run(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, endings=("full",))) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 1
        assert "the same command submits it when the account's queue has room" in done.last
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0
        assert len(server.journal.entries) == NUMBER


def test_a_refused_parameter_is_remembered_by_the_next_command(job: Shell) -> None:
    settings = Settings(behaviour=improving, unsupported=frozenset({"temperature"}))
    words = ("--temperature", "0.5", "--batch")
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "write", "files")
    rounds = 0
    while done.code == 6:
        rounds += 1
        batches.answer(job.folder / "files", settings)
        done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert (done.code, rounds) == (0, 6)


@pytest.mark.parametrize(
    ("line", "kind", "transient"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "late"}}, ServerError, True),
        ({"response": {"status_code": 400, "body": None}, "error": {"message": "too long"}}, BadRequest, False),
        ({"response": {"status_code": 429, "body": {"error": {"message": "slow"}}}}, RateLimited, True),
        ({"response": "odd", "error": None}, ServerError, True),
    ],
)
def test_a_line_without_a_reply_is_a_failure(line: Any, kind: type[Exception], transient: bool) -> None:
    failure = read_result(line)
    assert isinstance(failure, RequestFailure)
    assert (failure.kind, failure.transient) == (kind, transient)
    assert failure.message


def test_failed_lines_are_asked_again_up_to_the_usual_error(job: Shell) -> None:
    asked: Counter[str] = Counter()

    def failing(body: Any) -> str | Fault:
        text = body["messages"][-1]["content"]
        asked[text] += 1
        if "Text number 3" in text and asked[text] <= 5:
            return Fault("status", 500)
        if "Text number 4" in text and asked[text] == 1:
            return Fault("status", 429)
        return improving(body)

    with batches.serving(Settings(behaviour=failing)) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 3
        assert "segment 4: translate failed: " in done.err
        limit = "Rate limit reached for requests"
        error = "The server had an error while processing your request. Sorry about that!"
        repeated = re.findall("round trip .* asked again: .*", done.err)
        assert repeated == [
            f"round trip 2: 1 request failed and is asked again: HTTP 429: {limit}",
            f"round trip 2: 1 request failed and is asked again: HTTP 500: {error}",
            f"round trip 3: 1 request failed and is asked again: HTTP 500: {error}",
        ]
        assert "5 changed" in done.err or "1 failed" in done.err
        assert [count for text, count in asked.items() if "number 3" in text] == [3]
        assert [count for text, count in asked.items() if "number 4" in text] == [2]
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 0, done.err
        assert [count for text, count in asked.items() if "number 3" in text] == [6]


@pytest.mark.parametrize(
    ("fault", "reason", "in_the_end"),
    [
        ("no-choices", "a reply without choices", "a reply without choices; asked in several batches"),
        ("empty", "an empty reply", "the reply was empty twice"),
    ],
)
def test_unusable_replies_are_asked_again_with_a_reason(job: Shell, fault: str, reason: str, in_the_end: str) -> None:
    settings = Settings(behaviour=lambda body: Fault(fault), cached_tokens=False)
    words = ("--stages", "t", "--batch")
    assert translate(job, "http://127.0.0.1:9/v1", "out", *words, "write", "files").code == 6
    batches.answer(job.folder / "files", settings)
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert f"round trip 2: {NUMBER} requests failed and are asked again: {reason}\n" in done.err
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert "asked again" not in done.err.replace("and are asked for again", ""), "they are in a file already"
    while done.code == 6:
        batches.answer(job.folder / "files", settings)
        done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")
    assert (done.code, in_the_end in done.err) == (1, True), done.err


def test_an_empty_reply_and_a_refused_parameter_take_one_more_batch_each(job: Shell) -> None:
    asked: Counter[str] = Counter()

    def empty_first(body: Any) -> str | Fault:
        text = body["messages"][-1]["content"]
        asked[text] += 1
        return Fault("empty") if asked[text] == 1 else improving(body)

    settings = Settings(behaviour=empty_first, unsupported=frozenset({"temperature"}))
    with batches.serving(settings) as server:
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t", "--temperature", "0.5")
        assert done.code == 0, done.err
        assert len(server.queue.batches) == 3
        assert usage(job, "out").calls == 2 * NUMBER


def test_azure_has_its_own_addresses(job: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure")
    with batches.serving(Settings(behaviour=improving)) as server:
        root = server.base_url.removesuffix("/v1")
        words = ("--azure-endpoint", root, "--api-version", "2024-10-21", "--batch", "--stages", "t")
        done = job("translate -s texts.txt -l en-es -o out.txt --model m", *words)
        assert done.code == 0, done.err
        assert server.queue.batches["batch_1"]["endpoint"] == "/chat/completions"


def test_a_budget_holds_for_requests_in_batches(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving)) as server:
        words = ("--batch", "--stages", "t", "--max-tokens", "50")
        stopped = translate(job, server.base_url, "out", *words, "--token-budget", "1000")
        assert stopped.code == 4
        assert not server.queue.batches
        done = translate(job, server.base_url, "out", *words, "--token-budget", "5000")
        assert done.code == 0, done.err
        assert 1 < len(server.queue.batches) < NUMBER  # what the budget has room for is asked first
        assert len(server.journal.entries) == NUMBER


def test_a_budget_knows_what_is_paid_but_not_read_when_a_run_goes_on(job: Shell) -> None:
    settings = Settings(behaviour=improving, cached_tokens=False)
    words = ("--stages", "tp", "--max-tokens", "50", "--concurrency", "1", "--token-budget", "22000", "--batch")
    with batches.serving(settings) as server:
        whole = translate(job, server.base_url, "whole", *words)
    assert whole.code == 4
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "write", "files")
    trips = []
    while done.code == 6:
        trips += re.findall("round trip .*", done.err)
        batches.answer(job.folder / "files", settings)
        done = translate(job, "http://127.0.0.1:9/v1", "out", *words, "read", "files")  # a process of its own
    assert done.code == 4
    assert trips == re.findall("round trip .*", whole.err)
    assert len(trips) > 2


def test_a_budget_stops_only_when_all_answers_are_read(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, cached_tokens=False)) as server:
        words = ("--batch", "--stages", "tp", "--max-tokens", "50", "--concurrency", "1", "--token-budget")
        stopped = translate(job, server.base_url, "out", *words, "20000")
        assert stopped.code == 4
        assert usage(job, "out").calls == len(server.journal.entries) > NUMBER
        done = translate(job, server.base_url, "out", *words, "60000")
        assert done.code == 0, done.err
        assert set(counts(server).values()) <= {1}


def test_the_context_has_the_given_texts(job: Shell) -> None:
    job.write("given.txt", *(f"Texto {number} errado." for number in range(NUMBER)))
    translate(job, "http://127.0.0.1:9/v1", "out", "--batch", "write", "first", "--context", "1")
    requests = (job.folder / "first" / "requests-0001.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(requests) == NUMBER
    assert "Source before: Text number 0" in requests[1]
    assert "Its translation" not in json.loads(requests[1])["body"]["messages"][-1]["content"]
    edit = "postedit -s texts.txt -t given.txt -l en-es -o edited --model m --base-url http://127.0.0.1:9/v1"
    job(edit, "--context", "1", "--batch", "write", "second")
    assert "Texto 0 errado." in (job.folder / "second" / "requests-0001.jsonl").read_text().splitlines()[1]


def test_ratings_come_from_batches(job: Shell) -> None:
    job.write("given.txt", *(f"Texto {number} errado." for number in range(NUMBER)))
    with batches.serving(Settings(behaviour=improving, cached_tokens=False)) as server:
        rate = f"rate -s texts.txt -t given.txt -l en-es --model m --base-url {server.base_url} --prices prices.toml"
        assert job(f"{rate} -o live.jsonl --name live --store live.db").code == 0
        done = job(f"{rate} -o batched.jsonl --name batched --store batched.db --batch")
        assert done.code == 0, done.err
        scores = [[line["score"] for line in job.objects(f"{name}.jsonl")] for name in ("live", "batched")]
        assert scores[0] == scores[1]
        assert usage(job, "batched").cost == pytest.approx(usage(job, "live").cost / 2)


def test_a_failure_that_is_read_again_in_a_later_wave_counts_once(job: Shell) -> None:
    job.write("one.txt", "Text number 1.")
    job.write("a.txt", "Texto A errado.")
    job.write("b.txt", "Texto B errado.")
    asked: Counter[str] = Counter()

    def failing(body: Any) -> str | Fault:
        name = "A" if "Texto A" in body["messages"][-1]["content"] else "B"
        asked[name] += 1
        if name == "A":
            return Fault("empty")
        return Fault("status", 500) if asked[name] < 3 else improving(body)

    with batches.serving(Settings(behaviour=failing)) as server:
        words = "rate -s one.txt -t a.txt b.txt -l en-es -o r.jsonl --name r --store r.db --batch --base-url"
        assert job(words, server.base_url).code == 3
        assert asked == {"A": 2, "B": 3}
        assert len(server.queue.batches) == 3  # the failure of A is known before B is answered
        assert usage(job, "r").calls == 3


def test_failures_that_several_commands_read_count_once(job: Shell) -> None:
    asked: Counter[str] = Counter()

    def unusable_first(body: Any) -> str | Fault:
        text = body["messages"][-1]["content"]
        if "Texto A" in text:
            return Fault("truncate")
        asked[text] += 1
        faults = {1: Fault("empty"), 2: Fault("nonsense")}
        return faults.get(asked[text]) or improving(body)

    job.write("one.txt", *(f"Text {number}." for number in range(3)))
    job.write("a.txt", *(f"Texto A {number} errado." for number in range(3)))
    job.write("b.txt", *(f"Texto B {number} errado." for number in range(3)))
    settings = Settings(behaviour=unusable_first, cached_tokens=False)
    words = "rate -s one.txt -t a.txt b.txt -l en-es --evaluator rubric-mqm --model m --base-url"
    with batches.serving(settings) as server:
        job(words, server.base_url, "-o", "live.jsonl", "--name", "live", "--store", "live.db")
    asked.clear()
    words += " http://127.0.0.1:9/v1 -o r.jsonl --name r --store r.db --batch"
    done = job(words, "write", "files")
    while done.code == 6:
        batches.answer(job.folder / "files", settings)
        about = (job.folder / "files" / "run.json").read_text(encoding="utf-8")
        done = job(words, "read", "files")
    assert done.code == 3
    assert usage(job, "r").calls == usage(job, "live").calls
    # A process that is killed after it saved its last segment:
    (job.folder / "files" / "run.json").write_text(about, encoding="utf-8")
    assert job(words, "read", "files", "--force").code == 3
    assert usage(job, "r").calls == usage(job, "live").calls


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--batch other", "expected nothing, 'write DIR' or 'read DIR', not 'other'"),
        ("--batch write --quiet", "expected nothing, 'write DIR' or 'read DIR', not 'write'"),
        ("--batch read nowhere", "nowhere: has no requests of a run: --batch write nowhere writes them"),
        ("--batch write texts.txt", "texts.txt: is a file: name a folder for the requests"),
        (
            "--batch write texts.txt/files",
            "texts.txt/files: cannot be the folder for the requests: not a directory: name another folder",
        ),
        ("--batch --repeat 2", "start each repeat separately"),
        ("--batch --llm local", "llm: local is set beside base_url, whose server would be called instead"),
        ("--batch --translator command:cat", "translate first without batch"),
        ("--batch --judge gemba-mqm --judge pairwise --gate gain", "set calibration or another gate"),
    ],
)
def test_what_batches_cannot_do_is_said(job: Shell, words: str, message: str) -> None:
    done = translate(job, "http://127.0.0.1:9/v1", "out", *words.split())
    assert done.code in (1, 2)
    assert message in done.err


def test_a_local_model_takes_no_batches(job: Shell) -> None:
    done = job("translate -s texts.txt -l en-es -o out --name out --store out.db --batch --llm local")
    assert done.code in (1, 2)
    assert "a local model takes no batches" in done.err


def test_results_that_are_gone_are_asked_for_again_only_if_the_user_wants_it(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, endings=("invalid",))) as server:
        translate(job, server.base_url, "out", "--batch", "--stages", "t")
        state = job.folder / "out.db.batches" / "run-out" / "requests-0001.json"
        state.write_text(json.dumps(json.loads(state.read_text()) | {"batch": "batch_gone"}), encoding="utf-8")
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert done.code == 1
        assert "HTTP 404" in done.last
        assert "without the file" in done.last
        state.with_suffix(".jsonl").unlink()
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0
        assert len(server.journal.entries) == NUMBER


def test_a_batch_whose_results_are_gone_is_not_found_again(job: Shell) -> None:
    folder = job.folder / "out.db.batches" / "run-out"
    settings = Settings(behaviour=improving, endings=("cancelled:2",))
    with batches.serving(settings) as server:
        translate(job, server.base_url, "out", "--batch", "--stages", "t")
        (folder / "results-0001-0.jsonl").unlink()
        server.queue.contents.pop("file-2")
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert "HTTP 404" in done.last
        assert "requests-0001.jsonl its requests are sent again" in done.last
        for path in folder.glob("*.jsonl"):
            path.unlink()
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0
        assert len(server.queue.batches) == 2


def test_results_that_the_user_deletes_are_fetched_again(job: Shell) -> None:
    folder = job.folder / "out.db.batches" / "run-out"
    settings = Settings(behaviour=improving, endings=("cancelled:2",))
    with batches.serving(settings) as server:
        translate(job, server.base_url, "out", "--batch", "--stages", "t")
        (folder / "results-0001-0.jsonl").write_text("{", encoding="utf-8")
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert "results-0001-0.jsonl:1: expected a line of a batch" in done.last
        (folder / "results-0001-0.jsonl").unlink()
        done = translate(job, server.base_url, "out", "--batch", "--stages", "t")
        assert "batch_1 was cancelled" in done.last
        assert translate(job, server.base_url, "out", "--batch", "--stages", "t").code == 0
        assert len(server.journal.entries) == NUMBER


def test_a_run_may_have_a_long_name(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving)) as server:
        words = "translate -s texts.txt -l en-es -o out --stages t --store s.db --model m --batch --base-url"
        done = job(words, server.base_url, "--name", "翻译" * 15)
        assert done.code == 0, done.err


def test_a_deleted_run_leaves_no_texts_behind(job: Shell) -> None:
    with batches.serving(Settings(behaviour=improving, endings=("invalid",))) as server:
        translate(job, server.base_url, "out", "--batch", "--stages", "t")
    assert list((job.folder / "out.db.batches").iterdir())
    assert job("runs delete out --yes --store out.db").code == 0
    assert not list((job.folder / "out.db.batches").iterdir())


def test_an_agent_refuses_batches() -> None:
    with pytest.raises(ConfigError, match="only the commands translate, postedit and rate have --batch"):
        Agent(batch=True)  # type: ignore[call-arg]


def test_unusable_results_are_refused_with_their_line(job: Shell) -> None:
    server = "http://127.0.0.1:9/v1"
    translate(job, server, "out", "--batch", "write", "files")
    folder = job.folder / "files"
    results = folder / "mine.jsonl"
    waiting = translate(job, server, "out", "--batch", "read", "files")
    assert (waiting.code, "files: has no file with results" in waiting.last) == (6, True)
    with Store(job.folder / "out.db") as store:
        assert store.run("out").state == "stopped"
    results.write_text('{"custom_id": "x", "response": {}}\n{"custom', encoding="utf-8")
    assert "mine.jsonl:2: expected a line of a batch" in translate(job, server, "out", "--batch", "read", "files").last
    results.write_text('{"custom_id": "x", "response": {}}\n', encoding="utf-8")
    assert "has no results of requests in" in translate(job, server, "out", "--batch", "read", "files").last
    results.write_bytes((folder / "requests-0001.jsonl").read_bytes())
    assert "mine.jsonl:1: is a request" in translate(job, server, "out", "--batch", "read", "files").last
    results.unlink()
    other = job(
        "translate -s texts.txt -l en-es -o b --name b --model m --base-url", server, "--batch", "write", "files"
    )
    assert "files: has the batches of the run 'out', and this run is " in other.last
    batches.answer(folder, Settings(behaviour=improving), skipped=2)
    done = translate(job, server, "out", "--batch", "read", "files")
    assert "requests-0002.jsonl" in done.last
    assert "6 requests" in done.last  # the two that had no result, and what follows on four


def is_writing(folder: Path, server: Simulator) -> bool:
    return any(path.stat().st_size > 20_000 for path in folder.glob(".mtagent-*.tmp"))


def has_uploaded(folder: Path, server: Simulator) -> bool:
    return bool(server.queue.files) and not server.queue.batches


def has_submitted(folder: Path, server: Simulator) -> bool:
    return bool(server.queue.batches)


def is_looking(folder: Path, server: Simulator) -> bool:
    return any('"batch"' in path.read_text() for path in folder.glob("requests-*.json"))


def is_fetching(folder: Path, server: Simulator) -> bool:
    return any(batch["output_file_id"] for batch in server.queue.batches.values())


@pytest.mark.slow
@pytest.mark.parametrize("moment", [is_writing, has_uploaded, has_submitted, is_looking, is_fetching])
def test_a_killed_run_loses_nothing_and_submits_nothing_twice(
    job: Shell, moment: Callable[[Path, Simulator], bool]
) -> None:
    texts = 100
    (job.folder / "texts.txt").write_text(killing.sources(texts), encoding="utf-8")
    folder = job.folder / "store.db.batches" / "run-mine"
    settings = Settings(behaviour=improving, batch_seconds=0.3, batch_latency=0.4)
    line = "translate -s texts.txt -o out.txt -l en-es --name mine --stages t --skip-guards language --batch --base-url"
    words = line.split()
    with batches.serving(settings) as server:
        with start(job.folder, *words, server.base_url) as process:
            while not moment(folder, server):
                assert process.poll() is None, process.communicate()
                time.sleep(0.002)
            process.kill()
        assert not (job.folder / "out.txt").exists()
        done = run(job.folder, *words, server.base_url)
        assert done.code == 0, done.err
        assert set(counts(server).values()) == {1}
        assert len(server.journal.entries) == texts
        assert len(server.queue.batches) == 1
        assert [file["purpose"] for file in server.queue.files.values()] == ["batch", "batch_output"]
    assert len(job.read("out.txt")) == texts
    assert job.runs()["mine"].usage.calls == texts
