"""The tools of RATE's core agent (RATE paper, figures 15 and 16), and what it wants of them.

No tool takes the source or the translation: a model that has to copy them leaves them out or changes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from mtagent.errors import UnreadableReply
from mtagent.evaluators.rate_replies import read_score
from mtagent.records import Tool, ToolCall


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
