"""The replies of RATE's core agent, read as calls of its tools.

Models that cannot call functions write what they want as text, in one of many shapes.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, NoReturn, cast

import regex

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators.annotations import located
from mtagent.llm.reading import Pairs, plain_text, read_json
from mtagent.records import Completion, ErrorSpan, Severity, Tool, ToolCall

LOWEST, HIGHEST = 0.0, 4.0
LOW_ANCHOR, HIGH_ANCHOR = 1.0, 4.0
"""The scores of the two anchors that the core agent writes itself, while there are no others."""

Outcome = Literal["win", "tie", "lose"]
Advice = Literal["upgrade", "adjust", "confirm", "downgrade"]

_STEPS: dict[tuple[str, ...], float] = {
    ("win", "win"): 1.0,
    ("tie", "win"): 0.5,
    ("lose", "tie"): -0.5,
    ("lose", "lose"): -1.0,
}
_ADVICE: dict[float, Advice] = {1.0: "upgrade", 0.5: "adjust", -0.5: "adjust", -1.0: "downgrade"}


class Anchor(NamedTuple):
    """A translation of the same source whose score is settled."""

    text: str
    score: float


class Calibration(NamedTuple):
    """What a comparison says about a tentative score: what to do, and the score to go on with."""

    advice: Advice
    score: float


def calibrate(tentative: float, anchor: float, outcomes: tuple[Outcome, Outcome]) -> Calibration:
    """The score that the outcomes of both orders suggest, within 0 to 4; the table above."""
    step = _STEPS.get(tuple(sorted(outcomes)), 0.0)
    on_that_side_already = (step > 0 and tentative > anchor) or (step < 0 and tentative < anchor)
    suggested = tentative if on_that_side_already else min(HIGHEST, max(LOWEST, tentative + step))
    return Calibration("confirm" if suggested == tentative else _ADVICE[step], suggested)


def closest(anchors: Iterable[Anchor], score: float) -> Anchor:
    """The anchor whose score is nearest to ``score``; of two equally near ones the lower."""
    return min(anchors, key=lambda anchor: (abs(anchor.score - score), anchor.score))


def level(score: float) -> int:
    """The anchor slot, 0 to 4, of a score: the nearest whole number, halves go up. The anchor keeps its exact score."""
    return math.floor(score + 0.5)


MOST_QUERIES = 3
Winner = Literal["a", "b", "tie"]

_NUMBER = regex.compile(r"\s*([+-]?\d{1,6}(?:[.,]\d{1,9})?)\s*(%|/\s*4(?:\.0)?)?\s*")
_NOTHING = frozenset({"", "none", "null", "n/a", "na", "nil", "-", "missing", "omitted", "omission", "no errors"})
_BRACKETS = " \t\r\n()[]<>{}.*"
_WINNER = regex.compile(
    r"\W*(?:the\s+)?(?:(?:winner|better|candidate|translation|option)\W+)*(a|b|tie|tied|draw|equal|neither|both)\W*"
)
_ERRORS = ("errors", "error_spans")
_GAPS = ("gaps", "suspected_knowledge_gaps", "knowledge_gaps")
_RATIONALE = ("rationale", "reasoning", "explanation")
_SOURCE = ("source", "source_segment", "source_text")
_TARGET = ("target", "target_segment", "target_text", "translation", "span")
_ISSUE = ("issue", "description", "explanation")


class Assessment(NamedTuple):
    """What the evaluation agent says: a score from 0 to 4, and what it rests on.

    ``confidence`` is 0 to 1, or ``None`` where none is given; ``gaps`` are terms that the agent does not know for sure.
    """

    score: float
    confidence: float | None
    rationale: str
    errors: tuple[ErrorSpan, ...]
    gaps: tuple[str, ...]


def severity_at(score: float) -> Severity:
    """The severity of the errors of a translation with this score; the method gives none.

    Below 2 a part of the meaning is lost (major), from 2 on the text can be understood (minor).
    """
    return "major" if score < 2 else "minor"


def read_assessment(reply: str, translation: str) -> Assessment:
    """The evaluation agent's reply. Raises :class:`RatingParseError` where it lacks a score from 0 to 4 or the errors.

    Errors are located in ``translation`` where that is certain; one without target words is an omission.
    """
    fields = _fields(read_json(reply))
    if not any(name in fields for name in _ERRORS):
        raise RatingParseError("it has no list of errors")
    score = read_score(fields.get("score"))
    items = _listed(_first(fields, _ERRORS))
    return Assessment(
        score=score,
        confidence=_confidence(fields.get("confidence")),
        rationale=str(_first(fields, _RATIONALE) or "").strip(),
        errors=located([_error(item, translation, severity_at(score)) for item in items], translation),
        gaps=tuple(_gap(item) for item in _listed(_first(fields, _GAPS))),
    )


def read_score(value: Any) -> float:
    """A number from 0 to 4, also as text: ``3``, ``"3.5"``, ``"3/4"``. Raises :class:`RatingParseError`."""
    number, unit = _number(value)
    if number is None or unit == "%" or not LOWEST <= number <= HIGHEST:
        raise RatingParseError(f"the score {str(value)[:40]!r} is not a number from 0 to 4")
    return abs(number)  # of −0, which would be shown as such


def read_queries(reply: str) -> tuple[str, ...]:
    """The search agent's queries, at most three. Raises :class:`RatingParseError` if there is none."""
    data = read_json(reply)
    if isinstance(data, dict):
        fields = _fields(data)
        data = _first(fields, ("queries", "search_query", "search_queries", "query", "q"))
    texts = [_query(item) for item in _listed(data)]
    queries = tuple(dict.fromkeys(text for text in texts if text))
    if not queries:
        raise RatingParseError("it has no search query")
    return queries[:MOST_QUERIES]


