"""Tools and tool calls in the form of OpenAI's servers, and as plain text for servers that know none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mtagent.llm.plain import whole_characters
from mtagent.records import Message, Tool, ToolCall

ID_LENGTH = 9  # some chat templates take no other length


def sent_tool(tool: Tool) -> dict[str, Any]:
    """A tool as it stands in a request."""
    return {"type": "function", "function": tool.model_dump()}


def sent_message(message: Message) -> dict[str, Any]:
    """A message as it stands in a request; the tool parts only where there are any."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        # Several servers refuse an empty text here, and all take null.
        sent |= {"content": message.content or None, "tool_calls": [_sent_call(call) for call in message.tool_calls]}
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def _sent_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if _is_object(call.arguments) else json.dumps({"unreadable": call.arguments})
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _is_object(text: str) -> bool:
    """Whether a server that reads the arguments of former turns will not stumble over these."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def read_tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of a reply's ``message``, in the shapes that servers give them; ``()`` for none.

    Arguments may be text or an object, and ids may be missing or given twice; a name that is no text is none. Raises
    ``TypeError``, ``AttributeError`` and ``RecursionError`` for what is no tool call at all.
    """
    listed = message.get("tool_calls") or []
    former = message.get("function_call")
    if not listed and former:
        listed = [{"function": former}]
    calls: list[ToolCall] = []
    for item in listed:
        function = item.get("function") or item
        name, given = (value if isinstance(value, str) else "" for value in (function.get("name"), item.get("id")))
        name, given, arguments = whole_characters(name), whole_characters(given), _arguments(function.get("arguments"))
        id_ = given if given and given not in {call.id for call in calls} else _new_id(name, arguments, len(calls))
        calls.append(ToolCall(id=id_, name=name, arguments=arguments))
    return tuple(calls)


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return whole_characters(given) if given.strip() else "{}"
    return whole_characters(json.dumps({} if given is None else given, ensure_ascii=False))


def _new_id(name: str, arguments: str, number: int) -> str:
    """The same for the same reply: the next request, and so its key in the call cache, repeats it."""
    return hashlib.sha256(json.dumps([name, arguments, number]).encode()).hexdigest()[:ID_LENGTH]


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
            plain.append({"role": message["role"], "content": _with_calls(message)})
        answering = message["role"] == "tool"
    return plain


def _with_calls(message: Mapping[str, Any]) -> str:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = [f'{{"tool": {json.dumps(of["name"])}, "arguments": {of["arguments"]}}}' for of in functions]
    return "\n".join(filter(None, [message["content"], *calls])) if calls else str(message["content"])
