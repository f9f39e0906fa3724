"""A request to a model: settings, messages and tools, without refused parameters; and a hash that names it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import regex

from mtagent.llm.protocol import LLM, InstructedLLM, sampling_of
from mtagent.llm.reply import RequestFailure
from mtagent.llm.server import OPENAI, CacheControl
from mtagent.records import Message, Schema, Tool

logger = logging.getLogger(__name__)

Body = dict[str, Any]
KEY_TAG = "request-2"
MORE_ROOM = 4096
MARKS = 2
"""Claude refuses more than four, and OpenAI writes no more than four."""
_CACHE_MARKS: Mapping[CacheControl, Body] = {
    "claude": {"cache_control": {"type": "ephemeral"}},
    "openai": {"prompt_cache_breakpoint": {"mode": "explicit"}},
}
LIMITS = ("max_completion_tokens", "max_tokens")


def settings_of(llm: LLM) -> list[str]:
    """The settings of each request to ``llm``, for a signature: ``temperature:0.0`` …, ``instructions:#0a1b2c3d``."""
    sampling = sampling_of(llm)
    settings = []
    if sampling is not None:
        settings = [f"{name}:{value}" for name, value in sampling.parameters().items()]
    if isinstance(llm, InstructedLLM):
        settings.append(f"instructions:#{llm.instructions}")
    return settings


def sent_tool(tool: Tool) -> dict[str, Any]:
    """A tool in the form of a request."""
    return {"type": "function", "function": tool.model_dump()}


