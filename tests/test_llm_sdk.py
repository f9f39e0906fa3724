"""Three ways to a model: mtagent's own transport, a client of the openai package, and its ``create``.

The tests hold for each allowed version of the package: `make test-extras` repeats them with the oldest one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import ssl
import subprocess
import sys
import threading
import urllib.error
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import openai
import pytest

from mtagent import Agent
from mtagent.errors import AuthenticationError, BadRequest, ConfigError, ModelError
from mtagent.llm.client import OpenAIClient
from mtagent.llm.limits import Limiter
from mtagent.llm.protocol import Sampling
from mtagent.records import Message, Tool
from tests.clocks import FakeClock
from tests.commands import ROOT, Shell
from tests.scripted_server import Answer, scripted_server
from tests.simulator import Fault, Settings, Simulator
from tests.simulator import chain as simulated
from tests.simulator.replies import completion

pytestmark = pytest.mark.loopback

KEY = "sk-own-secret-0815"
HELLO = (Message(role="system", content="Answer in json."), Message(role="user", content="Hello"))
WAYS = ("default", "client", "instrumented", "instrumented client")
OF_HTTP = {"host", "accept-encoding", "connection", "content-length", "user-agent"}
OLDEST = ROOT / ".venv-openai-oldest"
"""`make test-extras` installs the oldest allowed version there."""


@pytest.fixture(autouse=True, scope="module")
def no_open_sockets_of_packages() -> Iterator[None]:
    """A request that is given up while it connects leaves httpx's socket open until it is collected: here, silently."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_VERSION", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def same(text: str) -> str:
    """The MT system."""
    return text


Make = Callable[..., openai.AsyncOpenAI]


@asynccontextmanager
async def model(way: str, make: Make, arguments: dict[str, Any], **options: Any) -> AsyncIterator[OpenAIClient]:
    """mtagent's client that reaches the model in this ``way``.

    ``make`` makes the client of a user; ``arguments`` are the same configuration for mtagent.
    """
    options |= {"clock": FakeClock(), "instrumented": way.startswith("instrumented")}
    client = None
    if way.endswith("client"):
        client = make(max_retries=0)
        llm = OpenAIClient("m", client=client, **options)
    else:
        llm = OpenAIClient("m", **arguments, **options)
    yield llm
    await llm.aclose()
    if client is not None:
        assert not client.is_closed()
        await client.close()


def plain(server: Simulator) -> tuple[Make, dict[str, Any]]:
    """The simulator as any server."""

    def make(**options: Any) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, **options)

    return make, {"base_url": server.base_url, "api_key": KEY}


def azure(server: Simulator, **credentials: Any) -> tuple[Make, dict[str, Any]]:
    """The simulator as a resource of Azure."""
    resource = {"azure_endpoint": server.base_url.removesuffix("/v1"), "api_version": "2024-10-21"}

    def make(**options: Any) -> openai.AsyncOpenAI:
        return openai.AsyncAzureOpenAI(**resource, **credentials, **options)

    return make, {**resource, "api_key": credentials.get("api_key", credentials.get("azure_ad_token_provider"))}


def of_the_request(server: Simulator) -> tuple[str, dict[str, str]]:
    """Address and headers of the last request, without what belongs to a connection, or to how the package posts."""
    path, headers = server.arrived[-1]
    kept = {name: value for name, value in headers.items() if name not in OF_HTTP and "stainless" not in name}
    return path, kept


# --- the same replies, addresses and headers


async def test_all_ways_give_the_same_reply() -> None:
    tool = Tool(name="look_up", description="Look up.", parameters={"type": "object", "properties": {}})
    sampling = Sampling(temperature=0, seed=3, extra={"cache_prompt": False})
    completions, bodies = [], []
    for way in WAYS:
        async with (
            Simulator(Settings(reasoning_tokens=5)) as server,
            model(way, *plain(server), sampling=sampling) as llm,
        ):
            for options in ({}, {"logprobs": True}, {"tools": [tool]}, {"schema": {"type": "object"}}):
                completions.append(await llm.complete(HELLO, **options))
            bodies.append(server.requests)
    assert completions[:4] == completions[4:8] == completions[8:12] == completions[12:]
    assert completions[1].logprobs
    assert bodies[0] == bodies[1] == bodies[2] == bodies[3]
    assert bodies[0][0]["cache_prompt"] is False