def read_summary(reply: str) -> str:
    """The search agent's answer; ``""`` where it says that the results hold none. Raises :class:`RatingParseError`."""
    answer = _fields(read_json(reply)).get("answer", 0)
    if answer is not None and not isinstance(answer, str):
        raise RatingParseError("it has no answer")
    return "" if _says_nothing(answer or "") else str(answer).strip()


def read_winner(reply: str) -> Winner:
    """Which of two candidates the comparison agent prefers. Raises :class:`RatingParseError` for anything else."""
    said = _WINNER.fullmatch(reply.strip().casefold())
    if not said:
        chosen = _first(_fields(read_json(reply)), ("winner", "better", "preferred"))
        said = _WINNER.fullmatch(chosen.casefold()) if isinstance(chosen, str) else None
    if not said:
        raise RatingParseError("the reply chooses neither A nor B nor a tie")
    return cast(Winner, said[1] if said[1] in ("a", "b") else "tie")


def _error(item: Any, translation: str, severity: Severity) -> ErrorSpan:
    if isinstance(item, str):
        if not item.strip() or item not in translation:
            raise RatingParseError(f"the error {item[:40]!r} names no words of the translation")
        return ErrorSpan(text=item, category="other", severity=severity)
    fields = _fields(item)
    source, target, issue = (_text(fields, names) for names in (_SOURCE, _TARGET, _ISSUE))
    before, after = _text(fields, ("before",)) or None, _text(fields, ("after",)) or None
    if target and (target in translation or not _says_nothing(target)):
        place = {"text": target, "category": "other", "before": before, "after": after}
    elif source and not _says_nothing(source):
        place = {"text": source, "category": "accuracy/omission", "side": "omission", "before": before, "after": after}
    else:
        raise RatingParseError("an error names neither words of the source nor of the translation")
    return ErrorSpan.model_validate({**place, "severity": severity, "explanation": issue.strip() or None})


def _confidence(value: Any) -> float | None:
    if value is None:
        return None
    number, unit = _number(value)
    if number is not None and (unit == "%" or 10 <= number <= 100):
        number /= 100
    if number is None or not 0 <= number <= 1 or unit.startswith("/"):
        raise RatingParseError(f"the confidence {str(value)[:40]!r} is not a number from 0 to 1")
    return number


def _gap(item: Any) -> str:
    text = item if isinstance(item, str) else _text(_fields(item), ("term", "gap", "text", "source"))
    return text.strip() or _refuse("a knowledge gap names no term")


def _query(item: Any) -> str:
    text = item if isinstance(item, str) else _text(_fields(item), ("q", "query"))
    return " ".join(text.split())