def sent_message(message: Message) -> dict[str, Any]:
    """A message in the form of a request."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        calls = []
        for call in message.tool_calls:
            try:
                readable = isinstance(json.loads(call.arguments), dict)
            except (ValueError, RecursionError):  # some servers parse the arguments of earlier turns, and would fail
                readable = False
            arguments = call.arguments if readable else json.dumps({"unreadable": call.arguments})
            calls.append({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        sent |= {"content": message.content or None, "tool_calls": calls}  # some servers refuse an empty text here
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


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
        json_schema = {"name": "reply", "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    if logprobs:
        body["logprobs"] = True
    if tools:
        body["tools"] = [sent_tool(tool) for tool in tools]
    return body


def key_of(body: Body, base_url: str | None = None) -> str:
    """A name for a request: equal for equal requests, different as soon as anything that is sent differs.

    It is the tagged SHA-256 of the body and the server (``None`` = OpenAI's), over canonical JSON.
    """
    server = (base_url or OPENAI).rstrip("/")
    return f"{KEY_TAG}:{hashlib.sha256(canonical_json([server, body])).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """``value`` as JSON in one form. A text that isn't valid Unicode is possible here, but cannot be sent."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # half a surrogate pair, a number of more than 64 bits, a key that isn't text
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def sent_json(body: Body) -> bytes:
    """``body`` as it is sent. Raises :class:`UnicodeEncodeError` for a text that isn't valid Unicode."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # as above; Python's writer takes all but the surrogates
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def room_of(parameters: Body) -> int | None:
    """The most tokens that a reply may have; ``None`` if the request sets no limit."""
    for name in LIMITS:
        if name in parameters:
            return int(parameters[name])
    return None


def with_more_room(body: Body, output_tokens: int) -> Body:
    """``body`` with twice the room for the reply; at least 4,096 tokens if no limit was set."""
    for name in LIMITS:
        if name in body:
            return {**body, name: 2 * body[name]}
    return {**body, "max_tokens": max(MORE_ROOM, 2 * output_tokens)}


def with_cache_control(body: Body, form: CacheControl) -> Body:
    """``body`` with marks at the end of what many requests begin with, for models that cache up to a mark only.

    The last two messages of system or user before the user's last one are marked: in a first request that is the end of
    the few-shot examples, in a later turn also the turn before, which holds a mark already. (OpenAI refuses marks on
    replies.) Marks aren't part of the request's name in the call cache: they change the price, not the reply.
    """
    messages = list(body["messages"])
    places = [place for place, message in enumerate(messages) if message["role"] in ("system", "user")]
    if messages[places[-1]]["role"] == "user":
        places.pop()
    mark = _CACHE_MARKS[form]
    for place in places[-MARKS:]:
        message = messages[place]
        messages[place] = {**message, "content": [{"type": "text", "text": message["content"], **mark}]}
    marked = {**body, "messages": messages}
    if form == "openai":
        marked["prompt_cache_options"] = {"mode": "explicit"}
    return marked


def estimated_tokens(body: Body) -> int:
    """The tokens that a request may take: a quarter of its characters, and the room for the reply."""
    tools = [body["tools"]] if "tools" in body else []
    characters = 0
    for message in body["messages"]:
        characters += len(message["content"] or "")
        if message.get("tool_calls"):
            tools.append(message["tool_calls"])
    for part in tools:
        characters += len(json.dumps(part, ensure_ascii=False))
    return characters // 4 + (room_of(body) or 0)


def uses_tools(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any of the sent ``messages`` calls a tool or answers such a call."""
    return any(message["role"] == "tool" or "tool_calls" in message for message in messages)


def tools_in_words(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sent ``messages`` with tool calls, and the answers to them, as plain text.

    Answers in a row become one turn of the user, since many chat templates want the roles to alternate.
    """
    names = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
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
            calls = []
            for call in message.get("tool_calls", ()):
                function = call["function"]
                calls.append(f'{{"tool": {json.dumps(function["name"])}, "arguments": {function["arguments"]}}}')
            content = "\n".join(filter(None, [message["content"], *calls])) if calls else str(message["content"])
            plain.append({"role": message["role"], "content": content})
        answering = message["role"] == "tool"
    return plain


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sent ``messages`` for a chat template without system messages: their text starts the user's first turn."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    plain = [dict(message) for message in messages if message["role"] != "system"]
    if system and plain and plain[0]["role"] == "user":
        plain[0]["content"] = f"{system}\n\n{plain[0]['content']}"
    elif system:
        plain.insert(0, {"role": "user", "content": system})
    return plain


SYSTEM = "system role"
OPTIONAL = (
    "max_tokens",
    "max_completion_tokens",
    "top_p",
    "temperature",
    "seed",
    "top_logprobs",
    "logprobs",
    "response_format",
    "reasoning_effort",
    "parallel_tool_calls",
    "tool_choice",
    "tools",
)  # fmt: skip
_OTHER_LIMIT = dict(zip(LIMITS, reversed(LIMITS), strict=True))
_MENTION = {name: regex.compile(rf"\b{name}\b") for name in OPTIONAL}
_MENTION["response_format"] = regex.compile(
    r"\bresponse_format\b|json_schema|json_object|structured output|grammar|response mime type|json mode",
    regex.IGNORECASE,
)
_MENTION["tools"] = regex.compile(
    r"\btools?\b|\btool[_ ](?:choice|call|calls|calling|use|result)\b|\bfunction[_ -]call(?:s|ing)?\b", regex.IGNORECASE
)
_UNSUPPORTED = regex.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|unexpected|not allowed|not permitted|not available"
    r"|not enabled|cannot both|only the default|no endpoints found|requires --",
    regex.IGNORECASE,
)
# As chat templates (Gemma's "System role not supported", Mistral's "roles must alternate user/assistant"), Google
# ("Developer instruction is not enabled for …") and OpenAI ("'messages[0].role' does not support 'system'") say it.
_NO_SYSTEM = regex.compile(
    r"\b(?:system|developer)[ ](?:roles?|messages?|prompts?|instructions?)\b[^.]{0,40}"
    r"(?:unsupported|(?:not|n't)[ ](?:be[ ])?(?:support|allow|permit|enable|accept))"
    r"|\brole\b[^.]{0,20}does[ ]not[ ]support[ ]['\"]?(?:system|developer)"
    r"|\bonly[ ]user(?:,?[ ]\w+)*[ ]and[ ]\w+[ ]roles[ ]are[ ]supported|\broles[ ]must[ ]alternate",
    regex.IGNORECASE,
)
_NO_TOOLS = regex.compile(r"unsupported|(?:not|n't|that) support|requires --", regex.IGNORECASE)


def refused_parameter(failure: RequestFailure, sent: Body) -> str | None:
    """The parameter that a 400 or 422 names as unsupported: an optional one of ``sent``, or the system role.

    Both the system role and tools are also refused with other statuses, tools even if only the messages still contain
    traces of them.
    """
    has_system = any(message["role"] == "system" for message in sent["messages"])
    if has_system and failure.status in (400, 422, 500, 501) and _NO_SYSTEM.search(failure.message):
        return SYSTEM
    tools = "tools" in sent or uses_tools(sent["messages"])
    mentions_tools = _MENTION["tools"].search(failure.message) is not None
    if failure.status not in (400, 422):
        no_tools = tools and failure.status in (404, 500, 501) and mentions_tools and _NO_TOOLS.search(failure.message)
        return "tools" if no_tools else None
    candidates = [name for name in OPTIONAL if name in sent or (name == "tools" and tools)]
    root = (failure.param or "").split(".")[0].split("[")[0]
    if root == "reasoning_effort" and tools and mentions_tools:
        root = "tools"  # "Function tools with reasoning_effort are not supported": tools can be said in words
    if root in candidates:
        candidates = [root]
    unsupported = _UNSUPPORTED.search(f"{failure.code} {failure.message}") is not None
    for name in candidates:
        # A schema that the server cannot use isn't a reason to fail: the reply is read tolerantly anyway.
        if (unsupported or name == "response_format") and (name == root or _MENTION[name].search(failure.message)):
            return name
    return None


class LearntParameters:
    """The parameters that one model on one server refuses, and whether it was ``reached`` and has ``answered``.

    Safe for concurrent requests: it only ever learns more.
    """

    def __init__(self, model: str, leave_out: Sequence[str] = ()) -> None:
        self._model = model
        self._renamed: dict[str, str | None] = dict.fromkeys(leave_out)
        self._formats: set[str] = set()
        self.reached = self.answered = False

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the model refused, and kinds of ``response_format``."""
        return (*self._renamed, *sorted(self._formats))

    def adapt(self, body: Body) -> Body:
        """``body`` without refused parameters; ``body`` itself if nothing changes."""
        if not self._renamed and not self._formats:
            return body
        adapted = {}
        for key, value in body.items():
            name = self._renamed.get(key, key)
            if name is not None:
                adapted[name] = value
        if SYSTEM in self._renamed:
            adapted["messages"] = without_system(adapted["messages"])
        if "tools" in self._renamed:
            for parameter in ("tools", "tool_choice", "parallel_tool_calls"):
                adapted.pop(parameter, None)
            if uses_tools(adapted["messages"]):
                adapted["messages"] = tools_in_words(adapted["messages"])
        if "response_format" in adapted:
            formats = [adapted.pop("response_format")]
            # OpenAI accepts ``json_object`` only if a message contains the word.
            if formats[0].get("type") == "json_schema" and "json" in str(adapted["messages"]).lower():
                formats.append({"type": "json_object"})
            for format_ in formats:
                if self._formats.isdisjoint({format_.get("type"), _format_name(format_, adapted)}):
                    return {**adapted, "response_format": format_}
        return adapted

    def learn(self, failure: RequestFailure, sent: Body) -> bool:
        """Learn from a failure. Returns whether the request, adapted again, is worth sending again."""
        name = refused_parameter(failure, sent)
        if name is None:
            return False
        known = self.left_out
        if name == "response_format":
            self._formats.add(_format_name(sent[name], sent))
        elif name not in self._renamed:
            other = _OTHER_LIMIT.get(name)
            self._renamed |= {name: None, other: None} if other and other in self._renamed else {name: other}
        if self.left_out != known:  # not again for requests that were in flight at the same time
            instead = "says the same in the user's turn" if name == SYSTEM else "goes on without it"
            logger.warning("%s: the server refuses %s; mtagent %s", self._model, name, instead)
        return True


def _format_name(format_: Mapping[str, Any], body: Body) -> str:
    """The refused format: some servers accept this kind of ``response_format``, but not together with tools."""
    return f"{format_.get('type')} with tools" if "tools" in body else str(format_.get("type"))
