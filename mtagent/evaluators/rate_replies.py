"""What RATE's agents may call, and how their replies are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import regex

from mtagent.errors import RatingParseError
from mtagent.evaluators.replies import fields_of, located, refuse, text_in
from mtagent.llm.reading import RepeatedKeys, read_json
from mtagent.records import Completion, ErrorSpan, Severity, Tool, ToolCall

LOWEST, HIGHEST = 0.0, 4.0
"""Of the scale of the RATE paper, Figure 18."""
MOST_QUERIES = 3


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

PAPER_TOOLS = {
    "general_evaluation_agent": "evaluate",
    "search_agent": "search",
    "comparison_agent": "compare",
    "finish_evaluation": "finish",
}

PAPER_ARGUMENTS = {
    "context_notes": "notes",
    "specific_instruction": "instruction",
    "synthetic_low_anchor": "low_anchor",
    "synthetic_high_anchor": "high_anchor",
    "final_score": "score",
    "final_rationale": "rationale",
}

PAPER_FIELDS = {
    "error spans": "errors",
    "suspected knowledge gaps": "gaps",
    "source segment": "source",
    "target segment": "target",
}
"""The names that the paper gives to tools (Figure 16), to their arguments, and to fields of an assessment (Figure 18).

Models that know the paper use them. Its arguments ``source_text``, ``translation_text`` and ``target_text`` have no
name here: the tools take no text from the model.
"""


class Action(NamedTuple):
    """A tool call by the core agent."""

    tool: str
    arguments: dict[str, Any]
    call_id: str | None = None
    problem: str = ""
    """Why its arguments cannot be read, if they cannot."""

    def as_call(self) -> ToolCall:
        """The call as it is sent back with its answer. Its arguments are whole JSON: servers refuse broken ones."""
        return ToolCall(id=self.call_id or "", name=self.tool, arguments=json.dumps(self.arguments, ensure_ascii=False))


class Assessment(NamedTuple):
    """The evaluation agent's score and its reasons."""

    score: float
    """0 to 4."""
    confidence: float | None
    """0 to 1; ``None`` if the agent gives none."""
    rationale: str
    errors: tuple[ErrorSpan, ...]
    gaps: tuple[str, ...]
    """Terms that the agent does not know for sure."""
    shown_errors: tuple[dict[str, str], ...] = ()
    """The errors as the core agent reads them: the words of source and translation, and the issue."""


_NUMBER = regex.compile(r"\s*([+-]?\d{1,6}(?:[.,]\d{1,9})?)\s*(%|/\s*4(?:\.0)?)?\s*")
_NOTHING = frozenset({"", "none", "null", "n/a", "na", "nil", "-", "missing", "omitted", "omission", "no errors"})
_BRACKETS = " \t\r\n()[]<>{}.*"
_WINNER = regex.compile(
    r"\W*(?:the\s+)?(?:(?:winner|better|candidate|translation|option)\W+)*(a|b|tie|tied|draw|equal|neither|both)\W*"
)


def severity_at(score: float) -> Severity:
    """The severity of the errors in a translation with this score; the method itself has no severities.

    Below 2 a part of the meaning is lost (major), from 2 on the text can be understood (minor).
    """
    return "major" if score < 2 else "minor"


def read_assessment(reply: str, translation: str) -> Assessment:
    """The evaluation agent's reply. Raises :class:`RatingParseError` if it lacks a score from 0 to 4 or the errors.

    Errors are located in ``translation`` where that is certain; one without target words is an omission.
    """
    fields = renamed(fields_of(read_json(reply)), PAPER_FIELDS)
    if "errors" not in fields:
        refuse("it has no list of errors")
    score = read_score(fields.get("score"))
    confidence = _confidence(fields.get("confidence"))
    gaps = []
    for gap in _listed(fields.get("gaps")):
        term = gap if isinstance(gap, str) else _text(fields_of(gap), "term")
        gaps.append(term.strip())
    if not all(gaps):
        refuse("a knowledge gap names no term")
    errors = []
    shown_errors = []
    for item in _listed(fields["errors"]):
        error, shown_error = _error(item, translation, severity_at(score))
        errors.append(error)
        shown_errors.append(shown_error)
    return Assessment(
        score=score,
        confidence=confidence,
        rationale=str(fields.get("rationale") or "").strip(),
        errors=located(errors, translation),
        gaps=tuple(gaps),
        shown_errors=tuple(shown_errors),
    )


