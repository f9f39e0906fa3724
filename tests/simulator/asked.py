"""Which of the project's prompts a request was made from, and the texts that stand in it.

Prompts are told apart by the parts of their system messages that are always shown, read from the prompt files: a
prompt that is worded anew is recognised anew, and needs nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mtagent.llm import prompts
from tests.simulator.marks import Mark, marks
from tests.simulator.settings import Body

FOLDER = Path(__file__).parents[2] / "prompts"
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_QUOTED = re.compile(r"<(\w+?)(-\w+|)>(.*?)</\1\2>", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A request: the name of its prompt, the texts and variables in it by name, and what is said after the texts."""

    prompt: str
    body: Body
    values: dict[str, str]
    tail: str

    @property
    def translation(self) -> str:
        """The translation that is asked about."""
        return self.values["translation"]

    @property
    def marks(self) -> list[Mark]:
        """What is wrong with it."""
        return marks(self.translation)


def asked(body: Body) -> Asked | None:
    """What ``body`` asks; ``None`` where it is made from none of the project's prompts."""
    messages = body["messages"]
    recognised = _recognised(messages[0]["content"])
    if recognised is None:
        return None
    name, variables = recognised
    # An answer that could not be read is asked for again in a later message, which quotes no texts; a conversation
    # quotes further ones in its later turns.
    turns = [turn for message in messages if message["role"] == "user" and _QUOTED.search(turn := message["content"])]
    turn = turns[-1] if turns else ""
    quoted = {name: text for turn in turns for name, _, text in _QUOTED.findall(turn)}
    return Asked(name, body, {**variables, **quoted}, turn.rpartition(">")[2])


@cache
def _recognised(system: str) -> tuple[str, dict[str, str]] | None:
    """The name of the prompt whose parts fit best, and the values of the variables in them."""
    fits = [(match[0], name, match[1]) for name in _names() if (match := _fit(name, system))]
    return max(fits)[1:] if fits else None


def _fit(name: str, system: str) -> tuple[int, dict[str, str]] | None:
    """How many characters of prompt ``name`` stand in ``system``, in order; ``None`` if any of them does not."""
    at, letters, values = 0, 0, dict[str, str]()
    for pattern, length in _patterns(name):
        match = pattern.search(system, at)
        if match is None:
            return None
        at, letters, values = match.end(), letters + length, {**values, **match.groupdict()}
    return (letters, values) if letters else None


@cache
def _names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], int]]:
    parts = [part.text for part in prompts.load(name).system if not part.when and not part.unless]
    return [(re.compile(_pattern(part.strip())), len(part)) for part in parts]


def _pattern(text: str) -> str:
    pieces, seen = _VARIABLE.split(text), set[str]()
    for place in range(1, len(pieces), 2):
        name = pieces[place]
        pieces[place] = f"(?P={name})" if name in seen else f"(?P<{name}>(?s:.*?))"
        seen.add(name)
    literal = [re.escape(piece) if place % 2 == 0 else piece for place, piece in enumerate(pieces)]
    return "".join(literal) + (r"(?=\n|\Z)" if pieces[-1] == "" else "")
