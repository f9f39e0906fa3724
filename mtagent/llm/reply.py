"""A chat completion, read from the server's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mtagent.errors import EmptyReply, ModelError, Refused, ServerError, Truncated
from mtagent.llm.failure import Failure, clean
from mtagent.llm.plain import whole_characters
from mtagent.llm.tools import read_tool_calls
from mtagent.records import TokenLogprob, ToolCall, Usage


class Reply(NamedTuple):
    """One reply. ``usage`` is ``None`` where the server reported none; its cost is not yet known.

    ``problem`` is the error that this reply amounts to, ``None`` for a usable one.
    """

    text: str
    model: str
    finish_reason: str
    usage: Usage | None
    logprobs: tuple[TokenLogprob, ...] | None
    problem: type[ModelError] | None
    detail: str
    tool_calls: tuple[ToolCall, ...] = ()


def read_reply(payload: object, model: str) -> Reply | Failure:
    """Read a reply body; one without choices is a failure that may pass."""
    try:
        choice = payload["choices"][0]  # type: ignore[index]
        message = choice["message"]
        refusal = message.get("refusal")
        text = whole_characters(_text(message.get("content")))
        tool_calls = read_tool_calls(message)
        finish_reason = str(choice.get("finish_reason") or "stop")
    except (KeyError, IndexError, TypeError, AttributeError):
        return broken_body(payload)
    assert isinstance(payload, Mapping)
    usage, logprobs = payload.get("usage"), choice.get("logprobs")
    return Reply(
        text,
        str(payload.get("model") or model),
        finish_reason,
        read_usage(usage) if isinstance(usage, Mapping) else None,
        _logprobs(logprobs) if logprobs else None,
        _problem(bool(text.strip() or tool_calls), finish_reason, refusal),
        clean(str(refusal or ""), ""),
        tool_calls,
    )


def broken_body(payload: object) -> Failure:
    """A 200 that holds no reply: cut off, HTML, an error object, or no choices."""
    error = payload.get("error") if isinstance(payload, Mapping) else None
    detail = f"an error in place of a reply: {error}" if error else "a reply without choices"
    return Failure(ServerError, clean(detail, ""), 200, transient=True)


def _problem(says_something: bool, finish_reason: str, refusal: object) -> type[ModelError] | None:
    if refusal or finish_reason == "content_filter":
        return Refused
    if finish_reason == "length":
        return Truncated
    return None if says_something else EmptyReply


def _text(content: object) -> str:
    """The content, whether it is a text, a list of parts, or absent."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    raise TypeError("content is neither text nor parts")


def _logprobs(logprobs: Mapping[str, Any]) -> tuple[TokenLogprob, ...] | None:
    tokens = logprobs.get("content")
    if not tokens:
        return None
    return tuple(TokenLogprob.model_construct(token=t["token"], logprob=float(t["logprob"])) for t in tokens)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The ``usage`` object as a record of one call; the cost is left unknown.

    Some servers count reasoning in the total only: whatever the total holds beyond the prompt was put out.
    """
    prompt, output = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens")
    return Usage.model_construct(
        calls=1,
        reused=0,
        input_tokens=prompt,
        cached_tokens=min(cached, prompt),
        output_tokens=max(output, _count(usage, "total_tokens") - prompt),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cost=None,
    )


def _count(where: object, name: str) -> int:
    value = where.get(name) if isinstance(where, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
