"""The client against a server that shows every fault a real one shows."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    EmptyReply,
    ModelError,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
    ServerPaused,
    Truncated,
)
from mtagent.llm.client import LONGEST_WAIT, OpenAIClient
from mtagent.llm.limits import Limiter
from mtagent.llm.prices import price as list_price
from mtagent.llm.protocol import LLM, Sampling
from mtagent.records import Completion, Message, Tool, ToolCall, Usage
from tests.clocks import FakeClock
from tests.simulator import Fault, Settings, Simulator

pytestmark = pytest.mark.loopback

KEY = "sk-very-secret-4711"
HELLO = (Message(role="system", content="Answer in json."), Message(role="user", content="Hello"))
SCHEMA = {"type": "object", "properties": {"errors": {"type": "array"}}}


def openai_price(model: str, usage: Usage, base_url: str | None) -> float | None:
    """As if the simulator were OpenAI's server."""
    return list_price(model, usage, "https://api.openai.com/v1")


@dataclass
class Session:
    """A client, the server it talks to, and the clock both waits are counted on."""

    server: Simulator
    client: OpenAIClient
    clock: FakeClock

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.server.requests

    async def ask(self, **options: Any) -> Completion:
        return await self.client.complete(HELLO, **options)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
async def connect() -> Any:
    """A factory: ``await connect(Settings(...), sampling=...)`` gives a session; all are closed at the end."""
    opened: list[Session] = []

    async def connect_(settings: Settings | None = None, *, model: str = "m", **options: Any) -> Session:
        server = await Simulator(settings).__aenter__()
        clock = FakeClock()
        client = OpenAIClient(model, base_url=server.base_url, clock=clock, **options)
        opened.append(Session(server, client, clock))
        return opened[-1]

    yield connect_
    for session in opened:
        await session.client.aclose()
        await session.server.__aexit__()


Connect = Callable[..., Any]


def test_importing_the_client_imports_nothing_heavy() -> None:
    check = "import sys, mtagent.llm.client; sys.exit('aiohttp' in sys.modules or 'genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], cwd=Path(__file__).parents[1], check=False).returncode == 0


async def test_is_an_llm(connect: Connect) -> None:
    session = await connect(Settings(script=["Good day"], reasoning_tokens=5, api_key=KEY))
    completion = await session.ask(purpose="rate", segment="7")
    assert isinstance(session.client, LLM)
    assert (completion.text, completion.model, completion.finish_reason) == ("Good day", "m", "stop")
    assert completion.logprobs is None
    usage = completion.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (1, 9, 7, 5)
    assert Completion.model_validate(completion.model_dump()) == completion
    assert session.requests[0].keys() == {"model", "messages"}, "what is not set is not sent"


async def test_settings_schema_and_logprobs_arrive_at_the_server(connect: Connect) -> None:
    given: dict[str, Any] = {"temperature": 0.0, "top_p": 0.9, "max_tokens": 50, "seed": 1, "reasoning_effort": "low"}
    session = await connect(sampling=Sampling(**given, extra={"cache_prompt": False}))
    completion = await session.ask(schema=SCHEMA, logprobs=True)
    [sent] = session.requests
    assert {name: sent[name] for name in (*given, "cache_prompt")} == {**given, "cache_prompt": False}
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert completion.text == '{"errors": []}'
    assert "".join(token.token for token in completion.logprobs or ()) == completion.text


# --- what is tried again, and for how long


@pytest.mark.parametrize(
    "fault",
    [Fault("status", status) for status in (408, 409, 429, 500, 502, 503, 529)]
    + [Fault("reset"), Fault("bad-json"), Fault("no-choices")],
    ids=str,
)
async def test_what_may_pass_is_tried_again(connect: Connect, fault: Fault) -> None:
    session = await connect(Settings(script=[fault, fault, "fine"]))
    assert (await session.ask()).text == "fine"
    assert len(session.requests) == 3
    first, second = session.clock.slept
    assert 0.25 <= first <= 0.5 <= second <= 1.0