def _confidence(value: Any) -> float | None:
    """A number from 0 to 1, also as a percentage; ``None`` if there is none. Raises :class:`RatingParseError`."""
    if value is None:
        return None
    confidence, unit = _number(value)
    # From 10 on it can only be a percentage; below, 5 may be 5 % or one of a scale to 5.
    if confidence is not None and (unit == "%" or 10 <= confidence <= 100):
        confidence /= 100
        unit = ""
    if confidence is None or unit or not 0 <= confidence <= 1:
        refuse(f"the confidence {str(value)[:40]!r} is not a number from 0 to 1")
    return confidence


def _error(item: Any, translation: str, severity: Severity) -> tuple[ErrorSpan, dict[str, str]]:
    """An error as a span, and in the assessor's words."""
    if isinstance(item, str):
        item = {"target": item if item in translation else ""}
    fields = renamed(fields_of(item), PAPER_FIELDS)
    source = _text(fields, "source")
    target = _text(fields, "target")
    issue = _text(fields, "issue").strip()
    span: dict[str, Any] = {
        "before": _text(fields, "before") or None,
        "after": _text(fields, "after") or None,
        "severity": severity,
        "explanation": issue or None,
    }
    if target and (target in translation or not _says_nothing(target)):
        span |= {"text": target, "category": "other"}
    elif source and not _says_nothing(source):
        span |= {"text": source, "category": "accuracy/omission", "side": "omission"}
    else:
        refuse("an error names neither words of the source nor of the translation")
    return ErrorSpan.model_validate(span), {"source": source, "target": target, "issue": issue}


def read_score(value: Any) -> float:
    """A number from 0 to 4, also as text: ``3``, ``"3.5"``, ``"3/4"``. Raises :class:`RatingParseError`."""
    number, unit = _number(value)
    if value is None:
        refuse("the score is missing")
    if number is None or unit == "%" or not LOWEST <= number <= HIGHEST:
        refuse(f"the score {str(value)[:40]!r} is not a number from 0 to 4")
    return abs(number)  # of −0, which would be shown as such


def read_queries(reply: str) -> tuple[str, ...]:
    """The search agent's queries, at most three, as a list or as a call of the paper's search engine (Figure 19).

    Raises :class:`RatingParseError` if there is none.
    """
    items: list[Any] = []
    bodies = _CALL_TAG.findall(text_in(reply))
    for body in bodies:
        items += _engine_queries(_calls_in(body))
    if not bodies:
        data = read_json(reply)
        fields = fields_of(data) if isinstance(data, dict) else {"queries": data}
        if "arguments" in fields:
            items = _engine_queries(_in_json(data))
        else:
            items = _listed(renamed(fields, {"search query": "queries"}).get("queries"))
    queries: dict[str, None] = {}  # in order, equal ones once
    for item in items:
        text = fields_of(item).get("q") if isinstance(item, dict) else item
        if not isinstance(text, str):
            refuse("a search query is no text")
        query = " ".join(text.split())
        if query:
            queries[query] = None
    return tuple(queries)[:MOST_QUERIES] or refuse("it has no search query")


def _engine_queries(calls: Iterable[Action]) -> list[Any]:
    """The queries in calls of the search engine."""
    queries: list[Any] = []
    for action in calls:
        written = action.arguments.get("search_query")
        if action.tool != "search" or written is None:
            refuse("it calls something else than the search engine with search_query")
        if isinstance(written, str) and written.lstrip().startswith(("[", "{")):
            written = read_json(written)
        queries += _listed(written)
    return queries


