"""Reply bodies in the shape of OpenAI's chat completions."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.simulator.settings import Body

NONSENSE = "The translation is excellent!"
CACHE_MINIMUM, CACHE_STEP, CHARS_PER_TOKEN = 1024, 128, 4


def tokens(text: str) -> int:
    """A simple token count: one token for every four characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def in_o200k(text: str) -> str:
    """One character for each token of ``text`` in OpenAI's vocabulary."""
    return "".join(map(chr, _o200k().encode(text)))


@cache
def _o200k() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its data in an old way
        from bpe_openai import get_encoding
    return get_encoding("o200k_base")


def plain(body: Body) -> Body:
    """``body`` with each message's parts as one text."""
    messages = []
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message = {**message, "content": "".join(part["text"] for part in message["content"])}
        messages.append(message)
    return {**body, "messages": messages}


def prompt_text(body: Body) -> str:
    """All messages of a plain body as one text, in order."""
    return "".join(f"<{m['role']}>{said(m)}" for m in body["messages"])


def tools_and_schema(body: Body) -> str:
    """What OpenAI puts before the messages."""
    parts = (body.get("tools"), (body.get("response_format") or {}).get("json_schema"))
    return "".join(json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in parts if part)


def marked_prompts(body: Body) -> list[str]:
    """The beginnings of the prompt that a mark ends, or that end with the last message if no mode is set."""
    messages = plain(body)["messages"]
    beginnings = []
    for end, message in enumerate(body["messages"], 1):
        is_marked = isinstance(message["content"], list) and "prompt_cache_breakpoint" in message["content"][-1]
        is_implicit = end == len(messages) and "prompt_cache_options" not in body
        if is_marked or is_implicit:
            beginnings.append(tools_and_schema(body) + prompt_text({"messages": messages[:end]}))
    return beginnings


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

    def __init__(self, chars_per_token: int = CHARS_PER_TOKEN) -> None:
        self._chars_per_token = chars_per_token
        self._seen: set[bytes] = set()

    def cached(self, prompt: str) -> int:
        """Tokens of ``prompt`` that are read from the cache; remembers ``prompt``."""
        step = CACHE_STEP * self._chars_per_token
        digest, common, known = hashlib.blake2b(digest_size=16), 0, True
        for end in range(step, len(prompt) + 1, step):
            digest.update(prompt[end - step : end].encode(errors="surrogatepass"))
            known = known and digest.digest() in self._seen
            common += CACHE_STEP if known else 0
            self._seen.add(digest.digest())
        return common if common >= CACHE_MINIMUM else 0


class MarkCache:
    """The same as since GPT-5.6: a prompt is read from the cache up to a mark, and written up to its last mark."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def cached(self, beginnings: Sequence[str]) -> tuple[int, int]:
        """Tokens that are read, and tokens that are written. Each of the ``beginnings`` has a character a token."""
        long_enough = [beginning for beginning in beginnings if len(beginning) >= CACHE_MINIMUM]
        longest = max(map(len, long_enough), default=0)
        read = max((len(beginning) for beginning in long_enough if beginning in self._seen), default=0)
        self._seen.update(long_enough)
        return read, longest - read


def usage(prompt_tokens: int, reply_tokens: int, cached: int, reasoning: int, written: int = 0) -> dict[str, Any]:
    """The ``usage`` object; completion tokens include the reasoning tokens."""
    completion_tokens = reply_tokens + reasoning
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written, "audio_tokens": 0},
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