@pytest.mark.parametrize(
    ("status", "code", "error", "way_out"),
    [
        (400, "", BadRequest, "change the settings"),
        (401, "", AuthenticationError, "check the key in OPENAI_API_KEY"),
        (403, "", AuthenticationError, ".+"),
        (404, "", ModelNotFound, "m may be gone, .* name another in model"),
        (413, "", BadRequest, "change the settings"),
        (422, "", BadRequest, "change the settings"),
        (429, "insufficient_quota", RateLimited, "check the account's quota"),
    ],
)
async def test_what_cannot_succeed_is_asked_once(
    connect: Connect, status: int, code: str, error: type[ModelError], way_out: str
) -> None:
    session = await connect(Settings(script=[Fault("status", status, message="because of this", code=code)]))
    with pytest.raises(error, match=f"m at http.*HTTP {status}: because of this; .*{way_out}"):
        await session.ask()
    assert (len(session.requests), session.clock.slept) == (1, [])


@pytest.mark.parametrize("style", ["seconds", "ms", "date"])
async def test_long_retry_after_is_honoured_in_any_style(connect: Connect, style: Any) -> None:
    session = await connect(Settings(script=[Fault("status", 429, retry_after=300, style=style), "fine"]))
    assert (await session.ask()).text == "fine"
    assert sum(session.clock.slept) == pytest.approx(300, abs=2)


@pytest.mark.parametrize(("status", "wait"), [(429, 900), (503, 3600), (529, 1e18), (429, 251_702_300_799)])
async def test_retry_after_beyond_the_deadline_stops_everybody_at_once(
    connect: Connect, status: int, wait: float
) -> None:
    session = await connect(Settings(script=[Fault("status", status, retry_after=wait)]), deadline=600)
    for _ in range(2):
        with pytest.raises(ServerPaused, match=r"asks to be left alone for .*, and a call may wait 600 s") as caught:
            await session.ask()
        assert caught.value.seconds == pytest.approx(wait)
    assert session.clock.slept == []
    assert len(session.requests) == 1, "the pause holds for every caller of that server"


async def test_the_message_says_when_to_come_back(connect: Connect) -> None:
    session = await connect(Settings(script=[Fault("status", 429, retry_after=7200)]))
    back = time.strftime("%H:%M:%S", time.localtime(session.clock.wall() + 7200))
    with pytest.raises(ServerPaused, match=rf"alone for 7,200 s \(2 hours, until .*{back}\)") as paused:
        await session.ask()
    assert str(paused.value).endswith("and a call may wait 900 s (deadline)"), "only a job with a store mentions one"


async def test_a_call_never_waits_past_its_deadline_for_pauses_that_fit_one_by_one(connect: Connect) -> None:
    session = await connect(Settings(script=[Fault("status", 429, retry_after=100)] * 99), deadline=350)
    with pytest.raises(RateLimited, match="asks to wait 100 s, but only 50 s of the deadline are left"):
        await session.ask()
    assert sum(session.clock.slept) <= 350