def read_summary(reply: str) -> str:
    """The search agent's answer; ``""`` if it says that the results hold none. Raises :class:`RatingParseError`."""
    fields = fields_of(read_json(reply))
    if "answer" not in fields:
        refuse("it has no answer")
    answer = _text(fields, "answer")
    return "" if _says_nothing(answer) else answer.strip()


def read_winner(reply: str) -> Literal["a", "b", "tie"]:
    """Which of two candidates the comparison agent prefers. Raises :class:`RatingParseError` for anything else."""
    choice = _WINNER.fullmatch(reply.strip().casefold())
    if not choice:
        chosen = fields_of(read_json(reply)).get("winner")
        choice = _WINNER.fullmatch(chosen.casefold()) if isinstance(chosen, str) else None
    if not choice:
        refuse("the reply chooses neither A nor B nor a tie")
    if choice[1] == "a":
        return "a"
    if choice[1] == "b":
        return "b"
    return "tie"


def _number(value: Any) -> tuple[float | None, str]:
    """A number and what follows it: ``%`` or ``/4``. ``None`` if ``value`` isn't a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e6 else None, ""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None, ""
    return float(match[1].replace(",", ".")), match[2] or ""


def _listed(value: Any) -> list[Any]:
    """``value`` as a list: nothing, one, or several."""
    if value is None or (isinstance(value, str) and _says_nothing(value)):
        return []
    if isinstance(value, list) and not isinstance(value, RepeatedKeys):
        return [item for item in value if item is not None]
    return [value]


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        refuse(f"{name!r} is {str(value)[:40]!r}, and no text")
    return value or ""


def _says_nothing(text: str) -> bool:
    return text.strip(_BRACKETS).casefold() in _NOTHING


def text_of(arguments: Mapping[str, Any], name: str, *, required: bool = False) -> str | None:
    """A text among the arguments; ``None`` if it is absent. Raises :class:`RatingParseError`."""
    text = _text(arguments, name).strip()
    if text.casefold() not in ("", "none", "null"):
        return text
    if required:
        refuse(f"the argument {name!r} is missing")
    return None


_LAST_LETTER = regex.compile(r"(?r)\w")
_CALL_TAG = regex.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", regex.DOTALL | regex.IGNORECASE)


# What a <tool_call> of the paper holds: the tool's name, then a key and a value for each argument. A name that stands
# alone is a call without arguments; a sentence is none.
_XML_CALL = regex.compile(
    r"\s*(?P<name>[\w.]+)\s*"
    r"(?:<arg_key>(?P<key>[^<>]*)</arg_key>\s*<arg_value>(?P<value>(?:(?!</?arg_(?:key|value)>).)*+)</arg_value>\s*)*+",
    regex.DOTALL | regex.IGNORECASE,
)

_NAMES = ("tool", "name", "function", "tool_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "input", "action_input", "tool_input")
_BESIDES = frozenset({"id", "type", "thought", "thoughts", "reasoning", *_NAMES})


def read_turn(completion: Completion) -> tuple[Action, ...]:
    """The core agent's tool calls, or if there are none, those that its text makes.

    Raises :class:`RatingParseError` for a text that calls no tool. Broken arguments of a real call are its ``problem``.
    """
    actions: list[Action] = []
    for call in completion.tool_calls:
        name = _tool_name(call.name)
        try:
            actions.append(Action(name, _arguments(call.arguments), call.id))
        except RatingParseError as error:
            actions.append(Action(name, {}, call.id, f"the arguments cannot be read: {error}"))
    return tuple(actions) or read_actions(completion.text)


def read_actions(reply: str) -> tuple[Action, ...]:
    """The tool calls that a text makes, at least one, in order: JSON with ``tool`` and ``arguments``.

    Calls in the spellings of other systems, inside ``<tool_call>`` tags, and in the paper's XML (Figure 15) are read
    as well. Thoughts before them are ignored. Raises :class:`RatingParseError` for anything else.
    """
    text = text_in(reply)
    # A call that is followed by words may only be talked about, or come from the translation.
    last_letter = _LAST_LETTER.search(text)
    ending = text[last_letter.end() :] if last_letter else text
    if not any(mark in ending for mark in "]}>"):
        refuse("it calls no tool at its end")
    actions: list[Action] = []
    try:
        for body in _CALL_TAG.findall(text) or [text]:
            actions += _calls_in(body)
    except RatingParseError as error:
        refuse(f"it calls no tool: {error}")
    return tuple(actions) or refuse("the list of tool calls is empty")


def _calls_in(body: str) -> list[Action]:
    """The tool calls in a text or in one ``<tool_call>``: the paper's XML, else JSON."""
    call = _XML_CALL.fullmatch(body)
    if call is None:
        return _in_json(read_json(body))
    arguments: dict[str, Any] = {}
    for key, value in zip(call.captures("key"), call.captures("value"), strict=True):
        if key.strip() in arguments:
            refuse(f"the argument {key.strip()!r} is given twice")
        arguments[key.strip()] = value.strip()
    return [Action(_tool_name(call["name"]), renamed(arguments, PAPER_ARGUMENTS))]


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """``fields`` with the paper's ``names`` replaced by the names used here.

    Raises :class:`RatingParseError` if both are given and differ.
    """
    result = {key: value for key, value in fields.items() if key not in names}
    for key, name in names.items():
        if key not in fields:
            continue
        if name in result and result[name] != fields[key]:
            refuse(f"{key!r} and {name!r} mean the same, and it gives them different values")
        result[name] = fields[key]
    return result


