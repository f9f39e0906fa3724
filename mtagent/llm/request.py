"""What is sent to a model, and a hash that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from mtagent.llm.sampling import Sampling
from mtagent.llm.tools import sent_message, sent_tool
from mtagent.protocols import Asked
from mtagent.records import Message, Schema, Tool

Body = dict[str, Any]
OPENAI = "https://api.openai.com/v1"
KEY_TAG = "request-1"
MORE_ROOM = 4096
ROOM = ("max_completion_tokens", "max_tokens")


class Form(NamedTuple):
    """What is sent of a request besides its messages."""

    schema: Schema | None
    logprobs: bool
    tools: tuple[Tool, ...]

    @classmethod
    def of(cls, asked: Asked) -> Form:
        """The form of what :meth:`mtagent.protocols.LLM.complete` was given."""
        return cls(asked.get("schema"), asked.get("logprobs", False), tuple(asked.get("tools", ())))


def request_body(
    model: str,
    parameters: Body,
    messages: Sequence[Message],
    schema: Schema | None,
    logprobs: bool,
    tools: Sequence[Tool] = (),
) -> Body:
    """The body of a chat completion request."""
    body: Body = {"model": model, "messages": [sent_message(message) for message in messages], **parameters}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        }
    if logprobs:
        body["logprobs"] = True
    if tools:
        body["tools"] = [sent_tool(tool) for tool in tools]
    return body


def request_key(
    model: str,
    base_url: str | None,
    sampling: Sampling,
    messages: Sequence[Message],
    schema: Schema | None,
    logprobs: bool,
    tools: Sequence[Tool] = (),
) -> str:
    """A name for the request: equal for equal requests, different as soon as anything that is sent differs."""
    return key_of(request_body(model, sampling.parameters(), messages, schema, logprobs, tools), base_url)


def key_of(body: Body, base_url: str | None) -> str:
    """The tagged SHA-256 of a request body and the server it goes to, over canonical JSON."""
    server = (base_url or OPENAI).rstrip("/")
    canonical = json.dumps([server, body], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"{KEY_TAG}:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


def with_more_room(body: Body, put_out: int) -> Body:
    """``body`` with twice the room for the reply, at least 4,096 tokens where nothing was set."""
    name = next((name for name in ROOM if name in body), None)
    if name is None:
        return {**body, "max_tokens": max(MORE_ROOM, 2 * put_out)}
    return {**body, name: 2 * body[name]}


def estimated_tokens(body: Body) -> int:
    """Tokens that a request may take: a quarter of its characters, and the room for the reply."""
    room = next((int(body[name]) for name in ROOM if name in body), 0)
    offered = len(json.dumps(body["tools"], ensure_ascii=False)) if "tools" in body else 0
    return (sum(map(_characters, body["messages"])) + offered) // 4 + room


def _characters(message: Body) -> int:
    calls = message.get("tool_calls")
    return len(message["content"] or "") + (len(json.dumps(calls, ensure_ascii=False)) if calls else 0)