async def test_all_ways_count_what_was_written_to_a_cache() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    of_openai = {**usage, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 5}}
    of_a_gateway = {**usage, "prompt_tokens_details": {"cached_tokens": 2}, "cache_creation_input_tokens": 5}
    for way in WAYS:
        bodies = [{**completion({"model": "m"}, 1, "Hi"), "usage": each} for each in (of_openai, of_a_gateway)]
        async with Simulator(Settings(script=bodies)) as server, model(way, *plain(server)) as llm:
            for _ in bodies:
                written = (await llm.complete(HELLO)).usage
                assert (written.input_tokens, written.cached_tokens, written.cache_write_tokens) == (9, 2, 5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["plain", "azure key", "azure token"])
async def test_address_and_headers_are_those_of_the_package(
    way: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    async with Simulator() as server:
        setups = {
            "plain": lambda: plain(server),
            "azure key": lambda: azure(server, api_key=KEY),
            "azure token": lambda: azure(server, azure_ad_token_provider=lambda: "token-1"),
        }
        make, arguments = setups[kind]()
        bare = make()
        await bare.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
        await bare.close()
        expected = of_the_request(server)
        async with model(way, make, arguments) as llm:
            await llm.complete(HELLO)
        assert of_the_request(server) == expected
    path, headers = expected
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-1")
    if kind == "plain":
        assert (path, headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    else:
        assert path == "/openai/deployments/m/chat/completions?api-version=2024-10-21"
        assert headers.get("api-key") == (KEY if kind == "azure key" else None)
        assert kind == "azure key" or headers["authorization"] == "Bearer token-1"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_azure", [False, True])
async def test_a_token_that_changes_during_a_run_is_renewed(way: str, is_async: bool, is_azure: bool) -> None:
    tokens = iter(["token-1", "token-1", "token-2"])

    async def later() -> str:
        return next(tokens)

    provider: Any = later if is_async or not is_azure else lambda: next(tokens)
    async with Simulator() as server:
        make, arguments = azure(server, azure_ad_token_provider=provider)
        if not is_azure:

            def make(**options: Any) -> openai.AsyncOpenAI:
                return openai.AsyncOpenAI(base_url=server.base_url, api_key=provider, **options)

            arguments = {"base_url": server.base_url, "api_key": provider}
        async with model(way, make, arguments) as llm:
            for _ in range(3):
                await llm.complete(HELLO)
        sent = [headers["authorization"] for _, headers in server.arrived]
    assert sent == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize("way", ["default", "instrumented"])
@pytest.mark.parametrize(
    "returned",
    [
        *(None, "", "a b", RuntimeError(f"no token for {KEY}"), FileNotFoundError(KEY), ssl.SSLError(KEY)),
        urllib.error.HTTPError("http://identity", 401, "wrong secret", EmailMessage(), None),
    ],
)
async def test_a_function_without_a_key_is_an_error_and_nothing_is_sent(way: str, returned: Any) -> None:
    def no_key() -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    async with Simulator() as server, model(way, *azure(server, azure_ad_token_provider=no_key)) as llm:
        with pytest.raises(AuthenticationError, match="api_key: the function") as caught:
            await llm.complete(HELLO)
        assert KEY not in str(caught.value)
        assert server.arrived == []


def wrapped_in_lookup_error(error: Exception) -> Exception:
    try:
        raise LookupError("no token") from error
    except LookupError as wrapping:
        return wrapping


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "broken",
    [
        ConnectionResetError("the identity server is away"),
        wrapped_in_lookup_error(ConnectionResetError("the identity server is away")),
        httpx.ConnectError("all attempts failed"),
        aiohttp.ServerDisconnectedError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_function_that_reaches_no_server_for_a_token_is_called_again(way: str, broken: Exception) -> None:
    calls = 0

    def token() -> str:
        nonlocal calls
        calls += 1
        if calls != 2:
            return "token-1"
        raise broken

    async with Simulator() as server, model(way, *azure(server, azure_ad_token_provider=token)) as llm:
        assert not (await llm.complete(HELLO)).retries
        assert (await llm.complete(HELLO)).retries == ("connection broken",)
        assert len(server.arrived) == 2


class CredentialUnavailableError(Exception):
    """As functions of azure-identity raise it."""


async def test_a_users_client_without_a_token_ends_the_run_and_names_its_error() -> None:
    def token() -> str:
        raise CredentialUnavailableError("please run az login")

    async with Simulator() as server, model("client", *azure(server, azure_ad_token_provider=token)) as llm:
        with pytest.raises(AuthenticationError, match="CredentialUnavailableError: please run az login"):
            await llm.complete(HELLO)
        assert server.arrived == []


async def test_an_error_of_a_users_client_about_a_loop_of_its_own_is_not_repeated() -> None:
    def token() -> str:
        raise RuntimeError("loop detected in the cache")

    async with Simulator() as server, model("client", *azure(server, azure_ad_token_provider=token)) as llm:
        with pytest.raises(BadRequest, match="RuntimeError: loop detected in the cache"):
            await llm.complete(HELLO)


async def test_a_failing_token_function_does_not_make_a_wrong_address_look_right() -> None:
    answers: list[Any] = [ConnectionResetError("the identity server is away")]

    def token() -> str:
        if answers:
            raise answers.pop()
        return "token-1"

    llm = OpenAIClient("m", base_url="http://127.0.0.1:1/v1", api_key=token, clock=FakeClock())
    with pytest.raises(ModelError, match="nobody answers there: check the base URL"):
        await llm.complete(HELLO)
    await llm.aclose()


class Delegating:
    """A user's wrapper that leaves everything to the client that it wraps."""

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


async def test_a_client_may_be_wrapped_in_an_object_that_delegates(server: str) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY, max_retries=0)
    wrapper: Any = Delegating(client)
    async with Agent(same, client=wrapper, model="m", stages="tpr", gate="guards") as agent:
        assert not (await agent.atranslate("Hello, world!", "en", "es")).failed
    await client.close()


# --- the same errors


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault("status", status) for status in (400, 401, 403, 404, 422, 429, 500, 503, 529)),
        *(Fault("reset"), Fault("bad-json"), Fault("no-choices"), Fault("hang"), Fault("azure-filter")),
        Fault("status", 429, code="insufficient_quota"),
        Fault("status", 404, code="model_not_found"),
        Fault("status", 400, message="your header was: Bearer {key}"),
    ],
    ids=str,
)
async def test_all_ways_classify_a_fault_alike(fault: Fault) -> None:
    timeout = 0.2 if fault.kind == "hang" else 10.0  # the first call of a process loads the package
    outcomes = set()
    for way in WAYS:
        async with (
            Simulator(Settings(script=[fault] * 99)) as server,
            model(way, *plain(server), deadline=0.5, timeout=timeout) as llm,
        ):
            with pytest.raises(ModelError) as caught:
                await llm.complete(HELLO)
            message = str(caught.value).replace(server.base_url, "SERVER")
            assert "own-secret" not in message
            if fault.kind in ("reset", "bad-json"):  # each package has its own words for it
                message = message.partition(": ")[0]
            message = message.partition("; check the key")[0]  # which key, depends on who brings it
            outcomes.add((type(caught.value), caught.value.status, message))
    assert len(outcomes) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_pause_that_the_server_asks_for_is_kept(way: str) -> None:
    fault = Fault("status", 429, retry_after=7)
    async with Simulator(Settings(script=[fault, "fine"])) as server, model(way, *plain(server)) as llm:
        assert (await llm.complete(HELLO)).text == "fine"
        assert len(server.arrived) == 2
        assert max(llm._clock.slept) >= 7  # type: ignore[attr-defined]


