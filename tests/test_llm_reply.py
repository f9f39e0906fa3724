"""Replies and errors in the shapes that different servers use."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    EmptyReply,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
    Truncated,
)
from mtagent.llm.reply import (
    Reply,
    RequestFailure,
    is_plausible,
    read_reply,
    read_usage,
    retry_after,
    stated_limits,
    status_failure,
)
from mtagent.llm.request import refused_parameter, sent_message
from mtagent.records import Message, TokenLogprob, ToolCall, Usage

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
SEARCH = ToolCall(id="call_1", name="search", arguments='{"query": "a"}')


def usable(payload: object, *, tools: bool = False) -> Reply:
    reply = read_reply(payload, "m", tools=tools)
    assert isinstance(reply, Reply)
    return reply


def body(content: Any, finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish_reason}]}


def wish(name: Any = "search", arguments: Any = '{"query": "a"}', **more: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


# --- texts and tool calls


@pytest.mark.parametrize(
    ("payload", "text", "problem"),
    [
        (body("Hi"), "Hi", None),
        (body("Hi", None), "Hi", None),
        (body([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]), "Hi", None),
        (body("Hi \ud83d"), "Hi \ufffd", None),
        (body("Hi", tool_calls=5), "Hi", None),
        (body(" \n"), " \n", EmptyReply),
        (body(None), "", EmptyReply),
        (body(None, "length"), "", Truncated),
        (body("<think>Hm", "length"), "<think>Hm", Truncated),
        (body("Hi", "content_filter"), "Hi", Refused),
        (body(None, refusal="No."), "", Refused),
    ],
    ids=str,
)
def test_reads_replies(payload: dict[str, Any], text: str, problem: type[Exception] | None) -> None:
    reply = usable(payload)
    assert (reply.text, reply.problem, reply.model, reply.usage, reply.tool_calls) == (text, problem, "m", None, ())


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [wish()]},
        {"tool_calls": [wish(arguments={"query": "a"})]},
        {"tool_calls": [{"id": "call_1", "name": "search", "arguments": {"query": "a"}}]},
        {"tool_calls": [wish()], "function_call": None, "refusal": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("finish_reason", ["tool_calls", "stop", None])
def test_reads_tool_calls_and_takes_no_offence_at_the_missing_text(message: Any, finish_reason: str | None) -> None:
    reply = usable(body(None, finish_reason, **message), tools=True)
    assert (reply.text, reply.problem, reply.tool_calls) == ("", None, (SEARCH,))


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [wish(id=None)]},
        {"tool_calls": [wish(id="")]},
        {"function_call": {"name": "search", "arguments": '{"query": "a"}'}},
        {"function_call": {"name": "search", "arguments": '{"query": "a"}'}, "tool_calls": []},
    ],
    ids=str,
)
def test_a_missing_id_is_made_up_and_always_the_same(message: Any) -> None:
    first, again = [usable(body(None, **message), tools=True) for _ in range(2)]
    assert first == again
    [call] = first.tool_calls
    assert (call.name, call.arguments, len(call.id)) == ("search", '{"query": "a"}', 9)
    several = usable(body(None, tool_calls=[wish(), wish(), wish(id=None), wish(id=None)]), tools=True).tool_calls
    assert (len({call.id for call in several}), several[0].id) == (4, "call_1")


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ("{}", "{}"),
        ("", "{}"),
        (" ", "{}"),
        (None, "{}"),
        ({}, "{}"),
        ({"q": "é"}, '{"q": "é"}'),
        ('{"q": "broken', '{"q": "broken'),
        ('{"q": "\ud83d"}', '{"q": "\ufffd"}'),
        ({"q": "\ud83d"}, '{"q": "\ufffd"}'),
    ],
    ids=str,
)
def test_arguments_are_kept_as_the_model_wrote_them(arguments: Any, read: str) -> None:
    reply = usable(body("Let me see.", tool_calls=[wish(arguments=arguments)]), tools=True)
    assert (reply.text, reply.tool_calls[0].arguments) == ("Let me see.", read)


def test_a_tool_call_without_a_name_is_passed_on_for_the_caller_to_answer() -> None:
    reply = usable(body(None, tool_calls=[wish(name=None)]), tools=True)
    assert [call.name for call in reply.tool_calls] == [""]


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (body(None, "length", tool_calls=[wish(arguments='{"que')]), Truncated),
        (body(None, "content_filter", tool_calls=[wish()]), Refused),
        (body(None, "stop", refusal="No.", tool_calls=[wish()]), Refused),
        (body(None, "tool_calls"), EmptyReply),
        (body("", "tool_calls", tool_calls=[], function_call={}), EmptyReply),
        (body(" ", "stop", tool_calls=None), EmptyReply),
    ],
    ids=str,
)
def test_tool_calls_hide_no_problem(payload: Any, problem: type[Exception]) -> None:
    assert usable(payload, tools=True).problem is problem


@pytest.mark.parametrize("content", [None, "", "\u200b", "<think>Hm.</think>", "<think>Hm.", "```\n```"])
def test_a_reply_that_says_nothing_is_empty_unless_it_calls_a_tool_that_was_offered(content: str | None) -> None:
    payload = body(content, "tool_calls", tool_calls=[wish()])
    reply, offered = usable(payload), usable(payload, tools=True)
    assert (reply.problem, reply.tool_calls) == (EmptyReply, ())
    assert (offered.problem, offered.tool_calls) == (None, (SEARCH,))


@pytest.mark.parametrize(
    "payload",
    ["<html>", None, [], {}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": ["x"]}, body(5)]
    + [body(None, tool_calls=calls) for calls in ("search", [None], ["search"], 5, {"a": 1})],
    ids=str,
)
def test_a_body_without_a_reply_may_pass(payload: object) -> None:
    failure = read_reply(payload, "m", tools=True)
    assert isinstance(failure, RequestFailure)
    assert (failure.kind, failure.transient) == (ServerError, True)


def test_an_error_object_with_status_200_is_shown() -> None:
    failure = read_reply({"error": {"message": "upstream is gone"}}, "m")
    assert isinstance(failure, RequestFailure)
    assert "upstream is gone" in failure.message


# --- usage


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 8}}, (10, 8, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 0, "prompt_cache_hit_tokens": 8}, (10, 8, 0, 0)),
        (
            {"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
            (1, 0, 9, 7),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 19}, (10, 0, 9, 0)),
        ({"prompt_tokens": 10, "total_tokens": 19}, (10, 0, 9, 0)),
        ({"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": "15"}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -1}}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": 7}, (10, 0, 5, 0)),
    ],
    ids=str,
)
def test_reads_usage_in_every_servers_shape(usage: dict[str, Any], counts: tuple[int, ...]) -> None:
    read = read_usage(usage)
    assert read is not None
    assert (read.input_tokens, read.cached_tokens, read.output_tokens, read.reasoning_tokens) == counts
    assert read.cost is None


@pytest.mark.parametrize(
    ("counts", "cached", "written"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 7}}, 0, 7),
        ({"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}, 4, 3),
        ({"prompt_tokens_details": {"cached_tokens": 4}, "cache_creation_input_tokens": 5}, 4, 5),
        ({"prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 8}}, 8, 2),  # more than was sent
        ({"prompt_tokens_details": {"cache_write_tokens": -1}, "cache_creation_input_tokens": "5"}, 0, 0),
        ({"prompt_tokens_details": {"cache_write_tokens": None}}, 0, 0),
    ],
    ids=str,
)
def test_reads_what_was_written_to_a_cache(counts: dict[str, Any], cached: int, written: int) -> None:
    read = read_usage({"prompt_tokens": 10, "completion_tokens": 5, **counts})
    assert read is not None
    assert (read.input_tokens, read.cached_tokens, read.cache_write_tokens) == (10, cached, written)


COUNTS: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
NO_COUNTS = ["5", 5.5, -5, math.nan, math.inf, True, 10**30, 10**10, 1e300, [5], {"a": 5}]


@pytest.mark.parametrize(
    "usage",
    [{}, {"total_tokens": 15}, {"completion_tokens": 5}, {"prompt_tokens": 10}]
    + [{"completion_tokens": 5, "total_tokens": 15}]
    + [dict.fromkeys(COUNTS, 0), dict.fromkeys(COUNTS), {"prompt_tokens": 10, "total_tokens": 9}]
    + [COUNTS | {name: value} for value in NO_COUNTS for name in ("prompt_tokens", "completion_tokens")],
    ids=str,
)
def test_usage_that_cannot_be_relied_on_is_not_known(usage: dict[str, Any]) -> None:
    reply = usable({**body("Hi"), "usage": usage})
    assert (reply.usage, reply.problem) == (None, None)


LONG = "Mark every error in this translation, and say what should take its place. " * 70


@pytest.mark.parametrize(
    ("tokens", "request_text", "reply", "plausible"),
    [
        ((1, 0), LONG, "Done.", False),
        ((1, 20), LONG, "Done.", False),
        ((1300, 0), LONG, "Done.", False),
        ((1300, 3), LONG, LONG, False),
        ((1300, 2), LONG, "Done.", True),
        ((len(LONG) // 20, 2), LONG, "Done.", True),
        ((1300, 0), LONG, "", True),
        ((1, 1), "Hi", "Yes", True),
        ((1, 1), "-=" * 40, "-=" * 40, True),
        ((1300, 1), LONG, LONG[:199], True),
        ((1300, 1), LONG, LONG[:200], False),
        ((1, 1), LONG[:199], "Yes", True),
        ((1, 1), LONG[:200], "Yes", False),
        ((30, 1), "Repeat: " + "=" * 5000 + " " * 5000, "Yes", True),
    ],
)
def test_no_token_stands_for_hundreds_of_characters(
    tokens: tuple[int, int], request_text: str, reply: str, plausible: bool
) -> None:
    usage = Usage(calls=1, input_tokens=tokens[0], output_tokens=tokens[1])
    assert is_plausible(usage, [request_text], reply) == plausible


# --- what is odd


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


VALUES = ["a\ud83d", math.inf, math.nan, 10**400, 7, True, [], ["x"], {"a": "\ud83d"}, nested(5000), "x" * 10**6]
odd_values = pytest.mark.parametrize("odd", VALUES, ids=lambda odd: type(odd).__name__)


@odd_values
@pytest.mark.parametrize("name", ["model", "usage", "id", "error", "object", "finish_reason", "logprobs", "index"])
def test_what_is_odd_beside_the_message_does_no_harm_to_a_text(name: str, odd: Any) -> None:
    payload = body("Hi")
    (payload["choices"][0] if name in ("finish_reason", "logprobs", "index") else payload)[name] = odd
    reply = usable(payload)
    assert (reply.text, reply.problem, reply.usage, reply.logprobs) == ("Hi", None, None, None)
    assert len(reply.model.encode()) <= 200
    assert len(reply.finish_reason.encode()) <= 200


@odd_values
@pytest.mark.parametrize("name", ["refusal", "tool_calls", "function_call"])
def test_what_is_odd_in_the_message_is_at_most_the_failure_of_that_reply(name: str, odd: Any) -> None:
    reply = read_reply(body("Hi", **{name: odd}), "m", tools=True)
    assert len((reply.message if isinstance(reply, RequestFailure) else reply.detail).encode()) <= 2000


@odd_values
def test_odd_tool_calls_are_cleaned_or_the_failure_of_that_reply(odd: Any) -> None:
    for call in (wish(name=odd), wish(arguments=odd), wish(id=odd), wish(arguments={"a": odd})):
        reply = read_reply(body(None, tool_calls=[call]), "m", tools=True)
        assert isinstance(reply, Reply) or reply.transient
        if isinstance(reply, Reply):
            reply.tool_calls[0].model_dump_json().encode()
            sent_message(Message(role="assistant", content="", tool_calls=reply.tool_calls))


@odd_values
def test_log_probabilities_that_are_none_are_left_out(odd: Any) -> None:
    good = {"token": "H", "logprob": -0.5}
    payload = body("Hi")
    for content in (odd, [odd], [good, {"token": odd}], [good, {"token": "i", "logprob": odd}]):
        if content != [good, {"token": "i", "logprob": 7}]:  # which is one
            payload["choices"][0]["logprobs"] = {"content": content}
            assert (usable(payload).text, usable(payload).logprobs) == ("Hi", None)
    payload["choices"][0]["logprobs"] = {"content": [{"token": "H\ud83d", "logprob": -0.5}]}
    assert usable(payload).logprobs == (TokenLogprob(token="H\ufffd", logprob=-0.5),)


@odd_values
def test_an_odd_error_body_has_words_that_can_be_stored(odd: Any) -> None:
    for error in ({"message": odd}, {"message": "why", "code": odd, "param": odd}, odd, {"detail": odd}):
        for outer in (error, {"error": error}):
            failure = status_failure(400, {}, outer, now=NOW)
            assert f"{failure.message}{failure.code}{failure.param}".encode()
            refused_parameter(failure, {"messages": [], "seed": 1})


# --- errors


@pytest.mark.parametrize(("status", "code", "kind", "transient"), [
    (400, None, BadRequest, False), (400, "content_filter", Refused, False), (401, None, AuthenticationError, False),
    (403, None, AuthenticationError, False), (403, "model_not_found", AuthenticationError, False),
    (404, None, BadRequest, False), (404, "model_not_found", ModelNotFound, False), (408, None, ServerError, True),
    (409, None, ServerError, True), (422, None, BadRequest, False), (429, "rate_limit_exceeded", RateLimited, True),
    (429, "insufficient_quota", RateLimited, False), (500, None, ServerError, True), (529, None, ServerError, True),
])  # fmt: skip
def test_status_says_whether_asking_again_can_help(status: int, code: str | None, kind: Any, transient: bool) -> None:
    failure = status_failure(status, {}, {"message": "why", "code": code}, now=NOW)
    assert (failure.kind, failure.transient, failure.message) == (kind, transient, "why")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "The model `gpt-4-0314` does not exist or you do not have access to it."),
        (404, "The model `m` has been deprecated, learn more here: https://example.com"),
        (404, 'model "m" not found, try pulling it first'),
        (404, "models/m is not found for API version v1main, or is not supported for generateContent."),
        (404, "No endpoints found for acme/m."),
        (400, "Invalid model: m"),
        (400, "m is not a valid model ID"),
        (400, "Model Not Exist"),
    ],
)
def test_a_model_that_is_gone_is_understood_in_other_servers_words(status: int, message: str) -> None:
    assert status_failure(status, {}, {"message": message}, now=NOW).kind is ModelNotFound


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"error": {"message": "inner"}}, "inner"),
        ({"error": "flat"}, "flat"),
        ({"detail": [{"loc": ["body", "seed"]}]}, "[{'loc': ['body', 'seed']}]"),
        ("<html>\n<b>Bad gateway</b>", "<html> <b>Bad gateway</b>"),
        (None, "no message"),
    ],
    ids=str,
)
def test_the_message_is_found_in_every_servers_shape(error: object, message: str) -> None:
    assert status_failure(500, {}, error, now=NOW).message == message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "7", "retry-after-ms": "6500"}, 6.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:15:20 GMT"}, 120.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:15:20 GMT", "date": "Tue, 14 Nov 2023 22:15:00 GMT"}, 20.0),
        ({"retry-after": "Tue, 14 Nov 2023 20:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
    ids=str,
)
def test_reads_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def rate_headers(limit: str, remaining: str, reset: str, unit: str = "requests") -> dict[str, str]:
    values = {"limit": limit, "remaining": remaining, "reset": reset}
    return {f"x-ratelimit-{name}-{unit}": value for name, value in values.items()}


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [("12ms", 0.012), ("1s", 1), ("6m0s", 360), ("2m59.56s", 179.56), ("1h0m1s", 3601), ("60", 60), ("0.5", 0.5)],
)
def test_reads_stated_limits(reset: str, seconds: float) -> None:
    headers = rate_headers("300", "7", reset) | rate_headers("40000", "39000", "1s", "tokens")
    assert stated_limits(headers) == {"requests": (300, 7, pytest.approx(seconds)), "tokens": (40000, 39000, 1)}


@pytest.mark.parametrize(
    "odd",
    [
        *(("300", "7", odd) for odd in ("", "soon", "-1", "nan", "inf", "1s2h", "9" * 400 + "h", "2026-11-28")),
        *(("300", left, "1s") for left in ("", "-1", "301", "nan", "many", "9" * 5000)),
        *((limit, "7", "1s") for limit in ("", "inf", "none", "3")),
    ],
)  # fmt: skip
def test_stated_limits_that_make_no_sense_are_left_out(odd: tuple[str, str, str]) -> None:
    assert stated_limits(rate_headers(*odd)) == {}
    [missing, *_] = rate_headers("300", "7", "1s")
    assert (
        stated_limits({name: value for name, value in rate_headers("300", "7", "1s").items() if name != missing}) == {}
    )