async def test_a_queued_call_does_not_sleep_out_a_pause_beyond_its_deadline(connect: Connect) -> None:
    script = [Fault("status", 503, retry_after=3600)]
    session = await connect(Settings(script=script, latency=0.05), limiter=Limiter(1), deadline=600)
    outcomes = await asyncio.gather(*(session.ask() for _ in range(20)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ServerPaused}
    assert (len(session.requests), session.clock.slept) == (1, [])


@pytest.mark.parametrize("bad", [-5.0, 0.0])
async def test_a_retry_after_that_means_nothing_is_no_hang_and_no_busy_loop(connect: Connect, bad: float) -> None:
    session = await connect(Settings(script=[Fault("status", 503, retry_after=bad), "fine"]))
    assert (await session.ask()).text == "fine"
    assert sum(session.clock.slept) <= 1
    session = await connect(Settings(script=[Fault("status", 429, retry_after=bad)] * 99), deadline=20)
    with pytest.raises(RateLimited):
        await session.ask()
    assert len(session.requests) < 30


async def test_a_server_that_hangs_is_left_after_the_timeout(connect: Connect) -> None:
    session = await connect(Settings(script=[Fault("hang"), "fine"]), timeout=0.2)
    assert (await session.ask()).text == "fine"


@pytest.mark.parametrize(
    ("answered", "message", "least", "most"),
    [
        (False, r" \(attempt 4\); nobody answers there: check the base URL", 0, 4),
        (True, "; given up at the deadline of 100 s", 100 - LONGEST_WAIT, 100),
    ],
)
async def test_an_address_where_nobody_answers_is_given_up_early_unless_somebody_did(
    connect: Connect, answered: bool, message: str, least: float, most: float
) -> None:
    session = await connect(deadline=100)
    if answered:
        await session.ask()
    await session.server.__aexit__()
    with pytest.raises(ServerError, match=rf"no connection.*{message}"):
        await session.ask()
    assert least < sum(session.clock.slept) <= most


# --- second chances


async def test_an_empty_reply_is_asked_for_once_more(connect: Connect) -> None:
    session = await connect(Settings(script=[Fault("empty"), "fine"]))
    completion = await session.ask()
    assert (completion.text, completion.usage.calls) == ("fine", 2)
    attempts = [(call.reply, call.usage.calls, call.error) for call in completion.attempts]
    assert attempts == [("", 1, "EmptyReply: no text")]


async def test_twice_empty_is_an_error_that_says_what_was_paid(connect: Connect) -> None:
    session = await connect(Settings(script=[Fault("empty")] * 3), model="gpt-4o-mini", price=openai_price)
    with pytest.raises(EmptyReply, match="try another model") as caught:
        await session.ask(purpose="judge")
    assert len(session.requests) == 2
    for call in caught.value.calls:
        assert (call.purpose, call.model, call.messages, call.reply) == ("judge", "gpt-4o-mini", HELLO, "")
        assert (call.usage.calls, call.usage.input_tokens) == (1, 9)
        assert call.usage.cost == pytest.approx(9 * 0.15e-6)
    assert [call.error for call in caught.value.calls] == ["EmptyReply: no text", str(caught.value)]


@pytest.mark.parametrize(("room", "more", "script"), [(50, 100, ()), (None, 4096, (Fault("truncate"),))])
async def test_a_reply_cut_off_gets_more_room_and_both_tries_are_counted(
    connect: Connect, room: int | None, more: int, script: Any
) -> None:
    session = await connect(Settings(truncate_below=90, script=list(script)), sampling=Sampling(max_tokens=room))
    completion = await session.ask()
    assert [sent.get("max_tokens") for sent in session.requests] == [room, more]
    assert (completion.text, completion.usage.calls, completion.usage.input_tokens) == ("Hello", 2, 18)
    assert completion.usage.output_tokens == 3


NO_ROOM = Fault("status", 400, message="max_tokens is too large: 4096", param="max_tokens")


@pytest.mark.parametrize(("second", "message"), [(Fault("truncate"), "raise max_tokens"), (NO_ROOM, "is too large")])
async def test_twice_cut_off_is_an_error_and_so_is_room_that_the_server_does_not_give(
    connect: Connect, second: Fault, message: str
) -> None:
    session = await connect(Settings(script=[Fault("truncate"), second]))
    with pytest.raises(Truncated, match=message) as caught:
        await session.ask()
    assert (caught.value.calls[0].usage.calls, caught.value.calls[0].reply) == (1, "He")


@pytest.mark.parametrize("kind", ["refusal", "content-filter", "azure-filter"])
async def test_refusals_are_errors_and_asked_once(connect: Connect, kind: Any) -> None:
    session = await connect(Settings(script=[Fault(kind, message="I will not do that")]))
    words = "I will not do that.*" if kind == "refusal" else ""
    with pytest.raises(Refused, match=f"{words}refused to answer"):
        await session.ask()
    assert len(session.requests) == 1


# --- what a server does not take


@pytest.mark.parametrize(
    ("name", "value"), [("temperature", 0), ("top_p", 0.5), ("seed", 1), ("reasoning_effort", "low")]
)
async def test_an_unsupported_parameter_is_left_out_and_remembered(connect: Connect, name: str, value: Any) -> None:
    session = await connect(Settings(unsupported=frozenset({name})), sampling=Sampling(**{name: value}))
    await session.ask()
    await session.ask()
    assert [name in sent for sent in session.requests] == [True, False, False]
    assert session.client.left_out == (name,)


async def test_a_refused_system_role_goes_into_the_users_turn_and_is_remembered(connect: Connect) -> None:
    session = await connect(
        Settings(unsupported=frozenset({"system", "temperature"})), sampling=Sampling(temperature=0)
    )
    example = (Message(role="user", content="a"), Message(role="assistant", content="b"))
    asked = (Message(role="system", content="Be brief."), *example, Message(role="user", content="c"))
    for _ in range(2):
        await session.client.complete(asked)
    refused, *tried, last = session.requests
    assert [message["role"] for message in refused["messages"]] == ["system", "user", "assistant", "user"]
    assert len(tried) == 2, "both are learnt once"
    assert last["messages"] == [
        {"role": "user", "content": "Be brief.\n\na"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert session.client.left_out == ("system role", "temperature")


LIMITS = ("max_tokens", "max_completion_tokens")


@pytest.mark.parametrize(
    ("refused", "sent"), [(LIMITS[:1], LIMITS), (LIMITS[1:], LIMITS[::-1]), (LIMITS, (*LIMITS, None))]
)
async def test_the_token_limit_is_renamed_or_left_out(connect: Connect, refused: Any, sent: Any) -> None:
    session = await connect(Settings(unsupported=frozenset(refused)), sampling=Sampling(extra={sent[0]: 60}))
    await session.ask()
    assert [next((name for name in LIMITS if name in body), None) for body in session.requests] == [*sent]


@pytest.mark.parametrize(
    ("unsupported", "text", "kinds"),
    [
        ({"json_schema"}, "in json", ["json_schema", "json_object"]),
        ({"json_schema"}, "Hi", ["json_schema", None]),
        ({"json_schema", "json_object"}, "in json", ["json_schema", "json_object", None]),
        ({"response_format"}, "in json", ["json_schema", "json_object", None]),
    ],
)
async def test_the_reply_format_is_loosened_step_by_step(
    connect: Connect, unsupported: Any, text: str, kinds: Any
) -> None:
    session = await connect(Settings(unsupported=frozenset(unsupported)))
    await session.client.complete([Message(role="user", content=text)], schema=SCHEMA)
    assert [sent.get("response_format", {}).get("type") for sent in session.requests] == kinds


async def test_all_parameters_can_be_learnt_by_many_callers_at_once(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    names = frozenset({"temperature", "max_tokens", "seed", "logprobs", "json_schema"})
    sampling = Sampling(temperature=0, max_tokens=9, seed=1)
    session = await connect(Settings(unsupported=names), sampling=sampling)
    done = await asyncio.gather(*(session.ask(schema=SCHEMA, logprobs=True) for _ in range(20)))
    assert {completion.text for completion in done} == {"{}"}
    told = [record.getMessage() for record in caplog.records if "the server refuses" in record.getMessage()]
    assert len(told) == len(set(told)) == len(names), "each is told once"
    await session.ask(schema=SCHEMA, logprobs=True)
    assert session.requests[-1].keys() == {"model", "messages", "max_completion_tokens", "response_format"}


SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object", "properties": {}})
WISH = ToolCall(id="call_0", name="search", arguments='{"query": "a"}')
ROUND = (
    *HELLO,
    Message(role="assistant", content="First,", tool_calls=(WISH, ToolCall(id="2", name="look", arguments="{}"))),
    Message(role="tool", content="found", tool_call_id="call_0"),
    Message(role="tool", content="seen", tool_call_id="2"),
)


async def test_tools_that_are_refused_are_left_out_and_their_traces_sent_as_text(connect: Connect) -> None:
    session = await connect(
        Settings(unsupported=frozenset({"tools"})), sampling=Sampling(extra={"tool_choice": "auto"})
    )
    assert (await session.client.complete(ROUND, tools=[SEARCH])).tool_calls == ()
    await session.client.complete(ROUND, tools=[SEARCH])
    assert session.client.left_out == ("tools",)
    assert ["tools" in sent for sent in session.requests] == [True, False, False]
    for sent in session.requests[1:]:
        assert "tool_choice" not in sent
        assert sent["messages"][2:] == [
            {
                "role": "assistant",
                "content": 'First,\n{"tool": "search", "arguments": {"query": "a"}}\n{"tool": "look", "arguments": {}}',
            },
            {"role": "user", "content": "Answer of search: found\n\nAnswer of look: seen"},
        ]


async def test_what_a_server_is_known_not_to_take_is_never_sent(connect: Connect) -> None:
    session = await connect(leave_out=("tools", "logprobs"))
    await session.client.complete(ROUND, tools=[SEARCH], logprobs=True)
    [sent] = session.requests
    assert sent.keys() == {"model", "messages"}
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]


async def test_a_model_that_has_answered_is_not_gone(connect: Connect) -> None:
    session = await connect(Settings(script=["fine", Fault("status", 404)]))
    await session.ask()
    with pytest.raises(BadRequest) as raised:
        await session.ask()
    assert not isinstance(raised.value, ModelNotFound)


async def test_a_reply_format_that_is_refused_beside_tools_is_still_sent_without_them(connect: Connect) -> None:
    fault = Fault("status", 400, message="json mode cannot be combined with tool/function calling")
    session = await connect(Settings(script=[fault, "one", fault, "two"]))
    await session.ask(schema=SCHEMA, tools=[SEARCH])
    await session.ask(schema=SCHEMA)
    kinds = [sent.get("response_format", {}).get("type") for sent in session.requests]
    assert kinds == ["json_schema", "json_object", "json_schema", "json_object"]
    assert session.client.left_out == ("json_schema", "json_schema with tools")
    assert ["tools" in sent for sent in session.requests] == [True, True, False, False]


async def test_broken_unicode_is_refused_and_not_retried(connect: Connect) -> None:
    session = await connect()
    with pytest.raises(BadRequest, match="not valid Unicode"):
        await session.client.complete([Message.model_construct(role="user", content="\ud800")])
    assert session.clock.slept == []


# --- prices and keys


async def test_cached_tokens_are_counted_and_priced_apart(connect: Connect) -> None:
    session = await connect(model="gpt-4o-mini", price=openai_price)
    long = [Message(role="user", content="x" * 4 * 1300)]
    await session.client.complete(long)
    usage = (await session.client.complete(long)).usage
    assert usage.cached_tokens == 1280
    expected = (usage.input_tokens - 1280) * 0.15e-6 + 1280 * 0.075e-6 + usage.output_tokens * 0.6e-6
    assert usage.cost == pytest.approx(expected)


async def test_own_price_and_unknown_price(connect: Connect) -> None:
    own = await connect(price=lambda model, usage, base_url: usage.output_tokens * 2.0)
    unknown = await connect(model="nobody-knows-it")
    assert (await own.ask()).usage.cost == 4.0
    assert (await unknown.ask()).usage.cost is None


async def test_an_alias_is_priced_by_the_name_that_the_server_gives(connect: Connect) -> None:
    body = {
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"message": {"content": "Hi"}}],
        "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 1_000_000},
    }
    session = await connect(Settings(script=[body]), model="my-deployment", price=openai_price)
    completion = await session.ask()
    assert (completion.model, completion.usage.cost) == ("gpt-4o-mini-2024-07-18", pytest.approx(0.15 + 0.60))


def chain(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *chain(error.__cause__), *chain(error.__context__)]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 401),
        Fault("status", 400, message="your header was: Bearer {key}"),
        Fault("reset"),
        Fault("bad-json"),
        Fault("hang"),
    ],
    ids=str,
)
async def test_the_key_is_never_shown(connect: Connect, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    session = await connect(Settings(script=[fault] * 99), deadline=1, timeout=0.2)
    with pytest.raises(ModelError) as caught:
        await session.ask()
    assert chain(caught.value) == [caught.value], "no exception that carries the request hangs on"
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    for text in (str(caught.value), repr(caught.value), shown, repr(session.client), caplog.text):
        assert KEY not in text
        assert "very-secret" not in text


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_works_again_in_a_new_event_loop_even_if_not_closed() -> None:
    with simulator(lifetime=60) as base_url:
        client = OpenAIClient("m", base_url=base_url, deadline=1)
        for _ in range(2):
            assert asyncio.run(client.complete(HELLO)).text == "Hello"
        del client
        gc.collect()  # what was left open is warned of here and not in some later test


def test_replies_of_a_server_with_another_port_every_time_are_found_again() -> None:
    addresses = ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")
    named = [OpenAIClient("m", base_url=address, known_as="local:/m.gguf").key(HELLO) for address in addresses]
    other = OpenAIClient("m", base_url=addresses[0], known_as="local:/n.gguf").key(HELLO)
    unnamed = [OpenAIClient("m", base_url=address).key(HELLO) for address in addresses]
    assert named[0] == named[1]
    assert len({named[0], other, *unnamed}) == 4


async def test_a_server_that_keeps_failing_is_told_of_once_a_call_is_tried_for_the_sixth_time(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    for failures, told in ((5, 0), (7, 1)):
        caplog.clear()
        session = await connect(Settings(script=[*[Fault("status", 500)] * failures, "Hi"]), deadline=900)
        assert (await session.ask()).text == "Hi"
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == told
        assert all("keeps failing (" in line and line.endswith("up to 900 s (deadline)") for line in warnings)