async def test_a_users_client_repeats_nothing_itself_and_keeps_its_setting() -> None:
    async with Simulator(Settings(script=[Fault("status", 500)] * 2)) as server:
        client = plain(server)[0](max_retries=5)
        llm = OpenAIClient("m", client=client, clock=FakeClock(), deadline=0.1)
        with pytest.raises(ModelError):
            await llm.complete(HELLO)
        assert (len(server.arrived), client.max_retries) == (1, 5)
        await client.close()


async def test_a_traced_client_that_repeats_requests_itself_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    client = openai.AsyncOpenAI(base_url="http://127.0.0.1:1/v1", api_key=KEY, max_retries=2)
    for name in ("m", "judge"):
        OpenAIClient(name, client=client, instrumented=True)
    assert caplog.text.count("make the client with max_retries=0") == 1
    await client.close()


# --- tracing


async def test_a_wrapper_of_create_sees_every_call_if_instrumented(monkeypatch: pytest.MonkeyPatch) -> None:
    from openai.resources.chat.completions import AsyncCompletions

    seen: list[Any] = []
    original = AsyncCompletions.create

    async def create(*args: Any, **options: Any) -> Any:
        reply = await original(*args, **options)
        seen.append((options["messages"][-1]["content"], reply.choices[0].message.content))
        return reply

    monkeypatch.setattr(AsyncCompletions, "create", create)
    for way in WAYS:
        async with Simulator() as server, model(way, *plain(server)) as llm:
            for _ in range(2):
                await llm.complete(HELLO)
        assert seen == ([("Hello", "Hello")] * 2 if way.startswith("instrumented") else [])
        seen.clear()