def _tool_name(written: str) -> str:
    """The name of a tool as it is called here."""
    name = written.strip().strip("`\"'").rpartition(".")[2].casefold()
    return PAPER_TOOLS.get(name, name)


def _in_json(data: Any) -> list[Action]:
    if isinstance(data, RepeatedKeys):
        refuse("the JSON gives a field twice")
    if isinstance(data, list):
        return [action for item in data for action in _in_json(item)]
    if not isinstance(data, dict):
        refuse(f"{str(data)[:40]!r} calls no tool")
    fields = {str(key).strip().casefold(): value for key, value in data.items()}
    inner = fields.get("tool_calls", fields.get("function"))
    if isinstance(inner, list | dict):
        return _in_json(inner)
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), None)
    if name is None:  # {"evaluate": {…}}
        tool_keys = [key for key in fields if _tool_name(key) in TOOLS]
        if len(tool_keys) != 1 or not isinstance(fields[tool_keys[0]], dict):
            refuse('the JSON names no tool; write {"tool": "…", "arguments": {…}}')
        return [Action(_tool_name(tool_keys[0]), renamed(fields[tool_keys[0]], PAPER_ARGUMENTS))]
    for key in _ARGUMENTS:
        if key in fields:
            return [Action(_tool_name(name), _arguments(fields[key]))]
    # The arguments are next to the name.
    arguments = {key: value for key, value in fields.items() if key not in _BESIDES}
    return [Action(_tool_name(name), renamed(arguments, PAPER_ARGUMENTS))]


def _arguments(written: Any) -> dict[str, Any]:
    """Arguments as an object, also from JSON in a text. Nothing means no arguments."""
    if isinstance(written, str):
        is_empty = written.strip().casefold() in ("", "none", "null", "{}")
        written = {} if is_empty else read_json(written)
    if isinstance(written, RepeatedKeys) or not isinstance(written, dict | None):
        refuse("the arguments are not a JSON object")
    arguments = {str(key): value for key, value in (written or {}).items()}
    return renamed(arguments, PAPER_ARGUMENTS)
