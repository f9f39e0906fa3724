"""One model at several servers: who gets a request, and who gets it next."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from mtagent.errors import (
    AuthenticationError,
    ModelError,
    ModelNotFound,
    Refused,
    ServerError,
    ServerPaused,
    calls_of,
)
from mtagent.llm.client import OpenAIClient
from mtagent.llm.endpoints import Endpoints
from mtagent.llm.events import Event, RetryEvent, WaitEvent
from mtagent.llm.limits import Limiter, ReadLimits
from mtagent.llm.protocol import LLM, KeyedLLM, LimitedLLM, PricedLLM
from mtagent.llm.reply import late_failure
from mtagent.llm.request import Body
from mtagent.records import Call, Completion, Message, Usage
from tests.clocks import FakeClock, LoopClock, run_in_no_time
from tests.simulator import Fault, Settings
from tests.test_llm_pacing import Wire


def hello(number: int = 0) -> tuple[Message, ...]:
    return (Message(role="user", content=f"Hello {number}"),)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    random.seed(0)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


class PunctualWire(Wire):
    """A wire that gives up after the time for a request."""

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await super().post(body, seconds, read_limits)
        except TimeoutError:
            return late_failure(seconds, "")


class Servers:
    """A model at one simulated server for each of ``settings``."""

    def __init__(self, *settings: Settings, deadline: float = 900, concurrency: int = 16) -> None:
        clock = LoopClock()
        self.wires = [PunctualWire(each) for each in settings]
        self.events: list[Event] = []
        clients = []
        for number, wire in enumerate(self.wires):
            transport: Any = wire
            clients.append(
                OpenAIClient(
                    "m",
                    base_url=f"http://server-{number}/v1",
                    clock=clock,
                    limiter=Limiter(concurrency, clock=clock),
                    deadline=deadline,
                    transport=transport,
                    price=lambda model, usage, address: float(str(address)[14]),  # its number
                    endpoint=f"endpoint {number}",
                    observer=self.events.append,
                )
            )
        self.clients = clients
        self.llm = Endpoints(clients, clock=clock)

    async def ask(self, times: int) -> list[Completion | ModelError]:
        outcomes: Sequence[Any] = await asyncio.gather(
            *(self.llm.complete(hello(number)) for number in range(times)), return_exceptions=True
        )
        return list(outcomes)

    @property
    def answered(self) -> list[int]:
        return [wire.statuses[200] for wire in self.wires]


def asked(times: int, *settings: Settings, **options: Any) -> tuple[list[Any], Servers, float]:
    """The outcomes of calls at the same time, the servers, and the seconds it took."""

    async def ask() -> tuple[list[Any], Servers, float]:
        servers = Servers(*settings, **options)
        outcomes = await servers.ask(times)
        return outcomes, servers, LoopClock().now() - 1000

    return run_in_no_time(ask())


def always(status: int, **options: Any) -> Settings:
    fault = Fault("status", status, **options)
    return Settings(behaviour=lambda body: fault)


def test_it_is_a_model_with_keys_prices_and_limits() -> None:
    servers = Servers(Settings(), Settings())
    for protocol in (LLM, KeyedLLM, PricedLLM, LimitedLLM):
        assert isinstance(servers.llm, protocol)
    assert servers.llm.key(hello()) == servers.clients[0].key(hello()) != servers.clients[1].key(hello())
    assert servers.llm.price(Usage()) == 1.0, "that of the more expensive one"
    assert list(servers.llm.limiters) == [client.limiter for client in servers.clients]


def test_requests_go_to_the_server_with_the_fewest_in_flight() -> None:
    outcomes, servers, seconds = asked(40, Settings(latency=1), Settings(latency=1), concurrency=20)
    assert servers.answered == [20, 20]
    assert seconds == pytest.approx(1)
    assert {outcome.usage.cost for outcome in outcomes} == {0.0, 1.0}, "each costs what its own server takes"


@pytest.mark.parametrize(
    "broken",
    [
        *(always(status) for status in (401, 402, 403, 404, 500, 503)),
        always(429, retry_after=3600),
        always(429, retry_after=20),
        always(429, code="insufficient_quota"),
        always(429),
        Settings(behaviour=lambda body: Fault("reset")),
    ],
    ids=lambda settings: repr(settings.behaviour({})),
)
def test_what_one_server_cannot_answer_another_one_does(broken: Settings) -> None:
    outcomes, servers, seconds = asked(40, broken, Settings(latency=0.2))
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert servers.answered[1] == 40
    assert seconds < 15
    assert sum(servers.wires[0].statuses.values()) <= 3 * 20, "only its half of the first requests"


def test_what_fails_at_every_server_alike_is_asked_once() -> None:
    outcomes, servers, _ = asked(1, always(400), Settings())
    assert outcomes[0].status == 400
    assert servers.answered == [0, 0]
    refusal = Settings(behaviour=lambda body: Fault("refusal"))
    [error], servers, _ = asked(1, refusal, Settings())
    assert isinstance(error, Refused)
    assert [call.usage.calls for call in error.calls] == [1]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (always(401), always(404), AuthenticationError),
        (always(404), always(401), ModelNotFound),
        (always(401), always(429, retry_after=3600), ServerPaused),
        (always(500), always(429, retry_after=3600), ServerPaused),
        (always(401), always(500), ServerError),
        (always(500), always(503), ServerError),
    ],
)
def test_when_all_fail_the_error_is_the_one_that_may_pass(first: Settings, second: Settings, kind: type) -> None:
    [error], servers, seconds = asked(1, first, second, deadline=60)
    assert type(error) is kind
    assert seconds < 75
    assert sum(sum(wire.statuses.values()) for wire in servers.wires) < 40


def test_when_both_are_down_for_a_while_the_requests_wait() -> None:
    down = [Fault("status", 503)] * 12
    outcomes, _, seconds = asked(8, Settings(script=down), Settings(script=down))
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert seconds < 60


def test_a_server_that_is_back_gets_requests_again() -> None:
    async def ask() -> int:
        servers = Servers(Settings(script=[Fault("status", 503)] * 6, latency=0.1), Settings(latency=0.1))
        for _ in range(10):
            await servers.ask(8)
            await asyncio.sleep(5)
        return servers.answered[0]

    assert run_in_no_time(ask()) >= 20


def test_what_was_paid_elsewhere_is_counted_with_the_reply() -> None:
    async def ask() -> Completion:
        servers = Servers(Settings(script=[Fault("truncate"), Fault("status", 401)]), Settings())
        return await servers.llm.complete(hello())

    completion = run_in_no_time(ask())
    assert completion.usage.calls == 2
    assert completion.usage.cost == 0.0 + 1.0
    assert [call.usage.calls for call in completion.attempts] == [1]
    assert completion.retries == ("Truncated", "HTTP 401")


def test_what_was_paid_at_all_endpoints_is_known_when_a_call_is_cancelled() -> None:
    paying = Settings(script=[Fault("truncate"), Fault("status", 401)])
    hanging = Settings(script=[Fault("truncate"), Fault("hang")])

    async def ask() -> tuple[Call, ...]:
        servers = Servers(paying, hanging)
        asked = asyncio.create_task(servers.llm.complete(hello()))
        await asyncio.sleep(100)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await asked
        return calls_of(cancelled.value)

    *paid, last = run_in_no_time(ask())
    assert [(call.usage.calls, call.endpoint) for call in paid] == [(1, "endpoint 0"), (1, "endpoint 1")]
    assert (last.usage.calls, last.endpoint) == (0, "endpoint 1")
    assert last.retries == ("Truncated", "HTTP 401", "Truncated")
    assert last.seconds == 100


def test_a_call_that_is_cancelled_while_all_endpoints_rest_knows_what_was_paid_and_waited() -> None:
    async def ask() -> tuple[Call, ...]:
        servers = Servers(
            Settings(script=[Fault("truncate"), Fault("status", 429, retry_after=100)]),
            always(429, retry_after=200),
        )
        asked = asyncio.create_task(servers.llm.complete(hello()))
        await asyncio.sleep(50)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await asked
        return calls_of(cancelled.value)

    *paid, last = run_in_no_time(ask())
    assert [(call.usage.calls, call.endpoint) for call in paid] == [(1, "endpoint 0")]
    assert last.waited == pytest.approx(50, abs=0.1)


def test_retries_and_waits_are_the_same_in_events_and_calls_whether_one_answers_or_none() -> None:
    down = [Fault("status", 503)] * 12
    outcomes, servers, _ = asked(8, Settings(script=down), Settings(script=down))
    failed, other_servers, _ = asked(4, always(500), always(503), deadline=60)
    answered = [(outcome.retries, outcome.waited, outcome.endpoint) for outcome in outcomes]
    given_up = [(error.calls[-1].retries, error.calls[-1].waited, error.calls[-1].endpoint) for error in failed]
    for ends, events in ((answered, servers.events), (given_up, other_servers.events)):
        retries = [event for event in events if isinstance(event, RetryEvent)]
        causes = [event.cause for event in retries]
        assert sorted(causes) == sorted(cause for causes_of_call, *_ in ends for cause in causes_of_call)
        waits = [event.seconds for event in events if isinstance(event, WaitEvent)]
        waited = sum(waited_by_call for _, waited_by_call, _ in ends)
        assert sum(event.wait for event in retries) + sum(waits) == pytest.approx(waited, abs=0.01)
        assert any(event.next_endpoint not in (None, event.endpoint) for event in retries)
        assert {endpoint for *_, endpoint in ends} <= {"endpoint 0", "endpoint 1"}


def test_the_second_endpoint_gets_its_time_if_the_first_one_hangs_until_the_deadline() -> None:
    [completion], _, seconds = asked(1, Settings(behaviour=lambda body: Fault("hang")), Settings(), deadline=60)
    assert completion.endpoint == "endpoint 1"
    assert completion.retries == ("timeout",)
    assert 60 <= seconds < 70


def test_the_message_tells_at_how_many_endpoints_the_attempts_were() -> None:
    [error], *_ = asked(1, always(401), always(404))
    assert str(error).startswith("m at http://server-0/v1: HTTP 401")
    [error], *_ = asked(1, Settings(behaviour=lambda body: Fault("hang")), always(400), deadline=60)
    assert str(error).startswith("m at http://server-1/v1: HTTP 400")
    assert " (attempt 2, at 2 endpoints); " in str(error)


@pytest.mark.loopback
async def test_two_wrong_addresses_are_given_up_as_early_as_one() -> None:
    addresses = ("http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1")
    clock = FakeClock()
    clients = [OpenAIClient("m", base_url=url, endpoint=url, clock=clock) for url in addresses]
    llm = Endpoints(clients, clock=clock)
    for _ in range(20):  # one call after the other
        with pytest.raises(ServerError, match="nobody answers there"):
            await llm.complete(hello())
    assert clock.now() - 1000 < 60
    for client in clients:
        await client.aclose()


def test_a_pause_that_only_sends_requests_elsewhere_is_not_called_a_stop(caplog: pytest.LogCaptureFixture) -> None:
    pausing = Settings(script=[Fault("status", 429, retry_after=7)])
    [completion], *_ = asked(1, pausing, Settings())
    assert completion.endpoint == "endpoint 1"
    [message] = [record.getMessage() for record in caplog.records if "other endpoints" in record.getMessage()]
    assert message.startswith("m at http://server-0/v1 asks to be left alone for 7 s")
    assert "deadline" not in message
