"""Events: what the client reports while it works, and what becomes of it when an observer or the log fails."""

from __future__ import annotations

import json
import logging
import os
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent
from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    ConfigError,
    EmptyReply,
    ModelError,
    OutputError,
    RateLimited,
    Truncated,
)
from mtagent.llm.client import OpenAIClient
from mtagent.llm.events import CallEvent, Event, EventLog, Observed, Observers, RetryEvent, VerdictEvent, WaitEvent
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.limits import Limiter
from mtagent.llm.reply import RequestFailure, exchange_failure, late_failure
from mtagent.records import Completion, Message, Usage
from tests.clocks import FakeClock
from tests.commands import Shell
from tests.pages import DOCS
from tests.simulator import Fault, Settings, Simulator

SECRET = "Der geheime Text."
HELLO = (Message(role="user", content=SECRET),)


async def events_of(settings: Settings, *, asks: int = 1, error: type[ModelError] | None = None, **options: Any) -> Any:
    """What the observers of a client hear while it asks ``asks`` times."""
    events: list[Event] = []
    clock = FakeClock()
    observe = Observers([events.append])
    limiter = Limiter(requests_per_minute=options.pop("requests_per_minute", None), clock=clock)
    async with Simulator(settings) as server:
        client = OpenAIClient(
            "m", base_url=server.base_url, clock=clock, observer=observe, limiter=limiter, api_key="sk-4711", **options
        )
        observed = Observed(client, observe)
        for number in range(asks):
            with pytest.raises(error) if error is not None else nullcontext():
                await observed.complete(HELLO, purpose="rate", segment=str(number))
        await client.aclose()
    return events


@pytest.mark.loopback
async def test_a_retry_is_reported_when_it_happens_and_the_call_at_its_end() -> None:
    script = [Fault("status", 429, retry_after=3), Fault("status", 503), Fault("reset"), Fault("empty"), "Good day"]
    *retries, call = await events_of(Settings(script=script))
    causes = ["HTTP 429", "HTTP 503", "connection broken", "EmptyReply"]
    assert [event.cause for event in retries] == causes
    assert [event.attempt for event in retries] == [1, 2, 3, 4]
    assert retries[0].wait == 3
    assert retries[3].wait == 0
    assert (call.segment, call.purpose, call.model) == ("0", "rate", "m")
    assert call.server.startswith("127.0.0.1:")
    assert call.retries == tuple(causes)
    assert call.waited == pytest.approx(sum(event.wait for event in retries), abs=1e-3)
    assert (call.error, call.finish_reason, call.usage.calls) == (None, "stop", 2)


@pytest.mark.loopback
async def test_no_event_that_is_written_holds_a_text_or_a_key() -> None:
    refusal = Fault("status", 400, message=f"cannot answer: {SECRET}")
    for answer, error in (("Good day", None), (refusal, BadRequest)):
        for event in await events_of(Settings(script=[answer]), error=error):
            line = event.model_dump_json()
            assert SECRET not in line
            assert "4711" not in line
            assert "Good day" not in line


@pytest.mark.loopback
async def test_a_call_that_fails_has_its_error_its_status_and_what_was_tried() -> None:
    settings = Settings(script=[Fault("status", 429)] * 50)
    *retries, call = await events_of(settings, error=RateLimited, deadline=20.0)
    assert (call.error, call.status, call.usage.calls) == ("RateLimited", 429, 0)
    assert len(retries) == len(call.retries) > 1


@pytest.mark.loopback
async def test_a_wait_for_requests_per_minute_is_an_event() -> None:
    first, wait, second = await events_of(Settings(), asks=2, requests_per_minute=1)
    assert (first.event, second.event) == ("call", "call")
    assert (wait.event, wait.reason, wait.segment) == ("wait", "rate", "1")
    assert second.waited == wait.seconds == pytest.approx(60, abs=1)


async def test_an_agent_tells_its_observer_calls_and_verdicts_and_where_they_belong() -> None:
    events: list[Event] = []
    completion = Completion(text="El texto.", model="m", usage=Usage(calls=1, input_tokens=40, cost=0.5))
    agent = Agent(
        llm=ScriptedLLM([completion]), stages="translate,postedit", evaluator="rules", gate="guards",
        observer=events.append,
    )  # fmt: skip
    await agent.atranslate(SECRET, "de", "es")
    call, translated, postedited = events
    assert isinstance(call, CallEvent)
    assert isinstance(translated, VerdictEvent)
    assert (call.stage, call.purpose, call.segment, call.usage.cost) == ("translate", "translate", "1", 0.5)
    assert call.messages[-1].content.count(SECRET) == 1
    assert call.reply == "El texto."
    assert (translated.verdict, translated.lang_pair, translated.models) == ("kept", "de-es", ("m",))
    assert postedited.stage == "postedit"
    assert SECRET not in repr(events)


async def test_calls_of_an_agent_with_a_store_name_their_segment(tmp_path: Path) -> None:
    events: list[Event] = []
    agent = Agent(llm=ScriptedLLM(["El texto."]), stages="t", store=tmp_path / "s.db", observer=events.append)
    async with agent:
        await agent.atranslate([SECRET], "de", "es")
        await agent.atranslate([SECRET], "de", "es")  # a reply from the store is no call
    assert [(event.event, event.segment) for event in events] == [("call", "1"), ("verdict", "1"), ("verdict", "1")]


async def test_an_error_that_stops_everything_is_the_verdict_of_its_step() -> None:
    events: list[Event] = []
    agent = Agent(llm=ScriptedLLM([AuthenticationError("wrong key")]), stages="t", observer=events.append)
    with pytest.raises(AuthenticationError):
        await agent.atranslate(SECRET, "de", "es")
    call, verdict = events
    assert isinstance(verdict, VerdictEvent)
    assert (call.event, verdict.verdict, verdict.error) == ("call", "stopped", "AuthenticationError")


