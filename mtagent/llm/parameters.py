"""Parameters that a model refuses: learnt from its 400s, then left out or renamed."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import regex

from mtagent.llm.failure import Failure
from mtagent.llm.request import Body
from mtagent.llm.tools import as_text, uses_tools

logger = logging.getLogger(__name__)

OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
OPTIONAL = (
    *OTHER_NAME,
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
WITH_TOOLS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
LOOSER_FORMAT = {"json_schema": "json_object", "json_object": None}

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
_NO_TOOLS = regex.compile(r"unsupported|(?:not|n't|that) support|requires --", regex.IGNORECASE)
_ALSO_NO_TOOLS = (404, 500, 501)


class LearntParameters:
    """What one model on one server does not take. Safe for concurrent requests: it only ever learns more."""

    def __init__(self, model: str, leave_out: Sequence[str] = ()) -> None:
        self._model = model
        self._renamed: dict[str, str | None] = dict.fromkeys(leave_out)
        self._formats: set[str] = set()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the model refused, and kinds of ``response_format``."""
        return (*self._renamed, *sorted(self._formats))

    def adapt(self, body: Body) -> Body:
        """``body`` without what the model refuses; ``body`` itself where there is nothing to change."""
        if not self._renamed and not self._formats:
            return body
        adapted = {self._renamed.get(name, name): value for name, value in body.items()}
        adapted.pop(None, None)
        if "tools" in self._renamed:
            adapted = {name: value for name, value in adapted.items() if name not in WITH_TOOLS}
            adapted["messages"] = as_text(body["messages"]) if uses_tools(body["messages"]) else body["messages"]
        if "response_format" in adapted:
            self._loosen(adapted)
        return {str(name): value for name, value in adapted.items()}

    def learn(self, failure: Failure, sent: Body) -> bool:
        """Learn from a failure; says whether the request, adapted again, is worth sending again."""
        name = refused_parameter(failure, sent)
        if name is None:
            return False
        if name == "response_format":
            self._formats.add(_format_name(str(sent[name].get("type")), "tools" in sent))
        elif name not in self._renamed:
            self._leave_out(name)
        logger.warning("%s: the server refuses %s; mtagent goes on without it", self._model, name)
        return True

    def _leave_out(self, name: str) -> None:
        other = OTHER_NAME.get(name)
        if other is not None and other in self._renamed:
            self._renamed |= {name: None, other: None}
        else:
            self._renamed[name] = other

    def _loosen(self, adapted: dict[str | None, object]) -> None:
        format_ = adapted.pop("response_format")
        kind = str(format_.get("type")) if isinstance(format_, dict) else ""
        tools = "tools" in adapted
        if not self._refuses(kind, tools):
            adapted["response_format"] = format_
        elif (looser := LOOSER_FORMAT.get(kind)) and not self._refuses(looser, tools) and _asks_for_json(adapted):
            adapted["response_format"] = {"type": looser}

    def _refuses(self, kind: str, tools: bool) -> bool:
        return kind in self._formats or _format_name(kind, tools) in self._formats


def _format_name(kind: str, tools: bool) -> str:
    """What is refused: some servers take this kind of ``response_format``, but not together with tools."""
    return f"{kind} with tools" if tools else kind


def _asks_for_json(body: dict[str | None, object]) -> bool:
    """OpenAI takes ``json_object`` only where a message says the word."""
    return "json" in str(body["messages"]).lower()


def refused_parameter(failure: Failure, sent: Body) -> str | None:
    """The optional parameter of ``sent`` that a 400 or 422 names as unsupported, if it does.

    Tools are also refused by other statuses, and where only the messages hold what became of them.
    """
    tools = "tools" in sent or uses_tools(sent["messages"])
    if failure.status not in (400, 422):
        return "tools" if tools and failure.status in _ALSO_NO_TOOLS and _says_no_tools(failure.message) else None
    candidates = [name for name in OPTIONAL if name in sent or (name == "tools" and tools)]
    root = (failure.param or "").split(".")[0].split("[")[0]
    if root == "reasoning_effort" and tools and _MENTION["tools"].search(failure.message):
        root = "tools"  # "Function tools with reasoning_effort are not supported": tools can be said in words
    if root in candidates:
        candidates = [root]
    unsupported = _UNSUPPORTED.search(f"{failure.code} {failure.message}") is not None
    for name in candidates:
        # A schema that the server cannot use is no reason to fail: the reply is read tolerantly anyway.
        if (unsupported or name == "response_format") and (name == root or _MENTION[name].search(failure.message)):
            return name
    return None


def _says_no_tools(message: str) -> bool:
    return _MENTION["tools"].search(message) is not None and _NO_TOOLS.search(message) is not None
