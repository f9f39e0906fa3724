"""Limits of a run's models, and several servers for one of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mtagent import Agent, Chain
from mtagent.config import Config, endpoint_parts, load
from mtagent.errors import ConfigError
from mtagent.jobs.parts import OwnParts, checked_plan
from mtagent.records import Segment
from tests.commands import Shell
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.chain import improving

pytestmark = pytest.mark.loopback
SEGMENT = Segment(id="1", source="A cat.", source_lang="en", target_lang="es")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


async def test_rates_hold_for_each_model_at_a_server() -> None:
    async with Simulator(Settings(behaviour=improving)) as server:
        began = time.monotonic()
        agent = Agent(
            base_url=server.base_url,
            model="a",
            proofread={"model": "b"},
            stages="tpr",
            gate="none",
            requests_per_minute=1,
        )
        [chain] = [chain async for chain in agent.astream([SEGMENT])]
    assert not chain.failed
    assert [body["model"] for body in server.requests] == ["a", "b"]
    assert time.monotonic() - began < 30, "each model got its request of this minute"


# --- several servers for one model


async def translated(**settings: Any) -> Chain:
    agent = Agent(model="m", stages="t", gate="none", **settings)
    [chain] = [chain async for chain in agent.astream([SEGMENT])]
    return chain


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://a/v1", ("http://a/v1", None)),
        ("http://a/v1=KEY", ("http://a/v1", "KEY")),
        ("http://a/v1?v=2", ("http://a/v1?v=2", None)),
        ("http://a/v1?v=2&w=3", ("http://a/v1?v=2&w=3", None)),
        ("http://a/v1?v=2&w=3=KEY", ("http://a/v1?v=2&w=3", "KEY")),
    ],
)
def test_an_endpoint_is_an_address_and_perhaps_the_variable_of_its_key(
    text: str, parts: tuple[str, str | None]
) -> None:
    assert endpoint_parts(text) == parts
    assert load(None, {"endpoint": text}).endpoint == (text,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a/v1", "is not an address"),
        ("http://a/v1=sk-abcdefghijklmnop1234", "environment"),
        ("http://a/v1=my key", "name of an environment variable"),
        ("=KEY", "is not an address"),
        ("", "is empty"),
    ],
)
def test_a_wrong_endpoint_is_refused_and_no_key_is_shown(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        load(None, {"endpoint": [text]})
    assert "endpoint" in str(refused.value)
    assert "sk-a" not in str(refused.value)


def test_an_endpoint_needs_a_first_server() -> None:
    with pytest.raises(ConfigError, match="endpoint: adds a server to base_url"):
        checked_plan(load(None, {"endpoint": "http://a/v1"}), OwnParts())


def test_an_address_of_its_own_has_no_endpoints_of_another_one() -> None:
    config = Config(base_url="http://a/v1", endpoint=("http://b/v1",), judge={"base_url": "http://c/v1"})
    assert config.model_for("translate").endpoint == ("http://b/v1",)
    assert config.model_for("judge").endpoint is None


async def test_each_server_gets_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECOND_KEY", "k2")
    async with (
        Simulator(Settings(script=[Fault("status", 401)] * 9)) as first,
        Simulator(Settings(behaviour=improving, api_key="k2")) as second,
    ):
        endpoint = f"{second.base_url}=SECOND_KEY"
        for api_key in ({}, {"api_key": "k-from-python"}):
            chain = await translated(base_url=first.base_url, endpoint=endpoint, **api_key)
            assert not chain.failed
        keys = [headers["authorization"] for _, headers in first.arrived]
    assert keys == ["Bearer k", "Bearer k-from-python"]


async def test_a_key_whose_money_is_spent_is_replaced_by_another_one_for_the_same_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECOND_KEY", "k2")
    async with Simulator(Settings(behaviour=improving, api_key="k2")) as server:
        chain = await translated(base_url=server.base_url, endpoint=[f"{server.base_url}=SECOND_KEY"])
    assert not chain.failed


async def test_a_server_that_fails_is_warned_of_once_in_all_parts_of_an_agent(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        Simulator(Settings(behaviour=lambda body: Fault("status", 401))) as refusing,
        Simulator(Settings(behaviour=improving)) as second,
    ):
        settings: dict[str, Any] = {"base_url": refusing.base_url, "endpoint": second.base_url}
        async with Agent(model="m", stages="pr", gate="pairwise", judge={"temperature": 0.5}, **settings) as agent:
            await agent.apostedit("A cat.", "Un gato acertado.", "en", "es")
    assert len(refusing.requests) > 1, "the judge has other settings than the proofreader"
    assert caplog.text.count(f"{refusing.base_url}: HTTP 401") == 1


def test_a_stopped_run_goes_on_at_another_server_with_the_stored_replies(shell: Shell) -> None:
    from bench.harness import simulator

    behaviour = ("--behaviour", "tests.simulator.chain:improving")
    with simulator(*behaviour, "--script", "429:3600") as first, simulator(*behaviour) as second:
        line = f"translate -s en.txt -l en-es -o out.txt --name r --model m --base-url {first}"
        assert shell(line).code == 5
        done = shell(f"{line} --endpoint {second}")
        assert done.code == 0, done.err
        assert shell(line).code == 0, "the settings of the run are the same"


def test_batches_go_to_one_server(shell: Shell) -> None:
    line = "translate -s en.txt -l en-es -o out.txt --model m --base-url http://localhost:9/v1 --batch write run"
    done = shell(f"{line} --endpoint http://localhost:8/v1")
    assert (done.code, "a batch goes to one server" in done.err) == (1, True)


def test_a_base_url_on_the_command_line_replaces_the_endpoints_of_the_file(shell: Shell) -> None:
    shell.write("mtagent.toml", "base_url = 'http://a/v1'", "endpoint = ['http://b/v1', 'http://c/v1=KEY']")
    path = shell.folder / "mtagent.toml"
    assert load(path).endpoint == ("http://b/v1", "http://c/v1=KEY")
    assert load(path, {"base_url": "http://d/v1"}).endpoint is None


def test_endpoints_of_a_found_file_need_trust(shell: Shell) -> None:
    shell.write("mtagent.toml", "endpoint = 'http://b/v1=OTHER_SECRET'")
    done = shell("runs list")
    assert done.code == 1
    assert 'endpoint = "http://b/v1=OTHER_SECRET": texts are sent to these addresses, with the key or' in done.err


async def test_an_endpoint_that_does_not_answer_in_time_hands_the_request_to_another_one() -> None:
    async with (
        Simulator(Settings(behaviour=lambda body: Fault("hang"))) as silent,
        Simulator(Settings(behaviour=improving)) as second,
    ):
        began = time.monotonic()
        chain = await translated(base_url=silent.base_url, endpoint=second.base_url, timeout=1)
        assert time.monotonic() - began < 30, "it isn't tried until the deadline of 15 minutes"
    assert not chain.failed
    assert (len(silent.arrived), len(second.requests)) == (1, 1)
    [call] = chain.steps[0].calls
    assert call.retries == ("timeout",)


async def test_resources_of_azure_get_their_own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-1")
    monkeypatch.setenv("SECOND_KEY", "key-2")
    monkeypatch.setenv("THIRD_KEY", "key-3")
    async with (
        Simulator(Settings(behaviour=lambda body: Fault("status", 401))) as first,
        Simulator(Settings(behaviour=lambda body: Fault("status", 401))) as second,
        Simulator(Settings(behaviour=improving)) as third,
    ):
        servers = {"key-1": first, "key-2": second, "key-3": third}
        roots = [server.base_url.removesuffix("/v1") for server in servers.values()]
        endpoints = [f"{roots[1]}=SECOND_KEY", f"{roots[2]}=THIRD_KEY"]
        chain = await translated(azure_endpoint=roots[0], api_version="2024-10-21", endpoint=endpoints)
        assert not chain.failed
        for key, server in servers.items():
            [(path, headers)] = server.arrived
            assert path == "/openai/deployments/m/chat/completions?api-version=2024-10-21"
            assert headers["api-key"] == key
            assert "authorization" not in headers


async def judged(**settings: Any) -> Chain:
    agent = Agent(model="m", stages="tp", evaluator="rubric-mqm", gate="rate", **settings)
    [chain] = [chain async for chain in agent.astream([SEGMENT])]
    assert not chain.failed
    return chain


@pytest.mark.parametrize("api_key", [None, "k-from-python"])
async def test_a_judge_has_servers_and_keys_of_its_own(monkeypatch: pytest.MonkeyPatch, api_key: str | None) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k-judge")
    monkeypatch.setenv("SECOND_JUDGE_KEY", "k-judge-2")
    async with (
        Simulator(Settings(behaviour=improving)) as general,
        Simulator(Settings(behaviour=lambda body: Fault("status", 503))) as judge,
        Simulator(Settings(behaviour=improving)) as second_judge,
    ):
        own = {
            "base_url": judge.base_url,
            "api_key_env": "JUDGE_KEY",
            "endpoint": [f"{second_judge.base_url}=SECOND_JUDGE_KEY"],
        }
        await judged(base_url=general.base_url, api_key=api_key, judge=own)
        sent = [
            {headers["authorization"] for _, headers in server.arrived} for server in (general, judge, second_judge)
        ]
    assert sent == [{f"Bearer {api_key or 'k'}"}, {"Bearer k-judge"}, {"Bearer k-judge-2"}]