async def test_a_wrapper_of_one_client_sees_its_calls() -> None:
    seen = []
    async with Simulator() as server:
        client = plain(server)[0](max_retries=0)
        original = client.chat.completions.create

        async def create(*args: Any, **options: Any) -> Any:
            seen.append(options["model"])
            return await original(*args, **options)

        client.chat.completions.create = create  # type: ignore[method-assign]
        await OpenAIClient("m", client=client, instrumented=True).complete(HELLO)
        await client.close()
    assert seen == ["m"]


# --- names of requests, what is sent, and what is loaded


def test_stored_replies_are_found_again() -> None:
    names = {
        "http://h/v1": "request-2:3359879ec4bdf86789d59b27edb286f84feb3f7d754430174f0d9530dcc835ec",
        "http://h/v1/?x=a%20b": "request-2:fc088912ccd504e70fa0ee6c548f9549be758bcdb63d33d815268cb6d2d104cb",
        "https://api.openai.com/v1/": "request-2:88b5fbb3cc8bb53ca7576c70773975714d39ff8c839197b6c85261006af87e2d",
    }
    messages = (Message(role="system", content="s"), Message(role="user", content="Hello"))
    for address, name in names.items():
        llm = OpenAIClient("m", base_url=address, api_key="k", sampling=Sampling(temperature=0))
        assert llm.key(messages) == name


async def test_a_server_has_the_same_name_in_a_client_and_in_the_settings() -> None:
    async with Simulator() as server:
        for make, arguments in (plain(server), azure(server, api_key=KEY)):
            client = make()
            ours = OpenAIClient("m", **arguments)
            assert OpenAIClient("m", client=client).key(HELLO) == ours.key(HELLO)
            await client.close()
        assert ours.base_url.endswith("/openai?api-version=2024-10-21")
        other = OpenAIClient("m", **arguments | {"api_version": "2025-01-01"})
        assert other.key(HELLO) != ours.key(HELLO)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("form", "mark", "options"),
    [
        ("claude", {"cache_control": {"type": "ephemeral"}}, None),
        ("openai", {"prompt_cache_breakpoint": {"mode": "explicit"}}, {"mode": "explicit"}),
    ],
)
async def test_cache_control_marks_the_end_of_the_examples_and_renames_no_request(
    way: str, form: str, mark: dict[str, Any], options: dict[str, str] | None
) -> None:
    shots = [Message(role=role, content=text) for text in ("One", "Two", "Three") for role in ("user", "assistant")]
    few_shot = (HELLO[0], *shots, HELLO[1])
    async with Simulator() as server, model(way, *plain(server), cache_control=form) as llm:
        for messages in (HELLO, few_shot):
            assert (await llm.complete(messages)).text == "Hello"
            assert llm.key(messages) == OpenAIClient("m", base_url=server.base_url).key(messages)
        marked = []
        for sent in server.requests:
            assert sent.get("prompt_cache_options") == options
            contents = [message["content"] for message in sent["messages"]]
            assert all(part["type"] == "text" and part.items() > mark.items() for [part] in filter(is_list, contents))
            marked.append([content[0]["text"] for content in contents if is_list(content)])
        assert marked == [["Answer in json."], ["Two", "Three"]]


def is_list(content: object) -> bool:
    return isinstance(content, list)


def test_the_package_is_imported_when_a_model_is_called() -> None:
    code = (
        "import sys, mtagent\nfrom mtagent.llm.client import OpenAIClient\n"
        "OpenAIClient('m', base_url='http://h/v1'); "
        "mtagent.Agent(lambda text: text, model='m', base_url='http://h/v1', stages='tp')\n"
        "sys.exit('openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTP_PROXY"])
