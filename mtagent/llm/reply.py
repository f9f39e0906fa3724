"""A chat completion, read from the server's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mtagent.errors import EmptyReply, ModelError, Refused, ServerError, Truncated
from mtagent.llm.failure import Failure, clean, words_of
from mtagent.llm.plain import says_nothing, whole_characters
from mtagent.llm.tools import read_tool_calls
from mtagent.records import TokenLogprob, ToolCall, Usage

MOST_TOKENS = 10**9
"""More tokens than this no request reads or writes: a larger number is no count."""
LONGEST_NAME = 200


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


def read_reply(payload: object, model: str, *, tools: bool = False, asked: Iterable[str] = ()) -> Reply | Failure:
    """Read a reply body; one without choices is a failure that may pass.

    A reply that says nothing is a problem. Tool calls count only where ``tools`` were offered. ``asked`` are the texts
    of the request (see :func:`mtagent.llm.plain.says_nothing`). What belongs to a reply besides its text (names, usage,
    log-probabilities) does no harm where it is odd: it is cleaned or left out.
    """
    try:
        choice = payload["choices"][0]  # type: ignore[index]
        message = choice["message"]
        refusal = message.get("refusal")
        text = whole_characters(_text(message.get("content")))
        tool_calls = read_tool_calls(message) if tools else ()
        finish_reason = _name(choice.get("finish_reason"), "stop")
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return broken_body(payload)
    assert isinstance(payload, Mapping)
    usage = payload.get("usage")
    problem: type[ModelError] | None = None
    detail = ""
    if refusal or finish_reason == "content_filter":
        problem, detail = Refused, clean(words_of(refusal or ""), "")
    elif finish_reason == "length":
        problem = Truncated
    elif not tool_calls and says_nothing(text, asked):
        called = "it calls a tool although none was offered" if message.get("tool_calls") else ""
        problem, detail = EmptyReply, clean(f"it holds only {text.strip()!r}", "") if text.strip() else called
    return Reply(
        text,
        _name(payload.get("model"), model),
        finish_reason,
        read_usage(usage) if isinstance(usage, Mapping) else None,
        _logprobs(choice.get("logprobs")),
        problem,
        detail,
        tool_calls,
    )


def broken_body(payload: object) -> Failure:
    """A 200 that holds no reply: cut off, HTML, an error object, or no choices."""
    error = payload.get("error") if isinstance(payload, Mapping) else None
    detail = f"an error in place of a reply: {words_of(error)}" if error else "a reply without choices"
    return Failure(ServerError, clean(detail, ""), 200, transient=True)


def _name(value: object, default: str) -> str:
    """A name that the server gives; ``default`` where it gives none, or something that is no name."""
    return whole_characters(value[:LONGEST_NAME]) if isinstance(value, str) and value else default


def _text(content: object) -> str:
    """The content, whether it is a text, a list of parts, or absent."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    raise TypeError("content is neither text nor parts")


def _logprobs(logprobs: object) -> tuple[TokenLogprob, ...] | None:
    """All of them, or ``None`` where any is missing or no number: half of them would give a wrong sum."""
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not tokens or not isinstance(tokens, list):
        return None
    read: list[TokenLogprob] = []
    for token in tokens:
        text, logprob = (token.get("token"), token.get("logprob")) if isinstance(token, Mapping) else (None, None)
        if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return None
        if not abs(logprob) <= MOST_TOKENS:  # not a number, infinite, or too large for a float
            return None
        read.append(TokenLogprob.model_construct(token=whole_characters(text), logprob=float(logprob)))
    return tuple(read)


def read_usage(usage: Mapping[str, Any]) -> Usage | None:
    """The ``usage`` object as a record of one call; the cost is left unknown. ``None`` where it cannot be counted on.

    That takes a number of prompt tokens (no request has 0), and one of completion tokens, which may also follow from
    the total where it is absent. Some servers count reasoning in the total only: whatever the total holds beyond the
    prompt was put out. Text, fractions, negative and impossible numbers are no counts; 12.0 is one.
    """
    prompt, output, total = (_count(usage, f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if output is None and usage.get("completion_tokens") is None and prompt is not None and total is not None:
        output = total - prompt
    if not prompt or output is None or output < 0:
        return None
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens")
    return Usage.model_construct(
        calls=1,
        reused=0,
        input_tokens=prompt,
        cached_tokens=min(cached or 0, prompt),
        output_tokens=max(output, (total or 0) - prompt),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0,
        cost=None,
    )


def _count(where: object, name: str) -> int | None:
    """The count of this name, if it is one."""
    value = where.get(name) if isinstance(where, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if counts else None
