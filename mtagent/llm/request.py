"""What is sent to a model, and a hash that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from mtagent.llm.sampling import Sampling
from mtagent.records import Message, Schema

Body = dict[str, Any]
OPENAI = "https://api.openai.com/v1"
KEY_TAG = "request-1"
MORE_ROOM = 4096
ROOM = ("max_completion_tokens", "max_tokens")


def request_body(
    model: str, parameters: Body, messages: Sequence[Message], schema: Schema | None, logprobs: bool
) -> Body:
    """The body of a chat completion request."""
    body: Body = {"model": model, "messages": [{"role": m.role, "content": m.content} for m in messages], **parameters}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        }
    if logprobs:
        body["logprobs"] = True
    return body


def request_key(
    model: str,
    base_url: str | None,
    sampling: Sampling,
    messages: Sequence[Message],
    schema: Schema | None,
    logprobs: bool,
) -> str:
    """A name for the request: equal for equal requests, different as soon as anything that is sent differs."""
    return key_of(request_body(model, sampling.parameters(), messages, schema, logprobs), base_url)


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
    return sum(len(message["content"]) for message in body["messages"]) // 4 + room