async def test_requests_go_through_the_proxy_of_the_environment(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server() as proxy:
        body = '{"choices": [{"message": {"content": "Hi"}}]}'
        proxy.answer = lambda request: Answer(body)
        monkeypatch.setenv(variable.lower(), proxy.url)
        for instrumented in (False, True):
            llm = OpenAIClient("m", base_url="http://model.example/v1", instrumented=instrumented)
            assert (await llm.complete(HELLO)).text == "Hi"
            await llm.aclose()
        assert [request.path for request in proxy.requests] == ["http://model.example/v1/chat/completions"] * 2


async def test_a_proxy_that_does_not_answer_is_named(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://user:secret-4711@127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    llm = OpenAIClient("m", base_url=server, clock=FakeClock())
    with pytest.raises(ModelError, match=r"no connection to the proxy 127\.0\.0\.1:1: .*; check HTTPS_PROXY") as caught:
        await llm.complete(HELLO)
    assert "secret-4711" not in str(caught.value)
    await llm.aclose()


def test_a_proxy_that_does_not_speak_http_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(ConfigError, match=r"must begin with http://.*ALL_PROXY"):
        OpenAIClient("m", base_url="http://model.example/v1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"azure_endpoint": "https://n.example", "base_url": "http://h/v1"}, "set beside base_url"),
        ({"api_version": "2024-10-21"}, "api_version: is for Azure"),
        ({"azure_endpoint": "https://n.example"}, "needs api_version"),
        ({"azure_endpoint": "https://n.example/openai/deployments/d", "api_version": "1"}, "the resource alone"),
        (
            {"azure_endpoint": "n.example", "api_version": "1"},
            "is not an address: write for example https://NAME.openai",
        ),
        ({"azure_endpoint": "https://n.example", "api_version": "1"}, "AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN"),
        ({"azure_endpoint": "https://n.example", "api_version": "1", "api_key_env": "K"}, "environment variable K$"),
    ],
)
def test_what_cannot_be_azure_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OpenAIClient("m", **arguments)


# --- the command line and Agent


async def test_azure_and_headers_on_the_command_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "--stages pr --gate guards --model d --api-version 1 --header X-Team-Key=TEAM_KEY"
    async with Simulator(Settings(behaviour=lambda body: "[]")) as server:
        line += f" --azure-endpoint {server.base_url.removesuffix('/v1')}"
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        done = await asyncio.to_thread(shell.postedit, line)
        assert (done.code, server.arrived) == (1, [])
        assert "header X-Team-Key: the environment variable TEAM_KEY is not set" in done.err
        monkeypatch.setenv("TEAM_KEY", "team-secret-4711")
        await asyncio.to_thread(shell.postedit, line)
        path, headers = server.arrived[0]
    assert path == "/openai/deployments/d/chat/completions?api-version=1"
    assert (headers["api-key"], headers["x-team-key"]) == (KEY, "team-secret-4711")
    stored = (shell.folder / "store.db").read_bytes()
    assert b"team-secret" not in stored
    assert KEY.encode() not in stored


@pytest.mark.parametrize("wrong", ["X-Team", "X Team=V", "X-Team=sk-4711secret0815", "=V"])
def test_a_header_names_a_variable_and_holds_no_value(wrong: str, shell: Shell) -> None:
    done = shell("config", "--header", wrong)
    assert done.code == 1
    assert "must be" in done.err
    assert "4711" not in done.err


async def test_a_header_of_the_users_is_masked_in_errors() -> None:
    headers = {"X-Team-Key": "team-secret-4711"}
    fault = Fault("status", 400, message="X-Team-Key team-secret-4711 is unknown")
    async with Simulator(Settings(script=[fault])) as server:
        llm = OpenAIClient("m", base_url=server.base_url, headers=headers)
        with pytest.raises(ModelError, match=r"X-Team-Key \[key\] is unknown"):
            await llm.complete(HELLO)
        await llm.aclose()


async def test_an_agent_sends_requests_through_the_clients_of_its_user() -> None:
    settings = Settings(behaviour=simulated.improving)
    async with Simulator(settings) as one, Simulator(settings) as other:
        client, judge = plain(one)[0](), plain(other)[0]()

        def faulty(text: str) -> str:
            return text.replace("world", "errado world")

        agent = Agent(faulty, client=client, llms={"judge": judge}, model="m", judge_model="j", stages="tpp")
        async with agent:
            await agent.atranslate("Hello, world!", "en", "es")
        assert {body["model"] for body in one.requests} == {"m"}
        assert {body["model"] for body in other.requests} == {"j"}
        async with Agent(same, client=client, instrumented=True, model="m", stages="tpr") as agent:
            await agent.atranslate("Hello, world!", "en", "es")
        assert not client.is_closed()
        for used in (client, judge):
            await used.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_may_be_used_in_several_event_loops(server: str) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY)
    for _ in range(2):
        with Agent(same, client=client, model="m", stages="tpr", gate="guards") as agent:
            chain = agent.translate("Hello, world!", "en", "es")
        assert not chain.failed
    del client
    gc.collect()  # what was left open is warned of here and not in some later test


