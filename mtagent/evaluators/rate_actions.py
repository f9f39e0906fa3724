"""The replies of RATE's core agent, read as calls of its tools.

Models that cannot call functions write what they want as text, in one of many shapes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import regex

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators.rate_tools import TOOLS, Action
from mtagent.llm.plain import plain_text
from mtagent.llm.reading import Pairs, read_json
from mtagent.records import Completion, ToolCall

_LAST_LETTER = regex.compile(r"(?r)\w")


def read_turn(completion: Completion) -> tuple[Action, ...]:
    """What the core agent wants: its tool calls, or where there are none, what its text says.

    Raises :class:`RatingParseError` for a text that calls no tool. Broken arguments of a real call are its ``problem``.
    """
    if completion.tool_calls:
        return tuple(_called(call) for call in completion.tool_calls)
    return read_actions(completion.text)


def read_actions(reply: str) -> tuple[Action, ...]:
    """The tool calls that a text makes, at least one, in order.

    Reads JSON with ``tool`` and ``arguments`` in the spellings of other systems, ``<tool_call>`` with argument tags or
    JSON in it, ``<function=name>``, "Action: name, Action Input: JSON", ``name(argument=value)``, and the bare name of
    a tool. Thoughts before it are ignored. Raises :class:`RatingParseError` for anything else.
    """
    try:
        text = plain_text(reply, "")
    except (EmptyReply, UnreadableReply) as error:
        raise RatingParseError(str(error)) from None
    # A call that words follow may be one that is only talked about, or that a text asks for.
    last = _LAST_LETTER.search(text)
    if not any(mark in text[last.end() if last else 0 :] for mark in ")]}>") and not _bare_name(text):
        raise RatingParseError("it calls no tool at its end")
    for read in (_tagged, _labelled, _written_as_calls, _bare_name):
        if actions := read(text):
            return actions
    try:
        return _in_json(read_json(text))
    except RatingParseError as error:
        raise RatingParseError(f"it calls no tool: {error}") from None


def _called(call: ToolCall) -> Action:
    try:
        arguments = _arguments(call.arguments)
    except RatingParseError as error:
        return Action(_plain(call.name), {}, call.id, f"the arguments cannot be read: {error}")
    return Action(_plain(call.name), arguments, call.id)


_CALL_TAG = regex.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", regex.DOTALL | regex.IGNORECASE)
_KEY = regex.compile(r"<arg_key>([^<]*+)</arg_key>\s*+<arg_value>")
_KEY_ENDS = regex.compile(r"</arg_value>")
_FUNCTION = regex.compile(r"<function=([\w.-]++)>", regex.IGNORECASE)
_FUNCTION_ENDS = regex.compile(r"</function>", regex.IGNORECASE)
_PARAMETER = regex.compile(r"<parameter=([\w-]++)>", regex.IGNORECASE)
_PARAMETER_ENDS = regex.compile(r"</parameter>", regex.IGNORECASE)
_LABELLED = regex.compile(
    r"^(?:[^\S\n]|\*)*+Action[\s*]*+:[\s*`]*+([\w.-]++)"
    r"(?:[\s*]*+`)*+(?:[^\S\n]|\*)*+\n[\s*]*+Action Input[\s*]*+:[\s*]*+(.*)",
    regex.M | regex.S | regex.I,
)
_WRITTEN = regex.compile(rf"^(?:[^\S\n]|[*`-])*+((?:{'|'.join(TOOLS)})\s*+\()", regex.MULTILINE)
_BARE = regex.compile(rf"[\s`*]*+({'|'.join(TOOLS)})[\s`*]*+(?:\(\s*+\))?+[\s`*.]*+")
_NAMES = ("tool", "name", "function", "tool_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "input", "action_input", "tool_input")
_LISTS = ("tool_calls", "calls", "actions")
_BESIDES = frozenset({"id", "type", "thought", "thoughts", "reasoning", *_NAMES})


def _tagged(text: str) -> tuple[Action, ...]:
    """``<tool_call>`` and ``<function=…>``, as models without native calls are taught to write."""
    if functions := list(_between(text, _FUNCTION, _FUNCTION_ENDS)):
        return tuple(
            _with_parameters(name, body, "parameter=", _PARAMETER, _PARAMETER_ENDS) for name, body in functions
        )
    actions: list[Action] = []
    for body in _CALL_TAG.findall(text):
        name, _, _ = body.partition("<")
        if "{" in name:
            actions += _in_json(read_json(body))
        else:
            actions.append(_with_parameters(name, body, "arg_key>", _KEY, _KEY_ENDS))
    return tuple(actions)


def _between(text: str, opening: regex.Pattern[str], closing: regex.Pattern[str]) -> Iterator[tuple[str, str]]:
    """What each ``opening`` names, and the text up to the next ``closing``.

    Where nothing closes one, nothing closes those after it either: a single pattern would look to the end for each.
    """
    at = 0
    while (begin := opening.search(text, at)) and (end := closing.search(text, begin.end())):
        yield begin[1], text[begin.end() : end.start()]
        at = end.end()


def _with_parameters(
    name: str, body: str, opening: str, begins: regex.Pattern[str], ends: regex.Pattern[str]
) -> Action:
    pairs = list(_between(body, begins, ends))
    if len(pairs) != body.count(f"<{opening}") or not name.strip() or len(name.split()) > 1:
        raise RatingParseError(f"the call of {name.strip()[:40]!r} is cut off or broken")
    return Action(_plain(name), {key.strip(): value.strip() for key, value in pairs})


def _labelled(text: str) -> tuple[Action, ...]:
    found = _LABELLED.search(text)
    return (Action(_plain(found[1]), _arguments(found[2])),) if found else ()


def _written_as_calls(text: str) -> tuple[Action, ...]:
    """``finish(score=3, rationale="…")`` at the start of a line. All of them can be read, or it is no such reply.

    A line after ``>`` is a quotation, of a text that may want to be obeyed.
    """
    actions: list[Action] = []
    at = 0
    while found := _WRITTEN.search(text, at):
        start, at = found.start(1), _closing(text, found.end())
        action = (_as_python(text[start:at]) or _as_call_of_json(text[start:at])) if at else None
        if action is None:
            if actions:
                raise RatingParseError("one of the calls cannot be read")
            return ()
        actions.append(action)
    return tuple(actions)


def _closing(text: str, at: int) -> int:
    """The end of the bracket that was opened before ``at``; 0 if it stays open."""
    depth, quote = 1, ""
    while at < len(text):
        char = text[at]
        if char == "\\" and quote:
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char == "(") - (char == ")")
        at += 1
        if not depth:
            return at
    return 0


def _as_python(source: str) -> Action | None:
    """The call of a known tool with literal arguments; nothing is evaluated. ``None`` where it is no such call."""
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        positional = [ast.literal_eval(value) for value in call.args]
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    name = source.partition("(")[0].strip()
    if len(positional) == 1 and isinstance(positional[0], dict):
        return Action(name, {str(key): value for key, value in positional[0].items()} | named)
    return Action(name, dict(zip(TOOLS[name].parameters["properties"], positional, strict=False)) | named)


def _as_call_of_json(source: str) -> Action | None:
    name, _, inside = source[:-1].partition("(")
    try:
        return Action(name.strip(), _arguments(inside))
    except RatingParseError:
        return None


def _bare_name(text: str) -> tuple[Action, ...]:
    found = _BARE.fullmatch(text)
    return (Action(found[1], {}),) if found else ()


def _in_json(data: Any) -> tuple[Action, ...]:
    if isinstance(data, Pairs):
        raise RatingParseError("the JSON gives a field twice")
    if isinstance(data, list):
        if not data:
            raise RatingParseError("the list of tool calls is empty")
        return tuple(action for one in data for action in _in_json(one))
    if not isinstance(data, dict):
        raise RatingParseError(f"{str(data)[:40]!r} calls no tool")
    fields = {str(key).strip().casefold(): value for key, value in data.items()}
    inner = next((fields[name] for name in _LISTS if isinstance(fields.get(name), list)), fields.get("function"))
    if isinstance(inner, list | dict):
        return _in_json(inner)
    return (_in_object(fields),)


def _in_object(fields: dict[str, Any]) -> Action:
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), None)
    if name is None:
        keyed = [key for key in fields if key in TOOLS]
        if len(keyed) != 1 or not isinstance(fields[keyed[0]], dict):
            raise RatingParseError('the JSON names no tool; write {"tool": "…", "arguments": {…}}')
        return Action(keyed[0], fields[keyed[0]])
    given = next((key for key in _ARGUMENTS if key in fields), None)
    if given is None:
        return Action(_plain(name), {key: value for key, value in fields.items() if key not in _BESIDES})
    return Action(_plain(name), _arguments(fields[given]))


def _arguments(given: Any) -> dict[str, Any]:
    """Arguments as an object, also where they are JSON in a text. Nothing is no argument."""
    if isinstance(given, str):
        given = read_json(given) if given.strip().casefold() not in ("", "none", "null", "{}") else {}
    if isinstance(given, Pairs) or not isinstance(given, dict | None):
        raise RatingParseError("the arguments are no JSON object")
    return {str(key): value for key, value in (given or {}).items()}


def _plain(name: str) -> str:
    """A tool's name without what servers put before it (``functions.evaluate``)."""
    return name.strip().strip("`\"'").rpartition(".")[2].casefold()
