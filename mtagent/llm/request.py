"""What is sent to a model: settings, tools, messages; and a hash that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from mtagent.llm.protocol import LLM, Asked, SampledLLM
from mtagent.llm.reading import whole_characters
from mtagent.records import Message, Record, Schema, Tool, ToolCall


class Sampling(Record):
    """Sampling settings. Only those that are set are sent, so that the server's defaults apply otherwise.

    ``extra`` holds further fields of the request body, such as ``{"cache_prompt": false}`` for llama.cpp.
    """

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """The settings as fields of a request body."""
        return self.model_dump(exclude_none=True, exclude={"extra"}) | self.extra


def settings_of(llm: LLM) -> list[str]:
    """The settings that are sent with each request to ``llm``, for a signature: ``temperature:0.0`` …"""
    if not isinstance(llm, SampledLLM) or llm.sampling is None:
        return []
    return [f"{name}:{value}" for name, value in llm.sampling.parameters().items()]


ID_LENGTH = 9  # some chat templates take no other length


def sent_tool(tool: Tool) -> dict[str, Any]:
    """A tool as it stands in a request."""
    return {"type": "function", "function": tool.model_dump()}


def sent_message(message: Message) -> dict[str, Any]:
    """A message as it stands in a request; the tool parts only where there are any."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        calls = []
        for call in message.tool_calls:
            try:
                readable = isinstance(json.loads(call.arguments), dict)
            except (ValueError, RecursionError):  # a server that reads the arguments of former turns would stumble
                readable = False
            arguments = call.arguments if readable else json.dumps({"unreadable": call.arguments})
            function = {"name": call.name, "arguments": arguments}
            calls.append({"id": call.id, "type": "function", "function": function})
        # Several servers refuse an empty text here, and all take null.
        sent |= {"content": message.content or None, "tool_calls": calls}
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def read_tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of a reply's ``message``, in the shapes that servers give them; ``()`` for none.

    Arguments may be text or an object, and ids may be missing or given twice; a name that is no text is none. Raises
    ``TypeError``, ``AttributeError`` and ``RecursionError`` for what is no tool call at all.
    """
    listed = message.get("tool_calls") or []
    former = message.get("function_call")
    if not listed and former:
        listed = [{"function": former}]
    calls: dict[str, ToolCall] = {}
    for item in listed:
        function = item.get("function") or item
        name, id_ = (
            whole_characters(value) if isinstance(value, str) else ""
            for value in (function.get("name"), item.get("id"))
        )
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
        arguments = whole_characters(arguments) if arguments.strip() else "{}"
        if not id_ or id_ in calls:
            # The same for the same reply: the next request, and so its key in the call cache, repeats it.
            content = json.dumps([name, arguments, len(calls)])
            id_ = hashlib.sha256(content.encode()).hexdigest()[:ID_LENGTH]
        calls[id_] = ToolCall(id=id_, name=name, arguments=arguments)
    return tuple(calls.values())


def uses_tools(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any of the sent ``messages`` calls a tool or answers such a call."""
    return any(message["role"] == "tool" or "tool_calls" in message for message in messages)


def as_text(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sent ``messages`` with every tool call and every answer to one as plain text.

    Answers in a row become one turn of the user: many chat templates want the roles to alternate.
    """
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls", ())}
    plain: list[dict[str, Any]] = []
    answering = False
    for message in messages:
        if message["role"] == "tool":
            text = f"Answer of {names.get(message.get('tool_call_id'), 'the tool')}: {message['content']}"
            if answering:
                plain[-1]["content"] += f"\n\n{text}"
            else:
                plain.append({"role": "user", "content": text})
        else:
            functions = [call["function"] for call in message.get("tool_calls", ())]
            calls = [f'{{"tool": {json.dumps(of["name"])}, "arguments": {of["arguments"]}}}' for of in functions]
            content = "\n".join(filter(None, [message["content"], *calls])) if calls else str(message["content"])
            plain.append({"role": message["role"], "content": content})
        answering = message["role"] == "tool"
    return plain


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
        """The form of what :meth:`mtagent.llm.protocol.LLM.complete` was given."""
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
    tools = [body["tools"]] if "tools" in body else []
    tools += [message["tool_calls"] for message in body["messages"] if message.get("tool_calls")]
    characters = sum(len(message["content"] or "") for message in body["messages"])
    characters += sum(len(json.dumps(part, ensure_ascii=False)) for part in tools)
    return characters // 4 + (room_of(body) or 0)


def room_of(parameters: Body) -> int | None:
    """The tokens that a reply may have; ``None`` where the request sets no limit."""
    return next((int(parameters[name]) for name in ROOM if name in parameters), None)