async def test_an_observer_that_fails_is_reported_once_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise ZeroDivisionError("of the user's")

    agent = Agent(llm=ScriptedLLM(["Uno.", "Dos."]), stages="t", observer=broken)
    chains = await agent.atranslate(["One.", "Two."], "en", "es")
    assert [chain.text for chain in chains] == ["Uno.", "Dos."]
    assert [record.getMessage() for record in caplog.records] == [
        "observer: ZeroDivisionError: of the user's; the work continues"
    ]


async def test_a_model_with_odd_attributes_and_errors_fails_as_it_does_without_an_observer() -> None:
    class Odd:
        model = "m"
        server = 7
        servers = ("a:1", "b:2")

        async def complete(self, messages: object, **options: object) -> Completion:
            error = OSError("of the user's")
            error.status = "UNAVAILABLE"  # type: ignore[attr-defined]
            raise error

    events: list[Event] = []
    (chain,) = await Agent(llm=Odd(), stages="t", observer=events.append).atranslate(["One."], "en", "es")
    assert chain.failed is not None
    assert "of the user's" in chain.failed.reason
    call, _ = events
    assert isinstance(call, CallEvent)
    assert (call.error, call.server, call.status) == ("OSError", None, None)


def test_an_observer_that_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match="observer: expected a function"):
        Agent(stages="t", model="m", base_url="http://127.0.0.1:9/v1", observer="log.jsonl")  # type: ignore[arg-type]


# --- the log


def call(segment: str) -> CallEvent:
    return CallEvent(segment=segment, purpose="rate", model="m", seconds=0.5, usage=Usage(calls=1, cost=None))


def test_a_log_goes_on_on_a_line_of_its_own_after_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = EventLog(path)
    log(call("1"))
    log.close()
    former = path.read_bytes()
    path.write_bytes(former + former[:40])
    log = EventLog(path)
    log(call("2"))
    log(call("3"))
    log.close()
    assert path.read_bytes().startswith(former)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(lines[place])["segment"] for place in (0, 2, 3)] == ["1", "2", "3"]
    assert "cost" not in json.loads(lines[0])["usage"], "what is unknown has no field"


@pytest.mark.parametrize("content", ["The user's text.\n", '{"source": "a"}\n', '{"event"\n'])
def test_a_file_that_is_no_log_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "en.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OutputError, match=r"en\.txt: is not a log of mtagent.*name another file in log"):
        EventLog(path)
    assert path.read_text(encoding="utf-8") == content


async def test_an_agent_s_log_is_written_and_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    async with Agent(llm=ScriptedLLM(["El texto."]), stages="t", log=tmp_path / "log.jsonl") as agent:
        await agent.atranslate(SECRET, "de", "es")
    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["call", "verdict"]
    with pytest.raises(ConfigError, match=r"log.*expected a file, but .* is a folder"):
        Agent(llm=ScriptedLLM([]), stages="t", log=tmp_path)


async def test_a_log_that_cannot_be_written_is_an_error_before_the_first_call(tmp_path: Path) -> None:
    llm = ScriptedLLM(["El texto."])
    agent = Agent(llm=llm, stages="t", log=tmp_path / "missing" / "log.jsonl")
    with pytest.raises(OutputError, match=r"log\.jsonl: the log cannot be written \(No such file.*another file in log"):
        await agent.atranslate(SECRET, "de", "es")
    assert llm.requests == []


async def test_a_full_disk_is_reported_once_and_the_work_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with Agent(llm=ScriptedLLM(["Uno.", "Dos."]), stages="t", log="/dev/full") as agent:
            chains = await agent.atranslate(["One.", "Two."], "en", "es")
    assert [chain.text for chain in chains] == ["Uno.", "Dos."]
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == "/dev/full: cannot be written (No space left on device): the log has gaps; the work continues"


# --- the pages


def test_every_field_and_every_cause_is_on_the_page() -> None:
    page = (DOCS / "reference/log.md").read_text(encoding="utf-8")
    for kind in (CallEvent, RetryEvent, WaitEvent, VerdictEvent):
        for name, field in kind.model_fields.items():
            assert f"`{name}`" in page or field.exclude, (kind, name)
    for error in (EmptyReply, Truncated):
        assert f"| `{RequestFailure(error, '', 200, answered=True).cause}` |" in page
    broken = exchange_failure("reset", "")
    failures = [
        broken,
        late_failure(1.0, ""),
        exchange_failure("", "", unreachable=True),
        exchange_failure("", "", answered=True),
    ]
    for failure in failures:
        assert f"| `{failure.cause}` |" in page


async def test_the_code_on_the_page_works() -> None:
    page = (DOCS / "how-to/observe.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        names: dict[str, Any] = {}
        exec(block.replace('model="gpt-6-luna"', 'llm=llm, stages="t"'), names | {"llm": ScriptedLLM(["Hola."])}, names)
        assert (await names["agent"].atranslate("Hello.", "en", "es")).text == "Hola."


def test_a_log_that_is_no_file_or_is_an_output_is_refused_before_the_first_call(shell: Shell) -> None:
    shell.write("en.txt", "Hi.")
    shell.write("es.txt", "Hola.")
    os.mkfifo(shell.folder / "pipe")
    line = "postedit -s en.txt -t es.txt -l en-es -o"
    done = shell(f"{line} out.txt --log pipe")
    assert (done.code, "pipe: the log must be a file, and not a pipe" in done.err) == (1, True), done
    done = shell(f"{line} same.jsonl --format lines --log same.jsonl")
    assert (done.code, "same.jsonl" in done.err, (shell.folder / "same.jsonl").exists()) == (1, True, False), done
