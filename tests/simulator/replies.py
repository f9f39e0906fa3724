"""Reply bodies in the shape of OpenAI's chat completions."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from tests.simulator.settings import Body

NONSENSE = "The translation is excellent!"
CACHE_MINIMUM, CACHE_STEP, CHARS_PER_TOKEN = 1024, 128, 4


def tokens(text: str) -> int:
    """A simple token count: one token for every four characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def prompt_text(body: Body) -> str:
    """All messages as one text, in order."""
    return "".join(f"<{m['role']}>{said(m)}" for m in body["messages"])


def said(message: Body) -> str:
    """Text and tool calls of a message as one text, for counting tokens."""
    calls = message.get("tool_calls")
    return f"{message['content'] or ''}{json.dumps(calls) if calls else ''}"


def calling(*calls: tuple[str, Body | str], content: str | None = None) -> Body:
    """A message that calls tools: pairs of name and arguments, which may be text that is no JSON."""
    functions = [
        {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)}
        for name, given in calls
    ]
    return {"content": content, "tool_calls": [{"type": "function", "function": function} for function in functions]}


class PrefixCache:
    """Says how many leading tokens of a prompt the server has seen before: at least 1,024, in steps of 128."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def cached(self, prompt: str) -> int:
        """Tokens of ``prompt`` that are read from the cache; remembers ``prompt``."""
        step = CACHE_STEP * CHARS_PER_TOKEN
        digest, common, known = hashlib.blake2b(digest_size=16), 0, True
        for end in range(step, len(prompt) + 1, step):
            digest.update(prompt[end - step : end].encode())
            known = known and digest.digest() in self._seen
            common += CACHE_STEP if known else 0
            self._seen.add(digest.digest())
        return common if common >= CACHE_MINIMUM else 0


def usage(prompt: str, reply: str, cached: int, reasoning: int) -> dict[str, Any]:
    """The ``usage`` object; completion tokens include the reasoning tokens."""
    prompt_tokens, completion_tokens = tokens(prompt), tokens(reply) + reasoning
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }


def logprobs(text: str) -> dict[str, Any]:
    """Log-probabilities, one token for every four characters."""
    pieces = [text[i : i + CHARS_PER_TOKEN] for i in range(0, len(text), CHARS_PER_TOKEN)]
    return {"content": [{"token": p, "logprob": -0.25, "bytes": list(p.encode()), "top_logprobs": []} for p in pieces]}


def completion(
    body: Body, number: int, text: str | Body | None, *, finish: str = "stop", refusal: str | None = None
) -> Body:
    """A whole reply body without usage; a message in the place of the text may hold tool calls."""
    message = _identified(text, number) if isinstance(text, dict) else {"content": text}
    text = message["content"]
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "refusal": refusal, "annotations": [], **message},
        "logprobs": logprobs(text or "") if body.get("logprobs") else None,
        "finish_reason": finish,
    }
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [choice],
        "system_fingerprint": "fp_simulator",
    }


def broken_call(body: Body) -> Body | str:
    """A call of the first tool that was offered, cut off in its arguments."""
    tools = body.get("tools")
    return calling((tools[0]["function"]["name"], '{"instruction": "Look at')) if tools else NONSENSE


def _identified(message: Body, number: int) -> Body:
    """``message`` with an id for each tool call that no other one has."""
    calls = [{"id": f"call_{number}_{place}", **call} for place, call in enumerate(message["tool_calls"])]
    return {**message, "tool_calls": calls}


def default_behaviour(body: Body) -> str:
    """The last message said back; where a JSON Schema is asked for, the emptiest value that fits it."""
    format_ = body.get("response_format") or {}
    if format_.get("type") == "json_schema":
        return json.dumps(emptiest(format_["json_schema"]["schema"]))
    return "{}" if format_.get("type") == "json_object" else str(body["messages"][-1]["content"])


def emptiest(schema: dict[str, Any]) -> Any:
    """The smallest value that a simple JSON Schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return None if "null" in kind else emptiest({**schema, "type": kind[0]})
    if kind == "object":
        return {name: emptiest(part) for name, part in schema.get("properties", {}).items()}
    return {"array": [], "string": "", "boolean": False, "null": None}.get(kind, schema.get("minimum", 0))