def test_a_function_makes_a_client_for_each_event_loop(server: str) -> None:
    made: list[openai.AsyncOpenAI] = []
    retries: list[str] = []

    def make_client() -> openai.AsyncOpenAI:
        made.append(openai.AsyncOpenAI(base_url=server, api_key=KEY))
        return made[-1]

    agents = [Agent(same, client=make_client, model="m", stages="tpr", gate="guards") for _ in range(2)]
    assert len(made) == 2  # each was checked with one

    async def work(agent: Agent) -> None:
        async with agent:
            for _ in range(3):
                for chain in await agent.atranslate(["Hello, world!"] * 4, "en", "es"):
                    assert not chain.failed
                    for call in chain.steps[-1].calls:
                        retries.extend(call.retries)

    threads = [threading.Thread(target=lambda agent=agent: asyncio.run(work(agent))) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), retries) == (4, [])
    assert [client.is_closed() for client in made[2:]] == [True, True]
    with pytest.raises(ConfigError, match="client: the function returned 5, not an"):
        Agent(same, client=lambda: 5, model="m")  # type: ignore[arg-type,return-value]


async def test_a_client_that_is_used_in_two_event_loops_at_once_is_refused(server: str) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY)
    agents = [Agent(same, client=client, model="m", stages="tpr", gate="guards") for _ in range(2)]

    async def translated(agent: Agent) -> bool:
        async with agent:
            return (await agent.atranslate("Hello, world!", "en", "es")).failed is None

    assert await translated(agents[0])
    with pytest.raises(ConfigError, match="client: it is used in two event loops at once"):
        await asyncio.to_thread(asyncio.run, translated(agents[1]))
    assert await translated(agents[0])
    await client.close()


def test_a_client_may_be_used_in_one_event_loop_after_the_other(server: str) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY)
    for _ in range(2):
        agent = Agent(same, client=client, model="m", stages="tpr", gate="guards")
        assert asyncio.run(agent.atranslate("Hello, world!", "en", "es")).failed is None


@pytest.mark.parametrize(("returned", "message"), [(None, "returned NoneType"), ({"id": "1"}, "returned dict")])
async def test_a_wrapper_that_does_not_return_the_reply_is_an_error_at_once(
    returned: object, message: str, server: str
) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY, max_retries=0)
    calls = 0

    async def create(**arguments: Any) -> object:
        nonlocal calls
        calls += 1
        return returned

    client.chat.completions.create = create  # type: ignore[method-assign,assignment]
    async with Agent(same, client=client, model="m", stages="tpr", gate="guards", instrumented=True) as agent:
        with pytest.raises(ConfigError, match=f"{message} and not the reply .* must return what the wrapped"):
            await agent.atranslate("Hello, world!", "en", "es")
    assert calls == 1
    await client.close()


async def test_a_wrapper_may_return_the_reply_as_a_dict(server: str) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY, max_retries=0)
    create = client.chat.completions.create

    async def as_dict(**arguments: Any) -> object:
        return (await create(**arguments)).to_dict()

    client.chat.completions.create = as_dict  # type: ignore[method-assign,assignment]
    async with Agent(same, client=client, model="m", stages="tpr", gate="guards", instrumented=True) as agent:
        chain = await agent.atranslate("Hello, world!", "en", "es")
    assert (chain.failed, chain.usage.calls > 0) == (None, True)
    await client.close()


@pytest.mark.parametrize("instrumented", [False, True])
async def test_a_client_that_is_closed_is_refused_when_it_is_passed_and_when_it_is_used(
    instrumented: bool, server: str
) -> None:
    client = openai.AsyncOpenAI(base_url=server, api_key=KEY, max_retries=0)
    async with Agent(same, client=client, model="m", stages="tpr", gate="guards", instrumented=instrumented) as agent:
        assert not (await agent.atranslate("Hello, world!", "en", "es")).failed
        await client.close()
        with pytest.raises(ConfigError, match="client: is closed, and can't be opened again"):
            await agent.atranslate("Hello again!", "en", "es")
    for settings in ({"client": client}, {"llms": {"judge": client}}):
        with pytest.raises(ConfigError, match="client: is closed"):
            Agent(same, model="m", **settings)  # type: ignore[arg-type]


