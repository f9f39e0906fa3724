"""The test server behaves like the servers it stands for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.simulator import Fault, Settings, Simulator, read_journal
from tests.simulator.chain import improving
from tests.simulator.replies import calling

pytestmark = pytest.mark.loopback
ROOT = Path(__file__).parents[1]


def request(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


async def ask(server: Simulator, body: dict[str, Any], **options: Any) -> tuple[int, Any, Any]:
    url = f"{server.base_url}/chat/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, **options) as reply:
        text = await reply.text()
        return reply.status, json.loads(text) if text.endswith("}") else text, reply.headers


async def replies(settings: Settings, *bodies: dict[str, Any]) -> list[tuple[int, Any, Any]]:
    async with Simulator(settings) as server:
        return [await ask(server, body) for body in bodies]


async def test_script_comes_first_then_the_behaviour() -> None:
    settings = Settings(
        script=["one", Fault("status", 503)], behaviour=lambda body: body["messages"][-1]["content"] * 2
    )
    first, second, third = await replies(settings, request(), request(), request("ab"))
    assert first[1]["choices"][0]["message"]["content"] == "one"
    assert second[0] == 503
    assert third[1]["choices"][0]["message"]["content"] == "abab"


async def test_default_behaviour_fits_the_schema_that_is_asked_for() -> None:
    schema = {"type": "object", "properties": {"errors": {"type": "array"}, "score": {"type": "integer"}}}
    format_ = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    [(_, reply, _)] = await replies(Settings(), request(response_format=format_))
    assert json.loads(reply["choices"][0]["message"]["content"]) == {"errors": [], "score": 0}


@pytest.mark.parametrize(
    ("kind", "finish", "content", "refusal"),
    [
        ("empty", "stop", "", False),
        ("truncate", "length", "He", False),
        ("refusal", "stop", None, True),
        ("content-filter", "content_filter", "", False),
    ],
)
async def test_odd_replies(kind: Any, finish: str, content: str | None, refusal: bool) -> None:
    [(status, reply, _)] = await replies(Settings(script=[Fault(kind)]), request())
    choice = reply["choices"][0]
    assert (status, choice["finish_reason"], choice["message"]["content"]) == (200, finish, content)
    assert bool(choice["message"]["refusal"]) is refusal
    assert reply["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize(
    ("sent", "param", "words"),
    [
        ({"temperature": 0}, "temperature", "'temperature' does not support 0 with this model"),
        ({"max_tokens": 5}, "max_tokens", "Use 'max_completion_tokens' instead"),
        ({"logprobs": True}, "logprobs", "not allowed to request logprobs"),
        ({"seed": 1}, None, "Unrecognized request argument supplied: seed"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "of type 'json_schema' is not supported"),
    ],
)
async def test_unsupported_parameters_are_refused_in_the_servers_words(sent: Any, param: str, words: str) -> None:
    names = frozenset({"temperature", "max_tokens", "logprobs", "seed", "json_schema"})
    [(status, reply, _), (plain, _, _)] = await replies(Settings(unsupported=names), request(**sent), request())
    assert (status, plain, reply["error"]["param"]) == (400, 200, param)
    assert words in reply["error"]["message"]


async def test_a_behaviour_may_call_tools() -> None:
    wish = calling(("search", {"query": "a"}), ("finish", "{broken"))
    plain, called = await replies(Settings(script=["one"], behaviour=lambda body: wish), request(), request())
    choice = called[1]["choices"][0]
    functions = [call["function"] for call in choice["message"]["tool_calls"]]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert [(of["name"], of["arguments"]) for of in functions] == [("search", '{"query": "a"}'), ("finish", "{broken")]
    assert called[1]["usage"]["completion_tokens"] > plain[1]["usage"]["completion_tokens"]


async def test_refused_tools_are_refused_in_messages_too() -> None:
    settings = Settings(unsupported=frozenset({"tools"}))
    answer = {"role": "tool", "content": "found", "tool_call_id": "1"}
    sent = [request(tools=[{"type": "function"}]), {**request(), "messages": [answer]}, request()]
    assert [status for status, _, _ in await replies(settings, *sent)] == [400, 400, 200]


async def test_window_answers_429_and_says_when_to_come_back() -> None:
    first, second = await replies(Settings(requests_per_window=1, window=30), request(), request())
    assert (first[0], second[0]) == (200, 429)
    assert 29 < float(second[2]["Retry-After"]) <= 30


async def test_truncation_ends_where_there_is_room() -> None:
    settings = Settings(truncate_below=100, reasoning_tokens=7)
    small, large = await replies(settings, request(max_tokens=50), request(max_completion_tokens=100, logprobs=True))
    assert [r[1]["choices"][0]["finish_reason"] for r in (small, large)] == ["length", "stop"]
    assert large[1]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 7
    assert [t["token"] for t in large[1]["choices"][0]["logprobs"]["content"]] == ["Hell", "o"]


async def test_reset_and_hang_send_nothing() -> None:
    async with Simulator(Settings(script=[Fault("reset"), Fault("hang")])) as server:
        with pytest.raises(aiohttp.ClientConnectionError):
            await ask(server, request())
        with pytest.raises(TimeoutError):
            await ask(server, request(), timeout=aiohttp.ClientTimeout(total=0.2))


async def test_random_faults_repeat_with_the_seed() -> None:
    settings = Settings(fault_rate=0.5, seed=3, faults=(Fault("status", 500),))
    runs = [[r[0] for r in await replies(settings, *[request()] * 12)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 500}


async def test_journal_holds_bodies_and_headers_but_no_key() -> None:
    async with Simulator(Settings(api_key="sk-right")) as server:
        for key in ("sk-wrong", "sk-right"):
            await ask(server, request(), headers={"Authorization": f"Bearer {key}"})
        wrong, right = server.journal.entries
    assert (wrong.status, right.status) == (401, 200)
    assert wrong.sha256 == right.sha256
    assert "sk-" not in str(server.journal.entries)
    assert right.start <= right.finish
    assert right.headers["content-type"] == "application/json"


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "tests.simulator", "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield child, int(child.stdout.readline())
        finally:
            child.terminate()


async def test_process_serves_and_writes_its_journal(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    behaviour = "tests.simulator.replies:default_behaviour"
    with process("--log", str(log), "--behaviour", behaviour, "--script", "503", "--lifetime", "30") as (_, port):
        server = Simulator(port=port)
        first, second = await ask(server, request()), await ask(server, request())
    assert (first[0], second[0]) == (503, 200)
    assert [(entry.status, entry.sent) for entry in read_journal(log)] == [(503, True), (200, True)]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_process_stops_when_its_parent_is_gone() -> None:
    script = (
        "import subprocess, sys; "
        "c = subprocess.Popen([sys.executable, '-m', 'tests.simulator', '--lifetime', '60'], stdout=subprocess.PIPE); "
        "c.stdout.readline(); print(c.pid, flush=True); c.stdout = None; c.returncode = 0"
    )
    parent = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    deadline = time.monotonic() + 20
    while _alive(int(parent.stdout)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(int(parent.stdout))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_chain_is_answered_also_where_it_asks_a_second_time() -> None:
    review = [
        {"role": "system", "content": "You review translations."},
        {"role": "user", "content": "<source>It is good.</source>\n<translation>Es errado bueno.</translation>"},
        {"role": "assistant", "content": "<think>…</think>"},
        {"role": "user", "content": "That is no JSON. Answer again."},
    ]
    assert '"errado"' in improving({"messages": review})
    assert improving({"messages": review}) == improving({"messages": review[:2]})


async def test_a_named_fault_is_noted_in_the_journal() -> None:
    async with Simulator(Settings(behaviour=lambda body: "Hola", named="parts", fault_rate=1.0)) as server:
        _, body, _ = await ask(server, request())
        assert body["choices"][0]["message"]["content"] == [{"type": "text", "text": "Hola"}]
        server.settings = Settings(behaviour=lambda body: "Hola")
        await ask(server, request())
        assert [entry.fault for entry in server.journal.entries] == ["parts", None]
