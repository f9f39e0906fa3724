"""Replies and errors in the shapes that different servers use."""

from __future__ import annotations

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
from mtagent.llm.failure import Failure, clean, retry_after, status_failure
from mtagent.llm.reply import Reply, read_reply, read_usage
from mtagent.records import ToolCall

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def body(content: Any, finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish_reason}]}


@pytest.mark.parametrize(
    ("payload", "text", "problem"),
    [
        (body("Hi"), "Hi", None),
        (body("Hi", None), "Hi", None),
        (body([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]), "Hi", None),
        (body("Hi \ud83d"), "Hi \ufffd", None),
        (body(" \n"), " \n", EmptyReply),
        (body(None), "", EmptyReply),
        (body(None, "length"), "", Truncated),
        (body("Hi", "content_filter"), "Hi", Refused),
        (body(None, refusal="No."), "", Refused),
    ],
    ids=str,
)
def test_reads_replies(payload: dict[str, Any], text: str, problem: type[Exception] | None) -> None:
    reply = read_reply(payload, "asked")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.problem, reply.model, reply.usage) == (text, problem, "asked", None)


def wish(name: Any = "search", arguments: Any = '{"query": "a"}', **more: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


SEARCH = ToolCall(id="call_1", name="search", arguments='{"query": "a"}')


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
    reply = read_reply(body(None, finish_reason, **message), "m")
    assert isinstance(reply, Reply)
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
    first, again = [read_reply(body(None, **message), "m") for _ in range(2)]
    assert isinstance(first, Reply)
    assert first == again
    [call] = first.tool_calls
    assert (call.name, call.arguments, len(call.id)) == ("search", '{"query": "a"}', 9)


def test_ids_are_told_apart() -> None:
    reply = read_reply(body(None, tool_calls=[wish(), wish(), wish(id=None), wish(id=None)]), "m")
    assert isinstance(reply, Reply)
    assert len({call.id for call in reply.tool_calls}) == 4
    assert reply.tool_calls[0].id == "call_1"


@pytest.mark.parametrize(
    ("given", "read"),
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
def test_arguments_are_kept_as_the_model_wrote_them(given: Any, read: str) -> None:
    reply = read_reply(body("Let me see.", tool_calls=[wish(arguments=given)]), "m")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.tool_calls[0].arguments) == ("Let me see.", read)


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
    reply = read_reply(payload, "m")
    assert isinstance(reply, Reply)
    assert reply.problem is problem


def test_a_tool_call_without_a_name_is_passed_on_for_the_caller_to_answer() -> None:
    reply = read_reply(body(None, tool_calls=[wish(name=None)]), "m")
    assert isinstance(reply, Reply)
    assert [call.name for call in reply.tool_calls] == [""]


@pytest.mark.parametrize("calls", ["search", [None], ["search"], 5, {"a": 1}], ids=str)
def test_what_is_no_tool_call_may_pass(calls: Any) -> None:
    failure = read_reply(body(None, tool_calls=calls), "m")
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.transient) == (ServerError, True)


@pytest.mark.parametrize(
    "payload",
    ["<html>", None, [], {}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": ["x"]}, body(5)],
    ids=str,
)
def test_a_body_without_a_reply_may_pass(payload: object) -> None:
    failure = read_reply(payload, "m")
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.transient) == (ServerError, True)


def test_an_error_object_with_status_200_is_shown() -> None:
    failure = read_reply({"error": {"message": "upstream is gone"}}, "m")
    assert isinstance(failure, Failure)
    assert "upstream is gone" in failure.message


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None}, (10, 0, 5, 0)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 8}}, (10, 8, 0, 0)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, (10, 8, 0, 0)),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}, (0, 0, 9, 7)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 19}, (10, 0, 9, 0)),
        ({"prompt_tokens": None, "completion_tokens": "5"}, (0, 0, 0, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_reads_usage_in_every_servers_shape(usage: dict[str, Any], counts: tuple[int, ...]) -> None:
    read = read_usage(usage)
    assert (read.input_tokens, read.cached_tokens, read.output_tokens, read.reasoning_tokens) == counts
    assert read.cost is None


@pytest.mark.parametrize(
    ("status", "code", "kind", "transient"),
    [
        (400, None, BadRequest, False),
        (400, "content_filter", Refused, False),
        (401, None, AuthenticationError, False),
        (403, None, AuthenticationError, False),
        (403, "model_not_found", AuthenticationError, False),
        (404, None, BadRequest, False),
        (404, "model_not_found", ModelNotFound, False),
        (408, None, ServerError, True),
        (409, None, ServerError, True),
        (422, None, BadRequest, False),
        (429, "rate_limit_exceeded", RateLimited, True),
        (429, "insufficient_quota", RateLimited, False),
        (500, None, ServerError, True),
        (529, None, ServerError, True),
    ],
)
def test_status_says_whether_asking_again_can_help(status: int, code: str | None, kind: Any, transient: bool) -> None:
    failure = status_failure(status, {}, {"message": "why", "code": code}, now=NOW)
    assert (failure.kind, failure.transient, failure.message) == (kind, transient, "why")


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


@pytest.mark.parametrize(
    "text",
    ["key abc-4711 is wrong", "sk-proj-ab12***cd34 is wrong", "Authorization: Bearer abc.def/ghi", "sk-1234, bearer x"],
)
def test_whatever_looks_like_a_key_is_taken_out(text: str) -> None:
    cleaned = clean(text, "abc-4711")
    assert "[key]" in cleaned
    assert not any(secret in cleaned for secret in ("4711", "ab12", "cd34", "abc.def", "1234"))


def test_messages_are_shortened() -> None:
    assert len(clean("x " * 10_000, "")) == 400