async def test_an_address_that_ends_like_that_of_a_request_is_named() -> None:
    with scripted_server() as server:
        server.answer = lambda request: Answer("not here", status=404)
        llm = OpenAIClient("m", base_url=f"{server.url}/v1/chat/completions")
        with pytest.raises(ModelError, match="leave /chat/completions out of base_url"):
            await llm.complete(HELLO)
        await llm.aclose()


async def test_a_session_of_aiohttp_that_is_closed_or_of_another_event_loop_is_refused(server: str) -> None:
    session = aiohttp.ClientSession()
    settings: dict[str, Any] = {"base_url": server, "model": "m", "stages": "tpr", "gate": "guards"}
    async with Agent(same, http_client=session, **settings) as agent:
        assert not (await agent.atranslate("Hello, world!", "en", "es")).failed
        await session.close()
        with pytest.raises(ConfigError, match="http_client: is closed"):
            await agent.atranslate("Hello again!", "en", "es")
    session = aiohttp.ClientSession()
    agent = Agent(same, http_client=session, **settings)
    with pytest.raises(ConfigError, match="http_client: it was made in another event loop"):
        await asyncio.to_thread(agent.translate, "Hello, world!", "en", "es")
    agent.close()
    await session.close()


def agent_client() -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url="http://127.0.0.1:1/v1", api_key=KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"client": 5}, "client: 5 isn't an openai.AsyncOpenAI"),
        ({"client": openai.OpenAI(api_key=KEY)}, "client: OpenAI is synchronous"),
        ({"client": lambda: openai.AsyncOpenAI(api_key=1 / 0)}, "client: the function raised ZeroDivisionError"),
        ({"instrumented": "yes", "model": "m"}, "instrumented: expected True or False, not 'yes'"),
        ({"client": agent_client(), "api_key": "k"}, "api_key: the client that you pass"),
        ({"client": agent_client(), "headers": {"A": "b"}}, "headers: the client that you pass"),
        ({"client": agent_client(), "base_url": "http://h/v1"}, "base_url: the client that you pass"),
        (
            {"client": agent_client(), "llm": "local:/m.gguf"},
            "llm: the client that you pass .* would be called instead",
        ),
        ({"client": agent_client(), "stages": "t", "gate": "guards"}, "client: this agent uses no model"),
        ({"llms": {"judge": agent_client()}, "judge": {"base_url": "http://h/v1"}}, "judge: the client that you pass"),
        ({"instrumented": True, "stages": "t"}, "instrumented: this agent uses no model"),
        ({"headers": {"A": "é"}, "model": "m"}, "ASCII"),
    ],
)
def test_a_client_and_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Agent(same, **settings)


# --- the oldest allowed version


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not OLDEST.is_dir(), reason=f"needs the oldest openai package in {OLDEST.name}: make test-extras")
def test_the_same_with_the_oldest_version_of_the_package() -> None:
    """These tests again, in a process that finds the oldest version first."""
    environment = os.environ | {"PYTHONPATH": str(OLDEST)}
    version = subprocess.check_output(
        [sys.executable, "-c", "import openai; print(openai.__version__)"], env=environment, text=True
    )
    assert version.strip() == "2.0.0"
    # That version leaves connections open at its end, which is not ours to mend.
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not extra", "-p", "no:cacheprovider"]
    command += ["-p", "no:unraisableexception", str(Path(__file__))]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("way", ["default", "instrumented"])
async def test_limits_that_a_reply_states_are_obeyed(way: str) -> None:
    settings = Settings(requests_per_window=2, window=30, rate_headers=True)
    clock = FakeClock()
    async with Simulator(settings) as server:
        make, arguments = plain(server)
        async with model(way, make, arguments, limiter=Limiter(clock=clock)) as llm:
            for _ in range(2):
                await llm.complete(HELLO)
            with pytest.raises(ModelError):
                await llm.complete(HELLO)
    assert clock.slept[0] == pytest.approx(30, abs=1), "nothing was sent into the full window"