def _number(value: Any) -> tuple[float | None, str]:
    """A number and what follows it: ``%`` or ``/4``. ``None`` where ``value`` is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e6 else None, ""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1].replace(",", ".")), match[2] or "") if match else (None, "")


def _fields(data: Any) -> dict[str, Any]:
    """An object's fields with names in lower case. A list of one object is that object."""
    if isinstance(data, Pairs):
        _refuse("it gives a field twice")
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if not isinstance(data, dict):
        _refuse(f"{str(data)[:40]!r} is no JSON object of the form that was asked for")
    return {str(key).strip().casefold().replace(" ", "_"): value for key, value in data.items()}


def _listed(value: Any) -> list[Any]:
    """``value`` as a list: nothing, one, or several."""
    if value is None or (isinstance(value, str) and _says_nothing(value)):
        return []
    if isinstance(value, list) and not isinstance(value, Pairs):
        return [one for one in value if one is not None]
    return [value]


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    value = _first(fields, names)
    if value is not None and not isinstance(value, str):
        _refuse(f"{names[0]!r} is {str(value)[:40]!r}, and no text")
    return value or ""


def _says_nothing(text: str) -> bool:
    return text.strip(_BRACKETS).casefold() in _NOTHING


def _refuse(problem: str) -> NoReturn:
    raise RatingParseError(problem)


def _tool(name: str, description: str, required: tuple[str, ...], **parameters: tuple[str, str]) -> Tool:
    properties = {key: {"type": kind, "description": about} for key, (kind, about) in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name=name, description=description, parameters=schema)


EVALUATE = _tool(
    "evaluate",
    "Have the translation assessed: score, confidence, errors, and terms that the assessor does not know for sure.",
    (),
    notes=("string", "What the assessor should know besides the knowledge that was found."),
    instruction=("string", "What to look at in particular, for instance the tone, or one idiom."),
)
SEARCH = _tool(
    "search",
    "Look up what you or the assessor do not know for sure, such as slang, an allusion or a name.",
    ("query",),
    query=("string", "What you want to know, in full."),
)
COMPARE = _tool(
    "compare",
    "Have the translation compared with one whose score is settled, to confirm or correct a tentative score.",
    ("tentative_score",),
    tentative_score=("number", "The score, 0 to 4, that you have in mind."),
    notes=("string", "What the judge should know besides the knowledge that was found."),
    low_anchor=("string", "A poor translation of the source that deserves 1. Only while there are no anchors."),
    high_anchor=("string", "An excellent translation of the source that deserves 4. Only while there are no anchors."),
)
FINISH = _tool(
    "finish",
    "Give the final score. Call it alone, after you have read the answers of the other tools.",
    ("score", "rationale"),
    score=("number", "The final score, 0 to 4; halves are allowed."),
    rationale=("string", "Why, in two to four sentences."),
)
TOOLS = {tool.name: tool for tool in (EVALUATE, SEARCH, COMPARE, FINISH)}


class Action(NamedTuple):
    """A wish of the core agent. ``problem`` says why its arguments cannot be read, if so."""

    tool: str
    arguments: dict[str, Any]
    call_id: str | None = None
    problem: str = ""

    @property
    def wish(self) -> tuple[str, dict[str, Any]]:
        """What is wished for; some models say it twice in a reply."""
        return self.tool, self.arguments

    def as_call(self) -> ToolCall:
        """The call to put on record before its answer. Its arguments are JSON: servers refuse broken ones."""
        return ToolCall(id=self.call_id or "", name=self.tool, arguments=json.dumps(self.arguments, ensure_ascii=False))


def text_of(arguments: Mapping[str, Any], name: str, *, required: bool = False) -> str | None:
    """A text among the arguments; ``None`` where it is absent. Raises :class:`UnreadableReply`."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise UnreadableReply(f"the argument {name!r} is no text")
    text = (value or "").strip()
    if text.casefold() not in ("", "none", "null"):
        return text
    if required:
        raise UnreadableReply(f"the argument {name!r} is missing")
    return None


def score_of(arguments: Mapping[str, Any], name: str) -> float:
    """A score among the arguments. Raises :class:`UnreadableReply`."""
    if arguments.get(name) is None:
        raise UnreadableReply(f"the argument {name!r} is missing")
    return read_score(arguments[name])


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
